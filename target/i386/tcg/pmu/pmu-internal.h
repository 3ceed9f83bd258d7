/*
 * One vCPU's performance-monitoring unit, as pmu-*.c see it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * X86PMU joins the register file, the ledger and the timing model with the
 * vCPU.
 */

#ifndef TARGET_I386_PMU_INTERNAL_H
#define TARGET_I386_PMU_INTERNAL_H

#include "cpu.h"
#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/block-pool.h"
#include "tcg/pmu/decode/decoder.h"
#include "tcg/pmu/check/check-memory.h"
#include "tcg/pmu/check/check-types.h"
#include "tcg/pmu/events/events.h"
#include "tcg/pmu/perfmon/perfmon.h"
#include "pmu.h"
#include "tcg/pmu/sampling/block-runs.h"
#include "tcg/pmu/ledger/saved-ledger.h"
#include "tcg/pmu/sampling/timing.h"
#include "tcg/pmu/uarch/uarch-params.h"

QEMU_BUILD_BUG_ON(X86_PMU_LEVELS != PMU_LEVEL_NR);
QEMU_BUILD_BUG_ON(X86_PMU_PARAMS != PMU_UARCH_PARAMS);

/* The third insn_start word of an instrumented instruction. */
FIELD(X86_PMU_INSN, AHEAD, 0, 10)       /* instructions from it to the end */
FIELD(X86_PMU_INSN, BRANCH, 10, 1)      /* the block ends in a branch */
FIELD(X86_PMU_INSN, TIMING, 11, 1)      /* translated for timing or forward */
FIELD(X86_PMU_INSN, COND, 12, 1)        /* the branch is a conditional one */

/*
 * X86PMUState.branches holds two numbers.  The lowest bits are all branches, as
 * a signed number, because one is taken back while an interrupt is delivered.
 * The bits above are the conditional branches.  The budget keeps the number of
 * instructions between two folds (x86_pmu_fold_counts()) below what fits.
 */
#define X86_PMU_BRANCH_BITS 30
#define X86_PMU_MAX_BUDGET  (1 << (X86_PMU_BRANCH_BITS - 2))

/* What a branch adds to X86PMUState.branches. */
static inline uint64_t x86_pmu_branch(bool conditional)
{
    return 1 | (uint64_t)conditional << X86_PMU_BRANCH_BITS;
}

/* The same for the block of the insn_start word @insn; 0 without a branch. */
static inline uint64_t x86_pmu_branch_of(uint64_t insn)
{
    return FIELD_EX64(insn, X86_PMU_INSN, BRANCH)
           ? x86_pmu_branch(FIELD_EX64(insn, X86_PMU_INSN, COND)) : 0;
}

/* Do the model's TLBs hold mappings that the guest has changed since? */
typedef enum PmuMappings {
    PMU_MAPPINGS_FRESH,         /* no */
    PMU_MAPPINGS_STALE,         /* flush before the next record runs */
    PMU_MAPPINGS_STALE_AFTER_BLOCK, /* flush behind the newest record, whose
                                       accesses were made by X86PMU.paging */
} PmuMappings;

/*
 * The bits of hflags that choose instrumentation: see X86PMUState.  All three
 * mean timing, HF_PMU_TIMING_MASK alone means forward.
 */
#define HF_PMU_MASK (HF_PMU_OS_MASK | HF_PMU_USR_MASK | HF_PMU_TIMING_MASK)
#define HF_PMU_FAST_FORWARD HF_PMU_TIMING_MASK

/* Flags that an instruction which takes an assist leaves in sse_status. */
#define X86_PMU_DENORMAL_FLAGS \
    (float_flag_input_denormal_used | float_flag_underflow)

/* TLB flushes that can be pending; if more come, all mappings are flushed. */
#define X86_PMU_FLUSHES 8

typedef struct X86PMUFlush {
    PmuTlbFlush kind;
    uint64_t linear;
} X86PMUFlush;

/* A set of page tables: CR3, and PG_MODE_x. */
typedef struct X86PMUTables {
    uint64_t root;
    int mode;
} X86PMUTables;

/* All that decides how linear addresses are translated. */
typedef struct X86PMUPaging {
    X86PMUTables guest;
    X86PMUTables nested;        /* of SVM guests, if @is_nested */
    bool is_nested;
    bool is_long;               /* IA32_EFER.LMA */
    bool has_global;            /* CR4.PGE */
    uint64_t a20_mask;
    MemTxAttrs attrs;
} X86PMUPaging;

/* Traces, recorder and checker of one vCPU: pmu-observe.h */
typedef struct X86PMUObserver X86PMUObserver;

/* Faults on demand, as they migrate: pmu-fault.h */
typedef struct X86PMUSavedFaults X86PMUSavedFaults;

struct X86PMU {
    X86CPU *cpu;
    X86PMUObserver *observer;   /* NULL: none */
    GPtrArray *faults;          /* of X86PMUFault; NULL: none */
    uint32_t fault_msr, fault_before;   /* MSRs of the last two accesses */
    uint64_t fault_held;        /* instructions until a late interrupt */
    bool fault_released;        /* the interrupt is one that no fault changes */
    unsigned fault_asked;       /* FAULT_ASKS_x of pmu-fault.h */
    /* Instructions of the block that waits to run; icount includes them. */
    unsigned waiting;
    bool is_clock;              /* its cycles are the machine's time */
    uint32_t clock_iterations;  /* since x86_pmu_clock_request_update() */
    uint64_t resumes_until;     /* x86_pmu_may_resume() up to this progress */
    bool masks_lvt;             /* a PMI masks its LVT entry */
    bool misc_enable;           /* IA32_MISC_ENABLE[7] announces the unit */
    bool has_rdpmc;
    Perfmon perfmon;
    PerfmonEventRates rates;    /* how fast events of @perfmon count */
    PmuLedger ledger;
    /* State as it migrates: what arrives is checked before it is used. */
    struct {
        Perfmon perfmon;
        PmuSavedLedger *ledger; /* NULL: not allocated yet */
        X86PMUSavedFaults *faults;      /* NULL: not allocated yet */
        PmuCheckMemory check;
        bool check_arrived;     /* @check was loaded */
        int64_t clock_ran;      /* icount_model_ran(), ns; -1: not the clock */
    } migrated;
    PmuUarch uarch;             /* the core, as changed by properties */
    PmuTiming *timing;
    PmuL3 *l3;                  /* of @timing; other vCPUs may share it */
    /* The caches of @uarch for CPUID. */
    CPUCacheInfo l1d_info, l1i_info, l2_info, l3_info;

    /* count: the budget, by level, as of the last fold or x86_pmu_arm() */
    int64_t granted[PMU_LEVEL_NR];
    /* timing: check counters when pmu_timing_progress() gets here */
    uint64_t check_at;
    /* timing: the generation of code whose blocks the numbers stand for now */
    uint64_t counted_generation;
    /* forward: pmu_left_progress(X86PMUState.left) when the model last knew */
    int64_t granted_progress;
    /* timing: the oldest record in the log that the model has not seen */
    uint64_t *oldest;
    /* Whether the linear to physical mappings in the model's TLBs hold. */
    PmuMappings mappings;
    X86PMUPaging paging;        /* with PMU_MAPPINGS_STALE_AFTER_BLOCK */
    unsigned num_flushes;
    X86PMUFlush flush[X86_PMU_FLUSHES];
    /* The event that is being delivered: the level that it interrupts. */
    PmuLevel interrupted_level;
    PmuLedgerItem delivered;    /* where it counts; 0: as an instruction */
    bool injected;              /* VMRUN is about to deliver INT n */
    uint64_t deliveries_left;   /* until a counter of them may overflow */
    /* The texts that were logged with LOG_UNIMP, each once: a set. */
    GHashTable *logged;
    /* Nothing counts, but instrumented code still runs: see x86_pmu_arm(). */
    bool idle;

    /* Translation, on the vCPU's thread: decoder and the block in the making */
    PmuDecoder *decoder;
    PmuBlockBuilder *scratch;
    bool decoding;              /* an instruction that @scratch lacks yet */
    bool flush_asked;           /* it asked to end this generation of code */
    PmuBlockPool blocks;
    uint64_t repairs;           /* of log and blocks: pmu_timing_repairs() */
    bool repairs_traced;        /* a trace has told of repairs */
    uint32_t units_traced;      /* pmu_timing_sampling_units() when traced */
};

/* The privilege level that counters see. */
static inline PmuLevel x86_pmu_level(const CPUX86State *env)
{
    return env->hflags & HF_CPL_MASK ? PMU_LEVEL_USR : PMU_LEVEL_OS;
}

/* Properties that change the core: pmu-uarch.c */

/*
 * Set @uarch to the parameters of @core with the changes that properties of
 * @cpu ask for.  False and @errp set if these contradict each other.
 */
bool x86_pmu_uarch(X86CPU *cpu, PmuCore core, PmuUarch *uarch, Error **errp);

/*
 * Does @unit's core describe instructions as the cores of other vCPUs with a
 * PMU do?  Else false, and @errp is set.
 */
bool x86_pmu_check_code(X86PMU *unit, Error **errp);

/*
 * Check that no property of @cpu changes the core, asks for observers or
 * changes registers.  Else false and @errp set: the property needs @needs.
 */
bool x86_pmu_check_unchanged(X86CPU *cpu, const char *needs, Error **errp);

/* Other registers than the core's own: pmu-what-if.c */

void x86_pmu_what_if_class_init(ObjectClass *oc);

/*
 * Change @config as properties of @cpu ask for, and fill in what they alone
 * decide.  @config has the core, its capabilities and what depends on them.
 * False and @errp set if the properties contradict that or each other.
 */
bool x86_pmu_what_if(X86CPU *cpu, PerfmonConfig *config, Error **errp);

/* Does the profile of @cpu have IA32_A_PMCx? */
bool x86_pmu_profile_has_full_width(X86CPU *cpu);

/* Check that no property changes registers; else false: it needs @needs. */
bool x86_pmu_check_own(X86CPU *cpu, const char *needs, Error **errp);

/* The machine's clock: pmu-clock.c */

/*
 * Can @cpu be part of this machine's time?  False and @errp set if that is of
 * the model, and @cpu has no unit or is hotplugged.
 */
bool x86_pmu_clock_check(X86CPU *cpu, bool has_unit, Error **errp);

/* If the machine's time is that of the model, make @unit's part of it. */
void x86_pmu_clock_attach(X86PMU *unit);
void x86_pmu_clock_detach(X86PMU *unit);

/*
 * Set migrated.clock_ran, which migrates with the ledger.  False if @unit must
 * not be saved, in record or replay: caches and predictors start cold when it
 * is loaded, so a replay from there on would have another time than recorded.
 */
bool x86_pmu_clock_save(X86PMU *unit);

/*
 * The ledger of @unit has been loaded from elsewhere.  False if the ledger and
 * migrated.clock_ran contradict each other.
 */
bool x86_pmu_clock_loaded(X86PMU *unit);

/* @unit's vCPU has done @iterations of a REP string instruction. */
void x86_pmu_clock_string(X86PMU *unit, uint64_t iterations);

/*
 * @block is about to run, and nothing is in the log.  If string instructions
 * took long, exit to the main loop, which updates the clock.  Exit even if
 * @block must not be interrupted, as that does not follow from the instruction
 * stream.  What asked for such a block (a watchpoint, code that was changed, a
 * device) comes up again.
 */
void x86_pmu_clock_catch_up(CPUX86State *env, const PmuBlock *block);

/* The same where @unit's vCPU leaves its execution loop anyway. */
void x86_pmu_clock_request_update(X86PMU *unit);

/*
 * @unit's vCPU executes an instruction that takes as long as @iterations of a
 * REP string instruction, or is between two instructions.  With icount, the
 * instruction is the last one of its block.  If this and string instructions
 * took long, the vCPU updates the clock behind the instruction.
 */
void x86_pmu_clock_device(X86PMU *unit, uint64_t iterations);

/* An exception or interrupt has been delivered: pmu-device.c */
void x86_pmu_delivered(CPUX86State *env);

/* @unit's vCPU is about to halt, and nothing is in the log. */
void x86_pmu_clock_halt(X86PMU *unit);

/* Raise CPUID's level to the leaves of the modelled clock, if it has them. */
void x86_pmu_clock_imply(X86CPU *cpu);

/* Caches: pmu-caches.c */

/*
 * Set @unit->l3: the L3 of other vCPUs if CPUID says that @unit's vCPU shares
 * it with them, else a new one.  Needs the BQL.  False and @errp set if memory
 * runs out, or the L3 of the others has another size or associativity.
 */
bool x86_pmu_find_l3(X86PMU *unit, Error **errp);

/* Address translation: pmu-paging.c */

/* How @env translates linear addresses now. */
X86PMUPaging x86_pmu_paging(CPUX86State *env);

/*
 * A PmuTranslate; @opaque is a CPUX86State.  Returns where the guest's tables
 * map linear page @page: now, or before the newest block changed mappings.
 * Changes nothing, raises nothing, reads no device.
 */
PmuMapping x86_pmu_translate(void *opaque, uint64_t page);

/* The log of executed blocks: pmu-log.c */

/* Make the log an empty one, at realize. */
void x86_pmu_log_init(CPUX86State *env);

/* The linear address where execution goes on, between two blocks. */
uint64_t x86_pmu_pc(const CPUX86State *env);

/* Begin a record of @block at @pc, which is about to run, in the empty log. */
void x86_pmu_log(CPUX86State *env, const PmuBlock *block, uint64_t pc);

/* Run the model over all records in the log, of which there is one at least. */
void x86_pmu_run(CPUX86State *env);

/* The same without the newest record. */
void x86_pmu_run_older(X86PMUState *pmu);

/*
 * Run the model over all that ran before the instruction of insn_start word
 * @insn (0: over all), and move to the ledger what translated code counted.
 */
void x86_pmu_run_all(CPUX86State *env, uint64_t insn);

/* Mappings: pmu-flush.c */

/* Flush in the model's TLBs what the guest has flushed since the last call. */
void x86_pmu_flush_model_tlbs(X86PMU *unit);

/* Overflow and interrupts: pmu-overflow.c */

/* Impossible states of @unit that were repaired: see pmu_timing_repairs(). */
static inline uint64_t x86_pmu_repairs(const X86PMU *unit)
{
    return unit->repairs + pmu_timing_repairs(unit->timing);
}

/*
 * A counter may be about to overflow, or has just done so, and a block of
 * @num_insns instructions waits to run.  Deliver interrupts and arm the
 * counters.  Returns only if the block may run; else leaves it at its entry.
 */
void x86_pmu_check(CPUX86State *env, unsigned num_insns);

/* Choose the mode of the next block: @hflags has bits of HF_PMU_MASK. */
void x86_pmu_set_mode(CPUX86State *env, uint32_t hflags);

/* Between two blocks: check counters and deliver what they ask for. */
void x86_pmu_check_now(CPUX86State *env);

/*
 * Leave the block of @num_insns instructions at its entry, before any of its
 * instructions.  With @run > 0, a block of @run instructions runs next.
 */
G_NORETURN void x86_pmu_leave(CPUX86State *env, unsigned num_insns,
                              unsigned run);

/* The insn_start word of the instruction that runs at @retaddr; 0: none. */
uint64_t x86_pmu_current_insn(CPUX86State *env, uintptr_t retaddr);

/*
 * Bring ledger and counters up to date.  @insn is the insn_start word of the
 * instruction that executes now: it and those behind it do not count yet.  0:
 * the whole block has executed.
 */
void x86_pmu_sync(CPUX86State *env, uint64_t insn);

/*
 * Set @ledger and @perfmon to what x86_pmu_sync() would make of them, between
 * two blocks.  What the guest counts from now on does not depend on the call.
 */
void x86_pmu_peek(CPUX86State *env, PmuLedger *ledger, Perfmon *perfmon);

/*
 * Hand out budgets and choose the instrumentation that the registers ask for.
 * Must follow x86_pmu_sync() and every register write.  @insn is as there.
 * @need is the number of instructions of the block that waits to run; 0: none.
 */
void x86_pmu_arm(CPUX86State *env, uint64_t insn, unsigned need);

/*
 * Interrupt through the local APIC if an overflow asked for it, and do what a
 * fault on demand asked for.  Returns whether there was either.  May be called
 * only where translated code can be left: at a block's entry or in its last
 * instruction.
 */
bool x86_pmu_deliver(CPUX86State *env);

/*
 * LVTPC as it is in force.  It is masked where there is no local APIC, and
 * where software has disabled the local APIC (SDM vol. 3A, 11.4.7.2).
 */
uint32_t x86_pmu_lvtpc(CPUX86State *env);

/* Deliver a PMI, unless LVTPC masks it.  @env has a local APIC. */
void x86_pmu_interrupt_apic(CPUX86State *env);

/*
 * LVTPC is about to be @lvtpc.  If that does not mask a PMI that its source
 * still asserts, the PMI is delivered again.
 */
void x86_pmu_unmasked(CPUX86State *env, uint32_t lvtpc);

/* Observers: pmu-observe.c.  Each function may be called without observers. */

/*
 * The guest has read a register, is about to write it, or gets #GP.  RDPMC is
 * told as a read of the MSR behind ECX.
 */
void x86_pmu_observe_read(CPUX86State *env, PmuCheckAccess how, uint32_t msr,
                          uint64_t value);
void x86_pmu_observe_write(CPUX86State *env, uint32_t msr, uint64_t value);
void x86_pmu_observe_gp(CPUX86State *env, PmuCheckAccess how, uint32_t msr,
                        uint64_t value);
/* IA32_PERF_GLOBAL_STATUS has got @bits. */
void x86_pmu_observe_overflow(CPUX86State *env, uint64_t bits);
/*
 * A PMI is about to be delivered, or to find LVTPC masked.  @overflow: an
 * overflow asks for it, not a fault on demand alone.
 */
void x86_pmu_observe_pmi(CPUX86State *env, bool overflow);
/* The vCPU takes interrupt or exception @vector. */
void x86_pmu_observe_interrupt(CPUX86State *env, int vector);
void x86_pmu_observe_halt(CPUX86State *env, PmuCheckHalt why);
void x86_pmu_observe_reset(X86PMU *unit);

/* Migration: pmu-check-vmstate.c */

extern const VMStateDescription vmstate_x86_pmu_check;

void x86_pmu_observe_save(X86PMU *unit);
/* Is the checker's memory that arrived, if any did, valid?  Reports why not. */
bool x86_pmu_observe_check(const X86PMU *unit);
/* The registers of @unit have been loaded from elsewhere. */
void x86_pmu_observe_load(X86PMU *unit);

/* Properties of observers, their creation and end: pmu-check.c */

void x86_pmu_observer_class_init(ObjectClass *oc);

/*
 * Give @unit the observers that properties ask for.  False and @errp set if it
 * cannot have them.
 */
bool x86_pmu_observer_new(X86PMU *unit, Error **errp);
void x86_pmu_observer_free(X86PMU *unit);

/* Check that no property asks for observers; else false: it needs @needs. */
bool x86_pmu_check_unobserved(X86CPU *cpu, const char *needs, Error **errp);

/* Does @cs have a PMU, and run functions?  One that is unplugged may not. */
static inline bool x86_pmu_can_be_asked(CPUState *cs)
{
    return cpu_env(cs)->pmu.unit && !cs->unplug;
}

/* Call @func with @data on the thread of @cs: pmu-monitor.c */
void x86_pmu_run_on_cpu(CPUState *cs, run_on_cpu_func func, void *data);

/* Generations of translated code: pmu-generation.c */

/* A number that no other block of @generation has. */
uint32_t x86_pmu_block_number(uint64_t generation);

/*
 * @cs, whose PMU is @unit, translates a block.  If code was thrown away since
 * the last one, free the descriptions that no vCPU needs any more.  If @unit
 * has too many descriptions, ask for all code to be thrown away as soon as no
 * vCPU runs any.
 */
void x86_pmu_begin_generation(X86PMU *unit, CPUState *cs);

/* Blocks that translated code counts: pmu-counted.c */

/* Does the vCPU run in mode forward? */
static inline bool x86_pmu_is_fast_forward(const CPUX86State *env)
{
    return (env->hflags & HF_PMU_MASK) == HF_PMU_FAST_FORWARD;
}

/* Does code of @level run instrumented? */
static inline bool x86_pmu_is_instrumented(const CPUX86State *env,
                                           PmuLevel level)
{
    return env->hflags & (HF_PMU_TIMING_MASK |
                          (level == PMU_LEVEL_OS ? HF_PMU_OS_MASK
                                                 : HF_PMU_USR_MASK));
}

/* Can translated code count the runs of @block? */
static inline bool x86_pmu_is_countable(const PmuBlock *block)
{
    return pmu_block_is_plain(block) && !block->uninterruptible &&
           pmu_block_has_number(block);
}

/*
 * @block is about to run.  Must be called before the first block since
 * x86_pmu_exec_exit(), if not more often, with no record in the log.  If code
 * was thrown away in between, collect what its block numbers counted; the
 * numbers stand for blocks of the new code from now on.
 */
void x86_pmu_renumber(CPUX86State *env, const PmuBlock *block);

/*
 * Collect what was counted, with no record in the log.  This vCPU then needs no
 * descriptions of blocks until its next block calls x86_pmu_renumber().  So a
 * vCPU that sleeps does not keep descriptions from being freed.
 */
void x86_pmu_collect(CPUX86State *env);

/*
 * Progress that was counted since the model was last told, in units of
 * 1/PMU_CPI_ONE.  @counted is taken as if it had been logged: its last
 * instruction runs, and its slots come when it has ended.
 */
uint64_t x86_pmu_uncollected_progress(const CPUX86State *env);

/* Tell the model what was counted.  @counted, if any, has run to its end. */
void x86_pmu_counted_report(CPUX86State *env);

/* The same, and each next block asks the model until there is a new grant. */
void x86_pmu_counted_revoke(CPUX86State *env);

/* An instruction of the newest block, which is counted, took an assist. */
void x86_pmu_counted_assist(CPUX86State *env);

/* The next block is to ask the model before it is counted. */
void x86_pmu_counted_ask(CPUX86State *env);

/*
 * Reduce the progress that may be made before counters are checked, by
 * @progress in units of 1/PMU_CPI_ONE.
 */
void x86_pmu_counted_shorten(CPUX86State *env, uint64_t progress);

/*
 * The newest block is counted, and the model must see a part of it now, maybe
 * because the block will not run to its end.  Replace the count by a record.
 * EIP is at the instruction with which @ahead instructions of the block were
 * still to run (1: the last one; at most all of the block).
 */
void x86_pmu_counted_open(CPUX86State *env, unsigned ahead);

/* The same of a block that began at linear address @pc. */
void x86_pmu_counted_open_at(CPUX86State *env, uint64_t pc);

/*
 * @block is about to run.  If it was translated for another mode than the model
 * needs now, change the mode and leave @block at its entry.  Returns otherwise,
 * and always if @block must not be interrupted.
 */
void x86_pmu_choose(CPUX86State *env, const PmuBlock *block);

#endif
