/*
 * Virtual time by a timing model of the CPUs: vCPUs on threads of their own
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Slack simulation (Chen, Annavaram and Dubois, "SlackSim: a platform for
 * parallel simulations of CMPs on CMPs", SIGARCH Computer Architecture News 37,
 * 2009): a vCPU runs on while its own time is no more than a slack ahead of the
 * time of each other vCPU that runs, and waits for them then.  One that is
 * halted holds nobody up.
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/rcu.h"
#include "system/cpus.h"
#include "system/replay.h"
#include "exec/cpu-common.h"
#include "icount-model-internal.h"
#include "tcg-accel-ops.h"
#include "tcg-accel-ops-icount.h"

/* How far a vCPU may be ahead of the others, in ns. */
#define SLACK           10000

/* How often it looks where they are, and tells them where it is, in ns. */
#define PAUSE           (SLACK / 4)

static int64_t model_time(const IcountModelVCPU *vcpu)
{
    return qatomic_read_i64(&vcpu->rough);
}

/* Of the others that run, the time of the last one; INT64_MAX: none does. */
static int64_t model_last_of_others(CPUState *cpu)
{
    int64_t last = INT64_MAX;
    CPUState *other;

    RCU_READ_LOCK_GUARD();
    CPU_FOREACH(other) {
        IcountModelVCPU *vcpu = icount_model_vcpu(other);

        if (other != cpu && icount_model_is_awake(other) &&
            !qatomic_read(&vcpu->halted)) {
            last = MIN(last, model_time(vcpu));
        }
    }
    return last;
}

static bool model_is_ahead(const IcountModelVCPU *vcpu, int64_t last)
{
    return last < INT64_MAX && model_time(vcpu) - last > SLACK;
}

bool icount_model_may_run(CPUState *cpu, int64_t *pause)
{
    IcountModelVCPU *vcpu = icount_model_vcpu(cpu);
    int64_t last;

    if (!icount_model_is_awake(cpu)) {
        return false;
    }
    last = model_last_of_others(cpu);
    if (vcpu->halted) {
        /* One of the others has woken it, or time has jumped. */
        icount_model_start(vcpu, last < INT64_MAX ? last : icount_model_now());
        qatomic_set_i64(&vcpu->rough, MAX(vcpu->rough, vcpu->local));
        qatomic_set(&vcpu->halted, false);
    }
    *pause = model_time(vcpu) + (last < INT64_MAX ? PAUSE : SLACK);
    return !model_is_ahead(vcpu, last);
}

void icount_model_replan(CPUState *cpu, int64_t ns)
{
    CPUState *other;

    RCU_READ_LOCK_GUARD();
    CPU_FOREACH(other) {
        IcountModelVCPU *vcpu = icount_model_vcpu(other);

        if (other != cpu && !qatomic_read(&vcpu->halted) &&
            qatomic_read_i64(&vcpu->deadline) > ns) {
            cpu_exit(other);
        }
    }
}

int icount_model_thread_exec(CPUState *cpu)
{
    int reason;

    if (!icount_model_enabled()) {
        return tcg_cpu_exec(cpu);
    }
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
    icount_process_data(cpu);
}

/* Those that need not wait any more go on. */
static void model_release(CPUState *cpu)
{
    CPUState *other;

    CPU_FOREACH(other) {
        IcountModelVCPU *vcpu = icount_model_vcpu(other);

        if (other != cpu && qatomic_read(&vcpu->waits) &&
            !model_is_ahead(vcpu, model_last_of_others(other))) {
            qemu_cond_broadcast(other->halt_cond);
        }
    }
}

/* Is there nothing else for the thread of @cpu to do? */
static bool model_has_to_wait(CPUState *cpu, const IcountModelVCPU *vcpu)
{
    return icount_model_is_awake(cpu) && cpu_work_list_empty(cpu) &&
           model_is_ahead(vcpu, model_last_of_others(cpu));
}

void icount_model_wait(CPUState *cpu)
{
    IcountModelVCPU *vcpu;

    if (!icount_model_enabled()) {
        return;
    }
    vcpu = icount_model_vcpu(cpu);
    model_release(cpu);
    if (all_cpu_threads_idle()) {
        /* Time may jump: icount_start_warp_timer(). */
        qemu_notify_event();
    }
    while (model_has_to_wait(cpu, vcpu)) {
        vcpu->waits = true;
        qemu_cond_wait_bql(cpu->halt_cond);
    }
}
