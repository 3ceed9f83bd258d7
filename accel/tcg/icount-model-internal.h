/*
 * Virtual time by a timing model of the CPUs: what its parts share
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
 * A vCPU's time.  Its own thread changes it; others read what is marked [o],
 * which changes atomically.
 */
typedef struct IcountModelVCPU {
    IcountModelRunTime *run_time;
    int64_t ran;                /* run_time() at the last look */
    int64_t local;              /* its own time at the last look, ns */
    aligned_int64_t rough;      /* [o] at the last look, glance or read */
    int64_t icount;             /* instructions that it executed */
    int64_t look;               /* ... of the next look or glance */
    int64_t looked_icount;      /* ... of the last look */
    int64_t read_icount;        /* ... of the last look, glance or read */
    aligned_int64_t deadline;   /* [o] the next event as of the last plan, ns */
    int64_t turn_end;           /* ... and the end of its turn */
    int64_t insn_time;          /* of an instruction lately, in 1/1024 ns */
    bool must_look;             /* next time, not glance */
    bool passed;                /* a look was asked for: instructions or not */
    bool publishing;            /* its time, in the execution loop */
    bool halted;                /* [o] it was, when it was last seen */
    bool waits;                 /* [o] for other vCPUs: it does not execute */
    bool skips;                 /* ... or timers ran: it does not execute now */
} IcountModelVCPU;

IcountModelVCPU *icount_model_vcpu(CPUState *cpu);

/* Virtual time now, in ns.  Not with vm_clock_lock. */
int64_t icount_model_now(void);

/* What the guest makes of it: other work of its thread does not count. */
static inline bool icount_model_is_awake(CPUState *cpu)
{
    return cpu_can_run(cpu) && (!cpu->halted || cpu_has_work(cpu));
}

/* Does idle time take as long as it says (sleep=on)? */
bool icount_model_sleeps_when_idle(void);

/* @cpu is out of its execution loop: look or glance if that is due. */
void icount_model_catch_up(CPUState *cpu);

/* ... and is not to run on for now: look, and count it with those that halt. */
void icount_model_stop(CPUState *cpu);

/*
 * What vCPUs on one thread take turns by.  Is it the turn of @cpu?  Sets where
 * that ends, in ns of its own time.
 */
bool icount_model_is_turn(CPUState *cpu, int64_t *end);

/* Nobody has had a turn. */
void icount_model_turns_reset(void);

/* @cpu is about to go. */
void icount_model_turns_forget(CPUState *cpu);

/*
 * What vCPUs on threads of their own stay together by.  May @cpu run, as far as
 * the others are concerned?  Sets where it must look how far they are, in ns of
 * its own time.
 */
bool icount_model_may_run(CPUState *cpu, int64_t *pause);

/*
 * The next event is at @ns: those but @cpu that execute, and have planned for a
 * later one, must plan again.
 */
void icount_model_replan(CPUState *cpu, int64_t ns);

#endif
