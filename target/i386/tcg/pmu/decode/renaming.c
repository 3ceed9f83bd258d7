/*
 * What register renaming does without executing anything: idioms that zero a
 * register, moves, additions of small constants; and, if the core has memory
 * renaming, loads of what was just stored.  IL64: see uarch.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "tcg/pmu/decode/renaming.h"

/* Constants small enough for renaming to add (IL64). */
#define ELIMINATED_MIN  (-1024)
#define ELIMINATED_MAX  1023

/* Are the two sources of a dependency-breaking idiom the same register? */
static bool same_sources(const PmuInsnBuilder *b)
{
    const cs_x86_op *op = b->x86->operands;
    unsigned first = b->x86->op_count == 3 ? 1 : 0;

    if (b->x86->op_count < 2 || !pmu_operand_is_reg(&op[first]) ||
        !pmu_operand_is_reg(&op[first + 1]) ||
            op[first].reg != op[first + 1].reg) {
        return false;
    }
    /* Byte and word forms are not such idioms (uops.info). */
    return !pmu_builder_is_gpr(b, &op[first]) || op[first].size >= 4;
}

static void eliminate(PmuInsn *insn)
{
    memset(insn->compute, 0, sizeof(insn->compute));
    memset(insn->src_late, 0, sizeof(insn->src_late));
    memset(insn->dst_late, 0, sizeof(insn->dst_late));
    insn->latency = 0;
    insn->bypass = PMU_BYPASS_NONE;
}

/* Is it a register plus a constant small enough for renaming to add? */
static bool adds_constant(const PmuInsnBuilder *b)
{
    const cs_x86_op *op = b->x86->operands;
    int64_t constant = 0;

    if (b->mem || !pmu_builder_is_gpr(b, &op[0]) || op[0].size != 8) {
        return false;
    }
    if (b->row->kind == PMU_KIND_LEA) {
        /* IL64: not LEA with 32-bit addresses. */
        if (op[1].mem.index != X86_REG_INVALID || b->x86->addr_size != 8 ||
            !b->context->reg[op[1].mem.base]) {
            return false;
        }
        constant = op[1].mem.disp;
    } else if (b->x86->op_count == 2) {
        if (op[1].type != X86_OP_IMM) {
            return false;
        }
        constant = op[1].imm;
    }
    return constant >= ELIMINATED_MIN && constant <= ELIMINATED_MAX;
}

/* Is it a move between registers that renaming does? */
static bool is_eliminated_move(const PmuInsnBuilder *b)
{
    const cs_x86_op *op = b->x86->operands;
    uint16_t traits = b->row->traits;
    bool zero_extension = b->x86->op_count == 2 && op[1].size == 1;

    if (b->mem || b->x86->op_count != 2 || !pmu_operand_is_reg(&op[0]) ||
        !pmu_operand_is_reg(&op[1]) ||
            pmu_builder_reg(b, &op[0]) == pmu_builder_reg(b, &op[1])) {
        return false;
    }
    if (traits & PMU_TRAIT_ELIM_SIMD) {
        return true;
    }
    return (traits & PMU_TRAIT_ELIM_GPR) && pmu_builder_is_gpr(b, &op[0]) &&
           pmu_builder_is_gpr(b, &op[1]) && op[0].size >= 4 &&
           (op[1].size >= 4 || (zero_extension &&
                                !(b->form & PMU_FORM_HIGH))) &&
           b->context->uarch->eliminates_gpr_moves;
}

void pmu_build_renaming(PmuInsnBuilder *b)
{
    PmuInsn *insn = b->insn;
    uint16_t traits = b->row->traits;

    if ((traits & (PMU_TRAIT_ZERO | PMU_TRAIT_ONES)) && same_sources(b)) {
        bool mmx = b->form & PMU_FORM_MMX;

        memset(insn->src, PMU_REG_NONE, sizeof(insn->src));
        b->srcs = 0;
        /* All-ones idioms, and those of MMX (IL64), still execute. */
        if ((traits & PMU_TRAIT_ZERO) && !mmx) {
            eliminate(insn);
        }
    } else if (is_eliminated_move(b) ||
               ((traits & PMU_TRAIT_ELIM_IMM) &&
                b->context->uarch->eliminates_constants &&
                adds_constant(b))) {
        eliminate(insn);
    }
}

/* Are all register operands of @b general ones, of the memory's size? */
static bool only_gprs(const PmuInsnBuilder *b)
{
    for (unsigned i = 0; i < b->x86->op_count; i++) {
        const cs_x86_op *op = &b->x86->operands[i];

        if (op->type == X86_OP_REG &&
            (!pmu_builder_is_gpr(b, op) ||
             op->size != b->insn->access_size)) {
            return false;
        }
    }
    return true;
}

/*
 * IL64, on Golden Cove: ADD [m64], imm in a chain takes one cycle; pairs of MOV
 * r32, and of PUSH and POP r64, take half of one.  16-bit ones, ADD [m], r,
 * PUSH and POP of memory, and vector registers wait for the store buffer:
 * renaming looks up no more than an address and what was stored for a micro-op.
 * Addresses with an index are left out, as it is not known what it does with
 * them.  So are bytes, which merge.
 */
void pmu_build_memory_renaming(PmuInsnBuilder *b)
{
    uint32_t flags = b->insn->flags;
    bool operand = flags & (PMU_INSN_LOAD | PMU_INSN_STORE);
    bool stack = flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE);

    if (!b->context->uarch->renames_memory || operand == stack ||
        (b->insn->access_size != 4 && b->insn->access_size != 8) ||
        (flags & (PMU_INSN_LOCKED | PMU_INSN_MICROCODED | PMU_INSN_STRING |
                  PMU_INSN_PREFETCH | PMU_INSN_X87 | PMU_INSN_STREAMING)) ||
        b->insn->branch != PMU_BRANCH_NONE || b->indexed || !only_gprs(b) ||
        ((flags & PMU_INSN_LOADS) && b->srcs)) {
        return;
    }
    b->insn->flags |= PMU_INSN_RENAMES_MEMORY;
}
