/*
 * The timing model of a vCPU: it turns executed instructions into slots and
 * events in the ledger.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The result is a function of the instruction stream alone.  It does not change
 * by a single slot with how the stream is cut into blocks, or with when
 * counters are read.
 *
 * This folder decides which part of the model runs when (sampling-units,
 * sampling-credit, unknown-code), joins the parts (functional-model,
 * timing-run, region), keeps what regions of code cost (cpi-table,
 * cpi-estimate, block-runs, rep-strings) and enters it all into the ledger
 * (timing-ledger).  It includes every folder of the model below it.  It must
 * not know QEMU, registers or events: callers say what counters need with
 * PmuInterest.
 *
 * This header and what it includes is all that users of the model need.
 */

#ifndef TARGET_I386_PMU_SAMPLING_TIMING_H
#define TARGET_I386_PMU_SAMPLING_TIMING_H

#include "tcg/pmu/backend/timeline.h"
#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/ledger/ledger.h"
#include "tcg/pmu/memory/memory.h"
#include "tcg/pmu/sampling/timing-run.h"
#include "tcg/pmu/sampling/timing-types.h"
#include "tcg/pmu/uarch/uarch.h"

/*
 * Returns a cold core: empty caches, untrained predictors, idle pipeline; NULL
 * if memory runs out.  The caller frees it with pmu_timing_free().  It writes
 * to @ledger, which pmu_timing_new() initialises from @uarch.  @l3 is the L3
 * that vCPUs share, or NULL for one of its own.  @translate and @opaque: see
 * pmu_memory_init().
 */
PmuTiming *pmu_timing_new(const PmuUarch *uarch, PmuLedger *ledger, PmuL3 *l3,
                          PmuTranslate translate, void *opaque);

void pmu_timing_free(PmuTiming *timing);

/*
 * Go back to the state of pmu_timing_new(), except that nothing is of interest
 * until pmu_timing_set_interest(), and that sampling and progress stay.  The
 * ledger is kept as it is, also if its owner has loaded it from elsewhere; what
 * pmu_timing_flush() has not entered is lost.
 */
void pmu_timing_reset(PmuTiming *timing);

/*
 * Enter into the ledger what has happened so far.  After any of the functions
 * below the ledger is behind.
 */
void pmu_timing_flush(PmuTiming *timing);

/*
 * The same without estimates.  These are entered in whole slots, so that each
 * such call moves fractions of a slot.  For reads that are not the guest's own:
 * counts stay a function of what the guest does.
 */
void pmu_timing_flush_exact(PmuTiming *timing);

/*
 * Set @ledger to what the ledger would be after pmu_timing_flush().  Nothing
 * that is counted from now on depends on this call.
 */
void pmu_timing_peek(PmuTiming *timing, PmuLedger *ledger);

/*
 * Sample as @sampling says from now on; it must outlive @timing.  A new
 * PmuTiming has pmu_sampling.  NULL: every instruction is simulated in detail,
 * which takes many times as long.  This changes slots, what follows from them,
 * and the ledger's items from PMU_ITEM_SAMPLED on; all others are the same.
 */
void pmu_timing_set_sampling(PmuTiming *timing, const PmuSampling *sampling);

/*
 * From now on the ledger's items that are not of @interest may be behind: slots
 * are estimated without data caches, TLBs and predictors seeing each
 * instruction.  All items are of interest to a new PmuTiming.
 */
void pmu_timing_set_interest(PmuTiming *timing, PmuInterest interest);

/* The guest flushes TLBs: see pmu_memory_flush_mappings(). */
void pmu_timing_flush_mappings(PmuTiming *timing, PmuTlbFlush flush,
                               uint64_t linear);

/*
 * At @level, the core waits @cycles for a device, which counts as waiting for
 * DRAM.  The cycles are added to what the instruction takes otherwise.  May be
 * called at any time: it changes nothing but the ledger and the progress.
 * Returns by how much pmu_timing_progress() grows, in units of 1/PMU_CPI_ONE.
 */
uint64_t pmu_timing_device_wait(PmuTiming *timing, PmuLevel level,
                                uint32_t cycles);

/*
 * At @level, an exception or interrupt is delivered: the same for the cycles
 * that its microcode takes (PmuUarch.event_delivery).
 */
uint64_t pmu_timing_event_delivery(PmuTiming *timing, PmuLevel level);

/* An interrupt or exception was taken: the pipeline refills. */
void pmu_timing_interrupt(PmuTiming *timing);

/*
 * How often the model found an impossible state and repaired it: an error in
 * the model, or in how it is called.  Tests check that this is 0.
 */
uint64_t pmu_timing_repairs(const PmuTiming *timing);

/*
 * The clock of the model, as of the last pmu_timing_flush(): slots in the
 * ledger, those of the open cycles included.
 */
uint64_t pmu_timing_clock(const PmuTiming *timing);

/*
 * Estimates what the clock would be after a pmu_timing_flush(), in a fraction
 * of the time: nothing is entered while costs are estimated.  May fall.
 * @uncollected is progress, in 1/PMU_CPI_ONE, that pmu_timing_add_uncollected()
 * has not been told of yet.
 */
uint64_t pmu_timing_clock_estimate(PmuTiming *timing, uint64_t uncollected);

/*
 * Progress: the clock in slots, estimated more roughly, plus instructions
 * retired.  Valid at any time, and never falls.  No ledger item other than
 * INSTRUCTIONS and its parts grows by more than PMU_TIMING_ITEM_RATE times what
 * this grows by.
 */
uint64_t pmu_timing_progress(const PmuTiming *timing);

#define PMU_TIMING_ITEM_RATE 4

/* Sampling units that have begun so far, modulo 2^32. */
uint32_t pmu_timing_sampling_units(const PmuTiming *timing);

/*
 * From now on count for pmu_timing_ports().  This makes the simulation of the
 * pipeline slower and changes nothing else.
 */
void pmu_timing_report_ports(PmuTiming *timing);

/*
 * From now on note in @timeline, if not NULL, when instructions that retire in
 * detailed simulation pass the stages of the pipeline.  Reports ports as well.
 */
void pmu_timing_set_timeline(PmuTiming *timing, PmuTimeline *timeline);

/*
 * Set @dispatched to the micro-ops that went to each port in detailed
 * simulation since pmu_timing_report_ports().
 */
void pmu_timing_ports(const PmuTiming *timing,
                      uint64_t dispatched[PMU_MAX_PORTS]);

#endif
