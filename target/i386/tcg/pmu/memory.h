/*
 * The memory side: TLBs, caches, fill buffers, prefetcher, store forwarding.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.  Times are cycles of the model's clock.
 */

#ifndef TARGET_I386_PMU_MEMORY_H
#define TARGET_I386_PMU_MEMORY_H

#include "cache.h"
#include "ledger.h"
#include "timing.h"

#define PMU_FILTER_SIZE         64
#define PMU_FORWARD_SIZE        64
#define PMU_STREAMS             16
#define PMU_PREFETCHES          64

/* The newest store to an aligned eight bytes. */
typedef struct PmuForward {
    uint64_t granule;           /* address / 8 + 1 */
    uint64_t ready;             /* when its data was */
} PmuForward;

/* A line on its way: into L1D, or into L2 for the prefetcher. */
typedef struct PmuFill {
    uint64_t line;              /* physical address / 64 */
    uint64_t ready;
} PmuFill;

/* Consecutive misses within a page, as the L2 streamer looks for them. */
typedef struct PmuStream {
    uint64_t page;              /* physical address / 4096 + 1 */
    uint64_t last;              /* newest line missed */
    uint64_t next;              /* first line not asked for yet */
    uint32_t run;               /* misses in a row, each the line after */
} PmuStream;

typedef struct PmuMemory {
    const PmuUarch *uarch;
    PmuLedger *ledger;
    PmuTranslate translate;
    void *opaque;
    /*
     * By L1D set: the linear line + 1 that is the most recent of the set.
     * Such an access changes nothing in the cache, so it is decided here.
     */
    uint64_t filter[PMU_FILTER_SIZE];
    uint64_t filter_mask;
    uint64_t l1d_latency;
    uint64_t horizon;           /* no fill arrives later than this */
    uint64_t on_way;            /* bit line % 64: of fills that may matter */
    uint64_t now;               /* the issue clock, for bandwidth */
    uint64_t forward_latency;
    PmuForward forward[PMU_FORWARD_SIZE];

    PmuFill fill[PMU_MAX_FILL_BUFFERS];
    PmuFill prefetch[PMU_PREFETCHES];
    PmuStream stream[PMU_STREAMS];
    uint64_t dram_latency;
    uint64_t dram_free;         /* when the next line can leave DRAM */
    PmuCache l1d, l1i, l2, l3;
    PmuCache dtlb, itlb, stlb;
} PmuMemory;

/* A cold memory side; false if there is no memory for it. */
bool pmu_memory_init(PmuMemory *mem, const PmuUarch *uarch, PmuLedger *ledger,
                     PmuTranslate translate, void *opaque);
void pmu_memory_destroy(PmuMemory *mem);
void pmu_memory_reset(PmuMemory *mem);

/* See pmu_timing_flush_mappings(). */
void pmu_memory_flush_mappings(PmuMemory *mem, uint64_t linear);

/*
 * When the line or lines of @size bytes at linear address @addr are in L1D,
 * for an access that starts at @start; not before @start + L1D latency.
 */
uint64_t pmu_memory_access_slow(PmuMemory *mem, uint64_t addr, unsigned size,
                                uint64_t start);

/* The same, decided here in most cases; the issue clock is at @now. */
static inline uint64_t pmu_memory_access(PmuMemory *mem, uint64_t addr,
                                         unsigned size, uint64_t start,
                                         uint64_t now)
{
    uint64_t line = addr >> PMU_LINE_SHIFT;
    uint64_t ready = start + mem->l1d_latency;

    if (__builtin_expect(mem->filter[line & mem->filter_mask] == line + 1 &&
                         (addr & (PMU_LINE_SIZE - 1)) + size <= PMU_LINE_SIZE
                         && ready >= mem->horizon, 1)) {
        return ready;
    }
    mem->now = now;
    return pmu_memory_access_slow(mem, addr, size, start);
}

/* When a load that starts at @start has its data. */
static inline uint64_t pmu_memory_load(PmuMemory *mem, uint64_t addr,
                                       unsigned size, uint64_t start,
                                       uint64_t now)
{
    uint64_t ready = pmu_memory_access(mem, addr, size, start, now);
    uint64_t granule = addr >> 3;
    const PmuForward *forward = &mem->forward[granule % PMU_FORWARD_SIZE];

    if (forward->granule == granule + 1 &&
        forward->ready + mem->forward_latency > ready) {
        ready = forward->ready + mem->forward_latency;
    }
    return ready;
}

/*
 * When a store, whose address is known at @start and whose data at @data,
 * owns its line.
 */
static inline uint64_t pmu_memory_store(PmuMemory *mem, uint64_t addr,
                                        unsigned size, uint64_t start,
                                        uint64_t data, uint64_t now)
{
    uint64_t granule = addr >> 3;
    PmuForward *forward = &mem->forward[granule % PMU_FORWARD_SIZE];

    forward->granule = granule + 1;
    forward->ready = data;
    return pmu_memory_access(mem, addr, size, start, now);
}

/*
 * Cycles that fetching code at linear address @pc, physical address @phys,
 * takes longer than an L1I hit, if it starts at @start.  The issue clock is at
 * mem->now.
 */
uint64_t pmu_memory_fetch(PmuMemory *mem, uint64_t pc, uint64_t phys,
                          uint64_t start);

#endif
