/*
 * All rules, and which of them are on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_CHECK_RULE_SET_H
#define TARGET_I386_PMU_CHECK_RULE_SET_H

#include "tcg/pmu/check/rule.h"

/* Rule @index of all, NULL past the last.  Several can have one id. */
const PmuCheckRule *pmu_check_rule(unsigned index);

/* "undefined", "loss", "waste", "suspicious" */
const char *pmu_check_severity_name(PmuCheckSeverity severity);

/* The rules that are on by default. */
PmuRuleSet pmu_rule_set_default(void);

bool pmu_rule_set_has(const PmuRuleSet *set, unsigned index);

/*
 * Change @set as @text says: "+C14", "-P2", "+all", "-all", or "severity>=L"
 * (U, L, W, S: what is less severe is off), one after the other, with ":" or
 * "," between.  Returns NULL, or what is wrong, to be freed; @set is as it was
 * then.
 */
char *pmu_rule_set_change(PmuRuleSet *set, const char *text);

#endif
