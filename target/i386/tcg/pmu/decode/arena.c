/*
 * Memory for block descriptions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/decode/arena.h"

/* Bytes: some thousand blocks of five instructions. */
#define CHUNK_SIZE (1024 * 1024)

struct PmuArenaChunk {
    PmuArenaChunk *next;
    uint64_t generation;
    size_t size;
    size_t used;
    char *data;                 /* @size bytes behind this struct, aligned */
};

/* Returns the bytes that a chunk with room for @size bytes takes. */
static size_t chunk_bytes(size_t size)
{
    return sizeof(PmuArenaChunk) + PMU_ARENA_ALIGNMENT + size;
}

static PmuArenaChunk *chunk_new(uint64_t generation, size_t size)
{
    PmuArenaChunk *chunk;

    size = MAX(size, CHUNK_SIZE - chunk_bytes(0));
    chunk = g_malloc0(chunk_bytes(size));
    chunk->data = (char *)pmu_arena_round((uintptr_t)(chunk + 1));
    chunk->generation = generation;
    chunk->size = size;
    return chunk;
}

void *pmu_arena_alloc(PmuArena *arena, uint64_t generation, size_t size)
{
    PmuArenaChunk *chunk = arena->chunks;
    void *result;

    size = pmu_arena_round(size);
    if (!chunk || chunk->generation != generation ||
        chunk->size - chunk->used < size) {
        chunk = chunk_new(generation, size);
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->bytes += chunk_bytes(chunk->size);
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
            arena->bytes -= chunk_bytes(chunk->size);
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
    to->bytes += from->bytes;
    *from = (PmuArena) {};
}
