/*
 * The timing model's parts, as timing.c and timing-string.c see them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#ifndef TARGET_I386_PMU_TIMING_INTERNAL_H
#define TARGET_I386_PMU_TIMING_INTERNAL_H

#include "bpred.h"
#include "fetch.h"
#include "memo.h"
#include "memory.h"
#include "timing.h"

/* A REP string instruction on its way: see timing-string.c. */
typedef struct PmuString {
    bool active;
    uint64_t pc;
    uint64_t bytes;             /* done so far */
    uint64_t src_line, dst_line;        /* touched last */
    PmuStamp ready;             /* when these lines are there */
} PmuString;

struct PmuTiming {
    uint64_t progress;          /* see pmu_timing_progress() */
    const PmuUarch *uarch;
    PmuLedger *ledger;
    PmuMemo *memo;
    /*
     * The pipeline is in @state at cycle @cycle.  NULL: it is in the state of
     * @pipeline itself.  @pipeline is that of state @at_hand, if there is one.
     */
    PmuState *state;
    PmuState *at_hand;
    uint64_t cycle;
    uint64_t generation;        /* of the blocks that @memo knows */
    uint64_t store_line;        /* that the newest store went to */
    uint64_t unentered;         /* progress that the ledger does not show */
    uint64_t known, computed, forgotten;        /* see PmuTimingStats */
    uint64_t known_then;        /* @known when a transition was not known last */
    int64_t credit;             /* what learning may cost yet */
    uint32_t pause;             /* blocks to go without learning */
    bool remember;

    PmuBpred *bpred;
    PmuFetcher fetcher;
    PmuMemory mem;
    PmuOutcome outcome;         /* of the block at hand */
    PmuString string;
    PmuPipeline pipeline;
};

/*
 * Iterations of the REP string instruction @index of @block; @last: it has
 * retired.  See pmu_timing_string().
 */
void pmu_timing_run_string(PmuTiming *t, const PmuBlock *block,
                           unsigned index, const PmuDynamic *dynamic,
                           bool last);

/*
 * Have the pipeline at hand, and say that it went on by itself since @clock,
 * retiring @instructions.
 */
PmuPipeline *pmu_timing_take_pipeline(PmuTiming *t);
void pmu_timing_give_pipeline(PmuTiming *t, uint64_t clock,
                              unsigned instructions);

/* Fetch the string instruction @index of @block, at @pc: in t->outcome. */
void pmu_timing_fetch_string(PmuTiming *t, const PmuBlock *block,
                             unsigned index, uint64_t pc);

#endif
