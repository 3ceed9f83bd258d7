/*
 * Which part of the frontend delivers: caches of code, and loops.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.  A function of the instructions alone, without any
 * time: see outcome.h.
 */

#ifndef TARGET_I386_PMU_FETCH_H
#define TARGET_I386_PMU_FETCH_H

#include "block.h"
#include "bpred.h"
#include "cache.h"
#include "memory.h"
#include "outcome.h"

typedef struct PmuFetcher {
    uint64_t window;            /* linear address of the DSB's window fetched
                                   from last */
    bool looping;               /* the LSD delivers */
    uint8_t fuse;               /* PMU_FUSE_x of the newest instruction */
    /* The DSB line being built: where its window is, which line, its room. */
    bool building;
    uint32_t build_line, build_room, build_entry;
    uint64_t build_code;        /* 64-byte line, physical */
    /* The newest taken branch, to see loops. */
    uint64_t uops;              /* micro-ops so far */
    uint64_t loop_branch;
    uint64_t loop_start;        /* micro-ops before the iteration */
    uint64_t loop_uops;         /* micro-ops of an iteration */
    uint32_t loop_count;        /* iterations alike */
    uint32_t loop_turn;         /* iterations until the queue wraps */
    const PmuUarch *uarch;
    PmuMemory *mem;
    PmuBpred *bpred;
    PmuCache dsb;               /* windows and their lines */
    /* The part of a block that is being fetched. */
    unsigned first;
    bool first_fused;
} PmuFetcher;

/*
 * A cold frontend that fetches through @mem, which tells @f what leaves L1I:
 * neither may move.  False if memory runs out.
 */
bool pmu_fetcher_init(PmuFetcher *f, const PmuUarch *uarch, PmuMemory *mem,
                      PmuBpred *bpred);
void pmu_fetcher_destroy(PmuFetcher *f);
void pmu_fetcher_reset(PmuFetcher *f);

/* Instructions of @block, from @first on, are about to be fetched. */
void pmu_fetcher_begin(PmuFetcher *f, const PmuBlock *block, unsigned first);

/* They were, up to @last, which was not: @last is above @first. */
void pmu_fetcher_end(PmuFetcher *f, const PmuBlock *block, unsigned last);

/*
 * Fetch goes on in segment @n of @block, with instruction @from; the block is
 * at linear address @pc.  Sets @legacy, @code and @continues of @outcome.
 */
void pmu_fetcher_segment(PmuFetcher *f, const PmuBlock *block, unsigned n,
                         unsigned from, uint64_t pc, PmuOutcome *outcome);

/*
 * @f->building, and instruction @i of @block, of the segment where fetch is, is
 * decoded for the DSB.  That is before its accesses, which can take lines of
 * code out of L1I: so each line leaves the DSB behind the same instruction
 * however the code is cut into blocks.
 */
void pmu_fetcher_build(PmuFetcher *f, const PmuBlock *block, unsigned i);

/*
 * The branch at @pc was taken, as predicted: PMU_OUTCOME_x that tell what
 * fetch makes of it.  Fetch can find out about a @direct one that it did not
 * know of; of others it knew, or they were not predicted.
 */
unsigned pmu_fetcher_taken(PmuFetcher *f, uint64_t pc, bool direct);

/* A conditional branch at @pc was not taken, as predicted. */
static inline void pmu_fetcher_not_taken(PmuFetcher *f, uint64_t pc)
{
    if (pc == f->loop_branch) {
        f->loop_branch = UINT64_MAX;
        f->loop_count = 0;
        f->looping = false;
    }
}

/*
 * Other code ran, longer than the DSB, that this was not told of: the DSB has
 * none of what it had.
 */
void pmu_fetcher_forget(PmuFetcher *f);

/* Fetch starts again somewhere: a misprediction, an interrupt, a clear. */
void pmu_fetcher_restart(PmuFetcher *f);

#endif
