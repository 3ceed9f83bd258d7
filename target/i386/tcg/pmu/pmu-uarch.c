/*
 * Properties of a CPU that change parameters of the modelled core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * There is a property for each parameter that can be changed (uarch-params.c).
 * A property that is not set leaves the core's own value.
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "hw/qdev-properties.h"
#include "pmu-internal.h"

/* A property's name is this, then the name of the parameter. */
#define PREFIX "pmu-"

/* Values of properties that are not set.  Setting such a value unsets them. */
#define UNSET_NUMBER    (-1)
#define UNSET_SIZE      0

/* Where @cpu keeps its property for @param: value + 1; 0: not set. */
static uint32_t *x86_pmu_figure(X86CPU *cpu, const PmuUarchParam *param)
{
    return &cpu->env.pmu.figure[param - pmu_uarch_params];
}

static int64_t x86_pmu_unset(const PmuUarchParam *param)
{
    return param->is_size ? UNSET_SIZE : UNSET_NUMBER;
}

/*
 * Reads the value that the modelled core has.  Before the CPU has a PMU, reads
 * what was set.
 */
static void x86_pmu_get_figure(Object *obj, Visitor *v, const char *name,
                               void *opaque, Error **errp)
{
    const PmuUarchParam *param = opaque;
    X86CPU *cpu = X86_CPU(obj);
    X86PMU *unit = cpu->env.pmu.unit;
    uint32_t figure = *x86_pmu_figure(cpu, param);
    int64_t value = figure ? (int64_t)figure - 1 : x86_pmu_unset(param);
    uint64_t size;

    if (unit) {
        value = pmu_uarch_get(&unit->uarch, param);
    }
    if (param->is_size) {
        size = value;
        visit_type_size(v, name, &size, errp);
    } else {
        visit_type_int(v, name, &value, errp);
    }
}

static bool x86_pmu_visit_figure(Visitor *v, const char *name,
                                 const PmuUarchParam *param, int64_t *value)
{
    uint64_t size;

    if (!param->is_size) {
        return visit_type_int(v, name, value, NULL);
    }
    if (!visit_type_size(v, name, &size, NULL)) {
        return false;
    }
    *value = MIN(size, INT64_MAX);
    return true;
}

static void x86_pmu_set_figure(Object *obj, Visitor *v, const char *name,
                               void *opaque, Error **errp)
{
    const PmuUarchParam *param = opaque;
    PmuUarch any = *pmu_uarch(PMU_CORE_ICELAKE);
    g_autofree char *why = NULL;
    int64_t value;

    if (DEVICE(obj)->realized) {
        qdev_prop_set_after_realize(DEVICE(obj), name, errp);
        return;
    }
    if (!x86_pmu_visit_figure(v, name, param, &value)) {
        why = pmu_uarch_expected(param, PREFIX);
    } else if (value == x86_pmu_unset(param)) {
        *x86_pmu_figure(X86_CPU(obj), param) = 0;
        return;
    } else {
        why = pmu_uarch_set(&any, param, value, PREFIX);
    }
    if (why) {
        error_setg(errp, "%s", why);
        return;
    }
    *x86_pmu_figure(X86_CPU(obj), param) = value + 1;
}

static bool x86_pmu_get_sampling(Object *obj, Error **errp)
{
    return !X86_CPU(obj)->env.pmu.unsampled;
}

static void x86_pmu_set_sampling(Object *obj, bool value, Error **errp)
{
    if (DEVICE(obj)->realized) {
        qdev_prop_set_after_realize(DEVICE(obj), "pmu-sampling", errp);
        return;
    }
    X86_CPU(obj)->env.pmu.unsampled = !value;
}

void x86_pmu_class_init(ObjectClass *oc)
{
    x86_pmu_observer_class_init(oc);
    x86_pmu_what_if_class_init(oc);
    object_class_property_add_bool(oc, "pmu-sampling", x86_pmu_get_sampling,
                                   x86_pmu_set_sampling);
    object_class_property_set_description(oc, "pmu-sampling",
        "Estimate what regions of code cost from samples; off: run the "
        "modelled pipeline all the time");
    for (int i = 0; i < PMU_UARCH_PARAMS; i++) {
        const PmuUarchParam *param = &pmu_uarch_params[i];
        g_autofree char *name = g_strdup_printf(PREFIX "%s", param->name);
        g_autofree char *description = pmu_uarch_describe(param);
        g_autofree char *what = g_strdup_printf("%s: %u to %u", description,
                                                param->min, param->max);

        object_class_property_add(oc, name, param->is_size ? "size" : "int",
                                  x86_pmu_get_figure, x86_pmu_set_figure,
                                  NULL, (void *)param);
        object_class_property_set_description(oc, name, what);
    }
}

bool x86_pmu_uarch(X86CPU *cpu, PmuCore core, PmuUarch *uarch, Error **errp)
{
    g_autofree char *why = NULL;

    *uarch = *pmu_uarch(core);
    for (int i = 0; i < PMU_UARCH_PARAMS && !why; i++) {
        const PmuUarchParam *param = &pmu_uarch_params[i];
        uint32_t figure = *x86_pmu_figure(cpu, param);

        if (figure) {
            why = pmu_uarch_set(uarch, param, figure - 1, PREFIX);
        }
    }
    why = why ?: pmu_uarch_check(uarch, PREFIX);
    if (why) {
        error_setg(errp, "%s", why);
        return false;
    }
    return true;
}

/* Do both agree in all parameters on which descriptions of code depend? */
static bool x86_pmu_same_code(const PmuUarch *own, const PmuUarch *other,
                              Error **errp)
{
    for (int i = 0; i < PMU_UARCH_PARAMS; i++) {
        const PmuUarchParam *param = &pmu_uarch_params[i];
        uint32_t value = pmu_uarch_get(own, param);
        uint32_t wanted = pmu_uarch_get(other, param);

        if (param->of_code && value != wanted) {
            error_setg(errp, PREFIX "%s=%u: this vCPU shares translated code "
                       "with others, for which it is %u", param->name, value,
                       wanted);
            return false;
        }
    }
    return true;
}

bool x86_pmu_check_code(X86PMU *unit, Error **errp)
{
    CPUState *cs;

    CPU_FOREACH(cs) {
        X86PMU *other = cpu_env(cs)->pmu.unit;

        if (other && other != unit) {
            return x86_pmu_same_code(&unit->uarch, &other->uarch, errp);
        }
    }
    return true;
}

bool x86_pmu_check_unchanged(X86CPU *cpu, const char *needs, Error **errp)
{
    for (int i = 0; i < PMU_UARCH_PARAMS; i++) {
        const PmuUarchParam *param = &pmu_uarch_params[i];
        uint32_t figure = *x86_pmu_figure(cpu, param);

        if (figure) {
            error_setg(errp, PREFIX "%s=%u needs %s", param->name, figure - 1,
                       needs);
            return false;
        }
    }
    if (cpu->env.pmu.unsampled) {
        error_setg(errp, PREFIX "sampling=off needs %s", needs);
        return false;
    }
    return x86_pmu_check_unobserved(cpu, needs, errp) &&
           x86_pmu_check_own(cpu, needs, errp);
}
