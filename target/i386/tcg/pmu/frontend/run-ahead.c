/*
 * The fetch target queue, in which the branch predictor runs ahead of fetch.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "tcg/pmu/frontend/run-ahead.h"

void pmu_run_ahead_init(PmuRunAhead *r, const PmuUarch *uarch, uint64_t cycle)
{
    memset(r, 0, sizeof(*r));
    r->targets = uarch->fetch_targets;
    pmu_run_ahead_restart(r, cycle);
}
