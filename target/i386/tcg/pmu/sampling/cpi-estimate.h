/*
 * Estimates of what was not simulated in detail: means, corrected by
 * covariates and by ratios.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_CPI_ESTIMATE_H
#define TARGET_I386_PMU_SAMPLING_CPI_ESTIMATE_H

#include "tcg/pmu/sampling/cpi-types.h"

/* Does a counter need @item of a sample, so that it is tallied? */
static inline bool pmu_cpi_table_is_wanted(const PmuCpiTable *table,
                                           unsigned item)
{
    return table->wanted >> item / PMU_SAMPLE_GROUP & 1;
}

/*
 * Correct costs of regions by ratios, add them and unknown code to tallies, and
 * correct these by how covariates differ from what was predicted.
 */
void pmu_cpi_table_correct_estimates(PmuCpiTable *table);

/*
 * A region of @insns instructions at @level, whose cost is @which, took
 * @sample, of which all but @groups is 0; @means are those from before.  If the
 * sampling unit was due, add both to the ratios.
 */
void pmu_cpi_table_compare(PmuCpiTable *table, PmuConfidence which,
                           const PmuCpiMeans *means, PmuLevel level,
                           uint32_t insns, const PmuSample *sample,
                           uint32_t groups);

#endif
