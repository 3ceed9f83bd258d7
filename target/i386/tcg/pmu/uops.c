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
 * place of the opcode come from the emulator (PmuEncoding), which settles what
 * Capstone confuses: MOVSD and CMPSD the string instructions with their SSE
 * namesakes, RDPID with RDSEED, the shadow stack's hints with nothing.  Where
 * the row that Capstone names is of something that the emulator does not
 * execute, the instruction is unknown.
 */

#include <glib.h>
#include <string.h>

#include "disassembler.h"
#include "uops-pool.h"
#include "uops-table.h"
#include "uops-tally.h"

/* Instructions that one version of Capstone or the other misnames. */
typedef struct Misnamed {
    bool rep;                   /* only with a mandatory F3 prefix */
    uint8_t opcode_length;
    uint8_t opcode[2];
    uint8_t modrm_mask, modrm;
    const char *name;
} Misnamed;

#define MISNAMED_CMPPS 8
static const Misnamed misnamed[] = {
    /* RDPID r: taken for RDSEED. */
    { true, 2, { 0x0f, 0xc7 }, 0xf8, 0xf8, "rdpid" },
    /* RDSSP r without shadow stacks, and ENDBR: hint NOPs. */
    { true, 2, { 0x0f, 0x1e }, 0xc0, 0xc0, "nop" },
    /* RDPKRU and WRPKRU: not known. */
    { false, 2, { 0x0f, 0x01 }, 0xff, 0xee, "rdpkru" },
    { false, 2, { 0x0f, 0x01 }, 0xff, 0xef, "wrpkru" },
    /* UD0 and UD1 by any name, with or without operands. */
    { false, 2, { 0x0f, 0xb9 }, 0, 0, "ud2" },
    { false, 2, { 0x0f, 0xff }, 0, 0, "ud2" },
    /* Far JMP and CALL through memory: taken for near ones. */
    { false, 1, { 0xff }, 0x38, 0x28, "ljmp" },
    { false, 1, { 0xff }, 0x38, 0x18, "lcall" },
    /* CMPPS and so on: taken for the string instruction, or VCMP for CMP. */
    [MISNAMED_CMPPS] = { false, 2, { 0x0f, 0xc2 }, 0, 0, "cmpps" },
};

/* String instructions by their one-byte opcodes. */
#define STRING_FIRST    0x6c
static const char *const string_names[] = {
    "insb", "insd", "outsb", "outsd",
    [0xa4 - STRING_FIRST] = "movsb", "movsq", "cmpsb", "cmpsq",
    [0xaa - STRING_FIRST] = "stosb", "stosq", "lodsb", "lodsq", "scasb",
                            "scasq",
};

/* Near branches by their opcodes, for where Capstone finds another length. */
typedef struct NearBranch {
    uint8_t first, last;        /* of one byte, or the second one after 0FH */
    bool escaped;               /* after 0FH */
    const char *name;
} NearBranch;

static const NearBranch near_branches[] = {
    { 0x70, 0x7f, false, "je" },
    { 0x80, 0x8f, true, "je" },
    { 0xc2, 0xc3, false, "ret" },
    { 0xe0, 0xe1, false, "loope" },
    { 0xe2, 0xe2, false, "loop" },
    { 0xe3, 0xe3, false, "jrcxz" },
    { 0xe8, 0xe8, false, "call" },
    { 0xe9, 0xe9, false, "jmp" },
    { 0xeb, 0xeb, false, "jmp" },
};

/* The same for opcode FFH, by bits 5:3 of its ModRM byte. */
#define INDIRECT_CALL   2
#define INDIRECT_JMP    4

struct PmuDecoder {
    PmuDisassembler disassembler;
    PmuCore core;
    const PmuUarch *uarch;
    unsigned mode;              /* 16, 32 or 64 */
    uint64_t decoded, unknown, disagreed;
    /* By Capstone's number; filled in as instructions turn up. */
    const PmuUopsRow *row[X86_INS_ENDING];
    bool row_known[X86_INS_ENDING];
    const PmuUopsRow *misnamed_row[G_N_ELEMENTS(misnamed)];
    const PmuUopsRow *string_row[G_N_ELEMENTS(string_names)];
    uint8_t reg[X86_REG_ENDING];        /* PmuReg */
    PmuInsnPool *pool;
};

/* Constants small enough for renaming to add (IL64). */
#define ELIMINATED_MIN  (-1024)
#define ELIMINATED_MAX  1023

/* What a locked access costs beside latency (IL64). */
#define LOCK_HOLD       18
#define LOCK_SLOTS      5

/* Vector loads take longer the wider they are (uops.info). */
#define XMM_LOAD_LATENCY    1
#define YMM_LOAD_LATENCY    2

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
    { X86_REG_ST0, 8, PMU_REG_X87 }, { X86_REG_MM0, 8, PMU_REG_X87 },
};

/* Fill in @decoder->reg. */
static void init_regs(PmuDecoder *decoder)
{
    for (size_t i = 0; i < G_N_ELEMENTS(reg_table); i++) {
        const RegRow *row = &reg_table[i];

        for (unsigned j = 0; j < row->count; j++) {
            decoder->reg[row->first + j] = row->reg + j;
        }
    }
}

/* Rows that are found by opcode rather than by Capstone's number. */
static void init_rows(PmuDecoder *decoder)
{
    for (size_t i = 0; i < G_N_ELEMENTS(misnamed); i++) {
        decoder->misnamed_row[i] = pmu_uops_row(misnamed[i].name);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(string_names); i++) {
        if (string_names[i]) {
            decoder->string_row[i] = pmu_uops_row(string_names[i]);
        }
    }
}

PmuDecoder *pmu_decoder_new(PmuCore core, const PmuUarch *uarch)
{
    PmuDecoder *decoder = g_new0(PmuDecoder, 1);

    if (!pmu_disassembler_open(&decoder->disassembler)) {
        g_free(decoder);
        return NULL;
    }
    decoder->pool = pmu_insn_pool_new();
    decoder->core = core;
    decoder->uarch = uarch;
    decoder->mode = 64;
    init_regs(decoder);
    init_rows(decoder);
    return decoder;
}

void pmu_decoder_free(PmuDecoder *decoder)
{
    if (decoder) {
        pmu_insn_pool_free(decoder->pool);
        pmu_disassembler_close(&decoder->disassembler);
        g_free(decoder);
    }
}

const PmuUarch *pmu_decoder_uarch(const PmuDecoder *decoder)
{
    return decoder->uarch;
}

void pmu_decoder_set_mode(PmuDecoder *decoder, unsigned mode)
{
    if (mode != decoder->mode) {
        cs_option(decoder->disassembler.handle, CS_OPT_MODE,
                  mode == 64 ? CS_MODE_64 :
                  mode == 32 ? CS_MODE_32 : CS_MODE_16);
        decoder->mode = mode;
    }
}

unsigned pmu_decoder_mode(const PmuDecoder *decoder)
{
    return decoder->mode;
}

PmuDecoderStats pmu_decoder_stats(const PmuDecoder *decoder)
{
    return (PmuDecoderStats) {
        .decoded = decoder->decoded, .unknown = decoder->unknown,
        .disagreed = decoder->disagreed,
    };
}

/* PmuInsn.src_late while building: not late, whatever the costs say. */
#define SOONEST UINT8_MAX

static void add_src(PmuInsn *insn, unsigned *count, unsigned reg)
{
    if (reg == PMU_REG_NONE || *count == PMU_INSN_SRCS) {
        return;
    }
    for (unsigned i = 0; i < *count; i++) {
        if (insn->src[i] == reg) {
            /* It is needed as soon as the sooner of its two uses. */
            insn->src_late[i] = SOONEST;
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
    const PmuEncoding *enc;
    const uint8_t *op;          /* the encoding from its opcode on */
    const cs_x86 *x86;
    const PmuUopsRow *row;
    PmuInsn *insn;
    unsigned srcs, dsts;
    unsigned access;            /* PmuAccess that holds for this form */
    uint32_t form;              /* PMU_FORM_x */
    const cs_x86_op *mem;       /* the memory operand, if there is one */
    bool indexed;
    bool widened;               /* 256 bits, but Capstone was shown 128 */
} Builder;

static bool has_prefix(const Builder *b, unsigned prefix)
{
    return b->enc->prefixes & prefix;
}

static bool is_vex(const Builder *b)
{
    return has_prefix(b, PMU_PREFIX_VEX);
}

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

    return reg >= PMU_REG_GPR0 && reg < PMU_REG_GPR0 + 16;
}

static bool op_is_vec(const cs_x86_op *op, unsigned first, unsigned count)
{
    return is_reg(op) && op->reg >= first && op->reg < first + count;
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

/* The operands of x87 say little: see use_stack(). */
static bool is_x87(const Builder *b)
{
    return b->row->kind == PMU_KIND_X87 ||
           b->row->kind == PMU_KIND_X87_LOAD ||
           b->row->kind == PMU_KIND_X87_USE;
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
    if (b->access == PMU_ACCESS_NONE || is_x87(b)) {
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
    if (b->row->traits & PMU_TRAIT_CF_R) {
        add_src(b->insn, &b->srcs, PMU_REG_CF);
    }
    if (b->row->traits & PMU_TRAIT_SPAZO_R) {
        add_src(b->insn, &b->srcs, PMU_REG_SPAZO);
    }
    if (b->row->traits & PMU_TRAIT_CF_W) {
        add_dst(b->insn, &b->dsts, PMU_REG_CF);
    }
    if (b->row->traits & PMU_TRAIT_SPAZO_W) {
        add_dst(b->insn, &b->dsts, PMU_REG_SPAZO);
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
    if (is_vex(b) && row->access == PMU_ACCESS_RW &&
        !(row->traits & PMU_TRAIT_VEX_RW)) {
        return PMU_ACCESS_W;
    }
    if (row->traits & PMU_TRAIT_MERGE) {
        return b->x86->op_count == 2 && is_reg(&op[0]) && is_reg(&op[1])
               ? PMU_ACCESS_RW : PMU_ACCESS_W;
    }
    /* MOVLPS and the like keep the other half, but not in memory. */
    if ((row->traits & PMU_TRAIT_KEEPS_HALF) && op[0].type == X86_OP_MEM) {
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

static void eliminate(PmuInsn *insn)
{
    memset(insn->compute, 0, sizeof(insn->compute));
    memset(insn->src_late, 0, sizeof(insn->src_late));
    memset(insn->dst_late, 0, sizeof(insn->dst_late));
    insn->latency = 0;
    insn->bypass = PMU_BYPASS_NONE;
}

/* Is it a register plus a constant small enough for renaming to add? */
static bool adds_constant(const Builder *b)
{
    const cs_x86_op *op = b->x86->operands;
    int64_t constant = 0;

    if (b->mem || !op_is_gpr(b, &op[0]) || op[0].size != 8) {
        return false;
    }
    if (b->row->kind == PMU_KIND_LEA) {
        /* IL64: not of 32-bit addresses. */
        if (op[1].mem.index != X86_REG_INVALID || b->x86->addr_size != 8 ||
            !b->decoder->reg[op[1].mem.base]) {
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
static bool is_eliminated_move(const Builder *b)
{
    const cs_x86_op *op = b->x86->operands;
    uint16_t traits = b->row->traits;
    bool zero_extension = b->x86->op_count == 2 && op[1].size == 1;

    if (b->mem || b->x86->op_count != 2 || !is_reg(&op[0]) ||
        !is_reg(&op[1]) || op_reg(b, &op[0]) == op_reg(b, &op[1])) {
        return false;
    }
    if (traits & PMU_TRAIT_ELIM_SIMD) {
        return true;
    }
    return (traits & PMU_TRAIT_ELIM_GPR) && op_is_gpr(b, &op[0]) &&
           op_is_gpr(b, &op[1]) && op[0].size >= 4 &&
           (op[1].size >= 4 || (zero_extension &&
                                !(b->form & PMU_FORM_HIGH))) &&
           b->decoder->uarch->eliminates_gpr_moves;
}

static void apply_idioms(Builder *b)
{
    PmuInsn *insn = b->insn;
    uint16_t traits = b->row->traits;

    if ((traits & (PMU_TRAIT_ZERO | PMU_TRAIT_ONES)) && same_sources(b)) {
        bool mmx = b->form & PMU_FORM_MMX;

        memset(insn->src, PMU_REG_NONE, sizeof(insn->src));
        b->srcs = 0;
        /* Ones, and MMX (IL64), still take an execution unit. */
        if ((traits & PMU_TRAIT_ZERO) && !mmx) {
            eliminate(insn);
        }
    } else if (is_eliminated_move(b) ||
               ((traits & PMU_TRAIT_ELIM_IMM) &&
                b->decoder->uarch->eliminates_constants &&
                adds_constant(b))) {
        eliminate(insn);
    }
}

static uint32_t address_form(const Builder *b, const cs_x86_op *op)
{
    const x86_op_mem *mem = &op->mem;

    if (mem->index == X86_REG_INVALID) {
        return b->decoder->reg[mem->base] ? 0 : PMU_FORM_ABSOLUTE;
    }
    /* Of a gather the index is a vector. */
    return (mem->scale > 1 ? PMU_FORM_SCALED : 0) |
           (mem->index >= X86_REG_YMM0 && mem->index < X86_REG_YMM0 + 16
            ? PMU_FORM_YMM : 0);
}

/* The form at hand, as the rows of costs name it. */
static uint32_t operand_form(const Builder *b)
{
    const cs_x86_op *op = b->x86->operands;
    unsigned count = b->x86->op_count;
    uint32_t form = count == 1 ? PMU_FORM_ONE : 0;
    unsigned size = count ? op[0].size : 0;

    for (unsigned i = count; i-- > 0; ) {
        if (op_is_gpr(b, &op[i])) {
            size = op[i].size;
            form |= i ? PMU_FORM_GPR_SRC : PMU_FORM_GPR_DST;
        } else if (op_is_vec(&op[i], X86_REG_YMM0, 16)) {
            form |= PMU_FORM_YMM;
        } else if (op_is_vec(&op[i], X86_REG_XMM0, 16)) {
            form |= PMU_FORM_XMM;
        } else if (op_is_vec(&op[i], X86_REG_MM0, 8)) {
            form |= PMU_FORM_MMX;
        } else if (op[i].type == X86_OP_MEM && i && count == 2 &&
                   !op_is_gpr(b, &op[0])) {
            size = op[i].size;
        }
        if (op[i].type == X86_OP_MEM) {
            form |= address_form(b, &op[i]);
        }
        if (is_reg(&op[i]) &&
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
    if (count >= 2 && is_reg(&op[0]) && is_reg(&op[1]) &&
        op[0].reg == op[1].reg) {
        form |= PMU_FORM_SAME;
    }
    return form;
}

static uint32_t find_form(const Builder *b)
{
    uint8_t opcode = b->op[0];
    uint32_t form = operand_form(b);

    form |= b->decoder->core == PMU_CORE_ICELAKE ? PMU_FORM_SNC
                                                 : PMU_FORM_GLC;
    if (b->insn->flags & PMU_INSN_LOAD) {
        form |= PMU_FORM_LOAD;
    }
    if (b->insn->flags & PMU_INSN_STORE) {
        form |= PMU_FORM_STORE;
    }
    if (has_prefix(b, PMU_PREFIX_LOCK)) {
        form |= PMU_FORM_LOCK;
    }
    if (b->insn->access_size == 10) {
        form |= PMU_FORM_80;
    }
    if (is_vex(b)) {
        form |= PMU_FORM_VEX;
    }
    if (b->widened) {
        form = (form & ~PMU_FORM_XMM) | PMU_FORM_YMM;
    }
    if (opcode == 0xd2 || opcode == 0xd3 ||
        (opcode == 0x0f && b->insn->length > b->enc->opcode + 1 &&
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

/* Lateness of sources and destinations, once these are all known. */
static void set_lateness(Builder *b, const PmuCostRow *cost)
{
    PmuInsn *insn = b->insn;

    for (unsigned i = 0; i < b->srcs; i++) {
        if (insn->src_late[i] == SOONEST) {
            insn->src_late[i] = 0;
        } else if (insn->src[i] == PMU_REG_SPAZO) {
            insn->src_late[i] = cost->flags_late;
        } else if (i == 0) {
            insn->src_late[i] = cost->first_late;
        }
    }
    if (b->dsts > 1 && insn->dst[1] != PMU_REG_CF &&
        insn->dst[1] != PMU_REG_SPAZO) {
        insn->dst_late[1] = cost->second_dst_late;
    }
}

/* When a load's data are there, from L1D or from a store. */
static void set_load_latency(Builder *b, const PmuCostRow *cost)
{
    const PmuUarch *uarch = b->decoder->uarch;
    PmuInsn *insn = b->insn;

    insn->load_latency = cost->load_latency +
                         uarch->bypass[PMU_BYPASS_NONE][cost->bypass];
    /* The widths that stores forward make no difference (IL64: MOVAPS). */
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

/* Micro-ops, ports and latency, by the first row of costs that fits. */
static void apply_cost(Builder *b)
{
    PmuInsn *insn = b->insn;
    const PmuUarch *uarch = b->decoder->uarch;
    const PmuCostRow *cost = b->row->cost;
    unsigned uops = 0;

    b->form = find_form(b);
    while (cost->form & ~b->form) {
        cost++;
    }
    for (unsigned i = 0; i < PMU_INSN_COMPUTE; i++) {
        if (cost->compute[i].count) {
            insn->compute[i].ports = uarch->ports[cost->compute[i].unit];
            insn->compute[i].count = cost->compute[i].count;
            uops += cost->compute[i].count;
        }
    }
    insn->latency = cost->latency;
    insn->resource = cost->resource;
    insn->hold = cost->hold;
    insn->bypass = cost->bypass;
    set_load_latency(b, cost);
    insn->slots = cost->slots;
    if (!insn->slots) {
        insn->slots = uops + !!(insn->flags & PMU_INSN_STORE);
        if ((insn->flags & PMU_INSN_LOAD) && uops == 0) {
            insn->slots++;
        }
    }
    set_lateness(b, cost);
}

/*
 * Un-lamination: more than three inputs do not fit one entry of the scheduler
 * (uops.info: VEX three-operand and read-modify-write forms).
 */
static bool is_unlaminated(const Builder *b)
{
    return b->indexed && (b->insn->flags & PMU_INSN_LOAD) &&
           ((b->insn->flags & PMU_INSN_STORE) ||
            (is_vex(b) && b->access == PMU_ACCESS_W && has_operands(b, 3)));
}

static void apply_lock(const Builder *b)
{
    PmuInsn *insn = b->insn;

    insn->slots += LOCK_SLOTS;
    insn->latency += b->decoder->uarch->lock_latency;
    insn->resource = PMU_RESOURCE_LOCK;
    insn->hold = LOCK_HOLD;
    insn->flags |= PMU_INSN_FENCES_LOADS;
}

static void set_stack(Builder *b, uint32_t flag, unsigned slots)
{
    PmuInsn *insn = b->insn;

    insn->flags |= flag;
    insn->slots += slots;
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
    const uint8_t *op = b->op;
    bool direct = op[0] != 0xff;
    unsigned cc;

    switch (b->row->kind) {
    case PMU_KIND_JMP:
        insn->branch = direct ? PMU_BRANCH_JMP : PMU_BRANCH_JMP_INDIRECT;
        break;
    case PMU_KIND_CALL:
        insn->branch = direct ? PMU_BRANCH_CALL : PMU_BRANCH_CALL_INDIRECT;
        set_stack(b, PMU_INSN_STACK_STORE, !b->mem);
        break;
    case PMU_KIND_RET:
        insn->branch = PMU_BRANCH_RET;
        set_stack(b, PMU_INSN_STACK_LOAD, 0);
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
}

/*
 * The registers of an x87 instruction, by its opcode: the stack moves, but
 * what is said here is relative to the top before it does, other than results
 * of instructions that pop, which are found one place higher up after it.
 */
static void use_stack(Builder *b)
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
            add_src(insn, &b->srcs, other);
        }
        add_dst(insn, &b->dsts, top);
        return;
    }
    add_src(insn, &b->srcs, top);
    if (b->row->kind == PMU_KIND_X87_USE) {
        if (opcode == 0xdd && modrm >= 0xd0 && modrm < 0xe0) {
            add_dst(insn, &b->dsts, other);     /* FST st(i) */
        } else {
            add_src(insn, &b->srcs, other);
        }
        return;
    }
    add_src(insn, &b->srcs, other);
    if (opcode == 0xdc) {
        result = other;
    } else if (opcode == 0xde && other != top) {
        result = other - 1;
    }
    add_dst(insn, &b->dsts, result);
    if (opcode == 0xd9 && other != top) {       /* FXCH */
        add_dst(insn, &b->dsts, other);
        insn->flags |= PMU_INSN_SWAP;
    }
}

static void kind_gather(Builder *b)
{
    b->insn->access_size = 0;
    b->insn->flags &= ~PMU_INSN_STORE;
}

/* A string instruction: the element size is in the opcode and prefixes. */
static void set_string(Builder *b)
{
    PmuInsn *insn = b->insn;
    uint8_t opcode = b->op[0];
    unsigned full = b->decoder->mode == 16 ? 2 : 4;

    insn->flags |= PMU_INSN_STRING;
    if (pmu_encoding_repeats(b->enc)) {
        insn->flags |= PMU_INSN_REP;
        add_src(insn, &b->srcs, GPR(1));
        add_dst(insn, &b->dsts, GPR(1));
    }
    if (has_prefix(b, PMU_PREFIX_OPERAND_SIZE)) {
        full = 6 - full;
    }
    insn->access_size = !(opcode & 1) ? 1 :
                        has_prefix(b, PMU_PREFIX_REX_W) ? 8 : full;
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

/* Operands that Capstone does not list. */
static void add_kind_operands(Builder *b)
{
    PmuInsn *insn = b->insn;

    switch (b->row->kind) {
    case PMU_KIND_MUL:
        kind_mul(b);
        break;
    case PMU_KIND_SHIFT:
        /* By CL: the flags may stay, so they are merged. */
        if (b->x86->op_count == 2 && is_reg(&b->x86->operands[1])) {
            add_src(insn, &b->srcs, PMU_REG_CF);
            if (b->row->traits & PMU_TRAIT_SPAZO_W) {
                add_src(insn, &b->srcs, PMU_REG_SPAZO);
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
        insn->addr_src[0] = GPR(7);
        insn->access_size = has_prefix(b, PMU_PREFIX_OPERAND_SIZE) ||
                            is_vex(b) ? 16 : 8;
        break;
    case PMU_KIND_X87:
    case PMU_KIND_X87_LOAD:
    case PMU_KIND_X87_USE:
        if (insn->length > b->enc->opcode + 1) {
            use_stack(b);
        }
        break;
    case PMU_KIND_PREFETCH:
        insn->flags |= PMU_INSN_PREFETCH;
        break;
    case PMU_KIND_STRING:
        set_string(b);
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
        set_stack(b, PMU_INSN_STACK_STORE, 1);
        break;
    case PMU_KIND_POP:
        set_stack(b, PMU_INSN_STACK_LOAD,
                  b->insn->slots == 0 || (memory && b->insn->slots == 1));
        break;
    case PMU_KIND_LEAVE:
        set_stack(b, PMU_INSN_STACK_LOAD, 0);
        insn->addr_src[0] = GPR(5);
        break;
    default:
        break;
    }
}

/* Length-changing prefix: 66H with a word immediate (Intel SOM 3.4.2.3). */
static bool has_lcp(const Builder *b)
{
    uint8_t op = b->op[0];
    uint8_t reg = (b->op[1] >> 3) & 7;

    if (!has_prefix(b, PMU_PREFIX_OPERAND_SIZE) ||
        has_prefix(b, PMU_PREFIX_REX_W)) {
        return false;
    }
    if (op < 0x40) {
        return (op & 7) == 5;           /* ALU AX, imm16 */
    }
    return op == 0x81 || op == 0xc7 || op == 0x69 || op == 0xa9 ||
           op == 0x68 || (op >= 0xb8 && op <= 0xbf) ||
           (op == 0xf7 && reg < 2);
}

/* MOV to a control or debug register? */
static bool is_mov_to_control(const Builder *b)
{
    const uint8_t *op = b->op;

    return !is_vex(b) && op[0] == 0x0f && (op[1] == 0x22 || op[1] == 0x23);
}

static void set_flags(Builder *b)
{
    PmuInsn *insn = b->insn;
    uint8_t op = b->op[0];

    if (insn->decode_uops > 4) {
        insn->flags |= PMU_INSN_MICROCODED;
    }
    if (b->decoder->mode != 64) {
        insn->flags |= PMU_INSN_LOW32;
    }
    if (has_prefix(b, PMU_PREFIX_REX_W) && op >= 0xb8 && op <= 0xbf) {
        insn->flags |= PMU_INSN_IMM64;
    }
    if (insn->length > b->enc->opcode + 1 && has_lcp(b)) {
        insn->flags |= PMU_INSN_LCP;
    }
    if ((b->row->traits & PMU_TRAIT_ENDS) || is_mov_to_control(b)) {
        insn->flags |= PMU_INSN_ENDS_STRETCH;
    }
}

/* A row can be of several mnemonics; the decoder knows which one it is. */
static void set_tally(Builder *b, unsigned id)
{
    const char *name = b->row->name;

    if (id != X86_INS_INVALID && g_str_has_prefix(name, "vf")) {
        name = cs_insn_name(b->decoder->disassembler.handle, id);
    }
    pmu_uops_tally(b->insn, name, b->form & PMU_FORM_XMM,
                   b->form & PMU_FORM_YMM);
    if (b->row >= pmu_uops_x87.rows &&
        b->row < pmu_uops_x87.rows + pmu_uops_x87.count) {
        b->insn->flags |= PMU_INSN_X87;
    }
}

static void build(Builder *b, unsigned id)
{
    PmuInsn *insn = b->insn;

    insn->flags |= b->row->flags;
    b->access = form_access(b);
    for (unsigned i = 0; i < b->x86->op_count; i++) {
        add_operand(b, i);
    }
    add_kind_operands(b);
    add_implicit(b);
    if (has_prefix(b, PMU_PREFIX_LOCK)) {
        insn->flags |= PMU_INSN_LOCKED;
    }
    if (b->widened) {
        insn->access_size *= 2;
    }
    apply_cost(b);
    apply_stack(b);
    apply_idioms(b);
    set_branch(b);
    set_fuse_first(b);
    if (insn->flags & PMU_INSN_LOCKED) {
        apply_lock(b);
    }
    insn->slots = MAX(insn->slots, 1);
    insn->decode_uops = insn->slots;
    if (is_unlaminated(b)) {
        insn->slots++;
    }
    set_flags(b);
    set_tally(b, id);
}

/*
 * One slot, one cycle: what an instruction nobody knows counts as.  If it
 * iterates, its elements are taken for bytes that it does not access.
 */
static void describe_unknown(const PmuDecoder *decoder, PmuInsn *insn,
                             const PmuEncoding *enc)
{
    memset(insn, 0, sizeof(*insn));
    insn->flags = PMU_INSN_UNKNOWN;
    if (pmu_encoding_repeats(enc)) {
        insn->flags |= PMU_INSN_STRING | PMU_INSN_REP;
        insn->access_size = 1;
    }
    insn->length = enc->length;
    insn->slots = 1;
    insn->decode_uops = 1;
    insn->latency = 1;
    insn->compute[0].ports = decoder->uarch->ports[PMU_UNIT_ALU];
    insn->compute[0].count = 1;
    memset(insn->dst, PMU_REG_NR, sizeof(insn->dst));
}

/* The first VEX map has the opcodes that 0F begins elsewhere. */
static bool is_vex_0f(const Builder *b, uint8_t opcode)
{
    const uint8_t *vex = b->op;

    return is_vex(b) && (vex[0] == 0xc5 ? vex[2] == opcode :
                      (vex[1] & 0x1f) == 1 && vex[3] == opcode);
}

/* The row of what the opcode alone tells, or NULL. */
static const PmuUopsRow *corrected_row(const Builder *b)
{
    const PmuDecoder *decoder = b->decoder;
    unsigned left = b->enc->length - b->enc->opcode;

    for (size_t i = 0; i < G_N_ELEMENTS(misnamed); i++) {
        const Misnamed *m = &misnamed[i];

        if ((!m->rep || has_prefix(b, PMU_PREFIX_REP)) &&
            left > m->opcode_length &&
            !memcmp(b->op, m->opcode, m->opcode_length) &&
            (b->op[m->opcode_length] & m->modrm_mask) == m->modrm) {
            return decoder->misnamed_row[i];
        }
    }
    if (b->op[0] >= STRING_FIRST &&
        b->op[0] - STRING_FIRST < (int)G_N_ELEMENTS(string_names)) {
        return decoder->string_row[b->op[0] - STRING_FIRST];
    }
    return is_vex_0f(b, 0xc2) ? decoder->misnamed_row[MISNAMED_CMPPS] : NULL;
}

static const PmuUopsRow *row_of(PmuDecoder *decoder, unsigned id)
{
    const char *name;

    if (id >= X86_INS_ENDING) {
        return NULL;
    }
    if (!decoder->row_known[id]) {
        name = cs_insn_name(decoder->disassembler.handle, id);
        decoder->row[id] = name ? pmu_uops_row(name) : NULL;
        decoder->row_known[id] = true;
    }
    return decoder->row[id];
}

/* The row that Capstone and the opcode name; operands go to b->x86. */
static const PmuUopsRow *named_row(PmuDecoder *decoder, Builder *b)
{
    const PmuUopsRow *corrected = corrected_row(b);
    const cs_insn *insn = pmu_disassemble(&decoder->disassembler,
                                          b->enc->bytes, b->enc->length, 0,
                                          &b->widened);

    if (!insn || insn->size != b->enc->length) {
        b->widened = false;
        return corrected;
    }
    b->x86 = &insn->detail->x86;
    return corrected ? corrected : row_of(decoder, insn->id);
}

static bool is_branch(const PmuUopsRow *row)
{
    return row->kind == PMU_KIND_JMP || row->kind == PMU_KIND_JCC ||
           row->kind == PMU_KIND_CALL || row->kind == PMU_KIND_RET;
}

/* The row of the near branch that the opcode is, or NULL if it is none. */
static const PmuUopsRow *branch_row(const Builder *b)
{
    bool escaped = b->op[0] == 0x0f;
    uint8_t opcode = b->op[escaped];
    unsigned reg = b->op[1] >> 3 & 7;

    if (is_vex(b)) {
        return NULL;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(near_branches); i++) {
        const NearBranch *branch = &near_branches[i];

        if (escaped == branch->escaped && opcode >= branch->first &&
            opcode <= branch->last) {
            return pmu_uops_row(branch->name);
        }
    }
    if (escaped || opcode != 0xff) {
        return NULL;
    }
    return reg == INDIRECT_CALL ? pmu_uops_row("call") :
           reg == INDIRECT_JMP ? pmu_uops_row("jmp") : NULL;
}

/*
 * The row of the instruction, or NULL if it is not known.  Nor is it if the
 * row is of an instruction that the emulator executes as something else.  What
 * is a near branch follows from the opcode alone, since retired branches are
 * counted exactly: 66 E9 is one to the emulator, of which Capstone finds
 * another length.
 */
static const PmuUopsRow *find_row(PmuDecoder *decoder, Builder *b)
{
    const PmuUopsRow *row, *branch;

    if (b->enc->opcode >= b->enc->length) {
        return NULL;
    }
    row = named_row(decoder, b);
    branch = b->enc->goes_on || b->enc->string ? NULL : branch_row(b);
    if (row && ((row->kind == PMU_KIND_STRING) != b->enc->string ||
                is_branch(row) != !!branch)) {
        decoder->disagreed += !branch;
        row = NULL;
    }
    return row ? row : branch;
}

/* The offset of the opcode's last byte: prefixes and escapes come before. */
static unsigned opcode_end(const Builder *b)
{
    unsigned at = b->enc->opcode;

    if (is_vex(b)) {
        at += b->op[0] == 0xc5 ? 2 : 3;
    } else if (b->op[0] == 0x0f) {
        at += b->op[1] == 0x38 || b->op[1] == 0x3a ? 2 : 1;
    }
    return MIN(at, b->enc->length - 1u);
}

bool pmu_decode(PmuDecoder *decoder, const PmuEncoding *enc, PmuInsn *insn)
{
    static const cs_x86 no_operands;
    Builder b = {
        .decoder = decoder, .enc = enc, .insn = insn, .x86 = &no_operands,
        .op = enc->bytes + MIN(enc->opcode, PMU_ENCODING_BYTES),
    };

    decoder->decoded++;
    describe_unknown(decoder, insn, enc);
    b.row = find_row(decoder, &b);
    if (!b.row) {
        decoder->unknown++;
        pmu_insn_complete(insn);
        return false;
    }
    memset(insn, 0, sizeof(*insn));
    memset(insn->dst, PMU_REG_NR, sizeof(insn->dst));
    insn->length = enc->length;
    insn->opcode = opcode_end(&b);
    build(&b, b.x86 == &no_operands ? X86_INS_INVALID
                                    : decoder->disassembler.insn->id);
    pmu_insn_complete(insn);
    return true;
}

const PmuInsn *pmu_decode_kept(PmuDecoder *decoder, const PmuEncoding *enc)
{
    const PmuInsn *kept = pmu_insn_pool_find(decoder->pool, enc,
                                             decoder->mode);
    PmuInsn insn;

    if (!kept) {
        pmu_decode(decoder, enc, &insn);
        kept = pmu_insn_pool_keep(decoder->pool, &insn);
        pmu_insn_pool_learn(decoder->pool, enc, decoder->mode, kept);
    }
    return kept;
}

bool pmu_decode_bytes(PmuDecoder *decoder, const uint8_t *bytes,
                      unsigned length, PmuInsn *insn)
{
    PmuEncoding enc;

    pmu_encoding_parse(&enc, bytes, length, decoder->mode);
    return pmu_decode(decoder, &enc, insn);
}

const PmuInsn *pmu_decode_bytes_kept(PmuDecoder *decoder,
                                     const uint8_t *bytes, unsigned length)
{
    PmuEncoding enc;

    pmu_encoding_parse(&enc, bytes, length, decoder->mode);
    return pmu_decode_kept(decoder, &enc);
}

void pmu_decoder_begin(PmuDecoder *decoder, uint64_t generation,
                       uint64_t oldest)
{
    pmu_insn_pool_begin(decoder->pool, generation, oldest);
}

bool pmu_decoder_is_full(const PmuDecoder *decoder)
{
    return pmu_insn_pool_is_full(decoder->pool);
}

void pmu_decoder_adopt(PmuDecoder *to, PmuDecoder *from)
{
    pmu_insn_pool_adopt(to->pool, from->pool);
}
