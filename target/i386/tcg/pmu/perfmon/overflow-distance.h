/*
 * How far the ledger may move before a counter can interrupt.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_PERFMON_OVERFLOW_DISTANCE_H
#define TARGET_I386_PMU_PERFMON_OVERFLOW_DISTANCE_H

#include "tcg/pmu/perfmon/perfmon-state.h"

/*
 * How far the ledger may move before a counter can interrupt.  Counters whose
 * overflow does not interrupt are left out: no software sees it before the next
 * perfmon_update(), and that finds it.
 *
 * Each figure is the largest n such that no counter of its kind can wrap
 * while no item of its kind has grown by n or more, growth being the sum over
 * both levels; at least 1.  UINT64_MAX where there is no such counter.  A
 * counter with a remainder (pmu_selection_gain()) may wrap later than that.
 */
typedef struct PerfmonDistance {
    /* Over counters of INSTRUCTIONS, and exact: the n-th one overflows. */
    uint64_t instructions;
    /*
     * The same over those that count at one level, while only instructions at
     * that level retire.  A counter of both levels bounds both figures: after
     * a change of level they must be asked for again, or the growth at the
     * other level be taken off.
     */
    uint64_t instructions_level[PMU_LEVEL_NR];
    /* Over counters of branches: an item grows by at most 1 a branch. */
    uint64_t branches;
    /* Over counters of CYCLES. */
    uint64_t cycles;
    /*
     * Over counters of slots and the hidden ones of PERF_METRICS: all classes
     * of slots grow by that many together.
     */
    uint64_t slots;
    /* Over all other counters. */
    uint64_t any;
    /*
     * Over the counters of @any, in slots, and no bound: the first of them
     * interrupts no sooner if none counts faster than it did lately.
     */
    uint64_t expected;
} PerfmonDistance;

void perfmon_distance_to_overflow(const Perfmon *pmu,
                                  PerfmonDistance *to_overflow);

#endif
