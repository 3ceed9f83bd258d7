/*
 * The L1-hit filter: lines to which an access changes nothing in the model.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Most accesses hit L1D and the DTLB where they hit just before, and their
 * outcome is all zero.  This direct-mapped table has the lines, by linear
 * address, for which the memory side knows that.  Whatever changes it takes the
 * line out again.
 */

#ifndef TARGET_I386_PMU_MEMORY_L1_HIT_FILTER_H
#define TARGET_I386_PMU_MEMORY_L1_HIT_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/memory/tlb.h"

/* Places, one line each, chosen by the low bits of its number; a power of 2. */
#define PMU_L1_HIT_FILTER_LINES 8192

/* Groups of places; all lines of a page of 4 KiB have places in one group. */
#define PMU_L1_HIT_FILTER_GROUPS (PMU_L1_HIT_FILTER_LINES / PMU_PAGE_LINES)

/* Counters of lines in pages of 2 MiB, chosen by the low bits of the page. */
#define PMU_L1_HIT_FILTER_LARGE 64

/*
 * What is in a place: the last address of a line that may be read and written,
 * one less for a line that may only be read, 0 for none.
 */
typedef uint64_t PmuL1HitFilterEntry;

typedef struct PmuL1HitFilter {
    PmuL1HitFilterEntry line[PMU_L1_HIT_FILTER_LINES];
    uint64_t taken[PMU_L1_HIT_FILTER_GROUPS]; /* bit n: place n has a line */
    uint16_t large[PMU_L1_HIT_FILTER_LARGE]; /* lines here of such pages */
} PmuL1HitFilter;

/* Empty @filter, which is all zero before the first call. */
void pmu_l1_hit_filter_clear(PmuL1HitFilter *filter);

/* The place of the line at linear address @linear. */
static inline unsigned pmu_l1_hit_filter_place(uint64_t linear)
{
    return (linear >> PMU_LINE_SHIFT) % PMU_L1_HIT_FILTER_LINES;
}

/*
 * Is the line of an access of @reach bytes, 1 to PMU_EXTENT_NO_HIT, at linear
 * address @addr in @filter?  @stores: it stores, else it only loads.  False if
 * the access reaches into a second line, as the last address of that is
 * another.  Hot.
 */
static inline bool pmu_l1_hit_filter_has(const PmuL1HitFilter *filter,
                                         uint64_t addr,
                                         unsigned reach, bool stores)
{
    uint64_t last = (addr + reach - 1) | (PMU_LINE_SIZE - 1);

    return (last ^ filter->line[pmu_l1_hit_filter_place(addr)]) >> !stores == 0;
}

/*
 * Put the line at linear address @linear, a multiple of PMU_LINE_SIZE, into
 * @filter, for loads, and for stores as well if @written.  It replaces the line
 * that was in its place.
 */
void pmu_l1_hit_filter_add(PmuL1HitFilter *filter, uint64_t linear,
                           bool written);

/* Remove the line at linear address @linear, if it is in @filter. */
void pmu_l1_hit_filter_remove(PmuL1HitFilter *filter, uint64_t linear);

/* The same for all lines of page @number of @size. */
void pmu_l1_hit_filter_remove_page(PmuL1HitFilter *filter, uint64_t number,
                                   PmuPageSize size);

#endif
