/*
 * Random numbers for tests, fast and repeatable.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each test starts from GLib's seed, which every run prints and which "--seed"
 * sets.
 */

#ifndef TESTS_UNIT_RANDOM_H
#define TESTS_UNIT_RANDOM_H

#include <glib.h>
#include <stdint.h>

typedef struct Random {
    uint64_t state;
} Random;

static inline Random random_from_seed(void)
{
    uint64_t high = (uint32_t)g_test_rand_int();

    return (Random) { .state = high << 32 | (uint32_t)g_test_rand_int() };
}

/* SplitMix64.  Source: Steele, Lea, Flood, OOPSLA 2014. */
static inline uint64_t random_next(Random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* Returns 0 to @n - 1 (@n > 0).  The slight bias does not matter to a test. */
static inline uint64_t random_below(Random *random, uint64_t n)
{
    return random_next(random) % n;
}

/*
 * Returns a number of 0 to @bits (1 to 64) bits.  Their number is random, too,
 * so that small numbers come as often as large ones.
 */
static inline uint64_t random_size(Random *random, unsigned bits)
{
    unsigned size = random_below(random, bits + 1);

    return size ? random_next(random) >> (64 - size) : 0;
}

#endif
