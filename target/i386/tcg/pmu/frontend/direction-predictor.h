/*
 * Predictor of the direction of conditional branches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Intel does not publish its predictors; what experiments found is TAGE
 * (Seznec and Michaud, "A case for (partially) tagged geometric history length
 * branch prediction", JILP 2006): a table by address, and tagged ones of 512
 * sets of four ways by histories of 18, 34, 66 and 194 taken branches
 * (Yavarzadeh et al., "Half&Half", IEEE S&P 2023, and Chen's experiments on it;
 * Golden Cove has the same histories).  There is no loop predictor: a loop's
 * exit is predicted as far as the history reaches.
 */

#ifndef TARGET_I386_PMU_FRONTEND_DIRECTION_PREDICTOR_H
#define TARGET_I386_PMU_FRONTEND_DIRECTION_PREDICTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/frontend/branch-history.h"

#define PMU_BASE_BITS       14
#define PMU_TAGE_TABLES     4
#define PMU_TAGE_SET_BITS   9
#define PMU_TAGE_WAYS       4
#define PMU_TAGE_TAG_BITS   16      /* the lowest is 1 in all that are in use */

/* States of a tagged entry: see direction-predictor.c. */
#define PMU_TAGE_STATES     32

/*
 * States of a base entry: a counter of two bits, and states for branches that
 * have only gone one way.
 */
enum {
    PMU_DIRECTION_UNSEEN,       /* predicted not taken */
    PMU_DIRECTION_ALWAYS_NOT,
    PMU_DIRECTION_STRONG_NOT,
    PMU_DIRECTION_WEAK_NOT,
    PMU_DIRECTION_WEAK_TAKEN,
    PMU_DIRECTION_STRONG_TAKEN,
    PMU_DIRECTION_ALWAYS_TAKEN
};

/* The table by address alone. */
typedef struct PmuDirectionBase {
    uint8_t state[1 << PMU_BASE_BITS];
} PmuDirectionBase;

typedef struct PmuTageSet {
    uint64_t tags;              /* way 0 in the lowest bits */
    uint8_t state[PMU_TAGE_WAYS];
} PmuTageSet;

typedef struct PmuDirectionPredictor {
    const PmuBranchHistory *history;
    PmuDirectionBase base;
    int32_t trust_new;          /* 0 or more: a new entry overrides the base */
    /* train_state() by outcome, the base's prediction and the old state. */
    uint8_t train[2][2][PMU_TAGE_STATES];
    uint64_t factor[PMU_TAGE_TABLES];   /* see pmu_branch_history_hash() */
    PmuTageSet tage[PMU_TAGE_TABLES][1 << PMU_TAGE_SET_BITS];
} PmuDirectionPredictor;

/* Initialise an untrained predictor, which looks up by @history. */
void pmu_direction_predictor_init(PmuDirectionPredictor *p,
                                  const PmuBranchHistory *history);

/* The base entry of the branch at @pc. */
static inline unsigned pmu_direction_index(uint64_t pc)
{
    return (pc ^ (pc >> PMU_BASE_BITS)) % (1u << PMU_BASE_BITS);
}

/*
 * The conditional branch at @pc went @taken.  Have all branches so far that
 * share its base entry, at least one, gone the same way?  Then this was
 * predicted, and there is nothing to be learnt from it.  Hot.
 */
static inline bool pmu_direction_is_constant(const PmuDirectionBase *base,
                                             uint64_t pc, bool taken)
{
    return base->state[pmu_direction_index(pc)] ==
           (taken ? PMU_DIRECTION_ALWAYS_TAKEN : PMU_DIRECTION_ALWAYS_NOT);
}

/*
 * The conditional branch at @pc, which is not pmu_direction_is_constant(), went
 * @taken: was that predicted?  The predictor learns from it.
 */
bool pmu_direction_predictor_train(PmuDirectionPredictor *p, uint64_t pc,
                                   bool taken);

/*
 * The same for any conditional branch.  The caller adds the branch to the
 * history.
 */
static inline bool pmu_direction_predictor_predict(PmuDirectionPredictor *p,
                                                   uint64_t pc, bool taken)
{
    return __builtin_expect(pmu_direction_is_constant(&p->base, pc, taken),
                            1) ||
           pmu_direction_predictor_train(p, pc, taken);
}

#endif
