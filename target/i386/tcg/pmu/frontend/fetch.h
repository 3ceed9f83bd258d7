/*
 * Which part of the frontend delivers: caches of code, and loops.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A function of the instructions alone, without any time: see outcome.h.
 */

#ifndef TARGET_I386_PMU_FRONTEND_FETCH_H
#define TARGET_I386_PMU_FRONTEND_FETCH_H

#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/frontend/branch-predictor.h"
#include "tcg/pmu/memory/cache.h"
#include "tcg/pmu/memory/memory.h"
#include "tcg/pmu/memory/outcome.h"

typedef struct PmuFetchUnit {
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
    PmuBranchPredictor *bpred;
    PmuCache dsb;               /* windows and their lines */
    /* The part of a block that is being fetched. */
    unsigned first;
    bool first_fused;
} PmuFetchUnit;

/*
 * A cold frontend that fetches through @mem, which tells @f what leaves L1I:
 * neither may move.  False if memory runs out.
 */
bool pmu_fetch_unit_init(PmuFetchUnit *f, const PmuUarch *uarch, PmuMemory *mem,
                         PmuBranchPredictor *bpred);
void pmu_fetch_unit_destroy(PmuFetchUnit *f);
void pmu_fetch_unit_reset(PmuFetchUnit *f);

/* Instructions of @block, from @first on, are about to be fetched. */
void pmu_fetch_unit_begin(PmuFetchUnit *f, const PmuBlock *block,
                          unsigned first);

/* They were, up to @last, which was not: @last is above @first. */
void pmu_fetch_unit_end(PmuFetchUnit *f, const PmuBlock *block, unsigned last);

/*
 * Fetch goes on in segment @n of @block, with instruction @from; the block is
 * at linear address @pc.  Sets @legacy, @code and @continues of @outcome.
 */
void pmu_fetch_unit_segment(PmuFetchUnit *f, const PmuBlock *block, unsigned n,
                            unsigned from, uint64_t pc, PmuOutcome *outcome);

/*
 * @f->building, and instruction @i of @block, of the segment where fetch is, is
 * decoded for the DSB.  That is before its accesses, which can take lines of
 * code out of L1I: so each line leaves the DSB behind the same instruction
 * however the code is cut into blocks.
 */
void pmu_fetch_unit_build(PmuFetchUnit *f, const PmuBlock *block, unsigned i);

/*
 * The branch at @pc was taken, as predicted: PMU_OUTCOME_x that tell what
 * fetch makes of it.  Fetch can find out about a @direct one that it did not
 * know of; of others it knew, or they were not predicted.
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
 * Other code ran, longer than the DSB, that this was not told of: the DSB has
 * none of what it had.
 */
void pmu_fetch_unit_forget(PmuFetchUnit *f);

/* Fetch starts again somewhere: a misprediction, an interrupt, a clear. */
void pmu_fetch_unit_restart(PmuFetchUnit *f);

#endif
