/*
 * The pipeline: when micro-ops are fetched, issued, dispatched and retired,
 * and what becomes of each slot.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 *
 * Instructions issue in order, @width slots a cycle, as early as the frontend,
 * the buffers of the backend and serialising instructions permit.  Micro-ops
 * are dispatched once their sources are ready and one of their ports is free;
 * instructions retire in order.  Slots that issue are retiring slots; those
 * that pass in between get the one class of what the issue waited for.  Clock
 * and slots advance together, so nothing is lost.
 */

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "stages.h"
#include "supply.h"

#define LOADS   (PMU_INSN_LOAD | PMU_INSN_STACK_LOAD)
#define STORES  (PMU_INSN_STORE | PMU_INSN_STACK_STORE)

/* Instructions that need more than to be issued and executed. */
#define SPECIAL (PMU_INSN_SERIALIZING | PMU_INSN_BLOCKS_ISSUE | \
                 PMU_INSN_FENCES_LOADS)

void pmu_pipeline_init(PmuPipeline *p, const PmuUarch *uarch)
{
    memset(p, 0, sizeof(*p));
    p->uarch = uarch;
    pmu_ports_init(&p->sets, uarch);
    p->supply_ahead = uarch->idq / uarch->dsb_line;
    p->predecode_ahead = uarch->instruction_queue / uarch->decoders;
    p->cycle = PMU_FIRST_CYCLE;
    p->supply.cycle = PMU_FIRST_CYCLE;
    p->near_until = UINT64_MAX;
    p->retire_cycle = PMU_FIRST_CYCLE;
    p->empty = true;
}

void pmu_pipeline_reset(PmuPipeline *p)
{
    uint64_t cycle = p->cycle, repairs = p->repairs;
    bool report = p->report;

    pmu_pipeline_init(p, p->uarch);
    p->report = report;
    p->repairs = repairs;
    p->cycle = cycle;
    p->supply.cycle = cycle;
    p->retire_cycle = cycle;
}

void pmu_pipeline_resume(PmuPipeline *p, uint32_t open, uint64_t history)
{
    p->slot = open;
    p->history = history;
}

/* Buffers of the backend. */

static int compare_cycles(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/*
 * The cycle in which the scheduler has room for @n micro-ops more: the sooner
 * in which enough will have left.
 */
static uint64_t scheduler_room(PmuPipeline *p, uint32_t n)
{
    uint32_t size = p->uarch->scheduler, scheduled = p->scheduled;
    uint64_t cycle = p->cycle, end = cycle + PMU_WINDOW;

    while (scheduled + n > size && scheduled > p->num_far && cycle < end) {
        scheduled -= p->dispatches[cycle++ % PMU_WINDOW];
    }
    if (G_UNLIKELY(scheduled + n > size && scheduled > p->num_far)) {
        /* There are more than leave in the window or behind it. */
        pmu_ports_recount(p);
        return cycle;
    }
    if (scheduled + n > size && p->num_far) {
        /* All the others are far ahead: wait for as many as it takes. */
        uint64_t far[PMU_MAX_FAR];

        memcpy(far, p->far, p->num_far * sizeof(*far));
        qsort(far, p->num_far, sizeof(*far), compare_cycles);
        cycle = far[MIN(scheduled + n - size, p->num_far) - 1] + 1;
    }
    return cycle;
}

/* When the micro-op before the @n to come by a reorder buffer retires. */
static PmuStamp rob_room(const PmuPipeline *p, uint32_t n)
{
    return p->rob[(p->uops + n - 1 - p->uarch->rob) % PMU_ROB_RING];
}

static PmuStamp load_room(const PmuPipeline *p)
{
    return p->load[(p->loads - p->uarch->load_buffer) % PMU_LOAD_RING];
}

/* Wait until @insn can issue. */
static inline void wait_to_issue(PmuPipeline *p, const PmuInsn *insn,
                                 uint32_t uops)
{
    PmuStamp backend = MAX(rob_room(p, MIN(insn->slots, PMU_ROB_CHUNK)),
                           p->barrier);

    if (insn->flags & LOADS) {
        backend = MAX(backend, load_room(p));
    }
    if (insn->flags & STORES) {
        backend = MAX(backend, PMU_STAMP_BY(pmu_access_store_room(p),
                                            PMU_CAUSE_STORES));
    }
    pmu_slots_lose_backend(p, backend);
    if (p->scheduled + uops > p->uarch->scheduler && p->scheduled) {
        pmu_slots_lose_backend(p, PMU_STAMP(scheduler_room(p, uops),
                                            PMU_STAMP_MEMORY(p->retired)));
    }
    pmu_slots_lose_frontend(p, p->supply.cycle);
}

/* Issue and execution. */

/* How many of an instruction's slots have been issued, and as what. */
typedef struct Issue {
    uint32_t slots;             /* of the instruction */
    uint32_t issued;
    uint32_t uop;               /* unfused micro-ops bound so far */
    uint32_t pairs;             /* fused micro-ops that are two unfused ones */
    bool microcoded;
} Issue;

static inline void issue_slot(PmuPipeline *p, Issue *issue)
{
    bool light = !issue->issued && !issue->microcoded;

    if (G_UNLIKELY(issue->issued >= PMU_ROB_CHUNK)) {
        pmu_slots_lose_backend(p, rob_room(p, 1));
    }
    p->uops++;
    issue->issued++;
    pmu_slots_fill(p, light ? PMU_SLOT_LIGHT_OPS : PMU_SLOT_HEAVY_OPS);
}

/*
 * Issue the slots before that of the next unfused micro-op: the first @pairs
 * slots have two of them.  Returns the earliest cycle it can be dispatched in.
 */
static inline uint64_t next_uop(PmuPipeline *p, Issue *issue)
{
    uint32_t n = issue->uop++;
    uint32_t slot = n < 2 * issue->pairs ? n / 2 : n - issue->pairs;

    while (issue->issued < MIN(slot, issue->slots - 1)) {
        issue_slot(p, issue);
    }
    return p->cycle + p->uarch->issue_to_dispatch;
}

/* Cycles that a resource is held do not overlap: whoever comes later waits. */
static void count_resource(PmuPipeline *p, const PmuInsn *insn)
{
    static const uint8_t item_of[PMU_RESOURCE_NR] = {
        [PMU_RESOURCE_INT_DIV] = PMU_ITEM_INT_DIVIDER,
        [PMU_RESOURCE_FP_DIV] = PMU_ITEM_FP_DIVIDER,
        [PMU_RESOURCE_LOCK] = PMU_ITEM_LOCK_CYCLES,
    };

    if (item_of[insn->resource]) {
        *pmu_timed(p, item_of[insn->resource]) += insn->hold;
    }
}

/*
 * Bind the compute micro-ops of @insn, whose sources are ready at @ready.
 * Returns when the first is dispatched, which is when the result begins.
 */
static inline uint64_t compute(PmuPipeline *p, const PmuInsn *insn,
                               Issue *issue, uint64_t ready)
{
    PmuResource resource = insn->resource;
    PmuHolds *holds = &p->resource[resource];
    bool in_order = resource > PMU_RESOURCE_DOT;
    uint64_t start = 0;
    bool first = true;

    for (int i = 0; i < PMU_INSN_COMPUTE; i++) {
        for (uint32_t n = insn->compute[i].count; n; n--) {
            uint64_t earliest = next_uop(p, issue), cycle = ready;

            if (first && resource != PMU_RESOURCE_NONE) {
                cycle = pmu_holds_free(holds, MAX(earliest, ready), in_order);
            }
            cycle = pmu_ports_dispatch(p, insn->compute[i].ports, earliest,
                                       cycle);
            if (first) {
                first = false;
                start = cycle;
                if (resource != PMU_RESOURCE_NONE) {
                    start = pmu_holds_free(holds, cycle, in_order);
                    pmu_holds_take(holds, earliest, start, insn->hold);
                    count_resource(p, insn);
                }
                p->fuse_ports = insn->compute[i].ports;
                p->fuse_port = p->port_item;
                p->fuse_cycle = start;
                p->fuse_issue = earliest;
                p->fuse_ready = ready;
            }
        }
    }
    return first ? ready : start;
}

/* When @insn, which has a bypass, can have source @i. */
static inline uint64_t bypassed(const PmuPipeline *p, const PmuInsn *insn,
                                int i)
{
    uint8_t reg = insn->src[i];

    return p->ready[reg] + p->uarch->bypass[p->maker[reg]][insn->bypass];
}

/* When the first @max registers that @insn computes with are ready. */
static inline uint64_t ready_of(const PmuPipeline *p, const PmuInsn *insn,
                                int max)
{
    uint64_t ready = 0;

    for (int i = 0; i < max; i++) {
        uint64_t source = insn->bypass ? bypassed(p, insn, i)
                                       : p->ready[insn->src[i]];

        ready = MAX(ready, source - MIN(source, insn->src_late[i]));
    }
    return ready;
}

static inline uint64_t sources_ready(const PmuPipeline *p, const PmuInsn *insn)
{
    return ready_of(p, insn, PMU_INSN_SRCS);
}

static inline void write_back(PmuPipeline *p, const PmuInsn *insn,
                              uint64_t done)
{
    /* Renaming moves a register with all that belongs to it. */
    bool moves = !insn->compute[0].count && !(insn->flags & LOADS);
    uint8_t maker = moves ? p->maker[insn->src[0]] : insn->bypass;

    for (int i = 0; i < PMU_INSN_DSTS; i++) {
        p->ready[insn->dst[i]] = done + insn->dst_late[i];
        p->maker[insn->dst[i]] = maker;
    }
}

/*
 * The registers of @insn, a PMU_INSN_SWAP that can begin at @start: each gets
 * what is in the other, and does not wait for the one it loses.
 */
static void swap(PmuPipeline *p, const PmuInsn *insn, uint64_t start)
{
    uint64_t first = MAX(p->ready[insn->src[0]], start) + insn->latency;
    uint64_t second = MAX(p->ready[insn->src[1]], start) + insn->latency;

    p->ready[insn->src[0]] = second + insn->dst_late[0];
    p->ready[insn->src[1]] = first + insn->dst_late[1];
}

/* The @n newest micro-ops retire at @done at the earliest. */
static inline void retire(PmuPipeline *p, uint32_t n, PmuStamp done)
{
    p->retired = MAX(p->retired, done);
    for (uint64_t uop = p->uops - n; uop != p->uops; uop++) {
        p->rob[uop % PMU_ROB_RING] = p->retired;
    }
    p->retirable = p->uops;
}

static uint64_t address_ready(const PmuPipeline *p, const PmuInsn *insn)
{
    return MAX(p->ready[insn->addr_src[0]], p->ready[insn->addr_src[1]]);
}

/* The loads of @bi, its address ready at @address; when all data are there. */
static uint64_t run_loads(PmuPipeline *p, const PmuBlockInsn *bi,
                          Issue *issue, uint64_t address,
                          const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    uint64_t ready = 0, second = 0;

    if (insn->flags & PMU_INSN_LOAD) {
        uint64_t earliest = next_uop(p, issue);

        ready = pmu_access_load(p, insn, bi->ea, earliest, address, outcome);
    }
    if (insn->flags & PMU_INSN_STACK_LOAD) {
        uint64_t earliest = next_uop(p, issue);

        second = pmu_access_load(p, insn, bi->stack, earliest, address,
                                 outcome);
    }
    return MAX(ready, second);
}

/*
 * The store micro-ops of one store whose data are ready at @data: when its
 * address is known; *@data gets when its data have been read.
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

/* Issue, execute and retire @bi, which has @uops unfused micro-ops. */
static PmuStamp execute(PmuPipeline *p, const PmuBlockInsn *bi, uint32_t uops,
                        const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    Issue issue = {
        .slots = insn->slots,
        .pairs = uops > insn->slots ? uops - insn->slots : 0,
        .microcoded = insn->flags & PMU_INSN_MICROCODED,
    };
    uint64_t address = 0, sources = sources_ready(p, insn), done, completed;
    uint64_t stored[2] = {}, stored_address[2] = {};
    bool memory = false;

    if (insn->flags & (LOADS | STORES)) {
        address = MAX(address_ready(p, insn),
                      p->cycle + p->uarch->issue_to_dispatch);
    }
    if (insn->flags & PMU_INSN_X87) {
        *pmu_timed(p, PMU_ITEM_X87_UOPS) += uops;
    }
    p->fuse_ports = 0;
    if (insn->flags & LOADS) {
        uint64_t arrives = run_loads(p, bi, &issue, address, outcome);

        memory = arrives >= sources && arrives > address + insn->latency;
        sources = MAX(sources, arrives);
        p->loads++;
    }
    done = compute(p, insn, &issue, sources);
    if (!p->fuse_ports) {
        p->fuse_issue = p->cycle + p->uarch->issue_to_dispatch;
        p->fuse_ready = done;
    }
    done += insn->latency;
    if (insn->flags & PMU_INSN_SWAP) {
        swap(p, insn, p->cycle + p->uarch->issue_to_dispatch);
    } else {
        write_back(p, insn, done);
    }
    completed = MAX(done, p->cycle + p->uarch->issue_to_dispatch);
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
    /* It cannot retire in the cycle it executes in. */
    retire(p, insn->slots, PMU_STAMP(completed + 1, memory));
    if (insn->flags & LOADS) {
        p->load[(p->loads - 1) % PMU_LOAD_RING] = p->retired;
    }
    if (insn->flags & PMU_INSN_STORE) {
        pmu_access_store(p, insn, bi->ea, stored_address[0], stored[0],
                         insn->flags & PMU_INSN_LOAD, outcome);
    }
    if (insn->flags & PMU_INSN_STACK_STORE) {
        pmu_access_store(p, insn, bi->stack, stored_address[1], stored[1],
                         false, outcome);
    }
    return PMU_STAMP(done, memory);
}

/*
 * @insn, a branch, fuses with the instruction before it: their one micro-op
 * goes where branches go.
 */
static PmuStamp execute_fused(PmuPipeline *p, const PmuInsn *insn, bool taken)
{
    uint16_t ports = insn->compute[0].ports;
    uint64_t start;

    if (taken) {
        ports &= p->uarch->ports[PMU_UNIT_BRANCH_TAKEN];
    }
    if (p->fuse_ports) {
        pmu_ports_give_back(p, p->fuse_ports);
        pmu_ports_leave_scheduler(p, p->fuse_cycle);
    }
    start = pmu_ports_dispatch(p, ports, p->fuse_issue, p->fuse_ready);
    *pmu_timed(p, PMU_ITEM_MACRO_FUSED) += 1;
    retire(p, 1, PMU_STAMP(start + 2, 0));
    return PMU_STAMP(start + 1, 0);
}

/*
 * What is behind the newest instruction is wrong, which shows at @resolved:
 * until then its micro-ops issue, if the reorder buffer has room for them;
 * after that the pipeline refills in @penalty cycles.
 */
static void flush(PmuPipeline *p, PmuStamp resolved, uint32_t penalty,
                  PmuSlotClass class)
{
    uint32_t *item = p->delta.item;
    uint64_t end = PMU_STAMP_CYCLE(resolved);
    uint64_t full = p->cycle + p->uarch->rob / p->uarch->width;
    uint32_t before = item[class], refill = MIN(penalty,
                                                p->uarch->resteer_penalty);

    pmu_slots_lose(p, MIN(end, full), class, PMU_BLAME_WRONG_PATH);
    item[PMU_TIMED_UOPS_ISSUED] += item[class] - before;
    pmu_slots_lose_backend(p, resolved);
    pmu_slots_lose(p, MAX(end, p->cycle) + penalty, class, PMU_BLAME_ANYBODY);
    /* Fetch takes as long from there as from a branch it did not know. */
    *pmu_timed(p, PMU_ITEM_CLEAR_CYCLES) += refill;
    *pmu_timed(p, PMU_ITEM_RECOVERY_CYCLES) += penalty - refill;
    pmu_supply_restart(p, p->cycle);
}

/*
 * The newest instruction is @bi: where its micro-op goes is counted when it is
 * known that it does not fuse with the next.
 */
static inline void begin_fuse(PmuPipeline *p, const PmuBlockInsn *bi)
{
    p->fuse = pmu_fuse_next(bi);
    if (p->fuse && p->fuse_ports) {
        --*pmu_timed(p, PMU_ITEM_PORT_0 + p->fuse_port);
    }
}

/* It did not. */
static inline void end_fuse(PmuPipeline *p)
{
    if (p->fuse && p->fuse_ports) {
        ++*pmu_timed(p, PMU_ITEM_PORT_0 + p->fuse_port);
    }
    p->fuse = 0;
}

void pmu_pipeline_clear(PmuPipeline *p)
{
    end_fuse(p);
    flush(p, p->retired, p->uarch->smc_penalty, PMU_SLOT_MACHINE_CLEARS);
}

/*
 * @bi loads what another vCPU has written to, and has to begin anew: all before
 * it has retired, and it is fetched as after a mispredicted branch.
 */
static void begin_again(PmuPipeline *p, const PmuBlockInsn *bi,
                        uint64_t again)
{
    if ((bi->ea != PMU_NO_ACCESS && (again >> bi->ea & 1)) ||
        (bi->stack != PMU_NO_ACCESS && (again >> bi->stack & 1))) {
        end_fuse(p);
        flush(p, p->retired, p->uarch->mispredict_penalty,
              PMU_SLOT_MACHINE_CLEARS);
    }
}

/* Branches. */

static void run_branch(PmuPipeline *p, const PmuInsn *insn,
                       const PmuOutcome *outcome, PmuStamp resolved)
{
    bool taken = insn->branch != PMU_BRANCH_COND ||
                 (outcome->branch & PMU_OUTCOME_TAKEN);

    if (insn->branch == PMU_BRANCH_FAR) {
        /* Far transfers are not predicted: fetch waits for them. */
        pmu_supply_restart(p, PMU_STAMP_CYCLE(resolved) +
                              p->uarch->far_branch_penalty);
    } else if (outcome->branch & PMU_OUTCOME_MISPREDICT) {
        flush(p, resolved, p->uarch->mispredict_penalty,
              PMU_SLOT_BR_MISPREDICT);
    } else if (taken) {
        pmu_supply_taken(p, outcome->branch & PMU_OUTCOME_UNKNOWN,
                         outcome->branch & PMU_OUTCOME_LOOP_END);
    }
}

/* Instructions. */

/* When all that has been issued has retired. */
static PmuStamp all_retired(const PmuPipeline *p)
{
    uint64_t first = p->cycle + p->uarch->issue_to_dispatch + 1;

    return MAX(p->retired, PMU_STAMP(first, 0));
}

static void special_before(PmuPipeline *p, const PmuInsn *insn)
{
    if (insn->flags & PMU_INSN_SERIALIZING) {
        uint64_t before = p->cycle;

        pmu_slots_lose_backend(p, all_retired(p));
        pmu_slots_lose(p, p->cycle + p->uarch->serialize_penalty,
                       PMU_SLOT_CORE_BOUND, PMU_BLAME_ANYBODY);
        pmu_slots_serialized(p, before, p->cycle);
    }
}

static void special_after(PmuPipeline *p, const PmuInsn *insn, PmuStamp done)
{
    if (insn->flags & PMU_INSN_BLOCKS_ISSUE) {
        p->barrier = MAX(p->barrier, PMU_STAMP_MEMORY(done)
                                     ? done : done | PMU_CAUSE_SERIAL);
        p->pause = insn->tally == PMU_TALLY_PAUSE ? PMU_STAMP_CYCLE(done)
                                                  : p->pause;
    }
    if (insn->flags & PMU_INSN_FENCES_LOADS) {
        p->loads_from = MAX(p->loads_from, PMU_STAMP_CYCLE(done));
    }
}

/* A branch that is taken executes on fewer ports. */
static PmuStamp execute_branch(PmuPipeline *p, const PmuBlockInsn *bi,
                               uint32_t uops, const PmuOutcome *outcome)
{
    PmuBlockInsn taken = *bi;
    PmuInsn insn = *bi->insn;

    insn.compute[0].ports &= p->uarch->ports[PMU_UNIT_BRANCH_TAKEN];
    taken.insn = &insn;
    return execute(p, &taken, uops, outcome);
}

/*
 * PUSH, POP and the like change RSP in the stack engine, ahead of the others.
 * An instruction that uses RSP otherwise has it told first: by a micro-op of
 * its own (Intel SOM, "Stack pointer tracker").
 */
static void sync_stack(PmuPipeline *p, const PmuBlockInsn *bi,
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
        p->stack_ahead = true;
    } else if (p->stack_ahead) {
        p->stack_ahead = false;
        if (bi->insn->rsp == PMU_RSP_USE) {
            wait_to_issue(p, &sync, 1);
            p->delta.item[PMU_TIMED_UOPS_ISSUED]++;
            execute(p, &uop, 1, outcome);
        }
    }
}

static PmuStamp run_whole(PmuPipeline *p, const PmuBlockInsn *bi,
                          unsigned offset, const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    uint32_t uops = insn->uops;
    PmuStamp done;

    if (insn->flags & SPECIAL) {
        special_before(p, insn);
    }
    pmu_supply_deliver(p, insn, offset);
    if (bi->insn->rsp != PMU_RSP_NONE) {
        sync_stack(p, bi, outcome);
    }
    wait_to_issue(p, insn, uops);
    p->delta.item[PMU_TIMED_UOPS_ISSUED] += insn->slots;
    if (insn->branch == PMU_BRANCH_COND &&
        (outcome->branch & PMU_OUTCOME_TAKEN)) {
        done = execute_branch(p, bi, uops, outcome);
    } else {
        done = execute(p, bi, uops, outcome);
    }
    if (insn->flags & SPECIAL) {
        special_after(p, insn, done);
    }
    return done;
}

/*
 * The short paths do what run_whole() does, for instructions that lack most of
 * what can be special: see choose_path() in uops-path.c.
 */

static inline uint64_t short_sources(const PmuPipeline *p, const PmuInsn *insn)
{
    return ready_of(p, insn, PMU_SHORT_SRCS);
}

static inline void short_wait(PmuPipeline *p, PmuStamp room, uint32_t uops)
{
    PmuStamp backend = MAX(MAX(rob_room(p, 1), p->barrier), room);

    if (G_UNLIKELY(PMU_STAMP_CYCLE(backend) > p->cycle)) {
        pmu_slots_lose_backend(p, backend);
    }
    if (G_UNLIKELY(p->scheduled + uops > p->uarch->scheduler) &&
        p->scheduled) {
        pmu_slots_lose_backend(p, PMU_STAMP(scheduler_room(p, uops),
                                            PMU_STAMP_MEMORY(p->retired)));
    }
    if (G_UNLIKELY(p->supply.cycle > p->cycle)) {
        pmu_slots_lose_frontend(p, p->supply.cycle);
    }
}

/* Issue, and retire at @completed + 1 at the earliest. */
static inline void short_retire(PmuPipeline *p, uint64_t completed,
                                bool memory)
{
    PmuStamp done = PMU_STAMP(completed + 1, memory);

    p->retired = MAX(p->retired, done);
    p->rob[p->uops++ % PMU_ROB_RING] = p->retired;
    p->retirable = p->uops;
    p->delta.item[PMU_TIMED_UOPS_ISSUED]++;
    pmu_slots_fill(p, PMU_SLOT_LIGHT_OPS);
}

static inline void short_write_back(PmuPipeline *p, const PmuInsn *insn,
                                    uint64_t done)
{
    for (int i = 0; i < PMU_SHORT_DSTS; i++) {
        p->ready[insn->dst[i]] = done + insn->dst_late[i];
        p->maker[insn->dst[i]] = insn->bypass;
    }
}

/* The one compute micro-op of @insn, what fuses with it in mind. */
static inline uint64_t short_compute(PmuPipeline *p, const PmuBlockInsn *bi,
                                     uint64_t earliest, uint64_t ready)
{
    uint16_t ports = bi->insn->compute[0].ports;
    uint64_t start = pmu_ports_dispatch(p, ports, earliest, ready);

    if (pmu_fuse_next(bi)) {
        p->fuse_ports = ports;
        p->fuse_port = p->port_item;
        p->fuse_cycle = start;
        p->fuse_issue = earliest;
        p->fuse_ready = ready;
    }
    return start;
}

static inline void run_compute(PmuPipeline *p, const PmuBlockInsn *bi)
{
    const PmuInsn *insn = bi->insn;
    uint64_t earliest, done;

    short_wait(p, 0, 1);
    earliest = p->cycle + p->uarch->issue_to_dispatch;
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

    short_wait(p, load_room(p), insn->uops);
    earliest = p->cycle + p->uarch->issue_to_dispatch;
    sources = short_sources(p, insn);
    address = MAX(address_ready(p, insn), earliest);
    arrives = pmu_access_load(p, insn, index, earliest, address, outcome);
    memory = arrives >= sources && arrives > address + insn->latency;
    done = MAX(sources, arrives);
    if (insn->compute[0].count) {
        done = short_compute(p, bi, earliest, done);
    } else if (pmu_fuse_next(bi)) {
        p->fuse_ports = 0;
        p->fuse_issue = earliest;
        p->fuse_ready = done;
    }
    done += insn->latency;
    short_write_back(p, insn, done);
    short_retire(p, MAX(done, earliest), memory);
    p->load[p->loads++ % PMU_LOAD_RING] = p->retired;
}

static inline void run_store(PmuPipeline *p, const PmuBlockInsn *bi,
                             const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    const uint16_t *ports = p->uarch->ports;
    uint8_t index = insn->flags & PMU_INSN_STORE ? bi->ea : bi->stack;
    uint64_t earliest, address, data, done;

    short_wait(p, PMU_STAMP_BY(pmu_access_store_room(p), PMU_CAUSE_STORES), 2);
    earliest = p->cycle + p->uarch->issue_to_dispatch;
    done = short_sources(p, insn) + insn->latency;
    address = MAX(address_ready(p, insn), earliest);
    short_write_back(p, insn, done);
    address = pmu_ports_dispatch(p, ports[PMU_UNIT_STORE_ADDRESS], earliest,
                                 address);
    data = pmu_ports_dispatch(p, ports[PMU_UNIT_STORE_DATA], earliest, done);
    short_retire(p, MAX(MAX(done, earliest), MAX(data, address)), false);
    pmu_access_store(p, insn, index, address, data, false, outcome);
}

static inline void run_short(PmuPipeline *p, const PmuBlockInsn *bi,
                             unsigned offset, const PmuOutcome *outcome)
{
    end_fuse(p);
    pmu_supply_deliver_one(p, bi->insn, offset);
    if (bi->insn->rsp != PMU_RSP_NONE) {
        sync_stack(p, bi, outcome);
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
    begin_fuse(p, bi);
}

/* @bi was retired, whose first byte is @offset bytes into a 4 KiB page. */
static void run_insn(PmuPipeline *p, const PmuBlockInsn *bi, unsigned offset,
                     const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    PmuStamp done;

    if (p->fuse & pmu_fuse_last(bi)) {
        pmu_supply_fused(p, insn, offset);
        done = execute_fused(p, insn, outcome->branch & PMU_OUTCOME_TAKEN);
    } else {
        end_fuse(p);
        done = run_whole(p, bi, offset, outcome);
    }
    begin_fuse(p, bi);
    if (insn->branch != PMU_BRANCH_NONE) {
        run_branch(p, insn, outcome, done);
    }
}

/* Segment @segment begins, or is entered in its middle. */
static void run_segment(PmuPipeline *p, unsigned segment,
                        const PmuOutcome *outcome)
{
    if (outcome->looping) {
        pmu_supply_loop(p);
    } else if (outcome->legacy >> segment & 1) {
        pmu_supply_legacy(p, &outcome->code[segment]);
    } else {
        pmu_supply_dsb(p);
    }
}

/* The loop in the queue was left, and fetch goes on behind it. */
static bool leaves_loop(const PmuPipeline *p, const PmuOutcome *outcome)
{
    return p->supply.source == PMU_SUPPLY_LSD && !outcome->looping;
}

/* The segment of @block that instruction @index is in. */
static unsigned segment_of(const PmuBlock *block, unsigned index)
{
    unsigned segment = block->num_segments - 1;

    while (block->segments[segment].first > index) {
        segment--;
    }
    return segment;
}

void pmu_pipeline_run(PmuPipeline *p, const PmuBlock *block,
                      unsigned first, unsigned last,
                      const PmuOutcome *outcome)
{
    unsigned in_page = block->phys & ((1u << PMU_PAGE_SHIFT) - 1);
    unsigned segment = segment_of(block, first);

    if (!outcome->continues || leaves_loop(p, outcome)) {
        run_segment(p, segment, outcome);
    }
    for (unsigned i = first; i < last; i++) {
        const PmuBlockInsn *bi = &block->insns[i];

        if (segment + 1 < block->num_segments &&
            block->segments[segment + 1].first == i) {
            run_segment(p, ++segment, outcome);
        }
        if (G_UNLIKELY(outcome->again)) {
            begin_again(p, bi, outcome->again);
        }
        if (G_LIKELY(bi->insn->path != PMU_PATH_FULL && !p->report)) {
            run_short(p, bi, in_page + bi->offset, outcome);
        } else {
            run_insn(p, bi, in_page + bi->offset, outcome);
        }
    }
    if (G_UNLIKELY(outcome->smc)) {
        pmu_pipeline_clear(p);
    }
}

void pmu_pipeline_interrupt(PmuPipeline *p)
{
    PmuStamp retired = all_retired(p);
    uint64_t end = PMU_STAMP_CYCLE(retired);

    end_fuse(p);
    p->barrier = MAX(p->barrier, retired);
    pmu_supply_restart(p, MAX(end, p->cycle) + p->uarch->far_branch_penalty);
}

/* String instructions. */

uint64_t pmu_pipeline_string_begin(PmuPipeline *p, const PmuBlock *block,
                                   unsigned index, const PmuOutcome *outcome)
{
    const PmuBlockInsn *bi = &block->insns[index];

    end_fuse(p);
    if (!outcome->continues || leaves_loop(p, outcome)) {
        run_segment(p, segment_of(block, index), outcome);
    }
    pmu_supply_deliver(p, bi->insn, block->phys + bi->offset);
    return MAX(sources_ready(p, bi->insn), address_ready(p, bi->insn));
}

void pmu_pipeline_string_uop(PmuPipeline *p, PmuStamp ready)
{
    uint64_t done;

    pmu_slots_lose_backend(p, MAX(rob_room(p, 1), p->barrier));
    pmu_slots_lose_frontend(p, p->supply.cycle);
    done = MAX(p->cycle + p->uarch->issue_to_dispatch,
               PMU_STAMP_CYCLE(ready));
    p->uops++;
    p->delta.item[PMU_TIMED_UOPS_ISSUED]++;
    pmu_slots_fill(p, PMU_SLOT_HEAVY_OPS);
    retire(p, 1, PMU_STAMP(done + 1, PMU_STAMP_MEMORY(ready)));
}

void pmu_pipeline_string_end(PmuPipeline *p, const PmuInsn *insn)
{
    write_back(p, insn, PMU_STAMP_CYCLE(p->retired));
}

/* Assists. */

void pmu_pipeline_drain(PmuPipeline *p)
{
    end_fuse(p);
    flush(p, p->retired, 0, PMU_SLOT_MACHINE_CLEARS);
}

void pmu_pipeline_assist(PmuPipeline *p)
{
    uint64_t end;

    end_fuse(p);
    flush(p, p->retired, p->uarch->mispredict_penalty,
          PMU_SLOT_MACHINE_CLEARS);
    pmu_supply_microcode(p, p->uarch->assist_uops);
    end = p->supply.cycle + p->uarch->assist_latency;
    for (uint32_t i = 0; i < p->uarch->assist_uops; i++) {
        pmu_pipeline_string_uop(p, PMU_STAMP(0, 0));
    }
    pmu_slots_lose_backend(p, PMU_STAMP_BY(end, PMU_CAUSE_SERIAL));
}
