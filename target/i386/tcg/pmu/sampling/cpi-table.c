/*
 * The CPI table: what regions of code cost, on average, in detailed simulation.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/sampling/covariate-costs.h"
#include "tcg/pmu/sampling/cpi-table.h"

/*
 * A sample weighs in proportion to its number, counted from 0, up to this.  So
 * the first samples, with cold caches and untrained predictors, are soon
 * forgotten.  Later old samples are, too, as what is around a region changes
 * with the phases of a program.
 */
#define HORIZON     256

/* Samples from which on a cost is well known, no longer of low confidence. */
#define ENOUGH      32

/* Samples between two updates of the slopes, and of each average. */
#define ADJUST_SAMPLES      512

/* Updates of an average after which older samples weigh 1/e. */
#define FADE_MEMORY         8

bool pmu_cpi_table_init(PmuCpiTable *table, const PmuUarch *uarch)
{
    *table = (PmuCpiTable) {
        .entries = g_try_new0(PmuCpiEntry, PMU_CPI_ENTRIES),
        .uses = g_try_new0(PmuCpiUse, PMU_CPI_ENTRIES),
        .means = g_try_new0(PmuCpiMeans, PMU_CPI_ENTRIES),
        .observed = true, .wanted = UINT32_MAX, .uarch = uarch,
    };
    if (!table->entries || !table->uses || !table->means) {
        pmu_cpi_table_destroy(table);
        return false;
    }
    return true;
}

void pmu_cpi_table_destroy(PmuCpiTable *table)
{
    g_clear_pointer(&table->entries, g_free);
    g_clear_pointer(&table->uses, g_free);
    g_clear_pointer(&table->means, g_free);
}

void pmu_cpi_table_copy(PmuCpiTable *copy, const PmuCpiTable *table)
{
    *copy = *table;
    copy->entries = g_memdup2(table->entries,
                              PMU_CPI_ENTRIES * sizeof(*table->entries));
    copy->uses = g_memdup2(table->uses,
                           PMU_CPI_ENTRIES * sizeof(*table->uses));
}

void pmu_cpi_table_discard(PmuCpiTable *copy)
{
    g_clear_pointer(&copy->entries, g_free);
    g_clear_pointer(&copy->uses, g_free);
}

void pmu_cpi_table_clear(PmuCpiTable *table)
{
    PmuCpiEntry *entries = table->entries;
    PmuCpiUse *uses = table->uses;
    PmuCpiMeans *means = table->means;

    memset(entries, 0, PMU_CPI_ENTRIES * sizeof(*entries));
    memset(uses, 0, PMU_CPI_ENTRIES * sizeof(*uses));
    memset(means, 0, PMU_CPI_ENTRIES * sizeof(*means));
    *table = (PmuCpiTable) {
        .entries = entries, .uses = uses, .means = means,
        .observed = true,
        .wanted = table->wanted, .uarch = table->uarch,
    };
}

/* Counting. */

/* The entry of @use is needed, and was counted @times times. */
static void note_use(const PmuCpiTable *table, PmuCpiUse *use, uint32_t times)
{
    if (use->epoch != table->epoch) {
        use->epoch = table->epoch;
        use->times = 0;
    }
    use->times += times;
}

/* The index of the first entry in @set, from @n on, or PMU_CPI_ENTRIES. */
static uint32_t next_of(const PmuCpiEntrySet *set, uint32_t n)
{
    while (n < PMU_CPI_ENTRIES) {
        uint64_t left = set->word[n / 64] >> n % 64;

        if (left) {
            return n + __builtin_ctzll(left);
        }
        n = (n / 64 + 1) * 64;
    }
    return n;
}

/* Prefetch the means of entry @n: all do not fit in the host's caches. */
static inline void expect(const PmuCpiTable *table, uint32_t n)
{
    const PmuCpiMeans *means = &table->means[n % PMU_CPI_ENTRIES];

    __builtin_prefetch(means);
    __builtin_prefetch(means->mean);
    __builtin_prefetch(&means->mean[PMU_SAMPLE_ITEMS]);
}

/* Add @times times @group of @mean to @sum.  Hot, like move_means(). */
static G_GNUC_NO_INLINE void add_means(double *restrict sum,
                                       const float *restrict mean,
                                       unsigned group, double times)
{
    sum += group * PMU_SAMPLE_GROUP;
    mean += group * PMU_SAMPLE_GROUP;
    for (unsigned i = 0; i < PMU_SAMPLE_GROUP; i++) {
        sum[i] += times * mean[i];
    }
}

static PmuConfidence confidence_in(const PmuCpiMeans *means)
{
    return !means->samples ? PMU_CONFIDENCE_NONE
           : means->samples < ENOUGH ? PMU_CONFIDENCE_LOW
           : PMU_CONFIDENCE_HIGH;
}

/*
 * Settle @cost: add its pending runs to the tally of its level.  It does not
 * matter when that is done and which entry comes first, as sums are exact (see
 * PMU_QUANTUM_DOUBLE), as long as the means stay as they are until then.
 */
static void settle(PmuCpiTable *table, PmuCpiEntry *cost)
{
    uint32_t n = cost - table->entries;
    const PmuCpiMeans *means = &table->means[n];
    PmuEstimate *tally = &table->estimate[pmu_cpi_table_level(cost->key)];
    /* Only regions of code have ratios, string instructions have not. */
    double *sum = table->uses[n].insns
                  ? tally->uncorrected[confidence_in(means)] : tally->sum;
    uint32_t times = cost->pending;

    for (uint32_t left = means->groups & table->wanted; left;
         left &= left - 1) {
        add_means(sum, means->mean, __builtin_ctz(left), times);
    }
    note_use(table, &table->uses[n], times);
    cost->pending = 0;
    table->dirty.word[n / 64] &= ~(1ull << n % 64);
}

/* Settle all entries that have pending runs. */
static void settle_all(PmuCpiTable *table)
{
    for (uint32_t n = next_of(&table->dirty, 0), next; n < PMU_CPI_ENTRIES;
         n = next) {
        next = next_of(&table->dirty, n + 1);
        expect(table, next);
        settle(table, &table->entries[n]);
    }
}

void pmu_cpi_table_add_estimates(PmuCpiTable *table)
{
    settle_all(table);
    pmu_cpi_table_correct_estimates(table);
}

void pmu_cpi_table_take_estimates(PmuCpiTable *table, PmuLevel level,
                                  uint64_t whole[PMU_SAMPLE_NR])
{
    double *sum = table->estimate[level].sum;

    for (unsigned i = 0; i < PMU_SAMPLE_NR; i++) {
        whole[i] = i / PMU_SAMPLE_GROUP * PMU_SAMPLE_GROUP !=
                   PMU_SAMPLE_COVARIATES
                   ? sum[i] : 0;
        sum[i] -= whole[i];
    }
}

/* Learning. */

/*
 * The least recently needed entry of the set that begins at index @set; of
 * several, the one of the fewest samples.
 */
static uint32_t oldest(const PmuCpiTable *table, uint32_t set)
{
    uint32_t result = set;

    for (uint32_t i = set + 1; i < set + PMU_CPI_WAYS; i++) {
        uint32_t age = table->epoch - table->uses[i].epoch;
        uint32_t most = table->epoch - table->uses[result].epoch;

        if (age > most || (age == most && table->means[i].samples <
                                          table->means[result].samples)) {
            result = i;
        }
    }
    return result;
}

/* Make an entry for @key, which has none, in place of another one. */
static PmuCpiEntry *replace(PmuCpiTable *table, uint64_t key)
{
    uint32_t n = oldest(table, pmu_cpi_table_set(table, key) - table->entries);
    PmuCpiEntry *victim = &table->entries[n];

    if (victim->pending) {
        settle(table, victim);
    }
    *victim = (PmuCpiEntry) { .key = key ^ PMU_CPI_LOW_CONFIDENCE };
    table->means[n] = (PmuCpiMeans) { 0 };
    table->uses[n] = (PmuCpiUse) { 0 };
    return victim;
}

/* The weight of sample number @samples, counted from 1, in a mean. */
static float weight_of(uint32_t samples)
{
    return samples <= 2 ? 1 : 2.0f / samples;
}

/*
 * Move @group of @mean towards @value by @weight, in whole quanta.  A mean that
 * is too near 0 to move becomes 0 if @value is.  Hot: the loop vectorises, but
 * not where the compiler inlines it in another one.
 */
static G_GNUC_NO_INLINE void move_means(float *restrict mean,
                                        const uint32_t *restrict value,
                                        unsigned group, float weight)
{
    mean += group * PMU_SAMPLE_GROUP;
    value += group * PMU_SAMPLE_GROUP;
    for (unsigned i = 0; i < PMU_SAMPLE_GROUP; i++) {
        float step = ((int32_t)value[i] - mean[i]) * weight;
        float moved = (mean[i] + step + PMU_QUANTUM_FLOAT) - PMU_QUANTUM_FLOAT;

        mean[i] = moved == mean[i] && !value[i] ? 0 : moved;
    }
}

/* Add @group of @item to @sum.  Hot, like move_means(). */
static G_GNUC_NO_INLINE void add_items(double *restrict sum,
                                       const uint32_t *restrict item,
                                       unsigned group)
{
    sum += group * PMU_SAMPLE_GROUP;
    item += group * PMU_SAMPLE_GROUP;
    for (unsigned i = 0; i < PMU_SAMPLE_GROUP; i++) {
        sum[i] += (int32_t)item[i];
    }
}

/* Compare @sample with @means, which predict 0 if they have no samples. */
static void try_means(PmuPredictionError *error, const PmuCpiMeans *means,
                      const PmuSample *sample)
{
    const unsigned first = PMU_SAMPLE_COVARIATES;

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        error->took[i] += (int32_t)sample->item[i];
        error->predicted[i] += means->mean[i];
    }
    for (unsigned i = 0; i < PMU_COVARIATE_NR; i++) {
        error->covariates[i] += (int32_t)sample->item[first + i] -
                                means->mean[first + i];
    }
}

/*
 * Most instructions that a sampling unit stands for, so that a few units do not
 * decide.  With half as many pmu-replay shows the same errors to a few tenths.
 */
#define WHOLE_PERIOD (1 << 17)

/*
 * Units of periods after which older terms of ratios weigh 1/e, and those of
 * recent ones.  The first is chosen.  With 32 in place of 16 pmu-replay shows
 * the same errors to half a percent.
 */
#define RATIO_MEMORY 256
#define RECENT_MEMORY 16

/* Epochs after which older observed covariates weigh 1/e. */
#define OBSERVED_MEMORY 8

static void fade_ratios(PmuCpiTable *table)
{
    const unsigned n = PMU_SAMPLE_SPACE;

    for (PmuConfidence which = 0; which < PMU_CONFIDENCE_NR; which++) {
        pmu_fade_sums(table->ratio[which].took, n, RATIO_MEMORY);
        pmu_fade_sums(table->ratio[which].predicted, n, RATIO_MEMORY);
    }
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        PmuRecentCosts *recent = &table->recent[level];

        pmu_fade_sums(recent->took, n, RECENT_MEMORY);
        pmu_fade_sums(recent->predicted[0], n * PMU_CONFIDENCE_KNOWN_NR,
                      RECENT_MEMORY);
    }
}

void pmu_cpi_table_begin_epoch(PmuCpiTable *table)
{
    PmuObservedCovariates *observed = &table->observed_covariates;

    table->epoch++;
    table->most_low_confidence = 0;
    table->waited = 0;
    table->predicted = 0;
    pmu_fade_sums(observed->known, PMU_COVARIATE_NR, OBSERVED_MEMORY);
    pmu_fade_sums(observed->predicted, PMU_COVARIATE_NR, OBSERVED_MEMORY);
}

void pmu_cpi_table_begin_unit(PmuCpiTable *table, uint32_t period)
{
    PmuPredictionError *error = &table->prediction_error;

    table->units++;
    table->stands_for = (double)MIN(period, WHOLE_PERIOD) / WHOLE_PERIOD;
    if (period) {
        fade_ratios(table);
    }
    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        error->took[i] /= 2;
        error->predicted[i] /= 2;
    }
    for (unsigned i = 0; i < PMU_COVARIATE_NR; i++) {
        error->covariates[i] /= 2;
    }
}

/*
 * The groups of @item that are not all 0, a bit each.  There are many groups,
 * and most are always 0.
 */
static uint32_t groups_of(const uint32_t *item)
{
    uint32_t groups = 0;

    for (unsigned i = 0; i < PMU_SAMPLE_SPACE; i += PMU_SAMPLE_GROUP) {
        uint32_t any = 0;

        for (unsigned j = 0; j < PMU_SAMPLE_GROUP; j++) {
            any |= item[i + j];
        }
        groups |= (uint32_t)!!any << (i / PMU_SAMPLE_GROUP);
    }
    return groups;
}

/* Add @sample, of a region of @insns instructions, to @sums. */
static void add_to_sums(PmuCpiSums *sums, uint32_t insns,
                           const PmuSample *sample, uint32_t groups)
{
    sums->insns += insns;
    for (uint32_t left = groups; left; left &= left - 1) {
        add_items(sums->item, sample->item, __builtin_ctz(left));
    }
}

static void fade(PmuCpiSums *sums)
{
    sums->insns -= sums->insns / FADE_MEMORY;
    pmu_fade_sums(sums->item, PMU_SAMPLE_NR, FADE_MEMORY);
}

/* Add @sample to the average of all code, and if @new to that of new code. */
static void note_averages(PmuCpiTable *table, bool new, uint32_t insns,
                          const PmuSample *sample, uint32_t groups)
{
    add_to_sums(&table->typical, insns, sample, groups);
    if (new) {
        add_to_sums(&table->first, insns, sample, groups);
        if (++table->firsts % ADJUST_SAMPLES == 0) {
            fade(&table->first);
        }
    }
}

/* Add @sample, with @groups that are not 0, to the means of @cost. */
static void add_sample(PmuCpiEntry *cost, PmuCpiMeans *means,
                       const PmuSample *sample, uint32_t groups)
{
    float weight, slots = 0;

    means->samples += means->samples < HORIZON;
    means->groups |= groups;
    weight = weight_of(means->samples);
    for (uint32_t left = means->groups; left; left &= left - 1) {
        move_means(means->mean, sample->item, __builtin_ctz(left), weight);
    }
    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        slots += means->mean[i];
    }
    cost->slots = MIN(slots, UINT32_MAX / PMU_CPI_ONE) * PMU_CPI_ONE;
}

/* Find or make the entry of @key, so that it can learn: nothing is pending. */
static PmuCpiEntry *begin_learning(PmuCpiTable *table, uint64_t key)
{
    PmuCpiEntry *cost = pmu_cpi_table_find_any(table, key);
    PmuCpiMeans *means;

    if (!cost) {
        cost = replace(table, key);
    } else if (cost->pending) {
        settle(table, cost);
    }
    means = &table->means[cost - table->entries];
    note_use(table, &table->uses[cost - table->entries], 0);
    if (means->changes != table->changes) {
        means->changes = table->changes;
        means->samples = MIN(means->samples, ENOUGH);
    }
    return cost;
}

/* Add @sample to @cost, of @key: it may become well known. */
static void learn(PmuCpiTable *table, PmuCpiEntry *cost, uint64_t key,
                  uint32_t insns, const PmuSample *sample, uint32_t groups)
{
    PmuCpiMeans *means = &table->means[cost - table->entries];

    add_sample(cost, means, sample, groups);
    if (means->samples >= ENOUGH) {
        cost->key = key;
    }
    table->uses[cost - table->entries].insns = insns;
}

void pmu_cpi_table_add_sample(PmuCpiTable *table, uint64_t key, uint32_t insns,
                              const PmuSample *sample)
{
    PmuCpiEntry *cost = begin_learning(table, key);
    PmuCpiMeans *means = &table->means[cost - table->entries];
    uint32_t groups = groups_of(sample->item);
    bool new = !means->samples;

    if (insns) {
        pmu_cpi_table_compare(table, confidence_in(means), means,
                              pmu_cpi_table_level(key), insns, sample, groups);
        try_means(&table->prediction_error, means, sample);
    }
    learn(table, cost, key, insns, sample, groups);
    if (insns) {
        note_averages(table, new, insns, sample, groups);
        if (++table->samples % ADJUST_SAMPLES == 0) {
            pmu_cpi_table_update_slopes(table);
            fade(&table->typical);
        }
    }
}
