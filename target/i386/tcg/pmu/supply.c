/*
 * The frontend's timing: when micro-ops are delivered.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 *
 * The structure is that of uiCA (Abel and Reineke, ICS 2022): the predecoder
 * finds @predecode_insns instructions a cycle within one aligned chunk; the
 * decoders take @decoders of them, only the first one instructions of several
 * micro-ops; the DSB delivers @dsb_line micro-ops a cycle.
 */

#include <glib.h>

#include "stages.h"
#include "supply.h"

/* Nothing more fits into this cycle. */
#define FULL UINT8_MAX

/* Instructions of more micro-ops come from the microcode sequencer. */
#define DECODER_UOPS 4

void pmu_supply_count(PmuPipeline *p)
{
    PmuSupply *s = &p->supply;

    if (s->source != PMU_SUPPLY_LEGACY) {
        pmu_supply_count_dsb(p);
        return;
    }
    if (s->uops) {
        *pmu_timed(p, PMU_ITEM_MITE_UOPS) += s->uops;
        pmu_count_bin(p, PMU_ITEM_MITE_1, PMU_ITEM_MITE_6, s->uops - 1);
    }
    if (s->insns) {
        *pmu_timed(p, PMU_ITEM_DECODED) += s->insns;
        pmu_count_bin(p, PMU_ITEM_DECODED_1, PMU_ITEM_DECODED_2,
                      s->insns - 1);
    }
    s->uops = 0;
    s->insns = 0;
}

/* The next micro-ops are delivered in @cycle, with none there yet. */
static void go_to(PmuPipeline *p, uint64_t cycle)
{
    pmu_supply_count(p);
    p->supply.cycle = cycle;
    p->supply.delivered = 0;
    p->supply.decoded = 0;
}

static void next_cycle(PmuPipeline *p)
{
    go_to(p, p->supply.cycle + 1);
}

/* Wait for @cycle, if that is to come. */
static void wait_for(PmuPipeline *p, uint64_t cycle)
{
    if (cycle > p->supply.cycle) {
        go_to(p, cycle);
    }
}

void pmu_supply_settle(PmuPipeline *p)
{
    PmuSupply *s = &p->supply;

    wait_for(p, p->cycle - p->supply_ahead);
    if (s->predecoded + p->predecode_ahead < s->cycle) {
        s->predecoded = s->cycle - p->predecode_ahead;
        s->predecode_count = 0;
    }
}

void pmu_supply_dsb(PmuPipeline *p)
{
    PmuSupply *s = &p->supply;

    pmu_supply_settle(p);
    /* A line is of one window: the next window's may have to wait its turn. */
    if (s->source != PMU_SUPPLY_DSB || p->uarch->dsb_one_line) {
        if (s->source != PMU_SUPPLY_DSB) {
            pmu_supply_count(p);
        }
        s->source = PMU_SUPPLY_DSB;
        s->delivered = FULL;
    }
}

/*
 * When a line is there that is fetched from @start on, if it was in L1I.  What
 * fetch waits for is counted when it begins to, whether or not there is enough
 * in the queues meanwhile.
 */
static uint64_t fetch_line(PmuPipeline *p, const PmuAccess *access,
                           uint64_t start)
{
    uint64_t asked = start, ready;

    start = pmu_access_translate(p, access, start, PMU_WALK_CODE);
    *pmu_timed(p, PMU_ITEM_FETCH_TAG_CYCLES) += start - asked;
    if (access->source == PMU_FROM_FILL) {
        ready = MAX(start, pmu_pipeline_fill(p, access));
    } else {
        ready = access->source == PMU_FROM_L1
                ? start : pmu_pipeline_code_miss(p, access, start);
    }
    *pmu_timed(p, PMU_ITEM_FETCH_DATA_CYCLES) += ready - start;
    return ready;
}

void pmu_supply_legacy(PmuPipeline *p, const PmuAccess *access)
{
    PmuSupply *s = &p->supply;
    uint64_t ready;

    pmu_supply_settle(p);
    if (s->source != PMU_SUPPLY_LEGACY) {
        if (s->source == PMU_SUPPLY_DSB) {
            *pmu_timed(p, PMU_ITEM_MITE_SWITCHES) += 1;
            *pmu_timed(p, PMU_ITEM_MITE_SWITCH_CYCLES) +=
                p->uarch->dsb_switch;
        }
        pmu_supply_count(p);
        s->source = PMU_SUPPLY_LEGACY;
        wait_for(p, s->cycle + p->uarch->dsb_switch);
        s->predecoded = s->cycle;
        s->predecode_count = 0;
        s->jumped = true;
        s->decoded = FULL;
    }
    ready = fetch_line(p, access, s->predecoded);
    if (ready > s->predecoded) {
        s->predecoded = ready;
        s->predecode_count = 0;
    }
}

void pmu_supply_loop(PmuPipeline *p)
{
    pmu_supply_count(p);
    p->supply.source = PMU_SUPPLY_LSD;
}

/*
 * An instruction belongs to the chunk in which it ends.  One whose opcode is in
 * the chunk before takes a place there as well (measured: ADDs of three bytes
 * come at 0.31 cycles each, InstLatx64).
 */
static void predecode(PmuPipeline *p, const PmuInsn *insn, unsigned offset)
{
    PmuSupply *s = &p->supply;
    uint8_t chunk = (offset + insn->length - 1) / p->uarch->decode_bytes;
    uint8_t opcode = (offset + insn->opcode) / p->uarch->decode_bytes;

    if (opcode != chunk && !s->jumped && s->chunk == opcode &&
        s->predecode_count == p->uarch->predecode_insns) {
        s->predecoded++;
    }
    if (s->jumped || chunk != s->chunk ||
        s->predecode_count == p->uarch->predecode_insns) {
        s->predecoded++;
        s->predecode_count = 0;
        s->chunk = chunk;
        s->jumped = false;
    }
    s->predecode_count++;
    if (insn->flags & PMU_INSN_LCP) {
        s->predecoded += p->uarch->lcp_stall;
        *pmu_timed(p, PMU_ITEM_LCP_CYCLES) += p->uarch->lcp_stall;
    }
}

static void decode(PmuPipeline *p, const PmuInsn *insn, unsigned uops)
{
    PmuSupply *s = &p->supply;

    wait_for(p, s->predecoded);
    if (s->decoded >= p->uarch->decoders || (uops > 1 && s->decoded) ||
        s->delivered + uops > p->uarch->decode_uops) {
        next_cycle(p);
    }
    if (!s->decoded) {
        *pmu_timed(p, PMU_ITEM_DECODER_0_UOPS) += uops;
    }
    s->decoded++;
    s->delivered += uops;
    s->insns++;
    s->uops += uops;
}

void pmu_supply_microcode(PmuPipeline *p, uint32_t uops)
{
    PmuSupply *s = &p->supply;
    uint32_t width = p->uarch->ms_uops;
    uint32_t cycles = (uops + width - 1) / width;

    *pmu_timed(p, PMU_ITEM_MS_UOPS) += uops;
    *pmu_timed(p, PMU_ITEM_MS_CYCLES) += cycles;
    *pmu_timed(p, PMU_ITEM_MS_SWITCHES) += 1;
    wait_for(p, s->cycle + p->uarch->ms_switch + cycles);
    s->delivered = FULL;
    s->decoded = FULL;
}

void pmu_supply_deliver(PmuPipeline *p, const PmuInsn *insn, unsigned offset)
{
    PmuSupply *s = &p->supply;
    unsigned uops = insn->decode_uops + !!(insn->flags & PMU_INSN_IMM64);

    pmu_supply_settle(p);
    if (s->source == PMU_SUPPLY_LEGACY) {
        predecode(p, insn, offset);
    }
    if (insn->decode_uops > DECODER_UOPS) {
        pmu_supply_microcode(p, insn->slots);
    } else if (s->source == PMU_SUPPLY_LEGACY) {
        decode(p, insn, insn->decode_uops);
    } else if (s->source == PMU_SUPPLY_DSB) {
        if (s->delivered + uops > p->uarch->dsb_line) {
            next_cycle(p);
        }
        s->delivered += uops;
        s->uops += insn->decode_uops;
    } else {
        *pmu_timed(p, PMU_ITEM_LSD_UOPS) += insn->decode_uops;
    }
}

void pmu_supply_fused(PmuPipeline *p, const PmuInsn *insn, unsigned offset)
{
    if (p->supply.source == PMU_SUPPLY_LEGACY) {
        pmu_supply_settle(p);
        predecode(p, insn, offset);
    }
}

void pmu_supply_taken(PmuPipeline *p, bool unknown, bool loop_end)
{
    PmuSupply *s = &p->supply;

    pmu_supply_settle(p);
    if (unknown) {
        *pmu_timed(p, PMU_ITEM_RESTEERS) += 1;
        *pmu_timed(p, PMU_ITEM_RESTEER_CYCLES) += p->uarch->resteer_penalty;
        wait_for(p, s->cycle + p->uarch->resteer_penalty);
        s->predecoded = s->cycle;
    }
    if (s->source == PMU_SUPPLY_LEGACY) {
        /* The target's chunk comes a cycle later than the next one would. */
        s->predecoded++;
    }
    s->jumped = true;
    s->delivered = FULL;
    s->decoded = FULL;
    if (loop_end) {
        wait_for(p, p->cycle + !!p->slot);
    }
}

void pmu_supply_restart(PmuPipeline *p, uint64_t cycle)
{
    PmuSupply *s = &p->supply;

    pmu_supply_count(p);
    s->cycle = cycle - 1;
    s->predecoded = s->cycle;
    s->predecode_count = 0;
    s->jumped = true;
    s->delivered = FULL;
    s->decoded = FULL;
}
