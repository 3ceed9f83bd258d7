/*
 * Virtual time by a timing model of the CPUs: -icount shift=model
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Each vCPU has its own time, which grows by the time that its model says it
 * ran.  Virtual time is the latest of these times, plus what idle jumps added.
 *
 * An update brings the clock up to date.  Updates are where the instruction
 * stream says so, and nowhere else: two runs of one machine have them at the
 * same places, whatever the host does.  A check asks the model only for an
 * estimate of how far the vCPU is, which takes much less time, and finds that
 * no update is needed yet.  Checks are planned as updates are.  An interval is
 * what runs from one update or check to the next.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/option.h"
#include "qemu/seqlock.h"
#include "qemu/timer.h"
#include "system/cpu-timers.h"
#include "system/cpu-timers-internal.h"
#include "system/replay.h"
#include "system/runstate.h"
#include "exec/cpu-common.h"
#include "icount-model-internal.h"
#include "icount-model-plan.h"
#include "tcg-accel-ops.h"

/* Instructions after an update from which on a check does not suffice. */
#define CHECKS_MOST     (1 << 18)

/*
 * Most time, in ns, that a vCPU can have run since its last update in state
 * that is loaded; more is refused.  An interval hardly takes longer.
 */
#define UNACCOUNTED_MOST NANOSECONDS_PER_SECOND

static struct {
    bool enabled;
    bool may_thread;            /* no record or replay: threads are possible */
    bool sleeps;                /* idle time passes at the host's pace */
    GHashTable *vcpus;          /* IcountModelVCPU by CPUState; only startup
                                   adds to it */
} model;

bool icount_model_enabled(void)
{
    return model.enabled;
}

bool icount_model_configure(QemuOpts *opts, const char **option, Error **errp)
{
    if (g_strcmp0(*option, "model")) {
        return true;
    }
    if (qemu_opt_get_bool(opts, "align", false)) {
        error_setg(errp, "-icount shift=model and align=on are incompatible: "
                   "modelled time does not follow the host's");
        return false;
    }
    if (qemu_opt_get(opts, "rr") && !qemu_opt_get_bool(opts, "sleep", true)) {
        error_setg(errp, "-icount shift=model and rr=%s need sleep=on: nothing "
                   "comes from outside while vCPUs do not sleep",
                   qemu_opt_get(opts, "rr"));
        return false;
    }
    model.enabled = true;
    model.may_thread = !qemu_opt_get(opts, "rr");
    model.sleeps = qemu_opt_get_bool(opts, "sleep", !model.may_thread);
    model.vcpus = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    *option = "0";
    return true;
}

/* With rr=, input from outside comes only while vCPUs sleep. */
bool icount_model_sleeps(QemuOpts *opts)
{
    return !model.enabled || qemu_opt_get(opts, "rr");
}

bool icount_model_sleeps_when_idle(void)
{
    return model.sleeps;
}

bool icount_model_may_thread(void)
{
    return model.enabled && model.may_thread;
}

IcountModelVCPU *icount_model_vcpu(CPUState *cpu)
{
    return g_hash_table_lookup(model.vcpus, cpu);
}

void icount_model_add(CPUState *cpu, IcountModelRunTime *run_time)
{
    IcountModelVCPU *vcpu = g_new0(IcountModelVCPU, 1);

    vcpu->run_time = run_time;
    vcpu->halted = true;
    g_hash_table_insert(model.vcpus, cpu, vcpu);
}

void icount_model_remove(CPUState *cpu)
{
    /* The entry in @vcpus stays, as threads look it up without a lock. */
    icount_model_turns_forget(cpu);
}

/*
 * Virtual time now, in ns, as shift is 0.  The caller holds vm_clock_lock, or
 * reads in its seqlock.
 */
static int64_t model_now_locked(void)
{
    return qatomic_read_i64(&timers_state.qemu_icount) +
           qatomic_read_i64(&timers_state.qemu_icount_bias);
}

int64_t icount_model_now(void)
{
    unsigned start;
    int64_t now;

    do {
        start = seqlock_read_begin(&timers_state.vm_clock_seqlock);
        now = model_now_locked();
    } while (seqlock_read_retry(&timers_state.vm_clock_seqlock, start));
    return now;
}

int64_t icount_model_ran(CPUState *cpu)
{
    IcountModelVCPU *vcpu = icount_model_vcpu(cpu);
    /* What reads of the clock have published since the last update. */
    int64_t published = MIN(vcpu->estimated, icount_model_now()) - vcpu->local;

    return vcpu->ran + MAX(published, 0);
}

bool icount_model_loaded(CPUState *cpu, int64_t ran)
{
    IcountModelVCPU *vcpu = icount_model_vcpu(cpu);
    int64_t run_time = vcpu->run_time(cpu, false);

    if (ran < 0 || ran - run_time > UNACCOUNTED_MOST ||
        run_time - ran > UNACCOUNTED_MOST) {
        vcpu->ran = run_time;
        return false;
    }
    /* What was published was an estimate, which may have been too much. */
    vcpu->ran = MIN(ran, run_time);
    /* When the vCPU comes to run, its time becomes the present one. */
    vcpu->local = 0;
    vcpu->estimated = 0;
    vcpu->halted = true;
    vcpu->next_stop = vcpu->icount;
    vcpu->updated_icount = vcpu->icount;
    vcpu->read_icount = -1;
    vcpu->must_update = false;
    vcpu->update_without_insn = false;
    vcpu->insn_time = 0;
    icount_model_turns_reset();
    return true;
}

/* Move virtual time by @ns.  With vm_clock_lock. */
static void model_move(int64_t ns)
{
    qatomic_set_i64(&timers_state.qemu_icount_bias,
                    timers_state.qemu_icount_bias + ns);
}

/* Note that @insns instructions took @ns. */
static void model_note_speed(IcountModelVCPU *vcpu, int64_t insns, int64_t ns)
{
    if (insns >= INTERVAL_LEAST) {
        vcpu->insn_time = ns * 1024 / insns;
    }
}

/*
 * Update the time of @cpu, which has executed @executed instructions that
 * vcpu->icount does not include yet.  There is one update at most at one place,
 * unless icount_model_request_update() asked for another.  Else runs would
 * differ: settling estimates again changes them, and how often this is called
 * at one place depends on the host.
 */
static void model_update(CPUState *cpu, IcountModelVCPU *vcpu, int64_t executed)
{
    int64_t icount = vcpu->icount + executed;
    int64_t insns = icount - vcpu->updated_icount, ran;

    vcpu->must_update = false;
    if (!insns && !vcpu->update_without_insn) {
        return;
    }
    vcpu->update_without_insn = false;
    ran = vcpu->run_time(cpu, false);
    model_note_speed(vcpu, insns, ran - vcpu->ran);
    vcpu->updated_icount = icount;
    vcpu->read_icount = icount;
    vcpu->local += ran - vcpu->ran;
    qatomic_set_i64(&vcpu->estimated, vcpu->local);
    vcpu->ran = ran;
}

/*
 * Set vcpu->estimated to the time of @cpu after @icount of its instructions.
 * False if that had been done at this place.
 */
static bool model_read(CPUState *cpu, IcountModelVCPU *vcpu, int64_t icount)
{
    if (icount == vcpu->read_icount) {
        return false;
    }
    vcpu->read_icount = icount;
    qatomic_set_i64(&vcpu->estimated,
                    vcpu->local + vcpu->run_time(cpu, true) - vcpu->ran);
    return true;
}

/*
 * Check how far @cpu is after @icount of its instructions.  False if it needs
 * an update.
 */
static bool model_check(CPUState *cpu, IcountModelVCPU *vcpu, int64_t icount)
{
    int64_t insns = icount - vcpu->updated_icount;
    int64_t estimate, event;

    if (vcpu->must_update || insns >= CHECKS_MOST || !insns) {
        return false;
    }
    model_read(cpu, vcpu, icount);
    estimate = vcpu->estimated - vcpu->local;
    event = MIN(vcpu->deadline, vcpu->turn_end);
    if (event - vcpu->estimated <= estimate) {
        return false;
    }
    model_note_speed(vcpu, insns, estimate);
    return true;
}

/*
 * @cpu is out of its execution loop, and has executed @executed instructions
 * that vcpu->icount does not include yet.  Update or check if that is due.
 * Returns whether it was an update.
 */
static bool model_catch_up(CPUState *cpu, IcountModelVCPU *vcpu,
                           int64_t executed)
{
    int64_t icount = vcpu->icount + executed;

    if (cpu->halted && !vcpu->halted) {
        /* It was not HLT that halted it, or it woke for nothing. */
        vcpu->next_stop = MIN(vcpu->next_stop, icount);
        vcpu->must_update = true;
    }
    if (icount < vcpu->next_stop || model_check(cpu, vcpu, icount)) {
        return false;
    }
    model_update(cpu, vcpu, executed);
    return true;
}

/* Move virtual time forward to @ns if it is not there.  With vm_clock_lock. */
static void model_publish(int64_t ns)
{
    int64_t now = model_now_locked();

    if (ns > now) {
        model_move(ns - now);
    }
}

/* Instructions that @cpu executed since icount_update(). */
static int64_t model_executed(const CPUState *cpu)
{
    return cpu->icount_budget -
           (cpu->neg.icount_decr.u16.low + cpu->icount_extra);
}

/*
 * Account what @cpu executed, and publish its time.  icount_update() locks, so
 * that other threads see qemu_icount and qemu_icount_bias change together.
 */
static void model_account(CPUState *cpu, IcountModelVCPU *vcpu)
{
    vcpu->publishing = true;
    icount_update(cpu);
    vcpu->publishing = false;
}

void icount_model_request_update(CPUState *cpu, unsigned ahead)
{
    IcountModelVCPU *vcpu = icount_model_vcpu(cpu);

    vcpu->next_stop = MIN(vcpu->next_stop,
                          vcpu->icount + model_executed(cpu) - ahead);
    vcpu->must_update = true;
    /*
     * Only without rr=: a replay that has an event first delivers it before the
     * vCPU has its time behind an idle jump.
     */
    vcpu->update_without_insn = replay_mode == REPLAY_MODE_NONE;
    cpu_exit(cpu);
}

void icount_model_read(void)
{
    CPUState *cpu = current_cpu;
    IcountModelVCPU *vcpu;
    int64_t icount;

    if (!model.enabled || !cpu || !cpu->running) {
        return;
    }
    vcpu = icount_model_vcpu(cpu);
    icount = vcpu->icount + model_executed(cpu);
    if (!model_read(cpu, vcpu, icount)) {
        return;
    }
    if (vcpu->estimated >= vcpu->deadline) {
        /* An event is due: update right behind this instruction. */
        icount_model_request_update(cpu, 0);
    }
    model_account(cpu, vcpu);
}

void icount_model_account(CPUState *cpu, void (*stock)(CPUState *cpu))
{
    if (!model.enabled) {
        stock(cpu);
    } else if (model_executed(cpu)) {
        /* This locks, so that a concurrent reader of the clock reads again. */
        icount_update(cpu);
    }
}

void icount_model_halt(CPUState *cpu)
{
    IcountModelVCPU *vcpu = icount_model_vcpu(cpu);
    int64_t executed = model_executed(cpu);

    model_update(cpu, vcpu, executed);
    vcpu->next_stop = MIN(vcpu->next_stop, vcpu->icount + executed);
    qatomic_set_i64(&vcpu->deadline, INT64_MAX);
    model_account(cpu, vcpu);
    qatomic_store_release(&vcpu->halted, true);
}

void icount_model_executed(CPUState *cpu, int64_t executed)
{
    IcountModelVCPU *vcpu;

    if (!model.enabled) {
        return;
    }
    vcpu = icount_model_vcpu(cpu);
    if (executed) {
        model_move(-executed);
        vcpu->icount += executed;
    }
    if (cpu->running) {
        if (vcpu->publishing) {
            /* The vCPU runs on, so time must stay before the next event. */
            model_publish(MIN(vcpu->estimated, vcpu->deadline - 1));
        }
        return;
    }
    if (model_catch_up(cpu, vcpu, 0)) {
        model_publish(vcpu->local);
    }
    if (cpu->halted) {
        qatomic_store_release(&vcpu->halted, true);
    }
}

void icount_model_catch_up(CPUState *cpu)
{
    model_catch_up(cpu, icount_model_vcpu(cpu), model_executed(cpu));
}

void icount_model_stop(CPUState *cpu)
{
    IcountModelVCPU *vcpu = icount_model_vcpu(cpu);

    if (vcpu->halted) {
        return;
    }
    vcpu->next_stop = MIN(vcpu->next_stop, vcpu->icount);
    vcpu->must_update = true;
    icount_model_catch_up(cpu);
    icount_update(cpu);
    qatomic_store_release(&vcpu->halted, true);
}

/* Plan the next update or check: for an event at @event, and a turn to @end. */
static void model_plan(IcountModelVCPU *vcpu, int64_t event, int64_t end)
{
    const IcountModelPlan plan = {
        .icount = vcpu->icount,
        .next_stop = vcpu->next_stop,
        .timed_icount = MAX(vcpu->read_icount, vcpu->updated_icount),
        .time = MAX(vcpu->local, vcpu->estimated),
        .insn_time = vcpu->insn_time,
    };

    vcpu->next_stop = icount_model_plan(&plan, event, end);
}

/*
 * The attributes of timers that decide where updates are.  A replay may lack
 * timers by which something comes from outside.
 */
static int model_timers(void)
{
    return replay_mode == REPLAY_MODE_NONE ? QEMU_TIMER_ATTR_ALL
                                           : ~QEMU_TIMER_ATTR_EXTERNAL;
}

/*
 * May @cpu execute, as far as other vCPUs are concerned?  Sets @pause to its
 * time at which it must ask for them again, and vcpu->turn_end to the end of
 * its turn if vCPUs take turns.  INT64_MAX: never.
 */
static bool model_may_execute(CPUState *cpu, IcountModelVCPU *vcpu,
                              int64_t *pause)
{
    vcpu->turn_end = INT64_MAX;
    *pause = INT64_MAX;
    if (qemu_tcg_mttcg_enabled()) {
        return icount_model_may_run(cpu, pause);
    }
    if (g_hash_table_size(model.vcpus) > 1) {
        bool own = icount_model_is_turn(cpu, pause);

        vcpu->turn_end = *pause;
        return own;
    }
    if (vcpu->halted) {
        vcpu->local = MAX(vcpu->local, icount_model_now());
        vcpu->halted = false;
    }
    return true;
}

/*
 * Returns the time of the next timer, in ns, or INT64_MAX if there is none.
 * Sets @due if it is due.
 */
static int64_t model_next_event(bool *due)
{
    int64_t now, left;

    do {
        now = icount_model_now();
        left = qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, model_timers());
    } while (icount_model_now() != now);
    *due = !left;
    return left < 0 ? INT64_MAX : now + left;
}

/*
 * Has another thread armed a timer that @vcpu has not planned for?  It arms the
 * timer first and reads vcpu->deadline then (icount_model_replan()); @vcpu has
 * set its deadline first and looks for timers now.  So one of them sees the
 * other.
 */
static bool model_missed_event(const IcountModelVCPU *vcpu)
{
    bool due;

    smp_mb();
    return model_next_event(&due) < vcpu->deadline;
}

/*
 * A timer is due before @vcpu executes.  Timers run before a turn is given, as
 * they may wake a vCPU.
 */
static void model_timer_is_due(IcountModelVCPU *vcpu)
{
    if (replay_mode == REPLAY_MODE_PLAY) {
        warn_report_once("-icount shift=model: a timer is due at instruction %"
                         PRId64 ", which is not in the log: the replay waits "
                         "for ever", vcpu->icount);
    }
    vcpu->skips = g_hash_table_size(model.vcpus) > 1;
}

int64_t icount_model_budget(CPUState *cpu, int64_t budget)
{
    IcountModelVCPU *vcpu;
    int64_t left, event, pause;
    bool due;

    if (!model.enabled) {
        return budget;
    }
    vcpu = icount_model_vcpu(cpu);
    if (!vcpu) {
        error_report("-icount shift=model: there is no timing model of CPU "
                     "type %s", object_get_typename(OBJECT(cpu)));
        exit(1);
    }
    qatomic_set(&vcpu->waits, false);
    vcpu->skips = false;
    if (replay_mode == REPLAY_MODE_PLAY && !budget) {
        /* The log has something else first, which may move the clock. */
        return 0;
    }
    do {
        event = model_next_event(&due);
        if (due) {
            model_timer_is_due(vcpu);
            return 0;
        }
        if (qemu_tcg_mttcg_enabled()) {
            icount_model_replan(cpu, event);
        }
        vcpu->skips = !model_may_execute(cpu, vcpu, &pause);
        qatomic_set(&vcpu->waits, vcpu->skips);
        if (vcpu->skips) {
            return 0;
        }
        /*
         * Plan again where an update is due, or the next event is nearer than
         * planned.  If it is farther away the plan stays, as nothing ends the
         * execution loop when an event is put off.
         */
        if (vcpu->icount >= vcpu->next_stop || event < vcpu->deadline) {
            qatomic_set_i64(&vcpu->deadline, event);
            model_plan(vcpu, event, pause);
        }
    } while (qemu_tcg_mttcg_enabled() && model_missed_event(vcpu));
    left = vcpu->next_stop - vcpu->icount;
    /* In a replay, @budget ends where the log has something else first. */
    return replay_mode == REPLAY_MODE_PLAY ? MIN(left, budget) : left;
}

/*
 * A vCPU sets a request and stops itself with the BQL, and the main loop stops
 * the machine with the BQL.  How often that loop looks for idle vCPUs in
 * between depends on the host.
 *
 * This does not ask which vCPUs have stopped: GDB may keep one stopped while
 * others run, and then time jumps where those are halted.
 */
bool icount_model_stops(void)
{
    return model.enabled && qemu_stop_requested();
}

bool icount_model_waits(CPUState *cpu)
{
    return model.enabled && icount_model_vcpu(cpu)->waits;
}

int icount_model_exec(CPUState *cpu)
{
    return model.enabled && icount_model_vcpu(cpu)->skips
           ? EXCP_INTERRUPT : tcg_cpu_exec(cpu);
}
