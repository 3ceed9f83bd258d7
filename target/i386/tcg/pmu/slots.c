/*
 * The pipeline's clock, and who is to blame for each slot that passes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>

#include "stages.h"

/* Cycles so far in which nothing was dispatched while a load waited. */
static uint32_t load_stalls(PmuPipeline *p)
{
    const uint32_t *stalls = pmu_timed(p, PMU_ITEM_STALL_L1);
    uint32_t sum = 0;

    for (unsigned i = 0; i <= PMU_ITEM_STALL_DRAM - PMU_ITEM_STALL_L1; i++) {
        sum += stalls[i];
    }
    return sum;
}

/*
 * The backend is to blame up to the start of @cycle, but what ends then is not
 * memory.  What that itself has waited for may have been: cycles are lost to
 * memory that events count as stalled for a load.
 */
static void lose_core(PmuPipeline *p, uint64_t cycle)
{
    uint32_t before = load_stalls(p), *item = p->delta.item, memory;
    uint32_t core = item[PMU_SLOT_CORE_BOUND];

    pmu_slots_lose(p, cycle, PMU_SLOT_CORE_BOUND, PMU_BLAME_ANYBODY);
    core = item[PMU_SLOT_CORE_BOUND] - core;
    memory = MIN((load_stalls(p) - before) * p->uarch->width, core);
    item[PMU_SLOT_CORE_BOUND] -= memory;
    item[PMU_SLOT_MEMORY_BOUND] += memory;
}

void pmu_slots_serialized(PmuPipeline *p, uint64_t from, uint64_t to)
{
    *pmu_timed(p, PMU_ITEM_SERIALIZED) += to - from;
    *pmu_timed(p, PMU_ITEM_PAUSE_CYCLES) += MAX(MIN(to, p->pause), from) - from;
}

void pmu_slots_backend_bound(PmuPipeline *p, PmuStamp until)
{
    uint64_t cycle = PMU_STAMP_CYCLE(until);
    PmuCause cause = PMU_STAMP_CAUSE(until);

    if (cause == PMU_CAUSE_STORES) {
        *pmu_timed(p, PMU_ITEM_NO_STORE_BUFFER) += cycle - p->cycle;
    } else if (cause == PMU_CAUSE_SERIAL) {
        pmu_slots_serialized(p, p->cycle, cycle);
    }
    if (cause < PMU_CAUSE_MEMORY) {
        lose_core(p, cycle);
    } else {
        pmu_slots_lose(p, cycle, PMU_SLOT_MEMORY_BOUND,
                       cause == PMU_CAUSE_STORES ? PMU_BLAME_STORES
                                                 : PMU_BLAME_ANYBODY);
    }
}

/* @cycles went by with @n slots each lost to the frontend. */
static void count_undelivered(PmuPipeline *p, uint32_t n, uint32_t cycles)
{
    uint32_t most = PMU_ITEM_UNDELIVERED_6 - PMU_ITEM_UNDELIVERED_0;

    pmu_timed(p, PMU_ITEM_UNDELIVERED_0)[0] -= cycles;
    pmu_timed(p, PMU_ITEM_UNDELIVERED_0)[MIN(n, most)] += cycles;
}

/* The rest of a cycle that had some slots is lost to the frontend. */
static void lose_rest(PmuPipeline *p, PmuSlotClass class)
{
    uint32_t n = p->uarch->width - p->slot;

    pmu_slots_lose(p, p->cycle + 1, class, PMU_BLAME_ANYBODY);
    count_undelivered(p, n, 1);
}

/* How long it was that nothing came. */
static void count_bubble(PmuPipeline *p, uint64_t cycles)
{
    unsigned most = PMU_ITEM_BUBBLE_512 - PMU_ITEM_BUBBLE_1;

    pmu_timed(p, PMU_ITEM_BUBBLE_1)[MIN(63u - __builtin_clzll(cycles),
                                        most)]++;
}

/*
 * Latency means cycles without any micro-op, bandwidth the rest of a cycle
 * that had some: IDQ_UOPS_NOT_DELIVERED.CYCLES_0_UOPS_DELIV.CORE.
 */
void pmu_slots_frontend_bound(PmuPipeline *p, uint64_t until)
{
    if (p->slot) {
        lose_rest(p, PMU_SLOT_FETCH_BANDWIDTH);
    }
    if (until > p->cycle) {
        uint64_t cycles = until - p->cycle;

        pmu_slots_lose(p, until, PMU_SLOT_FETCH_LATENCY, PMU_BLAME_ANYBODY);
        count_undelivered(p, p->uarch->width, cycles);
        count_bubble(p, cycles);
    }
}

void pmu_pipeline_close_cycle(PmuPipeline *p)
{
    if (p->slot) {
        lose_rest(p, PMU_SLOT_FETCH_LATENCY);
    }
}
