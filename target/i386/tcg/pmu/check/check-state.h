/*
 * The checker's state, and the form in which rules see an event.
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

/* C8, P3: limit in units of PmuCheckWhere.clock, about instructions. */
#define PMU_CHECK_LIMIT 1000000

/* Most rules that there can be: each has a bit in PmuRuleSet. */
#define PMU_CHECK_RULES 64

/* P7: status reads after which Linux gives up (intel_pmu_handle_irq()). */
#define PMU_CHECK_STATUS_READS 100

/* LVTPC, SDM vol. 3A, figure 11-8. */
#define PMU_LVTPC_VECTOR    0xffu
#define PMU_LVTPC_MODE      0x700u
#define PMU_LVTPC_FIXED     0x000u
#define PMU_LVTPC_SMI       0x200u
#define PMU_LVTPC_NMI       0x400u
#define PMU_LVTPC_MASKED    0x10000u

/* What a selector means.  While counters is 0, it was not looked up yet. */
typedef struct PmuCheckSelector {
    uint64_t event;             /* code and umask */
    uint8_t counters;           /* pmu_event_counters() */
    uint8_t extra;              /* PmuEventExtra */
} PmuCheckSelector;

/* Sets of counters: the results of pmu_controls_enabled() and so on. */
typedef struct PmuCheckSets {
    uint64_t enabled, counting, interrupting;
} PmuCheckSets;

/* The control registers, and the sets of counters that follow from them. */
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
    /* The rules that are on, by kind of event; a rule can be in several. */
    PmuCheckRuleList rules[PMU_CHECK_KINDS];
    /* view[current]: registers after the last event; the other one is free. */
    PmuCheckView view[2];
    unsigned current;
    PmuCheckMemory memory;
    uint64_t idle;              /* C8: counters whose memory has @idle set */
    PmuCheckSelector selector[PERFMON_ARCH_GP];

    GHashTable *sites;          /* of PmuCheckHit, by rule and RIP */
    GPtrArray *hits;            /* the same ones, in order of occurrence */
} PmuCheck;

/* An event that rules judge, in one form for all kinds. */
typedef struct PmuCheckEvent {
    unsigned kind;              /* a set of PmuCheckKind */
    const PmuCheckWhere *where;
    PmuCheckAccess how;
    uint32_t msr;
    uint64_t value;
    unsigned counter;           /* that @msr is; PMU_CHECK_COUNTERS: none */
    /* Registers before and after a write; of other events, the same. */
    const PmuControls *before, *after;
    const PmuCheckSets *old, *new;      /* their sets of counters */
    uint64_t starting, stopping; /* counters, by a write */
    PmuCheckOutcome outcome;
    PmuCheckHalt halt;
} PmuCheckEvent;

/* Does @event write register @msr? */
static inline bool pmu_check_is_write(const PmuCheckEvent *event, uint32_t msr)
{
    return event->kind & PMU_CHECK_ON_WRITE && event->msr == msr;
}

/* The address space: CR3 without PCID, and without KPTI's bit 12. */
static inline uint64_t pmu_check_space(const PmuCheckWhere *where)
{
    return where->cr3 & ~0x1fffull;
}

/* Has a condition that has held since @since lasted too long at @event? */
static inline bool pmu_check_too_long(const PmuCheckEvent *event,
                                      uint64_t since)
{
    return event->where->clock > since &&
           event->where->clock - since > PMU_CHECK_LIMIT;
}

/* The handler of a PMI runs, and has not unmasked LVTPC yet. */
static inline bool pmu_check_in_pmi(const PmuCheck *check)
{
    return check->memory.pmi.active && !check->memory.pmi.unmasked;
}

#endif
