/*
 * Events of MSR_OFFCORE_RSP_x: requests to the L3.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_EVENTS_EVENTS_OFFCORE_H
#define TARGET_I386_PMU_EVENTS_EVENTS_OFFCORE_H

#include "tcg/pmu/events/event.h"

/* A name for a value of MSR_OFFCORE_RSP_x, which is 0 where there is none. */
typedef struct PmuOffcoreName {
    const char *name;
    uint64_t value[PMU_CORE_NR];
} PmuOffcoreName;

/* What an event of MSR_OFFCORE_RSP_x counts if @value is in it. */
void pmu_event_offcore(PmuSelection *selection, PmuCore core, uint64_t value);

/* Name @index, NULL past the end. */
const PmuOffcoreName *pmu_offcore_name(unsigned index);

#endif
