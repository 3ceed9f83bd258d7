/*
 * A small driver: a register file, and a checker that observes it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_UNIT_CHECK_DRIVER_H
#define TESTS_UNIT_CHECK_DRIVER_H

#include "tcg/pmu/check/check.h"
#include "tcg/pmu/check/controls.h"

#define GC      MSR_PMU_IA32_PERF_GLOBAL_CTRL
#define STATUS  MSR_PMU_IA32_PERF_GLOBAL_STATUS
#define ACK     MSR_PMU_IA32_PERF_GLOBAL_OVF_CTRL
#define FIXED   MSR_PMU_IA32_FIXED_CTR_CTRL
#define PMC(n)  (MSR_PMU_IA32_A_PMC0 + (n))
#define SEL(n)  (MSR_PMU_IA32_PERFEVTSEL0 + (n))
#define CTR(n)  (MSR_PMU_IA32_FIXED_CTR0 + (n))
#define METRICS MSR_PMU_IA32_PERF_METRICS

/* As Linux writes it on Ice Lake. */
#define GC_ALL      0x1000f000000ffull
/* Instructions at all levels, with an interrupt. */
#define SEL_INT     (0xc0 | PERF_EVTSEL_EN | PERF_EVTSEL_INT | \
                     PERF_EVTSEL_OS | PERF_EVTSEL_USR)
/* A period of 1000. */
#define PERIOD      (PERFMON_COUNTER_MASK + 1 - 1000)
#define TASK_A      0x10000000ull
#define TASK_B      0x20000000ull

typedef struct Driver {
    Perfmon perfmon;
    PmuCheck *check;
    PmuCheckWhere where;
} Driver;

/*
 * Start after RESET, with the rules of @config, and LVTPC as Linux sets it at
 * boot. driver_start() has version 5 and the default rules.
 */
void driver_start(Driver *d);
void driver_start_with(Driver *d, const PmuCheckConfig *config);
/* ... a unit of @version, with the default rules. */
void driver_start_version(Driver *d, unsigned version);
void driver_end(Driver *d);

/* Accesses; each is made by an instruction at an address of its own. */
void driver_write(Driver *d, uint32_t msr, uint64_t value);
uint64_t driver_read(Driver *d, uint32_t msr);
/* RDPMC of the counter whose MSR is @msr. */
uint64_t driver_rdpmc(Driver *d, uint32_t msr);
void driver_lvtpc(Driver *d, uint32_t value);

/* The counters of @bits overflow; @outcome is what becomes of the interrupt. */
void driver_overflow(Driver *d, uint64_t bits, PmuCheckOutcome outcome);
/* The same, with an NMI that is taken. */
void driver_nmi(Driver *d, uint64_t bits);
void driver_iret(Driver *d);

/* Give counter 0 a period and start it, as Linux does. */
void driver_sample(Driver *d);
/* Start fixed counter 3 and the metrics from 0. */
void driver_topdown(Driver *d);

/*
 * How often rule @id was broken; how many pairs of a rule and an address were.
 */
unsigned driver_hits(const Driver *d, const char *id);
unsigned driver_all_hits(const Driver *d);

#endif
