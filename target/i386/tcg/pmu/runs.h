/*
 * How often blocks ran, where that says all or nearly all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: plain C.  Where all that is to be known of a
 * stretch of code is what it costs, and a block is all of the stretch, the
 * number of its runs says it all, in whatever order they were.  Each vCPU has
 * an array of such numbers, which translated code writes, or the model; and a
 * list of those in use, with what they stand for.
 */

#ifndef TARGET_I386_PMU_RUNS_H
#define TARGET_I386_PMU_RUNS_H

#include "block.h"
#include "costs.h"
#include "ledger.h"

/* So many blocks can be counted at a time; others are logged. */
#define PMU_RUNS_MOST   32768

/* Of a block. */
typedef struct PmuRunCount {
    uint32_t times;             /* it ran, and 1; 0: not in use */
    uint32_t slots;             /* PmuCost.slots, when last revised */
} PmuRunCount;

typedef struct PmuRun {
    const PmuBlock *block;
    PmuCost *cost;              /* of the stretch that it is */
    uint64_t key;               /* of that */
    PmuRunCount *count;
} PmuRun;

typedef struct PmuRuns {
    /* By PmuBlock.number; that of PMU_BLOCK_NUMBERS is never in use. */
    PmuRunCount *count;
    PmuRun *run;
    uint32_t number;            /* of those in the list */
} PmuRuns;

/* An empty list.  False if memory runs out. */
bool pmu_runs_init(PmuRuns *runs);
void pmu_runs_destroy(PmuRuns *runs);

/*
 * Runs of @block are counted from now on: it has a number which is not in use,
 * and is a stretch of its own that has @cost under @key.  False if the list is
 * full.
 */
bool pmu_runs_add(PmuRuns *runs, const PmuBlock *block, PmuCost *cost,
                  uint64_t key);

/* No number is in use any more.  What was not collected is lost. */
void pmu_runs_clear(PmuRuns *runs);

/*
 * More has been learnt: let go of blocks whose costs were replaced, of those
 * whose costs are weak unless @weak_too, and of all if the list is full.  All
 * was collected.
 */
void pmu_runs_revise(PmuRuns *runs, bool weak_too);

/*
 * Enter what was counted so far into @ledger and @costs.  Returns instructions
 * and slots that it took, in units of 1/PMU_COST_ONE: pmu_timing_progress().
 */
uint64_t pmu_runs_collect(PmuRuns *runs, PmuCosts *costs, PmuLedger *ledger);

#endif
