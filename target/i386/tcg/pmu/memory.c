/*
 * The memory side: TLBs, caches, prefetches, store forwarding.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>
#include <string.h>

#include "memory.h"

#define LINES_PER_PAGE  (1u << (PMU_PAGE_SHIFT - PMU_LINE_SHIFT))
#define LINE_MASK       ((uint64_t)PMU_LINE_SIZE - 1)

/* No line begins here. */
#define NO_LINE         1

/* No page has this number. */
#define NO_PAGE         UINT64_MAX

/*
 * A page's entry in the page table has eight bytes, eight entries a line.
 * Where the tables are is not asked of the guest: they get lines of their own,
 * beyond all memory, in the order of linear pages.
 */
#define PAGES_PER_LINE  8
#define PAGE_TABLES     (1ull << (52 - PMU_LINE_SHIFT))

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

static size_t lines_of(const PmuCacheGeometry *geometry)
{
    return geometry->size / PMU_LINE_SIZE;
}

bool pmu_memory_init(PmuMemory *mem, const PmuUarch *uarch, PmuLedger *ledger,
                     PmuL3 *l3, PmuTranslate translate, void *opaque)
{
    bool ok = true;

    memset(mem, 0, sizeof(*mem));
    mem->uarch = uarch;
    mem->ledger = ledger;
    mem->translate = translate;
    mem->opaque = opaque;
    mem->own_l3 = !l3;
    /* 0.1 ns x MHz is 1/10000 cycle. */
    mem->dram_latency = (uint64_t)uarch->dram_tenth_ns *
                        uarch->frequency_mhz / 10000;
    ok &= cache_init(&mem->l1d, &uarch->l1d);
    ok &= cache_init(&mem->l1i, &uarch->l1i);
    ok &= pmu_lines_init(&mem->l2, &uarch->l2, false);
    ok &= tlb_init(&mem->dtlb, &uarch->dtlb);
    ok &= tlb_init(&mem->itlb, &uarch->itlb);
    ok &= tlb_init(&mem->stlb, &uarch->stlb);
    mem->line = g_try_new(PmuLine, lines_of(&uarch->l1d));
    mem->shared_l3 = l3 ? pmu_l3_ref(l3) : pmu_l3_new(uarch);
    if (!ok || !mem->line || !mem->shared_l3) {
        pmu_memory_destroy(mem);
        return false;
    }
    mem->l3 = pmu_l3_lines(mem->shared_l3);
    /* A store further back than the store buffer reaches is in the cache. */
    pmu_forward_init(&mem->forward,
                     MIN(uarch->store_buffer, PMU_OUTCOME_STORES));
    pmu_memory_reset(mem);
    return true;
}

void pmu_memory_destroy(PmuMemory *mem)
{
    pmu_cache_destroy(&mem->l1d);
    pmu_cache_destroy(&mem->l1i);
    pmu_lines_destroy(&mem->l2);
    pmu_cache_destroy(&mem->dtlb);
    pmu_cache_destroy(&mem->itlb);
    pmu_cache_destroy(&mem->stlb);
    g_clear_pointer(&mem->line, g_free);
    g_clear_pointer(&mem->shared_l3, pmu_l3_unref);
}

void pmu_memory_on_code_gone(PmuMemory *mem, PmuCodeGone code_gone,
                             void *opaque)
{
    mem->code_gone = code_gone;
    mem->code_opaque = opaque;
}

void pmu_memory_reset(PmuMemory *mem)
{
    pmu_cache_clear(&mem->l1d);
    pmu_cache_clear(&mem->l1i);
    pmu_lines_clear(&mem->l2);
    if (mem->own_l3) {
        pmu_lines_clear(mem->l3);
    }
    for (size_t i = 0; i < lines_of(&mem->uarch->l1d); i++) {
        mem->line[i].linear = NO_LINE;
    }
    mem->misses = 0;
    mem->prefetches = 0;
    memset(mem->prefetch, 0, sizeof(mem->prefetch));
    pmu_forward_reset(&mem->forward);
    pmu_streamer_init(&mem->streamer, mem->uarch->prefetch_distance);
    pmu_memory_flush_mappings(mem, UINT64_MAX);
}

/*
 * The filter.  An entry's line has the low bits of the entry; 0 is a line of
 * entry 0, so that one is empty if it has a line of entry 1.
 */
static void clear_filter(uint64_t *filter)
{
    memset(filter, 0, PMU_DATA_FILTER * sizeof(*filter));
    filter[0] = PMU_LINE_SIZE;
}

/* The lines of linear page @page, and of those that share entries with it. */
static void drop_page(PmuMemory *mem, uint64_t page)
{
    uint64_t first = page * LINES_PER_PAGE % PMU_DATA_FILTER;

    memset(&mem->filter[first], 0, LINES_PER_PAGE * sizeof(*mem->filter));
    mem->filter[0] = first ? mem->filter[0] : PMU_LINE_SIZE;
}

static void drop_line(PmuMemory *mem, uint64_t linear)
{
    uint64_t *entry = &mem->filter[(linear >> PMU_LINE_SHIFT) %
                                   PMU_DATA_FILTER];

    if (*entry == linear) {
        *entry = entry == mem->filter ? PMU_LINE_SIZE : 0;
    }
}

void pmu_memory_flush_mappings(PmuMemory *mem, uint64_t linear)
{
    uint64_t page = linear >> PMU_PAGE_SHIFT;

    if (linear == UINT64_MAX) {
        clear_filter(mem->filter);
        pmu_cache_clear(&mem->dtlb);
        pmu_cache_clear(&mem->itlb);
        pmu_cache_clear(&mem->stlb);
    } else {
        drop_page(mem, page);
        pmu_cache_remove(&mem->dtlb, page);
        pmu_cache_remove(&mem->itlb, page);
        pmu_cache_remove(&mem->stlb, page);
    }
}

/* An entry of the DTLB for @page; what is no longer used leaves the filter. */
static void dtlb_insert(PmuMemory *mem, uint64_t page, uint64_t phys)
{
    PmuCache *tlb = &mem->dtlb;
    size_t first = pmu_cache_first(tlb, page);
    uint64_t dropped;
    size_t entry = pmu_cache_choose(tlb, page, &dropped);

    for (; dropped; dropped &= dropped - 1) {
        /* Of an empty entry this drops page -1, which does no harm. */
        drop_page(mem, tlb->tags[first + __builtin_ctzll(dropped)] - 1);
    }
    pmu_cache_fill(tlb, entry, page);
    tlb->data[entry] = phys;
}

/* An entry of L1D for physical line @line, not in the filter. */
static PmuLine *l1d_insert(PmuMemory *mem, uint64_t line)
{
    size_t first = pmu_cache_first(&mem->l1d, line);
    uint64_t dropped;
    size_t entry = pmu_cache_choose(&mem->l1d, line, &dropped);

    for (; dropped; dropped &= dropped - 1) {
        PmuLine *other = &mem->line[first + __builtin_ctzll(dropped)];

        drop_line(mem, other->linear);
        other->linear = NO_LINE;
    }
    pmu_cache_fill(&mem->l1d, entry, line);
    return &mem->line[entry];
}

static bool is_code(const PmuMemory *mem, uint64_t line)
{
    return pmu_cache_find(&mem->l1i, line) != PMU_CACHE_NONE;
}

/* Line @line, physical, leaves L1I, or has just left it. */
static void code_gone(PmuMemory *mem, uint64_t line)
{
    if (mem->code_gone) {
        mem->code_gone(mem->code_opaque, line);
    }
}

/* Stores to physical line @line have something to tell from now on. */
static void watch_stores(PmuMemory *mem, uint64_t line)
{
    size_t entry = pmu_cache_find(&mem->l1d, line);

    if (entry != PMU_CACHE_NONE) {
        drop_line(mem, mem->line[entry].linear);
        mem->line[entry].linear = NO_LINE;
    }
}

static void l1i_insert(PmuMemory *mem, uint64_t line)
{
    uint64_t dropped;
    size_t entry = pmu_cache_choose(&mem->l1i, line, &dropped);

    if (mem->l1i.tags[entry]) {
        code_gone(mem, mem->l1i.tags[entry] - 1);
    }
    pmu_cache_fill(&mem->l1i, entry, line);
    watch_stores(mem, line);
}

/* A store to physical line @line. */
static inline void store_line(PmuMemory *mem, uint64_t line, PmuAccess *access)
{
    if (G_UNLIKELY(is_code(mem, line))) {
        pmu_cache_remove(&mem->l1i, line);
        code_gone(mem, line);
        access->smc = true;
    }
}

/* The place of @line among the newest prefetches. */
static inline PmuPrefetch *prefetch_slot(PmuMemory *mem, uint64_t line)
{
    return &mem->prefetch[(line ^ line / LINES_PER_PAGE * 37) %
                          PMU_PREFETCH_SLOTS];
}

static void note_prefetch(PmuMemory *mem, uint64_t line)
{
    *prefetch_slot(mem, line) = (PmuPrefetch) {
        .line = line, .number = ++mem->prefetches,
    };
}

/* @line missed the first level: ask for those after it. */
static void stream_prefetch(PmuMemory *mem, uint64_t line, PmuAccess *access)
{
    uint64_t lines[PMU_STREAM_DEGREE], dram[PMU_STREAM_DEGREE];
    unsigned n = pmu_streamer_miss(&mem->streamer, line, lines);

    for (unsigned i = 0; i < n; i++) {
        if (pmu_lines_prefetch(&mem->l2, lines[i])) {
            continue;
        }
        if (pmu_lines_access(mem->l3, lines[i])) {
            access->prefetch_l3++;
            note_prefetch(mem, lines[i]);
        } else {
            dram[access->prefetch_dram++] = lines[i];
        }
    }
    for (unsigned i = 0; i < access->prefetch_dram; i++) {
        note_prefetch(mem, dram[i]);
    }
}

/* @line is in L2. */
static void l2_hit(PmuMemory *mem, uint64_t line, PmuAccess *access)
{
    PmuPrefetch *prefetch = prefetch_slot(mem, line);
    uint64_t since = mem->prefetches - prefetch->number;

    access->source = PMU_FROM_L2;
    if (prefetch->line == line && prefetch->number) {
        if (since < PMU_OUTCOME_PREFETCHES) {
            access->source = PMU_FROM_PREFETCH;
            access->prefetch = since;
        }
        prefetch->number = 0;
    }
}

/* What the levels beyond the first count of demand requests. */
typedef struct Beyond {
    PmuLedgerItem l2_misses, llc_references, llc_misses;
} Beyond;

static const Beyond beyond_data = {
    PMU_ITEM_L2_MISSES, PMU_ITEM_LLC_REFERENCES, PMU_ITEM_LLC_MISSES,
};

static const Beyond beyond_code = {
    PMU_ITEM_L2_CODE_MISSES, PMU_ITEM_LLC_CODE_REFERENCES,
    PMU_ITEM_LLC_CODE_MISSES,
};

/* Physical line @line, demanded, missed the first level. */
static void first_level_miss(PmuMemory *mem, uint64_t line,
                             const Beyond *beyond, PmuAccess *access)
{
    mem->misses++;
    if (pmu_lines_access(&mem->l2, line)) {
        l2_hit(mem, line, access);
    } else {
        pmu_ledger_event(mem->ledger, beyond->l2_misses, 1);
        pmu_ledger_event(mem->ledger, beyond->llc_references, 1);
        if (pmu_lines_access(mem->l3, line)) {
            access->source = PMU_FROM_L3;
        } else {
            access->source = PMU_FROM_DRAM;
            pmu_ledger_event(mem->ledger, beyond->llc_misses, 1);
        }
    }
    stream_prefetch(mem, line, access);
}

/*
 * Cycles that the page walker waits for its last load, @page's entry in the
 * page table, beyond one from L1D.  Upper levels are in its own caches.  The
 * load fills caches as others do, but is not counted nor numbered.
 */
static uint32_t page_table_load(PmuMemory *mem, uint64_t page)
{
    uint64_t line = PAGE_TABLES + page / PAGES_PER_LINE;

    if (pmu_cache_use(&mem->l1d, line) != PMU_CACHE_NONE) {
        return 0;
    }
    *l1d_insert(mem, line) = (PmuLine) { .linear = NO_LINE };
    if (pmu_lines_access(&mem->l2, line)) {
        return mem->uarch->l2.latency;
    }
    return pmu_lines_access(mem->l3, line) ? mem->uarch->l3.latency
                                           : mem->dram_latency;
}

/* A delay as PmuAccess has it. */
static inline uint8_t cut(uint32_t cycles)
{
    return MIN(cycles, UINT8_MAX);
}

/* Cycles to walk the page tables for linear page @page. */
static uint8_t page_walk(PmuMemory *mem, uint64_t page)
{
    return cut(mem->uarch->stlb.latency + mem->uarch->page_walk +
               page_table_load(mem, page));
}

static void stlb_insert(PmuMemory *mem, uint64_t page, uint64_t phys)
{
    mem->stlb.data[pmu_cache_insert(&mem->stlb, page)] = phys;
}

/*
 * The physical page of linear page @page, which is not in the DTLB.  NO_PAGE
 * without a mapping: the access faulted elsewhere, or is the emulator's own.
 * Then nothing is learnt.
 */
static G_GNUC_NO_INLINE uint64_t data_page_slow(PmuMemory *mem, uint64_t page,
                                                PmuAccess *access)
{
    size_t entry = pmu_cache_use(&mem->stlb, page);
    uint64_t phys;

    if (entry != PMU_CACHE_NONE) {
        access->delay = cut(mem->uarch->stlb.latency);
        phys = mem->stlb.data[entry];
    } else {
        access->delay = page_walk(mem, page);
        phys = mem->translate(mem->opaque, page << PMU_PAGE_SHIFT);
        if (phys == UINT64_MAX) {
            return NO_PAGE;
        }
        phys >>= PMU_PAGE_SHIFT;
        stlb_insert(mem, page, phys);
    }
    dtlb_insert(mem, page, phys);
    return phys;
}

/* A line of L1D whose fill is over: see pmu_memory_horizon(). */
static inline bool settled(const PmuMemory *mem, const PmuLine *line)
{
    return line->miss <= mem->settled ||
           mem->misses - line->miss >= PMU_OUTCOME_FILLS;
}

/* From now on accesses to linear line @linear, @line of L1D, tell nothing. */
static inline void filter_insert(PmuMemory *mem, uint64_t linear,
                                 PmuLine *line)
{
    if (line->linear != linear) {
        drop_line(mem, line->linear);
        line->linear = linear;
    }
    mem->filter[(linear >> PMU_LINE_SHIFT) % PMU_DATA_FILTER] = linear;
}

static G_GNUC_NO_INLINE void l1d_miss(PmuMemory *mem, uint64_t phys,
                                      PmuAccess *access)
{
    PmuLine *line = l1d_insert(mem, phys);

    pmu_ledger_event(mem->ledger, PMU_ITEM_L1D_MISSES, 1);
    first_level_miss(mem, phys, &beyond_data, access);
    *line = (PmuLine) {
        .linear = NO_LINE,
        .miss = mem->misses,
    };
}

/* An access within one line.  Without a mapping the linear page serves. */
static inline void line_access(PmuMemory *mem, uint64_t addr, bool store,
                               PmuAccess *access)
{
    uint64_t page = addr >> PMU_PAGE_SHIFT, phys;
    size_t entry = pmu_cache_use(&mem->dtlb, page);
    bool in_dtlb = entry != PMU_CACHE_NONE, mapped;
    PmuLine *line;

    *access = (PmuAccess) { 0 };
    phys = in_dtlb ? mem->dtlb.data[entry] : data_page_slow(mem, page, access);
    mapped = phys != NO_PAGE;
    phys = (mapped ? phys : page) * LINES_PER_PAGE +
           (addr >> PMU_LINE_SHIFT) % LINES_PER_PAGE;
    if (store && mapped) {
        store_line(mem, phys, access);
    }
    entry = pmu_cache_use(&mem->l1d, phys);
    if (entry == PMU_CACHE_NONE) {
        l1d_miss(mem, phys, access);
        return;
    }
    line = &mem->line[entry];
    if (!settled(mem, line)) {
        access->source = PMU_FROM_FILL;
        access->fill = mem->misses - line->miss;
    } else if (in_dtlb && !is_code(mem, phys)) {
        filter_insert(mem, addr & ~LINE_MASK, line);
    }
}

static G_GNUC_NO_INLINE void half_access(PmuMemory *mem, uint64_t addr,
                                         bool store, PmuAccess *access)
{
    line_access(mem, addr, store, access);
}

/* One that reaches into the line of @last. */
static G_GNUC_NO_INLINE unsigned two_lines(PmuMemory *mem, uint64_t first,
                                           uint64_t last, bool store,
                                           PmuAccess access[2])
{
    half_access(mem, first, store, &access[0]);
    half_access(mem, last, store, &access[1]);
    pmu_ledger_event(mem->ledger, PMU_ITEM_L1D_ACCESSES, 1);
    return 2;
}

static inline unsigned data_access(PmuMemory *mem, uint64_t addr,
                                   unsigned size, bool store,
                                   PmuAccess access[2])
{
    if (G_UNLIKELY((addr & LINE_MASK) + size > PMU_LINE_SIZE)) {
        return two_lines(mem, addr, addr + size - 1, store, access);
    }
    line_access(mem, addr, store, access);
    return 1;
}

unsigned pmu_memory_data(PmuMemory *mem, uint64_t addr, unsigned size,
                         PmuAccess access[2])
{
    return data_access(mem, addr, size, false, access);
}

unsigned pmu_memory_store(PmuMemory *mem, uint64_t addr, unsigned size,
                          PmuAccess access[2])
{
    return data_access(mem, addr, size, true, access);
}

/* Cycles that translating @pc for a fetch takes beyond an ITLB hit. */
static uint8_t code_page(PmuMemory *mem, uint64_t pc, uint64_t phys)
{
    uint64_t page = pc >> PMU_PAGE_SHIFT;
    uint8_t delay = cut(mem->uarch->stlb.latency);

    if (pmu_cache_use(&mem->itlb, page) != PMU_CACHE_NONE) {
        return 0;
    }
    if (pmu_cache_use(&mem->stlb, page) == PMU_CACHE_NONE) {
        delay = page_walk(mem, page);
        stlb_insert(mem, page, phys >> PMU_PAGE_SHIFT);
    }
    mem->itlb.data[pmu_cache_insert(&mem->itlb, page)] =
        phys >> PMU_PAGE_SHIFT;
    return delay;
}

void pmu_memory_code(PmuMemory *mem, uint64_t pc, uint64_t phys,
                     PmuAccess *access)
{
    uint64_t line = phys >> PMU_LINE_SHIFT;

    *access = (PmuAccess) { .delay = code_page(mem, pc, phys) };
    if (pmu_cache_use(&mem->l1i, line) == PMU_CACHE_NONE) {
        l1i_insert(mem, line);
        pmu_ledger_event(mem->ledger, PMU_ITEM_L1I_MISSES, 1);
        first_level_miss(mem, line, &beyond_code, access);
    }
}

void pmu_memory_touch_code(PmuMemory *mem, uint64_t line)
{
    if (pmu_cache_use(&mem->l1i, line) == PMU_CACHE_NONE) {
        l1i_insert(mem, line);
        if (!pmu_lines_access(&mem->l2, line)) {
            pmu_lines_access(mem->l3, line);
        }
    }
}
