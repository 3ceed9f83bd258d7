/*
 * What can be held by one user at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 *
 * Users come in program order, but hold it from when their operands are there.
 * Which of two that wait is first is known only when both have come; so a user
 * takes cycles, from those in between as well, rather than a stretch of them,
 * and it is idle only if nobody could use it.
 */

#include <glib.h>
#include <string.h>

#include "holds.h"

uint64_t pmu_holds_free(const PmuHolds *holds, uint64_t from, bool order)
{
    for (uint32_t i = 0; i < holds->num; i++) {
        if (!order && from < holds->at[i].start) {
            break;
        }
        from = MAX(from, holds->at[i].end);
    }
    return from;
}

/* Make @i and the one behind it one. */
static void join(PmuHolds *holds, uint32_t i)
{
    holds->at[i].end = holds->at[i + 1].end;
    holds->num--;
    memmove(&holds->at[i + 1], &holds->at[i + 2],
            (holds->num - i - 1) * sizeof(*holds->at));
}

static void forget(PmuHolds *holds, uint64_t before)
{
    uint32_t over = 0;

    while (over < holds->num && holds->at[over].end <= before) {
        over++;
    }
    if (over) {
        holds->num -= over;
        memmove(holds->at, &holds->at[over], holds->num * sizeof(*holds->at));
    }
}

/* The one that ends at @start, which is free: a new one if need be. */
static uint32_t begin(PmuHolds *holds, uint64_t start)
{
    uint32_t i = 0;

    while (i < holds->num && holds->at[i].start < start) {
        i++;
    }
    if (i && holds->at[i - 1].end == start) {
        return i - 1;
    }
    memmove(&holds->at[i + 1], &holds->at[i],
            (holds->num++ - i) * sizeof(*holds->at));
    holds->at[i].start = start;
    holds->at[i].end = start;
    return i;
}

void pmu_holds_take(PmuHolds *holds, uint64_t now, uint64_t start,
                    uint64_t cycles)
{
    uint32_t i;

    forget(holds, now);
    i = begin(holds, start);
    while (i + 1 < holds->num) {
        uint64_t room = holds->at[i + 1].start - holds->at[i].end;

        if (room > cycles) {
            break;
        }
        cycles -= room;
        join(holds, i);
    }
    holds->at[i].end += cycles;
    if (holds->num > PMU_MAX_HOLDS) {
        join(holds, 0);
    }
}
