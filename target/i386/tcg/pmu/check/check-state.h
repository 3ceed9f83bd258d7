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

#include "tcg/pmu/check/check-memory.h"
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

/* What the selector of a general-purpose counter means; counters 0: unknown. */
typedef struct PmuCheckSelector {
    uint64_t event;             /* code and umask */
    uint8_t counters;           /* pmu_event_counters() */
    uint8_t extra;              /* PmuEventExtra */
} PmuCheckSelector;

/* Sets of counters, as pmu_controls_...() give them. */
typedef struct PmuCheckSets {
    uint64_t enabled, counting, interrupting;
} PmuCheckSets;

/* What registers say, and what that means. */
typedef struct PmuCheckView {
    PmuControls controls;
    PmuCheckSets sets;
} PmuCheckView;

typedef struct PmuCheckRuleList {
    unsigned count;
    const PmuCheckRule *rule[PMU_CHECK_RULES];
} PmuCheckRuleList;

typedef struct PmuCheck {
    const Perfmon *perfmon;
    PmuCheckConfig config;
    /* The rules that are on, by the kinds of events that they are about. */
    PmuCheckRuleList rules[PMU_CHECK_KINDS];
    /* What registers said behind the last event, and room for the next one. */
    PmuCheckView view[2];
    unsigned current;
    PmuCheckMemory memory;
    uint64_t idle;              /* C8: counters whose memory says so */
    PmuCheckSelector selector[PERFMON_ARCH_GP];

    GHashTable *sites;          /* of PmuCheckSite */
    GPtrArray *hits;            /* the same, in their order */
} PmuCheck;

/* What is told. */
typedef struct PmuCheckEvent {
    unsigned kind;              /* PmuCheckKind */
    const PmuCheckWhere *where;
    PmuCheckAccess how;
    uint32_t msr;
    uint64_t value;
    unsigned counter;           /* that is @msr, PMU_CHECK_COUNTERS if none */
    /* What the registers say before and after a write. */
    const PmuControls *before, *after;
    const PmuCheckSets *old, *new;      /* the same as sets */
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
    return event->where->clock > since &&
           event->where->clock - since > PMU_CHECK_LIMIT;
}

/* The handler runs, and has not let the next interrupt come. */
static inline bool pmu_check_in_pmi(const PmuCheck *check)
{
    return check->memory.pmi.active && !check->memory.pmi.unmasked;
}

#endif
