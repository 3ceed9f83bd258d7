/*
 * Counts how often blocks ran, where the model needs no or little more of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * If a block is a whole region of code, and its cost is all that matters of it,
 * the number of its runs is enough, whatever their order.  Each vCPU has an
 * array of such counts, which translated code or the model writes, and a list
 * of those in use, with the block and the cost that each is for.
 */

#ifndef TARGET_I386_PMU_SAMPLING_BLOCK_RUNS_H
#define TARGET_I386_PMU_SAMPLING_BLOCK_RUNS_H

#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/sampling/cpi-table.h"
#include "tcg/pmu/ledger/ledger.h"

/*
 * Translated code counts down one number, X86PMUState.left.  The lowest
 * PMU_LEFT_INSN_BITS of it are the instructions that ran meanwhile.  The other
 * bits are the progress that may still be made (pmu_timing_progress()), in
 * 1/PMU_CPI_ONE.  They are negative when too much progress was made.
 */
#define PMU_LEFT_INSN_BITS  24
#define PMU_LEFT_INSNS      ((1 << PMU_LEFT_INSN_BITS) - 1)
/*
 * The most progress that may be left.  With more, the instructions could
 * overflow: each makes a progress of PMU_CPI_ONE or more.
 */
#define PMU_LEFT_MAX        (1ull << (PMU_LEFT_INSN_BITS + PMU_CPI_SHIFT - 1))

/* The progress in @left, which may be negative. */
static inline int64_t pmu_left_progress(int64_t left)
{
    return left >> PMU_LEFT_INSN_BITS;
}

/* Blocks that can be counted at a time; others are logged. */
#define PMU_BLOCK_RUNS_MAX 32768

/* The count of a block's runs.  Translated code adds to @times. */
typedef struct PmuBlockRunCount {
    int64_t cost;               /* each run subtracts it from what is left */
    uint32_t times;             /* 1 + runs not collected; 0: not in use */
} PmuBlockRunCount;

/* A count that is in use, and what it is for. */
typedef struct PmuBlockRun {
    const PmuBlock *block;      /* may be freed once all was collected */
    PmuCpiEntry *cost;          /* the block's, or the mean that replaces it */
    uint64_t key;               /* of the block's own cost */
    PmuBlockRunCount *count;
} PmuBlockRun;

typedef struct PmuBlockRuns {
    /* By PmuBlock.number; that of PMU_BLOCK_NUMBERS is never in use. */
    PmuBlockRunCount *count;
    PmuBlockRun *run;           /* the list; costs of low confidence first */
    uint32_t number;            /* of entries in the list */
    uint32_t low_confidence;    /* ... whose costs are of low confidence */
} PmuBlockRuns;

/* Make @runs an empty list.  Returns false if memory runs out. */
bool pmu_block_runs_init(PmuBlockRuns *runs);
void pmu_block_runs_destroy(PmuBlockRuns *runs);

/*
 * Count runs of @block from now on.  Its number must not be in use, and it must
 * be a region of its own, which has @cost.  Returns false if the list is full.
 */
bool pmu_block_runs_add(PmuBlockRuns *runs, const PmuBlock *block,
                        PmuCpiEntry *cost);

/* Empty the list.  Runs that were not collected are lost. */
void pmu_block_runs_clear(PmuBlockRuns *runs);

/*
 * The CPI table has learnt.  Take blocks off the list whose costs are not their
 * own or were replaced, and unless @low_confidence_too those whose costs are of
 * low confidence; all if the list is full.  The caller has collected all runs.
 */
void pmu_block_runs_revise(PmuBlockRuns *runs, bool low_confidence_too);

/* Enter the runs that were counted so far into @ledger and @table. */
void pmu_block_runs_collect(PmuBlockRuns *runs, PmuCpiTable *table,
                            PmuLedger *ledger);

/* The same only for blocks whose costs are of low confidence, which are few. */
void pmu_block_runs_collect_low_confidence(PmuBlockRuns *runs,
                                           PmuCpiTable *table,
                                           PmuLedger *ledger);

/*
 * Instructions of runs whose sum of PmuBlockRunCount.cost is @cost.  There must
 * be less than 1 << PMU_LEFT_INSN_BITS of them.
 */
static inline uint32_t pmu_cost_insns(int64_t cost)
{
    return -cost & PMU_LEFT_INSNS;
}

/* Their progress, in 1/PMU_CPI_ONE. */
static inline uint64_t pmu_cost_progress(int64_t cost)
{
    return pmu_left_progress(cost + PMU_LEFT_INSNS);
}

#endif
