/*
 * The invalidation queue of a vCPU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcg/pmu/memory/invalidation-queue.h"
#include "tcg/pmu/uarch/hash.h"

static unsigned place_of(uint64_t line)
{
    return line * PMU_HASH_MULTIPLIER >> 58;
}

void pmu_invalidation_queue_put(PmuInvalidationQueue *queue, PmuSnoop snoop)
{
    unsigned i = place_of(snoop.line);
    uint64_t now = snoop.line << 1 | snoop.write;
    uint64_t before = __atomic_load_n(&queue->place[i], __ATOMIC_RELAXED);
    uint64_t pending = __atomic_load_n(&queue->pending, __ATOMIC_RELAXED);

    /* If the older snoop of the line is a write it stays one. */
    if ((pending >> i & 1) && before >> 1 == snoop.line) {
        now |= before & 1;
    }
    __atomic_store_n(&queue->place[i], now, __ATOMIC_RELAXED);
    __atomic_fetch_or(&queue->pending, 1ull << i, __ATOMIC_RELEASE);
}

unsigned pmu_invalidation_queue_take(PmuInvalidationQueue *queue,
                                     PmuSnoop snoops[PMU_SNOOP_SLOTS])
{
    uint64_t pending = __atomic_exchange_n(&queue->pending, 0,
                                           __ATOMIC_ACQUIRE);
    unsigned n = 0;

    for (; pending; pending &= pending - 1) {
        uint64_t word = __atomic_load_n(
            &queue->place[__builtin_ctzll(pending)], __ATOMIC_RELAXED);

        snoops[n++] = (PmuSnoop) { .line = word >> 1, .write = word & 1 };
    }
    return n;
}
