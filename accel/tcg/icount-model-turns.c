/*
 * Virtual time by a timing model of the CPUs: several vCPUs on one thread
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * vCPUs take turns.  In a round, each vCPU that is awake runs until its own
 * time is QUANTUM ahead of where the round began.  Whose turn it is follows
 * from the vCPUs' own times alone.
 */

#include "qemu/osdep.h"
#include "qemu/lockable.h"
#include "exec/cpu-common.h"
#include "icount-model-internal.h"

/* How far a vCPU may be ahead of the others, in ns. */
#define QUANTUM         10000

static struct {
    CPUState *turn;             /* whose turn it is; NULL: nobody's yet */
    int64_t round, horizon;     /* when the round began, and its turns end */
} turns;

void icount_model_turns_reset(void)
{
    turns.round = 0;
    turns.horizon = 0;
    qatomic_set(&turns.turn, NULL);
}

void icount_model_turns_forget(CPUState *cpu)
{
    qatomic_cmpxchg(&turns.turn, cpu, NULL);
}

/*
 * Let vCPUs that have woken take part.  If all vCPUs were halted, time may have
 * jumped, so a round begins now.  A vCPU that was halted goes on from where the
 * round began, as another vCPU has woken it since.
 *
 * Time also jumps while GDB keeps a vCPU stopped that has not halted.  To see
 * that, ask for cpu->stopped alone: this thread sets it, and the main loop
 * clears it while the machine does not run.  The rest of cpu_can_run() would
 * not do, as vm_stop() changes cpu->stop and the runstate at any time.
 */
static void model_wake(void)
{
    bool all_halted = true;
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        if (!cpu->stopped && (!cpu->halted || cpu_has_work(cpu)) &&
            !icount_model_vcpu(cpu)->halted) {
            all_halted = false;
        }
    }
    if (all_halted) {
        turns.round = icount_model_now();
        turns.horizon = turns.round + QUANTUM;
    }
    CPU_FOREACH(cpu) {
        IcountModelVCPU *vcpu = icount_model_vcpu(cpu);

        if (icount_model_is_awake(cpu)) {
            vcpu->local = MAX(vcpu->local, turns.round);
            vcpu->halted = false;
        }
    }
}

/* The vCPU behind @cpu in the list, which is taken for a circle. */
static CPUState *model_next(CPUState *cpu)
{
    return (cpu ? CPU_NEXT(cpu) : NULL) ?: first_cpu;
}

/*
 * The first vCPU, from the one whose turn it is on, that is awake and has not
 * used up its turn in this round; NULL: all have.
 */
static CPUState *model_find(void)
{
    CPUState *first = qatomic_read(&turns.turn) ?: first_cpu, *cpu = first;

    do {
        if (icount_model_is_awake(cpu) &&
            icount_model_vcpu(cpu)->local < turns.horizon) {
            return cpu;
        }
        cpu = model_next(cpu);
    } while (cpu != first);
    return NULL;
}

/*
 * All vCPUs that are awake have had their turn.  Begin a round at the time of
 * the one that is furthest behind.
 */
static void model_begin_round(void)
{
    int64_t least = INT64_MAX;
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        if (icount_model_is_awake(cpu)) {
            least = MIN(least, icount_model_vcpu(cpu)->local);
        }
    }
    if (least < INT64_MAX - QUANTUM) {
        turns.round = least;
        turns.horizon = least + QUANTUM;
    }
}

/*
 * Does the turn of @turn go on?  It ends at an update or when the vCPU halts,
 * and nowhere else.  So it makes no difference where the host kicks vCPUs out
 * of their execution loop.
 */
static bool model_turn_goes_on(CPUState *turn)
{
    const IcountModelVCPU *vcpu = turn ? icount_model_vcpu(turn) : NULL;

    return vcpu && icount_model_is_awake(turn) && !vcpu->halted &&
           vcpu->icount < vcpu->next_stop;
}

bool icount_model_is_turn(CPUState *cpu, int64_t *end)
{
    CPUState *turn = qatomic_read(&turns.turn);

    *end = turns.horizon;
    if (model_turn_goes_on(turn)) {
        return turn == cpu;
    }
    /* CPUs that are unplugged leave the list with this lock held. */
    QEMU_LOCK_GUARD(&qemu_cpu_list_lock);
    model_wake();
    turn = model_find();
    if (!turn) {
        model_begin_round();
        turn = model_find();
    }
    if (turn) {
        qatomic_set(&turns.turn, turn);
    }
    *end = turns.horizon;
    return turn == cpu;
}
