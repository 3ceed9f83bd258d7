/*
 * Blocks of code that are made from a fuzzer's input.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "code.h"
#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/decoder.h"

/* Bits of physical addresses of code.  Where QEMU knows none, it is -1. */
#define PHYS_BITS   40

#define PAGE_SIZE   (1u << PMU_PAGE_SHIFT)

typedef struct Sample {
    const char *bytes;
    unsigned length;
} Sample;

#define S(bytes)    { bytes, sizeof(bytes) - 1 }

/* An instruction of each kind that the model knows, for 64-bit code. */
static const Sample samples[] = {
    S("\x90"),                                  /* nop */
    S("\x48\x01\xd8"),                          /* add rax, rbx */
    S("\x48\x8b\x03"),                          /* mov rax, [rbx] */
    S("\x48\x89\x03"),                          /* mov [rbx], rax */
    S("\x01\x03"),                              /* add [rbx], eax */
    S("\xf0\x01\x03"),                          /* lock add [rbx], eax */
    S("\x50"), S("\x58"), S("\xff\x30"),        /* push, pop, push [rax] */
    S("\xe8\x00\x00\x00\x00"), S("\xc3"),       /* call, ret */
    S("\x75\xf0"), S("\x74\x02"),               /* jne, je */
    S("\xeb\x00"), S("\xff\xe0"), S("\xff\xd0"), S("\xff\x20"),
    S("\x48\xff\xc9"), S("\x48\x85\xc0"),       /* dec rcx; test rax, rax */
    S("\xe2\xfe"), S("\xe3\x00"),               /* loop, jrcxz */
    S("\xf3\xa4"), S("\xf3\x48\xab"), S("\xf2\xae"), S("\xf3\xa6"),
    S("\xf3\xac"), S("\xa4"), S("\x67\xf3\xa4"), S("\x48\xf3\xa4"),
    S("\xf3\x6c"), S("\x6e"),
    S("\x0f\xae\x38"), S("\x66\x0f\xae\x38"),   /* clflush, clflushopt */
    S("\x66\x0f\xae\x30"),                      /* clwb */
    S("\x0f\x18\x00"), S("\x0f\x18\x08"), S("\x0f\x18\x10"),
    S("\x0f\x0d\x08"),                          /* prefetchw */
    S("\x0f\xc3\x03"), S("\x66\x0f\xe7\x03"),   /* movnti, movntdq */
    S("\x0f\xae\xe8"), S("\x0f\xae\xf0"), S("\x0f\xae\xf8"),
    S("\xf3\x90"), S("\x0f\xa2"), S("\x0f\x31"), S("\x0f\x33"),
    S("\x0f\x05"), S("\xcc"), S("\xcd\x80"), S("\xf4"), S("\x0f\x0b"),
    S("\x48\xcf"), S("\x0f\x30"), S("\x0f\x22\xd8"), S("\x0f\x01\x38"),
    S("\x48\x87\x03"), S("\xf0\x0f\xb1\x0b"),   /* xchg, cmpxchg */
    S("\x48\x0f\xc7\x0b"),                      /* cmpxchg16b */
    S("\xf7\xf3"), S("\x48\xf7\xfb"), S("\x48\x0f\xaf\xc3"),
    S("\xf2\x0f\x51\xc1"), S("\x66\x0f\x5e\xc1"),
    S("\xc5\xfc\x58\xc1"), S("\xc4\xe2\x75\xb8\xc2"),   /* vaddps, vfmadd */
    S("\xc4\xe2\x6d\x90\x04\x08"),              /* vpgatherdd */
    S("\xc4\xe3\x71\x22\xc0\x01"),              /* vpinsrd */
    S("\xc5\xf8\x77"), S("\x66\x0f\x3a\x40\xc1\x01"),
    S("\xc4\xe2\xfb\xf6\xc3"), S("\x0f\xa5\xd8"), S("\x0f\xa3\x03"),
    S("\x66\x0f\xf7\xc1"),                      /* maskmovdqu */
    S("\xd9\x03"), S("\xdd\x1b"), S("\xd9\xc9"), S("\xd9\xfe"), S("\xde\xf9"),
    S("\x0f\xae\x03"), S("\x0f\xae\x23"),       /* fxsave, xsave */
    S("\xc8\x08\x00\x03"), S("\xc9"), S("\x9d"),
    S("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"),
    S("\x66\x05\x01\x01"),                      /* add ax, imm16 */
    S("\x8e\xd8"), S("\x17"), S("\xc5\x03"), S("\x61"), S("\x62\x00"),
    S("\xcb"), S("\xff\x28"), S("\xea\x00\x00\x00\x00\x23\x00"),
};

static const uint8_t prefixes[] = {
    0x66, 0x67, 0xf2, 0xf3, 0xf0, 0x2e, 0x64, 0x65, 0x40, 0x48, 0x4f, 0x41,
};

/* Write some prefixes and a sample to @bytes; returns the number of bytes. */
static unsigned sample_bytes(FuzzInput *in, uint8_t *bytes)
{
    const Sample *sample = &samples[fuzz_below(in, G_N_ELEMENTS(samples))];
    unsigned room = PMU_ENCODING_BYTES - sample->length;
    unsigned n = fuzz_one_in(in, 4) ? fuzz_below(in, room + 1) : 0;

    for (unsigned i = 0; i < n; i++) {
        bytes[i] = prefixes[fuzz_below(in, G_N_ELEMENTS(prefixes))];
    }
    memcpy(bytes + n, sample->bytes, sample->length);
    return n + sample->length;
}

static unsigned any_bytes(FuzzInput *in, uint8_t *bytes)
{
    unsigned length = 1 + fuzz_below(in, PMU_ENCODING_BYTES);

    for (unsigned i = 0; i < length; i++) {
        bytes[i] = fuzz_byte(in);
    }
    return length;
}

/*
 * Choose the members of @enc at random.  No decoder returns all combinations,
 * but pmu_decode() must accept each of them.
 */
static void any_members(FuzzInput *in, PmuEncoding *enc)
{
    enc->opcode_offset = fuzz_one_in(in, 8) ? PMU_NO_OPCODE
                                            : fuzz_below(in, enc->length);
    enc->prefixes = fuzz_byte(in) & (2 * PMU_PREFIX_VEX - 1);
    enc->address_shift = 1 + fuzz_below(in, 3);
    enc->string = fuzz_one_in(in, 2);
}

void fuzz_encoding(FuzzInput *in, unsigned mode, PmuEncoding *enc)
{
    unsigned kind = fuzz_below(in, 8);
    uint8_t bytes[PMU_ENCODING_BYTES];
    unsigned length = kind < 5 ? sample_bytes(in, bytes)
                               : any_bytes(in, bytes);

    pmu_encoding_parse(enc, bytes, length, mode);
    g_assert_cmpuint(enc->length, ==, length);
    g_assert_cmpuint(enc->opcode_offset, <, length);
    g_assert_cmpuint(enc->address_shift, >=, 1);
    g_assert_cmpuint(enc->address_shift, <=, 3);
    if (kind == 4 || kind == 7) {
        any_members(in, enc);
    }
    enc->falls_through = !fuzz_one_in(in, 4);
}

/* Check what decoder.h promises of pmu_decode() for any encoding. */
static void check_insn(const PmuInsn *insn, const PmuEncoding *enc)
{
    bool repeats = insn->flags & PMU_INSN_REP;

    g_assert_cmpuint(insn->length, ==, enc->length);
    g_assert_cmpint(repeats, ==, pmu_encoding_repeats(enc));
    g_assert_true(!repeats || (insn->flags & PMU_INSN_STRING));
    /* INTO is a far branch, but QEMU translates on after it. */
    g_assert_true(!enc->falls_through || insn->branch == PMU_BRANCH_NONE ||
                  insn->branch == PMU_BRANCH_FAR);
    g_assert_cmpuint(insn->opcode_end, <, PMU_ENCODING_BYTES);
    g_assert_cmpuint(insn->branch, <=, PMU_BRANCH_FAR);
    g_assert_cmpuint(insn->insn_class, <, PMU_CLASS_NR);
    g_assert_cmpuint(insn->resource, <, PMU_RESOURCE_NR);
    for (unsigned i = 0; i < PMU_INSN_SRCS; i++) {
        g_assert_cmpuint(insn->src[i], <, PMU_REG_NR);
    }
    for (unsigned i = 0; i < PMU_INSN_DSTS; i++) {
        g_assert_cmpuint(insn->dst[i], <=, PMU_REG_NR);
    }
}

static void check_block(const PmuBlock *block, unsigned length)
{
    unsigned end = 0;

    g_assert_cmpuint(block->num_insns, <=, PMU_BLOCK_INSNS);
    g_assert_cmpuint(block->num_accesses, <=, PMU_BLOCK_ACCESSES);
    g_assert_cmpuint(block->num_segments, <=, PMU_BLOCK_SEGMENTS);
    g_assert_cmpuint(block->length, ==, length);
    for (unsigned i = 0; i < block->num_insns; i++) {
        g_assert_cmpuint(block->insns[i].offset, ==, end);
        end += block->insns[i].insn->length;
    }
    g_assert_cmpuint(end, ==, length);
}

/* Begin a block, and choose what the translator decides about it. */
static void begin_block(FuzzInput *in, PmuDecoder *decoder,
                        PmuBlockBuilder *builder, uint16_t *page_offset)
{
    static const uint8_t modes[] = { 64, 64, 32, 16 };
    uint64_t page = fuzz_one_in(in, 2) ? fuzz_byte(in)
                                       : fuzz_bytes(in, 4);
    unsigned kind = fuzz_below(in, 16);

    pmu_decoder_set_mode(decoder, modes[fuzz_below(in, 4)]);
    *page_offset = kind < 8 ? fuzz_bytes(in, 2) & 0xfff
                            : 0x1000 - 2 * fuzz_below(in, 16) - 1;
    page &= (1ull << (PHYS_BITS - PMU_PAGE_SHIFT)) - 1;
    pmu_block_begin(builder, fuzz_below(in, PMU_LEVEL_NR),
                    kind == 15 ? UINT64_MAX
                               : page << PMU_PAGE_SHIFT | *page_offset);
    builder->block.uninterruptible = fuzz_one_in(in, 8);
    builder->block.phys_next = kind & 1 ? UINT64_MAX
                                        : (page + 1) << PMU_PAGE_SHIFT;
}

/* Choose the next instruction's accesses, numbered as the translator does. */
static void choose_accesses(FuzzInput *in, const PmuBlock *block,
                            const PmuEncoding *enc, uint8_t *ea,
                            uint8_t *stack)
{
    uint8_t next = block->num_accesses;

    /* The translator always knows the operands of a string instruction. */
    *ea = enc->string || fuzz_one_in(in, 2) ? next++ : PMU_NO_ACCESS;
    *stack = enc->string || fuzz_one_in(in, 4) ? next : PMU_NO_ACCESS;
}

void fuzz_make_block(FuzzInput *in, PmuDecoder *decoder,
                     PmuBlockBuilder *builder)
{
    PmuBlock *block = &builder->block;
    unsigned at, length = 0;
    uint16_t page_offset;
    PmuEncoding enc;
    uint8_t ea, stack;

    begin_block(in, decoder, builder, &page_offset);
    do {
        fuzz_encoding(in, pmu_decoder_mode(decoder), &enc);
        at = page_offset + length;
        /* An instruction that crosses pages is the first of its block. */
        if (length && at / PAGE_SIZE != (at + enc.length - 1) / PAGE_SIZE) {
            break;
        }
        /* QEMU ends a block after a REP string instruction. */
        enc.falls_through &= !pmu_encoding_repeats(&enc);
        choose_accesses(in, block, &enc, &ea, &stack);
        pmu_block_add(builder, decoder, &enc, at % PAGE_SIZE, ea, stack);
        check_insn(block->insns[block->num_insns - 1].insn, &enc);
        length += enc.length;
    } while (enc.falls_through && !pmu_block_full(block) && fuzz_more(in));
    if (fuzz_one_in(in, 4)) {
        block->ends_region = true;
    }
    check_block(block, length);
}
