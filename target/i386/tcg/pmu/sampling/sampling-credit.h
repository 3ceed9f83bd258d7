/*
 * What may be simulated in detail besides the sampling units of periods: when
 * there is much code of unknown cost, and credit for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_SAMPLING_CREDIT_H
#define TARGET_I386_PMU_SAMPLING_SAMPLING_CREDIT_H

#include "tcg/pmu/sampling/timing-state.h"

/*
 * A sampling unit is worth while where at least one in PMU_UNKNOWN_SHARE
 * instructions is of unknown cost: each such one adds PMU_UNKNOWN_SHARE to a
 * sum, and any one takes one off.  When so much has come together a sampling
 * unit opens if there is credit.
 */
#define PMU_UNKNOWN_SHARE   16

/*
 * If there was little of it in the sampling unit any more, as of code that
 * comes and goes with a timer's interrupt, the next one takes twice as much, so
 * many times.  Little is less than one in PMU_UNKNOWN_LITTLE of what was
 * simulated in detail.
 */
#define PMU_UNKNOWN_MAX_DOUBLINGS    6
#define PMU_UNKNOWN_LITTLE  8

/* Credit, in instructions, that can be saved up. */
int32_t pmu_timing_max_credit(const PmuTiming *t);

/*
 * Is there credit for a sampling unit, leaving at least @least, or has it been
 * taken in this period already?  Take it.
 */
bool pmu_sampling_take_credit(PmuTiming *t, int32_t least);

/* How much of the period at hand is over. */
uint32_t pmu_sampling_in_period(const PmuTiming *t);

/*
 * What is asked: whether it is so, or, before caches and predictors have seen
 * something of it, whether it may be: half as much will do.  That is paid for
 * as well: that they see what runs is as dear as the sampling unit.
 */
typedef enum PmuDoubt {
    PMU_IS = 1,
    PMU_MAY_BE = 2
} PmuDoubt;

/* Does so much unknown code run that it should be looked at? */
bool pmu_sampling_is_unknown(PmuTiming *t, PmuDoubt doubt);

/* Is a region that made up @insns instructions of this period dominant? */
bool pmu_sampling_is_dominant(PmuTiming *t, uint32_t insns, PmuDoubt doubt);

#endif
