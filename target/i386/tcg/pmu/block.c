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

/*
 * With what @bi, the newest of @block, can macro-fuse.  A pair never straddles
 * the start of a line (uiCA).
 */
static void block_choose_fusion(const PmuBlock *block, PmuBlockInsn *bi)
{
    const PmuInsn *insn = &bi->insn;

    bi->fuse_next = insn->flags & PMU_INSN_FUSE_FIRST ? insn->fuse : 0;
    bi->fuse_last = (insn->flags & PMU_INSN_FUSE_SECOND) &&
                    (bi->page_offset & (PMU_LINE_SIZE - 1)) ? insn->fuse : 0;
    bi->fused = block->num_insns && (bi[-1].fuse_next & bi->fuse_last);
}

/* The newest instruction of @block begins in the line of those before it. */
static void block_extend_line(PmuBlock *block)
{
    unsigned newest = block->num_insns;
    unsigned line = block->insns[newest].page_offset >> PMU_LINE_SHIFT;

    for (unsigned i = newest; i; i--) {
        PmuBlockInsn *bi = &block->insns[i - 1];

        if (bi->page_offset >> PMU_LINE_SHIFT != line) {
            return;
        }
        bi->line_left++;
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
    bi->line_left = 0;
    block_extend_line(block);
    block_choose_path(bi);
    block_choose_fusion(block, bi);
    block_note_access(block, ea);
    block_note_access(block, stack);
    block->num_insns++;
    block->length += length;
    block->branches = bi->insn.branch != PMU_BRANCH_NONE;
    block->rep = bi->insn.flags & PMU_INSN_REP;
}
