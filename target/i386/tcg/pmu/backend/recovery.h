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
 * Flush what is behind the newest instruction: at @resolved it turns out to be
 * wrong.  Until then its micro-ops issue, at most a full reorder buffer.  The
 * next micro-op issues @penalty cycles later.  First the core recovers: slots
 * of @class, INT_MISC.RECOVERY_CYCLES.  In the last cycles
 * (uarch.clear_resteer) the right path is fetched: slots lost to the frontend,
 * as TMA's branch resteers are, INT_MISC.CLEAR_RESTEER_CYCLES, here without
 * what L1I misses add.
 */
void pmu_recovery_flush(PmuPipeline *p, PmuCompletion resolved,
                        uint32_t penalty, PmuSlotClass class);

/*
 * The right path may issue from @cycle on: the share of slots that micro-ops
 * fill is counted from there.
 */
void pmu_recovery_begin_right_path(PmuPipeline *p, uint64_t cycle);

/*
 * The newest instruction stored to code that fetch had.  When it has retired,
 * flush all behind it and fetch that again.
 */
void pmu_recovery_smc_clear(PmuPipeline *p);

/*
 * If an access of @bi is in the mask @clears, it loads a line that another vCPU
 * has written to.  Then all before @bi retires, and @bi is fetched again, as
 * after a mispredicted branch.
 */
void pmu_recovery_ordering_clear(PmuPipeline *p, const PmuBlockInsn *bi,
                                 uint64_t clears);

#endif
