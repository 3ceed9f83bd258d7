/*
 * Registers of units that no modelled core has: other versions, fewer counters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The expected values are literal, from SDM vol. 3B, chapter 20.
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/perfmon/perfmon.h"
#include "tcg/pmu/uarch/uarch.h"

#define GLOBAL_CTRL     0x38f
#define STATUS          0x38e
#define STATUS_RESET    0x390

static const PerfmonConfig base = {
    .core = PMU_CORE_ICELAKE, .num_gp = 8, .num_fixed = 4, .pdcm = true,
    .capabilities = 0xa000, .num_metrics = 4, .metrics_width = 48,
};

typedef struct Unit {
    Perfmon pmu;
    PmuLedger ledger;
} Unit;

static void start(Unit *u, const PerfmonConfig *config)
{
    const char *why = NULL;

    pmu_ledger_init(&u->ledger, 5, 2, 3, 1, 28);
    if (!perfmon_init(&u->pmu, config, &why)) {
        g_error("refused: %s", why);
    }
}

static void write_ok(Unit *u, uint32_t msr, uint64_t value)
{
    g_assert_cmpint(perfmon_wrmsr_check(&u->pmu, msr, value), ==, PERFMON_OK);
    perfmon_wrmsr(&u->pmu, msr, value);
}

static uint64_t read_ok(const Unit *u, uint32_t msr)
{
    uint64_t value = 0;

    g_assert_cmpint(perfmon_rdmsr(&u->pmu, msr, &value), ==, PERFMON_OK);
    return value;
}

static void expect_gp(const Unit *u, uint32_t msr, uint64_t value)
{
    g_assert_cmpint(perfmon_wrmsr_check(&u->pmu, msr, value), ==, PERFMON_GP);
}

static void expect_absent(const Unit *u, uint32_t msr)
{
    uint64_t value;

    g_assert_cmpint(perfmon_rdmsr(&u->pmu, msr, &value), ==, PERFMON_GP);
    expect_gp(u, msr, 0);
}

/* Retire @n instructions at CPL 0. */
static void retire(Unit *u, uint64_t n)
{
    PmuLedgerSnapshot now;

    for (uint64_t i = 0; i < n; i++) {
        pmu_ledger_event(&u->ledger, PMU_ITEM_INSTRUCTIONS, 1);
    }
    pmu_ledger_snapshot(&u->ledger, &now);
    perfmon_update(&u->pmu, &now);
}

/* A counter of each width wraps at its width, and takes no more bits. */
static void test_width(void)
{
    for (unsigned width = 32; width <= 48; width++) {
        PerfmonConfig config = base;
        uint64_t mask = (1ull << width) - 1;
        PerfmonDistance distance;
        Unit u;

        config.counter_width = width;
        start(&u, &config);
        write_ok(&u, 0x4c1, mask - 9);
        expect_gp(&u, 0x4c1, mask + 1);
        expect_gp(&u, 0x309, mask + 1);
        write_ok(&u, 0x309, mask);
        write_ok(&u, 0xc2, 0x80000000);
        g_assert_cmphex(read_ok(&u, 0xc2), ==, mask & 0xffffffff80000000ull);
        write_ok(&u, 0x186, 0x5200c0);
        perfmon_distance_to_overflow(&u.pmu, &distance);
        g_assert_cmpuint(distance.instructions, ==, 10);
        retire(&u, 9);
        g_assert_cmphex(read_ok(&u, 0x4c1), ==, mask);
        g_assert_false(u.pmu.pmi);
        retire(&u, 1);
        g_assert_cmphex(read_ok(&u, 0x4c1), ==, 0);
        g_assert_cmphex(read_ok(&u, STATUS), ==, 1);
        g_assert_true(u.pmu.pmi);
    }
}

/*
 * Version 4 added IA32_PERF_GLOBAL_STATUS_SET and IA32_PERF_GLOBAL_INUSE, and
 * bit 59 of the status.
 */
static void test_versions(void)
{
    for (unsigned version = 2; version <= 5; version++) {
        PerfmonConfig config = base;
        Unit u;

        config.version = version;
        start(&u, &config);
        if (version < 4) {
            expect_absent(&u, 0x391);
            expect_absent(&u, 0x392);
            expect_gp(&u, STATUS_RESET, 1ull << 59);
        } else {
            write_ok(&u, 0x391, 1ull << 59);
            g_assert_cmphex(read_ok(&u, STATUS), ==, 1ull << 59);
            read_ok(&u, 0x392);
            write_ok(&u, STATUS_RESET, 1ull << 59);
        }
        write_ok(&u, STATUS_RESET, 0xff);
    }
}

/*
 * What an interrupt freezes: before version 4 IA32_PERF_GLOBAL_CTRL becomes 0,
 * from then on bit 59 of the status is set.
 */
static void test_freeze(void)
{
    for (unsigned version = 2; version <= 5; version++) {
        PerfmonConfig config = base;
        Unit u;

        config.version = version;
        start(&u, &config);
        write_ok(&u, 0x1d9, 1 << 12);
        write_ok(&u, 0x4c1, 0xfffffffffffeull);
        write_ok(&u, 0x186, 0x5200c0);
        retire(&u, 5);
        g_assert_cmphex(read_ok(&u, GLOBAL_CTRL), ==, version < 4 ? 0 : 0xff);
        g_assert_cmphex(read_ok(&u, STATUS), ==,
                        version < 4 ? 1 : 1 | 1ull << 59);
        retire(&u, 5);
        g_assert_cmphex(read_ok(&u, 0x4c1), ==, 3);
    }
}

static void check_anythread(const PerfmonConfig *config, bool any)
{
    Unit u;

    start(&u, config);
    write_ok(&u, 0x187, 0x6300c0);
    write_ok(&u, 0x38d, 0x7);
    g_assert_cmphex(read_ok(&u, 0x187), ==, any ? 0x6300c0 : 0x4300c0);
    g_assert_cmphex(read_ok(&u, 0x38d), ==, any ? 0x7 : 0x3);
    retire(&u, 5);
    g_assert_cmphex(read_ok(&u, 0x4c2), ==, 5);
}

/* AnyThread came with version 3, and version 5 by itself deprecates it. */
static void test_anythread(void)
{
    for (unsigned version = 2; version <= 5; version++) {
        PerfmonConfig config = base;

        config.version = version;
        check_anythread(&config, version == 3 || version == 4);
        config.anythread = PERFMON_ANYTHREAD_HELD;
        check_anythread(&config, version >= 3);
        config.anythread = PERFMON_ANYTHREAD_DEPRECATED;
        check_anythread(&config, false);
    }
}

/* With fewer counters, their bits and registers raise #GP. */
static void test_fewer(void)
{
    PerfmonConfig config = base;
    Unit u;

    config.num_gp = 2;
    config.num_fixed = 0;
    config.capabilities = 0;
    start(&u, &config);
    g_assert_cmphex(read_ok(&u, GLOBAL_CTRL), ==, 3);
    write_ok(&u, GLOBAL_CTRL, 3);
    expect_gp(&u, GLOBAL_CTRL, 4);
    expect_gp(&u, GLOBAL_CTRL, 1ull << 32);
    expect_gp(&u, 0x38d, 1);
    write_ok(&u, 0x38d, 0);
    expect_absent(&u, 0x309);
    expect_absent(&u, 0x188);
    expect_absent(&u, 0xc3);
    expect_absent(&u, 0x4c1);
    write_ok(&u, 0x187, 0x4300c0);
    retire(&u, 5);
    g_assert_cmphex(read_ok(&u, 0xc2), ==, 5);
}

/* A unit that RESET leaves stopped has IA32_PERF_GLOBAL_CTRL = 0. */
static void test_stopped(void)
{
    PerfmonConfig config = base;
    Unit u;

    config.stopped = true;
    start(&u, &config);
    g_assert_cmphex(read_ok(&u, GLOBAL_CTRL), ==, 0);
    write_ok(&u, GLOBAL_CTRL, 0xff);
    perfmon_reset(&u.pmu);
    g_assert_cmphex(read_ok(&u, GLOBAL_CTRL), ==, 0);
}

/*
 * RDPMC clears PERF_METRICS, and fixed counter 3 with it, if the unit can do so
 * and IA32_FIXED_CTR_CTRL[14] says so.
 */
static void test_metrics_clear(void)
{
    for (unsigned i = 0; i < 4; i++) {
        PerfmonConfig config = base;
        bool clears = i == 3;
        uint64_t value;
        Unit u;

        config.capabilities |= i & 1 ? 1 << 19 : 0;
        start(&u, &config);
        g_assert_cmphex(read_ok(&u, 0x345), ==, i & 1 ? 0x8a000 : 0xa000);
        write_ok(&u, 0x38d, i & 2 ? 0x4000 : 0);
        g_assert_cmphex(read_ok(&u, 0x38d), ==, clears ? 0x4000 : 0);
        write_ok(&u, 0x30c, 1000);
        write_ok(&u, 0x329, 0x40302010);
        g_assert_false(perfmon_rdpmc_done(&u.pmu, 0x40000003));
        g_assert_cmpint(perfmon_rdpmc(&u.pmu, 0x20000000, &value), ==,
                        PERFMON_OK);
        g_assert_cmphex(value, ==, 0x40302010);
        g_assert_cmpint(perfmon_rdpmc_done(&u.pmu, 0x20000000), ==, clears);
        g_assert_cmphex(read_ok(&u, 0x329), ==, clears ? 0 : 0x40302010);
        g_assert_cmphex(read_ok(&u, 0x30c), ==, clears ? 0 : 1000);
    }
}

/*
 * perfmon_init() refuses versions, widths and capabilities that do not exist.
 */
static void test_refused(void)
{
    PerfmonConfig cases[6];
    const char *why;
    Perfmon pmu;

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        cases[i] = base;
    }
    cases[0].version = 1;
    cases[1].version = 6;
    cases[2].counter_width = 31;
    cases[3].counter_width = 49;
    cases[4].num_fixed = 0;
    cases[5].capabilities = 1 << 19;
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_false(perfmon_init(&pmu, &cases[i], &why));
        g_assert_nonnull(why);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/what-if/width", test_width);
    g_test_add_func("/what-if/versions", test_versions);
    g_test_add_func("/what-if/freeze", test_freeze);
    g_test_add_func("/what-if/anythread", test_anythread);
    g_test_add_func("/what-if/fewer", test_fewer);
    g_test_add_func("/what-if/stopped", test_stopped);
    g_test_add_func("/what-if/metrics-clear", test_metrics_clear);
    g_test_add_func("/what-if/refused", test_refused);
    return g_test_run();
}
