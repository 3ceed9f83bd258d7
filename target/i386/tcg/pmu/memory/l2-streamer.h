/*
 * The streamer: the prefetcher of L2.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * It sees the misses of the first-level caches in program order.
 */

#ifndef TARGET_I386_PMU_MEMORY_L2_STREAMER_H
#define TARGET_I386_PMU_MEMORY_L2_STREAMER_H

#include <stdint.h>

#define PMU_STREAMS             32

/* Lines prefetched after one miss.  Intel SOM 2.5.5.4: one or two. */
#define PMU_STREAM_DEGREE       2

/* The misses within a page; lines are numbered from the first of the page. */
typedef struct PmuStream {
    uint64_t page;              /* physical address / 4096 + 1; 0: none */
    int8_t last;                /* line of the newest miss */
    int8_t step;                /* lines to it from the miss before; 0: none */
    int8_t stride;              /* lines between prefetches; 0: no stream */
    int8_t next;                /* next line to prefetch, if @stride is not 0 */
} PmuStream;

typedef struct PmuStreamer {
    uint32_t distance;          /* most lines that it runs ahead of a miss */
    PmuStream stream[PMU_STREAMS];
} PmuStreamer;

/* Forget all streams; @distance is 0 (never prefetch) to 63 lines. */
void pmu_streamer_init(PmuStreamer *streamer, uint32_t distance);

/*
 * Physical line @line missed.  Writes the lines to prefetch to @lines and
 * returns their number.  If that is not 0, *@next is the line that the stream
 * will prefetch next, if that is still in the page.
 */
unsigned pmu_streamer_miss(PmuStreamer *streamer, uint64_t line,
                           uint64_t lines[PMU_STREAM_DEGREE], uint64_t *next);

#endif
