/*
 * What the checker is told, and what it reports.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_CHECK_CHECK_TYPES_H
#define TARGET_I386_PMU_CHECK_CHECK_TYPES_H

#include "tcg/pmu/check/rule.h"

struct PmuSuppressions;

/* Where something happens. */
typedef struct PmuCheckWhere {
    /*
     * Advances by about one for each instruction: what the limits of C8 and
     * P3 are measured in.
     */
    uint64_t clock;
    uint64_t rip;
    uint64_t cr3;               /* the register */
    uint8_t cpl;                /* 0 to 3 */
} PmuCheckWhere;

/* How a register is accessed. */
typedef enum PmuCheckAccess {
    PMU_CHECK_RDMSR,
    PMU_CHECK_WRMSR,
    PMU_CHECK_RDPMC,
} PmuCheckAccess;

/* What became of an interrupt that an overflow asked for. */
typedef enum PmuCheckOutcome {
    PMU_CHECK_DELIVERED,        /* to the processor, at once or as it can */
    PMU_CHECK_HELD,             /* the same, but an NMI is being handled */
    PMU_CHECK_MASKED,           /* by LVTPC: there will be none */
} PmuCheckOutcome;

/* What happens to a processor without the driver's help. */
typedef enum PmuCheckHalt {
    PMU_CHECK_INIT,
    PMU_CHECK_PAGING_OFF,
    PMU_CHECK_UNPLUG,
    PMU_CHECK_FEWER,            /* migrated from one with more registers */
} PmuCheckHalt;

/* A rule was broken. */
typedef struct PmuCheckHit {
    const PmuCheckRule *rule;
    PmuCheckWhere where;
    uint32_t msr;               /* accessed; 0: none was */
    uint64_t value;             /* read or written */
    /* The counters that it is about, as in IA32_PERF_GLOBAL_STATUS, or 0. */
    uint64_t counters;
    /* Why it is known and not worth a word; NULL: it is news. */
    const char *suppressed;
    uint64_t count;             /* times that this rule was broken here */
} PmuCheckHit;

/* Called when a rule is broken for the first time at an address. */
typedef void (*PmuCheckReport)(void *opaque, const PmuCheckHit *hit);

typedef struct PmuCheckConfig {
    PmuRuleSet rules;
    const struct PmuSuppressions *suppressions; /* or NULL; must live on */
    /* O4: the least distance to overflow that starts may have; 0: any. */
    uint64_t min_period;
    /* C12: addresses of code that alone may write; equal: not known. */
    uint64_t text_first, text_end;
    PmuCheckReport report;
    void *opaque;
} PmuCheckConfig;

#endif
