/*
 * The ledger: exact totals of what the modelled core did, by privilege level.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/ledger/ledger.h"

static const char *const item_names[PMU_ITEM_NR] = {
    [PMU_SLOT_LIGHT_OPS] = "light-ops",
    [PMU_SLOT_HEAVY_OPS] = "heavy-ops",
    [PMU_SLOT_BR_MISPREDICT] = "br-mispredict",
    [PMU_SLOT_MACHINE_CLEARS] = "machine-clears",
    [PMU_SLOT_FETCH_LATENCY] = "fetch-latency",
    [PMU_SLOT_FETCH_BANDWIDTH] = "fetch-bandwidth",
    [PMU_SLOT_MEMORY_BOUND] = "memory-bound",
    [PMU_SLOT_CORE_BOUND] = "core-bound",
    [PMU_ITEM_CYCLES] = "cycles",
    [PMU_ITEM_SLOTS] = "slots",
    [PMU_ITEM_REF_TSC] = "ref-tsc",
    [PMU_ITEM_REF_XCLK] = "ref-xclk",
    [PMU_ITEM_INSTRUCTIONS] = "instructions",
    [PMU_ITEM_BRANCHES] = "branches",
    [PMU_ITEM_BRANCHES_COND_NTAKEN] = "branches-cond-ntaken",
    [PMU_ITEM_BRANCHES_COND_TAKEN] = "branches-cond-taken",
    [PMU_ITEM_BRANCHES_JMP] = "branches-jmp",
    [PMU_ITEM_BRANCHES_JMP_INDIRECT] = "branches-jmp-indirect",
    [PMU_ITEM_BRANCHES_CALL] = "branches-call",
    [PMU_ITEM_BRANCHES_CALL_INDIRECT] = "branches-call-indirect",
    [PMU_ITEM_BRANCHES_RET] = "branches-ret",
    [PMU_ITEM_BRANCHES_FAR] = "branches-far",
    [PMU_ITEM_NOPS] = "nops",
    [PMU_ITEM_PAUSES] = "pauses",
    [PMU_ITEM_LFENCES] = "lfences",
    [PMU_ITEM_PREFETCH_NTA] = "prefetch-nta",
    [PMU_ITEM_PREFETCH_T0] = "prefetch-t0",
    [PMU_ITEM_PREFETCH_T1_T2] = "prefetch-t1-t2",
    [PMU_ITEM_PREFETCH_W] = "prefetch-w",
    [PMU_ITEM_FP_SCALAR_DOUBLE] = "fp-scalar-double",
    [PMU_ITEM_FP_SCALAR_SINGLE] = "fp-scalar-single",
    [PMU_ITEM_FP_128_DOUBLE] = "fp-128-double",
    [PMU_ITEM_FP_128_SINGLE] = "fp-128-single",
    [PMU_ITEM_FP_256_DOUBLE] = "fp-256-double",
    [PMU_ITEM_FP_256_SINGLE] = "fp-256-single",
    [PMU_ITEM_INT_ADD_128] = "int-add-128",
    [PMU_ITEM_INT_ADD_256] = "int-add-256",
    [PMU_ITEM_INT_MUL_256] = "int-mul-256",
    [PMU_ITEM_INT_SHUFFLES] = "int-shuffles",
    [PMU_ITEM_LOADS_L1] = "loads-l1",
    [PMU_ITEM_LOADS_L2] = "loads-l2",
    [PMU_ITEM_LOADS_L3] = "loads-l3",
    [PMU_ITEM_LOADS_DRAM] = "loads-dram",
    [PMU_ITEM_LOADS_L3_FORWARDED] = "loads-l3-forwarded",
    [PMU_ITEM_LOADS_LOCKED] = "loads-locked",
    [PMU_ITEM_LOADS_SPLIT] = "loads-split",
    [PMU_ITEM_STORES] = "stores",
    [PMU_ITEM_STORES_SPLIT] = "stores-split",
    [PMU_ITEM_L1D_ACCESSES] = "l1d-accesses",
    [PMU_ITEM_L1D_MISSES] = "l1d-misses",
    [PMU_ITEM_DATA_L2] = "data-l2",
    [PMU_ITEM_DATA_L3] = "data-l3",
    [PMU_ITEM_DATA_DRAM] = "data-dram",
    [PMU_ITEM_RFO_L2] = "rfo-l2",
    [PMU_ITEM_RFO_L3] = "rfo-l3",
    [PMU_ITEM_RFO_DRAM] = "rfo-dram",
    [PMU_ITEM_RFO_L3_ALONE] = "rfo-l3-alone",
    [PMU_ITEM_DATA_L3_ALONE] = "data-l3-alone",
    [PMU_ITEM_DATA_L3_SHARED] = "data-l3-shared",
    [PMU_ITEM_DATA_L3_MODIFIED] = "data-l3-modified",
    [PMU_ITEM_RFO_L3_MODIFIED] = "rfo-l3-modified",
    [PMU_ITEM_PREFETCH_L2] = "prefetch-l2",
    [PMU_ITEM_PREFETCH_L3] = "prefetch-l3",
    [PMU_ITEM_PREFETCH_DRAM] = "prefetch-dram",
    [PMU_ITEM_SOFT_PREFETCH_L2] = "soft-prefetch-l2",
    [PMU_ITEM_SOFT_PREFETCH_L3] = "soft-prefetch-l3",
    [PMU_ITEM_SOFT_PREFETCH_DRAM] = "soft-prefetch-dram",
    [PMU_ITEM_SOFT_PREFETCH_L1D] = "soft-prefetch-l1d",
    [PMU_ITEM_L1D_PREFETCH_L2] = "l1d-prefetch-l2",
    [PMU_ITEM_L1D_PREFETCH_L3] = "l1d-prefetch-l3",
    [PMU_ITEM_L1D_PREFETCH_DRAM] = "l1d-prefetch-dram",
    [PMU_ITEM_STREAM_L3] = "stream-l3",
    [PMU_ITEM_STREAM_DRAM] = "stream-dram",
    [PMU_ITEM_DTLB_LOAD_STLB] = "dtlb-load-stlb",
    [PMU_ITEM_DTLB_LOAD_CYCLES] = "dtlb-load-cycles",
    [PMU_ITEM_DTLB_LOAD_WALKS_4K] = "dtlb-load-walks-4k",
    [PMU_ITEM_DTLB_LOAD_WALKS_2M] = "dtlb-load-walks-2m",
    [PMU_ITEM_DTLB_LOAD_WALKS_1G] = "dtlb-load-walks-1g",
    [PMU_ITEM_DTLB_STORE_STLB] = "dtlb-store-stlb",
    [PMU_ITEM_DTLB_STORE_CYCLES] = "dtlb-store-cycles",
    [PMU_ITEM_DTLB_STORE_WALKS_4K] = "dtlb-store-walks-4k",
    [PMU_ITEM_DTLB_STORE_WALKS_2M] = "dtlb-store-walks-2m",
    [PMU_ITEM_DTLB_STORE_WALKS_1G] = "dtlb-store-walks-1g",
    [PMU_ITEM_TLB_FLUSHES] = "tlb-flushes",
    [PMU_ITEM_UOPS_ISSUED] = "uops-issued",
    [PMU_ITEM_ISSUED_0] = "issued-0",
    [PMU_ITEM_ISSUED_0 + 1] = "issued-1",
    [PMU_ITEM_ISSUED_0 + 2] = "issued-2",
    [PMU_ITEM_ISSUED_0 + 3] = "issued-3",
    [PMU_ITEM_ISSUED_0 + 4] = "issued-4",
    [PMU_ITEM_ISSUED_0 + 5] = "issued-5",
    [PMU_ITEM_ISSUED_0 + 6] = "issued-6",
    [PMU_ITEM_UNDELIVERED_0] = "undelivered-0",
    [PMU_ITEM_UNDELIVERED_0 + 1] = "undelivered-1",
    [PMU_ITEM_UNDELIVERED_0 + 2] = "undelivered-2",
    [PMU_ITEM_UNDELIVERED_0 + 3] = "undelivered-3",
    [PMU_ITEM_UNDELIVERED_0 + 4] = "undelivered-4",
    [PMU_ITEM_UNDELIVERED_0 + 5] = "undelivered-5",
    [PMU_ITEM_UNDELIVERED_0 + 6] = "undelivered-6",
    [PMU_ITEM_UOPS_EXECUTED] = "uops-executed",
    [PMU_ITEM_EXECUTED_0] = "executed-0",
    [PMU_ITEM_EXECUTED_0 + 1] = "executed-1",
    [PMU_ITEM_EXECUTED_0 + 2] = "executed-2",
    [PMU_ITEM_EXECUTED_0 + 3] = "executed-3",
    [PMU_ITEM_EXECUTED_0 + 4] = "executed-4",
    [PMU_ITEM_EXECUTED_0 + 5] = "executed-5",
    [PMU_ITEM_EXECUTED_0 + 6] = "executed-6",
    [PMU_ITEM_EXECUTED_0 + 7] = "executed-7",
    [PMU_ITEM_EXECUTED_0 + 8] = "executed-8",
    [PMU_ITEM_RETIRED_0] = "retired-0",
    [PMU_ITEM_RETIRED_0 + 1] = "retired-1",
    [PMU_ITEM_RETIRED_0 + 2] = "retired-2",
    [PMU_ITEM_RETIRED_0 + 3] = "retired-3",
    [PMU_ITEM_RETIRED_0 + 4] = "retired-4",
    [PMU_ITEM_RETIRED_0 + 5] = "retired-5",
    [PMU_ITEM_RETIRED_0 + 6] = "retired-6",
    [PMU_ITEM_RETIRED_0 + 7] = "retired-7",
    [PMU_ITEM_RETIRED_0 + 8] = "retired-8",
    [PMU_ITEM_PORT_0] = "port-0",
    [PMU_ITEM_PORT_1] = "port-1",
    [PMU_ITEM_PORT_LOAD] = "port-load",
    [PMU_ITEM_PORT_STORE_DATA] = "port-store-data",
    [PMU_ITEM_PORT_5] = "port-5",
    [PMU_ITEM_PORT_6] = "port-6",
    [PMU_ITEM_PORT_STORE_ADDRESS] = "port-store-address",
    [PMU_ITEM_WAIT_L1] = "wait-l1",
    [PMU_ITEM_WAIT_L2] = "wait-l2",
    [PMU_ITEM_WAIT_L3] = "wait-l3",
    [PMU_ITEM_WAIT_DRAM] = "wait-dram",
    [PMU_ITEM_STALL_L1] = "stall-l1",
    [PMU_ITEM_STALL_L2] = "stall-l2",
    [PMU_ITEM_STALL_L3] = "stall-l3",
    [PMU_ITEM_STALL_DRAM] = "stall-dram",
    [PMU_ITEM_STALL_NOTHING] = "stall-nothing",
    [PMU_ITEM_STALL_STORES] = "stall-stores",
    [PMU_ITEM_NO_STORE_BUFFER] = "no-store-buffer",
    [PMU_ITEM_SERIALIZED] = "serialized",
    [PMU_ITEM_PAUSE_CYCLES] = "pause-cycles",
    [PMU_ITEM_SCHEDULER_EMPTY] = "scheduler-empty",
    [PMU_ITEM_SCHEDULER_REFILLS] = "scheduler-refills",
    [PMU_ITEM_INT_DIVIDER] = "int-divider",
    [PMU_ITEM_FP_DIVIDER] = "fp-divider",
    [PMU_ITEM_LOCK_CYCLES] = "lock-cycles",
    [PMU_ITEM_X87_UOPS] = "x87-uops",
    [PMU_ITEM_MACRO_FUSED] = "macro-fused",
    [PMU_ITEM_FB_HITS] = "fb-hits",
    [PMU_ITEM_FB_SOFT_HITS] = "fb-soft-hits",
    [PMU_ITEM_FORWARD_BLOCKED] = "forward-blocked",
    [PMU_ITEM_ADDRESS_ALIAS] = "address-alias",
    [PMU_ITEM_DTLB_LOAD_ACTIVE] = "dtlb-load-active",
    [PMU_ITEM_DTLB_STORE_ACTIVE] = "dtlb-store-active",
    [PMU_ITEM_ITLB_ACTIVE] = "itlb-active",
    [PMU_ITEM_L1D_PENDING] = "l1d-pending",
    [PMU_ITEM_FB_FULL] = "fb-full",
    [PMU_ITEM_FB_FULL_PERIODS] = "fb-full-periods",
    [PMU_ITEM_OFFCORE_DATA] = "offcore-data",
    [PMU_ITEM_OFFCORE_DRAM] = "offcore-dram",
    [PMU_ITEM_OFFCORE_PREFETCH] = "offcore-prefetch",
    [PMU_ITEM_OFFCORE_PROMOTED] = "offcore-promoted",
    [PMU_ITEM_OFFCORE_PROMOTED_DRAM] = "offcore-promoted-dram",
    [PMU_ITEM_OFFCORE_READS_1] = "offcore-reads-1",
    [PMU_ITEM_OFFCORE_READS_1 + 1] = "offcore-reads-2",
    [PMU_ITEM_OFFCORE_READS_1 + 2] = "offcore-reads-3",
    [PMU_ITEM_OFFCORE_READS_1 + 3] = "offcore-reads-4",
    [PMU_ITEM_OFFCORE_READS_1 + 4] = "offcore-reads-5",
    [PMU_ITEM_OFFCORE_READS_1 + 5] = "offcore-reads-6",
    [PMU_ITEM_OFFCORE_RFO_CYCLES] = "offcore-rfo-cycles",
    [PMU_ITEM_OFFCORE_CODE] = "offcore-code",
    [PMU_ITEM_OFFCORE_CODE_CYCLES] = "offcore-code-cycles",
    [PMU_ITEM_DSB_UOPS] = "dsb-uops",
    [PMU_ITEM_DSB_1] = "dsb-1",
    [PMU_ITEM_DSB_1 + 1] = "dsb-2",
    [PMU_ITEM_DSB_1 + 2] = "dsb-3",
    [PMU_ITEM_DSB_1 + 3] = "dsb-4",
    [PMU_ITEM_DSB_1 + 4] = "dsb-5",
    [PMU_ITEM_DSB_1 + 5] = "dsb-6",
    [PMU_ITEM_MITE_UOPS] = "mite-uops",
    [PMU_ITEM_MITE_1] = "mite-1",
    [PMU_ITEM_MITE_1 + 1] = "mite-2",
    [PMU_ITEM_MITE_1 + 2] = "mite-3",
    [PMU_ITEM_MITE_1 + 3] = "mite-4",
    [PMU_ITEM_MITE_1 + 4] = "mite-5",
    [PMU_ITEM_MITE_1 + 5] = "mite-6",
    [PMU_ITEM_LSD_UOPS] = "lsd-uops",
    [PMU_ITEM_LSD_CYCLES] = "lsd-cycles",
    [PMU_ITEM_LSD_FULL_CYCLES] = "lsd-full-cycles",
    [PMU_ITEM_MS_UOPS] = "ms-uops",
    [PMU_ITEM_MS_CYCLES] = "ms-cycles",
    [PMU_ITEM_MS_SWITCHES] = "ms-switches",
    [PMU_ITEM_DECODED] = "decoded",
    [PMU_ITEM_DECODED_1] = "decoded-1",
    [PMU_ITEM_DECODED_2] = "decoded-2",
    [PMU_ITEM_DECODER_0_UOPS] = "decoder-0-uops",
    [PMU_ITEM_MITE_SWITCHES] = "mite-switches",
    [PMU_ITEM_MITE_SWITCH_CYCLES] = "mite-switch-cycles",
    [PMU_ITEM_LCP_CYCLES] = "lcp-cycles",
    [PMU_ITEM_FETCH_TAG_CYCLES] = "fetch-tag-cycles",
    [PMU_ITEM_FETCH_DATA_CYCLES] = "fetch-data-cycles",
    [PMU_ITEM_FETCH_DATA_PERIODS] = "fetch-data-periods",
    [PMU_ITEM_RESTEERS] = "resteers",
    [PMU_ITEM_RESTEER_CYCLES] = "resteer-cycles",
    [PMU_ITEM_RECOVERY_CYCLES] = "recovery-cycles",
    [PMU_ITEM_CLEAR_CYCLES] = "clear-cycles",
    [PMU_ITEM_BUBBLE_1] = "bubble-1",
    [PMU_ITEM_BUBBLE_1 + 1] = "bubble-2",
    [PMU_ITEM_BUBBLE_1 + 2] = "bubble-4",
    [PMU_ITEM_BUBBLE_1 + 3] = "bubble-8",
    [PMU_ITEM_BUBBLE_1 + 4] = "bubble-16",
    [PMU_ITEM_BUBBLE_1 + 5] = "bubble-32",
    [PMU_ITEM_BUBBLE_1 + 6] = "bubble-64",
    [PMU_ITEM_BUBBLE_1 + 7] = "bubble-128",
    [PMU_ITEM_BUBBLE_1 + 8] = "bubble-256",
    [PMU_ITEM_BUBBLE_1 + 9] = "bubble-512",
    [PMU_ITEM_BRANCH_MISSES] = "branch-misses",
    [PMU_ITEM_MISSES_COND_NTAKEN] = "misses-cond-ntaken",
    [PMU_ITEM_MISSES_COND_TAKEN] = "misses-cond-taken",
    [PMU_ITEM_MISSES_JMP_INDIRECT] = "misses-jmp-indirect",
    [PMU_ITEM_MISSES_CALL_INDIRECT] = "misses-call-indirect",
    [PMU_ITEM_MISSES_RET] = "misses-ret",
    [PMU_ITEM_ASSISTS_FP] = "assists-fp",
    [PMU_ITEM_INTERRUPTS] = "interrupts",
    [PMU_ITEM_EXCEPTIONS] = "exceptions",
    [PMU_ITEM_CLEARS] = "clears",
    [PMU_ITEM_CLEARS_SMC] = "clears-smc",
    [PMU_ITEM_CLEARS_ORDERING] = "clears-ordering",
    [PMU_ITEM_L1I_HITS] = "l1i-hits",
    [PMU_ITEM_L1I_MISSES] = "l1i-misses",
    [PMU_ITEM_CODE_L2] = "code-l2",
    [PMU_ITEM_CODE_L3] = "code-l3",
    [PMU_ITEM_CODE_DRAM] = "code-dram",
    [PMU_ITEM_CODE_PREFETCH_L2] = "code-prefetch-l2",
    [PMU_ITEM_CODE_PREFETCH_L3] = "code-prefetch-l3",
    [PMU_ITEM_CODE_PREFETCH_DRAM] = "code-prefetch-dram",
    [PMU_ITEM_ITLB_STLB] = "itlb-stlb",
    [PMU_ITEM_ITLB_CYCLES] = "itlb-cycles",
    [PMU_ITEM_ITLB_WALKS_4K] = "itlb-walks-4k",
    [PMU_ITEM_ITLB_WALKS_2M] = "itlb-walks-2m",
};

const char *pmu_ledger_item_name(PmuLedgerItem item)
{
    return item < PMU_ITEM_NR ? item_names[item] : NULL;
}

void pmu_ledger_init(PmuLedger *ledger, uint32_t width,
                     uint32_t tsc_num, uint32_t tsc_den,
                     uint32_t xclk_num, uint32_t xclk_den)
{
    g_assert(width >= 1 && width <= PMU_MAX_WIDTH);
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

/* The class of the slot that is followed by @age newer ones. */
static unsigned history_class(const PmuOpenCycle *open, unsigned age)
{
    return open->history >> (4 * age) & 0xf;
}

/* Write the slots of all whole cycles at @level to @slots; returns the sum. */
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
    uint64_t slots[PMU_SLOT_NR], left[PMU_SLOT_NR];

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        if (ledger->slots[level][i] >= PMU_LEDGER_LIMIT) {
            return false;
        }
    }
    if (open->slots >= ledger->width) {
        return false;
    }
    /* The open cycle may not have more slots of a class than the total. */
    memcpy(left, ledger->slots[level], sizeof(left));
    for (uint32_t i = 0; i < open->slots; i++) {
        unsigned class = history_class(open, i);

        if (class >= PMU_SLOT_NR || !left[class]--) {
            return false;
        }
    }
    return whole_slots(ledger, level, slots) % ledger->width == 0;
}

void pmu_ledger_fill_cycle(PmuLedger *ledger, PmuLevel level)
{
    uint64_t *slots = ledger->slots[level], sum = 0;
    unsigned most = 0, rest;

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        sum += slots[i];
        most = slots[i] > slots[most] ? i : most;
    }
    rest = sum % ledger->width;
    slots[most] += rest ? ledger->width - rest : 0;
    ledger->open[level] = (PmuOpenCycle) {};
    ledger->repairs++;
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

    item[PMU_ITEM_SLOTS] = sum;
    item[PMU_ITEM_CYCLES] = sum / ledger->width;
    item[PMU_ITEM_REF_TSC] = scale(item[PMU_ITEM_CYCLES],
                                   ledger->tsc_num, ledger->tsc_den);
    item[PMU_ITEM_REF_XCLK] = scale(item[PMU_ITEM_CYCLES],
                                    ledger->xclk_num, ledger->xclk_den);
    item[PMU_ITEM_BRANCH_MISSES] = 0;
    for (unsigned i = PMU_ITEM_MISSES_COND_NTAKEN; i <= PMU_ITEM_MISSES_RET;
         i++) {
        item[PMU_ITEM_BRANCH_MISSES] += item[i];
    }
    item[PMU_ITEM_CLEARS] = item[PMU_ITEM_BRANCH_MISSES] +
                            item[PMU_ITEM_ASSISTS_FP] +
                            item[PMU_ITEM_CLEARS_SMC] +
                            item[PMU_ITEM_CLEARS_ORDERING];
}

static void want_sampled(PmuInterest *interest, PmuLedgerItem item)
{
    interest->sampled |= 1u << (item - PMU_ITEM_SAMPLED) / PMU_INTEREST_GROUP;
}

void pmu_interest_add(PmuInterest *interest, PmuLedgerItem item)
{
    if (item == PMU_ITEM_BRANCH_MISSES || item == PMU_ITEM_CLEARS) {
        /* Both are sums of other items: see snapshot_level(). */
        for (unsigned i = PMU_ITEM_BRANCH_MISSES;
             i <= PMU_ITEM_CLEARS_ORDERING; i++) {
            want_sampled(interest, i);
        }
    } else if (item >= PMU_ITEM_SAMPLED) {
        want_sampled(interest, item);
    }
    interest->observed |= pmu_ledger_item_observed(item);
    interest->taken |= pmu_ledger_item_taken(item);
}

void pmu_ledger_snapshot(const PmuLedger *ledger, PmuLedgerSnapshot *snap)
{
    for (int level = 0; level < PMU_LEVEL_NR; level++) {
        snapshot_level(ledger, level, snap->item[level]);
    }
}
