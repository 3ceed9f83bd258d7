/*
 * Translations that the first-level TLBs lack: the STLB, and page walks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MEMORY_PAGE_WALK_H
#define TARGET_I386_PMU_MEMORY_PAGE_WALK_H

#include "tcg/pmu/memory/memory-state.h"

/*
 * The first ledger item of each kind of translations.  It counts those found in
 * the STLB; behind it are the cycles of page walks, and the walks by
 * PmuPageSize.
 */
typedef enum PmuTranslationItems {
    PMU_TRANSLATIONS_LOAD = PMU_ITEM_DTLB_LOAD_STLB,
    PMU_TRANSLATIONS_STORE = PMU_ITEM_DTLB_STORE_STLB,
    PMU_TRANSLATIONS_CODE = PMU_ITEM_ITLB_STLB,
} PmuTranslationItems;

/*
 * The mapping of linear page @page, which the first-level TLB lacks.  Sets
 * .delay and .walk of *@access to the cycles that it takes.  The mapping is to
 * PMU_NO_PAGE if the access faulted elsewhere, or is the emulator's own; the
 * STLB does not keep such a mapping.
 */
PmuMapping pmu_page_walk(PmuMemory *mem, uint64_t page,
                         PmuTranslationItems items, PmuAccessOutcome *access);

#endif
