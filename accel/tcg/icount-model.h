/*
 * Virtual time by a timing model of the CPUs: -icount shift=model
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * icount supplies instruction budgets, deadlines and idle-time jumps.  The
 * target says how long instructions took.  docs/devel/pmu.rst describes the
 * design.
 */

#ifndef ACCEL_TCG_ICOUNT_MODEL_H
#define ACCEL_TCG_ICOUNT_MODEL_H

#include "qemu/option.h"

#ifdef CONFIG_USER_ONLY

static inline bool icount_model_enabled(void)
{
    return false;
}

static inline bool icount_model_may_thread(void)
{
    return false;
}

#else

/*
 * Returns for how long @cpu has run since it was made, in nanoseconds, without
 * its current instruction (the last one of its block).  Never falls.  Tells the
 * model all that @cpu executed.  With @estimate it may return an estimate,
 * which takes less of the host's time; the next call may find that this was too
 * high or too low.  Must not read a clock or take a lock: the caller may hold
 * vm_clock_lock, a spin lock.
 */
typedef int64_t IcountModelRunTime(CPUState *cpu, bool estimate);

/* Does virtual time come from the model? */
bool icount_model_enabled(void);

/*
 * If @option, the value of shift=, is "model", take virtual time from the model
 * and set @option to the shift that icount is to use instead.  Returns false
 * and sets @errp if another option in @opts contradicts that.
 */
bool icount_model_configure(QemuOpts *opts, const char **option, Error **errp);

/* Returns the default of sleep= if @opts do not set it. */
bool icount_model_sleeps(QemuOpts *opts);

/* May vCPUs run on threads of their own? */
bool icount_model_may_thread(void);

/* The target has a model of @cpu.  Called before any vCPU runs. */
void icount_model_add(CPUState *cpu, IcountModelRunTime *run_time);

/* @cpu is about to be removed.  Called with the BQL. */
void icount_model_remove(CPUState *cpu);

/*
 * Returns how much of run_time(@cpu) virtual time accounts for, in ns.  It
 * migrates with the model of @cpu.
 */
int64_t icount_model_ran(CPUState *cpu);

/*
 * The model of @cpu was loaded from a migration stream.  Virtual time accounts
 * for @ran ns of its run time.  Returns false if that cannot be.
 */
bool icount_model_loaded(CPUState *cpu, int64_t ran);

/*
 * @cpu is about to halt, and the model knows all that it executed.  From now on
 * no vCPU waits for @cpu.  Time may jump as soon as cpu->halted is set.
 */
void icount_model_halt(CPUState *cpu);

/*
 * The clock is about to be read.  The reader is an instruction, which is the
 * last one of its block, or a thread that is not a vCPU's.
 */
void icount_model_read(void);

/*
 * Account the instructions that @cpu has executed so far, without reading a
 * clock.  Without a model, @stock does it.
 */
void icount_model_account(CPUState *cpu, void (*stock)(CPUState *cpu));

/*
 * What @cpu executed took longer than its number of instructions suggests.
 * Make it leave its execution loop, and bring the clock up to date at this
 * instruction.  @ahead is the number of instructions that were taken off its
 * budget and have not executed.
 */
void icount_model_request_update(CPUState *cpu, unsigned ahead);

/*
 * @cpu has executed @executed instructions.  Called with vm_clock_lock, and may
 * call run_time() unless icount_model_catch_up() has just done so.
 */
void icount_model_executed(CPUState *cpu, int64_t executed);

/*
 * Returns how many instructions @cpu may execute before the clock must be
 * brought up to date.  Stock icount would allow @budget.  0: another vCPU is to
 * run, or a timer is due.
 */
int64_t icount_model_budget(CPUState *cpu, int64_t budget);

/* Is the budget of @cpu 0 because another vCPU is to run, and not a timer? */
bool icount_model_waits(CPUState *cpu);

/*
 * Is the machine about to stop, as for a reset, a breakpoint or a suspend?
 * Then vCPUs may be idle only because they have stopped already, and time must
 * not jump.  Without a model: never.  Called with the BQL.
 */
bool icount_model_stops(void);

/*
 * Calls tcg_cpu_exec() unless another vCPU or a timer is to run first.  With a
 * budget of 0, tcg_cpu_exec() would take interrupts although it is not the turn
 * of @cpu.
 */
int icount_model_exec(CPUState *cpu);

/*
 * For vCPU threads: calls tcg_cpu_exec(), and with a model does what icount
 * needs before and after it.  Called without the BQL.
 */
int icount_model_thread_exec(CPUState *cpu);

/* The same for cpu_exec_step_atomic(). */
void icount_model_step_atomic(CPUState *cpu);

/*
 * For vCPU threads: @cpu has left its execution loop.  Wakes the vCPUs that
 * need not wait for it any more.  If it cannot run on, brings its time up to
 * date first, as nobody waits for it then.  If all vCPUs are idle, runs timers
 * that are due and wakes the main loop, which lets time jump.  Last, waits
 * until @cpu is not too far ahead of the others.  Called with the BQL.
 */
void icount_model_wait(CPUState *cpu);

#endif /* CONFIG_USER_ONLY */

#endif
