/*
 * Test that a CPU goes on when the memory map changes under its TLB.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The memory map changes while another CPU is in the middle of a translation
 * block; it only flushes its TLB at the end of the block.  In QEMU 10.0, the
 * TLB had section numbers.  If the new map had no such section, QEMU aborted.
 * If it had one, QEMU accessed the wrong device.
 */

#include "qemu/osdep.h"

#include "pmu/machine.h"

/* PCI local bus specification 3.0, 3.2.2.3.2 and 6.1. */
#define CONFIG_ADDRESS      0xcf8
#define CONFIG_DATA         0xcfc
#define CONFIG(reg)         (1u << 31 | SLOT << 11 | (reg))
#define COMMAND             0x04
#define COMMAND_MEMORY      0x2
#define BASE_ADDRESS_1      0x14
#define BASE_ADDRESS_4      0x20

/*
 * A virtio device in SLOT.  Its two memory BARs are more sections than follow
 * the local APIC in the memory map; these have the last numbers.
 */
#define SLOT                4
#define DEVICE              "-device virtio-rng-pci,addr=4 "
#define SYNC_MAP            1

static void config_write(QTestState *qts, unsigned reg, uint32_t value)
{
    qtest_outl(qts, CONFIG_ADDRESS, CONFIG(reg));
    qtest_outl(qts, CONFIG_DATA, value);
}

static void test_remap(const void *cpu)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autofree char *args = g_strconcat(cpu, "-smp 2 " DEVICE, NULL);
    PmuMachine machine;
    unsigned result;

    pmu_op(s, OP_SYNC, 0, SYNC_MAP, 0);
    pmu_op(s, OP_START_CPU, 0, 1, 0);
    pmu_op(s, OP_RUN, BLOCK_REMAP_DEVICE, 0, CONFIG(COMMAND));
    pmu_op(s, OP_WAIT_CPU, 0, 1, 0);
    s->cpu = 1;
    result = pmu_op(s, OP_RUN, BLOCK_READ_APIC, 0, 0);
    pmu_start(&machine, s, args);
    pmu_wait_for(&machine, SYNC_MAP);
    config_write(machine.qts, BASE_ADDRESS_1, 0xe0000000);
    config_write(machine.qts, BASE_ADDRESS_4, 0xe0010000);
    config_write(machine.qts, COMMAND, COMMAND_MEMORY);
    pmu_go(&machine, SYNC_MAP);
    pmu_wait_done(&machine, 2);
    pmu_read_results(&machine, s, 2);
    pmu_stop(&machine);
    pmu_expect(s->result[1][result].value[0], 0,
               "times that the local APIC had another version");
    g_assert_cmphex(s->result[1][result].value[1], !=, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    qtest_add_data_func("pmu/remap/plain", PMU_CPU_NONE, test_remap);
    qtest_add_data_func("pmu/remap/counted", PMU_CPU_METRICS, test_remap);
    return g_test_run();
}
