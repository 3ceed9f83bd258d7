/*
 * The register table of the performance-monitoring unit: RDMSR, WRMSR, RESET.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_PERFMON_PERFMON_MSR_H
#define TARGET_I386_PMU_PERFMON_PERFMON_MSR_H

#include "tcg/pmu/perfmon/perfmon-state.h"

/* Compute what @pmu derives from its configuration. */
void perfmon_msr_prepare(Perfmon *pmu);

/* Give every register its RESET value. */
void perfmon_msr_reset(Perfmon *pmu);

/* Every register that is stored holds only bits that it has. */
bool perfmon_msr_plausible(const Perfmon *pmu);

/*
 * RDMSR.  *@value is written only on PERFMON_OK.
 */
PerfmonResult perfmon_rdmsr(const Perfmon *pmu, uint32_t msr, uint64_t *value);

/*
 * WRMSR in two steps, as a write that faults must not retire: the check has
 * no side effect, the write must have been checked and settled.
 */
PerfmonResult perfmon_wrmsr_check(const Perfmon *pmu, uint32_t msr,
                                  uint64_t value);

void perfmon_wrmsr(Perfmon *pmu, uint32_t msr, uint64_t value);

/*
 * Row @index of the register table, for dumps and tests: its name, to which
 * the number of the register is appended if there are several, the first
 * register, and how many there are.  NULL past the end.
 */
const char *perfmon_msr_row(unsigned index, uint32_t *first, unsigned *count);

#endif
