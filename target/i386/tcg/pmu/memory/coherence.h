/*
 * Coherence: snoops from other vCPUs, and lines that leave all caches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MEMORY_COHERENCE_H
#define TARGET_I386_PMU_MEMORY_COHERENCE_H

#include "tcg/pmu/memory/memory-state.h"

/*
 * Process the snoops of other vCPUs since the last call: they have these lines
 * now, alone if they write.  Returns whether L1D had one of the lines.
 *
 * The next load of a line that L1D lost here counts as executed too early and
 * is executed again (PmuAccessOutcome.ordering_clear).  That is the worst case.
 * It is one load for each line, and none after the next call.
 */
bool pmu_memory_take_snoops(PmuMemory *mem);

/* The same, but quick if there are no snoops. */
static inline bool pmu_memory_poll_snoops(PmuMemory *mem)
{
    mem->num_snooped = 0;
    return G_UNLIKELY(pmu_invalidation_queue_pending(mem->snoops)) &&
           pmu_memory_take_snoops(mem);
}

/*
 * Remove physical line @line from L1D, L2, the L3 and the caches of other
 * vCPUs.  Was it in the L3?
 */
bool pmu_coherence_drop_line(PmuMemory *mem, uint64_t line);

#endif
