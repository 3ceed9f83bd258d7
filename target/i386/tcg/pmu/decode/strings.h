/*
 * String instructions: what MOVS, STOS and the like access.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_STRINGS_H
#define TARGET_I386_PMU_DECODE_STRINGS_H

#include "tcg/pmu/decode/insn-builder.h"

/*
 * Add the operands of the string instruction of @b.  Its opcode and prefixes
 * tell the size of an element.  It repeats if pmu_encoding_repeats().
 */
void pmu_build_string(PmuInsnBuilder *b);

#endif
