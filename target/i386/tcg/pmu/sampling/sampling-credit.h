/*
 * Sampling units besides those of periods: when there is much code of unknown
 * cost, and the credit that limits them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_SAMPLING_CREDIT_H
#define TARGET_I386_PMU_SAMPLING_SAMPLING_CREDIT_H

#include "tcg/pmu/sampling/timing-state.h"

/*
 * A sampling unit is worth while where at least one in PMU_UNKNOWN_SHARE
 * instructions is of unknown cost.  Each such instruction adds
 * PMU_UNKNOWN_SHARE to a sum, and every instruction takes one off.  When the
 * sum reaches UNKNOWN_MUCH a sampling unit opens, if there is credit.
 */
#define PMU_UNKNOWN_SHARE   16

/*
 * If the sampling unit had little unknown code in it any more, as with code
 * that comes and goes with a timer's interrupt, the next one takes twice as
 * large a sum, up to PMU_UNKNOWN_MAX_DOUBLINGS times.  Little is less than one
 * in PMU_UNKNOWN_LITTLE of the instructions simulated in detail.
 */
#define PMU_UNKNOWN_MAX_DOUBLINGS    6
#define PMU_UNKNOWN_LITTLE  8

/* The most credit that can be saved up, in instructions. */
int32_t pmu_timing_max_credit(const PmuTiming *t);

/* Instructions of the current period that are over. */
uint32_t pmu_sampling_in_period(const PmuTiming *t);

/*
 * Whether code is unknown or dominant, or may be: that takes half as much, and
 * is for fast-forward, where caches and predictors have seen nothing of it yet.
 * It takes credit, too: warming them costs as much as the sampling unit.
 */
typedef enum PmuDoubt {
    PMU_IS = 1,
    PMU_MAY_BE = 2
} PmuDoubt;

/*
 * Does so much unknown code run that a unit is worth while?  Takes credit if
 * so, unless that was done when fast-forward ended early.
 */
bool pmu_sampling_claim_unknown(PmuTiming *t, PmuDoubt doubt);

/* The same: is a region that made up @insns of this period dominant? */
bool pmu_sampling_claim_dominant(PmuTiming *t, uint32_t insns, PmuDoubt doubt);

#endif
