/*
 * Which store a load takes its data from.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>
#include <string.h>

#include "forward.h"

void pmu_forward_init(PmuForward *forward, uint32_t window)
{
    g_assert(window && window <= PMU_OUTCOME_STORES);
    forward->window = window;
    pmu_forward_reset(forward);
}

void pmu_forward_reset(PmuForward *forward)
{
    memset(forward->newest, 0, sizeof(forward->newest));
    memset(forward->size, 0, sizeof(forward->size));
    /* Old enough for 0 in the slots to mean none. */
    forward->stores = PMU_OUTCOME_STORES;
}

/* How many slots @size bytes at @addr are in. */
static unsigned granules(uint64_t addr, unsigned size)
{
    unsigned bytes = 1u << PMU_FORWARD_GRANULE;

    return ((addr & (bytes - 1)) + size + bytes - 1) / bytes;
}

void pmu_forward_wide_store(PmuForward *forward, uint64_t addr, unsigned size)
{
    uint32_t number = forward->stores;

    forward->size[number % PMU_OUTCOME_STORES] |= PMU_FORWARD_WIDE;
    for (unsigned i = granules(addr, size) - 1; i > 0; i--) {
        addr += 1u << PMU_FORWARD_GRANULE;
        *pmu_forward_slot(forward, addr) = number;
    }
}

/* Does [@addr, @addr + @size) meet [@other, @other + @bytes), if not empty? */
static inline bool overlaps(uint64_t addr, unsigned size, uint64_t other,
                            unsigned bytes)
{
    return addr - other < bytes || (other - addr < size && bytes);
}

/*
 * How many stores ago, from store @number on, which a slot or a link named,
 * something was written that the load reads; the window if that is longer.
 */
static uint32_t walk(const PmuForward *forward, uint32_t number,
                     uint64_t addr, unsigned size)
{
    bool linked = true;
    uint32_t since;

    while ((since = forward->stores - number) < forward->window) {
        uint32_t i = number % PMU_OUTCOME_STORES;
        uint8_t bytes = forward->size[i];

        if (overlaps(addr, size, forward->addr[i],
                     bytes & ~PMU_FORWARD_WIDE)) {
            return since;
        }
        linked &= !(bytes & PMU_FORWARD_WIDE);
        number = linked ? forward->older[i] : number - 1;
    }
    return forward->window;
}

/* Has store number @i % PMU_OUTCOME_STORES all that the load reads? */
static inline bool has_all(const PmuForward *forward, uint32_t i,
                           uint64_t addr, unsigned size)
{
    uint64_t offset = addr - forward->addr[i];

    return offset < PMU_FORWARD_WIDE &&
           offset + size <= (forward->size[i] & ~PMU_FORWARD_WIDE);
}

uint32_t pmu_forward_find(PmuForward *forward, uint64_t addr, unsigned size)
{
    uint32_t newest = *pmu_forward_slot(forward, addr);
    uint32_t since = forward->stores - newest;
    uint64_t at = addr;

    /* In most cases the newest one of the slot has it. */
    if (since < forward->window && !pmu_forward_is_wide(addr, size) &&
        has_all(forward, newest % PMU_OUTCOME_STORES, addr, size)) {
        return since + 1;
    }
    since = forward->window;
    for (unsigned n = granules(addr, size); n > 0; n--) {
        uint32_t other = walk(forward, *pmu_forward_slot(forward, at), addr,
                              size);

        since = MIN(since, other);
        at += 1u << PMU_FORWARD_GRANULE;
    }
    if (since == forward->window) {
        return 0;
    }
    return has_all(forward, (forward->stores - since) % PMU_OUTCOME_STORES,
                   addr, size)
           ? since + 1 : (since + 1) | PMU_FORWARD_BLOCKED;
}
