/*
 * Copies of the PMU's control registers, and which counters count by them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "tcg/pmu/check/controls.h"

PmuControls pmu_controls(const Perfmon *perfmon)
{
    PmuControls controls = {
        .fixed_ctr_ctrl = perfmon->fixed_ctr_ctrl,
        .global_ctrl = perfmon->global_ctrl,
        .global_status = perfmon->global_status,
        .evtsel_held = perfmon->mask[PERFMON_MASK_EVTSEL_HELD],
        .fixed_held = perfmon->mask[PERFMON_MASK_FIXED_CTR_CTRL_HELD],
        .metrics = perfmon->config.num_metrics,
    };

    memcpy(controls.evtsel, perfmon->evtsel, sizeof(controls.evtsel));
    return controls;
}

void pmu_controls_write(PmuControls *controls, uint32_t msr, uint64_t value)
{
    switch (msr) {
    case MSR_PMU_IA32_PERFEVTSEL0 ...
         MSR_PMU_IA32_PERFEVTSEL0 + PERFMON_ARCH_GP - 1:
        controls->evtsel[msr - MSR_PMU_IA32_PERFEVTSEL0] =
            value & controls->evtsel_held;
        break;
    case MSR_PMU_IA32_FIXED_CTR_CTRL:
        controls->fixed_ctr_ctrl = value & controls->fixed_held;
        break;
    case MSR_PMU_IA32_PERF_GLOBAL_CTRL:
        controls->global_ctrl = value;
        break;
    case MSR_PMU_IA32_PERF_GLOBAL_OVF_CTRL:
        controls->global_status &= ~value;
        break;
    case MSR_PMU_IA32_PERF_GLOBAL_STATUS_SET:
        controls->global_status |= value;
        break;
    }
}

bool pmu_controls_equal(const PmuControls *controls, const Perfmon *perfmon)
{
    return controls->global_ctrl == perfmon->global_ctrl &&
           controls->global_status == perfmon->global_status &&
           controls->fixed_ctr_ctrl == perfmon->fixed_ctr_ctrl &&
           !memcmp(controls->evtsel, perfmon->evtsel,
                   sizeof(controls->evtsel));
}

bool pmu_controls_have(uint32_t msr)
{
    return msr - MSR_PMU_IA32_PERFEVTSEL0 < PERFMON_ARCH_GP ||
           msr - MSR_PMU_IA32_FIXED_CTR_CTRL <=
           MSR_PMU_IA32_PERF_GLOBAL_STATUS_SET - MSR_PMU_IA32_FIXED_CTR_CTRL;
}

unsigned pmu_check_counter_of(uint32_t msr)
{
    switch (msr) {
    case MSR_PMU_IA32_PMC0 ... MSR_PMU_IA32_PMC0 + PERFMON_ARCH_GP - 1:
        return msr - MSR_PMU_IA32_PMC0;
    case MSR_PMU_IA32_A_PMC0 ... MSR_PMU_IA32_A_PMC0 + PERFMON_ARCH_GP - 1:
        return msr - MSR_PMU_IA32_A_PMC0;
    case MSR_PMU_IA32_FIXED_CTR0 ...
         MSR_PMU_IA32_FIXED_CTR0 + PERFMON_MAX_FIXED - 1:
        return PMU_CHECK_FIXED(msr - MSR_PMU_IA32_FIXED_CTR0);
    default:
        return PMU_CHECK_COUNTERS;
    }
}

uint64_t pmu_controls_enabled(const PmuControls *controls)
{
    uint64_t set = 0;

    for (unsigned i = 0; i < PERFMON_ARCH_GP; i++) {
        if (controls->evtsel[i] & PERF_EVTSEL_EN &&
            controls->evtsel[i] & (PERF_EVTSEL_OS | PERF_EVTSEL_USR)) {
            set |= PERF_GLOBAL_GP(i);
        }
    }
    for (unsigned i = 0; i < PERFMON_MAX_FIXED; i++) {
        if (controls->fixed_ctr_ctrl & (PERF_FIXED_OS(i) | PERF_FIXED_USR(i))) {
            set |= PERF_GLOBAL_FIXED(i);
        }
    }
    return set;
}

uint64_t pmu_controls_counting(const PmuControls *controls)
{
    uint64_t set = pmu_controls_enabled(controls) & controls->global_ctrl;

    if (controls->global_status & PERF_GLOBAL_CTR_FRZ) {
        return 0;
    }
    if (controls->metrics && set & PERF_GLOBAL_FIXED(3)) {
        set |= controls->global_ctrl & PERF_GLOBAL_METRICS;
    }
    return set;
}

uint64_t pmu_controls_interrupting(const PmuControls *controls)
{
    uint64_t set = 0;

    for (unsigned i = 0; i < PERFMON_ARCH_GP; i++) {
        if (controls->evtsel[i] & PERF_EVTSEL_INT) {
            set |= PERF_GLOBAL_GP(i);
        }
    }
    for (unsigned i = 0; i < PERFMON_MAX_FIXED; i++) {
        if (controls->fixed_ctr_ctrl & PERF_FIXED_PMI(i)) {
            set |= PERF_GLOBAL_FIXED(i);
        }
    }
    if (controls->metrics && set & PERF_GLOBAL_FIXED(3)) {
        set |= PERF_GLOBAL_METRICS;
    }
    return set;
}

uint64_t pmu_check_selector(const PmuControls *controls, unsigned index)
{
    if (index < PERFMON_ARCH_GP) {
        return controls->evtsel[index] & ~(PERF_EVTSEL_EN | PERF_EVTSEL_INT);
    }
    index -= PERFMON_ARCH_GP;
    return controls->fixed_ctr_ctrl >> (4 * index) &
           (PERF_FIXED_OS(0) | PERF_FIXED_USR(0));
}

uint64_t pmu_check_value(const Perfmon *perfmon, unsigned index)
{
    return index < PERFMON_ARCH_GP ? perfmon->gp[index]
                                  : perfmon->fixed[index - PERFMON_ARCH_GP];
}
