/*
 * Cached successors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/frontend/successor-cache.h"

bool pmu_successor_cache_init(PmuSuccessorCache *cache, uint32_t entries)
{
    *cache = (PmuSuccessorCache) {
        .successors = g_try_new0(uint64_t, PMU_BLOCK_NUMBERS),
        .links = g_try_new0(PmuSuccessorLink, PMU_BLOCK_NUMBERS),
        .first = g_try_new0(uint32_t, entries),
        .num = g_try_new0(uint8_t, entries),
        .entries = entries,
    };
    return cache->successors && cache->links && cache->first && cache->num;
}

void pmu_successor_cache_destroy(PmuSuccessorCache *cache)
{
    g_free(cache->successors);
    g_free(cache->links);
    g_free(cache->first);
    g_free(cache->num);
}

void pmu_successor_cache_clear_entry(PmuSuccessorCache *cache, unsigned entry)
{
    while (cache->first[entry]) {
        uint32_t number = cache->first[entry] - 1;

        cache->first[entry] = cache->links[number].next;
        cache->links[number] = (PmuSuccessorLink) {};
        cache->successors[number] = PMU_NO_SUCCESSOR;
    }
    cache->num[entry] = 0;
}

void pmu_successor_cache_clear(PmuSuccessorCache *cache)
{
    for (uint32_t i = 0; i < cache->entries; i++) {
        pmu_successor_cache_clear_entry(cache, i);
    }
}

/* Block @number depends on no entry any more. */
static void unlink_block(PmuSuccessorCache *cache, uint32_t number)
{
    PmuSuccessorLink *own = &cache->links[number];
    uint32_t *link;

    if (!own->entry) {
        return;
    }
    link = &cache->first[own->entry - 1];
    while (*link != number + 1) {
        link = &cache->links[*link - 1].next;
    }
    *link = own->next;
    cache->num[own->entry - 1]--;
    *own = (PmuSuccessorLink) {};
}

void pmu_successor_cache_set(PmuSuccessorCache *cache, uint32_t number,
                             unsigned entry, uint64_t target)
{
    PmuSuccessorLink *own = &cache->links[number];

    if (own->entry != entry + 1) {
        unlink_block(cache, number);
        if (G_UNLIKELY(cache->num[entry] == PMU_MAX_SUCCESSORS_OF_ENTRY)) {
            pmu_successor_cache_clear_entry(cache, entry);
        }
        *own = (PmuSuccessorLink) {
            .next = cache->first[entry], .entry = entry + 1,
        };
        cache->first[entry] = number + 1;
        cache->num[entry]++;
    }
    cache->successors[number] = target;
}
