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
        .times = g_try_new0(uint32_t, PMU_BLOCK_NUMBERS + 1),
        .run = g_try_new(PmuRun, PMU_RUNS_MOST),
    };
    return runs->times && runs->run;
}

void pmu_runs_destroy(PmuRuns *runs)
{
    g_clear_pointer(&runs->times, g_free);
    g_clear_pointer(&runs->run, g_free);
}

bool pmu_runs_add(PmuRuns *runs, const PmuBlock *block, PmuCost *cost,
                  uint64_t key)
{
    uint32_t *times = &runs->times[block->number];

    if (runs->number == PMU_RUNS_MOST) {
        return false;
    }
    *times = 1;
    runs->run[runs->number++] = (PmuRun) {
        .block = block, .cost = cost, .key = key, .times = times,
    };
    return true;
}

void pmu_runs_clear(PmuRuns *runs)
{
    while (runs->number) {
        *runs->run[--runs->number].times = 0;
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
            runs->run[kept++] = *run;
        } else {
            *run->times = 0;
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
        uint32_t times = *runs->run[i].times - 1;

        if (!times) {
            continue;
        }
        *runs->run[i].times = 1;
        pmu_counts_enter_block(block, times, ledger->event[block->level]);
        pmu_costs_count_times(costs, cost, times);
        progress += (((uint64_t)block->num_insns << PMU_COST_SHIFT) +
                     cost->slots) * times;
    }
    return progress;
}
