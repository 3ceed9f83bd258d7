/*
 * The pipeline: when micro-ops are fetched, issued, dispatched and retired,
 * and what becomes of each slot.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Instructions issue in order, PmuUarch.width slots a cycle, as early as the
 * frontend, the buffers of the backend and serialising instructions permit.
 * Micro-ops are dispatched once their sources are ready and their port is free;
 * instructions retire in order.  A slot in which a micro-op issues is retiring.
 * Slots that pass in between get the class of what issue waited for.  Clock and
 * slots advance together, so every slot is counted.
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/backend/execute.h"
#include "tcg/pmu/backend/fusion.h"
#include "tcg/pmu/backend/pipeline.h"
#include "tcg/pmu/backend/ports.h"
#include "tcg/pmu/backend/short-paths.h"

/* Flags of instructions for special_before() and special_after(). */
#define SPECIAL (PMU_INSN_SERIALIZING | PMU_INSN_BLOCKS_ISSUE | \
                 PMU_INSN_FENCES_LOADS)

void pmu_pipeline_init(PmuPipeline *p, const PmuUarch *uarch)
{
    memset(p, 0, sizeof(*p));
    p->uarch = uarch;
    p->clock.cycle = PMU_FIRST_CYCLE;
    pmu_ports_init(&p->ports, uarch, p->clock.cycle);
    p->right_path.cycle = PMU_FIRST_CYCLE;
    p->clock.window_due = UINT64_MAX;
    pmu_outstanding_init(&p->outstanding, &p->clock);
    pmu_miss_timing_init(&p->misses, uarch, &p->clock, &p->outstanding);
    pmu_delivery_init(&p->delivery, uarch, &p->clock, &p->misses);
    p->stats.retire_cycle = PMU_FIRST_CYCLE;
    p->stats.scheduler_empty = true;
}

void pmu_pipeline_reset(PmuPipeline *p)
{
    uint64_t cycle = p->clock.cycle, repairs = p->repairs;
    PmuTimeline *timeline = p->timeline;
    bool report = p->ports.report;

    pmu_pipeline_init(p, p->uarch);
    p->timeline = timeline;
    p->repairs = repairs;
    p->clock.cycle = p->right_path.cycle = cycle;
    pmu_ports_init(&p->ports, p->uarch, cycle);
    p->ports.report = report;
    pmu_delivery_begin(&p->delivery, cycle);
    p->stats.retire_cycle = cycle;
}

void pmu_pipeline_resume(PmuPipeline *p, uint32_t open, uint64_t history)
{
    p->clock.slot = open;
    p->clock.history = history;
    pmu_recovery_begin_right_path(p, p->clock.cycle);
}

static void run_branch(PmuPipeline *p, const PmuInsn *insn,
                       const PmuOutcome *outcome, PmuCompletion resolved)
{
    bool taken = insn->branch != PMU_BRANCH_COND ||
                 (outcome->branch & PMU_OUTCOME_TAKEN);

    if (insn->branch == PMU_BRANCH_FAR) {
        /* Far transfers are not predicted: fetch waits for them. */
        uint64_t cycle = PMU_COMPLETION_CYCLE(resolved) +
                         p->uarch->far_branch_penalty;

        pmu_delivery_restart(&p->delivery, cycle);
        pmu_recovery_begin_right_path(p, cycle);
    } else if (outcome->branch & PMU_OUTCOME_MISPREDICT) {
        pmu_recovery_flush(p, resolved, p->uarch->mispredict_penalty,
                           PMU_SLOT_BR_MISPREDICT);
    } else if (taken) {
        pmu_delivery_taken(&p->delivery, outcome->branch & PMU_OUTCOME_UNKNOWN,
                           outcome->branch & PMU_OUTCOME_LOOP_END);
    }
}

/* When all that has been issued so far has retired. */
static PmuCompletion all_retired(const PmuPipeline *p)
{
    uint64_t first = p->clock.cycle + p->uarch->issue_to_dispatch + 1;

    return MAX(p->rob.retired, PMU_COMPLETION(first, 0));
}

static void special_before(PmuPipeline *p, const PmuInsn *insn)
{
    if (insn->flags & PMU_INSN_SERIALIZING) {
        uint64_t before = p->clock.cycle;

        pmu_slots_wait_for_backend(p, all_retired(p));
        pmu_slots_attribute(p, p->clock.cycle + p->uarch->serialize_penalty,
                            PMU_SLOT_CORE_BOUND, PMU_STALL_ANY);
        pmu_slots_serialized(p, before, p->clock.cycle);
    }
}

static void special_after(PmuPipeline *p, const PmuInsn *insn,
                          PmuCompletion done)
{
    if (insn->flags & PMU_INSN_BLOCKS_ISSUE) {
        p->barrier = MAX(p->barrier, PMU_COMPLETION_MEMORY(done)
                                     ? done : done | PMU_CAUSE_SERIAL);
        p->pause_end = insn->insn_class == PMU_CLASS_PAUSE
                       ? PMU_COMPLETION_CYCLE(done) : p->pause_end;
    }
    if (insn->branch == PMU_BRANCH_FAR) {
        /* Its time counts for the privilege level that it leaves. */
        pmu_slots_wait_for_backend(p, p->barrier);
    }
    if (insn->flags & PMU_INSN_FENCES_LOADS) {
        p->lsu.loads_from = MAX(p->lsu.loads_from, PMU_COMPLETION_CYCLE(done));
    }
}

static PmuCompletion run_whole(PmuPipeline *p, const PmuBlockInsn *bi,
                               unsigned offset, const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    uint32_t uops = insn->uops;
    PmuCompletion done;

    if (insn->flags & SPECIAL) {
        special_before(p, insn);
    }
    pmu_delivery_deliver(&p->delivery, insn, offset);
    if (bi->insn->rsp != PMU_RSP_NONE) {
        pmu_sync_stack(p, bi, outcome);
    }
    pmu_wait_to_issue(p, insn, uops);
    p->clock.counts.item[PMU_PIPELINE_COUNT_UOPS_ISSUED] += insn->slots;
    if (insn->branch == PMU_BRANCH_COND &&
        (outcome->branch & PMU_OUTCOME_TAKEN)) {
        done = pmu_execute_branch(p, bi, uops, outcome);
    } else {
        done = pmu_execute(p, bi, uops, outcome);
    }
    if (insn->flags & SPECIAL) {
        special_after(p, insn, done);
    }
    return done;
}

/* Note in which cycles the newest instruction passed the stages. */
static void note_stages(PmuPipeline *p)
{
    PmuTimeline *timeline = p->timeline;
    PmuTimelineEntry entry = p->stages;

    if (timeline->num < timeline->size) {
        entry.dispatched = MIN(entry.dispatched, entry.executed);
        entry.retired = PMU_COMPLETION_CYCLE(p->rob.retired);
        timeline->entry[timeline->num++] = entry;
    }
}

/* Simulate @bi, whose first byte is @offset bytes into a 4 KiB page. */
static void run_insn(PmuPipeline *p, const PmuBlockInsn *bi, unsigned offset,
                     const PmuOutcome *outcome)
{
    const PmuInsn *insn = bi->insn;
    PmuCompletion done;

    if (p->fusion.kinds & pmu_fuse_as_second(bi)) {
        pmu_delivery_fused(&p->delivery, insn, offset);
        done = pmu_execute_fused(p, insn, outcome->branch & PMU_OUTCOME_TAKEN);
    } else {
        pmu_fusion_end(p);
        done = run_whole(p, bi, offset, outcome);
    }
    pmu_fusion_begin(p, bi);
    if (G_UNLIKELY(p->timeline)) {
        note_stages(p);
    }
    if (insn->branch != PMU_BRANCH_NONE) {
        run_branch(p, insn, outcome, done);
    }
}

/* Tell the frontend that fetch goes on in segment @segment. */
static void run_segment(PmuPipeline *p, unsigned segment,
                        const PmuOutcome *outcome)
{
    if (outcome->looping) {
        pmu_delivery_loop(&p->delivery);
    } else if (outcome->legacy >> segment & 1) {
        pmu_delivery_legacy(&p->delivery, &outcome->code[segment]);
    } else {
        pmu_delivery_dsb(&p->delivery);
    }
}

/* Has the loop in the queue been left, so that fetch goes on behind it? */
static bool leaves_loop(const PmuPipeline *p, const PmuOutcome *outcome)
{
    return p->delivery.source == PMU_DELIVERY_LSD && !outcome->looping;
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
        if (G_UNLIKELY(outcome->ordering_clear)) {
            pmu_recovery_ordering_clear(p, bi, outcome->ordering_clear);
        }
        if (G_LIKELY(bi->insn->path != PMU_PATH_FULL && !p->ports.report)) {
            pmu_run_short(p, bi, in_page + bi->offset, outcome);
        } else {
            run_insn(p, bi, in_page + bi->offset, outcome);
        }
    }
    if (G_UNLIKELY(outcome->smc)) {
        pmu_recovery_smc_clear(p);
    }
}

void pmu_pipeline_interrupt(PmuPipeline *p)
{
    PmuCompletion retired = all_retired(p);
    uint64_t end = PMU_COMPLETION_CYCLE(retired);

    pmu_fusion_end(p);
    p->barrier = MAX(p->barrier, retired);
    pmu_delivery_restart(&p->delivery, MAX(end, p->clock.cycle) +
                         p->uarch->far_branch_penalty);
}

uint64_t pmu_pipeline_string_begin(PmuPipeline *p, const PmuBlock *block,
                                   unsigned index, const PmuOutcome *outcome)
{
    const PmuBlockInsn *bi = &block->insns[index];

    pmu_fusion_end(p);
    if (!outcome->continues || leaves_loop(p, outcome)) {
        run_segment(p, segment_of(block, index), outcome);
    }
    pmu_delivery_deliver(&p->delivery, bi->insn, block->phys + bi->offset);
    p->stages.issued = p->clock.cycle;
    p->stages.dispatched = p->clock.cycle;
    return MAX(pmu_sources_ready(p, bi->insn), pmu_address_ready(p, bi->insn));
}

void pmu_pipeline_string_uop(PmuPipeline *p, PmuCompletion ready)
{
    uint64_t done;

    pmu_slots_wait_for_backend(p, MAX(pmu_rob_free_at(p, 1), p->barrier));
    pmu_slots_wait_for_frontend(p, p->delivery.cycle);
    done = MAX(p->clock.cycle + p->uarch->issue_to_dispatch,
               PMU_COMPLETION_CYCLE(ready));
    p->rob.uops++;
    p->clock.counts.item[PMU_PIPELINE_COUNT_UOPS_ISSUED]++;
    pmu_slots_fill(p, PMU_SLOT_HEAVY_OPS);
    pmu_retire(p, 1, PMU_COMPLETION(done + 1, PMU_COMPLETION_MEMORY(ready)));
}

void pmu_pipeline_string_end(PmuPipeline *p, const PmuInsn *insn)
{
    if (G_UNLIKELY(p->timeline)) {
        p->stages.executed = PMU_COMPLETION_CYCLE(p->rob.retired) - 1;
        note_stages(p);
    }
    pmu_write_back(p, insn, PMU_COMPLETION_CYCLE(p->rob.retired));
}

void pmu_pipeline_drain(PmuPipeline *p)
{
    pmu_fusion_end(p);
    pmu_recovery_flush(p, p->rob.retired, 0, PMU_SLOT_MACHINE_CLEARS);
}

void pmu_pipeline_assist(PmuPipeline *p)
{
    uint64_t end;

    pmu_fusion_end(p);
    pmu_recovery_flush(p, p->rob.retired, p->uarch->mispredict_penalty,
                       PMU_SLOT_MACHINE_CLEARS);
    pmu_delivery_microcode(&p->delivery, p->uarch->assist_uops);
    end = p->delivery.cycle + p->uarch->assist_latency;
    for (uint32_t i = 0; i < p->uarch->assist_uops; i++) {
        pmu_pipeline_string_uop(p, PMU_COMPLETION(0, 0));
    }
    pmu_slots_wait_for_backend(p, PMU_COMPLETION_BY(end, PMU_CAUSE_SERIAL));
}
