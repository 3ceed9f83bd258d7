/*
 * Runs executed blocks through those parts of the model that the phase needs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/sampling/counted-blocks.h"
#include "tcg/pmu/sampling/region.h"
#include "tcg/pmu/sampling/rep-strings.h"
#include "tcg/pmu/sampling/sampling-units.h"
#include "tcg/pmu/sampling/timing-ledger.h"
#include "tcg/pmu/sampling/timing-run.h"
#include "tcg/pmu/sampling/warming.h"

/*
 * Instructions and slots for which lines are contested after another vCPU asked
 * for one that this vCPU had in L1D.
 */
#define CONTESTED       (1 << 13)

/*
 * Instructions [@first, @last) of @block ran: all of the functional model sees
 * them, and from detailed warming on the pipeline does.
 */
static void run_simulated(PmuTiming *t, const PmuBlock *block,
                          unsigned first, unsigned last,
                          const PmuExecution *dynamic)
{
    while (first < last) {
        unsigned end = pmu_functional_run(&t->functional, block, first, last,
                                          dynamic);

        if (t->plan.phase >= PMU_PHASE_DETAILED_WARMING) {
            pmu_pipeline_run(&t->pipeline, block, first, end,
                             &t->functional.outcome);
        }
        first = end;
    }
}

/* In functional warming, show the predictors the branch that ends @block. */
static inline void warm_branch(PmuTiming *t, const PmuBlock *block,
                               const PmuExecution *dynamic)
{
    if (pmu_timing_warms_functionally(t) &&
        pmu_functional_warm_branch(&t->functional, block, dynamic)) {
        t->progress += pmu_cpi_table_mispredict_slots(&t->cpi_table);
    }
}

/* Add the misses of code since @before to those of the current region. */
static void note_misses(PmuTiming *t, const PmuCodeMisses *before)
{
    PmuCodeMisses now = pmu_functional_code_misses(&t->functional);

    for (unsigned i = 0; i < PMU_FOUND_IN_NR; i++) {
        t->region.misses.from[i] += now.from[i] - before->from[i];
    }
}

/* Instructions [@first, @last) of @block ran in fetch warming or later on. */
static void run_in_phase(PmuTiming *t, const PmuBlock *block,
                         unsigned first, unsigned last,
                         const PmuExecution *dynamic)
{
    PmuCodeMisses before = pmu_functional_code_misses(&t->functional);

    if (t->plan.phase == PMU_PHASE_FETCH_WARMING) {
        pmu_timing_warm_fetch(t, block, first, last, dynamic);
    } else {
        run_simulated(t, block, first, last, dynamic);
    }
    note_misses(t, &before);
}

/*
 * Process what other vCPUs asked for: what runs next finds lines where they
 * left them.  If L1D had such a line, the store buffer is empty now, as stores
 * to a line leave it before the line is given away.
 */
static inline void take_snoops(PmuTiming *t)
{
    if (pmu_memory_poll_snoops(&t->functional.mem)) {
        pmu_memory_skip_stores(&t->functional.mem);
        t->contested_until = t->progress +
                             ((uint64_t)CONTESTED << PMU_CPI_SHIFT);
    }
}

bool pmu_timing_contested(const PmuTiming *t)
{
    return t->progress < t->contested_until;
}

/*
 * Instructions of @block from @first on are next.  A region is contiguous.  It
 * also ends where execution goes on elsewhere without a branch that the model
 * knows: the branch is unknown to it, or the page was mapped to another place
 * meanwhile.
 */
static inline void prepare(PmuTiming *t, const PmuBlock *block, unsigned first)
{
    if (G_UNLIKELY(block->level != t->ledger->level)) {
        pmu_region_change_level(t, block->level);
    }
    if (G_UNLIKELY(t->region.insns) &&
        ((block->begins_region && !first) ||
         t->region.end != block->phys + block->insns[first].offset)) {
        pmu_region_end(t);
    }
}

/* Extend the current region by bytes [@from, @to) of @block, at @pc. */
static inline void extend_region(PmuTiming *t, const PmuBlock *block,
                                 unsigned from, unsigned to, uint64_t pc)
{
    t->region.pc = t->region.insns ? t->region.pc : pc + from;
    t->region.phys = t->region.insns ? t->region.phys : block->phys + from;
    t->region.end = block->phys + to;
}

/* All of @block ran, which is pmu_block_is_whole(). */
static inline void run_block(PmuTiming *t, const PmuBlock *block,
                             const PmuExecution *dynamic)
{
    if (pmu_timing_run_counted_block(t, block, dynamic)) {
        return;
    }
    pmu_counts_add(&t->counts, block);
    t->progress += (uint64_t)block->num_insns << PMU_CPI_SHIFT;
    t->region.hash = pmu_block_hash(block, t->region.hash);
    __builtin_prefetch(pmu_cpi_table_set(&t->cpi_table, pmu_region_key(t)));
    extend_region(t, block, 0, block->length, dynamic->pc);
    if (pmu_timing_warms_functionally(t)) {
        for (unsigned i = 0; i < block->num_accesses; i++) {
            pmu_timing_warm_access(t, block, i, dynamic->addr);
        }
    } else if (t->plan.phase != PMU_PHASE_FAST_FORWARD) {
        run_in_phase(t, block, 0, block->num_insns, dynamic);
    }
    t->region.insns += block->num_insns;
    if (G_LIKELY(block->ends_region)) {
        if (G_LIKELY(block->branch != PMU_BRANCH_NONE)) {
            t->taken += block->branch == PMU_BRANCH_COND && dynamic->taken;
            warm_branch(t, block, dynamic);
        }
        pmu_region_end(t);
    }
}

/* Does a region end with the instruction before @last of @block? */
static bool ends_with(const PmuBlock *block, unsigned last)
{
    return last == block->num_insns
           ? block->ends_region : block->insns[last - 1].ends_region;
}

/* The same for instructions [@first, @last); only the last may end a region. */
static void run_range(PmuTiming *t, const PmuBlock *block,
                      unsigned first, unsigned last,
                      const PmuExecution *dynamic)
{
    PmuBranch branch = block->insns[last - 1].insn->branch;

    for (unsigned i = first; i < last; i++) {
        const PmuBlockInsn *bi = &block->insns[i];

        pmu_counts_add_insn(&t->counts, bi);
        t->region.hash = pmu_insn_hash(bi->hash, t->region.hash);
    }
    t->progress += (uint64_t)(last - first) << PMU_CPI_SHIFT;
    extend_region(t, block, block->insns[first].offset,
                  last == block->num_insns
                      ? block->length : block->insns[last].offset,
                  dynamic->pc);
    if (pmu_timing_warms_functionally(t)) {
        pmu_timing_warm_range(t, block, first, last, dynamic->addr);
    } else if (t->plan.phase != PMU_PHASE_FAST_FORWARD) {
        run_in_phase(t, block, first, last, dynamic);
    }
    t->region.insns += last - first;
    /* It is not known where an INTO went that does not end its block. */
    if (branch != PMU_BRANCH_NONE && last == block->num_insns) {
        t->taken += branch == PMU_BRANCH_COND && dynamic->taken;
        warm_branch(t, block, dynamic);
    }
    if (ends_with(block, last)) {
        pmu_region_end(t);
    }
}

/* The same, but any of them may end a region. */
static void run_ranges(PmuTiming *t, const PmuBlock *block,
                       unsigned first, unsigned last,
                       const PmuExecution *dynamic)
{
    for (unsigned end = first + 1; end <= last; end++) {
        if (end == last || ends_with(block, end)) {
            run_range(t, block, first, end, dynamic);
            first = end;
        }
    }
}

/*
 * REP string instruction @index of @block did @dynamic->iterations iterations,
 * and retired if @last.
 */
static void run_string(PmuTiming *t, const PmuBlock *block, unsigned index,
                       const PmuExecution *dynamic, bool last)
{
    pmu_region_end_open(t);
    if (pmu_timing_warms_code(t)) {
        pmu_timing_discard_counts(t);
    }
    pmu_timing_run_string(t, block, index, dynamic, last);
    if (t->plan.phase <= PMU_PHASE_FETCH_WARMING) {
        pmu_fetch_unit_restart(&t->functional.fetcher);
    }
    if (last) {
        pmu_counts_add_insn(&t->counts, &block->insns[index]);
        t->progress += PMU_CPI_ONE;
    }
}

/* As run_ranges(), but the last one may be a REP string instruction. */
static void run_part(PmuTiming *t, const PmuBlock *block,
                     unsigned first, unsigned last, const PmuExecution *dynamic)
{
    bool rep = block->rep && last == block->num_insns;

    run_ranges(t, block, first, last - rep, dynamic);
    if (rep) {
        run_string(t, block, last - 1, dynamic, true);
    }
}

void pmu_timing_run(PmuTiming *t, const PmuBlock *block,
                    unsigned first, unsigned last, const PmuExecution *dynamic)
{
    if (G_UNLIKELY(first >= last || last > block->num_insns)) {
        /* @block has no such instructions. */
        t->ledger->repairs++;
        last = MIN(last, block->num_insns);
        if (first >= last) {
            return;
        }
    }
    take_snoops(t);
    prepare(t, block, first);
    if (first || last != block->num_insns || !pmu_block_is_whole(block)) {
        run_part(t, block, first, last, dynamic);
    } else {
        run_block(t, block, dynamic);
    }
    pmu_timing_enter_counts(t);
}

void pmu_timing_run_log(PmuTiming *t, const uint64_t *from,
                        const uint64_t *to, uint64_t next_pc)
{
    const PmuRecord *record = (const PmuRecord *)from;
    const PmuRecord *end = (const PmuRecord *)to;
    unsigned blocks = 0;

    take_snoops(t);
    record = pmu_timing_run_counted_blocks(t, record, end, next_pc);
    while (record != end) {
        const PmuBlock *block = record->block;
        const PmuRecord *next = pmu_timing_next_record(t, record, end);
        PmuExecution dynamic = pmu_record_execution(
            record, next != end ? next->pc : next_pc);

        prepare(t, block, 0);
        if (G_UNLIKELY(!pmu_block_is_whole(block))) {
            run_part(t, block, 0, block->num_insns, &dynamic);
        } else {
            run_block(t, block, &dynamic);
        }
        if (G_UNLIKELY(++blocks % PMU_COUNTS_BLOCKS == 0)) {
            pmu_timing_enter_counts(t);
        }
        record = pmu_timing_run_counted_blocks(t, next, end, next_pc);
    }
    pmu_timing_enter_counts(t);
}

void pmu_timing_string(PmuTiming *t, const PmuBlock *block,
                       unsigned index, const PmuExecution *dynamic)
{
    if (G_UNLIKELY(index >= block->num_insns ||
                   !(block->insns[index].insn->flags & PMU_INSN_REP))) {
        t->ledger->repairs++;
        return;
    }
    take_snoops(t);
    prepare(t, block, index);
    run_string(t, block, index, dynamic, false);
}

void pmu_timing_assist(PmuTiming *t, const PmuBlock *block, bool counted)
{
    t->assists++;
    if (counted) {
        prepare(t, block, 0);
        pmu_region_take_assists(t);
    }
}

uint32_t pmu_timing_fast_forward_insns(const PmuTiming *t)
{
    return t->plan.phase == PMU_PHASE_FAST_FORWARD && !t->interest.taken
           ? MAX(t->plan.left, 0) : 0;
}

PmuBlockRunCount *pmu_timing_block_runs(PmuTiming *t)
{
    return t->runs.count;
}

bool pmu_timing_start_counting(PmuTiming *t, const PmuBlock *block)
{
    PmuCpiEntry *cost;

    if (t->region.insns) {
        return false;
    }
    if (t->runs.count[block->number].times) {
        return true;
    }
    cost = pmu_timing_cost_of_block(t, block);
    return cost && pmu_block_runs_add(&t->runs, block, cost);
}

void pmu_timing_add_uncollected(PmuTiming *t, uint32_t insns, uint64_t progress)
{
    t->plan.left -= insns;
    t->uncollected_insns += insns;
    t->progress += progress;
    if (insns && t->plan.phase == PMU_PHASE_FAST_FORWARD && t->plan.left <= 0) {
        pmu_timing_end_phase(t);
    }
}

void pmu_timing_collect(PmuTiming *t)
{
    pmu_timing_enter_block_runs(t);
}

void pmu_timing_stop_counting(PmuTiming *t)
{
    pmu_timing_clear_block_runs(t);
}
