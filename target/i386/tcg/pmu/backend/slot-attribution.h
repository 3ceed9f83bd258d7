/*
 * Slot attribution: it advances the clock and gives each slot its class.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_BACKEND_SLOT_ATTRIBUTION_H
#define TARGET_I386_PMU_BACKEND_SLOT_ATTRIBUTION_H

#include "tcg/pmu/backend/cycle-statistics.h"
#include "tcg/pmu/backend/pipeline-state.h"

/* Advance the clock to the start of @cycle. */
static inline void pmu_slots_advance(PmuPipeline *p, uint64_t cycle,
                                     PmuStallReason reason)
{
    pmu_cycle_stats_advance(p, cycle, reason);
    p->clock.cycle = cycle;
    p->clock.slot = 0;
    p->clock.history = 0;
}

/* Fill the next slot with a micro-op, as @class. */
static inline void pmu_slots_fill(PmuPipeline *p, PmuSlotClass class)
{
    p->clock.counts.item[class]++;
    p->clock.history = p->clock.history << 4 | class;
    if (++p->clock.slot == p->uarch->width) {
        pmu_slots_advance(p, p->clock.cycle + 1, PMU_STALL_ANY);
    }
}

/* Let slots up to the start of @cycle, if that is to come, pass as @class. */
static inline void pmu_slots_attribute(PmuPipeline *p, uint64_t cycle,
                                       PmuSlotClass class,
                                       PmuStallReason reason)
{
    if (cycle > p->clock.cycle) {
        p->clock.counts.item[class] += (cycle - p->clock.cycle) *
                                       p->uarch->width - p->clock.slot;
        pmu_slots_advance(p, cycle, reason);
    }
}

/* Slots up to the start of @until's cycle, to come, are lost to the backend. */
void pmu_slots_backend_bound(PmuPipeline *p, PmuCompletion until);

/* Slots up to the start of cycle @until, to come, are lost to the frontend. */
void pmu_slots_frontend_bound(PmuPipeline *p, uint64_t until);

/*
 * After a flush, the frontend fetches up to the start of cycle @until.  All of
 * that but the last cycle passes here; the next micro-op waits for the last
 * one.  So the flush and the fetch count for the same region of code.
 */
void pmu_slots_refetch(PmuPipeline *p, uint64_t until);

/* Count cycles [@from, @to), in which a serialising instruction held issue. */
void pmu_slots_serialized(PmuPipeline *p, uint64_t from, uint64_t to);

/* The backend takes no micro-op before @until, if that is to come. */
static inline void pmu_slots_wait_for_backend(PmuPipeline *p,
                                              PmuCompletion until)
{
    if (PMU_COMPLETION_CYCLE(until) > p->clock.cycle) {
        pmu_slots_backend_bound(p, until);
    }
}

/* The frontend has no micro-op before cycle @until, if that is to come. */
static inline void pmu_slots_wait_for_frontend(PmuPipeline *p, uint64_t until)
{
    if (until > p->clock.cycle) {
        pmu_slots_frontend_bound(p, until);
    }
}

/* Let the rest of a partly filled cycle pass: the privilege level changes. */
void pmu_slots_close_cycle(PmuPipeline *p);

#endif
