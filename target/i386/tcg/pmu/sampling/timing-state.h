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

/* A REP string instruction on its way: see rep-strings.c. */
typedef struct PmuString {
    bool active;
    bool untimed;               /* the pipeline does not run it */
    bool detailed;              /* ... it does, in PMU_PHASE_DETAILED */
    uint32_t hash;              /* of the instruction, see PmuBlockInsn */
    uint64_t pc;
    bool in_pieces;             /* some are done */
    uint64_t bytes;             /* of this piece so far */
    uint64_t src_line, dst_line;        /* touched last */
    PmuCompletion ready;        /* when these lines are there */
    PmuRegionCode code;
    PmuSample sample;           /* what those took, if @detailed */
} PmuString;

/* What is done with the regions of code that run: sampling-units.c. */
typedef enum PmuPhase {
    PMU_PHASE_FAST_FORWARD,     /* they cost what they cost in detailed
                                   simulation */
    PMU_PHASE_FUNCTIONAL_WARMING, /* ... but caches and predictors see them */
    PMU_PHASE_FETCH_WARMING,    /* ... and so do caches of code */
    PMU_PHASE_FULL_WARMING,     /* ... and all of the functional model does */
    PMU_PHASE_DETAILED_WARMING, /* ... and the pipeline runs them */
    PMU_PHASE_DETAILED,         /* both count */
} PmuPhase;

/* A region of which nothing is known, that runs often. */
typedef struct PmuUnknownRegion {
    uint32_t tag;               /* of its key */
    uint32_t insns;             /* of it in this period, less those of others */
} PmuUnknownRegion;

#define PMU_UNKNOWN_REGIONS 1024

/* When a region ran last of which nothing was known. */
typedef struct PmuSighting {
    uint32_t tag;               /* sighting_tag() of it */
    uint32_t at;                /* now(), modulo 2^32 */
} PmuSighting;

/*
 * Half of them in sets of one confused the 4096 regions of /sampling/new-code
 * with new ones.
 */
#define PMU_SIGHTING_SETS   2048
#define PMU_SIGHTING_WAYS   4

/* What the clock will be when estimates are entered into the ledger. */
typedef struct PmuClockEstimate {
    uint64_t progress;          /* pmu_timing_progress() when they were last */
    double slots;               /* ... and what it is worth, as it was then */
} PmuClockEstimate;

struct PmuTiming {
    uint64_t progress;          /* see pmu_timing_progress() */
    PmuClockEstimate clock;     /* see pmu_timing_clock_estimate() */
    const PmuUarch *uarch;
    PmuLedger *ledger;
    PmuCounts counts;           /* what @seen does not show */
    uint64_t taken;             /* conditional branches, likewise */
    /* What the functional model saw and the ledger lacks, at PMU_LEVEL_OS. */
    PmuLedger seen;

    /* The current region. */
    uint64_t hash;              /* of its instructions so far */
    uint32_t insns;             /* their number */
    uint64_t pc, phys, end;     /* where it begins; the latter's end so far */
    PmuCodeMisses misses;       /* of its code, if that is fetched */
    PmuRegionCode code;         /* where it lies, if that is looked at */
    uint64_t line;              /* of the last instruction there */
    PmuSample sample;           /* what the ledger shows of it already */

    PmuPhase phase;
    const PmuSampling *sampling;        /* NULL: always detailed simulation */
    PmuInterest interest;
    uint64_t functional_until;  /* in terms of @warmed_insns, see TURNS */
    uint64_t turns_until;       /* the same */
    bool forwarded;             /* fast-forward ended in this period: waits do
                                   not shorten it */
    bool memory_bound;          /* see MEMORY_BOUND_WAIT */
    bool memory_doubtful;       /* ... maybe as L3 lacks what was not observed:
                                   with time_only it is soon asked again */
    bool refills;               /* see REFILL_SHARE */
    uint32_t observed_from;     /* instructions of this period that were over
                                   when caches and predictors saw all of it */
    PmuCovariates before;       /* functional.covariates then */
    int32_t left;               /* instructions until this one ends */
    int32_t behind;             /* ... of the period at hand behind it */
    uint32_t wait;              /* cycles that do not make one of those yet */
    uint32_t random;            /* for the next period */
    int32_t period;             /* instructions of the period at hand */
    int32_t credit;             /* instructions that may be simulated in detail
                                   yet */
    bool paid;                  /* a sampling unit of this period is paid for */
    uint64_t warmed_insns;      /* not simulated in detail, so far */
    uint64_t settled;           /* in terms of @warmed_insns, see SETTLE */
    uint32_t steady;            /* see STEADY_MOST */
    bool waits_changed;         /* see SURPRISE_SHARE */
    bool first_of_dominant;     /* pmu_sampling_simulate_dominant() */
    bool for_unknown;           /* pmu_sampling_simulate_unknown() */
    uint32_t sampled_insns;     /* instructions since then */
    uint32_t unknown;           /* see PMU_UNKNOWN_SHARE */
    uint32_t unknown_twice;     /* so many times, PMU_UNKNOWN_MAX_DOUBLINGS */
    uint64_t unknown_at;        /* @warmed_insns when it was changed last */
    /* By a hash of the key. */
    PmuUnknownRegion unknown_regions[PMU_UNKNOWN_REGIONS];
    PmuSighting sightings[PMU_SIGHTING_SETS][PMU_SIGHTING_WAYS];
    uint32_t contexts;          /* flushes of what is not global, so far */
    PmuCovariates accounted;    /* of functional.covariates, accounted for */
    uint64_t contested_until;   /* in terms of @progress: see CONTESTED */

    uint32_t assists;           /* at the end of the current region */
    PmuString string;
    PmuBlockRuns runs;          /* in PMU_PHASE_FAST_FORWARD and
                                   PMU_PHASE_FUNCTIONAL_WARMING */
    uint64_t *successors;       /* see pmu_branch_predictor_successors() */
    uint32_t passed;            /* instructions that are in @runs alone */
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
