/*
 * What register renaming does without executing anything.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_RENAMING_H
#define TARGET_I386_PMU_DECODE_RENAMING_H

#include "tcg/pmu/decode/insn-builder.h"

/* Remove sources, micro-ops and latency that renaming eliminates. */
void pmu_build_renaming(PmuInsnBuilder *b);

/* Set PMU_INSN_RENAMES_MEMORY, if the core has memory renaming. */
void pmu_build_memory_renaming(PmuInsnBuilder *b);

#endif
