/*
 * Regions of code: the unit that costs are kept for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/sampling/region.h"
#include "tcg/pmu/sampling/sampling-units.h"
#include "tcg/pmu/sampling/timing-ledger.h"

/* Subtract @n, or all, from @item of @sample: it will not be so again. */
static void discount(PmuSample *sample, PmuLedgerItem item, uint32_t n)
{
    uint32_t *of = &sample->item[pmu_sample_item(item)];

    *of -= MIN(*of, n);
}

/*
 * Subtract from @sample what fetch waited for code from DRAM, as if that had
 * been in L1I.  It will be nearer the next time: all code fits in the L3, and
 * most of it is in L1I.
 */
static void discount_cold_code(const PmuTiming *t, PmuSample *sample)
{
    static const PmuLedgerItem waits[] = {
        PMU_ITEM_ISSUED_0, PMU_ITEM_UNDELIVERED_0, PMU_ITEM_EXECUTED_0,
        PMU_ITEM_RETIRED_0, PMU_ITEM_FETCH_DATA_CYCLES,
    };
    uint32_t *item = sample->item;
    uint32_t lines = item[pmu_sample_item(PMU_ITEM_CODE_DRAM)];
    uint32_t latency = lines * pmu_uarch_dram_latency(t->uarch);
    /* Misses overlap: fetch waits for less than the sum of latencies. */
    uint32_t waited = item[pmu_sample_item(PMU_ITEM_FETCH_DATA_CYCLES)];
    uint32_t cycles = MIN(latency, waited);
    uint32_t *slots = &item[PMU_SLOT_FETCH_LATENCY];

    if (!lines) {
        return;
    }
    *slots -= MIN(*slots, cycles * t->uarch->width);
    for (unsigned i = 0; i < G_N_ELEMENTS(waits); i++) {
        discount(sample, waits[i], cycles);
    }
    discount(sample, PMU_ITEM_FETCH_DATA_PERIODS, lines);
    discount(sample, PMU_ITEM_OFFCORE_CODE, latency);
    discount(sample, PMU_ITEM_OFFCORE_CODE_CYCLES, latency);
    item[pmu_sample_item(PMU_ITEM_CODE_DRAM)] = 0;
    item[pmu_sample_item(PMU_ITEM_L1I_MISSES)] -= lines;
    item[pmu_sample_item(PMU_ITEM_L1I_HITS)] += lines;
}

/* Everything is simulated in detail, so the CPI table learns nothing. */
static void end_unsampled(PmuTiming *t)
{
    pmu_timing_enter_pipeline_counts(t, false);
    t->accounted = t->functional.covariates;
}

/* The current region took @t->region.sample: the CPI table learns that. */
static void add_sample(PmuTiming *t)
{
    for (unsigned i = 0; i < PMU_COVARIATE_NR; i++) {
        t->region.sample.item[PMU_SAMPLE_COVARIATES + i] =
            t->functional.covariates.n[i] - t->accounted.n[i];
    }
    t->accounted = t->functional.covariates;
    if (pmu_timing_is_typical(t, pmu_region_key(t))) {
        t->plan.sampled_insns += t->region.insns;
        discount_cold_code(t, &t->region.sample);
        pmu_cpi_table_add_sample(&t->cpi_table, pmu_region_key(t),
                                 t->region.insns, &t->region.sample);
        pmu_timing_learn_length(t);
    }
    t->region.sample = (PmuSample) {};
}

/* What the pipeline says of the current region counts if it has no cost yet. */
static void end_detailed_warming(PmuTiming *t)
{
    PmuCpiEntry *cost = pmu_cpi_table_find_any(&t->cpi_table,
                                               pmu_region_key(t));

    if (cost) {
        pmu_timing_discard_counts(t);
        pmu_timing_enter_covariates(t);
        pmu_timing_count_known_region(t, cost);
    } else {
        pmu_timing_enter_simulated(t);
    }
}

/* End the current region, which all of the functional model saw. */
static G_GNUC_NO_INLINE void end_simulated(PmuTiming *t)
{
    switch (t->plan.phase) {
    case PMU_PHASE_DETAILED:
        if (!t->plan.sampling) {
            end_unsampled(t);
            break;
        }
        pmu_timing_enter_pipeline_counts(t, true);
        add_sample(t);
        break;
    case PMU_PHASE_DETAILED_WARMING:
        end_detailed_warming(t);
        break;
    default:
        pmu_timing_discard_counts(t);
        pmu_region_count(t);
    }
}

void pmu_region_take_assists(PmuTiming *t)
{
    t->ledger->event[t->ledger->level][PMU_ITEM_ASSISTS_FP] += t->assists;
    if (pmu_timing_warms_code(t)) {
        pmu_timing_discard_counts(t);
    }
    for (; t->assists; t->assists--) {
        pmu_fetch_unit_restart(&t->functional.fetcher);
        pmu_pipeline_assist(&t->pipeline);
        pmu_timing_enter_string(t);
    }
}

void pmu_region_end(PmuTiming *t)
{
    if (G_UNLIKELY(t->assists) && t->plan.phase >= PMU_PHASE_DETAILED_WARMING) {
        pmu_pipeline_drain(&t->pipeline);
    }
    if (G_LIKELY(t->plan.phase <= PMU_PHASE_FETCH_WARMING)) {
        pmu_region_count(t);
    } else {
        end_simulated(t);
    }
    if (t->plan.phase == PMU_PHASE_LINE_WARMING) {
        pmu_functional_warm_lines(&t->functional, t->region.pc, t->region.phys,
                                  t->region.end - t->region.phys);
    }
    t->plan.left -= t->region.insns;
    t->region.hash = 0;
    t->region.insns = 0;
    t->region.misses = (PmuCodeMisses) {};
    if (G_UNLIKELY(t->assists)) {
        pmu_region_take_assists(t);
    }
    if (G_UNLIKELY(t->plan.left <= 0)) {
        pmu_timing_end_phase(t);
    }
}

void pmu_region_end_open(PmuTiming *t)
{
    if (t->region.insns) {
        pmu_region_end(t);
    }
}

void pmu_region_change_level(PmuTiming *t, PmuLevel level)
{
    pmu_region_end_open(t);
    pmu_timing_enter_data(t);
    if (t->plan.phase == PMU_PHASE_DETAILED) {
        pmu_slots_close_cycle(&t->pipeline);
        pmu_timing_enter_pipeline_counts(t, false);
        t->ledger->level = level;
        pmu_timing_resume_pipeline(t);
    } else {
        pmu_timing_enter_covariates(t);
        t->ledger->level = level;
    }
}
