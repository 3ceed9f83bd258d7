/*
 * The PMU while the timing model goes forward: translated code counts blocks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See X86PMUState and pmu_timing_fast_forward_insns().
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/helper-proto.h"
#include "pmu-internal.h"

/*
 * Slots that an instruction is supposed to take, on average of all that run
 * before counters are looked at; more make an interrupt come later.  Where the
 * model goes forward instructions hardly wait for L3 or DRAM: that many are
 * lost if each second one is a branch that is mispredicted.
 */
#define INSN_PROGRESS 64

/* The same where nothing counts, so that it does not matter when. */
#define IDLE_PROGRESS 8

/*
 * The last part before an overflow is gone through in stretches of so many
 * instructions at most, supposing that one takes at most so many times what it
 * took on average in the stretch before.  Should they take more, an interrupt
 * is late by what the rest of a stretch takes.
 */
#define NEAR_STRETCH 4096
#define NEAR_MARGIN 4

/* It takes longer to change the code that runs than to log so much. */
#define FAST_FORWARD_LEAST (1 << 11)

/*
 * Translated code is thrown away all at once, when all vCPUs have left it, and
 * numbers are used again.
 */
uint32_t x86_pmu_fast_forward_number(uint64_t generation)
{
    /* The generation, 32 bits of it, and the next number. */
    static uint64_t last;
    uint64_t now = qatomic_read(&last), next, seen;

    for (;; now = seen) {
        next = now >> 32 == (uint32_t)generation ? now + 1
                                                 : generation << 32;
        seen = qatomic_cmpxchg(&last, now, next);
        if (seen == now) {
            return next;
        }
    }
}

void x86_pmu_fast_forward_renumber(X86PMU *unit, const PmuBlock *block)
{
    if (block->generation != unit->counted_generation) {
        unit->counted_generation = block->generation;
        pmu_timing_stop_counting(unit->timing);
    }
}

void x86_pmu_fast_forward_pass(CPUX86State *env)
{
    X86PMU *unit = env->pmu.unit;
    int32_t passed = unit->granted_fast_forward - env->pmu.forward;

    if (passed) {
        pmu_timing_add_passed(unit->timing, passed);
        unit->fast_forward_distance -= passed;
        unit->granted_fast_forward = env->pmu.forward;
    }
    env->pmu.counted = NULL;
}

/* @insns may run before counters are looked at; less than 0: none. */
static void x86_pmu_fast_forward_grant(CPUX86State *env, int32_t insns)
{
    env->pmu.forward = insns;
    env->pmu.unit->granted_fast_forward = insns;
}

void x86_pmu_fast_forward_stop(CPUX86State *env)
{
    x86_pmu_fast_forward_pass(env);
    x86_pmu_fast_forward_grant(env, -1);
}

void x86_pmu_fast_forward_open(CPUX86State *env, unsigned ahead)
{
    X86PMUState *pmu = &env->pmu;
    const PmuBlock *block = pmu->counted;
    unsigned current = block->num_insns - MIN(ahead, block->num_insns);
    uint64_t pc = x86_pmu_pc(env) - block->insns[current].offset;

    pmu->runs[block->number].times--;
    pmu->forward += block->num_insns;
    x86_pmu_fast_forward_stop(env);
    x86_pmu_log(env, block, pc);
}

/* What an instruction of the stretch took that ends with progress @now. */
static void x86_pmu_measure_stretch(X86PMU *unit, uint64_t now)
{
    PmuStretch *stretch = &unit->stretch;
    int64_t insns = stretch->planned - unit->fast_forward_distance;

    if (stretch->planned && insns > 0 && now >= stretch->begin) {
        stretch->insn_slots = MIN((now - stretch->begin) / insns + 1,
                                  INSN_PROGRESS);
    }
}

/*
 * Plan the next stretch.  Returns how many instructions it may be to where
 * x86_pmu_check() is due, be it in several stretches.
 */
static uint64_t x86_pmu_plan_stretch(X86PMU *unit)
{
    PmuStretch *stretch = &unit->stretch;
    uint64_t now, slots, far, near = 0;

    pmu_timing_collect(unit->timing);
    now = pmu_timing_progress(unit->timing);
    x86_pmu_measure_stretch(unit, now);
    slots = unit->check_at - MIN(now, unit->check_at);
    far = slots / (unit->idle ? IDLE_PROGRESS : INSN_PROGRESS);
    if (stretch->insn_slots) {
        near = slots / (NEAR_MARGIN * stretch->insn_slots);
    }
    stretch->begin = now;
    stretch->planned = MAX(far, MIN(near, NEAR_STRETCH));
    unit->fast_forward_distance = stretch->planned;
    return MAX(far, near);
}

/* Is code for forward the right one, if that @is_fast_forward which runs? */
static bool x86_pmu_wants_fast_forward(X86PMU *unit, bool is_fast_forward)
{
    if (!pmu_timing_fast_forward_insns(unit->timing)) {
        return false;
    }
    if (is_fast_forward && unit->fast_forward_distance >= PMU_BLOCK_INSNS) {
        return true;
    }
    if (!is_fast_forward && unit->idle) {
        /* What a driver does between two periods is not worth the change. */
        return false;
    }
    return x86_pmu_plan_stretch(unit) >= FAST_FORWARD_LEAST;
}

void x86_pmu_choose(CPUX86State *env, const PmuBlock *block)
{
    bool is_fast_forward = x86_pmu_is_fast_forward(env);

    if (block->uninterruptible) {
        return;
    }
    if (!(env->hflags & HF_PMU_TIMING_MASK)) {
        /* An overflow has just stopped what was counted. */
        x86_pmu_leave(env, block->num_insns, 0);
    }
    if (x86_pmu_wants_fast_forward(env->pmu.unit, is_fast_forward) !=
        is_fast_forward) {
        x86_pmu_set_mode(env, is_fast_forward
                         ? HF_PMU_MASK : HF_PMU_FAST_FORWARD);
        x86_pmu_leave(env, block->num_insns, 0);
    }
}

/* What the model has allowed is used up: see how to go on, at @block. */
static void x86_pmu_fast_forward_renew(CPUX86State *env, const PmuBlock *block)
{
    X86PMU *unit = env->pmu.unit;

    x86_pmu_fast_forward_stop(env);
    if (unit->fast_forward_distance < PMU_BLOCK_INSNS ||
        pmu_timing_progress(unit->timing) >= unit->check_at) {
        pmu_timing_collect(unit->timing);
        if (pmu_timing_progress(unit->timing) >= unit->check_at) {
            x86_pmu_check(env, block->num_insns);
        }
    }
    x86_pmu_choose(env, block);
    x86_pmu_fast_forward_grant(env,
                               MIN(pmu_timing_fast_forward_insns(unit->timing),
                                   unit->fast_forward_distance));
}

/* Count this run of @block.  False: it has to be logged. */
static bool x86_pmu_fast_forward_count(X86PMUState *pmu, const PmuBlock *block)
{
    if (!x86_pmu_is_countable(block) || pmu->forward < block->num_insns ||
        !pmu_timing_start_counting(pmu->unit->timing, block)) {
        return false;
    }
    pmu->runs[block->number].times++;
    pmu->forward -= block->num_insns;
    pmu->counted = block;
    return true;
}

/* forward: @opaque, a PmuBlock, is about to run, and is not counted yet. */
void helper_x86_pmu_fast_forward(CPUX86State *env, const void *opaque)
{
    X86PMUState *pmu = &env->pmu;
    const PmuBlock *block = opaque;

    if (pmu->record) {
        x86_pmu_run(env);
    }
    x86_pmu_fast_forward_pass(env);
    x86_pmu_fast_forward_renumber(pmu->unit, block);
    if (pmu->forward < block->num_insns && !block->uninterruptible) {
        x86_pmu_fast_forward_renew(env, block);
    }
    if (!x86_pmu_fast_forward_count(pmu, block)) {
        x86_pmu_fast_forward_stop(env);
        x86_pmu_log(env, block, x86_pmu_pc(env));
    }
}
