/*
 * A translated block as the timing model sees it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Built once when a block is translated, immutable and shared by all vCPUs
 * afterwards.  Plain C.
 *
 * This folder goes from the encoding of an instruction, as the emulator read it
 * (encoding), to its description (insn, decoder and its parts), and from there
 * to the description of a translated block (block-builder, block-counts), each
 * kept once (insn-pool, block-pool, arena).  It includes ledger/ and uarch/.
 * It must not read guest memory, nor know what becomes of a block at run time.
 */

#ifndef TARGET_I386_PMU_DECODE_BLOCK_H
#define TARGET_I386_PMU_DECODE_BLOCK_H

#include <glib.h>

#include "tcg/pmu/decode/insn.h"
#include "tcg/pmu/ledger/ledger.h"
#include "tcg/pmu/uarch/hash.h"
#include "tcg/pmu/uarch/uarch.h"

/* No dynamic address was recorded for this access. */
#define PMU_NO_ACCESS 0xff

/*
 * Room in a block.  The translator ends a block before it runs out of any:
 * see pmu_block_full().
 */
#define PMU_BLOCK_INSNS         128
#define PMU_BLOCK_ACCESSES      64
#define PMU_BLOCK_SEGMENTS      16

/* One instruction at its place in a block. */
typedef struct PmuBlockInsn {
    const PmuInsn *insn;    /* kept by the decoder: pmu_decode() */
    uint32_t hash;          /* of its bytes and its place in a page */
    uint16_t offset : 13;   /* of its first byte from that of the block */
    bool begins_line : 1;   /* of 64 bytes */
    bool fused : 1;         /* it is the second of a pair within the block */
    bool ends_region : 1;   /* a region ends with it: see PmuBlock */
    uint8_t ea;             /* index of its ModRM, moffs or [rSI] address */
    uint8_t stack;          /* index of its stack or [rDI] address */
} PmuBlockInsn;

G_STATIC_ASSERT(sizeof(PmuBlockInsn) <= 16);

/* The PMU_FUSE_x that @bi can do with the next instruction. */
static inline unsigned pmu_fuse_next(const PmuBlockInsn *bi)
{
    return bi->insn->flags & PMU_INSN_FUSE_FIRST ? bi->insn->fuse : 0;
}

/*
 * ... and with the last one.  A pair never straddles the start of a line
 * (uiCA).
 */
static inline unsigned pmu_fuse_last(const PmuBlockInsn *bi)
{
    return (bi->insn->flags & PMU_INSN_FUSE_SECOND) && !bi->begins_line
           ? bi->insn->fuse : 0;
}

/*
 * Micro-ops that @insn takes in the queue before the backend.  A loop with
 * microcode never fits.
 */
static inline unsigned pmu_queue_uops(const PmuInsn *insn)
{
    return insn->decode_uops > 4 ? 1024 : insn->decode_uops;
}

/* What an access asks of the caches besides data, or in place of them. */
typedef enum PmuHint {
    PMU_HINT_NONE,
    PMU_HINT_STREAM,        /* a store that is non-temporal */
    PMU_HINT_PREFETCH,      /* a load of nothing: PREFETCHT0, PREFETCHNTA */
    PMU_HINT_PREFETCH_L2,   /* ... PREFETCHT1, PREFETCHT2 */
    PMU_HINT_PREFETCH_W,    /* ... PREFETCHW */
    PMU_HINT_FLUSH,         /* CLFLUSH, CLFLUSHOPT: neither load nor store */
} PmuHint;

/* A data access whose address is recorded. */
typedef struct PmuBlockAccess {
    uint8_t size;           /* bytes, 1 or more */
    uint8_t extent;         /* the same, or PMU_EXTENT_NO_HIT */
    uint8_t ip;             /* low bits of the instruction's address */
    bool load : 1, store : 1;   /* both: it is read, then written */
    uint8_t hint : 3;       /* PmuHint */
} PmuBlockAccess;

/* Do the caches see @access? */
static inline bool pmu_block_access_uses_caches(const PmuBlockAccess *access)
{
    return access->load || access->store || access->hint != PMU_HINT_NONE;
}

/* So that pmu_memory_hit() is false: the access is never a plain one. */
#define PMU_EXTENT_NO_HIT (PMU_LINE_SIZE + 1)

/* The instructions of a block that begin in the same window of the DSB. */
typedef struct PmuBlockSegment {
    uint8_t first;          /* index of the first of them */
    uint8_t first_access;   /* ... of their first recorded data access */
    bool second_page;       /* the window is in the block's second page */
    uint16_t offset;        /* of the first byte in its page */
    uint16_t start;         /* ... from that of the block */
} PmuBlockSegment;

/*
 * What can be counted without looking closer, in fields of 16 bits, four to a
 * word: so wide that those of PMU_COUNTS_BLOCKS blocks have room.  Most blocks
 * have nothing but the first ones.
 */
typedef enum PmuCountField {
    PMU_COUNT_INSNS,
    PMU_COUNT_ACCESSES,         /* recorded, one that reads and writes once */
    PMU_COUNT_LOADS,            /* recorded */
    PMU_COUNT_STORES,           /* recorded */
    PMU_COUNT_COND,             /* branches */
    PMU_COUNT_JMP,
    PMU_COUNT_CALL,
    PMU_COUNT_RET,
    PMU_COUNT_RARE,
    PMU_COUNT_JMP_INDIRECT = PMU_COUNT_RARE,
    PMU_COUNT_CALL_INDIRECT,
    PMU_COUNT_FAR,
    PMU_COUNT_LOCKED,           /* recorded loads of instructions with LOCK */
    PMU_COUNT_CLASS,            /* from PMU_CLASS_NONE + 1 on */
    PMU_COUNT_NR = PMU_COUNT_CLASS + PMU_CLASS_NR - 1
} PmuCountField;

#define PMU_COUNT_FIELDS        4       /* a word */
#define PMU_COUNT_WORDS         \
    ((PMU_COUNT_NR + PMU_COUNT_FIELDS - 1) / PMU_COUNT_FIELDS)
#define PMU_COUNT_COMMON_WORDS  (PMU_COUNT_RARE / PMU_COUNT_FIELDS)
#define PMU_COUNT_RARE_WORDS    (PMU_COUNT_WORDS - PMU_COUNT_COMMON_WORDS)

/* An instruction counts two at most. */
#define PMU_COUNTS_BLOCKS       (UINT16_MAX / (2 * PMU_BLOCK_INSNS))

/* Numbers that blocks can have; one that has none has this. */
#define PMU_BLOCK_NUMBERS       (1u << 20)

/* A block with more accesses has no number. */
#define PMU_BLOCK_SUMMARIES     24

/*
 * Of an access: PmuBlockAccess.extent, and PMU_ACCESS_SUMMARY_STORE if it
 * stores.
 */
typedef uint8_t PmuAccessSummary;

#define PMU_ACCESS_SUMMARY_STORE 0x80
#define PMU_ACCESS_SUMMARY_EXTENT 0x7f

/*
 * What the model needs of each block that runs comes first, and fits into a
 * line of the host's cache.
 */
typedef struct PmuBlock {
    uint8_t num_insns;
    uint8_t num_accesses;
    uint8_t num_segments;
    uint8_t branch;         /* PmuBranch of the last instruction */
    uint8_t level;          /* PmuLevel */
    bool rep : 1;           /* the last instruction is a REP string one */
    bool low32 : 1;         /* linear addresses have 32 bits */
    bool uninterruptible : 1;   /* nothing may be raised at its entry */
    /*
     * A region of code (see cpi-table.h) ends with its last instruction: which
     * is a branch, or PMU_INSN_ENDS_REGION, or ends at or behind the end of
     * its page, or before an instruction that reaches into the next one; or
     * the translator ended the block there for a reason of its own.
     */
    bool ends_region : 1;
    bool region_ends_inside : 1; /* the same for one before the last */
    bool begins_region : 1; /* the first one reaches into the next page */
    /* Address size of the last instruction: 1 << this bytes. */
    uint8_t address_shift : 2;
    uint16_t uops;          /* sum of pmu_queue_uops(), or UINT16_MAX */
    uint16_t length;        /* bytes */
    uint16_t last_offset;   /* of the last instruction's first byte */
    uint32_t number;        /* that the translator gave it: see block-runs.h */
    PmuAccessSummary summary[PMU_BLOCK_SUMMARIES]; /* the first accesses */
    uint64_t hash;          /* of the instructions: see pmu_block_hash() */
    uint64_t phys;          /* physical address of the first byte */
    const PmuBlockSegment *segments;

    const PmuBlockInsn *insns;
    /* PmuCountField, of all instructions; others if any: @rare. */
    uint64_t counts[PMU_COUNT_COMMON_WORDS];
    uint64_t *rare;         /* PMU_COUNT_RARE_WORDS, or NULL */
    bool slow;              /* PMU_SLOW_BLOCK cycles or more */
    uint64_t phys_next;     /* of the next page, if the block reaches it */
    uint64_t generation;    /* of the code buffer it belongs to */
    PmuBlockAccess accesses[];
} PmuBlock;

G_STATIC_ASSERT(offsetof(PmuBlock, insns) <= 64);

/*
 * What happened while a block ran.  @addr holds the linear data addresses at
 * the indices that the instructions name.
 */
typedef struct PmuExecution {
    const uint64_t *addr;
    uint64_t pc;            /* linear address of the block's first byte */
    uint64_t target;        /* where execution went on behind a branch */
    uint64_t iterations;    /* of the REP string instruction */
    uint64_t rest;          /* ... that it has to go, if it has not retired */
    bool taken;             /* the conditional branch was taken */
    bool backwards;         /* the direction flag was set */
} PmuExecution;

/* The linear address behind @block, which begins at @pc. */
static inline uint64_t pmu_block_end(const PmuBlock *block, uint64_t pc)
{
    uint64_t end = pc + block->length;

    return block->low32 ? (uint32_t)end : end;
}

/*
 * What is logged of a block that ran to its end, in words of 64 bits: the
 * block, linear address of its first byte, linear data addresses.
 */
typedef struct PmuRecord {
    union {
        const PmuBlock *block;
        uint64_t word;
    };
    uint64_t pc;
    uint64_t addr[];
} PmuRecord;

G_STATIC_ASSERT(sizeof(PmuRecord) == 2 * sizeof(uint64_t));

#define PMU_RECORD_WORDS(num_accesses) (2 + (num_accesses))

/*
 * What the DSB knows of a window in physical 64-byte line @line: line @index
 * of those that were built from byte @entry of that on.  Never 0.
 */
static inline uint64_t pmu_dsb_key(uint64_t line, unsigned entry,
                                   uint32_t index)
{
    return line | (uint64_t)entry << 52 | (uint64_t)(index + 1) << 58;
}

/* The 64-byte line that @key is of. */
static inline uint64_t pmu_dsb_key_line(uint64_t key)
{
    return key & ((1ull << 52) - 1);
}

/* The 64-byte line, by its physical address, of @segment of @block. */
static inline uint64_t pmu_block_line(const PmuBlock *block,
                                      const PmuBlockSegment *segment)
{
    uint64_t phys = segment->second_page ? block->phys_next : block->phys;

    return (phys >> PMU_PAGE_SHIFT << (PMU_PAGE_SHIFT - PMU_LINE_SHIFT)) +
           (segment->offset >> PMU_LINE_SHIFT);
}

/*
 * The hash of instructions of which @n, with @hash, are behind those of
 * @before: how they are cut makes no difference.  A cyclic polynomial (Cohen,
 * "Recursive hashing functions for n-grams", 1997); 7 and 64 have no common
 * divisor.
 */
static inline uint64_t pmu_hash_append(uint64_t before, unsigned n,
                                       uint64_t hash)
{
    unsigned by = 7 * n % 64;

    return (before << by | before >> (-by % 64)) ^ hash;
}

/* The hash of instructions whose last block is @block. */
static inline uint64_t pmu_block_hash(const PmuBlock *block, uint64_t before)
{
    return pmu_hash_append(before, block->num_insns, block->hash);
}

/* The same for a single instruction, of PmuBlockInsn.hash @hash. */
static inline uint64_t pmu_insn_hash(uint32_t hash, uint64_t before)
{
    return pmu_hash_append(before, 1, hash * PMU_HASH_MULTIPLIER);
}

/*
 * How often the REP string instruction that ends @block iterated while rCX went
 * from @before to @after: it counts rCX, ECX or CX, by the address size.
 */
static inline uint64_t pmu_block_iterations(const PmuBlock *block,
                                            uint64_t before, uint64_t after)
{
    return (before - after) & (~0ull >> (64 - (8 << block->address_shift)));
}

/* How many iterations it has to go where rCX is @rcx. */
static inline uint64_t pmu_block_iterations_left(const PmuBlock *block,
                                                 uint64_t rcx)
{
    return pmu_block_iterations(block, rcx, 0);
}

/* Is all of it part of one region? */
static inline bool pmu_block_is_whole(const PmuBlock *block)
{
    return !block->rep && !block->region_ends_inside;
}

/* Can it be a region of its own? */
static inline bool pmu_block_is_plain(const PmuBlock *block)
{
    return block->ends_region && pmu_block_is_whole(block);
}

static inline bool pmu_block_has_number(const PmuBlock *block)
{
    return block->number < PMU_BLOCK_NUMBERS;
}

/* @block is to have @number from now on, if there are so many. */
void pmu_block_set_number(PmuBlock *block, uint32_t number);

/* Bytes that pmu_block_pack() needs for @block. */
size_t pmu_block_size(const PmuBlock *block);

/* Copy @block to @to, which has pmu_block_size() bytes, aligned for it. */
PmuBlock *pmu_block_pack(void *to, const PmuBlock *block);

#endif
