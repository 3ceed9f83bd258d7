/*
 * An event: its selector on each core, and the ledger items that it counts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_EVENTS_EVENT_H
#define TARGET_I386_PMU_EVENTS_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/ledger/ledger.h"
#include "tcg/pmu/uarch/uarch.h"

/* Modifier bits of IA32_PERFEVTSELx, SDM vol. 3B, figure 20-1. */
#define PMU_EVENT_EDGE      (1u << 18)
#define PMU_EVENT_INV       (1u << 23)
#define PMU_EVENT_CMASK(n)  ((uint32_t)(n) << 24)
#define PMU_EVENT_MODIFIERS \
    (PMU_EVENT_EDGE | PMU_EVENT_INV | PMU_EVENT_CMASK(0xff))

/*
 * How well a count agrees with hardware's definition.  Later states are worse,
 * except NEVER: zero is the right count of an event that never happens.
 */
typedef enum PmuEventState {
    PMU_EVENT_EXACT,
    PMU_EVENT_NEVER,            /* no guest can make it happen: the note says
                                   what the CPU lacks for it */
    PMU_EVENT_MODELLED,         /* exact over the timing model */
    PMU_EVENT_APPROXIMATE,      /* see the note */
    PMU_EVENT_NOT_MODELLED,     /* counts zero: the note says why */
    PMU_EVENT_UNKNOWN,          /* in no list; counts zero */
} PmuEventState;

/*
 * What a row's items count.  CMASK, INV and EDGE look at how much an event
 * counts in one cycle, so what they do depends on this.
 */
typedef enum PmuEventUnit {
    PMU_EVENT_OCCURRENCES,      /* how many come in a cycle is not known */
    PMU_EVENT_CYCLES,           /* at most one a cycle */
    PMU_EVENT_BINS,             /* one item for cycles with 0, with 1, ... */
    PMU_EVENT_BINS_FROM_1,      /* ... with 1, 2, ...; other cycles have 0 */
    PMU_EVENT_AS_PLAIN,         /* the row without modifiers says */
} PmuEventUnit;

/* The register from which an event takes a part of its selector. */
typedef enum PmuEventExtra {
    PMU_EXTRA_NONE,
    PMU_EXTRA_OFFCORE_0,        /* MSR_OFFCORE_RSP_0 */
    PMU_EXTRA_OFFCORE_1,
    PMU_EXTRA_LD_LAT,           /* MSR_PEBS_LD_LAT_THRESHOLD */
    PMU_EXTRA_FRONTEND,         /* MSR_PEBS_FRONTEND */
    PMU_EXTRA_NR
} PmuEventExtra;

/* The selector of an event on one core. */
typedef struct PmuEventPlace {
    uint16_t code;              /* IA32_PERFEVTSELx[7:0]; AMD: and [35:32] */
    uint8_t umask;              /* [15:8] */
    /* Counters that can count it, a bit each; 0: the core has no such event. */
    uint8_t counters;
    uint32_t modifiers;         /* EDGE, INV and CMASK of the row */
} PmuEventPlace;

/* The most ledger items that one row adds up. */
#define PMU_EVENT_TERMS 24

typedef struct PmuEvent {
    const char *name;           /* Intel's, as in perf list */
    PmuEventPlace on[PMU_CORE_NR];
    uint8_t state;              /* PmuEventState */
    uint8_t unit;               /* PmuEventUnit */
    /* The item that the terms are subtracted from; 0: the terms are added. */
    uint8_t minuend;
    bool capped;                /* counts no more than CYCLES */
    uint8_t num_terms;
    uint8_t term[PMU_EVENT_TERMS];      /* PmuLedgerItem */
    /* Of BINS: the first item, and their number; the last is "or more". */
    uint8_t first_bin, num_bins;
    uint8_t extra;              /* PmuEventExtra */
    uint32_t extra_value;       /* what @extra must hold, in extra_mask */
    uint32_t extra_mask;
    const char *note;           /* how it counts, or why not; or NULL */
} PmuEvent;

/*
 * The most ledger items that one selection adds up: bins of a histogram, or
 * items of all kinds of requests to the L3.
 */
#define PMU_SELECTION_TERMS 32

/*
 * What one counter counts: the sum of the terms, at most CYCLES if @capped; or,
 * if @minuend is not 0, that item less the sum.  Never both.
 */
typedef struct PmuSelection {
    const char *name;           /* of the event; NULL: unknown */
    const char *note;           /* how it counts, or why not; or NULL */
    uint8_t state;              /* PmuEventState */
    bool capped;
    uint8_t minuend;              /* PmuLedgerItem */
    /* The count never grows by more than some single item does. */
    bool single;
    uint8_t num_terms;
    uint8_t term[PMU_SELECTION_TERMS];  /* PmuLedgerItem */
} PmuSelection;

/* Is there something to count? */
static inline bool pmu_selection_counts(const PmuSelection *selection)
{
    return selection->num_terms || selection->minuend;
}

#endif
