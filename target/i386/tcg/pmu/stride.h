/*
 * The prefetcher of L1D: where a load will go next.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.  A function of the loads that found a line of
 * which L1D did not know that it is in use, in program order: those that missed
 * it, and the first ones of lines that it prefetched.
 */

#ifndef TARGET_I386_PMU_STRIDE_H
#define TARGET_I386_PMU_STRIDE_H

#include <stdbool.h>
#include <stdint.h>

/* Loads that can be followed, and so many bits of their addresses tell. */
#define PMU_STRIDER_LOADS       256

/* What a load did last. */
typedef struct PmuStride {
    uint64_t addr;              /* linear */
    int16_t step;               /* bytes to there; 0: too many */
    int8_t lines;               /* -1, 1: to the next line; 0: neither */
} PmuStride;

typedef struct PmuStrider {
    uint32_t loads;             /* that are followed at a time */
    PmuStride load[PMU_STRIDER_LOADS];
} PmuStrider;

/* None was seen; @loads is 0 (never prefetch) to PMU_STRIDER_LOADS. */
void pmu_strider_init(PmuStrider *strider, uint32_t loads);

/*
 * A load by an instruction whose linear address has @ip as its low bits, at
 * linear address @addr.  True if the line of *@next, which is in its page, is
 * to be asked for.
 */
bool pmu_strider_load(PmuStrider *strider, uint8_t ip, uint64_t addr,
                      uint64_t *next);

#endif
