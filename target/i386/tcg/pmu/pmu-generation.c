/*
 * Generations of translated code: what is known of its blocks goes with it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See arena.h.
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "accel/tcg/tb-context.h"
#include "exec/tb-flush.h"
#include "trace.h"
#include "pmu-internal.h"

/*
 * Translated code is thrown away all at once, when all vCPUs have left it, and
 * numbers are used again.
 */
uint32_t x86_pmu_block_number(uint64_t generation)
{
    /* The generation, 32 bits of it, and the next number. */
    static uint64_t last;
    uint64_t now = qatomic_read(&last), next, seen;

    for (;; now = seen) {
        next = now >> 32 == (uint32_t)generation ? now + 1
                                                 : generation << 32;
        seen = qatomic_cmpxchg(&last, now, next);
        if (seen == now) {
            return next;
        }
    }
}

/*
 * The oldest generation of code that a vCPU may still have records of, or
 * counts that it did not collect; @generation if there is none.  The load pairs
 * with the stores in x86_pmu_collect() and x86_pmu_renumber(): where it finds
 * that a vCPU has none of a generation any more, that has done all its reads of
 * descriptions, which can be freed.  A vCPU that logs or counts code of an
 * older generation began that before the flush that ends it, for which all
 * vCPUs stop.
 */
static uint64_t x86_pmu_oldest_generation(uint64_t generation)
{
    CPUState *cs;

    CPU_FOREACH(cs) {
        X86PMUState *pmu = &cpu_env(cs)->pmu;

        if (pmu->unit) {
            generation = MIN(generation,
                             qatomic_load_acquire(&pmu->generation));
        }
    }
    return generation;
}

/* Unless another vCPU had the same wish: @data is the generation to end. */
static void x86_pmu_flush_code(CPUState *cs, run_on_cpu_data data)
{
    if (qatomic_read(&tb_ctx.tb_flush_count) == data.target_ptr) {
        tb_flush(cs);
    }
}

static void x86_pmu_next_generation(X86PMU *unit, CPUState *cs,
                                    uint64_t generation)
{
    uint64_t oldest;

    if (!cpu_env(cs)->pmu.record) {
        /* What this vCPU counted of older code must not hold that back. */
        x86_pmu_collect(cpu_env(cs));
    }
    oldest = x86_pmu_oldest_generation(generation);
    pmu_block_pool_begin_generation(&unit->blocks, generation, oldest);
    pmu_decoder_begin_generation(unit->decoder, generation, oldest);
    unit->flush_asked = false;
    trace_x86_pmu_generation(cs->cpu_index, generation, oldest,
                             unit->blocks.arena.bytes);
}

void x86_pmu_begin_generation(X86PMU *unit, CPUState *cs)
{
    uint64_t generation = qatomic_read(&tb_ctx.tb_flush_count);

    if (generation != unit->blocks.generation) {
        x86_pmu_next_generation(unit, cs, generation);
    }
    if (!unit->flush_asked && (pmu_block_pool_is_full(&unit->blocks) ||
                               pmu_decoder_is_full(unit->decoder))) {
        unit->flush_asked = true;
        async_safe_run_on_cpu(cs, x86_pmu_flush_code,
                              RUN_ON_CPU_TARGET_PTR(generation));
    }
}
