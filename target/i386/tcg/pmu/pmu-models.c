/*
 * The table of PMUs: which CPU has which one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The table finds a CPU by vendor, family and model as CPUID gives them, which
 * is what drivers do.  But it finds Icelake-Server and SapphireRapids by the
 * class of QEMU's CPU: Icelake-Server-v1 to -v3 and Snowridge share a model
 * number.
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "pmu-internal.h"
#include "pmu-models.h"

#define ANY_MODEL 0xff

/* Architectural units, by the cores that have them. */
#define INTEL6(core_, version_, gp_, fixed_, ...)                       \
    .vendor = CPUID_VENDOR_INTEL, .family = 6, .core = PMU_CORE_##core_, \
    .map = PERFMON_MAP_ARCHITECTURAL, .version = (version_),            \
    .num_gp = (gp_), .num_fixed = (fixed_), .models = { __VA_ARGS__ }

#define P6(...)                                                         \
    .vendor = CPUID_VENDOR_INTEL, .family = 6, .core = PMU_CORE_P6,     \
    .map = PERFMON_MAP_P6, .num_gp = 2, .models = { __VA_ARGS__ }

#define NETBURST(...)                                                   \
    .vendor = CPUID_VENDOR_INTEL, .family = 15, .core = PMU_CORE_NETBURST, \
    .map = PERFMON_MAP_NETBURST, .num_gp = 18, .models = { __VA_ARGS__ }

#define AMD(vendor_, family_, core_, gp_)                               \
    .vendor = (vendor_), .family = (family_), .core = PMU_CORE_##core_, \
    .map = PERFMON_MAP_AMD, .num_gp = (gp_), .models = { ANY_MODEL }

/*
 * Sources.  Model numbers: SDM vol. 4, table 2-1.  Architectural version,
 * counters and their width: CPUID.0AH of such parts (SDM vol. 3B, chapter 20).
 * Nehalem to Skylake have four counters a thread with two threads a core, as
 * most were sold.  Full-width writes came with Ivy Bridge (Linux, commit
 * 069e0c3c4058).
 */
static const X86PMUModel models[] = {
    {
        /* 06_6AH; versions 1 to 3 give 86H, which is Tremont's. */
        .name = "Icelake-Server", .alias = "Icelake-Server-noTSX",
        INTEL6(ICELAKE, 5, 8, 4, 106), .misnamed = 134, .num_metrics = 4,
        .pdcm = true, .full_width = true,
    }, {
        .name = "SapphireRapids",
        INTEL6(SAPPHIRERAPIDS, 5, 8, 4, 143), .num_metrics = 8,
        .pdcm = true, .full_width = true,
    },
    { INTEL6(SKYLAKE, 4, 4, 3, 78, 85, 94, 142, 158),
      .pdcm = true, .full_width = true },
    { INTEL6(HASWELL, 3, 4, 3, 60, 61, 63, 69, 70, 71, 79, 86),
      .pdcm = true, .full_width = true },
    { INTEL6(SANDYBRIDGE, 3, 4, 3, 58, 62), .pdcm = true, .full_width = true },
    { INTEL6(SANDYBRIDGE, 3, 4, 3, 42, 45), .pdcm = true },
    { INTEL6(NEHALEM, 3, 4, 3, 37, 44, 47), .pdcm = true },
    { INTEL6(NEHALEM, 3, 4, 3, 26, 30, 31, 46), .pdcm = true,
      .one_offcore = true },
    { INTEL6(BONNELL, 3, 2, 3, 28, 38, 39, 53, 54), .width = 40 },
    { INTEL6(CORE, 2, 2, 3, 15, 22, 23, 29), .width = 40 },
    { INTEL6(CORE, 1, 2, 0, 14), .width = 40 },
    /* A PMI masks its LVT entry.  Source: oprofile's op_model_ppro.c. */
    { P6(9, 13), .pentium_m = true },
    { P6(1, 3, 5, 6, 7, 8, 10, 11) },
    /* And model 0: see x86_pmu_has_number(). */
    { NETBURST(1, 2), .iq_escrs = true },
    { NETBURST(3, 4, 6) },
    { .vendor = CPUID_VENDOR_INTEL, .family = 5, .core = PMU_CORE_P5,
      .map = PERFMON_MAP_P5, .num_gp = 2, .models = { ANY_MODEL },
      .rdpmc_with_mmx = true },
    { AMD(CPUID_VENDOR_AMD, 6, K7, 4) },
    { AMD(CPUID_VENDOR_AMD, 0xf, K8, 4) },
    { AMD(CPUID_VENDOR_AMD, 0x10, K10, 4) },
    { AMD(CPUID_VENDOR_AMD, 0x11, K10, 4) },
    { AMD(CPUID_VENDOR_AMD, 0x12, K10, 4) },
    { AMD(CPUID_VENDOR_AMD, 0x15, BULLDOZER, 6) },
    { AMD(CPUID_VENDOR_AMD, 0x17, ZEN, 6) },
    /*
     * Zen 4 brought version 2 (EPYC-Genoa).  Model numbers between its own are
     * Zen 3.  Source: Linux, arch/x86/kernel/cpu/amd.c.
     */
    { AMD(CPUID_VENDOR_AMD, 0x19, ZEN, 6),
      .perfmon_v2 = { { 0x10, 0x1f }, { 0x60, 0xaf } } },
    { AMD(CPUID_VENDOR_HYGON, 0x18, ZEN, 6) },
    { .vendor = "CentaurHauls", .family = 6, .core = PMU_CORE_C3,
      .map = PERFMON_MAP_C3, .num_gp = 1, .models = { 6, 7, 8, 9 } },
};

/* Is @cpu of CPU model @name, or of a version of it? */
static bool x86_pmu_class_is(X86CPU *cpu, const char *name)
{
    const char *type = object_get_typename(OBJECT(cpu));

    return g_str_has_prefix(type, name) && type[strlen(name)] == '-' &&
           (type[strlen(name) + 1] == 'v' ||
            g_str_equal(type + strlen(name), X86_CPU_TYPE_SUFFIX));
}

/*
 * The family in @version, CPUID.1:EAX.  Only family 15 has an extended family,
 * which is added (SDM vol. 2A).
 */
static int x86_pmu_family(uint32_t version)
{
    int family = extract32(version, 8, 4);

    return family == 15 ? family + extract32(version, 20, 8) : family;
}

int x86_pmu_model_number(uint32_t version)
{
    return extract32(version, 4, 4) | extract32(version, 16, 4) << 4;
}

static bool x86_pmu_has_number(const X86PMUModel *model, int number)
{
    if (model->models[0] == ANY_MODEL) {
        return true;
    }
    /* 0s fill the list up; only in family 15 is there a model 0. */
    for (int i = 0; i < ARRAY_SIZE(model->models); i++) {
        if (model->models[i] == number) {
            return number || model->family == 15;
        }
    }
    return false;
}

bool x86_pmu_has_perfmon_v2(const X86PMUModel *model, int number)
{
    for (int i = 0; i < ARRAY_SIZE(model->perfmon_v2); i++) {
        if (model->perfmon_v2[i].last && number >= model->perfmon_v2[i].first &&
            number <= model->perfmon_v2[i].last) {
            return true;
        }
    }
    return false;
}

static bool x86_pmu_has_signature(const X86PMUModel *model, X86CPU *cpu)
{
    CPUX86State *env = &cpu->env;
    char vendor[CPUID_VENDOR_SZ + 1];

    x86_cpu_vendor_words2str(vendor, env->cpuid_vendor1, env->cpuid_vendor2,
                             env->cpuid_vendor3);
    return g_str_equal(vendor, model->vendor) &&
           x86_pmu_family(env->cpuid_version) == model->family &&
           x86_pmu_has_number(model,
                              x86_pmu_model_number(env->cpuid_version));
}

const X86PMUModel *x86_pmu_model(X86CPU *cpu)
{
    for (int i = 0; i < ARRAY_SIZE(models); i++) {
        const X86PMUModel *known = &models[i];

        if (known->name && (x86_pmu_class_is(cpu, known->name) ||
                            (known->alias &&
                             x86_pmu_class_is(cpu, known->alias)))) {
            return g_str_equal(known->vendor, CPUID_VENDOR_INTEL) &&
                   !IS_INTEL_CPU(&cpu->env) ? NULL : known;
        }
    }
    for (int i = 0; i < ARRAY_SIZE(models); i++) {
        const X86PMUModel *known = &models[i];

        if ((!known->name || cpu->max_features) &&
            x86_pmu_has_signature(known, cpu)) {
            return known;
        }
    }
    return NULL;
}
