/*
 * What each cycle was like: how much was dispatched and retired in it, and who
 * was waited for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line; a part of the pipeline.  The pipeline knows in
 * advance in which cycles micro-ops are dispatched and retired and lines
 * arrive.  That is noted here by cycle, and counted when the clock leaves the
 * cycle.  Nothing of it takes part in the timing but when the scheduler has
 * room.
 */

#ifndef TARGET_I386_PMU_CYCLES_H
#define TARGET_I386_PMU_CYCLES_H

#include <glib.h>
#include <string.h>

#include "pipeline.h"

/* What is beyond the window is looked at so often, in cycles. */
#define PMU_CYCLES_LOOK (PMU_WINDOW / 2)

/* PmuPipeline.waits */
#define PMU_WAIT_ANY    (1u << 0)
#define PMU_WAIT_L1     (1u << 1)
#define PMU_WAIT_L2     (1u << 2)
#define PMU_WAIT_L3     (1u << 3)
#define PMU_WAITS       15u
/* ... and for what a page walk is under way. */
#define PMU_WALK_LOAD   (1u << 4)
#define PMU_WALK_STORE  (1u << 5)
#define PMU_WALK_CODE   (1u << 6)

/* Who is to blame that the rest of a cycle, and those after it, are lost. */
typedef enum PmuBlame {
    PMU_BLAME_ANYBODY,
    PMU_BLAME_STORES,           /* the store buffer is full */
    PMU_BLAME_WRONG_PATH,       /* nobody: micro-ops issue, but in vain */
} PmuBlame;

/* The counter of ledger item @item, from PMU_ITEM_SAMPLED on. */
static inline uint32_t *pmu_timed(PmuPipeline *p, PmuLedgerItem item)
{
    return &p->delta.item[PMU_TIMED(item)];
}

/* One more cycle with @n of what histogram @first, up to @last, is of. */
static inline void pmu_count_bin(PmuPipeline *p, PmuLedgerItem first,
                                 PmuLedgerItem last, uint32_t n)
{
    uint32_t most = last - first;

    ++*pmu_timed(p, first + (n < most ? n : most));
}

/*
 * The clock goes on to @cycle, above p->cycle: count the cycles before it, in
 * the first of which p->slot slots were issued, and let micro-ops dispatched
 * in them leave the scheduler.
 */
void pmu_cycles_leave(PmuPipeline *p, uint64_t cycle, PmuBlame blame);

/* A load waits from @start up to @end; @waits: PMU_WAIT_x or _WALK_x. */
void pmu_cycles_wait_long(PmuPipeline *p, uint64_t start, uint64_t end,
                          uint8_t waits);

/* The same; most loads hit L1D.  Hot. */
static inline void pmu_cycles_wait(PmuPipeline *p, uint64_t start,
                                   uint64_t end, uint8_t waits)
{
    uint64_t length = end - start, word;
    unsigned i = start % PMU_WINDOW;

    if (G_LIKELY(length - 1 < 8 && i <= PMU_WINDOW - 8 &&
                 end <= p->cycle + PMU_WINDOW)) {
        memcpy(&word, &p->waits[i], sizeof(word));
        word |= GUINT64_TO_LE((0x0101010101010101ull * waits) >>
                              8 * (8 - length));
        memcpy(&p->waits[i], &word, sizeof(word));
    } else {
        pmu_cycles_wait_long(p, start, end, waits);
    }
}

/* A read of data is under way beyond L2 from @start up to @end. */
void pmu_cycles_read(PmuPipeline *p, uint64_t start, uint64_t end);

/*
 * The cycles of [@start, @end) that are not before *@until, which becomes
 * @end: of what is under way how many cycles have any.  That is a few too many
 * or too few when @start falls behind earlier ones.
 */
uint64_t pmu_cycles_union(uint64_t *until, uint64_t start, uint64_t end);

#endif
