/*
 * The saved ledger: the form of the ledger in a migration stream.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/ledger/saved-ledger.h"

/*
 * Largest count of an item that is loaded.  No machine counts that far in a
 * century, and the sum of a few such counts fits in 64 bits.
 */
#define COUNT_MOST  (1ull << 58)

/* The count of @item at @level in @ledger. */
static uint64_t *count_of(PmuLedger *ledger, PmuLevel level, unsigned item)
{
    return item < PMU_SLOT_NR ? &ledger->slots[level][item]
                              : &ledger->event[level][item];
}

void pmu_ledger_save(const PmuLedger *ledger, PmuSavedLedger *saved)
{
    PmuLedger from = *ledger;

    G_STATIC_ASSERT(PMU_ITEM_NR <= PMU_SAVED_ITEMS);
    *saved = (PmuSavedLedger) { .width = from.width, .level = from.level };
    memcpy(saved->open, from.open, sizeof(saved->open));
    for (unsigned i = 0; i < PMU_ITEM_NR; i++) {
        PmuSavedItem *item = &saved->item[saved->num_items];
        uint64_t any = 0;

        for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
            item->count[level] = *count_of(&from, level, i);
            any |= item->count[level];
        }
        if (any) {
            g_strlcpy(item->name, pmu_ledger_item_name(i),
                      sizeof(item->name));
            saved->num_items++;
        }
    }
}

/* The item called @name, or PMU_ITEM_NR. */
static unsigned find_item(const char *name)
{
    unsigned item = 0;

    while (item < PMU_ITEM_NR &&
           strcmp(name, pmu_ledger_item_name(item)) != 0) {
        item++;
    }
    return item;
}

/*
 * Can @name be an item's?  One that this version does not know is printed, and
 * must not hold characters that a terminal obeys.
 */
static bool is_name(const char name[PMU_SAVED_NAME])
{
    unsigned length = 0;

    while (length < PMU_SAVED_NAME && g_ascii_isgraph(name[length])) {
        length++;
    }
    return length && length < PMU_SAVED_NAME && !name[length];
}

/* Load @saved, which has a name.  Returns NULL, or what is wrong with it. */
static const char *load_item(PmuLedger *ledger, const PmuSavedItem *saved,
                             bool seen[PMU_ITEM_NR], const char **unknown)
{
    unsigned item = find_item(saved->name);

    if (item == PMU_ITEM_NR) {
        *unknown = saved->name;
        return NULL;
    }
    if (seen[item]) {
        return "an item of the ledger comes twice";
    }
    seen[item] = true;
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        if (saved->count[level] > COUNT_MOST) {
            return "an item of the ledger is too large";
        }
        *count_of(ledger, level, item) = saved->count[level];
    }
    return NULL;
}

/* Load all items.  Returns NULL, or what is wrong with them. */
static const char *load_items(PmuLedger *ledger, const PmuSavedLedger *saved,
                              const char **unknown)
{
    bool seen[PMU_ITEM_NR] = { false };
    const char *why = NULL;

    if (saved->num_items > PMU_SAVED_ITEMS) {
        return "there are too many items in the ledger";
    }
    for (unsigned i = 0; i < saved->num_items && !why; i++) {
        why = is_name(saved->item[i].name)
              ? load_item(ledger, &saved->item[i], seen, unknown)
              : "an item of the ledger has no valid name";
    }
    return why;
}

bool pmu_ledger_load(PmuLedger *ledger, const PmuSavedLedger *saved,
                     const char **unknown, const char **why)
{
    PmuLedger loaded = *ledger;

    *unknown = NULL;
    if (saved->width != ledger->width) {
        *why = "the core has another width: pmu-width";
        return false;
    }
    memset(loaded.slots, 0, sizeof(loaded.slots));
    memset(loaded.event, 0, sizeof(loaded.event));
    memcpy(loaded.open, saved->open, sizeof(loaded.open));
    loaded.level = saved->level;
    *why = load_items(&loaded, saved, unknown);
    if (!*why && !pmu_ledger_plausible(&loaded)) {
        *why = "the ledger is not one";
    }
    if (*why) {
        return false;
    }
    *ledger = loaded;
    return true;
}
