/*
 * The lines of L1D, and which of them the L1-hit filter has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MEMORY_L1D_H
#define TARGET_I386_PMU_MEMORY_L1D_H

#include "tcg/pmu/memory/beyond-l1.h"
#include "tcg/pmu/memory/memory-state.h"

/*
 * Insert physical line @line into L1D.  Returns its PmuL1dLine, which the
 * caller fills in: it still has the values of the evicted line, but is not in
 * the filter.
 */
PmuL1dLine *pmu_l1d_insert(PmuMemory *mem, uint64_t line);

/* Take physical line @line out of the filter, if L1D has it. */
void pmu_l1d_unfilter(PmuMemory *mem, uint64_t line);

/*
 * Make this vCPU the owner of physical line @phys, which is in @entry of L1D.
 * If that takes an upgrade the line leaves L1D, and the result is false.
 */
static inline bool pmu_l1d_own(PmuMemory *mem, uint64_t phys, size_t entry)
{
    if (G_LIKELY(mem->line[entry].owned)) {
        return true;
    }
    if (pmu_beyond_l1_may_write(mem, phys)) {
        mem->line[entry].owned = true;
        return true;
    }
    pmu_l1_hit_filter_remove(&mem->filter, mem->line[entry].linear);
    pmu_cache_forget(&mem->l1d, entry);
    return false;
}

#endif
