/*
 * Test when intel-dsa writes a completion record, and what is in it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Section numbers: Intel, "Data Streaming Accelerator Architecture
 * Specification", revision 3.0.
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "intel-dsa/machine.h"

#define SIZE    4096

static uint32_t log_tail(QTestState *qts)
{
    return FIELD_EX64(dsa_readq(qts, A_EVLSTATUS), EVLSTATUS, TAIL);
}

/* An invalid handle is reported in the record and in the event log (5.4). */
static void test_handle(void)
{
    QTestState *qts = dsa_ready_with_log();
    DsaDesc desc = dsa_interrupting(0xffff);
    uint64_t word;

    g_assert_cmphex(dsa_run(qts, &desc).status, ==, DSA_STATUS_INT_HANDLE);
    g_assert_cmpuint(log_tail(qts), ==, 1);
    g_assert_cmphex(FIELD_EX64(dsa_log_word(qts, 0, 0), SWERR0, ERROR), ==,
                    DSA_STATUS_INT_HANDLE);
    word = dsa_log_word(qts, 0, 1);
    g_assert_cmphex(FIELD_EX64(word, SWERR1, INT_HANDLE), ==, 0xffff);
    g_assert_cmphex(FIELD_EX64(word, SWERR1, RECORD_REQUIRED), ==, 1);
    g_assert_cmphex(dsa_log_word(qts, 0, 4) & 0xff, ==, DSA_STATUS_INT_HANDLE);
    qtest_quit(qts);
}

/*
 * Without "request completion record", the device writes a record only for a
 * failure.  A batch with members that failed does not count as one (8.1.3).
 */
static void test_not_requested(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc batch = dsa_desc(DSA_OP_BATCH, 9, DESC_LIST, 0, 2);
    DsaDesc copy = dsa_desc(DSA_OP_MEMMOVE, 8, SOURCE, OUTSIDE, SIZE);
    DsaDesc list[2] = {
        dsa_desc(DSA_OP_NOOP, 0, 0, 0, 0),
        dsa_desc(DSA_OP_MEMMOVE, 1, SOURCE, OUTSIDE, SIZE),
    };

    batch.flags_opcode &= cpu_to_le32(~DSA_FLAG_RCR);
    copy.flags_opcode &= cpu_to_le32(~DSA_FLAG_RCR);
    qtest_memwrite(qts, DESC_LIST, list, sizeof(list));
    dsa_run(qts, &batch);
    g_assert_cmphex(dsa_record(qts, 1).status, ==, DSA_STATUS_PAGE_FAULT |
                    DSA_STATUS_WRITE);
    g_assert_cmphex(dsa_record(qts, 9).status, ==, 0);
    g_assert_cmphex(dsa_run(qts, &copy).status, ==, DSA_STATUS_PAGE_FAULT |
                    DSA_STATUS_WRITE);
    qtest_quit(qts);
}

/* A drain that only asks for an interrupt requires no record, either. */
static void test_drain_interrupt(void)
{
    QTestState *qts = dsa_ready_with_log();
    DsaDesc drain = dsa_desc(DSA_OP_DRAIN, 0, 0, 0, 0);
    uint64_t word;

    drain.flags_opcode &= cpu_to_le32(~DSA_FLAG_RCR);
    drain.flags_opcode |= cpu_to_le32(DSA_FLAG_RCI);
    drain.int_handle = cpu_to_le16(3);
    dsa_run(qts, &drain);
    g_assert_cmpuint(log_tail(qts), ==, 1);
    g_assert_cmphex(FIELD_EX64(dsa_log_word(qts, 0, 0), SWERR0, ERROR), ==,
                    DSA_STATUS_DRAIN_LOGGED);
    word = dsa_log_word(qts, 0, 1);
    g_assert_cmphex(FIELD_EX64(word, SWERR1, INT_REQUIRED), ==, 1);
    g_assert_cmphex(FIELD_EX64(word, SWERR1, RECORD_REQUIRED), ==, 0);
    qtest_quit(qts);
}

/*
 * A record that is lost is a failure, so that a fence after it ends the batch
 * (5.8.1).  A record in the event log is not lost: software writes it.
 */
static void test_lost(void)
{
    enum { NO_LOG, LOG, FULL_LOG, CASES };

    for (unsigned i = 0; i < CASES; i++) {
        bool logged = i == LOG;
        QTestState *qts = i == NO_LOG ? dsa_ready("") : dsa_ready_with_log();
        DsaDesc batch = dsa_desc(DSA_OP_BATCH, 9, DESC_LIST, 0, 2);
        DsaDesc list[2] = {
            dsa_desc(DSA_OP_NOOP, 0, 0, 0, 0),
            dsa_desc(DSA_OP_NOOP, 1, 0, 0, 0),
        };
        DsaRecord record;

        if (i == FULL_LOG) {
            /* The log is full: the entry after the tail is the head. */
            dsa_writel(qts, A_EVLSTATUS, 1);
        }
        list[0].completion = cpu_to_le64(OUTSIDE);
        list[1].flags_opcode |= cpu_to_le32(DSA_FLAG_FENCE);
        qtest_memwrite(qts, DESC_LIST, list, sizeof(list));
        record = dsa_run(qts, &batch);
        g_assert_cmphex(dsa_record(qts, 1).status, ==,
                        logged ? DSA_STATUS_SUCCESS : 0);
        if (i == NO_LOG) {
            g_assert_cmphex(record.status, ==, DSA_STATUS_BATCH_FAIL);
            g_assert_cmpuint(record.bytes_completed, ==, 1);
        }
        qtest_quit(qts);
    }
}

/* A user can request interrupts only if GENCFG allows that (9.2.8). */
static void test_user_interrupt(void)
{
    const uint32_t pasid = 5;
    QTestState *qts = qtest_init("-machine q35 -m 128M -nodefaults "
                                 "-device intel-dsa,id=dsa,addr=4,pasid=on");
    DsaDesc desc = dsa_interrupting(3);

    dsa_map(qts);
    dsa_set_pasid_control(qts, 1);
    dsa_configure(qts, 1, 1, 16);
    dsa_writel(qts, DSA_WQCFG_BASE + 8,
               dsa_readl(qts, DSA_WQCFG_BASE + 8) | R_WQCFG2_PASID_EN_MASK |
               FIELD_DP32(0, WQCFG2, PASID, pasid));
    dsa_enable_msix(qts, 9);
    dsa_writel(qts, DSA_MSIXPERM_BASE + 8 * 3, R_MSIXPERM_PASID_EN_MASK |
               FIELD_DP32(0, MSIXPERM, PASID, pasid));
    dsa_enable(qts, 1);
    g_assert_cmphex(dsa_run(qts, &desc).status, ==, DSA_STATUS_INVALID_FLAGS);
    g_assert_false(dsa_message(qts, 3));

    g_assert_cmphex(dsa_command(qts, DSA_CMD_DISABLE_DEVICE, 0), ==, 0);
    dsa_writel(qts, A_GENCFG, R_GENCFG_USER_INT_MASK);
    dsa_enable(qts, 1);
    g_assert_cmphex(dsa_run(qts, &desc).status, ==, DSA_STATUS_SUCCESS);
    g_assert_true(dsa_message(qts, 3));
    qtest_quit(qts);
}

/* After a fault, the result is 1 if a delta entry was written (8.3.8). */
static void test_delta_fault(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = dsa_desc(DSA_OP_CREATE_DELTA, 0, SOURCE, SOURCE2, SIZE);
    DsaRecord record;

    qtest_memset(qts, SOURCE, 0, SIZE);
    qtest_memset(qts, SOURCE2, 1, SIZE);
    stq_le_p(desc.op, OUTSIDE);
    stl_le_p(desc.op + 8, 160);
    record = dsa_run(qts, &desc);
    g_assert_cmphex(record.status, ==, DSA_STATUS_PAGE_FAULT |
                    DSA_STATUS_WRITE);
    g_assert_cmpuint(record.result, ==, 0);
    g_assert_cmpuint(ldl_le_p(record.op), ==, 0);

    /* The delta record would also have been full. */
    stq_le_p(desc.op, RAM_BYTES - 80);
    record = dsa_run(qts, &desc);
    g_assert_cmphex(record.status, ==, DSA_STATUS_PAGE_FAULT |
                    DSA_STATUS_WRITE);
    g_assert_cmpuint(record.result, ==, 1);
    g_assert_cmpuint(ldl_le_p(record.op), ==, 80);
    qtest_quit(qts);
}

/* The device writes as much to one destination as to the other (8.3.10). */
static void test_dualcast_fault(void)
{
    const uint32_t before = 2 * 4096;
    QTestState *qts = dsa_ready("");
    DsaDesc desc = dsa_desc(DSA_OP_DUALCAST, 0, SOURCE, DESTINATION,
                            4 * 4096);
    DsaRecord record;

    for (unsigned second = 0; second < 2; second++) {
        uint64_t good = second ? DESTINATION : DESTINATION2;

        desc.addr2 = cpu_to_le64(second ? good : RAM_BYTES - before);
        stq_le_p(desc.op, second ? RAM_BYTES - before : good);
        qtest_memset(qts, SOURCE, 0x5a, 4 * 4096);
        record = dsa_run(qts, &desc);
        g_assert_cmphex(record.status, ==, DSA_STATUS_PAGE_FAULT |
                        DSA_STATUS_WRITE);
        g_assert_cmphex(record.fault_addr, ==, RAM_BYTES);
        g_assert_cmpuint(record.bytes_completed, ==, before);
        g_assert_cmphex(qtest_readb(qts, good + before - 1), ==, 0x5a);
        g_assert_cmphex(qtest_readb(qts, good + before), ==, 0);
    }
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("intel-dsa/records/handle", test_handle);
    qtest_add_func("intel-dsa/records/not-requested", test_not_requested);
    qtest_add_func("intel-dsa/records/drain-interrupt", test_drain_interrupt);
    qtest_add_func("intel-dsa/records/lost", test_lost);
    qtest_add_func("intel-dsa/records/user-interrupt", test_user_interrupt);
    qtest_add_func("intel-dsa/records/delta-fault", test_delta_fault);
    qtest_add_func("intel-dsa/records/dualcast-fault", test_dualcast_fault);
    return g_test_run();
}
