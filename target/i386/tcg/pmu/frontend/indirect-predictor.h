/*
 * Predictor of the targets of indirect branches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A table of last targets, and behind it an ITTAGE (Seznec, "A 64-Kbytes ITTAGE
 * indirect branch predictor", CBP 2011) for branches whose target changes.
 */

#ifndef TARGET_I386_PMU_FRONTEND_INDIRECT_PREDICTOR_H
#define TARGET_I386_PMU_FRONTEND_INDIRECT_PREDICTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/frontend/branch-history.h"

#define PMU_INDIRECT_BITS   10
#define PMU_PATH_TABLES     2

/* The newest target of an indirect branch. */
typedef struct PmuLastTarget {
    uint64_t pc;                /* of the branch, plus 1; 0: empty */
    uint64_t target;
    bool changes;               /* it has had other targets */
} PmuLastTarget;

/* The target of an indirect branch behind one path. */
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

/* Initialise an untrained predictor; others add to @history, too. */
void pmu_indirect_predictor_init(PmuIndirectPredictor *p,
                                 PmuBranchHistory *history);

/* The indirect jump or call at @pc went to @target: was that predicted? */
bool pmu_indirect_predictor_predict(PmuIndirectPredictor *p, uint64_t pc,
                                    uint64_t target);

#endif
