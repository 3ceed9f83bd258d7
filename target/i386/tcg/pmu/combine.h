/*
 * Write-combining buffers: what non-temporal stores gather.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: plain C.  Non-temporal stores do not fetch their
 * line: they wait in a buffer until they have written all of it, or until the
 * buffer is needed for another line (SDM vol. 3A, "Write Combining (WC) Memory
 * Location"; Intel Optimization Reference Manual, "Write Combining").  The
 * buffers are those of fills.  Fences do not empty them here.
 */

#ifndef TARGET_I386_PMU_COMBINE_H
#define TARGET_I386_PMU_COMBINE_H

#include <stdint.h>

#include "uarch.h"

typedef struct PmuCombineBuffer {
    uint64_t line;              /* physical address / 64 */
    uint64_t bytes;             /* that were written, a bit each; 0: free */
} PmuCombineBuffer;

typedef struct PmuCombine {
    PmuCombineBuffer buffer[PMU_MAX_FILL_BUFFERS];
    uint32_t buffers;           /* 1 to PMU_MAX_FILL_BUFFERS */
    uint32_t hand;              /* the one that was taken longest ago */
} PmuCombine;

/* Lines that one store can send on their way. */
#define PMU_COMBINE_LINES   2

/* @buffers empty ones. */
void pmu_combine_init(PmuCombine *combine, uint32_t buffers);

/*
 * A store of those @bytes, at least one, to physical line @line.  Returns how
 * many lines, which @gone gets, leave their buffers.
 */
unsigned pmu_combine_store(PmuCombine *combine, uint64_t line, uint64_t bytes,
                           uint64_t gone[PMU_COMBINE_LINES]);

#endif
