/*
 * A set-associative array with second-chance replacement.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/memory/cache.h"

bool pmu_cache_init(PmuCache *cache, uint32_t sets, uint32_t ways,
                    bool with_data)
{
    size_t entries = (size_t)sets * ways;

    g_assert(sets && !(sets & (sets - 1)));
    g_assert(ways && ways <= PMU_MAX_CACHE_WAYS);
    cache->tags = g_try_new0(uint64_t, entries);
    cache->data = with_data ? g_try_new0(uint64_t, entries) : NULL;
    cache->recent = g_try_new0(uint32_t, sets);
    cache->set = g_try_new0(PmuCacheSet, sets);
    cache->set_mask = sets - 1;
    cache->ways = ways;
    if (!cache->tags || !cache->recent || !cache->set ||
        (with_data && !cache->data)) {
        pmu_cache_destroy(cache);
        return false;
    }
    return true;
}

void pmu_cache_destroy(PmuCache *cache)
{
    g_clear_pointer(&cache->tags, g_free);
    g_clear_pointer(&cache->data, g_free);
    g_clear_pointer(&cache->recent, g_free);
    g_clear_pointer(&cache->set, g_free);
}

void pmu_cache_clear(PmuCache *cache)
{
    size_t sets = cache->set_mask + 1;

    memset(cache->tags, 0, sets * cache->ways * sizeof(*cache->tags));
    memset(cache->recent, 0, sets * sizeof(*cache->recent));
    memset(cache->set, 0, sets * sizeof(*cache->set));
}

/*
 * Remove from the @tags of a set those whose values have no bit of @mask.
 * Returns a bit for each way whose value has one.  Hot.
 */
static inline uint64_t keep_ways(uint64_t *restrict tags,
                                 const uint64_t *restrict values,
                                 unsigned ways, uint64_t mask)
{
    uint64_t kept = 0;

    for (unsigned way = 0; way < ways; way++) {
        uint64_t keep = (values[way] & mask) != 0;

        tags[way] &= -keep;
        kept |= keep << way;
    }
    return kept;
}

void pmu_cache_keep(PmuCache *cache, uint64_t mask)
{
    for (uint64_t i = 0; i <= cache->set_mask; i++) {
        size_t first = pmu_cache_first(cache, i);

        cache->set[i].used &= keep_ways(cache->tags + first,
                                        cache->data + first, cache->ways,
                                        mask);
    }
}

void pmu_cache_forget(PmuCache *cache, size_t entry)
{
    cache->tags[entry] = 0;
    cache->set[entry / cache->ways].used &= ~(1ull << entry % cache->ways);
}

/* Two tags, to be compared at once. */
typedef uint64_t Tags __attribute__((vector_size(16), aligned(8), may_alias));

#define LANES   (sizeof(Tags) / sizeof(uint64_t))

/*
 * Hot, and most keys are not in the array: the loop compares all ways, as the
 * host could not predict an exit.
 */
size_t pmu_cache_find(const PmuCache *cache, uint64_t key)
{
    size_t first = pmu_cache_first(cache, key);
    const uint64_t *tags = &cache->tags[first];
    unsigned way = 0;
    Tags found = {}, bit = { 1, 2 };
    uint64_t ways;

    for (; way + LANES <= cache->ways; way += LANES) {
        found |= (Tags)(*(const Tags *)&tags[way] == key + 1) & bit;
        bit <<= LANES;
    }
    ways = found[0] | found[1];
    if (way < cache->ways && tags[way] == key + 1) {
        ways |= 1ull << way;
    }
    return ways ? first + __builtin_ctzll(ways) : PMU_CACHE_NONE;
}

/* Mark @key, which is in @entry, as used, and as the last used of its set. */
static inline void mark_used(PmuCache *cache, uint64_t key, size_t entry)
{
    size_t set = key & cache->set_mask;

    cache->set[set].used |= 1ull << (entry - set * cache->ways);
    cache->recent[set] = entry;
}

size_t pmu_cache_use_slow(PmuCache *cache, uint64_t key)
{
    size_t entry = pmu_cache_find(cache, key);

    if (entry != PMU_CACHE_NONE) {
        mark_used(cache, key, entry);
    }
    return entry;
}

/* Bits [@from, @to) of a word; @from <= @to <= 64. */
static inline uint64_t bits(uint32_t from, uint32_t to)
{
    uint64_t below = to < 64 ? (1ull << to) - 1 : UINT64_MAX;

    return from < 64 ? below >> from << from : 0;
}

size_t pmu_cache_choose(PmuCache *cache, uint64_t key, uint64_t *dropped)
{
    PmuCacheSet *set = &cache->set[key & cache->set_mask];
    uint64_t unused = bits(0, cache->ways) & ~set->used;
    uint64_t ahead = unused & bits(set->hand, cache->ways);
    uint64_t passed;
    uint32_t way;

    if (ahead) {
        way = __builtin_ctzll(ahead);
        passed = bits(set->hand, way);
    } else {
        /*
         * No way from the hand on is unused, so the search goes on from way 0.
         * If all are used it ends at the hand, having cleared all bits.
         */
        way = unused ? (uint32_t)__builtin_ctzll(unused) : set->hand;
        passed = bits(set->hand, cache->ways) |
                 bits(0, unused ? way : set->hand);
    }
    *dropped = passed | 1ull << way;
    set->used &= ~*dropped;
    set->hand = way + 1 == cache->ways ? 0 : way + 1;
    return pmu_cache_first(cache, key) + way;
}

void pmu_cache_fill(PmuCache *cache, size_t entry, uint64_t key)
{
    cache->tags[entry] = key + 1;
    mark_used(cache, key, entry);
}

size_t pmu_cache_insert(PmuCache *cache, uint64_t key)
{
    uint64_t dropped;
    size_t entry = pmu_cache_choose(cache, key, &dropped);

    pmu_cache_fill(cache, entry, key);
    return entry;
}

void pmu_cache_remove(PmuCache *cache, uint64_t key)
{
    size_t entry = pmu_cache_find(cache, key);

    if (entry != PMU_CACHE_NONE) {
        pmu_cache_forget(cache, entry);
    }
}
