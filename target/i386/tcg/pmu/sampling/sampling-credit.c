/*
 * Credit for sampling units, and when there is much code of unknown cost.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/sampling/sampling-credit.h"
#include "tcg/pmu/sampling/timing-ledger.h"

/* Sampling units for which credit can be saved up, or overdrawn. */
#define CREDIT_UNITS  64
/* The sum at which there is much unknown code: see PMU_UNKNOWN_SHARE. */
#define UNKNOWN_MUCH    (160 * PMU_UNKNOWN_SHARE)

/*
 * A region of which little or nothing is known is dominant if it makes up one
 * in DOMINANT_SHARE instructions of the period.  Credit may be overdrawn for
 * it.  With time_only that would end fast-forward so often that Linux's boot
 * takes 1.4 times as long, so there it is one in DOMINANT_SHARE_TIME.
 */
#define DOMINANT_SHARE      64
#define DOMINANT_SHARE_TIME 8

/* Instructions in a sampling unit. */
static uint32_t unit_insns(const PmuTiming *t)
{
    return t->plan.sampling->full_warming + t->plan.sampling->detailed_warming +
           t->plan.sampling->detailed;
}

int32_t pmu_timing_max_credit(const PmuTiming *t)
{
    return t->plan.sampling ? unit_insns(t) * CREDIT_UNITS : 0;
}

uint32_t pmu_sampling_in_period(const PmuTiming *t)
{
    return t->plan.period - t->plan.after_phase - t->plan.left;
}

/*
 * Take the credit for a sampling unit, unless that was done when fast-forward
 * ended early.  False, and nothing is taken, if less than @least would be left.
 */
static bool take_credit(PmuTiming *t, int32_t least)
{
    int32_t price = t->plan.paid ? 0 : unit_insns(t);

    if (price && t->plan.credit - price < least) {
        return false;
    }
    t->plan.credit -= price;
    t->plan.paid = false;
    return true;
}

bool pmu_sampling_claim_unknown(PmuTiming *t, PmuDoubt doubt)
{
    uint32_t much = UNKNOWN_MUCH << t->unknown.doublings;

    return t->unknown.sum >= much / doubt && take_credit(t, 0);
}

bool pmu_sampling_claim_dominant(PmuTiming *t, uint32_t insns, PmuDoubt doubt)
{
    uint32_t share = t->interest.time_only ? DOMINANT_SHARE_TIME
                                           : DOMINANT_SHARE;

    return insns >= unit_insns(t) / (2 * doubt) &&
           insns >= pmu_sampling_in_period(t) / (share * doubt) &&
           take_credit(t, -pmu_timing_max_credit(t));
}
