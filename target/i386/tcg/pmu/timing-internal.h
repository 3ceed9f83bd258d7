/*
 * The timing model's parts, as timing*.c see them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#ifndef TARGET_I386_PMU_TIMING_INTERNAL_H
#define TARGET_I386_PMU_TIMING_INTERNAL_H

#include "costs.h"
#include "observe.h"
#include "pipeline.h"
#include "timing.h"

/* A REP string instruction on its way: see timing-string.c. */
typedef struct PmuString {
    bool active;
    bool untimed;               /* the pipeline does not run it */
    bool watched;               /* ... it does, in PMU_PHASE_WATCH */
    uint32_t hash;              /* of the instruction, see PmuBlockInsn */
    uint64_t pc;
    uint64_t bytes;             /* done so far */
    uint64_t src_line, dst_line;        /* touched last */
    PmuStamp ready;             /* when these lines are there */
    PmuCostCode code;
    PmuSample sample;           /* what it took so far, if @watched */
} PmuString;

/* What is done with the stretches of code that run: timing-sampling.c. */
typedef enum PmuPhase {
    PMU_PHASE_FORWARD,          /* they cost what they cost when watched */
    PMU_PHASE_SKIM,             /* ... but caches and predictors see them */
    PMU_PHASE_FETCH,            /* ... and so do caches of code */
    PMU_PHASE_OBSERVE,          /* ... and all of the observer does */
    PMU_PHASE_WARM,             /* ... and the pipeline runs them */
    PMU_PHASE_WATCH,            /* both count */
} PmuPhase;

/* A stretch of which nothing is known, that runs often. */
typedef struct PmuSighted {
    uint32_t tag;               /* of its key */
    uint32_t insns;             /* of it in this period, less those of others */
} PmuSighted;

#define PMU_SIGHTED 1024

struct PmuTiming {
    uint64_t progress;          /* see pmu_timing_progress() */
    const PmuUarch *uarch;
    PmuLedger *ledger;
    PmuCounts counts;           /* what @seen does not show */
    uint64_t taken;             /* conditional branches, likewise */
    /* What was observed and is not in the ledger yet, at PMU_LEVEL_OS. */
    PmuLedger seen;

    /* The stretch at hand. */
    uint64_t hash;              /* of its instructions so far */
    uint32_t insns;             /* their number */
    uint64_t pc, phys, end;     /* where it begins; the latter's end so far */
    PmuCodeMisses misses;       /* of its code, if that is observed */
    PmuCostCode code;           /* where it lies, if that is looked at */
    uint64_t line;              /* of the last instruction there */
    PmuSample sample;           /* what the ledger shows of it already */

    PmuPhase phase;
    const PmuSampling *sampling;        /* NULL: always watch */
    PmuInterest interest;
    uint64_t observed_until;    /* in terms of @skimmed, see TURNS */
    uint64_t turns_until;       /* the same */
    bool far;                   /* see FAR_WAIT */
    bool refills;               /* see REFILL_SHARE */
    uint32_t weight;            /* of what is skimmed behind that */
    PmuKnown before;            /* observer.known, before what is skimmed */
    int32_t left;               /* instructions until this one ends */
    int32_t behind;             /* ... of the period at hand behind it */
    uint32_t wait;              /* cycles that do not make one of those yet */
    uint32_t random;            /* for the next period */
    int32_t period;             /* instructions of the period at hand */
    int32_t credit;             /* instructions that may be watched yet */
    bool paid;                  /* a window of this period is paid for */
    uint64_t skimmed;           /* instructions that were not, so far */
    uint64_t settled;           /* in terms of @skimmed, see SETTLE */
    uint32_t steady;            /* see STEADY_MOST */
    bool surprised;             /* see SURPRISE_SHARE */
    bool doubtful;              /* see look_at_dominant() */
    bool closer;                /* see look_closer() */
    uint32_t learnt;            /* instructions since then */
    uint32_t unknown;           /* see UNKNOWN_SHARE */
    uint32_t unknown_twice;     /* so many times, see UNKNOWN_MOST */
    uint64_t unknown_at;        /* @skimmed when it was changed last */
    PmuSighted sighted[PMU_SIGHTED];    /* by a hash of the key */
    PmuKnown known;             /* of observer.known, accounted for already */
    uint64_t contested_until;   /* in terms of @progress: see CONTESTED */

    uint32_t assists;           /* at the end of the stretch at hand */
    PmuString string;
    PmuRuns runs;               /* in PMU_PHASE_FORWARD and PMU_PHASE_SKIM */
    uint64_t *courses;          /* see pmu_bpred_courses() */
    uint32_t passed;            /* instructions that are in @runs alone */
    PmuCosts costs;
    PmuObserver observer;
    PmuPipeline pipeline;
};

/* What has @cost ran once more. */
static inline void pmu_timing_count_cost(PmuTiming *t, PmuCost *cost)
{
    pmu_costs_count(&t->costs, cost);
    t->progress += cost->slots;
}

/* Into the ledger: timing-enter.c. */

/* What needs no looking closer. */
void pmu_timing_enter_counts(PmuTiming *t);

/* ... and what was observed of data, which is seen in every phase. */
void pmu_timing_enter_data(PmuTiming *t);

/*
 * What the pipeline did since the last time, and what was seen besides: of the
 * stretch at hand or (not @sampled) of none.
 */
void pmu_timing_enter_delta(PmuTiming *t, bool sampled);

/* The same while the pipeline is not where the ledger is. */
void pmu_timing_enter_apart(PmuTiming *t);

/* Cycles that data took to come, known and not accounted for. */
uint64_t pmu_timing_unaccounted_wait(const PmuTiming *t);

/*
 * What was seen of stretches whose costs are known is in those; and what was
 * observed, where the pipeline did not run.
 */
void pmu_timing_forget_seen(PmuTiming *t);
void pmu_timing_forget_observed(PmuTiming *t);

/* What is known so far was at the current level, and nobody watched. */
void pmu_timing_enter_known(PmuTiming *t);

/* What was counted of known costs. */
void pmu_timing_enter_costs(PmuTiming *t);

/* The pipeline goes on where the ledger is. */
void pmu_timing_resume_pipeline(PmuTiming *t);

/* When code is looked at: timing-sampling.c. */

/* Credit, in instructions, that can be saved up. */
int32_t pmu_timing_credit_most(const PmuTiming *t);

/* What is skimmed stands for nothing else from now on. */
void pmu_timing_stand_alone(PmuTiming *t);

/*
 * Caches and predictors are to see the rest of the period at hand, which goes
 * forward, and which is no longer than that takes.
 */
void pmu_timing_end_forward(PmuTiming *t);

/* No instructions are left of the phase at hand. */
void pmu_timing_end_phase(PmuTiming *t);

/* The stretch at hand, @key, was not watched; its cost is not well known. */
void pmu_timing_count_uncertain(PmuTiming *t, uint64_t key);

/* The stretch at hand, @key, was watched: is what it took typical of it? */
bool pmu_timing_is_typical(const PmuTiming *t, uint64_t key);

/* Strings: timing-string.c. */

/*
 * Iterations of the REP string instruction @index of @block; @last: it has
 * retired.  See pmu_timing_string(), also for how many.
 */
void pmu_timing_run_string(PmuTiming *t, const PmuBlock *block,
                           unsigned index, const PmuDynamic *dynamic,
                           bool last);

/* It will not go on. */
void pmu_timing_end_string(PmuTiming *t);

/*
 * Enter what the pipeline and the observer did for a string instruction, which
 * they run in any phase: before, there was nothing that is not entered.
 */
void pmu_timing_enter_string(PmuTiming *t);

#endif
