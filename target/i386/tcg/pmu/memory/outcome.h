/*
 * Outcomes: what happened to the instructions of a block, without times.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Caches, TLBs and predictors are functions of the addresses and targets in
 * program order; the pipeline model is a function of instructions and of these
 * outcomes.  No time flows back, so that caches, TLBs and predictors can run
 * without the pipeline: see timing.c.
 */

#ifndef TARGET_I386_PMU_MEMORY_OUTCOME_H
#define TARGET_I386_PMU_MEMORY_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/decode/block.h"

/* Where an access found its line, or a load its data. */
typedef enum PmuDataSource {
    PMU_SOURCE_L1,
    PMU_SOURCE_FILL,            /* in L1, but perhaps still on its way */
    PMU_SOURCE_L2,
    PMU_SOURCE_PREFETCH,        /* in L2, but perhaps still on its way */
    PMU_SOURCE_L3,
    PMU_SOURCE_DRAM,
} PmuDataSource;

/*
 * Where a line that L1 lacks is found.  Ledger items of one kind of request
 * have this order.
 */
typedef enum PmuFoundIn {
    PMU_FOUND_IN_L2, PMU_FOUND_IN_L3, PMU_FOUND_IN_DRAM, PMU_FOUND_IN_NR
} PmuFoundIn;

/* How far back a PmuAccessOutcome reaches.  What is older counts as done. */
#define PMU_OUTCOME_FILLS       64      /* PmuAccessOutcome.fill is below */
#define PMU_OUTCOME_PREFETCHES  64      /* ... and .prefetch */
#define PMU_OUTCOME_STORES      128     /* ... and .store is at most */

/*
 * The line that the prefetcher of L1D asks for after a load.  The members mean
 * what those of PmuAccessOutcome do.
 */
typedef struct PmuL1dPrefetchOutcome {
    uint8_t source;             /* PMU_SOURCE_L1: no line, or L1D has it */
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
    uint8_t fill;               /* PMU_SOURCE_FILL: misses of L1D and L1I since
                                   the one that fetches the line */
    uint8_t prefetch;           /* PMU_SOURCE_PREFETCH: prefetches into L2
                                   since that of the line */
    uint8_t delay;              /* cycles that a lookup in the STLB takes */
    uint16_t walk;              /* ... that a page walk takes; 0: none */
    uint8_t snoop;              /* ... for another vCPU that has the line */
    uint8_t blocked;            /* @store lacks some of the load's bytes */
    uint8_t alias;              /* a load: 1 + number of stores since one whose
                                   low 12 address bits match; 0: none */
    uint8_t prefetch_l3;        /* prefetches into L2 that it caused, found in
                                   L3 */
    uint8_t prefetch_dram;      /* ... in DRAM; numbered after those */
    uint8_t smc;                /* a store whose line was in L1I, and left it */
    uint8_t ordering_clear;     /* a load of a line that another vCPU has just
                                   taken: an earlier execution of it is void */
    PmuL1dPrefetchOutcome l1d_prefetch; /* numbered after all the others */
} PmuAccessOutcome;

/* PmuOutcome.branch, at a block's end; 0: no branch, or none of these. */
#define PMU_OUTCOME_TAKEN       (1u << 0)
#define PMU_OUTCOME_MISPREDICT  (1u << 1)
#define PMU_OUTCOME_UNKNOWN     (1u << 2)   /* taken, and not in the BTB */
#define PMU_OUTCOME_LOOP_END    (1u << 3)   /* the LSD's loop begins again */

/*
 * The outcome of the part of a block that ran; bits for the rest mean nothing.
 * Bit n of a mask is for access n, or for segment n.
 */
typedef struct PmuOutcome {
    uint8_t branch;             /* PMU_OUTCOME_x */
    bool continues;             /* the first segment is in the window that
                                   fetch was in */
    bool looping;               /* the LSD delivers all of it */
    bool smc;                   /* the last instruction stored to a line of
                                   L1I: all behind it is fetched again */
    uint16_t legacy;            /* segments that the DSB lacks: see @code */
    uint64_t special;           /* accesses that are not all zero: @access */
    uint64_t split;             /* ... that reach into a second line: @second */
    uint64_t same_line;         /* stores to the line of the store before */
    uint64_t ordering_clear;    /* accesses whose .ordering_clear is set */
    PmuAccessOutcome access[PMU_BLOCK_ACCESSES];
    PmuAccessOutcome second[PMU_BLOCK_ACCESSES];
    PmuAccessOutcome code[PMU_BLOCK_SEGMENTS];
} PmuOutcome;

#endif
