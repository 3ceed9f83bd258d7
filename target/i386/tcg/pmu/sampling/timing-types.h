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
 * Systematic sampling (SMARTS: Wunderlich et al., ISCA 2003).  All figures are
 * numbers of instructions, rounded up to whole regions, and not 0 but where
 * that is said.
 *
 * The first @initial_detailed of all are simulated in detail, so that short
 * tests are exact.  Then a sampling unit is due each @period, or sooner, early
 * on and where instructions wait for data: @full_warming of the whole
 * functional model, @detailed_warming in which the pipeline fills, and
 * @detailed, which count.  In between, known CPI stands for what runs, and
 * there is functional warming, or in the last @functional_warming of a period
 * alone: see pmu_timing_set_interest().  In the last @fetch_warming, which may
 * be 0, caches of code see what is fetched as well.
 *
 * For one in @unknown_share instructions altogether, there are sampling units
 * besides when much runs of which nothing is known.
 *
 * Periods are random: another @seed makes others.  0: that of a new PmuTiming.
 */
typedef struct PmuSampling {
    uint32_t initial_detailed, period;
    uint32_t functional_warming, fetch_warming, full_warming;
    uint32_t detailed_warming, detailed;
    uint32_t unknown_share;
    uint32_t seed;
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
