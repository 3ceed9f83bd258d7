/*
 * The L3 of a machine: its lines, the vCPUs that share it, and their queues.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_MEMORY_L3_DIRECTORY_H
#define TARGET_I386_PMU_MEMORY_L3_DIRECTORY_H

#include <stdbool.h>

#include "tcg/pmu/memory/invalidation-queue.h"
#include "tcg/pmu/memory/tag-array.h"
#include "tcg/pmu/uarch/uarch.h"

/* The L3 of a machine. */
typedef struct PmuL3 PmuL3;

/* An empty one, with one reference; NULL if memory runs out. */
PmuL3 *pmu_l3_new(const PmuUarch *uarch);

PmuL3 *pmu_l3_ref(PmuL3 *l3);

/* The last one frees it.  NULL is allowed. */
void pmu_l3_unref(PmuL3 *l3);

PmuTagArray *pmu_l3_tag_array(PmuL3 *l3);

/* A number for another vCPU that shares it; they repeat if there are many. */
PmuSharer pmu_l3_add_sharer(PmuL3 *l3);

/* Is there more than one? */
bool pmu_l3_is_shared(const PmuL3 *l3);

/* What others have to tell @sharer. */
PmuInvalidationQueue *pmu_l3_queue(PmuL3 *l3, PmuSharer sharer);

/*
 * @sharer asked for the line of @snoop: send it to @asked, see
 * pmu_tag_array_access_by()
 */
void pmu_l3_send_snoop(PmuL3 *l3, PmuSharer sharer, PmuSharer asked,
                       PmuSnoop snoop);

#endif
