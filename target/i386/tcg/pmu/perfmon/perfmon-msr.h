/*
 * RDMSR, WRMSR and RESET by a register map.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_PERFMON_PERFMON_MSR_H
#define TARGET_I386_PMU_PERFMON_PERFMON_MSR_H

#include "tcg/pmu/perfmon/perfmon-state.h"

/* Compute the masks and @num_present of @pmu from its configuration. */
void perfmon_msr_prepare(Perfmon *pmu);

/* Give every register its RESET value. */
void perfmon_msr_reset(Perfmon *pmu);

/* Does every stored register hold only bits that it has? */
bool perfmon_msr_plausible(const Perfmon *pmu);

/* RDMSR.  *@value is written only on PERFMON_OK. */
PerfmonResult perfmon_rdmsr(const Perfmon *pmu, uint32_t msr, uint64_t *value);

/*
 * WRMSR in two steps, as a write that faults must not retire.  The check has no
 * side effect.  Before the write the caller must have made the check, with
 * PERFMON_OK, and called perfmon_update().
 */
PerfmonResult perfmon_wrmsr_check(const Perfmon *pmu, uint32_t msr,
                                  uint64_t value);

void perfmon_wrmsr(Perfmon *pmu, uint32_t msr, uint64_t value);

/* Does @msr say what general-purpose counters count, and if they are on? */
bool perfmon_msr_selects(const Perfmon *pmu, uint32_t msr);

#endif
