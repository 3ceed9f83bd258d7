/*
 * What stretches of code cost, as far as they were watched.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>
#include <string.h>

#include "costs.h"

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

/*
 * Adding and taking off one of these rounds to a multiple of 2^-20, or of more
 * if a float has no more digits.  Sums of a few thousand millions of such are
 * exact, so that it does not matter when they are taken; and what fades away
 * becomes 0: hosts take a hundred times as long for numbers that are too small
 * to be normalised.
 */
#define GRAIN_FLOAT     12.0f           /* 1.5 * 2^(23 - 20) */
#define GRAIN_DOUBLE    6442450944.0    /* 1.5 * 2^(52 - 20) */

/* Samples between two adjustments, of which so many weigh 1 - 1/e. */
#define ADJUST_SAMPLES      512
#define ADJUST_MEMORY       8

/*
 * So many samples, half a window of short stretches, are compared with their
 * means together, as slots are lost some stretches behind the load that is
 * waited for.
 */
#define BATCH       224

/*
 * A fit to batches that differ by less than that, in cycles of waiting or in
 * mispredictions, says nothing about what makes a difference: its slope is
 * pulled to what is expected as if one more had been so much different, and as
 * expected (ridge regression: Hoerl and Kennard, 1970).
 */
#define LITTLE_WAIT     100.0
#define LITTLE_MISSES   1.0

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

static double grain(double value)
{
    return (value + GRAIN_DOUBLE) - GRAIN_DOUBLE;
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

/* Is @item of a sample tallied? */
static bool wanted(const PmuCosts *costs, unsigned item)
{
    return costs->wanted >> item / PMU_SAMPLE_GROUP & 1;
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

/* What one time may leave to be taken off by later ones. */
#define DEBT_MOST   (1 << 28)

/* Where ledger item PMU_ITEM_@item is in a sample. */
#define ITEM(item)  (PMU_SAMPLE_ITEMS + PMU_ITEM_##item - PMU_ITEM_SAMPLED)

#define MISSES  (1u << PMU_KNOWN_MISPREDICTS)
#define L1      (1u << PMU_KNOWN_WAIT_L1)
#define L2      (1u << PMU_KNOWN_WAIT_L2)
#define L3      (1u << PMU_KNOWN_WAIT_L3)
#define DRAM    (1u << PMU_KNOWN_WAIT_DRAM)

/*
 * How much of an item is due to what it depends on: nobody knows before there
 * is a fit; all of it; or at most that nothing is done in all of these cycles,
 * in slots or in cycles.
 */
typedef enum Due {
    UNKNOWN, ALL, SLOTS, CYCLES,
} Due;

/*
 * What depends on what is known, and how much of it a cycle of waiting or a
 * misprediction can make: slots, cycles, or requests under way.  One regressor
 * each: where data come from L3 more often and from DRAM less, two would
 * explain each other.
 */
static const struct {
    uint8_t item, on;
    int16_t least, most;
    uint8_t due;
} dependent[PMU_COSTS_DEPENDENT] = {
    [PMU_COSTS_MEMORY_BOUND] =
        { PMU_SLOT_MEMORY_BOUND, L1 | L2 | L3 | DRAM, 0, 15, SLOTS },
    [PMU_COSTS_CORE_BOUND] =
        { PMU_SLOT_CORE_BOUND, L1 | L2 | L3 | DRAM, -15, 15, UNKNOWN },
    [PMU_COSTS_BR_MISPREDICT] =
        { PMU_SLOT_BR_MISPREDICT, MISSES, 0, 4096, ALL },
    { ITEM(MISSES_COND_NTAKEN), MISSES, 0, 1, ALL },
    { ITEM(MISSES_COND_TAKEN), MISSES, 0, 1, ALL },
    { ITEM(MISSES_JMP_INDIRECT), MISSES, 0, 1, ALL },
    { ITEM(MISSES_CALL_INDIRECT), MISSES, 0, 1, ALL },
    { ITEM(MISSES_RET), MISSES, 0, 1, ALL },
    { ITEM(RECOVERY_CYCLES), MISSES, 0, 512, ALL },
    { ITEM(CLEAR_CYCLES), MISSES, 0, 512, UNKNOWN },
    /* Cycles in which nothing is done. */
    { ITEM(ISSUED_0), L1 | L2 | L3 | DRAM, 0, 1, CYCLES },
    { ITEM(UNDELIVERED_0), L1 | L2 | L3 | DRAM, 0, 1, CYCLES },
    { ITEM(EXECUTED_0), L1 | L2 | L3 | DRAM, 0, 1, CYCLES },
    { ITEM(RETIRED_0), L1 | L2 | L3 | DRAM, 0, 1, CYCLES },
    /* Cycles by what is waited for: L1 while it is for nothing else. */
    { ITEM(WAIT_L1), L2 | L3 | DRAM, -1, 1, UNKNOWN },
    { ITEM(WAIT_L2), L2, 0, 1, ALL },
    { ITEM(WAIT_L3), L3, 0, 1, ALL },
    { ITEM(WAIT_DRAM), DRAM, 0, 1, ALL },
    { ITEM(STALL_L1), L2 | L3 | DRAM, -1, 1, UNKNOWN },
    { ITEM(STALL_L2), L2, 0, 1, ALL },
    { ITEM(STALL_L3), L3, 0, 1, ALL },
    { ITEM(STALL_DRAM), DRAM, 0, 1, ALL },
    /* Requests. */
    { ITEM(L1D_PENDING), L2 | L3 | DRAM, 0, 1, ALL },
    { ITEM(OFFCORE_DATA), L3 | DRAM, 0, 1, ALL },
    { ITEM(OFFCORE_DRAM), DRAM, 0, 1, ALL },
};

/* The sum of what @dependent[@i] depends on, of @known. */
static double regressor(const double known[PMU_KNOWN_NR], unsigned i)
{
    double sum = 0;

    for (unsigned j = 0; j < PMU_KNOWN_NR; j++) {
        sum += dependent[i].on >> j & 1 ? known[j] : 0;
    }
    return sum;
}

/* How much of @dependent[@i] of what is typical is due to what is known. */
static double due(const PmuCosts *costs, unsigned i)
{
    const double *item = costs->typical.item;
    double known = regressor(item + PMU_SAMPLE_KNOWN, i);

    switch ((Due)dependent[i].due) {
    case ALL:
        return item[dependent[i].item];
    case SLOTS:
        return known * costs->uarch->width;
    case CYCLES:
        return known;
    default:
        return known * costs->fit[i].slope;
    }
}

/* Cycles of which fetch waits for code that is not in L1I, in slots or not. */
static const struct {
    uint8_t item;
    bool slots;
} fetch_bound[] = {
    { PMU_SLOT_FETCH_LATENCY, true },
    { ITEM(ISSUED_0), false },
    { ITEM(UNDELIVERED_0), false },
    { ITEM(EXECUTED_0), false },
    { ITEM(RETIRED_0), false },
    { ITEM(FETCH_DATA_CYCLES), false },
};

/* What a cycle makes of fetch_bound[@i]. */
static double cycle(const PmuCosts *costs, unsigned i)
{
    return fetch_bound[i].slots ? costs->uarch->width : 1;
}

/* Cycles that fetch waits for a line that comes from there. */
static uint32_t code_latency(const PmuCosts *costs, PmuCodeFrom from)
{
    switch (from) {
    case PMU_CODE_FROM_L2:
        return costs->uarch->l2.latency;
    case PMU_CODE_FROM_L3:
        return costs->uarch->l3.latency;
    default:
        return pmu_uarch_dram_latency(costs->uarch);
    }
}

/* An instruction that is typical, but for what is known of unknown ones. */
static void leave_known(const PmuCosts *costs, double item[PMU_SAMPLE_ROOM])
{
    const PmuTypical *typical = &costs->typical;
    double wait = 0;

    for (unsigned i = 0; i < PMU_SAMPLE_ROOM; i++) {
        item[i] = typical->item[i];
    }
    for (unsigned i = 0; i < PMU_KNOWN_NR; i++) {
        item[PMU_SAMPLE_KNOWN + i] = 0;
    }
    for (unsigned i = 0; i < PMU_COSTS_DEPENDENT; i++) {
        double *of = &item[dependent[i].item];

        *of = MAX(*of - due(costs, i), 0);
    }
    item[ITEM(L1I_MISSES)] = 0;
    for (unsigned i = 0; i < PMU_CODE_FROM_NR; i++) {
        wait += item[ITEM(CODE_L2) + i] * code_latency(costs, i);
        item[ITEM(CODE_L2) + i] = 0;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(fetch_bound); i++) {
        double *of = &item[fetch_bound[i].item];

        *of = MAX(*of - wait * cycle(costs, i), 0);
    }
    for (unsigned i = 0; i < PMU_SAMPLE_ROOM; i++) {
        item[i] = grain(item[i] / typical->insns);
    }
}

/* Unknown code had @misses. */
static void add_misses(const PmuCosts *costs, double sum[PMU_SAMPLE_ROOM],
                       const PmuCodeMisses *misses)
{
    double wait = 0;

    for (unsigned i = 0; i < PMU_CODE_FROM_NR; i++) {
        wait += misses->from[i] * code_latency(costs, i);
        sum[ITEM(CODE_L2) + i] += misses->from[i];
        sum[ITEM(L1I_MISSES)] += misses->from[i];
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(fetch_bound); i++) {
        sum[fetch_bound[i].item] += wait * cycle(costs, i);
    }
}

/* What is unknown is supposed to be typical. */
static void settle_unknown(const PmuCosts *costs, PmuTally *tally)
{
    double item[PMU_SAMPLE_ROOM], insns = tally->unknown_insns;
    PmuCodeMisses misses = tally->unknown_code;

    tally->unknown_insns = 0;
    tally->unknown_code = (PmuCodeMisses) {};
    if (!insns) {
        return;
    }
    if (!costs->typical.insns) {
        /* Most instructions take one slot. */
        tally->sum[PMU_SLOT_LIGHT_OPS] += insns;
        return;
    }
    leave_known(costs, item);
    for (unsigned i = 0; i < PMU_SAMPLE_NR; i++) {
        tally->sum[i] += wanted(costs, i) ? item[i] * insns : 0;
    }
    add_misses(costs, tally->sum, &misses);
}

/*
 * What is known of @tally beyond what was foretold, which is over; and of what
 * it stands for: double sampling (Cochran, ch. 12).
 */
static void take_known(PmuCosts *costs, PmuTally *tally,
                       double beyond[PMU_KNOWN_NR])
{
    for (unsigned i = 0; i < PMU_KNOWN_NR; i++) {
        double known = tally->known.n[i];
        double *foretold = &tally->sum[PMU_SAMPLE_KNOWN + i];

        beyond[i] = (known - *foretold) * costs->weight;
        if (i <= PMU_KNOWN_WAIT_DRAM && costs->weight) {
            costs->waited += known;
            costs->foretold += *foretold;
        }
        *foretold = 0;
        tally->known.n[i] = 0;
    }
}

/* Make up for what was not as foretold. */
static void correct(PmuCosts *costs, PmuTally *tally)
{
    const PmuCostFit *fit = costs->fit;
    double beyond[PMU_KNOWN_NR];

    take_known(costs, tally, beyond);
    for (unsigned i = 0; i < PMU_COSTS_DEPENDENT; i++) {
        double *sum = &tally->sum[dependent[i].item];
        double correction = tally->correction[i] +
                            regressor(beyond, i) * fit[i].slope;
        double now;

        if (!wanted(costs, dependent[i].item)) {
            continue;
        }
        correction = MAX(correction, -DEBT_MOST);
        now = MAX(correction, -*sum);
        tally->correction[i] = correction - now;
        *sum += now;
    }
}

void pmu_costs_settle(PmuCosts *costs)
{
    settle_known(costs);
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        settle_unknown(costs, &costs->tally[level]);
        correct(costs, &costs->tally[level]);
    }
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

/* Move those of @group of @mean to @value by @weight.  Hot: vectors will do. */
static void move_means(float *restrict mean, const uint32_t *restrict value,
                       unsigned group, float weight)
{
    mean += group * PMU_SAMPLE_GROUP;
    value += group * PMU_SAMPLE_GROUP;
    for (unsigned i = 0; i < PMU_SAMPLE_GROUP; i++) {
        mean[i] += ((int32_t)value[i] - mean[i]) * weight;
        mean[i] = (mean[i] + GRAIN_FLOAT) - GRAIN_FLOAT;
    }
}

/* What to expect of a slope before there is a fit, and give or take what. */
typedef struct Expected {
    double slope, deviation;
} Expected;

/* ... of @dependent[@i]. */
static Expected expected(const PmuCosts *costs, unsigned i)
{
    const double *item = costs->typical.item;
    double width = costs->uarch->width;
    double known = regressor(item + PMU_SAMPLE_KNOWN, i);
    double all = known ? item[dependent[i].item] / known : 0;

    switch ((Due)dependent[i].due) {
    case ALL:
        return (Expected) { all, all / 2 };
    case SLOTS:
        /* If it were more, some is lost for other reasons: nobody knows. */
        return (Expected) { all <= width ? all : 0, width / 2 };
    case CYCLES:
        return (Expected) {
            costs->fit[PMU_COSTS_MEMORY_BOUND].slope / width, 0.5,
        };
    default:
        return (Expected) { 0, i == PMU_COSTS_CORE_BOUND ? width / 2 : 0.5 };
    }
}

/*
 * The slope that is the most likely if what is expected of it is normally
 * distributed, and so is what a batch took besides.
 */
static void adjust_fit(PmuCosts *costs, unsigned i)
{
    PmuCostFit *fit = &costs->fit[i];
    Expected before = expected(costs, i);
    double little = dependent[i].on == MISSES ? LITTLE_MISSES : LITTLE_WAIT;
    double ridge = little * little, slope;

    if (fit->known_known && before.deviation) {
        double explained = fit->known_took * fit->known_took /
                           fit->known_known;
        double variance = (fit->took_took - explained) /
                          MAX(costs->batches - 1, 1);

        ridge += MAX(variance, 0) / (before.deviation * before.deviation);
    }
    slope = (fit->known_took + ridge * before.slope) /
            (fit->known_known + ridge);
    fit->slope = grain(CLAMP(slope, dependent[i].least, dependent[i].most));
    fit->known_known -= fit->known_known / ADJUST_MEMORY;
    fit->known_took -= fit->known_took / ADJUST_MEMORY;
    fit->took_took -= fit->took_took / ADJUST_MEMORY;
}

/* Some time has passed: look at what was compared, and forget older ones. */
static void adjust(PmuCosts *costs)
{
    PmuTypical *typical = &costs->typical;

    for (unsigned i = 0; i < PMU_COSTS_DEPENDENT; i++) {
        adjust_fit(costs, i);
    }
    costs->batches -= costs->batches / ADJUST_MEMORY;
    typical->insns -= typical->insns / ADJUST_MEMORY;
    for (unsigned i = 0; i < PMU_SAMPLE_NR; i++) {
        typical->item[i] = grain(typical->item[i] -
                                 typical->item[i] / ADJUST_MEMORY);
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

/* How far @item of @sample is from its mean. */
static float beyond(const PmuCostMeans *means, const PmuSample *sample,
                    unsigned item)
{
    return (int32_t)sample->item[item] - means->mean[item];
}

/* A batch is full: into the sums, and begin the next. */
static void end_batch(PmuCosts *costs)
{
    const PmuCostBatch *batch = &costs->batch;

    for (unsigned i = 0; i < PMU_COSTS_DEPENDENT; i++) {
        double known = regressor(batch->known, i);
        double took = batch->took[i];

        costs->fit[i].known_known += known * known;
        costs->fit[i].known_took += known * took;
        costs->fit[i].took_took += took * took;
    }
    costs->batch = (PmuCostBatch) { 0 };
    costs->batches++;
}

/* What has what is known to do with how @sample is not as the mean? */
static void compare(PmuCosts *costs, const PmuCostMeans *means,
                    const PmuSample *sample)
{
    PmuCostBatch *batch = &costs->batch;

    for (unsigned i = 0; i < PMU_KNOWN_NR; i++) {
        batch->known[i] += beyond(means, sample, PMU_SAMPLE_KNOWN + i);
    }
    for (unsigned i = 0; i < PMU_COSTS_DEPENDENT; i++) {
        batch->took[i] += beyond(means, sample, dependent[i].item);
    }
    if (++batch->samples == BATCH) {
        end_batch(costs);
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
        trial->known[i] += beyond(means, sample, PMU_SAMPLE_KNOWN + i);
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

/* What of class @item was foretold, had that been known which was. */
static double corrected(const PmuCosts *costs, unsigned item)
{
    double foretold = costs->trial.foretold[item];

    for (unsigned i = 0; i < PMU_COSTS_DEPENDENT; i++) {
        foretold += dependent[i].item == item
                    ? regressor(costs->trial.known, i) * costs->fit[i].slope
                    : 0;
    }
    return foretold;
}

double pmu_costs_error(const PmuCosts *costs)
{
    const PmuCostTrial *trial = &costs->trial;
    double most = 0, slots = 0;

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        double off = trial->took[i] - corrected(costs, i);

        slots += trial->took[i];
        most = MAX(most, MAX(off, -off));
    }
    return slots ? most / slots : 1;
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
        compare(costs, means, sample);
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
        adjust(costs);
    }
}
