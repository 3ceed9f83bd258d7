/*
 * Ports: which micro-op is dispatched when, and where.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * When the renamer issues a micro-op, it binds it to a port, by how many
 * micro-ops wait at each.  The scheduler dispatches one micro-op a cycle to
 * each port, the oldest that is ready.  Source: Abel and Reineke, "uiCA:
 * Accurate Throughput Prediction of Basic Blocks on Recent Intel
 * Microarchitectures" (ICS 2022).  The renamer does not know yet what will be
 * ready when, so its choice is not always the best.
 */

#ifndef TARGET_I386_PMU_BACKEND_PORTS_H
#define TARGET_I386_PMU_BACKEND_PORTS_H

#include <glib.h>

#include "tcg/pmu/backend/pipeline-state.h"
#include "tcg/pmu/backend/scheduler.h"

/*
 * Cycles before issue whose dispatches the renamer does not see yet: it counts
 * these micro-ops as waiting.  Chosen: tests/accuracy/blocks has a mean error
 * of 2.19 % with 2, and of 2.24 with 1 or 3.
 */
#define PMU_PORT_DISPATCH_SEEN 2

/* By port: the item that counts its micro-ops, less PMU_ITEM_PORT_0. */
extern const uint8_t pmu_port_items[PMU_MAX_PORTS];

/* No port of the core @uarch is in use; @cycle is the clock's current one. */
void pmu_ports_init(PmuPortState *ports, const PmuUarch *uarch,
                    uint64_t cycle);

/* Forget which ports are in use before @cycle. */
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

/* The port of @set at which fewest micro-ops wait; of several, the highest. */
static inline unsigned pmu_ports_bind(const PmuPortState *ports, uint16_t set)
{
    unsigned best = __builtin_ctz(set);

    for (set &= set - 1; set; set &= set - 1) {
        unsigned port = __builtin_ctz(set);

        best = ports->waiting[port] <= ports->waiting[best] ? port : best;
    }
    return best;
}

/* The port of @set free first from @cycle on; of several, the lowest. */
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
 * Bind a micro-op to a port of @set.  It can be dispatched from @earliest on,
 * and its sources are ready at @ready.  Returns the cycle in which it is
 * dispatched; p->ports.port gets its port.  A dispatch beyond the window takes
 * no port.
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

/* The same for a micro-op that enters the scheduler and is counted. */
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

/* Free @port in @cycle again: the micro-op that had it does not exist. */
void pmu_ports_release(PmuPortState *ports, unsigned port, uint64_t cycle);

#endif
