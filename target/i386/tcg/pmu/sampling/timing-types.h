/*
 * Types of the timing model that its users and its parts share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_TIMING_TYPES_H
#define TARGET_I386_PMU_SAMPLING_TIMING_TYPES_H

#include <stdint.h>

typedef struct PmuTiming PmuTiming;

/*
 * Systematic sampling (SMARTS: Wunderlich et al., ISCA 2003).  Figures are
 * numbers of instructions, rounded up to whole regions, and not 0, but for the
 * shares.
 *
 * The first @initial_detailed of all are simulated in detail, so that short
 * tests are exact.  Then a sampling unit is due each period: @detailed_warming,
 * in which the pipeline fills, and @detailed, which count.  The period is one
 * in @age_share of what ran since code has been known, between @shortest and
 * @longest; or less where much is not well known.  In between, known CPI stands
 * for what runs, and there is functional warming, or in the last @warming of a
 * period alone: see pmu_timing_set_interest().  In these, caches of code see
 * what is fetched as well.
 *
 * One in @detailed_share instructions are simulated in detail at most.
 */
typedef struct PmuSampling {
    uint32_t initial_detailed;
    uint32_t shortest, longest, age_share;
    uint32_t warming, detailed_warming, detailed;
    uint32_t detailed_share;
} PmuSampling;

/* What a new PmuTiming does. */
extern const PmuSampling pmu_sampling;

/*
 * Iterations of a REP string instruction in one go: translated code stops for
 * interrupts where rCX is a multiple of 65536 and 1 (do_gen_rep(), REP_MAX),
 * except in front of the last iteration.  The model looks at each of them; more
 * are an error, counted in pmu_timing_repairs() and left out.
 */
#define PMU_STRING_MAX_ITERATIONS ((1u << 16) + 1)

#endif
