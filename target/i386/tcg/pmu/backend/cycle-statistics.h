/*
 * Statistics of each cycle: how many micro-ops it issued, dispatched and
 * retired, and what loads waited for in it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The pipeline knows in advance in which cycles micro-ops are dispatched and
 * retired, and in which lines arrive.  It notes that by cycle, and counts it
 * when the clock leaves the cycle.  Of all this, the timing depends only on
 * when the scheduler has room.
 */

#ifndef TARGET_I386_PMU_BACKEND_CYCLE_STATISTICS_H
#define TARGET_I386_PMU_BACKEND_CYCLE_STATISTICS_H

#include "tcg/pmu/backend/pipeline-state.h"

/*
 * The clock is about to advance to @cycle, which is later than p->clock.cycle.
 * Count the cycles before @cycle; in the first, p->clock.slot slots issued.
 * Micro-ops dispatched in these cycles leave the scheduler.
 */
void pmu_cycle_stats_advance(PmuPipeline *p, uint64_t cycle,
                             PmuStallReason reason);

#endif
