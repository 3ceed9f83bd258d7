/*
 * Estimates of what was not simulated in detail: means, corrected by
 * covariates.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_CPI_ESTIMATE_H
#define TARGET_I386_PMU_SAMPLING_CPI_ESTIMATE_H

#include "tcg/pmu/sampling/cpi-types.h"

/*
 * Adding and taking off one of these rounds to a multiple of 2^-20, or of more
 * if a float has no more digits.  Sums of a few thousand millions of such are
 * exact, so that it does not matter when they are taken; and what fades away
 * becomes 0: hosts take a hundred times as long for numbers that are too small
 * to be normalised.
 */
#define PMU_QUANTUM_FLOAT     12.0f         /* 1.5 * 2^(23 - 20) */
#define PMU_QUANTUM_DOUBLE    6442450944.0  /* 1.5 * 2^(52 - 20) */

static inline double pmu_round_to_quantum(double value)
{
    return (value + PMU_QUANTUM_DOUBLE) - PMU_QUANTUM_DOUBLE;
}

/* Is @item of a sample tallied? */
static inline bool pmu_cpi_table_is_wanted(const PmuCpiTable *table,
                                           unsigned item)
{
    return table->wanted >> item / PMU_SAMPLE_GROUP & 1;
}

/* How far @item of @sample is from its mean. */
static inline float pmu_sample_residual(const PmuCpiMeans *means,
                                        const PmuSample *sample, unsigned item)
{
    return (int32_t)sample->item[item] - means->mean[item];
}

/*
 * Make up for what is known of what was counted and was not as predicted, of
 * regions of unknown cost and of others.
 */
void pmu_cpi_table_correct_estimates(PmuCpiTable *table);

/* What has what is known to do with how @sample is not as @means? */
void pmu_cpi_table_add_residual(PmuCpiTable *table, const PmuCpiMeans *means,
                                const PmuSample *sample);

/* Samples of @average so far weigh less from now on: ADJUST_MEMORY. */
void pmu_cpi_average_fade(PmuCpiAverage *average);

/* Some time has passed: look at what was compared, and forget older ones. */
void pmu_cpi_table_update_regression(PmuCpiTable *table);

/*
 * By how much of their slots, from 0 on, the newest sampling units were not as
 * the costs predicted: in the class that differs most.
 */
double pmu_cpi_table_error(const PmuCpiTable *table);

#endif
