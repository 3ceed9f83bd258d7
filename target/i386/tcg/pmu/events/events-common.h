/*
 * Events outside the tables: those of fixed counters, and other names.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_EVENTS_EVENTS_COMMON_H
#define TARGET_I386_PMU_EVENTS_EVENTS_COMMON_H

#include "tcg/pmu/events/event.h"

/* @name is another name, in Intel's lists, for the selector of event @of. */
typedef struct PmuEventAlias {
    const char *name, *of;
    uint8_t cores;              /* a bit for each PmuCore */
} PmuEventAlias;

/* Alias @index, NULL past the end. */
const PmuEventAlias *pmu_event_alias(unsigned index);

/* The row of fixed counter @index (0 to 3). */
const PmuEvent *pmu_event_fixed(unsigned index);

#endif
