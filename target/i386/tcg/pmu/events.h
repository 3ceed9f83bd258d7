/*
 * Events: what a counter's selector means, as an expression over the ledger.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: data and its lookup, plain C.
 */

#ifndef TARGET_I386_PMU_EVENTS_H
#define TARGET_I386_PMU_EVENTS_H

#include "ledger.h"

/* Which event list the general-purpose counters decode. */
typedef enum PmuCore {
    PMU_CORE_ICELAKE,           /* Sunny Cove */
    PMU_CORE_SAPPHIRERAPIDS,    /* Golden Cove */
    PMU_CORE_NR
} PmuCore;

/* Modifier bits of IA32_PERFEVTSELx, SDM vol. 3B, figure 20-1. */
#define PMU_EVENT_EDGE      (1u << 18)
#define PMU_EVENT_INV       (1u << 23)
#define PMU_EVENT_CMASK(n)  ((uint32_t)(n) << 24)
#define PMU_EVENT_MODIFIERS \
    (PMU_EVENT_EDGE | PMU_EVENT_INV | PMU_EVENT_CMASK(0xff))

/*
 * How well a count agrees with hardware's definition.  Later is worse, but for
 * what never happens: there, zero is the right count.
 */
typedef enum PmuEventState {
    PMU_EVENT_EXACT,
    PMU_EVENT_NEVER,            /* no guest can make it happen: the note says
                                   what the CPU does not have for it */
    PMU_EVENT_MODELLED,         /* exact over the timing model */
    PMU_EVENT_APPROXIMATE,      /* see the note */
    PMU_EVENT_NOT_MODELLED,     /* counts zero: the note says why */
    PMU_EVENT_UNKNOWN,          /* in no list; counts zero */
} PmuEventState;

/* "exact", "never", "modelled", "approximate", "not modelled", "unknown" */
const char *pmu_event_state_name(PmuEventState state);

/*
 * What a row's items are, so that CMASK, INV and EDGE have a meaning: they
 * look at how much an event counts in one cycle.
 */
typedef enum PmuEventUnit {
    PMU_EVENT_OCCURRENCES,      /* how many in a cycle is not known */
    PMU_EVENT_CYCLES,           /* at most one a cycle */
    PMU_EVENT_BINS,             /* known: cycles with 0, 1, 2 and so on */
    PMU_EVENT_BINS_FROM_1,      /* ... 1, 2, 3 and so on; others have none */
    PMU_EVENT_AS_PLAIN,         /* as the row without modifiers says */
} PmuEventUnit;

/* The register that some events take a part of their selector from. */
typedef enum PmuEventExtra {
    PMU_EXTRA_NONE,
    PMU_EXTRA_OFFCORE_0,        /* MSR_OFFCORE_RSP_0 */
    PMU_EXTRA_OFFCORE_1,
    PMU_EXTRA_LD_LAT,           /* MSR_PEBS_LD_LAT_THRESHOLD */
    PMU_EXTRA_FRONTEND,         /* MSR_PEBS_FRONTEND */
    PMU_EXTRA_NR
} PmuEventExtra;

/* Where one core has an event. */
typedef struct PmuEventPlace {
    uint8_t code;               /* IA32_PERFEVTSELx[7:0] */
    uint8_t umask;              /* [15:8] */
    /* The counters that count it, a bit each; 0: the core has no such event. */
    uint8_t counters;
    uint32_t modifiers;         /* EDGE, INV and CMASK of the row */
} PmuEventPlace;

/* An event counts the sum of some ledger items. */
#define PMU_EVENT_TERMS 24

typedef struct PmuEvent {
    const char *name;           /* Intel's, as in perf list */
    PmuEventPlace on[PMU_CORE_NR];
    uint8_t state;              /* PmuEventState */
    uint8_t unit;               /* PmuEventUnit */
    /* The item that the others are taken away from; 0: they are the count. */
    uint8_t whole;
    bool capped;                /* counts no more than CYCLES */
    uint8_t num_terms;
    uint8_t term[PMU_EVENT_TERMS];      /* PmuLedgerItem */
    /* Cycles by how many; the last bin is "or more". */
    uint8_t first_bin, num_bins;
    uint8_t extra;              /* PmuEventExtra */
    uint32_t extra_value;       /* that the register must have, in extra_mask */
    uint32_t extra_mask;
    const char *note;           /* how, or why not; else NULL */
} PmuEvent;

/* Bins of a histogram, or items of all kinds of requests to the L3. */
#define PMU_SELECTION_TERMS 32

/*
 * What one counter counts: the sum of the items, at most CYCLES if @capped;
 * or what there is of item @whole besides, if that is not 0.  Never both.
 */
typedef struct PmuSelection {
    const char *name;           /* of the event; NULL: unknown */
    const char *note;           /* how, or why not; else NULL */
    uint8_t state;              /* PmuEventState */
    bool capped;
    uint8_t whole;              /* PmuLedgerItem */
    /* It never grows by more than some single item does. */
    bool single;
    uint8_t num_terms;
    uint8_t term[PMU_SELECTION_TERMS];  /* PmuLedgerItem */
} PmuSelection;

/* There is something to count. */
static inline bool pmu_selection_counts(const PmuSelection *selection)
{
    return selection->num_terms || selection->whole;
}

/*
 * What general-purpose counter @counter counts on @core, if @evtsel is in its
 * IA32_PERFEVTSELx and @extra in the registers that events take a part of
 * their selector from.
 *
 * A row of the table is taken if it has just these EDGE, INV and CMASK.
 * Otherwise the event without them is looked up, and they are applied to it:
 *
 * - where cycles are known by how much is counted in them, CMASK and INV are
 *   exact: cycles with n or more, with INV with less;
 * - where at most one is counted a cycle, likewise: two or more, never;
 * - of other events it is assumed that what is counted is counted in different
 *   cycles.  CMASK=1 then changes nothing but that there are no more of them
 *   than cycles; with INV a larger one counts all cycles.  State: approximate.
 *   CMASK=1 with INV, and a larger one without, are not modelled;
 * - EDGE counts how often the condition becomes true.  Cycles with it are not
 *   known to be neighbours: not modelled, without a row of its own; except for
 *   the events of the previous rule, of which it counts all.
 *
 * CMASK=0 with EDGE is CMASK=1 (the condition is that there is something to
 * count); INV means nothing without CMASK (SDM vol. 3B, 20.2.1.1).
 *
 * A umask without a row is the sum of rows whose umasks it consists of, where
 * the events are kinds of one thing.
 *
 * An event that @counter cannot count is PMU_EVENT_NOT_MODELLED there.  The
 * SDM leaves open what such a counter does; this one stands still.
 */
void pmu_event_select(PmuSelection *selection, PmuCore core, unsigned counter,
                      uint64_t evtsel, const uint64_t extra[PMU_EXTRA_NR]);

/* What fixed counter @index (0 to 3) counts, the same on all cores. */
void pmu_event_select_fixed(PmuSelection *selection, unsigned index);

/*
 * What @selection gained from @from to @to at @levels, a bit for each PmuLevel.
 *
 * *@remainder carries what bounds leave over from one gain to the next; it is 0
 * where a count begins.  So the count does not depend on where gains are taken.
 * With S the sum of the items and C the cycles since it began, it is
 *
 * - S without bounds;
 * - min(S, C) if the selection is capped: neither can fall, nor does that;
 * - W - S if S is taken away from W.  That could only fall while S has more of
 *   something than W yet.  As a counter must not, the count then stands still
 *   until it has caught up: it is the most that W - S has been at any gain, so
 *   exceeds W - S by no more than that has fallen since.
 */
uint64_t pmu_selection_gain(const PmuSelection *selection,
                            const PmuLedgerSnapshot *from,
                            const PmuLedgerSnapshot *to, unsigned levels,
                            int64_t *remainder);

/* Row @index of the table of all cores, NULL past the end. */
const PmuEvent *pmu_event_row(unsigned index);

/* The row of fixed counter @index. */
const PmuEvent *pmu_event_fixed(unsigned index);

/* Another name that a list has for the selector of @of. */
typedef struct PmuEventAlias {
    const char *name, *of;
    uint8_t cores;              /* a bit for each PmuCore */
} PmuEventAlias;

/* A name for a value of MSR_OFFCORE_RSP_x, which is 0 where there is none. */
typedef struct PmuOffcoreName {
    const char *name;
    uint64_t value[PMU_CORE_NR];
} PmuOffcoreName;

/* What an event of MSR_OFFCORE_RSP_x counts if @value is in it. */
void pmu_event_offcore(PmuSelection *selection, PmuCore core, uint64_t value);

/* Name @index, NULL past the end. */
const PmuOffcoreName *pmu_offcore_name(unsigned index);

/* Alias @index, NULL past the end. */
const PmuEventAlias *pmu_event_alias(unsigned index);

#endif
