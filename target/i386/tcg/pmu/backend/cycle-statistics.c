/*
 * Statistics of each cycle: how many micro-ops it issued, dispatched and
 * retired, and what loads waited for in it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/backend/cycle-statistics.h"
#include "tcg/pmu/backend/scheduler.h"

/* Most slots that retire in a cycle, of both measured cores (usual figure). */
#define RETIRE_WIDTH 8

/* Cycles counted in one step if they are all alike. */
#define RUN 8
#define ONES 0x0101010101010101ull

/*
 * The clock has advanced: note in the window the dispatches and requests that
 * used to lie beyond it and no longer do.
 */
static G_GNUC_NO_INLINE void bring_near(PmuPipeline *p)
{
    p->clock.window_due = pmu_scheduler_bring_near(p)
                          ? p->clock.cycle + PMU_CYCLE_WINDOW_STEP
                          : UINT64_MAX;
    pmu_outstanding_bring_near(&p->outstanding);
}

/* Count the cycles before @end by the micro-ops that retire in them. */
static inline void count_retired(PmuPipeline *p, uint64_t end)
{
    uint32_t *bins = pmu_count(&p->clock, PMU_ITEM_RETIRED_0);
    uint64_t cycle = p->stats.retire_cycle;
    uint32_t n = p->stats.retiring;

    if (G_UNLIKELY(p->rob.retirable - p->stats.counted > PMU_ROB_RING)) {
        p->stats.counted = p->rob.retirable - PMU_ROB_RING;
    }
    while (cycle < end && p->stats.counted != p->rob.retirable) {
        uint64_t turn = PMU_COMPLETION_CYCLE(p->rob.completed[p->stats.counted %
                                                              PMU_ROB_RING]);

        if (turn > cycle || n == RETIRE_WIDTH) {
            uint64_t next = MIN(MAX(turn, cycle + 1), end);

            bins[n]++;
            bins[0] += next - cycle - 1;
            cycle = next;
            n = 0;
        } else {
            p->stats.counted++;
            n++;
        }
    }
    if (cycle < end) {
        bins[n]++;
        bins[0] += end - cycle - 1;
        cycle = end;
        n = 0;
    }
    p->stats.retire_cycle = cycle;
    p->stats.retiring = n;
}

/* The item from @first on that belongs to the highest bit of @waits, not 0. */
static inline uint32_t *wait_item(PmuPipeline *p, PmuLedgerItem first,
                                  uint8_t waits)
{
    return pmu_count(&p->clock, first) + (31 - __builtin_clz(waits));
}

/* Count @n equal cycles in which nothing is dispatched. */
static inline void count_idle(PmuPipeline *p, uint32_t n, uint8_t waits,
                              PmuStallReason reason)
{
    *pmu_count(&p->clock, PMU_ITEM_EXECUTED_0) += n;
    if (waits) {
        *wait_item(p, PMU_ITEM_WAIT_L1, waits) += n;
        *wait_item(p, PMU_ITEM_STALL_L1, waits) += n;
    } else if (reason == PMU_STALL_STORE_BUFFER) {
        *pmu_count(&p->clock, PMU_ITEM_STALL_STORES) += n;
    } else if (p->scheduler.occupied) {
        *pmu_count(&p->clock, PMU_ITEM_STALL_NOTHING) += n;
    }
    if (!p->scheduler.occupied) {
        *pmu_count(&p->clock, PMU_ITEM_SCHEDULER_EMPTY) += n;
        p->stats.scheduler_empty = true;
    } else if (p->stats.scheduler_empty) {
        ++*pmu_count(&p->clock, PMU_ITEM_SCHEDULER_REFILLS);
        p->stats.scheduler_empty = false;
    }
}

/* Count one cycle in which @n micro-ops are dispatched. */
static inline void count_busy(PmuPipeline *p, uint32_t n, uint8_t waits,
                              PmuStallReason reason)
{
    *pmu_count(&p->clock, PMU_ITEM_UOPS_EXECUTED) += n;
    pmu_count_bin(&p->clock, PMU_ITEM_EXECUTED_0, PMU_ITEM_EXECUTED_8, n);
    if (waits) {
        ++*wait_item(p, PMU_ITEM_WAIT_L1, waits);
    }
    if (reason == PMU_STALL_STORE_BUFFER) {
        ++*pmu_count(&p->clock, PMU_ITEM_STALL_STORES);
    }
    if (p->stats.scheduler_empty) {
        ++*pmu_count(&p->clock, PMU_ITEM_SCHEDULER_REFILLS);
        p->stats.scheduler_empty = false;
    }
}

static inline void count_walks(PmuPipeline *p, uint32_t n, uint8_t waits)
{
    if (G_UNLIKELY(waits & ~PMU_WAITS)) {
        *pmu_count(&p->clock, PMU_ITEM_DTLB_LOAD_ACTIVE) +=
            waits & PMU_WALK_LOAD ? n : 0;
        *pmu_count(&p->clock, PMU_ITEM_DTLB_STORE_ACTIVE) +=
            waits & PMU_WALK_STORE ? n : 0;
        *pmu_count(&p->clock, PMU_ITEM_ITLB_ACTIVE) +=
            waits & PMU_WALK_CODE ? n : 0;
    }
}

static inline void count_reads(PmuPipeline *p, uint32_t n, uint8_t reads)
{
    if (G_UNLIKELY(reads)) {
        unsigned most = PMU_ITEM_OFFCORE_READS_6 - PMU_ITEM_OFFCORE_READS_1;
        unsigned bin = MIN(reads - 1u, most);

        pmu_count(&p->clock, PMU_ITEM_OFFCORE_READS_1)[bin] += n;
    }
}

/* The clock leaves @cycle: count it, and clear its entry in the rings. */
static inline void leave_cycle(PmuPipeline *p, uint64_t cycle,
                               PmuStallReason reason)
{
    unsigned i = cycle % PMU_CYCLE_WINDOW;
    uint32_t n = p->scheduler.dispatches[i];

    if (n) {
        count_busy(p, n, p->outstanding.waits[i] & PMU_WAITS, reason);
    } else {
        count_idle(p, 1, p->outstanding.waits[i] & PMU_WAITS, reason);
    }
    count_walks(p, 1, p->outstanding.waits[i]);
    count_reads(p, 1, p->outstanding.reads[i]);
    p->scheduler.occupied -= n;
    p->scheduler.dispatches[i] = 0;
    p->outstanding.waits[i] = 0;
    p->outstanding.reads[i] = 0;
}

/*
 * Are the RUN cycles from ring entry @i on all alike, with nothing dispatched
 * in any of them?
 */
static inline bool all_alike(const PmuPipeline *p, unsigned i)
{
    uint64_t waits, reads, dispatches[2];

    G_STATIC_ASSERT(sizeof(dispatches) == RUN *
                    sizeof(*p->scheduler.dispatches));
    memcpy(&waits, &p->outstanding.waits[i], RUN);
    memcpy(&reads, &p->outstanding.reads[i], RUN);
    memcpy(dispatches, &p->scheduler.dispatches[i], sizeof(dispatches));
    return !(dispatches[0] | dispatches[1]) &&
           waits == ONES * p->outstanding.waits[i] &&
               reads == ONES * p->outstanding.reads[i];
}

/* The clock leaves the cycles before @end, which are all in the window. */
static void leave_cycles(PmuPipeline *p, uint64_t end, PmuStallReason reason)
{
    uint64_t cycle = p->clock.cycle;

    while (cycle < end) {
        unsigned i = cycle % PMU_CYCLE_WINDOW;

        if (i % RUN == 0 && end - cycle >= RUN && all_alike(p, i)) {
            count_idle(p, RUN, p->outstanding.waits[i] & PMU_WAITS, reason);
            count_walks(p, RUN, p->outstanding.waits[i]);
            count_reads(p, RUN, p->outstanding.reads[i]);
            memset(&p->outstanding.waits[i], 0, RUN);
            memset(&p->outstanding.reads[i], 0, RUN);
            cycle += RUN;
        } else {
            leave_cycle(p, cycle++, reason);
        }
    }
}

/*
 * Count the cycles that the clock leaves for @cycle by the slots issued in
 * them.  Only the first can have any, unless the wrong path fills them all.
 */
static inline void count_issued(PmuPipeline *p, uint64_t cycle,
                                PmuStallReason reason)
{
    uint64_t after = cycle - p->clock.cycle - 1;
    uint32_t width = p->uarch->width;
    uint32_t most = PMU_ITEM_ISSUED_6 - PMU_ITEM_ISSUED_0;
    uint32_t *bins = pmu_count(&p->clock, PMU_ITEM_ISSUED_0);

    if (reason == PMU_STALL_WRONG_PATH) {
        bins[MIN(width, most)] += after + 1;
    } else {
        bins[MIN(p->clock.slot, most)]++;
        bins[0] += after;
    }
    *pmu_count(&p->clock, PMU_ITEM_UNDELIVERED_0) += after + 1;
    if (p->clock.slot && p->delivery.source == PMU_DELIVERY_LSD) {
        ++*pmu_count(&p->clock, PMU_ITEM_LSD_CYCLES);
        *pmu_count(&p->clock, PMU_ITEM_LSD_FULL_CYCLES) += p->clock.slot ==
            width;
    }
}

/*
 * The clock leaves many cycles for @cycle, or something beyond the window is
 * due.  Leaves p->clock.cycle as it was.
 */
static G_GNUC_NO_INLINE void leave_far(PmuPipeline *p, uint64_t cycle,
                                       PmuStallReason reason)
{
    uint64_t first = p->clock.cycle;

    while (p->clock.cycle < cycle) {
        uint64_t end = MIN(cycle, p->clock.cycle + PMU_CYCLE_WINDOW_STEP);

        leave_cycles(p, end, reason);
        p->clock.cycle = end;
        if (end >= p->clock.window_due) {
            bring_near(p);
        }
    }
    p->clock.cycle = first;
}

void pmu_cycle_stats_advance(PmuPipeline *p, uint64_t cycle,
                             PmuStallReason reason)
{
    count_issued(p, cycle, reason);
    if (G_LIKELY(cycle == p->clock.cycle + 1 && cycle < p->clock.window_due)) {
        leave_cycle(p, p->clock.cycle, reason);
    } else {
        leave_far(p, cycle, reason);
    }
    count_retired(p, cycle);
}
