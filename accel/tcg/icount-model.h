/*
 * Virtual time by a timing model of the CPUs: -icount shift=model
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * icount supplies budgets of instructions, deadlines and jumps of idle time;
 * the target says how long instructions took.  docs/devel/pmu.rst has the
 * design.
 */

#ifndef ACCEL_TCG_ICOUNT_MODEL_H
#define ACCEL_TCG_ICOUNT_MODEL_H

#include "qemu/option.h"

#ifdef CONFIG_USER_ONLY

static inline bool icount_model_may_thread(void)
{
    return false;
}

#else

/*
 * For how long has @cpu run since it was made, in nanoseconds, its current
 * instruction (the last one of its block) excluded?  Never falls.  Lets the
 * model know all that @cpu executed; with @roughly it may say what is found
 * sooner, which next time may turn out to have been too much or too little.
 * Must not read a clock.
 */
typedef int64_t IcountModelRunTime(CPUState *cpu, bool roughly);

/* Is virtual time that of the model? */
bool icount_model_enabled(void);

/*
 * If @option, the value of shift=, is "model": make virtual time that of the
 * model, and @option what icount is to use instead.  False and @errp set if
 * another option in @opts contradicts that.
 */
bool icount_model_configure(QemuOpts *opts, const char **option, Error **errp);

/* What sleep= is in @opts if it is not given. */
bool icount_model_sleeps(QemuOpts *opts);

/* May vCPUs run on threads of their own? */
bool icount_model_may_thread(void);

/* The target has a model of @cpu.  Before any vCPU runs. */
void icount_model_add(CPUState *cpu, IcountModelRunTime *run_time);

/* @cpu is about to go.  With the BQL. */
void icount_model_remove(CPUState *cpu);

/* How much of run_time(@cpu) time has seen, in ns: it travels with that. */
int64_t icount_model_ran(CPUState *cpu);

/*
 * The model of @cpu has another past from now on, loaded from elsewhere, of
 * which time has seen @ran ns.  False if that cannot be.
 */
bool icount_model_loaded(CPUState *cpu, int64_t ran);

/*
 * @cpu is about to halt: the model knows all that it executed.  From now on
 * others may let time jump.
 */
void icount_model_halt(CPUState *cpu);

/*
 * The clock is about to be read, by an instruction that is the last one of its
 * block, or by a thread that is not a vCPU's.
 */
void icount_model_read(void);

/*
 * What @cpu executed so far is about to be counted; that reads no clock.
 * Without a model, @stock does it.
 */
void icount_model_account(CPUState *cpu, void (*stock)(CPUState *cpu));

/*
 * What @cpu executed took longer than its instructions say: make it leave its
 * execution loop, and bring the clock up to date at this instruction.  @ahead
 * of the instructions that were taken off its budget have not executed.
 */
void icount_model_look(CPUState *cpu, unsigned ahead);

/* @cpu has executed @executed instructions.  With vm_clock_lock. */
void icount_model_executed(CPUState *cpu, int64_t executed);

/*
 * How many instructions @cpu may execute before the clock must be brought up
 * to date, where stock icount says @budget; 0: another vCPU is to run, or a
 * timer is due.
 */
int64_t icount_model_budget(CPUState *cpu, int64_t budget);

/* @cpu has no budget as another one is to run: no timer need be due. */
bool icount_model_waits(CPUState *cpu);

/*
 * tcg_cpu_exec(), unless @cpu is not to execute at all as another vCPU is: with
 * its budget of 0 it would take interrupts although it is not its turn.
 */
int icount_model_exec(CPUState *cpu);

/*
 * For threads of vCPUs: tcg_cpu_exec(), and with a model what icount needs
 * around it.  Without the BQL.
 */
int icount_model_thread_exec(CPUState *cpu);

/* The same for cpu_exec_step_atomic(). */
void icount_model_step_atomic(CPUState *cpu);

/* @cpu is out of its execution loop: wait for the others.  With the BQL. */
void icount_model_wait(CPUState *cpu);

#endif /* CONFIG_USER_ONLY */

#endif
