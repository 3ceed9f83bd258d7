/*
 * Properties that give a CPU other PMU registers than its own, and CPUID's
 * leaves that describe the registers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * With them a driver meets units with fewer counters, of other versions, or
 * behind a hypervisor.  The core behind the registers stays as it is.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "hw/qdev-properties.h"
#include "pmu-internal.h"
#include "tcg/pmu/perfmon/register-map.h"

typedef enum X86PMUOption {
    X86_PMU_VERSION,
    X86_PMU_COUNTERS,
    X86_PMU_FIXED,
    X86_PMU_COUNTER_WIDTH,
    X86_PMU_ANYTHREAD,
    X86_PMU_EVENTS_OFF,
    X86_PMU_RESET_GC,
    X86_PMU_METRICS_CLEAR,
    X86_PMU_OPTIONS
} X86PMUOption;

QEMU_BUILD_BUG_ON(X86_PMU_WHAT_IFS != X86_PMU_OPTIONS);

/* A property's name and range.  It reads as -1 if it is not set. */
typedef struct X86PMUOptionInfo {
    const char *name;
    int min, max;
    const char *description;
} X86PMUOptionInfo;

static const X86PMUOptionInfo options[X86_PMU_OPTIONS] = {
    [X86_PMU_VERSION] = { "pmu-version", 2, 5,
        "Version of architectural performance monitoring" },
    [X86_PMU_COUNTERS] = { "pmu-counters", 1, PERFMON_ARCH_GP,
        "General-purpose counters" },
    [X86_PMU_FIXED] = { "pmu-fixed", 0, PERFMON_MAX_FIXED,
        "Fixed counters: 0, 3 or 4" },
    [X86_PMU_COUNTER_WIDTH] = { "pmu-counter-width", 32, 48,
        "Bits of a counter" },
    [X86_PMU_ANYTHREAD] = { "pmu-anythread", 0, 1,
        "AnyThread is not deprecated: CPUID.0AH:EDX[15] is 0" },
    [X86_PMU_EVENTS_OFF] = { "pmu-events-off", 0, 0xff,
        "Architectural events that CPUID.0AH:EBX says there are not" },
    [X86_PMU_RESET_GC] = { "pmu-reset-gc", 0, 0,
        "IA32_PERF_GLOBAL_CTRL after RESET, in place of the core's" },
    [X86_PMU_METRICS_CLEAR] = { "pmu-metrics-clear", 0, 1,
        "RDPMC of PERF_METRICS can clear it: IA32_PERF_CAPABILITIES[19]" },
};

/* A unit that exists, as values for the properties. */
typedef struct X86PMUProfile {
    const char *name;
    /* The property's value plus 1; 0: not set, the core's own. */
    int value[X86_PMU_OPTIONS];
    bool without_full_width;    /* it has no IA32_A_PMCx */
} X86PMUProfile;

static const X86PMUProfile profiles[] = {
    /* The core's own. */
    { "icx" },
    /* Skylake-SP with two threads a core: four counters each. */
    { "skx", {
        [X86_PMU_VERSION] = 4 + 1, [X86_PMU_COUNTERS] = 4 + 1,
        [X86_PMU_FIXED] = 3 + 1, [X86_PMU_ANYTHREAD] = 1 + 1,
    } },
    /*
     * KVM gives guests version 2 at most.  It once had IA32_PERF_GLOBAL_CTRL at
     * 0 after RESET (before Linux's commit "KVM: x86/pmu: Set enable bits for
     * GP counters in PERF_GLOBAL_CTRL at RESET"), and no IA32_A_PMCx.
     */
    { "kvm-legacy", {
        [X86_PMU_VERSION] = 2 + 1, [X86_PMU_COUNTERS] = 4 + 1,
        [X86_PMU_FIXED] = 3 + 1, [X86_PMU_RESET_GC] = 0 + 1,
    }, .without_full_width = true },
};

#define PROFILE_NAMES "icx, skx, kvm-legacy"

static int *x86_pmu_option(X86CPU *cpu, const X86PMUOptionInfo *info)
{
    return &cpu->env.pmu.what_if[info - options];
}

static const X86PMUProfile *x86_pmu_profile(X86CPU *cpu)
{
    return &profiles[cpu->env.pmu.profile];
}

/* @option of @cpu: as given, else by the profile, else @own. */
static int x86_pmu_choose_option(X86CPU *cpu, X86PMUOption option, int own)
{
    int given = cpu->env.pmu.what_if[option];
    int profiled = x86_pmu_profile(cpu)->value[option];

    return given ? given - 1 : profiled ? profiled - 1 : own;
}

static void x86_pmu_get_option(Object *obj, Visitor *v, const char *name,
                               void *opaque, Error **errp)
{
    int64_t value = *x86_pmu_option(X86_CPU(obj), opaque) - 1;

    visit_type_int(v, name, &value, errp);
}

static void x86_pmu_set_option(Object *obj, Visitor *v, const char *name,
                               void *opaque, Error **errp)
{
    const X86PMUOptionInfo *info = opaque;
    int64_t value;

    if (DEVICE(obj)->realized) {
        qdev_prop_set_after_realize(DEVICE(obj), name, errp);
        return;
    }
    if (!visit_type_int(v, name, &value, errp)) {
        return;
    }
    if (value < info->min || value > info->max) {
        error_setg(errp, "%s=%" PRId64 " is out of range: it must be %d to %d",
                   name, value, info->min, info->max);
        return;
    }
    if (info == &options[X86_PMU_FIXED] && (value == 1 || value == 2)) {
        error_setg(errp, "%s=%" PRId64 ": it must be 0, 3 or 4", name, value);
        return;
    }
    *x86_pmu_option(X86_CPU(obj), info) = value + 1;
}

static char *x86_pmu_get_profile(Object *obj, Error **errp)
{
    return g_strdup(x86_pmu_profile(X86_CPU(obj))->name);
}

static void x86_pmu_set_profile(Object *obj, const char *value, Error **errp)
{
    if (DEVICE(obj)->realized) {
        qdev_prop_set_after_realize(DEVICE(obj), "pmu-profile", errp);
        return;
    }
    for (int i = 0; i < ARRAY_SIZE(profiles); i++) {
        if (g_str_equal(value, profiles[i].name)) {
            X86_CPU(obj)->env.pmu.profile = i;
            return;
        }
    }
    error_setg(errp, "pmu-profile=%s is not known: it must be one of "
               PROFILE_NAMES, value);
}

void x86_pmu_what_if_class_init(ObjectClass *oc)
{
    for (int i = 0; i < X86_PMU_OPTIONS; i++) {
        object_class_property_add(oc, options[i].name, "int",
                                  x86_pmu_get_option, x86_pmu_set_option,
                                  NULL, (void *)&options[i]);
        object_class_property_set_description(oc, options[i].name,
                                              options[i].description);
    }
    object_class_property_add_str(oc, "pmu-profile", x86_pmu_get_profile,
                                  x86_pmu_set_profile);
    object_class_property_set_description(oc, "pmu-profile",
        "Registers of another PMU: " PROFILE_NAMES);
}

bool x86_pmu_check_own(X86CPU *cpu, const char *needs, Error **errp)
{
    for (int i = 0; i < X86_PMU_OPTIONS; i++) {
        if (cpu->env.pmu.what_if[i]) {
            error_setg(errp, "%s=%d needs %s", options[i].name,
                       cpu->env.pmu.what_if[i] - 1, needs);
            return false;
        }
    }
    if (cpu->env.pmu.profile) {
        error_setg(errp, "pmu-profile=%s needs %s",
                   x86_pmu_profile(cpu)->name, needs);
        return false;
    }
    return true;
}

bool x86_pmu_profile_has_full_width(X86CPU *cpu)
{
    return !x86_pmu_profile(cpu)->without_full_width;
}

/* For messages: the property that asks for @option, with its value. */
static char *x86_pmu_asked(X86CPU *cpu, X86PMUOption option)
{
    int given = cpu->env.pmu.what_if[option];

    return given ? g_strdup_printf("%s=%d", options[option].name, given - 1)
                 : g_strdup_printf("pmu-profile=%s",
                                   x86_pmu_profile(cpu)->name);
}

/* Check that no property changes registers that are not architectural. */
static bool x86_pmu_check_map(X86CPU *cpu, const PerfmonConfig *config,
                              Error **errp)
{
    const char *name = perfmon_register_map(config->map)->name;
    g_autofree char *needs =
        g_strdup_printf("architectural performance monitoring: "
                        "this CPU has the registers of %s", name);

    return config->map == PERFMON_MAP_ARCHITECTURAL ||
           x86_pmu_check_own(cpu, needs, errp);
}

/*
 * The number of events that CPUID.0AH:EBX describes.  The eighth, slots, came
 * with Ice Lake and version 5.  Parts of other versions have seven:
 * CPUID.0AH:EAX is 07280202H on Core 2 (version 2), 07300403H on Haswell-EP
 * (3), 07300404H on Skylake-SP (4).
 */
static unsigned x86_pmu_num_events(const PerfmonConfig *config)
{
    bool has_slots = config->core == PMU_CORE_ICELAKE ||
                     config->core == PMU_CORE_SAPPHIRERAPIDS;

    return has_slots && config->version >= 5 ? 8 : 7;
}

/*
 * Without pmu-anythread= the version decides, which may be another than the
 * core's.
 */
static PerfmonAnyThread x86_pmu_choose_anythread(X86CPU *cpu)
{
    switch (x86_pmu_choose_option(cpu, X86_PMU_ANYTHREAD, -1)) {
    case 0:
        return PERFMON_ANYTHREAD_DEPRECATED;
    case 1:
        return PERFMON_ANYTHREAD_HELD;
    default:
        return PERFMON_ANYTHREAD_BY_VERSION;
    }
}

bool x86_pmu_what_if(X86CPU *cpu, PerfmonConfig *config, Error **errp)
{
    bool metrics = config->capabilities & PERF_CAP_BIT_PERF_METRICS;
    g_autofree char *asked = NULL;

    if (!x86_pmu_check_map(cpu, config, errp)) {
        return false;
    }
    config->version = x86_pmu_choose_option(cpu, X86_PMU_VERSION,
                                            config->version);
    config->num_gp = x86_pmu_choose_option(cpu, X86_PMU_COUNTERS,
                                           config->num_gp);
    config->num_fixed = x86_pmu_choose_option(cpu, X86_PMU_FIXED,
                                              config->num_fixed);
    config->counter_width = x86_pmu_choose_option(cpu, X86_PMU_COUNTER_WIDTH,
                                                  config->counter_width);
    config->anythread = x86_pmu_choose_anythread(cpu);
    config->events_off = x86_pmu_choose_option(cpu, X86_PMU_EVENTS_OFF, 0);
    if (config->events_off >> x86_pmu_num_events(config)) {
        error_setg(errp, "pmu-events-off=%u is out of range: this CPU has %u "
                   "architectural events, so that it must be 0 to %u",
                   config->events_off, x86_pmu_num_events(config),
                   (1u << x86_pmu_num_events(config)) - 1);
        return false;
    }
    config->stopped = !x86_pmu_choose_option(cpu, X86_PMU_RESET_GC, 1);
    if (x86_pmu_choose_option(cpu, X86_PMU_METRICS_CLEAR, 0)) {
        config->capabilities |= PERF_CAP_BIT_METRICS_CLEAR;
    }
    if (metrics && config->num_fixed < 4) {
        asked = x86_pmu_asked(cpu, X86_PMU_FIXED);
        error_setg(errp, "%s contradicts perf-metrics=on, which needs fixed "
                   "counter 3: use pmu=on instead", asked);
        return false;
    }
    if (!metrics && config->capabilities & PERF_CAP_BIT_METRICS_CLEAR) {
        error_setg(errp, "pmu-metrics-clear=1 needs perf-metrics=on");
        return false;
    }
    return true;
}

void x86_pmu_cpuid_0a(X86CPU *cpu, uint32_t *eax, uint32_t *ebx,
                      uint32_t *ecx, uint32_t *edx)
{
    const Perfmon *perfmon;
    const PerfmonConfig *config;

    if (!cpu->env.pmu.unit) {
        return;
    }
    perfmon = &cpu->env.pmu.unit->perfmon;
    config = &perfmon->config;
    if (config->map != PERFMON_MAP_ARCHITECTURAL) {
        *eax = *ebx = *ecx = *edx = 0;
        return;
    }
    /* Version, number of counters, their width, number of events in EBX. */
    *eax = config->version | config->num_gp << 8 |
           config->counter_width << 16 | x86_pmu_num_events(config) << 24;
    *ebx = config->events_off;
    /* Version 5 brought the map of fixed counters, and EDX[15]. */
    *ecx = config->version >= 5 ? (1 << config->num_fixed) - 1 : 0;
    /* Number of fixed counters, their width; bit 15: AnyThread deprecated. */
    *edx = (config->version >= 2 ? config->num_fixed |
                                   config->counter_width << 5 : 0) |
           (config->version >= 5 && !perfmon->anythread) << 15;
}

void x86_pmu_cpuid_80000022(X86CPU *cpu, uint32_t *eax, uint32_t *ebx)
{
    X86PMU *unit = cpu->env.pmu.unit;

    if (unit && unit->perfmon.config.map == PERFMON_MAP_AMD &&
        unit->perfmon.config.version >= 2) {
        *eax = CPUID_8000_0022_EAX_PERFMON_V2;
        *ebx = unit->perfmon.config.num_gp;
    }
}
