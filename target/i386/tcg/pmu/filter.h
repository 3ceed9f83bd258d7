/*
 * Lines of data that an access changes nothing about.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: plain C.  Most accesses hit L1D and the DTLB where
 * they hit just before, and have nothing to tell.  This is a direct-mapped
 * table of the lines, by linear address, of which the memory side knows that:
 * whatever changes it takes them out again.  Translated code looks it up, too.
 */

#ifndef TARGET_I386_PMU_FILTER_H
#define TARGET_I386_PMU_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "block.h"
#include "tlb.h"

/* Lines that there is a place for, by their low bits; a power of 2. */
#define PMU_FILTER_LINES    8192

/* Places that pages of 4 KiB share. */
#define PMU_FILTER_GROUPS   (PMU_FILTER_LINES / PMU_PAGE_LINES)

/* Large pages by their low bits: are parts of one of them in the filter? */
#define PMU_FILTER_LARGE    64

/*
 * What is in a place: the last address of a line if it may be read and written,
 * one less if it may be read, 0 if there is none.
 */
typedef uint64_t PmuFilterLine;

typedef struct PmuFilter {
    PmuFilterLine line[PMU_FILTER_LINES];
    uint64_t taken[PMU_FILTER_GROUPS];      /* places, a bit each */
    uint16_t large[PMU_FILTER_LARGE];       /* lines in such a page */
} PmuFilter;

/* No line is in @filter any more; at first it is all zero. */
void pmu_filter_clear(PmuFilter *filter);

/* The place of the line at linear address @linear. */
static inline unsigned pmu_filter_place(uint64_t linear)
{
    return (linear >> PMU_LINE_SHIFT) % PMU_FILTER_LINES;
}

/*
 * An access of @reach bytes, 1 to PMU_FAR_REACH, at linear address @addr, that
 * @stores or just loads: is its line in @filter, and does it not reach into
 * another one?  That has another last address.  Hot.
 */
static inline bool pmu_filter_has(const PmuFilter *filter, uint64_t addr,
                                  unsigned reach, bool stores)
{
    uint64_t last = (addr + reach - 1) | (PMU_LINE_SIZE - 1);

    return (last ^ filter->line[pmu_filter_place(addr)]) >> !stores == 0;
}

/*
 * From now on the line at linear address @linear, a multiple of PMU_LINE_SIZE,
 * may be read, and @written or not, with nothing to tell; another one that was
 * in its place may not.
 */
void pmu_filter_add(PmuFilter *filter, uint64_t linear, bool written);

/* The line at @linear is not in @filter any more, if it was. */
void pmu_filter_remove(PmuFilter *filter, uint64_t linear);

/* The same for all lines of page @number of @size. */
void pmu_filter_remove_page(PmuFilter *filter, uint64_t number,
                            PmuPageSize size);

#endif
