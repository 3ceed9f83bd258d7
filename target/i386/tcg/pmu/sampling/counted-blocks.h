/*
 * Counted blocks: those of known cost, of which only the runs are counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * In functional warming, where caches and predictors see what runs, the model
 * counts the runs.  In fast-forward translated code does: see timing-run.h.
 */

#ifndef TARGET_I386_PMU_SAMPLING_COUNTED_BLOCKS_H
#define TARGET_I386_PMU_SAMPLING_COUNTED_BLOCKS_H

#include "tcg/pmu/sampling/timing-state.h"

/*
 * Returns the record behind @record, or @end if there is none.  Prefetches the
 * block of that record, and the count of runs of @record's block: there are too
 * many for the host's caches.
 */
static inline const PmuRecord *pmu_timing_next_record(const PmuTiming *t,
                                                      const PmuRecord *record,
                                                      const PmuRecord *end)
{
    const PmuRecord *next;

    if (record == end) {
        return end;
    }
    __builtin_prefetch(&t->runs.count[record->block->number]);
    next = (const PmuRecord *)(record->addr + record->block->num_accesses);
    if (next != end) {
        __builtin_prefetch(next->block);
    }
    return next;
}

/* Returns how the block of @record ran; execution went on at @target then. */
static inline PmuExecution pmu_record_execution(const PmuRecord *record,
                                                uint64_t target)
{
    return (PmuExecution) {
        .addr = record->addr, .pc = record->pc, .target = target,
        .taken = target != pmu_block_end(record->block, record->pc),
    };
}

/*
 * Returns the cost of @block, a region of its own, or a cost that stands in for
 * it; NULL if there is none.  In fast-forward a cost of few samples is enough.
 */
PmuCpiEntry *pmu_timing_cost_of_block(const PmuTiming *t,
                                      const PmuBlock *block);

/*
 * All of @block ran.  Count the run in functional warming, if the block is a
 * region of its own whose cost is well known.  Returns whether it did.
 */
bool pmu_timing_run_counted_block(PmuTiming *t, const PmuBlock *block,
                                  const PmuExecution *dynamic);

/*
 * Blocks ran as the records from @record up to @end say, and execution went on
 * at @next_pc.  Count runs of blocks that are counted already, up to the first
 * other block or to the end of the phase.  Returns the first record left.
 */
const PmuRecord *pmu_timing_run_counted_blocks(PmuTiming *t,
                                               const PmuRecord *record,
                                               const PmuRecord *end,
                                               uint64_t next_pc);

#endif
