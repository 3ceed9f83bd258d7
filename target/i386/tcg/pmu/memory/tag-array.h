/*
 * Tag arrays: compact set-associative arrays of cache lines, for L2 and the L3
 * that vCPUs share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The replacement policy is that of cache.h.  A tag is a hash of the line, of
 * 32 bits: of 2^32 / ways accesses to lines that are not present, one finds the
 * tag of another line.
 *
 * Several threads may use an array at once.  They take no lock: when two write
 * to a set at the same time, a line or a used bit may be lost, and nothing
 * else.  One thread alone gets the same results each time.
 */

#ifndef TARGET_I386_PMU_MEMORY_TAG_ARRAY_H
#define TARGET_I386_PMU_MEMORY_TAG_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tcg/pmu/uarch/uarch.h"

typedef struct PmuTagArray {
    /*
     * The sets.  The first word of a set has used bits (bits 0 to 23) and the
     * way where the search for a victim begins (bits 24 to 31).  Then comes a
     * tag for each way, 0: empty.  An L3 also has a byte for each way, which
     * says who asked for the line last: see PmuSharer.
     */
    uint32_t *words;
    void *memory;               /* the allocation that has @words */
    uint32_t sets, ways;
    uint32_t set_words;         /* words from one set to the next */
    uint32_t set_mask;          /* sets - 1; 0: a hash chooses the set */
    uint32_t run_shift;         /* low bits of a line that the hash ignores */
} PmuTagArray;

/*
 * Initialise an empty array with the size and associativity of @geometry: 1 to
 * PMU_MAX_TAG_ARRAY_WAYS ways and any number of sets, 1 to 2^31.  The low bits
 * of a line choose its set if that number is a power of 2 and @hashed is false,
 * else a hash does.  A @hashed array has a PmuSharer for each line.  Returns
 * false if memory runs out.
 */
bool pmu_tag_array_init(PmuTagArray *array, const PmuCacheGeometry *geometry,
                        bool hashed);

void pmu_tag_array_destroy(PmuTagArray *array);

/* Forget every line. */
void pmu_tag_array_clear(PmuTagArray *array);

/* Have the host prefetch the set of @line, which will be looked for soon. */
void pmu_tag_array_touch_set(const PmuTagArray *array, uint64_t line);

/* Insert @line if it is not present; mark it as used.  Was it present? */
bool pmu_tag_array_access(PmuTagArray *array, uint64_t line);

/*
 * A vCPU that shares an L3, 1 to PMU_SHARER_MAX; 0 is none.  Each line of the
 * L3 has the number of the vCPU that asked for it last.  The directory takes
 * that vCPU to have the line, alone unless PMU_SHARER_SHARED is set, and to
 * have written to it if PMU_SHARER_WRITES is set (MESI: Sweazey and Smith, "A
 * class of compatible cache consistency protocols", 1986).
 */
typedef uint8_t PmuSharer;

#define PMU_SHARER_MAX  63
#define PMU_SHARER_SHARED 64    /* with the number: others may have it, too */
#define PMU_SHARER_WRITES 128   /* ... it has been written to */

/* All vCPUs but the one that asks. */
#define PMU_SHARER_OTHERS PMU_SHARER_SHARED

/* What a request for a line finds in the L3. */
typedef enum PmuDirectoryState {
    PMU_DIRECTORY_MISS,
    PMU_DIRECTORY_EXCLUSIVE,    /* a hit; no other vCPU need be asked, as none
                                   has the line, or as several only read it */
    PMU_DIRECTORY_SHARED,       /* another vCPU has it, and must be asked */
    PMU_DIRECTORY_MODIFIED,     /* ... and has written to it */
} PmuDirectoryState;

/*
 * As pmu_tag_array_access(), for an L3: @sharer asks for @line, to write to it
 * if @write.  *@asked gets the vCPU that must be asked, PMU_SHARER_OTHERS, or 0
 * for none.
 */
PmuDirectoryState pmu_tag_array_access_by(PmuTagArray *array, uint64_t line,
                                          PmuSharer sharer,
                                          bool write, PmuSharer *asked);

/*
 * May @sharer, who has @line, write to it without an upgrade?  If so, @line is
 * marked as written to.
 */
bool pmu_tag_array_upgrade(PmuTagArray *array, uint64_t line, PmuSharer sharer);

/*
 * Insert @line if it is not present, without marking it as used.  Was it
 * present?
 */
bool pmu_tag_array_prefetch(PmuTagArray *array, uint64_t line);

/* Is @line present?  Nothing changes. */
bool pmu_tag_array_has(const PmuTagArray *array, uint64_t line);

/* Remove @line if it is present.  Was it? */
bool pmu_tag_array_remove(PmuTagArray *array, uint64_t line);

#endif
