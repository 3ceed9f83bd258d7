/*
 * Enters into the ledger what was counted, simulated and estimated.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_TIMING_LEDGER_H
#define TARGET_I386_PMU_SAMPLING_TIMING_LEDGER_H

#include "tcg/pmu/sampling/timing-state.h"

/* Slots that are in the ledger: pmu_timing_clock(). */
uint64_t pmu_timing_entered_slots(const PmuTiming *t);

/* The same as pmu_timing_progress(). */
uint64_t pmu_timing_progress_now(const PmuTiming *t);

/*
 * Returns the progress since estimates were entered last plus @uncollected, in
 * whole units; @uncollected is in 1/PMU_CPI_ONE of these.  Waits that are not
 * accounted for yet are worth what the CPI table says now.  Returns 0 if that
 * has fallen so that the result would be negative.
 */
uint64_t pmu_timing_clock_progress(const PmuTiming *t, uint64_t uncollected);

/* Enter the runs of counted blocks: see pmu_timing_collect(). */
void pmu_timing_enter_block_runs(PmuTiming *t);

/* The same, and count no block from now on. */
void pmu_timing_clear_block_runs(PmuTiming *t);

/* Enter instructions and branches that retired, by kind. */
void pmu_timing_enter_counts(PmuTiming *t);

/*
 * The same, and what data accesses counted: items below PMU_ITEM_SAMPLED, which
 * are not estimated in any phase.
 */
void pmu_timing_enter_data(PmuTiming *t);

/*
 * Enter what the pipeline counted since the last call, and items from
 * PMU_ITEM_SAMPLED on that the functional model counted.  @sampled: also add
 * them to the sample of the current region.
 */
void pmu_timing_enter_pipeline_counts(PmuTiming *t, bool sampled);

/*
 * The same for no region, while the pipeline's clock is not the ledger's: slots
 * go to the estimates of the current level.
 */
void pmu_timing_enter_separate_counts(PmuTiming *t);

/*
 * Discard slots and items from PMU_ITEM_SAMPLED on that the pipeline and the
 * functional model counted, of regions whose known costs include them.
 */
void pmu_timing_discard_counts(PmuTiming *t);

/* The same for the functional model alone, where the pipeline did not run. */
void pmu_timing_discard_functional(PmuTiming *t);

/*
 * Add the covariates that are not accounted for yet to the estimates of the
 * current level.  They are of code that was not simulated in detail.
 */
void pmu_timing_enter_covariates(PmuTiming *t);

/*
 * They are of code that was simulated in detail: enter what the pipeline says
 * of it.  Progress does not fall below what pmu_timing_progress() said.
 */
void pmu_timing_enter_simulated(PmuTiming *t);

/* Enter the estimates, in whole slots; fractions are kept for later. */
void pmu_timing_enter_estimates(PmuTiming *t);

/* Let the pipeline go on in the ledger's open cycle. */
void pmu_timing_resume_pipeline(PmuTiming *t);

/*
 * Enter what the pipeline and the functional model did for a string instruction
 * or an assist, which they may run in any phase.  The caller has entered or
 * discarded all that they counted before.
 */
void pmu_timing_enter_string(PmuTiming *t);

#endif
