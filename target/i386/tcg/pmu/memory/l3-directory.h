/*
 * An L3: its lines, the vCPUs that share it, and their invalidation queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MEMORY_L3_DIRECTORY_H
#define TARGET_I386_PMU_MEMORY_L3_DIRECTORY_H

#include <stdbool.h>

#include "tcg/pmu/memory/invalidation-queue.h"
#include "tcg/pmu/memory/tag-array.h"
#include "tcg/pmu/uarch/uarch.h"

typedef struct PmuL3 PmuL3;

/* Create an empty L3 with one reference.  Returns NULL if memory runs out. */
PmuL3 *pmu_l3_new(const PmuUarch *uarch);

PmuL3 *pmu_l3_ref(PmuL3 *l3);

/* Drop a reference; the last one frees @l3, which may be NULL. */
void pmu_l3_unref(PmuL3 *l3);

PmuTagArray *pmu_l3_tag_array(PmuL3 *l3);

/*
 * Returns a number for one more vCPU that shares @l3.  Numbers repeat from the
 * vCPU after PMU_SHARER_MAX on.
 */
PmuSharer pmu_l3_add_sharer(PmuL3 *l3);

/* Does more than one vCPU share @l3? */
bool pmu_l3_is_shared(const PmuL3 *l3);

/* The invalidation queue of @sharer. */
PmuInvalidationQueue *pmu_l3_queue(PmuL3 *l3, PmuSharer sharer);

/*
 * Send @snoop, for a line that @sharer asked for, to @asked: see
 * pmu_tag_array_access_by().
 */
void pmu_l3_send_snoop(PmuL3 *l3, PmuSharer sharer, PmuSharer asked,
                       PmuSnoop snoop);

#endif
