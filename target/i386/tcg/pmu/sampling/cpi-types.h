/*
 * Data types of the CPI table: entries, samples, estimates.
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

/* Items of a sample come in groups of this many; empty ones are skipped. */
#define PMU_SAMPLE_GROUP    PMU_INTEREST_GROUP

/*
 * Layout of a sample: a group with slots by PmuSlotClass, a group with
 * covariates by PmuCovariate, then the ledger items from PMU_ITEM_SAMPLED on.
 */
enum {
    PMU_SAMPLE_COVARIATES = PMU_SAMPLE_GROUP,
    PMU_SAMPLE_ITEMS = 2 * PMU_SAMPLE_GROUP,
    PMU_SAMPLE_NR = PMU_SAMPLE_ITEMS + PMU_ITEM_NR - PMU_ITEM_SAMPLED,
};

G_STATIC_ASSERT(PMU_SLOT_NR <= PMU_SAMPLE_GROUP);

G_STATIC_ASSERT(PMU_COVARIATE_NR <= PMU_SAMPLE_GROUP);

/* PMU_SAMPLE_NR, rounded up to whole groups. */
#define PMU_SAMPLE_SPACE     ((PMU_SAMPLE_NR + PMU_SAMPLE_GROUP - 1) / \
                              PMU_SAMPLE_GROUP * PMU_SAMPLE_GROUP)

/* What one run of a region took in detailed simulation. */
typedef struct PmuSample {
    uint32_t item[PMU_SAMPLE_SPACE];
} PmuSample;

/* The index in a sample of PMU_ITEM_@name, PMU_ITEM_SAMPLED or later. */
#define PMU_SAMPLE_ITEM(name) \
    (PMU_SAMPLE_ITEMS + PMU_ITEM_##name - PMU_ITEM_SAMPLED)

/* The same for @item. */
static inline unsigned pmu_sample_item(PmuLedgerItem item)
{
    return PMU_SAMPLE_ITEMS + item - PMU_ITEM_SAMPLED;
}

/* Slots in integers are in units of 1/PMU_CPI_ONE (fixed point). */
#define PMU_CPI_SHIFT   12
#define PMU_CPI_ONE     (1u << PMU_CPI_SHIFT)

/*
 * An entry of the CPI table: what is needed each time a region runs.  The rest
 * is in PmuCpiUse and PmuCpiMeans.
 */
typedef struct PmuCpiEntry {
    uint64_t key;               /* see PMU_CPI_LOW_CONFIDENCE; 0: empty */
    uint32_t pending;           /* runs counted, not in PmuEstimate yet */
    uint32_t slots;             /* the mean of all slots, in 1/PMU_CPI_ONE */
} PmuCpiEntry;

/* When an entry was used: needed less often than PmuCpiEntry. */
typedef struct PmuCpiUse {
    uint32_t epoch;             /* PmuCpiTable.epoch when needed last */
    uint32_t times;             /* runs counted in that epoch, and settled */
    uint32_t insns;             /* of the region; 0: see
                                   pmu_cpi_table_add_sample() */
} PmuCpiUse;

/* What is known of the region of an entry. */
typedef struct PmuCpiMeans {
    uint32_t samples;           /* so far, as far as they are remembered */
    uint32_t changes;           /* PmuCpiTable.changes when last simulated */
    uint32_t groups;            /* a bit each: a sample was not 0 there */
    float mean[PMU_SAMPLE_SPACE];
} PmuCpiMeans;

G_STATIC_ASSERT(PMU_SAMPLE_SPACE / PMU_SAMPLE_GROUP <= 32);

/* Sums over sampled regions; old samples fade.  @item / @insns is a mean. */
typedef struct PmuCpiSums {
    double insns;
    double item[PMU_SAMPLE_SPACE];
} PmuCpiSums;

/*
 * Responses: what of a sample depends on covariates.  These are rows of
 * dependent[] in covariate-costs.c: the first ones, and the number of all.
 */
enum {
    PMU_RESPONSE_MEMORY_BOUND,
    PMU_RESPONSE_BR_MISPREDICT,
    PMU_RESPONSE_FETCH_LATENCY,
    PMU_RESPONSE_NR = 22
};

/* Did an unknown region run a short while before?  See LATELY. */
typedef enum PmuSighted {
    PMU_SIGHTED_FIRST, PMU_SIGHTED_AGAIN, PMU_SIGHTED_NR
} PmuSighted;

/* Runs of regions that have no entry: instructions, and misses of L1I. */
typedef struct PmuUnknownCode {
    uint64_t insns;
    PmuCodeMisses misses;
} PmuUnknownCode;

/*
 * How well the cost of a region is known.  Sampling units open where code is
 * new, and the same code mostly costs less later on.  Means of many samples lag
 * behind where what runs around a region changes.
 */
typedef enum PmuConfidence {
    PMU_CONFIDENCE_HIGH,        /* it has many samples */
    PMU_CONFIDENCE_LOW,         /* it has few */
    PMU_CONFIDENCE_NONE,        /* it has none, and is PMU_SIGHTED_FIRST; the
                                   cost is without what its misses and
                                   covariates say */
    PMU_CONFIDENCE_NR,
    PMU_CONFIDENCE_KNOWN_NR = PMU_CONFIDENCE_NONE /* those before it */
} PmuConfidence;

/*
 * For a ratio estimator (Cochran, "Sampling Techniques", ch. 6): what regions
 * took in sampling units that were due, and what their costs had predicted.
 */
typedef struct PmuCostRatio {
    double took[PMU_SAMPLE_SPACE], predicted[PMU_SAMPLE_SPACE];
} PmuCostRatio;

/* The same of all known regions, apart by their PmuConfidence. */
typedef struct PmuRecentCosts {
    double took[PMU_SAMPLE_SPACE];
    double predicted[PMU_CONFIDENCE_KNOWN_NR][PMU_SAMPLE_SPACE];
} PmuRecentCosts;

/*
 * The tally of a privilege level: estimates of what was counted, until
 * pmu_cpi_table_take_estimates() takes them.
 */
typedef struct PmuEstimate {
    double sum[PMU_SAMPLE_SPACE];
    /* To be multiplied by ratios, and added to @sum: */
    double uncorrected[PMU_CONFIDENCE_NR][PMU_SAMPLE_SPACE];
    PmuUnknownCode unknown[PMU_SIGHTED_NR];     /* not in the sums yet */
    PmuCovariates covariates;                   /* observed */
    double correction[PMU_RESPONSE_NR];  /* still to be made; <= 0 */
} PmuEstimate;

/*
 * Covariates of code that was observed: as they were, and as the entries of the
 * CPI table predicted, which unknown code lacks.  Old ones fade each epoch.
 */
typedef struct PmuObservedCovariates {
    double known[PMU_COVARIATE_NR], predicted[PMU_COVARIATE_NR];
} PmuObservedCovariates;

/*
 * How well means predict samples: slots by PmuSlotClass as they were and as the
 * means predicted, and residuals of covariates.  With each sampling unit older
 * ones weigh half as much.
 */
typedef struct PmuPredictionError {
    double took[PMU_SLOT_NR], predicted[PMU_SLOT_NR];
    double covariates[PMU_COVARIATE_NR];
} PmuPredictionError;

/* The table is set-associative.  A set is a line of the host's cache. */
#define PMU_CPI_SET_BITS    12
#define PMU_CPI_WAYS        4
#define PMU_CPI_ENTRIES     (PMU_CPI_WAYS << PMU_CPI_SET_BITS)

/* Some of the entries of the table, a bit each. */
typedef struct PmuCpiEntrySet {
    uint64_t word[PMU_CPI_ENTRIES / 64];
} PmuCpiEntrySet;

typedef struct PmuCpiTable {
    PmuCpiEntry *entries;
    PmuCpiUse *uses;            /* of the entry with the same index */
    PmuCpiMeans *means;         /* likewise */
    PmuCpiEntrySet dirty;       /* their @pending is not 0 */
    uint32_t samples;           /* of regions, so far */
    uint32_t epoch;             /* calls of pmu_cpi_table_begin_epoch() */
    uint32_t changes;           /* calls of pmu_cpi_table_note_change() */
    uint32_t units;             /* calls of pmu_cpi_table_begin_unit() */
    /* Most instructions of one region of low confidence, in this epoch. */
    uint64_t most_low_confidence;
    double stands_for;          /* weight of the current sampling unit: the
                                   share of WHOLE_PERIOD that it stands for */
    PmuCostRatio ratio[PMU_CONFIDENCE_NR];  /* PMU_CONFIDENCE_HIGH: 0 */
    PmuRecentCosts recent[PMU_LEVEL_NR];    /* in the newest sampling units */
    /* Of samples from sampling units. */
    PmuPredictionError prediction_error;
    double waited, predicted;   /* cycles of loads in this epoch, as observed
                                   and as the means predicted */
    PmuObservedCovariates observed_covariates;
    bool observed;              /* pmu_cpi_table_set_observed() */
    uint32_t wanted;            /* groups of items to tally, a bit each */
    const PmuUarch *uarch;
    PmuEstimate estimate[PMU_LEVEL_NR];
    PmuCpiSums typical;         /* of all samples of regions */
    PmuCpiSums first;           /* of the first sample of each region */
    uint32_t firsts;            /* samples that went into @first, so far */
    /* Of responses: slots, cycles or requests a cycle of waiting or miss. */
    double slope[PMU_RESPONSE_NR];
} PmuCpiTable;

/* This bit is inverted in PmuCpiEntry.key while there are few samples. */
#define PMU_CPI_LOW_CONFIDENCE (1ull << 63)

/*
 * Adding and subtracting one of these rounds a number to a multiple of 2^-20,
 * the quantum, or of more if a float has no more digits.  Sums of a few
 * thousand millions of such multiples are exact, so it does not matter when
 * they are taken.  Rounding also keeps sums that fade from becoming subnormal:
 * hosts take a hundred times as long for subnormal numbers.
 */
#define PMU_QUANTUM_FLOAT     12.0f         /* 1.5 * 2^(23 - 20) */
#define PMU_QUANTUM_DOUBLE    6442450944.0  /* 1.5 * 2^(52 - 20) */

static inline double pmu_round_to_quantum(double value)
{
    return (value + PMU_QUANTUM_DOUBLE) - PMU_QUANTUM_DOUBLE;
}

/* Fade the @n sums: after @memory calls they weigh 1/e. */
static inline void pmu_fade_sums(double *sum, unsigned n, unsigned memory)
{
    for (unsigned i = 0; i < n; i++) {
        sum[i] = pmu_round_to_quantum(sum[i] - sum[i] / memory);
    }
}

#endif
