/*
 * Beyond the first-level caches: L2, the shared L3, DRAM, and what prefetches
 * into L2.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MEMORY_BEYOND_L1_H
#define TARGET_I386_PMU_MEMORY_BEYOND_L1_H

#include "tcg/pmu/memory/memory-state.h"

/* The ledger items of one kind of request, by PmuFoundIn. */
typedef struct PmuRequestKind {
    PmuLedgerItem demanded, prefetched;
    /* By PmuDirectoryState, those in L3; PMU_ITEM_NR: not counted. */
    PmuLedgerItem snooped[PMU_DIRECTORY_MODIFIED + 1];
    bool writes;
} PmuRequestKind;

/* Loads; loads that store, too; stores; and so on. */
extern const PmuRequestKind pmu_request_load, pmu_request_update,
                            pmu_request_rfo, pmu_request_software_prefetch,
                            pmu_request_l1d_prefetch, pmu_request_code;

/* What this vCPU finds in the L3, where it asks for @line to write or not. */
PmuDirectoryState pmu_beyond_l1_access_l3(PmuMemory *mem, uint64_t line,
                                          bool write);

/*
 * May this vCPU write to @line, which it has, without an upgrade that others
 * have to be asked about?
 */
bool pmu_beyond_l1_may_write(PmuMemory *mem, uint64_t line);

/*
 * Physical line @line, demanded, missed the first level: where it is found goes
 * to @access and the ledger.  The streamer sees it.
 */
void pmu_beyond_l1_request(PmuMemory *mem, uint64_t line,
                           const PmuRequestKind *requests,
                           PmuAccessOutcome *access);

/* Physical line @line is to come to L2 before it is needed. */
void pmu_beyond_l1_prefetch(PmuMemory *mem, uint64_t line,
                            PmuAccessOutcome *access);

#endif
