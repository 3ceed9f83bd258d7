/*
 * When code is looked at.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See PmuPhase and PmuSampling.
 */

#include <glib.h>

#include "tcg/pmu/sampling/sampling-units.h"
#include "tcg/pmu/sampling/timing-ledger.h"

const PmuSampling pmu_sampling = {
    .initial_detailed = 1u << 19,
    .shortest = 1u << 15, .longest = 1u << 22, .age_share = 16,
    .warming = 1u << 15, .detailed_warming = 1024, .detailed = 2048,
    .detailed_share = 64,
};

/* Sampling units that can be saved up. */
#define CREDIT_UNITS    64

/*
 * A unit is due when so much of what ran in a period is not well known: one in
 * DOUBT_SHARE instructions, and half of a unit.
 */
#define DOUBT_SHARE     16

/* An instruction simulated in detail takes as long as so many warmed ones. */
#define WARMED_SHARE    8

/* Instructions that a sampling unit simulates in detail. */
static int32_t unit_insns(const PmuTiming *t)
{
    return t->sampling->detailed_warming + t->sampling->detailed;
}

/* What it costs of the credit, if caches of code are warmed for it. */
static int32_t unit_price(const PmuTiming *t)
{
    return unit_insns(t) + t->sampling->warming / WARMED_SHARE;
}

int32_t pmu_sampling_max_credit(const PmuTiming *t)
{
    return t->sampling ? unit_price(t) * CREDIT_UNITS : 0;
}

/* How many instructions of the period at hand ran. */
static uint32_t in_period(const PmuTiming *t)
{
    return t->period - t->behind - t->left;
}

/*
 * When the next unit is due, on average: the longer code has been known, the
 * later, so that each program has many whether it is short or long; and no
 * sooner than can be afforded.
 */
static uint32_t mean_period(const PmuTiming *t)
{
    const PmuSampling *s = t->sampling;
    uint32_t period = CLAMP(t->age / s->age_share, s->shortest, s->longest);

    return t->credit >= unit_price(t)
           ? period : MAX(period, unit_price(t) * s->detailed_share);
}

/*
 * By up to a quarter more or less: loops of programs must not beat with it.
 * The random numbers are Marsaglia's ("Xorshift RNGs", 2003).
 */
static uint32_t next_period(PmuTiming *t)
{
    uint32_t mean = mean_period(t), quarter = mean / 4;

    t->random ^= t->random << 13;
    t->random ^= t->random >> 17;
    t->random ^= t->random << 5;
    return mean - quarter + t->random % (2 * quarter + 1);
}

/* Is nothing to be observed up to the end of the period, and is it worth it? */
static bool may_fast_forward(const PmuTiming *t)
{
    return !t->interest.observed && t->warmed_insns >= t->functional_until &&
           t->left >= (int32_t)t->sampling->warming;
}

/* Code that ran, and what it needs of the DSB. */
typedef struct WarmedCode {
    PmuFunctionalModel *functional;
    uint64_t dsb_uops;
} WarmedCode;

static void warm_one(const PmuRegionCode *code, void *opaque)
{
    WarmedCode *touched = opaque;

    pmu_functional_warm_code(touched->functional, code->first, code->lines);
    pmu_functional_warm_page(touched->functional, code->branch, code->first,
                             code->large);
    if (code->taken) {
        pmu_functional_warm_taken_branch(touched->functional, code->branch);
    }
    touched->dsb_uops += code->dsb_uops;
}

/*
 * Caches of code are to have what ran lately, in whatever order; what that is
 * is known when costs are settled.  What the DSB had is gone if there was more
 * of it than fits.
 */
static void warm_code(PmuTiming *t)
{
    WarmedCode touched = { .functional = &t->functional };

    pmu_timing_enter_estimates(t);
    pmu_cpi_table_for_each_code(&t->cpi_table, warm_one, &touched);
    if (touched.dsb_uops > t->uarch->dsb_uops) {
        pmu_fetch_unit_forget(&t->functional.fetcher);
    }
}

/* The last part of a period: all of the functional model sees it. */
static void begin_warming(PmuTiming *t)
{
    if (t->phase == PMU_PHASE_FAST_FORWARD) {
        pmu_functional_skip_all(&t->functional);
    }
    warm_code(t);
    pmu_fetch_unit_restart(&t->functional.fetcher);
    t->phase = PMU_PHASE_FETCH_WARMING;
    t->left += t->behind;
    t->behind = 0;
}

static void begin_period(PmuTiming *t)
{
    pmu_cpi_table_end_unit(&t->cpi_table);
    t->accounted = t->functional.covariates;
    pmu_functional_skip(&t->functional);
    pmu_block_runs_revise(&t->runs);
    t->doubt = 0;
    t->prepared = true;
    t->period = next_period(t);
    t->behind = MIN(t->period, (int32_t)t->sampling->warming);
    t->left = t->period - t->behind;
    t->phase = may_fast_forward(t) ? PMU_PHASE_FAST_FORWARD
                                   : PMU_PHASE_FUNCTIONAL_WARMING;
    pmu_cpi_table_set_observed(&t->cpi_table,
                               t->phase != PMU_PHASE_FAST_FORWARD);
    if (t->left <= 0) {
        begin_warming(t);
    }
}

/* Another period is over: how long has what ran been known? */
static void end_period(PmuTiming *t)
{
    uint32_t length = in_period(t), doubt = MIN(t->doubt, length);

    pmu_timing_enter_estimates(t);
    t->warmed_insns += length;
    t->age += length;
    t->age -= length ? t->age * doubt / length : 0;
    if (pmu_cpi_table_judge(&t->cpi_table, length)) {
        t->age = 0;
    }
    t->credit = MIN(t->credit + (int32_t)(length / t->sampling->detailed_share),
                    pmu_sampling_max_credit(t)) -
                (t->prepared ? unit_price(t) : unit_insns(t));
}

static void begin_unit(PmuTiming *t)
{
    end_period(t);
    if (t->phase == PMU_PHASE_FETCH_WARMING) {
        pmu_timing_discard_seen(t);
    }
    /* The pipeline did not run what missed since. */
    pmu_memory_misses_arrive(&t->functional.mem);
    t->phase = PMU_PHASE_DETAILED_WARMING;
    t->left = t->sampling->detailed_warming;
}

static void begin_detailed(PmuTiming *t)
{
    pmu_timing_enter_estimates(t);
    pmu_cpi_table_set_observed(&t->cpi_table, true);
    pmu_timing_resume_pipeline(t);
    pmu_cpi_table_begin_unit(&t->cpi_table);
    t->phase = PMU_PHASE_DETAILED;
    t->left = t->sampling->detailed;
}

void pmu_sampling_end_fast_forward(PmuTiming *t)
{
    pmu_timing_enter_block_runs(t);
    pmu_functional_skip_all(&t->functional);
    warm_code(t);
    pmu_cpi_table_set_observed(&t->cpi_table, true);
    t->phase = PMU_PHASE_FUNCTIONAL_WARMING;
}

void pmu_sampling_note_doubt(PmuTiming *t)
{
    t->doubt += t->insns;
    if (t->doubt < (uint32_t)unit_insns(t) / 2 ||
        t->doubt < in_period(t) / DOUBT_SHARE ||
        t->credit < unit_insns(t)) {
        return;
    }
    if (t->phase == PMU_PHASE_FAST_FORWARD) {
        t->period -= t->left;
        t->left = 0;
        return;
    }
    t->prepared = false;
    if (t->phase == PMU_PHASE_FUNCTIONAL_WARMING) {
        warm_code(t);
    }
    t->period = in_period(t);
    t->behind = 0;
    t->left = 0;
    begin_unit(t);
}

void pmu_timing_end_phase(PmuTiming *t)
{
    if (!t->sampling) {
        t->left = INT32_MAX;
        return;
    }
    pmu_timing_enter_block_runs(t);
    switch (t->phase) {
    case PMU_PHASE_FAST_FORWARD:
    case PMU_PHASE_FUNCTIONAL_WARMING:
        begin_warming(t);
        break;
    case PMU_PHASE_FETCH_WARMING:
        begin_unit(t);
        break;
    case PMU_PHASE_DETAILED_WARMING:
        begin_detailed(t);
        break;
    case PMU_PHASE_DETAILED:
        begin_period(t);
        break;
    }
}
