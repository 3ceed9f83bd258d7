/*
 * Descriptions of instructions, each kept once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Translation time, below the line.
 */

#include <glib.h>
#include <string.h>

#include "uops-pool.h"

#define ENCODINGS (1u << 12)

/* An encoding: length and mode stand beside the bytes. */
typedef struct Encoded {
    uint64_t key[2];
    const PmuInsn *insn;
} Encoded;

struct PmuInsnPool {
    GHashTable *insns;          /* PmuInsn, by value */
    Encoded encoded[ENCODINGS];
    PmuInsnPool *adopted;       /* list */
};

static guint insn_hash(gconstpointer key)
{
    const uint8_t *byte = key;
    uint64_t hash = 0;

    for (size_t i = 0; i < sizeof(PmuInsn); i++) {
        hash = (hash + byte[i]) * 0x9e3779b97f4a7c15ull;
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

    pool->insns = g_hash_table_new_full(insn_hash, insn_equal, g_free, NULL);
    return pool;
}

void pmu_insn_pool_free(PmuInsnPool *pool)
{
    while (pool) {
        PmuInsnPool *next = pool->adopted;

        g_hash_table_destroy(pool->insns);
        g_free(pool);
        pool = next;
    }
}

void pmu_insn_pool_adopt(PmuInsnPool *to, PmuInsnPool *from)
{
    while (to->adopted) {
        to = to->adopted;
    }
    to->adopted = from;
}

const PmuInsn *pmu_insn_pool_keep(PmuInsnPool *pool, const PmuInsn *insn)
{
    PmuInsn *kept = g_hash_table_lookup(pool->insns, insn);

    if (!kept) {
        kept = g_memdup2(insn, sizeof(*insn));
        g_hash_table_add(pool->insns, kept);
    }
    return kept;
}

static void encode(uint64_t key[2], const uint8_t *bytes, unsigned length,
                   unsigned mode)
{
    uint8_t all[16] = {};

    memcpy(all, bytes, length);
    all[15] = length | (mode & 0x70);
    memcpy(key, all, sizeof(all));
}

static size_t encoding_slot(const uint64_t key[2])
{
    uint64_t hash = (key[0] ^ key[1] * 0xff51afd7ed558ccdull) *
                    0x9e3779b97f4a7c15ull;

    return hash >> 32 & (ENCODINGS - 1);
}

const PmuInsn *pmu_insn_pool_find(const PmuInsnPool *pool,
                                  const uint8_t *bytes, unsigned length,
                                  unsigned mode)
{
    const Encoded *encoded;
    uint64_t key[2];

    encode(key, bytes, length, mode);
    encoded = &pool->encoded[encoding_slot(key)];
    return encoded->key[0] == key[0] && encoded->key[1] == key[1]
           ? encoded->insn : NULL;
}

void pmu_insn_pool_learn(PmuInsnPool *pool, const uint8_t *bytes,
                         unsigned length, unsigned mode, const PmuInsn *insn)
{
    uint64_t key[2];

    encode(key, bytes, length, mode);
    pool->encoded[encoding_slot(key)] = (Encoded) {
        .key = { key[0], key[1] }, .insn = insn,
    };
}
