/*
 * The memory side: TLBs, caches, prefetches, store forwarding.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Its results depend on the addresses in program order alone, not on time (see
 * outcome.h).  Most accesses change no state here and their outcome is all
 * zero: pmu_memory_hit() finds these, and the caller need do no more.
 *
 * This folder has the cache hierarchy (l1d, beyond-l1, tag-array,
 * l3-directory), TLBs and page walks, prefetchers, store forwarding, write
 * combining, and coherence between vCPUs that share an L3.  It includes
 * decode/ for blocks' accesses, ledger/ to count what it finds, and uarch/.  It
 * must not know the pipeline, nor which accesses are looked at and why.
 *
 * Other folders include this header, outcome.h, and what computes times
 * (miss-timing.h, outstanding.h, reservation-table.h); the frontend also uses
 * cache.h.
 */

#ifndef TARGET_I386_PMU_MEMORY_MEMORY_H
#define TARGET_I386_PMU_MEMORY_MEMORY_H

#include "tcg/pmu/memory/code-access.h"
#include "tcg/pmu/memory/coherence.h"
#include "tcg/pmu/memory/data-access.h"
#include "tcg/pmu/memory/hinted-access.h"
#include "tcg/pmu/memory/memory-state.h"

/*
 * Initialise @mem, cold, with the geometry in @uarch: the number of sets of
 * L1D, L1I and TLBs is a power of 2, that of L2 and L3 any number.  It counts
 * in @ledger what misses L1D, L1I and the TLBs, and where it is found.  @l3 is
 * the L3 that vCPUs share, or NULL for one of its own.  Returns false if memory
 * runs out.
 */
bool pmu_memory_init(PmuMemory *mem, const PmuUarch *uarch, PmuLedger *ledger,
                     PmuL3 *l3, PmuTranslate translate, void *opaque);

void pmu_memory_destroy(PmuMemory *mem);

/* Make @mem cold again, but for an L3 that came from the caller. */
void pmu_memory_reset(PmuMemory *mem);

/*
 * Forget the translations from linear to physical pages that @flush names.
 * @linear is an address in the page of PMU_TLB_FLUSH_PAGE.
 */
void pmu_memory_flush_mappings(PmuMemory *mem, PmuTlbFlush flush,
                               uint64_t linear);

/*
 * Does an access of @size bytes, 1 or more, at linear address @addr change
 * nothing here, and is its PmuAccessOutcome all zero but for what store
 * forwarding says?  @store: it stores.  If true, the caller need not call
 * pmu_memory_load() or pmu_memory_store(); if false, which may also mean that
 * this is not known, it must.
 */
static inline bool pmu_memory_hit(const PmuMemory *mem, uint64_t addr,
                                  unsigned size, bool store)
{
    return __builtin_expect(pmu_l1_hit_filter_has(&mem->filter, addr, size,
                                                  store),
                            1);
}

/*
 * Time has passed, so the lines of all misses so far are in L1: accesses to
 * them are plain hits.  Lines of later misses are on their way for a while.
 */
static inline void pmu_memory_misses_arrive(PmuMemory *mem)
{
    mem->misses_arrived = mem->misses;
}

/*
 * Until pmu_memory_misses_arrive() the line of a miss is in L1 at once, as
 * the caller does not run the pipeline.
 */
static inline void pmu_memory_set_untimed(PmuMemory *mem)
{
    mem->misses_arrived = UINT64_MAX;
}

/*
 * Tell store forwarding of a store of @size bytes, 1 to 64, at linear address
 * @addr.  The caller reports every store.
 */
static inline void pmu_memory_record_store(PmuMemory *mem, uint64_t addr,
                                           unsigned size)
{
    pmu_store_forwarding_store(&mem->forwarding, addr, size);
}

/* Forget the stores recorded so far: others follow that are not recorded. */
static inline void pmu_memory_skip_stores(PmuMemory *mem)
{
    pmu_store_forwarding_skip(&mem->forwarding);
}

/* Where a load takes its data from: see pmu_store_forwarding_load(). */
static inline uint32_t pmu_memory_forwarding_store(PmuMemory *mem,
                                                   uint64_t addr, unsigned size)
{
    return pmu_store_forwarding_load(&mem->forwarding, addr, size);
}

#endif
