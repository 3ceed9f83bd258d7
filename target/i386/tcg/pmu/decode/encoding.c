/*
 * The encoding of one instruction, read without an emulator.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "tcg/pmu/decode/encoding.h"

/* Returns the PMU_PREFIX_x of @byte; *@is_prefix: it is a legacy prefix. */
static unsigned legacy_prefix(uint8_t byte, bool *is_prefix)
{
    *is_prefix = true;
    switch (byte) {
    case 0x66:
        return PMU_PREFIX_OPERAND_SIZE;
    case 0xf0:
        return PMU_PREFIX_LOCK;
    case 0xf2:
        return PMU_PREFIX_REPNE;
    case 0xf3:
        return PMU_PREFIX_REP;
    case 0x67: case 0x26: case 0x2e: case 0x36: case 0x3e:
    case 0x64: case 0x65:
        return 0;
    default:
        *is_prefix = false;
        return 0;
    }
}

/* Add @prefix; of F2H and F3H the last one is in effect. */
static unsigned add_prefix(unsigned prefixes, unsigned prefix)
{
    const unsigned repeat = PMU_PREFIX_REP | PMU_PREFIX_REPNE;

    return (prefix & repeat ? prefixes & ~repeat : prefixes) | prefix;
}

static uint8_t address_shift(unsigned mode, bool overridden)
{
    return mode == 64 ? 3 - overridden :
           (mode == 32) != overridden ? 2 : 1;
}

/* C4H and C5H begin a VEX prefix or, outside 64-bit code, LES and LDS. */
static bool is_vex(const PmuEncoding *enc, unsigned mode)
{
    const uint8_t *op = enc->bytes + enc->opcode_offset;

    return (op[0] == 0xc4 || op[0] == 0xc5) &&
           enc->length > enc->opcode_offset + (op[0] == 0xc4 ? 3 : 2) &&
           (mode == 64 || (op[1] & 0xc0) == 0xc0);
}

static bool is_string_opcode(uint8_t opcode)
{
    return (opcode >= 0x6c && opcode <= 0x6f) ||
           (opcode >= 0xa4 && opcode <= 0xa7) ||
           (opcode >= 0xaa && opcode <= 0xaf);
}

void pmu_encoding_parse(PmuEncoding *enc, const uint8_t *bytes,
                        unsigned length, unsigned mode)
{
    bool is_prefix, address_size = false;
    unsigned at = 0, prefix;

    *enc = (PmuEncoding) { .length = length };
    memcpy(enc->bytes, bytes, length);
    for (; at < length - 1; at++) {
        prefix = legacy_prefix(bytes[at], &is_prefix);
        if (is_prefix) {
            /* A REX prefix in front of another prefix has no effect. */
            enc->prefixes &= ~PMU_PREFIX_REX_W;
            enc->prefixes = add_prefix(enc->prefixes, prefix);
            address_size |= bytes[at] == 0x67;
        } else if (mode == 64 && (bytes[at] & 0xf0) == 0x40) {
            enc->prefixes &= ~PMU_PREFIX_REX_W;
            enc->prefixes |= bytes[at] & 8 ? PMU_PREFIX_REX_W : 0;
        } else {
            break;
        }
    }
    enc->opcode_offset = at;
    enc->address_shift = address_shift(mode, address_size);
    if (is_vex(enc, mode)) {
        enc->prefixes |= PMU_PREFIX_VEX;
    } else {
        enc->string = is_string_opcode(bytes[at]);
    }
}
