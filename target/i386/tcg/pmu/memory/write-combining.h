/*
 * Write-combining buffers, which gather non-temporal stores.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Non-temporal stores do not fetch their line.  They wait in a buffer until
 * they have written all of the line, or until another line needs the buffer
 * (SDM vol. 3A, "Write Combining (WC) Memory Location"; Intel Optimization
 * Reference Manual, "Write Combining").  Hardware uses the fill buffers; there
 * are as many here.  Fences do not empty them here.
 */

#ifndef TARGET_I386_PMU_MEMORY_WRITE_COMBINING_H
#define TARGET_I386_PMU_MEMORY_WRITE_COMBINING_H

#include <stdint.h>

#include "tcg/pmu/uarch/uarch.h"

typedef struct PmuWriteCombiningBuffer {
    uint64_t line;              /* physical address / 64 */
    uint64_t bytes;             /* bit n: byte n was written; 0: free */
} PmuWriteCombiningBuffer;

typedef struct PmuWriteCombining {
    PmuWriteCombiningBuffer buffer[PMU_MAX_FILL_BUFFERS];
    uint32_t buffers;           /* 1 to PMU_MAX_FILL_BUFFERS */
    uint32_t hand;              /* the buffer that was taken longest ago */
} PmuWriteCombining;

/* Most lines that leave their buffers at one store. */
#define PMU_WRITE_COMBINING_LINES 2

/* Initialise @combining with @buffers empty buffers. */
void pmu_write_combining_init(PmuWriteCombining *combining, uint32_t buffers);

/*
 * A store to physical line @line; bit n of @bytes, which is not 0, is for its
 * byte n.  Writes the lines that leave their buffers to @gone and returns their
 * number.
 */
unsigned pmu_write_combining_store(PmuWriteCombining *combining, uint64_t line,
                                   uint64_t bytes,
                                   uint64_t gone[PMU_WRITE_COMBINING_LINES]);

#endif
