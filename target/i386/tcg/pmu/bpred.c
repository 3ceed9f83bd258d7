/*
 * Branch predictors: direction, indirect target, return stack, BTB.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.  Intel does not publish its predictors.  The
 * direction predictor here is a small TAGE (Seznec and Michaud, "A case for
 * (partially) tagged geometric history length branch prediction", JILP 2006):
 * a bimodal table and four tagged ones with growing history; the indirect one
 * has the same structure with two tables (Seznec, "A 64-Kbytes ITTAGE
 * indirect branch predictor", CBP 2011).  Branches that only ever went one way
 * need neither tables nor a place in the history (Gope and Lipasti, "Bias-free
 * branch predictor", MICRO 2014).
 */

#include <glib.h>
#include <string.h>

#include "bpred.h"
#include "cache.h"

#define BIMODAL_BITS    14
#define TAGE_TABLES     4
#define TAGE_BITS       11
#define INDIRECT_BITS   10

/* States of a bimodal entry. */
enum {
    UNSEEN,                     /* predicted not taken */
    ALWAYS_NOT,
    ALWAYS_TAKEN,
    COUNTER,                    /* the first of four, taken from the third */
};

#define COUNTER_TAKEN   (COUNTER + 2)
#define COUNTER_MAX     (COUNTER + 3)

typedef struct TageEntry {
    uint16_t tag;
    int8_t counter;             /* -4 to 3, taken from 0 on */
    uint8_t useful;             /* 0 to USEFUL_MAX */
} TageEntry;

#define USEFUL_MAX 3

typedef struct IndirectEntry {
    uint64_t tag;
    uint64_t target;
    uint32_t confidence;        /* 0 to 3 */
} IndirectEntry;

struct PmuBpred {
    uint64_t history;           /* directions, newest lowest */
    uint64_t path;              /* targets of indirect branches */
    uint8_t bimodal[1 << BIMODAL_BITS];
    TageEntry tage[TAGE_TABLES][1 << TAGE_BITS];
    IndirectEntry last_target[1 << INDIRECT_BITS];
    IndirectEntry path_target[1 << INDIRECT_BITS];
    uint64_t *stack;
    uint32_t stack_size, stack_top, stack_depth;
    PmuCache btb;
};

/* History lengths of the tagged tables: roughly geometric, to one word. */
static const uint64_t history_mask[TAGE_TABLES] = {
    (1ull << 6) - 1, (1ull << 14) - 1, (1ull << 30) - 1, ~0ull,
};

/* Multiplicative hash (Knuth); the upper bits of the product are mixed. */
static inline uint64_t mix(uint64_t value)
{
    return value * 0x9e3779b97f4a7c15ull;
}

PmuBpred *pmu_bpred_new(const PmuUarch *uarch)
{
    PmuBpred *bp = g_try_new0(PmuBpred, 1);

    if (!bp) {
        return NULL;
    }
    bp->stack_size = uarch->return_stack;
    bp->stack = g_try_new0(uint64_t, bp->stack_size);
    if (!bp->stack ||
        !pmu_cache_init(&bp->btb, uarch->btb_entries / uarch->btb_ways,
                        uarch->btb_ways, false)) {
        pmu_bpred_free(bp);
        return NULL;
    }
    pmu_bpred_reset(bp);
    return bp;
}

void pmu_bpred_free(PmuBpred *bp)
{
    if (bp) {
        pmu_cache_destroy(&bp->btb);
        g_free(bp->stack);
        g_free(bp);
    }
}

void pmu_bpred_reset(PmuBpred *bp)
{
    bp->history = 0;
    bp->path = 0;
    memset(bp->bimodal, UNSEEN, sizeof(bp->bimodal));
    memset(bp->tage, 0, sizeof(bp->tage));
    memset(bp->last_target, 0, sizeof(bp->last_target));
    memset(bp->path_target, 0, sizeof(bp->path_target));
    bp->stack_top = 0;
    bp->stack_depth = 0;
    pmu_cache_clear(&bp->btb);
}

static inline void train_tagged(TageEntry *entry, bool taken)
{
    if (taken) {
        entry->counter += entry->counter < 3;
    } else {
        entry->counter -= entry->counter > -4;
    }
}

static inline void train_bimodal(uint8_t *state, bool taken)
{
    if (taken) {
        *state += *state < COUNTER_MAX;
    } else {
        *state -= *state > COUNTER;
    }
}

/* Where a branch falls in tagged table @table, and under which tag. */
static inline uint64_t tage_hash(const PmuBpred *bp, int table, uint64_t by_pc)
{
    return mix((bp->history & history_mask[table]) + 1) ^ by_pc;
}

static inline TageEntry *tage_entry(PmuBpred *bp, int table, uint64_t hash)
{
    return &bp->tage[table][hash >> (64 - TAGE_BITS)];
}

/* Never 0, which an empty entry has. */
static inline uint16_t tage_tag(uint64_t hash)
{
    return ((hash >> 32) & 0xfff) | 0x1000;
}

/* After a misprediction by table @provider (-1: bimodal): use more history. */
static void tage_allocate(PmuBpred *bp, uint64_t by_pc, int provider,
                          bool taken)
{
    for (int i = provider + 1; i < TAGE_TABLES; i++) {
        uint64_t hash = tage_hash(bp, i, by_pc);
        TageEntry *entry = tage_entry(bp, i, hash);

        if (!entry->useful) {
            entry->tag = tage_tag(hash);
            entry->counter = taken ? 0 : -1;
            return;
        }
    }
    for (int i = provider + 1; i < TAGE_TABLES; i++) {
        tage_entry(bp, i, tage_hash(bp, i, by_pc))->useful--;
    }
}

/* The longest match among tables up to @from, its number in *@table or -1. */
static inline TageEntry *tage_find(PmuBpred *bp, uint64_t by_pc, int from,
                                   int *table)
{
    for (int i = from; i >= 0; i--) {
        uint64_t hash = tage_hash(bp, i, by_pc);
        TageEntry *entry = tage_entry(bp, i, hash);

        if (entry->tag == tage_tag(hash)) {
            *table = i;
            return entry;
        }
    }
    *table = -1;
    return NULL;
}

/*
 * Entry @used of table @provider is useful if it is right where the next
 * match, or without one the bimodal @fallback, is wrong.
 */
static void train_useful(PmuBpred *bp, TageEntry *used, uint64_t by_pc,
                         int provider, bool fallback, bool taken)
{
    bool prediction = used->counter >= 0, right = prediction == taken;
    const TageEntry *other;
    int next;

    if (used->useful == (right ? USEFUL_MAX : 0)) {
        return;
    }
    other = tage_find(bp, by_pc, provider - 1, &next);
    if (prediction != (other ? other->counter >= 0 : fallback)) {
        used->useful += right ? 1 : -1;
    }
}

/* The branch does not always go the same way. */
static G_GNUC_NO_INLINE bool predict_by_history(PmuBpred *bp, uint64_t pc,
                                                uint8_t *base, bool taken)
{
    uint64_t by_pc = mix(pc);
    bool prediction = *base >= COUNTER_TAKEN;
    int provider;
    TageEntry *used = tage_find(bp, by_pc, TAGE_TABLES - 1, &provider);

    if (used) {
        bool fallback = prediction;

        prediction = used->counter >= 0;
        train_useful(bp, used, by_pc, provider, fallback, taken);
        train_tagged(used, taken);
    } else {
        train_bimodal(base, taken);
    }
    if (prediction != taken) {
        tage_allocate(bp, by_pc, provider, taken);
    }
    bp->history = (bp->history << 1) | taken;
    return prediction == taken;
}

bool pmu_bpred_cond(PmuBpred *bp, uint64_t pc, bool taken)
{
    uint8_t *base = &bp->bimodal[(pc ^ (pc >> BIMODAL_BITS)) &
                                 ((1 << BIMODAL_BITS) - 1)];

    if (*base == (taken ? ALWAYS_TAKEN : ALWAYS_NOT)) {
        return true;
    }
    if (*base == UNSEEN) {
        *base = taken ? ALWAYS_TAKEN : ALWAYS_NOT;
        return !taken;
    }
    if (*base < COUNTER) {
        *base = taken ? COUNTER_TAKEN : COUNTER_TAKEN - 1;
        bp->history = (bp->history << 1) | taken;
        return false;
    }
    return predict_by_history(bp, pc, base, taken);
}

/* Move @entry towards @target for the branch that @tag names. */
static void train_indirect(IndirectEntry *entry, uint64_t tag, uint64_t target)
{
    if (entry->tag == tag && entry->target == target) {
        entry->confidence += entry->confidence < 3;
    } else if (entry->confidence) {
        entry->confidence--;
    } else {
        entry->tag = tag;
        entry->target = target;
    }
}

bool pmu_bpred_indirect(PmuBpred *bp, uint64_t pc, uint64_t target)
{
    uint64_t by_pc = mix(pc + 1);
    uint64_t by_path = mix(by_pc ^ mix(bp->path + 1) ^ mix(bp->history & 0xff));
    IndirectEntry *last = &bp->last_target[by_pc >> (64 - INDIRECT_BITS)];
    IndirectEntry *path = &bp->path_target[by_path >> (64 - INDIRECT_BITS)];
    bool hit;

    if (path->tag == by_path) {
        hit = path->target == target;
    } else {
        hit = last->tag == by_pc && last->target == target;
    }
    if (!hit || path->tag == by_path) {
        train_indirect(path, by_path, target);
    }
    train_indirect(last, by_pc, target);
    bp->path = (bp->path << 8) ^ (target >> 1);
    return hit;
}

void pmu_bpred_call(PmuBpred *bp, uint64_t next)
{
    bp->stack_top = bp->stack_top + 1 == bp->stack_size ? 0
                                                        : bp->stack_top + 1;
    bp->stack[bp->stack_top] = next;
    bp->stack_depth += bp->stack_depth < bp->stack_size;
}

bool pmu_bpred_ret(PmuBpred *bp, uint64_t target)
{
    bool hit;

    if (!bp->stack_depth) {
        return false;
    }
    hit = bp->stack[bp->stack_top] == target;
    bp->stack_top = bp->stack_top ? bp->stack_top - 1 : bp->stack_size - 1;
    bp->stack_depth--;
    return hit;
}

bool pmu_bpred_btb(PmuBpred *bp, uint64_t pc)
{
    return pmu_cache_access(&bp->btb, pc);
}
