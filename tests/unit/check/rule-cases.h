/*
 * Each rule: a sequence that breaks it, and one next to it that does not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_UNIT_CHECK_RULE_CASES_H
#define TESTS_UNIT_CHECK_RULE_CASES_H

#include "driver.h"

typedef struct RuleCase {
    const char *id;
    /* With @wrong the sequence breaks the rule, else it breaks none. */
    void (*run)(Driver *d, bool wrong);
} RuleCase;

/* The last one has no id. */
extern const RuleCase rule_cases[];

#endif
