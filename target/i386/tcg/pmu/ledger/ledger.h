/*
 * The ledger: what the modelled core did, exactly, per privilege level.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Knows nothing of QEMU, of registers or of who is counting.  The timing model
 * writes it, the performance counters and the monitor read it.
 *
 * This folder has the totals themselves, how they are saved by name
 * (saved-ledger), and the clock that the parts of the model share (slot-clock).
 * It includes uarch/ alone.  It must not know registers, events or how an item
 * comes about.
 */

#ifndef TARGET_I386_PMU_LEDGER_LEDGER_H
#define TARGET_I386_PMU_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/uarch/uarch.h"

/*
 * The two privilege levels a counter can tell apart: the OS and USR bits of
 * IA32_PERFEVTSELx and IA32_FIXED_CTR_CTRL (SDM vol. 3B, 20.2.1.1).
 */
typedef enum PmuLevel {
    PMU_LEVEL_OS,               /* CPL 0 */
    PMU_LEVEL_USR,              /* CPL 1 to 3 */
    PMU_LEVEL_NR
} PmuLevel;

/*
 * Leaf classes of a pipeline slot: level 2 of the Top-down Microarchitecture
 * Analysis tree (SDM vol. 3B, "Performance Metrics"; Yasin, ISPASS 2014).
 * A level-1 class is the sum of two neighbours, so that conservation on the
 * leaves is conservation everywhere.
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
 * Everything that can be read from the ledger.  The first PMU_SLOT_NR items
 * have the values of PmuSlotClass.
 *
 * Those before PMU_ITEM_SAMPLED depend on instructions and data addresses
 * alone, and are counted for every instruction.  Those from it on depend on
 * fetch, predictions and the pipeline, and like the slots are estimated while
 * the timing model does not look at these: see timing.h.
 *
 * Cycles by how much of something is in them are neighbouring items, X_0 with
 * none, X_1 with one and so on, the last with that many or more.  Where there
 * is no X_0 the other cycles have none.  Those from X_0 on add up to CYCLES,
 * while the pipeline is simulated in detail.
 */
typedef enum PmuLedgerItem {
    /* Slots, one item a leaf class: see PmuSlotClass. */
    PMU_ITEM_CYCLES = PMU_SLOT_NR,  /* unhalted core cycles */
    PMU_ITEM_SLOTS,                 /* width x cycles = sum of the leaves */
    PMU_ITEM_REF_TSC,               /* unhalted cycles at TSC rate */
    PMU_ITEM_REF_XCLK,              /* unhalted cycles of the crystal clock */

    /* Instructions retired, of kinds that they have by themselves. */
    PMU_ITEM_INSTRUCTIONS,          /* of every kind */
    PMU_ITEM_BRANCHES,              /* of every kind, the sum of these: */
    PMU_ITEM_BRANCHES_COND_NTAKEN,  /* Jcc, JRCXZ, LOOPcc, not taken */
    PMU_ITEM_BRANCHES_COND_TAKEN,
    PMU_ITEM_BRANCHES_JMP,          /* direct */
    PMU_ITEM_BRANCHES_JMP_INDIRECT,
    PMU_ITEM_BRANCHES_CALL,         /* direct */
    PMU_ITEM_BRANCHES_CALL_INDIRECT,
    PMU_ITEM_BRANCHES_RET,          /* near */
    PMU_ITEM_BRANCHES_FAR,          /* INT, IRET, SYSCALL and so on, too */
    PMU_ITEM_NOPS,
    PMU_ITEM_PAUSES,
    PMU_ITEM_LFENCES,
    PMU_ITEM_PREFETCH_NTA,          /* PREFETCHNTA and so on */
    PMU_ITEM_PREFETCH_T0,
    PMU_ITEM_PREFETCH_T1_T2,
    PMU_ITEM_PREFETCH_W,
    /* Those that compute with floating-point elements; FMA counts as two. */
    PMU_ITEM_FP_SCALAR_DOUBLE,
    PMU_ITEM_FP_SCALAR_SINGLE,
    PMU_ITEM_FP_128_DOUBLE,
    PMU_ITEM_FP_128_SINGLE,
    PMU_ITEM_FP_256_DOUBLE,
    PMU_ITEM_FP_256_SINGLE,
    /* Those that compute with vectors of integers. */
    PMU_ITEM_INT_ADD_128,           /* add, subtract, absolute differences */
    PMU_ITEM_INT_ADD_256,
    PMU_ITEM_INT_MUL_256,
    PMU_ITEM_INT_SHUFFLES,
    PMU_ITEM_ASSISTS_FP,            /* they took, for denormal numbers */

    /*
     * Loads and stores retired, by where the line is, of two the one that is
     * further away.  An instruction that reads memory twice is two loads, one
     * that reads and writes is a load and a store; a REP string instruction is
     * one for each line of an operand.
     */
    PMU_ITEM_LOADS_L1,              /* in L1D, or on its way there */
    PMU_ITEM_LOADS_L2,
    PMU_ITEM_LOADS_L3,
    PMU_ITEM_LOADS_DRAM,
    PMU_ITEM_LOADS_L3_FORWARDED,    /* of those in L3: another vCPU had it */
    PMU_ITEM_LOADS_LOCKED,          /* of all those with a LOCK */
    PMU_ITEM_LOADS_SPLIT,           /* ... that reach into a second line */
    PMU_ITEM_STORES,
    PMU_ITEM_STORES_SPLIT,

    /*
     * Lines asked for.  Stores that find their line in L1D ask for none: what
     * other vCPUs do takes no line away.
     */
    PMU_ITEM_L1D_ACCESSES,          /* demand loads and stores */
    PMU_ITEM_L1D_MISSES,            /* the sum of the next six */
    PMU_ITEM_DATA_L2,               /* by loads, found in L2 */
    PMU_ITEM_DATA_L3,
    PMU_ITEM_DATA_DRAM,
    PMU_ITEM_RFO_L2,                /* by stores */
    PMU_ITEM_RFO_L3,
    PMU_ITEM_RFO_DRAM,
    /* Of them those in L3 by who else asked for them last: see tag-array.h. */
    PMU_ITEM_RFO_L3_ALONE,          /* no other vCPU */
    PMU_ITEM_DATA_L3_ALONE,
    PMU_ITEM_DATA_L3_SHARED,        /* another vCPU, to read */
    PMU_ITEM_DATA_L3_MODIFIED,      /* ... to write */
    PMU_ITEM_RFO_L3_MODIFIED,
    PMU_ITEM_PREFETCH_L2,           /* by the streamer for data: is there */
    PMU_ITEM_PREFETCH_L3,
    PMU_ITEM_PREFETCH_DRAM,
    PMU_ITEM_SOFT_PREFETCH_L2,      /* by PREFETCHT0 and so on: is there */
    PMU_ITEM_SOFT_PREFETCH_L3,
    PMU_ITEM_SOFT_PREFETCH_DRAM,
    PMU_ITEM_SOFT_PREFETCH_L1D,     /* of them those that go to L1D */
    PMU_ITEM_L1D_PREFETCH_L2,       /* by the prefetcher of L1D: is there */
    PMU_ITEM_L1D_PREFETCH_L3,
    PMU_ITEM_L1D_PREFETCH_DRAM,
    PMU_ITEM_STREAM_L3,             /* by non-temporal stores: L3 loses it */
    PMU_ITEM_STREAM_DRAM,           /* ... or did not have it */

    /* Translations of data addresses. */
    PMU_ITEM_DTLB_LOAD_STLB,        /* not in the DTLB, but in the STLB */
    PMU_ITEM_DTLB_LOAD_CYCLES,      /* that walks take, together */
    PMU_ITEM_DTLB_LOAD_WALKS_4K,    /* not there either, by the page's size */
    PMU_ITEM_DTLB_LOAD_WALKS_2M,
    PMU_ITEM_DTLB_LOAD_WALKS_1G,
    PMU_ITEM_DTLB_STORE_STLB,
    PMU_ITEM_DTLB_STORE_CYCLES,
    PMU_ITEM_DTLB_STORE_WALKS_4K,
    PMU_ITEM_DTLB_STORE_WALKS_2M,
    PMU_ITEM_DTLB_STORE_WALKS_1G,
    PMU_ITEM_TLB_FLUSHES,           /* of one page or all */

    /* What only the pipeline can tell, in the order of PmuPipelineCount. */
    PMU_ITEM_SAMPLED,
    PMU_ITEM_UOPS_ISSUED = PMU_ITEM_SAMPLED, /* fused domain */
    PMU_ITEM_ISSUED_0,              /* cycles by micro-ops issued */
    PMU_ITEM_ISSUED_6 = PMU_ITEM_ISSUED_0 + 6,
    PMU_ITEM_UNDELIVERED_0,         /* ... by slots of the frontend bound */
    PMU_ITEM_UNDELIVERED_6 = PMU_ITEM_UNDELIVERED_0 + 6,
    PMU_ITEM_UOPS_EXECUTED,         /* unfused domain */
    PMU_ITEM_EXECUTED_0,            /* cycles by micro-ops dispatched */
    PMU_ITEM_EXECUTED_8 = PMU_ITEM_EXECUTED_0 + 8,
    PMU_ITEM_RETIRED_0,             /* ... by slots that retire */
    PMU_ITEM_RETIRED_8 = PMU_ITEM_RETIRED_0 + 8,

    /* Micro-ops by the ports they are dispatched to. */
    PMU_ITEM_PORT_0,
    PMU_ITEM_PORT_1,
    PMU_ITEM_PORT_LOAD,             /* 2 and 3; Golden Cove: and 11 */
    PMU_ITEM_PORT_STORE_DATA,       /* 4 and 9 */
    PMU_ITEM_PORT_5,                /* Golden Cove: and 10 */
    PMU_ITEM_PORT_6,
    PMU_ITEM_PORT_STORE_ADDRESS,    /* 7 and 8 */

    /*
     * Cycles by what is the furthest that a load waits for: L1D, L2, L3, DRAM;
     * and those of them in which nothing is dispatched.
     */
    PMU_ITEM_WAIT_L1,
    PMU_ITEM_WAIT_L2,
    PMU_ITEM_WAIT_L3,
    PMU_ITEM_WAIT_DRAM,
    PMU_ITEM_STALL_L1,
    PMU_ITEM_STALL_L2,
    PMU_ITEM_STALL_L3,
    PMU_ITEM_STALL_DRAM,
    /*
     * Others in which nothing is dispatched, though something waits for it and
     * the store buffer is not full; and those in which that is full and nothing
     * is stalled for a load.
     */
    PMU_ITEM_STALL_NOTHING,
    PMU_ITEM_STALL_STORES,

    /* Cycles in which nothing issues for want of it. */
    PMU_ITEM_NO_STORE_BUFFER,
    PMU_ITEM_SERIALIZED,            /* serialising instructions, PAUSE */
    PMU_ITEM_PAUSE_CYCLES,          /* ... of them those of PAUSE */
    PMU_ITEM_SCHEDULER_EMPTY,       /* nothing waits to be dispatched */
    PMU_ITEM_SCHEDULER_REFILLS,     /* times that ended */

    /* Cycles that these are busy. */
    PMU_ITEM_INT_DIVIDER,
    PMU_ITEM_FP_DIVIDER,
    PMU_ITEM_LOCK_CYCLES,
    PMU_ITEM_X87_UOPS,              /* executed, unfused domain */
    PMU_ITEM_MACRO_FUSED,           /* instructions that came in pairs */

    /* Requests under way. */
    PMU_ITEM_FB_HITS,               /* loads whose line is on its way to L1D */
    PMU_ITEM_FB_SOFT_HITS,          /* ... as software prefetched it */
    PMU_ITEM_FORWARD_BLOCKED,       /* loads a store cannot forward all to */
    PMU_ITEM_ADDRESS_ALIAS,         /* ... that look as if it could */
    PMU_ITEM_DTLB_LOAD_ACTIVE,      /* cycles with any page walk for a load */
    PMU_ITEM_DTLB_STORE_ACTIVE,
    PMU_ITEM_ITLB_ACTIVE,
    PMU_ITEM_L1D_PENDING,           /* loads that miss L1D, each cycle */
    PMU_ITEM_FB_FULL,               /* cycles that one waits for a buffer */
    PMU_ITEM_FB_FULL_PERIODS,       /* times that begins */
    PMU_ITEM_OFFCORE_DATA,          /* by loads, beyond L2, each cycle */
    PMU_ITEM_OFFCORE_DRAM,          /* ... of them those beyond L3 */
    PMU_ITEM_OFFCORE_PREFETCH,      /* by prefetches, each cycle */
    PMU_ITEM_OFFCORE_PROMOTED,      /* ... that a load has come to wait for */
    PMU_ITEM_OFFCORE_PROMOTED_DRAM, /* ... of them those beyond L3 */
    PMU_ITEM_OFFCORE_READS_1,       /* cycles by all reads of data under way */
    PMU_ITEM_OFFCORE_READS_6 = PMU_ITEM_OFFCORE_READS_1 + 5,
    PMU_ITEM_OFFCORE_RFO_CYCLES,    /* cycles with any by stores */
    PMU_ITEM_OFFCORE_CODE,          /* by fetch, each cycle */
    PMU_ITEM_OFFCORE_CODE_CYCLES,   /* cycles with any */

    /* Fetch and decode. */
    PMU_ITEM_DSB_UOPS,
    PMU_ITEM_DSB_1,                 /* cycles by micro-ops that it delivers */
    PMU_ITEM_DSB_6 = PMU_ITEM_DSB_1 + 5,
    PMU_ITEM_MITE_UOPS,
    PMU_ITEM_MITE_1,
    PMU_ITEM_MITE_6 = PMU_ITEM_MITE_1 + 5,
    PMU_ITEM_LSD_UOPS,
    PMU_ITEM_LSD_CYCLES,            /* in which something issues from it */
    PMU_ITEM_LSD_FULL_CYCLES,       /* ... and nothing is lost */
    PMU_ITEM_MS_UOPS,
    PMU_ITEM_MS_CYCLES,
    PMU_ITEM_MS_SWITCHES,           /* to the microcode sequencer */
    PMU_ITEM_DECODED,               /* instructions by the decoders */
    PMU_ITEM_DECODED_1,             /* cycles by decoders that do any */
    PMU_ITEM_DECODED_2,
    PMU_ITEM_DECODER_0_UOPS,        /* of the first one */
    PMU_ITEM_MITE_SWITCHES,         /* from the DSB to the decoders */
    PMU_ITEM_MITE_SWITCH_CYCLES,
    PMU_ITEM_LCP_CYCLES,
    PMU_ITEM_FETCH_TAG_CYCLES,      /* fetch waits for a translation */
    PMU_ITEM_FETCH_DATA_CYCLES,     /* ... for a line that missed L1I */
    PMU_ITEM_FETCH_DATA_PERIODS,    /* times that begins */
    PMU_ITEM_RESTEERS,              /* taken branches that fetch did not know */
    PMU_ITEM_RESTEER_CYCLES,
    PMU_ITEM_RECOVERY_CYCLES,       /* a clear, until fetch begins again */
    PMU_ITEM_CLEAR_CYCLES,          /* from then to the first micro-op */
    /* Times that nothing was delivered for 2^n cycles, up to 2^(n+1) - 1. */
    PMU_ITEM_BUBBLE_1,
    PMU_ITEM_BUBBLE_512 = PMU_ITEM_BUBBLE_1 + 9,
    PMU_ITEM_TIMED_END,             /* one behind those of the pipeline */

    /* What fetch and predictors tell; first branches predicted wrongly. */
    PMU_ITEM_BRANCH_MISSES = PMU_ITEM_TIMED_END, /* the sum of these five */
    PMU_ITEM_MISSES_COND_NTAKEN,
    PMU_ITEM_MISSES_COND_TAKEN,
    PMU_ITEM_MISSES_JMP_INDIRECT,
    PMU_ITEM_MISSES_CALL_INDIRECT,
    PMU_ITEM_MISSES_RET,
    PMU_ITEM_CLEARS,        /* recoveries: misses, assists, the next two */
    PMU_ITEM_CLEARS_SMC,            /* machine clears by modified code */
    PMU_ITEM_CLEARS_ORDERING,       /* ... by loads of what others wrote */
    PMU_ITEM_L1I_HITS,              /* lines the decoders asked for */
    PMU_ITEM_L1I_MISSES,            /* the sum of the next three */
    PMU_ITEM_CODE_L2,               /* found in L2 */
    PMU_ITEM_CODE_L3,
    PMU_ITEM_CODE_DRAM,
    PMU_ITEM_CODE_PREFETCH_L2,      /* by the streamer for code */
    PMU_ITEM_CODE_PREFETCH_L3,
    PMU_ITEM_CODE_PREFETCH_DRAM,
    PMU_ITEM_ITLB_STLB,             /* as for data */
    PMU_ITEM_ITLB_CYCLES,
    PMU_ITEM_ITLB_WALKS_4K,
    PMU_ITEM_ITLB_WALKS_2M,         /* or larger */
    PMU_ITEM_NR
} PmuLedgerItem;

/*
 * Is @item counted by data caches, TLBs or predictors, which have to see all
 * that runs for it?
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

/* Which ledger items are of interest besides slots and instructions. */
typedef struct PmuInterest {
    /* Those from PMU_ITEM_SAMPLED on, a bit for PMU_INTEREST_GROUP each. */
    uint32_t sampled;
    bool observed;              /* pmu_ledger_item_observed() */
    bool taken;                 /* pmu_ledger_item_taken() */
    /*
     * No counter needs the model: only the total time matters, not which code
     * took it.
     */
    bool time_only;
} PmuInterest;

#define PMU_INTEREST_GROUP 8

/* @item is of interest, too. */
void pmu_interest_add(PmuInterest *interest, PmuLedgerItem item);

/* Exact totals at one instant. */
typedef struct PmuLedgerSnapshot {
    uint64_t item[PMU_LEVEL_NR][PMU_ITEM_NR];
} PmuLedgerSnapshot;

/* The cycle that is being filled at a level, and is not published yet. */
typedef struct PmuOpenCycle {
    uint64_t history;       /* classes of the newest slots, newest lowest:
                               4 bits for each of PMU_MAX_WIDTH */
    uint32_t slots;         /* filled: 0..width-1 */
} PmuOpenCycle;

/*
 * The running totals.  Slots are entered one cycle's fraction at a time, but
 * only whole cycles are published: the classes of the cycle being filled are
 * kept so that a snapshot can leave them out.  Each level has its own, as
 * estimates of one come in between those of the other.
 */
typedef struct PmuLedger {
    uint64_t slots[PMU_LEVEL_NR][PMU_SLOT_NR];
    uint64_t event[PMU_LEVEL_NR][PMU_ITEM_NR]; /* items from INSTRUCTIONS on */
    PmuOpenCycle open[PMU_LEVEL_NR];
    uint32_t level;         /* PmuLevel that entries are for */
    uint32_t width;         /* slots a cycle */
    uint64_t reciprocal;    /* of width: see pmu_ledger_modulo() */
    /* Reference clocks as fractions of the core clock (uarch table). */
    uint32_t tsc_num, tsc_den;
    uint32_t xclk_num, xclk_den;
    /* States that cannot be, found and repaired: pmu_timing_repairs(). */
    uint64_t repairs;
} PmuLedger;

/* A loaded total is below this, so that none ever wraps. */
#define PMU_LEDGER_LIMIT (1ull << 60)

/* Numerators below this are divided by multiplication, exactly. */
#define PMU_LEDGER_FAST (1ull << 28)

/*
 * @n modulo the width without a division.  With w the width and m the
 * reciprocal, m * w = 2^32 + e and 1 <= e <= w, so n * m / 2^32 exceeds n / w
 * by n * e / (w * 2^32).  That is below 1 / w, too little to reach the next
 * whole number, while n * e < 2^32: 15 * 2^28 is.
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
 * Enter @n slots (any number) of class @class at @level.  No division: one
 * addition for the total, one shift for the open cycle.
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

/* Count @n times @item, PMU_ITEM_INSTRUCTIONS or later, at @ledger->level. */
static inline void pmu_ledger_event(PmuLedger *ledger, PmuLedgerItem item,
                                    uint64_t n)
{
    ledger->event[ledger->level][item] += n;
}

/*
 * The open cycle of @level is not what was entered of it: a repair.  It is
 * filled up, as totals must not fall, with the class that there is most of.
 */
void pmu_ledger_fill_cycle(PmuLedger *ledger, PmuLevel level);

/*
 * Start an empty ledger of @width slots a cycle (1 to PMU_MAX_WIDTH)
 * whose reference clocks run at the given fractions (den > 0) of the core
 * clock.
 */
void pmu_ledger_init(PmuLedger *ledger, uint32_t width,
                     uint32_t tsc_num, uint32_t tsc_den,
                     uint32_t xclk_num, uint32_t xclk_den);

/*
 * A ledger that was loaded from elsewhere, which may be hostile, keeps the
 * promises of this header.  @width and the clocks are its own still.
 */
bool pmu_ledger_plausible(const PmuLedger *ledger);

/*
 * Totals of all whole cycles.  At every instant, and for each level:
 * SLOTS = width x CYCLES = sum of the leaf classes.  The reference clocks are
 * the level's cycles at their fraction of the core clock, rounded down.
 */
void pmu_ledger_snapshot(const PmuLedger *ledger, PmuLedgerSnapshot *snap);

/*
 * The name of @item in lower case with dashes, as QMP and HMP print it;
 * NULL from PMU_ITEM_NR on.
 */
const char *pmu_ledger_item_name(PmuLedgerItem item);

#endif
