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
    uint32_t ahead;             /* cycles fetch can be ahead of issue */
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

/* The rest of pmu_frontend_fetch(). */
void pmu_frontend_fetch_slow(PmuFrontend *fe, const PmuBlock *block,
                             const PmuBlockInsn *bi, uint64_t pc,
                             uint32_t slots, uint64_t now);

/*
 * Fetch @bi of @block at linear address @pc, @slots fused micro-ops, while
 * the clock is at cycle @now.  fe->cycle is when it can issue.
 */
static inline void pmu_frontend_fetch(PmuFrontend *fe, const PmuBlock *block,
                                      const PmuBlockInsn *bi, uint64_t pc,
                                      uint32_t slots, uint64_t now)
{
    if (__builtin_expect(fe->left >= slots &&
                         (pc >> PMU_LINE_SHIFT) == fe->line, 1)) {
        fe->left -= slots;
        return;
    }
    pmu_frontend_fetch_slow(fe, block, bi, pc, slots, now);
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
