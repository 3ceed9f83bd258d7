/*
 * Issue and execution of an instruction: from its slots to its retirement.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/backend/execute.h"
#include "tcg/pmu/backend/load-store-unit.h"
#include "tcg/pmu/backend/ports.h"
#include "tcg/pmu/backend/scheduler.h"
#include "tcg/pmu/backend/slot-attribution.h"

void pmu_wait_to_issue(PmuPipeline *p, const PmuInsn *insn,
                                 uint32_t uops)
{
    PmuCompletion backend = MAX(pmu_rob_free_at(p, MIN(insn->slots,
                                                       PMU_ROB_CHUNK)),
                                p->barrier);

    if (insn->flags & PMU_INSN_LOADS) {
        backend = MAX(backend, pmu_load_buffer_free_at(p));
    }
    if (insn->flags & PMU_INSN_STORES) {
        backend = MAX(backend, PMU_COMPLETION_BY(pmu_lsu_store_buffer_free(p),
                                                 PMU_CAUSE_STORES));
    }
    pmu_slots_wait_for_backend(p, backend);
    if (p->scheduler.occupied + uops > p->uarch->scheduler &&
        p->scheduler.occupied) {
        pmu_slots_wait_for_backend(
            p, PMU_COMPLETION(pmu_scheduler_free_at(p, uops),
                              PMU_COMPLETION_MEMORY(
                                                         p->rob.retired)));
    }
    pmu_slots_wait_for_frontend(p, p->delivery.cycle);
}

/* How far an instruction has been issued. */
typedef struct Issue {
    uint32_t slots;             /* that the instruction takes */
    uint32_t issued;            /* slots issued so far */
    uint32_t uop;               /* unfused micro-ops bound so far */
    uint32_t pairs;             /* slots of two unfused micro-ops each */
    bool microcoded;
} Issue;

static inline void issue_slot(PmuPipeline *p, Issue *issue)
{
    bool light = !issue->issued && !issue->microcoded;

    if (G_UNLIKELY(issue->issued >= PMU_ROB_CHUNK)) {
        pmu_slots_wait_for_backend(p, pmu_rob_free_at(p, 1));
    }
    p->rob.uops++;
    issue->issued++;
    pmu_slots_fill(p, light ? PMU_SLOT_LIGHT_OPS : PMU_SLOT_HEAVY_OPS);
}

/*
 * Issue all slots before the one that has the next unfused micro-op.  The
 * first issue->pairs slots have two unfused micro-ops each, the others one.
 * Returns the earliest cycle in which that micro-op can be dispatched.
 */
static inline uint64_t next_uop(PmuPipeline *p, Issue *issue)
{
    uint32_t n = issue->uop++;
    uint32_t slot = n < 2 * issue->pairs ? n / 2 : n - issue->pairs;

    while (issue->issued < MIN(slot, issue->slots - 1)) {
        issue_slot(p, issue);
    }
    return p->clock.cycle + p->uarch->issue_to_dispatch;
}

/*
 * The cycles for which @insn holds its resource.  Of two that hold it for half
 * a cycle more, the second one has the whole cycle.
 */
static uint32_t cycles_held(PmuPipeline *p, const PmuInsn *insn)
{
    bool *half = &p->half_held[insn->resource];

    if (!(insn->flags & PMU_INSN_HOLDS_HALF)) {
        return insn->hold;
    }
    *half = !*half;
    return insn->hold + !*half;
}

/*
 * Count the @cycles for which @insn holds its resource.  They overlap with no
 * others, as later instructions wait for the resource.
 */
static void count_resource(PmuPipeline *p, const PmuInsn *insn,
                           uint32_t cycles)
{
    static const uint8_t item_of[PMU_RESOURCE_NR] = {
        [PMU_RESOURCE_INT_DIV] = PMU_ITEM_INT_DIVIDER,
        [PMU_RESOURCE_FP_DIV] = PMU_ITEM_FP_DIVIDER,
        [PMU_RESOURCE_LOCK] = PMU_ITEM_LOCK_CYCLES,
    };

    if (item_of[insn->resource]) {
        *pmu_count(&p->clock, item_of[insn->resource]) += cycles;
    }
}

/*
 * Dispatch the compute micro-ops of @insn, whose sources are ready in cycle
 * @ready.  Returns the cycle from which the latency of the result counts: in
 * which the first one begins to execute, or @ready if there are none.
 */
static inline uint64_t compute(PmuPipeline *p, const PmuInsn *insn,
                               Issue *issue, uint64_t ready)
{
    PmuResource resource = insn->resource;
    PmuReservationTable *holds = &p->resource[resource];
    bool in_order = resource > PMU_RESOURCE_DOT;
    uint64_t start = 0;
    bool first = true;

    for (int i = 0; i < PMU_INSN_COMPUTE; i++) {
        for (uint32_t n = insn->compute[i].count; n; n--) {
            uint64_t earliest = next_uop(p, issue), cycle = ready;

            if (first && resource != PMU_RESOURCE_NONE) {
                cycle = pmu_reservation_table_first_free(
                    holds, MAX(earliest, ready), in_order);
            }
            cycle = pmu_ports_dispatch(p, insn->compute[i].ports, earliest,
                                       cycle);
            if (first) {
                first = false;
                start = cycle;
                if (resource != PMU_RESOURCE_NONE) {
                    uint32_t held = cycles_held(p, insn);

                    start = pmu_reservation_table_first_free(holds, cycle,
                                                             in_order);
                    pmu_reservation_table_reserve(holds, earliest, start,
                                                  held);
                    count_resource(p, insn, held);
                }
                p->fusion.has_port = true;
                p->fusion.port = p->ports.port;
                p->fusion.cycle = start;
                p->fusion.issue = earliest;
                p->fusion.ready = ready;
            }
        }
    }
    return first ? ready : start;
}

void pmu_write_back(PmuPipeline *p, const PmuInsn *insn,
                              uint64_t done)
{
    /* An eliminated move keeps the bypass group of its source. */
    bool moves = !insn->compute[0].count && !(insn->flags & PMU_INSN_LOADS);
    uint8_t maker = moves ? p->registers.bypass[insn->src[0]] : insn->bypass;

    for (int i = 0; i < PMU_INSN_DSTS; i++) {
        p->registers.ready[insn->dst[i]] = done + insn->dst_late[i];
        p->registers.bypass[insn->dst[i]] = maker;
    }
}

/*
 * Write the two registers of @insn, a PMU_INSN_SWAP that can begin in cycle
 * @start.  Each gets the other's value and does not wait for its own old one.
 */
static void swap(PmuPipeline *p, const PmuInsn *insn, uint64_t start)
{
    uint64_t first = MAX(p->registers.ready[insn->src[0]], start) +
                     insn->latency;
    uint64_t second = MAX(p->registers.ready[insn->src[1]], start) +
                      insn->latency;

    p->registers.ready[insn->src[0]] = second + insn->dst_late[0];
    p->registers.ready[insn->src[1]] = first + insn->dst_late[1];
}

/*
 * Execute the loads of @bi, whose address is ready in cycle @address.  Returns
 * the cycle in which all their data are there.
 */
static uint64_t run_loads(PmuPipeline *p, const PmuBlockInsn *bi,
                          Issue *issue, uint64_t address,
                          const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    uint64_t ready = 0, second = 0;

    if (insn->flags & PMU_INSN_LOAD) {
        uint64_t earliest = next_uop(p, issue);

        ready = pmu_lsu_load(p, insn, bi->ea, earliest, address, outcome);
    }
    if (insn->flags & PMU_INSN_STACK_LOAD) {
        uint64_t earliest = next_uop(p, issue);

        second = pmu_lsu_load(p, insn, bi->stack, earliest, address,
                              outcome);
    }
    return MAX(ready, second);
}

/*
 * Dispatch the two micro-ops of a store, whose address is ready in cycle
 * @address and whose data are ready in cycle *@data.  Returns the cycle of the
 * store address micro-op, and sets *@data to that of the store data micro-op.
 */
static uint64_t store_uops(PmuPipeline *p, Issue *issue, uint64_t address,
                           uint64_t *data)
{
    const uint16_t *ports = p->uarch->ports;
    uint64_t earliest = next_uop(p, issue);

    address = pmu_ports_dispatch(p, ports[PMU_UNIT_STORE_ADDRESS], earliest,
                                 address);
    earliest = next_uop(p, issue);
    *data = pmu_ports_dispatch(p, ports[PMU_UNIT_STORE_DATA], earliest, *data);
    return address;
}

PmuCompletion pmu_execute(PmuPipeline *p, const PmuBlockInsn *bi,
                          uint32_t uops, const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    Issue issue = {
        .slots = insn->slots,
        .pairs = uops > insn->slots ? uops - insn->slots : 0,
        .microcoded = insn->flags & PMU_INSN_MICROCODED,
    };
    uint64_t address = 0, sources = pmu_sources_ready(p, insn), done, completed;
    uint64_t stored[2] = {}, stored_address[2] = {};
    bool memory = false;

    p->stages.issued = p->clock.cycle;
    p->stages.dispatched = UINT64_MAX;
    if (insn->flags & (PMU_INSN_LOADS | PMU_INSN_STORES)) {
        address = MAX(pmu_address_ready(p, insn),
                      p->clock.cycle + p->uarch->issue_to_dispatch);
    }
    if (insn->flags & PMU_INSN_X87) {
        *pmu_count(&p->clock, PMU_ITEM_X87_UOPS) += uops;
    }
    p->fusion.has_port = false;
    if (insn->flags & PMU_INSN_LOADS) {
        uint64_t arrives = run_loads(p, bi, &issue, address, outcome);

        memory = arrives >= sources && arrives > address + insn->latency;
        sources = MAX(sources, arrives);
        p->lsu.loads++;
    }
    done = compute(p, insn, &issue, sources);
    if (!p->fusion.has_port) {
        p->fusion.issue = p->clock.cycle + p->uarch->issue_to_dispatch;
        p->fusion.ready = done;
    }
    done += insn->latency;
    if (insn->flags & PMU_INSN_SWAP) {
        swap(p, insn, p->clock.cycle + p->uarch->issue_to_dispatch);
    } else {
        pmu_write_back(p, insn, done);
    }
    completed = MAX(done, p->clock.cycle + p->uarch->issue_to_dispatch);
    if (insn->flags & PMU_INSN_STORE) {
        stored[0] = done;
        stored_address[0] = store_uops(p, &issue, address, &stored[0]);
    }
    if (insn->flags & PMU_INSN_STACK_STORE) {
        stored[1] = done;
        stored_address[1] = store_uops(p, &issue, address, &stored[1]);
    }
    completed = MAX(completed, MAX(stored[0], stored[1]));
    completed = MAX(completed, MAX(stored_address[0], stored_address[1]));
    while (issue.issued < insn->slots) {
        issue_slot(p, &issue);
    }
    p->stages.executed = completed;
    /* An instruction cannot retire in the cycle in which it executes. */
    pmu_retire(p, insn->slots, PMU_COMPLETION(completed + 1, memory));
    if (insn->flags & PMU_INSN_LOADS) {
        p->lsu.load[(p->lsu.loads - 1) % PMU_LOAD_RING] = p->rob.retired;
    }
    if (insn->flags & PMU_INSN_STORE) {
        pmu_lsu_store(p, insn, bi->ea, stored_address[0], stored[0],
                      insn->flags & PMU_INSN_LOAD, outcome);
    }
    if (insn->flags & PMU_INSN_STACK_STORE) {
        pmu_lsu_store(p, insn, bi->stack, stored_address[1], stored[1],
                      false, outcome);
    }
    return PMU_COMPLETION(done, memory);
}

PmuCompletion pmu_execute_branch(PmuPipeline *p, const PmuBlockInsn *bi,
                                 uint32_t uops, const PmuOutcome *outcome)
{
    PmuBlockInsn taken = *bi;
    PmuInsn insn = *bi->insn;

    insn.compute[0].ports &= p->uarch->ports[PMU_UNIT_BRANCH_TAKEN];
    taken.insn = &insn;
    return pmu_execute(p, &taken, uops, outcome);
}

PmuCompletion pmu_execute_fused(PmuPipeline *p, const PmuInsn *insn,
                                bool taken)
{
    uint16_t ports = insn->compute[0].ports;
    uint64_t start;

    if (taken) {
        ports &= p->uarch->ports[PMU_UNIT_BRANCH_TAKEN];
    }
    p->stages.issued = p->fusion.issue - p->uarch->issue_to_dispatch;
    p->stages.dispatched = UINT64_MAX;
    if (p->fusion.has_port) {
        pmu_ports_release(&p->ports, p->fusion.port, p->fusion.cycle);
        pmu_scheduler_remove(p, p->fusion.cycle);
        p->ports.dispatched[p->fusion.port] -= p->ports.report;
    }
    start = pmu_ports_dispatch(p, ports, p->fusion.issue, p->fusion.ready);
    p->stages.executed = start + 1;
    *pmu_count(&p->clock, PMU_ITEM_MACRO_FUSED) += 1;
    pmu_retire(p, 1, PMU_COMPLETION(start + 2, 0));
    return PMU_COMPLETION(start + 1, 0);
}

void pmu_sync_stack(PmuPipeline *p, const PmuBlockInsn *bi,
                       const PmuOutcome *outcome)
{
    static const uint8_t rsp = PMU_REG_GPR0 + 4;
    PmuInsn sync = {
        .slots = 1, .decode_uops = 1, .latency = 1, .src = { rsp },
        .dst = { rsp, PMU_REG_NR, PMU_REG_NR, PMU_REG_NR },
        .compute = { { p->uarch->ports[PMU_UNIT_ALU], 1 } },
    };
    PmuBlockInsn uop = {
        .insn = &sync, .ea = PMU_NO_ACCESS, .stack = PMU_NO_ACCESS,
    };

    if (bi->insn->rsp == PMU_RSP_STACK) {
        p->registers.rsp_ahead = true;
    } else if (p->registers.rsp_ahead) {
        p->registers.rsp_ahead = false;
        if (bi->insn->rsp == PMU_RSP_USE) {
            pmu_wait_to_issue(p, &sync, 1);
            p->clock.counts.item[PMU_PIPELINE_COUNT_UOPS_ISSUED]++;
            pmu_execute(p, &uop, 1, outcome);
        }
    }
}
