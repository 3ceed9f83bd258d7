/*
 * The frontend's timing: when micro-ops are delivered.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line; a part of the pipeline.  Micro-ops come from the
 * decoded instruction cache (DSB), the legacy decoders, the microcode
 * sequencer or, in short loops, from the queue in front of the backend (LSD);
 * which of them is part of the outcome.
 */

#ifndef TARGET_I386_PMU_SUPPLY_H
#define TARGET_I386_PMU_SUPPLY_H

#include "cycles.h"
#include "pipeline.h"

/* Instructions from another line follow, which is in the DSB. */
void pmu_supply_dsb(PmuPipeline *p);

/* ... which must be decoded, its fetch told by @access. */
void pmu_supply_legacy(PmuPipeline *p, const PmuAccess *access);

/* ... which is in the loop that is in the queue. */
void pmu_supply_loop(PmuPipeline *p);

/*
 * Deliver @insn, whose first byte is @offset bytes into a page; when it can
 * issue is in p->supply.cycle then.
 */
void pmu_supply_deliver(PmuPipeline *p, const PmuInsn *insn, unsigned offset);

/* What was delivered in the supply's cycle is over: count it. */
void pmu_supply_count(PmuPipeline *p);

/* The same if the DSB delivered it.  Hot. */
static inline void pmu_supply_count_dsb(PmuPipeline *p)
{
    PmuSupply *s = &p->supply;

    if (s->uops) {
        *pmu_timed(p, PMU_ITEM_DSB_UOPS) += s->uops;
        pmu_count_bin(p, PMU_ITEM_DSB_1, PMU_ITEM_DSB_6, s->uops - 1);
        s->uops = 0;
    }
}

/*
 * As pmu_supply_deliver(), shorter, unless @insn is decoded or comes from
 * microcode.
 */
static inline void pmu_supply_deliver_one(PmuPipeline *p, const PmuInsn *insn,
                                          unsigned offset)
{
    PmuSupply *s = &p->supply;

    if (__builtin_expect(s->source == PMU_SUPPLY_LEGACY, 0)) {
        pmu_supply_deliver(p, insn, offset);
        return;
    }
    if (s->cycle + p->supply_ahead < p->cycle) {
        pmu_supply_count_dsb(p);
        s->cycle = p->cycle - p->supply_ahead;
        s->delivered = 0;
        s->decoded = 0;
    }
    if (s->source == PMU_SUPPLY_DSB) {
        unsigned uops = insn->decode_uops + !!(insn->flags & PMU_INSN_IMM64);

        if (s->delivered + uops > p->uarch->dsb_line) {
            pmu_supply_count_dsb(p);
            s->cycle++;
            s->delivered = 0;
            s->decoded = 0;
        }
        s->delivered += uops;
        s->uops += insn->decode_uops;
    } else {
        *pmu_timed(p, PMU_ITEM_LSD_UOPS) += insn->decode_uops;
    }
}

/* The microcode sequencer delivers @uops micro-ops, alone. */
void pmu_supply_microcode(PmuPipeline *p, uint32_t uops);

/* The same for the second of a fused pair: decoders see one instruction. */
void pmu_supply_fused(PmuPipeline *p, const PmuInsn *insn, unsigned offset);

/*
 * A branch was taken, as predicted.  @unknown: fetch did not know of it in
 * time; @loop_end: the loop in the queue begins again.
 */
void pmu_supply_taken(PmuPipeline *p, bool unknown, bool loop_end);

/*
 * What the frontend could have done before the queue was full is over: bring
 * the state into the form that it has anyway when the next instruction comes.
 */
void pmu_supply_settle(PmuPipeline *p);

/* Fetch starts again, so that the next micro-op issues in @cycle. */
void pmu_supply_restart(PmuPipeline *p, uint64_t cycle);

#endif
