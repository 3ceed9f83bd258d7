/*
 * Test that counting goes on exactly on another machine, or later.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The payload counts itself while it waits in a loop whose iterations it also
 * adds up; it is moved in the middle of that.
 */

#include "qemu/osdep.h"
#include "qobject/qdict.h"

#include "pmu/machine.h"

#define ENABLE_COUNTS   (3ull | GLOBAL_FIXED(0))
#define ENABLE_TIMING   (GLOBAL_FIXED(1) | GLOBAL_FIXED(3) | GLOBAL_METRICS)

#define PERIOD          321

/* Registers that nothing disturbs, and what they hold. */
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

/* A script, and where its results are. */
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

/* Count at CPL 3 in BLOCK_SPIN, then overflow with what was set up before. */
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
    /* All slots are accounted for: the hidden counters came along. */
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

/* A machine with a disk that takes snapshots. */
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

/* Save in the middle, finish, go back, finish again: the same machine. */
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

/* Caches are cold after each load, also the L3 that vCPUs share. */
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

/* A snapshot that another process loads; which counts another way before. */
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

/*
 * What a PMU cannot hold, or is no PMU, is refused; and the one that was there
 * can be looked at, load what it can hold, and be reset.
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
    /* Thousands of slots, more than 8 bits hold. */
    g_usleep(20000);
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

static void migrate(PmuMachine *machine, const char *uri)
{
    qtest_qmp_assert_success(machine->qts, "{'execute': 'migrate',"
                             " 'arguments': {'uri': %s}}", uri);
    for (;;) {
        QDict *info = qtest_qmp_assert_success_ref(
            machine->qts, "{'execute': 'query-migrate'}");
        const char *status = qdict_get_str(info, "status");
        bool completed = g_str_equal(status, "completed");

        g_assert_cmpstr(status, !=, "failed");
        qobject_unref(info);
        if (completed) {
            return;
        }
        g_usleep(1000);
    }
}

static void wait_running(PmuMachine *machine)
{
    bool running;

    do {
        QDict *info = qtest_qmp_assert_success_ref(
            machine->qts, "{'execute': 'query-status'}");

        running = qdict_get_bool(info, "running");
        qobject_unref(info);
        g_usleep(1000);
    } while (!running);
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
    migrate(&from, uri);
    wait_running(&to);
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

/* The stream of a machine that runs @script, in full. */
static GBytes *get_stream(const char *args)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autoptr(GError) err = NULL;
    g_autofree char *uri = NULL, *path = NULL;
    PmuMachine machine;
    char *contents;
    size_t length;

    pmu_start(&machine, s, args);
    pmu_wait_done(&machine, 1);
    path = g_strdup_printf("%s/stream", machine.dir);
    uri = g_strdup_printf("file:%s", path);
    migrate(&machine, uri);
    g_file_get_contents(path, &contents, &length, &err);
    g_assert_no_error(err);
    pmu_stop(&machine);
    return g_bytes_new_take(contents, length);
}

static bool contains(GBytes *bytes, const char *text)
{
    gsize size;
    const void *data = g_bytes_get_data(bytes, &size);

    return memmem(data, size, text, strlen(text));
}

/* Only a CPU that has a PMU says so. */
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
        /* KVM's, whose counters TCG does not have. */
        pmu_expect(contains(stream, "cpu/msr_architectural_pmu"), false,
                   "the stream of %s has KVM's section", row[i].args);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    qtest_add_func("pmu/migration/savevm", test_savevm);
    qtest_add_func("pmu/migration/loadvm-cold", test_loadvm_cold);
    qtest_add_func("pmu/migration/loadvm-elsewhere", test_loadvm_elsewhere);
    qtest_add_func("pmu/migration/loadvm-refused", test_loadvm_refused);
    qtest_add_func("pmu/migration/live", test_live);
    qtest_add_func("pmu/migration/stream", test_stream);
    return g_test_run();
}
