/*
 * Directions of conditional branches: TAGE, branches that go one way.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/frontend/direction-predictor.h"

/*
 * A tagged entry's state has in the low three bits a counter, taken from 4 on,
 * above it the entry's merit: it grows when it is right and the base is not,
 * and falls the other way round, and if others find no place.
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

#define TRUST_MAX       8

/* Taken branches that the tagged tables look back on. */
static const uint8_t history_length[PMU_TAGE_TABLES] = { 18, 34, 66, 194 };

/* The state after @state of a branch that went both ways. */
static inline uint8_t next_state(uint8_t state, bool taken)
{
    return taken ? MIN(state + 1, PMU_DIRECTION_STRONG_TAKEN)
                 : MAX(state - 1, PMU_DIRECTION_STRONG_NOT);
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
                                  const PmuBranchHistory *history)
{
    memset(p, 0, sizeof(*p));
    p->history = history;
    for (unsigned i = 0; i < PMU_TAGE_TABLES; i++) {
        p->factor[i] = pmu_branch_history_factor(history_length[i]);
    }
    for (unsigned state = 0; state < PMU_TAGE_STATES; state++) {
        for (unsigned i = 0; i < 4; i++) {
            p->train[i & 1][i >> 1][state] = train_state(state, i >> 1, i & 1);
        }
    }
}

/*
 * Where the branch whose hash is @by_pc falls in tagged table @table, and under
 * which tag.  Both hashes are products: their upper bits are mixed.
 */
static inline uint64_t tage_hash(const PmuDirectionPredictor *p, int table,
                                 uint64_t by_pc)
{
    return by_pc ^ pmu_branch_history_hash(p->history, history_length[table],
                                           p->factor[table]);
}

static inline PmuTageSet *tage_set(PmuDirectionPredictor *p, int table,
                                   uint64_t hash)
{
    return &p->tage[table][hash >> (64 - PMU_TAGE_SET_BITS)];
}

/* Odd: the tag of an empty way is 0. */
static inline uint16_t tage_tag(uint64_t hash)
{
    return hash >> 32 | 1;
}

/*
 * 0 if no way of @set has @tag; else the lowest bit that is set is the upper
 * one of the first that does (Knuth, TAOCP vol. 4A, 7.1.3).
 */
static inline uint64_t tage_ways(const PmuTageSet *set, uint16_t tag)
{
    const uint64_t ones = 0x0001000100010001ull;
    uint64_t differ = set->tags ^ tag * ones;

    return (differ - ones) & ~differ & ones << (PMU_TAGE_TAG_BITS - 1);
}

static inline void tage_set_tag(PmuTageSet *set, unsigned way, uint16_t tag)
{
    unsigned shift = way * PMU_TAGE_TAG_BITS;

    set->tags &= ~(0xffffull << shift);
    set->tags |= (uint64_t)tag << shift;
}

/* After a misprediction by table @provider (-1: base): use more history. */
static G_GNUC_NO_INLINE void tage_allocate(PmuDirectionPredictor *p,
                                           uint64_t by_pc,
                                           int provider, bool taken)
{
    PmuTageSet *sets[PMU_TAGE_TABLES];

    for (int i = provider + 1; i < PMU_TAGE_TABLES; i++) {
        uint64_t hash = tage_hash(p, i, by_pc);
        PmuTageSet *set = sets[i] = tage_set(p, i, hash);

        for (unsigned way = 0; way < PMU_TAGE_WAYS; way++) {
            if (set->state[way] < TAGE_MERIT) {
                tage_set_tag(set, way, tage_tag(hash));
                set->state[way] = TAGE_NEW +
                                  (taken ? TAGE_TAKEN : TAGE_TAKEN - 1);
                return;
            }
        }
    }
    for (int i = provider + 1; i < PMU_TAGE_TABLES; i++) {
        for (unsigned way = 0; way < PMU_TAGE_WAYS; way++) {
            sets[i]->state[way] -= TAGE_MERIT;
        }
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

/*
 * The branch does not always go the same way: look up the longest match.
 * @state is its base entry.
 */
static inline bool predict_by_match(PmuDirectionPredictor *p, uint64_t pc,
                                    bool taken, uint8_t *state)
{
    uint64_t by_pc = pmu_branch_mix(pc);
    bool base = *state >= PMU_DIRECTION_WEAK_TAKEN, right = base == taken;
    int table = PMU_TAGE_TABLES - 1;

    *state = next_state(*state, taken);
#pragma GCC unroll 4
    for (; table >= 0; table--) {
        uint64_t hash = tage_hash(p, table, by_pc);
        PmuTageSet *set = tage_set(p, table, hash);
        uint64_t ways = tage_ways(set, tage_tag(hash));

        if (ways) {
            unsigned way = __builtin_ctzll(ways) / PMU_TAGE_TAG_BITS;
            uint8_t *entry = &set->state[way];
            uint8_t result = p->train[taken][base][*entry];

            *entry = result % PMU_TAGE_STATES;
            right = result & TAGE_RIGHT;
            if (G_UNLIKELY(result & TAGE_DOUBTFUL)) {
                right = trust_new_entry(p, right);
            }
            break;
        }
    }
    if (G_UNLIKELY(!right)) {
        tage_allocate(p, by_pc, table, taken);
    }
    return right;
}

/* The branch whose base entry is @state ran for the first time. */
static bool predict_unseen(uint8_t *state, bool taken)
{
    *state = taken ? PMU_DIRECTION_ALWAYS_TAKEN : PMU_DIRECTION_ALWAYS_NOT;
    return !taken;
}

/* It goes the other way for the first time. */
static void end_always(uint8_t *state)
{
    *state = *state == PMU_DIRECTION_ALWAYS_TAKEN ? PMU_DIRECTION_STRONG_TAKEN
                                                  : PMU_DIRECTION_STRONG_NOT;
}

bool pmu_direction_predictor_train(PmuDirectionPredictor *p, uint64_t pc,
                                   bool taken)
{
    uint8_t *state = &p->base.state[pmu_direction_index(pc)];

    if (*state == PMU_DIRECTION_UNSEEN) {
        return predict_unseen(state, taken);
    }
    if (*state == PMU_DIRECTION_ALWAYS_NOT ||
        *state == PMU_DIRECTION_ALWAYS_TAKEN) {
        end_always(state);
    }
    return predict_by_match(p, pc, taken, state);
}
