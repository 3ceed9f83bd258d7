/*
 * Fuzz target: the model's decoder takes any encodings from the emulator's
 * decoder, and blocks of them are what block.h promises.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/block-pool.h"
#include "tcg/pmu/decode/decoder.h"
#include "code.h"
#include "targets.h"

/*
 * Decoded instructions after which the target takes a new decoder.  A decoder's
 * pool of instructions only grows.
 */
#define DECODER_INSNS   100000

#define BLOCKS_MOST     32

static PmuDecoder *fresh_decoder(PmuDecoder *decoder, PmuCore core)
{
    if (decoder && pmu_decoder_stats(decoder).decoded < DECODER_INSNS) {
        return decoder;
    }
    if (decoder) {
        pmu_decoder_free(decoder);
    }
    decoder = pmu_decoder_new(core, pmu_uarch(core));
    g_assert_nonnull(decoder);
    return decoder;
}

static void check_stats(const PmuDecoder *decoder, const PmuDecoderStats *from)
{
    PmuDecoderStats now = pmu_decoder_stats(decoder);
    uint64_t decoded = now.decoded - from->decoded;
    uint64_t unknown = now.unknown - from->unknown;
    uint64_t disagreed = now.disagreed - from->disagreed;

    g_assert_cmpuint(unknown, <=, decoded);
    g_assert_cmpuint(disagreed, <=, unknown);
}

/* Check that the pool keeps an equal of @block, and finds it again. */
static void check_kept(PmuBlockPool *pool, PmuBlock *block)
{
    const PmuBlock *kept = pmu_block_pool_find(pool, block);

    if (!kept) {
        kept = pmu_block_pool_add(pool, block);
    }
    g_assert_cmpuint(kept->num_insns, ==, block->num_insns);
    g_assert_cmpuint(kept->num_accesses, ==, block->num_accesses);
    g_assert_cmpuint(kept->num_segments, ==, block->num_segments);
    g_assert_cmpuint(kept->hash, ==, block->hash);
    g_assert_true(!memcmp(kept->segments, block->segments,
                          block->num_segments * sizeof(*block->segments)));
    g_assert_true(pmu_block_pool_find(pool, block) == kept);
}

void fuzz_block(const uint8_t *data, size_t size)
{
    static PmuDecoder *decoders[PMU_CORE_NR];
    static PmuBlockBuilder builder;
    FuzzInput in = fuzz_input(data, size);
    PmuCore core = fuzz_below(&in, PMU_CORE_NR);
    PmuBlockPool pool;
    PmuDecoderStats from;

    decoders[core] = fresh_decoder(decoders[core], core);
    from = pmu_decoder_stats(decoders[core]);
    pmu_block_pool_init(&pool);
    for (unsigned i = 0; i < BLOCKS_MOST && fuzz_more(&in); i++) {
        if (fuzz_one_in(&in, 8)) {
            pmu_block_pool_begin_generation(&pool, pool.generation + 1,
                                            pool.generation);
        }
        fuzz_make_block(&in, decoders[core], &builder);
        builder.block.generation = pool.generation;
        check_kept(&pool, &builder.block);
    }
    check_stats(decoders[core], &from);
    pmu_block_pool_destroy(&pool);
}
