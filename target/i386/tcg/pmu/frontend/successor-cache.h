/*
 * Cached successors: where blocks go on whose branch always goes one way.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * By block number, for the timing model.  A block's successor holds while the
 * base entry of the direction predictor that its branch has says that this
 * always goes one way: entries have lists of the blocks that depend on them.
 */

#ifndef TARGET_I386_PMU_FRONTEND_SUCCESSOR_CACHE_H
#define TARGET_I386_PMU_FRONTEND_SUCCESSOR_CACHE_H

#include <stdbool.h>
#include <stdint.h>


/* No code is here: it is not canonical. */
#define PMU_NO_SUCCESSOR (1ull << 63)

/*
 * Blocks that can depend on one entry: a guest chooses which entries its
 * branches have, and a list is walked to take one out of its middle.  There are
 * two for each entry if all blocks that can be counted at a time have one.
 */
#define PMU_MAX_SUCCESSORS_OF_ENTRY 64

/* Blocks that depend on the same entry, by their numbers. */
typedef struct PmuSuccessorLink {
    uint32_t next;              /* number, and 1; 0: none */
    uint32_t entry;             /* which that is, and 1; 0: on none */
} PmuSuccessorLink;

typedef struct PmuSuccessorCache {
    uint64_t *successors;       /* linear address by number */
    PmuSuccessorLink *links;    /* by number */
    uint32_t *first;            /* by entry: number, and 1; 0: none */
    uint8_t *num;               /* by entry: blocks in its list */
    uint32_t entries;
} PmuSuccessorCache;

/* Of PMU_BLOCK_NUMBERS blocks and @entries; none.  False if memory runs out. */
bool pmu_successor_cache_init(PmuSuccessorCache *cache, uint32_t entries);
void pmu_successor_cache_destroy(PmuSuccessorCache *cache);

/* No block of any entry has a successor any more. */
void pmu_successor_cache_clear(PmuSuccessorCache *cache);

/* Blocks that depend on @entry have no successor, and depend on it no more. */
void pmu_successor_cache_clear_entry(PmuSuccessorCache *cache, unsigned entry);

/*
 * From now on block @number goes on at @target, while @entry stays as it is.
 * If too many depend on that, the others' are found again when they run.
 */
void pmu_successor_cache_set(PmuSuccessorCache *cache, uint32_t number,
                             unsigned entry, uint64_t target);

#endif
