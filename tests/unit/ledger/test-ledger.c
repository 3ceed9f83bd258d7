/*
 * The ledger conserves slots and publishes whole cycles only: compared with a
 * naive one that keeps a list of slots.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "tcg/pmu/ledger/ledger.h"
#include "random.h"

/* Sunny Cove at 2.9 GHz, with clocks of TSC and crystal that are possible. */
#define TSC_NUM     20
#define TSC_DEN     29
#define XCLK_NUM    25
#define XCLK_DEN    2900

static void start(PmuLedger *ledger, unsigned width)
{
    pmu_ledger_init(ledger, width, TSC_NUM, TSC_DEN, XCLK_NUM, XCLK_DEN);
}

/*
 * A ledger that enters slots one by one.  Those of a cycle wait in @cycle until
 * there are @width of them.
 */
typedef struct Naive {
    unsigned width;
    unsigned filled[PMU_LEVEL_NR];
    uint8_t cycle[PMU_LEVEL_NR][PMU_MAX_WIDTH];
    PmuLedgerSnapshot published;
    uint64_t cycles[PMU_LEVEL_NR];
} Naive;

static void naive_slots(Naive *naive, PmuLevel level, PmuSlotClass class,
                        uint64_t n)
{
    while (n--) {
        naive->cycle[level][naive->filled[level]++] = class;
        if (naive->filled[level] == naive->width) {
            for (unsigned i = 0; i < naive->width; i++) {
                naive->published.item[level][naive->cycle[level][i]]++;
            }
            naive->cycles[level]++;
            naive->filled[level] = 0;
        }
    }
}

static void add_up_misses(uint64_t *item)
{
    item[PMU_ITEM_BRANCH_MISSES] =
        item[PMU_ITEM_MISSES_COND_NTAKEN] + item[PMU_ITEM_MISSES_COND_TAKEN] +
        item[PMU_ITEM_MISSES_JMP_INDIRECT] +
        item[PMU_ITEM_MISSES_CALL_INDIRECT] + item[PMU_ITEM_MISSES_RET];
    item[PMU_ITEM_CLEARS] = item[PMU_ITEM_BRANCH_MISSES] +
                            item[PMU_ITEM_ASSISTS_FP] +
                            item[PMU_ITEM_CLEARS_SMC] +
                            item[PMU_ITEM_CLEARS_ORDERING];
}

static void naive_snapshot(const Naive *naive, PmuLedgerSnapshot *snap)
{
    *snap = naive->published;
    for (int level = 0; level < PMU_LEVEL_NR; level++) {
        uint64_t cycles = naive->cycles[level];

        snap->item[level][PMU_ITEM_CYCLES] = cycles;
        snap->item[level][PMU_ITEM_SLOTS] = cycles * naive->width;
        snap->item[level][PMU_ITEM_REF_TSC] = cycles * TSC_NUM / TSC_DEN;
        snap->item[level][PMU_ITEM_REF_XCLK] = cycles * XCLK_NUM / XCLK_DEN;
        add_up_misses(snap->item[level]);
    }
}

static void check_same(const PmuLedger *ledger, const Naive *naive)
{
    PmuLedgerSnapshot want, got;

    naive_snapshot(naive, &want);
    pmu_ledger_snapshot(ledger, &got);
    for (int level = 0; level < PMU_LEVEL_NR; level++) {
        for (int i = 0; i < PMU_ITEM_NR; i++) {
            if (got.item[level][i] != want.item[level][i]) {
                g_error("width %u, %s at level %d: expected %" G_GUINT64_FORMAT
                        ", got %" G_GUINT64_FORMAT, naive->width,
                        pmu_ledger_item_name(i), level, want.item[level][i],
                        got.item[level][i]);
            }
        }
    }
    g_assert_true(pmu_ledger_plausible(ledger));
}

static void random_entry(Random *random, PmuLedger *ledger, Naive *naive)
{
    PmuSlotClass class = random_below(random, PMU_SLOT_NR);
    uint64_t n = random_size(random, random_below(random, 4) ? 4 : 9);
    PmuLedgerItem item = PMU_ITEM_INSTRUCTIONS +
        random_below(random, PMU_ITEM_NR - PMU_ITEM_INSTRUCTIONS);

    PmuLevel level = random_below(random, PMU_LEVEL_NR);

    if (random_below(random, 8)) {
        pmu_ledger_slots(ledger, level, class, n);
        naive_slots(naive, level, class, n);
    } else {
        ledger->level = level;
        pmu_ledger_event(ledger, item, n);
        naive->published.item[level][item] += n;
    }
}

/* Random slots and events give the same totals as in the naive ledger. */
static void test_random(void)
{
    Random random = random_from_seed();

    for (unsigned width = 1; width <= PMU_MAX_WIDTH; width++) {
        PmuLedger ledger;
        Naive naive = { .width = width };

        start(&ledger, width);
        for (int i = 0; i < 100000; i++) {
            random_entry(&random, &ledger, &naive);
            check_same(&ledger, &naive);
        }
    }
}

/*
 * Entries too large for the naive ledger: the sums are those of what was
 * entered, down to a whole cycle.
 */
static void test_conservation(void)
{
    Random random = random_from_seed();

    for (unsigned width = 1; width <= PMU_MAX_WIDTH; width++) {
        PmuLedger ledger;
        uint64_t entered = 0;

        start(&ledger, width);
        for (int i = 0; i < 20000; i++) {
            PmuLedgerSnapshot snap;
            uint64_t n = random_size(&random, 45);
            uint64_t sum = 0;

            pmu_ledger_slots(&ledger, PMU_LEVEL_OS,
                             random_below(&random, PMU_SLOT_NR), n);
            entered += n;
            pmu_ledger_snapshot(&ledger, &snap);
            for (int j = 0; j < PMU_SLOT_NR; j++) {
                sum += snap.item[PMU_LEVEL_OS][j];
            }
            g_assert_cmpuint(sum, ==, entered - entered % width);
            g_assert_cmpuint(snap.item[PMU_LEVEL_OS][PMU_ITEM_SLOTS], ==, sum);
            g_assert_cmpuint(snap.item[PMU_LEVEL_OS][PMU_ITEM_CYCLES], ==,
                             entered / width);
        }
    }
}

/* One entry of @n slots gives the same totals as two that add up to @n. */
static void test_cuts(void)
{
    Random random = random_from_seed();

    for (int i = 0; i < 20000; i++) {
        unsigned width = 1 + random_below(&random, PMU_MAX_WIDTH);
        PmuSlotClass class = random_below(&random, PMU_SLOT_NR);
        uint64_t n = random_size(&random, 30);
        uint64_t first = n ? random_below(&random, n) : 0;
        unsigned before = random_below(&random, 20);
        PmuLedgerSnapshot whole_snap, cut_snap;
        PmuLedger whole, cut;

        start(&whole, width);
        pmu_ledger_slots(&whole, PMU_LEVEL_OS, PMU_SLOT_CORE_BOUND, before);
        cut = whole;
        pmu_ledger_slots(&whole, PMU_LEVEL_OS, class, n);
        pmu_ledger_slots(&cut, PMU_LEVEL_OS, class, first);
        pmu_ledger_slots(&cut, PMU_LEVEL_OS, class, n - first);
        pmu_ledger_snapshot(&whole, &whole_snap);
        pmu_ledger_snapshot(&cut, &cut_snap);
        g_assert_cmpmem(&whole_snap, sizeof(whole_snap),
                        &cut_snap, sizeof(cut_snap));
    }
}

/*
 * pmu_ledger_modulo(), which does not divide, equals C's %, around multiples of
 * the width and at the ledger's limits.
 */
static void test_modulo(void)
{
    Random random = random_from_seed();

    for (unsigned width = 1; width <= PMU_MAX_WIDTH; width++) {
        PmuLedger ledger;

        start(&ledger, width);
        for (uint64_t n = 0; n < 100000; n++) {
            uint64_t last = PMU_LEDGER_FAST - 50000 + n;

            g_assert_cmpuint(pmu_ledger_modulo(&ledger, n), ==, n % width);
            g_assert_cmpuint(pmu_ledger_modulo(&ledger, last), ==,
                             last % width);
        }
        for (int i = 0; i < 100000; i++) {
            uint64_t n = random_size(&random, 64);
            uint64_t multiple = n - n % width;

            g_assert_cmpuint(pmu_ledger_modulo(&ledger, n), ==, n % width);
            g_assert_cmpuint(pmu_ledger_modulo(&ledger, multiple), ==, 0);
            g_assert_cmpuint(pmu_ledger_modulo(&ledger, multiple - 1), ==,
                             (multiple - 1) % width);
        }
    }
}

/* Each level fills a cycle of its own: 5 slots, of which the rest waits. */
static void test_levels(void)
{
    PmuLedgerSnapshot snap;
    PmuLedger ledger;

    start(&ledger, 5);
    pmu_ledger_slots(&ledger, PMU_LEVEL_OS, PMU_SLOT_LIGHT_OPS, 7);
    pmu_ledger_slots(&ledger, PMU_LEVEL_USR, PMU_SLOT_CORE_BOUND, 4);
    pmu_ledger_snapshot(&ledger, &snap);
    g_assert_cmpuint(snap.item[PMU_LEVEL_OS][PMU_SLOT_LIGHT_OPS], ==, 5);
    g_assert_cmpuint(snap.item[PMU_LEVEL_USR][PMU_SLOT_CORE_BOUND], ==, 0);
    pmu_ledger_slots(&ledger, PMU_LEVEL_OS, PMU_SLOT_CORE_BOUND, 3);
    pmu_ledger_slots(&ledger, PMU_LEVEL_USR, PMU_SLOT_LIGHT_OPS, 1);
    pmu_ledger_snapshot(&ledger, &snap);
    g_assert_cmpuint(snap.item[PMU_LEVEL_OS][PMU_SLOT_LIGHT_OPS], ==, 7);
    g_assert_cmpuint(snap.item[PMU_LEVEL_OS][PMU_SLOT_CORE_BOUND], ==, 3);
    g_assert_cmpuint(snap.item[PMU_LEVEL_USR][PMU_SLOT_LIGHT_OPS], ==, 1);
    g_assert_cmpuint(snap.item[PMU_LEVEL_USR][PMU_SLOT_CORE_BOUND], ==, 4);
}

/*
 * Reference clocks are exact over years, and separate for each level.  The
 * expected figures are computed with 128 bits.
 */
static void test_reference_clocks(void)
{
    static const uint64_t cycles[] = {
        0, 1, 28, 29, 30, 57, 58, 2899, 2900, 1ull << 40, (1ull << 58) + 12345,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cycles); i++) {
        unsigned __int128 wide = cycles[i];
        PmuLedgerSnapshot snap;
        PmuLedger ledger;

        start(&ledger, 5);
        pmu_ledger_slots(&ledger, PMU_LEVEL_USR, PMU_SLOT_MEMORY_BOUND,
                         5 * cycles[i]);
        pmu_ledger_snapshot(&ledger, &snap);
        g_assert_cmpuint(snap.item[PMU_LEVEL_USR][PMU_ITEM_CYCLES], ==,
                         cycles[i]);
        g_assert_cmpuint(snap.item[PMU_LEVEL_USR][PMU_ITEM_REF_TSC], ==,
                         (uint64_t)(wide * TSC_NUM / TSC_DEN));
        g_assert_cmpuint(snap.item[PMU_LEVEL_USR][PMU_ITEM_REF_XCLK], ==,
                         (uint64_t)(wide * XCLK_NUM / XCLK_DEN));
        g_assert_cmpuint(snap.item[PMU_LEVEL_OS][PMU_ITEM_REF_TSC], ==, 0);
    }
}

/* pmu_ledger_plausible() refuses each single inconsistency. */
static void test_implausible(void)
{
    PmuLedger good, bad;

    start(&good, 5);
    pmu_ledger_slots(&good, PMU_LEVEL_OS, PMU_SLOT_CORE_BOUND, 13);
    g_assert_true(pmu_ledger_plausible(&good));

    bad = good;
    bad.level = PMU_LEVEL_NR;
    g_assert_false(pmu_ledger_plausible(&bad));
    bad = good;
    bad.open[PMU_LEVEL_OS].slots = 5;
    g_assert_false(pmu_ledger_plausible(&bad));
    bad = good;
    bad.open[PMU_LEVEL_OS].slots = 2;
    g_assert_false(pmu_ledger_plausible(&bad));
    bad = good;
    bad.open[PMU_LEVEL_OS].history |= 0x800;
    g_assert_false(pmu_ledger_plausible(&bad));
    bad = good;
    bad.slots[PMU_LEVEL_USR][PMU_SLOT_LIGHT_OPS]++;
    g_assert_false(pmu_ledger_plausible(&bad));
    bad = good;
    /* A multiple of 5, so it looks like whole cycles until the sum wraps. */
    bad.slots[PMU_LEVEL_USR][0] = UINT64_MAX;
    g_assert_false(pmu_ledger_plausible(&bad));
    /* A slot of the open cycle is not in the totals. */
    bad = good;
    memset(bad.slots, 0, sizeof(bad.slots));
    bad.open[PMU_LEVEL_USR] = (PmuOpenCycle) { .history = 0x76543, .slots = 4 };
    bad.slots[PMU_LEVEL_USR][0] = 4;
    g_assert_false(pmu_ledger_plausible(&bad));
    /* The open cycle has slots of a class that never occurred. */
    bad = good;
    bad.open[PMU_LEVEL_OS].history = PMU_SLOT_HEAVY_OPS;
    g_assert_false(pmu_ledger_plausible(&bad));
}

/* Each item has a name of its own, of lower-case letters, digits and dashes. */
static void test_names(void)
{
    for (int i = 0; i < PMU_ITEM_NR; i++) {
        const char *name = pmu_ledger_item_name(i);

        g_assert_nonnull(name);
        for (const char *c = name; *c; c++) {
            g_assert_true(g_ascii_islower(*c) || g_ascii_isdigit(*c) ||
                          *c == '-');
        }
        for (int j = 0; j < i; j++) {
            g_assert_cmpstr(name, !=, pmu_ledger_item_name(j));
        }
    }
    g_assert_null(pmu_ledger_item_name(PMU_ITEM_NR));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/ledger/random", test_random);
    g_test_add_func("/ledger/conservation", test_conservation);
    g_test_add_func("/ledger/cuts", test_cuts);
    g_test_add_func("/ledger/modulo", test_modulo);
    g_test_add_func("/ledger/levels", test_levels);
    g_test_add_func("/ledger/reference-clocks", test_reference_clocks);
    g_test_add_func("/ledger/implausible", test_implausible);
    g_test_add_func("/ledger/names", test_names);
    return g_test_run();
}
