/*
 * Direct stores: MOVDIR64B.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The 64 bytes arrive at once (SDM vol. 2, MOVDIR64B): no other CPU sees a
 * part of them, and a device is given them without another CPU's stores in
 * between.
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/cpu_ldst.h"
#include "exec/exec-all.h"
#include "exec/helper-proto.h"
#include "exec/translation-block.h"
#include "qemu/main-loop.h"
#include "helper-tcg.h"

#define DIRECT_STORE_BYTES  64
#define DIRECT_STORE_QWORDS (DIRECT_STORE_BYTES / 8)

/* To a device: eight stores that nothing comes between. */
static void store_to_device(CPUX86State *env, target_ulong dst,
                            const uint64_t *data, uintptr_t ra)
{
    /* Leaving through cpu_loop_exit() drops the lock as well. */
#ifndef CONFIG_USER_ONLY
    BQL_LOCK_GUARD();
#endif
    for (int i = 0; i < DIRECT_STORE_QWORDS; i++) {
        cpu_stq_data_ra(env, dst + i * 8, data[i], ra);
    }
}

void helper_movdir64b(CPUX86State *env, target_ulong dst, target_ulong src)
{
    CPUState *cs = env_cpu(env);
    uint64_t data[DIRECT_STORE_QWORDS];
    uintptr_t ra = GETPC();
    void *host;

    if (dst % DIRECT_STORE_BYTES) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, ra);
    }
    host = probe_access(env, dst, DIRECT_STORE_BYTES, MMU_DATA_STORE,
                        cpu_mmu_index(cs, false), ra);
    if (host && tcg_cflags_has(cs, CF_PARALLEL) &&
        !cpu_in_exclusive_context(cs)) {
        cpu_loop_exit_atomic(cs, ra);
    }
    for (int i = 0; i < DIRECT_STORE_QWORDS; i++) {
        data[i] = cpu_ldq_data_ra(env, src + i * 8, ra);
    }
    if (!host) {
        store_to_device(env, dst, data, ra);
        return;
    }
    for (int i = 0; i < DIRECT_STORE_QWORDS; i++) {
        stq_le_p(host + i * 8, data[i]);
    }
}
