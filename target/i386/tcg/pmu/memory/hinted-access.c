/*
 * Prefetch instructions, non-temporal stores, CLFLUSH.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/memory/beyond-l1.h"
#include "tcg/pmu/memory/code-access.h"
#include "tcg/pmu/memory/coherence.h"
#include "tcg/pmu/memory/data-access.h"
#include "tcg/pmu/memory/hinted-access.h"

/* No physical line is this. */
#define NO_PHYSICAL_LINE    UINT64_MAX

/*
 * Translate @addr for an access that need not have its line in L1D.  Returns
 * the physical line, or NO_PHYSICAL_LINE if the page is not mapped.
 */
static uint64_t hinted_line(PmuMemory *mem, uint64_t addr, PmuUse use,
                            PmuAccessOutcome *access)
{
    uint64_t page = addr >> PMU_PAGE_SHIFT;
    uint64_t phys = pmu_tlb_use(&mem->dtlb, page);

    *access = (PmuAccessOutcome) { 0 };
    if (phys == PMU_NO_PAGE) {
        phys = pmu_data_page_walk(mem, page, use, access);
    }
    return phys == PMU_NO_PAGE
           ? NO_PHYSICAL_LINE : pmu_line_in_page(phys, addr);
}

void pmu_memory_prefetch(PmuMemory *mem, uint64_t addr, PmuHint hint,
                         PmuAccessOutcome *access)
{
    uint64_t line = hinted_line(mem, addr, PMU_USE_LOAD, access);

    if (line == NO_PHYSICAL_LINE) {
        return;
    }
    if (hint != PMU_HINT_PREFETCH_L2) {
        pmu_data_prefetch(mem, line,
                          hint == PMU_HINT_PREFETCH_W
                          ? &pmu_request_rfo : &pmu_request_software_prefetch,
                          access);
        pmu_ledger_event(mem->ledger, PMU_ITEM_SOFT_PREFETCH_L1D,
                         hint == PMU_HINT_PREFETCH &&
                         access->source != PMU_SOURCE_L1);
    } else if (pmu_cache_find(&mem->l1d, line) == PMU_CACHE_NONE) {
        pmu_beyond_l1_prefetch(mem, line, access);
    }
    pmu_data_count_load(mem, 1, access);
}

/* Write physical line @line from a write-combining buffer to DRAM. */
static void write_out(PmuMemory *mem, uint64_t line)
{
    bool in_l3 = pmu_coherence_drop_line(mem, line);

    pmu_ledger_event(mem->ledger, in_l3 ? PMU_ITEM_STREAM_L3
                                        : PMU_ITEM_STREAM_DRAM, 1);
}

void pmu_memory_flush_line(PmuMemory *mem, uint64_t addr,
                           PmuAccessOutcome *access)
{
    uint64_t line = hinted_line(mem, addr, PMU_USE_LOAD, access);

    if (line == NO_PHYSICAL_LINE) {
        return;
    }
    pmu_coherence_drop_line(mem, line);
    if (pmu_l1i_has(mem, line)) {
        pmu_cache_remove(&mem->l1i, line);
        pmu_l1i_notify_evicted(mem, line);
    }
}

/* A non-temporal store within one line. */
static void stream_access(PmuMemory *mem, uint64_t addr, unsigned size,
                          PmuAccessOutcome *access)
{
    uint64_t bytes = (size < PMU_LINE_SIZE ? (1ull << size) - 1 : UINT64_MAX)
                     << (addr & (PMU_LINE_SIZE - 1));
    uint64_t line = hinted_line(mem, addr, PMU_USE_STORE, access);
    uint64_t gone[PMU_WRITE_COMBINING_LINES];
    unsigned lines;

    if (line == NO_PHYSICAL_LINE) {
        return;
    }
    pmu_l1i_store(mem, line, access);
    lines = pmu_write_combining_store(&mem->write_combining, line, bytes, gone);
    for (unsigned i = 0; i < lines; i++) {
        write_out(mem, gone[i]);
    }
}

unsigned pmu_memory_non_temporal_store(PmuMemory *mem, uint64_t addr,
                                       unsigned size,
                                       PmuAccessOutcome access[2])
{
    unsigned here = MIN(size, PMU_LINE_SIZE - (addr & (PMU_LINE_SIZE - 1)));

    stream_access(mem, addr, here, &access[0]);
    if (here == size) {
        return 1;
    }
    stream_access(mem, addr + here, size - here, &access[1]);
    pmu_ledger_event(mem->ledger, PMU_ITEM_L1D_ACCESSES, 1);
    pmu_ledger_event(mem->ledger, PMU_ITEM_STORES_SPLIT, 1);
    return 2;
}
