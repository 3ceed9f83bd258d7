/*
 * Types of what callers tell the checker, and of what it reports.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_CHECK_CHECK_TYPES_H
#define TARGET_I386_PMU_CHECK_CHECK_TYPES_H

#include "tcg/pmu/check/rule.h"

struct PmuSuppressions;

/* Where and when an event happens. */
typedef struct PmuCheckWhere {
    /*
     * Advances by about one for each instruction.  The limits of rules C8 and
     * P3 are in this unit.
     */
    uint64_t clock;
    uint64_t rip;
    uint64_t cr3;               /* the whole register */
    uint8_t cpl;                /* 0 to 3 */
} PmuCheckWhere;

/* The instruction that accesses a register. */
typedef enum PmuCheckAccess {
    PMU_CHECK_RDMSR,
    PMU_CHECK_WRMSR,
    PMU_CHECK_RDPMC,
} PmuCheckAccess;

/* What becomes of an interrupt that an overflow asks for. */
typedef enum PmuCheckOutcome {
    PMU_CHECK_DELIVERED,        /* the processor takes it as soon as it can */
    PMU_CHECK_NMI_PENDING,             /* pending: the handler of an NMI runs */
    PMU_CHECK_MASKED,           /* LVTPC masks it: there will be none */
} PmuCheckOutcome;

/* What happens to a processor without the driver taking part. */
typedef enum PmuCheckHalt {
    PMU_CHECK_INIT,
    PMU_CHECK_PAGING_OFF,
    PMU_CHECK_UNPLUG,
    PMU_CHECK_FEWER,            /* migration from a unit with more registers */
} PmuCheckHalt;

/* A rule was broken: the first time at an address, and how often since. */
typedef struct PmuCheckHit {
    const PmuCheckRule *rule;
    PmuCheckWhere where;
    uint32_t msr;               /* that was accessed; 0: none was */
    uint64_t value;             /* read or written */
    /* The counters concerned, as in IA32_PERF_GLOBAL_STATUS; or 0. */
    uint64_t counters;
    /* The reason of the suppression that applies; NULL: none does. */
    const char *suppressed;
    uint64_t count;             /* times that the rule was broken at this RIP */
} PmuCheckHit;

/* Called when a rule is broken for the first time at an address. */
typedef void (*PmuCheckReport)(void *opaque, const PmuCheckHit *hit);

typedef struct PmuCheckConfig {
    PmuRuleSet rules;
    const struct PmuSuppressions *suppressions; /* or NULL; outlives it */
    /* O4: least distance to its overflow of a counter that starts; 0: any. */
    uint64_t min_period;
    /* C12: the code that alone may write counters; equal: not known. */
    uint64_t text_first, text_end;
    PmuCheckReport report;
    void *opaque;
} PmuCheckConfig;

#endif
