/*
 * TLB flushes: the guest invalidates mappings, and the model's TLBs follow.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The model flushes its TLBs in program order: behind the blocks that are still
 * in the log.
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-internal.h"

void x86_pmu_flush_model_tlbs(X86PMU *unit)
{
    for (unsigned i = 0; i < unit->num_flushes; i++) {
        pmu_timing_flush_mappings(unit->timing, unit->flush[i].kind,
                                  unit->flush[i].linear);
    }
    unit->num_flushes = 0;
    unit->mappings = PMU_MAPPINGS_FRESH;
}

/*
 * The newest block is about to change mappings.  All blocks before it made
 * their accesses by the present mappings, so run the model over them first, and
 * keep the present ones for the newest block.
 */
static void x86_pmu_begin_flush(CPUX86State *env)
{
    X86PMUState *pmu = &env->pmu;
    X86PMU *unit = pmu->unit;

    x86_pmu_run_older(pmu);
    pmu->room = -1;
    unit->paging = x86_pmu_paging(env);
    unit->mappings = PMU_MAPPINGS_STALE_AFTER_BLOCK;
}

static void x86_pmu_flush(CPUX86State *env, PmuTlbFlush kind, uint64_t linear)
{
    X86PMUState *pmu = &env->pmu;
    X86PMU *unit = pmu->unit;

    if (!unit) {
        return;
    }
    if (!pmu->record) {
        unit->mappings = PMU_MAPPINGS_STALE;
        x86_pmu_counted_ask(env);
    } else if (unit->mappings != PMU_MAPPINGS_STALE_AFTER_BLOCK) {
        x86_pmu_begin_flush(env);
    }
    if (unit->num_flushes == X86_PMU_FLUSHES) {
        /* Nothing is logged here, so that nothing counts TLB flushes either. */
        unit->num_flushes = 0;
        kind = PMU_TLB_FLUSH_ALL;
    }
    unit->flush[unit->num_flushes++] = (X86PMUFlush) { kind, linear };
}

void x86_pmu_flush_all(CPUX86State *env)
{
    x86_pmu_flush(env, PMU_TLB_FLUSH_ALL, 0);
}

void x86_pmu_flush_context(CPUX86State *env)
{
    x86_pmu_flush(env, env->cr[4] & CR4_PGE_MASK ? PMU_TLB_FLUSH_LOCAL
                                                 : PMU_TLB_FLUSH_ALL, 0);
}

void x86_pmu_flush_cr0(CPUX86State *env, uint32_t value)
{
    if ((env->cr[0] ^ value) & CR0_PG_MASK) {
        x86_pmu_flush_all(env);
    }
    if (env->cr[0] & ~value & CR0_PG_MASK) {
        x86_pmu_observe_halt(env, PMU_CHECK_PAGING_OFF);
    }
}

void x86_pmu_flush_efer(CPUX86State *env, uint64_t value)
{
    if ((env->efer ^ value) & (MSR_EFER_LME | MSR_EFER_LMA | MSR_EFER_NXE)) {
        x86_pmu_flush_all(env);
    }
}

static void x86_pmu_flush_on_cpu(CPUState *cs, run_on_cpu_data data)
{
    x86_pmu_flush_all(cpu_env(cs));
}

void x86_pmu_flush_a20(X86CPU *cpu)
{
    if (cpu->env.pmu.unit) {
        async_run_on_cpu(CPU(cpu), x86_pmu_flush_on_cpu, RUN_ON_CPU_NULL);
    }
}

void x86_pmu_flush_page(CPUX86State *env, uint64_t linear)
{
    x86_pmu_flush(env, PMU_TLB_FLUSH_PAGE, linear);
}
