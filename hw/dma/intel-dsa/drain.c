/*
 * Intel Data Streaming Accelerator: the descriptors that a command waits for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A command waits for those that are in WQs and engines when it begins, and for
 * none that is submitted later.  So it ends even if the device is never idle.
 */

#include "qemu/osdep.h"
#include "dsa.h"

static void await_engines(IntelDsa *s)
{
    for (unsigned e = 0; e < s->num_engines; e++) {
        DsaEngine *engine = &s->engine[e];

        for (unsigned i = 0; i < DSA_ENGINE_SLOTS; i++) {
            engine->slot[i].awaited = true;
        }
        engine->batch.work.awaited = true;
    }
}

/* Whether the command waits for @work, and @which is its WQ, or its PASID */
typedef bool IsAwaited(const IntelDsa *s, const DsaWork *work, uint32_t which);

static bool is_awaited_of_wq(const IntelDsa *s, const DsaWork *work,
                             uint32_t wq)
{
    return work->awaited && work->wq == wq;
}

static bool is_awaited_with_pasid(const IntelDsa *s, const DsaWork *work,
                                  uint32_t pasid)
{
    return work->awaited && dsa_wq_has_pasid(s, work->wq) &&
           dsa_desc_pasid(work->desc) == pasid;
}

/* A batch is in its engine until all its descriptors have completed. */
static bool engines_await(const IntelDsa *s, IsAwaited *is_awaited,
                          uint32_t which)
{
    for (unsigned e = 0; e < s->num_engines; e++) {
        const DsaEngine *engine = &s->engine[e];

        for (unsigned i = 0; i < DSA_ENGINE_SLOTS; i++) {
            const DsaWork *work = &engine->slot[i];

            if (work->state != DSA_SLOT_FREE && is_awaited(s, work, which)) {
                return true;
            }
        }
        if (engine->batch.active &&
            is_awaited(s, &engine->batch.work, which)) {
            return true;
        }
    }
    return false;
}

void dsa_command_await(IntelDsa *s)
{
    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        s->queue[wq].awaited = s->queue[wq].count;
    }
    await_engines(s);
}

bool dsa_pasid_is_done(const IntelDsa *s, uint32_t pasid)
{
    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        if (dsa_queue_awaits_pasid(s, wq, pasid)) {
            return false;
        }
    }
    return !engines_await(s, is_awaited_with_pasid, pasid);
}

bool dsa_wqs_are_done(const IntelDsa *s, uint32_t wqs)
{
    for (unsigned wq = 0; wq < s->num_wqs; wq++) {
        if (wqs & 1u << wq &&
            (s->queue[wq].awaited || engines_await(s, is_awaited_of_wq, wq))) {
            return false;
        }
    }
    return true;
}
