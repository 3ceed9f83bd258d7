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

#define ENTRIES ((1u << PMU_COST_SET_BITS) * PMU_COST_WAYS)

/*
 * A sample weighs as much as its number says, counted from 0, of so many at
 * most: what was found first, with cold caches and untrained predictors, is
 * soon forgotten, and later what was found long ago, as what is around a
 * stretch changes with the phases of a program.
 */
#define HORIZON     256

/* As many samples are enough for not asking for more. */
#define ENOUGH      32

/* Samples between two adjustments, of which so many weigh 1 - 1/e. */
#define ADJUST_SAMPLES      512
#define ADJUST_MEMORY       8

/*
 * So many samples, half a window of short stretches, are compared with their
 * means together, as slots are lost some stretches behind the load that is
 * waited for.
 */
#define BATCH       224

/* More than that in one sample is cut, so that sums of means have room. */
#define MOST        (UINT32_MAX >> (PMU_COST_SHIFT + 4))

bool pmu_costs_init(PmuCosts *costs)
{
    *costs = (PmuCosts) {
        .entries = g_try_new0(PmuCost, ENTRIES),
        .means = g_try_new0(PmuCostMeans, ENTRIES),
        .dirty = g_try_new(uint32_t, ENTRIES),
    };
    if (!costs->entries || !costs->means || !costs->dirty) {
        pmu_costs_destroy(costs);
        return false;
    }
    return true;
}

void pmu_costs_destroy(PmuCosts *costs)
{
    g_clear_pointer(&costs->entries, g_free);
    g_clear_pointer(&costs->means, g_free);
    g_clear_pointer(&costs->dirty, g_free);
}

void pmu_costs_clear(PmuCosts *costs)
{
    PmuCost *entries = costs->entries;
    PmuCostMeans *means = costs->means;
    uint32_t *dirty = costs->dirty;

    memset(entries, 0, ENTRIES * sizeof(*entries));
    memset(means, 0, ENTRIES * sizeof(*means));
    *costs = (PmuCosts) { .entries = entries, .means = means, .dirty = dirty };
}

/* Counting. */

/* @means are needed in this epoch. */
static void need(const PmuCosts *costs, PmuCostMeans *means)
{
    if (means->epoch != costs->epoch) {
        means->epoch = costs->epoch;
        means->times = 0;
    }
}

static void settle(PmuCosts *costs, PmuCost *cost)
{
    PmuCostMeans *means = &costs->means[cost - costs->entries];
    uint64_t *sum = costs->tally[pmu_costs_level(cost->key)].sum;
    uint64_t times = cost->pending;

    for (uint32_t left = means->groups; left; left &= left - 1) {
        unsigned first = __builtin_ctz(left) * PMU_SAMPLE_GROUP;

        for (unsigned i = first; i < first + PMU_SAMPLE_GROUP; i++) {
            sum[i] += times * means->mean[i];
        }
    }
    need(costs, means);
    means->times += times;
    cost->pending = 0;
}

static void settle_known(PmuCosts *costs)
{
    while (costs->num_dirty) {
        settle(costs, &costs->entries[costs->dirty[--costs->num_dirty]]);
    }
}

/* What is unknown is supposed to be typical. */
static void settle_unknown(PmuTally *tally, const PmuTypical *typical)
{
    uint64_t insns = tally->unknown_insns;

    tally->unknown_insns = 0;
    if (!insns) {
        return;
    }
    if (!typical->insns) {
        /* Most instructions take one slot. */
        tally->sum[PMU_SLOT_LIGHT_OPS] += insns << PMU_COST_SHIFT;
        return;
    }
    for (unsigned i = 0; i < PMU_SAMPLE_NR; i++) {
        tally->sum[i] += (typical->item[i] << PMU_COST_SHIFT) /
                         typical->insns * insns;
    }
}

/* What one time may leave to be taken off by later ones. */
#define DEBT_MOST   (1ll << 40)

/* Where ledger item PMU_ITEM_@item is in a sample. */
#define ITEM(item)  (PMU_SAMPLE_ITEMS + PMU_ITEM_##item - PMU_ITEM_SAMPLED)

#define MISSES  (1u << PMU_KNOWN_MISPREDICTS)
#define L1      (1u << PMU_KNOWN_WAIT_L1)
#define L2      (1u << PMU_KNOWN_WAIT_L2)
#define L3      (1u << PMU_KNOWN_WAIT_L3)
#define DRAM    (1u << PMU_KNOWN_WAIT_DRAM)

/*
 * What depends on what is known, and how much of it a cycle of waiting or a
 * misprediction can make: slots, cycles, or requests under way.  One regressor
 * each: where data come from L3 more often and from DRAM less, two would
 * explain each other.
 */
static const struct {
    uint8_t item, on;
    int16_t least, most;
} dependent[PMU_COSTS_DEPENDENT] = {
    [PMU_COSTS_MEMORY_BOUND] =
        { PMU_SLOT_MEMORY_BOUND, L1 | L2 | L3 | DRAM, -15, 15 },
    [PMU_COSTS_CORE_BOUND] =
        { PMU_SLOT_CORE_BOUND, L1 | L2 | L3 | DRAM, -15, 15 },
    [PMU_COSTS_BR_MISPREDICT] = { PMU_SLOT_BR_MISPREDICT, MISSES, 0, 4096 },
    { ITEM(BRANCH_MISSES), MISSES, 0, 1 },
    { ITEM(MISSES_COND_NTAKEN), MISSES, 0, 1 },
    { ITEM(MISSES_COND_TAKEN), MISSES, 0, 1 },
    { ITEM(MISSES_JMP_INDIRECT), MISSES, 0, 1 },
    { ITEM(MISSES_CALL_INDIRECT), MISSES, 0, 1 },
    { ITEM(MISSES_RET), MISSES, 0, 1 },
    { ITEM(CLEARS), MISSES, 0, 1 },
    { ITEM(RECOVERY_CYCLES), MISSES, 0, 512 },
    { ITEM(CLEAR_CYCLES), MISSES, 0, 512 },
    /* Cycles in which nothing is done. */
    { ITEM(ISSUED_0), L1 | L2 | L3 | DRAM, 0, 1 },
    { ITEM(UNDELIVERED_0), L1 | L2 | L3 | DRAM, 0, 1 },
    { ITEM(EXECUTED_0), L1 | L2 | L3 | DRAM, 0, 1 },
    { ITEM(RETIRED_0), L1 | L2 | L3 | DRAM, 0, 1 },
    /* Cycles by what is waited for: L1 while it is for nothing else. */
    { ITEM(WAIT_L1), L2 | L3 | DRAM, -1, 1 },
    { ITEM(WAIT_L2), L2, 0, 1 },
    { ITEM(WAIT_L3), L3, 0, 1 },
    { ITEM(WAIT_DRAM), DRAM, 0, 1 },
    { ITEM(STALL_L1), L2 | L3 | DRAM, -1, 1 },
    { ITEM(STALL_L2), L2, 0, 1 },
    { ITEM(STALL_L3), L3, 0, 1 },
    { ITEM(STALL_DRAM), DRAM, 0, 1 },
    /* Requests. */
    { ITEM(L1D_PENDING), L2 | L3 | DRAM, 0, 1 },
    { ITEM(OFFCORE_DATA), L3 | DRAM, 0, 1 },
    { ITEM(OFFCORE_DRAM), DRAM, 0, 1 },
};

/* The sum of what @dependent[@i] depends on, of @known. */
static int64_t regressor(const int64_t known[PMU_KNOWN_NR], unsigned i)
{
    int64_t sum = 0;

    for (unsigned j = 0; j < PMU_KNOWN_NR; j++) {
        sum += dependent[i].on >> j & 1 ? known[j] : 0;
    }
    return sum;
}

/* What is known of @tally beyond what was foretold, which is over. */
static void take_known(PmuCosts *costs, PmuTally *tally,
                       int64_t beyond[PMU_KNOWN_NR])
{
    for (unsigned i = 0; i < PMU_KNOWN_NR; i++) {
        uint64_t *foretold = &tally->sum[PMU_SAMPLE_KNOWN + i];

        beyond[i] = tally->known.n[i] - (*foretold >> PMU_COST_SHIFT);
        if (i <= PMU_KNOWN_WAIT_DRAM) {
            costs->waited += tally->known.n[i];
            costs->foretold += *foretold >> PMU_COST_SHIFT;
        }
        *foretold &= PMU_COST_ONE - 1;
        tally->known.n[i] = 0;
    }
}

/* Make up for what was not as foretold. */
static void correct(PmuCosts *costs, PmuTally *tally)
{
    const PmuCostFit *fit = costs->fit;
    int64_t beyond[PMU_KNOWN_NR];

    take_known(costs, tally, beyond);
    for (unsigned i = 0; i < PMU_COSTS_DEPENDENT; i++) {
        uint64_t *sum = &tally->sum[dependent[i].item];
        int64_t correction = tally->correction[i] +
                             regressor(beyond, i) * fit[i].slope;
        int64_t now;

        correction = MAX(correction, -DEBT_MOST);
        now = MAX(correction, -(int64_t)*sum);
        tally->correction[i] = correction - now;
        *sum += now;
    }
}

void pmu_costs_settle(PmuCosts *costs)
{
    settle_known(costs);
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        settle_unknown(&costs->tally[level], &costs->typical);
        correct(costs, &costs->tally[level]);
    }
}

void pmu_costs_take(PmuCosts *costs, PmuLevel level,
                    uint64_t whole[PMU_SAMPLE_KNOWN])
{
    uint64_t *sum = costs->tally[level].sum;

    for (unsigned i = 0; i < PMU_SAMPLE_KNOWN; i++) {
        whole[i] = sum[i] >> PMU_COST_SHIFT;
        sum[i] &= PMU_COST_ONE - 1;
    }
}

/* Learning. */

/* Which of @means was needed last the longest ago; of several, the weakest. */
static unsigned oldest(const PmuCosts *costs, const PmuCostMeans *means)
{
    unsigned result = 0;

    for (unsigned i = 1; i < PMU_COST_WAYS; i++) {
        uint32_t age = costs->epoch - means[i].epoch;
        uint32_t most = costs->epoch - means[result].epoch;

        if (age > most ||
            (age == most && means[i].samples < means[result].samples)) {
            result = i;
        }
    }
    return result;
}

/* An entry for @key, which has none. */
static PmuCost *replace(PmuCosts *costs, uint64_t key)
{
    PmuCost *set = pmu_costs_set(costs, key);
    PmuCostMeans *means = &costs->means[set - costs->entries];
    unsigned victim = oldest(costs, means);

    if (set[victim].pending) {
        /* It is in the list of those with pending. */
        settle_known(costs);
    }
    set[victim] = (PmuCost) { .key = key ^ PMU_COST_WEAK };
    means[victim] = (PmuCostMeans) { 0 };
    return &set[victim];
}

/* @mean moves to @value, sample number @samples from 1 on, rounded. */
static uint32_t new_mean(uint32_t mean, uint32_t value, int samples)
{
    int64_t change = (int64_t)(MIN(value, MOST) << PMU_COST_SHIFT) - mean;

    if (samples <= 2) {
        return mean + change;
    }
    change = 2 * change + (change < 0 ? -samples : samples) / 2;
    /* Hosts divide half as many bits in a fraction of the time. */
    return mean + (change == (int32_t)change ? (int32_t)change / samples
                                             : change / samples);
}

static void adjust_fit(PmuCostFit *fit, int64_t least, int64_t most)
{
    if (fit->known_known) {
        double slope = (double)fit->known_took / fit->known_known;

        fit->slope = CLAMP(slope, least, most) * PMU_COST_ONE;
    }
    fit->known_known -= fit->known_known / ADJUST_MEMORY;
    fit->known_took -= fit->known_took / ADJUST_MEMORY;
}

/* Some time has passed: look at what was compared, and forget older ones. */
static void adjust(PmuCosts *costs)
{
    PmuTypical *typical = &costs->typical;

    for (unsigned i = 0; i < PMU_COSTS_DEPENDENT; i++) {
        adjust_fit(&costs->fit[i], dependent[i].least, dependent[i].most);
    }
    typical->insns -= typical->insns / ADJUST_MEMORY;
    for (unsigned i = 0; i < PMU_SAMPLE_NR; i++) {
        typical->item[i] -= typical->item[i] / ADJUST_MEMORY;
    }
}

/* A stretch of @insns instructions, any, took @sample. */
static void note_typical(PmuTypical *typical, uint32_t insns,
                         const PmuSample *sample)
{
    typical->insns += insns;
    for (unsigned i = 0; i < PMU_SAMPLE_NR; i++) {
        typical->item[i] += sample->item[i];
    }
}

/* How far @item of @sample is from its mean. */
static int64_t beyond(const PmuCostMeans *means, const PmuSample *sample,
                      unsigned item)
{
    int64_t is = sample->item[item];
    int64_t mean = means->mean[item] >> PMU_COST_SHIFT;

    return CLAMP(is - mean, -(int64_t)MOST, (int64_t)MOST);
}

/* A batch is full: into the sums, and begin the next. */
static void end_batch(PmuCosts *costs)
{
    const PmuCostBatch *batch = &costs->batch;

    for (unsigned i = 0; i < PMU_COSTS_DEPENDENT; i++) {
        int64_t known = regressor(batch->known, i);

        costs->fit[i].known_known += known * known;
        costs->fit[i].known_took += known * batch->took[i];
    }
    costs->batch = (PmuCostBatch) { 0 };
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

/*
 * What to expect from then on of a stretch that took @sample when it was seen
 * first.  Code that came from DRAM will be nearer.
 */
static PmuSample without_cold_code(const PmuSample *sample)
{
    static const PmuLedgerItem code[] = {
        PMU_ITEM_L1I_MISSES, PMU_ITEM_CODE_L2, PMU_ITEM_CODE_L3,
        PMU_ITEM_CODE_DRAM,
    };
    PmuSample warm = *sample;

    if (warm.item[pmu_sample_item(PMU_ITEM_CODE_DRAM)]) {
        warm.item[PMU_SLOT_FETCH_LATENCY] = 0;
        for (unsigned i = 0; i < G_N_ELEMENTS(code); i++) {
            warm.item[pmu_sample_item(code[i])] = 0;
        }
    }
    return warm;
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

static void learn(PmuCost *cost, PmuCostMeans *means, const PmuSample *sample)
{
    means->samples += means->samples < HORIZON;
    means->groups |= groups_of(sample->item);
    for (uint32_t left = means->groups; left; left &= left - 1) {
        unsigned first = __builtin_ctz(left) * PMU_SAMPLE_GROUP;

        for (unsigned i = first; i < first + PMU_SAMPLE_GROUP; i++) {
            if (means->mean[i] | sample->item[i]) {
                means->mean[i] = new_mean(means->mean[i], sample->item[i],
                                          means->samples);
            }
        }
    }
    cost->slots = 0;
    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        cost->slots += means->mean[i];
    }
}

void pmu_costs_learn(PmuCosts *costs, uint64_t key, uint32_t insns,
                     PmuCostCode code, const PmuSample *sample)
{
    PmuCost *cost = pmu_costs_find_any(costs, key);
    PmuCostMeans *means;

    if (!cost) {
        cost = replace(costs, key);
    } else if (cost->pending) {
        settle_known(costs);
    }
    means = &costs->means[cost - costs->entries];
    means->code = code;
    need(costs, means);
    if (means->changes != costs->changes) {
        means->changes = costs->changes;
        means->samples = MIN(means->samples, ENOUGH);
    }
    if (means->samples) {
        compare(costs, means, sample);
        learn(cost, means, sample);
    } else {
        PmuSample warm = without_cold_code(sample);

        learn(cost, means, &warm);
    }
    if (means->samples >= ENOUGH) {
        cost->key = key;
    }
    note_typical(&costs->typical, insns, sample);
    if (++costs->samples % ADJUST_SAMPLES == 0) {
        adjust(costs);
    }
}
