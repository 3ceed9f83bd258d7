/*
 * Events: the encodings of Intel's lists, and the identities between what
 * they count.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "events.h"
#include "random.h"

#define EDGE        (1u << 18)
#define INV         (1u << 23)
#define CMASK(n)    ((uint32_t)(n) << 24)

static const char *const core_name[PMU_CORE_NR] = {
    [PMU_CORE_ICELAKE] = "icelake",
    [PMU_CORE_SAPPHIRERAPIDS] = "sapphirerapids",
};

/* A ledger's snapshot with everything at random, but slots conserved. */
static PmuLedgerSnapshot random_snapshot(Random *random)
{
    PmuLedgerSnapshot snap;

    for (int level = 0; level < PMU_LEVEL_NR; level++) {
        uint64_t *item = snap.item[level];
        uint64_t slots = 0;

        for (int i = 0; i < PMU_ITEM_NR; i++) {
            item[i] = random_size(random, 44);
        }
        for (int i = 0; i < PMU_SLOT_NR; i++) {
            slots += item[i];
        }
        item[PMU_ITEM_SLOTS] = slots;
    }
    return snap;
}

static uint64_t count(PmuCore core, uint32_t select,
                      const PmuLedgerSnapshot *snap, PmuLevel level)
{
    const PmuEvent *event = pmu_event_lookup(core, select);

    if (!event) {
        g_error("%s: 0x%x: expected to be modelled", core_name[core], select);
    }
    return pmu_event_count(event, snap, level);
}

/* Names and encodings as in the lists */

typedef struct Encoding {
    uint32_t select;
    const char *icelake, *sapphirerapids;       /* NULL: not modelled */
} Encoding;

static const Encoding encodings[] = {
    /* The eight architectural ones, SDM vol. 3B, table 20-1 */
    { 0x003c, "CPU_CLK_UNHALTED.THREAD_P", "CPU_CLK_UNHALTED.THREAD_P" },
    { 0x013c, "CPU_CLK_UNHALTED.REF_XCLK", "CPU_CLK_UNHALTED.REF_TSC_P" },
    { 0x00c0, "INST_RETIRED.ANY_P", "INST_RETIRED.ANY_P" },
    { 0x4f2e, "LONGEST_LAT_CACHE.REFERENCE", "LONGEST_LAT_CACHE.REFERENCE" },
    { 0x412e, "LONGEST_LAT_CACHE.MISS", "LONGEST_LAT_CACHE.MISS" },
    { 0x00c4, "BR_INST_RETIRED.ALL_BRANCHES", "BR_INST_RETIRED.ALL_BRANCHES" },
    { 0x00c5, "BR_MISP_RETIRED.ALL_BRANCHES", "BR_MISP_RETIRED.ALL_BRANCHES" },
    { 0x01a4, "TOPDOWN.SLOTS_P", "TOPDOWN.SLOTS_P" },
    /* Others */
    { 0x11c4, "BR_INST_RETIRED.COND", "BR_INST_RETIRED.COND" },
    { 0x02ec, "CPU_CLK_UNHALTED.DISTRIBUTED", "CPU_CLK_UNHALTED.DISTRIBUTED" },
    { 0x02c2, "UOPS_RETIRED.SLOTS", "UOPS_RETIRED.SLOTS" },
    { 0x02a4, "TOPDOWN.BACKEND_BOUND_SLOTS", "TOPDOWN.BACKEND_BOUND_SLOTS" },
    { 0x04a4, NULL, "TOPDOWN.BAD_SPEC_SLOTS" },
    { 0x08a4, NULL, "TOPDOWN.BR_MISPREDICT_SLOTS" },
    { 0x10a4, NULL, "TOPDOWN.MEMORY_BOUND_SLOTS" },
    { 0x019c, "IDQ_UOPS_NOT_DELIVERED.CORE", "IDQ_BUBBLES.CORE" },
    { 0x010d | EDGE | CMASK(1), "INT_MISC.CLEARS_COUNT", NULL },
    { 0x01ad | EDGE | CMASK(1), NULL, "INT_MISC.CLEARS_COUNT" },
    { 0x100d, "INT_MISC.UOP_DROPPING", NULL },
    { 0x10ad, NULL, "INT_MISC.UOP_DROPPING" },
    { 0x010e, "UOPS_ISSUED.ANY", NULL },
    { 0x01ae, NULL, "UOPS_ISSUED.ANY" },
    { 0x01c3 | EDGE | CMASK(1), "MACHINE_CLEARS.COUNT",
      "MACHINE_CLEARS.COUNT" },
    { 0x04c3, "MACHINE_CLEARS.SMC", "MACHINE_CLEARS.SMC" },
    { 0x01c3, NULL, NULL },
    { 0x02c3, NULL, NULL },
    { 0x04c3 | EDGE | CMASK(1), NULL, NULL },
    /* INT_MISC.RECOVERY_CYCLES shares its code with CLEARS_COUNT */
    { 0x010d, NULL, NULL },
    { 0x01ad, NULL, NULL },
    { 0x010d | CMASK(1), NULL, NULL },
    { 0x010d | EDGE | CMASK(2), NULL, NULL },
    { 0x010d | EDGE | INV | CMASK(1), NULL, NULL },
    { 0x0000, NULL, NULL },
    { 0x01c0, NULL, NULL },
    { 0x00a4, NULL, NULL },
    { 0xffff, NULL, NULL },
};

static void test_encodings(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(encodings); i++) {
        const Encoding *want = &encodings[i];
        const PmuEvent *icelake = pmu_event_lookup(PMU_CORE_ICELAKE,
                                                   want->select);
        const PmuEvent *sapphirerapids =
            pmu_event_lookup(PMU_CORE_SAPPHIRERAPIDS, want->select);

        g_assert_cmpstr(icelake ? icelake->name : NULL, ==, want->icelake);
        g_assert_cmpstr(sapphirerapids ? sapphirerapids->name : NULL, ==,
                        want->sapphirerapids);
    }
}

/* Enable, level, interrupt and pin control bits do not select. */
static void test_other_bits_do_not_select(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(encodings); i++) {
        uint64_t select = encodings[i].select;

        g_assert_true(pmu_event_lookup(PMU_CORE_ICELAKE, select) ==
                      pmu_event_lookup(PMU_CORE_ICELAKE, select | 0x5b0000));
    }
}

/* Modifiers without a row of their own: not modelled.  INV alone is none. */
static void test_modifiers_select(void)
{
    static const uint32_t modifiers[] = {
        EDGE, CMASK(1), CMASK(5), CMASK(255), EDGE | CMASK(1),
        INV | CMASK(1), EDGE | INV | CMASK(3),
    };
    static const uint32_t plain[] = { 0x003c, 0x019c, 0x02c2, 0x00c0, 0x100d };

    for (unsigned i = 0; i < G_N_ELEMENTS(plain); i++) {
        const PmuEvent *want = pmu_event_lookup(PMU_CORE_ICELAKE, plain[i]);

        for (unsigned j = 0; j < G_N_ELEMENTS(modifiers); j++) {
            g_assert_null(pmu_event_lookup(PMU_CORE_ICELAKE,
                                           plain[i] | modifiers[j]));
        }
        g_assert_nonnull(want);
        g_assert_true(pmu_event_lookup(PMU_CORE_ICELAKE,
                                       plain[i] | INV) == want);
    }
}

static void test_rows(gconstpointer opaque)
{
    PmuCore core = GPOINTER_TO_INT(opaque);
    const PmuEvent *row, *other;

    for (unsigned i = 0; (row = pmu_event_row(core, i)); i++) {
        uint64_t select = row->modifiers | row->umask << 8 | row->code;

        g_assert_nonnull(row->name);
        g_assert_cmphex(row->modifiers & ~(EDGE | INV | CMASK(255)), ==, 0);
        g_assert_cmpuint(row->num_terms, <=, PMU_EVENT_TERMS);
        for (int j = 0; j < row->num_terms; j++) {
            g_assert_cmpuint(row->term[j], <, PMU_ITEM_NR);
        }
        if (row->state == PMU_EVENT_APPROXIMATE || !row->num_terms) {
            g_assert_nonnull(row->note);
        }
        g_assert_true(pmu_event_lookup(core, select) == row);
        for (unsigned j = 0; j < i; j++) {
            other = pmu_event_row(core, j);
            g_assert_cmpstr(row->name, !=, other->name);
        }
    }
    g_assert_null(pmu_event_row(core, UINT_MAX));
}

/* Identities, for any ledger, at each level */
static void test_identities(gconstpointer opaque)
{
    PmuCore core = GPOINTER_TO_INT(opaque);
    Random random = random_from_seed();

    for (int i = 0; i < 1000; i++) {
        PmuLedgerSnapshot snap = random_snapshot(&random);

        for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
            const uint64_t *item = snap.item[level];
            uint64_t slots = count(core, 0x01a4, &snap, level);
            uint64_t retiring = count(core, 0x02c2, &snap, level);
            uint64_t frontend = count(core, 0x019c, &snap, level);
            uint64_t backend = count(core, 0x02a4, &snap, level);
            uint64_t bad = item[PMU_SLOT_BR_MISPREDICT] +
                           item[PMU_SLOT_MACHINE_CLEARS];

            /* TOPDOWN.SLOTS_P is TOPDOWN.SLOTS, and conserved */
            g_assert_cmpuint(slots, ==, pmu_event_count(pmu_event_fixed(3),
                                                        &snap, level));
            g_assert_cmpuint(retiring + bad + frontend + backend, ==, slots);
            /* The other fixed counters and their counterparts */
            g_assert_cmpuint(count(core, 0x00c0, &snap, level), ==,
                             pmu_event_count(pmu_event_fixed(0), &snap,
                                             level));
            g_assert_cmpuint(count(core, 0x003c, &snap, level), ==,
                             pmu_event_count(pmu_event_fixed(1), &snap,
                                             level));
            g_assert_cmpuint(count(core, 0x02ec, &snap, level), ==,
                             count(core, 0x003c, &snap, level));
            g_assert_cmpuint(pmu_event_count(pmu_event_fixed(2), &snap,
                                             level), ==,
                             item[PMU_ITEM_REF_TSC]);
        }
    }
}

/* Sapphire Rapids counts the classes that Ice Lake has no events for. */
static void test_identities_level2(void)
{
    Random random = random_from_seed();
    const PmuCore core = PMU_CORE_SAPPHIRERAPIDS;

    for (int i = 0; i < 1000; i++) {
        PmuLedgerSnapshot snap = random_snapshot(&random);

        for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
            const uint64_t *item = snap.item[level];

            g_assert_cmpuint(count(core, 0x02c2, &snap, level) +
                             count(core, 0x04a4, &snap, level) +
                             count(core, 0x019c, &snap, level) +
                             count(core, 0x02a4, &snap, level), ==,
                             count(core, 0x01a4, &snap, level));
            g_assert_cmpuint(count(core, 0x08a4, &snap, level) +
                             item[PMU_SLOT_MACHINE_CLEARS], ==,
                             count(core, 0x04a4, &snap, level));
            g_assert_cmpuint(count(core, 0x10a4, &snap, level) +
                             item[PMU_SLOT_CORE_BOUND], ==,
                             count(core, 0x02a4, &snap, level));
        }
    }
}

/* What single items mean, by a snapshot in which each is another number. */
static void test_single_items(void)
{
    static const struct {
        uint32_t icelake, sapphirerapids;
        PmuLedgerItem item;
    } cases[] = {
        { 0x003c, 0x003c, PMU_ITEM_CYCLES },
        { 0x00c0, 0x00c0, PMU_ITEM_INSTRUCTIONS },
        { 0x00c4, 0x00c4, PMU_ITEM_BRANCHES },
        { 0x00c5, 0x00c5, PMU_ITEM_BRANCH_MISSES },
        { 0x010e, 0x01ae, PMU_ITEM_UOPS_ISSUED },
        { 0x010d | EDGE | CMASK(1), 0x01ad | EDGE | CMASK(1),
          PMU_ITEM_CLEARS },
        { 0x04c3, 0x04c3, PMU_ITEM_CLEARS_SMC },
        { 0x01c3 | EDGE | CMASK(1), 0x01c3 | EDGE | CMASK(1),
          PMU_ITEM_CLEARS_SMC },
    };
    PmuLedgerSnapshot snap;

    for (int i = 0; i < PMU_ITEM_NR; i++) {
        snap.item[PMU_LEVEL_OS][i] = 1000 + i;
        snap.item[PMU_LEVEL_USR][i] = 2000 + i;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_cmpuint(count(PMU_CORE_ICELAKE, cases[i].icelake, &snap,
                               PMU_LEVEL_OS), ==, 1000 + cases[i].item);
        g_assert_cmpuint(count(PMU_CORE_SAPPHIRERAPIDS,
                               cases[i].sapphirerapids, &snap,
                               PMU_LEVEL_USR), ==, 2000 + cases[i].item);
    }
    g_assert_cmpuint(count(PMU_CORE_ICELAKE, 0x013c, &snap, PMU_LEVEL_OS), ==,
                     1000 + PMU_ITEM_REF_XCLK);
    g_assert_cmpuint(count(PMU_CORE_SAPPHIRERAPIDS, 0x013c, &snap,
                           PMU_LEVEL_OS), ==, 1000 + PMU_ITEM_REF_TSC);
    g_assert_cmpuint(count(PMU_CORE_ICELAKE, 0x100d, &snap, PMU_LEVEL_OS), ==,
                     0);
    /* By data and by code; either way. */
    g_assert_cmpuint(count(PMU_CORE_ICELAKE, 0x4f2e, &snap, PMU_LEVEL_OS), ==,
                     6000 + PMU_ITEM_DATA_L3 + PMU_ITEM_DATA_DRAM +
                     PMU_ITEM_RFO_L3 + PMU_ITEM_RFO_DRAM +
                     PMU_ITEM_CODE_L3 + PMU_ITEM_CODE_DRAM);
    g_assert_cmpuint(count(PMU_CORE_ICELAKE, 0x412e, &snap, PMU_LEVEL_OS), ==,
                     3000 + PMU_ITEM_DATA_DRAM + PMU_ITEM_RFO_DRAM +
                     PMU_ITEM_CODE_DRAM);
    g_assert_cmpuint(count(PMU_CORE_ICELAKE, 0x11c4, &snap, PMU_LEVEL_OS), ==,
                     2000 + PMU_ITEM_BRANCHES_COND_NTAKEN +
                     PMU_ITEM_BRANCHES_COND_TAKEN);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/events/encodings", test_encodings);
    g_test_add_func("/events/other-bits-do-not-select",
                    test_other_bits_do_not_select);
    g_test_add_func("/events/modifiers-select", test_modifiers_select);
    for (int core = 0; core < PMU_CORE_NR; core++) {
        g_autofree char *rows = g_strconcat("/events/rows/", core_name[core],
                                            NULL);
        g_autofree char *identities = g_strconcat("/events/identities/",
                                                  core_name[core], NULL);

        g_test_add_data_func(rows, GINT_TO_POINTER(core), test_rows);
        g_test_add_data_func(identities, GINT_TO_POINTER(core),
                             test_identities);
    }
    g_test_add_func("/events/identities-level2", test_identities_level2);
    g_test_add_func("/events/single-items", test_single_items);
    return g_test_run();
}
