/*
 * The PMU as a property of a CPU: the CPU features that come with it, and its
 * life from realize to unrealize.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "hw/qdev-properties.h"
#include "exec/exec-all.h"
#include "exec/tb-flush.h"
#include "system/kvm.h"
#include "system/tcg.h"
#include "cpu.h"
#include "pmu.h"

static bool x86_pmu_wants_metrics(X86CPU *cpu)
{
    return cpu->env.features[FEAT_PERF_CAPABILITIES] &
           PERF_CAP_BIT_PERF_METRICS;
}

/*
 * @cpu has no PMU.  Mark the feature bits that describe one as the user's
 * choice, so that not even "max" gets them, which takes all features that the
 * accelerator has.
 */
static void x86_pmu_hide(X86CPU *cpu)
{
    cpu->env.user_features[FEAT_1_ECX] |= CPUID_EXT_PDCM;
    cpu->env.user_features[FEAT_PERF_CAPABILITIES] |=
        PERF_CAP_BIT_FW_WRITE | PERF_CAP_BIT_PERF_METRICS;
}

#ifdef CONFIG_USER_ONLY

bool x86_pmu_expand_features(X86CPU *cpu, Error **errp)
{
    if (x86_pmu_wants_metrics(cpu)) {
        error_setg(errp, "perf-metrics=on needs system emulation: "
                   "user mode has no performance-monitoring unit");
        return false;
    }
    x86_pmu_hide(cpu);
    return true;
}

#else

#include "pmu-fault.h"
#include "pmu-models.h"
#include "trace.h"
#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/decoder.h"
#include "tcg/pmu/perfmon/register-map.h"

/* For messages: CPU models with PERF_METRICS, and others with a PMU. */
#define X86_PMU_MODEL_NAMES "Icelake-Server, SapphireRapids"
#define X86_PMU_OLDER_NAMES "pentium, pentium2, pentium3, qemu32, kvm32, " \
    "kvm64, coreduo, core2duo, n270, Conroe, Penryn, Nehalem to Cooperlake, " \
    "athlon, qemu64, max, phenom, Opteron_G1 to _G5, EPYC, Dhyana"

/* Range of perf-metrics-width: bits of PERF_METRICS' hidden counters. */
#define METRICS_WIDTH_MIN 8
#define METRICS_WIDTH_MAX 48

/* Did -cpu or -global give @property?  Does not see those of device_add. */
static bool x86_pmu_set_by_user(X86CPU *cpu, const char *property)
{
    return qdev_find_global_prop(OBJECT(cpu), property) != NULL;
}

/* Did the user switch off pdcm, which announces IA32_PERF_CAPABILITIES? */
static bool x86_pmu_without_pdcm(X86CPU *cpu)
{
    return ~cpu->env.features[FEAT_1_ECX] &
           cpu->env.user_features[FEAT_1_ECX] & CPUID_EXT_PDCM;
}

/* Why @cpu cannot have the PMU it asks for; NULL if it can. */
static const char *x86_pmu_obstacle(X86CPU *cpu, bool metrics)
{
    const X86PMUModel *model = x86_pmu_model(cpu);

    if (!model) {
        return "its PMU is not modelled";
    }
    return metrics && !model->num_metrics ? "its PMU has no PERF_METRICS"
                                          : NULL;
}

/* Set the CPU features that come with the PMU of AMD's family 15H and later. */
static void x86_pmu_imply_amd(X86CPU *cpu, const X86PMUModel *model)
{
    CPUX86State *env = &cpu->env;
    int number = x86_pmu_model_number(env->cpuid_version);

    if (model->map != PERFMON_MAP_AMD ||
        model->num_gp <= PERFMON_AMD_LEGACY_GP) {
        return;
    }
    if (!(env->user_features[FEAT_8000_0001_ECX] & CPUID_EXT3_PERFCORE)) {
        env->features[FEAT_8000_0001_ECX] |= CPUID_EXT3_PERFCORE;
    }
    if (x86_pmu_has_perfmon_v2(model, number) &&
        !(env->user_features[FEAT_8000_0022_EAX] &
          CPUID_8000_0022_EAX_PERFMON_V2)) {
        env->features[FEAT_8000_0022_EAX] |= CPUID_8000_0022_EAX_PERFMON_V2;
    }
}

/* @cpu gets a PMU: set the features that come with it, unless the user did. */
static void x86_pmu_imply(X86CPU *cpu, const X86PMUModel *model)
{
    CPUX86State *env = &cpu->env;
    int number = x86_pmu_model_number(env->cpuid_version);

    cpu->enable_pmu = true;
    x86_pmu_imply_amd(cpu, model);
    if (!model->pdcm) {
        return;
    }
    if (!(env->user_features[FEAT_1_ECX] & CPUID_EXT_PDCM)) {
        env->features[FEAT_1_ECX] |= CPUID_EXT_PDCM;
    }
    if (!(env->user_features[FEAT_PERF_CAPABILITIES] & PERF_CAP_BIT_FW_WRITE) &&
        model->full_width && x86_pmu_profile_has_full_width(cpu)) {
        env->features[FEAT_PERF_CAPABILITIES] |= PERF_CAP_BIT_FW_WRITE;
    }
    if (model->misnamed && number == model->misnamed &&
        !x86_pmu_set_by_user(cpu, "model")) {
        object_property_set_int(OBJECT(cpu), "model", model->models[0],
                                &error_abort);
    }
}

/* @cpu gets no PMU.  False and @errp set if a property needs one. */
static bool x86_pmu_go_without(X86CPU *cpu, Error **errp)
{
    x86_pmu_hide(cpu);
    return x86_pmu_check_unchanged(cpu, "pmu=on or perf-metrics=on", errp);
}

static bool x86_pmu_expand_tcg(X86CPU *cpu, Error **errp)
{
    bool metrics = x86_pmu_wants_metrics(cpu);
    const char *asked = metrics ? "perf-metrics=on" : "pmu=on";
    const char *obstacle;
    PmuUarch uarch;

    if (metrics && x86_pmu_set_by_user(cpu, "pmu") && !cpu->enable_pmu) {
        error_setg(errp, "perf-metrics=on contradicts pmu=off");
        return false;
    }
    if (metrics && x86_pmu_without_pdcm(cpu)) {
        error_setg(errp, "perf-metrics=on contradicts pdcm=off");
        return false;
    }
    if (!metrics && !cpu->enable_pmu) {
        return x86_pmu_go_without(cpu, errp);
    }
    obstacle = x86_pmu_obstacle(cpu, metrics);
    if (obstacle) {
        error_setg(errp, "%s: CPU model '%s' cannot have it with TCG, as %s; "
                   "CPU models that can: " X86_PMU_MODEL_NAMES "%s",
                   asked, object_get_typename(OBJECT(cpu)), obstacle,
                   metrics ? "" : ", " X86_PMU_OLDER_NAMES);
        return false;
    }
    if (cpu->pmu_metrics_width < METRICS_WIDTH_MIN ||
        cpu->pmu_metrics_width > METRICS_WIDTH_MAX) {
        error_setg(errp, "perf-metrics-width=%u is out of range: "
                   "it must be %d to %d", cpu->pmu_metrics_width,
                   METRICS_WIDTH_MIN, METRICS_WIDTH_MAX);
        return false;
    }
    if (!x86_pmu_uarch(cpu, x86_pmu_model(cpu)->core, &uarch, errp)) {
        return false;
    }
    x86_pmu_imply(cpu, x86_pmu_model(cpu));
    x86_pmu_clock_imply(cpu);
    return true;
}

bool x86_pmu_expand_features(X86CPU *cpu, Error **errp)
{
    if (cpu->pmu_metrics_width != METRICS_WIDTH_MAX &&
        !x86_pmu_wants_metrics(cpu)) {
        error_setg(errp, "perf-metrics-width=%u needs perf-metrics=on",
                   cpu->pmu_metrics_width);
        return false;
    }
    if (tcg_enabled()) {
        return x86_pmu_expand_tcg(cpu, errp);
    }
    if (kvm_enabled() && x86_pmu_wants_metrics(cpu) &&
        !(x86_cpu_get_supported_feature_word(NULL, FEAT_PERF_CAPABILITIES) &
          PERF_CAP_BIT_PERF_METRICS)) {
        error_setg(errp, "perf-metrics=on: this host's KVM does not offer it; "
                   "with accel=tcg these CPU models have it: "
                   X86_PMU_MODEL_NAMES);
        return false;
    }
    return x86_pmu_check_unchanged(cpu, "accel=tcg", errp);
}

/*
 * Hide AMD's features of a PMU until x86_pmu_realize().  TCG lacks them, except
 * on CPUs with a unit, so QEMU would warn of them.
 */
static void x86_pmu_take_amd(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;
    const X86PMUModel *model = x86_pmu_model(cpu);

    if (!model || model->map != PERFMON_MAP_AMD) {
        return;
    }
    env->pmu.perfctr_core = model->num_gp > PERFMON_AMD_LEGACY_GP &&
        (env->features[FEAT_8000_0001_ECX] & CPUID_EXT3_PERFCORE);
    env->pmu.perfmon_v2 = env->pmu.perfctr_core &&
        (env->features[FEAT_8000_0022_EAX] & CPUID_8000_0022_EAX_PERFMON_V2);
    if (env->pmu.perfctr_core) {
        env->features[FEAT_8000_0001_ECX] &= ~CPUID_EXT3_PERFCORE;
        env->features[FEAT_8000_0022_EAX] &= ~CPUID_8000_0022_EAX_PERFMON_V2;
    }
}

void x86_pmu_drop_implied(X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;

    if (!tcg_enabled() || !cpu->enable_pmu) {
        return;
    }
    x86_pmu_take_amd(cpu);
    if (cpu->enforce_cpuid || cpu->force_features) {
        return;
    }
    for (FeatureWord w = 0; w < FEATURE_WORDS; w++) {
        uint64_t missing = env->features[w] & ~env->user_features[w] &
                           ~x86_cpu_get_supported_feature_word(NULL, w);

        if (missing) {
            env->features[w] &= ~missing;
            cpu->filtered_features[w] |= missing;
            trace_x86_pmu_drop_implied(w, missing);
        }
    }
}

/* Give @unit its core, that of @model.  False and @errp set if it cannot. */
static bool x86_pmu_build_core(X86PMU *unit, const X86PMUModel *model,
                               Error **errp)
{
    CPUX86State *env = &unit->cpu->env;

    if (!x86_pmu_uarch(unit->cpu, model->core, &unit->uarch, errp) ||
        !x86_pmu_check_code(unit, errp) || !x86_pmu_find_l3(unit, errp)) {
        return false;
    }
    unit->decoder = pmu_decoder_new(model->core, &unit->uarch);
    if (!unit->decoder) {
        error_setg(errp, "pmu=on: Capstone cannot be started");
        return false;
    }
    unit->timing = pmu_timing_new(&unit->uarch, &unit->ledger, unit->l3,
                                  x86_pmu_translate, env);
    if (!unit->timing) {
        error_setg(errp, "pmu=on: no memory for the modelled core");
        return false;
    }
    env->pmu.runs = pmu_timing_block_runs(unit->timing);
    if (env->pmu.unsampled) {
        pmu_timing_set_sampling(unit->timing, NULL);
    }
    return true;
}

/*
 * Complete @config of an AMD unit by the features that x86_pmu_take_amd() hid,
 * and let @cpu have these features again.
 */
static void x86_pmu_configure_amd(X86CPU *cpu, PerfmonConfig *config)
{
    CPUX86State *env = &cpu->env;

    if (!env->pmu.perfctr_core) {
        config->num_gp = PERFMON_AMD_LEGACY_GP;
        return;
    }
    env->features[FEAT_8000_0001_ECX] |= CPUID_EXT3_PERFCORE;
    config->version = env->pmu.perfmon_v2 ? 2 : 0;
    if (config->version) {
        env->features[FEAT_8000_0022_EAX] |= CPUID_8000_0022_EAX_PERFMON_V2;
    }
}

/* Set @config to the registers of @model with the features that @cpu has. */
static bool x86_pmu_configure(X86CPU *cpu, const X86PMUModel *model,
                              PerfmonConfig *config, Error **errp)
{
    CPUX86State *env = &cpu->env;
    bool architectural = model->map == PERFMON_MAP_ARCHITECTURAL;
    bool pdcm = env->features[FEAT_1_ECX] & CPUID_EXT_PDCM;

    *config = (PerfmonConfig) {
        .core = model->core, .map = model->map, .version = model->version,
        .num_gp = model->num_gp, .num_fixed = model->num_fixed,
        .counter_width = model->width, .num_metrics = model->num_metrics,
        .metrics_width = cpu->pmu_metrics_width,
        .iq_escrs = model->iq_escrs, .one_offcore = model->one_offcore,
        .second_thread = cpu->thread_id > 0 && cpu->thread_id % 2,
        .pdcm = architectural && pdcm,
        .capabilities = architectural && pdcm
                        ? env->features[FEAT_PERF_CAPABILITIES] : 0,
    };
    if (model->map == PERFMON_MAP_AMD) {
        x86_pmu_configure_amd(cpu, config);
    }
    return x86_pmu_what_if(cpu, config, errp);
}

bool x86_pmu_realize(X86CPU *cpu, Error **errp)
{
    CPUX86State *env = &cpu->env;
    const X86PMUModel *model = x86_pmu_model(cpu);
    bool has_unit = cpu->enable_pmu && model;
    PerfmonConfig config;
    const char *why;
    X86PMU *unit;

    if (!x86_pmu_clock_check(cpu, has_unit, errp)) {
        return false;
    }
    if (!has_unit) {
        return true;
    }
    if (!x86_pmu_configure(cpu, model, &config, errp)) {
        return false;
    }

    unit = g_new0(X86PMU, 1);
    unit->cpu = cpu;
    unit->scratch = g_new0(PmuBlockBuilder, 1);
    pmu_block_pool_init(&unit->blocks);
    unit->logged = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                         NULL);
    unit->masks_lvt = perfmon_register_map(model->map)->masks_lvt ||
                      model->pentium_m;
    unit->misc_enable = perfmon_register_map(model->map)->misc_enable ||
                        model->pentium_m;
    unit->has_rdpmc = !model->rdpmc_with_mmx ||
                      env->features[FEAT_1_EDX] & CPUID_MMX;
    env->pmu.unit = unit;
    x86_pmu_log_init(env);
    if (!x86_pmu_build_core(unit, model, errp)) {
        x86_pmu_unrealize(cpu);
        return false;
    }
    if (!perfmon_init(&unit->perfmon, &config, &why)) {
        error_setg(errp, "pmu=on: %s", why);
        x86_pmu_unrealize(cpu);
        return false;
    }
    unit->perfmon.rates = &unit->rates;
    if (!x86_pmu_observer_new(unit, errp)) {
        x86_pmu_unrealize(cpu);
        return false;
    }
    x86_pmu_faults_attach(unit);
    x86_pmu_clock_attach(unit);
    return true;
}

/* What an unplugged vCPU leaves: descriptions that code still refers to. */
typedef struct X86PMUEstate {
    PmuBlockPool blocks;
    PmuDecoder *decoder;        /* NULL if realizing failed */
} X86PMUEstate;

static void x86_pmu_estate_free(X86PMUEstate *estate)
{
    pmu_block_pool_destroy(&estate->blocks);
    pmu_decoder_free(estate->decoder);
    g_free(estate);
}

/*
 * Add the estate to the pools of vCPU @cs.  Runs on the thread of @cs, as that
 * may be translating at any other time.
 */
static void x86_pmu_inherit(CPUState *cs, run_on_cpu_data data)
{
    X86PMUEstate *estate = data.host_ptr;
    X86PMU *heir = cpu_env(cs)->pmu.unit;

    if (!heir) {
        return;                 /* gone as well; keep it, code may remain */
    }
    pmu_block_pool_adopt(&heir->blocks, &estate->blocks);
    if (estate->decoder) {
        pmu_decoder_adopt(heir->decoder, estate->decoder);
    }
    x86_pmu_estate_free(estate);
}

/* No vCPU executes code: throw the code away, then what it refers to. */
static void x86_pmu_discard(CPUState *cs, run_on_cpu_data data)
{
    tb_flush(cs);
    x86_pmu_estate_free(data.host_ptr);
}

/*
 * Hand the descriptions of @unit's vCPU to another vCPU with a PMU, as others
 * can still run what it translated.  If none has a PMU, throw all code away.
 * This must not wait for other threads: a guest that ejects a CPU is in the
 * middle of an instruction of its own.
 */
static void x86_pmu_bequeath(X86PMU *unit)
{
    X86PMUEstate *estate = g_new(X86PMUEstate, 1);
    CPUState *self = CPU(unit->cpu), *cs, *other = NULL;

    *estate = (X86PMUEstate) { unit->blocks, unit->decoder };
    unit->blocks = (PmuBlockPool) {};
    unit->decoder = NULL;
    CPU_FOREACH(cs) {
        X86PMU *heir = cpu_env(cs)->pmu.unit;

        if (heir && heir != unit) {
            async_run_on_cpu(cs, x86_pmu_inherit,
                             RUN_ON_CPU_HOST_PTR(estate));
            return;
        }
        other = cs != self ? cs : other;
    }
    if (other) {
        async_safe_run_on_cpu(other, x86_pmu_discard,
                              RUN_ON_CPU_HOST_PTR(estate));
    }
}

void x86_pmu_unrealize(X86CPU *cpu)
{
    X86PMU *unit = cpu->env.pmu.unit;

    if (!unit) {
        return;
    }
    x86_pmu_observe_halt(&cpu->env, PMU_CHECK_UNPLUG);
    x86_pmu_observer_free(unit);
    x86_pmu_faults_detach(unit);
    x86_pmu_clock_detach(unit);
    x86_pmu_bequeath(unit);
    cpu->env.pmu.unit = NULL;
    pmu_timing_free(unit->timing);
    pmu_l3_unref(unit->l3);
    g_hash_table_unref(unit->logged);
    g_free(unit->scratch);
    g_free(unit->migrated.ledger);
    g_free(unit);
}

void x86_pmu_reset(X86CPU *cpu)
{
    X86PMUState *pmu = &cpu->env.pmu;

    if (!pmu->unit) {
        return;
    }
    x86_pmu_sync(&cpu->env, 0);
    x86_pmu_collect(&cpu->env);
    perfmon_reset(&pmu->unit->perfmon);
    pmu->unit->injected = false;
    x86_pmu_faults_reset(pmu->unit);
    x86_pmu_flush_all(&cpu->env);
    x86_pmu_observe_reset(pmu->unit);
    x86_pmu_arm(&cpu->env, 0, 0);
}

void x86_pmu_init(X86CPU *cpu)
{
    if (cpu->env.pmu.unit) {
        x86_pmu_sync(&cpu->env, 0);
        x86_pmu_collect(&cpu->env);
        x86_pmu_flush_all(&cpu->env);
        x86_pmu_observe_halt(&cpu->env, PMU_CHECK_INIT);
        x86_pmu_arm(&cpu->env, 0, 0);
    }
}

#endif
