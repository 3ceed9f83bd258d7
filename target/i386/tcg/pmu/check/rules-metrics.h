/*
 * Rules M: fixed counter 3 and PERF_METRICS.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_CHECK_RULES_METRICS_H
#define TARGET_I386_PMU_CHECK_RULES_METRICS_H

#include "tcg/pmu/check/rule.h"

/* The row after the last rule has a NULL id. */
extern const PmuCheckRule pmu_check_metrics_rules[];

#endif
