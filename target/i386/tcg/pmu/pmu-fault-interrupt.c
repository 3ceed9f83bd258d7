/*
 * Faults on demand: those of interrupts, which come late, twice or not at all.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/i386/apic_internal.h"
#include "pmu-fault.h"

/* If the late interrupt is due, ask for it; any other one then is the same. */
void x86_pmu_fault_release(X86PMU *unit, uint64_t n)
{
    if (unit->fault_held) {
        unit->fault_held -= MIN(unit->fault_held, n);
        if (!unit->fault_held) {
            unit->fault_released = true;
            unit->fault_asked |= FAULT_ASKS_PMI;
        }
    }
}

void x86_pmu_faults_reset(X86PMU *unit)
{
    unit->fault_asked = 0;
    unit->fault_held = 0;
    unit->fault_released = false;
}

/* Has the interrupt that comes now frozen all counters, as DEBUGCTL asks? */
static bool x86_pmu_fault_is_frozen(const Perfmon *perfmon)
{
    if (!(perfmon->debugctl & PERF_DEBUGCTL_FREEZE_PERFMON_ON_PMI)) {
        return false;
    }
    return perfmon->config.version >= 4
           ? perfmon->global_status & PERF_GLOBAL_CTR_FRZ
           : !perfmon->global_ctrl;
}

/* Do all conditions of @fault apart from nth= hold, now that a PMI comes? */
static bool x86_pmu_fault_is_interrupt(const X86PMUFault *fault,
                                       CPUX86State *env)
{
    const X86PMU *unit = env->pmu.unit;

    /* Only one interrupt is held back at a time. */
    return fault->time == FAULT_AT_INTERRUPT &&
           (fault->kind != FAULT_LATE || !unit->fault_held) &&
           (fault->kind != FAULT_FREEZE_LOST ||
            x86_pmu_fault_is_frozen(&unit->perfmon)) &&
           x86_pmu_fault_is_here(fault, env);
}

/*
 * An interrupt comes: let faults fire.  Returns the one that decides what
 * becomes of the interrupt, the last of several; NULL: none.
 */
static const X86PMUFault *x86_pmu_fault_interrupt(CPUX86State *env)
{
    X86PMU *unit = env->pmu.unit;
    const X86PMUFault *decides = NULL;

    for (unsigned i = 0; unit->faults && i < unit->faults->len; i++) {
        X86PMUFault *fault = g_ptr_array_index(unit->faults, i);

        if (!x86_pmu_fault_is_interrupt(fault, env) ||
            !x86_pmu_fault_is_due(fault)) {
            continue;
        }
        x86_pmu_fault_note(fault, env);
        if (fault->kind == FAULT_MERGE) {
            x86_pmu_fault_overflow(fault, env);
        } else {
            decides = fault;
        }
    }
    return decides;
}

/* Deliver an interrupt, and leave LVTPC unmasked. */
static void x86_pmu_fault_deliver_unmasked(CPUX86State *env, uint32_t *lvtpc)
{
    x86_pmu_observe_pmi(env, true);
    x86_pmu_interrupt_apic(env);
    *lvtpc &= ~APIC_LVT_MASKED;
}

/*
 * Deliver an interrupt as if LVTPC were @as.  LVTPC keeps only the mask of it.
 */
static void x86_pmu_fault_deliver_as(CPUX86State *env, uint32_t *lvtpc,
                                     uint32_t as)
{
    uint32_t given = *lvtpc;

    *lvtpc = as;
    x86_pmu_observe_pmi(env, true);
    x86_pmu_interrupt_apic(env);
    *lvtpc = given | (*lvtpc & APIC_LVT_MASKED);
}

bool x86_pmu_fault_deliver(CPUX86State *env)
{
    X86PMU *unit = env->pmu.unit;
    DeviceState *apic = unit->cpu->apic_state;
    uint32_t *lvtpc = apic ? &APIC_COMMON(apic)->lvt[APIC_LVT_PERFORM] : NULL;
    const X86PMUFault *fault;

    if (unit->fault_released || x86_pmu_lvtpc(env) & APIC_LVT_MASKED) {
        unit->fault_released = false;
        return false;
    }
    fault = x86_pmu_fault_interrupt(env);
    /* If kind merge has let a counter overflow: this is its interrupt, too. */
    unit->perfmon.pmi = false;
    switch (fault ? fault->action : X86_PMU_FAULT_NONE) {
    case X86_PMU_FAULT_DROP:
        return true;
    case X86_PMU_FAULT_LATE:
        unit->fault_held = fault->number[NUMBER_BY];
        return true;
    case X86_PMU_FAULT_MODE:
        x86_pmu_fault_deliver_as(env, lvtpc, fault->lvtpc);
        return true;
    case X86_PMU_FAULT_UNMASKED:
        x86_pmu_fault_deliver_unmasked(env, lvtpc);
        return true;
    case X86_PMU_FAULT_DOUBLE:
        x86_pmu_fault_deliver_unmasked(env, lvtpc);
        /* The second comes at the next block's entry; no fault changes it. */
        unit->fault_asked |= FAULT_ASKS_PMI;
        unit->fault_released = true;
        return true;
    default:
        return false;
    }
}
