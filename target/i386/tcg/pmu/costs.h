/*
 * What stretches of code cost, as far as they were watched.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: plain C.  A stretch is what runs from behind a
 * branch to the next one, and may end before that (PmuBlock.ends); its key says
 * which instructions these are.  Its cost
 * is the mean of what it took when watched: stratified sampling, the strata
 * being the keys (Wunderlich et al., "SMARTS: Accelerating microarchitecture
 * simulation via rigorous statistical sampling", ISCA 2003; Cochran, "Sampling
 * Techniques", ch. 5).  What is known about each stretch that was not watched,
 * how long its data took to come and from where, and what was mispredicted,
 * corrects that: a regression estimator (Cochran, ch. 7).
 */

#ifndef TARGET_I386_PMU_COSTS_H
#define TARGET_I386_PMU_COSTS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#include "ledger.h"
#include "outcome.h"
#include "uarch.h"

/* What a stretch took is in groups, so that empty ones can be left out. */
#define PMU_SAMPLE_GROUP    PMU_INTEREST_GROUP

/*
 * Slots by PmuSlotClass, PmuKnown by PmuKnownItem, each in a group; and ledger
 * items from PMU_ITEM_SAMPLED on.
 */
enum {
    PMU_SAMPLE_KNOWN = PMU_SAMPLE_GROUP,
    PMU_SAMPLE_ITEMS = 2 * PMU_SAMPLE_GROUP,
    PMU_SAMPLE_NR = PMU_SAMPLE_ITEMS + PMU_ITEM_NR - PMU_ITEM_SAMPLED,
};

G_STATIC_ASSERT(PMU_SLOT_NR <= PMU_SAMPLE_GROUP);
G_STATIC_ASSERT(PMU_KNOWN_NR <= PMU_SAMPLE_GROUP);

#define PMU_SAMPLE_ROOM     ((PMU_SAMPLE_NR + PMU_SAMPLE_GROUP - 1) / \
                             PMU_SAMPLE_GROUP * PMU_SAMPLE_GROUP)

typedef struct PmuSample {
    uint32_t item[PMU_SAMPLE_ROOM];
} PmuSample;

/* Where ledger item @item, PMU_ITEM_SAMPLED or later, is in a sample. */
static inline unsigned pmu_sample_item(PmuLedgerItem item)
{
    return PMU_SAMPLE_ITEMS + item - PMU_ITEM_SAMPLED;
}

/* Slots, where they are whole numbers, are in units of 1/PMU_COST_ONE. */
#define PMU_COST_SHIFT  12
#define PMU_COST_ONE    (1u << PMU_COST_SHIFT)

/* What each stretch needs; the rest is in PmuCostMeans. */
typedef struct PmuCost {
    uint64_t key;               /* see PMU_COST_WEAK; 0: empty */
    uint32_t pending;           /* times counted, not in a tally yet */
    uint32_t slots;             /* the sum of the means that are slots */
} PmuCost;

/* More lines of a stretch than that are not remembered. */
#define PMU_COST_LINES 64

/*
 * Where a stretch lies: so many lines from @first on, physical address / 64;
 * and the linear address of its branch, or of its beginning if there is none.
 */
typedef struct PmuCostCode {
    uint64_t first;
    uint64_t branch;
    uint32_t lines;
    uint32_t dsb_uops;          /* room that it takes in the DSB */
    bool taken;                 /* ... which was, and was a direct one */
    bool large;                 /* in a page larger than 4 KiB */
} PmuCostCode;

/* What is looked at most of what is not needed for each stretch. */
typedef struct PmuCostUse {
    uint32_t epoch;             /* when it was needed last: see PmuCosts */
    uint32_t times;             /* counted in that epoch and settled */
    uint32_t insns;             /* of the stretch */
} PmuCostUse;

typedef struct PmuCostMeans {
    PmuCostCode code;           /* when last watched */
    uint32_t samples;           /* up to a limit */
    uint32_t changes;           /* PmuCosts.changes when last watched */
    uint32_t window;            /* PmuCosts.window when last watched */
    bool again;                 /* ... which was not the first time */
    uint32_t groups;            /* with a mean that is not 0: a bit each */
    float mean[PMU_SAMPLE_ROOM];
} PmuCostMeans;

G_STATIC_ASSERT(PMU_SAMPLE_ROOM / PMU_SAMPLE_GROUP <= 32);

/* Sums over watched stretches, old ones forgotten little by little. */
typedef struct PmuTypical {
    double insns;
    double item[PMU_SAMPLE_ROOM];
} PmuTypical;

/* What of a sample depends on PmuKnown: the first rows, and their number. */
enum {
    PMU_COSTS_MEMORY_BOUND,
    PMU_COSTS_CORE_BOUND,
    PMU_COSTS_BR_MISPREDICT,
    PMU_COSTS_DEPENDENT = 25
};

/* What was counted at a privilege level and not taken yet. */
typedef struct PmuTally {
    double sum[PMU_SAMPLE_ROOM];
    uint64_t unknown_insns;     /* of stretches of which nothing is known */
    PmuCodeMisses unknown_code; /* of these */
    PmuKnown known;
    double correction[PMU_COSTS_DEPENDENT];     /* still to be made */
} PmuTally;

/* What some samples were beyond their means, together. */
typedef struct PmuCostBatch {
    double known[PMU_KNOWN_NR];
    double took[PMU_COSTS_DEPENDENT];
    uint32_t samples;
} PmuCostBatch;

/*
 * The linear regression of something on what is known: sums of products over
 * batches, and the slope.
 */
typedef struct PmuCostFit {
    double known_known, known_took, took_took;
    double slope;
} PmuCostFit;

/*
 * Slots by PmuSlotClass: what they were, and what was foretold of them before;
 * and what was known beyond that.  Old ones are forgotten by half with each
 * window.
 */
typedef struct PmuCostTrial {
    double took[PMU_SLOT_NR], foretold[PMU_SLOT_NR];
    double known[PMU_KNOWN_NR];
} PmuCostTrial;

/* Sets of a few entries, each set a line of the host's cache. */
#define PMU_COST_SET_BITS   12
#define PMU_COST_WAYS       4
#define PMU_COST_ENTRIES    (PMU_COST_WAYS << PMU_COST_SET_BITS)

/* Entries, a bit each. */
typedef struct PmuCostSet {
    uint64_t word[PMU_COST_ENTRIES / 64];
} PmuCostSet;

typedef struct PmuCosts {
    PmuCost *entries;
    PmuCostUse *uses;           /* beside each entry */
    PmuCostMeans *means;        /* likewise */
    PmuCostSet dirty;           /* those with pending */
    PmuCostSet ran;             /* settled, and not seen: see_code() */
    PmuCostSet weak;            /* those of PMU_COST_WEAK */
    uint32_t samples;           /* so far */
    uint32_t epoch;             /* calls of pmu_costs_begin_epoch() so far */
    uint32_t changes;           /* calls of pmu_costs_doubt() */
    uint32_t window;            /* calls of pmu_costs_begin_window() */
    PmuCostTrial trial;         /* of what is learnt in windows */
    double waited, foretold;    /* in this epoch, in cycles */
    uint32_t weight;            /* of what is beyond what was foretold */
    uint32_t wanted;            /* groups that are tallied, a bit each */
    const PmuUarch *uarch;
    PmuTally tally[PMU_LEVEL_NR];
    PmuTypical typical;         /* stands for what is unknown */
    PmuCostBatch batch;
    double batches;             /* in fits, as far as they are remembered */
    PmuCostFit fit[PMU_COSTS_DEPENDENT];
} PmuCosts;

/* No costs are known of a core of @uarch.  False if memory runs out. */
bool pmu_costs_init(PmuCosts *costs, const PmuUarch *uarch);
void pmu_costs_destroy(PmuCosts *costs);

/*
 * @copy is @costs: what is counted or settled there does not show here.  It must
 * not learn, and is to be discarded before @costs learns.
 */
void pmu_costs_copy(PmuCosts *copy, const PmuCosts *costs);
void pmu_costs_discard(PmuCosts *copy);

/* Forget them, and what was counted. */
void pmu_costs_clear(PmuCosts *costs);

/* The set of @key; multiplicative hashing (Knuth). */
static inline PmuCost *pmu_costs_set(const PmuCosts *costs, uint64_t key)
{
    return &costs->entries[(key * 0x9e3779b97f4a7c15ull >>
                            (64 - PMU_COST_SET_BITS)) * PMU_COST_WAYS];
}

/*
 * A stretch's key is made of a hash of its instructions and of the level they
 * run at; it is not 0.
 */
static inline uint64_t pmu_costs_key(uint64_t hash, PmuLevel level)
{
    return (hash + 1) << 1 | level;
}

static inline PmuLevel pmu_costs_level(uint64_t key)
{
    return key & 1;
}

/* Turned over in the keys of entries that have not enough samples yet. */
#define PMU_COST_WEAK       (1ull << 63)

static inline PmuCost *pmu_costs_in_set(PmuCost *set, uint64_t key)
{
    unsigned way = 0;

    /* Which one it is cannot be foretold: no branches. */
    for (unsigned i = 1; i < PMU_COST_WAYS; i++) {
        way |= set[i].key == key ? i : 0;
    }
    return set[way].key == key ? &set[way] : NULL;
}

/* The cost of @key; NULL: it is not well known.  Hot. */
static inline PmuCost *pmu_costs_find(const PmuCosts *costs, uint64_t key)
{
    return pmu_costs_in_set(pmu_costs_set(costs, key), key);
}

/* The cost of @key if there are some samples of it, but not many. */
static inline PmuCost *pmu_costs_find_weak(const PmuCosts *costs,
                                           uint64_t key)
{
    return pmu_costs_in_set(pmu_costs_set(costs, key), key ^ PMU_COST_WEAK);
}

/* Either. */
static inline PmuCost *pmu_costs_find_any(const PmuCosts *costs, uint64_t key)
{
    PmuCost *cost = pmu_costs_find(costs, key);

    return cost ? cost : pmu_costs_find_weak(costs, key);
}

/*
 * @key, a stretch of @insns instructions at @code, took @sample.  0: what it
 * took is not typical of anything else.
 */
void pmu_costs_learn(PmuCosts *costs, uint64_t key, uint32_t insns,
                     PmuCostCode code, const PmuSample *sample);

/* Count @cost another @times times, more than 0.  Hot. */
static inline void pmu_costs_count_times(PmuCosts *costs, PmuCost *cost,
                                         uint32_t times)
{
    if (!cost->pending) {
        uint32_t n = cost - costs->entries;

        costs->dirty.word[n / 64] |= 1ull << n % 64;
    }
    cost->pending += times;
}

/* The same, once. */
static inline void pmu_costs_count(PmuCosts *costs, PmuCost *cost)
{
    pmu_costs_count_times(costs, cost, 1);
}

/* From now on tally slots and those items of PmuInterest.sampled @items. */
static inline void pmu_costs_want(PmuCosts *costs, uint32_t items)
{
    unsigned first = PMU_SAMPLE_ITEMS / PMU_SAMPLE_GROUP;

    costs->wanted = items << first | ((1u << first) - 1);
}

/*
 * What is known from now on, beyond what was foretold, stands for @weight times
 * as much.  0: nothing is known, and all is as foretold.  1 to begin with.
 * What was counted before is to be settled.
 */
static inline void pmu_costs_weigh(PmuCosts *costs, uint32_t weight)
{
    costs->weight = weight;
}

/* What is learnt from now on was watched together. */
void pmu_costs_begin_window(PmuCosts *costs);

/* What was foretold so far says nothing about what is now. */
static inline void pmu_costs_forget_trial(PmuCosts *costs)
{
    costs->trial = (PmuCostTrial) {};
}

/*
 * By how much of their slots, from 0 on, the newest windows were not as the
 * costs foretold: in the class that differs most.
 */
double pmu_costs_error(const PmuCosts *costs);

/* From now on pmu_costs_times() and pmu_costs_surprise() begin at 0. */
static inline void pmu_costs_begin_epoch(PmuCosts *costs)
{
    costs->epoch++;
    costs->waited = 0;
    costs->foretold = 0;
}

/*
 * By how many cycles waits of this epoch differ from what the costs foretold,
 * as far as that is settled, if they differ by half of it or more; else 0.
 */
static inline double pmu_costs_surprise(const PmuCosts *costs)
{
    double difference = costs->waited > costs->foretold
                        ? costs->waited - costs->foretold
                        : costs->foretold - costs->waited;

    return difference >= costs->foretold / 2 ? difference : 0;
}

/* Data are elsewhere now: what is found next weighs more than what was. */
static inline void pmu_costs_doubt(PmuCosts *costs)
{
    costs->changes++;
}

/*
 * How often @cost was counted in this epoch, whenever it was settled: that may
 * be for somebody who looks.
 */
static inline uint32_t pmu_costs_times(const PmuCosts *costs,
                                       const PmuCost *cost)
{
    const PmuCostUse *use = &costs->uses[cost - costs->entries];

    return cost->pending + (use->epoch == costs->epoch ? use->times : 0);
}

/* The most instructions of this epoch that one of weak cost makes up. */
uint64_t pmu_costs_most_weak(const PmuCosts *costs);

/*
 * Call @see for the code of each that was counted since the last time, as far
 * as that is settled.
 */
void pmu_costs_see_code(PmuCosts *costs,
                        void (*see)(const PmuCostCode *code, void *opaque),
                        void *opaque);

/* Enter what was counted into the tallies. */
void pmu_costs_settle(PmuCosts *costs);

/* Take whole numbers from @level's tally; fractions and PmuKnown stay. */
void pmu_costs_take(PmuCosts *costs, PmuLevel level,
                    uint64_t whole[PMU_SAMPLE_NR]);

/* 1/PMU_COST_ONE slots that another @wait cycles may make, about. */
static inline uint64_t pmu_costs_lost(const PmuCosts *costs, uint64_t wait)
{
    double slope = costs->fit[PMU_COSTS_MEMORY_BOUND].slope +
                   costs->fit[PMU_COSTS_CORE_BOUND].slope;

    return slope > 0 ? wait * slope * costs->weight * PMU_COST_ONE : 0;
}

/* The same for a misprediction. */
static inline uint64_t pmu_costs_mispredict(const PmuCosts *costs)
{
    return costs->fit[PMU_COSTS_BR_MISPREDICT].slope * costs->weight *
           PMU_COST_ONE;
}

#endif
