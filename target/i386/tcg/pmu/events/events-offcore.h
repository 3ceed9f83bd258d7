/*
 * Events of MSR_OFFCORE_RSP_x: requests to the L3, by type and answer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_EVENTS_EVENTS_OFFCORE_H
#define TARGET_I386_PMU_EVENTS_EVENTS_OFFCORE_H

#include "tcg/pmu/events/event.h"

/* An event's name and its value of MSR_OFFCORE_RSP_x; 0: not on that core. */
typedef struct PmuOffcoreName {
    const char *name;
    uint64_t value[PMU_CORE_NR];
} PmuOffcoreName;

/* Set *@selection to what @value in MSR_OFFCORE_RSP_x selects. */
void pmu_event_offcore(PmuSelection *selection, PmuCore core, uint64_t value);

/* Name @index, NULL past the end. */
const PmuOffcoreName *pmu_offcore_name(unsigned index);

#endif
