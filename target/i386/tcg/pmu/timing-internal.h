/*
 * The timing model's parts, as timing.c and timing-string.c see them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#ifndef TARGET_I386_PMU_TIMING_INTERNAL_H
#define TARGET_I386_PMU_TIMING_INTERNAL_H

#include "costs.h"
#include "observe.h"
#include "timing.h"

/* A REP string instruction on its way: see timing-string.c. */
typedef struct PmuString {
    bool active;
    uint64_t pc;
    uint64_t bytes;             /* done so far */
    uint64_t src_line, dst_line;        /* touched last */
    PmuStamp ready;             /* when these lines are there */
} PmuString;

/* What is done with the stretches of code that run; see timing.c. */
typedef enum PmuPhase {
    PMU_PHASE_WATCH,            /* the pipeline runs them */
    PMU_PHASE_WARM,             /* ... but has not run the ones before them */
    PMU_PHASE_ESTIMATE,         /* they cost what they cost when watched */
} PmuPhase;

/* A stretch of which nothing is known, by any_key(). */
typedef struct PmuSighted {
    uint64_t key;
    uint32_t times;
} PmuSighted;

#define PMU_SIGHTED 1024

struct PmuTiming {
    uint64_t progress;          /* see pmu_timing_progress() */
    const PmuUarch *uarch;
    PmuLedger *ledger;
    uint64_t counts;            /* PMU_COUNT_x that the ledger does not show */

    /* The stretch at hand. */
    bool open;                  /* it has begun */
    uint64_t hash;              /* of its instructions so far */
    uint32_t insns;             /* their number */
    PmuDelta sample;            /* what the ledger shows of it already */

    PmuPhase phase;
    const PmuSampling *sampling;        /* NULL: there is no other phase */
    uint32_t left;              /* stretches until this one ends */
    int32_t credit;             /* stretches that may be watched yet */
    uint32_t unwatched;         /* stretches since one was watched */
    uint32_t after_l3, after_dram;      /* stretches that still feel it */
    uint64_t entered[PMU_TIMED_NR];     /* of the sums in @costs, whole ones */
    PmuSighted sighted[PMU_SIGHTED];    /* by a hash of the key */

    PmuString string;
    PmuCosts costs;
    PmuObserver observer;
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
 * The pipeline goes on where the ledger is, and the ledger where the pipeline
 * is: for what the pipeline runs in any phase.
 */
PmuPipeline *pmu_timing_take_pipeline(PmuTiming *t);
void pmu_timing_give_pipeline(PmuTiming *t);

#endif
