/*
 * Times of memory accesses: fill buffers, L2, L3, DRAM, prefetches under way,
 * page walkers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * It computes in which cycle a line arrives or a page walk ends, from the
 * outcomes that memory.h provides.  The caller makes requests in program order,
 * and says in which cycle each begins.  All times are cycles of the clock.
 */

#ifndef TARGET_I386_PMU_MEMORY_MISS_TIMING_H
#define TARGET_I386_PMU_MEMORY_MISS_TIMING_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/ledger/slot-clock.h"
#include "tcg/pmu/memory/outcome.h"
#include "tcg/pmu/memory/outstanding.h"
#include "tcg/pmu/memory/reservation-table.h"
#include "tcg/pmu/uarch/uarch.h"

/* Sizes of rings of misses and prefetches, as far back as outcomes reach. */
#define PMU_FILL_RING   PMU_OUTCOME_FILLS
#define PMU_PREFETCH_RING PMU_OUTCOME_PREFETCHES

/* Who asks for a line: PmuMissTiming.requester. */
typedef enum PmuRequester {
    PMU_REQUEST_LOAD,
    PMU_REQUEST_STORE,
    PMU_REQUEST_PREFETCH,          /* PREFETCHh */
    PMU_REQUEST_L1D_PREFETCH,                /* the prefetcher of L1D */
    PMU_REQUEST_FETCH,
    PMU_REQUEST_DEMANDED = 0x80,            /* flag: a load waits for it, too */
} PmuRequester;

typedef struct PmuMissTiming {
    const PmuUarch *uarch;
    PmuClock *clock;
    PmuOutstanding *outstanding;
    PmuReservationTable walker[PMU_MAX_PAGE_WALKERS];
    uint64_t fills, prefetches;         /* numbers of misses and prefetches */
    /* By number of the miss: when its line is in L1, and who asked for it. */
    uint64_t fill[PMU_FILL_RING];
    uint8_t requester[PMU_FILL_RING];   /* PmuRequester */
    uint64_t buffer[PMU_MAX_FILL_BUFFERS];      /* when it is free: of L1D */
    uint64_t code_buffer[PMU_MAX_FILL_BUFFERS]; /* ... of L1I */
    uint64_t code_line;         /* when L1I can ask for its next line */
    uint64_t prefetch[PMU_PREFETCH_RING];       /* by number: when L2 has it */
    uint64_t l3_free, dram_free;        /* when the next line can leave it */
    uint64_t buffer_waits_until;        /* when waits for a fill buffer end */
    uint64_t rfo_until, code_until;     /* ... requests of stores, of fetch,
                                           beyond L2 */
} PmuMissTiming;

/*
 * Initialise @m: nothing is under way.  @clock and @outstanding must stay where
 * they are.
 */
void pmu_miss_timing_init(PmuMissTiming *m, const PmuUarch *uarch,
                          PmuClock *clock, PmuOutstanding *outstanding);

/*
 * When the line of @access, whose source is PMU_SOURCE_FILL, arrives in L1; 0
 * if it has arrived.
 */
uint64_t pmu_miss_timing_fill(const PmuMissTiming *m,
                              const PmuAccessOutcome *access);

/*
 * When a line that missed L1I and is asked for from @start on arrives.  @start
 * can be before the clock's cycle, as the predictor asks for a line before
 * fetch gets to it.
 */
uint64_t pmu_miss_timing_code_miss(PmuMissTiming *m,
                                   const PmuAccessOutcome *access,
                                   uint64_t start);

/*
 * When the address of @access, known at @start, is translated.  @walk says what
 * a page walk is for: PMU_WALK_x.
 */
uint64_t pmu_miss_timing_translate(PmuMissTiming *m,
                                   const PmuAccessOutcome *access,
                                   uint64_t start, uint8_t walk);

/*
 * When the data of @access, whose address is translated at @start, come from
 * L1D.  *@begun gets the cycle in which a line that missed L1D is asked for,
 * else @start.  Starts the prefetches that the access causes.
 */
uint64_t pmu_miss_timing_line(PmuMissTiming *m, const PmuAccessOutcome *access,
                              uint64_t start, PmuRequester requester,
                              uint64_t *begun);

/*
 * Does @access, a load whose address is translated at @start, wait for a line
 * that is on its way?
 */
bool pmu_miss_timing_waits_for_fill(const PmuMissTiming *m,
                                    const PmuAccessOutcome *access,
                                    uint64_t start);

/* Does @access, of data, need a line that L1D has not asked for yet? */
bool pmu_access_misses_l1d(const PmuAccessOutcome *access);

/*
 * Note that a load which begins at @start waits for the line of @access, as
 * pmu_miss_timing_waits_for_fill() says.  Counts it as a demand load's if
 * something else asked for it.
 */
void pmu_miss_timing_demand_fill(PmuMissTiming *m,
                                 const PmuAccessOutcome *access,
                                 uint64_t start);

/* Did a PREFETCHh ask for the line of @access, of PMU_SOURCE_FILL? */
bool pmu_miss_timing_soft_fill(const PmuMissTiming *m,
                               const PmuAccessOutcome *access);

#endif
