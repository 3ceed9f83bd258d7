/*
 * The frontend's timing: when micro-ops are delivered.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Micro-ops come from the decoded instruction cache (DSB), the legacy decoders,
 * the microcode sequencer or, in short loops, from the queue in front of the
 * backend (LSD).  PmuOutcome says which of them.
 */

#ifndef TARGET_I386_PMU_FRONTEND_DELIVERY_H
#define TARGET_I386_PMU_FRONTEND_DELIVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/decode/block.h"
#include "tcg/pmu/frontend/run-ahead.h"
#include "tcg/pmu/ledger/slot-clock.h"
#include "tcg/pmu/memory/miss-timing.h"
#include "tcg/pmu/memory/outcome.h"
#include "tcg/pmu/uarch/uarch.h"

/* Where micro-ops come from. */
typedef enum PmuDeliverySource {
    PMU_DELIVERY_DSB,           /* the decoded instruction cache */
    PMU_DELIVERY_LEGACY,        /* predecode and decoders */
    PMU_DELIVERY_LSD,           /* a loop in the queue before the backend */
} PmuDeliverySource;

typedef struct PmuDelivery {
    const PmuUarch *uarch;
    PmuClock *clock;
    PmuMissTiming *misses;
    /* Cycles that delivery can be ahead of issue, and predecode of delivery. */
    uint32_t ahead, predecode_ahead;
    uint64_t cycle;             /* what was delivered last can issue then */
    uint64_t predecoded;        /* when the newest insn was predecoded */
    uint8_t source;             /* PmuDeliverySource */
    uint8_t delivered;          /* micro-ops delivered in @cycle */
    uint8_t decoded;            /* instructions decoded in @cycle */
    /* Both as they are counted, without what only takes up room. */
    uint8_t uops, insns;
    uint8_t predecode_count;    /* instructions predecoded in @predecoded */
    uint8_t chunk;              /* fetch chunk that was predecoded last */
    bool jumped;                /* the next insn begins a new chunk anyway */
    PmuRunAhead run_ahead;
} PmuDelivery;

/* Nothing was delivered yet.  @clock and @misses must keep their addresses. */
void pmu_delivery_init(PmuDelivery *d, const PmuUarch *uarch, PmuClock *clock,
                       PmuMissTiming *misses);

/* Behind pmu_delivery_init(): delivery begins in @cycle. */
void pmu_delivery_begin(PmuDelivery *d, uint64_t cycle);

/* Instructions of another segment follow, which is in the DSB. */
void pmu_delivery_dsb(PmuDelivery *d);

/* ... which must be decoded; @access is the outcome of its fetch. */
void pmu_delivery_legacy(PmuDelivery *d, const PmuAccessOutcome *access);

/* ... which is part of the loop in the queue. */
void pmu_delivery_loop(PmuDelivery *d);

/*
 * Deliver @insn, whose first byte is @offset bytes into a page.  Sets d->cycle
 * to the cycle in which it can issue.
 */
void pmu_delivery_deliver(PmuDelivery *d, const PmuInsn *insn, unsigned offset);

/* Cycle d->cycle is over: count what the DSB delivered in it.  Hot. */
static inline void pmu_delivery_count_dsb(PmuDelivery *d)
{
    if (d->uops) {
        *pmu_count(d->clock, PMU_ITEM_DSB_UOPS) += d->uops;
        pmu_count_bin(d->clock, PMU_ITEM_DSB_1, PMU_ITEM_DSB_6, d->uops - 1);
        d->uops = 0;
    }
}

/*
 * A faster pmu_delivery_deliver() for an @insn that does not come from
 * microcode.
 */
static inline void pmu_delivery_deliver_one(PmuDelivery *d, const PmuInsn *insn,
                                            unsigned offset)
{
    if (__builtin_expect(d->source == PMU_DELIVERY_LEGACY, 0)) {
        pmu_delivery_deliver(d, insn, offset);
        return;
    }
    if (d->cycle + d->ahead < d->clock->cycle) {
        pmu_delivery_count_dsb(d);
        d->cycle = d->clock->cycle - d->ahead;
        d->delivered = 0;
        d->decoded = 0;
    }
    if (d->source == PMU_DELIVERY_DSB) {
        unsigned uops = insn->decode_uops + !!(insn->flags & PMU_INSN_IMM64);

        if (d->delivered + uops > d->uarch->dsb_line) {
            pmu_delivery_count_dsb(d);
            d->cycle++;
            d->delivered = 0;
            d->decoded = 0;
        }
        d->delivered += uops;
        d->uops += insn->decode_uops;
    } else {
        *pmu_count(d->clock, PMU_ITEM_LSD_UOPS) += insn->decode_uops;
    }
}

/* The microcode sequencer delivers @uops micro-ops, in cycles of their own. */
void pmu_delivery_microcode(PmuDelivery *d, uint32_t uops);

/* Deliver the second of a fused pair: the decoders see one instruction. */
void pmu_delivery_fused(PmuDelivery *d, const PmuInsn *insn, unsigned offset);

/*
 * A branch was taken, as predicted.  @unknown: fetch did not know of it in
 * time; @loop_end: the loop in the queue begins again.
 */
void pmu_delivery_taken(PmuDelivery *d, bool unknown, bool loop_end);

/* Fetch starts again, so that the next micro-op issues in @cycle. */
void pmu_delivery_restart(PmuDelivery *d, uint64_t cycle);

#endif
