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
 * branch or an interrupt, or where PmuBlock.ends says so, not where a block
 * happens to end.
 */

#include <glib.h>
#include <string.h>

#include "timing-internal.h"

/* So many cycles that data took to come are an instruction to periods. */
#define PERIOD_WAIT     16

/*
 * When somebody looks after fewer instructions than half of the blocks that are
 * counted, it costs less to find out again what runs than to ask for each.
 */
#define LOOK_SHARE  2

/*
 * A driver that has more events than counters makes them take turns of some
 * milliseconds, and takes for granted that time goes equally fast in all of
 * them.  So many instructions after the last change of interest they may still
 * do so: then all is observed if some of it was of interest, as what goes
 * forward is several times as fast, and periods do not become long.
 */
#define TURNS           (1 << 24)

/*
 * Lines are contested, in instructions and slots, so long after one that this
 * vCPU had in L1D was asked for by another.
 */
#define CONTESTED       (1 << 13)

/* Any but 0. */
#define RANDOM_SEED     2463534242u

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
    t->credit = pmu_timing_credit_most(t);
    t->phase = PMU_PHASE_WATCH;
    pmu_pipeline_init(&t->pipeline, uarch);
    if (!pmu_costs_init(&t->costs, uarch) || !pmu_runs_init(&t->runs) ||
        !pmu_observer_init(&t->observer, uarch, &t->seen, l3, translate,
                           opaque)) {
        pmu_timing_free(t);
        return NULL;
    }
    t->courses = pmu_bpred_courses(t->observer.bpred);
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

void pmu_timing_collect(PmuTiming *t)
{
    uint64_t progress;

    if (t->passed) {
        progress = pmu_runs_collect(&t->runs, &t->costs, t->ledger);
        /* Elsewhere it is known at once. */
        t->progress += t->phase == PMU_PHASE_FORWARD ? progress : 0;
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
    pmu_timing_enter_data(t);
    if (t->phase == PMU_PHASE_WATCH) {
        pmu_timing_enter_delta(t, true);
    }
}

void pmu_timing_flush(PmuTiming *t)
{
    pmu_timing_flush_observed(t);
    if (t->phase != PMU_PHASE_WATCH) {
        pmu_timing_enter_costs(t);
    }
}

/*
 * A copy is flushed.  What of it lies elsewhere is not written to by that, but
 * for costs, and for runs that are not collected yet.
 */
void pmu_timing_peek(PmuTiming *t, PmuLedger *ledger)
{
    g_autofree PmuTiming *copy = NULL;

    pmu_timing_collect(t);
    copy = g_memdup2(t, sizeof(*t));
    *ledger = *t->ledger;
    copy->ledger = ledger;
    pmu_costs_copy(&copy->costs, &t->costs);
    pmu_timing_flush(copy);
    pmu_costs_discard(&copy->costs);
}

uint64_t pmu_timing_repairs(const PmuTiming *t)
{
    return t->ledger->repairs + t->pipeline.repairs;
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
        progress += pmu_costs_lost(&t->costs, pmu_timing_unaccounted_wait(t));
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

/* Stretches. */

/* What is known of the stretch at hand is under this key. */
static inline uint64_t stretch_key(const PmuTiming *t)
{
    return pmu_costs_key(t->hash, t->ledger->level);
}

/*
 * Code that came from DRAM will be nearer from then on, as there is no more of
 * it than fits in the L3, and most of it is in L1I: what to expect of a stretch
 * is what it had taken with its code there.
 */
static void forget_cold_code(const PmuTiming *t, PmuSample *sample)
{
    static const PmuLedgerItem waits[] = {
        PMU_ITEM_ISSUED_0, PMU_ITEM_UNDELIVERED_0, PMU_ITEM_EXECUTED_0,
        PMU_ITEM_RETIRED_0, PMU_ITEM_FETCH_DATA_CYCLES,
        PMU_ITEM_OFFCORE_CODE, PMU_ITEM_OFFCORE_CODE_CYCLES,
    };
    uint32_t *item = sample->item;
    uint32_t lines = item[pmu_sample_item(PMU_ITEM_CODE_DRAM)];
    uint32_t cycles = lines * pmu_uarch_dram_latency(t->uarch);
    uint32_t *slots = &item[PMU_SLOT_FETCH_LATENCY];

    if (!lines) {
        return;
    }
    *slots -= MIN(*slots, cycles * t->uarch->width);
    for (unsigned i = 0; i < G_N_ELEMENTS(waits); i++) {
        uint32_t *wait = &item[pmu_sample_item(waits[i])];

        *wait -= MIN(*wait, cycles);
    }
    item[pmu_sample_item(PMU_ITEM_CODE_DRAM)] = 0;
    item[pmu_sample_item(PMU_ITEM_L1I_MISSES)] -= lines;
    item[pmu_sample_item(PMU_ITEM_L1I_HITS)] += lines;
}

/* The stretch at hand took @t->sample. */
static void learn(PmuTiming *t)
{
    for (unsigned i = 0; i < PMU_KNOWN_NR; i++) {
        t->sample.item[PMU_SAMPLE_KNOWN + i] =
            t->observer.known.n[i] - t->known.n[i];
    }
    t->known = t->observer.known;
    if (pmu_timing_is_typical(t, stretch_key(t))) {
        t->learnt += t->insns;
        t->code.large = pmu_observed_large(&t->observer, t->code.branch);
        forget_cold_code(t, &t->sample);
        pmu_costs_learn(&t->costs, stretch_key(t), t->insns, t->code,
                        &t->sample);
    }
    t->sample = (PmuSample) {};
}

/* The stretch at hand was not watched. */
static inline void count_stretch(PmuTiming *t)
{
    uint64_t key = stretch_key(t);
    PmuCost *cost = pmu_costs_find(&t->costs, key);

    if (G_LIKELY(cost)) {
        pmu_timing_count_cost(t, cost);
    } else {
        pmu_timing_count_uncertain(t, key);
    }
}

void pmu_timing_forget_observed(PmuTiming *t)
{
    uint64_t *seen = t->seen.event[PMU_LEVEL_OS];

    memset(seen + PMU_ITEM_TIMED_END, 0,
           (PMU_ITEM_NR - PMU_ITEM_TIMED_END) * sizeof(*seen));
}

void pmu_timing_forget_seen(PmuTiming *t)
{
    pmu_timing_forget_observed(t);
    t->pipeline.delta = (PmuDelta) {};
}

/* What was seen counts if nothing else is known. */
static void end_warming(PmuTiming *t)
{
    PmuCost *cost = pmu_costs_find_any(&t->costs, stretch_key(t));

    if (cost) {
        pmu_timing_forget_seen(t);
        pmu_timing_enter_known(t);
        pmu_timing_count_cost(t, cost);
    } else {
        pmu_timing_enter_apart(t);
        t->known = t->observer.known;
    }
}

static G_GNUC_NO_INLINE void end_seen(PmuTiming *t)
{
    switch (t->phase) {
    case PMU_PHASE_WATCH:
        pmu_timing_enter_delta(t, true);
        learn(t);
        break;
    case PMU_PHASE_WARM:
        end_warming(t);
        break;
    default:
        pmu_timing_forget_seen(t);
        count_stretch(t);
    }
}

/*
 * Assists at the end of a stretch.  They take as long wherever they are, and
 * are entered apart from it; that all before has to retire is what it takes.
 */
static G_GNUC_NO_INLINE void take_assists(PmuTiming *t)
{
    t->ledger->event[t->ledger->level][PMU_ITEM_ASSISTS_FP] += t->assists;
    if (t->phase == PMU_PHASE_FETCH) {
        pmu_timing_forget_seen(t);
    }
    for (; t->assists; t->assists--) {
        pmu_fetcher_restart(&t->observer.fetcher);
        pmu_pipeline_assist(&t->pipeline);
        pmu_timing_enter_string(t);
    }
}

static inline void end_stretch(PmuTiming *t)
{
    if (G_UNLIKELY(t->assists) && t->phase >= PMU_PHASE_WARM) {
        pmu_pipeline_drain(&t->pipeline);
    }
    if (G_LIKELY(t->phase <= PMU_PHASE_FETCH)) {
        count_stretch(t);
    } else {
        end_seen(t);
    }
    t->hash = 0;
    t->left -= t->insns;
    t->insns = 0;
    t->misses = (PmuCodeMisses) {};
    if (G_UNLIKELY(t->assists)) {
        take_assists(t);
    }
    if (G_UNLIKELY(t->left <= 0)) {
        pmu_timing_end_phase(t);
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
        pmu_timing_forget_seen(t);
        if (t->phase == PMU_PHASE_FORWARD) {
            pmu_observer_miss(&t->observer);
        }
        pmu_timing_enter_costs(t);
        pmu_timing_resume_pipeline(t);
        pmu_memory_settle(&t->observer.mem);
        t->phase = PMU_PHASE_WATCH;
    }
    pmu_costs_weigh(&t->costs, 1);
    t->sampling = sampling;
    t->credit = pmu_timing_credit_most(t);
    t->left = sampling ? sampling->first : INT32_MAX;
}

static bool is_other(const PmuInterest *one, const PmuInterest *other)
{
    return one->sampled != other->sampled ||
           one->observed != other->observed || one->taken != other->taken;
}

void pmu_timing_set_interest(PmuTiming *t, PmuInterest interest)
{
    if (interest.sampled != t->interest.sampled) {
        pmu_timing_flush(t);
        pmu_costs_want(&t->costs, interest.sampled);
    }
    if (is_other(&interest, &t->interest)) {
        t->turns_until = t->skimmed + TURNS;
    }
    if (interest.observed || t->observed_until == UINT64_MAX) {
        t->observed_until = interest.observed ? UINT64_MAX
                                              : t->skimmed + TURNS;
    }
    t->interest = interest;
    if (interest.observed) {
        if (t->phase == PMU_PHASE_FORWARD) {
            pmu_timing_end_forward(t);
        }
        pmu_timing_stand_alone(t);
    }
}

/* Between stretches. */

/* Go on at @level: hardware drains the pipeline, an open cycle is lost. */
static G_GNUC_NO_INLINE void change_level(PmuTiming *t, PmuLevel level)
{
    end_open_stretch(t);
    pmu_timing_enter_data(t);
    if (t->phase == PMU_PHASE_WATCH) {
        pmu_pipeline_close_cycle(&t->pipeline);
        pmu_timing_enter_delta(t, false);
        t->ledger->level = level;
        pmu_timing_resume_pipeline(t);
    } else {
        pmu_timing_enter_known(t);
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

void pmu_timing_flush_mappings(PmuTiming *t, PmuFlush flush, uint64_t linear)
{
    pmu_memory_flush_mappings(&t->observer.mem, flush, linear);
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
    t->misses = (PmuCodeMisses) {};
    t->line = 0;
    t->sample = (PmuSample) {};
    t->credit = pmu_timing_credit_most(t);
    t->skimmed = 0;
    t->observed_until = 0;
    t->turns_until = 0;
    t->settled = 0;
    t->surprised = false;
    t->steady = 0;
    t->far = true;
    t->refills = false;
    t->wait = 0;
    t->closer = false;
    t->unknown_twice = 0;
    t->random = RANDOM_SEED;
    t->assists = 0;
    t->string = (PmuString) {};
    t->contested_until = 0;
    pmu_pipeline_reset(&t->pipeline);
    pmu_timing_resume_pipeline(t);
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

/* The stretch at hand begins, where go_on() says. */
static void begin_code(PmuTiming *t)
{
    t->code = (PmuCostCode) {
        .first = t->phys >> PMU_LINE_SHIFT, .branch = t->pc,
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
        begin_code(t);
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
 * Waits count in the period: a loop that waits for DRAM does little else,
 * whether or not it is watched.
 */
static void pass_wait(PmuTiming *t, uint64_t wait)
{
    if (t->costs.weight == 1) {
        t->wait += wait;
        t->left -= t->wait / PERIOD_WAIT;
        t->wait %= PERIOD_WAIT;
    }
}

/* The same as skim_access(), that is more than a plain hit. */
static G_GNUC_NO_INLINE void skim_slow_access(PmuTiming *t,
                                              const PmuBlockAccess *kind,
                                              uint64_t addr)
{
    pass_wait(t, pmu_observe_data(&t->observer, kind, addr));
}

/* Data access @index of @block, if it is one, and nothing else is looked at. */
static inline void skim_access(PmuTiming *t, const PmuBlock *block,
                               unsigned index, const uint64_t *addr)
{
    const PmuBlockAccess *kind = &block->accesses[index];

    if (G_UNLIKELY(!pmu_memory_hit(&t->observer.mem, addr[index],
                                   kind->reach, kind->store))) {
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

/* Instructions [@first, @last) of @block, in PMU_PHASE_FETCH. */
static G_GNUC_NO_INLINE void fetch_range(PmuTiming *t, const PmuBlock *block,
                                         unsigned first, unsigned last,
                                         const PmuDynamic *dynamic)
{
    uint64_t before = pmu_known_wait(&t->observer.known);

    while (first < last) {
        first = pmu_observe_fetch(&t->observer, block, first, last, dynamic);
    }
    pass_wait(t, pmu_known_wait(&t->observer.known) - before);
    if (t->observer.outcome.branch & PMU_OUTCOME_MISPREDICT) {
        t->progress += pmu_costs_mispredict(&t->costs);
    }
}

/* The stretch at hand misses what was missed since there were @before. */
static void note_misses(PmuTiming *t, const PmuCodeMisses *before)
{
    PmuCodeMisses now = pmu_observed_code(&t->observer);

    for (unsigned i = 0; i < PMU_PLACE_NR; i++) {
        t->misses.from[i] += now.from[i] - before->from[i];
    }
}

/* Instructions [@first, @last) of @block ran, and are more than skimmed. */
static void look_at_range(PmuTiming *t, const PmuBlock *block,
                          unsigned first, unsigned last,
                          const PmuDynamic *dynamic)
{
    PmuCodeMisses before = pmu_observed_code(&t->observer);

    if (t->phase == PMU_PHASE_FETCH) {
        fetch_range(t, block, first, last, dynamic);
    } else {
        run_seen(t, block, first, last, dynamic);
    }
    note_misses(t, &before);
}

/*
 * What runs next finds lines where other vCPUs left them, and nothing in the
 * store buffer: before a line was given away, stores to it have left that.
 */
static inline void take_snoops(PmuTiming *t)
{
    if (pmu_memory_snooped(&t->observer.mem)) {
        pmu_memory_skip(&t->observer.mem);
        t->contested_until = t->progress +
                             ((uint64_t)CONTESTED << PMU_COST_SHIFT);
    }
}

bool pmu_timing_contested(const PmuTiming *t)
{
    return t->progress < t->contested_until;
}

/*
 * Instructions of @block from @first on are next.  A stretch is contiguous: if
 * execution goes on elsewhere without a branch that the model knows (which is
 * unknown to it, or a page that was mapped to another place meanwhile), that
 * ends it.
 */
static inline void prepare(PmuTiming *t, const PmuBlock *block, unsigned first)
{
    if (G_UNLIKELY(block->level != t->ledger->level)) {
        change_level(t, block->level);
    }
    if (G_UNLIKELY(t->insns) &&
        ((block->begins && !first) ||
         t->end != block->phys + block->insns[first].offset)) {
        end_stretch(t);
    }
}

/* The stretch at hand goes on with bytes [@from, @to) of @block, at @pc. */
static inline void go_on(PmuTiming *t, const PmuBlock *block, unsigned from,
                         unsigned to, uint64_t pc)
{
    t->pc = t->insns ? t->pc : pc + from;
    t->phys = t->insns ? t->phys : block->phys + from;
    t->end = block->phys + to;
}

/*
 * Runs of @block, a stretch of its own that has @cost under @key, are counted
 * from now on.  False if there is no room.
 */
static bool count_from_now(PmuTiming *t, const PmuBlock *block, PmuCost *cost,
                           uint64_t key)
{
    t->courses[block->number] = PMU_NOWHERE;
    return pmu_runs_add(&t->runs, block, cost, key);
}

/* Is that so, and can it be, as what it costs is well known? */
static G_GNUC_NO_INLINE bool count_known(PmuTiming *t, const PmuBlock *block)
{
    uint64_t key = pmu_costs_key(pmu_block_hash(block, 0), block->level);
    PmuCost *cost = pmu_costs_find(&t->costs, key);

    return cost && pmu_block_has_number(block) && pmu_block_is_plain(block) &&
           count_from_now(t, block, cost, key);
}

/* Does an access of @block, which has a number, need looking at? */
static inline bool any_slow(const PmuTiming *t, const PmuBlock *block,
                            const uint64_t *addr)
{
    bool fast = true;

    for (unsigned i = 0; i < block->num_accesses; i++) {
        PmuBriefAccess brief = block->brief[i];

        fast &= pmu_memory_hit(&t->observer.mem, addr[i],
                               brief & PMU_BRIEF_REACH,
                               brief & PMU_BRIEF_STORE);
    }
    return !fast;
}

/*
 * All of @block ran.  If nothing but data and branches are looked at, and what
 * it costs is well known, its runs are counted, and there is more to do about
 * some of them alone.  False: it is another one.  Hot.
 */
static inline __attribute__((always_inline))
bool skim_known(PmuTiming *t, const PmuBlock *block, const PmuDynamic *dynamic)
{
    PmuRunCount *count = &t->runs.count[block->number];

    if (t->phase != PMU_PHASE_SKIM || t->insns ||
        (G_UNLIKELY(!count->times) && !count_known(t, block))) {
        return false;
    }
    count->times++;
    t->passed += block->num_insns;
    t->progress += ((uint64_t)block->num_insns << PMU_COST_SHIFT) +
                   count->slots;
    t->taken += block->branch == PMU_BRANCH_COND && dynamic->taken;
    if (any_slow(t, block, dynamic->addr)) {
        for (unsigned i = 0; i < block->num_accesses; i++) {
            skim_access(t, block, i, dynamic->addr);
        }
    }
    if (dynamic->target != t->courses[block->number] &&
        pmu_observe_known_branch(&t->observer, block, dynamic)) {
        t->progress += pmu_costs_mispredict(&t->costs);
    }
    t->left -= block->num_insns;
    if (G_UNLIKELY(t->assists)) {
        take_assists(t);
    }
    if (G_UNLIKELY(t->left <= 0)) {
        pmu_timing_end_phase(t);
    }
    return true;
}

/* All of @block ran, which is pmu_block_is_whole().  Hot. */
static inline __attribute__((always_inline))
void run_block(PmuTiming *t, const PmuBlock *block, const PmuDynamic *dynamic)
{
    if (skim_known(t, block, dynamic)) {
        return;
    }
    pmu_counts_add(&t->counts, block);
    t->progress += (uint64_t)block->num_insns << PMU_COST_SHIFT;
    t->hash = pmu_block_hash(block, t->hash);
    __builtin_prefetch(pmu_costs_set(&t->costs, stretch_key(t)));
    go_on(t, block, 0, block->length, dynamic->pc);
    if (t->phase == PMU_PHASE_SKIM) {
        for (unsigned i = 0; i < block->num_accesses; i++) {
            skim_access(t, block, i, dynamic->addr);
        }
    } else if (t->phase != PMU_PHASE_FORWARD) {
        look_at_range(t, block, 0, block->num_insns, dynamic);
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
    go_on(t, block, block->insns[first].offset,
          last == block->num_insns ? block->length : block->insns[last].offset,
          dynamic->pc);
    if (t->phase == PMU_PHASE_SKIM) {
        skim_range(t, block, first, last, dynamic->addr);
    } else if (t->phase != PMU_PHASE_FORWARD) {
        look_at_range(t, block, first, last, dynamic);
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
    if (t->phase == PMU_PHASE_FETCH) {
        pmu_timing_forget_seen(t);
    }
    pmu_timing_run_string(t, block, index, dynamic, last);
    if (t->phase <= PMU_PHASE_FETCH) {
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
    if (G_UNLIKELY(first >= last || last > block->num_insns)) {
        /* There are no such instructions. */
        t->ledger->repairs++;
        last = MIN(last, block->num_insns);
        if (first >= last) {
            return;
        }
    }
    take_snoops(t);
    prepare(t, block, first);
    if (first || last != block->num_insns || !pmu_block_is_whole(block)) {
        run_part(t, block, first, last, dynamic);
    } else {
        run_block(t, block, dynamic);
    }
    pmu_timing_enter_counts(t);
}

/*
 * The record behind @record, and none behind @end.  The block of that one and
 * what is known of that of @record are on their way from the host's memory:
 * there are too many for its caches.
 */
static inline const PmuRecord *next_record(const PmuTiming *t,
                                           const PmuRecord *record,
                                           const PmuRecord *end)
{
    const PmuRecord *next;

    if (record == end) {
        return end;
    }
    __builtin_prefetch(&t->runs.count[record->block->number]);
    __builtin_prefetch(&t->courses[record->block->number]);
    next = (const PmuRecord *)(record->addr + record->block->num_accesses);
    if (next != end) {
        __builtin_prefetch(next->block);
    }
    return next;
}

void pmu_timing_run_log(PmuTiming *t, const uint64_t *from,
                        const uint64_t *to, uint64_t next_pc)
{
    const PmuRecord *record = (const PmuRecord *)from;
    const PmuRecord *end = (const PmuRecord *)to;
    const PmuRecord *next = next_record(t, record, end);
    unsigned blocks = 0;

    take_snoops(t);
    while (record != end) {
        const PmuBlock *block = record->block;
        const PmuRecord *behind = next_record(t, next, end);
        PmuDynamic dynamic = {
            .addr = record->addr, .pc = record->pc,
            .target = next != end ? next->pc : next_pc,
        };

        dynamic.taken = dynamic.target != pmu_block_end(block, record->pc);
        prepare(t, block, 0);
        if (G_UNLIKELY(!pmu_block_is_whole(block))) {
            run_part(t, block, 0, block->num_insns, &dynamic);
        } else {
            run_block(t, block, &dynamic);
        }
        if (G_UNLIKELY(++blocks % PMU_COUNTS_BLOCKS == 0)) {
            pmu_timing_enter_counts(t);
        }
        record = next;
        next = behind;
    }
    pmu_timing_enter_counts(t);
}

void pmu_timing_string(PmuTiming *t, const PmuBlock *block,
                       unsigned index, const PmuDynamic *dynamic)
{
    if (G_UNLIKELY(index >= block->num_insns ||
                   !(block->insns[index].insn->flags & PMU_INSN_REP))) {
        t->ledger->repairs++;
        return;
    }
    take_snoops(t);
    prepare(t, block, index);
    run_string(t, block, index, dynamic, false);
}

void pmu_timing_assist(PmuTiming *t, const PmuBlock *block, bool counted)
{
    t->assists++;
    if (counted) {
        prepare(t, block, 0);
        take_assists(t);
    }
}

/* Going forward. */

uint32_t pmu_timing_forward(const PmuTiming *t)
{
    return t->phase == PMU_PHASE_FORWARD && !t->interest.taken
           ? MAX(t->left, 0) : 0;
}

PmuRunCount *pmu_timing_runs(PmuTiming *t)
{
    return t->runs.count;
}

bool pmu_timing_count_on(PmuTiming *t, const PmuBlock *block)
{
    uint64_t key = pmu_costs_key(pmu_block_hash(block, 0), block->level);
    PmuCost *cost;

    if (t->insns) {
        return false;
    }
    if (t->runs.count[block->number].times) {
        return true;
    }
    cost = pmu_costs_find_any(&t->costs, key);
    return cost && count_from_now(t, block, cost, key);
}

void pmu_timing_pass(PmuTiming *t, uint32_t insns)
{
    t->left -= insns;
    t->passed += insns;
    if (t->phase == PMU_PHASE_FORWARD && t->left <= 0) {
        pmu_timing_end_phase(t);
    }
}

/* For string instructions: timing-internal.h. */

void pmu_timing_enter_string(PmuTiming *t)
{
    if (t->phase == PMU_PHASE_WATCH) {
        pmu_timing_enter_delta(t, false);
    } else {
        pmu_timing_enter_apart(t);
    }
}
