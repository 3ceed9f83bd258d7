/*
 * Intel Data Streaming Accelerator: DMA, and what the performance monitor
 * counts of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/units.h"
#include "dsa.h"

#define PAGE    (4 * KiB)
/* Bytes that the performance monitor counts as one */
#define UNIT    32

/* How many units of 32 bytes a range touches, which does not wrap */
static uint64_t touched(uint64_t addr, uint64_t bytes)
{
    return bytes ? (addr + bytes - 1) / UNIT - addr / UNIT + 1 : 0;
}

void dsa_count_access(IntelDsa *s, unsigned engine, const DsaWork *work,
                      uint32_t tc_flag, uint64_t origin, uint64_t addr,
                      DsaAccess access, bool write)
{
    DsaSource source = dsa_perfmon_source(s, engine, work->wq, work->desc,
                                          tc_flag);
    uint64_t end = addr + access.done;
    uint64_t units = origin > addr
                     ? touched(addr, origin - addr) - touched(end, origin - end)
                     : touched(origin, end - origin) -
                       touched(origin, addr - origin);

    dsa_perfmon_count(s, DSA_CATEGORY_ENGINE,
                      write ? DSA_EV_ENGINE_WRITTEN : DSA_EV_ENGINE_PROCESSED,
                      &source, units);
}

/* Work of an access besides its bytes, as bytes whose copy takes as long */
#define ACCESS_WORK     1024

DsaTarget dsa_find_target(IntelDsa *s, uint64_t addr, uint32_t *bytes,
                          DMADirection direction)
{
    bool write = direction == DMA_DIRECTION_FROM_DEVICE;
    hwaddr offset, length = *bytes;
    MemoryRegion *mr;

    if (s->unplugged) {
        return DSA_TARGET_NONE;
    }
    RCU_READ_LOCK_GUARD();
    mr = address_space_translate(pci_get_address_space(PCI_DEVICE(s)), addr,
                                 &offset, &length, write,
                                 MEMTXATTRS_UNSPECIFIED);
    if (memory_access_is_direct(mr, write, MEMTXATTRS_UNSPECIFIED)) {
        *bytes = MIN(*bytes, length);
        return DSA_TARGET_RAM;
    }
    return memory_region_access_valid(mr, offset,
                                      memory_access_size(mr, length, offset),
                                      write, MEMTXATTRS_UNSPECIFIED)
           ? DSA_TARGET_OTHER : DSA_TARGET_NONE;
}

static bool access_target(IntelDsa *s, DsaTarget target, uint64_t addr,
                          void *buffer, uint32_t bytes, DMADirection direction)
{
    s->run_work += bytes + ACCESS_WORK;
    if (target == DSA_TARGET_OTHER) {
        /* What is not RAM is accessed a few bytes at a time. */
        s->run_work += bytes / 8 * ACCESS_WORK;
    }
    return target != DSA_TARGET_NONE &&
           pci_dma_rw(PCI_DEVICE(s), addr, buffer, bytes, direction,
                      MEMTXATTRS_UNSPECIFIED) == MEMTX_OK;
}

bool dsa_dma(IntelDsa *s, uint64_t addr, void *buffer, uint32_t bytes,
             DMADirection direction)
{
    uint32_t ram = bytes;

    return access_target(s, dsa_find_target(s, addr, &ram, direction), addr,
                         buffer, bytes, direction);
}

/*
 * Access memory up to the first page that fails, and nothing twice.  An access
 * of no bytes touches nothing, and succeeds.
 */
static DsaAccess access_memory(IntelDsa *s, uint64_t addr, void *buffer,
                               uint32_t bytes, DMADirection direction)
{
    DsaAccess access = { };

    if (bytes && addr + bytes - 1 < addr) {
        access.failed = true;
        return access;
    }
    while (access.done < bytes && !access.failed) {
        uint64_t at = addr + access.done;
        uint32_t part = bytes - access.done;
        DsaTarget target = dsa_find_target(s, at, &part, direction);

        if (target != DSA_TARGET_RAM) {
            part = MIN(part, PAGE - at % PAGE);
        }
        if (access_target(s, target, at, buffer + access.done, part,
                          direction)) {
            access.done += part;
        } else {
            access.failed = true;
        }
    }
    return access;
}

DsaAccess dsa_fetch(IntelDsa *s, uint64_t addr, void *buffer, uint32_t bytes)
{
    return access_memory(s, addr, buffer, bytes, DMA_DIRECTION_TO_DEVICE);
}

DsaAccess dsa_read(IntelDsa *s, unsigned engine, const DsaWork *work,
                   uint32_t tc_flag, uint64_t origin, uint64_t addr,
                   void *buffer, uint32_t bytes)
{
    DsaAccess access = dsa_fetch(s, addr, buffer, bytes);

    dsa_count_access(s, engine, work, tc_flag, origin, addr, access, false);
    return access;
}

DsaAccess dsa_write(IntelDsa *s, unsigned engine, const DsaWork *work,
                    uint32_t tc_flag, uint64_t origin, uint64_t addr,
                    const void *buffer, uint32_t bytes)
{
    DsaAccess access = access_memory(s, addr, (void *)buffer, bytes,
                                     DMA_DIRECTION_FROM_DEVICE);

    dsa_count_access(s, engine, work, tc_flag, origin, addr, access, true);
    return access;
}

void dsa_set_fault(DsaWork *work, uint64_t addr, bool write)
{
    work->status = DSA_STATUS_PAGE_FAULT | (write ? DSA_STATUS_WRITE : 0);
    work->fault_addr = addr;
}
