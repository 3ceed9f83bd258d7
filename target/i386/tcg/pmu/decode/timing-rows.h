/*
 * What an instruction takes: micro-ops, ports, latency, issue slots.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_TIMING_ROWS_H
#define TARGET_I386_PMU_DECODE_TIMING_ROWS_H

#include "tcg/pmu/decode/insn-builder.h"

/* Set micro-ops, ports, latency and slots from the first row that fits. */
void pmu_build_timing(PmuInsnBuilder *b);

/* Add what LOCK takes. */
void pmu_build_lock(const PmuInsnBuilder *b);

/*
 * Is it un-laminated?  More than three inputs do not fit one entry of the
 * scheduler (uops.info: VEX three-operand and read-modify-write forms).
 */
bool pmu_builder_is_unlaminated(const PmuInsnBuilder *b);

#endif
