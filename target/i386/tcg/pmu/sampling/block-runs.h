/*
 * How often blocks ran, where that says all or nearly all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where all that is to be known of a region of code is what it costs, and a
 * block is all of the region, the number of its runs says it all, in whatever
 * order they were.  Each vCPU has an array of such numbers, which translated
 * code writes, or the model; and a list of those in use, with what they stand
 * for.
 */

#ifndef TARGET_I386_PMU_SAMPLING_BLOCK_RUNS_H
#define TARGET_I386_PMU_SAMPLING_BLOCK_RUNS_H

#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/sampling/cpi-table.h"
#include "tcg/pmu/ledger/ledger.h"

/*
 * What translated code counts down, in one number: the progress that may still
 * be made (pmu_timing_progress()), and in the lowest bits the instructions that
 * ran meanwhile.  It is negative when too much progress was made.
 */
#define PMU_LEFT_INSN_BITS  24
#define PMU_LEFT_INSNS      ((1 << PMU_LEFT_INSN_BITS) - 1)
/* With more, instructions could overflow: each is PMU_CPI_ONE at least. */
#define PMU_LEFT_MAX        (1ull << (PMU_LEFT_INSN_BITS + PMU_CPI_SHIFT - 1))

static inline int64_t pmu_left_progress(int64_t left)
{
    return left >> PMU_LEFT_INSN_BITS;
}

/* So many blocks can be counted at a time; others are logged. */
#define PMU_BLOCK_RUNS_MAX 32768

/* Of a block. */
typedef struct PmuBlockRunCount {
    int64_t cost;               /* a run takes it off what is left */
    uint32_t times;             /* it ran, and 1; 0: not in use */
} PmuBlockRunCount;

typedef struct PmuBlockRun {
    const PmuBlock *block;      /* gone, maybe, once all was collected */
    PmuCpiEntry *cost;          /* its own, or the mean that stands in for it */
    uint64_t key;               /* of its own */
    PmuBlockRunCount *count;
} PmuBlockRun;

typedef struct PmuBlockRuns {
    /* By PmuBlock.number; that of PMU_BLOCK_NUMBERS is never in use. */
    PmuBlockRunCount *count;
    PmuBlockRun *run;           /* those of low confidence are the first */
    uint32_t number;            /* of those in the list */
    uint32_t low_confidence;    /* ... and of these */
} PmuBlockRuns;

/* An empty list.  False if memory runs out. */
bool pmu_block_runs_init(PmuBlockRuns *runs);
void pmu_block_runs_destroy(PmuBlockRuns *runs);

/*
 * Runs of @block are counted from now on: it has a number which is not in use,
 * and is a region of its own that has @cost.  False if the list is full.
 */
bool pmu_block_runs_add(PmuBlockRuns *runs, const PmuBlock *block,
                        PmuCpiEntry *cost);

/* No number is in use any more.  What was not collected is lost. */
void pmu_block_runs_clear(PmuBlockRuns *runs);

/*
 * More has been learnt: let go of blocks whose costs are not their own or were
 * replaced, of those whose costs are of low confidence unless
 * @low_confidence_too, and of all if the list is full.  All was collected.
 */
void pmu_block_runs_revise(PmuBlockRuns *runs, bool low_confidence_too);

/* Enter what was counted so far into @ledger and @table. */
void pmu_block_runs_collect(PmuBlockRuns *runs, PmuCpiTable *table,
                            PmuLedger *ledger);

/* The same for blocks of low confidence alone: they are few. */
void pmu_block_runs_collect_low_confidence(PmuBlockRuns *runs,
                                           PmuCpiTable *table,
                                           PmuLedger *ledger);

/*
 * Instructions, less than 1 << PMU_LEFT_INSN_BITS, and progress of runs that
 * cost @cost in all.
 */
static inline uint32_t pmu_cost_insns(int64_t cost)
{
    return -cost & PMU_LEFT_INSNS;
}

static inline uint64_t pmu_cost_progress(int64_t cost)
{
    return pmu_left_progress(cost + PMU_LEFT_INSNS);
}

#endif
