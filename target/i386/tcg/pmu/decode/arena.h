/*
 * Memory for block descriptions, which live as long as the code they describe.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Translated code refers to its description by address, and is only ever
 * thrown away all at once (tb_flush).  Each such flush begins a new
 * generation; what older ones hold is freed when the owner knows that no vCPU
 * looks at it any more.
 */

#ifndef TARGET_I386_PMU_DECODE_ARENA_H
#define TARGET_I386_PMU_DECODE_ARENA_H

#include <stddef.h>
#include <stdint.h>

/* The size of a line of most hosts' caches: a power of 2. */
#define PMU_ARENA_ALIGNMENT 64

/* What an allocation of @size bytes takes. */
static inline size_t pmu_arena_round(size_t size)
{
    return (size + PMU_ARENA_ALIGNMENT - 1) &
           ~(size_t)(PMU_ARENA_ALIGNMENT - 1);
}

typedef struct PmuArenaChunk PmuArenaChunk;

typedef struct PmuArena {
    PmuArenaChunk *chunks;      /* newest first */
    size_t bytes;               /* that all of them take */
} PmuArena;

/*
 * @size bytes, zeroed, aligned for any object, valid until pmu_arena_collect()
 * is called with a newer generation.  Aborts when memory runs out, as
 * g_malloc() does.
 */
void *pmu_arena_alloc(PmuArena *arena, uint64_t generation, size_t size);

/* Free what is older than @generation. */
void pmu_arena_collect(PmuArena *arena, uint64_t generation);

/* Move all that @from holds to @to. */
void pmu_arena_adopt(PmuArena *to, PmuArena *from);

#endif
