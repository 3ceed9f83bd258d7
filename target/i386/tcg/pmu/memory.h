/*
 * The memory side: TLBs, caches, prefetches, store forwarding.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: plain C.  A function of the addresses in program
 * order; there is no time here (see outcome.h).  In most cases an access
 * changes nothing and has nothing to tell: pmu_memory_hit() says so, and the
 * caller goes on without asking for more.
 */

#ifndef TARGET_I386_PMU_MEMORY_H
#define TARGET_I386_PMU_MEMORY_H

#include <glib.h>

#include "combine.h"
#include "filter.h"
#include "forward.h"
#include "ledger.h"
#include "lines.h"
#include "outcome.h"
#include "prefetch.h"
#include "stride.h"
#include "tlb.h"

/* The newest prefetches are found by a hash in so many entries. */
#define PMU_PREFETCH_SLOTS      128

/* Where linear page @page is mapped in the vCPU's current context. */
typedef PmuMapping (*PmuTranslate)(void *opaque, uint64_t page);

/* What L1D remembers about a line. */
typedef struct PmuLine {
    uint64_t linear;            /* its address in the filter, if it is there */
    uint64_t miss;              /* number of the miss that fetched it */
    bool owned;                 /* others know that this vCPU writes to it */
    bool ahead;                 /* prefetched, and not asked for since */
} PmuLine;

typedef struct PmuPrefetch {
    uint64_t line;              /* physical address / 64 */
    uint64_t number;            /* 0: none */
} PmuPrefetch;

/*
 * @lines (1, or those of a page) from physical line @line on, physical address
 * / 64, have left L1I, or their page the ITLB.
 */
typedef void (*PmuCodeGone)(void *opaque, uint64_t line, uint64_t lines);

typedef struct PmuMemory {
    PmuForward forward;
    /* Lines of L1I are not here: stores to them do not leave them there. */
    PmuFilter filter;

    const PmuUarch *uarch;
    PmuLedger *ledger;
    PmuTranslate translate;
    void *opaque;
    PmuCodeGone code_gone;      /* NULL: nobody wants to know */
    void *code_opaque;
    uint64_t misses;            /* of L1D and L1I: the number of the newest */
    /* ... of the newest whose line is there; UINT64_MAX: always the newest. */
    uint64_t settled;
    uint64_t prefetches;        /* ... likewise */
    PmuTlb dtlb, itlb;
    PmuStlb stlb;
    PmuCache l1d, l1i;          /* by physical line */
    PmuLine *line;              /* beside each entry of l1d */
    PmuLines l2;
    PmuLines *l3;
    PmuL3 *shared_l3;           /* that l3 is of */
    bool own_l3;                /* nobody else has it */
    PmuUser user;               /* this vCPU among those that do */
    PmuInbox *inbox;            /* what they tell it */
    uint64_t lost[PMU_SNOOPS];  /* lines of L1D that they have just taken */
    unsigned num_lost;
    PmuStreamer streamer;
    PmuStrider strider;
    PmuCombine combine;
    PmuPrefetch prefetch[PMU_PREFETCH_SLOTS];
} PmuMemory;

/*
 * A cold memory side with the geometry in @uarch: sets of L1D, L1I and TLBs
 * are powers of 2, of L2 and L3 any number.  It counts in @ledger what misses
 * L1D, L1I and the TLBs, and where it is found.  @l3 is the machine's, NULL:
 * one of its own.  False if memory runs out.
 */
bool pmu_memory_init(PmuMemory *mem, const PmuUarch *uarch, PmuLedger *ledger,
                     PmuL3 *l3, PmuTranslate translate, void *opaque);
void pmu_memory_destroy(PmuMemory *mem);

/*
 * Whoever has what was made of lines of L1I is told when one leaves it, or when
 * its page leaves the ITLB.
 */
void pmu_memory_on_code_gone(PmuMemory *mem, PmuCodeGone code_gone,
                             void *opaque);

/* Back to a cold one, but for an L3 that is shared. */
void pmu_memory_reset(PmuMemory *mem);

/*
 * Linear to physical mappings learnt are void, as @flush says; @linear is the
 * address for PMU_FLUSH_PAGE.
 */
void pmu_memory_flush_mappings(PmuMemory *mem, PmuFlush flush,
                               uint64_t linear);

/*
 * An access of @size bytes, 1 or more, at linear address @addr, which stores or
 * just loads: does it change nothing here, and is its PmuAccess all zero but
 * for what store forwarding says?  Then pmu_memory_data() or pmu_memory_store()
 * need not be called.  Otherwise, or if in doubt, it must be.
 */
static inline bool pmu_memory_hit(const PmuMemory *mem, uint64_t addr,
                                  unsigned size, bool store)
{
    return __builtin_expect(pmu_filter_has(&mem->filter, addr, size, store),
                            1);
}

/* A load that nothing is learnt from. */
#define PMU_NO_IP       (-1)

/*
 * A load of @size bytes, 1 to 64, at linear address @addr, by an instruction
 * whose linear address has @ip as its low 8 bits, or PMU_NO_IP.  Returns the
 * number of lines, 1 or 2, with their outcomes in @access; PmuAccess.store
 * and .blocked are 0.  Misses and prefetches are numbered in the order of
 * calls and, within, of @access.  Counts a second line as another
 * L1D_ACCESSES, leaving the first to the caller, and so with LOADS_L1: a load
 * from elsewhere is taken off it.
 */
unsigned pmu_memory_data(PmuMemory *mem, uint64_t addr, unsigned size, int ip,
                         PmuAccess access[2]);

/*
 * The same for a store, and for a load and a store.  A line of L1I leaves it:
 * that is where hardware looks for code that is modified, by physical addresses
 * (SDM vol. 3A, "Self-Modifying Code").
 */
unsigned pmu_memory_store(PmuMemory *mem, uint64_t addr, unsigned size,
                          PmuAccess access[2]);
unsigned pmu_memory_update(PmuMemory *mem, uint64_t addr, unsigned size,
                           int ip, PmuAccess access[2]);

/*
 * The same for a non-temporal store, which pmu_memory_hit() must not be asked
 * about.  It asks for no line; those that are written leave all caches (SDM
 * vol. 1, "Caching of Temporal vs. Non-Temporal Data").
 */
unsigned pmu_memory_stream(PmuMemory *mem, uint64_t addr, unsigned size,
                           PmuAccess access[2]);

/*
 * A prefetch of the line at linear address @addr by an instruction, as @hint,
 * PMU_HINT_PREFETCH*, says (SDM vol. 2B, "PREFETCHh").  Like a load as far as
 * translations and LOADS_* go; without a mapping it is dropped.
 */
void pmu_memory_prefetch(PmuMemory *mem, uint64_t addr, PmuHint hint,
                         PmuAccess *access);

/*
 * CLFLUSH of the line at linear address @addr: it leaves all caches, those of
 * other vCPUs as well (SDM vol. 2A).
 */
void pmu_memory_flush_line(PmuMemory *mem, uint64_t addr, PmuAccess *access);

/*
 * The lines of all misses so far are in L1, as time has passed: accesses to
 * them need not be told from plain hits.  Those of misses from now on are on
 * their way for a while.
 */
static inline void pmu_memory_settle(PmuMemory *mem)
{
    mem->settled = mem->misses;
}

/*
 * Nobody asks for time from now on, until pmu_memory_settle(): the line of a
 * miss is in L1 at once.
 */
static inline void pmu_memory_untime(PmuMemory *mem)
{
    mem->settled = UINT64_MAX;
}

/*
 * Lines that other vCPUs asked for since the last time are theirs, or theirs as
 * well.  Returns whether L1D had one of them.  A load that finds such a line
 * gone had been executed early and is executed again (PmuAccess.again), which
 * is the worst case: one for each line, and not if there was another call in
 * between.
 */
bool pmu_memory_take_snoops(PmuMemory *mem);

static inline bool pmu_memory_snooped(PmuMemory *mem)
{
    mem->num_lost = 0;
    return G_UNLIKELY(pmu_inbox_pending(mem->inbox)) &&
           pmu_memory_take_snoops(mem);
}

/*
 * A fetch of the line at linear address @pc, physical address @phys.  It finds
 * its line in L1I, or fetch waits; it never says PMU_FROM_FILL.
 */
void pmu_memory_code(PmuMemory *mem, uint64_t pc, uint64_t phys,
                     PmuAccess *access);

/*
 * Code in physical line @line, physical address / 64, or in linear page @page,
 * which is physical page @phys and may be part of a @large one, ran, and nobody
 * looked: it is in the caches of code, or in the ITLB, and nothing is counted.
 */
void pmu_memory_touch_line(PmuMemory *mem, uint64_t line);
void pmu_memory_touch_page(PmuMemory *mem, uint64_t page, uint64_t phys,
                           bool large);

/* A store of @size bytes, 1 to 64, at linear address @addr; every one. */
static inline void pmu_memory_note_store(PmuMemory *mem, uint64_t addr,
                                         unsigned size)
{
    pmu_forward_store(&mem->forward, addr, size);
}

/* Stores follow that pmu_memory_note_store() is not told of. */
static inline void pmu_memory_skip(PmuMemory *mem)
{
    pmu_forward_skip(&mem->forward);
}

/* Where a load takes its data from: see pmu_forward_load(). */
static inline uint32_t pmu_memory_forward(PmuMemory *mem, uint64_t addr,
                                          unsigned size)
{
    return pmu_forward_load(&mem->forward, addr, size);
}

#endif
