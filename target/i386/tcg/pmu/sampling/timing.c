/*
 * The timing model as a whole: it turns executed instructions into slots and
 * events in the ledger.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The model has two halves.  The functional model (caches, TLBs, predictors,
 * fetch) says what happened to instructions, the pipeline how long that took.
 * Both are many times as slow as translated code, so they run in sampling units
 * only.  In between, a region of code is taken to cost what it cost in detailed
 * simulation, on average.  Data caches, TLBs and predictors see more of the
 * code that runs, as they would take longer to warm up again: all of it if a
 * counter needs what they count, else the last part of each period.  What they
 * find corrects the estimates for the code that they saw.
 *
 * All of this is a function of the instruction stream.  A region ends with a
 * branch or an interrupt, or where PmuBlock.ends_region says so, not where a
 * block happens to end.
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/sampling/region.h"
#include "tcg/pmu/sampling/rep-strings.h"
#include "tcg/pmu/sampling/sampling-units.h"
#include "tcg/pmu/sampling/timing-ledger.h"
#include "tcg/pmu/sampling/timing.h"

/*
 * If fewer instructions ran between two reads of the counters than there are
 * counted blocks, divided by this, the list of these is cleared: to find out
 * again which blocks run costs less than to ask for the count of each.
 */
#define LIST_SHARE  2

/* Forget all that ran, but keep the progress, which never falls. */
static void forget_all(PmuTiming *t)
{
    t->counts = (PmuCounts) {};
    t->taken = 0;
    t->uncollected_insns = 0;
    memset(t->functional_counts.event, 0, sizeof(t->functional_counts.event));
    t->region = (PmuRegion) {};
    memset(&t->unknown, 0, sizeof(t->unknown));
    t->assists = 0;
    t->string = (PmuString) {};
    t->string_sample = (PmuSample) {};
    t->contested_until = 0;
}

PmuTiming *pmu_timing_new(const PmuUarch *uarch, PmuLedger *ledger, PmuL3 *l3,
                          PmuTranslate translate, void *opaque)
{
    PmuTiming *t = g_try_new0(PmuTiming, 1);

    if (!t) {
        return NULL;
    }
    pmu_ledger_init(ledger, uarch->width, uarch->tsc_num, uarch->tsc_den,
                    uarch->xclk_num, uarch->xclk_den);
    t->uarch = uarch;
    t->ledger = ledger;
    t->interest = (PmuInterest) {
        .sampled = UINT32_MAX, .observed = true, .taken = true,
    };
    forget_all(t);
    pmu_sampling_restart(t, &pmu_sampling);
    pmu_pipeline_init(&t->pipeline, uarch);
    if (!pmu_cpi_table_init(&t->cpi_table, uarch) ||
        !pmu_block_runs_init(&t->runs) ||
        !pmu_functional_init(&t->functional, uarch, &t->functional_counts, l3,
                             translate, opaque)) {
        pmu_timing_free(t);
        return NULL;
    }
    return t;
}

void pmu_timing_free(PmuTiming *t)
{
    if (t) {
        pmu_cpi_table_destroy(&t->cpi_table);
        pmu_block_runs_destroy(&t->runs);
        pmu_functional_destroy(&t->functional);
        g_free(t);
    }
}

void pmu_timing_flush_exact(PmuTiming *t)
{
    if (t->uncollected_insns &&
        t->uncollected_insns < t->runs.number / LIST_SHARE) {
        pmu_timing_clear_block_runs(t);
    } else {
        pmu_timing_enter_block_runs(t);
    }
    pmu_timing_enter_data(t);
    if (t->plan.phase == PMU_PHASE_DETAILED) {
        pmu_timing_enter_pipeline_counts(t, t->plan.sampling);
    }
}

void pmu_timing_flush(PmuTiming *t)
{
    pmu_timing_flush_exact(t);
    if (t->plan.phase != PMU_PHASE_DETAILED) {
        pmu_timing_enter_estimates(t);
    }
}

/*
 * Flush a copy.  Of what @t and the copy share, flushing would write to costs
 * and to counts of runs.  So the costs are copied as well, and the runs are
 * collected before.
 */
void pmu_timing_peek(PmuTiming *t, PmuLedger *ledger)
{
    g_autofree PmuTiming *copy = NULL;

    pmu_timing_enter_block_runs(t);
    copy = g_memdup2(t, sizeof(*t));
    *ledger = *t->ledger;
    copy->ledger = ledger;
    pmu_cpi_table_copy(&copy->cpi_table, &t->cpi_table);
    pmu_timing_flush(copy);
    pmu_cpi_table_discard(&copy->cpi_table);
}

uint64_t pmu_timing_repairs(const PmuTiming *t)
{
    return t->ledger->repairs + t->pipeline.repairs;
}

uint64_t pmu_timing_clock(const PmuTiming *t)
{
    return pmu_timing_entered_slots(t);
}

uint64_t pmu_timing_clock_estimate(PmuTiming *t, uint64_t uncollected)
{
    if (t->plan.phase == PMU_PHASE_DETAILED) {
        pmu_timing_flush_exact(t);
        return pmu_timing_clock(t);
    }
    return pmu_timing_clock(t) +
           (uint64_t)(pmu_timing_clock_progress(t, uncollected) *
                      t->clock.slots);
}

uint64_t pmu_timing_progress(const PmuTiming *t)
{
    return pmu_timing_progress_now(t);
}

uint32_t pmu_timing_sampling_units(const PmuTiming *t)
{
    return t->cpi_table.units;
}

void pmu_timing_report_ports(PmuTiming *t)
{
    t->pipeline.ports.report = true;
}

void pmu_timing_set_timeline(PmuTiming *t, PmuTimeline *timeline)
{
    pmu_timing_report_ports(t);
    t->pipeline.timeline = timeline;
}

void pmu_timing_ports(const PmuTiming *t, uint64_t dispatched[PMU_MAX_PORTS])
{
    memcpy(dispatched, t->pipeline.ports.dispatched,
           sizeof(t->pipeline.ports.dispatched));
}

void pmu_timing_set_sampling(PmuTiming *t, const PmuSampling *sampling)
{
    pmu_timing_flush(t);
    if (t->plan.phase != PMU_PHASE_DETAILED) {
        pmu_region_end_open(t);
        pmu_timing_discard_counts(t);
        if (t->plan.phase == PMU_PHASE_FAST_FORWARD) {
            pmu_functional_skip_all(&t->functional);
        }
        pmu_timing_enter_estimates(t);
        pmu_timing_resume_pipeline(t);
        pmu_memory_misses_arrive(&t->functional.mem);
    }
    pmu_cpi_table_set_observed(&t->cpi_table, true);
    pmu_sampling_begin(t, sampling);
}

void pmu_timing_set_interest(PmuTiming *t, PmuInterest interest)
{
    if (interest.sampled != t->interest.sampled) {
        pmu_timing_flush(t);
        pmu_cpi_table_want(&t->cpi_table, interest.sampled);
    }
    if (interest.time_only != t->interest.time_only) {
        pmu_timing_clear_block_runs(t);
    }
    pmu_sampling_note_interest(t, &interest);
    t->interest = interest;
    if (interest.observed) {
        if (t->plan.phase == PMU_PHASE_FAST_FORWARD) {
            pmu_timing_end_fast_forward(t);
        }
        pmu_timing_observe(t);
    }
}

/*
 * Enter @cycles at @level in which nothing is issued, all slots of which are of
 * class @slot.  Returns by how much the progress grows, in 1/PMU_CPI_ONE.
 */
static uint64_t wait_for_cycles(PmuTiming *t, PmuLevel level, PmuSlotClass slot,
                                uint32_t cycles)
{
    uint64_t *event = t->ledger->event[level];
    uint64_t slots = (uint64_t)cycles * t->uarch->width;

    t->ledger->slots[level][slot] += slots;
    event[PMU_ITEM_ISSUED_0] += cycles;
    event[PMU_ITEM_UNDELIVERED_0] += cycles;
    event[PMU_ITEM_EXECUTED_0] += cycles;
    event[PMU_ITEM_RETIRED_0] += cycles;
    t->progress += slots << PMU_CPI_SHIFT;
    t->clock.progress += slots;
    return slots << PMU_CPI_SHIFT;
}

uint64_t pmu_timing_device_wait(PmuTiming *t, PmuLevel level, uint32_t cycles)
{
    t->ledger->event[level][PMU_ITEM_WAIT_DRAM] += cycles;
    t->ledger->event[level][PMU_ITEM_STALL_DRAM] += cycles;
    return wait_for_cycles(t, level, PMU_SLOT_MEMORY_BOUND, cycles);
}

uint64_t pmu_timing_event_delivery(PmuTiming *t, PmuLevel level)
{
    uint32_t cycles = t->uarch->event_delivery;

    t->ledger->event[level][PMU_ITEM_SERIALIZED] += cycles;
    return wait_for_cycles(t, level, PMU_SLOT_CORE_BOUND, cycles);
}

void pmu_timing_interrupt(PmuTiming *t)
{
    pmu_region_end_open(t);
    pmu_timing_end_string(t);
    pmu_functional_interrupt(&t->functional);
    pmu_pipeline_interrupt(&t->pipeline);
}

void pmu_timing_flush_mappings(PmuTiming *t, PmuTlbFlush flush, uint64_t linear)
{
    pmu_memory_flush_mappings(&t->functional.mem, flush, linear);
    t->functional.code_line = UINT64_MAX;
    t->unknown.contexts += flush != PMU_TLB_FLUSH_PAGE;
}

void pmu_timing_reset(PmuTiming *t)
{
    forget_all(t);
    /* The caller sets it again, which begins periods as it did at first. */
    t->interest = (PmuInterest) {};
    pmu_cpi_table_want(&t->cpi_table, t->interest.sampled);
    pmu_sampling_restart(t, t->plan.sampling);
    pmu_block_runs_clear(&t->runs);
    pmu_cpi_table_clear(&t->cpi_table);
    pmu_pipeline_reset(&t->pipeline);
    pmu_timing_resume_pipeline(t);
    pmu_functional_reset(&t->functional);
    t->accounted = t->functional.covariates;
    t->clock = (PmuClockEstimate) { .progress = pmu_timing_progress_now(t) };
}
