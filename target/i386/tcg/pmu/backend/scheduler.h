/*
 * The scheduler: micro-ops that wait to be dispatched.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_BACKEND_SCHEDULER_H
#define TARGET_I386_PMU_BACKEND_SCHEDULER_H

#include <glib.h>

#include "tcg/pmu/backend/pipeline-state.h"

/* A micro-op enters the scheduler and stays there until @cycle. */
static inline void pmu_scheduler_enter(PmuPipeline *p, uint64_t cycle)
{
    if (cycle < p->clock.cycle + PMU_CYCLE_WINDOW) {
        p->scheduler.dispatches[cycle % PMU_CYCLE_WINDOW]++;
    } else if (G_LIKELY(p->scheduler.num_late < PMU_MAX_LATE_DISPATCHES)) {
        p->scheduler.late[p->scheduler.num_late++] = cycle;
        p->clock.window_due = MIN(p->clock.window_due,
                                  p->clock.cycle + PMU_CYCLE_WINDOW_STEP);
    } else {
        /* More than a scheduler holds, which is impossible: leave it out. */
        p->repairs++;
        return;
    }
    p->scheduler.occupied++;
}

/* Remove the newest micro-op, due to leave in @cycle, unless it has left. */
void pmu_scheduler_remove(PmuPipeline *p, uint64_t cycle);

/*
 * The first cycle in which the scheduler has room for @n more micro-ops, as
 * enough others have left it.
 */
uint64_t pmu_scheduler_free_at(PmuPipeline *p, uint32_t n);

/*
 * The clock has advanced: note in the window the dispatches that used to lie
 * beyond it and no longer do.  Returns whether others still lie beyond it.
 */
bool pmu_scheduler_bring_near(PmuPipeline *p);

#endif
