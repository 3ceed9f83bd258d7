/*
 * Loads and stores: L1D, the DTLB, the L1-hit filter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MEMORY_DATA_ACCESS_H
#define TARGET_I386_PMU_MEMORY_DATA_ACCESS_H

#include "tcg/pmu/memory/beyond-l1.h"
#include "tcg/pmu/memory/memory-state.h"

/* What an access does.  One that does both asks for its line as a load. */
typedef enum PmuUse {
    PMU_USE_LOAD,
    PMU_USE_STORE,
    PMU_USE_BOTH,
} PmuUse;

/* A load that nothing is learnt from. */
#define PMU_NO_IP       (-1)

/*
 * A load of @size bytes, 1 to 64, at linear address @addr, by an instruction
 * whose linear address has @ip as its low 8 bits, or PMU_NO_IP.  Returns the
 * number of lines, 1 or 2, with their outcomes in @access;
 * PmuAccessOutcome.store and .blocked are 0.  Misses and prefetches are
 * numbered in the order of calls and, within, of @access.  Counts a second line
 * as another L1D_ACCESSES, leaving the first to the caller, and so with
 * LOADS_L1: a load from elsewhere is taken off it.
 */
unsigned pmu_memory_load(PmuMemory *mem, uint64_t addr, unsigned size, int ip,
                         PmuAccessOutcome access[2]);

/*
 * The same for a store, and for a load and a store.  A line of L1I leaves it:
 * that is where hardware looks for code that is modified, by physical addresses
 * (SDM vol. 3A, "Self-Modifying Code").
 */
unsigned pmu_memory_store(PmuMemory *mem, uint64_t addr, unsigned size,
                          PmuAccessOutcome access[2]);

unsigned pmu_memory_update(PmuMemory *mem, uint64_t addr, unsigned size,
                           int ip, PmuAccessOutcome access[2]);

/* The physical page of linear page @page, which is not in the DTLB. */
uint64_t pmu_data_page_walk(PmuMemory *mem, uint64_t page,
                            PmuUse use, PmuAccessOutcome *access);

/*
 * The @lines from linear address @addr on were read, or written if @write,
 * beside what is observed: those that are mapped and not in L2 are in the L3
 * from now on.  Adds to @from how many were found where.  Counts nothing; what
 * is nearer than the L3 stays as it is.  The caller bounds @lines.
 */
void pmu_memory_warm_lines(PmuMemory *mem, uint64_t addr, uint64_t lines,
                           bool write, uint64_t from[PMU_FOUND_IN_NR]);

/* @requests ask for physical line @line, which L1D may lack, ahead of need. */
void pmu_data_prefetch(PmuMemory *mem, uint64_t line,
                       const PmuRequestKind *requests,
                       PmuAccessOutcome *access);

/*
 * A load of @lines, 1 or 2, found them as @access says.  The caller has counted
 * it as a hit in L1D, as it does all loads.
 */
void pmu_data_count_load(PmuMemory *mem, unsigned lines,
                         const PmuAccessOutcome access[2]);

#endif
