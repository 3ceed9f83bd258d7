/*
 * Stores to code that is translated at the same time
 *
 * Blocks that a store modifies are thrown away before it: notdirty_write(),
 * cputlb.c.  Until the store is done another vCPU may run the old code, and
 * translate it anew; no later store finds that block, which stays.  Linux
 * patches its code while it runs: an INT3, the rest of the instruction, its
 * first byte in place of the INT3, and an interrupt on all CPUs after each step
 * (smp_text_poke_batch_finish(), arch/x86/kernel/alternative.c).  A block left
 * over with the INT3 kills the guest once it does not expect that any more.
 *
 * Intel asks the CPU that runs modified code to serialize before it does (SDM
 * vol. 3A, 10.1.3).  The one that stored has to tell it when, for which it
 * needs another block in practice: at the beginning of that it looks whether
 * any vCPU began to read code since, and if so throws away what was made of
 * these bytes.
 *
 * The other order, a store to a page that has no block yet, while the first one
 * is made of it: pages are watched for stores before they are read.  What is
 * left are stores that were found not to be watched, which are done some host
 * instructions later.
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

/* How often code was about to be read, by all vCPUs. */
static unsigned code_reads;

typedef struct CodeStore {
    ram_addr_t start, last;
    unsigned code_reads;        /* before it */
} CodeStore;

/*
 * The newest stores of this thread's vCPU.  One that reaches into a second page
 * is two, both of which are announced before it is done.
 */
#define CODE_STORES 2
static __thread struct {
    unsigned num;
    CodeStore store[CODE_STORES];
} pending;

/* The store is done, and comes before what is read here. */
static void look_behind(const CodeStore *store)
{
    smp_mb();
    if (qatomic_read(&code_reads) != store->code_reads) {
        tb_invalidate_phys_range(store->start, store->last);
    }
}

void tcg_code_store(CPUState *cpu, ram_addr_t start, unsigned size)
{
    /* A vCPU that is alone translates nothing between the two. */
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
    /* As cpu_exit(), but the execution loop is not left. */
    qatomic_set(&cpu->neg.icount_decr.u16.high, -1);
}

void tcg_code_store_done(void)
{
    while (unlikely(pending.num)) {
        look_behind(&pending.store[--pending.num]);
    }
}

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
    /* A barrier as well: no byte is read before this. */
    qatomic_inc(&code_reads);
}
