/*
 * Descriptions of instructions, each kept once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Code consists of the same instructions again and again, so blocks refer to
 * descriptions rather than hold them.  Descriptions live as long as the blocks,
 * by generations of code: see arena.h.
 */

#ifndef TARGET_I386_PMU_DECODE_INSN_POOL_H
#define TARGET_I386_PMU_DECODE_INSN_POOL_H

#include "tcg/pmu/decode/encoding.h"
#include "tcg/pmu/decode/insn.h"

typedef struct PmuInsnPool PmuInsnPool;

PmuInsnPool *pmu_insn_pool_new(void);
void pmu_insn_pool_free(PmuInsnPool *pool);

/*
 * From now on keep descriptions for blocks of @generation, and free those of
 * generations before @oldest, which nothing uses any more.  At first
 * @generation is 0.
 */
void pmu_insn_pool_begin_generation(PmuInsnPool *pool, uint64_t generation,
                                    uint64_t oldest);

/*
 * Bytes of descriptions in one generation after which the next one is to begin:
 * a guest can have as many different instructions as it likes.
 */
#define PMU_INSN_POOL_MAX_BYTES (16u << 20)

bool pmu_insn_pool_is_full(const PmuInsnPool *pool);

/* Returns the bytes that all generations together take. */
size_t pmu_insn_pool_bytes(const PmuInsnPool *pool);

/* Move the memory of what @from keeps to @to, which frees it in time. */
void pmu_insn_pool_adopt(PmuInsnPool *to, PmuInsnPool *from);

/*
 * Returns the kept description that equals @insn, after adding one if there is
 * none.  It is valid as long as its generation.
 */
const PmuInsn *pmu_insn_pool_intern(PmuInsnPool *pool, const PmuInsn *insn);

/*
 * Returns the @insn that pmu_insn_pool_remember() was last given for @enc in
 * @mode, or NULL if that is no longer known.
 */
const PmuInsn *pmu_insn_pool_find(const PmuInsnPool *pool,
                                  const PmuEncoding *enc, unsigned mode);
void pmu_insn_pool_remember(PmuInsnPool *pool, const PmuEncoding *enc,
                            unsigned mode, const PmuInsn *insn);

#endif
