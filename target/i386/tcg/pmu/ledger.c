/*
 * The ledger: what the modelled core did, exactly, per privilege level.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: plain C.
 */

#include <glib.h>
#include <string.h>

#include "ledger.h"

static const char *const item_names[PMU_ITEM_NR] = {
    [PMU_SLOT_LIGHT_OPS]        = "light-ops",
    [PMU_SLOT_HEAVY_OPS]        = "heavy-ops",
    [PMU_SLOT_BR_MISPREDICT]    = "br-mispredict",
    [PMU_SLOT_MACHINE_CLEARS]   = "machine-clears",
    [PMU_SLOT_FETCH_LATENCY]    = "fetch-latency",
    [PMU_SLOT_FETCH_BANDWIDTH]  = "fetch-bandwidth",
    [PMU_SLOT_MEMORY_BOUND]     = "memory-bound",
    [PMU_SLOT_CORE_BOUND]       = "core-bound",
    [PMU_ITEM_CYCLES]           = "cycles",
    [PMU_ITEM_SLOTS]            = "slots",
    [PMU_ITEM_REF_TSC]          = "ref-tsc",
    [PMU_ITEM_REF_XCLK]         = "ref-xclk",
    [PMU_ITEM_INSTRUCTIONS]     = "instructions",
    [PMU_ITEM_BRANCHES]         = "branches",
    [PMU_ITEM_BRANCHES_COND]    = "branches-cond",
    [PMU_ITEM_BRANCHES_TAKEN]   = "branches-taken",
    [PMU_ITEM_L1D_ACCESSES]     = "l1d-accesses",
    [PMU_ITEM_L1D_MISSES]       = "l1d-misses",
    [PMU_ITEM_L2_MISSES]        = "l2-misses",
    [PMU_ITEM_LLC_REFERENCES]   = "llc-references",
    [PMU_ITEM_LLC_MISSES]       = "llc-misses",
    [PMU_ITEM_UOPS_ISSUED]      = "uops-issued",
    [PMU_ITEM_BRANCH_MISSES]    = "branch-misses",
    [PMU_ITEM_CLEARS]           = "clears",
    [PMU_ITEM_CLEARS_SMC]       = "clears-smc",
    [PMU_ITEM_L1I_MISSES]       = "l1i-misses",
    [PMU_ITEM_L2_CODE_MISSES]   = "l2-code-misses",
    [PMU_ITEM_LLC_CODE_REFERENCES] = "llc-code-references",
    [PMU_ITEM_LLC_CODE_MISSES]  = "llc-code-misses",
};

const char *pmu_ledger_item_name(PmuLedgerItem item)
{
    return item < PMU_ITEM_NR ? item_names[item] : NULL;
}

void pmu_ledger_init(PmuLedger *ledger, uint32_t width,
                     uint32_t tsc_num, uint32_t tsc_den,
                     uint32_t xclk_num, uint32_t xclk_den)
{
    g_assert(width >= 1 && width <= PMU_LEDGER_MAX_WIDTH);
    g_assert(tsc_den && xclk_den);

    *ledger = (PmuLedger) {
        .width = width,
        .reciprocal = (1ull << 32) / width + 1,
        .level = PMU_LEVEL_OS,
        .tsc_num = tsc_num,
        .tsc_den = tsc_den,
        .xclk_num = xclk_num,
        .xclk_den = xclk_den,
    };
}

/* @cycles * @num / @den rounded down; the product may exceed 64 bits. */
static uint64_t scale(uint64_t cycles, uint32_t num, uint32_t den)
{
    return cycles / den * num + cycles % den * num / den;
}

/* The class of the @age-th newest slot. */
static unsigned history_class(const PmuOpenCycle *open, unsigned age)
{
    return open->history >> (4 * age) & 0xf;
}

/* Slots of all whole cycles at @level, by class; returns the sum. */
static uint64_t whole_slots(const PmuLedger *ledger, PmuLevel level,
                            uint64_t *slots)
{
    const PmuOpenCycle *open = &ledger->open[level];
    uint64_t sum = 0;

    memcpy(slots, ledger->slots[level], sizeof(ledger->slots[level]));
    for (uint32_t i = 0; i < open->slots; i++) {
        slots[history_class(open, i)]--;
    }
    for (int i = 0; i < PMU_SLOT_NR; i++) {
        sum += slots[i];
    }
    return sum;
}

static bool plausible_level(const PmuLedger *ledger, PmuLevel level)
{
    const PmuOpenCycle *open = &ledger->open[level];
    uint64_t slots[PMU_SLOT_NR];

    if (open->slots >= ledger->width) {
        return false;
    }
    for (uint32_t i = 0; i < open->slots; i++) {
        if (history_class(open, i) >= PMU_SLOT_NR) {
            return false;
        }
    }
    return whole_slots(ledger, level, slots) % ledger->width == 0;
}

bool pmu_ledger_plausible(const PmuLedger *ledger)
{
    return ledger->level < PMU_LEVEL_NR &&
           plausible_level(ledger, PMU_LEVEL_OS) &&
           plausible_level(ledger, PMU_LEVEL_USR);
}

static void snapshot_level(const PmuLedger *ledger, PmuLevel level,
                           uint64_t *item)
{
    uint64_t sum;

    memcpy(item, ledger->event[level], sizeof(ledger->event[level]));
    sum = whole_slots(ledger, level, item);
    g_assert(sum % ledger->width == 0);

    item[PMU_ITEM_SLOTS] = sum;
    item[PMU_ITEM_CYCLES] = sum / ledger->width;
    item[PMU_ITEM_REF_TSC] = scale(item[PMU_ITEM_CYCLES],
                                   ledger->tsc_num, ledger->tsc_den);
    item[PMU_ITEM_REF_XCLK] = scale(item[PMU_ITEM_CYCLES],
                                    ledger->xclk_num, ledger->xclk_den);
}

void pmu_ledger_snapshot(const PmuLedger *ledger, PmuLedgerSnapshot *snap)
{
    for (int level = 0; level < PMU_LEVEL_NR; level++) {
        snapshot_level(ledger, level, snap->item[level]);
    }
}
