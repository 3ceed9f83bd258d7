/*
 * Code of which little or nothing is known: what it is taken to cost, and when
 * it is simulated in detail.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/sampling/sampling-credit.h"
#include "tcg/pmu/sampling/sampling-units.h"
#include "tcg/pmu/sampling/timing-ledger.h"
#include "tcg/pmu/sampling/unknown-code.h"

/*
 * Slots that an unknown instruction is taken to cost, for the progress.  New
 * code took 12 in the kernel and 20 in user mode where a shell forks.
 */
static const uint8_t unknown_slots[PMU_SIGHTED_NR] = {
    [PMU_SIGHTED_FIRST] = 16, [PMU_SIGHTED_AGAIN] = 4,
};

/*
 * Instructions after a region ran for which its page is taken to be in the ITLB
 * still, and its branch in the BTB.  With a quarter of that the kernel's slots
 * of a second run of tr were 29 % too many, not 18 (tests/accuracy/programs).
 */
#define LATELY          (1 << 19)

/*
 * Starts the hash of keys that stand for a number of instructions.  It differs
 * from what starts those for places (1) and lengths of strings (2 to 66 more
 * than a multiple of 128: rep-strings.c).
 */
#define LENGTH          128

/*
 * Samples from which on a region takes no more of them from sampling units that
 * open for unknown code.  With this limit the kernel's slots of ten runs of
 * programs are 6 % too many (pmu-replay --all with three seeds), and 11 %
 * without a limit (five).  With fewer samples, 4 or 8, the mean still has what
 * the second run of new code took: /sampling/new-code is off by 14 and 5.5 % of
 * the slots.
 */
#define ENOUGH_FOR_UNKNOWN  12

/* Instructions that ran so far, without those in sampling units. */
static uint64_t now(const PmuTiming *t)
{
    return t->plan.unsampled_insns +
           (t->plan.phase <= PMU_PHASE_FETCH_WARMING
            ? pmu_sampling_in_period(t) : 0);
}

/* Add the current region, which is unknown: see PMU_UNKNOWN_SHARE. */
static void note_unknown(PmuTiming *t)
{
    t->unknown.sum -= MIN(t->unknown.sum, now(t) - t->unknown.at);
    t->unknown.sum += PMU_UNKNOWN_SHARE * t->region.insns;
    t->unknown.at = now(t);
}

/* The place in @set for @tag: its own, or that of the least recent region. */
static PmuUnknownRegion *place_of(PmuUnknownRegion *set, uint32_t tag,
                                  uint32_t at)
{
    PmuUnknownRegion *oldest = set;

    for (unsigned i = 0; i < PMU_UNKNOWN_WAYS; i++) {
        if (set[i].tag == tag) {
            return &set[i];
        }
        oldest = at - set[i].at > at - oldest->at ? &set[i] : oldest;
    }
    return oldest;
}

/*
 * Note that the current region, @key, which is unknown, runs now.  Returns
 * whether it also ran lately: at this linear address, as elsewhere its page and
 * branch are others; and in user mode in this context, as a load of CR3 empties
 * the ITLB of all but the kernel's pages.  Sets @insns to the instructions of
 * this period that the region made up, in any context.
 */
static PmuSighted sight(PmuTiming *t, uint64_t key, uint32_t *insns)
{
    uint32_t tag = (key ^ t->region.pc) * PMU_HASH_MULTIPLIER >> 32;
    uint32_t at = now(t), context = t->ledger->level == PMU_LEVEL_USR
                                    ? t->unknown.contexts : 0;
    PmuUnknownRegion *region = place_of(
        t->unknown.regions[key / PMU_LEVEL_NR % PMU_UNKNOWN_SETS], tag, at);
    uint32_t age = region->tag == tag ? at - region->at : UINT32_MAX;
    bool lately = age < LATELY && region->context == context;

    *insns = t->region.insns;
    *insns += age < pmu_sampling_in_period(t) ? region->insns : 0;
    *region = (PmuUnknownRegion) {
        .tag = tag, .context = context, .at = at, .insns = *insns,
    };
    return lately ? PMU_SIGHTED_AGAIN : PMU_SIGHTED_FIRST;
}

/*
 * Tally the current region as unknown code.  If caches of code did not see it
 * yet in this phase, fetch its lines: they may be far away.
 */
static void enter_unknown(PmuTiming *t, PmuSighted sighted)
{
    PmuUnknownCode *unknown =
        &t->cpi_table.estimate[t->ledger->level].unknown[sighted];

    unknown->insns += t->region.insns;
    if (t->plan.phase < PMU_PHASE_FETCH_WARMING) {
        if (t->plan.phase == PMU_PHASE_LINE_WARMING) {
            /* These are misses of other code. */
            pmu_timing_discard_functional(t);
        }
        pmu_functional_fetch_lines(&t->functional, t->region.pc, t->region.phys,
                                   t->region.end - t->region.phys);
        t->region.misses = pmu_functional_code_misses(&t->functional);
        pmu_timing_discard_functional(t);
    }
    for (unsigned i = 0; i < PMU_FOUND_IN_NR; i++) {
        unknown->misses.from[i] += t->region.misses.from[i];
    }
}

/*
 * Count the current region, which has no samples.  May open a sampling unit, or
 * end fast-forward so that one opens.
 */
static void count_unknown(PmuTiming *t, uint64_t key)
{
    uint32_t insns;
    PmuSighted sighted = sight(t, key, &insns);

    enter_unknown(t, sighted);
    t->progress += (uint64_t)t->region.insns * unknown_slots[sighted] <<
                   PMU_CPI_SHIFT;
    if (t->plan.phase > PMU_PHASE_FETCH_WARMING) {
        return;
    }
    note_unknown(t);
    if (t->plan.phase == PMU_PHASE_FAST_FORWARD) {
        if (pmu_sampling_claim_unknown(t, PMU_MAY_BE) ||
            pmu_sampling_claim_dominant(t, insns, PMU_MAY_BE)) {
            pmu_sampling_end_fast_forward_early(t);
        }
    } else if (pmu_sampling_claim_unknown(t, PMU_IS)) {
        pmu_sampling_simulate_unknown(t);
    } else if (pmu_sampling_claim_dominant(t, insns, PMU_IS)) {
        pmu_sampling_simulate_dominant(t);
    }
}

/*
 * Count the current region, of @cost, which is of low confidence.  With
 * time_only fast-forward ends for what may be dominant, but no sampling unit
 * opens for it.
 */
static void count_low_confidence(PmuTiming *t, PmuCpiEntry *cost)
{
    pmu_timing_count_known_region(t, cost);
    pmu_cpi_table_note_low_confidence(&t->cpi_table, cost);
    if (!t->interest.time_only &&
        t->plan.phase >= PMU_PHASE_FUNCTIONAL_WARMING &&
        t->plan.phase <= PMU_PHASE_FETCH_WARMING &&
        pmu_sampling_claim_dominant(
            t, pmu_cpi_table_times(&t->cpi_table, cost) * t->region.insns,
            PMU_IS)) {
        pmu_sampling_simulate_dominant(t);
    }
}

/* The key for the mean of all regions of @insns instructions at @level. */
static uint64_t mean_key(uint32_t insns, PmuLevel level)
{
    return pmu_cpi_table_key(pmu_insn_hash(insns, LENGTH), level);
}

/* With time_only, the entry of that mean; NULL: it is not well known. */
static PmuCpiEntry *mean_cost(const PmuTiming *t, uint32_t insns,
                              PmuLevel level)
{
    return t->interest.time_only
           ? pmu_cpi_table_find(&t->cpi_table, mean_key(insns, level)) : NULL;
}

PmuCpiEntry *pmu_timing_substitute_cost(const PmuTiming *t, uint64_t key,
                                        uint32_t insns, PmuLevel level)
{
    PmuCpiEntry *cost;

    if (!t->interest.time_only) {
        return NULL;
    }
    cost = pmu_cpi_table_find_low_confidence(&t->cpi_table, key);
    return cost ? cost : mean_cost(t, insns, level);
}

void pmu_timing_learn_length(PmuTiming *t)
{
    if (t->interest.time_only) {
        pmu_cpi_table_add_sample(&t->cpi_table,
                                 mean_key(t->region.insns, t->ledger->level), 0,
                                 &t->region.sample);
    }
}

void pmu_timing_count_unknown_region(PmuTiming *t, uint64_t key)
{
    PmuCpiEntry *cost = pmu_cpi_table_find_low_confidence(&t->cpi_table, key);

    if (cost) {
        count_low_confidence(t, cost);
        return;
    }
    cost = mean_cost(t, t->region.insns, t->ledger->level);
    if (cost) {
        pmu_timing_count_known_region(t, cost);
    } else {
        count_unknown(t, key);
    }
}

/*
 * In a sampling unit for unknown code caches are cold, and regions take longer
 * than they will later.  Such a sample is of use where there are few.  In a
 * unit for a dominant region it is until the cost is well known.
 */
bool pmu_timing_is_typical(const PmuTiming *t, uint64_t key)
{
    const PmuCpiEntry *cost;

    if (!t->plan.for_unknown) {
        return true;
    }
    if (t->plan.first_of_dominant) {
        return !pmu_cpi_table_find(&t->cpi_table, key);
    }
    cost = pmu_cpi_table_find_any(&t->cpi_table, key);
    return !cost ||
           pmu_cpi_table_samples(&t->cpi_table, cost) < ENOUGH_FOR_UNKNOWN;
}
