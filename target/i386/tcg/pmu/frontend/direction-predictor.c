/*
 * Directions of conditional branches: TAGE, loops, branches that go one way.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/frontend/direction-predictor.h"

/*
 * States of a base entry.  From RUN_NOT to RUN_TAKEN they say how often in a
 * row the branch went a way, and are a counter of two bits: a run that ends
 * leaves it weak, and only the next outcome turns it over.  State STATES - n
 * is for one way what state n is for the other.
 */
enum {
    UNSEEN,                     /* predicted not taken */
    ALWAYS_NOT,
    RUN_NOT,                    /* so long that it decides alone */
    WEAK_NOT = 33,
    WEAK_TAKEN,
    RUN_TAKEN = 65,
    ALWAYS_TAKEN,
    STATES
};

/*
 * A tagged entry's state has in the low three bits a counter, taken from 4 on,
 * above it the entry's merit: it grows when it is right and the base is not.
 */
#define TAGE_TAKEN      4
#define TAGE_MERIT      8

/*
 * Merit of a new entry.  With none, two branches that want the same place
 * could throw each other out for ever.
 */
#define TAGE_NEW        TAGE_MERIT

/* What an outcome makes of a tagged entry, beside its new state. */
#define TAGE_RIGHT      0x80    /* it predicted that */
#define TAGE_DOUBTFUL   0x40    /* the base did not agree, and it is new */

/* Trips shorter than this are left to the history. */
#define LOOP_MIN        5
#define LOOP_CONFIDENT  3
#define LOOP_PATIENCE   3
#define TRUST_MAX       8

/* Bits of history that the tagged tables look at. */
static const uint8_t history_length[PMU_TAGE_TABLES] = { 10, 24, 64 };

/* The state after @state. */
static uint8_t next_state(uint8_t state, bool taken)
{
    if (taken) {
        return state >= WEAK_TAKEN ? MIN(state + 1, RUN_TAKEN)
             : state == WEAK_NOT ? WEAK_TAKEN : WEAK_NOT;
    }
    return state <= WEAK_NOT ? MAX(state - 1, RUN_NOT)
         : state == WEAK_TAKEN ? WEAK_NOT : WEAK_TAKEN;
}

/* What becomes of a tagged entry in @state: see PmuDirectionPredictor.train. */
static uint8_t train_state(uint8_t state, bool base, bool taken)
{
    int counter = state % TAGE_MERIT, merit = state / TAGE_MERIT;
    bool own = counter >= TAGE_TAKEN, right = own == taken;
    bool weak = counter == TAGE_TAKEN || counter == TAGE_TAKEN - 1;
    uint8_t result = right ? TAGE_RIGHT : 0;

    if (own != base) {
        if (weak && merit <= TAGE_NEW / TAGE_MERIT) {
            result |= TAGE_DOUBTFUL;
        }
        merit = CLAMP(merit + (right ? 1 : -1), 0, 3);
    }
    counter = CLAMP(counter + (taken ? 1 : -1), 0, 7);
    return result | merit * TAGE_MERIT | counter;
}

void pmu_direction_predictor_init(PmuDirectionPredictor *p,
                                  PmuBranchHistory *history,
                                  PmuSuccessorCache *successors)
{
    memset(p, 0, sizeof(*p));
    p->history = history;
    p->successors = successors;
    for (unsigned state = 0; state < STATES; state++) {
        p->next[false][state] = next_state(state, false);
        p->next[true][state] = next_state(state, true);
    }
    for (unsigned state = 0; state < PMU_TAGE_STATES; state++) {
        for (unsigned i = 0; i < 4; i++) {
            p->train[i & 1][i >> 1][state] = train_state(state, i >> 1, i & 1);
        }
    }
}

/* Where a branch falls in tagged table @table, and under which tag. */
static inline uint64_t tage_hash(uint64_t history, int table, uint64_t by_pc)
{
    return pmu_branch_mix(history << (64 - history_length[table])) ^ by_pc;
}

static inline PmuTageEntry *tage_entry(PmuDirectionPredictor *p, int table,
                                       uint64_t hash)
{
    return &p->tage[table][hash >> (64 - PMU_TAGE_BITS)];
}

static inline uint16_t tage_tag(uint64_t hash)
{
    return hash >> 32;
}

/* After a misprediction by table @provider (-1: base): use more history. */
static G_GNUC_NO_INLINE void tage_allocate(PmuDirectionPredictor *p,
                                           uint64_t by_pc,
                                           int provider, bool taken)
{
    for (int i = provider + 1; i < PMU_TAGE_TABLES; i++) {
        uint64_t hash = tage_hash(p->history->directions, i, by_pc);
        PmuTageEntry *entry = tage_entry(p, i, hash);

        if (entry->state < TAGE_MERIT) {
            entry->tag = tage_tag(hash);
            entry->state = TAGE_NEW + (taken ? TAGE_TAKEN : TAGE_TAKEN - 1);
            return;
        }
    }
    for (int i = provider + 1; i < PMU_TAGE_TABLES; i++) {
        tage_entry(p, i, tage_hash(p->history->directions, i, by_pc))->state -=
            TAGE_MERIT;
    }
}

/*
 * A new entry does not agree with the base, and was @right.  It counts only
 * while such entries do better: is what is predicted in the end right?
 */
static bool trust_new_entry(PmuDirectionPredictor *p, bool right)
{
    bool trusted = p->trust_new >= 0;

    p->trust_new += right ? p->trust_new < TRUST_MAX
                           : -(p->trust_new > -TRUST_MAX);
    return trusted == right;
}

static inline unsigned loop_index(uint64_t pc)
{
    return pc % (1u << PMU_LOOP_BITS);
}

/* The branch at @pc left a way that it went for a while: perhaps a loop. */
static void loop_allocate(PmuDirectionPredictor *p, uint64_t pc, bool taken)
{
    unsigned i = loop_index(pc);
    PmuLoopEntry *loop = &p->loop[i];

    if (loop->patience) {
        loop->patience--;
    } else {
        p->loop_pc[i] = pc;
        *loop = (PmuLoopEntry) { .taken = !taken, .patience = LOOP_PATIENCE };
    }
}

/* Loop @loop made a trip, or ended: may it be one still? */
static inline bool train_loop(PmuLoopEntry *loop, bool taken)
{
    uint32_t trips = loop->trips;

    if (taken == loop->taken) {
        loop->count++;
        return !trips || loop->count <= trips;
    }
    loop->trips = loop->count;
    loop->count = 0;
    if (loop->trips == trips && trips) {
        loop->confidence += loop->confidence < LOOP_CONFIDENT;
        loop->patience = LOOP_PATIENCE;
        return true;
    }
    /* The first time measures it. */
    return !trips && loop->trips >= LOOP_MIN;
}

/* Table @table (-1: base in state @before) mispredicted the branch at @pc. */
static G_GNUC_NO_INLINE bool mispredicted(PmuDirectionPredictor *p, uint64_t pc,
                                          bool taken, uint8_t before,
                                          int table)
{
    uint64_t by_pc = pmu_branch_mix(pc);

    tage_allocate(p, by_pc, table, taken);
    if (before <= WEAK_NOT - LOOP_MIN || before >= WEAK_TAKEN + LOOP_MIN) {
        loop_allocate(p, pc, taken);
    }
    pmu_branch_history_add(p->history, by_pc, taken);
    return false;
}

/* The branch does not always go the same way: look up the longest match. */
static inline bool predict_by_match(PmuDirectionPredictor *p, uint64_t pc,
                                    bool taken, uint8_t *state)
{
    uint64_t by_pc = pmu_branch_mix(pc);
    uint8_t before = *state;
    bool base = before >= WEAK_TAKEN, right = base == taken;
    int table = PMU_TAGE_TABLES - 1;

    *state = p->next[taken][before];
#pragma GCC unroll 4
    for (; table >= 0; table--) {
        uint64_t hash = tage_hash(p->history->directions, table, by_pc);
        PmuTageEntry *entry = tage_entry(p, table, hash);

        if (entry->tag == tage_tag(hash)) {
            uint8_t result = p->train[taken][base][entry->state];

            entry->state = result % PMU_TAGE_STATES;
            right = result & TAGE_RIGHT;
            if (G_UNLIKELY(result & TAGE_DOUBTFUL)) {
                right = trust_new_entry(p, right);
            }
            break;
        }
    }
    if (G_UNLIKELY(!right)) {
        return mispredicted(p, pc, taken, before, table);
    }
    pmu_branch_history_add(p->history, by_pc, taken);
    return true;
}

/* The same for one that the loop predictor knows: the loop may end here. */
static G_GNUC_NO_INLINE bool predict_loop_end(PmuDirectionPredictor *p,
                                              uint64_t pc,
                                              bool taken, uint8_t *state)
{
    unsigned i = loop_index(pc);
    PmuLoopEntry *loop = &p->loop[i];
    bool sure = loop->confidence == LOOP_CONFIDENT;
    bool expected = loop->taken == (loop->count < loop->trips);
    bool right;

    if (!train_loop(loop, taken)) {
        p->loop_pc[i] = 0;
        loop->patience = 0;
    }
    if (sure) {
        if (expected == taken) {
            pmu_branch_history_add(p->history, pmu_branch_mix(pc), taken);
            return true;
        }
        return mispredicted(p, pc, taken, WEAK_NOT, PMU_TAGE_TABLES - 1);
    }
    right = predict_by_match(p, pc, taken, state);
    /* No run decides alone while the loop is being learnt. */
    *state = CLAMP(*state, RUN_NOT + 1, RUN_TAKEN - 1);
    return right;
}

static G_GNUC_NO_INLINE bool predict_by_loop(PmuDirectionPredictor *p,
                                             uint64_t pc,
                                             bool taken, uint8_t *state)
{
    PmuLoopEntry *loop = &p->loop[loop_index(pc)];

    if (loop->confidence == LOOP_CONFIDENT && taken == loop->taken &&
        loop->count < loop->trips) {
        loop->count++;
        pmu_branch_history_add(p->history, pmu_branch_mix(pc), taken);
        return true;
    }
    return predict_loop_end(p, pc, taken, state);
}

static G_GNUC_NO_INLINE bool predict_by_history(PmuDirectionPredictor *p,
                                                uint64_t pc,
                                                bool taken, uint8_t *state)
{
    return G_LIKELY(p->loop_pc[loop_index(pc)] != pc)
           ? predict_by_match(p, pc, taken, state)
           : predict_by_loop(p, pc, taken, state);
}

/* The base decides alone; @state is its entry. */
static G_GNUC_NO_INLINE bool predict_by_base(PmuDirectionPredictor *p,
                                             uint64_t pc,
                                             bool taken, uint8_t *state)
{
    uint8_t before = *state;

    if (before == UNSEEN) {
        *state = taken ? ALWAYS_TAKEN : ALWAYS_NOT;
        return !taken;
    }
    if (before == (taken ? RUN_TAKEN : RUN_NOT)) {
        pmu_branch_history_add(p->history, pmu_branch_mix(pc), taken);
        return true;
    }
    *state = p->next[taken][before];
    pmu_successor_cache_clear_entry(p->successors, state - p->base);
    return mispredicted(p, pc, taken, before, -1);
}

/* The base entry of the branch at @pc. */
static inline unsigned base_index(uint64_t pc)
{
    return (pc ^ (pc >> PMU_BASE_BITS)) % (1u << PMU_BASE_BITS);
}

/* The branch at @pc, whose base entry is @state, did not always go there. */
static inline bool predict_cond(PmuDirectionPredictor *p, uint64_t pc,
                                bool taken, uint8_t *state)
{
    return *state > RUN_NOT && *state < RUN_TAKEN
           ? predict_by_history(p, pc, taken, state)
           : predict_by_base(p, pc, taken, state);
}

bool pmu_direction_predictor_predict(PmuDirectionPredictor *p, uint64_t pc,
                                     bool taken)
{
    uint8_t *state = &p->base[base_index(pc)];

    return G_LIKELY(*state == (taken ? ALWAYS_TAKEN : ALWAYS_NOT)) ||
           predict_cond(p, pc, taken, state);
}

bool pmu_direction_predictor_predict_block(PmuDirectionPredictor *p,
                                           uint32_t number, uint64_t pc,
                                           bool taken, uint64_t target)
{
    unsigned i = base_index(pc);
    uint8_t *state = &p->base[i];

    if (*state == (taken ? ALWAYS_TAKEN : ALWAYS_NOT)) {
        pmu_successor_cache_set(p->successors, number, i, target);
        return true;
    }
    p->successors->successors[number] = PMU_NO_SUCCESSOR;
    return predict_cond(p, pc, taken, state);
}
