/*
 * Which registers and memory an instruction reads and writes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Capstone lists the operands.  How they are used comes from our own table:
 * Capstone's access flags differ between 4.0 and 5.0 and are wrong for common
 * instructions in both (TEST m reported as a write, SETcc m and vector stores
 * as reads, CMOVcc without its destination, LEA and NOP as memory reads, no
 * stack accesses at all).
 */

#include <glib.h>

#include "tcg/pmu/decode/operands.h"
#include "tcg/pmu/decode/strings.h"

/* Add a memory operand: its registers, direction and size. */
static void add_memory(PmuInsnBuilder *b, const cs_x86_op *op, bool read,
                       bool write)
{
    const uint8_t *reg = b->context->reg;
    unsigned base = reg[op->mem.base], index = reg[op->mem.index];

    if (b->row->kind == PMU_KIND_STRING) {
        return;
    }
    b->mem = op;
    b->indexed = index != PMU_REG_NONE;
    b->insn->addr_src[0] = base;
    b->insn->addr_src[1] = index;
    b->insn->access_size = b->row->memory ? b->row->memory
                                          : MIN(op->size, 64);
    if (read) {
        b->insn->flags |= PMU_INSN_LOAD;
    }
    if (write) {
        b->insn->flags |= PMU_INSN_STORE;
    }
}

/* Is it x87?  Its listed operands say little: see use_stack(). */
static bool is_x87(const PmuInsnBuilder *b)
{
    return b->row->kind == PMU_KIND_X87 ||
           b->row->kind == PMU_KIND_X87_LOAD ||
           b->row->kind == PMU_KIND_X87_USE;
}

/* Add the address of LEA, whose registers are ordinary sources. */
static void add_address(PmuInsnBuilder *b, const cs_x86_op *op)
{
    const uint8_t *reg = b->context->reg;

    pmu_builder_add_src(b, reg[op->mem.base]);
    pmu_builder_add_src(b, reg[op->mem.index]);
    b->indexed = reg[op->mem.index] != PMU_REG_NONE;
}

static void add_operand(PmuInsnBuilder *b, unsigned i)
{
    const cs_x86_op *op = &b->x86->operands[i];
    bool write = (i == 0 && b->access >= PMU_OPERANDS_W) ||
                 (i == 1 && b->access >= PMU_OPERANDS_W2);
    bool read = !write || b->access == PMU_OPERANDS_RW ||
                b->access == PMU_OPERANDS_RW2;
    unsigned reg = pmu_builder_reg(b, op);

    if (op->type == X86_OP_MEM) {
        if (b->row->kind == PMU_KIND_LEA) {
            add_address(b, op);
        } else if (b->row->kind == PMU_KIND_PREFETCH) {
            add_memory(b, op, true, false);
        } else if (b->access != PMU_OPERANDS_NONE) {
            add_memory(b, op, read, write);
        }
        return;
    }
    if (!pmu_operand_is_reg(op)) {
        return;
    }
    if (b->access == PMU_OPERANDS_NONE || is_x87(b)) {
        return;
    }
    /* Writing a byte or word keeps the rest of the register. */
    if (write && pmu_builder_is_gpr(b, op) && op->size <= 2) {
        read = true;
    }
    if (read) {
        pmu_builder_add_src(b, reg);
    }
    if (write) {
        pmu_builder_add_dst(b, reg);
    }
}

static void add_implicit(PmuInsnBuilder *b)
{
    for (unsigned i = 0; i < 16; i++) {
        if (b->row->reads & (1u << i)) {
            pmu_builder_add_src(b, PMU_REG_GPR0 + i);
        }
        if (b->row->writes & (1u << i)) {
            pmu_builder_add_dst(b, PMU_REG_GPR0 + i);
        }
    }
    if (b->row->traits & PMU_TRAIT_CF_R) {
        pmu_builder_add_src(b, PMU_REG_CF);
    }
    if (b->row->traits & PMU_TRAIT_SPAZO_R) {
        pmu_builder_add_src(b, PMU_REG_SPAZO);
    }
    if (b->row->traits & PMU_TRAIT_CF_W) {
        pmu_builder_add_dst(b, PMU_REG_CF);
    }
    if (b->row->traits & PMU_TRAIT_SPAZO_W) {
        pmu_builder_add_dst(b, PMU_REG_SPAZO);
    }
}

/* Returns the PmuOperandUse of this form. */
static unsigned form_access(const PmuInsnBuilder *b)
{
    const PmuInsnRow *row = b->row;
    const cs_x86_op *op = b->x86->operands;

    /* A VEX form with a destination of its own does not read that. */
    if (pmu_builder_is_vex(b) && row->access == PMU_OPERANDS_RW &&
        !(row->traits & PMU_TRAIT_VEX_RW)) {
        return PMU_OPERANDS_W;
    }
    if (row->traits & PMU_TRAIT_MERGE) {
        return b->x86->op_count == 2 && pmu_operand_is_reg(&op[0]) &&
               pmu_operand_is_reg(&op[1])
               ? PMU_OPERANDS_RW : PMU_OPERANDS_W;
    }
    /* MOVLPS and the like keep the other half, except in memory. */
    if ((row->traits & PMU_TRAIT_KEEPS_HALF) && op[0].type == X86_OP_MEM) {
        return PMU_OPERANDS_W;
    }
    if (row->kind == PMU_KIND_MUL && row->access == PMU_OPERANDS_RW) {
        return b->x86->op_count == 1 ? PMU_OPERANDS_R :
               b->x86->op_count == 3 ? PMU_OPERANDS_W : PMU_OPERANDS_RW;
    }
    return row->access;
}

static void kind_mul(PmuInsnBuilder *b)
{
    const cs_x86_op *op = b->x86->operands;

    if (b->x86->op_count != 1) {
        return;
    }
    pmu_builder_add_src(b, PMU_REG_RAX);
    pmu_builder_add_dst(b, PMU_REG_RAX);
    if (op[0].size > 1) {
        pmu_builder_add_dst(b, PMU_REG_RDX);
    }
}

/*
 * Add the registers of an x87 instruction, by its opcode.  They are relative to
 * the top of the stack before the instruction moves it.  But the result of
 * arithmetic that pops is one place nearer to the top, where it is afterwards.
 */
static void use_stack(PmuInsnBuilder *b)
{
    PmuInsn *insn = b->insn;
    uint8_t opcode = b->op[0];
    uint8_t modrm = b->op[1];
    unsigned top = PMU_REG_X87, other = top, result = top;

    if (modrm >= 0xc0 && !(opcode == 0xd9 && modrm >= 0xd0)) {
        other = top + (modrm & 7);
    }
    if (b->row->kind == PMU_KIND_X87_LOAD) {
        if (other != top) {
            pmu_builder_add_src(b, other);
        }
        pmu_builder_add_dst(b, top);
        return;
    }
    pmu_builder_add_src(b, top);
    if (b->row->kind == PMU_KIND_X87_USE) {
        if (opcode == 0xdd && modrm >= 0xd0 && modrm < 0xe0) {
            /* FST st(i), or FSTP, after which it is one place nearer. */
            pmu_builder_add_dst(b, modrm >= 0xd8 && other != top
                                ? other - 1 : other);
        } else {
            pmu_builder_add_src(b, other);
        }
        return;
    }
    pmu_builder_add_src(b, other);
    if (opcode == 0xdc) {
        result = other;
    } else if (opcode == 0xde && other != top) {
        result = other - 1;
    }
    pmu_builder_add_dst(b, result);
    if (opcode == 0xd9 && other != top) {       /* FXCH */
        pmu_builder_add_dst(b, other);
        insn->flags |= PMU_INSN_SWAP;
    }
}

static void kind_gather(PmuInsnBuilder *b)
{
    b->insn->access_size = 0;
    b->insn->flags &= ~PMU_INSN_STORE;
}

/* Operands that Capstone does not list. */
static void add_kind_operands(PmuInsnBuilder *b)
{
    PmuInsn *insn = b->insn;

    switch (b->row->kind) {
    case PMU_KIND_MUL:
        kind_mul(b);
        break;
    case PMU_KIND_SHIFT:
        /* A count of 0 in CL keeps the flags, so they are sources. */
        if (b->x86->op_count == 2 && pmu_operand_is_reg(&b->x86->operands[1])) {
            pmu_builder_add_src(b, PMU_REG_CF);
            if (b->row->traits & PMU_TRAIT_SPAZO_W) {
                pmu_builder_add_src(b, PMU_REG_SPAZO);
            }
        }
        break;
    case PMU_KIND_XCHG:
        if (b->mem) {
            insn->flags |= PMU_INSN_LOCKED;
        } else if (b->srcs == 2) {
            insn->flags |= PMU_INSN_SWAP;
        }
        break;
    case PMU_KIND_GATHER:
        kind_gather(b);
        break;
    case PMU_KIND_MASKMOV:
        insn->flags |= PMU_INSN_STORE;
        insn->addr_src[0] = PMU_REG_RDI;
        insn->access_size = pmu_builder_has_prefix(b,
                                                   PMU_PREFIX_OPERAND_SIZE) ||
                            pmu_builder_is_vex(b) ? 16 : 8;
        break;
    case PMU_KIND_X87:
    case PMU_KIND_X87_LOAD:
    case PMU_KIND_X87_USE:
        if (insn->length > b->enc->opcode_offset + 1) {
            use_stack(b);
        }
        break;
    case PMU_KIND_PREFETCH:
        insn->flags |= PMU_INSN_PREFETCH;
        break;
    case PMU_KIND_STRING:
        pmu_build_string(b);
        break;
    default:
        break;
    }
}

void pmu_build_operands(PmuInsnBuilder *b)
{
    b->access = form_access(b);
    for (unsigned i = 0; i < b->x86->op_count; i++) {
        add_operand(b, i);
    }
    add_kind_operands(b);
    add_implicit(b);
}

void pmu_build_stack_access(PmuInsnBuilder *b, uint32_t flag, unsigned slots)
{
    PmuInsn *insn = b->insn;

    insn->flags |= flag;
    insn->slots += slots;
    if (!insn->access_size) {
        insn->access_size = b->context->mode == 64 ? 8 :
                            b->context->mode == 32 ? 4 : 2;
    }
    if (!(insn->flags & (PMU_INSN_LOAD | PMU_INSN_STORE))) {
        /*
         * The stack engine tracks RSP without executing: PUSH and POP read
         * it for the address and never delay its next user.
         */
        insn->addr_src[0] = PMU_REG_RSP;
    }
}

void pmu_build_stack_operands(PmuInsnBuilder *b)
{
    PmuInsn *insn = b->insn;
    bool memory = b->mem;

    switch (b->row->kind) {
    case PMU_KIND_PUSH:
        pmu_build_stack_access(b, PMU_INSN_STACK_STORE, 1);
        break;
    case PMU_KIND_POP:
        pmu_build_stack_access(b, PMU_INSN_STACK_LOAD,
                  b->insn->slots == 0 || (memory && b->insn->slots == 1));
        break;
    case PMU_KIND_LEAVE:
        pmu_build_stack_access(b, PMU_INSN_STACK_LOAD, 0);
        insn->addr_src[0] = PMU_REG_RBP;
        break;
    default:
        break;
    }
}
