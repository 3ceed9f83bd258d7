/*
 * Migration of the PMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Above the line.  Counters, hidden ones included, and the ledger travel;
 * caches, predictors and the pipeline start cold on the other side.
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "migration/cpu.h"
#include "pmu-internal.h"

static bool x86_pmu_needed(void *opaque)
{
    X86CPU *cpu = opaque;

    return cpu->env.pmu.unit != NULL;
}

/* What does not travel is the same on both sides. */
static void x86_pmu_stage(X86PMU *unit)
{
    unit->migrated.perfmon = unit->perfmon;
    unit->migrated.ledger = unit->ledger;
}

static int x86_pmu_pre_save(void *opaque)
{
    X86CPU *cpu = opaque;

    /* Fold everything; a pending interrupt travels with it. */
    x86_pmu_sync(&cpu->env, 0);
    x86_pmu_rearm(&cpu->env);
    x86_pmu_stage(cpu->env.pmu.unit);
    return 0;
}

static int x86_pmu_pre_load(void *opaque)
{
    X86CPU *cpu = opaque;
    CPUX86State *env = &cpu->env;

    if (!env->pmu.unit) {
        error_report("cpu/pmu: this CPU has no PMU");
        return -EINVAL;
    }
    /* What was running here is gone; rCX is already the new one. */
    env->pmu.string = false;
    x86_pmu_sync(env, 0);
    x86_pmu_stage(env->pmu.unit);
    return 0;
}

/* Is what arrived a PMU?  If not, the one that was here goes on as it was. */
static int x86_pmu_post_load(void *opaque, int version_id)
{
    X86CPU *cpu = opaque;
    X86PMU *unit = cpu->env.pmu.unit;
    PmuLedgerSnapshot now;
    const char *why;

    if (!pmu_ledger_plausible(&unit->migrated.ledger)) {
        error_report("cpu/pmu: the ledger is not one");
        return -EINVAL;
    }
    pmu_ledger_snapshot(&unit->migrated.ledger, &now);
    if (!perfmon_post_load(&unit->migrated.perfmon, &now, &why)) {
        error_report("cpu/pmu: %s", why);
        return -EINVAL;
    }
    unit->ledger = unit->migrated.ledger;
    unit->perfmon = unit->migrated.perfmon;
    pmu_timing_reset(unit->timing);
    /* No vCPU runs, those that share it will start cold as well. */
    pmu_lines_clear(pmu_l3_lines(unit->l3));
    x86_pmu_arm(&cpu->env, 0, 0);
    return 0;
}

static const VMStateDescription vmstate_open_cycle = {
    .name = "cpu/pmu/ledger/open-cycle",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(history, PmuOpenCycle),
        VMSTATE_UINT32(slots, PmuOpenCycle),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_ledger = {
    .name = "cpu/pmu/ledger",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32_EQUAL(width, PmuLedger, "slots a cycle: pmu-width"),
        VMSTATE_UINT64_2DARRAY(slots, PmuLedger, PMU_LEVEL_NR, PMU_SLOT_NR),
        VMSTATE_UINT64_2DARRAY(event, PmuLedger, PMU_LEVEL_NR, PMU_ITEM_NR),
        VMSTATE_STRUCT_ARRAY(open, PmuLedger, PMU_LEVEL_NR, 1,
                             vmstate_open_cycle, PmuOpenCycle),
        VMSTATE_UINT32(level, PmuLedger),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_perfmon = {
    .name = "cpu/pmu/registers",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64_ARRAY(gp, Perfmon, PERFMON_MAX_GP),
        VMSTATE_UINT64_ARRAY(evtsel, Perfmon, PERFMON_MAX_GP),
        VMSTATE_UINT64_ARRAY(fixed, Perfmon, PERFMON_MAX_FIXED),
        VMSTATE_UINT64(fixed_ctr_ctrl, Perfmon),
        VMSTATE_UINT64(global_ctrl, Perfmon),
        VMSTATE_UINT64(global_status, Perfmon),
        VMSTATE_UINT64_ARRAY(metrics, Perfmon, PERFMON_MAX_METRICS),
        VMSTATE_UINT64(debugctl, Perfmon),
        VMSTATE_UINT64_ARRAY(offcore_rsp, Perfmon, 2),
        VMSTATE_UINT64(pebs_ld_lat, Perfmon),
        VMSTATE_UINT64(pebs_frontend, Perfmon),
        VMSTATE_BOOL(pmi, Perfmon),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_unit = {
    .name = "cpu/pmu/unit",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT(migrated.perfmon, X86PMU, 1, vmstate_perfmon, Perfmon),
        VMSTATE_STRUCT(migrated.ledger, X86PMU, 1, vmstate_ledger, PmuLedger),
        VMSTATE_END_OF_LIST()
    }
};

const VMStateDescription vmstate_x86_pmu = {
    .name = "cpu/pmu",
    /* 8: the ledger's items of page walks, and its width */
    .version_id = 8,
    .minimum_version_id = 8,
    .needed = x86_pmu_needed,
    .pre_save = x86_pmu_pre_save,
    .pre_load = x86_pmu_pre_load,
    .post_load = x86_pmu_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(env.pmu.unit, X86CPU, vmstate_unit, X86PMU),
        VMSTATE_END_OF_LIST()
    }
};
