/*
 * Branch predictors: direction, indirect target, return stack, BTB.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each call predicts, compares with the outcome and trains; all are functions
 * of the branches seen so far alone.
 */

#ifndef TARGET_I386_PMU_FRONTEND_BRANCH_PREDICTOR_H
#define TARGET_I386_PMU_FRONTEND_BRANCH_PREDICTOR_H

#include <stdbool.h>

#include "tcg/pmu/frontend/branch-history.h"
#include "tcg/pmu/frontend/direction-predictor.h"
#include "tcg/pmu/uarch/uarch.h"

typedef struct PmuBranchPredictor PmuBranchPredictor;

/* Untrained predictors; NULL if memory runs out. */
PmuBranchPredictor *pmu_branch_predictor_new(const PmuUarch *uarch);

void pmu_branch_predictor_free(PmuBranchPredictor *bp);

/* Back to the state of pmu_branch_predictor_new(). */
void pmu_branch_predictor_reset(PmuBranchPredictor *bp);

/*
 * What predictors look up by.  Whoever runs code adds each branch that is
 * taken, after it is predicted.
 */
PmuBranchHistory *pmu_branch_predictor_history(PmuBranchPredictor *bp);

/* What predicts conditional branches. */
PmuDirectionPredictor *pmu_branch_predictor_direction(PmuBranchPredictor *bp);

/* The indirect jump or call at @pc went to @target: was that predicted? */
bool pmu_branch_predictor_indirect(PmuBranchPredictor *bp, uint64_t pc,
                                   uint64_t target);

/* A call will return to @next. */
void pmu_branch_predictor_call(PmuBranchPredictor *bp, uint64_t next);

/* A near return went to @target: was that predicted? */
bool pmu_branch_predictor_return(PmuBranchPredictor *bp, uint64_t target);

/*
 * Calls and returns were not seen for a while: what the return stack holds is
 * right, whatever it is.
 */
void pmu_branch_predictor_forget_calls(PmuBranchPredictor *bp);

/*
 * The branch at @pc is taken: did fetch know of it?  It does from now on,
 * until others push it out.
 */
bool pmu_branch_predictor_btb(PmuBranchPredictor *bp, uint64_t pc);

#endif
