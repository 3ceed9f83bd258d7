/*
 * Stores to code that another vCPU translates at the same time
 *
 * QEMU throws away the blocks that a store modifies before it makes the store:
 * notdirty_write(), cputlb.c.  Until the store is done another vCPU may run the
 * old code, and translate it anew.  No later store finds that block, so it
 * stays.  Linux patches its code while it runs: it writes an INT3, the rest of
 * the instruction, and its first byte in place of the INT3.  It interrupts all
 * CPUs after each step (smp_text_poke_batch_finish(),
 * arch/x86/kernel/alternative.c).  A block left over with the INT3 kills the
 * guest once it does not expect that any more.
 *
 * Intel asks the CPU that runs modified code to serialize before it does (SDM
 * vol. 3A, 10.1.3).  The CPU that stored has to tell it when.  For that it
 * needs another block in practice.  At the beginning of that block, it looks
 * whether any vCPU began to read code since the store was announced.  If so, it
 * throws away the blocks that were made of the stored bytes.
 *
 * In the other order, a vCPU stores to a page that has no block yet while
 * another makes the first block of it.  Therefore pages are watched for stores
 * before they are read.  One case is left: a store that found its page not
 * watched, and is done some host instructions later.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "hw/core/cpu.h"
#include "exec/cputlb.h"
#include "exec/exec-all.h"
#include "exec/ram_addr.h"
#include "code-store.h"

/* How often any vCPU was about to read code for translation. */
static unsigned code_reads;

/* A store to bytes @start to @last. */
typedef struct CodeStore {
    ram_addr_t start, last;
    unsigned code_reads;        /* the global one, before the store */
} CodeStore;

/*
 * Stores of this thread's vCPU that were announced and not looked behind yet.
 * A store that reaches into a second page is two, both announced before it is
 * done.
 */
#define CODE_STORES 2
static __thread struct {
    unsigned num;
    CodeStore store[CODE_STORES];
} pending;

/* @store is done.  The barrier orders it before the read of code_reads. */
static void look_behind(const CodeStore *store)
{
    smp_mb();
    if (qatomic_read(&code_reads) != store->code_reads) {
        tb_invalidate_phys_range(store->start, store->last);
    }
}

void tcg_code_store(CPUState *cpu, ram_addr_t start, unsigned size)
{
    /* If one vCPU runs at a time, none translates before the store is done. */
    if (!tcg_cflags_has(cpu, CF_PARALLEL)) {
        return;
    }
    if (pending.num == CODE_STORES) {
        /* An access announces two stores at most: the older one is done. */
        look_behind(&pending.store[0]);
        pending.store[0] = pending.store[1];
        pending.num--;
    }
    pending.store[pending.num++] = (CodeStore) {
        .start = start, .last = start + size - 1,
        .code_reads = qatomic_read(&code_reads),
    };
    /*
     * A vCPU that reads code from now on is counted, or holds the page's lock.
     */
    smp_mb();
    /* End the block as cpu_exit() does, without leaving the execution loop. */
    qatomic_set(&cpu->neg.icount_decr.u16.high, -1);
}

void tcg_code_store_done(void)
{
    while (unlikely(pending.num)) {
        look_behind(&pending.store[--pending.num]);
    }
}

/* Have stores to the page of @addr call notdirty_write(), if they do not. */
static void watch_page(tb_page_addr_t addr)
{
    if (addr != -1 &&
        cpu_physical_memory_get_dirty_flag(addr, DIRTY_MEMORY_CODE)) {
        tlb_protect_code(addr & TARGET_PAGE_MASK);
    }
}

void tcg_code_read(const TranslationBlock *tb)
{
    watch_page(tb_page_addr0(tb));
    watch_page(tb_page_addr1(tb));
    /* This is a barrier as well: no byte of the code is read before it. */
    qatomic_inc(&code_reads);
}
