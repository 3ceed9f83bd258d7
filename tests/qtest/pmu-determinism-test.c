/*
 * Test that the PMU's counts are a function of the instructions executed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The same code gives the same counts, cycles, slots and everything else in
 * the ledger, however QEMU cuts it into blocks.  With -icount, so does code
 * that is interrupted.  A replay counts the same as the recording.  What
 * another CPU does changes no instruction count.
 */

#include "qemu/osdep.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"

#include "pmu/machine.h"

#define ENABLE      (0xffull | 0xf00000000 | GLOBAL_METRICS)
#define DUMP_MIN    1000

/* BR_INST_RETIRED.COND_TAKEN */
#define EVENT_COND_TAKEN 0x01c4

/* Enable all counters; the first one interrupts. */
static void setup(PmuScript *s, uint64_t period)
{
    static const uint16_t events[8] = {
        EVENT_BRANCHES, EVENT_INSTRUCTIONS, EVENT_BRANCH_MISSES, EVENT_SLOTS,
        EVENT_BACKEND, EVENT_RETIRING, EVENT_FRONTEND, EVENT_CYCLES,
    };

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    for (int i = 0; i < 8; i++) {
        pmu_wrmsr(s, MSR_EVTSEL(i), events[i] | EVTSEL_EN | EVTSEL_USR |
                  (i ? EVTSEL_OS : 0) | (period && !i ? EVTSEL_INT : 0));
        pmu_wrmsr(s, MSR_A_PMC(i), 0);
    }
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, 0x3333);
    for (int i = 0; i < 4; i++) {
        pmu_wrmsr(s, MSR_FIXED_CTR(i), 0);
    }
    if (period) {
        uint64_t value = -period & COUNTER_MASK;

        pmu_wrmsr(s, MSR_A_PMC(0), value);
        pmu_set(s, PROGRESS_ACTION, PMI_RELOAD);
        pmu_set(s, PROGRESS_MSR, MSR_A_PMC(0));
        pmu_set(s, PROGRESS_RELOAD, value);
        pmu_set(s, PROGRESS_ENABLE, ENABLE);
        pmu_set(s, PROGRESS_LVTPC, LVT_NMI);
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    }
}

static void read_all(PmuScript *s)
{
    for (int i = 0; i < 8; i++) {
        pmu_rdpmc(s, i);
    }
    for (int i = 0; i < 4; i++) {
        pmu_rdpmc(s, 0x40000000 + i);
    }
    pmu_rdpmc(s, 0x20000000);
}

/* Append code of each kind that takes no interrupt from outside. */
static void add_code(PmuScript *s)
{
    static const struct {
        unsigned block;
        uint64_t arg;
    } code[] = {
        { BLOCK_LONG }, { BLOCK_MIXED, 3000 }, { BLOCK_CHASE, 3000 },
        { BLOCK_GUESS, 3000 }, { BLOCK_CALLS, 500 }, { BLOCK_MEMORY, 500 },
        { BLOCK_MOVSB, 6000 }, { BLOCK_STOSQ, 70000 }, { BLOCK_SCASB, 700 },
        { BLOCK_SELF_MODIFYING, 50 }, { BLOCK_MODIFY_NEXT },
        { BLOCK_UD }, { BLOCK_DE }, { BLOCK_GP_RDPMC }, { BLOCK_TF },
        { BLOCK_MMIO, 50 }, { BLOCK_PREFIXES }, { BLOCK_BRANCHES },
        { BLOCK_MULTIPLY, 300 },
    };

    pmu_op(s, OP_ENABLE_SYSCALL, 0, 0, 0);
    pmu_op(s, OP_RUN, BLOCK_SYSCALL | RUN_CPL3, ENABLE, 100);
    for (int i = 0; i < 2 * ARRAY_SIZE(code); i++) {
        pmu_op(s, OP_RUN, code[i / 2].block | (i & 1 ? RUN_CPL3 : 0), ENABLE,
               code[i / 2].arg);
    }
    /* Counting goes on for a while, here in 32-bit and 16-bit code. */
    pmu_op(s, OP_RDPMC, 0, RDPMC_REAL_MODE, 0);
}

/* Returns the current ledger of @machine, as text. */
static char *query_ledger(PmuMachine *machine)
{
    QDict *response = qtest_qmp(machine->qts, "{'execute': 'x-query-pmu'}");
    QDict *info =
        qobject_to(QDict, qlist_peek(qdict_get_qlist(response, "return")));
    GString *json = qobject_to_json_pretty(qdict_get(info, "ledger"), true);

    qobject_unref(response);
    return g_string_free(json, false);
}

/*
 * Wait until the first CPU has halted.  The payload reports that it is done a
 * few instructions before, and a busy host can delay the thread in between.
 */
static void wait_halted(PmuMachine *machine)
{
    bool halted;

    do {
        g_autofree char *state = qtest_hmp(machine->qts, "info registers");

        halted = strstr(state, "HLT=1");
        g_usleep(1000);
    } while (!halted);
}

/* Returns the whole ledger after @script and the payload's end, as text. */
static char *run_ledger(PmuScript *script, const char *args, bool looked_at)
{
    PmuMachine machine;
    char *ledger;

    pmu_start(&machine, script, args);
    while (looked_at && !pmu_done_within(&machine, 0, 0)) {
        g_free(query_ledger(&machine));
    }
    pmu_wait_done(&machine, 1);
    pmu_read_results(&machine, script, 1);
    wait_halted(&machine);
    ledger = query_ledger(&machine);
    pmu_stop(&machine);
    return ledger;
}

static void expect_same_ledger(const char *const *args, unsigned n,
                               uint64_t period)
{
    g_autofree char *first = NULL;

    for (int i = 0; i < n; i++) {
        g_autofree char *all = g_strconcat(PMU_CPU_METRICS, args[i], NULL);
        g_autoptr(PmuScript) s = pmu_script_new();
        g_autofree char *ledger = NULL;

        setup(s, period);
        add_code(s);
        ledger = run_ledger(s, all, false);
        if (period) {
            g_assert_cmpuint(s->progress[0].events, >, 100);
        }
        if (!first) {
            g_assert_nonnull(strstr(ledger, "br-mispredict"));
            first = g_steal_pointer(&ledger);
        } else if (!g_str_equal(ledger, first)) {
            g_test_message("ledger with '%s': %s", args[0], first);
            g_test_message("ledger with '%s': %s", args[i], ledger);
            g_test_message("the ledger with '%s' is another one", args[i]);
            g_test_fail();
        }
    }
}

static void test_cuts(void)
{
    static const char *const args[] = {
        "", "-accel tcg,one-insn-per-tb=on", "-d nochain",
        "-accel tcg,tb-size=1",
    };

    expect_same_ledger(args, ARRAY_SIZE(args), 0);
}

/* The PMU's own interrupts cut blocks, but come at the same instructions. */
static void test_cuts_overflow(void)
{
    static const char *const args[] = {
        "", "-accel tcg,one-insn-per-tb=on", "-d nochain",
    };

    expect_same_ledger(args, ARRAY_SIZE(args), 37);
}

/*
 * Returns @ledger without the two items of taken and not-taken conditional
 * branches.  These are not known if no counter counts them.
 */
static char *without_ways(const char *ledger)
{
    g_autoptr(GRegex) ways = g_regex_new(
        "\\{[^{}]*\"branches-cond-n?taken\"[^{}]*\\}", 0, 0, NULL);

    return g_regex_replace(ways, ledger, -1, 0, "", 0, NULL);
}

/*
 * A guest that reads counters all the time changes no count.  What counts is
 * everything, slots alone, or slots and misses.
 */
static void test_reads(void)
{
    static const struct {
        const char *args;
        uint64_t enable, event;
    } row[] = {
        { PMU_CPU_METRICS, ENABLE, EVENT_BRANCH_MISSES },
        { PMU_CPU_METRICS, GLOBAL_FIXED(3) | GLOBAL_METRICS },
        { PMU_CPU_METRICS, GLOBAL_GP(0) | GLOBAL_FIXED(3),
          EVENT_LLC_MISSES },
        { PMU_CPU_METRICS "-icount shift=3", GLOBAL_FIXED(3) },
        { PMU_CPU_METRICS "-icount shift=model", GLOBAL_FIXED(3) },
    };

    for (int i = 0; i < ARRAY_SIZE(row); i++) {
        g_autofree char *first = NULL, *second = NULL;
        g_autoptr(PmuScript) s = pmu_script_new();

        for (int j = 0; j < 2; j++) {
            g_autofree char *ledger = NULL;

            s->num_ops[0] = 0;
            pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
            pmu_wrmsr(s, MSR_EVTSEL(0), row[i].event | EVTSEL_EN |
                      EVTSEL_OS | EVTSEL_USR);
            pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, 0x3333);
            pmu_op(s, OP_RUN, BLOCK_MIXED | RUN_CPL3, row[i].enable, 50000);
            pmu_op(s, OP_RUN, BLOCK_CHASE, row[i].enable, 100000);
            pmu_op(s, OP_RUN, BLOCK_GUESS, row[i].enable, 300000);
            ledger = run_ledger(s, row[i].args, j == 1);
            *(j ? &second : &first) = without_ways(ledger);
        }
        if (!g_str_equal(first, second)) {
            g_test_message("not read: %s", first);
            g_test_message("read: %s", second);
            g_test_message("row %d: the ledger is another one", i);
            g_test_fail();
        }
    }
}

/*
 * With -icount, a read of a counter makes QEMU leave its execution loop, where
 * overflows interrupt.  They interrupt no sooner than without reads.
 */
static void test_reads_overflow(void)
{
    for (int i = 0; i < 5; i++) {
        g_autofree char *first = NULL, *second = NULL;

        for (int j = 0; j < 2; j++) {
            g_autoptr(PmuScript) s = pmu_script_new();

            setup(s, 100003);
            /* The counter that interrupts counts estimates. */
            pmu_wrmsr(s, MSR_EVTSEL(0), EVENT_CYCLES | EVTSEL_EN |
                      EVTSEL_USR | EVTSEL_INT);
            pmu_op(s, OP_RUN, BLOCK_MIXED | RUN_CPL3, ENABLE, 1000000);
            pmu_op(s, OP_RUN, BLOCK_CHASE | RUN_CPL3, ENABLE, 2000000);
            pmu_op(s, OP_RUN, BLOCK_GUESS | RUN_CPL3, ENABLE, 4000000);
            *(j ? &second : &first) =
                run_ledger(s, PMU_CPU_METRICS "-icount shift=3", j == 1);
            g_assert_cmpuint(s->progress[0].events, >, 50);
        }
        if (!g_str_equal(first, second)) {
            g_test_message("not read: %s", first);
            g_test_message("read: %s", second);
            g_test_message("the ledger is another one");
            g_test_fail();
        }
    }
}

/* icount, another CPU and the board make no difference. */
static void test_machines(void)
{
    static const char *const args[] = {
        "", "-smp 2", "-icount shift=3", "-machine q35", "-machine microvm",
        "-accel tcg,thread=single",
    };

    expect_same_ledger(args, ARRAY_SIZE(args), 0);
}

/*
 * Returns a script with interrupts of a timer and of overflows; with @halt also
 * from a halted CPU.  It dumps counters, and where the interrupts came.
 */
static PmuScript *interrupted_script(bool halt)
{
    PmuScript *s = pmu_script_new();

    setup(s, 1009);
    /* The handler must not reload a counter at a timer's interrupt. */
    pmu_set(s, PROGRESS_ACTION, PMI_LOG);
    pmu_poke32(s, APIC_TIMER_DIVIDE, 0xb);
    pmu_poke32(s, APIC_LVT_TIMER, VECTOR_TIMER | 0x20000);
    pmu_poke32(s, APIC_TIMER_INITIAL, 20000);
    pmu_op(s, OP_RUN, BLOCK_MIXED | RUN_CPL3 | RUN_IF, ENABLE, 50000);
    if (halt) {
        pmu_op(s, OP_RUN, BLOCK_HLT, ENABLE, 0);
    }
    pmu_op(s, OP_RUN, BLOCK_LOOP | RUN_CPL3 | RUN_IF, ENABLE, 300000);
    pmu_poke32(s, APIC_LVT_TIMER, LVT_MASKED);
    setup(s, 1009);
    add_code(s);
    read_all(s);
    pmu_op(s, OP_DUMP, 0, 0, 0);
    pmu_op(s, OP_EXIT, 0, 0, 0);
    return s;
}

static void expect_same_dump(GBytes *actual, GBytes *expected,
                             const char *what)
{
    if (!actual || !expected) {
        return;                 /* the test has failed already */
    }
    g_assert_cmpuint(g_bytes_get_size(expected), >, DUMP_MIN);
    pmu_expect(g_bytes_get_size(actual), g_bytes_get_size(expected),
               "size of what %s dumped", what);
    pmu_expect(g_bytes_equal(actual, expected), true,
               "counts and interrupts of %s are the same", what);
}

static void test_icount(void)
{
    /*
     * While all CPUs are halted, and icount may sleep, QEMU's clock depends
     * on real time (docs/devel/tcg-icount.rst).
     */
    static const struct {
        const char *args;
        bool halt;
    } row[] = {
        { PMU_CPU_METRICS "-icount shift=0", false },
        { PMU_CPU_METRICS "-icount shift=3,sleep=off", true },
        { PMU_CPU_METRICS "-icount shift=model", true },
    };

    for (int i = 0; i < ARRAY_SIZE(row); i++) {
        const char *args = row[i].args;
        g_autoptr(PmuScript) s = interrupted_script(row[i].halt);
        g_autoptr(GBytes) first = pmu_run_alone(s, args);
        g_autoptr(GBytes) second = pmu_run_alone(s, args);

        expect_same_dump(second, first, args);
    }
}

static void expect_replay(PmuScript *s, const char *shift)
{
    g_autoptr(GBytes) recorded = NULL;
    g_autofree char *record = NULL, *replay = NULL;
    PmuMachine machine;

    pmu_prepare(&machine, s);
    record = g_strdup_printf("%s -icount shift=%s,rr=record,rrfile=%s/rr",
                             PMU_CPU_METRICS, shift, machine.dir);
    replay = g_strdup_printf("%s -icount shift=%s,rr=replay,rrfile=%s/rr",
                             PMU_CPU_METRICS, shift, machine.dir);
    recorded = pmu_run_prepared(&machine, record);
    for (int i = 0; i < 3; i++) {
        g_autoptr(GBytes) replayed = pmu_run_prepared(&machine, replay);

        expect_same_dump(replayed, recorded, "the replay");
        if (!replayed) {
            break;
        }
    }
    pmu_remove(&machine);
}

/* Returns a script that only a timer interrupts. */
static PmuScript *timer_script(void)
{
    PmuScript *s = pmu_script_new();

    setup(s, 0);
    pmu_poke32(s, APIC_TIMER_DIVIDE, 0xb);
    pmu_poke32(s, APIC_LVT_TIMER, VECTOR_TIMER | 0x20000);
    pmu_poke32(s, APIC_TIMER_INITIAL, 20000);
    pmu_op(s, OP_RUN, BLOCK_MIXED | RUN_CPL3 | RUN_IF, ENABLE, 50000);
    pmu_op(s, OP_RUN, BLOCK_HLT, ENABLE, 0);
    pmu_poke32(s, APIC_LVT_TIMER, LVT_MASKED);
    add_code(s);
    read_all(s);
    pmu_op(s, OP_DUMP, 0, 0, 0);
    pmu_op(s, OP_EXIT, 0, 0, 0);
    return s;
}

/* The monitor answers while the guest runs and is recorded. */
static void test_read_recording(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autofree char *args = NULL;
    PmuMachine machine;

    pmu_op(s, OP_SYNC, 0, 1, 0);
    args = g_strdup_printf("%s -icount shift=auto,rr=record,rrfile=/dev/null "
                           "-object pmu-fault,id=fault,kind=drop,nth=1",
                           PMU_CPU_METRICS);
    pmu_start(&machine, s, args);
    pmu_wait_for(&machine, 1);
    for (int i = 0; i < 20; i++) {
        g_autofree char *ledger = query_ledger(&machine);

        g_assert_nonnull(ledger);
    }
    qtest_qmp_assert_success(machine.qts, "{'execute': 'object-del', "
                             "'arguments': {'id': 'fault'}}");
    pmu_stop(&machine);
}

static void test_replay(void)
{
    g_autoptr(PmuScript) s = timer_script();

    expect_replay(s, "auto");
    expect_replay(s, "model");
}

static void test_replay_overflow(void)
{
    g_autoptr(PmuScript) s = interrupted_script(true);

    expect_replay(s, "auto");
    expect_replay(s, "model");
}

/* Iterations: enough for many interrupts, and different on both CPUs. */
static const uint64_t smp_iterations[PAYLOAD_CPUS] = { 1500000, 2000000 };

#define SMP_PERIOD  100003

/* Count branches and instructions at CPL 3; instructions interrupt. */
static unsigned add_smp_code(PmuScript *s, bool timing)
{
    const uint64_t value = (0 - (uint64_t)SMP_PERIOD) & COUNTER_MASK;
    const uint64_t enable = GLOBAL_GP(0) | GLOBAL_FIXED(0) |
                            (timing ? GLOBAL_FIXED(1) | GLOBAL_FIXED(3) : 0);
    unsigned first;

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_USR(0) | FIXED_PMI(0) |
              (timing ? FIXED_ALL(1) | FIXED_ALL(3) : 0));
    pmu_wrmsr(s, MSR_EVTSEL(0), EVENT_BRANCHES | EVTSEL_USR | EVTSEL_EN);
    pmu_wrmsr(s, MSR_FIXED_CTR(0), value);
    pmu_set(s, PROGRESS_ACTION, PMI_RELOAD);
    pmu_set(s, PROGRESS_MSR, MSR_FIXED_CTR(0));
    pmu_set(s, PROGRESS_RELOAD, value);
    pmu_set(s, PROGRESS_ENABLE, enable);
    pmu_set(s, PROGRESS_LVTPC, LVT_NMI);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_op(s, OP_RUN, BLOCK_LOOP | RUN_CPL3, enable, smp_iterations[s->cpu]);
    first = pmu_rdpmc(s, 0);
    pmu_rdpmc(s, 0x40000000);
    pmu_rdpmc(s, 0x40000001);
    pmu_rdpmc(s, 0x40000003);
    return first;
}

static void expect_smp_counts(const PmuScript *s, unsigned first,
                              const char *args)
{
    uint64_t n = smp_iterations[s->cpu];
    uint64_t insns = 2 * n + 2 + RUN_CPL3_USR_INSNS;

    pmu_expect(pmu_register(s, first), n + 1 + RUN_CPL3_USR_BRANCHES,
               "branches of CPU %u with %s", s->cpu, args);
    pmu_expect(s->progress[s->cpu].events, insns / SMP_PERIOD,
               "interrupts of CPU %u with %s", s->cpu, args);
    pmu_expect(pmu_register(s, first + 1),
               (insns % SMP_PERIOD - SMP_PERIOD) & COUNTER_MASK,
               "instructions of CPU %u with %s", s->cpu, args);
    pmu_expect(pmu_register(s, first + 3), 5 * pmu_register(s, first + 2),
               "slots of CPU %u with %s", s->cpu, args);
}

/* Two CPUs, side by side, each count and interrupt only their own code. */
static void expect_smp(bool timing, const char *more_args)
{
    g_autofree char *args = g_strconcat(PMU_CPU_METRICS "-smp 2 ", more_args,
                                        NULL);
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned first[PAYLOAD_CPUS];
    PmuMachine machine;

    pmu_op(s, OP_START_CPU, 0, 1, 0);
    for (s->cpu = 0; s->cpu < PAYLOAD_CPUS; s->cpu++) {
        first[s->cpu] = add_smp_code(s, timing);
    }
    pmu_start(&machine, s, args);
    pmu_wait_done(&machine, PAYLOAD_CPUS);
    pmu_read_results(&machine, s, PAYLOAD_CPUS);
    pmu_stop(&machine);
    for (s->cpu = 0; s->cpu < PAYLOAD_CPUS; s->cpu++) {
        expect_smp_counts(s, first[s->cpu], args);
    }
}

static void test_smp(void)
{
    for (int timing = 0; timing < 2; timing++) {
        expect_smp(timing, "");
        expect_smp(timing, "-accel tcg,thread=single");
        expect_smp(timing, "-icount shift=2");
    }
}

/* Let the script's CPU load from 1 MiB, counting cycles and misses. */
static void add_chases(PmuScript *s)
{
    uint64_t on = EVTSEL_OS | EVTSEL_EN;

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_EVTSEL(0), EVENT_LLC_MISSES | on);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(1));
    for (int i = 0; i < 10; i++) {
        pmu_op(s, OP_RUN, BLOCK_CHASE, GLOBAL_GP(0) | GLOBAL_FIXED(1), 2000);
        pmu_rdpmc(s, 0);
        pmu_rdpmc(s, 0x40000001);
    }
}

/*
 * If CPUs take turns by -icount, each run finds the same in the L3 that they
 * share.
 */
static void expect_same_chases(const char *args)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autoptr(GBytes) first = NULL;

    pmu_op(s, OP_START_CPU, 0, 1, 0);
    add_chases(s);
    pmu_op(s, OP_WAIT_CPU, 0, 1, 0);
    pmu_op(s, OP_DUMP, 0, 0, 0);
    pmu_op(s, OP_EXIT, 0, 0, 0);
    s->cpu = 1;
    add_chases(s);
    pmu_op(s, OP_DUMP, 0, 0, 0);
    first = pmu_run_alone(s, args);
    for (int i = 0; i < 3; i++) {
        g_autoptr(GBytes) again = pmu_run_alone(s, args);

        expect_same_dump(again, first, args);
    }
}

static void test_icount_shared_l3(void)
{
    expect_same_chases(PMU_CPU_METRICS "-smp 2 -icount shift=0");
    expect_same_chases(PMU_CPU_METRICS "-smp 2 -icount shift=model");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    qtest_add_func("pmu/determinism/cuts", test_cuts);
    qtest_add_func("pmu/determinism/cuts-overflow", test_cuts_overflow);
    qtest_add_func("pmu/determinism/reads", test_reads);
    qtest_add_func("pmu/determinism/reads-overflow", test_reads_overflow);
    qtest_add_func("pmu/determinism/machines", test_machines);
    qtest_add_func("pmu/determinism/icount", test_icount);
    qtest_add_func("pmu/determinism/read-recording",
                   test_read_recording);
    qtest_add_func("pmu/determinism/replay", test_replay);
    qtest_add_func("pmu/determinism/replay-overflow", test_replay_overflow);
    qtest_add_func("pmu/determinism/icount-shared-l3", test_icount_shared_l3);
    qtest_add_func("pmu/determinism/smp", test_smp);
    return g_test_run();
}
