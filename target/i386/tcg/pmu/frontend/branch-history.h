/*
 * Branch histories, by which predictors look up their tables.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_FRONTEND_BRANCH_HISTORY_H
#define TARGET_I386_PMU_FRONTEND_BRANCH_HISTORY_H

#include <stdint.h>

#include "tcg/pmu/uarch/hash.h"

/* A history reaches back fewer taken branches than this; a power of two. */
#define PMU_BRANCH_HISTORY  256

typedef struct PmuBranchHistory {
    /* At n % PMU_BRANCH_HISTORY: hash of all taken branches up to number n. */
    uint64_t prefix[PMU_BRANCH_HISTORY];
    uint32_t num;               /* taken branches so far, modulo 2^32 */
    uint64_t path;              /* hashes of indirect targets, newest lowest */
} PmuBranchHistory;

/* Multiplicative hash (Knuth); the upper bits of the product are mixed. */
static inline uint64_t pmu_branch_mix(uint64_t value)
{
    return value * PMU_HASH_MULTIPLIER;
}

/*
 * A branch of any kind was taken, to @target: add it to the history.  Branches
 * that are not taken leave nothing there, as on Intel's cores (Yavarzadeh et
 * al., "Half&Half", IEEE S&P 2023).  Polynomial hash (Karp and Rabin).  Hot.
 */
static inline void pmu_branch_history_add(PmuBranchHistory *history,
                                          uint64_t target)
{
    uint64_t before = history->prefix[history->num % PMU_BRANCH_HISTORY];

    history->num++;
    history->prefix[history->num % PMU_BRANCH_HISTORY] =
        pmu_branch_mix(before + target);
}

/* PMU_HASH_MULTIPLIER to the power of @length, for the next function. */
static inline uint64_t pmu_branch_history_factor(unsigned length)
{
    uint64_t factor = 1;

    while (length--) {
        factor = pmu_branch_mix(factor);
    }
    return factor;
}

/*
 * The hash of the last @length taken branches, fewer than PMU_BRANCH_HISTORY:
 * that of all branches less that of the older ones.
 */
static inline uint64_t pmu_branch_history_hash(const PmuBranchHistory *history,
                                               unsigned length, uint64_t factor)
{
    const uint64_t *prefix = history->prefix;
    uint32_t num = history->num;

    return prefix[num % PMU_BRANCH_HISTORY] -
           prefix[(num - length) % PMU_BRANCH_HISTORY] * factor;
}

/* An indirect branch went to @target. */
static inline void pmu_branch_history_add_indirect(PmuBranchHistory *history,
                                                   uint64_t target)
{
    history->path = history->path << 8 | pmu_branch_mix(target) >> 56;
}

#endif
