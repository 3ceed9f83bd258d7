/*
 * Intel Data Streaming Accelerator: portals and work queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/log.h"
#include "dsa.h"
#include "trace.h"

static void drop(IntelDsa *s, unsigned wq, const char *reason)
{
    trace_dsa_drop(wq, reason);
    qemu_log_mask(LOG_GUEST_ERROR, "%s: descriptor for WQ %u dropped: %s\n",
                  TYPE_INTEL_DSA, wq, reason);
    dsa_perfmon_count(s, DSA_CATEGORY_WQ, DSA_EV_WQ_DWQ_DROPPED,
                      &(DsaSource) { .wq = wq }, 1);
}

static void submit(IntelDsa *s, unsigned wq, const uint8_t *desc)
{
    DsaQueue *queue = &s->queue[wq];
    uint32_t size = FIELD_EX32(s->wqcfg[wq][0], WQCFG0, SIZE);
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    uint32_t place;

    if (!dsa_wq_enabled(s, wq) || queue->disabling) {
        drop(s, wq, "the WQ is not enabled");
        return;
    } else if (queue->count >= MIN(size, s->total_wq_size)) {
        drop(s, wq, "the WQ is full");
        return;
    }
    dsa_perfmon_sync(s);
    place = (queue->head + queue->count) % s->total_wq_size;
    memcpy(queue->desc + place * DSA_DESC_SIZE, desc, DSA_DESC_SIZE);
    queue->submitted[place] = now;
    queue->count++;
    trace_dsa_submit(wq, dsa_desc_opcode(desc), dsa_desc_flags(desc),
                     queue->count);
    dsa_perfmon_count(s, DSA_CATEGORY_WQ, DSA_EV_WQ_DWQ_OK,
                      &(DsaSource) { .wq = wq }, 1);
    dsa_engines_kick(s);
}

bool dsa_queue_peek(const IntelDsa *s, unsigned wq, const uint8_t **desc,
                    int64_t *submitted)
{
    const DsaQueue *queue = &s->queue[wq];

    if (!queue->count) {
        return false;
    }
    *desc = queue->desc + queue->head * DSA_DESC_SIZE;
    *submitted = queue->submitted[queue->head];
    return true;
}

void dsa_queue_pop(IntelDsa *s, unsigned wq)
{
    DsaQueue *queue = &s->queue[wq];

    queue->head = (queue->head + 1) % s->total_wq_size;
    queue->count--;
}

void dsa_queue_clear(IntelDsa *s, unsigned wq)
{
    s->queue[wq].count = 0;
    s->queue[wq].portal.filled = 0;
}

static uint64_t dsa_portal_read(void *opaque, hwaddr addr, unsigned size)
{
    return MAKE_64BIT_MASK(0, size * 8);
}

/*
 * MOVDIR64B stores its 64 bytes as eight times eight, in order, and lets no
 * other CPU in between.  What does not arrive like that is no descriptor.
 */
static void dsa_portal_write(void *opaque, hwaddr addr, uint64_t value,
                             unsigned size)
{
    IntelDsa *s = opaque;
    unsigned wq = addr / DSA_PORTALS_SIZE;
    uint32_t offset = addr % DSA_PORTALS_SIZE;
    DsaPortal *portal;

    if (wq >= s->num_wqs) {
        return;
    }
    portal = &s->queue[wq].portal;
    if (offset % DSA_DESC_SIZE == 0) {
        portal->filled = 0;
        portal->offset = offset;
    }
    if (size != 8 || offset != portal->offset + portal->filled) {
        portal->filled = 0;
        portal->offset = UINT32_MAX;
        drop(s, wq, "no store of 64 bytes");
        return;
    }
    stq_le_p(portal->desc + portal->filled, value);
    portal->filled += size;
    if (portal->filled == DSA_DESC_SIZE) {
        portal->filled = 0;
        portal->offset = UINT32_MAX;
        submit(s, wq, portal->desc);
    }
}

const MemoryRegionOps dsa_portal_ops = {
    .read = dsa_portal_read,
    .write = dsa_portal_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 1, .max_access_size = 8,
               .unaligned = true },
    .impl = { .min_access_size = 1, .max_access_size = 8,
              .unaligned = true },
};
