/*
 * The memory side: TLBs, caches, fill buffers, prefetcher, store forwarding.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>
#include <string.h>

#include "memory.h"

#define LINES_PER_PAGE (1u << (PMU_PAGE_SHIFT - PMU_LINE_SHIFT))

static bool cache_init(PmuCache *cache, const PmuCacheGeometry *geometry)
{
    return pmu_cache_init(cache,
                          geometry->size / geometry->ways / PMU_LINE_SIZE,
                          geometry->ways, false);
}

static bool tlb_init(PmuCache *cache, const PmuTlbGeometry *geometry)
{
    return pmu_cache_init(cache, geometry->entries / geometry->ways,
                          geometry->ways, true);
}

bool pmu_memory_init(PmuMemory *mem, const PmuUarch *uarch, PmuLedger *ledger,
                     PmuTranslate translate, void *opaque)
{
    bool ok = true;

    memset(mem, 0, sizeof(*mem));
    mem->uarch = uarch;
    mem->ledger = ledger;
    mem->translate = translate;
    mem->opaque = opaque;
    mem->l1d_latency = uarch->l1d.latency;
    mem->forward_latency = uarch->store_forward;
    /* 0.1 ns x MHz is 1/10000 cycle. */
    mem->dram_latency = (uint64_t)uarch->dram_tenth_ns *
                        uarch->frequency_mhz / 10000;
    ok &= cache_init(&mem->l1d, &uarch->l1d);
    ok &= cache_init(&mem->l1i, &uarch->l1i);
    ok &= cache_init(&mem->l2, &uarch->l2);
    ok &= cache_init(&mem->l3, &uarch->l3);
    ok &= tlb_init(&mem->dtlb, &uarch->dtlb);
    ok &= tlb_init(&mem->itlb, &uarch->itlb);
    ok &= tlb_init(&mem->stlb, &uarch->stlb);
    mem->filter_mask = MIN(mem->l1d.set_mask, PMU_FILTER_SIZE - 1);
    return ok;
}

void pmu_memory_destroy(PmuMemory *mem)
{
    pmu_cache_destroy(&mem->l1d);
    pmu_cache_destroy(&mem->l1i);
    pmu_cache_destroy(&mem->l2);
    pmu_cache_destroy(&mem->l3);
    pmu_cache_destroy(&mem->dtlb);
    pmu_cache_destroy(&mem->itlb);
    pmu_cache_destroy(&mem->stlb);
}

void pmu_memory_reset(PmuMemory *mem)
{
    pmu_cache_clear(&mem->l1d);
    pmu_cache_clear(&mem->l1i);
    pmu_cache_clear(&mem->l2);
    pmu_cache_clear(&mem->l3);
    pmu_cache_clear(&mem->itlb);
    pmu_memory_flush_mappings(mem, UINT64_MAX);
    memset(mem->forward, 0, sizeof(mem->forward));
    memset(mem->fill, 0, sizeof(mem->fill));
    memset(mem->prefetch, 0, sizeof(mem->prefetch));
    memset(mem->stream, 0, sizeof(mem->stream));
    mem->horizon = 0;
    mem->on_way = 0;
    mem->now = 0;
    mem->dram_free = 0;
}

void pmu_memory_flush_mappings(PmuMemory *mem, uint64_t linear)
{
    uint64_t page = linear >> PMU_PAGE_SHIFT;

    memset(mem->filter, 0, sizeof(mem->filter));
    if (linear == UINT64_MAX) {
        pmu_cache_clear(&mem->dtlb);
        pmu_cache_clear(&mem->itlb);
        pmu_cache_clear(&mem->stlb);
    } else {
        pmu_cache_remove(&mem->dtlb, page);
        pmu_cache_remove(&mem->itlb, page);
        pmu_cache_remove(&mem->stlb, page);
    }
}

/*
 * The physical page of linear page @page, which is not in the first-level
 * TLB; *@delay gets what the translation costs beyond a hit there.  Without a
 * mapping (the access faulted elsewhere, or is the emulator's own) the linear
 * one serves.
 */
static G_GNUC_NO_INLINE uint64_t walk_page(PmuMemory *mem, uint64_t page,
                                           uint64_t *delay)
{
    uint64_t phys;

    *delay = mem->uarch->stlb.latency;
    if (pmu_cache_lookup(&mem->stlb, page)) {
        phys = *pmu_cache_value(&mem->stlb, page);
    } else {
        *delay += mem->uarch->page_walk;
        phys = mem->translate(mem->opaque, page << PMU_PAGE_SHIFT);
        if (phys == UINT64_MAX) {
            return page;
        }
        phys >>= PMU_PAGE_SHIFT;
        pmu_cache_insert(&mem->stlb, page);
        *pmu_cache_value(&mem->stlb, page) = phys;
    }
    pmu_cache_insert(&mem->dtlb, page);
    *pmu_cache_value(&mem->dtlb, page) = phys;
    return phys;
}

/* The same for any page. */
static inline uint64_t data_page(PmuMemory *mem, uint64_t page,
                                 uint64_t *delay)
{
    if (G_LIKELY(pmu_cache_lookup(&mem->dtlb, page))) {
        *delay = 0;
        return *pmu_cache_value(&mem->dtlb, page);
    }
    return walk_page(mem, page, delay);
}

/* When DRAM delivers a line asked for at @start. */
static uint64_t dram_access(PmuMemory *mem, uint64_t start)
{
    /*
     * Bandwidth is spent on the issue clock, which only moves forward: a
     * request that starts late must not hold up those that do not.
     */
    uint64_t turn = MAX(mem->dram_free, mem->now);

    mem->dram_free = turn + mem->uarch->dram_line_cycles;
    return MAX(start, turn) + mem->dram_latency;
}

/* The line is not in L2: when L3 or DRAM delivers it. */
static uint64_t l3_access(PmuMemory *mem, uint64_t line, uint64_t start,
                          bool demand)
{
    uint64_t ready;

    if (pmu_cache_access(&mem->l3, line)) {
        ready = start + mem->uarch->l3.latency;
    } else {
        ready = dram_access(mem, start);
        if (demand) {
            pmu_ledger_event(mem->ledger, PMU_ITEM_LLC_MISSES, 1);
        }
    }
    return ready;
}

/* When physical line @line, which missed the first level, arrives. */
static uint64_t l2_access(PmuMemory *mem, uint64_t line, uint64_t start)
{
    const PmuFill *prefetch = &mem->prefetch[line % PMU_PREFETCHES];
    uint64_t ready;

    if (!pmu_cache_access(&mem->l2, line)) {
        pmu_ledger_event(mem->ledger, PMU_ITEM_L2_MISSES, 1);
        pmu_ledger_event(mem->ledger, PMU_ITEM_LLC_REFERENCES, 1);
        return l3_access(mem, line, start, true);
    }
    ready = start + mem->uarch->l2.latency;
    if (prefetch->line == line && prefetch->ready > ready) {
        ready = prefetch->ready;
    }
    return ready;
}

/*
 * The L2 streamer (Intel SOM 2.5.5.4): two misses in a row on ascending lines
 * of a page, and it asks for the lines ahead, up to the page's end.
 */
static void stream_prefetch(PmuMemory *mem, uint64_t line, uint64_t start)
{
    uint64_t page = line / LINES_PER_PAGE;
    PmuStream *stream = &mem->stream[(page ^ (page >> 4)) % PMU_STREAMS];
    uint64_t end = MIN((page + 1) * LINES_PER_PAGE,
                       line + 1 + mem->uarch->prefetch_distance);

    if (stream->page != page + 1) {
        *stream = (PmuStream) { .page = page + 1, .last = line,
                                .next = line + 1 };
        return;
    }
    stream->run = line == stream->last + 1 ? stream->run + 1 : 0;
    stream->last = line;
    if (!stream->run) {
        stream->next = line + 1;
        return;
    }
    for (uint64_t next = MAX(stream->next, line + 1); next < end; next++) {
        if (!pmu_cache_probe(&mem->l2, next)) {
            pmu_cache_insert(&mem->l2, next);
            mem->prefetch[next % PMU_PREFETCHES] = (PmuFill) {
                .line = next, .ready = l3_access(mem, next, start, false),
            };
        }
    }
    stream->next = MAX(stream->next, end);
}

/* A fill buffer for a miss that starts at @start: the first to be free. */
static PmuFill *fill_buffer(PmuMemory *mem)
{
    PmuFill *first = &mem->fill[0];

    for (uint32_t i = 1; i < mem->uarch->fill_buffers; i++) {
        if (mem->fill[i].ready < first->ready) {
            first = &mem->fill[i];
        }
    }
    return first;
}

/*
 * Note which lines an access can meet on their way: no access starts before
 * the issue clock, and that only moves forward.
 */
static void note_fills(PmuMemory *mem)
{
    mem->on_way = 0;
    for (uint32_t i = 0; i < mem->uarch->fill_buffers; i++) {
        if (mem->fill[i].ready > mem->now) {
            mem->on_way |= 1ull << (mem->fill[i].line & 63);
        }
    }
}

static G_GNUC_NO_INLINE uint64_t l1d_miss(PmuMemory *mem, uint64_t line,
                                          uint64_t start)
{
    PmuFill *fill = fill_buffer(mem);

    pmu_ledger_event(mem->ledger, PMU_ITEM_L1D_MISSES, 1);
    start = MAX(start, fill->ready);
    fill->line = line;
    fill->ready = l2_access(mem, line, start);
    mem->horizon = MAX(mem->horizon, fill->ready);
    note_fills(mem);
    stream_prefetch(mem, line, start);
    return fill->ready;
}

/* When line @line, a hit, is there that may be @ready already. */
static G_GNUC_NO_INLINE uint64_t fill_arrives(const PmuMemory *mem,
                                              uint64_t line, uint64_t ready)
{
    for (uint32_t i = 0; i < mem->uarch->fill_buffers; i++) {
        if (mem->fill[i].line == line) {
            ready = MAX(ready, mem->fill[i].ready);
        }
    }
    return ready;
}

/* A hit, but the line may still be on its way. */
static inline uint64_t l1d_hit(PmuMemory *mem, uint64_t line, uint64_t start)
{
    uint64_t ready = start + mem->l1d_latency;

    if (ready < mem->horizon && (mem->on_way >> (line & 63) & 1)) {
        return fill_arrives(mem, line, ready);
    }
    return ready;
}

static inline uint64_t line_access(PmuMemory *mem, uint64_t linear,
                                   uint64_t start)
{
    unsigned shift = PMU_PAGE_SHIFT - PMU_LINE_SHIFT;
    uint64_t delay;
    uint64_t line = data_page(mem, linear >> shift, &delay) << shift |
                    (linear & (LINES_PER_PAGE - 1));

    mem->filter[linear & mem->filter_mask] = linear + 1;
    start += delay;
    return pmu_cache_access(&mem->l1d, line) ? l1d_hit(mem, line, start)
                                             : l1d_miss(mem, line, start);
}

/* An access that reaches into the line of @last. */
static G_GNUC_NO_INLINE uint64_t two_lines(PmuMemory *mem, uint64_t first,
                                           uint64_t last, uint64_t start)
{
    uint64_t ready = pmu_memory_access_slow(mem, first, 1, start);
    uint64_t second = pmu_memory_access_slow(mem, last, 1, start);

    pmu_ledger_event(mem->ledger, PMU_ITEM_L1D_ACCESSES, 1);
    return MAX(ready, second);
}

uint64_t pmu_memory_access_slow(PmuMemory *mem, uint64_t addr, unsigned size,
                                uint64_t start)
{
    if (G_UNLIKELY((addr & (PMU_LINE_SIZE - 1)) + size > PMU_LINE_SIZE)) {
        return two_lines(mem, addr, addr + size - 1, start);
    }
    return line_access(mem, addr >> PMU_LINE_SHIFT, start);
}

/* Cycles that translating @pc for a fetch takes beyond an ITLB hit. */
static uint64_t code_page_delay(PmuMemory *mem, uint64_t pc, uint64_t phys)
{
    uint64_t page = pc >> PMU_PAGE_SHIFT;
    uint64_t delay = mem->uarch->stlb.latency;

    if (pmu_cache_lookup(&mem->itlb, page)) {
        return 0;
    }
    pmu_cache_insert(&mem->itlb, page);
    if (!pmu_cache_lookup(&mem->stlb, page)) {
        delay += mem->uarch->page_walk;
        pmu_cache_insert(&mem->stlb, page);
        *pmu_cache_value(&mem->stlb, page) = phys >> PMU_PAGE_SHIFT;
    }
    return delay;
}

uint64_t pmu_memory_fetch(PmuMemory *mem, uint64_t pc, uint64_t phys,
                          uint64_t start)
{
    uint64_t line = phys >> PMU_LINE_SHIFT;
    uint64_t delay = code_page_delay(mem, pc, phys);

    if (pmu_cache_access(&mem->l1i, line)) {
        return delay;
    }
    pmu_ledger_event(mem->ledger, PMU_ITEM_L1I_MISSES, 1);
    return l2_access(mem, line, start + delay) - start;
}
