/*
 * The PMU as the machine's clock (-icount shift=model): turns cycles of the
 * model into time, and gives frequencies for CPUID and the TSC.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * accel/tcg/icount-model.c asks how long a vCPU has run.  docs/devel/pmu.rst
 * says when ("The machine's time").
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "system/replay.h"
#include "accel/tcg/icount-model.h"
#include "cpu.h"
#include "pmu-internal.h"
#include "pmu-models.h"

/* The local APIC's timer counts nanoseconds: hw/intc/apic_common.c. */
#define CRYSTAL_HZ      NANOSECONDS_PER_SECOND

/* The bus frequency in CPUID.16H:ECX, in MHz. */
#define BUS_MHZ         100

/*
 * Iterations of REP string instructions after which the vCPU updates the
 * clock; they take some tens of microseconds.  icount takes such an instruction
 * for a single one until it can be interrupted, but it may last as long as tens
 * of thousands of others.
 */
#define STRING_UPDATE   (1 << 15)

/*
 * An insn_start word: the last instruction of a block, which has not retired.
 */
static const uint64_t last_of_block =
    R_X86_PMU_INSN_TIMING_MASK | (1 << R_X86_PMU_INSN_AHEAD_SHIFT);

/*
 * The newest block is counted, and its last instruction runs.  Replace the
 * count by a record.  EIP is that of some instruction of the block, not always
 * that of the last one.
 */
static void x86_pmu_clock_open(CPUX86State *env)
{
    uint64_t pc = x86_pmu_pc(env), phys = env->pmu.counted->phys;

    /*
     * In a device's memory a block is one instruction, and @phys is all ones.
     * Elsewhere @phys says where in its page the block begins.
     */
    x86_pmu_counted_open_at(env, phys == UINT64_MAX
                            ? pc : pc - ((pc - phys) & ~TARGET_PAGE_MASK));
}

/*
 * Run the model over all before the newest block's last instruction.  If the
 * block was left in its middle, run it over all that ran of the block.
 */
static void x86_pmu_clock_settle(CPUX86State *env)
{
    if (env->pmu.counted) {
        x86_pmu_clock_open(env);
    }
    x86_pmu_run_all(env,
                    env->pmu.record && !env->pmu.cut ? last_of_block : 0);
}

/*
 * An estimate of the model's clock, in slots.  Includes what translated code
 * counted, but does not collect it.
 */
static uint64_t x86_pmu_estimate_slots(CPUX86State *env)
{
    PmuTiming *timing = env->pmu.unit->timing;

    if (env->pmu.counted) {
        return pmu_timing_clock_estimate(timing,
                                         x86_pmu_uncollected_progress(env));
    }
    x86_pmu_clock_settle(env);
    return pmu_timing_clock_estimate(timing, 0);
}

static uint64_t x86_pmu_slots(CPUX86State *env)
{
    PmuTiming *timing = env->pmu.unit->timing;

    x86_pmu_clock_settle(env);
    pmu_timing_flush(timing);
    return pmu_timing_clock(timing);
}

static int64_t x86_pmu_run_time(CPUState *cs, bool estimate)
{
    CPUX86State *env = cpu_env(cs);
    const X86PMU *unit = env->pmu.unit;
    uint64_t slots = estimate ? x86_pmu_estimate_slots(env)
                              : x86_pmu_slots(env);

    return muldiv64(slots / unit->uarch.width, 1000,
                    unit->uarch.frequency_mhz);
}

bool x86_pmu_clock_check(X86CPU *cpu, bool has_unit, Error **errp)
{
    if (!icount_model_enabled()) {
        return true;
    }
    if (!has_unit) {
        error_setg(errp, "-icount shift=model needs a CPU with pmu=on or "
                   "perf-metrics=on, of a CPU model whose PMU is modelled");
        return false;
    }
    if (DEVICE(cpu)->hotplugged) {
        error_setg(errp, "-icount shift=model: CPUs cannot be plugged in while "
                   "others run");
        return false;
    }
    return true;
}

void x86_pmu_clock_attach(X86PMU *unit)
{
    if (icount_model_enabled()) {
        unit->is_clock = true;
        icount_model_add(CPU(unit->cpu), x86_pmu_run_time);
    }
}

void x86_pmu_clock_detach(X86PMU *unit)
{
    if (unit->is_clock) {
        icount_model_remove(CPU(unit->cpu));
    }
}

bool x86_pmu_clock_save(X86PMU *unit)
{
    unit->migrated.clock_ran =
        unit->is_clock ? icount_model_ran(CPU(unit->cpu)) : -1;
    return replay_mode == REPLAY_MODE_NONE || unit->migrated.clock_ran <= 0;
}

bool x86_pmu_clock_loaded(X86PMU *unit)
{
    unit->clock_iterations = 0;
    unit->resumes_until = 0;
    return !unit->is_clock || icount_model_loaded(CPU(unit->cpu),
                                                  unit->migrated.clock_ran);
}

void x86_pmu_clock_string(X86PMU *unit, uint64_t iterations)
{
    unit->clock_iterations += MIN(iterations,
                                  STRING_UPDATE - unit->clock_iterations);
}

static bool x86_pmu_clock_is_behind(X86PMU *unit)
{
    if (likely(unit->clock_iterations < STRING_UPDATE)) {
        return false;
    }
    unit->clock_iterations = 0;
    return unit->is_clock;
}

void x86_pmu_clock_catch_up(CPUX86State *env, const PmuBlock *block)
{
    X86PMU *unit = env->pmu.unit;

    if (unlikely(x86_pmu_clock_is_behind(unit))) {
        CPUState *cs = CPU(unit->cpu);

        if (block->uninterruptible) {
            /* @block may be for the watchpoint alone, which will hit again. */
            cs->watchpoint_hit = NULL;
        }
        icount_model_request_update(cs, block->num_insns);
        x86_pmu_leave(env, block->num_insns, 0);
    }
}

void x86_pmu_clock_request_update(X86PMU *unit)
{
    if (unlikely(x86_pmu_clock_is_behind(unit))) {
        icount_model_request_update(CPU(unit->cpu), 0);
    }
}

void x86_pmu_clock_device(X86PMU *unit, uint64_t iterations)
{
    x86_pmu_clock_string(unit, iterations);
    x86_pmu_clock_request_update(unit);
}

void x86_pmu_clock_halt(X86PMU *unit)
{
    if (unit->is_clock) {
        icount_model_halt(CPU(unit->cpu));
    }
}

uint64_t x86_pmu_ticks(CPUX86State *env, uint64_t ticks)
{
    const X86PMU *unit = env->pmu.unit;

    return unit && unit->is_clock ? muldiv64(ticks, unit->uarch.tsc_num, 1000)
                                  : ticks;
}

/* Does CPUID of @cpu state frequencies, as Intel's CPUs do since Skylake? */
static bool x86_pmu_states_frequencies(X86CPU *cpu)
{
    const X86PMUModel *model = x86_pmu_model(cpu);

    return icount_model_enabled() && cpu->enable_pmu && model &&
           model->map == PERFMON_MAP_ARCHITECTURAL && model->version >= 4;
}

void x86_pmu_clock_imply(X86CPU *cpu)
{
    uint32_t *level = &cpu->env.cpuid_min_level;

    if (x86_pmu_states_frequencies(cpu)) {
        *level = MAX(*level, 0x16);
    }
}

void x86_pmu_cpuid_frequencies(X86CPU *cpu, uint32_t index, uint32_t *eax,
                               uint32_t *ebx, uint32_t *ecx, uint32_t *edx)
{
    const X86PMU *unit = cpu->env.pmu.unit;

    *eax = *ebx = *ecx = *edx = 0;
    if (!unit || !x86_pmu_states_frequencies(cpu)) {
        return;
    }
    if (index == 0x15) {
        /* TSC = crystal * EBX / EAX */
        *eax = CRYSTAL_HZ / 1000000;
        *ebx = unit->uarch.tsc_num;
        *ecx = CRYSTAL_HZ;
    } else {
        *eax = unit->uarch.tsc_num;
        *ebx = MAX(unit->uarch.frequency_mhz, unit->uarch.tsc_num);
        *ecx = BUS_MHZ;
    }
}
