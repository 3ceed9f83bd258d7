/*
 * Replay of a log: a PMU and a checker for each CPU that the log names.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A log does not say what counters hold between reads, when they overflow, or
 * what registers held before the log began.
 */

#ifndef TOOLS_PMU_CHECK_REPLAY_H
#define TOOLS_PMU_CHECK_REPLAY_H

#include "log.h"
#include "tcg/pmu/check/check.h"

typedef struct Replay Replay;

/*
 * Each CPU gets a PMU as in @unit and a checker as in @check.  All rules of
 * @check must be ones that a log suffices for: see replay_limit().
 */
Replay *replay_new(const PerfmonConfig *unit, const PmuCheckConfig *check);
void replay_free(Replay *replay);

/* Replay the next access of the log. */
void replay_access(Replay *replay, const LogAccess *access);

/*
 * Returns how often rule @id was broken, summed over CPUs; NULL: any rule.
 * Suppressed hits do not count.
 */
uint64_t replay_hits(const Replay *replay, const char *id);

/* Switch off the rules that a log does not suffice for. */
void replay_limit(PmuRuleSet *rules);

#endif
