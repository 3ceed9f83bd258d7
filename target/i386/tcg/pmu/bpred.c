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
 * indirect branch predictor", CBP 2011).
 */

#include <glib.h>
#include <string.h>

#include "bpred.h"
#include "cache.h"

#define BIMODAL_BITS    13
#define TAGE_TABLES     4
#define TAGE_BITS       11
#define INDIRECT_BITS   10

typedef struct TageEntry {
    uint16_t tag;
    int8_t counter;             /* -4 to 3, taken from 0 on */
    uint8_t useful;             /* 0 to 3 */
} TageEntry;

typedef struct IndirectEntry {
    uint64_t tag;
    uint64_t target;
    uint32_t confidence;        /* 0 to 3 */
} IndirectEntry;

struct PmuBpred {
    uint64_t history;           /* directions, newest lowest */
    uint64_t path;              /* targets of indirect branches */
    uint8_t bimodal[1 << BIMODAL_BITS];         /* 0 to 3, taken from 2 on */
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
    memset(bp->bimodal, 1, sizeof(bp->bimodal));
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

static inline void train_bimodal(uint8_t *counter, bool taken)
{
    if (taken) {
        *counter += *counter < 3;
    } else {
        *counter -= *counter > 0;
    }
}

/* After a misprediction by table @provider (-1: bimodal): use more history. */
static void tage_allocate(TageEntry **entry, const uint16_t *tag, int provider,
                          bool taken)
{
    for (int i = provider + 1; i < TAGE_TABLES; i++) {
        if (!entry[i]->useful) {
            entry[i]->tag = tag[i];
            entry[i]->counter = taken ? 0 : -1;
            return;
        }
    }
    for (int i = provider + 1; i < TAGE_TABLES; i++) {
        entry[i]->useful--;
    }
}

bool pmu_bpred_cond(PmuBpred *bp, uint64_t pc, bool taken)
{
    uint8_t *base = &bp->bimodal[(pc ^ (pc >> BIMODAL_BITS)) &
                                 ((1 << BIMODAL_BITS) - 1)];
    TageEntry *entry[TAGE_TABLES];
    uint16_t tag[TAGE_TABLES];
    bool prediction = *base >= 2, alternative = prediction;
    int provider = -1;

    for (int i = 0; i < TAGE_TABLES; i++) {
        uint64_t hash = mix((bp->history & history_mask[i]) * 3 + i);

        hash = mix(hash ^ (hash >> 29) ^ pc);
        entry[i] = &bp->tage[i][hash >> (64 - TAGE_BITS)];
        /* Never 0, which an empty entry has. */
        tag[i] = ((hash >> 32) & 0xfff) | 0x1000;
        if (entry[i]->tag == tag[i]) {
            alternative = prediction;
            prediction = entry[i]->counter >= 0;
            provider = i;
        }
    }

    if (provider >= 0) {
        TageEntry *used = entry[provider];

        train_tagged(used, taken);
        if (prediction != alternative) {
            if (prediction == taken) {
                used->useful += used->useful < 3;
            } else {
                used->useful -= used->useful > 0;
            }
        }
    } else {
        train_bimodal(base, taken);
    }
    if (prediction != taken) {
        tage_allocate(entry, tag, provider, taken);
    }
    bp->history = (bp->history << 1) | taken;
    return prediction == taken;
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
    if (pmu_cache_lookup(&bp->btb, pc)) {
        return true;
    }
    pmu_cache_insert(&bp->btb, pc);
    return false;
}
