/*
 * The PMU in the monitor: HMP "info pmu" and QMP x-query-pmu.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The ledger shown here is the ground truth for judging a driver under test.
 * Looking at it changes nothing.
 */

#include "qemu/osdep.h"
#include "monitor/hmp-target.h"
#include "monitor/monitor.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-pmu-target.h"
#include "qobject/qdict.h"
#include "system/replay.h"
#include "tcg/pmu/decode/decoder.h"
#include "tcg/pmu/perfmon/perf-metrics.h"
#include "tcg/pmu/perfmon/register-map.h"
#include "pmu-observe.h"

static const char *const metric_name[PERFMON_MAX_METRICS] = {
    "retiring", "bad-speculation", "frontend-bound", "backend-bound",
    "heavy-operations", "branch-mispredicts", "fetch-latency", "memory-bound",
};

static PmuRegisterList *pmu_registers(const Perfmon *perfmon)
{
    PmuRegisterList *list = NULL, **tail = &list;
    PerfmonMsrRange row;

    for (unsigned i = 0; perfmon_map_row(perfmon->map, i, &row); i++) {
        for (unsigned j = 0; j < row.count; j++) {
            uint32_t msr = row.first + j * row.step;
            uint64_t value;
            PmuRegister *reg;

            if (perfmon_rdmsr(perfmon, msr, &value) != PERFMON_OK) {
                continue;
            }
            reg = g_new0(PmuRegister, 1);
            reg->name = row.count > 1 ? g_strdup_printf("%s%u", row.name, j)
                                      : g_strdup(row.name);
            reg->index = msr;
            reg->value = value;
            QAPI_LIST_APPEND(tail, reg);
        }
    }
    return list;
}

static PmuCounterList *pmu_counters(const Perfmon *perfmon)
{
    PmuCounterList *list = NULL, **tail = &list;
    PerfmonView view;

    for (unsigned i = 0; perfmon_view(perfmon, i, &view); i++) {
        PmuCounter *counter = g_new0(PmuCounter, 1);

        counter->name = g_strdup_printf("%s%u", view.counter, view.number);
        counter->event = g_strdup(view.event);
        counter->state = g_strdup(pmu_event_state_name(view.state));
        counter->note = g_strdup(view.note);
        counter->value = view.value;
        counter->counting = view.enabled;
        counter->os = view.os;
        counter->usr = view.usr;
        counter->interrupt = view.interrupt;
        QAPI_LIST_APPEND(tail, counter);
    }
    return list;
}

static PmuCountList *pmu_ledger_list(const PmuLedger *ledger)
{
    PmuCountList *list = NULL, **tail = &list;
    PmuLedgerSnapshot snap;

    pmu_ledger_snapshot(ledger, &snap);
    for (unsigned item = 0; item < PMU_ITEM_NR; item++) {
        PmuCount *count = g_new0(PmuCount, 1);

        count->name = g_strdup(pmu_ledger_item_name(item));
        count->os = snap.item[PMU_LEVEL_OS][item];
        count->usr = snap.item[PMU_LEVEL_USR][item];
        QAPI_LIST_APPEND(tail, count);
    }
    return list;
}

static PmuMetricList *pmu_metrics(const Perfmon *perfmon)
{
    PmuMetricList *list = NULL, **tail = &list;
    uint64_t fields;

    if (perfmon_rdmsr(perfmon, MSR_PMU_IA32_PERF_METRICS,
                      &fields) != PERFMON_OK) {
        return NULL;
    }
    for (unsigned i = 0; i < perfmon->config.num_metrics; i++) {
        PmuMetric *metric = g_new0(PmuMetric, 1);

        metric->name = g_strdup(metric_name[i]);
        metric->field = extract64(fields, 8 * i, 8);
        metric->fraction = perfmon->fixed[3]
            ? perfmon->metrics[i] / 255.0 / perfmon->fixed[3] : 0;
        QAPI_LIST_APPEND(tail, metric);
    }
    return list;
}

static PmuDecoderCounts *pmu_decoder_counts(X86PMU *unit)
{
    PmuDecoderStats stats = pmu_decoder_stats(unit->decoder);
    PmuDecoderCounts *counts = g_new0(PmuDecoderCounts, 1);

    counts->decoded = stats.decoded;
    counts->unknown = stats.unknown;
    counts->disagreed = stats.disagreed;
    return counts;
}

/*
 * In record and replay a vCPU's thread needs the replay mutex, which the main
 * loop holds.  So release it meanwhile, as pause_all_vcpus() does.
 */
void x86_pmu_run_on_cpu(CPUState *cs, run_on_cpu_func func, void *data)
{
    object_ref(cs);
    replay_mutex_unlock();
    run_on_cpu(cs, func, RUN_ON_CPU_HOST_PTR(data));
    bql_unlock();
    replay_mutex_lock();
    bql_lock();
    object_unref(cs);
}

/*
 * The vCPUs that have a PMU.  Holds a reference to each, as others may be
 * unplugged while the monitor asks one.
 */
static GPtrArray *pmu_cpus(void)
{
    GPtrArray *cpus = g_ptr_array_new_with_free_func(object_unref);
    CPUState *cs;

    CPU_FOREACH(cs) {
        if (cpu_env(cs)->pmu.unit) {
            g_ptr_array_add(cpus, object_ref(cs));
        }
    }
    return cpus;
}

static void pmu_info_on_cpu(CPUState *cs, run_on_cpu_data data)
{
    g_autofree Perfmon *perfmon = g_new(Perfmon, 1);
    PmuInfo *info = data.host_ptr;
    PmuLedger ledger;

    x86_pmu_peek(cpu_env(cs), &ledger, perfmon);
    info->cpu_index = cs->cpu_index;
    info->clock = x86_pmu_clock(cs);
    info->width = ledger.width;
    info->registers = pmu_registers(perfmon);
    info->counters = pmu_counters(perfmon);
    info->ledger = pmu_ledger_list(&ledger);
    info->metrics = pmu_metrics(perfmon);
    info->decoder = pmu_decoder_counts(cpu_env(cs)->pmu.unit);
    info->repairs = x86_pmu_repairs(cpu_env(cs)->pmu.unit);
}

PmuInfoList *qmp_x_query_pmu(Error **errp)
{
    PmuInfoList *list = NULL, **tail = &list;
    g_autoptr(GPtrArray) cpus = pmu_cpus();

    for (unsigned i = 0; i < cpus->len; i++) {
        CPUState *cs = g_ptr_array_index(cpus, i);

        if (x86_pmu_can_be_asked(cs)) {
            PmuInfo *info = g_new0(PmuInfo, 1);

            x86_pmu_run_on_cpu(cs, pmu_info_on_cpu, info);
            QAPI_LIST_APPEND(tail, info);
        }
    }
    return list;
}

static PmuHistoryEntry *pmu_history_entry(const PmuRecorderEntry *step)
{
    PmuHistoryEntry *entry = g_new0(PmuHistoryEntry, 1);

    entry->clock = step->clock;
    entry->rip = step->rip;
    entry->cpl = step->cpl;
    entry->cr3 = (uint64_t)step->page << 12;
    entry->kind = g_strdup(pmu_recorder_kind_name(step->kind));
    entry->q_register = pmu_recorder_register(step);
    entry->old = step->old;
    entry->value = step->value;
    if (step->kind == PMU_RECORD_PMI) {
        entry->outcome = g_strdup(pmu_recorder_outcome_name(step->outcome));
    }
    return entry;
}

/* The recorder of @cs; NULL: it has none. */
static PmuRecorder *pmu_recorder_of(CPUState *cs)
{
    X86PMU *unit = cpu_env(cs)->pmu.unit;

    return x86_pmu_can_be_asked(cs) && unit->observer ? unit->observer->recorder
                                                  : NULL;
}

static void pmu_history_on_cpu(CPUState *cs, run_on_cpu_data data)
{
    PmuRecorder *recorder = pmu_recorder_of(cs);
    PmuHistory *history = data.host_ptr;
    PmuHistoryEntryList **tail = &history->entries;
    const PmuRecorderEntry *step;

    history->cpu_index = cs->cpu_index;
    history->clock_unit = g_strdup(x86_pmu_clock_unit());
    for (unsigned i = 0; recorder && (step = pmu_recorder_get(recorder, i));
         i++) {
        QAPI_LIST_APPEND(tail, pmu_history_entry(step));
    }
}

PmuHistoryList *qmp_x_query_pmu_history(Error **errp)
{
    PmuHistoryList *list = NULL, **tail = &list;
    g_autoptr(GPtrArray) cpus = pmu_cpus();

    for (unsigned i = 0; i < cpus->len; i++) {
        CPUState *cs = g_ptr_array_index(cpus, i);

        if (pmu_recorder_of(cs)) {
            PmuHistory *history = g_new0(PmuHistory, 1);

            x86_pmu_run_on_cpu(cs, pmu_history_on_cpu, history);
            QAPI_LIST_APPEND(tail, history);
        }
    }
    return list;
}

static void hmp_print_counters(Monitor *mon, PmuCounterList *list)
{
    for (; list; list = list->next) {
        const PmuCounter *counter = list->value;

        monitor_printf(mon, "  %-16s %15" PRIu64 "  %s (%s) %s%s%s%s\n",
                       counter->name, counter->value,
                       counter->event ? counter->event : "-", counter->state,
                       counter->counting ? "counting " : "",
                       counter->os ? "os " : "", counter->usr ? "usr " : "",
                       counter->interrupt ? "int" : "");
    }
}

static void hmp_print_units(Monitor *mon)
{
    PmuInfoList *all = qmp_x_query_pmu(&error_abort);

    if (!all) {
        monitor_printf(mon, "No vCPU has a PMU\n");
    }
    for (PmuInfoList *cpu = all; cpu; cpu = cpu->next) {
        const PmuInfo *info = cpu->value;

        monitor_printf(mon, "CPU %" PRId64 ": %u slots a cycle\n",
                       info->cpu_index, info->width);
        if (info->repairs) {
            monitor_printf(mon, "  %" PRIu64 " repairs of the model: please "
                           "report a bug\n", info->repairs);
        }
        for (PmuRegisterList *r = info->registers; r; r = r->next) {
            monitor_printf(mon, "  %03x %-30s %016" PRIx64 "\n",
                           r->value->index, r->value->name, r->value->value);
        }
        hmp_print_counters(mon, info->counters);
        monitor_printf(mon, "  %-24s %20s %20s\n", "ledger", "os", "usr");
        for (PmuCountList *c = info->ledger; c; c = c->next) {
            monitor_printf(mon, "  %-24s %20" PRIu64 " %20" PRIu64 "\n",
                           c->value->name, c->value->os, c->value->usr);
        }
        for (PmuMetricList *m = info->metrics; m; m = m->next) {
            monitor_printf(mon, "  %-24s %3u/255 = %7.4f, exactly %.6f\n",
                           m->value->name, m->value->field,
                           m->value->field / 255.0, m->value->fraction);
        }
        monitor_printf(mon, "  decoded %" PRIu64 " instructions, %" PRIu64
                       " unknown, of them %" PRIu64 " taken for others\n",
                       info->decoder->decoded, info->decoder->unknown,
                       info->decoder->disagreed);
    }
    qapi_free_PmuInfoList(all);
}

static void hmp_print_history_on_cpu(CPUState *cs, run_on_cpu_data data)
{
    PmuRecorder *recorder = pmu_recorder_of(cs);
    Monitor *mon = data.host_ptr;
    const PmuRecorderEntry *step;
    uint64_t before = 0;

    monitor_printf(mon, "CPU %d: steps, and %s since the one before\n",
                   cs->cpu_index, x86_pmu_clock_unit());
    for (unsigned i = 0; recorder && (step = pmu_recorder_get(recorder, i));
         i++) {
        g_autofree char *text = pmu_recorder_text(step);

        monitor_printf(mon, "  +%-10" PRIu64 " %s\n",
                       i ? step->clock - before : 0, text);
        before = step->clock;
    }
}

static void hmp_print_history(Monitor *mon)
{
    g_autoptr(GPtrArray) cpus = pmu_cpus();
    bool any = false;

    for (unsigned i = 0; i < cpus->len; i++) {
        CPUState *cs = g_ptr_array_index(cpus, i);

        if (pmu_recorder_of(cs)) {
            any = true;
            x86_pmu_run_on_cpu(cs, hmp_print_history_on_cpu, mon);
        }
    }
    if (!any) {
        monitor_printf(mon, "No vCPU has a recorder: see pmu-recorder\n");
    }
}

void hmp_info_pmu(Monitor *mon, const QDict *qdict)
{
    if (qdict_get_try_bool(qdict, "history", false)) {
        hmp_print_history(mon);
        return;
    }
    hmp_print_units(mon);
}
