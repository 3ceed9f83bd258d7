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
#define HORIZON     256

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
    costs->num_dirty = 0;
}

size_t pmu_costs_size(void)
{
    return ENTRIES * (sizeof(PmuCost) + sizeof(uint32_t));
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
    for (unsigned i = 0; i < PMU_TIMED_NR; i++) {
        costs->sum[i] += (uint64_t)cost->mean[i] * cost->pending;
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

void pmu_costs_learn(PmuCosts *costs, uint64_t key, const PmuDelta *sample)
{
    PmuCost *cost = pmu_costs_find(costs, key);

    if (!cost) {
        cost = replace(costs, key);
    }
    settle(costs, cost);
    cost->samples += cost->samples < HORIZON;
    for (unsigned i = 0; i < PMU_TIMED_NR; i++) {
        cost->mean[i] = new_mean(cost->mean[i], sample->item[i],
                                 cost->samples);
    }
    cost->slots = 0;
    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        cost->slots += cost->mean[i];
    }
}
