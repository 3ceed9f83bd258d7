/*
 * Events: rows of NetBurst, and the lookup of its selectors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Names, codes, masks and definitions: SDM vol. 3B, "Performance Monitoring
 * Events for Intel NetBurst Microarchitecture".
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/events/events-netburst.h"
#include "tcg/pmu/events/events-older.h"

#define ESCR_EVENT(escr)    ((escr) >> 25 & 0x3f)
#define ESCR_MASK(escr)     ((escr) >> 9 & 0xffff)
#define ESCR_TAG_ENABLE     (1u << 4)

#define BIT(group, escr_select, event, bit, name, ...)                  \
    { NETBURST_##group, escr_select, event, bit, { name, __VA_ARGS__ } }

#define WHY_NO_BOGUS    "what is thrown away is not simulated"
#define WHY_NO_STATES   "states of lines are not known: those in it are S"

static const NetburstRow rows[] = {
    BIT(BPU, 6, 0x13, 0, "GLOBAL_POWER_EVENTS.RUNNING",
        CYCLES(PMU_ITEM_CYCLES)),
    BIT(IQ, 4, 0x02, 0, "INSTR_RETIRED.NBOGUSNTAG",
        EXACT(PMU_ITEM_INSTRUCTIONS)),
    BIT(IQ, 4, 0x02, 1, "INSTR_RETIRED.NBOGUSTAG",
        NEVER("nothing tags them")),
    BIT(IQ, 4, 0x02, 2, "INSTR_RETIRED.BOGUSNTAG", NOT_MODELLED(WHY_NO_BOGUS)),
    BIT(IQ, 4, 0x02, 3, "INSTR_RETIRED.BOGUSTAG", NOT_MODELLED(WHY_NO_BOGUS)),
    BIT(IQ, 4, 0x07, 0, "INSTR_COMPLETED.NBOGUS",
        EXACT(PMU_ITEM_INSTRUCTIONS)),
    BIT(IQ, 4, 0x07, 1, "INSTR_COMPLETED.BOGUS", NOT_MODELLED(WHY_NO_BOGUS)),
    BIT(IQ, 4, 0x01, 0, "UOPS_RETIRED.NBOGUS", MODELLED(UOPS)),
    BIT(IQ, 4, 0x01, 1, "UOPS_RETIRED.BOGUS", NOT_MODELLED(WHY_NO_BOGUS)),
    BIT(IQ, 4, 0x03, 0, "MISPRED_BRANCH_RETIRED.NBOGUS",
        MODELLED(PMU_ITEM_BRANCH_MISSES)),
    /* Not taken: predicted (P) or mispredicted (M); taken likewise. */
    BIT(IQ, 5, 0x06, 0, "BRANCH_RETIRED.MMNP",
        LESS(PMU_ITEM_BRANCHES_COND_NTAKEN, PMU_ITEM_MISSES_COND_NTAKEN)),
    BIT(IQ, 5, 0x06, 1, "BRANCH_RETIRED.MMNM",
        MODELLED(PMU_ITEM_MISSES_COND_NTAKEN)),
    BIT(IQ, 5, 0x06, 2, "BRANCH_RETIRED.MMTP",
        NOT_MODELLED("only the masks 0x5, 0xc and 0xf count it")),
    BIT(IQ, 5, 0x06, 3, "BRANCH_RETIRED.MMTM", MODELLED(TAKEN_MISSES)),
    /* The SDM has bits 2 and 6 here; Linux's perf_event_p4.h has 1 and 2. */
    BIT(IQ, 5, 0x02, 0, "MACHINE_CLEAR.CLEAR",
        APPROXIMATE("times, not cycles", PMU_ITEM_CLEARS_SMC,
                    PMU_ITEM_CLEARS_ORDERING)),
    BIT(IQ, 5, 0x02, 2, "MACHINE_CLEAR.MOCLEAR",
        MODELLED(PMU_ITEM_CLEARS_ORDERING)),
    BIT(IQ, 5, 0x02, 6, "MACHINE_CLEAR.SMCLEAR",
        MODELLED(PMU_ITEM_CLEARS_SMC)),
    BIT(IQ, 5, 0x0c, 0, "EXECUTION_EVENT.NBOGUS0", NEVER("nothing tags them")),
    BIT(IQ, 5, 0x0c, 1, "EXECUTION_EVENT.NBOGUS1", NEVER("nothing tags them")),
    BIT(IQ, 5, 0x0c, 2, "EXECUTION_EVENT.NBOGUS2", NEVER("nothing tags them")),
    BIT(IQ, 5, 0x0c, 3, "EXECUTION_EVENT.NBOGUS3", NEVER("nothing tags them")),
    BIT(IQ, 5, 0x0c, 4, "EXECUTION_EVENT.BOGUS0", NEVER("nothing tags them")),
    BIT(IQ, 5, 0x0c, 5, "EXECUTION_EVENT.BOGUS1", NEVER("nothing tags them")),
    BIT(IQ, 5, 0x0c, 6, "EXECUTION_EVENT.BOGUS2", NEVER("nothing tags them")),
    BIT(IQ, 5, 0x0c, 7, "EXECUTION_EVENT.BOGUS3", NEVER("nothing tags them")),
    BIT(IQ, 2, 0x02, 1, "UOP_TYPE.TAGLOADS",
        NOT_MODELLED("tags of micro-ops are not counted")),
    BIT(IQ, 2, 0x02, 2, "UOP_TYPE.TAGSTORES",
        NOT_MODELLED("tags of micro-ops are not counted")),
    BIT(IQ, 1, 0x01, 5, "RESOURCE_STALL.SBFULL",
        CYCLES(PMU_ITEM_NO_STORE_BUFFER)),
    BIT(IQ, 5, 0x03, 0, "X87_ASSIST.FPSU", NOT_MODELLED(WHY_NO_ASSISTS)),
    BIT(IQ, 5, 0x03, 1, "X87_ASSIST.FPSO", NOT_MODELLED(WHY_NO_ASSISTS)),
    BIT(IQ, 5, 0x03, 2, "X87_ASSIST.POAO", NOT_MODELLED(WHY_NO_ASSISTS)),
    BIT(IQ, 5, 0x03, 3, "X87_ASSIST.POAU", NOT_MODELLED(WHY_NO_ASSISTS)),
    BIT(IQ, 5, 0x03, 4, "X87_ASSIST.PREA", NOT_MODELLED(WHY_NO_ASSISTS)),

    /* Kinds overlap: an indirect call is CALL and INDIRECT. */
    BIT(MS, 2, 0x04, 1, "RETIRED_BRANCH_TYPE.CONDITIONAL",
        EXACT(PMU_ITEM_BRANCHES_COND_NTAKEN, PMU_ITEM_BRANCHES_COND_TAKEN)),
    BIT(MS, 2, 0x04, 2, "RETIRED_BRANCH_TYPE.CALL",
        EXACT(PMU_ITEM_BRANCHES_CALL, PMU_ITEM_BRANCHES_CALL_INDIRECT)),
    BIT(MS, 2, 0x04, 3, "RETIRED_BRANCH_TYPE.RETURN",
        EXACT(PMU_ITEM_BRANCHES_RET)),
    BIT(MS, 2, 0x04, 4, "RETIRED_BRANCH_TYPE.INDIRECT",
        EXACT(PMU_ITEM_BRANCHES_RET, PMU_ITEM_BRANCHES_JMP_INDIRECT,
              PMU_ITEM_BRANCHES_CALL_INDIRECT)),
    BIT(MS, 2, 0x05, 1, "RETIRED_MISPRED_BRANCH_TYPE.CONDITIONAL",
        MODELLED(PMU_ITEM_MISSES_COND_NTAKEN, PMU_ITEM_MISSES_COND_TAKEN)),
    BIT(MS, 2, 0x05, 2, "RETIRED_MISPRED_BRANCH_TYPE.CALL",
        MODELLED(PMU_ITEM_MISSES_CALL_INDIRECT)),
    BIT(MS, 2, 0x05, 3, "RETIRED_MISPRED_BRANCH_TYPE.RETURN",
        MODELLED(PMU_ITEM_MISSES_RET)),
    BIT(MS, 2, 0x05, 4, "RETIRED_MISPRED_BRANCH_TYPE.INDIRECT",
        MODELLED(PMU_ITEM_MISSES_RET, PMU_ITEM_MISSES_JMP_INDIRECT,
                 PMU_ITEM_MISSES_CALL_INDIRECT)),
    BIT(MS, 0, 0x05, 0, "TC_MS_XFER.CISC", MODELLED(PMU_ITEM_MS_SWITCHES)),
    BIT(MS, 0, 0x09, 0, "UOP_QUEUE_WRITES.FROM_TC_BUILD",
        APPROXIMATE("micro-ops of the decoders", PMU_ITEM_MITE_UOPS)),
    BIT(MS, 0, 0x09, 1, "UOP_QUEUE_WRITES.FROM_TC_DELIVER",
        APPROXIMATE("micro-ops of the trace cache, whose traces are not "
                    "modelled", PMU_ITEM_DSB_UOPS)),
    BIT(MS, 0, 0x09, 2, "UOP_QUEUE_WRITES.FROM_ROM",
        MODELLED(PMU_ITEM_MS_UOPS)),
    BIT(MS, 1, 0x06, 4, "TC_MISC.FLUSH",
        NOT_MODELLED("flushes of the trace cache are not counted")),

    BIT(BPU, 0, 0x03, 0, "BPU_FETCH_REQUEST.TCMISS",
        APPROXIMATE("lines that the decoders ask for", PMU_ITEM_L1I_HITS,
                    PMU_ITEM_L1I_MISSES)),
    BIT(BPU, 3, 0x18, 0, "ITLB_REFERENCE.HIT",
        APPROXIMATE("lines of code asked for", PMU_ITEM_L1I_HITS,
                    PMU_ITEM_L1I_MISSES)),
    BIT(BPU, 3, 0x18, 1, "ITLB_REFERENCE.MISS", MODELLED(CODE_WALKS)),
    BIT(BPU, 3, 0x18, 2, "ITLB_REFERENCE.HIT_UK",
        NOT_MODELLED("the model takes all memory to be cacheable")),
    BIT(BPU, 4, 0x01, 0, "PAGE_WALK_TYPE.DTMISS",
        MODELLED(LOAD_WALKS, STORE_WALKS)),
    BIT(BPU, 4, 0x01, 1, "PAGE_WALK_TYPE.ITMISS", MODELLED(CODE_WALKS)),
    BIT(BPU, 7, 0x0c, 0, "BSQ_CACHE_REFERENCE.RD_2ndL_HITS",
        APPROXIMATE(WHY_NO_STATES, DATA_READS(L2), PMU_ITEM_CODE_L2)),
    BIT(BPU, 7, 0x0c, 1, "BSQ_CACHE_REFERENCE.RD_2ndL_HITE",
        NOT_MODELLED(WHY_NO_STATES)),
    BIT(BPU, 7, 0x0c, 2, "BSQ_CACHE_REFERENCE.RD_2ndL_HITM",
        NOT_MODELLED(WHY_NO_STATES)),
    BIT(BPU, 7, 0x0c, 3, "BSQ_CACHE_REFERENCE.RD_3rdL_HITS",
        NEVER("there is no third level")),
    BIT(BPU, 7, 0x0c, 4, "BSQ_CACHE_REFERENCE.RD_3rdL_HITE",
        NEVER("there is no third level")),
    BIT(BPU, 7, 0x0c, 5, "BSQ_CACHE_REFERENCE.RD_3rdL_HITM",
        NEVER("there is no third level")),
    BIT(BPU, 7, 0x0c, 8, "BSQ_CACHE_REFERENCE.RD_2ndL_MISS",
        MODELLED(DATA_READS(L3), DATA_READS(DRAM), PMU_ITEM_CODE_L3,
                 PMU_ITEM_CODE_DRAM)),
    BIT(BPU, 7, 0x0c, 9, "BSQ_CACHE_REFERENCE.RD_3rdL_MISS",
        NEVER("there is no third level")),
    BIT(BPU, 7, 0x0c, 10, "BSQ_CACHE_REFERENCE.WR_2ndL_MISS",
        NOT_MODELLED("what L1D writes back is not counted")),
    BIT(BPU, 6, 0x17, 0, "FSB_DATA_ACTIVITY.DRDY_DRV",
        NOT_MODELLED(WHY_NO_BUS)),
    BIT(BPU, 6, 0x17, 1, "FSB_DATA_ACTIVITY.DRDY_OWN",
        NOT_MODELLED(WHY_NO_BUS)),
    BIT(BPU, 6, 0x17, 2, "FSB_DATA_ACTIVITY.DRDY_OTHER",
        NOT_MODELLED(WHY_NO_BUS)),
    BIT(BPU, 2, 0x03, 1, "MOB_LOAD_REPLAY.NO_STA",
        NOT_MODELLED("the model replays no loads")),
    BIT(BPU, 2, 0x03, 3, "MOB_LOAD_REPLAY.NO_STD",
        NOT_MODELLED("the model replays no loads")),
    BIT(BPU, 2, 0x03, 4, "MOB_LOAD_REPLAY.PARTIAL_DATA",
        MODELLED(PMU_ITEM_FORWARD_BLOCKED)),
    BIT(BPU, 2, 0x03, 5, "MOB_LOAD_REPLAY.UNALGN_ADDR",
        NOT_MODELLED("the model replays no loads")),

    BIT(FLAME, 2, 0x08, 0, "MEMORY_COMPLETE.LSC",
        MODELLED(PMU_ITEM_LOADS_SPLIT)),
    BIT(FLAME, 2, 0x08, 1, "MEMORY_COMPLETE.SSC",
        MODELLED(PMU_ITEM_STORES_SPLIT)),
    BIT(FLAME, 2, 0x04, 1, "LOAD_PORT_REPLAY.SPLIT_LD",
        MODELLED(PMU_ITEM_LOADS_SPLIT)),
    BIT(FLAME, 2, 0x05, 1, "STORE_PORT_REPLAY.SPLIT_ST",
        MODELLED(PMU_ITEM_STORES_SPLIT)),
    BIT(FLAME, 1, 0x04, 15, "X87_FP_UOP.ALL", MODELLED(PMU_ITEM_X87_UOPS)),
    BIT(FLAME, 1, 0x08, 15, "PACKED_SP_UOP.ALL",
        APPROXIMATE("instructions", PMU_ITEM_FP_128_SINGLE)),
    BIT(FLAME, 1, 0x0c, 15, "PACKED_DP_UOP.ALL",
        APPROXIMATE("instructions", PMU_ITEM_FP_128_DOUBLE)),
    BIT(FLAME, 1, 0x0a, 15, "SCALAR_SP_UOP.ALL",
        APPROXIMATE("instructions", PMU_ITEM_FP_SCALAR_SINGLE)),
    BIT(FLAME, 1, 0x0e, 15, "SCALAR_DP_UOP.ALL",
        APPROXIMATE("instructions", PMU_ITEM_FP_SCALAR_DOUBLE)),
    BIT(FLAME, 1, 0x02, 15, "64BIT_MMX_UOP.ALL", NOT_MODELLED(WHY_MMX)),
    BIT(FLAME, 1, 0x1a, 15, "128BIT_MMX_UOP.ALL",
        APPROXIMATE("additions", PMU_ITEM_INT_ADD_128)),
    BIT(FLAME, 1, 0x34, 15, "SSE_INPUT_ASSIST.ALL",
        MODELLED(PMU_ITEM_ASSISTS_FP)),
    BIT(FLAME, 5, 0x02, 2, "MEMORY_CANCEL.ST_RB_FULL",
        NOT_MODELLED("the model cancels no requests")),
    BIT(FLAME, 5, 0x02, 3, "MEMORY_CANCEL.64K_CONF",
        NOT_MODELLED("the model cancels no requests")),
};

/* What BRANCH_RETIRED counts with several bits of its mask. */
static const struct {
    uint8_t mask;
    PmuEvent event;
} branches[] = {
    { 0x3, { "BRANCH_RETIRED, not taken",
             EXACT(PMU_ITEM_BRANCHES_COND_NTAKEN) } },
    { 0x5, { "BRANCH_RETIRED, predicted",
             LESS(PMU_ITEM_BRANCHES, PMU_ITEM_BRANCH_MISSES) } },
    { 0xa, { "BRANCH_RETIRED, mispredicted",
             MODELLED(PMU_ITEM_BRANCH_MISSES) } },
    { 0xc, { "BRANCH_RETIRED, taken",
             EXACT(PMU_ITEM_BRANCHES_COND_NTAKEN),
             .minuend = PMU_ITEM_BRANCHES } },
    { 0xf, { "BRANCH_RETIRED", EXACT(PMU_ITEM_BRANCHES) } },
};

/*
 * What REPLAY_EVENT counts at retirement, by the bits of IA32_PEBS_ENABLE and
 * MSR_PEBS_MATRIX_VERT: SDM vol. 3B, "Metrics That Utilize Replay Tagging
 * Mechanism".
 */
static const struct {
    uint32_t enable, vert;
    PmuEvent event;
} replays[] = {
    { 0x001, 0x1, { "1stL_cache_load_miss_retired",
      MODELLED(PMU_ITEM_LOADS_L2, PMU_ITEM_LOADS_L3, PMU_ITEM_LOADS_DRAM) } },
    { 0x002, 0x1, { "2ndL_cache_load_miss_retired",
      MODELLED(PMU_ITEM_LOADS_L3, PMU_ITEM_LOADS_DRAM) } },
    { 0x004, 0x1, { "DTLB_load_miss_retired", MODELLED(LOAD_WALKS) } },
    { 0x004, 0x2, { "DTLB_store_miss_retired", MODELLED(STORE_WALKS) } },
    { 0x004, 0x3, { "DTLB_all_miss_retired",
      MODELLED(LOAD_WALKS, STORE_WALKS) } },
    { 0x200, 0x1, { "MOB_load_replay_retired",
      MODELLED(PMU_ITEM_FORWARD_BLOCKED) } },
    { 0x400, 0x1, { "split_load_retired", MODELLED(PMU_ITEM_LOADS_SPLIT) } },
    { 0x400, 0x2, { "split_store_retired",
      MODELLED(PMU_ITEM_STORES_SPLIT) } },
};

/* Bits of IA32_PEBS_ENABLE: which replays tag; and that tagging is on. */
#define PEBS_METRICS    0x1fff
#define PEBS_UOP_TAG    (1u << 24)

#define REPLAY_EVENT    0x09
#define BRANCH_RETIRED  0x06
#define MASK_NBOGUS     0x1

const NetburstRow *pmu_event_netburst_row(unsigned index)
{
    return index < G_N_ELEMENTS(rows) ? &rows[index] : NULL;
}

static const PmuEvent *find_bit(const NetburstSelector *s, unsigned event,
                                unsigned bit)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const NetburstRow *row = &rows[i];

        if (row->group == s->group && row->escr_select == s->escr_select &&
            row->event == event && row->bit == bit) {
            return &row->event_row;
        }
    }
    return NULL;
}

static const PmuEvent *find_replay(const NetburstSelector *s)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(replays); i++) {
        if (s->pebs_enable & PEBS_UOP_TAG &&
            replays[i].enable == (s->pebs_enable & PEBS_METRICS) &&
            replays[i].vert == s->pebs_matrix_vert) {
            return &replays[i].event;
        }
    }
    return NULL;
}

static const PmuEvent *find_branches(unsigned mask)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(branches); i++) {
        if (branches[i].mask == mask) {
            return &branches[i].event;
        }
    }
    return NULL;
}

/* The single row for all that @s selects, NULL if there is none. */
static const PmuEvent *find_single_row(const NetburstSelector *s,
                                       unsigned event, unsigned mask)
{
    if (s->group != NETBURST_IQ || s->escr_select != 5) {
        return NULL;
    }
    if (event == BRANCH_RETIRED) {
        return find_branches(mask);
    }
    return event == REPLAY_EVENT && mask == MASK_NBOGUS ? find_replay(s)
                                                        : NULL;
}

static void add_term(PmuSelection *selection, uint8_t item)
{
    if (selection->num_terms < PMU_SELECTION_TERMS &&
        !memchr(selection->term, item, selection->num_terms)) {
        selection->term[selection->num_terms++] = item;
    }
}

/* Add @row to the sum.  An item that two rows have in common counts once. */
static void add_row(PmuSelection *selection, const PmuEvent *row)
{
    bool first = !selection->name;

    selection->name = first ? row->name : "(sum of events)";
    if (row->state == PMU_EVENT_NEVER) {
        return;
    }
    selection->note = row->note ? row->note : selection->note;
    selection->state = selection->state == PMU_EVENT_NEVER
                       ? row->state : MAX(selection->state, row->state);
    selection->minuend = row->minuend;
    selection->single = first &&
                        (row->minuend || row->unit == PMU_EVENT_CYCLES);
    for (unsigned i = 0; i < row->num_terms; i++) {
        add_term(selection, row->term[i]);
    }
}

static void count_nothing(PmuSelection *selection, PmuEventState state,
                          const char *note)
{
    selection->state = state;
    selection->note = note;
    selection->num_terms = 0;
    selection->minuend = 0;
}

/* Add the rows for the bits of @mask; count nothing if that cannot be done. */
static void add_bits(PmuSelection *selection, const NetburstSelector *s,
                     unsigned event, unsigned mask)
{
    bool some = false;

    for (unsigned bit = 0; bit < 16; bit++) {
        const PmuEvent *row = mask >> bit & 1 ? find_bit(s, event, bit) : NULL;

        if (!(mask >> bit & 1)) {
            continue;
        }
        if (!row || (selection->name && (row->minuend || selection->minuend))) {
            count_nothing(selection, PMU_EVENT_UNKNOWN, NULL);
            return;
        }
        some |= row->num_terms || row->minuend;
        add_row(selection, row);
    }
    /* Rows that are not modelled do not stop the others from counting. */
    if (selection->state == PMU_EVENT_NOT_MODELLED && some) {
        selection->state = PMU_EVENT_APPROXIMATE;
    }
}

static void count_cycles(PmuSelection *selection)
{
    selection->state = PMU_EVENT_MODELLED;
    selection->note = NULL;
    selection->single = true;
    selection->term[selection->num_terms++] = PMU_ITEM_CYCLES;
}

static void apply_threshold(PmuSelection *selection, const NetburstSelector *s)
{
    bool none = selection->state == PMU_EVENT_NEVER;

    if (!s->compare || selection->state >= PMU_EVENT_NOT_MODELLED) {
        return;
    }
    if (none && s->complement && !s->edge) {
        count_cycles(selection);
    } else if (!none && !s->complement && !s->threshold && s->edge) {
        selection->state = MAX(selection->state, PMU_EVENT_APPROXIMATE);
        selection->note = "takes each for an edge of its own";
    } else if (!none) {
        count_nothing(selection, PMU_EVENT_NOT_MODELLED,
                      "how many come in a cycle is not known");
    }
}

void pmu_event_select_netburst(PmuSelection *selection,
                               const NetburstSelector *s)
{
    unsigned event = ESCR_EVENT(s->escr), mask = ESCR_MASK(s->escr);
    const PmuEvent *whole = find_single_row(s, event, mask);

    /* Until a row says otherwise. */
    *selection = (PmuSelection) { .state = PMU_EVENT_NEVER };
    if (pmu_netburst_counts_each_cycle(s)) {
        selection->name = "(cycles: no event exceeds the threshold)";
        count_cycles(selection);
        return;
    }
    if (whole) {
        add_row(selection, whole);
    } else {
        add_bits(selection, s, event, mask);
    }
    if (!selection->name) {
        count_nothing(selection, PMU_EVENT_UNKNOWN, NULL);
    } else if (s->escr & ESCR_TAG_ENABLE) {
        count_nothing(selection, PMU_EVENT_NOT_MODELLED,
                      "tags of micro-ops are not counted");
    }
    apply_threshold(selection, s);
}
