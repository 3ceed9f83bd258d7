/*
 * Counted blocks: those of known cost, of which only the runs are counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/sampling/counted-blocks.h"
#include "tcg/pmu/sampling/region.h"
#include "tcg/pmu/sampling/sampling-units.h"
#include "tcg/pmu/sampling/timing-ledger.h"
#include "tcg/pmu/sampling/warming.h"

PmuCpiEntry *pmu_timing_cost_of_block(const PmuTiming *t,
                                      const PmuBlock *block)
{
    uint64_t key = pmu_cpi_table_key(pmu_block_hash(block, 0), block->level);
    PmuCpiEntry *cost = t->plan.phase == PMU_PHASE_FAST_FORWARD
                        ? pmu_cpi_table_find_any(&t->cpi_table, key)
                        : pmu_cpi_table_find(&t->cpi_table, key);

    return cost ? cost : pmu_timing_substitute_cost(t, key, block->num_insns,
                                                    block->level);
}

/* Count runs of @block from now on, if that is possible; returns whether so. */
static G_GNUC_NO_INLINE bool count_known(PmuTiming *t, const PmuBlock *block)
{
    PmuCpiEntry *cost;

    if (!pmu_block_has_number(block) || !pmu_block_is_plain(block)) {
        return false;
    }
    cost = pmu_timing_cost_of_block(t, block);
    return cost && pmu_block_runs_add(&t->runs, block, cost);
}

/* Does the memory side need to see an access of @block, which has a number? */
static inline bool any_misses_filter(const PmuTiming *t, const PmuBlock *block,
                                     const uint64_t *addr)
{
    bool fast = true;

    for (unsigned i = 0; i < block->num_accesses; i++) {
        PmuAccessSummary brief = block->summary[i];

        fast &= pmu_memory_hit(&t->functional.mem, addr[i],
                               brief & PMU_ACCESS_SUMMARY_EXTENT,
                               brief & PMU_ACCESS_SUMMARY_STORE);
    }
    return !fast;
}

/* Sums over runs that were counted and are not in the PmuTiming yet. */
typedef struct CountedRuns {
    int64_t cost;               /* sum of PmuBlockRunCount.cost */
    uint64_t taken;             /* conditional branches that were taken */
} CountedRuns;

/* In functional warming: does @count, of @block, count its runs? */
static inline bool is_counted(const PmuTiming *t, const PmuBlock *block,
                              const PmuBlockRunCount *count)
{
    return count->times && block->level == t->ledger->level;
}

/*
 * All of @block ran, which is_counted().  Show the functional model what it has
 * to see, and add the rest to @runs.  Hot.
 */
static inline __attribute__((always_inline))
void run_counted(PmuTiming *t, const PmuBlock *block, PmuBlockRunCount *count,
                 const PmuExecution *dynamic, CountedRuns *runs)
{
    count->times++;
    runs->cost += count->cost;
    runs->taken += block->branch == PMU_BRANCH_COND && dynamic->taken;
    if (any_misses_filter(t, block, dynamic->addr)) {
        for (unsigned i = 0; i < block->num_accesses; i++) {
            pmu_timing_warm_access(t, block, i, dynamic->addr);
        }
    }
    if (t->plan.phase == PMU_PHASE_LINE_WARMING) {
        pmu_functional_warm_lines(&t->functional, dynamic->pc, block->phys,
                                  block->length);
    }
    if (pmu_functional_warm_end(&t->functional, block, dynamic)) {
        t->progress += pmu_cpi_table_mispredict_slots(&t->cpi_table);
    }
}

/* Enter @runs, take assists, and end the phase if it is over. */
static inline void enter_counted(PmuTiming *t, const CountedRuns *runs)
{
    uint32_t insns = pmu_cost_insns(runs->cost);

    t->uncollected_insns += insns;
    t->progress += pmu_cost_progress(runs->cost);
    t->taken += runs->taken;
    t->plan.left -= insns;
    if (G_UNLIKELY(t->assists)) {
        pmu_region_take_assists(t);
    }
    if (G_UNLIKELY(t->plan.left <= 0)) {
        pmu_timing_end_phase(t);
    }
}

bool pmu_timing_run_counted_block(PmuTiming *t, const PmuBlock *block,
                                  const PmuExecution *dynamic)
{
    PmuBlockRunCount *count = &t->runs.count[block->number];
    CountedRuns runs = {};

    if (!pmu_timing_warms_functionally(t) || t->region.insns ||
        (!count->times && !count_known(t, block))) {
        return false;
    }
    run_counted(t, block, count, dynamic, &runs);
    enter_counted(t, &runs);
    return true;
}

const PmuRecord *pmu_timing_run_counted_blocks(PmuTiming *t,
                                               const PmuRecord *record,
                                               const PmuRecord *end,
                                               uint64_t next_pc)
{
    const PmuRecord *next = pmu_timing_next_record(t, record, end);
    CountedRuns runs = {};

    if (record == end || !pmu_timing_warms_functionally(t) ||
        t->region.insns ||
        !is_counted(t, record->block,
                    &t->runs.count[record->block->number])) {
        return record;
    }
    do {
        const PmuBlock *block = record->block;
        PmuBlockRunCount *count = &t->runs.count[block->number];
        const PmuRecord *behind = pmu_timing_next_record(t, next, end);
        PmuExecution dynamic;

        if (!is_counted(t, block, count)) {
            break;
        }
        dynamic = pmu_record_execution(record, next != end ? next->pc
                                                           : next_pc);
        run_counted(t, block, count, &dynamic, &runs);
        record = next;
        next = behind;
    } while (record != end &&
             (int32_t)pmu_cost_insns(runs.cost) < t->plan.left);
    enter_counted(t, &runs);
    return record;
}
