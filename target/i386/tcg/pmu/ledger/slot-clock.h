/*
 * The clock of the timing model, and the counters that it carries.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory, frontend and backend share one clock and its counters.  The pipeline
 * advances it.
 */

#ifndef TARGET_I386_PMU_LEDGER_SLOT_CLOCK_H
#define TARGET_I386_PMU_LEDGER_SLOT_CLOCK_H

#include <stdint.h>

#include "tcg/pmu/ledger/ledger.h"

/*
 * Counters of the pipeline: first those of PmuSlotClass, then those of ledger
 * items from PMU_ITEM_SAMPLED on.
 */
typedef enum PmuPipelineCount {
    PMU_PIPELINE_COUNT_UOPS_ISSUED = PMU_SLOT_NR,
    PMU_PIPELINE_COUNT_NR = PMU_SLOT_NR + PMU_ITEM_TIMED_END - PMU_ITEM_SAMPLED,
    /* Counters in a group; a loop can skip a group that is all 0. */
    PMU_PIPELINE_COUNT_GROUP = 8,
    /* Counters in whole groups. */
    PMU_PIPELINE_COUNT_SPACE =
        (PMU_PIPELINE_COUNT_NR + PMU_PIPELINE_COUNT_GROUP - 1) /
        PMU_PIPELINE_COUNT_GROUP * PMU_PIPELINE_COUNT_GROUP
} PmuPipelineCount;

/* The counter of ledger item @item. */
#define PMU_PIPELINE_COUNT(item) ((item) - PMU_ITEM_SAMPLED + PMU_SLOT_NR)

/*
 * The values of the counters for a run of instructions.  Cycles are counted
 * when the clock leaves them; requests when they begin, with all the cycles
 * that they take.
 */
typedef struct PmuPipelineCounts {
    uint32_t item[PMU_PIPELINE_COUNT_SPACE];
} PmuPipelineCounts;

/* The window: cycles from the clock's on for which rings have an entry each. */
#define PMU_CYCLE_WINDOW 1024

/* Cycles after which what was beyond the window is entered into the rings. */
#define PMU_CYCLE_WINDOW_STEP (PMU_CYCLE_WINDOW / 2)

/* The first cycle of the clock: not 0, so that earlier events have a time. */
#define PMU_FIRST_CYCLE 1024

/*
 * The clock.  All times are its cycles.  All times before the current cycle
 * mean the same.
 */
typedef struct PmuClock {
    uint64_t cycle;             /* of the next slot to be filled */
    uint32_t slot;              /* number of that slot in its cycle */
    uint64_t history;           /* as PmuOpenCycle.history, of this cycle */
    uint64_t window_due;        /* cycle by which to enter what is beyond the
                                   window; UINT64_MAX: nothing is */
    PmuPipelineCounts counts;   /* since the owner cleared them */
} PmuClock;

/* The counter of ledger item @item, from PMU_ITEM_SAMPLED on. */
static inline uint32_t *pmu_count(PmuClock *clock, PmuLedgerItem item)
{
    return &clock->counts.item[PMU_PIPELINE_COUNT(item)];
}

/* Add a cycle with @n of something to its histogram, items @first to @last. */
static inline void pmu_count_bin(PmuClock *clock, PmuLedgerItem first,
                                 PmuLedgerItem last, uint32_t n)
{
    uint32_t most = last - first;

    ++*pmu_count(clock, first + (n < most ? n : most));
}

#endif
