/*
 * Test that a CPU runs the code that another one has stored.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Linux patches static branches and tracepoints that way.  It dies if a CPU
 * still runs an INT3 that was there a moment before (accel/tcg/code-store.c).
 */

#include "qemu/osdep.h"

#include "pmu/machine.h"

/*
 * Patches.  Measured: without tcg_code_store(), in seven runs, the other CPU
 * ran old code after 21 to 345 of them, that is at least one in 5000.
 */
#define PATCHES     100000
/*
 * Time limit, and the least patches that say something.  The two CPUs wait for
 * each other.  If they run by turns, as on a busy host, each wait takes a turn,
 * and there are fewer patches.  With fewer than five times 5000, there may be
 * no old code by chance: e^-5 is 0.7 %.
 */
#define SECONDS     10
#define ENOUGH      25000

static void test_patching(const void *cpu)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    uint64_t enable = g_str_equal(cpu, PMU_CPU_NONE) ? 0 : GLOBAL_FIXED(3);
    g_autofree char *args = g_strconcat(cpu, "-smp 2", NULL);
    PmuMachine machine;
    unsigned patches, result;
    uint64_t done;

    if (enable) {
        pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3));
    }
    pmu_op(s, OP_START_CPU, 0, 1, 0);
    patches = pmu_op(s, OP_RUN, BLOCK_PATCH, enable, PATCHES);
    pmu_op(s, OP_WAIT_CPU, 0, 1, 0);
    s->cpu = 1;
    if (enable) {
        pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3));
    }
    result = pmu_op(s, OP_RUN, BLOCK_PATCHED, enable, 0);
    s->cpu = 0;
    pmu_start(&machine, s, args);
    if (!pmu_done_within(&machine, 0, SECONDS)) {
        pmu_go(&machine, 1);
    }
    pmu_wait_done(&machine, 2);
    pmu_read_results(&machine, s, 2);
    pmu_stop(&machine);
    done = pmu_value(s, patches);
    s->cpu = 1;
    pmu_expect(pmu_value(s, result), 0, "times that the code was the old one");
    if (done < ENOUGH) {
        g_autofree char *reason = g_strdup_printf(
            "the host is too busy: %" PRIu64 " patches in %d s, none of them "
            "old; %d say something", done, SECONDS, ENOUGH);

        g_test_skip(reason);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    qtest_add_data_func("pmu/patching/plain", PMU_CPU_NONE, test_patching);
    qtest_add_data_func("pmu/patching/counted", PMU_CPU_METRICS,
                        test_patching);
    return g_test_run();
}
