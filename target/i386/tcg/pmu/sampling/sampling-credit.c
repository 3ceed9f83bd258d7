/*
 * Credit for sampling units, and when there is much code of unknown cost.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/sampling/sampling-credit.h"
#include "tcg/pmu/sampling/timing-ledger.h"

/* Windows besides those of periods that can be saved up, or overdrawn. */
#define CREDIT_UNITS  64
#define UNKNOWN_SOME    (160 * PMU_UNKNOWN_SHARE)

/*
 * The same if one region alone, of which little or nothing is known, makes up
 * one in DOMINANT_SHARE, and for that the credit is overdrawn.
 */
#define DOMINANT_SHARE  64

/* Instructions in a sampling unit. */
static uint32_t unit_insns(const PmuTiming *t)
{
    return t->sampling->full_warming + t->sampling->detailed_warming +
           t->sampling->detailed;
}

int32_t pmu_timing_max_credit(const PmuTiming *t)
{
    return t->sampling ? unit_insns(t) * CREDIT_UNITS : 0;
}

uint32_t pmu_sampling_in_period(const PmuTiming *t)
{
    return t->period - t->behind - t->left;
}

bool pmu_sampling_take_credit(PmuTiming *t, int32_t least)
{
    int32_t price = unit_insns(t);

    if (!t->paid && t->credit - price < least) {
        return false;
    }
    t->credit -= t->paid ? 0 : price;
    t->paid = false;
    return true;
}

/* When what is unknown is much. */
static uint32_t unknown_much(const PmuTiming *t)
{
    return UNKNOWN_SOME << t->unknown_twice;
}

bool pmu_sampling_may_be_unknown(PmuTiming *t)
{
    return t->unknown >= unknown_much(t) / 2 && pmu_sampling_take_credit(t, 0);
}

bool pmu_sampling_may_be_dominant(PmuTiming *t, uint32_t insns)
{
    return insns >= unit_insns(t) / 4 &&
           insns >= pmu_sampling_in_period(t) / (2 * DOMINANT_SHARE) &&
           pmu_sampling_take_credit(t, -pmu_timing_max_credit(t));
}

bool pmu_sampling_is_unknown(PmuTiming *t)
{
    return t->unknown >= unknown_much(t) && pmu_sampling_take_credit(t, 0);
}

bool pmu_sampling_is_dominant(PmuTiming *t, uint32_t insns)
{
    return insns >= unit_insns(t) / 2 &&
           insns >= pmu_sampling_in_period(t) / DOMINANT_SHARE &&
           pmu_sampling_take_credit(t, -pmu_timing_max_credit(t));
}
