/*
 * The frontend: when the next micro-ops are there to be issued.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.
 */

#include <glib.h>

#include "frontend.h"

/* Slots in a line of the queue when the LSD delivers: no limit that counts. */
#define LOOP_SLOTS (1u << 30)

/*
 * Equal iterations before the LSD takes over.  Intel gives no figure; the
 * effect of a wrong one is a few slots at the start of a loop.
 */
#define LOOP_ITERATIONS 8

#define NOWHERE UINT64_MAX

bool pmu_frontend_init(PmuFrontend *fe, const PmuUarch *uarch, PmuMemory *mem)
{
    *fe = (PmuFrontend) {
        .uarch = uarch,
        .mem = mem,
        .dsb_line = uarch->dsb_line,
        .ahead = uarch->idq / uarch->dsb_line,
        .window_shift = g_bit_storage(uarch->dsb_window) - 1,
        .chunk_shift = g_bit_storage(uarch->decode_bytes) - 1,
        .line = NOWHERE,
        .chunk = NOWHERE,
        .loop_branch = NOWHERE,
    };
    return pmu_cache_init(&fe->dsb, uarch->dsb_uops / uarch->dsb_line /
                                    uarch->dsb_ways, uarch->dsb_ways, false);
}

void pmu_frontend_destroy(PmuFrontend *fe)
{
    pmu_cache_destroy(&fe->dsb);
}

void pmu_frontend_reset(PmuFrontend *fe)
{
    pmu_cache_clear(&fe->dsb);
    fe->loop_branch = NOWHERE;
    fe->loop_start = 0;
    fe->loop_uops = 0;
    fe->legacy = false;
    pmu_frontend_restart(fe, 0);
}

void pmu_frontend_decode(PmuFrontend *fe, const PmuInsn *insn, uint64_t pc,
                         uint32_t slots)
{
    uint64_t chunk = (pc + insn->length - 1) >> fe->chunk_shift;

    fe->room -= MIN(slots, fe->room);
    /*
     * Only the first decoder takes instructions of several micro-ops; the
     * width of fetch and the number of decoders end a cycle as well.
     */
    if (chunk != fe->chunk || fe->decoded == fe->uarch->decode_insns ||
        (insn->slots > 1 && fe->decoded)) {
        fe->cycle++;
        fe->decoded = 0;
        fe->chunk = chunk;
    }
    fe->decoded++;
    if (insn->flags & PMU_INSN_LCP) {
        fe->cycle += fe->uarch->lcp_stall;
    }
}

void pmu_frontend_build(PmuFrontend *fe, uint64_t pc, uint64_t phys)
{
    if (!fe->legacy) {
        fe->cycle += fe->uarch->dsb_switch;
        fe->legacy = true;
    }
    fe->left = 0;
    fe->room = fe->dsb_line;
    fe->cycle += pmu_memory_fetch(fe->mem, pc, phys, fe->cycle);
}

static void end_line(PmuFrontend *fe)
{
    fe->left = 0;
    fe->room = 0;
    fe->line = NOWHERE;
    fe->chunk = NOWHERE;
}

static void leave_loop(PmuFrontend *fe)
{
    fe->looping = false;
    fe->loop_count = 0;
    end_line(fe);
}

void pmu_frontend_taken(PmuFrontend *fe, uint64_t pc, uint64_t uops,
                        bool known, uint64_t now)
{
    uint64_t iteration = uops - fe->loop_start;
    bool alike = pc == fe->loop_branch && iteration == fe->loop_uops &&
                 iteration <= fe->uarch->idq;

    fe->loop_start = uops;
    fe->loop_uops = iteration;
    fe->loop_branch = pc;
    if (alike && (fe->looping || ++fe->loop_count >= LOOP_ITERATIONS)) {
        fe->looping = true;
        fe->left = LOOP_SLOTS;
        return;
    }
    if (!alike) {
        leave_loop(fe);
    }
    end_line(fe);
    if (!known) {
        pmu_frontend_bound(fe, now);
        fe->cycle += fe->uarch->resteer_penalty;
    }
}

void pmu_frontend_not_taken(PmuFrontend *fe, uint64_t pc)
{
    if (pc == fe->loop_branch) {
        leave_loop(fe);
    }
}

void pmu_frontend_restart(PmuFrontend *fe, uint64_t cycle)
{
    leave_loop(fe);
    fe->cycle = cycle;
}
