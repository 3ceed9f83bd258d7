/*
 * The register map of NetBurst: what other maps do not have.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_PERFMON_MAP_NETBURST_H
#define TARGET_I386_PMU_PERFMON_MAP_NETBURST_H

#include "tcg/pmu/perfmon/perfmon-state.h"

/*
 * Does a CCCR of @pmu ask for an interrupt?  It does so until software clears
 * its OVF.  If software unmasks the LVT entry before that, the PMI comes again
 * (Linux, arch/x86/events/intel/p4.c, p4_pmu_handle_irq()).
 */
bool perfmon_netburst_pmi_asserted(const Perfmon *pmu);

#endif
