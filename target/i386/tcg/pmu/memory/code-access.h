/*
 * Fetches: L1I, the ITLB, and what of code others are told.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MEMORY_CODE_ACCESS_H
#define TARGET_I386_PMU_MEMORY_CODE_ACCESS_H

#include "tcg/pmu/memory/memory-state.h"

/* Is physical line @line in L1I? */
static inline bool pmu_l1i_has(const PmuMemory *mem, uint64_t line)
{
    return pmu_cache_find(&mem->l1i, line) != PMU_CACHE_NONE;
}

/* Physical line @line leaves L1I, or has just left it: tell the listener. */
void pmu_l1i_notify_evicted(PmuMemory *mem, uint64_t line);

/* @mapping leaves the ITLB, or has just left it; there may be none. */
void pmu_l1i_notify_page_evicted(PmuMemory *mem, PmuMapping mapping);

/* Nothing of what was made of lines of L1I may stay. */
void pmu_l1i_notify_all_evicted(PmuMemory *mem);

/* A store to physical line @line, which leaves L1I. */
static inline void pmu_l1i_store(PmuMemory *mem, uint64_t line,
                                 PmuAccessOutcome *access)
{
    if (G_UNLIKELY(pmu_l1i_has(mem, line))) {
        pmu_cache_remove(&mem->l1i, line);
        pmu_l1i_notify_evicted(mem, line);
        access->smc = true;
    }
}

/*
 * The listener, which has what was made of lines of L1I, is told when one
 * leaves it, or when its page leaves the ITLB.
 */
void pmu_memory_on_code_evicted(PmuMemory *mem, PmuCodeEvicted code_gone,
                                void *opaque);

/*
 * A fetch of the line at linear address @pc, physical address @phys.  It finds
 * its line in L1I, or fetch waits; it never says PMU_SOURCE_FILL.
 */
void pmu_memory_fetch(PmuMemory *mem, uint64_t pc, uint64_t phys,
                      PmuAccessOutcome *access);

/*
 * Code in physical line @line, physical address / 64, or in linear page @page,
 * which is physical page @phys and may be part of a @large one, ran, and was
 * not simulated: it is in the caches of code, or in the ITLB, and nothing is
 * counted.
 */
void pmu_memory_warm_code_line(PmuMemory *mem, uint64_t line);

void pmu_memory_warm_code_page(PmuMemory *mem, uint64_t page, uint64_t phys,
                               bool large);

#endif
