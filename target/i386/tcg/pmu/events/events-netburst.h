/*
 * Events of NetBurst: what a CCCR and the ESCR that it selects mean.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_EVENTS_EVENTS_NETBURST_H
#define TARGET_I386_PMU_EVENTS_EVENTS_NETBURST_H

#include "tcg/pmu/events/event.h"

/* Groups of counters, by the units whose events they count. */
typedef enum NetburstGroup {
    NETBURST_BPU,               /* counters 0 to 3 */
    NETBURST_MS,                /* 4 to 7 */
    NETBURST_FLAME,             /* 8 to 11 */
    NETBURST_IQ,                /* 12 to 17 */
    NETBURST_GROUPS
} NetburstGroup;

typedef struct NetburstSelector {
    NetburstGroup group;
    unsigned escr_select;       /* of the CCCR: 0 to 7 */
    uint32_t escr;              /* what the ESCR holds */
    /* Fields of the CCCR: a threshold for what comes in one cycle. */
    bool compare, complement, edge;
    unsigned threshold;         /* 0 to 15 */
    /* IA32_PEBS_ENABLE and MSR_PEBS_MATRIX_VERT: which replays are tagged. */
    uint32_t pebs_enable, pebs_matrix_vert;
} NetburstSelector;

/*
 * What a counter counts.  The sum of what the bits of the event mask select, of
 * which the table has a row each; what two have in common counts once.  Of a
 * mask with a bit that has no row, none.
 *
 * With COMPARE it counts the cycles with more than the threshold, or with
 * COMPLEMENT no more.  Known are the limits of that alone: of what never
 * comes, as an event whose micro-ops nothing tags, with COMPLEMENT all cycles
 * (the second "cycles" of Linux); of others, with a threshold of 0 and EDGE,
 * what is counted without.
 */
void pmu_event_select_netburst(PmuSelection *selection,
                               const NetburstSelector *selector);

/* One bit of an event's mask. */
typedef struct NetburstRow {
    uint8_t group;              /* NetburstGroup */
    uint8_t escr_select;
    uint8_t event;
    uint8_t bit;
    PmuEvent event_row;         /* without a place */
} NetburstRow;

/* Row @index of the table, NULL past the end. */
const NetburstRow *pmu_event_netburst_row(unsigned index);

#endif
