/*
 * PERF_METRICS: the arithmetic of its hidden counters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * No state of its own.
 *
 * Hardware reports each class as 0xff x (a hidden counter) / IA32_FIXED_CTR3,
 * computed when it is read (Kan Liang of Intel, LKML, 2019-08-29).  A write
 * must leave hidden counters behind that read back as what was written: the
 * driver saves and restores both registers on every context switch
 * (icl_set_topdown_event_period() in Linux, arch/x86/events/intel/core.c).
 * Hidden counters in units of 1/255 slot make that exact.
 */

#ifndef TARGET_I386_PMU_PERFMON_PERF_METRICS_H
#define TARGET_I386_PMU_PERFMON_PERF_METRICS_H

#include "tcg/pmu/ledger/ledger.h"

/* One slot, in the unit of the hidden counters. */
#define PMU_METRICS_UNIT 255

/*
 * Fields: the four level-1 classes, then from Sapphire Rapids on one child of
 * each in the same order (Linux, tools/perf/Documentation/topdown.txt).
 */
#define PMU_METRICS_LEVEL1 4

/*
 * A hidden counter that counts @width (1 to 48) bits of slots holds this many
 * bits in its own unit.
 */
static inline unsigned pmu_metrics_bits(unsigned width)
{
    return width + 8;
}

/* The slots that field @field (0 to 7) counts, of those in @snap at @level. */
uint64_t pmu_metrics_slots(const PmuLedgerSnapshot *snap, PmuLevel level,
                           unsigned field);

/*
 * Count @slots (any number) into *@hidden, which counts @width bits of slots.
 * Returns true if it wrapped.
 */
bool pmu_metrics_add(uint64_t *hidden, unsigned width, uint64_t slots);

/* The smallest number of slots that makes @hidden wrap: at least 1. */
uint64_t pmu_metrics_distance(uint64_t hidden, unsigned width);

/*
 * The register of @fields (4 or 8) fields that shows @hidden[@fields] for
 * IA32_FIXED_CTR3 = @slots (below 2^48).  Zero if @slots is.
 *
 * Level 1: each field is the fraction of 0xff rounded down, then the largest
 * remainders are rounded up until the sum is as exact as a sum of fractions
 * can be: 0xff if all slots are accounted for.  Level 2 rounds to nearest,
 * but never above the parent of a child that is not larger.
 */
uint64_t pmu_metrics_read(const uint64_t *hidden, unsigned fields,
                          uint64_t slots);

/*
 * Set @hidden[@fields] so that pmu_metrics_read() with @slots gives @value.
 * What a counter of @width cannot hold leaves it at its largest value, about
 * to wrap.
 */
void pmu_metrics_write(uint64_t *hidden, unsigned fields, unsigned width,
                       uint64_t slots, uint64_t value);

/*
 * @value, which pmu_metrics_read() returned for @fields fields, with slots of
 * two pairs of level-1 classes moved by 0 to @most / 255 from one to the other,
 * and each level-2 class by as much up or down.  It is still what a read can
 * give: sums are the same, and no child is larger than its parent.  *@random is
 * the state of xorshift64, not 0.
 */
uint64_t pmu_metrics_disturb(uint64_t value, unsigned fields, unsigned most,
                             uint64_t *random);

#endif
