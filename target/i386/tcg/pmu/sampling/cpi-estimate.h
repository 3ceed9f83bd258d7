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

/* Cycles that fetch waits for the lines of @misses on a core of @uarch. */
static inline uint64_t pmu_code_wait(const PmuUarch *uarch,
                                     const PmuCodeMisses *misses)
{
    return misses->from[PMU_FOUND_IN_L2] * uarch->l2.latency +
           misses->from[PMU_FOUND_IN_L3] * uarch->l3.latency +
           misses->from[PMU_FOUND_IN_DRAM] * pmu_uarch_dram_latency(uarch);
}

/*
 * Make up for what is known of what was counted and was not as predicted, of
 * regions of unknown cost and of others.
 */
void pmu_cpi_table_correct_estimates(PmuCpiTable *table);

/* Find out anew what a cycle of waiting, or a misprediction, costs. */
void pmu_cpi_table_update_effects(PmuCpiTable *table);

#endif
