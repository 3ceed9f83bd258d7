/*
 * The log of executed blocks, which translated code writes and the timing model
 * reads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The model sees blocks after they ran: when the log is full or when counters
 * are checked.  Only then are their data addresses and branches known, and
 * how far the newest block got.
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/exec-all.h"
#include "exec/helper-proto.h"
#include "fpu/softfloat-helpers.h"
#include "pmu-internal.h"
#include "trace.h"

uint64_t x86_pmu_pc(const CPUX86State *env)
{
    return env->hflags & HF_CS64_MASK
           ? env->eip : (uint32_t)(env->eip + env->segs[R_CS].base);
}

/* Set @dynamic to what the newest record's block did. */
static void x86_pmu_dynamic(CPUX86State *env, PmuExecution *dynamic)
{
    const X86PMUState *pmu = &env->pmu;
    const PmuRecord *record = pmu->record;

    *dynamic = (PmuExecution) {
        .addr = record->addr, .pc = record->pc, .target = x86_pmu_pc(env),
        .backwards = env->df < 0, .iterations = 1,
    };
    dynamic->taken = dynamic->target != pmu_block_end(record->block,
                                                      record->pc);
    if (record->block->rep) {
        dynamic->rest = pmu_block_iterations_left(record->block,
                                                  env->regs[R_ECX]);
        dynamic->iterations =
            pmu->string ? pmu_block_iterations(record->block,
                                               pmu->string_count,
                                               env->regs[R_ECX]) : 0;
    }
}

/* Empty the log.  The next block finds no room, and asks the model. */
static void x86_pmu_log_reset(X86PMUState *pmu)
{
    pmu->record = NULL;
    pmu->next = pmu->log;
    pmu->unit->oldest = pmu->log;
    pmu->first = 0;
    pmu->cut = 0;
    pmu->string = false;
    pmu->room = -1;
}

void x86_pmu_run_older(X86PMUState *pmu)
{
    uint64_t *newest = (uint64_t *)pmu->record;

    if (unlikely(pmu->unit->mappings == PMU_MAPPINGS_STALE)) {
        x86_pmu_flush_model_tlbs(pmu->unit);
    }
    if (pmu->unit->oldest != newest) {
        pmu_timing_run_log(pmu->unit->timing, pmu->unit->oldest, newest,
                           pmu->record->pc);
        pmu->unit->oldest = newest;
    }
}

/* Run the model over the log, up to instruction @end of the newest block. */
static void x86_pmu_run_until(CPUX86State *env, unsigned end)
{
    X86PMUState *pmu = &env->pmu;
    PmuExecution dynamic;

    x86_pmu_run_older(pmu);
    x86_pmu_dynamic(env, &dynamic);
    if (end > pmu->first) {
        pmu_timing_run(pmu->unit->timing, pmu->record->block, pmu->first, end,
                       &dynamic);
        pmu->first = end;
    }
    pmu->room = -1;
}

/*
 * Run the model over iterations of a REP string instruction that has not
 * retired, as it has iterations to go.
 */
static void x86_pmu_run_string(CPUX86State *env)
{
    X86PMUState *pmu = &env->pmu;
    const PmuBlock *block = pmu->record->block;
    PmuExecution dynamic;

    x86_pmu_dynamic(env, &dynamic);
    if (dynamic.iterations) {
        pmu_timing_string(pmu->unit->timing, block, block->num_insns - 1,
                          &dynamic);
    }
}

/*
 * Run the model over the log if the newest block was left in its middle, or was
 * seen in part, or ends in a REP string instruction.
 */
static G_GNUC_NO_INLINE void x86_pmu_run_special(CPUX86State *env)
{
    X86PMUState *pmu = &env->pmu;
    const PmuBlock *block = pmu->record->block;

    if (pmu->cut > block->num_insns) {
        pmu->unit->repairs++;
        pmu->cut = block->num_insns;
    }
    x86_pmu_run_until(env, block->num_insns - pmu->cut);
    if (block->rep && pmu->string) {
        if (pmu->cut == 1) {
            x86_pmu_run_string(env);
        }
        x86_pmu_clock_string(pmu->unit,
                             pmu_block_iterations(block, pmu->string_count,
                                                  env->regs[R_ECX]));
    }
}

/* Trace it if the model has begun another sampling unit. */
static void x86_pmu_trace_sampling(X86PMU *unit)
{
    uint32_t units = pmu_timing_sampling_units(unit->timing);

    if (unlikely(units != unit->units_traced)) {
        unit->units_traced = units;
        trace_x86_pmu_sampling_unit(CPU(unit->cpu)->cpu_index, units,
                                    pmu_timing_progress(unit->timing));
    }
}

void x86_pmu_run(CPUX86State *env)
{
    X86PMUState *pmu = &env->pmu;
    X86PMU *unit = pmu->unit;

    if (unlikely(unit->mappings == PMU_MAPPINGS_STALE)) {
        x86_pmu_flush_model_tlbs(unit);
    }
    if (unlikely(pmu->first || pmu->cut || pmu->record->block->rep)) {
        x86_pmu_run_special(env);
    } else {
        pmu_timing_run_log(unit->timing, unit->oldest, pmu->next,
                           x86_pmu_pc(env));
    }
    if (unlikely(unit->mappings == PMU_MAPPINGS_STALE_AFTER_BLOCK)) {
        x86_pmu_flush_model_tlbs(unit);
    }
    x86_pmu_trace_sampling(unit);
    x86_pmu_log_reset(pmu);
}

/*
 * count: move to the ledger what translated code counted, except what the block
 * counted for @insn, an insn_start word, and the instructions behind it.
 */
static void x86_pmu_fold_counts(CPUX86State *env, uint64_t insn)
{
    X86PMUState *pmu = &env->pmu;
    X86PMU *unit = pmu->unit;
    PmuLevel current = x86_pmu_level(env);

    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        uint64_t *event = unit->ledger.event[level];
        bool partly = level == current &&
                      !FIELD_EX64(insn, X86_PMU_INSN, TIMING);
        unsigned ahead = partly ? FIELD_EX64(insn, X86_PMU_INSN, AHEAD) : 0;
        uint64_t branch = partly ? x86_pmu_branch_of(insn) : 0;
        uint64_t branches = pmu->branches[level] - branch;
        int64_t all = sextract64(branches, 0, X86_PMU_BRANCH_BITS);

        event[PMU_ITEM_INSTRUCTIONS] +=
            unit->granted[level] - pmu->budget[level] - ahead;
        event[PMU_ITEM_BRANCHES] += all;
        /* No counter that counts in this mode tells which way they went. */
        event[PMU_ITEM_BRANCHES_COND_NTAKEN] +=
            (int64_t)(branches - all) >> X86_PMU_BRANCH_BITS;
        unit->granted[level] = pmu->budget[level] + ahead;
        pmu->branches[level] = branch;
    }
}

void x86_pmu_run_all(CPUX86State *env, uint64_t insn)
{
    X86PMUState *pmu = &env->pmu;
    unsigned ahead = FIELD_EX64(insn, X86_PMU_INSN, AHEAD);

    if (pmu->counted && ahead) {
        x86_pmu_counted_open(env, ahead);
    }
    x86_pmu_counted_report(env);
    if (pmu->record) {
        if (ahead) {
            x86_pmu_run_until(env, pmu->record->block->num_insns - ahead);
        } else {
            x86_pmu_run(env);
        }
    }
    x86_pmu_fold_counts(env, insn);
}

/*
 * Progress (pmu_timing_progress()) that a block which is not slow is supposed
 * to make at most: two loads from DRAM, one after the other.  If blocks make
 * more, an interrupt comes later.
 */
#define BLOCK_PROGRESS 4096

/*
 * Words of the log that are used while vCPUs contend for lines, which change
 * hands where the model runs.  They hold some hundred cycles, as long as it
 * takes a line to come.
 */
#define CONTESTED_WORDS 64

/* Words that may be logged before the model must check for an overflow. */
static int32_t x86_pmu_log_room(const X86PMU *unit)
{
    uint64_t now = pmu_timing_progress(unit->timing);
    uint64_t blocks = (unit->check_at - MIN(now, unit->check_at)) /
                      BLOCK_PROGRESS;

    return MIN(blocks * PMU_RECORD_WORDS(0),
               pmu_timing_contested(unit->timing) ? CONTESTED_WORDS
                                                  : X86_PMU_LOG_WORDS);
}

void x86_pmu_log(CPUX86State *env, const PmuBlock *block, uint64_t pc)
{
    X86PMUState *pmu = &env->pmu;
    unsigned words = PMU_RECORD_WORDS(block->num_accesses);

    pmu->record = (PmuRecord *)pmu->log;
    pmu->record->block = block;
    pmu->record->pc = pc;
    /* Code in a device's memory has no known address: @phys is all ones. */
    if (unlikely((pc ^ block->phys) & ~TARGET_PAGE_MASK) &&
        block->phys != UINT64_MAX) {
        pmu->unit->repairs++;
    }
    pmu->next = pmu->log + words;
    if (x86_pmu_is_fast_forward(env)) {
        /*
         * One record at a time.  Translated code stores no addresses in it,
         * except those of a REP string instruction.
         */
        memset(pmu->record->addr, 0, block->num_accesses * sizeof(uint64_t));
        pmu->room = -1;
    } else {
        pmu->room = block->slow ? -1 : x86_pmu_log_room(pmu->unit) - words;
    }
}

/*
 * timing: @opaque, a PmuBlock, is about to run, and the log has no room for it.
 * Run the model over the log, and begin a record of the block.
 */
void helper_x86_pmu_enter(CPUX86State *env, const void *opaque)
{
    X86PMUState *pmu = &env->pmu;
    const PmuBlock *block = opaque;

    if (pmu->record) {
        x86_pmu_run(env);
    }
    x86_pmu_clock_catch_up(env, block);
    x86_pmu_renumber(env, block);
    if (unlikely(pmu_timing_progress(pmu->unit->timing) >=
                 pmu->unit->check_at) &&
        !block->uninterruptible) {
        x86_pmu_check(env, block->num_insns);
    }
    x86_pmu_choose(env, block);
    x86_pmu_log(env, block, x86_pmu_pc(env));
}

/*
 * timing, forward: an instruction that may take an assist has run, and flags of
 * denormal numbers are set.  Those set @before are not the instruction's own.
 * Move what the guest can see of the flags to MXCSR and clear them, so that the
 * flags of the next instruction show.
 */
void helper_x86_pmu_assist(CPUX86State *env, uint32_t before)
{
    X86PMUState *pmu = &env->pmu;
    uint32_t flags = get_float_exception_flags(&env->sse_status);

    update_mxcsr_from_sse_status(env);
    set_float_exception_flags(flags & ~X86_PMU_DENORMAL_FLAGS,
                              &env->sse_status);
    if (!(flags & ~before & X86_PMU_DENORMAL_FLAGS)) {
        return;
    }
    if (pmu->counted) {
        x86_pmu_counted_assist(env);
    } else if (pmu->record) {
        x86_pmu_run_older(pmu);
        pmu_timing_assist(pmu->unit->timing, pmu->record->block, false);
    }
}

void x86_pmu_log_init(CPUX86State *env)
{
    env->pmu.generation = X86_PMU_NO_GENERATION;
    x86_pmu_log_reset(&env->pmu);
}
