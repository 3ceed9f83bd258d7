/*
 * What an instruction takes: the first timing row of its row in the table that
 * fits the form of its operands.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/decode/timing-rows.h"

/* What a locked access takes besides latency: cycles, slots (IL64). */
#define LOCK_HOLD       18
#define LOCK_SLOTS      5

/* Cycles by which loads of vector registers are longer (uops.info). */
#define XMM_LOAD_LATENCY    1
#define YMM_LOAD_LATENCY    2

static bool op_is_vec(const cs_x86_op *op, unsigned first, unsigned count)
{
    return pmu_operand_is_reg(op) && op->reg >= first &&
           op->reg < first + count;
}

static uint32_t address_form(const PmuInsnBuilder *b, const cs_x86_op *op)
{
    const x86_op_mem *mem = &op->mem;

    if (mem->index == X86_REG_INVALID) {
        return b->context->reg[mem->base] ? 0 : PMU_FORM_ABSOLUTE;
    }
    /* The index of a gather is a vector. */
    return (mem->scale > 1 ? PMU_FORM_SCALED : 0) |
           (mem->index >= X86_REG_YMM0 && mem->index < X86_REG_YMM0 + 16
            ? PMU_FORM_YMM : 0);
}

/* Returns the PMU_FORM_x of the operands. */
static uint32_t operand_form(const PmuInsnBuilder *b)
{
    const cs_x86_op *op = b->x86->operands;
    unsigned count = b->x86->op_count;
    uint32_t form = count == 1 ? PMU_FORM_ONE : 0;
    unsigned size = count ? op[0].size : 0;

    for (unsigned i = count; i-- > 0; ) {
        if (pmu_builder_is_gpr(b, &op[i])) {
            /* With memory to change, the register may be a count in CL. */
            if (!i || op[0].type != X86_OP_MEM) {
                size = op[i].size;
            }
            form |= i ? PMU_FORM_GPR_SRC : PMU_FORM_GPR_DST;
        } else if (op_is_vec(&op[i], X86_REG_YMM0, 16)) {
            form |= PMU_FORM_YMM;
        } else if (op_is_vec(&op[i], X86_REG_XMM0, 16)) {
            form |= PMU_FORM_XMM;
        } else if (op_is_vec(&op[i], X86_REG_MM0, 8)) {
            form |= PMU_FORM_MMX;
        } else if (op[i].type == X86_OP_MEM && i && count == 2 &&
                   !pmu_builder_is_gpr(b, &op[0])) {
            size = op[i].size;
        }
        if (op[i].type == X86_OP_MEM) {
            form |= address_form(b, &op[i]);
        }
        if (pmu_operand_is_reg(&op[i]) &&
            (op[i].reg == X86_REG_AH || op[i].reg == X86_REG_BH ||
             op[i].reg == X86_REG_CH || op[i].reg == X86_REG_DH)) {
            form |= PMU_FORM_HIGH;
        }
    }
    form |= size == 1 ? PMU_FORM_8 : size == 2 ? PMU_FORM_16 :
            size == 4 ? PMU_FORM_32 : size == 8 ? PMU_FORM_64 : 0;
    /* The widest vector register decides. */
    if (form & PMU_FORM_YMM) {
        form &= ~(PMU_FORM_XMM | PMU_FORM_MMX);
    } else if (form & PMU_FORM_XMM) {
        form &= ~PMU_FORM_MMX;
    }
    if (count && op[count - 1].type == X86_OP_IMM) {
        form |= PMU_FORM_IMM;
    }
    if (count >= 2 && pmu_operand_is_reg(&op[0]) &&
        pmu_operand_is_reg(&op[1]) &&
        op[0].reg == op[1].reg) {
        form |= PMU_FORM_SAME;
    }
    return form;
}

static uint32_t find_form(const PmuInsnBuilder *b)
{
    uint8_t opcode = b->op[0];
    uint32_t form = operand_form(b);

    /* Older cores use Sunny Cove's rows. */
    form |= b->context->core == PMU_CORE_SAPPHIRERAPIDS ? PMU_FORM_GLC
                                                        : PMU_FORM_SNC;
    if (b->insn->flags & PMU_INSN_LOAD) {
        form |= PMU_FORM_LOAD;
    }
    if (b->insn->flags & PMU_INSN_STORE) {
        form |= PMU_FORM_STORE;
    }
    if (pmu_builder_has_prefix(b, PMU_PREFIX_LOCK)) {
        form |= PMU_FORM_LOCK;
    }
    if (b->insn->access_size == 10) {
        form |= PMU_FORM_80;
    }
    if (pmu_builder_is_vex(b)) {
        form |= PMU_FORM_VEX;
    }
    if (b->widened) {
        form = (form & ~PMU_FORM_XMM) | PMU_FORM_YMM;
    }
    if (opcode == 0xd2 || opcode == 0xd3 ||
        (opcode == 0x0f && b->insn->length > b->enc->opcode_offset + 1 &&
         (b->op[1] & 0xf7) == 0xa5)) {
        form |= PMU_FORM_CL;
    }
    if (opcode == 0xd0 || opcode == 0xd1) {
        form |= PMU_FORM_BY_1;
    }
    /* ALU AL, imm8 and ALU eAX, imm. */
    if (opcode < 0x40 && (opcode & 6) == 4) {
        form |= PMU_FORM_ACC;
    }
    return form;
}

/* Set src_late and dst_late, once all sources and destinations are known. */
static void set_lateness(PmuInsnBuilder *b, const PmuTimingRow *timing)
{
    PmuInsn *insn = b->insn;

    for (unsigned i = 0; i < b->srcs; i++) {
        if (insn->src_late[i] == PMU_SOONEST) {
            insn->src_late[i] = 0;
        } else if (insn->src[i] == PMU_REG_SPAZO) {
            insn->src_late[i] = timing->flags_late;
        } else if (i == 0) {
            insn->src_late[i] = timing->src0_late;
        }
    }
    if (b->dsts > 1 && insn->dst[1] != PMU_REG_CF &&
        insn->dst[1] != PMU_REG_SPAZO) {
        insn->dst_late[1] = timing->second_dst_late;
    }
}

/* Set when a load has its data, from L1D or forwarded from a store. */
static void set_load_latency(PmuInsnBuilder *b, const PmuTimingRow *timing)
{
    const PmuUarch *uarch = b->context->uarch;
    PmuInsn *insn = b->insn;

    insn->load_latency = timing->load_latency +
                         uarch->bypass[PMU_BYPASS_NONE][timing->bypass];
    /* The width makes no difference to forwarding (IL64: MOVAPS). */
    insn->forward_latency = insn->load_latency;
    if ((b->form & PMU_FORM_LOAD) && (b->form & PMU_FORM_STORE)) {
        insn->forward_latency += uarch->forward_rmw;
    }
    if (b->form & (PMU_FORM_XMM | PMU_FORM_YMM)) {
        insn->forward_latency += uarch->forward_vector;
    }
    if ((b->form & PMU_FORM_YMM) && insn->access_size > 8) {
        insn->load_latency += YMM_LOAD_LATENCY;
    } else if ((b->form & PMU_FORM_XMM) && insn->access_size > 8) {
        insn->load_latency += XMM_LOAD_LATENCY;
    }
}

void pmu_build_timing(PmuInsnBuilder *b)
{
    PmuInsn *insn = b->insn;
    const PmuUarch *uarch = b->context->uarch;
    const PmuTimingRow *timing = b->row->timing;
    unsigned uops = 0;

    b->form = find_form(b);
    while (timing->form & ~b->form) {
        timing++;
    }
    for (unsigned i = 0; i < PMU_INSN_COMPUTE; i++) {
        if (timing->compute[i].count) {
            insn->compute[i].ports = uarch->ports[timing->compute[i].unit];
            insn->compute[i].count = timing->compute[i].count;
            uops += timing->compute[i].count;
        }
    }
    insn->latency = timing->latency;
    insn->resource = timing->resource;
    insn->hold = timing->hold;
    insn->bypass = timing->bypass;
    set_load_latency(b, timing);
    insn->slots = timing->slots;
    if (!insn->slots) {
        insn->slots = uops + !!(insn->flags & PMU_INSN_STORE);
        if ((insn->flags & PMU_INSN_LOAD) && uops == 0) {
            insn->slots++;
        }
    }
    set_lateness(b, timing);
}

/* Are there at least @n explicit operands that are register or memory? */
static bool has_operands(const PmuInsnBuilder *b, unsigned n)
{
    unsigned count = 0;

    for (unsigned i = 0; i < b->x86->op_count; i++) {
        count += b->x86->operands[i].type != X86_OP_IMM;
    }
    return count >= n;
}

bool pmu_builder_is_unlaminated(const PmuInsnBuilder *b)
{
    return b->indexed && (b->insn->flags & PMU_INSN_LOAD) &&
           ((b->insn->flags & PMU_INSN_STORE) ||
            (pmu_builder_is_vex(b) && b->access == PMU_OPERANDS_W &&
             has_operands(b, 3)));
}

void pmu_build_lock(const PmuInsnBuilder *b)
{
    PmuInsn *insn = b->insn;

    insn->slots += LOCK_SLOTS;
    insn->latency += b->context->uarch->lock_latency;
    insn->resource = PMU_RESOURCE_LOCK;
    insn->hold = LOCK_HOLD;
    insn->flags |= PMU_INSN_FENCES_LOADS;
}
