/*
 * Fetches, which use L1I and the ITLB.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcg/pmu/memory/beyond-l1.h"
#include "tcg/pmu/memory/code-access.h"
#include "tcg/pmu/memory/l1d.h"
#include "tcg/pmu/memory/page-walk.h"

void pmu_memory_on_code_evicted(PmuMemory *mem, PmuCodeEvicted code_evicted,
                                void *opaque)
{
    mem->code_evicted = code_evicted;
    mem->code_opaque = opaque;
}

void pmu_l1i_notify_evicted(PmuMemory *mem, uint64_t line)
{
    if (mem->code_evicted) {
        mem->code_evicted(mem->code_opaque, line, 1);
    }
}

void pmu_l1i_notify_page_evicted(PmuMemory *mem, PmuMapping mapping)
{
    if (mem->code_evicted && mapping.page != PMU_NO_PAGE) {
        mem->code_evicted(mem->code_opaque, mapping.page * PMU_PAGE_LINES,
                       (uint64_t)PMU_PAGE_LINES <<
                       (PMU_PAGE_SIZE_BITS * mapping.size));
    }
}

void pmu_l1i_notify_all_evicted(PmuMemory *mem)
{
    if (mem->code_evicted) {
        mem->code_evicted(mem->code_opaque, 0, PMU_ALL_LINES);
    }
}

static void itlb_insert(PmuMemory *mem, uint64_t page, PmuMapping mapping)
{
    pmu_l1i_notify_page_evicted(mem, pmu_tlb_insert(&mem->itlb, page, mapping,
                                                    NULL, NULL));
}

static void l1i_insert(PmuMemory *mem, uint64_t line)
{
    uint64_t dropped;
    size_t entry = pmu_cache_choose(&mem->l1i, line, &dropped);

    if (mem->l1i.tags[entry]) {
        pmu_l1i_notify_evicted(mem, mem->l1i.tags[entry] - 1);
    }
    pmu_cache_fill(&mem->l1i, entry, line);
    pmu_l1d_unfilter(mem, line);
}

/* Translate @pc for a fetch of the code at physical address @phys. */
static void code_page(PmuMemory *mem, uint64_t pc, uint64_t phys,
                      PmuAccessOutcome *access)
{
    uint64_t page = pc >> PMU_PAGE_SHIFT;
    PmuMapping mapping;

    if (pmu_tlb_use(&mem->itlb, page) != PMU_NO_PAGE) {
        return;
    }
    mapping = pmu_page_walk(mem, page, PMU_TRANSLATIONS_CODE, access);
    if (mapping.page == PMU_NO_PAGE) {
        /* The code has just run at @phys, whatever is mapped by now. */
        mapping.page = phys >> PMU_PAGE_SHIFT;
        pmu_stlb_insert(&mem->stlb, page, mapping);
    }
    itlb_insert(mem, page, mapping);
}

void pmu_memory_fetch(PmuMemory *mem, uint64_t pc, uint64_t phys,
                      PmuAccessOutcome *access)
{
    uint64_t line = phys >> PMU_LINE_SHIFT;

    *access = (PmuAccessOutcome) {};
    code_page(mem, pc, phys, access);
    if (pmu_cache_use(&mem->l1i, line) == PMU_CACHE_NONE) {
        l1i_insert(mem, line);
        pmu_ledger_event(mem->ledger, PMU_ITEM_L1I_MISSES, 1);
        pmu_beyond_l1_request(mem, line, &pmu_request_code, access);
    }
}
