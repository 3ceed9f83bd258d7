/*
 * Test that descriptions of blocks are freed when their code is gone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A vCPU that sleeps or never ran must not keep the descriptions of all code
 * that others ran meanwhile.
 */

#include "qemu/osdep.h"

#include "pmu/machine.h"

/* Iterations: each is translated anew, which fills some 1 MiB code buffers. */
#define ITERATIONS      20000
#define GENERATIONS     3
/* Loops of the other vCPU: enough to count block by block, and to run on. */
#define LOOPS           50000000ull

/* What the other vCPU does. */
typedef enum Other {
    NO_OTHER,
    NEVER_STARTED,
    NEVER_RAN,                  /* it is plugged in */
    SLEEPS,                     /* it has counted before */
    RUNS                        /* its code is counted block by block */
} Other;

typedef struct Case {
    const char *path, *args;
    Other other;
} Case;

static const Case cases[] = {
    { "pmu/generations/alone", "", NO_OTHER },
    { "pmu/generations/never-started", "-smp 2 ", NEVER_STARTED },
    { "pmu/generations/never-ran", "-smp 1,maxcpus=2 ", NEVER_RAN },
    { "pmu/generations/sleeps", "-smp 2 ", SLEEPS },
    { "pmu/generations/runs", "-smp 2 ", RUNS },
    { "pmu/generations/runs-by-turns", "-smp 2 -accel tcg,thread=single ",
      RUNS },
};

static void count_self_modifying(PmuScript *s, uint64_t iterations)
{
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3));
    pmu_op(s, OP_RUN, BLOCK_SELF_MODIFYING, GLOBAL_FIXED(3), iterations);
}

static void plug_in(PmuMachine *machine)
{
    qtest_qmp_assert_success(machine->qts,
                             "{'execute': 'device_add', 'arguments': {"
                             " 'driver': 'Icelake-Server-x86_64-cpu',"
                             " 'id': 'hot', 'socket-id': 0, 'core-id': 1,"
                             " 'thread-id': 0}}");
}

/*
 * Check each line of @log: besides the current generation, only the one before
 * may be kept.  A vCPU that runs may keep any, as it must first get to its next
 * block and the host may be busy.
 */
static void check_log(const char *log, Other other)
{
    g_auto(GStrv) lines = g_strsplit(log, "\n", -1);
    unsigned generations = 0;

    for (char **line = lines; *line; line++) {
        const char *numbers = strstr(*line, "cpu 0 generation ");
        uint64_t generation, oldest;

        if (!numbers) {
            continue;
        }
        g_assert_cmpint(sscanf(numbers, "cpu 0 generation %" SCNu64
                               " oldest %" SCNu64, &generation, &oldest),
                        ==, 2);
        g_assert_cmpuint(oldest, <=, generation);
        if (other != RUNS) {
            g_assert_cmpuint(oldest + 1, >=, generation);
        }
        generations++;
    }
    g_assert_cmpuint(generations, >=, GENERATIONS);
}

/*
 * Append what the other vCPU does.  If it runs, returns the index of the read
 * of its instructions.
 */
static unsigned add_other(PmuScript *s, Other other)
{
    unsigned result = 0;

    pmu_op(s, OP_START_CPU, 0, 1, 0);
    if (other == SLEEPS) {
        pmu_op(s, OP_WAIT_CPU, 0, 1, 0);
    }
    s->cpu = 1;
    if (other == SLEEPS) {
        count_self_modifying(s, 10);
    } else {
        pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(0) | FIXED_ALL(3));
        pmu_op(s, OP_RUN, BLOCK_LOOP, GLOBAL_FIXED(0) | GLOBAL_FIXED(3),
               LOOPS);
        result = pmu_rdpmc(s, 0x40000000);
    }
    s->cpu = 0;
    return result;
}

static void test_generations(const void *data)
{
    const Case *test = data;
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autofree char *name = NULL, *args = NULL, *log = NULL;
    bool has_script = test->other == SLEEPS || test->other == RUNS;
    unsigned cpus = has_script ? 2 : 1, result = 0;
    PmuMachine machine;
    int fd = g_file_open_tmp("pmu-generations-XXXXXX", &name, NULL);

    g_assert_cmpint(fd, >=, 0);
    close(fd);
    pmu_op(s, OP_SYNC, 0, 1, 0);
    if (has_script) {
        result = add_other(s, test->other);
    }
    count_self_modifying(s, ITERATIONS);
    args = g_strdup_printf("%s-accel tcg,tb-size=1 %s"
                           "-trace x86_pmu_generation -D %s",
                           PMU_CPU_METRICS, test->args, name);
    pmu_start(&machine, s, args);
    pmu_wait_for(&machine, 1);
    if (test->other == NEVER_RAN) {
        plug_in(&machine);
    }
    pmu_go(&machine, 1);
    pmu_wait_done(&machine, cpus);
    pmu_read_results(&machine, s, cpus);
    pmu_stop(&machine);
    g_assert_true(g_file_get_contents(name, &log, NULL, NULL));
    unlink(name);
    check_log(log, test->other);
    if (test->other == RUNS) {
        s->cpu = 1;
        pmu_expect(pmu_register(s, result), 2 * LOOPS + 2 + RUN_CPL0_INSNS,
                   "instructions of the other CPU");
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        qtest_add_data_func(cases[i].path, &cases[i], test_generations);
    }
    return g_test_run();
}
