/*
 * Compact arrays of cache lines: L2, and the L3 that the vCPUs share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The policy is that of cache.h.  A tag has 32 bits, a hash of the line; in
 * 2^32 / ways accesses to lines that are not there, one finds another's tag.
 *
 * Several threads may use an array at once.  They take no lock: when two
 * write to a set at the same time, a line or a mark may be lost, and that is
 * all.  One thread alone gets the same results each time.
 */

#ifndef TARGET_I386_PMU_MEMORY_TAG_ARRAY_H
#define TARGET_I386_PMU_MEMORY_TAG_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tcg/pmu/uarch/uarch.h"

typedef struct PmuTagArray {
    /*
     * A set is a word, bits 0 to 23: ways that were used, bits 24 to 31: way
     * where the next victim is sought, and then the tags, 0 is empty; of an L3
     * then a byte for each way: who asked for the line last, see PmuSharer.
     */
    uint32_t *words;
    void *memory;               /* that they are in */
    uint32_t sets, ways;
    uint32_t set_words;         /* from set to set */
    uint32_t set_mask;          /* sets - 1, or 0: they are chosen by hash */
    uint32_t run_shift;         /* ... of so many low bits less */
} PmuTagArray;

/*
 * An empty array with the size and associativity of @geometry: 1 to
 * PMU_MAX_TAG_ARRAY_WAYS ways and any number of sets, 1 to 2^31.  If it is a
 * power of 2 and not @hashed, the low bits of a line choose its set.  False if
 * memory runs out.
 */
bool pmu_tag_array_init(PmuTagArray *array, const PmuCacheGeometry *geometry,
                        bool hashed);

void pmu_tag_array_destroy(PmuTagArray *array);

/* Forget every line. */
void pmu_tag_array_clear(PmuTagArray *array);

/* @line will be looked for soon: the host may fetch its set meanwhile. */
void pmu_tag_array_touch_set(const PmuTagArray *array, uint64_t line);

/*
 * Is @line, any number, present?  In either case it is from now on, marked as
 * used.
 */
bool pmu_tag_array_access(PmuTagArray *array, uint64_t line);

/*
 * A vCPU that shares an L3, 1 to PMU_SHARER_MAX; 0 is none.  Beside each line
 * stands who asked for it last.  That vCPU is supposed to have it, alone unless
 * it is shared, and to have written to it if it asked for that (MESI: Sweazey
 * and Smith, "A class of compatible cache consistency protocols", 1986).
 */
typedef uint8_t PmuSharer;

#define PMU_SHARER_MAX  63
#define PMU_SHARER_SHARED 64    /* beside the number: others may have it, too */
#define PMU_SHARER_WRITES 128   /* ... it has been written to */

/* All but the one who asks. */
#define PMU_SHARER_OTHERS PMU_SHARER_SHARED

typedef enum PmuDirectoryState {
    PMU_DIRECTORY_MISS,
    PMU_DIRECTORY_EXCLUSIVE,    /* no other vCPU has it */
    PMU_DIRECTORY_SHARED,       /* another vCPU has it */
    PMU_DIRECTORY_MODIFIED,     /* ... and has written to it */
} PmuDirectoryState;

/*
 * As pmu_tag_array_access(), of an L3, for @sharer, who will write to @line or
 * not. *@asked is who has to be told of it, PMU_SHARER_OTHERS or 0 for none.
 */
PmuDirectoryState pmu_tag_array_access_by(PmuTagArray *array, uint64_t line,
                                          PmuSharer sharer,
                                          bool write, PmuSharer *asked);

/*
 * @sharer, who has @line, writes to it.  May it do so without an upgrade?
 * Then it has written to it.
 */
bool pmu_tag_array_upgrade(PmuTagArray *array, uint64_t line, PmuSharer sharer);

/*
 * Is @line present?  If not, it is from now on, but not marked as used; if so,
 * nothing changes.
 */
bool pmu_tag_array_prefetch(PmuTagArray *array, uint64_t line);

/* Is @line present?  Nothing changes. */
bool pmu_tag_array_has(const PmuTagArray *array, uint64_t line);

/* Was @line present?  It is not from now on. */
bool pmu_tag_array_remove(PmuTagArray *array, uint64_t line);

#endif
