/*
 * Test of the checker: the rules that a guest breaks, and how it reports them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each rule has a script that breaks it, and a similar one that breaks none.
 * tests/unit/check tests all rules as well.  Here a guest breaks them through
 * its registers.
 */

#include "qemu/osdep.h"
#include <glib/gstdio.h>

#include "pmu/machine.h"
#include "qapi/error.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"
#include "qobject/qstring.h"

#define GC          MSR_GLOBAL_CTRL
#define GC_ALL      0x1000f000000ffull
#define SEL_ALL     (EVENT_INSTRUCTIONS | EVTSEL_USR | EVTSEL_OS | EVTSEL_EN)
#define SEL_INT     (SEL_ALL | EVTSEL_INT)
#define IN(n)       (-(uint64_t)(n) & COUNTER_MASK)
#define FAR_AWAY    IN(1000000000)
#define CR4_PCE     (1 << 8)

/* Run code, counting in fixed counter 3 and the metrics from given values. */
static void topdown(PmuScript *s, uint64_t slots, uint64_t metrics)
{
    pmu_wrmsr(s, GC, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), slots);
    pmu_wrmsr(s, MSR_PERF_METRICS, metrics);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3));
    pmu_op(s, OP_RUN, BLOCK_NOPS, GC_ALL, 0);
}

static void m1(PmuScript *s, bool wrong)
{
    topdown(s, 0, 0);
    pmu_wrmsr(s, wrong ? MSR_PERF_METRICS : MSR_FIXED_CTR(3), 0);
    pmu_wrmsr(s, wrong ? MSR_FIXED_CTR(3) : MSR_PERF_METRICS, 0);
    pmu_wrmsr(s, GC, GC_ALL);
}

static void m2(PmuScript *s, bool wrong)
{
    topdown(s, 0, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), 1000);
    if (!wrong) {
        pmu_wrmsr(s, MSR_PERF_METRICS, 0);
        pmu_op(s, OP_RUN, BLOCK_NOPS, GC_ALL, 0);
    }
    pmu_rdpmc(s, 0x20000000);
}

static void m3(PmuScript *s, bool wrong)
{
    topdown(s, 0, 0);
    if (wrong) {
        pmu_wrmsr(s, MSR_FIXED_CTR(3), 0);
        pmu_wrmsr(s, MSR_PERF_METRICS, 0);
    }
    pmu_rdmsr(s, MSR_PERF_METRICS);
}

static void m4(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, GC, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), 1000);
    pmu_wrmsr(s, MSR_PERF_METRICS, 0x10101010);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, wrong ? 0 : FIXED_ALL(3));
    pmu_op(s, OP_RUN, BLOCK_NOPS, GC_ALL, 0);
    pmu_rdmsr(s, MSR_PERF_METRICS);
}

static void m5(PmuScript *s, bool wrong)
{
    topdown(s, 0, 0);
    pmu_wrmsr(s, GC, wrong ? GC_ALL : 0);
    pmu_rdpmc(s, 0x40000003);
    pmu_rdpmc(s, 0x20000000);
}

static void m6(PmuScript *s, bool wrong)
{
    topdown(s, 0, 0);
    pmu_wrmsr(s, GC, wrong ? GC_ALL : 0);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), 0);
}

static void m7(PmuScript *s, bool wrong)
{
    topdown(s, 1000, wrong ? 0xff010000 : 0xff000000);
}

static void m8(PmuScript *s, bool wrong)
{
    topdown(s, wrong ? 0 : 1000, 0x01010101);
}

static void m9(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, GC, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3));
    pmu_wrmsr(s, GC, GLOBAL_FIXED(3) | (wrong ? 0 : GLOBAL_METRICS));
}

static void m10(PmuScript *s, bool wrong)
{
    topdown(s, 0, 0);
    pmu_rdpmc(s, 0x40000003);
    pmu_op(s, OP_SPACE, 0, 1, 0);
    if (!wrong) {
        pmu_wrmsr(s, MSR_FIXED_CTR(3), 0);
        pmu_wrmsr(s, MSR_PERF_METRICS, 0);
    }
    pmu_wrmsr(s, GC, GC_ALL);
}

static void m11(PmuScript *s, bool wrong)
{
    topdown(s, wrong ? 1ull << 40 : 0, 0);
    pmu_rdmsr(s, MSR_PERF_METRICS);
    pmu_op(s, OP_RUN, BLOCK_NOPS, GC_ALL, 0);
    pmu_rdmsr(s, MSR_PERF_METRICS);
}

/*
 * Let counter 0 overflow once, with an NMI whose handler only logs it.  Then
 * the counter is stopped.
 */
static void overflow(PmuScript *s)
{
    pmu_wrmsr(s, GC, 0);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_wrmsr(s, MSR_A_PMC(0), IN(500));
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_INT);
    pmu_op(s, OP_RUN, BLOCK_NOPS, 1, 0);
}

/* The same with a handler that does all that is needed. */
static void handled(PmuScript *s)
{
    pmu_set(s, PROGRESS_ACTION, PMI_RELOAD);
    pmu_set(s, PROGRESS_MSR, MSR_A_PMC(0));
    pmu_set(s, PROGRESS_RELOAD, FAR_AWAY);
    pmu_set(s, PROGRESS_ENABLE, 1);
    pmu_set(s, PROGRESS_LVTPC, LVT_NMI);
    overflow(s);
}

static void o1(PmuScript *s, bool wrong)
{
    if (!wrong) {
        handled(s);
        return;
    }
    overflow(s);
    pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    pmu_wrmsr(s, MSR_A_PMC(0), FAR_AWAY);
    pmu_wrmsr(s, GC, 1);
}

static void o2(PmuScript *s, bool wrong)
{
    if (!wrong) {
        handled(s);
        return;
    }
    overflow(s);
    pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    pmu_wrmsr(s, MSR_GLOBAL_RESET, 1);
    pmu_wrmsr(s, GC, 1);
}

static void o3(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, GC, 0);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_wrmsr(s, MSR_A_PMC(0), wrong ? 1000 : IN(1000000));
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_INT);
    pmu_wrmsr(s, GC, 1);
}

static void o4(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, GC, 0);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_wrmsr(s, MSR_A_PMC(0), IN(wrong ? 100000 : 200000));
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_INT);
    pmu_wrmsr(s, GC, 1);
}

/* A counter that is not set up to interrupt overflows, too. */
static void o5(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, GC, 0);
    pmu_wrmsr(s, MSR_A_PMC(0), IN(500));
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL);
    pmu_op(s, OP_RUN, BLOCK_NOPS, 1, 0);
    if (!wrong) {
        pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    }
    pmu_wrmsr(s, MSR_GLOBAL_RESET, 1);
}

static void o6(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, GC, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), IN(100));
    pmu_wrmsr(s, MSR_PERF_METRICS, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3));
    pmu_op(s, OP_RUN, BLOCK_NOPS, GC_ALL, 0);
    pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    pmu_wrmsr(s, MSR_GLOBAL_RESET, GLOBAL_FIXED(3));
    if (!wrong) {
        pmu_wrmsr(s, MSR_FIXED_CTR(3), 0);
        pmu_wrmsr(s, MSR_PERF_METRICS, 0);
    }
    pmu_wrmsr(s, GC, GC_ALL);
}

static void p1(PmuScript *s, bool wrong)
{
    if (!wrong) {
        handled(s);
        return;
    }
    overflow(s);
    /* The handler has left LVTPC masked. */
    pmu_wrmsr(s, MSR_A_PMC(0), IN(500));
    pmu_op(s, OP_RUN, BLOCK_NOPS, 1, 0);
}

/* The counter overflows again before LVTPC is unmasked, or does not. */
static void p2(PmuScript *s, bool wrong)
{
    const PayloadStep steps[] = {
        { STEP_WRMSR, GC, 0 }, { STEP_RDMSR, MSR_GLOBAL_STATUS },
        { STEP_WRMSR, MSR_GLOBAL_RESET, 1 },
        { STEP_WRMSR, MSR_A_PMC(0), wrong ? IN(50) : FAR_AWAY },
        { STEP_WRMSR, GC, 1 }, { STEP_LOOP, 0, 500 },
        { STEP_POKE32, APIC_LVTPC, LVT_NMI },
    };

    pmu_handle_by_steps(s, steps, ARRAY_SIZE(steps));
    overflow(s);
}

static void p3(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, GC, 0);
    pmu_poke32(s, APIC_LVTPC, wrong ? LVT_MASKED | LVT_NMI : LVT_NMI);
    pmu_wrmsr(s, MSR_A_PMC(0), FAR_AWAY);
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_INT);
    pmu_op(s, OP_RUN, BLOCK_LOOP, 1, 1000000);
}

static void p4(PmuScript *s, bool wrong)
{
    overflow(s);
    if (!wrong) {
        pmu_rdmsr(s, MSR_GLOBAL_STATUS);
        pmu_wrmsr(s, MSR_GLOBAL_RESET, 1);
    }
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
}

static void p5(PmuScript *s, bool wrong)
{
    if (wrong) {
        overflow(s);
    } else {
        handled(s);
    }
}

static void p6(PmuScript *s, bool wrong)
{
    pmu_poke32(s, APIC_LVTPC, wrong ? 15 : 16);
    pmu_poke32(s, APIC_LVTPC, LVT_MASKED);
}

#define STATUS_READS 101

static void p7(PmuScript *s, bool wrong)
{
    PayloadStep steps[STATUS_READS + 1] = { { STEP_WRMSR, GC, 0 } };

    for (int i = 1; i <= STATUS_READS; i++) {
        steps[i] = (PayloadStep) { STEP_RDMSR, MSR_GLOBAL_STATUS };
    }
    pmu_handle_by_steps(s, steps, wrong ? STATUS_READS + 1 : STATUS_READS);
    overflow(s);
}

static void p9(PmuScript *s, bool wrong)
{
    const PayloadStep steps[] = {
        { STEP_WRMSR, GC, wrong }, { STEP_RDMSR, MSR_GLOBAL_STATUS },
        { STEP_WRMSR, GC, 0 }, { STEP_WRMSR, MSR_GLOBAL_RESET, 1 },
        { STEP_WRMSR, MSR_A_PMC(0), FAR_AWAY }, { STEP_WRMSR, GC, 1 },
        { STEP_POKE32, APIC_LVTPC, LVT_NMI },
    };

    pmu_handle_by_steps(s, steps, ARRAY_SIZE(steps));
    overflow(s);
}

static void p8(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, MSR_DEBUGCTL, wrong ? 1 << 12 : 0);
    overflow(s);
}

static void c1(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, GC, 0);
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL);
    pmu_wrmsr(s, GC, wrong);
    pmu_wrmsr(s, MSR_A_PMC(0), 5);
}

static void c2(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, GC, 0);
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL);
    pmu_wrmsr(s, GC, wrong);
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL & ~EVTSEL_OS);
}

static void c3(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL);
    pmu_op(s, OP_RUN, BLOCK_NOPS, 1, 0);
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL ^ EVENT_INSTRUCTIONS ^ EVENT_BRANCHES);
    if (!wrong) {
        pmu_wrmsr(s, MSR_A_PMC(0), 0);
    }
    pmu_op(s, OP_RUN, BLOCK_NOPS, 1, 0);
}

static void c4(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, MSR_PMC(2), wrong ? 0x123456789aull : 0x3456789a);
}

static void c5(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL | (wrong ? 1 << 21 : 0));
}

static void c6(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, MSR_EVTSEL(wrong ? 4 : 3), 0x4301d1);
}

static void c7(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, wrong ? 1 << 16 : 0);
    pmu_rdpmc(s, wrong ? 8 : 7);
}

static void c8(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL);
    pmu_op(s, OP_RUN, BLOCK_LOOP, wrong ? 2 : 1, 1000000);
    pmu_rdmsr(s, GC);
}

static void c9(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, MSR_A_PMC(1), 5);
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL);
    for (int i = 0; i < 3; i++) {
        pmu_op(s, OP_RUN, BLOCK_NOPS, 1, 0);
        pmu_rdpmc(s, wrong);
    }
}

static void c10(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, MSR_EVTSEL(0), wrong ? SEL_ALL & ~(EVTSEL_OS | EVTSEL_USR)
                                      : SEL_ALL & ~EVTSEL_OS);
}

static void c11(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, 0x1a6, wrong ? 0 : 0x10001);
    pmu_wrmsr(s, MSR_EVTSEL(0), 0x4301b7);
}

static void c13(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, GC, 0);
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL);
    pmu_wrmsr(s, GC, wrong ? 3 : 1);
}

static void c14(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, GC, 0);
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL);
    pmu_wrmsr(s, MSR_EVTSEL(1), wrong ? SEL_ALL : SEL_ALL & ~EVTSEL_OS);
    pmu_wrmsr(s, GC, 3);
}

static void c15(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, GC, wrong ? 3 : 1);
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL);
    pmu_wrmsr(s, MSR_EVTSEL(1), SEL_ALL);
}

static void c16(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL);
    pmu_wrmsr(s, MSR_EVTSEL(1), SEL_ALL);
    pmu_wrmsr(s, GC, wrong ? 3 : 1);
    pmu_rdpmc(s, 0);
    pmu_rdpmc(s, 1);
}

/* RDPMC at CPL 3 of a count from this address space, or from another one. */
static void l1(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL);
    pmu_op(s, OP_RUN, BLOCK_NOPS, 1, 0);
    pmu_op(s, OP_SPACE, 0, wrong, 0);
    pmu_op(s, OP_CR4, 0, CR4_PCE, 0);
    pmu_op(s, OP_RDPMC, 0, RDPMC_CPL3, 0);
}

static void l2(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, GC, 0);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_wrmsr(s, MSR_A_PMC(0), FAR_AWAY);
    pmu_wrmsr(s, MSR_EVTSEL(0), wrong ? SEL_INT : SEL_INT & ~EVTSEL_EN);
    pmu_wrmsr(s, GC, 1);
    pmu_op(s, OP_INIT, 0, 0, 0);
}

static void l2_paging(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, GC, 0);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_wrmsr(s, MSR_A_PMC(0), FAR_AWAY);
    pmu_wrmsr(s, MSR_EVTSEL(0), wrong ? SEL_INT : SEL_INT & ~EVTSEL_EN);
    pmu_op(s, OP_RUN, BLOCK_PAGING_OFF, 1, 0);
}

/* A register that a CPU without perf-metrics lacks, or one that it has. */
static void l4(PmuScript *s, bool wrong)
{
    pmu_rdmsr(s, wrong ? MSR_PERF_METRICS : MSR_FIXED_CTR(0));
}

typedef struct RuleCase {
    const char *rule, *name;
    void (*write)(PmuScript *s, bool wrong);
    const char *cpu;            /* properties; NULL: +perf-metrics */
    bool noisy;                 /* the similar script breaks other rules */
} RuleCase;

static const RuleCase cases[] = {
    { "M1", "m1", m1 }, { "M2", "m2", m2 }, { "M3", "m3", m3 },
    { "M4", "m4", m4 }, { "M5", "m5", m5 }, { "M6", "m6", m6 },
    { "M7", "m7", m7 }, { "M8", "m8", m8 }, { "M9", "m9", m9 },
    { "M10", "m10", m10 }, { "M11", "m11", m11 },
    { "O1", "o1", o1 }, { "O2", "o2", o2 }, { "O3", "o3", o3 },
    { "O4", "o4", o4, "+perf-metrics,pmu-check-min-period=150000" },
    { "O5", "o5", o5 },
    { "O6", "o6", o6 },
    { "P1", "p1", p1 }, { "P2", "p2", p2 }, { "P3", "p3", p3 },
    { "P4", "p4", p4, NULL, true }, { "P5", "p5", p5 }, { "P6", "p6", p6 },
    { "P7", "p7", p7 }, { "P8", "p8", p8, NULL, true }, { "P9", "p9", p9 },
    { "C1", "c1", c1 }, { "C2", "c2", c2 }, { "C3", "c3", c3 },
    { "C4", "c4", c4 }, { "C5", "c5", c5 }, { "C6", "c6", c6 },
    { "C7", "c7", c7 }, { "C8", "c8", c8 }, { "C9", "c9", c9 },
    { "C10", "c10", c10 }, { "C11", "c11", c11 },
    { "C13", "c13", c13 }, { "C14", "c14", c14 }, { "C15", "c15", c15 },
    { "C16", "c16", c16 },
    { "L1", "l1", l1 },
    { "L2", "l2", l2 }, { "L2", "l2-paging", l2_paging },
    { "L4", "l4", l4, "pmu=on" },
};

/* Returns the JSON in @file. */
static QDict *read_report(const char *file)
{
    g_autoptr(GError) err = NULL;
    g_autofree char *text = NULL;
    QObject *report;

    g_file_get_contents(file, &text, NULL, &err);
    g_assert_no_error(err);
    report = qobject_from_json(text, &error_abort);
    g_assert_nonnull(report);
    return qobject_to(QDict, report);
}

/* Returns how often @report says that @rule was broken; NULL: any rule. */
static uint64_t hits(const QDict *report, const char *rule)
{
    uint64_t sum = 0;
    QListEntry *entry;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(report, "rules"), entry) {
        QDict *dict = qobject_to(QDict, qlist_entry_obj(entry));
        uint64_t count = qdict_get_int(dict, "hits");

        if (count) {
            g_test_message("%s: %" PRIu64, qdict_get_str(dict, "rule"), count);
        }
        if (!rule || g_str_equal(rule, qdict_get_str(dict, "rule"))) {
            sum += count;
        }
    }
    return sum;
}

/* Run @script with CPU properties @check.  Returns the report. */
static QDict *run_checked(PmuScript *script, const char *check,
                          const char *args)
{
    g_autofree char *file = NULL, *all = NULL;
    g_autoptr(GError) err = NULL;
    QDict *report;
    int fd = g_file_open_tmp("qtest-pmu-check-XXXXXX", &file, &err);

    g_assert_no_error(err);
    close(fd);
    all = g_strdup_printf("-cpu Icelake-Server,check=off,"
                          "pmu-check-report=%s,%s %s", file, check, args);
    pmu_run(script, all);
    report = read_report(file);
    g_unlink(file);
    return report;
}

static QDict *run_case(const RuleCase *c, bool wrong)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autofree char *check = g_strdup_printf(
        "%s,pmu-check=event,pmu-check-rules=+%s", c->cpu ?: "+perf-metrics",
        c->rule);

    c->write(s, wrong);
    return run_checked(s, check, "-icount shift=0");
}

static void test_broken(const void *data)
{
    const RuleCase *c = data;
    g_autoptr(QDict) report = run_case(c, true);

    pmu_expect(hits(report, c->rule) > 0, true, "is %s broken", c->rule);
}

static void test_kept(const void *data)
{
    const RuleCase *c = data;
    g_autoptr(QDict) report = run_case(c, false);

    pmu_expect(hits(report, c->noisy ? c->rule : NULL), 0,
               "broken rules next to %s", c->rule);
}

/* Write counter 0 while it counts, 3 times at one address. */
static void write_counting(PmuScript *s)
{
    pmu_wrmsr(s, GC, 0);
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL);
    pmu_wrmsr(s, GC, 1);
    for (int i = 0; i < 3; i++) {
        pmu_wrmsr(s, MSR_A_PMC(0), 5);
    }
}

/* Wait before the script begins: without a listener, events are lost. */
static void wait_for_listener(PmuScript *s)
{
    pmu_op(s, OP_SYNC, 0, 1, 0);
}

static void let_begin(PmuMachine *machine)
{
    pmu_wait_for(machine, 1);
    pmu_go(machine, 1);
}

static void start_checked(PmuMachine *machine, PmuScript *s, const char *check)
{
    g_autofree char *args = g_strdup_printf(
        "-cpu Icelake-Server,+perf-metrics,check=off,%s", check);

    pmu_start(machine, s, args);
}

static const char *list_text(const QListEntry *entry)
{
    return qstring_get_str(qobject_to(QString, qlist_entry_obj(entry)));
}

/* Returns an event that came and was not taken yet, or NULL. */
static QDict *newest_event(PmuMachine *machine)
{
    /* Events are read with the answer to a command. */
    qtest_qmp_assert_success(machine->qts, "{ 'execute': 'query-status' }");
    return qtest_qmp_event_ref(machine->qts, "X86_PMU_CHECK");
}

static bool is_of_rule(const QDict *event, const char *rule)
{
    return g_str_equal(qdict_get_str(qdict_get_qdict(event, "data"), "rule"),
                       rule);
}

/* All hits at one address send one event, with the steps that led to it. */
static void test_event(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    PmuMachine machine;
    QDict *event, *data;
    QListEntry *entry, *newest = NULL;
    uint64_t rip;

    wait_for_listener(s);
    write_counting(s);
    start_checked(&machine, s, "pmu-check=event");
    let_begin(&machine);
    event = qtest_qmp_eventwait_ref(machine.qts, "X86_PMU_CHECK");
    data = qdict_get_qdict(event, "data");
    g_assert_cmpstr(qdict_get_str(data, "rule"), ==, "C1");
    g_assert_cmpstr(qdict_get_str(data, "severity"), ==, "loss");
    g_assert_cmpuint(qdict_get_int(data, "cpl"), ==, 0);
    g_assert_cmpuint(qdict_get_int(data, "counters"), ==, 1);
    g_assert_cmpuint(qdict_get_int(data, "cpu-index"), ==, 0);
    rip = qdict_get_int(data, "rip");
    g_assert_cmphex(rip, >=, PAYLOAD_IMAGE);
    g_assert_cmphex(rip, <, PAYLOAD_IMAGE + PAYLOAD_IMAGE_SIZE);
    QLIST_FOREACH_ENTRY(qdict_get_qlist(data, "history"), entry) {
        newest = entry;
    }
    g_test_message("%s", list_text(newest));
    g_assert_nonnull(strstr(list_text(newest), "wrmsr IA32_A_PMC0 0x5"));
    pmu_wait_done(&machine, 1);
    g_assert_null(newest_event(&machine));
    qobject_unref(event);
    pmu_stop(&machine);
}

static void expect_status(PmuMachine *machine, const char *status)
{
    QDict *answer = qtest_qmp(machine->qts, "{ 'execute': 'query-status' }");

    g_assert_cmpstr(qdict_get_str(qdict_get_qdict(answer, "return"), "status"),
                    ==, status);
    qobject_unref(answer);
}

/* The guest stops after the access, and goes on at the command "cont". */
static void test_stop(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    PmuMachine machine;

    wait_for_listener(s);
    write_counting(s);
    pmu_op(s, OP_SYNC, 0, 2, 0);
    start_checked(&machine, s, "pmu-check=stop");
    let_begin(&machine);
    qtest_qmp_eventwait(machine.qts, "STOP");
    expect_status(&machine, "debug");
    g_assert_false(pmu_done_within(&machine, 0, 0));
    qtest_qmp_assert_success(machine.qts, "{ 'execute': 'cont' }");
    pmu_wait_for(&machine, 2);
    pmu_go(&machine, 2);
    pmu_wait_done(&machine, 1);
    pmu_stop(&machine);
}

static void test_exit(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    PmuMachine machine;

    wait_for_listener(s);
    write_counting(s);
    start_checked(&machine, s, "pmu-check=exit");
    let_begin(&machine);
    qtest_set_expected_status(machine.qts, 3);
    qtest_wait_qemu(machine.qts);
    qtest_quit(machine.qts);
    pmu_remove(&machine);
}

/* Writes @text to a file.  The caller unlinks it and frees its name. */
static char *write_temporary(const char *text)
{
    g_autoptr(GError) err = NULL;
    char *file;
    int fd = g_file_open_tmp("qtest-pmu-check-XXXXXX", &file, &err);

    g_assert_no_error(err);
    close(fd);
    g_file_set_contents(file, text, -1, &err);
    g_assert_no_error(err);
    return file;
}

/*
 * An interrupt that a fault asks for breaks no rule if it finds LVTPC masked:
 * it is no overflow's.  Interrupts of overflows break rules as without a fault.
 */
static void mask_before_late(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, GC, 0);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_wrmsr(s, MSR_A_PMC(0), IN(500));
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_INT);
    pmu_op(s, OP_RUN, BLOCK_NOPS, 1, 0);
    pmu_poke32(s, APIC_LVTPC, LVT_MASKED | LVT_NMI);
    pmu_op(s, OP_RUN, BLOCK_LOOP, 0, 100000);
}

static void write_unrelated(PmuScript *s, bool wrong)
{
    pmu_wrmsr(s, MSR_EVTSEL(5), 0);
}

static void p1_and_unrelated(PmuScript *s, bool wrong)
{
    write_unrelated(s, wrong);
    p1(s, wrong);
}

typedef struct FaultCase {
    const char *name;
    void (*write)(PmuScript *s, bool wrong);
    const char *fault;
    bool wrong;                 /* it breaks P1 */
} FaultCase;

static const FaultCase faults[] = {
    { "spurious", write_unrelated, "kind=spurious,access=0x18b" },
    { "spurious-counted", write_unrelated, "kind=spurious,insns=1000" },
    { "late", mask_before_late, "kind=late,by=50000" },
    { "spurious-broken", p1_and_unrelated, "kind=spurious,access=0x18b",
      true },
    { "together", p1, "kind=spurious,access=0x38f,max=1000", true },
};

static void test_fault(const void *data)
{
    const FaultCase *c = data;
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autofree char *args = g_strdup_printf(
        "-icount shift=0 -object pmu-fault,id=f,%s", c->fault);
    g_autoptr(QDict) report = NULL;

    c->write(s, c->wrong);
    report = run_checked(s, "+perf-metrics,pmu-check=event", args);
    pmu_expect(qdict_get_int(qdict_get_qdict(report, "interrupts"),
                             "masked") > 0, true, "is LVTPC masked");
    pmu_expect(hits(report, "P1") > 0, c->wrong, "is P1 broken");
    pmu_expect(hits(report, "P2"), 0, "hits of P2");
}

/* A suppressed hit does not end QEMU; the report has it, with the reason. */
static void test_suppress(void)
{
    g_autofree char *file = write_temporary("C1 * the test writes it\n");
    g_autofree char *check = g_strdup_printf(
        "+perf-metrics,pmu-check=exit,pmu-check-suppress=%s", file);
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autoptr(QDict) report = NULL;
    QListEntry *entry;
    unsigned known = 0;

    write_counting(s);
    report = run_checked(s, check, "");
    g_unlink(file);
    g_assert_cmpuint(hits(report, NULL), ==, 0);
    QLIST_FOREACH_ENTRY(qdict_get_qlist(report, "rules"), entry) {
        QDict *rule = qobject_to(QDict, qlist_entry_obj(entry));
        QList *sites = qdict_get_qlist(rule, "sites");
        QDict *site;

        if (!g_str_equal(qdict_get_str(rule, "rule"), "C1")) {
            continue;
        }
        known = qdict_get_int(rule, "suppressed");
        site = qobject_to(QDict, qlist_entry_obj(qlist_first(sites)));
        g_assert_cmpstr(qdict_get_str(site, "suppressed"), ==,
                        "the test writes it");
        g_assert_cmpuint(qdict_get_int(site, "count"), ==, known);
        g_assert_cmpstr(qdict_get_str(site, "register"), ==, "IA32_A_PMC0");
    }
    g_assert_cmpuint(known, ==, 3);
}

/* The event has the symbol from the map, which has only one function. */
static void test_symbols(void)
{
    g_autofree char *map = write_temporary("0000000000100000 T payload\n");
    g_autofree char *check = g_strdup_printf("pmu-check=event,pmu-check-map=%s",
                                             map);
    g_autoptr(PmuScript) s = pmu_script_new();
    PmuMachine machine;
    QDict *event;

    wait_for_listener(s);
    write_counting(s);
    start_checked(&machine, s, check);
    let_begin(&machine);
    event = qtest_qmp_eventwait_ref(machine.qts, "X86_PMU_CHECK");
    g_assert_true(g_str_has_prefix(
        qdict_get_str(qdict_get_qdict(event, "data"), "symbol"), "payload+0x"));
    qobject_unref(event);
    pmu_wait_done(&machine, 1);
    pmu_stop(&machine);
    g_unlink(map);
}

/*
 * No rule is broken if RDPMC clears what it has read, or if an access raises
 * #GP by a fault on demand.
 */
static void test_no_rule(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autoptr(QDict) report = NULL;

    pmu_wrmsr(s, GC, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), 0);
    pmu_wrmsr(s, MSR_PERF_METRICS, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3) | 0x4000);
    for (int i = 0; i < 2; i++) {
        pmu_op(s, OP_RUN, BLOCK_NOPS, GC_ALL, 0);
        pmu_rdpmc(s, 0x20000000);
    }
    pmu_wrmsr(s, MSR_A_PMC(5), 0);
    report = run_checked(s, "+perf-metrics,pmu-check=event,"
                         "pmu-metrics-clear=1",
                         "-object pmu-fault,id=f,kind=gp,access=0x4c6");
    pmu_expect(hits(report, NULL), 0, "rules broken");
}

/* The report counts accesses by register, and interrupts by their fate. */
static void test_report(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autoptr(QDict) report = NULL;
    QDict *accesses, *one;

    handled(s);
    pmu_rdmsr(s, MSR_EVTSEL(1));
    pmu_rdmsr(s, MSR_EVTSEL(1));
    pmu_wrmsr(s, MSR_GLOBAL_STATUS, 0);
    pmu_rdpmc(s, 0x40000001);
    report = run_checked(s, "+perf-metrics,pmu-check=event", "");
    accesses = qdict_get_qdict(report, "accesses");
    one = qdict_get_qdict(accesses, "IA32_PERFEVTSEL1");
    g_assert_cmpuint(qdict_get_int(one, "rdmsr"), ==, 2);
    g_assert_cmpuint(qdict_get_int(one, "wrmsr"), ==, 0);
    one = qdict_get_qdict(accesses, "IA32_PERF_GLOBAL_STATUS");
    g_assert_cmpuint(qdict_get_int(one, "gp"), ==, 1);
    one = qdict_get_qdict(accesses, "IA32_FIXED_CTR1");
    g_assert_cmpuint(qdict_get_int(one, "rdpmc"), ==, 1);
    one = qdict_get_qdict(report, "interrupts");
    g_assert_cmpuint(qdict_get_int(one, "delivered"), ==, 1);
    g_assert_cmpuint(qdict_get_int(one, "masked"), ==, 0);
    g_assert_cmpuint(hits(report, "C7"), ==, 1);
    g_assert_nonnull(strstr(qdict_get_str(report, "version"), "10."));
    g_assert_false(qlist_empty(qdict_get_qlist(report, "command-line")));
}

/* The recorder keeps the last steps of the script, the newest one last. */
static void test_history(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    PmuMachine machine;
    QDict *answer, *history, *step;
    QListEntry *entry;
    unsigned count = 0;

    for (int i = 0; i < 10; i++) {
        pmu_wrmsr(s, MSR_A_PMC(2), i);
    }
    start_checked(&machine, s, "pmu-recorder=3");
    pmu_wait_done(&machine, 1);
    answer = qtest_qmp(machine.qts, "{ 'execute': 'x-query-pmu-history' }");
    history = qobject_to(QDict, qlist_entry_obj(qlist_first(
        qdict_get_qlist(answer, "return"))));
    QLIST_FOREACH_ENTRY(qdict_get_qlist(history, "entries"), entry) {
        step = qobject_to(QDict, qlist_entry_obj(entry));
        g_assert_cmpstr(qdict_get_str(step, "kind"), ==, "wrmsr");
        g_assert_cmpstr(qdict_get_str(step, "register"), ==, "IA32_A_PMC2");
        g_assert_cmpuint(qdict_get_int(step, "value"), ==, 7 + count);
        g_assert_cmpuint(qdict_get_int(step, "old"), ==, 6 + count);
        count++;
    }
    g_assert_cmpuint(count, ==, 3);
    qobject_unref(answer);
    g_autofree char *text = qtest_hmp(machine.qts, "info pmu -h");
    g_assert_nonnull(strstr(text, "wrmsr IA32_A_PMC2 0x9 was 0x8"));
    pmu_stop(&machine);
}

/* Run with record/replay @mode.  Returns the rules of the report, as text. */
static char *run_replayable(const PmuMachine *machine, const char *mode)
{
    g_autofree char *file = g_strdup_printf("%s/report", machine->dir);
    g_autofree char *args = g_strdup_printf(
        "-cpu Icelake-Server,+perf-metrics,check=off,pmu-check=log,"
        "pmu-check-report=%s -icount shift=auto,rr=%s,rrfile=%s/rr", file,
        mode, machine->dir);
    g_autoptr(GBytes) dump = pmu_run_prepared(machine, args);
    g_autoptr(QDict) report = NULL;
    GString *text;

    g_assert_nonnull(dump);
    report = read_report(file);
    g_assert_cmpuint(hits(report, "C1"), ==, 3);
    g_assert_cmpuint(hits(report, "P5"), ==, 1);
    text = qobject_to_json(qdict_get(report, "rules"));
    return g_string_free(text, false);
}

/* A replay breaks the same rules at the same instructions. */
static void test_replay(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autofree char *recorded = NULL;
    PmuMachine machine;

    overflow(s);
    pmu_wrmsr(s, MSR_EVTSEL(0), 0);
    pmu_wrmsr(s, MSR_A_PMC(0), 0);
    pmu_wrmsr(s, MSR_GLOBAL_RESET, 1);
    write_counting(s);
    pmu_op(s, OP_DUMP, 0, 0, 0);
    pmu_op(s, OP_EXIT, 0, 0, 0);
    pmu_prepare(&machine, s);
    recorded = run_replayable(&machine, "record");
    for (int i = 0; i < 2; i++) {
        g_autofree char *replayed = run_replayable(&machine, "replay");

        g_assert_cmpstr(replayed, ==, recorded);
    }
    pmu_remove(&machine);
}

/* Returns the address of BLOCK_EVTSEL, which is the same in each run. */
static uint64_t find_block(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned block = pmu_op(s, OP_BLOCK, BLOCK_EVTSEL, 0, 0);

    pmu_run(s, PMU_CPU_METRICS);
    return pmu_value(s, block);
}

/* C12: both the interpreter and a block write a selector. */
static void test_two_owners(void)
{
    uint64_t block = find_block();

    for (int wrong = 0; wrong < 2; wrong++) {
        g_autofree char *check = g_strdup_printf(
            "+perf-metrics,pmu-check=event,pmu-check-rules=+C12,"
            "pmu-check-text=0x%" PRIx64 "-0x%" PRIx64,
            wrong ? block : PAYLOAD_IMAGE,
            wrong ? block + 0x60 : PAYLOAD_IMAGE + PAYLOAD_IMAGE_SIZE);
        g_autoptr(PmuScript) s = pmu_script_new();
        g_autoptr(QDict) report = NULL;

        pmu_wrmsr(s, GC, 0);
        pmu_wrmsr(s, MSR_EVTSEL(1), SEL_ALL);
        pmu_op(s, OP_RUN, BLOCK_EVTSEL, 0, SEL_ALL);
        report = run_checked(s, check, "");
        pmu_expect(hits(report, wrong ? "C12" : NULL), wrong,
                   "rules broken with %s", check);
    }
}

/*
 * Run @s, which waits for a listener, with properties @before, migrate it, and
 * go on with @behind.  Returns the first event after the migration, or NULL.
 */
static QDict *run_migrated(PmuScript *s, const char *before,
                           const char *behind)
{
    g_autofree char *file = write_temporary("");
    g_autofree char *uri = g_strdup_printf("file:%s", file);
    g_autofree char *incoming = g_strdup_printf("%s -incoming %s", behind, uri);
    g_autoptr(PmuScript) idle = pmu_script_new();
    PmuMachine from, to;
    QDict *event;

    start_checked(&from, s, before);
    pmu_wait_for(&from, 1);
    pmu_migrate(&from, uri);
    pmu_stop(&from);
    start_checked(&to, idle, incoming);
    pmu_wait_running(&to);
    pmu_go(&to, 1);
    pmu_wait_done(&to, 1);
    event = newest_event(&to);
    if (event && is_of_rule(event, "C8")) {
        /* How long the guest waits to enable a counter depends on the host. */
        qobject_unref(event);
        event = newest_event(&to);
    }
    pmu_stop(&to);
    g_unlink(file);
    return event;
}

/* Sequences that begin before a migration and end after it. */
typedef struct CutCase {
    const char *rule;           /* that it breaks; NULL: none */
    void (*write)(PmuScript *s);
} CutCase;

static void cut_m1(PmuScript *s)
{
    topdown(s, 0, 0);
    pmu_wrmsr(s, MSR_PERF_METRICS, 0);
    wait_for_listener(s);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), 1000);
    pmu_wrmsr(s, GC, GC_ALL);
}

static void cut_order(PmuScript *s)
{
    topdown(s, 0, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR(3), 1000);
    wait_for_listener(s);
    pmu_wrmsr(s, MSR_PERF_METRICS, 0);
    pmu_wrmsr(s, GC, GC_ALL);
}

static void cut_o2(PmuScript *s)
{
    overflow(s);
    pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    pmu_wrmsr(s, MSR_GLOBAL_RESET, 1);
    wait_for_listener(s);
    pmu_wrmsr(s, GC, 1);
}

static void cut_c3(PmuScript *s)
{
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL);
    pmu_op(s, OP_RUN, BLOCK_NOPS, 1, 0);
    wait_for_listener(s);
    pmu_wrmsr(s, MSR_EVTSEL(0), SEL_ALL ^ EVENT_INSTRUCTIONS ^ EVENT_BRANCHES);
    pmu_wrmsr(s, GC, 1);
}

static const CutCase cuts[] = {
    { "M1", cut_m1 }, { NULL, cut_order }, { "O2", cut_o2 }, { "C3", cut_c3 },
};

/* After a migration, the checker knows what the guest did before. */
static void test_migration(void)
{
    for (int i = 0; i < ARRAY_SIZE(cuts); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        QDict *event;

        cuts[i].write(s);
        event = run_migrated(s, "pmu-check=log", "pmu-check=event");
        g_test_message("%s", cuts[i].rule ?: "none");
        g_assert_cmpint(!event, ==, !cuts[i].rule);
        if (event) {
            g_assert_cmpstr(qdict_get_str(qdict_get_qdict(event, "data"),
                                          "rule"), ==, cuts[i].rule);
            qobject_unref(event);
        }
    }
}

/* If there was no checker before the migration, these rules are not judged. */
static void test_migration_unknown(void)
{
    for (int i = 0; i < ARRAY_SIZE(cuts); i++) {
        g_autoptr(PmuScript) s = pmu_script_new(), same = pmu_script_new();

        cuts[i].write(s);
        g_assert_null(run_migrated(s, "pmu-check=off", "pmu-check=event"));
        /* The other way round: no checker uses what the first one knew. */
        cuts[i].write(same);
        g_assert_null(run_migrated(same, "pmu-check=log", "pmu-check=off"));
    }
}

static void write_last_counter(PmuScript *s)
{
    pmu_wrmsr(s, MSR_A_PMC(7), 5);
    wait_for_listener(s);
}

/* L3: QEMU refuses a migration to fewer counters, and accepts as many. */
static void test_fewer(void)
{
    g_autofree char *file = write_temporary("");
    g_autofree char *uri = g_strdup_printf("file:%s", file);
    g_autofree char *command = NULL, *output = NULL;
    g_autoptr(PmuScript) s = pmu_script_new(), idle = pmu_script_new();
    g_autoptr(PmuScript) same = pmu_script_new();
    g_autoptr(GError) err = NULL;
    PmuMachine from, to;
    int status;

    write_last_counter(s);
    start_checked(&from, s, "pmu-check=event");
    pmu_wait_for(&from, 1);
    pmu_migrate(&from, uri);
    pmu_stop(&from);
    pmu_prepare(&to, idle);
    command = g_strdup_printf(
        "%s %s -accel tcg -display none -cpu Icelake-Server,+perf-metrics,"
        "check=off,pmu-check=log,pmu-counters=4 -incoming %s",
        getenv("QTEST_QEMU_BINARY"), to.args, uri);
    g_spawn_command_line_sync(command, NULL, &output, &status, &err);
    g_assert_no_error(err);
    g_test_message("%s", output);
    g_assert_nonnull(strstr(output, "L3 (undefined)"));
    g_assert_cmpint(status, !=, 0);
    pmu_remove(&to);
    g_unlink(file);
    write_last_counter(same);
    g_assert_null(run_migrated(same, "pmu-check=event",
                               "pmu-check=event,pmu-counters=8"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (int i = 0; i < ARRAY_SIZE(cases); i++) {
        g_autofree char *broken = g_strdup_printf("pmu/check/%s/broken",
                                                  cases[i].name);
        g_autofree char *kept = g_strdup_printf("pmu/check/%s/kept",
                                                cases[i].name);

        qtest_add_data_func(broken, &cases[i], test_broken);
        qtest_add_data_func(kept, &cases[i], test_kept);
    }
    for (int i = 0; i < ARRAY_SIZE(faults); i++) {
        g_autofree char *path = g_strdup_printf("pmu/check/fault/%s",
                                                faults[i].name);

        qtest_add_data_func(path, &faults[i], test_fault);
    }
    qtest_add_func("pmu/check/event", test_event);
    qtest_add_func("pmu/check/stop", test_stop);
    qtest_add_func("pmu/check/exit", test_exit);
    qtest_add_func("pmu/check/suppress", test_suppress);
    qtest_add_func("pmu/check/symbols", test_symbols);
    qtest_add_func("pmu/check/no-rule", test_no_rule);
    qtest_add_func("pmu/check/report", test_report);
    qtest_add_func("pmu/check/history", test_history);
    qtest_add_func("pmu/check/replay", test_replay);
    qtest_add_func("pmu/check/two-owners", test_two_owners);
    qtest_add_func("pmu/check/migration", test_migration);
    qtest_add_func("pmu/check/migration-unknown", test_migration_unknown);
    qtest_add_func("pmu/check/fewer", test_fewer);
    return g_test_run();
}
