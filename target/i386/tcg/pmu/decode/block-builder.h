/*
 * The description of a translated block in the making.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_BLOCK_BUILDER_H
#define TARGET_I386_PMU_DECODE_BLOCK_BUILDER_H

#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/decode/decoder.h"

/* A block in the making; its pointers are to the arrays beside it. */
typedef struct PmuBlockBuilder {
    union {
        PmuBlock block;
        char room[sizeof(PmuBlock) +
                  PMU_BLOCK_ACCESSES * sizeof(PmuBlockAccess)];
    };
    PmuBlockInsn insns[PMU_BLOCK_INSNS];
    PmuBlockSegment segments[PMU_BLOCK_SEGMENTS];
    uint64_t rare[PMU_COUNT_RARE_WORDS];
    unsigned cycles;            /* of its instructions, one after the other */
} PmuBlockBuilder;

/*
 * A block is slow if its instructions may take so many cycles, one after the
 * other and caches aside: about two loads from DRAM that wait for each other.
 */
#define PMU_SLOW_BLOCK  400

/* Begin an empty block of @level whose first byte is at @phys; no number. */
void pmu_block_begin(PmuBlockBuilder *builder, PmuLevel level, uint64_t phys);

/*
 * Append the instruction of @enc, which lies at @page_offset of its page.
 * There must be room: see pmu_block_full().  @ea and @stack are indices below
 * PMU_BLOCK_ACCESSES that the block does not use yet, at which the emulator
 * logs the linear addresses of its accesses, or PMU_NO_ACCESS where it logs
 * none.  @decoder must outlive the block.
 */
void pmu_block_add(PmuBlockBuilder *builder, PmuDecoder *decoder,
                   const PmuEncoding *enc, uint16_t page_offset,
                   uint8_t ea, uint8_t stack);

/* The same without an emulator: see pmu_encoding_parse(). */
void pmu_block_add_bytes(PmuBlockBuilder *builder, PmuDecoder *decoder,
                         const uint8_t *bytes, unsigned length,
                         uint16_t page_offset, uint8_t ea, uint8_t stack);

/* Is there no room for another instruction, whichever it is? */
bool pmu_block_full(const PmuBlock *block);

#endif
