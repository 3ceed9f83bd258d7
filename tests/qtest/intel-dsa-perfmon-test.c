/*
 * Test the performance monitor of intel-dsa.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "intel-dsa/machine.h"

enum { WQ, ENGINE, TRANSLATION, OPERATION, COMPLETION };

/* Events, as bits of their category (D.1.1, D.2.1) */
#define EV_DWQ          0x10
#define EV_DWQ_FULL     0x20
#define EV_WORK_READY   0x40
#define EV_BATCH_READY  0x80
#define EV_EMPTY        0x100
#define EV_PROCESSED    0x1
#define EV_WRITTEN      0x2
#define EV_READS        0x4
#define EV_WRITES       0x8
#define EV_FROM_BATCH   0x10
#define EV_FROM_WQ      0x20
#define EV_PIPE_FULL    0x40
#define EV_NONE_READY   0x80
#define EV_BATCH_FULL   0x100
#define EV_CLFLUSH      0x10000
#define EV_FENCE_KEPT   0x20000
#define EV_FENCE_CUT    0x40000
#define EV_OVERLAP      0x80000
#define EV_MSIX         0x1
#define EV_IMS          0x2
#define EV_PARTIAL      0x4
#define EV_ERROR        0x8
#define EV_SUCCESS      0x10
#define EV_RECORDS      0x20

static uint64_t perf(uint64_t offset)
{
    return DSA_PERFMON_BASE + offset;
}

static uint64_t config(unsigned category, uint32_t events)
{
    return (uint64_t)events << 32 | category << 8 | 1;
}

/* Disable counter @i, as only then it can be changed, and configure it. */
static void set_counter(QTestState *qts, unsigned i, uint64_t value)
{
    dsa_writeq(qts, perf(DSA_CNTRCFG + i * 8), 0);
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
                    7ull << 53 | 0x1full << 36 | 0x1b << 20 | 5 << 16 |
                    40 << 8 | 6);
    for (unsigned i = 0; i < 6; i++) {
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

            g_assert_cmphex(dsa_readl(qts, at), ==, f < 5 ? 0xffff : 0);
            dsa_writel(qts, at, 0);
            g_assert_cmphex(dsa_readl(qts, at), ==, 0);
        }
        set_counter(qts, i, 3 << 1);
    }
    dsa_writel(qts, perf(DSA_PERFRST), R_PERFRST_CONFIG_MASK);
    g_assert_cmphex(counter(qts, 3), ==, 0xff00000000);
    g_assert_cmphex(dsa_readq(qts, perf(DSA_CNTRCFG + 24)), ==, 0);
    g_assert_cmphex(dsa_readq(qts, perf(DSA_FLTCFG + 96)), ==,
                    0x0000ffff0000ffffull);
    clear(qts);
    g_assert_cmphex(counter(qts, 3), ==, 0);
    /* There is no seventh counter. */
    set_counter(qts, 6, UINT64_MAX);
    g_assert_cmphex(dsa_readq(qts, perf(DSA_CNTRCFG + 48)), ==, 0);
    qtest_quit(qts);
}

/* Counts of one copy, which are known by construction */
static void test_copy(void)
{
    QTestState *qts = dsa_ready("");
    /*
     * The source, from 16 to 4116, and the destination, which is aligned, are
     * 129 units of 32 bytes each.
     */
    DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE + 16, DESTINATION,
                            4100);
    static const struct {
        unsigned category;
        uint32_t events;
        uint64_t want;
    } cases[] = {
        { WQ, EV_DWQ, 1 },
        { WQ, EV_DWQ_FULL, 0 },
        { ENGINE, EV_PROCESSED, 129 },
        { ENGINE, EV_WRITTEN, 129 },
        { ENGINE, EV_READS, 1 },
        { ENGINE, EV_WRITES, 1 },
        { ENGINE, EV_READS | EV_WRITES, 2 },
        { ENGINE, EV_FROM_WQ, 1 },
        { ENGINE, EV_FROM_BATCH, 0 },
        { TRANSLATION, UINT32_MAX, 0 },
        { OPERATION, 1 << DSA_OP_MEMMOVE, 1 },
        { OPERATION, 1 << DSA_OP_FILL, 0 },
        { OPERATION, EV_OVERLAP, 0 },
        { COMPLETION, EV_SUCCESS, 1 },
        { COMPLETION, EV_ERROR | EV_PARTIAL, 0 },
        { COMPLETION, EV_MSIX | EV_IMS, 0 },
        { COMPLETION, EV_RECORDS, 1 },
        { 7, UINT32_MAX, 0 },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        clear(qts);
        set_counter(qts, 2, config(cases[i].category, cases[i].events));
        dsa_run(qts, &desc);
        g_assert_cmpuint(counter(qts, 2), ==, cases[i].want);
        /* A disabled counter counts nothing. */
        set_counter(qts, 2, config(cases[i].category, cases[i].events) - 1);
        dsa_run(qts, &desc);
        g_assert_cmpuint(counter(qts, 2), ==, cases[i].want);
    }
    qtest_quit(qts);
}

/* How many units of 32 bytes a range touches */
#define UNITS(addr, bytes) \
    (((addr) + (bytes) - 1) / 32 - (addr) / 32 + 1)

/* A unit counts once in a range, wherever a large operation is divided. */
static void test_units(void)
{
    /* Sizes, and of addresses how far they are from an aligned one */
    const uint32_t large = 1 * MiB + 24, delta = 512 * KiB, blocks = 2000;
    const unsigned off = 16, off2 = 8;
    /* Each word of the blocks differs: an entry is 10 bytes. */
    const uint32_t record = delta / 8 * 10;
    const struct {
        unsigned opcode;
        uint64_t addr1, addr2, addr3;
        uint32_t size, op;
        uint64_t read, written;
    } cases[] = {
        { DSA_OP_MEMMOVE, SOURCE + off, DESTINATION + off2, 0, large, 0,
          UNITS(off, large), UNITS(off2, large) },
        { DSA_OP_MEMMOVE, SOURCE + off, DESTINATION + off, 0, 1 * MiB, 0,
          32769, 32769 },
        /* From the end to the beginning */
        { DSA_OP_MEMMOVE, SOURCE + off, SOURCE + 1 * KiB + off2, 0, large, 0,
          UNITS(off, large), UNITS(off2, large) },
        { DSA_OP_FILL, 0, DESTINATION + off, 0, large, 0,
          0, UNITS(off, large) },
        { DSA_OP_COMPARE, DESTINATION2 + off, DESTINATION2 + 4 * MiB + off2, 0,
          large, 0, UNITS(off, large) + UNITS(off2, large), 0 },
        { DSA_OP_CREATE_DELTA, SOURCE + off, DESTINATION2 + off2,
          DESTINATION + off, delta, record,
          UNITS(off, delta) + UNITS(off2, delta), UNITS(off, record) },
        { DSA_OP_DUALCAST, SOURCE + off, DESTINATION + off2,
          DESTINATION2 + off2, large, 0,
          UNITS(off, large), 2 * UNITS(off2, large) },
        { DSA_OP_CRC, SOURCE + off, 0, 0, large, 0, UNITS(off, large), 0 },
        { DSA_OP_COPY_CRC, SOURCE + off, DESTINATION + off2, 0, large, 0,
          UNITS(off, large), UNITS(off2, large) },
        { DSA_OP_DIF_CHECK, SOURCE, 0, 0, blocks * 520, 0, 32500, 0 },
        { DSA_OP_DIF_INSERT, SOURCE + off, DESTINATION + off2, 0,
          blocks * 512, 0, UNITS(off, blocks * 512),
          UNITS(off2, blocks * 520) },
        { DSA_OP_DIF_STRIP, SOURCE, DESTINATION + off2, 0, blocks * 520, 0,
          32500, UNITS(off2, blocks * 512) },
    };
    QTestState *qts = dsa_ready("");

    set_counter(qts, 0, config(ENGINE, EV_PROCESSED));
    set_counter(qts, 1, config(ENGINE, EV_WRITTEN));
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        DsaDesc desc = dsa_desc(cases[i].opcode, 0, cases[i].addr1,
                                cases[i].addr2, cases[i].size);

        /* All ones pass a check of data integrity fields. */
        qtest_memset(qts, SOURCE, 0xff, 2 * MiB);
        stq_le_p(desc.op, cases[i].addr3);
        stl_le_p(desc.op + 8, cases[i].op);
        if (cases[i].opcode == DSA_OP_DIF_CHECK ||
            cases[i].opcode == DSA_OP_DIF_STRIP) {
            desc.op[0] = DSA_DIF_SRC_F_ALL;
        }
        clear(qts);
        g_assert_cmphex(dsa_run(qts, &desc).status, ==, DSA_STATUS_SUCCESS);
        g_assert_cmpuint(counter(qts, 0), ==, cases[i].read);
        g_assert_cmpuint(counter(qts, 1), ==, cases[i].written);
        /* What DESTINATION2 has differs from SOURCE, and from nothing else. */
        qtest_memset(qts, DESTINATION2, 0, 2 * MiB);
    }
    qtest_quit(qts);
}

static void test_errors(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, OUTSIDE, 64);

    set_counter(qts, 0, config(COMPLETION, EV_PARTIAL));
    set_counter(qts, 1, config(COMPLETION, EV_ERROR));
    set_counter(qts, 2, config(WQ, EV_DWQ | EV_DWQ_FULL));
    dsa_run(qts, &desc);
    g_assert_cmpuint(counter(qts, 0), ==, 1);
    g_assert_cmpuint(counter(qts, 1), ==, 0);
    desc.size = 0;
    dsa_run(qts, &desc);
    g_assert_cmpuint(counter(qts, 0), ==, 1);
    g_assert_cmpuint(counter(qts, 1), ==, 1);
    g_assert_cmpuint(counter(qts, 2), ==, 2);
    /* A descriptor that is submitted to a disabled WQ does not count. */
    dsa_submit(qts, 1, &desc);
    g_assert_cmpuint(counter(qts, 2), ==, 2);
    qtest_quit(qts);
}

/* Each operation has an event bit.  From CRC on, it is not the opcode. */
static void test_operations(void)
{
    static const struct {
        unsigned opcode;
        uint32_t event;
    } cases[] = {
        { DSA_OP_NOOP, 1 << 0 }, { DSA_OP_BATCH, 1 << 1 },
        { DSA_OP_DRAIN, 1 << 2 }, { DSA_OP_MEMMOVE, 1 << 3 },
        { DSA_OP_FILL, 1 << 4 }, { DSA_OP_COMPARE, 1 << 5 },
        { DSA_OP_COMPARE_PATTERN, 1 << 6 }, { DSA_OP_CREATE_DELTA, 1 << 7 },
        { DSA_OP_APPLY_DELTA, 1 << 8 }, { DSA_OP_DUALCAST, 1 << 9 },
        { 0x0a, 0 }, { 0x0f, 0 }, { 0x16, 0 },
        { DSA_OP_CRC, 1 << 10 }, { DSA_OP_COPY_CRC, 1 << 11 },
        { DSA_OP_DIF_CHECK, 1 << 12 }, { DSA_OP_DIF_INSERT, 1 << 13 },
        { DSA_OP_DIF_STRIP, 1 << 14 }, { DSA_OP_DIF_UPDATE, 1 << 15 },
        { DSA_OP_CACHE_FLUSH, EV_CLFLUSH },
    };
    QTestState *qts = dsa_ready("");

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        DsaDesc desc = dsa_desc(cases[i].opcode, 0, 0, 0, 0);

        clear(qts);
        set_counter(qts, 0, config(OPERATION, cases[i].event));
        set_counter(qts, 1, config(OPERATION, ~cases[i].event));
        dsa_run(qts, &desc);
        g_assert_cmpuint(counter(qts, 0), ==, cases[i].event != 0);
        g_assert_cmpuint(counter(qts, 1), ==, 0);
    }
    qtest_quit(qts);
}

/* A batch with fences, an overlap, and interrupts */
static void test_batch(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc batch = dsa_desc(DSA_OP_BATCH, 10, DESC_LIST, 0, 4);
    DsaDesc list[4];
    static const struct {
        unsigned category;
        uint32_t event;
        uint64_t want, failed;
    } cases[] = {
        { ENGINE, EV_FROM_BATCH, 4, 2 }, { ENGINE, EV_FROM_WQ, 1, 1 },
        { ENGINE, EV_READS, 3, 1 }, { ENGINE, EV_WRITES, 3, 1 },
        /* The descriptor list does not count as data. */
        { ENGINE, EV_PROCESSED, 6, 2 },
        { OPERATION, EV_FENCE_KEPT, 1, 0 }, { OPERATION, EV_FENCE_CUT, 0, 1 },
        { OPERATION, EV_OVERLAP, 1, 1 }, { COMPLETION, EV_MSIX, 1, 0 },
        { COMPLETION, EV_RECORDS, 5, 3 },
    };

    dsa_enable_msix(qts, 9);
    list[0] = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, SOURCE + 32, 64);
    list[1] = dsa_desc(DSA_OP_MEMMOVE, 1, SOURCE, DESTINATION, 64);
    list[2] = dsa_desc(DSA_OP_NOOP, 2, 0, 0, 0);
    list[2].flags_opcode |= cpu_to_le32(DSA_FLAG_FENCE | DSA_FLAG_RCI);
    list[2].int_handle = cpu_to_le16(3);
    list[3] = dsa_desc(DSA_OP_MEMMOVE, 3, SOURCE, DESTINATION, 64);
    for (unsigned pass = 0; pass < 2; pass++) {
        qtest_memwrite(qts, DESC_LIST, list, sizeof(list));
        for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
            clear(qts);
            set_counter(qts, 0, config(cases[i].category, cases[i].event));
            g_assert_cmphex(dsa_run(qts, &batch).status, ==,
                            pass ? DSA_STATUS_BATCH_FAIL :
                                   DSA_STATUS_SUCCESS);
            g_assert_cmpuint(counter(qts, 0), ==,
                             pass ? cases[i].failed : cases[i].want);
        }
        /* In the second pass, a descriptor before the fence fails. */
        list[1].size = 0;
    }
    qtest_quit(qts);
}

/* Of all filters, only those that apply to a kind of event act on it. */
static void test_filters(void)
{
    static const struct {
        unsigned category;
        uint32_t events;
        unsigned applies;       /* bits, by number of filter */
        uint64_t count;
    } cases[] = {
        { WQ, EV_DWQ, 0x01, 1 },
        { ENGINE, EV_PROCESSED, 0x1a, 128 },
        { ENGINE, EV_READS, 0x1a, 1 },
        { ENGINE, EV_FROM_WQ, 0x11, 1 },
        { OPERATION, 1 << DSA_OP_MEMMOVE, 0x01, 1 },
        { COMPLETION, EV_SUCCESS, 0x01, 1 },
    };
    /* WQ 2, traffic class 5, 4 KiB pages, 4 KiB, engine 1 */
    static const uint32_t bit[] = { 1 << 2, 1 << 5, 1, 1 << 3, 1 << 1 };
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
                set_filter(qts, 4, f, pass ? bit[f] : 0xffff & ~bit[f]);
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

/* The bounds of the size filter (table 6-2), as far as memory suffices */
static void test_size_filter(void)
{
    QTestState *qts = dsa_ready("");
    static const struct {
        uint32_t size;
        unsigned bit;
    } cases[] = {
        { 1, 0 }, { 511, 0 }, { 512, 1 }, { 2047, 1 }, { 2048, 2 },
        { 4095, 2 }, { 4096, 3 }, { 16383, 3 }, { 16384, 4 },
        { (1 << 20) - 1, 4 }, { 1 << 20, 5 },
    };

    for (unsigned i = 0; i < 8; i++) {
        set_filter(qts, i, DSA_FILTER_XFER_SIZE, 1 << i);
        set_counter(qts, i, config(ENGINE, EV_READS));
    }
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION,
                                cases[i].size);

        clear(qts);
        dsa_run(qts, &desc);
        for (unsigned bit = 0; bit < 8; bit++) {
            g_assert_cmpuint(counter(qts, bit), ==, bit == cases[i].bit);
        }
    }
    qtest_quit(qts);
}

/* An enabled counter's configuration and filters cannot be changed. */
static void test_locked(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = dsa_desc(DSA_OP_NOOP, 0, 0, 0, 0);

    set_counter(qts, 0, config(COMPLETION, EV_SUCCESS));
    set_filter(qts, 0, DSA_FILTER_WQ, 0);
    dsa_writeq(qts, perf(DSA_CNTRCFG), config(COMPLETION, EV_ERROR));
    dsa_run(qts, &desc);
    g_assert_cmpuint(counter(qts, 0), ==, 1);
    g_assert_cmphex(dsa_readq(qts, perf(DSA_CNTRCFG)), ==,
                    config(COMPLETION, EV_SUCCESS));
    /* To disable a counter unfreezes it; so does the reset of all. */
    dsa_writel(qts, perf(DSA_PERFFRZ), 3);
    dsa_writeq(qts, perf(DSA_CNTRCFG), 0);
    g_assert_cmphex(dsa_readl(qts, perf(DSA_PERFFRZ)), ==, 2);
    dsa_writel(qts, perf(DSA_PERFRST), R_PERFRST_CONFIG_MASK);
    g_assert_cmphex(dsa_readl(qts, perf(DSA_PERFFRZ)), ==, 0);
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

    /* An overflow without an interrupt, which freezes all counters */
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

/* A counter of cycles overflows in time, though nobody reads it. */
static void test_cycle_overflow(void)
{
    QTestState *qts = dsa_ready(",perf-width=17");

    dsa_enable_msix(qts, 9);
    set_filter(qts, 0, DSA_FILTER_ENGINE, 1);
    set_counter(qts, 0, config(ENGINE, EV_NONE_READY) |
                R_CNTRCFG_INT_OVERFLOW_MASK);
    clear(qts);
    qtest_clock_step(qts, 131000);
    g_assert_false(dsa_message(qts, 0));
    qtest_clock_step(qts, 600);
    g_assert_true(dsa_message(qts, 0));
    qtest_quit(qts);
}

/* The same, if the counter was set up before there was anything to count. */
static void test_overflow_after_enable(void)
{
    QTestState *qts = dsa_start(",perf-width=17");

    dsa_enable_msix(qts, 9);
    set_counter(qts, 0, config(WQ, EV_EMPTY) | R_CNTRCFG_INT_OVERFLOW_MASK);
    dsa_configure(qts, 1, 1, 16);
    dsa_enable(qts, 1);
    qtest_clock_step(qts, 131000);
    g_assert_false(dsa_message(qts, 0));
    qtest_clock_step(qts, 600);
    g_assert_true(dsa_message(qts, 0));
    qtest_quit(qts);
}

/* When one counter freezes the others, they keep what they have counted. */
static void test_freeze_together(void)
{
    const uint64_t left = 200000, begin = (1ull << 48) - left;

    for (unsigned first = 0; first < 2; first++) {
        QTestState *qts = dsa_ready("");
        uint64_t frozen_at;

        set_counter(qts, first, config(WQ, EV_EMPTY) |
                    R_CNTRCFG_FREEZE_OVERFLOW_MASK);
        set_counter(qts, !first, config(WQ, EV_EMPTY));
        clear(qts);
        dsa_writeq(qts, perf(DSA_CNTRDATA + first * 8), begin);
        qtest_clock_step(qts, 1000000);
        frozen_at = counter(qts, first);
        g_assert_cmpuint(frozen_at, <, 100);
        g_assert_cmpuint(counter(qts, !first), ==, left + frozen_at);
        qtest_quit(qts);
    }
}

/*
 * The interrupt's message goes to the device itself, where it enables the
 * counter again.
 */
static void test_own_message(void)
{
    QTestState *qts = dsa_start(",perf-width=8");

    dsa_enable_msix(qts, 9);
    dsa_writel(qts, DSA_MSIX_TABLE, DSA_MMIO + perf(DSA_CNTRCFG));
    dsa_writel(qts, DSA_MSIX_TABLE + 8, 0x103);
    set_counter(qts, 0, config(ENGINE, EV_NONE_READY) |
                R_CNTRCFG_INT_OVERFLOW_MASK);
    dsa_configure(qts, 1, 1, 16);
    dsa_enable(qts, 1);
    qtest_clock_step(qts, 1000000);
    g_assert_cmphex(dsa_readl(qts, perf(DSA_OVFSTATUS)), ==, 1);
    qtest_quit(qts);
}

/* Events of what waits.  In each cycle, a WQ has exactly one of its events. */
static void test_cycles(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 300000);
    const uint32_t wq_events[] = { EV_WORK_READY, EV_BATCH_READY, EV_EMPTY };
    const uint32_t engine_events[] = {
        EV_PIPE_FULL, EV_NONE_READY, EV_BATCH_FULL
    };
    uint64_t sum = 0, ready;

    for (unsigned i = 0; i < 3; i++) {
        set_filter(qts, i, DSA_FILTER_WQ, 1);
        set_counter(qts, i, config(WQ, wq_events[i]));
        set_filter(qts, 3 + i, DSA_FILTER_ENGINE, 1);
        set_counter(qts, 3 + i, config(ENGINE, engine_events[i]));
    }
    set_filter(qts, 6, DSA_FILTER_WQ, 1);
    set_counter(qts, 6, config(WQ, EV_WORK_READY | EV_BATCH_READY |
                               EV_EMPTY));
    clear(qts);
    /*
     * Each takes 10 us, the last one also a microsecond of latency.  Eight go
     * to the slots of the engine at once; the other 12 wait until 12 complete.
     */
    for (unsigned i = 0; i < 20; i++) {
        dsa_submit(qts, 0, &desc);
    }
    qtest_clock_step(qts, 300000);
    for (unsigned i = 0; i < 3; i++) {
        sum += counter(qts, i);
    }
    ready = counter(qts, 0);
    g_assert_cmpuint(sum, ==, 300000);
    g_assert_cmpuint(counter(qts, 6), ==, 300000);
    g_assert_cmpuint(counter(qts, 1), ==, 0);
    g_assert_cmpuint(ready, >=, 119000);
    g_assert_cmpuint(ready, <=, 122000);
    /* While a descriptor waits, all slots are taken. */
    g_assert_cmpuint(counter(qts, 3), ==, ready);
    g_assert_cmpuint(counter(qts, 4), ==, 300000 - ready);
    g_assert_cmpuint(counter(qts, 5), ==, 0);
    qtest_quit(qts);
}

/* A batch waits while the engine has another one.  One counter, two WQs */
static void test_batch_cycles(void)
{
    QTestState *qts = dsa_start("");
    DsaDesc batch = dsa_desc(DSA_OP_BATCH, 10, DESC_LIST, 0, 2);
    DsaDesc list[2] = {
        dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 300000),
        dsa_desc(DSA_OP_MEMMOVE, 1, SOURCE, DESTINATION, 300000),
    };
    uint64_t ready;

    dsa_configure(qts, 3, 1, 16);
    dsa_enable(qts, 3);
    qtest_memwrite(qts, DESC_LIST, list, sizeof(list));
    set_filter(qts, 0, DSA_FILTER_WQ, 3);
    set_counter(qts, 0, config(WQ, EV_BATCH_READY));
    set_counter(qts, 1, config(ENGINE, EV_BATCH_FULL));
    set_filter(qts, 2, DSA_FILTER_WQ, 3);
    set_counter(qts, 2, config(WQ, EV_EMPTY));
    clear(qts);
    dsa_submit(qts, 0, &batch);
    dsa_submit(qts, 0, &batch);
    qtest_clock_step(qts, 100000);
    /* The time of two copies, and the latency of the last and of the batch */
    ready = counter(qts, 0);
    g_assert_cmpuint(ready, >=, 21900);
    g_assert_cmpuint(ready, <=, 22100);
    g_assert_cmpuint(counter(qts, 1), ==, ready);
    /* WQ 1 is empty all the time. */
    g_assert_cmpuint(counter(qts, 2), ==, 100000);
    qtest_quit(qts);
}

/* A WQ holds as many descriptors as configured, and the engine eight more. */
static void test_full(void)
{
    QTestState *qts = dsa_start("");
    DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 300000);

    dsa_configure(qts, 1, 1, 5);
    dsa_enable(qts, 1);
    set_counter(qts, 0, config(WQ, EV_DWQ));
    set_counter(qts, 1, config(WQ, EV_DWQ_FULL));
    for (unsigned i = 0; i < 15; i++) {
        dsa_submit(qts, 0, &desc);
    }
    g_assert_cmpuint(counter(qts, 0), ==, 13);
    g_assert_cmpuint(counter(qts, 1), ==, 2);
    g_assert_cmphex(FIELD_EX64(dsa_readq(qts, A_SWERR0), SWERR0, ERROR), ==,
                    DSA_ERROR_DWQ_FULL);
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("intel-dsa/perf-registers", test_registers);
    qtest_add_func("intel-dsa/copy", test_copy);
    qtest_add_func("intel-dsa/units", test_units);
    qtest_add_func("intel-dsa/errors", test_errors);
    qtest_add_func("intel-dsa/operation-events", test_operations);
    qtest_add_func("intel-dsa/batch-events", test_batch);
    qtest_add_func("intel-dsa/filters", test_filters);
    qtest_add_func("intel-dsa/size-filter", test_size_filter);
    qtest_add_func("intel-dsa/perf-locked", test_locked);
    qtest_add_func("intel-dsa/freeze", test_freeze);
    qtest_add_func("intel-dsa/overflow", test_overflow);
    qtest_add_func("intel-dsa/cycle-overflow", test_cycle_overflow);
    qtest_add_func("intel-dsa/overflow-after-enable",
                   test_overflow_after_enable);
    qtest_add_func("intel-dsa/freeze-together", test_freeze_together);
    qtest_add_func("intel-dsa/own-message", test_own_message);
    qtest_add_func("intel-dsa/cycles", test_cycles);
    qtest_add_func("intel-dsa/batch-cycles", test_batch_cycles);
    qtest_add_func("intel-dsa/full", test_full);
    return g_test_run();
}
