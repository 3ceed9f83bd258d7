/*
 * One vCPU's performance-monitoring unit, as pmu-*.c see it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Joins the register file, the ledger and the timing model with the vCPU.
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
FIELD(X86_PMU_INSN, TIMING, 11, 1)      /* it was translated for timing */
FIELD(X86_PMU_INSN, COND, 12, 1)        /* the branch is a conditional one */

/*
 * X86PMUState.branches: all of them in the lowest bits, a signed number, as one
 * is taken back while an interrupt is delivered; above, those that are
 * conditional.  No more instructions than fit run between two folds.
 */
#define X86_PMU_BRANCH_BITS 30
#define X86_PMU_MAX_BUDGET  (1 << (X86_PMU_BRANCH_BITS - 2))

/* What a branch adds there. */
static inline uint64_t x86_pmu_branch(bool conditional)
{
    return 1 | (uint64_t)conditional << X86_PMU_BRANCH_BITS;
}

/* ... the one of the block that @insn, an insn_start word, is in. */
static inline uint64_t x86_pmu_branch_of(uint64_t insn)
{
    return FIELD_EX64(insn, X86_PMU_INSN, BRANCH)
           ? x86_pmu_branch(FIELD_EX64(insn, X86_PMU_INSN, COND)) : 0;
}

/* What the model's TLBs have of the guest's mappings. */
typedef enum PmuMappings {
    PMU_MAPPINGS_FRESH,         /* nothing else */
    PMU_MAPPINGS_STALE,         /* flush before the next record runs */
    PMU_MAPPINGS_STALE_AFTER_BLOCK, /* ... behind the newest record, whose
                                       accesses were made by X86PMU.paging */
} PmuMappings;

/*
 * The bits of hflags that choose instrumentation: see X86PMUState.  All of them
 * is timing, the last one alone forward.
 */
#define HF_PMU_MASK (HF_PMU_OS_MASK | HF_PMU_USR_MASK | HF_PMU_TIMING_MASK)
#define HF_PMU_FAST_FORWARD HF_PMU_TIMING_MASK

/* What an instruction that took an assist leaves in sse_status. */
#define X86_PMU_DENORMAL_FLAGS \
    (float_flag_input_denormal_used | float_flag_underflow)

/* Mappings that are stale; more at once are all. */
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

/* How linear addresses are translated. */
typedef struct X86PMUPaging {
    X86PMUTables guest;
    X86PMUTables nested;        /* of SVM guests, if @is_nested */
    bool is_nested;
    bool is_long;               /* IA32_EFER.LMA */
    bool has_global;            /* CR4.PGE */
    uint64_t a20_mask;
    MemTxAttrs attrs;
} X86PMUPaging;

/* Who looks at what the guest does: pmu-observe.h */
typedef struct X86PMUObserver X86PMUObserver;

/* Faults on demand, as they travel: pmu-fault.h */
typedef struct X86PMUSavedFaults X86PMUSavedFaults;

struct X86PMU {
    X86CPU *cpu;
    X86PMUObserver *observer;   /* NULL: nobody */
    GPtrArray *faults;          /* pmu-fault.h; NULL: none */
    uint32_t fault_msr, fault_before;   /* accessed now, and before */
    uint64_t fault_held;        /* instructions until a late interrupt */
    bool fault_released;        /* ... which comes now */
    unsigned fault_asked;       /* FAULT_ASKS_x of pmu-fault.h */
    /* Instructions of a block that waits to run: icount has them already. */
    unsigned waiting;
    bool is_clock;              /* its cycles are the machine's time */
    uint32_t clock_iterations;  /* x86_pmu_clock_string(), since a look */
    uint64_t resumes_until;     /* progress: x86_pmu_may_resume() so long */
    bool masks_lvt;             /* a PMI masks its LVT entry */
    bool misc_enable;           /* IA32_MISC_ENABLE[7] says that it is there */
    bool has_rdpmc;
    Perfmon perfmon;
    PerfmonEventRates rates;    /* that @perfmon notes */
    PmuLedger ledger;
    /* Both as they travel: what arrives is looked at before it is used. */
    struct {
        Perfmon perfmon;
        PmuSavedLedger *ledger; /* NULL: nothing did yet */
        X86PMUSavedFaults *faults;      /* NULL: the same */
        PmuCheckMemory check;
        bool check_arrived;
        int64_t clock_ran;      /* icount_model_ran(); -1: is none */
    } migrated;
    PmuUarch uarch;             /* the core, changed by properties */
    PmuTiming *timing;
    PmuL3 *l3;                  /* that @timing uses, as others may */
    /* The caches of @uarch for CPUID. */
    CPUCacheInfo l1d_info, l1i_info, l2_info, l3_info;

    /* Instructions handed out as budget, by level, since the last fold. */
    int64_t granted[PMU_LEVEL_NR];
    /* timing: when pmu_timing_progress() is here, look at the counters */
    uint64_t check_at;
    /* timing: of the code buffer that numbers of blocks are of now */
    uint64_t counted_generation;
    /* forward: the progress of X86PMUState.left when the model last knew it */
    int64_t granted_progress;
    /* timing: the oldest record in the log that the model has not seen */
    uint64_t *oldest;
    /* Whether the model's linear to physical mappings hold. */
    PmuMappings mappings;
    X86PMUPaging paging;        /* of the block after which they do not */
    unsigned num_flushes;
    X86PMUFlush flush[X86_PMU_FLUSHES];
    /* At which level the INT n runs that is being delivered. */
    PmuLevel int_level;
    /* What has been said of events with LOG_UNIMP. */
    GHashTable *logged;
    /* Nothing counts, but instrumented code still runs: see x86_pmu_arm(). */
    bool idle;

    /* Translation: its thread's decoder, and room for a block in the making */
    PmuDecoder *decoder;
    PmuBlockBuilder *scratch;
    bool decoding;              /* an instruction, which is not there yet */
    bool flush_asked;           /* in this generation of code */
    PmuBlockPool blocks;
    uint64_t repairs;           /* of translation: see pmu_timing_repairs() */
    bool repairs_traced;        /* ... that there were any */
    uint32_t units_traced;      /* of pmu_timing_sampling_units() */
};

/* The privilege level that counters see. */
static inline PmuLevel x86_pmu_level(const CPUX86State *env)
{
    return env->hflags & HF_CPL_MASK ? PMU_LEVEL_USR : PMU_LEVEL_OS;
}

/* Properties that change the core: pmu-uarch.c */

/*
 * The core of @cpu, which is @core but for what properties say.  False and
 * @errp set if they contradict each other.
 */
bool x86_pmu_uarch(X86CPU *cpu, PmuCore core, PmuUarch *uarch, Error **errp);

/*
 * Does @unit's core describe instructions as those of other vCPUs with a PMU
 * do?  Else false, and @errp is set.
 */
bool x86_pmu_check_code(X86PMU *unit, Error **errp);

/* No property asks for another core than that of @needs; else false, @errp. */
bool x86_pmu_check_unchanged(X86CPU *cpu, const char *needs, Error **errp);

/* Other registers than the core's own: pmu-what-if.c */

void x86_pmu_what_if_class_init(ObjectClass *oc);

/*
 * Complete @config, which has the core, its capabilities and what depends on
 * them, by what properties of @cpu say.  False and @errp if that cannot be.
 */
bool x86_pmu_what_if(X86CPU *cpu, PerfmonConfig *config, Error **errp);

/* The profile of @cpu has IA32_A_PMCx. */
bool x86_pmu_profile_has_full_width(X86CPU *cpu);

/* No property asks for other registers; else false, @errp: they need @needs. */
bool x86_pmu_check_own(X86CPU *cpu, const char *needs, Error **errp);

/* The machine's clock: pmu-clock.c */

/*
 * Can @cpu be part of this machine's time?  False and @errp set if that is of
 * the model, and @cpu has no unit or is plugged in.
 */
bool x86_pmu_clock_check(X86CPU *cpu, bool has_unit, Error **errp);

/* If the machine's time is that of the model, make @unit's part of it. */
void x86_pmu_clock_attach(X86PMU *unit);
void x86_pmu_clock_detach(X86PMU *unit);

/*
 * What is to travel with the ledger: into migrated.clock_ran.  False if it must
 * not: caches and predictors start cold when it is loaded, so that a replay
 * from there on would have another time than what is recorded.
 */
bool x86_pmu_clock_save(X86PMU *unit);

/*
 * The ledger of @unit has been loaded from elsewhere.  False if that and
 * migrated.clock_ran contradict each other.
 */
bool x86_pmu_clock_loaded(X86PMU *unit);

/* @unit's vCPU has done @iterations of a REP string instruction. */
void x86_pmu_clock_string(X86PMU *unit, uint64_t iterations);

/*
 * @block is about to run, and nothing is in the log.  If string instructions
 * took long, exit to the main loop, where the clock is looked at.  Also if
 * @block must not be interrupted: whether it is such a block is not the
 * instruction stream's doing.  What asked for it (a watchpoint, code that was
 * changed, a device) comes up again.
 */
void x86_pmu_clock_catch_up(CPUX86State *env, const PmuBlock *block);

/* The same where @unit's vCPU leaves its execution loop anyway. */
void x86_pmu_clock_look(X86PMU *unit);

/*
 * @unit's vCPU is at an instruction, with icount the last one of its block, or
 * between two, and that takes as long as @iterations do.  The clock is looked
 * at behind it, if that and string instructions took long.
 */
void x86_pmu_clock_device(X86PMU *unit, uint64_t iterations);

/* An exception or interrupt has been delivered: pmu-device.c */
void x86_pmu_delivered(CPUX86State *env);

/* @unit's vCPU is about to halt, and nothing is in the log. */
void x86_pmu_clock_halt(X86PMU *unit);

/* CPUID leaves that come with it: before CPUID's levels are final. */
void x86_pmu_clock_imply(X86CPU *cpu);

/* Caches: pmu-caches.c */

/*
 * Set @unit->l3: the L3 of other vCPUs, if CPUID says that @unit's shares it
 * with them, or a new one.  Needs the BQL.  False and @errp set if memory
 * runs out, or the others' is of another size.
 */
bool x86_pmu_find_l3(X86PMU *unit, Error **errp);

/* Address translation: pmu-paging.c */

/* How @env translates linear addresses now. */
X86PMUPaging x86_pmu_paging(CPUX86State *env);

/*
 * PmuTranslate of the CPUX86State @opaque: where the guest's tables map linear
 * page @page now, or before the newest block changed that.  Changes nothing,
 * raises nothing, reads no device.
 */
PmuMapping x86_pmu_translate(void *opaque, uint64_t page);

/* The log of executed blocks: pmu-log.c */

/* An empty log. */
void x86_pmu_log_init(CPUX86State *env);

/* The linear address where execution goes on, between two blocks. */
uint64_t x86_pmu_pc(const CPUX86State *env);

/* Begin a record of @block at @pc, which is about to run, in the empty log. */
void x86_pmu_log(CPUX86State *env, const PmuBlock *block, uint64_t pc);

/* Run the model over all that is in the log, which has a record. */
void x86_pmu_run(CPUX86State *env);

/* ... over all blocks but the newest one. */
void x86_pmu_run_older(X86PMUState *pmu);

/*
 * ... over all that ran before the instruction of insn_start word @insn, and
 * move to the ledger what translated code counted.
 */
void x86_pmu_run_all(CPUX86State *env, uint64_t insn);

/* Mappings: pmu-flush.c */

/* The model's TLBs are flushed as the guest's were since the last time. */
void x86_pmu_forget_mappings(X86PMU *unit);

/* Overflow and interrupts: pmu-overflow.c */

/* States of @unit that could not be and were repaired: pmu_timing_repairs(). */
static inline uint64_t x86_pmu_repairs(const X86PMU *unit)
{
    return unit->repairs + pmu_timing_repairs(unit->timing);
}

/*
 * A counter may be about to overflow, or has just done so, and a block of
 * @num_insns instructions waits to run.  Returns if it may.
 */
void x86_pmu_check(CPUX86State *env, unsigned num_insns);

/* The next block is instrumented as @hflags, some of HF_PMU_MASK, says. */
void x86_pmu_set_mode(CPUX86State *env, uint32_t hflags);

/* Between two blocks: interrupt at once if an overflow asks for it. */
void x86_pmu_poll(CPUX86State *env);

/*
 * Leave the block of @num_insns instructions at its entry, before any of its
 * instructions.  With @run > 0 a block of just so many runs next.
 */
G_NORETURN void x86_pmu_leave(CPUX86State *env, unsigned num_insns,
                              unsigned run);

/*
 * Bring ledger and counters up to date.  @insn is the insn_start word of the
 * instruction that now executes, which and after which nothing is counted
 * yet; 0: the whole block has executed.
 */
void x86_pmu_sync(CPUX86State *env, uint64_t insn);

/*
 * What x86_pmu_sync() would make of ledger and counters, between two blocks.
 * What the guest counts from now on does not depend on it.
 */
void x86_pmu_peek(CPUX86State *env, PmuLedger *ledger, Perfmon *perfmon);

/*
 * Hand out budgets and choose the instrumentation that the registers ask for.
 * Must follow x86_pmu_sync() and every register write.  @need is the number
 * of instructions of the block that waits to run, 0 if none.
 */
void x86_pmu_arm(CPUX86State *env, uint64_t insn, unsigned need);

/*
 * Interrupt through the local APIC if an overflow asked for it, and do what a
 * fault asked for.  True if either was.  Only where translated code can be
 * left: at a block's entry or in its last instruction.
 */
bool x86_pmu_deliver(CPUX86State *env);

/*
 * LVTPC as it is in force: masked where there is no local APIC, and as all
 * entries are of one that software has disabled (SDM vol. 3A, 11.4.7.2).
 */
uint32_t x86_pmu_lvtpc(CPUX86State *env);

/* Have the local APIC interrupt, which @env has. */
void x86_pmu_interrupt_apic(CPUX86State *env);

/*
 * The LVT entry of the counters is about to be @lvtpc: a PMI that its source
 * still asserts is delivered again if that does not mask it.
 */
void x86_pmu_unmasked(CPUX86State *env, uint32_t lvtpc);

/* Observers: pmu-observe.c.  All can be called without any. */

/*
 * A register has been read, is about to be written, cannot be accessed.  RDPMC
 * is told as a read of the MSR behind ECX.
 */
void x86_pmu_observe_read(CPUX86State *env, PmuCheckAccess how, uint32_t msr,
                          uint64_t value);
void x86_pmu_observe_write(CPUX86State *env, uint32_t msr, uint64_t value);
void x86_pmu_observe_gp(CPUX86State *env, PmuCheckAccess how, uint32_t msr,
                        uint64_t value);
/* IA32_PERF_GLOBAL_STATUS has got @bits; that is about to interrupt. */
void x86_pmu_observe_overflow(CPUX86State *env, uint64_t bits);
void x86_pmu_observe_pmi(CPUX86State *env);
/* Interrupt or exception @vector is taken. */
void x86_pmu_observe_interrupt(CPUX86State *env, int vector);
void x86_pmu_observe_halt(CPUX86State *env, PmuCheckHalt why);
void x86_pmu_observe_reset(X86PMU *unit);

/* Migration: pmu-check-vmstate.c */

extern const VMStateDescription vmstate_x86_pmu_check;

void x86_pmu_observe_save(X86PMU *unit);
/* Is what arrived, if anything did, good?  If not, it is reported. */
bool x86_pmu_observe_check(const X86PMU *unit);
/* Registers came from elsewhere. */
void x86_pmu_observe_load(X86PMU *unit);

/* Their properties and life: pmu-check.c */

void x86_pmu_observer_class_init(ObjectClass *oc);

/*
 * Give @unit the observers that properties ask for.  False and @errp set if
 * these cannot be had.
 */
bool x86_pmu_observer_new(X86PMU *unit, Error **errp);
void x86_pmu_observer_free(X86PMU *unit);

/* No property asks for observers; else false and @errp: they need @needs. */
bool x86_pmu_check_unobserved(X86CPU *cpu, const char *needs, Error **errp);

/* One that is being unplugged may run nothing any more. */
static inline bool x86_pmu_can_be_asked(CPUState *cs)
{
    return cpu_env(cs)->pmu.unit && !cs->unplug;
}

/* Call @func with @data on the thread of @cs: pmu-monitor.c */
void x86_pmu_run_on_cpu(CPUState *cs, run_on_cpu_func func, void *data);

/* Generations of translated code: pmu-generation.c */

/* A number for a block of @generation, which no other one of it has. */
uint32_t x86_pmu_block_number(uint64_t generation);

/*
 * @cs, whose PMU is @unit, translates a block.  If code was thrown away, so are
 * the descriptions of what no vCPU needs any more.  Where there are too many of
 * them, all code is to go as soon as no vCPU runs any, and they with it.
 */
void x86_pmu_begin_generation(X86PMU *unit, CPUState *cs);

/* Blocks that translated code counts: pmu-counted.c */

/* Is the running code, if it is instrumented for timing, that for forward? */
static inline bool x86_pmu_is_fast_forward(const CPUX86State *env)
{
    return (env->hflags & HF_PMU_MASK) == HF_PMU_FAST_FORWARD;
}

/* Can translated code count the runs of @block? */
static inline bool x86_pmu_is_countable(const PmuBlock *block)
{
    return pmu_block_is_plain(block) && !block->uninterruptible &&
           pmu_block_has_number(block);
}

/*
 * @block is about to run, the first one since x86_pmu_exec_exit() at least: if
 * code was thrown away in between, what its numbers counted is collected, and
 * others count in them from now on.  No record is left.
 */
void x86_pmu_renumber(CPUX86State *env, const PmuBlock *block);

/*
 * Collect what was counted, so that this vCPU needs no descriptions of blocks
 * until the next one calls x86_pmu_renumber(), as it will: one that sleeps must
 * not keep them from being freed.  No record is left.
 */
void x86_pmu_collect(CPUX86State *env);

/*
 * Progress that was counted since the model was let know, as if @counted, whose
 * last instruction runs, had been logged: its slots come when it has ended.
 */
uint64_t x86_pmu_counted_passed(const CPUX86State *env);

/* Let the model know what was counted; @counted is complete. */
void x86_pmu_counted_pass(CPUX86State *env);

/* The same, and nothing is counted any more before counters are looked at. */
void x86_pmu_counted_stop(CPUX86State *env);

/* An instruction of the newest block, which is counted, took an assist. */
void x86_pmu_counted_assist(CPUX86State *env);

/* The next block is to ask the model before it is counted. */
void x86_pmu_counted_ask(CPUX86State *env);

/* So much less progress may be made before counters are looked at. */
void x86_pmu_counted_shorten(CPUX86State *env, uint64_t progress);

/*
 * The newest block is counted, and the model is to know a part of it now, be it
 * that it will not run to its end: begin a record of it instead.  EIP is that
 * of its instruction behind which @ahead - 1 more (1 to its number of
 * instructions) would have run.
 */
void x86_pmu_counted_open(CPUX86State *env, unsigned ahead);

/* The same of one that began at linear address @pc. */
void x86_pmu_counted_open_at(CPUX86State *env, uint64_t pc);

/*
 * Go on in the code that the model needs now, if @block, which is about to run,
 * is not of that.  Returns if it is.
 */
void x86_pmu_choose(CPUX86State *env, const PmuBlock *block);

#endif
