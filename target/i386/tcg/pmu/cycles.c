/*
 * What each cycle was like: how much was dispatched and retired in it, and who
 * was waited for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line; a part of the pipeline.
 */

#include <glib.h>
#include <string.h>

#include "cycles.h"

/* Slots that retire in a cycle: Sunny Cove and Golden Cove (usual figure). */
#define RETIRE_WIDTH 8

/* Cycles counted at a time when they are all alike. */
#define RUN 8
#define ONES 0x0101010101010101ull

/* One more read in each of eight cycles, but no more than 128. */
static inline uint64_t one_more(uint64_t reads)
{
    return reads + (~(reads >> 7) & ONES);
}

/* In all of @n ring entries from @i on. */
static void mark_entries(PmuPipeline *p, unsigned i, unsigned n,
                         const PmuInterval *interval)
{
    uint64_t waits = ONES * interval->waits, word;

    for (; n >= RUN; n -= RUN, i += RUN) {
        if (interval->reads) {
            memcpy(&word, &p->reads[i], RUN);
            word = one_more(word);
            memcpy(&p->reads[i], &word, RUN);
        } else {
            memcpy(&word, &p->waits[i], RUN);
            word |= waits;
            memcpy(&p->waits[i], &word, RUN);
        }
    }
    for (; n; n--, i++) {
        p->reads[i] += interval->reads && p->reads[i] < 128;
        p->waits[i] |= interval->waits;
    }
}

/* The part of [@start, @end) that is in the window, cycle by cycle. */
static void mark_near(PmuPipeline *p, const PmuInterval *interval)
{
    uint64_t from = MAX(interval->start, p->cycle);
    uint64_t end = MIN(interval->end, p->cycle + PMU_WINDOW);

    while (from < end) {
        unsigned i = from % PMU_WINDOW;
        unsigned n = MIN(end - from, PMU_WINDOW - i);

        mark_entries(p, i, n, interval);
        from += n;
    }
}

static void mark(PmuPipeline *p, PmuInterval interval)
{
    mark_near(p, &interval);
    if (interval.end > p->cycle + PMU_WINDOW) {
        interval.start = MAX(interval.start, p->cycle + PMU_WINDOW);
        /* More at a time than there are buffers for are not counted. */
        if (p->num_late < PMU_MAX_LATE) {
            p->late[p->num_late++] = interval;
        }
        p->near_until = MIN(p->near_until, p->cycle + PMU_CYCLES_LOOK);
    }
}

void pmu_cycles_wait_long(PmuPipeline *p, uint64_t start, uint64_t end,
                          uint8_t waits)
{
    mark(p, (PmuInterval) { .start = start, .end = end, .waits = waits });
}

void pmu_cycles_read(PmuPipeline *p, uint64_t start, uint64_t end)
{
    mark(p, (PmuInterval) { .start = start, .end = end, .reads = true });
}

uint64_t pmu_cycles_union(uint64_t *until, uint64_t start, uint64_t end)
{
    uint64_t from = MAX(start, *until);

    if (end <= from) {
        return 0;
    }
    *until = end;
    return end - from;
}

/* The clock has moved on: what of that beyond the window is in it now? */
static G_GNUC_NO_INLINE void bring_near(PmuPipeline *p)
{
    uint64_t end = p->cycle + PMU_WINDOW;
    uint32_t far = 0, late = p->num_late;

    for (uint32_t i = 0; i < p->num_far; i++) {
        if (p->far[i] < end) {
            p->dispatches[p->far[i] % PMU_WINDOW]++;
        } else {
            p->far[far++] = p->far[i];
        }
    }
    p->num_far = far;
    p->num_late = 0;
    p->near_until = far ? p->cycle + PMU_CYCLES_LOOK : UINT64_MAX;
    for (uint32_t i = 0; i < late; i++) {
        mark(p, p->late[i]);
    }
}

/* Micro-ops that retire before cycle @end. */
static inline void count_retired(PmuPipeline *p, uint64_t end)
{
    uint32_t *bins = pmu_timed(p, PMU_ITEM_RETIRED_0);
    uint64_t cycle = p->retire_cycle;
    uint32_t n = p->retiring;

    if (G_UNLIKELY(p->retirable - p->counted > PMU_ROB_RING)) {
        p->counted = p->retirable - PMU_ROB_RING;
    }
    while (cycle < end && p->counted != p->retirable) {
        uint64_t turn = PMU_STAMP_CYCLE(p->rob[p->counted % PMU_ROB_RING]);

        if (turn > cycle || n == RETIRE_WIDTH) {
            uint64_t next = MIN(MAX(turn, cycle + 1), end);

            bins[n]++;
            bins[0] += next - cycle - 1;
            cycle = next;
            n = 0;
        } else {
            p->counted++;
            n++;
        }
    }
    if (cycle < end) {
        bins[n]++;
        bins[0] += end - cycle - 1;
        cycle = end;
        n = 0;
    }
    p->retire_cycle = cycle;
    p->retiring = n;
}

/* The item from @first on for what @waits is the furthest. */
static inline uint32_t *wait_item(PmuPipeline *p, PmuLedgerItem first,
                                  uint8_t waits)
{
    return pmu_timed(p, first) + (31 - __builtin_clz(waits));
}

/* @n cycles in which nothing is dispatched and all else is the same. */
static inline void count_idle(PmuPipeline *p, uint32_t n, uint8_t waits,
                              PmuBlame blame)
{
    *pmu_timed(p, PMU_ITEM_EXECUTED_0) += n;
    if (waits) {
        *wait_item(p, PMU_ITEM_WAIT_L1, waits) += n;
        *wait_item(p, PMU_ITEM_STALL_L1, waits) += n;
    } else if (blame == PMU_BLAME_STORES) {
        *pmu_timed(p, PMU_ITEM_STALL_STORES) += n;
    } else if (p->scheduled) {
        *pmu_timed(p, PMU_ITEM_STALL_NOTHING) += n;
    }
    if (!p->scheduled) {
        *pmu_timed(p, PMU_ITEM_SCHEDULER_EMPTY) += n;
        p->empty = true;
    } else if (p->empty) {
        ++*pmu_timed(p, PMU_ITEM_SCHEDULER_REFILLS);
        p->empty = false;
    }
}

/* One in which @n are. */
static inline void count_busy(PmuPipeline *p, uint32_t n, uint8_t waits,
                              PmuBlame blame)
{
    *pmu_timed(p, PMU_ITEM_UOPS_EXECUTED) += n;
    pmu_count_bin(p, PMU_ITEM_EXECUTED_0, PMU_ITEM_EXECUTED_8, n);
    if (waits) {
        ++*wait_item(p, PMU_ITEM_WAIT_L1, waits);
    }
    if (blame == PMU_BLAME_STORES) {
        ++*pmu_timed(p, PMU_ITEM_STALL_STORES);
    }
    if (p->empty) {
        ++*pmu_timed(p, PMU_ITEM_SCHEDULER_REFILLS);
        p->empty = false;
    }
}

static inline void count_walks(PmuPipeline *p, uint32_t n, uint8_t waits)
{
    if (G_UNLIKELY(waits & ~PMU_WAITS)) {
        *pmu_timed(p, PMU_ITEM_DTLB_LOAD_ACTIVE) += waits & PMU_WALK_LOAD
                                                    ? n : 0;
        *pmu_timed(p, PMU_ITEM_DTLB_STORE_ACTIVE) += waits & PMU_WALK_STORE
                                                     ? n : 0;
        *pmu_timed(p, PMU_ITEM_ITLB_ACTIVE) += waits & PMU_WALK_CODE ? n : 0;
    }
}

static inline void count_reads(PmuPipeline *p, uint32_t n, uint8_t reads)
{
    if (G_UNLIKELY(reads)) {
        unsigned most = PMU_ITEM_OFFCORE_READS_6 - PMU_ITEM_OFFCORE_READS_1;

        pmu_timed(p, PMU_ITEM_OFFCORE_READS_1)[MIN(reads - 1u, most)] += n;
    }
}

/*
 * The clock leaves cycle @cycle.  The model lets micro-ops that become ready
 * together be dispatched together; no more are counted than there are ports,
 * and the others after them.
 */
static inline void leave_cycle(PmuPipeline *p, uint64_t cycle, PmuBlame blame)
{
    unsigned i = cycle % PMU_WINDOW;
    uint32_t ready = p->dispatches[i] + p->backlog;
    uint32_t n = MIN(ready, p->uarch->num_ports);

    p->backlog = ready - n;
    if (n) {
        count_busy(p, n, p->waits[i] & PMU_WAITS, blame);
    } else {
        count_idle(p, 1, p->waits[i] & PMU_WAITS, blame);
    }
    count_walks(p, 1, p->waits[i]);
    count_reads(p, 1, p->reads[i]);
    p->scheduled -= p->dispatches[i];
    p->dispatches[i] = 0;
    p->waits[i] = 0;
    p->reads[i] = 0;
}

/* Is nothing dispatched in RUN cycles from ring entry @i on, all alike? */
static inline bool all_alike(const PmuPipeline *p, unsigned i)
{
    uint64_t waits, reads, dispatches[2];

    G_STATIC_ASSERT(sizeof(dispatches) == RUN * sizeof(*p->dispatches));
    memcpy(&waits, &p->waits[i], RUN);
    memcpy(&reads, &p->reads[i], RUN);
    memcpy(dispatches, &p->dispatches[i], sizeof(dispatches));
    return !(dispatches[0] | dispatches[1]) && !p->backlog &&
           waits == ONES * p->waits[i] && reads == ONES * p->reads[i];
}

/* The clock leaves the cycles before @end, all in the window. */
static void leave_cycles(PmuPipeline *p, uint64_t end, PmuBlame blame)
{
    uint64_t cycle = p->cycle;

    while (cycle < end) {
        unsigned i = cycle % PMU_WINDOW;

        if (i % RUN == 0 && end - cycle >= RUN && all_alike(p, i)) {
            count_idle(p, RUN, p->waits[i] & PMU_WAITS, blame);
            count_walks(p, RUN, p->waits[i]);
            count_reads(p, RUN, p->reads[i]);
            memset(&p->waits[i], 0, RUN);
            memset(&p->reads[i], 0, RUN);
            cycle += RUN;
        } else {
            leave_cycle(p, cycle++, blame);
        }
    }
}

/* Of the cycles before @cycle, how many were there with so many issued? */
static inline void count_issued(PmuPipeline *p, uint64_t cycle, PmuBlame blame)
{
    uint64_t after = cycle - p->cycle - 1;
    uint32_t width = p->uarch->width;
    uint32_t most = PMU_ITEM_ISSUED_6 - PMU_ITEM_ISSUED_0;
    uint32_t *bins = pmu_timed(p, PMU_ITEM_ISSUED_0);

    if (blame == PMU_BLAME_WRONG_PATH) {
        bins[MIN(width, most)] += after + 1;
    } else {
        bins[MIN(p->slot, most)]++;
        bins[0] += after;
    }
    *pmu_timed(p, PMU_ITEM_UNDELIVERED_0) += after + 1;
    if (p->slot && p->supply.source == PMU_SUPPLY_LSD) {
        ++*pmu_timed(p, PMU_ITEM_LSD_CYCLES);
        *pmu_timed(p, PMU_ITEM_LSD_FULL_CYCLES) += p->slot == width;
    }
}

/* The same when that are many cycles, or something is beyond the window. */
static G_GNUC_NO_INLINE void leave_far(PmuPipeline *p, uint64_t cycle,
                                       PmuBlame blame)
{
    uint64_t first = p->cycle;

    while (p->cycle < cycle) {
        uint64_t end = MIN(cycle, p->cycle + PMU_CYCLES_LOOK);

        leave_cycles(p, end, blame);
        p->cycle = end;
        if (end >= p->near_until) {
            bring_near(p);
        }
    }
    p->cycle = first;
}

void pmu_cycles_leave(PmuPipeline *p, uint64_t cycle, PmuBlame blame)
{
    count_issued(p, cycle, blame);
    if (G_LIKELY(cycle == p->cycle + 1 && cycle < p->near_until)) {
        leave_cycle(p, p->cycle, blame);
    } else {
        leave_far(p, cycle, blame);
    }
    count_retired(p, cycle);
}
