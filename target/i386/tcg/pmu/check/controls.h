/*
 * Control registers of the PMU, before and after a write: which counters count.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_CHECK_CONTROLS_H
#define TARGET_I386_PMU_CHECK_CONTROLS_H

#include "tcg/pmu/perfmon/perfmon.h"

/* General-purpose counters first, then fixed ones. */
#define PMU_CHECK_COUNTERS (PERFMON_ARCH_GP + PERFMON_MAX_FIXED)
#define PMU_CHECK_FIXED(n) (PERFMON_ARCH_GP + (n))
#define PMU_CHECK_SLOTS    PMU_CHECK_FIXED(3)

typedef struct PmuControls {
    uint64_t evtsel[PERFMON_ARCH_GP];
    uint64_t fixed_ctr_ctrl;
    uint64_t global_ctrl;
    uint64_t global_status;
    bool metrics;               /* the unit has PERF_METRICS */
} PmuControls;

/* Those of @perfmon, and what a write makes of them. */
PmuControls pmu_controls(const Perfmon *perfmon);
void pmu_controls_write(PmuControls *controls, uint32_t msr, uint64_t value);

/* The bit of counter @index in IA32_PERF_GLOBAL_x. */
uint64_t pmu_check_bit(unsigned index);

/* Which counter register @msr is; PMU_CHECK_COUNTERS if it is none. */
unsigned pmu_check_counter_of(uint32_t msr);

/*
 * Sets of counters, as in IA32_PERF_GLOBAL_x: those with a level to count at
 * and the enable bit of their own; those of them that count; those that
 * interrupt.  Bit 48 is set where PERF_METRICS counts, or interrupts.
 */
uint64_t pmu_controls_enabled(const PmuControls *controls);
uint64_t pmu_controls_counting(const PmuControls *controls);
uint64_t pmu_controls_interrupting(const PmuControls *controls);

/* What counter @index is programmed to count: event, modifiers, levels. */
uint64_t pmu_check_selector(const PmuControls *controls, unsigned index);

/* The value of counter @index. */
uint64_t pmu_check_value(const Perfmon *perfmon, unsigned index);

#endif
