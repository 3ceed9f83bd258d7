/*
 * The memory side as a whole: creates, destroys, resets and flushes its parts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/memory/code-access.h"
#include "tcg/pmu/memory/memory.h"

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
    ok &= pmu_tag_array_init(&mem->l2, &uarch->l2, false);
    ok &= pmu_tlb_init(&mem->dtlb, uarch->dtlb);
    ok &= pmu_tlb_init(&mem->itlb, uarch->itlb);
    ok &= pmu_stlb_init(&mem->stlb, &uarch->stlb);
    mem->line = g_try_new(PmuL1dLine, lines_of(&uarch->l1d));
    mem->shared_l3 = l3 ? pmu_l3_ref(l3) : pmu_l3_new(uarch);
    if (!ok || !mem->line || !mem->shared_l3) {
        pmu_memory_destroy(mem);
        return false;
    }
    mem->l3 = pmu_l3_tag_array(mem->shared_l3);
    mem->sharer = pmu_l3_add_sharer(mem->shared_l3);
    mem->snoops = pmu_l3_queue(mem->shared_l3, mem->sharer);
    /* A store further back than the store buffer reaches is in the cache. */
    pmu_store_forwarding_init(&mem->forwarding,
                              MIN(uarch->store_buffer, PMU_OUTCOME_STORES));
    pmu_memory_reset(mem);
    return true;
}

void pmu_memory_destroy(PmuMemory *mem)
{
    pmu_cache_destroy(&mem->l1d);
    pmu_cache_destroy(&mem->l1i);
    pmu_tag_array_destroy(&mem->l2);
    pmu_tlb_destroy(&mem->dtlb);
    pmu_tlb_destroy(&mem->itlb);
    pmu_stlb_destroy(&mem->stlb);
    g_clear_pointer(&mem->line, g_free);
    g_clear_pointer(&mem->shared_l3, pmu_l3_unref);
}

static void flush_all(PmuMemory *mem)
{
    pmu_l1_hit_filter_clear(&mem->filter);
    pmu_tlb_clear(&mem->dtlb);
    pmu_tlb_clear(&mem->itlb);
    pmu_stlb_clear(&mem->stlb);
}

void pmu_memory_reset(PmuMemory *mem)
{
    pmu_cache_clear(&mem->l1d);
    pmu_cache_clear(&mem->l1i);
    pmu_tag_array_clear(&mem->l2);
    if (mem->own_l3) {
        pmu_tag_array_clear(mem->l3);
    }
    for (size_t i = 0; i < lines_of(&mem->uarch->l1d); i++) {
        mem->line[i].linear = PMU_NO_LINE;
    }
    mem->misses = 0;
    mem->misses_arrived = 0;
    mem->prefetches = 0;
    mem->streamed = 0;
    mem->num_snooped = 0;
    memset(mem->prefetch, 0, sizeof(mem->prefetch));
    pmu_write_combining_init(&mem->write_combining, mem->uarch->fill_buffers);
    pmu_store_forwarding_reset(&mem->forwarding);
    pmu_streamer_init(&mem->streamer, mem->uarch->prefetch_distance);
    pmu_l1d_prefetcher_init(&mem->l1d_prefetcher, mem->uarch->l1d_prefetch);
    flush_all(mem);
}

static void flush_local(PmuMemory *mem)
{
    pmu_l1_hit_filter_clear(&mem->filter);
    pmu_tlb_keep_global(&mem->dtlb);
    pmu_tlb_keep_global(&mem->itlb);
    pmu_stlb_keep_global(&mem->stlb);
}

static void flush_page(PmuMemory *mem, uint64_t linear)
{
    uint64_t page = linear >> PMU_PAGE_SHIFT;
    PmuPageSize sizes = mem->dtlb.large ? PMU_PAGE_SIZES : PMU_PAGE_2M;

    for (PmuPageSize size = 0; size < sizes; size++) {
        pmu_l1_hit_filter_remove_page(&mem->filter, pmu_page_of(page, size),
                                      size);
    }
    pmu_tlb_remove(&mem->dtlb, page);
    /* The DSB is included in the ITLB. */
    pmu_l1i_notify_page_evicted(mem, pmu_tlb_remove(&mem->itlb, page));
    pmu_stlb_remove(&mem->stlb, page);
}

void pmu_memory_flush_mappings(PmuMemory *mem, PmuTlbFlush flush,
                               uint64_t linear)
{
    pmu_ledger_event(mem->ledger, PMU_ITEM_TLB_FLUSHES, 1);
    switch (flush) {
    case PMU_TLB_FLUSH_ALL:
        flush_all(mem);
        pmu_l1i_notify_all_evicted(mem);
        break;
    case PMU_TLB_FLUSH_LOCAL:
        /* The DSB loses global pages, too: see fetch.c. */
        flush_local(mem);
        pmu_l1i_notify_all_evicted(mem);
        break;
    case PMU_TLB_FLUSH_PAGE:
        flush_page(mem, linear);
        break;
    }
}
