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
 * Slots by PmuSlotClass, PmuCovariates by PmuCovariate, each in a group; and
 * ledger items from PMU_ITEM_SAMPLED on.
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

/* Where ledger item @item, PMU_ITEM_SAMPLED or later, is in a sample. */
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

/*
 * The mean of what a region took in detailed simulation.  Each sampling unit
 * that it was in weighs by how often it ran there, and older ones weigh less:
 * see pmu_cpi_table_add_sample().
 */
typedef struct PmuCpiMeans {
    PmuRegionCode code;         /* when last simulated */
    float weight;               /* of @mean, in samples */
    uint32_t samples;           /* up to a limit */
    uint32_t units;             /* that it was in, up to a limit */
    uint32_t unit;              /* PmuCpiTable.units of the newest of them */
    uint32_t groups;            /* with a mean that is not 0: a bit each */
    float mean[PMU_SAMPLE_SPACE];
} PmuCpiMeans;

G_STATIC_ASSERT(PMU_SAMPLE_SPACE / PMU_SAMPLE_GROUP <= 32);

/* Sums over sampled regions of any key, older units' weighing less. */
typedef struct PmuCpiAverage {
    uint32_t unit;              /* PmuCpiTable.units of the newest of them */
    double insns;
    double item[PMU_SAMPLE_SPACE];
} PmuCpiAverage;

/*
 * What of a sample depends on PmuCovariates: the first rows, and their number.
 */
enum {
    PMU_RESPONSE_BR_MISPREDICT,
    PMU_RESPONSES = 31
};

/* Regions of which nothing is known. */
typedef struct PmuUnknown {
    uint64_t insns;
    uint64_t retiring;          /* slots */
    PmuCodeMisses code;
} PmuUnknown;

/* What was counted at a privilege level and not taken yet. */
typedef struct PmuEstimate {
    double sum[PMU_SAMPLE_SPACE];
    PmuUnknown unknown;
    PmuCovariates covariates;
    double debt[PMU_RESPONSES]; /* to be taken off yet */
} PmuEstimate;

/* What comes of PmuCovariates. */
typedef struct PmuEffects {
    double stalls[PMU_COVARIATE_NR];    /* cycles, of one that is waited */
    double ratio[PMU_RESPONSES];        /* of each to what it depends on */
} PmuEffects;

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
    uint32_t *epochs;           /* beside each entry: when it was needed last */
    PmuCpiMeans *means;         /* likewise */
    PmuCpiEntrySet dirty;       /* those with pending */
    PmuCpiEntrySet ran;         /* settled, and not seen: for_each_code() */
    uint32_t units;             /* calls of pmu_cpi_table_begin_unit() */
    uint32_t change;            /* which was the newest before a change */
    bool observed;              /* the covariates of what is counted are known */
    double waited, predicted;   /* cycles, since pmu_cpi_table_judge() */
    uint32_t wanted;            /* groups that are tallied, a bit each */
    const PmuUarch *uarch;
    PmuEstimate estimate[PMU_LEVEL_NR];
    PmuCpiAverage typical[PMU_LEVEL_NR];        /* for what is unknown */
    PmuEffects effects[PMU_LEVEL_NR];
} PmuCpiTable;

/* Turned over in the keys of entries that have not enough samples yet. */
#define PMU_CPI_LOW_CONFIDENCE (1ull << 63)

#endif
