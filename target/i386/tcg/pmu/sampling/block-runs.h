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

/* So many blocks can be counted at a time; others are logged. */
#define PMU_BLOCK_RUNS_MAX 32768

/* Of a block. */
typedef struct PmuBlockRunCount {
    uint32_t times;             /* it ran, and 1; 0: not in use */
    uint32_t slots;             /* PmuCpiEntry.slots, when last revised */
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
    PmuBlockRun *run;
    uint32_t number;            /* of those in the list */
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

/*
 * Instructions and slots that a run of @block takes, which has @count, in units
 * of 1/PMU_CPI_ONE: pmu_timing_progress().
 */
static inline uint64_t pmu_block_run_progress(const PmuBlock *block,
                                              const PmuBlockRunCount *count)
{
    return ((uint64_t)block->num_insns << PMU_CPI_SHIFT) + count->slots;
}

#endif
