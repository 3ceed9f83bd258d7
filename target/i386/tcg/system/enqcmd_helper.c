/*
 * ENQCMD and ENQCMDS, which offer a command to a device's shared queue.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * SDM vol. 2, ENQCMD and ENQCMDS: 64 bytes are read, get a PASID and a
 * privilege, and are given to the device at once.  ZF says that the device
 * did not accept them, or that there is none that could; memory is never
 * written.
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "cpu.h"
#include "exec/cpu_ldst.h"
#include "exec/exec-all.h"
#include "exec/helper-proto.h"
#include "hw/deferrable_write.h"
#include "tcg/helper-tcg.h"
#include "tcg/pasid.h"

/* Bits of a command's first word that must be 0 in memory */
#define ENQCMD_RESERVED     UINT32_MAX
#define ENQCMDS_RESERVED    0x7ff00000u

static bool has_pasid(const CPUX86State *env)
{
    return env->features[FEAT_7_0_ECX] & CPUID_7_0_ECX_ENQCMD;
}

void x86_pasid_wrmsr(CPUX86State *env, uint64_t value, uintptr_t ra)
{
    if (!has_pasid(env) || value & ~(uint64_t)(PASID_MASK | PASID_VALID)) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, ra);
    }
    env->pasid = value;
}

uint64_t x86_pasid_rdmsr(CPUX86State *env, uintptr_t ra)
{
    if (!has_pasid(env)) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, ra);
    }
    return env->pasid;
}

static bool pasid_needed(void *opaque)
{
    X86CPU *cpu = opaque;

    return cpu->env.pasid != 0;
}

const VMStateDescription vmstate_x86_pasid = {
    .name = "cpu/pasid",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = pasid_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(env.pasid, X86CPU),
        VMSTATE_END_OF_LIST()
    }
};

static void check_destination(CPUX86State *env, target_ulong dst,
                              uintptr_t ra)
{
    if (dst % DEFERRABLE_WRITE_BYTES) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, ra);
    }
}

/* Read a command whose first word has none of these bits set. */
static void load_command(CPUX86State *env, target_ulong src,
                         uint32_t reserved, uint8_t *command, uintptr_t ra)
{
    for (unsigned i = 0; i < DEFERRABLE_WRITE_BYTES; i += 8) {
        stq_le_p(command + i, cpu_ldq_data_ra(env, src + i, ra));
    }
    if (ldl_le_p(command) & reserved) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, ra);
    }
}

/* Whether the device at @dst, if there is one, accepts a command. */
static bool enqueue(CPUX86State *env, target_ulong dst,
                    const uint8_t *command, uintptr_t ra)
{
    CPUState *cs = env_cpu(env);
    int mmu_idx = cpu_mmu_index(cs, false);
    CPUTLBEntryFull *full;
    AddressSpace *as;
    void *host;
    int flags;

    flags = probe_access_full(env, dst, DEFERRABLE_WRITE_BYTES,
                              MMU_DATA_STORE, mmu_idx, false, &host, &full,
                              ra);
    if (!(flags & TLB_MMIO)) {
        return false;
    }
    as = cpu_get_address_space(cs, cpu_asidx_from_attrs(cs, full->attrs));
    BQL_LOCK_GUARD();
    return deferrable_write(as, full->phys_addr | (dst & ~TARGET_PAGE_MASK),
                            command);
}

/* All flags but ZF are cleared. */
static void set_flags(CPUX86State *env, bool accepted)
{
    CC_SRC = accepted ? 0 : CC_Z;
}

/* ENQCMDS if @supervisor: its checks, that for CPL 0, which were made */
void helper_enqcmd(CPUX86State *env, target_ulong dst, target_ulong src,
                   uint32_t supervisor)
{
    uint8_t command[DEFERRABLE_WRITE_BYTES];
    uintptr_t ra = GETPC();

    if (!supervisor && !(env->pasid & PASID_VALID)) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, ra);
    }
    check_destination(env, dst, ra);
    load_command(env, src, supervisor ? ENQCMDS_RESERVED : ENQCMD_RESERVED,
                 command, ra);
    if (!supervisor) {
        /* The privilege is a user's, whatever the CPL. */
        stl_le_p(command, env->pasid & PASID_MASK);
    }
    set_flags(env, enqueue(env, dst, command, ra));
}
