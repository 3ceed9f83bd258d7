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

/* The filter in front of the BTB: 2 to the power of these bits. */
#define PMU_BTB_FILTER_BITS     10
#define PMU_BPRED_BASE_BITS     14

/* States of a base entry that need no look at others: see bpred.c. */
#define PMU_BPRED_ALWAYS_NOT    1
#define PMU_BPRED_ALWAYS_TAKEN  66

/* The part that settles most questions; PmuBpred begins with it. */
typedef struct PmuBpredFront {
    uint8_t base[1 << PMU_BPRED_BASE_BITS];     /* states */
    /* Branches that the BTB has, to which a use changes nothing. */
    uint64_t btb_known[1 << PMU_BTB_FILTER_BITS];
} PmuBpredFront;

/* Untrained predictors; NULL if memory runs out. */
PmuBpred *pmu_bpred_new(const PmuUarch *uarch);
void pmu_bpred_free(PmuBpred *bp);

/* Back to the state of pmu_bpred_new(). */
void pmu_bpred_reset(PmuBpred *bp);

/* The conditional branch at @pc went @taken: was that predicted? */
bool pmu_bpred_cond(PmuBpred *bp, uint64_t pc, bool taken);

/*
 * The same, if it is not taken or is but fetch knew of it, and neither changes
 * anything.  Otherwise, or if in doubt, false: see the others.
 */
static inline bool pmu_bpred_easy(const PmuBpred *bp, uint64_t pc, bool taken)
{
    const PmuBpredFront *front = (const PmuBpredFront *)bp;
    uint8_t state = front->base[(pc ^ (pc >> PMU_BPRED_BASE_BITS)) %
                                (1u << PMU_BPRED_BASE_BITS)];

    return taken ? state == PMU_BPRED_ALWAYS_TAKEN &&
                   front->btb_known[pc % (1u << PMU_BTB_FILTER_BITS)] == pc
                 : state == PMU_BPRED_ALWAYS_NOT;
}

/* The indirect jump or call at @pc went to @target: was that predicted? */
bool pmu_bpred_indirect(PmuBpred *bp, uint64_t pc, uint64_t target);

/* A call will return to @next. */
void pmu_bpred_call(PmuBpred *bp, uint64_t next);

/* A near return went to @target: was that predicted? */
bool pmu_bpred_ret(PmuBpred *bp, uint64_t target);

/*
 * The branch at @pc is taken: did fetch know of it?  It does from now on,
 * until others push it out.
 */
bool pmu_bpred_btb(PmuBpred *bp, uint64_t pc);

#endif
