/*
 * Beyond the first-level caches: L2, the shared L3, DRAM, and prefetches into
 * L2.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MEMORY_BEYOND_L1_H
#define TARGET_I386_PMU_MEMORY_BEYOND_L1_H

#include "tcg/pmu/memory/memory-state.h"

/* A kind of request for lines. */
typedef struct PmuRequestKind {
    /*
     * The first of PMU_FOUND_IN_NR items, in that order: where the line was
     * found, and where those that the streamer prefetched after it were.
     */
    PmuLedgerItem demanded, prefetched;
    /* For lines found in L3, by PmuDirectoryState; PMU_ITEM_NR: not counted. */
    PmuLedgerItem snooped[PMU_DIRECTORY_MODIFIED + 1];
    bool writes;                /* for a line to write to */
} PmuRequestKind;

/*
 * Loads, accesses that load and store, stores and PREFETCHW, other prefetch
 * instructions, the prefetcher of L1D, fetches.
 */
extern const PmuRequestKind pmu_request_load, pmu_request_update,
                            pmu_request_rfo, pmu_request_software_prefetch,
                            pmu_request_l1d_prefetch, pmu_request_code;

/*
 * Ask the L3 for physical line @line, to write to it if @write, and send
 * snoops to the vCPUs that must be asked.  Returns what it finds; the line is
 * in the L3 from now on.
 */
PmuDirectoryState pmu_beyond_l1_access_l3(PmuMemory *mem, uint64_t line,
                                          bool write);

/*
 * May this vCPU write to physical line @line, which it has, without an upgrade,
 * for which it would have to ask others?
 */
bool pmu_beyond_l1_may_write(PmuMemory *mem, uint64_t line);

/*
 * Physical line @line missed the first level, for @requests.  Writes to @access
 * and the ledger where it is found, and shows the miss to the streamer.
 */
void pmu_beyond_l1_request(PmuMemory *mem, uint64_t line,
                           const PmuRequestKind *requests,
                           PmuAccessOutcome *access);

/* A prefetch instruction asks for physical line @line in L2. */
void pmu_beyond_l1_prefetch(PmuMemory *mem, uint64_t line,
                            PmuAccessOutcome *access);

#endif
