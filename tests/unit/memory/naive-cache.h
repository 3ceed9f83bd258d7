/*
 * A second-chance array as a textbook has it, to compare others with.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_UNIT_NAIVE_CACHE_H
#define TESTS_UNIT_NAIVE_CACHE_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct NaiveWay {
    bool present, used;
    uint64_t key, value;
} NaiveWay;

typedef struct NaiveCache {
    NaiveWay *way;
    unsigned *hand;
    unsigned sets, ways;
} NaiveCache;

static inline void naive_cache_init(NaiveCache *cache, unsigned sets,
                                    unsigned ways)
{
    cache->way = g_new0(NaiveWay, sets * ways);
    cache->hand = g_new0(unsigned, sets);
    cache->sets = sets;
    cache->ways = ways;
}

static inline void naive_cache_destroy(NaiveCache *cache)
{
    g_free(cache->way);
    g_free(cache->hand);
}

static inline void naive_cache_clear(NaiveCache *cache)
{
    unsigned sets = cache->sets, ways = cache->ways;

    naive_cache_destroy(cache);
    naive_cache_init(cache, sets, ways);
}

/* Returns the entry of @key, or NULL. */
static inline NaiveWay *naive_cache_find(NaiveCache *cache, uint64_t key)
{
    NaiveWay *set = &cache->way[key % cache->sets * cache->ways];

    for (unsigned i = 0; i < cache->ways; i++) {
        if (set[i].present && set[i].key == key) {
            return &set[i];
        }
    }
    return NULL;
}

/* The same, and the entry gets its second chance. */
static inline NaiveWay *naive_cache_use(NaiveCache *cache, uint64_t key)
{
    NaiveWay *way = naive_cache_find(cache, key);

    if (way) {
        way->used = true;
    }
    return way;
}

static inline NaiveWay *naive_cache_insert(NaiveCache *cache, uint64_t key,
                                           bool used)
{
    NaiveWay *set = &cache->way[key % cache->sets * cache->ways];
    unsigned *hand = &cache->hand[key % cache->sets];
    NaiveWay *victim;

    while (set[*hand].present && set[*hand].used) {
        set[*hand].used = false;
        *hand = (*hand + 1) % cache->ways;
    }
    victim = &set[*hand];
    *hand = (*hand + 1) % cache->ways;
    *victim = (NaiveWay) { .present = true, .used = used, .key = key };
    return victim;
}

static inline void naive_cache_remove(NaiveCache *cache, uint64_t key)
{
    NaiveWay *way = naive_cache_find(cache, key);

    if (way) {
        way->present = false;
    }
}

#endif
