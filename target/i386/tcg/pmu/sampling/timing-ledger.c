/*
 * Enters into the ledger what was counted, simulated and estimated.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/decode/block-counts.h"
#include "tcg/pmu/sampling/timing-ledger.h"

void pmu_timing_enter_block_runs(PmuTiming *t)
{
    if (t->uncollected_insns) {
        pmu_block_runs_collect(&t->runs, &t->cpi_table, t->ledger);
        t->uncollected_insns = 0;
    }
}

void pmu_timing_clear_block_runs(PmuTiming *t)
{
    pmu_timing_enter_block_runs(t);
    pmu_block_runs_clear(&t->runs);
}

void pmu_timing_discard_functional(PmuTiming *t)
{
    uint64_t *counts = t->functional_counts.event[PMU_LEVEL_OS];

    memset(counts + PMU_ITEM_TIMED_END, 0,
           (PMU_ITEM_NR - PMU_ITEM_TIMED_END) * sizeof(*counts));
}

void pmu_timing_discard_counts(PmuTiming *t)
{
    pmu_timing_discard_functional(t);
    t->pipeline.clock.counts = (PmuPipelineCounts) {};
}

void pmu_timing_enter_counts(PmuTiming *t)
{
    uint64_t *event = t->ledger->event[t->ledger->level];

    pmu_counts_add_to_ledger(&t->counts, event);
    event[PMU_ITEM_BRANCHES_COND_NTAKEN] -= t->taken;
    event[PMU_ITEM_BRANCHES_COND_TAKEN] += t->taken;
    t->taken = 0;
}

void pmu_timing_enter_data(PmuTiming *t)
{
    uint64_t *event = t->ledger->event[t->ledger->level];
    uint64_t *counts = t->functional_counts.event[PMU_LEVEL_OS];

    pmu_timing_enter_counts(t);
    for (unsigned i = PMU_ITEM_INSTRUCTIONS; i < PMU_ITEM_SAMPLED; i++) {
        event[i] += counts[i];
        counts[i] = 0;
    }
}

/*
 * Enter what the functional model counted besides data accesses.  @sampled: add
 * it to the sample of the current region as well.
 */
static void enter_functional(PmuTiming *t, bool sampled)
{
    uint64_t *event = t->ledger->event[t->ledger->level];
    uint64_t *counts = t->functional_counts.event[PMU_LEVEL_OS];
    uint32_t *sample = t->region.sample.item + PMU_SAMPLE_ITEMS -
                       PMU_ITEM_SAMPLED;

    for (unsigned i = PMU_ITEM_TIMED_END; i < PMU_ITEM_NR; i++) {
        event[i] += counts[i];
        sample[i] += sampled ? counts[i] : 0;
        counts[i] = 0;
    }
}

/* Is one of the group of items at @item not zero? */
static inline bool any_of(const uint32_t *item)
{
    uint32_t any = 0;

    for (unsigned i = 0; i < PMU_PIPELINE_COUNT_GROUP; i++) {
        any |= item[i];
    }
    return any;
}

G_STATIC_ASSERT(PMU_SLOT_NR % PMU_PIPELINE_COUNT_GROUP == 0);

/* The items that fill up the last group are zero, and are added to others. */
G_STATIC_ASSERT(PMU_PIPELINE_COUNT_SPACE - PMU_PIPELINE_COUNT_NR <=
                PMU_ITEM_NR - PMU_ITEM_TIMED_END);

/*
 * Move a group of items at @item to @event.  Also add them to @sample if @mask
 * is all ones, but not if it is 0.
 */
static inline void enter_group(uint64_t *restrict event,
                               uint32_t *restrict sample,
                               uint32_t *restrict item, uint32_t mask)
{
    for (unsigned i = 0; i < PMU_PIPELINE_COUNT_GROUP; i++) {
        event[i] += item[i];
        sample[i] += item[i] & mask;
        item[i] = 0;
    }
}

/* Enter what the pipeline counted since the last call, except slots. */
static void enter_pipeline_items(PmuTiming *t, bool sampled)
{
    uint64_t *event = t->ledger->event[t->ledger->level] + PMU_ITEM_SAMPLED;
    uint32_t *sample = t->region.sample.item + PMU_SAMPLE_ITEMS;
    uint32_t *item = t->pipeline.clock.counts.item + PMU_SLOT_NR;
    uint32_t mask = sampled ? UINT32_MAX : 0;

    /* In a region most items are zero. */
    for (unsigned first = 0; first < PMU_PIPELINE_COUNT_SPACE - PMU_SLOT_NR;
         first += PMU_PIPELINE_COUNT_GROUP) {
        if (any_of(item + first)) {
            enter_group(event + first, sample + first, item + first, mask);
        }
    }
}

/*
 * The pipeline's open cycle becomes the ledger's.  @slots were entered since
 * the ledger's last open cycle began.  If they do not agree with the pipeline,
 * slots were lost or counted twice: what was entered stays, and the pipeline
 * goes on from there.
 */
static inline void enter_open_cycle(PmuTiming *t, PmuLevel level,
                                    uint64_t slots)
{
    if (G_LIKELY(pmu_ledger_modulo(t->ledger, slots) ==
                 t->pipeline.clock.slot)) {
        t->ledger->open[level] = (PmuOpenCycle) {
            .slots = t->pipeline.clock.slot,
                     .history = t->pipeline.clock.history,
        };
    } else {
        pmu_ledger_fill_cycle(t->ledger, level);
        pmu_timing_resume_pipeline(t);
    }
}

void pmu_timing_enter_pipeline_counts(PmuTiming *t, bool sampled)
{
    PmuLevel level = t->ledger->level;
    uint32_t *item = t->pipeline.clock.counts.item;
    uint64_t slots = t->ledger->open[level].slots;

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        t->ledger->slots[level][i] += item[i];
        t->progress += (uint64_t)item[i] << PMU_CPI_SHIFT;
        t->region.sample.item[i] += sampled ? item[i] : 0;
        slots += item[i];
        item[i] = 0;
    }
    enter_open_cycle(t, level, slots);
    enter_pipeline_items(t, sampled);
    enter_functional(t, sampled);
}

void pmu_timing_enter_separate_counts(PmuTiming *t)
{
    double *sum = t->cpi_table.estimate[t->ledger->level].sum;
    uint32_t *item = t->pipeline.clock.counts.item;

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        sum[i] += item[i];
        t->progress += (uint64_t)item[i] << PMU_CPI_SHIFT;
        item[i] = 0;
    }
    enter_pipeline_items(t, false);
    enter_functional(t, false);
}

/* Slots of waits that are not accounted for yet, about, in 1/PMU_CPI_ONE. */
static uint64_t unaccounted_slots(const PmuTiming *t)
{
    const PmuCovariates *now = &t->functional.covariates;
    const PmuCovariates *before = &t->accounted;

    return pmu_cpi_table_wait_slots(&t->cpi_table,
                                    pmu_covariates_wait(now) -
                                    pmu_covariates_wait(before) +
                                    now->n[PMU_COVARIATE_WAIT_STORE] -
                                    before->n[PMU_COVARIATE_WAIT_STORE]);
}

void pmu_timing_enter_covariates(PmuTiming *t)
{
    PmuCovariates *known = &t->cpi_table.estimate[t->ledger->level].covariates;

    t->progress += unaccounted_slots(t);
    for (unsigned i = 0; i < PMU_COVARIATE_NR; i++) {
        known->n[i] += t->functional.covariates.n[i] - t->accounted.n[i];
    }
    t->accounted = t->functional.covariates;
}

void pmu_timing_enter_simulated(PmuTiming *t)
{
    uint64_t progress = t->progress + unaccounted_slots(t);

    pmu_timing_enter_separate_counts(t);
    t->accounted = t->functional.covariates;
    t->progress = MAX(t->progress, progress);
}

/* Enter the estimates of @level. */
static void enter_level(PmuTiming *t, PmuLevel level)
{
    uint64_t whole[PMU_SAMPLE_NR];
    uint64_t *event = t->ledger->event[level];

    pmu_cpi_table_take_estimates(&t->cpi_table, level, whole);
    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        pmu_ledger_slots(t->ledger, level, i, whole[i]);
    }
    for (unsigned i = PMU_SAMPLE_ITEMS; i < PMU_SAMPLE_NR; i++) {
        event[PMU_ITEM_SAMPLED + i - PMU_SAMPLE_ITEMS] += whole[i];
    }
}

uint64_t pmu_timing_entered_slots(const PmuTiming *t)
{
    uint64_t slots = 0;

    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
            slots += t->ledger->slots[level][i];
        }
    }
    return slots;
}

/* Slots that the pipeline counted and that are not entered yet. */
static uint64_t open_slots(const PmuTiming *t)
{
    uint64_t slots = 0;

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        slots += t->pipeline.clock.counts.item[i];
    }
    return slots;
}

/* pmu_timing_progress() in 1/PMU_CPI_ONE. */
static uint64_t progress_now(const PmuTiming *t)
{
    return t->progress + (t->plan.phase == PMU_PHASE_DETAILED
                          ? open_slots(t) << PMU_CPI_SHIFT
                          : unaccounted_slots(t));
}

uint64_t pmu_timing_progress_now(const PmuTiming *t)
{
    return progress_now(t) >> PMU_CPI_SHIFT;
}

uint64_t pmu_timing_clock_progress(const PmuTiming *t, uint64_t uncollected)
{
    uint64_t progress = (progress_now(t) + uncollected) >> PMU_CPI_SHIFT;

    return progress - MIN(progress, t->clock.progress);
}

/* Progress from which on its slots say what one unit of it is worth. */
#define CLOCK_LEAST 1024

/*
 * Estimates were entered: the progress since the last time took @slots, which
 * are in the ledger now.
 */
static void note_clock(PmuTiming *t, uint64_t slots)
{
    uint64_t progress = pmu_timing_clock_progress(t, 0);

    if (progress >= CLOCK_LEAST) {
        t->clock.slots = (double)slots / progress;
    }
    t->clock.progress = pmu_timing_progress_now(t);
}

void pmu_timing_enter_estimates(PmuTiming *t)
{
    uint64_t before = pmu_timing_entered_slots(t);

    pmu_timing_enter_block_runs(t);
    pmu_timing_enter_covariates(t);
    pmu_cpi_table_add_estimates(&t->cpi_table);
    enter_level(t, PMU_LEVEL_OS);
    enter_level(t, PMU_LEVEL_USR);
    note_clock(t, pmu_timing_entered_slots(t) - before);
}

void pmu_timing_resume_pipeline(PmuTiming *t)
{
    const PmuOpenCycle *open = &t->ledger->open[t->ledger->level];

    pmu_pipeline_resume(&t->pipeline, open->slots, open->history);
}

void pmu_timing_enter_string(PmuTiming *t)
{
    if (t->plan.phase == PMU_PHASE_DETAILED) {
        pmu_timing_enter_pipeline_counts(t, false);
    } else {
        pmu_timing_enter_separate_counts(t);
    }
}
