/*
 * The registers of the PMU of one vCPU, and the constants that describe them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Only this folder and the migration description change the registers; others
 * use perfmon.h, or only read.
 */

#ifndef TARGET_I386_PMU_PERFMON_PERFMON_STATE_H
#define TARGET_I386_PMU_PERFMON_PERFMON_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/events/events.h"
#include "tcg/pmu/perfmon/event-rates.h"
#include "tcg/pmu/uarch/perf-capabilities.h"

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

/* The most counters of a kind; _ARCH_GP: of all maps but NetBurst's. */
#define PERFMON_MAX_GP      18
#define PERFMON_ARCH_GP     8
#define PERFMON_MAX_FIXED   4
#define PERFMON_MAX_METRICS 8

/* Addresses from the first ESCR's to the last's, 3A0H to 3E1H. */
#define PERFMON_ESCRS       0x42

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
#define PERF_EVTSEL_EVENT_HIGH      (0xfull << 32)      /* AMD: event[11:8] */

/* Bits of counter @n in IA32_FIXED_CTR_CTRL. */
#define PERF_FIXED_OS(n)            (1ull << (4 * (n)))
#define PERF_FIXED_USR(n)           (2ull << (4 * (n)))
#define PERF_FIXED_ANYTHREAD(n)     (4ull << (4 * (n)))
#define PERF_FIXED_PMI(n)           (8ull << (4 * (n)))
/* METRICS_CLEAR_EN, if IA32_PERF_CAPABILITIES[19]: in place of AnyThread. */
#define PERF_FIXED_METRICS_CLEAR    PERF_FIXED_ANYTHREAD(3)

/* Bits of IA32_DEBUGCTL. */
#define PERF_DEBUGCTL_LBR                   (1ull << 0)
#define PERF_DEBUGCTL_BTF                   (1ull << 1)
#define PERF_DEBUGCTL_FREEZE_LBRS_ON_PMI    (1ull << 11)
#define PERF_DEBUGCTL_FREEZE_PERFMON_ON_PMI (1ull << 12)
/* The widest counter, 48 bits.  PERFMON_MASK_COUNTER is what a unit has. */
#define PERFMON_COUNTER_MASK ((1ull << 48) - 1)

/* Masks of register bits: what writes may set, what is held, RESET values. */
typedef enum PerfmonMask {
    PERFMON_MASK_NONE,          /* only zero may be written */
    PERFMON_MASK_ALL,
    PERFMON_MASK_EAX,           /* EAX */
    PERFMON_MASK_COUNTER,
    PERFMON_MASK_GP,            /* a bit for each general-purpose counter */
    PERFMON_MASK_EVTSEL,        /* what may be set without #GP */
    PERFMON_MASK_EVTSEL_HELD,   /* what then reads back */
    PERFMON_MASK_EVTSEL_AT_RESET, /* C3's RESET value */
    PERFMON_MASK_FIXED_CTR_CTRL,
    PERFMON_MASK_FIXED_CTR_CTRL_HELD,
    PERFMON_MASK_GLOBAL_CTRL,
    PERFMON_MASK_GLOBAL_CTRL_AT_RESET,
    PERFMON_MASK_STATUS,        /* what GLOBAL_STATUS can report */
    PERFMON_MASK_STATUS_CLEARABLE, /* what may be cleared, even if absent */
    PERFMON_MASK_METRICS,
    PERFMON_MASK_DEBUGCTL,      /* what may be set without #GP */
    PERFMON_MASK_DEBUGCTL_HELD, /* what then reads back */
    PERFMON_MASK_OFFCORE_RSP,
    PERFMON_MASK_LD_LAT,
    PERFMON_MASK_FRONTEND,
    PERFMON_MASK_CCCR,
    PERFMON_MASK_ESCR,
    PERFMON_MASK_PEBS_ENABLE,   /* of NetBurst */
    PERFMON_MASK_PEBS_MATRIX,
    PERFMON_MASK_CESR,
    PERFMON_MASK_NR
} PerfmonMask;

/* What decides how many registers of a row exist: Perfmon.num_present. */
typedef enum PerfmonPresence {
    PERFMON_PRESENT_NOWHERE,    /* none: each access raises #GP */
    PERFMON_PRESENT,            /* all that the row has */
    PERFMON_PRESENT_GP,
    PERFMON_PRESENT_FW_WRITE,
    PERFMON_PRESENT_FIXED,
    PERFMON_PRESENT_PDCM,
    PERFMON_PRESENT_METRICS,
    PERFMON_PRESENT_GLOBAL,     /* from version 2 on */
    PERFMON_PRESENT_V4,         /* from version 4 on */
    PERFMON_PRESENT_OFFCORE,
    PERFMON_PRESENT_LD_LAT,
    PERFMON_PRESENT_FRONTEND,
    PERFMON_PRESENT_AMD_CORE,   /* with CPUID.80000001H:ECX[23] */
    PERFMON_PRESENT_IQ_ESCRS,   /* NetBurst: models 1 and 2 */
    PERFMON_PRESENT_NR
} PerfmonPresence;

/* K7's counters.  AMD cores with more have all at other addresses, too. */
#define PERFMON_AMD_LEGACY_GP 4

/* The register maps: register-map.h. */
typedef enum PerfmonMap {
    PERFMON_MAP_ARCHITECTURAL,  /* Intel since Core Duo */
    PERFMON_MAP_P6,
    PERFMON_MAP_AMD,            /* since K7 */
    PERFMON_MAP_NETBURST,
    PERFMON_MAP_P5,
    PERFMON_MAP_C3,             /* VIA */
    PERFMON_MAP_NR
} PerfmonMap;

/* Is AnyThread deprecated, so that writes of its bits do not stick? */
typedef enum PerfmonAnyThread {
    PERFMON_ANYTHREAD_BY_VERSION,   /* yes from version 5 on */
    PERFMON_ANYTHREAD_HELD,         /* no, if the version has it */
    PERFMON_ANYTHREAD_DEPRECATED,   /* yes */
} PerfmonAnyThread;

/*
 * What the unit of one vCPU consists of; constant after perfmon_init().  Maps
 * other than the architectural one need @core, @map, @num_gp and the fields
 * whose comments name them.
 */
typedef struct PerfmonConfig {
    PmuCore core;
    PerfmonMap map;
    unsigned num_gp;            /* 1 to PERFMON_MAX_GP */
    unsigned num_fixed;         /* 0, or 3 to PERFMON_MAX_FIXED */
    /*
     * Architectural: 1 to 5; 0: 5.  AMD: 0 (no global registers) or 2.
     */
    unsigned version;
    /* Bits of a counter: 32 to 48; 0: the map's counter_width. */
    unsigned counter_width;
    uint64_t capabilities;      /* IA32_PERF_CAPABILITIES as read */
    bool pdcm;                  /* CPUID.1:ECX.PDCM: MSR 345H exists */
    bool one_offcore;           /* there is no MSR_OFFCORE_RSP_1 */
    bool iq_escrs;              /* NetBurst: models 1 and 2 have IQ_ESCRx */
    bool second_thread;         /* NetBurst: it is T1 of its core */
    unsigned num_metrics;       /* fields of PERF_METRICS: 4; from SPR on, 8 */
    unsigned metrics_width;     /* bits of slots that a field counts: 8 to 48 */
    PerfmonAnyThread anythread;
    uint8_t events_off;         /* CPUID.0AH:EBX; no effect in this folder */
    bool stopped;               /* IA32_PERF_GLOBAL_CTRL is 0 after RESET */
} PerfmonConfig;

/* Registers that select events, in addition to those of PmuEventExtra. */
enum {
    PERFMON_EXTRA_PEBS_ENABLE = PMU_EXTRA_NR,
    PERFMON_EXTRA_PEBS_MATRIX,
    PERFMON_EXTRA_NR
};

/* What a counter's registers say, in one form for all maps. */
typedef struct PerfmonControl {
    uint64_t selector;          /* what it counts, for the map's select() */
    bool enabled;               /* on, unless IA32_PERF_GLOBAL_CTRL is off */
    bool os, usr;
    bool interrupt;             /* an overflow raises a PMI */
    bool every_increment;       /* each increment is an overflow */
    bool cascades;              /* an overflow starts another counter */
} PerfmonControl;

/* The outcome of a guest's register access. */
typedef enum PerfmonResult {
    PERFMON_OK,
    PERFMON_GP,                 /* the access raises #GP(0) */
    PERFMON_NOT_OURS,           /* no such register in this unit */
} PerfmonResult;

/*
 * State of one unit.  Counter values are as of the last perfmon_update().
 */
typedef struct Perfmon {
    PerfmonConfig config;

    /* Derived from @config once, by perfmon_init(). */
    const struct PerfmonRegisterMap *map;
    uint64_t mask[PERFMON_MASK_NR];
    unsigned num_present[PERFMON_PRESENT_NR];
    bool anythread;             /* writes of AnyThread bits stick */
    bool uncore;                /* see PerfmonMsr */

    uint64_t gp[PERFMON_MAX_GP];            /* IA32_PMCx, 48 bits at most */
    uint64_t evtsel[PERFMON_MAX_GP];        /* NetBurst: CCCRs */
    int64_t remainder[PERFMON_MAX_GP];      /* see pmu_selection_gain() */
    uint64_t fixed[PERFMON_MAX_FIXED];      /* IA32_FIXED_CTRx, 48 bits */
    uint64_t fixed_ctr_ctrl;
    uint64_t global_ctrl;
    uint64_t global_status;
    uint64_t metrics[PERFMON_MAX_METRICS];  /* hidden counters, in 1/255 slot */
    uint64_t debugctl;
    uint64_t offcore_rsp[2];
    uint64_t pebs_ld_lat;
    uint64_t pebs_frontend;

    /* NetBurst: ESCRs by address; which replays tag micro-ops. */
    uint64_t escr[PERFMON_ESCRS];
    uint64_t pebs_enable;
    uint64_t pebs_matrix_vert;
    uint64_t cesr;                          /* P5 */

    /* What the registers above say about general-purpose counters. */
    PerfmonControl control[PERFMON_MAX_GP];
    /* What each counter counts, GP counters first, then fixed ones. */
    PmuSelection selected[PERFMON_MAX_GP + PERFMON_MAX_FIXED];
    /* The selectors and extra registers when @selected was looked up. */
    uint64_t selected_evtsel[PERFMON_MAX_GP];
    uint64_t selected_extra[PERFMON_EXTRA_NR];

    /* Where perfmon_update() notes event rates, or NULL: see event-rates.h. */
    PerfmonEventRates *rates;

    /* Counters that stand still, bits as in GLOBAL_STATUS: perfmon_hold(). */
    uint64_t held;

    PmuLedgerSnapshot last;     /* the ledger at the last perfmon_update() */
    /* An overflow asks for an interrupt.  The caller delivers and clears it. */
    bool pmi;
} Perfmon;

#endif
