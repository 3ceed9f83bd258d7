/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The two loops at the ends of the scale, for programs in the guest: one
 * that retires as much as the core can, one that waits for its own results.
 */

#ifndef GUEST_LOOPS_H
#define GUEST_LOOPS_H

#include <stdint.h>

/* Instructions retired in an iteration of each loop. */
#define NOPS_INSTRUCTIONS 242
#define MULTIPLY_INSTRUCTIONS 102

/*
 * 240 independent NOPs an iteration, four bytes each: eight in 32 bytes, so
 * that they fit the micro-op cache.  Nothing limits them but the width.
 */
static inline void run_nops(uint64_t iterations)
{
    asm volatile(".p2align 6\n"
                 "1:\n"
                 ".rept 240\n"
                 "nopl 0(%%rax)\n"
                 ".endr\n"
                 "dec %0\n"
                 "jnz 1b"
                 : "+r" (iterations) : : "cc");
}

/* 100 multiplications, each of which needs the one before: latency 3. */
static inline void run_multiply(uint64_t iterations)
{
    uint64_t x = 3;

    asm volatile(".p2align 6\n"
                 "1:\n"
                 ".rept 100\n"
                 "imulq %1, %1\n"
                 ".endr\n"
                 "dec %0\n"
                 "jnz 1b"
                 : "+r" (iterations), "+r" (x) : : "cc");
}

#endif
