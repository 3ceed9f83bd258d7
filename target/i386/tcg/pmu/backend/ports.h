/*
 * Ports: which micro-op is dispatched when, and where.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The renamer binds a micro-op to a port as it issues it, by how many
 * micro-ops wait at each; from there the scheduler dispatches one a cycle, the
 * oldest that is ready.  Source: Abel and Reineke, "uiCA: Accurate Throughput
 * Prediction of Basic Blocks on Recent Intel Microarchitectures" (ICS 2022).
 * As it is not known then what will be ready when, the choice can be worse than
 * the best one.
 */

#ifndef TARGET_I386_PMU_BACKEND_PORTS_H
#define TARGET_I386_PMU_BACKEND_PORTS_H

#include <glib.h>

#include "tcg/pmu/backend/pipeline-state.h"
#include "tcg/pmu/backend/scheduler.h"

/*
 * The renamer does not see the dispatches of so many cycles before it issues,
 * and takes these micro-ops for waiting.  Chosen: tests/accuracy/blocks has a
 * mean error of 2.19 % with 2, and of 2.24 with 1 or 3.
 */
#define PMU_PORT_DISPATCH_SEEN 2

/* By port: the item from PMU_ITEM_PORT_0 on that counts its micro-ops. */
extern const uint8_t pmu_port_items[PMU_MAX_PORTS];

/* No port is in use on the core of @uarch; @cycle is the clock's. */
void pmu_ports_init(PmuPortState *ports, const PmuUarch *uarch,
                    uint64_t cycle);

/* Cycles before @cycle have gone. */
void pmu_ports_forget(PmuPortState *ports, uint64_t cycle);

/* The first cycle from @cycle on in which @port is not in use. */
static inline uint64_t pmu_port_free_at(const PmuPortState *ports,
                                        unsigned port, uint64_t cycle)
{
    cycle = MAX(cycle, ports->begin);
    while (cycle < ports->begin + PMU_CYCLE_WINDOW &&
           ports->taken[cycle % PMU_CYCLE_WINDOW] >> port & 1) {
        cycle++;
    }
    return cycle;
}

/* Of @set the port at which fewest micro-ops wait: of these, the last. */
static inline unsigned pmu_ports_bind(const PmuPortState *ports, uint16_t set)
{
    unsigned best = __builtin_ctz(set);

    for (set &= set - 1; set; set &= set - 1) {
        unsigned port = __builtin_ctz(set);

        best = ports->waiting[port] <= ports->waiting[best] ? port : best;
    }
    return best;
}

/* Of @set the port that is free first from @cycle on: of these, the first. */
static inline unsigned pmu_ports_first_free(const PmuPortState *ports,
                                            uint16_t set, uint64_t cycle)
{
    unsigned best = __builtin_ctz(set);
    uint64_t first = pmu_port_free_at(ports, best, cycle);

    for (set &= set - 1; set && first > cycle; set &= set - 1) {
        unsigned port = __builtin_ctz(set);
        uint64_t free = pmu_port_free_at(ports, port, cycle);

        best = free < first ? port : best;
        first = MIN(first, free);
    }
    return best;
}

/*
 * A micro-op for any of @set, that can be dispatched at @earliest and whose
 * sources are ready at @ready: when it is dispatched, to the port @port of the
 * state.  One for beyond the window takes no room.
 */
static inline uint64_t pmu_ports_use(PmuPipeline *p, uint16_t set,
                                     uint64_t earliest, uint64_t ready)
{
    PmuPortState *ports = &p->ports;
    uint64_t from = MAX(earliest, ready), cycle;
    unsigned port;

    if (ports->begin < p->clock.cycle - PMU_PORT_DISPATCH_SEEN) {
        pmu_ports_forget(ports, p->clock.cycle - PMU_PORT_DISPATCH_SEEN);
    }
    port = set & ports->memory ? pmu_ports_first_free(ports, set, from)
                               : pmu_ports_bind(ports, set);
    cycle = pmu_port_free_at(ports, port, from);
    if (cycle < ports->begin + PMU_CYCLE_WINDOW) {
        ports->taken[cycle % PMU_CYCLE_WINDOW] |= 1u << port;
        ports->waiting[port]++;
    }
    ports->port = port;
    return cycle;
}

/* Dispatch a micro-op: see pmu_ports_use(). */
static inline uint64_t pmu_ports_dispatch(PmuPipeline *p, uint16_t set,
                                          uint64_t earliest, uint64_t ready)
{
    uint64_t cycle = pmu_ports_use(p, set, earliest, ready);

    pmu_scheduler_enter(p, cycle);
    ++*pmu_count(&p->clock, PMU_ITEM_PORT_0 + pmu_port_items[p->ports.port]);
    if (G_UNLIKELY(p->ports.report)) {
        p->stages.dispatched = MIN(p->stages.dispatched, cycle);
        p->ports.dispatched[p->ports.port]++;
    }
    return cycle;
}

/* A micro-op that @port had in @cycle does not exist. */
void pmu_ports_release(PmuPortState *ports, unsigned port, uint64_t cycle);

#endif
