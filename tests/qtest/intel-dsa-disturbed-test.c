/*
 * Test intel-dsa while it is disturbed: it writes to its own configuration
 * space, or the host is too slow for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include <glib/gstdio.h>
#include "intel-dsa/machine.h"

/* Offsets in configuration space */
#define COMMAND             0x04
#define BARS                0x10
#define BUSES               0x18
#define PREFETCH_WINDOW     0x24
#define CAPABILITY          0x80    /* PCI Express; device control at + 8 */
#define FLR                 0x8000

/* The slot control register: power off, and its indicator off */
#define SLOT_CONTROL        0x18    /* in the PCI Express capability */
#define POWER_OFF           0x0700

/* Descriptors in the batch, and the event of an empty WQ (D.1.1) */
#define BATCH               100
#define EV_EMPTY            0x100ull

#define PCI_SLOT            4
#define PORT_SLOT           2
#define PORT_BUS            1

/* Returns the address of a device's configuration space in memory. */
static uint64_t config_of(QTestState *qts, unsigned bus, unsigned slot)
{
    return dsa_map_config(qts) + (bus << 20) + (slot << 15);
}

static QTestState *start_q35(const char *devices)
{
    return qtest_initf("-machine q35 -m 128M -nodefaults %s", devices);
}

static QTestState *ready_on_root_bus(void)
{
    QTestState *qts = start_q35("-device intel-dsa,id=dsa,addr=4");

    dsa_map(qts);
    dsa_configure(qts, 1, 1, 128);
    dsa_enable(qts, 1);
    return qts;
}

/* Run @desc, which disturbs the device; nothing that runs with it completes. */
static void disturb(QTestState *qts, const DsaDesc *desc)
{
    DsaDesc other = dsa_desc(DSA_OP_MEMMOVE, 1, SOURCE, DESTINATION, 1 << 20);

    dsa_submit(qts, 0, desc);
    for (unsigned i = 0; i < 4; i++) {
        dsa_submit(qts, 0, &other);
    }
    qtest_clock_step(qts, 100000000);
    g_assert_cmphex(dsa_record(qts, 1).status, ==, 0);
}

/* Let the device copy @value to the 16-bit register at @addr. */
static void write_register(QTestState *qts, uint64_t addr, uint16_t value)
{
    DsaDesc copy = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, addr, 2);

    qtest_writew(qts, SOURCE, value);
    disturb(qts, &copy);
}

/* The device is usable again; no command waits for what ran before. */
static void expect_usable(QTestState *qts)
{
    DsaDesc noop = dsa_desc(DSA_OP_NOOP, 0, 0, 0, 0);

    dsa_map(qts);
    g_assert_cmphex(dsa_command(qts, DSA_CMD_RESET_DEVICE, 0), ==, 0);
    dsa_configure(qts, 1, 1, 128);
    dsa_enable(qts, 1);
    g_assert_cmphex(dsa_run(qts, &noop).status, ==, DSA_STATUS_SUCCESS);
    g_assert_cmphex(dsa_command(qts, DSA_CMD_DRAIN_ALL, 0), ==, 0);
}

static void test_halts_itself(void)
{
    QTestState *qts = ready_on_root_bus();

    write_register(qts, config_of(qts, 0, PCI_SLOT) + COMMAND, 2);
    g_assert_cmphex(FIELD_EX64(dsa_readq(qts, A_GENSTS), GENSTS, STATE), ==,
                    DSA_STATE_HALT);
    expect_usable(qts);
    qtest_quit(qts);
}

/* A completion record, written over device control, requests an FLR. */
static void test_resets_itself(void)
{
    QTestState *qts = ready_on_root_bus();
    DsaDesc desc = dsa_desc(DSA_OP_MEMMOVE, 0, SOURCE, OUTSIDE + FLR, 64);

    desc.completion = cpu_to_le64(config_of(qts, 0, PCI_SLOT) + CAPABILITY);
    disturb(qts, &desc);
    expect_usable(qts);
    qtest_quit(qts);
}

/* Map the device behind the root port as dsa_map() does on the root bus. */
static void map_behind_port(QTestState *qts)
{
    uint64_t port = config_of(qts, 0, PORT_SLOT);
    uint64_t dsa = config_of(qts, PORT_BUS, 0);

    qtest_writel(qts, port + BUSES, PORT_BUS << 16 | PORT_BUS << 8);
    qtest_writel(qts, port + PREFETCH_WINDOW, (DSA_PORTALS & 0xfff00000) |
                 DSA_MMIO >> 16);
    qtest_writew(qts, port + COMMAND, 6);
    qtest_writel(qts, dsa + BARS, DSA_MMIO);
    qtest_writel(qts, dsa + BARS + 8, DSA_PORTALS);
    qtest_writew(qts, dsa + COMMAND, 6);
}

static unsigned pcie_capability(QTestState *qts, uint64_t config)
{
    unsigned cap = qtest_readb(qts, config + 0x34);

    while (qtest_readb(qts, config + cap) != 0x10) {
        cap = qtest_readb(qts, config + cap + 1);
        g_assert_cmpuint(cap, !=, 0);
    }
    return cap;
}

static void test_unplugs_itself(void)
{
    QTestState *qts = start_q35(
        "-device pcie-root-port,id=rp,slot=1,addr=2 "
        "-device intel-dsa,id=dsa,bus=rp,addr=0");
    uint64_t port = config_of(qts, 0, PORT_SLOT);

    map_behind_port(qts);
    dsa_configure(qts, 1, 1, 128);
    dsa_enable(qts, 1);
    write_register(qts, port + pcie_capability(qts, port) + SLOT_CONTROL,
                   POWER_OFF);
    g_assert_cmphex(qtest_readl(qts, config_of(qts, PORT_BUS, 0)), ==,
                    UINT32_MAX);
    qtest_clock_step(qts, 100000000);
    qtest_quit(qts);
}

/*
 * The machine goes on even if a batch takes the host longer than the device,
 * and a counter of cycles overflows all the time.
 */
static void test_lags(void)
{
    const uint32_t size = 1 << 20;
    g_autofree char *bios = NULL;
    g_autofree uint8_t *halts = g_malloc(65536);
    DsaDesc batch = dsa_desc(DSA_OP_BATCH, BATCH, DESC_LIST, 0, BATCH);
    DsaDesc list[BATCH];
    QTestState *qts;
    int fd;

    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return;
    }
    fd = g_file_open_tmp("intel-dsa-XXXXXX", &bios, NULL);
    /* Time is the host's with TCG; the CPU executes HLT. */
    memset(halts, 0xf4, 65536);
    g_assert_cmpint(write(fd, halts, 65536), ==, 65536);
    close(fd);
    qts = qtest_initf("-accel tcg -machine pc -m 128M -nodefaults -bios %s "
                      "-device intel-dsa,id=dsa,addr=4,bandwidth=1000000,"
                      "perf-width=16", bios);
    g_unlink(bios);
    dsa_map(qts);
    dsa_configure(qts, 1, 1, 128);
    dsa_enable(qts, 1);
    dsa_writeq(qts, DSA_PERFMON_BASE + DSA_CNTRCFG,
               EV_EMPTY << 32 | 1 |
               R_CNTRCFG_INT_OVERFLOW_MASK);
    for (unsigned i = 0; i < BATCH; i++) {
        list[i] = dsa_desc(DSA_OP_CRC, i, SOURCE, 0, size);
    }
    qtest_memwrite(qts, DESC_LIST, list, sizeof(list));
    dsa_submit(qts, 0, &batch);
    while (!dsa_record(qts, BATCH).status) {
        g_usleep(1000);
    }
    g_assert_cmphex(dsa_record(qts, BATCH).status, ==, DSA_STATUS_SUCCESS);
    qtest_quit(qts);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("intel-dsa/disturbed/halts-itself", test_halts_itself);
    qtest_add_func("intel-dsa/disturbed/resets-itself", test_resets_itself);
    qtest_add_func("intel-dsa/disturbed/unplugs-itself", test_unplugs_itself);
    qtest_add_func("intel-dsa/disturbed/lags", test_lags);
    return g_test_run();
}
