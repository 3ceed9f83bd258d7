/*
 * The flight recorder: a ring of the last events of a driver.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/check/check-types.h"
#include "tcg/pmu/check/recorder.h"

struct PmuRecorder {
    unsigned size;
    unsigned next;              /* where the next entry goes */
    unsigned count;
    PmuRecorderEntry entry[];
};

PmuRecorder *pmu_recorder_new(unsigned size)
{
    PmuRecorder *recorder = g_malloc0(sizeof(*recorder) +
                                      size * sizeof(PmuRecorderEntry));

    recorder->size = size;
    return recorder;
}

void pmu_recorder_free(PmuRecorder *recorder)
{
    g_free(recorder);
}

void pmu_recorder_add(PmuRecorder *recorder, const PmuRecorderEntry *entry)
{
    recorder->entry[recorder->next] = *entry;
    recorder->next = recorder->next + 1 == recorder->size
                     ? 0 : recorder->next + 1;
    recorder->count += recorder->count < recorder->size;
}

void pmu_recorder_clear(PmuRecorder *recorder)
{
    recorder->next = 0;
    recorder->count = 0;
}

unsigned pmu_recorder_count(const PmuRecorder *recorder)
{
    return recorder->count;
}

const PmuRecorderEntry *pmu_recorder_get(const PmuRecorder *recorder,
                                         unsigned index)
{
    unsigned oldest = recorder->count < recorder->size ? 0 : recorder->next;

    return index < recorder->count
           ? &recorder->entry[((uint64_t)oldest + index) % recorder->size]
           : NULL;
}

const char *pmu_recorder_kind_name(PmuRecordKind kind)
{
    static const char *const names[PMU_RECORD_KINDS] = {
        "rdmsr", "wrmsr", "rdpmc", "gp", "overflow", "pmi", "lvtpc",
    };

    return names[kind];
}

const char *pmu_recorder_outcome_name(unsigned outcome)
{
    switch (outcome) {
    case PMU_CHECK_DELIVERED:
        return "delivered";
    case PMU_CHECK_NMI_PENDING:
        return "nmi-pending";
    default:
        return "masked";
    }
}

char *pmu_register_name(const PerfmonRegisterMap *map, uint32_t msr)
{
    PerfmonMsrRange row;

    for (unsigned i = 0; perfmon_map_row(map, i, &row); i++) {
        unsigned index = (msr - row.first) / row.step;

        if ((msr - row.first) % row.step == 0 && index < row.count &&
            *row.name != '(') {
            return row.count > 1 ? g_strdup_printf("%s%u", row.name, index)
                                 : g_strdup(row.name);
        }
    }
    return g_strdup_printf("MSR_0x%x", msr);
}

uint32_t pmu_rdpmc_msr(uint32_t ecx)
{
    unsigned index = ecx & 0xffff;

    switch (ecx >> 16) {
    case 0:
        return index < PERFMON_ARCH_GP ? MSR_PMU_IA32_PMC0 + index : 0;
    case 0x4000:
        return index < PERFMON_MAX_FIXED ? MSR_PMU_IA32_FIXED_CTR0 + index
                                         : 0;
    case 0x2000:
        return MSR_PMU_IA32_PERF_METRICS;
    default:
        return 0;
    }
}

char *pmu_recorder_register(const PmuRecorderEntry *entry)
{
    switch (entry->kind) {
    case PMU_RECORD_LVTPC:
        return g_strdup("LVTPC");
    case PMU_RECORD_OVERFLOW:
    case PMU_RECORD_PMI:
        return pmu_register_name(&perfmon_map_architectural,
                                 MSR_PMU_IA32_PERF_GLOBAL_STATUS);
    default:
        return pmu_register_name(&perfmon_map_architectural, entry->msr);
    }
}

char *pmu_recorder_text(const PmuRecorderEntry *entry)
{
    g_autofree char *name = pmu_recorder_register(entry);
    g_autofree char *tail = NULL;

    switch (entry->kind) {
    case PMU_RECORD_WRMSR:
    case PMU_RECORD_LVTPC:
        tail = g_strdup_printf(" was 0x%" G_GINT64_MODIFIER "x", entry->old);
        break;
    case PMU_RECORD_PMI:
        tail = g_strdup_printf(" %s",
                               pmu_recorder_outcome_name(entry->outcome));
        break;
    default:
        tail = g_strdup("");
    }
    return g_strdup_printf("%" G_GUINT64_FORMAT " 0x%" G_GINT64_MODIFIER "x "
                           "cpl %u cr3 0x%x000 %s %s 0x%" G_GINT64_MODIFIER
                           "x%s", entry->clock, entry->rip, entry->cpl,
                           entry->page,
                           pmu_recorder_kind_name(entry->kind), name,
                           entry->value, tail);
}
