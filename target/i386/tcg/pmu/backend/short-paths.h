/*
 * Short paths: issue and execution of plain instructions of one slot.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_BACKEND_SHORT_PATHS_H
#define TARGET_I386_PMU_BACKEND_SHORT_PATHS_H

#include "tcg/pmu/backend/pipeline-state.h"
#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/memory/outcome.h"

/*
 * Simulate @bi, whose first byte is @offset bytes into a 4 KiB page and whose
 * path is not PMU_PATH_FULL (choose_path() in insn.c).  The results are those
 * of the full path.
 */
void pmu_run_short(PmuPipeline *p, const PmuBlockInsn *bi,
                   unsigned offset, const PmuOutcome *outcome);

#endif
