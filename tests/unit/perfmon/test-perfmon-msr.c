/*
 * Registers of the performance-monitoring unit: their values after RESET, which
 * bits can be written, and what raises #GP.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The expected values are literal, from SDM vol. 3B, chapter 20, and vol. 4.
 * They are for version 5 with 8 general-purpose and 4 fixed counters of 48
 * bits, AnyThread deprecated, without PEBS, LBR, BTS and TSX.
 */

#include <inttypes.h>
#include <string.h>

#include "tcg/pmu/perfmon/perfmon.h"
#include "tcg/pmu/perfmon/register-map.h"
#include "random.h"

static const PerfmonConfig icelake = {
    .core = PMU_CORE_ICELAKE, .num_gp = 8, .num_fixed = 4, .pdcm = true,
    .capabilities = 0xa000, .num_metrics = 4, .metrics_width = 48,
};

static const PerfmonConfig sapphirerapids = {
    .core = PMU_CORE_SAPPHIRERAPIDS, .num_gp = 8, .num_fixed = 4,
    .pdcm = true, .capabilities = 0xa000, .num_metrics = 8,
    .metrics_width = 48,
};

/* Returns @config with other capabilities. */
static PerfmonConfig with_capabilities(const PerfmonConfig *config,
                                       uint64_t capabilities)
{
    PerfmonConfig other = *config;

    other.capabilities = capabilities;
    return other;
}

static void start(Perfmon *pmu, const PerfmonConfig *config)
{
    const char *why = "no reason";

    if (!perfmon_init(pmu, config, &why)) {
        g_error("perfmon_init: %s", why);
    }
}

static PerfmonResult try_read(const Perfmon *pmu, uint32_t msr)
{
    uint64_t value;

    return perfmon_rdmsr(pmu, msr, &value);
}

static uint64_t read_ok(const Perfmon *pmu, uint32_t msr)
{
    uint64_t value = 0xdeadbeef;

    if (perfmon_rdmsr(pmu, msr, &value) != PERFMON_OK) {
        g_error("rdmsr 0x%x: expected to be readable", msr);
    }
    return value;
}

/* WRMSR: check the write, and do it if it is allowed. */
static PerfmonResult try_write(Perfmon *pmu, uint32_t msr, uint64_t value)
{
    PerfmonResult result = perfmon_wrmsr_check(pmu, msr, value);

    if (result == PERFMON_OK) {
        perfmon_wrmsr(pmu, msr, value);
    }
    return result;
}

static void write_ok(Perfmon *pmu, uint32_t msr, uint64_t value)
{
    if (try_write(pmu, msr, value) != PERFMON_OK) {
        g_error("wrmsr 0x%x, 0x%" PRIx64 ": expected to be accepted",
                msr, value);
    }
}

static void expect(const Perfmon *pmu, uint32_t msr, uint64_t want)
{
    uint64_t got = read_ok(pmu, msr);

    if (got != want) {
        g_error("rdmsr 0x%x: expected 0x%" PRIx64 ", got 0x%" PRIx64,
                msr, want, got);
    }
}

static void expect_gp_read(const Perfmon *pmu, uint32_t msr)
{
    if (try_read(pmu, msr) != PERFMON_GP) {
        g_error("rdmsr 0x%x: expected #GP", msr);
    }
}

static void expect_gp_write(Perfmon *pmu, uint32_t msr, uint64_t value)
{
    if (perfmon_wrmsr_check(pmu, msr, value) != PERFMON_GP) {
        g_error("wrmsr 0x%x, 0x%" PRIx64 ": expected #GP", msr, value);
    }
}

/* The matrix of registers and bits. */

typedef struct Expectation {
    uint32_t first, last;
    uint64_t reset;
    bool read_only;             /* every write raises #GP */
    uint64_t writable;          /* other bits raise #GP */
    uint64_t sticks;            /* of these, what reads back */
    uint64_t elsewhere;         /* bits that another test checks */
} Expectation;

#define COUNTER 0xffffffffffffull

static const Expectation icelake_msrs[] = {
    /* IA32_PMCx: EDX is ignored; bit 31 is sign-extended. */
    { 0x0c1, 0x0c8, .writable = UINT64_MAX, .sticks = 0x7fffffff,
      .elsewhere = 0x80000000 },
    /* AnyThread, bit 21, is ignored: CPUID.0AH:EDX[15]. */
    { 0x186, 0x18d, .writable = 0xffffffff, .sticks = 0xffdfffff },
    { 0x1a6, 0x1a7, .writable = 0x3fffffbfff, .sticks = 0x3fffffbfff },
    { 0x1d9, 0x1d9, .writable = 0x1803, .sticks = 0x1000 },
    { 0x309, 0x30c, .writable = COUNTER, .sticks = COUNTER },
    /* IA32_PERF_METRICS reads zero while IA32_FIXED_CTR3 is zero. */
    { 0x329, 0x329, .writable = 0xffffffff, .sticks = 0 },
    { 0x345, 0x345, .reset = 0xa000, .read_only = true },
    { 0x38d, 0x38d, .writable = 0xffff, .sticks = 0xbbbb },
    { 0x38e, 0x38e, .read_only = true },
    { 0x38f, 0x38f, .reset = 0xff, .writable = 0x0001000f000000ff,
      .sticks = 0x0001000f000000ff },
    { 0x390, 0x390, .writable = 0xfc81000f000000ff, .sticks = 0 },
    { 0x391, 0x391, .writable = 0x0801000f000000ff, .sticks = 0 },
    { 0x392, 0x392, .read_only = true },
    { 0x3f1, 0x3f1, .writable = 0, .sticks = 0 },
    { 0x3f6, 0x3f6, .writable = 0xffff, .sticks = 0xffff },
    { 0x3f7, 0x3f7, .writable = 0x7fff17, .sticks = 0x7fff17 },
    { 0x4c1, 0x4c8, .writable = COUNTER, .sticks = COUNTER },
};

/* The rows that differ on Sapphire Rapids. */
static const Expectation sapphirerapids_msrs[] = {
    { 0x1a6, 0x1a7, .writable = 0x3fffffffff, .sticks = 0x3fffffffff },
    { 0x329, 0x329, .writable = UINT64_MAX, .sticks = 0 },
    { 0x3f7, 0x3f7, .writable = 0x7fff1f, .sticks = 0x7fff1f },
};

/* Check one bit of one register. */
static void check_bit(Perfmon *pmu, uint32_t msr, const Expectation *row,
                      unsigned bit)
{
    uint64_t value = 1ull << bit;

    if (row->read_only || !(row->writable & value)) {
        uint64_t before = read_ok(pmu, msr);

        expect_gp_write(pmu, msr, value);
        expect_gp_write(pmu, msr, value | row->writable);
        expect(pmu, msr, before);
        return;
    }
    write_ok(pmu, msr, value);
    if (!(row->elsewhere & value)) {
        expect(pmu, msr, value & row->sticks);
    }
}

static void check_register(const PerfmonConfig *config, uint32_t msr,
                           const Expectation *row)
{
    Perfmon pmu;

    start(&pmu, config);
    expect(&pmu, msr, row->reset);
    for (unsigned bit = 0; bit < 64; bit++) {
        check_bit(&pmu, msr, row, bit);
    }
    if (row->read_only) {
        expect_gp_write(&pmu, msr, 0);
        expect_gp_write(&pmu, msr, row->reset);
        return;
    }
    write_ok(&pmu, msr, row->sticks);
    expect(&pmu, msr, row->sticks);
    write_ok(&pmu, msr, 0);
    expect(&pmu, msr, 0);
    write_ok(&pmu, msr, row->sticks);
    perfmon_reset(&pmu);
    expect(&pmu, msr, row->reset);
}

static void check_rows(const PerfmonConfig *config, const Expectation *rows,
                       unsigned num_rows)
{
    for (unsigned i = 0; i < num_rows; i++) {
        for (uint32_t msr = rows[i].first; msr <= rows[i].last; msr++) {
            check_register(config, msr, &rows[i]);
        }
    }
}

/* Each bit of each register of Ice Lake is as in the matrix. */
static void test_matrix_icelake(void)
{
    check_rows(&icelake, icelake_msrs, G_N_ELEMENTS(icelake_msrs));
}

/* The same for the registers that differ on Sapphire Rapids. */
static void test_matrix_sapphirerapids(void)
{
    check_rows(&sapphirerapids, sapphirerapids_msrs,
               G_N_ELEMENTS(sapphirerapids_msrs));
}

/*
 * Registers that larger units have next to those of the same kind.  They raise
 * #GP, so that a driver that takes the CPU for a larger one notices.
 */
static const struct {
    uint32_t first, last;
} absent_msrs[] = {
    { 0x0c9, 0x0ca }, { 0x18e, 0x18f }, { 0x30d, 0x30f }, { 0x32a, 0x32a },
    { 0x393, 0x393 }, { 0x3f2, 0x3f2 }, { 0x4c9, 0x4ca },
};

static void check_absent(const PerfmonConfig *config)
{
    Perfmon pmu;

    start(&pmu, config);
    for (unsigned i = 0; i < G_N_ELEMENTS(absent_msrs); i++) {
        for (uint32_t msr = absent_msrs[i].first; msr <= absent_msrs[i].last;
             msr++) {
            expect_gp_read(&pmu, msr);
            expect_gp_write(&pmu, msr, 0);
            expect_gp_write(&pmu, msr, 1);
        }
    }
}

/* The absent registers raise #GP on both cores. */
static void test_absent(void)
{
    check_absent(&icelake);
    check_absent(&sapphirerapids);
}

/* AnyThread is ignored, and nothing else is with it. */
static void test_any_thread(void)
{
    PmuLedgerSnapshot now = { 0 };
    Perfmon pmu;

    start(&pmu, &icelake);
    write_ok(&pmu, 0x186, 0x7300c0);
    write_ok(&pmu, 0x187, 0x4300c0);
    write_ok(&pmu, 0x38d, 0x737);
    write_ok(&pmu, 0x38f, 0x7000000ff);
    expect(&pmu, 0x186, 0x5300c0);
    expect(&pmu, 0x38d, 0x333);
    now.item[PMU_LEVEL_USR][PMU_ITEM_INSTRUCTIONS] = 5;
    now.item[PMU_LEVEL_USR][PMU_ITEM_CYCLES] = 7;
    perfmon_update(&pmu, &now);
    expect(&pmu, 0x0c1, 5);
    expect(&pmu, 0x0c2, 5);
    expect(&pmu, 0x309, 5);
    expect(&pmu, 0x30a, 7);
}

static bool is_absent(uint32_t msr)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(absent_msrs); i++) {
        if (msr >= absent_msrs[i].first && msr <= absent_msrs[i].last) {
            return true;
        }
    }
    return false;
}

/* The PMU claims no other MSR. */
static void test_not_ours(void)
{
    Perfmon pmu;

    start(&pmu, &icelake);
    for (uint32_t msr = 0; msr < 0x10000; msr++) {
        bool ours = is_absent(msr);

        for (unsigned i = 0; i < G_N_ELEMENTS(icelake_msrs); i++) {
            ours |= msr >= icelake_msrs[i].first &&
                    msr <= icelake_msrs[i].last;
        }
        if (!ours && try_read(&pmu, msr) != PERFMON_NOT_OURS) {
            g_error("rdmsr 0x%x: expected not to be ours", msr);
        }
        if (!ours && perfmon_wrmsr_check(&pmu, msr, 0) != PERFMON_NOT_OURS) {
            g_error("wrmsr 0x%x: expected not to be ours", msr);
        }
    }
    g_assert_cmpint(try_read(&pmu, 0xc00000c1), ==, PERFMON_NOT_OURS);
    g_assert_cmpint(try_read(&pmu, UINT32_MAX), ==, PERFMON_NOT_OURS);
}

/* Counters under both names. */

/* A write to IA32_PMCx takes EAX, sign-extended to 48 bits (SDM). */
static void test_legacy_alias_sign_extends(void)
{
    static const struct {
        uint64_t written, reads;
    } cases[] = {
        { 0x0000000000000000, 0x000000000000 },
        { 0x000000007fffffff, 0x00007fffffff },
        { 0x0000000080000000, 0xffff80000000 },
        { 0x00000000ffffffff, 0xffffffffffff },
        { 0xffffffff00000001, 0x000000000001 },
        { 0x1234567880000001, 0xffff80000001 },
    };
    Perfmon pmu;

    start(&pmu, &icelake);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (uint32_t n = 0; n < 8; n++) {
            write_ok(&pmu, 0x0c1 + n, cases[i].written);
            expect(&pmu, 0x0c1 + n, cases[i].reads);
            expect(&pmu, 0x4c1 + n, cases[i].reads);
        }
    }
}

/* A write to IA32_A_PMCx takes all 48 bits; both names read the same. */
static void test_full_width_alias(void)
{
    Perfmon pmu;

    start(&pmu, &icelake);
    for (uint32_t n = 0; n < 8; n++) {
        write_ok(&pmu, 0x4c1 + n, 0x123456789ab0 + n);
    }
    for (uint32_t n = 0; n < 8; n++) {
        expect(&pmu, 0x4c1 + n, 0x123456789ab0 + n);
        expect(&pmu, 0x0c1 + n, 0x123456789ab0 + n);
    }
}

/* Registers that depend on the configuration. */

/* Without FW_WRITE the full-width names raise #GP. */
static void test_without_full_width(void)
{
    PerfmonConfig config = with_capabilities(&icelake, 0x8000);
    Perfmon pmu;

    start(&pmu, &config);
    for (uint32_t msr = 0x4c1; msr <= 0x4c8; msr++) {
        expect_gp_read(&pmu, msr);
        expect_gp_write(&pmu, msr, 0);
    }
    expect(&pmu, 0x345, 0x8000);
    /* Fixed counters have their full width all the same. */
    write_ok(&pmu, 0x309, COUNTER);
    expect(&pmu, 0x309, COUNTER);
}

/* Without PERF_METRICS its register and its bit 48 raise #GP. */
static void test_without_metrics(void)
{
    PerfmonConfig config = with_capabilities(&icelake, 0x2000);
    Perfmon pmu;

    start(&pmu, &config);
    expect_gp_read(&pmu, 0x329);
    expect_gp_write(&pmu, 0x329, 0);
    expect_gp_write(&pmu, 0x38f, 1ull << 48);
    expect_gp_write(&pmu, 0x390, 1ull << 48);
    expect_gp_write(&pmu, 0x391, 1ull << 48);
    write_ok(&pmu, 0x38f, 0xf000000ff);
    expect(&pmu, 0x38f, 0xf000000ff);
}

/* Without PDCM IA32_PERF_CAPABILITIES raises #GP. */
static void test_without_pdcm(void)
{
    PerfmonConfig config = with_capabilities(&icelake, 0);
    Perfmon pmu;

    config.pdcm = false;
    start(&pmu, &config);
    expect_gp_read(&pmu, 0x345);
    expect_gp_write(&pmu, 0x345, 0);
}

/* With 4 and 3 counters, the bits and registers of others raise #GP. */
static void test_fewer_counters(void)
{
    PerfmonConfig config = with_capabilities(&icelake, 0x2000);
    Perfmon pmu;

    config.num_gp = 4;
    config.num_fixed = 3;
    start(&pmu, &config);
    expect(&pmu, 0x38f, 0xf);
    expect_gp_write(&pmu, 0x38f, 1 << 4);
    expect_gp_write(&pmu, 0x38f, 1ull << 35);
    expect_gp_write(&pmu, 0x38d, 0x1000);
    expect_gp_write(&pmu, 0x390, 1 << 4);
    expect_gp_write(&pmu, 0x391, 1ull << 35);
    expect_gp_read(&pmu, 0x0c5);
    expect_gp_read(&pmu, 0x18a);
    expect_gp_read(&pmu, 0x4c5);
    expect_gp_read(&pmu, 0x30c);
    expect(&pmu, 0x0c4, 0);
    expect(&pmu, 0x30b, 0);
}

/* IA32_PERF_GLOBAL_STATUS and its relatives. */

/*
 * Each bit of the status can be set and cleared by itself, without interrupt.
 */
static void test_status_set_and_reset(void)
{
    const uint64_t settable = 0x0801000f000000ff;
    Perfmon pmu;

    start(&pmu, &icelake);
    write_ok(&pmu, 0x391, settable);
    expect(&pmu, 0x38e, settable);
    g_assert_false(pmu.pmi);

    for (unsigned bit = 0; bit < 64; bit++) {
        if (settable >> bit & 1) {
            write_ok(&pmu, 0x390, 1ull << bit);
            expect(&pmu, 0x38e, settable & ~(1ull << bit));
            write_ok(&pmu, 0x391, 1ull << bit);
            expect(&pmu, 0x38e, settable);
        }
    }
    write_ok(&pmu, 0x391, 0);
    write_ok(&pmu, 0x390, 0);
    expect(&pmu, 0x38e, settable);

    /* Writing back what the status reads clears all of it. */
    write_ok(&pmu, 0x390, read_ok(&pmu, 0x38e));
    expect(&pmu, 0x38e, 0);
    expect(&pmu, 0x390, 0);
    expect(&pmu, 0x391, 0);
}

/*
 * A counter is in use if its selector has an event; bit 63 is set if any
 * counter interrupts.
 */
static void test_inuse(void)
{
    Perfmon pmu;

    start(&pmu, &icelake);
    write_ok(&pmu, 0x186 + 5, 0x0100);          /* umask alone: not in use */
    expect(&pmu, 0x392, 0);
    write_ok(&pmu, 0x186 + 5, 0x00c0);
    expect(&pmu, 0x392, 1 << 5);
    write_ok(&pmu, 0x186 + 5, 0x1000c0);        /* INT */
    expect(&pmu, 0x392, 1ull << 63 | 1 << 5);
    write_ok(&pmu, 0x186 + 5, 0);
    expect(&pmu, 0x392, 0);
    write_ok(&pmu, 0x38d, 0x2010);
    expect(&pmu, 0x392, 1ull << 35 | 1ull << 33);
    write_ok(&pmu, 0x38d, 0x0800);
    expect(&pmu, 0x392, 1ull << 63);
}

/* IA32_FIXED_CTR3 and PERF_METRICS. */

/*
 * The fractions that software writes read back.  They follow from hidden
 * counters divided by IA32_FIXED_CTR3.
 */
static void test_metrics_write_then_read(void)
{
    Perfmon pmu;

    start(&pmu, &icelake);
    write_ok(&pmu, 0x30c, 1000);
    write_ok(&pmu, 0x329, 0x40302010);
    expect(&pmu, 0x329, 0x40302010);

    /* The hidden counters stay, so the fractions change. */
    write_ok(&pmu, 0x30c, 2000);
    expect(&pmu, 0x329, 0x20181008);
    write_ok(&pmu, 0x30c, 1000);
    expect(&pmu, 0x329, 0x40302010);

    /* Zero clears the hidden counters. */
    write_ok(&pmu, 0x30c, 0);
    expect(&pmu, 0x329, 0);
    write_ok(&pmu, 0x30c, 1000);
    expect(&pmu, 0x329, 0);
}

/* Written while IA32_FIXED_CTR3 is zero, PERF_METRICS stays zero. */
static void test_metrics_need_slots(void)
{
    Perfmon pmu;

    start(&pmu, &icelake);
    write_ok(&pmu, 0x329, 0x40302010);
    write_ok(&pmu, 0x30c, 1000);
    expect(&pmu, 0x329, 0);
}

/* Sapphire Rapids has eight fields, which RDPMC reads, too. */
static void test_metrics_eight_fields(void)
{
    Perfmon pmu;
    uint64_t value;

    start(&pmu, &sapphirerapids);
    write_ok(&pmu, 0x30c, 12345);
    write_ok(&pmu, 0x329, 0x0807060540302010);
    expect(&pmu, 0x329, 0x0807060540302010);
    g_assert_cmpint(perfmon_rdpmc(&pmu, 0x20000000, &value), ==, PERFMON_OK);
    g_assert_cmphex(value, ==, 0x0807060540302010);
}

/* Checks and reads must not change anything. */

/* Neither the check of a write nor any read changes the state. */
static void test_checks_have_no_effect(void)
{
    Random random = random_from_seed();
    Perfmon pmu, before;
    uint64_t value;

    start(&pmu, &icelake);
    write_ok(&pmu, 0x30c, 1000);
    write_ok(&pmu, 0x329, 0x40302010);
    before = pmu;
    for (unsigned i = 0; i < 200000; i++) {
        uint32_t msr = random_below(&random, 0x500);

        perfmon_wrmsr_check(&pmu, msr, random_size(&random, 64));
        perfmon_rdmsr(&pmu, msr, &value);
        perfmon_rdpmc(&pmu, random_next(&random), &value);
    }
    g_assert_cmpmem(&pmu, sizeof(pmu), &before, sizeof(before));
}

/* A read that faults leaves the value alone. */
static void test_value_untouched_on_fault(void)
{
    PerfmonConfig config = with_capabilities(&icelake, 0);
    uint64_t value = 0x5a5a;
    Perfmon pmu;

    start(&pmu, &config);
    g_assert_cmpint(perfmon_rdmsr(&pmu, 0x329, &value), ==, PERFMON_GP);
    g_assert_cmphex(value, ==, 0x5a5a);
    g_assert_cmpint(perfmon_rdmsr(&pmu, 0x10, &value), ==, PERFMON_NOT_OURS);
    g_assert_cmphex(value, ==, 0x5a5a);
    g_assert_cmpint(perfmon_rdpmc(&pmu, 8, &value), ==, PERFMON_GP);
    g_assert_cmphex(value, ==, 0x5a5a);
}

/* RDPMC. */

static void expect_rdpmc(const Perfmon *pmu, uint32_t ecx, uint64_t want)
{
    uint64_t value = 0;

    if (perfmon_rdpmc(pmu, ecx, &value) != PERFMON_OK || value != want) {
        g_error("rdpmc 0x%x: expected 0x%" PRIx64 ", got 0x%" PRIx64,
                ecx, want, value);
    }
}

static void expect_gp_rdpmc(const Perfmon *pmu, uint32_t ecx)
{
    uint64_t value;

    if (perfmon_rdpmc(pmu, ecx, &value) != PERFMON_GP) {
        g_error("rdpmc 0x%x: expected #GP", ecx);
    }
}

/*
 * RDPMC reads the counters and the metrics by the SDM's numbers.  All other
 * values of ECX raise #GP.
 */
static void test_rdpmc(void)
{
    static const uint32_t invalid[] = {
        8, 9, 0xffff, 0x10000, 0x10001, 0x20000, 0x1fffffff, 0x20010000,
        0x3fffffff, 0x40000004, 0x4000ffff, 0x40010000, 0x60000000,
        0x80000000, 0x80000003, 0xc0000000, 0xffffffff,
    };
    Perfmon pmu;

    start(&pmu, &icelake);
    for (uint32_t n = 0; n < 8; n++) {
        write_ok(&pmu, 0x4c1 + n, 0xf00000000000 + n);
    }
    for (uint32_t n = 0; n < 4; n++) {
        write_ok(&pmu, 0x309 + n, 0xe00000000000 + n);
    }
    write_ok(&pmu, 0x329, 0x40302010);

    for (uint32_t n = 0; n < 8; n++) {
        expect_rdpmc(&pmu, n, 0xf00000000000 + n);
    }
    for (uint32_t n = 0; n < 4; n++) {
        expect_rdpmc(&pmu, 0x40000000 + n, 0xe00000000000 + n);
    }
    expect_rdpmc(&pmu, 0x20000000, 0x40302010);
    expect_rdpmc(&pmu, 0x20000001, 0x40302010);
    for (unsigned i = 0; i < G_N_ELEMENTS(invalid); i++) {
        expect_gp_rdpmc(&pmu, invalid[i]);
    }
}

/* With fewer counters, the numbers of others raise #GP. */
static void test_rdpmc_smaller_unit(void)
{
    PerfmonConfig config = with_capabilities(&icelake, 0);
    Perfmon pmu;

    config.num_gp = 4;
    config.num_fixed = 3;
    start(&pmu, &config);
    expect_rdpmc(&pmu, 3, 0);
    expect_gp_rdpmc(&pmu, 4);
    expect_rdpmc(&pmu, 0x40000002, 0);
    expect_gp_rdpmc(&pmu, 0x40000003);
    expect_gp_rdpmc(&pmu, 0x20000000);
}

/* What Linux does at boot: arch/x86/events/core.c and intel/core.c. */

/*
 * check_msr(): flip @mask, read it back, restore.  Returns whether that works.
 */
static bool probe(Perfmon *pmu, uint32_t msr, uint64_t mask)
{
    uint64_t old, new;

    if (perfmon_rdmsr(pmu, msr, &old) != PERFMON_OK ||
        try_write(pmu, msr, old ^ mask) != PERFMON_OK ||
        perfmon_rdmsr(pmu, msr, &new) != PERFMON_OK || new != (old ^ mask)) {
        return false;
    }
    write_ok(pmu, msr, old);
    return true;
}

static void check_driver_probe(const PerfmonConfig *config)
{
    static const uint32_t extra[] = { 0x1a6, 0x1a7, 0x3f6, 0x3f7 };
    Perfmon pmu;

    start(&pmu, config);
    for (uint32_t msr = 0x186; msr <= 0x18d; msr++) {
        expect(&pmu, msr, 0);
    }
    g_assert_true(probe(&pmu, 0x4c8, 0xffff));
    for (unsigned i = 0; i < G_N_ELEMENTS(extra); i++) {
        g_assert_true(probe(&pmu, extra[i], 0x11));
    }
    /* There are no last-branch records. */
    g_assert_false(probe(&pmu, 0x1c9, 3));
    g_assert_false(probe(&pmu, 0x680, 0xffff));
    g_assert_false(probe(&pmu, 0x6c0, 0xffff));
    /* perf_event_print_debug() reads these. */
    expect(&pmu, 0x390, 0);
    expect(&pmu, 0x3f1, 0);
}

/* Linux's probing finds the registers that the unit has, and no others. */
static void test_driver_probe(void)
{
    check_driver_probe(&icelake);
    check_driver_probe(&sapphirerapids);
}

/* The register map. */

/*
 * The rows of the map ascend, and are those of the matrix and the absent ones.
 */
static void test_rows_ascend(void)
{
    PerfmonMsrRange row;
    unsigned total = 0;
    uint32_t end = 0;

    for (unsigned i = 0; perfmon_map_row(&perfmon_map_architectural, i, &row);
         i++) {
        g_assert_cmphex(row.first, >=, end);
        end = row.first + row.count;
        total += row.count;
    }
    /* Those of the matrix, and the absent ones. */
    for (unsigned i = 0; i < G_N_ELEMENTS(icelake_msrs); i++) {
        total -= icelake_msrs[i].last - icelake_msrs[i].first + 1;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(absent_msrs); i++) {
        total -= absent_msrs[i].last - absent_msrs[i].first + 1;
    }
    g_assert_cmpuint(total, ==, 0);
}

/* perfmon_init() and perfmon_post_load() refuse impossible states. */

/* perfmon_init() refuses configurations that cannot exist, with a reason. */
static void test_refused_configurations(void)
{
    struct {
        const char *what;
        PerfmonConfig config;
    } cases[] = {
        { "unknown core", icelake }, { "no counters", icelake },
        { "nine counters", icelake }, { "two fixed counters", icelake },
        { "five fixed counters", icelake },
        { "metrics without slots", icelake },
        { "five metrics", icelake }, { "metrics too narrow", icelake },
        { "metrics too wide", icelake }, { "PEBS", icelake },
        { "capabilities without PDCM", icelake },
    };
    Perfmon pmu;

    cases[0].config.core = PMU_CORE_NR;
    cases[1].config.num_gp = 0;
    cases[2].config.num_gp = 9;
    cases[3].config.num_fixed = 2;
    cases[4].config.num_fixed = 5;
    cases[5].config.num_fixed = 3;
    cases[6].config.num_metrics = 5;
    cases[7].config.metrics_width = 7;
    cases[8].config.metrics_width = 49;
    cases[9].config.capabilities = 0xa4c5;
    cases[10].config.pdcm = false;
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *why = NULL;

        if (perfmon_init(&pmu, &cases[i].config, &why)) {
            g_error("%s: expected to be refused", cases[i].what);
        }
        g_assert_nonnull(why);
    }
}

/* perfmon_post_load() accepts the largest values, and refuses any bit more. */
static void test_refused_state(void)
{
    static const PmuLedgerSnapshot now;
    const char *why;
    Perfmon good, bad;

    start(&good, &icelake);
    write_ok(&good, 0x4c1, COUNTER);
    write_ok(&good, 0x186, 0xffdfffff);
    write_ok(&good, 0x38f, 0x0001000f000000ff);
    write_ok(&good, 0x391, 0x0801000f000000ff);
    write_ok(&good, 0x30c, COUNTER);
    write_ok(&good, 0x329, 0xff);
    g_assert_true(perfmon_post_load(&good, &now, &why));

#define REFUSES(field, value)                                               \
    do {                                                                    \
        bad = good;                                                         \
        bad.field = value;                                                  \
        why = NULL;                                                         \
        if (perfmon_post_load(&bad, &now, &why)) {                          \
            g_error(#field " = " #value ": expected to be refused");        \
        }                                                                   \
        g_assert_nonnull(why);                                              \
    } while (0)

    REFUSES(gp[7], 1ull << 48);
    REFUSES(fixed[0], 1ull << 48);
    REFUSES(evtsel[3], 1ull << 21);
    REFUSES(fixed_ctr_ctrl, 1ull << 2);
    REFUSES(global_ctrl, 1ull << 8);
    REFUSES(global_status, 1ull << 62);
    REFUSES(metrics[0], 1ull << 56);
    REFUSES(metrics[7], 1ull << 56);
    REFUSES(debugctl, 1);
    REFUSES(offcore_rsp[1], 1ull << 38);
    REFUSES(pebs_ld_lat, 1ull << 16);
    REFUSES(pebs_frontend, 1ull << 3);
#undef REFUSES
}

/*
 * A write that changes MSR_OFFCORE_RSP_0 starts the count anew, for the counter
 * whose event uses it and for no other.
 */
static void test_offcore_begins_anew(void)
{
    Perfmon pmu;

    start(&pmu, &icelake);
    write_ok(&pmu, MSR_PMU_OFFCORE_RSP_0, 0x10001);
    write_ok(&pmu, MSR_PMU_IA32_PERFEVTSEL0, 0x014301b7);
    write_ok(&pmu, MSR_PMU_IA32_PERFEVTSEL0 + 1, 0x01432008);
    pmu.remainder[0] = 5;
    pmu.remainder[1] = 6;
    write_ok(&pmu, MSR_PMU_OFFCORE_RSP_0, 0x10001);
    g_assert_cmpint(pmu.remainder[0], ==, 5);
    write_ok(&pmu, MSR_PMU_OFFCORE_RSP_0, 0x10002);
    g_assert_cmpint(pmu.remainder[0], ==, 0);
    g_assert_cmpint(pmu.remainder[1], ==, 6);
}

/* A remainder of a count is refused if it is more than there was to count. */
static void test_refused_remainders(void)
{
    static const struct {
        uint64_t evtsel;
        int64_t remainder;
        bool loads;
    } cases[] = {
        /* DTLB_LOAD_MISSES.STLB_HIT:cmask=1, 50 in 100 cycles */
        { 0x01432008, 50, true }, { 0x01432008, 51, false },
        { 0x01432008, 0, true }, { 0x01432008, -100, true },
        { 0x01432008, -101, false }, { 0x01432008, INT64_MIN, false },
        { 0x01432008, INT64_MAX, false },
        /* MEM_LOAD_RETIRED.L1_HIT, from which 30 are taken away */
        { 0x004301d1, -30, true }, { 0x004301d1, -31, false },
        { 0x004301d1, 1, false }, { 0x004301d1, INT64_MIN, false },
        /* Instructions: this has no bounds, and the remainder is not used. */
        { 0x004300c0, 1, true }, { 0x004300c0, INT64_MIN, true },
    };
    PmuLedgerSnapshot now = {};

    now.item[PMU_LEVEL_USR][PMU_ITEM_CYCLES] = 60;
    now.item[PMU_LEVEL_OS][PMU_ITEM_CYCLES] = 40;
    now.item[PMU_LEVEL_USR][PMU_ITEM_DTLB_LOAD_STLB] = 50;
    now.item[PMU_LEVEL_USR][PMU_ITEM_FB_HITS] = 30;
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const char *why = NULL;
        Perfmon pmu;

        start(&pmu, &icelake);
        pmu.evtsel[0] = cases[i].evtsel;
        pmu.remainder[0] = cases[i].remainder;
        if (perfmon_post_load(&pmu, &now, &why) != cases[i].loads) {
            g_error("case %u: expected to be %s", i,
                    cases[i].loads ? "loaded" : "refused");
        }
        g_assert_true(cases[i].loads || why);
    }
}

/* A loaded unit counts on from the ledger as it is at that time. */
static void test_loaded_state_counts_on(void)
{
    PmuLedgerSnapshot now = { 0 };
    const char *why;
    Perfmon pmu;

    start(&pmu, &icelake);
    pmu.fixed[0] = 1000;
    pmu.fixed_ctr_ctrl = 0x3;
    pmu.global_ctrl = 1ull << 32;
    now.item[PMU_LEVEL_OS][PMU_ITEM_INSTRUCTIONS] = 777;
    g_assert_true(perfmon_post_load(&pmu, &now, &why));
    now.item[PMU_LEVEL_OS][PMU_ITEM_INSTRUCTIONS] += 5;
    perfmon_update(&pmu, &now);
    expect(&pmu, 0x309, 1005);
}

/* A counter that cannot count its event stands still. */
static void test_wrong_counter(void)
{
    PmuLedgerSnapshot now = { 0 };
    Perfmon pmu;

    start(&pmu, &icelake);
    for (int i = 3; i <= 4; i++) {      /* IDQ.MITE_UOPS: PMC0 to PMC3 */
        write_ok(&pmu, 0x186 + i, 0x430479);
    }
    now.item[PMU_LEVEL_USR][PMU_ITEM_MITE_UOPS] = 1000;
    perfmon_update(&pmu, &now);
    expect(&pmu, 0x0c1 + 3, 1000);
    expect(&pmu, 0x0c1 + 4, 0);
}

/* A counter counts by both its registers, as soon as either is written. */
static void test_extra_register(void)
{
    PmuLedgerSnapshot now = { 0 };
    uint64_t *item = now.item[PMU_LEVEL_USR];
    Perfmon pmu;

    start(&pmu, &icelake);
    write_ok(&pmu, 0x186, 0x4101b7);
    write_ok(&pmu, 0x187, 0x4101bb);
    write_ok(&pmu, 0x1a7, 0x10004);             /* code reads */
    item[PMU_ITEM_DATA_L3] += 5;
    item[PMU_ITEM_CODE_L3] += 7;
    perfmon_update(&pmu, &now);
    expect(&pmu, 0x0c1, 0);
    expect(&pmu, 0x0c2, 7);
    write_ok(&pmu, 0x1a6, 0x10001);             /* demand data reads */
    item[PMU_ITEM_DATA_L3] += 50;
    item[PMU_ITEM_CODE_L3] += 70;
    perfmon_update(&pmu, &now);
    expect(&pmu, 0x0c1, 50);
    expect(&pmu, 0x0c2, 77);
    write_ok(&pmu, 0x1a6, 0);
    item[PMU_ITEM_DATA_L3] += 500;
    perfmon_update(&pmu, &now);
    expect(&pmu, 0x0c1, 50);
}

/* The counter of a level counts only what happens at that level. */
static void test_levels_of_events(void)
{
    PmuLedgerSnapshot now = { 0 };
    Perfmon pmu;

    start(&pmu, &icelake);
    write_ok(&pmu, 0x186, 0x420148);            /* L1D_PEND_MISS.PENDING:k */
    write_ok(&pmu, 0x187, 0x410148);            /* :u */
    write_ok(&pmu, 0x188, 0x430148);
    now.item[PMU_LEVEL_OS][PMU_ITEM_L1D_PENDING] = 3;
    now.item[PMU_LEVEL_USR][PMU_ITEM_L1D_PENDING] = 40;
    perfmon_update(&pmu, &now);
    expect(&pmu, 0x0c1, 3);
    expect(&pmu, 0x0c2, 40);
    expect(&pmu, 0x0c3, 43);
}

/*
 * A difference of items falls if parts are entered before their whole.  The
 * counter then waits.
 */
static void test_difference_that_falls(void)
{
    PmuLedgerSnapshot now = { 0 };
    uint64_t *item = now.item[PMU_LEVEL_USR];
    Perfmon pmu;

    start(&pmu, &icelake);
    write_ok(&pmu, 0x186, 0x4101d1);            /* MEM_LOAD_RETIRED.L1_HIT */
    item[PMU_ITEM_LOADS_L1] = 100;
    item[PMU_ITEM_FB_HITS] = 10;
    perfmon_update(&pmu, &now);
    expect(&pmu, 0x0c1, 90);
    item[PMU_ITEM_FB_HITS] = 20;
    perfmon_update(&pmu, &now);
    expect(&pmu, 0x0c1, 90);
    g_assert_cmphex(pmu.global_status, ==, 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *path;
        void (*function)(void);
    } tests[] = {
        { "matrix/icelake", test_matrix_icelake },
        { "matrix/sapphirerapids", test_matrix_sapphirerapids },
        { "absent", test_absent },
        { "any-thread", test_any_thread },
        { "not-ours", test_not_ours },
        { "legacy-alias-sign-extends", test_legacy_alias_sign_extends },
        { "full-width-alias", test_full_width_alias },
        { "without-full-width", test_without_full_width },
        { "without-metrics", test_without_metrics },
        { "without-pdcm", test_without_pdcm },
        { "fewer-counters", test_fewer_counters },
        { "status-set-and-reset", test_status_set_and_reset },
        { "inuse", test_inuse },
        { "metrics/write-then-read", test_metrics_write_then_read },
        { "metrics/need-slots", test_metrics_need_slots },
        { "metrics/eight-fields", test_metrics_eight_fields },
        { "checks-have-no-effect", test_checks_have_no_effect },
        { "value-untouched-on-fault", test_value_untouched_on_fault },
        { "rdpmc", test_rdpmc },
        { "rdpmc-smaller-unit", test_rdpmc_smaller_unit },
        { "driver-probe", test_driver_probe },
        { "rows-ascend", test_rows_ascend },
        { "refused-configurations", test_refused_configurations },
        { "refused-state", test_refused_state },
        { "refused-remainders", test_refused_remainders },
        { "offcore-begins-anew", test_offcore_begins_anew },
        { "loaded-state-counts-on", test_loaded_state_counts_on },
        { "wrong-counter", test_wrong_counter },
        { "extra-register", test_extra_register },
        { "levels-of-events", test_levels_of_events },
        { "difference-that-falls", test_difference_that_falls },
    };

    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_autofree char *path = g_strconcat("/perfmon-msr/", tests[i].path,
                                            NULL);

        g_test_add_func(path, tests[i].function);
    }
    return g_test_run();
}
