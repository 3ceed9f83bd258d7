/*
 * The pipeline: when micro-ops are fetched, issued, dispatched and retired, and
 * what becomes of each slot.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The model takes instructions one by one, in program order.  Each of them
 * notes in which cycles the resources that it used are free again.  That is
 * exact for a machine that dispatches the oldest ready micro-op first: a
 * younger one never delays an older one, so the model knows an instruction's
 * cycles when its turn comes.  They depend on instructions and outcomes alone.
 *
 * This folder has issue and execution (execute, short-paths), ports and the
 * scheduler, the load/store unit, recovery, the attribution of slots, and cycle
 * statistics.  It includes what is below: decode/ for instructions, memory/ for
 * outcomes and the timing of misses, frontend/ for delivery, ledger/ for the
 * clock.  It must not know why an instruction is simulated, nor what becomes of
 * the counts: the owner of the pipeline reads PmuPipeline.clock.counts.
 */

#ifndef TARGET_I386_PMU_BACKEND_PIPELINE_H
#define TARGET_I386_PMU_BACKEND_PIPELINE_H

#include "tcg/pmu/backend/load-store-unit.h"
#include "tcg/pmu/backend/pipeline-state.h"
#include "tcg/pmu/backend/recovery.h"
#include "tcg/pmu/backend/slot-attribution.h"
#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/memory/outcome.h"

/* Make @p an idle pipeline whose clock is at PMU_FIRST_CYCLE. */
void pmu_pipeline_init(PmuPipeline *p, const PmuUarch *uarch);

/* Make @p idle again, at its current cycle; pmu_pipeline_resume() follows. */
void pmu_pipeline_reset(PmuPipeline *p);

/*
 * The pipeline was idle or not simulated in detail, and goes on in a cycle of
 * which @open slots are filled, with classes @history (PmuClock.history).
 */
void pmu_pipeline_resume(PmuPipeline *p, uint32_t open, uint64_t history);

/*
 * Simulate instructions [@first, @last) of @block, which have retired with
 * @outcome.  None of them is a REP string instruction.  If the last one stored
 * to code that fetch had, this includes pmu_recovery_smc_clear().
 */
void pmu_pipeline_run(PmuPipeline *p, const PmuBlock *block,
                      unsigned first, unsigned last,
                      const PmuOutcome *outcome);

/*
 * The newest instruction takes an assist.  pmu_pipeline_drain() waits until it
 * has retired and flushes all behind it.  pmu_pipeline_assist() then takes the
 * time of the assist; it may be called alone where the pipeline does not run.
 */
void pmu_pipeline_drain(PmuPipeline *p);

void pmu_pipeline_assist(PmuPipeline *p);

/* An interrupt or exception was taken: the pipeline refills. */
void pmu_pipeline_interrupt(PmuPipeline *p);

/*
 * Parts of a string instruction.  _begin() fetches it, issues no slot yet, and
 * returns the cycle in which its sources are ready.  _uop() issues one of its
 * micro-ops, which waits for @ready.  _end() writes its results.  For its
 * accesses see pmu_lsu_string_load() and _store().
 */
uint64_t pmu_pipeline_string_begin(PmuPipeline *p, const PmuBlock *block,
                                   unsigned index, const PmuOutcome *outcome);

void pmu_pipeline_string_uop(PmuPipeline *p, PmuCompletion ready);

void pmu_pipeline_string_end(PmuPipeline *p, const PmuInsn *insn);

#endif
