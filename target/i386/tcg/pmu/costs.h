/*
 * What stretches of code cost, as far as the pipeline was watched.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: plain C.  A stretch is what runs from behind a
 * branch to the next one; its key says which instructions that are and what
 * happened to them.  Its cost is the mean of what the pipeline took for it:
 * stratified sampling, the strata being the keys (Wunderlich et al., "SMARTS:
 * Accelerating microarchitecture simulation via rigorous statistical
 * sampling", ISCA 2003; Cochran, "Sampling Techniques", ch. 5).
 */

#ifndef TARGET_I386_PMU_COSTS_H
#define TARGET_I386_PMU_COSTS_H

#include <stdbool.h>
#include <stddef.h>

#include "pipeline.h"

/* Means and sums are in units of 1/PMU_COST_ONE. */
#define PMU_COST_SHIFT  12
#define PMU_COST_ONE    (1u << PMU_COST_SHIFT)

typedef struct PmuCost {
    uint64_t key;               /* 0: the entry is empty */
    uint32_t pending;           /* times counted, not in the sums yet */
    uint32_t slots;             /* sum of the means that are slots */
    uint16_t samples;           /* up to a limit */
    bool dirty;                 /* it is in the list of those with pending */
    uint8_t steady;             /* samples near the mean, fewer for others */
    uint32_t mean[PMU_TIMED_NR];
} PmuCost;

/* Ratios are in units of 1/PMU_RATIO_ONE. */
#define PMU_RATIO_SHIFT 10
#define PMU_RATIO_ONE   (1u << PMU_RATIO_SHIFT)

typedef struct PmuCosts {
    PmuCost *entries;
    uint32_t *dirty;            /* entries, by number */
    uint32_t num_dirty;
    uint64_t sum[PMU_TIMED_NR]; /* what was counted */
    /*
     * A ratio estimator on top (Cochran, ch. 6): in the newest windows, what
     * the costs known before foretold, and what came.
     */
    uint64_t foretold[PMU_TIMED_NR], came[PMU_TIMED_NR];
    uint32_t ratio[PMU_TIMED_NR];
    uint32_t slots_ratio;       /* of all slots */
} PmuCosts;

/* No costs are known.  False if memory runs out. */
bool pmu_costs_init(PmuCosts *costs);
void pmu_costs_destroy(PmuCosts *costs);

/* Forget them, and what was counted. */
void pmu_costs_clear(PmuCosts *costs);

/* Sets of a few entries: 8 MiB in all. */
#define PMU_COST_SET_BITS   15
#define PMU_COST_WAYS       4

/*
 * The first entry of the set of @key, and the one that @key is in most often;
 * multiplicative hashing (Knuth).
 */
static inline PmuCost *pmu_costs_set(PmuCosts *costs, uint64_t key)
{
    return &costs->entries[(key * 0x9e3779b97f4a7c15ull >>
                            (64 - PMU_COST_SET_BITS)) * PMU_COST_WAYS];
}

static inline unsigned pmu_costs_way(uint64_t key)
{
    return key >> 1 & (PMU_COST_WAYS - 1);
}

PmuCost *pmu_costs_find_other(PmuCosts *costs, uint64_t key);

/* What is known of @key, which is not 0; NULL: nothing.  Hot. */
static inline PmuCost *pmu_costs_find(PmuCosts *costs, uint64_t key)
{
    PmuCost *cost = pmu_costs_set(costs, key) + pmu_costs_way(key);

    return __builtin_expect(cost->key == key, 1)
           ? cost : pmu_costs_find_other(costs, key);
}

/* The pipeline took @sample for @key. */
void pmu_costs_learn(PmuCosts *costs, uint64_t key, const PmuDelta *sample);

void pmu_costs_list(PmuCosts *costs, PmuCost *cost);

/* Count @cost once more.  Hot. */
static inline void pmu_costs_count(PmuCosts *costs, PmuCost *cost)
{
    cost->pending++;
    if (!cost->dirty) {
        pmu_costs_list(costs, cost);
    }
}

/*
 * A loop takes the same time again and again, or nearly, but when it begins:
 * what windows found about other code says nothing about such a stretch.
 */
#define PMU_COST_STEADY 16

static inline bool pmu_cost_is_steady(const PmuCost *cost)
{
    return cost->steady >= PMU_COST_STEADY;
}

/* Slots that @cost is now, in 1/PMU_COST_ONE and roughly. */
static inline uint64_t pmu_costs_slots(const PmuCosts *costs,
                                       const PmuCost *cost)
{
    return pmu_cost_is_steady(cost)
           ? cost->slots
           : (uint64_t)cost->slots * costs->slots_ratio >> PMU_RATIO_SHIFT;
}

/* Bring @costs->sum up to date. */
void pmu_costs_settle(PmuCosts *costs);

/* Where @cost, known before, was foretold the pipeline took @sample. */
void pmu_costs_compare(PmuCosts *costs, const PmuCost *cost,
                       const PmuDelta *sample);

/* A window ends: nothing is pending.  What follows is counted as it says. */
void pmu_costs_adjust(PmuCosts *costs);

#endif
