/*
 * Parameters of the modelled cores, which the timing model reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Data only.  Each figure in uarch.c and uarch-older.c names its source.
 *
 * This folder is the lowest one: types and constants that everything shares
 * (uarch-types.h), parameters of the modelled cores, which of them can be
 * changed (uarch-params), and hashing (hash.h).  It includes nothing else of
 * the model, and must not know what the parameters do.
 */

#ifndef TARGET_I386_PMU_UARCH_UARCH_H
#define TARGET_I386_PMU_UARCH_UARCH_H

#include "tcg/pmu/uarch/uarch-types.h"

/* The parameters of @core. */
const PmuUarch *pmu_uarch(PmuCore core);

/* Core cycles from a load to its use if DRAM has the data. */
static inline uint32_t pmu_uarch_dram_latency(const PmuUarch *uarch)
{
    /* 0.1 ns x MHz is 1/10000 cycle. */
    return (uint64_t)uarch->dram_tenth_ns * uarch->frequency_mhz / 10000;
}

/*
 * Of the @penalty cycles that a flush takes, those at the end in which the
 * right path is fetched.  Before that the core recovers, for at least one cycle
 * if @penalty is not 0.
 */
static inline uint32_t pmu_uarch_refetch(const PmuUarch *uarch,
                                         uint32_t penalty)
{
    return penalty > uarch->clear_resteer ? uarch->clear_resteer
                                          : penalty - !!penalty;
}

#endif
