/*
 * What regions of code cost, as far as they were simulated in detail.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <math.h>
#include <string.h>

#include "tcg/pmu/sampling/cpi-table.h"

/*
 * A mean over the units that a region was in: it is to be new, as what is around
 * the region changes, and of many, as units differ.  The first one is forgotten
 * when there is a second: that had its data come from far away, or its code, and
 * its branches were new.
 */
#define MEAN_UNITS  4

/*
 * Data come from elsewhere if waits differ from what was predicted by half of
 * it, and by one cycle in so many instructions.
 */
#define CHANGE_SHARE    4.0

/* So many samples make a region well known. */
#define ENOUGH      32

bool pmu_cpi_table_init(PmuCpiTable *table, const PmuUarch *uarch)
{
    *table = (PmuCpiTable) {
        .entries = g_try_new0(PmuCpiEntry, PMU_CPI_ENTRIES),
        .epochs = g_try_new0(uint32_t, PMU_CPI_ENTRIES),
        .means = g_try_new0(PmuCpiMeans, PMU_CPI_ENTRIES),
        .observed = true, .wanted = UINT32_MAX, .uarch = uarch,
    };
    if (!table->entries || !table->epochs || !table->means) {
        pmu_cpi_table_destroy(table);
        return false;
    }
    pmu_cpi_table_update_effects(table);
    return true;
}

void pmu_cpi_table_destroy(PmuCpiTable *table)
{
    g_clear_pointer(&table->entries, g_free);
    g_clear_pointer(&table->epochs, g_free);
    g_clear_pointer(&table->means, g_free);
}

void pmu_cpi_table_copy(PmuCpiTable *copy, const PmuCpiTable *table)
{
    *copy = *table;
    copy->entries = g_memdup2(table->entries,
                              PMU_CPI_ENTRIES * sizeof(*table->entries));
    copy->epochs = g_memdup2(table->epochs,
                             PMU_CPI_ENTRIES * sizeof(*table->epochs));
}

void pmu_cpi_table_discard(PmuCpiTable *copy)
{
    g_clear_pointer(&copy->entries, g_free);
    g_clear_pointer(&copy->epochs, g_free);
}

void pmu_cpi_table_clear(PmuCpiTable *table)
{
    PmuCpiEntry *entries = table->entries;
    uint32_t *epochs = table->epochs;
    PmuCpiMeans *means = table->means;

    memset(entries, 0, PMU_CPI_ENTRIES * sizeof(*entries));
    memset(epochs, 0, PMU_CPI_ENTRIES * sizeof(*epochs));
    memset(means, 0, PMU_CPI_ENTRIES * sizeof(*means));
    *table = (PmuCpiTable) {
        .entries = entries, .epochs = epochs, .means = means,
        .observed = true, .wanted = table->wanted, .uarch = table->uarch,
    };
    pmu_cpi_table_update_effects(table);
}

/* Counting. */

/*
 * The first entry from number @n on that is in @set, or PMU_CPI_ENTRIES.
 */
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

/* Entry @n is next: there are too many for the host's caches. */
static inline void expect(const PmuCpiTable *table, uint32_t n)
{
    const PmuCpiMeans *means = &table->means[n % PMU_CPI_ENTRIES];

    __builtin_prefetch(means);
    __builtin_prefetch(means->mean);
    __builtin_prefetch(&means->mean[PMU_SAMPLE_ITEMS]);
}

/* Add those of @group of @mean to @sum, @times.  Hot: vectors will do. */
static void add_means(double *restrict sum, const float *restrict mean,
                      unsigned group, double times)
{
    sum += group * PMU_SAMPLE_GROUP;
    mean += group * PMU_SAMPLE_GROUP;
    for (unsigned i = 0; i < PMU_SAMPLE_GROUP; i++) {
        sum[i] += times * mean[i];
    }
}

static void settle(PmuCpiTable *table, PmuCpiEntry *cost)
{
    uint32_t n = cost - table->entries;
    const PmuCpiMeans *means = &table->means[n];
    double *sum = table->estimate[pmu_cpi_table_level(cost->key)].sum;
    uint32_t times = cost->pending;

    for (uint32_t left = means->groups & table->wanted; left;
         left &= left - 1) {
        add_means(sum, means->mean, __builtin_ctz(left), times);
    }
    if (means->samples >= ENOUGH) {
        /* Its code is not observed. */
        for (unsigned i = PMU_COVARIATE_CODE; i < PMU_COVARIATE_NR; i++) {
            sum[PMU_SAMPLE_COVARIATES + i] -=
                times * (double)means->mean[PMU_SAMPLE_COVARIATES + i];
        }
    }
    table->epochs[n] = table->units;
    cost->pending = 0;
}

/*
 * In the order of the entries, whatever ran first: that may have been counted
 * elsewhere up to when counters were looked at.
 */
static void settle_known(PmuCpiTable *table)
{
    for (uint32_t n = next_of(&table->dirty, 0), next; n < PMU_CPI_ENTRIES;
         n = next) {
        next = next_of(&table->dirty, n + 1);
        expect(table, next);
        settle(table, &table->entries[n]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(table->ran.word); i++) {
        table->ran.word[i] |= table->dirty.word[i];
    }
    table->dirty = (PmuCpiEntrySet) {};
}

void pmu_cpi_table_for_each_code(PmuCpiTable *table,
                                 void (*see)(const PmuRegionCode *code,
                                             void *opaque),
                                 void *opaque)
{
    for (uint32_t n = next_of(&table->ran, 0), next; n < PMU_CPI_ENTRIES;
         n = next) {
        next = next_of(&table->ran, n + 1);
        expect(table, next);
        see(&table->means[n].code, opaque);
    }
    table->ran = (PmuCpiEntrySet) {};
}

void pmu_cpi_table_add_estimates(PmuCpiTable *table)
{
    settle_known(table);
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
 * Which of the set that begins with entry @set was needed last the longest ago;
 * of several, the weakest.
 */
static uint32_t oldest(const PmuCpiTable *table, uint32_t set)
{
    uint32_t result = set;

    for (uint32_t i = set + 1; i < set + PMU_CPI_WAYS; i++) {
        uint32_t age = table->units - table->epochs[i];
        uint32_t most = table->units - table->epochs[result];

        if (age > most || (age == most && table->means[i].samples <
                                          table->means[result].samples)) {
            result = i;
        }
    }
    return result;
}

/* An entry for @key, which has none. */
static PmuCpiEntry *replace(PmuCpiTable *table, uint64_t key)
{
    uint32_t n = oldest(table, pmu_cpi_table_set(table, key) - table->entries);
    PmuCpiEntry *victim = &table->entries[n];

    if (victim->pending) {
        settle_known(table);
    }
    *victim = (PmuCpiEntry) { .key = key ^ PMU_CPI_LOW_CONFIDENCE };
    table->means[n] = (PmuCpiMeans) { 0 };
    table->epochs[n] = table->units;
    return victim;
}

/*
 * Move those of @group of @mean to @value by @weight.  What is near 0, and does
 * not get there by whole grains, is there if that is what was found.  Hot:
 * vectors will do.
 */
static void move_means(float *restrict mean, const uint32_t *restrict value,
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

/* Add those of @group of @item to @sum.  Hot: vectors will do. */
static void add_items(double *restrict sum, const uint32_t *restrict item,
                      unsigned group)
{
    sum += group * PMU_SAMPLE_GROUP;
    item += group * PMU_SAMPLE_GROUP;
    for (unsigned i = 0; i < PMU_SAMPLE_GROUP; i++) {
        sum[i] += (int32_t)item[i];
    }
}

/* What was added so far weighs less from now on. */
static void fade(PmuCpiAverage *typical)
{
    typical->insns -= typical->insns / MEAN_UNITS;
    for (unsigned i = 0; i < PMU_SAMPLE_NR; i++) {
        typical->item[i] = pmu_round_to_quantum(typical->item[i] -
                                                typical->item[i] /
                                                    MEAN_UNITS);
    }
}

/*
 * A region of @insns instructions, any, took @sample, which has @groups, in unit
 * @unit.
 */
static void note_typical(PmuCpiAverage *typical, uint32_t unit, uint32_t insns,
                         const PmuSample *sample, uint32_t groups)
{
    if (typical->unit != unit) {
        fade(typical);
        typical->unit = unit;
    }
    typical->insns += insns;
    for (uint32_t left = groups; left; left &= left - 1) {
        add_items(typical->item, sample->item, __builtin_ctz(left));
    }
}

/*
 * Groups of items, a bit each, of which one is not zero: most never are, and
 * there are many.
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

/*
 * The region of @means is in unit @unit, which it was not before: what it was in
 * so far weighs less.
 */
static void enter_unit(PmuCpiMeans *means, uint32_t unit, uint32_t change)
{
    if (means->samples && means->unit != unit) {
        means->units = means->unit <= change ? MIN(means->units, 2)
                                             : means->units;
        means->weight -= means->weight / means->units;
        means->units += means->units < MEAN_UNITS;
    }
    means->units = MAX(means->units, 1);
    means->unit = unit;
}

static void add_to_mean(PmuCpiEntry *cost, PmuCpiMeans *means,
                        const PmuSample *sample, uint32_t groups)
{
    float slots = 0;

    means->weight += 1;
    means->groups |= groups;
    for (uint32_t left = means->groups; left; left &= left - 1) {
        move_means(means->mean, sample->item, __builtin_ctz(left),
                   1 / means->weight);
    }
    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        slots += means->mean[i];
    }
    cost->slots = slots * PMU_CPI_ONE;
}

void pmu_cpi_table_add_sample(PmuCpiTable *table, uint64_t key, uint32_t insns,
                              PmuRegionCode code, const PmuSample *sample)
{
    PmuCpiEntry *cost = pmu_cpi_table_find_any(table, key);
    uint32_t groups = groups_of(sample->item);
    PmuCpiMeans *means;

    if (!cost) {
        cost = replace(table, key);
    } else if (cost->pending) {
        settle_known(table);
    }
    means = &table->means[cost - table->entries];
    means->code = code;
    table->epochs[cost - table->entries] = table->units;
    enter_unit(means, table->units, table->change);
    add_to_mean(cost, means, sample, groups);
    means->samples += means->samples < ENOUGH;
    if (means->samples == ENOUGH) {
        cost->key = key;
    }
    if (insns) {
        note_typical(&table->typical[pmu_cpi_table_level(key)], table->units,
                     insns, sample, groups);
    }
}

bool pmu_cpi_table_judge(PmuCpiTable *table, uint32_t insns)
{
    double off = fabs(table->waited - table->predicted);
    bool changed = off >= insns / CHANGE_SHARE && off >= table->predicted / 2;

    if (changed) {
        table->change = table->units;
    }
    table->waited = 0;
    table->predicted = 0;
    return changed;
}

void pmu_cpi_table_begin_unit(PmuCpiTable *table)
{
    table->units++;
}

void pmu_cpi_table_end_unit(PmuCpiTable *table)
{
    pmu_cpi_table_update_effects(table);
}
