/*
 * States of the pipeline, made comparable.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.  A snapshot holds what of a pipeline's past can
 * matter for its future, relative to its clock: pipelines with equal snapshots
 * behave alike from there on.  What is over is left out, so that a core that
 * comes to the same point in the same way finds a state that is known.
 */

#ifndef TARGET_I386_PMU_STATE_H
#define TARGET_I386_PMU_STATE_H

#include "pipeline.h"

typedef struct PmuState {
    uint64_t hash;
    uint32_t length;            /* words */
    /*
     * Whether the functional side must say more than "a hit": a load takes
     * data from one of the @stores_live newest stores, or is blocked by it; a
     * line was missed by one of the @fills_live newest
     * misses, or prefetched by one of the @prefetches_live newest prefetches.
     * Those that are older have made it.
     */
    uint8_t stores_live, fills_live, prefetches_live;
    void *last;                 /* for its owner */
    uint16_t word[];
} PmuState;

/* The longest snapshot that is taken. */
#define PMU_STATE_WORDS 4096

/*
 * Describe @p in @state, which has room for PMU_STATE_WORDS.  False if it is
 * too far from anything that could come back to be worth it.
 */
bool pmu_state_take(PmuPipeline *p, PmuState *state);

/* Bring @p into @state, at its present clock. */
void pmu_state_restore(PmuPipeline *p, const PmuState *state);

/* How many slots of its open cycle are filled, and with what. */
void pmu_state_clock(const PmuState *state, uint32_t *slot,
                     uint64_t *history);

static inline size_t pmu_state_size(uint32_t length)
{
    return sizeof(PmuState) + length * sizeof(uint16_t);
}

#endif
