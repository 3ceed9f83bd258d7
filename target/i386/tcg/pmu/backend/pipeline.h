/*
 * The pipeline: when micro-ops are fetched, issued, dispatched and retired, and
 * what becomes of each slot.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Instructions are taken one by one, in program order; each leaves behind the
 * cycles at which what it used is free again.  That is exact for a machine that
 * lets the oldest ready micro-op go first: a younger one never delays an older
 * one, so the older one's cycle is known when its turn comes.  All of it is a
 * function of instructions and outcomes.
 *
 * This folder has issue and execution (execute, short-paths), ports and the
 * scheduler, the load/store unit, recovery, the attribution of slots, and cycle
 * statistics.  It includes what is below: decode/ for instructions, memory/ for
 * outcomes and the timing of misses, frontend/ for delivery, ledger/ for the
 * clock.  It must not know why an instruction is simulated, nor what becomes of
 * the counts: its owner takes PmuPipeline.clock.counts.
 */

#ifndef TARGET_I386_PMU_BACKEND_PIPELINE_H
#define TARGET_I386_PMU_BACKEND_PIPELINE_H

#include "tcg/pmu/backend/load-store-unit.h"
#include "tcg/pmu/backend/pipeline-state.h"
#include "tcg/pmu/backend/recovery.h"
#include "tcg/pmu/backend/slot-attribution.h"
#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/memory/outcome.h"

/* An idle pipeline at PMU_FIRST_CYCLE. */
void pmu_pipeline_init(PmuPipeline *p, const PmuUarch *uarch);

/* The same at the current cycle: see pmu_pipeline_resume(). */
void pmu_pipeline_reset(PmuPipeline *p);

/*
 * It was idle or not simulated in detail, and goes on where @open slots are
 * filled.
 */
void pmu_pipeline_resume(PmuPipeline *p, uint32_t open, uint64_t history);

/*
 * Instructions [@first, @last) of @block were retired, none of them a REP
 * string instruction; what @outcome says of them happened.  If the last one
 * clears the machine, pmu_recovery_smc_clear() is done.
 */
void pmu_pipeline_run(PmuPipeline *p, const PmuBlock *block,
                      unsigned first, unsigned last,
                      const PmuOutcome *outcome);

/*
 * The newest instruction takes an assist.  pmu_pipeline_drain(): when it has
 * retired, all behind it is flushed.  pmu_pipeline_assist(), behind that or
 * where the pipeline does not run: what the assist takes.
 */
void pmu_pipeline_drain(PmuPipeline *p);

void pmu_pipeline_assist(PmuPipeline *p);

/* An interrupt or exception was taken: the pipeline refills. */
void pmu_pipeline_interrupt(PmuPipeline *p);

/*
 * Parts of string instructions.  Fetch one, its slots are issued later: when
 * its sources are ready.  Issue a micro-op of it that waits for @ready.  Write
 * its results.  For its accesses see pmu_lsu_string_load() and _store().
 */
uint64_t pmu_pipeline_string_begin(PmuPipeline *p, const PmuBlock *block,
                                   unsigned index, const PmuOutcome *outcome);

void pmu_pipeline_string_uop(PmuPipeline *p, PmuCompletion ready);

void pmu_pipeline_string_end(PmuPipeline *p, const PmuInsn *insn);

#endif
