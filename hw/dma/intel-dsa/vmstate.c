/*
 * Intel Data Streaming Accelerator: migration.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/pci/msix.h"
#include "migration/vmstate.h"
#include "qemu/error-report.h"
#include "qemu/units.h"
#include "dsa.h"

static const VMStateDescription vmstate_portal = {
    .name = "intel-dsa/portal",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT8_ARRAY(desc, DsaPortal, DSA_DESC_SIZE),
        VMSTATE_UINT32(filled, DsaPortal),
        VMSTATE_UINT32(offset, DsaPortal),
        VMSTATE_END_OF_LIST()
    }
};

/* The descriptors are in the rings, which are fields of IntelDsa. */
static const VMStateDescription vmstate_queue = {
    .name = "intel-dsa/queue",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(head, DsaQueue),
        VMSTATE_UINT32(count, DsaQueue),
        VMSTATE_UINT32(outstanding, DsaQueue),
        VMSTATE_INT32(credit, DsaQueue),
        VMSTATE_UINT32(disabling, DsaQueue),
        VMSTATE_STRUCT(portal, DsaQueue, 1, vmstate_portal, DsaPortal),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_work = {
    .name = "intel-dsa/work",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT8_ARRAY(desc, DsaWork, DSA_DESC_SIZE),
        VMSTATE_UINT32(state, DsaWork),
        VMSTATE_UINT32(wq, DsaWork),
        VMSTATE_UINT32(ims, DsaWork),
        VMSTATE_UINT32(in_batch, DsaWork),
        VMSTATE_UINT32(batch_index, DsaWork),
        VMSTATE_INT64(due, DsaWork),
        VMSTATE_UINT64(order, DsaWork),
        VMSTATE_UINT32(done, DsaWork),
        VMSTATE_UINT32(out, DsaWork),
        VMSTATE_UINT32(crc, DsaWork),
        VMSTATE_UINT32(last_offset, DsaWork),
        VMSTATE_UINT8(status, DsaWork),
        VMSTATE_UINT8(result, DsaWork),
        VMSTATE_UINT32(bytes_completed, DsaWork),
        VMSTATE_UINT32(invalid_flags, DsaWork),
        VMSTATE_UINT64(fault_addr, DsaWork),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_batch = {
    .name = "intel-dsa/batch",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(active, DsaBatch),
        VMSTATE_STRUCT(work, DsaBatch, 1, vmstate_work, DsaWork),
        VMSTATE_UINT32(next, DsaBatch),
        VMSTATE_UINT32(outstanding, DsaBatch),
        VMSTATE_UINT32(completed, DsaBatch),
        VMSTATE_UINT32(failed, DsaBatch),
        VMSTATE_UINT32(have_desc, DsaBatch),
        VMSTATE_UINT32(logged, DsaBatch),
        VMSTATE_UINT8_ARRAY(desc, DsaBatch, DSA_DESC_SIZE),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_engine = {
    .name = "intel-dsa/engine",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_STRUCT_ARRAY(slot, DsaEngine, DSA_ENGINE_SLOTS, 1,
                             vmstate_work, DsaWork),
        VMSTATE_STRUCT(batch, DsaEngine, 1, vmstate_batch, DsaBatch),
        VMSTATE_UINT64(order, DsaEngine),
        VMSTATE_INT32(credit, DsaEngine),
        VMSTATE_UINT32(batch_turn, DsaEngine),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_link = {
    .name = "intel-dsa/link",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT32(busy, DsaLink),
        VMSTATE_UINT32(engine, DsaLink),
        VMSTATE_UINT32(slot, DsaLink),
        VMSTATE_INT64(free_at, DsaLink),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_ims = {
    .name = "intel-dsa/ims",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(address, DsaIms),
        VMSTATE_UINT32(data, DsaIms),
        VMSTATE_UINT32(control, DsaIms),
        VMSTATE_END_OF_LIST()
    }
};

static const VMStateDescription vmstate_counter = {
    .name = "intel-dsa/counter",
    .version_id = 1,
    .minimum_version_id = 1,
    .fields = (const VMStateField[]) {
        VMSTATE_UINT64(config, DsaCounter),
        VMSTATE_UINT64(value, DsaCounter),
        VMSTATE_UINT32_ARRAY(filter, DsaCounter, DSA_FILTERS),
        VMSTATE_END_OF_LIST()
    }
};

/*
 * A stream must not bring a descriptor into a state that a guest could not.
 * Permission of its interrupt is not checked: it may have changed since.
 */
static bool work_is_sane(const IntelDsa *s, const DsaWork *work)
{
    DsaWork copy = *work;

    if (work->state == DSA_SLOT_FREE) {
        return true;
    } else if (work->state > DSA_SLOT_RETIRE || work->wq >= s->num_wqs) {
        return false;
    } else if (work->state == DSA_SLOT_RETIRE) {
        return true;
    }
    if (dsa_desc_flags(copy.desc) & DSA_FLAG_RCI) {
        stl_le_p(copy.desc + 4, ldl_le_p(copy.desc + 4) & ~DSA_FLAG_RCI);
        stw_le_p(copy.desc + 36, 0);
    }
    return dsa_descriptor_has_data(work->desc) && !work->status &&
           !dsa_descriptor_check(s, &copy) &&
           dsa_operation_may_go_on(work);
}

/* Those from a batch must be of the engine's batch, which waits for them. */
static bool batch_is_sane(const IntelDsa *s, const DsaEngine *engine)
{
    const DsaBatch *batch = &engine->batch;

    for (unsigned i = 0; i < DSA_ENGINE_SLOTS; i++) {
        const DsaWork *work = &engine->slot[i];

        if (work->state != DSA_SLOT_FREE && work->in_batch &&
            (!batch->active || batch->work.state != DSA_SLOT_DATA ||
             batch->work.wq != work->wq)) {
            return false;
        }
    }
    return !batch->active || (batch->work.wq < s->num_wqs &&
                              (batch->work.state == DSA_SLOT_DATA ||
                               batch->work.state == DSA_SLOT_RETIRE));
}

static bool engine_is_sane(const IntelDsa *s, const DsaEngine *engine)
{
    for (unsigned i = 0; i < DSA_ENGINE_SLOTS; i++) {
        if (!work_is_sane(s, &engine->slot[i])) {
            return false;
        }
    }
    return batch_is_sane(s, engine);
}

/* Count what is outstanding in the slots, whatever the stream says of it. */
static void count_outstanding(IntelDsa *s)
{
    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        s->queue[wq].outstanding = 0;
    }
    for (unsigned e = 0; e < s->num_engines; e++) {
        DsaEngine *engine = &s->engine[e];

        engine->batch.outstanding = 0;
        for (unsigned i = 0; i < DSA_ENGINE_SLOTS; i++) {
            const DsaWork *work = &engine->slot[i];

            if (work->state != DSA_SLOT_FREE) {
                s->queue[work->wq].outstanding++;
                engine->batch.outstanding += work->in_batch != 0;
            }
        }
        if (engine->batch.active) {
            s->queue[engine->batch.work.wq].outstanding++;
        }
    }
}

static bool queue_is_sane(const IntelDsa *s, const DsaQueue *queue)
{
    return queue->head < s->total_wq_size &&
           queue->count <= s->total_wq_size &&
           queue->portal.filled < DSA_DESC_SIZE &&
           queue->portal.filled % 8 == 0;
}

/* If the link is busy, it is so with a descriptor that has data. */
static bool link_is_sane(const IntelDsa *s)
{
    return !s->link.busy ||
           (s->link.engine < s->num_engines &&
            s->link.slot < DSA_ENGINE_SLOTS &&
            s->engine[s->link.engine].slot[s->link.slot].state ==
            DSA_SLOT_DATA);
}

static int dsa_post_load(void *opaque, int version_id)
{
    IntelDsa *s = opaque;

    if (FIELD_EX64(s->regs[R_GENCAP], GENCAP, EVL) != s->event_log) {
        error_report("%s: event-log differs", TYPE_INTEL_DSA);
        return -EINVAL;
    }
    if (FIELD_EX64(s->regs[R_WQCAP], WQCAP, SHARED) != s->pasid) {
        error_report("%s: pasid differs", TYPE_INTEL_DSA);
        return -EINVAL;
    }
    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        if (!queue_is_sane(s, &s->queue[wq])) {
            error_report("%s: impossible state of work queue %u",
                         TYPE_INTEL_DSA, wq);
            return -EINVAL;
        }
    }
    for (unsigned e = 0; e < s->num_engines; e++) {
        if (!engine_is_sane(s, &s->engine[e])) {
            error_report("%s: impossible state of engine %u", TYPE_INTEL_DSA,
                         e);
            return -EINVAL;
        }
    }
    if (!link_is_sane(s)) {
        error_report("%s: impossible state of the link", TYPE_INTEL_DSA);
        return -EINVAL;
    }
    count_outstanding(s);
    /* The stream does not say which ones a command waits for: assume all. */
    dsa_command_await(s);
    dsa_engines_kick(s);
    return 0;
}

const VMStateDescription dsa_vmstate = {
    .name = TYPE_INTEL_DSA,
    .version_id = 1,
    .minimum_version_id = 1,
    .post_load = dsa_post_load,
    .fields = (const VMStateField[]) {
        VMSTATE_PCI_DEVICE(parent_obj, IntelDsa),
        VMSTATE_MSIX(parent_obj, IntelDsa),
        VMSTATE_UINT32_EQUAL(num_wqs, IntelDsa, "wqs differs"),
        VMSTATE_UINT32_EQUAL(num_groups, IntelDsa, "groups differs"),
        VMSTATE_UINT32_EQUAL(num_engines, IntelDsa, "engines differs"),
        VMSTATE_UINT32_EQUAL(total_wq_size, IntelDsa, "wq-size differs"),
        VMSTATE_UINT32_EQUAL(num_counters, IntelDsa, "perf-counters differs"),
        VMSTATE_UINT32_EQUAL(counter_width, IntelDsa, "perf-width differs"),
        VMSTATE_UINT32_EQUAL(ims_entries, IntelDsa, "ims-entries differs"),
        VMSTATE_UINT64_ARRAY(regs, IntelDsa, DSA_GRPCFG_BASE / 8),
        VMSTATE_UINT64_2DARRAY(grpcfg, IntelDsa, DSA_MAX_GROUPS,
                               DSA_GRPCFG_SIZE / 8),
        VMSTATE_UINT32_2DARRAY(wqcfg, IntelDsa, DSA_MAX_WQS,
                               DSA_WQCFG_SIZE / 4),
        VMSTATE_UINT32_ARRAY(msixperm, IntelDsa, DSA_MAX_WQS + 1),
        VMSTATE_STRUCT_VARRAY_POINTER_UINT32(ims, IntelDsa, ims_entries,
                                             vmstate_ims, DsaIms),
        VMSTATE_UINT32(command, IntelDsa),
        VMSTATE_UINT32(command_wqs, IntelDsa),
        VMSTATE_STRUCT_ARRAY(queue, IntelDsa, DSA_MAX_WQS, 1, vmstate_queue,
                             DsaQueue),
        VMSTATE_VBUFFER_UINT32(ring_desc, IntelDsa, 1, NULL, ring_bytes),
        VMSTATE_VARRAY_UINT32(ring_submitted, IntelDsa, ring_entries, 1,
                              vmstate_info_int64, int64_t),
        VMSTATE_VARRAY_UINT32(ring_ims, IntelDsa, ring_entries, 1,
                              vmstate_info_uint8, uint8_t),
        VMSTATE_STRUCT_ARRAY(engine, IntelDsa, DSA_MAX_ENGINES, 1,
                             vmstate_engine, DsaEngine),
        VMSTATE_STRUCT(link, IntelDsa, 1, vmstate_link, DsaLink),
        VMSTATE_INT64(clock, IntelDsa),
        VMSTATE_STRUCT_ARRAY(perfmon.counter, IntelDsa, DSA_MAX_COUNTERS, 1,
                             vmstate_counter, DsaCounter),
        VMSTATE_UINT32(perfmon.frozen, IntelDsa),
        VMSTATE_UINT32(perfmon.overflow, IntelDsa),
        VMSTATE_INT64(perfmon.time, IntelDsa),
        VMSTATE_END_OF_LIST()
    }
};
