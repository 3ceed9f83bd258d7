/*
 * What each cycle was like: how much was dispatched and retired in it, and what
 * was waited for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A part of the pipeline.  The pipeline knows in advance in which cycles
 * micro-ops are dispatched and retired and lines arrive.  That is noted here by
 * cycle, and counted when the clock leaves the cycle.  Nothing of it takes part
 * in the timing but when the scheduler has room.
 */

#ifndef TARGET_I386_PMU_BACKEND_CYCLE_STATISTICS_H
#define TARGET_I386_PMU_BACKEND_CYCLE_STATISTICS_H

#include "tcg/pmu/backend/pipeline-state.h"

/*
 * The clock goes on to @cycle, above p->clock.cycle: count the cycles before
 * it, in the first of which p->clock.slot slots were issued, and let micro-ops
 * dispatched in them leave the scheduler.
 */
void pmu_cycle_stats_leave(PmuPipeline *p, uint64_t cycle,
                           PmuStallReason reason);

#endif
