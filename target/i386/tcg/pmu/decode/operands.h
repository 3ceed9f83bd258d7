/*
 * Which registers and memory an instruction reads and writes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_OPERANDS_H
#define TARGET_I386_PMU_DECODE_OPERANDS_H

#include "tcg/pmu/decode/insn-builder.h"

/* The operands of @b->row that are explicit, implicit or of its kind. */
void pmu_build_operands(PmuInsnBuilder *b);

/*
 * It accesses the stack, as @flag, PMU_INSN_STACK_LOAD or _STACK_STORE, says,
 * which takes another @slots issue slots.
 */
void pmu_build_stack_access(PmuInsnBuilder *b, uint32_t flag, unsigned slots);

/* PUSH, POP, LEAVE: their stack accesses.  Branches have their own. */
void pmu_build_stack_operands(PmuInsnBuilder *b);

#endif
