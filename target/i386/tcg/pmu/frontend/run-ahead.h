/*
 * The predictor's run ahead of fetch: the fetch target queue.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The predictor enters what is to be fetched, the code of a window of the DSB
 * up to a taken branch, into a queue, one entry a cycle, until that is full;
 * what an entry lacks in the ITLB or L1I is asked for at once (Reinman, Calder
 * and Austin, "Fetch directed instruction prefetching", MICRO 1999; Ishii et
 * al., "Re-establishing fetch-directed instruction prefetching", ISPASS 2021).
 * Fetch takes entries in order.  The model knows the right path alone, so that
 * the queue is when its entries were entered and left it.
 */

#ifndef TARGET_I386_PMU_FRONTEND_RUN_AHEAD_H
#define TARGET_I386_PMU_FRONTEND_RUN_AHEAD_H

#include <glib.h>
#include <stdint.h>

#include "tcg/pmu/uarch/uarch.h"

typedef struct PmuRunAhead {
    uint32_t targets;           /* entries of the queue; 0: there is none */
    uint64_t next;              /* the predictor has the next entry then */
    uint64_t number;            /* entries that have left, so far */
    uint64_t left[PMU_MAX_FETCH_TARGETS];       /* by number: when */
} PmuRunAhead;

/* The queue of @uarch is empty, the predictor begins at @cycle. */
void pmu_run_ahead_init(PmuRunAhead *r, const PmuUarch *uarch, uint64_t cycle);

/* The same for a queue that is in use: what it had is of no use. */
static inline void pmu_run_ahead_restart(PmuRunAhead *r, uint64_t cycle)
{
    r->next = cycle;
}

/* When the next entry was entered, if fetch gets to it at @now: by then. */
static inline uint64_t pmu_run_ahead_enter(PmuRunAhead *r, uint64_t now)
{
    uint64_t room, cycle;

    if (G_UNLIKELY(!r->targets)) {
        return now;
    }
    room = r->left[(r->number - r->targets) % PMU_MAX_FETCH_TARGETS];
    cycle = MIN(MAX(r->next, room), now);
    r->next = cycle + 1;
    return cycle;
}

/* That entry is translated at @cycle: no other is before. */
static inline void pmu_run_ahead_translated(PmuRunAhead *r, uint64_t cycle)
{
    r->next = MAX(r->next, cycle);
}

/* Fetch has the line of that entry at @cycle, which leaves. */
static inline void pmu_run_ahead_leave(PmuRunAhead *r, uint64_t cycle)
{
    r->left[r->number++ % PMU_MAX_FETCH_TARGETS] = cycle;
}

#endif
