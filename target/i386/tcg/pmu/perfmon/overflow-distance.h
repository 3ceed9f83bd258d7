/*
 * How far the ledger may move before a counter can interrupt or start another.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_PERFMON_OVERFLOW_DISTANCE_H
#define TARGET_I386_PMU_PERFMON_OVERFLOW_DISTANCE_H

#include "tcg/pmu/perfmon/perfmon-state.h"

/*
 * How far the ledger may move before a counter can interrupt or start another.
 * Counters whose overflow does neither are left out: no software sees it before
 * the next perfmon_update(), and that finds it.
 *
 * Each figure is the largest n, at least 1, such that no counter of its kind
 * can wrap before an item of its kind has grown by n.  Growth is the sum over
 * both levels.  UINT64_MAX: there is no such counter.  A counter with a
 * remainder (pmu_selection_gain()) may wrap later.
 */
typedef struct PerfmonDistance {
    /* Over counters of INSTRUCTIONS, and exact: the n-th one overflows. */
    uint64_t instructions;
    /*
     * The same over those that count at one level, as long as only
     * instructions at that level retire.  A counter of both levels bounds both
     * figures.  So after a change of level the caller must ask again, or
     * subtract the growth at the other level.
     */
    uint64_t instructions_level[PMU_LEVEL_NR];
    /* Over counters of branches; an item grows by at most 1 a branch. */
    uint64_t branches;
    /* Over counters of CYCLES. */
    uint64_t cycles;
    /*
     * Over counters of slots and the hidden ones of PERF_METRICS.  The figure
     * is for all classes of slots together.
     */
    uint64_t slots;
    /* Over counters of interrupts and exceptions, whatever else they count. */
    uint64_t deliveries;
    /* Over all other counters. */
    uint64_t any;
    /*
     * Over the counters of @any, in slots; an estimate, not a bound.  The first
     * of them overflows no sooner if none counts faster than it did lately.
     */
    uint64_t expected;
} PerfmonDistance;

/* Set *@to_overflow, from the counters' values at the last perfmon_update(). */
void perfmon_distance_to_overflow(const Perfmon *pmu,
                                  PerfmonDistance *to_overflow);

#endif
