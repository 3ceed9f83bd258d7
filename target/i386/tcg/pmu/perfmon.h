/*
 * The architectural register file of the performance-monitoring unit.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line: plain C, knows nothing of QEMU nor of the timing
 * model.  It sees counts as snapshots of the ledger.
 */

#ifndef TARGET_I386_PMU_PERFMON_H
#define TARGET_I386_PMU_PERFMON_H

#include "events.h"
#include "perf-capabilities.h"

/* MSR indices, SDM vol. 4, table 2-2 and the Ice Lake tables. */
#define MSR_PMU_IA32_PMC0                   0x0c1
#define MSR_PMU_IA32_PERFEVTSEL0            0x186
#define MSR_PMU_MISC_ENABLE                 0x1a0   /* not this unit's */
#define MSR_PMU_OFFCORE_RSP_0               0x1a6
#define MSR_PMU_OFFCORE_RSP_1               0x1a7
#define MSR_PMU_IA32_DEBUGCTL               0x1d9
#define MSR_PMU_IA32_FIXED_CTR0             0x309
#define MSR_PMU_IA32_PERF_METRICS           0x329
#define MSR_PMU_IA32_PERF_CAPABILITIES      0x345
#define MSR_PMU_IA32_FIXED_CTR_CTRL         0x38d
#define MSR_PMU_IA32_PERF_GLOBAL_STATUS     0x38e
#define MSR_PMU_IA32_PERF_GLOBAL_CTRL       0x38f
#define MSR_PMU_IA32_PERF_GLOBAL_OVF_CTRL   0x390
#define MSR_PMU_IA32_PERF_GLOBAL_STATUS_SET 0x391
#define MSR_PMU_IA32_PERF_GLOBAL_INUSE      0x392
#define MSR_PMU_PEBS_ENABLE                 0x3f1
#define MSR_PMU_PEBS_LD_LAT                 0x3f6
#define MSR_PMU_PEBS_FRONTEND               0x3f7
#define MSR_PMU_IA32_A_PMC0                 0x4c1

#define PERFMON_MAX_GP      8
#define PERFMON_MAX_FIXED   4
#define PERFMON_MAX_METRICS 8

/* Bits of IA32_PERF_GLOBAL_STATUS and its relatives, SDM vol. 3B, 20.2.4. */
#define PERF_GLOBAL_GP(n)           (1ull << (n))
#define PERF_GLOBAL_FIXED(n)        (1ull << (32 + (n)))
#define PERF_GLOBAL_METRICS         (1ull << 48)
#define PERF_GLOBAL_TOPA_PMI        (1ull << 55)
#define PERF_GLOBAL_LBR_FRZ         (1ull << 58)
#define PERF_GLOBAL_CTR_FRZ         (1ull << 59)
#define PERF_GLOBAL_ASCI            (1ull << 60)
#define PERF_GLOBAL_OVF_UNCORE      (1ull << 61)
#define PERF_GLOBAL_OVF_BUF         (1ull << 62)
#define PERF_GLOBAL_COND_CHGD       (1ull << 63)
#define PERF_GLOBAL_PMI_INUSE       (1ull << 63)    /* of _INUSE */

/* Bits of IA32_PERFEVTSELx. */
#define PERF_EVTSEL_EVENT           0xffull
#define PERF_EVTSEL_UMASK           0xff00ull
#define PERF_EVTSEL_USR             (1ull << 16)
#define PERF_EVTSEL_OS              (1ull << 17)
#define PERF_EVTSEL_INT             (1ull << 20)
#define PERF_EVTSEL_ANYTHREAD       (1ull << 21)
#define PERF_EVTSEL_EN              (1ull << 22)
/* Those that do not say what is counted. */
#define PERF_EVTSEL_CONTROL         0x7b0000ull

/* Bits of counter @n in IA32_FIXED_CTR_CTRL. */
#define PERF_FIXED_OS(n)            (1ull << (4 * (n)))
#define PERF_FIXED_USR(n)           (2ull << (4 * (n)))
#define PERF_FIXED_ANYTHREAD(n)     (4ull << (4 * (n)))
#define PERF_FIXED_PMI(n)           (8ull << (4 * (n)))

/* Bits of IA32_DEBUGCTL. */
#define PERF_DEBUGCTL_LBR                   (1ull << 0)
#define PERF_DEBUGCTL_BTF                   (1ull << 1)
#define PERF_DEBUGCTL_FREEZE_LBRS_ON_PMI    (1ull << 11)
#define PERF_DEBUGCTL_FREEZE_PERFMON_ON_PMI (1ull << 12)

/* The bits that writes may set, one mask a kind of register. */
typedef enum PerfmonMask {
    PERFMON_MASK_NONE,          /* only zero may be written */
    PERFMON_MASK_ALL,
    PERFMON_MASK_COUNTER,
    PERFMON_MASK_GP,            /* a bit for each general-purpose counter */
    PERFMON_MASK_EVTSEL,        /* what may be set without #GP */
    PERFMON_MASK_EVTSEL_HELD,   /* what then reads back */
    PERFMON_MASK_FIXED_CTR_CTRL,
    PERFMON_MASK_FIXED_CTR_CTRL_HELD,
    PERFMON_MASK_GLOBAL_CTRL,
    PERFMON_MASK_STATUS,        /* what GLOBAL_STATUS can report */
    PERFMON_MASK_STATUS_RESET,  /* what may be cleared, there or not */
    PERFMON_MASK_METRICS,
    PERFMON_MASK_DEBUGCTL,      /* what may be set without #GP */
    PERFMON_MASK_DEBUGCTL_HELD, /* what then reads back */
    PERFMON_MASK_OFFCORE_RSP,
    PERFMON_MASK_LD_LAT,
    PERFMON_MASK_FRONTEND,
    PERFMON_MASK_NR
} PerfmonMask;

/* What decides how many registers of a kind there are. */
typedef enum PerfmonPresence {
    PERFMON_PRESENT_NOWHERE,    /* none: each access raises #GP */
    PERFMON_PRESENT,            /* as many as the table says */
    PERFMON_PRESENT_GP,
    PERFMON_PRESENT_FW_WRITE,
    PERFMON_PRESENT_FIXED,
    PERFMON_PRESENT_PDCM,
    PERFMON_PRESENT_METRICS,
    PERFMON_PRESENT_NR
} PerfmonPresence;

/* What the unit of one vCPU consists of; constant after perfmon_init(). */
typedef struct PerfmonConfig {
    PmuCore core;
    unsigned num_gp;            /* 1 to PERFMON_MAX_GP */
    unsigned num_fixed;         /* 3 to PERFMON_MAX_FIXED */
    uint64_t capabilities;      /* IA32_PERF_CAPABILITIES as read */
    bool pdcm;                  /* CPUID.1:ECX.PDCM: 0x345 exists */
    unsigned num_metrics;       /* fields of PERF_METRICS: 4, from SPR on 8 */
    unsigned metrics_width;     /* bits of its counters, in slots: 8 to 48 */
} PerfmonConfig;

/* The outcome of a guest's register access. */
typedef enum PerfmonResult {
    PERFMON_OK,
    PERFMON_GP,                 /* the access raises #GP(0) */
    PERFMON_NOT_OURS,           /* no such register in this unit */
} PerfmonResult;

/* What must run for the counters that now count. */
typedef struct PerfmonDemand {
    /* Some counter counts at this level. */
    bool level[PMU_LEVEL_NR];
    /* Some counter needs more than retired instructions and branches. */
    bool timing;
    /* What it needs besides slots, cycles and kinds of instructions. */
    PmuInterest interest;
} PerfmonDemand;

typedef struct Perfmon Perfmon;

/*
 * How fast counters of an event count at most lately, at their levels while
 * they count.  Drivers let more events than counters take turns.
 */
typedef struct PerfmonPace {
    uint64_t event;             /* bits of IA32_PERFEVTSELx; counters share it,
                                   and fixed ones have a bit each beyond */
    uint64_t counted, slots;    /* since @most was looked at */
    double most;                /* in a slot; 0: nothing is known */
} PerfmonPace;

#define PERFMON_PACES   64

/*
 * State of one unit.  All values are folded: they are current as of the last
 * perfmon_settle().  Only perfmon*.c and the migration description look in.
 */
struct Perfmon {
    PerfmonConfig config;

    /* Derived from @config once, by perfmon_init(). */
    uint64_t mask[PERFMON_MASK_NR];
    unsigned population[PERFMON_PRESENT_NR];

    uint64_t gp[PERFMON_MAX_GP];            /* IA32_PMCx, 48 bits */
    uint64_t evtsel[PERFMON_MAX_GP];
    int64_t remainder[PERFMON_MAX_GP];      /* see pmu_selection_gain() */
    uint64_t fixed[PERFMON_MAX_FIXED];      /* IA32_FIXED_CTRx, 48 bits */
    uint64_t fixed_ctr_ctrl;
    uint64_t global_ctrl;
    uint64_t global_status;
    uint64_t metrics[PERFMON_MAX_METRICS];  /* hidden, in 1/255 slot */
    uint64_t debugctl;
    uint64_t offcore_rsp[2];
    uint64_t pebs_ld_lat;
    uint64_t pebs_frontend;

    /* What the registers above make each counter count: GP, then fixed. */
    PmuSelection selected[PERFMON_MAX_GP + PERFMON_MAX_FIXED];
    /* ... and what they were when that was looked up. */
    uint64_t selected_evtsel[PERFMON_MAX_GP];
    uint64_t selected_extra[PMU_EXTRA_NR];

    /* By a hash of the event. */
    PerfmonPace pace[PERFMON_PACES];

    PmuLedgerSnapshot last;     /* the ledger when counts were last folded in */
    /* An overflow asked for an interrupt: the caller takes it and clears it. */
    bool pmi;
};

/*
 * Start a unit in RESET state.  Returns false, with a reason in *@why (static
 * text), if @config is out of range.
 */
bool perfmon_init(Perfmon *pmu, const PerfmonConfig *config, const char **why);

/* RESET (SDM vol. 3A, table 10-1): INIT leaves every register alone. */
void perfmon_reset(Perfmon *pmu);

/*
 * The registers in @pmu were loaded from elsewhere, which may be hostile;
 * they are as of @now.  Returns false, with a reason in *@why (static text),
 * if one of them holds what no guest could have made it hold.
 */
bool perfmon_post_load(Perfmon *pmu, const PmuLedgerSnapshot *now,
                       const char **why);

/*
 * Fold what the ledger gained since the last call into all counters that
 * count, note overflows in GLOBAL_STATUS, freeze if DEBUGCTL says so, and set
 * @pmu->pmi if one of them is to interrupt.  Must come before any access.
 */
void perfmon_settle(Perfmon *pmu, const PmuLedgerSnapshot *now);

/*
 * RDMSR.  *@value is written only on PERFMON_OK.
 */
PerfmonResult perfmon_rdmsr(const Perfmon *pmu, uint32_t msr, uint64_t *value);

/*
 * WRMSR in two steps, as a write that faults must not retire: the check has
 * no side effect, the write must have been checked and settled.
 */
PerfmonResult perfmon_wrmsr_check(const Perfmon *pmu, uint32_t msr,
                                  uint64_t value);
void perfmon_wrmsr(Perfmon *pmu, uint32_t msr, uint64_t value);

/*
 * RDPMC with ECX = @ecx (SDM vol. 2B): PERFMON_OK or PERFMON_GP.  Privilege
 * is the caller's business.
 */
PerfmonResult perfmon_rdpmc(const Perfmon *pmu, uint32_t ecx, uint64_t *value);

/* What the registers ask for now. */
PerfmonDemand perfmon_demand(const Perfmon *pmu);

/*
 * How far the ledger may move before a counter can interrupt.  Counters whose
 * overflow does not interrupt are left out: nobody sees it before the next
 * perfmon_settle(), and that finds it.
 *
 * Each figure is the largest n such that no counter of its kind can wrap
 * while no item of its kind has grown by n or more, growth being the sum over
 * both levels; at least 1.  UINT64_MAX where there is no such counter.  A
 * counter with a remainder (pmu_selection_gain()) may wrap later than that.
 */
typedef struct PerfmonSlack {
    /* Over counters of INSTRUCTIONS, and exact: the n-th one overflows. */
    uint64_t instructions;
    /*
     * The same over those that count at one level, while only instructions at
     * that level retire.  A counter of both levels bounds both figures: after
     * a change of level they must be asked for again, or the growth at the
     * other level be taken off.
     */
    uint64_t instructions_level[PMU_LEVEL_NR];
    /* Over counters of branches: an item grows by at most 1 a branch. */
    uint64_t branches;
    /* Over counters of CYCLES. */
    uint64_t cycles;
    /*
     * Over counters of slots and the hidden ones of PERF_METRICS: all classes
     * of slots grow by that many together.
     */
    uint64_t slots;
    /* Over all other counters. */
    uint64_t any;
    /*
     * Over the counters of @any, in slots, and no bound: the first of them
     * interrupts no sooner if none counts faster than it did lately.
     */
    uint64_t expected;
} PerfmonSlack;

void perfmon_slack(const Perfmon *pmu, PerfmonSlack *slack);

/*
 * For PerfmonSlack.expected: what counted since the last call is what a counter
 * can do.  It is forgotten within some million slots.
 */
void perfmon_note_pace(Perfmon *pmu);

/*
 * One counter as a person reads it, for the monitor.  @index counts the GP
 * counters first, then the fixed ones.  Returns false past the last.
 */
typedef struct PerfmonView {
    const char *counter;        /* "IA32_PMC0", "IA32_FIXED_CTR3" */
    const char *event;          /* "CPU_CLK_UNHALTED.THREAD", NULL unknown */
    PmuEventState state;        /* how well it is counted */
    const char *note;           /* how, or why not; else NULL */
    uint64_t value;
    bool enabled;               /* it counts at some level */
    bool os, usr, interrupt;
} PerfmonView;

bool perfmon_view(const Perfmon *pmu, unsigned index, PerfmonView *view);

/*
 * Row @index of the register table, for dumps and tests: its name, to which
 * the number of the register is appended if there are several, the first
 * register, and how many there are.  NULL past the end.
 */
const char *perfmon_msr_row(unsigned index, uint32_t *first, unsigned *count);

#endif
