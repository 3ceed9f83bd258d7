/*
 * What stretches of code cost, as far as the pipeline was watched.
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
 * The newest sample weighs at least 1/HORIZON: older ones are forgotten, as
 * what is around a stretch changes with the phases of a program.  With fewer
 * the means of stretches whose costs vary were off by a quarter at times.
 */
#define HORIZON     64

/* The windows that the ratio looks back on. */
#define ADJUST_WINDOWS 8

/* More than that in one sample is cut, so that sums of means have room. */
#define MOST        (UINT32_MAX >> (PMU_COST_SHIFT + 4))

bool pmu_costs_init(PmuCosts *costs)
{
    *costs = (PmuCosts) {
        .entries = g_try_new0(PmuCost, ENTRIES),
        .dirty = g_try_new(uint32_t, ENTRIES),
    };
    if (!costs->entries || !costs->dirty) {
        pmu_costs_destroy(costs);
        return false;
    }
    pmu_costs_clear(costs);
    return true;
}

void pmu_costs_destroy(PmuCosts *costs)
{
    g_clear_pointer(&costs->entries, g_free);
    g_clear_pointer(&costs->dirty, g_free);
}

void pmu_costs_clear(PmuCosts *costs)
{
    memset(costs->entries, 0, ENTRIES * sizeof(*costs->entries));
    memset(costs->sum, 0, sizeof(costs->sum));
    memset(costs->foretold, 0, sizeof(costs->foretold));
    memset(costs->came, 0, sizeof(costs->came));
    for (unsigned i = 0; i < PMU_TIMED_NR; i++) {
        costs->ratio[i] = PMU_RATIO_ONE;
    }
    costs->slots_ratio = PMU_RATIO_ONE;
    costs->num_dirty = 0;
}

PmuCost *pmu_costs_find_other(PmuCosts *costs, uint64_t key)
{
    PmuCost *set = pmu_costs_set(costs, key);

    for (unsigned i = 0; i < PMU_COST_WAYS; i++) {
        if (set[i].key == key) {
            return &set[i];
        }
    }
    return NULL;
}

void pmu_costs_list(PmuCosts *costs, PmuCost *cost)
{
    cost->dirty = true;
    costs->dirty[costs->num_dirty++] = cost - costs->entries;
}

static void settle(PmuCosts *costs, PmuCost *cost)
{
    bool steady = pmu_cost_is_steady(cost);

    for (unsigned i = 0; i < PMU_TIMED_NR; i++) {
        uint64_t ratio = steady ? PMU_RATIO_ONE : costs->ratio[i];

        costs->sum[i] += (uint64_t)cost->mean[i] * cost->pending *
                         ratio >> PMU_RATIO_SHIFT;
    }
    cost->pending = 0;
}

void pmu_costs_settle(PmuCosts *costs)
{
    while (costs->num_dirty) {
        PmuCost *cost = &costs->entries[costs->dirty[--costs->num_dirty]];

        settle(costs, cost);
        cost->dirty = false;
    }
}

void pmu_costs_compare(PmuCosts *costs, const PmuCost *cost,
                       const PmuDelta *sample)
{
    if (pmu_cost_is_steady(cost)) {
        return;
    }
    for (unsigned i = 0; i < PMU_TIMED_NR; i++) {
        costs->foretold[i] += cost->mean[i];
        costs->came[i] += (uint64_t)sample->item[i] << PMU_COST_SHIFT;
    }
}

/* @steadying is added to both, so that little that was foretold says little. */
static uint32_t quotient(uint64_t came, uint64_t foretold, uint64_t steadying)
{
    came += steadying;
    foretold += steadying;
    return foretold ? CLAMP((came << PMU_RATIO_SHIFT) / foretold,
                            PMU_RATIO_ONE / 4, PMU_RATIO_ONE * 4)
                    : PMU_RATIO_ONE;
}

void pmu_costs_adjust(PmuCosts *costs)
{
    uint64_t came = 0, foretold = 0;

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        came += costs->came[i];
        foretold += costs->foretold[i];
    }
    costs->slots_ratio = quotient(came, foretold, 0);
    for (unsigned i = 0; i < PMU_TIMED_NR; i++) {
        costs->ratio[i] = quotient(costs->came[i], costs->foretold[i],
                                   foretold / 16);
        costs->came[i] -= costs->came[i] / ADJUST_WINDOWS;
        costs->foretold[i] -= costs->foretold[i] / ADJUST_WINDOWS;
    }
}

/*
 * An entry for @key, which has none: the one that was sampled the least goes.
 * The others of the set age, so that none stays for ever.
 */
static PmuCost *replace(PmuCosts *costs, uint64_t key)
{
    PmuCost *set = pmu_costs_set(costs, key);
    PmuCost *victim = &set[pmu_costs_way(key)];
    bool dirty;

    for (unsigned i = 0; i < PMU_COST_WAYS; i++) {
        if (set[i].samples < victim->samples) {
            victim = &set[i];
        }
    }
    for (unsigned i = 0; i < PMU_COST_WAYS; i++) {
        set[i].samples -= set[i].samples > 1;
    }
    settle(costs, victim);
    dirty = victim->dirty;
    *victim = (PmuCost) { .key = key, .dirty = dirty };
    return victim;
}

/* A mean over @samples samples, the last of which is @value, rounded. */
static uint32_t new_mean(uint32_t mean, uint32_t value, int samples)
{
    int64_t change = (int64_t)(MIN(value, MOST) << PMU_COST_SHIFT) - mean;

    return mean + (change + (change < 0 ? -samples : samples) / 2) / samples;
}

/* Is @sample near the mean of @cost: within an eighth, or two cycles? */
static bool is_near(const PmuCost *cost, const PmuDelta *sample)
{
    int64_t distance = -(int64_t)cost->slots;

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        distance += (int64_t)sample->item[i] << PMU_COST_SHIFT;
    }
    return ABS(distance) <= cost->slots / 8 + 12 * PMU_COST_ONE;
}

void pmu_costs_learn(PmuCosts *costs, uint64_t key, const PmuDelta *sample)
{
    PmuCost *cost = pmu_costs_find(costs, key);

    if (!cost) {
        cost = replace(costs, key);
    }
    settle(costs, cost);
    cost->samples += cost->samples < HORIZON;
    cost->steady = is_near(cost, sample)
                   ? MIN(cost->steady + 1, 4 * PMU_COST_STEADY)
                   : cost->steady - MIN(cost->steady, 4);
    for (unsigned i = 0; i < PMU_TIMED_NR; i++) {
        cost->mean[i] = new_mean(cost->mean[i], sample->item[i],
                                 cost->samples);
    }
    cost->slots = 0;
    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        cost->slots += cost->mean[i];
    }
}
