/*
 * Counts how often blocks ran, where the model needs no or little more of them.
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

/* PmuBlockRunCount.cost of @insns instructions; @slots in 1/PMU_CPI_ONE. */
static int64_t cost_of_run(uint32_t insns, uint32_t slots)
{
    uint64_t progress = ((uint64_t)insns << PMU_CPI_SHIFT) + slots;

    return (int64_t)(progress << PMU_LEFT_INSN_BITS) - insns;
}

/* Is the cost of @run that of its own block, and of low confidence? */
static bool is_low_confidence(const PmuBlockRun *run)
{
    return (run->cost->key ^ run->key) == PMU_CPI_LOW_CONFIDENCE;
}

/* Add @run to the list, which has room for it. */
static void append(PmuBlockRuns *runs, const PmuBlockRun *run)
{
    uint32_t at = runs->number++;

    if (is_low_confidence(run)) {
        runs->run[at] = runs->run[runs->low_confidence];
        at = runs->low_confidence++;
    }
    runs->run[at] = *run;
}

bool pmu_block_runs_add(PmuBlockRuns *runs, const PmuBlock *block,
                        PmuCpiEntry *cost)
{
    PmuBlockRun run = {
        .block = block, .cost = cost, .count = &runs->count[block->number],
        .key = pmu_cpi_table_key(pmu_block_hash(block, 0), block->level),
    };

    if (runs->number == PMU_BLOCK_RUNS_MAX) {
        return false;
    }
    *run.count = (PmuBlockRunCount) {
        .cost = cost_of_run(block->num_insns, cost->slots), .times = 1,
    };
    append(runs, &run);
    return true;
}

void pmu_block_runs_clear(PmuBlockRuns *runs)
{
    while (runs->number) {
        runs->run[--runs->number].count->times = 0;
    }
    runs->low_confidence = 0;
}

void pmu_block_runs_revise(PmuBlockRuns *runs, bool low_confidence_too)
{
    uint64_t same = low_confidence_too ? ~PMU_CPI_LOW_CONFIDENCE : UINT64_MAX;
    uint32_t number = runs->number;

    if (number == PMU_BLOCK_RUNS_MAX) {
        pmu_block_runs_clear(runs);
        return;
    }
    runs->number = 0;
    runs->low_confidence = 0;
    for (uint32_t i = 0; i < number; i++) {
        PmuBlockRun run = runs->run[i];

        if (((run.cost->key ^ run.key) & same) == 0) {
            run.count->cost = cost_of_run(pmu_cost_insns(run.count->cost),
                                          run.cost->slots);
            append(runs, &run);
        } else {
            run.count->times = 0;
        }
    }
}

/* Enter the runs that @run has counted.  Returns false if there are none. */
static bool collect(const PmuBlockRun *run, PmuCpiTable *table,
                    PmuLedger *ledger)
{
    const PmuBlock *block = run->block;
    uint32_t times = run->count->times - 1;

    if (!times) {
        return false;
    }
    run->count->times = 1;
    pmu_block_add_to_ledger(block, times, ledger->event[block->level]);
    pmu_cpi_table_count_times(table, run->cost, times);
    return true;
}

void pmu_block_runs_collect_low_confidence(PmuBlockRuns *runs,
                                           PmuCpiTable *table,
                                           PmuLedger *ledger)
{
    for (uint32_t i = 0; i < runs->low_confidence; i++) {
        if (collect(&runs->run[i], table, ledger)) {
            pmu_cpi_table_note_low_confidence(table, runs->run[i].cost);
        }
    }
}

void pmu_block_runs_collect(PmuBlockRuns *runs, PmuCpiTable *table,
                            PmuLedger *ledger)
{
    pmu_block_runs_collect_low_confidence(runs, table, ledger);
    for (uint32_t i = runs->low_confidence; i < runs->number; i++) {
        collect(&runs->run[i], table, ledger);
    }
}
