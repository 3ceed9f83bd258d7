/*
 * Code of which little or nothing is known.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/sampling/sampling-units.h"
#include "tcg/pmu/sampling/timing-ledger.h"
#include "tcg/pmu/sampling/unknown-code.h"

/* Slots that an unknown instruction is supposed to take, for the progress. */
#define UNKNOWN_SLOTS   4

/*
 * Caches of code see the current region, if they did not: its code may be far
 * away.
 */
static void fetch_code(PmuTiming *t)
{
    PmuEstimate *tally = &t->cpi_table.estimate[t->ledger->level];

    if (t->phase < PMU_PHASE_FETCH_WARMING) {
        pmu_functional_fetch_lines(&t->functional, t->pc, t->phys,
                                   t->end - t->phys);
        t->misses = pmu_functional_code_misses(&t->functional);
        t->misses.resteers = t->code.taken &&
            !pmu_functional_warm_taken_branch(&t->functional, t->code.branch);
        pmu_timing_discard_functional(t);
    }
    tally->covariates.n[PMU_COVARIATE_CODE] += pmu_code_wait(t->uarch,
                                                             &t->misses);
    tally->covariates.n[PMU_COVARIATE_STEERING] +=
        t->misses.translation +
        t->misses.resteers * t->uarch->resteer_penalty;
}

static void enter_unknown(PmuTiming *t)
{
    PmuEstimate *tally = &t->cpi_table.estimate[t->ledger->level];
    uint64_t light = (uint32_t)t->retiring, heavy = t->retiring >> 32;

    tally->sum[PMU_SLOT_LIGHT_OPS] += light;
    tally->sum[PMU_SLOT_HEAVY_OPS] += heavy;
    tally->unknown.retiring += light + heavy;
    tally->unknown.insns += t->insns;
    for (unsigned i = 0; i < PMU_FOUND_IN_NR; i++) {
        tally->unknown.code.from[i] += t->misses.from[i];
    }
    t->progress += (uint64_t)t->insns * UNKNOWN_SLOTS << PMU_CPI_SHIFT;
}

void pmu_timing_count_unknown_region(PmuTiming *t, uint64_t key)
{
    PmuCpiEntry *cost = pmu_cpi_table_find_low_confidence(&t->cpi_table, key);

    fetch_code(t);
    if (cost) {
        pmu_timing_count_known_region(t, cost);
    } else {
        enter_unknown(t);
    }
    if (t->phase <= PMU_PHASE_FETCH_WARMING) {
        pmu_sampling_note_doubt(t);
    }
}

/*
 * What is well known is not typical where one looks closer: caches of code were
 * not prepared for it.
 */
bool pmu_timing_is_typical(const PmuTiming *t, uint64_t key)
{
    return t->prepared || !pmu_cpi_table_find(&t->cpi_table, key);
}
