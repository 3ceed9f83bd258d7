/*
 * Virtual time by a timing model of the CPUs: where a vCPU looks at the clock
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Arithmetic alone, which tests/unit/test-clock-plan.c tests without QEMU.
 * "Update", "check" and "interval" are defined at the top of icount-model.c.
 */

#ifndef ACCEL_TCG_ICOUNT_MODEL_PLAN_H
#define ACCEL_TCG_ICOUNT_MODEL_PLAN_H

#include <stdint.h>
#include <glib.h>

/* Range of an interval, in instructions. */
#define INTERVAL_LEAST  64
#define INTERVAL_MOST   65536

/*
 * A plan supposes that an instruction takes at most the larger of INSN_TIME, in
 * 1/1024 ns, and INSN_MARGIN times its average in the interval before.
 */
#define INSN_TIME       (6 * 1024)
#define INSN_MARGIN     4

/*
 * The average time of an instruction in a plan if nothing is known, and the
 * least otherwise, in 1/1024 ns.
 */
#define INSN_TIME_LEAST 256

/* What a vCPU knows when it plans. */
typedef struct IcountModelPlan {
    int64_t icount;         /* instructions that it has executed */
    int64_t next_stop;      /* icount of the next update or check as planned
                               before */
    int64_t timed_icount;   /* icount of the last update, check or read */
    int64_t time;           /* its own time then, ns */
    int64_t insn_time;      /* recent average of an instruction, 1/1024 ns */
} IcountModelPlan;

/* Instructions until time @until if one takes @insn_time, in 1/1024 ns. */
static inline int64_t icount_model_insns(const IcountModelPlan *plan,
                                         int64_t until, int64_t insn_time)
{
    int64_t left = MIN(MAX(until - plan->time, 0), INT32_MAX);

    return left * 1024 / insn_time;
}

/*
 * Returns the icount of the next update or check: before time @event if no
 * instruction takes longer than supposed, and where time is @end if they take
 * the average.  In the middle of an interval it can only come nearer: since
 * @timed_icount, nobody has seen how long instructions took.
 */
static inline int64_t icount_model_plan(const IcountModelPlan *plan,
                                        int64_t event, int64_t end)
{
    int64_t soon = icount_model_insns(plan, event,
                                      MAX(INSN_TIME,
                                          INSN_MARGIN * plan->insn_time));
    int64_t turn = icount_model_insns(plan, end, MAX(INSN_TIME_LEAST,
                                                     plan->insn_time));
    int64_t insns = MIN(MAX(MIN(soon, turn), INTERVAL_LEAST), INTERVAL_MOST);

    if (plan->icount >= plan->next_stop) {
        return plan->icount + insns;
    }
    return MAX(MIN(plan->next_stop, plan->timed_icount + insns),
               plan->icount + 1);
}

#endif
