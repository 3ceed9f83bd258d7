/*
 * Test how intel-dsa reports descriptors that it cannot process.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/units.h"
#include "intel-dsa/machine.h"

#define SIZE    4096

static void expect_status(QTestState *qts, const DsaDesc *desc, uint8_t want)
{
    g_assert_cmphex(dsa_run(qts, desc).status, ==, want);
}

/* Returns a valid descriptor of @opcode, one of @opcodes. */
static DsaDesc good(unsigned opcode)
{
    bool one_address = opcode == DSA_OP_CRC || opcode == DSA_OP_DIF_CHECK;
    DsaDesc desc = dsa_desc(opcode, 0, SOURCE, one_address ? 0 : DESTINATION,
                            SIZE);

    switch (opcode) {
    case DSA_OP_CREATE_DELTA:
        stq_le_p(desc.op, DESTINATION2);
        stl_le_p(desc.op + 8, SIZE / 8 * 10);
        break;
    case DSA_OP_APPLY_DELTA:
        stl_le_p(desc.op, 10);
        break;
    case DSA_OP_DUALCAST:
        stq_le_p(desc.op, DESTINATION2);
        break;
    case DSA_OP_DIF_CHECK:
    case DSA_OP_DIF_STRIP:
    case DSA_OP_DIF_UPDATE:
        desc.op[0] = DSA_DIF_SRC_F_ALL;
        desc.size = cpu_to_le32(8 * 520);
        break;
    case DSA_OP_CACHE_FLUSH:
        desc.addr1 = 0;
        break;
    }
    return desc;
}

static const uint8_t opcodes[] = {
    DSA_OP_MEMMOVE, DSA_OP_FILL, DSA_OP_COMPARE, DSA_OP_COMPARE_PATTERN,
    DSA_OP_CREATE_DELTA, DSA_OP_APPLY_DELTA, DSA_OP_DUALCAST, DSA_OP_CRC,
    DSA_OP_COPY_CRC, DSA_OP_DIF_CHECK, DSA_OP_DIF_INSERT, DSA_OP_DIF_STRIP,
    DSA_OP_DIF_UPDATE, DSA_OP_CACHE_FLUSH,
};

/* Wrong flags, reserved bytes, sizes and interrupt handles */
static void test_malformed(void)
{
    QTestState *qts = dsa_ready("");

    qtest_memset(qts, SOURCE, 0xff, 2 * SIZE);
    for (unsigned i = 0; i < ARRAY_SIZE(opcodes); i++) {
        DsaDesc desc = good(opcodes[i]);
        DsaRecord record;

        if (opcodes[i] == DSA_OP_APPLY_DELTA) {
            qtest_memset(qts, SOURCE, 0, 16);
        }
        expect_status(qts, &desc, DSA_STATUS_SUCCESS);
        qtest_memset(qts, SOURCE, 0xff, 16);

        desc.flags_opcode |= cpu_to_le32(DSA_FLAG_BOF);
        record = dsa_run(qts, &desc);
        g_assert_cmphex(record.status, ==, DSA_STATUS_INVALID_FLAGS);
        g_assert_cmphex(ldl_le_p(record.op), ==, DSA_FLAG_BOF);

        desc = good(opcodes[i]);
        desc.reserved = 1;
        expect_status(qts, &desc, DSA_STATUS_RESERVED_FIELD);
        desc = good(opcodes[i]);
        desc.pasid = cpu_to_le32(1 << 25);
        expect_status(qts, &desc, DSA_STATUS_RESERVED_FIELD);
        /* An interrupt handle, but no interrupt requested */
        desc = good(opcodes[i]);
        desc.int_handle = cpu_to_le16(1);
        expect_status(qts, &desc, DSA_STATUS_RESERVED_FIELD);
        /* A fence is only valid within a batch. */
        desc = good(opcodes[i]);
        desc.flags_opcode |= cpu_to_le32(DSA_FLAG_FENCE);
        expect_status(qts, &desc, DSA_STATUS_INVALID_FLAGS);
        desc = good(opcodes[i]);
        desc.size = 0;
        expect_status(qts, &desc, DSA_STATUS_XFER_SIZE);
        desc.size = cpu_to_le32(0x80000001);
        expect_status(qts, &desc, DSA_STATUS_XFER_SIZE);
        desc = good(opcodes[i]);
        desc.flags_opcode |= cpu_to_le32(DSA_FLAG_RCI);
        desc.int_handle = cpu_to_le16(9);
        expect_status(qts, &desc, DSA_STATUS_INT_HANDLE);
    }
    qtest_quit(qts);
}

static void test_opcodes(void)
{
    QTestState *qts = dsa_ready("");

    for (unsigned opcode = 0; opcode < 256; opcode++) {
        DsaDesc desc = dsa_desc(opcode, 0, 0, 0, 0);
        bool known = dsa_readq(qts, A_OPCAP + opcode / 64 * 8) >>
                     opcode % 64 & 1;

        g_assert_cmpint(known, ==, opcode <= 9 || opcode == 0x20 ||
                        (opcode >= 0x10 && opcode <= 0x15));
        g_assert_cmpint(dsa_run(qts, &desc).status == DSA_STATUS_BAD_OPCODE,
                        ==, !known);
    }
    qtest_quit(qts);
}

static void test_delta_limits(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = good(DSA_OP_CREATE_DELTA);

    desc.addr1 = cpu_to_le64(SOURCE + 4);
    expect_status(qts, &desc, DSA_STATUS_ADDR_ALIGN);
    desc = good(DSA_OP_CREATE_DELTA);
    desc.size = cpu_to_le32(SIZE + 4);
    expect_status(qts, &desc, DSA_STATUS_ADDR_ALIGN);
    desc.size = cpu_to_le32(DSA_DELTA_MAX_XFER + 8);
    expect_status(qts, &desc, DSA_STATUS_XFER_SIZE);
    desc = good(DSA_OP_CREATE_DELTA);
    stl_le_p(desc.op + 8, 70);
    expect_status(qts, &desc, DSA_STATUS_DELTA_SIZE);
    /* A delta record may have any size, and begin at any address. */
    stl_le_p(desc.op + 8, 85);
    stq_le_p(desc.op, DESTINATION2 + 3);
    expect_status(qts, &desc, DSA_STATUS_SUCCESS);
    desc = good(DSA_OP_CREATE_DELTA);
    stq_le_p(desc.op, SOURCE + SIZE - 8);
    expect_status(qts, &desc, DSA_STATUS_OVERLAP);

    desc = good(DSA_OP_APPLY_DELTA);
    stl_le_p(desc.op, 11);
    expect_status(qts, &desc, DSA_STATUS_DELTA_SIZE);
    /* To continue after a page fault, one begins within a delta record. */
    desc = good(DSA_OP_APPLY_DELTA);
    desc.addr1 = cpu_to_le64(SOURCE + 10);
    expect_status(qts, &desc, DSA_STATUS_SUCCESS);
    desc = good(DSA_OP_APPLY_DELTA);
    desc.addr1 = cpu_to_le64(DESTINATION + 8);
    expect_status(qts, &desc, DSA_STATUS_OVERLAP);

    /* Entries: word 5 twice; then a word after the end */
    desc = good(DSA_OP_APPLY_DELTA);
    stl_le_p(desc.op, 20);
    qtest_writew(qts, SOURCE, 5);
    qtest_writew(qts, SOURCE + 10, 5);
    expect_status(qts, &desc, DSA_STATUS_DELTA_ORDER);
    g_assert_cmpuint(dsa_record(qts, 0).bytes_completed, ==, 10);
    qtest_writew(qts, SOURCE + 10, SIZE / 8);
    expect_status(qts, &desc, DSA_STATUS_DELTA_OFFSET);
    qtest_writew(qts, SOURCE + 10, SIZE / 8 - 1);
    expect_status(qts, &desc, DSA_STATUS_SUCCESS);

    /* A delta record that ends in no memory, behind an entry that is wrong */
    desc = good(DSA_OP_APPLY_DELTA);
    desc.addr1 = cpu_to_le64(RAM_BYTES - 20);
    stl_le_p(desc.op, 40);
    qtest_writew(qts, RAM_BYTES - 20, 5);
    qtest_writew(qts, RAM_BYTES - 10, 5);
    expect_status(qts, &desc, DSA_STATUS_DELTA_ORDER);
    g_assert_cmphex(dsa_record(qts, 0).fault_addr, ==, 0);
    qtest_quit(qts);
}

/*
 * DRAIN with addresses of a readback, which the device does not have.  dsa_test
 * of idxd-config submits it so on hardware that does not have it either.
 */
static void test_drain_addresses(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = dsa_desc(DSA_OP_DRAIN, 0, SOURCE, DESTINATION, 0);

    expect_status(qts, &desc, DSA_STATUS_SUCCESS);
    qtest_quit(qts);
}

static void test_other_limits(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = good(DSA_OP_DUALCAST);

    stq_le_p(desc.op, DESTINATION2 + 8);
    expect_status(qts, &desc, DSA_STATUS_DUALCAST_ALIGN);
    stq_le_p(desc.op, DESTINATION);
    expect_status(qts, &desc, DSA_STATUS_OVERLAP);
    desc = good(DSA_OP_COPY_CRC);
    desc.addr2 = cpu_to_le64(SOURCE + SIZE - 1);
    expect_status(qts, &desc, DSA_STATUS_OVERLAP);
    desc.addr2 = cpu_to_le64(SOURCE + SIZE);
    expect_status(qts, &desc, DSA_STATUS_SUCCESS);
    desc = good(DSA_OP_DIF_INSERT);
    desc.size = cpu_to_le32(SIZE + 8);
    expect_status(qts, &desc, DSA_STATUS_XFER_SIZE);
    desc = good(DSA_OP_DIF_INSERT);
    desc.addr2 = cpu_to_le64(SOURCE - SIZE);
    expect_status(qts, &desc, DSA_STATUS_OVERLAP);

    desc = dsa_desc(DSA_OP_BATCH, 0, DESC_LIST + 32, 0, 2);
    expect_status(qts, &desc, DSA_STATUS_DESC_LIST_ALIGN);
    desc = dsa_desc(DSA_OP_BATCH, 0, DESC_LIST, 0, 1);
    expect_status(qts, &desc, DSA_STATUS_DESC_COUNT);
    desc.size = cpu_to_le32(1025);
    expect_status(qts, &desc, DSA_STATUS_DESC_COUNT);
    qtest_quit(qts);
}

/* The device processes the bytes before the end of memory, and no others. */
static void test_page_faults(void)
{
    QTestState *qts = dsa_ready("");
    const uint32_t before = 100000, size = before + 3 * 4096;
    g_autofree uint8_t *data = dsa_random(qts, SOURCE, size);
    const uint64_t edge = RAM_BYTES - before;
    DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, edge, size);
    DsaRecord record = dsa_run(qts, &desc);

    g_assert_cmphex(record.status, ==, DSA_STATUS_PAGE_FAULT |
                    DSA_STATUS_WRITE);
    g_assert_cmpuint(record.bytes_completed, ==, before);
    g_assert_cmphex(record.fault_addr, ==, RAM_BYTES);
    dsa_expect_memory(qts, edge, data, before);

    desc = dsa_desc(DSA_OP_MEMMOVE, 0, edge, DESTINATION, size);
    record = dsa_run(qts, &desc);
    g_assert_cmphex(record.status, ==, DSA_STATUS_PAGE_FAULT);
    g_assert_cmpuint(record.bytes_completed, ==, before);
    g_assert_cmphex(record.fault_addr, ==, RAM_BYTES);
    dsa_expect_memory(qts, DESTINATION, data, before);
    g_assert_cmpuint(qtest_readq(qts, DESTINATION + before), ==, 0);

    /* The end of the address space */
    desc = dsa_desc(DSA_OP_FILL, 0, 0, UINT64_MAX - 100, size);
    record = dsa_run(qts, &desc);
    g_assert_cmphex(record.status, ==, DSA_STATUS_PAGE_FAULT |
                    DSA_STATUS_WRITE);
    g_assert_cmpuint(record.bytes_completed, ==, 0);

    for (unsigned i = 0; i < ARRAY_SIZE(opcodes); i++) {
        bool read = opcodes[i] != DSA_OP_FILL &&
                    opcodes[i] != DSA_OP_CACHE_FLUSH;

        desc = good(opcodes[i]);
        *(read ? &desc.addr1 : &desc.addr2) = cpu_to_le64(OUTSIDE);
        record = dsa_run(qts, &desc);
        g_assert_cmphex(record.status, ==, DSA_STATUS_PAGE_FAULT |
                        (read ? 0 : DSA_STATUS_WRITE));
        g_assert_cmphex(record.fault_addr, ==, OUTSIDE);
        g_assert_cmpuint(record.bytes_completed, ==, 0);
    }

    desc = dsa_desc(DSA_OP_BATCH, 0, RAM_BYTES - 64, 0, 2);
    qtest_memset(qts, RAM_BYTES - 64, 0, 64);
    record = dsa_run(qts, &desc);
    g_assert_cmphex(record.status, ==, DSA_STATUS_BATCH_PAGE_FAULT);
    g_assert_cmpuint(record.bytes_completed, ==, 1);
    g_assert_cmphex(record.fault_addr, ==, RAM_BYTES);
    qtest_quit(qts);
}

/* Nothing after a page that faults is written.  Here it is firmware's ROM. */
static void test_behind_fault(void)
{
    QTestState *qts = dsa_ready("");
    const uint64_t rom_end = 0x100000, before = 0x80;
    DsaDesc desc = dsa_desc(DSA_OP_FILL, 500, UINT64_MAX, rom_end - before,
                            2 * before);
    DsaRecord record = dsa_run(qts, &desc);

    g_assert_cmphex(record.status, ==, DSA_STATUS_PAGE_FAULT |
                    DSA_STATUS_WRITE);
    g_assert_cmpuint(record.bytes_completed, ==, 0);
    g_assert_cmphex(record.fault_addr, ==, rom_end - before);
    g_assert_cmphex(qtest_readq(qts, rom_end), ==, 0);
    qtest_quit(qts);
}

/* The device's own registers and portals do not count as memory. */
static void test_own_registers(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = dsa_desc(DSA_OP_FILL, 0, 0, DSA_MMIO + A_CMD, 4096);

    expect_status(qts, &desc, DSA_STATUS_PAGE_FAULT | DSA_STATUS_WRITE);
    desc.addr2 = cpu_to_le64(DSA_PORTALS);
    expect_status(qts, &desc, DSA_STATUS_PAGE_FAULT | DSA_STATUS_WRITE);
    qtest_quit(qts);
}

static uint64_t swerror(QTestState *qts)
{
    return dsa_readq(qts, A_SWERR0);
}

static void clear_swerror(QTestState *qts)
{
    dsa_writel(qts, A_SWERR0, R_SWERR0_VALID_MASK | R_SWERR0_OVERFLOW_MASK);
    g_assert_cmphex(swerror(qts) & 3, ==, 0);
}

/* SWERROR reports what a completion record cannot. */
static void test_swerror(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 64);
    uint64_t value;

    dsa_enable_msix(qts, 9);
    dsa_writel(qts, A_GENCTRL, R_GENCTRL_SOFTERR_INT_MASK);
    desc.completion = cpu_to_le64(RECORDS + 8);
    dsa_run(qts, &desc);
    value = swerror(qts);
    g_assert_cmphex(FIELD_EX64(value, SWERR0, VALID), ==, 1);
    g_assert_cmphex(FIELD_EX64(value, SWERR0, DESC_VALID), ==, 1);
    g_assert_cmphex(FIELD_EX64(value, SWERR0, WQ_VALID), ==, 1);
    g_assert_cmphex(FIELD_EX64(value, SWERR0, WQ), ==, 0);
    g_assert_cmphex(FIELD_EX64(value, SWERR0, OPCODE), ==, DSA_OP_MEMMOVE);
    g_assert_cmphex(FIELD_EX64(value, SWERR0, ERROR), ==,
                    DSA_STATUS_CRA_ALIGN);
    g_assert_cmphex(dsa_readq(qts, A_SWERR2), ==, RECORDS + 8);
    g_assert_cmphex(dsa_readl(qts, A_INTCAUSE), ==, DSA_INTCAUSE_ERR);
    g_assert_true(dsa_message(qts, 0));
    dsa_run(qts, &desc);
    g_assert_cmphex(FIELD_EX64(swerror(qts), SWERR0, OVERFLOW), ==, 1);
    g_assert_false(dsa_message(qts, 0));
    clear_swerror(qts);

    desc.completion = cpu_to_le64(OUTSIDE);
    dsa_submit(qts, 0, &desc);
    qtest_clock_step(qts, 1000000);
    value = swerror(qts);
    g_assert_cmphex(FIELD_EX64(value, SWERR0, ERROR), ==,
                    DSA_STATUS_CRA_FAULT);
    g_assert_cmphex(FIELD_EX64(value, SWERR0, WRITE), ==, 1);
    g_assert_cmphex(dsa_readq(qts, A_SWERR2), ==, OUTSIDE);
    clear_swerror(qts);

    /* Without a record */
    desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, OUTSIDE, 64);
    desc.flags_opcode = cpu_to_le32(DSA_OP_MEMMOVE << 24);
    dsa_run(qts, &desc);
    g_assert_cmphex(FIELD_EX64(swerror(qts), SWERR0, ERROR), ==,
                    DSA_STATUS_RESERVED_FIELD);
    clear_swerror(qts);
    desc.completion = 0;
    dsa_submit(qts, 0, &desc);
    qtest_clock_step(qts, 1000000);
    value = swerror(qts);
    g_assert_cmphex(FIELD_EX64(value, SWERR0, ERROR), ==,
                    DSA_STATUS_PAGE_FAULT);
    g_assert_cmphex(FIELD_EX64(value, SWERR0, WRITE), ==, 1);
    g_assert_cmphex(dsa_readq(qts, A_SWERR2), ==, OUTSIDE);
    clear_swerror(qts);
    desc.flags_opcode |= cpu_to_le32(DSA_FLAG_RCR);
    dsa_submit(qts, 0, &desc);
    qtest_clock_step(qts, 1000000);
    g_assert_cmphex(FIELD_EX64(swerror(qts), SWERR0, ERROR), ==,
                    DSA_STATUS_INVALID_FLAGS);
    g_assert_cmphex(dsa_readq(qts, A_SWERR1) >> 32, ==, DSA_FLAG_RCR);
    qtest_quit(qts);
}

/*
 * SWERROR reports a full WQ.  Descriptors of a dedicated WQ have the PASID of
 * its configuration, if any.
 */
static void test_full(void)
{
    QTestState *qts = dsa_start("");
    DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 1 << 20);

    desc.pasid = cpu_to_le32(0x80012345);
    dsa_configure(qts, 1, 1, 1);
    dsa_enable(qts, 1);
    for (unsigned i = 0; i < 64; i++) {
        dsa_submit(qts, 0, &desc);
    }
    g_assert_cmphex(FIELD_EX64(swerror(qts), SWERR0, ERROR), ==,
                    DSA_ERROR_DWQ_FULL);
    g_assert_cmphex(FIELD_EX64(swerror(qts), SWERR0, PASID), ==, 0);
    g_assert_cmphex(FIELD_EX64(swerror(qts), SWERR0, PRIV), ==, 0);
    qtest_quit(qts);
}

/* The event log takes the errors until it is full. */
static void test_event_log(void)
{
    QTestState *qts = dsa_start("");
    DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 64);
    uint64_t entry;

    dsa_configure(qts, 1, 1, 128);
    dsa_writeq(qts, A_EVLCFG0, EVENT_LOG);
    dsa_writeq(qts, A_EVLCFG1, 64);
    dsa_writel(qts, A_GENCFG, R_GENCFG_EVL_EN_MASK);
    dsa_writel(qts, A_GENCTRL, R_GENCTRL_EVL_INT_MASK);
    dsa_enable_msix(qts, 9);
    dsa_enable(qts, 1);

    desc.completion = cpu_to_le64(OUTSIDE);
    dsa_submit(qts, 0, &desc);
    qtest_clock_step(qts, 1000000);
    g_assert_cmphex(swerror(qts), ==, 0);
    g_assert_cmphex(dsa_readl(qts, A_EVLSTATUS + 4), ==, 1u << 30 | 1);
    g_assert_cmphex(dsa_readl(qts, A_INTCAUSE), ==, DSA_INTCAUSE_EVL);
    g_assert_true(dsa_message(qts, 0));
    entry = qtest_readq(qts, EVENT_LOG);
    g_assert_cmphex(FIELD_EX64(entry, SWERR0, ERROR), ==,
                    DSA_STATUS_CRA_FAULT);
    g_assert_cmphex(FIELD_EX64(entry, SWERR0, OPCODE), ==, DSA_OP_MEMMOVE);
    g_assert_cmphex(qtest_readq(qts, EVENT_LOG + 16), ==, OUTSIDE);
    /* The record that could not be written */
    g_assert_cmphex(qtest_readb(qts, EVENT_LOG + 32), ==, DSA_STATUS_SUCCESS);
    g_assert_cmpuint(qtest_readl(qts, EVENT_LOG + 36), ==, 0);

    for (int i = 0; i < 62; i++) {
        dsa_submit(qts, 0, &desc);
    }
    qtest_clock_step(qts, 100000000);
    g_assert_false(dsa_message(qts, 0));
    g_assert_cmphex(dsa_readl(qts, A_EVLSTATUS + 4), ==, 1u << 30 | 63);
    g_assert_cmphex(swerror(qts), ==, 0);
    dsa_submit(qts, 0, &desc);
    qtest_clock_step(qts, 1000000);
    g_assert_cmphex(FIELD_EX64(swerror(qts), SWERR0, VALID), ==, 1);
    g_assert_cmphex(FIELD_EX64(swerror(qts), SWERR0, ERROR), ==,
                    DSA_ERROR_EVL);

    dsa_writel(qts, A_EVLSTATUS + 4, 1u << 30);
    dsa_writel(qts, A_EVLSTATUS, 63);
    dsa_submit(qts, 0, &desc);
    qtest_clock_step(qts, 1000000);
    g_assert_cmphex(dsa_readq(qts, A_EVLSTATUS), ==, 1ull << 62 | 63);
    g_assert_true(dsa_message(qts, 0));
    qtest_quit(qts);
}

/* Portals ignore writes other than those that MOVDIR64B makes. */
static void test_portals(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = dsa_desc(DSA_OP_NOOP, 0, 0, 0, 0);
    uint64_t words[8];

    memcpy(words, &desc, sizeof(words));
    /* Seven words, the seventh again, then the last word */
    for (int i = 0; i < 7; i++) {
        qtest_writeq(qts, DSA_PORTALS + i * 8, le64_to_cpu(words[i]));
    }
    qtest_writeq(qts, DSA_PORTALS + 48, le64_to_cpu(words[6]));
    qtest_writeq(qts, DSA_PORTALS + 56, le64_to_cpu(words[7]));
    qtest_clock_step(qts, 1000000);
    g_assert_cmphex(dsa_record(qts, 0).status, ==, 0);
    /* In 16 parts */
    for (int i = 0; i < 16; i++) {
        qtest_writel(qts, DSA_PORTALS + i * 4, words[i / 2] >> i % 2 * 32);
    }
    qtest_clock_step(qts, 1000000);
    g_assert_cmphex(dsa_record(qts, 0).status, ==, 0);
    /* All four pages work, at any offset. */
    for (unsigned page = 0; page < 4; page++) {
        qtest_memset(qts, RECORDS, 0, DSA_RECORD_SIZE);
        qtest_memwrite(qts, DSA_PORTALS + page * DSA_PORTAL_PAGE + 0xfc0,
                       &desc, sizeof(desc));
        qtest_clock_step(qts, 1000000);
        g_assert_cmphex(dsa_record(qts, 0).status, ==, DSA_STATUS_SUCCESS);
    }
    /* WQs that are not enabled: the second one and the last one */
    qtest_memset(qts, RECORDS, 0, DSA_RECORD_SIZE);
    dsa_submit(qts, 1, &desc);
    qtest_memwrite(qts, DSA_PORTALS + 7 * DSA_PORTALS_SIZE, &desc,
                   sizeof(desc));
    qtest_clock_step(qts, 1000000);
    g_assert_cmphex(dsa_record(qts, 0).status, ==, 0);
    qtest_quit(qts);
}

/* Registers of QEMU's VT-d unit, and commands (VT-d specification, 11.4) */
#define VTD             0xfed90000
#define VTD_GCMD        (VTD + 0x18)
#define VTD_RTADDR      (VTD + 0x20)
#define VTD_SRTP        (1u << 30)
#define VTD_TE          (1u << 31)
/* Its tables: they map memory, and nothing outside */
#define ROOT_TABLE      0x200000
#define CONTEXT_TABLE   0x201000
#define LEVEL3_TABLE    0x202000
#define LEVEL2_TABLE    0x203000
#define DSA_DEVFN       (4 << 3)

static void enable_iommu(QTestState *qts)
{
    qtest_writeq(qts, ROOT_TABLE, CONTEXT_TABLE | 1);
    /* Domain 1, with three levels of tables */
    qtest_writeq(qts, CONTEXT_TABLE + DSA_DEVFN * 16, LEVEL3_TABLE | 1);
    qtest_writeq(qts, CONTEXT_TABLE + DSA_DEVFN * 16 + 8, 1 << 8 | 1);
    qtest_writeq(qts, LEVEL3_TABLE, LEVEL2_TABLE | 3);
    for (uint64_t at = 0; at < RAM_BYTES; at += 2 * MiB) {
        qtest_writeq(qts, LEVEL2_TABLE + at / (2 * MiB) * 8, at | 0x83);
    }
    qtest_writeq(qts, VTD_RTADDR, ROOT_TABLE);
    qtest_writel(qts, VTD_GCMD, VTD_SRTP);
    qtest_writel(qts, VTD_GCMD, VTD_TE);
}

/* What @log has not been read of is one fault, at @addr. */
static void expect_one_fault(FILE *log, uint64_t addr, bool write)
{
    g_autofree char *want = g_strdup_printf(
        "vtd_dmar_fault sid 0x%x fault %d addr 0x%" PRIx64 " write %d\n",
        DSA_DEVFN, write ? 5 : 6, addr, write);
    char line[200] = "";

    clearerr(log);
    g_assert_nonnull(fgets(line, sizeof(line), log));
    g_assert_cmpstr(line, ==, want);
    g_assert_null(fgets(line, sizeof(line), log));
}

/* A request that the IOMMU cannot translate is made once, and is the last. */
static void test_iommu_faults(void)
{
    g_autofree char *name = NULL;
    int fd = g_file_open_tmp("intel-dsa-XXXXXX", &name, NULL);
    QTestState *qts;
    FILE *log;
    DsaRecord record;
    DsaDesc desc;

    g_assert_cmpint(fd, >=, 0);
    log = fdopen(fd, "r");
    qts = qtest_initf("-machine q35 -m 128M -nodefaults -device intel-iommu "
                      "-device intel-dsa,addr=4 -trace vtd_dmar_fault -D %s",
                      name);
    dsa_map(qts);
    enable_iommu(qts);
    dsa_configure(qts, 1, 1, 16);
    dsa_enable(qts, 1);
    qtest_memset(qts, SOURCE, 0, 16);
    for (unsigned i = 0; i < ARRAY_SIZE(opcodes); i++) {
        bool read = opcodes[i] != DSA_OP_FILL &&
                    opcodes[i] != DSA_OP_CACHE_FLUSH;

        /* If a source fails, no destination is touched. */
        desc = good(opcodes[i]);
        if (read) {
            desc.addr1 = cpu_to_le64(OUTSIDE);
        }
        if (opcodes[i] != DSA_OP_COMPARE_PATTERN && desc.addr2) {
            desc.addr2 = cpu_to_le64(OUTSIDE + 2 * SIZE);
        }
        record = dsa_run(qts, &desc);
        g_assert_cmphex(record.status, ==, DSA_STATUS_PAGE_FAULT |
                        (read ? 0 : DSA_STATUS_WRITE));
        g_assert_cmphex(record.fault_addr, ==,
                        read ? OUTSIDE : OUTSIDE + 2 * SIZE);
        expect_one_fault(log, record.fault_addr, !read);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(opcodes); i++) {
        bool write = opcodes[i] != DSA_OP_COMPARE &&
                     opcodes[i] != DSA_OP_CREATE_DELTA;

        desc = good(opcodes[i]);
        if (!desc.addr2 || opcodes[i] == DSA_OP_COMPARE_PATTERN) {
            continue;
        }
        qtest_memset(qts, SOURCE, opcodes[i] == DSA_OP_APPLY_DELTA ? 0 : 0xff,
                     2 * SIZE);
        desc.addr2 = cpu_to_le64(OUTSIDE);
        record = dsa_run(qts, &desc);
        g_assert_cmphex(record.status, ==, DSA_STATUS_PAGE_FAULT |
                        (write ? DSA_STATUS_WRITE : 0));
        g_assert_cmphex(record.fault_addr, ==, OUTSIDE);
        expect_one_fault(log, OUTSIDE, write);
    }

    /* The second destination */
    desc = good(DSA_OP_DUALCAST);
    stq_le_p(desc.op, OUTSIDE);
    record = dsa_run(qts, &desc);
    g_assert_cmphex(record.fault_addr, ==, OUTSIDE);
    expect_one_fault(log, OUTSIDE, true);

    /* In the middle of a source, and of a destination */
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t before = 3 * MiB;
        const uint64_t edge = RAM_BYTES - before;

        desc = dsa_desc(DSA_OP_MEMMOVE, 0, i ? SOURCE : edge,
                        i ? edge : DESTINATION, before + 3 * SIZE);
        record = dsa_run(qts, &desc);
        g_assert_cmpuint(record.bytes_completed, ==, before);
        g_assert_cmphex(record.fault_addr, ==, RAM_BYTES);
        expect_one_fault(log, RAM_BYTES, i);
    }

    /* A list of descriptors, and a completion record */
    desc = dsa_desc(DSA_OP_BATCH, 0, OUTSIDE, 0, 2);
    record = dsa_run(qts, &desc);
    g_assert_cmphex(record.status, ==, DSA_STATUS_BATCH_PAGE_FAULT);
    expect_one_fault(log, OUTSIDE, false);
    desc = good(DSA_OP_MEMMOVE);
    desc.completion = cpu_to_le64(OUTSIDE);
    dsa_run(qts, &desc);
    expect_one_fault(log, OUTSIDE + 8, true);
    qtest_quit(qts);
    fclose(log);
    unlink(name);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("intel-dsa/malformed", test_malformed);
    qtest_add_func("intel-dsa/opcodes", test_opcodes);
    qtest_add_func("intel-dsa/delta-limits", test_delta_limits);
    qtest_add_func("intel-dsa/other-limits", test_other_limits);
    qtest_add_func("intel-dsa/drain-addresses", test_drain_addresses);
    qtest_add_func("intel-dsa/page-faults", test_page_faults);
    qtest_add_func("intel-dsa/behind-fault", test_behind_fault);
    qtest_add_func("intel-dsa/iommu-faults", test_iommu_faults);
    qtest_add_func("intel-dsa/full-queue", test_full);
    qtest_add_func("intel-dsa/own-registers", test_own_registers);
    qtest_add_func("intel-dsa/swerror", test_swerror);
    qtest_add_func("intel-dsa/event-log", test_event_log);
    qtest_add_func("intel-dsa/portals", test_portals);
    return g_test_run();
}
