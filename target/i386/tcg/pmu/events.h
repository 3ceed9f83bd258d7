/*
 * Events: what a counter's selector means, as an expression over the ledger.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: data and its lookup, plain C.
 */

#ifndef TARGET_I386_PMU_EVENTS_H
#define TARGET_I386_PMU_EVENTS_H

#include "perfmon.h"

/* How well a row's count agrees with hardware's definition. */
typedef enum PmuEventState {
    PMU_EVENT_EXACT,
    PMU_EVENT_MODELLED,         /* exact over the timing model */
    PMU_EVENT_APPROXIMATE,      /* see the row's note */
} PmuEventState;

/* An event counts the sum of some ledger items. */
#define PMU_EVENT_TERMS 8

typedef struct PmuEvent {
    const char *name;           /* Intel's, as in perf list */
    uint8_t code;               /* IA32_PERFEVTSELx[7:0] */
    uint8_t umask;              /* [15:8] */
    /* Modifier bits the row answers to: EDGE[18], INV[23], CMASK[31:24]. */
    uint32_t modifiers;
    PmuEventState state;
    uint8_t num_terms;
    uint8_t term[PMU_EVENT_TERMS];      /* PmuLedgerItem */
    const char *note;           /* of an approximation, else NULL */
} PmuEvent;

/*
 * The row that IA32_PERFEVTSELx = @evtsel selects on @core, NULL if the event
 * is not modelled (it then counts zero).  A row answers to its own EDGE, INV
 * and CMASK only, as the plain event would be a wrong answer to any other;
 * INV means nothing without CMASK (SDM vol. 3B, 20.2.1.1).
 */
const PmuEvent *pmu_event_lookup(PmuCore core, uint64_t evtsel);

/*
 * The row that fixed counter @index (0 to 3) counts, the same on all cores.
 */
const PmuEvent *pmu_event_fixed(unsigned index);

/* The sum of @event's items in @snap at @level. */
uint64_t pmu_event_count(const PmuEvent *event, const PmuLedgerSnapshot *snap,
                         PmuLevel level);

/* Row @index of @core's table, NULL past the end; for docs and tests. */
const PmuEvent *pmu_event_row(PmuCore core, unsigned index);

#endif
