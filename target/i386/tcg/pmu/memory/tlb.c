/*
 * Translation lookaside buffers: pages of three sizes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/memory/tlb.h"

/* The PmuPageSize in an STLB key: from this bit on, above those of a page. */
#define STLB_SIZE_SHIFT 60

static bool init_array(PmuCache *cache, const PmuTlbGeometry *geometry)
{
    return pmu_cache_init(cache, geometry->entries / geometry->ways,
                          geometry->ways, true);
}

/* The first 4 KiB of the page of @size that @page is a part of. */
static uint64_t base_of(uint64_t page, PmuPageSize size)
{
    return pmu_page_of(page, size) << (PMU_PAGE_SIZE_BITS * size);
}

/* The value of an entry for pages of @size that has @mapping. */
static uint64_t value_of(PmuMapping mapping, PmuPageSize size)
{
    return base_of(mapping.page, size) |
           (mapping.global ? PMU_TLB_GLOBAL : 0);
}

/* The mapping of linear page @page in an entry for pages of @size. */
static PmuMapping mapping_of(uint64_t value, uint64_t page, PmuPageSize size)
{
    return (PmuMapping) {
        .page = (value & ~PMU_TLB_GLOBAL) + (page - base_of(page, size)),
        .size = size,
        .global = value & PMU_TLB_GLOBAL,
    };
}

static bool has_entries(const PmuTlb *tlb, PmuPageSize size)
{
    return tlb->of[size].tags;
}

bool pmu_tlb_init(PmuTlb *tlb, const PmuTlbGeometry geometry[PMU_PAGE_SIZES])
{
    bool ok = true;

    g_assert(geometry[PMU_PAGE_4K].entries);
    for (PmuPageSize size = 0; size < PMU_PAGE_SIZES; size++) {
        if (geometry[size].entries) {
            ok &= init_array(&tlb->of[size], &geometry[size]);
        }
    }
    return ok;
}

void pmu_tlb_destroy(PmuTlb *tlb)
{
    for (PmuPageSize size = 0; size < PMU_PAGE_SIZES; size++) {
        pmu_cache_destroy(&tlb->of[size]);
    }
}

void pmu_tlb_clear(PmuTlb *tlb)
{
    pmu_cache_clear(&tlb->of[PMU_PAGE_4K]);
    if (!tlb->large) {
        return;
    }
    for (PmuPageSize size = PMU_PAGE_2M; size < PMU_PAGE_SIZES; size++) {
        if (has_entries(tlb, size)) {
            pmu_cache_clear(&tlb->of[size]);
        }
    }
    tlb->large = false;
}

void pmu_tlb_keep_global(PmuTlb *tlb)
{
    pmu_cache_keep(&tlb->of[PMU_PAGE_4K], PMU_TLB_GLOBAL);
    for (PmuPageSize size = PMU_PAGE_2M;
         tlb->large && size < PMU_PAGE_SIZES; size++) {
        if (has_entries(tlb, size)) {
            pmu_cache_keep(&tlb->of[size], PMU_TLB_GLOBAL);
        }
    }
}

uint64_t pmu_tlb_use_large(PmuTlb *tlb, uint64_t page)
{
    for (PmuPageSize size = PMU_PAGE_2M; size < PMU_PAGE_SIZES; size++) {
        PmuCache *cache = &tlb->of[size];
        size_t entry = has_entries(tlb, size)
                       ? pmu_cache_use(cache, pmu_page_of(page, size))
                       : PMU_CACHE_NONE;

        if (entry != PMU_CACHE_NONE) {
            return mapping_of(cache->data[entry], page, size).page;
        }
    }
    return PMU_NO_PAGE;
}

uint64_t pmu_tlb_find(const PmuTlb *tlb, uint64_t page)
{
    for (PmuPageSize size = 0; size < PMU_PAGE_SIZES; size++) {
        const PmuCache *cache = &tlb->of[size];
        size_t entry = has_entries(tlb, size)
                       ? pmu_cache_find(cache, pmu_page_of(page, size))
                       : PMU_CACHE_NONE;

        if (entry != PMU_CACHE_NONE) {
            return mapping_of(cache->data[entry], page, size).page;
        }
    }
    return PMU_NO_PAGE;
}

PmuMapping pmu_tlb_insert(PmuTlb *tlb, uint64_t page, PmuMapping mapping,
                          PmuTlbDrop drop, void *opaque)
{
    PmuPageSize size = mapping.size;
    PmuMapping evicted = { PMU_NO_PAGE };
    PmuCache *cache;
    uint64_t dropped, number;
    size_t first, entry;

    while (!has_entries(tlb, size)) {
        size--;
    }
    cache = &tlb->of[size];
    number = pmu_page_of(page, size);
    first = pmu_cache_first(cache, number);
    entry = pmu_cache_choose(cache, number, &dropped);
    for (; drop && dropped; dropped &= dropped - 1) {
        /* For an empty entry this drops page -1, which does no harm. */
        drop(opaque, cache->tags[first + __builtin_ctzll(dropped)] - 1, size);
    }
    if (cache->tags[entry]) {
        evicted = mapping_of(cache->data[entry], 0, size);
    }
    pmu_cache_fill(cache, entry, number);
    cache->data[entry] = value_of(mapping, size);
    tlb->large |= size != PMU_PAGE_4K;
    return evicted;
}

PmuMapping pmu_tlb_remove(PmuTlb *tlb, uint64_t page)
{
    PmuMapping removed = { PMU_NO_PAGE };

    for (PmuPageSize size = 0; size < PMU_PAGE_SIZES; size++) {
        PmuCache *cache = &tlb->of[size];
        uint64_t number = pmu_page_of(page, size);
        size_t entry = has_entries(tlb, size) ? pmu_cache_find(cache, number)
                                              : PMU_CACHE_NONE;

        if (entry != PMU_CACHE_NONE) {
            removed = mapping_of(cache->data[entry], 0, size);
            pmu_cache_remove(cache, number);
        }
    }
    return removed;
}

/* The key of linear page @page, as a part of a page of @size, in the STLB. */
static uint64_t stlb_key(uint64_t page, PmuPageSize size)
{
    return pmu_page_of(page, size) | (uint64_t)size << STLB_SIZE_SHIFT;
}

/* The number of page sizes to look for, from PMU_PAGE_4K on. */
static PmuPageSize stlb_sizes(const PmuStlb *stlb)
{
    return stlb->large ? PMU_PAGE_SIZES : PMU_PAGE_2M;
}

bool pmu_stlb_init(PmuStlb *stlb, const PmuTlbGeometry *geometry)
{
    return init_array(&stlb->cache, geometry);
}

void pmu_stlb_destroy(PmuStlb *stlb)
{
    pmu_cache_destroy(&stlb->cache);
}

void pmu_stlb_clear(PmuStlb *stlb)
{
    pmu_cache_clear(&stlb->cache);
    stlb->large = false;
    stlb->num_local = 0;
}

void pmu_stlb_keep_global(PmuStlb *stlb)
{
    PmuCache *cache = &stlb->cache;

    if (stlb->num_local > PMU_STLB_LOCAL) {
        pmu_cache_keep(cache, PMU_TLB_GLOBAL);
        stlb->num_local = 0;
    }
    while (stlb->num_local) {
        uint32_t entry = stlb->local[--stlb->num_local];

        if (!(cache->data[entry] & PMU_TLB_GLOBAL)) {
            pmu_cache_forget(cache, entry);
        }
    }
}

/* Remember that @entry has a mapping that is not global. */
static void note_local(PmuStlb *stlb, size_t entry)
{
    if (stlb->num_local < PMU_STLB_LOCAL) {
        stlb->local[stlb->num_local++] = entry;
    } else {
        stlb->num_local = PMU_STLB_LOCAL + 1;
    }
}

PmuMapping pmu_stlb_use(PmuStlb *stlb, uint64_t page)
{
    for (PmuPageSize size = 0; size < stlb_sizes(stlb); size++) {
        size_t entry = pmu_cache_use(&stlb->cache, stlb_key(page, size));

        if (entry != PMU_CACHE_NONE) {
            return mapping_of(stlb->cache.data[entry], page, size);
        }
    }
    return (PmuMapping) { PMU_NO_PAGE };
}

void pmu_stlb_insert(PmuStlb *stlb, uint64_t page, PmuMapping mapping)
{
    size_t entry = pmu_cache_insert(&stlb->cache,
                                    stlb_key(page, mapping.size));

    stlb->cache.data[entry] = value_of(mapping, mapping.size);
    stlb->large |= mapping.size != PMU_PAGE_4K;
    if (!mapping.global) {
        note_local(stlb, entry);
    }
}

void pmu_stlb_remove(PmuStlb *stlb, uint64_t page)
{
    for (PmuPageSize size = 0; size < stlb_sizes(stlb); size++) {
        pmu_cache_remove(&stlb->cache, stlb_key(page, size));
    }
}
