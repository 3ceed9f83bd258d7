/*
 * Intel Data Streaming Accelerator: MSI-X permissions, IMS, interrupts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See 3.7, 9.2.22 and 9.2.28.  An interrupt handle is the index of an entry.
 */

#include "qemu/osdep.h"
#include "hw/pci/msi.h"
#include "hw/pci/msix.h"
#include "dsa.h"
#include "trace.h"

#define PERMISSION_BITS (R_MSIXPERM_IGNORE_MASK | R_MSIXPERM_PASID_EN_MASK | \
                         R_MSIXPERM_PASID_MASK)

static void notify(IntelDsa *s, unsigned entry)
{
    if (!s->unplugged) {
        msix_notify(PCI_DEVICE(s), entry);
    }
}

void dsa_raise(IntelDsa *s, uint32_t cause)
{
    s->regs[R_INTCAUSE] |= cause;
    trace_dsa_interrupt(0, s->regs[R_INTCAUSE]);
    notify(s, 0);
}

bool dsa_interrupt_exists(const IntelDsa *s, DsaInterrupt interrupt)
{
    return interrupt.handle < (interrupt.ims ? s->ims_entries :
                                               s->num_wqs + 1);
}

static uint32_t permission(const IntelDsa *s, DsaInterrupt interrupt)
{
    return interrupt.ims ? s->ims[interrupt.handle].control :
                           s->msixperm[interrupt.handle];
}

bool dsa_interrupt_requestable(const IntelDsa *s, unsigned wq,
                               const uint8_t *desc)
{
    return !dsa_wq_has_pasid(s, wq) || dsa_desc_priv(desc) ||
           FIELD_EX64(s->regs[R_GENCFG], GENCFG, USER_INT);
}

bool dsa_interrupt_allowed(const IntelDsa *s, DsaInterrupt interrupt,
                           unsigned wq, const uint8_t *desc)
{
    uint32_t perm;

    if (!dsa_interrupt_exists(s, interrupt) ||
        !dsa_interrupt_requestable(s, wq, desc)) {
        return false;
    }
    perm = permission(s, interrupt);
    if (FIELD_EX32(perm, MSIXPERM, PASID_EN) != dsa_wq_has_pasid(s, wq)) {
        return false;
    }
    return !dsa_wq_has_pasid(s, wq) ||
           FIELD_EX32(perm, MSIXPERM, PASID) == dsa_desc_pasid(desc);
}

static void send_ims(IntelDsa *s, DsaIms *ims)
{
    if (FIELD_EX32(ims->control, IMSCTL, MASK)) {
        ims->control |= R_IMSCTL_PENDING_MASK;
        return;
    }
    ims->control &= ~R_IMSCTL_PENDING_MASK;
    if (!s->unplugged) {
        msi_send_message(PCI_DEVICE(s), (MSIMessage) {
            .address = ims->address, .data = ims->data,
        });
    }
}

bool dsa_interrupt_send(IntelDsa *s, DsaInterrupt interrupt,
                        bool of_completion)
{
    if (of_completion &&
        FIELD_EX32(permission(s, interrupt), MSIXPERM, IGNORE)) {
        return false;
    }
    trace_dsa_interrupt(interrupt.handle, interrupt.ims);
    if (interrupt.ims) {
        send_ims(s, &s->ims[interrupt.handle]);
    } else {
        notify(s, interrupt.handle);
    }
    return true;
}

uint32_t dsa_ims_read(const IntelDsa *s, hwaddr offset)
{
    const DsaIms *ims = &s->ims[offset / DSA_IMS_ENTRY_SIZE];

    switch (offset % DSA_IMS_ENTRY_SIZE / 4) {
    case 0:
        return ims->address;
    case 1:
        return ims->address >> 32;
    case 2:
        return ims->data;
    default:
        return ims->control;
    }
}

/* A write of an address that is not an interrupt's has no effect. */
void dsa_ims_write(IntelDsa *s, hwaddr offset, uint32_t value)
{
    DsaIms *ims = &s->ims[offset / DSA_IMS_ENTRY_SIZE];
    uint32_t pending;

    switch (offset % DSA_IMS_ENTRY_SIZE / 4) {
    case 0:
        if (value >> 20 == DSA_IMS_ADDRESS >> 20) {
            ims->address = value & ~3u;
        }
        break;
    case 1:
        break;
    case 2:
        ims->data = value;
        break;
    default:
        pending = ims->control & R_IMSCTL_PENDING_MASK;
        ims->control = (value & (PERMISSION_BITS | R_IMSCTL_MASK_MASK)) |
                       pending;
        if (pending && !FIELD_EX32(value, IMSCTL, MASK)) {
            send_ims(s, ims);
        }
        break;
    }
}

void dsa_ims_reset(IntelDsa *s)
{
    for (uint32_t i = 0; i < s->ims_entries; i++) {
        s->ims[i] = (DsaIms) {
            .address = DSA_IMS_ADDRESS, .control = R_IMSCTL_MASK_MASK,
        };
    }
}
