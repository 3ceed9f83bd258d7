/*
 * Arenas: memory for block descriptions, which live as long as their code.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Translated code refers to its description by address.  QEMU only ever throws
 * code away all at once (tb_flush), and each flush begins a new generation.
 * The owner frees what older generations hold when it knows that no vCPU reads
 * that any more.
 */

#ifndef TARGET_I386_PMU_DECODE_ARENA_H
#define TARGET_I386_PMU_DECODE_ARENA_H

#include <stddef.h>
#include <stdint.h>

/* Bytes, a power of 2: the size of a cache line on most hosts. */
#define PMU_ARENA_ALIGNMENT 64

/* Returns the bytes that an allocation of @size bytes takes. */
static inline size_t pmu_arena_round(size_t size)
{
    return (size + PMU_ARENA_ALIGNMENT - 1) &
           ~(size_t)(PMU_ARENA_ALIGNMENT - 1);
}

typedef struct PmuArenaChunk PmuArenaChunk;

typedef struct PmuArena {
    PmuArenaChunk *chunks;      /* a list; allocations use the first */
    size_t bytes;               /* that all chunks take */
} PmuArena;

/*
 * Returns @size bytes, zeroed and aligned for any object.  They are valid until
 * pmu_arena_collect() is called with a newer generation.  Aborts when memory
 * runs out, as g_malloc() does.
 */
void *pmu_arena_alloc(PmuArena *arena, uint64_t generation, size_t size);

/* Free what was allocated for generations before @generation. */
void pmu_arena_collect(PmuArena *arena, uint64_t generation);

/* Move all that @from holds to @to. */
void pmu_arena_adopt(PmuArena *to, PmuArena *from);

#endif
