/*
 * Into the ledger: what was counted, simulated and estimated.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_TIMING_LEDGER_H
#define TARGET_I386_PMU_SAMPLING_TIMING_LEDGER_H

#include "tcg/pmu/sampling/timing-state.h"

/* Slots that were entered so far: pmu_timing_clock(). */
uint64_t pmu_timing_entered_slots(const PmuTiming *t);

/* pmu_timing_progress() */
uint64_t pmu_timing_progress_now(const PmuTiming *t);

/*
 * Progress since estimates were entered last, and @passed, which is in
 * 1/PMU_CPI_ONE of that, in whole units.  Waits that are not accounted for
 * yet are worth what the costs say now: 0 if that has become less.
 */
uint64_t pmu_timing_clock_progress(const PmuTiming *t, uint64_t passed);

/* Take what was counted of block runs: see timing-run.h. */
void pmu_timing_enter_block_runs(PmuTiming *t);

/* The same, and nothing is counted from now on. */
void pmu_timing_clear_block_runs(PmuTiming *t);

/* What needs no looking closer. */
void pmu_timing_enter_counts(PmuTiming *t);

/* ... and what was observed of data, which is seen in every phase. */
void pmu_timing_enter_data(PmuTiming *t);

/*
 * What the pipeline did since the last time, and what was seen besides: of the
 * region at hand or (not @sampled) of none.
 */
void pmu_timing_enter_pipeline_counts(PmuTiming *t, bool sampled);

/* The same while the pipeline is not where the ledger is. */
void pmu_timing_enter_separate_counts(PmuTiming *t);

/*
 * What was seen of regions whose costs are known is in those; and what was
 * observed, where the pipeline did not run.
 */
void pmu_timing_discard_seen(PmuTiming *t);

void pmu_timing_discard_functional(PmuTiming *t);

/*
 * What is known so far was at the current level, and nothing was simulated in
 * detail.
 */
void pmu_timing_enter_covariates(PmuTiming *t);
/*
 * What is known so far was simulated in detail and counts as that says; it has
 * made no less progress than it was said to have.
 */
void pmu_timing_enter_simulated(PmuTiming *t);

/* What was counted of known costs. */
void pmu_timing_enter_estimates(PmuTiming *t);

/* The pipeline goes on where the ledger is. */
void pmu_timing_resume_pipeline(PmuTiming *t);

/*
 * Enter what the pipeline and the functional model did for a string
 * instruction, which they run in any phase: before, there was nothing that is
 * not entered.
 */
void pmu_timing_enter_string(PmuTiming *t);

#endif
