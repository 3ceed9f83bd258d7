/*
 * Events: rows of AMD's K7, K8, family 10H, Bulldozer and Zen.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Names, codes and definitions: AMD Athlon Processor x86 Code Optimization
 * Guide (22007), appendix D; BIOS and Kernel Developer's Guides for AMD Athlon
 * 64 and Opteron (26094), for families 10H (31116) and 15H (42301); Processor
 * Programming Reference for family 17H (54945).  Umasks, and what is newer:
 * Linux, arch/x86/events/amd/core.c.
 */

#include <glib.h>

#include "tcg/pmu/events/events-older.h"

/*
 * The counters of Bulldozer that can count event @code: 0 to 2 if it is of the
 * L2, of fetch and decode, and some of L1D's, else all six.
 */
#define BULLDOZER_COUNTERS(code)                                        \
    (((code) >= 0x60 && (code) < 0xa0) || ((code) & 0xf0) == 0xd0 ||    \
     (code) == 0x43 || (code) == 0x45 || (code) == 0x46                 \
     ? 0x07 : ANY_COUNTER)

/* Selectors: on all cores (AMD), K8 to Bulldozer (FROM_K8), or as named. */
#define AMD(code, umask, modifiers)                                     \
    .on = { AT(K7, code, umask, modifiers, ANY_COUNTER),                \
            AT(K8, code, umask, modifiers, ANY_COUNTER),                \
            AT(K10, code, umask, modifiers, ANY_COUNTER),               \
            AT(BULLDOZER, code, umask, modifiers, BULLDOZER_COUNTERS(code)), \
            AT(ZEN, code, umask, modifiers, ANY_COUNTER) }
#define TO_BULLDOZER(code, umask)                                       \
    .on = { AT(K7, code, umask, 0, ANY_COUNTER),                        \
            AT(K8, code, umask, 0, ANY_COUNTER),                        \
            AT(K10, code, umask, 0, ANY_COUNTER),                       \
            AT(BULLDOZER, code, umask, 0, BULLDOZER_COUNTERS(code)) }
#define K7(code, umask)                                                 \
    .on = { AT(K7, code, umask, 0, ANY_COUNTER) }
#define K7_AND_K8(code, umask)                                          \
    .on = { AT(K7, code, umask, 0, ANY_COUNTER),                        \
            AT(K8, code, umask, 0, ANY_COUNTER) }
#define K8_AND_K10(code, umask)                                         \
    .on = { AT(K8, code, umask, 0, ANY_COUNTER),                        \
            AT(K10, code, umask, 0, ANY_COUNTER) }
#define K10(code, umask)                                                \
    .on = { AT(K10, code, umask, 0, ANY_COUNTER) }
#define BULLDOZER(code, umask)                                          \
    .on = { AT(BULLDOZER, code, umask, 0, BULLDOZER_COUNTERS(code)) }
#define FROM_K8(code, umask)                                            \
    .on = { AT(K8, code, umask, 0, ANY_COUNTER),                        \
            AT(K10, code, umask, 0, ANY_COUNTER),                       \
            AT(BULLDOZER, code, umask, 0, BULLDOZER_COUNTERS(code)) }
#define ZEN(code, umask)                                                \
    .on = { AT(ZEN, code, umask, 0, ANY_COUNTER) }

/* Lines that come to L1D. */
#define L2_REFILLS      DATA_READS(L2), PMU_ITEM_RFO_L2
#define SYSTEM_REFILLS  DATA_READS(L3), DATA_READS(DRAM), PMU_ITEM_RFO_L3, \
                        PMU_ITEM_RFO_DRAM

/*
 * Branches, and before Zen instructions, include exceptions and interrupts.  A
 * far transfer, of whatever kind, is not predicted, and counts as mispredicted.
 */
static const PmuEvent rows[] = {
    { "CPU_CLK_UNHALTED", AMD(0x76, 0x00, 0), CYCLES(PMU_ITEM_CYCLES) },
    { "RETIRED_INSTRUCTIONS", TO_BULLDOZER(0xc0, 0x00),
      EXACT(PMU_ITEM_INSTRUCTIONS, DELIVERIES) },
    { "RETIRED_INSTRUCTIONS", ZEN(0xc0, 0x00), EXACT(PMU_ITEM_INSTRUCTIONS) },
    { "RETIRED_UOPS", AMD(0xc1, 0x00, 0), MODELLED(UOPS) },
    { "RETIRED_BRANCH_INSTRUCTIONS", AMD(0xc2, 0x00, 0),
      EXACT(PMU_ITEM_BRANCHES, DELIVERIES) },
    { "RETIRED_MISPREDICTED_BRANCH_INSTRUCTIONS", AMD(0xc3, 0x00, 0),
      MODELLED(PMU_ITEM_BRANCH_MISSES, PMU_ITEM_BRANCHES_FAR, DELIVERIES) },
    { "RETIRED_TAKEN_BRANCH_INSTRUCTIONS", AMD(0xc4, 0x00, 0),
      EXACT(TAKEN_BRANCHES, DELIVERIES) },
    { "RETIRED_TAKEN_BRANCH_INSTRUCTIONS_MISPREDICTED", AMD(0xc5, 0x00, 0),
      MODELLED(TAKEN_MISSES) },
    { "RETIRED_FAR_CONTROL_TRANSFERS", AMD(0xc6, 0x00, 0),
      EXACT(PMU_ITEM_BRANCHES_FAR, DELIVERIES) },
    { "RETIRED_CONDITIONAL_BRANCH_INSTRUCTIONS", ZEN(0xd1, 0x00),
      EXACT(PMU_ITEM_BRANCHES_COND_NTAKEN, PMU_ITEM_BRANCHES_COND_TAKEN) },
    { "RETIRED_NEAR_RETURNS", AMD(0xc8, 0x00, 0),
      EXACT(PMU_ITEM_BRANCHES_RET) },
    { "RETIRED_NEAR_RETURNS_MISPREDICTED", AMD(0xc9, 0x00, 0),
      MODELLED(PMU_ITEM_MISSES_RET) },
    { "RETIRED_INDIRECT_BRANCHES_MISPREDICTED", AMD(0xca, 0x00, 0),
      MODELLED(PMU_ITEM_MISSES_JMP_INDIRECT, PMU_ITEM_MISSES_CALL_INDIRECT) },
    { "DATA_CACHE_ACCESSES", AMD(0x40, 0x00, 0),
      MODELLED(PMU_ITEM_L1D_ACCESSES) },
    { "INSTRUCTION_CACHE_FETCHES", AMD(0x80, 0x00, 0),
      MODELLED(PMU_ITEM_L1I_HITS, PMU_ITEM_L1I_MISSES) },
    { "INSTRUCTION_CACHE_MISSES", AMD(0x81, 0x00, 0),
      MODELLED(PMU_ITEM_L1I_MISSES) },
    { "INSTRUCTION_CACHE_REFILLS_FROM_L2", AMD(0x82, 0x00, 0),
      MODELLED(PMU_ITEM_CODE_L2) },
    { "INSTRUCTION_CACHE_REFILLS_FROM_SYSTEM", AMD(0x83, 0x00, 0),
      MODELLED(PMU_ITEM_CODE_L3, PMU_ITEM_CODE_DRAM) },
    { "L1_ITLB_MISS_L2_ITLB_HIT", AMD(0x84, 0x00, 0),
      MODELLED(PMU_ITEM_ITLB_STLB) },

    { "DATA_CACHE_MISSES", TO_BULLDOZER(0x41, 0x00),
      MODELLED(PMU_ITEM_L1D_MISSES) },
    { "DATA_CACHE_MISSES", TO_BULLDOZER(0x41, 0x01),
      MODELLED(PMU_ITEM_L1D_MISSES) },
    /*
     * The umask selects lines by their state in L2.  From K8 on, bit 0 selects
     * lines that come from elsewhere; on Bulldozer, all lines that are valid.
     */
    { "DATA_CACHE_REFILLS_FROM_L2", K7(0x42, 0x1f), MODELLED(L2_REFILLS) },
    { "DATA_CACHE_REFILLS.SYSTEM", K8_AND_K10(0x42, 0x01),
      MODELLED(SYSTEM_REFILLS) },
    { "DATA_CACHE_REFILLS.L2", K8_AND_K10(0x42, 0x1e), MODELLED(L2_REFILLS) },
    { "DATA_CACHE_REFILLS.ALL", K8_AND_K10(0x42, 0x1f),
      MODELLED(L2_REFILLS, SYSTEM_REFILLS) },
    { "DATA_CACHE_REFILLS_FROM_L2_OR_NORTHBRIDGE.GOOD",
      BULLDOZER(0x42, 0x01), MODELLED(L2_REFILLS, SYSTEM_REFILLS) },
    { "DATA_CACHE_REFILLS_FROM_SYSTEM", TO_BULLDOZER(0x43, 0x1f),
      MODELLED(SYSTEM_REFILLS) },
    { "DATA_CACHE_LINES_EVICTED", TO_BULLDOZER(0x44, 0x1f),
      NOT_MODELLED(WHY_NO_DIRTY) },
    /* The umask selects page sizes: 4 KiB, 2 MiB, 1 GiB. */
    { "L1_DTLB_MISS_AND_L2_DTLB_HIT", K7_AND_K8(0x45, 0x00),
      MODELLED(PMU_ITEM_DTLB_LOAD_STLB, PMU_ITEM_DTLB_STORE_STLB) },
    { "L1_DTLB_MISS_AND_L2_DTLB_HIT.ALL", K10(0x45, 0x07),
      MODELLED(PMU_ITEM_DTLB_LOAD_STLB, PMU_ITEM_DTLB_STORE_STLB) },
    /* Barcelona's L2 DTLB has no pages of 1 GiB. */
    { "L1_DTLB_MISS_AND_L2_DTLB_HIT.ALL", K10(0x45, 0x03),
      MODELLED(PMU_ITEM_DTLB_LOAD_STLB, PMU_ITEM_DTLB_STORE_STLB) },
    { "UNIFIED_TLB_HIT.DATA", BULLDOZER(0x45, 0x07),
      MODELLED(PMU_ITEM_DTLB_LOAD_STLB, PMU_ITEM_DTLB_STORE_STLB) },
    { "L1_DTLB_AND_L2_DTLB_MISS", TO_BULLDOZER(0x46, 0x00),
      MODELLED(LOAD_WALKS, STORE_WALKS) },
    { "L1_DTLB_AND_L2_DTLB_MISS.ALL", TO_BULLDOZER(0x46, 0x07),
      MODELLED(LOAD_WALKS, STORE_WALKS) },
    { "MISALIGNED_ACCESSES", TO_BULLDOZER(0x47, 0x00),
      APPROXIMATE("those that reach into a second line",
                  PMU_ITEM_LOADS_SPLIT, PMU_ITEM_STORES_SPLIT) },
    { "L1_ITLB_MISS_AND_L2_ITLB_MISS", TO_BULLDOZER(0x85, 0x00),
      MODELLED(CODE_WALKS) },
    { "L1_ITLB_MISS_AND_L2_ITLB_MISS.ALL", TO_BULLDOZER(0x85, 0x03),
      MODELLED(CODE_WALKS) },
    { "INSTRUCTION_FETCH_STALL", TO_BULLDOZER(0x87, 0x00),
      ABOUT_CYCLES("fetch waits for a line or a translation",
                   PMU_ITEM_FETCH_DATA_CYCLES, PMU_ITEM_FETCH_TAG_CYCLES) },
    { "RETURN_STACK_HITS", TO_BULLDOZER(0x88, 0x00),
      LESS(PMU_ITEM_BRANCHES_RET, PMU_ITEM_MISSES_RET) },
    { "RETURN_STACK_OVERFLOWS", TO_BULLDOZER(0x89, 0x00),
      NOT_MODELLED("overflows of the return stack are not counted") },
    { "SEGMENT_REGISTER_LOADS", TO_BULLDOZER(0x20, 0x7f),
      NOT_MODELLED(WHY_NO_SEGMENTS) },
    { "PIPELINE_RESTART_DUE_TO_SELF_MODIFYING_CODE", TO_BULLDOZER(0x21, 0x00),
      MODELLED(PMU_ITEM_CLEARS_SMC) },
    { "DECODER_EMPTY", TO_BULLDOZER(0xd0, 0x00),
      ABOUT_CYCLES("fetch waits for a line or a translation",
                   PMU_ITEM_FETCH_DATA_CYCLES, PMU_ITEM_FETCH_TAG_CYCLES) },
    { "DISPATCH_STALLS", TO_BULLDOZER(0xd1, 0x00),
      ABOUT_CYCLES("nothing issues, for whatever reason",
                   PMU_ITEM_ISSUED_0) },
    { "DISPATCH_STALL_FOR_SERIALIZATION", TO_BULLDOZER(0xd3, 0x00),
      CYCLES(PMU_ITEM_SERIALIZED) },
    { "INTERRUPTS_MASKED_CYCLES", TO_BULLDOZER(0xcd, 0x00),
      NOT_MODELLED("cycles with interrupts masked are not counted") },
    { "INTERRUPTS_TAKEN", TO_BULLDOZER(0xcf, 0x00),
      EXACT(PMU_ITEM_INTERRUPTS) },

    { "REQUESTS_TO_L2", FROM_K8(0x7d, 0x03),
      MODELLED(DEMANDS(L2), DEMANDS(L3), DEMANDS(DRAM)) },
    { "REQUESTS_TO_L2.ALL", FROM_K8(0x7d, 0x07),
      APPROXIMATE(WHY_NO_WALK_REQUESTS, DEMANDS(L2), DEMANDS(L3),
                  DEMANDS(DRAM)) },
    { "L2_CACHE_MISS", FROM_K8(0x7e, 0x03),
      MODELLED(DEMANDS(L3), DEMANDS(DRAM)) },
    { "L2_CACHE_MISS.ALL", FROM_K8(0x7e, 0x07),
      APPROXIMATE(WHY_NO_WALK_REQUESTS, DEMANDS(L3), DEMANDS(DRAM)) },
    { "DATA_PREFETCHES.ATTEMPTED", FROM_K8(0x67, 0x02),
      MODELLED(PMU_ITEM_L1D_PREFETCH_L2, PMU_ITEM_L1D_PREFETCH_L3,
               PMU_ITEM_L1D_PREFETCH_DRAM) },
    { "DATA_PREFETCHES.CANCELLED", FROM_K8(0x67, 0x01),
      NOT_MODELLED("the model cancels no prefetches") },
    { "PREFETCH_INSTRUCTIONS.LOAD", FROM_K8(0x4b, 0x01),
      EXACT(PMU_ITEM_PREFETCH_T0, PMU_ITEM_PREFETCH_T1_T2) },
    { "PREFETCH_INSTRUCTIONS.STORE", FROM_K8(0x4b, 0x02),
      EXACT(PMU_ITEM_PREFETCH_W) },
    { "PREFETCH_INSTRUCTIONS.NTA", FROM_K8(0x4b, 0x04),
      EXACT(PMU_ITEM_PREFETCH_NTA) },
    { "L2_FILL", FROM_K8(0x7f, 0x01),
      APPROXIMATE("lines that come to L2", DEMANDS(L3), DEMANDS(DRAM)) },

    { "L2_CACHE_ACCESSES", ZEN(0x60, 0xff),
      APPROXIMATE(WHY_NO_WALK_REQUESTS, DEMANDS(L2), DEMANDS(L3),
                  DEMANDS(DRAM)) },
    { "L2_CACHE_ACCESSES_FROM_DC_MISSES", ZEN(0x60, 0xc8),
      MODELLED(DATA_LINES, RFO_LINES) },
    { "L2_CACHE_MISSES", ZEN(0x64, 0x09),
      MODELLED(DEMANDS(L3), DEMANDS(DRAM)) },
    { "L1_DTLB_MISSES", ZEN(0x45, 0xff),
      MODELLED(PMU_ITEM_DTLB_LOAD_STLB, PMU_ITEM_DTLB_STORE_STLB, LOAD_WALKS,
               STORE_WALKS) },
    { "L2_DTLB_MISSES", ZEN(0x45, 0xf0), MODELLED(LOAD_WALKS, STORE_WALKS) },
    { "L1_ITLB_MISS_L2_ITLB_MISS", ZEN(0x85, 0xff), MODELLED(CODE_WALKS) },
    { "L1_ITLB_MISS_L2_ITLB_MISS", ZEN(0x85, 0x07), MODELLED(CODE_WALKS) },
    /* 0xa9 is of Zen 2 and later, 0x120 of Zen 4. */
    { "STALLED_CYCLES_FRONTEND", ZEN(0xa9, 0x00),
      ABOUT_CYCLES("fetch waits for a line or a translation",
                   PMU_ITEM_FETCH_DATA_CYCLES, PMU_ITEM_FETCH_TAG_CYCLES) },
    { "REFERENCE_CYCLES", ZEN(0x120, 0x01), MODELLED(PMU_ITEM_REF_TSC) },
    { "STALLED_CYCLES_BACKEND", ZEN(0x87, 0x01),
      ABOUT_CYCLES("nothing issues, for whatever reason",
                   PMU_ITEM_ISSUED_0) },
    { "STALLED_CYCLES_FRONTEND", ZEN(0x87, 0x02),
      ABOUT_CYCLES("fetch waits for a line or a translation",
                   PMU_ITEM_FETCH_DATA_CYCLES, PMU_ITEM_FETCH_TAG_CYCLES) },
    { "HARDWARE_PREFETCH_DATA_CACHE_FILLS", ZEN(0x5a, 0xff),
      MODELLED(PMU_ITEM_L1D_PREFETCH_L2, PMU_ITEM_L1D_PREFETCH_L3,
               PMU_ITEM_L1D_PREFETCH_DRAM) },
    /* The event of the odd counter in a pair of merged counters. */
    { "MERGE", .on = { AT(ZEN, 0xfff, 0x00, 0, ANY_COUNTER) },
      NOT_MODELLED("counters are not merged in pairs") },
};

const PmuEventRows pmu_event_amd_rows = {
    rows, G_N_ELEMENTS(rows),
    1u << PMU_CORE_K7 | 1u << PMU_CORE_K8 | 1u << PMU_CORE_K10 |
    1u << PMU_CORE_BULLDOZER | 1u << PMU_CORE_ZEN,
};
