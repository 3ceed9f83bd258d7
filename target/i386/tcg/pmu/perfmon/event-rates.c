/*
 * How fast events counted lately.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <stdbool.h>

#include "tcg/pmu/perfmon/event-rates.h"
#include "tcg/pmu/uarch/hash.h"

/* Events a slot: the fastest that can be, and taken for an unknown event. */
#define RATE_MAX    4

/* Slots in which a rate is more than chance; in which it fades to about 1/e. */
#define LEAST_SLOTS     256
#define MEMORY_SLOTS    (1u << 20)
/* The lowest rate, in events a slot: nothing that counts is slower. */
#define RATE_MIN        1e-9

/* The index of the entry for @event; multiplicative hashing (Knuth). */
static unsigned index_of(uint64_t event)
{
    return (event * PMU_HASH_MULTIPLIER >> 32) % PERFMON_RATES;
}

void perfmon_event_rates_add(PerfmonEventRates *rates, uint64_t event,
                             uint64_t n, uint64_t slots)
{
    PerfmonRate *rate = &rates->rate[index_of(event)];

    if (rate->event != event || !rate->most) {
        *rate = (PerfmonRate) { .event = event, .most = RATE_MAX };
    }
    rate->counted += n;
    rate->slots += slots;
}

uint64_t perfmon_event_rates_expected(const PerfmonEventRates *rates,
                                      uint64_t event, uint64_t distance)
{
    const PerfmonRate *rate = rates ? &rates->rate[index_of(event)] : NULL;
    bool known = rate && rate->event == event && rate->most;
    double slots = distance / (known ? rate->most : RATE_MAX);

    return MIN(slots, INT64_MAX);
}

void perfmon_event_rates_update(PerfmonEventRates *rates)
{
    for (unsigned i = 0; i < PERFMON_RATES; i++) {
        PerfmonRate *rate = &rates->rate[i];

        if (rate->slots >= LEAST_SLOTS) {
            double now = (double)rate->counted / rate->slots;
            double was = rate->most * MEMORY_SLOTS /
                         (MEMORY_SLOTS + rate->slots);

            rate->most = MAX(MAX(now, was), RATE_MIN);
            rate->slots = 0;
            rate->counted = 0;
        }
    }
}
