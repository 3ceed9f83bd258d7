/*
 * How fast events count: when a counter may overflow, as far as experience
 * goes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A heuristic of the caller's, for PerfmonDistance.expected: it decides when
 * counters are looked at, never what they count.  Rates are kept by event, as
 * drivers let more events than counters take turns.
 */

#ifndef TARGET_I386_PMU_PERFMON_EVENT_RATES_H
#define TARGET_I386_PMU_PERFMON_EVENT_RATES_H

#include <stdint.h>


/* How fast counters of an event counted at most lately. */
typedef struct PerfmonRate {
    uint64_t event;             /* bits of IA32_PERFEVTSELx; counters share it,
                                   and fixed ones have a bit each beyond */
    uint64_t counted, slots;    /* since @most was looked at */
    double most;                /* in a slot; 0: nothing is known */
} PerfmonRate;

#define PERFMON_RATES   64

/* By a hash of the event; all zero: nothing is known. */
typedef struct PerfmonEventRates {
    PerfmonRate rate[PERFMON_RATES];
} PerfmonEventRates;

/* A counter of @event counted @n while @slots passed at its levels. */
void perfmon_event_rates_add(PerfmonEventRates *rates, uint64_t event,
                             uint64_t n, uint64_t slots);

/*
 * In how many slots, up to INT64_MAX, a counter of @event counts @distance if
 * it counts no faster than it did lately.  @rates may be NULL.
 */
uint64_t perfmon_event_rates_expected(const PerfmonEventRates *rates,
                                      uint64_t event, uint64_t distance);

/*
 * What was added since the last call is what events can do.  It is forgotten
 * within some million slots.
 */
void perfmon_event_rates_update(PerfmonEventRates *rates);

#endif
