/*
 * The list of all rules, and sets of rules that are on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_CHECK_RULE_SET_H
#define TARGET_I386_PMU_CHECK_RULE_SET_H

#include "tcg/pmu/check/rule.h"

/* Rule @index of all; NULL past the last.  Several can have the same id. */
const PmuCheckRule *pmu_check_rule(unsigned index);

/* "undefined", "loss", "waste", "suspicious" */
const char *pmu_check_severity_name(PmuCheckSeverity severity);

/* The rules that are on by default. */
PmuRuleSet pmu_rule_set_default(void);

bool pmu_rule_set_has(const PmuRuleSet *set, unsigned index);

/*
 * Change @set as @text says: a list of "+C14", "-P2", "+all", "-all" and
 * "severity>=L" (U, L, W or S: less severe rules go off), applied in order and
 * separated by ":" or ",".  Returns NULL if @text is valid; else what is wrong,
 * which the caller frees, and @set does not change.
 */
char *pmu_rule_set_change(PmuRuleSet *set, const char *text);

#endif
