/*
 * Transitions of the pipeline that are known already.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.  The pipeline goes from state to state with the
 * blocks that run; the same block from the same state with the same outcome
 * leads to the same state and costs the same.  So each such transition is
 * computed once and then only counted (Schnarr and Larus, "Fast out-of-order
 * processor simulation using memoization", ASPLOS 1998).  Nothing is rounded
 * or assumed: with and without this the ledger is the same.
 */

#ifndef TARGET_I386_PMU_MEMO_H
#define TARGET_I386_PMU_MEMO_H

#include "state.h"

/* @amount more of @item, for each time. */
typedef struct PmuTransitionItem {
    uint16_t item;              /* PmuLedgerItem: a slot class or an event */
    uint16_t amount;
} PmuTransitionItem;

typedef struct PmuTransition PmuTransition;

struct PmuTransition {
    const PmuBlock *block;
    const PmuState *from;
    uint64_t signature;         /* of the outcome */
    PmuState *to;
    uint32_t cycles;            /* that the clock moves on */
    uint32_t progress;          /* slots that it moves on, and instructions */
    uint32_t count;             /* how often, since it was folded last */
    uint16_t num_items;
    uint16_t level;             /* PmuLevel */
    PmuTransition *next;        /* that is to be folded */
    PmuTransitionItem items[];
};

typedef struct PmuMemo PmuMemo;

/* Knows nothing; NULL if memory runs out. */
PmuMemo *pmu_memo_new(void);
void pmu_memo_free(PmuMemo *memo);

/* The state that @p is in; NULL if it is not worth to be remembered. */
PmuState *pmu_memo_state(PmuMemo *memo, PmuPipeline *p);

/* The transition from @from by @block with @signature, or NULL. */
PmuTransition *pmu_memo_find(PmuMemo *memo, const PmuBlock *block,
                             const PmuState *from, uint64_t signature);

/*
 * Remember that it leads to @to and adds @delta, moving the clock @cycles
 * cycles and @slots slots on.  Nothing is remembered if it adds too much.
 */
void pmu_memo_add(PmuMemo *memo, const PmuBlock *block, const PmuState *from,
                  uint64_t signature, PmuState *to, const PmuDelta *delta,
                  uint64_t cycles, uint64_t slots);

/*
 * Is there too much to be remembered?  Then all must be folded and
 * pmu_memo_clear() be called, after which no state is valid any more.
 */
bool pmu_memo_full(const PmuMemo *memo);
void pmu_memo_clear(PmuMemo *memo);

/* It happened once more. */
void pmu_memo_count_first(PmuMemo *memo, PmuTransition *transition);

static inline void pmu_memo_count(PmuMemo *memo, PmuTransition *transition)
{
    if (__builtin_expect(!transition->count++, 0)) {
        pmu_memo_count_first(memo, transition);
    }
}

/* Enter into @ledger what was counted since the last time. */
void pmu_memo_fold(PmuMemo *memo, PmuLedger *ledger);

/* For reports: how many states and transitions are known, and their bytes. */
void pmu_memo_stats(const PmuMemo *memo, size_t *states, size_t *transitions,
                    size_t *bytes);

#endif
