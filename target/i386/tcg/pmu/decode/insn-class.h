/*
 * Which instructions events count by what they compute.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_INSN_CLASS_H
#define TARGET_I386_PMU_DECODE_INSN_CLASS_H

#include <stdbool.h>

#include "tcg/pmu/decode/insn.h"

/*
 * Set @insn_class and @class_count of @insn, whose mnemonic is @name, of 1 or
 * more characters, and whose widest registers are @xmm or @ymm.
 */
void pmu_insn_classify(PmuInsn *insn, const char *name, bool xmm, bool ymm);

#endif
