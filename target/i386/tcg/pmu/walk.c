/*
 * Translations that first-level TLBs lack: the second level, and page walks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>

#include "memory-internal.h"

/*
 * A page's entry in its table has eight bytes, eight entries a line.  Where the
 * tables are is not asked of the guest: they get lines of their own, beyond all
 * memory, in the order of linear pages, for each size of pages.
 */
#define PAGES_PER_LINE  8
#define PAGE_TABLES(size)   (((uint64_t)(size) << 52) + \
                             (1ull << (52 - PMU_LINE_SHIFT)))

/* Members of PmuTranslations, from its value on. */
enum { IN_STLB, WALK_CYCLES, WALKS };

static void count(PmuMemory *mem, PmuTranslations items, unsigned member,
                  int64_t n)
{
    pmu_ledger_event(mem->ledger, (PmuLedgerItem)items + member, n);
}

/*
 * The walker waits for its last load, the entry of @page's page of @size in its
 * table; upper levels are in its own caches.
 */
static uint16_t walk_cycles(PmuMemory *mem, uint64_t page, PmuPageSize size)
{
    uint64_t entry = pmu_page_of(page, size) / PAGES_PER_LINE;
    uint32_t cycles = mem->uarch->page_walk +
                      pmu_memory_walker_load(mem, PAGE_TABLES(size) + entry);

    return MIN(cycles, UINT16_MAX);
}

/* Counters of walks see the walk alone, not the look at the STLB. */
PmuMapping pmu_walk(PmuMemory *mem, uint64_t page, PmuTranslations items,
                    PmuAccess *access)
{
    PmuMapping mapping = pmu_stlb_use(&mem->stlb, page);

    access->delay = mem->uarch->stlb.latency;
    if (mapping.page != PMU_NO_PAGE) {
        count(mem, items, IN_STLB, 1);
    } else {
        mapping = mem->translate(mem->opaque, page);
        access->walk = walk_cycles(mem, page, mapping.size);
        /* Code has no items for the largest. */
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
