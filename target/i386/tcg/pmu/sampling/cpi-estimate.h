/*
 * Estimates of what was not simulated in detail: means, corrected by
 * covariates.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_CPI_ESTIMATE_H
#define TARGET_I386_PMU_SAMPLING_CPI_ESTIMATE_H

#include "tcg/pmu/sampling/cpi-types.h"

/* Is @item of a sample tallied? */
static inline bool pmu_cpi_table_is_wanted(const PmuCpiTable *table,
                                           unsigned item)
{
    return table->wanted >> item / PMU_SAMPLE_GROUP & 1;
}

/*
 * Make up for what is known of what was counted and was not as predicted, of
 * regions of unknown cost and of others.
 */
void pmu_cpi_table_correct_estimates(PmuCpiTable *table);

/*
 * A region of @insns instructions and of low confidence, or unknown, took
 * @sample, and has @means so far: enter both into the ratios, if the sampling
 * unit was due.
 */
void pmu_cpi_table_compare_doubtful(PmuCpiTable *table,
                                    const PmuCpiMeans *means, uint32_t insns,
                                    const PmuSample *sample);

#endif
