/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * RDPMC for the programs beside this file.
 */

#ifndef TESTS_FUNCTIONAL_PROGRAMS_RDPMC_H
#define TESTS_FUNCTIONAL_PROGRAMS_RDPMC_H

#include <stdint.h>

/*
 * What RDPMC reads for ECX = @index (SDM vol. 2, RDPMC).  It faults, which ends
 * the process, where the kernel has not set CR4.PCE or there is no such
 * counter.  Accesses to memory stay on their side of it.
 */
static inline uint64_t rdpmc(uint32_t index)
{
    uint32_t low, high;

    asm volatile("rdpmc" : "=a" (low), "=d" (high) : "c" (index) : "memory");
    return (uint64_t)high << 32 | low;
}

#endif
