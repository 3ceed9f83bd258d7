/*
 * What the translator notes for the PMU while it translates a block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_TRANSLATE_H
#define TARGET_I386_PMU_TRANSLATE_H

#include "tcg/pmu/decode/encoding.h"
#include "tcg/pmu/pmu-state.h"

typedef struct X86PMUTranslation {
    X86PMU *unit;               /* NULL: this block is not instrumented */
    TCGOp *prologue_after;      /* where the prologue goes; NULL: first */
    /* Of the instruction that is being translated: */
    uint8_t ea, stack;          /* see PmuBlockInsn */
    uint8_t accesses;           /* data accesses so far */
    PmuEncoding encoding;
} X86PMUTranslation;

#endif
