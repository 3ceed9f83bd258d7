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

/* The window chooses the set; where in it a line begins tells lines apart. */
static uint64_t dsb_key(const PmuFrontend *fe, uint64_t phys)
{
    return phys >> fe->window_shift | phys << (64 - fe->window_shift);
}

static uint64_t insn_phys(const PmuBlock *block, const PmuBlockInsn *bi)
{
    uint64_t page_size = 1u << PMU_PAGE_SHIFT;
    uint64_t phys = block->phys + bi->offset;

    if ((block->phys & (page_size - 1)) + bi->offset >= page_size) {
        return (block->phys_next & ~(page_size - 1)) | bi->page_offset;
    }
    return phys;
}

/* Fetch cannot be further ahead of issue than the queue between them. */
static void bound_by_queue(PmuFrontend *fe, uint64_t now)
{
    if (fe->cycle + fe->ahead < now) {
        fe->cycle = now - fe->ahead;
    }
}

static void microcode(PmuFrontend *fe, uint32_t slots)
{
    if (slots > 4) {
        fe->cycle += fe->uarch->ms_switch + slots / fe->uarch->ms_uops;
    }
}

/* One instruction through the legacy decoders. */
static void decode(PmuFrontend *fe, const PmuInsn *insn, uint64_t pc)
{
    uint64_t chunk = (pc + insn->length - 1) >> fe->chunk_shift;

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

/* The next DSB line begins at @phys: read it, or start to build it. */
static void begin_line(PmuFrontend *fe, uint64_t pc, uint64_t phys,
                       uint32_t slots)
{
    uint64_t key = dsb_key(fe, phys);

    fe->line = pc >> PMU_LINE_SHIFT;
    if (pmu_cache_access(&fe->dsb, key)) {
        fe->cycle++;
        fe->legacy = false;
        fe->chunk = NOWHERE;
        fe->left = fe->uarch->dsb_line - MIN(slots, fe->uarch->dsb_line);
        return;
    }
    if (!fe->legacy) {
        fe->cycle += fe->uarch->dsb_switch;
        fe->legacy = true;
    }
    fe->left = 0;
    fe->room = fe->uarch->dsb_line;
    fe->cycle += pmu_memory_fetch(fe->mem, pc, phys, fe->cycle);
}

void pmu_frontend_fetch_slow(PmuFrontend *fe, const PmuBlock *block,
                             const PmuBlockInsn *bi, uint64_t pc,
                             uint32_t slots, uint64_t now)
{
    uint32_t fit = fe->legacy ? fe->room : fe->left;

    if (fe->looping) {
        fe->line = pc >> PMU_LINE_SHIFT;
        return;
    }
    bound_by_queue(fe, now);
    if (fit < slots || (pc >> PMU_LINE_SHIFT) != fe->line) {
        begin_line(fe, pc, insn_phys(block, bi), slots);
    }
    if (fe->legacy) {
        fe->room -= MIN(slots, fe->room);
        decode(fe, &bi->insn, pc);
    }
    microcode(fe, bi->insn.slots);
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
        bound_by_queue(fe, now);
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
