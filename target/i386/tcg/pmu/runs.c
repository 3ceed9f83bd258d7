/*
 * How often blocks ran, where translated code counts that itself.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include "runs.h"

bool pmu_runs_init(PmuRuns *runs)
{
    *runs = (PmuRuns) { .run = g_try_new(PmuRun, PMU_RUNS_MOST) };
    return runs->run;
}

void pmu_runs_destroy(PmuRuns *runs)
{
    g_clear_pointer(&runs->run, g_free);
}

bool pmu_runs_add(PmuRuns *runs, const PmuBlock *block, PmuCost *cost,
                  uint64_t key, uint32_t *times)
{
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

void pmu_runs_revise(PmuRuns *runs)
{
    uint32_t kept = 0;

    if (runs->number == PMU_RUNS_MOST) {
        pmu_runs_clear(runs);
    }
    for (uint32_t i = 0; i < runs->number; i++) {
        const PmuRun *run = &runs->run[i];

        if (((run->cost->key ^ run->key) & ~PMU_COST_WEAK) == 0) {
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
