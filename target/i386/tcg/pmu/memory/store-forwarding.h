/*
 * Which store a load takes its data from.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A function of the addresses in program order.  A load takes its data from the
 * newest store that wrote any of its bytes, if that wrote all of them; if not
 * it is blocked until that store has reached the cache (Intel SOM, "Store
 * Forwarding").  Addresses are linear.
 *
 * Hardware looks for the store by the low 12 bits first: if the newest one that
 * is alike there is another, the load is issued again (Intel SOM, "4-KByte
 * Aliasing").
 */

#ifndef TARGET_I386_PMU_MEMORY_STORE_FORWARDING_H
#define TARGET_I386_PMU_MEMORY_STORE_FORWARDING_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tcg/pmu/memory/outcome.h"

#define PMU_STORE_FORWARDING_GRANULE     3 /* log2 of bytes */
#define PMU_STORE_FORWARDING_ALIAS_BYTES       4096 /* bytes: compared first */
#define PMU_STORE_FORWARDING_SLOTS              \
    (PMU_STORE_FORWARDING_ALIAS_BYTES >> PMU_STORE_FORWARDING_GRANULE)

/* The load needs bytes that the store it says does not have. */
#define PMU_STORE_FORWARDING_BLOCKED (1u << 8)

/* From this bit on: 1 + the number of stores since one that is only alike. */
#define PMU_STORE_FORWARDING_ALIAS_SHIFT 16

/*
 * The newest PMU_OUTCOME_STORES stores, each linked to an older one of the
 * same slot; the slots are chosen by aligned eight bytes.  Stores are
 * numbered; a number too old to matter ends a chain.
 */
typedef struct PmuStoreForwarding {
    uint32_t stores;            /* number of the newest */
    uint32_t window;            /* so many stores can be forwarded from */
    uint64_t addr[PMU_OUTCOME_STORES];
    uint32_t older[PMU_OUTCOME_STORES];
    uint8_t size[PMU_OUTCOME_STORES];   /* bytes, or PMU_STORE_FORWARDING_WIDE |
                                           bytes */
    uint32_t newest[PMU_STORE_FORWARDING_SLOTS];
} PmuStoreForwarding;

/* It is in several slots, and linked to the store before it, of any slot. */
#define PMU_STORE_FORWARDING_WIDE 0x80

/* No stores yet; those from the newest @window (1 to PMU_OUTCOME_STORES) on. */
void pmu_store_forwarding_init(PmuStoreForwarding *forward, uint32_t window);

/* Forget all stores. */
void pmu_store_forwarding_reset(PmuStoreForwarding *forward);

/* So many other stores follow that those so far are out of reach. */
static inline void pmu_store_forwarding_skip(PmuStoreForwarding *forward)
{
    forward->stores += PMU_OUTCOME_STORES;
    memset(forward->size, 0, sizeof(forward->size));
}

static inline uint32_t *pmu_store_forwarding_slot(PmuStoreForwarding *forward,
                                                  uint64_t addr)
{
    return &forward->newest[(addr >> PMU_STORE_FORWARDING_GRANULE) %
                            PMU_STORE_FORWARDING_SLOTS];
}

/* Do @size bytes at @addr reach into the next eight? */
static inline bool pmu_store_forwarding_is_wide(uint64_t addr, unsigned size)
{
    return (addr & ((1u << PMU_STORE_FORWARDING_GRANULE) - 1)) + size >
           1u << PMU_STORE_FORWARDING_GRANULE;
}

/* The rest of pmu_store_forwarding_store(). */
void pmu_store_forwarding_wide_store(PmuStoreForwarding *forward, uint64_t addr,
                                     unsigned size);

/* A store of @size bytes, 1 to 64, at @addr. */
static inline void pmu_store_forwarding_store(PmuStoreForwarding *forward,
                                              uint64_t addr, unsigned size)
{
    uint32_t number = ++forward->stores;
    uint32_t i = number % PMU_OUTCOME_STORES;
    uint32_t *slot = pmu_store_forwarding_slot(forward, addr);

    forward->addr[i] = addr;
    forward->size[i] = size;
    forward->older[i] = *slot;
    *slot = number;
    if (__builtin_expect(pmu_store_forwarding_is_wide(addr, size), 0)) {
        pmu_store_forwarding_wide_store(forward, addr, size);
    }
}

/* The rest of pmu_store_forwarding_load(). */
uint32_t pmu_store_forwarding_find(PmuStoreForwarding *forward, uint64_t addr,
                                   unsigned size);

/*
 * Where a load of @size bytes, 1 to 64, at @addr takes its data from: 0 if from
 * the cache, else 1 + the number of stores since that one, with
 * PMU_STORE_FORWARDING_BLOCKED if it cannot; and whether a newer store is
 * alike, see PMU_STORE_FORWARDING_ALIAS_SHIFT.
 */
static inline uint32_t pmu_store_forwarding_load(PmuStoreForwarding *forward,
                                                 uint64_t addr, unsigned size)
{
    uint32_t since = forward->stores -
                     *pmu_store_forwarding_slot(forward, addr);

    if (__builtin_expect(since >= forward->window &&
                         !pmu_store_forwarding_is_wide(addr, size), 1)) {
        return 0;
    }
    return pmu_store_forwarding_find(forward, addr, size);
}

#endif
