/*
 * What the PMU does where execution does not simply go on: at instructions that
 * do not complete, at interrupts, before halting, out of the execution loop.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/cpu-common.h"
#include "exec/exec-all.h"
#include "system/cpu-timers.h"
#include "pmu-internal.h"

void x86_pmu_unwind(CPUX86State *env, const TranslationBlock *tb,
                    uint64_t data)
{
    X86PMUState *pmu = &env->pmu;
    unsigned ahead = FIELD_EX64(data, X86_PMU_INSN, AHEAD);

    if (!ahead) {
        return;
    }
    if (FIELD_EX64(data, X86_PMU_INSN, TIMING)) {
        if (pmu->counted) {
            x86_pmu_counted_open(env, ahead);
        }
        pmu->cut = ahead;
        pmu->room = -1;
    } else {
        PmuLevel level = tb->flags & HF_CPL_MASK ? PMU_LEVEL_USR
                                                 : PMU_LEVEL_OS;
        pmu->budget[level] += ahead;
        pmu->branches[level] -= x86_pmu_branch_of(data);
    }
}

/*
 * Add @count (-1: take back, 1: count again) instructions and @branches, as
 * X86PMUState.branches has them, for the instruction that ends the current
 * block, which runs at @level.
 */
static void x86_pmu_recount_last(CPUX86State *env, PmuLevel level, int count,
                                 uint64_t branches)
{
    X86PMUState *pmu = &env->pmu;

    if (pmu->counted) {
        x86_pmu_counted_open(env, 1);
    }
    if (pmu->record) {
        pmu->cut -= count;
        pmu->room = -1;
    } else if (!(env->hflags & HF_PMU_TIMING_MASK) &&
               x86_pmu_is_instrumented(env, level)) {
        pmu->budget[level] -= count;
        pmu->branches[level] += branches;
    }
}

void x86_pmu_unretire(CPUX86State *env, uintptr_t retaddr)
{
    if (env->hflags & HF_PMU_MASK) {
        uint64_t insn = x86_pmu_current_insn(env, retaddr);

        x86_pmu_recount_last(env, x86_pmu_level(env), -1,
                             -x86_pmu_branch_of(insn));
    }
}

void x86_pmu_raise_int(CPUX86State *env, uintptr_t retaddr)
{
    if (cpu_svm_has_intercept(env, SVM_EXIT_SWINT)) {
        x86_pmu_unretire(env, retaddr);
    }
}

void x86_pmu_inject_int(CPUX86State *env)
{
    if (env->pmu.unit) {
        env->pmu.unit->injected = true;
    }
}

void x86_pmu_divert(CPUX86State *env)
{
    X86PMUState *pmu = &env->pmu;

    if (!pmu->unit || !(env->hflags & HF_PMU_TIMING_MASK)) {
        return;
    }
    x86_pmu_counted_report(env);
    if (pmu->record) {
        x86_pmu_run(env);
    }
    pmu_timing_interrupt(pmu->unit->timing);
}

/* The item that event @vector counts in; 0: it is an instruction. */
static PmuLedgerItem x86_pmu_delivered_item(int vector, bool is_int, bool is_hw)
{
    if (is_int) {
        return 0;
    }
    /* An NMI that a hypervisor injects comes in the guise of an exception. */
    return is_hw || vector == EXCP02_NMI ? PMU_ITEM_INTERRUPTS
                                         : PMU_ITEM_EXCEPTIONS;
}

void x86_pmu_interrupt(CPUX86State *env, int vector, bool is_int, bool is_hw)
{
    X86PMUState *pmu = &env->pmu;

    if (!pmu->unit) {
        return;
    }
    /* No instruction raised what VMRUN injects: none is taken back. */
    is_int = is_int && !pmu->unit->injected;
    pmu->unit->injected = false;
    x86_pmu_observe_interrupt(env, vector);
    if (!(env->hflags & HF_PMU_MASK)) {
        return;
    }
    pmu->unit->interrupted_level = x86_pmu_level(env);
    pmu->unit->delivered = x86_pmu_delivered_item(vector, is_int, is_hw);
    if (is_int) {
        x86_pmu_recount_last(env, pmu->unit->interrupted_level, -1, -1);
    } else {
        x86_pmu_divert(env);
    }
}

/* Count an interrupt or exception, by which a counter may overflow. */
static void x86_pmu_count_delivery(CPUX86State *env)
{
    X86PMU *unit = env->pmu.unit;
    PmuLevel level = unit->interrupted_level;

    if (x86_pmu_is_instrumented(env, level)) {
        unit->ledger.event[level][unit->delivered]++;
        if (!--unit->deliveries_left) {
            x86_pmu_check_now(env);
        }
    }
}

void x86_pmu_interrupt_done(CPUX86State *env)
{
    X86PMU *unit = env->pmu.unit;

    if (!(env->hflags & HF_PMU_MASK)) {
        return;
    }
    if (unit->delivered) {
        x86_pmu_count_delivery(env);
    } else {
        x86_pmu_recount_last(env, unit->interrupted_level, 1, 1);
    }
    x86_pmu_delivered(env);
}

void x86_pmu_halt(CPUX86State *env)
{
    x86_pmu_check_now(env);
    if (env->pmu.unit) {
        x86_pmu_clock_halt(env->pmu.unit);
    }
}

/*
 * Forget the block of exact length that x86_pmu_leave() asked for, if it has
 * not run yet.  If it is still due when the execution loop is entered again,
 * x86_pmu_check() will ask again.  By then another kind of block may be needed,
 * for example by a debugger that steps.
 */
static void x86_pmu_drop_exact_block(CPUState *cs)
{
    if (!(cs->cflags_next_tb & CF_NOIRQ)) {
        cs->cflags_next_tb = -1;
    }
}

/*
 * Would the next block's prologue check whether a counter overflows?  What
 * translated code counts is the same whenever counters are checked.  But a
 * check settles the model's estimates, so one more would change them.
 */
static bool x86_pmu_check_is_due(const CPUX86State *env)
{
    const X86PMU *unit = env->pmu.unit;

    return !(env->hflags & HF_PMU_TIMING_MASK) ||
           pmu_timing_progress(unit->timing) >= unit->check_at;
}

void x86_pmu_exec_exit(CPUX86State *env)
{
    CPUState *cs = env_cpu(env);

    if (!env->pmu.unit) {
        return;
    }
    x86_pmu_drop_exact_block(cs);
    /* QEMU may throw translated code away now: see x86_pmu_renumber(). */
    x86_pmu_counted_revoke(env);
    if (env->pmu.record) {
        x86_pmu_run(env);
    }
    /* Here, as a replay may run a block next that icount does not count. */
    x86_pmu_clock_request_update(env->pmu.unit);
    env->pmu.room = -1;
    if (cs->halted || cs->stop || !(env->hflags & HF_PMU_TIMING_MASK)) {
        /*
         * It may be long until the vCPU counts again.  At all other exits this
         * would take too much time: Linux's boot under -icount shift=model has
         * 290,000 exits, most for PAUSE, and x86_pmu_collect() looks at 1230
         * blocks on average.
         */
        x86_pmu_collect(env);
    }
    if (icount_enabled() && x86_pmu_check_is_due(env)) {
        x86_pmu_check_now(env);
    }
}
