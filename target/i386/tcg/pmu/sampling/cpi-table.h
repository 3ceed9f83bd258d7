/*
 * What regions of code cost, as far as they were simulated in detail.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A region is what runs from behind a branch to the next one, and may end
 * before that (PmuBlock.ends_region); its key says which instructions these
 * are.  Its cost is the mean of what it took in detailed simulation: stratified
 * sampling, the strata being the keys (Wunderlich et al., "SMARTS: Accelerating
 * microarchitecture simulation via rigorous statistical sampling", ISCA 2003;
 * Cochran, "Sampling Techniques", ch. 5).  What is known about each region that
 * was observed without being simulated in detail, how long its data took to
 * come and from where, how long its stores waited, and what was mispredicted,
 * corrects that: a regression estimator (Cochran, ch. 7).
 */

#ifndef TARGET_I386_PMU_SAMPLING_CPI_TABLE_H
#define TARGET_I386_PMU_SAMPLING_CPI_TABLE_H

#include "tcg/pmu/sampling/cpi-estimate.h"
#include "tcg/pmu/sampling/cpi-types.h"
#include "tcg/pmu/uarch/hash.h"

/* No costs are known of a core of @uarch.  False if memory runs out. */
bool pmu_cpi_table_init(PmuCpiTable *table, const PmuUarch *uarch);

void pmu_cpi_table_destroy(PmuCpiTable *table);

/*
 * @copy is @table: what is counted or settled there does not show here.  It
 * must not learn, and is to be discarded before @table learns.
 */
void pmu_cpi_table_copy(PmuCpiTable *copy, const PmuCpiTable *table);

void pmu_cpi_table_discard(PmuCpiTable *copy);

/* Forget them, and what was counted. */
void pmu_cpi_table_clear(PmuCpiTable *table);

/* The set of @key; multiplicative hashing (Knuth). */
static inline PmuCpiEntry *pmu_cpi_table_set(const PmuCpiTable *table,
                                             uint64_t key)
{
    return &table->entries[(key * PMU_HASH_MULTIPLIER >>
                            (64 - PMU_CPI_SET_BITS)) * PMU_CPI_WAYS];
}

/*
 * A region's key is made of a hash of its instructions and of the level they
 * run at; it is not 0.
 */
static inline uint64_t pmu_cpi_table_key(uint64_t hash, PmuLevel level)
{
    return ((hash + 1) << 1 ?: 2) | level;
}

static inline PmuLevel pmu_cpi_table_level(uint64_t key)
{
    return key & 1;
}

static inline PmuCpiEntry *pmu_cpi_table_in_set(PmuCpiEntry *set, uint64_t key)
{
    unsigned way = 0;

    /* Which one it is cannot be predicted: no branches. */
    for (unsigned i = 1; i < PMU_CPI_WAYS; i++) {
        way |= set[i].key == key ? i : 0;
    }
    return set[way].key == key ? &set[way] : NULL;
}

/* The cost of @key; NULL: it is not well known.  Hot. */
static inline PmuCpiEntry *pmu_cpi_table_find(const PmuCpiTable *table,
                                              uint64_t key)
{
    return pmu_cpi_table_in_set(pmu_cpi_table_set(table, key), key);
}

/* The cost of @key if there are some samples of it, but not many. */
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

/* Either. */
static inline PmuCpiEntry *pmu_cpi_table_find_any(const PmuCpiTable *table,
                                                  uint64_t key)
{
    PmuCpiEntry *cost = pmu_cpi_table_find(table, key);

    return cost ? cost : pmu_cpi_table_find_low_confidence(table, key);
}

/* Count @cost another @times times, more than 0.  Hot. */
static inline void pmu_cpi_table_count_times(PmuCpiTable *table,
                                             PmuCpiEntry *cost, uint32_t times)
{
    if (!cost->pending) {
        uint32_t n = cost - table->entries;

        table->dirty.word[n / 64] |= 1ull << n % 64;
    }
    cost->pending += times;
}

/* The same, once. */
static inline void pmu_cpi_table_count(PmuCpiTable *table, PmuCpiEntry *cost)
{
    pmu_cpi_table_count_times(table, cost, 1);
}

/* From now on tally slots and those items of PmuInterest.sampled @items. */
static inline void pmu_cpi_table_want(PmuCpiTable *table, uint32_t items)
{
    unsigned first = PMU_SAMPLE_ITEMS / PMU_SAMPLE_GROUP;

    table->wanted = items << first | ((1u << first) - 1);
}

/*
 * Are waits and mispredictions known of what is counted from now on, as to
 * begin with?  If not, they are taken to be as predicted, or fewer if they were
 * where they were known lately; and unknown code to have none.  What was
 * counted before is to be settled.
 */
static inline void pmu_cpi_table_set_observed(PmuCpiTable *table,
                                              bool observed)
{
    table->observed = observed;
}

/* What was predicted so far says nothing about what is now. */
static inline void pmu_cpi_table_forget_error(PmuCpiTable *table)
{
    table->trial = (PmuPredictionError) {};
}

/*
 * From now on pmu_cpi_table_times(), pmu_cpi_table_wait_error() and
 * @most_low_confidence begin at 0, and what was observed before weighs less.
 */
void pmu_cpi_table_begin_epoch(PmuCpiTable *table);

/*
 * By how many cycles waits of this epoch differ from what the costs predicted,
 * as far as that is settled, if they differ by half of it or more; else 0.
 */
static inline double pmu_cpi_table_wait_error(const PmuCpiTable *table)
{
    double difference = table->waited > table->predicted
                        ? table->waited - table->predicted
                        : table->predicted - table->waited;

    return difference >= table->predicted / 2 ? difference : 0;
}

/* Data are elsewhere now: what is found next weighs more than what was. */
static inline void pmu_cpi_table_note_change(PmuCpiTable *table)
{
    table->changes++;
    table->observed_covariates = (PmuObservedCovariates) {};
}

/*
 * How often @cost was counted in this epoch, whenever it was settled: that may
 * be for a look at counters.
 */
static inline uint32_t pmu_cpi_table_times(const PmuCpiTable *table,
                                           const PmuCpiEntry *cost)
{
    const PmuCpiUse *use = &table->uses[cost - table->entries];

    return cost->pending + (use->epoch == table->epoch ? use->times : 0);
}

/* @cost, which was counted, is of low confidence. */
static inline void pmu_cpi_table_note_low_confidence(PmuCpiTable *table,
                                                     const PmuCpiEntry *cost)
{
    uint64_t insns = (uint64_t)table->uses[cost - table->entries].insns *
                     pmu_cpi_table_times(table, cost);

    table->most_low_confidence = MAX(table->most_low_confidence, insns);
}

/*
 * 1/PMU_CPI_ONE slots that cycles of waiting may make, about: another @loads of
 * loads and @stores of stores.
 */
static inline uint64_t pmu_cpi_table_wait_slots(const PmuCpiTable *table,
                                                uint64_t loads,
                                                uint64_t stores)
{
    double memory = table->fit[PMU_RESPONSE_MEMORY_BOUND].slope;
    double core = table->fit[PMU_RESPONSE_CORE_BOUND].slope;
    double slots = loads * MAX(memory + core, 0) + stores * MAX(memory, 0);

    return table->observed ? slots * PMU_CPI_ONE : 0;
}

/* The same for a misprediction. */
static inline uint64_t pmu_cpi_table_mispredict_slots(const PmuCpiTable *table)
{
    double slope = table->fit[PMU_RESPONSE_BR_MISPREDICT].slope +
                   table->fit[PMU_RESPONSE_FETCH_LATENCY].slope +
                   table->fit[PMU_RESPONSE_BRANCH_WAIT].slope;

    return slope > 0 && table->observed ? slope * PMU_CPI_ONE : 0;
}

/*
 * @key, a region of @insns instructions at @code, took @sample.  0: what it
 * took is not typical of anything else, as where @key stands for regions of
 * different code, which then is none that could be warmed.
 */
void pmu_cpi_table_add_sample(PmuCpiTable *table, uint64_t key, uint32_t insns,
                              PmuRegionCode code, const PmuSample *sample);

/*
 * What is learnt from now on was simulated in detail together, and stands for
 * the @period instructions in which it was due, up to a limit; 0: for nothing,
 * as it was chosen for what it is.
 */
void pmu_cpi_table_begin_unit(PmuCpiTable *table, uint32_t period);

/*
 * Call @see for the code of each that was counted since the last time, as far
 * as that is settled.
 */
void pmu_cpi_table_for_each_code(PmuCpiTable *table,
                                 void (*see)(const PmuRegionCode *code,
                                             void *opaque),
                                 void *opaque);

/* Enter what was counted into the tallies. */
void pmu_cpi_table_add_estimates(PmuCpiTable *table);

/* Take whole numbers from @level's tally; fractions and PmuCovariates stay. */
void pmu_cpi_table_take_estimates(PmuCpiTable *table, PmuLevel level,
                                  uint64_t whole[PMU_SAMPLE_NR]);

#endif
