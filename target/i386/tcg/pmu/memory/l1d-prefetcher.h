/*
 * The prefetcher of L1D: where a load will go next.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A function of the loads that found a line of which L1D did not know that it
 * is in use, in program order: those that missed it, and the first ones of
 * lines that it prefetched.
 */

#ifndef TARGET_I386_PMU_MEMORY_L1D_PREFETCHER_H
#define TARGET_I386_PMU_MEMORY_L1D_PREFETCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/uarch/uarch.h"

/* Loads that can be followed, and so many bits of their addresses tell. */

/* What a load did last. */
typedef struct PmuL1dPrefetcherEntry {
    uint64_t addr;              /* linear */
    int16_t step;               /* bytes to there; 0: too many */
    int8_t lines;               /* -1, 1: to the next line; 0: neither */
} PmuL1dPrefetcherEntry;

typedef struct PmuL1dPrefetcher {
    uint32_t loads;             /* that are followed at a time */
    PmuL1dPrefetcherEntry load[PMU_MAX_L1D_PREFETCH_LOADS];
} PmuL1dPrefetcher;

/* None was seen; @loads is 0 (never prefetch) to PMU_MAX_L1D_PREFETCH_LOADS. */
void pmu_l1d_prefetcher_init(PmuL1dPrefetcher *prefetcher, uint32_t loads);

/*
 * A load by an instruction whose linear address has @ip as its low bits, at
 * linear address @addr.  True if the line of *@next, which is in its page, is
 * to be asked for.
 */
bool pmu_l1d_prefetcher_load(PmuL1dPrefetcher *prefetcher, uint8_t ip,
                             uint64_t addr, uint64_t *next);

#endif
