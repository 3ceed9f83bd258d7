/*
 * Instructions as micro-ops: decoding and the corrections to Capstone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Translation time, below the line.
 *
 * Capstone names the instruction and its operands.  How the operands are used
 * comes from our own table: Capstone's access flags differ between 4.0 and
 * 5.0 and are wrong for common instructions in both (TEST m reported as a
 * write, SETcc m and vector stores as reads, CMOVcc without its destination,
 * LEA and NOP as memory reads, no stack accesses at all).  Prefixes and the
 * first opcode byte are read from the bytes, which settles what Capstone
 * confuses: MOVSD and CMPSD the string instructions with their SSE namesakes,
 * RDPID with RDSEED, the shadow stack's hints with nothing.
 */

#include <capstone/capstone.h>
#include <glib.h>
#include <string.h>

#include "uops-table.h"

struct PmuDecoder {
    csh handle;
    cs_insn *insn;
    PmuCore core;
    unsigned mode;              /* 16, 32 or 64 */
    uint64_t decoded, unknown;
    /* By Capstone's number; filled in as instructions turn up. */
    const PmuUopsRow *row[X86_INS_ENDING];
    bool row_known[X86_INS_ENDING];
    uint8_t reg[X86_REG_ENDING];        /* PmuReg */
};

/* Legacy and REX prefixes and what they lead to. */
typedef struct Encoding {
    unsigned opcode;            /* index of the first opcode byte */
    bool operand_size, lock, rep, repne, rex_w;
} Encoding;

/* 1/16 cycles that a micro-op holds its group of ports. */
static const uint8_t unit_cost[PMU_CORE_NR][PMU_UNIT_NR] = {
    /*
     * uops.info, Ice Lake: ALU p0156, shifts p06, taken branches p6, vector
     * ALU p015, FP and vector shifts p01.
     */
    [PMU_CORE_ICELAKE] = {
        [PMU_UNIT_ALU] = 4, [PMU_UNIT_SHIFT] = 8, [PMU_UNIT_BRANCH] = 8,
        [PMU_UNIT_SLOW_INT] = 16, [PMU_UNIT_VEC] = 5, [PMU_UNIT_FP] = 8,
        [PMU_UNIT_SHUFFLE] = 16, [PMU_UNIT_P0] = 16,
        [PMU_UNIT_INT_DIV] = 16, [PMU_UNIT_FP_DIV] = 16,
        [PMU_UNIT_LOCK] = 16, [PMU_UNIT_SYSTEM] = 16,
    },
    /* As above, with p10 a fifth integer port: uops.info, Alder Lake P. */
    [PMU_CORE_SAPPHIRERAPIDS] = {
        [PMU_UNIT_ALU] = 3, [PMU_UNIT_SHIFT] = 8, [PMU_UNIT_BRANCH] = 8,
        [PMU_UNIT_SLOW_INT] = 16, [PMU_UNIT_VEC] = 5, [PMU_UNIT_FP] = 8,
        [PMU_UNIT_SHUFFLE] = 16, [PMU_UNIT_P0] = 16,
        [PMU_UNIT_INT_DIV] = 16, [PMU_UNIT_FP_DIV] = 16,
        [PMU_UNIT_LOCK] = 16, [PMU_UNIT_SYSTEM] = 16,
    },
};

/* Sunny Cove's microcode update took GPR move elimination away (uiCA). */
static const bool eliminates_gpr_moves[PMU_CORE_NR] = {
    [PMU_CORE_SAPPHIRERAPIDS] = true,
};

/* What a locked access costs on top: 18 to 20 cycles (InstLatx64). */
#define LOCK_LATENCY    13
#define LOCK_OCCUPANCY  (18 * 16)
#define LOCK_SLOTS      5

/* Registers a block of Capstone's numbers stands for. */
typedef struct RegRow {
    uint16_t first;             /* X86_REG_x */
    uint16_t count;
    uint8_t reg;                /* PmuReg of the first */
} RegRow;

#define GPR(n)  (PMU_REG_GPR0 + (n))
#define GPR_NAMES(l, h, x, e, r, n)                                     \
    { X86_REG_##l, 1, GPR(n) }, { X86_REG_##h, 1, GPR(n) },             \
    { X86_REG_##x, 1, GPR(n) }, { X86_REG_##e, 1, GPR(n) },             \
    { X86_REG_##r, 1, GPR(n) }
#define GPR_NAMES_NO_HIGH(l, x, e, r, n)                                \
    { X86_REG_##l, 1, GPR(n) }, { X86_REG_##x, 1, GPR(n) },             \
    { X86_REG_##e, 1, GPR(n) }, { X86_REG_##r, 1, GPR(n) }

static const RegRow reg_table[] = {
    GPR_NAMES(AL, AH, AX, EAX, RAX, 0),
    GPR_NAMES(CL, CH, CX, ECX, RCX, 1),
    GPR_NAMES(DL, DH, DX, EDX, RDX, 2),
    GPR_NAMES(BL, BH, BX, EBX, RBX, 3),
    GPR_NAMES_NO_HIGH(SPL, SP, ESP, RSP, 4),
    GPR_NAMES_NO_HIGH(BPL, BP, EBP, RBP, 5),
    GPR_NAMES_NO_HIGH(SIL, SI, ESI, RSI, 6),
    GPR_NAMES_NO_HIGH(DIL, DI, EDI, RDI, 7),
    { X86_REG_R8, 8, GPR(8) }, { X86_REG_R8B, 8, GPR(8) },
    { X86_REG_R8W, 8, GPR(8) }, { X86_REG_R8D, 8, GPR(8) },
    { X86_REG_XMM0, 16, PMU_REG_VEC0 }, { X86_REG_YMM0, 16, PMU_REG_VEC0 },
};

/* Fill in @decoder->reg; x87 and MMX registers share one entry. */
static void init_regs(PmuDecoder *decoder)
{
    for (size_t i = 0; i < G_N_ELEMENTS(reg_table); i++) {
        const RegRow *row = &reg_table[i];

        for (unsigned j = 0; j < row->count; j++) {
            decoder->reg[row->first + j] = row->reg + j;
        }
    }
    for (unsigned i = 0; i < 8; i++) {
        decoder->reg[X86_REG_ST0 + i] = PMU_REG_X87;
        decoder->reg[X86_REG_MM0 + i] = PMU_REG_X87;
    }
}

PmuDecoder *pmu_decoder_new(PmuCore core)
{
    PmuDecoder *decoder = g_new0(PmuDecoder, 1);

    if (cs_open(CS_ARCH_X86, CS_MODE_64, &decoder->handle) != CS_ERR_OK) {
        g_free(decoder);
        return NULL;
    }
    cs_option(decoder->handle, CS_OPT_DETAIL, CS_OPT_ON);
    decoder->insn = cs_malloc(decoder->handle);
    if (!decoder->insn) {
        cs_close(&decoder->handle);
        g_free(decoder);
        return NULL;
    }
    decoder->core = core;
    decoder->mode = 64;
    init_regs(decoder);
    return decoder;
}

void pmu_decoder_free(PmuDecoder *decoder)
{
    if (decoder) {
        cs_free(decoder->insn, 1);
        cs_close(&decoder->handle);
        g_free(decoder);
    }
}

void pmu_decoder_set_mode(PmuDecoder *decoder, unsigned mode)
{
    if (mode != decoder->mode) {
        cs_option(decoder->handle, CS_OPT_MODE,
                  mode == 64 ? CS_MODE_64 :
                  mode == 32 ? CS_MODE_32 : CS_MODE_16);
        decoder->mode = mode;
    }
}

void pmu_decoder_stats(const PmuDecoder *decoder, uint64_t *decoded,
                       uint64_t *unknown)
{
    *decoded = decoder->decoded;
    *unknown = decoder->unknown;
}

static Encoding parse_prefixes(const PmuDecoder *decoder,
                               const uint8_t *bytes, unsigned length)
{
    Encoding enc = {};

    for (; enc.opcode < length - 1; enc.opcode++) {
        uint8_t byte = bytes[enc.opcode];

        switch (byte) {
        case 0x66:
            enc.operand_size = true;
            break;
        case 0xf0:
            enc.lock = true;
            break;
        case 0xf2:
            enc.repne = true;
            break;
        case 0xf3:
            enc.rep = true;
            break;
        case 0x67: case 0x26: case 0x2e: case 0x36: case 0x3e:
        case 0x64: case 0x65:
            break;
        default:
            if (decoder->mode == 64 && (byte & 0xf0) == 0x40) {
                enc.rex_w = byte & 8;
                enc.opcode++;
            }
            return enc;
        }
    }
    return enc;
}

static void add_src(PmuInsn *insn, unsigned *count, unsigned reg)
{
    if (reg == PMU_REG_NONE || *count == PMU_INSN_SRCS) {
        return;
    }
    for (unsigned i = 0; i < *count; i++) {
        if (insn->src[i] == reg) {
            return;
        }
    }
    insn->src[(*count)++] = reg;
}

static void add_dst(PmuInsn *insn, unsigned *count, unsigned reg)
{
    if (reg == PMU_REG_NONE || *count == PMU_INSN_DSTS) {
        return;
    }
    for (unsigned i = 0; i < *count; i++) {
        if (insn->dst[i] == reg) {
            return;
        }
    }
    insn->dst[(*count)++] = reg;
}

/* What the description is built from. */
typedef struct Builder {
    const PmuDecoder *decoder;
    const uint8_t *bytes;
    Encoding enc;
    const cs_x86 *x86;
    const PmuUopsRow *row;
    PmuInsn *insn;
    unsigned srcs, dsts;
    unsigned access;            /* PmuAccess that holds for this form */
    bool vex;
    const cs_x86_op *mem;       /* the memory operand, if there is one */
    bool indexed;
    bool wide;                  /* 256 bits */
    bool widened;               /* 256 bits, but Capstone was shown 128 */
} Builder;

static bool is_reg(const cs_x86_op *op)
{
    return op->type == X86_OP_REG;
}

static unsigned op_reg(const Builder *b, const cs_x86_op *op)
{
    return is_reg(op) ? b->decoder->reg[op->reg] : PMU_REG_NONE;
}

static bool op_is_gpr(const Builder *b, const cs_x86_op *op)
{
    unsigned reg = op_reg(b, op);

    return reg >= PMU_REG_GPR0 && reg < PMU_REG_FLAGS;
}

/* A memory operand's registers, direction and size. */
static void add_memory(Builder *b, const cs_x86_op *op, bool read, bool write)
{
    const uint8_t *reg = b->decoder->reg;
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

/* The address of LEA and its like is an ordinary source. */
static void add_address(Builder *b, const cs_x86_op *op)
{
    const uint8_t *reg = b->decoder->reg;

    add_src(b->insn, &b->srcs, reg[op->mem.base]);
    add_src(b->insn, &b->srcs, reg[op->mem.index]);
    b->indexed = reg[op->mem.index] != PMU_REG_NONE;
}

static void add_operand(Builder *b, unsigned i)
{
    const cs_x86_op *op = &b->x86->operands[i];
    bool write = (i == 0 && b->access >= PMU_ACCESS_W) ||
                 (i == 1 && b->access >= PMU_ACCESS_W2);
    bool read = !write || b->access == PMU_ACCESS_RW ||
                b->access == PMU_ACCESS_RW2;
    unsigned reg = op_reg(b, op);

    if (op->type == X86_OP_MEM) {
        if (b->row->kind == PMU_KIND_LEA) {
            add_address(b, op);
        } else if (b->row->kind == PMU_KIND_PREFETCH) {
            add_memory(b, op, true, false);
        } else if (b->access != PMU_ACCESS_NONE) {
            add_memory(b, op, read, write);
        }
        return;
    }
    if (!is_reg(op)) {
        return;
    }
    if (reg >= PMU_REG_VEC0 && reg < PMU_REG_X87 &&
        op->reg >= X86_REG_YMM0 && op->reg < X86_REG_YMM0 + 16) {
        b->wide = true;
    }
    if (b->access == PMU_ACCESS_NONE) {
        return;
    }
    /* A byte or word written leaves the rest of the register. */
    if (write && op_is_gpr(b, op) && op->size <= 2) {
        read = true;
    }
    if (read) {
        add_src(b->insn, &b->srcs, reg);
    }
    if (write) {
        add_dst(b->insn, &b->dsts, reg);
    }
}

static void add_implicit(Builder *b)
{
    for (unsigned i = 0; i < 16; i++) {
        if (b->row->reads & (1u << i)) {
            add_src(b->insn, &b->srcs, GPR(i));
        }
        if (b->row->writes & (1u << i)) {
            add_dst(b->insn, &b->dsts, GPR(i));
        }
    }
    if (b->row->traits & PMU_TRAIT_FLAGS_R) {
        add_src(b->insn, &b->srcs, PMU_REG_FLAGS);
    }
    if (b->row->traits & PMU_TRAIT_FLAGS_W) {
        add_dst(b->insn, &b->dsts, PMU_REG_FLAGS);
    }
}

/* Is the number of explicit register or memory operands at least @n? */
static bool has_operands(const Builder *b, unsigned n)
{
    unsigned count = 0;

    for (unsigned i = 0; i < b->x86->op_count; i++) {
        count += b->x86->operands[i].type != X86_OP_IMM;
    }
    return count >= n;
}

/* The access that holds for the form at hand. */
static unsigned form_access(const Builder *b)
{
    const PmuUopsRow *row = b->row;
    const cs_x86_op *op = b->x86->operands;

    /* A VEX form with its own destination does not read it. */
    if (b->vex && row->access == PMU_ACCESS_RW && row->kind != PMU_KIND_GATHER
        && strcmp(row->name, "vfma")) {
        return PMU_ACCESS_W;
    }
    if (row->traits & PMU_TRAIT_MERGE) {
        return b->x86->op_count == 2 && is_reg(&op[0]) && is_reg(&op[1])
               ? PMU_ACCESS_RW : PMU_ACCESS_W;
    }
    /* MOVLPS and the like keep the other half, but not in memory. */
    if ((row->traits & PMU_TRAIT_MOVE) && row->access == PMU_ACCESS_RW &&
        op[0].type == X86_OP_MEM) {
        return PMU_ACCESS_W;
    }
    if (row->kind == PMU_KIND_MUL && row->access == PMU_ACCESS_RW) {
        return b->x86->op_count == 1 ? PMU_ACCESS_R :
               b->x86->op_count == 3 ? PMU_ACCESS_W : PMU_ACCESS_RW;
    }
    /* BSF and BSR leave the destination alone if the source is 0. */
    return row->access;
}

/* Do the two sources of a dependency-breaking idiom agree? */
static bool same_sources(const Builder *b)
{
    const cs_x86_op *op = b->x86->operands;
    unsigned first = b->x86->op_count == 3 ? 1 : 0;

    if (b->x86->op_count < 2 || !is_reg(&op[first]) ||
        !is_reg(&op[first + 1]) || op[first].reg != op[first + 1].reg) {
        return false;
    }
    /* Byte and word forms are no idioms (uops.info). */
    return !op_is_gpr(b, &op[first]) || op[first].size >= 4;
}

static void apply_idioms(Builder *b)
{
    PmuInsn *insn = b->insn;
    const cs_x86_op *op = b->x86->operands;
    uint16_t traits = b->row->traits;

    if ((traits & (PMU_TRAIT_ZERO | PMU_TRAIT_ONES)) && same_sources(b)) {
        memset(insn->src, PMU_REG_NONE, sizeof(insn->src));
        b->srcs = 0;
        if (traits & PMU_TRAIT_ZERO) {
            insn->unit = PMU_UNIT_NONE;
            insn->occupancy = 0;
            insn->latency = 0;
        }
        return;
    }
    if (b->mem || b->x86->op_count != 2 || !is_reg(&op[0]) ||
        !is_reg(&op[1])) {
        return;
    }
    if (((traits & PMU_TRAIT_ELIM_SIMD) &&
         op_reg(b, &op[0]) >= PMU_REG_VEC0) ||
        ((traits & PMU_TRAIT_ELIM_GPR) && op_is_gpr(b, &op[0]) &&
         op_is_gpr(b, &op[1]) && op[0].size >= 4 &&
         eliminates_gpr_moves[b->decoder->core])) {
        insn->unit = PMU_UNIT_NONE;
        insn->occupancy = 0;
        insn->latency = 0;
    }
}

/* Slots, micro-ops and latency, once operands and directions are known. */
static void apply_memory_cost(Builder *b)
{
    PmuInsn *insn = b->insn;
    bool load = insn->flags & PMU_INSN_LOAD;
    bool store = insn->flags & PMU_INSN_STORE;
    bool move = b->row->traits & PMU_TRAIT_MOVE;

    insn->uops = insn->slots;
    if (move && (load || store)) {
        /* A load, or address and data of a store: nothing else. */
        insn->slots = 1;
        insn->uops = store ? 2 : 1;
        insn->unit = PMU_UNIT_NONE;
        insn->occupancy = 0;
        insn->latency = 0;
        return;
    }
    if (load) {
        insn->uops += 1;
        if (insn->unit == PMU_UNIT_NONE && b->row->kind == PMU_KIND_PLAIN &&
            insn->slots == 0) {
            insn->slots = 1;
        }
    }
    if (store) {
        insn->uops += 2;
        insn->slots += 1;
    }
    /*
     * Un-lamination: more than three inputs do not fit one entry of the
     * scheduler (uops.info: VEX three-operand and read-modify-write forms).
     */
    if (b->indexed && load &&
        (store || (b->vex && b->access == PMU_ACCESS_W &&
                   has_operands(b, 3)))) {
        insn->slots += 1;
    }
    if (insn->flags & PMU_INSN_LOCKED) {
        insn->slots += LOCK_SLOTS;
        insn->uops += LOCK_SLOTS;
        insn->latency += LOCK_LATENCY;
        insn->unit = PMU_UNIT_LOCK;
        insn->occupancy = LOCK_OCCUPANCY;
        insn->flags |= PMU_INSN_FENCES_LOADS;
    }
}

static void set_stack(Builder *b, uint32_t flag, unsigned slots)
{
    PmuInsn *insn = b->insn;

    insn->flags |= flag;
    insn->slots += slots;
    insn->uops += slots + (flag == PMU_INSN_STACK_STORE);
    if (!insn->access_size) {
        insn->access_size = b->decoder->mode == 64 ? 8 :
                            b->decoder->mode == 32 ? 4 : 2;
    }
    if (!(insn->flags & (PMU_INSN_LOAD | PMU_INSN_STORE))) {
        /*
         * The stack engine tracks RSP without executing: PUSH and POP read
         * it for the address and never delay its next user.
         */
        insn->addr_src[0] = GPR(4);
    }
}

/* Branches: what kind, and which conditional ones fuse with what. */
static void set_branch(Builder *b)
{
    PmuInsn *insn = b->insn;
    const uint8_t *op = b->bytes + b->enc.opcode;
    bool direct = b->x86->op_count == 1 &&
                  b->x86->operands[0].type == X86_OP_IMM;
    unsigned cc;

    switch (b->row->kind) {
    case PMU_KIND_JMP:
        insn->branch = direct ? PMU_BRANCH_JMP : PMU_BRANCH_JMP_INDIRECT;
        break;
    case PMU_KIND_CALL:
        insn->branch = direct ? PMU_BRANCH_CALL : PMU_BRANCH_CALL_INDIRECT;
        set_stack(b, PMU_INSN_STACK_STORE, 0);
        break;
    case PMU_KIND_RET:
        insn->branch = PMU_BRANCH_RET;
        set_stack(b, PMU_INSN_STACK_LOAD, 1);
        break;
    case PMU_KIND_FAR:
        insn->branch = PMU_BRANCH_FAR;
        break;
    case PMU_KIND_JCC:
        insn->branch = PMU_BRANCH_COND;
        cc = op[0] == 0x0f ? op[1] & 15 : op[0] & 15;
        if (b->insn->src[0] == PMU_REG_FLAGS && b->row->slots == 1) {
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

/*
 * As the first of a macro-fused pair (Intel SOM 3.4.2.2): no memory
 * destination, and no memory with an immediate.
 */
static void set_fuse_first(Builder *b)
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

static void kind_lea(Builder *b)
{
    const cs_x86_op *op = b->x86->operands;

    /* Scaled, or three components: p1 and p5 (InstLatx64: 0.5 cycles). */
    for (unsigned i = 0; i < b->x86->op_count; i++) {
        if (op[i].type == X86_OP_MEM && b->indexed &&
            (op[i].mem.scale > 1 ||
             (op[i].mem.disp && b->decoder->reg[op[i].mem.base]))) {
            b->insn->occupancy = 8;
            b->insn->unit = PMU_UNIT_SHIFT;
        }
    }
    /* A word result is merged: 2 cycles. */
    if (op[0].size == 2) {
        b->insn->latency = 2;
    }
}

static void kind_mul(Builder *b)
{
    const cs_x86_op *op = b->x86->operands;

    if (b->x86->op_count != 1) {
        return;
    }
    add_src(b->insn, &b->srcs, GPR(0));
    add_dst(b->insn, &b->dsts, GPR(0));
    if (op[0].size > 1) {
        add_dst(b->insn, &b->dsts, GPR(2));
    }
    b->insn->latency = op[0].size == 1 ? 3 : 4;
    b->insn->slots = op[0].size == 8 ? 2 : op[0].size == 1 ? 1 : 3;
}

static void kind_div(Builder *b)
{
    static const struct {
        uint8_t latency, occupancy;
    } figures[2] = {
        /* Up to 32 bits; 64 bits: InstLatx64, both cores. */
        { 15, 6 }, { 18, 10 },
    };
    bool wide = b->x86->operands[0].size == 8;

    b->insn->latency = figures[wide].latency;
    b->insn->occupancy = figures[wide].occupancy * 16;
}

static void kind_shift(Builder *b)
{
    const cs_x86_op *op = b->x86->operands;

    if (b->x86->op_count == 2 && is_reg(&op[1])) {
        /* By CL: the flags may stay, so they are merged. */
        add_src(b->insn, &b->srcs, PMU_REG_FLAGS);
        b->insn->slots += b->insn->slots > 1 ? 5 : 1;
        b->insn->latency += b->insn->slots > 2 ? 5 : 0;
        b->insn->occupancy = b->insn->slots > 2 ? 7 * 16 : 16;
    }
}

static void kind_gather(Builder *b)
{
    b->insn->access_size = 0;
    b->insn->flags &= ~PMU_INSN_STORE;
}

static void apply_kind(Builder *b)
{
    PmuInsn *insn = b->insn;

    switch (b->row->kind) {
    case PMU_KIND_LEA:
        kind_lea(b);
        break;
    case PMU_KIND_MUL:
        kind_mul(b);
        break;
    case PMU_KIND_DIV:
        kind_div(b);
        break;
    case PMU_KIND_SHIFT:
        kind_shift(b);
        break;
    case PMU_KIND_XCHG:
        if (b->mem) {
            insn->flags |= PMU_INSN_LOCKED;
        }
        break;
    case PMU_KIND_GATHER:
        kind_gather(b);
        break;
    case PMU_KIND_X87:
        add_src(insn, &b->srcs, PMU_REG_X87);
        add_dst(insn, &b->dsts, PMU_REG_X87);
        break;
    case PMU_KIND_PREFETCH:
        insn->flags |= PMU_INSN_PREFETCH;
        break;
    default:
        break;
    }
}

static void apply_stack(Builder *b)
{
    PmuInsn *insn = b->insn;
    bool memory = b->mem;

    switch (b->row->kind) {
    case PMU_KIND_PUSH:
        set_stack(b, PMU_INSN_STACK_STORE, memory ? 1 : 0);
        break;
    case PMU_KIND_POP:
        set_stack(b, PMU_INSN_STACK_LOAD, 0);
        break;
    case PMU_KIND_LEAVE:
        set_stack(b, PMU_INSN_STACK_LOAD, 0);
        insn->addr_src[0] = GPR(5);
        break;
    default:
        break;
    }
}

/* A string instruction: the element size is in the opcode and prefixes. */
static void set_string(Builder *b)
{
    PmuInsn *insn = b->insn;
    uint8_t opcode = b->bytes[b->enc.opcode];
    unsigned full = b->decoder->mode == 16 ? 2 : 4;

    insn->flags |= PMU_INSN_STRING;
    if (b->enc.rep || b->enc.repne) {
        insn->flags |= PMU_INSN_REP;
        add_src(insn, &b->srcs, GPR(1));
        add_dst(insn, &b->dsts, GPR(1));
    }
    if (b->enc.operand_size) {
        full = 6 - full;
    }
    insn->access_size = !(opcode & 1) ? 1 : b->enc.rex_w ? 8 : full;
    switch (opcode & 0xfe) {
    case 0xa4:                          /* MOVS */
        insn->flags |= PMU_INSN_LOAD | PMU_INSN_STACK_STORE;
        break;
    case 0xa6:                          /* CMPS */
        insn->flags |= PMU_INSN_LOAD | PMU_INSN_STACK_LOAD;
        break;
    case 0xaa:                          /* STOS */
        insn->flags |= PMU_INSN_STACK_STORE;
        add_src(insn, &b->srcs, GPR(0));
        break;
    case 0xac:                          /* LODS */
    case 0x6e:                          /* OUTS */
        insn->flags |= PMU_INSN_LOAD;
        break;
    case 0xae:                          /* SCAS */
        insn->flags |= PMU_INSN_STACK_LOAD;
        add_src(insn, &b->srcs, GPR(0));
        break;
    case 0x6c:                          /* INS */
        insn->flags |= PMU_INSN_STACK_STORE;
        break;
    default:
        break;
    }
    if (insn->flags & PMU_INSN_LOAD) {
        insn->addr_src[0] = GPR(6);
    }
    if (insn->flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)) {
        insn->addr_src[1] = GPR(7);
    }
}

/* Length-changing prefix: 66H with a word immediate (Intel SOM 3.4.2.3). */
static bool has_lcp(const Builder *b)
{
    uint8_t op = b->bytes[b->enc.opcode];
    uint8_t reg = (b->bytes[b->enc.opcode + 1] >> 3) & 7;

    if (!b->enc.operand_size || b->enc.rex_w) {
        return false;
    }
    if (op < 0x40) {
        return (op & 7) == 5;           /* ALU AX, imm16 */
    }
    return op == 0x81 || op == 0xc7 || op == 0x69 || op == 0xa9 ||
           op == 0x68 || (op >= 0xb8 && op <= 0xbf) ||
           (op == 0xf7 && reg < 2);
}

static void finish(Builder *b)
{
    PmuInsn *insn = b->insn;
    uint8_t op = b->bytes[b->enc.opcode];

    if (b->srcs > 2) {
        insn->flags |= PMU_INSN_MANY_SRCS;
    }
    if (insn->slots > 4) {
        insn->flags |= PMU_INSN_MICROCODED;
    }
    if (b->decoder->mode != 64) {
        insn->flags |= PMU_INSN_LOW32;
    }
    if (b->enc.rex_w && op >= 0xb8 && op <= 0xbf) {
        insn->flags |= PMU_INSN_IMM64;
    }
    if (insn->length > b->enc.opcode + 1 && has_lcp(b)) {
        insn->flags |= PMU_INSN_LCP;
    }
}

static void build(Builder *b)
{
    PmuInsn *insn = b->insn;
    const PmuUopsRow *row = b->row;
    PmuCore core = b->decoder->core;

    insn->slots = row->slots;
    insn->latency = row->latency[core];
    insn->unit = row->unit;
    insn->occupancy = row->occupancy ? row->occupancy
                                     : unit_cost[core][row->unit];
    insn->flags |= row->flags;
    b->access = form_access(b);
    for (unsigned i = 0; i < b->x86->op_count; i++) {
        add_operand(b, i);
    }
    if (b->wide && (row->traits & PMU_TRAIT_LANE)) {
        insn->latency = 3;
        insn->occupancy = 16;
    }
    if (b->wide && (row->traits & PMU_TRAIT_WIDE_SLOW)) {
        insn->occupancy *= 2;
    }
    add_implicit(b);
    if (row->kind == PMU_KIND_STRING) {
        set_string(b);
    }
    if (b->enc.lock) {
        insn->flags |= PMU_INSN_LOCKED;
    }
    apply_kind(b);
    apply_memory_cost(b);
    apply_stack(b);
    apply_idioms(b);
    set_branch(b);
    set_fuse_first(b);
    finish(b);
}

/* One slot, one cycle: what an instruction nobody knows counts as. */
static void describe_unknown(PmuInsn *insn, unsigned length)
{
    memset(insn, 0, sizeof(*insn));
    insn->flags = PMU_INSN_UNKNOWN;
    insn->length = length;
    insn->slots = 1;
    insn->uops = 1;
    insn->latency = 1;
    insn->unit = PMU_UNIT_ALU;
    insn->occupancy = 4;
    memset(insn->dst, PMU_REG_NR, sizeof(insn->dst));
}

/* Instructions that one version of Capstone or the other misnames. */
typedef struct Misnamed {
    bool rep;                   /* only with a mandatory F3 prefix */
    uint8_t opcode_length;
    uint8_t opcode[2];
    uint8_t modrm_mask, modrm;
    const char *name;
} Misnamed;

static const Misnamed misnamed[] = {
    /* RDPID r: taken for RDSEED. */
    { true, 2, { 0x0f, 0xc7 }, 0xf8, 0xf8, "rdpid" },
    /* RDSSP r without shadow stacks, and ENDBR: hint NOPs. */
    { true, 2, { 0x0f, 0x1e }, 0xc0, 0xc0, "nop" },
    /* Far JMP and CALL through memory: taken for near ones. */
    { false, 1, { 0xff }, 0x38, 0x28, "ljmp" },
    { false, 1, { 0xff }, 0x38, 0x18, "lcall" },
    /* CMPPS and so on: taken for the string instruction, or VCMP for CMP. */
    { false, 2, { 0x0f, 0xc2 }, 0, 0, "cmpps" },
};

/* Outside 64-bit code C4 and C5 are VEX only with a register operand. */
static bool is_vex(const Builder *b, unsigned length)
{
    const uint8_t *op = b->bytes + b->enc.opcode;

    return (op[0] == 0xc4 || op[0] == 0xc5) &&
           length > b->enc.opcode + (op[0] == 0xc4 ? 4 : 3) &&
           (b->decoder->mode == 64 || (op[1] & 0xc0) == 0xc0);
}

/* The first VEX map has the opcodes that 0F begins elsewhere. */
static bool is_vex_0f(const Builder *b, uint8_t opcode)
{
    const uint8_t *vex = b->bytes + b->enc.opcode;

    return b->vex && (vex[0] == 0xc5 ? vex[2] == opcode :
                      (vex[1] & 0x1f) == 1 && vex[3] == opcode);
}

static const PmuUopsRow *corrected_row(const Builder *b, unsigned length)
{
    const uint8_t *op = b->bytes + b->enc.opcode;

    for (size_t i = 0; i < G_N_ELEMENTS(misnamed); i++) {
        const Misnamed *m = &misnamed[i];

        if ((!m->rep || b->enc.rep) &&
            length > b->enc.opcode + m->opcode_length &&
            !memcmp(op, m->opcode, m->opcode_length) &&
            (op[m->opcode_length] & m->modrm_mask) == m->modrm) {
            return pmu_uops_row(m->name);
        }
    }
    return is_vex_0f(b, 0xc2) ? pmu_uops_row("cmpps") : NULL;
}

/* The string instruction that the one-byte opcode @op is, or NULL. */
static const char *string_name(uint8_t op)
{
    static const char *const names[] = {
        [0x6c - 0x6c] = "insb", "insd", "outsb", "outsd",
        [0xa4 - 0x6c] = "movsb", "movsq", "cmpsb", "cmpsq",
        [0xaa - 0x6c] = "stosb", "stosq", "lodsb", "lodsq", "scasb", "scasq",
    };

    return op >= 0x6c && op - 0x6c < (int)G_N_ELEMENTS(names)
           ? names[op - 0x6c] : NULL;
}

static const PmuUopsRow *row_of(PmuDecoder *decoder, unsigned id)
{
    const char *name;

    if (id >= X86_INS_ENDING) {
        return NULL;
    }
    if (!decoder->row_known[id]) {
        name = cs_insn_name(decoder->handle, id);
        decoder->row[id] = name ? pmu_uops_row(name) : NULL;
        decoder->row_known[id] = true;
    }
    return decoder->row[id];
}

/*
 * VAES: the AES instructions with VEX.L set, which Capstone 4.0 does not know.
 * The 128-bit form differs in nothing but the size of a memory operand.
 */
static bool narrow_vaes(const uint8_t *bytes, unsigned length,
                        unsigned opcode, uint8_t *narrow)
{
    const uint8_t *vex = bytes + opcode;

    if (length < opcode + 5 || vex[0] != 0xc4 || (vex[1] & 0x1f) != 2 ||
        !(vex[2] & 4) || vex[3] < 0xdc || vex[3] > 0xdf) {
        return false;
    }
    memcpy(narrow, bytes, length);
    narrow[opcode + 2] &= ~4;
    return true;
}

/* Let Capstone look at @bytes: true if it finds one of just this length. */
static bool disassemble(PmuDecoder *decoder, const uint8_t *bytes,
                        unsigned length)
{
    const uint8_t *code = bytes;
    size_t left = length;
    uint64_t address = 0;

    return cs_disasm_iter(decoder->handle, &code, &left, &address,
                          decoder->insn) && left == 0;
}

/* The row of the instruction at b->bytes; its operands go to b->x86. */
static const PmuUopsRow *find_row(PmuDecoder *decoder, Builder *b,
                                  unsigned length)
{
    const PmuUopsRow *corrected = corrected_row(b, length);
    const char *string = string_name(b->bytes[b->enc.opcode]);
    uint8_t narrow[15];

    if (disassemble(decoder, b->bytes, length)) {
        b->x86 = &decoder->insn->detail->x86;
    } else if (narrow_vaes(b->bytes, length, b->enc.opcode, narrow) &&
               disassemble(decoder, narrow, length)) {
        b->x86 = &decoder->insn->detail->x86;
        b->widened = true;
    } else {
        return corrected;
    }
    return corrected ? corrected :
           string ? pmu_uops_row(string) : row_of(decoder, decoder->insn->id);
}

bool pmu_decode(PmuDecoder *decoder, const uint8_t *bytes, unsigned length,
                PmuInsn *insn)
{
    static const cs_x86 no_operands;
    Builder b = {
        .decoder = decoder, .bytes = bytes, .insn = insn,
        .x86 = &no_operands,
        .enc = parse_prefixes(decoder, bytes, length),
    };

    decoder->decoded++;
    describe_unknown(insn, length);
    b.vex = is_vex(&b, length);
    b.row = find_row(decoder, &b, length);
    if (!b.row) {
        decoder->unknown++;
        return false;
    }
    memset(insn, 0, sizeof(*insn));
    memset(insn->dst, PMU_REG_NR, sizeof(insn->dst));
    insn->length = length;
    build(&b);
    if (b.widened) {
        insn->access_size *= 2;
    }
    return true;
}
