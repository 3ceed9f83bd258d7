/*
 * The input of a fuzz target: bytes that are read as a sequence of decisions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each decision takes few bytes, so that a fuzzer that changes one byte changes
 * one decision.  After the end of the input all decisions are 0.
 */

#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct FuzzInput {
    const uint8_t *at, *end;
} FuzzInput;

static inline FuzzInput fuzz_input(const uint8_t *data, size_t size)
{
    return (FuzzInput) { data, data + size };
}

static inline bool fuzz_more(const FuzzInput *in)
{
    return in->at != in->end;
}

static inline uint8_t fuzz_byte(FuzzInput *in)
{
    return fuzz_more(in) ? *in->at++ : 0;
}

/* Returns a number of @bytes bytes, at most 8. */
static inline uint64_t fuzz_bytes(FuzzInput *in, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint64_t)fuzz_byte(in) << 8 * i;
    }
    return value;
}

/* Returns a number from 0 to @n - 1.  @n is from 1 to 65536. */
static inline unsigned fuzz_below(FuzzInput *in, unsigned n)
{
    return fuzz_bytes(in, n <= 256 ? 1 : 2) % n;
}

/* Returns true in about one of @n cases. */
static inline bool fuzz_one_in(FuzzInput *in, unsigned n)
{
    return fuzz_below(in, n) == n - 1;
}

/*
 * Returns a 64-bit number that is likely to reveal bugs: small, near a power of
 * two or its negative, or with any bits.
 */
static inline uint64_t fuzz_number(FuzzInput *in)
{
    uint64_t power = 1ull << fuzz_below(in, 64);

    switch (fuzz_below(in, 5)) {
    case 0:
        return fuzz_byte(in);
    case 1:
        return power + (int8_t)fuzz_byte(in);
    case 2:
        return -power + (int8_t)fuzz_byte(in);
    case 3:
        return fuzz_bytes(in, 4) & (power - 1);
    default:
        return fuzz_bytes(in, 8);
    }
}

#endif
