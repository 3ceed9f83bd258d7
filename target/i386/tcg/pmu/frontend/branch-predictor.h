/*
 * Branch predictors: direction, indirect target, return stack, BTB.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each function predicts a branch, compares that with the outcome and trains.
 * Predictions depend on nothing but the branches seen so far.
 */

#ifndef TARGET_I386_PMU_FRONTEND_BRANCH_PREDICTOR_H
#define TARGET_I386_PMU_FRONTEND_BRANCH_PREDICTOR_H

#include <stdbool.h>

#include "tcg/pmu/frontend/branch-history.h"
#include "tcg/pmu/frontend/direction-predictor.h"
#include "tcg/pmu/uarch/uarch.h"

typedef struct PmuBranchPredictor PmuBranchPredictor;

/* Allocate untrained predictors.  Returns NULL if memory runs out. */
PmuBranchPredictor *pmu_branch_predictor_new(const PmuUarch *uarch);

void pmu_branch_predictor_free(PmuBranchPredictor *bp);

/* Back to the state of pmu_branch_predictor_new(). */
void pmu_branch_predictor_reset(PmuBranchPredictor *bp);

/*
 * The history by which the predictors look up their tables.  The caller adds
 * each taken branch to it, after the branch has been predicted.
 */
PmuBranchHistory *pmu_branch_predictor_history(PmuBranchPredictor *bp);

/* The part that predicts conditional branches. */
PmuDirectionPredictor *pmu_branch_predictor_direction(PmuBranchPredictor *bp);

/* The indirect jump or call at @pc went to @target: was that predicted? */
bool pmu_branch_predictor_indirect(PmuBranchPredictor *bp, uint64_t pc,
                                   uint64_t target);

/* A call will return to @next. */
void pmu_branch_predictor_call(PmuBranchPredictor *bp, uint64_t next);

/* A near return went to @target: was that predicted? */
bool pmu_branch_predictor_return(PmuBranchPredictor *bp, uint64_t target);

/*
 * Calls and returns have run unseen for a while: whatever the return stack
 * holds counts as right.
 */
void pmu_branch_predictor_forget_calls(PmuBranchPredictor *bp);

/*
 * The branch at @pc is taken: did the BTB have it?  From now on it does, until
 * other branches evict it.
 */
bool pmu_branch_predictor_btb(PmuBranchPredictor *bp, uint64_t pc);

#endif
