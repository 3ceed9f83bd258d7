/*
 * The description of a translated block that the timing model reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "tcg/pmu/decode/block.h"

void pmu_block_set_number(PmuBlock *block, uint32_t number)
{
    block->number = block->num_accesses <= PMU_BLOCK_SUMMARIES
                    ? MIN(number, PMU_BLOCK_NUMBERS) : PMU_BLOCK_NUMBERS;
}

static size_t rare_words(const PmuBlock *block)
{
    return block->rare ? PMU_COUNT_RARE_WORDS : 0;
}

/*
 * Bytes of the accesses, rounded up so that what follows is aligned.  What is
 * read the most comes first.
 */
static size_t accesses_size(const PmuBlock *block)
{
    size_t size = block->num_accesses * sizeof(PmuBlockAccess);

    return (size + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
}

size_t pmu_block_size(const PmuBlock *block)
{
    return sizeof(PmuBlock) + accesses_size(block) +
           block->num_insns * sizeof(PmuBlockInsn) +
           rare_words(block) * sizeof(uint64_t) +
           block->num_segments * sizeof(PmuBlockSegment);
}

PmuBlock *pmu_block_pack(void *to, const PmuBlock *block)
{
    PmuBlock *copy = to;
    PmuBlockInsn *insns =
        (PmuBlockInsn *)((char *)copy->accesses + accesses_size(block));
    uint64_t *rare = (uint64_t *)(insns + block->num_insns);
    PmuBlockSegment *segments =
        (PmuBlockSegment *)(rare + rare_words(block));

    memcpy(copy, block, sizeof(*block) +
                        block->num_accesses * sizeof(PmuBlockAccess));
    copy->insns = memcpy(insns, block->insns,
                         block->num_insns * sizeof(*insns));
    copy->segments = memcpy(segments, block->segments,
                            block->num_segments * sizeof(*segments));
    if (block->rare) {
        copy->rare = memcpy(rare, block->rare,
                            rare_words(block) * sizeof(*rare));
    }
    return copy;
}
