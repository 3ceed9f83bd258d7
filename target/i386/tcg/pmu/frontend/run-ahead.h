/*
 * The fetch target queue, in which the branch predictor runs ahead of fetch.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The predictor enters what is to be fetched into the queue, one entry a cycle,
 * until the queue is full.  An entry is the code of a window of the DSB, up to
 * a taken branch.  If the ITLB or L1I lacks it, it is asked for at once
 * (Reinman, Calder and Austin, "Fetch directed instruction prefetching", MICRO
 * 1999; Ishii et al., "Re-establishing fetch-directed instruction prefetching",
 * ISPASS 2021).  Fetch takes entries in order.  The model knows the right path
 * alone, so of the queue it only keeps when entries enter and leave.
 */

#ifndef TARGET_I386_PMU_FRONTEND_RUN_AHEAD_H
#define TARGET_I386_PMU_FRONTEND_RUN_AHEAD_H

#include <glib.h>
#include <stdint.h>

#include "tcg/pmu/uarch/uarch.h"

typedef struct PmuRunAhead {
    uint32_t targets;           /* entries of the queue; 0: there is none */
    uint64_t next;              /* cycle: the predictor has the next entry */
    uint64_t number;            /* entries that have left so far */
    uint64_t left[PMU_MAX_FETCH_TARGETS];       /* by number: the cycle */
} PmuRunAhead;

/* Initialise the empty queue of @uarch; the predictor begins in @cycle. */
void pmu_run_ahead_init(PmuRunAhead *r, const PmuUarch *uarch, uint64_t cycle);

/* Empty a queue that is in use; the predictor begins again in @cycle. */
static inline void pmu_run_ahead_restart(PmuRunAhead *r, uint64_t cycle)
{
    r->next = cycle;
}

/*
 * The cycle in which the predictor entered the next entry, to which fetch gets
 * at @now: that cycle or an earlier one.
 */
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

/* That entry is translated in @cycle: the predictor enters none before. */
static inline void pmu_run_ahead_translated(PmuRunAhead *r, uint64_t cycle)
{
    r->next = MAX(r->next, cycle);
}

/* Fetch has the line of that entry in @cycle: the entry leaves the queue. */
static inline void pmu_run_ahead_leave(PmuRunAhead *r, uint64_t cycle)
{
    r->left[r->number++ % PMU_MAX_FETCH_TARGETS] = cycle;
}

#endif
