/*
 * The streamer: which lines L2 asks for before they are needed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A function of the first-level misses in program order.
 */

#ifndef TARGET_I386_PMU_MEMORY_L2_STREAMER_H
#define TARGET_I386_PMU_MEMORY_L2_STREAMER_H

#include <stdint.h>

#define PMU_STREAMS             32

/* Lines asked for at a time: Intel SOM 2.5.5.4, one or two. */
#define PMU_STREAM_DEGREE       2

/* The misses within a page, lines numbered from its first. */
typedef struct PmuStream {
    uint64_t page;              /* physical address / 4096 + 1, 0: none */
    int8_t last;                /* the newest miss */
    int8_t step;                /* from the miss before to that, 0: none */
    int8_t stride;              /* from one asked for to the next, 0: none */
    int8_t next;                /* the next to ask for, if there is a stride */
} PmuStream;

typedef struct PmuStreamer {
    uint32_t distance;          /* lines: so far it runs ahead of misses */
    PmuStream stream[PMU_STREAMS];
} PmuStreamer;

/* No streams; @distance is 0 (never prefetch) to 63 lines. */
void pmu_streamer_init(PmuStreamer *streamer, uint32_t distance);

/*
 * Physical line @line missed.  The lines to ask for go to @lines; returns how
 * many there are.  If there are any, *@next is what the stream will ask for
 * next, if it stays in its page.
 */
unsigned pmu_streamer_miss(PmuStreamer *streamer, uint64_t line,
                           uint64_t lines[PMU_STREAM_DEGREE], uint64_t *next);

#endif
