/*
 * The bytes that a fuzzer gives to a target, taken as decisions one by one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each decision takes few bytes, so that a fuzzer that changes one changes one
 * decision.  Where the bytes end all decisions are 0.
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

/* A number of @bytes bytes, up to 8. */
static inline uint64_t fuzz_bytes(FuzzInput *in, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint64_t)fuzz_byte(in) << 8 * i;
    }
    return value;
}

/* 0 to @n - 1, @n from 1 to 65536. */
static inline unsigned fuzz_below(FuzzInput *in, unsigned n)
{
    return fuzz_bytes(in, n <= 256 ? 1 : 2) % n;
}

/* True once in @n times. */
static inline bool fuzz_one_in(FuzzInput *in, unsigned n)
{
    return fuzz_below(in, n) == n - 1;
}

/*
 * A number of 64 bits as bugs like them: small, near a power of two, or with
 * something in the upper half.
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
