/*
 * A translated block as the timing model sees it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Translation time, below the line: built once when a block is translated,
 * immutable and shared by all vCPUs afterwards.  Plain C.
 */

#ifndef TARGET_I386_PMU_BLOCK_H
#define TARGET_I386_PMU_BLOCK_H

#include "ledger.h"
#include "uops.h"

#define PMU_LINE_SHIFT  6
#define PMU_LINE_SIZE   (1u << PMU_LINE_SHIFT)
#define PMU_PAGE_SHIFT  12

/* No dynamic address was recorded for this access. */
#define PMU_NO_ACCESS 0xff

/*
 * Room for the data addresses of one execution of a block.  The translator
 * ends a block before it runs out; see PmuDynamic.
 */
#define PMU_BLOCK_ACCESSES 128

/* The most instructions in one block (TCG_MAX_INSNS). */
#define PMU_BLOCK_INSNS 512

/* How much of the timing model an instruction needs; see timing.c. */
typedef enum PmuPath {
    PMU_PATH_FULL,
    PMU_PATH_COND,              /* a conditional branch of one slot */
    PMU_PATH_PLAIN,             /* one slot, at most two sources */
    PMU_PATH_LOAD,              /* the same and one load */
    PMU_PATH_STORE,             /* the same and one store */
} PmuPath;

/* One instruction at its place in a block. */
typedef struct PmuBlockInsn {
    PmuInsn insn;
    uint16_t offset;        /* of its first byte from that of the block */
    uint16_t page_offset;   /* of its first byte in its 4 KiB page */
    uint8_t ea;             /* index of its ModRM, moffs or [rSI] address */
    uint8_t stack;          /* index of its stack or [rDI] address */
    uint8_t path;           /* PmuPath */
    uint8_t access;         /* its index, on PMU_PATH_LOAD and _STORE */
    uint8_t line_left;      /* instructions after it that begin in its line */
    uint8_t fuse_next;      /* PMU_FUSE_x that it can do with the next */
    uint8_t fuse_last;      /* PMU_FUSE_x that it can do with the last */
    bool fused;             /* it is the second of a pair within the block */
} PmuBlockInsn;

typedef struct PmuBlock {
    uint64_t generation;    /* of the code buffer it belongs to */
    uint64_t phys;          /* physical address of the first byte */
    uint64_t phys_next;     /* of the next page, if the block reaches it */
    PmuLevel level;
    uint16_t num_insns;
    uint16_t length;        /* bytes */
    uint16_t num_accesses;
    bool branches;          /* the last instruction is a branch */
    bool rep;               /* the last instruction is a REP string one */
    bool uninterruptible;   /* nothing may be raised at its entry */
    PmuBlockInsn insns[];
} PmuBlock;

/*
 * What happened while a block ran.  @addr holds the linear data addresses at
 * the indices that the instructions name.
 */
typedef struct PmuDynamic {
    const uint64_t *addr;
    uint64_t pc;            /* linear address of the block's first byte */
    uint64_t target;        /* where an indirect branch went */
    bool taken;             /* a conditional branch was taken */
    uint64_t iterations;    /* of the string instruction that is last */
    bool backwards;         /* EFLAGS.DF */
} PmuDynamic;

/*
 * Add the instruction of @length bytes at @bytes (1 to 15) to @block, which
 * has room for it.  @mode is 16, 32 or 64.  @page_offset as above.  If
 * Capstone cannot decode the bytes, or to another length, the instruction is
 * counted by class: see uops.h.
 */
void pmu_block_add(PmuBlock *block, PmuDecoder *decoder, const uint8_t *bytes,
                   unsigned length, uint16_t page_offset,
                   uint8_t ea, uint8_t stack);

/* Bytes to allocate for a block of @num_insns instructions. */
static inline size_t pmu_block_size(unsigned num_insns)
{
    return sizeof(PmuBlock) + num_insns * sizeof(PmuBlockInsn);
}

#endif
