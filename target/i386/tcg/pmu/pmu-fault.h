/*
 * Faults on demand: what a PMU does once in a while.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_FAULT_H
#define TARGET_I386_PMU_FAULT_H

#include "qom/object.h"
#include "pmu-internal.h"
#include "tcg/pmu/check/controls.h"

/* What becomes of an access, and of an interrupt. */
typedef enum X86PMUFaultAction {
    X86_PMU_FAULT_NONE,
    X86_PMU_FAULT_GP,           /* the access raises #GP */
    X86_PMU_FAULT_IGNORE,       /* a write does nothing */
    X86_PMU_FAULT_ZERO,         /* a read returns 0 */
    X86_PMU_FAULT_DROP,         /* the interrupt is lost */
    X86_PMU_FAULT_UNMASKED,     /* LVTPC stays unmasked */
    X86_PMU_FAULT_DOUBLE,       /* the interrupt comes twice */
    X86_PMU_FAULT_LATE,         /* the interrupt comes later */
    X86_PMU_FAULT_MODE,         /* ... in another way than LVTPC says */
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

/* When a fault can be done. */
typedef enum X86PMUFaultTime {
    FAULT_AT_WRITE,             /* ... or at no access: counters are its */
    FAULT_OF_WRITE,             /* what that does is its */
    FAULT_OF_READ,              /* what that returns is its */
    FAULT_AT_ACCESS,
    FAULT_AT_INTERRUPT,
} X86PMUFaultTime;

/* How properties that are numbers read if they were not given. */
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

    char *text[TEXTS];          /* NULL: not given */
    uint64_t number[NUMBERS];

    /* From these, by x86_pmu_fault_parse(). */
    X86PMUFaultKind kind;
    X86PMUFaultTime time;
    X86PMUFaultAction action;
    unsigned counter;           /* as in controls.h, and then metrics */
    bool has_counter;
    uint32_t lvtpc;             /* mode: vector and delivery mode */
    uint64_t most;              /* times that it fires */
    bool read, write;
    uint32_t before, msr;       /* 0: any */
    bool at_once;
    bool by_count;              /* at an instruction, whatever it is */
    uint64_t random;            /* xorshift64: not 0 */

    X86PMU *unit;               /* NULL: not there yet, or no more */
    Notifier machine_done;
    bool complete;              /* properties do not change any more */
    uint64_t left;              /* instructions that it waits for yet */
    uint64_t seen, fired, clock, rip;
    int64_t added;
};

#define COUNTER_METRICS(n) (PMU_CHECK_COUNTERS + (n))

/* What faults ask for, x86_pmu_faults_act(): the guest stops; INIT. */
#define FAULT_ASKS_STOP     1u
#define FAULT_ASKS_INIT     2u

/* A vCPU has so many faults at most, with names of so many bytes. */
#define X86_PMU_FAULTS      256
#define X86_PMU_FAULT_NAME  128

/* A fault as it travels. */
typedef struct X86PMUSavedFault {
    char id[X86_PMU_FAULT_NAME];
    uint64_t left, seen, fired, clock, rip, random;
    int64_t added;
} X86PMUSavedFault;

struct X86PMUSavedFaults {
    uint32_t msr, asked;
    bool released;
    uint64_t held, retired;
    uint32_t count;
    X86PMUSavedFault fault[X86_PMU_FAULTS];
};

/* Its name, as id= has it. */
const char *x86_pmu_fault_id(const X86PMUFault *fault);

/*
 * Find out what the properties of @fault mean.  False and @errp set if they
 * contradict each other, or there is no such thing: pmu-fault-parse.c.
 */
bool x86_pmu_fault_parse(X86PMUFault *fault, Error **errp);

/* "overflow", "spurious" and so on */
const char *x86_pmu_fault_kind_name(X86PMUFaultKind kind);

/* The vCPU that @fault asks for if it has a PMU, else NULL. */
CPUState *x86_pmu_fault_cpu(const X86PMUFault *fault);

/* NULL if @fault can be on @unit, else why not. */
const char *x86_pmu_fault_misfit(const X86PMUFault *fault,
                                 const X86PMU *unit);

/* When: pmu-fault-trigger.c */

/*
 * Wait for as many instructions as properties say, from now on: at first, or
 * behind a firing.
 */
void x86_pmu_fault_wait_first(X86PMUFault *fault);
void x86_pmu_fault_wait_next(X86PMUFault *fault);

/* All conditions hold but for access=, window= and nth=. */
bool x86_pmu_fault_is_here(const X86PMUFault *fault, CPUX86State *env);
/* ... but for nth=. */
bool x86_pmu_fault_is_access(const X86PMUFault *fault, CPUX86State *env,
                             PmuCheckAccess how, uint32_t msr);
/* They hold once more: has nth= come? */
bool x86_pmu_fault_is_due(X86PMUFault *fault);
/* It fires. */
void x86_pmu_fault_note(X86PMUFault *fault, CPUX86State *env);

/* The counter of @fault overflows. */
void x86_pmu_fault_overflow(X86PMUFault *fault, CPUX86State *env);

/* @n instructions have retired: an interrupt that is held back may come. */
void x86_pmu_fault_release(X86PMU *unit, uint64_t n);

/* From now on; and no more.  Needs the BQL. */
void x86_pmu_fault_start(X86PMUFault *fault, CPUState *cs);
void x86_pmu_fault_stop(X86PMUFault *fault);

/* @unit is being realized: faults that wait for its vCPU are there from now. */
void x86_pmu_faults_attach(X86PMU *unit);
void x86_pmu_faults_detach(X86PMU *unit);

/*
 * Another @n instructions have retired.  Counters are up to date; interrupts
 * are left for x86_pmu_deliver().
 */
void x86_pmu_faults_retire(CPUX86State *env, uint64_t n);

/*
 * Counters that faults hold, and what was asked for, after faults have become
 * what they were elsewhere.
 */
void x86_pmu_faults_resume(CPUX86State *env);

/*
 * Do what was asked for: the guest stops, the vCPU gets an INIT.  Between two
 * blocks.
 */
void x86_pmu_faults_act(CPUX86State *env);

/* Lower @slack to what may retire before x86_pmu_faults_retire() must know. */
void x86_pmu_faults_bound(const X86PMU *unit, PerfmonDistance *slack);

/*
 * An access is about to begin.  Only of kind gp; nothing else happens.  RDPMC
 * is told as a read of the MSR behind ECX.
 */
X86PMUFaultAction x86_pmu_fault_access(CPUX86State *env, PmuCheckAccess how,
                                       uint32_t msr);

/*
 * WRMSR of @value goes on: counters are up to date, and nothing is written yet.
 * Returns what is to be written.
 */
uint64_t x86_pmu_fault_write(CPUX86State *env, uint32_t msr, uint64_t value);

/* What the guest gets in place of @value, which it reads. */
uint64_t x86_pmu_fault_read(CPUX86State *env, PmuCheckAccess how,
                            uint32_t msr, uint64_t value);

/* RESET: an interrupt that is held back does not come any more. */
void x86_pmu_faults_reset(X86PMU *unit);

/* Migration: pmu-fault-vmstate.c */

extern const VMStateDescription vmstate_x86_pmu_faults;

/*
 * Room for faults as they travel, and those of @unit in it; @retired
 * instructions are not told to them yet.
 */
void x86_pmu_faults_make_room(X86PMU *unit);
void x86_pmu_faults_save(X86PMU *unit, uint64_t retired);

/* Is what arrived, if anything did, good for @unit?  If not, it is reported. */
bool x86_pmu_faults_check(const X86PMU *unit);
/* From now on it is as it was elsewhere.  Counters are already. */
void x86_pmu_faults_load(CPUX86State *env);

/*
 * An interrupt is about to be delivered.  If a fault changes that, this is done
 * in place of it, and true is returned.
 */
bool x86_pmu_fault_deliver(CPUX86State *env);

#endif
