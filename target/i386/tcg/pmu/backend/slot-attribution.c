/*
 * Slot attribution: it advances the clock and gives each slot its class.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/backend/slot-attribution.h"

/* Cycles so far in which nothing was dispatched while a load waited. */
static uint32_t load_stalls(PmuPipeline *p)
{
    const uint32_t *stalls = pmu_count(&p->clock, PMU_ITEM_STALL_L1);
    uint32_t sum = 0;

    for (unsigned i = 0; i <= PMU_ITEM_STALL_DRAM - PMU_ITEM_STALL_L1; i++) {
        sum += stalls[i];
    }
    return sum;
}

/*
 * Slots up to the start of @cycle are lost to the backend, for something other
 * than memory.  But that may itself have waited for memory: cycles that events
 * count as stalled for a load are memory bound, the others core bound.
 */
static void attribute_core(PmuPipeline *p, uint64_t cycle)
{
    uint32_t before = load_stalls(p), *item = p->clock.counts.item, memory;
    uint32_t core = item[PMU_SLOT_CORE_BOUND];

    pmu_slots_attribute(p, cycle, PMU_SLOT_CORE_BOUND, PMU_STALL_ANY);
    core = item[PMU_SLOT_CORE_BOUND] - core;
    memory = MIN((load_stalls(p) - before) * p->uarch->width, core);
    item[PMU_SLOT_CORE_BOUND] -= memory;
    item[PMU_SLOT_MEMORY_BOUND] += memory;
}

void pmu_slots_serialized(PmuPipeline *p, uint64_t from, uint64_t to)
{
    *pmu_count(&p->clock, PMU_ITEM_SERIALIZED) += to - from;
    *pmu_count(&p->clock, PMU_ITEM_PAUSE_CYCLES) += MAX(MIN(to, p->pause_end),
                                                        from) - from;
}

void pmu_slots_backend_bound(PmuPipeline *p, PmuCompletion until)
{
    uint64_t cycle = PMU_COMPLETION_CYCLE(until);
    PmuCause cause = PMU_COMPLETION_CAUSE(until);

    if (cause == PMU_CAUSE_STORES) {
        *pmu_count(&p->clock, PMU_ITEM_NO_STORE_BUFFER) += cycle -
            p->clock.cycle;
    } else if (cause == PMU_CAUSE_SERIAL) {
        pmu_slots_serialized(p, p->clock.cycle, cycle);
    }
    if (cause < PMU_CAUSE_MEMORY) {
        attribute_core(p, cycle);
    } else {
        pmu_slots_attribute(p, cycle, PMU_SLOT_MEMORY_BOUND,
                            cause == PMU_CAUSE_STORES ? PMU_STALL_STORE_BUFFER
                                                      : PMU_STALL_ANY);
    }
}

/* Count @cycles that have passed, with @n slots each lost to the frontend. */
static void count_undelivered(PmuPipeline *p, uint32_t n, uint32_t cycles)
{
    uint32_t most = PMU_ITEM_UNDELIVERED_6 - PMU_ITEM_UNDELIVERED_0;

    pmu_count(&p->clock, PMU_ITEM_UNDELIVERED_0)[0] -= cycles;
    pmu_count(&p->clock, PMU_ITEM_UNDELIVERED_0)[MIN(n, most)] += cycles;
}

/* Nothing is delivered in @cycles cycles, from the start of the current one. */
static void pass_undelivered(PmuPipeline *p, uint64_t cycles)
{
    pmu_slots_attribute(p, p->clock.cycle + cycles, PMU_SLOT_FETCH_LATENCY,
                        PMU_STALL_ANY);
    count_undelivered(p, p->uarch->width, cycles);
}

/* The rest of the current cycle, partly filled, is lost to the frontend. */
static void attribute_rest(PmuPipeline *p, PmuSlotClass class)
{
    uint32_t n = p->uarch->width - p->clock.slot;

    pmu_slots_attribute(p, p->clock.cycle + 1, class, PMU_STALL_ANY);
    count_undelivered(p, n, 1);
}

/* Count a bubble: nothing was delivered for @cycles. */
static void count_bubble(PmuPipeline *p, uint64_t cycles)
{
    unsigned most = PMU_ITEM_BUBBLE_512 - PMU_ITEM_BUBBLE_1;

    pmu_count(&p->clock, PMU_ITEM_BUBBLE_1)[MIN(63u - __builtin_clzll(cycles),
                                                most)]++;
}

/* Count p->refetch as a bubble by itself. */
static void end_refetch(PmuPipeline *p)
{
    if (p->refetch.cycles) {
        count_bubble(p, p->refetch.cycles);
        p->refetch.cycles = 0;
    }
}

/*
 * Cycles without any micro-op are fetch latency, the rest of a cycle that had
 * some is fetch bandwidth: IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE.
 */
void pmu_slots_frontend_bound(PmuPipeline *p, uint64_t until)
{
    if (p->clock.slot) {
        attribute_rest(p, PMU_SLOT_FETCH_BANDWIDTH);
    }
    if (until > p->clock.cycle) {
        uint64_t cycles = until - p->clock.cycle;

        if (p->refetch.until == p->clock.cycle) {
            cycles += p->refetch.cycles;
            p->refetch.cycles = 0;
        }
        end_refetch(p);
        pass_undelivered(p, until - p->clock.cycle);
        count_bubble(p, cycles);
    }
}

void pmu_slots_refetch(PmuPipeline *p, uint64_t until)
{
    uint64_t cycles = until - MIN(p->clock.cycle + 1, until);

    end_refetch(p);
    pass_undelivered(p, cycles);
    p->refetch = (PmuRefetch) { cycles, p->clock.cycle };
}

void pmu_slots_close_cycle(PmuPipeline *p)
{
    if (p->clock.slot) {
        attribute_rest(p, PMU_SLOT_FETCH_LATENCY);
    }
}
