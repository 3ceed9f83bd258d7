/*
 * Rules M: fixed counter 3 and PERF_METRICS.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sources: SDM vol. 3B, 20.3.9.3, "Performance Metrics"; code and comments of
 * icl_set_topdown_event_period() and intel_update_topdown_event() in Linux's
 * driver, arch/x86/events/intel/core.c.
 */

#include "tcg/pmu/check/check-state.h"
#include "tcg/pmu/check/rules-metrics.h"

#define SLOTS   PERF_GLOBAL_FIXED(3)
#define METRICS PERF_GLOBAL_METRICS

static bool reads_metrics(const PmuCheckEvent *event)
{
    return event->msr == MSR_PMU_IA32_PERF_METRICS;
}

static bool kernel_reads_metrics(const PmuCheckEvent *event)
{
    return reads_metrics(event) && event->where->cpl == 0;
}

static uint64_t written_out_of_order(const PmuCheck *check,
                                     const PmuCheckEvent *event)
{
    const PmuCheckSlots *slots = &check->memory.slots;

    if (!(event->starting & METRICS) || slots->state == PMU_PAIR_UNKNOWN ||
        slots->metrics_written <= slots->stopped) {
        return 0;
    }
    return slots->slots_written > slots->stopped &&
           slots->slots_written <= slots->metrics_written ? 0 : METRICS;
}

static uint64_t read_stale(const PmuCheck *check, const PmuCheckEvent *event)
{
    return kernel_reads_metrics(event) &&
           check->memory.slots.state == PMU_PAIR_STALE ? METRICS : 0;
}

static uint64_t read_cleared(const PmuCheck *check, const PmuCheckEvent *event)
{
    return kernel_reads_metrics(event) &&
           check->memory.slots.state == PMU_PAIR_CLEARED ? METRICS : 0;
}

static uint64_t read_without_slots(const PmuCheck *check,
                                   const PmuCheckEvent *event)
{
    return kernel_reads_metrics(event) && !check->perfmon->fixed[3] ? METRICS
                                                                    : 0;
}

static uint64_t read_never_on(const PmuCheck *check,
                              const PmuCheckEvent *event)
{
    const PmuCheckSlots *slots = &check->memory.slots;

    return reads_metrics(event) && slots->metrics_written &&
           slots->state == PMU_PAIR_SYNCED && !slots->ran ? METRICS : 0;
}

static uint64_t read_torn(const PmuCheck *check, const PmuCheckEvent *event)
{
    const PmuCheckSlots *slots = &check->memory.slots;
    bool counting = event->old->counting & SLOTS;

    return kernel_reads_metrics(event) && slots->read &&
           (counting || slots->read_running || slots->disturbed)
           ? SLOTS | METRICS : 0;
}

static uint64_t written_running(const PmuCheck *check G_GNUC_UNUSED,
                                const PmuCheckEvent *event)
{
    if (!event->before->metrics ||
        (event->msr != MSR_PMU_IA32_PERF_METRICS &&
         event->counter != PMU_CHECK_SLOTS)) {
        return 0;
    }
    return event->old->counting & SLOTS;
}

static unsigned field(uint64_t metrics, unsigned index)
{
    return metrics >> (8 * index) & 0xff;
}

static uint64_t written_impossible(const PmuCheck *check,
                                   const PmuCheckEvent *event)
{
    unsigned sum = 0;

    if (!pmu_check_is_write(event, MSR_PMU_IA32_PERF_METRICS)) {
        return 0;
    }
    for (unsigned i = 0; i < 4; i++) {
        sum += field(event->value, i);
        if (check->perfmon->config.num_metrics == PERFMON_MAX_METRICS &&
            field(event->value, i + 4) > field(event->value, i)) {
            return METRICS;
        }
    }
    return sum > 0xff ? METRICS : 0;
}

static uint64_t written_without_slots(const PmuCheck *check,
                                      const PmuCheckEvent *event)
{
    return pmu_check_is_write(event, MSR_PMU_IA32_PERF_METRICS) &&
           event->value && !check->perfmon->fixed[3] ? METRICS : 0;
}

static uint64_t enabled_apart(const PmuCheck *check G_GNUC_UNUSED,
                              const PmuCheckEvent *event)
{
    const uint64_t both = SLOTS | METRICS;
    uint64_t on = event->after->global_ctrl & both;

    if (!pmu_check_is_write(event, MSR_PMU_IA32_PERF_GLOBAL_CTRL) ||
        !event->after->metrics || event->value == event->before->global_ctrl ||
        !(event->new->enabled & SLOTS)) {
        return 0;
    }
    return on == both ? 0 : on;
}

static uint64_t inherited(const PmuCheck *check, const PmuCheckEvent *event)
{
    const PmuCheckCounter *counter = &check->memory.counter[PMU_CHECK_SLOTS];

    return event->starting & SLOTS && counter->known && counter->counted &&
           check->memory.slots.saved &&
           counter->space != pmu_check_space(event->where) ? SLOTS : 0;
}

static uint64_t read_too_coarse(const PmuCheck *check,
                                const PmuCheckEvent *event)
{
    uint64_t slots = check->perfmon->fixed[3];
    uint64_t more = (slots - check->memory.slots.metrics_read_at) &
                    check->perfmon->mask[PERFMON_MASK_COUNTER];

    return reads_metrics(event) && check->memory.slots.metrics_read && more &&
           more < slots / 255 ? METRICS : 0;
}

const PmuCheckRule pmu_check_metrics_rules[] = {
    {
        .id = "M1", .severity = PMU_CHECK_UNDEFINED,
        .text = "PERF_METRICS starts, written without IA32_FIXED_CTR3 or "
                "before it: first the counter, then the metrics, both while "
                "stopped (SDM vol. 3B, 20.3.9.3)",
        .kinds = PMU_CHECK_ON_START, .broken = written_out_of_order,
        .offline = true,
    }, {
        .id = "M2", .severity = PMU_CHECK_UNDEFINED,
        .text = "PERF_METRICS is read after IA32_FIXED_CTR3 was written "
                "alone, or one of them overflowed: invalid until both are "
                "written again (SDM vol. 3B, 20.3.9.3)",
        .kinds = PMU_CHECK_ON_READ_METRICS,
        .broken = read_stale, .offline = true,
    }, {
        .id = "M2", .severity = PMU_CHECK_SUSPICIOUS,
        .text = "PERF_METRICS is read after IA32_FIXED_CTR3 alone was cleared, "
                "which clears it too (SDM vol. 3B, 20.3.9.3)",
        .kinds = PMU_CHECK_ON_READ_METRICS,
        .broken = read_cleared, .offline = true,
    }, {
        .id = "M3", .severity = PMU_CHECK_SUSPICIOUS,
        .text = "PERF_METRICS is read while IA32_FIXED_CTR3 is 0: it reads 0, "
                "being fractions of that (SDM vol. 3B, 20.3.9.3)",
        .kinds = PMU_CHECK_ON_READ_METRICS,
        .broken = read_without_slots,
    }, {
        .id = "M4", .severity = PMU_CHECK_LOSS,
        .text = "PERF_METRICS is read, but has not been on since it was "
                "written: bits 35 and 48 of IA32_PERF_GLOBAL_CTRL and a level "
                "of fixed counter 3 (SDM vol. 3B, 20.3.9.3)",
        .kinds = PMU_CHECK_ON_READ_METRICS,
        .broken = read_never_on, .offline = true,
    }, {
        .id = "M5", .severity = PMU_CHECK_LOSS,
        .text = "IA32_FIXED_CTR3 and PERF_METRICS are read while they count, "
                "or with a write or an interrupt between: the two do not "
                "belong together (Linux, intel_update_topdown_event())",
        .kinds = PMU_CHECK_ON_READ_METRICS,
        .broken = read_torn, .offline = true,
    }, {
        .id = "M6", .severity = PMU_CHECK_UNDEFINED,
        .text = "IA32_FIXED_CTR3 or PERF_METRICS is written while they count: "
                "stop them first (SDM vol. 3B, 20.3.9.3)",
        .kinds = PMU_CHECK_ON_WRITE_COUNTER |
                 PMU_CHECK_ON_WRITE_OTHER,
        .broken = written_running,
        .offline = true,
    }, {
        .id = "M7", .severity = PMU_CHECK_UNDEFINED,
        .text = "PERF_METRICS is written with fields that sum to more than "
                "255, or a part larger than its whole: no read gives that "
                "(SDM vol. 3B, 20.3.9.3)",
        .kinds = PMU_CHECK_ON_WRITE_OTHER,
        .broken = written_impossible,
        .offline = true,
    }, {
        .id = "M8", .severity = PMU_CHECK_LOSS,
        .text = "PERF_METRICS is written while IA32_FIXED_CTR3 is 0: fractions "
                "of nothing are lost (SDM vol. 3B, 20.3.9.3)",
        .kinds = PMU_CHECK_ON_WRITE_OTHER,
        .broken = written_without_slots,
        .offline = true,
    }, {
        .id = "M9", .severity = PMU_CHECK_SUSPICIOUS,
        .text = "IA32_PERF_GLOBAL_CTRL enables one of fixed counter 3 and "
                "PERF_METRICS without the other (SDM vol. 3B, 20.3.9.3)",
        .kinds = PMU_CHECK_ON_WRITE_CONTROL,
        .broken = enabled_apart, .offline = true,
    }, {
        .id = "M10", .severity = PMU_CHECK_LOSS,
        .text = "fixed counter 3 was saved and starts for another address "
                "space without having been written: that inherits the slots "
                "of the first",
        .kinds = PMU_CHECK_ON_START, .broken = inherited,
    }, {
        .id = "M11", .severity = PMU_CHECK_WASTE,
        .text = "PERF_METRICS is read, but all slots since the last time are "
                "less than its resolution, 1/255 of IA32_FIXED_CTR3: write "
                "both to begin anew (Linux, intel_update_topdown_event())",
        .kinds = PMU_CHECK_ON_READ_METRICS,
        .broken = read_too_coarse,
        .offline = true,
    },
    { }
};
