/*
 * Times of memory accesses: when lines arrive and page walks end.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/memory/miss-timing.h"

void pmu_miss_timing_init(PmuMissTiming *m, const PmuUarch *uarch,
                          PmuClock *clock, PmuOutstanding *outstanding)
{
    memset(m, 0, sizeof(*m));
    m->uarch = uarch;
    m->clock = clock;
    m->outstanding = outstanding;
}

/*
 * When a request that starts at @start has its turn where a line passes every
 * @cycles, from *@free on.
 */
static uint64_t take_turn(const PmuMissTiming *m, uint64_t *free,
                          uint64_t start, uint32_t cycles)
{
    /*
     * A request takes its turn no later than at the clock's cycle, which only
     * moves forward: one that starts late must not hold up others that start
     * sooner.  A request of fetch can start before the clock's cycle.
     */
    uint64_t turn = MAX(*free, MIN(start, m->clock->cycle));

    *free = turn + cycles;
    return MAX(start, turn);
}

/* When DRAM delivers a line asked for at @start. */
static uint64_t dram(PmuMissTiming *m, uint64_t start)
{
    return take_turn(m, &m->dram_free, start, m->uarch->dram_line_cycles) +
           pmu_uarch_dram_latency(m->uarch);
}

/* When the L3 delivers a line asked for at @start. */
static uint64_t l3(PmuMissTiming *m, uint64_t start)
{
    return take_turn(m, &m->l3_free, start, m->uarch->l3_line_cycles) +
           m->uarch->l3.latency;
}

/* When the line of @access, which misses L1 and starts at @start, arrives. */
static uint64_t beyond_l1(PmuMissTiming *m, const PmuAccessOutcome *access,
                          uint64_t start)
{
    uint64_t ready = start + m->uarch->l2.latency, arrives;

    switch (access->source) {
    case PMU_SOURCE_PREFETCH:
        arrives = m->prefetch[(m->prefetches - 1 - access->prefetch) %
                              PMU_PREFETCH_RING];
        return arrives > m->clock->cycle ? MAX(ready, arrives) : ready;
    case PMU_SOURCE_L3:
        return l3(m, start) + access->snoop;
    case PMU_SOURCE_DRAM:
        return dram(m, start);
    default:
        return ready;
    }
}

/*
 * From which cycle on to note what began at @start, for as long as it takes.
 * Cycles before the clock's are over, and counted already.
 */
static uint64_t noted_from(const PmuMissTiming *m, uint64_t start)
{
    return MAX(start, m->clock->cycle);
}

/* Count a prefetch into L2 that is under way beyond it for these cycles. */
static void count_prefetch(PmuMissTiming *m, uint64_t start, uint64_t arrives)
{
    uint64_t from = noted_from(m, start);

    *pmu_count(m->clock, PMU_ITEM_OFFCORE_PREFETCH) += arrives - start;
    pmu_outstanding_read(m->outstanding, from, from + arrives - start);
}

/* The prefetches into L2 that @access, which starts at @start, sets off. */
static void start_prefetches(PmuMissTiming *m, const PmuAccessOutcome *access,
                             uint64_t start)
{
    for (uint32_t i = 0; i < access->prefetch_l3; i++) {
        uint64_t arrives = l3(m, start);

        m->prefetch[m->prefetches++ % PMU_PREFETCH_RING] = arrives;
        count_prefetch(m, start, arrives);
    }
    for (uint32_t i = 0; i < access->prefetch_dram; i++) {
        uint64_t arrives = dram(m, start);

        m->prefetch[m->prefetches++ % PMU_PREFETCH_RING] = arrives;
        count_prefetch(m, start, arrives);
    }
}

/*
 * Count a request by @requester for a line that L1D lacks, from @start to
 * @ready.  It is under way beyond L2 from when it has missed that.
 */
static void count_miss(PmuMissTiming *m, const PmuAccessOutcome *access,
                       uint64_t start, uint64_t ready, PmuRequester requester)
{
    uint64_t from = start + m->uarch->l2.latency;

    if (requester == PMU_REQUEST_LOAD) {
        *pmu_count(m->clock, PMU_ITEM_L1D_PENDING) += ready - start;
    }
    if (access->source < PMU_SOURCE_L3 || ready <= from) {
        return;
    }
    if (requester == PMU_REQUEST_STORE) {
        *pmu_count(m->clock, PMU_ITEM_OFFCORE_RFO_CYCLES) +=
            pmu_outstanding_union(&m->rfo_until, from, ready);
        return;
    }
    *pmu_count(m->clock, requester == PMU_REQUEST_LOAD
                           ? PMU_ITEM_OFFCORE_DATA
                           : PMU_ITEM_OFFCORE_PREFETCH) += ready - from;
    if (requester == PMU_REQUEST_LOAD && access->source == PMU_SOURCE_DRAM) {
        *pmu_count(m->clock, PMU_ITEM_OFFCORE_DRAM) += ready - from;
    }
    pmu_outstanding_read(m->outstanding, from, ready);
}

/* Count a request that waits for a fill buffer from @start until @free. */
static void count_full(PmuMissTiming *m, uint64_t start, uint64_t free)
{
    *pmu_count(m->clock, PMU_ITEM_FB_FULL_PERIODS) +=
        start > m->buffer_waits_until;
    *pmu_count(m->clock, PMU_ITEM_FB_FULL) +=
        pmu_outstanding_union(&m->buffer_waits_until, start, free);
}

/* Give the miss of @requester, whose line arrives at @ready, its number. */
static void enter_fill(PmuMissTiming *m, uint64_t ready, PmuRequester requester)
{
    uint32_t i = m->fills++ % PMU_FILL_RING;

    m->fill[i] = ready;
    m->requester[i] = requester;
}

/* The one of the @n buffers that is free first. */
static uint64_t *first_free(uint64_t *buffers, uint32_t n)
{
    uint64_t *first = buffers;

    for (uint32_t i = 1; i < n; i++) {
        if (buffers[i] < *first) {
            first = &buffers[i];
        }
    }
    return first;
}

/*
 * When the line of a miss of L1D arrives.  The miss waits for a fill buffer,
 * which it has from *@begun until then.
 */
static uint64_t l1d_miss(PmuMissTiming *m, const PmuAccessOutcome *access,
                         uint64_t start, PmuRequester requester,
                         uint64_t *begun)
{
    uint64_t *buffer = first_free(m->buffer, m->uarch->fill_buffers);
    uint64_t ready;

    if (*buffer > start) {
        if (requester != PMU_REQUEST_L1D_PREFETCH) {
            count_full(m, start, *buffer);
        }
        start = *buffer;
    }
    ready = beyond_l1(m, access, start);
    count_miss(m, access, start, ready, requester);
    *buffer = ready;
    *begun = start;
    enter_fill(m, ready, requester);
    return ready;
}

/* The ring entry of the miss that fetches the line of @access. */
static uint32_t fill_of(const PmuMissTiming *m, const PmuAccessOutcome *access)
{
    return (m->fills - 1 - access->fill) % PMU_FILL_RING;
}

uint64_t pmu_miss_timing_fill(const PmuMissTiming *m,
                              const PmuAccessOutcome *access)
{
    uint64_t arrives = m->fill[fill_of(m, access)];

    return arrives > m->clock->cycle ? arrives : 0;
}

uint64_t pmu_miss_timing_code_miss(PmuMissTiming *m,
                                   const PmuAccessOutcome *access,
                                   uint64_t start)
{
    uint64_t *buffer = first_free(m->code_buffer, m->uarch->l1i_fill_buffers);
    uint64_t ready, from;

    start = MAX(start, MAX(*buffer, m->code_line));
    m->code_line = start + m->uarch->l1i_line_cycles;
    ready = beyond_l1(m, access, start);
    *buffer = ready;
    from = start + m->uarch->l2.latency;

    if (access->source >= PMU_SOURCE_L3 && ready > from) {
        *pmu_count(m->clock, PMU_ITEM_OFFCORE_CODE) += ready - from;
        *pmu_count(m->clock, PMU_ITEM_OFFCORE_CODE_CYCLES) +=
            pmu_outstanding_union(&m->code_until, from, ready);
    }
    enter_fill(m, ready, PMU_REQUEST_FETCH);
    start_prefetches(m, access, start);
    return ready;
}

/* Start at @start what the prefetcher of L1D asks for after @access. */
static void start_l1d_prefetch(PmuMissTiming *m, const PmuAccessOutcome *access,
                        uint64_t start)
{
    const PmuL1dPrefetchOutcome *next = &access->l1d_prefetch;

    if (G_UNLIKELY(next->source)) {
        uint64_t begun;
        const PmuAccessOutcome as_access = {
            .source = next->source, .prefetch = next->prefetch,
            .snoop = next->snoop, .prefetch_l3 = next->prefetch_l3,
            .prefetch_dram = next->prefetch_dram,
        };

        l1d_miss(m, &as_access, start, PMU_REQUEST_L1D_PREFETCH, &begun);
        start_prefetches(m, &as_access, start);
    }
}

/*
 * Does @access need a line that an earlier miss fetches?  Not if a store in the
 * store buffer has its data (Intel SOM, "Store Forwarding").
 */
static bool needs_fill(const PmuAccessOutcome *access)
{
    return access->source == PMU_SOURCE_FILL &&
           (!access->store || access->blocked);
}

/*
 * When a page walk of @cycles ends that waits for a page walker from @start on;
 * @walk is PMU_WALK_x.
 */
static G_GNUC_NO_INLINE uint64_t walk_page(PmuMissTiming *m, uint64_t start,
                                           uint32_t cycles, uint8_t walk)
{
    uint64_t from = UINT64_MAX, noted;
    uint32_t walker = 0;

    for (uint32_t i = 0; i < m->uarch->page_walkers; i++) {
        uint64_t free = pmu_reservation_table_first_free(&m->walker[i], start,
                                                         false);

        if (free < from) {
            from = free;
            walker = i;
        }
    }
    pmu_reservation_table_reserve(&m->walker[walker], m->clock->cycle, from,
                                  cycles);
    noted = noted_from(m, from);
    pmu_outstanding_wait_long(m->outstanding, noted, noted + cycles, walk);
    return from + cycles;
}

uint64_t pmu_miss_timing_translate(PmuMissTiming *m,
                                   const PmuAccessOutcome *access,
                                   uint64_t start, uint8_t walk)
{
    start += access->delay;
    return access->walk ? walk_page(m, start, access->walk, walk) : start;
}

uint64_t pmu_miss_timing_line(PmuMissTiming *m, const PmuAccessOutcome *access,
                              uint64_t start, PmuRequester requester,
                              uint64_t *begun)
{
    uint64_t ready = start + m->uarch->l1d.latency;

    *begun = start;
    if (needs_fill(access)) {
        ready = MAX(ready, pmu_miss_timing_fill(m, access));
    } else if (access->source > PMU_SOURCE_FILL) {
        ready = l1d_miss(m, access, start, requester, begun);
    }
    start_prefetches(m, access, start);
    start_l1d_prefetch(m, access, start);
    return ready;
}

bool pmu_miss_timing_waits_for_fill(const PmuMissTiming *m,
                                    const PmuAccessOutcome *access,
                           uint64_t start)
{
    return needs_fill(access) &&
           pmu_miss_timing_fill(m, access) > start + m->uarch->l1d.latency;
}

bool pmu_access_misses_l1d(const PmuAccessOutcome *access)
{
    return access->source > PMU_SOURCE_FILL;
}

void pmu_miss_timing_demand_fill(PmuMissTiming *m,
                                 const PmuAccessOutcome *access,
                                 uint64_t start)
{
    uint8_t *requester = &m->requester[fill_of(m, access)];

    if (*requester != PMU_REQUEST_LOAD &&
        !(*requester & PMU_REQUEST_DEMANDED)) {
        *pmu_count(m->clock, PMU_ITEM_L1D_PENDING) +=
            pmu_miss_timing_fill(m, access) - start;
        *requester |= PMU_REQUEST_DEMANDED;
    }
}

bool pmu_miss_timing_soft_fill(const PmuMissTiming *m,
                               const PmuAccessOutcome *access)
{
    return (m->requester[fill_of(m, access)] & ~PMU_REQUEST_DEMANDED) ==
           PMU_REQUEST_PREFETCH;
}
