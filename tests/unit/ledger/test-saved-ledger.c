/*
 * The ledger as it is saved: round trips, items of other versions, hostile
 * ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "random.h"
#include "tcg/pmu/ledger/saved-ledger.h"

#define WIDTH   5

static void start(PmuLedger *ledger)
{
    pmu_ledger_init(ledger, WIDTH, 20, 29, 25, 2900);
}

/* Make a ledger that has counted some of each item. */
static void fill(PmuLedger *ledger, Random *random)
{
    start(ledger);
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        ledger->level = level;
        for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
            pmu_ledger_slots(ledger, level, i, 1 + random_below(random, 99));
        }
        for (unsigned i = PMU_ITEM_INSTRUCTIONS; i < PMU_ITEM_NR; i++) {
            pmu_ledger_event(ledger, i, 1 + random_below(random, 1000000));
        }
    }
    ledger->level = random_below(random, PMU_LEVEL_NR);
}

static PmuSavedLedger *save(const PmuLedger *ledger)
{
    PmuSavedLedger *saved = g_new0(PmuSavedLedger, 1);

    pmu_ledger_save(ledger, saved);
    return saved;
}

static PmuSavedItem *item_of(PmuSavedLedger *saved, unsigned item)
{
    for (unsigned i = 0; i < saved->num_items; i++) {
        if (g_str_equal(saved->item[i].name, pmu_ledger_item_name(item))) {
            return &saved->item[i];
        }
    }
    g_assert_not_reached();
}

static void assert_loads(const PmuSavedLedger *saved, PmuLedger *ledger)
{
    const char *unknown, *why;

    start(ledger);
    g_assert_true(pmu_ledger_load(ledger, saved, &unknown, &why));
    g_assert_null(unknown);
}

/* A saved ledger loads as exactly what it was. */
static void test_round_trip(void)
{
    Random random = random_from_seed();

    for (unsigned i = 0; i < 100; i++) {
        g_autofree PmuSavedLedger *saved = NULL;
        PmuLedger from, to;

        fill(&from, &random);
        saved = save(&from);
        assert_loads(saved, &to);
        g_assert_cmpmem(&from, sizeof(from), &to, sizeof(to));
    }
}

/* Items that have counted nothing are not saved. */
static void test_empty(void)
{
    g_autofree PmuSavedLedger *saved = NULL;
    PmuLedger from, to;

    start(&from);
    saved = save(&from);
    g_assert_cmpuint(saved->num_items, ==, 0);
    assert_loads(saved, &to);
    g_assert_cmpmem(&from, sizeof(from), &to, sizeof(to));
}

/*
 * Items in another order load.  One that only the saved ledger has is reported
 * and left out; one that only this version has is 0.
 */
static void test_other_items(void)
{
    Random random = random_from_seed();
    g_autofree PmuSavedLedger *saved = NULL;
    const char *unknown, *why;
    PmuSavedItem last;
    PmuLedger from, to;

    fill(&from, &random);
    saved = save(&from);
    strcpy(item_of(saved, PMU_ITEM_LOADS_L2)->name, "loads-l2-of-tomorrow");
    last = saved->item[saved->num_items - 1];
    saved->item[saved->num_items - 1] = saved->item[0];
    saved->item[0] = last;
    start(&to);
    g_assert_true(pmu_ledger_load(&to, saved, &unknown, &why));
    g_assert_cmpstr(unknown, ==, "loads-l2-of-tomorrow");
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        g_assert_cmpuint(to.event[level][PMU_ITEM_LOADS_L2], ==, 0);
        from.event[level][PMU_ITEM_LOADS_L2] = 0;
    }
    g_assert_cmpmem(&from, sizeof(from), &to, sizeof(to));
}

/* Assert that @saved is refused, and that the ledger stays as it was. */
static void assert_refused_for(const PmuSavedLedger *saved, const char *reason)
{
    const char *unknown, *why = NULL;
    PmuLedger before, ledger;
    Random random = { 1 };

    fill(&before, &random);
    ledger = before;
    g_assert_false(pmu_ledger_load(&ledger, saved, &unknown, &why));
    g_assert_nonnull(why);
    g_test_message("refused: %s", why);
    if (reason) {
        g_assert_cmpstr(why, ==, reason);
    }
    g_assert_cmpmem(&ledger, sizeof(ledger), &before, sizeof(before));
}

static void assert_refused(const PmuSavedLedger *saved)
{
    assert_refused_for(saved, NULL);
}

/* A saved ledger with any inconsistency is refused. */
static void test_refused(void)
{
    Random random = random_from_seed();
    g_autofree PmuSavedLedger *good = NULL, *bad = NULL;
    PmuLedger ledger;

    fill(&ledger, &random);
    good = save(&ledger);
    bad = g_new(PmuSavedLedger, 1);

    *bad = *good;
    bad->width = WIDTH + 1;
    assert_refused(bad);
    *bad = *good;
    bad->level = PMU_LEVEL_NR;
    assert_refused(bad);
    *bad = *good;
    bad->open[0].slots = WIDTH;
    assert_refused(bad);
    *bad = *good;
    bad->num_items = PMU_SAVED_ITEMS + 1;
    assert_refused(bad);
    *bad = *good;
    bad->num_items = UINT32_MAX;
    assert_refused(bad);
    *bad = *good;
    bad->num_items++;
    assert_refused(bad);
    *bad = *good;
    memset(bad->item[3].name, 'x', PMU_SAVED_NAME);
    assert_refused(bad);
    *bad = *good;
    bad->item[3] = bad->item[4];
    assert_refused(bad);
    *bad = *good;
    item_of(bad, PMU_ITEM_INSTRUCTIONS)->count[0] = UINT64_MAX;
    assert_refused(bad);
    /* Slots that are no whole cycles, of a known class. */
    *bad = *good;
    item_of(bad, PMU_SLOT_LIGHT_OPS)->count[0]++;
    assert_refused(bad);
}

/*
 * A name is printed where this version does not know it.  So it must be of
 * printable ASCII characters, and none of them is a space.
 */
static void test_names(void)
{
    static const char wrong[] = "\x1b\n\r\t \x7f\x80\x9b\xff";
    Random random = random_from_seed();
    g_autofree PmuSavedLedger *good = NULL, *bad = NULL;
    PmuLedger ledger;

    fill(&ledger, &random);
    good = save(&ledger);
    bad = g_new(PmuSavedLedger, 1);
    for (unsigned i = 0; wrong[i]; i++) {
        for (unsigned at = 0; at < 3; at++) {
            char *name;

            *bad = *good;
            name = item_of(bad, PMU_ITEM_LOADS_L2)->name;
            strcpy(name, "xyz");
            name[at] = wrong[i];
            assert_refused_for(bad, "an item of the ledger has no valid name");
        }
    }
    *bad = *good;
    item_of(bad, PMU_ITEM_LOADS_L2)->name[0] = 0;
    assert_refused_for(bad, "an item of the ledger has no valid name");
    /* What follows the name's end is not part of it. */
    good->item[3].name[PMU_SAVED_NAME - 1] = 27;
    assert_loads(good, &ledger);
}

/* Random bits flipped: whatever still loads is a plausible ledger. */
static void test_random(void)
{
    Random random = random_from_seed();

    for (unsigned i = 0; i < 20000; i++) {
        g_autofree PmuSavedLedger *saved = NULL;
        const char *unknown, *why;
        PmuLedger ledger;
        PmuLedgerSnapshot snap;
        size_t used;

        fill(&ledger, &random);
        saved = save(&ledger);
        used = offsetof(PmuSavedLedger, item[saved->num_items]);
        for (unsigned n = 1 + random_below(&random, 4); n; n--) {
            ((uint8_t *)saved)[random_below(&random, used)] ^=
                1 << random_below(&random, 8);
        }
        if (pmu_ledger_load(&ledger, saved, &unknown, &why)) {
            g_assert_true(pmu_ledger_plausible(&ledger));
            pmu_ledger_slots(&ledger, PMU_LEVEL_OS, PMU_SLOT_LIGHT_OPS, 7);
            pmu_ledger_snapshot(&ledger, &snap);
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/saved-ledger/round-trip", test_round_trip);
    g_test_add_func("/saved-ledger/empty", test_empty);
    g_test_add_func("/saved-ledger/other-items", test_other_items);
    g_test_add_func("/saved-ledger/refused", test_refused);
    g_test_add_func("/saved-ledger/names", test_names);
    g_test_add_func("/saved-ledger/random", test_random);
    return g_test_run();
}
