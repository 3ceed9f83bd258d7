/*
 * Regions of code: the unit that costs are kept for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A region is the code that runs from behind a branch to the next one, and may
 * end before that (PmuBlock.ends_region).  When a region ends, it is counted
 * with the cost that the CPI table has, or the table learns what it took.
 */

#ifndef TARGET_I386_PMU_SAMPLING_REGION_H
#define TARGET_I386_PMU_SAMPLING_REGION_H

#include "tcg/pmu/sampling/timing-state.h"
#include "tcg/pmu/sampling/unknown-code.h"

/* Returns the CPI table's key for the current region. */
static inline uint64_t pmu_region_key(const PmuTiming *t)
{
    return pmu_cpi_table_key(t->region.hash, t->ledger->level);
}

/* Count the current region, which was not simulated in detail. */
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
 * Take the assists at the end of a region.  Each takes the same time wherever
 * it is, so they are entered apart from the region.  The region's own cost has
 * the time until everything before them has retired.
 */
void pmu_region_take_assists(PmuTiming *t);

/* End the current region. */
void pmu_region_end(PmuTiming *t);

/* The same, if a region has begun. */
void pmu_region_end_open(PmuTiming *t);

/*
 * Go on at privilege level @level.  Hardware drains the pipeline, so the rest
 * of an open cycle is lost.
 */
void pmu_region_change_level(PmuTiming *t, PmuLevel level);

#endif
