/*
 * Reservation table of a resource that serves one user at a time: dividers,
 * page walkers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MEMORY_RESERVATION_TABLE_H
#define TARGET_I386_PMU_MEMORY_RESERVATION_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Intervals known at once; the two oldest beyond that become one. */
#define PMU_MAX_RESERVATIONS 16

/* When it is reserved: from @start up to @end, in cycles, by time. */
typedef struct PmuReservationTable {
    uint32_t num;
    struct {
        uint64_t start, end;
    } at[PMU_MAX_RESERVATIONS + 1];
} PmuReservationTable;

/*
 * The first cycle from @from on in which it is free; if users keep to the
 * program's @order, after all reservations.
 */
uint64_t pmu_reservation_table_first_free(const PmuReservationTable *table,
                                          uint64_t from, bool order);

/*
 * Reserve it for @cycles from @start on, which is free; what ends by @now is
 * forgotten.
 */
void pmu_reservation_table_reserve(PmuReservationTable *table, uint64_t now,
                                   uint64_t start, uint64_t cycles);

#endif
