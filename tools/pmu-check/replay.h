/*
 * Units whose accesses a log tells of, each with a checker.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a log does not say is not known: values of counters between reads, when
 * they overflow, and what there was before the log began.
 */

#ifndef TOOLS_PMU_CHECK_REPLAY_H
#define TOOLS_PMU_CHECK_REPLAY_H

#include "log.h"
#include "tcg/pmu/check/check.h"

typedef struct Replay Replay;

/* Units of @unit, checked by @check, all of whose rules a log has to serve. */
Replay *replay_new(const PerfmonConfig *unit, const PmuCheckConfig *check);
void replay_free(Replay *replay);

/* The next access. */
void replay_access(Replay *replay, const LogAccess *access);

/* How often rule @id was broken on all CPUs; NULL: any rule. */
uint64_t replay_hits(const Replay *replay, const char *id);

/* Leave only rules that a log serves. */
void replay_limit(PmuRuleSet *rules);

#endif
