/*
 * The decoder: from the encoding of an instruction to its description.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/decode/branches.h"
#include "tcg/pmu/decode/decoder.h"
#include "tcg/pmu/decode/disassembler.h"
#include "tcg/pmu/decode/insn-builder.h"
#include "tcg/pmu/decode/insn-class.h"
#include "tcg/pmu/decode/insn-pool.h"
#include "tcg/pmu/decode/operands.h"
#include "tcg/pmu/decode/renaming.h"
#include "tcg/pmu/decode/row-lookup.h"
#include "tcg/pmu/decode/timing-rows.h"

struct PmuDecoder {
    PmuDisassembler disassembler;
    PmuDecodeContext context;
    PmuRowLookup rows;
    PmuInsnPool *pool;
    uint64_t decoded, unknown;
};

/* The registers that a range of Capstone's numbers stands for. */
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

static void init_regs(PmuDecodeContext *context)
{
    for (size_t i = 0; i < G_N_ELEMENTS(reg_table); i++) {
        const RegRow *row = &reg_table[i];

        for (unsigned j = 0; j < row->count; j++) {
            context->reg[row->first + j] = row->reg + j;
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
    decoder->context.core = core;
    decoder->context.uarch = uarch;
    decoder->context.mode = 64;
    init_regs(&decoder->context);
    pmu_row_lookup_init(&decoder->rows);
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
    return decoder->context.uarch;
}

void pmu_decoder_set_mode(PmuDecoder *decoder, unsigned mode)
{
    if (mode != decoder->context.mode) {
        cs_option(decoder->disassembler.handle, CS_OPT_MODE,
                  mode == 64 ? CS_MODE_64 :
                  mode == 32 ? CS_MODE_32 : CS_MODE_16);
        decoder->context.mode = mode;
    }
}

unsigned pmu_decoder_mode(const PmuDecoder *decoder)
{
    return decoder->context.mode;
}

PmuDecoderStats pmu_decoder_stats(const PmuDecoder *decoder)
{
    return (PmuDecoderStats) {
        .decoded = decoder->decoded, .unknown = decoder->unknown,
        .disagreed = decoder->rows.disagreed,
    };
}

/* Length-changing prefix: 66H with a word immediate (Intel SOM 3.4.2.3). */
static bool has_lcp(const PmuInsnBuilder *b)
{
    uint8_t op = b->op[0];
    uint8_t reg = (b->op[1] >> 3) & 7;

    if (!pmu_builder_has_prefix(b, PMU_PREFIX_OPERAND_SIZE) ||
        pmu_builder_has_prefix(b, PMU_PREFIX_REX_W)) {
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
static bool is_mov_to_control(const PmuInsnBuilder *b)
{
    const uint8_t *op = b->op;

    return !pmu_builder_is_vex(b) && op[0] == 0x0f &&
           (op[1] == 0x22 || op[1] == 0x23);
}

static void set_flags(PmuInsnBuilder *b)
{
    PmuInsn *insn = b->insn;
    uint8_t op = b->op[0];

    if (insn->decode_uops > 4) {
        insn->flags |= PMU_INSN_MICROCODED;
    }
    if (b->context->mode != 64) {
        insn->flags |= PMU_INSN_LOW32;
    }
    if (pmu_builder_has_prefix(b, PMU_PREFIX_REX_W) && op >= 0xb8 &&
        op <= 0xbf) {
        insn->flags |= PMU_INSN_IMM64;
    }
    if (insn->length > b->enc->opcode_offset + 1 && has_lcp(b)) {
        insn->flags |= PMU_INSN_LCP;
    }
    if ((b->row->traits & PMU_TRAIT_ENDS_REGION) || is_mov_to_control(b)) {
        insn->flags |= PMU_INSN_ENDS_REGION;
    }
}

/* Set the class.  FMA3's row has many mnemonics: Capstone says which it is. */
static void classify(PmuInsnBuilder *b, const PmuDisassembler *disassembler,
                     unsigned id)
{
    const char *name = b->row->name;

    if (id != X86_INS_INVALID && g_str_has_prefix(name, "vf")) {
        name = cs_insn_name(disassembler->handle, id);
    }
    pmu_insn_classify(b->insn, name, b->form & PMU_FORM_XMM,
                      b->form & PMU_FORM_YMM);
    if (b->row >= pmu_insn_table_x87.rows &&
        b->row < pmu_insn_table_x87.rows + pmu_insn_table_x87.count) {
        b->insn->flags |= PMU_INSN_X87;
    }
}

static void build(PmuInsnBuilder *b, const PmuDisassembler *disassembler,
                  unsigned id)
{
    PmuInsn *insn = b->insn;

    insn->flags |= b->row->flags;
    pmu_build_operands(b);
    if (pmu_builder_has_prefix(b, PMU_PREFIX_LOCK)) {
        insn->flags |= PMU_INSN_LOCKED;
    }
    if (b->widened) {
        insn->access_size *= 2;
    }
    pmu_build_timing(b);
    pmu_build_stack_operands(b);
    pmu_build_renaming(b);
    pmu_build_branch(b);
    pmu_build_fusion(b);
    if (insn->flags & PMU_INSN_LOCKED) {
        pmu_build_lock(b);
    }
    insn->slots = MAX(insn->slots, 1);
    insn->decode_uops = insn->slots;
    if (pmu_builder_is_unlaminated(b)) {
        insn->slots++;
    }
    set_flags(b);
    pmu_build_memory_renaming(b);
    classify(b, disassembler, id);
}

/*
 * Describe an unknown instruction: one slot, one cycle.  If it repeats, its
 * elements are taken for bytes, and it has no accesses.
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
    insn->compute[0].ports = decoder->context.uarch->ports[PMU_UNIT_ALU];
    insn->compute[0].count = 1;
    memset(insn->dst, PMU_REG_NR, sizeof(insn->dst));
}

/* Returns the offset of the opcode's last byte, after prefixes and escapes. */
static unsigned opcode_end(const PmuInsnBuilder *b)
{
    unsigned at = b->enc->opcode_offset;

    if (pmu_builder_is_vex(b)) {
        at += b->op[0] == 0xc5 ? 2 : 3;
    } else if (b->op[0] == 0x0f) {
        at += b->op[1] == 0x38 || b->op[1] == 0x3a ? 2 : 1;
    }
    return MIN(at, b->enc->length - 1u);
}

bool pmu_decode(PmuDecoder *decoder, const PmuEncoding *enc, PmuInsn *insn)
{
    static const cs_x86 no_operands;
    PmuInsnBuilder b = {
        .context = &decoder->context, .enc = enc, .insn = insn,
                   .x86 = &no_operands,
        .op = enc->bytes + MIN(enc->opcode_offset, PMU_ENCODING_BYTES),
    };

    decoder->decoded++;
    describe_unknown(decoder, insn, enc);
    b.row = pmu_row_lookup_find(&decoder->rows, &decoder->disassembler, &b);
    if (!b.row) {
        decoder->unknown++;
        pmu_insn_complete(insn);
        return false;
    }
    memset(insn, 0, sizeof(*insn));
    memset(insn->dst, PMU_REG_NR, sizeof(insn->dst));
    insn->length = enc->length;
    insn->opcode_end = opcode_end(&b);
    build(&b, &decoder->disassembler,
          b.x86 == &no_operands ? X86_INS_INVALID
                                : decoder->disassembler.insn->id);
    pmu_insn_complete(insn);
    return true;
}

const PmuInsn *pmu_decode_interned(PmuDecoder *decoder, const PmuEncoding *enc)
{
    const PmuInsn *kept = pmu_insn_pool_find(decoder->pool, enc,
                                             decoder->context.mode);
    PmuInsn insn;

    if (!kept) {
        pmu_decode(decoder, enc, &insn);
        kept = pmu_insn_pool_intern(decoder->pool, &insn);
        pmu_insn_pool_remember(decoder->pool, enc, decoder->context.mode, kept);
    }
    return kept;
}

bool pmu_decode_bytes(PmuDecoder *decoder, const uint8_t *bytes,
                      unsigned length, PmuInsn *insn)
{
    PmuEncoding enc;

    pmu_encoding_parse(&enc, bytes, length, decoder->context.mode);
    return pmu_decode(decoder, &enc, insn);
}

void pmu_decoder_begin_generation(PmuDecoder *decoder, uint64_t generation,
                                  uint64_t oldest)
{
    pmu_insn_pool_begin_generation(decoder->pool, generation, oldest);
}

bool pmu_decoder_is_full(const PmuDecoder *decoder)
{
    return pmu_insn_pool_is_full(decoder->pool);
}

void pmu_decoder_adopt(PmuDecoder *to, PmuDecoder *from)
{
    pmu_insn_pool_adopt(to->pool, from->pool);
}
