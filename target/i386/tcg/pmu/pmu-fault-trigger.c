/*
 * Faults on demand: the conditions under which they fire.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * These depend only on what the guest does, so a replay has the same faults.
 */

#include "qemu/osdep.h"
#include "pmu-fault.h"
#include "pmu-observe.h"
#include "trace.h"

/* The value of property @which. */
static uint64_t x86_pmu_fault_number(const X86PMUFault *fault,
                                     X86PMUFaultNumber which,
                                     uint64_t if_not_given)
{
    uint64_t number = fault->number[which];

    return number == NOT_GIVEN ? if_not_given : number;
}

/* Has @fault fired as often as max= allows? */
static bool x86_pmu_fault_is_spent(const X86PMUFault *fault)
{
    return fault->fired >= fault->most;
}

bool x86_pmu_fault_is_due(X86PMUFault *fault)
{
    return ++fault->seen >= x86_pmu_fault_number(fault, NUMBER_NTH, 1) &&
           !x86_pmu_fault_is_spent(fault);
}

/*
 * A random number below @limit: xorshift64 (Marsaglia, "Xorshift RNGs", 2003)
 */
static uint64_t x86_pmu_fault_random(X86PMUFault *fault, uint64_t limit)
{
    fault->random ^= fault->random << 13;
    fault->random ^= fault->random >> 7;
    fault->random ^= fault->random << 17;
    return fault->random % limit;
}

/* Instructions until @fault can fire again, by every= and jitter=. */
static uint64_t x86_pmu_fault_period(X86PMUFault *fault)
{
    uint64_t every = fault->number[NUMBER_EVERY];
    uint64_t jitter = x86_pmu_fault_number(fault, NUMBER_JITTER, 0);

    return every - jitter + x86_pmu_fault_random(fault, 2 * jitter + 1);
}

void x86_pmu_fault_wait_first(X86PMUFault *fault)
{
    fault->left = fault->number[NUMBER_INSNS] != NOT_GIVEN
                  ? fault->number[NUMBER_INSNS] :
                  fault->number[NUMBER_EVERY] != NOT_GIVEN
                  ? x86_pmu_fault_period(fault) : 0;
}

void x86_pmu_fault_wait_next(X86PMUFault *fault)
{
    if (x86_pmu_fault_is_spent(fault)) {
        fault->left = 0;
    } else if (fault->number[NUMBER_EVERY] != NOT_GIVEN) {
        fault->left = x86_pmu_fault_period(fault);
    } else if (fault->by_count) {
        fault->left = fault->number[NUMBER_INSNS];
    }
}

bool x86_pmu_fault_is_here(const X86PMUFault *fault, CPUX86State *env)
{
    return !fault->left &&
           (fault->number[NUMBER_CPL] == NOT_GIVEN ||
            fault->number[NUMBER_CPL] == (env->hflags & HF_CPL_MASK)) &&
           (fault->number[NUMBER_RIP] == NOT_GIVEN ||
            fault->number[NUMBER_RIP] == x86_pmu_pc(env));
}

bool x86_pmu_fault_is_access(const X86PMUFault *fault, CPUX86State *env,
                             PmuCheckAccess how, uint32_t msr)
{
    uint32_t before = env->pmu.unit->fault_before;

    return (how == PMU_CHECK_WRMSR ? fault->write : fault->read) &&
           (!fault->msr || fault->msr == msr) &&
           (!fault->before || fault->before == before) &&
           x86_pmu_fault_is_here(fault, env);
}

void x86_pmu_fault_note(X86PMUFault *fault, CPUX86State *env)
{
    fault->fired++;
    fault->clock = x86_pmu_clock(env_cpu(env));
    fault->rip = x86_pmu_pc(env);
    trace_x86_pmu_fault(env_cpu(env)->cpu_index, x86_pmu_fault_id(fault),
                        x86_pmu_fault_kind_name(fault->kind), fault->rip,
                        fault->clock);
    if (!fault->by_count) {
        x86_pmu_fault_wait_next(fault);
    }
}
