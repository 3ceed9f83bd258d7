/*
 * Deferrable memory writes: find the device at an address, and hand it the
 * data.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/deferrable_write.h"

bool deferrable_write(AddressSpace *as, hwaddr addr,
                      const uint8_t data[DEFERRABLE_WRITE_BYTES])
{
    MemoryRegionSection section = memory_region_find(as->root, addr,
                                                     DEFERRABLE_WRITE_BYTES);
    bool accepted = false;
    Object *owner;

    if (!section.mr) {
        return false;
    }
    owner = memory_region_owner(section.mr);
    if (owner && object_dynamic_cast(owner, TYPE_DEFERRABLE_WRITE) &&
        section.offset_within_address_space == addr &&
        int128_eq(section.size, int128_make64(DEFERRABLE_WRITE_BYTES))) {
        accepted = DEFERRABLE_WRITE_GET_CLASS(owner)->write(
            owner, section.mr, section.offset_within_region, data);
    }
    memory_region_unref(section.mr);
    return accepted;
}

static const TypeInfo deferrable_write_info = {
    .name = TYPE_DEFERRABLE_WRITE,
    .parent = TYPE_INTERFACE,
    .class_size = sizeof(DeferrableWriteClass),
};

static void deferrable_write_register_types(void)
{
    type_register_static(&deferrable_write_info);
}

type_init(deferrable_write_register_types)
