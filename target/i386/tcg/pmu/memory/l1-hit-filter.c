/*
 * The L1-hit filter: lines to which an access changes nothing in the model.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "tcg/pmu/memory/l1-hit-filter.h"

G_STATIC_ASSERT(PMU_PAGE_LINES == 64);

/* The number of the page of 4 KiB that has @line. */
static inline uint64_t page_of(PmuL1HitFilterEntry line)
{
    return line >> PMU_PAGE_SHIFT;
}

/* The counter for the lines of @page, of 4 KiB: that of its page of 2 MiB. */
static inline uint16_t *large_of(PmuL1HitFilter *filter, uint64_t page)
{
    return &filter->large[pmu_page_of(page, PMU_PAGE_2M) %
                          PMU_L1_HIT_FILTER_LARGE];
}

/* Remove the line in @place, which has one. */
static void vacate(PmuL1HitFilter *filter, unsigned place)
{
    --*large_of(filter, page_of(filter->line[place]));
    filter->taken[place / PMU_PAGE_LINES] &= ~(1ull << place % PMU_PAGE_LINES);
    filter->line[place] = 0;
}

/*
 * Clears only the places that have a line: these are no more than L1D has
 * lines, and in most cases far fewer.
 */
void pmu_l1_hit_filter_clear(PmuL1HitFilter *filter)
{
    for (unsigned group = 0; group < PMU_L1_HIT_FILTER_GROUPS; group++) {
        PmuL1HitFilterEntry *line = &filter->line[group * PMU_PAGE_LINES];

        for (uint64_t left = filter->taken[group]; left; left &= left - 1) {
            line[__builtin_ctzll(left)] = 0;
        }
        filter->taken[group] = 0;
    }
    memset(filter->large, 0, sizeof(filter->large));
}

void pmu_l1_hit_filter_add(PmuL1HitFilter *filter, uint64_t linear,
                           bool written)
{
    unsigned place = pmu_l1_hit_filter_place(linear);
    PmuL1HitFilterEntry line = linear + PMU_LINE_SIZE - 2 + written;

    if (filter->line[place]) {
        vacate(filter, place);
    }
    filter->line[place] = line;
    filter->taken[place / PMU_PAGE_LINES] |= 1ull << place % PMU_PAGE_LINES;
    ++*large_of(filter, page_of(line));
}

void pmu_l1_hit_filter_remove(PmuL1HitFilter *filter, uint64_t linear)
{
    unsigned place = pmu_l1_hit_filter_place(linear);

    if ((filter->line[place] ^ linear) < PMU_LINE_SIZE &&
        filter->line[place]) {
        vacate(filter, place);
    }
}

static void remove_page(PmuL1HitFilter *filter, uint64_t page)
{
    unsigned group = page % PMU_L1_HIT_FILTER_GROUPS;

    for (uint64_t left = filter->taken[group]; left; left &= left - 1) {
        unsigned place = group * PMU_PAGE_LINES + __builtin_ctzll(left);

        if (page_of(filter->line[place]) == page) {
            vacate(filter, place);
        }
    }
}

void pmu_l1_hit_filter_remove_page(PmuL1HitFilter *filter, uint64_t number,
                                   PmuPageSize size)
{
    if (size == PMU_PAGE_4K) {
        remove_page(filter, number);
        return;
    }
    if (size == PMU_PAGE_2M &&
        !filter->large[number % PMU_L1_HIT_FILTER_LARGE]) {
        return;
    }
    for (unsigned i = 0; i < PMU_L1_HIT_FILTER_LINES; i++) {
        if (filter->line[i] &&
            pmu_page_of(page_of(filter->line[i]), size) == number) {
            vacate(filter, i);
        }
    }
}
