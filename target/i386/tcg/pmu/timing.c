/*
 * The timing model: executed instructions in, slots and events out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 *
 * Two halves meet here.  The observer (caches, TLBs, predictors, fetch) sees
 * every instruction and says what happened to it.  The pipeline says how long
 * that took; it is some ten times as slow, so it is watched at times only.  In
 * between a stretch of code is taken to cost what it cost when the pipeline
 * was watched, on average and with the same things happening to it.  Windows
 * begin with the pipeline warming up.
 *
 * All of it is a function of the instruction stream: a stretch ends with a
 * branch or an interrupt, not where a block happens to end.
 */

#include <glib.h>
#include <string.h>

#include "timing-internal.h"

/*
 * Warm is a pipeline whose reorder buffer has been filled, at some five
 * micro-ops a stretch.
 */
const PmuSampling pmu_sampling = {
    .first = 1u << 16, .warm = 64, .watch = 192, .share = 4, .chunk = 512,
    .period = 1u << 13,
};

/* Credit for windows that can be saved up, and overdrawn, in stretches. */
#define CREDIT_MOST     (1 << 16)
#define CREDIT_LEAST    (-(1 << 16))

/*
 * A stretch of which nothing is known is worth a window if it comes again: at
 * this sight of it if there is credit, soon after in any case.  One can wait
 * of which it is known what it costs when something else happens.
 */
#define SIGHTS          2
#define SIGHTS_URGENT   3
#define SIGHTS_OTHER    8

/*
 * Stretches that may feel a load from far away that an earlier one made: the
 * reorder buffer holds some 70 of them, but most are not held up.
 */
#define FEEL_L3         4
#define FEEL_DRAM       16

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
    t->left = pmu_sampling.first;
    pmu_pipeline_init(&t->pipeline, uarch);
    if (!pmu_costs_init(&t->costs) ||
        !pmu_observer_init(&t->observer, uarch, ledger, l3, translate,
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
        pmu_observer_destroy(&t->observer);
        g_free(t);
    }
}

/* Into the ledger. */

/* What needs no looking closer. */
static void enter_counts(PmuTiming *t)
{
    uint64_t *event = t->ledger->event[t->ledger->level];

    event[PMU_ITEM_INSTRUCTIONS] += pmu_count(t->counts, PMU_COUNT_INSNS);
    event[PMU_ITEM_BRANCHES] += pmu_count(t->counts, PMU_COUNT_BRANCHES);
    event[PMU_ITEM_BRANCHES_COND] += pmu_count(t->counts, PMU_COUNT_COND);
    event[PMU_ITEM_L1D_ACCESSES] += pmu_count(t->counts, PMU_COUNT_ACCESSES);
    t->counts = 0;
}

/*
 * What the pipeline did since the last time, of the stretch at hand or
 * (@sampled false) of none.
 */
static void enter_delta(PmuTiming *t, bool sampled)
{
    PmuLevel level = t->ledger->level;
    uint32_t *item = t->pipeline.delta.item;

    for (unsigned i = 0; i < PMU_TIMED_NR; i++) {
        if (i < PMU_SLOT_NR) {
            t->ledger->slots[level][i] += item[i];
            t->progress += (uint64_t)item[i] << PMU_COST_SHIFT;
        }
        t->sample.item[i] += sampled ? item[i] : 0;
    }
    pmu_ledger_event(t->ledger, PMU_ITEM_UOPS_ISSUED,
                     item[PMU_TIMED_UOPS_ISSUED]);
    t->ledger->open = t->pipeline.slot;
    t->ledger->history = t->pipeline.history;
    t->pipeline.delta = (PmuDelta) {};
}

/* What was counted of known costs, as far as it is whole slots. */
static void enter_costs(PmuTiming *t)
{
    uint64_t whole[PMU_TIMED_NR];

    pmu_costs_settle(&t->costs);
    for (unsigned i = 0; i < PMU_TIMED_NR; i++) {
        whole[i] = (t->costs.sum[i] >> PMU_COST_SHIFT) - t->entered[i];
        t->entered[i] += whole[i];
    }
    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        pmu_ledger_slots(t->ledger, i, whole[i]);
    }
    pmu_ledger_event(t->ledger, PMU_ITEM_UOPS_ISSUED,
                     whole[PMU_TIMED_UOPS_ISSUED]);
}

void pmu_timing_flush_observed(PmuTiming *t)
{
    enter_counts(t);
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
    enter_costs(t);
    pmu_pipeline_resume(&t->pipeline, t->ledger->open, t->ledger->history);
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
    return t->progress >> PMU_COST_SHIFT;
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

static void begin_phase(PmuTiming *t, PmuPhase phase, uint32_t length)
{
    if (phase == PMU_PHASE_WATCH && t->phase != phase) {
        resume_pipeline(t);
    }
    if (phase == PMU_PHASE_ESTIMATE) {
        t->unwatched = 0;
        pmu_observer_set_watched(&t->observer, false);
    } else if (t->phase == PMU_PHASE_ESTIMATE) {
        pmu_observer_set_watched(&t->observer, true);
    }
    t->phase = phase;
    t->left = length;
}

static uint32_t window(const PmuTiming *t)
{
    return t->sampling->warm + t->sampling->watch;
}

/* Open a window, if afterwards there is credit for @more stretches still. */
static void want_window(PmuTiming *t, int32_t more)
{
    int32_t price = window(t);

    if (t->credit >= price + more) {
        t->credit -= price;
        begin_phase(t, PMU_PHASE_WARM, t->sampling->warm);
    }
}

/* Another chunk of stretches was estimated. */
static void end_chunk(PmuTiming *t)
{
    uint32_t chunk = t->sampling->chunk;

    t->credit = MIN(t->credit + (int32_t)(chunk / t->sampling->share),
                    CREDIT_MOST);
    t->unwatched += chunk;
    t->left = chunk;
    if (t->unwatched >= t->sampling->period) {
        want_window(t, 0);
    }
}

static G_GNUC_NO_INLINE void end_phase(PmuTiming *t)
{
    if (!t->sampling) {
        t->left = UINT32_MAX;
    } else if (t->phase == PMU_PHASE_WATCH) {
        pmu_costs_adjust(&t->costs);
        begin_phase(t, PMU_PHASE_ESTIMATE, t->sampling->chunk);
    } else if (t->phase == PMU_PHASE_WARM) {
        begin_phase(t, PMU_PHASE_WATCH, t->sampling->watch);
    } else {
        end_chunk(t);
    }
}

void pmu_timing_set_sampling(PmuTiming *t, const PmuSampling *sampling)
{
    pmu_timing_flush(t);
    begin_phase(t, PMU_PHASE_WATCH, sampling ? sampling->first : UINT32_MAX);
    t->sampling = sampling;
}

/* Stretches. */

static uint64_t mix(uint64_t key, uint64_t value)
{
    key = (key ^ value) * 0x9e3779b97f4a7c15ull;
    return key ^ key >> 32;
}

/* What is known of the stretch at hand is under this key. */
static inline uint64_t stretch_key(const PmuTiming *t, PmuMarks marks)
{
    return mix(t->hash + t->ledger->level, marks) | 1;
}

/* ... whatever happened to it, but for misses of its code, under this. */
static uint64_t any_key(const PmuTiming *t)
{
    return mix(t->hash + t->ledger->level, UINT64_MAX) | 1;
}

/* ... and of what happened to it, whatever it is, under this. */
static uint64_t marks_key(const PmuTiming *t, PmuMarks marks)
{
    return mix(marks, PMU_LEVEL_NR + t->ledger->level) | 1;
}

/* What happened to the stretch at hand, and what it feels of earlier ones. */
static inline PmuMarks all_marks(PmuTiming *t)
{
    PmuMarks marks = t->observer.marks;

    if (G_LIKELY(!marks && !t->after_l3 && !t->after_dram)) {
        return 0;
    }
    if (t->after_l3) {
        t->after_l3--;
        pmu_mark(&marks, PMU_MARK_AFTER_L3);
    }
    if (t->after_dram) {
        t->after_dram--;
        pmu_mark(&marks, PMU_MARK_AFTER_DRAM);
    }
    if (pmu_marked(marks, PMU_MARK_L3)) {
        t->after_l3 = FEEL_L3;
    }
    if (pmu_marked(marks, PMU_MARK_DRAM)) {
        t->after_dram = FEEL_DRAM;
    }
    t->observer.marks = 0;
    return marks;
}

static PmuCost *known_cost(PmuTiming *t, PmuMarks marks)
{
    PmuCost *cost = pmu_costs_find(&t->costs, stretch_key(t, marks));

    return cost ? cost : pmu_costs_find(&t->costs, any_key(t));
}

/* The pipeline took @t->sample for the stretch at hand. */
static void learn(PmuTiming *t, PmuMarks marks)
{
    PmuDelta lost = t->sample;
    PmuCost *known = known_cost(t, marks);

    if (known) {
        pmu_costs_compare(&t->costs, known, &t->sample);
    }
    pmu_costs_learn(&t->costs, stretch_key(t, marks), &t->sample);
    if (!pmu_marked_code(marks)) {
        pmu_costs_learn(&t->costs, any_key(t), &t->sample);
    }
    lost.item[PMU_SLOT_LIGHT_OPS] = 0;
    lost.item[PMU_SLOT_HEAVY_OPS] = 0;
    lost.item[PMU_TIMED_UOPS_ISSUED] = 0;
    pmu_costs_learn(&t->costs, marks_key(t, marks), &lost);
}

static inline void count_cost(PmuTiming *t, PmuCost *cost)
{
    pmu_costs_count(&t->costs, cost);
    t->progress += pmu_costs_slots(&t->costs, cost);
}

/*
 * Nothing is known of the stretch at hand but what happened to it.  Most
 * instructions take one slot.
 */
static void guess(PmuTiming *t, PmuMarks marks)
{
    PmuCost *cost = pmu_costs_find(&t->costs, marks_key(t, marks));
    uint64_t slots = (uint64_t)t->insns << PMU_COST_SHIFT;

    t->costs.sum[PMU_SLOT_LIGHT_OPS] += slots;
    t->costs.sum[PMU_TIMED_UOPS_ISSUED] += slots;
    t->progress += slots;
    if (cost) {
        count_cost(t, cost);
    }
}

/* How often was @key seen lately, now included? */
static unsigned sight(PmuTiming *t, uint64_t key)
{
    PmuSighted *sighted = &t->sighted[(key >> 1) % PMU_SIGHTED];

    if (sighted->key != key) {
        *sighted = (PmuSighted) { .key = key };
    }
    return ++sighted->times;
}

static G_GNUC_NO_INLINE void end_unknown(PmuTiming *t, PmuMarks marks)
{
    PmuCost *cost = pmu_costs_find(&t->costs, any_key(t));
    unsigned times;

    if (cost) {
        count_cost(t, cost);
        times = sight(t, stretch_key(t, marks));
        if (times >= SIGHTS_OTHER) {
            want_window(t, 0);
        }
        return;
    }
    guess(t, marks);
    times = sight(t, any_key(t));
    if (times >= SIGHTS) {
        want_window(t, times >= SIGHTS_URGENT ? CREDIT_LEAST : 0);
    }
}

/* The pipeline is not warm yet: what it says counts if nothing else does. */
static void end_warming(PmuTiming *t, PmuMarks marks)
{
    PmuCost *cost = pmu_costs_find(&t->costs, stretch_key(t, marks));

    if (cost) {
        count_cost(t, cost);
    } else {
        for (unsigned i = 0; i < PMU_TIMED_NR; i++) {
            uint64_t item = t->pipeline.delta.item[i];

            t->costs.sum[i] += item << PMU_COST_SHIFT;
            t->progress += i < PMU_SLOT_NR ? item << PMU_COST_SHIFT : 0;
        }
    }
    t->pipeline.delta = (PmuDelta) {};
}

static void end_watched(PmuTiming *t, PmuMarks marks)
{
    if (t->phase == PMU_PHASE_WARM) {
        end_warming(t, marks);
    } else {
        enter_delta(t, true);
        learn(t, marks);
        t->sample = (PmuDelta) {};
    }
}

static inline void end_stretch(PmuTiming *t)
{
    PmuMarks marks = all_marks(t);

    if (G_LIKELY(t->phase == PMU_PHASE_ESTIMATE)) {
        PmuCost *cost = pmu_costs_find(&t->costs, stretch_key(t, marks));

        if (G_LIKELY(cost)) {
            count_cost(t, cost);
        } else {
            end_unknown(t, marks);
        }
    } else {
        end_watched(t, marks);
    }
    t->open = false;
    t->hash = 0;
    t->insns = 0;
    if (G_UNLIKELY(!--t->left)) {
        end_phase(t);
    }
}

static void end_open_stretch(PmuTiming *t)
{
    if (t->open) {
        end_stretch(t);
    }
}

/* Between stretches. */

/* Go on at @level: hardware drains the pipeline, an open cycle is lost. */
static G_GNUC_NO_INLINE void change_level(PmuTiming *t, PmuLevel level)
{
    end_open_stretch(t);
    enter_counts(t);
    if (t->phase == PMU_PHASE_WATCH) {
        pmu_pipeline_close_cycle(&t->pipeline);
        enter_delta(t, false);
        t->ledger->level = level;
    } else {
        enter_costs(t);
        pmu_ledger_set_level(t->ledger, level, PMU_SLOT_FETCH_LATENCY);
    }
}

void pmu_timing_interrupt(PmuTiming *t)
{
    end_open_stretch(t);
    pmu_observe_interrupt(&t->observer);
    pmu_pipeline_interrupt(&t->pipeline);
    t->string.active = false;
}

void pmu_timing_flush_mappings(PmuTiming *t, uint64_t linear)
{
    pmu_memory_flush_mappings(&t->observer.mem, linear);
}

void pmu_timing_reset(PmuTiming *t)
{
    pmu_costs_clear(&t->costs);
    memset(t->entered, 0, sizeof(t->entered));
    t->counts = 0;
    t->open = false;
    t->hash = 0;
    t->insns = 0;
    t->sample = (PmuDelta) {};
    t->credit = 0;
    memset(t->sighted, 0, sizeof(t->sighted));
    t->after_l3 = 0;
    t->after_dram = 0;
    t->string = (PmuString) {};
    pmu_pipeline_reset(&t->pipeline, t->ledger->open, t->ledger->history);
    pmu_observer_reset(&t->observer);
    pmu_observer_set_watched(&t->observer, true);
    t->phase = PMU_PHASE_WATCH;
    t->left = t->sampling ? t->sampling->first : UINT32_MAX;
}

/* Running. */

/* Instructions [@first, @last) of @block ran, and the pipeline is watched. */
static void watch(PmuTiming *t, const PmuBlock *block,
                  unsigned first, unsigned last, const PmuDynamic *dynamic)
{
    while (first < last) {
        unsigned end = pmu_observe(&t->observer, block, first, last, dynamic);

        pmu_pipeline_run(&t->pipeline, block, first, end,
                         &t->observer.outcome);
        first = end;
    }
}

/* The same when it is not. */
static void observe(PmuTiming *t, const PmuBlock *block,
                    unsigned first, unsigned last, const PmuDynamic *dynamic)
{
    while (first < last) {
        first = pmu_observe(&t->observer, block, first, last, dynamic);
    }
}

static inline void prepare(PmuTiming *t, const PmuBlock *block)
{
    if (G_UNLIKELY(block->level != t->ledger->level)) {
        change_level(t, block->level);
    }
}

/* All of @block ran, which has no REP string instruction. */
static inline void run_block(PmuTiming *t, const PmuBlock *block,
                             const PmuDynamic *dynamic)
{
    t->counts += block->counts;
    t->progress += (uint64_t)block->num_insns << PMU_COST_SHIFT;
    t->hash = pmu_block_hash(block, t->hash);
    t->insns += block->num_insns;
    t->open = true;
    if (G_LIKELY(t->phase == PMU_PHASE_ESTIMATE)) {
        pmu_observe_briefly(&t->observer, block, dynamic);
    } else {
        watch(t, block, 0, block->num_insns, dynamic);
    }
    if (G_LIKELY(block->branch != PMU_BRANCH_NONE)) {
        end_stretch(t);
    }
}

/* Some of its instructions did. */
static void run_range(PmuTiming *t, const PmuBlock *block,
                      unsigned first, unsigned last, const PmuDynamic *dynamic)
{
    for (unsigned i = first; i < last; i++) {
        const PmuBlockInsn *bi = &block->insns[i];

        t->counts += pmu_block_insn_counts(bi);
        t->hash = pmu_block_insn_hash(bi, t->hash);
    }
    t->insns += last - first;
    t->progress += (uint64_t)(last - first) << PMU_COST_SHIFT;
    t->open = true;
    if (t->phase == PMU_PHASE_ESTIMATE) {
        observe(t, block, first, last, dynamic);
    } else {
        watch(t, block, first, last, dynamic);
    }
    if (block->insns[last - 1].insn->branch != PMU_BRANCH_NONE) {
        end_stretch(t);
    }
}

static void run_string(PmuTiming *t, const PmuBlock *block, unsigned index,
                       const PmuDynamic *dynamic, bool last)
{
    end_open_stretch(t);
    pmu_timing_run_string(t, block, index, dynamic, last);
    if (last) {
        t->counts += pmu_block_insn_counts(&block->insns[index]);
        t->progress += PMU_COST_ONE;
    }
}

static void run_part(PmuTiming *t, const PmuBlock *block,
                     unsigned first, unsigned last, const PmuDynamic *dynamic)
{
    bool rep = block->rep && last == block->num_insns;

    if (first < last - rep) {
        run_range(t, block, first, last - rep, dynamic);
    }
    if (rep) {
        run_string(t, block, last - 1, dynamic, true);
    }
}

void pmu_timing_run(PmuTiming *t, const PmuBlock *block,
                    unsigned first, unsigned last, const PmuDynamic *dynamic)
{
    prepare(t, block);
    if (first || last != block->num_insns || block->rep) {
        run_part(t, block, first, last, dynamic);
    } else {
        run_block(t, block, dynamic);
    }
    enter_counts(t);
}

void pmu_timing_run_log(PmuTiming *t, const uint64_t *from,
                        const uint64_t *end, uint64_t next)
{
    unsigned blocks = 0;

    while (from != end) {
        const PmuRecord *record = (const PmuRecord *)from;
        const PmuBlock *block = record->block;
        PmuDynamic dynamic = { .addr = record->addr, .pc = record->pc };

        from += PMU_RECORD_WORDS(block->num_accesses);
        if (G_LIKELY(from != end)) {
            dynamic.target = ((const PmuRecord *)from)->pc;
            __builtin_prefetch(((const PmuRecord *)from)->block);
        } else {
            dynamic.target = next;
        }
        dynamic.taken = dynamic.target != pmu_block_end(block, record->pc);
        prepare(t, block);
        if (G_UNLIKELY(block->rep)) {
            run_part(t, block, 0, block->num_insns, &dynamic);
        } else {
            run_block(t, block, &dynamic);
        }
        if (G_UNLIKELY(++blocks % PMU_COUNTS_BLOCKS == 0)) {
            enter_counts(t);
        }
    }
    enter_counts(t);
}

void pmu_timing_string(PmuTiming *t, const PmuBlock *block,
                       unsigned index, const PmuDynamic *dynamic)
{
    prepare(t, block);
    run_string(t, block, index, dynamic, false);
}

/* For string instructions: timing-internal.h. */

PmuPipeline *pmu_timing_take_pipeline(PmuTiming *t)
{
    if (t->phase != PMU_PHASE_WATCH) {
        resume_pipeline(t);
    }
    return &t->pipeline;
}

void pmu_timing_give_pipeline(PmuTiming *t)
{
    enter_delta(t, false);
}
