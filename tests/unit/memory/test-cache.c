/*
 * Set-associative arrays compared with a textbook's second-chance array.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcg/pmu/memory/cache.h"
#include "tcg/pmu/memory/tag-array.h"
#include "naive-cache.h"
#include "random.h"

/*
 * Returns which ways of @key's set are marked as used in the textbook's array.
 */
static uint64_t used_ways(NaiveCache *naive, uint64_t key)
{
    NaiveWay *set = &naive->way[key % naive->sets * naive->ways];
    uint64_t used = 0;

    for (unsigned i = 0; i < naive->ways; i++) {
        used |= (uint64_t)(set[i].present && set[i].used) << i;
    }
    return used;
}

/* Insert a key that is not there.  Check which ways the array says it drops. */
static void check_insert(PmuCache *cache, NaiveCache *naive, uint64_t key,
                         uint64_t value)
{
    uint64_t before = used_ways(naive, key), after, dropped;
    NaiveWay *way = naive_cache_insert(naive, key, true);
    uint64_t bit = 1ull << ((way - naive->way) % naive->ways);
    size_t entry = pmu_cache_choose(cache, key, &dropped);

    after = used_ways(naive, key) & ~bit;
    g_assert_cmphex(dropped, ==, (before & ~after) | bit);
    g_assert_cmpuint(entry, ==, way - naive->way);
    pmu_cache_fill(cache, entry, key);
    way->value = value;
    if (cache->data) {
        cache->data[entry] = value;
    }
}

static void check_use(PmuCache *cache, NaiveCache *naive, uint64_t key,
                      uint64_t value)
{
    /* Using the key that was used last in its set changes nothing. */
    bool skip = cache->tags[cache->recent[key & cache->set_mask]] == key + 1;
    uint64_t before = used_ways(naive, key);
    NaiveWay *way = naive_cache_use(naive, key);
    size_t entry;

    if (skip) {
        g_assert_nonnull(way);
        g_assert_cmphex(used_ways(naive, key), ==, before);
        if (value & 1) {
            return;
        }
    }
    entry = pmu_cache_use(cache, key);
    if (!way) {
        g_assert_cmpuint(entry, ==, PMU_CACHE_NONE);
        check_insert(cache, naive, key, value);
        return;
    }
    g_assert_cmpuint(entry, ==, way - naive->way);
    if (cache->data) {
        g_assert_cmpuint(cache->data[entry], ==, way->value);
    }
}

static void check_access(PmuCache *cache, NaiveCache *naive, uint64_t key)
{
    bool there = naive_cache_use(naive, key);

    if (!there) {
        naive_cache_insert(naive, key, true);
    }
    g_assert_cmpint(pmu_cache_access(cache, key), ==, there);
}

static void check_against_naive(unsigned sets, unsigned ways, bool values)
{
    Random random = random_from_seed();
    NaiveCache naive;
    PmuCache cache;

    naive_cache_init(&naive, sets, ways);
    g_assert_true(pmu_cache_init(&cache, sets, ways, values));
    for (unsigned i = 0; i < 200000; i++) {
        uint64_t key = random_below(&random, sets * ways * 2);
        uint64_t value = random_next(&random);

        switch (random_below(&random, 16)) {
        case 0:
            naive_cache_remove(&naive, key);
            pmu_cache_remove(&cache, key);
            break;
        case 1:
            g_assert_cmpint(pmu_cache_find(&cache, key) != PMU_CACHE_NONE, ==,
                            !!naive_cache_find(&naive, key));
            break;
        case 2:
            if (!random_below(&random, 100)) {
                naive_cache_clear(&naive);
                pmu_cache_clear(&cache);
            }
            break;
        case 3: case 4: case 5: case 6:
            if (!values) {
                check_access(&cache, &naive, key);
                break;
            }
            /* fall through */
        default:
            check_use(&cache, &naive, key, value);
        }
    }
    pmu_cache_destroy(&cache);
    naive_cache_destroy(&naive);
}

/*
 * Hits, and which entries are replaced, are those of the textbook's array, for
 * various geometries.
 */
static void test_second_chance(void)
{
    check_against_naive(1, 1, false);
    check_against_naive(8, 1, false);
    check_against_naive(1, 8, false);
    check_against_naive(16, 12, false);
    check_against_naive(8, 20, false);
    check_against_naive(1, 64, false);
    check_against_naive(8, 3, true);
    check_against_naive(4, 5, false);
    check_against_naive(1, 63, true);
}

/* So are the values of arrays that keep any. */
static void test_values(void)
{
    check_against_naive(1, 1, true);
    check_against_naive(16, 4, true);
    check_against_naive(4, 8, true);
}

/* Key 0 and large keys are keys like any other. */
static void test_extreme_keys(void)
{
    PmuCache cache;

    g_assert_true(pmu_cache_init(&cache, 4, 2, false));
    g_assert_cmpuint(pmu_cache_use(&cache, 0), ==, PMU_CACHE_NONE);
    g_assert_false(pmu_cache_access(&cache, 0));
    g_assert_true(pmu_cache_access(&cache, 0));
    g_assert_false(pmu_cache_access(&cache, UINT64_MAX - 1));
    g_assert_true(pmu_cache_access(&cache, UINT64_MAX - 1));
    pmu_cache_destroy(&cache);
}

/* The compact array does the same, though it keeps short tags. */
static void check_lines(unsigned sets, unsigned ways)
{
    PmuCacheGeometry geometry = { .size = sets * ways * 64, .ways = ways };
    Random random = random_from_seed();
    NaiveCache naive;
    PmuTagArray lines;

    naive_cache_init(&naive, sets, ways);
    g_assert_true(pmu_tag_array_init(&lines, &geometry, false));
    for (unsigned i = 0; i < 200000; i++) {
        uint64_t line = random_below(&random, sets * ways * 2);
        bool there = naive_cache_find(&naive, line);

        if (!random_below(&random, 50000)) {
            naive_cache_clear(&naive);
            pmu_tag_array_clear(&lines);
        } else if (random_below(&random, 4)) {
            naive_cache_use(&naive, line);
            g_assert_cmpint(pmu_tag_array_access(&lines, line), ==, there);
            if (!there) {
                naive_cache_insert(&naive, line, true);
            }
        } else {
            g_assert_cmpint(pmu_tag_array_prefetch(&lines, line), ==, there);
            if (!there) {
                naive_cache_insert(&naive, line, false);
            }
        }
    }
    pmu_tag_array_destroy(&lines);
    naive_cache_destroy(&naive);
}

/* Hits of the compact array are those of the textbook's, too. */
static void test_lines(void)
{
    check_lines(2, 1);
    check_lines(4, 12);
    check_lines(64, 20);
    check_lines(2, 24);
}

/*
 * Sets are chosen by hash.  Half of the capacity stays, whether its lines are
 * @step apart or its pages are anywhere; twice the capacity does not.
 */
static void check_hashed(uint32_t size, unsigned ways, unsigned step,
                         bool scattered)
{
    PmuCacheGeometry geometry = { .size = size, .ways = ways };
    Random random = random_from_seed();
    uint64_t salt = random_next(&random) >> 12;
    unsigned capacity = size / 64;
    PmuTagArray lines;

    for (unsigned n = capacity / 2; n <= capacity * 2; n *= 4) {
        unsigned hits = 0;

        g_assert_true(pmu_tag_array_init(&lines, &geometry, true));
        for (unsigned round = 0; round < 4; round++) {
            for (unsigned i = 0; i < n; i++) {
                uint64_t page = scattered ? (i / 64 * 0x12345u + salt) % 0x4000
                                          : i / 64;

                hits += pmu_tag_array_access(&lines,
                                             (page * 64 + i % 64) * step) &&
                        round == 3;
            }
        }
        if (n < capacity) {
            g_assert_cmpuint(hits, >=, n * 0.93);
        } else {
            g_assert_cmpuint(hits, <=, n * 0.2);
        }
        pmu_tag_array_destroy(&lines);
    }
}

/*
 * That holds for at least 93 % of half the capacity, and at most 20 % of twice
 * as much hits.
 */
static void test_hashed_sets(void)
{
    const uint32_t size = 1536 * 1024 * 2;

    /* Lines at any distance, such as that of pages. */
    for (unsigned step = 1; step <= 4096; step *= 2) {
        check_hashed(size, 12, step, false);
        check_hashed(size, 12, 3 * step, false);
    }
    check_hashed(size, 12, 1, true);
    check_hashed(1000 * 15 * 64, 15, 1, false);
    check_hashed(1001 * 15 * 64, 15, 1, false);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cache/second-chance", test_second_chance);
    g_test_add_func("/cache/values", test_values);
    g_test_add_func("/cache/extreme-keys", test_extreme_keys);
    g_test_add_func("/cache/lines", test_lines);
    g_test_add_func("/cache/hashed-sets", test_hashed_sets);
    return g_test_run();
}
