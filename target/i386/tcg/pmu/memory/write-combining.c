/*
 * Write-combining buffers, which gather non-temporal stores.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/memory/write-combining.h"

void pmu_write_combining_init(PmuWriteCombining *combining, uint32_t buffers)
{
    g_assert(buffers && buffers <= PMU_MAX_FILL_BUFFERS);
    *combining = (PmuWriteCombining) { .buffers = buffers };
}

/* The buffer of @line; if there is none, the one taken longest ago. */
static PmuWriteCombiningBuffer *find_buffer(PmuWriteCombining *combining,
                                            uint64_t line)
{
    PmuWriteCombiningBuffer *next = &combining->buffer[combining->hand];

    for (uint32_t i = 0; i < combining->buffers; i++) {
        PmuWriteCombiningBuffer *buffer = &combining->buffer[i];

        if (buffer->bytes && buffer->line == line) {
            return buffer;
        }
    }
    combining->hand = (combining->hand + 1) % combining->buffers;
    return next;
}

unsigned pmu_write_combining_store(PmuWriteCombining *combining, uint64_t line,
                                   uint64_t bytes,
                                   uint64_t gone[PMU_WRITE_COMBINING_LINES])
{
    PmuWriteCombiningBuffer *buffer = find_buffer(combining, line);
    unsigned lines = 0;

    if (buffer->line != line && buffer->bytes) {
        gone[lines++] = buffer->line;
        buffer->bytes = 0;
    }
    buffer->line = line;
    buffer->bytes |= bytes;
    if (buffer->bytes == UINT64_MAX) {
        gone[lines++] = line;
        buffer->bytes = 0;
    }
    return lines;
}
