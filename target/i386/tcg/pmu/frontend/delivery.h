/*
 * The frontend's timing: when micro-ops are delivered.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Micro-ops come from the decoded instruction cache (DSB), the legacy decoders,
 * the microcode sequencer or, in short loops, from the queue in front of the
 * backend (LSD); which of them is part of the outcome.
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
    /* Cycles that the frontend and the predecoder can be ahead. */
    uint32_t ahead, predecode_ahead;
    uint64_t cycle;             /* what was delivered last can issue then */
    uint64_t predecoded;        /* the cycle of the newest predecoded insn */
    uint8_t source;             /* PmuDeliverySource */
    uint8_t delivered;          /* micro-ops delivered in @cycle */
    uint8_t decoded;            /* instructions decoded in @cycle */
    /* The same without what only keeps others from being there. */
    uint8_t uops, insns;
    uint8_t predecode_count;    /* instructions predecoded in @predecoded */
    uint8_t chunk;              /* fetch chunk that was predecoded last */
    bool jumped;                /* the next chunk is another one in any case */
    PmuRunAhead run_ahead;
} PmuDelivery;

/* Nothing was delivered.  @clock and @misses may not move. */
void pmu_delivery_init(PmuDelivery *d, const PmuUarch *uarch, PmuClock *clock,
                       PmuMissTiming *misses);

/* The same, but that it begins in @cycle. */
void pmu_delivery_begin(PmuDelivery *d, uint64_t cycle);

/* Instructions from another line follow, which is in the DSB. */
void pmu_delivery_dsb(PmuDelivery *d);

/* ... which must be decoded, its fetch told by @access. */
void pmu_delivery_legacy(PmuDelivery *d, const PmuAccessOutcome *access);

/* ... which is in the loop that is in the queue. */
void pmu_delivery_loop(PmuDelivery *d);

/*
 * Deliver @insn, whose first byte is @offset bytes into a page; when it can
 * issue is in d->cycle then.
 */
void pmu_delivery_deliver(PmuDelivery *d, const PmuInsn *insn, unsigned offset);

/* The same if the DSB delivered it.  Hot. */
static inline void pmu_delivery_count_dsb(PmuDelivery *d)
{
    if (d->uops) {
        *pmu_count(d->clock, PMU_ITEM_DSB_UOPS) += d->uops;
        pmu_count_bin(d->clock, PMU_ITEM_DSB_1, PMU_ITEM_DSB_6, d->uops - 1);
        d->uops = 0;
    }
}

/*
 * As pmu_delivery_deliver(), shorter, unless @insn is decoded or comes from
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

/* The microcode sequencer delivers @uops micro-ops, alone. */
void pmu_delivery_microcode(PmuDelivery *d, uint32_t uops);

/* The same for the second of a fused pair: decoders see one instruction. */
void pmu_delivery_fused(PmuDelivery *d, const PmuInsn *insn, unsigned offset);

/*
 * A branch was taken, as predicted.  @unknown: fetch did not know of it in
 * time; @loop_end: the loop in the queue begins clears.
 */
void pmu_delivery_taken(PmuDelivery *d, bool unknown, bool loop_end);

/* Fetch starts clears, so that the next micro-op issues in @cycle. */
void pmu_delivery_restart(PmuDelivery *d, uint64_t cycle);

#endif
