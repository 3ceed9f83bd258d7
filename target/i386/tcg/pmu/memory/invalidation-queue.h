/*
 * The invalidation queue of a vCPU, in which the vCPUs that share its L3 put
 * snoops for its caches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Only a vCPU's own thread changes its caches, so others put snoops into its
 * queue.  No thread waits or takes a lock.  Of two snoops in the same place the
 * newer one remains; the vCPU keeps the line of the older one, which it should
 * have lost, until its caches evict that.
 */

#ifndef TARGET_I386_PMU_MEMORY_INVALIDATION_QUEUE_H
#define TARGET_I386_PMU_MEMORY_INVALIDATION_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* Places of a queue, chosen by a hash of the line; the bits of a word. */
#define PMU_SNOOP_SLOTS 64

typedef struct PmuInvalidationQueue {
    uint64_t pending;           /* bit n: place n has a snoop */
    uint64_t place[PMU_SNOOP_SLOTS]; /* PmuSnoop.line * 2 + PmuSnoop.write */
} PmuInvalidationQueue;

/* Another vCPU requested physical line @line, physical address / 64. */
typedef struct PmuSnoop {
    uint64_t line;
    bool write;                 /* to write to it, else to read it */
} PmuSnoop;

/* Put @snoop into @queue.  Any thread may call it. */
void pmu_invalidation_queue_put(PmuInvalidationQueue *queue, PmuSnoop snoop);

/* Is there a snoop in @queue?  Only the owner's thread may call it. */
static inline bool pmu_invalidation_queue_pending(
    const PmuInvalidationQueue *queue)
{
    return __atomic_load_n(&queue->pending, __ATOMIC_RELAXED);
}

/*
 * Move all snoops from @queue to @snoops; returns their number.  Only the
 * owner's thread may call it.
 */
unsigned pmu_invalidation_queue_take(PmuInvalidationQueue *queue,
                                     PmuSnoop snoops[PMU_SNOOP_SLOTS]);

#endif
