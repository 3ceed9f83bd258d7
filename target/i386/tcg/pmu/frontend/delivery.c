/*
 * The frontend's timing: when micro-ops are delivered.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The structure is that of uiCA (Abel and Reineke, ICS 2022): the predecoder
 * finds @predecode_insns instructions a cycle within one aligned chunk; the
 * decoders take @decoders of them, and only the first decoder takes those of
 * several micro-ops; the DSB delivers @dsb_line micro-ops a cycle.  The
 * predictor runs ahead and asks for what misses; fetch waits for the remainder.
 */

#include <glib.h>

#include "tcg/pmu/frontend/delivery.h"

/* In .delivered and .decoded: nothing more fits into this cycle. */
#define FULL UINT8_MAX

/* Instructions of more micro-ops come from the microcode sequencer. */
#define DECODER_UOPS 4

void pmu_delivery_init(PmuDelivery *d, const PmuUarch *uarch, PmuClock *clock,
                       PmuMissTiming *misses)
{
    *d = (PmuDelivery) {
        .uarch = uarch, .clock = clock, .misses = misses,
        .ahead = uarch->idq / uarch->dsb_line,
        .predecode_ahead = uarch->instruction_queue / uarch->decoders,
        .cycle = PMU_FIRST_CYCLE,
    };
    pmu_run_ahead_init(&d->run_ahead, uarch, d->cycle);
}

void pmu_delivery_begin(PmuDelivery *d, uint64_t cycle)
{
    d->cycle = cycle;
    pmu_run_ahead_restart(&d->run_ahead, cycle);
}

/* Cycle d->cycle is over: count what was delivered in it. */
static void count_cycle(PmuDelivery *d)
{
    if (d->source != PMU_DELIVERY_LEGACY) {
        pmu_delivery_count_dsb(d);
        return;
    }
    if (d->uops) {
        *pmu_count(d->clock, PMU_ITEM_MITE_UOPS) += d->uops;
        pmu_count_bin(d->clock, PMU_ITEM_MITE_1, PMU_ITEM_MITE_6,
                      d->uops - 1);
    }
    if (d->insns) {
        *pmu_count(d->clock, PMU_ITEM_DECODED) += d->insns;
        pmu_count_bin(d->clock, PMU_ITEM_DECODED_1, PMU_ITEM_DECODED_2,
                      d->insns - 1);
    }
    d->uops = 0;
    d->insns = 0;
}

/* Go on to @cycle, in which nothing has been delivered yet. */
static void go_to(PmuDelivery *d, uint64_t cycle)
{
    count_cycle(d);
    d->cycle = cycle;
    d->delivered = 0;
    d->decoded = 0;
}

static void next_cycle(PmuDelivery *d)
{
    go_to(d, d->cycle + 1);
}

/* Go on to @cycle if that is later. */
static void wait_for(PmuDelivery *d, uint64_t cycle)
{
    if (cycle > d->cycle) {
        go_to(d, cycle);
    }
}

/*
 * The queue lets the frontend be at most d->ahead cycles ahead of issue: move
 * its state on to that cycle, and the predecoder's likewise.  In any case
 * pmu_delivery_deliver() does so for the next instruction.
 */
static void normalize(PmuDelivery *d)
{
    wait_for(d, d->clock->cycle - d->ahead);
    if (d->predecoded + d->predecode_ahead < d->cycle) {
        d->predecoded = d->cycle - d->predecode_ahead;
        d->predecode_count = 0;
    }
}

/* While the loop in the queue ran, the predictor did not run ahead. */
static void leave_loop(PmuDelivery *d)
{
    if (d->source == PMU_DELIVERY_LSD) {
        pmu_run_ahead_restart(&d->run_ahead, d->cycle);
    }
}

void pmu_delivery_dsb(PmuDelivery *d)
{
    normalize(d);
    leave_loop(d);
    pmu_run_ahead_enter(&d->run_ahead, d->cycle);
    pmu_run_ahead_leave(&d->run_ahead, d->cycle);
    /* A DSB line is of one window: with dsb_one_line, the next one waits. */
    if (d->source != PMU_DELIVERY_DSB || d->uarch->dsb_one_line) {
        if (d->source != PMU_DELIVERY_DSB) {
            count_cycle(d);
        }
        d->source = PMU_DELIVERY_DSB;
        d->delivered = FULL;
    }
}

/*
 * The cycle in which the line of @access is there, to which fetch gets at @now.
 * What fetch waits for is counted when the wait begins, whether or not the
 * queues have enough micro-ops to hide it.
 */
static uint64_t fetch_line(PmuDelivery *d, const PmuAccessOutcome *access,
                           uint64_t now)
{
    PmuRunAhead *ahead = &d->run_ahead;
    uint64_t asked = pmu_run_ahead_enter(ahead, now);
    uint64_t translated = pmu_miss_timing_translate(d->misses, access, asked,
                                                    PMU_WALK_CODE);
    uint64_t from = MAX(now, translated), ready = from;

    pmu_run_ahead_translated(ahead, translated);
    if (access->source != PMU_SOURCE_L1) {
        ready = pmu_miss_timing_code_miss(d->misses, access, translated);
        ready = MAX(from, ready);
    }
    *pmu_count(d->clock, PMU_ITEM_FETCH_TAG_CYCLES) += from - now;
    *pmu_count(d->clock, PMU_ITEM_FETCH_DATA_CYCLES) += ready - from;
    *pmu_count(d->clock, PMU_ITEM_FETCH_DATA_PERIODS) += ready > from;
    pmu_run_ahead_leave(ahead, ready);
    return ready;
}

void pmu_delivery_legacy(PmuDelivery *d, const PmuAccessOutcome *access)
{
    uint64_t ready;

    normalize(d);
    if (d->source != PMU_DELIVERY_LEGACY) {
        if (d->source == PMU_DELIVERY_DSB) {
            *pmu_count(d->clock, PMU_ITEM_MITE_SWITCHES) += 1;
            *pmu_count(d->clock, PMU_ITEM_MITE_SWITCH_CYCLES) +=
                d->uarch->dsb_switch;
        }
        count_cycle(d);
        wait_for(d, d->cycle + d->uarch->dsb_switch);
        leave_loop(d);
        d->source = PMU_DELIVERY_LEGACY;
        d->predecoded = d->cycle;
        d->predecode_count = 0;
        d->jumped = true;
        d->decoded = FULL;
    }
    ready = fetch_line(d, access, d->predecoded);
    if (ready > d->predecoded) {
        d->predecoded = ready;
        d->predecode_count = 0;
    }
}

void pmu_delivery_loop(PmuDelivery *d)
{
    count_cycle(d);
    d->source = PMU_DELIVERY_LSD;
}

/*
 * An instruction belongs to the chunk in which it ends.  If its opcode is in
 * the chunk before, it takes a place there as well (measured: ADDs of three
 * bytes come at 0.31 cycles each, InstLatx64).
 */
static void predecode(PmuDelivery *d, const PmuInsn *insn, unsigned offset)
{
    uint8_t chunk = (offset + insn->length - 1) / d->uarch->decode_bytes;
    uint8_t opcode = (offset + insn->opcode_end) / d->uarch->decode_bytes;

    if (opcode != chunk && !d->jumped && d->chunk == opcode &&
        d->predecode_count == d->uarch->predecode_insns) {
        d->predecoded++;
    }
    if (d->jumped || chunk != d->chunk ||
        d->predecode_count == d->uarch->predecode_insns) {
        d->predecoded++;
        d->predecode_count = 0;
        d->chunk = chunk;
        d->jumped = false;
    }
    d->predecode_count++;
    if (insn->flags & PMU_INSN_LCP) {
        d->predecoded += d->uarch->lcp_stall;
        *pmu_count(d->clock, PMU_ITEM_LCP_CYCLES) += d->uarch->lcp_stall;
    }
}

static void decode(PmuDelivery *d, const PmuInsn *insn, unsigned uops)
{
    wait_for(d, d->predecoded);
    if (d->decoded >= d->uarch->decoders || (uops > 1 && d->decoded) ||
        d->delivered + uops > d->uarch->decode_uops) {
        next_cycle(d);
    }
    if (!d->decoded) {
        *pmu_count(d->clock, PMU_ITEM_DECODER_0_UOPS) += uops;
    }
    d->decoded++;
    d->delivered += uops;
    d->insns++;
    d->uops += uops;
}

void pmu_delivery_microcode(PmuDelivery *d, uint32_t uops)
{
    uint32_t width = d->uarch->ms_uops;
    uint32_t cycles = (uops + width - 1) / width;

    *pmu_count(d->clock, PMU_ITEM_MS_UOPS) += uops;
    *pmu_count(d->clock, PMU_ITEM_MS_CYCLES) += cycles;
    *pmu_count(d->clock, PMU_ITEM_MS_SWITCHES) += 1;
    wait_for(d, d->cycle + d->uarch->ms_switch + cycles);
    d->delivered = FULL;
    d->decoded = FULL;
}

void pmu_delivery_deliver(PmuDelivery *d, const PmuInsn *insn, unsigned offset)
{
    unsigned uops = insn->decode_uops + !!(insn->flags & PMU_INSN_IMM64);

    normalize(d);
    if (d->source == PMU_DELIVERY_LEGACY) {
        predecode(d, insn, offset);
    }
    if (insn->decode_uops > DECODER_UOPS) {
        pmu_delivery_microcode(d, insn->slots);
    } else if (d->source == PMU_DELIVERY_LEGACY) {
        decode(d, insn, insn->decode_uops);
    } else if (d->source == PMU_DELIVERY_DSB) {
        if (d->delivered + uops > d->uarch->dsb_line) {
            next_cycle(d);
        }
        d->delivered += uops;
        d->uops += insn->decode_uops;
    } else {
        *pmu_count(d->clock, PMU_ITEM_LSD_UOPS) += insn->decode_uops;
    }
}

void pmu_delivery_fused(PmuDelivery *d, const PmuInsn *insn, unsigned offset)
{
    if (d->source == PMU_DELIVERY_LEGACY) {
        normalize(d);
        predecode(d, insn, offset);
    }
}

void pmu_delivery_taken(PmuDelivery *d, bool unknown, bool loop_end)
{
    normalize(d);
    if (unknown) {
        *pmu_count(d->clock, PMU_ITEM_RESTEERS) += 1;
        *pmu_count(d->clock, PMU_ITEM_RESTEER_CYCLES) +=
            d->uarch->resteer_penalty;
        wait_for(d, d->cycle + d->uarch->resteer_penalty);
        d->predecoded = d->cycle;
    }
    if (d->source == PMU_DELIVERY_LEGACY) {
        /* The target's chunk comes a cycle later than the next one would. */
        d->predecoded++;
    }
    if (unknown) {
        pmu_run_ahead_restart(&d->run_ahead, d->predecoded);
    }
    d->jumped = true;
    d->delivered = FULL;
    d->decoded = FULL;
    if (loop_end) {
        wait_for(d, d->clock->cycle + !!d->clock->slot);
    }
}

void pmu_delivery_restart(PmuDelivery *d, uint64_t cycle)
{
    count_cycle(d);
    d->cycle = cycle - 1;
    d->predecoded = d->cycle;
    pmu_run_ahead_restart(&d->run_ahead, d->cycle);
    d->predecode_count = 0;
    d->jumped = true;
    d->delivered = FULL;
    d->decoded = FULL;
}
