/*
 * Regions of code: the unit that costs are kept for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A region is what runs from behind a branch to the next one, and may end
 * before that (PmuBlock.ends_region).  When one ends, it is counted with the
 * cost that the CPI table has, or its own is added there.
 */

#ifndef TARGET_I386_PMU_SAMPLING_REGION_H
#define TARGET_I386_PMU_SAMPLING_REGION_H

#include "tcg/pmu/sampling/timing-state.h"
#include "tcg/pmu/sampling/unknown-code.h"

/* What is known of the current region is under this key. */
static inline uint64_t pmu_region_key(const PmuTiming *t)
{
    return pmu_cpi_table_key(t->region.hash, t->ledger->level);
}

/* The current region was not simulated in detail. */
static inline void pmu_region_count(PmuTiming *t)
{
    uint64_t key = pmu_region_key(t);
    PmuCpiEntry *cost = pmu_cpi_table_find(&t->cpi_table, key);

    if (G_LIKELY(cost)) {
        pmu_timing_count_known_region(t, cost);
    } else {
        pmu_timing_count_unknown_region(t, key);
    }
}

/*
 * Assists at the end of a region.  They take as long wherever they are, and
 * are entered apart from it; that all before has to retire is what it takes.
 */
void pmu_region_take_assists(PmuTiming *t);

/* The current region ends. */
void pmu_region_end(PmuTiming *t);

/* The same if there is one. */
void pmu_region_end_open(PmuTiming *t);

/*
 * Go on at @level: hardware drains the pipeline, the rest of an open cycle is
 * lost.
 */
void pmu_region_change_level(PmuTiming *t, PmuLevel level);

/* The current region begins where @t->region.pc and @t->region.phys say. */
void pmu_region_begin_code(PmuTiming *t);

/*
 * Instructions [@first, @last) of @block are its newest, in the same page or
 * another one.
 */
void pmu_region_extend_code(PmuTiming *t, const PmuBlock *block, unsigned first,
                            unsigned last);

#endif
