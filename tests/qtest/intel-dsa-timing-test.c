/*
 * Test the time that intel-dsa takes, and how it arbitrates.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "intel-dsa/machine.h"

/*
 * Returns the nanoseconds, in steps of 10, until completion record @record is
 * there.
 */
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

/* A copy takes its size divided by the bandwidth, plus the latency. */
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
        /* The time of each chunk is rounded down to nanoseconds. */
        g_assert_cmpint(time, <=, cases[i].ns + 10);
        g_assert_cmpint(time, >=, cases[i].ns - 20);
        qtest_quit(qts);
    }
}

/* A descriptor that was aborted does not keep others from the link. */
static void test_abort(void)
{
    QTestState *qts = dsa_ready(",bandwidth=1");
    DsaDesc large = dsa_desc(DSA_OP_FILL, 0, 0, DESTINATION, 1 << 20);
    DsaDesc small = dsa_desc(DSA_OP_FILL, 1, 0, DESTINATION, 100);

    dsa_submit(qts, 0, &large);
    qtest_clock_step(qts, 1000);
    g_assert_cmphex(dsa_command(qts, DSA_CMD_ABORT_ALL, 0), ==, 0);
    /* 100 bytes at one each microsecond, and the latency */
    g_assert_cmphex(dsa_run_for(qts, &small, 100000 + 1000).status, ==,
                    DSA_STATUS_SUCCESS);
    qtest_quit(qts);
}

/*
 * Of two WQs of one engine, that of priority 3 has three turns of four once
 * both wait.  Before that, the engine takes eight descriptors as they come,
 * four of each WQ.
 */
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
    /* Enough time for 40 of 96 descriptors */
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

/* Two engines share memory bandwidth by traffic class. */
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

/* The guest sees how many descriptors wait in a WQ. */
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

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("intel-dsa/bandwidth", test_bandwidth);
    qtest_add_func("intel-dsa/abort", test_abort);
    qtest_add_func("intel-dsa/priority", test_priority);
    qtest_add_func("intel-dsa/traffic-class", test_traffic_class);
    qtest_add_func("intel-dsa/occupancy", test_occupancy);
    return g_test_run();
}
