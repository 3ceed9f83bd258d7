/*
 * Covariates: what the functional model knows of what is observed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Estimates of what was not simulated in detail are corrected by them.
 */

#ifndef TARGET_I386_PMU_SAMPLING_COVARIATES_H
#define TARGET_I386_PMU_SAMPLING_COVARIATES_H

#include <glib.h>
#include <stdint.h>

#include "tcg/pmu/memory/outcome.h"

/*
 * What is known of all that is observed, simulated in detail or not: cycles
 * that loads waited, each by itself, by where they got what they waited for;
 * mispredictions; and cycles that stores waited for their translations and
 * lines, likewise.  What loads as well counts as a load.
 */
typedef enum PmuCovariate {
    PMU_COVARIATE_WAIT_L1,      /* ... translations, whatever comes then */
    PMU_COVARIATE_WAIT_L2,
    PMU_COVARIATE_WAIT_L3,
    PMU_COVARIATE_WAIT_DRAM,
    PMU_COVARIATE_MISPREDICTS,
    PMU_COVARIATE_WAIT_STORE,
    PMU_COVARIATE_NR
} PmuCovariate;

typedef struct PmuCovariates {
    uint64_t n[PMU_COVARIATE_NR];
} PmuCovariates;

/* Waits of loads come first, in the order of levels: they are indices. */
G_STATIC_ASSERT(PMU_COVARIATE_WAIT_L1 == 0 && PMU_COVARIATE_WAIT_DRAM == 3);

/* The cycles that all loads waited. */
static inline uint64_t pmu_covariates_wait(const PmuCovariates *known)
{
    return known->n[PMU_COVARIATE_WAIT_L1] + known->n[PMU_COVARIATE_WAIT_L2] +
           known->n[PMU_COVARIATE_WAIT_L3] + known->n[PMU_COVARIATE_WAIT_DRAM];
}

/* Lines of code that were not in L1I, by where they were. */
typedef struct PmuCodeMisses {
    uint64_t from[PMU_FOUND_IN_NR];
} PmuCodeMisses;

#endif
