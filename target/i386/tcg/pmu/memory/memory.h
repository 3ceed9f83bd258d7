/*
 * The memory side: TLBs, caches, prefetches, store forwarding.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A function of the addresses in program order; there is no time here (see
 * outcome.h).  In most cases an access changes nothing and has nothing to tell:
 * pmu_memory_hit() says so, and the caller goes on without asking for more.
 *
 * This folder has the cache hierarchy (l1d, beyond-l1, tag-array,
 * l3-directory), TLBs and page walks, prefetchers, store forwarding, write
 * combining, and coherence between vCPUs that share an L3.  It includes
 * decode/ for blocks' accesses, ledger/ to count what it finds, and uarch/.  It
 * must not know the pipeline, nor which accesses are looked at and why.
 *
 * This header is all that others include, but for tlb.h, cache.h and
 * tag-array.h, which serve the frontend as well, and l3-directory.h.
 */

#ifndef TARGET_I386_PMU_MEMORY_MEMORY_H
#define TARGET_I386_PMU_MEMORY_MEMORY_H

#include "tcg/pmu/memory/code-access.h"
#include "tcg/pmu/memory/coherence.h"
#include "tcg/pmu/memory/data-access.h"
#include "tcg/pmu/memory/hinted-access.h"
#include "tcg/pmu/memory/memory-state.h"

/*
 * A cold memory side with the geometry in @uarch: sets of L1D, L1I and TLBs
 * are powers of 2, of L2 and L3 any number.  It counts in @ledger what misses
 * L1D, L1I and the TLBs, and where it is found.  @l3 is the machine's, NULL:
 * one of its own.  False if memory runs out.
 */
bool pmu_memory_init(PmuMemory *mem, const PmuUarch *uarch, PmuLedger *ledger,
                     PmuL3 *l3, PmuTranslate translate, void *opaque);

void pmu_memory_destroy(PmuMemory *mem);

/* Back to a cold one, but for an L3 that is shared. */
void pmu_memory_reset(PmuMemory *mem);

/*
 * Linear to physical mappings learnt are void, as @flush says; @linear is the
 * address for PMU_TLB_FLUSH_PAGE.
 */
void pmu_memory_flush_mappings(PmuMemory *mem, PmuTlbFlush flush,
                               uint64_t linear);

/*
 * An access of @size bytes, 1 or more, at linear address @addr, which stores or
 * just loads: does it change nothing here, and is its PmuAccessOutcome all zero
 * but for what store forwarding says?  Then pmu_memory_load() or
 * pmu_memory_store() need not be called.  Otherwise, or if in doubt, it must
 * be.
 */
static inline bool pmu_memory_hit(const PmuMemory *mem, uint64_t addr,
                                  unsigned size, bool store)
{
    return __builtin_expect(pmu_l1_hit_filter_has(&mem->filter, addr, size,
                                                  store),
                            1);
}

/*
 * The lines of all misses so far are in L1, as time has passed: accesses to
 * them need not be told from plain hits.  Those of misses from now on are on
 * their way for a while.
 */
static inline void pmu_memory_misses_arrive(PmuMemory *mem)
{
    mem->misses_arrived = mem->misses;
}

/*
 * The caller asks for no times from now on, until pmu_memory_misses_arrive():
 * the line of a miss is in L1 at once.
 */
static inline void pmu_memory_set_untimed(PmuMemory *mem)
{
    mem->misses_arrived = UINT64_MAX;
}

/* A store of @size bytes, 1 to 64, at linear address @addr; every one. */
static inline void pmu_memory_record_store(PmuMemory *mem, uint64_t addr,
                                           unsigned size)
{
    pmu_store_forwarding_store(&mem->forwarding, addr, size);
}

/* Stores follow that pmu_memory_record_store() is not told of. */
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
