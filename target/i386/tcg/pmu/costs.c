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

/* No core loses more slots in a cycle. */
#define SLOPE_MOST  ((int64_t)PMU_LEDGER_MAX_WIDTH * PMU_COST_ONE)

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

/* Slots that one time may leave to be taken off by later ones. */
#define DEBT_MOST   (1ll << 40)

static const PmuSlotClass backend[PMU_COSTS_BACKEND] = {
    PMU_SLOT_MEMORY_BOUND, PMU_SLOT_CORE_BOUND,
};

/* Slots for cycles waited beyond what was foretold. */
static void correct(PmuTally *tally, const int64_t slope[PMU_COSTS_BACKEND])
{
    uint64_t *foretold = &tally->sum[PMU_SAMPLE_WAIT];
    int64_t beyond = tally->wait - (*foretold >> PMU_COST_SHIFT);

    *foretold &= PMU_COST_ONE - 1;
    tally->wait = 0;
    for (unsigned i = 0; i < PMU_COSTS_BACKEND; i++) {
        uint64_t *lost = &tally->sum[backend[i]];
        int64_t correction = tally->correction[i] + beyond * slope[i];
        int64_t now;

        correction = MAX(correction, -DEBT_MOST);
        now = MAX(correction, -(int64_t)*lost);
        tally->correction[i] = correction - now;
        *lost += now;
    }
}

void pmu_costs_settle(PmuCosts *costs)
{
    settle_known(costs);
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        settle_unknown(&costs->tally[level], &costs->typical);
        correct(&costs->tally[level], costs->slope);
    }
}

void pmu_costs_take(PmuCosts *costs, PmuLevel level,
                    uint64_t whole[PMU_SAMPLE_WAIT])
{
    uint64_t *sum = costs->tally[level].sum;

    for (unsigned i = 0; i < PMU_SAMPLE_WAIT; i++) {
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

static void adjust_slopes(PmuCosts *costs)
{
    int64_t scale = costs->wait_wait >> PMU_COST_SHIFT;

    costs->wait_wait -= costs->wait_wait / ADJUST_MEMORY;
    for (unsigned i = 0; i < PMU_COSTS_BACKEND; i++) {
        costs->slope[i] = scale ? CLAMP(costs->wait_lost[i] / scale,
                                        -SLOPE_MOST, SLOPE_MOST) : 0;
        costs->wait_lost[i] -= costs->wait_lost[i] / ADJUST_MEMORY;
    }
}

/* Some time has passed: look at what was compared, and forget older ones. */
static void adjust(PmuCosts *costs)
{
    PmuTypical *typical = &costs->typical;

    adjust_slopes(costs);
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

    costs->wait_wait += batch->wait * batch->wait;
    for (unsigned i = 0; i < PMU_COSTS_BACKEND; i++) {
        costs->wait_lost[i] += batch->wait * batch->lost[i];
    }
    costs->batch = (PmuCostBatch) { 0 };
}

/* What the wait has to do with how @sample is not as the mean. */
static void compare(PmuCosts *costs, const PmuCostMeans *means,
                    const PmuSample *sample)
{
    PmuCostBatch *batch = &costs->batch;

    batch->wait += beyond(means, sample, PMU_SAMPLE_WAIT);
    for (unsigned i = 0; i < PMU_COSTS_BACKEND; i++) {
        batch->lost[i] += beyond(means, sample, backend[i]);
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
