/*
 * Loads and stores, which use L1D, the DTLB and the L1-hit filter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/memory/code-access.h"
#include "tcg/pmu/memory/data-access.h"
#include "tcg/pmu/memory/l1d.h"
#include "tcg/pmu/memory/page-walk.h"

/*
 * PmuTlbDrop: page @number of @size has lost its used bit in the DTLB, or its
 * entry, so that its lines must leave the filter.
 */
static void dtlb_dropped(void *opaque, uint64_t number, PmuPageSize size)
{
    PmuMemory *mem = opaque;

    pmu_l1_hit_filter_remove_page(&mem->filter, number, size);
}

uint64_t pmu_data_page_walk(PmuMemory *mem, uint64_t page,
                            PmuUse use, PmuAccessOutcome *access)
{
    PmuTranslationItems items = use == PMU_USE_STORE ? PMU_TRANSLATIONS_STORE
                                                 : PMU_TRANSLATIONS_LOAD;
    PmuMapping mapping = pmu_page_walk(mem, page, items, access);

    if (mapping.page != PMU_NO_PAGE) {
        pmu_tlb_insert(&mem->dtlb, page, mapping, dtlb_dropped, mem);
    }
    return mapping.page;
}

/* Is the line of a miss in L1 at once?  See pmu_memory_set_untimed(). */
static inline bool is_untimed(const PmuMemory *mem)
{
    return mem->misses_arrived == UINT64_MAX;
}

/* Has @line arrived in L1D?  See pmu_memory_misses_arrive(). */
static inline bool settled(const PmuMemory *mem, const PmuL1dLine *line)
{
    return line->miss <= mem->misses_arrived ||
           mem->misses - line->miss >= PMU_OUTCOME_FILLS;
}

/* Put @line of L1D into the filter, by its linear address @linear. */
static inline void filter_insert(PmuMemory *mem, uint64_t linear,
                                 PmuL1dLine *line)
{
    if (line->linear != linear) {
        pmu_l1_hit_filter_remove(&mem->filter, line->linear);
        line->linear = linear;
    }
    pmu_l1_hit_filter_add(&mem->filter, linear, line->owned);
}

/* Has another vCPU just taken @line?  A second call for it returns false. */
static bool was_snooped(PmuMemory *mem, uint64_t line)
{
    for (unsigned i = 0; i < mem->num_snooped; i++) {
        if (mem->snooped[i] == line) {
            mem->snooped[i] = mem->snooped[--mem->num_snooped];
            return true;
        }
    }
    return false;
}

/*
 * Initialise @line as that of the newest miss, which @requests caused.  Hot: it
 * is written in place, as a copy of a structure just written in parts would
 * defeat the host's store forwarding.
 */
static void begin_line(const PmuMemory *mem, PmuL1dLine *line,
                       const PmuRequestKind *requests)
{
    line->linear = PMU_NO_LINE;
    line->miss = mem->misses;
    line->owned = requests->writes || !pmu_l3_is_shared(mem->shared_l3);
    line->unused = true;
}

/*
 * Warm the L3 with physical line @line; returns PmuFoundIn.  L2 stays as it
 * is: it would lose lines that other accesses use, which are not observed and
 * so could not bring them back.
 */
static unsigned warm_line(PmuMemory *mem, uint64_t line, bool write)
{
    if (pmu_tag_array_has(&mem->l2, line) &&
        (!write || pmu_beyond_l1_may_write(mem, line))) {
        return PMU_FOUND_IN_L2;
    }
    return pmu_beyond_l1_access_l3(mem, line, write) == PMU_DIRECTORY_MISS
           ? PMU_FOUND_IN_DRAM : PMU_FOUND_IN_L3;
}

void pmu_memory_warm_lines(PmuMemory *mem, uint64_t addr, uint64_t lines,
                           bool write, uint64_t from[PMU_FOUND_IN_NR])
{
    uint64_t linear = PMU_NO_PAGE, page = PMU_NO_PAGE;

    for (; lines; lines--, addr += PMU_LINE_SIZE) {
        if (addr >> PMU_PAGE_SHIFT != linear) {
            linear = addr >> PMU_PAGE_SHIFT;
            page = pmu_tlb_find(&mem->dtlb, linear);
            page = page != PMU_NO_PAGE
                   ? page : mem->translate(mem->opaque, linear).page;
        }
        if (page != PMU_NO_PAGE) {
            from[warm_line(mem, pmu_line_in_page(page, addr), write)]++;
        }
    }
}

void pmu_data_prefetch(PmuMemory *mem, uint64_t line,
                       const PmuRequestKind *requests, PmuAccessOutcome *access)
{
    size_t old = pmu_cache_find(&mem->l1d, line);
    PmuL1dLine *entry;

    if (old != PMU_CACHE_NONE &&
        (!requests->writes || pmu_l1d_own(mem, line, old))) {
        return;
    }
    entry = pmu_l1d_insert(mem, line);
    pmu_beyond_l1_request(mem, line, requests, access);
    begin_line(mem, entry, requests);
}

/*
 * The load of instruction @ip at @addr was the first use of its line: prefetch
 * what the prefetcher of L1D expects it to load next.
 */
static G_GNUC_NO_INLINE void look_ahead(PmuMemory *mem, uint8_t ip,
                                        uint64_t addr, PmuAccessOutcome *access)
{
    PmuAccessOutcome ahead = {};
    uint64_t next, page;

    if (!pmu_l1d_prefetcher_load(&mem->l1d_prefetcher, ip, addr, &next)) {
        return;
    }
    page = pmu_tlb_use(&mem->dtlb, addr >> PMU_PAGE_SHIFT);
    if (page == PMU_NO_PAGE) {
        return;
    }
    pmu_data_prefetch(mem, pmu_line_in_page(page, next),
                      &pmu_request_l1d_prefetch, &ahead);
    access->l1d_prefetch = (PmuL1dPrefetchOutcome) {
        .source = ahead.source, .prefetch = ahead.prefetch,
        .snoop = ahead.snoop, .prefetch_l3 = ahead.prefetch_l3,
        .prefetch_dram = ahead.prefetch_dram,
    };
}

static G_GNUC_NO_INLINE PmuL1dLine *l1d_miss(PmuMemory *mem, uint64_t phys,
                                             PmuUse use,
                                             PmuAccessOutcome *access)
{
    static const PmuRequestKind *const requests[] = {
        [PMU_USE_LOAD] = &pmu_request_load,
        [PMU_USE_STORE] = &pmu_request_rfo,
        [PMU_USE_BOTH] = &pmu_request_update,
    };
    PmuL1dLine *line;

    pmu_tag_array_touch_set(&mem->l2, phys);
    line = pmu_l1d_insert(mem, phys);
    pmu_ledger_event(mem->ledger, PMU_ITEM_L1D_MISSES, 1);
    pmu_beyond_l1_request(mem, phys, requests[use], access);
    access->ordering_clear = use != PMU_USE_STORE && was_snooped(mem, phys);
    begin_line(mem, line, requests[use]);
    return line;
}

/*
 * The L1D entry of physical line @phys for an access that does @use, or
 * PMU_CACHE_NONE.  A store to a line that other vCPUs may have misses: the line
 * leaves L1D and is fetched anew.
 */
static inline size_t l1d_use(PmuMemory *mem, uint64_t phys, PmuUse use)
{
    size_t entry = pmu_cache_use(&mem->l1d, phys);

    return use == PMU_USE_LOAD || entry == PMU_CACHE_NONE ||
           pmu_l1d_own(mem, phys, entry)
           ? entry : PMU_CACHE_NONE;
}

/*
 * An access within one line.  If its page is not mapped, the number of the
 * linear page serves as the physical one.  If the access misses and the line
 * will not be used again soon (@once), the line stays out of the filter.
 * Returns whether this is the first use of the line since it was fetched.
 */
static inline bool line_access(PmuMemory *mem, uint64_t addr, PmuUse use,
                               bool once, PmuAccessOutcome *access)
{
    uint64_t page = addr >> PMU_PAGE_SHIFT;
    uint64_t phys = pmu_tlb_use(&mem->dtlb, page);
    bool in_dtlb = phys != PMU_NO_PAGE, mapped, plain, fresh, not_code;
    PmuL1dLine *line;
    size_t entry;

    *access = (PmuAccessOutcome) { 0 };
    if (!in_dtlb) {
        phys = pmu_data_page_walk(mem, page, use, access);
    }
    mapped = phys != PMU_NO_PAGE;
    phys = pmu_line_in_page(mapped ? phys : page, addr);
    not_code = use != PMU_USE_LOAD && mapped;
    if (not_code) {
        pmu_l1i_store(mem, phys, access);
    }
    entry = l1d_use(mem, phys, use);
    if (entry == PMU_CACHE_NONE) {
        line = l1d_miss(mem, phys, use, access);
        plain = is_untimed(mem) && !once;
    } else {
        line = &mem->line[entry];
        plain = settled(mem, line);
        if (!plain) {
            access->source = PMU_SOURCE_FILL;
            access->fill = mem->misses - line->miss;
        }
    }
    fresh = line->unused;
    line->unused = false;
    if (plain && in_dtlb && (not_code || !pmu_l1i_has(mem, phys))) {
        filter_insert(mem, addr & ~(uint64_t)(PMU_LINE_SIZE - 1), line);
    }
    return fresh;
}

static G_GNUC_NO_INLINE bool half_access(PmuMemory *mem, uint64_t addr,
                                         PmuUse use, PmuAccessOutcome *access)
{
    return line_access(mem, addr, use, false, access);
}

/*
 * An access to the lines of @first and @last.  Returns whether this is the
 * first use of one of them.
 */
static G_GNUC_NO_INLINE bool two_lines(PmuMemory *mem, uint64_t first,
                                       uint64_t last, PmuUse use,
                                       PmuAccessOutcome access[2])
{
    bool fresh = half_access(mem, first, use, &access[0]);

    fresh |= half_access(mem, last, use, &access[1]);
    pmu_ledger_event(mem->ledger, PMU_ITEM_L1D_ACCESSES, 1);
    pmu_ledger_event(mem->ledger, PMU_ITEM_LOADS_SPLIT, use != PMU_USE_STORE);
    pmu_ledger_event(mem->ledger, PMU_ITEM_STORES_SPLIT, use != PMU_USE_LOAD);
    return fresh;
}

/* The level at which @access found its line, as an offset from LOADS_L1. */
static unsigned distance(const PmuAccessOutcome *access)
{
    static const uint8_t distance_of[] = {
        [PMU_SOURCE_L1] = 0, [PMU_SOURCE_FILL] = 0,
        [PMU_SOURCE_L2] = 1, [PMU_SOURCE_PREFETCH] = 1,
        [PMU_SOURCE_L3] = 2, [PMU_SOURCE_DRAM] = 3,
    };

    return distance_of[access->source];
}

void pmu_data_count_load(PmuMemory *mem, unsigned lines,
                         const PmuAccessOutcome access[2])
{
    static const PmuAccessOutcome from_l3 = { .source = PMU_SOURCE_L3 };
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
                                   unsigned size, PmuUse use, int ip,
                                   PmuAccessOutcome access[2])
{
    unsigned lines = 1;
    bool fresh;

    if (G_UNLIKELY((addr & (PMU_LINE_SIZE - 1)) + size > PMU_LINE_SIZE)) {
        fresh = two_lines(mem, addr, addr + size - 1, use, access);
        lines = 2;
    } else {
        fresh = line_access(mem, addr, use, false, access);
    }
    if (use != PMU_USE_STORE) {
        pmu_data_count_load(mem, lines, access);
        if (fresh && ip != PMU_NO_IP) {
            look_ahead(mem, ip, addr, &access[lines - 1]);
        }
    }
    return lines;
}

unsigned pmu_memory_load(PmuMemory *mem, uint64_t addr, unsigned size, int ip,
                         PmuAccessOutcome access[2])
{
    return data_access(mem, addr, size, PMU_USE_LOAD, ip, access);
}

unsigned pmu_memory_store(PmuMemory *mem, uint64_t addr, unsigned size,
                          PmuAccessOutcome access[2])
{
    return data_access(mem, addr, size, PMU_USE_STORE, PMU_NO_IP, access);
}

unsigned pmu_memory_update(PmuMemory *mem, uint64_t addr, unsigned size,
                           int ip, PmuAccessOutcome access[2])
{
    return data_access(mem, addr, size, PMU_USE_BOTH, ip, access);
}

void pmu_memory_string_line(PmuMemory *mem, uint64_t addr, bool store,
                            PmuAccessOutcome *access)
{
    line_access(mem, addr, store ? PMU_USE_STORE : PMU_USE_LOAD, true, access);
    if (!store) {
        pmu_data_count_load(mem, 1, access);
    }
}
