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

/*
 * When the reorder buffer has room for @n more micro-ops: when the micro-op
 * retires that came a full reorder buffer before the last of them.
 */
static inline PmuCompletion pmu_rob_free_at(const PmuPipeline *p, uint32_t n)
{
    return p->rob.completed[(p->rob.uops + n - 1 - p->uarch->rob) %
                            PMU_ROB_RING];
}

/* When the load buffer has room for one more load. */
static inline PmuCompletion pmu_load_buffer_free_at(const PmuPipeline *p)
{
    return p->lsu.load[(p->lsu.loads - p->uarch->load_buffer) % PMU_LOAD_RING];
}

/* The cycle in which source @i reaches @insn, which has a PmuBypass. */
static inline uint64_t pmu_registers_bypassed(const PmuPipeline *p,
                                              const PmuInsn *insn,
                                int i)
{
    uint8_t reg = insn->src[i];

    return p->registers.ready[reg] +
           p->uarch->bypass[p->registers.bypass[reg]][insn->bypass];
}

/*
 * The cycle in which the first @max source registers of @insn are ready.  Those
 * that it needs later than others (src_late) count as ready that much sooner.
 */
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

/* The cycle in which the registers that form the address of @insn are ready. */
static inline uint64_t pmu_address_ready(const PmuPipeline *p,
                                         const PmuInsn *insn)
{
    return MAX(p->registers.ready[insn->addr_src[0]],
               p->registers.ready[insn->addr_src[1]]);
}

/* The @n newest micro-ops retire in order, at @done at the earliest. */
static inline void pmu_retire(PmuPipeline *p, uint32_t n, PmuCompletion done)
{
    p->rob.retired = MAX(p->rob.retired, done);
    for (uint64_t uop = p->rob.uops - n; uop != p->rob.uops; uop++) {
        p->rob.completed[uop % PMU_ROB_RING] = p->rob.retired;
    }
    p->rob.retirable = p->rob.uops;
}

/* Note that the destinations of @insn get their values in cycle @done. */
void pmu_write_back(PmuPipeline *p, const PmuInsn *insn,
                    uint64_t done);

/* Advance the clock until @insn, of @uops unfused micro-ops, can issue. */
void pmu_wait_to_issue(PmuPipeline *p, const PmuInsn *insn,
                       uint32_t uops);

/*
 * Issue, execute and retire @bi, which has @uops unfused micro-ops.  Returns
 * when its result is there, and what that waited for.
 */
PmuCompletion pmu_execute(PmuPipeline *p, const PmuBlockInsn *bi,
                          uint32_t uops, const PmuOutcome *outcome);

/* The same for a taken conditional branch, which can go to fewer ports. */
PmuCompletion pmu_execute_branch(PmuPipeline *p, const PmuBlockInsn *bi,
                                 uint32_t uops, const PmuOutcome *outcome);

/*
 * @insn is a branch that fuses with the instruction before it.  Dispatch their
 * one micro-op to a port for branches, in place of that instruction's.  Returns
 * when the branch is resolved.
 */
PmuCompletion pmu_execute_fused(PmuPipeline *p, const PmuInsn *insn,
                                bool taken);

/*
 * Call this before @bi issues.  PUSH, POP and the like change RSP in the stack
 * engine alone.  If @bi uses RSP otherwise, an extra micro-op first brings the
 * register up to date (Intel SOM, "Stack pointer tracker").
 */
void pmu_sync_stack(PmuPipeline *p, const PmuBlockInsn *bi,
                    const PmuOutcome *outcome);

#endif
