/*
 * What register maps have in common.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/perfmon/register-map.h"

static const PerfmonRegisterMap *const maps[PERFMON_MAP_NR] = {
    [PERFMON_MAP_ARCHITECTURAL] = &perfmon_map_architectural,
    [PERFMON_MAP_P6] = &perfmon_map_p6,
    [PERFMON_MAP_AMD] = &perfmon_map_amd,
    [PERFMON_MAP_NETBURST] = &perfmon_map_netburst,
    [PERFMON_MAP_P5] = &perfmon_map_p5,
    [PERFMON_MAP_C3] = &perfmon_map_c3,
};

const PerfmonRegisterMap *perfmon_register_map(PerfmonMap map)
{
    return maps[map];
}

bool perfmon_map_row(const PerfmonRegisterMap *map, unsigned index,
                     PerfmonMsrRange *range)
{
    const PerfmonMsr *row = &map->rows[index];

    if (index >= map->num_rows) {
        return false;
    }
    *range = (PerfmonMsrRange) {
        .name = row->name, .first = row->first, .count = row->count,
        .step = MAX(row->step, 1),
    };
    return true;
}

PerfmonControl perfmon_evtsel_control(const Perfmon *pmu, unsigned index)
{
    uint64_t evtsel = pmu->evtsel[index];

    return (PerfmonControl) {
        .selector = evtsel & (PERF_EVTSEL_EVENT | PERF_EVTSEL_UMASK |
                              PMU_EVENT_MODIFIERS | PERF_EVTSEL_EVENT_HIGH),
        .enabled = evtsel & PERF_EVTSEL_EN,
        .os = evtsel & PERF_EVTSEL_OS,
        .usr = evtsel & PERF_EVTSEL_USR,
        .interrupt = evtsel & PERF_EVTSEL_INT,
    };
}

void perfmon_evtsel_select(Perfmon *pmu, unsigned index, uint64_t selector)
{
    pmu_event_select(&pmu->selected[index], pmu->config.core, index, selector,
                     pmu->selected_extra);
}

int perfmon_plain_rdpmc(const Perfmon *pmu, uint32_t ecx, uint64_t *mask)
{
    *mask = UINT64_MAX;
    return ecx < pmu->config.num_gp ? (int)ecx : -1;
}
