/*
 * Lines of data that an access changes nothing about.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Most accesses hit L1D and the DTLB where they hit just before, and have
 * nothing to tell.  This is a direct-mapped table of the lines, by linear
 * address, of which the memory side knows that: whatever changes it takes them
 * out again.
 */

#ifndef TARGET_I386_PMU_MEMORY_L1_HIT_FILTER_H
#define TARGET_I386_PMU_MEMORY_L1_HIT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/memory/tlb.h"

/* Lines that there is a place for, by their low bits; a power of 2. */
#define PMU_L1_HIT_FILTER_LINES 8192

/* Places that pages of 4 KiB share. */
#define PMU_L1_HIT_FILTER_GROUPS (PMU_L1_HIT_FILTER_LINES / PMU_PAGE_LINES)

/* Large pages by their low bits: are parts of one of them in the filter? */
#define PMU_L1_HIT_FILTER_LARGE 64

/*
 * What is in a place: the last address of a line if it may be read and written,
 * one less if it may be read, 0 if there is none.
 */
typedef uint64_t PmuL1HitFilterEntry;

typedef struct PmuL1HitFilter {
    PmuL1HitFilterEntry line[PMU_L1_HIT_FILTER_LINES];
    uint64_t taken[PMU_L1_HIT_FILTER_GROUPS]; /* places, a bit each */
    uint16_t large[PMU_L1_HIT_FILTER_LARGE]; /* lines in such a page */
} PmuL1HitFilter;

/* No line is in @filter any more; at first it is all zero. */
void pmu_l1_hit_filter_clear(PmuL1HitFilter *filter);

/* The place of the line at linear address @linear. */
static inline unsigned pmu_l1_hit_filter_place(uint64_t linear)
{
    return (linear >> PMU_LINE_SHIFT) % PMU_L1_HIT_FILTER_LINES;
}

/*
 * An access of @reach bytes, 1 to PMU_EXTENT_NO_HIT, at linear address @addr,
 * that @stores or just loads: is its line in @filter, and does it not reach
 * into another one?  That has another last address.  Hot.
 */
static inline bool pmu_l1_hit_filter_has(const PmuL1HitFilter *filter,
                                         uint64_t addr,
                                         unsigned reach, bool stores)
{
    uint64_t last = (addr + reach - 1) | (PMU_LINE_SIZE - 1);

    return (last ^ filter->line[pmu_l1_hit_filter_place(addr)]) >> !stores == 0;
}

/*
 * From now on the line at linear address @linear, a multiple of PMU_LINE_SIZE,
 * may be read, and @written or not, with nothing to tell; another one that was
 * in its place may not.
 */
void pmu_l1_hit_filter_add(PmuL1HitFilter *filter, uint64_t linear,
                           bool written);

/* The line at @linear is not in @filter any more, if it was. */
void pmu_l1_hit_filter_remove(PmuL1HitFilter *filter, uint64_t linear);

/* The same for all lines of page @number of @size. */
void pmu_l1_hit_filter_remove_page(PmuL1HitFilter *filter, uint64_t number,
                                   PmuPageSize size);

#endif
