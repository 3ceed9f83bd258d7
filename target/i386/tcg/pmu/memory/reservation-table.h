/*
 * The reservation table of a resource that serves one user at a time, such as a
 * divider or a page walker.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MEMORY_RESERVATION_TABLE_H
#define TARGET_I386_PMU_MEMORY_RESERVATION_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Most intervals that a table keeps; it merges the two oldest if need be. */
#define PMU_MAX_RESERVATIONS 16

/*
 * The intervals in which the resource is reserved, in order of time: cycles
 * from @start up to, but not including, @end.
 */
typedef struct PmuReservationTable {
    uint32_t num;
    struct {
        uint64_t start, end;
    } at[PMU_MAX_RESERVATIONS + 1];
} PmuReservationTable;

/*
 * The first cycle from @from on in which the resource is free.  @order: it
 * serves users in program order, so that this is after all reservations.
 */
uint64_t pmu_reservation_table_first_free(const PmuReservationTable *table,
                                          uint64_t from, bool order);

/*
 * Reserve the resource for @cycles free cycles from @start on; in @start it is
 * free.  Reservations that end by @now are forgotten.
 */
void pmu_reservation_table_reserve(PmuReservationTable *table, uint64_t now,
                                   uint64_t start, uint64_t cycles);

#endif
