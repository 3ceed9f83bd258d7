/*
 * The lines of L1D, and which of them the L1-hit filter has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcg/pmu/memory/l1d.h"

PmuL1dLine *pmu_l1d_insert(PmuMemory *mem, uint64_t line)
{
    size_t first = pmu_cache_first(&mem->l1d, line);
    uint64_t dropped;
    size_t entry = pmu_cache_choose(&mem->l1d, line, &dropped);

    for (; dropped; dropped &= dropped - 1) {
        PmuL1dLine *other = &mem->line[first + __builtin_ctzll(dropped)];

        if (other->linear != PMU_NO_LINE) {
            pmu_l1_hit_filter_remove(&mem->filter, other->linear);
            other->linear = PMU_NO_LINE;
        }
    }
    pmu_cache_fill(&mem->l1d, entry, line);
    return &mem->line[entry];
}

void pmu_l1d_unfilter(PmuMemory *mem, uint64_t line)
{
    size_t entry = pmu_cache_find(&mem->l1d, line);

    if (entry != PMU_CACHE_NONE) {
        pmu_l1_hit_filter_remove(&mem->filter, mem->line[entry].linear);
        mem->line[entry].linear = PMU_NO_LINE;
    }
}
