/*
 * Building the description of a translated block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/block-counts.h"
#include "tcg/pmu/decode/decoder.h"

/* The most recorded accesses of one instruction. */
#define INSN_ACCESSES 2

/* Returns what @insn asks of the caches besides data. */
static PmuHint hint_of(const PmuInsn *insn)
{
    if (insn->flags & PMU_INSN_STREAMING) {
        return PMU_HINT_STREAM;
    }
    if (insn->flags & PMU_INSN_FLUSH) {
        return PMU_HINT_FLUSH;
    }
    if (!(insn->flags & PMU_INSN_PREFETCH)) {
        return PMU_HINT_NONE;
    }
    return insn->insn_class == PMU_CLASS_PREFETCH_T1_T2 ? PMU_HINT_PREFETCH_L2 :
           insn->insn_class == PMU_CLASS_PREFETCH_W ? PMU_HINT_PREFETCH_W :
           PMU_HINT_PREFETCH;
}

/* Does an access with @hint ask for no more than a line in L1D? */
static bool may_hit(PmuHint hint)
{
    return hint == PMU_HINT_NONE || hint == PMU_HINT_PREFETCH;
}

/*
 * Note that the newest instruction makes @access, at @index.  A size of 0 is
 * unknown and taken for one byte.  Of an access longer than a line (FXSAVE and
 * the like) only one line's worth is noted.
 */
static void note_access(PmuBlockBuilder *builder, uint8_t index,
                        PmuBlockAccess access)
{
    PmuBlock *block = &builder->block;

    if (index == PMU_NO_ACCESS) {
        return;
    }
    access.size = CLAMP(access.size, 1, PMU_LINE_SIZE);
    access.extent = may_hit(access.hint) ? access.size : PMU_EXTENT_NO_HIT;
    access.ip = block->phys + block->length;
    block->accesses[index] = access;
    block->num_accesses = MAX(block->num_accesses, index + 1);
    if (index < PMU_BLOCK_SUMMARIES) {
        block->summary[index] = block->accesses[index].extent |
                                (access.store ? PMU_ACCESS_SUMMARY_STORE : 0);
    }
}

/* Begin a segment if @bi, at @page_offset, begins in a new window. */
static void note_window(PmuBlockBuilder *builder, const PmuBlockInsn *bi,
                        uint16_t page_offset, uint32_t window)
{
    PmuBlock *block = &builder->block;
    uint16_t first = block->phys & ((1u << PMU_PAGE_SHIFT) - 1);

    if (block->num_segments &&
        builder->segments[block->num_segments - 1].offset / window ==
        page_offset / window) {
        return;
    }
    builder->segments[block->num_segments++] = (PmuBlockSegment) {
        .first = block->num_insns,
        .first_access = block->num_accesses,
        .offset = page_offset, .start = bi->offset,
        .second_page = first + bi->offset >= 1u << PMU_PAGE_SHIFT,
    };
}

bool pmu_block_full(const PmuBlock *block)
{
    return block->num_insns == PMU_BLOCK_INSNS ||
           block->num_accesses > PMU_BLOCK_ACCESSES - INSN_ACCESSES ||
           block->num_segments == PMU_BLOCK_SEGMENTS;
}

void pmu_block_begin(PmuBlockBuilder *builder, PmuLevel level, uint64_t phys)
{
    builder->block = (PmuBlock) {
        .level = level,
        .phys = phys,
        .number = PMU_BLOCK_NUMBERS,
        .insns = builder->insns,
        .segments = builder->segments,
    };
    memset(builder->block.accesses, 0,
           sizeof(builder->room) - offsetof(PmuBlock, accesses));
    memset(builder->rare, 0, sizeof(builder->rare));
    builder->cycles = 0;
}

/* FNV-1a (Fowler, Noll and Vo). */
static uint32_t insn_hash(const uint8_t *bytes, unsigned length,
                          uint16_t page_offset)
{
    uint32_t hash = 2166136261u ^ page_offset;

    hash *= 16777619u;
    for (unsigned i = 0; i < length; i++) {
        hash = (hash ^ bytes[i]) * 16777619u;
    }
    return hash;
}

/* Add what the newest instruction @bi counts to its block. */
static void add_counts(PmuBlockBuilder *builder, const PmuBlockInsn *bi)
{
    PmuBlock *block = &builder->block;
    PmuCounts counts = {};

    pmu_counts_add_insn(&counts, bi);
    for (unsigned i = 0; i < PMU_COUNT_COMMON_WORDS; i++) {
        block->counts[i] += counts.word[i];
    }
    for (unsigned i = 0; i < PMU_COUNT_RARE_WORDS; i++) {
        builder->rare[i] += counts.word[PMU_COUNT_COMMON_WORDS + i];
        if (builder->rare[i]) {
            block->rare = builder->rare;
        }
    }
}

/* The next instruction begins a region: see PmuBlock.ends_region. */
static void begin_region(PmuBlockBuilder *builder)
{
    PmuBlock *block = &builder->block;

    if (block->num_insns) {
        builder->insns[block->num_insns - 1].ends_region = true;
        block->ends_region = true;
    } else {
        block->begins_region = true;
    }
}

void pmu_block_add(PmuBlockBuilder *builder, PmuDecoder *decoder,
                   const PmuEncoding *enc, uint16_t page_offset,
                   uint8_t ea, uint8_t stack)
{
    PmuBlock *block = &builder->block;
    PmuBlockInsn *bi = &builder->insns[block->num_insns];
    const PmuInsn *insn = pmu_decode_interned(decoder, enc);
    uint32_t flags = insn->flags;

    if (G_UNLIKELY(pmu_block_full(block))) {
        /* The translator did not stop: x86_pmu_tr_tb_stop() notices. */
        return;
    }
    *bi = (PmuBlockInsn) {
        .insn = insn, .offset = block->length, .ea = ea, .stack = stack,
        .hash = insn_hash(enc->bytes, enc->length, page_offset),
        .begins_line = page_offset % PMU_LINE_SIZE == 0,
        .ends_region = insn->branch != PMU_BRANCH_NONE ||
                       (flags & PMU_INSN_ENDS_REGION) ||
                       page_offset + enc->length >= 1u << PMU_PAGE_SHIFT,
    };
    if (page_offset + enc->length > 1u << PMU_PAGE_SHIFT) {
        begin_region(builder);
    }
    bi->fused = block->num_insns &&
                (pmu_fuse_as_first(bi - 1) & pmu_fuse_as_second(bi));
    note_window(builder, bi, page_offset,
                pmu_decoder_uarch(decoder)->dsb_window);
    if (!(flags & PMU_INSN_REP)) {
        note_access(builder, ea, (PmuBlockAccess) {
            .size = insn->access_size, .load = flags & PMU_INSN_LOAD,
            .store = flags & PMU_INSN_STORE, .hint = hint_of(insn),
        });
        note_access(builder, stack, (PmuBlockAccess) {
            .size = insn->access_size, .load = flags & PMU_INSN_STACK_LOAD,
            .store = flags & PMU_INSN_STACK_STORE,
        });
    } else {
        note_access(builder, ea, (PmuBlockAccess) {});
        note_access(builder, stack, (PmuBlockAccess) {});
    }
    block->num_insns++;
    block->last_offset = block->length;
    block->length += enc->length;
    block->uops = MIN(block->uops + (bi->fused ? 0 : pmu_queue_uops(insn)),
                      UINT16_MAX);
    builder->cycles += MAX(insn->latency, insn->hold);
    block->slow = builder->cycles >= PMU_SLOW_BLOCK;
    add_counts(builder, bi);
    block->hash = pmu_insn_hash(bi->hash, block->hash);
    block->branch = insn->branch;
    block->region_ends_inside |= block->ends_region;
    block->ends_region = bi->ends_region;
    block->low32 = flags & PMU_INSN_LOW32;
    block->rep = flags & PMU_INSN_REP;
    block->address_shift = enc->address_shift;
}

void pmu_block_add_bytes(PmuBlockBuilder *builder, PmuDecoder *decoder,
                         const uint8_t *bytes, unsigned length,
                         uint16_t page_offset, uint8_t ea, uint8_t stack)
{
    PmuEncoding enc;

    pmu_encoding_parse(&enc, bytes, length, pmu_decoder_mode(decoder));
    pmu_block_add(builder, decoder, &enc, page_offset, ea, stack);
}
