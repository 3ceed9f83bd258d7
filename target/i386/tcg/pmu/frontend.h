/*
 * The frontend: when the next micro-ops are there to be issued.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.  Micro-ops come from the decoded instruction
 * cache (DSB), the legacy decoders, the microcode sequencer or, in short
 * loops, from the queue in front of the backend (LSD).
 */

#ifndef TARGET_I386_PMU_FRONTEND_H
#define TARGET_I386_PMU_FRONTEND_H

#include <glib.h>

#include "block.h"
#include "memory.h"

typedef struct PmuFrontend {
    uint64_t cycle;             /* what was fetched last can issue from here */
    uint64_t line;              /* linear 64-byte line fetched from last */
    uint32_t left;              /* slots left in the DSB line being read */
    uint32_t room;              /* slots left in the DSB line being built */
    bool legacy;                /* the decoders deliver */
    bool looping;               /* the LSD delivers */
    uint32_t decoded;           /* instructions decoded in this cycle */
    uint32_t dsb_line;          /* slots in a line of the DSB */
    uint64_t ahead;             /* cycles fetch can be ahead of issue */
    uint64_t chunk;             /* fetch chunk being decoded */
    unsigned window_shift, chunk_shift;
    /* The newest taken branch, to see loops. */
    uint64_t loop_branch;
    uint64_t loop_start;        /* micro-ops issued before the iteration */
    uint64_t loop_uops;         /* micro-ops of an iteration */
    uint32_t loop_count;        /* iterations alike */
    const PmuUarch *uarch;
    PmuMemory *mem;
    PmuCache dsb;               /* by address of the line's first micro-op */
} PmuFrontend;

/* A cold frontend that fetches through @mem; false if memory runs out. */
bool pmu_frontend_init(PmuFrontend *fe, const PmuUarch *uarch, PmuMemory *mem);
void pmu_frontend_destroy(PmuFrontend *fe);
void pmu_frontend_reset(PmuFrontend *fe);

/*
 * The DSB lacks the line that begins at @pc, physical address @phys: build it.
 */
void pmu_frontend_build(PmuFrontend *fe, uint64_t pc, uint64_t phys);

/* @insn at @pc goes through the legacy decoders as @slots micro-ops. */
void pmu_frontend_decode(PmuFrontend *fe, const PmuInsn *insn, uint64_t pc,
                         uint32_t slots);

/* Fetch cannot be further ahead of issue than the queue between them. */
static inline void pmu_frontend_bound(PmuFrontend *fe, uint64_t now)
{
    uint64_t first = now - MIN(now, fe->ahead);

    fe->cycle = MAX(fe->cycle, first);
}

static inline uint64_t pmu_frontend_phys(const PmuBlock *block,
                                         const PmuBlockInsn *bi)
{
    uint64_t page_size = 1u << PMU_PAGE_SHIFT;

    if (__builtin_expect((block->phys & (page_size - 1)) + bi->offset >=
                         page_size, 0)) {
        return (block->phys_next & ~(page_size - 1)) | bi->page_offset;
    }
    return block->phys + bi->offset;
}

/* The next DSB line begins with @bi: read it, or start to build it. */
static inline void pmu_frontend_begin_line(PmuFrontend *fe,
                                           const PmuBlock *block,
                                           const PmuBlockInsn *bi,
                                           uint64_t pc, uint32_t slots)
{
    uint64_t phys = pmu_frontend_phys(block, bi);
    /* The window chooses the set; where in it a line begins tells them apart */
    uint64_t key = phys >> fe->window_shift | phys << (64 - fe->window_shift);

    fe->line = pc >> PMU_LINE_SHIFT;
    if (__builtin_expect(pmu_cache_access(&fe->dsb, key), 1)) {
        fe->cycle++;
        fe->legacy = false;
        fe->chunk = UINT64_MAX;
        fe->left = fe->dsb_line - MIN(slots, fe->dsb_line);
    } else {
        pmu_frontend_build(fe, pc, phys);
    }
}

/*
 * Fetch @bi of @block at linear address @pc, @slots fused micro-ops, while
 * the clock is at cycle @now, as mem->now is.  fe->cycle is when it can issue.
 */
static inline void pmu_frontend_fetch(PmuFrontend *fe, const PmuBlock *block,
                                      const PmuBlockInsn *bi, uint64_t pc,
                                      uint32_t slots, uint64_t now)
{
    bool same_line = pc >> PMU_LINE_SHIFT == fe->line;

    if (fe->left >= slots && same_line) {
        fe->left -= slots;
        return;
    }
    if (fe->looping) {
        fe->line = pc >> PMU_LINE_SHIFT;
        return;
    }
    pmu_frontend_bound(fe, now);
    if (!fe->legacy || fe->room < slots || !same_line) {
        pmu_frontend_begin_line(fe, block, bi, pc, slots);
    }
    if (__builtin_expect(fe->legacy, 0)) {
        pmu_frontend_decode(fe, &bi->insn, pc, slots);
    }
    if (__builtin_expect(bi->insn.slots > 4, 0)) {
        fe->cycle += fe->uarch->ms_switch +
                     bi->insn.slots / fe->uarch->ms_uops;
    }
}

/*
 * The branch at @pc was taken, as predicted, and @uops micro-ops were issued
 * so far; @known: fetch knew of it in time.
 */
void pmu_frontend_taken(PmuFrontend *fe, uint64_t pc, uint64_t uops,
                        bool known, uint64_t now);

/* The loop, if there is one, was left at the branch at @pc. */
void pmu_frontend_not_taken(PmuFrontend *fe, uint64_t pc);

/* Fetch starts again, so that the next micro-op issues in @cycle. */
void pmu_frontend_restart(PmuFrontend *fe, uint64_t cycle);

#endif
