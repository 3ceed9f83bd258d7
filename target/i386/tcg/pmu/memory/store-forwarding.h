/*
 * Store forwarding: which store a load takes its data from.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The result depends on the addresses in program order alone; they are linear.
 * A load takes its data from the newest store that wrote any of its bytes, if
 * that store wrote all of them.  If not, the load is blocked until that store
 * has reached the cache (Intel SOM, "Store Forwarding").
 *
 * Hardware first compares the low 12 address bits.  If the newest store that
 * overlaps in these is another one, an alias, the load is issued again (Intel
 * SOM, "4-KByte Aliasing").
 */

#ifndef TARGET_I386_PMU_MEMORY_STORE_FORWARDING_H
#define TARGET_I386_PMU_MEMORY_STORE_FORWARDING_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tcg/pmu/memory/outcome.h"

/* A granule: an aligned range of addresses that has one slot. */
#define PMU_STORE_FORWARDING_GRANULE     3 /* log2 of bytes */
#define PMU_STORE_FORWARDING_ALIAS_BYTES       4096 /* distance of aliases */
#define PMU_STORE_FORWARDING_SLOTS              \
    (PMU_STORE_FORWARDING_ALIAS_BYTES >> PMU_STORE_FORWARDING_GRANULE)

/* Flag of a result: the load needs bytes that the store does not have. */
#define PMU_STORE_FORWARDING_BLOCKED (1u << 8)

/* Bits of a result from this one on: 1 + number of stores since an alias. */
#define PMU_STORE_FORWARDING_ALIAS_SHIFT 16

/*
 * The newest PMU_OUTCOME_STORES stores.  They are numbered, and their entries
 * are found by the low bits of the number.  A granule chooses a slot, which has
 * the number of its newest store; each store links to the one before it in its
 * slot.  A number that is not in the window ends the chain.
 */
typedef struct PmuStoreForwarding {
    uint32_t stores;            /* number of the newest store */
    uint32_t window;            /* newest stores that can be forwarded from */
    uint64_t addr[PMU_OUTCOME_STORES];
    uint32_t older[PMU_OUTCOME_STORES]; /* number of the next in the chain */
    uint8_t size[PMU_OUTCOME_STORES];   /* bytes, or PMU_STORE_FORWARDING_WIDE |
                                           bytes */
    uint32_t newest[PMU_STORE_FORWARDING_SLOTS];
} PmuStoreForwarding;

/*
 * Flag of a store in several slots.  A chain goes on from it through all older
 * stores, as .older belongs to its first slot alone.
 */
#define PMU_STORE_FORWARDING_WIDE 0x80

/*
 * Initialise @forward, without stores.  The newest @window stores, 1 to
 * PMU_OUTCOME_STORES, can be forwarded from.
 */
void pmu_store_forwarding_init(PmuStoreForwarding *forward, uint32_t window);

/* Forget all stores. */
void pmu_store_forwarding_reset(PmuStoreForwarding *forward);

/* Put all stores so far out of reach: others follow that are not recorded. */
static inline void pmu_store_forwarding_skip(PmuStoreForwarding *forward)
{
    forward->stores += PMU_OUTCOME_STORES;
    memset(forward->size, 0, sizeof(forward->size));
}

/* The slot of the granule at @addr. */
static inline uint32_t *pmu_store_forwarding_slot(PmuStoreForwarding *forward,
                                                  uint64_t addr)
{
    return &forward->newest[(addr >> PMU_STORE_FORWARDING_GRANULE) %
                            PMU_STORE_FORWARDING_SLOTS];
}

/* Do @size bytes at @addr reach into the next granule? */
static inline bool pmu_store_forwarding_is_wide(uint64_t addr, unsigned size)
{
    return (addr & ((1u << PMU_STORE_FORWARDING_GRANULE) - 1)) + size >
           1u << PMU_STORE_FORWARDING_GRANULE;
}

/* The part of pmu_store_forwarding_store() for a store in several slots. */
void pmu_store_forwarding_wide_store(PmuStoreForwarding *forward, uint64_t addr,
                                     unsigned size);

/* Record a store of @size bytes, 1 to 64, at @addr. */
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

/* pmu_store_forwarding_load() if a store may be found. */
uint32_t pmu_store_forwarding_find(PmuStoreForwarding *forward, uint64_t addr,
                                   unsigned size);

/*
 * Where a load of @size bytes, 1 to 64, at @addr takes its data from: 0 if from
 * the cache, else 1 + the number of stores since the one that has them, with
 * PMU_STORE_FORWARDING_BLOCKED if it lacks some.  The bits from
 * PMU_STORE_FORWARDING_ALIAS_SHIFT on say whether a newer store is an alias.
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
