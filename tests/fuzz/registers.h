/*
 * What a core could have done, and what a guest may do to the registers
 * meanwhile, as a fuzzer decides.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_FUZZ_REGISTERS_H
#define TESTS_FUZZ_REGISTERS_H

#include "input.h"
#include "tcg/pmu/perfmon/perfmon.h"
#include "tcg/pmu/perfmon/register-map.h"
#include "tcg/pmu/uarch/uarch.h"

/* A unit with all that the CPU models have, or less. */
void fuzz_make_unit(FuzzInput *in, Perfmon *pmu);

/* The address of a register that @pmu has, most of the time. */
uint32_t fuzz_msr(FuzzInput *in, const Perfmon *pmu);

/* What a driver, or somebody else, could write to one. */
uint64_t fuzz_value(FuzzInput *in);

/*
 * Accesses to the registers of @pmu, and time that goes by in @ledger, until
 * the input ends.  Checks what perfmon.h promises.
 */
void fuzz_use_unit(FuzzInput *in, Perfmon *pmu, PmuLedger *ledger);

#endif
