/*
 * The reservation table of a resource that serves one user at a time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Users come in program order, but hold the resource from when their operands
 * are ready.  Which of two users is first is known only when both have come.
 * So a user does not take one interval: it takes that many free cycles, also
 * between reservations.  The resource is idle only if no user could use it.
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/memory/reservation-table.h"

uint64_t pmu_reservation_table_first_free(const PmuReservationTable *table,
                                          uint64_t from, bool order)
{
    for (uint32_t i = 0; i < table->num; i++) {
        if (!order && from < table->at[i].start) {
            break;
        }
        from = MAX(from, table->at[i].end);
    }
    return from;
}

/* Merge interval @i and the one behind it. */
static void join(PmuReservationTable *table, uint32_t i)
{
    table->at[i].end = table->at[i + 1].end;
    table->num--;
    memmove(&table->at[i + 1], &table->at[i + 2],
            (table->num - i - 1) * sizeof(*table->at));
}

/* Remove the intervals that end at @before or earlier. */
static void forget(PmuReservationTable *table, uint64_t before)
{
    uint32_t over = 0;

    while (over < table->num && table->at[over].end <= before) {
        over++;
    }
    if (over) {
        table->num -= over;
        memmove(table->at, &table->at[over], table->num * sizeof(*table->at));
    }
}

/*
 * The number of the interval that ends at @start, in which the resource is
 * free.  If there is none, inserts an empty one.
 */
static uint32_t begin(PmuReservationTable *table, uint64_t start)
{
    uint32_t i = 0;

    while (i < table->num && table->at[i].start < start) {
        i++;
    }
    if (i && table->at[i - 1].end == start) {
        return i - 1;
    }
    memmove(&table->at[i + 1], &table->at[i],
            (table->num++ - i) * sizeof(*table->at));
    table->at[i].start = start;
    table->at[i].end = start;
    return i;
}

void pmu_reservation_table_reserve(PmuReservationTable *table, uint64_t now,
                                   uint64_t start, uint64_t cycles)
{
    uint32_t i;

    forget(table, now);
    i = begin(table, start);
    while (i + 1 < table->num) {
        uint64_t room = table->at[i + 1].start - table->at[i].end;

        if (room > cycles) {
            break;
        }
        cycles -= room;
        join(table, i);
    }
    table->at[i].end += cycles;
    if (table->num > PMU_MAX_RESERVATIONS) {
        join(table, 0);
    }
}
