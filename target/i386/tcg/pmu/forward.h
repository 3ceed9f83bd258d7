/*
 * Which store a load takes its data from.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.  A function of the addresses in program order.  A
 * load takes its data from the newest store that wrote any of its bytes, if
 * that wrote all of them; if not it is blocked until that store has reached
 * the cache (Intel SOM, "Store Forwarding").  Addresses are linear.
 *
 * Hardware looks for the store by the low 12 bits first: if the newest one that
 * is alike there is another, the load is issued again (Intel SOM, "4-KByte
 * Aliasing").
 */

#ifndef TARGET_I386_PMU_FORWARD_H
#define TARGET_I386_PMU_FORWARD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "outcome.h"

#define PMU_FORWARD_GRANULE     3       /* log2 of bytes */
#define PMU_FORWARD_ALIKE       4096    /* bytes: compared first */
#define PMU_FORWARD_SLOTS       (PMU_FORWARD_ALIKE >> PMU_FORWARD_GRANULE)

/* The load needs bytes that the store it says does not have. */
#define PMU_FORWARD_BLOCKED     (1u << 8)

/* From this bit on: 1 + the number of stores since one that is only alike. */
#define PMU_FORWARD_ALIAS_SHIFT 16

/*
 * The newest PMU_OUTCOME_STORES stores, each linked to an older one of the
 * same slot; the slots are chosen by aligned eight bytes.  Stores are
 * numbered; a number too old to matter ends a chain.
 */
typedef struct PmuForward {
    uint32_t stores;            /* number of the newest */
    uint32_t window;            /* so many stores can be forwarded from */
    uint64_t addr[PMU_OUTCOME_STORES];
    uint32_t older[PMU_OUTCOME_STORES];
    uint8_t size[PMU_OUTCOME_STORES];   /* bytes, or PMU_FORWARD_WIDE | bytes */
    uint32_t newest[PMU_FORWARD_SLOTS];
} PmuForward;

/* It is in several slots, and linked to the store before it, of any slot. */
#define PMU_FORWARD_WIDE        0x80

/* No stores yet; those from the newest @window (1 to PMU_OUTCOME_STORES) on. */
void pmu_forward_init(PmuForward *forward, uint32_t window);

/* Forget all stores. */
void pmu_forward_reset(PmuForward *forward);

/* So many other stores follow that those so far are out of reach. */
static inline void pmu_forward_skip(PmuForward *forward)
{
    forward->stores += PMU_OUTCOME_STORES;
    memset(forward->size, 0, sizeof(forward->size));
}

static inline uint32_t *pmu_forward_slot(PmuForward *forward, uint64_t addr)
{
    return &forward->newest[(addr >> PMU_FORWARD_GRANULE) %
                            PMU_FORWARD_SLOTS];
}

/* Do @size bytes at @addr reach into the next eight? */
static inline bool pmu_forward_is_wide(uint64_t addr, unsigned size)
{
    return (addr & ((1u << PMU_FORWARD_GRANULE) - 1)) + size >
           1u << PMU_FORWARD_GRANULE;
}

/* The rest of pmu_forward_store(). */
void pmu_forward_wide_store(PmuForward *forward, uint64_t addr, unsigned size);

/* A store of @size bytes, 1 to 64, at @addr. */
static inline void pmu_forward_store(PmuForward *forward, uint64_t addr,
                                     unsigned size)
{
    uint32_t number = ++forward->stores;
    uint32_t i = number % PMU_OUTCOME_STORES;
    uint32_t *slot = pmu_forward_slot(forward, addr);

    forward->addr[i] = addr;
    forward->size[i] = size;
    forward->older[i] = *slot;
    *slot = number;
    if (__builtin_expect(pmu_forward_is_wide(addr, size), 0)) {
        pmu_forward_wide_store(forward, addr, size);
    }
}

/* The rest of pmu_forward_load(). */
uint32_t pmu_forward_find(PmuForward *forward, uint64_t addr, unsigned size);

/*
 * Where a load of @size bytes, 1 to 64, at @addr takes its data from: 0 if
 * from the cache, else 1 + the number of stores since that one, with
 * PMU_FORWARD_BLOCKED if it cannot; and whether a newer store is alike, see
 * PMU_FORWARD_ALIAS_SHIFT.
 */
static inline uint32_t pmu_forward_load(PmuForward *forward, uint64_t addr,
                                        unsigned size)
{
    uint32_t since = forward->stores - *pmu_forward_slot(forward, addr);

    if (__builtin_expect(since >= forward->window &&
                         !pmu_forward_is_wide(addr, size), 1)) {
        return 0;
    }
    return pmu_forward_find(forward, addr, size);
}

#endif
