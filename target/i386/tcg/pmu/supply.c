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

#include "supply.h"

/* Nothing more fits into this cycle. */
#define FULL UINT8_MAX

/* Instructions of more micro-ops come from the microcode sequencer. */
#define DECODER_UOPS 4

static void next_cycle(PmuSupply *s)
{
    s->cycle++;
    s->delivered = 0;
    s->decoded = 0;
}

/* Wait for @cycle, if that is to come. */
static void wait_for(PmuSupply *s, uint64_t cycle)
{
    if (cycle > s->cycle) {
        s->cycle = cycle;
        s->delivered = 0;
        s->decoded = 0;
    }
}

void pmu_supply_settle(PmuPipeline *p)
{
    PmuSupply *s = &p->supply;

    wait_for(s, p->cycle - p->supply_ahead);
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
        s->source = PMU_SUPPLY_DSB;
        s->delivered = FULL;
    }
}

/* When a line is there that is fetched from @start on, if it was in L1I. */
static uint64_t fetch_line(PmuPipeline *p, const PmuAccess *access,
                           uint64_t start)
{
    start += access->delay;
    if (access->source == PMU_FROM_FILL) {
        return MAX(start, pmu_pipeline_fill(p, access));
    }
    return access->source == PMU_FROM_L1
           ? start : pmu_pipeline_code_miss(p, access, start);
}

void pmu_supply_legacy(PmuPipeline *p, const PmuAccess *access)
{
    PmuSupply *s = &p->supply;
    uint64_t ready;

    pmu_supply_settle(p);
    if (s->source != PMU_SUPPLY_LEGACY) {
        s->source = PMU_SUPPLY_LEGACY;
        wait_for(s, s->cycle + p->uarch->dsb_switch);
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
    }
}

static void decode(PmuPipeline *p, const PmuInsn *insn, unsigned uops)
{
    PmuSupply *s = &p->supply;

    wait_for(s, s->predecoded);
    if (s->decoded >= p->uarch->decoders || (uops > 1 && s->decoded) ||
        s->delivered + uops > p->uarch->decode_uops) {
        next_cycle(s);
    }
    s->decoded++;
    s->delivered += uops;
}

/* The microcode sequencer delivers alone. */
static void sequence(PmuPipeline *p, const PmuInsn *insn)
{
    PmuSupply *s = &p->supply;
    uint32_t width = p->uarch->ms_uops;

    wait_for(s, s->cycle + p->uarch->ms_switch +
                (insn->slots + width - 1) / width);
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
        sequence(p, insn);
    } else if (s->source == PMU_SUPPLY_LEGACY) {
        decode(p, insn, insn->decode_uops);
    } else if (s->source == PMU_SUPPLY_DSB) {
        if (s->delivered + uops > p->uarch->dsb_line) {
            next_cycle(s);
        }
        s->delivered += uops;
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
        wait_for(s, s->cycle + p->uarch->resteer_penalty);
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
        wait_for(s, p->cycle + !!p->slot);
    }
}

void pmu_supply_restart(PmuPipeline *p, uint64_t cycle)
{
    PmuSupply *s = &p->supply;

    s->cycle = cycle - 1;
    s->predecoded = s->cycle;
    s->predecode_count = 0;
    s->jumped = true;
    s->delivered = FULL;
    s->decoded = FULL;
}
