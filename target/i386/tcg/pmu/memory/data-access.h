/*
 * Loads and stores, which use L1D, the DTLB and the L1-hit filter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MEMORY_DATA_ACCESS_H
#define TARGET_I386_PMU_MEMORY_DATA_ACCESS_H

#include "tcg/pmu/memory/beyond-l1.h"
#include "tcg/pmu/memory/memory-state.h"

/*
 * What an access does.  The ledger counts the request of one that does both as
 * that of a load.
 */
typedef enum PmuUse {
    PMU_USE_LOAD,
    PMU_USE_STORE,
    PMU_USE_BOTH,
} PmuUse;

/* A load that the prefetcher of L1D does not see. */
#define PMU_NO_IP       (-1)

/*
 * A load of @size bytes, 1 to 64, at linear address @addr.  @ip is the low 8
 * bits of the instruction's linear address, or PMU_NO_IP.  Returns the number
 * of lines, 1 or 2, with their outcomes in @access; PmuAccessOutcome.store and
 * .blocked are 0.  Misses and prefetches are numbered in the order of calls
 * and, within a call, of @access.  The caller counts the first line in
 * L1D_ACCESSES, and the load in LOADS_L1.  This function counts the second
 * line, and moves a load from beyond L1D to the item of its level.
 */
unsigned pmu_memory_load(PmuMemory *mem, uint64_t addr, unsigned size, int ip,
                         PmuAccessOutcome access[2]);

/*
 * The same for a store.  Its line leaves L1I, if it is there: hardware looks
 * there for code that is modified, by physical address (SDM vol. 3A,
 * "Self-Modifying Code").
 */
unsigned pmu_memory_store(PmuMemory *mem, uint64_t addr, unsigned size,
                          PmuAccessOutcome access[2]);

/* The same for an access that loads and then stores. */
unsigned pmu_memory_update(PmuMemory *mem, uint64_t addr, unsigned size,
                           int ip, PmuAccessOutcome access[2]);

/*
 * A string instruction loads from the line of linear address @addr, or stores
 * to it (@store), and will not access it again soon.  Sets *@access.  As
 * pmu_memory_load() with PMU_NO_IP, or pmu_memory_store(), of one line.
 */
void pmu_memory_string_line(PmuMemory *mem, uint64_t addr, bool store,
                            PmuAccessOutcome *access);

/*
 * Translate linear page @page, which the DTLB lacks.  Returns the physical
 * page, which is in the DTLB from now on, or PMU_NO_PAGE.  Sets .delay and
 * .walk of @access.
 */
uint64_t pmu_data_page_walk(PmuMemory *mem, uint64_t page,
                            PmuUse use, PmuAccessOutcome *access);

/*
 * Warm the L3 with the @lines lines from linear address @addr on, which were
 * read, or written if @write, in code that is fast-forwarded.  Lines that are
 * mapped and not in L2 are in the L3 afterwards; L1D and L2 stay as they are.
 * Adds to @from how many lines were found where, and counts nothing in the
 * ledger.  The caller bounds @lines.
 */
void pmu_memory_warm_lines(PmuMemory *mem, uint64_t addr, uint64_t lines,
                           bool write, uint64_t from[PMU_FOUND_IN_NR]);

/* Prefetch physical line @line into L1D, if it is not there, for @requests. */
void pmu_data_prefetch(PmuMemory *mem, uint64_t line,
                       const PmuRequestKind *requests,
                       PmuAccessOutcome *access);

/*
 * Count where a load of @lines lines, 1 or 2, found them, as @access says.  The
 * caller has counted the load in LOADS_L1, as it does all loads.
 */
void pmu_data_count_load(PmuMemory *mem, unsigned lines,
                         const PmuAccessOutcome access[2]);

#endif
