/*
 * The ledger: what the modelled core did, exactly, per privilege level.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: plain C, knows nothing of QEMU, of registers or
 * of who is counting.  The timing model writes it, the performance counters
 * and the monitor read it.
 */

#ifndef TARGET_I386_PMU_LEDGER_H
#define TARGET_I386_PMU_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

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
 */
typedef enum PmuLedgerItem {
    /* Slots, one item a leaf class: see PmuSlotClass. */
    PMU_ITEM_CYCLES = PMU_SLOT_NR,  /* unhalted core cycles */
    PMU_ITEM_SLOTS,                 /* width x cycles = sum of the leaves */
    PMU_ITEM_REF_TSC,               /* unhalted cycles at TSC rate */
    PMU_ITEM_REF_XCLK,              /* unhalted cycles of the crystal clock */
    PMU_ITEM_INSTRUCTIONS,          /* retired */
    PMU_ITEM_BRANCHES,              /* retired, of every kind */
    PMU_ITEM_BRANCHES_COND,         /* retired Jcc, JRCXZ, LOOPcc */
    PMU_ITEM_BRANCHES_TAKEN,        /* retired, taken */
    PMU_ITEM_L1D_ACCESSES,          /* demand loads and stores */
    PMU_ITEM_L1D_MISSES,
    PMU_ITEM_L2_MISSES,             /* demand data missing L2 */
    PMU_ITEM_LLC_REFERENCES,        /* 2E/4F: ... that reach the L3 */
    PMU_ITEM_LLC_MISSES,            /* 2E/41 */

    /* What only the pipeline can tell, in the order of PmuTimed. */
    PMU_ITEM_SAMPLED,
    PMU_ITEM_UOPS_ISSUED = PMU_ITEM_SAMPLED, /* fused domain */

    PMU_ITEM_BRANCH_MISSES,         /* retired, predicted wrongly */
    PMU_ITEM_CLEARS,                /* recoveries: mispredicts and clears */
    PMU_ITEM_CLEARS_SMC,            /* those by self-modifying code */
    PMU_ITEM_L1I_MISSES,
    PMU_ITEM_L2_CODE_MISSES,        /* the same three as above, for code */
    PMU_ITEM_LLC_CODE_REFERENCES,
    PMU_ITEM_LLC_CODE_MISSES,
    PMU_ITEM_NR
} PmuLedgerItem;

/* Exact totals at one instant. */
typedef struct PmuLedgerSnapshot {
    uint64_t item[PMU_LEVEL_NR][PMU_ITEM_NR];
} PmuLedgerSnapshot;

/*
 * The widest machine the history below has room for: 15 slots of 4 bits, the
 * slots of the cycle now being filled.
 */
#define PMU_LEDGER_MAX_WIDTH 15

/* The cycle that is being filled at a level, and is not published yet. */
typedef struct PmuOpenCycle {
    uint64_t history;       /* classes of the newest slots, newest lowest */
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
} PmuLedger;

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
 * Start an empty ledger of @width slots a cycle (1 to PMU_LEDGER_MAX_WIDTH)
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
