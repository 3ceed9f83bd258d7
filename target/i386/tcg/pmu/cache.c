/*
 * A set-associative array with exact LRU replacement.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>
#include <string.h>

#include "cache.h"

bool pmu_cache_init(PmuCache *cache, uint32_t sets, uint32_t ways,
                    bool with_data)
{
    size_t entries = (size_t)sets * ways;

    cache->tags = g_try_new0(uint64_t, entries);
    cache->data = with_data ? g_try_new0(uint64_t, entries) : NULL;
    cache->set_mask = sets - 1;
    cache->ways = ways;
    if (!cache->tags || (with_data && !cache->data)) {
        pmu_cache_destroy(cache);
        return false;
    }
    return true;
}

void pmu_cache_destroy(PmuCache *cache)
{
    g_free(cache->tags);
    g_free(cache->data);
    cache->tags = NULL;
    cache->data = NULL;
}

void pmu_cache_clear(PmuCache *cache)
{
    size_t entries = (size_t)(cache->set_mask + 1) * cache->ways;

    memset(cache->tags, 0, entries * sizeof(*cache->tags));
}

/* Move way @way of the set that begins at entry @first to the front. */
static void cache_touch(PmuCache *cache, size_t first, uint32_t way)
{
    uint64_t *tags = &cache->tags[first];
    uint64_t tag = tags[way];

    memmove(tags + 1, tags, way * sizeof(*tags));
    tags[0] = tag;
    if (cache->data) {
        uint64_t *data = &cache->data[first];
        uint64_t value = data[way];

        memmove(data + 1, data, way * sizeof(*data));
        data[0] = value;
    }
}

bool pmu_cache_access_slow(PmuCache *cache, uint64_t key)
{
    uint64_t *tag = &cache->tags[(size_t)(key & cache->set_mask) *
                                 cache->ways];
    const uint64_t *end = tag + cache->ways;
    uint64_t newer = key + 1;

    /* Each key looked at makes room for the one before it. */
    do {
        uint64_t older = *tag;

        *tag = newer;
        if (older == key + 1) {
            return true;
        }
        newer = older;
    } while (++tag != end);
    return false;
}

bool pmu_cache_lookup_slow(PmuCache *cache, uint64_t key)
{
    size_t first = (size_t)(key & cache->set_mask) * cache->ways;

    for (uint32_t way = 0; way < cache->ways; way++) {
        if (cache->tags[first + way] == key + 1) {
            cache_touch(cache, first, way);
            return true;
        }
    }
    return false;
}

bool pmu_cache_probe(const PmuCache *cache, uint64_t key)
{
    size_t first = (size_t)(key & cache->set_mask) * cache->ways;

    for (uint32_t way = 0; way < cache->ways; way++) {
        if (cache->tags[first + way] == key + 1) {
            return true;
        }
    }
    return false;
}

void pmu_cache_insert(PmuCache *cache, uint64_t key)
{
    size_t first = (size_t)(key & cache->set_mask) * cache->ways;

    cache_touch(cache, first, cache->ways - 1);
    cache->tags[first] = key + 1;
}

void pmu_cache_remove(PmuCache *cache, uint64_t key)
{
    size_t first = (size_t)(key & cache->set_mask) * cache->ways;

    for (uint32_t way = 0; way < cache->ways; way++) {
        uint64_t *tag = &cache->tags[first + way];
        uint32_t after = cache->ways - 1 - way;

        if (*tag != key + 1) {
            continue;
        }
        memmove(tag, tag + 1, after * sizeof(*tag));
        tag[after] = 0;
        if (cache->data) {
            uint64_t *data = &cache->data[first + way];

            memmove(data, data + 1, after * sizeof(*data));
        }
        return;
    }
}
