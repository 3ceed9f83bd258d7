/*
 * Macro-fusion: which port the first of a pair counts as.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_BACKEND_FUSION_H
#define TARGET_I386_PMU_BACKEND_FUSION_H

#include "tcg/pmu/backend/pipeline-state.h"
#include "tcg/pmu/backend/ports.h"
#include "tcg/pmu/decode/block.h"

/*
 * The newest instruction is @bi: where its micro-op goes is counted when it is
 * known that it does not fuse with the next.
 */
static inline void pmu_fusion_begin(PmuPipeline *p, const PmuBlockInsn *bi)
{
    p->fusion.kinds = pmu_fuse_next(bi);
    if (p->fusion.kinds && p->fusion.has_port) {
        --*pmu_count(&p->clock,
                     PMU_ITEM_PORT_0 + pmu_port_items[p->fusion.port]);
    }
}

/* It did not. */
static inline void pmu_fusion_end(PmuPipeline *p)
{
    if (p->fusion.kinds && p->fusion.has_port) {
        ++*pmu_count(&p->clock,
                     PMU_ITEM_PORT_0 + pmu_port_items[p->fusion.port]);
    }
    p->fusion.kinds = 0;
}

#endif
