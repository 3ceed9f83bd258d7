/*
 * The schedule of sampling units and of what lies between them: which phase
 * comes next, and how long it is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_SAMPLING_UNITS_H
#define TARGET_I386_PMU_SAMPLING_SAMPLING_UNITS_H

#include "tcg/pmu/sampling/timing-state.h"

/*
 * Sample as @sampling says from now on, beginning with @initial_detailed
 * instructions in detailed simulation.  NULL: simulate all in detail.
 */
void pmu_sampling_begin(PmuTiming *t, const PmuSampling *sampling);

/* The same for a cold core: what was planned and judged so far is lost. */
void pmu_sampling_restart(PmuTiming *t, const PmuSampling *sampling);

/* Note that the caller is about to set @t->interest to @interest. */
void pmu_sampling_note_interest(PmuTiming *t, const PmuInterest *interest);

/*
 * Observe what is functionally warmed from now on.  Its waits shorten the
 * period.
 */
void pmu_timing_observe(PmuTiming *t);

/*
 * End fast-forward.  The current period goes on with functional warming alone,
 * and is shortened if more is left of it than that takes.
 */
void pmu_timing_end_fast_forward(PmuTiming *t);

/* No instructions are left in the current phase: begin the next one. */
void pmu_timing_end_phase(PmuTiming *t);

/*
 * Open a sampling unit for unknown code.  The pipeline runs from its beginning,
 * so that it can say what regions take until there is a mean.
 */
void pmu_sampling_simulate_unknown(PmuTiming *t);

/*
 * The same for one dominant region.  Its data may not be where they will be
 * most of the time, so it is sampled again soon, and observed up to then.
 */
void pmu_sampling_simulate_dominant(PmuTiming *t);

/*
 * pmu_timing_end_fast_forward() earlier than planned, for a sampling unit whose
 * credit was taken.
 */
void pmu_sampling_end_fast_forward_early(PmuTiming *t);

#endif
