/*
 * PMUs that a fuzzer configures, and what it does to them: a guest's accesses
 * to registers, and time that passes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "registers.h"

/* Bits that no counter has: none is wider than 48 bits. */
#define BEYOND_COUNTER  (~0ull << 48)

/* Configurations of the older cores. */
static const PerfmonConfig older[] = {
    { .core = PMU_CORE_P6, .map = PERFMON_MAP_P6, .num_gp = 2 },
    { .core = PMU_CORE_P5, .map = PERFMON_MAP_P5, .num_gp = 2 },
    { .core = PMU_CORE_C3, .map = PERFMON_MAP_C3, .num_gp = 1 },
    { .core = PMU_CORE_K7, .map = PERFMON_MAP_AMD, .num_gp = 4 },
    { .core = PMU_CORE_ZEN, .map = PERFMON_MAP_AMD, .num_gp = 6,
      .version = 2 },
    { .core = PMU_CORE_NETBURST, .map = PERFMON_MAP_NETBURST, .num_gp = 18 },
    { .core = PMU_CORE_NETBURST, .map = PERFMON_MAP_NETBURST, .num_gp = 18,
      .iq_escrs = true },
    { .core = PMU_CORE_CORE, .num_gp = 2, .version = 1, .counter_width = 40 },
};

static void make_older_unit(FuzzInput *in, Perfmon *pmu)
{
    const PerfmonConfig *config = &older[fuzz_below(in, G_N_ELEMENTS(older))];
    const char *why = NULL;

    if (!perfmon_init(pmu, config, &why)) {
        g_error("a unit that there is was refused: %s", why);
    }
}

static void make_architectural_unit(FuzzInput *in, Perfmon *pmu)
{
    bool large = fuzz_one_in(in, 2);
    bool metrics = fuzz_one_in(in, 2);
    PerfmonConfig config = {
        .core = large ? PMU_CORE_SAPPHIRERAPIDS : PMU_CORE_ICELAKE,
        .num_gp = fuzz_one_in(in, 4) ? 1 + fuzz_below(in, 8) : 8,
        .num_fixed = metrics ? 4 : 3 + fuzz_below(in, 2),
        .capabilities = PERF_CAP_BIT_FW_WRITE |
                        (metrics ? PERF_CAP_BIT_PERF_METRICS : 0),
        .pdcm = true,
        .num_metrics = large ? 8 : 4,
        .metrics_width = 8 + fuzz_below(in, 41),
        .version = 2 + fuzz_below(in, 4),
        .counter_width = fuzz_one_in(in, 2) ? 48 : 32 + fuzz_below(in, 17),
        .anythread = fuzz_below(in, 3),
        .stopped = fuzz_one_in(in, 4),
    };
    const char *why = NULL;

    if (!perfmon_init(pmu, &config, &why)) {
        g_error("a unit that is in range was refused: %s", why);
    }
}

void fuzz_make_unit(FuzzInput *in, Perfmon *pmu)
{
    if (fuzz_one_in(in, 2)) {
        make_older_unit(in, pmu);
    } else {
        make_architectural_unit(in, pmu);
    }
}

uint32_t fuzz_msr(FuzzInput *in, const Perfmon *pmu)
{
    PerfmonMsrRange row;
    unsigned rows = 0;

    if (fuzz_one_in(in, 16)) {
        return fuzz_bytes(in, 2);
    }
    while (perfmon_map_row(pmu->map, rows, &row)) {
        rows++;
    }
    perfmon_map_row(pmu->map, fuzz_below(in, rows), &row);
    return row.first + fuzz_below(in, row.count + 1) * row.step;
}

/* Returns a value for IA32_PERFEVTSELx, with any event and modifiers. */
static uint64_t any_selector(FuzzInput *in)
{
    return fuzz_bytes(in, fuzz_one_in(in, 4) ? 5 : 2) |
           (uint64_t)fuzz_below(in, 8) << 16 | PERF_EVTSEL_EN;
}

uint64_t fuzz_value(FuzzInput *in)
{
    switch (fuzz_below(in, 5)) {
    case 0:
        return any_selector(in);
    case 4:
        /* A CCCR or an ESCR; about half of them have an event. */
        return fuzz_bytes(in, 4);
    case 1:
        return ~BEYOND_COUNTER - fuzz_bytes(in, 3);
    case 2:
        return 0x1000f000000ffull;
    default:
        return fuzz_number(in);
    }
}

static void write_register(FuzzInput *in, Perfmon *pmu)
{
    uint32_t msr = fuzz_msr(in, pmu);
    uint64_t value = fuzz_value(in), back;

    if (perfmon_wrmsr_check(pmu, msr, value) != PERFMON_OK) {
        return;
    }
    perfmon_wrmsr(pmu, msr, value);
    if (pmu->config.map == PERFMON_MAP_ARCHITECTURAL &&
        perfmon_rdmsr(pmu, msr, &back) == PERFMON_OK &&
        msr >= MSR_PMU_IA32_PERFEVTSEL0 &&
        msr < MSR_PMU_IA32_PERFEVTSEL0 + pmu->config.num_gp) {
        g_assert_cmphex(back & ~PERF_EVTSEL_ANYTHREAD, ==,
                        value & ~PERF_EVTSEL_ANYTHREAD);
    }
}

static void read_register(FuzzInput *in, Perfmon *pmu)
{
    uint64_t value = 0;

    if (fuzz_one_in(in, 2)) {
        uint32_t ecx = fuzz_below(in, 12) | (uint32_t)fuzz_byte(in) << 24;

        if (perfmon_rdpmc(pmu, ecx, &value) == PERFMON_OK &&
            ecx >> 24 != 0x20) {
            g_assert_cmphex(value & BEYOND_COUNTER, ==, 0);
        }
    } else {
        perfmon_rdmsr(pmu, fuzz_msr(in, pmu), &value);
    }
}

/* Growth of the items that a counter of each kind can count. */
typedef struct Growth {
    uint64_t instructions, branches, cycles, slots, any;
} Growth;

static Growth growth_between(const PmuLedgerSnapshot *from,
                             const PmuLedgerSnapshot *to)
{
    Growth growth = {};

    for (unsigned i = 0; i < PMU_ITEM_NR; i++) {
        uint64_t n = 0;

        for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
            n += to->item[level][i] - from->item[level][i];
        }
        growth.any = MAX(growth.any, n);
        if (i == PMU_ITEM_CYCLES) {
            growth.cycles = n;
        } else if (i == PMU_ITEM_SLOTS) {
            growth.slots = n;
        } else if (i == PMU_ITEM_INSTRUCTIONS) {
            growth.instructions = n;
        } else if (i >= PMU_ITEM_BRANCHES && i <= PMU_ITEM_BRANCHES_FAR) {
            growth.branches = MAX(growth.branches, n);
        }
    }
    return growth;
}

static void grow(FuzzInput *in, PmuLedger *ledger)
{
    unsigned items = fuzz_below(in, 8);

    ledger->level = fuzz_below(in, PMU_LEVEL_NR);
    pmu_ledger_slots(ledger, ledger->level, fuzz_below(in, PMU_SLOT_NR),
                     fuzz_number(in) & ((1ull << 40) - 1));
    for (; items; items--) {
        unsigned item = PMU_ITEM_INSTRUCTIONS +
                        fuzz_below(in, PMU_ITEM_NR - PMU_ITEM_INSTRUCTIONS);

        pmu_ledger_event(ledger, item,
                         fuzz_number(in) & ((1ull << 40) - 1));
    }
}

/*
 * Let time pass.  Checks that no counter interrupts before the distance to
 * overflow is used up.
 */
static void pass_time(FuzzInput *in, Perfmon *pmu, PmuLedger *ledger)
{
    PmuLedgerSnapshot before, now;
    PerfmonDistance slack;
    Growth growth;

    pmu_ledger_snapshot(ledger, &before);
    perfmon_update(pmu, &before);
    pmu->pmi = false;
    perfmon_distance_to_overflow(pmu, &slack);
    grow(in, ledger);
    pmu_ledger_snapshot(ledger, &now);
    growth = growth_between(&before, &now);
    perfmon_update(pmu, &now);
    g_assert_true(!pmu->pmi || growth.any >= slack.any ||
                  growth.cycles >= slack.cycles ||
                  growth.slots >= slack.slots ||
                  growth.branches >= slack.branches ||
                  growth.instructions >= slack.instructions);
}

static void look(Perfmon *pmu)
{
    PerfmonDemand demand = perfmon_demand(pmu);
    PerfmonDistance slack;
    PerfmonView view;

    perfmon_event_rates_update(pmu->rates);
    perfmon_distance_to_overflow(pmu, &slack);
    g_assert_cmpuint(slack.any, >=, 1);
    g_assert_cmpuint(slack.cycles, >=, 1);
    g_assert_cmpuint(slack.slots, >=, 1);
    g_assert_cmpuint(slack.branches, >=, 1);
    g_assert_cmpuint(slack.instructions, >=, 1);
    g_assert_true(!demand.timing || demand.level[PMU_LEVEL_OS] ||
                  demand.level[PMU_LEVEL_USR]);
    for (unsigned i = 0; perfmon_view(pmu, i, &view); i++) {
        g_assert_nonnull(view.counter);
        g_assert_cmphex(view.value & BEYOND_COUNTER, ==, 0);
    }
}

void fuzz_use_unit(FuzzInput *in, Perfmon *pmu, PmuLedger *ledger)
{
    PerfmonEventRates rates = {};
    PmuLedgerSnapshot now;

    pmu->rates = &rates;
    while (fuzz_more(in)) {
        switch (fuzz_below(in, 8)) {
        case 0:
        case 1:
            pass_time(in, pmu, ledger);
            break;
        case 2:
            read_register(in, pmu);
            break;
        case 3:
            look(pmu);
            break;
        case 4:
            if (fuzz_one_in(in, 8)) {
                perfmon_reset(pmu);
            }
            break;
        default:
            pmu_ledger_snapshot(ledger, &now);
            perfmon_update(pmu, &now);
            write_register(in, pmu);
        }
    }
    pmu->rates = NULL;
}
