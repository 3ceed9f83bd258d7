/*
 * Branch predictors: direction, indirect target, return stack, BTB.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/frontend/branch-predictor.h"
#include "tcg/pmu/frontend/indirect-predictor.h"
#include "tcg/pmu/frontend/return-stack.h"
#include "tcg/pmu/memory/cache.h"

struct PmuBranchPredictor {
    PmuBranchHistory history;
    PmuDirectionPredictor direction;
    PmuIndirectPredictor indirect;
    PmuReturnStack returns;
    PmuCache btb;
};

PmuBranchPredictor *pmu_branch_predictor_new(const PmuUarch *uarch)
{
    PmuBranchPredictor *bp = g_try_new0(PmuBranchPredictor, 1);
    bool ok = bp;

    if (!bp) {
        return NULL;
    }
    ok &= pmu_return_stack_init(&bp->returns, uarch->return_stack);
    ok &= pmu_cache_init(&bp->btb, uarch->btb_entries / uarch->btb_ways,
                         uarch->btb_ways, false);
    if (!ok) {
        pmu_branch_predictor_free(bp);
        return NULL;
    }
    pmu_branch_predictor_reset(bp);
    return bp;
}

void pmu_branch_predictor_free(PmuBranchPredictor *bp)
{
    if (bp) {
        pmu_cache_destroy(&bp->btb);
        pmu_return_stack_destroy(&bp->returns);
        g_free(bp);
    }
}

void pmu_branch_predictor_reset(PmuBranchPredictor *bp)
{
    bp->history = (PmuBranchHistory) {};
    pmu_direction_predictor_init(&bp->direction, &bp->history);
    pmu_indirect_predictor_init(&bp->indirect, &bp->history);
    pmu_return_stack_clear(&bp->returns);
    pmu_cache_clear(&bp->btb);
}

PmuDirectionPredictor *pmu_branch_predictor_direction(PmuBranchPredictor *bp)
{
    return &bp->direction;
}

PmuBranchHistory *pmu_branch_predictor_history(PmuBranchPredictor *bp)
{
    return &bp->history;
}

bool pmu_branch_predictor_indirect(PmuBranchPredictor *bp, uint64_t pc,
                                   uint64_t target)
{
    return pmu_indirect_predictor_predict(&bp->indirect, pc, target);
}

void pmu_branch_predictor_call(PmuBranchPredictor *bp, uint64_t next)
{
    pmu_return_stack_push(&bp->returns, next);
}

bool pmu_branch_predictor_return(PmuBranchPredictor *bp, uint64_t target)
{
    return pmu_return_stack_pop(&bp->returns, target);
}

void pmu_branch_predictor_forget_calls(PmuBranchPredictor *bp)
{
    pmu_return_stack_forget(&bp->returns);
}

/*
 * Which bits of an address choose the set is not known.  Here some of its page
 * take part, so that branches at the same offset in many pages do not evict
 * each other.
 */
bool pmu_branch_predictor_btb(PmuBranchPredictor *bp, uint64_t pc)
{
    return pmu_cache_access(&bp->btb, pc ^ pc >> 10);
}
