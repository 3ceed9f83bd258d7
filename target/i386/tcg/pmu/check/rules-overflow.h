/*
 * Rules O: overflows of counters.  Rules P: their interrupts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_CHECK_RULES_OVERFLOW_H
#define TARGET_I386_PMU_CHECK_RULES_OVERFLOW_H

#include "tcg/pmu/check/rule.h"

/* The row after the last rule has a NULL id. */
extern const PmuCheckRule pmu_check_overflow_rules[];

#endif
