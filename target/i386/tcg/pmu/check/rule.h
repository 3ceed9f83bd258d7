/*
 * A rule, and what rules look at.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Private to this folder but for PmuCheckRule and PmuRuleSet.
 */

#ifndef TARGET_I386_PMU_CHECK_RULE_H
#define TARGET_I386_PMU_CHECK_RULE_H

#include <stdbool.h>
#include <stdint.h>

/* The worst first. */
typedef enum PmuCheckSeverity {
    PMU_CHECK_UNDEFINED,        /* what hardware does is not defined */
    PMU_CHECK_LOSS,             /* counts or interrupts are lost */
    PMU_CHECK_WASTE,
    PMU_CHECK_SUSPICIOUS,
    PMU_CHECK_SEVERITIES
} PmuCheckSeverity;

/* What a rule is asked about: a set of these. */
typedef enum PmuCheckKind {
    PMU_CHECK_ON_READ_COUNTER   = 1 << 0,
    PMU_CHECK_ON_READ_METRICS   = 1 << 1,
    PMU_CHECK_ON_READ_OTHER     = 1 << 2,
    PMU_CHECK_ON_WRITE_COUNTER  = 1 << 3,
    PMU_CHECK_ON_WRITE_CONTROL  = 1 << 4,   /* selectors, 38DH, 38FH */
    PMU_CHECK_ON_WRITE_OTHER    = 1 << 5,
    PMU_CHECK_ON_START          = 1 << 6,   /* a write lets counters count */
    PMU_CHECK_ON_GP             = 1 << 7,
    PMU_CHECK_ON_PMI            = 1 << 8,
    PMU_CHECK_ON_LVTPC          = 1 << 9,
    PMU_CHECK_ON_RETURN         = 1 << 10,  /* the handler of the PMI ends */
    PMU_CHECK_ON_HALT           = 1 << 11,
    PMU_CHECK_ON_ANY            = 1 << 12,  /* all that is told, for limits */
} PmuCheckKind;

#define PMU_CHECK_KINDS 13

#define PMU_CHECK_ON_READ (PMU_CHECK_ON_READ_COUNTER | \
                           PMU_CHECK_ON_READ_METRICS | \
                           PMU_CHECK_ON_READ_OTHER)
#define PMU_CHECK_ON_WRITE (PMU_CHECK_ON_WRITE_COUNTER | \
                            PMU_CHECK_ON_WRITE_CONTROL | \
                            PMU_CHECK_ON_WRITE_OTHER)

struct PmuCheck;
struct PmuCheckEvent;

/* What a predicate returns if no counter in particular broke the rule. */
#define PMU_CHECK_BROKEN (1ull << 63)

/*
 * A rule is broken if its predicate, asked about an event of one of its kinds
 * before the event changes anything, returns not 0: the counters that it is
 * about, as in IA32_PERF_GLOBAL_STATUS, or PMU_CHECK_BROKEN.  An event is of
 * one of its kinds at most.
 */
typedef struct PmuCheckRule {
    const char *id;
    PmuCheckSeverity severity;
    bool off;                   /* not one of those that are on by default */
    const char *text;           /* what is wrong, and where that is said */
    unsigned kinds;             /* PmuCheckKind */
    uint64_t (*broken)(const struct PmuCheck *check,
                       const struct PmuCheckEvent *event);
    /* A text log that has only MSR accesses serves it. */
    bool offline;
} PmuCheckRule;

/* A bit for each rule, by its index: rule-set.h */
typedef struct PmuRuleSet {
    uint64_t on;
} PmuRuleSet;

#endif
