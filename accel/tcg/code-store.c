/*
 * Stores to translated code
 *
 * Blocks that a store modifies are thrown away before it: notdirty_write(),
 * cputlb.c.  Until the store is done another vCPU may run the old code, and
 * translate it anew; that block is found by nobody then and stays.  Linux
 * patches its code while it runs: an INT3, the rest of the instruction, its
 * first byte in place of the INT3, and an interrupt on all CPUs after each
 * step (smp_text_poke_batch_finish(), arch/x86/kernel/alternative.c).  A block
 * left over with the INT3 kills the guest once nobody expects that any more.
 *
 * Intel asks the modified CPU to serialize before it runs the new code (SDM
 * vol. 3A, 10.1.3), and the modifying one has to tell it so after the store,
 * for which it needs another block in practice: that is late enough.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/core/cpu.h"
#include "exec/exec-all.h"
#include "exec/translation-block.h"
#include "code-store.h"

typedef struct CodeRange {
    ram_addr_t start, last;
} CodeRange;

static void code_store_done(CPUState *cpu, run_on_cpu_data data)
{
    g_autofree CodeRange *range = data.host_ptr;

    tb_invalidate_phys_range(range->start, range->last);
}

void tcg_code_store(CPUState *cpu, ram_addr_t start, unsigned size)
{
    CodeRange *range;

    /* Alone, it translates nothing between the two. */
    if (!tcg_cflags_has(cpu, CF_PARALLEL)) {
        return;
    }
    range = g_new(CodeRange, 1);
    *range = (CodeRange) { start, start + size - 1 };
    async_run_on_cpu(cpu, code_store_done, RUN_ON_CPU_HOST_PTR(range));
}
