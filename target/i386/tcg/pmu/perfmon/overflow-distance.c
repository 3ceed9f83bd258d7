/*
 * How far the ledger may move before a counter can interrupt or start another.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/perfmon/counter.h"
#include "tcg/pmu/perfmon/overflow-distance.h"
#include "tcg/pmu/perfmon/perf-metrics.h"

/* The kinds of items that PerfmonDistance tells apart. */
typedef enum ItemKind {
    KIND_INSTRUCTIONS,
    KIND_BRANCHES,
    KIND_CYCLES,
    KIND_SLOTS,
    KIND_DELIVERIES,
    KIND_OTHER,
} ItemKind;

static ItemKind item_kind(PmuLedgerItem item)
{
    switch (item) {
    case PMU_ITEM_INSTRUCTIONS:
        return KIND_INSTRUCTIONS;
    case PMU_ITEM_BRANCHES ... PMU_ITEM_BRANCHES_FAR:
        return KIND_BRANCHES;
    case PMU_ITEM_INTERRUPTS:
    case PMU_ITEM_EXCEPTIONS:
        return KIND_DELIVERIES;
    case PMU_ITEM_CYCLES:
        return KIND_CYCLES;
    case PMU_ITEM_SLOTS:
        return KIND_SLOTS;
    default:
        return (unsigned)item < PMU_SLOT_NR ? KIND_SLOTS : KIND_OTHER;
    }
}

/*
 * The kind of a sum is that of its items, but for deliveries, if all are of one
 * kind.
 */
static ItemKind event_kind(const PmuSelection *event)
{
    ItemKind sum = KIND_DELIVERIES;

    if (event->capped || event->minuend) {
        return KIND_OTHER;
    }
    for (int i = 0; i < event->num_terms; i++) {
        ItemKind kind = item_kind(event->term[i]);

        if (sum == KIND_DELIVERIES) {
            sum = kind;
        } else if (kind != KIND_DELIVERIES && kind != sum) {
            return KIND_OTHER;
        }
    }
    return sum;
}

/*
 * A counter of @event is @distance from its wrap: its items together may grow
 * by @distance - 1.  Returns the least growth of the fastest item with which
 * the counter can wrap.  Leaf classes of slots are one item here, as together
 * they grow no faster than SLOTS.  PmuSelection.single says the like of all.
 */
static uint64_t item_distance(const PmuSelection *event, uint64_t distance)
{
    unsigned others = 0;
    bool slots = false;

    if (event->single) {
        return distance;
    }
    for (int i = 0; i < event->num_terms; i++) {
        if (event->term[i] < PMU_SLOT_NR) {
            slots = true;
        } else {
            others++;
        }
    }
    return (distance - 1) / (others + slots) + 1;
}

static void lower(uint64_t *bound, uint64_t distance)
{
    *bound = MIN(*bound, distance);
}

static void bound_instructions(PerfmonDistance *to_overflow,
                               const PerfmonCounter *counter,
                               uint64_t distance)
{
    lower(&to_overflow->instructions, distance);
    for (int level = 0; level < PMU_LEVEL_NR; level++) {
        if (counter->level[level]) {
            lower(&to_overflow->instructions_level[level], distance);
        }
    }
}

/* The slots in which counter @index probably counts @distance. */
static uint64_t expected_at(const Perfmon *pmu, unsigned index,
                            uint64_t distance)
{
    return perfmon_event_rates_expected(pmu->rates,
                                        perfmon_rate_key(pmu, index),
                                        distance);
}

static bool counts_deliveries(const PmuSelection *event)
{
    for (int i = 0; i < event->num_terms; i++) {
        if (item_kind(event->term[i]) == KIND_DELIVERIES) {
            return true;
        }
    }
    return false;
}

static void bound_counter(const Perfmon *pmu, PerfmonDistance *to_overflow,
                          const PerfmonCounter *counter, unsigned index)
{
    uint64_t value_distance = counter->every_increment ? 1 :
                              pmu->mask[PERFMON_MASK_COUNTER] + 1 -
                              counter->value;
    uint64_t distance = item_distance(counter->event, value_distance);

    if (counts_deliveries(counter->event)) {
        lower(&to_overflow->deliveries, distance);
    }
    switch (event_kind(counter->event)) {
    case KIND_INSTRUCTIONS:
        bound_instructions(to_overflow, counter, distance);
        break;
    case KIND_BRANCHES:
        lower(&to_overflow->branches, distance);
        break;
    case KIND_CYCLES:
        lower(&to_overflow->cycles, distance);
        break;
    case KIND_SLOTS:
        lower(&to_overflow->slots, distance);
        break;
    case KIND_DELIVERIES:
        break;
    case KIND_OTHER:
        lower(&to_overflow->any, distance);
        lower(&to_overflow->expected, expected_at(pmu, index, value_distance));
        break;
    }
}

void perfmon_distance_to_overflow(const Perfmon *pmu,
                                  PerfmonDistance *to_overflow)
{
    PerfmonCounter slots;

    *to_overflow = (PerfmonDistance) {
        .instructions = UINT64_MAX,
        .instructions_level = { UINT64_MAX, UINT64_MAX },
        .branches = UINT64_MAX,
        .cycles = UINT64_MAX,
        .slots = UINT64_MAX,
        .deliveries = UINT64_MAX,
        .any = UINT64_MAX,
        .expected = UINT64_MAX,
    };
    for (unsigned i = 0; i < perfmon_num_counters(pmu); i++) {
        PerfmonCounter counter = perfmon_get_counter(pmu, i);

        if (perfmon_awaits_overflow(&counter)) {
            bound_counter(pmu, to_overflow, &counter, i);
        }
    }
    if (!perfmon_metrics_counting(pmu, &slots) ||
        !perfmon_awaits_overflow(&slots)) {
        return;
    }
    for (unsigned i = 0; i < pmu->config.num_metrics; i++) {
        lower(&to_overflow->slots,
              pmu_metrics_distance(pmu->metrics[i],
                                   pmu->config.metrics_width));
    }
}
