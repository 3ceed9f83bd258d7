/*
 * Properties of the CPU that ask for the checker and the flight recorder.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/cutils.h"
#include "hw/qdev-properties.h"
#include "pmu-observe.h"

/* Entries of the recorder if there is a checker, and pmu-recorder not given. */
#define RECORDER_SIZE 256

/* Most of pmu-check-min-period: half of the range of a 48-bit counter. */
#define MAX_PERIOD (INT64_C(1) << 47)

static const char *const mode_names[X86_PMU_CHECK_MODES] = {
    "off", "log", "event", "stop", "exit",
};

/* The options of @obj, for changing them. */
static X86PMUObserverOptions *x86_pmu_options(Object *obj)
{
    X86PMUState *pmu = &X86_CPU(obj)->env.pmu;

    if (!pmu->observer_options) {
        pmu->observer_options = g_new0(X86PMUObserverOptions, 1);
        pmu->observer_options->recorder = -1;
    }
    return pmu->observer_options;
}

/* The options of @obj, for reading them; defaults if none was given. */
static const X86PMUObserverOptions *x86_pmu_given(Object *obj)
{
    static const X86PMUObserverOptions none = { .recorder = -1 };

    return X86_CPU(obj)->env.pmu.observer_options ?: &none;
}

static bool x86_pmu_may_set(Object *obj, const char *name, Error **errp)
{
    if (DEVICE(obj)->realized) {
        qdev_prop_set_after_realize(DEVICE(obj), name, errp);
        return false;
    }
    return true;
}

static char *x86_pmu_get_mode(Object *obj, Error **errp)
{
    return g_strdup(mode_names[x86_pmu_given(obj)->mode]);
}

static void x86_pmu_set_mode_name(Object *obj, const char *value, Error **errp)
{
    if (!x86_pmu_may_set(obj, "pmu-check", errp)) {
        return;
    }
    for (unsigned i = 0; i < X86_PMU_CHECK_MODES; i++) {
        if (g_str_equal(value, mode_names[i])) {
            x86_pmu_options(obj)->mode = i;
            return;
        }
    }
    error_setg(errp, "pmu-check=%s: it must be off, log, event, stop or exit",
               value);
}

/* A property that is text; @offset: of its field in X86PMUObserverOptions. */
typedef struct X86PMUText {
    const char *name;
    size_t offset;
    const char *description;
} X86PMUText;

static const X86PMUText texts[] = {
    { "pmu-check-rules", offsetof(X86PMUObserverOptions, rules),
      "Rules to switch on and off: +C14:-P2:severity>=L" },
    { "pmu-check-suppress", offsetof(X86PMUObserverOptions, suppress),
      "File of hits that are known: RULE PLACE REASON" },
    { "pmu-check-map", offsetof(X86PMUObserverOptions, map),
      "System.map of the guest's kernel" },
    { "pmu-check-report", offsetof(X86PMUObserverOptions, report),
      "File for a report in JSON, written when QEMU exits" },
    { "pmu-check-text", offsetof(X86PMUObserverOptions, text),
      "Addresses FIRST-END of the code that alone owns the PMU: rule C12" },
};

static char *x86_pmu_text(const X86PMUObserverOptions *options,
                          const X86PMUText *text)
{
    return *(char *const *)((const char *)options + text->offset);
}

static void x86_pmu_get_text(Object *obj, Visitor *v, const char *name,
                             void *opaque, Error **errp)
{
    const char *given = x86_pmu_text(x86_pmu_given(obj), opaque);
    char *value = (char *)(given ?: "");

    visit_type_str(v, name, &value, errp);
}

static void x86_pmu_set_text(Object *obj, Visitor *v, const char *name,
                             void *opaque, Error **errp)
{
    const X86PMUText *text = opaque;
    X86PMUObserverOptions *options;
    char *value;

    if (!x86_pmu_may_set(obj, name, errp) ||
        !visit_type_str(v, name, &value, errp)) {
        return;
    }
    options = x86_pmu_options(obj);
    g_free(x86_pmu_text(options, text));
    *(char **)((char *)options + text->offset) = value;
}

static void x86_pmu_get_period(Object *obj, Visitor *v, const char *name,
                               void *opaque, Error **errp)
{
    int64_t value = x86_pmu_given(obj)->min_period;

    visit_type_int(v, name, &value, errp);
}

static void x86_pmu_set_period(Object *obj, Visitor *v, const char *name,
                               void *opaque, Error **errp)
{
    int64_t value;

    if (!x86_pmu_may_set(obj, name, errp) ||
        !visit_type_int(v, name, &value, errp)) {
        return;
    }
    if (value < 0 || value > MAX_PERIOD) {
        error_setg(errp, "pmu-check-min-period=%" PRId64 " is out of range: it "
                   "must be 0 to %" PRId64, value, MAX_PERIOD);
        return;
    }
    x86_pmu_options(obj)->min_period = value;
}

static void x86_pmu_get_recorder(Object *obj, Visitor *v, const char *name,
                                 void *opaque, Error **errp)
{
    int64_t value = x86_pmu_given(obj)->recorder;

    visit_type_int(v, name, &value, errp);
}

static void x86_pmu_set_recorder(Object *obj, Visitor *v, const char *name,
                                 void *opaque, Error **errp)
{
    int64_t value;

    if (!x86_pmu_may_set(obj, name, errp) ||
        !visit_type_int(v, name, &value, errp)) {
        return;
    }
    if (value < 0 || value > PMU_RECORDER_MAX) {
        error_setg(errp, "pmu-recorder=%" PRId64 " is out of range: it must "
                   "be 0 to %d", value, PMU_RECORDER_MAX);
        return;
    }
    x86_pmu_options(obj)->recorder = value;
}

void x86_pmu_observer_class_init(ObjectClass *oc)
{
    object_class_property_add_str(oc, "pmu-check", x86_pmu_get_mode,
                                  x86_pmu_set_mode_name);
    object_class_property_set_description(oc, "pmu-check",
        "What to do if a driver breaks a rule of the PMU: off, log, event, "
        "stop or exit");
    for (int i = 0; i < ARRAY_SIZE(texts); i++) {
        object_class_property_add(oc, texts[i].name, "string",
                                  x86_pmu_get_text, x86_pmu_set_text, NULL,
                                  (void *)&texts[i]);
        object_class_property_set_description(oc, texts[i].name,
                                              texts[i].description);
    }
    object_class_property_add(oc, "pmu-check-min-period", "int",
                              x86_pmu_get_period, x86_pmu_set_period, NULL,
                              NULL);
    object_class_property_set_description(oc, "pmu-check-min-period",
        "The least distance to overflow that counters may start at: rule O4");
    object_class_property_add(oc, "pmu-recorder", "int",
                              x86_pmu_get_recorder, x86_pmu_set_recorder,
                              NULL, NULL);
    object_class_property_set_description(oc, "pmu-recorder",
        "How many steps of a driver to remember");
}

/* The first property given that only a checker uses; NULL: none. */
static const char *x86_pmu_needs_checker(const X86PMUObserverOptions *options)
{
    for (int i = 0; i < ARRAY_SIZE(texts); i++) {
        if (x86_pmu_text(options, &texts[i])) {
            return texts[i].name;
        }
    }
    return options->min_period ? "pmu-check-min-period" : NULL;
}

bool x86_pmu_check_unobserved(X86CPU *cpu, const char *needs, Error **errp)
{
    const X86PMUObserverOptions *options = x86_pmu_given(OBJECT(cpu));
    const char *given = options->mode ? "pmu-check" :
                        options->recorder > 0 ? "pmu-recorder" :
                        x86_pmu_needs_checker(options);

    if (given) {
        error_setg(errp, "%s needs %s", given, needs);
        return false;
    }
    return true;
}

static bool x86_pmu_parse_text(PmuCheckConfig *config, const char *text,
                               Error **errp)
{
    const char *end;

    if (!text) {
        return true;
    }
    if (qemu_strtou64(text, &end, 0, &config->text_first) || *end != '-' ||
        qemu_strtou64(end + 1, NULL, 0, &config->text_end) ||
        config->text_first >= config->text_end) {
        error_setg(errp, "pmu-check-text=%s: it must be FIRST-END, addresses "
                   "of which the second is the larger one", text);
        return false;
    }
    return true;
}

/* Set @config for the checker of @observer. */
static bool x86_pmu_configure(PmuCheckConfig *config,
                              X86PMUObserver *observer,
                              const X86PMUObserverOptions *options,
                              Error **errp)
{
    g_autofree char *why = NULL;

    *config = (PmuCheckConfig) {
        .rules = pmu_rule_set_default(),
        .min_period = options->min_period,
        .report = x86_pmu_report_hit,
        .opaque = observer,
    };
    why = options->rules ? pmu_rule_set_change(&config->rules, options->rules)
                         : NULL;
    if (why) {
        error_setg(errp, "pmu-check-rules=%s: %s", options->rules, why);
        return false;
    }
    return x86_pmu_parse_text(config, options->text, errp);
}

static bool x86_pmu_add_checker(X86PMU *unit,
                                const X86PMUObserverOptions *options,
                                Error **errp)
{
    X86PMUObserver *observer = unit->observer;
    PmuCheckConfig config;

    if (!x86_pmu_configure(&config, observer, options, errp) ||
        !x86_pmu_report_join(observer, options, errp)) {
        return false;
    }
    config.suppressions = x86_pmu_report_suppressions(observer->report);
    observer->check = pmu_check_new(&unit->perfmon, &config);
    return true;
}

/*
 * Rules and history are about architectural registers, global ones included: no
 * other unit may have observers.
 */
static bool x86_pmu_check_observable(X86PMU *unit, Error **errp)
{
    const PerfmonConfig *config = &unit->perfmon.config;

    return (config->map == PERFMON_MAP_ARCHITECTURAL &&
            config->version >= 2) ||
           x86_pmu_check_unobserved(unit->cpu, "architectural performance "
                                    "monitoring, version 2 or later", errp);
}

bool x86_pmu_observer_new(X86PMU *unit, Error **errp)
{
    const X86PMUObserverOptions *options = x86_pmu_given(OBJECT(unit->cpu));
    unsigned size = options->recorder >= 0 ? options->recorder :
                    options->mode ? RECORDER_SIZE : 0;
    const char *useless = x86_pmu_needs_checker(options);
    X86PMUObserver *observer;

    if (!x86_pmu_check_observable(unit, errp)) {
        return false;
    }
    if (!options->mode && useless) {
        error_setg(errp, "%s needs pmu-check=log, event, stop or exit",
                   useless);
        return false;
    }
    if (!options->mode && !size) {
        return true;
    }
    observer = g_new0(X86PMUObserver, 1);
    observer->env = &unit->cpu->env;
    observer->mode = options->mode;
    observer->accesses = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    observer->recorder = size ? pmu_recorder_new(size) : NULL;
    unit->observer = observer;
    return !options->mode || x86_pmu_add_checker(unit, options, errp);
}

void x86_pmu_observer_free(X86PMU *unit)
{
    X86PMUObserver *observer = unit->observer;
    X86PMUObserverOptions *options = unit->cpu->env.pmu.observer_options;

    if (observer) {
        unit->observer = NULL;
        x86_pmu_report_leave(observer);
        pmu_check_free(observer->check);
        pmu_recorder_free(observer->recorder);
        g_hash_table_unref(observer->accesses);
        g_free(observer);
    }
    if (options) {
        for (int i = 0; i < ARRAY_SIZE(texts); i++) {
            g_free(x86_pmu_text(options, &texts[i]));
        }
        g_free(options);
        unit->cpu->env.pmu.observer_options = NULL;
    }
}
