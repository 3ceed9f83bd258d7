/*
 * A rule of the checker, and the kinds of events that rules judge.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Private to this folder, except PmuCheckRule and PmuRuleSet.
 */

#ifndef TARGET_I386_PMU_CHECK_RULE_H
#define TARGET_I386_PMU_CHECK_RULE_H

#include <stdbool.h>
#include <stdint.h>

/* In descending order of severity. */
typedef enum PmuCheckSeverity {
    PMU_CHECK_UNDEFINED,        /* what hardware does is not defined */
    PMU_CHECK_LOSS,             /* counts or interrupts are lost */
    PMU_CHECK_WASTE,
    PMU_CHECK_SUSPICIOUS,
    PMU_CHECK_SEVERITIES
} PmuCheckSeverity;

/* Kinds of events.  A rule judges a set of them. */
typedef enum PmuCheckKind {
    PMU_CHECK_ON_READ_COUNTER   = 1 << 0,
    PMU_CHECK_ON_READ_METRICS   = 1 << 1,
    PMU_CHECK_ON_READ_OTHER     = 1 << 2,
    PMU_CHECK_ON_WRITE_COUNTER  = 1 << 3,
    PMU_CHECK_ON_WRITE_CONTROL  = 1 << 4,   /* selectors, 38DH, 38FH */
    PMU_CHECK_ON_WRITE_OTHER    = 1 << 5,
    PMU_CHECK_ON_START          = 1 << 6,   /* a write starts counters */
    PMU_CHECK_ON_GP             = 1 << 7,
    PMU_CHECK_ON_PMI            = 1 << 8,
    PMU_CHECK_ON_LVTPC          = 1 << 9,
    PMU_CHECK_ON_RETURN         = 1 << 10,  /* the handler of the PMI ends */
    PMU_CHECK_ON_HALT           = 1 << 11,
    PMU_CHECK_ON_ANY            = 1 << 12,  /* every event: for limits */
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

/* A predicate returns this if no particular counter broke the rule. */
#define PMU_CHECK_BROKEN (1ull << 63)

/*
 * A rule and its predicate, broken().  The checker calls it for each event of
 * one of the rule's kinds, before the event changes anything.  It returns the
 * counters that broke the rule, as in IA32_PERF_GLOBAL_STATUS, or
 * PMU_CHECK_BROKEN, or 0.  Of a rule's kinds, an event has at most one.
 */
typedef struct PmuCheckRule {
    const char *id;
    PmuCheckSeverity severity;
    bool off;                   /* by default */
    const char *text;           /* what is wrong, and its source */
    unsigned kinds;             /* a set of PmuCheckKind */
    uint64_t (*broken)(const struct PmuCheck *check,
                       const struct PmuCheckEvent *event);
    /* A text log of MSR accesses alone is enough to judge it. */
    bool offline;
} PmuCheckRule;

/* Rules that are on: bit n is rule n of pmu_check_rule(). */
typedef struct PmuRuleSet {
    uint64_t on;
} PmuRuleSet;

#endif
