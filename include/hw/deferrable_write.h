/*
 * Interface of devices that accept deferrable memory writes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A deferrable memory write (PCI Express Base Specification 6.0, 2.2.7.1) is
 * a write of 64 bytes that its target answers: it accepts the data, or tells
 * the requester to retry.  x86's ENQCMD and ENQCMDS send it.  A device whose
 * memory regions have registers for such writes implements this interface.
 */

#ifndef HW_DEFERRABLE_WRITE_H
#define HW_DEFERRABLE_WRITE_H

#include "exec/memory.h"
#include "qom/object.h"

#define TYPE_DEFERRABLE_WRITE "deferrable-write"
typedef struct DeferrableWriteClass DeferrableWriteClass;
DECLARE_CLASS_CHECKERS(DeferrableWriteClass, DEFERRABLE_WRITE,
                       TYPE_DEFERRABLE_WRITE)

#define DEFERRABLE_WRITE_BYTES  64

struct DeferrableWriteClass {
    InterfaceClass parent_class;

    /*
     * Returns whether @obj, the owner of @mr, accepts @data.  @offset is a
     * multiple of 64; all 64 bytes lie within @mr.  Called with the BQL.
     */
    bool (*write)(Object *obj, MemoryRegion *mr, hwaddr offset,
                  const uint8_t data[DEFERRABLE_WRITE_BYTES]);
};

/*
 * Write @data to @addr of @as; @addr is a multiple of 64.  Returns whether the
 * target accepted it.  False means retry; it is also returned where there is
 * no register for such writes.  The caller holds the BQL.
 */
bool deferrable_write(AddressSpace *as, hwaddr addr,
                      const uint8_t data[DEFERRABLE_WRITE_BYTES]);

#endif
