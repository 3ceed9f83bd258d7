/*
 * Short paths: issue and execution of plain instructions of one slot.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/backend/execute.h"
#include "tcg/pmu/backend/fusion.h"
#include "tcg/pmu/backend/load-store-unit.h"
#include "tcg/pmu/backend/ports.h"
#include "tcg/pmu/backend/scheduler.h"
#include "tcg/pmu/backend/short-paths.h"
#include "tcg/pmu/backend/slot-attribution.h"

static inline uint64_t short_sources(const PmuPipeline *p, const PmuInsn *insn)
{
    return pmu_registers_ready(p, insn, PMU_SHORT_SRCS);
}

static inline void short_wait(PmuPipeline *p, PmuCompletion room, uint32_t uops)
{
    PmuCompletion backend = MAX(MAX(pmu_rob_free_at(p, 1), p->barrier), room);

    if (G_UNLIKELY(PMU_COMPLETION_CYCLE(backend) > p->clock.cycle)) {
        pmu_slots_wait_for_backend(p, backend);
    }
    if (G_UNLIKELY(p->scheduler.occupied + uops > p->uarch->scheduler) &&
        p->scheduler.occupied) {
        pmu_slots_wait_for_backend(
            p, PMU_COMPLETION(pmu_scheduler_free_at(p, uops),
                              PMU_COMPLETION_MEMORY(
                                                         p->rob.retired)));
    }
    if (G_UNLIKELY(p->delivery.cycle > p->clock.cycle)) {
        pmu_slots_wait_for_frontend(p, p->delivery.cycle);
    }
}

/* Issue the slot, and retire it in cycle @completed + 1 at the earliest. */
static inline void short_retire(PmuPipeline *p, uint64_t completed,
                                bool memory)
{
    PmuCompletion done = PMU_COMPLETION(completed + 1, memory);

    p->rob.retired = MAX(p->rob.retired, done);
    p->rob.completed[p->rob.uops++ % PMU_ROB_RING] = p->rob.retired;
    p->rob.retirable = p->rob.uops;
    p->clock.counts.item[PMU_PIPELINE_COUNT_UOPS_ISSUED]++;
    pmu_slots_fill(p, PMU_SLOT_LIGHT_OPS);
}

static inline void short_write_back(PmuPipeline *p, const PmuInsn *insn,
                                    uint64_t done)
{
    for (int i = 0; i < PMU_SHORT_DSTS; i++) {
        p->registers.ready[insn->dst[i]] = done + insn->dst_late[i];
        p->registers.bypass[insn->dst[i]] = insn->bypass;
    }
}

/*
 * Dispatch the one compute micro-op of @bi, and note it in case a branch fuses
 * with it.  Returns the cycle.
 */
static inline uint64_t short_compute(PmuPipeline *p, const PmuBlockInsn *bi,
                                     uint64_t earliest, uint64_t ready)
{
    uint16_t ports = bi->insn->compute[0].ports;
    uint64_t start = pmu_ports_dispatch(p, ports, earliest, ready);

    if (pmu_fuse_as_first(bi)) {
        p->fusion.has_port = true;
        p->fusion.port = p->ports.port;
        p->fusion.cycle = start;
        p->fusion.issue = earliest;
        p->fusion.ready = ready;
    }
    return start;
}

static inline void run_compute(PmuPipeline *p, const PmuBlockInsn *bi)
{
    const PmuInsn *insn = bi->insn;
    uint64_t earliest, done;

    short_wait(p, 0, 1);
    earliest = p->clock.cycle + p->uarch->issue_to_dispatch;
    done = short_compute(p, bi, earliest, short_sources(p, insn)) +
           insn->latency;
    short_write_back(p, insn, done);
    short_retire(p, MAX(done, earliest), false);
}

static inline void run_load(PmuPipeline *p, const PmuBlockInsn *bi,
                            const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    uint8_t index = insn->flags & PMU_INSN_LOAD ? bi->ea : bi->stack;
    uint64_t earliest, address, arrives, sources, done;
    bool memory;

    short_wait(p, pmu_load_buffer_free_at(p), insn->uops);
    earliest = p->clock.cycle + p->uarch->issue_to_dispatch;
    sources = short_sources(p, insn);
    address = MAX(pmu_address_ready(p, insn), earliest);
    arrives = pmu_lsu_load(p, insn, index, earliest, address, outcome);
    memory = arrives >= sources && arrives > address + insn->latency;
    done = MAX(sources, arrives);
    if (insn->compute[0].count) {
        done = short_compute(p, bi, earliest, done);
    } else if (pmu_fuse_as_first(bi)) {
        p->fusion.has_port = false;
        p->fusion.issue = earliest;
        p->fusion.ready = done;
    }
    done += insn->latency;
    short_write_back(p, insn, done);
    short_retire(p, MAX(done, earliest), memory);
    p->lsu.load[p->lsu.loads++ % PMU_LOAD_RING] = p->rob.retired;
}

static inline void run_store(PmuPipeline *p, const PmuBlockInsn *bi,
                             const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    const uint16_t *ports = p->uarch->ports;
    uint8_t index = insn->flags & PMU_INSN_STORE ? bi->ea : bi->stack;
    uint64_t earliest, address, data, done;

    short_wait(p, PMU_COMPLETION_BY(pmu_lsu_store_buffer_free(p),
                                    PMU_CAUSE_STORES), 2);
    earliest = p->clock.cycle + p->uarch->issue_to_dispatch;
    done = short_sources(p, insn) + insn->latency;
    address = MAX(pmu_address_ready(p, insn), earliest);
    short_write_back(p, insn, done);
    address = pmu_ports_dispatch(p, ports[PMU_UNIT_STORE_ADDRESS], earliest,
                                 address);
    data = pmu_ports_dispatch(p, ports[PMU_UNIT_STORE_DATA], earliest, done);
    short_retire(p, MAX(MAX(done, earliest), MAX(data, address)), false);
    pmu_lsu_store(p, insn, index, address, data, false, outcome);
}

void pmu_run_short(PmuPipeline *p, const PmuBlockInsn *bi,
                             unsigned offset, const PmuOutcome *outcome)
{
    pmu_fusion_end(p);
    pmu_delivery_deliver_one(&p->delivery, bi->insn, offset);
    if (bi->insn->rsp != PMU_RSP_NONE) {
        pmu_sync_stack(p, bi, outcome);
    }
    switch (bi->insn->path) {
    case PMU_PATH_COMPUTE:
        run_compute(p, bi);
        break;
    case PMU_PATH_LOAD:
        run_load(p, bi, outcome);
        break;
    default:
        run_store(p, bi, outcome);
        break;
    }
    pmu_fusion_begin(p, bi);
}
