/*
 * Test the registers and commands of intel-dsa.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qobject/qdict.h"
#include "intel-dsa/machine.h"

static void test_capabilities(void)
{
    QTestState *qts = dsa_start(",wqs=5,groups=3,engines=2,wq-size=77");

    g_assert_cmphex(dsa_pci_read(qts, 0), ==, 0x0b258086);
    g_assert_cmphex(dsa_readl(qts, A_VERSION), ==, 0x100);
    g_assert_cmphex(dsa_readq(qts, A_GENCAP), ==,
                    1ull << 32 | 1u << 31 | 1 << 25 | 10 << 21 | 31 << 16 |
                    1 << 13 | 0x16);
    g_assert_cmphex(dsa_readq(qts, A_WQCAP), ==,
                    0x7aull << 48 | 1 << 24 | 5 << 16 | 77);
    g_assert_cmphex(dsa_readq(qts, A_GRPCAP), ==, 96 << 8 | 3);
    g_assert_cmphex(dsa_readq(qts, A_ENGCAP), ==, 2);
    g_assert_cmphex(dsa_readq(qts, A_OFFSETS0), ==, 0x0080000a00060004);
    g_assert_cmphex(dsa_readq(qts, A_OFFSETS1), ==, 0x40);
    /* Halves of a register */
    g_assert_cmphex(dsa_readl(qts, A_WQCAP + 4), ==, 0x007a0000);
    g_assert_cmphex(dsa_readl(qts, A_OFFSETS0 + 4), ==, 0x80000a);
    qtest_quit(qts);

    qts = dsa_start(",event-log=off,perf-counters=0");
    g_assert_cmphex(dsa_readq(qts, A_GENCAP) & 3 << 13, ==, 0);
    g_assert_cmphex(dsa_readq(qts, DSA_PERFMON_BASE), ==, 0);
    dsa_writeq(qts, A_EVLCFG0, EVENT_LOG);
    dsa_writel(qts, A_GENCFG, UINT32_MAX);
    g_assert_cmphex(dsa_readq(qts, A_EVLCFG0), ==, 0);
    g_assert_cmphex(dsa_readl(qts, A_GENCFG), ==, 0x1000);
    qtest_quit(qts);
}

/* Which bits of each register are writable while the device is disabled */
static void test_writable(void)
{
    QTestState *qts = dsa_start("");
    static const struct {
        uint64_t addr;
        uint64_t want;
    } cases[] = {
        { A_GENCFG, 0x3000 },
        { A_GENCTRL, 7 },
        { A_GENSTS, 0 },
        { A_INTCAUSE, 0 },
        { A_CMDCAP, 0x1ffe },
        { A_SWERR1, 0 },
        { A_EVLCFG0, 0xfffffffffffff003 },
        { A_EVLCFG1, 0xfffffffff },
        { A_EVLSTATUS, 0xffff },
        { DSA_GRPCFG_BASE, 0xff },
        { DSA_GRPCFG_BASE + 8, 0 },
        { DSA_GRPCFG_BASE + DSA_GRPCFG_ENGINES, 0xf },
        { DSA_GRPCFG_BASE + DSA_GRPCFG_FLAGS, 0x3f },
        { DSA_WQCFG_BASE, 0x0000ffff0000ffff },
        { DSA_WQCFG_BASE + 8, 0x000001ff3ffffff3 },
        { DSA_WQCFG_BASE + 16, 0x0001ffff0001ffff },
        { DSA_WQCFG_BASE + 24, 0 },
        { DSA_WQCFG_BASE + DSA_WQCFG_OPCFG, UINT64_MAX },
        { DSA_IMS_BASE, 0x00000000fee00000 },
        { DSA_IMS_BASE + 8, 0xfffff00dffffffff },
        { DSA_MSIXPERM_BASE + 8, 0xfffff00c },
        { 0x3f8, 0 },
        { 0x1000, 0 },
    };

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        dsa_writeq(qts, cases[i].addr, UINT64_MAX);
        g_assert_cmphex(dsa_readq(qts, cases[i].addr), ==, cases[i].want);
    }
    /* A write to one half of a register leaves the other half. */
    dsa_writel(qts, A_EVLCFG0 + 4, 0x12345678);
    g_assert_cmphex(dsa_readq(qts, A_EVLCFG0), ==, 0x12345678fffff003);
    qtest_system_reset(qts);
    dsa_map(qts);
    g_assert_cmphex(dsa_readq(qts, A_EVLCFG0), ==, 0);
    g_assert_cmphex(dsa_readq(qts, DSA_GRPCFG_BASE), ==, 0);
    qtest_quit(qts);
}

/* Which registers are locked while the device or a WQ is enabled */
static void test_locked(void)
{
    QTestState *qts = dsa_ready("");

    dsa_writeq(qts, DSA_GRPCFG_BASE, 0xff);
    g_assert_cmphex(dsa_readq(qts, DSA_GRPCFG_BASE), ==, 1);
    dsa_writel(qts, DSA_WQCFG_BASE, 5);
    g_assert_cmphex(dsa_readl(qts, DSA_WQCFG_BASE), ==, 128);
    dsa_writel(qts, DSA_WQCFG_BASE + 8, 0);
    g_assert_cmphex(dsa_readl(qts, DSA_WQCFG_BASE + 8), ==, 0x11);
    dsa_writel(qts, DSA_WQCFG_BASE + DSA_WQCFG_SIZE + 8, 0x31);
    g_assert_cmphex(dsa_readl(qts, DSA_WQCFG_BASE + DSA_WQCFG_SIZE + 8), ==,
                    0x31);
    dsa_writel(qts, A_GENCFG, UINT32_MAX);
    g_assert_cmphex(dsa_readl(qts, A_GENCFG), ==, 0);
    qtest_quit(qts);
}

/* Each error that a command can end with */
static void test_command_errors(void)
{
    QTestState *qts = dsa_start("");
    const uint64_t wq1 = DSA_WQCFG_BASE + DSA_WQCFG_SIZE;

#define EXPECT(want, code, operand) \
    g_assert_cmphex(dsa_command(qts, code, operand), ==, want)

    EXPECT(DSA_CMD_INVALID, 0, 0);
    EXPECT(DSA_CMD_INVALID, 13, 0);
    EXPECT(DSA_CMD_INVALID, 31, 0);
    EXPECT(DSA_CMD_OK, DSA_CMD_DRAIN_PASID, 5);
    EXPECT(DSA_CMD_OK, DSA_CMD_ABORT_PASID, 5);
    EXPECT(DSA_CMD_DISABLE_NOT_ENABLED, DSA_CMD_DISABLE_DEVICE, 0);
    EXPECT(DSA_CMD_DEV_NOT_ENABLED, DSA_CMD_ENABLE_WQ, 0);
    EXPECT(DSA_CMD_BAD_WQ, DSA_CMD_ENABLE_WQ, 8);
    EXPECT(DSA_CMD_WQ_NOT_ENABLED, DSA_CMD_DRAIN_WQ, 1);
    EXPECT(DSA_CMD_BAD_WQ, DSA_CMD_DRAIN_WQ, 0);
    EXPECT(DSA_CMD_BAD_WQ, DSA_CMD_DRAIN_WQ, 0x100);
    EXPECT(DSA_CMD_BAD_WQ, DSA_CMD_ABORT_WQ, 0x10001);

    dsa_pci_write(qts, 4, 2);
    EXPECT(DSA_CMD_NO_BUS_MASTER, DSA_CMD_ENABLE_DEVICE, 0);
    dsa_pci_write(qts, 4, 6);
    dsa_configure(qts, 3, 1, 65);
    EXPECT(DSA_CMD_WQ_SIZE_SUM, DSA_CMD_ENABLE_DEVICE, 0);
    dsa_configure(qts, 3, 0, 64);
    EXPECT(DSA_CMD_GRP_INCOMPLETE, DSA_CMD_ENABLE_DEVICE, 0);
    dsa_configure(qts, 3, 1, 64);
    dsa_writeq(qts, DSA_GRPCFG_BASE + DSA_GRPCFG_SIZE, 2);
    dsa_writeq(qts, DSA_GRPCFG_BASE + DSA_GRPCFG_SIZE + DSA_GRPCFG_ENGINES,
               2);
    EXPECT(DSA_CMD_GRP_WQ, DSA_CMD_ENABLE_DEVICE, 0);
    dsa_writeq(qts, DSA_GRPCFG_BASE + DSA_GRPCFG_SIZE, 4);
    dsa_writeq(qts, DSA_GRPCFG_BASE + DSA_GRPCFG_SIZE + DSA_GRPCFG_ENGINES,
               1);
    EXPECT(DSA_CMD_GRP_ENGINE, DSA_CMD_ENABLE_DEVICE, 0);
    dsa_writeq(qts, DSA_GRPCFG_BASE + DSA_GRPCFG_SIZE + DSA_GRPCFG_ENGINES,
               2);
    /* A group without a WQ; a WQ with a size that is in no group, or one
     * without a size that is in a group */
    dsa_writeq(qts, DSA_GRPCFG_BASE + DSA_GRPCFG_SIZE, 0);
    EXPECT(DSA_CMD_GRP_INCOMPLETE, DSA_CMD_ENABLE_DEVICE, 0);
    dsa_writeq(qts, DSA_GRPCFG_BASE + DSA_GRPCFG_SIZE, 4);
    EXPECT(DSA_CMD_GRP_WQ, DSA_CMD_ENABLE_DEVICE, 0);
    dsa_configure_wq(qts, 2, 0, 1);
    dsa_configure_wq(qts, 3, 1, 1);
    EXPECT(DSA_CMD_WQ_SIZE_SUM, DSA_CMD_ENABLE_DEVICE, 0);
    dsa_configure_wq(qts, 1, 63, 1);
    EXPECT(DSA_CMD_GRP_WQ, DSA_CMD_ENABLE_DEVICE, 0);
    dsa_writeq(qts, DSA_GRPCFG_BASE + DSA_GRPCFG_SIZE, 8);
    /* The event log's size, and where it ends */
    dsa_writel(qts, A_GENCFG, R_GENCFG_EVL_EN_MASK);
    dsa_writeq(qts, A_EVLCFG1, 63);
    EXPECT(DSA_CMD_EVL, DSA_CMD_ENABLE_DEVICE, 0);
    dsa_writeq(qts, A_EVLCFG0, 0xfffffffffffff000);
    dsa_writeq(qts, A_EVLCFG1, 65);
    EXPECT(DSA_CMD_EVL, DSA_CMD_ENABLE_DEVICE, 0);
    dsa_writeq(qts, A_EVLCFG0, EVENT_LOG | 1);
    EXPECT(DSA_CMD_PASID, DSA_CMD_ENABLE_DEVICE, 0);
    dsa_writeq(qts, A_EVLCFG0, EVENT_LOG);
    EXPECT(DSA_CMD_OK, DSA_CMD_ENABLE_DEVICE, 0);
    g_assert_cmphex(dsa_readl(qts, A_GENSTS), ==, DSA_STATE_ENABLED);
    EXPECT(DSA_CMD_DEV_NOT_DISABLED, DSA_CMD_ENABLE_DEVICE, 0);

    EXPECT(DSA_CMD_OK, DSA_CMD_ENABLE_WQ, 0);
    EXPECT(DSA_CMD_WQ_NOT_DISABLED, DSA_CMD_ENABLE_WQ, 0);
    EXPECT(DSA_CMD_WQ_SIZE, DSA_CMD_ENABLE_WQ, 2);
    dsa_writel(qts, wq1 + 8, 0x01);
    EXPECT(DSA_CMD_WQ_PRIORITY, DSA_CMD_ENABLE_WQ, 1);
    dsa_writel(qts, wq1 + 8, 0x10);
    EXPECT(DSA_CMD_WQ_MODE, DSA_CMD_ENABLE_WQ, 1);
    dsa_writel(qts, wq1 + 8, 0x13);
    EXPECT(DSA_CMD_WQ_BOF, DSA_CMD_ENABLE_WQ, 1);
    dsa_writel(qts, wq1 + 8, 0x10000011);
    EXPECT(DSA_CMD_WQ_PASID, DSA_CMD_ENABLE_WQ, 1);
    dsa_writel(qts, wq1 + 8, 0x11);
    dsa_writel(qts, wq1 + 12, 11 << 5);
    EXPECT(DSA_CMD_WQ_BATCH, DSA_CMD_ENABLE_WQ, 1);
    dsa_writel(qts, wq1 + 12, 0);
    EXPECT(DSA_CMD_WQ_BATCH, DSA_CMD_ENABLE_WQ, 1);
    dsa_writel(qts, wq1 + 12, 1 << 5);
    dsa_writel(qts, wq1 + 16, 9);
    EXPECT(DSA_CMD_WQ_OCCUPANCY, DSA_CMD_ENABLE_WQ, 1);
    dsa_writel(qts, wq1 + 16, 1 << 16 | 256);
    EXPECT(DSA_CMD_WQ_OCCUPANCY, DSA_CMD_ENABLE_WQ, 1);
    dsa_writel(qts, wq1 + 16, 1 << 16 | 255);
    dsa_writel(qts, wq1 + DSA_WQCFG_OPCFG, 1 << 10);
    EXPECT(DSA_CMD_WQ_OPCFG, DSA_CMD_ENABLE_WQ, 1);
    dsa_writel(qts, wq1 + DSA_WQCFG_OPCFG, 1 << 3);
    EXPECT(DSA_CMD_WQ_NOT_ENABLED, DSA_CMD_DISABLE_WQ, 2);
    EXPECT(DSA_CMD_WQ_NOT_ENABLED, DSA_CMD_ABORT_WQ, 3);
    EXPECT(DSA_CMD_OK, DSA_CMD_ENABLE_WQ, 1);
    g_assert_cmphex(dsa_readl(qts, wq1 + 24) >> 30, ==, 1);

    EXPECT(DSA_CMD_OK, DSA_CMD_DISABLE_WQ, 2);
    g_assert_cmphex(dsa_readl(qts, wq1 + 24) >> 30, ==, 0);
    EXPECT(DSA_CMD_OK, DSA_CMD_RESET_WQ, 2);
    g_assert_cmphex(dsa_readl(qts, wq1 + 8), ==, 0);
    g_assert_cmphex(dsa_readl(qts, wq1 + DSA_WQCFG_OPCFG), ==,
                    dsa_readl(qts, A_OPCAP));
    g_assert_cmphex(dsa_readl(qts, wq1), ==, 63);
    EXPECT(DSA_CMD_OK, DSA_CMD_DISABLE_DEVICE, 0);
    g_assert_cmphex(dsa_readl(qts, A_GENSTS), ==, DSA_STATE_DISABLED);
    EXPECT(DSA_CMD_OK, DSA_CMD_RESET_DEVICE, 0);
    g_assert_cmphex(dsa_readl(qts, DSA_WQCFG_BASE), ==, 0);
#undef EXPECT
    qtest_quit(qts);
}

static uint32_t status(QTestState *qts)
{
    return dsa_readl(qts, A_CMDSTS);
}

static void start_command(QTestState *qts, unsigned code, uint32_t operand)
{
    dsa_writel(qts, A_CMD, R_CMD_INT_MASK | code << R_CMD_CODE_SHIFT |
               operand);
}

/* Commands that wait, and interrupt at their end; and those that do not wait */
static void test_waiting(void)
{
    static const unsigned waiting[] = {
        DSA_CMD_DRAIN_ALL, DSA_CMD_DRAIN_WQ, DSA_CMD_DISABLE_WQ,
        DSA_CMD_DISABLE_DEVICE,
    };
    static const unsigned aborting[] = {
        DSA_CMD_ABORT_ALL, DSA_CMD_ABORT_WQ, DSA_CMD_RESET_WQ,
        DSA_CMD_RESET_DEVICE,
    };
    DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION, 1 << 20);

    for (unsigned i = 0; i < ARRAY_SIZE(waiting); i++) {
        QTestState *qts = dsa_ready("");

        dsa_enable_msix(qts, 9);
        for (int n = 0; n < 20; n++) {
            dsa_submit(qts, 0, &desc);
        }
        qtest_clock_step(qts, 10000);
        start_command(qts, waiting[i], 1);
        g_assert_cmphex(status(qts), ==, R_CMDSTS_ACTIVE_MASK);
        g_assert_false(dsa_message(qts, 0));
        /* Another command is refused. */
        dsa_writel(qts, A_CMD, DSA_CMD_RESET_DEVICE << 20);
        g_assert_cmphex(status(qts), ==, R_CMDSTS_ACTIVE_MASK);
        g_assert_cmphex(FIELD_EX64(dsa_readq(qts, A_SWERR0), SWERR0, ERROR),
                        ==, DSA_ERROR_CMD_ACTIVE);
        g_assert_cmphex(dsa_readl(qts, DSA_WQCFG_BASE + 24) >> 30, ==,
                        waiting[i] == DSA_CMD_DISABLE_WQ ||
                        waiting[i] == DSA_CMD_DISABLE_DEVICE ?
                        DSA_WQ_DRAIN : DSA_WQ_ENABLED);
        g_assert_cmphex(dsa_readl(qts, A_GENSTS), ==,
                        waiting[i] == DSA_CMD_DISABLE_DEVICE ?
                        DSA_STATE_DRAIN : DSA_STATE_ENABLED);
        qtest_clock_step(qts, 10000000);
        g_assert_cmphex(status(qts), ==, 0);
        g_assert_true(dsa_message(qts, 0));
        /* INTCAUSE omits the error, as errors may not interrupt (9.2.15). */
        g_assert_cmphex(dsa_readl(qts, A_INTCAUSE), ==, DSA_INTCAUSE_CMD);
        dsa_writel(qts, A_INTCAUSE, DSA_INTCAUSE_CMD);
        g_assert_cmphex(dsa_readl(qts, A_INTCAUSE), ==, 0);
        g_assert_cmphex(dsa_record(qts, 0).status, ==, DSA_STATUS_SUCCESS);
        qtest_quit(qts);
    }
    for (unsigned i = 0; i < ARRAY_SIZE(aborting); i++) {
        QTestState *qts = dsa_ready("");

        dsa_enable_msix(qts, 9);
        for (int n = 0; n < 20; n++) {
            dsa_submit(qts, 0, &desc);
        }
        qtest_clock_step(qts, 10000);
        start_command(qts, aborting[i], 1);
        g_assert_cmphex(status(qts), ==, 0);
        g_assert_true(dsa_message(qts, 0));
        qtest_clock_step(qts, 10000000);
        g_assert_cmphex(dsa_record(qts, 0).status, ==, 0);
        qtest_quit(qts);
    }
}

/*
 * A drain only waits for the descriptors that are there.  The device is never
 * idle here, as the next descriptor comes before it is done with the others.
 */
static void test_drain_of_busy(void)
{
    static const unsigned drains[] = { DSA_CMD_DRAIN_ALL, DSA_CMD_DRAIN_WQ };

    for (unsigned i = 0; i < ARRAY_SIZE(drains); i++) {
        DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, DESTINATION,
                                1 << 20);
        QTestState *qts = dsa_ready("");

        for (int n = 0; n < 4; n++) {
            dsa_submit(qts, 0, &desc);
        }
        start_command(qts, drains[i], 1);
        for (int n = 0; status(qts) && n < 20; n++) {
            desc = dsa_desc(DSA_OP_MEMMOVE, 1 + n, SOURCE, DESTINATION,
                            1 << 20);
            dsa_submit(qts, 0, &desc);
            /* A descriptor takes 35 us. */
            qtest_clock_step(qts, 20000);
        }
        g_assert_cmphex(status(qts), ==, 0);
        g_assert_cmphex(dsa_record(qts, 0).status, ==, DSA_STATUS_SUCCESS);
        qtest_quit(qts);
    }
}

/* Completion interrupts go to the vector that the descriptor names. */
static void test_completion_interrupts(void)
{
    QTestState *qts = dsa_ready("");
    DsaDesc desc = dsa_desc(DSA_OP_NOOP, 0, 0, 0, 0);

    dsa_enable_msix(qts, 9);
    for (unsigned vector = 0; vector <= 8; vector++) {
        desc.flags_opcode |= cpu_to_le32(DSA_FLAG_RCI);
        desc.int_handle = cpu_to_le16(vector);
        dsa_run(qts, &desc);
        for (unsigned i = 0; i <= 8; i++) {
            g_assert_cmpint(dsa_message(qts, i), ==, i == vector);
        }
    }
    /* A vector that is for a PASID is not for this WQ. */
    dsa_writel(qts, DSA_MSIXPERM_BASE + 8 * 3, R_MSIXPERM_PASID_EN_MASK);
    desc.int_handle = cpu_to_le16(3);
    g_assert_cmphex(dsa_run(qts, &desc).status, ==, DSA_STATUS_INT_HANDLE);
    g_assert_false(dsa_message(qts, 3));
    /* "Ignore" is no permission.  With permission: no interrupt, no error. */
    dsa_writel(qts, DSA_MSIXPERM_BASE + 8 * 3, R_MSIXPERM_PASID_EN_MASK |
               R_MSIXPERM_IGNORE_MASK);
    g_assert_cmphex(dsa_run(qts, &desc).status, ==, DSA_STATUS_INT_HANDLE);
    dsa_writel(qts, DSA_MSIXPERM_BASE + 8 * 3, R_MSIXPERM_IGNORE_MASK);
    g_assert_cmphex(dsa_run(qts, &desc).status, ==, DSA_STATUS_SUCCESS);
    g_assert_false(dsa_message(qts, 3));
    dsa_writel(qts, DSA_MSIXPERM_BASE + 8 * 3, 0);
    g_assert_cmphex(dsa_run(qts, &desc).status, ==, DSA_STATUS_SUCCESS);
    g_assert_true(dsa_message(qts, 3));
    qtest_quit(qts);
}

static void test_properties(void)
{
    static const struct {
        const char *name;
        unsigned value;
        const char *error;
    } cases[] = {
        { "wqs", 0, "wqs=0: must be 1 to 16" },
        { "wqs", 17, "wqs=17: must be 1 to 16" },
        { "groups", 9, "groups=9: must be 1 to 8" },
        { "engines", 9, "engines=9: must be 1 to 8" },
        { "wq-size", 1025, "wq-size=1025: must be 1 to 1024" },
        { "perf-counters", 33, "perf-counters=33: must be 0 to 32" },
        { "perf-width", 7, "perf-width=7: must be 8 to 64" },
        { "bandwidth", 0, "bandwidth=0: must be 1 to 1000000" },
        { "latency", 0, "latency=0: must be 1 to 1000000000" },
        { "ims-entries", 100,
          "ims-entries=100: must be a multiple of 256, up to 2048" },
        { "ims-entries", 2304,
          "ims-entries=2304: must be a multiple of 256, up to 2048" },
    };
    QTestState *qts = qtest_init("-machine pc -nodefaults");

    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        QDict *arguments = qdict_new(), *reply;

        qdict_put_str(arguments, "driver", "intel-dsa");
        qdict_put_int(arguments, cases[i].name, cases[i].value);
        reply = qtest_qmp(qts, "{ 'execute': 'device_add', "
                          "'arguments': %p }", arguments);
        g_assert_cmpstr(qdict_get_str(qdict_get_qdict(reply, "error"),
                                      "desc"), ==, cases[i].error);
        qobject_unref(reply);
    }
    qtest_quit(qts);
}

static void expect_refusal(const char *machine, const char *bus,
                           const char *want)
{
    QTestState *qts = qtest_initf("-nodefaults %s", machine);
    QDict *reply = qtest_qmp(qts, "{ 'execute': 'device_add', 'arguments': "
                             "{ 'driver': 'intel-dsa', 'pasid': true, "
                             "'bus': %s } }", bus);

    g_assert_cmpstr(qdict_get_str(qdict_get_qdict(reply, "error"), "desc"),
                    ==, want);
    qobject_unref(reply);
    qtest_quit(qts);
}

#define BEHIND_IOMMU "pasid=on: must not be behind an IOMMU, which has no " \
    "address spaces for PASIDs of this device"

/* An IOMMU that comes later on the command line is found as well. */
static void test_iommu_later(void)
{
    g_autofree char *command = g_strdup_printf(
        "/bin/sh -c 'echo quit | exec %s -accel qtest -machine q35 -nodefaults "
        "-display none -monitor stdio -device intel-dsa,pasid=on "
        "-device intel-iommu'", getenv("QTEST_QEMU_BINARY"));
    g_autofree char *monitor = NULL, *output = NULL;
    g_autoptr(GError) err = NULL;
    int status;

    g_spawn_command_line_sync(command, &monitor, &output, &status, &err);
    g_assert_no_error(err);
    g_test_message("%s", output);
    g_assert_true(WIFEXITED(status));
    g_assert_cmpint(WEXITSTATUS(status), ==, 1);
    g_assert_nonnull(strstr(output, "intel-dsa: " BEHIND_IOMMU "\n"));
}

/* Where PASIDs are not possible, QEMU refuses them. */
static void test_no_pasid(void)
{
    expect_refusal("-machine pc", "pci.0", "pasid=on: needs a PCI Express bus");
    expect_refusal("-machine q35 -device intel-iommu "
                   "-device pcie-root-port,id=rp,slot=1", "rp",
                   BEHIND_IOMMU);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("intel-dsa/capabilities", test_capabilities);
    qtest_add_func("intel-dsa/writable", test_writable);
    qtest_add_func("intel-dsa/locked", test_locked);
    qtest_add_func("intel-dsa/command-errors", test_command_errors);
    qtest_add_func("intel-dsa/waiting", test_waiting);
    qtest_add_func("intel-dsa/drain-of-busy", test_drain_of_busy);
    qtest_add_func("intel-dsa/completion-interrupts",
                   test_completion_interrupts);
    qtest_add_func("intel-dsa/properties", test_properties);
    qtest_add_func("intel-dsa/no-pasid", test_no_pasid);
    qtest_add_func("intel-dsa/iommu-later", test_iommu_later);
    return g_test_run();
}
