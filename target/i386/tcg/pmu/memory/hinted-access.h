/*
 * Accesses that ask for something else than data: prefetches, non-temporal
 * stores, CLFLUSH.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MEMORY_HINTED_ACCESS_H
#define TARGET_I386_PMU_MEMORY_HINTED_ACCESS_H

#include "tcg/pmu/memory/memory-state.h"

/*
 * The same for a non-temporal store, which pmu_memory_hit() must not be asked
 * about.  It asks for no line; those that are written leave all caches (SDM
 * vol. 1, "Caching of Temporal vs. Non-Temporal Data").
 */
unsigned pmu_memory_non_temporal_store(PmuMemory *mem, uint64_t addr,
                                       unsigned size,
                                       PmuAccessOutcome access[2]);

/*
 * A prefetch of the line at linear address @addr by an instruction, as @hint,
 * PMU_HINT_PREFETCH*, says (SDM vol. 2B, "PREFETCHh").  Like a load as far as
 * translations and LOADS_* go; without a mapping it is dropped.
 */
void pmu_memory_prefetch(PmuMemory *mem, uint64_t addr, PmuHint hint,
                         PmuAccessOutcome *access);

/*
 * CLFLUSH of the line at linear address @addr: it leaves all caches, those of
 * other vCPUs as well (SDM vol. 2A).
 */
void pmu_memory_flush_line(PmuMemory *mem, uint64_t addr,
                           PmuAccessOutcome *access);

#endif
