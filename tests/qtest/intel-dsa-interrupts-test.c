/*
 * Test the interrupts of intel-dsa, the halt state, and the event log.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Section numbers: Intel, "Data Streaming Accelerator Architecture
 * Specification", revision 3.0.
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "intel-dsa/machine.h"

static void submit_at(QTestState *qts, uint64_t portal, const DsaDesc *desc)
{
    qtest_memwrite(qts, DSA_PORTALS + portal, desc, sizeof(*desc));
    qtest_clock_step(qts, 1000000);
}

static uint32_t ims_control(QTestState *qts, unsigned i)
{
    return dsa_readl(qts, DSA_IMS_BASE + i * DSA_IMS_ENTRY_SIZE + 12);
}

static void set_ims_control(QTestState *qts, unsigned i, uint32_t value)
{
    dsa_writel(qts, DSA_IMS_BASE + i * DSA_IMS_ENTRY_SIZE + 12, value);
}

/* The portal decides to which table a handle belongs (3.7, 9.2.28). */
static void test_ims(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = dsa_interrupting(255);
    const uint64_t entry = DSA_IMS_BASE + 255 * DSA_IMS_ENTRY_SIZE;

    dsa_enable_msix(qts, 9);
    /* Entry 255 is masked after a reset: the interrupt is pending. */
    g_assert_cmphex(ims_control(qts, 255), ==, R_IMSCTL_MASK_MASK);
    submit_at(qts, DSA_PORTAL_IMS, &desc);
    g_assert_cmphex(dsa_record(qts, 0).status, ==, DSA_STATUS_SUCCESS);
    g_assert_cmphex(ims_control(qts, 255), ==,
                    R_IMSCTL_MASK_MASK | R_IMSCTL_PENDING_MASK);
    set_ims_control(qts, 255, 0);
    g_assert_cmphex(ims_control(qts, 255), ==, 0);
    /* An entry that is to be ignored does not become pending. */
    set_ims_control(qts, 255, R_IMSCTL_MASK_MASK | R_MSIXPERM_IGNORE_MASK);
    submit_at(qts, DSA_PORTAL_IMS | DSA_PORTAL_LIMITED, &desc);
    g_assert_cmphex(dsa_record(qts, 0).status, ==, DSA_STATUS_SUCCESS);
    g_assert_cmphex(ims_control(qts, 255), ==,
                    R_IMSCTL_MASK_MASK | R_MSIXPERM_IGNORE_MASK);
    /* An entry for a PASID, one that does not exist, one of the MSI-X table */
    set_ims_control(qts, 255, R_MSIXPERM_PASID_EN_MASK);
    submit_at(qts, DSA_PORTAL_IMS, &desc);
    g_assert_cmphex(dsa_record(qts, 0).status, ==, DSA_STATUS_INT_HANDLE);
    desc = dsa_interrupting(256);
    submit_at(qts, DSA_PORTAL_IMS, &desc);
    g_assert_cmphex(dsa_record(qts, 0).status, ==, DSA_STATUS_INT_HANDLE);
    desc = dsa_interrupting(255);
    submit_at(qts, 0, &desc);
    g_assert_cmphex(dsa_record(qts, 0).status, ==, DSA_STATUS_INT_HANDLE);
    for (unsigned i = 0; i < 9; i++) {
        g_assert_false(dsa_message(qts, i));
    }
    /* An entry only takes addresses of interrupts. */
    dsa_writeq(qts, entry, 0xfee01237);
    g_assert_cmphex(dsa_readq(qts, entry), ==, 0xfee01234);
    dsa_writeq(qts, entry, MESSAGES);
    dsa_writel(qts, entry + 4, 1);
    g_assert_cmphex(dsa_readq(qts, entry), ==, 0xfee01234);
    qtest_quit(qts);
}

/* Without IMS, the IMS portals do not exist; writes to them are lost. */
static void test_no_ims(void)
{
    QTestState *qts = dsa_ready(",ims-entries=0");
    DsaDesc desc = dsa_desc(DSA_OP_NOOP, 0, 0, 0, 0);

    g_assert_cmphex(dsa_readq(qts, A_GENCAP) >> 25 & 0x3f, ==, 0);
    for (unsigned page = 0; page < 4; page++) {
        qtest_memset(qts, RECORDS, 0, DSA_RECORD_SIZE);
        submit_at(qts, page * DSA_PORTAL_PAGE, &desc);
        g_assert_cmphex(dsa_record(qts, 0).status, ==,
                        page < 2 ? DSA_STATUS_SUCCESS : 0);
    }
    g_assert_cmphex(dsa_readq(qts, A_SWERR0), ==, 0);
    qtest_quit(qts);
}

/* An interrupt when a WQ holds no more descriptors than its limit (9.2.24) */
static void test_occupancy(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc copy = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 300000);
    const uint64_t cfg = DSA_WQCFG_BASE;

    dsa_enable_msix(qts, 9);
    /* Eight are in the engine, ten wait. */
    for (unsigned i = 0; i < 18; i++) {
        dsa_submit(qts, 0, &copy);
    }
    /* The handle of an enabled WQ cannot change: it stays MSI-X entry 0. */
    dsa_writel(qts, cfg + 16, 5);
    g_assert_cmphex(dsa_readl(qts, cfg + 16), ==, 0);
    dsa_writel(qts, cfg + 20, R_WQCFG5_INT_ENABLE_MASK | 8);
    /* The limit cannot change while the interrupt is enabled. */
    dsa_writel(qts, cfg + 20, R_WQCFG5_INT_ENABLE_MASK | 9);
    g_assert_cmphex(dsa_readl(qts, cfg + 20), ==,
                    R_WQCFG5_INT_ENABLE_MASK | 8);
    qtest_clock_step(qts, 11500);
    g_assert_false(dsa_message(qts, 0));
    qtest_clock_step(qts, 10000);
    g_assert_true(dsa_message(qts, 0));
    g_assert_cmphex(dsa_readl(qts, A_INTCAUSE), ==, DSA_INTCAUSE_OCCUPANCY);
    g_assert_cmphex(dsa_readl(qts, cfg + 24) & R_WQCFG6_INT_GENERATED_MASK,
                    !=, 0);
    /* There is no other interrupt until this one is acknowledged. */
    qtest_clock_step(qts, 1000000);
    g_assert_false(dsa_message(qts, 0));
    dsa_writel(qts, cfg + 24, R_WQCFG6_INT_GENERATED_MASK);
    g_assert_true(dsa_message(qts, 0));
    dsa_writel(qts, cfg + 20, 0);
    dsa_writel(qts, cfg + 24, R_WQCFG6_INT_GENERATED_MASK);
    g_assert_false(dsa_message(qts, 0));

    /* The WQ has an entry of its own.  The interrupt comes when the WQ is
     * enabled, and sets no cause. */
    dsa_writel(qts, A_INTCAUSE, UINT32_MAX);
    g_assert_cmphex(dsa_command(qts, DSA_CMD_DISABLE_WQ, 1), ==, 0);
    dsa_writel(qts, cfg + 16, 5);
    dsa_writel(qts, cfg + 20, R_WQCFG5_INT_ENABLE_MASK);
    g_assert_false(dsa_message(qts, 5));
    g_assert_cmphex(dsa_command(qts, DSA_CMD_ENABLE_WQ, 0), ==, 0);
    g_assert_true(dsa_message(qts, 5));
    g_assert_cmphex(dsa_readl(qts, A_INTCAUSE), ==, 0);
    qtest_quit(qts);
}

/* A WQ accepts only those operations that it is configured for. */
static void test_operations(void)
{
    QTestState *qts = dsa_start("");
    DsaDesc noop = dsa_desc(DSA_OP_NOOP, 0, 0, 0, 0);
    DsaDesc copy = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 64);
    DsaDesc flush = dsa_desc(DSA_OP_CACHE_FLUSH, 0, 0, DESTINATION, 64);

    dsa_configure(qts, 1, 1, 16);
    dsa_writel(qts, DSA_WQCFG_BASE + DSA_WQCFG_OPCFG, 1 << DSA_OP_MEMMOVE);
    dsa_enable(qts, 1);
    g_assert_cmphex(dsa_run(qts, &copy).status, ==, DSA_STATUS_SUCCESS);
    g_assert_cmphex(dsa_run(qts, &noop).status, ==, DSA_STATUS_BAD_OPCODE);
    g_assert_cmphex(dsa_run(qts, &flush).status, ==, DSA_STATUS_SUCCESS);
    qtest_quit(qts);
}

/* An operation with a result needs a record, and a drain a record or an
 * interrupt (5-5). */
static void test_required_flags(void)
{
    static const uint8_t opcodes[] = {
        DSA_OP_COMPARE, DSA_OP_COMPARE_PATTERN, DSA_OP_CREATE_DELTA,
        DSA_OP_CRC, DSA_OP_COPY_CRC, DSA_OP_DIF_CHECK, DSA_OP_DRAIN,
    };
    QTestState *qts = dsa_ready("");
    DsaDesc drain = dsa_interrupting(1);

    for (unsigned i = 0; i < ARRAY_SIZE(opcodes); i++) {
        DsaDesc desc = dsa_desc(opcodes[i], 0, 0, 0, 0);
        DsaRecord record;

        desc.flags_opcode &= ~cpu_to_le32(DSA_FLAG_RCR);
        record = dsa_run(qts, &desc);
        g_assert_cmphex(record.status, ==, DSA_STATUS_INVALID_FLAGS);
        g_assert_cmphex(ldl_le_p(record.op), ==, DSA_FLAG_RCR);
    }
    drain.flags_opcode = cpu_to_le32(DSA_OP_DRAIN << 24 | DSA_FLAG_RCI);
    drain.completion = 0;
    dsa_submit(qts, 0, &drain);
    qtest_clock_step(qts, 1000000);
    g_assert_cmphex(dsa_readq(qts, A_SWERR0), ==, 0);
    qtest_quit(qts);
}

/* Clearing the bus master bit halts an enabled device (5.7). */
static void test_halt(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc copy = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 1 << 20);

    dsa_writel(qts, A_GENCTRL, R_GENCTRL_HALT_INT_MASK);
    dsa_submit(qts, 0, &copy);
    dsa_submit(qts, 0, &copy);
    qtest_clock_step(qts, 1000);
    dsa_writel(qts, A_CMD, DSA_CMD_DRAIN_ALL << 20);
    dsa_pci_write(qts, 4, 2);
    g_assert_cmphex(dsa_readl(qts, A_GENSTS), ==, DSA_STATE_HALT);
    g_assert_cmphex(dsa_readl(qts, A_CMDSTS), ==, DSA_CMD_HW_ERROR);
    g_assert_cmphex(FIELD_EX64(dsa_readq(qts, A_SWERR0), SWERR0, ERROR), ==,
                    DSA_ERROR_PCI_CONFIG);
    g_assert_cmphex(dsa_readl(qts, A_INTCAUSE), ==, DSA_INTCAUSE_HALT);
    /* A halted device does nothing and accepts no command but a reset. */
    dsa_pci_write(qts, 4, 6);
    dsa_submit(qts, 0, &copy);
    qtest_clock_step(qts, 1000000);
    g_assert_cmphex(dsa_record(qts, 0).status, ==, 0);
    for (unsigned code = DSA_CMD_ENABLE_DEVICE; code <= DSA_CMD_ABORT_PASID;
         code++) {
        if (code != DSA_CMD_RESET_DEVICE) {
            g_assert_cmphex(dsa_command(qts, code, 1), ==, DSA_CMD_HALTED);
        }
    }
    g_assert_cmphex(dsa_command(qts, DSA_CMD_RESET_DEVICE, 0), ==, 0);
    g_assert_cmphex(dsa_readl(qts, A_GENSTS), ==, DSA_STATE_DISABLED);
    /* SWERROR still reports the error. */
    g_assert_cmphex(FIELD_EX64(dsa_readq(qts, A_SWERR0), SWERR0, ERROR), ==,
                    DSA_ERROR_PCI_CONFIG);
    dsa_configure(qts, 1, 1, 16);
    dsa_enable(qts, 1);
    g_assert_cmphex(dsa_run(qts, &copy).status, ==, DSA_STATUS_SUCCESS);
    /* While the device is disabled, the bit may change. */
    g_assert_cmphex(dsa_command(qts, DSA_CMD_DISABLE_DEVICE, 0), ==, 0);
    dsa_pci_write(qts, 4, 2);
    g_assert_cmphex(dsa_readl(qts, A_GENSTS), ==, DSA_STATE_DISABLED);
    qtest_quit(qts);
}

static uint8_t entry_error(QTestState *qts, unsigned entry)
{
    return FIELD_EX64(dsa_log_word(qts, entry, 0), SWERR0, ERROR);
}

/*
 * If a record in a batch cannot be written and goes to the event log, so does
 * the batch's own record.  A drain's record always does (5.9).
 */
static void test_event_log(void)
{
    QTestState *qts = dsa_ready_with_log();
    DsaDesc batch = dsa_desc(DSA_OP_BATCH, 9, DESC_LIST, 0, 3);
    DsaDesc drain = dsa_desc(DSA_OP_DRAIN, 8, 0, 0, 0);
    DsaDesc list[3];
    uint64_t word;

    for (unsigned i = 0; i < 3; i++) {
        list[i] = dsa_desc(DSA_OP_NOOP, i, 0, 0, 0);
    }
    list[1] = dsa_interrupting(4);
    list[1].completion = cpu_to_le64(OUTSIDE);
    list[2].completion = cpu_to_le64(OUTSIDE + 32);
    qtest_memwrite(qts, DESC_LIST, list, sizeof(list));
    dsa_run(qts, &batch);
    g_assert_cmphex(dsa_readl(qts, A_EVLSTATUS + 4), ==, 3);
    g_assert_cmphex(dsa_record(qts, 0).status, ==, DSA_STATUS_SUCCESS);
    g_assert_cmphex(dsa_record(qts, 9).status, ==, 0);
    /* Software must write the record and handle the interrupt. */
    g_assert_false(dsa_message(qts, 4));
    g_assert_cmphex(entry_error(qts, 0), ==, DSA_STATUS_CRA_FAULT);
    word = dsa_log_word(qts, 0, 1);
    g_assert_cmphex(FIELD_EX64(word, SWERR1, BATCH_INDEX), ==, 1);
    g_assert_cmphex(FIELD_EX64(word, SWERR1, FIRST_IN_BATCH), ==, 1);
    g_assert_cmphex(FIELD_EX64(word, SWERR1, RECORD_REQUIRED), ==, 1);
    g_assert_cmphex(FIELD_EX64(word, SWERR1, INT_REQUIRED), ==, 1);
    g_assert_cmphex(FIELD_EX64(word, SWERR1, INT_HANDLE), ==, 4);
    g_assert_cmphex(dsa_log_word(qts, 0, 2), ==, OUTSIDE);
    word = dsa_log_word(qts, 1, 1);
    g_assert_cmphex(entry_error(qts, 1), ==, DSA_STATUS_CRA_FAULT);
    g_assert_cmphex(FIELD_EX64(word, SWERR1, FIRST_IN_BATCH), ==, 0);
    g_assert_cmphex(FIELD_EX64(word, SWERR1, INT_REQUIRED), ==, 0);
    g_assert_cmphex(entry_error(qts, 2), ==, DSA_STATUS_BATCH_LOGGED);
    g_assert_cmphex(dsa_log_word(qts, 2, 2), ==,
                    RECORDS + 9 * DSA_RECORD_SIZE);
    g_assert_cmphex(dsa_log_word(qts, 2, 4) & 0xff, ==, DSA_STATUS_SUCCESS);
    g_assert_cmphex(dsa_log_word(qts, 2, 4) >> 32, ==, 3);

    /* The record of a batch without such members is written as usual. */
    list[1].completion = list[2].completion = list[0].completion;
    qtest_memwrite(qts, DESC_LIST, list, sizeof(list));
    g_assert_cmphex(dsa_run(qts, &batch).status, ==, DSA_STATUS_SUCCESS);
    g_assert_true(dsa_message(qts, 4));
    /* The record of a drain always goes to the event log. */
    g_assert_cmphex(dsa_run(qts, &drain).status, ==, 0);
    g_assert_cmphex(dsa_readl(qts, A_EVLSTATUS + 4), ==, 4);
    g_assert_cmphex(entry_error(qts, 3), ==, DSA_STATUS_DRAIN_LOGGED);
    g_assert_cmphex(dsa_log_word(qts, 3, 2), ==,
                    RECORDS + 8 * DSA_RECORD_SIZE);
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("intel-dsa/ims", test_ims);
    qtest_add_func("intel-dsa/no-ims", test_no_ims);
    qtest_add_func("intel-dsa/occupancy-interrupt", test_occupancy);
    qtest_add_func("intel-dsa/allowed-operations", test_operations);
    qtest_add_func("intel-dsa/required-flags", test_required_flags);
    qtest_add_func("intel-dsa/halt", test_halt);
    qtest_add_func("intel-dsa/logged-records", test_event_log);
    return g_test_run();
}
