/*
 * Migration of the checker: what it remembers migrates with the guest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Hits do not migrate: they stay in the report of the side that found them.
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "migration/vmstate.h"
#include "pmu-observe.h"

static bool x86_pmu_check_needed(void *opaque)
{
    const X86PMU *unit = opaque;

    return unit->observer && unit->observer->check;
}

void x86_pmu_observe_save(X86PMU *unit)
{
    if (x86_pmu_check_needed(unit)) {
        unit->migrated.check = *pmu_check_memory(unit->observer->check);
    }
}

bool x86_pmu_observe_check(const X86PMU *unit)
{
    const char *why = unit->migrated.check_arrived
                      ? pmu_check_memory_fault(&unit->migrated.check) : NULL;

    if (why) {
        error_report("cpu/pmu: %s", why);
    }
    return !why;
}

void x86_pmu_observe_load(X86PMU *unit)
{
    X86PMUObserver *observer = unit->observer;

    if (observer && observer->check && unit->migrated.check_arrived) {
        pmu_check_load(observer->check, &unit->migrated.check);
    } else if (observer && observer->check) {
        pmu_check_forget(observer->check);
    }
    /*
     * The steps were another guest's, or, with reverse debugging, they are in
     * the future.
     */
    if (observer && observer->recorder) {
        pmu_recorder_clear(observer->recorder);
    }
}

static int x86_pmu_check_post_load(void *opaque, int version_id)
{
    X86PMU *unit = opaque;

    unit->migrated.check_arrived = true;
    return 0;
}

static const VMStateDescription vmstate_counter = {
    .name = "cpu/pmu/unit/check/counter",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_BOOL(known, PmuCheckCounter),
        VMSTATE_BOOL(ever_written, PmuCheckCounter),
        VMSTATE_BOOL(counted, PmuCheckCounter),
        VMSTATE_BOOL(passed_over, PmuCheckCounter),
        VMSTATE_BOOL(acked, PmuCheckCounter),
        VMSTATE_BOOL(inside, PmuCheckCounter),
        VMSTATE_BOOL(owned, PmuCheckCounter),
        VMSTATE_UINT8(dead_reads, PmuCheckCounter),
        VMSTATE_BOOL(idle, PmuCheckCounter),
        VMSTATE_BOOL(idle_reported, PmuCheckCounter),
        VMSTATE_UINT64(idle_since, PmuCheckCounter),
        VMSTATE_UNUSED(sizeof(uint64_t)),
        VMSTATE_UINT64(event, PmuCheckCounter),
        VMSTATE_UINT64(space, PmuCheckCounter),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_slots = {
    .name = "cpu/pmu/unit/check/slots",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(state, PmuCheckSlots),
        VMSTATE_UINT64(slots_written, PmuCheckSlots),
        VMSTATE_UINT64(metrics_written, PmuCheckSlots),
        VMSTATE_UINT64(stopped, PmuCheckSlots),
        VMSTATE_UINT64(acked, PmuCheckSlots),
        VMSTATE_BOOL(metrics_acked, PmuCheckSlots),
        VMSTATE_BOOL(ran, PmuCheckSlots),
        VMSTATE_BOOL(read, PmuCheckSlots),
        VMSTATE_BOOL(read_running, PmuCheckSlots),
        VMSTATE_BOOL(disturbed, PmuCheckSlots),
        VMSTATE_BOOL(saved, PmuCheckSlots),
        VMSTATE_BOOL(metrics_read, PmuCheckSlots),
        VMSTATE_UINT64(metrics_read_at, PmuCheckSlots),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_pmi = {
    .name = "cpu/pmu/unit/check/pmi",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(lvtpc, PmuCheckPmi),
        VMSTATE_BOOL(lvtpc_known, PmuCheckPmi),
        VMSTATE_BOOL(latched, PmuCheckPmi),
        VMSTATE_BOOL(held, PmuCheckPmi),
        VMSTATE_BOOL(active, PmuCheckPmi),
        VMSTATE_BOOL(unmasked, PmuCheckPmi),
        VMSTATE_BOOL(status_read, PmuCheckPmi),
        VMSTATE_BOOL(started, PmuCheckPmi),
        VMSTATE_UINT32(status_reads, PmuCheckPmi),
        VMSTATE_UINT32(depth, PmuCheckPmi),
        VMSTATE_BOOL(masked, PmuCheckPmi),
        VMSTATE_BOOL(masked_reported, PmuCheckPmi),
        VMSTATE_UINT64(masked_since, PmuCheckPmi),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_memory = {
    .name = "cpu/pmu/unit/check/memory",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(number, PmuCheckMemory),
        VMSTATE_STRUCT_ARRAY(counter, PmuCheckMemory, PMU_CHECK_COUNTERS, 1,
                             vmstate_counter, PmuCheckCounter),
        VMSTATE_STRUCT(slots, PmuCheckMemory, 1, vmstate_slots,
                       PmuCheckSlots),
        VMSTATE_STRUCT(pmi, PmuCheckMemory, 1, vmstate_pmi, PmuCheckPmi),
        VMSTATE_UINT64(status_read, PmuCheckMemory),
        VMSTATE_UINT64(pending, PmuCheckMemory),
        VMSTATE_UINT64(lost, PmuCheckMemory),
        VMSTATE_UINT32(last_read, PmuCheckMemory),
        VMSTATE_END_OF_LIST()
    }
};

const VMStateDescription vmstate_x86_pmu_check = {
    .name = "cpu/pmu/unit/check",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = x86_pmu_check_needed,
    .post_load = x86_pmu_check_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT(migrated.check, X86PMU, 1, vmstate_memory,
                       PmuCheckMemory),
        VMSTATE_END_OF_LIST()
    }
};
