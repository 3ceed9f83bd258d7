/*
 * A set-associative array with second-chance replacement.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * First-level caches, TLBs, the BTB and the DSB are built from it.  Plain C.
 *
 * Each key has a bit that says it was used.  A use sets it, so that further
 * uses change nothing and may be left out; only an insertion into the set
 * clears bits.  It takes the first key without the bit, from where the last
 * insertion was, and clears the bits that it passes (the clock algorithm:
 * Corbato, "A paging experiment with the Multics system", 1968).
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
    uint64_t used;              /* by way */
    uint32_t hand;              /* way where the next victim is sought */
} PmuCacheSet;

typedef struct PmuCache {
    uint64_t *tags;             /* sets x ways of key + 1, 0 is empty */
    uint64_t *data;             /* a value beside each tag, or NULL */
    /*
     * By set: the entry used or inserted last.  Only a shortcut: if its key
     * is still there, the key is marked as used.
     */
    uint32_t *recent;
    PmuCacheSet *set;
    uint64_t set_mask;
    uint32_t ways;
} PmuCache;

/*
 * An empty array of @sets (a power of 2) x @ways (1 to PMU_MAX_CACHE_WAYS),
 * with a value beside each key if @with_data.  Keys are any numbers but
 * UINT64_MAX; their low bits choose the set.  False if memory runs out.
 */
bool pmu_cache_init(PmuCache *cache, uint32_t sets, uint32_t ways,
                    bool with_data);
void pmu_cache_destroy(PmuCache *cache);

/*
 * Forget every key, those whose values have no bit of @mask, or that in @entry,
 * if there is one.
 */
void pmu_cache_clear(PmuCache *cache);
void pmu_cache_keep(PmuCache *cache, uint64_t mask);
void pmu_cache_forget(PmuCache *cache, size_t entry);

/* The first entry of @key's set: entries are numbered by set, then by way. */
static inline size_t pmu_cache_first(const PmuCache *cache, uint64_t key)
{
    return (size_t)(key & cache->set_mask) * cache->ways;
}

/* The rest of pmu_cache_use(), when another key of the set was used last. */
size_t pmu_cache_use_slow(PmuCache *cache, uint64_t key);

/* The entry of @key, marked as used, or PMU_CACHE_NONE. */
static inline size_t pmu_cache_use(PmuCache *cache, uint64_t key)
{
    size_t recent = cache->recent[key & cache->set_mask];

    if (__builtin_expect(cache->tags[recent] == key + 1, 1)) {
        return recent;
    }
    return pmu_cache_use_slow(cache, key);
}

/* The entry of @key or PMU_CACHE_NONE; nothing changes. */
size_t pmu_cache_find(const PmuCache *cache, uint64_t key);

/*
 * Choose the entry that @key, which is not present, will take.  *@dropped gets
 * the ways of its set that were marked as used and no longer are, and the
 * chosen one: a caller that remembers that using those keys changes nothing
 * must forget it.  Their tags are still there.
 */
size_t pmu_cache_choose(PmuCache *cache, uint64_t key, uint64_t *dropped);

/* Put @key into @entry, which pmu_cache_choose() chose for it, as used. */
void pmu_cache_fill(PmuCache *cache, size_t entry, uint64_t key);

/* Both, for those who remember nothing: the entry of @key. */
size_t pmu_cache_insert(PmuCache *cache, uint64_t key);

/* Is @key present?  In either case it is from now on, marked as used. */
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
