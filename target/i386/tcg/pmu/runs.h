/*
 * How often blocks ran, where translated code counts that itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: plain C.  Where all that is to be known of a
 * stretch of code is what it costs, and a block is all of the stretch, the
 * number of its runs says it all, in whatever order they were.  Each vCPU has
 * an array of such numbers, which translated code writes; this is the list of
 * those in use, with what they stand for.
 */

#ifndef TARGET_I386_PMU_RUNS_H
#define TARGET_I386_PMU_RUNS_H

#include "block.h"
#include "costs.h"
#include "ledger.h"

/* So many blocks can be counted at a time; others are logged. */
#define PMU_RUNS_MOST   32768

typedef struct PmuRun {
    const PmuBlock *block;
    PmuCost *cost;              /* of the stretch that it is */
    uint64_t key;               /* of that */
    uint32_t *times;            /* it ran, and 1 */
} PmuRun;

typedef struct PmuRuns {
    PmuRun *run;
    uint32_t number;            /* of those in the list */
} PmuRuns;

/* An empty list.  False if memory runs out. */
bool pmu_runs_init(PmuRuns *runs);
void pmu_runs_destroy(PmuRuns *runs);

/*
 * @times is how often @block, a stretch of its own that has @cost under @key,
 * runs from now on, and 1: 0 is a number that is not in use.  False if the list
 * is full.
 */
bool pmu_runs_add(PmuRuns *runs, const PmuBlock *block, PmuCost *cost,
                  uint64_t key, uint32_t *times);

/* No number is in use any more.  What was not collected is lost. */
void pmu_runs_clear(PmuRuns *runs);

/*
 * More has been learnt: let go of blocks whose costs were replaced, and of all
 * if the list is full.  All was collected.
 */
void pmu_runs_revise(PmuRuns *runs);

/*
 * Enter what was counted so far into @ledger and @costs.  Returns by how much
 * that moves pmu_timing_progress(), in units of 1/PMU_COST_ONE.
 */
uint64_t pmu_runs_collect(PmuRuns *runs, PmuCosts *costs, PmuLedger *ledger);

#endif
