/*
 * Predictor of the direction of conditional branches: TAGE.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/frontend/direction-predictor.h"

/*
 * The state of a tagged entry has a counter in its low three bits, which
 * predicts taken from TAGE_TAKEN on.  Above is the entry's merit.  It grows
 * when the entry is right and the base is not; it falls when only the base is
 * right, and when other branches find no place.
 */
#define TAGE_TAKEN      4
#define TAGE_MERIT      8

/*
 * Merit of a new entry.  Without any, two branches that want the same place
 * could evict each other for ever.
 */
#define TAGE_NEW        TAGE_MERIT

/* What train_state() says of a tagged entry, beside its new state. */
#define TAGE_RIGHT      0x80    /* it predicted the outcome */
#define TAGE_DOUBTFUL   0x40    /* it is new, and the base did not agree */

/* Limit of PmuDirectionPredictor.trust_new, above and below 0. */
#define TRUST_MAX       8

/* Taken branches in the history of each tagged table. */
static const uint8_t history_length[PMU_TAGE_TABLES] = { 18, 34, 66, 194 };

/* The base state after @state, for a branch that has gone both ways. */
static inline uint8_t next_state(uint8_t state, bool taken)
{
    return taken ? MIN(state + 1, PMU_DIRECTION_STRONG_TAKEN)
                 : MAX(state - 1, PMU_DIRECTION_STRONG_NOT);
}

/*
 * The new state of a tagged entry in @state, with TAGE_RIGHT and TAGE_DOUBTFUL,
 * when the base predicted @base and the branch went @taken.
 */
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
 * The hash that gives the set and the tag, in tagged table @table, of the
 * branch whose hash is @by_pc.  It combines two products, whose upper bits are
 * mixed.
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

/* Tags are odd, as the tag of an empty way is 0. */
static inline uint16_t tage_tag(uint64_t hash)
{
    return hash >> 32 | 1;
}

/*
 * 0 if no way of @set has @tag.  Otherwise the lowest bit that is set is the
 * top bit of the first way that has it (Knuth, TAOCP vol. 4A, 7.1.3).
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

/*
 * Table @provider (-1: the base) predicted wrongly: give the branch an entry in
 * a table of more history.  If there is no place, entries there lose merit.
 */
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
 * A new entry did not agree with the base, and was @right or not.  It overrides
 * the base only while such entries do better.  Returns whether the prediction
 * that this gives was right.
 */
static bool trust_new_entry(PmuDirectionPredictor *p, bool right)
{
    bool trusted = p->trust_new >= 0;

    p->trust_new += right ? p->trust_new < TRUST_MAX
                           : -(p->trust_new > -TRUST_MAX);
    return trusted == right;
}

/*
 * Predict a branch that has gone both ways, by the longest history that
 * matches, and train.  @state is its base entry.  Was the prediction right?
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

/* A branch ran for the first time, with base entry @state. */
static bool predict_unseen(uint8_t *state, bool taken)
{
    *state = taken ? PMU_DIRECTION_ALWAYS_TAKEN : PMU_DIRECTION_ALWAYS_NOT;
    return !taken;
}

/* A branch with base entry @state goes the other way for the first time. */
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
