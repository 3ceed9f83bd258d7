/*
 * When code is looked at.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.  See PmuPhase and PmuSampling.
 */

#include <glib.h>
#include <string.h>

#include "timing-internal.h"

/*
 * The DSB has some thousand micro-ops to find again, and where it is too small
 * those of the last turns of a long loop; warm is a pipeline whose reorder
 * buffer has been filled.
 * An instruction in a window takes as much time as some ten that are skimmed,
 * or some tens that go forward.
 */
const PmuSampling pmu_sampling = {
    .first = 1u << 19, .fetch = 1u << 15,
    .observe = 2560, .warm = 320, .watch = 2240,
    .share = 64, .period = 1u << 19, .skim = 1u << 15,
};

/* So many times as short as the longest are the shortest periods. */
#define LONGEST_SHORTEST    16

/*
 * While windows are as the costs foretold, but for such a share of the slots,
 * periods become twice as long with each, so many times.  When one is not, but
 * for a larger share, they are as long as at first.
 */
#define STEADY_ERROR    (1.0 / 12)
#define UNSTEADY_ERROR  (1.0 / 6)
#define STEADY_MOST     3

/* Windows besides those of periods that can be saved up, or overdrawn. */
#define CREDIT_WINDOWS  64

/*
 * A window is worth while where at least one in UNKNOWN_SHARE instructions is
 * of unknown cost: each such one adds UNKNOWN_SHARE to a sum, and any one takes
 * one off.  When so much has come together a window opens if there is credit.
 */
#define UNKNOWN_SHARE   16
#define UNKNOWN_SOME    (160 * UNKNOWN_SHARE)

/*
 * If there was little of it in the window any more, as of code that comes and
 * goes with a timer's interrupt, the next one takes twice as much, so many
 * times.  Little is less than one in UNKNOWN_LITTLE of what was watched.
 */
#define UNKNOWN_MOST    6
#define UNKNOWN_LITTLE  8

/*
 * The same if one stretch alone, of which little or nothing is known, makes up
 * one in DOMINANT_SHARE, and for that the credit is overdrawn.
 */
#define DOMINANT_SHARE  64

/*
 * The costs are in doubt when waits were so much longer or shorter in a period
 * than they foretold: a share of the period, in cycles for instructions.
 */
#define SURPRISE_SHARE  4

/*
 * Where data come from the L3, it has to see all that goes there: lines that it
 * did not get would come from DRAM later on, which takes three times as long.
 * Where there is little of it, or it comes from DRAM now but seldom, that does
 * not matter.  Waits for one instruction, in cycles.
 */
#define FAR_WAIT        0.05

/*
 * After the first look at something dominant nothing goes forward, and periods
 * are short, until so many windows one after the other were as foretold; or
 * after so many instructions.
 */
#define SETTLED_STEADY  3
#define SETTLE          (1 << 21)
#define SETTLE_PERIOD   (1 << 17)

/*
 * Forward, it is asked whether one of those of which little is known is
 * dominant so many times in a period, if that has so many instructions.
 */
#define FORWARD_PIECES  8
#define FORWARD_PIECE   (1 << 16)

/*
 * What caches and predictors say first, after they missed a part of a period,
 * is that they did: it stands for nothing, for a share of what they see.
 */
#define REFILL_SHARE    4

/* Slots that an unknown instruction is supposed to take, for the progress. */
#define UNKNOWN_SLOTS   4

/* Instructions in a window. */
static uint32_t window(const PmuTiming *t)
{
    return t->sampling->observe + t->sampling->warm + t->sampling->watch;
}

/* Credit, in instructions, that can be saved up. */
int32_t pmu_timing_credit_most(const PmuTiming *t)
{
    return t->sampling ? window(t) * CREDIT_WINDOWS : 0;
}

/* See SETTLE. */
static bool is_settled(const PmuTiming *t)
{
    return t->steady >= SETTLED_STEADY || t->skimmed >= t->settled;
}

/*
 * When a window is due, on average: sooner in short programs, which have few of
 * them, and after a sixteenth of all that ran; or soon after a surprise, or
 * when the last one was the first of something dominant.
 */
static uint32_t mean_period(const PmuTiming *t)
{
    uint32_t longest = t->sampling->period;
    uint32_t shortest = MAX(longest / LONGEST_SHORTEST, 1);

    if (t->surprised) {
        return shortest;
    }
    if (t->doubtful) {
        return MAX(t->sampling->skim / 2, 1);
    }
    if (t->skimmed >= t->turns_until) {
        longest <<= t->steady;
    }
    if (!is_settled(t)) {
        longest = MIN(longest, SETTLE_PERIOD);
    }
    return CLAMP(t->skimmed / 16, shortest, longest);
}

/*
 * By up to a quarter more or less: loops of programs must not beat with it.
 * The random numbers are Marsaglia's ("Xorshift RNGs", 2003).
 */
static uint32_t period(PmuTiming *t)
{
    uint32_t mean = mean_period(t), quarter = mean / 4;

    t->random ^= t->random << 13;
    t->random ^= t->random >> 17;
    t->random ^= t->random << 5;
    return mean - quarter + t->random % (2 * quarter + 1);
}

/* Nothing is observed in the first part of a period, if that is worth it. */
static bool goes_forward(const PmuTiming *t)
{
    return !t->interest.observed && t->skimmed >= t->observed_until &&
           is_settled(t) && !t->surprised && !t->far &&
           mean_period(t) >= 2 * t->sampling->skim;
}

/*
 * Caches and predictors see the next @length instructions, and what they say
 * stands for @weight times as much.
 */
static void begin_skim(PmuTiming *t, int32_t length, uint32_t weight)
{
    t->phase = PMU_PHASE_SKIM;
    t->left = length;
    t->before = t->observer.known;
    pmu_costs_weigh(&t->costs, weight);
}

/* The same up to the window, whose code is to be fetched before. */
static void begin_last_skim(PmuTiming *t, int32_t length, uint32_t weight)
{
    t->refills = false;
    t->behind = MIN(length, (int32_t)t->sampling->fetch);
    begin_skim(t, length - t->behind, weight);
}

/* Nothing is observed in the next piece of a period. */
static void begin_piece(PmuTiming *t)
{
    int32_t piece = MAX(FORWARD_PIECE, t->period / FORWARD_PIECES);
    int32_t length = MIN(piece, t->behind - (int32_t)t->sampling->skim);

    t->left += length;
    t->behind -= length;
}

/* Was it worth while to look at unknown code? */
static void judge_closer(PmuTiming *t)
{
    if (t->learnt >= t->sampling->watch / UNKNOWN_LITTLE) {
        t->unknown_twice = 0;
    } else if (t->unknown_twice < UNKNOWN_MOST) {
        t->unknown_twice++;
    }
    t->closer = false;
}

/* Was it, and those before, as the costs foretold? */
static void judge_window(PmuTiming *t)
{
    double error = pmu_costs_error(&t->costs);

    if (t->doubtful) {
        /* Nothing was foretold. */
        pmu_costs_forget_trial(&t->costs);
        t->steady = 0;
    } else if (error > UNSTEADY_ERROR) {
        t->steady = 0;
    } else if (error <= STEADY_ERROR && t->steady < STEADY_MOST) {
        t->steady++;
    }
}

static void begin_period(PmuTiming *t)
{
    judge_window(t);
    if (t->closer) {
        judge_closer(t);
    }
    t->known = t->observer.known;
    pmu_observer_skip(&t->observer);
    t->unknown = 0;
    t->unknown_at = t->skimmed;
    t->paid = false;
    memset(t->sighted, 0, sizeof(t->sighted));
    pmu_costs_begin_epoch(&t->costs);
    t->period = period(t);
    pmu_runs_revise(&t->runs, goes_forward(t));
    if (goes_forward(t)) {
        t->phase = PMU_PHASE_FORWARD;
        t->left = 0;
        t->behind = t->period;
        begin_piece(t);
        pmu_costs_weigh(&t->costs, 0);
    } else {
        begin_last_skim(t, t->period, 1);
    }
    t->doubtful = false;
}

static void begin_phase(PmuTiming *t, PmuPhase phase)
{
    const uint32_t length[] = {
        [PMU_PHASE_OBSERVE] = t->sampling->observe,
        [PMU_PHASE_WARM] = t->sampling->warm,
        [PMU_PHASE_WATCH] = t->sampling->watch,
    };

    switch (phase) {
    case PMU_PHASE_WARM:
        pmu_timing_enter_known(t);
        /* The pipeline did not run what missed since. */
        pmu_memory_settle(&t->observer.mem);
        break;
    case PMU_PHASE_WATCH:
        pmu_timing_enter_costs(t);
        pmu_timing_resume_pipeline(t);
        pmu_costs_begin_window(&t->costs);
        break;
    default:
        break;
    }
    if (t->phase == PMU_PHASE_FETCH) {
        pmu_timing_forget_seen(t);
    }
    t->phase = phase;
    t->left = length[phase];
}

/*
 * Is there credit for a window, leaving at least @least, or has it been taken
 * in this period already?  Take it.
 */
static bool take_credit(PmuTiming *t, int32_t least)
{
    int32_t price = window(t);

    if (!t->paid && t->credit - price < least) {
        return false;
    }
    t->credit -= t->paid ? 0 : price;
    t->paid = false;
    return true;
}

/* How much of the period at hand is over. */
static uint32_t in_period(const PmuTiming *t)
{
    return t->period - t->behind - t->left;
}

/* Another @length instructions were skimmed. */
static void enter_skimmed(PmuTiming *t, uint32_t length)
{
    t->credit = MIN(t->credit + (int32_t)(length / t->sampling->share),
                    pmu_timing_credit_most(t));
    t->skimmed += length;
}

/* What is skimmed stands for nothing else from now on. */
void pmu_timing_stand_alone(PmuTiming *t)
{
    if (t->costs.weight != 1) {
        pmu_timing_enter_costs(t);
        pmu_costs_weigh(&t->costs, 1);
    }
    t->weight = 1;
}

/*
 * Look at what nothing is known of: the pipeline runs from the beginning, so
 * that it can say what that takes until there is a mean.
 */
static void look_closer(PmuTiming *t)
{
    enter_skimmed(t, in_period(t));
    pmu_timing_stand_alone(t);
    t->steady = 0;
    t->closer = true;
    t->learnt = 0;
    begin_phase(t, PMU_PHASE_WARM);
    t->left += t->sampling->observe;
}

/*
 * The same for one stretch: its data may not be where they will be most of the
 * time, so that it is looked at again soon, and observed up to then.
 */
static void look_at_dominant(PmuTiming *t)
{
    look_closer(t);
    t->doubtful = true;
    t->settled = t->skimmed + SETTLE;
}

/* Code that ran, and what it needs of the DSB. */
typedef struct Touched {
    PmuObserver *observer;
    uint64_t dsb_uops;
} Touched;

static void touch_one(const PmuCostCode *code, void *opaque)
{
    Touched *touched = opaque;

    pmu_observe_code(touched->observer, code->first, code->lines);
    pmu_observe_page(touched->observer, code->branch, code->first,
                     code->large);
    if (code->taken) {
        pmu_observe_taken(touched->observer, code->branch);
    }
    touched->dsb_uops += code->dsb_uops;
}

/*
 * Caches of code are to have what ran lately, in whatever order; what that is
 * is known when costs are settled.  What the DSB had is gone if there was more
 * of it than fits.
 */
static void touch_code(PmuTiming *t)
{
    Touched touched = { .observer = &t->observer };

    pmu_timing_enter_costs(t);
    pmu_costs_see_code(&t->costs, touch_one, &touched);
    if (touched.dsb_uops > t->uarch->dsb_uops) {
        pmu_fetcher_forget(&t->observer.fetcher);
    }
}

/* Cycles that were waited for @item in what was skimmed. */
static uint64_t waited(const PmuTiming *t, PmuKnownItem item)
{
    return t->observer.known.n[item] - t->before.n[item];
}

/* Was what was skimmed, @length instructions, as the costs had it? */
static void judge_period(PmuTiming *t, uint32_t length)
{
    bool surprised = pmu_costs_surprise(&t->costs) >= length / SURPRISE_SHARE;

    if (surprised) {
        pmu_costs_doubt(&t->costs);
    }
    t->surprised = surprised && take_credit(t, 0);
    t->far = waited(t, PMU_KNOWN_WAIT_L3) +
             waited(t, PMU_KNOWN_WAIT_DRAM) >= FAR_WAIT * length;
}

/*
 * Caches and predictors are to see the rest of the period at hand, which is no
 * longer than that takes.  At first they catch up with what they missed.
 */
void pmu_timing_end_forward(PmuTiming *t)
{
    int32_t length = in_period(t);
    int32_t rest = CLAMP(t->left + t->behind, 1, (int32_t)t->sampling->skim);
    int32_t refill = rest / REFILL_SHARE;

    pmu_timing_collect(t);
    pmu_runs_revise(&t->runs, false);
    pmu_observer_miss(&t->observer);
    touch_code(t);
    t->period = length + rest;
    t->behind = rest - refill;
    t->weight = 1 + (length + refill + t->behind / 2) / t->behind;
    t->refills = true;
    begin_skim(t, refill, 0);
}

/* The same sooner than planned, for a window that is paid for. */
static void end_forward_early(PmuTiming *t)
{
    pmu_timing_end_forward(t);
    t->paid = true;
}

/* They have caught up. */
static void end_refill(PmuTiming *t)
{
    int32_t length = t->left + t->behind;

    touch_code(t);
    begin_last_skim(t, length, t->weight);
}

/* The last part of what is skimmed. */
static void begin_fetch(PmuTiming *t)
{
    touch_code(t);
    pmu_fetcher_restart(&t->observer.fetcher);
    t->phase = PMU_PHASE_FETCH;
    t->left += t->behind;
    t->behind = 0;
}

/* A window is due. */
static void end_period(PmuTiming *t)
{
    uint32_t length = in_period(t);

    pmu_timing_enter_costs(t);
    enter_skimmed(t, length);
    judge_period(t, length / t->costs.weight);
    pmu_costs_weigh(&t->costs, 1);
    begin_phase(t, PMU_PHASE_OBSERVE);
}

/* When what is unknown is much. */
static uint32_t unknown_much(const PmuTiming *t)
{
    return UNKNOWN_SOME << t->unknown_twice;
}

/*
 * Is it time to prepare for a window, as there is too much of which nothing is
 * known?  Caches and predictors should have seen something of it before.  It is
 * paid for now: that they see what runs is as dear as the window.
 */
static bool may_be_unknown_much(PmuTiming *t)
{
    return t->unknown >= unknown_much(t) / 2 && take_credit(t, 0);
}

/* ... or as one such stretch made up @insns instructions of this period? */
static bool may_be_dominant(PmuTiming *t, uint32_t insns)
{
    return insns >= window(t) / 4 &&
           insns >= in_period(t) / (2 * DOMINANT_SHARE) &&
           take_credit(t, -pmu_timing_credit_most(t));
}

static void end_piece(PmuTiming *t)
{
    if (t->left + t->behind <= (int32_t)t->sampling->skim) {
        pmu_timing_end_forward(t);
    } else if (may_be_dominant(t, pmu_costs_most_weak(&t->costs))) {
        end_forward_early(t);
    } else {
        begin_piece(t);
    }
}

void pmu_timing_end_phase(PmuTiming *t)
{
    if (!t->sampling) {
        t->left = INT32_MAX;
        return;
    }
    pmu_timing_collect(t);
    switch (t->phase) {
    case PMU_PHASE_FORWARD:
        end_piece(t);
        break;
    case PMU_PHASE_SKIM:
        if (t->refills) {
            end_refill(t);
        } else {
            begin_fetch(t);
        }
        break;
    case PMU_PHASE_FETCH:
        end_period(t);
        break;
    case PMU_PHASE_OBSERVE:
        begin_phase(t, PMU_PHASE_WARM);
        break;
    case PMU_PHASE_WARM:
        begin_phase(t, PMU_PHASE_WATCH);
        break;
    case PMU_PHASE_WATCH:
        begin_period(t);
        break;
    }
}

/* The stretch at hand is unknown: see UNKNOWN_SHARE. */
static void note_unknown(PmuTiming *t)
{
    uint64_t now = t->skimmed + in_period(t);

    t->unknown -= MIN(t->unknown, now - t->unknown_at);
    t->unknown += UNKNOWN_SHARE * t->insns;
    t->unknown_at = now;
}

/* Does so much unknown code run that it should be looked at? */
static bool is_unknown_much(PmuTiming *t)
{
    return t->unknown >= unknown_much(t) && take_credit(t, 0);
}

/* Is a stretch that made up @insns instructions of this period dominant? */
static bool is_dominant(PmuTiming *t, uint32_t insns)
{
    return insns >= window(t) / 2 &&
           insns >= in_period(t) / DOMINANT_SHARE &&
           take_credit(t, -pmu_timing_credit_most(t));
}

/*
 * How many instructions of this period the unknown stretch at hand, @key, made
 * up, at least.  Others in its place take theirs off: what is left in a place
 * is what ran the most (Misra and Gries, "Finding repeated elements", 1982).
 */
static uint32_t sight(PmuTiming *t, uint64_t key)
{
    PmuSighted *sighted = &t->sighted[key / PMU_LEVEL_NR % PMU_SIGHTED];
    uint32_t tag = key >> 32;

    if (sighted->tag == tag) {
        sighted->insns += t->insns;
    } else if (sighted->insns > t->insns) {
        sighted->insns -= t->insns;
        return 0;
    } else {
        *sighted = (PmuSighted) { .tag = tag, .insns = t->insns };
    }
    return sighted->insns;
}

/* Caches of code see it, if they did not: it may be far away. */
static void enter_unknown(PmuTiming *t)
{
    PmuTally *tally = &t->costs.tally[t->ledger->level];

    tally->unknown_insns += t->insns;
    if (t->phase < PMU_PHASE_FETCH) {
        pmu_observe_lines(&t->observer, t->pc, t->phys, t->end - t->phys);
        t->misses = pmu_observed_code(&t->observer);
        pmu_timing_forget_observed(t);
    }
    for (unsigned i = 0; i < PMU_PLACE_NR; i++) {
        tally->unknown_code.from[i] += t->misses.from[i];
    }
}

/* The stretch at hand, of unknown cost, was not watched. */
static void count_unknown(PmuTiming *t, uint64_t key)
{
    enter_unknown(t);
    t->progress += (uint64_t)t->insns * UNKNOWN_SLOTS << PMU_COST_SHIFT;
    if (t->phase > PMU_PHASE_FETCH) {
        return;
    }
    note_unknown(t);
    if (t->phase == PMU_PHASE_FORWARD) {
        if (may_be_unknown_much(t) || may_be_dominant(t, sight(t, key))) {
            end_forward_early(t);
        }
    } else if (is_unknown_much(t)) {
        look_closer(t);
    } else if (is_dominant(t, sight(t, key))) {
        look_at_dominant(t);
    }
}

/* ... nor one of @cost, of which little is known. */
static void count_weak(PmuTiming *t, PmuCost *cost)
{
    pmu_timing_count_cost(t, cost);
    if ((t->phase == PMU_PHASE_SKIM || t->phase == PMU_PHASE_FETCH) &&
        is_dominant(t, pmu_costs_times(&t->costs, cost) * t->insns)) {
        look_at_dominant(t);
    }
}

void pmu_timing_count_uncertain(PmuTiming *t, uint64_t key)
{
    PmuCost *cost = pmu_costs_find_weak(&t->costs, key);

    if (cost) {
        count_weak(t, cost);
    } else {
        count_unknown(t, key);
    }
}

/*
 * What is well known is not typical where one looks closer: caches of code were
 * not prepared for it.
 */
bool pmu_timing_is_typical(const PmuTiming *t, uint64_t key)
{
    return !t->closer || !pmu_costs_find(&t->costs, key);
}
