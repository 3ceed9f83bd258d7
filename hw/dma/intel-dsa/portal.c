/*
 * Intel Data Streaming Accelerator: portals and work queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/log.h"
#include "dsa.h"
#include "trace.h"

static void drop(unsigned wq, const char *reason)
{
    trace_dsa_drop(wq, reason);
    qemu_log_mask(LOG_GUEST_ERROR, "%s: descriptor for WQ %u dropped: %s\n",
                  TYPE_INTEL_DSA, wq, reason);
}

static void count(IntelDsa *s, unsigned wq, uint32_t event)
{
    dsa_perfmon_count(s, DSA_CATEGORY_WQ, event, &(DsaSource) { .wq = wq },
                      1);
}

/* Why a WQ accepts nothing from this portal, or NULL */
static const char *refusal(const IntelDsa *s, unsigned wq, uint32_t portal)
{
    if (dsa_state(s) != DSA_STATE_ENABLED || !dsa_wq_enabled(s, wq) ||
        s->queue[wq].disabling) {
        return "the WQ is not enabled";
    } else if (portal & DSA_PORTAL_IMS && !s->ims_entries) {
        return "there are no IMS portals";
    }
    return NULL;
}

static uint32_t wq_size(const IntelDsa *s, unsigned wq)
{
    return MIN(FIELD_EX32(s->wqcfg[wq][0], WQCFG0, SIZE), s->total_wq_size);
}

static void enqueue(IntelDsa *s, unsigned wq, uint32_t portal,
                    const uint8_t *desc, uint32_t trusted)
{
    DsaQueue *queue = &s->queue[wq];
    uint32_t place;

    dsa_perfmon_sync(s);
    place = (queue->head + queue->count) % s->total_wq_size;
    memcpy(queue->desc + place * DSA_DESC_SIZE, desc, DSA_DESC_SIZE);
    stl_le_p(queue->desc + place * DSA_DESC_SIZE, trusted);
    queue->submitted[place] = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    queue->ims[place] = (portal & DSA_PORTAL_IMS) != 0;
    queue->count++;
    trace_dsa_submit(wq, dsa_desc_opcode(desc), dsa_desc_flags(desc),
                     queue->count);
    dsa_engines_kick(s);
}

/* A dedicated WQ's descriptors get trusted fields from its configuration. */
static uint32_t trusted_fields(const IntelDsa *s, unsigned wq,
                               const uint8_t *desc)
{
    uint32_t cfg = s->wqcfg[wq][2];
    bool pasid = dsa_wq_has_pasid(s, wq);
    uint32_t trusted = ldl_le_p(desc);

    trusted = FIELD_DP32(trusted, TRUSTED, PASID,
                         pasid ? FIELD_EX32(cfg, WQCFG2, PASID) : 0);
    return FIELD_DP32(trusted, TRUSTED, PRIV,
                      pasid ? FIELD_EX32(cfg, WQCFG2, PRIV) : 0);
}

/* A posted write, to a dedicated WQ (5.3) */
static void submit(IntelDsa *s, unsigned wq, uint32_t portal,
                   const uint8_t *desc)
{
    const char *reason = refusal(s, wq, portal);

    if (!reason && !dsa_wq_dedicated(s, wq)) {
        reason = "a shared WQ takes deferrable writes only";
    }
    if (reason) {
        drop(wq, reason);
    } else if (s->queue[wq].count >= wq_size(s, wq)) {
        drop(wq, "the WQ is full");
        count(s, wq, DSA_EV_WQ_DWQ_FULL);
        dsa_report_full(s, wq, desc, trusted_fields(s, wq, desc));
    } else {
        enqueue(s, wq, portal, desc, trusted_fields(s, wq, desc));
        count(s, wq, DSA_EV_WQ_DWQ_OK);
    }
}

/* A limited portal accepts up to the threshold, another one up to the size. */
static bool has_room(const IntelDsa *s, unsigned wq, bool limited)
{
    uint32_t room = wq_size(s, wq);

    if (limited) {
        room = MIN(room, FIELD_EX32(s->wqcfg[wq][1], WQCFG1, THRESHOLD));
    }
    return s->queue[wq].count < room;
}

static bool defer(IntelDsa *s, unsigned wq, uint32_t portal,
                  const uint8_t *data)
{
    bool limited = portal & DSA_PORTAL_LIMITED;

    if (refusal(s, wq, portal) || dsa_wq_dedicated(s, wq) ||
        !has_room(s, wq, limited)) {
        trace_dsa_retry(wq, limited);
        count(s, wq, limited ? DSA_EV_WQ_SWQ_RETRY_LIMITED :
                               DSA_EV_WQ_SWQ_RETRY_UNLIMITED);
        return false;
    }
    enqueue(s, wq, portal, data, ldl_le_p(data));
    count(s, wq, limited ? DSA_EV_WQ_SWQ_OK_LIMITED :
                           DSA_EV_WQ_SWQ_OK_UNLIMITED);
    return true;
}

bool dsa_portal_defer(Object *obj, MemoryRegion *mr, hwaddr addr,
                      const uint8_t data[DEFERRABLE_WRITE_BYTES])
{
    IntelDsa *s = INTEL_DSA(obj);
    MemReentrancyGuard *guard = &DEVICE(s)->mem_reentrancy_guard;
    unsigned wq = addr / DSA_PORTALS_SIZE;
    bool accepted;

    if (mr != &s->portals || wq >= s->num_wqs || guard->engaged_in_io ||
        !dsa_enter(s)) {
        return false;
    }
    /* An interrupt's message must not reach the device's own registers. */
    guard->engaged_in_io = true;
    accepted = defer(s, wq, addr % DSA_PORTALS_SIZE, data);
    guard->engaged_in_io = false;
    dsa_leave(s);
    return accepted;
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

bool dsa_queue_pop(IntelDsa *s, unsigned wq)
{
    DsaQueue *queue = &s->queue[wq];
    bool ims = queue->ims[queue->head];

    queue->head = (queue->head + 1) % s->total_wq_size;
    queue->count--;
    queue->awaited -= MIN(queue->awaited, 1);
    dsa_wq_check_occupancy(s, wq);
    return ims;
}

static uint32_t pasid_at(const DsaQueue *queue, uint32_t place)
{
    return dsa_desc_pasid(queue->desc + place * DSA_DESC_SIZE);
}

bool dsa_queue_awaits_pasid(const IntelDsa *s, unsigned wq, uint32_t pasid)
{
    const DsaQueue *queue = &s->queue[wq];

    for (uint32_t i = 0; dsa_wq_has_pasid(s, wq) && i < queue->awaited; i++) {
        if (pasid_at(queue, (queue->head + i) % s->total_wq_size) == pasid) {
            return true;
        }
    }
    return false;
}

void dsa_queue_drop_pasid(IntelDsa *s, unsigned wq, uint32_t pasid)
{
    DsaQueue *queue = &s->queue[wq];
    uint32_t kept = 0;

    for (uint32_t i = 0; dsa_wq_has_pasid(s, wq) && i < queue->count; i++) {
        uint32_t from = (queue->head + i) % s->total_wq_size;
        uint32_t to = (queue->head + kept) % s->total_wq_size;

        if (pasid_at(queue, from) == pasid) {
            continue;
        }
        memmove(queue->desc + to * DSA_DESC_SIZE,
                queue->desc + from * DSA_DESC_SIZE, DSA_DESC_SIZE);
        queue->submitted[to] = queue->submitted[from];
        queue->ims[to] = queue->ims[from];
        kept++;
    }
    if (dsa_wq_has_pasid(s, wq)) {
        queue->count = kept;
        dsa_wq_check_occupancy(s, wq);
    }
}

void dsa_queue_clear(IntelDsa *s, unsigned wq)
{
    s->queue[wq].count = 0;
    s->queue[wq].awaited = 0;
    s->queue[wq].portal.filled = 0;
}

static uint64_t dsa_portal_read(void *opaque, hwaddr addr, unsigned size)
{
    return MAKE_64BIT_MASK(0, size * 8);
}

/*
 * MOVDIR64B stores 64 bytes as eight stores of eight, in order, without one of
 * another CPU in between.  The portal drops what does not arrive like that.
 */
static void write_portal(IntelDsa *s, hwaddr addr, uint64_t value,
                         unsigned size)
{
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
        drop(wq, "no store of 64 bytes");
        return;
    }
    stq_le_p(portal->desc + portal->filled, value);
    portal->filled += size;
    if (portal->filled == DSA_DESC_SIZE) {
        portal->filled = 0;
        portal->offset = UINT32_MAX;
        submit(s, wq, offset, portal->desc);
    }
}

static void dsa_portal_write(void *opaque, hwaddr addr, uint64_t value,
                             unsigned size)
{
    IntelDsa *s = opaque;

    if (dsa_enter(s)) {
        write_portal(s, addr, value, size);
        dsa_leave(s);
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
