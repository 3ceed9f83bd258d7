/*
 * Store forwarding: which store a load takes its data from.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/memory/store-forwarding.h"

void pmu_store_forwarding_init(PmuStoreForwarding *forward, uint32_t window)
{
    g_assert(window && window <= PMU_OUTCOME_STORES);
    forward->window = window;
    pmu_store_forwarding_reset(forward);
}

void pmu_store_forwarding_reset(PmuStoreForwarding *forward)
{
    memset(forward->newest, 0, sizeof(forward->newest));
    memset(forward->size, 0, sizeof(forward->size));
    /* So that number 0, in the slots, is of a store out of reach. */
    forward->stores = PMU_OUTCOME_STORES;
}

/* The number of granules that @size bytes at @addr are in. */
static unsigned granules(uint64_t addr, unsigned size)
{
    unsigned bytes = 1u << PMU_STORE_FORWARDING_GRANULE;

    return ((addr & (bytes - 1)) + size + bytes - 1) / bytes;
}

void pmu_store_forwarding_wide_store(PmuStoreForwarding *forward, uint64_t addr,
                                     unsigned size)
{
    uint32_t number = forward->stores;

    forward->size[number % PMU_OUTCOME_STORES] |= PMU_STORE_FORWARDING_WIDE;
    for (unsigned i = granules(addr, size) - 1; i > 0; i--) {
        addr += 1u << PMU_STORE_FORWARDING_GRANULE;
        *pmu_store_forwarding_slot(forward, addr) = number;
    }
}

/* Do @size bytes at @addr overlap @bytes, 0 or more, at @other? */
static inline bool overlaps(uint64_t addr, unsigned size, uint64_t other,
                            unsigned bytes)
{
    return addr - other < bytes || (other - addr < size && bytes);
}

/* The same for the low bits of addresses, which hardware compares first. */
static inline bool is_alike(uint64_t addr, unsigned size, uint64_t other,
                            unsigned bytes)
{
    return (addr - other) % PMU_STORE_FORWARDING_ALIAS_BYTES < bytes ||
           ((other - addr) % PMU_STORE_FORWARDING_ALIAS_BYTES < size && bytes);
}

/*
 * Follow a chain from store @number, which a slot named, to a store that wrote
 * any of the @size bytes at @addr.  Returns the number of stores since that
 * one, or the window if there is none in it.  *@alias becomes the number of
 * stores since an alias on the way, if that is less than it was.
 */
static uint32_t walk(const PmuStoreForwarding *forward, uint32_t number,
                     uint64_t addr, unsigned size, uint32_t *alias)
{
    bool linked = true;
    uint32_t since;

    while ((since = forward->stores - number) < forward->window) {
        uint32_t i = number % PMU_OUTCOME_STORES;
        uint8_t bytes = forward->size[i];
        unsigned width = bytes & ~PMU_STORE_FORWARDING_WIDE;

        if (overlaps(addr, size, forward->addr[i], width)) {
            return since;
        }
        if (is_alike(addr, size, forward->addr[i], width)) {
            *alias = MIN(*alias, since);
        }
        linked &= !(bytes & PMU_STORE_FORWARDING_WIDE);
        number = linked ? forward->older[i] : number - 1;
    }
    return forward->window;
}

/* Has the store in entry @i all of the @size bytes at @addr? */
static inline bool has_all(const PmuStoreForwarding *forward, uint32_t i,
                           uint64_t addr, unsigned size)
{
    uint64_t offset = addr - forward->addr[i];

    return offset < PMU_STORE_FORWARDING_WIDE &&
           offset + size <= (forward->size[i] & ~PMU_STORE_FORWARDING_WIDE);
}

uint32_t pmu_store_forwarding_find(PmuStoreForwarding *forward, uint64_t addr,
                                   unsigned size)
{
    uint32_t newest = *pmu_store_forwarding_slot(forward, addr);
    uint32_t since = forward->stores - newest, alias = forward->window;
    uint32_t result = 0;
    uint64_t at = addr;

    /* In most cases the newest store of the slot has all bytes. */
    if (since < forward->window && !pmu_store_forwarding_is_wide(addr, size) &&
        has_all(forward, newest % PMU_OUTCOME_STORES, addr, size)) {
        return since + 1;
    }
    since = forward->window;
    for (unsigned n = granules(addr, size); n > 0; n--) {
        uint32_t other = walk(forward, *pmu_store_forwarding_slot(forward, at),
                              addr, size, &alias);

        since = MIN(since, other);
        at += 1u << PMU_STORE_FORWARDING_GRANULE;
    }
    if (since < forward->window) {
        result = since + 1;
        result |= has_all(forward,
                          (forward->stores - since) % PMU_OUTCOME_STORES, addr,
                          size) ? 0 : PMU_STORE_FORWARDING_BLOCKED;
    }
    if (alias < since) {
        result |= (alias + 1) << PMU_STORE_FORWARDING_ALIAS_SHIFT;
    }
    return result;
}
