/*
 * The timing model: executed instructions in, slots and events out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 *
 * Two halves meet here.  Caches, TLBs, predictors and fetch, which know no
 * time, say what happened to a block: its outcome.  The pipeline says how long
 * that took.  As no time flows back, most blocks take a transition that is
 * known: see memo.h.
 */

#include <glib.h>
#include <string.h>

#include "timing-internal.h"

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
    t->remember = true;
    t->bpred = pmu_bpred_new(uarch);
    t->memo = pmu_memo_new();
    pmu_pipeline_init(&t->pipeline, uarch);
    t->cycle = t->pipeline.cycle;
    if (!t->bpred || !t->memo ||
        !pmu_memory_init(&t->mem, uarch, ledger, l3, translate, opaque) ||
        !pmu_fetcher_init(&t->fetcher, uarch, &t->mem, t->bpred)) {
        pmu_timing_free(t);
        return NULL;
    }
    return t;
}

void pmu_timing_free(PmuTiming *t)
{
    if (t) {
        pmu_bpred_free(t->bpred);
        pmu_memo_free(t->memo);
        pmu_fetcher_destroy(&t->fetcher);
        pmu_memory_destroy(&t->mem);
        g_free(t);
    }
}

/* The pipeline and the known states. */

/* Have the pipeline itself at hand, to do something that is not remembered. */
static PmuPipeline *pipeline_at_hand(PmuTiming *t)
{
    PmuPipeline *p = &t->pipeline;

    /* It can have come back to that state by known ways, but later. */
    if (t->state && (t->state != t->at_hand || p->cycle != t->cycle)) {
        p->cycle = t->cycle;
        pmu_state_restore(p, t->state);
    }
    t->state = NULL;
    t->at_hand = NULL;
    return p;
}

/* Enter what the pipeline itself did since the last time. */
static void enter_delta(PmuTiming *t)
{
    PmuLevel level = t->ledger->level;
    uint32_t *item = t->pipeline.delta.item;

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        t->ledger->slots[level][i] += item[i];
    }
    for (unsigned i = PMU_ITEM_INSTRUCTIONS; i < PMU_ITEM_NR; i++) {
        t->ledger->event[level][i] += item[i];
    }
    memset(item, 0, sizeof(t->pipeline.delta));
    t->unentered = 0;
}

/* No item of a delta can have grown out of its 32 bits by then. */
#define MAX_UNENTERED (1u << 28)

/* The pipeline went on by itself from @clock, retiring @instructions. */
static inline void went_on(PmuTiming *t, uint64_t clock, unsigned instructions)
{
    uint64_t progress = pmu_pipeline_clock(&t->pipeline) - clock +
                        instructions;

    t->cycle = t->pipeline.cycle;
    t->progress += progress;
    t->unentered += progress;
    if (G_UNLIKELY(t->unentered > MAX_UNENTERED)) {
        enter_delta(t);
    }
}

static void forget_all(PmuTiming *t)
{
    pipeline_at_hand(t);
    pmu_memo_fold(t->memo, t->ledger);
    pmu_memo_clear(t->memo);
    t->forgotten++;
}

/* The state that the pipeline at hand is in, or NULL. */
static PmuState *recognize(PmuTiming *t)
{
    if (pmu_memo_full(t->memo)) {
        forget_all(t);
    }
    t->state = pmu_memo_state(t->memo, &t->pipeline);
    t->at_hand = t->state;
    return t->state;
}

void pmu_timing_flush(PmuTiming *t)
{
    uint32_t slot = t->pipeline.slot;
    uint64_t history = t->pipeline.history;

    if (t->state && t->state != t->at_hand) {
        pmu_state_clock(t->state, &slot, &history);
    }
    enter_delta(t);
    pmu_memo_fold(t->memo, t->ledger);
    t->ledger->open = slot;
    t->ledger->history = history;
}

void pmu_timing_remember(PmuTiming *t, bool remember)
{
    pipeline_at_hand(t);
    t->remember = remember;
    t->pause = !remember;
    t->pipeline.report = !remember;
}

uint64_t pmu_timing_clock(const PmuTiming *t)
{
    uint32_t slot = t->pipeline.slot;
    uint64_t history;

    if (t->state && t->state != t->at_hand) {
        pmu_state_clock(t->state, &slot, &history);
    }
    return (t->cycle - PMU_FIRST_CYCLE) * t->uarch->width + slot;
}

void pmu_timing_ports(const PmuTiming *t, uint64_t dispatched[PMU_MAX_PORTS])
{
    memcpy(dispatched, t->pipeline.dispatched,
           sizeof(t->pipeline.dispatched));
}

void pmu_timing_stats(const PmuTiming *t, PmuTimingStats *stats)
{
    *stats = (PmuTimingStats) {
        .known = t->known, .computed = t->computed,
        .forgotten = t->forgotten,
    };
    pmu_memo_stats(t->memo, &stats->states, &stats->transitions,
                   &stats->bytes);
    stats->bytes += sizeof(*t);
}

void pmu_timing_reset(PmuTiming *t)
{
    pmu_memo_clear(t->memo);
    memset(&t->pipeline.delta, 0, sizeof(t->pipeline.delta));
    t->unentered = 0;
    t->state = NULL;
    t->at_hand = NULL;
    t->pipeline.cycle = t->cycle;
    pmu_pipeline_reset(&t->pipeline, t->ledger->open, t->ledger->history);
    pmu_memory_reset(&t->mem);
    pmu_fetcher_reset(&t->fetcher);
    pmu_bpred_reset(t->bpred);
    t->string = (PmuString) {};
}

void pmu_timing_flush_mappings(PmuTiming *t, uint64_t linear)
{
    pmu_memory_flush_mappings(&t->mem, linear);
}

/* Go on at @level: hardware drains the pipeline, an open cycle is lost. */
static void change_level(PmuTiming *t, PmuLevel level)
{
    PmuPipeline *p = pipeline_at_hand(t);
    uint64_t clock = pmu_pipeline_clock(p);

    pmu_pipeline_close_cycle(p);
    went_on(t, clock, 0);
    enter_delta(t);
    t->ledger->level = level;
    t->ledger->open = 0;
}

void pmu_timing_interrupt(PmuTiming *t)
{
    pmu_pipeline_interrupt(pipeline_at_hand(t));
    pmu_fetcher_restart(&t->fetcher);
    t->string.active = false;
}

/* Outcomes. */

/* The next part of a signature. */
static uint64_t mix(uint64_t signature, uint64_t value)
{
    signature = (signature ^ value) * 0x9e3779b97f4a7c15ull;
    return signature ^ signature >> 32;
}

static bool is_plain(const PmuAccess *access)
{
    static const PmuAccess plain;

    return !memcmp(access, &plain, sizeof(plain));
}

static uint64_t mix_access(uint64_t signature, const PmuAccess *access)
{
    uint64_t value;

    G_STATIC_ASSERT(sizeof(*access) == sizeof(value));
    memcpy(&value, access, sizeof(value));
    return mix(signature, value);
}

/* Stores and misses that may still matter to the block at hand. */
typedef struct Horizon {
    uint32_t stores;            /* newest stores, those in the block included */
    uint64_t prefetches;        /* those with higher numbers */
    uint64_t line;              /* that the newest store went to */
    uint64_t signature;
} Horizon;

/* A line that the prefetcher asked for long ago is there. */
static void settle_prefetch(const Horizon *h, const PmuMemory *mem,
                            PmuAccess *access)
{
    if (access->source == PMU_FROM_PREFETCH &&
        mem->prefetches - access->prefetch <= h->prefetches) {
        access->source = PMU_FROM_L2;
        access->prefetch = 0;
    }
}

/* Data access @i at @addr is not plain, or may not be. */
static G_GNUC_NO_INLINE void special_access(PmuTiming *t, Horizon *h,
                                            unsigned i, uint64_t addr,
                                            const PmuBlockAccess *kind,
                                            uint32_t store)
{
    PmuOutcome *o = &t->outcome;
    PmuAccess access[2] = {};
    unsigned lines = pmu_memory_data(&t->mem, addr, kind->size, access);

    settle_prefetch(h, &t->mem, &access[0]);
    access[0].store = store & (PMU_FORWARD_BLOCKED - 1);
    access[0].blocked = !!(store & PMU_FORWARD_BLOCKED);
    if (lines == 1 && is_plain(&access[0])) {
        return;
    }
    o->access[i] = access[0];
    o->special |= 1ull << i;
    h->signature = mix_access(mix(h->signature, i + 1), &access[0]);
    if (lines == 2) {
        settle_prefetch(h, &t->mem, &access[1]);
        o->second[i] = access[1];
        o->split |= 1ull << i;
        h->signature = mix_access(h->signature, &access[1]);
    }
}

static inline void observe_access(PmuTiming *t, Horizon *h, unsigned i,
                                  const PmuBlockAccess *kind, uint64_t addr)
{
    uint32_t store = 0;

    if (kind->load) {
        store = pmu_memory_forward(&t->mem, addr, kind->size);
        if ((store & (PMU_FORWARD_BLOCKED - 1)) > h->stores) {
            /* That one's data are there, wherever from. */
            store = 0;
        }
    }
    if (G_UNLIKELY(store || !pmu_memory_hit(&t->mem, addr, kind->size)) &&
        (kind->load || kind->store)) {
        special_access(t, h, i, addr, kind, store);
    }
    if (kind->store) {
        uint64_t line = addr >> PMU_LINE_SHIFT;

        pmu_memory_note_store(&t->mem, addr, kind->size);
        t->outcome.same_line |= (uint64_t)(line == t->store_line) << i;
        t->store_line = line;
        h->stores++;
    }
}

/* The branch that ends @block: PMU_OUTCOME_x. */

static unsigned observe_cond(PmuTiming *t, uint64_t pc, bool taken)
{
    if (G_UNLIKELY(!pmu_bpred_cond(t->bpred, pc, taken))) {
        pmu_fetcher_restart(&t->fetcher);
        return PMU_OUTCOME_MISPREDICT | (taken ? PMU_OUTCOME_TAKEN : 0);
    }
    if (taken) {
        return pmu_fetcher_taken(&t->fetcher, pc, true);
    }
    pmu_fetcher_not_taken(&t->fetcher, pc);
    return 0;
}

static unsigned observe_other(PmuTiming *t, const PmuBlock *block,
                              uint64_t pc, const PmuDynamic *dynamic)
{
    const PmuInsn *insn = block->insns[block->num_insns - 1].insn;
    uint64_t next = pc + insn->length;
    bool hit = true, direct = false;

    if (insn->flags & PMU_INSN_LOW32) {
        next &= UINT32_MAX;
    }
    switch (insn->branch) {
    case PMU_BRANCH_JMP:
        direct = true;
        break;
    case PMU_BRANCH_CALL:
        direct = true;
        pmu_bpred_call(t->bpred, next);
        break;
    case PMU_BRANCH_JMP_INDIRECT:
        hit = pmu_bpred_indirect(t->bpred, pc, dynamic->target);
        break;
    case PMU_BRANCH_CALL_INDIRECT:
        hit = pmu_bpred_indirect(t->bpred, pc, dynamic->target);
        pmu_bpred_call(t->bpred, next);
        break;
    case PMU_BRANCH_RET:
        hit = pmu_bpred_ret(t->bpred, dynamic->target);
        break;
    default:
        pmu_fetcher_restart(&t->fetcher);
        return PMU_OUTCOME_TAKEN;
    }
    if (!hit) {
        pmu_fetcher_restart(&t->fetcher);
        return PMU_OUTCOME_TAKEN | PMU_OUTCOME_MISPREDICT;
    }
    return pmu_fetcher_taken(&t->fetcher, pc, direct);
}

static inline unsigned observe_branch(PmuTiming *t, const PmuBlock *block,
                                      const PmuDynamic *dynamic)
{
    uint64_t pc = dynamic->pc + block->insns[block->num_insns - 1].offset;

    if (block->branch == PMU_BRANCH_NONE) {
        return 0;
    }
    if (G_LIKELY(block->branch == PMU_BRANCH_COND)) {
        return observe_cond(t, pc, dynamic->taken);
    }
    return observe_other(t, block, pc, dynamic);
}

static inline Horizon observe_begin(PmuTiming *t, const PmuState *state)
{
    PmuOutcome *o = &t->outcome;

    o->branch = 0;
    o->continues = false;
    o->looping = t->fetcher.looping;
    o->legacy = 0;
    o->special = 0;
    o->split = 0;
    o->same_line = 0;
    if (G_LIKELY(state)) {
        pmu_memory_horizon(&t->mem, state->fills_live);
        return (Horizon) {
            .stores = state->stores_live,
            .prefetches = t->mem.prefetches - state->prefetches_live,
        };
    }
    pmu_memory_horizon(&t->mem, PMU_OUTCOME_FILLS);
    return (Horizon) {
        .stores = PMU_OUTCOME_STORES,
        .prefetches = t->mem.prefetches - MIN(t->mem.prefetches,
                                              PMU_OUTCOME_PREFETCHES),
    };
}

static inline uint64_t observe_end(const PmuTiming *t, const Horizon *h,
                                   const PmuBlock *block)
{
    const PmuOutcome *o = &t->outcome;
    uint64_t signature = h->signature;

    if (G_UNLIKELY(o->legacy)) {
        for (unsigned n = 0; n < block->num_segments; n++) {
            if (o->legacy >> n & 1) {
                signature = mix_access(mix(signature, n + 1), &o->code[n]);
            }
        }
    }
    signature += o->same_line * 0xc2b2ae3d27d4eb4full;
    return signature ^ (o->branch | o->continues << 4 | o->looping << 5 |
                        (uint64_t)o->legacy << 8);
}

/*
 * What happens to all of @block, in program order: in t->outcome.  Returns the
 * outcome's signature.  @state is the pipeline's, if it is known.
 */
static inline uint64_t observe_block(PmuTiming *t, const PmuBlock *block,
                                     const PmuDynamic *dynamic,
                                     const PmuState *state)
{
    Horizon h = observe_begin(t, state);
    unsigned access = 0;

    pmu_fetcher_begin(&t->fetcher, block, 0, block->num_insns);
    for (unsigned n = 0; n < block->num_segments; n++) {
        bool last = n + 1 == block->num_segments;
        unsigned end = last ? block->num_insns : block->segments[n + 1].first;
        unsigned end_access = last ? block->num_accesses
                                   : block->segments[n + 1].first_access;

        if (!t->outcome.looping) {
            pmu_fetcher_segment(&t->fetcher, block, n,
                                block->segments[n].first, end, dynamic->pc,
                                &t->outcome);
        }
        for (; access < end_access; access++) {
            observe_access(t, &h, access, &block->accesses[access],
                           dynamic->addr[access]);
        }
    }
    t->outcome.branch = observe_branch(t, block, dynamic);
    return observe_end(t, &h, block);
}

/* The same for instructions [@first, @last). */
static void observe_part(PmuTiming *t, const PmuBlock *block,
                         unsigned first, unsigned last,
                         const PmuDynamic *dynamic)
{
    Horizon h = observe_begin(t, NULL);

    pmu_fetcher_begin(&t->fetcher, block, first, last);
    for (unsigned n = 0; n < block->num_segments; n++) {
        unsigned from = MAX(first, block->segments[n].first);
        unsigned end = n + 1 < block->num_segments
                       ? MIN(last, block->segments[n + 1].first) : last;

        if (from >= end) {
            continue;
        }
        if (!t->outcome.looping) {
            pmu_fetcher_segment(&t->fetcher, block, n, from, end, dynamic->pc,
                                &t->outcome);
        }
        for (unsigned i = from; i < end; i++) {
            const PmuBlockInsn *bi = &block->insns[i];

            if (bi->insn->flags & PMU_INSN_REP) {
                continue;
            }
            if (bi->ea != PMU_NO_ACCESS) {
                observe_access(t, &h, bi->ea, &block->accesses[bi->ea],
                               dynamic->addr[bi->ea]);
            }
            if (bi->stack != PMU_NO_ACCESS) {
                observe_access(t, &h, bi->stack, &block->accesses[bi->stack],
                               dynamic->addr[bi->stack]);
            }
        }
    }
    if (last == block->num_insns) {
        t->outcome.branch = observe_branch(t, block, dynamic);
    }
}

/* Running. */

/* Let the pipeline itself run [@first, @last) of @block; the slots it took. */
static uint64_t compute_part(PmuTiming *t, const PmuBlock *block,
                             unsigned first, unsigned last)
{
    PmuPipeline *p = pipeline_at_hand(t);
    uint64_t clock = pmu_pipeline_clock(p);

    pmu_pipeline_run(p, block, first, last, &t->outcome);
    went_on(t, clock, last - first);
    t->computed++;
    return pmu_pipeline_clock(p) - clock;
}

/*
 * To learn a transition costs much more than to compute it, and pays only if
 * it is met again.  Where that is rare the model stops learning for a while.
 * Known transitions earn what new ones cost.
 */
#define LEARNING_COST   5
#define LEARNING_START  (64 * LEARNING_COST)
#define LEARNING_MOST   (1000 * LEARNING_COST)
#define PAUSE_BLOCKS    (1u << 16)

/* Another transition is unknown: go on learning? */
static bool worth_learning(PmuTiming *t)
{
    t->credit += t->known - t->known_then;
    t->credit = MIN(t->credit, LEARNING_MOST) - LEARNING_COST;
    t->known_then = t->known;
    if (t->credit < 0) {
        t->credit = LEARNING_START;
        t->pause = PAUSE_BLOCKS;
        return false;
    }
    return true;
}

/* From @from a transition by @block leads that is not known. */
static G_GNUC_NO_INLINE void learn(PmuTiming *t, const PmuBlock *block,
                                   PmuState *from, uint64_t signature)
{
    uint64_t cycle = t->cycle, forgotten = t->forgotten, slots;
    PmuDelta delta;
    PmuState *to;

    pipeline_at_hand(t);
    if (!from || !worth_learning(t)) {
        compute_part(t, block, 0, block->num_insns);
        return;
    }
    enter_delta(t);
    slots = compute_part(t, block, 0, block->num_insns);
    delta = t->pipeline.delta;
    to = recognize(t);
    if (to && t->forgotten == forgotten) {
        pmu_memo_add(t->memo, block, from, signature, to, &delta,
                     t->cycle - cycle, slots);
    }
}

static inline void run_block(PmuTiming *t, const PmuBlock *block,
                             const PmuDynamic *dynamic)
{
    PmuState *state = t->state ? t->state : recognize(t);
    uint64_t signature = observe_block(t, block, dynamic, state);
    PmuTransition *transition = NULL;

    if (G_LIKELY(state)) {
        transition = state->last;
        if (!transition || transition->block != block ||
            transition->signature != signature) {
            transition = pmu_memo_find(t->memo, block, state, signature);
        }
    }
    if (G_UNLIKELY(!transition)) {
        learn(t, block, state, signature);
        return;
    }
    state->last = transition;
    pmu_memo_count(t->memo, transition);
    t->known++;
    t->cycle += transition->cycles;
    t->progress += transition->progress;
    t->state = transition->to;
}

/* The same without looking for what is known. */
static inline void compute_block(PmuTiming *t, const PmuBlock *block,
                                 const PmuDynamic *dynamic)
{
    if (t->remember) {
        t->pause--;
    }
    observe_block(t, block, dynamic, NULL);
    compute_part(t, block, 0, block->num_insns);
}

static void run_part(PmuTiming *t, const PmuBlock *block,
                     unsigned first, unsigned last, const PmuDynamic *dynamic)
{
    if (block->insns[last - 1].insn->flags & PMU_INSN_REP) {
        if (first < last - 1) {
            run_part(t, block, first, last - 1, dynamic);
        }
        pmu_timing_run_string(t, block, last - 1, dynamic, true);
        return;
    }
    observe_part(t, block, first, last, dynamic);
    compute_part(t, block, first, last);
}

/* The block belongs to another level or code buffer than the last one. */
static G_GNUC_NO_INLINE void change_block(PmuTiming *t, const PmuBlock *block)
{
    if (block->level != t->ledger->level) {
        change_level(t, block->level);
    }
    if (block->generation != t->generation) {
        forget_all(t);
        t->generation = block->generation;
    }
}

static inline void prepare(PmuTiming *t, const PmuBlock *block)
{
    if (G_UNLIKELY(block->level != t->ledger->level ||
                   block->generation != t->generation)) {
        change_block(t, block);
    }
}

void pmu_timing_run(PmuTiming *t, const PmuBlock *block,
                    unsigned first, unsigned last, const PmuDynamic *dynamic)
{
    prepare(t, block);
    if (G_UNLIKELY(first || last != block->num_insns || block->rep)) {
        run_part(t, block, first, last, dynamic);
    } else if (G_LIKELY(!t->pause)) {
        run_block(t, block, dynamic);
    } else {
        compute_block(t, block, dynamic);
    }
}

void pmu_timing_string(PmuTiming *t, const PmuBlock *block,
                       unsigned index, const PmuDynamic *dynamic)
{
    prepare(t, block);
    pmu_timing_run_string(t, block, index, dynamic, false);
}

/* For string instructions: timing-internal.h. */

void pmu_timing_fetch_string(PmuTiming *t, const PmuBlock *block,
                             unsigned index, uint64_t pc)
{
    unsigned n = block->num_segments - 1;

    observe_begin(t, NULL);
    pmu_fetcher_begin(&t->fetcher, block, index, index + 1);
    if (!t->outcome.looping) {
        pmu_fetcher_segment(&t->fetcher, block, n, index, index + 1, pc,
                            &t->outcome);
    }
}

PmuPipeline *pmu_timing_take_pipeline(PmuTiming *t)
{
    return pipeline_at_hand(t);
}

void pmu_timing_give_pipeline(PmuTiming *t, uint64_t clock,
                              unsigned instructions)
{
    went_on(t, clock, instructions);
}
