/*
 * The decoder: from the encoding of an instruction to its description.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The emulator's decoder is the authority on what the instruction is
 * (PmuEncoding).  Capstone names it and lists its operands; the instruction
 * table says what it costs.
 */

#ifndef TARGET_I386_PMU_DECODE_DECODER_H
#define TARGET_I386_PMU_DECODE_DECODER_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/decode/encoding.h"
#include "tcg/pmu/decode/insn.h"
#include "tcg/pmu/uarch/uarch.h"

/*
 * One decoder a translation thread: Capstone handles are not to be shared.
 */
typedef struct PmuDecoder PmuDecoder;

/*
 * For the instruction table of @core with the ports and figures of @uarch,
 * which must stay where it is; in 64-bit mode.  NULL if Capstone cannot be
 * started.
 */
PmuDecoder *pmu_decoder_new(PmuCore core, const PmuUarch *uarch);

void pmu_decoder_free(PmuDecoder *decoder);

/* The core that it decodes for. */
const PmuUarch *pmu_decoder_uarch(const PmuDecoder *decoder);

/* The operand and address size mode of what follows: 16, 32 or 64 bits. */
void pmu_decoder_set_mode(PmuDecoder *decoder, unsigned mode);

unsigned pmu_decoder_mode(const PmuDecoder *decoder);

/*
 * Describe the instruction of @enc.  Returns false, with a one-slot, one-cycle
 * description in *@insn (PMU_INSN_UNKNOWN), if Capstone does not know it, finds
 * another length, or takes it for something that @enc says it is not.  Whatever
 * @enc says, PMU_INSN_REP is set if and only if pmu_encoding_repeats().
 */
bool pmu_decode(PmuDecoder *decoder, const PmuEncoding *enc, PmuInsn *insn);

/*
 * The same, kept as long as its generation: see pmu_decoder_begin_generation().
 */
const PmuInsn *pmu_decode_interned(PmuDecoder *decoder, const PmuEncoding *enc);

/*
 * What is kept from now on is for code of @generation, and what is older than
 * @oldest goes: see pmu_insn_pool_begin_generation(), also for when it is full.
 */
void pmu_decoder_begin_generation(PmuDecoder *decoder, uint64_t generation,
                                  uint64_t oldest);

bool pmu_decoder_is_full(const PmuDecoder *decoder);

/* @to keeps what @from has kept from now on. */
void pmu_decoder_adopt(PmuDecoder *to, PmuDecoder *from);

/* The same without an emulator: see pmu_encoding_parse(). */
bool pmu_decode_bytes(PmuDecoder *decoder, const uint8_t *bytes,
                      unsigned length, PmuInsn *insn);

/* What pmu_decode() has done so far, in instructions. */
typedef struct PmuDecoderStats {
    uint64_t decoded;           /* all */
    uint64_t unknown;           /* those for which it returned false */
    uint64_t disagreed;         /* ... as the emulator executes another one */
} PmuDecoderStats;

PmuDecoderStats pmu_decoder_stats(const PmuDecoder *decoder);

#endif
