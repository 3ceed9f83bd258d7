/*
 * How fast events counted lately, to estimate when a counter overflows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A heuristic for PerfmonDistance.expected.  It decides when the caller looks
 * at counters, never what they count.  Rates are kept by event, not by counter,
 * as drivers let more events than there are counters take turns.
 */

#ifndef TARGET_I386_PMU_PERFMON_EVENT_RATES_H
#define TARGET_I386_PMU_PERFMON_EVENT_RATES_H

#include <stdint.h>


/* The highest rate at which counters of an event counted lately. */
typedef struct PerfmonRate {
    uint64_t event;             /* perfmon_rate_key(): counters of the same
                                   event share the entry */
    uint64_t counted, slots;    /* since @most was updated */
    double most;                /* events a slot; 0: nothing is known */
} PerfmonRate;

#define PERFMON_RATES   64

/* Indexed by a hash of the event; all zero: nothing is known. */
typedef struct PerfmonEventRates {
    PerfmonRate rate[PERFMON_RATES];
} PerfmonEventRates;

/* A counter of @event counted @n while @slots passed at its levels. */
void perfmon_event_rates_add(PerfmonEventRates *rates, uint64_t event,
                             uint64_t n, uint64_t slots);

/*
 * The slots, up to INT64_MAX, in which a counter of @event counts @distance if
 * it counts no faster than it did lately.  @rates may be NULL.
 */
uint64_t perfmon_event_rates_expected(const PerfmonEventRates *rates,
                                      uint64_t event, uint64_t distance);

/*
 * Update the highest rates with what was added since the last call.  An old
 * rate fades within some million slots.
 */
void perfmon_event_rates_update(PerfmonEventRates *rates);

#endif
