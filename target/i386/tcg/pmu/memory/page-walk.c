/*
 * Translations that the first-level TLBs lack: the STLB, and page walks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/memory/beyond-l1.h"
#include "tcg/pmu/memory/l1d.h"
#include "tcg/pmu/memory/page-walk.h"

/*
 * The entry of a page in its page table has eight bytes, so a line has eight
 * entries.  The model does not look up where the guest's tables are.  It gives
 * them physical lines beyond all memory, in the order of linear pages, others
 * for each page size.
 */
#define PAGES_PER_LINE  8
#define PAGE_TABLES(size)   (((uint64_t)(size) << 52) + \
                             (1ull << (52 - PMU_LINE_SHIFT)))

/* Items of a kind of translations, counted from PmuTranslationItems on. */
enum { IN_STLB, WALK_CYCLES, WALKS };

static void count(PmuMemory *mem, PmuTranslationItems items, unsigned member,
                  int64_t n)
{
    pmu_ledger_event(mem->ledger, (PmuLedgerItem)items + member, n);
}

/*
 * The page walker loads physical line @line.  Returns the cycles that it waits
 * beyond a hit in L1D.  The load fills caches as others do, but it is neither
 * counted nor numbered.
 */
static uint32_t walker_load(PmuMemory *mem, uint64_t line)
{
    if (pmu_cache_use(&mem->l1d, line) != PMU_CACHE_NONE) {
        return 0;
    }
    *pmu_l1d_insert(mem, line) = (PmuL1dLine) { .linear = PMU_NO_LINE };
    if (pmu_tag_array_access(&mem->l2, line)) {
        return mem->uarch->l2.latency;
    }
    return pmu_beyond_l1_access_l3(mem, line, false) != PMU_DIRECTORY_MISS
           ? mem->uarch->l3.latency : pmu_uarch_dram_latency(mem->uarch);
}

/*
 * Cycles of a page walk for linear page @page, which is part of a page of
 * @size.  The walker loads the entry of that page; upper levels are in its own
 * caches.
 */
static uint16_t walk_cycles(PmuMemory *mem, uint64_t page, PmuPageSize size)
{
    uint64_t entry = pmu_page_of(page, size) / PAGES_PER_LINE;
    uint32_t cycles = mem->uarch->page_walk +
                      walker_load(mem, PAGE_TABLES(size) + entry);

    return MIN(cycles, UINT16_MAX);
}

/* The items of walks count the walk alone, without the lookup in the STLB. */
PmuMapping pmu_page_walk(PmuMemory *mem, uint64_t page,
                         PmuTranslationItems items, PmuAccessOutcome *access)
{
    PmuMapping mapping = pmu_stlb_use(&mem->stlb, page);

    access->delay = mem->uarch->stlb.latency;
    if (mapping.page != PMU_NO_PAGE) {
        count(mem, items, IN_STLB, 1);
    } else {
        mapping = mem->translate(mem->opaque, page);
        access->walk = walk_cycles(mem, page, mapping.size);
        /* Code has no item for the largest pages. */
        count(mem, items, WALKS + MIN(mapping.size,
                                      items == PMU_TRANSLATIONS_CODE
                                      ? PMU_PAGE_2M : PMU_PAGE_1G), 1);
        count(mem, items, WALK_CYCLES, access->walk);
        if (mapping.page != PMU_NO_PAGE) {
            pmu_stlb_insert(&mem->stlb, page, mapping);
        }
    }
    return mapping;
}
