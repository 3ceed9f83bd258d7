/*
 * Warming: caches and predictors see code that the pipeline does not run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_WARMING_H
#define TARGET_I386_PMU_SAMPLING_WARMING_H

#include "tcg/pmu/sampling/timing-state.h"

/* Warm data caches with an access at @addr that is no pmu_memory_hit(). */
void pmu_timing_warm_slow_access(PmuTiming *t, const PmuBlockAccess *kind,
                                 uint64_t addr);

/* Warm data caches with access @index of @block, which was at @addr[@index]. */
static inline void pmu_timing_warm_access(PmuTiming *t, const PmuBlock *block,
                                          unsigned index, const uint64_t *addr)
{
    const PmuBlockAccess *kind = &block->accesses[index];

    if (G_UNLIKELY(!pmu_memory_hit(&t->functional.mem, addr[index],
                                   kind->extent, kind->store))) {
        pmu_timing_warm_slow_access(t, kind, addr[index]);
    }
}

/* The same for all accesses of instructions [@first, @last), in order. */
void pmu_timing_warm_range(PmuTiming *t, const PmuBlock *block,
                           unsigned first, unsigned last, const uint64_t *addr);

/* Instructions [@first, @last) of @block ran in PMU_PHASE_FETCH_WARMING. */
void pmu_timing_warm_fetch(PmuTiming *t, const PmuBlock *block,
                           unsigned first, unsigned last,
                           const PmuExecution *dynamic);

#endif
