/*
 * Requests outstanding in each cycle.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/memory/outstanding.h"

/* Cycles marked at a time, in the bytes of a word. */
#define RUN 8
#define ONES 0x0101010101010101ull

void pmu_outstanding_init(PmuOutstanding *o, PmuClock *clock)
{
    memset(o, 0, sizeof(*o));
    o->clock = clock;
}

/* Add one read to each of eight cycles; a cycle has no more than 128. */
static inline uint64_t one_more(uint64_t reads)
{
    return reads + (~(reads >> 7) & ONES);
}

/* Note @interval in @n ring entries from @i on. */
static void mark_entries(PmuOutstanding *o, unsigned i, unsigned n,
                         const PmuInterval *interval)
{
    uint64_t waits = ONES * interval->waits, word;

    for (; n >= RUN; n -= RUN, i += RUN) {
        if (interval->reads) {
            memcpy(&word, &o->reads[i], RUN);
            word = one_more(word);
            memcpy(&o->reads[i], &word, RUN);
        } else {
            memcpy(&word, &o->waits[i], RUN);
            word |= waits;
            memcpy(&o->waits[i], &word, RUN);
        }
    }
    for (; n; n--, i++) {
        o->reads[i] += interval->reads && o->reads[i] < 128;
        o->waits[i] |= interval->waits;
    }
}

/* Note the part of @interval that is in the window. */
static void mark_near(PmuOutstanding *o, const PmuInterval *interval)
{
    uint64_t from = MAX(interval->start, o->clock->cycle);
    uint64_t end = MIN(interval->end, o->clock->cycle + PMU_CYCLE_WINDOW);

    while (from < end) {
        unsigned i = from % PMU_CYCLE_WINDOW;
        unsigned n = MIN(end - from, PMU_CYCLE_WINDOW - i);

        mark_entries(o, i, n, interval);
        from += n;
    }
}

static inline PmuInterval *late_at(PmuOutstanding *o, uint32_t place)
{
    return &o->late[(o->first_late + place) % PMU_MAX_LATE_INTERVALS];
}

/*
 * Keep @interval, which begins at the end of the window or later.  Nearly all
 * begin behind all that are kept, or before these.  Without room the interval
 * is not counted.
 */
static void keep_late(PmuOutstanding *o, const PmuInterval *interval)
{
    uint32_t place = o->num_late;

    if (place == PMU_MAX_LATE_INTERVALS) {
        return;
    }
    if (place && interval->start <= late_at(o, 0)->start) {
        o->first_late = (o->first_late - 1) % PMU_MAX_LATE_INTERVALS;
        place = 0;
    }
    o->num_late++;
    for (; place && late_at(o, place - 1)->start > interval->start; place--) {
        *late_at(o, place) = *late_at(o, place - 1);
    }
    *late_at(o, place) = *interval;
}

/* Note @interval; keep the part beyond the window for later. */
static void mark(PmuOutstanding *o, PmuInterval interval)
{
    uint64_t window_end = o->clock->cycle + PMU_CYCLE_WINDOW;

    mark_near(o, &interval);
    if (interval.end > window_end) {
        interval.start = MAX(interval.start, window_end);
        keep_late(o, &interval);
        o->clock->window_due = MIN(o->clock->window_due,
                                   o->clock->cycle + PMU_CYCLE_WINDOW_STEP);
    }
}

void pmu_outstanding_wait_long(PmuOutstanding *o, uint64_t start, uint64_t end,
                               uint8_t waits)
{
    mark(o, (PmuInterval) { .start = start, .end = end, .waits = waits });
}

void pmu_outstanding_read(PmuOutstanding *o, uint64_t start, uint64_t end)
{
    mark(o, (PmuInterval) { .start = start, .end = end, .reads = true });
}

uint64_t pmu_outstanding_union(uint64_t *until, uint64_t start, uint64_t end)
{
    uint64_t from = MAX(start, *until);

    if (end <= from) {
        return 0;
    }
    *until = end;
    return end - from;
}

void pmu_outstanding_bring_near(PmuOutstanding *o)
{
    uint64_t window_end = o->clock->cycle + PMU_CYCLE_WINDOW;
    uint32_t due = 0;

    while (due < o->num_late && late_at(o, due)->start < window_end) {
        due++;
    }
    /*
     * All due intervals leave the ring.  What is left of each goes back to the
     * front: it begins before all others.
     */
    for (uint32_t i = due; i--;) {
        PmuInterval interval = *late_at(o, i);

        mark_near(o, &interval);
        if (interval.end > window_end) {
            interval.start = window_end;
            *late_at(o, --due) = interval;
        }
    }
    o->first_late = (o->first_late + due) % PMU_MAX_LATE_INTERVALS;
    o->num_late -= due;
    if (o->num_late) {
        o->clock->window_due = MIN(o->clock->window_due,
                                   o->clock->cycle + PMU_CYCLE_WINDOW_STEP);
    }
}
