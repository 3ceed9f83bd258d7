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
 * until then its micro-ops issue, if the reorder buffer has room for them.
 * The next micro-op issues @penalty cycles later.  First the core recovers,
 * slots of @class; the last cycles (uarch.clear_resteer), in which the right
 * path is fetched, are lost to the frontend, as TMA's branch resteers are:
 * INT_MISC.RECOVERY_CYCLES and .CLEAR_RESTEER_CYCLES, the latter without what
 * L1I misses add.
 */
void pmu_recovery_flush(PmuPipeline *p, PmuCompletion resolved,
                        uint32_t penalty, PmuSlotClass class);

/*
 * The right path may issue from @cycle on: the share of slots that micro-ops
 * fill is counted from there.
 */
void pmu_recovery_begin_right_path(PmuPipeline *p, uint64_t cycle);

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
