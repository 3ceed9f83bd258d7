/*
 * The architectural register file: counting, overflow, RDPMC.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: plain C.  perfmon-msr.c has the registers.
 */

#include <glib.h>
#include <string.h>

#include "metrics.h"
#include "perfmon-msr.h"

/* A counter's controls, in one form for both kinds. */
typedef struct PerfmonCounter {
    const PmuSelection *event;
    uint64_t value;
    uint64_t status;            /* its bit in GLOBAL_STATUS */
    bool running;               /* on, at the levels below */
    bool level[PMU_LEVEL_NR];   /* filter */
    bool interrupt;
} PerfmonCounter;

static unsigned num_counters(const Perfmon *pmu)
{
    return pmu->config.num_gp + pmu->config.num_fixed;
}

/* The counter with bit @status is on, if its own control has it @enabled. */
static bool is_running(const Perfmon *pmu, uint64_t status, bool enabled)
{
    return enabled && (pmu->global_ctrl & status) &&
           !(pmu->global_status & PERF_GLOBAL_CTR_FRZ);
}

static PerfmonCounter gp_counter(const Perfmon *pmu, unsigned index)
{
    uint64_t evtsel = pmu->evtsel[index];
    bool running = is_running(pmu, PERF_GLOBAL_GP(index),
                              evtsel & PERF_EVTSEL_EN);

    return (PerfmonCounter) {
        .event = &pmu->selected[index],
        .value = pmu->gp[index],
        .status = PERF_GLOBAL_GP(index),
        .running = running,
        .level[PMU_LEVEL_OS] = evtsel & PERF_EVTSEL_OS,
        .level[PMU_LEVEL_USR] = evtsel & PERF_EVTSEL_USR,
        .interrupt = evtsel & PERF_EVTSEL_INT,
    };
}

static PerfmonCounter fixed_counter(const Perfmon *pmu, unsigned index)
{
    uint64_t ctrl = pmu->fixed_ctr_ctrl;

    return (PerfmonCounter) {
        .event = &pmu->selected[pmu->config.num_gp + index],
        .value = pmu->fixed[index],
        .status = PERF_GLOBAL_FIXED(index),
        .running = is_running(pmu, PERF_GLOBAL_FIXED(index), true),
        .level[PMU_LEVEL_OS] = ctrl & PERF_FIXED_OS(index),
        .level[PMU_LEVEL_USR] = ctrl & PERF_FIXED_USR(index),
        .interrupt = ctrl & PERF_FIXED_PMI(index),
    };
}

/* General-purpose counters come first, then the fixed ones. */
static PerfmonCounter get_counter(const Perfmon *pmu, unsigned index)
{
    return index < pmu->config.num_gp ?
           gp_counter(pmu, index) :
           fixed_counter(pmu, index - pmu->config.num_gp);
}

static uint64_t *counter_value(Perfmon *pmu, unsigned index)
{
    return index < pmu->config.num_gp ?
           &pmu->gp[index] : &pmu->fixed[index - pmu->config.num_gp];
}

/* It is on and there is something to count. */
static bool counting(const PerfmonCounter *counter)
{
    return counter->running && pmu_selection_counts(counter->event);
}

static void select_gp(Perfmon *pmu, unsigned index, uint64_t evtsel)
{
    pmu->selected_evtsel[index] = evtsel;
    pmu_event_select(&pmu->selected[index], pmu->config.core, index, evtsel,
                     pmu->selected_extra);
}

/*
 * A driver stops and starts counters far more often than it gives them another
 * event, and a lookup takes about as long as all the rest of a WRMSR.
 */
void perfmon_select(Perfmon *pmu, bool all)
{
    const uint64_t mask = PERF_EVTSEL_EVENT | PERF_EVTSEL_UMASK |
                          PMU_EVENT_MODIFIERS;
    const uint64_t extra[PMU_EXTRA_NR] = {
        [PMU_EXTRA_OFFCORE_0] = pmu->offcore_rsp[0],
        [PMU_EXTRA_OFFCORE_1] = pmu->offcore_rsp[1],
        [PMU_EXTRA_LD_LAT] = pmu->pebs_ld_lat,
        [PMU_EXTRA_FRONTEND] = pmu->pebs_frontend,
    };

    all |= memcmp(pmu->selected_extra, extra, sizeof(extra)) != 0;
    memcpy(pmu->selected_extra, extra, sizeof(extra));
    for (unsigned i = 0; i < pmu->config.num_gp; i++) {
        if (all || pmu->selected_evtsel[i] != (pmu->evtsel[i] & mask)) {
            select_gp(pmu, i, pmu->evtsel[i] & mask);
        }
    }
    for (unsigned i = 0; all && i < pmu->config.num_fixed; i++) {
        pmu_event_select_fixed(&pmu->selected[pmu->config.num_gp + i], i);
    }
}

/*
 * PERF_METRICS counts along with IA32_FIXED_CTR3 and under its filter: there
 * is no control register of its own (SDM vol. 3B, "Performance Metrics").
 * Returns whether it does, and that counter in *@slots.
 */
static bool metrics_counting(const Perfmon *pmu, PerfmonCounter *slots)
{
    if (!(pmu->global_ctrl & PERF_GLOBAL_METRICS)) {
        return false;
    }
    *slots = fixed_counter(pmu, 3);
    return counting(slots);
}

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
        { config->num_fixed >= 3 && config->num_fixed <= PERFMON_MAX_FIXED,
          "number of fixed counters out of range" },
        { !(config->capabilities & ~(PERF_CAP_BIT_FW_WRITE |
                                     PERF_CAP_BIT_PERF_METRICS)),
          "capability without a model" },
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

/* As fast as any event can be, for all that is known of a new one. */
#define PACE_MOST   4

/* The event of counter @index, as PerfmonPace has it. */
static uint64_t pace_event(const Perfmon *pmu, unsigned index)
{
    return index < pmu->config.num_gp
           ? pmu->selected_evtsel[index]
           : 1ull << (63 - (index - pmu->config.num_gp));
}

/* The place for @event's pace; multiplicative hashing (Knuth). */
static unsigned pace_index(uint64_t event)
{
    return (event * 0x9e3779b97f4a7c15ull >> 32) % PERFMON_PACES;
}

/* Counter @index, which is @counter, gained @n. */
static void count_pace(Perfmon *pmu, const PmuLedgerSnapshot *now,
                       unsigned index, const PerfmonCounter *counter,
                       uint64_t n)
{
    uint64_t event = pace_event(pmu, index);
    PerfmonPace *pace = &pmu->pace[pace_index(event)];

    if (pace->event != event || !pace->most) {
        *pace = (PerfmonPace) { .event = event, .most = PACE_MOST };
    }
    pace->counted += n;
    for (int level = 0; level < PMU_LEVEL_NR; level++) {
        if (counter->level[level]) {
            pace->slots += now->item[level][PMU_ITEM_SLOTS] -
                           pmu->last.item[level][PMU_ITEM_SLOTS];
        }
    }
}

static void settle_counter(Perfmon *pmu, const PmuLedgerSnapshot *now,
                           unsigned index, PerfmonOverflow *overflow)
{
    PerfmonCounter counter = get_counter(pmu, index);
    uint64_t n;

    if (!counting(&counter)) {
        return;
    }
    n = gain(pmu, now, index, &counter);
    count_pace(pmu, now, index, &counter, n);
    if (n > PERFMON_COUNTER_MASK - counter.value) {
        note_overflow(overflow, counter.status, counter.interrupt);
    }
    *counter_value(pmu, index) = (counter.value + n) & PERFMON_COUNTER_MASK;
}

static void settle_metrics(Perfmon *pmu, const PmuLedgerSnapshot *now,
                           PerfmonOverflow *overflow)
{
    PerfmonCounter slots;

    if (!metrics_counting(pmu, &slots)) {
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

void perfmon_settle(Perfmon *pmu, const PmuLedgerSnapshot *now)
{
    PerfmonOverflow overflow = { 0 };

    for (unsigned i = 0; i < num_counters(pmu); i++) {
        settle_counter(pmu, now, i, &overflow);
    }
    settle_metrics(pmu, now, &overflow);

    pmu->global_status |= overflow.status;
    if (overflow.interrupt) {
        pmu->pmi = true;
        if (pmu->debugctl & PERF_DEBUGCTL_FREEZE_PERFMON_ON_PMI) {
            pmu->global_status |= PERF_GLOBAL_CTR_FRZ;
        }
    }
    pmu->last = *now;
}

uint64_t perfmon_metrics(const Perfmon *pmu)
{
    return pmu_metrics_read(pmu->metrics, pmu->config.num_metrics,
                            pmu->fixed[3]);
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

/* The kinds of items that PerfmonSlack tells apart. */
typedef enum ItemKind {
    KIND_INSTRUCTIONS,
    KIND_BRANCHES,
    KIND_CYCLES,
    KIND_SLOTS,
    KIND_OTHER,
} ItemKind;

static ItemKind item_kind(PmuLedgerItem item)
{
    switch (item) {
    case PMU_ITEM_INSTRUCTIONS:
        return KIND_INSTRUCTIONS;
    case PMU_ITEM_BRANCHES ... PMU_ITEM_BRANCHES_FAR:
        return KIND_BRANCHES;
    case PMU_ITEM_CYCLES:
        return KIND_CYCLES;
    case PMU_ITEM_SLOTS:
        return KIND_SLOTS;
    default:
        return (unsigned)item < PMU_SLOT_NR ? KIND_SLOTS : KIND_OTHER;
    }
}

/* The kind of a sum is that of its items, if all are of one kind. */
static ItemKind event_kind(const PmuSelection *event)
{
    ItemKind kind;

    if (event->capped || event->whole) {
        return KIND_OTHER;
    }
    kind = item_kind(event->term[0]);
    for (int i = 1; i < event->num_terms; i++) {
        if (item_kind(event->term[i]) != kind) {
            return KIND_OTHER;
        }
    }
    return kind;
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

    for (unsigned i = 0; i < num_counters(pmu); i++) {
        PerfmonCounter counter = get_counter(pmu, i);

        if (!counting(&counter)) {
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

/*
 * The items that @event adds up can each grow by @distance - 1 at most, all
 * together, before a counter that is @distance from its wrap wraps: by how
 * much each of them?  Leaf classes of slots together grow no faster than
 * SLOTS does, and PmuSelection.single says the like of others.
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

static void bound(uint64_t *slack, uint64_t distance)
{
    *slack = MIN(*slack, distance);
}

static void bound_instructions(PerfmonSlack *slack,
                               const PerfmonCounter *counter,
                               uint64_t distance)
{
    bound(&slack->instructions, distance);
    for (int level = 0; level < PMU_LEVEL_NR; level++) {
        if (counter->level[level]) {
            bound(&slack->instructions_level[level], distance);
        }
    }
}

/* When counter @index that is @distance from its end is there, in slots. */
static uint64_t expected_at(const Perfmon *pmu, unsigned index,
                            uint64_t distance)
{
    uint64_t event = pace_event(pmu, index);
    const PerfmonPace *pace = &pmu->pace[pace_index(event)];
    bool known = pace->event == event && pace->most;
    double slots = distance / (known ? pace->most : PACE_MOST);

    return MIN(slots, INT64_MAX);
}

static void bound_counter(const Perfmon *pmu, PerfmonSlack *slack,
                          const PerfmonCounter *counter, unsigned index)
{
    uint64_t value_distance = PERFMON_COUNTER_MASK + 1 - counter->value;
    uint64_t distance = item_distance(counter->event, value_distance);

    switch (event_kind(counter->event)) {
    case KIND_INSTRUCTIONS:
        bound_instructions(slack, counter, distance);
        break;
    case KIND_BRANCHES:
        bound(&slack->branches, distance);
        break;
    case KIND_CYCLES:
        bound(&slack->cycles, distance);
        break;
    case KIND_SLOTS:
        bound(&slack->slots, distance);
        break;
    case KIND_OTHER:
        bound(&slack->any, distance);
        bound(&slack->expected, expected_at(pmu, index, value_distance));
        break;
    }
}

/* It counts at some level, and an overflow would interrupt. */
static bool may_interrupt(const PerfmonCounter *counter)
{
    return counter->interrupt && counting(counter) &&
           (counter->level[PMU_LEVEL_OS] || counter->level[PMU_LEVEL_USR]);
}

void perfmon_slack(const Perfmon *pmu, PerfmonSlack *slack)
{
    PerfmonCounter slots;

    *slack = (PerfmonSlack) {
        .instructions = UINT64_MAX,
        .instructions_level = { UINT64_MAX, UINT64_MAX },
        .branches = UINT64_MAX,
        .cycles = UINT64_MAX,
        .slots = UINT64_MAX,
        .any = UINT64_MAX,
        .expected = UINT64_MAX,
    };
    for (unsigned i = 0; i < num_counters(pmu); i++) {
        PerfmonCounter counter = get_counter(pmu, i);

        if (may_interrupt(&counter)) {
            bound_counter(pmu, slack, &counter, i);
        }
    }
    if (!metrics_counting(pmu, &slots) || !may_interrupt(&slots)) {
        return;
    }
    for (unsigned i = 0; i < pmu->config.num_metrics; i++) {
        bound(&slack->slots,
              pmu_metrics_distance(pmu->metrics[i],
                                   pmu->config.metrics_width));
    }
}

/* In less than the first, much may be by chance; the second makes 1/e of it. */
#define PACE_LEAST_SLOTS    256
#define PACE_SLOTS          (1u << 20)
/* Nothing that counts is slower. */
#define PACE_LEAST          1e-9

void perfmon_note_pace(Perfmon *pmu)
{
    for (unsigned i = 0; i < PERFMON_PACES; i++) {
        PerfmonPace *pace = &pmu->pace[i];

        if (pace->slots >= PACE_LEAST_SLOTS) {
            double now = (double)pace->counted / pace->slots;
            double was = pace->most * PACE_SLOTS / (PACE_SLOTS + pace->slots);

            pace->most = MAX(MAX(now, was), PACE_LEAST);
            pace->slots = 0;
            pace->counted = 0;
        }
    }
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

    if (index >= num_counters(pmu)) {
        return false;
    }
    counter = get_counter(pmu, index);
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
