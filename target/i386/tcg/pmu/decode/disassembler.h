/*
 * Capstone, set up as the model needs it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_DISASSEMBLER_H
#define TARGET_I386_PMU_DECODE_DISASSEMBLER_H

#include <capstone/capstone.h>
#include <stdbool.h>
#include <stdint.h>

/* For a single thread. */
typedef struct PmuDisassembler {
    csh handle;
    cs_insn *insn;
} PmuDisassembler;

/* Begin in 64-bit mode.  Returns false if Capstone cannot be started. */
bool pmu_disassembler_open(PmuDisassembler *d);
void pmu_disassembler_close(PmuDisassembler *d);

/*
 * Returns the first instruction of the @length bytes (1 or more) at @bytes,
 * which lie at @address.  It is valid until the next call; NULL if it is not
 * known.  Instead of some that Capstone 4.0 does not know it is given a sibling
 * with the same operands; *@widened: 128-bit ones instead of 256-bit ones.
 */
const cs_insn *pmu_disassemble(PmuDisassembler *d, const uint8_t *bytes,
                               unsigned length, uint64_t address,
                               bool *widened);

#endif
