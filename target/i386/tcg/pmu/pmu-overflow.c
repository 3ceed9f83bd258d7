/*
 * Overflows and performance-monitoring interrupts: when counters are checked,
 * and how interrupts reach the guest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The PMU never polls for overflows.  x86_pmu_arm() sets a budget by the
 * distance to the next one.  Blocks check the budget at their entry and call
 * x86_pmu_check() when it is used up.
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "accel/tcg/internal-common.h"
#include "cpu.h"
#include "exec/cpu-common.h"
#include "exec/exec-all.h"
#include "exec/helper-proto.h"
#include "hw/i386/apic.h"
#include "hw/i386/apic_internal.h"
#include "system/cpu-timers.h"
#include "pmu-fault.h"
#include "tcg/pmu/perfmon/map-netburst.h"
#include "trace.h"

/* Vectors below this one are illegal (SDM vol. 3A, 11.5.2). */
#define LEAST_VECTOR    16

/*
 * Progress after the last counter stopped for which code stays instrumented:
 * instructions, and slots if the model runs.
 */
#define IDLE_INSTRUCTIONS (1 << 20)

/*
 * Instructions or branches to an overflow, below which the current privilege
 * level gets all of the budget, and the first block of the other level checks
 * again.  Farther away each level gets half: a change of level costs nothing.
 */
#define SPLIT_BUDGET (1 << 16)

/* Instructions in @now that the counters have not seen yet. */
static uint64_t x86_pmu_retired(const X86PMU *unit,
                                const PmuLedgerSnapshot *now)
{
    uint64_t sum = 0;

    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        sum += now->item[level][PMU_ITEM_INSTRUCTIONS] -
               unit->perfmon.last.item[level][PMU_ITEM_INSTRUCTIONS];
    }
    return sum;
}

/* Bring the counters, and what depends on them, up to date with the ledger. */
static void x86_pmu_update(X86PMU *unit)
{
    uint64_t before = unit->perfmon.global_status, retired = 0;
    PmuLedgerSnapshot now;

    pmu_ledger_snapshot(&unit->ledger, &now);
    if (unlikely(unit->faults)) {
        retired = x86_pmu_retired(unit, &now);
    }
    perfmon_update(&unit->perfmon, &now);
    if (unlikely(unit->perfmon.global_status & ~before)) {
        x86_pmu_observe_overflow(&unit->cpu->env,
                                 unit->perfmon.global_status & ~before);
    }
    if (unlikely(unit->faults)) {
        x86_pmu_faults_retire(&unit->cpu->env, retired);
    }
    if (unlikely(x86_pmu_repairs(unit) && !unit->repairs_traced)) {
        unit->repairs_traced = true;
        trace_x86_pmu_repairs(CPU(unit->cpu)->cpu_index,
                              x86_pmu_repairs(unit));
    }
}

void x86_pmu_sync(CPUX86State *env, uint64_t insn)
{
    X86PMU *unit = env->pmu.unit;

    x86_pmu_run_all(env, insn);
    pmu_timing_flush(unit->timing);
    x86_pmu_update(unit);
}

void x86_pmu_peek(CPUX86State *env, PmuLedger *ledger, Perfmon *perfmon)
{
    X86PMU *unit = env->pmu.unit;
    PmuLedgerSnapshot now;

    x86_pmu_run_all(env, 0);
    pmu_timing_peek(unit->timing, ledger);
    *perfmon = unit->perfmon;
    perfmon->rates = NULL;
    pmu_ledger_snapshot(ledger, &now);
    perfmon_update(perfmon, &now);
}

/*
 * As x86_pmu_sync(), to see whether a counter overflows.  When this is called
 * depends on how code is cut into blocks.  So it settles the model's estimates,
 * which changes them, only if an overflow may depend on them.
 */
static void x86_pmu_update_counters(CPUX86State *env)
{
    X86PMU *unit = env->pmu.unit;
    PerfmonDistance slack;

    x86_pmu_run_all(env, 0);
    perfmon_distance_to_overflow(&unit->perfmon, &slack);
    if (MIN(slack.any, MIN(slack.cycles, slack.slots)) != UINT64_MAX) {
        pmu_timing_flush(unit->timing);
    } else {
        pmu_timing_flush_exact(unit->timing);
    }
    x86_pmu_update(unit);
}

void x86_pmu_set_mode(CPUX86State *env, uint32_t hflags)
{
    static const char *const names[] = {
        [0] = "off",
        [HF_PMU_OS_MASK >> HF_PMU_OS_SHIFT] = "count OS",
        [HF_PMU_USR_MASK >> HF_PMU_OS_SHIFT] = "count user",
        [(HF_PMU_OS_MASK | HF_PMU_USR_MASK) >> HF_PMU_OS_SHIFT] = "count",
        [HF_PMU_FAST_FORWARD >> HF_PMU_OS_SHIFT] = "fast-forward",
        [HF_PMU_MASK >> HF_PMU_OS_SHIFT] = "timing",
    };

    if ((env->hflags & HF_PMU_MASK) != hflags) {
        env->hflags = (env->hflags & ~HF_PMU_MASK) | hflags;
        trace_x86_pmu_mode(env_cpu(env)->cpu_index,
                           names[hflags >> HF_PMU_OS_SHIFT]);
    }
}

/* How far it is to an overflow, or to a fault that waits for instructions. */
static void x86_pmu_distance(const X86PMU *unit, PerfmonDistance *slack)
{
    perfmon_distance_to_overflow(&unit->perfmon, slack);
    if (unlikely(unit->faults)) {
        x86_pmu_faults_bound(unit, slack);
    }
}

/* The hflags bits for @demand; 0: nothing counts. */
static uint32_t x86_pmu_hflags(const CPUX86State *env,
                               const PerfmonDemand *demand,
                               const PerfmonDistance *slack)
{
    if (demand->timing) {
        return env->hflags & HF_PMU_TIMING_MASK ? env->hflags & HF_PMU_MASK
                                                : HF_PMU_MASK;
    }
    if (MIN(slack->instructions, slack->branches) != UINT64_MAX) {
        /* The instruction that overflows can be one that changes the CPL. */
        return HF_PMU_OS_MASK | HF_PMU_USR_MASK;
    }
    return (demand->level[PMU_LEVEL_OS] ? HF_PMU_OS_MASK : 0) |
           (demand->level[PMU_LEVEL_USR] ? HF_PMU_USR_MASK : 0);
}

/*
 * Most slots to the next check of counters of the model's events, where recent
 * rates decide when it is (x86_pmu_distance_any()).  No event counts faster
 * than PMU_TIMING_ITEM_RATE, but most that are worth an interrupt are a hundred
 * times as rare.  So the check comes half of the way to the overflow that is
 * expected by these rates.  If the event becomes more frequent just then, its
 * interrupt is late by CHECK_DISTANCE slots at most.
 */
#define CHECK_DISTANCE (1 << 14)

/*
 * Slots before an overflow of slots or cycles in which each block checks the
 * counters.  The distance to this overflow is known.  pmu_timing_progress() is
 * an estimate, but it counts instructions besides slots, which leaves room for
 * errors.  So each check comes early and finds a smaller part of the way left.
 */
#define LAST_SLOTS 64

static uint64_t x86_pmu_distance_slots(const X86PMU *unit,
                                       const PerfmonDistance *slack)
{
    uint64_t cycles = MIN(slack->cycles, INT64_MAX / PMU_MAX_WIDTH);
    uint64_t distance = MIN(slack->slots, cycles * unit->uarch.width);

    return distance - MIN(distance, LAST_SLOTS);
}

static uint64_t x86_pmu_distance_any(const PerfmonDistance *slack)
{
    return MAX(slack->any / PMU_TIMING_ITEM_RATE,
               MIN(slack->expected / 2, CHECK_DISTANCE));
}

/* The same for what is counted exactly: instructions and branches. */
static uint64_t x86_pmu_distance_exact(const PerfmonDistance *slack)
{
    uint64_t distance = MIN(slack->branches / PMU_TIMING_ITEM_RATE,
                            slack->instructions);

    /* A block and the one before it may run between two checks. */
    return distance - MIN(distance, 2 * PMU_BLOCK_INSNS);
}

/*
 * All counters are stopped: may a driver start the same ones again soon?  Taken
 * for true for IDLE_INSTRUCTIONS of progress.
 */
static bool x86_pmu_may_resume(const X86PMU *unit)
{
    return unit->resumes_until > pmu_timing_progress(unit->timing);
}

static void x86_pmu_arm_timing(X86PMU *unit, const PerfmonDistance *slack)
{
    uint64_t distance = MIN(x86_pmu_distance_slots(unit, slack),
                            x86_pmu_distance_any(slack));

    distance = MIN(distance, x86_pmu_distance_exact(slack));
    if (unit->idle || (unit->is_clock && x86_pmu_may_resume(unit))) {
        distance = MIN(distance, IDLE_INSTRUCTIONS);
    }
    distance = MIN(distance, INT64_MAX);
    unit->check_at = pmu_timing_progress(unit->timing) + distance;
    unit->cpu->env.pmu.room = -1;
}

static void x86_pmu_arm_counts(CPUX86State *env, const PerfmonDistance *slack,
                               unsigned ahead, unsigned need)
{
    X86PMU *unit = env->pmu.unit;
    PmuLevel current = x86_pmu_level(env);
    bool near = MIN(slack->instructions, slack->branches) <= SPLIT_BUDGET;

    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        uint64_t exact = MIN(slack->instructions_level[level],
                             X86_PMU_MAX_BUDGET);
        uint64_t budget = MIN(exact, slack->branches);

        if (unit->idle) {
            budget = MIN(budget, IDLE_INSTRUCTIONS);
        } else if (near && level != current) {
            budget = 0;
        } else if (budget > SPLIT_BUDGET) {
            budget /= 2;
        } else {
            /* A block has one branch at most, its last instruction. */
            budget = MIN(exact, MAX(budget, need));
        }
        unit->granted[level] = budget;
        env->pmu.budget[level] = budget - (level == current ? ahead : 0);
    }
}

/* Does something wait for x86_pmu_deliver()? */
static bool x86_pmu_is_asked(const X86PMU *unit)
{
    return unit->perfmon.pmi || unlikely(unit->fault_asked);
}

/* What must run for counters and for the machine's clock. */
static PerfmonDemand x86_pmu_demand(const X86PMU *unit)
{
    PerfmonDemand demand = perfmon_demand(&unit->perfmon);

    demand.interest.time_only = unit->is_clock && !demand.timing;
    demand.timing |= unit->is_clock;
    return demand;
}

/*
 * Tell the model what is of interest.  After the last counter stopped, what was
 * of interest stays so for a while.
 */
static void x86_pmu_set_interest(X86PMU *unit, PmuInterest interest)
{
    if (!interest.time_only) {
        unit->resumes_until = pmu_timing_progress(unit->timing) +
                              IDLE_INSTRUCTIONS;
    } else if (x86_pmu_may_resume(unit)) {
        return;
    }
    pmu_timing_set_interest(unit->timing, interest);
}

static void x86_pmu_arm_all(CPUX86State *env, uint64_t insn, unsigned need,
                            const PerfmonDistance *slack)
{
    X86PMU *unit = env->pmu.unit;
    PerfmonDemand demand = x86_pmu_demand(unit);
    uint32_t hflags = x86_pmu_hflags(env, &demand, slack);
    bool timing = FIELD_EX64(insn, X86_PMU_INSN, TIMING);

    x86_pmu_counted_revoke(env);
    unit->idle = !hflags;
    /*
     * When nothing counts any more, bits and interest stay for a while.  A
     * driver stops and starts all counters around each interrupt and context
     * switch, and a change of bits means other translated code.
     */
    if (hflags) {
        x86_pmu_set_interest(unit, demand.interest);
        x86_pmu_set_mode(env, hflags);
    } else if (x86_pmu_is_asked(unit) && !(env->hflags & HF_PMU_MASK)) {
        /*
         * State that was loaded may be from between an overflow that froze all
         * counters and its interrupt: only instrumented code checks that.
         */
        x86_pmu_set_mode(env, HF_PMU_OS_MASK | HF_PMU_USR_MASK);
    }
    x86_pmu_arm_counts(env, slack,
                       timing ? 0 : FIELD_EX64(insn, X86_PMU_INSN, AHEAD),
                       need);
    if (x86_pmu_is_asked(unit)) {
        /* Come back at the next block's entry. */
        unit->check_at = 0;
        env->pmu.budget[x86_pmu_level(env)] -=
            unit->granted[x86_pmu_level(env)];
        unit->granted[x86_pmu_level(env)] = 0;
    }
}

void x86_pmu_arm(CPUX86State *env, uint64_t insn, unsigned need)
{
    X86PMU *unit = env->pmu.unit;
    PerfmonDistance slack;

    perfmon_event_rates_update(&unit->rates);
    x86_pmu_distance(unit, &slack);
    unit->deliveries_left = slack.deliveries;
    x86_pmu_arm_timing(unit, &slack);
    x86_pmu_arm_all(env, insn, need, &slack);
}

uint32_t x86_pmu_lvtpc(CPUX86State *env)
{
    DeviceState *dev = env_archcpu(env)->apic_state;
    const APICCommonState *apic;

    if (!dev) {
        return APIC_LVT_MASKED;
    }
    apic = APIC_COMMON(dev);
    return apic->lvt[APIC_LVT_PERFORM] |
           (apic->spurious_vec & APIC_SV_ENABLE ? 0 : APIC_LVT_MASKED);
}

/*
 * Deliver an interrupt through LVTPC, which is not masked, if its mode and
 * vector are possible.
 */
static void x86_pmu_interrupt_local(APICCommonState *apic)
{
    uint32_t lvtpc = apic->lvt[APIC_LVT_PERFORM];

    switch (extract32(lvtpc, 8, 3)) {
    case APIC_DM_FIXED:
        if ((lvtpc & APIC_VECTOR_MASK) < LEAST_VECTOR) {
            apic->esr |= APIC_ESR_RECV_ILLEGAL_VECT;
            break;
        }
        /* fall through */
    case APIC_DM_SMI:
    case APIC_DM_NMI:
        apic_deliver_pmi(DEVICE(apic));
        break;
    default:
        /* LVTPC supports neither INIT nor ExtINT (SDM vol. 3A, 11.5.1). */
        break;
    }
}

void x86_pmu_interrupt_apic(CPUX86State *env)
{
    bool locked = bql_locked();

    if (!locked) {
        bql_lock();
    }
    if (!(x86_pmu_lvtpc(env) & APIC_LVT_MASKED)) {
        APICCommonState *apic = APIC_COMMON(env_archcpu(env)->apic_state);

        x86_pmu_interrupt_local(apic);
        if (env->pmu.unit->masks_lvt) {
            apic->lvt[APIC_LVT_PERFORM] |= APIC_LVT_MASKED;
        }
    }
    if (!locked) {
        bql_unlock();
    }
}

static void x86_pmu_assert_again(CPUState *cs, run_on_cpu_data data)
{
    X86PMU *unit = cpu_env(cs)->pmu.unit;

    if (unit && perfmon_netburst_pmi_asserted(&unit->perfmon) &&
        unit->cpu->apic_state) {
        x86_pmu_observe_pmi(cpu_env(cs), true);
        x86_pmu_interrupt_apic(cpu_env(cs));
    }
}

void x86_pmu_unmasked(CPUX86State *env, uint32_t lvtpc)
{
    X86PMU *unit = env->pmu.unit;

    if (unit->perfmon.config.map == PERFMON_MAP_NETBURST &&
        !(lvtpc & APIC_LVT_MASKED) &&
        perfmon_netburst_pmi_asserted(&unit->perfmon)) {
        /* LVTPC is about to be written: that takes effect before this runs. */
        async_run_on_cpu(env_cpu(env), x86_pmu_assert_again,
                         RUN_ON_CPU_NULL);
    }
}

bool x86_pmu_deliver(CPUX86State *env)
{
    X86PMU *unit = env->pmu.unit;
    bool overflow = unit->perfmon.pmi;
    bool acted = unlikely(unit->fault_asked);
    bool by_fault = acted && x86_pmu_faults_act(env);

    if (!overflow && !by_fault) {
        return acted;
    }
    unit->perfmon.pmi = false;
    if (unlikely(unit->faults) && x86_pmu_fault_deliver(env)) {
        return true;
    }
    x86_pmu_observe_pmi(env, overflow);
    if (unit->cpu->apic_state) {
        x86_pmu_interrupt_apic(env);
    }
    return true;
}

G_NORETURN void x86_pmu_leave(CPUX86State *env, unsigned num_insns,
                              unsigned run)
{
    CPUState *cs = env_cpu(env);
    uint32_t cflags = curr_cflags(cs);

    if (icount_enabled()) {
        /* gen_tb_start() has taken them off already. */
        cs->neg.icount_decr.u16.low += num_insns;
    }
    if (run && !(cflags & CF_COUNT_MASK)) {
        cs->cflags_next_tb = cflags | run;
    }
    cpu_loop_exit(cs);
}

/* Stop running instrumented code if nothing has counted for long. */
static bool x86_pmu_retire_idle(CPUX86State *env)
{
    if (!env->pmu.unit->idle) {
        return false;
    }
    x86_pmu_set_mode(env, 0);
    return true;
}

void x86_pmu_check(CPUX86State *env, unsigned num_insns)
{
    X86PMU *unit = env->pmu.unit;
    bool interrupt;
    PerfmonDistance slack;

    unit->waiting = num_insns;
    x86_pmu_update_counters(env);
    interrupt = x86_pmu_deliver(env);
    unit->waiting = 0;
    if (x86_pmu_retire_idle(env)) {
        x86_pmu_leave(env, num_insns, 0);
    }
    x86_pmu_arm(env, 0, num_insns);
    if (interrupt) {
        x86_pmu_leave(env, num_insns, 0);
    }
    x86_pmu_distance(unit, &slack);
    if (slack.instructions_level[x86_pmu_level(env)] < num_insns) {
        x86_pmu_leave(env, num_insns,
                      slack.instructions_level[x86_pmu_level(env)]);
    }
}

/* count: a block of @num_insns, about to run, does not fit into the budget. */
void helper_x86_pmu_expired(CPUX86State *env, uint32_t num_insns)
{
    x86_pmu_check(env, num_insns);
    x86_pmu_leave(env, num_insns, 0);
}

void x86_pmu_check_now(CPUX86State *env)
{
    const X86PMU *unit = env->pmu.unit;

    /* An idle unit only waits for an interrupt: let its budget run out. */
    if (unit && (env->hflags & HF_PMU_MASK) &&
        (!unit->idle || x86_pmu_is_asked(unit))) {
        x86_pmu_update_counters(env);
        x86_pmu_deliver(env);
        x86_pmu_arm(env, 0, 0);
    }
}
