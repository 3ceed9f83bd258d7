/*
 * Fetches, which use L1I and the ITLB, and the callback that tells the DSB what
 * leaves these.
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

/* Tell the listener that physical line @line leaves L1I, or has just left. */
void pmu_l1i_notify_evicted(PmuMemory *mem, uint64_t line);

/* The same for @mapping, which leaves the ITLB, unless it is PMU_NO_PAGE. */
void pmu_l1i_notify_page_evicted(PmuMemory *mem, PmuMapping mapping);

/* Tell the listener to drop all that it derived from lines of L1I. */
void pmu_l1i_notify_all_evicted(PmuMemory *mem);

/* A store to physical line @line: if L1I has it, remove it and set .smc. */
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
 * Register the listener, which keeps what it derived from lines of L1I (the
 * DSB).  It is called when such a line leaves L1I, or its page the ITLB.
 */
void pmu_memory_on_code_evicted(PmuMemory *mem, PmuCodeEvicted code_gone,
                                void *opaque);

/*
 * A fetch of the line at linear address @pc, physical address @phys.  Its
 * source is never PMU_SOURCE_FILL, as fetch waits for a line that L1I lacks.
 */
void pmu_memory_fetch(PmuMemory *mem, uint64_t pc, uint64_t phys,
                      PmuAccessOutcome *access);

#endif
