/*
 * Counters, in one form for general-purpose and fixed ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_PERFMON_COUNTER_H
#define TARGET_I386_PMU_PERFMON_COUNTER_H

#include "tcg/pmu/perfmon/perfmon-state.h"

/* What the registers say about one counter. */
typedef struct PerfmonCounter {
    const PmuSelection *event;
    uint64_t value;
    uint64_t status;            /* its bit in GLOBAL_STATUS, if that exists */
    bool running;               /* on, at the levels below */
    bool level[PMU_LEVEL_NR];   /* it counts at this level */
    bool interrupt;
    bool every_increment;       /* each increment is an overflow */
    bool cascades;              /* an overflow starts another counter */
} PerfmonCounter;

/* How many there are: general-purpose ones come first, then fixed ones. */
unsigned perfmon_num_counters(const Perfmon *pmu);

/* Counter @index, below perfmon_num_counters(). */
PerfmonCounter perfmon_get_counter(const Perfmon *pmu, unsigned index);

/* The value of counter @index, to be changed. */
uint64_t *perfmon_counter_value(Perfmon *pmu, unsigned index);

/* Is @counter on, and is there something to count? */
bool perfmon_is_counting(const PerfmonCounter *counter);

/*
 * Does @counter count at some level, and would its overflow interrupt or start
 * another counter?  Then the overflow must be found when it happens.
 */
bool perfmon_awaits_overflow(const PerfmonCounter *counter);

/*
 * Does PERF_METRICS count?  It has no control register of its own: if it is on
 * in IA32_PERF_GLOBAL_CTRL, it counts while IA32_FIXED_CTR3 does, at the same
 * levels (SDM vol. 3B, "Performance Metrics").  *@slots is then that counter.
 */
bool perfmon_metrics_counting(const Perfmon *pmu, PerfmonCounter *slots);

/*
 * Look up what counters count, after registers that say so may have changed:
 * for counters whose selector is different, or for @all.
 */
void perfmon_select(Perfmon *pmu, bool all);

/* PerfmonMsr.written of counters: a write begins another count. */
void perfmon_counter_written(Perfmon *pmu, unsigned index, uint64_t value);

/* ... of registers that say what one counter counts, and when. */
void perfmon_selector_written(Perfmon *pmu, unsigned index, uint64_t value);

/* ... of registers that control several counters. */
void perfmon_shared_written(Perfmon *pmu, unsigned index, uint64_t value);

/* ... of a counter's selector that controls others, too. */
void perfmon_shared_selector_written(Perfmon *pmu, unsigned index,
                                     uint64_t value);

/* What reads of IA32_PERF_METRICS return. */
uint64_t perfmon_metrics(const Perfmon *pmu);

/*
 * A number for what counter @index counts, for PerfmonEventRates: the selector,
 * or for a fixed counter a high bit of its own.
 */
uint64_t perfmon_rate_key(const Perfmon *pmu, unsigned index);

#endif
