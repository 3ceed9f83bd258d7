/*
 * Faults on demand: -object pmu-fault.
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
#include "migration/blocker.h"
#include "qom/object_interfaces.h"
#include "system/replay.h"
#include "system/system.h"
#include "pmu-fault.h"

typedef enum X86PMUFaultCounter {
    COUNTER_NONE,
    COUNTER_ANY,                /* needed */
    COUNTER_PLAIN,              /* needed, and not of PERF_METRICS */
    COUNTER_OPTIONAL,           /* any */
    COUNTER_REF_CYCLES,         /* always that */
} X86PMUFaultCounter;

/* What a kind is about. */
typedef struct X86PMUFaultTraits {
    const char *name;
    X86PMUFaultTime time;
    X86PMUFaultAction action;   /* but for action= */
    X86PMUFaultCounter counter;
    bool by;                    /* needs by= */
} X86PMUFaultTraits;

static const X86PMUFaultTraits kinds[FAULT_KINDS] = {
    [FAULT_OVERFLOW] = { "overflow", FAULT_AT_WRITE, .counter = COUNTER_ANY },
    [FAULT_SPURIOUS] = { "spurious", FAULT_AT_WRITE },
    [FAULT_GP] = { "gp", FAULT_AT_ACCESS, X86_PMU_FAULT_GP },
    [FAULT_DROP] = { "drop", FAULT_AT_INTERRUPT, X86_PMU_FAULT_DROP },
    [FAULT_NO_AUTOMASK] = { "no-automask", FAULT_AT_INTERRUPT,
                            X86_PMU_FAULT_UNMASKED },
    [FAULT_DOUBLE] = { "double", FAULT_AT_INTERRUPT, X86_PMU_FAULT_DOUBLE },
    [FAULT_LATE] = { "late", FAULT_AT_INTERRUPT, X86_PMU_FAULT_LATE,
                     .by = true },
    [FAULT_MERGE] = { "merge", FAULT_AT_INTERRUPT, .counter = COUNTER_ANY },
    [FAULT_FREEZE_LOST] = { "freeze-lost", FAULT_AT_INTERRUPT,
                            X86_PMU_FAULT_DROP },
    [FAULT_STUCK] = { "stuck", FAULT_OF_WRITE, .counter = COUNTER_OPTIONAL },
    [FAULT_ONE_MORE] = { "one-more", FAULT_OF_WRITE,
                         .counter = COUNTER_PLAIN },
    [FAULT_SMI] = { "smi", FAULT_AT_WRITE, .by = true },
    [FAULT_REF_JUMP] = { "ref-jump", FAULT_AT_WRITE,
                         .counter = COUNTER_REF_CYCLES, .by = true },
    [FAULT_STILL] = { "still", FAULT_AT_WRITE, .counter = COUNTER_PLAIN },
};

#define KIND_NAMES "overflow, spurious, gp, drop, no-automask, double, late, " \
                   "merge, freeze-lost, stuck, one-more, smi, ref-jump or still"
#define COUNTER_KIND_NAMES "overflow, merge, stuck, one-more or still"
#define BY_KIND_NAMES "late, smi or ref-jump"

/* IA32_PERF_GLOBAL_STATUS_RESET, the one register that clears a status bit */
#define STUCK_MSR 0x390

/* What hardware does as well, and what there is no model of. */
static const char *const not_modelled[] = {
    "half", "erratum", "caps", "unplug", "mode", "tsc-jump", "metrics-noise",
};

static const char *const number_names[NUMBERS] = {
    "cpu", "access", "nth", "cpl", "rip", "max", "insns", "by",
};

static const char *const text_names[TEXTS] = {
    "kind", "counter", "action", "window", "rw",
};

const char *x86_pmu_fault_kind_name(X86PMUFaultKind kind)
{
    return kinds[kind].name;
}

static void x86_pmu_fault_machine_done(Notifier *notifier, void *data)
{
    X86PMUFault *fault = container_of(notifier, X86PMUFault, machine_done);
    CPUState *cs = x86_pmu_fault_cpu(fault);

    if (!fault->unit) {
        error_report("pmu-fault '%s': %s",
                     object_get_canonical_path_component(OBJECT(fault)),
                     cs ? x86_pmu_fault_misfit(fault, cpu_env(cs)->pmu.unit)
                        : "there is no such vCPU with a PMU: see cpu=");
        exit(EXIT_FAILURE);
    }
}

/* Properties --------------------------------------------------------------- */

static bool x86_pmu_fault_parse_kind(X86PMUFault *fault, Error **errp)
{
    const char *kind = fault->text[TEXT_KIND];

    for (int i = 0; i < ARRAY_SIZE(not_modelled); i++) {
        if (kind && g_str_equal(kind, not_modelled[i])) {
            error_setg(errp, "kind=%s is not modelled; these are: "
                       KIND_NAMES, kind);
            return false;
        }
    }
    for (int i = 0; i < FAULT_KINDS; i++) {
        if (kind && g_str_equal(kind, kinds[i].name)) {
            fault->kind = i;
            fault->time = kinds[i].time;
            return true;
        }
    }
    error_setg(errp, "kind=%s: it must be " KIND_NAMES, kind ?: "");
    return false;
}

/* "pmc3", "fixed0", "metrics.1": false if @text is none of them. */
static bool x86_pmu_fault_parse_index(const char *text, const char *prefix,
                                      unsigned first, unsigned count,
                                      unsigned *counter)
{
    uint64_t index;

    if (!g_str_has_prefix(text, prefix) ||
        qemu_strtou64(text + strlen(prefix), NULL, 10, &index) ||
        index >= count) {
        return false;
    }
    *counter = first + index;
    return true;
}

/* @text is one of @which, which is needed or optional. */
static bool x86_pmu_fault_parse_name(const char *text, X86PMUFaultCounter which,
                                     unsigned *counter)
{
    return x86_pmu_fault_parse_index(text, "pmc", 0, PERFMON_ARCH_GP,
                                     counter) ||
           x86_pmu_fault_parse_index(text, "fixed", PERFMON_ARCH_GP,
                                     PERFMON_MAX_FIXED, counter) ||
           (which != COUNTER_PLAIN &&
            x86_pmu_fault_parse_index(text, "metrics.", COUNTER_METRICS(0),
                                      PERFMON_MAX_METRICS, counter));
}

static bool x86_pmu_fault_parse_counter(X86PMUFault *fault, Error **errp)
{
    X86PMUFaultCounter which = kinds[fault->kind].counter;
    const char *text = fault->text[TEXT_COUNTER];

    fault->has_counter = which == COUNTER_OPTIONAL ? text != NULL
                                                   : which != COUNTER_NONE;
    fault->counter = PMU_CHECK_FIXED(2);        /* of reference cycles */
    if (!fault->has_counter || which == COUNTER_REF_CYCLES) {
        if (text) {
            error_setg(errp, "counter=%s needs kind=" COUNTER_KIND_NAMES,
                       text);
        }
        return !text;
    }
    if (text && x86_pmu_fault_parse_name(text, which, &fault->counter)) {
        return true;
    }
    error_setg(errp, "counter=%s: it must be pmc0 to pmc7, fixed0 to fixed3%s",
               text ?: "",
               which == COUNTER_PLAIN ? "" : ", or metrics.0 to metrics.7");
    return false;
}

static bool x86_pmu_fault_parse_action(X86PMUFault *fault, Error **errp)
{
    const char *text = fault->text[TEXT_ACTION];

    fault->action = kinds[fault->kind].action;
    if (!text) {
        return true;
    }
    if (fault->kind != FAULT_GP) {
        error_setg(errp, "action=%s needs kind=gp", text);
        return false;
    }
    if (g_str_equal(text, "ignore")) {
        fault->action = X86_PMU_FAULT_IGNORE;
        fault->read = false;
    } else if (g_str_equal(text, "zero")) {
        fault->action = X86_PMU_FAULT_ZERO;
        fault->write = false;
    } else if (!g_str_equal(text, "gp")) {
        error_setg(errp, "action=%s: it must be gp, ignore or zero", text);
        return false;
    }
    return true;
}

static bool x86_pmu_fault_parse_by(X86PMUFault *fault, Error **errp)
{
    uint64_t by = fault->number[NUMBER_BY];

    if (!kinds[fault->kind].by) {
        if (by != NOT_GIVEN) {
            error_setg(errp, "by=%" PRIu64 " needs kind=" BY_KIND_NAMES, by);
        }
        return by == NOT_GIVEN;
    }
    if (by == NOT_GIVEN || !by || by > UINT32_MAX) {
        error_setg(errp, "kind=%s needs by=1 to by=%" PRIu32,
                   fault->text[TEXT_KIND], UINT32_MAX);
        return false;
    }
    return true;
}

static bool x86_pmu_fault_is_writes(const X86PMUFault *fault)
{
    return fault->time == FAULT_AT_WRITE || fault->time == FAULT_OF_WRITE;
}

static bool x86_pmu_fault_parse_rw(X86PMUFault *fault, Error **errp)
{
    const char *text = fault->text[TEXT_RW] ?:
                       x86_pmu_fault_is_writes(fault) ? "w" : "rw";

    if (x86_pmu_fault_is_writes(fault) && !g_str_equal(text, "w")) {
        error_setg(errp, "rw=%s: kind=%s is done at writes alone, rw=w", text,
                   fault->text[TEXT_KIND]);
        return false;
    }
    fault->read = g_str_equal(text, "r") || g_str_equal(text, "rw");
    fault->write = g_str_equal(text, "w") || g_str_equal(text, "rw");
    if (!fault->read && !fault->write) {
        error_setg(errp, "rw=%s: it must be r, w or rw", text);
        return false;
    }
    return true;
}

static bool x86_pmu_fault_parse_place(X86PMUFault *fault, Error **errp)
{
    const char *window = fault->text[TEXT_WINDOW], *end;
    uint64_t access = fault->number[NUMBER_ACCESS], first, second;

    if (window && access != NOT_GIVEN) {
        error_setg(errp, "window and access contradict each other");
        return false;
    }
    if (fault->time == FAULT_AT_INTERRUPT && (window || access != NOT_GIVEN)) {
        error_setg(errp, "kind=%s is about interrupts: it has no access and "
                   "no window", fault->text[TEXT_KIND]);
        return false;
    }
    fault->msr = access == NOT_GIVEN ? 0 : access;
    if (window) {
        if (qemu_strtou64(window, &end, 0, &first) || *end != '-' ||
            qemu_strtou64(end + 1, NULL, 0, &second) ||
            first > UINT32_MAX || second > UINT32_MAX || !first || !second) {
            error_setg(errp, "window=%s: it must be two MSRs, as in "
                       "0x30c-0x329", window);
            return false;
        }
        fault->before = first;
        fault->msr = second;
    }
    if (fault->kind == FAULT_STUCK) {
        if (fault->msr && fault->msr != STUCK_MSR) {
            error_setg(errp, "kind=stuck is about writes to 0x%x: it has no "
                       "access to 0x%x", STUCK_MSR, fault->msr);
            return false;
        }
        fault->msr = STUCK_MSR;
    }
    if (!fault->msr && fault->kind == FAULT_GP) {
        error_setg(errp, "kind=gp needs access or window");
        return false;
    }
    return true;
}

/* At no access and no interrupt: after insns, or else now. */
static bool x86_pmu_fault_parse_insns(X86PMUFault *fault, Error **errp)
{
    uint64_t insns = fault->number[NUMBER_INSNS];
    bool by_itself = fault->time == FAULT_AT_WRITE && !fault->msr;

    if (insns != NOT_GIVEN && (!insns || insns > INT64_MAX)) {
        error_setg(errp, "insns=%" PRIu64 ": it must be 1 to %" PRId64, insns,
                   INT64_MAX);
        return false;
    }
    fault->by_count = by_itself && insns != NOT_GIVEN;
    fault->at_once = by_itself && insns == NOT_GIVEN;
    return true;
}

/* A fault at once, and what a replay cannot know. */
static bool x86_pmu_fault_check_time(X86PMUFault *fault, Error **errp)
{
    bool ready = phase_check(PHASE_MACHINE_READY);

    if (fault->at_once && !ready) {
        error_setg(errp, "without access, window or insns it fires at once: "
                   "only object-add can do that");
        return false;
    }
    if (ready && replay_mode != REPLAY_MODE_NONE) {
        error_setg(errp, "a replay would not know of it: put it on the "
                   "command line, with access, window or insns");
        return false;
    }
    return true;
}

static bool x86_pmu_fault_install(X86PMUFault *fault, Error **errp)
{
    CPUState *cs = x86_pmu_fault_cpu(fault);
    const char *why;

    if (!phase_check(PHASE_MACHINE_READY)) {
        fault->machine_done.notify = x86_pmu_fault_machine_done;
        qemu_add_machine_init_done_notifier(&fault->machine_done);
        return true;
    }
    if (!cs) {
        error_setg(errp, "there is no such vCPU with a PMU: see cpu=");
        return false;
    }
    why = x86_pmu_fault_misfit(fault, cpu_env(cs)->pmu.unit);
    if (why) {
        error_setg(errp, "%s", why);
        return false;
    }
    x86_pmu_fault_start(fault, cs);
    return true;
}

static void x86_pmu_fault_complete(UserCreatable *uc, Error **errp)
{
    X86PMUFault *fault = PMU_FAULT(uc);

    if (!x86_pmu_fault_parse_kind(fault, errp) ||
        !x86_pmu_fault_parse_counter(fault, errp) ||
        !x86_pmu_fault_parse_by(fault, errp) ||
        !x86_pmu_fault_parse_rw(fault, errp) ||
        !x86_pmu_fault_parse_action(fault, errp) ||
        !x86_pmu_fault_parse_place(fault, errp) ||
        !x86_pmu_fault_parse_insns(fault, errp) ||
        !x86_pmu_fault_check_time(fault, errp)) {
        return;
    }
    error_setg(&fault->blocker, "pmu-fault does not migrate");
    if (migrate_add_blocker(&fault->blocker, errp) < 0) {
        return;
    }
    x86_pmu_fault_install(fault, errp);
}

static void x86_pmu_fault_get_number(Object *obj, Visitor *v,
                                     const char *name, void *opaque,
                                     Error **errp)
{
    visit_type_uint64(v, name, &PMU_FAULT(obj)->number[(uintptr_t)opaque],
                      errp);
}

/* Only before it is complete: -object and object-add know no other time. */
static void x86_pmu_fault_set_number(Object *obj, Visitor *v,
                                     const char *name, void *opaque,
                                     Error **errp)
{
    X86PMUFault *fault = PMU_FAULT(obj);
    uint64_t value;

    if (fault->blocker) {
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

    if (fault->blocker) {
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
    migrate_del_blocker(&fault->blocker);
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

static int x86_pmu_fault_query(Object *child, void *opaque)
{
    PmuFaultInfoList ***tail = opaque;
    X86PMUFault *fault = (X86PMUFault *)
        object_dynamic_cast(child, TYPE_PMU_FAULT);
    PmuFaultInfo *info;

    if (!fault) {
        return 0;
    }
    info = g_new0(PmuFaultInfo, 1);
    info->id = g_strdup(object_get_canonical_path_component(child));
    info->kind = g_strdup(kinds[fault->kind].name);
    info->fired = qatomic_read_u64(&fault->fired);
    info->clock = qatomic_read_u64(&fault->clock);
    info->rip = qatomic_read_u64(&fault->rip);
    info->added = qatomic_read_u64(&fault->added);
    QAPI_LIST_APPEND(*tail, info);
    return 0;
}

PmuFaultInfoList *qmp_x_query_pmu_faults(Error **errp)
{
    PmuFaultInfoList *list = NULL, **tail = &list;

    object_child_foreach(object_get_objects_root(), x86_pmu_fault_query,
                         &tail);
    return list;
}
