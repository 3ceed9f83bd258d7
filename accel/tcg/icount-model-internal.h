/*
 * Virtual time by a timing model of the CPUs: declarations that its files share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef ACCEL_TCG_ICOUNT_MODEL_INTERNAL_H
#define ACCEL_TCG_ICOUNT_MODEL_INTERNAL_H

#include "qemu/atomic.h"
#include "hw/core/cpu.h"
#include "system/cpus.h"
#include "icount-model.h"

/*
 * A vCPU's time.  Only the vCPU's own thread changes it, but for
 * icount_model_loaded(), which the main thread calls while the machine is
 * stopped.  Other threads read the fields marked [o], which change atomically.
 * "Update" and "check" are defined at the top of icount-model.c.
 */
typedef struct IcountModelVCPU {
    IcountModelRunTime *run_time;
    int64_t ran;                /* run_time() at the last update, ns */
    int64_t local;              /* its own time at the last update, ns */
    aligned_int64_t estimated;  /* [o] its own time at the last update, check
                                   or read, ns */
    int64_t icount;             /* instructions that it has executed */
    int64_t next_stop;          /* icount of the next update or check */
    int64_t updated_icount;     /* icount of the last update */
    int64_t read_icount;        /* icount of the last update, check or read */
    aligned_int64_t deadline;   /* [o] the next event as of the last plan, ns */
    int64_t turn_end;           /* end of its turn as of the last plan, ns */
    int64_t insn_time;          /* recent average of an instruction, in
                                   1/1024 ns */
    bool must_update;           /* the next one must be an update, not a
                                   check */
    bool update_without_insn;   /* update even if no instruction has executed
                                   since the last update */
    bool publishing;            /* it publishes its time from the execution
                                   loop */
    bool halted;                /* [o] it was halted when last seen */
    bool waits;                 /* [o] it does not execute: it waits for other
                                   vCPUs */
    bool skips;                 /* it does not execute now: it waits, or timers
                                   run first */
} IcountModelVCPU;

IcountModelVCPU *icount_model_vcpu(CPUState *cpu);

/* Returns virtual time, in ns.  The caller must not hold vm_clock_lock. */
int64_t icount_model_now(void);

/*
 * Has @cpu guest code to run?  Only the guest decides that; other work of the
 * vCPU's thread does not count.
 */
static inline bool icount_model_is_awake(CPUState *cpu)
{
    return cpu_can_run(cpu) && (!cpu->halted || cpu_has_work(cpu));
}

/* Does idle virtual time pass at the host's pace (sleep=on)? */
bool icount_model_sleeps_when_idle(void);

/* @cpu has left its execution loop: update or check if that is due. */
void icount_model_catch_up(CPUState *cpu);

/*
 * @cpu has left its execution loop and is not to run on for now: update, and
 * treat it as halted.
 */
void icount_model_stop(CPUState *cpu);

/*
 * For vCPUs that take turns on one thread.  Is it the turn of @cpu?  Sets @end
 * to where the turn ends, in ns of its own time.
 */
bool icount_model_is_turn(CPUState *cpu, int64_t *end);

/* Start over, as if no vCPU had had a turn. */
void icount_model_turns_reset(void);

/* @cpu is about to be removed. */
void icount_model_turns_forget(CPUState *cpu);

/*
 * For vCPUs on threads of their own: keeps them from drifting apart.  May @cpu
 * run, as far as the others are concerned?  If it is awake, sets @pause to when
 * it must ask again how far they are, in ns of its own time.
 */
bool icount_model_may_run(CPUState *cpu, int64_t *pause);

/*
 * The next event is at @ns.  Each vCPU other than @cpu that executes and has
 * planned for a later event must plan again.
 */
void icount_model_replan(CPUState *cpu, int64_t ns);

#endif
