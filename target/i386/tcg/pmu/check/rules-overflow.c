/*
 * Rules O: overflows of counters.  Rules P: their interrupts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sources: SDM vol. 3B, 20.2.2 to 20.2.4 (IA32_PERF_GLOBAL_x); vol. 3A, 11.5.1
 * (local vector table).
 */

#include "tcg/pmu/check/check-state.h"
#include "tcg/pmu/check/rules-overflow.h"

#define SLOTS   PERF_GLOBAL_FIXED(3)
#define METRICS PERF_GLOBAL_METRICS

/* Counters that @event starts, and whose overflows interrupt. */
static uint64_t starting_to_interrupt(const PmuCheckEvent *event)
{
    return event->starting & event->new->interrupting;
}

static uint64_t running_to_interrupt(const PmuCheckEvent *event)
{
    return event->old->counting & event->old->interrupting;
}

static uint64_t started_unacknowledged(const PmuCheck *check,
                                       const PmuCheckEvent *event)
{
    return starting_to_interrupt(event) & event->after->global_status &
           ~check->memory.pending & ~check->memory.lost;
}

static uint64_t started_unwritten(const PmuCheck *check,
                                  const PmuCheckEvent *event)
{
    uint64_t starting = starting_to_interrupt(event) & PMU_CHECK_ALL;
    uint64_t broken = 0;

    while (starting) {
        unsigned i = pmu_check_take(&starting);

        if (check->memory.counter[i].known && check->memory.counter[i].acked) {
            broken |= pmu_check_bit(i);
        }
    }
    return broken;
}

/* Those of starting_to_interrupt() whose overflow bit is clear. */
static uint64_t starting_clear(const PmuCheckEvent *event)
{
    return starting_to_interrupt(event) & ~event->after->global_status &
           PMU_CHECK_ALL;
}

/* Whether starting counter @index has not counted since it was written. */
static bool starts_anew(const PmuCheck *check, unsigned index)
{
    const PmuCheckCounter *counter = &check->memory.counter[index];

    return counter->known && !counter->counted;
}

static uint64_t started_far(const PmuCheck *check, const PmuCheckEvent *event)
{
    uint64_t starting = starting_clear(event), broken = 0;

    while (starting) {
        unsigned i = pmu_check_take(&starting);
        bool exempt = i == PMU_CHECK_SLOTS && event->after->metrics &&
                      check->memory.slots.state == PMU_PAIR_SYNCED;

        if (starts_anew(check, i) && !exempt &&
            pmu_check_value(check->perfmon, i) <=
            check->perfmon->mask[PERFMON_MASK_COUNTER] / 2) {
            broken |= pmu_check_bit(i);
        }
    }
    return broken;
}

static uint64_t started_near(const PmuCheck *check, const PmuCheckEvent *event)
{
    uint64_t starting = starting_clear(event), broken = 0;

    while (starting) {
        unsigned i = pmu_check_take(&starting);
        uint64_t distance = check->perfmon->mask[PERFMON_MASK_COUNTER] + 1 -
                            pmu_check_value(check->perfmon, i);

        if (starts_anew(check, i) && distance < check->config.min_period) {
            broken |= pmu_check_bit(i);
        }
    }
    return broken;
}

static uint64_t cleared_unread(const PmuCheck *check,
                               const PmuCheckEvent *event)
{
    if (!pmu_check_is_write(event, MSR_PMU_IA32_PERF_GLOBAL_OVF_CTRL)) {
        return 0;
    }
    return event->value & event->before->global_status &
           ~check->memory.status_read &
           ~check->memory.lost & check->perfmon->mask[PERFMON_MASK_GLOBAL_CTRL];
}

static uint64_t pair_unwritten(const PmuCheck *check,
                               const PmuCheckEvent *event)
{
    const PmuCheckSlots *slots = &check->memory.slots;

    if (!(event->starting & METRICS) || !slots->acked) {
        return 0;
    }
    return slots->slots_written < slots->acked ||
           (slots->metrics_acked && slots->metrics_written < slots->acked)
           ? SLOTS | METRICS : 0;
}

static uint64_t interrupt_lost(const PmuCheck *check,
                               const PmuCheckEvent *event)
{
    return event->outcome == PMU_CHECK_MASKED && !check->memory.pmi.active &&
           !check->memory.pmi.latched && check->memory.pmi.lvtpc_known
           ? PMU_CHECK_BROKEN : 0;
}

static uint64_t interrupt_delayed(const PmuCheck *check,
                                  const PmuCheckEvent *event)
{
    return event->outcome == PMU_CHECK_MASKED && pmu_check_in_pmi(check) &&
           check->memory.pmi.started ? PMU_CHECK_BROKEN : 0;
}

static uint64_t masked_for_long(const PmuCheck *check,
                                const PmuCheckEvent *event)
{
    return check->memory.pmi.masked && !check->memory.pmi.masked_reported &&
           pmu_check_too_long(event, check->memory.pmi.masked_since)
           ? running_to_interrupt(event) : 0;
}

static bool unmasks(const PmuCheck *check, const PmuCheckEvent *event)
{
    return event->kind & PMU_CHECK_ON_LVTPC && check->memory.pmi.lvtpc_known &&
           check->memory.pmi.lvtpc & PMU_LVTPC_MASKED &&
           !(event->value & PMU_LVTPC_MASKED);
}

static uint64_t unmasked_early(const PmuCheck *check,
                               const PmuCheckEvent *event)
{
    return unmasks(check, event)
           ? event->before->global_status & ~check->memory.lost &
             event->old->interrupting : 0;
}

static uint64_t status_unread(const PmuCheck *check,
                              const PmuCheckEvent *event)
{
    bool ends = event->kind & PMU_CHECK_ON_RETURN || unmasks(check, event);

    return ends && pmu_check_in_pmi(check) && !check->memory.pmi.status_read
           ? PMU_CHECK_BROKEN : 0;
}

static uint64_t mode_reserved(const PmuCheck *check G_GNUC_UNUSED,
                              const PmuCheckEvent *event)
{
    if (event->value & PMU_LVTPC_MASKED) {
        return 0;
    }
    switch (event->value & PMU_LVTPC_MODE) {
    case PMU_LVTPC_FIXED:
        return (event->value & PMU_LVTPC_VECTOR) < 16 ? PMU_CHECK_BROKEN : 0;
    case PMU_LVTPC_SMI:
    case PMU_LVTPC_NMI:
        return 0;
    default:
        return PMU_CHECK_BROKEN;
    }
}

static uint64_t status_read_often(const PmuCheck *check,
                                  const PmuCheckEvent *event)
{
    return event->msr == MSR_PMU_IA32_PERF_GLOBAL_STATUS &&
           check->memory.pmi.active &&
           check->memory.pmi.status_reads == PMU_CHECK_STATUS_READS
           ? PMU_CHECK_BROKEN : 0;
}

static uint64_t left_frozen(const PmuCheck *check G_GNUC_UNUSED,
                            const PmuCheckEvent *event)
{
    return event->before->global_status & PERF_GLOBAL_CTR_FRZ
           ? PMU_CHECK_BROKEN : 0;
}

static uint64_t status_racing(const PmuCheck *check,
                              const PmuCheckEvent *event)
{
    bool is_status = event->kind & PMU_CHECK_ON_READ
                     ? event->msr == MSR_PMU_IA32_PERF_GLOBAL_STATUS
                     : event->msr == MSR_PMU_IA32_PERF_GLOBAL_OVF_CTRL;

    return is_status && check->memory.pmi.active
           ? running_to_interrupt(event) : 0;
}

const PmuCheckRule pmu_check_overflow_rules[] = {
    {
        .id = "O1", .severity = PMU_CHECK_LOSS,
        .text = "a counter that interrupts starts with its overflow not "
                "acknowledged in IA32_PERF_GLOBAL_STATUS: the next one cannot "
                "be told from it (SDM vol. 3B, 20.2.4)",
        .kinds = PMU_CHECK_ON_START, .broken = started_unacknowledged,
        .offline = true,
    }, {
        .id = "O2", .severity = PMU_CHECK_LOSS,
        .text = "a counter that interrupts starts after its overflow was "
                "acknowledged, but was not written: the next interrupt is "
                "all of its range away (SDM vol. 3B, 20.2.2)",
        .kinds = PMU_CHECK_ON_START, .broken = started_unwritten,
        .offline = true,
    }, {
        .id = "O3", .severity = PMU_CHECK_LOSS,
        .text = "a counter that interrupts starts with its highest bit clear: "
                "it is half of its range from its overflow, as one is whose "
                "value was not negated",
        .kinds = PMU_CHECK_ON_START, .broken = started_far, .offline = true,
    }, {
        .id = "O4", .severity = PMU_CHECK_UNDEFINED,
        .text = "a counter starts nearer to its overflow than pmu-check-"
                "min-period says that this processor can count (as errata "
                "HSW11 and BDM11 have it)",
        .kinds = PMU_CHECK_ON_START, .broken = started_near, .offline = true,
    }, {
        .id = "O5", .severity = PMU_CHECK_LOSS,
        .text = "IA32_PERF_GLOBAL_STATUS_RESET clears an overflow that was "
                "not read: nobody will know of it (SDM vol. 3B, 20.2.4)",
        .kinds = PMU_CHECK_ON_WRITE_OTHER,
        .broken = cleared_unread,
    }, {
        .id = "O6", .severity = PMU_CHECK_UNDEFINED,
        .text = "the overflow of fixed counter 3 or of PERF_METRICS was "
                "acknowledged, and they start without having been written: "
                "software has to synchronize them (SDM vol. 3B, 20.3.9.3)",
        .kinds = PMU_CHECK_ON_START, .broken = pair_unwritten,
        .offline = true,
    }, {
        .id = "P1", .severity = PMU_CHECK_LOSS,
        .text = "an overflow asks for an interrupt while LVTPC is masked, and "
                "no handler runs that would unmask it: delivery masks LVTPC, "
                "software has to unmask it (SDM vol. 3A, 11.5.1)",
        .kinds = PMU_CHECK_ON_PMI, .broken = interrupt_lost,
    }, {
        .id = "P2", .severity = PMU_CHECK_SUSPICIOUS,
        .text = "an overflow asks for an interrupt while LVTPC is masked, as "
                "the handler let counters count before it unmasked LVTPC: it "
                "may be seen with the next interrupt only, as no manual says "
                "that a masked LVTPC keeps the request",
        .kinds = PMU_CHECK_ON_PMI, .broken = interrupt_delayed,
    }, {
        .id = "P3", .severity = PMU_CHECK_LOSS,
        .text = "counters that interrupt have been counting for a million "
                "instructions while LVTPC is masked (SDM vol. 3A, 11.5.1)",
        .kinds = PMU_CHECK_ON_ANY, .broken = masked_for_long,
    }, {
        .id = "P4", .severity = PMU_CHECK_SUSPICIOUS,
        .text = "LVTPC is unmasked while IA32_PERF_GLOBAL_STATUS reports an "
                "overflow: processors from Haswell on can interrupt once more "
                "(Linux, commit \"Haswell: late unmasking of the PMI\")",
        .kinds = PMU_CHECK_ON_LVTPC, .broken = unmasked_early,
    }, {
        .id = "P5", .severity = PMU_CHECK_SUSPICIOUS,
        .text = "a handler of the interrupt ends without having read "
                "IA32_PERF_GLOBAL_STATUS: nobody will claim the interrupt",
        .kinds = PMU_CHECK_ON_LVTPC | PMU_CHECK_ON_RETURN,
        .broken = status_unread,
    }, {
        .id = "P6", .severity = PMU_CHECK_UNDEFINED,
        .text = "LVTPC is given a delivery mode that it does not have, or a "
                "vector below 16 (SDM vol. 3A, 11.5.1)",
        .kinds = PMU_CHECK_ON_LVTPC, .broken = mode_reserved,
    }, {
        .id = "P7", .severity = PMU_CHECK_SUSPICIOUS,
        .text = "a handler has read IA32_PERF_GLOBAL_STATUS more than 100 "
                "times: overflows are not acknowledged, or come too fast",
        .kinds = PMU_CHECK_ON_READ_OTHER,
        .broken = status_read_often,
    }, {
        .id = "P8", .severity = PMU_CHECK_LOSS,
        .text = "a handler ends with IA32_PERF_GLOBAL_STATUS.CTR_FRZ set: no "
                "counter counts (SDM vol. 3B, 20.2.4.2)",
        .kinds = PMU_CHECK_ON_RETURN, .broken = left_frozen,
    }, {
        .id = "P9", .severity = PMU_CHECK_LOSS,
        .text = "a handler reads or acknowledges IA32_PERF_GLOBAL_STATUS "
                "while a counter that interrupts counts: it can overflow "
                "between the two",
        .kinds = PMU_CHECK_ON_READ_OTHER |
                 PMU_CHECK_ON_WRITE_OTHER,
        .broken = status_racing,
    },
    { }
};
