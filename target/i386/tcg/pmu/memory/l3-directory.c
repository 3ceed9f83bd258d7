/*
 * An L3: its lines, the vCPUs that share it, and their invalidation queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>

#include "tcg/pmu/memory/l3-directory.h"

struct PmuL3 {
    PmuTagArray lines;
    gint references;
    gint sharers;                /* vCPUs added so far */
    PmuInvalidationQueue queue[PMU_SHARER_MAX + 1]; /* by PmuSharer */
};

PmuL3 *pmu_l3_new(const PmuUarch *uarch)
{
    PmuL3 *l3 = g_try_new0(PmuL3, 1);

    if (l3 && !pmu_tag_array_init(&l3->lines, &uarch->l3, true)) {
        g_clear_pointer(&l3, g_free);
    }
    if (l3) {
        l3->references = 1;
    }
    return l3;
}

PmuL3 *pmu_l3_ref(PmuL3 *l3)
{
    g_atomic_int_inc(&l3->references);
    return l3;
}

void pmu_l3_unref(PmuL3 *l3)
{
    if (l3 && g_atomic_int_dec_and_test(&l3->references)) {
        pmu_tag_array_destroy(&l3->lines);
        g_free(l3);
    }
}

PmuTagArray *pmu_l3_tag_array(PmuL3 *l3)
{
    return &l3->lines;
}

PmuSharer pmu_l3_add_sharer(PmuL3 *l3)
{
    return (unsigned)g_atomic_int_add(&l3->sharers, 1) % PMU_SHARER_MAX + 1;
}

bool pmu_l3_is_shared(const PmuL3 *l3)
{
    return g_atomic_int_get(&l3->sharers) > 1;
}

PmuInvalidationQueue *pmu_l3_queue(PmuL3 *l3, PmuSharer sharer)
{
    return &l3->queue[sharer];
}

void pmu_l3_send_snoop(PmuL3 *l3, PmuSharer sharer, PmuSharer asked,
                       PmuSnoop snoop)
{
    gint sharers = MIN(g_atomic_int_get(&l3->sharers), PMU_SHARER_MAX);

    if (asked != PMU_SHARER_OTHERS) {
        pmu_invalidation_queue_put(&l3->queue[asked], snoop);
        return;
    }
    for (gint other = 1; other <= sharers; other++) {
        if (other != sharer) {
            pmu_invalidation_queue_put(&l3->queue[other], snoop);
        }
    }
}
