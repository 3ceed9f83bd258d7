/*
 * CPI table entries, samples, estimates: the data alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_CPI_TYPES_H
#define TARGET_I386_PMU_SAMPLING_CPI_TYPES_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tcg/pmu/ledger/ledger.h"
#include "tcg/pmu/sampling/covariates.h"
#include "tcg/pmu/uarch/uarch.h"

/* What a region took is in groups, so that empty ones can be left out. */
#define PMU_SAMPLE_GROUP    PMU_INTEREST_GROUP

/*
 * Slots by PmuSlotClass, and PmuCovariates by PmuCovariate, each in a group.
 * Then ledger items from PMU_ITEM_SAMPLED on.
 */
enum {
    PMU_SAMPLE_COVARIATES = PMU_SAMPLE_GROUP,
    PMU_SAMPLE_ITEMS = 2 * PMU_SAMPLE_GROUP,
    PMU_SAMPLE_NR = PMU_SAMPLE_ITEMS + PMU_ITEM_NR - PMU_ITEM_SAMPLED,
};

G_STATIC_ASSERT(PMU_SLOT_NR <= PMU_SAMPLE_GROUP);

G_STATIC_ASSERT(PMU_COVARIATE_NR <= PMU_SAMPLE_GROUP);

#define PMU_SAMPLE_SPACE     ((PMU_SAMPLE_NR + PMU_SAMPLE_GROUP - 1) / \
                              PMU_SAMPLE_GROUP * PMU_SAMPLE_GROUP)

typedef struct PmuSample {
    uint32_t item[PMU_SAMPLE_SPACE];
} PmuSample;

/* Where ledger item PMU_ITEM_@name, SAMPLED or later, is in a sample. */
#define PMU_SAMPLE_ITEM(name) \
    (PMU_SAMPLE_ITEMS + PMU_ITEM_##name - PMU_ITEM_SAMPLED)

/* The same for ledger item @item. */
static inline unsigned pmu_sample_item(PmuLedgerItem item)
{
    return PMU_SAMPLE_ITEMS + item - PMU_ITEM_SAMPLED;
}

/* Slots, where they are whole numbers, are in units of 1/PMU_CPI_ONE. */
#define PMU_CPI_SHIFT   12
#define PMU_CPI_ONE     (1u << PMU_CPI_SHIFT)

/* What each region needs; the rest is in PmuCpiMeans. */
typedef struct PmuCpiEntry {
    uint64_t key;               /* see PMU_CPI_LOW_CONFIDENCE; 0: empty */
    uint32_t pending;           /* times counted, not in a tally yet */
    uint32_t slots;             /* the sum of the means that are slots */
} PmuCpiEntry;

/* More lines of a region than that are not remembered. */
#define PMU_REGION_LINES 64

/*
 * Where a region lies: so many lines from @first on, physical address / 64;
 * and the linear address of its branch, or of its beginning if there is none.
 */
typedef struct PmuRegionCode {
    uint64_t first;
    uint64_t branch;
    uint32_t lines;
    uint32_t dsb_uops;          /* room that it takes in the DSB */
    bool taken;                 /* ... which was, and was a direct one */
    bool large;                 /* in a page larger than 4 KiB */
} PmuRegionCode;

/* What is looked at most of what is not needed for each region. */
typedef struct PmuCpiUse {
    uint32_t epoch;             /* when it was needed last: see PmuCpiTable */
    uint32_t times;             /* counted in that epoch and settled */
    uint32_t insns;             /* of the region */
} PmuCpiUse;

typedef struct PmuCpiMeans {
    PmuRegionCode code;         /* when last simulated */
    uint32_t samples;           /* up to a limit */
    uint32_t changes;           /* PmuCpiTable.changes when last simulated */
    uint32_t groups;            /* with a mean that is not 0: a bit each */
    float mean[PMU_SAMPLE_SPACE];
} PmuCpiMeans;

G_STATIC_ASSERT(PMU_SAMPLE_SPACE / PMU_SAMPLE_GROUP <= 32);

/* Sums over sampled regions, old ones forgotten little by little. */
typedef struct PmuCpiAverage {
    double insns;
    double item[PMU_SAMPLE_SPACE];
} PmuCpiAverage;

/*
 * What of a sample depends on PmuCovariates: the first rows, and their number.
 */
enum {
    PMU_RESPONSE_MEMORY_BOUND,
    PMU_RESPONSE_CORE_BOUND,
    PMU_RESPONSE_BR_MISPREDICT,
    PMU_RESPONSE_FETCH_LATENCY,
    /* CORE_BOUND again: micro-ops of a wrong path do not fill all slots. */
    PMU_RESPONSE_BRANCH_WAIT,
    PMU_RESPONSE_DEPENDENT = 27
};

/* Whether an unknown region ran a short while before. */
typedef enum PmuSighted {
    PMU_SIGHTED_FIRST, PMU_SIGHTED_AGAIN, PMU_SIGHTED_NR
} PmuSighted;

/* What ran of regions of which nothing is known. */
typedef struct PmuUnknownCode {
    uint64_t insns;
    PmuCodeMisses misses;
} PmuUnknownCode;

/*
 * Costs that are not those of most runs: sampling units open where code is new,
 * which mostly costs less later on.
 */
typedef enum PmuDoubtfulCost {
    PMU_DOUBTFUL_LOW_CONFIDENCE,        /* of regions of few samples */
    PMU_DOUBTFUL_UNKNOWN,               /* of no sample, for PMU_SIGHTED_FIRST,
                                           without what is known of them */
    PMU_DOUBTFUL_NR
} PmuDoubtfulCost;

/*
 * What regions took in sampling units that were due, by item, and what their
 * costs had predicted, for a ratio estimator (Cochran, "Sampling Techniques",
 * ch. 6).
 */
typedef struct PmuCostRatio {
    double took[PMU_SAMPLE_SPACE], predicted[PMU_SAMPLE_SPACE];
} PmuCostRatio;

/* What was counted at a privilege level and not taken yet. */
typedef struct PmuEstimate {
    double sum[PMU_SAMPLE_SPACE];
    double doubtful[PMU_DOUBTFUL_NR][PMU_SAMPLE_SPACE];
    PmuUnknownCode unknown[PMU_SIGHTED_NR];
    PmuCovariates covariates;
    double correction[PMU_RESPONSE_DEPENDENT];  /* still to be made */
} PmuEstimate;

/*
 * Covariates of all code as they were where they were observed, and as the
 * costs of what is known of it had predicted; old ones fade with each epoch.
 */
typedef struct PmuObservedCovariates {
    double known[PMU_COVARIATE_NR], predicted[PMU_COVARIATE_NR];
} PmuObservedCovariates;

/* What some samples were beyond their means, together. */
typedef struct PmuResidualBatch {
    double covariates[PMU_COVARIATE_NR];
    double took[PMU_RESPONSE_DEPENDENT];
    uint32_t samples;
} PmuResidualBatch;

/*
 * The linear regression of something on what is known: sums of products over
 * batches, and the slope.
 */
typedef struct PmuRegression {
    double xx, xy, yy;
    double slope;
} PmuRegression;

/*
 * Slots by PmuSlotClass: what they were, and what was predicted of them before;
 * and what was known beyond that.  Old ones are forgotten by half with each
 * sampling unit.
 */
typedef struct PmuPredictionError {
    double took[PMU_SLOT_NR], predicted[PMU_SLOT_NR];
    double covariates[PMU_COVARIATE_NR];
} PmuPredictionError;

/* Sets of a few entries, each set a line of the host's cache. */
#define PMU_CPI_SET_BITS    12
#define PMU_CPI_WAYS        4
#define PMU_CPI_ENTRIES     (PMU_CPI_WAYS << PMU_CPI_SET_BITS)

/* Entries, a bit each. */
typedef struct PmuCpiEntrySet {
    uint64_t word[PMU_CPI_ENTRIES / 64];
} PmuCpiEntrySet;

typedef struct PmuCpiTable {
    PmuCpiEntry *entries;
    PmuCpiUse *uses;            /* beside each entry */
    PmuCpiMeans *means;         /* likewise */
    PmuCpiEntrySet dirty;       /* those with pending */
    PmuCpiEntrySet ran;         /* settled, and not seen: for_each_code() */
    uint32_t samples;           /* so far */
    uint32_t epoch;             /* calls of pmu_cpi_table_begin_epoch() */
    uint32_t changes;           /* calls of pmu_cpi_table_note_change() */
    uint32_t units;             /* calls of pmu_cpi_table_begin_unit() */
    /* The most instructions of this epoch by an entry of low confidence. */
    uint64_t most_low_confidence;
    double stands_for;          /* ... of WHOLE_PERIOD, the current one */
    PmuCostRatio ratio[PMU_DOUBTFUL_NR];
    PmuPredictionError trial;   /* of what is learnt in sampling units */
    double waited, predicted;    /* in this epoch, in cycles */
    PmuObservedCovariates observed_covariates;
    bool observed;              /* pmu_cpi_table_set_observed() */
    uint32_t wanted;            /* groups that are tallied, a bit each */
    const PmuUarch *uarch;
    PmuEstimate estimate[PMU_LEVEL_NR];
    PmuCpiAverage typical;      /* of any code */
    PmuCpiAverage first;        /* of code that was new to the table */
    uint32_t firsts;            /* samples of that, so far */
    PmuResidualBatch batch;
    double batches;             /* in fits, as far as they are remembered */
    PmuRegression fit[PMU_RESPONSE_DEPENDENT];
} PmuCpiTable;

/* Turned over in the keys of entries that have not enough samples yet. */
#define PMU_CPI_LOW_CONFIDENCE (1ull << 63)

/*
 * Adding and taking off one of these rounds to a multiple of 2^-20, or of more
 * if a float has no more digits.  Sums of a few thousand millions of such are
 * exact, so that it does not matter when they are taken; and what fades away
 * stays a multiple: hosts take a hundred times as long for numbers that are too
 * small to be normalised.
 */
#define PMU_QUANTUM_FLOAT     12.0f         /* 1.5 * 2^(23 - 20) */
#define PMU_QUANTUM_DOUBLE    6442450944.0  /* 1.5 * 2^(52 - 20) */

static inline double pmu_round_to_quantum(double value)
{
    return (value + PMU_QUANTUM_DOUBLE) - PMU_QUANTUM_DOUBLE;
}

/* The @n sums weigh 1/e after @memory calls of this. */
static inline void pmu_fade_sums(double *sum, unsigned n, unsigned memory)
{
    for (unsigned i = 0; i < n; i++) {
        sum[i] = pmu_round_to_quantum(sum[i] - sum[i] / memory);
    }
}

/* How far @item of @sample is from its mean. */
static inline float pmu_sample_residual(const PmuCpiMeans *means,
                                        const PmuSample *sample, unsigned item)
{
    return (int32_t)sample->item[item] - means->mean[item];
}

#endif
