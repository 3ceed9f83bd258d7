/*
 * The descriptions of translated blocks, each kept once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/decode/block-pool.h"
#include "tcg/pmu/uarch/hash.h"

static guint hash_of(gconstpointer key)
{
    const PmuBlock *block = key;

    return (block->hash ^ block->phys * PMU_HASH_MULTIPLIER) >> 32;
}

/*
 * Does not compare what follows from the instructions and their place.  The
 * address size does not: the same bytes have another one in another mode.
 */
static gboolean are_equal(gconstpointer a, gconstpointer b)
{
    const PmuBlock *one = a, *other = b;

    return one->hash == other->hash && one->phys == other->phys &&
           one->phys_next == other->phys_next &&
           one->generation == other->generation &&
           one->level == other->level &&
           one->address_shift == other->address_shift &&
           one->ends_region == other->ends_region &&
           one->uninterruptible == other->uninterruptible &&
           one->num_insns == other->num_insns &&
           !memcmp(one->insns, other->insns,
                   one->num_insns * sizeof(*one->insns));
}

void pmu_block_pool_init(PmuBlockPool *pool)
{
    *pool = (PmuBlockPool) {
        .kept = g_hash_table_new(hash_of, are_equal),
    };
}

void pmu_block_pool_destroy(PmuBlockPool *pool)
{
    g_clear_pointer(&pool->kept, g_hash_table_unref);
    pmu_arena_collect(&pool->arena, UINT64_MAX);
}

void pmu_block_pool_begin_generation(PmuBlockPool *pool, uint64_t generation,
                                     uint64_t oldest)
{
    pool->generation = generation;
    pool->bytes = 0;
    g_hash_table_remove_all(pool->kept);
    pmu_arena_collect(&pool->arena, oldest);
}

const PmuBlock *pmu_block_pool_find(const PmuBlockPool *pool,
                                    const PmuBlock *block)
{
    return g_hash_table_lookup(pool->kept, block);
}

const PmuBlock *pmu_block_pool_add(PmuBlockPool *pool, const PmuBlock *block)
{
    size_t size = pmu_block_size(block);
    void *room = pmu_arena_alloc(&pool->arena, pool->generation, size);
    PmuBlock *kept = pmu_block_pack(room, block);

    pool->bytes += pmu_arena_round(size);
    g_hash_table_add(pool->kept, kept);
    return kept;
}

bool pmu_block_pool_is_full(const PmuBlockPool *pool)
{
    return pool->bytes >= PMU_BLOCK_POOL_MAX_BYTES;
}

void pmu_block_pool_adopt(PmuBlockPool *to, PmuBlockPool *from)
{
    to->bytes += from->bytes;
    pmu_arena_adopt(&to->arena, &from->arena);
    g_hash_table_remove_all(from->kept);
}
