/*
 * Coherence: what other vCPUs' requests take away, and lines that leave all
 * caches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MEMORY_COHERENCE_H
#define TARGET_I386_PMU_MEMORY_COHERENCE_H

#include "tcg/pmu/memory/memory-state.h"

/*
 * Lines that other vCPUs asked for since the last time are theirs, or theirs as
 * well.  Returns whether L1D had one of them.  A load that finds such a line
 * gone had been executed early and is executed again
 * (PmuAccessOutcome.ordering_clear), which is the worst case: one for each
 * line, and not if there was another call in between.
 */
bool pmu_memory_take_snoops(PmuMemory *mem);

static inline bool pmu_memory_snooped(PmuMemory *mem)
{
    mem->num_snooped = 0;
    return G_UNLIKELY(pmu_invalidation_queue_pending(mem->snoops)) &&
           pmu_memory_take_snoops(mem);
}

/* Line @line, physical, leaves all caches of data.  Was it in the L3? */
bool pmu_coherence_drop_line(PmuMemory *mem, uint64_t line);

#endif
