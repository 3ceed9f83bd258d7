/*
 * What has to do with waits and mispredictions, and how much of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_CPI_REGRESSION_H
#define TARGET_I386_PMU_SAMPLING_CPI_REGRESSION_H

#include "tcg/pmu/sampling/cpi-types.h"

/* Which item of a sample is response @i, below PMU_RESPONSE_DEPENDENT. */
uint8_t pmu_cpi_dependent_item(unsigned i);

/* The sum of what response @i depends on, of @covariates. */
double pmu_cpi_regressor(const double covariates[PMU_COVARIATE_NR], unsigned i);

/* How much of response @i of @average is due to what it depends on. */
double pmu_cpi_due(const PmuCpiTable *table, const PmuCpiAverage *average,
                   unsigned i);

/* What has what is known to do with how @sample is not as @means? */
void pmu_cpi_table_add_residual(PmuCpiTable *table, const PmuCpiMeans *means,
                                const PmuSample *sample);

/* Samples of @average so far weigh less from now on: ADJUST_MEMORY. */
void pmu_cpi_average_fade(PmuCpiAverage *average);

/* Some time has passed: look at what was compared, and forget older ones. */
void pmu_cpi_table_update_regression(PmuCpiTable *table);

/*
 * By how much of their slots, from 0 on, the newest sampling units were not as
 * the costs predicted: in the class that differs most.
 */
double pmu_cpi_table_error(const PmuCpiTable *table);

#endif
