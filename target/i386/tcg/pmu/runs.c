/*
 * How often blocks ran, where that says all or nearly all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include "runs.h"

bool pmu_runs_init(PmuRuns *runs)
{
    *runs = (PmuRuns) {
        .count = g_try_new0(PmuRunCount, PMU_BLOCK_NUMBERS + 1),
        .run = g_try_new(PmuRun, PMU_RUNS_MOST),
    };
    return runs->count && runs->run;
}

void pmu_runs_destroy(PmuRuns *runs)
{
    g_clear_pointer(&runs->count, g_free);
    g_clear_pointer(&runs->run, g_free);
}

bool pmu_runs_add(PmuRuns *runs, const PmuBlock *block, PmuCost *cost,
                  uint64_t key)
{
    PmuRunCount *count = &runs->count[block->number];

    if (runs->number == PMU_RUNS_MOST) {
        return false;
    }
    *count = (PmuRunCount) { .times = 1, .slots = cost->slots };
    runs->run[runs->number++] = (PmuRun) {
        .block = block, .cost = cost, .key = key, .count = count,
    };
    return true;
}

void pmu_runs_clear(PmuRuns *runs)
{
    while (runs->number) {
        runs->run[--runs->number].count->times = 0;
    }
}

void pmu_runs_revise(PmuRuns *runs, bool weak_too)
{
    uint64_t same = weak_too ? ~PMU_COST_WEAK : UINT64_MAX;
    uint32_t kept = 0;

    if (runs->number == PMU_RUNS_MOST) {
        pmu_runs_clear(runs);
    }
    for (uint32_t i = 0; i < runs->number; i++) {
        const PmuRun *run = &runs->run[i];

        if (((run->cost->key ^ run->key) & same) == 0) {
            run->count->slots = run->cost->slots;
            runs->run[kept++] = *run;
        } else {
            run->count->times = 0;
        }
    }
    runs->number = kept;
}

uint64_t pmu_runs_collect(PmuRuns *runs, PmuCosts *costs, PmuLedger *ledger)
{
    uint64_t progress = 0;

    for (uint32_t i = 0; i < runs->number; i++) {
        const PmuBlock *block = runs->run[i].block;
        PmuCost *cost = runs->run[i].cost;
        PmuRunCount *count = runs->run[i].count;
        uint32_t times = count->times - 1;

        if (!times) {
            continue;
        }
        count->times = 1;
        pmu_counts_enter_block(block, times, ledger->event[block->level]);
        pmu_costs_count_times(costs, cost, times);
        progress += (((uint64_t)block->num_insns << PMU_COST_SHIFT) +
                     count->slots) * times;
    }
    return progress;
}
