/*
 * The checker turns what callers tell into events, lets rules judge them, and
 * updates its memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <string.h>

#include "tcg/pmu/check/check.h"
#include "tcg/pmu/check/check-state.h"
#include "tcg/pmu/check/transitions.h"

/* Most hits that are kept: a guest can break rules at millions of addresses. */
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

static void collect_rule(PmuCheck *check, const PmuCheckRule *rule)
{
    for (unsigned kind = 0; kind < PMU_CHECK_KINDS; kind++) {
        PmuCheckRuleList *list = &check->rules[kind];

        if (rule->kinds >> kind & 1) {
            list->rule[list->count++] = rule;
        }
    }
}

static void collect_rules(PmuCheck *check)
{
    const PmuCheckRule *rule;

    for (unsigned i = 0; i < PMU_CHECK_RULES && (rule = pmu_check_rule(i));
         i++) {
        if (pmu_rule_set_has(&check->config.rules, i)) {
            collect_rule(check, rule);
        }
    }
}

/* If @msr is a selector, look up what @value, its contents, means. */
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

static PmuCheckSets sets_of(const PmuControls *controls)
{
    return (PmuCheckSets) {
        .enabled = pmu_controls_enabled(controls),
        .counting = pmu_controls_counting(controls),
        .interrupting = pmu_controls_interrupting(controls),
    };
}

/* Compute all that follows from the registers' contents and the memory. */
static void learn(PmuCheck *check)
{
    PmuCheckView *view = &check->view[check->current];

    view->controls = pmu_controls(check->perfmon);
    view->sets = sets_of(&view->controls);
    check->idle = 0;
    for (unsigned i = 0; i < PMU_CHECK_COUNTERS; i++) {
        check->idle |= check->memory.counter[i].idle ? pmu_check_bit(i) : 0;
    }
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
    learn(check);
}

void pmu_check_forget(PmuCheck *check)
{
    PmuCheckMemory *memory = &check->memory;

    *memory = (PmuCheckMemory) {
        .number = memory->number, .last_read = PMU_CHECK_COUNTERS,
        .lost = UINT64_MAX,
    };
    learn(check);
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
    learn(check);
}

const PmuCheckHit *pmu_check_hit(const PmuCheck *check, unsigned index)
{
    return index < check->hits->len ? g_ptr_array_index(check->hits, index)
                                    : NULL;
}

/* Record that @event broke @rule; @counters are those it is about. */
static void report(PmuCheck *check, const PmuCheckRule *rule,
                   const PmuCheckEvent *event, uint64_t counters)
{
    PmuCheckHit hit = {
        .rule = rule, .where = *event->where, .msr = event->msr,
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
                                               rule->id, event->where->rip,
                                               event->msr);
    }
    site = g_memdup2(&hit, sizeof(hit));
    g_ptr_array_add(check->hits, site);
    g_hash_table_add(check->sites, site);
    if (check->config.report) {
        check->config.report(check->config.opaque, site);
    }
}

static void judge_by(PmuCheck *check, const PmuCheckRuleList *list,
                     const PmuCheckEvent *event)
{
    for (unsigned i = 0; i < list->count; i++) {
        uint64_t broken = list->rule[i]->broken(check, event);

        if (broken) {
            report(check, list->rule[i], event, broken);
        }
    }
}

/* Whether a condition holds that breaks a rule (C8, P3) if it lasts. */
static bool is_limited(const PmuCheck *check)
{
    return check->idle || check->memory.pmi.masked;
}

static void judge(PmuCheck *check, const PmuCheckEvent *event)
{
    unsigned kinds = event->kind;

    if (!is_limited(check)) {
        kinds &= ~PMU_CHECK_ON_ANY;
    }
    while (kinds) {
        judge_by(check, &check->rules[__builtin_ctz(kinds)], event);
        kinds &= kinds - 1;
    }
}

/* The registers' contents now; most often the last event left them so. */
static const PmuCheckView *look(PmuCheck *check)
{
    PmuCheckView *view = &check->view[check->current];

    if (!pmu_controls_equal(&view->controls, check->perfmon)) {
        view->controls = pmu_controls(check->perfmon);
        view->sets = sets_of(&view->controls);
    }
    return view;
}

/* Fill in what the write of @event makes of the registers. */
static void look_ahead(PmuCheck *check, PmuCheckEvent *event)
{
    PmuCheckView *view = &check->view[!check->current];

    view->controls = *event->before;
    pmu_controls_write(&view->controls, event->msr, event->value);
    view->sets = sets_of(&view->controls);
    check->current = !check->current;
    event->after = &view->controls;
    event->new = &view->sets;
    event->starting = event->new->counting & ~event->old->counting;
    event->stopping = event->old->counting & ~event->new->counting;
}

static PmuCheckEvent begin(PmuCheck *check, const PmuCheckWhere *where,
                           unsigned kind)
{
    const PmuCheckView *view = look(check);

    check->memory.number++;
    return (PmuCheckEvent) {
        .kind = kind | PMU_CHECK_ON_ANY,
        .where = where,
        .counter = PMU_CHECK_COUNTERS,
        .before = &view->controls,
        .after = &view->controls,
        .old = &view->sets,
        .new = &view->sets,
    };
}

static unsigned read_kind(uint32_t msr, unsigned counter)
{
    return counter < PMU_CHECK_COUNTERS ? PMU_CHECK_ON_READ_COUNTER :
           msr == MSR_PMU_IA32_PERF_METRICS ? PMU_CHECK_ON_READ_METRICS
                                            : PMU_CHECK_ON_READ_OTHER;
}

static unsigned write_kind(uint32_t msr, unsigned counter)
{
    return counter < PMU_CHECK_COUNTERS ? PMU_CHECK_ON_WRITE_COUNTER :
           msr - MSR_PMU_IA32_PERFEVTSEL0 < PERFMON_ARCH_GP ||
           msr == MSR_PMU_IA32_FIXED_CTR_CTRL ||
           msr == MSR_PMU_IA32_PERF_GLOBAL_CTRL ? PMU_CHECK_ON_WRITE_CONTROL
                                                : PMU_CHECK_ON_WRITE_OTHER;
}

void pmu_check_read(PmuCheck *check, const PmuCheckWhere *where,
                    PmuCheckAccess how, uint32_t msr, uint64_t value)
{
    unsigned counter = pmu_check_counter_of(msr);
    PmuCheckEvent event = begin(check, where, read_kind(msr, counter));

    event.how = how;
    event.msr = msr;
    event.value = value;
    event.counter = counter;
    judge(check, &event);
    pmu_check_note_read(check, &event);
}

void pmu_check_write(PmuCheck *check, const PmuCheckWhere *where,
                     uint32_t msr, uint64_t value)
{
    unsigned counter = pmu_check_counter_of(msr);
    PmuCheckEvent event = begin(check, where, write_kind(msr, counter));

    event.how = PMU_CHECK_WRMSR;
    event.msr = msr;
    event.value = value;
    event.counter = counter;
    if (pmu_controls_have(msr)) {
        look_ahead(check, &event);
    }
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

void pmu_check_injected_pmi(PmuCheck *check, const PmuCheckWhere *where)
{
    PmuCheckEvent event = begin(check, where, 0);

    event.outcome = PMU_CHECK_MASKED;
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

bool pmu_check_awaits_interrupts(const PmuCheck *check)
{
    const PmuCheckPmi *pmi = &check->memory.pmi;

    return is_limited(check) || pmi->active || pmi->latched || pmi->held;
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
