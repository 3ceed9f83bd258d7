/*
 * How often blocks ran, where that says all or nearly all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcg/pmu/decode/block-counts.h"
#include "tcg/pmu/sampling/block-runs.h"

bool pmu_block_runs_init(PmuBlockRuns *runs)
{
    *runs = (PmuBlockRuns) {
        .count = g_try_new0(PmuBlockRunCount, PMU_BLOCK_NUMBERS + 1),
        .run = g_try_new(PmuBlockRun, PMU_BLOCK_RUNS_MAX),
    };
    return runs->count && runs->run;
}

void pmu_block_runs_destroy(PmuBlockRuns *runs)
{
    g_clear_pointer(&runs->count, g_free);
    g_clear_pointer(&runs->run, g_free);
}

bool pmu_block_runs_add(PmuBlockRuns *runs, const PmuBlock *block,
                        PmuCpiEntry *cost)
{
    PmuBlockRunCount *count = &runs->count[block->number];

    if (runs->number == PMU_BLOCK_RUNS_MAX) {
        return false;
    }
    *count = (PmuBlockRunCount) { .times = 1, .slots = cost->slots };
    runs->run[runs->number++] = (PmuBlockRun) {
        .block = block, .cost = cost, .count = count,
        .key = pmu_cpi_table_key(pmu_block_hash(block, 0), block->level),
    };
    return true;
}

void pmu_block_runs_clear(PmuBlockRuns *runs)
{
    while (runs->number) {
        runs->run[--runs->number].count->times = 0;
    }
}

void pmu_block_runs_revise(PmuBlockRuns *runs, bool low_confidence_too)
{
    uint64_t same = low_confidence_too ? ~PMU_CPI_LOW_CONFIDENCE : UINT64_MAX;
    uint32_t kept = 0;

    if (runs->number == PMU_BLOCK_RUNS_MAX) {
        pmu_block_runs_clear(runs);
    }
    for (uint32_t i = 0; i < runs->number; i++) {
        const PmuBlockRun *run = &runs->run[i];

        if (((run->cost->key ^ run->key) & same) == 0) {
            run->count->slots = run->cost->slots;
            runs->run[kept++] = *run;
        } else {
            run->count->times = 0;
        }
    }
    runs->number = kept;
}

void pmu_block_runs_collect(PmuBlockRuns *runs, PmuCpiTable *table,
                            PmuLedger *ledger)
{
    for (uint32_t i = 0; i < runs->number; i++) {
        const PmuBlock *block = runs->run[i].block;
        PmuCpiEntry *cost = runs->run[i].cost;
        PmuBlockRunCount *count = runs->run[i].count;
        uint32_t times = count->times - 1;

        if (!times) {
            continue;
        }
        count->times = 1;
        pmu_block_add_to_ledger(block, times, ledger->event[block->level]);
        pmu_cpi_table_count_times(table, cost, times);
    }
}
