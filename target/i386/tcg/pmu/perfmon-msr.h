/*
 * The register table of the performance-monitoring unit.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: private to perfmon*.c.
 */

#ifndef TARGET_I386_PMU_PERFMON_MSR_H
#define TARGET_I386_PMU_PERFMON_MSR_H

#include "perfmon.h"

#define PERFMON_COUNTER_MASK ((1ull << 48) - 1)

/* Compute what @pmu derives from its configuration. */
void perfmon_msr_prepare(Perfmon *pmu);

/* Give every register its RESET value. */
void perfmon_msr_reset(Perfmon *pmu);

/* Every register that is stored holds only bits that it has. */
bool perfmon_msr_plausible(const Perfmon *pmu);

/*
 * Registers that say what counters count may have changed: look up what is
 * different, or all of it.
 */
void perfmon_select(Perfmon *pmu, bool all);

/* What reads of IA32_PERF_METRICS return. */
uint64_t perfmon_metrics(const Perfmon *pmu);

#endif
