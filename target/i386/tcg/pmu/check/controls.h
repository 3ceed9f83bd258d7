/*
 * Copies of the PMU's control registers, and which counters count by them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_CHECK_CONTROLS_H
#define TARGET_I386_PMU_CHECK_CONTROLS_H

#include "tcg/pmu/perfmon/perfmon.h"

/* Indexes of counters: general-purpose ones first, then fixed ones. */
#define PMU_CHECK_COUNTERS (PERFMON_ARCH_GP + PERFMON_MAX_FIXED)
#define PMU_CHECK_FIXED(n) (PERFMON_ARCH_GP + (n))
#define PMU_CHECK_SLOTS    PMU_CHECK_FIXED(3)

typedef struct PmuControls {
    uint64_t evtsel[PERFMON_ARCH_GP];
    uint64_t fixed_ctr_ctrl;
    uint64_t global_ctrl;
    uint64_t global_status;
    uint64_t evtsel_held;       /* bits that stick in IA32_PERFEVTSELx */
    uint64_t fixed_held;        /* ... in IA32_FIXED_CTR_CTRL */
    bool metrics;               /* the unit has PERF_METRICS */
} PmuControls;

/* A copy of the control registers of @perfmon. */
PmuControls pmu_controls(const Perfmon *perfmon);

/* Change @controls as a write of @value to @msr would change the registers. */
void pmu_controls_write(PmuControls *controls, uint32_t msr, uint64_t value);

/* Whether the control registers of @perfmon are as in @controls. */
bool pmu_controls_equal(const PmuControls *controls, const Perfmon *perfmon);

/* Whether @msr is a register of PmuControls, or changes one. */
bool pmu_controls_have(uint32_t msr);

/* The bit of counter @index in IA32_PERF_GLOBAL_x. */
static inline uint64_t pmu_check_bit(unsigned index)
{
    return index < PERFMON_ARCH_GP ? PERF_GLOBAL_GP(index)
                                  : PERF_GLOBAL_FIXED(index - PERFMON_ARCH_GP);
}

/* Remove the lowest bit of @set, which is not 0; return its counter. */
static inline unsigned pmu_check_take(uint64_t *set)
{
    unsigned bit = __builtin_ctzll(*set);

    *set &= *set - 1;
    return bit < 32 ? bit : bit - 32 + PERFMON_ARCH_GP;
}

/* The bits of all counters, without that of PERF_METRICS. */
#define PMU_CHECK_ALL \
    (((1ull << PERFMON_ARCH_GP) - 1) | \
     ((1ull << PERFMON_MAX_FIXED) - 1) * PERF_GLOBAL_FIXED(0))

/* The index of the counter that @msr is; PMU_CHECK_COUNTERS if none. */
unsigned pmu_check_counter_of(uint32_t msr);

/*
 * Sets of counters, as bits of IA32_PERF_GLOBAL_x.  Enabled: they have a
 * privilege level to count at, and their own enable bit.  Counting: enabled,
 * and neither IA32_PERF_GLOBAL_CTRL nor CTR_FRZ stops them.  Interrupting: an
 * overflow asks for an interrupt.  In the last two, bit 48 is PERF_METRICS.
 */
uint64_t pmu_controls_enabled(const PmuControls *controls);
uint64_t pmu_controls_counting(const PmuControls *controls);
uint64_t pmu_controls_interrupting(const PmuControls *controls);

/* What counter @index is programmed to count: event, modifiers, levels. */
uint64_t pmu_check_selector(const PmuControls *controls, unsigned index);

/* The value of counter @index. */
uint64_t pmu_check_value(const Perfmon *perfmon, unsigned index);

#endif
