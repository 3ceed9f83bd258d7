/*
 * Directions of conditional branches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Intel does not publish its predictors.  This is a small TAGE (Seznec and
 * Michaud, "A case for (partially) tagged geometric history length branch
 * prediction", JILP 2006) with a loop predictor.  Branches that only ever went
 * one way need neither tables nor a place in the history (Gope and Lipasti,
 * "Bias-free branch predictor", MICRO 2014), which so reaches as far as a
 * longer one.
 */

#ifndef TARGET_I386_PMU_FRONTEND_DIRECTION_PREDICTOR_H
#define TARGET_I386_PMU_FRONTEND_DIRECTION_PREDICTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/frontend/branch-history.h"
#include "tcg/pmu/frontend/successor-cache.h"

#define PMU_BASE_BITS       14
#define PMU_TAGE_TABLES     3
#define PMU_TAGE_BITS       12
#define PMU_LOOP_BITS       6

/* States of a tagged entry: see direction-predictor.c. */
#define PMU_TAGE_STATES     32

typedef struct PmuTageEntry {
    uint16_t tag;
    uint8_t state;
} PmuTageEntry;

/* A branch that goes one way @trips times and then the other once. */
typedef struct PmuLoopEntry {
    uint32_t trips;
    uint32_t count;             /* of the trip being made */
    uint8_t confidence;         /* times that @trips was confirmed */
    uint8_t patience;           /* of those that want the entry */
    bool taken;                 /* while in the loop */
} PmuLoopEntry;

typedef struct PmuDirectionPredictor {
    PmuBranchHistory *history;
    PmuSuccessorCache *successors;      /* of blocks, by base entry */
    uint8_t base[1 << PMU_BASE_BITS];   /* states */
    int32_t trust_new;          /* entries without merit: 0 or more: yes */
    uint8_t next[2][128];       /* base entry's state, by outcome */
    /* By outcome and base's prediction. */
    uint8_t train[2][2][PMU_TAGE_STATES];
    PmuTageEntry tage[PMU_TAGE_TABLES][1 << PMU_TAGE_BITS];
    uint64_t loop_pc[1 << PMU_LOOP_BITS];
    PmuLoopEntry loop[1 << PMU_LOOP_BITS];
} PmuDirectionPredictor;

/* Untrained.  @successors has 1 << PMU_BASE_BITS entries. */
void pmu_direction_predictor_init(PmuDirectionPredictor *p,
                                  PmuBranchHistory *history,
                                  PmuSuccessorCache *successors);

/* The conditional branch at @pc went @taken: was that predicted? */
bool pmu_direction_predictor_predict(PmuDirectionPredictor *p, uint64_t pc,
                                     bool taken);

/*
 * The same for the branch of block @number, which went to @target.  If that
 * will be predicted without any change if it goes there once more, that is the
 * block's successor, until it will not; else it has none.
 */
bool pmu_direction_predictor_predict_block(PmuDirectionPredictor *p,
                                           uint32_t number, uint64_t pc,
                                           bool taken, uint64_t target);

#endif
