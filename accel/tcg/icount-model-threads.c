/*
 * Virtual time by a timing model of the CPUs: vCPUs on threads of their own
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Slack simulation (Chen, Annavaram and Dubois, "SlackSim: a platform for
 * parallel simulations of CMPs on CMPs", SIGARCH Computer Architecture News 37,
 * 2009).  A vCPU runs while its own time is at most a slack ahead of the time
 * of each other vCPU that runs.  Else it waits for the others.  No vCPU waits
 * for one that is halted.
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/lockable.h"
#include "system/cpu-timers.h"
#include "system/replay.h"
#include "exec/cpu-common.h"
#include "icount-model-internal.h"
#include "tcg-accel-ops.h"
#include "tcg-accel-ops-icount.h"

/* How far a vCPU may be ahead of the others, in ns. */
#define SLACK           10000

/*
 * Time, in ns, after which a vCPU asks how far the others are, and tells them
 * how far it is.
 */
#define PAUSE           (SLACK / 4)

/* The own time of a vCPU, in ns. */
static int64_t model_time(const IcountModelVCPU *vcpu)
{
    return qatomic_read_i64(&vcpu->estimated);
}

/* Does @cpu execute, or wait to?  Else its time means nothing. */
static bool model_runs(CPUState *cpu, const IcountModelVCPU *vcpu)
{
    return vcpu && !qatomic_load_acquire(&vcpu->halted) &&
           icount_model_is_awake(cpu);
}

/*
 * The earliest time of the vCPUs other than @cpu that run; INT64_MAX: none
 * runs.
 */
static int64_t model_earliest_time(CPUState *cpu)
{
    int64_t time = INT64_MAX;
    CPUState *other;

    /* CPUs that are unplugged leave the list with this lock held. */
    QEMU_LOCK_GUARD(&qemu_cpu_list_lock);
    CPU_FOREACH(other) {
        IcountModelVCPU *vcpu = icount_model_vcpu(other);

        if (other != cpu && model_runs(other, vcpu)) {
            time = MIN(time, model_time(vcpu));
        }
    }
    return time;
}

static bool model_is_ahead(const IcountModelVCPU *vcpu, int64_t others)
{
    return others < INT64_MAX && model_time(vcpu) - others > SLACK;
}

/*
 * A vCPU that was halted goes on at time @ns: another vCPU has woken it, or
 * time has jumped.  A thread that sees that it runs also sees its new time.
 */
static void model_start(IcountModelVCPU *vcpu, int64_t ns)
{
    vcpu->local = MAX(vcpu->local, ns);
    qatomic_set_i64(&vcpu->estimated, MAX(vcpu->estimated, vcpu->local));
    qatomic_store_release(&vcpu->halted, false);
}

bool icount_model_may_run(CPUState *cpu, int64_t *pause)
{
    IcountModelVCPU *vcpu = icount_model_vcpu(cpu);
    int64_t others;

    if (!icount_model_is_awake(cpu)) {
        return false;
    }
    others = model_earliest_time(cpu);
    if (vcpu->halted) {
        model_start(vcpu, others < INT64_MAX ? others : icount_model_now());
    }
    *pause = model_time(vcpu) + (others < INT64_MAX ? PAUSE : SLACK);
    return !model_is_ahead(vcpu, others);
}

void icount_model_replan(CPUState *cpu, int64_t ns)
{
    CPUState *other;

    /* Pairs with that of model_missed_event(). */
    smp_mb();
    QEMU_LOCK_GUARD(&qemu_cpu_list_lock);
    CPU_FOREACH(other) {
        IcountModelVCPU *vcpu = icount_model_vcpu(other);

        if (other != cpu && model_runs(other, vcpu) &&
            !qatomic_read(&vcpu->waits) &&
            qatomic_read_i64(&vcpu->deadline) > ns) {
            cpu_exit(other);
        }
    }
}

/* Do what rr_cpu_thread_fn() does before it lets vCPUs run. */
static void model_account_idle_time(void)
{
    if (icount_model_sleeps_when_idle()) {
        BQL_LOCK_GUARD();
        icount_account_warp_timer();
    }
}

int icount_model_thread_exec(CPUState *cpu)
{
    int reason;

    if (!icount_model_enabled()) {
        return tcg_cpu_exec(cpu);
    }
    model_account_idle_time();
    icount_prepare_for_run(cpu, INT64_MAX);
    reason = icount_model_exec(cpu);
    icount_model_catch_up(cpu);
    icount_process_data(cpu);
    return reason;
}

void icount_model_step_atomic(CPUState *cpu)
{
    if (!icount_model_enabled()) {
        cpu_exec_step_atomic(cpu);
        return;
    }
    replay_mutex_lock();
    cpu->icount_budget = 1;
    cpu->neg.icount_decr.u16.low = 1;
    cpu_exec_step_atomic(cpu);
    icount_model_catch_up(cpu);
    icount_process_data(cpu);
}

/* Wake the vCPUs that need not wait for @cpu any more. */
static void model_release(CPUState *cpu)
{
    CPUState *other;

    CPU_FOREACH(other) {
        IcountModelVCPU *vcpu = icount_model_vcpu(other);

        if (other != cpu && vcpu && qatomic_read(&vcpu->waits) &&
            !model_is_ahead(vcpu, model_earliest_time(other))) {
            qemu_cond_broadcast(other->halt_cond);
        }
    }
}

/* If no vCPU runs, let time jump: icount_start_warp_timer(). */
static void model_idle(void)
{
    if (all_cpu_threads_idle() && !icount_model_stops()) {
        /* Any thread may run timers that are due, whichever vCPU is stopped. */
        icount_handle_deadline();
        qemu_notify_event();
    }
}

/* Is @cpu ahead of the others, with no other work for its thread? */
static bool model_has_to_wait(CPUState *cpu, const IcountModelVCPU *vcpu)
{
    return icount_model_is_awake(cpu) && cpu_work_list_empty(cpu) &&
           model_is_ahead(vcpu, model_earliest_time(cpu));
}

void icount_model_wait(CPUState *cpu)
{
    IcountModelVCPU *vcpu =
        icount_model_enabled() ? icount_model_vcpu(cpu) : NULL;

    if (!vcpu) {
        return;
    }
    if (!cpu_can_run(cpu)) {
        /* The others need not wait for it. */
        icount_model_stop(cpu);
    }
    model_release(cpu);
    model_idle();
    while (model_has_to_wait(cpu, vcpu)) {
        qatomic_set(&vcpu->waits, true);
        qemu_cond_wait_bql(cpu->halt_cond);
    }
}
