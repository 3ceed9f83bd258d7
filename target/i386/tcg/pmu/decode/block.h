/*
 * The description of a translated block that the timing model reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * It is built once, when the block is translated.  Afterwards it is immutable,
 * and all vCPUs share it.  Plain C.
 *
 * This folder turns the encoding of an instruction, as the emulator read it
 * (encoding), into its description (insn, decoder and its parts), and these
 * into the description of a translated block (block-builder, block-counts).  It
 * keeps each of them once (insn-pool, block-pool, arena).  It includes ledger/
 * and uarch/.  It must not read guest memory, nor know what becomes of a block
 * at run time.
 */

#ifndef TARGET_I386_PMU_DECODE_BLOCK_H
#define TARGET_I386_PMU_DECODE_BLOCK_H

#include <glib.h>

#include "tcg/pmu/decode/insn.h"
#include "tcg/pmu/ledger/ledger.h"
#include "tcg/pmu/uarch/hash.h"
#include "tcg/pmu/uarch/uarch.h"

/* The index of an access whose address is not recorded. */
#define PMU_NO_ACCESS 0xff

/*
 * The most of each that a block has room for.  The translator ends a block
 * before it needs more: see pmu_block_full().
 */
#define PMU_BLOCK_INSNS         128
#define PMU_BLOCK_ACCESSES      64
#define PMU_BLOCK_SEGMENTS      16

/* One instruction at its place in a block. */
typedef struct PmuBlockInsn {
    const PmuInsn *insn;    /* owned by the decoder: pmu_decode_interned() */
    uint32_t hash;          /* of its bytes and its offset in a page */
    uint16_t offset : 13;   /* in the block, bytes */
    bool begins_line : 1;   /* its first byte is a 64-byte line's first */
    bool fused : 1;         /* second of a macro-fused pair in the block */
    bool ends_region : 1;   /* a region ends with it: see PmuBlock */
    /* Indices of its recorded accesses, or PMU_NO_ACCESS: */
    uint8_t ea;             /* at its ModRM, moffs or [rSI] address */
    uint8_t stack;          /* at its stack or [rDI] address */
} PmuBlockInsn;

G_STATIC_ASSERT(sizeof(PmuBlockInsn) <= 16);

/* The PMU_FUSE_x that @bi can fuse with as the first of a pair, or 0. */
static inline unsigned pmu_fuse_as_first(const PmuBlockInsn *bi)
{
    return bi->insn->flags & PMU_INSN_FUSE_FIRST ? bi->insn->fuse : 0;
}

/*
 * The PMU_FUSE_x that @bi is in if it can be the second of a pair, or 0.
 * A pair never straddles the start of a line (uiCA).
 */
static inline unsigned pmu_fuse_as_second(const PmuBlockInsn *bi)
{
    return (bi->insn->flags & PMU_INSN_FUSE_SECOND) && !bi->begins_line
           ? bi->insn->fuse : 0;
}

/*
 * Returns the micro-ops that @insn takes in the queue before the backend: more
 * than it holds for microcode, as a loop with microcode never fits.
 */
static inline unsigned pmu_queue_uops(const PmuInsn *insn)
{
    return insn->decode_uops > 4 ? 1024 : insn->decode_uops;
}

/* What an access asks of the caches besides data, or instead of data. */
typedef enum PmuHint {
    PMU_HINT_NONE,
    PMU_HINT_STREAM,        /* a non-temporal store */
    PMU_HINT_PREFETCH,      /* PREFETCHT0, PREFETCHNTA: no result */
    PMU_HINT_PREFETCH_L2,   /* PREFETCHT1, PREFETCHT2: likewise */
    PMU_HINT_PREFETCH_W,    /* PREFETCHW: likewise */
    PMU_HINT_FLUSH,         /* CLFLUSH, CLFLUSHOPT: neither load nor store */
} PmuHint;

/* A data access whose address is recorded. */
typedef struct PmuBlockAccess {
    uint8_t size;           /* bytes, 1 or more */
    uint8_t extent;         /* @size, or PMU_EXTENT_NO_HIT */
    uint8_t ip;             /* low 8 bits of the instruction's address */
    bool load : 1, store : 1;   /* both: it is read, then written */
    uint8_t hint : 3;       /* PmuHint */
} PmuBlockAccess;

/* Do the caches see @access? */
static inline bool pmu_block_access_uses_caches(const PmuBlockAccess *access)
{
    return access->load || access->store || access->hint != PMU_HINT_NONE;
}

/* The extent of an access for which pmu_memory_hit() must be false. */
#define PMU_EXTENT_NO_HIT (PMU_LINE_SIZE + 1)

/* The instructions of a block that begin in the same window of the DSB. */
typedef struct PmuBlockSegment {
    uint8_t first;          /* index of its first instruction */
    uint8_t first_access;   /* index of its first recorded data access */
    bool second_page;       /* the window is in the block's second page */
    uint16_t offset;        /* of its first byte in the page */
    uint16_t start;         /* of its first byte in the block */
} PmuBlockSegment;

/*
 * What a block that runs counts in any case, in 16-bit fields, four to a 64-bit
 * word.  A field has room for the sum of PMU_COUNTS_BLOCKS blocks.  In most
 * blocks all fields from PMU_COUNT_RARE on are 0.
 */
typedef enum PmuCountField {
    PMU_COUNT_INSNS,
    PMU_COUNT_ACCESSES,         /* recorded; a read and write counts once */
    PMU_COUNT_LOADS,            /* recorded */
    PMU_COUNT_STORES,           /* recorded */
    PMU_COUNT_COND,             /* branches, from here on by kind */
    PMU_COUNT_JMP,
    PMU_COUNT_CALL,
    PMU_COUNT_RET,
    PMU_COUNT_RARE,
    PMU_COUNT_JMP_INDIRECT = PMU_COUNT_RARE,
    PMU_COUNT_CALL_INDIRECT,
    PMU_COUNT_FAR,
    PMU_COUNT_LOCKED,           /* recorded loads of instructions with LOCK */
    PMU_COUNT_CLASS,            /* classes, from PMU_CLASS_NONE + 1 on */
    PMU_COUNT_NR = PMU_COUNT_CLASS + PMU_CLASS_NR - 1
} PmuCountField;

#define PMU_COUNT_FIELDS        4       /* in a word */
#define PMU_COUNT_WORDS         \
    ((PMU_COUNT_NR + PMU_COUNT_FIELDS - 1) / PMU_COUNT_FIELDS)
#define PMU_COUNT_COMMON_WORDS  (PMU_COUNT_RARE / PMU_COUNT_FIELDS)
#define PMU_COUNT_RARE_WORDS    (PMU_COUNT_WORDS - PMU_COUNT_COMMON_WORDS)

/* Blocks whose sum fits into a field: an instruction adds 2 at most. */
#define PMU_COUNTS_BLOCKS       (UINT16_MAX / (2 * PMU_BLOCK_INSNS))

/* Block numbers are below this; a block without a number has this one. */
#define PMU_BLOCK_NUMBERS       (1u << 20)

/* Access summaries in a block; one with more accesses has no number. */
#define PMU_BLOCK_SUMMARIES     24

/*
 * The summary of an access: PmuBlockAccess.extent, with
 * PMU_ACCESS_SUMMARY_STORE if it stores.
 */
typedef uint8_t PmuAccessSummary;

#define PMU_ACCESS_SUMMARY_STORE 0x80
#define PMU_ACCESS_SUMMARY_EXTENT 0x7f

/*
 * A translated block.  What the model reads of every block that runs comes
 * first, and fits into a cache line of the host.
 */
typedef struct PmuBlock {
    uint8_t num_insns;
    uint8_t num_accesses;
    uint8_t num_segments;
    uint8_t branch;         /* PmuBranch of the last instruction */
    uint8_t level;          /* PmuLevel */
    bool rep : 1;           /* the last instruction is a REP string one */
    bool low32 : 1;         /* linear addresses have 32 bits */
    bool uninterruptible : 1;   /* no interrupt may be raised at its entry */
    /*
     * A region of code (see cpi-table.h) ends with the last instruction.  This
     * one is a branch, has PMU_INSN_ENDS_REGION, ends at or behind the end of
     * its page, or comes before one that reaches into the next page; or the
     * translator ended the block there for a reason of its own.
     */
    bool ends_region : 1;
    bool region_ends_inside : 1; /* one ends with an earlier instruction */
    bool begins_region : 1; /* its first insn reaches into the next page */
    /* Address size of the last instruction: 1 << this bytes. */
    uint8_t address_shift : 2;
    uint16_t uops;          /* sum of pmu_queue_uops(), to UINT16_MAX */
    uint16_t length;        /* bytes */
    uint16_t last_offset;   /* of the last instruction's first byte */
    uint32_t number;        /* the translator gives it: see block-runs.h */
    PmuAccessSummary summary[PMU_BLOCK_SUMMARIES]; /* the first accesses */
    uint64_t hash;          /* of the instructions: see pmu_block_hash() */
    uint64_t phys;          /* physical address of the first byte */
    const PmuBlockSegment *segments;

    const PmuBlockInsn *insns;
    /* By PmuCountField, sums over all instructions; the rest is in @rare. */
    uint64_t counts[PMU_COUNT_COMMON_WORDS];
    uint64_t *rare;         /* PMU_COUNT_RARE_WORDS; NULL: all are 0 */
    bool slow;              /* PMU_SLOW_BLOCK cycles or more */
    uint64_t phys_next;     /* physical address of its second page, if any */
    uint64_t generation;    /* of the code buffer it belongs to */
    PmuBlockAccess accesses[];
} PmuBlock;

G_STATIC_ASSERT(offsetof(PmuBlock, insns) <= 64);

/* What happened while a block ran. */
typedef struct PmuExecution {
    const uint64_t *addr;   /* linear data addresses, by index of the access */
    uint64_t pc;            /* linear address of the block's first byte */
    uint64_t target;        /* where execution went on after a branch */
    uint64_t iterations;    /* that the REP string instruction did */
    uint64_t rest;          /* that it has left, if it has not retired */
    bool taken;             /* the conditional branch was taken */
    bool backwards;         /* the direction flag was set */
} PmuExecution;

/* Returns the linear address after @block, which begins at @pc. */
static inline uint64_t pmu_block_end(const PmuBlock *block, uint64_t pc)
{
    uint64_t end = pc + block->length;

    return block->low32 ? (uint32_t)end : end;
}

/*
 * The log's record of a block that ran to its end, in 64-bit words: the block,
 * the linear address of its first byte, and its linear data addresses.
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
 * Returns the key of a line in the DSB, never 0.  Code that fetch enters at
 * byte @entry of physical 64-byte line @line takes DSB lines 0, 1, ...; this is
 * the key of number @index.
 */
static inline uint64_t pmu_dsb_key(uint64_t line, unsigned entry,
                                   uint32_t index)
{
    return line | (uint64_t)entry << 52 | (uint64_t)(index + 1) << 58;
}

/* Returns the physical 64-byte line of the code that @key is of. */
static inline uint64_t pmu_dsb_key_line(uint64_t key)
{
    return key & ((1ull << 52) - 1);
}

/* Returns the physical 64-byte line in which @segment of @block begins. */
static inline uint64_t pmu_block_line(const PmuBlock *block,
                                      const PmuBlockSegment *segment)
{
    uint64_t phys = segment->second_page ? block->phys_next : block->phys;

    return (phys >> PMU_PAGE_SHIFT << (PMU_PAGE_SHIFT - PMU_LINE_SHIFT)) +
           (segment->offset >> PMU_LINE_SHIFT);
}

/*
 * Returns the hash of a sequence of instructions: those that hash to @before,
 * then @n that hash to @hash.  Where the sequence is cut into blocks makes no
 * difference.  A cyclic polynomial (Cohen, "Recursive hashing functions for
 * n-grams", 1997); 7 and 64 have no common divisor.
 */
static inline uint64_t pmu_hash_append(uint64_t before, unsigned n,
                                       uint64_t hash)
{
    unsigned by = 7 * n % 64;

    return (before << by | before >> (-by % 64)) ^ hash;
}

/* The same for those of @block after those that hash to @before. */
static inline uint64_t pmu_block_hash(const PmuBlock *block, uint64_t before)
{
    return pmu_hash_append(before, block->num_insns, block->hash);
}

/* The same for a single instruction, whose PmuBlockInsn.hash is @hash. */
static inline uint64_t pmu_insn_hash(uint32_t hash, uint64_t before)
{
    return pmu_hash_append(before, 1, hash * PMU_HASH_MULTIPLIER);
}

/*
 * Returns how often the REP string instruction that ends @block iterated while
 * rCX went from @before to @after.  By the address size that is RCX, ECX or CX.
 */
static inline uint64_t pmu_block_iterations(const PmuBlock *block,
                                            uint64_t before, uint64_t after)
{
    return (before - after) & (~0ull >> (64 - (8 << block->address_shift)));
}

/* Returns how many iterations it has left when rCX is @rcx. */
static inline uint64_t pmu_block_iterations_left(const PmuBlock *block,
                                                 uint64_t rcx)
{
    return pmu_block_iterations(block, rcx, 0);
}

/* Is all of @block part of the same region? */
static inline bool pmu_block_is_whole(const PmuBlock *block)
{
    return !block->rep && !block->region_ends_inside;
}

/* Can @block be a whole region? */
static inline bool pmu_block_is_plain(const PmuBlock *block)
{
    return block->ends_region && pmu_block_is_whole(block);
}

static inline bool pmu_block_has_number(const PmuBlock *block)
{
    return block->number < PMU_BLOCK_NUMBERS;
}

/* Give @block @number, or none if that or its accesses are too many. */
void pmu_block_set_number(PmuBlock *block, uint32_t number);

/* Bytes that pmu_block_pack() needs for @block. */
size_t pmu_block_size(const PmuBlock *block);

/* Copy @block to @to: pmu_block_size() bytes, aligned.  Returns the copy. */
PmuBlock *pmu_block_pack(void *to, const PmuBlock *block);

#endif
