/*
 * Kinds of branches, and macro-fusion.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_BRANCHES_H
#define TARGET_I386_PMU_DECODE_BRANCHES_H

#include "tcg/pmu/decode/insn-builder.h"

/*
 * Set what kind of branch it is, if it is one, the PMU_FUSE_x of a Jcc, and the
 * stack access of CALL and RET.
 */
void pmu_build_branch(PmuInsnBuilder *b);

/*
 * Set whether it can be the first of a macro-fused pair (Intel SOM 3.4.2.2).
 * It cannot with a memory destination, nor with both memory and an immediate.
 */
void pmu_build_fusion(PmuInsnBuilder *b);

#endif
