/*
 * The CPI table: what regions of code cost, on average, in detailed simulation.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A region is what runs from behind a branch to the next one, and may end
 * before that (PmuBlock.ends_region); its key says which instructions these
 * are.  Its cost is the mean of what it took in detailed simulation: stratified
 * sampling, the strata being the keys (Wunderlich et al., "SMARTS: Accelerating
 * microarchitecture simulation via rigorous statistical sampling", ISCA 2003;
 * Cochran, "Sampling Techniques", ch. 5).  A difference estimator (Cochran,
 * 7.2) corrects the estimates for code that was observed without being
 * simulated in detail.  Of that the functional model knows how long data took
 * to come and from where, how long stores waited, and what was mispredicted.
 */

#ifndef TARGET_I386_PMU_SAMPLING_CPI_TABLE_H
#define TARGET_I386_PMU_SAMPLING_CPI_TABLE_H

#include "tcg/pmu/sampling/cpi-estimate.h"
#include "tcg/pmu/sampling/cpi-types.h"
#include "tcg/pmu/uarch/hash.h"

/* Create an empty table for a core of @uarch.  False if memory runs out. */
bool pmu_cpi_table_init(PmuCpiTable *table, const PmuUarch *uarch);

void pmu_cpi_table_destroy(PmuCpiTable *table);

/*
 * Make @copy a copy of @table.  Counting and settling in @copy leave @table as
 * it is, but both share the means: @copy must not learn, and the caller
 * discards it before @table learns.
 */
void pmu_cpi_table_copy(PmuCpiTable *copy, const PmuCpiTable *table);

void pmu_cpi_table_discard(PmuCpiTable *copy);

/* Forget all costs, and what was counted. */
void pmu_cpi_table_clear(PmuCpiTable *table);

/* The first entry of the set of @key; multiplicative hashing (Knuth). */
static inline PmuCpiEntry *pmu_cpi_table_set(const PmuCpiTable *table,
                                             uint64_t key)
{
    return &table->entries[(key * PMU_HASH_MULTIPLIER >>
                            (64 - PMU_CPI_SET_BITS)) * PMU_CPI_WAYS];
}

/*
 * The key of a region, which is not 0, from the hash of its instructions and
 * the level that they run at.
 */
static inline uint64_t pmu_cpi_table_key(uint64_t hash, PmuLevel level)
{
    return ((hash + 1) << 1 ?: 2) | level;
}

static inline PmuLevel pmu_cpi_table_level(uint64_t key)
{
    return key & 1;
}

/* The entry of @set whose key is exactly @key, or NULL. */
static inline PmuCpiEntry *pmu_cpi_table_in_set(PmuCpiEntry *set, uint64_t key)
{
    unsigned way = 0;

    /* No branches: the host could not predict which way it is. */
    for (unsigned i = 1; i < PMU_CPI_WAYS; i++) {
        way |= set[i].key == key ? i : 0;
    }
    return set[way].key == key ? &set[way] : NULL;
}

/* The entry of @key if its cost is well known, else NULL.  Hot. */
static inline PmuCpiEntry *pmu_cpi_table_find(const PmuCpiTable *table,
                                              uint64_t key)
{
    return pmu_cpi_table_in_set(pmu_cpi_table_set(table, key), key);
}

/* The entry of @key if it is of low confidence (few samples), else NULL. */
static inline PmuCpiEntry *pmu_cpi_table_find_low_confidence(
    const PmuCpiTable *table,
                                                             uint64_t key)
{
    return pmu_cpi_table_in_set(pmu_cpi_table_set(table, key),
                                key ^ PMU_CPI_LOW_CONFIDENCE);
}

/* Samples of @cost so far, as far as they are remembered: 1 or more. */
static inline uint32_t pmu_cpi_table_samples(const PmuCpiTable *table,
                                             const PmuCpiEntry *cost)
{
    return table->means[cost - table->entries].samples;
}

/* The entry of @key, of low confidence or not, or NULL. */
static inline PmuCpiEntry *pmu_cpi_table_find_any(const PmuCpiTable *table,
                                                  uint64_t key)
{
    PmuCpiEntry *cost = pmu_cpi_table_find(table, key);

    return cost ? cost : pmu_cpi_table_find_low_confidence(table, key);
}

/* Count another @times runs, more than 0, of the region of @cost.  Hot. */
static inline void pmu_cpi_table_count_times(PmuCpiTable *table,
                                             PmuCpiEntry *cost, uint32_t times)
{
    if (!cost->pending) {
        uint32_t n = cost - table->entries;

        table->dirty.word[n / 64] |= 1ull << n % 64;
    }
    cost->pending += times;
}

/* Count one run. */
static inline void pmu_cpi_table_count(PmuCpiTable *table, PmuCpiEntry *cost)
{
    pmu_cpi_table_count_times(table, cost, 1);
}

/*
 * From now on tally slots, covariates and the groups of ledger items in @items,
 * which is PmuInterest.sampled.
 */
static inline void pmu_cpi_table_want(PmuCpiTable *table, uint32_t items)
{
    unsigned first = PMU_SAMPLE_ITEMS / PMU_SAMPLE_GROUP;

    table->wanted = items << first | ((1u << first) - 1);
}

/*
 * Say whether waits and mispredictions of what is counted from now on are
 * observed.  In a new table they are.  If not, they are taken to be as
 * predicted, or fewer by the ratio in which the newest observed ones were
 * fewer; unknown code is taken to have none.  The caller settles before what
 * was counted so far: pmu_cpi_table_add_estimates().
 */
static inline void pmu_cpi_table_set_observed(PmuCpiTable *table,
                                              bool observed)
{
    table->observed = observed;
}

/* Forget how well means predicted samples so far: pmu_cpi_table_error(). */
static inline void pmu_cpi_table_forget_error(PmuCpiTable *table)
{
    table->prediction_error = (PmuPredictionError) {};
}

/*
 * Begin an epoch: pmu_cpi_table_times(), pmu_cpi_table_wait_error() and
 * @most_low_confidence start at 0 again, and older covariates weigh less.  No
 * run may be pending: the epoch in which it is settled is that of its use.
 */
void pmu_cpi_table_begin_epoch(PmuCpiTable *table);

/*
 * Cycles by which the waits of loads in this epoch, as far as they are settled,
 * differ from what the costs predicted.  0 if that is less than half of what
 * was predicted.
 */
static inline double pmu_cpi_table_wait_error(const PmuCpiTable *table)
{
    double difference = table->waited > table->predicted
                        ? table->waited - table->predicted
                        : table->predicted - table->waited;

    return difference >= table->predicted / 2 ? difference : 0;
}

/* Data are elsewhere in the caches now: new samples weigh more from now on. */
static inline void pmu_cpi_table_note_change(PmuCpiTable *table)
{
    table->changes++;
    table->observed_covariates = (PmuObservedCovariates) {};
}

/*
 * How often @cost was counted in this epoch, settled or not: reading counters
 * settles it, too.
 */
static inline uint32_t pmu_cpi_table_times(const PmuCpiTable *table,
                                           const PmuCpiEntry *cost)
{
    const PmuCpiUse *use = &table->uses[cost - table->entries];

    return cost->pending + (use->epoch == table->epoch ? use->times : 0);
}

/* @cost, of low confidence, was just counted: update @most_low_confidence. */
static inline void pmu_cpi_table_note_low_confidence(PmuCpiTable *table,
                                                     const PmuCpiEntry *cost)
{
    uint64_t insns = (uint64_t)table->uses[cost - table->entries].insns *
                     pmu_cpi_table_times(table, cost);

    table->most_low_confidence = MAX(table->most_low_confidence, insns);
}

/*
 * About how many slots are lost if loads and stores wait another @cycles, in
 * 1/PMU_CPI_ONE.  0 while nothing is observed.
 */
static inline uint64_t pmu_cpi_table_wait_slots(const PmuCpiTable *table,
                                                uint64_t cycles)
{
    return table->observed
           ? cycles * table->slope[PMU_RESPONSE_MEMORY_BOUND] * PMU_CPI_ONE : 0;
}

/* The same for one misprediction. */
static inline uint64_t pmu_cpi_table_mispredict_slots(const PmuCpiTable *table)
{
    double slots = table->slope[PMU_RESPONSE_BR_MISPREDICT] +
                   table->slope[PMU_RESPONSE_FETCH_LATENCY];

    return table->observed ? slots * PMU_CPI_ONE : 0;
}

/*
 * Learn that the region of @key, @insns instructions, took @sample.  If @insns
 * is 0, @key learns from the sample and nothing else does: it is not typical of
 * code.
 */
void pmu_cpi_table_add_sample(PmuCpiTable *table, uint64_t key, uint32_t insns,
                              const PmuSample *sample);

/*
 * Begin a sampling unit, whose samples are learnt next.  It stands for the
 * @period instructions in which it was due, up to a limit; or for none, 0, if
 * it opened because of the code that it samples.
 */
void pmu_cpi_table_begin_unit(PmuCpiTable *table, uint32_t period);

/* Settle what was counted: add it to the tallies, and correct these. */
void pmu_cpi_table_add_estimates(PmuCpiTable *table);

/*
 * Take the whole numbers in the tally of @level; fractions stay.  Covariates
 * are not taken: @whole is 0 there.
 */
void pmu_cpi_table_take_estimates(PmuCpiTable *table, PmuLevel level,
                                  uint64_t whole[PMU_SAMPLE_NR]);

#endif
