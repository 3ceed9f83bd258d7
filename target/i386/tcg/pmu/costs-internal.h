/*
 * The parts of what is known of costs, as costs*.c see them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#ifndef TARGET_I386_PMU_COSTS_INTERNAL_H
#define TARGET_I386_PMU_COSTS_INTERNAL_H

#include "costs.h"

/*
 * Adding and taking off one of these rounds to a multiple of 2^-20, or of more
 * if a float has no more digits.  Sums of a few thousand millions of such are
 * exact, so that it does not matter when they are taken; and what fades away
 * becomes 0: hosts take a hundred times as long for numbers that are too small
 * to be normalised.
 */
#define PMU_GRAIN_FLOAT     12.0f           /* 1.5 * 2^(23 - 20) */
#define PMU_GRAIN_DOUBLE    6442450944.0    /* 1.5 * 2^(52 - 20) */

static inline double pmu_grain(double value)
{
    return (value + PMU_GRAIN_DOUBLE) - PMU_GRAIN_DOUBLE;
}

/* Is @item of a sample tallied? */
static inline bool pmu_costs_is_tallied(const PmuCosts *costs, unsigned item)
{
    return costs->wanted >> item / PMU_SAMPLE_GROUP & 1;
}

/* How far @item of @sample is from its mean. */
static inline float pmu_sample_beyond(const PmuCostMeans *means,
                                      const PmuSample *sample, unsigned item)
{
    return (int32_t)sample->item[item] - means->mean[item];
}

/* Estimates: costs-estimate.c. */

/*
 * Make up for what is known of what was counted and was not as foretold, of
 * stretches of unknown cost and of others.
 */
void pmu_costs_estimate(PmuCosts *costs);

/* What has what is known to do with how @sample is not as @means? */
void pmu_costs_compare(PmuCosts *costs, const PmuCostMeans *means,
                       const PmuSample *sample);

/* Some time has passed: look at what was compared, and forget older ones. */
void pmu_costs_adjust(PmuCosts *costs);

#endif
