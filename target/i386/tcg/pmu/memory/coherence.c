/*
 * Coherence: snoops from other vCPUs, and lines that leave all caches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcg/pmu/memory/beyond-l1.h"
#include "tcg/pmu/memory/code-access.h"
#include "tcg/pmu/memory/coherence.h"
#include "tcg/pmu/memory/l1d.h"

/*
 * Another vCPU asked for the line of @snoop.  If it writes, the line leaves
 * this vCPU's caches, else this vCPU no longer owns it.  Did L1D have it?
 */
static bool take_snoop(PmuMemory *mem, const PmuSnoop *snoop)
{
    size_t entry = pmu_cache_find(&mem->l1d, snoop->line);

    if (entry != PMU_CACHE_NONE) {
        pmu_l1d_unfilter(mem, snoop->line);
        mem->line[entry].owned = false;
    }
    if (snoop->write) {
        if (entry != PMU_CACHE_NONE) {
            mem->snooped[mem->num_snooped++] = snoop->line;
        }
        pmu_cache_remove(&mem->l1d, snoop->line);
        pmu_tag_array_remove(&mem->l2, snoop->line);
        if (pmu_l1i_has(mem, snoop->line)) {
            pmu_cache_remove(&mem->l1i, snoop->line);
            pmu_l1i_notify_evicted(mem, snoop->line);
        }
    }
    return entry != PMU_CACHE_NONE;
}

bool pmu_memory_take_snoops(PmuMemory *mem)
{
    PmuSnoop snoops[PMU_SNOOP_SLOTS];
    unsigned n = pmu_invalidation_queue_take(mem->snoops, snoops);
    bool had = false;

    mem->num_snooped = 0;
    for (unsigned i = 0; i < n; i++) {
        had |= take_snoop(mem, &snoops[i]);
    }
    return had;
}

bool pmu_coherence_drop_line(PmuMemory *mem, uint64_t line)
{
    if (!pmu_beyond_l1_may_write(mem, line)) {
        pmu_l3_send_snoop(mem->shared_l3, mem->sharer, PMU_SHARER_OTHERS,
                          (PmuSnoop) { .line = line, .write = true });
    }
    pmu_l1d_unfilter(mem, line);
    pmu_cache_remove(&mem->l1d, line);
    pmu_tag_array_remove(&mem->l2, line);
    return pmu_tag_array_remove(mem->l3, line);
}
