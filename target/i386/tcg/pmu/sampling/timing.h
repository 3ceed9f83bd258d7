/*
 * The timing model: executed instructions in, slots and events out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A function of the instruction stream alone: how the stream is cut into
 * blocks, and when counters are looked at, does not change a single slot.
 *
 * This folder decides which part of the model runs when (sampling-units,
 * sampling-credit, unknown-code), joins the parts (functional-model,
 * timing-run, region), keeps what regions of code cost (cpi-table,
 * cpi-estimate, block-runs, rep-strings) and enters it all into the ledger
 * (timing-ledger).  It includes every folder of the model below it.  It must
 * not know QEMU, registers or events: what counters need comes down as
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
 * A cold core: empty caches, untrained predictors, idle pipeline.  It writes
 * to @ledger, which pmu_timing_new() initialises from @uarch.  @l3 is the
 * machine's, NULL: one of its own.  NULL only if memory runs out.
 */
PmuTiming *pmu_timing_new(const PmuUarch *uarch, PmuLedger *ledger, PmuL3 *l3,
                          PmuTranslate translate, void *opaque);

void pmu_timing_free(PmuTiming *timing);

/*
 * Back to the state of pmu_timing_new().  The ledger is kept as it is, also if
 * its owner has loaded it from elsewhere; what pmu_timing_flush() has not
 * entered is lost.
 */
void pmu_timing_reset(PmuTiming *timing);

/*
 * Enter into the ledger what has happened so far: it is behind after any of
 * the functions below.
 */
void pmu_timing_flush(PmuTiming *timing);

/*
 * The same without estimates, which are entered in whole slots: when that is
 * done moves fractions of a slot.  For looks that are not the guest's own, so
 * that counts stay a function of what it does.
 */
void pmu_timing_flush_exact(PmuTiming *timing);

/*
 * What pmu_timing_flush() would make of the ledger, in @ledger.  Nothing that
 * is counted from now on depends on it.
 */
void pmu_timing_peek(PmuTiming *timing, PmuLedger *ledger);

/*
 * Watch as @sampling says, from now on, which is to outlive @timing; a new
 * PmuTiming does as pmu_sampling says.  NULL: every instruction is simulated in
 * detail, which takes many times as long.  This changes slots, what follows
 * from them, and the ledger's items from PMU_ITEM_SAMPLED on; all others are
 * the same.
 */
void pmu_timing_set_sampling(PmuTiming *timing, const PmuSampling *sampling);

/*
 * Items that are not of interest are behind from now on: slots are estimated
 * without data caches, TLBs and predictors seeing each instruction.  To a new
 * PmuTiming all are of interest.
 */
void pmu_timing_set_interest(PmuTiming *timing, PmuInterest interest);

/* As pmu_memory_flush_mappings(). */
void pmu_timing_flush_mappings(PmuTiming *timing, PmuTlbFlush flush,
                               uint64_t linear);

/*
 * At @level, the core waits @cycles for a device, which is as far as DRAM: to
 * be added to what the instruction takes otherwise.  At any time: it changes
 * nothing but the ledger.  Returns by how much pmu_timing_progress() grows, in
 * units of 1/PMU_CPI_ONE.
 */
uint64_t pmu_timing_device_wait(PmuTiming *timing, PmuLevel level,
                                uint32_t cycles);

/*
 * At @level, an exception or interrupt is delivered: what its microcode takes,
 * in the same way.
 */
uint64_t pmu_timing_event_delivery(PmuTiming *timing, PmuLevel level);

/* An interrupt or exception was taken: the pipeline refills. */
void pmu_timing_interrupt(PmuTiming *timing);

/*
 * How often a state was found that cannot be, and repaired: an error in the
 * model, or in how it is called.  Tests hold that it is never.
 */
uint64_t pmu_timing_repairs(const PmuTiming *timing);

/*
 * The clock of the model in slots since pmu_timing_new(), the open cycle
 * included, as of the last pmu_timing_flush().
 */
uint64_t pmu_timing_clock(const PmuTiming *timing);

/*
 * What it would be after a pmu_timing_flush(), roughly and in a fraction of the
 * time: nothing is entered while costs are estimated.  May fall.  @passed is
 * what pmu_timing_add_passed() is yet to be told of.
 */
uint64_t pmu_timing_clock_estimate(PmuTiming *timing, uint64_t passed);

/*
 * The clock at any time and more roughly, plus instructions retired; never
 * falls.
 * No ledger item other than INSTRUCTIONS and its parts grows by more than
 * PMU_TIMING_ITEM_RATE times what this grows by.
 */
uint64_t pmu_timing_progress(const PmuTiming *timing);

#define PMU_TIMING_ITEM_RATE 4

/* Sampling units that were begun so far, modulo 2^32. */
uint32_t pmu_timing_sampling_units(const PmuTiming *timing);

/*
 * Count what ports do from now on, which makes the pipeline slower and changes
 * nothing else.
 */
void pmu_timing_report_ports(PmuTiming *timing);

/*
 * From now on note in @timeline, if not NULL, when instructions that retire in
 * detailed simulation pass the stages of the pipeline.  Reports ports as well.
 */
void pmu_timing_set_timeline(PmuTiming *timing, PmuTimeline *timeline);

/* Micro-ops dispatched to each port since, in detailed simulation. */
void pmu_timing_ports(const PmuTiming *timing,
                      uint64_t dispatched[PMU_MAX_PORTS]);

#endif
