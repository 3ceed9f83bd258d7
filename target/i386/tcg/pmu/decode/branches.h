/*
 * Branches, and what they fuse with.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_BRANCHES_H
#define TARGET_I386_PMU_DECODE_BRANCHES_H

#include "tcg/pmu/decode/insn-builder.h"

/* What kind of branch it is, if it is one, and which flags a Jcc fuses with. */
void pmu_build_branch(PmuInsnBuilder *b);

/*
 * Whether it can be the first of a macro-fused pair (Intel SOM 3.4.2.2): no
 * memory destination, and no memory with an immediate.
 */
void pmu_build_fusion(PmuInsnBuilder *b);

#endif
