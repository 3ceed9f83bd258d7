/*
 * When lines that missed L1 arrive: fill buffers, L2, L3, DRAM, prefetches
 * under way, page walkers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The time of what memory.h says happened.  Requests come in program order,
 * each with the cycle in which it begins.
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

/* Ring sizes: powers of 2, at least the limits of what they follow. */
#define PMU_FILL_RING   PMU_OUTCOME_FILLS
#define PMU_PREFETCH_RING PMU_OUTCOME_PREFETCHES

/* Who asks for a line, PmuMissTiming.requester. */
typedef enum PmuRequester {
    PMU_REQUEST_LOAD,
    PMU_REQUEST_STORE,
    PMU_REQUEST_PREFETCH,          /* PREFETCHh */
    PMU_REQUEST_L1D_PREFETCH,                /* the prefetcher of L1D */
    PMU_REQUEST_FETCH,
    PMU_REQUEST_DEMANDED = 0x80,            /* a load waits for it, too */
} PmuRequester;

typedef struct PmuMissTiming {
    const PmuUarch *uarch;
    PmuClock *clock;
    PmuOutstanding *outstanding;
    PmuReservationTable walker[PMU_MAX_PAGE_WALKERS];
    uint64_t fills, prefetches;         /* so far */
    uint64_t fill[PMU_FILL_RING];       /* by miss: when its line is there */
    uint8_t requester[PMU_FILL_RING];   /* ... PmuRequester */
    uint64_t buffer[PMU_MAX_FILL_BUFFERS];      /* free from */
    uint64_t code_buffer[PMU_MAX_FILL_BUFFERS]; /* ... those of L1I */
    uint64_t code_line;         /* L1I can ask for the next line from then */
    uint64_t prefetch[PMU_PREFETCH_RING];       /* by number: is in L2 */
    uint64_t dram_free;         /* when the next line can leave DRAM */
    uint64_t buffers_full;      /* fill buffers are, until then */
    uint64_t rfo_until, code_until;     /* requests under way end */
} PmuMissTiming;

/* Nothing is under way.  @clock and @outstanding may not move. */
void pmu_miss_timing_init(PmuMissTiming *m, const PmuUarch *uarch,
                          PmuClock *clock, PmuOutstanding *outstanding);

/* When the line of @access, _FROM_FILL, is in L1; 0 if it has been by now. */
uint64_t pmu_miss_timing_fill(const PmuMissTiming *m,
                              const PmuAccessOutcome *access);

/*
 * When a line that missed L1I arrives, which is asked for from @start on.  That
 * can be before the clock: fetch gets to a line later than the predictor.
 */
uint64_t pmu_miss_timing_code_miss(PmuMissTiming *m,
                                   const PmuAccessOutcome *access,
                                   uint64_t start);

/*
 * When the address of @access, known at @start, is translated; @walk: for whom,
 * PMU_WALK_x.
 */
uint64_t pmu_miss_timing_translate(PmuMissTiming *m,
                                   const PmuAccessOutcome *access,
                                   uint64_t start, uint8_t walk);

/*
 * When the line of a data access is in L1D, whose address is translated at
 * @start; *@begun: if it is not there, when it is asked for.
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
 * A demand load, which begins at @start, waits for the line of @access: see
 * pmu_miss_timing_waits_for_fill().  Another may have asked for it.
 */
void pmu_miss_timing_demand_fill(PmuMissTiming *m,
                                 const PmuAccessOutcome *access,
                                 uint64_t start);

/* Did a PREFETCHh ask for that line? */
bool pmu_miss_timing_soft_fill(const PmuMissTiming *m,
                               const PmuAccessOutcome *access);

#endif
