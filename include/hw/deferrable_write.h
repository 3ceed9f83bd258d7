/*
 * Devices that take deferrable memory writes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A deferrable memory write (PCI Express Base Specification 6.0, 2.2.7.1) is
 * one of 64 bytes that its target answers: it accepts the data, or has the
 * requester retry.  x86's ENQCMD and ENQCMDS send it.  A device whose memory
 * regions have registers for such writes implements this interface.
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
     * Whether @obj, the owner of @mr, accepts @data.  @offset is within @mr
     * and a multiple of 64, which fits there.  Called with the BQL.
     */
    bool (*write)(Object *obj, MemoryRegion *mr, hwaddr offset,
                  const uint8_t data[DEFERRABLE_WRITE_BYTES]);
};

/*
 * Write @data to @addr of @as, a multiple of 64.  Returns whether it was
 * accepted: false, retry, where there is no register for such writes, too.
 * Needs the BQL.
 */
bool deferrable_write(AddressSpace *as, hwaddr addr,
                      const uint8_t data[DEFERRABLE_WRITE_BYTES]);

#endif
