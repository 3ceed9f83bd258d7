/*
 * The checker: from what it is told to events, rules, and states.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "tcg/pmu/check/check.h"
#include "tcg/pmu/check/check-state.h"
#include "tcg/pmu/check/transitions.h"

/* A guest has millions of addresses to break rules at. */
#define MAX_SITES 4096

static unsigned site_hash(const void *key)
{
    const PmuCheckHit *hit = key;

    return g_direct_hash(hit->rule) ^ g_int64_hash(&hit->where.rip);
}

static gboolean site_equal(const void *a, const void *b)
{
    const PmuCheckHit *one = a, *other = b;

    return one->rule == other->rule && one->where.rip == other->where.rip;
}

static void collect_rules(PmuCheck *check)
{
    const PmuCheckRule *rule;

    for (unsigned i = 0; i < PMU_CHECK_RULES && (rule = pmu_check_rule(i));
         i++) {
        if (pmu_rule_set_has(&check->config.rules, i)) {
            check->rule[check->num_rules++] = rule;
        }
    }
}

/* The selector of a counter is @value: look up what that says. */
static void learn_selector(PmuCheck *check, uint32_t msr, uint64_t value)
{
    const uint64_t mask = PERF_EVTSEL_EVENT | PERF_EVTSEL_UMASK;
    uint32_t index = msr - MSR_PMU_IA32_PERFEVTSEL0;
    PmuCheckSelector *selector;
    PmuCore core = check->perfmon->config.core;

    if (index >= PERFMON_ARCH_GP) {
        return;
    }
    selector = &check->selector[index];
    if (!selector->counters || selector->event != (value & mask)) {
        selector->event = value & mask;
        selector->counters = pmu_event_counters(core, value);
        selector->extra = pmu_event_extra(core, value);
    }
}

/* The same for what registers have now. */
static void learn_selectors(PmuCheck *check)
{
    for (unsigned i = 0; i < PERFMON_ARCH_GP; i++) {
        learn_selector(check, MSR_PMU_IA32_PERFEVTSEL0 + i,
                       check->perfmon->evtsel[i]);
    }
}

PmuCheck *pmu_check_new(const Perfmon *perfmon, const PmuCheckConfig *config)
{
    PmuCheck *check = g_new0(PmuCheck, 1);

    check->perfmon = perfmon;
    check->config = *config;
    collect_rules(check);
    check->sites = g_hash_table_new(site_hash, site_equal);
    check->hits = g_ptr_array_new_with_free_func(g_free);
    pmu_check_reset(check);
    return check;
}

void pmu_check_free(PmuCheck *check)
{
    if (check) {
        g_hash_table_unref(check->sites);
        g_ptr_array_unref(check->hits);
        g_free(check);
    }
}

void pmu_check_reset(PmuCheck *check)
{
    PmuCheckMemory *memory = &check->memory;

    *memory = (PmuCheckMemory) {
        .number = memory->number, .last_read = PMU_CHECK_COUNTERS,
        .slots.state = PMU_PAIR_SYNCED,
    };
    for (unsigned i = 0; i < PMU_CHECK_COUNTERS; i++) {
        memory->counter[i].known = true;
    }
    pmu_check_note_init(check);
    learn_selectors(check);
}

void pmu_check_forget(PmuCheck *check)
{
    PmuCheckMemory *memory = &check->memory;

    *memory = (PmuCheckMemory) {
        .number = memory->number, .last_read = PMU_CHECK_COUNTERS,
        .lost = UINT64_MAX,
    };
    learn_selectors(check);
}

const PmuCheckMemory *pmu_check_memory(const PmuCheck *check)
{
    return &check->memory;
}

const char *pmu_check_memory_fault(const PmuCheckMemory *memory)
{
    if (memory->slots.state >= PMU_PAIR_STATES) {
        return "the checker's state of PERF_METRICS is unknown";
    }
    if (memory->last_read > PMU_CHECK_COUNTERS) {
        return "the checker knows of a counter that there is not";
    }
    if (memory->pmi.depth > PMU_CHECK_MAX_DEPTH ||
        memory->pmi.active != !!memory->pmi.depth) {
        return "the checker's interrupt handlers cannot be";
    }
    return NULL;
}

void pmu_check_load(PmuCheck *check, const PmuCheckMemory *memory)
{
    check->memory = *memory;
    learn_selectors(check);
}

const PmuCheckHit *pmu_check_hit(const PmuCheck *check, unsigned index)
{
    return index < check->hits->len ? g_ptr_array_index(check->hits, index)
                                    : NULL;
}

/* @rule was broken by @event, which is about @counters. */
static void report(PmuCheck *check, const PmuCheckRule *rule,
                   const PmuCheckEvent *event, uint64_t counters)
{
    PmuCheckHit hit = {
        .rule = rule, .where = event->where, .msr = event->msr,
        .value = event->value, .counters = counters & ~PMU_CHECK_BROKEN,
        .count = 1,
    };
    PmuCheckHit *site = g_hash_table_lookup(check->sites, &hit);

    if (site) {
        site->count++;
        return;
    }
    if (check->hits->len >= MAX_SITES) {
        return;
    }
    if (check->config.suppressions) {
        hit.suppressed = pmu_suppressions_find(check->config.suppressions,
                                               rule->id, event->where.rip,
                                               event->msr);
    }
    site = g_memdup2(&hit, sizeof(hit));
    g_ptr_array_add(check->hits, site);
    g_hash_table_add(check->sites, site);
    if (check->config.report) {
        check->config.report(check->config.opaque, site);
    }
}

static void judge(PmuCheck *check, const PmuCheckEvent *event)
{
    for (unsigned i = 0; i < check->num_rules; i++) {
        const PmuCheckRule *rule = check->rule[i];
        uint64_t broken = 0;

        if (rule->kinds & event->kind) {
            broken = rule->broken(check, event);
        }
        if (broken) {
            report(check, rule, event, broken);
        }
    }
}

static PmuCheckSets sets_of(const PmuControls *controls)
{
    return (PmuCheckSets) {
        .enabled = pmu_controls_enabled(controls),
        .counting = pmu_controls_counting(controls),
        .interrupting = pmu_controls_interrupting(controls),
    };
}

static PmuCheckEvent begin(PmuCheck *check, const PmuCheckWhere *where,
                           unsigned kind)
{
    PmuControls controls = pmu_controls(check->perfmon);
    PmuCheckSets sets = sets_of(&controls);

    check->memory.number++;
    return (PmuCheckEvent) {
        .kind = kind | PMU_CHECK_ON_ANY,
        .where = *where,
        .counter = PMU_CHECK_COUNTERS,
        .before = controls,
        .after = controls,
        .old = sets,
        .new = sets,
    };
}

void pmu_check_read(PmuCheck *check, const PmuCheckWhere *where,
                    PmuCheckAccess how, uint32_t msr, uint64_t value)
{
    PmuCheckEvent event = begin(check, where, PMU_CHECK_ON_READ);

    event.how = how;
    event.msr = msr;
    event.value = value;
    event.counter = pmu_check_counter_of(msr);
    judge(check, &event);
    pmu_check_note_read(check, &event);
}

void pmu_check_write(PmuCheck *check, const PmuCheckWhere *where,
                     uint32_t msr, uint64_t value)
{
    PmuCheckEvent event = begin(check, where, PMU_CHECK_ON_WRITE);

    event.how = PMU_CHECK_WRMSR;
    event.msr = msr;
    event.value = value;
    event.counter = pmu_check_counter_of(msr);
    pmu_controls_write(&event.after, msr, value);
    event.new = sets_of(&event.after);
    event.starting = event.new.counting & ~event.old.counting;
    event.stopping = event.old.counting & ~event.new.counting;
    learn_selector(check, msr, value);
    if (event.starting) {
        event.kind |= PMU_CHECK_ON_START;
    }
    judge(check, &event);
    pmu_check_note_write(check, &event);
}

void pmu_check_gp(PmuCheck *check, const PmuCheckWhere *where,
                  PmuCheckAccess how, uint32_t msr, uint64_t value)
{
    PmuCheckEvent event = begin(check, where, PMU_CHECK_ON_GP);

    event.how = how;
    event.msr = msr;
    event.value = value;
    judge(check, &event);
    pmu_check_note_time(check, &event);
}

void pmu_check_overflow(PmuCheck *check, const PmuCheckWhere *where,
                        uint64_t bits)
{
    PmuCheckEvent event = begin(check, where, 0);

    event.value = bits;
    judge(check, &event);
    pmu_check_note_overflow(check, &event);
}

void pmu_check_pmi(PmuCheck *check, const PmuCheckWhere *where,
                   PmuCheckOutcome outcome)
{
    PmuCheckEvent event = begin(check, where, PMU_CHECK_ON_PMI);

    event.outcome = outcome;
    judge(check, &event);
    pmu_check_note_pmi(check, &event);
}

void pmu_check_lvtpc(PmuCheck *check, const PmuCheckWhere *where,
                     uint32_t value)
{
    PmuCheckEvent event = begin(check, where, PMU_CHECK_ON_LVTPC);

    event.value = value;
    judge(check, &event);
    pmu_check_note_lvtpc(check, &event);
}

void pmu_check_interrupt(PmuCheck *check, const PmuCheckWhere *where,
                         unsigned vector)
{
    PmuCheckEvent event = begin(check, where, 0);

    event.value = vector;
    judge(check, &event);
    pmu_check_note_interrupt(check, &event);
}

void pmu_check_iret(PmuCheck *check, const PmuCheckWhere *where)
{
    PmuCheckEvent event = begin(check, where, 0);

    if (check->memory.pmi.active && check->memory.pmi.depth == 1) {
        event.kind |= PMU_CHECK_ON_RETURN;
    }
    judge(check, &event);
    pmu_check_note_iret(check, &event);
}

void pmu_check_halt(PmuCheck *check, const PmuCheckWhere *where,
                    PmuCheckHalt why)
{
    PmuCheckEvent event = begin(check, where, PMU_CHECK_ON_HALT);

    event.halt = why;
    judge(check, &event);
    if (why == PMU_CHECK_INIT) {
        pmu_check_note_init(check);
    }
    pmu_check_note_time(check, &event);
}

void pmu_check_time(PmuCheck *check, const PmuCheckWhere *where)
{
    PmuCheckEvent event = begin(check, where, 0);

    judge(check, &event);
    pmu_check_note_time(check, &event);
}
