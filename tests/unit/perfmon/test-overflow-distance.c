/*
 * What the register file tells the code that runs the guest: how far it may run
 * before it must look at the counters, and what has to be counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <inttypes.h>

#include "tcg/pmu/perfmon/perfmon.h"
#include <glib.h>

static const PerfmonConfig config = {
    .core = PMU_CORE_SAPPHIRERAPIDS, .num_gp = 8, .num_fixed = 4,
    .pdcm = true, .capabilities = 0xa000, .num_metrics = 8,
    .metrics_width = 48,
};

static Perfmon *new_unit(unsigned metrics_width)
{
    PerfmonConfig this_config = config;
    Perfmon *pmu = g_new0(Perfmon, 1);
    const char *why;

    this_config.metrics_width = metrics_width;
    g_assert_true(perfmon_init(pmu, &this_config, &why));
    return pmu;
}

static void write_msr(Perfmon *pmu, uint32_t msr, uint64_t value)
{
    g_assert_cmpint(perfmon_wrmsr_check(pmu, msr, value), ==, PERFMON_OK);
    perfmon_wrmsr(pmu, msr, value);
}

static PerfmonDistance slack_of(const Perfmon *pmu)
{
    PerfmonDistance slack;

    perfmon_distance_to_overflow(pmu, &slack);
    return slack;
}

/* Returns the distance that bounds counters of @item alone. */
static uint64_t figure(const PerfmonDistance *slack, PmuLedgerItem item)
{
    switch (item) {
    case PMU_ITEM_INSTRUCTIONS:
        return slack->instructions;
    case PMU_ITEM_BRANCHES ... PMU_ITEM_BRANCHES_FAR:
        return slack->branches;
    case PMU_ITEM_INTERRUPTS:
    case PMU_ITEM_EXCEPTIONS:
        return slack->deliveries;
    case PMU_ITEM_CYCLES:
        return slack->cycles;
    case PMU_ITEM_SLOTS:
        return slack->slots;
    default:
        return (unsigned)item < PMU_SLOT_NR ? slack->slots : slack->any;
    }
}

/* Returns the smallest of all distances. */
static uint64_t smallest(const PerfmonDistance *slack)
{
    uint64_t exact = MIN(MIN(slack->instructions, slack->branches),
                         MIN(slack->instructions_level[0],
                             slack->instructions_level[1]));

    return MIN(MIN(exact, slack->deliveries),
               MIN(slack->any, MIN(slack->cycles, slack->slots)));
}

/* Set a counter to overflow after @distance, with @control in its selector. */
static void set_counter(Perfmon *pmu, unsigned index, uint32_t event,
                        uint64_t control, uint64_t distance)
{
    write_msr(pmu, 0x4c1 + index, (1ull << 48) - distance);
    write_msr(pmu, 0x186 + index, control | event);
}

#define USR (1ull << 16)
#define OS  (1ull << 17)
#define INT (1ull << 20)
#define EN  (1ull << 22)

/* A row of the event table, and how it is selected. */
typedef struct Case {
    const PmuEvent *row;
    PmuSelection selection;
    unsigned counter;
} Case;

static uint32_t select_row(const Case *this)
{
    const PmuEventPlace *place = &this->row->on[config.core];

    return place->modifiers | place->umask << 8 | place->code;
}

static void set_row(Perfmon *pmu, const Case *this, uint64_t distance)
{
    static const uint32_t msr[PMU_EXTRA_NR] = {
        [PMU_EXTRA_LD_LAT] = 0x3f6, [PMU_EXTRA_FRONTEND] = 0x3f7,
    };

    if (this->row->extra) {
        write_msr(pmu, msr[this->row->extra], this->row->extra_value);
    }
    set_counter(pmu, this->counter, select_row(this), EN | INT | OS | USR,
                distance);
}

/* Items that grow at once: of slots and of kinds of cycles one, else all. */
static unsigned growing_terms(const Case *this)
{
    return this->selection.term[0] < PMU_SLOT_NR || this->selection.single
           ? 1 : this->selection.num_terms;
}

static void grow(PmuLedgerSnapshot *now, const Case *this, int term,
                 uint64_t n)
{
    uint64_t *item = now->item[PMU_LEVEL_USR];

    if (this->selection.minuend) {
        item[this->selection.minuend] += n;
        return;
    }
    if (this->selection.capped) {
        item[PMU_ITEM_CYCLES] += n * growing_terms(this);
    }
    for (unsigned i = 0; i < growing_terms(this); i++) {
        item[this->selection.term[term + i]] += n;
    }
}

/*
 * The items of @this from @term on grow as far as they can without an
 * interrupt; one more brings it.
 */
static void check_term(const Case *this, int term, uint64_t distance)
{
    g_autofree Perfmon *pmu = new_unit(48);
    uint64_t expected = (distance - 1) / growing_terms(this) + 1;
    /* Counts that are capped at cycles, or less than a whole, can jump. */
    bool other = this->selection.capped || this->selection.minuend;
    PmuLedgerItem item = other ? PMU_ITEM_NR : this->selection.term[term];
    PmuLedgerSnapshot now = { 0 };
    PerfmonDistance slack;

    set_row(pmu, this, distance);
    slack = slack_of(pmu);
    if (figure(&slack, item) != expected || smallest(&slack) != expected) {
        g_error("%s: expected a slack of %" PRIu64 ", got %" PRIu64,
                this->row->name, expected, figure(&slack, item));
    }
    grow(&now, this, term, expected - 1);
    perfmon_update(pmu, &now);
    g_assert_false(pmu->pmi);
    slack = slack_of(pmu);
    g_assert_cmpuint(figure(&slack, item), ==, 1);
    grow(&now, this, term, 1);
    perfmon_update(pmu, &now);
    g_assert_true(pmu->pmi);
    g_assert_cmphex(pmu->global_status, ==, 1 << this->counter);
}

static void check_exact(const Case *this, uint64_t distance)
{
    for (int term = 0; term < this->selection.num_terms;
         term += growing_terms(this)) {
        check_term(this, term, distance);
    }
}

static Case select_case(const PmuEvent *row)
{
    Case this = { .row = row };
    uint64_t extra[PMU_EXTRA_NR] = { 0 };

    extra[row->extra] = row->extra_value;
    this.counter = g_bit_nth_lsf(row->on[config.core].counters, -1);
    pmu_event_select(&this.selection, config.core, this.counter,
                     select_row(&this), extra);
    return this;
}

/* The distance is exact for each event: one less brings no interrupt. */
static void test_exact_distance(void)
{
    static const uint64_t distances[] = {
        1, 2, 3, 1000, 1ull << 31, 1ull << 47, (1ull << 48) - 1, 1ull << 48,
    };
    const PmuEvent *row;

    for (int i = 0; (row = pmu_event_row(i)); i++) {
        Case this;

        if (!row->on[config.core].counters) {
            continue;
        }
        this = select_case(row);
        for (unsigned j = 0; j < G_N_ELEMENTS(distances); j++) {
            check_exact(&this, distances[j]);
        }
    }
}

/*
 * Counters of interrupts and exceptions alone bound nothing else, and need no
 * model.
 */
static void test_deliveries(void)
{
    const PerfmonConfig sapphire = {
        .core = PMU_CORE_SAPPHIRERAPIDS, .num_gp = 8, .num_fixed = 4,
        .num_metrics = 8, .version = 5, .counter_width = 48,
    };
    g_autofree Perfmon *pmu = g_new0(Perfmon, 1);
    PmuLedgerSnapshot now = { 0 };
    PerfmonDistance slack;
    const char *why = NULL;

    g_assert_true(perfmon_init(pmu, &sapphire, &why));
    write_msr(pmu, 0x38f, 1);
    write_msr(pmu, 0xc1, -2ll);
    write_msr(pmu, 0x186, EN | INT | OS | USR | 0x01cb);
    g_assert_false(perfmon_demand(pmu).timing);
    slack = slack_of(pmu);
    g_assert_cmpuint(slack.deliveries, ==, 2);
    slack.deliveries = UINT64_MAX;
    g_assert_cmpuint(smallest(&slack), ==, UINT64_MAX);
    now.item[PMU_LEVEL_USR][PMU_ITEM_INTERRUPTS] = 1;
    perfmon_update(pmu, &now);
    g_assert_false(pmu->pmi);
    now.item[PMU_LEVEL_OS][PMU_ITEM_INTERRUPTS] = 1;
    perfmon_update(pmu, &now);
    g_assert_true(pmu->pmi);
    write_msr(pmu, 0x186, EN | INT | OS | USR | 0xc4);
    slack = slack_of(pmu);
    g_assert_cmpuint(slack.deliveries, ==, UINT64_MAX);
}

/* A counter bounds the distances of the levels at which it counts. */
static void test_levels(void)
{
    g_autofree Perfmon *pmu = new_unit(48);
    PerfmonDistance slack;

    set_counter(pmu, 0, 0xc0, EN | INT | OS, 500);
    set_counter(pmu, 1, 0xc0, EN | INT | USR, 300);
    slack = slack_of(pmu);
    g_assert_cmpuint(slack.instructions, ==, 300);
    g_assert_cmpuint(slack.instructions_level[PMU_LEVEL_OS], ==, 500);
    g_assert_cmpuint(slack.instructions_level[PMU_LEVEL_USR], ==, 300);
    g_assert_cmpuint(slack.branches, ==, UINT64_MAX);
    g_assert_cmpuint(slack.any, ==, UINT64_MAX);

    set_counter(pmu, 2, 0xc0, EN | INT | OS | USR, 400);
    slack = slack_of(pmu);
    g_assert_cmpuint(slack.instructions, ==, 300);
    g_assert_cmpuint(slack.instructions_level[PMU_LEVEL_OS], ==, 400);
    g_assert_cmpuint(slack.instructions_level[PMU_LEVEL_USR], ==, 300);
}

/* Counters that cannot interrupt bound nothing. */
static void test_no_bound(void)
{
    static const uint64_t controls[] = {
        EN | OS | USR,          /* no interrupt */
        INT | OS | USR,         /* not enabled */
        EN | INT,               /* no level */
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(controls); i++) {
        g_autofree Perfmon *pmu = new_unit(48);
        PerfmonDistance slack;

        set_counter(pmu, 0, 0xc0, controls[i], 10);
        slack = slack_of(pmu);
        g_assert_cmpuint(smallest(&slack), ==, UINT64_MAX);
    }
}

/*
 * Counters that are stopped, by IA32_PERF_GLOBAL_CTRL or a freeze, bound
 * nothing.
 */
static void test_no_bound_when_stopped(void)
{
    g_autofree Perfmon *pmu = new_unit(48);
    PerfmonDistance slack;

    set_counter(pmu, 0, 0xc0, EN | INT | OS, 10);
    write_msr(pmu, 0x38f, 0xfe);
    slack = slack_of(pmu);
    g_assert_cmpuint(smallest(&slack), ==, UINT64_MAX);
    write_msr(pmu, 0x38f, 0x01);
    slack = slack_of(pmu);
    g_assert_cmpuint(smallest(&slack), ==, 10);
    /* frozen */
    write_msr(pmu, 0x391, 1ull << 59);
    slack = slack_of(pmu);
    g_assert_cmpuint(smallest(&slack), ==, UINT64_MAX);
}

/* The hidden counter that overflows first bounds the slots, to the slot. */
static void test_metrics_bound(void)
{
    g_autofree Perfmon *pmu = new_unit(16);
    PmuLedgerSnapshot now = { 0 };
    uint64_t *slots = now.item[PMU_LEVEL_OS];
    PerfmonDistance slack;

    write_msr(pmu, 0x38d, 0x9000);
    write_msr(pmu, 0x38f, 1ull << 48 | 1ull << 35);
    slack = slack_of(pmu);
    /* 2^24 / 255, rounded up */
    g_assert_cmpuint(slack.slots, ==, 65794);

    slots[PMU_SLOT_CORE_BOUND] += 65793;
    slots[PMU_ITEM_SLOTS] += 65793;
    perfmon_update(pmu, &now);
    g_assert_false(pmu->pmi);
    g_assert_cmphex(pmu->global_status, ==, 0);
    slack = slack_of(pmu);
    g_assert_cmpuint(slack.slots, ==, 1);
    slots[PMU_SLOT_CORE_BOUND] += 1;
    slots[PMU_ITEM_SLOTS] += 1;
    perfmon_update(pmu, &now);
    g_assert_true(pmu->pmi);
    g_assert_cmphex(pmu->global_status, ==, 1ull << 48);
}

/* With the metrics on, a sampling period of slots bounds, not the metrics. */
static void test_slots_period(void)
{
    g_autofree Perfmon *pmu = new_unit(48);
    PerfmonDistance slack;

    write_msr(pmu, 0x30c, (1ull << 48) - 2000003);
    write_msr(pmu, 0x38d, 0xb000);
    write_msr(pmu, 0x38f, 1ull << 48 | 1ull << 35);
    slack = slack_of(pmu);
    g_assert_cmpuint(slack.slots, ==, 2000003);
    g_assert_cmpuint(slack.instructions, ==, UINT64_MAX);
}

/*
 * When an interrupt is expected: at the highest rate of the event in the recent
 * past.  As long as that is unknown, at the highest rate there can be.
 */

#define LLC_MISS 0x412e

static void pass_slots(Perfmon *pmu, PmuLedgerSnapshot *now, uint64_t slots,
                       uint64_t misses)
{
    now->item[PMU_LEVEL_USR][PMU_ITEM_SLOTS] += slots;
    now->item[PMU_LEVEL_USR][PMU_ITEM_DATA_DRAM] += misses;
    perfmon_update(pmu, now);
    perfmon_event_rates_update(pmu->rates);
}

static void assert_expected(const Perfmon *pmu, double slots)
{
    double expected = slack_of(pmu).expected;

    g_assert_cmpfloat(expected, >=, 0.9 * slots);
    g_assert_cmpfloat(expected, <=, 1.1 * slots);
}

/*
 * The expected distance, to 10 %, is what is left of the period over the rate.
 */
static void test_expected(void)
{
    g_autofree Perfmon *pmu = new_unit(48);
    PmuLedgerSnapshot now = { 0 };
    PerfmonEventRates rates = {};

    pmu->rates = &rates;
    set_counter(pmu, 0, LLC_MISS, EN | INT | USR, 1000000);
    assert_expected(pmu, 1000000 / 4);
    for (int i = 0; i < 1000; i++) {
        pass_slots(pmu, &now, 100000, 100);
    }
    assert_expected(pmu, 900000 / 0.001);
    /* The counter cannot count in slots of another level. */
    now.item[PMU_LEVEL_OS][PMU_ITEM_SLOTS] += 1ull << 40;
    pass_slots(pmu, &now, 100000, 100);
    assert_expected(pmu, 900000 / 0.001);
    /* An event that was fast once may be so again. */
    pass_slots(pmu, &now, 1000, 500);
    assert_expected(pmu, 900000 / 0.5);
    pass_slots(pmu, &now, 10000, 0);
    assert_expected(pmu, 900000 / 0.5);
    /* Another event has a rate of its own, and this one keeps its rate. */
    set_counter(pmu, 0, 0xc5, EN | INT | USR, 1000000);
    assert_expected(pmu, 1000000 / 4);
    set_counter(pmu, 0, LLC_MISS, EN | INT | USR, 1000000);
    assert_expected(pmu, 1000000 / 0.5);
}

/* Demand. */

static void check_demand(const Perfmon *pmu, bool os, bool usr, bool timing)
{
    PerfmonDemand demand = perfmon_demand(pmu);

    g_assert_cmpint(demand.level[PMU_LEVEL_OS], ==, os);
    g_assert_cmpint(demand.level[PMU_LEVEL_USR], ==, usr);
    g_assert_cmpint(demand.timing, ==, timing);
}

/*
 * The levels that count, and whether the timing model is needed: instructions
 * and branches can be counted without it, most others cannot.  Events that are
 * always zero need nothing.
 */
static void test_demand(void)
{
    g_autofree Perfmon *pmu = new_unit(48);

    check_demand(pmu, false, false, false);
    write_msr(pmu, 0x186, EN | OS | 0xc0);
    check_demand(pmu, true, false, false);
    write_msr(pmu, 0x187, EN | USR | 0xc4);
    check_demand(pmu, true, true, false);
    write_msr(pmu, 0x186, 0);
    check_demand(pmu, false, true, false);
    write_msr(pmu, 0x187, EN | OS | 0xc5);
    check_demand(pmu, true, false, true);
    write_msr(pmu, 0x187, EN | OS | 0x11c4);    /* BR_INST_RETIRED.COND */
    check_demand(pmu, true, false, false);
    write_msr(pmu, 0x187, EN | OS | 0x1c4);     /* ... COND_TAKEN */
    check_demand(pmu, true, false, true);
    write_msr(pmu, 0x187, EN | OS | 0x10c4);    /* ... COND_NTAKEN */
    check_demand(pmu, true, false, true);
    write_msr(pmu, 0x187, EN | OS | 1 << 24 | 0x11c4);  /* cycles with any */
    check_demand(pmu, true, false, true);
    write_msr(pmu, 0x187, EN | 0x3c);           /* no level */
    check_demand(pmu, false, false, false);
    write_msr(pmu, 0x187, EN | OS | USR | 0x1ff);       /* not modelled */
    check_demand(pmu, false, false, false);
    write_msr(pmu, 0x187, EN | OS | USR | 0x10ad);      /* always zero */
    check_demand(pmu, false, false, false);
}

/* What counters need to know besides slots and instructions. */
static void check_interest(const Perfmon *pmu, bool sampled, bool observed)
{
    PerfmonDemand demand = perfmon_demand(pmu);

    g_assert_cmpint(demand.interest.sampled != 0, ==, sampled);
    g_assert_cmpint(demand.interest.observed, ==, observed);
}

/*
 * Mispredictions and cache events need observation; INT_MISC.CLEARS_COUNT and
 * BR_MISP_RETIRED need sampled counts.
 */
static void test_interest(void)
{
    g_autofree Perfmon *pmu = new_unit(48);

    write_msr(pmu, 0x38f, 0x0001000f000000ffull);
    write_msr(pmu, 0x38d, 0x3333);
    check_interest(pmu, false, false);
    write_msr(pmu, 0x186, EN | USR | 0x20c4);   /* BR_INST_RETIRED.NEAR_TAKEN */
    check_interest(pmu, false, false);
    write_msr(pmu, 0x187, EN | USR | 1 << 24 | 1 << 18 | 0x1ad);
    check_interest(pmu, true, false);           /* INT_MISC.CLEARS_COUNT */
    write_msr(pmu, 0x187, EN | USR | 0xc5);     /* BR_MISP_RETIRED */
    check_interest(pmu, true, true);
    write_msr(pmu, 0x187, EN | USR | 0x8d1);    /* MEM_LOAD_RETIRED.L1_MISS */
    check_interest(pmu, false, true);
    write_msr(pmu, 0x187, 0);
    check_interest(pmu, false, false);
}

/* Fixed counter 0 counts without the timing model, the others need it. */
static void test_demand_fixed(void)
{
    static const bool timing[] = { false, true, true, true };

    for (int i = 0; i < 4; i++) {
        g_autofree Perfmon *pmu = new_unit(48);

        write_msr(pmu, 0x38d, 2ull << (4 * i));
        check_demand(pmu, false, false, false);
        write_msr(pmu, 0x38f, 1ull << (32 + i));
        check_demand(pmu, false, true, timing[i]);
        write_msr(pmu, 0x38d, 8ull << (4 * i));         /* PMI alone */
        check_demand(pmu, false, false, false);
    }
    /* The metrics count nothing without slots. */
    {
        g_autofree Perfmon *pmu = new_unit(48);

        write_msr(pmu, 0x38d, 0xb000);
        write_msr(pmu, 0x38f, 1ull << 48);
        check_demand(pmu, false, false, false);
    }
}

/* A freeze takes effect with the overflow that asked for the interrupt. */
static void test_freeze(void)
{
    g_autofree Perfmon *pmu = new_unit(48);
    PmuLedgerSnapshot now = { 0 };
    uint64_t *instructions = &now.item[PMU_LEVEL_OS][PMU_ITEM_INSTRUCTIONS];
    uint64_t value;

    write_msr(pmu, 0x1d9, 1 << 12);
    set_counter(pmu, 0, 0xc0, EN | OS, 10);            /* no interrupt */
    set_counter(pmu, 1, 0xc0, EN | OS | INT, 20);
    *instructions += 10;
    perfmon_update(pmu, &now);
    g_assert_cmphex(pmu->global_status, ==, 1 << 0);
    *instructions += 10;
    perfmon_update(pmu, &now);
    g_assert_cmphex(pmu->global_status, ==, 1ull << 59 | 3);
    check_demand(pmu, false, false, false);

    *instructions += 1000;
    perfmon_update(pmu, &now);
    perfmon_rdpmc(pmu, 0, &value);
    g_assert_cmpuint(value, ==, 10);

    /* Clearing the overflow does not end the freeze; clearing bit 59 does. */
    write_msr(pmu, 0x390, 3);
    check_demand(pmu, false, false, false);
    write_msr(pmu, 0x390, 1ull << 59);
    check_demand(pmu, true, false, false);
    *instructions += 5;
    perfmon_update(pmu, &now);
    perfmon_rdpmc(pmu, 0, &value);
    g_assert_cmpuint(value, ==, 15);
}

/* The monitor shows a counter's event, value, state and controls. */
static void test_view(void)
{
    g_autofree Perfmon *pmu = new_unit(48);
    PerfmonView view;

    write_msr(pmu, 0x187, EN | INT | USR | 0x00c4);
    write_msr(pmu, 0x4c2, 42);
    write_msr(pmu, 0x188, 0x01ff);
    write_msr(pmu, 0x38d, 0x1000);

    g_assert_true(perfmon_view(pmu, 1, &view));
    g_assert_cmpstr(view.counter, ==, "IA32_PMC");
    g_assert_cmpstr(view.event, ==, "BR_INST_RETIRED.ALL_BRANCHES");
    g_assert_cmpuint(view.value, ==, 42);
    g_assert_cmpint(view.state, ==, PMU_EVENT_EXACT);
    g_assert_true(view.enabled && view.usr && view.interrupt && !view.os);

    g_assert_true(perfmon_view(pmu, 2, &view));
    g_assert_null(view.event);
    g_assert_cmpint(view.state, ==, PMU_EVENT_UNKNOWN);
    g_assert_false(view.enabled);

    g_assert_true(perfmon_view(pmu, 11, &view));
    g_assert_cmpstr(view.counter, ==, "IA32_FIXED_CTR");
    g_assert_cmpstr(view.event, ==, "TOPDOWN.SLOTS");
    g_assert_true(view.os && !view.enabled);
    g_assert_false(perfmon_view(pmu, 12, &view));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/overflow-distance/exact-distance", test_exact_distance);
    g_test_add_func("/overflow-distance/deliveries", test_deliveries);
    g_test_add_func("/overflow-distance/levels", test_levels);
    g_test_add_func("/overflow-distance/no-bound", test_no_bound);
    g_test_add_func("/overflow-distance/no-bound-when-stopped",
                    test_no_bound_when_stopped);
    g_test_add_func("/overflow-distance/metrics-bound", test_metrics_bound);
    g_test_add_func("/overflow-distance/slots-period", test_slots_period);
    g_test_add_func("/overflow-distance/expected", test_expected);
    g_test_add_func("/overflow-distance/demand", test_demand);
    g_test_add_func("/overflow-distance/demand-fixed", test_demand_fixed);
    g_test_add_func("/overflow-distance/interest", test_interest);
    g_test_add_func("/overflow-distance/freeze", test_freeze);
    g_test_add_func("/overflow-distance/view", test_view);
    return g_test_run();
}
