/*
 * Faults on demand: what they do, and how they come to a vCPU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A fault belongs to one vCPU.  Only the thread of that vCPU looks at it.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/main-loop.h"
#include "qom/object_interfaces.h"
#include "system/runstate.h"
#include "tcg/pmu/perfmon/perf-metrics.h"
#include "pmu-fault.h"
#include "pmu-observe.h"

/* What they do ------------------------------------------------------------- */

/* The perfmon index of @fault's counter, which is not one of PERF_METRICS. */
static unsigned x86_pmu_fault_index(const X86PMUFault *fault,
                                    const Perfmon *perfmon)
{
    return fault->counter < PERFMON_ARCH_GP
           ? fault->counter
           : fault->counter - PERFMON_ARCH_GP + perfmon->config.num_gp;
}

/* Bits of IA32_PERF_GLOBAL_STATUS that @fault is about. */
static uint64_t x86_pmu_fault_bits(const X86PMUFault *fault)
{
    if (!fault->has_counter) {
        return UINT64_MAX;
    }
    return fault->counter >= PMU_CHECK_COUNTERS
           ? PERF_GLOBAL_METRICS : pmu_check_bit(fault->counter);
}

void x86_pmu_fault_overflow(X86PMUFault *fault, CPUX86State *env)
{
    Perfmon *perfmon = &env->pmu.unit->perfmon;
    uint64_t before = perfmon->global_status;

    if (fault->counter >= PMU_CHECK_COUNTERS) {
        fault->added += perfmon_wrap_metric(perfmon, fault->counter -
                                            PMU_CHECK_COUNTERS);
    } else {
        fault->added += perfmon_wrap(perfmon,
                                     x86_pmu_fault_index(fault, perfmon));
    }
    x86_pmu_observe_overflow(env, perfmon->global_status & ~before);
}

static void x86_pmu_fault_gain(X86PMUFault *fault, CPUX86State *env,
                               unsigned index, uint64_t n)
{
    Perfmon *perfmon = &env->pmu.unit->perfmon;
    uint64_t before = perfmon->global_status;

    fault->added += n;
    perfmon_add(perfmon, index, n);
    if (perfmon->global_status & ~before) {
        x86_pmu_observe_overflow(env, perfmon->global_status & ~before);
    }
}

/*
 * All counters that count at CPL 0 gain by=, as if System Management Mode had
 * run.  Which ones gain is found first, as an overflow of one of them may
 * freeze the others.
 */
static void x86_pmu_fault_smi(X86PMUFault *fault, CPUX86State *env)
{
    const Perfmon *perfmon = &env->pmu.unit->perfmon;
    bool gains[PERFMON_MAX_GP + PERFMON_MAX_FIXED] = { false };
    unsigned count = perfmon->config.num_gp + perfmon->config.num_fixed;
    PerfmonView view;

    for (unsigned i = 0; i < count; i++) {
        perfmon_view(perfmon, i, &view);
        gains[i] = view.enabled && view.os;
    }
    for (unsigned i = 0; i < count; i++) {
        if (gains[i]) {
            x86_pmu_fault_gain(fault, env, i, fault->number[NUMBER_BY]);
        }
    }
}

/* The counter of reference cycles gains by=, if it counts. */
static void x86_pmu_fault_ref_jump(X86PMUFault *fault, CPUX86State *env)
{
    const Perfmon *perfmon = &env->pmu.unit->perfmon;
    unsigned index = x86_pmu_fault_index(fault, perfmon);
    PerfmonView view;

    perfmon_view(perfmon, index, &view);
    if (view.enabled) {
        x86_pmu_fault_gain(fault, env, index, fault->number[NUMBER_BY]);
    }
}

/*
 * The counter stops in the cycle in which its lower half carries into the upper
 * one, and the carry is lost.  Source: Intel Xeon Processor MP Specification
 * Update, O9: "Performance counter may contain incorrect value after being
 * stopped".
 */
static void x86_pmu_fault_half(X86PMUFault *fault, CPUX86State *env)
{
    Perfmon *perfmon = &env->pmu.unit->perfmon;

    fault->added -= perfmon_clear_half(perfmon,
                                       x86_pmu_fault_index(fault, perfmon));
}

/* Hold the counters of all faults of kind still that have fired. */
static void x86_pmu_fault_hold(X86PMU *unit)
{
    uint64_t held = 0;

    for (unsigned i = 0; i < unit->faults->len; i++) {
        const X86PMUFault *fault = g_ptr_array_index(unit->faults, i);

        if (fault->kind == FAULT_STILL && fault->fired) {
            held |= x86_pmu_fault_bits(fault);
        }
    }
    perfmon_hold(&unit->perfmon, held);
}

/*
 * Let @fault fire.  The caller has brought counters up to date, and will
 * deliver an interrupt.
 */
static void x86_pmu_fault_fire(X86PMUFault *fault, CPUX86State *env)
{
    X86PMU *unit = env->pmu.unit;

    x86_pmu_fault_note(fault, env);
    switch (fault->kind) {
    case FAULT_OVERFLOW:
        x86_pmu_fault_overflow(fault, env);
        break;
    case FAULT_SPURIOUS:
        unit->fault_asked |= FAULT_ASKS_PMI;
        break;
    case FAULT_ONE_MORE:
        x86_pmu_fault_gain(fault, env,
                           x86_pmu_fault_index(fault, &unit->perfmon), 1);
        break;
    case FAULT_SMI:
        x86_pmu_fault_smi(fault, env);
        break;
    case FAULT_REF_JUMP:
        x86_pmu_fault_ref_jump(fault, env);
        break;
    case FAULT_STILL:
        x86_pmu_fault_hold(unit);
        break;
    case FAULT_HALF:
        x86_pmu_fault_half(fault, env);
        break;
    case FAULT_STOP:
        unit->fault_asked |= FAULT_ASKS_STOP;
        break;
    case FAULT_INIT:
        unit->fault_asked |= FAULT_ASKS_INIT;
        break;
    default:
        break;
    }
}

/* @fault has waited for all its instructions.  If no access is needed, fire. */
static void x86_pmu_fault_count(X86PMUFault *fault, CPUX86State *env)
{
    if (!fault->by_count) {
        return;
    }
    if (x86_pmu_fault_is_here(fault, env) && x86_pmu_fault_is_due(fault)) {
        x86_pmu_fault_fire(fault, env);
    }
    x86_pmu_fault_wait_next(fault);
}

void x86_pmu_faults_resume(CPUX86State *env)
{
    if (env->pmu.unit->faults) {
        x86_pmu_fault_hold(env->pmu.unit);
    }
}

bool x86_pmu_faults_act(CPUX86State *env)
{
    unsigned asked = env->pmu.unit->fault_asked;
    bool locked = bql_locked();

    env->pmu.unit->fault_asked = 0;
    if (!locked) {
        bql_lock();
    }
    if (asked & FAULT_ASKS_INIT) {
        cpu_interrupt(env_cpu(env), CPU_INTERRUPT_INIT);
    }
    if (asked & FAULT_ASKS_STOP) {
        vm_stop(RUN_STATE_PAUSED);
    }
    if (!locked) {
        bql_unlock();
    }
    return asked & FAULT_ASKS_PMI;
}

void x86_pmu_faults_retire(CPUX86State *env, uint64_t n)
{
    X86PMU *unit = env->pmu.unit;

    x86_pmu_fault_release(unit, n);
    for (unsigned i = 0; i < unit->faults->len; i++) {
        X86PMUFault *fault = g_ptr_array_index(unit->faults, i);

        if (fault->left) {
            fault->left -= MIN(fault->left, n);
            if (!fault->left) {
                x86_pmu_fault_count(fault, env);
            }
        }
    }
}

void x86_pmu_faults_bound(const X86PMU *unit, PerfmonDistance *slack)
{
    uint64_t left = unit->fault_held ?: UINT64_MAX;

    for (unsigned i = 0; i < unit->faults->len; i++) {
        const X86PMUFault *fault = g_ptr_array_index(unit->faults, i);

        left = MIN(left, fault->left ?: UINT64_MAX);
    }
    slack->instructions = MIN(slack->instructions, left);
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        slack->instructions_level[level] =
            MIN(slack->instructions_level[level], left);
    }
}

X86PMUFaultAction x86_pmu_fault_access(CPUX86State *env, PmuCheckAccess how,
                                       uint32_t msr)
{
    X86PMU *unit = env->pmu.unit;
    X86PMUFaultAction action = X86_PMU_FAULT_NONE;

    unit->fault_before = unit->fault_msr;
    unit->fault_msr = msr;
    for (unsigned i = 0; unit->faults && i < unit->faults->len; i++) {
        X86PMUFault *fault = g_ptr_array_index(unit->faults, i);

        if (fault->kind == FAULT_GP &&
            x86_pmu_fault_is_access(fault, env, how, msr) &&
            x86_pmu_fault_is_due(fault)) {
            x86_pmu_fault_note(fault, env);
            action = fault->action;
        }
    }
    return action;
}

/* Does WRMSR of @value to @msr stop the counter of @fault? */
static bool x86_pmu_fault_is_stop(const X86PMUFault *fault,
                                  const Perfmon *perfmon, uint32_t msr,
                                  uint64_t value)
{
    PmuControls controls = pmu_controls(perfmon);
    uint64_t before = pmu_controls_counting(&controls);

    pmu_controls_write(&controls, msr, value);
    return before & ~pmu_controls_counting(&controls) &
           x86_pmu_fault_bits(fault);
}

/* Is WRMSR of @value to @msr one at which a fault of this kind can fire? */
static bool x86_pmu_fault_is_write(const X86PMUFault *fault,
                                   const Perfmon *perfmon, uint32_t msr,
                                   uint64_t value)
{
    switch (fault->kind) {
    case FAULT_STUCK:
        return value & perfmon->global_status & x86_pmu_fault_bits(fault);
    case FAULT_ONE_MORE:
    case FAULT_HALF:
        return x86_pmu_fault_is_stop(fault, perfmon, msr, value);
    default:
        return fault->time == FAULT_WHEN_WRITTEN && fault->msr;
    }
}

uint64_t x86_pmu_fault_write(CPUX86State *env, uint32_t msr, uint64_t value)
{
    X86PMU *unit = env->pmu.unit;
    uint64_t written = value;

    for (unsigned i = 0; unit->faults && i < unit->faults->len; i++) {
        X86PMUFault *fault = g_ptr_array_index(unit->faults, i);

        if (x86_pmu_fault_is_access(fault, env, PMU_CHECK_WRMSR, msr) &&
            x86_pmu_fault_is_write(fault, &unit->perfmon, msr, value) &&
            x86_pmu_fault_is_due(fault)) {
            x86_pmu_fault_fire(fault, env);
            if (fault->kind == FAULT_STUCK) {
                written &= ~x86_pmu_fault_bits(fault);
            }
        }
    }
    return written;
}

/* @fault fires at a read of @value.  Returns what it makes of the value. */
static uint64_t x86_pmu_fault_change(X86PMUFault *fault, const X86PMU *unit,
                                     uint64_t value)
{
    switch (fault->kind) {
    case FAULT_CAPS:
        return value ^ fault->number[NUMBER_BITS];
    case FAULT_METRICS_NOISE:
        /* 0: fixed counter 3 is 0, and there are no fractions to disturb. */
        return value ? pmu_metrics_disturb(value,
                                           unit->perfmon.config.num_metrics,
                                           fault->number[NUMBER_BY],
                                           &fault->random) : 0;
    default:
        return value;
    }
}

uint64_t x86_pmu_fault_read(CPUX86State *env, PmuCheckAccess how,
                            uint32_t msr, uint64_t value)
{
    X86PMU *unit = env->pmu.unit;

    for (unsigned i = 0; unit->faults && i < unit->faults->len; i++) {
        X86PMUFault *fault = g_ptr_array_index(unit->faults, i);

        if (fault->time == FAULT_CHANGES_READ &&
            x86_pmu_fault_is_access(fault, env, how, msr) &&
            x86_pmu_fault_is_due(fault)) {
            x86_pmu_fault_note(fault, env);
            value = x86_pmu_fault_change(fault, unit, value);
        }
    }
    return value;
}

/* How they come to a vCPU -------------------------------------------------- */

static void x86_pmu_fault_add(X86PMUFault *fault, X86PMU *unit)
{
    if (!unit->faults) {
        unit->faults = g_ptr_array_new();
    }
    g_ptr_array_add(unit->faults, fault);
    fault->unit = unit;
    /* Another vCPU may have had it, which was unplugged. */
    fault->seen = fault->fired = fault->clock = fault->rip = 0;
    fault->added = 0;
    x86_pmu_fault_wait_first(fault);
}

static void x86_pmu_fault_remove(X86PMUFault *fault)
{
    g_ptr_array_remove(fault->unit->faults, fault);
    x86_pmu_fault_hold(fault->unit);
    fault->unit = NULL;
}

/* Runs on the vCPU's thread, between two blocks, as the next function does. */
static void x86_pmu_fault_add_on_cpu(CPUState *cs, run_on_cpu_data data)
{
    CPUX86State *env = cpu_env(cs);
    X86PMUFault *fault = data.host_ptr;

    x86_pmu_sync(env, 0);
    x86_pmu_fault_add(fault, env->pmu.unit);
    if (fault->at_once) {
        x86_pmu_fault_fire(fault, env);
        x86_pmu_deliver(env);
    }
    x86_pmu_arm(env, 0, 0);
}

static void x86_pmu_fault_remove_on_cpu(CPUState *cs, run_on_cpu_data data)
{
    CPUX86State *env = cpu_env(cs);
    X86PMUFault *fault = data.host_ptr;

    if (fault->unit) {
        x86_pmu_sync(env, 0);
        x86_pmu_fault_remove(fault);
        x86_pmu_arm(env, 0, 0);
    }
}

/* Is @fault for @cs, by cpu=?  @cs need not be in the list of vCPUs yet. */
static bool x86_pmu_fault_is_for(const X86PMUFault *fault, const CPUState *cs)
{
    return cs->cpu_index == (fault->number[NUMBER_CPU] == NOT_GIVEN
                             ? 0 : fault->number[NUMBER_CPU]);
}

CPUState *x86_pmu_fault_cpu(const X86PMUFault *fault)
{
    CPUState *cs;

    CPU_FOREACH(cs) {
        if (x86_pmu_fault_is_for(fault, cs) && x86_pmu_can_be_asked(cs)) {
            return cs;
        }
    }
    return NULL;
}

/* Does @unit have the counter that @fault is about, if any? */
static bool x86_pmu_fault_has_counter(const X86PMUFault *fault,
                                      const PerfmonConfig *config)
{
    unsigned counter = fault->counter;

    return !fault->has_counter || counter < config->num_gp ||
           (counter >= PERFMON_ARCH_GP && counter < PMU_CHECK_COUNTERS &&
            counter - PERFMON_ARCH_GP < config->num_fixed) ||
           (counter >= PMU_CHECK_COUNTERS &&
            counter - PMU_CHECK_COUNTERS < config->num_metrics);
}

/* Can software make the accesses of @fault, if any? */
static bool x86_pmu_fault_has_msrs(const X86PMUFault *fault,
                                   const Perfmon *perfmon, Error **errp)
{
    const uint32_t msrs[] = { fault->before, fault->msr };
    uint64_t value;

    for (int i = 0; i < ARRAY_SIZE(msrs); i++) {
        if (msrs[i] && perfmon_rdmsr(perfmon, msrs[i], &value) != PERFMON_OK) {
            error_setg(errp, "its vCPU's PMU has no MSR 0x%x: access and "
                       "window must be MSRs of the PMU", msrs[i]);
            return false;
        }
    }
    if (fault->msr && !fault->read &&
        perfmon_wrmsr_check(perfmon, fault->msr, 0) != PERFMON_OK) {
        error_setg(errp, "MSR 0x%x is read-only: a fault at writes needs "
                   "access or window of one that can be written", fault->msr);
        return false;
    }
    return true;
}

bool x86_pmu_fault_fits(const X86PMUFault *fault, const X86PMU *unit,
                        Error **errp)
{
    const PerfmonConfig *config = &unit->perfmon.config;

    if (config->map != PERFMON_MAP_ARCHITECTURAL || config->version < 2) {
        error_setg(errp, "its vCPU has no architectural performance "
                   "monitoring of version 2 or later");
        return false;
    }
    if (unit->faults && unit->faults->len >= X86_PMU_FAULTS) {
        error_setg(errp, "its vCPU has %d faults already, and no room for "
                   "more", X86_PMU_FAULTS);
        return false;
    }
    if (fault->kind == FAULT_METRICS_NOISE && !config->num_metrics) {
        error_setg(errp, "its vCPU has no PERF_METRICS");
        return false;
    }
    if (!x86_pmu_fault_has_counter(fault, config)) {
        error_setg(errp, "its vCPU has no such counter");
        return false;
    }
    return x86_pmu_fault_has_msrs(fault, &unit->perfmon, errp);
}

static int x86_pmu_fault_attach_child(Object *child, void *opaque)
{
    X86PMU *unit = opaque;
    X86PMUFault *fault = (X86PMUFault *)
        object_dynamic_cast(child, TYPE_PMU_FAULT);

    if (fault && !fault->unit &&
        x86_pmu_fault_is_for(fault, CPU(unit->cpu)) &&
        x86_pmu_fault_fits(fault, unit, NULL)) {
        x86_pmu_fault_add(fault, unit);
    }
    return 0;
}

void x86_pmu_faults_attach(X86PMU *unit)
{
    object_child_foreach(object_get_objects_root(),
                         x86_pmu_fault_attach_child, unit);
}

void x86_pmu_faults_detach(X86PMU *unit)
{
    while (unit->faults && unit->faults->len) {
        x86_pmu_fault_remove(g_ptr_array_index(unit->faults, 0));
    }
    g_clear_pointer(&unit->faults, g_ptr_array_unref);
    g_clear_pointer(&unit->migrated.faults, g_free);
}

void x86_pmu_fault_start(X86PMUFault *fault, CPUState *cs)
{
    x86_pmu_run_on_cpu(cs, x86_pmu_fault_add_on_cpu, fault);
}

void x86_pmu_fault_stop(X86PMUFault *fault)
{
    if (fault->unit && x86_pmu_can_be_asked(CPU(fault->unit->cpu))) {
        x86_pmu_run_on_cpu(CPU(fault->unit->cpu), x86_pmu_fault_remove_on_cpu,
                           fault);
    } else if (fault->unit) {
        x86_pmu_fault_remove(fault);
    }
}
