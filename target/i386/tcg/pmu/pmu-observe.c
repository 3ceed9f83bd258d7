/*
 * Observers: tell traces, recorder and checker what a driver does to the PMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Nothing here changes what the guest sees, except that x86_pmu_lvt() asserts
 * NetBurst's interrupt again (x86_pmu_unmasked()).
 */

#include "qemu/osdep.h"
#include "qemu/seqlock.h"
#include "qemu/timer.h"
#include "cpu.h"
#include "accel/tcg/internal-common.h"
#include "exec/cpu-common.h"
#include "exec/exec-all.h"
#include "hw/i386/apic_internal.h"
#include "system/cpu-timers.h"
#include "system/cpu-timers-internal.h"
#include "tcg/insn-start-words.h"
#include "pmu-observe.h"
#include "tcg/pmu/check/controls.h"
#include "trace.h"

/*
 * Nanoseconds per unit of PmuCheckWhere.clock without -icount.  The limits of
 * rules C8 and P3 are seconds then, as a vCPU's thread can wait.
 */
#define NANOSECONDS_PER_UNIT 1000

/*
 * With -icount this returns the instructions begun so far.  For RDMSR in the
 * middle of a block, that includes the block's rest.  icount_get_raw() cannot
 * be called there, and would account what x86_pmu_leave() may still take back.
 */
uint64_t x86_pmu_clock(CPUState *cs)
{
    if (!icount_enabled()) {
        return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    }
    return qatomic_read_i64(&timers_state.qemu_icount) + cs->icount_budget -
           cs->neg.icount_decr.u16.low - cs->icount_extra -
           cpu_env(cs)->pmu.unit->waiting;
}

const char *x86_pmu_clock_unit(void)
{
    return icount_enabled() ? "instructions" : "nanoseconds";
}

/* Where something happens, for the checker; and when, for the recorder. */
typedef struct X86PMUMoment {
    PmuCheckWhere where;
    uint64_t clock;             /* x86_pmu_clock(), which is slow: kept here */
} X86PMUMoment;

static X86PMUMoment x86_pmu_moment_at(CPUX86State *env, uint64_t rip)
{
    uint64_t clock = x86_pmu_clock(env_cpu(env));

    return (X86PMUMoment) {
        .where.clock = icount_enabled() ? clock : clock / NANOSECONDS_PER_UNIT,
        .where.rip = rip,
        .where.cr3 = env->cr[3],
        .where.cpl = env->hflags & HF_CPL_MASK,
        .clock = clock,
    };
}

static X86PMUMoment x86_pmu_moment(CPUX86State *env)
{
    return x86_pmu_moment_at(env, x86_pmu_pc(env));
}

/* Add a step to the recorder, if there is one. */
static void x86_pmu_note(X86PMUObserver *observer, PmuRecordKind kind,
                         const X86PMUMoment *moment, uint32_t msr,
                         uint64_t old, uint64_t value,
                         PmuCheckOutcome outcome)
{
    PmuRecorderEntry entry = {
        .clock = moment->clock, .rip = moment->where.rip, .old = old,
        .value = value, .msr = msr, .page = moment->where.cr3 >> 12,
        .kind = kind, .cpl = moment->where.cpl, .outcome = outcome,
    };

    if (observer->recorder) {
        pmu_recorder_add(observer->recorder, &entry);
    }
}

/*
 * The numbers of accesses to @msr; those of MSR 0 if there are too many MSRs.
 */
static X86PMUAccesses *x86_pmu_accesses(X86PMUObserver *observer, uint32_t msr)
{
    X86PMUAccesses *accesses = g_hash_table_lookup(observer->accesses,
                                                   GUINT_TO_POINTER(msr));

    /* A guest can make up any number of MSRs: RDPMC faults with any ECX. */
    if (!accesses && g_hash_table_size(observer->accesses) > 1000) {
        msr = 0;
        accesses = g_hash_table_lookup(observer->accesses, NULL);
    }
    if (!accesses) {
        accesses = g_new0(X86PMUAccesses, 1);
        g_hash_table_insert(observer->accesses, GUINT_TO_POINTER(msr),
                            accesses);
    }
    return accesses;
}

void x86_pmu_observe_read(CPUX86State *env, PmuCheckAccess how, uint32_t msr,
                          uint64_t value)
{
    X86PMUObserver *observer = env->pmu.unit->observer;
    X86PMUMoment moment;

    if (how == PMU_CHECK_RDMSR &&
        trace_event_get_state_backends(TRACE_X86_PMU_RDMSR)) {
        g_autofree char *name =
            pmu_register_name(env->pmu.unit->perfmon.map, msr);

        trace_x86_pmu_rdmsr(env_cpu(env)->cpu_index, msr, value,
                            x86_pmu_pc(env), name);
    }
    if (likely(!observer)) {
        return;
    }
    moment = x86_pmu_moment(env);
    x86_pmu_accesses(observer, msr)->count[how]++;
    x86_pmu_note(observer, how == PMU_CHECK_RDPMC ? PMU_RECORD_RDPMC
                                                  : PMU_RECORD_RDMSR,
                 &moment, msr, value, value, 0);
    if (observer->check) {
        pmu_check_read(observer->check, &moment.where, how, msr, value);
    }
}

/* The value of @msr; 0 if it cannot be read. */
static uint64_t x86_pmu_old_value(X86PMU *unit, uint32_t msr)
{
    uint64_t value = 0;

    perfmon_rdmsr(&unit->perfmon, msr, &value);
    return value;
}

static void x86_pmu_trace_write(CPUX86State *env, uint32_t msr, uint64_t value)
{
    g_autofree char *name = pmu_register_name(env->pmu.unit->perfmon.map,
                                              msr);

    trace_x86_pmu_wrmsr(env_cpu(env)->cpu_index, msr, value,
                        x86_pmu_old_value(env->pmu.unit, msr),
                        x86_pmu_pc(env), name);
}

/* Trace it if the write of @value to @msr changes which counters count. */
static void x86_pmu_trace_run(CPUX86State *env, uint32_t msr, uint64_t value)
{
    PmuControls controls = pmu_controls(&env->pmu.unit->perfmon);
    uint64_t before = pmu_controls_counting(&controls), after;

    pmu_controls_write(&controls, msr, value);
    after = pmu_controls_counting(&controls);
    if (before != after) {
        trace_x86_pmu_run(env_cpu(env)->cpu_index, before, after);
    }
}

void x86_pmu_observe_write(CPUX86State *env, uint32_t msr, uint64_t value)
{
    X86PMUObserver *observer = env->pmu.unit->observer;
    X86PMUMoment moment;

    if (trace_event_get_state_backends(TRACE_X86_PMU_WRMSR)) {
        x86_pmu_trace_write(env, msr, value);
    }
    if (trace_event_get_state_backends(TRACE_X86_PMU_RUN) &&
        env->pmu.unit->perfmon.config.map == PERFMON_MAP_ARCHITECTURAL) {
        x86_pmu_trace_run(env, msr, value);
    }
    if (likely(!observer)) {
        return;
    }
    moment = x86_pmu_moment(env);
    x86_pmu_accesses(observer, msr)->count[PMU_CHECK_WRMSR]++;
    x86_pmu_note(observer, PMU_RECORD_WRMSR, &moment, msr,
                 x86_pmu_old_value(env->pmu.unit, msr), value, 0);
    if (observer->check) {
        pmu_check_write(observer->check, &moment.where, msr, value);
    }
}

static const char *x86_pmu_access_name(PmuCheckAccess how)
{
    static const char *const names[] = { "rdmsr", "wrmsr", "rdpmc" };

    return names[how];
}

void x86_pmu_observe_gp(CPUX86State *env, PmuCheckAccess how, uint32_t msr,
                        uint64_t value)
{
    X86PMUObserver *observer = env->pmu.unit->observer;
    X86PMUMoment moment;

    trace_x86_pmu_gp(env_cpu(env)->cpu_index, msr, value,
                     how == PMU_CHECK_WRMSR, x86_pmu_pc(env),
                     x86_pmu_access_name(how));
    if (likely(!observer)) {
        return;
    }
    moment = x86_pmu_moment(env);
    x86_pmu_accesses(observer, msr)->faults++;
    x86_pmu_note(observer, PMU_RECORD_GP, &moment, msr, 0, value, 0);
    if (observer->check) {
        pmu_check_gp(observer->check, &moment.where, how, msr, value);
    }
}

void x86_pmu_observe_overflow(CPUX86State *env, uint64_t bits)
{
    X86PMUObserver *observer = env->pmu.unit->observer;
    X86PMUMoment moment;

    trace_x86_pmu_overflow(env_cpu(env)->cpu_index,
                           env->pmu.unit->perfmon.global_status, bits,
                           x86_pmu_pc(env));
    if (likely(!observer)) {
        return;
    }
    moment = x86_pmu_moment(env);
    x86_pmu_note(observer, PMU_RECORD_OVERFLOW, &moment, 0,
                 env->pmu.unit->perfmon.global_status & ~bits, bits, 0);
    if (observer->check) {
        pmu_check_overflow(observer->check, &moment.where, bits);
    }
}

/* What becomes of an interrupt now, by LVTPC and the processor's NMI mask. */
static PmuCheckOutcome x86_pmu_outcome(CPUX86State *env, uint32_t *lvtpc)
{
    *lvtpc = x86_pmu_lvtpc(env);
    if (*lvtpc & APIC_LVT_MASKED) {
        return PMU_CHECK_MASKED;
    }
    return extract32(*lvtpc, 8, 3) == APIC_DM_NMI &&
           env->hflags2 & HF2_NMI_MASK
           ? PMU_CHECK_NMI_PENDING : PMU_CHECK_DELIVERED;
}

void x86_pmu_observe_pmi(CPUX86State *env, bool overflow)
{
    X86PMUObserver *observer = env->pmu.unit->observer;
    uint64_t status = env->pmu.unit->perfmon.global_status;
    uint32_t lvtpc;
    PmuCheckOutcome outcome = x86_pmu_outcome(env, &lvtpc);
    X86PMUMoment moment;

    trace_x86_pmu_pmi(env_cpu(env)->cpu_index, status, lvtpc,
                      pmu_recorder_outcome_name(outcome), x86_pmu_pc(env));
    if (likely(!observer)) {
        return;
    }
    moment = x86_pmu_moment(env);
    observer->interrupts[outcome]++;
    x86_pmu_note(observer, PMU_RECORD_PMI, &moment, 0, lvtpc, status,
                 outcome);
    if (!observer->check) {
        return;
    }
    if (outcome == PMU_CHECK_MASKED && !overflow) {
        pmu_check_injected_pmi(observer->check, &moment.where);
    } else {
        pmu_check_pmi(observer->check, &moment.where, outcome);
    }
}

/* Linear address of the instruction that is writing to the local APIC. */
static uint64_t x86_pmu_io_pc(CPUX86State *env, bool by_msr)
{
    CPUState *cs = env_cpu(env);
    uint64_t data[TARGET_INSN_START_WORDS] = { };

    if (by_msr || !cs->running ||
        !cpu_unwind_state_data(cs, cs->mem_io_pc, data)) {
        return x86_pmu_pc(env);
    }
    if (!(cs->tcg_cflags & CF_PCREL)) {
        return data[0];
    }
    return (x86_pmu_pc(env) & TARGET_PAGE_MASK) | data[0];
}

void x86_pmu_lvt(X86CPU *cpu, int entry, uint32_t value)
{
    CPUX86State *env = &cpu->env;
    APICCommonState *apic = APIC_COMMON(cpu->apic_state);
    X86PMUObserver *observer;
    uint32_t old;
    uint64_t rip;
    X86PMUMoment moment;

    if (!env->pmu.unit || entry != APIC_LVT_PERFORM ||
        !qemu_cpu_is_self(CPU(cpu))) {
        return;
    }
    x86_pmu_unmasked(env, value);
    observer = env->pmu.unit->observer;
    if (!observer && !trace_event_get_state_backends(TRACE_X86_PMU_LVTPC)) {
        return;
    }
    old = apic->lvt[APIC_LVT_PERFORM];
    rip = x86_pmu_io_pc(env, apic->apicbase & MSR_IA32_APICBASE_EXTD);
    trace_x86_pmu_lvtpc(CPU(cpu)->cpu_index, old, value, rip);
    if (!observer) {
        return;
    }
    moment = x86_pmu_moment_at(env, rip);
    x86_pmu_note(observer, PMU_RECORD_LVTPC, &moment, 0, old, value, 0);
    if (observer->check) {
        pmu_check_lvtpc(observer->check, &moment.where, value);
    }
}

/* The checker of @env; NULL: there is none. */
static PmuCheck *x86_pmu_checker(CPUX86State *env)
{
    X86PMU *unit = env->pmu.unit;

    return unlikely(unit && unit->observer) ? unit->observer->check : NULL;
}

void x86_pmu_observe_interrupt(CPUX86State *env, int vector)
{
    PmuCheck *check = x86_pmu_checker(env);

    if (check && pmu_check_awaits_interrupts(check)) {
        X86PMUMoment moment = x86_pmu_moment(env);

        pmu_check_interrupt(check, &moment.where, vector);
    }
}

void x86_pmu_iret(CPUX86State *env)
{
    PmuCheck *check = x86_pmu_checker(env);

    if (check && pmu_check_awaits_interrupts(check)) {
        X86PMUMoment moment = x86_pmu_moment(env);

        pmu_check_iret(check, &moment.where);
    }
}

void x86_pmu_observe_halt(CPUX86State *env, PmuCheckHalt why)
{
    PmuCheck *check = x86_pmu_checker(env);

    if (check) {
        X86PMUMoment moment = x86_pmu_moment(env);

        pmu_check_halt(check, &moment.where, why);
    }
}

void x86_pmu_observe_reset(X86PMU *unit)
{
    if (unit->observer && unit->observer->check) {
        pmu_check_reset(unit->observer->check);
    }
}
