/*
 * What can be held by one user at a time: dividers, page walkers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#ifndef TARGET_I386_PMU_HOLDS_H
#define TARGET_I386_PMU_HOLDS_H

#include <stdbool.h>
#include <stdint.h>

/* Stretches of time known at once; the two oldest beyond that become one. */
#define PMU_MAX_HOLDS 16

/* When it is held: from @start up to @end, in cycles, by time. */
typedef struct PmuHolds {
    uint32_t num;
    struct {
        uint64_t start, end;
    } at[PMU_MAX_HOLDS + 1];
} PmuHolds;

/*
 * The first cycle from @from on in which it is free; if users keep to the
 * program's @order, after all that hold it.
 */
uint64_t pmu_holds_free(const PmuHolds *holds, uint64_t from, bool order);

/*
 * Hold it for @cycles from @start on, which is free; nobody asks for cycles
 * before @now any more.
 */
void pmu_holds_take(PmuHolds *holds, uint64_t now, uint64_t start,
                    uint64_t cycles);

#endif
