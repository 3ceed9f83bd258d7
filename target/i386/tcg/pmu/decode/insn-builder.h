/*
 * The description of an instruction while it is built.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Private to the decoder's parts: row-lookup, operands, strings, branches,
 * renaming, timing-rows.
 */

#ifndef TARGET_I386_PMU_DECODE_INSN_BUILDER_H
#define TARGET_I386_PMU_DECODE_INSN_BUILDER_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/decode/encoding.h"
#include "tcg/pmu/decode/insn.h"
#include "tcg/pmu/decode/insn-table.h"
#include "tcg/pmu/uarch/uarch.h"

/* What holds for all instructions that a decoder describes. */
typedef struct PmuDecodeContext {
    PmuCore core;               /* whose timing rows hold */
    const PmuUarch *uarch;
    unsigned mode;              /* 16, 32 or 64 */
    uint8_t reg[X86_REG_ENDING];        /* PmuReg by X86_REG_x */
} PmuDecodeContext;

/*
 * A description while it is built, and what it is built from.  build() in
 * decoder.c has the order in which the parts fill it in.
 */
typedef struct PmuInsnBuilder {
    const PmuDecodeContext *context;
    const PmuEncoding *enc;
    const uint8_t *op;          /* the encoding from its opcode on */
    const cs_x86 *x86;
    const PmuInsnRow *row;
    PmuInsn *insn;
    unsigned srcs, dsts;
    unsigned access;            /* PmuOperandUse of this form */
    uint32_t form;              /* PMU_FORM_x */
    const cs_x86_op *mem;       /* the memory operand, if there is one */
    bool indexed;
    bool widened;               /* 256 bits, but Capstone was given 128 */
} PmuInsnBuilder;

/* PmuInsn.src_late while building: 0, whatever the timing row says. */
#define PMU_SOONEST UINT8_MAX

static inline bool pmu_builder_has_prefix(const PmuInsnBuilder *b,
                                          unsigned prefix)
{
    return b->enc->prefixes & prefix;
}

static inline bool pmu_builder_is_vex(const PmuInsnBuilder *b)
{
    return pmu_builder_has_prefix(b, PMU_PREFIX_VEX);
}

static inline bool pmu_operand_is_reg(const cs_x86_op *op)
{
    return op->type == X86_OP_REG;
}

static inline unsigned pmu_builder_reg(const PmuInsnBuilder *b,
                                       const cs_x86_op *op)
{
    return pmu_operand_is_reg(op) ? b->context->reg[op->reg] : PMU_REG_NONE;
}

static inline bool pmu_builder_is_gpr(const PmuInsnBuilder *b,
                                      const cs_x86_op *op)
{
    unsigned reg = pmu_builder_reg(b, op);

    return reg >= PMU_REG_GPR0 && reg < PMU_REG_GPR0 + 16;
}

/* Add source @reg, once.  It is left out if there is no room. */
static inline void pmu_builder_add_src(PmuInsnBuilder *b, unsigned reg)
{
    PmuInsn *insn = b->insn;

    if (reg == PMU_REG_NONE || b->srcs >= PMU_INSN_SRCS) {
        return;
    }
    for (unsigned i = 0; i < b->srcs; i++) {
        if (insn->src[i] == reg) {
            /* The use that needs it sooner decides. */
            insn->src_late[i] = PMU_SOONEST;
            return;
        }
    }
    insn->src[b->srcs++] = reg;
}

/* Add destination @reg, likewise. */
static inline void pmu_builder_add_dst(PmuInsnBuilder *b, unsigned reg)
{
    PmuInsn *insn = b->insn;

    if (reg == PMU_REG_NONE || b->dsts >= PMU_INSN_DSTS) {
        return;
    }
    for (unsigned i = 0; i < b->dsts; i++) {
        if (insn->dst[i] == reg) {
            return;
        }
    }
    insn->dst[b->dsts++] = reg;
}

#endif
