/*
 * Timing of REP string instructions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_REP_STRINGS_H
#define TARGET_I386_PMU_SAMPLING_REP_STRINGS_H

#include "tcg/pmu/sampling/timing-state.h"

/*
 * The REP string instruction @index of @block did @dynamic->iterations
 * iterations, at most PMU_STRING_MAX_ITERATIONS.  @last: it has retired.  See
 * pmu_timing_string().
 */
void pmu_timing_run_string(PmuTiming *t, const PmuBlock *block,
                           unsigned index, const PmuExecution *dynamic,
                           bool last);

/* The REP string instruction that is under way, if any, will not go on. */
void pmu_timing_end_string(PmuTiming *t);

#endif
