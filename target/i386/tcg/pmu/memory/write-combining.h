/*
 * Write-combining buffers: what non-temporal stores gather.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Non-temporal stores do not fetch their line: they wait in a buffer until they
 * have written all of it, or until the buffer is needed for another line (SDM
 * vol. 3A, "Write Combining (WC) Memory Location"; Intel Optimization Reference
 * Manual, "Write Combining").  The buffers are those of fills.  Fences do not
 * empty them here.
 */

#ifndef TARGET_I386_PMU_MEMORY_WRITE_COMBINING_H
#define TARGET_I386_PMU_MEMORY_WRITE_COMBINING_H

#include <stdint.h>

#include "tcg/pmu/uarch/uarch.h"

typedef struct PmuWriteCombiningBuffer {
    uint64_t line;              /* physical address / 64 */
    uint64_t bytes;             /* that were written, a bit each; 0: free */
} PmuWriteCombiningBuffer;

typedef struct PmuWriteCombining {
    PmuWriteCombiningBuffer buffer[PMU_MAX_FILL_BUFFERS];
    uint32_t buffers;           /* 1 to PMU_MAX_FILL_BUFFERS */
    uint32_t hand;              /* the one that was taken longest ago */
} PmuWriteCombining;

/* Lines that one store can send on their way. */
#define PMU_WRITE_COMBINING_LINES 2

/* @buffers empty ones. */
void pmu_write_combining_init(PmuWriteCombining *combining, uint32_t buffers);

/*
 * A store of those @bytes, at least one, to physical line @line.  Returns how
 * many lines, which @gone gets, leave their buffers.
 */
unsigned pmu_write_combining_store(PmuWriteCombining *combining, uint64_t line,
                                   uint64_t bytes,
                                   uint64_t gone[PMU_WRITE_COMBINING_LINES]);

#endif
