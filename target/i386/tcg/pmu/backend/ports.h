/*
 * Ports: which micro-op is dispatched when.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_BACKEND_PORTS_H
#define TARGET_I386_PMU_BACKEND_PORTS_H

#include <glib.h>

#include "tcg/pmu/backend/pipeline-state.h"
#include "tcg/pmu/backend/scheduler.h"

/* Which ports there are, from @uarch, which is that of @p. */
void pmu_ports_init(PmuPortSets *sets, const PmuUarch *uarch);

/*
 * A micro-op for any of @ports, that can be dispatched at @earliest and whose
 * sources are ready at @ready: when it is dispatched.  Room is used up on the
 * issue clock, so that one that waits for its sources does not keep later ones
 * from the ports.
 */
static inline uint64_t pmu_ports_use(PmuPipeline *p, uint16_t ports,
                                     uint64_t earliest, uint64_t ready)
{
    uint64_t from = earliest * PMU_PORT_UNIT, turn = from;

    for (uint32_t sets = p->ports.sets.with[ports]; sets; sets &= sets - 1) {
        unsigned i = __builtin_ctz(sets);
        uint64_t free = MAX(from, p->ports.taken[i]);

        turn = MAX(turn, free);
        p->ports.taken[i] = free + p->ports.sets.share[i];
    }
    if (turn >= from + PMU_PORT_UNIT) {
        earliest = turn / PMU_PORT_UNIT;
    }
    return MAX(ready, earliest);
}

/*
 * Count a micro-op for any of @ports that could be dispatched at @earliest as
 * one of the port that is free first.
 */
static inline unsigned pmu_ports_count(PmuPipeline *p, uint16_t ports,
                                       uint64_t earliest)
{
    unsigned items = p->ports.sets.items[ports], best = __builtin_ctz(items);

    if (items & (items - 1)) {
        for (items &= items - 1; items; items &= items - 1) {
            unsigned i = __builtin_ctz(items);

            best = p->ports.busy[i] < p->ports.busy[best] ? i : best;
        }
        p->ports.busy[best] = MAX(p->ports.busy[best], earliest) + 1;
    } else {
        p->ports.busy[best]++;
    }
    ++*pmu_count(&p->clock, PMU_ITEM_PORT_0 + best);
    return best;
}

/* Of @ports the one that has been least busy, for reports. */
unsigned pmu_ports_idle(const PmuPipeline *p, uint16_t ports);

/* Dispatch a micro-op: see pmu_ports_use(). */
static inline uint64_t pmu_ports_dispatch(PmuPipeline *p, uint16_t ports,
                                          uint64_t earliest, uint64_t ready)
{
    uint64_t cycle = pmu_ports_use(p, ports, earliest, ready);

    pmu_scheduler_enter(p, cycle);
    p->ports.item = pmu_ports_count(p, ports, earliest);
    if (G_UNLIKELY(p->ports.report)) {
        p->stages.dispatched = MIN(p->stages.dispatched, cycle);
        p->ports.dispatched[pmu_ports_idle(p, ports)]++;
    }
    return cycle;
}

/* The newest micro-op, which used @ports, does not exist. */
void pmu_ports_release(PmuPipeline *p, uint16_t ports);

#endif
