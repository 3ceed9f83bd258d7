/*
 * The streamer: the prefetcher of L2.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Intel SOM 2.5.5.4: it follows ascending and descending misses within a page.
 * Misses of neighbouring lines start a stream at the second miss.  Those of a
 * larger step start one at the third miss, if both steps are the same.
 */

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "tcg/pmu/memory/l2-streamer.h"

#define PAGE_LINES      64

/* Steps of different lengths, in lines, make a stream if none is longer. */
#define MAX_UNEVEN      4

void pmu_streamer_init(PmuStreamer *streamer, uint32_t distance)
{
    g_assert(distance < PAGE_LINES);
    memset(streamer->stream, 0, sizeof(streamer->stream));
    streamer->distance = distance;
}

/* The stride after steps of @before lines, 0 for none, and then @step lines. */
static int find_stride(int before, int step)
{
    int sign = step < 0 ? -1 : 1;

    if (step == before) {
        return step;
    }
    if (!before) {
        return step == sign ? sign : 0;
    }
    return before * sign > 0 && abs(before) <= MAX_UNEVEN &&
           abs(step) <= MAX_UNEVEN ? sign : 0;
}

/*
 * Write to @lines the next lines to prefetch ahead of line @miss of the page
 * whose first line is @first; returns their number.
 */
static unsigned run_ahead(const PmuStreamer *streamer, PmuStream *stream,
                          int miss, uint64_t first,
                          uint64_t lines[PMU_STREAM_DEGREE])
{
    int next = stream->next;
    unsigned n = 0;

    while (n < PMU_STREAM_DEGREE && next >= 0 && next < PAGE_LINES &&
           (uint32_t)abs(next - miss) <= streamer->distance) {
        lines[n++] = first + next;
        next += stream->stride;
    }
    stream->next = next;
    return n;
}

unsigned pmu_streamer_miss(PmuStreamer *streamer, uint64_t line,
                           uint64_t lines[PMU_STREAM_DEGREE], uint64_t *next)
{
    uint64_t page = line / PAGE_LINES;
    int miss = line % PAGE_LINES, step, stride;
    unsigned n;
    PmuStream *stream = &streamer->stream[(page ^ page / PMU_STREAMS) %
                                          PMU_STREAMS];

    if (stream->page != page + 1) {
        *stream = (PmuStream) { .page = page + 1, .last = miss };
        return 0;
    }
    step = miss - stream->last;
    if (!step) {
        return 0;
    }
    stride = find_stride(stream->step, step);
    stream->last = miss;
    stream->step = step;
    if (stride != stream->stride || (stream->next - miss) * stride <= 0) {
        stream->stride = stride;
        stream->next = miss + stride;
    }
    if (!stride) {
        return 0;
    }
    n = run_ahead(streamer, stream, miss, line - miss, lines);
    *next = line - miss + stream->next;
    return n;
}
