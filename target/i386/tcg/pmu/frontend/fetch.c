/*
 * The fetch unit: whether the DSB, the LSD or legacy decode delivers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The DSB is a cache of windows of code, by the byte at which fetch enters
 * them.  A window takes as many lines as the micro-ops from that byte on need.
 * It is looked up by its first line; if that has been evicted, the window is
 * decoded again.  A window that needs more than dsb_window_lines never gets in
 * (Intel SOM, 2.5.5.2; uiCA).  The DSB is included in L1I and the ITLB: when a
 * line leaves L1I, or a page the ITLB, its windows leave the DSB (Intel SOM,
 * "Decoded ICache").  So a store to code need only look in L1I.  Loading CR3,
 * or enabling features in CR0 and CR4, empties the DSB (same page): here
 * whenever all TLB entries, or all but global ones, are flushed.
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/frontend/fetch.h"

#define NOWHERE UINT64_MAX

/*
 * Equal iterations before the LSD takes over.  Intel gives no figure; the
 * effect of a wrong one is a few slots at the start of a loop.
 */
#define LOOP_ITERATIONS 8

static void lines_gone(void *opaque, uint64_t line, uint64_t lines);

bool pmu_fetch_unit_init(PmuFetchUnit *f, const PmuUarch *uarch, PmuMemory *mem,
                         PmuBranchPredictor *bpred)
{
    uint32_t lines = uarch->dsb_uops / uarch->dsb_line;

    *f = (PmuFetchUnit) {
        .uarch = uarch, .mem = mem, .bpred = bpred,
    };
    pmu_fetch_unit_restart(f);
    pmu_memory_on_code_evicted(mem, lines_gone, f);
    return pmu_cache_init(&f->dsb, lines / uarch->dsb_ways, uarch->dsb_ways,
                          false);
}

void pmu_fetch_unit_destroy(PmuFetchUnit *f)
{
    pmu_cache_destroy(&f->dsb);
}

void pmu_fetch_unit_reset(PmuFetchUnit *f)
{
    f->uops = 0;
    pmu_fetch_unit_forget(f);
}

void pmu_fetch_unit_forget(PmuFetchUnit *f)
{
    pmu_cache_clear(&f->dsb);
    pmu_fetch_unit_restart(f);
}

/* Of cores without one, dsb_uops is 1. */
static bool has_dsb(const PmuUarch *uarch)
{
    return uarch->dsb_uops > 1;
}

static void leave_loop(PmuFetchUnit *f)
{
    f->looping = false;
    f->loop_branch = NOWHERE;
    f->loop_count = 0;
}

/* Remove the windows of line @line, which are all in one set. */
static void remove_windows(PmuFetchUnit *f, uint64_t line)
{
    size_t entry = pmu_cache_first(&f->dsb, line);
    size_t end = entry + f->dsb.ways;

    for (; entry < end; entry++) {
        uint64_t tag = f->dsb.tags[entry];

        if (tag && pmu_dsb_key_line(tag - 1) == line) {
            pmu_cache_remove(&f->dsb, tag - 1);
        }
    }
}

/* Remove the windows of the @lines lines from @line on, in whatever set. */
static void remove_many_windows(PmuFetchUnit *f, uint64_t line, uint64_t lines)
{
    size_t entries = (f->dsb.set_mask + 1) * f->dsb.ways;

    for (size_t entry = 0; entry < entries; entry++) {
        uint64_t tag = f->dsb.tags[entry];

        if (tag && pmu_dsb_key_line(tag - 1) - line < lines) {
            pmu_cache_remove(&f->dsb, tag - 1);
        }
    }
}

/*
 * @lines lines from physical line @line on have left L1I, or their page has
 * left the ITLB.  Only the window that is being built could still enter the DSB
 * without a look at these, so it is not built further.
 */
static void lines_gone(void *opaque, uint64_t line, uint64_t lines)
{
    PmuFetchUnit *f = opaque;

    if (lines == 1) {
        remove_windows(f, line);
    } else if (lines == PMU_ALL_LINES) {
        pmu_fetch_unit_forget(f);
    } else {
        remove_many_windows(f, line, lines);
    }
    if (f->build_code - line < lines) {
        f->building = false;
    }
}

void pmu_fetch_unit_restart(PmuFetchUnit *f)
{
    leave_loop(f);
    f->window = NOWHERE;
    f->building = false;
    f->fuse = 0;
}

/* Mark @key as used in the DSB, or insert it.  A window is all in one set. */
static void dsb_access(PmuFetchUnit *f, uint64_t key)
{
    if (pmu_cache_use(&f->dsb, key) == PMU_CACHE_NONE) {
        pmu_cache_insert(&f->dsb, key);
    }
}

/* The window that is being built is not to be found in the DSB. */
static void give_up_build(PmuFetchUnit *f)
{
    pmu_cache_remove(&f->dsb, pmu_dsb_key(f->build_code, f->build_entry, 0));
    f->building = false;
}

/* Add @uops decoded micro-ops to the window that is being built. */
static void build(PmuFetchUnit *f, uint32_t uops)
{
    /* An instruction does not straddle two lines. */
    if (uops > f->build_room && f->building) {
        f->build_room = f->uarch->dsb_line;
        if (++f->build_line == f->uarch->dsb_window_lines) {
            give_up_build(f);
        } else {
            dsb_access(f, pmu_dsb_key(f->build_code, f->build_entry,
                                      f->build_line));
        }
    }
    f->build_room -= MIN(uops, f->build_room);
}

/*
 * Of instructions with a length-changing prefix that could fuse with a branch,
 * a window holds few: not one at the end of the first 16 bytes of its half and
 * two in the other 16.  Does @bi, at byte @at of the window, exceed this?  An
 * instruction is where its opcode is.  (uiCA, which does not know why.  IL64:
 * ADD ax, imm16 takes as long as decoding it does on both cores, ADC r16, imm16
 * does not.)
 */
static bool crowded_by_prefixes(PmuFetchUnit *f, const PmuBlockInsn *bi,
                                unsigned at)
{
    bool prefixed = (bi->insn->flags & PMU_INSN_LCP) && pmu_fuse_as_first(bi);
    uint8_t half = at / 32;

    if (half != f->build_half) {
        f->build_half = half;
        f->build_prefixed_first = false;
        f->build_prefixed = 0;
    }
    if (at % 32 + bi->insn->opcode_end < 16) {
        f->build_prefixed_first = prefixed;
        return false;
    }
    f->build_prefixed += prefixed;
    return f->build_prefixed_first && f->build_prefixed >= 2;
}

/* The DSB lacks the window entered at byte @entry of @line: build it. */
static void begin_build(PmuFetchUnit *f, uint64_t line, unsigned entry)
{
    pmu_cache_insert(&f->dsb, pmu_dsb_key(line, entry, 0));
    f->build_code = line;
    f->build_entry = entry;
    f->build_line = 0;
    f->build_room = f->uarch->dsb_line;
    f->build_half = UINT8_MAX;
    f->building = true;
}

/*
 * Fetch segment @n of @block, from linear address @pc on.  The @first one may
 * be in the window in which fetch was before.
 */
static void fetch_segment(PmuFetchUnit *f, const PmuBlock *block, unsigned n,
                          uint64_t pc, bool first, PmuOutcome *outcome)
{
    const PmuBlockSegment *segment = &block->segments[n];
    uint64_t line = pmu_block_line(block, segment);
    uint64_t window = pc & -(uint64_t)f->uarch->dsb_window;
    unsigned entry = pc & (PMU_LINE_SIZE - 1);
    uint64_t key = pmu_dsb_key(line, entry, 0);
    PmuAccessOutcome *access = &outcome->code[n];

    if (first && f->window == window) {
        outcome->continues = true;
        return;
    }
    f->window = window;
    f->building = false;
    if (pmu_cache_use(&f->dsb, key) != PMU_CACHE_NONE) {
        return;
    }
    if (!f->looping && has_dsb(f->uarch)) {
        /* The LSD holds what came from the DSB (uiCA). */
        leave_loop(f);
    }
    outcome->legacy |= 1u << n;
    *access = (PmuAccessOutcome) {};
    pmu_memory_fetch(f->mem, pc, line << PMU_LINE_SHIFT, access);
    pmu_ledger_event(f->mem->ledger, PMU_ITEM_L1I_HITS,
                     access->source == PMU_SOURCE_L1);
    begin_build(f, line, entry);
}

/*
 * Is instruction @i of @block the second of a fused pair?  @first_fused says so
 * of @first, the first one that ran.
 */
static bool is_fused(const PmuBlock *block, unsigned i, unsigned first,
                     bool first_fused)
{
    return i > first ? block->insns[i].fused : first_fused;
}

/* Micro-ops that instructions [@first, @last) of @block take in the queue. */
static uint32_t queue_uops(const PmuBlock *block, unsigned first,
                           unsigned last, bool first_fused)
{
    uint32_t uops = 0;

    for (unsigned i = first; i < last; i++) {
        if (!is_fused(block, i, first, first_fused)) {
            uops += pmu_queue_uops(block->insns[i].insn);
        }
    }
    return uops;
}

void pmu_fetch_unit_begin(PmuFetchUnit *f, const PmuBlock *block,
                          unsigned first)
{
    f->first = first;
    f->first_fused = f->fuse & pmu_fuse_as_second(&block->insns[first]);
}

void pmu_fetch_unit_end(PmuFetchUnit *f, const PmuBlock *block, unsigned last)
{
    if (f->first == 0 && last == block->num_insns && !f->first_fused) {
        f->uops += block->uops;
    } else {
        f->uops += queue_uops(block, f->first, last, f->first_fused);
    }
    f->fuse = pmu_fuse_as_first(&block->insns[last - 1]);
}

void pmu_fetch_unit_build(PmuFetchUnit *f, const PmuBlock *block, unsigned i)
{
    const PmuBlockInsn *bi = &block->insns[i];
    unsigned at = (block->phys + bi->offset) % f->uarch->dsb_window;

    if (crowded_by_prefixes(f, bi, at)) {
        give_up_build(f);
    } else if (!is_fused(block, i, f->first, f->first_fused)) {
        const PmuInsn *insn = bi->insn;

        build(f, insn->decode_uops + !!(insn->flags & PMU_INSN_IMM64));
    }
}

void pmu_fetch_unit_segment(PmuFetchUnit *f, const PmuBlock *block, unsigned n,
                            unsigned from, uint64_t pc, PmuOutcome *outcome)
{
    fetch_segment(f, block, n, pc + block->insns[from].offset,
                  from == f->first, outcome);
}

/*
 * Iterations of a loop of @uops micro-ops that the queue holds.  Issue cannot
 * go from the last micro-op to the first in one cycle, so the queue unrolls
 * short loops (uiCA, table of Ice Lake).
 */
static uint32_t unrolled(uint64_t uops)
{
    return uops <= 6 ? 6 : uops <= 8 ? 4 : uops <= 12 ? 3 : uops <= 30 ? 2 : 1;
}

/* The loop in the queue begins another iteration.  Returns PMU_OUTCOME_x. */
static unsigned loop_again(PmuFetchUnit *f)
{
    if (--f->loop_turn) {
        return PMU_OUTCOME_TAKEN;
    }
    f->loop_turn = unrolled(f->loop_uops);
    return PMU_OUTCOME_TAKEN | PMU_OUTCOME_LOOP_END;
}

/*
 * The branch at @pc was taken, as predicted.  Returns whether the loop in the
 * queue begins another iteration.  If not, notes whether the code since the
 * last taken branch may become that loop.
 */
static bool loop_branch(PmuFetchUnit *f, uint64_t pc)
{
    uint64_t iteration = f->uops - f->loop_start;
    bool alike = pc == f->loop_branch && iteration == f->loop_uops &&
                 iteration <= f->uarch->idq;

    f->loop_start = f->uops;
    if (alike && f->looping) {
        return true;
    }
    f->looping = false;
    f->loop_branch = pc;
    f->loop_uops = iteration;
    f->loop_count = alike ? f->loop_count + 1 : 0;
    if (f->loop_count >= LOOP_ITERATIONS) {
        f->looping = true;
        f->loop_turn = unrolled(iteration);
    }
    return false;
}

unsigned pmu_fetch_unit_taken(PmuFetchUnit *f, uint64_t pc, bool direct)
{
    f->window = NOWHERE;
    f->building = false;
    if (loop_branch(f, pc)) {
        return loop_again(f);
    }
    if (direct && !pmu_branch_predictor_btb(f->bpred, pc)) {
        return PMU_OUTCOME_TAKEN | PMU_OUTCOME_UNKNOWN;
    }
    return PMU_OUTCOME_TAKEN;
}
