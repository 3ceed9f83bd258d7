/*
 * Intel Data Streaming Accelerator: engines and time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A descriptor is dispatched to a slot of an engine.  It moves its data in
 * chunks through the link to memory, which all engines share.  It completes
 * when the latency has passed, while others move their data.  s->clock advances
 * from event to event, in virtual time.  If the host is slower than the device,
 * s->clock lags behind QEMU_CLOCK_VIRTUAL; counts stay those of the device.
 */

#include "qemu/osdep.h"
#include "qemu/units.h"
#include "dsa.h"
#include "trace.h"

/*
 * Limits of one run, after which other parts of QEMU have their turn: work, in
 * units of IntelDsa.run_work, and steps of s->clock.
 */
#define RUN_WORK    (1 * MiB)
#define RUN_EVENTS  64

unsigned dsa_engine_slots_used(const DsaEngine *engine)
{
    unsigned used = 0;

    for (unsigned i = 0; i < DSA_ENGINE_SLOTS; i++) {
        used += engine->slot[i].state != DSA_SLOT_FREE;
    }
    return used;
}

static DsaWork *free_slot(DsaEngine *engine)
{
    for (unsigned i = 0; i < DSA_ENGINE_SLOTS; i++) {
        if (engine->slot[i].state == DSA_SLOT_FREE) {
            return &engine->slot[i];
        }
    }
    return NULL;
}

/* The slot whose data move next, the one dispatched first; or NULL */
static DsaWork *first_with_data(DsaEngine *engine)
{
    DsaWork *first = NULL;

    for (unsigned i = 0; i < DSA_ENGINE_SLOTS; i++) {
        DsaWork *work = &engine->slot[i];

        if (work->state == DSA_SLOT_DATA &&
            (!first || work->order < first->order)) {
            first = work;
        }
    }
    return first;
}

static bool overlaps(const uint8_t *desc)
{
    uint64_t distance = dsa_desc_addr2(desc) - dsa_desc_addr1(desc);
    uint32_t size = dsa_desc_size(desc);

    return distance < size || -distance < size;
}

/* The event bit of an opcode, or 0.  Bits have no gap after DUALCAST. */
static uint32_t operation_event(unsigned opcode)
{
    if (opcode <= DSA_OP_DUALCAST) {
        return 1u << opcode;
    } else if (opcode >= DSA_OP_CRC && opcode <= DSA_OP_DIF_UPDATE) {
        return 1u << (opcode - DSA_OP_CRC + DSA_OP_DUALCAST + 1);
    }
    return opcode == DSA_OP_CACHE_FLUSH ? DSA_EV_OPERATION_CACHE_FLUSH : 0;
}

static void count_dispatch(IntelDsa *s, unsigned e, const DsaWork *work)
{
    unsigned opcode = dsa_desc_opcode(work->desc);
    DsaSource source = dsa_perfmon_source(s, e, work->wq, work->desc,
                                          DSA_FLAG_ADDR1_TC_B);

    dsa_perfmon_count(s, DSA_CATEGORY_ENGINE,
                      work->in_batch ? DSA_EV_ENGINE_FROM_BATCH :
                                       DSA_EV_ENGINE_FROM_WQ, &source, 1);
    dsa_perfmon_count(s, DSA_CATEGORY_OPERATION, operation_event(opcode),
                      &source, 1);
    if (opcode == DSA_OP_MEMMOVE && overlaps(work->desc)) {
        dsa_perfmon_count(s, DSA_CATEGORY_OPERATION, DSA_EV_OPERATION_OVERLAP,
                          &source, 1);
    }
}

/* A descriptor with data begins: count its READS and WRITES events. */
static void count_begin(IntelDsa *s, unsigned e, const DsaWork *work)
{
    DsaSource source = dsa_perfmon_source(s, e, work->wq, work->desc,
                                          DSA_FLAG_ADDR1_TC_B);

    dsa_perfmon_count(s, DSA_CATEGORY_ENGINE, DSA_EV_ENGINE_READS, &source,
                      dsa_descriptor_reads(work->desc));
    source = dsa_perfmon_source(s, e, work->wq, work->desc,
                                DSA_FLAG_ADDR2_TC_B);
    dsa_perfmon_count(s, DSA_CATEGORY_ENGINE, DSA_EV_ENGINE_WRITES, &source,
                      dsa_descriptor_writes(work->desc));
}

/*
 * Start a descriptor in @work, a free slot.  @batch: the batch it is from, or
 * NULL.  @time: when it may begin.
 */
static void start_work(IntelDsa *s, unsigned e, DsaWork *work,
                       const uint8_t *desc, unsigned wq, bool ims,
                       const DsaBatch *batch, int64_t time)
{
    DsaEngine *engine = &s->engine[e];

    memset(work, 0, sizeof(*work));
    memcpy(work->desc, desc, DSA_DESC_SIZE);
    work->wq = wq;
    work->ims = ims;
    if (batch) {
        work->in_batch = true;
        work->batch_index = batch->next;
        memcpy(work->desc, batch->work.desc, sizeof(uint32_t));
    }
    work->order = engine->order++;
    s->queue[wq].outstanding++;
    trace_dsa_dispatch(e, wq, dsa_desc_opcode(desc), time);
    count_dispatch(s, e, work);
    work->status = dsa_descriptor_check(s, work);
    if (!work->status && dsa_descriptor_has_data(desc)) {
        work->state = DSA_SLOT_DATA;
        work->due = time;
    } else {
        if (!work->status) {
            work->status = DSA_STATUS_SUCCESS;
        }
        work->state = DSA_SLOT_RETIRE;
        work->due = time + s->latency;
    }
}

static void start_batch(IntelDsa *s, unsigned e, const uint8_t *desc,
                        unsigned wq, bool ims, int64_t time)
{
    DsaBatch *batch = &s->engine[e].batch;

    memset(batch, 0, sizeof(*batch));
    start_work(s, e, &batch->work, desc, wq, ims, NULL, time);
    batch->active = true;
    if (batch->work.status == DSA_STATUS_SUCCESS) {
        batch->work.state = DSA_SLOT_DATA;
        batch->work.due = time;
    }
}

/* Whether the head of a WQ can go to @engine, which has a free slot. */
static bool can_dispatch(const IntelDsa *s, const DsaEngine *engine,
                         unsigned wq, int64_t time)
{
    const uint8_t *desc;
    int64_t submitted;

    if (!dsa_queue_peek(s, wq, &desc, &submitted) || submitted > time) {
        return false;
    }
    switch (dsa_desc_opcode(desc)) {
    case DSA_OP_BATCH:
        return !engine->batch.active;
    case DSA_OP_DRAIN:
        return s->queue[wq].outstanding == 0;
    default:
        return true;
    }
}

/* Take a descriptor from the WQs of the engine's group. */
static bool fetch_from_queues(IntelDsa *s, unsigned e, int64_t time)
{
    DsaEngine *engine = &s->engine[e];
    int group = dsa_group_of_engine(s, e);
    int32_t *credit[DSA_MAX_WQS];
    uint32_t weight[DSA_MAX_WQS];
    uint8_t desc[DSA_DESC_SIZE];
    const uint8_t *head;
    int64_t submitted;
    uint64_t wqs;
    bool ims, awaited;
    int wq;

    if (group < 0) {
        return false;
    }
    wqs = s->grpcfg[group][DSA_GRPCFG_WQS / 8];
    for (unsigned i = 0; i < s->num_wqs; i++) {
        credit[i] = &s->queue[i].credit;
        weight[i] = wqs & 1ull << i && can_dispatch(s, engine, i, time) ?
                    FIELD_EX32(s->wqcfg[i][2], WQCFG2, PRIORITY) : 0;
    }
    wq = dsa_arbitrate(credit, weight, s->num_wqs);
    if (wq < 0 || !dsa_queue_peek(s, wq, &head, &submitted)) {
        return false;
    }
    memcpy(desc, head, sizeof(desc));
    awaited = s->queue[wq].awaited;
    ims = dsa_queue_pop(s, wq);
    if (dsa_desc_opcode(desc) == DSA_OP_BATCH) {
        start_batch(s, e, desc, wq, ims, time);
        engine->batch.work.awaited = awaited;
    } else {
        DsaWork *work = free_slot(engine);

        start_work(s, e, work, desc, wq, ims, NULL, time);
        work->awaited = awaited;
    }
    return true;
}

static void end_batch(IntelDsa *s, DsaBatch *batch, int64_t time)
{
    if (batch->outstanding == 0 && batch->work.state == DSA_SLOT_DATA) {
        batch->work.state = DSA_SLOT_RETIRE;
        batch->work.due = time + s->latency;
        if (batch->work.status == DSA_STATUS_SUCCESS && batch->failed) {
            batch->work.status = DSA_STATUS_BATCH_FAIL;
        }
        batch->work.bytes_completed = batch->completed;
    }
}

/* Begin no more descriptors of a batch.  Those that it has begun go on. */
static void cut_batch(DsaBatch *batch)
{
    batch->next = dsa_desc_size(batch->work.desc);
    batch->have_desc = false;
}

static void count_fence(IntelDsa *s, unsigned e, const DsaBatch *batch)
{
    DsaSource source = dsa_perfmon_source(s, e, batch->work.wq, batch->desc,
                                          DSA_FLAG_ADDR1_TC_B);

    dsa_perfmon_count(s, DSA_CATEGORY_OPERATION,
                      batch->failed ? DSA_EV_OPERATION_FENCE_CUT :
                                      DSA_EV_OPERATION_FENCE_KEPT, &source,
                      1);
}

/* Read a batch's next descriptor from memory, and begin it. */
static bool fetch_from_batch(IntelDsa *s, unsigned e, int64_t time)
{
    DsaEngine *engine = &s->engine[e];
    DsaBatch *batch = &engine->batch;
    uint64_t addr = dsa_desc_addr1(batch->work.desc) +
                    (uint64_t)batch->next * DSA_DESC_SIZE;
    DsaWork *work = free_slot(engine);
    DsaAccess access;

    if (!batch->active || batch->work.state != DSA_SLOT_DATA ||
        batch->work.due > time) {
        return false;
    }
    if (batch->next < dsa_desc_size(batch->work.desc) && !batch->have_desc) {
        access = dsa_fetch(s, addr, batch->desc, DSA_DESC_SIZE);
        batch->have_desc = !access.failed;
        if (access.failed) {
            dsa_set_fault(&batch->work, addr, false);
            batch->work.status = DSA_STATUS_BATCH_PAGE_FAULT;
            cut_batch(batch);
        }
    }
    if (!batch->have_desc) {
        end_batch(s, batch, time);
        return false;
    }
    if (dsa_desc_flags(batch->desc) & DSA_FLAG_FENCE) {
        if (batch->outstanding) {
            return false;
        }
        count_fence(s, e, batch);
        if (batch->failed) {
            cut_batch(batch);
            end_batch(s, batch, time);
            return false;
        }
    }
    start_work(s, e, work, batch->desc, batch->work.wq, batch->work.ims,
               batch, time);
    batch->next++;
    batch->outstanding++;
    batch->have_desc = false;
    return true;
}

/* Let an engine take what it can, from its batch and its WQs by turns. */
static void fetch(IntelDsa *s, unsigned e, int64_t time)
{
    DsaEngine *engine = &s->engine[e];
    bool more = true;

    while (more && free_slot(engine)) {
        if (engine->batch_turn) {
            more = fetch_from_batch(s, e, time) ||
                   fetch_from_queues(s, e, time);
        } else {
            more = fetch_from_queues(s, e, time) ||
                   fetch_from_batch(s, e, time);
        }
        engine->batch_turn = !engine->batch_turn;
    }
}

/*
 * Grant the link, if it is free, to an engine.  The traffic class of its data
 * decides: class n gets the link n + 1 times as often as class 0.
 */
static void grant_link(IntelDsa *s)
{
    int32_t *credit[DSA_MAX_ENGINES];
    uint32_t weight[DSA_MAX_ENGINES];
    DsaWork *work;
    int next;

    if (s->link.busy) {
        return;
    }
    for (unsigned e = 0; e < s->num_engines; e++) {
        credit[e] = &s->engine[e].credit;
        work = first_with_data(&s->engine[e]);
        weight[e] = work ? 1 + dsa_traffic_class(s, work->wq, work->desc,
                                                 DSA_FLAG_ADDR1_TC_B) : 0;
    }
    next = dsa_arbitrate(credit, weight, s->num_engines);
    if (next >= 0) {
        work = first_with_data(&s->engine[next]);
        s->link.busy = true;
        s->link.engine = next;
        s->link.slot = work - s->engine[next].slot;
        s->link.free_at = MAX(s->link.free_at, work->due) +
                          dsa_operation_cost(s, work);
    }
}

/* When the next chunk arrives or descriptor completes; INT64_MAX: never */
static int64_t next_event(const IntelDsa *s)
{
    int64_t next = s->link.busy ? s->link.free_at : INT64_MAX;

    for (unsigned e = 0; e < s->num_engines; e++) {
        const DsaEngine *engine = &s->engine[e];

        for (unsigned i = 0; i < DSA_ENGINE_SLOTS; i++) {
            if (engine->slot[i].state == DSA_SLOT_RETIRE) {
                next = MIN(next, engine->slot[i].due);
            }
        }
        if (engine->batch.active &&
            engine->batch.work.state == DSA_SLOT_RETIRE) {
            next = MIN(next, engine->batch.work.due);
        }
    }
    return next;
}

/* A chunk has passed the link: move its data. */
static void move_chunk(IntelDsa *s)
{
    unsigned e = s->link.engine;
    DsaWork *work = &s->engine[e].slot[s->link.slot];

    s->link.busy = false;
    if (!work->done && !work->out) {
        count_begin(s, e, work);
    }
    if (dsa_operation_step(s, e, work)) {
        work->state = DSA_SLOT_RETIRE;
        work->due = s->link.free_at + s->latency;
    }
    trace_dsa_chunk(e, dsa_desc_opcode(work->desc), work->done, s->clock);
}

static void retire(IntelDsa *s, unsigned e, DsaWork *work)
{
    DsaBatch *batch = &s->engine[e].batch;

    dsa_complete(s, e, work);
    s->queue[work->wq].outstanding--;
    work->state = DSA_SLOT_FREE;
    if (work == &batch->work) {
        batch->active = false;
    } else if (work->in_batch) {
        batch->outstanding--;
        batch->completed++;
        batch->failed |= work->status != DSA_STATUS_SUCCESS;
    }
}

/*
 * The next descriptor to complete that is due, or NULL.  Those of one engine
 * complete in the order of dispatch, but a batch after all others.
 */
static DsaWork *first_due(DsaEngine *engine, int64_t time)
{
    DsaWork *first = NULL;

    for (unsigned i = 0; i < DSA_ENGINE_SLOTS; i++) {
        DsaWork *work = &engine->slot[i];

        if (work->state == DSA_SLOT_RETIRE && work->due <= time &&
            (!first || work->order < first->order)) {
            first = work;
        }
    }
    if (!first && engine->batch.active && engine->batch.work.due <= time &&
        engine->batch.work.state == DSA_SLOT_RETIRE) {
        first = &engine->batch.work;
    }
    return first;
}

/* Complete what is due.  Stop after a disturbance, dsa_is_disturbed(). */
static void retire_due(IntelDsa *s, int64_t time)
{
    for (unsigned e = 0; e < s->num_engines; e++) {
        DsaWork *work;

        while (!dsa_is_disturbed(s) &&
               (work = first_due(&s->engine[e], time))) {
            retire(s, e, work);
        }
    }
    if (!dsa_is_disturbed(s)) {
        dsa_command_check(s);
    }
}

static void fetch_all(IntelDsa *s, int64_t time)
{
    for (unsigned e = 0; e < s->num_engines; e++) {
        fetch(s, e, time);
    }
    grant_link(s);
}

/* The earliest submission after @time of a WQ's head; INT64_MAX: none */
static int64_t next_submission(const IntelDsa *s, int64_t time)
{
    int64_t next = INT64_MAX, submitted;
    const uint8_t *desc;

    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        if (dsa_queue_peek(s, wq, &desc, &submitted) && submitted > time) {
            next = MIN(next, submitted);
        }
    }
    return next;
}

int64_t dsa_engines_next(const IntelDsa *s)
{
    return MIN(next_event(s), next_submission(s, s->clock));
}

static void run_events(IntelDsa *s, int64_t now)
{
    s->run_work = 0;
    for (unsigned n = 0; n < RUN_EVENTS && s->run_work < RUN_WORK; n++) {
        int64_t next;

        fetch_all(s, s->clock);
        if (dsa_is_disturbed(s)) {
            return;
        }
        next = dsa_engines_next(s);
        if (next > now) {
            if (next != INT64_MAX) {
                timer_mod_ns(s->timer, next);
            }
            return;
        }
        /* An event may be before a submission that s->clock has reached. */
        s->clock = MAX(s->clock, next);
        dsa_perfmon_advance(s, s->clock);
        if (s->link.busy && s->link.free_at <= s->clock) {
            move_chunk(s);
        }
        retire_due(s, s->clock);
    }
    if (!s->unplugged) {
        /* Later than now, so that others have their turn first. */
        timer_mod_ns(s->timer, now + 1);
    }
}

static void run_now(IntelDsa *s)
{
    run_events(s, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL));
    dsa_perfmon_arm(s);
}

/* Guarded, as a descriptor's data may be the device's own registers. */
void dsa_engines_run(void *opaque)
{
    dsa_run_guarded(opaque, run_now);
}

void dsa_engines_kick(IntelDsa *s)
{
    if (s->unplugged) {
        return;
    }
    timer_mod_anticipate_ns(s->timer,
                            qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL));
    dsa_perfmon_arm(s);
}

static void drop_work(IntelDsa *s, DsaWork *work)
{
    s->queue[work->wq].outstanding--;
    work->state = DSA_SLOT_FREE;
}

void dsa_engines_abort(IntelDsa *s, unsigned wq)
{
    for (unsigned e = 0; e < s->num_engines; e++) {
        DsaEngine *engine = &s->engine[e];

        for (unsigned i = 0; i < DSA_ENGINE_SLOTS; i++) {
            DsaWork *work = &engine->slot[i];

            if (work->state == DSA_SLOT_FREE || work->wq != wq) {
                continue;
            }
            if (s->link.busy && s->link.engine == e && s->link.slot == i) {
                s->link.busy = false;
                /* perfmon.time is now, or as near to it as engines are. */
                s->link.free_at = MIN(s->link.free_at,
                                      MAX(s->clock, s->perfmon.time));
            }
            drop_work(s, work);
        }
        if (engine->batch.active && engine->batch.work.wq == wq) {
            drop_work(s, &engine->batch.work);
            engine->batch.active = false;
        }
    }
}

void dsa_engines_reset(IntelDsa *s)
{
    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        dsa_queue_clear(s, wq);
        s->queue[wq].outstanding = 0;
        s->queue[wq].credit = 0;
        s->queue[wq].disabling = false;
    }
    memset(s->engine, 0, sizeof(s->engine));
    memset(&s->link, 0, sizeof(s->link));
    s->command = 0;
    timer_del(s->timer);
}
