/*
 * A set-associative array with second-chance replacement.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * First-level caches, TLBs, the BTB and the DSB are built from it.  Plain C.
 *
 * Each key has a used bit.  A use sets it; further uses change nothing, so the
 * caller may leave them out.  Only an insertion into the set clears bits.  It
 * starts behind the last insertion, evicts the first key whose bit is clear,
 * and clears the bits that it passes (the clock algorithm: Corbato, "A paging
 * experiment with the Multics system", 1968).
 */

#ifndef TARGET_I386_PMU_MEMORY_CACHE_H
#define TARGET_I386_PMU_MEMORY_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tcg/pmu/uarch/uarch.h"

/* What pmu_cache_find() returns for a key that is not present. */
#define PMU_CACHE_NONE SIZE_MAX

typedef struct PmuCacheSet {
    uint64_t used;              /* used bits, bit n for way n */
    uint32_t hand;              /* way where the search for a victim begins */
} PmuCacheSet;

typedef struct PmuCache {
    uint64_t *tags;             /* for each entry: key + 1; 0: empty */
    uint64_t *data;             /* ... a value; NULL: keys have no values */
    /*
     * For each set: the entry used or inserted last, which is looked at first.
     * If it still has its key, its used bit is set.
     */
    uint32_t *recent;
    PmuCacheSet *set;
    uint64_t set_mask;          /* number of sets - 1 */
    uint32_t ways;
} PmuCache;

/*
 * Initialise an empty array of @sets (a power of 2) x @ways (1 to
 * PMU_MAX_CACHE_WAYS) entries, with a value for each key if @with_data.  Keys
 * are any numbers but UINT64_MAX; their low bits choose the set.  Returns false
 * if memory runs out.
 */
bool pmu_cache_init(PmuCache *cache, uint32_t sets, uint32_t ways,
                    bool with_data);
void pmu_cache_destroy(PmuCache *cache);

/* Forget every key. */
void pmu_cache_clear(PmuCache *cache);

/* Forget the keys whose values have no bit of @mask. */
void pmu_cache_keep(PmuCache *cache, uint64_t mask);

/* Forget the key in @entry, if there is one. */
void pmu_cache_forget(PmuCache *cache, size_t entry);

/* The first entry of @key's set: entries are numbered by set, then by way. */
static inline size_t pmu_cache_first(const PmuCache *cache, uint64_t key)
{
    return (size_t)(key & cache->set_mask) * cache->ways;
}

/* pmu_cache_use() when another key of the set was used last. */
size_t pmu_cache_use_slow(PmuCache *cache, uint64_t key);

/* Mark @key as used.  Returns its entry, or PMU_CACHE_NONE. */
static inline size_t pmu_cache_use(PmuCache *cache, uint64_t key)
{
    size_t recent = cache->recent[key & cache->set_mask];

    if (__builtin_expect(cache->tags[recent] == key + 1, 1)) {
        return recent;
    }
    return pmu_cache_use_slow(cache, key);
}

/* Returns the entry of @key, or PMU_CACHE_NONE; changes nothing. */
size_t pmu_cache_find(const PmuCache *cache, uint64_t key);

/*
 * Choose the entry that @key, which is not present, will take, and return it.
 * *@dropped gets a bit for each way of the set that is no longer marked as
 * used, and for the chosen one.  A use of the keys in these ways, whose tags
 * are still there, changes something again.
 */
size_t pmu_cache_choose(PmuCache *cache, uint64_t key, uint64_t *dropped);

/* Put @key into @entry, which pmu_cache_choose() chose for it, as used. */
void pmu_cache_fill(PmuCache *cache, size_t entry, uint64_t key);

/* Choose an entry for @key, fill it and return it. */
size_t pmu_cache_insert(PmuCache *cache, uint64_t key);

/* Insert @key if it is not present; mark it as used.  Was it present? */
static inline bool pmu_cache_access(PmuCache *cache, uint64_t key)
{
    if (pmu_cache_use(cache, key) != PMU_CACHE_NONE) {
        return true;
    }
    pmu_cache_insert(cache, key);
    return false;
}

/* Remove @key if it is present. */
void pmu_cache_remove(PmuCache *cache, uint64_t key);

#endif
