/*
 * The table of CPI estimates by region.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcg/pmu/sampling/cpi-table.h"

#define KEY     0x1234

/* Learn @n times that a region has @value of an item. */
static void add_sample(PmuCpiTable *costs, unsigned item, uint32_t value,
                       unsigned n)
{
    PmuSample sample = {};

    sample.item[item] = value;
    for (unsigned i = 0; i < n; i++) {
        pmu_cpi_table_add_sample(costs, pmu_cpi_table_key(KEY, PMU_LEVEL_USR),
                                 10,
                                 (PmuRegionCode) {}, &sample);
    }
}

/* How much of that there is in @times runs of it. */
static uint64_t in_runs(PmuCpiTable *costs, unsigned item, uint32_t times)
{
    PmuCpiEntry *cost = pmu_cpi_table_find_any(costs,
                                               pmu_cpi_table_key(
                                                   KEY, PMU_LEVEL_USR));
    uint64_t whole[PMU_SAMPLE_NR];

    g_assert_nonnull(cost);
    pmu_cpi_table_count_times(costs, cost, times);
    pmu_cpi_table_add_estimates(costs);
    pmu_cpi_table_take_estimates(costs, PMU_LEVEL_USR, whole);
    return whole[item];
}

/* Entries that are not used again are evicted, slots and others. */
static void test_forgetting(void)
{
    static const unsigned items[] = {
        PMU_SLOT_MACHINE_CLEARS, PMU_SAMPLE_NR - 1,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(items); i++) {
        PmuCpiTable *costs = g_new0(PmuCpiTable, 1);

        g_assert_true(pmu_cpi_table_init(costs, pmu_uarch(PMU_CORE_ICELAKE)));
        pmu_cpi_table_want(costs, UINT32_MAX);
        add_sample(costs, items[i], 3, 100);
        g_assert_cmpuint(in_runs(costs, items[i], 1000), ==, 3000);
        add_sample(costs, items[i], 0, 100);
        g_assert_cmpuint(in_runs(costs, items[i], 1000), >, 0);
        add_sample(costs, items[i], 0, 5000);
        g_assert_cmpuint(in_runs(costs, items[i], 1000000), ==, 0);
        g_assert_cmpuint(in_runs(costs, items[i], 1000000000), ==, 0);
        pmu_cpi_table_destroy(costs);
        g_free(costs);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cpi-table/forgetting", test_forgetting);
    return g_test_run();
}
