/*
 * Warming: caches and predictors see code that the pipeline does not run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/sampling/warming.h"

/* Cycles of waiting for data that count as an instruction in a period. */
#define PERIOD_WAIT     16

/*
 * Let @wait cycles shorten the period: a loop that waits for DRAM does little
 * else, whether or not it is simulated in detail.
 */
static void count_wait_in_period(PmuTiming *t, uint64_t wait)
{
    if (t->cpi_table.observed && !t->plan.forwarded) {
        t->plan.wait += wait;
        t->plan.left -= t->plan.wait / PERIOD_WAIT;
        t->plan.wait %= PERIOD_WAIT;
    }
}

void pmu_timing_warm_slow_access(PmuTiming *t, const PmuBlockAccess *kind,
                                 uint64_t addr)
{
    count_wait_in_period(t,
                         pmu_functional_warm_data(&t->functional, kind, addr));
}

void pmu_timing_warm_range(PmuTiming *t, const PmuBlock *block,
                           unsigned first, unsigned last, const uint64_t *addr)
{
    for (unsigned i = first; i < last; i++) {
        const PmuBlockInsn *bi = &block->insns[i];

        if (bi->ea != PMU_NO_ACCESS) {
            pmu_timing_warm_access(t, block, bi->ea, addr);
        }
        if (bi->stack != PMU_NO_ACCESS) {
            pmu_timing_warm_access(t, block, bi->stack, addr);
        }
    }
}

void pmu_timing_warm_fetch(PmuTiming *t, const PmuBlock *block,
                           unsigned first, unsigned last,
                           const PmuExecution *dynamic)
{
    uint64_t before = pmu_covariates_wait(&t->functional.covariates);

    while (first < last) {
        first = pmu_functional_run_fetch(&t->functional, block, first, last,
                                         dynamic);
    }
    count_wait_in_period(t, pmu_covariates_wait(&t->functional.covariates) -
                         before);
    if (t->functional.outcome.branch & PMU_OUTCOME_MISPREDICT) {
        t->progress += pmu_cpi_table_mispredict_slots(&t->cpi_table);
    }
}
