/*
 * IA32_PASID, which names the address space of a thread to devices.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_TCG_PASID_H
#define TARGET_I386_TCG_PASID_H

#include "cpu.h"
#include "migration/vmstate.h"

#define MSR_IA32_PASID      0xd93

/* SDM vol. 4, table 2-2: the PASID, and whether there is one */
#define PASID_MASK          0x000fffffu
#define PASID_VALID         (1u << 31)

/*
 * WRMSR and RDMSR of IA32_PASID.  They raise #GP, returning to @ra, on a CPU
 * without ENQCMD, and for a value with reserved bits.
 */
void x86_pasid_wrmsr(CPUX86State *env, uint64_t value, uintptr_t ra);
uint64_t x86_pasid_rdmsr(CPUX86State *env, uintptr_t ra);

extern const VMStateDescription vmstate_x86_pasid;

#endif
