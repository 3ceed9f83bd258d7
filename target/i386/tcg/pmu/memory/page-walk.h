/*
 * Translations that first-level TLBs lack: the second level, and page walks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MEMORY_PAGE_WALK_H
#define TARGET_I386_PMU_MEMORY_PAGE_WALK_H

#include "tcg/pmu/memory/memory-state.h"

/*
 * The ledger items of translations: found in the STLB, cycles of page walks,
 * and the walks by PmuPageSize, in this order.
 */
typedef enum PmuTranslationItems {
    PMU_TRANSLATIONS_LOAD = PMU_ITEM_DTLB_LOAD_STLB,
    PMU_TRANSLATIONS_STORE = PMU_ITEM_DTLB_STORE_STLB,
    PMU_TRANSLATIONS_CODE = PMU_ITEM_ITLB_STLB,
} PmuTranslationItems;

/*
 * The mapping of linear page @page, which the first-level TLB lacks, and in
 * *@access how long that takes.  PMU_NO_PAGE: the access faulted elsewhere, or
 * is the emulator's own.  Then nothing is learnt.
 */
PmuMapping pmu_page_walk(PmuMemory *mem, uint64_t page,
                         PmuTranslationItems items, PmuAccessOutcome *access);

#endif
