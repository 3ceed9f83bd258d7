/*
 * Write-combining buffers: what non-temporal stores gather.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>

#include "combine.h"

void pmu_combine_init(PmuCombine *combine, uint32_t buffers)
{
    g_assert(buffers && buffers <= PMU_MAX_FILL_BUFFERS);
    *combine = (PmuCombine) { .buffers = buffers };
}

/* The buffer of @line; if there is none, the next one. */
static PmuCombineBuffer *find_buffer(PmuCombine *combine, uint64_t line)
{
    PmuCombineBuffer *next = &combine->buffer[combine->hand];

    for (uint32_t i = 0; i < combine->buffers; i++) {
        PmuCombineBuffer *buffer = &combine->buffer[i];

        if (buffer->bytes && buffer->line == line) {
            return buffer;
        }
    }
    combine->hand = (combine->hand + 1) % combine->buffers;
    return next;
}

unsigned pmu_combine_store(PmuCombine *combine, uint64_t line, uint64_t bytes,
                           uint64_t gone[PMU_COMBINE_LINES])
{
    PmuCombineBuffer *buffer = find_buffer(combine, line);
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
