/*
 * Descriptions of instructions, each kept once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/decode/arena.h"
#include "tcg/pmu/decode/insn-pool.h"
#include "tcg/pmu/uarch/hash.h"

/* Encodings that are remembered: a power of 2. */
#define ENCODINGS (1u << 12)

/* All that a description follows from, packed by key_of(). */
typedef struct EncodingKey {
    uint64_t word[3];
} EncodingKey;

typedef struct Encoded {
    EncodingKey key;
    const PmuInsn *insn;
} Encoded;

struct PmuInsnPool {
    PmuArena arena;
    GHashTable *insns;          /* PmuInsn of the newest generation, by value */
    uint64_t generation;
    size_t bytes;               /* of that generation */
    Encoded encoded[ENCODINGS];
};

static guint insn_hash(gconstpointer key)
{
    const uint8_t *byte = key;
    uint64_t hash = 0;

    for (size_t i = 0; i < sizeof(PmuInsn); i++) {
        hash = (hash + byte[i]) * PMU_HASH_MULTIPLIER;
    }
    return hash >> 32;
}

static gboolean insn_equal(gconstpointer a, gconstpointer b)
{
    return !memcmp(a, b, sizeof(PmuInsn));
}

PmuInsnPool *pmu_insn_pool_new(void)
{
    PmuInsnPool *pool = g_new0(PmuInsnPool, 1);

    pool->insns = g_hash_table_new(insn_hash, insn_equal);
    return pool;
}

void pmu_insn_pool_free(PmuInsnPool *pool)
{
    g_hash_table_destroy(pool->insns);
    pmu_arena_collect(&pool->arena, UINT64_MAX);
    g_free(pool);
}

static void forget_all(PmuInsnPool *pool)
{
    g_hash_table_remove_all(pool->insns);
    memset(pool->encoded, 0, sizeof(pool->encoded));
    pool->bytes = 0;
}

void pmu_insn_pool_begin_generation(PmuInsnPool *pool, uint64_t generation,
                                    uint64_t oldest)
{
    forget_all(pool);
    pool->generation = generation;
    pmu_arena_collect(&pool->arena, oldest);
}

bool pmu_insn_pool_is_full(const PmuInsnPool *pool)
{
    return pool->bytes >= PMU_INSN_POOL_MAX_BYTES;
}

size_t pmu_insn_pool_bytes(const PmuInsnPool *pool)
{
    return pool->arena.bytes;
}

void pmu_insn_pool_adopt(PmuInsnPool *to, PmuInsnPool *from)
{
    to->bytes += from->bytes;
    pmu_arena_adopt(&to->arena, &from->arena);
    forget_all(from);
}

const PmuInsn *pmu_insn_pool_intern(PmuInsnPool *pool, const PmuInsn *insn)
{
    PmuInsn *kept = g_hash_table_lookup(pool->insns, insn);

    if (!kept) {
        kept = pmu_arena_alloc(&pool->arena, pool->generation, sizeof(*insn));
        memcpy(kept, insn, sizeof(*insn));
        pool->bytes += pmu_arena_round(sizeof(*insn));
        g_hash_table_add(pool->insns, kept);
    }
    return kept;
}

static EncodingKey key_of(const PmuEncoding *enc, unsigned mode)
{
    uint8_t all[sizeof(EncodingKey)] = {};
    EncodingKey key;

    memcpy(all, enc->bytes, PMU_ENCODING_BYTES);
    all[PMU_ENCODING_BYTES] = enc->length;
    all[PMU_ENCODING_BYTES + 1] = enc->opcode_offset;
    all[PMU_ENCODING_BYTES + 2] = enc->prefixes;
    all[PMU_ENCODING_BYTES + 3] = enc->address_shift;
    all[PMU_ENCODING_BYTES + 4] = enc->string | enc->falls_through << 1;
    all[PMU_ENCODING_BYTES + 5] = mode;
    memcpy(&key, all, sizeof(key));
    return key;
}

static size_t slot_of(const EncodingKey *key)
{
    const uint64_t mix = 0xff51afd7ed558ccdull;
    uint64_t hash = ((key->word[0] * mix ^ key->word[1]) * mix ^
                     key->word[2]) * mix;

    return hash >> 32 & (ENCODINGS - 1);
}

const PmuInsn *pmu_insn_pool_find(const PmuInsnPool *pool,
                                  const PmuEncoding *enc, unsigned mode)
{
    EncodingKey key = key_of(enc, mode);
    const Encoded *encoded = &pool->encoded[slot_of(&key)];

    return encoded->insn && !memcmp(&encoded->key, &key, sizeof(key))
           ? encoded->insn : NULL;
}

void pmu_insn_pool_remember(PmuInsnPool *pool, const PmuEncoding *enc,
                            unsigned mode, const PmuInsn *insn)
{
    EncodingKey key = key_of(enc, mode);

    pool->encoded[slot_of(&key)] = (Encoded) { .key = key, .insn = insn };
}
