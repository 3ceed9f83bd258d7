/*
 * Migration of the PMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counters, hidden ones included, and the ledger migrate.  Caches, predictors
 * and the pipeline start cold on the other side.
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "migration/cpu.h"
#include "migration/qemu-file-types.h"
#include "pmu-fault.h"

static bool x86_pmu_needed(void *opaque)
{
    X86CPU *cpu = opaque;

    return cpu->env.pmu.unit != NULL;
}

/* Room for the ledger as it migrates.  Allocated when first needed. */
static PmuSavedLedger *x86_pmu_saved(X86PMU *unit)
{
    if (!unit->migrated.ledger) {
        unit->migrated.ledger = g_new0(PmuSavedLedger, 1);
    }
    return unit->migrated.ledger;
}

/* Instructions that migrate in counters and that faults have not seen yet. */
static uint64_t x86_pmu_unseen(const X86PMU *unit)
{
    uint64_t sum = 0;

    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        sum += unit->migrated.perfmon.last.item[level][PMU_ITEM_INSTRUCTIONS] -
               unit->perfmon.last.item[level][PMU_ITEM_INSTRUCTIONS];
    }
    return sum;
}

/* Copies the present state.  The guest goes on here as if nothing was sent. */
static int x86_pmu_pre_save(void *opaque)
{
    X86CPU *cpu = opaque;
    X86PMU *unit = cpu->env.pmu.unit;
    PmuLedger ledger;

    /* A pending interrupt (Perfmon.pmi) migrates with the registers. */
    x86_pmu_peek(&cpu->env, &ledger, &unit->migrated.perfmon);
    pmu_ledger_save(&ledger, x86_pmu_saved(unit));
    x86_pmu_faults_save(unit, x86_pmu_unseen(unit));
    x86_pmu_observe_save(unit);
    if (!x86_pmu_clock_save(unit)) {
        error_report("cpu/pmu/clock: where modelled time is recorded or "
                     "replayed, snapshots can be taken before the guest runs "
                     "(rrsnapshot=), not later");
        return -EINVAL;
    }
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
    /* The instruction that ran here is gone; rCX is already the new one. */
    env->pmu.string = false;
    x86_pmu_sync(env, 0);
    /* Fields that do not migrate are the same on both sides. */
    env->pmu.unit->migrated.perfmon = env->pmu.unit->perfmon;
    x86_pmu_saved(env->pmu.unit);
    x86_pmu_faults_make_room(env->pmu.unit);
    env->pmu.unit->migrated.check_arrived = false;
    env->pmu.unit->migrated.clock_ran = -1;
    return 0;
}

/*
 * With -icount shift=model, migrated.clock_ran migrates: how much of the vCPU's
 * modelled time the machine's time has seen.
 */
static bool x86_pmu_clock_needed(void *opaque)
{
    X86CPU *cpu = opaque;

    return cpu->env.pmu.unit->is_clock;
}

static int x86_pmu_clock_post_load(void *opaque, int version_id)
{
    X86CPU *cpu = opaque;

    if (!cpu->env.pmu.unit->is_clock) {
        error_report("cpu/pmu/clock: this machine lacks -icount shift=model");
        return -EINVAL;
    }
    return 0;
}

static const VMStateDescription vmstate_clock_unit = {
    .name = "cpu/pmu/clock/unit",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_INT64(migrated.clock_ran, X86PMU),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_clock = {
    .name = "cpu/pmu/clock",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = x86_pmu_clock_needed,
    .post_load = x86_pmu_clock_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(env.pmu.unit, X86CPU, vmstate_clock_unit,
                               X86PMU),
        VMSTATE_END_OF_LIST()
    }
};

/*
 * Check what arrived, and take it over if it is valid.  Else the PMU goes on as
 * it was, unless only x86_pmu_clock_loaded() fails.
 */
static int x86_pmu_post_load(void *opaque, int version_id)
{
    X86CPU *cpu = opaque;
    X86PMU *unit = cpu->env.pmu.unit;
    PmuLedger ledger = unit->ledger;
    const char *unknown, *why;
    PmuLedgerSnapshot now;

    if (!pmu_ledger_load(&ledger, unit->migrated.ledger, &unknown, &why)) {
        error_report("cpu/pmu: %s", why);
        return -EINVAL;
    }
    pmu_ledger_snapshot(&ledger, &now);
    if (!perfmon_post_load(&unit->migrated.perfmon, &now, &why)) {
        x86_pmu_observe_halt(&cpu->env, PMU_CHECK_FEWER);
        error_report("cpu/pmu: %s", why);
        return -EINVAL;
    }
    if (!x86_pmu_faults_check(unit) || !x86_pmu_observe_check(unit)) {
        return -EINVAL;
    }
    if (unit->is_clock && unit->migrated.clock_ran < 0) {
        error_report("cpu/pmu: the machine that was saved lacks -icount "
                     "shift=model, which this one has");
        return -EINVAL;
    }
    if (unknown) {
        warn_report_once("cpu/pmu: the ledger has items that this version does "
                         "not count, %s for one: they are dropped", unknown);
    }
    unit->ledger = ledger;
    unit->perfmon = unit->migrated.perfmon;
    /* Rates that were learnt before the load do not hold any more. */
    unit->rates = (PerfmonEventRates) {};
    unit->perfmon.rates = &unit->rates;
    x86_pmu_observe_load(unit);
    x86_pmu_faults_load(&cpu->env);
    pmu_timing_reset(unit->timing);
    /* No vCPU runs, and those that share the L3 will start cold as well. */
    pmu_tag_array_clear(pmu_l3_tag_array(unit->l3));
    if (!x86_pmu_clock_loaded(unit)) {
        error_report("cpu/pmu/clock: time is not that of the ledger");
        return -EINVAL;
    }
    x86_pmu_arm(&cpu->env, 0, 0);
    return 0;
}

static int x86_pmu_get_hflags(QEMUFile *f, void *opaque, size_t size,
                              const VMStateField *field)
{
    uint32_t *hflags = opaque;

    *hflags = qemu_get_be32(f) & ~HF_PMU_MASK;
    return 0;
}

static int x86_pmu_put_hflags(QEMUFile *f, void *opaque, size_t size,
                              const VMStateField *field, JSONWriter *vmdesc)
{
    const uint32_t *hflags = opaque;

    qemu_put_be32(f, *hflags & ~HF_PMU_MASK);
    return 0;
}

const VMStateInfo vmstate_info_x86_hflags = {
    .name = "uint32",
    .get = x86_pmu_get_hflags,
    .put = x86_pmu_put_hflags,
};

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

static const VMStateDescription vmstate_item = {
    .name = "cpu/pmu/ledger/item",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_BUFFER_UNSAFE(name, PmuSavedItem, 1, PMU_SAVED_NAME),
        VMSTATE_UINT64_ARRAY(count, PmuSavedItem, PMU_LEVEL_NR),
        VMSTATE_END_OF_LIST()
    }
};

/* Checks @num_items before items are read, as there is no room for more. */
static bool x86_pmu_items_fit(void *opaque, int version_id)
{
    const PmuSavedLedger *saved = opaque;

    return saved->num_items <= PMU_SAVED_ITEMS;
}

static const VMStateDescription vmstate_ledger = {
    .name = "cpu/pmu/ledger",
    .version_id = 2,
    .minimum_version_id = 2,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(width, PmuSavedLedger),
        VMSTATE_UINT32(level, PmuSavedLedger),
        VMSTATE_STRUCT_ARRAY(open, PmuSavedLedger, PMU_LEVEL_NR, 1,
                             vmstate_open_cycle, PmuOpenCycle),
        VMSTATE_UINT32(num_items, PmuSavedLedger),
        VMSTATE_VALIDATE("cpu/pmu: items of the ledger fit",
                         x86_pmu_items_fit),
        VMSTATE_STRUCT_VARRAY_UINT32(item, PmuSavedLedger, num_items, 1,
                                     vmstate_item, PmuSavedItem),
        VMSTATE_END_OF_LIST()
    }
};

/* NetBurst and P5 have state that other register maps do not have. */
static bool x86_pmu_older_needed(void *opaque)
{
    const Perfmon *perfmon = opaque;

    return perfmon->config.map == PERFMON_MAP_NETBURST ||
           perfmon->config.map == PERFMON_MAP_P5;
}

static const VMStateDescription vmstate_older = {
    .name = "cpu/pmu/registers/older",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = x86_pmu_older_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64_SUB_ARRAY(gp, Perfmon, PERFMON_ARCH_GP,
                                 PERFMON_MAX_GP - PERFMON_ARCH_GP),
        VMSTATE_UINT64_SUB_ARRAY(evtsel, Perfmon, PERFMON_ARCH_GP,
                                 PERFMON_MAX_GP - PERFMON_ARCH_GP),
        VMSTATE_SUB_ARRAY(remainder, Perfmon, PERFMON_ARCH_GP,
                          PERFMON_MAX_GP - PERFMON_ARCH_GP, 0,
                          vmstate_info_int64, int64_t),
        VMSTATE_UINT64_ARRAY(escr, Perfmon, PERFMON_ESCRS),
        VMSTATE_UINT64(pebs_enable, Perfmon),
        VMSTATE_UINT64(pebs_matrix_vert, Perfmon),
        VMSTATE_UINT64(cesr, Perfmon),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_perfmon = {
    .name = "cpu/pmu/registers",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64_SUB_ARRAY(gp, Perfmon, 0, PERFMON_ARCH_GP),
        VMSTATE_UINT64_SUB_ARRAY(evtsel, Perfmon, 0, PERFMON_ARCH_GP),
        VMSTATE_SUB_ARRAY(remainder, Perfmon, 0, PERFMON_ARCH_GP, 0,
                          vmstate_info_int64, int64_t),
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
    },
    .subsections = (const VMStateDescription *const[]) {
        &vmstate_older,
        NULL
    }
};

static const VMStateDescription vmstate_unit = {
    .name = "cpu/pmu/unit",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT(migrated.perfmon, X86PMU, 1, vmstate_perfmon, Perfmon),
        VMSTATE_STRUCT_POINTER(migrated.ledger, X86PMU, vmstate_ledger,
                               PmuSavedLedger),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription *const[]) {
        &vmstate_x86_pmu_check,
        &vmstate_x86_pmu_faults,
        NULL
    }
};

const VMStateDescription vmstate_x86_pmu = {
    .name = "cpu/pmu",
    /* 9: ledger items migrate by name, so new items need no new version */
    .version_id = 9,
    .minimum_version_id = 9,
    .needed = x86_pmu_needed,
    .pre_save = x86_pmu_pre_save,
    .pre_load = x86_pmu_pre_load,
    .post_load = x86_pmu_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(env.pmu.unit, X86CPU, vmstate_unit, X86PMU),
        VMSTATE_END_OF_LIST()
    },
    .subsections = (const VMStateDescription *const[]) {
        &vmstate_clock,
        NULL
    }
};
