/*
 * What register renaming does, so that nothing executes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_RENAMING_H
#define TARGET_I386_PMU_DECODE_RENAMING_H

#include "tcg/pmu/decode/insn-builder.h"

/* Take sources, micro-ops and latency off what renaming eliminates. */
void pmu_build_renaming(PmuInsnBuilder *b);

/* Mark what memory renaming is able to do, if the core has that. */
void pmu_build_memory_renaming(PmuInsnBuilder *b);

#endif
