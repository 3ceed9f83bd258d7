/*
 * PMUs that a fuzzer configures, and what it does to them: a guest's accesses
 * to registers, and time that passes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_FUZZ_REGISTERS_H
#define TESTS_FUZZ_REGISTERS_H

#include "input.h"
#include "tcg/pmu/perfmon/perfmon.h"
#include "tcg/pmu/perfmon/register-map.h"
#include "tcg/pmu/uarch/uarch.h"

/* Make @pmu a unit that has all that the CPU models have, or less. */
void fuzz_make_unit(FuzzInput *in, Perfmon *pmu);

/* Returns the address of an MSR, in most cases one that @pmu has. */
uint32_t fuzz_msr(FuzzInput *in, const Perfmon *pmu);

/* Returns a value that a driver, or a careless guest, could write to an MSR. */
uint64_t fuzz_value(FuzzInput *in);

/*
 * Access the registers of @pmu and let time pass in @ledger, until the input
 * ends.  Checks what perfmon.h promises.
 */
void fuzz_use_unit(FuzzInput *in, Perfmon *pmu, PmuLedger *ledger);

#endif
