/*
 * The stages of the pipeline to each other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: private to pipeline.c, slots.c, ports.c and
 * access.c.  What most instructions need is inline.
 */

#ifndef TARGET_I386_PMU_STAGES_H
#define TARGET_I386_PMU_STAGES_H

#include "cycles.h"
#include "pipeline.h"

/* The clock and its slots: slots.c. */

/* The clock moves on to the start of @cycle. */
static inline void pmu_slots_advance(PmuPipeline *p, uint64_t cycle,
                                     PmuBlame blame)
{
    pmu_cycles_leave(p, cycle, blame);
    p->cycle = cycle;
    p->slot = 0;
    p->history = 0;
}

/* The next slot is one of @class. */
static inline void pmu_slots_fill(PmuPipeline *p, PmuSlotClass class)
{
    p->delta.item[class]++;
    p->history = p->history << 4 | class;
    if (++p->slot == p->uarch->width) {
        pmu_slots_advance(p, p->cycle + 1, PMU_BLAME_ANYBODY);
    }
}

/* Slots up to the start of @cycle, if that is to come, pass as @class. */
static inline void pmu_slots_lose(PmuPipeline *p, uint64_t cycle,
                                  PmuSlotClass class, PmuBlame blame)
{
    if (cycle > p->cycle) {
        p->delta.item[class] += (cycle - p->cycle) * p->uarch->width - p->slot;
        pmu_slots_advance(p, cycle, blame);
    }
}

/* Slots up to the start of @until's cycle, to come, are the backend's. */
void pmu_slots_backend_bound(PmuPipeline *p, PmuStamp until);

/* ... of cycle @until, the frontend's. */
void pmu_slots_frontend_bound(PmuPipeline *p, uint64_t until);

/* Nothing issued in cycles [@from, @to), for a serialising instruction. */
void pmu_slots_serialized(PmuPipeline *p, uint64_t from, uint64_t to);

/* The backend takes nothing up to @until, if that is to come. */
static inline void pmu_slots_lose_backend(PmuPipeline *p, PmuStamp until)
{
    if (PMU_STAMP_CYCLE(until) > p->cycle) {
        pmu_slots_backend_bound(p, until);
    }
}

/* The frontend has nothing up to @until, if that is to come. */
static inline void pmu_slots_lose_frontend(PmuPipeline *p, uint64_t until)
{
    if (until > p->cycle) {
        pmu_slots_frontend_bound(p, until);
    }
}

/* Ports and the scheduler: ports.c. */

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

    for (uint32_t sets = p->sets.with[ports]; sets; sets &= sets - 1) {
        unsigned i = __builtin_ctz(sets);
        uint64_t free = MAX(from, p->port_set[i]);

        turn = MAX(turn, free);
        p->port_set[i] = free + p->sets.share[i];
    }
    if (turn >= from + PMU_PORT_UNIT) {
        earliest = turn / PMU_PORT_UNIT;
    }
    return MAX(ready, earliest);
}

/* A micro-op is in the scheduler until @cycle. */
static inline void pmu_ports_enter_scheduler(PmuPipeline *p, uint64_t cycle)
{
    if (cycle < p->cycle + PMU_WINDOW) {
        p->dispatches[cycle % PMU_WINDOW]++;
    } else if (G_LIKELY(p->num_far < PMU_MAX_FAR)) {
        p->far[p->num_far++] = cycle;
        p->near_until = MIN(p->near_until, p->cycle + PMU_CYCLES_LOOK);
    } else {
        /* More than a scheduler has room for: it takes none. */
        p->repairs++;
        return;
    }
    p->scheduled++;
}

/*
 * Count a micro-op for any of @ports that could be dispatched at @earliest as
 * one of the port that is free first.
 */
static inline unsigned pmu_ports_count(PmuPipeline *p, uint16_t ports,
                                       uint64_t earliest)
{
    unsigned items = p->sets.items[ports], best = __builtin_ctz(items);

    if (items & (items - 1)) {
        for (items &= items - 1; items; items &= items - 1) {
            unsigned i = __builtin_ctz(items);

            best = p->port_busy[i] < p->port_busy[best] ? i : best;
        }
        p->port_busy[best] = MAX(p->port_busy[best], earliest) + 1;
    } else {
        p->port_busy[best]++;
    }
    ++*pmu_timed(p, PMU_ITEM_PORT_0 + best);
    return best;
}

/* Of @ports the one that has been least busy, for reports. */
unsigned pmu_ports_idle(const PmuPipeline *p, uint16_t ports);

/* Dispatch a micro-op: see pmu_ports_use(). */
static inline uint64_t pmu_ports_dispatch(PmuPipeline *p, uint16_t ports,
                                          uint64_t earliest, uint64_t ready)
{
    uint64_t cycle = pmu_ports_use(p, ports, earliest, ready);

    pmu_ports_enter_scheduler(p, cycle);
    p->port_item = pmu_ports_count(p, ports, earliest);
    if (G_UNLIKELY(p->report)) {
        p->dispatched[pmu_ports_idle(p, ports)]++;
    }
    return cycle;
}

/* The newest micro-op, which used @ports, does not exist. */
void pmu_ports_give_back(PmuPipeline *p, uint16_t ports);

/* ... nor was it in the scheduler, which it was to leave in @cycle. */
void pmu_ports_leave_scheduler(PmuPipeline *p, uint64_t cycle);

/* Count anew how many micro-ops are in the scheduler: a repair. */
void pmu_ports_recount(PmuPipeline *p);

/* Loads and stores: access.c. */

/* When there is room for a store more. */
static inline uint64_t pmu_access_store_room(const PmuPipeline *p)
{
    return p->store[(p->stores - p->uarch->store_buffer) %
                    PMU_STORE_RING].drained;
}

/*
 * When the address of @access, known at @start, is translated; @walk: who asks,
 * PMU_WALK_x.
 */
uint64_t pmu_access_translate(PmuPipeline *p, const PmuAccess *access,
                              uint64_t start, uint8_t walk);

/* The load of access @index of @insn, whose address is known at @address. */
uint64_t pmu_access_load(PmuPipeline *p, const PmuInsn *insn, uint8_t index,
                         uint64_t earliest, uint64_t address,
                         const PmuOutcome *outcome);

/*
 * A store of access @index of @insn: its address at @address, its data at
 * @data.  @loaded: a load of the same instruction has got the line.
 */
void pmu_access_store(PmuPipeline *p, const PmuInsn *insn, uint8_t index,
                      uint64_t address, uint64_t data, bool loaded,
                      const PmuOutcome *outcome);

#endif
