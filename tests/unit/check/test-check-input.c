/*
 * The files and options that users give the checker, and its recorder.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/check/check-types.h"
#include "tcg/pmu/check/recorder.h"
#include "tcg/pmu/check/rule-set.h"
#include "tcg/pmu/check/suppressions.h"

static bool is_on(const PmuRuleSet *set, const char *id)
{
    const PmuCheckRule *rule;
    unsigned i;

    for (i = 0; (rule = pmu_check_rule(i)); i++) {
        if (g_str_equal(rule->id, id)) {
            break;
        }
    }
    return pmu_rule_set_has(set, i);
}

static PmuRuleSet changed(const char *text)
{
    PmuRuleSet set = pmu_rule_set_default();
    g_autofree char *why = pmu_rule_set_change(&set, text);

    g_assert_null(why);
    return set;
}

/*
 * The default rules, and changes to them: by name in either case, by severity,
 * all.
 */
static void test_rules(void)
{
    PmuRuleSet set = pmu_rule_set_default();

    g_assert_true(is_on(&set, "M1"));
    g_assert_true(is_on(&set, "P2"));
    g_assert_false(is_on(&set, "C14"));
    set = changed("+C14:-P2,-m1");
    g_assert_true(is_on(&set, "C14"));
    g_assert_false(is_on(&set, "P2"));
    g_assert_false(is_on(&set, "M1"));
    set = changed("severity>=L");
    g_assert_true(is_on(&set, "M1"));
    g_assert_true(is_on(&set, "O1"));
    g_assert_false(is_on(&set, "M11"));
    g_assert_false(is_on(&set, "P2"));
    set = changed("-all:+C7");
    g_assert_true(is_on(&set, "C7"));
    g_assert_false(is_on(&set, "C6"));
}

/* A change with an error is refused with a reason, and changes nothing. */
static void test_rules_wrong(void)
{
    static const char *const texts[] = {
        "C14", "+", "+X1", "C14:", "+C14::", "severity>=", "severity>=X",
        "severity>=UL", "severity=U", "+C14:-Z9",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(texts); i++) {
        PmuRuleSet set = pmu_rule_set_default(), before = set;
        g_autofree char *why = pmu_rule_set_change(&set, texts[i]);

        g_test_message("%s: %s", texts[i], why);
        g_assert_nonnull(why);
        g_assert_cmphex(set.on, ==, before.on);
    }
}

static const char map[] =
    "ffffffff81001000 T first\n"
    "ffffffff81001040 t second\n"
    "not a symbol\n"
    "ffffffff81001100 T third\t[module]\n"
    "xyz T wrong\n";

/*
 * A map of symbols: names of addresses and addresses of names; lines that are
 * no symbols are left out.
 */
static void test_symbols(void)
{
    PmuSymbols *symbols = pmu_symbols_new(map);
    g_autofree char *name = pmu_symbols_name(symbols, 0xffffffff81001042);
    g_autofree char *last = pmu_symbols_name(symbols, 0xffffffff81001100);
    uint64_t first, end;

    g_assert_cmpuint(pmu_symbols_count(symbols), ==, 3);
    g_assert_cmpstr(name, ==, "second+0x2");
    g_assert_cmpstr(last, ==, "third+0x0");
    g_assert_null(pmu_symbols_name(symbols, 0xffffffff81000fff));
    g_assert_true(pmu_symbols_find(symbols, "second", &first, &end));
    g_assert_cmphex(first, ==, 0xffffffff81001040);
    g_assert_cmphex(end, ==, 0xffffffff81001100);
    g_assert_false(pmu_symbols_find(symbols, "fourth", &first, &end));
    pmu_symbols_free(symbols);
}

/*
 * A suppression applies to its rule, within its function, at its address or to
 * its register.  One of a function that the map lacks never applies.
 */
static void test_suppressions(void)
{
    PmuSymbols *symbols = pmu_symbols_new(map);
    g_autofree char *why = NULL;
    PmuSuppressions *list = pmu_suppressions_new("file",
        "# comment\n\nP2 * late unmasking\n"
        "C1 second known bug\nM10 0x1234  leak\nC2 fourth gone\n"
        "C7:IA32_DEBUGCTL * not announced\n",
        symbols, &why);

    g_assert_nonnull(list);
    g_assert_cmpstr(pmu_suppressions_find(list, "P2", 1, 0), ==,
                    "late unmasking");
    g_assert_cmpstr(pmu_suppressions_find(list, "C1", 0xffffffff810010ff, 0),
                    ==, "known bug");
    g_assert_null(pmu_suppressions_find(list, "C1", 0xffffffff81001100, 0));
    g_assert_cmpstr(pmu_suppressions_find(list, "M10", 0x1234, 0), ==, "leak");
    g_assert_null(pmu_suppressions_find(list, "M10", 0x1235, 0));
    g_assert_null(pmu_suppressions_find(list, "P1", 1, 0));
    g_assert_null(pmu_suppressions_find(list, "C2", 0, 0));
    g_assert_cmpstr(pmu_suppressions_find(list, "C7", 1, 0x1d9), ==,
                    "not announced");
    g_assert_null(pmu_suppressions_find(list, "C7", 1, 0x38f));
    pmu_suppressions_free(list);
    pmu_symbols_free(symbols);
}

/* A suppression with an error is refused; the reason has file and line. */
static void test_suppressions_wrong(void)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        { "X1 * reason", "file:1: there is no rule 'X1'" },
        { "\nP2 *", "file:2: a line is RULE PLACE REASON" },
        { "P2", "file:1: a line is RULE PLACE REASON" },
        { "P2 0xg reason", "file:1: '0xg' is no address" },
        { "P2 function reason", "file:1: 'function' is a function, but there "
          "is no pmu-check-map to find it in" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(wrong); i++) {
        g_autofree char *why = NULL;

        g_assert_null(pmu_suppressions_new("file", wrong[i].text, NULL, &why));
        g_assert_cmpstr(why, ==, wrong[i].why);
    }
}

/* The recorder keeps the last 3 of 5 entries. */
static void test_recorder(void)
{
    PmuRecorder *recorder = pmu_recorder_new(3);

    g_assert_cmpuint(sizeof(PmuRecorderEntry), ==, 48);
    g_assert_null(pmu_recorder_get(recorder, 0));
    for (unsigned i = 0; i < 5; i++) {
        PmuRecorderEntry entry = { .clock = i };

        pmu_recorder_add(recorder, &entry);
        g_assert_cmpuint(pmu_recorder_count(recorder), ==, MIN(i + 1, 3));
        g_assert_cmpuint(pmu_recorder_get(recorder, 0)->clock, ==,
                         i < 3 ? 0 : i - 2);
    }
    g_assert_cmpuint(pmu_recorder_get(recorder, 2)->clock, ==, 4);
    g_assert_null(pmu_recorder_get(recorder, 3));
    pmu_recorder_free(recorder);
}

/* Entries as text; and the MSR that each ECX of RDPMC reads. */
static void test_text(void)
{
    static const struct {
        PmuRecorderEntry entry;
        const char *text;
    } cases[] = {
        { { .clock = 5, .rip = 0x1000, .old = 1, .value = 0xff, .msr = 0x38f,
            .page = 0x1234, .kind = PMU_RECORD_WRMSR },
          "5 0x1000 cpl 0 cr3 0x1234000 wrmsr IA32_PERF_GLOBAL_CTRL 0xff "
          "was 0x1" },
        { { .clock = 6, .value = 7, .msr = 0x4c3, .kind = PMU_RECORD_RDMSR },
          "6 0x0 cpl 0 cr3 0x0000 rdmsr IA32_A_PMC2 0x7" },
        { { .clock = 7, .value = 1, .kind = PMU_RECORD_PMI,
            .outcome = PMU_CHECK_MASKED },
          "7 0x0 cpl 0 cr3 0x0000 pmi IA32_PERF_GLOBAL_STATUS 0x1 masked" },
        { { .msr = 0x777, .kind = PMU_RECORD_GP, .cpl = 3 },
          "0 0x0 cpl 3 cr3 0x0000 gp MSR_0x777 0x0" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = pmu_recorder_text(&cases[i].entry);

        g_assert_cmpstr(text, ==, cases[i].text);
    }
    g_assert_cmphex(pmu_rdpmc_msr(3), ==, 0xc4);
    g_assert_cmphex(pmu_rdpmc_msr(0x40000003), ==, 0x30c);
    g_assert_cmphex(pmu_rdpmc_msr(0x20000000), ==, 0x329);
    g_assert_cmphex(pmu_rdpmc_msr(8), ==, 0);
    g_assert_cmphex(pmu_rdpmc_msr(0x80000000), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/check/rules", test_rules);
    g_test_add_func("/check/rules-wrong", test_rules_wrong);
    g_test_add_func("/check/symbols", test_symbols);
    g_test_add_func("/check/suppressions", test_suppressions);
    g_test_add_func("/check/suppressions-wrong", test_suppressions_wrong);
    g_test_add_func("/check/recorder", test_recorder);
    g_test_add_func("/check/text", test_text);
    return g_test_run();
}
