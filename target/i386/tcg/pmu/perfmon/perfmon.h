/*
 * The register file of the performance-monitoring unit.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * It sees counts as snapshots of the ledger, which it turns into values of
 * counters, overflows and interrupts.
 *
 * This folder has the register maps of all vendors and generations
 * (register-map, map-*), RDMSR and WRMSR by them (perfmon-msr), counters in one
 * form (counter), the arithmetic of PERF_METRICS (perf-metrics), and the
 * distance to the next overflow (overflow-distance, event-rates).  It includes
 * events/, ledger/ and uarch/.  It must know neither QEMU nor the timing model:
 * a caller brings snapshots, raises #GP and delivers interrupts.
 */

#ifndef TARGET_I386_PMU_PERFMON_PERFMON_H
#define TARGET_I386_PMU_PERFMON_PERFMON_H

#include "tcg/pmu/perfmon/overflow-distance.h"
#include "tcg/pmu/perfmon/perfmon-msr.h"
#include "tcg/pmu/perfmon/perfmon-state.h"

/* What must run for the counters that now count. */
typedef struct PerfmonDemand {
    /* Some counter counts at this level. */
    bool level[PMU_LEVEL_NR];
    /*
     * Some counter needs more than retired instructions, branches, and
     * conditional ones whichever way they went.
     */
    bool timing;
    /* What it needs besides slots, cycles and kinds of instructions. */
    PmuInterest interest;
} PerfmonDemand;

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
void perfmon_update(Perfmon *pmu, const PmuLedgerSnapshot *now);

/*
 * RDPMC with ECX = @ecx (SDM vol. 2B): PERFMON_OK or PERFMON_GP.  Privilege
 * is the caller's business.
 */
PerfmonResult perfmon_rdpmc(const Perfmon *pmu, uint32_t ecx, uint64_t *value);

/*
 * RDPMC with ECX = @ecx has returned a value: with METRICS_CLEAR_EN, that of
 * PERF_METRICS clears it and IA32_FIXED_CTR3.  Returns if it did.
 */
bool perfmon_rdpmc_done(Perfmon *pmu, uint32_t ecx);

/*
 * Let counter @index (general-purpose ones first), or field @index of
 * PERF_METRICS, count what is missing to its overflow, which has happened then.
 * Returns how much that was; of metrics, in 1/255 slots.
 */
uint64_t perfmon_wrap(Perfmon *pmu, unsigned index);
uint64_t perfmon_wrap_metric(Perfmon *pmu, unsigned index);

/* Let counter @index gain @n, 2^32 - 1 at most. */
void perfmon_add(Perfmon *pmu, unsigned index, uint64_t n);

/*
 * The lower 32 bits of counter @index are 0, the others stay.  Returns what the
 * counter had more.
 */
uint64_t perfmon_clear_half(Perfmon *pmu, unsigned index);

/*
 * Counters with a bit in @status, as in IA32_PERF_GLOBAL_STATUS, stand still,
 * whatever registers say, and no others.  Neither RESET nor what comes from
 * elsewhere changes that.
 */
void perfmon_hold(Perfmon *pmu, uint64_t status);

/* What the registers ask for now. */
PerfmonDemand perfmon_demand(const Perfmon *pmu);

/*
 * One counter as a person reads it, for the monitor.  @index counts the GP
 * counters first, then the fixed ones.  Returns false past the last.
 */
typedef struct PerfmonView {
    const char *counter;        /* "IA32_PMC", "IA32_FIXED_CTR" */
    unsigned number;            /* that follows the name */
    const char *event;          /* "CPU_CLK_UNHALTED.THREAD", NULL unknown */
    PmuEventState state;        /* how well it is counted */
    const char *note;           /* how, or why not; else NULL */
    uint64_t selector;          /* the map's, 0 of fixed ones */
    uint64_t value;
    bool switched_on;           /* by its own control */
    bool enabled;               /* it counts at some level */
    bool os, usr, interrupt;
} PerfmonView;

bool perfmon_view(const Perfmon *pmu, unsigned index, PerfmonView *view);

#endif
