/*
 * What stretches of code cost, as far as they were watched.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>
#include <string.h>

#include "costs-internal.h"

/*
 * A sample weighs as much as its number says, counted from 0, of so many at
 * most: what was found first, with cold caches and untrained predictors, is
 * soon forgotten, and later what was found long ago, as what is around a
 * stretch changes with the phases of a program.
 */
#define HORIZON     256

/*
 * Those of the first window in which a stretch was watched are no more than so
 * many when it is watched again: that one may have had its data come from far
 * away, or its code, and where all goes forward nothing makes up for that.
 */
#define FIRST       4

/* As many samples are enough for not asking for more. */
#define ENOUGH      32

/* Samples between two adjustments of what they have in common. */
#define ADJUST_SAMPLES      512

bool pmu_costs_init(PmuCosts *costs, const PmuUarch *uarch)
{
    *costs = (PmuCosts) {
        .entries = g_try_new0(PmuCost, PMU_COST_ENTRIES),
        .uses = g_try_new0(PmuCostUse, PMU_COST_ENTRIES),
        .means = g_try_new0(PmuCostMeans, PMU_COST_ENTRIES),
        .weight = 1, .wanted = UINT32_MAX, .uarch = uarch,
    };
    if (!costs->entries || !costs->uses || !costs->means) {
        pmu_costs_destroy(costs);
        return false;
    }
    return true;
}

void pmu_costs_destroy(PmuCosts *costs)
{
    g_clear_pointer(&costs->entries, g_free);
    g_clear_pointer(&costs->uses, g_free);
    g_clear_pointer(&costs->means, g_free);
}

void pmu_costs_copy(PmuCosts *copy, const PmuCosts *costs)
{
    *copy = *costs;
    copy->entries = g_memdup2(costs->entries,
                              PMU_COST_ENTRIES * sizeof(*costs->entries));
    copy->uses = g_memdup2(costs->uses,
                           PMU_COST_ENTRIES * sizeof(*costs->uses));
}

void pmu_costs_discard(PmuCosts *copy)
{
    g_clear_pointer(&copy->entries, g_free);
    g_clear_pointer(&copy->uses, g_free);
}

void pmu_costs_clear(PmuCosts *costs)
{
    PmuCost *entries = costs->entries;
    PmuCostUse *uses = costs->uses;
    PmuCostMeans *means = costs->means;

    memset(entries, 0, PMU_COST_ENTRIES * sizeof(*entries));
    memset(uses, 0, PMU_COST_ENTRIES * sizeof(*uses));
    memset(means, 0, PMU_COST_ENTRIES * sizeof(*means));
    *costs = (PmuCosts) {
        .entries = entries, .uses = uses, .means = means, .weight = 1,
        .wanted = costs->wanted, .uarch = costs->uarch,
    };
}

/* Counting. */

/* What @use is beside was counted @times times, and is needed. */
static void note_use(const PmuCosts *costs, PmuCostUse *use, uint32_t times)
{
    if (use->epoch != costs->epoch) {
        use->epoch = costs->epoch;
        use->times = 0;
    }
    use->times += times;
}

/*
 * The first entry from number @n on that is in @set, or PMU_COST_ENTRIES.
 */
static uint32_t next_of(const PmuCostSet *set, uint32_t n)
{
    while (n < PMU_COST_ENTRIES) {
        uint64_t left = set->word[n / 64] >> n % 64;

        if (left) {
            return n + __builtin_ctzll(left);
        }
        n = (n / 64 + 1) * 64;
    }
    return n;
}

/* Entry @n is next: there are too many for the host's caches. */
static inline void expect(const PmuCosts *costs, uint32_t n)
{
    const PmuCostMeans *means = &costs->means[n % PMU_COST_ENTRIES];

    __builtin_prefetch(means);
    __builtin_prefetch(means->mean);
    __builtin_prefetch(&means->mean[PMU_SAMPLE_ITEMS]);
}

static void set_weak(PmuCosts *costs, uint32_t n, bool weak)
{
    uint64_t bit = 1ull << n % 64, *word = &costs->weak.word[n / 64];

    *word = weak ? *word | bit : *word & ~bit;
}

uint64_t pmu_costs_most_weak(const PmuCosts *costs)
{
    uint64_t most = 0;

    for (uint32_t n = 0;
         (n = next_of(&costs->weak, n)) < PMU_COST_ENTRIES; n++) {
        most = MAX(most, (uint64_t)costs->uses[n].insns *
                         pmu_costs_times(costs, &costs->entries[n]));
    }
    return most;
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

static void settle(PmuCosts *costs, PmuCost *cost)
{
    uint32_t n = cost - costs->entries;
    const PmuCostMeans *means = &costs->means[n];
    double *sum = costs->tally[pmu_costs_level(cost->key)].sum;
    uint32_t times = cost->pending;

    for (uint32_t left = means->groups & costs->wanted; left;
         left &= left - 1) {
        add_means(sum, means->mean, __builtin_ctz(left), times);
    }
    note_use(costs, &costs->uses[n], times);
    cost->pending = 0;
}

/*
 * In the order of the entries, whatever ran first: that may have been counted
 * elsewhere up to when somebody looked.
 */
static void settle_known(PmuCosts *costs)
{
    for (uint32_t n = next_of(&costs->dirty, 0), next; n < PMU_COST_ENTRIES;
         n = next) {
        next = next_of(&costs->dirty, n + 1);
        expect(costs, next);
        settle(costs, &costs->entries[n]);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(costs->ran.word); i++) {
        costs->ran.word[i] |= costs->dirty.word[i];
    }
    costs->dirty = (PmuCostSet) {};
}

void pmu_costs_see_code(PmuCosts *costs,
                        void (*see)(const PmuCostCode *code, void *opaque),
                        void *opaque)
{
    for (uint32_t n = next_of(&costs->ran, 0), next; n < PMU_COST_ENTRIES;
         n = next) {
        next = next_of(&costs->ran, n + 1);
        expect(costs, next);
        see(&costs->means[n].code, opaque);
    }
    costs->ran = (PmuCostSet) {};
}

void pmu_costs_settle(PmuCosts *costs)
{
    settle_known(costs);
    pmu_costs_estimate(costs);
}

void pmu_costs_take(PmuCosts *costs, PmuLevel level,
                    uint64_t whole[PMU_SAMPLE_NR])
{
    double *sum = costs->tally[level].sum;

    for (unsigned i = 0; i < PMU_SAMPLE_NR; i++) {
        whole[i] = i / PMU_SAMPLE_GROUP * PMU_SAMPLE_GROUP != PMU_SAMPLE_KNOWN
                   ? sum[i] : 0;
        sum[i] -= whole[i];
    }
}

/* Learning. */

/*
 * Which of the set that begins with entry @set was needed last the longest ago;
 * of several, the weakest.
 */
static uint32_t oldest(const PmuCosts *costs, uint32_t set)
{
    uint32_t result = set;

    for (uint32_t i = set + 1; i < set + PMU_COST_WAYS; i++) {
        uint32_t age = costs->epoch - costs->uses[i].epoch;
        uint32_t most = costs->epoch - costs->uses[result].epoch;

        if (age > most || (age == most && costs->means[i].samples <
                                          costs->means[result].samples)) {
            result = i;
        }
    }
    return result;
}

/* An entry for @key, which has none. */
static PmuCost *replace(PmuCosts *costs, uint64_t key)
{
    uint32_t n = oldest(costs, pmu_costs_set(costs, key) - costs->entries);
    PmuCost *victim = &costs->entries[n];

    if (victim->pending) {
        settle_known(costs);
    }
    *victim = (PmuCost) { .key = key ^ PMU_COST_WEAK };
    costs->means[n] = (PmuCostMeans) { 0 };
    costs->uses[n] = (PmuCostUse) { 0 };
    return victim;
}

/* What sample number @samples, from 1 on, weighs in a mean. */
static float weight_of(uint32_t samples)
{
    return samples <= 2 ? 1 : 2.0f / samples;
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
        float moved = (mean[i] + step + PMU_GRAIN_FLOAT) - PMU_GRAIN_FLOAT;

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

/* A stretch of @insns instructions, any, took @sample, which has @groups. */
static void note_typical(PmuTypical *typical, uint32_t insns,
                         const PmuSample *sample, uint32_t groups)
{
    typical->insns += insns;
    for (uint32_t left = groups; left; left &= left - 1) {
        add_items(typical->item, sample->item, __builtin_ctz(left));
    }
}

/* Would @means have foretold @sample?  If there are none: nothing was. */
static void try_means(PmuCostTrial *trial, const PmuCostMeans *means,
                      const PmuSample *sample)
{
    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        trial->took[i] += (int32_t)sample->item[i];
        trial->foretold[i] += means->mean[i];
    }
    for (unsigned i = 0; i < PMU_KNOWN_NR; i++) {
        trial->known[i] += pmu_sample_beyond(means, sample,
                                             PMU_SAMPLE_KNOWN + i);
    }
}

void pmu_costs_begin_window(PmuCosts *costs)
{
    PmuCostTrial *trial = &costs->trial;

    costs->window++;
    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        trial->took[i] /= 2;
        trial->foretold[i] /= 2;
    }
    for (unsigned i = 0; i < PMU_KNOWN_NR; i++) {
        trial->known[i] /= 2;
    }
}

/*
 * Groups of items, a bit each, of which one is not zero: most never are, and
 * there are many.
 */
static uint32_t groups_of(const uint32_t *item)
{
    uint32_t groups = 0;

    for (unsigned i = 0; i < PMU_SAMPLE_ROOM; i += PMU_SAMPLE_GROUP) {
        uint32_t any = 0;

        for (unsigned j = 0; j < PMU_SAMPLE_GROUP; j++) {
            any |= item[i + j];
        }
        groups |= (uint32_t)!!any << (i / PMU_SAMPLE_GROUP);
    }
    return groups;
}

static void learn(PmuCost *cost, PmuCostMeans *means, const PmuSample *sample,
                  uint32_t groups)
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
    cost->slots = slots * PMU_COST_ONE;
}

void pmu_costs_learn(PmuCosts *costs, uint64_t key, uint32_t insns,
                     PmuCostCode code, const PmuSample *sample)
{
    PmuCost *cost = pmu_costs_find_any(costs, key);
    uint32_t groups = groups_of(sample->item);
    PmuCostMeans *means;
    PmuCostUse *use;

    if (!cost) {
        cost = replace(costs, key);
    } else if (cost->pending) {
        settle_known(costs);
    }
    means = &costs->means[cost - costs->entries];
    means->code = code;
    use = &costs->uses[cost - costs->entries];
    note_use(costs, use, 0);
    if (means->changes != costs->changes) {
        means->changes = costs->changes;
        means->samples = MIN(means->samples, ENOUGH);
    }
    if (means->window != costs->window) {
        if (means->samples && !means->again) {
            means->samples = MIN(means->samples, FIRST);
            means->again = true;
        }
        means->window = costs->window;
    }
    if (insns) {
        try_means(&costs->trial, means, sample);
    }
    if (means->samples) {
        pmu_costs_compare(costs, means, sample);
    }
    learn(cost, means, sample, groups);
    if (means->samples >= ENOUGH) {
        cost->key = key;
    }
    use->insns = insns;
    set_weak(costs, cost - costs->entries, cost->key != key);
    if (insns) {
        note_typical(&costs->typical, insns, sample, groups);
    }
    if (++costs->samples % ADJUST_SAMPLES == 0) {
        pmu_costs_adjust(costs);
    }
}
