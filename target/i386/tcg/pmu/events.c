/*
 * Events: what a counter's selector means, as an expression over the ledger.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: data and its lookup, plain C.
 *
 * Names, codes and definitions: Intel's event lists for Ice Lake-SP v1.30 and
 * Sapphire Rapids v1.39 (https://github.com/intel/perfmon).
 */

#include <glib.h>

#include "events.h"

/* Modifier bits of IA32_PERFEVTSELx, SDM vol. 3B, figure 20-1. */
#define EDGE        (1u << 18)
#define CMASK(n)    ((uint32_t)(n) << 24)
#define INV         (1u << 23)
#define MODIFIERS   (EDGE | INV | CMASK(0xff))

/* The items of a row and their number; a level-1 class is two leaves. */
#define TERMS(...)                                                      \
    .term = { __VA_ARGS__ },                                            \
    .num_terms = sizeof((uint8_t[]) { __VA_ARGS__ })

#define NEVER_DROPS "the model drops no micro-ops: always zero"
#define ONE_THREAD  "each vCPU is a core with one thread"
#define SMC_ONLY    "self-modifying code only: memory ordering is not modelled"
#define DEMAND_ONLY "demand requests only, where hardware counts prefetches too"

/* Rows that both lists have in common. */
static const PmuEvent common_events[] = {
    { .name = "CPU_CLK_UNHALTED.THREAD_P", .code = 0x3c, .umask = 0x00,
      .state = PMU_EVENT_MODELLED, TERMS(PMU_ITEM_CYCLES) },
    { .name = "INST_RETIRED.ANY_P", .code = 0xc0, .umask = 0x00,
      .state = PMU_EVENT_EXACT, TERMS(PMU_ITEM_INSTRUCTIONS) },
    { .name = "LONGEST_LAT_CACHE.REFERENCE", .code = 0x2e, .umask = 0x4f,
      .state = PMU_EVENT_APPROXIMATE,
      TERMS(PMU_ITEM_DATA_L3, PMU_ITEM_DATA_DRAM, PMU_ITEM_RFO_L3,
            PMU_ITEM_RFO_DRAM, PMU_ITEM_CODE_L3, PMU_ITEM_CODE_DRAM),
      .note = DEMAND_ONLY },
    { .name = "LONGEST_LAT_CACHE.MISS", .code = 0x2e, .umask = 0x41,
      .state = PMU_EVENT_APPROXIMATE,
      TERMS(PMU_ITEM_DATA_DRAM, PMU_ITEM_RFO_DRAM, PMU_ITEM_CODE_DRAM),
      .note = DEMAND_ONLY },
    { .name = "MACHINE_CLEARS.COUNT", .code = 0xc3, .umask = 0x01,
      .modifiers = EDGE | CMASK(1),
      .state = PMU_EVENT_APPROXIMATE, TERMS(PMU_ITEM_CLEARS_SMC),
      .note = SMC_ONLY },
    { .name = "MACHINE_CLEARS.SMC", .code = 0xc3, .umask = 0x04,
      .state = PMU_EVENT_MODELLED, TERMS(PMU_ITEM_CLEARS_SMC) },
    { .name = "BR_INST_RETIRED.ALL_BRANCHES", .code = 0xc4, .umask = 0x00,
      .state = PMU_EVENT_EXACT, TERMS(PMU_ITEM_BRANCHES) },
    { .name = "BR_INST_RETIRED.COND", .code = 0xc4, .umask = 0x11,
      .state = PMU_EVENT_EXACT,
      TERMS(PMU_ITEM_BRANCHES_COND_NTAKEN, PMU_ITEM_BRANCHES_COND_TAKEN) },
    { .name = "BR_MISP_RETIRED.ALL_BRANCHES", .code = 0xc5, .umask = 0x00,
      .state = PMU_EVENT_MODELLED, TERMS(PMU_ITEM_BRANCH_MISSES) },
    { .name = "TOPDOWN.SLOTS_P", .code = 0xa4, .umask = 0x01,
      .state = PMU_EVENT_MODELLED, TERMS(PMU_ITEM_SLOTS) },
    { .name = "TOPDOWN.BACKEND_BOUND_SLOTS", .code = 0xa4, .umask = 0x02,
      .state = PMU_EVENT_MODELLED,
      TERMS(PMU_SLOT_MEMORY_BOUND, PMU_SLOT_CORE_BOUND) },
    { .name = "UOPS_RETIRED.SLOTS", .code = 0xc2, .umask = 0x02,
      .state = PMU_EVENT_MODELLED,
      TERMS(PMU_SLOT_LIGHT_OPS, PMU_SLOT_HEAVY_OPS) },
    { .name = "CPU_CLK_UNHALTED.DISTRIBUTED", .code = 0xec, .umask = 0x02,
      .state = PMU_EVENT_MODELLED, TERMS(PMU_ITEM_CYCLES),
      .note = ONE_THREAD },
};

static const PmuEvent icelake_events[] = {
    { .name = "CPU_CLK_UNHALTED.REF_XCLK", .code = 0x3c, .umask = 0x01,
      .state = PMU_EVENT_MODELLED, TERMS(PMU_ITEM_REF_XCLK) },
    { .name = "INT_MISC.CLEARS_COUNT", .code = 0x0d, .umask = 0x01,
      .modifiers = EDGE | CMASK(1),
      .state = PMU_EVENT_MODELLED, TERMS(PMU_ITEM_CLEARS) },
    { .name = "INT_MISC.UOP_DROPPING", .code = 0x0d, .umask = 0x10,
      .state = PMU_EVENT_MODELLED, .note = NEVER_DROPS },
    { .name = "UOPS_ISSUED.ANY", .code = 0x0e, .umask = 0x01,
      .state = PMU_EVENT_MODELLED, TERMS(PMU_ITEM_UOPS_ISSUED) },
    { .name = "IDQ_UOPS_NOT_DELIVERED.CORE", .code = 0x9c, .umask = 0x01,
      .state = PMU_EVENT_MODELLED,
      TERMS(PMU_SLOT_FETCH_LATENCY, PMU_SLOT_FETCH_BANDWIDTH) },
};

static const PmuEvent sapphirerapids_events[] = {
    /* Unlike its predecessors: at TSC rate. */
    { .name = "CPU_CLK_UNHALTED.REF_TSC_P", .code = 0x3c, .umask = 0x01,
      .state = PMU_EVENT_MODELLED, TERMS(PMU_ITEM_REF_TSC) },
    { .name = "INT_MISC.CLEARS_COUNT", .code = 0xad, .umask = 0x01,
      .modifiers = EDGE | CMASK(1),
      .state = PMU_EVENT_MODELLED, TERMS(PMU_ITEM_CLEARS) },
    { .name = "INT_MISC.UOP_DROPPING", .code = 0xad, .umask = 0x10,
      .state = PMU_EVENT_MODELLED, .note = NEVER_DROPS },
    { .name = "UOPS_ISSUED.ANY", .code = 0xae, .umask = 0x01,
      .state = PMU_EVENT_MODELLED, TERMS(PMU_ITEM_UOPS_ISSUED) },
    { .name = "IDQ_BUBBLES.CORE", .code = 0x9c, .umask = 0x01,
      .state = PMU_EVENT_MODELLED,
      TERMS(PMU_SLOT_FETCH_LATENCY, PMU_SLOT_FETCH_BANDWIDTH) },
    { .name = "TOPDOWN.BAD_SPEC_SLOTS", .code = 0xa4, .umask = 0x04,
      .state = PMU_EVENT_MODELLED,
      TERMS(PMU_SLOT_BR_MISPREDICT, PMU_SLOT_MACHINE_CLEARS) },
    { .name = "TOPDOWN.BR_MISPREDICT_SLOTS", .code = 0xa4, .umask = 0x08,
      .state = PMU_EVENT_MODELLED, TERMS(PMU_SLOT_BR_MISPREDICT) },
    { .name = "TOPDOWN.MEMORY_BOUND_SLOTS", .code = 0xa4, .umask = 0x10,
      .state = PMU_EVENT_MODELLED, TERMS(PMU_SLOT_MEMORY_BOUND) },
};

/* What the fixed counters count; the codes are those perf uses for them. */
static const PmuEvent fixed_events[PERFMON_MAX_FIXED] = {
    { .name = "INST_RETIRED.ANY", .code = 0x00, .umask = 0x01,
      .state = PMU_EVENT_EXACT, TERMS(PMU_ITEM_INSTRUCTIONS) },
    { .name = "CPU_CLK_UNHALTED.THREAD", .code = 0x00, .umask = 0x02,
      .state = PMU_EVENT_MODELLED, TERMS(PMU_ITEM_CYCLES) },
    { .name = "CPU_CLK_UNHALTED.REF_TSC", .code = 0x00, .umask = 0x03,
      .state = PMU_EVENT_MODELLED, TERMS(PMU_ITEM_REF_TSC) },
    { .name = "TOPDOWN.SLOTS", .code = 0x00, .umask = 0x04,
      .state = PMU_EVENT_MODELLED, TERMS(PMU_ITEM_SLOTS) },
};

static const struct {
    const PmuEvent *rows;
    unsigned num_rows;
} core_events[PMU_CORE_NR] = {
    [PMU_CORE_ICELAKE] = {
        icelake_events, G_N_ELEMENTS(icelake_events)
    },
    [PMU_CORE_SAPPHIRERAPIDS] = {
        sapphirerapids_events, G_N_ELEMENTS(sapphirerapids_events)
    },
};

const PmuEvent *pmu_event_row(PmuCore core, unsigned index)
{
    if (index < G_N_ELEMENTS(common_events)) {
        return &common_events[index];
    }
    index -= G_N_ELEMENTS(common_events);
    return index < core_events[core].num_rows ?
           &core_events[core].rows[index] : NULL;
}

/* The row with exactly these selector bits, NULL if there is none. */
static const PmuEvent *find_row(PmuCore core, uint16_t select,
                                uint32_t modifiers)
{
    const PmuEvent *row;

    for (unsigned i = 0; (row = pmu_event_row(core, i)); i++) {
        if ((row->code | row->umask << 8) == select &&
            row->modifiers == modifiers) {
            return row;
        }
    }
    return NULL;
}

const PmuEvent *pmu_event_lookup(PmuCore core, uint64_t evtsel)
{
    uint32_t modifiers = evtsel & MODIFIERS;

    if (!(modifiers & CMASK(0xff))) {
        modifiers &= ~INV;
    }
    return find_row(core, evtsel, modifiers);
}

const PmuEvent *pmu_event_fixed(unsigned index)
{
    return &fixed_events[index];
}

uint64_t pmu_event_count(const PmuEvent *event, const PmuLedgerSnapshot *snap,
                         PmuLevel level)
{
    uint64_t sum = 0;

    for (int i = 0; i < event->num_terms; i++) {
        sum += snap->item[level][event->term[i]];
    }
    return sum;
}
