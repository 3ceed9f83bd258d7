/*
 * Register maps that are not architectural: P5, P6, NetBurst, AMD's, C3's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The expected values are literal, from SDM vol. 3B, the sections on older
 * processors, and from the AMD64 Architecture Programmer's Manual, vol. 2.
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/perfmon/map-netburst.h"
#include "tcg/pmu/perfmon/perfmon.h"
#include "tcg/pmu/perfmon/register-map.h"

#define OS_USR  0x30000
#define INT     0x100000
#define EN      0x400000

static const PerfmonConfig p6 = {
    .core = PMU_CORE_P6, .map = PERFMON_MAP_P6, .num_gp = 2,
};
static const PerfmonConfig k8 = {
    .core = PMU_CORE_K8, .map = PERFMON_MAP_AMD, .num_gp = 4,
};
static const PerfmonConfig zen = {
    .core = PMU_CORE_ZEN, .map = PERFMON_MAP_AMD, .num_gp = 6,
};
static const PerfmonConfig zen4 = {
    .core = PMU_CORE_ZEN, .map = PERFMON_MAP_AMD, .num_gp = 6, .version = 2,
};
static const PerfmonConfig netburst = {
    .core = PMU_CORE_NETBURST, .map = PERFMON_MAP_NETBURST, .num_gp = 18,
};
static const PerfmonConfig p5 = {
    .core = PMU_CORE_P5, .map = PERFMON_MAP_P5, .num_gp = 2,
};
static const PerfmonConfig c3 = {
    .core = PMU_CORE_C3, .map = PERFMON_MAP_C3, .num_gp = 1,
};
static const PerfmonConfig core_duo = {
    .core = PMU_CORE_CORE, .num_gp = 2, .version = 1, .counter_width = 40,
};

static const PerfmonConfig *const all[] = {
    &p6, &k8, &zen, &zen4, &netburst, &p5, &c3, &core_duo,
};

typedef struct Unit {
    Perfmon pmu;
    PmuLedger ledger;
} Unit;

static void start(Unit *u, const PerfmonConfig *config)
{
    const char *why = NULL;

    pmu_ledger_init(&u->ledger, 3, 1, 1, 1, 10);
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

static PerfmonResult read_result(const Unit *u, uint32_t msr)
{
    uint64_t value;

    return perfmon_rdmsr(&u->pmu, msr, &value);
}

/* Count @n of @item at @level. */
static void count_at(Unit *u, PmuLevel level, PmuLedgerItem item, uint64_t n)
{
    PmuLedgerSnapshot now;

    u->ledger.level = level;
    pmu_ledger_event(&u->ledger, item, n);
    pmu_ledger_snapshot(&u->ledger, &now);
    perfmon_update(&u->pmu, &now);
}

static void retire(Unit *u, uint64_t n)
{
    count_at(u, PMU_LEVEL_OS, PMU_ITEM_INSTRUCTIONS, n);
}

static uint64_t rdpmc(const Unit *u, uint32_t ecx)
{
    uint64_t value = UINT64_MAX;

    g_assert_cmpint(perfmon_rdpmc(&u->pmu, ecx, &value), ==, PERFMON_OK);
    return value;
}

static void expect_rdpmc_gp(const Unit *u, uint32_t ecx)
{
    uint64_t value;

    g_assert_cmpint(perfmon_rdpmc(&u->pmu, ecx, &value), ==, PERFMON_GP);
}

static PmuEventState state(const Unit *u, unsigned counter)
{
    PerfmonView view;

    g_assert_true(perfmon_view(&u->pmu, counter, &view));
    return view.state;
}

/* P6. */

/* The enable bit in PerfEvtSel0 enables both counters; PerfEvtSel1 has none. */
static void test_p6_enable(void)
{
    Unit u;

    start(&u, &p6);
    write_ok(&u, 0x187, OS_USR | EN | 0xc0);
    retire(&u, 10);
    g_assert_cmpuint(read_ok(&u, 0xc2), ==, 0);
    write_ok(&u, 0x186, EN);
    retire(&u, 10);
    g_assert_cmpuint(read_ok(&u, 0xc1), ==, 0);
    g_assert_cmpuint(read_ok(&u, 0xc2), ==, 10);
    g_assert_cmpuint(rdpmc(&u, 1), ==, 10);
}

/*
 * A write takes EAX, sign-extended to 40 bits.  A carry out of bit 39 is the
 * overflow.
 */
static void test_p6_wrap(void)
{
    Unit u;

    start(&u, &p6);
    write_ok(&u, 0xc1, 0x123480000000ull);
    g_assert_cmphex(read_ok(&u, 0xc1), ==, 0xff80000000ull);
    write_ok(&u, 0xc1, (uint32_t)-3);
    write_ok(&u, 0x186, OS_USR | INT | EN | 0xc0);
    retire(&u, 2);
    g_assert_false(u.pmu.pmi);
    retire(&u, 1);
    g_assert_true(u.pmu.pmi);
    g_assert_cmphex(read_ok(&u, 0xc1), ==, 0);
}

/*
 * INV of an event of one item: cycles in which no divider is busy (CMASK 1), or
 * fewer than two are (CMASK 2).
 */
static void test_p6_inverted(void)
{
    static const struct {
        uint32_t cmask;
        uint64_t cycles;
    } cases[] = { { 1, 70 }, { 2, 100 } };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        PerfmonDistance distance;
        PmuLedgerSnapshot now;
        Unit u;

        start(&u, &p6);
        write_ok(&u, 0x186, 0x800014 | OS_USR | INT | EN |
                 cases[i].cmask << 24);
        write_ok(&u, 0xc1, -1000ll);
        perfmon_distance_to_overflow(&u.pmu, &distance);
        g_assert_cmpuint(MIN(distance.any, distance.cycles), <=, 1000);
        pmu_ledger_snapshot(&u.ledger, &now);
        now.item[PMU_LEVEL_USR][PMU_ITEM_FP_DIVIDER] += 30;
        now.item[PMU_LEVEL_USR][PMU_ITEM_CYCLES] += 100;
        perfmon_update(&u.pmu, &now);
        g_assert_cmpuint(read_ok(&u, 0xc1), ==,
                         (1ull << 40) - 1000 + cases[i].cycles);
    }
}

/* P6 has two counters and no global registers. */
static void test_p6_absent(void)
{
    Unit u;

    start(&u, &p6);
    g_assert_cmpint(read_result(&u, 0xc3), ==, PERFMON_NOT_OURS);
    g_assert_cmpint(read_result(&u, 0x38f), ==, PERFMON_NOT_OURS);
    g_assert_cmpint(read_result(&u, 0x345), ==, PERFMON_NOT_OURS);
    expect_rdpmc_gp(&u, 2);
    expect_rdpmc_gp(&u, 0x40000000);
}

/* Only counter 0 can count FLOPS; only counter 1 can count DIV. */
static void test_p6_constraints(void)
{
    Unit u;

    start(&u, &p6);
    write_ok(&u, 0x186, OS_USR | EN | 0xc1);
    write_ok(&u, 0x187, OS_USR | 0xc1);
    g_assert_cmpint(state(&u, 0), ==, PMU_EVENT_APPROXIMATE);
    g_assert_cmpint(state(&u, 1), ==, PMU_EVENT_NOT_MODELLED);
}

/* Architectural version 1. */

/* Version 1 has no fixed counters and no global registers. */
static void test_version_1(void)
{
    Unit u;

    start(&u, &core_duo);
    write_ok(&u, 0x187, OS_USR | EN | 0xc0);
    retire(&u, 5);
    g_assert_cmpuint(read_ok(&u, 0xc2), ==, 5);
    g_assert_cmpint(read_result(&u, 0x38f), ==, PERFMON_GP);
    g_assert_cmpint(read_result(&u, 0x38d), ==, PERFMON_GP);
    g_assert_cmpint(read_result(&u, 0x309), ==, PERFMON_GP);
    expect_rdpmc_gp(&u, 0x40000000);
}

/* AMD. */

/* K8 has four counters of 48 bits and no extended registers. */
static void test_k8(void)
{
    Unit u;

    start(&u, &k8);
    for (unsigned i = 0; i < 4; i++) {
        write_ok(&u, 0xc0010004 + i, 0xffff000000000000ull + 100 * i);
        write_ok(&u, 0xc0010000 + i, OS_USR | EN | 0xc0);
    }
    retire(&u, 7);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmphex(read_ok(&u, 0xc0010004 + i), ==, 100 * i + 7);
        g_assert_cmphex(rdpmc(&u, i), ==, 100 * i + 7);
    }
    expect_rdpmc_gp(&u, 4);
    g_assert_cmpint(read_result(&u, 0xc0010200), ==, PERFMON_GP);
    g_assert_cmpint(read_result(&u, 0xc0000301), ==, PERFMON_GP);
    /* Reserved bits do not stick. */
    write_ok(&u, 0xc0010000, UINT64_MAX);
    g_assert_cmphex(read_ok(&u, 0xc0010000), ==, 0xffdfffff);
}

/* Six counters at their own addresses, and four of them at K7's, too. */
static void test_zen(void)
{
    Unit u;

    start(&u, &zen);
    for (unsigned i = 0; i < 6; i++) {
        write_ok(&u, 0xc0010200 + 2 * i, OS_USR | EN | 0xc0);
        write_ok(&u, 0xc0010201 + 2 * i, 10 * i);
    }
    retire(&u, 3);
    for (unsigned i = 0; i < 6; i++) {
        g_assert_cmphex(read_ok(&u, 0xc0010201 + 2 * i), ==, 10 * i + 3);
        g_assert_cmphex(rdpmc(&u, i), ==, 10 * i + 3);
        g_assert_cmphex(read_ok(&u, 0xc0010200 + 2 * i), ==,
                        OS_USR | EN | 0xc0);
    }
    g_assert_cmphex(read_ok(&u, 0xc0010007), ==, 33);
    g_assert_cmphex(read_ok(&u, 0xc0010003), ==, OS_USR | EN | 0xc0);
    expect_rdpmc_gp(&u, 6);
    g_assert_cmpint(read_result(&u, 0xc001020c), ==, PERFMON_NOT_OURS);
    /* Event codes have 12 bits: 1C0H is not C0H. */
    write_ok(&u, 0xc0010200, OS_USR | EN | 0xc0 | 1ull << 32);
    g_assert_cmpint(state(&u, 0), ==, PMU_EVENT_UNKNOWN);
}

/* Zen 4 has global registers: control, status, its clearing and setting. */
static void test_zen_global(void)
{
    Unit u;

    start(&u, &zen4);
    g_assert_cmphex(read_ok(&u, 0xc0000301), ==, 0x3f);
    write_ok(&u, 0xc0010200, OS_USR | INT | EN | 0xc0);
    write_ok(&u, 0xc0010201, (1ull << 48) - 2);
    write_ok(&u, 0xc0000301, 0x3e);
    retire(&u, 5);
    g_assert_cmphex(read_ok(&u, 0xc0010201), ==, (1ull << 48) - 2);
    write_ok(&u, 0xc0000301, 0x3f);
    retire(&u, 5);
    g_assert_cmphex(read_ok(&u, 0xc0010201), ==, 3);
    g_assert_cmphex(read_ok(&u, 0xc0000300), ==, 1);
    g_assert_true(u.pmu.pmi);
    write_ok(&u, 0xc0000302, 1);
    g_assert_cmphex(read_ok(&u, 0xc0000300), ==, 0);
    write_ok(&u, 0xc0000303, 0x20);
    g_assert_cmphex(read_ok(&u, 0xc0000300), ==, 0x20);
    /* Reserved bits do not stick. */
    write_ok(&u, 0xc0000301, UINT64_MAX);
    g_assert_cmphex(read_ok(&u, 0xc0000301), ==, 0x3f);
}

/* In the host, GuestOnly stops a counter, unless HostOnly is set as well. */
static void test_amd_guest_only(void)
{
    Unit u;

    start(&u, &zen);
    for (unsigned i = 0; i < 4; i++) {
        write_ok(&u, 0xc0010200 + 2 * i,
                 OS_USR | EN | 0xc0 | (uint64_t)i << 40);
    }
    retire(&u, 5);
    for (unsigned i = 0; i < 4; i++) {
        g_assert_cmpuint(read_ok(&u, 0xc0010201 + 2 * i), ==, i == 1 ? 0 : 5);
    }
}

/* Without version 2 an overflow only interrupts; no status shows it. */
static void test_amd_no_status(void)
{
    Unit u;

    start(&u, &k8);
    write_ok(&u, 0xc0010004, (1ull << 48) - 1);
    write_ok(&u, 0xc0010000, OS_USR | INT | EN | 0xc0);
    retire(&u, 1);
    g_assert_true(u.pmu.pmi);
    g_assert_cmphex(u.pmu.global_status, ==, 0);
}

/* NetBurst.  Counter 12 is IQ_COUNTER0, whose ESCR 4 is MSR_CRU_ESCR0. */

#define COUNTER(n)  (0x300 + (n))
#define CCCR(n)     (0x360 + (n))
#define CRU_ESCR0   0x3b8
#define CRU_ESCR1   0x3b9
#define CRU_ESCR2   0x3cc
#define FSB_ESCR0   0x3a2

/* Enabled for any number of active threads, as the SDM requires without HT. */
#define CCCR_ENABLE     0x31000u
#define CCCR_THREADS(n) ((n) << 16)
#define CCCR_PMI_T1     (1u << 27)
#define CCCR_ESCR(n)    ((n) << 13)
#define CCCR_COMPARE    0x40000u
#define CCCR_COMPLEMENT 0x80000u
#define CCCR_THRESHOLD(n) ((n) << 20)
#define CCCR_FORCE_OVF  0x2000000u
#define CCCR_PMI        0x4000000u
#define CCCR_CASCADE    0x40000000u
#define CCCR_OVF        0x80000000u

#define ESCR(event, mask)   ((event) << 25 | (mask) << 9 | 0xc)
#define INSTR_RETIRED       ESCR(0x02u, 0x1u)
#define GLOBAL_POWER        ESCR(0x13u, 0x1u)
#define EXECUTION           ESCR(0x0cu, 0xffu)

static void count_instructions(Unit *u, unsigned counter, uint32_t cccr)
{
    write_ok(u, counter & 2 ? CRU_ESCR1 : CRU_ESCR0, INSTR_RETIRED);
    write_ok(u, CCCR(counter), CCCR_ESCR(4) | cccr);
}

/*
 * Each counter counts the event of the ESCR that its CCCR selects, at the
 * ESCR's levels, and no other counter does.
 */
static void test_netburst_counts(void)
{
    Unit u;

    start(&u, &netburst);
    count_instructions(&u, 12, CCCR_ENABLE);
    count_instructions(&u, 14, CCCR_ENABLE);
    write_ok(&u, FSB_ESCR0, GLOBAL_POWER);
    write_ok(&u, CCCR(0), CCCR_ENABLE | CCCR_ESCR(6));
    retire(&u, 9);
    for (unsigned i = 0; i < 18; i++) {
        g_assert_cmpuint(read_ok(&u, COUNTER(i)), ==,
                         i == 12 || i == 14 ? 9 : 0);
    }
    g_assert_cmpint(state(&u, 12), ==, PMU_EVENT_EXACT);
    g_assert_cmpint(state(&u, 0), ==, PMU_EVENT_MODELLED);
    /* Only at the levels of the ESCR. */
    write_ok(&u, CRU_ESCR0, INSTR_RETIRED & ~0x8u);
    retire(&u, 5);
    count_at(&u, PMU_LEVEL_USR, PMU_ITEM_INSTRUCTIONS, 2);
    g_assert_cmpuint(read_ok(&u, COUNTER(12)), ==, 11);
    g_assert_cmpuint(read_ok(&u, COUNTER(14)), ==, 16);
}

/* Linux's other way to count cycles: all with at most 15 tagged micro-ops. */
static void test_netburst_threshold(void)
{
    PerfmonView view;
    Unit u;

    start(&u, &netburst);
    write_ok(&u, CRU_ESCR2, EXECUTION);
    write_ok(&u, CCCR(12), CCCR_ENABLE | CCCR_ESCR(5) | CCCR_COMPARE |
                           CCCR_COMPLEMENT | CCCR_THRESHOLD(15u));
    g_assert_cmpint(state(&u, 12), ==, PMU_EVENT_MODELLED);
    g_assert_cmpuint(u.pmu.selected[12].num_terms, ==, 1);
    g_assert_cmpuint(u.pmu.selected[12].term[0], ==, PMU_ITEM_CYCLES);
    /* Without the threshold it counts tagged micro-ops, and none is tagged. */
    write_ok(&u, CCCR(12), CCCR_ENABLE | CCCR_ESCR(5));
    g_assert_true(perfmon_view(&u.pmu, 12, &view));
    g_assert_cmpint(view.state, ==, PMU_EVENT_NEVER);
}

/*
 * NMI watchdogs count cycles like this: with event 3FH and mask 0, and Xen's
 * with no level in the ESCR either.
 */
static void test_netburst_watchdog(void)
{
    static const uint32_t escrs[] = { 0x3fu << 25, 0x3fu << 25 | 0xc };

    for (unsigned i = 0; i < G_N_ELEMENTS(escrs); i++) {
        PmuLedgerSnapshot now = {};
        Unit u;

        start(&u, &netburst);
        write_ok(&u, CRU_ESCR0, escrs[i]);
        write_ok(&u, CCCR(12), CCCR_ENABLE | CCCR_ESCR(4) | CCCR_COMPARE |
                               CCCR_COMPLEMENT | CCCR_THRESHOLD(15u));
        now.item[PMU_LEVEL_OS][PMU_ITEM_CYCLES] = 100;
        now.item[PMU_LEVEL_USR][PMU_ITEM_CYCLES] = 20;
        perfmon_update(&u.pmu, &now);
        g_assert_cmpuint(read_ok(&u, COUNTER(12)), ==, 120);
    }
}

/* The 40-bit counter sets OVF when it wraps.  With OVF_PMI it interrupts. */
static void test_netburst_overflow(void)
{
    Unit u;

    start(&u, &netburst);
    write_ok(&u, COUNTER(12), (1ull << 40) - 4);
    count_instructions(&u, 12, CCCR_ENABLE | CCCR_PMI);
    retire(&u, 3);
    g_assert_false(u.pmu.pmi);
    g_assert_false(perfmon_netburst_pmi_asserted(&u.pmu));
    retire(&u, 1);
    g_assert_true(u.pmu.pmi);
    g_assert_cmphex(read_ok(&u, CCCR(12)) & CCCR_OVF, ==, CCCR_OVF);
    /* The interrupt is asserted until software clears OVF. */
    g_assert_true(perfmon_netburst_pmi_asserted(&u.pmu));
    write_ok(&u, CCCR(12), read_ok(&u, CCCR(12)) & ~CCCR_OVF);
    g_assert_false(perfmon_netburst_pmi_asserted(&u.pmu));
    /* Without OVF_PMI an overflow sets OVF, but does not interrupt. */
    u.pmu.pmi = false;
    write_ok(&u, COUNTER(12), (1ull << 40) - 1);
    count_instructions(&u, 12, CCCR_ENABLE);
    retire(&u, 1);
    g_assert_cmphex(read_ok(&u, CCCR(12)) & CCCR_OVF, ==, CCCR_OVF);
    g_assert_false(u.pmu.pmi);
}

/* One thread is active, T0.  Counts and interrupts of T1 do not happen. */
static void test_netburst_threads(void)
{
    const uint32_t enable = CCCR_ENABLE & ~CCCR_THREADS(3);
    Unit u;

    start(&u, &netburst);
    for (unsigned threads = 0; threads < 4; threads++) {
        write_ok(&u, COUNTER(12), 0);
        count_instructions(&u, 12, enable | CCCR_THREADS(threads));
        retire(&u, 3);
        /* None, a single one, both, any. */
        g_assert_cmpuint(read_ok(&u, COUNTER(12)), ==, threads & 1 ? 3 : 0);
    }
    /* T1_OS and T1_USR instead of T0's. */
    write_ok(&u, CRU_ESCR0, (INSTR_RETIRED & ~0xcu) | 3);
    g_assert_cmphex(read_ok(&u, CRU_ESCR0) & 15, ==, 3);
    write_ok(&u, COUNTER(12), (1ull << 40) - 1);
    retire(&u, 3);
    g_assert_cmphex(read_ok(&u, COUNTER(12)), ==, (1ull << 40) - 1);
    /* OVF_PMI_T1 interrupts the other thread. */
    count_instructions(&u, 12, CCCR_ENABLE | CCCR_PMI_T1);
    retire(&u, 1);
    g_assert_cmphex(read_ok(&u, CCCR(12)) & CCCR_OVF, ==, CCCR_OVF);
    g_assert_cmphex(read_ok(&u, CCCR(12)) & CCCR_PMI_T1, ==, CCCR_PMI_T1);
    g_assert_false(u.pmu.pmi);
    g_assert_false(perfmon_netburst_pmi_asserted(&u.pmu));
}

/* On the second thread of a core T1's bits apply, not T0's. */
static void test_netburst_second_thread(void)
{
    PerfmonConfig second = netburst;
    Unit u;

    second.second_thread = true;
    start(&u, &second);
    count_instructions(&u, 12, CCCR_ENABLE | CCCR_PMI_T1);
    write_ok(&u, CRU_ESCR0, INSTR_RETIRED);
    write_ok(&u, COUNTER(12), (1ull << 40) - 1);
    retire(&u, 3);
    g_assert_cmphex(read_ok(&u, COUNTER(12)), ==, (1ull << 40) - 1);
    write_ok(&u, CRU_ESCR0, (INSTR_RETIRED & ~0xcu) | 3);
    retire(&u, 3);
    g_assert_cmpuint(read_ok(&u, COUNTER(12)), ==, 2);
    g_assert_true(u.pmu.pmi);
    g_assert_true(perfmon_netburst_pmi_asserted(&u.pmu));
}

/* With FORCE_OVF each increment is an overflow, so the distance is 1. */
static void test_netburst_force_ovf(void)
{
    PerfmonDistance distance;
    Unit u;

    start(&u, &netburst);
    count_instructions(&u, 12, CCCR_ENABLE | CCCR_PMI | CCCR_FORCE_OVF);
    perfmon_distance_to_overflow(&u.pmu, &distance);
    g_assert_cmpuint(distance.instructions, ==, 1);
    retire(&u, 1);
    g_assert_true(u.pmu.pmi);
    g_assert_cmpuint(read_ok(&u, COUNTER(12)), ==, 1);
    g_assert_cmphex(read_ok(&u, CCCR(12)) & CCCR_OVF, ==, CCCR_OVF);
}

/* Counter 14, with CASCADE, starts when counter 12 overflows. */
static void test_netburst_cascade(void)
{
    PerfmonDistance distance;
    Unit u;

    start(&u, &netburst);
    write_ok(&u, COUNTER(12), (1ull << 40) - 10);
    count_instructions(&u, 12, CCCR_ENABLE);
    count_instructions(&u, 14, CCCR_THREADS(3) | CCCR_CASCADE);
    /* The overflow must be found at once, though it interrupts nobody. */
    perfmon_distance_to_overflow(&u.pmu, &distance);
    g_assert_cmpuint(distance.instructions, ==, 10);
    retire(&u, 9);
    g_assert_cmpuint(read_ok(&u, COUNTER(14)), ==, 0);
    retire(&u, 1);
    retire(&u, 5);
    g_assert_cmpuint(read_ok(&u, COUNTER(14)), ==, 5);
    g_assert_cmphex(read_ok(&u, CCCR(14)) & CCCR_ENABLE, ==, CCCR_ENABLE);
}

/*
 * A load that misses L1D is replayed; IA32_PEBS_ENABLE says which are tagged.
 */
static void test_netburst_replay(void)
{
    Unit u;

    start(&u, &netburst);
    write_ok(&u, CRU_ESCR2, ESCR(0x09u, 1u));
    write_ok(&u, CCCR(12), CCCR_ENABLE | CCCR_ESCR(5));
    g_assert_cmpint(state(&u, 12), ==, PMU_EVENT_UNKNOWN);
    write_ok(&u, 0x3f1, 0x1000001);
    write_ok(&u, 0x3f2, 1);
    g_assert_cmpint(state(&u, 12), ==, PMU_EVENT_MODELLED);
    count_at(&u, PMU_LEVEL_OS, PMU_ITEM_LOADS_L1, 100);
    count_at(&u, PMU_LEVEL_OS, PMU_ITEM_LOADS_DRAM, 4);
    g_assert_cmpuint(read_ok(&u, COUNTER(12)), ==, 4);
}

/* RDPMC with ECX[31] reads the low half only. */
static void test_netburst_rdpmc(void)
{
    Unit u;

    start(&u, &netburst);
    write_ok(&u, COUNTER(17), 0xab12345678ull);
    g_assert_cmphex(rdpmc(&u, 17), ==, 0xab12345678ull);
    g_assert_cmphex(rdpmc(&u, 17 | 1u << 31), ==, 0x12345678);
    expect_rdpmc_gp(&u, 18);
    expect_rdpmc_gp(&u, 18 | 1u << 31);
}

/* The ESCRs have the SDM's addresses; only early models have those of IQ. */
static void test_netburst_registers(void)
{
    PerfmonConfig early = netburst;
    Unit u;

    start(&u, &netburst);
    g_assert_cmpint(read_result(&u, 0x3ba), ==, PERFMON_GP);
    g_assert_cmpint(read_result(&u, 0x3c6), ==, PERFMON_NOT_OURS);
    g_assert_cmpint(read_result(&u, 0x3ce), ==, PERFMON_NOT_OURS);
    write_ok(&u, 0x3e1, UINT32_MAX);
    g_assert_cmphex(read_ok(&u, 0x3e1), ==, 0x7fffffff);
    write_ok(&u, CCCR(17), UINT32_MAX);
    g_assert_cmphex(read_ok(&u, CCCR(17)), ==, 0xcffff000);
    g_assert_cmpint(perfmon_wrmsr_check(&u.pmu, CCCR(0), 1ull << 32), ==,
                    PERFMON_GP);
    early.iq_escrs = true;
    start(&u, &early);
    write_ok(&u, 0x3ba, 1);
}

/* P5. */

/*
 * P5 has two counters of 40 bits, which one control register enables.  Neither
 * interrupts.
 */
static void test_p5(void)
{
    Unit u;

    start(&u, &p5);
    /* Counter 0: instructions at CPL 0 to 2; counter 1: branches at all. */
    write_ok(&u, 0x11, 0x16 | 1 << 6 | (0x12 | 3 << 6) << 16);
    retire(&u, 4);
    count_at(&u, PMU_LEVEL_USR, PMU_ITEM_INSTRUCTIONS, 8);
    count_at(&u, PMU_LEVEL_USR, PMU_ITEM_BRANCHES, 3);
    g_assert_cmpuint(read_ok(&u, 0x12), ==, 4);
    g_assert_cmpuint(read_ok(&u, 0x13), ==, 3);
    g_assert_cmpuint(rdpmc(&u, 1), ==, 3);
    expect_rdpmc_gp(&u, 2);
    /* WRMSR writes all 40 bits; the wrap does not interrupt. */
    write_ok(&u, 0x12, UINT64_MAX);
    g_assert_cmphex(read_ok(&u, 0x12), ==, 0xffffffffffull);
    retire(&u, 1);
    g_assert_cmphex(read_ok(&u, 0x12), ==, 0);
    g_assert_false(u.pmu.pmi);
    write_ok(&u, 0x11, UINT32_MAX);
    g_assert_cmphex(read_ok(&u, 0x11), ==, 0x03ff03ff);
    /* A control of 0 stops the counter, whatever its event is. */
    write_ok(&u, 0x11, 0x16);
    retire(&u, 4);
    g_assert_cmphex(read_ok(&u, 0x12), ==, 0);
}

/* C3. */

/*
 * C3 has one counter, of 32 bits, at counter 1's addresses; it counts at all
 * levels.
 */
static void test_c3(void)
{
    Unit u;

    start(&u, &c3);
    g_assert_cmphex(read_ok(&u, 0x187), ==, 0x70079);
    write_ok(&u, 0x187, 0xc0);
    count_at(&u, PMU_LEVEL_USR, PMU_ITEM_INSTRUCTIONS, 2);
    retire(&u, 1);
    g_assert_cmpuint(read_ok(&u, 0xc2), ==, 3);
    g_assert_cmpuint(rdpmc(&u, 1), ==, 3);
    expect_rdpmc_gp(&u, 0);
    write_ok(&u, 0xc2, UINT64_MAX);
    retire(&u, 2);
    g_assert_cmphex(read_ok(&u, 0xc2), ==, 1);
    /* EVNTSEL0 is read-only; a write has no effect. */
    write_ok(&u, 0x186, EN);
    g_assert_cmphex(read_ok(&u, 0x186), ==, 0);
}

/* All maps. */

/* The rows of each map ascend, and RESET leaves nothing that was written. */
static void test_tables(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        PerfmonMsrRange row;
        uint32_t end = 0;
        Unit u, fresh;

        start(&u, all[i]);
        start(&fresh, all[i]);
        for (unsigned j = 0; perfmon_map_row(u.pmu.map, j, &row); j++) {
            g_assert_true(row.first >= end || row.step > 1);
            end = row.first + (row.step > 1 ? 1 : row.count);
            for (unsigned k = 0; k < row.count; k++) {
                uint32_t msr = row.first + k * row.step;

                if (perfmon_wrmsr_check(&u.pmu, msr, 0x5a5a5a5a) ==
                    PERFMON_OK) {
                    perfmon_wrmsr(&u.pmu, msr, 0x5a5a5a5a);
                }
            }
        }
        perfmon_reset(&u.pmu);
        for (unsigned j = 0; perfmon_map_row(u.pmu.map, j, &row); j++) {
            for (unsigned k = 0; k < row.count; k++) {
                uint32_t msr = row.first + k * row.step;
                uint64_t value = 0, expected = 0;

                g_assert_cmpint(perfmon_rdmsr(&u.pmu, msr, &value), ==,
                                perfmon_rdmsr(&fresh.pmu, msr, &expected));
                g_assert_cmphex(value, ==, expected);
            }
        }
    }
}

/* perfmon_init() refuses more counters than a map has, and unknown maps. */
static void test_refused(void)
{
    PerfmonConfig cases[] = { p6, k8, netburst, p5, c3, core_duo };
    const char *why;
    Perfmon pmu;

    cases[0].num_gp = 3;
    cases[1].num_gp = 7;
    cases[2].num_gp = 19;
    cases[3].num_fixed = 3;
    cases[4].map = PERFMON_MAP_NR;
    cases[5].num_fixed = 3;
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        why = NULL;
        g_assert_false(perfmon_init(&pmu, &cases[i], &why));
        g_assert_nonnull(why);
    }
}

/* Nehalem has one register for responses, Westmere has two. */
static void test_offcore(void)
{
    PerfmonConfig config = {
        .core = PMU_CORE_NEHALEM, .num_gp = 4, .num_fixed = 3, .version = 3,
    };
    Unit u;

    start(&u, &config);
    write_ok(&u, 0x1a7, 0xffff);
    config.one_offcore = true;
    start(&u, &config);
    write_ok(&u, 0x1a6, 0xffff);
    g_assert_cmpint(read_result(&u, 0x1a7), ==, PERFMON_GP);
    g_assert_cmpint(read_result(&u, 0x3f7), ==, PERFMON_GP);
}

/*
 * Up to Broadwell, 391H to 393H belong to the uncore, unless the user asks for
 * version 4.
 */
static void test_uncore(void)
{
    static const PmuCore cores[] = {
        PMU_CORE_NEHALEM, PMU_CORE_SANDYBRIDGE, PMU_CORE_HASWELL,
        PMU_CORE_BONNELL, PMU_CORE_ICELAKE,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cores); i++) {
        PerfmonConfig config = {
            .core = cores[i], .num_gp = 4, .num_fixed = 3, .version = 3,
        };
        PerfmonResult want = i < 3 ? PERFMON_NOT_OURS : PERFMON_GP;
        Unit u;

        start(&u, &config);
        for (uint32_t msr = 0x391; msr <= 0x393; msr++) {
            g_assert_cmpint(read_result(&u, msr), ==, want);
            g_assert_cmpint(perfmon_wrmsr_check(&u.pmu, msr, 0x2000000f), ==,
                            want);
        }
        config.version = 4;
        start(&u, &config);
        g_assert_cmpint(read_result(&u, 0x391), ==, PERFMON_OK);
        g_assert_cmpint(read_result(&u, 0x392), ==, PERFMON_OK);
        g_assert_cmpint(read_result(&u, 0x393), ==, PERFMON_GP);
    }
}

/*
 * A loaded state of registers that exist is checked and refused if wrong.
 * State that no register shows is cleared.
 */
static void test_load(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(all); i++) {
        PmuLedgerSnapshot now;
        const char *why = NULL;
        Unit u;

        start(&u, all[i]);
        pmu_ledger_snapshot(&u.ledger, &now);
        u.pmu.global_ctrl = UINT64_MAX;
        u.pmu.global_status = UINT64_MAX;
        u.pmu.debugctl = all[i] == &core_duo ? 0 : 1 << 12;
        if (u.pmu.num_present[PERFMON_PRESENT_GLOBAL]) {
            g_assert_false(perfmon_post_load(&u.pmu, &now, &why));
            continue;
        }
        /* It is not taken from the stream. */
        g_assert_true(perfmon_post_load(&u.pmu, &now, &why));
        g_assert_cmphex(u.pmu.global_status, ==, 0);
        g_assert_cmphex(u.pmu.debugctl, ==, 0);
        u.pmu.evtsel[0] = 1ull << 60;
        if (all[i] != &p5) {
            g_assert_false(perfmon_post_load(&u.pmu, &now, &why));
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/perfmon-older/p6/enable", test_p6_enable);
    g_test_add_func("/perfmon-older/p6/wrap", test_p6_wrap);
    g_test_add_func("/perfmon-older/p6/absent", test_p6_absent);
    g_test_add_func("/perfmon-older/p6/inverted", test_p6_inverted);
    g_test_add_func("/perfmon-older/p6/constraints", test_p6_constraints);
    g_test_add_func("/perfmon-older/version-1", test_version_1);
    g_test_add_func("/perfmon-older/amd/k8", test_k8);
    g_test_add_func("/perfmon-older/amd/zen", test_zen);
    g_test_add_func("/perfmon-older/amd/global", test_zen_global);
    g_test_add_func("/perfmon-older/amd/guest-only", test_amd_guest_only);
    g_test_add_func("/perfmon-older/amd/no-status", test_amd_no_status);
    g_test_add_func("/perfmon-older/netburst/counts", test_netburst_counts);
    g_test_add_func("/perfmon-older/netburst/threshold",
                    test_netburst_threshold);
    g_test_add_func("/perfmon-older/netburst/watchdog",
                    test_netburst_watchdog);
    g_test_add_func("/perfmon-older/netburst/overflow",
                    test_netburst_overflow);
    g_test_add_func("/perfmon-older/netburst/threads", test_netburst_threads);
    g_test_add_func("/perfmon-older/netburst/second-thread",
                    test_netburst_second_thread);
    g_test_add_func("/perfmon-older/netburst/force-ovf",
                    test_netburst_force_ovf);
    g_test_add_func("/perfmon-older/netburst/cascade", test_netburst_cascade);
    g_test_add_func("/perfmon-older/netburst/replay", test_netburst_replay);
    g_test_add_func("/perfmon-older/netburst/rdpmc", test_netburst_rdpmc);
    g_test_add_func("/perfmon-older/netburst/registers",
                    test_netburst_registers);
    g_test_add_func("/perfmon-older/p5", test_p5);
    g_test_add_func("/perfmon-older/c3", test_c3);
    g_test_add_func("/perfmon-older/tables", test_tables);
    g_test_add_func("/perfmon-older/refused", test_refused);
    g_test_add_func("/perfmon-older/offcore", test_offcore);
    g_test_add_func("/perfmon-older/uncore", test_uncore);
    g_test_add_func("/perfmon-older/load", test_load);
    return g_test_run();
}
