/*
 * Test the operations of intel-dsa against other implementations of them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "intel-dsa/machine.h"

/* A size of several chunks that is a multiple of nothing */
#define ODD_SIZE    (200 * 1024 + 37)

static void expect_success(DsaRecord record)
{
    g_assert_cmphex(record.status, ==, DSA_STATUS_SUCCESS);
    /* If all bytes were processed, the record has no number (8.2.4). */
    g_assert_cmpuint(record.bytes_completed, ==, 0);
    g_assert_cmphex(record.fault_addr, ==, 0);
}

/* The record of a batch has the number of descriptors processed. */
static void expect_batch(DsaRecord record, uint32_t descriptors)
{
    g_assert_cmphex(record.status, ==, DSA_STATUS_SUCCESS);
    g_assert_cmpuint(record.bytes_completed, ==, descriptors);
}

static void set_flags(DsaDesc *desc, uint32_t flags)
{
    desc->flags_opcode |= cpu_to_le32(flags);
}

static void test_noop_drain(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc noop = dsa_desc(DSA_OP_NOOP, 0, 0, 0, 0);
    DsaDesc drain = dsa_desc(DSA_OP_DRAIN, 1, 0, 0, 0);

    expect_success(dsa_run(qts, &noop));
    expect_success(dsa_run(qts, &drain));
    qtest_quit(qts);
}

/* A drain completes when what was submitted before it has. */
static void test_drain_order(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc copy = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 1 << 20);
    DsaDesc drain = dsa_desc(DSA_OP_DRAIN, 1, 0, 0, 0);

    dsa_submit(qts, 0, &copy);
    dsa_submit(qts, 0, &drain);
    for (int us = 0; us < 100 && !dsa_record(qts, 1).status; us++) {
        g_assert_cmpuint(dsa_record(qts, 1).status, ==, 0);
        qtest_clock_step(qts, 1000);
    }
    g_assert_cmphex(dsa_record(qts, 1).status, ==, DSA_STATUS_SUCCESS);
    g_assert_cmphex(dsa_record(qts, 0).status, ==, DSA_STATUS_SUCCESS);
    qtest_quit(qts);
}

static void test_memmove(void)
{
    QTestState *qts = dsa_ready("");
    static const uint32_t sizes[] = { 1, 63, 4096, 65536, 65537, ODD_SIZE };
    g_autofree uint8_t *data = dsa_random(qts, SOURCE + 5, ODD_SIZE);
    static const uint8_t guard[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

    for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
        DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE + 5,
                                DESTINATION + 3, sizes[i]);

        qtest_memwrite(qts, DESTINATION + 3 + sizes[i], guard, sizeof(guard));
        expect_success(dsa_run(qts, &desc));
        dsa_expect_memory(qts, DESTINATION + 3, data, sizes[i]);
        dsa_expect_memory(qts, DESTINATION + 3 + sizes[i], guard,
                          sizeof(guard));
    }
    qtest_quit(qts);
}

/* Overlapping copies, in both directions, are done as by memmove(3). */
static void test_overlap(void)
{
    QTestState *qts = dsa_ready("");
    static const int distances[] = { 1, 100, 4096, 70000, -1, -100, -70000 };

    for (unsigned i = 0; i < ARRAY_SIZE(distances); i++) {
        g_autofree uint8_t *data = dsa_random(qts, SOURCE, ODD_SIZE);
        DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE,
                                SOURCE + distances[i], ODD_SIZE);
        DsaRecord record = dsa_run(qts, &desc);

        expect_success(record);
        g_assert_cmpuint(record.result, ==, distances[i] > 0);
        dsa_expect_memory(qts, SOURCE + distances[i], data, ODD_SIZE);
    }
    qtest_quit(qts);
}

static void test_fill(void)
{
    QTestState *qts = dsa_ready("");
    const uint64_t pattern = 0x8877665544332211;
    DsaDesc desc = dsa_desc(DSA_OP_FILL, 0, pattern, DESTINATION + 1,
                            ODD_SIZE);
    g_autofree uint8_t *want = g_malloc(ODD_SIZE + 1);

    for (unsigned i = 0; i < ODD_SIZE; i++) {
        want[i] = pattern >> i % 8 * 8;
    }
    want[ODD_SIZE] = 0;
    expect_success(dsa_run(qts, &desc));
    dsa_expect_memory(qts, DESTINATION + 1, want, ODD_SIZE + 1);
    qtest_quit(qts);
}

static void test_dualcast(void)
{
    QTestState *qts = dsa_ready("");
    g_autofree uint8_t *data = dsa_random(qts, SOURCE, ODD_SIZE);
    DsaDesc desc = dsa_desc(DSA_OP_DUALCAST, 0, SOURCE, DESTINATION,
                            ODD_SIZE);

    stq_le_p(desc.op, DESTINATION2);
    expect_success(dsa_run(qts, &desc));
    dsa_expect_memory(qts, DESTINATION, data, ODD_SIZE);
    dsa_expect_memory(qts, DESTINATION2, data, ODD_SIZE);
    qtest_quit(qts);
}

static void check_compare(QTestState *qts, DsaDesc desc, uint32_t offset,
                          bool differs)
{
    for (unsigned expected = 0; expected < 2; expected++) {
        DsaRecord record;

        desc.op[0] = expected;
        record = dsa_run(qts, &desc);
        g_assert_cmphex(record.status, ==, DSA_STATUS_SUCCESS);
        g_assert_cmpuint(record.result, ==, differs);
        g_assert_cmpuint(record.bytes_completed, ==, differs ? offset : 0);
    }
    set_flags(&desc, DSA_FLAG_CHECK_RESULT);
    for (unsigned expected = 0; expected < 2; expected++) {
        desc.op[0] = expected;
        g_assert_cmphex(dsa_run(qts, &desc).status, ==,
                        expected == differs ? DSA_STATUS_SUCCESS :
                        DSA_STATUS_FALSE_PREDICATE);
    }
}

static void test_compare(void)
{
    QTestState *qts = dsa_ready("");
    g_autofree uint8_t *data = dsa_random(qts, SOURCE, ODD_SIZE);
    DsaDesc desc = dsa_desc(DSA_OP_COMPARE, 0, SOURCE, SOURCE2, ODD_SIZE);
    static const uint32_t offsets[] = { ODD_SIZE - 1, 65536, 65535, 4095, 0 };

    qtest_memwrite(qts, SOURCE2, data, ODD_SIZE);
    check_compare(qts, desc, ODD_SIZE, false);
    for (unsigned i = 0; i < ARRAY_SIZE(offsets); i++) {
        qtest_writeb(qts, SOURCE2 + offsets[i], ~data[offsets[i]]);
        check_compare(qts, desc, offsets[i], true);
    }
    qtest_quit(qts);
}

static void test_compare_pattern(void)
{
    QTestState *qts = dsa_ready("");
    const uint64_t pattern = 0x0123456789abcdef;
    DsaDesc fill = dsa_desc(DSA_OP_FILL, 0, pattern, SOURCE, ODD_SIZE);
    DsaDesc desc = dsa_desc(DSA_OP_COMPARE_PATTERN, 0, SOURCE, pattern,
                            ODD_SIZE);

    dsa_run(qts, &fill);
    check_compare(qts, desc, ODD_SIZE, false);
    qtest_writeb(qts, SOURCE + 70001, 0x55);
    check_compare(qts, desc, 70001, true);
    qtest_quit(qts);
}

/* Create a delta record, apply it, and compare the result. */
static void test_delta(void)
{
    QTestState *qts = dsa_ready("");
    const uint32_t size = 160 * 1024;
    g_autofree uint8_t *data = dsa_random(qts, SOURCE, size);
    static const uint32_t at[] = { 0, 13, 16384, 65535, 65536, 163839 };
    DsaDesc create = dsa_desc(DSA_OP_CREATE_DELTA, 0, SOURCE, SOURCE2, size);
    DsaDesc apply = dsa_desc(DSA_OP_APPLY_DELTA, 0, DESTINATION, SOURCE,
                             size);
    DsaRecord record;

    qtest_memwrite(qts, SOURCE2, data, size);
    stq_le_p(create.op, DESTINATION);
    stl_le_p(create.op + 8, 80);
    record = dsa_run(qts, &create);
    expect_success(record);
    g_assert_cmpuint(record.result, ==, 0);
    g_assert_cmpuint(ldl_le_p(record.op), ==, 0);

    for (unsigned i = 0; i < ARRAY_SIZE(at); i++) {
        data[at[i]]++;
    }
    qtest_memwrite(qts, SOURCE2, data, size);
    record = dsa_run(qts, &create);
    expect_success(record);
    g_assert_cmpuint(record.result, ==, 1);
    g_assert_cmpuint(ldl_le_p(record.op), ==, 10 * ARRAY_SIZE(at));
    for (unsigned i = 0; i < ARRAY_SIZE(at); i++) {
        g_assert_cmpuint(qtest_readw(qts, DESTINATION + i * 10), ==,
                         at[i] / 8);
        dsa_expect_memory(qts, DESTINATION + i * 10 + 2,
                          data + at[i] / 8 * 8, 8);
    }

    stl_le_p(apply.op, 10 * ARRAY_SIZE(at));
    expect_success(dsa_run(qts, &apply));
    dsa_expect_memory(qts, SOURCE, data, size);
    qtest_quit(qts);
}

/* A delta record of many chunks, and one that does not fit its space */
static void test_delta_large(void)
{
    QTestState *qts = dsa_ready("");
    const uint32_t size = DSA_DELTA_MAX_XFER, words = size / 8;
    g_autofree uint8_t *old = dsa_random(qts, SOURCE, size);
    g_autofree uint8_t *data = dsa_random(qts, SOURCE2, size);
    DsaDesc create = dsa_desc(DSA_OP_CREATE_DELTA, 0, SOURCE, SOURCE2, size);
    DsaDesc apply = dsa_desc(DSA_OP_APPLY_DELTA, 0, DESTINATION, SOURCE,
                             size);
    DsaRecord record;

    stq_le_p(create.op, DESTINATION);
    stl_le_p(create.op + 8, words * 10);
    record = dsa_run(qts, &create);
    g_assert_cmphex(record.status, ==, DSA_STATUS_SUCCESS);
    g_assert_cmpuint(ldl_le_p(record.op), ==, words * 10);
    stl_le_p(apply.op, words * 10);
    expect_success(dsa_run(qts, &apply));
    dsa_expect_memory(qts, SOURCE, data, size);

    qtest_memwrite(qts, SOURCE, old, size);
    stl_le_p(create.op + 8, 9000 * 10);
    record = dsa_run(qts, &create);
    g_assert_cmphex(record.status, ==, DSA_STATUS_SUCCESS);
    g_assert_cmpuint(record.result, ==, 2);
    g_assert_cmpuint(ldl_le_p(record.op), ==, 9000 * 10);
    g_assert_cmpuint(record.bytes_completed, ==, 9000 * 8);
    set_flags(&create, DSA_FLAG_CHECK_RESULT);
    create.op[16] = 1 << 0 | 1 << 1;
    g_assert_cmphex(dsa_run(qts, &create).status, ==,
                    DSA_STATUS_FALSE_PREDICATE);
    create.op[16] = 1 << 2;
    g_assert_cmphex(dsa_run(qts, &create).status, ==, DSA_STATUS_SUCCESS);
    qtest_quit(qts);
}

static uint32_t reverse(uint32_t value, unsigned bits)
{
    uint32_t reversed = 0;

    for (unsigned i = 0; i < bits; i++) {
        reversed |= (value >> i & 1) << (bits - 1 - i);
    }
    return reversed;
}

/*
 * Returns the CRC-32C, computed bit by bit, the most significant first.  With
 * @bypass, seed and result are neither inverted nor reversed; with
 * @bypass_data, the bytes of data are not reversed (table 8-19).
 */
static uint32_t crc32c_bits(uint32_t seed, const uint8_t *data, size_t bytes,
                            bool bypass, bool bypass_data)
{
    uint32_t crc = bypass ? seed : reverse(~seed, 32);

    while (bytes--) {
        uint8_t byte = *data++;

        crc ^= (bypass_data ? byte : reverse(byte, 8)) << 24;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc << 1 ^ (crc >> 31 ? 0x1edc6f41 : 0);
        }
    }
    return bypass ? crc : reverse(~crc, 32);
}

static void test_crc(void)
{
    QTestState *qts = dsa_ready("");
    g_autofree uint8_t *data = dsa_random(qts, SOURCE, ODD_SIZE);

    /* RFC 3720, B.4: 32 bytes of zeroes */
    static const uint8_t zeroes[32];
    g_assert_cmphex(crc32c_bits(0, zeroes, 32, false, false), ==, 0x8a9136aa);

    for (unsigned i = 0; i < 16; i++) {
        bool copy = i & 1, in_memory = i & 2, bypass = i & 4, plain = i & 8;
        uint32_t seed = g_test_rand_int(), want;
        DsaDesc desc = dsa_desc(copy ? DSA_OP_COPY_CRC : DSA_OP_CRC, 0,
                                SOURCE, copy ? DESTINATION : 0, ODD_SIZE);
        DsaRecord record;

        want = crc32c_bits(seed, data, ODD_SIZE, bypass, plain);
        set_flags(&desc, (in_memory ? DSA_FLAG_CRC_READ_SEED : 0) |
                  (bypass ? DSA_FLAG_CRC_BYPASS_REFLECTION : 0) |
                  (plain ? DSA_FLAG_CRC_BYPASS_DATA_REFLECTION : 0));
        stl_le_p(desc.op, in_memory ? 0 : seed);
        stq_le_p(desc.op + 8, in_memory ? SOURCE2 : 0);
        qtest_writel(qts, SOURCE2, seed);
        qtest_memset(qts, DESTINATION, 0, ODD_SIZE);
        record = dsa_run(qts, &desc);
        expect_success(record);
        g_assert_cmphex((uint32_t)ldl_le_p(record.op), ==, want);
        if (copy) {
            dsa_expect_memory(qts, DESTINATION, data, ODD_SIZE);
        }
    }
    qtest_quit(qts);
}

static void test_cache_flush(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = dsa_desc(DSA_OP_CACHE_FLUSH, 0, 0, DESTINATION, ODD_SIZE);

    expect_success(dsa_run(qts, &desc));
    qtest_quit(qts);
}

/* Returns T10's CRC-16, computed bit by bit. */
static uint16_t t10_bits(uint16_t crc, const uint8_t *data, size_t bytes)
{
    while (bytes--) {
        for (int bit = 7; bit >= 0; bit--) {
            bool x = crc >> 15 ^ (*data >> bit & 1);

            crc = crc << 1 ^ (x ? 0x8bb7 : 0);
        }
        data++;
    }
    return crc;
}

#define DIF_BLOCKS  100
static const uint32_t dif_sizes[] = { 512, 520, 4096, 4104 };

/* Returns @data with the DIFs that a DIF insert adds.  The caller frees. */
static uint8_t *with_dif(const uint8_t *data, uint32_t block, uint8_t flags,
                         uint8_t dif_flags, uint32_t ref, uint16_t app,
                         uint16_t mask)
{
    uint8_t *out = g_malloc(DIF_BLOCKS * (block + 8)), *p = out;

    for (unsigned i = 0; i < DIF_BLOCKS; i++, p += block + 8) {
        uint16_t guard;

        memcpy(p, data + i * block, block);
        guard = t10_bits(dif_flags & DSA_DIF_INVERT_SEED ? 0xffff : 0, p,
                         block);
        stw_be_p(p + block, dif_flags & DSA_DIF_INVERT_RESULT ? ~guard :
                 guard);
        stw_be_p(p + block + 2,
                 (app + (flags & DSA_DIF_DST_INC_APP ? i : 0)) & ~mask);
        stl_be_p(p + block + 4,
                 ref + (flags & DSA_DIF_DST_FIXED_REF ? 0 : i));
    }
    return out;
}

static void put_tags(uint8_t *at, uint32_t ref, uint16_t app, uint16_t mask)
{
    stl_le_p(at, ref);
    stw_le_p(at + 4, mask);
    stw_le_p(at + 6, app);
}

static void check_dif(QTestState *qts, unsigned size, uint8_t flags,
                      uint8_t dif_flags)
{
    const uint32_t block = dif_sizes[size], ref = 0xfffffff0;
    const uint16_t app = 0xfff8, mask = 0x0f00;
    const uint32_t plain = DIF_BLOCKS * block, full = plain + DIF_BLOCKS * 8;
    g_autofree uint8_t *data = dsa_random(qts, SOURCE, plain);
    g_autofree uint8_t *want = with_dif(data, block, flags, dif_flags, ref,
                                        app, mask);
    g_autofree uint8_t *other = with_dif(data, block, 0, dif_flags, 77, 88,
                                         0);
    DsaDesc insert = dsa_desc(DSA_OP_DIF_INSERT, 0, SOURCE, DESTINATION,
                              plain);
    DsaDesc check = dsa_desc(DSA_OP_DIF_CHECK, 0, DESTINATION, 0, full);
    DsaDesc strip = dsa_desc(DSA_OP_DIF_STRIP, 0, DESTINATION, DESTINATION2,
                             full);
    DsaDesc update = dsa_desc(DSA_OP_DIF_UPDATE, 0, DESTINATION,
                              DESTINATION2, full);
    DsaRecord record;

    g_assert_cmphex(t10_bits(0, (const uint8_t *)"123456789", 9), ==, 0xd0db);

    insert.op[1] = flags;
    insert.op[2] = check.op[2] = strip.op[2] = update.op[2] =
        dif_flags | size;
    put_tags(insert.op + 16, ref, app, mask);
    record = dsa_run(qts, &insert);
    expect_success(record);
    dsa_expect_memory(qts, DESTINATION, want, full);
    g_assert_cmphex((uint32_t)ldl_le_p(record.op + 8), ==,
                    ref + (flags & DSA_DIF_DST_FIXED_REF ? 0 : DIF_BLOCKS));

    check.op[0] = strip.op[0] = update.op[0] =
        (flags & DSA_DIF_DST_FIXED_REF ? DSA_DIF_SRC_FIXED_REF : 0) |
        (flags & DSA_DIF_DST_INC_APP ? DSA_DIF_SRC_INC_APP : 0);
    put_tags(check.op + 8, ref, app, mask);
    put_tags(strip.op + 8, ref, app, mask);
    put_tags(update.op + 8, ref, app, mask);
    put_tags(update.op + 16, 77, 88, 0);
    expect_success(dsa_run(qts, &check));
    expect_success(dsa_run(qts, &strip));
    dsa_expect_memory(qts, DESTINATION2, data, plain);
    expect_success(dsa_run(qts, &update));
    dsa_expect_memory(qts, DESTINATION2, other, full);
    update.op[1] = DSA_DIF_DST_PASS_REF | DSA_DIF_DST_PASS_APP |
                   DSA_DIF_DST_PASS_GUARD;
    expect_success(dsa_run(qts, &update));
    dsa_expect_memory(qts, DESTINATION2, want, full);
}

static void test_dif(void)
{
    QTestState *qts = dsa_ready("");

    for (unsigned size = 0; size < ARRAY_SIZE(dif_sizes); size++) {
        check_dif(qts, size, 0, 0);
        check_dif(qts, size, DSA_DIF_DST_FIXED_REF, DSA_DIF_INVERT_SEED);
        check_dif(qts, size, DSA_DIF_DST_INC_APP, DSA_DIF_INVERT_RESULT);
    }
    qtest_quit(qts);
}

/* Each error that a DIF can have, in block 70 */
static void test_dif_errors(void)
{
    QTestState *qts = dsa_ready("");
    const uint32_t block = 512, at = 70 * 520, full = DIF_BLOCKS * 520;
    g_autofree uint8_t *data = dsa_random(qts, SOURCE, DIF_BLOCKS * block);
    g_autofree uint8_t *good = with_dif(data, block, 0, 0, 5, 0x1234, 0);
    DsaDesc desc = dsa_desc(DSA_OP_DIF_STRIP, 0, SOURCE2, DESTINATION, full);
    static const struct {
        unsigned byte;          /* to be changed */
        uint8_t ignore;         /* flag that makes it pass, or 0 */
        uint8_t result;
    } cases[] = {
        { 100, DSA_DIF_SRC_NO_GUARD_CHECK, DSA_DIF_BAD_GUARD },
        { 512, DSA_DIF_SRC_NO_GUARD_CHECK, DSA_DIF_BAD_GUARD },
        { 515, 0, DSA_DIF_BAD_APP },
        { 519, DSA_DIF_SRC_NO_REF_CHECK, DSA_DIF_BAD_REF },
    };
    DsaRecord record;

    put_tags(desc.op + 8, 5, 0x1234, 0);
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        desc.op[0] = 0;
        qtest_memwrite(qts, SOURCE2, good, full);
        qtest_writeb(qts, SOURCE2 + at + cases[i].byte,
                     ~good[at + cases[i].byte]);
        qtest_memset(qts, DESTINATION, 0, full);
        record = dsa_run(qts, &desc);
        g_assert_cmphex(record.status, ==, DSA_STATUS_DIF_ERROR);
        g_assert_cmphex(record.result, ==, cases[i].result);
        g_assert_cmpuint(record.bytes_completed, ==, at);
        g_assert_cmpuint(ldl_le_p(record.op), ==, 5 + 70);
        dsa_expect_memory(qts, DESTINATION, data, 70 * block);
        g_assert_cmphex(qtest_readq(qts, DESTINATION + 70 * block), ==, 0);
        if (cases[i].ignore) {
            desc.op[0] = cases[i].ignore;
            expect_success(dsa_run(qts, &desc));
        }
    }

    /* Flags decide whether a DIF of all ones passes or is an error. */
    qtest_memwrite(qts, SOURCE2, good, full);
    qtest_memset(qts, SOURCE2 + at + block, 0xff, 8);
    desc.op[0] = 0;
    g_assert_cmphex(dsa_run(qts, &desc).result, ==, DSA_DIF_BAD_GUARD |
                    DSA_DIF_BAD_APP | DSA_DIF_BAD_REF);
    desc.op[0] = DSA_DIF_SRC_F_ALL;
    expect_success(dsa_run(qts, &desc));
    desc.op[0] = DSA_DIF_SRC_F_APP;
    expect_success(dsa_run(qts, &desc));
    desc.op[0] = DSA_DIF_SRC_F_APP_REF;
    expect_success(dsa_run(qts, &desc));
    desc.op[0] = DSA_DIF_SRC_F_ALL | DSA_DIF_SRC_F_ALL_ERROR;
    record = dsa_run(qts, &desc);
    g_assert_cmphex(record.status, ==, DSA_STATUS_DIF_ERROR);
    g_assert_cmphex(record.result, ==, DSA_DIF_ALL_F);
    qtest_quit(qts);
}

static void write_batch(QTestState *qts, const DsaDesc *desc, unsigned count)
{
    qtest_memwrite(qts, DESC_LIST, desc, count * sizeof(*desc));
}

static void test_batch(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc batch = dsa_desc(DSA_OP_BATCH, 0, DESC_LIST, 0, 1000);
    g_autofree DsaDesc *list = g_new0(DsaDesc, 1000);

    for (unsigned i = 0; i < 1000; i++) {
        list[i] = dsa_desc(DSA_OP_FILL, 1 + i, i, DESTINATION + i * 8, 8);
    }
    write_batch(qts, list, 1000);
    expect_batch(dsa_run(qts, &batch), 1000);
    for (unsigned i = 0; i < 1000; i++) {
        g_assert_cmpuint(qtest_readq(qts, DESTINATION + i * 8), ==, i);
        expect_success(dsa_record(qts, 1 + i));
    }
    qtest_quit(qts);
}

/*
 * A descriptor with a fence sees the results of those before it.  It is not
 * processed if one of those failed.
 */
static void test_fence(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc batch = dsa_desc(DSA_OP_BATCH, 0, DESC_LIST, 0, 3);
    DsaDesc list[] = {
        dsa_desc(DSA_OP_FILL, 1, 0x11, DESTINATION, ODD_SIZE),
        dsa_desc(DSA_OP_MEMMOVE, 2, DESTINATION, DESTINATION2, ODD_SIZE),
        dsa_desc(DSA_OP_FILL, 3, 0x22, DESTINATION, 8),
    };
    DsaRecord record;

    set_flags(&list[1], DSA_FLAG_FENCE);
    set_flags(&list[2], DSA_FLAG_FENCE);
    write_batch(qts, list, 3);
    expect_batch(dsa_run(qts, &batch), 3);
    g_assert_cmphex(qtest_readq(qts, DESTINATION2 + ODD_SIZE - 13), ==, 0x11);
    g_assert_cmphex(qtest_readq(qts, DESTINATION), ==, 0x22);

    /* Without fences, all three are processed in spite of a failure. */
    list[0].addr2 = cpu_to_le64(OUTSIDE);
    list[1].flags_opcode &= ~cpu_to_le32(DSA_FLAG_FENCE);
    list[2].flags_opcode &= ~cpu_to_le32(DSA_FLAG_FENCE);
    write_batch(qts, list, 3);
    record = dsa_run(qts, &batch);
    g_assert_cmphex(record.status, ==, DSA_STATUS_BATCH_FAIL);
    g_assert_cmpuint(record.bytes_completed, ==, 3);

    set_flags(&list[1], DSA_FLAG_FENCE);
    write_batch(qts, list, 3);
    record = dsa_run(qts, &batch);
    g_assert_cmphex(record.status, ==, DSA_STATUS_BATCH_FAIL);
    g_assert_cmpuint(record.bytes_completed, ==, 1);
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("intel-dsa/noop-drain", test_noop_drain);
    qtest_add_func("intel-dsa/drain-order", test_drain_order);
    qtest_add_func("intel-dsa/memmove", test_memmove);
    qtest_add_func("intel-dsa/overlap", test_overlap);
    qtest_add_func("intel-dsa/fill", test_fill);
    qtest_add_func("intel-dsa/dualcast", test_dualcast);
    qtest_add_func("intel-dsa/compare", test_compare);
    qtest_add_func("intel-dsa/compare-pattern", test_compare_pattern);
    qtest_add_func("intel-dsa/delta", test_delta);
    qtest_add_func("intel-dsa/delta-large", test_delta_large);
    qtest_add_func("intel-dsa/crc", test_crc);
    qtest_add_func("intel-dsa/cache-flush", test_cache_flush);
    qtest_add_func("intel-dsa/dif", test_dif);
    qtest_add_func("intel-dsa/dif-errors", test_dif_errors);
    qtest_add_func("intel-dsa/batch", test_batch);
    qtest_add_func("intel-dsa/fence", test_fence);
    return g_test_run();
}
