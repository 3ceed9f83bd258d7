/*
 * Classes of instructions, by what they compute, that events count.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_INSN_CLASS_H
#define TARGET_I386_PMU_DECODE_INSN_CLASS_H

#include <stdbool.h>

#include "tcg/pmu/decode/insn.h"

/*
 * Set @insn_class, @class_count and PMU_INSN_ASSISTED of @insn.  Its mnemonic
 * is @name, 1 or more characters; its widest registers are @xmm or @ymm.
 */
void pmu_insn_classify(PmuInsn *insn, const char *name, bool xmm, bool ymm);

#endif
