/*
 * A translated block as the timing model sees it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Translation time, below the line.
 */

#include <glib.h>
#include <string.h>

#include "block.h"

/* An instruction makes this many recorded accesses at most. */
#define INSN_ACCESSES 2

/*
 * Access @index is one of @size bytes; 0 is not known: a byte.  Of those that
 * are longer than a line (FXSAVE and the like) the first one's worth is seen.
 */
static void note_access(PmuBlockBuilder *builder, uint8_t index, uint8_t size,
                        bool load, bool store)
{
    PmuBlock *block = &builder->block;

    if (index == PMU_NO_ACCESS) {
        return;
    }
    builder->accesses[index] = (PmuBlockAccess) {
        .size = CLAMP(size, 1, PMU_LINE_SIZE), .load = load, .store = store,
    };
    block->num_accesses = MAX(block->num_accesses, index + 1);
}

/*
 * With what the newest instruction @bi can macro-fuse.  A pair never straddles
 * the start of a line (uiCA).
 */
static void choose_fusion(PmuBlockBuilder *builder, PmuBlockInsn *bi,
                          uint16_t page_offset)
{
    const PmuInsn *insn = bi->insn;

    bi->fuse_next = insn->flags & PMU_INSN_FUSE_FIRST ? insn->fuse : 0;
    bi->fuse_last = (insn->flags & PMU_INSN_FUSE_SECOND) &&
                    (page_offset & (PMU_LINE_SIZE - 1)) ? insn->fuse : 0;
    if (builder->block.num_insns) {
        bi->fused = bi[-1].fuse_next & bi->fuse_last;
    }
}

/* The newest instruction @bi begins at @page_offset: in which line? */
static void note_line(PmuBlockBuilder *builder, const PmuBlockInsn *bi,
                      uint16_t page_offset)
{
    PmuBlock *block = &builder->block;
    uint16_t first = block->phys & ((1u << PMU_PAGE_SHIFT) - 1);

    if (block->num_segments &&
        builder->segments[block->num_segments - 1].offset >> PMU_LINE_SHIFT ==
        page_offset >> PMU_LINE_SHIFT) {
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
        .insns = builder->insns,
        .segments = builder->segments,
        .accesses = builder->accesses,
        .hash_power = 1,
        .fetch_key = pmu_fetch_key(phys >> PMU_LINE_SHIFT,
                                   phys & (PMU_LINE_SIZE - 1), 0),
    };
    memset(builder->accesses, 0, sizeof(builder->accesses));
}

/* Unfused micro-ops of @insn: see there. */
static unsigned count_uops(const PmuInsn *insn)
{
    unsigned uops = 0;

    for (int i = 0; i < PMU_INSN_COMPUTE; i++) {
        uops += insn->compute[i].count;
    }
    uops += !!(insn->flags & PMU_INSN_LOAD);
    uops += !!(insn->flags & PMU_INSN_STACK_LOAD);
    uops += insn->flags & PMU_INSN_STORE ? 2 : 0;
    uops += insn->flags & PMU_INSN_STACK_STORE ? 2 : 0;
    return MIN(uops, UINT8_MAX);
}

#define LOADS   (PMU_INSN_LOAD | PMU_INSN_STACK_LOAD)
#define STORES  (PMU_INSN_STORE | PMU_INSN_STACK_STORE)

/* Flags that take an instruction off the short paths. */
#define NOT_SHORT (PMU_INSN_MICROCODED | PMU_INSN_SERIALIZING |         \
                   PMU_INSN_LOCKED | PMU_INSN_PREFETCH |                \
                   PMU_INSN_STRING | PMU_INSN_REP | PMU_INSN_SWAP |     \
                   PMU_INSN_BLOCKS_ISSUE | PMU_INSN_FENCES_LOADS)

/* The shortest path through the model that does all of @insn. */
static PmuPath choose_path(const PmuInsn *insn)
{
    unsigned computes = insn->compute[0].count;
    uint32_t memory = insn->flags & (LOADS | STORES);

    if (insn->slots != 1 || insn->resource != PMU_RESOURCE_NONE ||
        insn->branch != PMU_BRANCH_NONE || (insn->flags & NOT_SHORT) ||
        insn->src[3] || insn->dst[2] != PMU_REG_NR || computes > 1 ||
        insn->compute[1].count) {
        return PMU_PATH_FULL;
    }
    if (!memory) {
        return computes ? PMU_PATH_COMPUTE : PMU_PATH_FULL;
    }
    if (memory == PMU_INSN_LOAD || memory == PMU_INSN_STACK_LOAD) {
        return PMU_PATH_LOAD;
    }
    if (!computes &&
        (memory == PMU_INSN_STORE || memory == PMU_INSN_STACK_STORE)) {
        return PMU_PATH_STORE;
    }
    return PMU_PATH_FULL;
}

static PmuRsp rsp_use(const PmuInsn *insn)
{
    static const uint8_t rsp = PMU_REG_GPR0 + 4;
    bool reads = insn->addr_src[0] == rsp || insn->addr_src[1] == rsp;

    if ((insn->flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)) &&
        !(insn->flags & PMU_INSN_STRING)) {
        return PMU_RSP_STACK;
    }
    for (int i = 0; i < PMU_INSN_SRCS; i++) {
        reads |= insn->src[i] == rsp;
    }
    return reads ? PMU_RSP_USE
                 : insn->dst[0] == rsp ? PMU_RSP_SET : PMU_RSP_NONE;
}

/* FNV-1a (Fowler, Noll and Vo). */
static uint32_t insn_hash(const uint8_t *bytes, unsigned length,
                          uint16_t page_offset)
{
    uint32_t hash = 2166136261u ^ (page_offset & (PMU_LINE_SIZE - 1));

    hash *= 16777619u;
    for (unsigned i = 0; i < length; i++) {
        hash = (hash ^ bytes[i]) * 16777619u;
    }
    return hash;
}

uint64_t pmu_block_insn_counts(const PmuBlockInsn *bi)
{
    uint64_t accesses = 0;

    if (!(bi->insn->flags & PMU_INSN_REP)) {
        accesses += bi->ea != PMU_NO_ACCESS &&
                    (bi->insn->flags & (PMU_INSN_LOAD | PMU_INSN_STORE));
        accesses += bi->stack != PMU_NO_ACCESS &&
                    (bi->insn->flags & (PMU_INSN_STACK_LOAD |
                                        PMU_INSN_STACK_STORE));
    }
    return 1ull << PMU_COUNT_INSNS |
           (uint64_t)(bi->insn->branch != PMU_BRANCH_NONE) <<
               PMU_COUNT_BRANCHES |
           (uint64_t)(bi->insn->branch == PMU_BRANCH_COND) <<
               PMU_COUNT_COND |
           accesses << PMU_COUNT_ACCESSES;
}

void pmu_block_add(PmuBlockBuilder *builder, PmuDecoder *decoder,
                   const uint8_t *bytes, unsigned length,
                   uint16_t page_offset, uint8_t ea, uint8_t stack)
{
    PmuBlock *block = &builder->block;
    PmuBlockInsn *bi = &builder->insns[block->num_insns];
    const PmuInsn *insn = pmu_decode_kept(decoder, bytes, length);
    uint32_t flags = insn->flags;

    *bi = (PmuBlockInsn) {
        .insn = insn, .offset = block->length, .ea = ea, .stack = stack,
        .uops = count_uops(insn), .path = choose_path(insn),
        .rsp = rsp_use(insn), .hash = insn_hash(bytes, length, page_offset),
    };
    choose_fusion(builder, bi, page_offset);
    note_line(builder, bi, page_offset);
    if (!(flags & PMU_INSN_REP)) {
        note_access(builder, ea, insn->access_size,
                    flags & PMU_INSN_LOAD, flags & PMU_INSN_STORE);
        note_access(builder, stack, insn->access_size,
                    flags & PMU_INSN_STACK_LOAD,
                    flags & PMU_INSN_STACK_STORE);
    } else {
        note_access(builder, ea, 1, false, false);
        note_access(builder, stack, 1, false, false);
    }
    block->fuse_next = bi->fuse_next;
    block->fuse_last = builder->insns[0].fuse_last;
    block->num_insns++;
    block->last_offset = block->length;
    block->length += length;
    block->uops += bi->fused ? 0 : pmu_queue_uops(insn);
    block->counts += pmu_block_insn_counts(bi);
    block->hash = pmu_block_insn_hash(bi, block->hash);
    block->hash_power *= PMU_HASH_BASE;
    block->branch = insn->branch;
    block->low32 = flags & PMU_INSN_LOW32;
    block->rep = flags & PMU_INSN_REP;
}

size_t pmu_block_size(const PmuBlock *block)
{
    return sizeof(PmuBlock) +
           block->num_insns * sizeof(PmuBlockInsn) +
           block->num_segments * sizeof(PmuBlockSegment) +
           block->num_accesses * sizeof(PmuBlockAccess);
}

PmuBlock *pmu_block_pack(void *to, const PmuBlock *block)
{
    PmuBlock *copy = to;
    PmuBlockInsn *insns = (PmuBlockInsn *)(copy + 1);
    PmuBlockSegment *segments = (PmuBlockSegment *)(insns + block->num_insns);
    PmuBlockAccess *accesses =
        (PmuBlockAccess *)(segments + block->num_segments);

    *copy = *block;
    copy->insns = memcpy(insns, block->insns,
                         block->num_insns * sizeof(*insns));
    copy->segments = memcpy(segments, block->segments,
                            block->num_segments * sizeof(*segments));
    copy->accesses = memcpy(accesses, block->accesses,
                            block->num_accesses * sizeof(*accesses));
    return copy;
}
