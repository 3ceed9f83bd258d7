/*
 * The register file: counting, overflow, RDPMC.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/perfmon/counter.h"
#include "tcg/pmu/perfmon/perf-metrics.h"
#include "tcg/pmu/perfmon/perfmon.h"
#include "tcg/pmu/perfmon/register-map.h"

typedef struct InitRule {
    bool ok;
    const char *why;
} InitRule;

static bool follows(const InitRule *rules, unsigned num_rules,
                    const char **why)
{
    for (unsigned i = 0; i < num_rules; i++) {
        if (!rules[i].ok) {
            *why = rules[i].why;
            return false;
        }
    }
    return true;
}

static bool check_metrics(const PerfmonConfig *config, const char **why)
{
    bool metrics = config->capabilities & PERF_CAP_BIT_PERF_METRICS;
    const InitRule rules[] = {
        { metrics || !(config->capabilities & PERF_CAP_BIT_METRICS_CLEAR),
          "RDPMC clears PERF_METRICS, which there is not" },
        { !metrics || config->num_fixed == PERFMON_MAX_FIXED,
          "PERF_METRICS needs fixed counter 3" },
        { !metrics || config->num_metrics == PMU_METRICS_LEVEL1 ||
          config->num_metrics == PERFMON_MAX_METRICS,
          "PERF_METRICS has 4 or 8 fields" },
        { !metrics || (config->metrics_width >= 8 &&
                       config->metrics_width <= 48),
          "width of the PERF_METRICS counters out of range" },
    };

    return follows(rules, G_N_ELEMENTS(rules), why);
}

static bool check_config(const PerfmonConfig *config, const char **why)
{
    bool architectural = config->map == PERFMON_MAP_ARCHITECTURAL;
    const InitRule rules[] = {
        { config->core < PMU_CORE_NR, "unknown core" },
        { config->map < PERFMON_MAP_NR, "unknown register map" },
        { config->map < PERFMON_MAP_NR && config->num_gp >= 1 &&
          config->num_gp <= perfmon_register_map(config->map)->max_gp,
          "number of general-purpose counters out of range" },
        { !config->num_fixed || (config->num_fixed >= 3 &&
                                 config->num_fixed <= PERFMON_MAX_FIXED),
          "number of fixed counters out of range" },
        { architectural || !(config->num_fixed || config->capabilities),
          "fixed counters or capabilities of another register map" },
        { config->version <= 5, "version out of range" },
        { config->version != 1 || !architectural || !config->num_fixed,
          "version 1 has no fixed counters" },
        { !config->counter_width || (config->counter_width >= 32 &&
                                     config->counter_width <= 48),
          "width of counters out of range" },
        { !(config->capabilities & ~(PERF_CAP_BIT_FW_WRITE |
                                     PERF_CAP_BIT_PERF_METRICS |
                                     PERF_CAP_BIT_METRICS_CLEAR)),
          "capability without a model" },
        { config->pdcm || !config->capabilities,
          "capabilities without a register to report them" },
    };

    return follows(rules, G_N_ELEMENTS(rules), why) &&
           check_metrics(config, why);
}

/* Do writes of AnyThread bits stick?  AnyThread came with version 3. */
static bool has_anythread(unsigned version, PerfmonAnyThread asked)
{
    return version >= 3 && (asked == PERFMON_ANYTHREAD_BY_VERSION
                            ? version < 5 : asked == PERFMON_ANYTHREAD_HELD);
}

bool perfmon_init(Perfmon *pmu, const PerfmonConfig *config, const char **why)
{
    if (!check_config(config, why)) {
        return false;
    }
    *pmu = (Perfmon) {
        .config = *config, .map = perfmon_register_map(config->map),
    };
    if (!(config->capabilities & PERF_CAP_BIT_PERF_METRICS)) {
        pmu->config.num_metrics = 0;
        pmu->config.metrics_width = 48;
    }
    if (config->map == PERFMON_MAP_ARCHITECTURAL) {
        pmu->config.version = config->version ?: 5;
        pmu->anythread = has_anythread(pmu->config.version,
                                       config->anythread);
    }
    pmu->config.counter_width = config->counter_width ?:
                                pmu->map->counter_width;
    perfmon_msr_prepare(pmu);
    perfmon_reset(pmu);
    return true;
}

/* Clear registers that the map does not have, whatever was loaded. */
static void clear_absent(Perfmon *pmu)
{
    if (pmu->config.map != PERFMON_MAP_ARCHITECTURAL) {
        memset(pmu->fixed, 0, sizeof(pmu->fixed));
        memset(pmu->metrics, 0, sizeof(pmu->metrics));
        memset(pmu->offcore_rsp, 0, sizeof(pmu->offcore_rsp));
        pmu->fixed_ctr_ctrl = 0;
        pmu->debugctl = 0;
        pmu->pebs_ld_lat = 0;
        pmu->pebs_frontend = 0;
    }
    if (pmu->config.map != PERFMON_MAP_NETBURST) {
        memset(pmu->escr, 0, sizeof(pmu->escr));
        pmu->pebs_enable = 0;
        pmu->pebs_matrix_vert = 0;
    }
    if (pmu->config.map != PERFMON_MAP_P5) {
        pmu->cesr = 0;
    }
}

/* Without IA32_PERF_GLOBAL_CTRL only a counter's own register controls it. */
static void enable_all(Perfmon *pmu)
{
    if (!pmu->num_present[PERFMON_PRESENT_GLOBAL]) {
        pmu->global_ctrl = pmu->mask[PERFMON_MASK_GP];
        pmu->global_status = 0;
    }
}

void perfmon_reset(Perfmon *pmu)
{
    perfmon_msr_reset(pmu);
    enable_all(pmu);
    perfmon_select(pmu, true);
    memset(pmu->remainder, 0, sizeof(pmu->remainder));
    pmu->pmi = false;
}

/*
 * Can counters have left over the remainders that were loaded?  A counter that
 * nothing bounds gets remainder 0, whatever it counted before.
 */
static bool load_remainders(Perfmon *pmu, const PmuLedgerSnapshot *now)
{
    for (unsigned i = 0; i < PERFMON_MAX_GP; i++) {
        const PmuSelection *event = &pmu->selected[i];

        if (i >= pmu->config.num_gp || !(event->capped || event->minuend)) {
            pmu->remainder[i] = 0;
        } else if (!pmu_selection_can_leave(event, now, pmu->remainder[i])) {
            return false;
        }
    }
    return true;
}

/* Look up what counters count, but keep the remainders that were loaded. */
static void select_loaded(Perfmon *pmu)
{
    int64_t remainder[PERFMON_MAX_GP];

    memcpy(remainder, pmu->remainder, sizeof(remainder));
    perfmon_select(pmu, true);
    memcpy(pmu->remainder, remainder, sizeof(remainder));
}

bool perfmon_post_load(Perfmon *pmu, const PmuLedgerSnapshot *now,
                       const char **why)
{
    unsigned bits = pmu_metrics_bits(pmu->config.metrics_width);

    clear_absent(pmu);
    enable_all(pmu);
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
    select_loaded(pmu);
    if (!load_remainders(pmu, now)) {
        *why = "a counter has more left over than was counted";
        return false;
    }
    pmu->last = *now;
    return true;
}

/* What @counter, which has @index, gained from @pmu->last to @now. */
static uint64_t gain(Perfmon *pmu, const PmuLedgerSnapshot *now,
                     unsigned index, const PerfmonCounter *counter)
{
    int64_t none = 0;           /* fixed counters have no bounds */
    int64_t *remainder = index < pmu->config.num_gp ? &pmu->remainder[index]
                                                    : &none;
    unsigned levels = 0;

    for (int level = 0; level < PMU_LEVEL_NR; level++) {
        levels |= counter->level[level] << level;
    }
    return pmu_selection_gain(counter->event, &pmu->last, now, levels,
                              remainder);
}

/* Overflows to be reported: their bits in GLOBAL_STATUS, and the PMI. */
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

/* Note how fast @counter, which has @index, counted @n until @now. */
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
    perfmon_event_rates_add(pmu->rates, perfmon_rate_key(pmu, index), n,
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
    if (n > mask - counter.value || (counter.every_increment && n)) {
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
 * Stop all counters.  Before version 4, that clears the global enable bits
 * (SDM vol. 3B, "Freezing LBR and Performance Counters on PMI").
 */
static void freeze(Perfmon *pmu)
{
    if (pmu->config.version >= 4) {
        pmu->global_status |= PERF_GLOBAL_CTR_FRZ;
    } else {
        pmu->global_ctrl = 0;
    }
}

/* Report @overflow in GLOBAL_STATUS, the map's registers and @pmu->pmi. */
static void report_overflow(Perfmon *pmu, const PerfmonOverflow *overflow)
{
    if (pmu->num_present[PERFMON_PRESENT_GLOBAL]) {
        pmu->global_status |= overflow->status;
    }
    for (unsigned i = 0; pmu->map->overflowed && i < pmu->config.num_gp; i++) {
        if (overflow->status & PERF_GLOBAL_GP(i)) {
            pmu->map->overflowed(pmu, i);
        }
    }
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

void perfmon_add(Perfmon *pmu, unsigned index, uint64_t n)
{
    PerfmonCounter counter = perfmon_get_counter(pmu, index);
    uint64_t mask = pmu->mask[PERFMON_MASK_COUNTER];
    PerfmonOverflow overflow = { 0 };

    if (n > mask - counter.value) {
        note_overflow(&overflow, counter.status, counter.interrupt);
    }
    *perfmon_counter_value(pmu, index) = (counter.value + n) & mask;
    report_overflow(pmu, &overflow);
}

uint64_t perfmon_clear_half(Perfmon *pmu, unsigned index)
{
    uint64_t value = perfmon_get_counter(pmu, index).value;
    uint64_t half = value & UINT32_MAX;

    *perfmon_counter_value(pmu, index) = value - half;
    return half;
}

void perfmon_hold(Perfmon *pmu, uint64_t status)
{
    pmu->held = status;
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

/* ECX[31:16] of RDPMC, SDM vol. 2B; the maps have the other values. */
#define RDPMC_METRICS   0x2000

PerfmonResult perfmon_rdpmc(const Perfmon *pmu, uint32_t ecx, uint64_t *value)
{
    uint64_t mask;
    int index = pmu->map->rdpmc(pmu, ecx, &mask);

    if (index >= 0) {
        *value = perfmon_get_counter(pmu, index).value & mask;
        return PERFMON_OK;
    }
    if (ecx >> 16 == RDPMC_METRICS &&
        pmu->num_present[PERFMON_PRESENT_METRICS]) {
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

/* Does @event count conditional branches whichever way they went? */
static bool counts_conditional(const PmuSelection *event)
{
    unsigned ways = 0;

    for (int i = 0; i < event->num_terms; i++) {
        ways += pmu_ledger_item_taken(event->term[i]);
    }
    return ways == 2;
}

static void demand_item(PerfmonDemand *demand, PmuLedgerItem item)
{
    demand->timing |= item != PMU_ITEM_INSTRUCTIONS &&
                      item != PMU_ITEM_BRANCHES &&
                      item != PMU_ITEM_INTERRUPTS &&
                      item != PMU_ITEM_EXCEPTIONS;
    pmu_interest_add(&demand->interest, item);
}

static void demand_event(PerfmonDemand *demand, const PmuSelection *event)
{
    bool conditional = counts_conditional(event);

    if (event->capped) {
        demand_item(demand, PMU_ITEM_CYCLES);
    }
    if (event->minuend) {
        demand_item(demand, event->minuend);
    }
    for (int i = 0; i < event->num_terms; i++) {
        if (!conditional || !pmu_ledger_item_taken(event->term[i])) {
            demand_item(demand, event->term[i]);
        }
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

bool perfmon_view(const Perfmon *pmu, unsigned index, PerfmonView *view)
{
    PerfmonCounter counter;
    unsigned num_gp = pmu->config.num_gp;

    if (index >= perfmon_num_counters(pmu)) {
        return false;
    }
    counter = perfmon_get_counter(pmu, index);
    *view = (PerfmonView) {
        .counter = index < num_gp ? pmu->map->counter_name : "IA32_FIXED_CTR",
        .number = index < num_gp ? pmu->map->first_counter + index
                                 : index - num_gp,
        .event = counter.event->name,
        .state = counter.event->state,
        .note = counter.event->note,
        .selector = index < num_gp ? pmu->selected_evtsel[index] : 0,
        .value = counter.value,
        .switched_on = index >= num_gp || pmu->control[index].enabled,
        .enabled = counter.running &&
                   (counter.level[PMU_LEVEL_OS] ||
                    counter.level[PMU_LEVEL_USR]),
        .os = counter.level[PMU_LEVEL_OS],
        .usr = counter.level[PMU_LEVEL_USR],
        .interrupt = counter.interrupt,
    };
    return true;
}
