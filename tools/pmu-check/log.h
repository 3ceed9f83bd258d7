/*
 * Parser of logs: one line becomes one access to a register.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TOOLS_PMU_CHECK_LOG_H
#define TOOLS_PMU_CHECK_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/check/check-types.h"

typedef struct LogAccess {
    unsigned cpu;
    PmuCheckAccess how;
    uint32_t msr;               /* for RDPMC, the MSR that ECX selects */
    uint64_t value;
    bool faulted;               /* it raised #GP */
    uint64_t rip;               /* 0: the log does not say */
    uint8_t cpl;
    uint64_t microseconds;      /* 0: the log does not say */
} LogAccess;

/*
 * Parse @line into @access.  @line is either a trace event of QEMU, as in
 *
 *   x86_pmu_wrmsr cpu 0 msr 0x38f value 0xff old 0x0 rip 0x1000 NAME
 *
 * or a line of "perf script" of the events msr:read_msr, msr:write_msr and
 * msr:rdpmc, as in
 *
 *   swapper  0 [001]  12.345678: msr:write_msr: 38f, value ff
 *
 * Returns false if it is neither.
 */
bool log_parse(const char *line, LogAccess *access);

#endif
