/*
 * The timing model: executed instructions in, slots and events out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 *
 * Two halves meet here.  The observer (caches, TLBs, predictors, fetch) says
 * what happened to instructions, the pipeline how long that took.  Both are
 * many times as slow as translated code, so they look in windows only.  In
 * between, a stretch of code is taken to cost what it cost when watched, on
 * average.  Data caches, TLBs and predictors see more of what runs, as what
 * they know would take longer to learn again: all of it if somebody wants to
 * know what they count, else the last part of each period.  What they say is
 * made up for, and in that case stands for the rest of the period.
 *
 * A window begins with the observer alone, until code caches know again what
 * goes on; then the pipeline fills, then it counts.
 *
 * All of it is a function of the instruction stream: a stretch ends with a
 * branch or an interrupt, not where a block happens to end.
 */

#include <glib.h>
#include <string.h>

#include "timing-internal.h"

/*
 * The DSB has some thousand micro-ops to find again, most of which are those of
 * a few loops; warm is a pipeline whose reorder buffer has been filled.
 * An instruction in a window takes as much time as some 10 that are skimmed or
 * 50 that go forward: with this period that is a third of all time.
 */
const PmuSampling pmu_sampling = {
    .first = 1u << 19, .observe = 2560, .warm = 320, .watch = 2240,
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
#define STEADY_MOST     1

/* So many cycles that data took to come are an instruction to periods. */
#define PERIOD_WAIT     16

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
 * Where there is little of it, that does not matter; if it seems to be little
 * because it comes from DRAM already, there is more of that.  Waits for one
 * instruction, in cycles.
 */
#define FAR_L3          0.05
#define FAR_DRAM        0.2

/*
 * After the first look at something dominant nothing goes forward, and periods
 * are short, until so many windows one after the other were as foretold; or
 * after so many instructions.
 */
#define SETTLED_STEADY  2
#define SETTLE          (1 << 21)
#define SETTLE_PERIOD   (1 << 17)

/*
 * Forward, it is asked whether one of those of which little is known is
 * dominant so many times in a period, if that has so many instructions.
 */
#define FORWARD_PIECES  8
#define FORWARD_PIECE   (1 << 16)

/*
 * When somebody looks after fewer instructions than half of the blocks that are
 * counted, it costs less to find out again what runs than to ask for each.
 */
#define LOOK_SHARE  2

/*
 * So many instructions after somebody was last interested in what is observed,
 * all is observed.  A driver that has more events than counters makes them take
 * turns of some milliseconds, and takes for granted that time goes equally fast
 * in all of them; forward it is several times as fast.
 */
#define OBSERVED_FOR    (1 << 24)

/*
 * What caches and predictors say first, after they missed a part of a period,
 * is that they did: it stands for nothing, for a share of what they see.
 */
#define REFILL_SHARE    4

/* Any but 0. */
#define RANDOM_SEED     2463534242u

/* Slots that an unknown instruction is supposed to take, for the progress. */
#define UNKNOWN_SLOTS   4

/* Instructions in a window. */
static uint32_t window(const PmuTiming *t)
{
    return t->sampling->observe + t->sampling->warm + t->sampling->watch;
}

/* Credit, in instructions, that can be saved up. */
static int32_t credit_most(const PmuTiming *t)
{
    return t->sampling ? window(t) * CREDIT_WINDOWS : 0;
}

PmuTiming *pmu_timing_new(const PmuUarch *uarch, PmuLedger *ledger, PmuL3 *l3,
                          PmuTranslate translate, void *opaque)
{
    PmuTiming *t = g_try_new0(PmuTiming, 1);

    if (!t) {
        return NULL;
    }
    pmu_ledger_init(ledger, uarch->width, uarch->tsc_num, uarch->tsc_den,
                    uarch->xclk_num, uarch->xclk_den);
    t->uarch = uarch;
    t->ledger = ledger;
    t->sampling = &pmu_sampling;
    t->interest = (PmuInterest) {
        .sampled = UINT32_MAX, .observed = true, .taken = true,
    };
    t->far = true;
    t->random = RANDOM_SEED;
    t->left = pmu_sampling.first;
    t->credit = credit_most(t);
    t->phase = PMU_PHASE_WATCH;
    pmu_pipeline_init(&t->pipeline, uarch);
    if (!pmu_costs_init(&t->costs) || !pmu_runs_init(&t->runs) ||
        !pmu_observer_init(&t->observer, uarch, &t->seen, l3, translate,
                           opaque)) {
        pmu_timing_free(t);
        return NULL;
    }
    return t;
}

void pmu_timing_free(PmuTiming *t)
{
    if (t) {
        pmu_costs_destroy(&t->costs);
        pmu_runs_destroy(&t->runs);
        pmu_observer_destroy(&t->observer);
        g_free(t);
    }
}

/* Into the ledger. */

/* What needs no looking closer. */
static void enter_counts(PmuTiming *t)
{
    uint64_t *event = t->ledger->event[t->ledger->level];

    pmu_counts_enter(&t->counts, event);
    event[PMU_ITEM_BRANCHES_COND_NTAKEN] -= t->taken;
    event[PMU_ITEM_BRANCHES_COND_TAKEN] += t->taken;
    t->taken = 0;
}

/* What was observed of data, which is seen in every phase. */
static void enter_data(PmuTiming *t)
{
    uint64_t *event = t->ledger->event[t->ledger->level];
    uint64_t *seen = t->seen.event[PMU_LEVEL_OS];

    enter_counts(t);
    for (unsigned i = PMU_ITEM_INSTRUCTIONS; i < PMU_ITEM_SAMPLED; i++) {
        event[i] += seen[i];
        seen[i] = 0;
    }
}

/* What else was observed, of the stretch at hand or (not @sampled) of none. */
static void enter_seen(PmuTiming *t, bool sampled)
{
    uint64_t *event = t->ledger->event[t->ledger->level];
    uint64_t *seen = t->seen.event[PMU_LEVEL_OS];
    uint32_t *sample = t->sample.item + PMU_SAMPLE_ITEMS - PMU_ITEM_SAMPLED;

    for (unsigned i = PMU_ITEM_TIMED_END; i < PMU_ITEM_NR; i++) {
        event[i] += seen[i];
        sample[i] += sampled ? seen[i] : 0;
        seen[i] = 0;
    }
}

/* Is one of the group of items at @item not zero? */
static inline bool any_of(const uint32_t *item)
{
    uint32_t any = 0;

    for (unsigned i = 0; i < PMU_TIMED_GROUP; i++) {
        any |= item[i];
    }
    return any;
}

G_STATIC_ASSERT(PMU_SLOT_NR % PMU_TIMED_GROUP == 0);
/* Those behind the last one, which are zero, are added to others. */
G_STATIC_ASSERT(PMU_TIMED_ROOM - PMU_TIMED_NR <=
                PMU_ITEM_NR - PMU_ITEM_TIMED_END);

/* Move a group of items at @item to @event, and those in @mask to @sample. */
static inline void enter_group(uint64_t *restrict event,
                               uint32_t *restrict sample,
                               uint32_t *restrict item, uint32_t mask)
{
    for (unsigned i = 0; i < PMU_TIMED_GROUP; i++) {
        event[i] += item[i];
        sample[i] += item[i] & mask;
        item[i] = 0;
    }
}

/* What the pipeline did since the last time, but for slots. */
static void enter_timed(PmuTiming *t, bool sampled)
{
    uint64_t *event = t->ledger->event[t->ledger->level] + PMU_ITEM_SAMPLED;
    uint32_t *sample = t->sample.item + PMU_SAMPLE_ITEMS;
    uint32_t *item = t->pipeline.delta.item + PMU_SLOT_NR;
    uint32_t mask = sampled ? UINT32_MAX : 0;

    /* Of a stretch most are zero. */
    for (unsigned first = 0; first < PMU_TIMED_ROOM - PMU_SLOT_NR;
         first += PMU_TIMED_GROUP) {
        if (any_of(item + first)) {
            enter_group(event + first, sample + first, item + first, mask);
        }
    }
}

/* What it did, and what was seen besides. */
static void enter_delta(PmuTiming *t, bool sampled)
{
    PmuLevel level = t->ledger->level;
    uint32_t *item = t->pipeline.delta.item;

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        t->ledger->slots[level][i] += item[i];
        t->progress += (uint64_t)item[i] << PMU_COST_SHIFT;
        t->sample.item[i] += sampled ? item[i] : 0;
        item[i] = 0;
    }
    t->ledger->open[level] = (PmuOpenCycle) {
        .slots = t->pipeline.slot, .history = t->pipeline.history,
    };
    enter_timed(t, sampled);
    enter_seen(t, sampled);
}

/* The same while the pipeline is not where the ledger is. */
static void enter_apart(PmuTiming *t)
{
    double *sum = t->costs.tally[t->ledger->level].sum;
    uint32_t *item = t->pipeline.delta.item;

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        sum[i] += item[i];
        t->progress += (uint64_t)item[i] << PMU_COST_SHIFT;
        item[i] = 0;
    }
    enter_timed(t, false);
    enter_seen(t, false);
}

static uint64_t unaccounted_wait(const PmuTiming *t)
{
    return pmu_known_wait(&t->observer.known) - pmu_known_wait(&t->known);
}

/* What is known so far was at the current level, and nobody watched. */
static void enter_known(PmuTiming *t)
{
    PmuKnown *known = &t->costs.tally[t->ledger->level].known;

    t->progress += pmu_costs_lost(&t->costs, unaccounted_wait(t));
    for (unsigned i = 0; i < PMU_KNOWN_NR; i++) {
        known->n[i] += t->observer.known.n[i] - t->known.n[i];
    }
    t->known = t->observer.known;
}

static void enter_tally(PmuTiming *t, PmuLevel level)
{
    uint64_t whole[PMU_SAMPLE_NR];
    uint64_t *event = t->ledger->event[level];

    pmu_costs_take(&t->costs, level, whole);
    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        pmu_ledger_slots(t->ledger, level, i, whole[i]);
    }
    for (unsigned i = PMU_SAMPLE_ITEMS; i < PMU_SAMPLE_NR; i++) {
        event[PMU_ITEM_SAMPLED + i - PMU_SAMPLE_ITEMS] += whole[i];
    }
}

/* What was counted of known costs. */
static void enter_costs(PmuTiming *t)
{
    enter_known(t);
    pmu_costs_settle(&t->costs);
    enter_tally(t, PMU_LEVEL_OS);
    enter_tally(t, PMU_LEVEL_USR);
}

void pmu_timing_collect(PmuTiming *t)
{
    if (t->passed) {
        t->progress += pmu_runs_collect(&t->runs, &t->costs, t->ledger);
        t->passed = 0;
    }
}

void pmu_timing_stop_counting(PmuTiming *t)
{
    pmu_timing_collect(t);
    pmu_runs_clear(&t->runs);
}

void pmu_timing_flush_observed(PmuTiming *t)
{
    if (t->passed && t->passed < t->runs.number / LOOK_SHARE) {
        pmu_timing_stop_counting(t);
    } else {
        pmu_timing_collect(t);
    }
    enter_data(t);
    if (t->phase == PMU_PHASE_WATCH) {
        enter_delta(t, true);
    }
}

void pmu_timing_flush(PmuTiming *t)
{
    pmu_timing_flush_observed(t);
    if (t->phase != PMU_PHASE_WATCH) {
        enter_costs(t);
    }
}

/* The pipeline goes on where the ledger is. */
static void resume_pipeline(PmuTiming *t)
{
    const PmuOpenCycle *open = &t->ledger->open[t->ledger->level];

    pmu_pipeline_resume(&t->pipeline, open->slots, open->history);
}

uint64_t pmu_timing_clock(const PmuTiming *t)
{
    uint64_t slots = 0;

    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
            slots += t->ledger->slots[level][i];
        }
    }
    return slots;
}

uint64_t pmu_timing_progress(const PmuTiming *t)
{
    uint64_t progress = t->progress;

    if (t->phase != PMU_PHASE_WATCH) {
        progress += pmu_costs_lost(&t->costs, unaccounted_wait(t));
    }
    return progress >> PMU_COST_SHIFT;
}

void pmu_timing_watch_ports(PmuTiming *t)
{
    t->pipeline.report = true;
}

void pmu_timing_ports(const PmuTiming *t, uint64_t dispatched[PMU_MAX_PORTS])
{
    memcpy(dispatched, t->pipeline.dispatched,
           sizeof(t->pipeline.dispatched));
}

/* Phases. */

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
    longest <<= t->steady;
    if (t->doubtful) {
        longest = MIN(longest, 2 * t->sampling->skim);
    } else if (!is_settled(t)) {
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

/* Nothing is observed in the next piece of a period. */
static void begin_piece(PmuTiming *t)
{
    int32_t piece = MAX(FORWARD_PIECE, t->period / FORWARD_PIECES);
    int32_t length = MIN(piece, t->behind - (int32_t)t->sampling->skim);

    t->left += length;
    t->behind -= length;
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
    t->known = t->observer.known;
    pmu_observer_skip(&t->observer);
    t->unknown = 0;
    t->unknown_at = t->skimmed;
    t->paid = false;
    memset(t->sighted, 0, sizeof(t->sighted));
    pmu_costs_begin_epoch(&t->costs);
    t->period = period(t);
    if (goes_forward(t)) {
        pmu_runs_revise(&t->runs);
        t->phase = PMU_PHASE_FORWARD;
        t->left = 0;
        t->behind = t->period;
        begin_piece(t);
        pmu_costs_weigh(&t->costs, 0);
    } else {
        t->behind = 0;
        begin_skim(t, t->period, 1);
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
        enter_known(t);
        break;
    case PMU_PHASE_WATCH:
        enter_costs(t);
        resume_pipeline(t);
        pmu_costs_begin_window(&t->costs);
        break;
    default:
        break;
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
                    credit_most(t));
    t->skimmed += length;
}

/* What is skimmed stands for nothing else from now on. */
static void stand_alone(PmuTiming *t)
{
    if (t->costs.weight != 1) {
        enter_costs(t);
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
    stand_alone(t);
    t->steady = 0;
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

static void touch_one(const PmuCostCode *code, void *opaque)
{
    PmuTiming *t = opaque;

    pmu_observe_code(&t->observer, code->first, code->lines, code->branch,
                     code->taken);
    t->touched += code->dsb_uops;
}

/*
 * Caches of code are to have what ran lately, in whatever order.  What the DSB
 * had is gone if there was more of it than fits.
 */
static void touch_code(PmuTiming *t)
{
    t->touched = 0;
    pmu_costs_see_code(&t->costs, touch_one, t);
    if (t->touched > t->uarch->dsb_uops) {
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
    t->far = waited(t, PMU_KNOWN_WAIT_L3) >= FAR_L3 * length ||
             waited(t, PMU_KNOWN_WAIT_DRAM) >= FAR_DRAM * length;
}

/*
 * Caches and predictors are to see the rest of the period at hand, which is no
 * longer than that takes.  At first they catch up with what they missed.
 */
static void end_forward(PmuTiming *t)
{
    int32_t length = in_period(t);
    int32_t rest = CLAMP(t->left + t->behind, 1, (int32_t)t->sampling->skim);
    int32_t refill = rest / REFILL_SHARE;

    pmu_timing_collect(t);
    pmu_observer_miss(&t->observer);
    touch_code(t);
    enter_costs(t);
    t->period = length + rest;
    t->behind = rest - refill;
    t->weight = 1 + (length + refill + t->behind / 2) / t->behind;
    begin_skim(t, refill, 0);
}

/* The same sooner than planned, for a window that is paid for. */
static void end_forward_early(PmuTiming *t)
{
    end_forward(t);
    t->paid = true;
}

/* They have caught up. */
static void end_refill(PmuTiming *t)
{
    int32_t length = t->left + t->behind;

    touch_code(t);
    enter_costs(t);
    t->behind = 0;
    begin_skim(t, length, t->weight);
}

/* A window is due. */
static void end_period(PmuTiming *t)
{
    uint32_t length = in_period(t);

    touch_code(t);
    enter_costs(t);
    enter_skimmed(t, length);
    judge_period(t, length / t->costs.weight);
    pmu_costs_weigh(&t->costs, 1);
    begin_phase(t, PMU_PHASE_OBSERVE);
}

/*
 * Is it time to prepare for a window, as there is too much of which nothing is
 * known?  Caches and predictors should have seen something of it before.  It is
 * paid for now: that they see what runs is as dear as the window.
 */
static bool may_be_unknown_much(PmuTiming *t)
{
    return t->unknown >= UNKNOWN_SOME / 2 && take_credit(t, 0);
}

/* ... or as one such stretch made up @insns instructions of this period? */
static bool may_be_dominant(PmuTiming *t, uint32_t insns)
{
    return insns >= window(t) / 4 &&
           insns >= in_period(t) / (2 * DOMINANT_SHARE) &&
           take_credit(t, -credit_most(t));
}

static void end_piece(PmuTiming *t)
{
    pmu_timing_collect(t);
    if (t->left + t->behind <= (int32_t)t->sampling->skim) {
        end_forward(t);
    } else if (may_be_dominant(t, pmu_costs_most_weak(&t->costs))) {
        end_forward_early(t);
    } else {
        begin_piece(t);
    }
}

static G_GNUC_NO_INLINE void end_phase(PmuTiming *t)
{
    if (!t->sampling) {
        t->left = INT32_MAX;
        return;
    }
    switch (t->phase) {
    case PMU_PHASE_FORWARD:
        end_piece(t);
        break;
    case PMU_PHASE_SKIM:
        if (t->behind) {
            end_refill(t);
        } else {
            end_period(t);
        }
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

/* Stretches. */

/* What is known of the stretch at hand is under this key. */
static inline uint64_t stretch_key(const PmuTiming *t)
{
    return pmu_costs_key(t->hash, t->ledger->level);
}

/* The stretch at hand took @t->sample. */
static void learn(PmuTiming *t)
{
    for (unsigned i = 0; i < PMU_KNOWN_NR; i++) {
        t->sample.item[PMU_SAMPLE_KNOWN + i] =
            t->observer.known.n[i] - t->known.n[i];
    }
    t->known = t->observer.known;
    pmu_costs_learn(&t->costs, stretch_key(t), t->insns, t->code, &t->sample);
    t->sample = (PmuSample) {};
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
    return t->unknown >= UNKNOWN_SOME && take_credit(t, 0);
}

/* Is a stretch that made up @insns instructions of this period dominant? */
static bool is_dominant(PmuTiming *t, uint32_t insns)
{
    return insns >= window(t) / 2 &&
           insns >= in_period(t) / DOMINANT_SHARE &&
           take_credit(t, -credit_most(t));
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

/* The stretch at hand, of unknown cost, was not watched. */
static void count_unknown(PmuTiming *t, uint64_t key)
{
    t->costs.tally[t->ledger->level].unknown_insns += t->insns;
    t->progress += (uint64_t)t->insns * UNKNOWN_SLOTS << PMU_COST_SHIFT;
    if (t->phase > PMU_PHASE_SKIM) {
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
    if (t->phase == PMU_PHASE_SKIM &&
        is_dominant(t, pmu_costs_times(&t->costs, cost) * t->insns)) {
        look_at_dominant(t);
    }
}

static G_GNUC_NO_INLINE void count_uncertain(PmuTiming *t, uint64_t key)
{
    PmuCost *cost = pmu_costs_find_weak(&t->costs, key);

    if (cost) {
        count_weak(t, cost);
    } else {
        count_unknown(t, key);
    }
}

/* The stretch at hand was not watched. */
static inline void count_stretch(PmuTiming *t)
{
    uint64_t key = stretch_key(t);
    PmuCost *cost = pmu_costs_find(&t->costs, key);

    if (G_LIKELY(cost)) {
        pmu_timing_count_cost(t, cost);
    } else {
        count_uncertain(t, key);
    }
}

/* What was seen of the stretch at hand is in its cost. */
static void forget_seen(PmuTiming *t)
{
    uint64_t *seen = t->seen.event[PMU_LEVEL_OS];

    memset(seen + PMU_ITEM_SAMPLED, 0,
           (PMU_ITEM_NR - PMU_ITEM_SAMPLED) * sizeof(*seen));
    t->pipeline.delta = (PmuDelta) {};
}

/* What was seen counts if nothing else is known. */
static void end_warming(PmuTiming *t)
{
    PmuCost *cost = pmu_costs_find_any(&t->costs, stretch_key(t));

    if (cost) {
        forget_seen(t);
        enter_known(t);
        pmu_timing_count_cost(t, cost);
    } else {
        enter_apart(t);
        t->known = t->observer.known;
    }
}

static G_GNUC_NO_INLINE void end_seen(PmuTiming *t)
{
    switch (t->phase) {
    case PMU_PHASE_WATCH:
        enter_delta(t, true);
        learn(t);
        break;
    case PMU_PHASE_WARM:
        end_warming(t);
        break;
    default:
        forget_seen(t);
        count_stretch(t);
    }
}

static inline void end_stretch(PmuTiming *t)
{
    if (G_LIKELY(t->phase <= PMU_PHASE_SKIM)) {
        count_stretch(t);
    } else {
        end_seen(t);
    }
    t->hash = 0;
    t->left -= t->insns;
    t->insns = 0;
    if (G_UNLIKELY(t->left <= 0)) {
        end_phase(t);
    }
}

static void end_open_stretch(PmuTiming *t)
{
    if (t->insns) {
        end_stretch(t);
    }
}

void pmu_timing_set_sampling(PmuTiming *t, const PmuSampling *sampling)
{
    pmu_timing_flush(t);
    if (t->phase != PMU_PHASE_WATCH) {
        end_open_stretch(t);
        if (t->phase == PMU_PHASE_FORWARD) {
            pmu_observer_miss(&t->observer);
        }
        enter_costs(t);
        resume_pipeline(t);
        t->phase = PMU_PHASE_WATCH;
    }
    pmu_costs_weigh(&t->costs, 1);
    t->sampling = sampling;
    t->credit = credit_most(t);
    t->left = sampling ? sampling->first : INT32_MAX;
}

void pmu_timing_set_interest(PmuTiming *t, PmuInterest interest)
{
    if (interest.sampled != t->interest.sampled) {
        pmu_timing_flush(t);
        pmu_costs_want(&t->costs, interest.sampled);
    }
    if (interest.observed || t->observed_until == UINT64_MAX) {
        t->observed_until = interest.observed ? UINT64_MAX
                                              : t->skimmed + OBSERVED_FOR;
    }
    t->interest = interest;
    if (interest.observed) {
        if (t->phase == PMU_PHASE_FORWARD) {
            end_forward(t);
        }
        stand_alone(t);
    }
}

/* Between stretches. */

/* Go on at @level: hardware drains the pipeline, an open cycle is lost. */
static G_GNUC_NO_INLINE void change_level(PmuTiming *t, PmuLevel level)
{
    end_open_stretch(t);
    enter_data(t);
    if (t->phase == PMU_PHASE_WATCH) {
        pmu_pipeline_close_cycle(&t->pipeline);
        enter_delta(t, false);
        t->ledger->level = level;
        resume_pipeline(t);
    } else {
        enter_known(t);
        t->ledger->level = level;
    }
}

void pmu_timing_interrupt(PmuTiming *t)
{
    end_open_stretch(t);
    pmu_timing_end_string(t);
    pmu_observe_interrupt(&t->observer);
    pmu_pipeline_interrupt(&t->pipeline);
}

void pmu_timing_flush_mappings(PmuTiming *t, uint64_t linear)
{
    pmu_memory_flush_mappings(&t->observer.mem, linear);
}

void pmu_timing_reset(PmuTiming *t)
{
    pmu_runs_clear(&t->runs);
    pmu_costs_clear(&t->costs);
    t->counts = (PmuCounts) {};
    t->taken = 0;
    memset(t->seen.event, 0, sizeof(t->seen.event));
    t->hash = 0;
    t->insns = 0;
    t->line = 0;
    t->sample = (PmuSample) {};
    t->credit = credit_most(t);
    t->skimmed = 0;
    t->observed_until = 0;
    t->settled = 0;
    t->surprised = false;
    t->steady = 0;
    t->far = true;
    t->random = RANDOM_SEED;
    t->string = (PmuString) {};
    pmu_pipeline_reset(&t->pipeline);
    resume_pipeline(t);
    pmu_observer_reset(&t->observer);
    t->known = t->observer.known;
    t->phase = PMU_PHASE_WATCH;
    t->left = t->sampling ? t->sampling->first : INT32_MAX;
}

/* Running. */

/* Branches that fetch finds in the BTB, or not. */
static bool is_direct(PmuBranch branch)
{
    return branch == PMU_BRANCH_COND || branch == PMU_BRANCH_JMP ||
           branch == PMU_BRANCH_CALL;
}

/* Instructions from @first on of @block are the first ones of a stretch. */
static void begin_code(PmuTiming *t, const PmuBlock *block, unsigned first,
                       uint64_t pc)
{
    t->code = (PmuCostCode) {
        .first = (block->phys + block->insns[first].offset) >> PMU_LINE_SHIFT,
        .branch = pc + block->insns[first].offset,
    };
}

/* What the DSB has of each line of code fills whole lines of its own. */
static void add_dsb_uops(PmuTiming *t, const PmuBlockInsn *bi, uint64_t line)
{
    PmuCostCode *code = &t->code;

    if (line != t->line) {
        t->line = line;
        code->dsb_uops += t->uarch->dsb_line - 1;
        code->dsb_uops -= code->dsb_uops % t->uarch->dsb_line;
    }
    code->dsb_uops += bi->fused ? 0 : MIN(bi->insn->decode_uops, 4);
    code->dsb_uops += bi->insn->flags & PMU_INSN_IMM64 ? 1 : 0;
}

/* ... and [@first, @last) its newest, in the same page or another one. */
static void extend_code(PmuTiming *t, const PmuBlock *block, unsigned first,
                        unsigned last)
{
    for (unsigned i = first; i < last; i++) {
        uint64_t line = (block->phys + block->insns[i].offset) >>
                        PMU_LINE_SHIFT;

        if (line - t->code.first < PMU_COST_LINES) {
            t->code.lines = MAX(t->code.lines, line - t->code.first + 1);
        }
        add_dsb_uops(t, &block->insns[i], line);
    }
}

/* Instructions [@first, @last) of @block ran, and are looked at. */
static void run_seen(PmuTiming *t, const PmuBlock *block,
                     unsigned first, unsigned last, const PmuDynamic *dynamic)
{
    if (!t->insns) {
        begin_code(t, block, first, dynamic->pc);
    }
    extend_code(t, block, first, last);
    if (last == block->num_insns && block->branch != PMU_BRANCH_NONE) {
        t->code.branch = dynamic->pc + block->last_offset;
        t->code.taken = dynamic->taken && is_direct(block->branch);
    }
    while (first < last) {
        unsigned end = pmu_observe(&t->observer, block, first, last, dynamic);

        if (t->phase >= PMU_PHASE_WARM) {
            pmu_pipeline_run(&t->pipeline, block, first, end,
                             &t->observer.outcome);
        }
        first = end;
    }
}

/*
 * The same as skim_access(), that is more than a plain hit.  Waits count in the
 * period: a loop that waits for DRAM does little else, here as there.
 */
static G_GNUC_NO_INLINE void skim_slow_access(PmuTiming *t,
                                              const PmuBlockAccess *kind,
                                              uint64_t addr)
{
    uint32_t wait = pmu_observe_data(&t->observer, kind, addr);

    if (t->costs.weight == 1) {
        t->left -= wait / PERIOD_WAIT;
    }
}

/* Data access @index of @block, if it is one, and nothing else is looked at. */
static inline void skim_access(PmuTiming *t, const PmuBlock *block,
                               unsigned index, const uint64_t *addr)
{
    const PmuBlockAccess *kind = &block->accesses[index];

    if (G_UNLIKELY(!pmu_memory_hit(&t->observer.mem, addr[index],
                                   kind->size))) {
        skim_slow_access(t, kind, addr[index]);
    }
}

/* The accesses of instructions [@first, @last) of @block, in their order. */
static void skim_range(PmuTiming *t, const PmuBlock *block,
                       unsigned first, unsigned last, const uint64_t *addr)
{
    for (unsigned i = first; i < last; i++) {
        const PmuBlockInsn *bi = &block->insns[i];

        if (bi->ea != PMU_NO_ACCESS) {
            skim_access(t, block, bi->ea, addr);
        }
        if (bi->stack != PMU_NO_ACCESS) {
            skim_access(t, block, bi->stack, addr);
        }
    }
}

/* The branch at the end of @block, if nothing else is looked at. */
static inline void skim_branch(PmuTiming *t, const PmuBlock *block,
                               const PmuDynamic *dynamic)
{
    if (t->phase == PMU_PHASE_SKIM &&
        pmu_observe_branch(&t->observer, block, dynamic)) {
        t->progress += pmu_costs_mispredict(&t->costs);
    }
}

static inline void prepare(PmuTiming *t, const PmuBlock *block)
{
    if (G_UNLIKELY(block->level != t->ledger->level)) {
        change_level(t, block->level);
    }
}

/* All of @block ran, which is pmu_block_is_whole().  Hot. */
static inline __attribute__((always_inline))
void run_block(PmuTiming *t, const PmuBlock *block, const PmuDynamic *dynamic)
{
    pmu_counts_add(&t->counts, block);
    t->progress += (uint64_t)block->num_insns << PMU_COST_SHIFT;
    t->hash = pmu_block_hash(block, t->hash);
    __builtin_prefetch(pmu_costs_set(&t->costs, stretch_key(t)));
    if (t->phase == PMU_PHASE_SKIM) {
        for (unsigned i = 0; i < block->num_accesses; i++) {
            skim_access(t, block, i, dynamic->addr);
        }
    } else if (t->phase != PMU_PHASE_FORWARD) {
        run_seen(t, block, 0, block->num_insns, dynamic);
    }
    t->insns += block->num_insns;
    if (G_LIKELY(block->ends)) {
        if (G_LIKELY(block->branch != PMU_BRANCH_NONE)) {
            t->taken += block->branch == PMU_BRANCH_COND && dynamic->taken;
            skim_branch(t, block, dynamic);
        }
        end_stretch(t);
    }
}

/* Does a stretch end with the instruction before @last of @block? */
static bool ends_with(const PmuBlock *block, unsigned last)
{
    return last == block->num_insns ? block->ends : block->insns[last - 1].ends;
}

/* Some of its instructions did, none but the last of which ends a stretch. */
static void run_range(PmuTiming *t, const PmuBlock *block,
                      unsigned first, unsigned last, const PmuDynamic *dynamic)
{
    PmuBranch branch = block->insns[last - 1].insn->branch;

    for (unsigned i = first; i < last; i++) {
        const PmuBlockInsn *bi = &block->insns[i];

        pmu_counts_add_insn(&t->counts, bi);
        t->hash = pmu_insn_hash(bi->hash, t->hash);
    }
    t->progress += (uint64_t)(last - first) << PMU_COST_SHIFT;
    if (t->phase == PMU_PHASE_SKIM) {
        skim_range(t, block, first, last, dynamic->addr);
    } else if (t->phase != PMU_PHASE_FORWARD) {
        run_seen(t, block, first, last, dynamic);
    }
    t->insns += last - first;
    if (branch != PMU_BRANCH_NONE) {
        t->taken += branch == PMU_BRANCH_COND && dynamic->taken;
        skim_branch(t, block, dynamic);
    }
    if (ends_with(block, last)) {
        end_stretch(t);
    }
}

/* The same for any. */
static void run_ranges(PmuTiming *t, const PmuBlock *block,
                       unsigned first, unsigned last,
                       const PmuDynamic *dynamic)
{
    for (unsigned end = first + 1; end <= last; end++) {
        if (end == last || ends_with(block, end)) {
            run_range(t, block, first, end, dynamic);
            first = end;
        }
    }
}

static void run_string(PmuTiming *t, const PmuBlock *block, unsigned index,
                       const PmuDynamic *dynamic, bool last)
{
    end_open_stretch(t);
    pmu_timing_run_string(t, block, index, dynamic, last);
    if (t->phase <= PMU_PHASE_SKIM) {
        pmu_fetcher_restart(&t->observer.fetcher);
    }
    if (last) {
        pmu_counts_add_insn(&t->counts, &block->insns[index]);
        t->progress += PMU_COST_ONE;
    }
}

static void run_part(PmuTiming *t, const PmuBlock *block,
                     unsigned first, unsigned last, const PmuDynamic *dynamic)
{
    bool rep = block->rep && last == block->num_insns;

    run_ranges(t, block, first, last - rep, dynamic);
    if (rep) {
        run_string(t, block, last - 1, dynamic, true);
    }
}

void pmu_timing_run(PmuTiming *t, const PmuBlock *block,
                    unsigned first, unsigned last, const PmuDynamic *dynamic)
{
    prepare(t, block);
    if (first || last != block->num_insns || !pmu_block_is_whole(block)) {
        run_part(t, block, first, last, dynamic);
    } else {
        run_block(t, block, dynamic);
    }
    enter_counts(t);
}

/*
 * The record behind @record, and none behind @end.  Blocks of two records are
 * on their way from the host's memory: there are too many for its caches.
 */
static inline const PmuRecord *next_record(const PmuRecord *record,
                                           const PmuRecord *end)
{
    const PmuRecord *next;

    if (record == end) {
        return end;
    }
    next = (const PmuRecord *)(record->addr + record->block->num_accesses);
    if (next != end) {
        __builtin_prefetch(next->block);
        __builtin_prefetch(next->block + 1);
    }
    return next;
}

void pmu_timing_run_log(PmuTiming *t, const uint64_t *from,
                        const uint64_t *to, uint64_t next_pc)
{
    const PmuRecord *record = (const PmuRecord *)from;
    const PmuRecord *end = (const PmuRecord *)to;
    const PmuRecord *next = next_record(record, end);
    unsigned blocks = 0;

    while (record != end) {
        const PmuBlock *block = record->block;
        const PmuRecord *behind = next_record(next, end);
        PmuDynamic dynamic = {
            .addr = record->addr, .pc = record->pc,
            .target = next != end ? next->pc : next_pc,
        };

        dynamic.taken = dynamic.target != pmu_block_end(block, record->pc);
        prepare(t, block);
        if (G_UNLIKELY(!pmu_block_is_whole(block))) {
            run_part(t, block, 0, block->num_insns, &dynamic);
        } else {
            run_block(t, block, &dynamic);
        }
        if (G_UNLIKELY(++blocks % PMU_COUNTS_BLOCKS == 0)) {
            enter_counts(t);
        }
        record = next;
        next = behind;
    }
    enter_counts(t);
}

void pmu_timing_string(PmuTiming *t, const PmuBlock *block,
                       unsigned index, const PmuDynamic *dynamic)
{
    prepare(t, block);
    run_string(t, block, index, dynamic, false);
}

/* Going forward. */

uint32_t pmu_timing_forward(const PmuTiming *t)
{
    return t->phase == PMU_PHASE_FORWARD && !t->interest.taken
           ? MAX(t->left, 0) : 0;
}

bool pmu_timing_count_on(PmuTiming *t, const PmuBlock *block, uint32_t *times)
{
    uint64_t key = pmu_costs_key(pmu_block_hash(block, 0), block->level);
    PmuCost *cost;

    if (t->insns) {
        return false;
    }
    if (*times) {
        return true;
    }
    cost = pmu_costs_find_any(&t->costs, key);
    return cost && pmu_runs_add(&t->runs, block, cost, key, times);
}

void pmu_timing_pass(PmuTiming *t, uint32_t insns)
{
    t->left -= insns;
    t->passed += insns;
    if (t->phase == PMU_PHASE_FORWARD && t->left <= 0) {
        end_phase(t);
    }
}

/* For string instructions: timing-internal.h. */

void pmu_timing_enter_string(PmuTiming *t)
{
    if (t->phase == PMU_PHASE_WATCH) {
        enter_delta(t, false);
    } else {
        enter_apart(t);
    }
}
