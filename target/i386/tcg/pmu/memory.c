/*
 * The memory side: caches, prefetches, store forwarding, first-level TLBs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>
#include <string.h>

#include "memory-internal.h"

#define LINE_MASK       ((uint64_t)PMU_LINE_SIZE - 1)

/* No line begins here. */
#define NO_LINE         1

static bool cache_init(PmuCache *cache, const PmuCacheGeometry *geometry)
{
    return pmu_cache_init(cache,
                          geometry->size / geometry->ways / PMU_LINE_SIZE,
                          geometry->ways, false);
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
    ok &= cache_init(&mem->l1d, &uarch->l1d);
    ok &= cache_init(&mem->l1i, &uarch->l1i);
    ok &= pmu_lines_init(&mem->l2, &uarch->l2, false);
    ok &= pmu_tlb_init(&mem->dtlb, uarch->dtlb);
    ok &= pmu_tlb_init(&mem->itlb, uarch->itlb);
    ok &= pmu_stlb_init(&mem->stlb, &uarch->stlb);
    mem->line = g_try_new(PmuLine, lines_of(&uarch->l1d));
    mem->shared_l3 = l3 ? pmu_l3_ref(l3) : pmu_l3_new(uarch);
    if (!ok || !mem->line || !mem->shared_l3) {
        pmu_memory_destroy(mem);
        return false;
    }
    mem->l3 = pmu_l3_lines(mem->shared_l3);
    mem->user = pmu_l3_user(mem->shared_l3);
    mem->inbox = pmu_l3_inbox(mem->shared_l3, mem->user);
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
    pmu_tlb_destroy(&mem->dtlb);
    pmu_tlb_destroy(&mem->itlb);
    pmu_stlb_destroy(&mem->stlb);
    g_clear_pointer(&mem->line, g_free);
    g_clear_pointer(&mem->shared_l3, pmu_l3_unref);
}

void pmu_memory_on_code_gone(PmuMemory *mem, PmuCodeGone code_gone,
                             void *opaque)
{
    mem->code_gone = code_gone;
    mem->code_opaque = opaque;
}

/* Line @line, physical, leaves L1I, or has just left it. */
static void code_gone(PmuMemory *mem, uint64_t line)
{
    if (mem->code_gone) {
        mem->code_gone(mem->code_opaque, line, 1);
    }
}

/* @mapping leaves the ITLB, or has just left it; there may be none. */
static void code_page_gone(PmuMemory *mem, PmuMapping mapping)
{
    if (mem->code_gone && mapping.page != PMU_NO_PAGE) {
        mem->code_gone(mem->code_opaque, mapping.page * PMU_PAGE_LINES,
                       (uint64_t)PMU_PAGE_LINES <<
                       (PMU_PAGE_SIZE_BITS * mapping.size));
    }
}

static void itlb_insert(PmuMemory *mem, uint64_t page, PmuMapping mapping)
{
    code_page_gone(mem, pmu_tlb_insert(&mem->itlb, page, mapping, NULL, NULL));
}

static void forget_mappings(PmuMemory *mem)
{
    pmu_filter_clear(&mem->filter);
    pmu_tlb_clear(&mem->dtlb);
    pmu_tlb_clear(&mem->itlb);
    pmu_stlb_clear(&mem->stlb);
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
    mem->settled = 0;
    mem->prefetches = 0;
    mem->num_lost = 0;
    memset(mem->prefetch, 0, sizeof(mem->prefetch));
    pmu_combine_init(&mem->combine, mem->uarch->fill_buffers);
    pmu_forward_reset(&mem->forward);
    pmu_streamer_init(&mem->streamer, mem->uarch->prefetch_distance);
    pmu_strider_init(&mem->strider, mem->uarch->l1d_prefetch);
    forget_mappings(mem);
}

static void forget_local(PmuMemory *mem)
{
    pmu_filter_clear(&mem->filter);
    pmu_tlb_keep_global(&mem->dtlb);
    pmu_tlb_keep_global(&mem->itlb);
    pmu_stlb_keep_global(&mem->stlb);
}

/* What the DSB has of the 4 KiB at linear page @page goes with its mapping. */
static void forget_code_page(PmuMemory *mem, uint64_t page)
{
    PmuMapping mapping = { pmu_tlb_use(&mem->itlb, page) };

    code_page_gone(mem, mapping);
    pmu_tlb_remove(&mem->itlb, page);
}

static void forget_page(PmuMemory *mem, uint64_t linear)
{
    uint64_t page = linear >> PMU_PAGE_SHIFT;
    PmuPageSize sizes = mem->dtlb.large ? PMU_PAGE_SIZES : PMU_PAGE_2M;

    for (PmuPageSize size = 0; size < sizes; size++) {
        pmu_filter_remove_page(&mem->filter, pmu_page_of(page, size), size);
    }
    pmu_tlb_remove(&mem->dtlb, page);
    forget_code_page(mem, page);
    pmu_stlb_remove(&mem->stlb, page);
}

void pmu_memory_flush_mappings(PmuMemory *mem, PmuFlush flush, uint64_t linear)
{
    pmu_ledger_event(mem->ledger, PMU_ITEM_TLB_FLUSHES, 1);
    switch (flush) {
    case PMU_FLUSH_ALL:
        forget_mappings(mem);
        break;
    case PMU_FLUSH_LOCAL:
        forget_local(mem);
        break;
    case PMU_FLUSH_PAGE:
        forget_page(mem, linear);
        break;
    }
}

/* What the DTLB uses no longer leaves the filter. */
static void dtlb_dropped(void *opaque, uint64_t number, PmuPageSize size)
{
    PmuMemory *mem = opaque;

    pmu_filter_remove_page(&mem->filter, number, size);
}

/* An entry of L1D for physical line @line, not in the filter. */
static PmuLine *l1d_insert(PmuMemory *mem, uint64_t line)
{
    size_t first = pmu_cache_first(&mem->l1d, line);
    uint64_t dropped;
    size_t entry = pmu_cache_choose(&mem->l1d, line, &dropped);

    for (; dropped; dropped &= dropped - 1) {
        PmuLine *other = &mem->line[first + __builtin_ctzll(dropped)];

        pmu_filter_remove(&mem->filter, other->linear);
        other->linear = NO_LINE;
    }
    pmu_cache_fill(&mem->l1d, entry, line);
    return &mem->line[entry];
}

static bool is_code(const PmuMemory *mem, uint64_t line)
{
    return pmu_cache_find(&mem->l1i, line) != PMU_CACHE_NONE;
}

/* Accesses to physical line @line have something to tell from now on. */
static void unfilter_line(PmuMemory *mem, uint64_t line)
{
    size_t entry = pmu_cache_find(&mem->l1d, line);

    if (entry != PMU_CACHE_NONE) {
        pmu_filter_remove(&mem->filter, mem->line[entry].linear);
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
    unfilter_line(mem, line);
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
    return &mem->prefetch[(line ^ line / PMU_PAGE_LINES * 37) %
                          PMU_PREFETCH_SLOTS];
}

static void note_prefetch(PmuMemory *mem, uint64_t line)
{
    *prefetch_slot(mem, line) = (PmuPrefetch) {
        .line = line, .number = ++mem->prefetches,
    };
}

/* The ledger items of one kind of request, by PmuPlace. */
typedef struct Requests {
    PmuLedgerItem demanded, prefetched;
    /* By PmuFound, those in L3; PMU_ITEM_NR: nobody counts that. */
    PmuLedgerItem snooped[PMU_FOUND_MODIFIED + 1];
    bool writes;
} Requests;

#define NOT_SNOOPED { PMU_ITEM_NR, PMU_ITEM_NR, PMU_ITEM_NR, PMU_ITEM_NR }

static const Requests load_requests = {
    PMU_ITEM_DATA_L2, PMU_ITEM_PREFETCH_L2, {
        PMU_ITEM_NR, PMU_ITEM_DATA_L3_ALONE, PMU_ITEM_DATA_L3_SHARED,
        PMU_ITEM_DATA_L3_MODIFIED,
    }, false,
};
/* A load and a store: the line is written to as soon as it is there. */
static const Requests update_requests = {
    PMU_ITEM_DATA_L2, PMU_ITEM_PREFETCH_L2, {
        PMU_ITEM_NR, PMU_ITEM_DATA_L3_ALONE, PMU_ITEM_DATA_L3_SHARED,
        PMU_ITEM_DATA_L3_MODIFIED,
    }, true,
};
static const Requests rfo_requests = {
    PMU_ITEM_RFO_L2, PMU_ITEM_PREFETCH_L2, {
        PMU_ITEM_NR, PMU_ITEM_RFO_L3_ALONE, PMU_ITEM_NR,
        PMU_ITEM_RFO_L3_MODIFIED,
    }, true,
};
static const Requests soft_requests = {
    PMU_ITEM_SOFT_PREFETCH_L2, PMU_ITEM_PREFETCH_L2, NOT_SNOOPED, false,
};
static const Requests l1d_prefetch_requests = {
    PMU_ITEM_L1D_PREFETCH_L2, PMU_ITEM_PREFETCH_L2, NOT_SNOOPED, false,
};
static const Requests code_requests = {
    PMU_ITEM_CODE_L2, PMU_ITEM_CODE_PREFETCH_L2, NOT_SNOOPED, false,
};

/* What this vCPU finds in the L3, where it asks for @line to write or not. */
static PmuFound l3_access(PmuMemory *mem, uint64_t line, bool write)
{
    PmuUser asked;
    PmuFound found = pmu_lines_access_by(mem->l3, line, mem->user, write,
                                         &asked);

    if (G_UNLIKELY(asked)) {
        pmu_l3_tell(mem->shared_l3, mem->user, asked,
                    (PmuSnoop) { .line = line, .write = write });
    }
    return found;
}

/* May this vCPU write to @line, which it has, without asking anybody? */
static bool may_write(PmuMemory *mem, uint64_t line)
{
    return !pmu_l3_is_shared(mem->shared_l3) ||
           pmu_lines_claim(mem->l3, line, mem->user);
}

/* @line missed the first level: ask for those after it. */
static void stream_prefetch(PmuMemory *mem, uint64_t line,
                            const Requests *requests, PmuAccess *access)
{
    uint64_t lines[PMU_STREAM_DEGREE], dram[PMU_STREAM_DEGREE], next;
    unsigned n = pmu_streamer_miss(&mem->streamer, line, lines, &next);

    for (unsigned i = 0; i < n; i++) {
        unsigned from = PMU_IN_L2;

        if (!pmu_lines_prefetch(&mem->l2, lines[i])) {
            if (l3_access(mem, lines[i], false) != PMU_FOUND_NOT) {
                from = PMU_IN_L3;
                access->prefetch_l3++;
                note_prefetch(mem, lines[i]);
            } else {
                from = PMU_IN_DRAM;
                dram[access->prefetch_dram++] = lines[i];
            }
        }
        pmu_ledger_event(mem->ledger, requests->prefetched + from, 1);
    }
    for (unsigned i = 0; i < access->prefetch_dram; i++) {
        note_prefetch(mem, dram[i]);
    }
    if (n) {
        pmu_lines_expect(mem->l3, next);
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

/* What demanded line @line, in L2 no more, finds in the L3. */
static unsigned l3_request(PmuMemory *mem, uint64_t line,
                           const Requests *requests, PmuAccess *access)
{
    PmuFound found = l3_access(mem, line, requests->writes);

    if (found == PMU_FOUND_NOT) {
        access->source = PMU_FROM_DRAM;
        return PMU_IN_DRAM;
    }
    access->source = PMU_FROM_L3;
    if (found != PMU_FOUND_ALONE) {
        access->snoop = mem->uarch->snoop_latency;
    }
    if (requests->snooped[found] != PMU_ITEM_NR) {
        pmu_ledger_event(mem->ledger, requests->snooped[found], 1);
    }
    return PMU_IN_L3;
}

/* Physical line @line, demanded, missed the first level. */
static void first_level_miss(PmuMemory *mem, uint64_t line,
                             const Requests *requests, PmuAccess *access)
{
    unsigned from = PMU_IN_L2;

    mem->misses++;
    if (pmu_lines_access(&mem->l2, line) &&
        (!requests->writes || may_write(mem, line))) {
        l2_hit(mem, line, access);
    } else {
        from = l3_request(mem, line, requests, access);
    }
    pmu_ledger_event(mem->ledger, requests->demanded + from, 1);
    stream_prefetch(mem, line, requests, access);
}

uint32_t pmu_memory_walker_load(PmuMemory *mem, uint64_t line)
{
    if (pmu_cache_use(&mem->l1d, line) != PMU_CACHE_NONE) {
        return 0;
    }
    *l1d_insert(mem, line) = (PmuLine) { .linear = NO_LINE };
    if (pmu_lines_access(&mem->l2, line)) {
        return mem->uarch->l2.latency;
    }
    return l3_access(mem, line, false) != PMU_FOUND_NOT
           ? mem->uarch->l3.latency : pmu_uarch_dram_latency(mem->uarch);
}

/* What an access does.  One that does both asks for its line as a load. */
typedef enum Use {
    USE_LOAD,
    USE_STORE,
    USE_BOTH,
} Use;

/* The physical page of linear page @page, which is not in the DTLB. */
static G_GNUC_NO_INLINE uint64_t data_page_slow(PmuMemory *mem, uint64_t page,
                                                Use use, PmuAccess *access)
{
    PmuTranslations items = use == USE_STORE ? PMU_TRANSLATIONS_STORE
                                             : PMU_TRANSLATIONS_LOAD;
    PmuMapping mapping = pmu_walk(mem, page, items, access);

    if (mapping.page != PMU_NO_PAGE) {
        pmu_tlb_insert(&mem->dtlb, page, mapping, dtlb_dropped, mem);
    }
    return mapping.page;
}

/* The physical line at @addr, of which @page is the physical page. */
static inline uint64_t line_in_page(uint64_t page, uint64_t addr)
{
    return page * PMU_PAGE_LINES + (addr >> PMU_LINE_SHIFT) % PMU_PAGE_LINES;
}

/* Is the line of each miss in L1 at once? */
static inline bool is_untimed(const PmuMemory *mem)
{
    return mem->settled == UINT64_MAX;
}

/* A line of L1D whose fill is over: see pmu_memory_settle(). */
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
        pmu_filter_remove(&mem->filter, line->linear);
        line->linear = linear;
    }
    pmu_filter_add(&mem->filter, linear, line->owned);
}

/* Did another vCPU take @line just now?  Nobody asks again. */
static bool take_lost(PmuMemory *mem, uint64_t line)
{
    for (unsigned i = 0; i < mem->num_lost; i++) {
        if (mem->lost[i] == line) {
            mem->lost[i] = mem->lost[--mem->num_lost];
            return true;
        }
    }
    return false;
}

/* What L1D remembers of the newest miss, of a line for @requests. */
static PmuLine new_line(const PmuMemory *mem, const Requests *requests)
{
    return (PmuLine) {
        .linear = NO_LINE, .miss = mem->misses,
        .owned = requests->writes || !pmu_l3_is_shared(mem->shared_l3),
    };
}

/* Make physical line @phys, @entry of L1D, one to write to, or drop it. */
static inline bool own(PmuMemory *mem, uint64_t phys, size_t entry)
{
    if (G_LIKELY(mem->line[entry].owned)) {
        return true;
    }
    if (may_write(mem, phys)) {
        mem->line[entry].owned = true;
        return true;
    }
    pmu_filter_remove(&mem->filter, mem->line[entry].linear);
    pmu_cache_forget(&mem->l1d, entry);
    return false;
}

/* @requests ask for physical line @line, which L1D may lack, ahead of need. */
static void l1d_prefetch(PmuMemory *mem, uint64_t line,
                         const Requests *requests, PmuAccess *access)
{
    size_t old = pmu_cache_find(&mem->l1d, line);
    PmuLine *entry;

    if (old != PMU_CACHE_NONE &&
        (!requests->writes || own(mem, line, old))) {
        return;
    }
    entry = l1d_insert(mem, line);
    first_level_miss(mem, line, requests, access);
    *entry = new_line(mem, requests);
    entry->ahead = true;
}

/* A load of @ip at @addr did not find its line in use: what will it need? */
static G_GNUC_NO_INLINE void look_ahead(PmuMemory *mem, uint8_t ip,
                                        uint64_t addr, PmuAccess *access)
{
    PmuAccess ahead = {};
    uint64_t next, page;

    if (!pmu_strider_load(&mem->strider, ip, addr, &next)) {
        return;
    }
    page = pmu_tlb_use(&mem->dtlb, addr >> PMU_PAGE_SHIFT);
    if (page == PMU_NO_PAGE) {
        return;
    }
    l1d_prefetch(mem, line_in_page(page, next), &l1d_prefetch_requests, &ahead);
    access->ahead = (PmuAhead) {
        .source = ahead.source, .prefetch = ahead.prefetch,
        .snoop = ahead.snoop, .prefetch_l3 = ahead.prefetch_l3,
        .prefetch_dram = ahead.prefetch_dram,
    };
}

static G_GNUC_NO_INLINE PmuLine *l1d_miss(PmuMemory *mem, uint64_t phys,
                                          Use use, PmuAccess *access)
{
    static const Requests *const requests[] = {
        [USE_LOAD] = &load_requests,
        [USE_STORE] = &rfo_requests,
        [USE_BOTH] = &update_requests,
    };
    PmuLine *line;

    pmu_lines_expect(&mem->l2, phys);
    line = l1d_insert(mem, phys);
    pmu_ledger_event(mem->ledger, PMU_ITEM_L1D_MISSES, 1);
    first_level_miss(mem, phys, requests[use], access);
    access->again = use != USE_STORE && take_lost(mem, phys);
    *line = new_line(mem, requests[use]);
    /* Up to now it is not in use. */
    line->ahead = true;
    return line;
}

/*
 * The L1D entry of physical line @phys for an access that does @use, or
 * PMU_CACHE_NONE.  A line that others may have is not there for a store: asking
 * for it fetches it anew.
 */
static inline size_t l1d_use(PmuMemory *mem, uint64_t phys, Use use)
{
    size_t entry = pmu_cache_use(&mem->l1d, phys);

    return use == USE_LOAD || entry == PMU_CACHE_NONE || own(mem, phys, entry)
           ? entry : PMU_CACHE_NONE;
}

/*
 * An access within one line.  Without a mapping the linear page serves.
 * Returns whether the line was not in use before.
 */
static inline bool line_access(PmuMemory *mem, uint64_t addr, Use use,
                               PmuAccess *access)
{
    uint64_t page = addr >> PMU_PAGE_SHIFT;
    uint64_t phys = pmu_tlb_use(&mem->dtlb, page);
    bool in_dtlb = phys != PMU_NO_PAGE, mapped, plain, fresh;
    PmuLine *line;
    size_t entry;

    *access = (PmuAccess) { 0 };
    if (!in_dtlb) {
        phys = data_page_slow(mem, page, use, access);
    }
    mapped = phys != PMU_NO_PAGE;
    phys = line_in_page(mapped ? phys : page, addr);
    if (use != USE_LOAD && mapped) {
        store_line(mem, phys, access);
    }
    entry = l1d_use(mem, phys, use);
    if (entry == PMU_CACHE_NONE) {
        line = l1d_miss(mem, phys, use, access);
        plain = is_untimed(mem);
    } else {
        line = &mem->line[entry];
        plain = settled(mem, line);
        if (!plain) {
            access->source = PMU_FROM_FILL;
            access->fill = mem->misses - line->miss;
        }
    }
    fresh = line->ahead;
    line->ahead = false;
    if (plain && in_dtlb && !is_code(mem, phys)) {
        filter_insert(mem, addr & ~LINE_MASK, line);
    }
    return fresh;
}

static G_GNUC_NO_INLINE bool half_access(PmuMemory *mem, uint64_t addr,
                                         Use use, PmuAccess *access)
{
    return line_access(mem, addr, use, access);
}

/* One that reaches into the line of @last; returns whether one was not used. */
static G_GNUC_NO_INLINE bool two_lines(PmuMemory *mem, uint64_t first,
                                       uint64_t last, Use use,
                                       PmuAccess access[2])
{
    bool fresh = half_access(mem, first, use, &access[0]);

    fresh |= half_access(mem, last, use, &access[1]);
    pmu_ledger_event(mem->ledger, PMU_ITEM_L1D_ACCESSES, 1);
    pmu_ledger_event(mem->ledger, PMU_ITEM_LOADS_SPLIT, use != USE_STORE);
    pmu_ledger_event(mem->ledger, PMU_ITEM_STORES_SPLIT, use != USE_LOAD);
    return fresh;
}

/* How far away the line of @access was: as many items from LOADS_L1 on. */
static unsigned distance(const PmuAccess *access)
{
    static const uint8_t distance_of[] = {
        [PMU_FROM_L1] = 0, [PMU_FROM_FILL] = 0,
        [PMU_FROM_L2] = 1, [PMU_FROM_PREFETCH] = 1,
        [PMU_FROM_L3] = 2, [PMU_FROM_DRAM] = 3,
    };

    return distance_of[access->source];
}

/* All loads are counted as hits in L1D, by whoever knows that there are any. */
static void count_load(PmuMemory *mem, unsigned lines,
                       const PmuAccess access[2])
{
    static const PmuAccess from_l3 = { .source = PMU_FROM_L3 };
    unsigned furthest = distance(&access[0]);
    bool forwarded = access[0].snoop;

    if (lines == 2) {
        furthest = MAX(furthest, distance(&access[1]));
        forwarded |= access[1].snoop;
    }
    if (furthest) {
        pmu_ledger_event(mem->ledger, PMU_ITEM_LOADS_L1, -1);
        pmu_ledger_event(mem->ledger, PMU_ITEM_LOADS_L1 + furthest, 1);
        pmu_ledger_event(mem->ledger, PMU_ITEM_LOADS_L3_FORWARDED,
                         furthest == distance(&from_l3) && forwarded);
    }
}

static inline unsigned data_access(PmuMemory *mem, uint64_t addr,
                                   unsigned size, Use use, int ip,
                                   PmuAccess access[2])
{
    unsigned lines = 1;
    bool fresh;

    if (G_UNLIKELY((addr & LINE_MASK) + size > PMU_LINE_SIZE)) {
        fresh = two_lines(mem, addr, addr + size - 1, use, access);
        lines = 2;
    } else {
        fresh = line_access(mem, addr, use, access);
    }
    if (use != USE_STORE) {
        count_load(mem, lines, access);
        if (fresh && ip != PMU_NO_IP) {
            look_ahead(mem, ip, addr, &access[lines - 1]);
        }
    }
    return lines;
}

unsigned pmu_memory_data(PmuMemory *mem, uint64_t addr, unsigned size, int ip,
                         PmuAccess access[2])
{
    return data_access(mem, addr, size, USE_LOAD, ip, access);
}

unsigned pmu_memory_store(PmuMemory *mem, uint64_t addr, unsigned size,
                          PmuAccess access[2])
{
    return data_access(mem, addr, size, USE_STORE, PMU_NO_IP, access);
}

unsigned pmu_memory_update(PmuMemory *mem, uint64_t addr, unsigned size,
                           int ip, PmuAccess access[2])
{
    return data_access(mem, addr, size, USE_BOTH, ip, access);
}

/* No physical line is this. */
#define NO_PHYSICAL_LINE    UINT64_MAX

/*
 * The physical line at @addr of an access that needs no line in L1D; none if
 * there is no mapping.
 */
static uint64_t hinted_line(PmuMemory *mem, uint64_t addr, Use use,
                            PmuAccess *access)
{
    uint64_t page = addr >> PMU_PAGE_SHIFT;
    uint64_t phys = pmu_tlb_use(&mem->dtlb, page);

    *access = (PmuAccess) { 0 };
    if (phys == PMU_NO_PAGE) {
        phys = data_page_slow(mem, page, use, access);
    }
    return phys == PMU_NO_PAGE ? NO_PHYSICAL_LINE : line_in_page(phys, addr);
}

/* Physical line @line is to come to L2 before it is needed. */
static void l2_prefetch(PmuMemory *mem, uint64_t line, PmuAccess *access)
{
    unsigned from = PMU_IN_L2;

    if (!pmu_lines_access(&mem->l2, line)) {
        from = l3_access(mem, line, false) != PMU_FOUND_NOT ? PMU_IN_L3
                                                            : PMU_IN_DRAM;
        access->prefetch_l3 = from == PMU_IN_L3;
        access->prefetch_dram = from == PMU_IN_DRAM;
        note_prefetch(mem, line);
    }
    pmu_ledger_event(mem->ledger, soft_requests.demanded + from, 1);
}

void pmu_memory_prefetch(PmuMemory *mem, uint64_t addr, PmuHint hint,
                         PmuAccess *access)
{
    uint64_t line = hinted_line(mem, addr, USE_LOAD, access);

    if (line == NO_PHYSICAL_LINE) {
        return;
    }
    if (hint != PMU_HINT_PREFETCH_L2) {
        l1d_prefetch(mem, line, hint == PMU_HINT_PREFETCH_W ? &rfo_requests
                                                            : &soft_requests,
                     access);
        pmu_ledger_event(mem->ledger, PMU_ITEM_SOFT_PREFETCH_L1D,
                         hint == PMU_HINT_PREFETCH &&
                         access->source != PMU_FROM_L1);
    } else if (pmu_cache_find(&mem->l1d, line) == PMU_CACHE_NONE) {
        l2_prefetch(mem, line, access);
    }
    count_load(mem, 1, access);
}

/* Another vCPU asked for a line: it has that now, too, or alone. */
static bool take_snoop(PmuMemory *mem, const PmuSnoop *snoop)
{
    size_t entry = pmu_cache_find(&mem->l1d, snoop->line);

    if (entry != PMU_CACHE_NONE) {
        unfilter_line(mem, snoop->line);
        mem->line[entry].owned = false;
    }
    if (snoop->write) {
        if (entry != PMU_CACHE_NONE) {
            mem->lost[mem->num_lost++] = snoop->line;
        }
        pmu_cache_remove(&mem->l1d, snoop->line);
        pmu_lines_remove(&mem->l2, snoop->line);
        if (is_code(mem, snoop->line)) {
            pmu_cache_remove(&mem->l1i, snoop->line);
            code_gone(mem, snoop->line);
        }
    }
    return entry != PMU_CACHE_NONE;
}

bool pmu_memory_take_snoops(PmuMemory *mem)
{
    PmuSnoop snoops[PMU_SNOOPS];
    unsigned n = pmu_inbox_take(mem->inbox, snoops);
    bool had = false;

    mem->num_lost = 0;
    for (unsigned i = 0; i < n; i++) {
        had |= take_snoop(mem, &snoops[i]);
    }
    return had;
}

/* Line @line, physical, leaves all caches of data.  Was it in the L3? */
static bool drop_line(PmuMemory *mem, uint64_t line)
{
    if (!may_write(mem, line)) {
        pmu_l3_tell(mem->shared_l3, mem->user, PMU_USER_OTHERS,
                    (PmuSnoop) { .line = line, .write = true });
    }
    unfilter_line(mem, line);
    pmu_cache_remove(&mem->l1d, line);
    pmu_lines_remove(&mem->l2, line);
    return pmu_lines_remove(mem->l3, line);
}

/* Line @line, physical, goes from a write-combining buffer to DRAM. */
static void write_out(PmuMemory *mem, uint64_t line)
{
    bool in_l3 = drop_line(mem, line);

    pmu_ledger_event(mem->ledger, in_l3 ? PMU_ITEM_STREAM_L3
                                        : PMU_ITEM_STREAM_DRAM, 1);
}

void pmu_memory_flush_line(PmuMemory *mem, uint64_t addr, PmuAccess *access)
{
    uint64_t line = hinted_line(mem, addr, USE_LOAD, access);

    if (line == NO_PHYSICAL_LINE) {
        return;
    }
    drop_line(mem, line);
    if (is_code(mem, line)) {
        pmu_cache_remove(&mem->l1i, line);
        code_gone(mem, line);
    }
}

/* A non-temporal store within one line. */
static void stream_access(PmuMemory *mem, uint64_t addr, unsigned size,
                          PmuAccess *access)
{
    uint64_t bytes = (size < PMU_LINE_SIZE ? (1ull << size) - 1 : UINT64_MAX)
                     << (addr & LINE_MASK);
    uint64_t line = hinted_line(mem, addr, USE_STORE, access);
    uint64_t gone[PMU_COMBINE_LINES];
    unsigned lines;

    if (line == NO_PHYSICAL_LINE) {
        return;
    }
    store_line(mem, line, access);
    lines = pmu_combine_store(&mem->combine, line, bytes, gone);
    for (unsigned i = 0; i < lines; i++) {
        write_out(mem, gone[i]);
    }
}

unsigned pmu_memory_stream(PmuMemory *mem, uint64_t addr, unsigned size,
                           PmuAccess access[2])
{
    unsigned here = MIN(size, PMU_LINE_SIZE - (addr & LINE_MASK));

    stream_access(mem, addr, here, &access[0]);
    if (here == size) {
        return 1;
    }
    stream_access(mem, addr + here, size - here, &access[1]);
    pmu_ledger_event(mem->ledger, PMU_ITEM_L1D_ACCESSES, 1);
    pmu_ledger_event(mem->ledger, PMU_ITEM_STORES_SPLIT, 1);
    return 2;
}

/* Translate @pc for a fetch. */
static void code_page(PmuMemory *mem, uint64_t pc, uint64_t phys,
                      PmuAccess *access)
{
    uint64_t page = pc >> PMU_PAGE_SHIFT;
    PmuMapping mapping;

    if (pmu_tlb_use(&mem->itlb, page) != PMU_NO_PAGE) {
        return;
    }
    mapping = pmu_walk(mem, page, PMU_TRANSLATIONS_CODE, access);
    if (mapping.page == PMU_NO_PAGE) {
        /* It has just run, whatever the context is now. */
        mapping.page = phys >> PMU_PAGE_SHIFT;
        pmu_stlb_insert(&mem->stlb, page, mapping);
    }
    itlb_insert(mem, page, mapping);
}

void pmu_memory_code(PmuMemory *mem, uint64_t pc, uint64_t phys,
                     PmuAccess *access)
{
    uint64_t line = phys >> PMU_LINE_SHIFT;

    *access = (PmuAccess) {};
    code_page(mem, pc, phys, access);
    if (pmu_cache_use(&mem->l1i, line) == PMU_CACHE_NONE) {
        l1i_insert(mem, line);
        pmu_ledger_event(mem->ledger, PMU_ITEM_L1I_MISSES, 1);
        first_level_miss(mem, line, &code_requests, access);
    }
}

void pmu_memory_touch_line(PmuMemory *mem, uint64_t line)
{
    if (pmu_cache_use(&mem->l1i, line) == PMU_CACHE_NONE) {
        l1i_insert(mem, line);
        if (!pmu_lines_access(&mem->l2, line)) {
            l3_access(mem, line, false);
        }
    }
}

void pmu_memory_touch_page(PmuMemory *mem, uint64_t page, uint64_t phys,
                           bool large)
{
    if (pmu_tlb_use(&mem->itlb, page) == PMU_NO_PAGE) {
        itlb_insert(mem, page, (PmuMapping) {
            phys, large ? PMU_PAGE_2M : PMU_PAGE_4K
        });
    }
}
