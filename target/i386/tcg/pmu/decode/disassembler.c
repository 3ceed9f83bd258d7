/*
 * Capstone, set up as the model needs it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/decode/disassembler.h"

#define MAX_LENGTH 15

bool pmu_disassembler_open(PmuDisassembler *d)
{
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->handle) != CS_ERR_OK) {
        return false;
    }
    cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
    d->insn = cs_malloc(d->handle);
    if (!d->insn) {
        cs_close(&d->handle);
        return false;
    }
    return true;
}

void pmu_disassembler_close(PmuDisassembler *d)
{
    cs_free(d->insn, 1);
    cs_close(&d->handle);
}

/*
 * VEX instructions of the second map that Capstone 4.0 does not know.  It is
 * given a sibling instead, which differs in nothing but what is said here.
 */
typedef struct StandIn {
    uint8_t first, last;        /* opcodes, with VEX.L set */
    uint8_t change;             /* bits of the opcode to flip */
    bool narrow;                /* the sibling's operands have 128 bits */
} StandIn;

static const StandIn stand_ins[] = {
    { 0xdc, 0xdf, 0, true },            /* VAES: AES */
    { 0x5a, 0x5a, 0x40, false },        /* VBROADCASTI128: VBROADCASTF128 */
};

/* Returns the number of legacy prefixes, those that VEX allows, at @bytes. */
static unsigned skip_prefixes(const uint8_t *bytes, unsigned length)
{
    static const uint8_t prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
                                        0x67 };
    unsigned i = 0;

    while (i < length && memchr(prefixes, bytes[i], sizeof(prefixes))) {
        i++;
    }
    return i;
}

/* Copy the sibling of the instruction at @bytes to @sibling; NULL: none. */
static const StandIn *find_stand_in(const uint8_t *bytes, unsigned length,
                                    uint8_t *sibling)
{
    unsigned opcode = skip_prefixes(bytes, length);
    const uint8_t *vex = bytes + opcode;

    if (length < opcode + 5 || vex[0] != 0xc4 || (vex[1] & 0x1f) != 2 ||
        !(vex[2] & 4)) {
        return NULL;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(stand_ins); i++) {
        const StandIn *in = &stand_ins[i];

        if (vex[3] >= in->first && vex[3] <= in->last) {
            memcpy(sibling, bytes, length);
            sibling[opcode + 3] ^= in->change;
            sibling[opcode + 2] &= in->narrow ? ~4 : ~0;
            return in;
        }
    }
    return NULL;
}

static bool disassemble(PmuDisassembler *d, const uint8_t *bytes,
                        size_t length, uint64_t address)
{
    return cs_disasm_iter(d->handle, &bytes, &length, &address, d->insn);
}

const cs_insn *pmu_disassemble(PmuDisassembler *d, const uint8_t *bytes,
                               unsigned length, uint64_t address,
                               bool *widened)
{
    uint8_t sibling[MAX_LENGTH];
    const StandIn *in;

    *widened = false;
    length = MIN(length, MAX_LENGTH);
    if (disassemble(d, bytes, length, address)) {
        return d->insn;
    }
    in = find_stand_in(bytes, length, sibling);
    if (!in || !disassemble(d, sibling, length, address)) {
        return NULL;
    }
    *widened = in->narrow;
    return d->insn;
}
