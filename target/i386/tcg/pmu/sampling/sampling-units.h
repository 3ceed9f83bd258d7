/*
 * Sampling units and what lies between them: which phase comes next, and how
 * long it is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_SAMPLING_UNITS_H
#define TARGET_I386_PMU_SAMPLING_SAMPLING_UNITS_H

#include "tcg/pmu/sampling/timing-state.h"

/* From now on as @sampling says, whose first part is simulated in detail. */
void pmu_sampling_begin(PmuTiming *t, const PmuSampling *sampling);

/* The same for a cold core. */
void pmu_sampling_restart(PmuTiming *t, const PmuSampling *sampling);

/* What is of interest will be @interest. */
void pmu_sampling_note_interest(PmuTiming *t, const PmuInterest *interest);

/*
 * What is functionally warmed is observed from now on, and its waits count in
 * the period.
 */
void pmu_timing_observe(PmuTiming *t);

/*
 * Caches and predictors are to see the rest of the period at hand, which goes
 * forward, and which is no longer than that takes.
 */
void pmu_timing_end_fast_forward(PmuTiming *t);

/* No instructions are left of the phase at hand. */
void pmu_timing_end_phase(PmuTiming *t);

/*
 * Look at what nothing is known of: the pipeline runs from the beginning, so
 * that it can say what that takes until there is a mean.
 */
void pmu_sampling_simulate_unknown(PmuTiming *t);

/*
 * The same for one region: its data may not be where they will be most of the
 * time, so that it is looked at again soon, and observed up to then.
 */
void pmu_sampling_simulate_dominant(PmuTiming *t);

/* The same sooner than planned, for a sampling unit that is paid for. */
void pmu_sampling_end_fast_forward_early(PmuTiming *t);

#endif
