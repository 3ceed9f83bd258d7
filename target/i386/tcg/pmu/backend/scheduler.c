/*
 * The scheduler: micro-ops that wait to be dispatched.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "tcg/pmu/backend/scheduler.h"

static int compare_cycles(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Repair: count again how many micro-ops are in the scheduler. */
static void recount(PmuPipeline *p)
{
    p->repairs++;
    p->scheduler.occupied = p->scheduler.num_late;
    for (unsigned i = 0; i < PMU_CYCLE_WINDOW; i++) {
        p->scheduler.occupied += p->scheduler.dispatches[i];
    }
}

uint64_t pmu_scheduler_free_at(PmuPipeline *p, uint32_t n)
{
    uint32_t size = p->uarch->scheduler, scheduled = p->scheduler.occupied;
    uint64_t cycle = p->clock.cycle, end = cycle + PMU_CYCLE_WINDOW;

    while (scheduled + n > size && scheduled > p->scheduler.num_late &&
           cycle < end) {
        scheduled -= p->scheduler.dispatches[cycle++ % PMU_CYCLE_WINDOW];
    }
    if (G_UNLIKELY(scheduled + n > size &&
                   scheduled > p->scheduler.num_late)) {
        /* More micro-ops are in it than ever leave, which is impossible. */
        recount(p);
        return cycle;
    }
    if (scheduled + n > size && p->scheduler.num_late) {
        /* The others leave beyond the window: wait for enough of them. */
        uint64_t late[PMU_MAX_LATE_DISPATCHES];

        memcpy(late, p->scheduler.late, p->scheduler.num_late * sizeof(*late));
        qsort(late, p->scheduler.num_late, sizeof(*late), compare_cycles);
        cycle = late[MIN(scheduled + n - size, p->scheduler.num_late) - 1] + 1;
    }
    return cycle;
}

void pmu_scheduler_remove(PmuPipeline *p, uint64_t cycle)
{
    uint16_t *near = &p->scheduler.dispatches[cycle % PMU_CYCLE_WINDOW];

    if (cycle < p->clock.cycle) {
        return;                 /* it was dispatched meanwhile */
    }
    if (p->scheduler.num_late &&
        p->scheduler.late[p->scheduler.num_late - 1] == cycle) {
        p->scheduler.num_late--;
        p->scheduler.occupied--;
    } else if (G_LIKELY(*near)) {
        --*near;
        p->scheduler.occupied--;
    } else {
        /* The scheduler does not have it, which is impossible. */
        p->repairs++;
    }
}

bool pmu_scheduler_bring_near(PmuPipeline *p)
{
    PmuScheduler *s = &p->scheduler;
    uint64_t end = p->clock.cycle + PMU_CYCLE_WINDOW;
    uint32_t late = 0;

    for (uint32_t i = 0; i < s->num_late; i++) {
        if (s->late[i] < end) {
            s->dispatches[s->late[i] % PMU_CYCLE_WINDOW]++;
        } else {
            s->late[late++] = s->late[i];
        }
    }
    s->num_late = late;
    return late;
}
