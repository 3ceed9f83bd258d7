/*
 * Building the description of a translated block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_BLOCK_BUILDER_H
#define TARGET_I386_PMU_DECODE_BLOCK_BUILDER_H

#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/decode/decoder.h"

/* A block being built; its pointers point to the arrays below. */
typedef struct PmuBlockBuilder {
    union {
        PmuBlock block;
        char room[sizeof(PmuBlock) +
                  PMU_BLOCK_ACCESSES * sizeof(PmuBlockAccess)];
    };
    PmuBlockInsn insns[PMU_BLOCK_INSNS];
    PmuBlockSegment segments[PMU_BLOCK_SEGMENTS];
    uint64_t rare[PMU_COUNT_RARE_WORDS];
    unsigned cycles;            /* its instructions take, one after another */
} PmuBlockBuilder;

/*
 * A block is slow if its instructions may take at least this many cycles, one
 * after another and caches aside: about two dependent loads from DRAM.
 */
#define PMU_SLOW_BLOCK  400

/* Begin a block of @level at physical address @phys: empty, no number. */
void pmu_block_begin(PmuBlockBuilder *builder, PmuLevel level, uint64_t phys);

/*
 * Append the instruction of @enc, which is @page_offset bytes into its page.
 * There must be room: see pmu_block_full().  @ea and @stack are the indices at
 * which the emulator logs the linear addresses of its accesses; PMU_NO_ACCESS:
 * it logs none.  They are below PMU_BLOCK_ACCESSES, and the block does not use
 * them yet.  @decoder must outlive the block.
 */
void pmu_block_add(PmuBlockBuilder *builder, PmuDecoder *decoder,
                   const PmuEncoding *enc, uint16_t page_offset,
                   uint8_t ea, uint8_t stack);

/* The same without an emulator: see pmu_encoding_parse(). */
void pmu_block_add_bytes(PmuBlockBuilder *builder, PmuDecoder *decoder,
                         const uint8_t *bytes, unsigned length,
                         uint16_t page_offset, uint8_t ea, uint8_t stack);

/* Might @block lack room for the next instruction? */
bool pmu_block_full(const PmuBlock *block);

#endif
