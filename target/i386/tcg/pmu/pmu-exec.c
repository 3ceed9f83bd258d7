/*
 * The PMU while the guest runs: from executed blocks to counters, and from
 * overflows to interrupts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, above the line.
 *
 * Blocks are accounted after they ran, when the log of them is full or when
 * somebody wants to know: only then their data addresses and branches are
 * known, and how far the newest one got.
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "accel/tcg/internal-common.h"
#include "cpu.h"
#include "exec/cpu-common.h"
#include "exec/exec-all.h"
#include "exec/helper-proto.h"
#include "accel/tcg/tb-context.h"
#include "fpu/softfloat-helpers.h"
#include "hw/i386/apic.h"
#include "system/cpu-timers.h"
#include "pmu-internal.h"
#include "trace.h"

/* How long instrumented code runs on after the last counter stopped. */
#define IDLE_INSTRUCTIONS (1 << 20)

/*
 * From this distance to an overflow on, the current level gets all of the
 * budget, and the first block at the other one looks again: until then each
 * gets half, so that a change of level costs nothing.
 */
#define SPLIT_BUDGET (1 << 16)

uint64_t x86_pmu_pc(const CPUX86State *env)
{
    return env->hflags & HF_CS64_MASK
           ? env->eip : (uint32_t)(env->eip + env->segs[R_CS].base);
}

/* What the newest block did. */
static void x86_pmu_dynamic(CPUX86State *env, PmuDynamic *dynamic)
{
    const X86PMUState *pmu = &env->pmu;
    const PmuRecord *record = pmu->record;

    dynamic->addr = record->addr;
    dynamic->pc = record->pc;
    dynamic->target = x86_pmu_pc(env);
    dynamic->taken = dynamic->target != pmu_block_end(record->block,
                                                      record->pc);
    dynamic->backwards = env->df < 0;
    dynamic->iterations = 1;
    dynamic->rest = 0;
    if (record->block->rep) {
        dynamic->rest = pmu_block_iterations_left(record->block,
                                                  env->regs[R_ECX]);
        dynamic->iterations =
            pmu->string ? pmu_block_iterations(record->block,
                                               pmu->string_count,
                                               env->regs[R_ECX]) : 0;
    }
}

static void x86_pmu_forget_mappings(X86PMU *unit)
{
    for (unsigned i = 0; i < unit->num_flushes; i++) {
        pmu_timing_flush_mappings(unit->timing, unit->flush[i].kind,
                                  unit->flush[i].linear);
    }
    unit->num_flushes = 0;
    unit->mappings = PMU_MAPPINGS_FRESH;
}

/*
 * The log is empty, and the next block to be entered says so.  The store pairs
 * with the load in x86_pmu_tr_oldest_generation(): descriptions were read
 * before it.
 */
static void x86_pmu_log_reset(X86PMUState *pmu)
{
    pmu->record = NULL;
    pmu->next = pmu->log;
    pmu->unit->oldest = pmu->log;
    pmu->first = 0;
    pmu->cut = 0;
    pmu->string = false;
    pmu->room = -1;
    qatomic_store_release(&pmu->generation, X86_PMU_NO_GENERATION);
}

/* Let the model see all blocks but the newest one. */
static void x86_pmu_run_older(X86PMUState *pmu)
{
    uint64_t *newest = (uint64_t *)pmu->record;

    if (pmu->unit->oldest != newest) {
        pmu_timing_run_log(pmu->unit->timing, pmu->unit->oldest, newest,
                           pmu->record->pc);
        pmu->unit->oldest = newest;
    }
}

/* ... and of that the instructions before @end. */
static void x86_pmu_run_until(CPUX86State *env, unsigned end)
{
    X86PMUState *pmu = &env->pmu;
    PmuDynamic dynamic;

    x86_pmu_run_older(pmu);
    x86_pmu_dynamic(env, &dynamic);
    if (end > pmu->first) {
        pmu_timing_run(pmu->unit->timing, pmu->record->block, pmu->first, end,
                       &dynamic);
        pmu->first = end;
    }
    pmu->room = -1;
}

/* A REP string instruction that has iterations to go has not retired. */
static void x86_pmu_run_string(CPUX86State *env)
{
    X86PMUState *pmu = &env->pmu;
    const PmuBlock *block = pmu->record->block;
    PmuDynamic dynamic;

    x86_pmu_dynamic(env, &dynamic);
    if (dynamic.iterations) {
        pmu_timing_string(pmu->unit->timing, block, block->num_insns - 1,
                          &dynamic);
    }
}

/* Let the model see the newest block, which was left in its middle. */
static G_GNUC_NO_INLINE void x86_pmu_run_special(CPUX86State *env)
{
    X86PMUState *pmu = &env->pmu;
    const PmuBlock *block = pmu->record->block;

    if (pmu->cut > block->num_insns) {
        pmu->unit->repairs++;
        pmu->cut = block->num_insns;
    }
    x86_pmu_run_until(env, block->num_insns - pmu->cut);
    if (block->rep && pmu->string && pmu->cut == 1) {
        x86_pmu_run_string(env);
    }
}

void x86_pmu_run(CPUX86State *env)
{
    X86PMUState *pmu = &env->pmu;
    X86PMU *unit = pmu->unit;

    if (unlikely(unit->mappings == PMU_MAPPINGS_STALE)) {
        x86_pmu_forget_mappings(unit);
    }
    if (unlikely(pmu->first || pmu->cut || pmu->record->block->rep)) {
        x86_pmu_run_special(env);
    } else {
        pmu_timing_run_log(unit->timing, unit->oldest, pmu->next,
                           x86_pmu_pc(env));
    }
    if (unlikely(unit->mappings == PMU_MAPPINGS_STALE_AFTER_BLOCK)) {
        x86_pmu_forget_mappings(unit);
    }
    if (unlikely(pmu->generation != qatomic_read(&tb_ctx.tb_flush_count))) {
        /* What was counted of these blocks is taken while they are there. */
        pmu_timing_collect(unit->timing);
    }
    x86_pmu_log_reset(pmu);
}

/* Move what translated code counted, but for the block's rest, to the ledger */
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
        bool branch = partly && FIELD_EX64(insn, X86_PMU_INSN, BRANCH);

        event[PMU_ITEM_INSTRUCTIONS] +=
            unit->granted[level] - pmu->budget[level] - ahead;
        event[PMU_ITEM_BRANCHES] += pmu->branches[level] - branch;
        unit->granted[level] = pmu->budget[level] + ahead;
        pmu->branches[level] = branch;
    }
}

/* The linear address of @block's first byte, now that its last @ahead run. */
static uint64_t x86_pmu_begin_of(const CPUX86State *env, const PmuBlock *block,
                                 unsigned ahead)
{
    return x86_pmu_pc(env) - block->insns[block->num_insns - ahead].offset;
}

/* Let the model see all that ran before the instruction of @insn. */
static void x86_pmu_run_all(CPUX86State *env, uint64_t insn)
{
    X86PMUState *pmu = &env->pmu;
    unsigned ahead = FIELD_EX64(insn, X86_PMU_INSN, AHEAD);

    if (pmu->counted && ahead) {
        x86_pmu_forward_open(env, x86_pmu_begin_of(env, pmu->counted, ahead));
    }
    x86_pmu_forward_pass(env);
    if (pmu->record) {
        if (ahead) {
            x86_pmu_run_until(env, pmu->record->block->num_insns - ahead);
        } else {
            x86_pmu_run(env);
        }
    }
    x86_pmu_fold_counts(env, insn);
}

/* Let the counters see the ledger. */
static void x86_pmu_settle(X86PMU *unit)
{
    PmuLedgerSnapshot now;

    pmu_ledger_snapshot(&unit->ledger, &now);
    perfmon_settle(&unit->perfmon, &now);
    if (unlikely(x86_pmu_repairs(unit) && !unit->repairs_told)) {
        unit->repairs_told = true;
        trace_x86_pmu_repairs(CPU(unit->cpu)->cpu_index,
                              x86_pmu_repairs(unit));
    }
}

void x86_pmu_sync(CPUX86State *env, uint64_t insn)
{
    X86PMU *unit = env->pmu.unit;

    x86_pmu_run_all(env, insn);
    pmu_timing_flush(unit->timing);
    x86_pmu_settle(unit);
}

void x86_pmu_peek(CPUX86State *env, PmuLedger *ledger, Perfmon *perfmon)
{
    X86PMU *unit = env->pmu.unit;
    PmuLedgerSnapshot now;

    x86_pmu_run_all(env, 0);
    pmu_timing_peek(unit->timing, ledger);
    *perfmon = unit->perfmon;
    pmu_ledger_snapshot(ledger, &now);
    perfmon_settle(perfmon, &now);
}

/*
 * The same for a look at whether a counter overflows, which is taken when a
 * budget is used up: that depends on how code is cut into blocks.
 */
static void x86_pmu_look(CPUX86State *env)
{
    X86PMU *unit = env->pmu.unit;
    PerfmonSlack slack;

    x86_pmu_run_all(env, 0);
    perfmon_slack(&unit->perfmon, &slack);
    if (MIN(slack.any, MIN(slack.cycles, slack.slots)) != UINT64_MAX) {
        pmu_timing_flush(unit->timing);
    } else {
        pmu_timing_flush_observed(unit->timing);
    }
    x86_pmu_settle(unit);
}

/*
 * The hflags bits for @demand.  When nothing counts any more the bits stay
 * for a while: a driver stops and starts all counters around each interrupt
 * and each context switch, and a change of bits means other translated code.
 */
static uint32_t x86_pmu_hflags(const CPUX86State *env,
                               const PerfmonDemand *demand,
                               const PerfmonSlack *slack)
{
    if (demand->timing) {
        return x86_pmu_is_forward(env) ? HF_PMU_FORWARD : HF_PMU_MASK;
    }
    if (MIN(slack->instructions, slack->branches) != UINT64_MAX) {
        /* The instruction that overflows can be the one that leaves CPL. */
        return HF_PMU_OS_MASK | HF_PMU_USR_MASK;
    }
    return (demand->level[PMU_LEVEL_OS] ? HF_PMU_OS_MASK : 0) |
           (demand->level[PMU_LEVEL_USR] ? HF_PMU_USR_MASK : 0);
}

/*
 * Slots until somebody must look whether a counter of what the model estimates
 * overflows.  Nothing grows faster than PMU_TIMING_ITEM_RATE, but most that is
 * worth an interrupt is a hundred times as rare: half of the way that it takes
 * for these then.  Should they become more frequent just there, the interrupt
 * is late by so many slots at most.
 */
#define LOOK_AHEAD (1 << 14)

/*
 * The same for slots and cycles.  How far it is to their overflow is known;
 * that pmu_timing_progress() counts instructions as well leaves room for its
 * being an estimate.  Each look finds a part of the way left that the one
 * before it found, and in the last part each block has one.
 */
#define LAST_SLOTS 64

static uint64_t x86_pmu_distance_slots(const X86PMU *unit,
                                       const PerfmonSlack *slack)
{
    uint64_t cycles = MIN(slack->cycles, INT64_MAX / PMU_LEDGER_MAX_WIDTH);
    uint64_t distance = MIN(slack->slots, cycles * unit->uarch.width);

    return distance - MIN(distance, LAST_SLOTS);
}

static uint64_t x86_pmu_distance_any(const PerfmonSlack *slack)
{
    return MAX(slack->any / PMU_TIMING_ITEM_RATE,
               MIN(slack->expected / 2, LOOK_AHEAD));
}

/* The same for what is counted exactly, instruction by instruction. */
static uint64_t x86_pmu_distance_exact(const PerfmonSlack *slack)
{
    uint64_t distance = MIN(slack->branches / PMU_TIMING_ITEM_RATE,
                            slack->instructions);

    /* A block and the one before it may run between two checks. */
    return distance - MIN(distance, 2 * PMU_BLOCK_INSNS);
}

static void x86_pmu_arm_timing(X86PMU *unit, const PerfmonSlack *slack)
{
    uint64_t distance = MIN(x86_pmu_distance_slots(unit, slack),
                            x86_pmu_distance_any(slack));

    distance = MIN(distance, x86_pmu_distance_exact(slack));
    if (unit->idle) {
        distance = MIN(distance, IDLE_INSTRUCTIONS);
    }
    distance = MIN(distance, INT64_MAX);
    unit->check_at = pmu_timing_progress(unit->timing) + distance;
    unit->forward_distance = 0;
    unit->cpu->env.pmu.room = -1;
}

static void x86_pmu_arm_counts(CPUX86State *env, const PerfmonSlack *slack,
                               unsigned ahead, unsigned need)
{
    X86PMU *unit = env->pmu.unit;
    PmuLevel current = x86_pmu_level(env);
    bool near = MIN(slack->instructions, slack->branches) <= SPLIT_BUDGET;

    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        uint64_t exact = MIN(slack->instructions_level[level], INT64_MAX / 4);
        uint64_t budget = MIN(exact, slack->branches);

        if (unit->idle) {
            budget = MIN(budget, IDLE_INSTRUCTIONS);
        } else if (near && level != current) {
            budget = 0;
        } else if (budget > SPLIT_BUDGET) {
            budget /= 2;
        } else {
            /* A block has one branch at most, its last instruction. */
            budget = MIN(exact, MAX(budget, need));
        }
        unit->granted[level] = budget;
        env->pmu.budget[level] = budget - (level == current ? ahead : 0);
    }
}

static void x86_pmu_arm_all(CPUX86State *env, uint64_t insn, unsigned need,
                            const PerfmonSlack *slack)
{
    X86PMU *unit = env->pmu.unit;
    PerfmonDemand demand = perfmon_demand(&unit->perfmon);
    uint32_t hflags = x86_pmu_hflags(env, &demand, slack);
    bool timing = FIELD_EX64(insn, X86_PMU_INSN, TIMING);

    x86_pmu_forward_stop(env);
    unit->idle = !hflags;
    if (hflags) {
        /* A driver that stops all counters for a while wants the same then. */
        pmu_timing_set_interest(unit->timing, demand.interest);
        env->hflags = (env->hflags & ~HF_PMU_MASK) | hflags;
    }
    x86_pmu_arm_counts(env, slack,
                       timing ? 0 : FIELD_EX64(insn, X86_PMU_INSN, AHEAD),
                       need);
    if (unit->perfmon.pmi) {
        /* Come back at the next block's entry. */
        unit->check_at = 0;
        env->pmu.budget[x86_pmu_level(env)] -=
            unit->granted[x86_pmu_level(env)];
        unit->granted[x86_pmu_level(env)] = 0;
    }
}

void x86_pmu_arm(CPUX86State *env, uint64_t insn, unsigned need)
{
    X86PMU *unit = env->pmu.unit;
    PerfmonSlack slack;

    perfmon_note_pace(&unit->perfmon);
    perfmon_slack(&unit->perfmon, &slack);
    x86_pmu_arm_timing(unit, &slack);
    x86_pmu_arm_all(env, insn, need, &slack);
}

bool x86_pmu_deliver(CPUX86State *env)
{
    X86PMU *unit = env->pmu.unit;

    if (!unit->perfmon.pmi) {
        return false;
    }
    unit->perfmon.pmi = false;
    trace_x86_pmu_pmi(env_cpu(env)->cpu_index, unit->perfmon.global_status);
    if (unit->cpu->apic_state) {
        bql_lock();
        apic_deliver_pmi(unit->cpu->apic_state);
        bql_unlock();
    }
    return true;
}

G_NORETURN void x86_pmu_leave(CPUX86State *env, unsigned num_insns,
                              unsigned run)
{
    CPUState *cs = env_cpu(env);
    uint32_t cflags = curr_cflags(cs);

    if (icount_enabled()) {
        /* gen_tb_start() has taken them off already. */
        cs->neg.icount_decr.u16.low += num_insns;
    }
    if (run && !(cflags & CF_COUNT_MASK)) {
        cs->cflags_next_tb = cflags | run;
    }
    cpu_loop_exit(cs);
}

/* Stop running instrumented code if nothing has counted for long. */
static bool x86_pmu_retire_idle(CPUX86State *env)
{
    if (!env->pmu.unit->idle) {
        return false;
    }
    env->hflags &= ~HF_PMU_MASK;
    return true;
}

void x86_pmu_check(CPUX86State *env, unsigned num_insns)
{
    X86PMU *unit = env->pmu.unit;
    bool interrupt;
    PerfmonSlack slack;

    x86_pmu_look(env);
    interrupt = x86_pmu_deliver(env);
    if (x86_pmu_retire_idle(env)) {
        x86_pmu_leave(env, num_insns, 0);
    }
    x86_pmu_arm(env, 0, num_insns);
    if (interrupt) {
        x86_pmu_leave(env, num_insns, 0);
    }
    perfmon_slack(&unit->perfmon, &slack);
    if (slack.instructions_level[x86_pmu_level(env)] < num_insns) {
        x86_pmu_leave(env, num_insns,
                      slack.instructions_level[x86_pmu_level(env)]);
    }
}

/* count: the next block does not fit into the budget. */
void helper_x86_pmu_expired(CPUX86State *env, uint32_t num_insns)
{
    x86_pmu_check(env, num_insns);
    x86_pmu_leave(env, num_insns, 0);
}

/*
 * Words that can be logged before the model has to look whether an overflow is
 * near.  A block is supposed to take that many slots at most, which is two
 * loads from DRAM one after the other; more make an interrupt come later.
 */
#define BLOCK_PROGRESS 4096

/*
 * The same while vCPUs contend for lines, which change hands where the model
 * runs: some hundred cycles, as long as it takes a line to come.
 */
#define CONTESTED_WORDS 64

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
    pmu->next = pmu->log + words;
    qatomic_set(&pmu->generation, block->generation);
    if (x86_pmu_is_forward(env)) {
        /* One at a time; addresses are not stored, nor looked at. */
        memset(pmu->record->addr, 0, block->num_accesses * sizeof(uint64_t));
        pmu->unit->forward_distance -= block->num_insns;
        pmu->room = -1;
    } else {
        pmu->room = x86_pmu_log_room(pmu->unit) - words;
    }
}

/* timing: @opaque, a PmuBlock, is about to run, and the log has no room. */
void helper_x86_pmu_enter(CPUX86State *env, const void *opaque)
{
    X86PMUState *pmu = &env->pmu;
    const PmuBlock *block = opaque;

    if (pmu->record) {
        x86_pmu_run(env);
    }
    x86_pmu_forward_renumber(pmu->unit, block);
    if (unlikely(pmu_timing_progress(pmu->unit->timing) >=
                 pmu->unit->check_at) &&
        !block->uninterruptible) {
        x86_pmu_check(env, block->num_insns);
    }
    x86_pmu_choose(env, block);
    x86_pmu_log(env, block, x86_pmu_pc(env));
}

/*
 * timing, forward: an instruction that may take an assist has run, and there
 * are flags of denormal numbers; those @before are not its own.  What the guest
 * can see of them is in MXCSR from now on, so that the next one's show.
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
        pmu_timing_assist(pmu->unit->timing, pmu->counted, true);
    } else if (pmu->record) {
        x86_pmu_run_older(pmu);
        pmu_timing_assist(pmu->unit->timing, pmu->record->block, false);
    }
}

void x86_pmu_unwind(CPUX86State *env, const TranslationBlock *tb,
                    uint64_t data)
{
    X86PMUState *pmu = &env->pmu;
    unsigned ahead = FIELD_EX64(data, X86_PMU_INSN, AHEAD);

    if (!ahead) {
        return;
    }
    if (FIELD_EX64(data, X86_PMU_INSN, TIMING)) {
        if (pmu->counted) {
            x86_pmu_forward_open(env, 0);
        }
        pmu->cut = ahead;
        pmu->room = -1;
    } else {
        PmuLevel level = tb->flags & HF_CPL_MASK ? PMU_LEVEL_USR
                                                 : PMU_LEVEL_OS;
        pmu->budget[level] += ahead;
        pmu->branches[level] -= FIELD_EX64(data, X86_PMU_INSN, BRANCH);
    }
}

/* Take back, or count again, the instruction that ends the current block. */
static void x86_pmu_recount_last(CPUX86State *env, PmuLevel level, int count,
                                 int branches)
{
    X86PMUState *pmu = &env->pmu;

    if (pmu->counted) {
        x86_pmu_forward_open(env, 0);
    }
    if (pmu->record) {
        pmu->cut -= count;
        pmu->room = -1;
    } else if (!(env->hflags & HF_PMU_TIMING_MASK) &&
               (env->hflags & (level == PMU_LEVEL_OS ? HF_PMU_OS_MASK
                                                     : HF_PMU_USR_MASK))) {
        pmu->budget[level] -= count;
        pmu->branches[level] += branches;
    }
}

void x86_pmu_unretire(CPUX86State *env)
{
    if (env->pmu.unit) {
        x86_pmu_recount_last(env, x86_pmu_level(env), -1, 0);
    }
}

void x86_pmu_divert(CPUX86State *env)
{
    X86PMUState *pmu = &env->pmu;

    if (!pmu->unit || !(env->hflags & HF_PMU_TIMING_MASK)) {
        return;
    }
    x86_pmu_forward_pass(env);
    if (pmu->record) {
        x86_pmu_run(env);
    }
    pmu_timing_interrupt(pmu->unit->timing);
}

void x86_pmu_interrupt(CPUX86State *env, bool is_int)
{
    X86PMUState *pmu = &env->pmu;

    if (!pmu->unit) {
        return;
    }
    if (is_int) {
        pmu->unit->int_level = x86_pmu_level(env);
        x86_pmu_recount_last(env, pmu->unit->int_level, -1, -1);
    } else {
        x86_pmu_divert(env);
    }
}

void x86_pmu_interrupt_done(CPUX86State *env, bool is_int)
{
    if (env->pmu.unit && is_int) {
        x86_pmu_recount_last(env, env->pmu.unit->int_level, 1, 1);
    }
}

/* Between two blocks: interrupt at once if an overflow asks for it. */
static void x86_pmu_poll(CPUX86State *env)
{
    if (env->pmu.unit && (env->hflags & HF_PMU_MASK)) {
        x86_pmu_look(env);
        x86_pmu_deliver(env);
        x86_pmu_arm(env, 0, 0);
    }
}

void x86_pmu_halt(CPUX86State *env)
{
    x86_pmu_poll(env);
}

/*
 * A block of exact length that has not run yet: if it is still due when the
 * execution loop is entered again, x86_pmu_check() will ask for it again; but a
 * debugger that steps, for one, needs a block of another kind by then.
 */
static void x86_pmu_drop_exact_block(CPUState *cs)
{
    if (!(cs->cflags_next_tb & CF_NOIRQ)) {
        cs->cflags_next_tb = -1;
    }
}

/*
 * Would the next block's prologue look whether a counter overflows?  The counts
 * of translated code are the same whenever somebody looks; the model's
 * estimates are settled by a look, so that one more changes them.
 */
static bool x86_pmu_look_is_due(const CPUX86State *env)
{
    const X86PMU *unit = env->pmu.unit;

    return !(env->hflags & HF_PMU_TIMING_MASK) ||
           pmu_timing_progress(unit->timing) >= unit->check_at;
}

void x86_pmu_exec_exit(CPUX86State *env)
{
    if (!env->pmu.unit) {
        return;
    }
    x86_pmu_drop_exact_block(env_cpu(env));
    /*
     * Translated code may go away now: see x86_pmu_forward_renumber().  A vCPU
     * that sleeps keeps no descriptions from being freed.
     */
    x86_pmu_forward_stop(env);
    if (env->pmu.record) {
        x86_pmu_run(env);
    }
    env->pmu.room = -1;
    pmu_timing_collect(env->pmu.unit->timing);
    if (icount_enabled() && x86_pmu_look_is_due(env)) {
        x86_pmu_poll(env);
    }
}

static void x86_pmu_flush(CPUX86State *env, PmuFlush kind, uint64_t linear)
{
    X86PMUState *pmu = &env->pmu;
    X86PMU *unit = pmu->unit;

    if (!unit) {
        return;
    }
    if (unit->num_flushes == X86_PMU_FLUSHES) {
        /* Nothing is logged, so that nobody counts them either. */
        unit->num_flushes = 0;
        kind = PMU_FLUSH_ALL;
    }
    unit->flush[unit->num_flushes++] = (X86PMUFlush) { kind, linear };
    unit->mappings = PMU_MAPPINGS_STALE;
    if (pmu->record) {
        x86_pmu_run_older(pmu);
        unit->mappings = PMU_MAPPINGS_STALE_AFTER_BLOCK;
        pmu->room = -1;
    }
}

void x86_pmu_flush_all(CPUX86State *env)
{
    x86_pmu_flush(env, PMU_FLUSH_ALL, 0);
}

void x86_pmu_flush_context(CPUX86State *env)
{
    x86_pmu_flush(env, env->cr[4] & CR4_PGE_MASK ? PMU_FLUSH_LOCAL
                                                 : PMU_FLUSH_ALL, 0);
}

void x86_pmu_flush_cr0(CPUX86State *env, uint32_t value)
{
    if ((env->cr[0] ^ value) & CR0_PG_MASK) {
        x86_pmu_flush_all(env);
    }
}

void x86_pmu_flush_efer(CPUX86State *env, uint64_t value)
{
    if ((env->efer ^ value) & (MSR_EFER_LME | MSR_EFER_LMA | MSR_EFER_NXE)) {
        x86_pmu_flush_all(env);
    }
}

static void x86_pmu_flush_on_cpu(CPUState *cs, run_on_cpu_data data)
{
    x86_pmu_flush_all(cpu_env(cs));
}

void x86_pmu_flush_a20(X86CPU *cpu)
{
    if (cpu->env.pmu.unit) {
        async_run_on_cpu(CPU(cpu), x86_pmu_flush_on_cpu, RUN_ON_CPU_NULL);
    }
}

void x86_pmu_flush_page(CPUX86State *env, uint64_t linear)
{
    x86_pmu_flush(env, PMU_FLUSH_PAGE, linear);
}

void x86_pmu_log_init(CPUX86State *env)
{
    x86_pmu_log_reset(&env->pmu);
}
