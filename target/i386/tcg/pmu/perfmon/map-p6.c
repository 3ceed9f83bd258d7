/*
 * The register map of the P6 family: Pentium Pro, II, III and M.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Source: SDM vol. 3B, "Performance Monitoring (P6 Family Processor)".
 */

#include <glib.h>

#include "tcg/pmu/perfmon/counter.h"
#include "tcg/pmu/perfmon/register-map.h"

static const PerfmonMsr rows[] = {
    {
        .name = "PerfCtr", .first = MSR_PMU_IA32_PMC0, .count = 2,
        .present = PERFMON_PRESENT_GP,
        .write = PERFMON_WRITE_SIGN_EXTEND, .writable = PERFMON_MASK_ALL,
        .holds = PERFMON_MASK_COUNTER,
        .stored = offsetof(Perfmon, gp),
        .written = perfmon_counter_written,
    }, {
        .name = "PerfEvtSel", .first = MSR_PMU_IA32_PERFEVTSEL0, .count = 2,
        .present = PERFMON_PRESENT_GP,
        .write = PERFMON_WRITE_STORE, .writable = PERFMON_MASK_EAX,
        .holds = PERFMON_MASK_EVTSEL_HELD,
        .stored = offsetof(Perfmon, evtsel),
        /* The enable bit of PerfEvtSel0 controls both counters. */
        .written = perfmon_shared_selector_written,
    },
};

/* Bit 21 is reserved; no source says that a write of it raises #GP. */
static void prepare(Perfmon *pmu)
{
    pmu->mask[PERFMON_MASK_EVTSEL_HELD] = UINT32_MAX & ~PERF_EVTSEL_ANYTHREAD;
}

static PerfmonControl control(const Perfmon *pmu, unsigned index)
{
    PerfmonControl control = perfmon_evtsel_control(pmu, index);

    control.enabled = pmu->evtsel[0] & PERF_EVTSEL_EN;
    return control;
}

const PerfmonRegisterMap perfmon_map_p6 = {
    .name = "P6",
    .rows = rows, .num_rows = G_N_ELEMENTS(rows),
    .counter_name = "PerfCtr",
    .max_gp = 2, .counter_width = 40,
    .prepare = prepare,
    .control = control,
    .select = perfmon_evtsel_select,
    .rdpmc = perfmon_plain_rdpmc,
};
