/*
 * Events: rows of Intel's cores from Core Duo to Skylake, as far as Linux's
 * generic events and "perf stat --topdown" need them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Names and definitions: SDM vol. 3B, "Performance Monitoring Events".  Which
 * of them: *_hw_cache_event_ids and td_* in Linux,
 * arch/x86/events/intel/core.c.
 */

#include <glib.h>

#include "tcg/pmu/events/events-older.h"

/*
 * The counters of Nehalem and Westmere that can count event @code.  40H, 41H
 * and 4EH are limited to 0 and 1, too, on Nehalem, but not on Westmere, which
 * shares its rows (Linux, intel_nehalem_event_constraints).
 */
#define NEHALEM_COUNTERS(code)  ((code) == 0x51 ? CTR0 | CTR1 : ANY_COUNTER)

/* Selectors: on all these cores (ALL), or on those that the name says. */
#define ALL(code, umask)                                                \
    .on = { AT(CORE, code, umask, 0, ANY_COUNTER),                      \
            AT(BONNELL, code, umask, 0, ANY_COUNTER),                   \
            AT(NEHALEM, code, umask, 0, NEHALEM_COUNTERS(code)),        \
            AT(SANDYBRIDGE, code, umask, 0, ANY_COUNTER),               \
            AT(HASWELL, code, umask, 0, ANY_COUNTER),                   \
            AT(SKYLAKE, code, umask, 0, ANY_COUNTER) }
#define FROM_NEHALEM(code, umask)                                       \
    .on = { AT(NEHALEM, code, umask, 0, NEHALEM_COUNTERS(code)),        \
            AT(SANDYBRIDGE, code, umask, 0, ANY_COUNTER),               \
            AT(HASWELL, code, umask, 0, ANY_COUNTER),                   \
            AT(SKYLAKE, code, umask, 0, ANY_COUNTER) }
#define FROM_SANDYBRIDGE(code, umask, modifiers)                        \
    .on = { AT(SANDYBRIDGE, code, umask, modifiers, ANY_COUNTER),       \
            AT(HASWELL, code, umask, modifiers, ANY_COUNTER),           \
            AT(SKYLAKE, code, umask, modifiers, ANY_COUNTER) }
#define CORE(code, umask)                                               \
    .on = { AT(CORE, code, umask, 0, ANY_COUNTER) }
#define CORE_AND_NEHALEM(code, umask)                                   \
    .on = { AT(CORE, code, umask, 0, ANY_COUNTER),                      \
            AT(NEHALEM, code, umask, 0, NEHALEM_COUNTERS(code)) }
#define BONNELL(code, umask)                                            \
    .on = { AT(BONNELL, code, umask, 0, ANY_COUNTER) }
#define NEHALEM(code, umask)                                            \
    .on = { AT(NEHALEM, code, umask, 0, NEHALEM_COUNTERS(code)) }
#define SANDYBRIDGE(code, umask)                                        \
    .on = { AT(SANDYBRIDGE, code, umask, 0, ANY_COUNTER) }
#define HASWELL(code, umask)                                            \
    .on = { AT(HASWELL, code, umask, 0, ANY_COUNTER) }
#define NEHALEM_TO_HASWELL(code, umask)                                 \
    .on = { AT(NEHALEM, code, umask, 0, NEHALEM_COUNTERS(code)),        \
            AT(SANDYBRIDGE, code, umask, 0, ANY_COUNTER),               \
            AT(HASWELL, code, umask, 0, ANY_COUNTER) }
#define SKYLAKE(code, umask)                                            \
    .on = { AT(SKYLAKE, code, umask, 0, ANY_COUNTER) }

/*
 * Requests to the last-level cache without those of L2's hardware prefetcher.
 * Nehalem "excludes" that prefetcher's lines (SDM vol. 3B), and so do the
 * "demand requests" up to Broadwell.  Skylake counts "hardware prefetches from
 * L1 and L2", too (Intel's event lists of these cores).
 */
#define DEMANDS_AND_PREFETCHES(place)                                   \
    DEMANDS(place), PMU_ITEM_SOFT_PREFETCH_##place

static const PmuEvent rows[] = {
    /* Architectural events: SDM vol. 3B, table 20-1. */
    { "CPU_CLK_UNHALTED.CORE", ALL(0x3c, 0x00), CYCLES(PMU_ITEM_CYCLES) },
    { "CPU_CLK_UNHALTED.REF", ALL(0x3c, 0x01), MODELLED(PMU_ITEM_REF_XCLK) },
    { "INST_RETIRED.ANY_P", ALL(0xc0, 0x00), EXACT(PMU_ITEM_INSTRUCTIONS) },
    { "BR_INST_RETIRED.ANY", ALL(0xc4, 0x00), EXACT(PMU_ITEM_BRANCHES) },
    { "BR_INST_RETIRED.MISPRED", ALL(0xc5, 0x00),
      MODELLED(PMU_ITEM_BRANCH_MISSES) },
    { "LONGEST_LAT_CACHE.REFERENCE",
      .on = { AT(CORE, 0x2e, 0x4f, 0, ANY_COUNTER),
              AT(BONNELL, 0x2e, 0x4f, 0, ANY_COUNTER) },
      MODELLED(DEMANDS(L2), DEMANDS(L3), DEMANDS(DRAM)) },
    { "LONGEST_LAT_CACHE.MISS",
      .on = { AT(CORE, 0x2e, 0x41, 0, ANY_COUNTER),
              AT(BONNELL, 0x2e, 0x41, 0, ANY_COUNTER) },
      MODELLED(DEMANDS(L3), DEMANDS(DRAM)) },
    { "LONGEST_LAT_CACHE.REFERENCE", NEHALEM_TO_HASWELL(0x2e, 0x4f),
      MODELLED(DEMANDS_AND_PREFETCHES(L3),
               DEMANDS_AND_PREFETCHES(DRAM)) },
    { "LONGEST_LAT_CACHE.MISS", NEHALEM_TO_HASWELL(0x2e, 0x41),
      MODELLED(DEMANDS_AND_PREFETCHES(DRAM)) },
    { "LONGEST_LAT_CACHE.REFERENCE", SKYLAKE(0x2e, 0x4f),
      MODELLED(REQUESTS(L3), REQUESTS(DRAM)) },
    { "LONGEST_LAT_CACHE.MISS", SKYLAKE(0x2e, 0x41),
      MODELLED(REQUESTS(DRAM)) },

    /* Core Duo, Core 2 and Nehalem */
    { "L1D_CACHE_LD.MESI", CORE_AND_NEHALEM(0x40, 0x0f), MODELLED(ALL_LOADS),
      .note = WHY_ACCESSES },
    { "L1D_CACHE_LD.I_STATE", CORE_AND_NEHALEM(0x40, 0x01),
      MODELLED(PMU_ITEM_LOADS_L2, PMU_ITEM_LOADS_L3, PMU_ITEM_LOADS_DRAM) },
    { "L1D_CACHE_ST.MESI", CORE_AND_NEHALEM(0x41, 0x0f),
      MODELLED(PMU_ITEM_STORES), .note = WHY_ACCESSES },
    { "L1D_CACHE_ST.I_STATE", CORE_AND_NEHALEM(0x41, 0x01),
      MODELLED(RFO_LINES) },

    /* Core Duo and Core 2 */
    { "L1D_PREFETCH.REQUESTS", CORE(0x4e, 0x10),
      MODELLED(PMU_ITEM_L1D_PREFETCH_L2, PMU_ITEM_L1D_PREFETCH_L3,
               PMU_ITEM_L1D_PREFETCH_DRAM) },
    { "L1I_READS", CORE(0x80, 0x00),
      MODELLED(PMU_ITEM_L1I_HITS, PMU_ITEM_L1I_MISSES) },
    { "L1I_MISSES", CORE(0x81, 0x00), MODELLED(PMU_ITEM_L1I_MISSES) },
    { "DTLB_MISSES.MISS_LD", CORE(0x08, 0x02), MODELLED(LOAD_WALKS) },
    { "DTLB_MISSES.MISS_ST", CORE(0x08, 0x08), MODELLED(STORE_WALKS) },
    { "ITLB_MISSES", CORE(0x82, 0x12), MODELLED(CODE_WALKS) },

    /* Bonnell */
    { "L1D_CACHE.LD", BONNELL(0x40, 0x21), MODELLED(ALL_LOADS),
      .note = WHY_ACCESSES },
    { "L1D_CACHE.ST", BONNELL(0x40, 0x22), MODELLED(PMU_ITEM_STORES),
      .note = WHY_ACCESSES },
    { "ICACHE.ACCESSES", BONNELL(0x80, 0x03),
      MODELLED(PMU_ITEM_L1I_HITS, PMU_ITEM_L1I_MISSES) },
    { "ICACHE.MISSES", BONNELL(0x80, 0x02), MODELLED(PMU_ITEM_L1I_MISSES) },
    { "DATA_TLB_MISSES.DTLB_MISS_LD", BONNELL(0x08, 0x05),
      MODELLED(LOAD_WALKS) },
    { "DATA_TLB_MISSES.DTLB_MISS_ST", BONNELL(0x08, 0x06),
      MODELLED(STORE_WALKS) },
    { "ITLB.MISSES", BONNELL(0x82, 0x02), MODELLED(CODE_WALKS) },

    /* Core and Bonnell */
    { "L2_LD.MESI", .on = { AT(CORE, 0x29, 0x4f, 0, ANY_COUNTER),
                            AT(BONNELL, 0x29, 0x4f, 0, ANY_COUNTER) },
      MODELLED(DATA_LINES) },
    { "L2_LD.I_STATE", .on = { AT(CORE, 0x29, 0x41, 0, ANY_COUNTER),
                               AT(BONNELL, 0x29, 0x41, 0, ANY_COUNTER) },
      MODELLED(DATA_READS(L3), DATA_READS(DRAM)) },
    { "L2_ST.MESI", .on = { AT(CORE, 0x2a, 0x4f, 0, ANY_COUNTER),
                            AT(BONNELL, 0x2a, 0x4f, 0, ANY_COUNTER) },
      MODELLED(RFO_LINES) },
    { "L2_ST.I_STATE", .on = { AT(CORE, 0x2a, 0x41, 0, ANY_COUNTER),
                               AT(BONNELL, 0x2a, 0x41, 0, ANY_COUNTER) },
      MODELLED(PMU_ITEM_RFO_L3, PMU_ITEM_RFO_DRAM) },
    { "UOPS_RETIRED.ANY", .on = { AT(CORE, 0xc2, 0x0f, 0, ANY_COUNTER),
                                  AT(BONNELL, 0xc2, 0x10, 0, ANY_COUNTER) },
      MODELLED(UOPS) },

    /* Nehalem and Westmere */
    { "MEM_INST_RETIRED.LOADS", NEHALEM(0x0b, 0x01), MODELLED(ALL_LOADS),
      .note = WHY_ACCESSES },
    { "MEM_INST_RETIRED.STORES", NEHALEM(0x0b, 0x02),
      MODELLED(PMU_ITEM_STORES), .note = WHY_ACCESSES },
    { "L1D.M_REPL", NEHALEM(0x51, 0x02),
      APPROXIMATE("lines that stores ask for", RFO_LINES) },
    { "L1D_PREFETCH.REQUESTS", NEHALEM(0x4e, 0x01),
      MODELLED(PMU_ITEM_L1D_PREFETCH_L2, PMU_ITEM_L1D_PREFETCH_L3,
               PMU_ITEM_L1D_PREFETCH_DRAM) },
    { "L1D_PREFETCH.MISS", NEHALEM(0x4e, 0x02),
      MODELLED(PMU_ITEM_L1D_PREFETCH_L2, PMU_ITEM_L1D_PREFETCH_L3,
               PMU_ITEM_L1D_PREFETCH_DRAM) },
    { "L1I.READS", NEHALEM(0x80, 0x03),
      MODELLED(PMU_ITEM_L1I_HITS, PMU_ITEM_L1I_MISSES) },
    { "DTLB_LOAD_MISSES.ANY", NEHALEM(0x08, 0x01),
      MODELLED(PMU_ITEM_DTLB_LOAD_STLB, LOAD_WALKS) },
    { "MEM_STORE_RETIRED.DTLB_MISS", NEHALEM(0x0c, 0x01),
      MODELLED(STORE_WALKS) },
    { "ITLB_MISS_RETIRED", NEHALEM(0xc8, 0x20), MODELLED(CODE_WALKS) },
    { "ITLB_MISSES.ANY", NEHALEM(0x85, 0x01),
      MODELLED(PMU_ITEM_ITLB_STLB, CODE_WALKS) },
    { "BPU_CLEARS.ANY", NEHALEM(0xe8, 0x03), MODELLED(PMU_ITEM_RESTEERS) },
    { "INST_RETIRED.ANY_P", NEHALEM(0xc0, 0x01),
      EXACT(PMU_ITEM_INSTRUCTIONS) },
    { "UOPS_EXECUTED.CORE", NEHALEM(0xb1, 0x3f),
      MODELLED(PMU_ITEM_UOPS_EXECUTED), BINS(PMU_ITEM_EXECUTED_0, 9) },
    { "UOPS_RETIRED.ANY", NEHALEM(0xc2, 0x01), MODELLED(UOPS),
      BINS(PMU_ITEM_RETIRED_0, 9) },

    /* From Nehalem on */
    { "UOPS_ISSUED.ANY", FROM_NEHALEM(0x0e, 0x01),
      MODELLED(PMU_ITEM_UOPS_ISSUED), BINS(PMU_ITEM_ISSUED_0, 7) },
    { "L1D.REPLACEMENT", FROM_NEHALEM(0x51, 0x01),
      MODELLED(DATA_LINES, RFO_LINES, PMU_ITEM_SOFT_PREFETCH_L1D) },
    { "ICACHE.MISSES",
      .on = { AT(NEHALEM, 0x80, 0x02, 0, ANY_COUNTER),
              AT(SANDYBRIDGE, 0x80, 0x02, 0, ANY_COUNTER),
              AT(HASWELL, 0x80, 0x02, 0, ANY_COUNTER),
              AT(SKYLAKE, 0x83, 0x02, 0, ANY_COUNTER) },
      MODELLED(PMU_ITEM_L1I_MISSES) },
    { "OFFCORE_RESPONSE_0", FROM_NEHALEM(0xb7, 0x01),
      NOT_MODELLED("responses are modelled from Ice Lake on") },
    { "OFFCORE_RESPONSE_1", FROM_NEHALEM(0xbb, 0x01),
      NOT_MODELLED("responses are modelled from Ice Lake on") },

    /* From Sandy Bridge on */
    { "CPU_CLK_UNHALTED.ONE_THREAD_ACTIVE", FROM_SANDYBRIDGE(0x3c, 0x02, 0),
      MODELLED(PMU_ITEM_REF_XCLK), .note = WHY_ONE_THREAD },
    { "UOPS_RETIRED.RETIRE_SLOTS", FROM_SANDYBRIDGE(0xc2, 0x02, 0),
      MODELLED(UOPS), BINS(PMU_ITEM_RETIRED_0, 9) },
    { "IDQ_UOPS_NOT_DELIVERED.CORE", FROM_SANDYBRIDGE(0x9c, 0x01, 0),
      MODELLED(FRONTEND_SLOTS), BINS(PMU_ITEM_UNDELIVERED_0, 7) },
    { "INT_MISC.RECOVERY_CYCLES", FROM_SANDYBRIDGE(0x0d, 0x03, CMASK(1)),
      CYCLES(PMU_ITEM_RECOVERY_CYCLES) },
    { "INT_MISC.RECOVERY_CYCLES", FROM_SANDYBRIDGE(0x0d, 0x01, 0),
      CYCLES(PMU_ITEM_RECOVERY_CYCLES) },
    { "UOPS_EXECUTED.THREAD", FROM_SANDYBRIDGE(0xb1, 0x01, 0),
      MODELLED(PMU_ITEM_UOPS_EXECUTED), BINS(PMU_ITEM_EXECUTED_0, 9) },
    { "MEM_UOPS_RETIRED.ALL_LOADS", FROM_SANDYBRIDGE(0xd0, 0x81, 0),
      MODELLED(ALL_LOADS), .note = WHY_ACCESSES },
    { "MEM_UOPS_RETIRED.ALL_STORES", FROM_SANDYBRIDGE(0xd0, 0x82, 0),
      MODELLED(PMU_ITEM_STORES), .note = WHY_ACCESSES },
    { "MEM_UOP_RETIRED.LOADS", SANDYBRIDGE(0xd0, 0xf1), MODELLED(ALL_LOADS),
      .note = WHY_ACCESSES },
    { "MEM_UOP_RETIRED.STORES", SANDYBRIDGE(0xd0, 0xf2),
      MODELLED(PMU_ITEM_STORES), .note = WHY_ACCESSES },
    { "L1D.ALL_M_REPLACEMENT", SANDYBRIDGE(0x51, 0x08),
      APPROXIMATE("lines that stores ask for", RFO_LINES) },
    { "HW_PRE_REQ.DL1_MISS", SANDYBRIDGE(0x4e, 0x02),
      MODELLED(PMU_ITEM_L1D_PREFETCH_L2, PMU_ITEM_L1D_PREFETCH_L3,
               PMU_ITEM_L1D_PREFETCH_DRAM) },
    { "DTLB_LOAD_MISSES.MISS_CAUSES_A_WALK", FROM_SANDYBRIDGE(0x08, 0x01, 0),
      MODELLED(LOAD_WALKS) },
    /* Ivy Bridge's, for demand loads. */
    { "DTLB_LOAD_MISSES.MISS_CAUSES_A_WALK", SANDYBRIDGE(0x08, 0x81),
      MODELLED(LOAD_WALKS) },
    { "DTLB_STORE_MISSES.MISS_CAUSES_A_WALK", FROM_SANDYBRIDGE(0x49, 0x01, 0),
      MODELLED(STORE_WALKS) },
    { "ITLB_MISSES.MISS_CAUSES_A_WALK", FROM_SANDYBRIDGE(0x85, 0x01, 0),
      MODELLED(CODE_WALKS) },
    { "ITLB_MISSES.STLB_HIT", SANDYBRIDGE(0x85, 0x10),
      MODELLED(PMU_ITEM_ITLB_STLB) },
    { "ITLB_MISSES.STLB_HIT", HASWELL(0x85, 0x60),
      MODELLED(PMU_ITEM_ITLB_STLB) },
    { "ITLB_MISSES.STLB_HIT", SKYLAKE(0x85, 0x20),
      MODELLED(PMU_ITEM_ITLB_STLB) },
    { "DTLB_LOAD_MISSES.WALK_COMPLETED", SKYLAKE(0x08, 0x0e),
      MODELLED(LOAD_WALKS) },
    { "DTLB_STORE_MISSES.WALK_COMPLETED", SKYLAKE(0x49, 0x0e),
      MODELLED(STORE_WALKS) },
    /* Early kernels took these two for walks of all page sizes. */
    { "DTLB_LOAD_MISSES.WALK_COMPLETED_4K_2M", SKYLAKE(0x08, 0x06),
      MODELLED(PMU_ITEM_DTLB_LOAD_WALKS_4K, PMU_ITEM_DTLB_LOAD_WALKS_2M) },
    { "DTLB_STORE_MISSES.WALK_COMPLETED_4K_2M", SKYLAKE(0x49, 0x06),
      MODELLED(PMU_ITEM_DTLB_STORE_WALKS_4K, PMU_ITEM_DTLB_STORE_WALKS_2M) },
    { "ITLB_MISSES.WALK_COMPLETED", SKYLAKE(0x85, 0x0e),
      MODELLED(CODE_WALKS) },
};

const PmuEventRows pmu_event_core_rows = {
    rows, G_N_ELEMENTS(rows),
    1u << PMU_CORE_CORE | 1u << PMU_CORE_BONNELL | 1u << PMU_CORE_NEHALEM |
    1u << PMU_CORE_SANDYBRIDGE | 1u << PMU_CORE_HASWELL |
    1u << PMU_CORE_SKYLAKE,
};
