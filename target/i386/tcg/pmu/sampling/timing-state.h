/*
 * The state of the timing model.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Private to this folder; others go through timing.h.
 */

#ifndef TARGET_I386_PMU_SAMPLING_TIMING_STATE_H
#define TARGET_I386_PMU_SAMPLING_TIMING_STATE_H

#include "tcg/pmu/backend/pipeline.h"
#include "tcg/pmu/decode/block-counts.h"
#include "tcg/pmu/sampling/block-runs.h"
#include "tcg/pmu/sampling/cpi-table.h"
#include "tcg/pmu/sampling/functional-model.h"
#include "tcg/pmu/sampling/timing-types.h"

/* Lines of a string: those that were looked at, and where they came from. */
typedef struct PmuStringLines {
    uint64_t all;
    uint64_t from[PMU_FOUND_IN_NR];     /* beyond L1D */
    uint8_t prefetched_from;    /* PMU_FOUND_IN_x: the newest prefetch */
} PmuStringLines;

/* A REP string instruction on its way: see rep-strings.c. */
typedef struct PmuString {
    bool active;
    bool untimed;               /* the pipeline does not run it */
    bool sampled;               /* ... it does in a sampling unit, and what it
                                   takes is learnt */
    uint32_t hash;              /* of the instruction, see PmuBlockInsn */
    uint64_t pc;
    bool in_pieces;             /* some are done */
    uint64_t bytes;             /* of this piece so far */
    PmuStringLines lines;       /* ... likewise */
    uint64_t src_line, dst_line;        /* touched last */
    PmuCompletion ready;        /* when these lines are there */
    PmuRegionCode code;
} PmuString;

/* What is done with the regions of code that run: sampling-units.c. */
typedef enum PmuPhase {
    PMU_PHASE_FAST_FORWARD,     /* they are taken to cost what they cost in
                                   detailed simulation */
    PMU_PHASE_FUNCTIONAL_WARMING, /* ... but caches and predictors see them */
    PMU_PHASE_FETCH_WARMING,    /* ... and so do caches of code */
    PMU_PHASE_FULL_WARMING,     /* ... and all of the functional model does */
    PMU_PHASE_DETAILED_WARMING, /* ... and the pipeline runs them */
    PMU_PHASE_DETAILED,         /* both count */
} PmuPhase;

/* The region of code that runs: region.c. */
typedef struct PmuRegion {
    uint64_t hash;              /* of its instructions so far */
    uint32_t insns;             /* their number */
    uint64_t pc, phys, end;     /* where it begins; the latter's end so far */
    PmuCodeMisses misses;       /* of its code, if that is fetched */
    PmuRegionCode code;         /* where it lies, if that is looked at */
    uint64_t line;              /* of the last instruction there */
    PmuSample sample;           /* what the ledger shows of it already */
} PmuRegion;

/* When code is looked at: sampling-units.c, sampling-credit.c. */
typedef struct PmuSamplingPlan {
    PmuPhase phase;
    const PmuSampling *sampling;        /* NULL: always detailed simulation */
    int32_t left;               /* instructions until @phase ends */
    int32_t behind;             /* ... of the period at hand behind it */
    int32_t period;             /* instructions of the period at hand */
    uint64_t warmed_insns;      /* not simulated in detail, so far */
    uint32_t wait;              /* cycles of waiting that do not make one of
                                   @left yet */
    uint32_t random;            /* for the next period */
    /* Until when there are no long periods, in terms of @warmed_insns: */
    uint64_t functional_until;  /* ... and no fast-forward: see TURNS */
    uint64_t turns_until;       /* see TURNS */
    uint64_t settled;           /* see SETTLE */
    /* The period at hand: */
    bool forwarded;             /* fast-forward ended in this period: waits do
                                   not shorten it */
    uint32_t observed_from;     /* instructions of this period that were over
                                   since when caches and predictors see it */
    PmuCovariates before;       /* functional.covariates then */
    uint64_t streamed_before;   /* ... and functional.mem.streamed */
    /* What the last periods and sampling units said: */
    bool memory_bound;          /* see MEMORY_BOUND_WAIT */
    bool waits_changed;         /* see SURPRISE_SHARE */
    uint32_t steady;            /* see STEADY_MOST */
    /* Sampling units besides those of periods: */
    int32_t credit;             /* instructions that may be simulated in detail
                                   yet */
    bool paid;                  /* a sampling unit of this period is paid for */
    bool first_of_dominant;     /* pmu_sampling_simulate_dominant() */
    bool for_unknown;           /* pmu_sampling_simulate_unknown() */
    uint32_t sampled_insns;     /* of code of little known cost, since then */
} PmuSamplingPlan;

/* A region of which nothing was known when it ran last. */
typedef struct PmuUnknownRegion {
    uint32_t tag;               /* of its key and linear address */
    uint32_t context;           /* PmuUnknownRegions.contexts, in user mode */
    uint32_t at;                /* now() when it ran last, modulo 2^32 */
    uint32_t insns;             /* of it in that period */
} PmuUnknownRegion;

/*
 * Half of them in sets of one confused the 4096 regions of /sampling/new-code
 * with new ones.
 */
#define PMU_UNKNOWN_SETS    2048
#define PMU_UNKNOWN_WAYS    4

/* Code of which little or nothing is known: unknown-code.c. */
typedef struct PmuUnknownRegions {
    uint32_t sum;               /* see PMU_UNKNOWN_SHARE */
    uint64_t at;                /* warmed_insns when it was changed last */
    uint32_t doublings;         /* up to PMU_UNKNOWN_MAX_DOUBLINGS */
    uint32_t contexts;          /* flushes of what is not global, so far */
    PmuUnknownRegion regions[PMU_UNKNOWN_SETS][PMU_UNKNOWN_WAYS];
} PmuUnknownRegions;

/* What the clock will be when estimates are entered into the ledger. */
typedef struct PmuClockEstimate {
    uint64_t progress;          /* pmu_timing_progress() when they were last */
    double slots;               /* ... and what it is worth, as it was then */
} PmuClockEstimate;

struct PmuTiming {
    uint64_t progress;          /* see pmu_timing_progress() */
    PmuClockEstimate clock;     /* see pmu_timing_clock_estimate() */
    const PmuUarch *uarch;
    PmuInterest interest;
    PmuLedger *ledger;
    /* What the ledger lacks: */
    PmuCounts counts;           /* what @seen does not show */
    uint64_t taken;             /* conditional branches, likewise */
    PmuLedger seen;             /* by the functional model, at PMU_LEVEL_OS */
    uint32_t passed;            /* instructions that are in @runs alone */
    PmuCovariates accounted;    /* of functional.covariates, accounted for */

    PmuRegion region;
    PmuSamplingPlan plan;
    PmuUnknownRegions unknown;
    uint32_t assists;           /* at the end of the current region */
    PmuString string;
    PmuSample string_sample;    /* what it took, if it is @sampled, else 0: not
                                   in @string, as to clear that takes time */
    uint64_t contested_until;   /* in terms of @progress: see CONTESTED */
    PmuBlockRuns runs;          /* in PMU_PHASE_FAST_FORWARD and
                                   PMU_PHASE_FUNCTIONAL_WARMING */
    PmuCpiTable cpi_table;
    PmuFunctionalModel functional;
    PmuPipeline pipeline;
};

/* What has @cost ran once more. */
static inline void pmu_timing_count_known_region(PmuTiming *t,
                                                 PmuCpiEntry *cost)
{
    pmu_cpi_table_count(&t->cpi_table, cost);
    t->progress += cost->slots;
}

#endif
