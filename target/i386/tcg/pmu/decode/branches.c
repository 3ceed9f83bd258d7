/*
 * Kinds of branches, and macro-fusion.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcg/pmu/decode/branches.h"
#include "tcg/pmu/decode/operands.h"

void pmu_build_branch(PmuInsnBuilder *b)
{
    PmuInsn *insn = b->insn;
    const uint8_t *op = b->op;
    bool direct = op[0] != 0xff;
    unsigned cc;

    switch (b->row->kind) {
    case PMU_KIND_JMP:
        insn->branch = direct ? PMU_BRANCH_JMP : PMU_BRANCH_JMP_INDIRECT;
        break;
    case PMU_KIND_CALL:
        insn->branch = direct ? PMU_BRANCH_CALL : PMU_BRANCH_CALL_INDIRECT;
        pmu_build_stack_access(b, PMU_INSN_STACK_STORE, !b->mem);
        break;
    case PMU_KIND_RET:
        insn->branch = PMU_BRANCH_RET;
        pmu_build_stack_access(b, PMU_INSN_STACK_LOAD, 0);
        break;
    case PMU_KIND_FAR:
        insn->branch = PMU_BRANCH_FAR;
        break;
    case PMU_KIND_JCC:
        insn->branch = PMU_BRANCH_COND;
        cc = op[0] == 0x0f ? op[1] & 15 : op[0] & 15;
        /* JRCXZ and LOOP read RCX, and do not fuse. */
        if (!b->row->reads) {
            /* By condition code: O NO B AE E NE BE A S NS P NP L GE LE G. */
            static const uint8_t fuse[16] = {
                PMU_FUSE_OTHER, PMU_FUSE_OTHER,
                PMU_FUSE_CARRY_ZERO, PMU_FUSE_CARRY_ZERO,
                PMU_FUSE_CARRY_ZERO | PMU_FUSE_ZERO,
                PMU_FUSE_CARRY_ZERO | PMU_FUSE_ZERO,
                PMU_FUSE_CARRY_ZERO, PMU_FUSE_CARRY_ZERO,
                PMU_FUSE_OTHER, PMU_FUSE_OTHER,
                PMU_FUSE_OTHER, PMU_FUSE_OTHER,
                PMU_FUSE_SIGNED, PMU_FUSE_SIGNED,
                PMU_FUSE_SIGNED, PMU_FUSE_SIGNED,
            };
            insn->flags |= PMU_INSN_FUSE_SECOND;
            insn->fuse = fuse[cc];
        }
        break;
    default:
        break;
    }
}

void pmu_build_fusion(PmuInsnBuilder *b)
{
    bool imm = false;

    if (!(b->row->traits & PMU_TRAIT_FUSES) ||
        (b->insn->flags & PMU_INSN_STORE)) {
        return;
    }
    for (unsigned i = 0; i < b->x86->op_count; i++) {
        imm |= b->x86->operands[i].type == X86_OP_IMM;
    }
    if (imm && b->mem) {
        return;
    }
    b->insn->flags |= PMU_INSN_FUSE_FIRST;
    b->insn->fuse = b->row->fuse;
}
