/*
 * Requests outstanding in each cycle: what loads wait for, page walks, reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Noted by cycle when a request begins, as it is then known how long it takes;
 * counted when the clock leaves the cycle.  Nothing of it takes part in the
 * timing.
 */

#ifndef TARGET_I386_PMU_MEMORY_OUTSTANDING_H
#define TARGET_I386_PMU_MEMORY_OUTSTANDING_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tcg/pmu/ledger/slot-clock.h"

/* PmuOutstanding.waits */
#define PMU_WAIT_ANY    (1u << 0)
#define PMU_WAIT_L1     (1u << 1)
#define PMU_WAIT_L2     (1u << 2)
#define PMU_WAIT_L3     (1u << 3)
#define PMU_WAITS       15u

/* ... and for what a page walk is under way. */
#define PMU_WALK_LOAD   (1u << 4)
#define PMU_WALK_STORE  (1u << 5)
#define PMU_WALK_CODE   (1u << 6)

/*
 * Cycles from @start up to @end in which a load waits, as PmuPipeline.waits has
 * it, or (@reads) a read of data is under way beyond L2.
 */
typedef struct PmuInterval {
    uint64_t start, end;
    uint8_t waits;
    bool reads;
} PmuInterval;

/* Intervals that reach beyond it: loads, walks and prefetches under way. */
#define PMU_MAX_LATE_INTERVALS 1024

typedef struct PmuOutstanding {
    PmuClock *clock;
    /*
     * By cycle: what loads wait for (bit 0: anything, 1: a line not in L1D, 2:
     * nor in L2, 3: nor in L3) and page walks; reads beyond L2.
     */
    uint8_t waits[PMU_CYCLE_WINDOW], reads[PMU_CYCLE_WINDOW];
    uint32_t num_late;
    PmuInterval late[PMU_MAX_LATE_INTERVALS];   /* end beyond the window */
} PmuOutstanding;

/* Nothing is outstanding. */
void pmu_outstanding_init(PmuOutstanding *o, PmuClock *clock);

/* A load waits from @start up to @end; @waits: PMU_WAIT_x or _WALK_x. */
void pmu_outstanding_wait_long(PmuOutstanding *o, uint64_t start, uint64_t end,
                               uint8_t waits);

/* The same; most loads hit L1D.  Hot. */
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

/* A read of data is under way beyond L2 from @start up to @end. */
void pmu_outstanding_read(PmuOutstanding *o, uint64_t start, uint64_t end);

/*
 * The cycles of [@start, @end) that are not before *@until, which becomes
 * @end: of what is under way how many cycles have any.  That is a few too many
 * or too few when @start falls behind earlier ones.
 */
uint64_t pmu_outstanding_union(uint64_t *until, uint64_t start, uint64_t end);

/* The clock has moved on: what of that beyond the window is in it now? */
void pmu_outstanding_bring_near(PmuOutstanding *o);

#endif
