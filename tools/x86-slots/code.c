/*
 * x86-slots: decoding a block of code, and the path through it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.  Capstone tells where
 * instructions end, what they are called and how addresses are formed.  Only
 * the model core tells what they cost.
 */

#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "tcg/pmu/decode/decoder.h"
#include "tcg/pmu/decode/disassembler.h"

struct CodeReader {
    PmuDisassembler disassembler;
    PmuDecoder *decoder;
};

G_DEFINE_QUARK(slots-error-quark, slots_error)

CodeReader *code_reader_new(PmuCore core, const PmuUarch *uarch)
{
    CodeReader *reader = g_new0(CodeReader, 1);

    if (!pmu_disassembler_open(&reader->disassembler)) {
        g_free(reader);
        return NULL;
    }
    reader->decoder = pmu_decoder_new(core, uarch);
    if (!reader->decoder) {
        code_reader_free(reader);
        return NULL;
    }
    return reader;
}

void code_reader_free(CodeReader *reader)
{
    if (reader) {
        pmu_decoder_free(reader->decoder);
        pmu_disassembler_close(&reader->disassembler);
        g_free(reader);
    }
}

PmuDecoder *code_reader_decoder(CodeReader *reader)
{
    return reader->decoder;
}

void code_free(Code *code)
{
    if (code) {
        g_free(code->bytes);
        g_free(code->insns);
        g_free(code->path);
        g_free(code);
    }
}

/* Returns the number of a 32- or 64-bit general-purpose register. */
static int gpr(x86_reg reg)
{
    static const struct {
        x86_reg wide, half;
    } low[] = {
        { X86_REG_RAX, X86_REG_EAX }, { X86_REG_RCX, X86_REG_ECX },
        { X86_REG_RDX, X86_REG_EDX }, { X86_REG_RBX, X86_REG_EBX },
        { X86_REG_RSP, X86_REG_ESP }, { X86_REG_RBP, X86_REG_EBP },
        { X86_REG_RSI, X86_REG_ESI }, { X86_REG_RDI, X86_REG_EDI },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(low); i++) {
        if (reg == low[i].wide || reg == low[i].half) {
            return i;
        }
    }
    if (reg >= X86_REG_R8 && reg <= X86_REG_R15) {
        return 8 + reg - X86_REG_R8;
    }
    if (reg >= X86_REG_R8D && reg <= X86_REG_R15D) {
        return 8 + reg - X86_REG_R8D;
    }
    return CODE_NO_GPR;
}

static bool is_gpr(const cs_x86_op *op, unsigned size)
{
    return op->type == X86_OP_REG && op->size == size &&
           gpr(op->reg) != CODE_NO_GPR;
}

static void read_operand(CodeInsn *insn, const cs_x86 *x86)
{
    for (unsigned i = 0; i < x86->op_count; i++) {
        const cs_x86_op *op = &x86->operands[i];

        if (op->type == X86_OP_MEM) {
            insn->mem = (CodeOperand) {
                .present = true,
                .base = gpr(op->mem.base),
                .index = gpr(op->mem.index),
                .scale = op->mem.scale,
                .segment = op->mem.segment,
                .size = op->size,
                .disp = op->mem.disp,
            };
            if (op->mem.base == X86_REG_RIP) {
                insn->mem.disp += insn->offset + insn->info.length;
            }
        }
    }
}

static void add_effect(CodeInsn *insn, CodeEffect effect)
{
    if (insn->num_effects < CODE_EFFECTS) {
        insn->effect[insn->num_effects++] = effect;
    }
}

/*
 * If the first operand of @insn is a register that becomes a constant, or a
 * register plus a constant, set @effect to that.  Returns false otherwise.
 */
static bool known_result(const cs_insn *cs, const CodeInsn *insn,
                         CodeEffect *effect)
{
    const cs_x86 *x86 = &cs->detail->x86;
    const cs_x86_op *dst = &x86->operands[0], *src = &x86->operands[1];
    bool wide = x86->op_count && is_gpr(dst, 8);
    bool imm = x86->op_count == 2 && src->type == X86_OP_IMM;
    bool same = x86->op_count == 2 && src->type == X86_OP_REG &&
                src->reg == dst->reg;

    if (!wide && !(x86->op_count && is_gpr(dst, 4))) {
        return false;
    }
    *effect = (CodeEffect) {
        .reg = gpr(dst->reg), .known = true, .from = CODE_NO_GPR,
    };
    switch (cs->id) {
    case X86_INS_XOR:
        return same;
    case X86_INS_MOV:
    case X86_INS_MOVABS:
        if (imm) {
            effect->add = wide ? src->imm : (int64_t)(uint32_t)src->imm;
            return true;
        }
        effect->from = x86->op_count == 2 && is_gpr(src, 8)
                       ? gpr(src->reg) : CODE_NO_GPR;
        return wide && effect->from != CODE_NO_GPR;
    case X86_INS_ADD:
    case X86_INS_SUB:
        if (same && cs->id == X86_INS_SUB) {
            return true;
        }
        effect->from = effect->reg;
        effect->add = !imm ? 0 : cs->id == X86_INS_ADD ? src->imm : -src->imm;
        return wide && imm;
    case X86_INS_INC:
    case X86_INS_DEC:
        effect->from = effect->reg;
        effect->add = cs->id == X86_INS_INC ? 1 : -1;
        return wide;
    case X86_INS_LEA:
        effect->from = insn->mem.base;
        effect->add = insn->mem.disp;
        return wide && insn->mem.index == CODE_NO_GPR;
    default:
        return false;
    }
}

/* Returns by how much a push or pop moves the stack pointer; 0: neither. */
static int stack_move(const PmuInsn *info)
{
    if (info->flags & PMU_INSN_STRING) {
        return 0;
    }
    if (info->flags & PMU_INSN_STACK_STORE) {
        return -8;
    }
    return info->flags & PMU_INSN_STACK_LOAD ? 8 : 0;
}

static void read_effects(CodeInsn *insn, const cs_insn *cs)
{
    const cs_x86_op *op = cs->detail->x86.operands;
    int64_t move = stack_move(&insn->info);
    CodeEffect effect;

    if (cs->id == X86_INS_RET && cs->detail->x86.op_count) {
        move += op->imm;        /* RET imm16 pops the arguments */
    }
    if (cs->id == X86_INS_LEAVE) {
        add_effect(insn, (CodeEffect) {
            .reg = CODE_RSP, .known = true, .from = CODE_RBP, .add = 8,
        });
        add_effect(insn, (CodeEffect) { .reg = CODE_RBP });
        return;
    }
    if (move) {
        add_effect(insn, (CodeEffect) {
            .reg = CODE_RSP, .known = true, .from = CODE_RSP, .add = move,
        });
    }
    if (known_result(cs, insn, &effect)) {
        add_effect(insn, effect);
        return;
    }
    for (unsigned i = 0; i < PMU_INSN_DSTS; i++) {
        unsigned reg = insn->info.dst[i];

        if (reg >= PMU_REG_GPR0 && reg < PMU_REG_GPR0 + CODE_GPRS &&
            !(move && reg == PMU_REG_GPR0 + CODE_RSP)) {
            add_effect(insn, (CodeEffect) { .reg = reg - PMU_REG_GPR0 });
        }
    }
}

/*
 * Disassemble the first instruction of @length bytes.  Capstone 4 does not know
 * hint instructions of the shadow stack.  They are shown as the NOP that they
 * are on a CPU without one.
 */
static const cs_insn *disassemble(CodeReader *reader, const uint8_t *bytes,
                                  size_t length, uint64_t address)
{
    uint8_t copy[15];
    unsigned n = MIN(length, sizeof(copy));
    bool widened;
    const cs_insn *insn = pmu_disassemble(&reader->disassembler, bytes, n,
                                          address, &widened);

    if (!insn && n > 1 && bytes[0] == 0xf3) {
        memcpy(copy, bytes, n);
        copy[0] = 0x3e;         /* a prefix without a meaning here */
        insn = pmu_disassemble(&reader->disassembler, copy, n, address,
                               &widened);
    }
    return insn;
}

/* Whether VEX @opcode of @map (SDM vol. 2A, table 2-9) is an opmask's. */
static bool is_opmask(unsigned map, uint8_t opcode)
{
    switch (map) {
    case 1:
        return (opcode >= 0x41 && opcode <= 0x4b) ||
               (opcode >= 0x90 && opcode <= 0x93) ||
               opcode == 0x98 || opcode == 0x99;
    case 3:
        return opcode >= 0x30 && opcode <= 0x33;
    default:
        return false;
    }
}

/*
 * Whether the instruction at @bytes is AVX-512.  Capstone's groups do not tell:
 * it knows some parts of the extension and not others.
 */
static bool is_avx512(const uint8_t *bytes, size_t length)
{
    PmuEncoding enc;
    const uint8_t *op;

    pmu_encoding_parse(&enc, bytes, MIN(length, PMU_ENCODING_BYTES), 64);
    op = enc.bytes + enc.opcode_offset;
    switch (*op) {
    case 0x62:                  /* EVEX: 64-bit mode has no BOUND */
        return true;
    case 0xc5:
        return is_opmask(1, op[2]);
    case 0xc4:
        return is_opmask(op[1] & 0x1f, op[3]);
    default:
        return false;
    }
}

static void set_unmodelled(GError **error, const cs_insn *cs, unsigned offset,
                           uint8_t byte)
{
    g_autofree char *text = cs
        ? g_strdup_printf("%s %s", cs->mnemonic, cs->op_str)
        : g_strdup_printf("an instruction (0x%02x)", byte);

    g_set_error(error, SLOTS_ERROR, SLOTS_ERROR_DATA,
                "%s at offset 0x%x is AVX-512, which is not modelled (TCG "
                "does not have it)", text, offset);
}

static int64_t branch_target(const CodeInsn *insn, const cs_x86 *x86)
{
    switch (insn->info.branch) {
    case PMU_BRANCH_COND:
    case PMU_BRANCH_JMP:
    case PMU_BRANCH_CALL:
        return x86->op_count && x86->operands[0].type == X86_OP_IMM
               ? x86->operands[0].imm : -1;
    default:
        return -1;
    }
}

/*
 * Instructions behind which no other one of the block runs.  By name, as
 * Capstone 5 has no X86_INS_UD2B, and Capstone 4 no X86_INS_UD1.
 */
static const char *const stopping[] = {
    "hlt", "int1", "ud0", "ud1", "ud2", "ud2b", NULL,
};

/* Decode the instruction at @offset of @code into @insn. */
static bool read_insn(CodeReader *reader, const Code *code, unsigned offset,
                      CodeInsn *insn, GError **error)
{
    const uint8_t *bytes = code->bytes + offset;
    const cs_insn *cs = disassemble(reader, bytes, code->length - offset,
                                    offset);

    if (is_avx512(bytes, code->length - offset)) {
        set_unmodelled(error, cs, offset, bytes[0]);
        return false;
    }
    if (!cs) {
        g_set_error(error, SLOTS_ERROR, SLOTS_ERROR_DATA,
                    "no instruction is known at offset 0x%x (0x%02x)",
                    offset, bytes[0]);
        return false;
    }
    memset(insn, 0, sizeof(*insn));
    insn->offset = offset;
    insn->mem.base = insn->mem.index = CODE_NO_GPR;
    pmu_decode_bytes(reader->decoder, bytes, cs->size, &insn->info);
    g_snprintf(insn->text, sizeof(insn->text), "%s%s%s", cs->mnemonic,
               *cs->op_str ? " " : "", cs->op_str);
    read_operand(insn, &cs->detail->x86);
    read_effects(insn, cs);
    insn->target = branch_target(insn, &cs->detail->x86);
    insn->stops = g_strv_contains(stopping, cs->mnemonic);
    return true;
}

static int compare_offset(const void *key, const void *element)
{
    int64_t offset = *(const int64_t *)key;
    const CodeInsn *insn = element;

    return (offset > insn->offset) - (offset < insn->offset);
}

/* Returns the index of the instruction at @offset, or -1. */
static int insn_at(const Code *code, int64_t offset)
{
    const CodeInsn *found = bsearch(&offset, code->insns, code->num_insns,
                                    sizeof(*found), compare_offset);

    return found ? found - code->insns : -1;
}

static void leads_out(const CodeInsn *insn, const char *how, GError **error)
{
    g_set_error(error, SLOTS_ERROR, SLOTS_ERROR_DATA,
                "%s at offset 0x%x %s", insn->text, insn->offset, how);
}

/* A call that has not returned yet. */
typedef struct Call {
    unsigned back;              /* index of the instruction after the call */
    unsigned path_length;       /* of the path up to the call */
} Call;

/* State of the search for the path through the code. */
typedef struct Walk {
    Code *code;
    GArray *path;               /* of unsigned */
    GArray *calls;              /* of Call, the innermost last */
    bool *seen;                 /* by index: on the path, and not in a callee
                                   that has returned */
} Walk;

/* Whether @insn is a call that only gets its address, which @target pops. */
static bool gets_pc(const CodeInsn *insn, const CodeInsn *target)
{
    return insn->target == insn->offset + insn->info.length &&
           (target->info.flags & PMU_INSN_STACK_LOAD) &&
           target->info.branch == PMU_BRANCH_NONE;
}

/*
 * Returns the instruction after the direct branch @index, as follow() does.
 * Appends a call to @walk->calls.
 */
static int follow_direct(Walk *walk, unsigned index, GError **error)
{
    const Code *code = walk->code;
    const CodeInsn *insn = &code->insns[index];
    Call call = { index + 1, walk->path->len };
    int next;

    if (insn->target == code->length) {
        return code->num_insns;
    }
    next = insn_at(code, insn->target);
    if (next < 0) {
        leads_out(insn, "leads out of the block", error);
    } else if (insn->info.branch == PMU_BRANCH_CALL &&
               !gets_pc(insn, &code->insns[next])) {
        g_array_append_val(walk->calls, call);
    }
    return next;
}

/*
 * Returns the instruction after a return: that after the call, or the start if
 * the block's caller made the call and calls again.  The callee's instructions
 * may be called again, so they do not count as seen any more.
 */
static int follow_return(Walk *walk)
{
    Call call;

    if (!walk->calls->len) {
        walk->code->returns = true;
        return 0;
    }
    call = g_array_index(walk->calls, Call, walk->calls->len - 1);
    g_array_set_size(walk->calls, walk->calls->len - 1);
    for (unsigned i = call.path_length; i < walk->path->len; i++) {
        walk->seen[g_array_index(walk->path, unsigned, i)] = false;
    }
    return call.back;
}

/*
 * Returns the instruction after @index on the path: code->num_insns after the
 * last one, 0 for the start, or -1 and @error.
 */
static int follow(Walk *walk, unsigned index, GError **error)
{
    const Code *code = walk->code;
    const CodeInsn *insn = &code->insns[index];

    if (insn->stops) {
        leads_out(insn, "leads to where the block does not tell", error);
        return -1;
    }
    switch (insn->info.branch) {
    case PMU_BRANCH_NONE:
        return index + 1;
    case PMU_BRANCH_COND:
        return index + 1 == code->num_insns && insn->target == 0
               ? 0 : index + 1;
    case PMU_BRANCH_JMP:
    case PMU_BRANCH_CALL:
        return follow_direct(walk, index, error);
    case PMU_BRANCH_RET:
        return follow_return(walk);
    default:
        leads_out(insn, "leads to where the block does not tell", error);
        return -1;
    }
}

/* Go on to instruction @index, if that is possible. */
static bool visit(Walk *walk, unsigned index, GError **error)
{
    const CodeInsn *insn = &walk->code->insns[index];

    if (walk->seen[index]) {
        leads_out(insn, "is reached twice, in a loop that nothing ends",
                  error);
        return false;
    }
    if (walk->path->len == CODE_MAX_PATH) {
        leads_out(insn, "is too far: calls repeat too many instructions",
                  error);
        return false;
    }
    walk->seen[index] = true;
    g_array_append_val(walk->path, index);
    return true;
}

static bool find_path(Code *code, GError **error)
{
    Walk walk = {
        .code = code,
        .path = g_array_new(FALSE, FALSE, sizeof(unsigned)),
        .calls = g_array_new(FALSE, FALSE, sizeof(Call)),
        .seen = g_new0(bool, code->num_insns),
    };
    int index = 0;

    while (index >= 0 && (unsigned)index < code->num_insns &&
           !code->closed) {
        index = visit(&walk, index, error) ? follow(&walk, index, error) : -1;
        code->closed = index == 0;
    }
    code->path_length = walk.path->len;
    code->path = (unsigned *)g_array_free(walk.path, FALSE);
    g_array_free(walk.calls, TRUE);
    g_free(walk.seen);
    return index >= 0;
}

static void mark_used(bool *used, const uint8_t *regs, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (regs[i] >= PMU_REG_GPR0 && regs[i] < PMU_REG_GPR0 + CODE_GPRS) {
            used[regs[i] - PMU_REG_GPR0] = true;
        }
    }
}

unsigned code_spare_gpr(const Code *code)
{
    bool used[CODE_GPRS] = { [CODE_RSP] = true };

    for (unsigned i = 0; i < code->num_insns; i++) {
        const PmuInsn *info = &code->insns[i].info;

        mark_used(used, info->src, G_N_ELEMENTS(info->src));
        mark_used(used, info->addr_src, G_N_ELEMENTS(info->addr_src));
        mark_used(used, info->dst, G_N_ELEMENTS(info->dst));
    }
    for (unsigned i = CODE_GPRS; i > 0; i--) {
        if (!used[i - 1]) {
            return i - 1;
        }
    }
    return CODE_GPRS - 1;
}

Code *code_read(CodeReader *reader, const uint8_t *bytes, size_t length,
                GError **error)
{
    Code *code;

    if (length == 0 || length > CODE_MAX_BYTES) {
        g_set_error(error, SLOTS_ERROR, SLOTS_ERROR_DATA,
                    "the block has %zu bytes; 1 to %u are possible", length,
                    CODE_MAX_BYTES);
        return NULL;
    }
    code = g_new0(Code, 1);
    code->bytes = g_malloc(length);
    memcpy(code->bytes, bytes, length);
    code->length = length;
    code->insns = g_new0(CodeInsn, length);
    for (unsigned offset = 0; offset < length;
         offset += code->insns[code->num_insns++].info.length) {
        if (!read_insn(reader, code, offset, &code->insns[code->num_insns],
                       error)) {
            code_free(code);
            return NULL;
        }
    }
    if (!find_path(code, error)) {
        code_free(code);
        return NULL;
    }
    return code;
}
