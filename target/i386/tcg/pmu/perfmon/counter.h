/*
 * A counter's registers, in one form for general-purpose and fixed ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_PERFMON_COUNTER_H
#define TARGET_I386_PMU_PERFMON_COUNTER_H

#include "tcg/pmu/perfmon/perfmon-state.h"

/* A counter's controls, in one form for both kinds. */
typedef struct PerfmonCounter {
    const PmuSelection *event;
    uint64_t value;
    uint64_t status;            /* its bit in GLOBAL_STATUS, if there is one */
    bool running;               /* on, at the levels below */
    bool level[PMU_LEVEL_NR];   /* filter */
    bool interrupt;
    bool each;                  /* each increment is an overflow */
    bool cascades;              /* an overflow starts another counter */
} PerfmonCounter;

/* General-purpose counters come first, then the fixed ones. */
unsigned perfmon_num_counters(const Perfmon *pmu);

/* Counter @index, below perfmon_num_counters(). */
PerfmonCounter perfmon_get_counter(const Perfmon *pmu, unsigned index);

/* Its value, to be changed. */
uint64_t *perfmon_counter_value(Perfmon *pmu, unsigned index);

/* It is on and there is something to count. */
bool perfmon_is_counting(const PerfmonCounter *counter);

/*
 * It counts at some level, and an overflow would interrupt, or start another
 * counter: it is to be found when it happens.
 */
bool perfmon_awaits_overflow(const PerfmonCounter *counter);

/*
 * PERF_METRICS counts along with IA32_FIXED_CTR3 and under its filter: there
 * is no control register of its own (SDM vol. 3B, "Performance Metrics").
 * Returns whether it does, and that counter in *@slots.
 */
bool perfmon_metrics_counting(const Perfmon *pmu, PerfmonCounter *slots);

/*
 * Registers that say what counters count may have changed: look up what is
 * different, or all of it.
 */
void perfmon_select(Perfmon *pmu, bool all);

/* Hooks of rows: a write to a counter begins another count. */
void perfmon_counter_written(Perfmon *pmu, unsigned index, uint64_t value);

/* ... to a register that says what this counter counts, and when. */
void perfmon_selector_written(Perfmon *pmu, unsigned index, uint64_t value);

/* ... to one that several counters look at. */
void perfmon_shared_written(Perfmon *pmu, unsigned index, uint64_t value);

/* ... to a selector of one counter that others look at, too. */
void perfmon_shared_selector_written(Perfmon *pmu, unsigned index,
                                     uint64_t value);

/* What reads of IA32_PERF_METRICS return. */
uint64_t perfmon_metrics(const Perfmon *pmu);

/*
 * What counter @index counts, for PerfmonEventRates: counters of one selector
 * share it, and fixed counters have a bit each beyond.
 */
uint64_t perfmon_event_of(const Perfmon *pmu, unsigned index);

#endif
