/*
 * What stretches of code cost, as it is remembered.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "costs.h"

#define KEY     0x1234

/* Learn @n times that a stretch has @value of an item. */
static void learn(PmuCosts *costs, unsigned item, uint32_t value, unsigned n)
{
    PmuSample sample = {};

    sample.item[item] = value;
    for (unsigned i = 0; i < n; i++) {
        pmu_costs_learn(costs, pmu_costs_key(KEY, PMU_LEVEL_USR), 10,
                        (PmuCostCode) {}, &sample);
    }
}

/* How much of that there is in @times runs of it. */
static uint64_t in_runs(PmuCosts *costs, unsigned item, uint32_t times)
{
    PmuCost *cost = pmu_costs_find_any(costs,
                                       pmu_costs_key(KEY, PMU_LEVEL_USR));
    uint64_t whole[PMU_SAMPLE_NR];

    g_assert_nonnull(cost);
    pmu_costs_count_times(costs, cost, times);
    pmu_costs_settle(costs);
    pmu_costs_take(costs, PMU_LEVEL_USR, whole);
    return whole[item];
}

/* What comes never again is forgotten, slots and others. */
static void test_forgetting(void)
{
    static const unsigned items[] = {
        PMU_SLOT_MACHINE_CLEARS, PMU_SAMPLE_NR - 1,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(items); i++) {
        PmuCosts *costs = g_new0(PmuCosts, 1);

        g_assert_true(pmu_costs_init(costs, pmu_uarch(PMU_CORE_ICELAKE)));
        pmu_costs_want(costs, UINT32_MAX);
        learn(costs, items[i], 3, 100);
        g_assert_cmpuint(in_runs(costs, items[i], 1000), ==, 3000);
        learn(costs, items[i], 0, 100);
        g_assert_cmpuint(in_runs(costs, items[i], 1000), >, 0);
        learn(costs, items[i], 0, 5000);
        g_assert_cmpuint(in_runs(costs, items[i], 1000000), ==, 0);
        g_assert_cmpuint(in_runs(costs, items[i], 1000000000), ==, 0);
        pmu_costs_destroy(costs);
        g_free(costs);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/costs/forgetting", test_forgetting);
    return g_test_run();
}
