/*
 * Test that loops take the same slots in each round, with sampling.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Payloads at CPL 3 under -icount, hundreds of rounds of one loop.  What a
 * round takes is what it takes where everything is simulated in detail.
 */

#include "qemu/osdep.h"

#include <math.h>

#include "pmu/machine.h"

#define ENABLE      (GLOBAL_FIXED(3) | GLOBAL_GP(0))
#define RDPMC_SLOTS     0x40000003
#define RDPMC_RETIRING  0
#define ICOUNT      " -icount shift=0"

#define ROUNDS          200
#define DETAILED_ROUNDS 3

/* Slots that a round may take more or less. */
#define LIMIT 0.005

/* Slots retired, the same: open cycles at a read are published later. */
#define RETIRING 20

typedef struct Loop {
    const char *name;
    unsigned block;
    uint64_t iterations;        /* a round */
    bool off;                   /* known to be: that is printed alone */
} Loop;

typedef struct Rounds {
    double slots[ROUNDS], retiring[ROUNDS];
} Rounds;

/* What each of @n rounds counts, but the first, which is cold. */
static void run_rounds(const Loop *loop, const char *args, unsigned n,
                       Rounds *rounds)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned slots[ROUNDS + 1], retiring[ROUNDS + 1];

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_USR(3));
    pmu_wrmsr(s, MSR_EVTSEL(0), EVENT_RETIRING | EVTSEL_EN | EVTSEL_USR);
    for (unsigned i = 0; i <= n; i++) {
        pmu_op(s, OP_RUN, loop->block | RUN_CPL3, ENABLE, loop->iterations);
        slots[i] = pmu_rdpmc(s, RDPMC_SLOTS);
        retiring[i] = pmu_rdpmc(s, RDPMC_RETIRING);
    }
    pmu_run(s, args);
    for (unsigned i = 0; i < n; i++) {
        rounds->slots[i] = pmu_register(s, slots[i + 1]) -
                           pmu_register(s, slots[i]);
        rounds->retiring[i] = pmu_register(s, retiring[i + 1]) -
                              pmu_register(s, retiring[i]);
    }
}

/* Whether @value is within @limit of @should in each round, and over all. */
static bool is_steady(const char *loop, const char *what, const double *value,
                      double should, double limit)
{
    double mean = 0, least = INFINITY, most = -INFINITY, xy = 0, xx = 0;
    double drift;

    for (unsigned i = 0; i < ROUNDS; i++) {
        double v = value[i] / should - 1, x = i - (ROUNDS - 1) / 2.0;

        mean += v / ROUNDS;
        least = MIN(least, v);
        most = MAX(most, v);
        xy += x * v;
        xx += x * x;
    }
    drift = xy / xx * ROUNDS;
    g_test_message("%s, %s: mean %+.3f %%, least %+.3f %%, most %+.3f %%, "
                   "drift %+.3f %%", loop, what, 100 * mean, 100 * least,
                   100 * most, 100 * drift);
    return MAX(fabs(least), fabs(most)) <= limit && fabs(drift) <= limit;
}

static void test_loop(gconstpointer data)
{
    const Loop *loop = data;
    g_autofree Rounds *detailed = g_new0(Rounds, 1);
    g_autofree Rounds *sampled = g_new0(Rounds, 1);
    double slots = 0, retiring = 0;
    bool steady;

    run_rounds(loop, PMU_CPU_UNSAMPLED ICOUNT, DETAILED_ROUNDS, detailed);
    run_rounds(loop, PMU_CPU_METRICS ICOUNT, ROUNDS, sampled);
    for (unsigned i = 0; i < DETAILED_ROUNDS; i++) {
        slots += detailed->slots[i] / DETAILED_ROUNDS;
        retiring += detailed->retiring[i] / DETAILED_ROUNDS;
    }
    g_test_message("%s: %.4f slots, %.4f retiring an iteration", loop->name,
                   slots / loop->iterations, retiring / loop->iterations);
    steady = is_steady(loop->name, "slots", sampled->slots, slots, LIMIT);
    g_assert_true(is_steady(loop->name, "retiring", sampled->retiring,
                            retiring, RETIRING / retiring));
    g_assert_true(steady || loop->off);
}

static const Loop loops[] = {
    { "loop", BLOCK_LOOP, 400000 },
    { "latency", BLOCK_LATENCY, 300000 },
    { "multiply", BLOCK_MULTIPLY, 50000 },
    { "memory", BLOCK_MEMORY, 100000, true },
    { "chase", BLOCK_CHASE, 100000, true },
};

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < ARRAY_SIZE(loops); i++) {
        g_autofree char *path = g_strdup_printf("/pmu/steady/%s",
                                                loops[i].name);

        qtest_add_data_func(path, &loops[i], test_loop);
    }
    return g_test_run();
}
