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

/* Entries of the filter in front of the DSB: 2 to the power of these bits. */
#define PMU_FETCH_FILTER_BITS   10
#define PMU_FETCH_FILTER        (1u << PMU_FETCH_FILTER_BITS)

/* Lines that the stores of one instruction can hit: two accesses, split. */
#define PMU_FETCH_GONE          4

typedef struct PmuFetcher {
    uint64_t line;              /* linear 64-byte line fetched from last */
    bool watched;               /* somebody asks for outcomes */
    bool looping;               /* the LSD delivers */
    uint8_t fuse;               /* PMU_FUSE_x of the newest instruction */
    /* The DSB line being built: its window, which line of it, its room. */
    bool building;
    uint32_t build_line, build_room, build_entry;
    uint64_t build_window;
    /* Lines whose windows are to go once what stored to them was built. */
    uint32_t num_gone;
    uint64_t gone[PMU_FETCH_GONE];
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
    /* First lines of windows that a use leaves as they are; 0 is none. */
    uint64_t known[PMU_FETCH_FILTER];
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

/* The filter's entry for @key; multiplicative hashing (Knuth). */
static inline unsigned pmu_fetch_filter(uint64_t key)
{
    return key * 0x9e3779b97f4a7c15ull >> (64 - PMU_FETCH_FILTER_BITS);
}

/*
 * Fetch goes on in segment @n of @block, from its first instruction on; the
 * block is at linear address @pc.  Returns true if that changes nothing but
 * where fetch is; otherwise nothing was done yet: see pmu_fetcher_segment().
 * For a fetcher that is not watched.
 */
static inline bool pmu_fetcher_hit(PmuFetcher *f, const PmuBlock *block,
                                   unsigned n, uint64_t pc)
{
    uint64_t key = block->fetch_key;

    if (n) {
        const PmuBlockSegment *segment = &block->segments[n];

        pc += segment->start;
        key = pmu_fetch_key(pmu_block_line(block, segment),
                            pc & (PMU_LINE_SIZE - 1), 0);
    } else if (f->line == pc >> PMU_LINE_SHIFT) {
        return !f->building;
    }
    if (__builtin_expect(f->known[pmu_fetch_filter(key)] != key, 0)) {
        return false;
    }
    f->line = pc >> PMU_LINE_SHIFT;
    f->building = false;
    return true;
}

/*
 * Fetch goes on in segment @n of @block, with instruction @from; the block is
 * at linear address @pc.  Sets @legacy, @code and @continues of @outcome.
 */
void pmu_fetcher_segment(PmuFetcher *f, const PmuBlock *block, unsigned n,
                         unsigned from, uint64_t pc, PmuOutcome *outcome);

/*
 * Instructions [@from, @end) of @block, of the segment where fetch is, are
 * decoded for the DSB, if @f->building.  That is after their accesses, and
 * before fetch goes on elsewhere or restarts.
 */
void pmu_fetcher_build(PmuFetcher *f, const PmuBlock *block,
                       unsigned from, unsigned end);

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
 * As pmu_fetcher_taken() and pmu_fetcher_not_taken(), for one who does not ask
 * for outcomes: fetch goes on elsewhere.
 */
static inline void pmu_fetcher_jump(PmuFetcher *f)
{
    f->line = UINT64_MAX;
    f->building = false;
}

/*
 * Whether anybody asks for outcomes, from now on; at first somebody does.
 * Otherwise the LSD is not looked at; as it does not keep fetch from using the
 * DSB here, that leaves no trace in caches.
 */
void pmu_fetcher_set_watched(PmuFetcher *f, bool watched);

/* Fetch starts again somewhere: a misprediction, an interrupt, a clear. */
void pmu_fetcher_restart(PmuFetcher *f);

#endif
