/*
 * A timeline: in which cycles instructions passed the stages of the pipeline.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * For tools that show what the model does.  All times are cycles of the model's
 * clock.
 */

#ifndef TARGET_I386_PMU_BACKEND_TIMELINE_H
#define TARGET_I386_PMU_BACKEND_TIMELINE_H

#include <stdint.h>

/* One retired instruction; a REP string instruction with all iterations. */
typedef struct PmuTimelineEntry {
    uint64_t issued;            /* its first slot */
    uint64_t dispatched;        /* its first micro-op; none: as @executed */
    uint64_t executed;          /* its last result */
    uint64_t retired;
} PmuTimelineEntry;

/* The owner has room for @size entries, of which @num are filled. */
typedef struct PmuTimeline {
    PmuTimelineEntry *entry;
    unsigned size, num;
} PmuTimeline;

#endif
