/*
 * Transitions of the pipeline that are known already.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>
#include <string.h>

#include "memo.h"

/*
 * Both tables are open, with linear probing, and never more than half full.
 * What they refer to lives in chunks, which are only freed together.
 */
#define STATE_BITS      16
#define TRANSITION_BITS 18
#define MAX_STATES      (1u << (STATE_BITS - 1))
#define MAX_TRANSITIONS (1u << (TRANSITION_BITS - 1))

/* Room for all of it. */
#define CHUNK_SIZE      (256u << 10)
#define MAX_CHUNKS      128

typedef struct Entry {
    uint64_t hash;
    PmuTransition *transition;
} Entry;

struct PmuMemo {
    PmuState *states[1 << STATE_BITS];
    Entry transitions[1 << TRANSITION_BITS];
    size_t num_states, num_transitions;
    PmuTransition *counted;     /* those to be folded */
    uint8_t *chunk[MAX_CHUNKS];
    unsigned num_chunks;
    size_t chunk_used;          /* bytes of the newest one */
    PmuState *scratch;
};

PmuMemo *pmu_memo_new(void)
{
    PmuMemo *memo = g_try_new0(PmuMemo, 1);

    if (!memo) {
        return NULL;
    }
    memo->chunk_used = CHUNK_SIZE;
    memo->scratch = g_try_malloc(pmu_state_size(PMU_STATE_WORDS));
    if (!memo->scratch) {
        pmu_memo_free(memo);
        return NULL;
    }
    return memo;
}

static void free_chunks(PmuMemo *memo)
{
    for (unsigned i = 0; i < memo->num_chunks; i++) {
        g_free(memo->chunk[i]);
    }
    memo->num_chunks = 0;
    memo->chunk_used = CHUNK_SIZE;
}

void pmu_memo_free(PmuMemo *memo)
{
    if (memo) {
        free_chunks(memo);
        g_free(memo->scratch);
        g_free(memo);
    }
}

void pmu_memo_clear(PmuMemo *memo)
{
    free_chunks(memo);
    memset(memo->states, 0, sizeof(memo->states));
    memset(memo->transitions, 0, sizeof(memo->transitions));
    memo->num_states = 0;
    memo->num_transitions = 0;
    memo->counted = NULL;
}

bool pmu_memo_full(const PmuMemo *memo)
{
    return memo->num_states == MAX_STATES ||
           memo->num_transitions == MAX_TRANSITIONS ||
           memo->num_chunks == MAX_CHUNKS;
}

void pmu_memo_stats(const PmuMemo *memo, size_t *states, size_t *transitions,
                    size_t *bytes)
{
    *states = memo->num_states;
    *transitions = memo->num_transitions;
    *bytes = sizeof(*memo) + (size_t)memo->num_chunks * CHUNK_SIZE;
}

/* @size bytes, aligned for any object; NULL if there is no more room. */
static void *allocate(PmuMemo *memo, size_t size)
{
    uint8_t *place;

    size = (size + 15) & ~(size_t)15;
    if (memo->chunk_used + size > CHUNK_SIZE) {
        if (memo->num_chunks == MAX_CHUNKS) {
            return NULL;
        }
        memo->chunk[memo->num_chunks] = g_try_malloc(CHUNK_SIZE);
        if (!memo->chunk[memo->num_chunks]) {
            return NULL;
        }
        memo->num_chunks++;
        memo->chunk_used = 0;
    }
    place = memo->chunk[memo->num_chunks - 1] + memo->chunk_used;
    memo->chunk_used += size;
    return place;
}

static bool same_state(const PmuState *a, const PmuState *b)
{
    return a->hash == b->hash && a->length == b->length &&
           !memcmp(a->word, b->word, a->length * sizeof(a->word[0]));
}

PmuState *pmu_memo_state(PmuMemo *memo, PmuPipeline *p)
{
    PmuState *state = memo->scratch;
    size_t size;

    if (!pmu_state_take(p, state)) {
        return NULL;
    }
    for (size_t i = state->hash >> (64 - STATE_BITS);; i++) {
        PmuState **place = &memo->states[i % (1 << STATE_BITS)];

        if (*place && !same_state(*place, state)) {
            continue;
        }
        if (!*place && memo->num_states < MAX_STATES) {
            size = pmu_state_size(state->length);
            *place = allocate(memo, size);
            if (*place) {
                memcpy(*place, state, size);
                memo->num_states++;
            }
        }
        return *place;
    }
}

static uint64_t transition_hash(const PmuBlock *block, const PmuState *from,
                                uint64_t signature)
{
    uint64_t hash = (uintptr_t)block >> 3;

    hash = (hash ^ from->hash ^ signature * 0xff51afd7ed558ccdull) *
           0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 32;
}

PmuTransition *pmu_memo_find(PmuMemo *memo, const PmuBlock *block,
                             const PmuState *from, uint64_t signature)
{
    uint64_t hash = transition_hash(block, from, signature);

    for (size_t i = hash;; i++) {
        const Entry *entry = &memo->transitions[i % (1 << TRANSITION_BITS)];
        PmuTransition *transition = entry->transition;

        if (!transition) {
            return NULL;
        }
        if (entry->hash == hash && transition->block == block &&
            transition->from == from && transition->signature == signature) {
            return transition;
        }
    }
}

void pmu_memo_add(PmuMemo *memo, const PmuBlock *block, const PmuState *from,
                  uint64_t signature, PmuState *to, const PmuDelta *delta,
                  uint64_t cycles, uint64_t slots)
{
    uint64_t hash = transition_hash(block, from, signature);
    uint32_t num_items = 0;
    PmuTransition *transition;
    size_t i = hash;

    for (unsigned item = 0; item < PMU_ITEM_NR; item++) {
        if (delta->item[item] > UINT16_MAX) {
            return;
        }
        num_items += !!delta->item[item];
    }
    transition = allocate(memo, sizeof(*transition) +
                          num_items * sizeof(transition->items[0]));
    if (!transition || memo->num_transitions == MAX_TRANSITIONS) {
        return;
    }
    *transition = (PmuTransition) {
        .block = block, .from = from, .signature = signature, .to = to,
        .level = block->level, .cycles = cycles,
        .progress = slots + delta->item[PMU_ITEM_INSTRUCTIONS],
    };
    for (unsigned item = 0; item < PMU_ITEM_NR; item++) {
        if (delta->item[item]) {
            transition->items[transition->num_items++] = (PmuTransitionItem) {
                .item = item, .amount = delta->item[item],
            };
        }
    }
    while (memo->transitions[i % (1 << TRANSITION_BITS)].transition) {
        i++;
    }
    memo->transitions[i % (1 << TRANSITION_BITS)] = (Entry) {
        .hash = hash, .transition = transition,
    };
    memo->num_transitions++;
}

void pmu_memo_count_first(PmuMemo *memo, PmuTransition *transition)
{
    transition->next = memo->counted;
    memo->counted = transition;
}

static void fold(const PmuTransition *transition, PmuLedger *ledger)
{
    PmuLevel level = transition->level;
    uint64_t count = transition->count;

    for (unsigned i = 0; i < transition->num_items; i++) {
        PmuTransitionItem item = transition->items[i];

        if (item.item < PMU_SLOT_NR) {
            ledger->slots[level][item.item] += count * item.amount;
        } else {
            ledger->event[level][item.item] += count * item.amount;
        }
    }
}

void pmu_memo_fold(PmuMemo *memo, PmuLedger *ledger)
{
    for (PmuTransition *t = memo->counted; t; t = t->next) {
        fold(t, ledger);
        t->count = 0;
    }
    memo->counted = NULL;
}
