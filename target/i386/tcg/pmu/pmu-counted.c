/*
 * Fast-forward: translated code counts how often blocks run, in place of
 * logging them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See X86PMUState, mode forward, and pmu_timing_fast_forward_insns().
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/helper-proto.h"
#include "pmu-internal.h"

/*
 * Instructions, and progress (instructions and slots), that are logged in less
 * time than it takes to change the mode, which means other translated code.
 */
#define LEAST_INSNS (1 << 11)
#define LEAST_PROGRESS (1 << 13)

void x86_pmu_renumber(CPUX86State *env, const PmuBlock *block)
{
    X86PMU *unit = env->pmu.unit;

    if (block->generation != unit->counted_generation) {
        unit->counted_generation = block->generation;
        pmu_timing_stop_counting(unit->timing);
    }
    qatomic_store_release(&env->pmu.generation, block->generation);
}

void x86_pmu_collect(CPUX86State *env)
{
    x86_pmu_counted_revoke(env);
    pmu_timing_collect(env->pmu.unit->timing);
    qatomic_store_release(&env->pmu.generation, X86_PMU_NO_GENERATION);
}

void x86_pmu_counted_report(CPUX86State *env)
{
    X86PMUState *pmu = &env->pmu;
    X86PMU *unit = pmu->unit;
    uint32_t insns = pmu->left & PMU_LEFT_INSNS;
    int64_t left = pmu_left_progress(pmu->left);

    pmu->counted = NULL;
    if (insns) {
        pmu->left -= insns;
        pmu_timing_add_uncollected(unit->timing, insns,
                                   unit->granted_progress - left);
        unit->granted_progress = left;
    }
}

uint64_t x86_pmu_uncollected_progress(const CPUX86State *env)
{
    const X86PMUState *pmu = &env->pmu;
    const PmuBlock *block = pmu->counted;
    uint64_t all = pmu->unit->granted_progress - pmu_left_progress(pmu->left);
    uint64_t before = all - pmu_cost_progress(pmu->runs[block->number].cost);

    return before + ((uint64_t)(block->num_insns - 1) << PMU_CPI_SHIFT);
}

/*
 * Let @progress, in units of 1/PMU_CPI_ONE, be made before the model is asked;
 * less than 0: none.
 */
static void x86_pmu_counted_grant(CPUX86State *env, int64_t progress)
{
    env->pmu.left = progress * (1ll << PMU_LEFT_INSN_BITS);
    env->pmu.unit->granted_progress = progress;
}

void x86_pmu_counted_revoke(CPUX86State *env)
{
    x86_pmu_counted_report(env);
    x86_pmu_counted_grant(env, -1);
}

void x86_pmu_counted_shorten(CPUX86State *env, uint64_t progress)
{
    /* At least -1 is left: the guest can come here any number of times. */
    int64_t most = MAX(pmu_left_progress(env->pmu.left) + 1, 0);

    progress = MIN(progress, most);
    env->pmu.left -= progress << PMU_LEFT_INSN_BITS;
    env->pmu.unit->granted_progress -= progress;
}

void x86_pmu_counted_ask(CPUX86State *env)
{
    x86_pmu_counted_shorten(env, UINT64_MAX);
}

void x86_pmu_counted_assist(CPUX86State *env)
{
    pmu_timing_assist(env->pmu.unit->timing, env->pmu.counted, true);
    /* What the assist cost is not in X86PMUState.left. */
    x86_pmu_counted_ask(env);
}

void x86_pmu_counted_open_at(CPUX86State *env, uint64_t pc)
{
    X86PMUState *pmu = &env->pmu;
    const PmuBlock *block = pmu->counted;
    PmuBlockRunCount *count = &pmu->runs[block->number];

    count->times--;
    pmu->left += count->cost;
    x86_pmu_counted_revoke(env);
    x86_pmu_log(env, block, pc);
}

void x86_pmu_counted_open(CPUX86State *env, unsigned ahead)
{
    const PmuBlock *block = env->pmu.counted;
    unsigned current = block->num_insns - MIN(ahead, block->num_insns);

    x86_pmu_counted_open_at(env,
                            x86_pmu_pc(env) - block->insns[current].offset);
}

/* Progress that may be made before counters are checked. */
static uint64_t x86_pmu_distance_to_check(const X86PMU *unit)
{
    uint64_t now = pmu_timing_progress(unit->timing);

    return unit->check_at - MIN(now, unit->check_at);
}

/*
 * The bits of hflags for the mode that the model allows now, forward or timing.
 * Timing, if a change from @current to forward is not worth its cost.
 */
static uint32_t x86_pmu_wanted_mode(const X86PMU *unit, uint32_t current)
{
    uint32_t insns = pmu_timing_fast_forward_insns(unit->timing);
    uint32_t mode = insns ? HF_PMU_FAST_FORWARD : HF_PMU_MASK;

    if (mode == current) {
        return mode;
    }
    /* What a driver does between two periods is not worth a change. */
    return insns < LEAST_INSNS || unit->idle ||
           x86_pmu_distance_to_check(unit) < LEAST_PROGRESS
           ? HF_PMU_MASK : mode;
}

void x86_pmu_choose(CPUX86State *env, const PmuBlock *block)
{
    uint32_t current = env->hflags & HF_PMU_MASK, mode;

    if (block->uninterruptible) {
        return;
    }
    if (!(env->hflags & HF_PMU_TIMING_MASK)) {
        /* An overflow has just stopped the counters that need the model. */
        x86_pmu_leave(env, block->num_insns, 0);
    }
    mode = x86_pmu_wanted_mode(env->pmu.unit, current);
    if (mode != current) {
        x86_pmu_set_mode(env, mode);
        x86_pmu_leave(env, block->num_insns, 0);
    }
}

/* X86PMUState.left is used up, and @block is about to run: grant more. */
static void x86_pmu_counted_renew(CPUX86State *env, const PmuBlock *block)
{
    X86PMU *unit = env->pmu.unit;
    uint64_t progress;

    x86_pmu_counted_revoke(env);
    if (pmu_timing_progress(unit->timing) >= unit->check_at) {
        pmu_timing_collect(unit->timing);
        x86_pmu_check(env, block->num_insns);
    }
    x86_pmu_choose(env, block);
    /*
     * Each instruction makes progress besides its slots, so no more of them run
     * than the model allows.  What these leave over is granted again then.
     */
    progress = MIN(x86_pmu_distance_to_check(unit),
                   pmu_timing_fast_forward_insns(unit->timing));
    x86_pmu_counted_grant(env, MIN(progress << PMU_CPI_SHIFT, PMU_LEFT_MAX));
}

/* Count this run of @block. */
static void x86_pmu_count_block(CPUX86State *env, const PmuBlock *block)
{
    X86PMUState *pmu = &env->pmu;
    PmuBlockRunCount *count = &pmu->runs[block->number];

    count->times++;
    pmu->left -= count->cost;
    pmu->counted = block;
}

/* The same, if @block can be counted.  False: it has to be logged. */
static bool x86_pmu_try_to_count(CPUX86State *env, const PmuBlock *block)
{
    X86PMUState *pmu = &env->pmu;

    if (unlikely(pmu->unit->mappings == PMU_MAPPINGS_STALE)) {
        x86_pmu_flush_model_tlbs(pmu->unit);
    }
    if (!x86_pmu_is_countable(block) ||
        pmu_timing_fast_forward_insns(pmu->unit->timing) < block->num_insns ||
        !pmu_timing_start_counting(pmu->unit->timing, block)) {
        return false;
    }
    x86_pmu_count_block(env, block);
    return true;
}

/*
 * forward: @opaque, a PmuBlock, is about to run.  It is not counted yet, or
 * costs more than what is left.  Count it if possible, else log it.
 */
void helper_x86_pmu_count_run(CPUX86State *env, const void *opaque)
{
    X86PMUState *pmu = &env->pmu;
    const PmuBlock *block = opaque;

    if (pmu->record) {
        x86_pmu_run(env);
    }
    x86_pmu_clock_catch_up(env, block);
    x86_pmu_counted_report(env);
    x86_pmu_renumber(env, block);
    if (pmu_left_progress(pmu->left) <= 0 && !block->uninterruptible) {
        x86_pmu_counted_renew(env, block);
    }
    if (!x86_pmu_try_to_count(env, block)) {
        x86_pmu_counted_revoke(env);
        x86_pmu_log(env, block, x86_pmu_pc(env));
    }
}
