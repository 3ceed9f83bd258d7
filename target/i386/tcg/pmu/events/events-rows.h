/*
 * The tables of events, and the macros that write their rows.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Names, codes, umasks, counters and definitions, where a file names no other
 * source: Intel's event lists for Ice Lake-SP v1.30 and Sapphire Rapids v1.39
 * (https://github.com/intel/perfmon).
 */

#ifndef TARGET_I386_PMU_EVENTS_EVENTS_ROWS_H
#define TARGET_I386_PMU_EVENTS_EVENTS_ROWS_H

#include "tcg/pmu/events/event.h"

typedef struct PmuEventRows {
    const PmuEvent *rows;
    unsigned num_rows;
    uint32_t cores;             /* that have any of the rows, a bit each */
} PmuEventRows;

extern const PmuEventRows pmu_event_common_rows;        /* of ON_BOTH */
extern const PmuEventRows pmu_event_icelake_rows;       /* of this core alone */
extern const PmuEventRows pmu_event_sapphirerapids_rows;
/* Older cores. */
extern const PmuEventRows pmu_event_p6_rows;
extern const PmuEventRows pmu_event_amd_rows;
extern const PmuEventRows pmu_event_core_rows;

/* Counters that can count an event, a bit each. */
#define PMC0_TO_7   0xff
#define PMC0_TO_3   0x0f

/* Modifiers. */
#define CMASK(n)    PMU_EVENT_CMASK(n)
#define INV         PMU_EVENT_INV
#define EDGE        PMU_EVENT_EDGE
#define EDGES       (EDGE | CMASK(1))

/* The selector of an event on each core, and the counters that can count it. */
#define ICX(code, umask, modifiers, counters)                           \
    .on[PMU_CORE_ICELAKE] = { code, umask, counters, modifiers }
#define SPR(code, umask, modifiers, counters)                           \
    .on[PMU_CORE_SAPPHIRERAPIDS] = { code, umask, counters, modifiers }
#define BOTH(code, umask, modifiers, counters)                          \
    ICX(code, umask, modifiers, counters),                              \
    SPR(code, umask, modifiers, counters)

/* Bits of PmuEventAlias.cores and the like.  "Both" are the newer cores. */
#define ON_ICELAKE          (1u << PMU_CORE_ICELAKE)
#define ON_SAPPHIRERAPIDS   (1u << PMU_CORE_SAPPHIRERAPIDS)
#define ON_BOTH             (ON_ICELAKE | ON_SAPPHIRERAPIDS)

/*
 * Items of requests for lines that are found in @place: L2, L3 or DRAM.  L2
 * takes requests of the L1D prefetcher for demand reads.
 */
#define DATA_READS(place)                                               \
    PMU_ITEM_DATA_##place, PMU_ITEM_L1D_PREFETCH_##place
#define DEMANDS(place)                                                  \
    DATA_READS(place), PMU_ITEM_RFO_##place, PMU_ITEM_CODE_##place
#define L2_PREFETCHES(place)                                            \
    PMU_ITEM_PREFETCH_##place, PMU_ITEM_CODE_PREFETCH_##place
#define REQUESTS(place)                                                 \
    DEMANDS(place), PMU_ITEM_SOFT_PREFETCH_##place, L2_PREFETCHES(place)

/* The items of a row and their number. */
#define TERMS(...)                                                      \
    .term = { __VA_ARGS__ },                                            \
    .num_terms = sizeof((uint8_t[]) { __VA_ARGS__ })

#define EXACT(...)          .state = PMU_EVENT_EXACT, TERMS(__VA_ARGS__)
#define MODELLED(...)       .state = PMU_EVENT_MODELLED, TERMS(__VA_ARGS__)
#define APPROXIMATE(why, ...)                                           \
    .state = PMU_EVENT_APPROXIMATE, .note = why, TERMS(__VA_ARGS__)
#define CYCLES(...)         MODELLED(__VA_ARGS__), .unit = PMU_EVENT_CYCLES
#define ABOUT_CYCLES(why, ...)                                          \
    APPROXIMATE(why, __VA_ARGS__), .unit = PMU_EVENT_CYCLES
/* The sum of cycles of several kinds that may overlap, at most all cycles. */
#define OVERLAPPING_CYCLES(why, ...)                                    \
    ABOUT_CYCLES(why, __VA_ARGS__), .capped = true
/*
 * No guest can make it happen, whatever devices and sockets its machine has:
 * the CPU lacks what it counts, and CPUID says so.
 */
#define NEVER(why)          .state = PMU_EVENT_NEVER, .note = why
/* It may happen, but the model does not know. */
#define NOT_MODELLED(why)   .state = PMU_EVENT_NOT_MODELLED, .note = why
/* The row without modifiers says what this one counts. */
#define AS_PLAIN            .state = PMU_EVENT_MODELLED,                \
                            .unit = PMU_EVENT_AS_PLAIN
/* Item @all less the other items. */
#define LESS(all, ...)      MODELLED(__VA_ARGS__), .minuend = (all)
/* Items of cycles in which 0, 1, 2, ... are counted: @num from @first on. */
#define BINS(first, num)                                                \
    .unit = PMU_EVENT_BINS, .first_bin = (first), .num_bins = (num)
#define BINS_FROM_1(first, num)                                         \
    .unit = PMU_EVENT_BINS_FROM_1, .first_bin = (first), .num_bins = (num)

/* The low 32 bits that MSR_PEBS_FRONTEND or _LD_LAT_THRESHOLD must hold. */
#define FRONTEND(value)                                                 \
    .extra = PMU_EXTRA_FRONTEND, .extra_value = (value),                \
    .extra_mask = UINT32_MAX
#define LD_LAT(value)                                                   \
    .extra = PMU_EXTRA_LD_LAT, .extra_value = (value),                  \
    .extra_mask = UINT32_MAX
#define OFFCORE(n)          .extra = PMU_EXTRA_OFFCORE_##n

/* Notes that several rows share. */
#define WHY_ACCESSES    "accesses: an instruction that makes two counts " \
                        "twice, REP ones once for each line"
#define WHY_SPLITS      "but for those of REP strings, gathers and XSAVE"
#define WHY_RIGHT_PATH  "without what is thrown away"
#define WHY_INT_VEC     "Intel does not say of which instructions"
#define WHY_NO_ASSISTS  "the model takes no assists but for denormal numbers"
#define WHY_SOME_ASSISTS "products, quotients, roots and FMA of SSE and AVX " \
                        "with denormal operands or an inexact denormal result"
#define WHY_ORDERING \
    "one for each line in use that another vCPU takes"
#define WHY_NO_AVX512   "TCG has no AVX-512"
#define WHY_NO_DIRTY    "which lines are modified is not known"
#define WHY_NO_FP_PORTS "micro-ops are not told apart by kind at the ports"
#define WHY_NO_PEBS     "needs PEBS, which there is not"
#define WHY_NO_PMM      "the model takes persistent memory for DRAM"
#define WHY_NO_RTM      "TCG has no RTM"
#define WHY_NO_SNOOPS   "what cores answer to others is not counted"
#define WHY_NO_SUPERQUEUE "the queue from L2 to L3 is never full"
#define WHY_NO_REMOTE   "the model takes all memory for the socket's own, " \
                        "and asks no other socket's caches"
#define WHY_ONE_THREAD  "each vCPU is a core with one thread"

static inline bool pmu_event_is_offcore(const PmuEvent *event)
{
    return event->extra == PMU_EXTRA_OFFCORE_0 ||
           event->extra == PMU_EXTRA_OFFCORE_1;
}

#endif
