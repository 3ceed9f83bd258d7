/*
 * Code of which little or nothing is known: what it is taken to cost, and when
 * it is simulated in detail.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_UNKNOWN_CODE_H
#define TARGET_I386_PMU_SAMPLING_UNKNOWN_CODE_H

#include "tcg/pmu/sampling/timing-state.h"

/*
 * Count a run of the current region, @key, that was not simulated in detail and
 * whose cost is not well known.  May open a sampling unit for it, or end
 * fast-forward.
 */
void pmu_timing_count_unknown_region(PmuTiming *t, uint64_t key);

/*
 * With PmuInterest.time_only: what stands in for the cost, not well known, of
 * the region of @key, which has @insns instructions at @level.  That is the
 * mean of its few samples, or the mean of all regions with as many
 * instructions.  NULL without time_only, or if there is neither.
 */
PmuCpiEntry *pmu_timing_substitute_cost(const PmuTiming *t, uint64_t key,
                                        uint32_t insns, PmuLevel level);

/*
 * With time_only: add @t->region.sample, which the current region took, to the
 * mean of all regions with as many instructions.
 */
void pmu_timing_learn_length(PmuTiming *t);

/*
 * The current region, @key, was simulated in detail.  Is what it took typical
 * of it, so that its cost should learn from it?
 */
bool pmu_timing_is_typical(const PmuTiming *t, uint64_t key);

#endif
