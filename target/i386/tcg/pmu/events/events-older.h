/*
 * Macros that the tables of older cores share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_EVENTS_EVENTS_OLDER_H
#define TARGET_I386_PMU_EVENTS_EVENTS_OLDER_H

#include "tcg/pmu/events/events-rows.h"

/* The selector of an event on one core, and the counters that can count it. */
#define AT(core, code, umask, modifiers, counters)                      \
    [PMU_CORE_##core] = { code, umask, counters, modifiers }

#define ANY_COUNTER 0xff
#define CTR0        0x01
#define CTR1        0x02

#define ALL_LOADS   PMU_ITEM_LOADS_L1, PMU_ITEM_LOADS_L2,               \
                    PMU_ITEM_LOADS_L3, PMU_ITEM_LOADS_DRAM
#define LOAD_WALKS  PMU_ITEM_DTLB_LOAD_WALKS_4K,                        \
                    PMU_ITEM_DTLB_LOAD_WALKS_2M,                        \
                    PMU_ITEM_DTLB_LOAD_WALKS_1G
#define STORE_WALKS PMU_ITEM_DTLB_STORE_WALKS_4K,                       \
                    PMU_ITEM_DTLB_STORE_WALKS_2M,                       \
                    PMU_ITEM_DTLB_STORE_WALKS_1G
#define CODE_WALKS  PMU_ITEM_ITLB_WALKS_4K, PMU_ITEM_ITLB_WALKS_2M
#define CODE_LINES  PMU_ITEM_CODE_L2, PMU_ITEM_CODE_L3, PMU_ITEM_CODE_DRAM
#define RFO_LINES   PMU_ITEM_RFO_L2, PMU_ITEM_RFO_L3, PMU_ITEM_RFO_DRAM
#define DATA_LINES  DATA_READS(L2), DATA_READS(L3), DATA_READS(DRAM)
#define UOPS        PMU_SLOT_LIGHT_OPS, PMU_SLOT_HEAVY_OPS
#define FRONTEND_SLOTS PMU_SLOT_FETCH_LATENCY, PMU_SLOT_FETCH_BANDWIDTH
#define TAKEN_BRANCHES                                                  \
    PMU_ITEM_BRANCHES_COND_TAKEN, PMU_ITEM_BRANCHES_JMP,                \
    PMU_ITEM_BRANCHES_JMP_INDIRECT, PMU_ITEM_BRANCHES_CALL,             \
    PMU_ITEM_BRANCHES_CALL_INDIRECT, PMU_ITEM_BRANCHES_RET,             \
    PMU_ITEM_BRANCHES_FAR
#define DELIVERIES  PMU_ITEM_INTERRUPTS, PMU_ITEM_EXCEPTIONS
#define TAKEN_MISSES                                                    \
    PMU_ITEM_MISSES_COND_TAKEN, PMU_ITEM_MISSES_JMP_INDIRECT,           \
    PMU_ITEM_MISSES_CALL_INDIRECT, PMU_ITEM_MISSES_RET

/* Notes. */
#define WHY_NO_BUS      "the model has no bus"
#define WHY_NO_SEGMENTS "segment loads are not told apart"
#define WHY_NO_SERIALIZING \
    "without serializing instructions and segment loads"
#define WHY_NO_WALK_REQUESTS "without those of page walks"
#define WHY_MMX         "MMX instructions are not told apart"

#endif
