/*
 * The state of one vCPU's memory side: TLBs, caches, prefetchers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Private to the parts in this folder; others go through memory.h.
 */

#ifndef TARGET_I386_PMU_MEMORY_MEMORY_STATE_H
#define TARGET_I386_PMU_MEMORY_MEMORY_STATE_H

#include <glib.h>

#include "tcg/pmu/memory/outcome.h"
#include "tcg/pmu/ledger/ledger.h"
#include "tcg/pmu/memory/cache.h"
#include "tcg/pmu/memory/invalidation-queue.h"
#include "tcg/pmu/memory/l1-hit-filter.h"
#include "tcg/pmu/memory/l1d-prefetcher.h"
#include "tcg/pmu/memory/l2-streamer.h"
#include "tcg/pmu/memory/l3-directory.h"
#include "tcg/pmu/memory/store-forwarding.h"
#include "tcg/pmu/memory/tag-array.h"
#include "tcg/pmu/memory/tlb.h"
#include "tcg/pmu/memory/write-combining.h"
#include "tcg/pmu/uarch/uarch.h"

/* Entries in the table of the newest prefetches, by a hash of the line. */
#define PMU_PENDING_PREFETCHES  128

/* Where linear page @page is mapped in the vCPU's current context. */
typedef PmuMapping (*PmuTranslate)(void *opaque, uint64_t page);

/* What the model remembers about a line of L1D. */
typedef struct PmuL1dLine {
    uint64_t linear;            /* address at which the filter may have it, or
                                   PMU_NO_LINE */
    uint64_t miss;              /* number of the miss that fetched it */
    bool owned;                 /* this vCPU may write to it, as the L3 knows */
    bool unused;                /* a prefetch fetched it, and no load or store
                                   has used it since */
} PmuL1dLine;

/* A prefetch into L2 whose line may still be on its way. */
typedef struct PmuPendingPrefetch {
    uint64_t line;              /* physical address / 64 */
    uint64_t number;            /* in the order of prefetches; 0: none */
} PmuPendingPrefetch;

/*
 * Callback: @lines lines from @line on have left L1I, or their page has left
 * the ITLB.  @line is a physical address / 64; @lines is 1, the number of lines
 * in a page, or PMU_ALL_LINES.
 */
#define PMU_ALL_LINES UINT64_MAX

typedef void (*PmuCodeEvicted)(void *opaque, uint64_t line, uint64_t lines);

typedef struct PmuMemory {
    PmuStoreForwarding forwarding;
    /* Never has a line of L1I, as a store to such a line evicts it. */
    PmuL1HitFilter filter;

    const PmuUarch *uarch;
    PmuLedger *ledger;
    PmuTranslate translate;
    void *opaque;
    PmuCodeEvicted code_evicted;   /* may be NULL */
    void *code_opaque;
    /* Number of the newest miss of L1D (prefetches into it, too) or L1I. */
    uint64_t misses;
    /* ... of the newest whose line has arrived; UINT64_MAX: all have. */
    uint64_t misses_arrived;
    uint64_t prefetches;        /* number of the newest prefetch into L2 */
    uint64_t streamed;          /* lines that the streamer got from DRAM */
    PmuTlb dtlb, itlb;
    PmuStlb stlb;
    PmuCache l1d, l1i;          /* by physical line */
    PmuL1dLine *line;           /* one for each entry of l1d */
    PmuTagArray l2;
    PmuTagArray *l3;            /* the tags of shared_l3 */
    PmuL3 *shared_l3;
    bool own_l3;                /* no other vCPU shares it */
    PmuSharer sharer;             /* this vCPU's number among its sharers */
    PmuInvalidationQueue *snoops;       /* from the other sharers */
    /* Physical lines of L1D that other vCPUs have just taken. */
    uint64_t snooped[PMU_SNOOP_SLOTS];
    unsigned num_snooped;
    PmuStreamer streamer;
    PmuL1dPrefetcher l1d_prefetcher;
    PmuWriteCombining write_combining;
    PmuPendingPrefetch prefetch[PMU_PENDING_PREFETCHES];
} PmuMemory;

/* No line begins at this linear address. */
#define PMU_NO_LINE     1

/* The physical line at @addr, of which @page is the physical page. */
static inline uint64_t pmu_line_in_page(uint64_t page, uint64_t addr)
{
    return page * PMU_PAGE_LINES + (addr >> PMU_LINE_SHIFT) % PMU_PAGE_LINES;
}

#endif
