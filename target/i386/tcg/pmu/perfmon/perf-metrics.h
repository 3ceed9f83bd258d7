/*
 * PERF_METRICS: the arithmetic of its hidden counters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The functions here have no state of their own.
 *
 * Hardware computes each field as 0xff x (a hidden counter) / IA32_FIXED_CTR3
 * when software reads it (Kan Liang of Intel, LKML, 2019-08-29).  A write must
 * set the hidden counters so that the value reads back: Linux saves and
 * restores both registers on every context switch
 * (icl_set_topdown_event_period(), arch/x86/events/intel/core.c).  Hidden
 * counters in units of 1/255 slot make that exact.
 */

#ifndef TARGET_I386_PMU_PERFMON_PERF_METRICS_H
#define TARGET_I386_PMU_PERFMON_PERF_METRICS_H

#include "tcg/pmu/ledger/ledger.h"

/* A slot in the unit of the hidden counters, 1/255 slot. */
#define PMU_METRICS_UNIT 255

/*
 * Fields of PERF_METRICS: the four level-1 classes; from Sapphire Rapids on,
 * then one child of each, in the same order (Linux,
 * tools/perf/Documentation/topdown.txt).
 */
#define PMU_METRICS_LEVEL1 4

/*
 * The bits of a hidden counter, in its own unit, if it counts @width (1 to 48)
 * bits of slots.
 */
static inline unsigned pmu_metrics_bits(unsigned width)
{
    return width + 8;
}

/* The slots in @snap at @level that field @field (0 to 7) counts. */
uint64_t pmu_metrics_slots(const PmuLedgerSnapshot *snap, PmuLevel level,
                           unsigned field);

/*
 * Add @slots (any number) to *@hidden, which counts @width bits of slots.
 * Returns true if it wrapped.
 */
bool pmu_metrics_add(uint64_t *hidden, unsigned width, uint64_t slots);

/* The smallest number of slots, at least 1, that makes @hidden wrap. */
uint64_t pmu_metrics_distance(uint64_t hidden, unsigned width);

/*
 * The value of PERF_METRICS, with @fields (4 or 8) fields, for @hidden[@fields]
 * and IA32_FIXED_CTR3 = @slots (below 2^48).  Zero if @slots is.
 *
 * Level 1: each field is the fraction of 0xff rounded down.  Then the fields
 * with the largest remainders are rounded up until the sum is the rounded sum
 * of the fractions: 0xff if all slots are accounted for.  Level 2 rounds to
 * nearest.  A child whose hidden counter is not larger than its parent's has no
 * larger field either.
 */
uint64_t pmu_metrics_read(const uint64_t *hidden, unsigned fields,
                          uint64_t slots);

/*
 * Set @hidden[@fields] so that pmu_metrics_read() with @slots gives @value.  A
 * counter of @width that cannot hold its part gets its largest value, so it is
 * about to wrap.
 */
void pmu_metrics_write(uint64_t *hidden, unsigned fields, unsigned width,
                       uint64_t slots, uint64_t value);

/*
 * Returns @value, which pmu_metrics_read() returned for @fields fields, with
 * random noise.  Level-1 classes make two pairs; in each, one class gives the
 * other 0 to @most / 255 of the slots.  Each level-2 class changes by as much,
 * up or down.  A read can return the result: the sum is the same, and no child
 * is larger than its parent.  *@random is the state of xorshift64, not 0.
 */
uint64_t pmu_metrics_disturb(uint64_t value, unsigned fields, unsigned most,
                             uint64_t *random);

#endif
