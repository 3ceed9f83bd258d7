/*
 * The architectural register file: counting, overflow, RDPMC.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/perfmon/counter.h"
#include "tcg/pmu/perfmon/perf-metrics.h"
#include "tcg/pmu/perfmon/perfmon.h"

bool perfmon_init(Perfmon *pmu, const PerfmonConfig *config, const char **why)
{
    bool metrics = config->capabilities & PERF_CAP_BIT_PERF_METRICS;
    const struct {
        bool ok;
        const char *why;
    } rule[] = {
        { config->core < PMU_CORE_NR, "unknown core" },
        { config->num_gp >= 1 && config->num_gp <= PERFMON_MAX_GP,
          "number of general-purpose counters out of range" },
        { !config->num_fixed || (config->num_fixed >= 3 &&
                                 config->num_fixed <= PERFMON_MAX_FIXED),
          "number of fixed counters out of range" },
        { !config->version || (config->version >= 2 && config->version <= 5),
          "version out of range" },
        { !config->counter_width || (config->counter_width >= 32 &&
                                     config->counter_width <= 48),
          "width of counters out of range" },
        { !(config->capabilities & ~(PERF_CAP_BIT_FW_WRITE |
                                     PERF_CAP_BIT_PERF_METRICS |
                                     PERF_CAP_BIT_METRICS_CLEAR)),
          "capability without a model" },
        { metrics || !(config->capabilities & PERF_CAP_BIT_METRICS_CLEAR),
          "RDPMC clears PERF_METRICS, which there is not" },
        { config->pdcm || !config->capabilities,
          "capabilities without a register to report them" },
        { !metrics || config->num_fixed == PERFMON_MAX_FIXED,
          "PERF_METRICS needs fixed counter 3" },
        { !metrics || config->num_metrics == PMU_METRICS_LEVEL1 ||
          config->num_metrics == PERFMON_MAX_METRICS,
          "PERF_METRICS has 4 or 8 fields" },
        { !metrics || (config->metrics_width >= 8 &&
                       config->metrics_width <= 48),
          "width of the PERF_METRICS counters out of range" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rule); i++) {
        if (!rule[i].ok) {
            *why = rule[i].why;
            return false;
        }
    }
    *pmu = (Perfmon) { .config = *config };
    if (!metrics) {
        pmu->config.num_metrics = 0;
        pmu->config.metrics_width = 48;
    }
    pmu->config.version = config->version ?: 5;
    pmu->config.counter_width = config->counter_width ?: 48;
    perfmon_msr_prepare(pmu);
    perfmon_reset(pmu);
    return true;
}

void perfmon_reset(Perfmon *pmu)
{
    perfmon_msr_reset(pmu);
    perfmon_select(pmu, true);
    memset(pmu->remainder, 0, sizeof(pmu->remainder));
    pmu->pmi = false;
}

/*
 * Are remainders what counters can have left over?  One that nothing bounds
 * needs none, whatever it counted before.
 */
static bool load_remainders(Perfmon *pmu, const PmuLedgerSnapshot *now)
{
    for (unsigned i = 0; i < PERFMON_MAX_GP; i++) {
        const PmuSelection *event = &pmu->selected[i];

        if (i >= pmu->config.num_gp || !(event->capped || event->whole)) {
            pmu->remainder[i] = 0;
        } else if (!pmu_selection_can_leave(event, now, pmu->remainder[i])) {
            return false;
        }
    }
    return true;
}

bool perfmon_post_load(Perfmon *pmu, const PmuLedgerSnapshot *now,
                       const char **why)
{
    unsigned bits = pmu_metrics_bits(pmu->config.metrics_width);

    if (!perfmon_msr_plausible(pmu)) {
        *why = "reserved bits are set in a register";
        return false;
    }
    for (unsigned i = 0; i < PERFMON_MAX_METRICS; i++) {
        if (pmu->metrics[i] >> bits) {
            *why = "a PERF_METRICS counter is too large";
            return false;
        }
    }
    perfmon_select(pmu, true);
    if (!load_remainders(pmu, now)) {
        *why = "a counter has more left over than was counted";
        return false;
    }
    pmu->last = *now;
    return true;
}

/* What counter @index, which is @counter, gained from @pmu->last to @now. */
static uint64_t gain(Perfmon *pmu, const PmuLedgerSnapshot *now,
                     unsigned index, const PerfmonCounter *counter)
{
    int64_t none = 0;           /* nothing bounds what fixed counters count */
    int64_t *remainder = index < pmu->config.num_gp ? &pmu->remainder[index]
                                                    : &none;
    unsigned levels = 0;

    for (int level = 0; level < PMU_LEVEL_NR; level++) {
        levels |= counter->level[level] << level;
    }
    return pmu_selection_gain(counter->event, &pmu->last, now, levels,
                              remainder);
}

/* An overflow that is to set @status. */
typedef struct PerfmonOverflow {
    uint64_t status;
    bool interrupt;
} PerfmonOverflow;

static void note_overflow(PerfmonOverflow *overflow, uint64_t status,
                          bool interrupt)
{
    overflow->status |= status;
    overflow->interrupt |= interrupt;
}

/* Counter @index, which is @counter, gained @n: note how fast that was. */
static void add_rate(Perfmon *pmu, const PmuLedgerSnapshot *now,
                     unsigned index, const PerfmonCounter *counter, uint64_t n)
{
    uint64_t slots = 0;

    if (!pmu->rates) {
        return;
    }
    for (int level = 0; level < PMU_LEVEL_NR; level++) {
        if (counter->level[level]) {
            slots += now->item[level][PMU_ITEM_SLOTS] -
                     pmu->last.item[level][PMU_ITEM_SLOTS];
        }
    }
    perfmon_event_rates_add(pmu->rates, perfmon_event_of(pmu, index), n,
                            slots);
}

static void update_counter(Perfmon *pmu, const PmuLedgerSnapshot *now,
                           unsigned index, PerfmonOverflow *overflow)
{
    PerfmonCounter counter = perfmon_get_counter(pmu, index);
    uint64_t mask = pmu->mask[PERFMON_MASK_COUNTER], n;

    if (!perfmon_is_counting(&counter)) {
        return;
    }
    n = gain(pmu, now, index, &counter);
    add_rate(pmu, now, index, &counter, n);
    if (n > mask - counter.value) {
        note_overflow(overflow, counter.status, counter.interrupt);
    }
    *perfmon_counter_value(pmu, index) = (counter.value + n) & mask;
}

static void update_metrics(Perfmon *pmu, const PmuLedgerSnapshot *now,
                           PerfmonOverflow *overflow)
{
    PerfmonCounter slots;

    if (!perfmon_metrics_counting(pmu, &slots)) {
        return;
    }
    for (unsigned i = 0; i < pmu->config.num_metrics; i++) {
        uint64_t n = 0;

        for (int level = 0; level < PMU_LEVEL_NR; level++) {
            if (slots.level[level]) {
                n += pmu_metrics_slots(now, level, i) -
                     pmu_metrics_slots(&pmu->last, level, i);
            }
        }
        if (pmu_metrics_add(&pmu->metrics[i], pmu->config.metrics_width, n)) {
            note_overflow(overflow, PERF_GLOBAL_METRICS, slots.interrupt);
        }
    }
}

/*
 * Counters stop.  Before version 4, the global enable bits go (SDM vol. 3B,
 * "Freezing LBR and Performance Counters on PMI").
 */
static void freeze(Perfmon *pmu)
{
    if (pmu->config.version >= 4) {
        pmu->global_status |= PERF_GLOBAL_CTR_FRZ;
    } else {
        pmu->global_ctrl = 0;
    }
}

/* Counters have overflowed. */
static void report_overflow(Perfmon *pmu, const PerfmonOverflow *overflow)
{
    pmu->global_status |= overflow->status;
    if (overflow->interrupt) {
        pmu->pmi = true;
        if (pmu->debugctl & PERF_DEBUGCTL_FREEZE_PERFMON_ON_PMI) {
            freeze(pmu);
        }
    }
}

void perfmon_update(Perfmon *pmu, const PmuLedgerSnapshot *now)
{
    PerfmonOverflow overflow = { 0 };

    for (unsigned i = 0; i < perfmon_num_counters(pmu); i++) {
        update_counter(pmu, now, i, &overflow);
    }
    update_metrics(pmu, now, &overflow);

    report_overflow(pmu, &overflow);
    pmu->last = *now;
}

uint64_t perfmon_wrap(Perfmon *pmu, unsigned index)
{
    PerfmonCounter counter = perfmon_get_counter(pmu, index);
    PerfmonOverflow overflow = { counter.status, counter.interrupt };

    *perfmon_counter_value(pmu, index) = 0;
    report_overflow(pmu, &overflow);
    return pmu->mask[PERFMON_MASK_COUNTER] + 1 - counter.value;
}

uint64_t perfmon_wrap_metric(Perfmon *pmu, unsigned index)
{
    uint64_t hidden = pmu->metrics[index];
    PerfmonOverflow overflow = {
        PERF_GLOBAL_METRICS, pmu->fixed_ctr_ctrl & PERF_FIXED_PMI(3),
    };

    pmu->metrics[index] = 0;
    report_overflow(pmu, &overflow);
    return (1ull << pmu_metrics_bits(pmu->config.metrics_width)) - hidden;
}

/* ECX[31:16] of RDPMC, SDM vol. 2B. */
enum {
    RDPMC_GP        = 0x0000,
    RDPMC_METRICS   = 0x2000,
    RDPMC_FIXED     = 0x4000,
};

PerfmonResult perfmon_rdpmc(const Perfmon *pmu, uint32_t ecx, uint64_t *value)
{
    unsigned type = ecx >> 16;
    unsigned index = ecx & 0xffff;

    if (type == RDPMC_GP && index < pmu->config.num_gp) {
        *value = pmu->gp[index];
        return PERFMON_OK;
    }
    if (type == RDPMC_FIXED && index < pmu->config.num_fixed) {
        *value = pmu->fixed[index];
        return PERFMON_OK;
    }
    if (type == RDPMC_METRICS && pmu->population[PERFMON_PRESENT_METRICS]) {
        *value = perfmon_metrics(pmu);
        return PERFMON_OK;
    }
    return PERFMON_GP;
}

bool perfmon_rdpmc_done(Perfmon *pmu, uint32_t ecx)
{
    if (ecx >> 16 != RDPMC_METRICS ||
        !(pmu->fixed_ctr_ctrl & PERF_FIXED_METRICS_CLEAR) ||
        !(pmu->config.capabilities & PERF_CAP_BIT_METRICS_CLEAR)) {
        return false;
    }
    pmu->fixed[3] = 0;
    memset(pmu->metrics, 0, sizeof(pmu->metrics));
    return true;
}

static void demand_item(PerfmonDemand *demand, PmuLedgerItem item)
{
    demand->timing |= item != PMU_ITEM_INSTRUCTIONS &&
                      item != PMU_ITEM_BRANCHES;
    pmu_interest_add(&demand->interest, item);
}

static void demand_event(PerfmonDemand *demand, const PmuSelection *event)
{
    if (event->capped) {
        demand_item(demand, PMU_ITEM_CYCLES);
    }
    if (event->whole) {
        demand_item(demand, event->whole);
    }
    for (int i = 0; i < event->num_terms; i++) {
        demand_item(demand, event->term[i]);
    }
}

PerfmonDemand perfmon_demand(const Perfmon *pmu)
{
    PerfmonDemand demand = { 0 };

    for (unsigned i = 0; i < perfmon_num_counters(pmu); i++) {
        PerfmonCounter counter = perfmon_get_counter(pmu, i);

        if (!perfmon_is_counting(&counter)) {
            continue;
        }
        for (int level = 0; level < PMU_LEVEL_NR; level++) {
            if (counter.level[level]) {
                demand.level[level] = true;
                demand_event(&demand, counter.event);
            }
        }
    }
    return demand;
}

/* Names as the SDM spells them. */
static const char *const gp_names[PERFMON_MAX_GP] = {
    "IA32_PMC0", "IA32_PMC1", "IA32_PMC2", "IA32_PMC3",
    "IA32_PMC4", "IA32_PMC5", "IA32_PMC6", "IA32_PMC7",
};

static const char *const fixed_names[PERFMON_MAX_FIXED] = {
    "IA32_FIXED_CTR0", "IA32_FIXED_CTR1", "IA32_FIXED_CTR2", "IA32_FIXED_CTR3",
};

bool perfmon_view(const Perfmon *pmu, unsigned index, PerfmonView *view)
{
    PerfmonCounter counter;
    unsigned num_gp = pmu->config.num_gp;

    if (index >= perfmon_num_counters(pmu)) {
        return false;
    }
    counter = perfmon_get_counter(pmu, index);
    *view = (PerfmonView) {
        .counter = index < num_gp ? gp_names[index] :
                   fixed_names[index - num_gp],
        .event = counter.event->name,
        .state = counter.event->state,
        .note = counter.event->note,
        .value = counter.value,
        .enabled = counter.running &&
                   (counter.level[PMU_LEVEL_OS] ||
                    counter.level[PMU_LEVEL_USR]),
        .os = counter.level[PMU_LEVEL_OS],
        .usr = counter.level[PMU_LEVEL_USR],
        .interrupt = counter.interrupt,
    };
    return true;
}
