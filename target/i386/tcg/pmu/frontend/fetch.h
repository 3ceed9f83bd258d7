/*
 * The fetch unit: whether the DSB, the LSD or legacy decode delivers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What it does depends on the instructions alone, not on time: see outcome.h.
 */

#ifndef TARGET_I386_PMU_FRONTEND_FETCH_H
#define TARGET_I386_PMU_FRONTEND_FETCH_H

#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/frontend/branch-predictor.h"
#include "tcg/pmu/memory/cache.h"
#include "tcg/pmu/memory/memory.h"
#include "tcg/pmu/memory/outcome.h"

typedef struct PmuFetchUnit {
    uint64_t window;            /* linear address of the DSB window in which
                                   fetch is; UINT64_MAX: none */
    bool looping;               /* the LSD delivers */
    uint8_t fuse;               /* PMU_FUSE_x of the newest instruction */
    /*
     * The window that is being built in the DSB: which of its lines, micro-ops
     * that this line can still take, byte at which fetch entered the window.
     */
    bool building;
    uint32_t build_line, build_room, build_entry;
    uint64_t build_code;        /* 64-byte line, physical */
    /* In its half @build_half, what crowded_by_prefixes() has seen. */
    uint8_t build_half, build_prefixed;
    bool build_prefixed_first;
    /* The newest taken branch, to detect loops. */
    uint64_t uops;              /* micro-ops so far */
    uint64_t loop_branch;       /* its address */
    uint64_t loop_start;        /* @uops when the iteration began */
    uint64_t loop_uops;         /* micro-ops of an iteration */
    uint32_t loop_count;        /* equal iterations so far */
    uint32_t loop_turn;         /* iterations until the queue wraps */
    const PmuUarch *uarch;
    PmuMemory *mem;
    PmuBranchPredictor *bpred;
    PmuCache dsb;               /* windows and their lines */
    /* The block that is being fetched. */
    unsigned first;             /* first instruction that runs */
    bool first_fused;           /* that one is the second of a pair */
} PmuFetchUnit;

/*
 * Initialise a cold fetch unit that fetches through @mem, which tells @f what
 * leaves L1I: both must keep their addresses.  Returns false if memory runs
 * out.
 */
bool pmu_fetch_unit_init(PmuFetchUnit *f, const PmuUarch *uarch, PmuMemory *mem,
                         PmuBranchPredictor *bpred);
void pmu_fetch_unit_destroy(PmuFetchUnit *f);
void pmu_fetch_unit_reset(PmuFetchUnit *f);

/* Instructions of @block, from @first on, are about to be fetched. */
void pmu_fetch_unit_begin(PmuFetchUnit *f, const PmuBlock *block,
                          unsigned first);

/* They were, up to @last, exclusive; @last is greater than @first. */
void pmu_fetch_unit_end(PmuFetchUnit *f, const PmuBlock *block, unsigned last);

/*
 * Fetch goes on in segment @n of @block, with instruction @from; the block is
 * at linear address @pc.  Sets @legacy, @code and @continues of @outcome.
 */
void pmu_fetch_unit_segment(PmuFetchUnit *f, const PmuBlock *block, unsigned n,
                            unsigned from, uint64_t pc, PmuOutcome *outcome);

/*
 * While @f->building: instruction @i of @block, in the segment where fetch is,
 * is decoded for the DSB.  The caller does this before the instruction's data
 * accesses, which can evict lines of code from L1I.  So each line leaves the
 * DSB after the same instruction however the code is cut into blocks.
 */
void pmu_fetch_unit_build(PmuFetchUnit *f, const PmuBlock *block, unsigned i);

/*
 * The branch at @pc was taken, as predicted.  Returns PMU_OUTCOME_x: what fetch
 * makes of it.  Fetch need not have known of a @direct branch.  It knew of any
 * other, or else that one was not predicted.
 */
unsigned pmu_fetch_unit_taken(PmuFetchUnit *f, uint64_t pc, bool direct);

/* A conditional branch at @pc was not taken, as predicted. */
static inline void pmu_fetch_unit_not_taken(PmuFetchUnit *f, uint64_t pc)
{
    if (pc == f->loop_branch) {
        f->loop_branch = UINT64_MAX;
        f->loop_count = 0;
        f->looping = false;
    }
}

/*
 * Code ran that the fetch unit did not see: restart it with an empty DSB.  What
 * it had before is of no use.  Of a loop that does not quite fit it has a part,
 * at a place where the loop no longer is.
 */
void pmu_fetch_unit_forget(PmuFetchUnit *f);

/* Fetch starts again somewhere: a misprediction, an interrupt, a clear. */
void pmu_fetch_unit_restart(PmuFetchUnit *f);

#endif
