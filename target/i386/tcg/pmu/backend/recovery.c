/*
 * Recovery: flushes after mispredictions and machine clears.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/backend/recovery.h"
#include "tcg/pmu/backend/slot-attribution.h"

/*
 * Let the slots pass until a branch is resolved, at @resolved.  Micro-ops of
 * the wrong path fill the share of them that micro-ops have filled since the
 * last flush, but no more than a reorder buffer.  In the model they fill the
 * first cycles, and those whole.  The rest are lost to the backend, for which
 * the branch waits, though some would be lost to the frontend.
 */
static void pass_wrong_path(PmuPipeline *p, PmuCompletion resolved,
                            PmuSlotClass class)
{
    const PmuRightPath *right = &p->right_path;
    uint32_t *item = p->clock.counts.item, width = p->uarch->width;
    uint64_t end = PMU_COMPLETION_CYCLE(resolved), from = p->clock.cycle;
    uint64_t slots = (from - MIN(from, right->cycle)) * width + p->clock.slot;
    uint64_t uops = MIN(p->rob.uops - right->uops, slots);
    uint64_t cycles = end - MIN(from, end);
    uint64_t issue = slots ? (cycles * uops + slots / 2) / slots : cycles;
    uint32_t before = item[class];

    pmu_slots_attribute(p, from + MIN(issue, p->uarch->rob / width), class,
                        PMU_STALL_WRONG_PATH);
    item[PMU_PIPELINE_COUNT_UOPS_ISSUED] += item[class] - before;
    pmu_slots_wait_for_backend(p, resolved);
}

void pmu_recovery_begin_right_path(PmuPipeline *p, uint64_t cycle)
{
    p->right_path = (PmuRightPath) { .cycle = cycle, .uops = p->rob.uops };
}

void pmu_recovery_flush(PmuPipeline *p, PmuCompletion resolved,
                        uint32_t penalty, PmuSlotClass class)
{
    uint64_t end = PMU_COMPLETION_CYCLE(resolved);
    uint32_t refetch = pmu_uarch_refetch(p->uarch, penalty);

    pass_wrong_path(p, resolved, class);
    pmu_slots_attribute(p, MAX(end, p->clock.cycle) + penalty - refetch, class,
                        PMU_STALL_ANY);
    *pmu_count(&p->clock, PMU_ITEM_RECOVERY_CYCLES) += penalty - refetch;
    *pmu_count(&p->clock, PMU_ITEM_CLEAR_CYCLES) += refetch;
    end = p->clock.cycle + refetch;
    pmu_slots_refetch(p, end);
    pmu_delivery_restart(&p->delivery, end);
    pmu_recovery_begin_right_path(p, end);
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
