/*
 * A translated block as the timing model sees it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Translation time, below the line.
 */

#include "block.h"

/* Room that the accesses of @block need once it uses index @access. */
static void block_note_access(PmuBlock *block, uint8_t access)
{
    if (access != PMU_NO_ACCESS && access >= block->num_accesses) {
        block->num_accesses = access + 1;
    }
}

void pmu_block_add(PmuBlock *block, PmuDecoder *decoder, const uint8_t *bytes,
                   unsigned length, uint16_t page_offset,
                   uint8_t ea, uint8_t stack)
{
    PmuBlockInsn *bi = &block->insns[block->num_insns];

    pmu_decode(decoder, bytes, length, &bi->insn);
    bi->offset = block->length;
    bi->page_offset = page_offset;
    bi->ea = ea;
    bi->stack = stack;
    block_note_access(block, ea);
    block_note_access(block, stack);
    block->num_insns++;
    block->length += length;
    block->branches = bi->insn.branch != PMU_BRANCH_NONE;
    block->rep = bi->insn.flags & PMU_INSN_REP;
}

int pmu_block_find(const PmuBlock *block, uint16_t page_offset)
{
    unsigned low = 0, high = block->num_insns;

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (block->insns[middle].page_offset < page_offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < block->num_insns &&
        block->insns[low].page_offset == page_offset) {
        return low;
    }
    return -1;
}
