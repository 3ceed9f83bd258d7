/*
 * The descriptions of translated blocks, each kept once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A block is translated again for each mode that it runs in (X86PMUState); what
 * it is stays the same.
 */

#ifndef TARGET_I386_PMU_DECODE_BLOCK_POOL_H
#define TARGET_I386_PMU_DECODE_BLOCK_POOL_H

#include "tcg/pmu/decode/arena.h"
#include "tcg/pmu/decode/block.h"

typedef struct PmuBlockPool {
    PmuArena arena;
    GHashTable *kept;           /* of the newest generation */
    uint64_t generation;
    size_t bytes;               /* of that generation */
} PmuBlockPool;

/*
 * Bytes of descriptions in one generation behind which another one is to begin.
 * Translated code is larger in most cases, and its buffer is full before; but a
 * guest can have code that translates to nearly nothing.
 */
#define PMU_BLOCK_POOL_MAX_BYTES (256u << 20)

/* Nothing is kept. */
void pmu_block_pool_init(PmuBlockPool *pool);
void pmu_block_pool_destroy(PmuBlockPool *pool);

/*
 * Code of @generation is being translated, and no code refers to descriptions
 * of those before @oldest: see pmu_arena_collect().
 */
void pmu_block_pool_begin_generation(PmuBlockPool *pool, uint64_t generation,
                                     uint64_t oldest);

/* The description that equals @block but for its number, or NULL. */
const PmuBlock *pmu_block_pool_find(const PmuBlockPool *pool,
                                    const PmuBlock *block);

/* Keep a copy of @block, which is of the newest generation and returned. */
const PmuBlock *pmu_block_pool_add(PmuBlockPool *pool, const PmuBlock *block);

/* Is it time for another generation? */
bool pmu_block_pool_is_full(const PmuBlockPool *pool);

/* What @from keeps belongs to @to from now on. */
void pmu_block_pool_adopt(PmuBlockPool *to, PmuBlockPool *from);

#endif
