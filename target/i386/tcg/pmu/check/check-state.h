/*
 * What the checker remembers, and what it makes of an event.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Private to this folder.
 */

#ifndef TARGET_I386_PMU_CHECK_CHECK_STATE_H
#define TARGET_I386_PMU_CHECK_CHECK_STATE_H

#include <glib.h>

#include "tcg/pmu/check/check-types.h"
#include "tcg/pmu/check/controls.h"
#include "tcg/pmu/check/rule.h"

/* C8, P3: units of PmuCheckWhere.clock, about instructions. */
#define PMU_CHECK_LIMIT 1000000

/* Rules at most: a bit each in PmuRuleSet. */
#define PMU_CHECK_RULES 64

/* P7: Linux gives up behind so many (intel_pmu_handle_irq()). */
#define PMU_CHECK_STATUS_READS 100

/* LVTPC, SDM vol. 3A, figure 11-8. */
#define PMU_LVTPC_VECTOR    0xffu
#define PMU_LVTPC_MODE      0x700u
#define PMU_LVTPC_FIXED     0x000u
#define PMU_LVTPC_SMI       0x200u
#define PMU_LVTPC_NMI       0x400u
#define PMU_LVTPC_MASKED    0x10000u

/* One counter since it was last written. */
typedef struct PmuCheckCounter {
    bool known;                 /* the rest of this is */
    bool touched;               /* it was written since RESET */
    bool counted;               /* ... and has been on since then */
    bool passed_over;           /* ... or others have, but not this one */
    bool acked;                 /* its overflow was, and it was not written */
    bool inside;                /* C12: who wrote was within the text given */
    bool owned;                 /* C12: @inside is known */
    uint8_t dead_reads;         /* C9 */
    bool idle;                  /* C8: locally on, and not in GLOBAL_CTRL */
    bool idle_reported;
    uint64_t idle_since;
    uint64_t written;           /* the value */
    uint64_t event;             /* what it counted, as pmu_check_selector() */
    uint64_t space;             /* address space in which it counted */
} PmuCheckCounter;

/* What the selector of a general-purpose counter means; counters 0: unknown. */
typedef struct PmuCheckSelector {
    uint64_t event;             /* code and umask */
    uint8_t counters;           /* pmu_event_counters() */
    uint8_t extra;              /* PmuEventExtra */
} PmuCheckSelector;

typedef enum PmuCheckPair {
    PMU_PAIR_UNKNOWN,
    PMU_PAIR_SYNCED,
    PMU_PAIR_STALE,             /* fixed counter 3 was written, or wrapped */
    PMU_PAIR_CLEARED,           /* ... written with 0 */
} PmuCheckPair;

/* Fixed counter 3 and PERF_METRICS, which software must keep together. */
typedef struct PmuCheckSlots {
    PmuCheckPair state;
    /* Numbers of events, 0: never. */
    uint64_t slots_written, metrics_written, stopped, acked;
    bool metrics_acked;         /* it was bit 48 that was */
    bool ran;                   /* the metrics have been on since SYNCED */
    /* Fixed counter 3 was read at CPL 0, and PERF_METRICS not since then. */
    bool read;
    bool read_running;          /* ... while it counted */
    bool disturbed;             /* ... and something came between */
    bool saved;                 /* it was read since it stopped */
    bool metrics_read;          /* since fixed counter 3 was written */
    uint64_t metrics_read_at;   /* ... when that was so much */
} PmuCheckSlots;

/* The interrupt. */
typedef struct PmuCheckPmi {
    uint32_t lvtpc;
    bool lvtpc_known;
    bool latched;               /* delivered, its handler does not run yet */
    bool held;                  /* ... as that of an NMI does */
    bool active;                /* its handler runs */
    bool unmasked;              /* ... and has unmasked LVTPC */
    bool status_read;           /* ... and has read GLOBAL_STATUS */
    bool started;               /* ... and has let counters count */
    unsigned status_reads;      /* ... so many times */
    unsigned depth;             /* interrupts in it, and itself */
    bool masked;                /* P3: counters would interrupt, LVTPC masks */
    bool masked_reported;
    uint64_t masked_since;
} PmuCheckPmi;

typedef struct PmuCheck {
    const Perfmon *perfmon;
    PmuCheckConfig config;
    /* The rules that are on. */
    const PmuCheckRule *rule[PMU_CHECK_RULES];
    unsigned num_rules;
    uint64_t number;            /* of events told */

    PmuCheckCounter counter[PMU_CHECK_COUNTERS];
    PmuCheckSelector selector[PERFMON_ARCH_GP];
    PmuCheckSlots slots;
    PmuCheckPmi pmi;
    /* Bits of GLOBAL_STATUS that are set, and */
    uint64_t seen;              /* were read, */
    uint64_t pending;           /* whose interrupt is to come, */
    uint64_t lost;              /* whose interrupt will not. */
    unsigned last_read;         /* C16: the counter, PMU_CHECK_COUNTERS none */

    GHashTable *sites;          /* of PmuCheckSite */
    GPtrArray *hits;            /* the same, in their order */
} PmuCheck;

/* Sets of counters, as pmu_controls_...() give them. */
typedef struct PmuCheckSets {
    uint64_t enabled, counting, interrupting;
} PmuCheckSets;

/* What is told. */
typedef struct PmuCheckEvent {
    unsigned kind;              /* PmuCheckKind */
    PmuCheckWhere where;
    PmuCheckAccess how;
    uint32_t msr;
    uint64_t value;
    unsigned counter;           /* that is @msr, PMU_CHECK_COUNTERS if none */
    /* What the registers say before and after a write. */
    PmuControls before, after;
    PmuCheckSets old, new;      /* the same as sets */
    uint64_t starting, stopping; /* counters */
    PmuCheckOutcome outcome;
    PmuCheckHalt halt;
} PmuCheckEvent;

/* Does @event write register @msr? */
static inline bool pmu_check_is_write(const PmuCheckEvent *event, uint32_t msr)
{
    return event->kind & PMU_CHECK_ON_WRITE && event->msr == msr;
}

/* CR3 without PCID, and without the bit that KPTI tells its tables by. */
static inline uint64_t pmu_check_space(const PmuCheckWhere *where)
{
    return where->cr3 & ~0x1fffull;
}

/* A condition has held since @since, and still does at @event: for too long? */
static inline bool pmu_check_too_long(const PmuCheckEvent *event,
                                      uint64_t since)
{
    return event->where.clock > since &&
           event->where.clock - since > PMU_CHECK_LIMIT;
}

/* The handler runs, and has not let the next interrupt come. */
static inline bool pmu_check_in_pmi(const PmuCheck *check)
{
    return check->pmi.active && !check->pmi.unmasked;
}

#endif
