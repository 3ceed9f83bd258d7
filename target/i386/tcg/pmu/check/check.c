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

PmuCheck *pmu_check_new(const Perfmon *perfmon, const PmuCheckConfig *config)
{
    PmuCheck *check = g_new0(PmuCheck, 1);

    check->perfmon = perfmon;
    check->config = *config;
    check->sites = g_hash_table_new(site_hash, site_equal);
    check->hits = g_ptr_array_new_with_free_func(g_free);
    check->pmi.lvtpc = PMU_LVTPC_MASKED;
    check->pmi.lvtpc_known = true;
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
    memset(check->counter, 0, sizeof(check->counter));
    memset(&check->slots, 0, sizeof(check->slots));
    for (unsigned i = 0; i < PMU_CHECK_COUNTERS; i++) {
        check->counter[i].known = true;
    }
    check->slots.state = PMU_PAIR_SYNCED;
    check->seen = check->pending = check->lost = 0;
    check->last_read = PMU_CHECK_COUNTERS;
    check->pmi = (PmuCheckPmi) {
        .lvtpc = check->pmi.lvtpc, .lvtpc_known = check->pmi.lvtpc_known,
    };
}

void pmu_check_forget(PmuCheck *check)
{
    memset(check->counter, 0, sizeof(check->counter));
    memset(&check->slots, 0, sizeof(check->slots));
    memset(&check->pmi, 0, sizeof(check->pmi));
    check->seen = check->pending = 0;
    check->lost = UINT64_MAX;
    check->last_read = PMU_CHECK_COUNTERS;
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
    const PmuCheckRule *rule;

    for (unsigned i = 0; (rule = pmu_check_rule(i)); i++) {
        uint64_t broken;

        if (!(rule->kinds & event->kind) ||
            !pmu_rule_set_has(&check->config.rules, i)) {
            continue;
        }
        broken = rule->broken(check, event);
        if (broken) {
            report(check, rule, event, broken);
        }
    }
}

static PmuCheckEvent begin(PmuCheck *check, const PmuCheckWhere *where,
                           unsigned kind)
{
    PmuControls controls = pmu_controls(check->perfmon);

    check->number++;
    return (PmuCheckEvent) {
        .kind = kind | PMU_CHECK_ON_ANY,
        .where = *where,
        .counter = PMU_CHECK_COUNTERS,
        .before = controls,
        .after = controls,
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
    uint64_t before, after;

    event.how = PMU_CHECK_WRMSR;
    event.msr = msr;
    event.value = value;
    event.counter = pmu_check_counter_of(msr);
    pmu_controls_write(&event.after, msr, value);
    before = pmu_controls_counting(&event.before);
    after = pmu_controls_counting(&event.after);
    event.starting = after & ~before;
    event.stopping = before & ~after;
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

    if (check->pmi.active && check->pmi.depth == 1) {
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
    pmu_check_note_time(check, &event);
}

void pmu_check_time(PmuCheck *check, const PmuCheckWhere *where)
{
    PmuCheckEvent event = begin(check, where, 0);

    judge(check, &event);
    pmu_check_note_time(check, &event);
}
