/*
 * Recovery: flushes after mispredictions and machine clears.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_BACKEND_RECOVERY_H
#define TARGET_I386_PMU_BACKEND_RECOVERY_H

#include "tcg/pmu/backend/fusion.h"
#include "tcg/pmu/backend/pipeline-state.h"
#include "tcg/pmu/decode/block.h"

/*
 * What is behind the newest instruction is wrong, which shows at @resolved:
 * until then its micro-ops issue, if the reorder buffer has room for them;
 * after that the pipeline refills in @penalty cycles.
 */
void pmu_recovery_flush(PmuPipeline *p, PmuCompletion resolved,
                        uint32_t penalty,
                        PmuSlotClass class);

/*
 * The newest instruction stored to code that fetch had: when it has retired,
 * all behind it is flushed and fetched again.
 */
void pmu_recovery_smc_clear(PmuPipeline *p);

/*
 * @bi loads what another vCPU has written to, and has to begin anew: all before
 * it has retired, and it is fetched as after a mispredicted branch.
 */
void pmu_recovery_ordering_clear(PmuPipeline *p, const PmuBlockInsn *bi,
                                 uint64_t clears);

#endif
