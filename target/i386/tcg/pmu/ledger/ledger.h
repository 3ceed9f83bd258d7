/*
 * The ledger: exact totals of what the modelled core did, by privilege level.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The timing model writes the ledger; the performance counters and the monitor
 * read it.  It does not depend on QEMU, nor on which counters are on.
 *
 * This folder has the totals, their form in a saved state (saved-ledger), and
 * the clock that the parts of the model share (slot-clock).  It includes uarch/
 * alone.  It must not know registers, events or how an item comes about.
 */

#ifndef TARGET_I386_PMU_LEDGER_LEDGER_H
#define TARGET_I386_PMU_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/uarch/uarch.h"

/*
 * The two privilege levels that a counter can tell apart: the OS and USR bits
 * of IA32_PERFEVTSELx and IA32_FIXED_CTR_CTRL (SDM vol. 3B, 20.2.1.1).
 */
typedef enum PmuLevel {
    PMU_LEVEL_OS,               /* CPL 0 */
    PMU_LEVEL_USR,              /* CPL 1 to 3 */
    PMU_LEVEL_NR
} PmuLevel;

/*
 * Leaf classes of a pipeline slot: level 2 of the Top-down Microarchitecture
 * Analysis tree (SDM vol. 3B, "Performance Metrics"; Yasin, ISPASS 2014).
 * A level-1 class is the sum of two neighbours, so that level 1 is conserved if
 * the leaves are.
 */
typedef enum PmuSlotClass {
    PMU_SLOT_LIGHT_OPS,         /* retiring */
    PMU_SLOT_HEAVY_OPS,
    PMU_SLOT_BR_MISPREDICT,     /* bad speculation */
    PMU_SLOT_MACHINE_CLEARS,
    PMU_SLOT_FETCH_LATENCY,     /* frontend bound */
    PMU_SLOT_FETCH_BANDWIDTH,
    PMU_SLOT_MEMORY_BOUND,      /* backend bound */
    PMU_SLOT_CORE_BOUND,
    PMU_SLOT_NR
} PmuSlotClass;

/*
 * The items of the ledger: everything that can be read from it.  The first
 * PMU_SLOT_NR items have the values of PmuSlotClass.
 *
 * Items before PMU_ITEM_SAMPLED depend on instructions and data addresses
 * alone, and are counted for every instruction.  Items from there on depend on
 * fetch, predictions and the pipeline.  While the timing model does not
 * simulate these, it estimates the items, and the slots: see timing.h.
 *
 * A histogram of cycles has neighbouring items: X_0 counts cycles with none of
 * something, X_1 those with one, and so on; the last counts those with that
 * many or more.  If there is no X_0, cycles with none are not counted.  Items
 * from an X_0 on add up to CYCLES while the pipeline is simulated in detail.
 */
typedef enum PmuLedgerItem {
    /* Slots, one item for each leaf class: see PmuSlotClass. */
    PMU_ITEM_CYCLES = PMU_SLOT_NR,  /* unhalted core cycles */
    PMU_ITEM_SLOTS,                 /* width x cycles = sum of the leaves */
    PMU_ITEM_REF_TSC,               /* unhalted cycles at TSC rate */
    PMU_ITEM_REF_XCLK,              /* unhalted cycles of the crystal clock */

    /* Instructions retired, by their kind. */
    PMU_ITEM_INSTRUCTIONS,          /* of every kind */
    PMU_ITEM_BRANCHES,              /* of every kind, the sum of these: */
    PMU_ITEM_BRANCHES_COND_NTAKEN,  /* Jcc, JRCXZ, LOOPcc, not taken */
    PMU_ITEM_BRANCHES_COND_TAKEN,
    PMU_ITEM_BRANCHES_JMP,          /* direct */
    PMU_ITEM_BRANCHES_JMP_INDIRECT,
    PMU_ITEM_BRANCHES_CALL,         /* direct */
    PMU_ITEM_BRANCHES_CALL_INDIRECT,
    PMU_ITEM_BRANCHES_RET,          /* near */
    PMU_ITEM_BRANCHES_FAR,          /* and INT, IRET, SYSCALL and so on */
    PMU_ITEM_NOPS,
    PMU_ITEM_PAUSES,
    PMU_ITEM_LFENCES,
    PMU_ITEM_PREFETCH_NTA,          /* PREFETCHNTA and so on */
    PMU_ITEM_PREFETCH_T0,
    PMU_ITEM_PREFETCH_T1_T2,
    PMU_ITEM_PREFETCH_W,
    /* Floating-point arithmetic instructions; an FMA counts as two. */
    PMU_ITEM_FP_SCALAR_DOUBLE,
    PMU_ITEM_FP_SCALAR_SINGLE,
    PMU_ITEM_FP_128_DOUBLE,
    PMU_ITEM_FP_128_SINGLE,
    PMU_ITEM_FP_256_DOUBLE,
    PMU_ITEM_FP_256_SINGLE,
    /* Instructions on vectors of integers. */
    PMU_ITEM_INT_ADD_128,           /* add, subtract, absolute differences */
    PMU_ITEM_INT_ADD_256,
    PMU_ITEM_INT_MUL_256,
    PMU_ITEM_INT_SHUFFLES,
    PMU_ITEM_ASSISTS_FP,            /* microcode assists for denormals */
    /* Events that were delivered, at the level that they interrupted. */
    PMU_ITEM_INTERRUPTS,            /* of hardware */
    PMU_ITEM_EXCEPTIONS,            /* and INT1; not INT n, INT3, INTO */

    /*
     * Loads and stores retired.  A load counts where its line was found, one of
     * two lines at the level further away.  An instruction that reads memory
     * twice is two loads, one that reads and writes is a load and a store.  A
     * REP string instruction is one for each line of an operand.
     */
    PMU_ITEM_LOADS_L1,              /* in L1D, or on its way there */
    PMU_ITEM_LOADS_L2,
    PMU_ITEM_LOADS_L3,
    PMU_ITEM_LOADS_DRAM,
    PMU_ITEM_LOADS_L3_FORWARDED,    /* of LOADS_L3: another vCPU was asked */
    PMU_ITEM_LOADS_LOCKED,          /* of all loads: those with a LOCK */
    PMU_ITEM_LOADS_SPLIT,           /* ... that reach into a second line */
    PMU_ITEM_STORES,
    PMU_ITEM_STORES_SPLIT,

    /*
     * Accesses, and requests for lines, by where the line was found.  A store
     * to a line in L1D requests it only if other vCPUs may have it.
     */
    PMU_ITEM_L1D_ACCESSES,          /* demand loads and stores */
    PMU_ITEM_L1D_MISSES,            /* sum of the next six, but PREFETCHW's */
    PMU_ITEM_DATA_L2,               /* by loads, found in L2 */
    PMU_ITEM_DATA_L3,
    PMU_ITEM_DATA_DRAM,
    PMU_ITEM_RFO_L2,                /* by stores and PREFETCHW */
    PMU_ITEM_RFO_L3,
    PMU_ITEM_RFO_DRAM,
    /* Of these, found in L3, by PmuDirectoryState: see tag-array.h. */
    PMU_ITEM_RFO_L3_ALONE,          /* no other vCPU need be asked */
    PMU_ITEM_DATA_L3_ALONE,
    PMU_ITEM_DATA_L3_SHARED,        /* another vCPU has it */
    PMU_ITEM_DATA_L3_MODIFIED,      /* ... and has written to it */
    PMU_ITEM_RFO_L3_MODIFIED,
    PMU_ITEM_PREFETCH_L2,           /* by the streamer for data, found in L2 */
    PMU_ITEM_PREFETCH_L3,
    PMU_ITEM_PREFETCH_DRAM,
    PMU_ITEM_SOFT_PREFETCH_L2,      /* by PREFETCHT0 and so on, found in L2 */
    PMU_ITEM_SOFT_PREFETCH_L3,
    PMU_ITEM_SOFT_PREFETCH_DRAM,
    PMU_ITEM_SOFT_PREFETCH_L1D,     /* of these: those that go to L1D */
    PMU_ITEM_L1D_PREFETCH_L2,       /* by the prefetcher of L1D, found in L2 */
    PMU_ITEM_L1D_PREFETCH_L3,
    PMU_ITEM_L1D_PREFETCH_DRAM,
    PMU_ITEM_STREAM_L3,             /* by non-temporal stores: L3 loses it */
    PMU_ITEM_STREAM_DRAM,           /* ... or L3 did not have it */

    /* Translations of data addresses that the DTLB lacks. */
    PMU_ITEM_DTLB_LOAD_STLB,        /* found in the STLB */
    PMU_ITEM_DTLB_LOAD_CYCLES,      /* sum of the cycles of all page walks */
    PMU_ITEM_DTLB_LOAD_WALKS_4K,    /* page walks, by the size of the page */
    PMU_ITEM_DTLB_LOAD_WALKS_2M,
    PMU_ITEM_DTLB_LOAD_WALKS_1G,
    PMU_ITEM_DTLB_STORE_STLB,
    PMU_ITEM_DTLB_STORE_CYCLES,
    PMU_ITEM_DTLB_STORE_WALKS_4K,
    PMU_ITEM_DTLB_STORE_WALKS_2M,
    PMU_ITEM_DTLB_STORE_WALKS_1G,
    PMU_ITEM_TLB_FLUSHES,           /* of one page, or more */

    /* What the pipeline alone counts, in the order of PmuPipelineCount. */
    PMU_ITEM_SAMPLED,
    PMU_ITEM_UOPS_ISSUED = PMU_ITEM_SAMPLED, /* fused domain */
    PMU_ITEM_ISSUED_0,              /* cycles by micro-ops issued */
    PMU_ITEM_ISSUED_6 = PMU_ITEM_ISSUED_0 + 6,
    PMU_ITEM_UNDELIVERED_0,         /* ... by slots lost to the frontend */
    PMU_ITEM_UNDELIVERED_6 = PMU_ITEM_UNDELIVERED_0 + 6,
    PMU_ITEM_UOPS_EXECUTED,         /* unfused domain */
    PMU_ITEM_EXECUTED_0,            /* cycles by micro-ops dispatched */
    PMU_ITEM_EXECUTED_8 = PMU_ITEM_EXECUTED_0 + 8,
    PMU_ITEM_RETIRED_0,             /* ... by slots that retire */
    PMU_ITEM_RETIRED_8 = PMU_ITEM_RETIRED_0 + 8,

    /* Micro-ops by the ports that they are dispatched to. */
    PMU_ITEM_PORT_0,
    PMU_ITEM_PORT_1,
    PMU_ITEM_PORT_LOAD,             /* 2 and 3; Golden Cove: also 11 */
    PMU_ITEM_PORT_STORE_DATA,       /* 4 and 9 */
    PMU_ITEM_PORT_5,                /* Golden Cove: also 10 */
    PMU_ITEM_PORT_6,
    PMU_ITEM_PORT_STORE_ADDRESS,    /* 7 and 8 */

    /*
     * Cycles in which a load waits, by the level furthest away that one waits
     * for.
     */
    PMU_ITEM_WAIT_L1,
    PMU_ITEM_WAIT_L2,
    PMU_ITEM_WAIT_L3,
    PMU_ITEM_WAIT_DRAM,
    /* Those of these cycles in which nothing is dispatched. */
    PMU_ITEM_STALL_L1,
    PMU_ITEM_STALL_L2,
    PMU_ITEM_STALL_L3,
    PMU_ITEM_STALL_DRAM,
    /* Cycles with neither a dispatch nor such a wait nor STALL_STORES. */
    PMU_ITEM_STALL_NOTHING,         /* but something waits to be dispatched */
    /* Cycles with a full store buffer, except STALL_L1 to STALL_DRAM. */
    PMU_ITEM_STALL_STORES,

    /* Cycles in which nothing issues ... */
    PMU_ITEM_NO_STORE_BUFFER,       /* as the store buffer is full */
    PMU_ITEM_SERIALIZED,            /* due to serialising instructions, PAUSE */
    PMU_ITEM_PAUSE_CYCLES,          /* of SERIALIZED, those of PAUSE */
    /* Cycles in which nothing waits to be dispatched. */
    PMU_ITEM_SCHEDULER_EMPTY,
    PMU_ITEM_SCHEDULER_REFILLS,     /* times that this ended */

    /* Cycles in which these are busy. */
    PMU_ITEM_INT_DIVIDER,
    PMU_ITEM_FP_DIVIDER,
    PMU_ITEM_LOCK_CYCLES,
    PMU_ITEM_X87_UOPS,              /* micro-ops executed, unfused domain */
    PMU_ITEM_MACRO_FUSED,           /* instructions that came in pairs */

    /* Requests under way.  "Each cycle": their number, summed over cycles. */
    PMU_ITEM_FB_HITS,               /* loads whose line is on its way to L1D */
    PMU_ITEM_FB_SOFT_HITS,          /* ... as PREFETCHh asked for it */
    PMU_ITEM_FORWARD_BLOCKED,       /* loads that a store cannot forward to */
    PMU_ITEM_ADDRESS_ALIAS,         /* ... that have an alias: 4K aliasing */
    PMU_ITEM_DTLB_LOAD_ACTIVE,      /* cycles with any page walk for a load */
    PMU_ITEM_DTLB_STORE_ACTIVE,
    PMU_ITEM_ITLB_ACTIVE,
    PMU_ITEM_L1D_PENDING,           /* loads that miss L1D, each cycle */
    PMU_ITEM_FB_FULL,               /* cycles: a miss waits for a fill buffer */
    PMU_ITEM_FB_FULL_PERIODS,       /* times that this began */
    PMU_ITEM_OFFCORE_DATA,          /* by loads, beyond L2, each cycle */
    PMU_ITEM_OFFCORE_DRAM,          /* ... of these: those beyond L3 */
    PMU_ITEM_OFFCORE_PREFETCH,      /* by prefetches, beyond L2, each cycle */
    PMU_ITEM_OFFCORE_PROMOTED,      /* ... from when a load waits for it */
    PMU_ITEM_OFFCORE_PROMOTED_DRAM, /* ... of these: those beyond L3 */
    PMU_ITEM_OFFCORE_READS_1,       /* cycles by all reads of data under way */
    PMU_ITEM_OFFCORE_READS_6 = PMU_ITEM_OFFCORE_READS_1 + 5,
    PMU_ITEM_OFFCORE_RFO_CYCLES,    /* cycles with any request by a store */
    PMU_ITEM_OFFCORE_CODE,          /* by fetch, beyond L2, each cycle */
    PMU_ITEM_OFFCORE_CODE_CYCLES,   /* cycles with any by fetch */

    /* Fetch and decode. */
    PMU_ITEM_DSB_UOPS,              /* micro-ops that the DSB delivers */
    PMU_ITEM_DSB_1,                 /* cycles by these */
    PMU_ITEM_DSB_6 = PMU_ITEM_DSB_1 + 5,
    PMU_ITEM_MITE_UOPS,
    PMU_ITEM_MITE_1,
    PMU_ITEM_MITE_6 = PMU_ITEM_MITE_1 + 5,
    PMU_ITEM_LSD_UOPS,
    PMU_ITEM_LSD_CYCLES,            /* in which micro-ops issue from it */
    PMU_ITEM_LSD_FULL_CYCLES,       /* ... in all slots */
    PMU_ITEM_MS_UOPS,               /* MS: the microcode sequencer */
    PMU_ITEM_MS_CYCLES,
    PMU_ITEM_MS_SWITCHES,           /* times that it takes over */
    PMU_ITEM_DECODED,               /* instructions that the decoders decode */
    PMU_ITEM_DECODED_1,             /* cycles by decoders in use */
    PMU_ITEM_DECODED_2,
    PMU_ITEM_DECODER_0_UOPS,        /* micro-ops of the first decoder */
    PMU_ITEM_MITE_SWITCHES,         /* from the DSB to the decoders */
    PMU_ITEM_MITE_SWITCH_CYCLES,
    PMU_ITEM_LCP_CYCLES,            /* lost to length-changing prefixes */
    PMU_ITEM_FETCH_TAG_CYCLES,      /* fetch waits for a translation */
    PMU_ITEM_FETCH_DATA_CYCLES,     /* ... for a line that missed L1I */
    PMU_ITEM_FETCH_DATA_PERIODS,    /* times that this began */
    PMU_ITEM_RESTEERS,              /* taken branches that the BTB lacked */
    PMU_ITEM_RESTEER_CYCLES,
    PMU_ITEM_RECOVERY_CYCLES,       /* from a clear until fetch restarts */
    PMU_ITEM_CLEAR_CYCLES,          /* from then to the first micro-op */
    /* Times that nothing was delivered for 2^n to 2^(n+1) - 1 cycles. */
    PMU_ITEM_BUBBLE_1,
    PMU_ITEM_BUBBLE_512 = PMU_ITEM_BUBBLE_1 + 9, /* 512 or more */
    PMU_ITEM_TIMED_END,             /* one behind those of the pipeline */

    /* What fetch and predictors count; first, mispredicted branches. */
    PMU_ITEM_BRANCH_MISSES = PMU_ITEM_TIMED_END, /* the sum of the next five */
    PMU_ITEM_MISSES_COND_NTAKEN,
    PMU_ITEM_MISSES_COND_TAKEN,
    PMU_ITEM_MISSES_JMP_INDIRECT,
    PMU_ITEM_MISSES_CALL_INDIRECT,
    PMU_ITEM_MISSES_RET,
    PMU_ITEM_CLEARS,        /* BRANCH_MISSES + ASSISTS_FP + the next two */
    PMU_ITEM_CLEARS_SMC,            /* machine clears by modified code */
    PMU_ITEM_CLEARS_ORDERING,       /* ... by loads of what others wrote */
    PMU_ITEM_L1I_HITS,              /* lines that the decoders got from L1I */
    PMU_ITEM_L1I_MISSES,            /* the sum of the next three */
    PMU_ITEM_CODE_L2,               /* found in L2 */
    PMU_ITEM_CODE_L3,
    PMU_ITEM_CODE_DRAM,
    PMU_ITEM_CODE_PREFETCH_L2,      /* by the streamer for code: as for data */
    PMU_ITEM_CODE_PREFETCH_L3,
    PMU_ITEM_CODE_PREFETCH_DRAM,
    PMU_ITEM_ITLB_STLB,             /* as for data */
    PMU_ITEM_ITLB_CYCLES,
    PMU_ITEM_ITLB_WALKS_4K,
    PMU_ITEM_ITLB_WALKS_2M,         /* or larger */
    PMU_ITEM_NR
} PmuLedgerItem;

/*
 * Do data caches, data TLBs or predictors count @item?  Then they must see all
 * that runs while a counter needs it.
 */
static inline bool pmu_ledger_item_observed(PmuLedgerItem item)
{
    return (item >= PMU_ITEM_LOADS_L1 && item < PMU_ITEM_SAMPLED) ||
           (item >= PMU_ITEM_BRANCH_MISSES && item <= PMU_ITEM_MISSES_RET);
}

/* Does @item depend on which way conditional branches went? */
static inline bool pmu_ledger_item_taken(PmuLedgerItem item)
{
    return item == PMU_ITEM_BRANCHES_COND_NTAKEN ||
           item == PMU_ITEM_BRANCHES_COND_TAKEN;
}

/* Which ledger items the counters need, besides slots and instructions. */
typedef struct PmuInterest {
    /* Items from PMU_ITEM_SAMPLED on: a bit for each PMU_INTEREST_GROUP. */
    uint32_t sampled;
    bool observed;              /* any item of pmu_ledger_item_observed() */
    bool taken;                 /* any item of pmu_ledger_item_taken() */
    /*
     * No counter needs the model: only the total time matters, not which code
     * took it.
     */
    bool time_only;
} PmuInterest;

/* Items in a group. */
#define PMU_INTEREST_GROUP 8

/* Add @item to @interest. */
void pmu_interest_add(PmuInterest *interest, PmuLedgerItem item);

/* Exact totals at one instant. */
typedef struct PmuLedgerSnapshot {
    uint64_t item[PMU_LEVEL_NR][PMU_ITEM_NR];
} PmuLedgerSnapshot;

/* The cycle of a level that is being filled, which snapshots leave out. */
typedef struct PmuOpenCycle {
    uint64_t history;       /* classes of the newest slots, newest lowest:
                               4 bits for each of PMU_MAX_WIDTH */
    uint32_t slots;         /* slots filled, 0 to width - 1 */
} PmuOpenCycle;

/*
 * The running totals.  Any number of slots can be entered at a time, but a
 * snapshot has only whole cycles.  So the ledger keeps the classes of the open
 * cycle, for the snapshot to leave out.  Each level has its own open cycle, as
 * estimates for one level come in between those for the other.
 */
typedef struct PmuLedger {
    uint64_t slots[PMU_LEVEL_NR][PMU_SLOT_NR];
    uint64_t event[PMU_LEVEL_NR][PMU_ITEM_NR]; /* items from INSTRUCTIONS on */
    PmuOpenCycle open[PMU_LEVEL_NR];
    uint32_t level;         /* PmuLevel at which pmu_ledger_event() counts */
    uint32_t width;         /* slots a cycle */
    uint64_t reciprocal;    /* of width: see pmu_ledger_modulo() */
    /* Reference clocks as fractions of the core clock (uarch table). */
    uint32_t tsc_num, tsc_den;
    uint32_t xclk_num, xclk_den;
    /* Impossible states found and repaired: see pmu_timing_repairs(). */
    uint64_t repairs;
} PmuLedger;

/* A total of slots that is loaded is below this, so that none ever wraps. */
#define PMU_LEDGER_LIMIT (1ull << 60)

/* Below this pmu_ledger_modulo() multiplies, which is exact. */
#define PMU_LEDGER_FAST (1ull << 28)

/*
 * @n modulo the width, without a division for small @n.  Let w be the width and
 * m the reciprocal.  Then m * w = 2^32 + e with 1 <= e <= w, so that
 * n * m / 2^32 exceeds n / w by n * e / (w * 2^32).  While n * e < 2^32 this is
 * below 1 / w, too little to reach the next whole number: 15 * 2^28 < 2^32.
 */
static inline uint32_t pmu_ledger_modulo(const PmuLedger *ledger, uint64_t n)
{
    if (n < ledger->width) {
        return n;
    }
    if (n < PMU_LEDGER_FAST) {
        return n - (n * ledger->reciprocal >> 32) * ledger->width;
    }
    return n % ledger->width;
}

/*
 * Enter @n slots (any number) of class @class at @level.  It takes one addition
 * for the total and one shift for the open cycle.
 */
static inline void pmu_ledger_slots(PmuLedger *ledger, PmuLevel level,
                                    PmuSlotClass class, uint64_t n)
{
    PmuOpenCycle *open = &ledger->open[level];
    uint64_t ones = 0x1111111111111111ull;
    uint32_t slots = open->slots + pmu_ledger_modulo(ledger, n);

    ledger->slots[level][class] += n;
    if (n >= 16) {
        open->history = ones * class;
    } else if (n) {
        open->history = (open->history << (4 * n)) |
                        ((ones * class) & ((1ull << (4 * n)) - 1));
    }
    open->slots = slots < ledger->width ? slots : slots - ledger->width;
}

/* Add @n to @item, PMU_ITEM_INSTRUCTIONS or later, at @ledger->level. */
static inline void pmu_ledger_event(PmuLedger *ledger, PmuLedgerItem item,
                                    uint64_t n)
{
    ledger->event[ledger->level][item] += n;
}

/*
 * Repair the open cycle of @level, which is not what was entered.  Totals must
 * not fall, so the cycle is filled up, with the class that has most slots.
 */
void pmu_ledger_fill_cycle(PmuLedger *ledger, PmuLevel level);

/*
 * Initialise an empty ledger of @width slots a cycle (1 to PMU_MAX_WIDTH),
 * whose reference clocks run at these fractions (den > 0) of the core clock.
 */
void pmu_ledger_init(PmuLedger *ledger, uint32_t width,
                     uint32_t tsc_num, uint32_t tsc_den,
                     uint32_t xclk_num, uint32_t xclk_den);

/*
 * Does a ledger that was loaded from elsewhere, and may be hostile, keep the
 * promises of this header?  Its width and clocks were not loaded.
 */
bool pmu_ledger_plausible(const PmuLedger *ledger);

/*
 * Write the totals of all whole cycles to @snap.  At every instant, and for
 * each level, SLOTS = width x CYCLES = sum of the leaf classes.  The reference
 * clocks are the level's cycles times their fraction, rounded down.
 */
void pmu_ledger_snapshot(const PmuLedger *ledger, PmuLedgerSnapshot *snap);

/*
 * The name of @item in lower case with dashes, as QMP and HMP print it;
 * NULL from PMU_ITEM_NR on.
 */
const char *pmu_ledger_item_name(PmuLedgerItem item);

#endif
