/*
 * The register map of VIA's C3: one counter, which cannot be stopped.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Addresses and rules: the comments of perfctr's driver (Mikael Pettersson,
 * drivers/perfctr/x86.c), which cites the "VIA C3 Samuel 2 Processor
 * Datasheet" and his own tests.  The first counter is the time stamp counter at
 * another address; pmu-msr.c has it.
 */

#include <glib.h>

#include "tcg/pmu/perfmon/counter.h"
#include "tcg/pmu/perfmon/register-map.h"

static const PerfmonMsr rows[] = {
    {
        .name = "PerfCtr1", .first = MSR_PMU_IA32_PMC0 + 1, .count = 1,
        .present = PERFMON_PRESENT_GP,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_ALL,
        .holds = PERFMON_MASK_COUNTER,
        .stored = offsetof(Perfmon, gp),
        .written = perfmon_counter_written,
    }, {
        .name = "PerfEvtSel0", .first = MSR_PMU_IA32_PERFEVTSEL0, .count = 1,
        .present = PERFMON_PRESENT,
        .write = PERFMON_WRITE_NOT_STORED, .writable = PERFMON_MASK_ALL,
        .stored = PERFMON_NOT_STORED,
        .reads_zero = true,
    }, {
        .name = "PerfEvtSel1", .first = MSR_PMU_IA32_PERFEVTSEL0 + 1,
        .count = 1, .present = PERFMON_PRESENT_GP,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_ALL,
        .holds = PERFMON_MASK_EVTSEL_HELD,
        .reset = PERFMON_MASK_EVTSEL_AT_RESET,
        .stored = offsetof(Perfmon, evtsel),
        .written = perfmon_selector_written,
    },
};

/* The bits of PerfEvtSel1 that select an event. */
#define EVENT   0x1ffull

static void prepare(Perfmon *pmu)
{
    pmu->mask[PERFMON_MASK_EVTSEL_HELD] = UINT32_MAX;
    /* After RESET the counter counts clocks: perfctr found 00070079H there. */
    pmu->mask[PERFMON_MASK_EVTSEL_AT_RESET] = 0x70079;
}

static PerfmonControl control(const Perfmon *pmu, unsigned index)
{
    return (PerfmonControl) {
        .selector = pmu->evtsel[index] & EVENT,
        .enabled = true, .os = true, .usr = true,
    };
}

static int rdpmc(const Perfmon *pmu, uint32_t ecx, uint64_t *mask)
{
    *mask = UINT64_MAX;
    return ecx == 1 ? 0 : -1;
}

const PerfmonRegisterMap perfmon_map_c3 = {
    .name = "C3",
    .rows = rows, .num_rows = G_N_ELEMENTS(rows),
    .counter_name = "PerfCtr", .first_counter = 1,
    .max_gp = 1, .counter_width = 32,
    .prepare = prepare,
    .control = control,
    .select = perfmon_evtsel_select,
    .rdpmc = rdpmc,
};
