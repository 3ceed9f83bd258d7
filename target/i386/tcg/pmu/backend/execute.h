/*
 * Issue and execution of an instruction: from its slots to its retirement.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_BACKEND_EXECUTE_H
#define TARGET_I386_PMU_BACKEND_EXECUTE_H

#include <glib.h>

#include "tcg/pmu/backend/pipeline-state.h"
#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/memory/outcome.h"

/* When the micro-op before the @n to come by a reorder buffer retires. */
static inline PmuCompletion pmu_rob_free_at(const PmuPipeline *p, uint32_t n)
{
    return p->rob.completed[(p->rob.uops + n - 1 - p->uarch->rob) %
                            PMU_ROB_RING];
}

/* When the load buffer has an entry for one more. */
static inline PmuCompletion pmu_load_buffer_free_at(const PmuPipeline *p)
{
    return p->lsu.load[(p->lsu.loads - p->uarch->load_buffer) % PMU_LOAD_RING];
}

/* When @insn, which has a bypass, can have source @i. */
static inline uint64_t pmu_registers_bypassed(const PmuPipeline *p,
                                              const PmuInsn *insn,
                                int i)
{
    uint8_t reg = insn->src[i];

    return p->registers.ready[reg] +
           p->uarch->bypass[p->registers.bypass[reg]][insn->bypass];
}

/* When the first @max registers that @insn computes with are ready. */
static inline uint64_t pmu_registers_ready(const PmuPipeline *p,
                                           const PmuInsn *insn,
                                int max)
{
    uint64_t ready = 0;

    for (int i = 0; i < max; i++) {
        uint64_t source = insn->bypass ? pmu_registers_bypassed(p, insn, i)
                                       : p->registers.ready[insn->src[i]];

        ready = MAX(ready, source - MIN(source, insn->src_late[i]));
    }
    return ready;
}

static inline uint64_t pmu_sources_ready(const PmuPipeline *p,
                                         const PmuInsn *insn)
{
    return pmu_registers_ready(p, insn, PMU_INSN_SRCS);
}

/* When the registers that form the address of @insn are ready. */
static inline uint64_t pmu_address_ready(const PmuPipeline *p,
                                         const PmuInsn *insn)
{
    return MAX(p->registers.ready[insn->addr_src[0]],
               p->registers.ready[insn->addr_src[1]]);
}

/* The @n newest micro-ops retire at @done at the earliest. */
static inline void pmu_retire(PmuPipeline *p, uint32_t n, PmuCompletion done)
{
    p->rob.retired = MAX(p->rob.retired, done);
    for (uint64_t uop = p->rob.uops - n; uop != p->rob.uops; uop++) {
        p->rob.completed[uop % PMU_ROB_RING] = p->rob.retired;
    }
    p->rob.retirable = p->rob.uops;
}

/* The destinations of @insn have their values at @done. */
void pmu_write_back(PmuPipeline *p, const PmuInsn *insn,
                    uint64_t done);

/* Wait until @insn, of @uops unfused micro-ops, can issue. */
void pmu_wait_to_issue(PmuPipeline *p, const PmuInsn *insn,
                       uint32_t uops);

/*
 * Issue, execute and retire @bi, which has @uops unfused micro-ops: when its
 * result is there, and what it waited for.
 */
PmuCompletion pmu_execute(PmuPipeline *p, const PmuBlockInsn *bi,
                          uint32_t uops, const PmuOutcome *outcome);

/* The same for a branch that is taken, which executes on fewer ports. */
PmuCompletion pmu_execute_branch(PmuPipeline *p, const PmuBlockInsn *bi,
                                 uint32_t uops, const PmuOutcome *outcome);

/*
 * @insn, a branch, fuses with the instruction before it: their one micro-op
 * goes where branches go.
 */
PmuCompletion pmu_execute_fused(PmuPipeline *p, const PmuInsn *insn,
                                bool taken);

/*
 * PUSH, POP and the like change RSP in the stack engine, next of the others.
 * An instruction that uses RSP otherwise has it told first: by a micro-op of
 * its own (Intel SOM, "Stack pointer tracker").
 */
void pmu_sync_stack(PmuPipeline *p, const PmuBlockInsn *bi,
                    const PmuOutcome *outcome);

#endif
