/*
 * The prefetcher of L1D, which predicts where a load will go next.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * It sees the loads that are the first use of their line, in program order:
 * those that miss L1D, and the first one of each line that was prefetched.
 */

#ifndef TARGET_I386_PMU_MEMORY_L1D_PREFETCHER_H
#define TARGET_I386_PMU_MEMORY_L1D_PREFETCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/uarch/uarch.h"

/* What a load instruction did last. */
typedef struct PmuL1dPrefetcherEntry {
    uint64_t addr;              /* linear */
    int16_t step;               /* bytes from the address before; 0: too many */
    int8_t lines;               /* 1, -1: addr is in the line after or before
                                   that of the address before; 0: neither */
} PmuL1dPrefetcherEntry;

typedef struct PmuL1dPrefetcher {
    uint32_t loads;             /* entries in use; 0: never prefetch */
    PmuL1dPrefetcherEntry load[PMU_MAX_L1D_PREFETCH_LOADS];
} PmuL1dPrefetcher;

/* Forget all loads; @loads is 0 to PMU_MAX_L1D_PREFETCH_LOADS. */
void pmu_l1d_prefetcher_init(PmuL1dPrefetcher *prefetcher, uint32_t loads);

/*
 * A load from linear address @addr by an instruction whose linear address has
 * @ip as its low bits.  Returns whether to prefetch the line of linear address
 * *@next, which is in the same page.
 */
bool pmu_l1d_prefetcher_load(PmuL1dPrefetcher *prefetcher, uint8_t ip,
                             uint64_t addr, uint64_t *next);

#endif
