/*
 * Machine with an intel-dsa device, and helpers, for the tests of the device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef QTEST_INTEL_DSA_MACHINE_H
#define QTEST_INTEL_DSA_MACHINE_H

#include "libqtest.h"
#include "hw/dma/intel_dsa_regs.h"

#define DSA_MMIO        0xe0000000
#define DSA_PORTALS     0xe0100000

/* Addresses in the machine's memory, which ends at RAM_BYTES */
#define RAM_BYTES       (128 * 1024 * 1024)
#define RECORDS         0x100000
#define DESC_LIST       0x180000
#define EVENT_LOG       0x1c0000
#define MESSAGES        0x1f0000
#define SOURCE          0x400000
#define SOURCE2         0x1400000
#define DESTINATION     0x2400000
#define DESTINATION2    0x3400000
#define OUTSIDE         0xc0000000ull

/* A descriptor and its completion record: Linux, include/uapi/linux/idxd.h */
typedef struct QEMU_PACKED DsaDesc {
    uint32_t pasid;
    uint32_t flags_opcode;
    uint64_t completion;
    uint64_t addr1;
    uint64_t addr2;
    uint32_t size;
    uint16_t int_handle;
    uint16_t reserved;
    uint8_t op[24];
} DsaDesc;

typedef struct QEMU_PACKED DsaRecord {
    uint8_t status;
    uint8_t result;
    uint16_t reserved;
    uint32_t bytes_completed;
    uint64_t fault_addr;
    uint8_t op[16];
} DsaRecord;

QEMU_BUILD_BUG_ON(sizeof(DsaDesc) != 64);
QEMU_BUILD_BUG_ON(sizeof(DsaRecord) != 32);

/* Start a machine whose device has @properties (",name=value"...). */
QTestState *dsa_start(const char *properties);
/* Map the device's registers and portals, and make it a bus master. */
void dsa_map(QTestState *qts);
/* On q35: map configuration space to memory.  Returns its address. */
uint64_t dsa_map_config(QTestState *qts);
/* On q35: set the PASID control register.  1: PASIDs, 4: privilege. */
void dsa_set_pasid_control(QTestState *qts, uint16_t control);
uint32_t dsa_pci_read(QTestState *qts, unsigned offset);
void dsa_pci_write(QTestState *qts, unsigned offset, uint32_t value);

uint32_t dsa_readl(QTestState *qts, uint64_t offset);
uint64_t dsa_readq(QTestState *qts, uint64_t offset);
void dsa_writel(QTestState *qts, uint64_t offset, uint32_t value);
void dsa_writeq(QTestState *qts, uint64_t offset, uint64_t value);

/* Run a command, which must end at once.  Returns its error. */
unsigned dsa_command(QTestState *qts, unsigned code, uint32_t operand);
/* Configure group 0: @wqs and @engines are bitmaps, @wq_size each WQ's size. */
void dsa_configure(QTestState *qts, uint64_t wqs, uint64_t engines,
                   uint32_t wq_size);
void dsa_configure_wq(QTestState *qts, unsigned wq, uint32_t size,
                      unsigned priority);
void dsa_enable(QTestState *qts, uint64_t wqs);
/* All of this: start a machine whose device has WQ 0 and engine 0 enabled. */
QTestState *dsa_ready(const char *properties);
/* The same, with MSI-X and an event log of 64 entries at EVENT_LOG. */
QTestState *dsa_ready_with_log(void);
/* Returns 8-byte word @word of entry @entry of the event log. */
uint64_t dsa_log_word(QTestState *qts, unsigned entry, unsigned word);

/* Enable MSI-X.  The message of each vector goes to a word in memory. */
void dsa_enable_msix(QTestState *qts, unsigned vectors);
/* Whether the message of @vector was sent since the last call */
bool dsa_message(QTestState *qts, unsigned vector);

/* Returns a descriptor that asks for completion record number @record. */
DsaDesc dsa_desc(unsigned opcode, unsigned record, uint64_t addr1,
                 uint64_t addr2, uint32_t size);
/* Returns a no-op that ends with record 0 and an interrupt. */
DsaDesc dsa_interrupting(uint16_t handle);
void dsa_submit(QTestState *qts, unsigned wq, const DsaDesc *desc);
DsaRecord dsa_record(QTestState *qts, unsigned record);
/* Submit @desc to WQ 0, let @ns pass, and return its record. */
DsaRecord dsa_run_for(QTestState *qts, const DsaDesc *desc, int64_t ns);
DsaRecord dsa_run(QTestState *qts, const DsaDesc *desc);

/* Write random bytes to memory.  The caller frees the copy that it returns. */
uint8_t *dsa_random(QTestState *qts, uint64_t addr, size_t bytes);
void dsa_expect_memory(QTestState *qts, uint64_t addr, const uint8_t *want,
                       size_t bytes);

#endif
