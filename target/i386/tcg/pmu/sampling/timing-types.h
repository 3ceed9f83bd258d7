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
 * Systematic sampling (SMARTS: Wunderlich et al., ISCA 2003).  Lengths are in
 * instructions, are rounded up to whole regions, and are not 0 unless said
 * otherwise.
 *
 * The first @initial_detailed instructions of all are simulated in detail, so
 * that short tests are exact.  Then a sampling unit is due each @period, or
 * sooner: early on, and where instructions wait for data.  It consists of
 * @full_warming instructions for the whole functional model, @detailed_warming
 * in which the pipeline fills, and @detailed, which count.  Between units,
 * code costs its known CPI.  There is functional warming all the time, or only
 * in the last @functional_warming of a period: see pmu_timing_set_interest().
 * In the last @fetch_warming, which may be 0, L1I, the ITLB, L2 and the DSB
 * see code as well.  Both are less than 1 << 29.  Where sampling units are not
 * as predicted functional warming is up to four times as long, and all but the
 * DSB see up to four times as much of the code.
 *
 * One in @unknown_share instructions may run in further sampling units, which
 * open when much code runs of which nothing is known.
 *
 * The lengths of periods are random, and depend on @seed.  0: the seed of a new
 * PmuTiming.
 */
typedef struct PmuSampling {
    uint32_t initial_detailed, period;
    uint32_t functional_warming, fetch_warming, full_warming;
    uint32_t detailed_warming, detailed;
    uint32_t unknown_share;
    uint32_t seed;
} PmuSampling;

/* The sampling of a new PmuTiming. */
extern const PmuSampling pmu_sampling;

/*
 * Most iterations of a REP string instruction in one call.  Translated code
 * stops for interrupts where rCX is a multiple of 65536 plus 1 (do_gen_rep(),
 * REP_MAX), except in front of the last iteration.  The model looks at each
 * iteration.  More are an error, counted in pmu_timing_repairs(), and left out.
 */
#define PMU_STRING_MAX_ITERATIONS ((1u << 16) + 1)

#endif
