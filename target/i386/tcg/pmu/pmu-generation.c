/*
 * Generations of translated code: when code is thrown away, the descriptions of
 * its blocks are freed.
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
 * QEMU throws translated code away all at once, when all vCPUs have left it.
 * The numbers of its blocks are then used again.
 */
uint32_t x86_pmu_block_number(uint64_t generation)
{
    /* Low 32 bits of the generation, above the number that was given last. */
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
 * The oldest generation of code that a vCPU may still have records or
 * uncollected counts of; @generation if there is none.
 *
 * The load pairs with the stores in x86_pmu_collect() and x86_pmu_renumber().
 * If it finds that a vCPU has left a generation, this vCPU has done all its
 * reads of the descriptions, which can be freed.  No vCPU can begin to log or
 * count code of an older generation later: all vCPUs stop for the flush that
 * ends it.
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

/* End generation @data by throwing code away, unless another vCPU has. */
static void x86_pmu_flush_code(CPUState *cs, run_on_cpu_data data)
{
    if (qatomic_read(&tb_ctx.tb_flush_count) == data.target_ptr) {
        tb_flush(cs);
    }
}

/* @cs translates its first block of @generation: free what nobody needs. */
static void x86_pmu_next_generation(X86PMU *unit, CPUState *cs,
                                    uint64_t generation)
{
    uint64_t oldest;

    if (!cpu_env(cs)->pmu.record) {
        /* Else what this vCPU counted would keep older descriptions alive. */
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
