/*
 * Which registers and memory an instruction reads and writes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_OPERANDS_H
#define TARGET_I386_PMU_DECODE_OPERANDS_H

#include "tcg/pmu/decode/insn-builder.h"

/* Add the operands: explicit ones, implicit ones, those of the row's kind. */
void pmu_build_operands(PmuInsnBuilder *b);

/*
 * Add the stack access that @flag says: PMU_INSN_STACK_LOAD or _STACK_STORE.
 * It takes another @slots issue slots.
 */
void pmu_build_stack_access(PmuInsnBuilder *b, uint32_t flag, unsigned slots);

/* Add the stack accesses of PUSH, POP, LEAVE.  Branches add their own. */
void pmu_build_stack_operands(PmuInsnBuilder *b);

#endif
