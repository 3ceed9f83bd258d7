/*
 * Short paths: instructions of one micro-op without anything special.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_BACKEND_SHORT_PATHS_H
#define TARGET_I386_PMU_BACKEND_SHORT_PATHS_H

#include "tcg/pmu/backend/pipeline-state.h"
#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/memory/outcome.h"

/*
 * @bi was retired, whose first byte is @offset bytes into a 4 KiB page and
 * whose path is not PMU_PATH_FULL: does what the full path does (choose_path()
 * in insn.c).
 */
void pmu_run_short(PmuPipeline *p, const PmuBlockInsn *bi,
                   unsigned offset, const PmuOutcome *outcome);

#endif
