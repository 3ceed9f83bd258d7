/*
 * RDMSR, WRMSR and RDPMC on the PMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * perfmon/ has the registers themselves.  This file has only what surrounds an
 * access: #GP, and which instructions count.
 */

#include "qemu/osdep.h"
#include "qemu/log.h"
#include "cpu.h"
#include "exec/cpu-common.h"
#include "exec/helper-proto.h"
#include "system/cpu-timers.h"
#include "tcg/insn-start-words.h"
#include "tcg/helper-tcg.h"
#include "pmu-fault.h"
#include "tcg/pmu/check/recorder.h"
#include "tcg/pmu/perfmon/register-map.h"
#include "trace.h"

/*
 * Read-only bits of IA32_MISC_ENABLE (SDM vol. 4, table 2-2): performance
 * monitoring available; BTS and PEBS unavailable.
 */
#define MISC_ENABLE_EMON        (1ull << 7)
#define MISC_ENABLE_BTS_UNAVAIL (1ull << 11)
#define MISC_ENABLE_PEBS_UNAVAIL (1ull << 12)

uint64_t x86_pmu_current_insn(CPUX86State *env, uintptr_t retaddr)
{
    uint64_t data[TARGET_INSN_START_WORDS] = { };

    return cpu_unwind_state_data(env_cpu(env), retaddr, data) ? data[2] : 0;
}

/*
 * Bring counters up to date for the instruction that reads them.  It has not
 * retired, so counters do not count it yet.
 */
static void x86_pmu_sync_before(CPUX86State *env, uintptr_t retaddr)
{
    uint64_t insn = x86_pmu_current_insn(env, retaddr);

    x86_pmu_sync(env, insn);
    x86_pmu_arm(env, insn, 0);
}

/* What faults on demand make of an access that is about to begin. */
static X86PMUFaultAction x86_pmu_fault_of(CPUX86State *env, PmuCheckAccess how,
                                          uint32_t msr)
{
    return unlikely(env->pmu.unit->faults)
           ? x86_pmu_fault_access(env, how, msr) : X86_PMU_FAULT_NONE;
}

/*
 * The time stamp counter, which is also C3's PerfCtr0.  With icount only the
 * last instruction of a block may read the time, and RDMSR need not be that.
 */
static uint64_t x86_pmu_tsc(CPUX86State *env)
{
    if (icount_enabled()) {
        qemu_log_mask(LOG_UNIMP, "x86 PMU: C3's PerfCtr0 with -icount\n");
        return 0;
    }
    return cpu_get_tsc(env);
}

bool x86_pmu_rdmsr(CPUX86State *env, uint64_t *value, uintptr_t retaddr)
{
    X86PMU *unit = env->pmu.unit;
    uint32_t msr = env->regs[R_ECX];
    X86PMUFaultAction fault;

    if (!unit) {
        return false;
    }
    if (msr == MSR_PMU_IA32_PMC0 &&
        unit->perfmon.config.map == PERFMON_MAP_C3) {
        *value = x86_pmu_tsc(env);
        return true;
    }
    if (msr == MSR_IA32_MISC_ENABLE && unit->misc_enable) {
        *value = env->msr_ia32_misc_enable | MISC_ENABLE_EMON |
                 MISC_ENABLE_BTS_UNAVAIL | MISC_ENABLE_PEBS_UNAVAIL;
        return true;
    }
    switch (perfmon_rdmsr(&unit->perfmon, msr, value)) {
    case PERFMON_NOT_OURS:
        return false;
    case PERFMON_GP:
        x86_pmu_observe_gp(env, PMU_CHECK_RDMSR, msr, 0);
        raise_exception_err_ra(env, EXCP0D_GPF, 0, retaddr);
    case PERFMON_OK:
        break;
    }
    fault = x86_pmu_fault_of(env, PMU_CHECK_RDMSR, msr);
    if (fault == X86_PMU_FAULT_GP) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, retaddr);
    }
    x86_pmu_sync_before(env, retaddr);
    perfmon_rdmsr(&unit->perfmon, msr, value);
    if (unlikely(unit->faults)) {
        *value = fault == X86_PMU_FAULT_ZERO
                 ? 0 : x86_pmu_fault_read(env, PMU_CHECK_RDMSR, msr, *value);
    }
    x86_pmu_observe_read(env, PMU_CHECK_RDMSR, msr, *value);
    return true;
}

/* A text that says why the counter of @view does not count as hardware does. */
static char *x86_pmu_describe(const PerfmonView *view)
{
    return g_strdup_printf("x86 PMU: event 0x%" PRIx64 " (%s): %s%s%s%s",
                           view->selector,
                           view->event ? view->event : "in no list",
                           pmu_event_state_name(view->state),
                           view->state > PMU_EVENT_APPROXIMATE
                           ? ", it counts zero" : "",
                           view->note ? ": " : "",
                           view->note ? view->note : "");
}

/* Most texts that are logged: a guest can make up millions of selectors. */
#define X86_PMU_MAX_LOGGED_EVENTS 4096

/* Log once for each event that it is not counted as hardware does. */
static void x86_pmu_log_event(X86PMU *unit, const PerfmonView *view)
{
    char *text;

    if (!view->switched_on || view->state < PMU_EVENT_APPROXIMATE ||
        g_hash_table_size(unit->logged) >= X86_PMU_MAX_LOGGED_EVENTS) {
        return;
    }
    text = x86_pmu_describe(view);
    if (!g_hash_table_contains(unit->logged, text)) {
        qemu_log_mask(LOG_UNIMP, "%s\n", text);
        g_hash_table_add(unit->logged, text);
    } else {
        g_free(text);
    }
}

/* @msr was written.  If it selects events, log what counters cannot count. */
static void x86_pmu_log_events(X86PMU *unit, uint32_t msr)
{
    PerfmonView view;

    if (!qemu_loglevel_mask(LOG_UNIMP) ||
        !perfmon_msr_selects(&unit->perfmon, msr)) {
        return;
    }
    for (unsigned i = 0; i < unit->perfmon.config.num_gp; i++) {
        perfmon_view(&unit->perfmon, i, &view);
        x86_pmu_log_event(unit, &view);
    }
}

bool x86_pmu_wrmsr(CPUX86State *env, uint64_t value, uintptr_t retaddr)
{
    X86PMU *unit = env->pmu.unit;
    uint32_t msr = env->regs[R_ECX];
    uint64_t written = value;
    X86PMUFaultAction fault;

    if (!unit) {
        return false;
    }
    switch (perfmon_wrmsr_check(&unit->perfmon, msr, value)) {
    case PERFMON_NOT_OURS:
        return false;
    case PERFMON_GP:
        x86_pmu_observe_gp(env, PMU_CHECK_WRMSR, msr, value);
        raise_exception_err_ra(env, EXCP0D_GPF, 0, retaddr);
    case PERFMON_OK:
        break;
    }
    fault = x86_pmu_fault_of(env, PMU_CHECK_WRMSR, msr);
    if (fault == X86_PMU_FAULT_GP) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, retaddr);
    }
    /*
     * A counter counts the WRMSR that stops it, and not the one that starts it.
     * WRMSR ends its block, so the interrupt of a counter that it stops can
     * still come right behind it.  TLB flushes from before a counter starts are
     * not its own.
     */
    if (!env->pmu.record && unit->mappings == PMU_MAPPINGS_STALE) {
        x86_pmu_flush_model_tlbs(unit);
    }
    x86_pmu_sync(env, 0);
    if (unlikely(unit->faults)) {
        written = x86_pmu_fault_write(env, msr, value);
    }
    x86_pmu_observe_write(env, msr, value);
    if (fault != X86_PMU_FAULT_IGNORE) {
        perfmon_wrmsr(&unit->perfmon, msr, written);
        x86_pmu_log_events(unit, msr);
    }
    x86_pmu_deliver(env);
    x86_pmu_arm(env, 0, 0);
    return true;
}

void x86_pmu_require_rdpmc(CPUX86State *env, uintptr_t retaddr)
{
    if (env->pmu.unit && !env->pmu.unit->has_rdpmc) {
        raise_exception_err_ra(env, EXCP06_ILLOP, 0, retaddr);
    }
}

bool x86_pmu_rdpmc(CPUX86State *env, uintptr_t retaddr)
{
    X86PMU *unit = env->pmu.unit;
    uint32_t ecx = env->regs[R_ECX], msr = pmu_rdpmc_msr(ecx);
    X86PMUFaultAction fault;
    uint64_t value;

    if (!unit) {
        return false;
    }
    if (perfmon_rdpmc(&unit->perfmon, ecx, &value) != PERFMON_OK) {
        x86_pmu_observe_gp(env, PMU_CHECK_RDPMC, msr ?: ecx, 0);
        raise_exception_err_ra(env, EXCP0D_GPF, 0, retaddr);
    }
    fault = x86_pmu_fault_of(env, PMU_CHECK_RDPMC, msr);
    if (fault == X86_PMU_FAULT_GP) {
        raise_exception_err_ra(env, EXCP0D_GPF, 0, retaddr);
    }
    x86_pmu_sync_before(env, retaddr);
    perfmon_rdpmc(&unit->perfmon, ecx, &value);
    if (unlikely(unit->faults)) {
        value = fault == X86_PMU_FAULT_ZERO
                ? 0 : x86_pmu_fault_read(env, PMU_CHECK_RDPMC, msr, value);
    }
    env->regs[R_EAX] = (uint32_t)value;
    env->regs[R_EDX] = value >> 32;
    trace_x86_pmu_rdpmc(env_cpu(env)->cpu_index, ecx, value, x86_pmu_pc(env),
                        env->hflags & HF_CPL_MASK);
    x86_pmu_observe_read(env, PMU_CHECK_RDPMC, msr, value);
    if (perfmon_rdpmc_done(&unit->perfmon, ecx)) {
        x86_pmu_arm(env, x86_pmu_current_insn(env, retaddr), 0);
    }
    return true;
}
