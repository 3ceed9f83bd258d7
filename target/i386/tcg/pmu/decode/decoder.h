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

/* One for each translating thread: threads must not share Capstone handles. */
typedef struct PmuDecoder PmuDecoder;

/*
 * Returns a decoder in 64-bit mode for the instruction table of @core, with the
 * ports and figures of @uarch, which must not move.  NULL if Capstone cannot be
 * started.
 */
PmuDecoder *pmu_decoder_new(PmuCore core, const PmuUarch *uarch);

void pmu_decoder_free(PmuDecoder *decoder);

/* The core that it decodes for. */
const PmuUarch *pmu_decoder_uarch(const PmuDecoder *decoder);

/* Decode code of @mode from now on: 16, 32 or 64 bits. */
void pmu_decoder_set_mode(PmuDecoder *decoder, unsigned mode);

unsigned pmu_decoder_mode(const PmuDecoder *decoder);

/*
 * Describe the instruction of @enc in *@insn.  Returns false if it has no row
 * in the instruction table (pmu_row_lookup_find()): the description is then of
 * one slot and one cycle, PMU_INSN_UNKNOWN.  In either case PMU_INSN_REP is set
 * if and only if pmu_encoding_repeats().
 */
bool pmu_decode(PmuDecoder *decoder, const PmuEncoding *enc, PmuInsn *insn);

/*
 * The same.  The decoder keeps what it returns as long as its generation: see
 * pmu_decoder_begin_generation().
 */
const PmuInsn *pmu_decode_interned(PmuDecoder *decoder, const PmuEncoding *enc);

/*
 * Keep descriptions for code of @generation from now on, and free those of
 * generations before @oldest: see pmu_insn_pool_begin_generation().
 */
void pmu_decoder_begin_generation(PmuDecoder *decoder, uint64_t generation,
                                  uint64_t oldest);

/* Is it time for another generation?  See PMU_INSN_POOL_MAX_BYTES. */
bool pmu_decoder_is_full(const PmuDecoder *decoder);

/* Move the memory of what @from keeps to @to, which frees it in time. */
void pmu_decoder_adopt(PmuDecoder *to, PmuDecoder *from);

/* pmu_decode() without an emulator: see pmu_encoding_parse(). */
bool pmu_decode_bytes(PmuDecoder *decoder, const uint8_t *bytes,
                      unsigned length, PmuInsn *insn);

/* What pmu_decode() has done so far, in instructions. */
typedef struct PmuDecoderStats {
    uint64_t decoded;           /* all */
    uint64_t unknown;           /* those for which it returned false */
    uint64_t disagreed;         /* of these, executed as something else */
} PmuDecoderStats;

PmuDecoderStats pmu_decoder_stats(const PmuDecoder *decoder);

#endif
