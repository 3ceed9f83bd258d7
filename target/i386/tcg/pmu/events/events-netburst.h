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
    /* Fields of the CCCR: a threshold for the number in one cycle. */
    bool compare, complement, edge;
    unsigned threshold;         /* 0 to 15 */
    /* IA32_PEBS_ENABLE, MSR_PEBS_MATRIX_VERT: which replays tag micro-ops. */
    uint32_t pebs_enable, pebs_matrix_vert;
} NetburstSelector;

/* The largest threshold of a CCCR: no event occurs more often in a cycle. */
#define NETBURST_MAX_THRESHOLD 15

/*
 * Does @selector count each cycle, whatever event and levels its ESCR has?  No
 * cycle exceeds the threshold.  SDM vol. 3B, "Non-Sleep Clockticks"; NMI
 * watchdogs of Linux before 2.6.32 and of Xen.
 */
static inline bool
pmu_netburst_counts_each_cycle(const NetburstSelector *selector)
{
    return selector->compare && selector->complement && !selector->edge &&
           selector->threshold == NETBURST_MAX_THRESHOLD;
}

/*
 * Set *@selection to what a counter counts: the sum of the rows for the bits of
 * the event mask.  An item that two rows have in common counts once.  The
 * counter stands still if a bit has no row, or one of several is a difference.
 *
 * With COMPARE a counter counts the cycles with more than the threshold; with
 * COMPLEMENT, those with no more.  The model knows only the extreme cases:
 * pmu_netburst_counts_each_cycle(); if the event never happens, as when nothing
 * tags its micro-ops, COMPLEMENT selects all cycles; for other events, a
 * threshold of 0 with EDGE counts what is counted without COMPARE.
 */
void pmu_event_select_netburst(PmuSelection *selection,
                               const NetburstSelector *selector);

/* What one bit of an event's mask selects. */
typedef struct NetburstRow {
    uint8_t group;              /* NetburstGroup */
    uint8_t escr_select;
    uint8_t event;
    uint8_t bit;
    PmuEvent event_row;         /* .on is not used */
} NetburstRow;

/* Row @index of the table, NULL past the end. */
const NetburstRow *pmu_event_netburst_row(unsigned index);

#endif
