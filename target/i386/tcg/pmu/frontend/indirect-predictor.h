/*
 * Targets of indirect branches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An ITTAGE (Seznec, "A 64-Kbytes ITTAGE indirect branch predictor", CBP 2011)
 * behind a table of last targets.
 */

#ifndef TARGET_I386_PMU_FRONTEND_INDIRECT_PREDICTOR_H
#define TARGET_I386_PMU_FRONTEND_INDIRECT_PREDICTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/frontend/branch-history.h"

#define PMU_INDIRECT_BITS   10
#define PMU_PATH_TABLES     2

/* What the newest target of an indirect branch was. */
typedef struct PmuLastTarget {
    uint64_t pc;
    uint64_t target;
    bool changes;               /* there were others */
} PmuLastTarget;

typedef struct PmuPathTarget {
    uint64_t target;
    uint32_t tag;               /* 0: empty */
    uint32_t confidence;        /* 0 to 3 */
} PmuPathTarget;

typedef struct PmuIndirectPredictor {
    PmuBranchHistory *history;
    PmuLastTarget last[1 << PMU_INDIRECT_BITS];
    PmuPathTarget by_path[PMU_PATH_TABLES][1 << PMU_INDIRECT_BITS];
} PmuIndirectPredictor;

/* Untrained, with the @history that others add to as well. */
void pmu_indirect_predictor_init(PmuIndirectPredictor *p,
                                 PmuBranchHistory *history);

/* The indirect jump or call at @pc went to @target: was that predicted? */
bool pmu_indirect_predictor_predict(PmuIndirectPredictor *p, uint64_t pc,
                                    uint64_t target);

#endif
