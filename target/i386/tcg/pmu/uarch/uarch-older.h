/*
 * Parameters of the older cores, which are modelled in outline.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Others go through pmu_uarch().
 */

#ifndef TARGET_I386_PMU_UARCH_UARCH_OLDER_H
#define TARGET_I386_PMU_UARCH_UARCH_OLDER_H

#include "tcg/pmu/uarch/uarch-types.h"

/* The parameters of @core, which is PMU_CORES_MEASURED or later. */
const PmuUarch *pmu_uarch_older(PmuCore core);

#endif
