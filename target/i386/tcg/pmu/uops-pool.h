/*
 * Descriptions of instructions, each kept once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Translation time, below the line.  Code consists of the same instructions
 * again and again: blocks refer to descriptions rather than hold them.
 */

#ifndef TARGET_I386_PMU_UOPS_POOL_H
#define TARGET_I386_PMU_UOPS_POOL_H

#include "uops.h"

typedef struct PmuInsnPool PmuInsnPool;

PmuInsnPool *pmu_insn_pool_new(void);
void pmu_insn_pool_free(PmuInsnPool *pool);

/* What @from keeps belongs to @to from now on, and so does @from. */
void pmu_insn_pool_adopt(PmuInsnPool *to, PmuInsnPool *from);

/* The kept description that equals @insn, valid as long as @pool. */
const PmuInsn *pmu_insn_pool_keep(PmuInsnPool *pool, const PmuInsn *insn);

/*
 * The description that pmu_insn_pool_learn() was last told of for the @length
 * bytes (1 to 15) at @bytes in @mode, if it is still known; else NULL.
 */
const PmuInsn *pmu_insn_pool_find(const PmuInsnPool *pool,
                                  const uint8_t *bytes, unsigned length,
                                  unsigned mode);
void pmu_insn_pool_learn(PmuInsnPool *pool, const uint8_t *bytes,
                         unsigned length, unsigned mode, const PmuInsn *insn);

#endif
