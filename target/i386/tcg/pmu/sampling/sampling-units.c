/*
 * The schedule of sampling units and of what lies between them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See PmuPhase and PmuSampling.
 */

#include <glib.h>

#include "tcg/pmu/sampling/covariate-costs.h"
#include "tcg/pmu/sampling/sampling-credit.h"
#include "tcg/pmu/sampling/sampling-units.h"
#include "tcg/pmu/sampling/timing-ledger.h"

/*
 * Fetch warming: the DSB has some thousand micro-ops to find again, and where
 * it is too small those of the last iterations of a long loop.  Detailed
 * warming: the pipeline is warm when its reorder buffer has been filled.  768
 * instructions fill one of 512 micro-ops, if two of three make one each.  An
 * instruction in a sampling unit takes the host as long as some ten that are
 * functionally warmed, or some tens that are fast-forwarded.
 */
const PmuSampling pmu_sampling = {
    .initial_detailed = 1u << 19, .fetch_warming = 1u << 15,
    .full_warming = 2112, .detailed_warming = 768, .detailed = 2240,
    .unknown_share = 64, .period = 1u << 19, .functional_warming = 1u << 15,
};

/* The shortest period is PmuSampling.period divided by this. */
#define LONGEST_SHORTEST    16

/*
 * Each sampling unit that is as the costs predicted, but for STEADY_ERROR of
 * its slots, makes periods twice as long, up to STEADY_MOST times.  One that is
 * off by more than UNSTEADY_ERROR makes them as long as at first.  With three
 * times instead of four, a tenth more is what
 * tests/bench/run --only topdown --workloads shell,awk --scale 4 shows.
 */
#define STEADY_ERROR    (1.0 / 12)
#define UNSTEADY_ERROR  (1.0 / 6)
#define STEADY_MOST     4

/*
 * Functional warming, and line warming together with fetch warming, are four
 * times as long after a unit that makes periods as long as at first, and half
 * of that for each unit that makes them longer.  The L2 does not have the code
 * of programs that have just begun, nor of the kernel, whose code is large and
 * seldom runs: otherwise the kernel's slots would be 5 % too many where
 * pmu-replay shows 3 % (ten programs, ten seeds).  The DSB needs no more than
 * PmuSampling.fetch_warming.  With all of it in fetch warming pmu-replay shows
 * the same errors to a few tenths, and takes 5 to 8 % longer (--no-flush
 * --cached, ten programs, and dash behind forks).  With half of
 * PmuSampling.fetch_warming the kernel's slots are 1 % more.
 */
#define WARM_STEADY     2

/*
 * Data are elsewhere, and new samples weigh more, if the waits in a period
 * differ from what the costs predicted by a cycle or more for each
 * SURPRISE_SHARE observed instructions.
 */
#define SURPRISE_SHARE  4

/*
 * If less than one in LEAST_OBSERVED of the instructions to be observed was,
 * that says nothing about memory.  Chosen.
 */
#define LEAST_OBSERVED  4

/*
 * Cycles of waiting for the L3 and DRAM, for each instruction, from which on
 * code is memory bound.  Then the L3 has to see all that goes there.  Lines
 * that it did not get would come from DRAM later, which takes three times as
 * long; lines that these would have evicted would come from the L3.  Where
 * there is little of it that does not matter.  With time_only it is five times
 * as much.  Otherwise half of Linux's boot would be memory bound, as the L3 did
 * not see what was fast-forwarded, and the boot would take 1.4 times as long.
 */
#define MEMORY_BOUND_WAIT       0.05
#define MEMORY_BOUND_WAIT_TIME  0.25

/*
 * For SETTLE instructions after the first sampling unit for a dominant region
 * there is no fast-forward, and periods are SETTLE_PERIOD instructions at most:
 * its data may not be where they will be.
 *
 * With twice as many tests/accuracy/programs --runs 2 --seed 31 has medians of
 * 1.4 and 1.4 % in user mode, not 2.8 and 2.4, and tests/bench/run --only
 * topdown --workloads fork,shell,awk,pipe,memcpy,sha256 takes 6 % longer.
 */
#define SETTLE          (1 << 21)
#define SETTLE_PERIOD   (1 << 17)

/*
 * In fast-forward it is asked FAST_FORWARD_PIECES times in a period whether a
 * region of low confidence is dominant, but every FAST_FORWARD_PIECE
 * instructions at the soonest and FAST_FORWARD_PIECE_MOST at the latest.  Up to
 * then a loop that was sampled once, with cold caches, is taken to cost that
 * much each time.
 */
#define FAST_FORWARD_PIECES 8
#define FAST_FORWARD_PIECE (1 << 16)
#define FAST_FORWARD_PIECE_MOST (1 << 17)

/*
 * Instructions of a period after which estimates are entered before its end.
 * Products of ratios and of sums below 2^27 are exact (RATIO_GRAINS): 64 slots
 * an instruction in one class.  Memory-bound code may take more, but its
 * periods are shorter.
 */
#define ENTER_INSNS     (1 << 21)

/*
 * Instructions after the last change of interest for which events may still be
 * taking turns: a driver that has more events than counters makes them take
 * turns of some milliseconds, and takes for granted that time goes equally fast
 * in all of them.  Until then periods do not become long.  And if a counter
 * needed observed items in one of the turns, all is observed: fast-forwarded
 * code runs several times as fast.
 */
#define TURNS           (1 << 24)

/* The first random number: any but 0. */
#define RANDOM_SEED     2463534242u

void pmu_sampling_begin(PmuTiming *t, const PmuSampling *sampling)
{
    t->plan.phase = PMU_PHASE_DETAILED;
    t->plan.forwarded = false;
    t->plan.sampling = sampling;
    t->plan.credit = pmu_timing_max_credit(t);
    t->plan.left = sampling ? sampling->initial_detailed : INT32_MAX;
    t->cpi_table.stands_for = 0;
    if (sampling && sampling->seed) {
        t->plan.random = sampling->seed;
    }
}

void pmu_sampling_restart(PmuTiming *t, const PmuSampling *sampling)
{
    t->plan = (PmuSamplingPlan) {
        .random = RANDOM_SEED,
        /* Until a period says that it is not. */
        .memory_bound = true,
    };
    pmu_sampling_begin(t, sampling);
}

/* Do @one and @other differ? */
static bool is_other(const PmuInterest *one, const PmuInterest *other)
{
    return one->sampled != other->sampled ||
           one->observed != other->observed || one->taken != other->taken ||
           one->time_only != other->time_only;
}

void pmu_sampling_note_interest(PmuTiming *t, const PmuInterest *interest)
{
    PmuSamplingPlan *plan = &t->plan;
    uint64_t until = plan->unsampled_insns + TURNS;

    if (is_other(interest, &t->interest)) {
        plan->turns_until = until;
    }
    if (interest->observed) {
        plan->functional_until = UINT64_MAX;
    } else if (plan->functional_until == UINT64_MAX) {
        plan->functional_until = until;
    }
}

/* The length of warming that is @least instructions: see WARM_STEADY. */
static int32_t warming(const PmuTiming *t, uint32_t least)
{
    return least << (WARM_STEADY - MIN(t->plan.steady, WARM_STEADY));
}

static int32_t functional_warming(const PmuTiming *t)
{
    return warming(t, t->plan.sampling->functional_warming);
}

/* Line warming, of which there may be none, and fetch warming behind it. */
static int32_t line_and_fetch_warming(const PmuTiming *t)
{
    return warming(t, t->plan.sampling->fetch_warming);
}

/* See SETTLE.  With time_only no unit opens for a dominant region. */
static bool is_settled(const PmuTiming *t)
{
    return t->interest.time_only ||
           t->plan.unsampled_insns >= t->plan.settled;
}

/*
 * Instructions until a sampling unit is due, on average.  A sixteenth of those
 * that ran so far, within limits, so that short programs, which have few units,
 * have them sooner.
 */
static uint32_t mean_period(const PmuTiming *t)
{
    uint32_t longest = t->plan.sampling->period;
    uint32_t shortest = MAX(longest / LONGEST_SHORTEST, 1);

    if (t->plan.unsampled_insns >= t->plan.turns_until) {
        longest <<= t->plan.steady;
    }
    if (!is_settled(t) || t->plan.memory_bound) {
        longest = MIN(longest, SETTLE_PERIOD);
    }
    return CLAMP(t->plan.unsampled_insns / 16, shortest, longest);
}

/*
 * The length of the next period, in instructions: mean_period(), up to a
 * quarter more or less at random, as loops of programs must not beat with it.
 * The random numbers are Marsaglia's ("Xorshift RNGs", 2003).
 */
static uint32_t period(PmuTiming *t)
{
    uint32_t mean = mean_period(t), quarter = mean / 4;

    t->plan.random ^= t->plan.random << 13;
    t->plan.random ^= t->plan.random >> 17;
    t->plan.random ^= t->plan.random << 5;
    return mean - quarter + t->plan.random % (2 * quarter + 1);
}

/* May the next period begin with fast-forward?  A short one is not worth it. */
static bool may_fast_forward(const PmuTiming *t)
{
    return !t->interest.observed &&
           t->plan.unsampled_insns >= t->plan.functional_until &&
           is_settled(t) && !t->plan.memory_bound &&
           mean_period(t) >= 2 * (uint32_t)functional_warming(t);
}

/*
 * Functional warming of the next piece of the period; or, if there is none
 * left, line warming, up to fetch warming.
 */
static void begin_warming_piece(PmuTiming *t)
{
    int32_t rest = t->plan.after_phase;
    int32_t length = rest - line_and_fetch_warming(t);

    if (length > 0) {
        length = MIN(length, ENTER_INSNS);
    } else {
        t->plan.phase = PMU_PHASE_LINE_WARMING;
        length = MAX(rest - (int32_t)t->plan.sampling->fetch_warming, 0);
    }
    t->plan.left += length;
    t->plan.after_phase -= length;
}

/*
 * Begin functional warming of the next @length instructions, up to the sampling
 * unit.  The last of them are left to line warming and fetch warming.
 */
static void begin_warming(PmuTiming *t, int32_t length)
{
    t->plan.before = t->functional.covariates;
    t->plan.streamed_before = t->functional.mem.streamed;
    t->plan.phase = PMU_PHASE_FUNCTIONAL_WARMING;
    t->plan.left = 0;
    t->plan.after_phase = length;
    begin_warming_piece(t);
    pmu_cpi_table_set_observed(&t->cpi_table, true);
    t->plan.observed_from = pmu_sampling_in_period(t);
}

/* Instructions of a piece of fast-forward, but for the last one. */
static int32_t piece_length(const PmuTiming *t)
{
    return CLAMP(t->plan.period / FAST_FORWARD_PIECES, FAST_FORWARD_PIECE,
                 FAST_FORWARD_PIECE_MOST);
}

/* Fast-forward the next piece of the period. */
static void begin_fast_forward_piece(PmuTiming *t)
{
    PmuSamplingPlan *plan = &t->plan;
    int32_t length = MIN(piece_length(t),
                         plan->after_phase - functional_warming(t));

    plan->left += length;
    plan->after_phase -= length;
}

/* The sampling unit for unknown code is over: was it worth while? */
static void judge_unknown_unit(PmuTiming *t)
{
    uint32_t little = t->plan.sampling->detailed / PMU_UNKNOWN_LITTLE;

    if (t->plan.sampled_insns >= little) {
        t->unknown.doublings = 0;
    } else if (t->unknown.doublings < PMU_UNKNOWN_MAX_DOUBLINGS) {
        t->unknown.doublings++;
    }
    t->plan.for_unknown = false;
}

/* The sampling unit is over: was it, and those before, as predicted? */
static void judge_unit(PmuTiming *t)
{
    double error = pmu_cpi_table_error(&t->cpi_table);

    if (t->plan.first_of_dominant) {
        /* Nothing was predicted. */
        pmu_cpi_table_forget_error(&t->cpi_table);
        t->plan.steady = 0;
    } else if (error > UNSTEADY_ERROR) {
        t->plan.steady = 0;
    } else if (error <= STEADY_ERROR && t->plan.steady < STEADY_MOST) {
        t->plan.steady++;
    }
}

static void begin_period(PmuTiming *t)
{
    judge_unit(t);
    if (t->plan.for_unknown) {
        judge_unknown_unit(t);
    }
    t->accounted = t->functional.covariates;
    pmu_functional_skip(&t->functional);
    t->unknown.sum = 0;
    t->unknown.at = t->plan.unsampled_insns;
    t->plan.paid = false;
    pmu_cpi_table_begin_epoch(&t->cpi_table);
    t->plan.period = period(t);
    t->plan.forwarded = false;
    pmu_block_runs_revise(&t->runs, may_fast_forward(t));
    if (may_fast_forward(t)) {
        t->plan.phase = PMU_PHASE_FAST_FORWARD;
        t->plan.left = 0;
        t->plan.after_phase = t->plan.period;
        begin_fast_forward_piece(t);
        pmu_cpi_table_set_observed(&t->cpi_table, false);
    } else {
        begin_warming(t, t->plan.period);
    }
    t->plan.first_of_dominant = false;
}

static void begin_phase(PmuTiming *t, PmuPhase phase)
{
    const uint32_t length[] = {
        [PMU_PHASE_FULL_WARMING] = t->plan.sampling->full_warming,
        [PMU_PHASE_DETAILED_WARMING] = t->plan.sampling->detailed_warming,
        [PMU_PHASE_DETAILED] = t->plan.sampling->detailed,
    };

    switch (phase) {
    case PMU_PHASE_DETAILED_WARMING:
        pmu_timing_enter_covariates(t);
        /* The pipeline did not run in between: no miss is under way. */
        pmu_memory_misses_arrive(&t->functional.mem);
        break;
    case PMU_PHASE_DETAILED:
        pmu_timing_enter_estimates(t);
        pmu_timing_resume_pipeline(t);
        pmu_cpi_table_begin_unit(&t->cpi_table,
                                 t->plan.for_unknown || t->plan.paid
                                 ? 0 : t->plan.period);
        break;
    default:
        break;
    }
    if (pmu_timing_warms_code(t)) {
        pmu_timing_discard_counts(t);
    }
    t->plan.phase = phase;
    t->plan.left = length[phase];
}

/* Another @length instructions ran outside of sampling units: add credit. */
static void add_warmed(PmuTiming *t, uint32_t length)
{
    PmuSamplingPlan *plan = &t->plan;
    int32_t credit = length / plan->sampling->unknown_share;

    plan->credit = MIN(plan->credit + credit, pmu_timing_max_credit(t));
    plan->unsampled_insns += length;
}

void pmu_timing_observe(PmuTiming *t)
{
    if (!t->cpi_table.observed) {
        pmu_timing_enter_estimates(t);
        pmu_cpi_table_set_observed(&t->cpi_table, true);
    }
    t->plan.forwarded = false;
}

void pmu_sampling_simulate_unknown(PmuTiming *t)
{
    add_warmed(t, pmu_sampling_in_period(t));
    pmu_timing_observe(t);
    t->plan.steady = 0;
    t->plan.for_unknown = true;
    t->plan.sampled_insns = 0;
    if (t->plan.phase < PMU_PHASE_FETCH_WARMING) {
        pmu_fetch_unit_forget(&t->functional.fetcher);
    }
    begin_phase(t, PMU_PHASE_DETAILED_WARMING);
    t->plan.left += t->plan.sampling->full_warming;
}

void pmu_sampling_simulate_dominant(PmuTiming *t)
{
    pmu_sampling_simulate_unknown(t);
    t->plan.first_of_dominant = true;
    t->plan.settled = t->plan.unsampled_insns + SETTLE;
}

/* Cycles of @item, a wait, in what was observed in this period. */
static uint64_t waited(const PmuTiming *t, PmuCovariate item)
{
    return t->functional.covariates.n[item] - t->plan.before.n[item];
}

/*
 * Cycles for which DRAM was busy with requests of the streamer.  No load waits
 * for these, but code that reads a lot is only as fast as lines arrive.
 */
static uint64_t streamed(const PmuTiming *t)
{
    return (t->functional.mem.streamed - t->plan.streamed_before) *
           t->uarch->dram_line_cycles;
}

/*
 * Did the @observed instructions wait a lot for the L3 and DRAM, be it by loads
 * or for the streamer?  See MEMORY_BOUND_WAIT.
 */
static bool is_memory_bound(const PmuTiming *t, int32_t observed)
{
    double most = t->interest.time_only ? MEMORY_BOUND_WAIT_TIME
                                        : MEMORY_BOUND_WAIT;

    return MAX(waited(t, PMU_COVARIATE_WAIT_L3) +
               waited(t, PMU_COVARIATE_WAIT_DRAM),
               streamed(t)) >= most * observed;
}

/*
 * The period is over: were waits as the costs predicted, where observed?  That
 * may be next to nothing: a string instruction can be longer than what was to
 * be observed.
 */
static void judge_period(PmuTiming *t)
{
    int32_t observed = pmu_sampling_in_period(t) - t->plan.observed_from;
    int32_t functional = t->plan.sampling->functional_warming;

    if (observed < functional / LEAST_OBSERVED) {
        return;
    }
    if (pmu_cpi_table_wait_error(&t->cpi_table) >= observed / SURPRISE_SHARE) {
        pmu_cpi_table_note_change(&t->cpi_table);
    }
    t->plan.memory_bound = is_memory_bound(t, observed);
}

void pmu_timing_end_fast_forward(PmuTiming *t)
{
    int32_t length = pmu_sampling_in_period(t);
    int32_t rest = CLAMP(t->plan.left + t->plan.after_phase, 1,
                         functional_warming(t));

    pmu_timing_enter_block_runs(t);
    pmu_block_runs_revise(&t->runs, false);
    pmu_functional_skip_all(&t->functional);
    pmu_timing_enter_estimates(t);
    t->plan.period = length + rest;
    t->plan.forwarded = true;
    begin_warming(t, rest);
}

void pmu_sampling_end_fast_forward_early(PmuTiming *t)
{
    pmu_timing_end_fast_forward(t);
    t->plan.paid = true;
}

/* Begin the last part of functional warming: the DSB sees code, too. */
static void begin_fetch_warming(PmuTiming *t)
{
    pmu_fetch_unit_forget(&t->functional.fetcher);
    pmu_timing_discard_functional(t);
    t->plan.phase = PMU_PHASE_FETCH_WARMING;
    t->plan.left += t->plan.after_phase;
    t->plan.after_phase = 0;
}

/* A sampling unit is due: end the period, and begin full warming. */
static void end_period(PmuTiming *t)
{
    pmu_timing_enter_estimates(t);
    add_warmed(t, pmu_sampling_in_period(t));
    judge_period(t);
    pmu_cpi_table_set_observed(&t->cpi_table, true);
    begin_phase(t, PMU_PHASE_FULL_WARMING);
}

/* A piece is over: go on with functional or line warming, or end it. */
static void end_warming_piece(PmuTiming *t)
{
    if (t->plan.phase == PMU_PHASE_FUNCTIONAL_WARMING &&
        t->plan.after_phase > (int32_t)t->plan.sampling->fetch_warming) {
        pmu_timing_enter_estimates(t);
        begin_warming_piece(t);
    } else {
        begin_fetch_warming(t);
    }
}

/* A piece is over: go on with fast-forward, or end it, early or as planned. */
static void end_fast_forward_piece(PmuTiming *t)
{
    int32_t functional = functional_warming(t);
    int32_t now = pmu_sampling_in_period(t);

    if (now / ENTER_INSNS != (now - piece_length(t)) / ENTER_INSNS) {
        pmu_timing_enter_estimates(t);
    }
    pmu_block_runs_collect_low_confidence(&t->runs, &t->cpi_table, t->ledger);
    if (t->plan.left + t->plan.after_phase <= functional) {
        pmu_timing_end_fast_forward(t);
    } else if (pmu_sampling_claim_dominant(t, t->cpi_table.most_low_confidence,
                                           PMU_MAY_BE)) {
        pmu_sampling_end_fast_forward_early(t);
    } else {
        begin_fast_forward_piece(t);
    }
}

void pmu_timing_end_phase(PmuTiming *t)
{
    if (!t->plan.sampling) {
        t->plan.left = INT32_MAX;
        return;
    }
    if (t->plan.phase != PMU_PHASE_FAST_FORWARD) {
        pmu_timing_enter_block_runs(t);
    }
    switch (t->plan.phase) {
    case PMU_PHASE_FAST_FORWARD:
        end_fast_forward_piece(t);
        break;
    case PMU_PHASE_FUNCTIONAL_WARMING:
    case PMU_PHASE_LINE_WARMING:
        end_warming_piece(t);
        break;
    case PMU_PHASE_FETCH_WARMING:
        end_period(t);
        break;
    case PMU_PHASE_FULL_WARMING:
        begin_phase(t, PMU_PHASE_DETAILED_WARMING);
        break;
    case PMU_PHASE_DETAILED_WARMING:
        begin_phase(t, PMU_PHASE_DETAILED);
        break;
    case PMU_PHASE_DETAILED:
        /* The ledger has all slots so far. */
        t->clock.progress = pmu_timing_progress_now(t);
        begin_period(t);
        break;
    }
}
