/*
 * The ledger as it is saved: items by their names.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Items come and go from version to version; what another one saved is loaded
 * as far as both know it.  What arrives can be hostile.
 */

#ifndef TARGET_I386_PMU_LEDGER_SAVED_LEDGER_H
#define TARGET_I386_PMU_LEDGER_SAVED_LEDGER_H

#include "tcg/pmu/ledger/ledger.h"

/* Bytes of a name, the NUL that ends it included. */
#define PMU_SAVED_NAME      32
/* Items at most, more than there are. */
#define PMU_SAVED_ITEMS     1024

typedef struct PmuSavedItem {
    char name[PMU_SAVED_NAME];  /* pmu_ledger_item_name() */
    uint64_t count[PMU_LEVEL_NR];
} PmuSavedItem;

typedef struct PmuSavedLedger {
    uint32_t width;
    uint32_t level;
    PmuOpenCycle open[PMU_LEVEL_NR];
    uint32_t num_items;
    PmuSavedItem item[PMU_SAVED_ITEMS];
} PmuSavedLedger;

/* Those items of @ledger that are not 0. */
void pmu_ledger_save(const PmuLedger *ledger, PmuSavedLedger *saved);

/*
 * Load @saved into @ledger, whose width and clocks are its own; items that are
 * not in @saved are 0.  *@unknown is the name of an item that this version does
 * not know, whose count is lost, or NULL.  False, with a reason in *@why
 * (static text) and @ledger as it was, if @saved is not what a ledger of that
 * width can be.
 */
bool pmu_ledger_load(PmuLedger *ledger, const PmuSavedLedger *saved,
                     const char **unknown, const char **why);

#endif
