/*
 * The state of the timing model of one vCPU.
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

/* Lines that a string touched, and where they came from. */
typedef struct PmuStringLines {
    uint64_t all;
    uint64_t from[PMU_FOUND_IN_NR];     /* those beyond L1D */
    uint8_t prefetched_from;    /* PMU_FOUND_IN_x of the newest prefetch */
} PmuStringLines;

/* A REP string instruction that is under way: see rep-strings.c. */
typedef struct PmuString {
    bool active;                /* there is one */
    bool untimed;               /* the pipeline does not run it */
    bool sampled;               /* the pipeline runs it in a sampling unit, and
                                   the CPI table learns what it takes */
    uint32_t hash;              /* of the instruction, see PmuBlockInsn */
    uint64_t pc;                /* its linear address */
    bool in_pieces;             /* at least one piece is done */
    uint64_t bytes;             /* of this piece so far */
    PmuStringLines lines;       /* ... likewise */
    uint64_t src_line, dst_line;        /* linear address / 64, touched last */
    PmuCompletion ready;        /* when the lines that were loaded are there */
} PmuString;

/* What the model does with the regions of code that run: sampling-units.c. */
typedef enum PmuPhase {
    PMU_PHASE_FAST_FORWARD,     /* they are taken to cost what they cost in
                                   detailed simulation */
    PMU_PHASE_FUNCTIONAL_WARMING, /* data caches and predictors see them, too */
    PMU_PHASE_LINE_WARMING,     /* ... and L1I, the ITLB and L2 see lines of
                                   code */
    PMU_PHASE_FETCH_WARMING,    /* ... and the DSB does */
    PMU_PHASE_FULL_WARMING,     /* ... and all of the functional model does */
    PMU_PHASE_DETAILED_WARMING, /* ... and the pipeline runs them */
    PMU_PHASE_DETAILED,         /* functional model and pipeline count */
} PmuPhase;

/* The region of code that runs: region.c. */
typedef struct PmuRegion {
    uint64_t hash;              /* of its instructions so far */
    uint32_t insns;             /* their number; 0: no region has begun */
    uint64_t pc, phys, end;     /* linear and physical address of its start,
                                   and physical address of its end so far */
    PmuCodeMisses misses;       /* of its code, if that is fetched */
    PmuSample sample;           /* what the ledger already has of it */
} PmuRegion;

/* Which phase runs, and when others do: sampling-units.c, sampling-credit.c. */
typedef struct PmuSamplingPlan {
    PmuPhase phase;
    const PmuSampling *sampling;        /* NULL: always detailed simulation */
    int32_t left;               /* instructions until @phase ends */
    int32_t after_phase;        /* ... from then to the end of the period */
    int32_t period;             /* instructions of the current period */
    uint64_t unsampled_insns;      /* so far, those outside of sampling units */
    uint32_t wait;              /* cycles of waiting that @left does not
                                   include yet: see PERIOD_WAIT */
    uint32_t random;            /* for the next period */
    /* Values of @unsampled_insns: */
    uint64_t functional_until;  /* no fast-forward before this: see TURNS */
    uint64_t turns_until;       /* periods do not grow before this: see TURNS */
    uint64_t settled;           /* see SETTLE */
    /* The current period: */
    bool forwarded;             /* fast-forward ended in this period: waits do
                                   not shorten it */
    uint32_t observed_from;     /* its instructions that were over when caches
                                   and predictors began to see it */
    PmuCovariates before;       /* functional.covariates then */
    uint64_t streamed_before;   /* ... and functional.mem.streamed */
    /* What the last periods and sampling units said: */
    bool memory_bound;          /* see MEMORY_BOUND_WAIT */
    uint32_t steady;            /* see STEADY_MOST */
    /* Sampling units besides those of periods: */
    int32_t credit;             /* instructions that such units may still
                                   take; below 0: overdrawn */
    bool paid;                  /* a sampling unit of this period is paid for */
    bool first_of_dominant;     /* pmu_sampling_simulate_dominant() */
    bool for_unknown;           /* pmu_sampling_simulate_unknown() */
    uint32_t sampled_insns;     /* of code of little known cost, since then */
} PmuSamplingPlan;

/* A region of which nothing was known when it ran last. */
typedef struct PmuUnknownRegion {
    uint32_t tag;               /* of its key and linear address */
    uint32_t context;           /* PmuUnknownRegions.contexts when it ran last
                                   in user mode; 0 in the kernel */
    uint32_t at;                /* now() when it ran last, modulo 2^32 */
    uint32_t insns;             /* it made up so many in that period */
} PmuUnknownRegion;

/*
 * Measured: with half as many entries in sets of one, the 4096 regions of
 * /sampling/new-code were taken for new ones.
 */
#define PMU_UNKNOWN_SETS    2048
#define PMU_UNKNOWN_WAYS    4

/* Code of which little or nothing is known: unknown-code.c. */
typedef struct PmuUnknownRegions {
    uint32_t sum;               /* see PMU_UNKNOWN_SHARE */
    uint64_t at;                /* now() when @sum changed last */
    uint32_t doublings;         /* up to PMU_UNKNOWN_MAX_DOUBLINGS */
    uint32_t contexts;          /* TLB flushes of more than one page, so far */
    PmuUnknownRegion regions[PMU_UNKNOWN_SETS][PMU_UNKNOWN_WAYS];
} PmuUnknownRegions;

/* Predicts the clock before estimates are entered into the ledger. */
typedef struct PmuClockEstimate {
    uint64_t progress;          /* pmu_timing_progress() when they were last */
    double slots;               /* that one unit of progress was worth then */
} PmuClockEstimate;

struct PmuTiming {
    uint64_t progress;          /* see pmu_timing_progress() */
    PmuClockEstimate clock;     /* see pmu_timing_clock_estimate() */
    const PmuUarch *uarch;
    PmuInterest interest;
    PmuLedger *ledger;
    /* What the ledger lacks: */
    PmuCounts counts;           /* retired instructions by class */
    uint64_t taken;             /* conditional branches that were taken */
    /* What the functional model counted, at PMU_LEVEL_OS at any level. */
    PmuLedger functional_counts;
    uint32_t uncollected_insns; /* instructions that only @runs counts */
    PmuCovariates accounted;    /* functional.covariates, as far as costs and
                                   estimates account for them */

    PmuRegion region;
    PmuSamplingPlan plan;
    PmuUnknownRegions unknown;
    uint32_t assists;           /* to be taken where the current region ends */
    PmuString string;
    PmuSample string_sample;    /* what @string took if it is @sampled, else 0.
                                   Not a part of it: clearing it takes time */
    uint64_t contested_until;   /* a value of @progress: see CONTESTED */
    PmuBlockRuns runs;          /* of phases up to PMU_PHASE_LINE_WARMING */
    PmuCpiTable cpi_table;
    PmuFunctionalModel functional;
    PmuPipeline pipeline;
};

/* Do data caches and branch predictors see what runs, but not the DSB? */
static inline bool pmu_timing_warms_functionally(const PmuTiming *t)
{
    return t->plan.phase == PMU_PHASE_FUNCTIONAL_WARMING ||
           t->plan.phase == PMU_PHASE_LINE_WARMING;
}

/*
 * Do caches of code see what runs, although estimates count their misses?  Then
 * the caller has to discard the misses that they count.
 */
static inline bool pmu_timing_warms_code(const PmuTiming *t)
{
    return t->plan.phase == PMU_PHASE_LINE_WARMING ||
           t->plan.phase == PMU_PHASE_FETCH_WARMING;
}

/* The code that has @cost ran once more. */
static inline void pmu_timing_count_known_region(PmuTiming *t,
                                                 PmuCpiEntry *cost)
{
    pmu_cpi_table_count(&t->cpi_table, cost);
    t->progress += cost->slots;
}

#endif
