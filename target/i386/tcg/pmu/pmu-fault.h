/*
 * Faults on demand (-object pmu-fault): what a PMU does once in a while, at a
 * moment that the user chooses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_FAULT_H
#define TARGET_I386_PMU_FAULT_H

#include "qom/object.h"
#include "pmu-internal.h"
#include "tcg/pmu/check/controls.h"

/* What a fault makes of an access, or of an interrupt. */
typedef enum X86PMUFaultAction {
    X86_PMU_FAULT_NONE,
    X86_PMU_FAULT_GP,           /* the access raises #GP */
    X86_PMU_FAULT_IGNORE,       /* a write does nothing */
    X86_PMU_FAULT_ZERO,         /* a read returns 0 */
    X86_PMU_FAULT_DROP,         /* the interrupt is lost */
    X86_PMU_FAULT_UNMASKED,     /* LVTPC stays unmasked */
    X86_PMU_FAULT_DOUBLE,       /* the interrupt comes twice */
    X86_PMU_FAULT_LATE,         /* the interrupt comes later */
    X86_PMU_FAULT_MODE,         /* the interrupt comes as mode= says, not as
                                   LVTPC does */
} X86PMUFaultAction;

#define TYPE_PMU_FAULT "pmu-fault"
OBJECT_DECLARE_SIMPLE_TYPE(X86PMUFault, PMU_FAULT)

typedef enum X86PMUFaultKind {
    FAULT_OVERFLOW,
    FAULT_SPURIOUS,
    FAULT_GP,
    FAULT_DROP,
    FAULT_NO_AUTOMASK,
    FAULT_DOUBLE,
    FAULT_LATE,
    FAULT_MERGE,
    FAULT_FREEZE_LOST,
    FAULT_STUCK,
    FAULT_ONE_MORE,
    FAULT_SMI,
    FAULT_REF_JUMP,
    FAULT_STILL,
    FAULT_HALF,
    FAULT_MODE,
    FAULT_CAPS,
    FAULT_METRICS_NOISE,
    FAULT_STOP,
    FAULT_INIT,
    FAULT_KINDS
} X86PMUFaultKind;

/* When a fault of some kind can fire. */
typedef enum X86PMUFaultTime {
    FAULT_WHEN_WRITTEN,             /* at a write or at no access */
    FAULT_CHANGES_WRITE,             /* at a write, whose effect it changes */
    FAULT_CHANGES_READ,              /* at a read, whose value it changes */
    FAULT_AT_ACCESS,            /* at any access */
    FAULT_AT_INTERRUPT,         /* when a PMI is about to be delivered */
} X86PMUFaultTime;

/* The value of a number property that was not given. */
#define NOT_GIVEN UINT64_MAX

typedef enum X86PMUFaultNumber {
    NUMBER_CPU, NUMBER_ACCESS, NUMBER_NTH, NUMBER_CPL, NUMBER_RIP, NUMBER_MAX,
    NUMBER_INSNS, NUMBER_BY, NUMBER_EVERY, NUMBER_JITTER, NUMBER_SEED,
    NUMBER_VECTOR, NUMBER_BITS, NUMBERS
} X86PMUFaultNumber;

typedef enum X86PMUFaultText {
    TEXT_KIND, TEXT_COUNTER, TEXT_ACTION, TEXT_WINDOW, TEXT_RW, TEXT_MODE,
    TEXTS
} X86PMUFaultText;

struct X86PMUFault {
    Object parent_obj;

    /* The properties as given. */
    char *text[TEXTS];          /* NULL: not given */
    uint64_t number[NUMBERS];   /* NOT_GIVEN: not given */

    /* What x86_pmu_fault_parse() makes of the properties. */
    X86PMUFaultKind kind;
    X86PMUFaultTime time;
    X86PMUFaultAction action;
    unsigned counter;           /* as in controls.h, or COUNTER_METRICS() */
    bool has_counter;           /* it is about @counter alone */
    uint32_t lvtpc;             /* kind mode: vector and delivery mode */
    uint64_t most;              /* how often it fires */
    bool read, write;           /* at which accesses it fires */
    uint32_t before, msr;       /* MSR of the access before, and of the access
                                   at which it fires; 0: any */
    bool at_once;               /* it fires when it is created */
    bool by_count;              /* it fires by insns= or every=, at no access */
    uint64_t random;            /* state of xorshift64: never 0 */

    X86PMU *unit;               /* NULL: not on a vCPU yet, or no longer */
    Notifier machine_done;
    bool complete;              /* properties cannot change any more */
    uint64_t left;              /* instructions that it still waits for */
    /*
     * How often all conditions but nth= held; how often it fired; when
     * (x86_pmu_clock()) and where it fired last.
     */
    uint64_t seen, fired, clock, rip;
    int64_t added;              /* what it added to counters in all */
};

/* X86PMUFault.counter for field @n of PERF_METRICS. */
#define COUNTER_METRICS(n) (PMU_CHECK_COUNTERS + (n))

/*
 * Requests of faults: stop the guest; send the vCPU an INIT; interrupt, which
 * Perfmon.pmi does for overflows.
 */
#define FAULT_ASKS_STOP     1u
#define FAULT_ASKS_INIT     2u
#define FAULT_ASKS_PMI      4u

/* Limits: faults of a vCPU; bytes of a fault's name, with the NUL. */
#define X86_PMU_FAULTS      256
#define X86_PMU_FAULT_NAME  128

/* A fault as it migrates: fields of X86PMUFault. */
typedef struct X86PMUSavedFault {
    char id[X86_PMU_FAULT_NAME];
    uint64_t left, seen, fired, clock, rip, random;
    int64_t added;
} X86PMUSavedFault;

struct X86PMUSavedFaults {
    uint32_t msr, asked;        /* X86PMU.fault_msr and so on */
    bool released;
    uint64_t held, retired;     /* @retired: not told to the faults yet */
    uint32_t count;             /* of @fault */
    X86PMUSavedFault fault[X86_PMU_FAULTS];
};

/* The name of @fault: its id=. */
const char *x86_pmu_fault_id(const X86PMUFault *fault);

/*
 * Find out what the properties of @fault mean.  False and @errp set if one of
 * them is invalid, or they contradict each other: pmu-fault-parse.c.
 */
bool x86_pmu_fault_parse(X86PMUFault *fault, Error **errp);

/* "overflow", "spurious" and so on */
const char *x86_pmu_fault_kind_name(X86PMUFaultKind kind);

/* The vCPU of @fault's cpu=; NULL: there is none, or it has no PMU. */
CPUState *x86_pmu_fault_cpu(const X86PMUFault *fault);

/* Is @fault possible on @unit?  False and @errp set if it is not. */
bool x86_pmu_fault_fits(const X86PMUFault *fault, const X86PMU *unit,
                        Error **errp);

/* When: pmu-fault-trigger.c */

/*
 * Let @fault wait, from now on, for as many instructions as properties say: at
 * first; and after it has fired, or could have fired (X86PMUFault.by_count).
 */
void x86_pmu_fault_wait_first(X86PMUFault *fault);
void x86_pmu_fault_wait_next(X86PMUFault *fault);

/* Do all conditions hold, apart from access=, window=, rw= and nth=? */
bool x86_pmu_fault_is_here(const X86PMUFault *fault, CPUX86State *env);
/* Do all conditions apart from nth= hold, at an access @how to @msr? */
bool x86_pmu_fault_is_access(const X86PMUFault *fault, CPUX86State *env,
                             PmuCheckAccess how, uint32_t msr);
/*
 * All conditions apart from nth= hold: count that.  Returns whether @fault
 * fires, by nth= and max=.
 */
bool x86_pmu_fault_is_due(X86PMUFault *fault);
/* @fault fires: note when and where. */
void x86_pmu_fault_note(X86PMUFault *fault, CPUX86State *env);

/* Let the counter of @fault overflow. */
void x86_pmu_fault_overflow(X86PMUFault *fault, CPUX86State *env);

/* @n instructions have retired: an interrupt that is held back may come. */
void x86_pmu_fault_release(X86PMU *unit, uint64_t n);

/* Put @fault on @cs from now on; take it off its vCPU.  Needs the BQL. */
void x86_pmu_fault_start(X86PMUFault *fault, CPUState *cs);
void x86_pmu_fault_stop(X86PMUFault *fault);

/* At realize of @unit: put on it the faults that wait for its vCPU. */
void x86_pmu_faults_attach(X86PMU *unit);
/* At unrealize of @unit: take all faults off it. */
void x86_pmu_faults_detach(X86PMU *unit);

/*
 * Another @n instructions have retired, and counters are up to date.  Faults
 * may fire; x86_pmu_deliver() delivers their interrupts.
 */
void x86_pmu_faults_retire(CPUX86State *env, uint64_t n);

/* Faults were loaded from elsewhere: hold the counters that they hold. */
void x86_pmu_faults_resume(CPUX86State *env);

/*
 * Do what faults asked for (FAULT_ASKS_x), between two blocks: stop the guest,
 * send the vCPU an INIT.  Returns whether they asked for an interrupt, which is
 * up to the caller.
 */
bool x86_pmu_faults_act(CPUX86State *env);

/*
 * Lower @slack to the instructions that may retire before
 * x86_pmu_faults_retire() must be called.
 */
void x86_pmu_faults_bound(const X86PMU *unit, PerfmonDistance *slack);

/*
 * An access is about to begin.  Returns what faults of kind gp make of it.  No
 * other kind fires here.  RDPMC is told as a read of the MSR behind ECX.
 */
X86PMUFaultAction x86_pmu_fault_access(CPUX86State *env, PmuCheckAccess how,
                                       uint32_t msr);

/*
 * WRMSR is about to write @value to @msr, and counters are up to date.  Faults
 * may fire.  Returns the value to write.
 */
uint64_t x86_pmu_fault_write(CPUX86State *env, uint32_t msr, uint64_t value);

/* The guest is about to read @value.  Returns what it reads instead. */
uint64_t x86_pmu_fault_read(CPUX86State *env, PmuCheckAccess how,
                            uint32_t msr, uint64_t value);

/* RESET: an interrupt that is held back does not come any more. */
void x86_pmu_faults_reset(X86PMU *unit);

/* Migration: pmu-fault-vmstate.c */

extern const VMStateDescription vmstate_x86_pmu_faults;

/* Make X86PMU.migrated.faults empty room for faults. */
void x86_pmu_faults_make_room(X86PMU *unit);
/*
 * Copy the faults of @unit there.  @retired: instructions that they have not
 * been told of yet.
 */
void x86_pmu_faults_save(X86PMU *unit, uint64_t retired);

/* Are the faults that arrived, if any, valid for @unit?  Reports why not. */
bool x86_pmu_faults_check(const X86PMU *unit);
/* Take over what arrived.  The counters are loaded already. */
void x86_pmu_faults_load(CPUX86State *env);

/*
 * A PMI is about to be delivered.  If a fault changes that, do what the fault
 * does and return true.  False: the caller delivers the PMI as usual.
 */
bool x86_pmu_fault_deliver(CPUX86State *env);

#endif
