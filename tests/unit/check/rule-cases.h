/*
 * For each rule of the checker: a sequence of steps that breaks it, and a
 * similar one that does not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_UNIT_CHECK_RULE_CASES_H
#define TESTS_UNIT_CHECK_RULE_CASES_H

#include "driver.h"

typedef struct RuleCase {
    const char *id;
    /* With @wrong the sequence breaks the rule; otherwise it breaks no rule. */
    void (*run)(Driver *d, bool wrong);
} RuleCase;

/* The last one has no id. */
extern const RuleCase rule_cases[];

#endif
