/*
 * Memory for block descriptions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Translation time, below the line.
 */

#include <glib.h>

#include "arena.h"

/* Some thousand blocks of five instructions. */
#define CHUNK_SIZE (1024 * 1024)

/* The size of a line of most hosts' caches. */
#define ALIGNMENT 64

struct PmuArenaChunk {
    PmuArenaChunk *next;
    uint64_t generation;
    size_t size;
    size_t used;
    char *data;                 /* behind this, aligned */
};

static PmuArenaChunk *chunk_new(uint64_t generation, size_t size)
{
    PmuArenaChunk *chunk;

    size = MAX(size, CHUNK_SIZE - sizeof(*chunk) - ALIGNMENT);
    chunk = g_malloc0(sizeof(*chunk) + ALIGNMENT + size);
    chunk->data = (char *)(((uintptr_t)(chunk + 1) + ALIGNMENT - 1) &
                           ~(uintptr_t)(ALIGNMENT - 1));
    chunk->generation = generation;
    chunk->size = size;
    return chunk;
}

void *pmu_arena_alloc(PmuArena *arena, uint64_t generation, size_t size)
{
    PmuArenaChunk *chunk = arena->chunks;
    void *result;

    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (!chunk || chunk->generation != generation ||
        chunk->size - chunk->used < size) {
        chunk = chunk_new(generation, size);
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    result = chunk->data + chunk->used;
    chunk->used += size;
    return result;
}

void pmu_arena_collect(PmuArena *arena, uint64_t generation)
{
    PmuArenaChunk **link = &arena->chunks;

    while (*link) {
        PmuArenaChunk *chunk = *link;

        if (chunk->generation >= generation) {
            link = &chunk->next;
        } else {
            *link = chunk->next;
            g_free(chunk);
        }
    }
}

void pmu_arena_adopt(PmuArena *to, PmuArena *from)
{
    PmuArenaChunk **link = &to->chunks;

    while (*link) {
        link = &(*link)->next;
    }
    *link = from->chunks;
    from->chunks = NULL;
}
