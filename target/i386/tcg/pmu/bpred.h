/*
 * Branch predictors: direction, indirect target, return stack, BTB.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.  Each call predicts, compares with the outcome
 * and trains; all are functions of the branches seen so far alone.
 */

#ifndef TARGET_I386_PMU_BPRED_H
#define TARGET_I386_PMU_BPRED_H

#include "uarch.h"

typedef struct PmuBpred PmuBpred;

/* Untrained predictors; NULL if memory runs out. */
PmuBpred *pmu_bpred_new(const PmuUarch *uarch);
void pmu_bpred_free(PmuBpred *bp);

/* Back to the state of pmu_bpred_new(). */
void pmu_bpred_reset(PmuBpred *bp);

/* The conditional branch at @pc went @taken: was that predicted? */
bool pmu_bpred_cond(PmuBpred *bp, uint64_t pc, bool taken);

/* No code is here. */
#define PMU_NOWHERE     UINT64_MAX

/*
 * By PmuBlock.number: as long as a run of the block goes on at this linear
 * address, the predictors need not be told of its branch; PMU_NOWHERE: they
 * always have to be.  Whoever changes what a number stands for sets that.
 */
uint64_t *pmu_bpred_courses(PmuBpred *bp);

/*
 * The same as pmu_bpred_cond() for the branch of block @number, which went to
 * @target.  If that will be predicted without any change if it goes there once
 * more, the course of @number is there, until it will not; else nowhere.
 */
bool pmu_bpred_follow(PmuBpred *bp, uint32_t number, uint64_t pc, bool taken,
                      uint64_t target);

/* The indirect jump or call at @pc went to @target: was that predicted? */
bool pmu_bpred_indirect(PmuBpred *bp, uint64_t pc, uint64_t target);

/* A call will return to @next. */
void pmu_bpred_call(PmuBpred *bp, uint64_t next);

/* A near return went to @target: was that predicted? */
bool pmu_bpred_ret(PmuBpred *bp, uint64_t target);

/*
 * Calls and returns were not seen for a while: what the return stack holds is
 * right, whatever it is.
 */
void pmu_bpred_forget_calls(PmuBpred *bp);

/*
 * The branch at @pc is taken: did fetch know of it?  It does from now on,
 * until others push it out.
 */
bool pmu_bpred_btb(PmuBpred *bp, uint64_t pc);

#endif
