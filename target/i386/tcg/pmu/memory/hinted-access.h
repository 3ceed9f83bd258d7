/*
 * Accesses with a PmuHint: prefetch instructions, non-temporal stores, CLFLUSH.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MEMORY_HINTED_ACCESS_H
#define TARGET_I386_PMU_MEMORY_HINTED_ACCESS_H

#include "tcg/pmu/memory/memory-state.h"

/*
 * As pmu_memory_store(), for a non-temporal store, for which the caller must
 * not use pmu_memory_hit().  It fetches no line.  Lines that leave the
 * write-combining buffers leave all caches (SDM vol. 1, "Caching of Temporal
 * vs. Non-Temporal Data").
 */
unsigned pmu_memory_non_temporal_store(PmuMemory *mem, uint64_t addr,
                                       unsigned size,
                                       PmuAccessOutcome access[2]);

/*
 * A prefetch instruction for the line at linear address @addr; @hint is
 * PMU_HINT_PREFETCH* (SDM vol. 2B, "PREFETCHh").  Counts translations and
 * LOADS_* as a load does.  If the page is not mapped nothing is prefetched.
 */
void pmu_memory_prefetch(PmuMemory *mem, uint64_t addr, PmuHint hint,
                         PmuAccessOutcome *access);

/*
 * CLFLUSH of the line at linear address @addr: the line leaves all caches,
 * those of other vCPUs as well (SDM vol. 2A).
 */
void pmu_memory_flush_line(PmuMemory *mem, uint64_t addr,
                           PmuAccessOutcome *access);

#endif
