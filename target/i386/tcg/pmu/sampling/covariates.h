/*
 * Covariates: waits and mispredictions that the functional model observes,
 * whether or not the code is simulated in detail.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * They correct the estimates for code that was not simulated in detail.
 */

#ifndef TARGET_I386_PMU_SAMPLING_COVARIATES_H
#define TARGET_I386_PMU_SAMPLING_COVARIATES_H

#include <glib.h>
#include <stdint.h>

#include "tcg/pmu/memory/outcome.h"

/*
 * Kinds of covariates: cycles that loads waited, by where their lines were;
 * mispredictions; and cycles that stores waited for their translations and
 * lines.  Each access waits by itself: the cycles of accesses that overlap are
 * added up.  An instruction that loads and stores counts as a load.
 */
typedef enum PmuCovariate {
    PMU_COVARIATE_WAIT_L1,      /* translations, wherever the line is */
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

/* Waits of loads come first, in the order of the levels. */
G_STATIC_ASSERT(PMU_COVARIATE_WAIT_L1 == 0 && PMU_COVARIATE_WAIT_DRAM == 3);

/* The cycles that loads waited, of all levels. */
static inline uint64_t pmu_covariates_wait(const PmuCovariates *known)
{
    return known->n[PMU_COVARIATE_WAIT_L1] + known->n[PMU_COVARIATE_WAIT_L2] +
           known->n[PMU_COVARIATE_WAIT_L3] + known->n[PMU_COVARIATE_WAIT_DRAM];
}

/* Lines of code that missed L1I, by PmuFoundIn. */
typedef struct PmuCodeMisses {
    uint64_t from[PMU_FOUND_IN_NR];
} PmuCodeMisses;

#endif
