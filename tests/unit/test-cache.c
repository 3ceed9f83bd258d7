/*
 * The set-associative array against a list of keys with time stamps.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "cache.h"
#include "random.h"

#define MAX_ENTRIES 512

/* Naive LRU: every entry has the time of its last use. */
typedef struct Naive {
    struct {
        bool used;
        uint64_t key, time, value;
    } entry[MAX_ENTRIES];
    unsigned sets, ways;
    uint64_t now;
} Naive;

static int naive_find(const Naive *naive, uint64_t key)
{
    unsigned set = key % naive->sets;

    for (unsigned i = set * naive->ways; i < (set + 1) * naive->ways; i++) {
        if (naive->entry[i].used && naive->entry[i].key == key) {
            return i;
        }
    }
    return -1;
}

static bool naive_lookup(Naive *naive, uint64_t key)
{
    int i = naive_find(naive, key);

    if (i >= 0) {
        naive->entry[i].time = ++naive->now;
    }
    return i >= 0;
}

static void naive_insert(Naive *naive, uint64_t key, uint64_t value)
{
    unsigned set = key % naive->sets, victim = set * naive->ways;

    for (unsigned i = victim; i < (set + 1) * naive->ways; i++) {
        if (!naive->entry[i].used) {
            victim = i;
            break;
        }
        if (naive->entry[i].time < naive->entry[victim].time) {
            victim = i;
        }
    }
    naive->entry[victim].used = true;
    naive->entry[victim].key = key;
    naive->entry[victim].value = value;
    naive->entry[victim].time = ++naive->now;
}

static void naive_remove(Naive *naive, uint64_t key)
{
    int i = naive_find(naive, key);

    if (i >= 0) {
        naive->entry[i].used = false;
    }
}

static void check_against_naive(unsigned sets, unsigned ways, bool values)
{
    Random random = random_from_seed();
    Naive *naive = g_new0(Naive, 1);
    PmuCache cache;

    naive->sets = sets;
    naive->ways = ways;
    g_assert_true(pmu_cache_init(&cache, sets, ways, values));
    for (unsigned i = 0; i < 200000; i++) {
        uint64_t key = random_below(&random, sets * ways * 2);
        uint64_t value = random_next(&random);

        switch (random_below(&random, 16)) {
        case 0:
            naive_remove(naive, key);
            pmu_cache_remove(&cache, key);
            break;
        case 1:
            g_assert_cmpint(pmu_cache_probe(&cache, key), ==,
                            naive_find(naive, key) >= 0);
            break;
        case 2:
            if (!random_below(&random, 100)) {
                memset(naive->entry, 0, sizeof(naive->entry));
                pmu_cache_clear(&cache);
            }
            break;
        case 3: case 4: case 5: case 6:
            if (!values) {
                bool hit = naive_lookup(naive, key);

                if (!hit) {
                    naive_insert(naive, key, 0);
                }
                g_assert_cmpint(pmu_cache_access(&cache, key), ==, hit);
                break;
            }
            /* fall through */
        default:
            if (naive_lookup(naive, key)) {
                g_assert_true(pmu_cache_lookup(&cache, key));
                if (values) {
                    g_assert_cmpuint(*pmu_cache_value(&cache, key), ==,
                                     naive->entry[naive_find(naive, key)]
                                     .value);
                }
            } else {
                g_assert_false(pmu_cache_lookup(&cache, key));
                naive_insert(naive, key, value);
                pmu_cache_insert(&cache, key);
                if (values) {
                    *pmu_cache_value(&cache, key) = value;
                }
            }
        }
    }
    pmu_cache_destroy(&cache);
    g_free(naive);
}

static void test_lru(void)
{
    check_against_naive(1, 1, false);
    check_against_naive(8, 1, false);
    check_against_naive(1, 8, false);
    check_against_naive(16, 12, false);
    check_against_naive(8, 20, false);
}

static void test_values(void)
{
    check_against_naive(1, 1, true);
    check_against_naive(16, 4, true);
    check_against_naive(4, 8, true);
}

/* Key 0 and large keys are keys like others. */
static void test_extreme_keys(void)
{
    PmuCache cache;

    g_assert_true(pmu_cache_init(&cache, 4, 2, false));
    g_assert_false(pmu_cache_lookup(&cache, 0));
    g_assert_false(pmu_cache_access(&cache, 0));
    g_assert_true(pmu_cache_access(&cache, 0));
    g_assert_false(pmu_cache_access(&cache, UINT64_MAX - 1));
    g_assert_true(pmu_cache_lookup(&cache, UINT64_MAX - 1));
    pmu_cache_destroy(&cache);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/cache/lru", test_lru);
    g_test_add_func("/cache/values", test_values);
    g_test_add_func("/cache/extreme-keys", test_extreme_keys);
    return g_test_run();
}
