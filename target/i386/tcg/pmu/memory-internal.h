/*
 * The memory side's parts to each other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: private to memory.c and walk.c.
 */

#ifndef TARGET_I386_PMU_MEMORY_INTERNAL_H
#define TARGET_I386_PMU_MEMORY_INTERNAL_H

#include "memory.h"

/*
 * The page walker loads physical line @line: cycles that it waits beyond a hit
 * in L1D.  The load fills caches as others do, but is not counted nor numbered.
 */
uint32_t pmu_memory_walker_load(PmuMemory *mem, uint64_t line);

/*
 * The ledger items of translations: found in the STLB, cycles of page walks,
 * and the walks by PmuPageSize, in this order.
 */
typedef enum PmuTranslations {
    PMU_TRANSLATIONS_LOAD = PMU_ITEM_DTLB_LOAD_STLB,
    PMU_TRANSLATIONS_STORE = PMU_ITEM_DTLB_STORE_STLB,
    PMU_TRANSLATIONS_CODE = PMU_ITEM_ITLB_STLB,
} PmuTranslations;

/*
 * The mapping of linear page @page, which the first-level TLB lacks, and in
 * *@access how long that takes.  PMU_NO_PAGE: the access faulted elsewhere, or
 * is the emulator's own.  Then nothing is learnt.
 */
PmuMapping pmu_walk(PmuMemory *mem, uint64_t page, PmuTranslations items,
                    PmuAccess *access);

#endif
