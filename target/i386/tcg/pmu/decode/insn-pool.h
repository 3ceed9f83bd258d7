/*
 * Descriptions of instructions, each kept once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Code consists of the same instructions again and again: blocks refer to
 * descriptions rather than hold them.  These live as long as the blocks, by
 * generations of code: see arena.h.
 */

#ifndef TARGET_I386_PMU_DECODE_INSN_POOL_H
#define TARGET_I386_PMU_DECODE_INSN_POOL_H

#include "tcg/pmu/decode/encoding.h"
#include "tcg/pmu/decode/insn.h"

typedef struct PmuInsnPool PmuInsnPool;

PmuInsnPool *pmu_insn_pool_new(void);
void pmu_insn_pool_free(PmuInsnPool *pool);

/*
 * Blocks of @generation are to refer to what is kept from now on, and none of
 * generations before @oldest are used any more.  At first @generation is 0.
 */
void pmu_insn_pool_begin_generation(PmuInsnPool *pool, uint64_t generation,
                                    uint64_t oldest);

/*
 * Bytes of descriptions in one generation behind which another one is to begin:
 * a guest can have as many different ones as it likes.
 */
#define PMU_INSN_POOL_MAX_BYTES (16u << 20)

bool pmu_insn_pool_is_full(const PmuInsnPool *pool);

/* What all generations together take. */
size_t pmu_insn_pool_bytes(const PmuInsnPool *pool);

/* What @from keeps belongs to @to from now on. */
void pmu_insn_pool_adopt(PmuInsnPool *to, PmuInsnPool *from);

/* The kept description that equals @insn, valid as long as its generation. */
const PmuInsn *pmu_insn_pool_intern(PmuInsnPool *pool, const PmuInsn *insn);

/*
 * The description that pmu_insn_pool_remember() was last told of for @enc in
 * @mode, if it is still known; else NULL.
 */
const PmuInsn *pmu_insn_pool_find(const PmuInsnPool *pool,
                                  const PmuEncoding *enc, unsigned mode);
void pmu_insn_pool_remember(PmuInsnPool *pool, const PmuEncoding *enc,
                            unsigned mode, const PmuInsn *insn);

#endif
