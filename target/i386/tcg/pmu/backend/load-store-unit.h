/*
 * The load/store unit: when loads have their data, when stores leave the store
 * buffer, and what loads wait for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_BACKEND_LOAD_STORE_UNIT_H
#define TARGET_I386_PMU_BACKEND_LOAD_STORE_UNIT_H

#include "tcg/pmu/backend/pipeline-state.h"
#include "tcg/pmu/decode/insn.h"
#include "tcg/pmu/memory/outcome.h"

/* The cycle in which the store buffer has room for one more store. */
static inline uint64_t pmu_lsu_store_buffer_free(const PmuPipeline *p)
{
    return p->lsu.store[(p->lsu.stores - p->uarch->store_buffer) %
                    PMU_STORE_RING].drained;
}

/*
 * Execute a load of @insn, access @index.  It can be dispatched from cycle
 * @earliest on, and its address is known at @address.  Returns the cycle in
 * which its data are there.
 */
uint64_t pmu_lsu_load(PmuPipeline *p, const PmuInsn *insn, uint8_t index,
                      uint64_t earliest, uint64_t address,
                      const PmuOutcome *outcome);

/*
 * Enter a store of @insn, access @index, into the store buffer.  Its address is
 * known at @address, its data at @data.  @loaded: a load of the same
 * instruction has got the line.
 */
void pmu_lsu_store(PmuPipeline *p, const PmuInsn *insn, uint8_t index,
                   uint64_t address, uint64_t data, bool loaded,
                   const PmuOutcome *outcome);

/*
 * Load, or store, a line for a string instruction; @access is the outcome.  The
 * load returns the cycle in which its data are there.  @same_line: the store
 * before was to the same line.
 */
uint64_t pmu_lsu_string_load(PmuPipeline *p, const PmuAccessOutcome *access);
void pmu_lsu_string_store(PmuPipeline *p, const PmuAccessOutcome *access,
                          bool same_line);

#endif
