/*
 * The saved ledger: the form of the ledger in a migration stream.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Items are saved by name, as they come and go from version to version: loading
 * takes the items that both versions know.  The stream can be hostile.
 */

#ifndef TARGET_I386_PMU_LEDGER_SAVED_LEDGER_H
#define TARGET_I386_PMU_LEDGER_SAVED_LEDGER_H

#include "tcg/pmu/ledger/ledger.h"

/* Bytes of a name, including the NUL that ends it. */
#define PMU_SAVED_NAME      32
/* Most items in a saved ledger; this version has fewer. */
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

/* Write the items of @ledger that are not 0 to @saved. */
void pmu_ledger_save(const PmuLedger *ledger, PmuSavedLedger *saved);

/*
 * Load @saved into @ledger, which keeps its width and clocks; items that are
 * not in @saved become 0.  *@unknown gets the name of an item that this version
 * does not know, whose count is lost, or NULL.  Returns false if @saved cannot
 * be of a ledger of that width: *@why then gets a reason (static text), and
 * @ledger does not change.
 */
bool pmu_ledger_load(PmuLedger *ledger, const PmuSavedLedger *saved,
                     const char **unknown, const char **why);

#endif
