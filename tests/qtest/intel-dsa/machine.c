/*
 * Machine with an intel-dsa device, and helpers, for the tests of the device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "machine.h"

#define SLOT            4
#define PCI_COMMAND     0x04
#define PCI_BAR0        0x10
#define PCI_CAPABILITIES 0x34
#define PCI_CAP_MSIX    0x11
#define PASID_CONTROL   0x106
#define MMCONFIG        0xb0000000

/* Nanoseconds that suffice for any descriptor, unless a test says otherwise. */
#define LONG_NS         (100 * 1000 * 1000)

static void select_config(QTestState *qts, unsigned offset)
{
    qtest_outl(qts, 0xcf8, 0x80000000 | SLOT << 11 | (offset & ~3));
}

uint32_t dsa_pci_read(QTestState *qts, unsigned offset)
{
    select_config(qts, offset);
    return qtest_inl(qts, 0xcfc);
}

void dsa_pci_write(QTestState *qts, unsigned offset, uint32_t value)
{
    select_config(qts, offset);
    qtest_outl(qts, 0xcfc, value);
}

void dsa_map(QTestState *qts)
{
    dsa_pci_write(qts, PCI_BAR0, DSA_MMIO);
    dsa_pci_write(qts, PCI_BAR0 + 4, 0);
    dsa_pci_write(qts, PCI_BAR0 + 8, DSA_PORTALS);
    dsa_pci_write(qts, PCI_BAR0 + 12, 0);
    /* Memory, and bus master */
    dsa_pci_write(qts, PCI_COMMAND, 6);
}

uint64_t dsa_map_config(QTestState *qts)
{
    /* The host bridge's PCIEXBAR */
    qtest_outl(qts, 0xcf8, 0x80000060);
    qtest_outl(qts, 0xcfc, MMCONFIG | 1);
    return MMCONFIG;
}

void dsa_set_pasid_control(QTestState *qts, uint16_t control)
{
    qtest_writew(qts, dsa_map_config(qts) + (SLOT << 15) + PASID_CONTROL,
                 control);
}

QTestState *dsa_start(const char *properties)
{
    QTestState *qts = qtest_initf("-machine pc -m 128M -nodefaults "
                                  "-device intel-dsa,id=dsa,addr=%x%s",
                                  SLOT, properties);

    dsa_map(qts);
    return qts;
}

uint32_t dsa_readl(QTestState *qts, uint64_t offset)
{
    return qtest_readl(qts, DSA_MMIO + offset);
}

uint64_t dsa_readq(QTestState *qts, uint64_t offset)
{
    return qtest_readq(qts, DSA_MMIO + offset);
}

void dsa_writel(QTestState *qts, uint64_t offset, uint32_t value)
{
    qtest_writel(qts, DSA_MMIO + offset, value);
}

void dsa_writeq(QTestState *qts, uint64_t offset, uint64_t value)
{
    qtest_writeq(qts, DSA_MMIO + offset, value);
}

unsigned dsa_command(QTestState *qts, unsigned code, uint32_t operand)
{
    uint32_t status;

    dsa_writel(qts, A_CMD, code << R_CMD_CODE_SHIFT | operand);
    status = dsa_readl(qts, A_CMDSTS);
    g_assert_false(status & R_CMDSTS_ACTIVE_MASK);
    return status;
}

void dsa_configure_wq(QTestState *qts, unsigned wq, uint32_t size,
                      unsigned priority)
{
    uint64_t cfg = DSA_WQCFG_BASE + wq * DSA_WQCFG_SIZE;

    dsa_writel(qts, cfg, size);
    dsa_writel(qts, cfg + 8, R_WQCFG2_DEDICATED_MASK |
               priority << R_WQCFG2_PRIORITY_SHIFT);
    dsa_writel(qts, cfg + 12, 31 | 10 << R_WQCFG3_MAX_BATCH_SHIFT_SHIFT);
}

void dsa_configure(QTestState *qts, uint64_t wqs, uint64_t engines,
                   uint32_t wq_size)
{
    dsa_writeq(qts, DSA_GRPCFG_BASE + DSA_GRPCFG_WQS, wqs);
    dsa_writeq(qts, DSA_GRPCFG_BASE + DSA_GRPCFG_ENGINES, engines);
    for (unsigned wq = 0; wq < 64; wq++) {
        if (wqs & 1ull << wq) {
            dsa_configure_wq(qts, wq, wq_size, 1);
        }
    }
}

void dsa_enable(QTestState *qts, uint64_t wqs)
{
    g_assert_cmphex(dsa_command(qts, DSA_CMD_ENABLE_DEVICE, 0), ==, 0);
    for (unsigned wq = 0; wq < 64; wq++) {
        if (wqs & 1ull << wq) {
            g_assert_cmphex(dsa_command(qts, DSA_CMD_ENABLE_WQ, wq), ==, 0);
        }
    }
}

QTestState *dsa_ready(const char *properties)
{
    QTestState *qts = dsa_start(properties);

    dsa_configure(qts, 1, 1, 128);
    dsa_enable(qts, 1);
    return qts;
}

QTestState *dsa_ready_with_log(void)
{
    QTestState *qts = dsa_start("");

    dsa_configure(qts, 1, 1, 16);
    dsa_writeq(qts, A_EVLCFG0, EVENT_LOG);
    dsa_writeq(qts, A_EVLCFG1, 64);
    dsa_writel(qts, A_GENCFG, R_GENCFG_EVL_EN_MASK);
    dsa_enable_msix(qts, 9);
    dsa_enable(qts, 1);
    return qts;
}

uint64_t dsa_log_word(QTestState *qts, unsigned entry, unsigned word)
{
    return qtest_readq(qts, EVENT_LOG + entry * DSA_EVL_ENTRY + word * 8);
}

void dsa_enable_msix(QTestState *qts, unsigned vectors)
{
    unsigned cap = dsa_pci_read(qts, PCI_CAPABILITIES) & 0xff;

    while ((dsa_pci_read(qts, cap) & 0xff) != PCI_CAP_MSIX) {
        cap = dsa_pci_read(qts, cap) >> 8 & 0xff;
        g_assert_cmpuint(cap, !=, 0);
    }
    for (unsigned i = 0; i < vectors; i++) {
        uint64_t entry = DSA_MSIX_TABLE + i * 16;

        dsa_writel(qts, entry, MESSAGES + i * 4);
        dsa_writel(qts, entry + 4, 0);
        dsa_writel(qts, entry + 8, 0xabc00 + i);
        dsa_writel(qts, entry + 12, 0);
        qtest_writel(qts, MESSAGES + i * 4, 0);
    }
    dsa_pci_write(qts, cap, dsa_pci_read(qts, cap) | 1u << 31);
}

bool dsa_message(QTestState *qts, unsigned vector)
{
    uint64_t word = MESSAGES + vector * 4;
    uint32_t value = qtest_readl(qts, word);

    if (value) {
        g_assert_cmphex(value, ==, 0xabc00 + vector);
        qtest_writel(qts, word, 0);
    }
    return value;
}

DsaDesc dsa_desc(unsigned opcode, unsigned record, uint64_t addr1,
                 uint64_t addr2, uint32_t size)
{
    return (DsaDesc) {
        .flags_opcode = cpu_to_le32(opcode << 24 | DSA_FLAG_CRAV |
                                    DSA_FLAG_RCR),
        .completion = cpu_to_le64(RECORDS + record * DSA_RECORD_SIZE),
        .addr1 = cpu_to_le64(addr1),
        .addr2 = cpu_to_le64(addr2),
        .size = cpu_to_le32(size),
    };
}

DsaDesc dsa_interrupting(uint16_t handle)
{
    DsaDesc desc = dsa_desc(DSA_OP_NOOP, 0, 0, 0, 0);

    desc.flags_opcode |= cpu_to_le32(DSA_FLAG_RCI);
    desc.int_handle = cpu_to_le16(handle);
    return desc;
}

void dsa_submit(QTestState *qts, unsigned wq, const DsaDesc *desc)
{
    uint64_t portal = DSA_PORTALS + wq * DSA_PORTALS_SIZE + DSA_PORTAL_PAGE;

    qtest_memwrite(qts, portal, desc, sizeof(*desc));
}

DsaRecord dsa_record(QTestState *qts, unsigned record)
{
    DsaRecord r;

    qtest_memread(qts, RECORDS + record * DSA_RECORD_SIZE, &r, sizeof(r));
    r.bytes_completed = le32_to_cpu(r.bytes_completed);
    r.fault_addr = le64_to_cpu(r.fault_addr);
    return r;
}

DsaRecord dsa_run_for(QTestState *qts, const DsaDesc *desc, int64_t ns)
{
    unsigned record = (le64_to_cpu(desc->completion) - RECORDS) /
                      DSA_RECORD_SIZE;

    qtest_memset(qts, RECORDS + record * DSA_RECORD_SIZE, 0,
                 DSA_RECORD_SIZE);
    dsa_submit(qts, 0, desc);
    qtest_clock_step(qts, ns);
    return dsa_record(qts, record);
}

DsaRecord dsa_run(QTestState *qts, const DsaDesc *desc)
{
    return dsa_run_for(qts, desc, LONG_NS);
}

uint8_t *dsa_random(QTestState *qts, uint64_t addr, size_t bytes)
{
    uint8_t *data = g_malloc(bytes);

    for (size_t i = 0; i < bytes; i++) {
        data[i] = g_test_rand_int();
    }
    qtest_memwrite(qts, addr, data, bytes);
    return data;
}

void dsa_expect_memory(QTestState *qts, uint64_t addr, const uint8_t *want,
                       size_t bytes)
{
    g_autofree uint8_t *have = g_malloc(bytes);

    qtest_memread(qts, addr, have, bytes);
    g_assert_cmpmem(have, bytes, want, bytes);
}
