/*
 * Recovery: flushes after mispredictions and machine clears.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/backend/recovery.h"
#include "tcg/pmu/backend/slot-attribution.h"

void pmu_recovery_flush(PmuPipeline *p, PmuCompletion resolved,
                        uint32_t penalty,
                  PmuSlotClass class)
{
    uint32_t *item = p->clock.counts.item;
    uint64_t end = PMU_COMPLETION_CYCLE(resolved);
    uint64_t full = p->clock.cycle + p->uarch->rob / p->uarch->width;
    uint32_t before = item[class], refill = MIN(penalty,
                                                p->uarch->resteer_penalty);

    pmu_slots_attribute(p, MIN(end, full), class, PMU_STALL_WRONG_PATH);
    item[PMU_PIPELINE_COUNT_UOPS_ISSUED] += item[class] - before;
    pmu_slots_wait_for_backend(p, resolved);
    pmu_slots_attribute(p, MAX(end, p->clock.cycle) + penalty, class,
                        PMU_STALL_ANY);
    /* Fetch takes as long from there as from a branch it did not know. */
    *pmu_count(&p->clock, PMU_ITEM_CLEAR_CYCLES) += refill;
    *pmu_count(&p->clock, PMU_ITEM_RECOVERY_CYCLES) += penalty - refill;
    pmu_delivery_restart(&p->delivery, p->clock.cycle);
}

void pmu_recovery_smc_clear(PmuPipeline *p)
{
    pmu_fusion_end(p);
    pmu_recovery_flush(p, p->rob.retired, p->uarch->smc_penalty,
                       PMU_SLOT_MACHINE_CLEARS);
}

void pmu_recovery_ordering_clear(PmuPipeline *p, const PmuBlockInsn *bi,
                                 uint64_t clears)
{
    if ((bi->ea != PMU_NO_ACCESS && (clears >> bi->ea & 1)) ||
        (bi->stack != PMU_NO_ACCESS && (clears >> bi->stack & 1))) {
        pmu_fusion_end(p);
        pmu_recovery_flush(p, p->rob.retired, p->uarch->mispredict_penalty,
              PMU_SLOT_MACHINE_CLEARS);
    }
}
