/*
 * Blocks whose runs are counted, as what they cost is known.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The model counts them itself where caches and predictors see what runs, and
 * translated code does where they do not: see timing-run.h.
 */

#ifndef TARGET_I386_PMU_SAMPLING_COUNTED_BLOCKS_H
#define TARGET_I386_PMU_SAMPLING_COUNTED_BLOCKS_H

#include "tcg/pmu/sampling/timing-state.h"

/*
 * The record behind @record, and none behind @end.  The block of that one and
 * what is known of that of @record are on their way from the host's memory:
 * there are too many for its caches.
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

/* What ran as @record says, before what is at @target. */
static inline PmuExecution pmu_record_execution(const PmuRecord *record,
                                                uint64_t target)
{
    return (PmuExecution) {
        .addr = record->addr, .pc = record->pc, .target = target,
        .taken = target != pmu_block_end(record->block, record->pc),
    };
}

/*
 * What @block costs, a region of its own, or what stands in for that; forward,
 * few samples will do.  NULL: that is not known.
 */
PmuCpiEntry *pmu_timing_cost_of_block(const PmuTiming *t,
                                      const PmuBlock *block);

/*
 * All of @block ran.  If nothing but data and branches are looked at, and what
 * it costs is well known, its run is counted.  False: it is another one.
 */
bool pmu_timing_run_counted_block(PmuTiming *t, const PmuBlock *block,
                                  const PmuExecution *dynamic);

/*
 * Blocks ran as the records from @record up to @end say, and then what is at
 * @next_pc.  Takes those whose runs are counted already, up to the first that
 * is another one or to the end of the phase; returns what is left.
 */
const PmuRecord *pmu_timing_run_counted_blocks(PmuTiming *t,
                                               const PmuRecord *record,
                                               const PmuRecord *end,
                                               uint64_t next_pc);

#endif
