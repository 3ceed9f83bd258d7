/*
 * The checker finds what a driver of the PMU does wrong.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Callers tell it of register accesses, overflows, interrupts and returns from
 * them, of writes to LVTPC, and where each happens.  It judges these events by
 * a table of rules (rules-*.c).  It reports each hit with the rule, its reason,
 * and the place.
 *
 * This folder also has the flight recorder and names of registers (recorder),
 * the choice of rules (rule-set), addresses by symbols (symbols), and hits that
 * are known (suppressions).  It includes perfmon/, events/, ledger/ and uarch/,
 * and must not know QEMU.  It sees registers as const: the guest reads the same
 * with the checker as without it (/check/passive).
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
 * Begin to observe @perfmon, which was just RESET and must outlive the result.
 * The result is freed with pmu_check_free().
 */
PmuCheck *pmu_check_new(const Perfmon *perfmon, const PmuCheckConfig *config);
void pmu_check_free(PmuCheck *check);

/* RESET has given registers, LVTPC among them, their initial values. */
void pmu_check_reset(PmuCheck *check);

/* Registers were loaded, and it is not known how software set them. */
void pmu_check_forget(PmuCheck *check);

/* What @check remembers, for pmu_check_load() elsewhere.  @check owns it. */
const PmuCheckMemory *pmu_check_memory(const PmuCheck *check);

/* Why @memory is impossible (static text); NULL if it is not. */
const char *pmu_check_memory_fault(const PmuCheckMemory *memory);

/*
 * Registers were loaded, and @memory with them.  @check judges from now on as
 * the checker that @memory comes from would have.
 */
void pmu_check_load(PmuCheck *check, const PmuCheckMemory *memory);

/*
 * Software accesses register @msr; for RDPMC, @msr is the MSR that ECX selects.
 * The registers that @check observes must be up to date.  A write must be one
 * that does not fault, and must not have changed them yet.
 */
void pmu_check_read(PmuCheck *check, const PmuCheckWhere *where,
                    PmuCheckAccess how, uint32_t msr, uint64_t value);
void pmu_check_write(PmuCheck *check, const PmuCheckWhere *where,
                     uint32_t msr, uint64_t value);

/* An access raises #GP.  @value is what was to be written. */
void pmu_check_gp(PmuCheck *check, const PmuCheckWhere *where,
                  PmuCheckAccess how, uint32_t msr, uint64_t value);

/* Overflows have set @bits of IA32_PERF_GLOBAL_STATUS. */
void pmu_check_overflow(PmuCheck *check, const PmuCheckWhere *where,
                        uint64_t bits);

/* An overflow asks for an interrupt, which has @outcome. */
void pmu_check_pmi(PmuCheck *check, const PmuCheckWhere *where,
                   PmuCheckOutcome outcome);

/*
 * A pmu-fault object alone asks for an interrupt, which finds LVTPC masked.
 * Software has broken no rule.
 */
void pmu_check_injected_pmi(PmuCheck *check, const PmuCheckWhere *where);

/* Software is about to write @value to LVTPC. */
void pmu_check_lvtpc(PmuCheck *check, const PmuCheckWhere *where,
                     uint32_t value);

/*
 * Whether the checker has to be told of interrupts and returns from them now.
 * Most of the time they can neither change its state nor break a rule.
 */
bool pmu_check_awaits_interrupts(const PmuCheck *check);

/* The processor takes an interrupt or exception; it executes IRET. */
void pmu_check_interrupt(PmuCheck *check, const PmuCheckWhere *where,
                         unsigned vector);
void pmu_check_iret(PmuCheck *check, const PmuCheckWhere *where);

/* The processor stops without the driver taking part: @why. */
void pmu_check_halt(PmuCheck *check, const PmuCheckWhere *where,
                    PmuCheckHalt why);

/*
 * Time has passed without another event.  Callers need not tell this, but rules
 * C8 and P3 judge a driver that no longer does anything only if they do.
 */
void pmu_check_time(PmuCheck *check, const PmuCheckWhere *where);

/* Hit @index, in order of occurrence; NULL past the last. */
const PmuCheckHit *pmu_check_hit(const PmuCheck *check, unsigned index);

#endif
