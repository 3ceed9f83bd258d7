/*
 * Requests outstanding in each cycle: what loads wait for, page walks, reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * When a request begins it is known how long it takes, and it is noted for each
 * of its cycles.  The cycles are counted when the clock leaves them.  Timing
 * does not depend on any of this.
 */

#ifndef TARGET_I386_PMU_MEMORY_OUTSTANDING_H
#define TARGET_I386_PMU_MEMORY_OUTSTANDING_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tcg/pmu/ledger/slot-clock.h"

/* PmuOutstanding.waits: a load waits for ... */
#define PMU_WAIT_ANY     (1u << 0)       /* anything */
#define PMU_WAIT_L1_MISS (1u << 1)       /* a line that L1D lacks */
#define PMU_WAIT_L2_MISS (1u << 2)       /* ... and L2 */
#define PMU_WAIT_L3_MISS (1u << 3)       /* ... and the L3 */
#define PMU_WAITS        15u             /* all of these */

/* ... and a page walk is under way for a load, a store or a fetch. */
#define PMU_WALK_LOAD   (1u << 4)
#define PMU_WALK_STORE  (1u << 5)
#define PMU_WALK_CODE   (1u << 6)

/*
 * Cycles from @start up to, but not including, @end in which PMU_WAIT_x and
 * PMU_WALK_x of @waits are true, or (@reads) a read of data is under way beyond
 * L2.
 */
typedef struct PmuInterval {
    uint64_t start, end;
    uint8_t waits;
    bool reads;
} PmuInterval;

/* Most intervals that end beyond the window, PMU_CYCLE_WINDOW; a power of 2. */
#define PMU_MAX_LATE_INTERVALS 1024

typedef struct PmuOutstanding {
    PmuClock *clock;
    /* By cycle: PMU_WAIT_x and PMU_WALK_x; reads under way beyond L2. */
    uint8_t waits[PMU_CYCLE_WINDOW], reads[PMU_CYCLE_WINDOW];
    /* A ring of those that end beyond the window, by ascending start. */
    uint32_t first_late, num_late;
    PmuInterval late[PMU_MAX_LATE_INTERVALS];
} PmuOutstanding;

/* Initialise @o: nothing is outstanding. */
void pmu_outstanding_init(PmuOutstanding *o, PmuClock *clock);

/* Note @waits, PMU_WAIT_x or PMU_WALK_x, for the cycles from @start to @end. */
void pmu_outstanding_wait_long(PmuOutstanding *o, uint64_t start, uint64_t end,
                               uint8_t waits);

/* The same, faster for the few cycles of a load that hits L1D.  Hot. */
static inline void pmu_outstanding_wait(PmuOutstanding *o, uint64_t start,
                                        uint64_t end, uint8_t waits)
{
    uint64_t length = end - start, word;
    unsigned i = start % PMU_CYCLE_WINDOW;

    if (G_LIKELY(length - 1 < 8 && i <= PMU_CYCLE_WINDOW - 8 &&
                 end <= o->clock->cycle + PMU_CYCLE_WINDOW)) {
        memcpy(&word, &o->waits[i], sizeof(word));
        word |= GUINT64_TO_LE((0x0101010101010101ull * waits) >>
                              8 * (8 - length));
        memcpy(&o->waits[i], &word, sizeof(word));
    } else {
        pmu_outstanding_wait_long(o, start, end, waits);
    }
}

/* Note a read of data that is under way beyond L2 from @start to @end. */
void pmu_outstanding_read(PmuOutstanding *o, uint64_t start, uint64_t end);

/*
 * How many cycles of [@start, @end) are not before *@until, which becomes @end
 * if there are any.  The sum over all requests is the number of cycles with any
 * request under way.  It is a few too many or too few if a request starts
 * before an earlier one.
 */
uint64_t pmu_outstanding_union(uint64_t *until, uint64_t start, uint64_t end);

/* The clock has moved on: note the intervals that the window has reached. */
void pmu_outstanding_bring_near(PmuOutstanding *o);

#endif
