/*
 * The state of one vCPU's memory side.
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

/* The newest prefetches are found by a hash in so many entries. */
#define PMU_PENDING_PREFETCHES  128

/* Where linear page @page is mapped in the vCPU's current context. */
typedef PmuMapping (*PmuTranslate)(void *opaque, uint64_t page);

/* What L1D remembers about a line. */
typedef struct PmuL1dLine {
    uint64_t linear;            /* its address in the filter, if it is there */
    uint64_t miss;              /* number of the miss that fetched it */
    bool owned;                 /* others know that this vCPU writes to it */
    bool unused;                /* prefetched, and not asked for since */
} PmuL1dLine;

typedef struct PmuPendingPrefetch {
    uint64_t line;              /* physical address / 64 */
    uint64_t number;            /* 0: none */
} PmuPendingPrefetch;

/*
 * @lines (1, those of a page, or PMU_ALL_LINES) from physical line @line on,
 * physical address / 64, have left L1I, or their pages the ITLB.
 */
#define PMU_ALL_LINES UINT64_MAX

typedef void (*PmuCodeEvicted)(void *opaque, uint64_t line, uint64_t lines);

typedef struct PmuMemory {
    PmuStoreForwarding forwarding;
    /* Lines of L1I are not here: stores to them do not leave them there. */
    PmuL1HitFilter filter;

    const PmuUarch *uarch;
    PmuLedger *ledger;
    PmuTranslate translate;
    void *opaque;
    PmuCodeEvicted code_evicted;   /* may be NULL */
    void *code_opaque;
    uint64_t misses;            /* of L1D and L1I: the number of the newest */
    /* ... of the newest whose line is there; UINT64_MAX: always the newest. */
    uint64_t misses_arrived;
    uint64_t prefetches;        /* ... likewise */
    uint64_t streamed;          /* lines that the streamer got from DRAM */
    PmuTlb dtlb, itlb;
    PmuStlb stlb;
    PmuCache l1d, l1i;          /* by physical line */
    PmuL1dLine *line;           /* beside each entry of l1d */
    PmuTagArray l2;
    PmuTagArray *l3;
    PmuL3 *shared_l3;           /* that l3 is of */
    bool own_l3;                /* no other vCPU has it */
    PmuSharer sharer;             /* this vCPU among those that do */
    PmuInvalidationQueue *snoops;       /* that they send it */
    /* Lines of L1D that they have just taken. */
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
