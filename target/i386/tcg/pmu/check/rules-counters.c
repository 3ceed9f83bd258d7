/*
 * Rules C: counters and their selectors.  Rules L: their lifetime.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sources: SDM vol. 3B, 20.2 (architectural performance monitoring); Intel's
 * lists of events, as events/ has them.
 */

#include "tcg/pmu/check/check-state.h"
#include "tcg/pmu/check/rules-counters.h"

/* The index of the selector that @event writes; PERFMON_ARCH_GP if none. */
static unsigned written_selector(const PmuCheckEvent *event)
{
    uint32_t index = event->msr - MSR_PMU_IA32_PERFEVTSEL0;

    return event->kind & PMU_CHECK_ON_WRITE && index < PERFMON_ARCH_GP
           ? index : PERFMON_ARCH_GP;
}

static uint64_t written_counting(const PmuCheck *check G_GNUC_UNUSED,
                                 const PmuCheckEvent *event)
{
    if (event->counter == PMU_CHECK_COUNTERS ||
        (event->counter == PMU_CHECK_SLOTS && event->before->metrics)) {
        return 0;               /* rule M6 reports that */
    }
    return event->old->counting &
           pmu_check_bit(event->counter);
}

static uint64_t changed_counting(const PmuCheck *check G_GNUC_UNUSED,
                                 const PmuCheckEvent *event)
{
    uint64_t counting = event->old->counting & event->new->counting &
                        PMU_CHECK_ALL;
    uint64_t broken = 0;

    if (event->before == event->after) {
        return 0;
    }
    while (counting) {
        unsigned i = pmu_check_take(&counting);

        if (pmu_check_selector(event->before, i) !=
            pmu_check_selector(event->after, i)) {
            broken |= pmu_check_bit(i);
        }
    }
    return broken;
}

static uint64_t other_event(const PmuCheck *check, const PmuCheckEvent *event)
{
    uint64_t starting = event->starting & PMU_CHECK_ALL, broken = 0;

    while (starting) {
        unsigned i = pmu_check_take(&starting);
        const PmuCheckCounter *counter = &check->memory.counter[i];

        if (counter->known && counter->counted &&
            counter->event != pmu_check_selector(event->after, i)) {
            broken |= pmu_check_bit(i);
        }
    }
    return broken;
}

static uint64_t upper_half_lost(const PmuCheck *check,
                                const PmuCheckEvent *event)
{
    uint64_t kept = (int64_t)(int32_t)event->value;

    return event->msr - MSR_PMU_IA32_PMC0 < PERFMON_ARCH_GP &&
           (kept ^ event->value) & check->perfmon->mask[PERFMON_MASK_COUNTER]
           ? pmu_check_bit(event->counter) : 0;
}

static uint64_t any_thread(const PmuCheck *check, const PmuCheckEvent *event)
{
    uint64_t held = check->perfmon->mask[PERFMON_MASK_FIXED_CTR_CTRL_HELD];
    unsigned index = written_selector(event);
    uint64_t broken = 0;

    if (check->perfmon->anythread) {
        return 0;
    }
    if (index < PERFMON_ARCH_GP && event->value & PERF_EVTSEL_ANYTHREAD) {
        broken |= PERF_GLOBAL_GP(index);
    }
    if (event->msr == MSR_PMU_IA32_FIXED_CTR_CTRL) {
        for (unsigned i = 0; i < PERFMON_MAX_FIXED; i++) {
            if (event->value & PERF_FIXED_ANYTHREAD(i) & ~held) {
                broken |= PERF_GLOBAL_FIXED(i);
            }
        }
    }
    return broken;
}

static uint64_t wrong_counter(const PmuCheck *check,
                              const PmuCheckEvent *event)
{
    unsigned index = written_selector(event);

    return index < PERFMON_ARCH_GP && event->value & PERF_EVTSEL_EN &&
           !(check->selector[index].counters >> index & 1)
           ? PERF_GLOBAL_GP(index) : 0;
}

/* Whether @event accesses a register whose capability bit is clear. */
static bool not_announced(const PmuCheck *check, const PmuCheckEvent *event)
{
    const PerfmonConfig *config = &check->perfmon->config;

    switch (event->msr) {
    case MSR_PMU_IA32_PERF_CAPABILITIES:
        return !config->pdcm;
    case MSR_PMU_IA32_PERF_METRICS:
        return !config->num_metrics;
    case MSR_PMU_IA32_A_PMC0 ... MSR_PMU_IA32_A_PMC0 + PERFMON_ARCH_GP - 1:
        return !(config->capabilities & PERF_CAP_BIT_FW_WRITE);
    default:
        return false;
    }
}

static uint64_t faulted(const PmuCheck *check, const PmuCheckEvent *event)
{
    return not_announced(check, event) ? 0 : PMU_CHECK_BROKEN;
}

static uint64_t faulted_unannounced(const PmuCheck *check,
                                    const PmuCheckEvent *event)
{
    return not_announced(check, event) ? PMU_CHECK_BROKEN : 0;
}

static uint64_t idle_for_long(const PmuCheck *check,
                              const PmuCheckEvent *event)
{
    uint64_t idle = check->idle, broken = 0;

    while (idle) {
        unsigned i = pmu_check_take(&idle);
        const PmuCheckCounter *counter = &check->memory.counter[i];

        if (!counter->idle_reported &&
            pmu_check_too_long(event, counter->idle_since)) {
            broken |= pmu_check_bit(i);
        }
    }
    return broken;
}

static uint64_t read_dead(const PmuCheck *check, const PmuCheckEvent *event)
{
    const PmuCheckCounter *counter = &check->memory.counter[event->counter];

    return event->counter < PMU_CHECK_COUNTERS && event->where->cpl == 0 &&
           counter->known && counter->ever_written && !counter->counted &&
           counter->passed_over && counter->dead_reads
           ? pmu_check_bit(event->counter) : 0;
}

static uint64_t counts_nothing(const PmuCheck *check G_GNUC_UNUSED,
                               const PmuCheckEvent *event)
{
    unsigned index = written_selector(event);
    uint64_t value = event->value;

    if (index == PERFMON_ARCH_GP || !(value & PERF_EVTSEL_EN)) {
        return 0;
    }
    return !(value & (PERF_EVTSEL_USR | PERF_EVTSEL_OS)) ||
           (value & PMU_EVENT_INV && !(value & PMU_EVENT_CMASK(0xff)))
           ? PERF_GLOBAL_GP(index) : 0;
}

/* The x of the MSR_OFFCORE_RSP_x that counter @index uses; -1: none. */
static int offcore_of(const PmuCheck *check, unsigned index)
{
    switch (check->selector[index].extra) {
    case PMU_EXTRA_OFFCORE_0:
        return 0;
    case PMU_EXTRA_OFFCORE_1:
        return 1;
    default:
        return -1;
    }
}

/* Those of @counters that use an MSR_OFFCORE_RSP_x which is 0. */
static uint64_t offcore_zero(const PmuCheck *check, uint64_t counters)
{
    uint64_t broken = 0;

    for (unsigned i = 0; i < PERFMON_ARCH_GP; i++) {
        int rsp = counters & PERF_GLOBAL_GP(i)
                  ? offcore_of(check, i) : -1;

        if (rsp >= 0 && !check->perfmon->offcore_rsp[rsp]) {
            broken |= PERF_GLOBAL_GP(i);
        }
    }
    return broken;
}

/* Those of @counters that use MSR_OFFCORE_RSP_@rsp. */
static uint64_t offcore_users(const PmuCheck *check, uint64_t counters,
                              int rsp)
{
    uint64_t users = 0;

    for (unsigned i = 0; i < PERFMON_ARCH_GP; i++) {
        if (counters & PERF_GLOBAL_GP(i) &&
            offcore_of(check, i) == rsp) {
            users |= PERF_GLOBAL_GP(i);
        }
    }
    return users;
}

static uint64_t offcore_unset(const PmuCheck *check,
                              const PmuCheckEvent *event)
{
    uint32_t written = event->msr - MSR_PMU_OFFCORE_RSP_0;

    if (written < 2 && event->value != check->perfmon->offcore_rsp[written]) {
        return offcore_users(check, event->old->counting, written);
    }
    return offcore_zero(check, event->starting);
}

static uint64_t two_owners(const PmuCheck *check, const PmuCheckEvent *event)
{
    const PmuCheckConfig *config = &check->config;
    unsigned index = written_selector(event);
    bool inside = event->where->rip >= config->text_first &&
                  event->where->rip < config->text_end;

    if (index == PERFMON_ARCH_GP) {
        index = event->counter;
    }
    if (config->text_first == config->text_end ||
        index == PMU_CHECK_COUNTERS || !check->memory.counter[index].owned ||
        check->memory.counter[index].inside == inside) {
        return 0;
    }
    return event->old->enabled & pmu_check_bit(index);
}

static uint64_t enabled_globally_alone(const PmuCheck *check,
                                       const PmuCheckEvent *event)
{
    uint64_t counters =
        check->perfmon->mask[PERFMON_MASK_GLOBAL_CTRL] & ~PERF_GLOBAL_METRICS;

    return pmu_check_is_write(event, MSR_PMU_IA32_PERF_GLOBAL_CTRL)
           ? event->value & counters & ~event->new->enabled &
             ~event->before->global_ctrl : 0;
}

static uint64_t counted_twice(const PmuCheck *check G_GNUC_UNUSED,
                              const PmuCheckEvent *event)
{
    uint64_t counting = event->new->counting, broken = 0;

    for (unsigned i = 0; i < PERFMON_ARCH_GP; i++) {
        for (unsigned j = 0; j < i; j++) {
            uint64_t both = PERF_GLOBAL_GP(i) | PERF_GLOBAL_GP(j);

            if ((counting & both) == both && event->starting & both &&
                pmu_check_selector(event->after, i) ==
                pmu_check_selector(event->after, j)) {
                broken |= both;
            }
        }
    }
    return broken;
}

static uint64_t started_apart(const PmuCheck *check G_GNUC_UNUSED,
                              const PmuCheckEvent *event)
{
    return event->msr != MSR_PMU_IA32_PERF_GLOBAL_CTRL &&
           event->old->counting
           ? event->starting & ~PERF_GLOBAL_METRICS : 0;
}

static uint64_t read_apart(const PmuCheck *check, const PmuCheckEvent *event)
{
    uint64_t counting = event->old->counting, both;
    unsigned last = check->memory.last_read;

    if (event->counter == PMU_CHECK_COUNTERS || event->where->cpl ||
        last == PMU_CHECK_COUNTERS || last == event->counter) {
        return 0;
    }
    both = pmu_check_bit(event->counter) | pmu_check_bit(last);
    return (counting & both) == both ? both : 0;
}

static uint64_t residue_read(const PmuCheck *check, const PmuCheckEvent *event)
{
    const PmuCheckCounter *counter = &check->memory.counter[event->counter];

    return event->counter < PMU_CHECK_COUNTERS && event->where->cpl == 3 &&
           event->how == PMU_CHECK_RDPMC && counter->known &&
           counter->counted && event->value &&
           counter->space != pmu_check_space(event->where)
           ? pmu_check_bit(event->counter) &
             ~event->old->counting : 0;
}

static uint64_t halted_counting(const PmuCheck *check G_GNUC_UNUSED,
                                const PmuCheckEvent *event)
{
    return event->halt == PMU_CHECK_FEWER ? 0 :
           event->old->counting &
           event->old->interrupting;
}

static uint64_t fewer_counters(const PmuCheck *check G_GNUC_UNUSED,
                               const PmuCheckEvent *event)
{
    return event->halt == PMU_CHECK_FEWER ? PMU_CHECK_BROKEN : 0;
}

const PmuCheckRule pmu_check_counter_rules[] = {
    {
        .id = "C1", .severity = PMU_CHECK_LOSS,
        .text = "a counter is written while it counts: counts in flight are "
                "lost (SDM vol. 3B, 20.2.1)",
        .kinds = PMU_CHECK_ON_WRITE_COUNTER,
        .broken = written_counting,
        .offline = true,
    }, {
        .id = "C2", .severity = PMU_CHECK_LOSS,
        .text = "the event or the levels of a counter change while it counts: "
                "its value is a mixture (SDM vol. 3B, 20.2.1.1)",
        .kinds = PMU_CHECK_ON_WRITE_CONTROL,
        .broken = changed_counting,
        .offline = true,
    }, {
        .id = "C3", .severity = PMU_CHECK_LOSS,
        .text = "a counter starts that holds what another event, or other "
                "levels, have counted",
        .kinds = PMU_CHECK_ON_START, .broken = other_event, .offline = true,
    }, {
        .id = "C4", .severity = PMU_CHECK_LOSS,
        .text = "IA32_PMCx is written with what is not EAX sign-extended: EDX "
                "is dropped; IA32_A_PMCx takes all bits (SDM vol. 3B, 20.2.8)",
        .kinds = PMU_CHECK_ON_WRITE_COUNTER,
        .broken = upper_half_lost,
        .offline = true,
    }, {
        .id = "C5", .severity = PMU_CHECK_UNDEFINED,
        .text = "AnyThread is set, which CPUID.0AH:EDX[15] deprecates "
                "(SDM vol. 3B, 20.2.3.1)",
        .kinds = PMU_CHECK_ON_WRITE_CONTROL,
        .broken = any_thread, .offline = true,
    }, {
        .id = "C6", .severity = PMU_CHECK_UNDEFINED,
        .text = "an event is given to a counter that cannot count it, by "
                "Intel's list of this core's events",
        .kinds = PMU_CHECK_ON_WRITE_CONTROL,
        .broken = wrong_counter, .offline = true,
    }, {
        .id = "C7", .severity = PMU_CHECK_UNDEFINED,
        .text = "an access raises #GP: a reserved bit, a register that is "
                "absent or read-only (SDM vol. 3B, 20.2)",
        .kinds = PMU_CHECK_ON_GP, .broken = faulted, .offline = true,
    }, {
        .id = "C8", .severity = PMU_CHECK_SUSPICIOUS,
        .text = "a counter has been enabled in its own register, but not in "
                "IA32_PERF_GLOBAL_CTRL, for a million instructions (SDM vol. "
                "3B, 20.2.2)",
        .kinds = PMU_CHECK_ON_ANY, .broken = idle_for_long, .offline = true,
    }, {
        .id = "C9", .severity = PMU_CHECK_LOSS,
        .text = "a counter is read again and again that has not been enabled "
                "since it was written, while others have",
        .kinds = PMU_CHECK_ON_READ_COUNTER,
        .broken = read_dead, .offline = true,
    }, {
        .id = "C10", .severity = PMU_CHECK_WASTE,
        .text = "a counter is enabled for neither USR nor OS, or with INV "
                "without CMASK, which is ignored (SDM vol. 3B, 20.2.1.1)",
        .kinds = PMU_CHECK_ON_WRITE_CONTROL,
        .broken = counts_nothing,
        .offline = true,
    }, {
        .id = "C11", .severity = PMU_CHECK_LOSS,
        .text = "an event of off-core responses starts while MSR_OFFCORE_RSP_x "
                "is 0, or that is written while it counts (SDM vol. 3B, "
                "20.3.4.5)",
        .kinds = PMU_CHECK_ON_WRITE_CONTROL |
                 PMU_CHECK_ON_WRITE_OTHER,
        .broken = offcore_unset, .offline = true,
    }, {
        .id = "C12", .severity = PMU_CHECK_LOSS, .off = true,
        .text = "an enabled counter is written by code inside and outside of "
                "pmu-check-text: it has two owners",
        .kinds = PMU_CHECK_ON_WRITE_COUNTER |
                 PMU_CHECK_ON_WRITE_CONTROL,
        .broken = two_owners,
    }, {
        .id = "C13", .severity = PMU_CHECK_SUSPICIOUS, .off = true,
        .text = "IA32_PERF_GLOBAL_CTRL enables a counter that its own register "
                "does not (SDM vol. 3B, 20.2.2)",
        .kinds = PMU_CHECK_ON_WRITE_CONTROL,
        .broken = enabled_globally_alone,
        .offline = true,
    }, {
        .id = "C14", .severity = PMU_CHECK_WASTE, .off = true,
        .text = "two counters count the same event at the same levels",
        .kinds = PMU_CHECK_ON_START, .broken = counted_twice, .offline = true,
    }, {
        .id = "C15", .severity = PMU_CHECK_SUSPICIOUS, .off = true,
        .text = "a counter starts by its own register while others count: "
                "they do not count the same time (SDM vol. 3B, 20.2.2)",
        .kinds = PMU_CHECK_ON_START, .broken = started_apart, .offline = true,
    }, {
        .id = "C16", .severity = PMU_CHECK_SUSPICIOUS, .off = true,
        .text = "several counters are read while they count: the values are "
                "not of the same time",
        .kinds = PMU_CHECK_ON_READ_COUNTER,
        .broken = read_apart, .offline = true,
    }, {
        .id = "L1", .severity = PMU_CHECK_UNDEFINED,
        .text = "RDPMC at CPL 3 reads what a stopped counter has counted for "
                "another address space: a leak",
        .kinds = PMU_CHECK_ON_READ_COUNTER,
        .broken = residue_read,
    }, {
        .id = "L2", .severity = PMU_CHECK_UNDEFINED,
        .text = "INIT, paging off or unplugging, while counters that interrupt "
                "count: no handler will be there (SDM vol. 3A, 10.1)",
        .kinds = PMU_CHECK_ON_HALT, .broken = halted_counting,
    }, {
        .id = "L3", .severity = PMU_CHECK_UNDEFINED,
        .text = "registers come from a unit with more counters or bits than "
                "this one has",
        .kinds = PMU_CHECK_ON_HALT, .broken = fewer_counters,
    }, {
        .id = "L4", .severity = PMU_CHECK_UNDEFINED,
        .text = "IA32_PERF_CAPABILITIES, PERF_METRICS or IA32_A_PMCx is "
                "accessed, which CPUID or IA32_PERF_CAPABILITIES does not "
                "announce (SDM vol. 3B, 20.8)",
        .kinds = PMU_CHECK_ON_GP, .broken = faulted_unannounced,
        .offline = true,
    },
    { }
};
