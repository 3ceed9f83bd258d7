/*
 * Code runs that caches and predictors see, and the pipeline does not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_WARMING_H
#define TARGET_I386_PMU_SAMPLING_WARMING_H

#include "tcg/pmu/sampling/timing-state.h"

/* A data access at @addr that pmu_memory_hit() does not know. */
void pmu_timing_warm_slow_access(PmuTiming *t, const PmuBlockAccess *kind,
                                 uint64_t addr);

/* Data access @index of @block, if it is one, and nothing else is looked at. */
static inline void pmu_timing_warm_access(PmuTiming *t, const PmuBlock *block,
                                          unsigned index, const uint64_t *addr)
{
    const PmuBlockAccess *kind = &block->accesses[index];

    if (G_UNLIKELY(!pmu_memory_hit(&t->functional.mem, addr[index],
                                   kind->extent, kind->store))) {
        pmu_timing_warm_slow_access(t, kind, addr[index]);
    }
}

/* The accesses of instructions [@first, @last) of @block, in their order. */
void pmu_timing_warm_range(PmuTiming *t, const PmuBlock *block,
                           unsigned first, unsigned last, const uint64_t *addr);

/* Instructions [@first, @last) of @block, in PMU_PHASE_FETCH_WARMING. */
void pmu_timing_warm_fetch(PmuTiming *t, const PmuBlock *block,
                           unsigned first, unsigned last,
                           const PmuExecution *dynamic);

#endif
