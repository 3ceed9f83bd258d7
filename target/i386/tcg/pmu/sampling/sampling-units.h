/*
 * When code is looked at.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_SAMPLING_UNITS_H
#define TARGET_I386_PMU_SAMPLING_SAMPLING_UNITS_H

#include "tcg/pmu/sampling/timing-state.h"

/* Credit, in instructions, that can be saved up. */
int32_t pmu_sampling_max_credit(const PmuTiming *t);

/* Caches and predictors are to see what is left of a fast-forward. */
void pmu_sampling_end_fast_forward(PmuTiming *t);

/* No instructions are left of the phase at hand. */
void pmu_timing_end_phase(PmuTiming *t);

/*
 * The current region, which is not well known, was not simulated in detail: if
 * much of what runs is like it, a sampling unit is due.
 */
void pmu_sampling_note_doubt(PmuTiming *t);

#endif
