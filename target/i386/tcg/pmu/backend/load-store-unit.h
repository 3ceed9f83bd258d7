/*
 * Loads and stores in the pipeline: when data are there, and what waits for
 * them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_BACKEND_LOAD_STORE_UNIT_H
#define TARGET_I386_PMU_BACKEND_LOAD_STORE_UNIT_H

#include "tcg/pmu/backend/pipeline-state.h"
#include "tcg/pmu/decode/insn.h"
#include "tcg/pmu/memory/outcome.h"

/* When there is room for a store more. */
static inline uint64_t pmu_lsu_store_buffer_free(const PmuPipeline *p)
{
    return p->lsu.store[(p->lsu.stores - p->uarch->store_buffer) %
                    PMU_STORE_RING].drained;
}

/* The load of access @index of @insn, whose address is known at @address. */
uint64_t pmu_lsu_load(PmuPipeline *p, const PmuInsn *insn, uint8_t index,
                      uint64_t earliest, uint64_t address,
                      const PmuOutcome *outcome);

/*
 * A store of access @index of @insn: its address at @address, its data at
 * @data.  @loaded: a load of the same instruction has got the line.
 */
void pmu_lsu_store(PmuPipeline *p, const PmuInsn *insn, uint8_t index,
                   uint64_t address, uint64_t data, bool loaded,
                   const PmuOutcome *outcome);

/*
 * A load, or a store, of a line by a string instruction, as @access tells; the
 * load returns when its data are there.  @same_line: as the store before.
 */
uint64_t pmu_lsu_string_load(PmuPipeline *p, const PmuAccessOutcome *access);
void pmu_lsu_string_store(PmuPipeline *p, const PmuAccessOutcome *access,
                          bool same_line);

#endif
