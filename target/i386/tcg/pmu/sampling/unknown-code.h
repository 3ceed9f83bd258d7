/*
 * Code of which little or nothing is known: what counts for it, and when it is
 * simulated.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_UNKNOWN_CODE_H
#define TARGET_I386_PMU_SAMPLING_UNKNOWN_CODE_H

#include "tcg/pmu/sampling/timing-state.h"

/*
 * The current region, @key, was not simulated in detail; its cost is not well
 * known.
 */
void pmu_timing_count_unknown_region(PmuTiming *t, uint64_t key);

/*
 * Where PmuInterest.time_only, what stands in for the cost, @key, of a region
 * of @insns instructions at @level, as that is not well known: the mean of the
 * few samples there are, or of all regions with as many instructions.  NULL
 * elsewhere, or if there is none.
 */
PmuCpiEntry *pmu_timing_substitute_cost(const PmuTiming *t, uint64_t key,
                                        uint32_t insns, PmuLevel level);

/* The current region took @t->region.sample, which goes into that mean. */
void pmu_timing_learn_length(PmuTiming *t);

/*
 * The current region, @key, was simulated in detail: is what it took typical of
 * it?
 */
bool pmu_timing_is_typical(const PmuTiming *t, uint64_t key);

#endif
