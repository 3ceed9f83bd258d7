/*
 * What happened to an instruction, told without any time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Caches, TLBs and predictors are functions of the addresses and targets in
 * program order; the pipeline model is a function of instructions and of these
 * outcomes.  No time flows back, so that the pipeline need not run for the
 * first half to know what happens: see timing.c.
 */

#ifndef TARGET_I386_PMU_MEMORY_OUTCOME_H
#define TARGET_I386_PMU_MEMORY_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/decode/block.h"

/* Where an access found its line, or a load its data. */
typedef enum PmuDataSource {
    PMU_SOURCE_L1,
    PMU_SOURCE_FILL,            /* in L1, but a miss may be fetching it yet */
    PMU_SOURCE_L2,
    PMU_SOURCE_PREFETCH,        /* in L2, but perhaps still on its way */
    PMU_SOURCE_L3,
    PMU_SOURCE_DRAM,
} PmuDataSource;

/* Where a line is that is not in L1; ledger items of a kind have this order. */
typedef enum PmuFoundIn {
    PMU_FOUND_IN_L2, PMU_FOUND_IN_L3, PMU_FOUND_IN_DRAM, PMU_FOUND_IN_NR
} PmuFoundIn;

/* Outcomes that a PmuAccessOutcome cannot say exactly are cut at these. */
#define PMU_OUTCOME_FILLS       64      /* PmuAccessOutcome.fill is below */
#define PMU_OUTCOME_PREFETCHES  64      /* ... and .prefetch */
#define PMU_OUTCOME_STORES      128     /* ... and .store is at most */

/*
 * A line that a load has the prefetcher of L1D ask for; the members mean what
 * those of PmuAccessOutcome do.
 */
typedef struct PmuL1dPrefetchOutcome {
    uint8_t source;             /* PMU_SOURCE_L1: none, or it is there */
    uint8_t prefetch;
    uint8_t snoop;
    uint8_t prefetch_l3;
    uint8_t prefetch_dram;
} PmuL1dPrefetchOutcome;

/*
 * A data access to one line, or a fetch of one.  All zero: a hit in L1 and in
 * the first-level TLB, with no store to forward from.
 */
typedef struct PmuAccessOutcome {
    uint8_t source;             /* PmuDataSource */
    uint8_t store;              /* a load: 1 + number of stores since the one
                                   that it takes data from; 0: none */
    uint8_t fill;               /* _FROM_FILL: misses since that one; data and
                                   code misses of the L1s count alike */
    uint8_t prefetch;           /* _FROM_PREFETCH: prefetches since that one */
    uint8_t delay;              /* cycles that a look at the STLB takes */
    uint16_t walk;              /* ... a page walk on top; 0: none */
    uint8_t snoop;              /* ... another vCPU, which has the line */
    uint8_t blocked;            /* the store cannot forward all it needs */
    uint8_t alias;              /* a load: 1 + number of stores since one that
                                   is alike in the low 12 bits; 0: none */
    uint8_t prefetch_l3;        /* prefetches into L2 set off, found in L3 */
    uint8_t prefetch_dram;      /* ... and in DRAM; they go after the others */
    uint8_t smc;                /* a store to code that fetch had; no more */
    uint8_t ordering_clear;     /* a load of a line that another vCPU has just
                                   taken: what it had loaded before is void */
    PmuL1dPrefetchOutcome l1d_prefetch; /* numbered after all the others */
} PmuAccessOutcome;

/* What the end of a block did, PmuOutcome.branch; 0: nothing that counts. */
#define PMU_OUTCOME_TAKEN       (1u << 0)
#define PMU_OUTCOME_MISPREDICT  (1u << 1)
#define PMU_OUTCOME_UNKNOWN     (1u << 2)   /* taken, and fetch did not know */
#define PMU_OUTCOME_LOOP_END    (1u << 3)   /* the queue's loop begins again */

/*
 * Of the part of a block that ran; what it says of the rest does not matter.
 * Bit n of a mask is for access n, or for segment n.
 */
typedef struct PmuOutcome {
    uint8_t branch;             /* PMU_OUTCOME_x */
    bool continues;             /* the first segment goes on where fetch was */
    bool looping;               /* all comes from the loop in the queue (LSD) */
    bool smc;                   /* the last of it stored to code that fetch
                                   had: all behind is fetched again */
    uint16_t legacy;            /* segments that are not in the DSB: @code */
    uint64_t special;           /* accesses that are not all zero: @access */
    uint64_t split;             /* ... that reach into a second line: @second */
    uint64_t same_line;         /* ... that are stores to the line of the store
                                   before */
    uint64_t ordering_clear;    /* ... with PmuAccessOutcome.ordering_clear */
    PmuAccessOutcome access[PMU_BLOCK_ACCESSES];
    PmuAccessOutcome second[PMU_BLOCK_ACCESSES];
    PmuAccessOutcome code[PMU_BLOCK_SEGMENTS];
} PmuOutcome;

#endif
