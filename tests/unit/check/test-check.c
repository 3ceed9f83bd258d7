/*
 * The checker: each rule, what Linux does, and that it only observes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <inttypes.h>
#include <string.h>

#include "driver.h"
#include "random.h"
#include "rule-cases.h"
#include "tcg/pmu/perfmon/register-map.h"

/* Returns the default rules and @id, with the parameters that it needs. */
static PmuCheckConfig config_for(const char *id)
{
    PmuCheckConfig config = {
        .rules = pmu_rule_set_default(),
        .min_period = g_str_equal(id, "O4") ? 128 : 0,
        .text_first = 0xffffffff80000000ull,
        .text_end = 0xffffffffa0000000ull,
    };
    g_autofree char *change = g_strdup_printf("+%s", id);
    g_autofree char *why = pmu_rule_set_change(&config.rules, change);

    g_assert_null(why);
    return config;
}

static void print_hits(const Driver *d)
{
    const PmuCheckHit *hit;

    for (unsigned i = 0; (hit = pmu_check_hit(d->check, i)); i++) {
        g_test_message("%s at step %d: %s", hit->rule->id,
                       (int)(hit->where.rip & 0xffffff) / 2, hit->rule->text);
    }
}

static void run_case(const RuleCase *c, bool wrong)
{
    PmuCheckConfig config = config_for(c->id);
    Driver d;

    driver_start_with(&d, &config);
    c->run(&d, wrong);
    print_hits(&d);
    if (wrong) {
        g_assert_cmpuint(driver_hits(&d, c->id), >=, 1);
    } else {
        g_assert_cmpuint(driver_all_hits(&d), ==, 0);
    }
    driver_end(&d);
}

/* The sequence that breaks a rule is reported as such. */
static void test_broken(const void *data)
{
    run_case(data, true);
}

/* The similar sequence breaks no rule at all. */
static void test_kept(const void *data)
{
    run_case(data, false);
}

/* A rule that is off is not reported. */
static void test_off(const void *data)
{
    const RuleCase *c = data;
    PmuCheckConfig config = config_for(c->id);
    g_autofree char *change = g_strdup_printf("-%s", c->id);
    Driver d;

    g_assert_null(pmu_rule_set_change(&config.rules, change));
    driver_start_with(&d, &config);
    c->run(&d, true);
    g_assert_cmpuint(driver_hits(&d, c->id), ==, 0);
    driver_end(&d);
}

/* Each rule has a case and a text, and fits into a set of 64. */
static void test_all_rules(void)
{
    const PmuCheckRule *rule;

    for (unsigned i = 0; (rule = pmu_check_rule(i)); i++) {
        bool tested = false;

        for (const RuleCase *c = rule_cases; c->id; c++) {
            tested |= g_str_equal(c->id, rule->id);
        }
        g_test_message("%s", rule->id);
        g_assert_true(tested);
        g_assert_cmpuint(i, <, 64);
        g_assert_cmpuint(strlen(rule->text), >, 20);
    }
}

/*
 * What Linux's driver does (arch/x86/events/intel/core.c): probing, counting in
 * a task that is switched out and in, TopDown, sampling, the watchdog.  These
 * are its register accesses, with two tasks on one CPU.
 */
static void linux_boot(Driver *d)
{
    uint64_t value;

    driver_read(d, MSR_PMU_IA32_PERF_CAPABILITIES);
    for (unsigned i = 0; i < 8; i++) {
        driver_read(d, SEL(i));
    }
    driver_read(d, FIXED);
    value = driver_read(d, PMC(7)) ^ 0xffff;
    driver_write(d, PMC(7), value);
    driver_read(d, PMC(7));
    driver_lvtpc(d, 0x400);
}

static void linux_topdown(Driver *d, uint64_t slots, uint64_t metrics)
{
    driver_write(d, GC, 0);
    for (unsigned i = 0; i < 5; i++) {
        driver_write(d, CTR(3), slots);
        driver_write(d, METRICS, metrics);
    }
    driver_write(d, FIXED, 0xb0b0);
    driver_write(d, GC, GC_ALL);
}

static void linux_save(Driver *d)
{
    driver_write(d, GC, 0);
    for (unsigned i = 0; i < 5; i++) {
        driver_rdpmc(d, CTR(3));
        driver_rdpmc(d, METRICS);
    }
    driver_write(d, FIXED, 0xb0);
    driver_write(d, GC, GC_ALL);
}

static void linux_read(Driver *d)
{
    driver_write(d, GC, 0);
    driver_rdpmc(d, CTR(3));
    driver_rdpmc(d, METRICS);
    driver_write(d, CTR(3), 0);
    driver_write(d, METRICS, 0);
    driver_write(d, GC, GC_ALL);
}

static void linux_nmi(Driver *d, unsigned counter)
{
    uint32_t msr = counter < PERFMON_ARCH_GP ? PMC(counter)
                                            : CTR(counter - PERFMON_ARCH_GP);
    uint64_t status;

    driver_nmi(d, pmu_check_bit(counter));
    driver_write(d, GC, 0);
    status = driver_read(d, STATUS);
    driver_write(d, ACK, status);
    driver_rdpmc(d, msr);
    driver_write(d, msr, PERIOD);
    driver_read(d, STATUS);
    driver_write(d, GC, GC_ALL);
    driver_lvtpc(d, 0x400);
    driver_iret(d);
}

static void linux_driver(Driver *d)
{
    linux_boot(d);
    /* The watchdog, then sampling: the first event finds counters enabled. */
    driver_write(d, CTR(1), PERIOD);
    driver_write(d, FIXED, 0xb0);
    driver_write(d, GC, GC_ALL);
    driver_write(d, GC, 0);
    driver_write(d, PMC(0), PERIOD);
    driver_write(d, SEL(0), SEL_INT);
    driver_lvtpc(d, 0x400);
    driver_write(d, GC, GC_ALL);
    linux_nmi(d, 0);
    linux_nmi(d, PMU_CHECK_FIXED(1));
    linux_topdown(d, 0, 0);
    d->perfmon.fixed[3] = 100000;
    linux_read(d);
    d->perfmon.fixed[3] = 3000;
    linux_save(d);
    d->where.cr3 = TASK_B;
    linux_topdown(d, 0, 0);
    d->perfmon.fixed[3] = 4000;
    linux_save(d);
    d->where.cr3 = TASK_A;
    linux_topdown(d, 3000, 0x3f404040);
    d->perfmon.fixed[3] = 9000;
    linux_save(d);
    linux_nmi(d, 0);
    /* One event ends, and another one takes its counter. */
    driver_write(d, GC, 0);
    driver_write(d, SEL(0), SEL_INT & ~PERF_EVTSEL_EN);
    driver_rdpmc(d, PMC(0));
    driver_write(d, PMC(0), PERIOD);
    driver_write(d, SEL(0), SEL_INT ^ 0xc0 ^ 0xc4);
    driver_write(d, GC, GC_ALL);
}

/* The accesses of Linux's driver break no rule. */
static void test_linux(void)
{
    Driver d;

    driver_start(&d);
    linux_driver(&d);
    print_hits(&d);
    g_assert_cmpuint(driver_all_hits(&d), ==, 0);
    driver_end(&d);
}

/*
 * Writing a register again with the same value does not change the selector
 * (C2).  That holds for AnyThread, too, which versions 2 and 5 ignore (C5).
 */
static void test_rewritten(void)
{
    for (unsigned version = 2; version <= 5; version++) {
        unsigned stuck = version == 3 || version == 4;
        Driver d;

        driver_start_version(&d, version);
        driver_write(&d, GC, 0);
        driver_write(&d, SEL(0), 0x7300c4);
        driver_write(&d, FIXED, 0x7);
        driver_write(&d, GC, 1ull << 32 | 1);
        driver_write(&d, SEL(0), 0x7300c4);
        driver_write(&d, FIXED, 0x7);
        g_assert_cmpuint(driver_hits(&d, "C2"), ==, 0);
        g_assert_cmpuint(driver_hits(&d, "C5"), ==, stuck ? 0 : 4);
        driver_end(&d);
    }
}

/*
 * Counters that interrupt while an NMI is blocked break no rule.  The handler
 * that follows does: it does not read the status (P5).
 */
static void test_held(void)
{
    Driver d;

    driver_start(&d);
    driver_sample(&d);
    driver_nmi(&d, PERF_GLOBAL_GP(0));
    driver_write(&d, GC, 0);
    driver_read(&d, STATUS);
    driver_write(&d, ACK, PERF_GLOBAL_GP(0));
    driver_write(&d, PMC(0), PERIOD);
    driver_write(&d, GC, GC_ALL);
    driver_lvtpc(&d, 0x400);
    driver_overflow(&d, PERF_GLOBAL_GP(0), PMU_CHECK_NMI_PENDING);
    driver_iret(&d);
    pmu_check_interrupt(d.check, &d.where, 2);
    driver_write(&d, GC, 0);
    driver_iret(&d);
    print_hits(&d);
    g_assert_cmpuint(driver_all_hits(&d), ==, 1);
    g_assert_cmpuint(driver_hits(&d, "P5"), ==, 1);
    driver_end(&d);
}

/*
 * C9 counts the reads since the last write of a counter, so a write starts
 * anew.
 */
static void test_counter_rewritten(void)
{
    Driver d;

    driver_start(&d);
    for (unsigned i = 0; i < 3; i++) {
        driver_write(&d, PMC(1), 5);
        driver_sample(&d);
        driver_write(&d, GC, 0);
        driver_rdpmc(&d, PMC(1));
    }
    print_hits(&d);
    g_assert_cmpuint(driver_hits(&d, "C9"), ==, 0);
    driver_end(&d);
}

/*
 * PERF_METRICS is written while it counts: that breaks M6.  It counts on, so M4
 * is not broken.
 */
static void test_metrics_rewritten(void)
{
    Driver d;

    driver_start(&d);
    driver_topdown(&d);
    driver_write(&d, METRICS, 0);
    driver_write(&d, GC, 0);
    driver_rdpmc(&d, METRICS);
    print_hits(&d);
    g_assert_cmpuint(driver_hits(&d, "M6"), ==, 1);
    g_assert_cmpuint(driver_hits(&d, "M4"), ==, 0);
    driver_end(&d);
}

/* After a migration the checker knows nothing, and does not report that. */
static void test_forget(void)
{
    Driver d;

    driver_start(&d);
    driver_sample(&d);
    driver_topdown(&d);
    d.perfmon.fixed[3] = 500;
    driver_overflow(&d, PERF_GLOBAL_GP(0), PMU_CHECK_DELIVERED);
    pmu_check_forget(d.check);
    pmu_check_interrupt(d.check, &d.where, 2);
    driver_write(&d, GC, 0);
    driver_write(&d, METRICS, 0x3f404040);
    driver_write(&d, GC, GC_ALL);
    pmu_check_pmi(d.check, &d.where, PMU_CHECK_MASKED);
    driver_lvtpc(&d, 0x400);
    driver_iret(&d);
    print_hits(&d);
    g_assert_cmpuint(driver_all_hits(&d), ==, 0);
    driver_end(&d);
}

static void note_hit(void *opaque, const PmuCheckHit *hit)
{
    GString *text = opaque;

    g_string_append_printf(text, "%s%s ", hit->rule->id,
                           hit->suppressed ? hit->suppressed : "");
}

/*
 * INIT masks LVTPC and ends any handler: P3 is reported after its time, as
 * LVTPC is masked, and no rule about handlers.
 */
static void test_init(void)
{
    Driver d;

    driver_start(&d);
    driver_sample(&d);
    driver_nmi(&d, PERF_GLOBAL_GP(0));
    driver_write(&d, GC, 0);
    driver_read(&d, STATUS);
    driver_write(&d, ACK, PERF_GLOBAL_GP(0));
    driver_write(&d, PMC(0), PERIOD);
    pmu_check_halt(d.check, &d.where, PMU_CHECK_INIT);
    driver_write(&d, GC, GC_ALL);
    driver_read(&d, STATUS);
    g_assert_cmpuint(driver_all_hits(&d), ==, 0);
    d.where.clock += 2 * 1000 * 1000;
    pmu_check_time(d.check, &d.where);
    g_assert_cmpuint(driver_hits(&d, "P3"), ==, 1);
    driver_end(&d);
}

/* There is one report for each rule and address; repetitions are counted. */
static void test_report(void)
{
    g_autoptr(GString) text = g_string_new(NULL);
    PmuCheckConfig config = {
        .rules = pmu_rule_set_default(), .report = note_hit, .opaque = text,
    };
    Driver d;

    driver_start_with(&d, &config);
    driver_sample(&d);
    for (unsigned i = 0; i < 10; i++) {
        d.where.rip = 0x1000;
        driver_write(&d, PMC(0), PERIOD);
    }
    driver_write(&d, PMC(0), PERIOD);
    g_assert_cmpstr(text->str, ==, "C1 C1 ");
    g_assert_cmpuint(pmu_check_hit(d.check, 0)->count, ==, 10);
    g_assert_cmphex(pmu_check_hit(d.check, 0)->counters, ==, 1);
    g_assert_cmphex(pmu_check_hit(d.check, 0)->where.rip, ==, 0x1002);
    g_assert_cmphex(pmu_check_hit(d.check, 0)->msr, ==, PMC(0));
    g_assert_cmpuint(driver_hits(&d, "C1"), ==, 11);
    driver_end(&d);
}

/*
 * A guest can break rules at millions of addresses: the checker keeps a limited
 * number of them.
 */
static void test_many_sites(void)
{
    Driver d;

    driver_start(&d);
    driver_sample(&d);
    for (unsigned i = 0; i < 100000; i++) {
        driver_write(&d, PMC(0), PERIOD);
    }
    g_assert_cmpuint(driver_all_hits(&d), <, 10000);
    driver_end(&d);
}

/* As note_hit(), with the address and the counters. */
static void note_hit_at(void *opaque, const PmuCheckHit *hit)
{
    g_string_append_printf(opaque, "%s@%" PRIx64 ":%" PRIx64 " ",
                           hit->rule->id, hit->where.rip, hit->counters);
}

/*
 * Replace the checker of @d by another one, which loads the first one's memory.
 */
static void migrate(Driver *d, const PmuCheckConfig *config)
{
    PmuCheck *next = pmu_check_new(&d->perfmon, config);

    g_assert_null(pmu_check_memory_fault(pmu_check_memory(d->check)));
    pmu_check_load(next, pmu_check_memory(d->check));
    pmu_check_free(d->check);
    d->check = next;
}

static uint32_t random_msr(Random *random)
{
    PerfmonMsrRange row;
    unsigned rows = 0;

    while (perfmon_map_row(&perfmon_map_architectural, rows, &row)) {
        rows++;
    }
    perfmon_map_row(&perfmon_map_architectural, random_below(random, rows),
                    &row);
    return row.first + random_below(random, row.count + 1);
}

/*
 * Make a random step.  With @sparing the checker is not told of interrupts and
 * IRET while it does not await them.
 */
static void random_step(Random *random, Driver *d, bool sparing)
{
    bool told = !sparing || pmu_check_awaits_interrupts(d->check);
    uint32_t msr = random_msr(random);
    uint64_t value = random_below(random, 2)
                     ? random_size(random, 64)
                     : random_next(random) & GC_ALL;

    d->where.cpl = random_below(random, 4) ? 0 : 3;
    d->where.cr3 = random_below(random, 3) << 20;
    switch (random_below(random, 9)) {
    case 0:
        driver_read(d, msr);
        break;
    case 1:
        driver_rdpmc(d, msr);
        break;
    case 2:
        driver_overflow(d, value & GC_ALL, random_below(random, 3));
        break;
    case 3:
        value = random_below(random, 4);
        if (told) {
            pmu_check_interrupt(d->check, &d->where, value);
        }
        break;
    case 4:
        if (told) {
            pmu_check_iret(d->check, &d->where);
        }
        break;
    case 5:
        driver_lvtpc(d, value);
        break;
    case 6:
        pmu_check_halt(d->check, &d->where, random_below(random, 4));
        break;
    default:
        driver_write(d, msr, value);
    }
    d->where.clock += random_size(random, 22);
}

/*
 * The same random steps are observed by one checker, and by a succession of
 * checkers.  Each of these takes over from the one before, and learns only of
 * interrupts that it awaits.  The same rules are broken at the same addresses.
 */
static void test_migrated(void)
{
    PmuCheckConfig all = {};
    Random first = random_from_seed(), second = first, cut = first;
    g_autoptr(GString) one_hits = g_string_new(NULL);
    g_autoptr(GString) other_hits = g_string_new(NULL);
    Driver one, other;

    g_assert_null(pmu_rule_set_change(&all.rules, "+all"));
    all.report = note_hit_at;
    memset(&one, 0, sizeof(one));
    memset(&other, 0, sizeof(other));
    for (unsigned round = 0; round < 300; round++) {
        all.opaque = one_hits;
        driver_start_with(&one, &all);
        all.opaque = other_hits;
        driver_start_with(&other, &all);
        for (unsigned i = 0; i < 200; i++) {
            /* Each step has an address of its own. */
            one.where.rip += 2;
            other.where.rip += 2;
            random_step(&first, &one, false);
            random_step(&second, &other, true);
            if (random_below(&cut, 20) == 0) {
                migrate(&other, &all);
            }
        }
        driver_end(&one);
        driver_end(&other);
    }
    g_assert_cmpuint(one_hits->len, >, 10000);
    g_assert_cmpstr(one_hits->str, ==, other_hits->str);
}

/* A memory with an impossible state is refused; the limits are accepted. */
static void test_memory(void)
{
    PmuCheckMemory good, bad;
    Driver d;

    driver_start(&d);
    good = bad = *pmu_check_memory(d.check);
    g_assert_null(pmu_check_memory_fault(&good));
    bad.slots.state = PMU_PAIR_STATES;
    g_assert_nonnull(pmu_check_memory_fault(&bad));
    bad = good;
    bad.last_read = PMU_CHECK_COUNTERS + 1;
    g_assert_nonnull(pmu_check_memory_fault(&bad));
    bad = good;
    bad.pmi.active = true;
    g_assert_nonnull(pmu_check_memory_fault(&bad));
    bad.pmi.depth = PMU_CHECK_MAX_DEPTH + 1;
    g_assert_nonnull(pmu_check_memory_fault(&bad));
    bad.pmi.depth = PMU_CHECK_MAX_DEPTH;
    g_assert_null(pmu_check_memory_fault(&bad));
    driver_end(&d);
}

static unsigned hash_registers(const Perfmon *perfmon)
{
    g_autoptr(GBytes) bytes = g_bytes_new_static(perfmon, sizeof(*perfmon));

    return g_bytes_hash(bytes);
}

/*
 * The checker does not change registers: the same random steps leave the same
 * ones with all rules and with none.
 */
static void test_passive(void)
{
    PmuCheckConfig all = {}, none = {};
    Random first = random_from_seed(), second = first;
    Driver one, other;

    g_assert_null(pmu_rule_set_change(&all.rules, "+all"));
    memset(&one, 0, sizeof(one));
    memset(&other, 0, sizeof(other));
    driver_start_with(&one, &all);
    driver_start_with(&other, &none);
    for (unsigned i = 0; i < 30000; i++) {
        Perfmon before = one.perfmon;

        pmu_check_time(one.check, &one.where);
        g_assert_cmpmem(&before, sizeof(before), &one.perfmon,
                        sizeof(one.perfmon));
        random_step(&first, &one, false);
        random_step(&second, &other, false);
        g_assert_cmpuint(hash_registers(&one.perfmon), ==,
                         hash_registers(&other.perfmon));
        if (random_below(&first, 1000) == 0) {
            pmu_check_forget(one.check);
        }
        random_below(&second, 1000);
    }
    g_assert_cmpuint(driver_all_hits(&one), >, 0);
    g_assert_cmpuint(driver_all_hits(&other), ==, 0);
    driver_end(&one);
    driver_end(&other);
}

static void add_cases(void)
{
    for (const RuleCase *c = rule_cases; c->id; c++) {
        g_autofree char *name = g_strdup_printf("/check/rule/%s/%d", c->id,
                                                (int)(c - rule_cases));
        g_autofree char *broken = g_strconcat(name, "/broken", NULL);
        g_autofree char *kept = g_strconcat(name, "/kept", NULL);
        g_autofree char *off = g_strconcat(name, "/off", NULL);

        g_test_add_data_func(broken, c, test_broken);
        g_test_add_data_func(kept, c, test_kept);
        g_test_add_data_func(off, c, test_off);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    add_cases();
    g_test_add_func("/check/all-rules", test_all_rules);
    g_test_add_func("/check/linux", test_linux);
    g_test_add_func("/check/rewritten", test_rewritten);
    g_test_add_func("/check/held", test_held);
    g_test_add_func("/check/counter-rewritten", test_counter_rewritten);
    g_test_add_func("/check/metrics-rewritten", test_metrics_rewritten);
    g_test_add_func("/check/forget", test_forget);
    g_test_add_func("/check/init", test_init);
    g_test_add_func("/check/report", test_report);
    g_test_add_func("/check/many-sites", test_many_sites);
    g_test_add_func("/check/passive", test_passive);
    g_test_add_func("/check/migrated", test_migrated);
    g_test_add_func("/check/memory", test_memory);
    return g_test_run();
}
