/*
 * Histories of branches that predictors look up by.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_FRONTEND_BRANCH_HISTORY_H
#define TARGET_I386_PMU_FRONTEND_BRANCH_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/uarch/hash.h"

typedef struct PmuBranchHistory {
    uint64_t directions;        /* two bits a branch, newest lowest */
    uint64_t path;              /* hashes of targets, newest lowest */
} PmuBranchHistory;

/* Multiplicative hash (Knuth); the upper bits of the product are mixed. */
static inline uint64_t pmu_branch_mix(uint64_t value)
{
    return value * PMU_HASH_MULTIPLIER;
}

/*
 * Note the outcome of the branch whose hash is @by_pc.  With a bit of that,
 * histories are half as long and shared with fewer other paths.
 */
static inline void pmu_branch_history_add(PmuBranchHistory *history,
                                          uint64_t by_pc, bool taken)
{
    history->directions = (history->directions << 2) ^ (taken ? 3 : 0) ^
                          (by_pc >> 62);
}

/*
 * Note that an indirect branch went to @target: directions depend on it, too.
 */
static inline void pmu_branch_history_add_target(PmuBranchHistory *history,
                                                 uint64_t target)
{
    history->path = history->path << 8 | pmu_branch_mix(target) >> 56;
    history->directions = history->directions << 2 |
                          pmu_branch_mix(target) >> 62;
}

#endif
