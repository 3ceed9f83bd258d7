/*
 * The checker: what does a driver of the PMU do wrong?
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * It is told of register accesses, overflows, interrupts and returns from
 * them, of LVTPC, and where each happens, and judges them by a table of rules
 * (rules-*.c).  Each hit is reported with the rule, its reason, and the place.
 *
 * This folder also has the flight recorder (recorder), names of registers,
 * choice of rules (rule-set), addresses by symbols (symbols), and hits that are
 * known (suppressions).  It includes perfmon/, events/, ledger/ and uarch/, and
 * must not know QEMU.  It sees registers as const: what is observed is the same
 * with and without (/check/passive).
 */

#ifndef TARGET_I386_PMU_CHECK_CHECK_H
#define TARGET_I386_PMU_CHECK_CHECK_H

#include "tcg/pmu/check/check-memory.h"
#include "tcg/pmu/check/check-types.h"
#include "tcg/pmu/check/rule-set.h"
#include "tcg/pmu/check/suppressions.h"
#include "tcg/pmu/perfmon/perfmon.h"

typedef struct PmuCheck PmuCheck;

/*
 * Begin to observe @perfmon, which must live on, after RESET.
 */
PmuCheck *pmu_check_new(const Perfmon *perfmon, const PmuCheckConfig *config);
void pmu_check_free(PmuCheck *check);

/* RESET: registers, LVTPC among them, have their initial values again. */
void pmu_check_reset(PmuCheck *check);

/* Registers came from elsewhere: nothing is known of how they got there. */
void pmu_check_forget(PmuCheck *check);

/*
 * What is remembered, to be loaded elsewhere; @memory lasts as long as @check.
 */
const PmuCheckMemory *pmu_check_memory(const PmuCheck *check);

/* Why there can be no such @memory (static text), or NULL. */
const char *pmu_check_memory_fault(const PmuCheckMemory *memory);

/*
 * Registers came from elsewhere, and @memory with them: rules are judged as
 * they would have been there.
 */
void pmu_check_load(PmuCheck *check, const PmuCheckMemory *memory);

/*
 * Register @msr is accessed.  RDPMC is told as a read of the MSR behind ECX.
 * Registers are up to date; a write has been found to be possible, and has not
 * changed them yet.
 */
void pmu_check_read(PmuCheck *check, const PmuCheckWhere *where,
                    PmuCheckAccess how, uint32_t msr, uint64_t value);
void pmu_check_write(PmuCheck *check, const PmuCheckWhere *where,
                     uint32_t msr, uint64_t value);

/* The access raises #GP; @value is what was to be written. */
void pmu_check_gp(PmuCheck *check, const PmuCheckWhere *where,
                  PmuCheckAccess how, uint32_t msr, uint64_t value);

/* IA32_PERF_GLOBAL_STATUS has got @bits. */
void pmu_check_overflow(PmuCheck *check, const PmuCheckWhere *where,
                        uint64_t bits);

/* An overflow asked for an interrupt. */
void pmu_check_pmi(PmuCheck *check, const PmuCheckWhere *where,
                   PmuCheckOutcome outcome);

/* LVTPC is about to be written. */
void pmu_check_lvtpc(PmuCheck *check, const PmuCheckWhere *where,
                     uint32_t value);

/*
 * Can an interrupt, or a return from one, change or break anything now?  Most
 * of the time, they need not be told.
 */
bool pmu_check_awaits_interrupts(const PmuCheck *check);

/* An interrupt or exception is taken; and IRET. */
void pmu_check_interrupt(PmuCheck *check, const PmuCheckWhere *where,
                         unsigned vector);
void pmu_check_iret(PmuCheck *check, const PmuCheckWhere *where);

void pmu_check_halt(PmuCheck *check, const PmuCheckWhere *where,
                    PmuCheckHalt why);

/*
 * Some time has gone by without anything else to tell.  Not needed, but a
 * driver that does nothing any more is judged by it.
 */
void pmu_check_time(PmuCheck *check, const PmuCheckWhere *where);

/* Hit @index, in the order in which they came; NULL past the last. */
const PmuCheckHit *pmu_check_hit(const PmuCheck *check, unsigned index);

#endif
