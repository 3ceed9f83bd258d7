/*
 * Events: the table has what Intel's lists have, selectors count the right
 * items, and the counts satisfy the identities between events.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "linux-events.h"
#include "tcg/pmu/events/events-netburst.h"
#include "tcg/pmu/perfmon/perfmon.h"
#include "random.h"

#define EDGE        PMU_EVENT_EDGE
#define INV         PMU_EVENT_INV
#define CMASK(n)    PMU_EVENT_CMASK(n)

static const char *const core_name[PMU_CORES_MEASURED] = {
    [PMU_CORE_ICELAKE] = "icelake",
    [PMU_CORE_SAPPHIRERAPIDS] = "sapphirerapids",
};

/* Registers that events take a part of their selector from, all 0. */
static const uint64_t no_extra[PMU_EXTRA_NR];

/* Returns a snapshot of random items, with slots conserved. */
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

static PmuSelection select_event(PmuCore core, uint64_t evtsel)
{
    PmuSelection selection;

    pmu_event_select(&selection, core, 0, evtsel, no_extra);
    return selection;
}

static const PmuLedgerSnapshot nothing;

/* Returns what a counter that starts at @from has counted at @to. */
static uint64_t gain(const PmuSelection *selection,
                     const PmuLedgerSnapshot *from,
                     const PmuLedgerSnapshot *to, PmuLevel level)
{
    int64_t remainder = 0;

    return pmu_selection_gain(selection, from, to, 1u << level, &remainder);
}

static uint64_t count(PmuCore core, uint32_t select,
                      const PmuLedgerSnapshot *snap, PmuLevel level)
{
    PmuSelection selection = select_event(core, select);

    if (selection.state > PMU_EVENT_APPROXIMATE) {
        g_error("%s: 0x%x: expected to be modelled", core_name[core], select);
    }
    return gain(&selection, &nothing, snap, level);
}

static uint64_t count_fixed(unsigned index, const PmuLedgerSnapshot *snap,
                            PmuLevel level)
{
    PmuSelection selection;

    pmu_event_select_fixed(&selection, index);
    return gain(&selection, &nothing, snap, level);
}

/* Intel's lists */

typedef struct Listed {
    const char *name;
    uint32_t select;            /* code, umask, EDGE, INV, CMASK */
    uint8_t counters;           /* 0: a fixed one */
    uint32_t msr;
    uint64_t value;
} Listed;

#define LISTED(...) { __VA_ARGS__ },

static const Listed icelake_list[] = {
#define LISTED_ICELAKE
#include "intel-events.h"
#undef LISTED_ICELAKE
};

static const Listed sapphirerapids_list[] = {
#define LISTED_SAPPHIRERAPIDS
#include "intel-events.h"
#undef LISTED_SAPPHIRERAPIDS
};

static const struct {
    const Listed *events;
    unsigned num_events;
} lists[PMU_CORES_MEASURED] = {
    [PMU_CORE_ICELAKE] = { icelake_list, G_N_ELEMENTS(icelake_list) },
    [PMU_CORE_SAPPHIRERAPIDS] = {
        sapphirerapids_list, G_N_ELEMENTS(sapphirerapids_list)
    },
};

/* Select the event @listed on general-purpose counter @counter. */
static PmuSelection select_listed(PmuCore core, const Listed *listed,
                                  unsigned counter)
{
    uint64_t extra[PMU_EXTRA_NR] = { 0 };
    PmuSelection selection;

    switch (listed->msr) {
    case 0x1a6:
        extra[PMU_EXTRA_OFFCORE_0] = listed->value;
        break;
    case 0x3f6:
        extra[PMU_EXTRA_LD_LAT] = listed->value;
        break;
    case 0x3f7:
        extra[PMU_EXTRA_FRONTEND] = listed->value;
        break;
    default:
        g_assert_cmphex(listed->msr, ==, 0);
    }
    pmu_event_select(&selection, core, counter, listed->select, extra);
    return selection;
}

static unsigned first_counter(uint8_t counters)
{
    return g_bit_nth_lsf(counters, -1);
}

/* Returns the name that the table has for the event listed as @name. */
static const char *name_in_table(PmuCore core, const char *name)
{
    const PmuEventAlias *alias;

    for (unsigned i = 0; (alias = pmu_event_alias(i)); i++) {
        if (alias->cores >> core & 1 && g_str_equal(alias->name, name)) {
            return alias->of;
        }
    }
    return name;
}

static void check_fixed(PmuCore core, const Listed *listed)
{
    unsigned index = (listed->select >> 8) - 1;
    PmuSelection selection;

    g_assert_cmpuint(index, <, PERFMON_MAX_FIXED);
    pmu_event_select_fixed(&selection, index);
    g_assert_cmpstr(selection.name, ==, name_in_table(core, listed->name));
}

/*
 * The table has each event of Intel's list, by its name.  An event that counts
 * nothing has a note that says why.
 */
static void test_listed(gconstpointer opaque)
{
    PmuCore core = GPOINTER_TO_INT(opaque);

    for (unsigned i = 0; i < lists[core].num_events; i++) {
        const Listed *listed = &lists[core].events[i];
        PmuSelection selection;

        if (!listed->counters) {
            check_fixed(core, listed);
            continue;
        }
        selection = select_listed(core, listed,
                                  first_counter(listed->counters));
        g_assert_cmpstr(selection.name, ==, name_in_table(core, listed->name));
        g_assert_cmpint(selection.state, !=, PMU_EVENT_UNKNOWN);
        g_assert_true(pmu_selection_counts(&selection) ||
                      selection.note);
    }
}

/* The lists are complete: their sizes are those of Intel's files. */
static void test_list_sizes(void)
{
    g_assert_cmpuint(lists[PMU_CORE_ICELAKE].num_events, ==, 363);
    g_assert_cmpuint(lists[PMU_CORE_SAPPHIRERAPIDS].num_events, ==, 411);
}

/*
 * A counter that cannot count an event stands still; all others count alike.
 * The list says which can.
 */
static void test_counters(gconstpointer opaque)
{
    PmuCore core = GPOINTER_TO_INT(opaque);

    for (unsigned i = 0; i < lists[core].num_events; i++) {
        const Listed *listed = &lists[core].events[i];
        PmuSelection want;

        if (!listed->counters || listed->msr == 0x1a6) {
            continue;           /* the latter needs another code as well */
        }
        want = select_listed(core, listed, first_counter(listed->counters));
        for (unsigned n = 0; n < PERFMON_ARCH_GP; n++) {
            PmuSelection got = select_listed(core, listed, n);

            g_assert_cmpstr(got.name, ==, want.name);
            if (listed->counters >> n & 1) {
                g_assert_cmpint(got.state, ==, want.state);
                g_assert_cmpmem(got.term, got.num_terms,
                                want.term, want.num_terms);
            } else {
                g_assert_cmpint(got.state, ==, PMU_EVENT_NOT_MODELLED);
                g_assert_false(pmu_selection_counts(&got));
            }
        }
    }
}

/* Is @name in Intel's list for @core? */
static bool is_listed(PmuCore core, const char *name)
{
    for (unsigned i = 0; i < lists[core].num_events; i++) {
        if (g_str_equal(lists[core].events[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* Rows that no list of Intel's has, but tools that know more events. */
static bool is_unlisted(const char *name)
{
    static const char *const names[] = {
        "OCR", "IDQ.MS_CYCLES_ANY", "EXE_ACTIVITY.EXE_BOUND_0_PORTS",
        "DSB2MITE_SWITCHES.COUNT", "ICACHE_DATA.STALL_PERIODS",
        "OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DEMAND_DATA_RD",
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        if (g_str_equal(names[i], name)) {
            return true;
        }
    }
    return false;
}

/*
 * The table has no event that is not in Intel's lists, but for is_unlisted().
 */
static void test_only_listed(void)
{
    const PmuOffcoreName *offcore;
    const PmuEventAlias *alias;
    const PmuEvent *event;

    for (PmuCore core = 0; core < G_N_ELEMENTS(lists); core++) {
        for (unsigned i = 0; (event = pmu_event_row(i)); i++) {
            g_assert_true(!event->on[core].counters ||
                          is_listed(core, event->name) ||
                          is_unlisted(event->name));
        }
        for (unsigned i = 0; (alias = pmu_event_alias(i)); i++) {
            g_assert_true(!(alias->cores >> core & 1) ||
                          is_listed(core, alias->name));
        }
        for (unsigned i = 0; (offcore = pmu_offcore_name(i)); i++) {
            g_assert_true(!offcore->value[core] ||
                          is_listed(core, offcore->name));
        }
    }
}

/* Does an event in @state count zero, and say so? */
static bool says_zero(PmuEventState state)
{
    return state == PMU_EVENT_NEVER || state > PMU_EVENT_APPROXIMATE;
}

/*
 * A selection counts something, or says that it does not: for each event on
 * each core, with all kinds of modifiers.
 */
static void test_zeros_are_declared(gconstpointer opaque)
{
    static const uint32_t modifiers[] = {
        0, EDGE, CMASK(1), CMASK(1) | INV, CMASK(1) | EDGE,
        CMASK(1) | EDGE | INV, CMASK(2), CMASK(2) | INV, CMASK(7),
        CMASK(9), CMASK(9) | INV, CMASK(255),
    };
    PmuCore core = GPOINTER_TO_INT(opaque);
    const PmuEvent *row;

    for (unsigned i = 0; (row = pmu_event_row(i)); i++) {
        const PmuEventPlace *place = &row->on[core];
        uint32_t select = place->umask << 8 | place->code | place->modifiers;

        for (unsigned j = 0; place->counters && j < G_N_ELEMENTS(modifiers);
             j++) {
            uint64_t extra[PMU_EXTRA_NR] = { 0 };
            PmuSelection got;

            extra[row->extra] = row->extra_value;
            pmu_event_select(&got, core, g_bit_nth_lsf(place->counters, -1),
                             select | modifiers[j], extra);
            if (pmu_selection_counts(&got) == says_zero(got.state)) {
                g_error("%s: %s, 0x%x is %s", core_name[core], row->name,
                        select | modifiers[j],
                        pmu_event_state_name(got.state));
            }
            g_assert_true(got.note || got.state <= PMU_EVENT_MODELLED ||
                          got.state == PMU_EVENT_UNKNOWN);
        }
    }
}

/*
 * Events that never happen, as the CPU lacks the feature and says so by CPUID:
 * pmu-msr-test.c looks there.  Other sockets and persistent memory, which a
 * machine may have, can happen and are not among them.
 */
static bool may_be_never(const char *name)
{
    static const char *const begins[] = {
        "TX_MEM.", "TX_EXEC.", "RTM_RETIRED.",          /* RTM */
        "FP_ARITH_INST_RETIRED.512B_PACKED_",           /* AVX512F */
        "FP_ARITH_INST_RETIRED2.",                      /* AVX512_FP16 */
        "INT_VEC_RETIRED.VNNI_",                        /* AVX_VNNI */
        "EXE.AMX_BUSY",                                 /* AMX_TILE */
        "CPU_CLK_UNHALTED.C01", "CPU_CLK_UNHALTED.C02", /* WAITPKG */
        "INT_MISC.MBA_STALLS",                          /* RDT_A */
        "MISC_RETIRED.LBR_INSERTS",     /* IA32_PERF_CAPABILITIES[5:0] */
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(begins); i++) {
        if (g_str_has_prefix(name, begins[i])) {
            return true;
        }
    }
    return false;
}

/* Only the events of features that the CPU lacks are marked as never. */
static void test_never(void)
{
    const PmuEvent *row;

    for (unsigned i = 0; (row = pmu_event_row(i)); i++) {
        if ((row->state == PMU_EVENT_NEVER) != may_be_never(row->name)) {
            g_error("%s is %s", row->name, pmu_event_state_name(row->state));
        }
    }
}

/* The fields of each row are in range and agree with each other. */
static void test_rows(void)
{
    const PmuEvent *row;

    for (unsigned i = 0; (row = pmu_event_row(i)); i++) {
        g_assert_nonnull(row->name);
        g_assert_cmpuint(row->num_terms, <=, PMU_EVENT_TERMS);
        for (int j = 0; j < row->num_terms; j++) {
            g_assert_cmpuint(row->term[j], <, PMU_ITEM_NR);
        }
        g_assert_cmpuint(row->first_bin + row->num_bins, <=, PMU_ITEM_NR);
        if (says_zero(row->state)) {
            g_assert_cmpuint(row->num_terms, ==, 0);
            g_assert_cmpuint(row->minuend, ==, 0);
            g_assert_nonnull(row->note);
        } else if (row->unit != PMU_EVENT_AS_PLAIN &&
                   !g_str_equal(row->name, "OCR")) {
            g_assert_cmpuint(row->num_terms, >, 0);
        }
        if (row->state >= PMU_EVENT_APPROXIMATE) {
            g_assert_nonnull(row->note);
        }
    }
    g_assert_null(pmu_event_row(UINT_MAX));
}

/* No two rows have the same selector. */
static void test_rows_differ(gconstpointer opaque)
{
    PmuCore core = GPOINTER_TO_INT(opaque);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal,
                                                       g_free, NULL);
    const PmuEvent *row;

    for (unsigned i = 0; (row = pmu_event_row(i)); i++) {
        const PmuEventPlace *place = &row->on[core];

        if (place->counters) {
            g_assert_true(g_hash_table_add(seen, g_strdup_printf(
                "%x %x %x %x %x", place->code, place->umask, place->modifiers,
                row->extra, row->extra_value)));
        }
    }
}

/* What single selectors count. */

/* Returns a snapshot in which each item has a value of its own. */
static PmuLedgerSnapshot numbered_snapshot(void)
{
    PmuLedgerSnapshot snap;

    for (int i = 0; i < PMU_ITEM_NR; i++) {
        snap.item[PMU_LEVEL_OS][i] = 1000000 - i * i;
        snap.item[PMU_LEVEL_USR][i] = 2000000 - i * i;
    }
    return snap;
}

typedef struct Meaning {
    uint32_t icelake, sapphirerapids;   /* 0: that core has none */
    int8_t sign;                        /* of all items but the first */
    uint8_t item[6];                    /* PmuLedgerItem; 0 ends */
} Meaning;

#define ALL_MISSES \
    PMU_ITEM_MISSES_COND_NTAKEN, PMU_ITEM_MISSES_COND_TAKEN, \
    PMU_ITEM_MISSES_JMP_INDIRECT, PMU_ITEM_MISSES_CALL_INDIRECT, \
    PMU_ITEM_MISSES_RET

static const Meaning meanings[] = {
    /* The eight architectural ones, SDM vol. 3B, table 20-1 */
    { 0x003c, 0x003c, 1, { PMU_ITEM_CYCLES } },
    { 0x013c, 0, 1, { PMU_ITEM_REF_XCLK } },
    { 0, 0x013c, 1, { PMU_ITEM_REF_TSC } },
    { 0x00c0, 0x00c0, 1, { PMU_ITEM_INSTRUCTIONS } },
    { 0x00c4, 0x00c4, 1, { PMU_ITEM_BRANCHES } },
    { 0x00c5, 0x00c5, 1, { ALL_MISSES } },
    { 0x01a4, 0x01a4, 1, { PMU_ITEM_SLOTS } },
    /* Others */
    { 0x11c4, 0x11c4, 1,
      { PMU_ITEM_BRANCHES_COND_TAKEN, PMU_ITEM_BRANCHES_COND_NTAKEN } },
    { 0x02c4, 0x02c4, 1,
      { PMU_ITEM_BRANCHES_CALL, PMU_ITEM_BRANCHES_CALL_INDIRECT } },
    { 0x80c5, 0x80c5, 1,
      { PMU_ITEM_MISSES_JMP_INDIRECT, PMU_ITEM_MISSES_CALL_INDIRECT } },
    { 0x010e, 0x01ae, 1, { PMU_ITEM_UOPS_ISSUED } },
    { 0x010d, 0x01ad, 1, { PMU_ITEM_RECOVERY_CYCLES } },
    { 0x010d | EDGE | CMASK(1), 0x01ad | EDGE | CMASK(1), 1,
      { PMU_ITEM_CLEARS } },
    { 0x010d | EDGE, 0x01ad | EDGE, 1, { PMU_ITEM_CLEARS } },
    { 0x04c3, 0x04c3, 1, { PMU_ITEM_CLEARS_SMC } },
    { 0x02c3, 0x02c3, 1, { PMU_ITEM_CLEARS_ORDERING } },
    { 0x01c3 | EDGE | CMASK(1), 0x01c3 | EDGE | CMASK(1), 1,
      { PMU_ITEM_CLEARS_SMC, PMU_ITEM_CLEARS_ORDERING,
        PMU_ITEM_ASSISTS_FP } },
    { 0x02c1, 0x02c1, 1, { PMU_ITEM_ASSISTS_FP } },
    { 0, 0x10a4, 1, { PMU_SLOT_MEMORY_BOUND } },
    { 0, 0x08a4, 1, { PMU_SLOT_BR_MISPREDICT } },
    { 0x04a3 | CMASK(4), 0x04a3 | CMASK(4), 1, { PMU_ITEM_EXECUTED_0 } },
    { 0x06a3 | CMASK(6), 0x06a3 | CMASK(6), 1, { PMU_ITEM_STALL_DRAM } },
    { 0, 0x0947 | CMASK(9), 1, { PMU_ITEM_STALL_DRAM } },
    { 0x02a6, 0x02a6, 1, { PMU_ITEM_EXECUTED_0 + 1 } },
    { 0, 0x0ca6, 1, { PMU_ITEM_EXECUTED_0 + 2, PMU_ITEM_EXECUTED_0 + 3 } },
    { 0x3079 | EDGE | CMASK(1), 0x2079 | EDGE | CMASK(1), 1,
      { PMU_ITEM_MS_SWITCHES } },
    { 0x02d1, 0x02d1, 1, { PMU_ITEM_LOADS_L2 } },
    { 0x01d1, 0x01d1, -1, { PMU_ITEM_LOADS_L1, PMU_ITEM_FB_HITS } },
    { 0x10d1, 0x10d1, 1, { PMU_ITEM_LOADS_L3, PMU_ITEM_LOADS_DRAM } },
    { 0xc224, 0xc224, 1, { PMU_ITEM_RFO_L2 } },
    { 0x2224, 0x2224, 1, { PMU_ITEM_RFO_L3, PMU_ITEM_RFO_DRAM } },
    { 0xe424, 0xe424, 1,
      { PMU_ITEM_CODE_L2, PMU_ITEM_CODE_L3, PMU_ITEM_CODE_DRAM } },
    { 0x0208, 0x0212, 1, { PMU_ITEM_DTLB_LOAD_WALKS_4K } },
    { 0x0408, 0x0412, 1, { PMU_ITEM_DTLB_LOAD_WALKS_2M } },
    { 0x0849, 0x0813, 1, { PMU_ITEM_DTLB_STORE_WALKS_1G } },
    { 0x0e08, 0x0e12, 1,
      { PMU_ITEM_DTLB_LOAD_WALKS_4K, PMU_ITEM_DTLB_LOAD_WALKS_2M,
        PMU_ITEM_DTLB_LOAD_WALKS_1G } },
    { 0x0e85, 0x0e11, 1, { PMU_ITEM_ITLB_WALKS_4K, PMU_ITEM_ITLB_WALKS_2M } },
    { 0x18c7, 0x18c7, 1, { PMU_ITEM_FP_128_SINGLE, PMU_ITEM_FP_256_DOUBLE } },
    { 0x01b1, 0x01b1, 1, { PMU_ITEM_UOPS_EXECUTED } },
    { 0x20cc, 0x20cc, 1, { 0 } },       /* never */
};

static void check_meaning(PmuCore core, uint32_t select, const Meaning *want)
{
    PmuLedgerSnapshot snap = numbered_snapshot();
    uint64_t sum = 0;

    if (!select) {
        return;
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(want->item) && want->item[i]; i++) {
        sum += (i ? want->sign : 1) * snap.item[PMU_LEVEL_USR][want->item[i]];
    }
    if (count(core, select, &snap, PMU_LEVEL_USR) != sum) {
        g_error("%s: 0x%x counts something else", core_name[core], select);
    }
}

/* Selectors count the items listed for them, with the given sign. */
static void test_meanings(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(meanings); i++) {
        check_meaning(PMU_CORE_ICELAKE, meanings[i].icelake, &meanings[i]);
        check_meaning(PMU_CORE_SAPPHIRERAPIDS, meanings[i].sapphirerapids,
                      &meanings[i]);
    }
}

/* Selectors that no row has count nothing. */
static void test_unknown(void)
{
    static const uint32_t selectors[] = {
        0x0000, 0x0300, 0x20c0, 0x00a4, 0xffff, 0x04a3, 0x04a3 | CMASK(5),
        0x02c3 | EDGE | INV | CMASK(3), 0xff3c,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(selectors); i++) {
        PmuSelection got = select_event(PMU_CORE_ICELAKE, selectors[i]);

        g_assert_cmpint(got.state, >=, PMU_EVENT_NOT_MODELLED);
        g_assert_false(pmu_selection_counts(&got));
    }
    g_assert_null(select_event(PMU_CORE_ICELAKE, 0xffff).name);
}

/* The enable, level, interrupt and pin control bits do not change the event. */
static void test_other_bits_do_not_select(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(meanings); i++) {
        uint64_t select = meanings[i].icelake;
        PmuSelection want = select_event(PMU_CORE_ICELAKE, select);
        PmuSelection got = select_event(PMU_CORE_ICELAKE, select | 0x7b0000);

        g_assert_cmpmem(&got, sizeof(got), &want, sizeof(want));
    }
}

/* INV without CMASK inverts nothing. */
static void test_inv_alone(void)
{
    static const uint32_t plain[] = { 0x003c, 0x019c, 0x02c2, 0x00c0, 0x20cc };

    for (unsigned i = 0; i < G_N_ELEMENTS(plain); i++) {
        PmuSelection want = select_event(PMU_CORE_ICELAKE, plain[i]);
        PmuSelection got = select_event(PMU_CORE_ICELAKE, plain[i] | INV);

        g_assert_cmpmem(&got, sizeof(got), &want, sizeof(want));
    }
}

/* CMASK, INV and EDGE. */

/* An event for which the ledger has cycles by how many were counted in each. */
typedef struct Family {
    uint32_t icelake, sapphirerapids;
    uint8_t total[2];           /* PmuLedgerItem */
    uint8_t first;              /* cycles with @least; then one more each */
    unsigned least, most;
} Family;

static const Family families[] = {
    { 0x010e, 0x01ae, { PMU_ITEM_UOPS_ISSUED }, PMU_ITEM_ISSUED_0, 0, 6 },
    { 0x019c, 0x019c, { PMU_SLOT_FETCH_LATENCY, PMU_SLOT_FETCH_BANDWIDTH },
      PMU_ITEM_UNDELIVERED_0, 0, 6 },
    { 0x01b1, 0x01b1, { PMU_ITEM_UOPS_EXECUTED }, PMU_ITEM_EXECUTED_0, 0, 8 },
    { 0x02c2, 0x02c2, { PMU_SLOT_LIGHT_OPS, PMU_SLOT_HEAVY_OPS },
      PMU_ITEM_RETIRED_0, 0, 8 },
    { 0x0879, 0x0879, { PMU_ITEM_DSB_UOPS }, PMU_ITEM_DSB_1, 1, 6 },
    { 0x0479, 0x0479, { PMU_ITEM_MITE_UOPS }, PMU_ITEM_MITE_1, 1, 6 },
    { 0x0860, 0x0820, { PMU_ITEM_OFFCORE_DATA, PMU_ITEM_OFFCORE_PREFETCH },
      PMU_ITEM_OFFCORE_READS_1, 1, 6 },
};

/*
 * Run cycles one by one; each counts a random number from 0 to @family->most.
 */
static void run_cycles(Random *random, const Family *family,
                       uint8_t *in_cycle, unsigned num_cycles,
                       uint64_t *item)
{
    memset(item, 0, PMU_ITEM_NR * sizeof(*item));
    for (unsigned i = 0; i < num_cycles; i++) {
        unsigned n = random_below(random, family->most + 1);

        in_cycle[i] = n;
        item[PMU_ITEM_CYCLES]++;
        item[family->total[random_below(random, family->total[1] ? 2 : 1)]] +=
            n;
        if (n >= family->least) {
            item[family->first + n - family->least]++;
        }
    }
}

static void check_family(Random *random, PmuCore core, uint32_t select,
                         const Family *family)
{
    uint8_t in_cycle[100];
    PmuLedgerSnapshot snap = { 0 };

    run_cycles(random, family, in_cycle, sizeof(in_cycle),
               snap.item[PMU_LEVEL_USR]);
    for (unsigned cmask = 0; cmask <= family->most + 2; cmask++) {
        bool known = cmask <= family->most;
        uint64_t sum = 0, with = 0;

        for (unsigned i = 0; i < sizeof(in_cycle); i++) {
            sum += in_cycle[i];
            with += in_cycle[i] >= cmask;
        }
        if (known) {
            g_assert_cmpuint(count(core, select | CMASK(cmask), &snap,
                                   PMU_LEVEL_USR), ==, cmask ? with : sum);
        }
        g_assert_cmpuint(count(core, select | CMASK(cmask) | INV, &snap,
                               PMU_LEVEL_USR), ==,
                         cmask ? sizeof(in_cycle) - with : sum);
        g_assert_cmpint(select_event(core, select | CMASK(cmask)).state, ==,
                        known ? PMU_EVENT_MODELLED : PMU_EVENT_NOT_MODELLED);
        g_assert_cmpint(select_event(core, select | CMASK(cmask) | INV).state,
                        <=, known ? PMU_EVENT_MODELLED
                                  : PMU_EVENT_APPROXIMATE);
    }
}

/*
 * CMASK and INV are exact where the ledger has cycles by count: the test counts
 * the same cycles one by one.
 */
static void test_thresholds(void)
{
    Random random = random_from_seed();

    for (unsigned i = 0; i < G_N_ELEMENTS(families); i++) {
        check_family(&random, PMU_CORE_ICELAKE, families[i].icelake,
                     &families[i]);
        check_family(&random, PMU_CORE_SAPPHIRERAPIDS,
                     families[i].sapphirerapids, &families[i]);
    }
}

/*
 * An event of at most one a cycle: a threshold of 1 changes nothing, and none
 * reaches 2.  30 of 100 cycles count.
 */
static void test_thresholds_of_cycles(void)
{
    PmuLedgerSnapshot snap = { 0 };
    uint64_t *item = snap.item[PMU_LEVEL_OS];
    const struct {
        uint32_t modifiers;
        uint64_t want;
    } cases[] = {
        { 0, 30 }, { CMASK(1), 30 }, { CMASK(1) | INV, 70 }, { CMASK(2), 0 },
        { CMASK(2) | INV, 100 }, { CMASK(255) | INV, 100 },
    };

    item[PMU_ITEM_CYCLES] = 100;
    item[PMU_ITEM_NO_STORE_BUFFER] = 30;
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        uint32_t select = 0x08a2 | cases[i].modifiers;

        g_assert_cmpuint(count(PMU_CORE_ICELAKE, select, &snap, PMU_LEVEL_OS),
                         ==, cases[i].want);
        g_assert_cmpint(select_event(PMU_CORE_ICELAKE, select).state, ==,
                        cases[i].want ? PMU_EVENT_MODELLED : PMU_EVENT_NEVER);
    }
}

/*
 * Other events: each occurrence is taken to be in a cycle of its own, up to the
 * cycles there are.
 */
static void test_thresholds_of_others(void)
{
    static const struct {
        uint32_t modifiers;
        uint64_t occurrences, want;
    } cases[] = {
        { 0, 30, 30 }, { CMASK(1), 30, 30 }, { CMASK(1), 300, 100 },
        { CMASK(2) | INV, 300, 100 }, { CMASK(1) | EDGE, 30, 30 },
        { EDGE, 30, 30 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        uint32_t select = 0x00c4 | cases[i].modifiers;
        PmuLedgerSnapshot snap = { 0 };

        snap.item[PMU_LEVEL_OS][PMU_ITEM_CYCLES] = 100;
        snap.item[PMU_LEVEL_OS][PMU_ITEM_BRANCHES] = cases[i].occurrences;
        g_assert_cmpuint(count(PMU_CORE_ICELAKE, select, &snap, PMU_LEVEL_OS),
                         ==, cases[i].want);
        g_assert_cmpint(select_event(PMU_CORE_ICELAKE, select).state, ==,
                        cases[i].modifiers ? PMU_EVENT_APPROXIMATE
                                           : PMU_EVENT_EXACT);
    }
}

/* The table does not invent edges that the ledger does not count. */
static void test_edges(void)
{
    static const uint32_t not_known[] = {
        0x003c | EDGE | CMASK(1), 0x019c | EDGE | CMASK(2),
        0x00c4 | EDGE | CMASK(2), 0x00c4 | EDGE | INV | CMASK(1),
        0x08a2 | EDGE,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(not_known); i++) {
        PmuSelection got = select_event(PMU_CORE_ICELAKE, not_known[i]);

        g_assert_cmpint(got.state, ==, PMU_EVENT_NOT_MODELLED);
        g_assert_false(pmu_selection_counts(&got));
        g_assert_nonnull(got.note);
    }
}

/*
 * Umasks that no row has are sums of rows, if the bits of the umask are kinds.
 */
static void test_sums_of_umasks(void)
{
    PmuLedgerSnapshot snap = numbered_snapshot();
    const uint64_t *item = snap.item[PMU_LEVEL_USR];

    g_assert_cmpuint(count(PMU_CORE_ICELAKE, 0x48c4, &snap, PMU_LEVEL_USR),
                     ==, item[PMU_ITEM_BRANCHES_RET] +
                     item[PMU_ITEM_BRANCHES_FAR] + item[PMU_ITEM_INTERRUPTS] +
                     item[PMU_ITEM_EXCEPTIONS]);
    g_assert_cmpuint(count(PMU_CORE_SAPPHIRERAPIDS, 0x43b2, &snap,
                           PMU_LEVEL_USR), ==, item[PMU_ITEM_PORT_0] +
                     item[PMU_ITEM_PORT_1] + item[PMU_ITEM_PORT_6]);
    g_assert_cmpint(select_event(PMU_CORE_ICELAKE, 0x48c4).state, ==,
                    PMU_EVENT_APPROXIMATE);
    /* An instruction that is of two kinds counts once. */
    g_assert_cmpuint(count(PMU_CORE_ICELAKE, 0x21c4, &snap, PMU_LEVEL_USR),
                     ==, count(PMU_CORE_ICELAKE, 0x20c4, &snap,
                               PMU_LEVEL_USR));
    g_assert_cmpuint(count(PMU_CORE_ICELAKE, 0x0ad1, &snap, PMU_LEVEL_USR),
                     ==, count(PMU_CORE_ICELAKE, 0x08d1, &snap,
                               PMU_LEVEL_USR));
    /* Bit 04 is no kind of branch on this core. */
    g_assert_cmpint(select_event(PMU_CORE_ICELAKE, 0x0cc4).state, ==,
                    PMU_EVENT_UNKNOWN);
    /* Bits of A3 are conditions, not kinds. */
    g_assert_cmpint(select_event(PMU_CORE_ICELAKE, 0x03a2).state, ==,
                    PMU_EVENT_UNKNOWN);
}

/* The table does not invent thresholds that the ledger does not count. */
static void test_unknown_thresholds(void)
{
    static const uint32_t not_known[] = {
        0x00c4 | CMASK(2), 0x00c4 | CMASK(1) | INV,
        0x01d1 | CMASK(1), 0x01d1 | CMASK(1) | INV,     /* a difference */
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(not_known); i++) {
        PmuSelection got = select_event(PMU_CORE_ICELAKE, not_known[i]);

        g_assert_cmpint(got.state, ==, PMU_EVENT_NOT_MODELLED);
        g_assert_false(pmu_selection_counts(&got));
        g_assert_nonnull(got.note);
    }
}

/* Counts do not depend on how often the registers are read. */

#define INSTANTS 1000
#define LOOKERS 4

/* A ledger at successive instants. */
typedef struct History {
    PmuLedgerSnapshot at[INSTANTS + 1];
} History;

/*
 * Returns a random history of what @selection counts.  With @parts no cycle has
 * more than one of the items that @minuend has as parts, so that these never
 * overtake it.  Otherwise all items grow in bursts and pauses, each by itself.
 */
static History *random_history(Random *random, const PmuSelection *selection,
                               bool parts)
{
    History *history = g_new0(History, 1);

    for (unsigned i = 0; i < INSTANTS; i++) {
        history->at[i + 1] = history->at[i];
        for (int level = 0; level < PMU_LEVEL_NR; level++) {
            uint64_t *item = history->at[i + 1].item[level];
            uint64_t grown = 0;

            for (unsigned j = 0; j < selection->num_terms; j++) {
                uint64_t n = random_below(random, 4)
                             ? 0 : random_below(random, 1000);

                item[selection->term[j]] += n;
                grown += n;
            }
            grown = parts ? grown : 0;
            if (selection->minuend) {
                item[selection->minuend] += grown + random_below(random, 500);
            } else {
                item[PMU_ITEM_CYCLES] += grown + random_below(random, 500);
            }
        }
    }
    return history;
}

/* Returns the count after about @looks reads and one at the end. */
static uint64_t look(Random *random, const PmuSelection *selection,
                     const History *history, unsigned looks)
{
    const unsigned levels = 1u << PMU_LEVEL_OS | 1u << PMU_LEVEL_USR;
    int64_t remainder = 0;
    uint64_t sum = 0;
    unsigned last = 0;

    for (unsigned i = 1; i <= INSTANTS; i++) {
        if (i == INSTANTS || random_below(random, INSTANTS) < looks) {
            uint64_t gained = pmu_selection_gain(selection, &history->at[last],
                                                 &history->at[i], levels,
                                                 &remainder);

            g_assert_cmpuint(gained, <, 1ull << 40);    /* it never falls */
            sum += gained;
            last = i;
        }
    }
    return sum;
}

static uint64_t both_levels(const PmuLedgerSnapshot *snap, unsigned item)
{
    return snap->item[PMU_LEVEL_OS][item] + snap->item[PMU_LEVEL_USR][item];
}

/* Returns the whole less its parts at instant @i. */
static int64_t difference(const PmuSelection *selection,
                          const History *history, unsigned i)
{
    int64_t rest = both_levels(&history->at[i], selection->minuend);

    for (unsigned j = 0; j < selection->num_terms; j++) {
        rest -= both_levels(&history->at[i], selection->term[j]);
    }
    return rest;
}

/* Returns by how much the difference has fallen from its highest to the end. */
static uint64_t fallen(const PmuSelection *selection, const History *history)
{
    int64_t most = 0;

    for (unsigned i = 0; i <= INSTANTS; i++) {
        most = MAX(most, difference(selection, history, i));
    }
    return most - difference(selection, history, INSTANTS);
}

static void check_additive(Random *random, const PmuSelection *selection,
                           bool parts)
{
    static const unsigned looks[LOOKERS] = { 0, 10, 100, INSTANTS };
    g_autofree History *history = random_history(random, selection, parts);
    uint64_t want = look(random, selection, history, 0);
    uint64_t slip = selection->minuend ? fallen(selection, history) : 0;

    g_assert_true(!parts || !slip);
    for (unsigned i = 0; i < LOOKERS; i++) {
        uint64_t got = look(random, selection, history, looks[i]);

        if (got < want || got > want + slip) {
            g_error("%s: %" G_GUINT64_FORMAT " if read %u times, %"
                    G_GUINT64_FORMAT " if read once, of which %"
                    G_GUINT64_FORMAT " may be more", selection->name, got,
                    looks[i], want, slip);
        }
    }
}

/*
 * The count of each event with all modifiers is the same however often it is
 * read.  One exception: a difference may read higher while it falls, as a
 * counter must not decrease, but by no more than it has fallen.  It does not
 * fall where parts are counted along with the whole.
 */
static void test_additive(gconstpointer opaque)
{
    static const uint32_t modifiers[] = {
        0, CMASK(1), CMASK(1) | INV, CMASK(2), CMASK(2) | INV, EDGE,
    };
    PmuCore core = GPOINTER_TO_INT(opaque);
    Random random = random_from_seed();

    for (unsigned i = 0; i < lists[core].num_events; i++) {
        Listed listed = lists[core].events[i];

        if (!listed.counters) {
            continue;
        }
        for (unsigned j = 0; j < G_N_ELEMENTS(modifiers); j++) {
            PmuSelection selection;

            listed.select = lists[core].events[i].select | modifiers[j];
            selection = select_listed(core, &listed,
                                      first_counter(listed.counters));
            g_assert_false(selection.capped && selection.minuend);
            if (selection.capped || selection.minuend) {
                check_additive(&random, &selection, true);
                check_additive(&random, &selection, false);
            }
        }
    }
}

/*
 * A count of cycles is capped at the cycles since it began; the rest is kept.
 */
static void test_capped(void)
{
    PmuSelection hits = select_event(PMU_CORE_ICELAKE, 0x2008 | CMASK(1));
    PmuLedgerSnapshot at[3] = {};
    PmuLevel level = PMU_LEVEL_USR;
    int64_t remainder = 0;

    at[1].item[level][PMU_ITEM_CYCLES] = 1000;
    at[1].item[level][PMU_ITEM_DTLB_LOAD_STLB] = 5000;
    at[2] = at[1];
    at[2].item[level][PMU_ITEM_CYCLES] += 1000;
    g_assert_cmpuint(pmu_selection_gain(&hits, &at[0], &at[1], 1u << level,
                                        &remainder), ==, 1000);
    g_assert_cmpint(remainder, ==, 4000);
    g_assert_cmpuint(gain(&hits, &at[1], &at[2], level), ==, 0);
}

/* If the parts are counted before the whole, later counts make up for it. */
static void test_taken_away(void)
{
    PmuSelection hits = select_event(PMU_CORE_ICELAKE, 0x01d1);
    PmuLedgerSnapshot at[3] = {};
    PmuLevel level = PMU_LEVEL_USR;
    int64_t remainder = 0;

    at[1].item[level][PMU_ITEM_LOADS_L1] = 10;
    at[1].item[level][PMU_ITEM_FB_HITS] = 30;
    at[2] = at[1];
    at[2].item[level][PMU_ITEM_LOADS_L1] += 100;
    g_assert_cmpuint(pmu_selection_gain(&hits, &at[0], &at[1], 1u << level,
                                        &remainder), ==, 0);
    g_assert_cmpuint(pmu_selection_gain(&hits, &at[1], &at[2], 1u << level,
                                        &remainder), ==, 80);
    g_assert_cmpuint(gain(&hits, &at[0], &at[2], level), ==, 80);
}

/* Requests to the L3. */

static uint64_t count_offcore(unsigned n, uint64_t evtsel, uint64_t value,
                              const PmuLedgerSnapshot *snap,
                              PmuEventState want)
{
    uint64_t extra[PMU_EXTRA_NR] = { 0 };
    PmuSelection selection;

    extra[n ? PMU_EXTRA_OFFCORE_1 : PMU_EXTRA_OFFCORE_0] = value;
    pmu_event_select(&selection, PMU_CORE_ICELAKE, 0, evtsel, extra);
    g_assert_cmpint(selection.state, ==, want);
    return gain(&selection, &nothing, snap, PMU_LEVEL_OS);
}

/*
 * Each value of MSR_OFFCORE_RSP_x counts its types of requests and responses,
 * as in Intel's lists.  What the model does not have is not counted.
 */
static void test_offcore(void)
{
    PmuLedgerSnapshot snap = numbered_snapshot();
    const uint64_t *item = snap.item[PMU_LEVEL_OS];
    uint64_t data = item[PMU_ITEM_DATA_L3] + item[PMU_ITEM_DATA_DRAM];
    uint64_t code = item[PMU_ITEM_CODE_L3] + item[PMU_ITEM_CODE_DRAM];
    const struct {
        uint64_t value;
        PmuEventState state;
        uint64_t want;
    } cases[] = {
        /* DEMAND_DATA_RD: ANY_RESPONSE, L3_HIT, L3_MISS, LOCAL_DRAM */
        { 0x10001, PMU_EVENT_MODELLED, data },
        { 0x3f803c0001, PMU_EVENT_MODELLED, item[PMU_ITEM_DATA_L3] },
        { 0x3fbfc00001, PMU_EVENT_MODELLED, item[PMU_ITEM_DATA_DRAM] },
        { 0x104000001, PMU_EVENT_MODELLED, item[PMU_ITEM_DATA_DRAM] },
        /* DEMAND_RFO: L3_MISS; DEMAND_CODE_RD: ANY_RESPONSE */
        { 0x3f3fc00002, PMU_EVENT_MODELLED, item[PMU_ITEM_RFO_DRAM] },
        /* ... of lines that no vCPU has; ITOM, which differs */
        { 0x1003c0002, PMU_EVENT_MODELLED, item[PMU_ITEM_RFO_L3_ALONE] },
        { 0x84000002, PMU_EVENT_NOT_MODELLED, 0 },
        { 0x10004, PMU_EVENT_MODELLED, code },
        /* Two types at a time */
        { 0x10005, PMU_EVENT_MODELLED, data + code },
        /* HWPF_L2, which the model has for data and code */
        { 0x10070, PMU_EVENT_APPROXIMATE,
          item[PMU_ITEM_PREFETCH_L3] + item[PMU_ITEM_PREFETCH_DRAM] +
          item[PMU_ITEM_CODE_PREFETCH_L3] +
          item[PMU_ITEM_CODE_PREFETCH_DRAM] },
        /* DEMAND_DATA_RD: SNOOP_HITM, SNOOP_HIT_WITH_FWD; NO_FWD: none */
        { 0x10003c0001, PMU_EVENT_MODELLED, item[PMU_ITEM_DATA_L3_MODIFIED] },
        { 0x8003c0001, PMU_EVENT_MODELLED, item[PMU_ITEM_DATA_L3_SHARED] },
        { 0x4003c0001, PMU_EVENT_NOT_MODELLED, 0 },
        /* DEMAND_RFO: SNOOP_HITM; DEMAND_CODE_RD: no vCPU writes code */
        { 0x10003c0002, PMU_EVENT_MODELLED, item[PMU_ITEM_RFO_L3_MODIFIED] },
        { 0x10003c0004, PMU_EVENT_NOT_MODELLED, 0 },
        /* Answers: another socket's; supplier or snoop alone */
        { 0x730000001, PMU_EVENT_NOT_MODELLED, 0 },
        { 0x3c0001, PMU_EVENT_NOT_MODELLED, 0 },
        { 0x3f80000001, PMU_EVENT_NOT_MODELLED, 0 },
        /* STREAMING_WR: ANY_RESPONSE, L3_HIT, L3_MISS_LOCAL */
        { 0x10800, PMU_EVENT_MODELLED,
          item[PMU_ITEM_STREAM_L3] + item[PMU_ITEM_STREAM_DRAM] },
        { 0x80080800, PMU_EVENT_MODELLED, item[PMU_ITEM_STREAM_L3] },
        { 0x84000800, PMU_EVENT_MODELLED, item[PMU_ITEM_STREAM_DRAM] },
        /* Types: OTHER, none */
        { 0x18000, PMU_EVENT_NOT_MODELLED, 0 },
        { 0x10000, PMU_EVENT_NOT_MODELLED, 0 },
        { 0, PMU_EVENT_NOT_MODELLED, 0 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_cmpuint(count_offcore(0, 0x01b7, cases[i].value, &snap,
                                       cases[i].state), ==, cases[i].want);
        g_assert_cmpuint(count_offcore(1, 0x01bb, cases[i].value, &snap,
                                       cases[i].state), ==, cases[i].want);
    }
    /* Each event has its own register. */
    count_offcore(1, 0x01b7, 0x10001, &snap, PMU_EVENT_NOT_MODELLED);
    count_offcore(0, 0x01bb, 0x10001, &snap, PMU_EVENT_NOT_MODELLED);
}

/* MSR_PEBS_FRONTEND selects what FRONTEND_RETIRED counts. */
static void test_frontend(void)
{
    PmuLedgerSnapshot snap = numbered_snapshot();
    const uint64_t *item = snap.item[PMU_LEVEL_OS];
    uint64_t extra[PMU_EXTRA_NR] = { [PMU_EXTRA_FRONTEND] = 0x12 };
    PmuSelection got;

    pmu_event_select(&got, PMU_CORE_ICELAKE, 0, 0x01c6, extra);
    g_assert_cmpuint(gain(&got, &nothing, &snap, PMU_LEVEL_OS), ==,
                     item[PMU_ITEM_CODE_L2] + item[PMU_ITEM_CODE_L3] +
                     item[PMU_ITEM_CODE_DRAM]);
    extra[PMU_EXTRA_FRONTEND] = 0x510006;       /* LATENCY_GE_256 */
    pmu_event_select(&got, PMU_CORE_ICELAKE, 0, 0x01c6, extra);
    g_assert_cmpuint(gain(&got, &nothing, &snap, PMU_LEVEL_OS), ==,
                     item[PMU_ITEM_BUBBLE_512] +
                     item[PMU_ITEM_BUBBLE_512 - 1]);
    extra[PMU_EXTRA_FRONTEND] = 0;
    pmu_event_select(&got, PMU_CORE_ICELAKE, 0, 0x01c6, extra);
    g_assert_cmpint(got.state, ==, PMU_EVENT_UNKNOWN);
}

/* Identities that hold for any ledger, at each level. */
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
            g_assert_cmpuint(slots, ==, count_fixed(3, &snap, level));
            g_assert_cmpuint(retiring + bad + frontend + backend, ==, slots);
            /* The other fixed counters and their counterparts */
            g_assert_cmpuint(count(core, 0x00c0, &snap, level), ==,
                             count_fixed(0, &snap, level));
            g_assert_cmpuint(count(core, 0x003c, &snap, level), ==,
                             count_fixed(1, &snap, level));
            g_assert_cmpuint(count(core, 0x02ec, &snap, level), ==,
                             count(core, 0x003c, &snap, level));
            g_assert_cmpuint(count_fixed(2, &snap, level), ==,
                             item[PMU_ITEM_REF_TSC]);
        }
    }
}

/*
 * Sapphire Rapids also counts the classes for which Ice Lake has no events;
 * they add up, too.
 */
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

/* The events of perf's metrics of TMA levels 1 to 4. */

typedef struct Metric {
    PmuCore core;
    unsigned level;
    uint32_t select;
    uint64_t frontend, offcore;
} Metric;

static const Metric metrics[] = {
#include "tma-events.h"
};

/* Events that metrics ask for, but that the model does not have. */
static bool may_be_zero(const Metric *metric)
{
    static const struct {
        uint32_t select;
        uint64_t offcore;
    } zero[] = {
        { 0x01b7, 0x103b800002 },       /* OCR: other sockets' caches */
        { 0x012d | CMASK(1) },          /* XQ.FULL_CYCLES */
        { 0x100d },                     /* INT_MISC.UOP_DROPPING */
        { 0x10ad },
        { 0x0803 },                     /* LD_BLOCKS.NO_SR */
        { 0x8803 },
        { 0x0448 },                     /* L1D_PEND_MISS.L2_STALL */
        { 0x01d2 },                     /* XSNP_MISS, XSNP_NO_FWD */
        { 0x02d2 },
        { 0x02d3 },                     /* other sockets */
        { 0x04d3 },
        { 0x08d3 },
        { 0x10d3 },                     /* persistent memory */
        { 0x80d1 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(zero); i++) {
        if (metric->select == zero[i].select &&
            metric->offcore == zero[i].offcore) {
            return true;
        }
    }
    return false;
}

/* The model has each event of TMA's metrics, but for may_be_zero(). */
static void test_tma(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(metrics); i++) {
        const Metric *metric = &metrics[i];
        const uint64_t extra[PMU_EXTRA_NR] = {
            [PMU_EXTRA_OFFCORE_0] = metric->offcore,
            [PMU_EXTRA_FRONTEND] = metric->frontend,
        };
        PmuSelection got;

        pmu_event_select(&got, metric->core, 0, metric->select, extra);
        if ((got.state > PMU_EVENT_APPROXIMATE) != may_be_zero(metric)) {
            g_error("%s: level %u: 0x%x is %s", core_name[metric->core],
                    metric->level, metric->select,
                    pmu_event_state_name(got.state));
        }
    }
}

/*
 * Each selector with modifiers of its own in perf's metrics, of Linux 6.1 and
 * 6.12, and the event that it is made from.
 */
static const struct {
    const char *name;           /* as metrics spell it */
    PmuCore core;
    uint32_t select, plain;
    uint64_t frontend;
} modified[] = {
#define C1      CMASK(1)
#define EDGES   (EDGE | CMASK(1))
#define ICX     PMU_CORE_ICELAKE
#define SPR     PMU_CORE_SAPPHIRERAPIDS
    { "DSB2MITE_SWITCHES.PENALTY_CYCLES,cmask=1,edge", ICX,
      0x02ab | EDGES, 0x02ab },
    { "DTLB_LOAD_MISSES.STLB_HIT,cmask=1", ICX, 0x2008 | C1, 0x2008 },
    { "DTLB_STORE_MISSES.STLB_HIT,cmask=1", ICX, 0x2049 | C1, 0x2049 },
    { "EXE_ACTIVITY.3_PORTS_UTIL,umask=0x80", ICX, 0x80a6, 0x80a6 },
    { "FP_ARITH_INST_RETIRED.SCALAR_SINGLE,umask=0x03", ICX, 0x03c7, 0x03c7 },
    { "FP_ARITH_INST_RETIRED.128B_PACKED_SINGLE,umask=0x18", ICX,
      0x18c7, 0x18c7 },
    { "FP_ARITH_INST_RETIRED.256B_PACKED_SINGLE,umask=0x60", ICX,
      0x60c7, 0x60c7 },
    { "FP_ARITH_INST_RETIRED.128B_PACKED_DOUBLE,umask=0xfc", ICX,
      0xfcc7, 0xfcc7 },
    { "ICACHE_16B.IFDATA_STALL,cmask=1,edge", ICX,
      0x0480 | EDGES, 0x0480 },
    { "IDQ.MITE_UOPS,cmask=4", ICX, 0x0479 | CMASK(4), 0x0479 },
    { "IDQ.MITE_UOPS,cmask=5", ICX, 0x0479 | CMASK(5), 0x0479 },
    { "INST_DECODED.DECODERS,cmask=1", ICX, 0x0155 | C1, 0x0155 },
    { "INST_DECODED.DECODERS,cmask=2", ICX, 0x0155 | CMASK(2), 0x0155 },
    { "INT_MISC.RECOVERY_CYCLES,cmask=1,edge", ICX,
      0x010d | EDGES, 0x010d },
    { "OFFCORE_REQUESTS_OUTSTANDING.ALL_DATA_RD,cmask=4", ICX,
      0x0860 | CMASK(4), 0x0860 },
    { "OFFCORE_REQUESTS_OUTSTANDING.DEMAND_DATA_RD,cmask=1", ICX,
      0x0160 | C1, 0x0160 },
    { "OFFCORE_REQUESTS_OUTSTANDING.DEMAND_DATA_RD,umask=0x10", ICX,
      0x1060, 0x1060 },
    { "SW_PREFETCH_ACCESS.T0,umask=0xF", ICX, 0x0f32, 0x0f32 },
    { "UOPS_DECODED.DEC0,cmask=1", ICX, 0x0156 | C1, 0x0156 },
    { "UOPS_EXECUTED.THREAD,cmask=1", ICX, 0x01b1 | C1, 0x01b1 },
    { "UOPS_ISSUED.ANY,cmask=1", ICX, 0x010e | C1, 0x010e },
    { "UOPS_RETIRED.SLOTS,cmask=1", ICX, 0x02c2 | C1, 0x02c2 },

    { "ASSISTS.ANY,umask=0x1B", SPR, 0x1bc1, 0x1bc1 },
    { "DSB2MITE_SWITCHES.PENALTY_CYCLES,cmask=1,edge", SPR,
      0x0261 | EDGES, 0x0261 },
    { "DTLB_LOAD_MISSES.STLB_HIT,cmask=1", SPR, 0x2012 | C1, 0x2012 },
    { "DTLB_STORE_MISSES.STLB_HIT,cmask=1", SPR, 0x2013 | C1, 0x2013 },
    { "EXE_ACTIVITY.2_PORTS_UTIL,umask=0xc", SPR, 0x0ca6, 0x0ca6 },
    { "EXE_ACTIVITY.3_PORTS_UTIL,umask=0x80", SPR, 0x80a6, 0x80a6 },
    { "ICACHE_DATA.STALLS,cmask=1,edge", SPR,
      0x0480 | EDGES, 0x0480 },
    { "INST_DECODED.DECODERS,cmask=1", SPR, 0x0175 | C1, 0x0175 },
    { "INST_DECODED.DECODERS,cmask=2", SPR, 0x0175 | CMASK(2), 0x0175 },
    { "INT_MISC.UNKNOWN_BRANCH_CYCLES,cmask=1,edge", SPR,
      0x40ad | EDGES, 0x40ad, 0x7 },
    { "OFFCORE_REQUESTS_OUTSTANDING.ALL_DATA_RD,cmask=4", SPR,
      0x0820 | CMASK(4), 0x0820 },
    { "OFFCORE_REQUESTS_OUTSTANDING.DEMAND_DATA_RD,cmask=1", SPR,
      0x0120 | C1, 0x0120 },
    { "RS.EMPTY,umask=1", SPR, 0x01a5, 0x01a5 },
    { "SW_PREFETCH_ACCESS.T0,umask=0xF", SPR, 0x0f40, 0x0f40 },
    { "UOPS_EXECUTED.THREAD,cmask=1", SPR, 0x01b1 | C1, 0x01b1 },
    { "UOPS_ISSUED.ANY,cmask=1", SPR, 0x01ae | C1, 0x01ae },
    { "UOPS_RETIRED.MS,cmask=1", SPR, 0x04c2 | C1, 0x04c2, 0x8 },
    { "UOPS_RETIRED.MS,cmask=1,edge", SPR, 0x04c2 | EDGES, 0x04c2, 0x8 },
    { "UOPS_RETIRED.SLOTS,cmask=1", SPR, 0x02c2 | C1, 0x02c2 },
#undef C1
#undef EDGES
#undef ICX
#undef SPR
};

/*
 * The model counts something for each of them, and something else than without
 * the modifiers. test-identities.c holds that it is no more.
 */
static void test_modified(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(modified); i++) {
        const uint64_t extra[PMU_EXTRA_NR] = {
            [PMU_EXTRA_FRONTEND] = modified[i].frontend,
        };
        PmuSelection got, plain;

        pmu_event_select(&got, modified[i].core, 0, modified[i].select, extra);
        pmu_event_select(&plain, modified[i].core, 0, modified[i].plain,
                         extra);
        if (got.state > PMU_EVENT_APPROXIMATE ||
            !pmu_selection_counts(&got) || !pmu_selection_counts(&plain)) {
            g_error("%s: %s is %s", core_name[modified[i].core],
                    modified[i].name, pmu_event_state_name(got.state));
        }
        if (modified[i].select != modified[i].plain) {
            g_assert_true(got.capped || got.num_terms != plain.num_terms ||
                          memcmp(got.term, plain.term, got.num_terms));
        }
    }
}

/* Older cores. */

/* The table has each event that Linux asks a core for by a generic name. */
static void test_linux_events(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(linux_cpus); i++) {
        const LinuxCpu *cpu = &linux_cpus[i];

        for (unsigned j = 0; cpu->events[j]; j++) {
            PmuSelection got = select_event(cpu->core, cpu->events[j]);

            g_test_message("%s: 0x%x: %s", cpu->name, cpu->events[j],
                           pmu_event_state_name(got.state));
            g_assert_cmpint(got.state, <=, PMU_EVENT_APPROXIMATE);
            g_assert_true(pmu_selection_counts(&got));
        }
    }
}

/* Does counter @index of @core count @select as Linux expects? */
static void check_constraint(PmuCore core, uint32_t select, unsigned index)
{
    PmuSelection got;
    bool can = true, limited = false;

    for (unsigned i = 0; i < G_N_ELEMENTS(linux_constraints); i++) {
        const LinuxConstraint *limit = &linux_constraints[i];
        uint8_t code = select;

        limited |= limit->core == core;
        if (limit->core == core && index >= limit->counters) {
            return;
        }
        if (limit->core == core && code >= limit->first &&
            code <= limit->last) {
            can = limit->mask >> index & 1;
        }
    }
    pmu_event_select(&got, core, index, select, no_extra);
    if (limited && pmu_selection_counts(&got) != can) {
        g_test_message("core %d: counter %u, 0x%x: expected %d", core, index,
                       select, can);
        g_test_fail();
    }
}

/* Counters that cannot count an event do not. */
static void test_linux_constraints(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(linux_cpus); i++) {
        const LinuxCpu *cpu = &linux_cpus[i];

        for (unsigned j = 0; cpu->events[j]; j++) {
            for (unsigned index = 0; index < 6; index++) {
                check_constraint(cpu->core, cpu->events[j], index);
            }
        }
    }
}

#define STLB_HITS   PMU_ITEM_DTLB_LOAD_STLB, PMU_ITEM_DTLB_STORE_STLB
#define L2_REFILLS  PMU_ITEM_DATA_L2, PMU_ITEM_L1D_PREFETCH_L2, PMU_ITEM_RFO_L2
#define SYSTEM_REFILLS                                                  \
    PMU_ITEM_DATA_L3, PMU_ITEM_L1D_PREFETCH_L3, PMU_ITEM_DATA_DRAM,     \
    PMU_ITEM_L1D_PREFETCH_DRAM, PMU_ITEM_RFO_L3, PMU_ITEM_RFO_DRAM

typedef struct OlderMeaning {
    PmuCore core;
    uint32_t select;
    PmuLedgerItem item[12];     /* that it counts; none: nothing */
} OlderMeaning;

static const OlderMeaning older_meanings[] = {
    { PMU_CORE_NEHALEM, 0x0f40, { PMU_ITEM_LOADS_L1, PMU_ITEM_LOADS_L2,
                                  PMU_ITEM_LOADS_L3, PMU_ITEM_LOADS_DRAM } },
    { PMU_CORE_NEHALEM, 0x0f41, { PMU_ITEM_STORES } },
    { PMU_CORE_SKYLAKE, 0x0608, { PMU_ITEM_DTLB_LOAD_WALKS_4K,
                                  PMU_ITEM_DTLB_LOAD_WALKS_2M } },
    { PMU_CORE_SKYLAKE, 0x0649, { PMU_ITEM_DTLB_STORE_WALKS_4K,
                                  PMU_ITEM_DTLB_STORE_WALKS_2M } },
    { PMU_CORE_K7, 0x1f42, { L2_REFILLS } },
    { PMU_CORE_K8, 0x0142, { SYSTEM_REFILLS } },
    { PMU_CORE_K8, 0x1e42, { L2_REFILLS } },
    { PMU_CORE_K8, 0x1f42, { L2_REFILLS, SYSTEM_REFILLS } },
    { PMU_CORE_K10, 0x0142, { SYSTEM_REFILLS } },
    { PMU_CORE_K10, 0x1e42, { L2_REFILLS } },
    { PMU_CORE_K10, 0x1f42, { L2_REFILLS, SYSTEM_REFILLS } },
    { PMU_CORE_BULLDOZER, 0x0142, { L2_REFILLS, SYSTEM_REFILLS } },
    { PMU_CORE_BULLDOZER, 0x1f42, { 0 } },
    { PMU_CORE_K7, 0x0045, { STLB_HITS } },
    { PMU_CORE_K8, 0x0045, { STLB_HITS } },
    { PMU_CORE_K10, 0x0045, { 0 } },
    { PMU_CORE_K10, 0x0345, { STLB_HITS } },
    { PMU_CORE_K10, 0x0745, { STLB_HITS } },
    { PMU_CORE_BULLDOZER, 0x0745, { STLB_HITS } },
};

/* Assert that @got is the sum of @item, which ends at a 0 or after @max. */
static void check_terms(const PmuSelection *got, const PmuLedgerItem *item,
                        unsigned max)
{
    unsigned num = 0;

    while (num < max && item[num]) {
        g_assert_nonnull(memchr(got->term, item[num++], got->num_terms));
    }
    g_assert_cmpuint(got->num_terms, ==, num);
}

/* Selectors of older cores count exactly the items listed for them. */
static void test_older_meanings(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(older_meanings); i++) {
        const OlderMeaning *m = &older_meanings[i];
        PmuSelection got = select_event(m->core, m->select);

        g_test_message("core %d: 0x%x", m->core, m->select);
        check_terms(&got, m->item, G_N_ELEMENTS(m->item));
    }
}

/* Kinds of branches of NetBurst overlap: a branch of two kinds counts once. */
static void test_netburst_branches(void)
{
    static const struct {
        unsigned event, mask;
        PmuLedgerItem item[8];
    } cases[] = {
        { 4, 0x04, { PMU_ITEM_BRANCHES_CALL,
                     PMU_ITEM_BRANCHES_CALL_INDIRECT } },
        { 4, 0x08, { PMU_ITEM_BRANCHES_RET } },
        { 4, 0x10, { PMU_ITEM_BRANCHES_RET, PMU_ITEM_BRANCHES_JMP_INDIRECT,
                     PMU_ITEM_BRANCHES_CALL_INDIRECT } },
        /* Linux's "branches" */
        { 4, 0x1e, { PMU_ITEM_BRANCHES_COND_NTAKEN,
                     PMU_ITEM_BRANCHES_COND_TAKEN, PMU_ITEM_BRANCHES_CALL,
                     PMU_ITEM_BRANCHES_CALL_INDIRECT, PMU_ITEM_BRANCHES_RET,
                     PMU_ITEM_BRANCHES_JMP_INDIRECT } },
        { 5, 0x04, { PMU_ITEM_MISSES_CALL_INDIRECT } },
        { 5, 0x10, { PMU_ITEM_MISSES_RET, PMU_ITEM_MISSES_JMP_INDIRECT,
                     PMU_ITEM_MISSES_CALL_INDIRECT } },
        { 5, 0x1e, { ALL_MISSES } },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        NetburstSelector s = {
            .group = NETBURST_MS, .escr_select = 2,
            .escr = cases[i].event << 25 | cases[i].mask << 9,
        };
        PmuSelection got;

        g_test_message("event %u, mask 0x%x", cases[i].event, cases[i].mask);
        pmu_event_select_netburst(&got, &s);
        check_terms(&got, cases[i].item, G_N_ELEMENTS(cases[i].item));
    }
}

/*
 * NetBurst's BRANCH_RETIRED counts by its mask.  Of 100 branches 40 are not
 * taken, 3 of them mispredicted; of the 60 taken ones 7 are mispredicted.
 */
static void test_netburst_directions(void)
{
    static const struct {
        unsigned mask, count;
    } cases[] = {
        { 0x1, 37 }, { 0x2, 3 }, { 0x3, 40 }, { 0x5, 90 }, { 0x8, 7 },
        { 0xa, 10 }, { 0xc, 60 }, { 0xf, 100 },
    };
    PmuLedgerSnapshot none = {}, some = {};
    uint64_t *item = some.item[PMU_LEVEL_USR];

    item[PMU_ITEM_BRANCHES] = 100;
    item[PMU_ITEM_BRANCHES_COND_NTAKEN] = 40;
    item[PMU_ITEM_BRANCH_MISSES] = 10;
    item[PMU_ITEM_MISSES_COND_NTAKEN] = 3;
    item[PMU_ITEM_MISSES_COND_TAKEN] = 7;
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        NetburstSelector s = {
            .group = NETBURST_IQ, .escr_select = 5,
            .escr = 0x6 << 25 | cases[i].mask << 9,
        };
        PmuSelection selection;

        g_test_message("mask 0x%x", cases[i].mask);
        pmu_event_select_netburst(&selection, &s);
        g_assert_cmpuint(gain(&selection, &none, &some, PMU_LEVEL_USR), ==,
                         cases[i].count);
    }
}

static void add_core_test(const char *path, PmuCore core,
                          void (*test)(gconstpointer))
{
    g_autofree char *name = g_strconcat(path, core_name[core], NULL);

    g_test_add_data_func(name, GINT_TO_POINTER(core), test);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/events/list-sizes", test_list_sizes);
    g_test_add_func("/events/only-listed", test_only_listed);
    g_test_add_func("/events/rows", test_rows);
    g_test_add_func("/events/never", test_never);
    for (PmuCore core = 0; core < G_N_ELEMENTS(lists); core++) {
        add_core_test("/events/listed/", core, test_listed);
        add_core_test("/events/counters/", core, test_counters);
        add_core_test("/events/rows-differ/", core, test_rows_differ);
        add_core_test("/events/zeros-are-declared/", core,
                      test_zeros_are_declared);
        add_core_test("/events/identities/", core, test_identities);
    }
    g_test_add_func("/events/identities-level2", test_identities_level2);
    g_test_add_func("/events/meanings", test_meanings);
    g_test_add_func("/events/unknown", test_unknown);
    g_test_add_func("/events/other-bits-do-not-select",
                    test_other_bits_do_not_select);
    g_test_add_func("/events/inv-alone", test_inv_alone);
    g_test_add_func("/events/thresholds", test_thresholds);
    g_test_add_func("/events/thresholds-of-cycles", test_thresholds_of_cycles);
    g_test_add_func("/events/thresholds-of-others", test_thresholds_of_others);
    for (PmuCore core = 0; core < G_N_ELEMENTS(lists); core++) {
        add_core_test("/events/additive/", core, test_additive);
    }
    g_test_add_func("/events/capped", test_capped);
    g_test_add_func("/events/taken-away", test_taken_away);
    g_test_add_func("/events/unknown-thresholds", test_unknown_thresholds);
    g_test_add_func("/events/edges", test_edges);
    g_test_add_func("/events/sums-of-umasks", test_sums_of_umasks);
    g_test_add_func("/events/offcore", test_offcore);
    g_test_add_func("/events/frontend", test_frontend);
    g_test_add_func("/events/tma", test_tma);
    g_test_add_func("/events/modified", test_modified);
    g_test_add_func("/events/linux", test_linux_events);
    g_test_add_func("/events/linux-constraints", test_linux_constraints);
    g_test_add_func("/events/older-meanings", test_older_meanings);
    g_test_add_func("/events/netburst-branches", test_netburst_branches);
    g_test_add_func("/events/netburst-directions", test_netburst_directions);
    return g_test_run();
}
