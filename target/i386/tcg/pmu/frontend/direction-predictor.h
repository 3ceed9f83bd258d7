/*
 * Directions of conditional branches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Intel does not publish its predictors; what experiments found is TAGE
 * (Seznec and Michaud, "A case for (partially) tagged geometric history length
 * branch prediction", JILP 2006): a table by address, and tagged ones of 512
 * sets of four ways by histories of 18, 34, 66 and 194 taken branches
 * (Yavarzadeh et al., "Half&Half", IEEE S&P 2023, and Chen's experiments on it;
 * Golden Cove has the same histories).  There is no predictor of loops: how
 * often one runs is known as far as the history reaches.
 */

#ifndef TARGET_I386_PMU_FRONTEND_DIRECTION_PREDICTOR_H
#define TARGET_I386_PMU_FRONTEND_DIRECTION_PREDICTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/frontend/branch-history.h"
#include "tcg/pmu/frontend/successor-cache.h"

#define PMU_BASE_BITS       14
#define PMU_TAGE_TABLES     4
#define PMU_TAGE_SET_BITS   9
#define PMU_TAGE_WAYS       4
#define PMU_TAGE_TAG_BITS   16

/* States of a tagged entry: see direction-predictor.c. */
#define PMU_TAGE_STATES     32

typedef struct PmuTageSet {
    uint64_t tags;              /* way 0 in the lowest bits */
    uint8_t state[PMU_TAGE_WAYS];
} PmuTageSet;

typedef struct PmuDirectionPredictor {
    const PmuBranchHistory *history;
    PmuSuccessorCache *successors;      /* of blocks, by base entry */
    uint8_t base[1 << PMU_BASE_BITS];   /* states */
    int32_t trust_new;          /* entries, not the base: 0 or more: yes */
    /* By outcome and base's prediction. */
    uint8_t train[2][2][PMU_TAGE_STATES];
    uint64_t factor[PMU_TAGE_TABLES];   /* see pmu_branch_history_hash() */
    PmuTageSet tage[PMU_TAGE_TABLES][1 << PMU_TAGE_SET_BITS];
} PmuDirectionPredictor;

/* Untrained.  @successors has 1 << PMU_BASE_BITS entries. */
void pmu_direction_predictor_init(PmuDirectionPredictor *p,
                                  const PmuBranchHistory *history,
                                  PmuSuccessorCache *successors);

/*
 * The conditional branch at @pc went @taken: was that predicted?  Adding it to
 * the history is left to the caller.
 */
bool pmu_direction_predictor_predict(PmuDirectionPredictor *p, uint64_t pc,
                                     bool taken);

/*
 * The same for the branch of block @number, which went to @target.  If it had
 * always gone there before, that is the block's successor, until it goes
 * elsewhere; else it has none.
 */
bool pmu_direction_predictor_predict_block(PmuDirectionPredictor *p,
                                           uint32_t number, uint64_t pc,
                                           bool taken, uint64_t target);

#endif
