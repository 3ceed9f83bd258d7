/*
 * The encoding of one instruction, as the emulator's decoder read it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The emulator decides what a guest executes, so its decoder is the authority
 * for everything that execution depends on: length, prefixes, address size, and
 * whether the instruction is a string instruction that repeats.  The model's
 * decoder (decoder.h) takes these facts from here and adds only what the
 * instruction costs.  It never reads guest memory itself: another vCPU may have
 * changed the bytes since the emulator fetched them.
 */

#ifndef TARGET_I386_PMU_DECODE_ENCODING_H
#define TARGET_I386_PMU_DECODE_ENCODING_H

#include <stdbool.h>
#include <stdint.h>

/* The longest instruction (SDM vol. 2A, 2.3.11). */
#define PMU_ENCODING_BYTES 15

/* PmuEncoding.opcode_offset: the emulator did not get as far as an opcode. */
#define PMU_NO_OPCODE 0xff

/* PmuEncoding.prefixes; those that a VEX prefix implies are not set. */
#define PMU_PREFIX_OPERAND_SIZE (1u << 0)   /* 66H */
#define PMU_PREFIX_REP          (1u << 1)   /* F3H */
#define PMU_PREFIX_REPNE        (1u << 2)   /* F2H */
#define PMU_PREFIX_LOCK         (1u << 3)
#define PMU_PREFIX_REX_W        (1u << 4)
#define PMU_PREFIX_VEX          (1u << 5)

typedef struct PmuEncoding {
    /*
     * What the emulator fetched.  Bytes from @length on are 0, and there are
     * enough of them that a look at opcode, ModRM or VEX needs no check.
     */
    uint8_t bytes[PMU_ENCODING_BYTES + 9];
    uint8_t length;             /* 1 to PMU_ENCODING_BYTES */
    /* Index of the first byte of opcode or VEX prefix, or PMU_NO_OPCODE. */
    uint8_t opcode_offset;
    uint8_t prefixes;           /* PMU_PREFIX_x that are in effect */
    uint8_t address_shift;      /* address size: 1 << this bytes; 1, 2, 3 */
    /* It executes as INS, OUTS, MOVS, CMPS, STOS, LODS or SCAS. */
    bool string;
    /* Translated code goes on after it in the same block: it is no branch. */
    bool falls_through;
} PmuEncoding;

/* Does it iterate rCX times, so that interrupts can leave it in its middle? */
static inline bool pmu_encoding_repeats(const PmuEncoding *enc)
{
    return enc->string &&
           (enc->prefixes & (PMU_PREFIX_REP | PMU_PREFIX_REPNE));
}

/*
 * Fill in @enc from the @length (1 to PMU_ENCODING_BYTES) bytes at @bytes,
 * executed in @mode (16, 32 or 64), by the rules of SDM vol. 2A, chapter 2.
 * For use without an emulator, which would know better.
 */
void pmu_encoding_parse(PmuEncoding *enc, const uint8_t *bytes,
                        unsigned length, unsigned mode);

#endif
