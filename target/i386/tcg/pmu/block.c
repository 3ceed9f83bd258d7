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

/* Flags that take an instruction off the short paths. */
#define NOT_SHORT (PMU_INSN_MICROCODED | PMU_INSN_SERIALIZING |         \
                   PMU_INSN_LOCKED | PMU_INSN_PREFETCH |                \
                   PMU_INSN_STRING | PMU_INSN_REP |                     \
                   PMU_INSN_MANY_SRCS | PMU_INSN_IMM64 |                \
                   PMU_INSN_BLOCKS_ISSUE | PMU_INSN_FENCES_LOADS)

#define MEMORY_FLAGS (PMU_INSN_LOAD | PMU_INSN_STORE |                  \
                      PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)

/* The shortest path through the model that does all of @bi. */
static void block_choose_path(PmuBlockInsn *bi)
{
    const PmuInsn *insn = &bi->insn;
    PmuPath path = PMU_PATH_FULL;

    bi->access = PMU_NO_ACCESS;
    switch (insn->flags & MEMORY_FLAGS) {
    case 0:
        path = PMU_PATH_PLAIN;
        break;
    case PMU_INSN_LOAD:
        path = PMU_PATH_LOAD;
        bi->access = bi->ea;
        break;
    case PMU_INSN_STACK_LOAD:
        path = PMU_PATH_LOAD;
        bi->access = bi->stack;
        break;
    case PMU_INSN_STORE:
        path = PMU_PATH_STORE;
        bi->access = bi->ea;
        break;
    case PMU_INSN_STACK_STORE:
        path = PMU_PATH_STORE;
        bi->access = bi->stack;
        break;
    default:
        break;
    }
    if (insn->slots != 1 || insn->dst[2] != PMU_REG_NR ||
        (insn->flags & NOT_SHORT) ||
        (path != PMU_PATH_PLAIN && bi->access == PMU_NO_ACCESS)) {
        path = PMU_PATH_FULL;
    }
    if (insn->branch != PMU_BRANCH_NONE) {
        path = path == PMU_PATH_PLAIN && insn->branch == PMU_BRANCH_COND
               ? PMU_PATH_COND : PMU_PATH_FULL;
    }
    bi->path = path;
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
    block_choose_path(bi);
    block_note_access(block, ea);
    block_note_access(block, stack);
    block->num_insns++;
    block->length += length;
    block->branches = bi->insn.branch != PMU_BRANCH_NONE;
    block->rep = bi->insn.flags & PMU_INSN_REP;
}
