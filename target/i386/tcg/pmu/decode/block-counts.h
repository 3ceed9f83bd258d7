/*
 * Retired instructions by class, counted a block at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_BLOCK_COUNTS_H
#define TARGET_I386_PMU_DECODE_BLOCK_COUNTS_H

#include "tcg/pmu/decode/block.h"

typedef struct PmuCounts {
    uint64_t word[PMU_COUNT_WORDS];
} PmuCounts;

/* Count in @counts that @bi was retired. */
void pmu_counts_add_insn(PmuCounts *counts, const PmuBlockInsn *bi);

/* Count in @counts that all of @block was retired. */
static inline void pmu_counts_add(PmuCounts *counts, const PmuBlock *block)
{
    for (unsigned i = 0; i < PMU_COUNT_COMMON_WORDS; i++) {
        counts->word[i] += block->counts[i];
    }
    if (G_UNLIKELY(block->rare)) {
        for (unsigned i = 0; i < PMU_COUNT_RARE_WORDS; i++) {
            counts->word[PMU_COUNT_COMMON_WORDS + i] += block->rare[i];
        }
    }
}

/* Enter @counts into the ledger's @event, an array by item, and clear them. */
void pmu_counts_add_to_ledger(PmuCounts *counts, uint64_t *event);

/* Enter into @event that all of @block was retired @times times. */
void pmu_block_add_to_ledger(const PmuBlock *block, uint64_t times,
                             uint64_t *event);

#endif
