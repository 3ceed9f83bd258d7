/*
 * String instructions: what MOVS, STOS and the like access.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcg/pmu/decode/strings.h"

void pmu_build_string(PmuInsnBuilder *b)
{
    PmuInsn *insn = b->insn;
    uint8_t opcode = b->op[0];
    unsigned full = b->context->mode == 16 ? 2 : 4;

    insn->flags |= PMU_INSN_STRING;
    if (pmu_encoding_repeats(b->enc)) {
        insn->flags |= PMU_INSN_REP;
        pmu_builder_add_src(b, PMU_REG_RCX);
        pmu_builder_add_dst(b, PMU_REG_RCX);
    }
    if (pmu_builder_has_prefix(b, PMU_PREFIX_OPERAND_SIZE)) {
        full = 6 - full;
    }
    insn->access_size = !(opcode & 1) ? 1 :
                        pmu_builder_has_prefix(b, PMU_PREFIX_REX_W) ? 8 : full;
    switch (opcode & 0xfe) {
    case 0xa4:                          /* MOVS */
        insn->flags |= PMU_INSN_LOAD | PMU_INSN_STACK_STORE;
        break;
    case 0xa6:                          /* CMPS */
        insn->flags |= PMU_INSN_LOAD | PMU_INSN_STACK_LOAD;
        break;
    case 0xaa:                          /* STOS */
        insn->flags |= PMU_INSN_STACK_STORE;
        pmu_builder_add_src(b, PMU_REG_RAX);
        break;
    case 0xac:                          /* LODS */
    case 0x6e:                          /* OUTS */
        insn->flags |= PMU_INSN_LOAD;
        break;
    case 0xae:                          /* SCAS */
        insn->flags |= PMU_INSN_STACK_LOAD;
        pmu_builder_add_src(b, PMU_REG_RAX);
        break;
    case 0x6c:                          /* INS */
        insn->flags |= PMU_INSN_STACK_STORE;
        break;
    default:
        break;
    }
    if (insn->flags & PMU_INSN_LOAD) {
        insn->addr_src[0] = PMU_REG_RSI;
    }
    if (insn->flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)) {
        insn->addr_src[1] = PMU_REG_RDI;
    }
}
