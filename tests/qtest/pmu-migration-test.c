/*
 * Test that counting goes on exactly after a migration or a snapshot.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The payload waits in a loop, which the PMU counts; the payload also counts
 * the iterations itself.  The test moves it in the middle of the loop.
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "qobject/qnum.h"
#include "qobject/qstring.h"

#include "pmu/machine.h"

/* Bytes of an item's name; its two counts follow. */
#define ITEM_NAME       32

#define ENABLE_COUNTS   (3ull | GLOBAL_FIXED(0))
#define ENABLE_TIMING   (GLOBAL_FIXED(1) | GLOBAL_FIXED(3) | GLOBAL_METRICS)

#define PERIOD          321

/* Registers that nothing changes, and the values that they hold. */
static const struct {
    uint32_t msr;
    uint64_t value;
} held[] = {
    { MSR_A_PMC(6), 0x923456789abc }, { MSR_A_PMC(7), 0x7fffffffffff },
    { MSR_EVTSEL(6), 0x1234 }, { MSR_EVTSEL(7), 0xff9f00c5 },
    { MSR_FIXED_CTR(2), 0x800000000001 },
    { MSR_GLOBAL_STATUS, GLOBAL_GP(5) | GLOBAL_FIXED(2) | GLOBAL_METRICS },
    { MSR_DEBUGCTL, 1 << 12 },
    { 0x1a6, 0x2a }, { 0x1a7, 0x15 }, { 0x3f6, 0x99 }, { 0x3f7, 0x7f0011 },
};

/* A script, and the indices of its results. */
typedef struct Plan {
    PmuScript *script;
    unsigned spin, counters, held, block, overflow;
} Plan;

static void read_counters(PmuScript *s)
{
    pmu_rdpmc(s, 0);
    pmu_rdpmc(s, 1);
    pmu_rdpmc(s, 0x40000000);
    pmu_rdpmc(s, 0x40000001);
    pmu_rdpmc(s, 0x40000003);
    pmu_rdpmc(s, 0x20000000);
}

/* Count at CPL 3 in BLOCK_SPIN.  Then overflow; all is set up before. */
static Plan make_plan(bool timing)
{
    uint64_t enable = ENABLE_COUNTS | (timing ? ENABLE_TIMING : 0);
    PmuScript *s = pmu_script_new();
    Plan plan = { s };

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_EVTSEL(0), EVENT_INSTRUCTIONS | EVTSEL_USR | EVTSEL_EN);
    pmu_wrmsr(s, MSR_EVTSEL(1), EVENT_BRANCHES | EVTSEL_USR | EVTSEL_EN);
    pmu_wrmsr(s, MSR_EVTSEL(2), EVENT_INSTRUCTIONS | EVTSEL_USR | EVTSEL_EN |
              EVTSEL_INT);
    pmu_wrmsr(s, MSR_A_PMC(2), -PERIOD & COUNTER_MASK);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_USR(0) |
              (timing ? FIXED_USR(1) | FIXED_USR(3) : 0));
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    for (int i = 0; i < ARRAY_SIZE(held); i++) {
        pmu_wrmsr(s, held[i].msr == MSR_GLOBAL_STATUS ? MSR_GLOBAL_SET :
                  held[i].msr, held[i].value);
    }
    plan.spin = pmu_op(s, OP_RUN, BLOCK_SPIN | RUN_CPL3, enable, 1);
    plan.counters = s->num_ops[0];
    read_counters(s);
    plan.held = s->num_ops[0];
    for (int i = 0; i < ARRAY_SIZE(held); i++) {
        pmu_rdmsr(s, held[i].msr);
    }
    plan.block = pmu_op(s, OP_BLOCK, BLOCK_NOPS, 0, 0);
    plan.overflow = pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3,
                           enable | GLOBAL_GP(2), 0);
    return plan;
}

static void expect_results(const Plan *plan, bool timing, const char *what)
{
    const PmuScript *s = plan->script;
    uint64_t iterations = s->result[0][plan->spin].value[0];
    uint64_t insns = 4 * iterations + 3 + RUN_CPL3_USR_INSNS;
    uint64_t cycles = pmu_register(s, plan->counters + 3);
    uint64_t metrics = pmu_register(s, plan->counters + 5);

    g_assert_cmpuint(iterations, >, 0);
    pmu_expect(pmu_register(s, plan->counters), insns, "IA32_PMC0 %s", what);
    pmu_expect(pmu_register(s, plan->counters + 1),
               iterations + 1 + RUN_CPL3_USR_BRANCHES, "IA32_PMC1 %s", what);
    pmu_expect(pmu_register(s, plan->counters + 2), insns,
               "IA32_FIXED_CTR0 %s", what);
    pmu_expect(cycles > 0, timing, "cycles are counted %s", what);
    pmu_expect(pmu_register(s, plan->counters + 4), 5 * cycles,
               "slots %s", what);
    /* The fields add up, as the hidden counters were migrated, too. */
    pmu_expect((metrics & 0xff) + (metrics >> 8 & 0xff) +
               (metrics >> 16 & 0xff) + (metrics >> 24), timing ? 0xff : 0,
               "sum of the fields of PERF_METRICS %s", what);
    for (int i = 0; i < ARRAY_SIZE(held); i++) {
        pmu_expect(pmu_register(s, plan->held + i), held[i].value,
                   "MSR 0x%x %s", held[i].msr, what);
    }
    pmu_expect(s->progress[0].events, 1, "interrupts %s", what);
    pmu_expect(s->event[0][0].vector, VECTOR_NMI, "vector %s", what);
    pmu_expect(s->event[0][0].rip, pmu_value(s, plan->block) + PERIOD,
               "RIP of the interrupt %s", what);
}

static void finish(PmuMachine *machine, Plan *plan, bool timing,
                   const char *what)
{
    pmu_go(machine, 1);
    pmu_wait_done(machine, 1);
    pmu_read_results(machine, plan->script, 1);
    expect_results(plan, timing, what);
}

static void expect_hmp_ok(PmuMachine *machine, const char *command)
{
    g_autofree char *response = qtest_hmp(machine->qts, "%s", command);

    g_assert_cmpstr(g_strstrip(response), ==, "");
}

/* Start a machine with a disk that can hold snapshots. */
static void start_with_disk(PmuMachine *machine, const PmuScript *script,
                            const char *disk, const char *cpu)
{
    g_autofree char *args = g_strdup_printf(
        "%s -drive if=none,id=disk,format=qcow2,file=%s", cpu, disk);

    pmu_start(machine, script, args);
}

static char *make_disk(void)
{
    g_autoptr(GError) err = NULL;
    char *disk = NULL;
    int fd = g_file_open_tmp("qtest-pmu-XXXXXX.qcow2", &disk, &err);

    g_assert_no_error(err);
    close(fd);
    g_assert_true(mkimg(disk, "qcow2", 64));
    return disk;
}

static void remove_disk(char *disk)
{
    unlink(disk);
    g_free(disk);
}

static bool can_snapshot(void)
{
    if (have_qemu_img()) {
        return true;
    }
    g_test_skip("No qemu-img to make a disk for snapshots");
    return false;
}

/* In one process: save in the middle, finish, load, and finish again. */
static void test_savevm(void)
{
    if (!can_snapshot()) {
        return;
    }
    for (int timing = 0; timing < 2; timing++) {
        char *disk = make_disk();
        Plan plan = make_plan(timing);
        PmuMachine machine;

        start_with_disk(&machine, plan.script, disk, PMU_CPU_METRICS);
        pmu_wait_for(&machine, 1);
        expect_hmp_ok(&machine, "savevm middle");
        finish(&machine, &plan, timing, "after savevm");
        for (int i = 0; i < 2; i++) {
            expect_hmp_ok(&machine, "loadvm middle");
            g_usleep(5000);
            finish(&machine, &plan, timing, "after loadvm");
        }
        pmu_stop(&machine);
        pmu_script_free(plan.script);
        remove_disk(disk);
    }
}

/* A register of an older unit, and a value that it holds in all its bits. */
typedef struct OlderRegister {
    uint32_t msr;
    uint64_t value;
} OlderRegister;

/* A snapshot has the registers of older units; later writes are undone. */
static void expect_older(const char *cpu, const OlderRegister *reg,
                         unsigned num)
{
    PmuScript *s = pmu_script_new();
    char *disk = make_disk();
    PmuMachine machine;
    unsigned first = 0;

    for (unsigned i = 0; i < num; i++) {
        pmu_wrmsr(s, reg[i].msr, reg[i].value);
    }
    pmu_op(s, OP_SYNC, 0, 1, 0);
    for (unsigned i = 0; i < num; i++) {
        unsigned index = pmu_rdmsr(s, reg[i].msr);

        first = i ? first : index;
    }
    for (unsigned i = 0; i < num; i++) {
        pmu_wrmsr(s, reg[i].msr, 0);
    }
    start_with_disk(&machine, s, disk, cpu);
    pmu_wait_for(&machine, 1);
    expect_hmp_ok(&machine, "savevm middle");
    for (unsigned turn = 0; turn < 2; turn++) {
        pmu_go(&machine, 1);
        pmu_wait_done(&machine, 1);
        pmu_read_results(&machine, s, 1);
        for (unsigned i = 0; i < num; i++) {
            pmu_expect(pmu_register(s, first + i), reg[i].value,
                       "MSR 0x%x of %s, %s", reg[i].msr, cpu,
                       turn ? "after loadvm" : "before");
        }
        expect_hmp_ok(&machine, "loadvm middle");
    }
    pmu_stop(&machine);
    pmu_script_free(s);
    remove_disk(disk);
}

/* No value sets an enable bit, so that no counter counts. */
static void test_older(void)
{
    static const OlderRegister netburst[] = {
        /* The first and the last counter and CCCR */
        { 0x300, 0xa123456789 }, { 0x311, 0x5a87654321 },
        { 0x360, 0x04fd8000 }, { 0x371, 0x080d6000 },
        /* ESCRs */
        { 0x3a0, 0x12345678 }, { 0x3e1, 0x2468ace4 }, { 0x3c5, 0x54321fec },
        /* IA32_PEBS_ENABLE and PEBS_MATRIX_VERT */
        { 0x3f1, 0x1000006 }, { 0x3f2, 0x7 },
    };
    static const OlderRegister p5[] = {
        { 0x11, 0x023f0215 }, { 0x12, 0xa123456789 }, { 0x13, 0x5a87654321 },
    };
    static const OlderRegister zen[] = {
        { 0xc0010201, 0xa123456789ab }, { 0xc001020b, 0x5a8765432109 },
        { 0xc0010200, 0x10c831b5c }, { 0xc001020a, 0x304025ca3 },
    };

    if (!can_snapshot()) {
        return;
    }
    expect_older("-cpu kvm64,pmu=on", netburst, ARRAY_SIZE(netburst));
    expect_older("-cpu qemu64,vendor=GenuineIntel,family=5,model=4,pmu=on",
                 p5, ARRAY_SIZE(p5));
    expect_older("-cpu EPYC-Genoa,pmu=on,check=off", zen, ARRAY_SIZE(zen));
}

/* After loadvm, caches are cold, also the L3 that vCPUs share. */
static void test_loadvm_cold(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    char *disk;
    unsigned misses;
    PmuMachine machine;

    if (!can_snapshot()) {
        return;
    }
    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_EVTSEL(0), EVENT_LLC_MISSES | EVTSEL_OS | EVTSEL_EN);
    pmu_op(s, OP_SYNC, 0, 1, 0);
    pmu_op(s, OP_RUN, BLOCK_CHASE, GLOBAL_GP(0), 16384);
    misses = pmu_rdpmc(s, 0);
    disk = make_disk();
    start_with_disk(&machine, s, disk, PMU_CPU_METRICS "-smp 2");
    pmu_wait_for(&machine, 1);
    expect_hmp_ok(&machine, "savevm start");
    for (int i = 0; i < 3; i++) {
        pmu_go(&machine, 1);
        pmu_wait_done(&machine, 1);
        pmu_read_results(&machine, s, 1);
        g_assert_cmpuint(pmu_register(s, misses), >=, 16384);
        expect_hmp_ok(&machine, "loadvm start");
    }
    pmu_stop(&machine);
    remove_disk(disk);
}

/* Another process, which counts in the other way before, loads a snapshot. */
static void test_loadvm_elsewhere(void)
{
    if (!can_snapshot()) {
        return;
    }
    for (int timing = 0; timing < 2; timing++) {
        char *disk = make_disk();
        Plan plan = make_plan(timing), other = make_plan(!timing);
        PmuMachine machine;

        start_with_disk(&machine, plan.script, disk, PMU_CPU_METRICS);
        pmu_wait_for(&machine, 1);
        expect_hmp_ok(&machine, "savevm middle");
        pmu_stop(&machine);
        start_with_disk(&machine, other.script, disk, PMU_CPU_METRICS);
        pmu_wait_for(&machine, 1);
        expect_hmp_ok(&machine, "loadvm middle");
        finish(&machine, &plan, timing, "in another process");
        pmu_stop(&machine);
        pmu_script_free(plan.script);
        pmu_script_free(other.script);
        remove_disk(disk);
    }
}

/* Expect as many ticks of the TSC as cycles that were counted. */
static void expect_tsc_of_cycles(PmuMachine *machine, PmuScript *s,
                                 unsigned first, const char *what)
{
    uint64_t ticks, cycles;

    pmu_go(machine, 1);
    pmu_wait_done(machine, 1);
    pmu_read_results(machine, s, 1);
    ticks = pmu_value(s, first + 2) - pmu_value(s, first);
    cycles = pmu_register(s, first + 3);
    g_assert_cmpuint(cycles, >, 0);
    /* The TSC also counts the interpreter's cycles. */
    if (ticks < cycles - 3 || ticks > cycles + 4000) {
        g_test_message("%" PRIu64 " cycles took %" PRIu64 " ticks %s", cycles,
                       ticks, what);
        g_test_fail();
    }
}

/*
 * The clock that the model drives goes on where it was.  The snapshot is taken
 * @us microseconds after the guest has read the clock and begun to count.  If
 * that is soon, nobody has asked the model for the time since.
 */
static void expect_clock_goes_on(const char *args, unsigned us)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    PmuMachine machine;
    unsigned first;
    char *disk;

    disk = make_disk();
    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(1));
    first = pmu_op(s, OP_RDTSC, 0, 0, 0);
    pmu_op(s, OP_RUN, BLOCK_SPIN, GLOBAL_FIXED(1), 1);
    pmu_op(s, OP_RDTSC, 0, 0, 0);
    pmu_rdpmc(s, 0x40000001);
    start_with_disk(&machine, s, disk, args);
    pmu_wait_for(&machine, 1);
    g_usleep(us);
    expect_hmp_ok(&machine, "savevm middle");
    expect_tsc_of_cycles(&machine, s, first, "after savevm");
    expect_hmp_ok(&machine, "loadvm middle");
    g_usleep(5000);
    expect_tsc_of_cycles(&machine, s, first, "after loadvm");
    pmu_stop(&machine);
    start_with_disk(&machine, s, disk, args);
    expect_hmp_ok(&machine, "loadvm middle");
    expect_tsc_of_cycles(&machine, s, first, "in another process");
    pmu_stop(&machine);
    remove_disk(disk);
}

static void test_clock(void)
{
    static const char args[] = PMU_CPU_METRICS "-icount shift=model";

    if (can_snapshot()) {
        expect_clock_goes_on(args, 100);
        expect_clock_goes_on(args, 100000);
        expect_clock_goes_on(PMU_CPU_METRICS "-icount shift=model "
                             "-accel tcg,thread=multi", 100000);
    }
}

/* A stream of a machine with that clock only loads on one with that clock. */
static void test_clock_refused(void)
{
    static const char *const args[] = {
        PMU_CPU_METRICS, PMU_CPU_METRICS "-icount shift=3,sleep=off",
        PMU_CPU_METRICS "-icount shift=model",
    };
    const unsigned model = ARRAY_SIZE(args) - 1;

    if (!can_snapshot()) {
        return;
    }
    for (unsigned i = 0; i < 2 * model; i++) {
        g_autoptr(PmuScript) idle = pmu_script_new();
        g_autofree char *response = NULL;
        char *disk = make_disk();
        PmuMachine machine;

        start_with_disk(&machine, idle, disk, args[i % 2 ? model : i / 2]);
        expect_hmp_ok(&machine, "savevm middle");
        pmu_stop(&machine);
        start_with_disk(&machine, idle, disk, args[i % 2 ? i / 2 : model]);
        response = qtest_hmp(machine.qts, "loadvm middle");
        g_test_message("%s", response);
        g_assert_nonnull(strstr(response, "lacks -icount shift=model"));
        pmu_stop(&machine);
        remove_disk(disk);
    }
}

/* Returns how many slots the first CPU has counted in user mode. */
static uint64_t user_slots(PmuMachine *machine)
{
    QDict *response = qtest_qmp(machine->qts, "{'execute': 'x-query-pmu'}");
    QDict *info =
        qobject_to(QDict, qlist_peek(qdict_get_qlist(response, "return")));
    const QListEntry *entry;
    uint64_t slots = 0;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(info, "ledger"), entry) {
        QDict *item = qobject_to(QDict, qlist_entry_obj(entry));

        if (g_str_equal(qdict_get_str(item, "name"), "slots")) {
            slots = qdict_get_int(item, "usr");
        }
    }
    qobject_unref(response);
    return slots;
}

/*
 * QEMU refuses to load state that the PMU cannot hold, or without a PMU.  After
 * that, the PMU can still be queried, load its own state, and be reset.
 */
static void test_loadvm_refused(void)
{
    static const char *const cpu[] = {
        PMU_CPU_NONE,
        "-cpu Icelake-Server,+perf-metrics,perf-metrics-width=8,check=off ",
        "-cpu Icelake-Server,+perf-metrics,pmu-width=6,check=off ",
    };
    Plan plan;
    PmuMachine machine;
    char *disk;

    if (!can_snapshot()) {
        return;
    }
    plan = make_plan(true);
    disk = make_disk();
    start_with_disk(&machine, plan.script, disk, PMU_CPU_METRICS);
    pmu_wait_for(&machine, 1);
    /* These are more than 8 bits can hold. */
    while (user_slots(&machine) < 10000) {
        g_usleep(1000);
    }
    expect_hmp_ok(&machine, "savevm middle");
    pmu_stop(&machine);
    for (int i = 0; i < ARRAY_SIZE(cpu); i++) {
        g_autoptr(PmuScript) idle = pmu_script_new();
        g_autofree char *response = NULL;

        start_with_disk(&machine, idle, disk, cpu[i]);
        expect_hmp_ok(&machine, "savevm own");
        response = qtest_hmp(machine.qts, "loadvm middle");
        g_test_message("%s", response);
        g_assert_nonnull(strstr(response, "rror"));
        g_free(qtest_hmp(machine.qts, "info pmu"));
        expect_hmp_ok(&machine, "loadvm own");
        expect_hmp_ok(&machine, "system_reset");
        g_free(qtest_hmp(machine.qts, "info pmu"));
        pmu_stop(&machine);
    }
    pmu_script_free(plan.script);
    remove_disk(disk);
}

static void expect_live(bool timing, const char *more_args)
{
    g_autoptr(GError) err = NULL;
    g_autofree char *dir = g_dir_make_tmp("qtest-pmu-XXXXXX", &err);
    g_autofree char *uri = g_strdup_printf("unix:%s/socket", dir);
    g_autofree char *args = g_strconcat(PMU_CPU_METRICS, more_args, NULL);
    g_autofree char *incoming = g_strdup_printf("%s -incoming %s", args, uri);
    g_autofree char *socket = g_strdup_printf("%s/socket", dir);
    Plan plan = make_plan(timing);
    g_autoptr(PmuScript) idle = pmu_script_new();
    PmuMachine from, to;

    g_assert_no_error(err);
    pmu_start(&from, plan.script, args);
    pmu_start(&to, idle, incoming);
    pmu_wait_for(&from, 1);
    pmu_migrate(&from, uri);
    pmu_wait_running(&to);
    finish(&to, &plan, timing, "after migration");
    pmu_stop(&to);
    pmu_stop(&from);
    pmu_script_free(plan.script);
    unlink(socket);
    rmdir(dir);
}

static void test_live(void)
{
    expect_live(false, "");
    expect_live(true, "");
    expect_live(true, "-icount shift=3");
}

/* Returns how many interrupts the payload has logged; the machine runs on. */
static uint64_t count_interrupts(PmuMachine *machine)
{
    return qtest_readq(machine->qts, PAYLOAD_PROGRESS + PROGRESS_EVENTS);
}

/*
 * An interrupt whose overflow has frozen all counters still comes after a
 * snapshot is loaded, though nothing counts any more.  Without it, no handler
 * would ever start the counters again.  Each snapshot is at another place of a
 * short period.
 */
static void test_frozen(void)
{
    const uint64_t reload = -1ll & COUNTER_MASK;
    g_autoptr(PmuScript) s = pmu_script_new();
    char *disk;
    PmuMachine machine;

    if (!can_snapshot()) {
        return;
    }
    disk = make_disk();
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_USR(0) | FIXED_PMI(0));
    pmu_wrmsr(s, MSR_FIXED_CTR(0), reload);
    pmu_wrmsr(s, MSR_DEBUGCTL, 1 << 12);
    pmu_set(s, PROGRESS_ACTION, PMI_RELOAD);
    pmu_set(s, PROGRESS_MSR, MSR_FIXED_CTR(0));
    pmu_set(s, PROGRESS_RELOAD, reload);
    pmu_set(s, PROGRESS_ENABLE, GLOBAL_FIXED(0));
    pmu_set(s, PROGRESS_LVTPC, LVT_NMI);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_op(s, OP_RUN, BLOCK_SPIN | RUN_CPL3, GLOBAL_FIXED(0), 1);
    start_with_disk(&machine, s, disk, PMU_CPU_METRICS);
    pmu_wait_for(&machine, 1);
    for (int i = 0; i < 200; i++) {
        uint64_t before;
        int64_t end;

        g_usleep(g_test_rand_int_range(0, 2000));
        qtest_qmp_assert_success(machine.qts, "{ 'execute': 'stop' }");
        expect_hmp_ok(&machine, "savevm middle");
        expect_hmp_ok(&machine, "loadvm middle");
        before = count_interrupts(&machine);
        qtest_qmp_assert_success(machine.qts, "{ 'execute': 'cont' }");
        end = g_get_monotonic_time() + 60 * G_TIME_SPAN_SECOND;
        while (count_interrupts(&machine) == before) {
            g_assert_cmpint(g_get_monotonic_time(), <, end);
            g_usleep(1000);
        }
    }
    pmu_go(&machine, 1);
    pmu_wait_done(&machine, 1);
    pmu_stop(&machine);
    remove_disk(disk);
}

/* Returns what the first CPU's PMU has counted so far, by names of items. */
static QDict *get_ledger(PmuMachine *machine)
{
    QDict *response = qtest_qmp(machine->qts, "{'execute': 'x-query-pmu'}");
    QDict *cpu = qobject_to(QDict,
                            qlist_peek(qdict_get_qlist(response, "return")));
    QDict *ledger = qdict_new();
    const QListEntry *entry;

    QLIST_FOREACH_ENTRY(qdict_get_qlist(cpu, "ledger"), entry) {
        QDict *item = qobject_to(QDict, qlist_entry_obj(entry));
        g_autofree char *counts = g_strdup_printf(
            "os %" PRIu64 ", usr %" PRIu64,
            qnum_get_uint(qobject_to(QNum, qdict_get(item, "os"))),
            qnum_get_uint(qobject_to(QNum, qdict_get(item, "usr"))));

        qdict_put_str(ledger, qdict_get_str(item, "name"), counts);
    }
    qobject_unref(response);
    return ledger;
}

/*
 * Returns the whole migration stream of a machine that has run @script.  If
 * @ledger is not NULL, sets it to what the machine had counted.
 */
static GByteArray *save_stream(const PmuScript *script, const char *args,
                               QDict **ledger)
{
    g_autoptr(GError) err = NULL;
    g_autofree char *uri = NULL, *path = NULL;
    PmuMachine machine;
    char *contents;
    size_t length;

    pmu_start(&machine, script, args);
    pmu_wait_done(&machine, 1);
    /* Otherwise, the payload goes on to HLT, and the model may count that. */
    qtest_qmp_assert_success(machine.qts, "{'execute': 'stop'}");
    if (ledger) {
        *ledger = get_ledger(&machine);
    }
    path = g_strdup_printf("%s/stream", machine.dir);
    uri = g_strdup_printf("file:%s", path);
    pmu_migrate(&machine, uri);
    g_file_get_contents(path, &contents, &length, &err);
    g_assert_no_error(err);
    pmu_stop(&machine);
    return g_byte_array_new_take((guint8 *)contents, length);
}

static GBytes *get_stream(const char *args)
{
    g_autoptr(PmuScript) s = pmu_script_new();

    return g_byte_array_free_to_bytes(save_stream(s, args, NULL));
}

/*
 * Start a machine that waits for a migration, and let it load @stream.  Returns
 * whether it loaded it.  If not, the machine still waits.
 */
static bool load_stream(PmuMachine *machine, const GByteArray *stream)
{
    g_autoptr(PmuScript) idle = pmu_script_new();
    g_autoptr(GError) err = NULL;
    g_autofree char *path = NULL, *uri = NULL;
    bool done = false, failed = false;

    pmu_start(machine, idle, PMU_CPU_METRICS "-incoming defer");
    path = g_strdup_printf("%s/stream", machine->dir);
    uri = g_strdup_printf("file:%s", path);
    g_file_set_contents(path, (const char *)stream->data, stream->len, &err);
    g_assert_no_error(err);
    qtest_qmp_assert_success(machine->qts, "{'execute': 'migrate-incoming',"
                             " 'arguments': {'uri': %s,"
                             " 'exit-on-error': false}}", uri);
    while (!done && !failed) {
        QDict *info = qtest_qmp_assert_success_ref(
            machine->qts, "{'execute': 'query-migrate'}");
        const char *status = qdict_get_try_str(info, "status");

        done = g_strcmp0(status, "completed") == 0;
        failed = g_strcmp0(status, "failed") == 0;
        qobject_unref(info);
        g_usleep(1000);
    }
    return done;
}

static bool contains(GBytes *bytes, const char *text)
{
    gsize size;
    const void *data = g_bytes_get_data(bytes, &size);

    return memmem(data, size, text, strlen(text));
}

/* Only the stream of a CPU with a PMU has a section of it. */
static void test_stream(void)
{
    static const struct {
        const char *args;
        bool pmu;
    } row[] = {
        { PMU_CPU_METRICS, true }, { PMU_CPU_PMU, true },
        { PMU_CPU_NONE, false }, { "-cpu max", false },
        { "-cpu SapphireRapids,check=off", false },
    };

    for (int i = 0; i < ARRAY_SIZE(row); i++) {
        g_autoptr(GBytes) stream = get_stream(row[i].args);

        g_assert_true(contains(stream, "cpu"));
        pmu_expect(contains(stream, "cpu/pmu"), row[i].pmu,
                   "the stream of %s has a section cpu/pmu", row[i].args);
        /* This section is KVM's, whose counters TCG does not have. */
        pmu_expect(contains(stream, "cpu/msr_architectural_pmu"), false,
                   "the stream of %s has KVM's section", row[i].args);
    }
}

/* Returns the ledger's item @name in @stream, a PmuSavedItem as sent. */
static guint8 *find_item(GByteArray *stream, const char *name)
{
    char padded[ITEM_NAME] = "";
    guint8 *found;

    g_strlcpy(padded, name, sizeof(padded));
    found = memmem(stream->data, stream->len, padded, sizeof(padded));
    g_assert_nonnull(found);
    return found;
}

/* Returns the stream of a machine that has counted most items at each level. */
static GByteArray *save_counted(QDict **ledger)
{
    g_autoptr(PmuScript) s = pmu_script_new();

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3));
    pmu_op(s, OP_RUN, BLOCK_CHASE, GLOBAL_FIXED(3), 5000);
    pmu_op(s, OP_RUN, BLOCK_MEMORY | RUN_CPL3, GLOBAL_FIXED(3), 5000);
    return save_stream(s, PMU_CPU_METRICS, ledger);
}

/* Fail unless @machine has counted what @ledger says. */
static void expect_ledger(PmuMachine *machine, const QDict *ledger)
{
    QDict *now = get_ledger(machine);

    g_assert_cmpuint(qdict_size(now), ==, qdict_size(ledger));
    for (const QDictEntry *entry = qdict_first(ledger); entry;
         entry = qdict_next(ledger, entry)) {
        g_assert_cmpstr(qdict_get_str(now, qdict_entry_key(entry)), ==,
                        qstring_get_str(qobject_to(QString,
                                                   qdict_entry_value(entry))));
    }
    qobject_unref(now);
}

/* All items are loaded, except one that this version does not know. */
static void test_items(void)
{
    g_autoptr(GByteArray) stream = NULL;
    PmuMachine machine;
    QDict *ledger;

    stream = save_counted(&ledger);
    g_assert_cmpstr(qdict_get_str(ledger, "l1d-accesses"), !=,
                    "os 0, usr 0");
    g_assert_true(load_stream(&machine, stream));
    expect_ledger(&machine, ledger);
    pmu_stop(&machine);

    memcpy(find_item(stream, "l1d-accesses"), "l1d-accesseZ", 12);
    qdict_put_str(ledger, "l1d-accesses", "os 0, usr 0");
    g_assert_true(load_stream(&machine, stream));
    expect_ledger(&machine, ledger);
    pmu_stop(&machine);
    qobject_unref(ledger);
}

static void expect_refused(const GByteArray *stream, const char *what)
{
    PmuMachine machine;

    pmu_expect(load_stream(&machine, stream), false,
               "a stream is loaded with %s", what);
    /* The machine is still there and can be queried. */
    qobject_unref(get_ledger(&machine));
    pmu_stop(&machine);
}

/* A stream that no PMU can have written does not load, and does no harm. */
static void test_hostile(void)
{
    g_autoptr(GByteArray) good = save_counted(NULL);
    const guint8 *first = find_item(good, "light-ops");
    size_t place = first - good->data;
    static const struct {
        const char *what;
        int offset;             /* from the first item */
        const char *bytes;
        size_t length;
    } row[] = {
#define BYTES(string) string, sizeof(string) - 1
        { "4294967295 items", -4, BYTES("\xff\xff\xff\xff") },
        { "1025 items", -4, BYTES("\x00\x00\x04\x01") },
        { "an item without a name", 0, BYTES("\0") },
        { "a name without an end", 0,
          BYTES("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") },
        { "an item twice", ITEM_NAME + 16, BYTES("light-ops\0") },
        { "more than a machine counts", ITEM_NAME, BYTES("\xff") },
    };

    for (int i = 0; i < ARRAY_SIZE(row); i++) {
        g_autoptr(GByteArray) bad = g_byte_array_new();

        g_byte_array_append(bad, good->data, good->len);
        memcpy(bad->data + place + row[i].offset, row[i].bytes, row[i].length);
        expect_refused(bad, row[i].what);
    }
    g_byte_array_set_size(good, place + 5);
    expect_refused(good, "no end");
}

/* The hflags that choose instrumentation do not migrate. */
static void test_hflags(void)
{
    static const char section[] = "\003cpu\0\0\0\0\0\0\0\014";
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autoptr(GByteArray) stream = NULL;
    guint8 *cpu;

    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(0) | FIXED_ALL(3));
    pmu_wrmsr(s, MSR_GLOBAL_CTRL, GLOBAL_FIXED(0) | GLOBAL_FIXED(3));
    stream = save_stream(s, PMU_CPU_METRICS, NULL);
    cpu = memmem(stream->data, stream->len, section, sizeof(section) - 1);
    g_assert_nonnull(cpu);
    /* Skip registers, RIP and RFLAGS: vmstate_x86_cpu. */
    cpu += sizeof(section) - 1 + 18 * sizeof(uint64_t);
    pmu_expect(ldl_be_p(cpu) & 7u << 29, 0, "bits of the PMU in hflags");
    /* HF_PE_MASK is set, so that this word is hflags. */
    pmu_expect(ldl_be_p(cpu) & 1u << 7, 1u << 7, "HF_PE_MASK in hflags");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    qtest_add_func("pmu/migration/clock", test_clock);
    qtest_add_func("pmu/migration/clock-refused", test_clock_refused);
    qtest_add_func("pmu/migration/savevm", test_savevm);
    qtest_add_func("pmu/migration/older", test_older);
    qtest_add_func("pmu/migration/loadvm-cold", test_loadvm_cold);
    qtest_add_func("pmu/migration/loadvm-elsewhere", test_loadvm_elsewhere);
    qtest_add_func("pmu/migration/loadvm-refused", test_loadvm_refused);
    qtest_add_func("pmu/migration/live", test_live);
    qtest_add_func("pmu/migration/frozen", test_frozen);
    qtest_add_func("pmu/migration/stream", test_stream);
    qtest_add_func("pmu/migration/items", test_items);
    qtest_add_func("pmu/migration/hostile", test_hostile);
    qtest_add_func("pmu/migration/hflags", test_hflags);
    return g_test_run();
}
