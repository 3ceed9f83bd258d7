/*
 * Updates of the checker's memory by an event, after rules have judged it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "tcg/pmu/check/transitions.h"

/* C8: which counters are enabled, but not in GLOBAL_CTRL, and since when. */
static void note_idle(PmuCheck *check, const PmuCheckEvent *event)
{
    uint64_t idle = event->new->enabled &
                    ~event->after->global_ctrl;
    uint64_t looked_at = idle | check->idle;

    while (looked_at) {
        unsigned i = pmu_check_take(&looked_at);
        PmuCheckCounter *counter = &check->memory.counter[i];
        bool now = idle & pmu_check_bit(i);

        if (!now) {
            counter->idle_reported = false;
        } else if (!counter->idle) {
            counter->idle_since = event->where->clock;
        } else if (pmu_check_too_long(event, counter->idle_since)) {
            counter->idle_reported = true;
        }
        counter->idle = now;
    }
    check->idle = idle;
}

/* P3: whether counters interrupt while LVTPC is masked, and since when. */
static void note_masked(PmuCheck *check, const PmuCheckEvent *event)
{
    PmuCheckPmi *pmi = &check->memory.pmi;
    bool now = pmi->lvtpc_known && pmi->lvtpc & PMU_LVTPC_MASKED &&
               !pmi->active && !pmi->latched &&
               event->new->counting &
               event->new->interrupting;

    if (!now) {
        pmi->masked_reported = false;
    } else if (!pmi->masked) {
        pmi->masked_since = event->where->clock;
    } else if (pmu_check_too_long(event, pmi->masked_since)) {
        pmi->masked_reported = true;
    }
    pmi->masked = now;
}

void pmu_check_note_time(PmuCheck *check, const PmuCheckEvent *event)
{
    note_idle(check, event);
    note_masked(check, event);
}

void pmu_check_note_init(PmuCheck *check)
{
    check->memory.pmi = (PmuCheckPmi) {
        .lvtpc = PMU_LVTPC_MASKED, .lvtpc_known = true,
    };
}

static void note_status_read(PmuCheck *check, const PmuCheckEvent *event)
{
    check->memory.status_read |= event->value;
    check->memory.pending &= ~event->value;
    if (check->memory.pmi.active) {
        check->memory.pmi.status_read = true;
        check->memory.pmi.status_reads++;
    }
}

static void note_slots_read(PmuCheck *check, const PmuCheckEvent *event)
{
    PmuCheckSlots *slots = &check->memory.slots;
    bool counting = event->old->counting &
                    PERF_GLOBAL_FIXED(3);

    if (event->where->cpl == 0) {
        slots->read = true;
        slots->read_running = counting;
        slots->disturbed = false;
    }
    if (!counting) {
        slots->saved = true;
    }
}

/* Whether @event is an RDPMC that clears fixed counter 3 and PERF_METRICS. */
static bool clears(const PmuCheck *check, const PmuCheckEvent *event)
{
    return event->how == PMU_CHECK_RDPMC &&
           event->before->fixed_ctr_ctrl & PERF_FIXED_METRICS_CLEAR &&
           check->perfmon->config.capabilities & PERF_CAP_BIT_METRICS_CLEAR;
}

static void note_metrics_read(PmuCheck *check, const PmuCheckEvent *event)
{
    PmuCheckSlots *slots = &check->memory.slots;

    slots->read = false;
    slots->metrics_read = !clears(check, event);
    slots->metrics_read_at = check->perfmon->fixed[3];
    if (clears(check, event)) {
        slots->slots_written = check->memory.number;
        slots->metrics_written = check->memory.number;
        slots->state = PMU_PAIR_SYNCED;
    }
}

static void note_counter_read(PmuCheck *check, const PmuCheckEvent *event)
{
    PmuCheckCounter *counter = &check->memory.counter[event->counter];

    check->memory.last_read = event->counter;
    if (event->where->cpl == 0 && counter->ever_written && !counter->counted &&
        counter->passed_over && counter->dead_reads < UINT8_MAX) {
        counter->dead_reads++;
        counter->passed_over = false;
    }
    if (event->counter == PMU_CHECK_SLOTS) {
        note_slots_read(check, event);
    }
}

void pmu_check_note_read(PmuCheck *check, const PmuCheckEvent *event)
{
    if (event->msr == MSR_PMU_IA32_PERF_GLOBAL_STATUS) {
        note_status_read(check, event);
    } else if (event->msr == MSR_PMU_IA32_PERF_METRICS) {
        note_metrics_read(check, event);
    } else if (event->counter < PMU_CHECK_COUNTERS) {
        note_counter_read(check, event);
    }
    pmu_check_note_time(check, event);
}

static void note_slots_written(PmuCheck *check, const PmuCheckEvent *event)
{
    PmuCheckSlots *slots = &check->memory.slots;

    slots->disturbed = slots->read;
    slots->metrics_read = false;
    slots->saved = false;
    slots->slots_written = check->memory.number;
    slots->state = event->value ? PMU_PAIR_STALE : PMU_PAIR_CLEARED;
}

static void note_metrics_written(PmuCheck *check, const PmuCheckEvent *event)
{
    PmuCheckSlots *slots = &check->memory.slots;

    slots->disturbed = slots->read;
    slots->metrics_written = check->memory.number;
    slots->ran = event->new->counting & PERF_GLOBAL_METRICS;
    slots->metrics_read = false;
    if (slots->state != PMU_PAIR_UNKNOWN) {
        slots->state = PMU_PAIR_SYNCED;
    }
}

/* C12: who writes the counter or selector that @event is about. */
static void note_owner(PmuCheck *check, const PmuCheckEvent *event)
{
    unsigned index = event->msr - MSR_PMU_IA32_PERFEVTSEL0 < PERFMON_ARCH_GP
                     ? event->msr - MSR_PMU_IA32_PERFEVTSEL0 : event->counter;

    if (index < PMU_CHECK_COUNTERS) {
        check->memory.counter[index].owned = true;
        check->memory.counter[index].inside =
            event->where->rip >= check->config.text_first &&
            event->where->rip < check->config.text_end;
    }
}

static void note_counter_written(PmuCheck *check, const PmuCheckEvent *event)
{
    PmuCheckCounter *counter = &check->memory.counter[event->counter];

    counter->known = true;
    counter->ever_written = true;
    counter->acked = false;
    counter->counted = event->new->counting &
                       pmu_check_bit(event->counter);
    counter->passed_over = false;
    counter->dead_reads = 0;
    if (event->counter == PMU_CHECK_SLOTS) {
        note_slots_written(check, event);
    }
}

static void note_ack(PmuCheck *check, const PmuCheckEvent *event)
{
    uint64_t bits = event->value & event->before->global_status;

    uint64_t counters = bits & PMU_CHECK_ALL;

    while (counters) {
        check->memory.counter[pmu_check_take(&counters)].acked = true;
    }
    if (bits & (PERF_GLOBAL_FIXED(3) | PERF_GLOBAL_METRICS)) {
        check->memory.slots.acked = check->memory.number;
        check->memory.slots.metrics_acked |= bits & PERF_GLOBAL_METRICS;
    }
    check->memory.status_read &= ~bits;
    check->memory.pending &= ~bits;
    check->memory.lost &= ~event->value;
}

/* @event starts or stops counters. */
static void note_start(PmuCheck *check, const PmuCheckEvent *event)
{
    uint64_t after = event->new->counting;

    for (unsigned i = 0; i < PMU_CHECK_COUNTERS; i++) {
        PmuCheckCounter *counter = &check->memory.counter[i];
        uint64_t bit = pmu_check_bit(i);

        if ((event->starting | event->stopping) & bit) {
            counter->space = pmu_check_space(event->where);
        }
        if (event->starting & bit) {
            counter->counted = true;
            counter->dead_reads = 0;
            counter->event = pmu_check_selector(event->after, i);
        } else if (event->starting && !(after & bit)) {
            counter->passed_over = true;
        }
    }
    if (event->stopping & PERF_GLOBAL_FIXED(3)) {
        check->memory.slots.stopped = check->memory.number;
    }
    if (event->starting & PERF_GLOBAL_FIXED(3)) {
        check->memory.slots.saved = false;
        check->memory.slots.acked = 0;
        check->memory.slots.metrics_acked = false;
    }
    check->memory.slots.ran |= event->starting & PERF_GLOBAL_METRICS;
    check->memory.pmi.started |= event->starting && check->memory.pmi.active;
}

void pmu_check_note_write(PmuCheck *check, const PmuCheckEvent *event)
{
    check->memory.last_read = PMU_CHECK_COUNTERS;
    note_owner(check, event);
    if (event->counter < PMU_CHECK_COUNTERS) {
        note_counter_written(check, event);
    } else if (event->msr == MSR_PMU_IA32_PERF_METRICS) {
        note_metrics_written(check, event);
    } else if (event->msr == MSR_PMU_IA32_PERF_GLOBAL_OVF_CTRL) {
        note_ack(check, event);
    }
    if (event->starting | event->stopping) {
        note_start(check, event);
    }
    pmu_check_note_time(check, event);
}

void pmu_check_note_overflow(PmuCheck *check, const PmuCheckEvent *event)
{
    check->memory.status_read &= ~event->value;
    check->memory.pending &= ~event->value;
    check->memory.lost &= ~event->value;
    if (event->value & (PERF_GLOBAL_FIXED(3) | PERF_GLOBAL_METRICS) &&
        check->memory.slots.state == PMU_PAIR_SYNCED) {
        check->memory.slots.state = PMU_PAIR_STALE;
    }
    pmu_check_note_time(check, event);
}

void pmu_check_note_pmi(PmuCheck *check, const PmuCheckEvent *event)
{
    PmuCheckPmi *pmi = &check->memory.pmi;
    uint64_t bits = event->before->global_status & ~check->memory.status_read &
                    ~check->memory.pending & ~check->memory.lost;

    if (event->outcome == PMU_CHECK_MASKED &&
        (!pmi->active || pmi->started)) {
        check->memory.lost |= bits;
    } else {
        check->memory.pending |= bits;
    }
    if (event->outcome != PMU_CHECK_MASKED) {
        pmi->latched = true;
        pmi->held = event->outcome == PMU_CHECK_NMI_PENDING;
        pmi->lvtpc |= PMU_LVTPC_MASKED;
        check->memory.slots.disturbed |= check->memory.slots.read;
    }
    pmu_check_note_time(check, event);
}

void pmu_check_note_lvtpc(PmuCheck *check, const PmuCheckEvent *event)
{
    PmuCheckPmi *pmi = &check->memory.pmi;

    pmi->lvtpc = event->value;
    pmi->lvtpc_known = true;
    if (!(event->value & PMU_LVTPC_MASKED)) {
        pmi->unmasked = true;
    }
    pmu_check_note_time(check, event);
}

/* The vector by which LVTPC's interrupt enters a handler; -1: none. */
static int lvtpc_vector(const PmuCheckPmi *pmi)
{
    switch (pmi->lvtpc & PMU_LVTPC_MODE) {
    case PMU_LVTPC_NMI:
        return 2;
    case PMU_LVTPC_FIXED:
        return pmi->lvtpc & PMU_LVTPC_VECTOR;
    default:
        return -1;
    }
}

void pmu_check_note_interrupt(PmuCheck *check, const PmuCheckEvent *event)
{
    PmuCheckPmi *pmi = &check->memory.pmi;

    if (pmi->active) {
        pmi->depth += pmi->depth < PMU_CHECK_MAX_DEPTH;
    } else if (pmi->latched && !pmi->held &&
               event->value == (uint64_t)lvtpc_vector(pmi)) {
        pmi->active = true;
        pmi->depth = 1;
        pmi->latched = pmi->unmasked = pmi->status_read = pmi->started = false;
        pmi->status_reads = 0;
    }
    pmu_check_note_time(check, event);
}

void pmu_check_note_iret(PmuCheck *check, const PmuCheckEvent *event)
{
    PmuCheckPmi *pmi = &check->memory.pmi;

    if (pmi->active) {
        pmi->active = --pmi->depth > 0;
    }
    if (!pmi->active) {
        pmi->held = false;
    }
    pmu_check_note_time(check, event);
}
