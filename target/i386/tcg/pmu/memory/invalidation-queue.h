/*
 * Messages between vCPUs that share an L3: what one's accesses do to lines
 * that another one has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A vCPU's caches belong to its thread, so that others leave word in its queue.
 * No thread waits or takes a lock: of two messages in the same place the newer
 * one remains, and the other vCPU keeps a line that it should have lost until
 * that leaves its caches by itself.
 */

#ifndef TARGET_I386_PMU_MEMORY_INVALIDATION_QUEUE_H
#define TARGET_I386_PMU_MEMORY_INVALIDATION_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* Places of an queue, by a hash of the line: bits of a word. */
#define PMU_SNOOP_SLOTS 64

typedef struct PmuInvalidationQueue {
    uint64_t pending;           /* places that have something new */
    uint64_t place[PMU_SNOOP_SLOTS]; /* PmuSnoop.line * 2 + PmuSnoop.write */
} PmuInvalidationQueue;

/* Another vCPU requested physical line @line, physical address / 64. */
typedef struct PmuSnoop {
    uint64_t line;
    bool write;                 /* to write to it, else to read it */
} PmuSnoop;

/* From any thread. */
void pmu_invalidation_queue_put(PmuInvalidationQueue *queue, PmuSnoop snoop);

/* Is there something in it?  From its owner's thread, as is the next. */
static inline bool pmu_invalidation_queue_pending(
    const PmuInvalidationQueue *queue)
{
    return __atomic_load_n(&queue->pending, __ATOMIC_RELAXED);
}

/* Take what is in it; returns how many they are. */
unsigned pmu_invalidation_queue_take(PmuInvalidationQueue *queue,
                                     PmuSnoop snoops[PMU_SNOOP_SLOTS]);

#endif
