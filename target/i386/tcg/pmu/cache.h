/*
 * A set-associative array with exact LRU replacement.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: caches, TLBs, the BTB and the DSB are built from
 * it.  Plain C.
 */

#ifndef TARGET_I386_PMU_CACHE_H
#define TARGET_I386_PMU_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The keys of a set are kept in order of use, the most recent first, so a hit
 * on that one costs a comparison and changes nothing.
 */
typedef struct PmuCache {
    uint64_t *tags;             /* sets x ways of key + 1, 0 is empty */
    uint64_t *data;             /* a value beside each tag, or NULL */
    uint64_t set_mask;
    uint32_t ways;
} PmuCache;

/*
 * An empty array of @sets (a power of 2) x @ways (1 or more), with a value
 * beside each key if @with_data.  False if memory runs out.
 */
bool pmu_cache_init(PmuCache *cache, uint32_t sets, uint32_t ways,
                    bool with_data);
void pmu_cache_destroy(PmuCache *cache);

/* Forget every key. */
void pmu_cache_clear(PmuCache *cache);

/* The rest of pmu_cache_access(), when the most recent key is another one. */
bool pmu_cache_access_slow(PmuCache *cache, uint64_t key);

/*
 * Is @key present?  In either case it is the most recent of its set then: if
 * it was not there, the least recent leaves.  For arrays without values.
 */
static inline bool pmu_cache_access(PmuCache *cache, uint64_t key)
{
    size_t first = (size_t)(key & cache->set_mask) * cache->ways;

    if (__builtin_expect(cache->tags[first] == key + 1, 1)) {
        return true;
    }
    return pmu_cache_access_slow(cache, key);
}

/* The rest of pmu_cache_lookup(), when the most recent key is another one. */
bool pmu_cache_lookup_slow(PmuCache *cache, uint64_t key);

/* Is @key present?  It becomes the most recent of its set if so. */
static inline bool pmu_cache_lookup(PmuCache *cache, uint64_t key)
{
    size_t first = (size_t)(key & cache->set_mask) * cache->ways;

    if (__builtin_expect(cache->tags[first] == key + 1, 1)) {
        return true;
    }
    return pmu_cache_lookup_slow(cache, key);
}

/* Is @key present?  The order of use stays. */
bool pmu_cache_probe(const PmuCache *cache, uint64_t key);

/*
 * Make @key, which is not present, the most recent of its set; the least
 * recent leaves.
 */
void pmu_cache_insert(PmuCache *cache, uint64_t key);

/* Remove @key if it is present. */
void pmu_cache_remove(PmuCache *cache, uint64_t key);

/* The value beside the most recent key of @key's set. */
static inline uint64_t *pmu_cache_value(PmuCache *cache, uint64_t key)
{
    return &cache->data[(size_t)(key & cache->set_mask) * cache->ways];
}

#endif
