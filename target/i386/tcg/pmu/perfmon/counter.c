/*
 * Counters: which are on, at which levels, and what they count.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/perfmon/counter.h"
#include "tcg/pmu/perfmon/perf-metrics.h"
#include "tcg/pmu/perfmon/register-map.h"

unsigned perfmon_num_counters(const Perfmon *pmu)
{
    return pmu->config.num_gp + pmu->config.num_fixed;
}

/* Is the counter with bit @status on, if its own control says @enabled? */
static bool is_running(const Perfmon *pmu, uint64_t status, bool enabled)
{
    return enabled && (pmu->global_ctrl & status & ~pmu->held) &&
           !(pmu->global_status & PERF_GLOBAL_CTR_FRZ);
}

static PerfmonCounter gp_counter(const Perfmon *pmu, unsigned index)
{
    const PerfmonControl *control = &pmu->control[index];

    return (PerfmonCounter) {
        .event = &pmu->selected[index],
        .value = pmu->gp[index],
        .status = PERF_GLOBAL_GP(index),
        .running = is_running(pmu, PERF_GLOBAL_GP(index), control->enabled),
        .level[PMU_LEVEL_OS] = control->os,
        .level[PMU_LEVEL_USR] = control->usr,
        .interrupt = control->interrupt,
        .every_increment = control->every_increment,
        .cascades = control->cascades,
    };
}

static PerfmonCounter fixed_counter(const Perfmon *pmu, unsigned index)
{
    uint64_t ctrl = pmu->fixed_ctr_ctrl;

    return (PerfmonCounter) {
        .event = &pmu->selected[pmu->config.num_gp + index],
        .value = pmu->fixed[index],
        .status = PERF_GLOBAL_FIXED(index),
        .running = is_running(pmu, PERF_GLOBAL_FIXED(index), true),
        .level[PMU_LEVEL_OS] = ctrl & PERF_FIXED_OS(index),
        .level[PMU_LEVEL_USR] = ctrl & PERF_FIXED_USR(index),
        .interrupt = ctrl & PERF_FIXED_PMI(index),
    };
}

PerfmonCounter perfmon_get_counter(const Perfmon *pmu, unsigned index)
{
    return index < pmu->config.num_gp ?
           gp_counter(pmu, index) :
           fixed_counter(pmu, index - pmu->config.num_gp);
}

uint64_t *perfmon_counter_value(Perfmon *pmu, unsigned index)
{
    return index < pmu->config.num_gp ?
           &pmu->gp[index] : &pmu->fixed[index - pmu->config.num_gp];
}

bool perfmon_is_counting(const PerfmonCounter *counter)
{
    return counter->running && pmu_selection_counts(counter->event);
}

bool perfmon_awaits_overflow(const PerfmonCounter *counter)
{
    return (counter->interrupt || counter->cascades) &&
           perfmon_is_counting(counter) &&
           (counter->level[PMU_LEVEL_OS] || counter->level[PMU_LEVEL_USR]);
}

/*
 * Update what the registers say about general-purpose counter @index.  What it
 * counts is looked up only if its selector changed, or with @look_up: drivers
 * stop and start counters far more often than they give them another event, and
 * a lookup takes about as long as all the rest of a WRMSR.
 */
static void select_gp(Perfmon *pmu, unsigned index, bool look_up)
{
    uint64_t selector;

    pmu->control[index] = pmu->map->control(pmu, index);
    selector = pmu->control[index].selector;
    if (pmu->selected_evtsel[index] != selector) {
        pmu->remainder[index] = 0;      /* another count begins */
        look_up = true;
    }
    if (look_up) {
        pmu->selected_evtsel[index] = selector;
        pmu->map->select(pmu, index, selector);
    }
}

/* @extra is about to change: counts whose selector is in it begin anew. */
static void begin_extra_counts(Perfmon *pmu,
                               const uint64_t extra[PERFMON_EXTRA_NR])
{
    for (unsigned i = 0; i < pmu->config.num_gp; i++) {
        PmuEventExtra of = pmu_event_extra(pmu->config.core,
                                           pmu->selected_evtsel[i]);

        if (of != PMU_EXTRA_NONE && pmu->selected_extra[of] != extra[of]) {
            pmu->remainder[i] = 0;
        }
    }
}

void perfmon_select(Perfmon *pmu, bool all)
{
    const uint64_t extra[PERFMON_EXTRA_NR] = {
        [PMU_EXTRA_OFFCORE_0] = pmu->offcore_rsp[0],
        [PMU_EXTRA_OFFCORE_1] = pmu->offcore_rsp[1],
        [PMU_EXTRA_LD_LAT] = pmu->pebs_ld_lat,
        [PMU_EXTRA_FRONTEND] = pmu->pebs_frontend,
        [PERFMON_EXTRA_PEBS_ENABLE] = pmu->pebs_enable,
        [PERFMON_EXTRA_PEBS_MATRIX] = pmu->pebs_matrix_vert,
    };

    if (memcmp(pmu->selected_extra, extra, sizeof(extra))) {
        begin_extra_counts(pmu, extra);
        memcpy(pmu->selected_extra, extra, sizeof(extra));
        all = true;
    }
    for (unsigned i = 0; i < pmu->config.num_gp; i++) {
        select_gp(pmu, i, all);
    }
    for (unsigned i = 0; all && i < pmu->config.num_fixed; i++) {
        pmu_event_select_fixed(&pmu->selected[pmu->config.num_gp + i], i);
    }
}

void perfmon_counter_written(Perfmon *pmu, unsigned index,
                             uint64_t value G_GNUC_UNUSED)
{
    pmu->remainder[index] = 0;
}

void perfmon_selector_written(Perfmon *pmu, unsigned index, uint64_t value)
{
    perfmon_counter_written(pmu, index, value);
    select_gp(pmu, index, false);
}

void perfmon_shared_written(Perfmon *pmu, unsigned index G_GNUC_UNUSED,
                            uint64_t value G_GNUC_UNUSED)
{
    perfmon_select(pmu, false);
}

void perfmon_shared_selector_written(Perfmon *pmu, unsigned index,
                                     uint64_t value)
{
    perfmon_counter_written(pmu, index, value);
    perfmon_shared_written(pmu, index, value);
}

bool perfmon_metrics_counting(const Perfmon *pmu, PerfmonCounter *slots)
{
    if (!(pmu->global_ctrl & PERF_GLOBAL_METRICS)) {
        return false;
    }
    *slots = fixed_counter(pmu, 3);
    return perfmon_is_counting(slots);
}

uint64_t perfmon_metrics(const Perfmon *pmu)
{
    return pmu_metrics_read(pmu->metrics, pmu->config.num_metrics,
                            pmu->fixed[3]);
}

uint64_t perfmon_rate_key(const Perfmon *pmu, unsigned index)
{
    return index < pmu->config.num_gp
           ? pmu->selected_evtsel[index]
           : 1ull << (63 - (index - pmu->config.num_gp));
}
