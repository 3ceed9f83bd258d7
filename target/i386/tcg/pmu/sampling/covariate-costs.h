/*
 * What a cycle of waiting costs, and a misprediction: responses and slopes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_SAMPLING_COVARIATE_COSTS_H
#define TARGET_I386_PMU_SAMPLING_COVARIATE_COSTS_H

#include "tcg/pmu/sampling/cpi-types.h"

/* The item of a sample that is response @i, below PMU_RESPONSE_NR. */
uint8_t pmu_cpi_dependent_item(unsigned i);

/* The regressor of response @i: the sum of @covariates it depends on. */
double pmu_cpi_regressor(const double covariates[PMU_COVARIATE_NR], unsigned i);

/* How much of response @i in @sums is due to its regressor. */
double pmu_cpi_due(const PmuCpiTable *table, const PmuCpiSums *sums,
                   unsigned i);

/* Set all slopes by PmuCpiTable.typical. */
void pmu_cpi_table_update_slopes(PmuCpiTable *table);

/*
 * The error of what costs, corrected by covariates, predicted of the newest
 * sampling units: of the class that differs most, as a share of all slots, 0 or
 * more.  1 if there are none.
 */
double pmu_cpi_table_error(const PmuCpiTable *table);

#endif
