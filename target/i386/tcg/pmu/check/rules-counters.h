/*
 * Rules C: counters and their selectors.  Rules L: their lifetime.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_CHECK_RULES_COUNTERS_H
#define TARGET_I386_PMU_CHECK_RULES_COUNTERS_H

#include "tcg/pmu/check/rule.h"

/* The row after the last rule has a NULL id. */
extern const PmuCheckRule pmu_check_counter_rules[];

#endif
