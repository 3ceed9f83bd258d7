/*
 * Faults on demand: the object (-object pmu-fault) and its properties, and
 * x-query-pmu-faults.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-pmu-target.h"
#include "qapi/visitor.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "hw/qdev-core.h"
#include "qom/object_interfaces.h"
#include "system/replay.h"
#include "system/system.h"
#include "pmu-fault.h"

static const char *const number_names[NUMBERS] = {
    "cpu", "access", "nth", "cpl", "rip", "max", "insns", "by", "every",
    "jitter", "seed", "vector", "bits",
};

static const char *const text_names[TEXTS] = {
    "kind", "counter", "action", "window", "rw", "mode",
};

const char *x86_pmu_fault_id(const X86PMUFault *fault)
{
    return object_get_canonical_path_component(OBJECT(fault));
}

/*
 * The vCPU that @fault is possible on.  NULL and @errp set if there is none.
 */
static CPUState *x86_pmu_fault_find_cpu(const X86PMUFault *fault, Error **errp)
{
    CPUState *cs = x86_pmu_fault_cpu(fault);

    if (!cs) {
        error_setg(errp, "there is no such vCPU with a PMU: see cpu=");
        return NULL;
    }
    return x86_pmu_fault_fits(fault, cpu_env(cs)->pmu.unit, errp) ? cs : NULL;
}

/* The machine is complete: exit if no vCPU has taken the fault. */
static void x86_pmu_fault_machine_done(Notifier *notifier, void *data)
{
    X86PMUFault *fault = container_of(notifier, X86PMUFault, machine_done);
    Error *err = NULL;

    if (!fault->unit && !x86_pmu_fault_find_cpu(fault, &err)) {
        error_reportf_err(err, "pmu-fault '%s': ", x86_pmu_fault_id(fault));
        exit(EXIT_FAILURE);
    }
}

/* Properties --------------------------------------------------------------- */

/*
 * Only object-add can create a fault that fires at once.  In record and replay,
 * only the command line can create faults, as a replay would not know of
 * others.
 */
static bool x86_pmu_fault_check_time(X86PMUFault *fault, Error **errp)
{
    bool ready = phase_check(PHASE_MACHINE_READY);

    if (fault->at_once && !ready) {
        error_setg(errp, "without access, window, insns or every it fires at "
                   "once: only object-add can do that");
        return false;
    }
    if (ready && replay_mode != REPLAY_MODE_NONE) {
        error_setg(errp, "a replay would not know of it: put it on the "
                   "command line, with access, window, insns or every");
        return false;
    }
    return true;
}

/* Put @fault on its vCPU, now or at the vCPU's realize. */
static bool x86_pmu_fault_install(X86PMUFault *fault, Error **errp)
{
    CPUState *cs;

    if (!phase_check(PHASE_MACHINE_READY)) {
        fault->machine_done.notify = x86_pmu_fault_machine_done;
        qemu_add_machine_init_done_notifier(&fault->machine_done);
        return true;
    }
    cs = x86_pmu_fault_find_cpu(fault, errp);
    if (!cs) {
        return false;
    }
    x86_pmu_fault_start(fault, cs);
    return true;
}

static void x86_pmu_fault_complete(UserCreatable *uc, Error **errp)
{
    X86PMUFault *fault = PMU_FAULT(uc);

    if (!x86_pmu_fault_parse(fault, errp) ||
        !x86_pmu_fault_check_time(fault, errp)) {
        return;
    }
    if (strlen(x86_pmu_fault_id(fault)) >= X86_PMU_FAULT_NAME) {
        error_setg(errp, "id=%s: it must have %d characters at most",
                   x86_pmu_fault_id(fault), X86_PMU_FAULT_NAME - 1);
        return;
    }
    fault->complete = true;
    x86_pmu_fault_install(fault, errp);
}

static void x86_pmu_fault_get_number(Object *obj, Visitor *v,
                                     const char *name, void *opaque,
                                     Error **errp)
{
    visit_type_uint64(v, name, &PMU_FAULT(obj)->number[(uintptr_t)opaque],
                      errp);
}

/*
 * Fails once @fault is complete: -object and object-add set properties before.
 */
static void x86_pmu_fault_set_number(Object *obj, Visitor *v,
                                     const char *name, void *opaque,
                                     Error **errp)
{
    X86PMUFault *fault = PMU_FAULT(obj);
    uint64_t value;

    if (fault->complete) {
        error_setg(errp, "%s cannot be changed any more", name);
    } else if (!visit_type_uint64(v, name, &value, errp)) {
        return;
    } else if (value == NOT_GIVEN) {
        error_setg(errp, "%s=%" PRIu64 ": it must be less", name, value);
    } else {
        fault->number[(uintptr_t)opaque] = value;
    }
}

static void x86_pmu_fault_get_text(Object *obj, Visitor *v, const char *name,
                                   void *opaque, Error **errp)
{
    char *value = PMU_FAULT(obj)->text[(uintptr_t)opaque] ?: (char *)"";

    visit_type_str(v, name, &value, errp);
}

static void x86_pmu_fault_set_text(Object *obj, Visitor *v, const char *name,
                                   void *opaque, Error **errp)
{
    X86PMUFault *fault = PMU_FAULT(obj);
    char *value;

    if (fault->complete) {
        error_setg(errp, "%s cannot be changed any more", name);
    } else if (visit_type_str(v, name, &value, errp)) {
        g_free(fault->text[(uintptr_t)opaque]);
        fault->text[(uintptr_t)opaque] = value;
    }
}

static void x86_pmu_fault_init(Object *obj)
{
    X86PMUFault *fault = PMU_FAULT(obj);

    for (int i = 0; i < NUMBERS; i++) {
        fault->number[i] = NOT_GIVEN;
    }
}

static void x86_pmu_fault_finalize(Object *obj)
{
    X86PMUFault *fault = PMU_FAULT(obj);

    x86_pmu_fault_stop(fault);
    if (fault->machine_done.notify) {
        qemu_remove_machine_init_done_notifier(&fault->machine_done);
    }
    for (int i = 0; i < TEXTS; i++) {
        g_free(fault->text[i]);
    }
}

static void x86_pmu_fault_class_init(ObjectClass *oc, void *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(oc);

    ucc->complete = x86_pmu_fault_complete;
    for (uintptr_t i = 0; i < NUMBERS; i++) {
        object_class_property_add(oc, number_names[i], "uint64",
                                  x86_pmu_fault_get_number,
                                  x86_pmu_fault_set_number, NULL, (void *)i);
    }
    for (uintptr_t i = 0; i < TEXTS; i++) {
        object_class_property_add(oc, text_names[i], "string",
                                  x86_pmu_fault_get_text,
                                  x86_pmu_fault_set_text, NULL, (void *)i);
    }
}

static const TypeInfo x86_pmu_fault_info = {
    .name = TYPE_PMU_FAULT,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(X86PMUFault),
    .instance_init = x86_pmu_fault_init,
    .instance_finalize = x86_pmu_fault_finalize,
    .class_init = x86_pmu_fault_class_init,
    .interfaces = (InterfaceInfo[]) {
        { TYPE_USER_CREATABLE },
        { }
    },
};

static void x86_pmu_fault_register(void)
{
    type_register_static(&x86_pmu_fault_info);
}

type_init(x86_pmu_fault_register)

/* The monitor -------------------------------------------------------------- */

typedef struct FaultQuery {
    const X86PMUFault *fault;
    PmuFaultInfo *info;
} FaultQuery;

/* Runs on the thread of the fault's vCPU, so that all is as of one moment. */
static void x86_pmu_fault_describe(CPUState *cs, run_on_cpu_data data)
{
    const FaultQuery *query = data.host_ptr;
    const X86PMUFault *fault = query->fault;

    query->info->fired = fault->fired;
    query->info->clock = fault->clock;
    query->info->rip = fault->rip;
    query->info->added = fault->added;
}

static int x86_pmu_fault_query(Object *child, void *opaque)
{
    PmuFaultInfoList ***tail = opaque;
    X86PMUFault *fault = (X86PMUFault *)
        object_dynamic_cast(child, TYPE_PMU_FAULT);
    FaultQuery query = { .fault = fault };

    if (!fault) {
        return 0;
    }
    query.info = g_new0(PmuFaultInfo, 1);
    query.info->id = g_strdup(x86_pmu_fault_id(fault));
    query.info->kind = g_strdup(x86_pmu_fault_kind_name(fault->kind));
    if (fault->unit && x86_pmu_can_be_asked(CPU(fault->unit->cpu))) {
        x86_pmu_run_on_cpu(CPU(fault->unit->cpu), x86_pmu_fault_describe,
                           &query);
    } else {
        x86_pmu_fault_describe(NULL, RUN_ON_CPU_HOST_PTR(&query));
    }
    QAPI_LIST_APPEND(*tail, query.info);
    return 0;
}

PmuFaultInfoList *qmp_x_query_pmu_faults(Error **errp)
{
    PmuFaultInfoList *list = NULL, **tail = &list;

    object_child_foreach(object_get_objects_root(), x86_pmu_fault_query,
                         &tail);
    return list;
}
