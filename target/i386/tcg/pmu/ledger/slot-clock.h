/*
 * The model's clock, and what is counted as it advances.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory, frontend and backend share it: they know one time, and count what is
 * known when that passes.  The pipeline moves it.
 */

#ifndef TARGET_I386_PMU_LEDGER_SLOT_CLOCK_H
#define TARGET_I386_PMU_LEDGER_SLOT_CLOCK_H

#include <stdint.h>

#include "tcg/pmu/ledger/ledger.h"

/*
 * What only the pipeline can tell: the first ones are PmuSlotClass, the others
 * ledger items from PMU_ITEM_SAMPLED on.
 */
typedef enum PmuPipelineCount {
    PMU_PIPELINE_COUNT_UOPS_ISSUED = PMU_SLOT_NR,
    PMU_PIPELINE_COUNT_NR = PMU_SLOT_NR + PMU_ITEM_TIMED_END - PMU_ITEM_SAMPLED,
    /* ... in whole groups, so that empty ones can be skipped. */
    PMU_PIPELINE_COUNT_GROUP = 8,
    PMU_PIPELINE_COUNT_SPACE =
        (PMU_PIPELINE_COUNT_NR + PMU_PIPELINE_COUNT_GROUP - 1) /
        PMU_PIPELINE_COUNT_GROUP * PMU_PIPELINE_COUNT_GROUP
} PmuPipelineCount;

/* That of ledger item @item. */
#define PMU_PIPELINE_COUNT(item) ((item) - PMU_ITEM_SAMPLED + PMU_SLOT_NR)

/*
 * How much of that a run of instructions took.  Cycles are counted when the
 * clock leaves them; requests when they begin, with all the cycles they take.
 */
typedef struct PmuPipelineCounts {
    uint32_t item[PMU_PIPELINE_COUNT_SPACE];
} PmuPipelineCounts;

/* Cycles from the clock on that are known one by one. */
#define PMU_CYCLE_WINDOW 1024

/* What is beyond the window is looked at so often, in cycles. */
#define PMU_CYCLE_WINDOW_STEP (PMU_CYCLE_WINDOW / 2)

/* The clock begins here, so that what came before has a time as well. */
#define PMU_FIRST_CYCLE 1024

/* All times are of this clock; a time that is over is as good as any other. */
typedef struct PmuClock {
    uint64_t cycle;             /* of the next slot to be filled */
    uint32_t slot;              /* ... its number in that */
    uint64_t history;           /* PmuSlotClass of the open cycle's slots */
    uint64_t window_due;        /* what is beyond the window is looked at by
                                   this cycle */
    PmuPipelineCounts counts;   /* since the owner cleared them */
} PmuClock;

/* The counter of ledger item @item, from PMU_ITEM_SAMPLED on. */
static inline uint32_t *pmu_count(PmuClock *clock, PmuLedgerItem item)
{
    return &clock->counts.item[PMU_PIPELINE_COUNT(item)];
}

/* One more cycle with @n of what histogram @first, up to @last, is of. */
static inline void pmu_count_bin(PmuClock *clock, PmuLedgerItem first,
                                 PmuLedgerItem last, uint32_t n)
{
    uint32_t most = last - first;

    ++*pmu_count(clock, first + (n < most ? n : most));
}

#endif
