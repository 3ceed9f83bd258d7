/*
 * Migration of faults on demand: by their names, with the CPU's state.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The destination needs all objects of the source.  An object that only the
 * destination has keeps its state there.
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/id.h"
#include "migration/vmstate.h"
#include "pmu-fault.h"

void x86_pmu_faults_make_room(X86PMU *unit)
{
    if (!unit->migrated.faults) {
        unit->migrated.faults = g_new(X86PMUSavedFaults, 1);
    }
    memset(unit->migrated.faults, 0, sizeof(*unit->migrated.faults));
}

/*
 * Does @fault migrate?  One that fired at once is done, unless it still holds a
 * counter, and need not be on the other side.
 */
static bool x86_pmu_fault_travels(const X86PMUFault *fault)
{
    return !fault->at_once || fault->kind == FAULT_STILL;
}

static void x86_pmu_fault_save(const X86PMUFault *fault,
                               X86PMUSavedFault *saved)
{
    g_strlcpy(saved->id, x86_pmu_fault_id(fault), sizeof(saved->id));
    saved->left = fault->left;
    saved->seen = fault->seen;
    saved->fired = fault->fired;
    saved->clock = fault->clock;
    saved->rip = fault->rip;
    saved->random = fault->random;
    saved->added = fault->added;
}

void x86_pmu_faults_save(X86PMU *unit, uint64_t retired)
{
    X86PMUSavedFaults *saved;

    if (!unit->faults) {
        return;
    }
    x86_pmu_faults_make_room(unit);
    saved = unit->migrated.faults;
    saved->msr = unit->fault_msr;
    saved->asked = unit->fault_asked;
    saved->released = unit->fault_released;
    saved->held = unit->fault_held;
    saved->retired = retired;
    for (unsigned i = 0; i < unit->faults->len; i++) {
        const X86PMUFault *fault = g_ptr_array_index(unit->faults, i);

        if (x86_pmu_fault_travels(fault)) {
            x86_pmu_fault_save(fault, &saved->fault[saved->count++]);
        }
    }
}

/* The fault of @unit with the name of @saved; NULL: there is none. */
static X86PMUFault *x86_pmu_fault_find(const X86PMU *unit,
                                       const X86PMUSavedFault *saved)
{
    for (unsigned i = 0; unit->faults && i < unit->faults->len; i++) {
        X86PMUFault *fault = g_ptr_array_index(unit->faults, i);

        if (!strncmp(x86_pmu_fault_id(fault), saved->id, sizeof(saved->id))) {
            return fault;
        }
    }
    return NULL;
}

bool x86_pmu_faults_check(const X86PMU *unit)
{
    const X86PMUSavedFaults *saved = unit->migrated.faults;

    if (saved->asked &
        ~(FAULT_ASKS_STOP | FAULT_ASKS_INIT | FAULT_ASKS_PMI)) {
        error_report("cpu/pmu: unknown requests of faults, 0x%x",
                     saved->asked);
        return false;
    }
    for (unsigned i = 0; i < saved->count; i++) {
        const X86PMUSavedFault *fault = &saved->fault[i];

        /* The stream can be hostile, and the name is going to be printed. */
        if (!memchr(fault->id, 0, sizeof(fault->id)) ||
            !id_wellformed(fault->id)) {
            error_report("cpu/pmu: a pmu-fault has no valid name");
            return false;
        }
        if (!x86_pmu_fault_find(unit, fault)) {
            error_report("cpu/pmu: there is no pmu-fault '%s' on this side",
                         fault->id);
            return false;
        }
        if (fault->left > INT64_MAX || !fault->random) {
            error_report("cpu/pmu: the state of pmu-fault '%s' cannot be",
                         fault->id);
            return false;
        }
    }
    return true;
}

static void x86_pmu_fault_load(X86PMUFault *fault,
                               const X86PMUSavedFault *saved)
{
    fault->left = saved->left;
    fault->seen = saved->seen;
    fault->fired = saved->fired;
    fault->clock = saved->clock;
    fault->rip = saved->rip;
    fault->random = saved->random;
    fault->added = saved->added;
}

void x86_pmu_faults_load(CPUX86State *env)
{
    X86PMU *unit = env->pmu.unit;
    const X86PMUSavedFaults *saved = unit->migrated.faults;

    unit->fault_msr = saved->msr;
    unit->fault_asked = saved->asked;
    unit->fault_released = saved->released;
    unit->fault_held = saved->held;
    for (unsigned i = 0; i < saved->count; i++) {
        x86_pmu_fault_load(x86_pmu_fault_find(unit, &saved->fault[i]),
                           &saved->fault[i]);
    }
    if (unit->faults) {
        x86_pmu_faults_resume(env);
        x86_pmu_faults_retire(env, saved->retired);
    }
}

static const VMStateDescription vmstate_fault = {
    .name = "cpu/pmu/unit/faults/fault",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_BUFFER_UNSAFE(id, X86PMUSavedFault, 1, X86_PMU_FAULT_NAME),
        VMSTATE_UINT64(left, X86PMUSavedFault),
        VMSTATE_UINT64(seen, X86PMUSavedFault),
        VMSTATE_UINT64(fired, X86PMUSavedFault),
        VMSTATE_UINT64(clock, X86PMUSavedFault),
        VMSTATE_UINT64(rip, X86PMUSavedFault),
        VMSTATE_UINT64(random, X86PMUSavedFault),
        VMSTATE_INT64(added, X86PMUSavedFault),
        VMSTATE_END_OF_LIST()
    }
};

/* Checks @count before faults are read, as there is no room for more. */
static bool x86_pmu_faults_fit(void *opaque, int version_id)
{
    const X86PMUSavedFaults *saved = opaque;

    return saved->count <= X86_PMU_FAULTS;
}

static const VMStateDescription vmstate_saved_faults = {
    .name = "cpu/pmu/unit/faults/all",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(msr, X86PMUSavedFaults),
        VMSTATE_UINT32(asked, X86PMUSavedFaults),
        VMSTATE_BOOL(released, X86PMUSavedFaults),
        VMSTATE_UINT64(held, X86PMUSavedFaults),
        VMSTATE_UINT64(retired, X86PMUSavedFaults),
        VMSTATE_UINT32(count, X86PMUSavedFaults),
        VMSTATE_VALIDATE("cpu/pmu: faults fit", x86_pmu_faults_fit),
        VMSTATE_STRUCT_VARRAY_UINT32(fault, X86PMUSavedFaults, count, 1,
                                     vmstate_fault, X86PMUSavedFault),
        VMSTATE_END_OF_LIST()
    }
};

static bool x86_pmu_faults_needed(void *opaque)
{
    const X86PMU *unit = opaque;

    return unit->faults && unit->faults->len;
}

const VMStateDescription vmstate_x86_pmu_faults = {
    .name = "cpu/pmu/unit/faults",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = x86_pmu_faults_needed,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_POINTER(migrated.faults, X86PMU, vmstate_saved_faults,
                               X86PMUSavedFaults),
        VMSTATE_END_OF_LIST()
    }
};
