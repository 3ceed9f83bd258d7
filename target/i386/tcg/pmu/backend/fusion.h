/*
 * Macro-fusion: which port the micro-op of a pair is counted for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_BACKEND_FUSION_H
#define TARGET_I386_PMU_BACKEND_FUSION_H

#include "tcg/pmu/backend/pipeline-state.h"
#include "tcg/pmu/backend/ports.h"
#include "tcg/pmu/decode/block.h"

/*
 * @bi is the newest instruction.  If it could fuse with the next one, its
 * micro-op is not counted for a port until it is known that it does not.
 */
static inline void pmu_fusion_begin(PmuPipeline *p, const PmuBlockInsn *bi)
{
    p->fusion.kinds = pmu_fuse_as_first(bi);
    if (p->fusion.kinds && p->fusion.has_port) {
        --*pmu_count(&p->clock,
                     PMU_ITEM_PORT_0 + pmu_port_items[p->fusion.port]);
    }
}

/* The newest instruction does not fuse with the next: count its micro-op. */
static inline void pmu_fusion_end(PmuPipeline *p)
{
    if (p->fusion.kinds && p->fusion.has_port) {
        ++*pmu_count(&p->clock,
                     PMU_ITEM_PORT_0 + pmu_port_items[p->fusion.port]);
    }
    p->fusion.kinds = 0;
}

#endif
