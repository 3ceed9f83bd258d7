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

/* What @insn says to the caches besides. */
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
    return insn->tally == PMU_TALLY_PREFETCH_T1_T2 ? PMU_HINT_PREFETCH_L2 :
           insn->tally == PMU_TALLY_PREFETCH_W ? PMU_HINT_PREFETCH_W :
           PMU_HINT_PREFETCH;
}

/* A line that is in L1D is all that PMU_HINT_PREFETCH asks for. */
static bool may_hit(PmuHint hint)
{
    return hint == PMU_HINT_NONE || hint == PMU_HINT_PREFETCH;
}

/*
 * Access @index, of the newest instruction, is @access, in which a size of 0 is
 * not known: a byte.  Of those that are longer than a line (FXSAVE and the
 * like) the first one's worth is seen.
 */
static void note_access(PmuBlockBuilder *builder, uint8_t index,
                        PmuBlockAccess access)
{
    PmuBlock *block = &builder->block;

    if (index == PMU_NO_ACCESS) {
        return;
    }
    access.size = CLAMP(access.size, 1, PMU_LINE_SIZE);
    access.reach = may_hit(access.hint) ? access.size : PMU_FAR_REACH;
    access.ip = block->phys + block->length;
    block->accesses[index] = access;
    block->num_accesses = MAX(block->num_accesses, index + 1);
    if (index < PMU_BLOCK_BRIEFS) {
        block->brief[index] = block->accesses[index].reach |
                              (access.store ? PMU_BRIEF_STORE : 0);
    }
}

void pmu_block_set_number(PmuBlock *block, uint32_t number)
{
    block->number = block->num_accesses <= PMU_BLOCK_BRIEFS
                    ? MIN(number, PMU_BLOCK_NUMBERS) : PMU_BLOCK_NUMBERS;
}

/* The newest instruction @bi begins at @page_offset: in which @window bytes? */
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

static void count(PmuCounts *counts, PmuCountField field, unsigned n)
{
    counts->word[field / PMU_COUNT_FIELDS] +=
        (uint64_t)n << 16 * (field % PMU_COUNT_FIELDS);
}

static void count_branch(PmuCounts *counts, PmuBranch branch)
{
    static const uint8_t count_of[] = {
        [PMU_BRANCH_COND] = PMU_COUNT_COND,
        [PMU_BRANCH_JMP] = PMU_COUNT_JMP,
        [PMU_BRANCH_CALL] = PMU_COUNT_CALL,
        [PMU_BRANCH_JMP_INDIRECT] = PMU_COUNT_JMP_INDIRECT,
        [PMU_BRANCH_CALL_INDIRECT] = PMU_COUNT_CALL_INDIRECT,
        [PMU_BRANCH_RET] = PMU_COUNT_RET,
        [PMU_BRANCH_FAR] = PMU_COUNT_FAR,
    };

    if (branch != PMU_BRANCH_NONE) {
        count(counts, count_of[branch], 1);
    }
}

/* A recorded access at @index, if it is one. */
static void count_access(PmuCounts *counts, const PmuInsn *insn, uint8_t index,
                         bool load, bool store)
{
    if (index == PMU_NO_ACCESS) {
        return;
    }
    count(counts, PMU_COUNT_ACCESSES, load || store);
    count(counts, PMU_COUNT_LOADS, load);
    count(counts, PMU_COUNT_STORES, store);
    if (insn->flags & PMU_INSN_LOCKED) {
        count(counts, PMU_COUNT_LOCKED, load);
    }
}

void pmu_counts_add_insn(PmuCounts *counts, const PmuBlockInsn *bi)
{
    const PmuInsn *insn = bi->insn;
    uint32_t flags = insn->flags;

    count(counts, PMU_COUNT_INSNS, 1);
    count_branch(counts, insn->branch);
    /* REP string instructions count what they do: see timing-string.c. */
    if (!(flags & PMU_INSN_REP)) {
        count_access(counts, insn, bi->ea, flags & PMU_INSN_LOAD,
                     flags & PMU_INSN_STORE);
        count_access(counts, insn, bi->stack, flags & PMU_INSN_STACK_LOAD,
                     flags & PMU_INSN_STACK_STORE);
    }
    if (insn->tally != PMU_TALLY_NONE) {
        count(counts, PMU_COUNT_TALLY + insn->tally - 1, insn->tally_times);
    }
}

/* The ledger items of the fields. */
static const uint8_t item_of[PMU_COUNT_NR] = {
    [PMU_COUNT_INSNS] = PMU_ITEM_INSTRUCTIONS,
    [PMU_COUNT_ACCESSES] = PMU_ITEM_L1D_ACCESSES,
    /* Those that miss it are taken off: see memory.c. */
    [PMU_COUNT_LOADS] = PMU_ITEM_LOADS_L1,
    [PMU_COUNT_STORES] = PMU_ITEM_STORES,
    /* So are those that are taken: see timing.c. */
    [PMU_COUNT_COND] = PMU_ITEM_BRANCHES_COND_NTAKEN,
    [PMU_COUNT_JMP] = PMU_ITEM_BRANCHES_JMP,
    [PMU_COUNT_CALL] = PMU_ITEM_BRANCHES_CALL,
    [PMU_COUNT_RET] = PMU_ITEM_BRANCHES_RET,
    [PMU_COUNT_JMP_INDIRECT] = PMU_ITEM_BRANCHES_JMP_INDIRECT,
    [PMU_COUNT_CALL_INDIRECT] = PMU_ITEM_BRANCHES_CALL_INDIRECT,
    [PMU_COUNT_FAR] = PMU_ITEM_BRANCHES_FAR,
    [PMU_COUNT_LOCKED] = PMU_ITEM_LOADS_LOCKED,
#define TALLY(name) [PMU_COUNT_TALLY + PMU_TALLY_##name - 1]
    TALLY(NOP) = PMU_ITEM_NOPS,
    TALLY(PAUSE) = PMU_ITEM_PAUSES,
    TALLY(LFENCE) = PMU_ITEM_LFENCES,
    TALLY(PREFETCH_NTA) = PMU_ITEM_PREFETCH_NTA,
    TALLY(PREFETCH_T0) = PMU_ITEM_PREFETCH_T0,
    TALLY(PREFETCH_T1_T2) = PMU_ITEM_PREFETCH_T1_T2,
    TALLY(PREFETCH_W) = PMU_ITEM_PREFETCH_W,
    TALLY(FP_SCALAR_DOUBLE) = PMU_ITEM_FP_SCALAR_DOUBLE,
    TALLY(FP_SCALAR_SINGLE) = PMU_ITEM_FP_SCALAR_SINGLE,
    TALLY(FP_128_DOUBLE) = PMU_ITEM_FP_128_DOUBLE,
    TALLY(FP_128_SINGLE) = PMU_ITEM_FP_128_SINGLE,
    TALLY(FP_256_DOUBLE) = PMU_ITEM_FP_256_DOUBLE,
    TALLY(FP_256_SINGLE) = PMU_ITEM_FP_256_SINGLE,
    TALLY(INT_ADD_128) = PMU_ITEM_INT_ADD_128,
    TALLY(INT_ADD_256) = PMU_ITEM_INT_ADD_256,
    TALLY(INT_MUL_256) = PMU_ITEM_INT_MUL_256,
    TALLY(INT_SHUFFLE) = PMU_ITEM_INT_SHUFFLES,
#undef TALLY
};

static bool is_branch(PmuCountField field)
{
    return (field >= PMU_COUNT_COND && field <= PMU_COUNT_RET) ||
           (field >= PMU_COUNT_JMP_INDIRECT && field <= PMU_COUNT_FAR);
}

/* Enter @word, of the fields from @first on, @times times. */
static void enter_word(uint64_t word, unsigned first, uint64_t times,
                       uint64_t *event)
{
    for (unsigned i = first; word; i++, word >>= 16) {
        uint64_t n = (word & UINT16_MAX) * times;

        event[item_of[i]] += n;
        event[PMU_ITEM_BRANCHES] += is_branch(i) ? n : 0;
    }
}

void pmu_counts_enter(PmuCounts *counts, uint64_t *event)
{
    for (unsigned i = 0; i < PMU_COUNT_WORDS; i++) {
        enter_word(counts->word[i], i * PMU_COUNT_FIELDS, 1, event);
        counts->word[i] = 0;
    }
}

void pmu_counts_enter_block(const PmuBlock *block, uint64_t times,
                            uint64_t *event)
{
    for (unsigned i = 0; i < PMU_COUNT_COMMON_WORDS; i++) {
        enter_word(block->counts[i], i * PMU_COUNT_FIELDS, times, event);
    }
    for (unsigned i = 0; block->rare && i < PMU_COUNT_RARE_WORDS; i++) {
        enter_word(block->rare[i],
                   (PMU_COUNT_COMMON_WORDS + i) * PMU_COUNT_FIELDS, times,
                   event);
    }
}

/* Count the newest instruction @bi in its block. */
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

/* A stretch begins with the next instruction: see PmuBlock.ends. */
static void begin_stretch(PmuBlockBuilder *builder)
{
    PmuBlock *block = &builder->block;

    if (block->num_insns) {
        builder->insns[block->num_insns - 1].ends = true;
        block->ends = true;
    } else {
        block->begins = true;
    }
}

void pmu_block_add(PmuBlockBuilder *builder, PmuDecoder *decoder,
                   const PmuEncoding *enc, uint16_t page_offset,
                   uint8_t ea, uint8_t stack)
{
    PmuBlock *block = &builder->block;
    PmuBlockInsn *bi = &builder->insns[block->num_insns];
    const PmuInsn *insn = pmu_decode_kept(decoder, enc);
    uint32_t flags = insn->flags;

    if (G_UNLIKELY(pmu_block_full(block))) {
        /* Whoever translates did not stop: x86_pmu_tr_tb_stop() notices. */
        return;
    }
    *bi = (PmuBlockInsn) {
        .insn = insn, .offset = block->length, .ea = ea, .stack = stack,
        .hash = insn_hash(enc->bytes, enc->length, page_offset),
        .begins_line = page_offset % PMU_LINE_SIZE == 0,
        .ends = insn->branch != PMU_BRANCH_NONE ||
                (flags & PMU_INSN_ENDS_STRETCH) ||
                page_offset + enc->length >= 1u << PMU_PAGE_SHIFT,
    };
    if (page_offset + enc->length > 1u << PMU_PAGE_SHIFT) {
        begin_stretch(builder);
    }
    bi->fused = block->num_insns && (pmu_fuse_next(bi - 1) & pmu_fuse_last(bi));
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
    add_counts(builder, bi);
    block->hash = pmu_insn_hash(bi->hash, block->hash);
    block->branch = insn->branch;
    block->ends_before |= block->ends;
    block->ends = bi->ends;
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

static size_t rare_words(const PmuBlock *block)
{
    return block->rare ? PMU_COUNT_RARE_WORDS : 0;
}

/* Those that are looked at the most come first, and others are aligned. */
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
