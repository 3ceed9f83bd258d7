/*
 * The descriptions of translated blocks, each kept once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * QEMU translates a block again for each mode that it runs in (X86PMUState).
 * The description stays the same.
 */

#ifndef TARGET_I386_PMU_DECODE_BLOCK_POOL_H
#define TARGET_I386_PMU_DECODE_BLOCK_POOL_H

#include "tcg/pmu/decode/arena.h"
#include "tcg/pmu/decode/block.h"

typedef struct PmuBlockPool {
    PmuArena arena;
    GHashTable *kept;           /* those of the newest generation */
    uint64_t generation;
    size_t bytes;               /* that these take */
} PmuBlockPool;

/*
 * Bytes of descriptions in one generation after which the next one is to begin.
 * In most cases translated code is larger, and its buffer is full before that;
 * but a guest can have code that translates to nearly nothing.
 */
#define PMU_BLOCK_POOL_MAX_BYTES (256u << 20)

/* An empty pool. */
void pmu_block_pool_init(PmuBlockPool *pool);
void pmu_block_pool_destroy(PmuBlockPool *pool);

/*
 * Keep blocks of @generation from now on.  Free the descriptions of generations
 * before @oldest, to which nothing refers any more: see pmu_arena_collect().
 */
void pmu_block_pool_begin_generation(PmuBlockPool *pool, uint64_t generation,
                                     uint64_t oldest);

/* Returns the kept description that is @block but for its number, or NULL. */
const PmuBlock *pmu_block_pool_find(const PmuBlockPool *pool,
                                    const PmuBlock *block);

/* Keep and return a copy of @block, which is of the newest generation. */
const PmuBlock *pmu_block_pool_add(PmuBlockPool *pool, const PmuBlock *block);

/* Is it time for another generation? */
bool pmu_block_pool_is_full(const PmuBlockPool *pool);

/* Move the memory of what @from keeps to @to, which frees it in time. */
void pmu_block_pool_adopt(PmuBlockPool *to, PmuBlockPool *from);

#endif
