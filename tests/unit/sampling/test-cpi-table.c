/*
 * The CPI table: what regions of code cost on average, by key.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcg/pmu/sampling/cpi-table.h"

#define KEY     0x1234

/* Add @n samples of a region, each with @value of @item. */
static void add_sample(PmuCpiTable *costs, unsigned item, uint32_t value,
                       unsigned n)
{
    PmuSample sample = {};

    sample.item[item] = value;
    for (unsigned i = 0; i < n; i++) {
        pmu_cpi_table_add_sample(costs, pmu_cpi_table_key(KEY, PMU_LEVEL_USR),
                                 10,
                                 &sample);
    }
}

/*
 * Returns how much of @item the table estimates for @times runs of the region.
 */
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

static PmuCpiTable *new_table(void)
{
    PmuCpiTable *table = g_new0(PmuCpiTable, 1);

    g_assert_true(pmu_cpi_table_init(table, pmu_uarch(PMU_CORE_ICELAKE)));
    pmu_cpi_table_want(table, UINT32_MAX);
    return table;
}

static void free_table(PmuCpiTable *table)
{
    pmu_cpi_table_destroy(table);
    g_free(table);
}

/* No region has the key of an empty entry, 0; bit 0 of a key is the level. */
static void test_keys(void)
{
    static const uint64_t hashes[] = { 0, UINT64_MAX, INT64_MAX };

    for (unsigned i = 0; i < G_N_ELEMENTS(hashes); i++) {
        for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
            uint64_t key = pmu_cpi_table_key(hashes[i], level);

            g_assert_cmphex(key, !=, 0);
            g_assert_cmpuint(key & 1, ==, level);
        }
    }
}

/*
 * Samples of string instructions, which say nothing of other code, do not fade
 * the typical cost of unknown code.
 */
static void test_strings_fade_nothing(void)
{
    PmuCpiTable *table = new_table();
    PmuSample sample = {};
    uint64_t insns;

    add_sample(table, PMU_SLOT_LIGHT_OPS, 10, 100);
    insns = table->typical.insns;
    g_assert_cmpuint(insns, >, 0);
    for (unsigned i = 0; i < 10000; i++) {
        pmu_cpi_table_add_sample(table, pmu_cpi_table_key(i, PMU_LEVEL_OS), 0,
                                 &sample);
    }
    g_assert_cmpuint(table->typical.insns, ==, insns);
    free_table(table);
}

/* What is owed for an item is forgotten once nobody wants the item. */
static void test_debts(void)
{
    PmuCpiTable *table = new_table();
    PmuEstimate *estimate = &table->estimate[PMU_LEVEL_USR];
    unsigned left = 0;

    for (unsigned i = 0; i < PMU_RESPONSE_NR; i++) {
        estimate->correction[i] = -1000;
    }
    pmu_cpi_table_want(table, 0);
    pmu_cpi_table_correct_estimates(table);
    pmu_cpi_table_want(table, UINT32_MAX);
    for (unsigned i = 0; i < PMU_RESPONSE_NR; i++) {
        left += estimate->correction[i] != 0;
    }
    /* Slots are always wanted. */
    g_assert_cmpuint(left, <=, PMU_SLOT_NR);
    free_table(table);
}

/*
 * A mean goes down to 0 where new samples are 0, for slots and for other items.
 * 100 samples of 3 make 3,000 in 1,000 runs.
 */
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

/* Regions that take NEW_SLOTS in their first sample, and then OLD_SLOTS. */
#define REGIONS     1000
#define INSNS       10
#define NEW_SLOTS   40
#define OLD_SLOTS   10
#define OLD_SAMPLES 3
/*
 * No cost of waits, mispredictions or misses of code corrects this class.
 */
#define CLASS       PMU_SLOT_FETCH_BANDWIDTH

static void learn_regions(PmuCpiTable *costs)
{
    for (uint64_t i = 1; i <= REGIONS; i++) {
        uint64_t key = pmu_cpi_table_key(i * PMU_HASH_MULTIPLIER,
                                         PMU_LEVEL_USR);

        for (unsigned j = 0; j <= OLD_SAMPLES; j++) {
            PmuSample sample = {};

            sample.item[CLASS] = j ? OLD_SLOTS : NEW_SLOTS;
            pmu_cpi_table_add_sample(costs, key, INSNS, &sample);
        }
    }
}

/*
 * Returns the slots of @class that the table takes an unknown instruction for.
 */
static double unknown_slots(PmuCpiTable *costs, PmuSighted sighted,
                            PmuSlotClass class)
{
    const unsigned insns = 100000;
    uint64_t whole[PMU_SAMPLE_NR];

    costs->estimate[PMU_LEVEL_USR].unknown[sighted].insns = insns;
    pmu_cpi_table_add_estimates(costs);
    pmu_cpi_table_take_estimates(costs, PMU_LEVEL_USR, whole);
    return (double)whole[class] / insns;
}

/*
 * Unknown code is taken to cost what new code cost, or what any code cost if it
 * ran a short while before.  If nothing is known at all, each instruction costs
 * the slot in which it retires.
 */
static void test_unknown(void)
{
    const double new = (double)NEW_SLOTS / INSNS;
    const double any = (double)(NEW_SLOTS + OLD_SAMPLES * OLD_SLOTS) /
                       (INSNS * (1 + OLD_SAMPLES));
    PmuCpiTable *costs = g_new0(PmuCpiTable, 1);
    double first;

    g_assert_true(pmu_cpi_table_init(costs, pmu_uarch(PMU_CORE_ICELAKE)));
    pmu_cpi_table_want(costs, UINT32_MAX);
    g_assert_cmpfloat(unknown_slots(costs, PMU_SIGHTED_FIRST,
                                    PMU_SLOT_LIGHT_OPS), ==, 1);
    learn_regions(costs);
    /* A tenth of the estimate is of any code: LITTLE_FIRST instructions. */
    first = unknown_slots(costs, PMU_SIGHTED_FIRST, CLASS);
    g_assert_cmpfloat(first, >, new - 0.15 * (new - any));
    g_assert_cmpfloat(first, <, new);
    g_assert_cmpfloat_with_epsilon(unknown_slots(costs, PMU_SIGHTED_AGAIN,
                                                 CLASS),
                                   any, 0.01 * any);
    pmu_cpi_table_destroy(costs);
    g_free(costs);
}

/* Slots that a cycle of waiting makes in the tests below: the slope. */
#define SLOTS_A_CYCLE   1.0

/*
 * Returns the memory-bound slots for @wait cycles of @covariate that were not
 * predicted.
 */
static uint64_t memory_slots(PmuCpiTable *costs, PmuCovariate covariate,
                             uint64_t wait)
{
    PmuEstimate *estimate = &costs->estimate[PMU_LEVEL_USR];
    uint64_t whole[PMU_SAMPLE_NR];

    estimate->covariates.n[covariate] = wait;
    pmu_cpi_table_add_estimates(costs);
    pmu_cpi_table_take_estimates(costs, PMU_LEVEL_USR, whole);
    return whole[PMU_SLOT_MEMORY_BOUND];
}

/*
 * Waits of loads and stores that were not predicted cost slots where waits are
 * observed, and only there.
 */
static void test_observed(void)
{
    static const PmuCovariate waits[] = {
        PMU_COVARIATE_WAIT_DRAM, PMU_COVARIATE_WAIT_STORE,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(waits); i++) {
        PmuCpiTable *costs = g_new0(PmuCpiTable, 1);

        g_assert_true(pmu_cpi_table_init(costs, pmu_uarch(PMU_CORE_ICELAKE)));
        pmu_cpi_table_want(costs, UINT32_MAX);
        costs->slope[PMU_RESPONSE_MEMORY_BOUND] = SLOTS_A_CYCLE;
        g_assert_cmpuint(memory_slots(costs, waits[i], 1000), ==,
                         1000 * SLOTS_A_CYCLE);
        pmu_cpi_table_set_observed(costs, false);
        g_assert_cmpuint(memory_slots(costs, waits[i], 1000), ==, 0);
        g_assert_cmpuint(memory_slots(costs, waits[i], 0), ==, 0);
        pmu_cpi_table_destroy(costs);
        g_free(costs);
    }
}

/* What each run waits and loses, as the table says, in the test below. */
#define WAIT            100
#define LOST            200

/*
 * Returns the memory-bound slots of @runs of KEY, of which @wait cycles are
 * known.
 */
static uint64_t lost_slots(PmuCpiTable *costs, uint32_t runs, uint64_t wait)
{
    costs->estimate[PMU_LEVEL_USR].covariates.n[PMU_COVARIATE_WAIT_DRAM] = wait;
    return in_runs(costs, PMU_SLOT_MEMORY_BOUND, runs);
}

/*
 * Observe @runs, of which @wait cycles are known.  Returns the slots of as many
 * runs after that, not observed.
 */
static uint64_t slots_after(PmuCpiTable *costs, uint32_t runs, uint64_t wait)
{
    pmu_cpi_table_set_observed(costs, true);
    g_assert_cmpuint(lost_slots(costs, runs, wait), ==,
                     runs * (LOST - WAIT * SLOTS_A_CYCLE) + wait);
    pmu_cpi_table_set_observed(costs, false);
    return lost_slots(costs, runs, 0);
}

/*
 * What is not observed waits as predicted; or less, in the ratio in which what
 * was observed lately waited less.  After many epochs the ratio is forgotten.
 */
static void test_unobserved(void)
{
    const unsigned runs = 1024;      /* a multiple of 64 */
    PmuCpiTable *costs = new_table();
    PmuSample sample = { .item = {
        [PMU_SLOT_MEMORY_BOUND] = LOST,
        [PMU_SAMPLE_COVARIATES + PMU_COVARIATE_WAIT_DRAM] = WAIT,
    } };
    uint64_t slots;

    for (unsigned i = 0; i < 100; i++) {
        pmu_cpi_table_add_sample(costs, pmu_cpi_table_key(KEY, PMU_LEVEL_USR),
                                 10, &sample);
    }
    costs->slope[PMU_RESPONSE_MEMORY_BOUND] = SLOTS_A_CYCLE;
    g_assert_cmpuint(slots_after(costs, runs, runs * WAIT * 2), ==,
                     runs * LOST);

    pmu_cpi_table_note_change(costs);
    slots = slots_after(costs, runs, runs * WAIT / 2);
    g_assert_cmpuint(slots, >=, runs * (LOST - WAIT / 2 * SLOTS_A_CYCLE));
    /* LITTLE_WAITS cycles were as predicted, and ratios are in 64ths. */
    g_assert_cmpuint(slots, <=, runs * (LOST - WAIT * 0.48 * SLOTS_A_CYCLE));
    /* The estimate does not depend on how often it is taken. */
    g_assert_cmpuint(lost_slots(costs, runs / 4, 0) +
                     lost_slots(costs, runs - runs / 4, 0), ==, slots);

    for (unsigned i = 0; i < 100; i++) {
        pmu_cpi_table_begin_epoch(costs);
    }
    g_assert_cmpuint(lost_slots(costs, runs, 0), ==, runs * LOST);
    free_table(costs);
}

/*
 * Unknown code does not wait as other code did, whether waits are observed or
 * not.
 */
static void test_unknown_waits(void)
{
    PmuCpiTable *costs = g_new0(PmuCpiTable, 1);
    PmuSample sample = {};

    g_assert_true(pmu_cpi_table_init(costs, pmu_uarch(PMU_CORE_ICELAKE)));
    pmu_cpi_table_want(costs, UINT32_MAX);
    sample.item[PMU_SLOT_MEMORY_BOUND] = 400;
    sample.item[PMU_SAMPLE_COVARIATES + PMU_COVARIATE_WAIT_DRAM] = 100;
    pmu_cpi_table_add_sample(costs, pmu_cpi_table_key(1, PMU_LEVEL_USR), INSNS,
                             &sample);
    for (unsigned observed = 0; observed < 2; observed++) {
        pmu_cpi_table_set_observed(costs, observed);
        g_assert_cmpfloat(unknown_slots(costs, PMU_SIGHTED_AGAIN,
                                        PMU_SLOT_MEMORY_BOUND), ==, 0);
    }
    pmu_cpi_table_destroy(costs);
    g_free(costs);
}

/*
 * Add @samples of region @n at @level: @slots of CLASS, and as many that
 * retire.
 */
static void take_at(PmuCpiTable *costs, PmuLevel level, uint64_t n,
                    uint32_t slots, unsigned samples)
{
    uint64_t key = pmu_cpi_table_key(n * PMU_HASH_MULTIPLIER, level);
    PmuSample sample = {};

    sample.item[CLASS] = slots;
    sample.item[PMU_SLOT_LIGHT_OPS] = slots;
    for (unsigned i = 0; i < samples; i++) {
        pmu_cpi_table_add_sample(costs, key, INSNS, &sample);
    }
}

static void take(PmuCpiTable *costs, uint64_t n, uint32_t slots,
                 unsigned samples)
{
    take_at(costs, PMU_LEVEL_USR, n, slots, samples);
}

/*
 * Returns the slots of @class that the table estimates for a run of region @n
 * at @level.
 */
static double slots_of_run_at(PmuCpiTable *costs, PmuLevel level, uint64_t n,
                              PmuSlotClass class)
{
    const unsigned times = 1000;
    PmuCpiEntry *cost = pmu_cpi_table_find_any(
        costs, pmu_cpi_table_key(n * PMU_HASH_MULTIPLIER, level));
    uint64_t whole[PMU_SAMPLE_NR];

    g_assert_nonnull(cost);
    pmu_cpi_table_count_times(costs, cost, times);
    pmu_cpi_table_add_estimates(costs);
    pmu_cpi_table_take_estimates(costs, level, whole);
    return (double)whole[class] / times;
}

static double slots_of_run(PmuCpiTable *costs, uint64_t n, PmuSlotClass class)
{
    return slots_of_run_at(costs, PMU_LEVEL_USR, n, class);
}

/*
 * A unit that opened for new code saw regions while they were new.  Units of
 * periods find many of them cheaper now.  Then others with as few samples are
 * taken to be cheaper, too, but not in what they retire, and not those of many
 * samples: but for what LITTLE_RATIO holds back.
 */
static void test_doubtful(void)
{
    enum { FEW = REGIONS + 1, MANY };
    PmuCpiTable *costs = new_table();

    pmu_cpi_table_begin_unit(costs, 0);
    for (uint64_t n = 1; n <= FEW; n++) {
        take(costs, n, NEW_SLOTS, 2);
    }
    take(costs, MANY, NEW_SLOTS, 100);
    g_assert_cmpfloat(slots_of_run(costs, FEW, CLASS), ==, NEW_SLOTS);

    pmu_cpi_table_begin_unit(costs, 1 << 20);
    for (uint64_t n = 1; n <= REGIONS; n++) {
        take(costs, n, OLD_SLOTS, 1);
    }
    g_assert_cmpfloat(slots_of_run(costs, FEW, CLASS), >=, OLD_SLOTS);
    /* LITTLE_RATIO slots were as predicted. */
    g_assert_cmpfloat(slots_of_run(costs, FEW, CLASS), <, OLD_SLOTS * 1.1);
    g_assert_cmpfloat(slots_of_run(costs, FEW, PMU_SLOT_LIGHT_OPS), ==,
                      NEW_SLOTS);
    g_assert_cmpfloat(slots_of_run(costs, MANY, CLASS), >, NEW_SLOTS * 0.95);

    pmu_cpi_table_clear(costs);
    take(costs, FEW, NEW_SLOTS, 2);
    g_assert_cmpfloat(slots_of_run(costs, FEW, CLASS), ==, NEW_SLOTS);
    free_table(costs);
}

/*
 * What runs around well-known regions changes: units of periods find each of
 * them cheaper.  Means of many samples hardly move.  Regions that the units did
 * not find are taken to be cheaper, too, but not in what they retire, not at
 * another level, and not for long after units find what was predicted.
 */
static void test_recent(void)
{
    enum { OTHER = REGIONS + 1 };
    PmuCpiTable *costs = new_table();

    for (uint64_t n = 1; n <= OTHER; n++) {
        take(costs, n, NEW_SLOTS, 256);
    }
    take_at(costs, PMU_LEVEL_OS, OTHER, NEW_SLOTS, 256);
    g_assert_cmpfloat(slots_of_run(costs, OTHER, CLASS), ==, NEW_SLOTS);
    for (unsigned unit = 0; unit < 8; unit++) {
        pmu_cpi_table_begin_unit(costs, 1 << 20);
        for (uint64_t n = 1; n <= REGIONS; n++) {
            take(costs, n, OLD_SLOTS, 1);
        }
    }
    g_assert_cmpfloat(slots_of_run(costs, 1, CLASS), <, NEW_SLOTS * 0.7);
    g_assert_cmpfloat(slots_of_run(costs, OTHER, CLASS), <, NEW_SLOTS * 0.7);
    g_assert_cmpfloat(slots_of_run(costs, OTHER, CLASS), >=, OLD_SLOTS);
    g_assert_cmpfloat(slots_of_run(costs, OTHER, PMU_SLOT_LIGHT_OPS), ==,
                      NEW_SLOTS);
    g_assert_cmpfloat(slots_of_run_at(costs, PMU_LEVEL_OS, OTHER, CLASS), ==,
                      NEW_SLOTS);

    for (unsigned unit = 0; unit < 200; unit++) {
        pmu_cpi_table_begin_unit(costs, 1 << 20);
        for (uint64_t n = 1; n <= REGIONS; n++) {
            take(costs, n, NEW_SLOTS, 1);
        }
    }
    g_assert_cmpfloat(slots_of_run(costs, OTHER, CLASS), >, NEW_SLOTS * 0.95);
    free_table(costs);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cpi-table/forgetting", test_forgetting);
    g_test_add_func("/cpi-table/keys", test_keys);
    g_test_add_func("/cpi-table/strings-fade-nothing",
                    test_strings_fade_nothing);
    g_test_add_func("/cpi-table/debts", test_debts);
    g_test_add_func("/cpi-table/unknown", test_unknown);
    g_test_add_func("/cpi-table/doubtful", test_doubtful);
    g_test_add_func("/cpi-table/recent", test_recent);
    g_test_add_func("/cpi-table/observed", test_observed);
    g_test_add_func("/cpi-table/unobserved", test_unobserved);
    g_test_add_func("/cpi-table/unknown-waits", test_unknown_waits);
    return g_test_run();
}
