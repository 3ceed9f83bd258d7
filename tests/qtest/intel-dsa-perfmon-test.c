/*
 * Test the performance monitor of intel-dsa, and the time that it takes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "intel-dsa/machine.h"

enum { WQ, ENGINE, TRANSLATION, OPERATION, COMPLETION };

/* Events, as bits of their category */
#define EV_WRITTEN      0x10
#define EV_DROPPED      0x20
#define EV_READY        0x40
#define EV_BLOCKED      0x80
#define EV_EMPTY        0x100
#define EV_READ_32B     0x1
#define EV_WRITE_32B    0x2
#define EV_READS        0x4
#define EV_WRITES       0x8
#define EV_FULL         0x40
#define EV_IDLE         0x80
#define EV_BATCH_FULL   0x100
#define EV_TRANSLATED   0x1
#define EV_FAULTED      0x2
#define EV_ERROR        0x8
#define EV_SUCCESS      0x10

static uint64_t perf(uint64_t offset)
{
    return DSA_PERFMON_BASE + offset;
}

static uint64_t config(unsigned category, uint32_t events)
{
    return (uint64_t)events << 32 | category << 8 | 1;
}

static void set_counter(QTestState *qts, unsigned i, uint64_t value)
{
    dsa_writeq(qts, perf(DSA_CNTRCFG + i * 8), value);
}

static uint64_t counter(QTestState *qts, unsigned i)
{
    return dsa_readq(qts, perf(DSA_CNTRDATA + i * 8));
}

static void set_filter(QTestState *qts, unsigned i, unsigned filter,
                       uint32_t value)
{
    dsa_writel(qts, perf(DSA_FLTCFG + i * DSA_FLTCFG_STRIDE + filter * 4),
               value);
}

static void clear(QTestState *qts)
{
    dsa_writel(qts, perf(DSA_PERFRST), R_PERFRST_COUNTERS_MASK);
}

static void test_registers(void)
{
    QTestState *qts = dsa_start(",perf-counters=6,perf-width=40");

    g_assert_cmphex(dsa_readq(qts, perf(DSA_PERFCAP)), ==,
                    7ull << 53 | 0x1full << 36 | 0x1f << 20 | 5 << 16 |
                    40 << 8 | 6);
    for (unsigned i = 0; i < 6; i++) {
        static const uint32_t filters[] = {
            UINT32_MAX, 0xff, 0xf, 0xff, 0xff, 0
        };

        set_counter(qts, i, UINT64_MAX);
        g_assert_cmphex(dsa_readq(qts, perf(DSA_CNTRCFG + i * 8)), ==,
                        0x0fffffff00000f07);
        set_counter(qts, i, 0);
        dsa_writeq(qts, perf(DSA_CNTRDATA + i * 8), UINT64_MAX);
        g_assert_cmphex(counter(qts, i), ==, MAKE_64BIT_MASK(0, 40));
        dsa_writel(qts, perf(DSA_CNTRDATA + i * 8), 0);
        g_assert_cmphex(counter(qts, i), ==, 0xff00000000);
        for (unsigned f = 0; f < 6; f++) {
            uint64_t at = perf(DSA_FLTCFG + i * DSA_FLTCFG_STRIDE + f * 4);

            g_assert_cmphex(dsa_readl(qts, at), ==, filters[f]);
            dsa_writel(qts, at, 0);
            g_assert_cmphex(dsa_readl(qts, at), ==, 0);
        }
        set_counter(qts, i, 3 << 1);
    }
    dsa_writel(qts, perf(DSA_PERFRST), R_PERFRST_CONFIG_MASK);
    g_assert_cmphex(counter(qts, 3), ==, 0xff00000000);
    g_assert_cmphex(dsa_readq(qts, perf(DSA_CNTRCFG + 24)), ==, 0);
    g_assert_cmphex(dsa_readq(qts, perf(DSA_FLTCFG + 96)), ==,
                    0xffffffffffull);
    clear(qts);
    g_assert_cmphex(counter(qts, 3), ==, 0);
    /* There is no seventh. */
    set_counter(qts, 6, UINT64_MAX);
    g_assert_cmphex(dsa_readq(qts, perf(DSA_CNTRCFG + 48)), ==, 0);
    qtest_quit(qts);
}

/* Counts that are known by construction, of one copy */
static void test_copy(void)
{
    QTestState *qts = dsa_ready("");
    /* 16 to 4116: 129 units of 32 bytes, 65 lines, two pages; and to a
     * place where each is fewer */
    DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE + 16, DESTINATION,
                            4100);
    static const struct {
        unsigned category;
        uint32_t events;
        uint64_t want;
    } cases[] = {
        { WQ, EV_WRITTEN, 1 },
        { WQ, EV_DROPPED, 0 },
        { ENGINE, EV_READ_32B, 129 },
        { ENGINE, EV_WRITE_32B, 129 },
        { ENGINE, EV_READS, 65 },
        { ENGINE, EV_WRITES, 65 },
        { ENGINE, EV_READS | EV_WRITES, 130 },
        { TRANSLATION, EV_TRANSLATED, 4 },
        { TRANSLATION, EV_FAULTED, 0 },
        { OPERATION, 1 << DSA_OP_MEMMOVE, 1 },
        { OPERATION, 1 << DSA_OP_FILL, 0 },
        { COMPLETION, EV_SUCCESS, 1 },
        { COMPLETION, EV_ERROR, 0 },
        { 7, UINT32_MAX, 0 },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        clear(qts);
        set_counter(qts, 2, config(cases[i].category, cases[i].events));
        dsa_run(qts, &desc);
        g_assert_cmpuint(counter(qts, 2), ==, cases[i].want);
        /* Off it counts nothing. */
        set_counter(qts, 2, config(cases[i].category, cases[i].events) - 1);
        dsa_run(qts, &desc);
        g_assert_cmpuint(counter(qts, 2), ==, cases[i].want);
    }
    qtest_quit(qts);
}

static void test_errors(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, OUTSIDE, 64);

    set_counter(qts, 0, config(COMPLETION, EV_ERROR));
    set_counter(qts, 1, config(TRANSLATION, EV_FAULTED));
    set_counter(qts, 2, config(WQ, EV_DROPPED));
    dsa_run(qts, &desc);
    g_assert_cmpuint(counter(qts, 0), ==, 1);
    g_assert_cmpuint(counter(qts, 1), ==, 1);
    dsa_submit(qts, 1, &desc);
    g_assert_cmpuint(counter(qts, 2), ==, 1);
    qtest_quit(qts);
}

/* All filters, on each category: only those that apply to it do. */
static void test_filters(void)
{
    static const struct {
        unsigned category;
        uint32_t events;
        unsigned applies;       /* bits, by number of filter */
        uint64_t count;
    } cases[] = {
        { WQ, EV_WRITTEN, 0x01, 1 },
        { ENGINE, EV_READS, 0x1a, 64 },
        { TRANSLATION, EV_TRANSLATED, 0x14, 2 },
        { OPERATION, 1 << DSA_OP_MEMMOVE, 0x1b, 1 },
        { COMPLETION, EV_SUCCESS, 0x1b, 1 },
    };
    /* WQ 2, traffic class 5, 4 KiB pages, 4 KiB, engine 1 */
    static const uint32_t bit[] = { 1 << 2, 1 << 5, 1, 1 << 3, 1 << 1 };
    static const uint32_t mask[] = { UINT32_MAX, 0xff, 0xf, 0xff, 0xff };
    QTestState *qts = dsa_start("");
    DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 4096);

    dsa_configure(qts, 1 << 2, 1 << 1, 16);
    dsa_writeq(qts, DSA_GRPCFG_BASE + DSA_GRPCFG_FLAGS, 5);
    dsa_enable(qts, 1 << 2);
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        for (unsigned f = 0; f < DSA_FILTERS; f++) {
            for (unsigned pass = 0; pass < 2; pass++) {
                bool counts = pass || !(cases[i].applies & 1 << f);

                dsa_writel(qts, perf(DSA_PERFRST), 3);
                set_filter(qts, 4, f, pass ? bit[f] : mask[f] & ~bit[f]);
                set_counter(qts, 4, config(cases[i].category,
                                           cases[i].events));
                dsa_submit(qts, 2, &desc);
                qtest_clock_step(qts, 1000000);
                g_assert_cmpuint(counter(qts, 4), ==,
                                 counts ? cases[i].count : 0);
            }
        }
    }
    qtest_quit(qts);
}

/* Bits 0 to 2 of the size filter are what is below 4 KiB. */
static void test_size_filter(void)
{
    QTestState *qts = dsa_ready("");
    static const uint32_t sizes[] = { 1, 511, 2047, 4095, 4096, 1 << 20 };

    set_counter(qts, 0, config(OPERATION, 1 << DSA_OP_MEMMOVE));
    set_counter(qts, 1, config(OPERATION, 1 << DSA_OP_MEMMOVE));
    set_filter(qts, 0, DSA_FILTER_XFER_SIZE, 0x07);
    set_filter(qts, 1, DSA_FILTER_XFER_SIZE, 0xf8);
    for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
        DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION,
                                sizes[i]);

        clear(qts);
        dsa_run(qts, &desc);
        g_assert_cmpuint(counter(qts, 0), ==, sizes[i] < 4096);
        g_assert_cmpuint(counter(qts, 1), ==, sizes[i] >= 4096);
    }
    qtest_quit(qts);
}

static void test_freeze(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = dsa_desc(DSA_OP_NOOP, 0, 0, 0, 0);

    set_counter(qts, 0, config(COMPLETION, EV_SUCCESS));
    set_counter(qts, 1, config(COMPLETION, EV_SUCCESS));
    dsa_writel(qts, perf(DSA_PERFFRZ), 1);
    dsa_run(qts, &desc);
    g_assert_cmpuint(counter(qts, 0), ==, 0);
    g_assert_cmpuint(counter(qts, 1), ==, 1);
    dsa_writel(qts, perf(DSA_PERFFRZ), UINT32_MAX);
    g_assert_cmphex(dsa_readl(qts, perf(DSA_PERFFRZ)), ==, 0xff);
    dsa_run(qts, &desc);
    g_assert_cmpuint(counter(qts, 1), ==, 1);
    dsa_writel(qts, perf(DSA_PERFFRZ), 0);
    dsa_run(qts, &desc);
    g_assert_cmpuint(counter(qts, 0), ==, 1);
    g_assert_cmpuint(counter(qts, 1), ==, 2);
    qtest_quit(qts);
}

static void test_overflow(void)
{
    QTestState *qts = dsa_ready(",perf-width=8");
    DsaDesc desc = dsa_desc(DSA_OP_NOOP, 0, 0, 0, 0);

    dsa_enable_msix(qts, 9);
    set_counter(qts, 1, config(COMPLETION, EV_SUCCESS) |
                R_CNTRCFG_INT_OVERFLOW_MASK);
    set_counter(qts, 3, config(COMPLETION, EV_SUCCESS));
    dsa_writeq(qts, perf(DSA_CNTRDATA + 8), 254);
    dsa_run(qts, &desc);
    g_assert_cmpuint(counter(qts, 1), ==, 255);
    g_assert_cmphex(dsa_readl(qts, perf(DSA_OVFSTATUS)), ==, 0);
    g_assert_false(dsa_message(qts, 0));
    dsa_run(qts, &desc);
    g_assert_cmpuint(counter(qts, 1), ==, 0);
    g_assert_cmphex(dsa_readl(qts, perf(DSA_OVFSTATUS)), ==, 1 << 1);
    g_assert_cmphex(dsa_readl(qts, A_INTCAUSE), ==, DSA_INTCAUSE_PERFMON);
    g_assert_true(dsa_message(qts, 0));
    dsa_writel(qts, A_INTCAUSE, DSA_INTCAUSE_PERFMON);
    dsa_writel(qts, perf(DSA_OVFSTATUS), 1 << 3);
    g_assert_cmphex(dsa_readl(qts, perf(DSA_OVFSTATUS)), ==, 1 << 1);
    dsa_writel(qts, perf(DSA_OVFSTATUS), 1 << 1);
    g_assert_cmphex(dsa_readl(qts, perf(DSA_OVFSTATUS)), ==, 0);

    /* Without an interrupt, and with all counters frozen by it */
    dsa_writeq(qts, perf(DSA_CNTRDATA + 24), 255);
    set_counter(qts, 3, config(COMPLETION, EV_SUCCESS) |
                R_CNTRCFG_FREEZE_OVERFLOW_MASK);
    dsa_run(qts, &desc);
    g_assert_cmphex(dsa_readl(qts, perf(DSA_OVFSTATUS)), ==, 1 << 3);
    g_assert_cmphex(dsa_readl(qts, perf(DSA_PERFFRZ)), ==, 0xff);
    g_assert_false(dsa_message(qts, 0));
    g_assert_cmphex(dsa_readl(qts, A_INTCAUSE), ==, 0);
    qtest_quit(qts);
}

/* A counter of cycles overflows when it is time, and nobody looks at it. */
static void test_cycle_overflow(void)
{
    QTestState *qts = dsa_ready(",perf-width=17");

    dsa_enable_msix(qts, 9);
    set_counter(qts, 0, config(ENGINE, EV_IDLE) |
                R_CNTRCFG_INT_OVERFLOW_MASK);
    set_filter(qts, 0, DSA_FILTER_ENGINE, 1);
    clear(qts);
    qtest_clock_step(qts, 131000);
    g_assert_false(dsa_message(qts, 0));
    qtest_clock_step(qts, 600);
    g_assert_true(dsa_message(qts, 0));
    qtest_quit(qts);
}

/* The interrupt's message enables the counter again, in the device itself. */
static void test_own_message(void)
{
    QTestState *qts = dsa_start(",perf-width=8");

    dsa_enable_msix(qts, 9);
    dsa_writel(qts, DSA_MSIX_TABLE, DSA_MMIO + perf(DSA_CNTRCFG));
    dsa_writel(qts, DSA_MSIX_TABLE + 8, 0x103);
    set_counter(qts, 0, config(ENGINE, EV_IDLE) |
                R_CNTRCFG_INT_OVERFLOW_MASK);
    dsa_configure(qts, 1, 1, 16);
    dsa_enable(qts, 1);
    qtest_clock_step(qts, 1000000);
    g_assert_cmphex(dsa_readl(qts, perf(DSA_OVFSTATUS)), ==, 1);
    qtest_quit(qts);
}

/* Every cycle is one of each set of events that exclude each other. */
static void test_cycles(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 300000);
    const uint32_t events[] = { EV_READY, EV_BLOCKED, EV_EMPTY };
    uint64_t sum = 0, blocked;

    for (unsigned i = 0; i < 3; i++) {
        set_filter(qts, i, DSA_FILTER_WQ, 1);
        set_counter(qts, i, config(WQ, events[i]));
    }
    set_filter(qts, 3, DSA_FILTER_ENGINE, 1);
    set_counter(qts, 3, config(ENGINE, EV_FULL));
    set_filter(qts, 4, DSA_FILTER_ENGINE, 1);
    set_counter(qts, 4, config(ENGINE, EV_IDLE));
    set_filter(qts, 5, DSA_FILTER_WQ, 1);
    set_counter(qts, 5, config(WQ, EV_READY | EV_BLOCKED | EV_EMPTY));
    clear(qts);
    /* 10 us each, and the last one a microsecond of latency: 8 slots are
     * taken at once, 12 descriptors wait for 12 to be completed. */
    for (unsigned i = 0; i < 20; i++) {
        dsa_submit(qts, 0, &desc);
    }
    qtest_clock_step(qts, 300000);
    for (unsigned i = 0; i < 3; i++) {
        sum += counter(qts, i);
    }
    blocked = counter(qts, 1);
    g_assert_cmpuint(sum, ==, 300000);
    g_assert_cmpuint(counter(qts, 5), ==, 300000);
    g_assert_cmpuint(counter(qts, 0), ==, 0);
    /* All slots are taken until one of the last eight is done. */
    g_assert_cmpuint(counter(qts, 3), >=, blocked + 9900);
    g_assert_cmpuint(counter(qts, 3), <=, blocked + 10100);
    g_assert_cmpuint(blocked, >=, 119000);
    g_assert_cmpuint(blocked, <=, 122000);
    /* Idle but for 20 copies and one latency */
    g_assert_cmpuint(counter(qts, 4), >=, 300000 - 201100);
    g_assert_cmpuint(counter(qts, 4), <=, 300000 - 200900);
    qtest_quit(qts);
}

/* The time until a record of WQ @wq is there, in steps of 10 ns */
static int64_t time_until(QTestState *qts, unsigned record)
{
    int64_t time = 0;

    while (!dsa_record(qts, record).status) {
        time += 10;
        g_assert_cmpint(time, <, 100 * 1000 * 1000);
        qtest_clock_step(qts, 10);
    }
    return time;
}

/* A copy takes its size over the bandwidth, and the latency. */
static void test_bandwidth(void)
{
    static const struct {
        const char *properties;
        unsigned opcode;
        uint32_t size;
        int64_t ns;
    } cases[] = {
        { "", DSA_OP_MEMMOVE, 300000, 10000 + 1000 },
        { ",bandwidth=60000", DSA_OP_MEMMOVE, 300000, 5000 + 1000 },
        { ",latency=5000", DSA_OP_MEMMOVE, 300000, 10000 + 5000 },
        { "", DSA_OP_FILL, 300000, 10000 + 1000 },
        { "", DSA_OP_COMPARE, 300000, 20000 + 1000 },
        { "", DSA_OP_NOOP, 0, 1000 },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        QTestState *qts = dsa_ready(cases[i].properties);
        uint64_t addr1 = cases[i].size ? SOURCE : 0;
        DsaDesc desc = dsa_desc(cases[i].opcode, 0,
                                cases[i].opcode == DSA_OP_FILL ? 0 : addr1,
                                cases[i].size ? DESTINATION : 0,
                                cases[i].size);
        int64_t time;

        qtest_memset(qts, SOURCE, 0, cases[i].size + 1);
        qtest_memset(qts, DESTINATION, 0, cases[i].size + 1);
        dsa_submit(qts, 0, &desc);
        time = time_until(qts, 0);
        /* Chunks are rounded down to nanoseconds. */
        g_assert_cmpint(time, <=, cases[i].ns + 10);
        g_assert_cmpint(time, >=, cases[i].ns - 20);
        qtest_quit(qts);
    }
}

/* Of two WQs of one engine, that of priority 3 has three turns of four, once
 * both wait: eight are taken as they come, four of each. */
static void test_priority(void)
{
    QTestState *qts = dsa_start("");
    DsaDesc desc[2];
    unsigned done[2] = { };

    dsa_configure(qts, 3, 1, 64);
    dsa_configure_wq(qts, 1, 64, 3);
    dsa_enable(qts, 3);
    for (unsigned i = 0; i < 48; i++) {
        for (unsigned wq = 0; wq < 2; wq++) {
            desc[wq] = dsa_desc(DSA_OP_MEMMOVE, wq * 64 + i, SOURCE,
                                DESTINATION, 30000);
            dsa_submit(qts, wq, &desc[wq]);
        }
    }
    /* 40 of 96 */
    qtest_clock_step(qts, 40 * 1000 + 1000);
    for (unsigned wq = 0; wq < 2; wq++) {
        for (unsigned i = 0; i < 48; i++) {
            done[wq] += dsa_record(qts, wq * 64 + i).status != 0;
        }
    }
    g_assert_cmpuint(done[0] + done[1], ==, 40);
    g_assert_cmpuint(done[1], ==, 4 + 32 * 3 / 4);
    qtest_quit(qts);
}

/* Two engines share the way to memory: by traffic class. */
static void test_traffic_class(void)
{
    static const unsigned classes[][2] = { { 0, 0 }, { 0, 1 }, { 0, 7 } };

    for (unsigned i = 0; i < ARRAY_SIZE(classes); i++) {
        QTestState *qts = dsa_start("");
        const uint64_t group1 = DSA_GRPCFG_BASE + DSA_GRPCFG_SIZE;
        unsigned done[2] = { }, w0 = classes[i][0] + 1, w1 = classes[i][1] + 1;

        dsa_configure(qts, 1, 1, 64);
        dsa_configure_wq(qts, 1, 64, 1);
        dsa_writeq(qts, group1, 2);
        dsa_writeq(qts, group1 + DSA_GRPCFG_ENGINES, 2);
        dsa_writeq(qts, DSA_GRPCFG_BASE + DSA_GRPCFG_FLAGS, classes[i][0]);
        dsa_writeq(qts, group1 + DSA_GRPCFG_FLAGS, classes[i][1]);
        dsa_enable(qts, 3);
        for (unsigned n = 0; n < 60; n++) {
            for (unsigned wq = 0; wq < 2; wq++) {
                DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, wq * 64 + n, SOURCE,
                                        DESTINATION, 30000);

                dsa_submit(qts, wq, &desc);
            }
        }
        qtest_clock_step(qts, 54 * 1000 + 1000);
        for (unsigned wq = 0; wq < 2; wq++) {
            for (unsigned n = 0; n < 60; n++) {
                done[wq] += dsa_record(qts, wq * 64 + n).status != 0;
            }
        }
        g_assert_cmpuint(done[0] + done[1], ==, 54);
        g_assert_cmpint(done[0] * w1, >=, done[1] * w0 - w0 * w1 * 2);
        g_assert_cmpint(done[0] * w1, <=, done[1] * w0 + w0 * w1 * 2);
        qtest_quit(qts);
    }
}

/* The guest sees how many wait. */
static void test_occupancy(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 300000);

    for (unsigned i = 0; i < 20; i++) {
        dsa_submit(qts, 0, &desc);
    }
    /* Eight are in the engine, and one of them is done after 11 us. */
    g_assert_cmpuint(dsa_readl(qts, DSA_WQCFG_BASE + 24) & 0xffff, ==, 12);
    qtest_clock_step(qts, 11500);
    g_assert_cmpuint(dsa_readl(qts, DSA_WQCFG_BASE + 24) & 0xffff, ==, 11);
    qtest_clock_step(qts, 1000000);
    g_assert_cmpuint(dsa_readl(qts, DSA_WQCFG_BASE + 24) & 0xffff, ==, 0);
    qtest_quit(qts);
}

/* A WQ holds as many as it was configured for, besides eight in the engine. */
static void test_full(void)
{
    QTestState *qts = dsa_start("");
    DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 300000);

    dsa_configure(qts, 1, 1, 5);
    dsa_enable(qts, 1);
    set_counter(qts, 0, config(WQ, EV_WRITTEN));
    set_counter(qts, 1, config(WQ, EV_DROPPED));
    for (unsigned i = 0; i < 15; i++) {
        dsa_submit(qts, 0, &desc);
    }
    g_assert_cmpuint(counter(qts, 0), ==, 13);
    g_assert_cmpuint(counter(qts, 1), ==, 2);
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("intel-dsa/perf-registers", test_registers);
    qtest_add_func("intel-dsa/copy", test_copy);
    qtest_add_func("intel-dsa/errors", test_errors);
    qtest_add_func("intel-dsa/filters", test_filters);
    qtest_add_func("intel-dsa/size-filter", test_size_filter);
    qtest_add_func("intel-dsa/freeze", test_freeze);
    qtest_add_func("intel-dsa/overflow", test_overflow);
    qtest_add_func("intel-dsa/cycle-overflow", test_cycle_overflow);
    qtest_add_func("intel-dsa/own-message", test_own_message);
    qtest_add_func("intel-dsa/cycles", test_cycles);
    qtest_add_func("intel-dsa/bandwidth", test_bandwidth);
    qtest_add_func("intel-dsa/priority", test_priority);
    qtest_add_func("intel-dsa/traffic-class", test_traffic_class);
    qtest_add_func("intel-dsa/occupancy", test_occupancy);
    qtest_add_func("intel-dsa/full", test_full);
    return g_test_run();
}
