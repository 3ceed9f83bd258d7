/*
 * The register file of the performance-monitoring unit.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * It gets counts as snapshots of the ledger, and turns them into values of
 * counters, overflows and interrupts.
 *
 * This folder has the register maps of all vendors and generations
 * (register-map, map-*), RDMSR and WRMSR by these maps (perfmon-msr), counters
 * of all kinds in one form (counter), the arithmetic of PERF_METRICS
 * (perf-metrics), and the distance to the next overflow (overflow-distance,
 * event-rates).  It includes events/, ledger/ and uarch/.  It must know neither
 * QEMU nor the timing model: the caller provides snapshots, raises #GP and
 * delivers interrupts.
 */

#ifndef TARGET_I386_PMU_PERFMON_PERFMON_H
#define TARGET_I386_PMU_PERFMON_PERFMON_H

#include "tcg/pmu/perfmon/overflow-distance.h"
#include "tcg/pmu/perfmon/perfmon-msr.h"
#include "tcg/pmu/perfmon/perfmon-state.h"

/* What the counters that are on now need. */
typedef struct PerfmonDemand {
    /* Some counter counts at this level. */
    bool level[PMU_LEVEL_NR];
    /*
     * Some counter needs more than the retired instructions, the branches and
     * the conditional branches, whichever way these went, and interrupts and
     * exceptions.
     */
    bool timing;
    /* What they need besides slots, cycles and kinds of instructions. */
    PmuInterest interest;
} PerfmonDemand;

/*
 * Initialize @pmu as after RESET.  Returns false, with a reason in *@why
 * (static text), if @config is out of range.
 */
bool perfmon_init(Perfmon *pmu, const PerfmonConfig *config, const char **why);

/* RESET (SDM vol. 3A, table 10-1).  INIT leaves every register alone. */
void perfmon_reset(Perfmon *pmu);

/*
 * Check the registers in @pmu, which were loaded from a source that may be
 * hostile and are as of @now, and compute what follows from them.  Returns
 * false, with a reason in *@why (static text), if one of them holds what no
 * guest could have made it hold.
 */
bool perfmon_post_load(Perfmon *pmu, const PmuLedgerSnapshot *now,
                       const char **why);

/*
 * Add what the ledger gained since the last call to all counters that are on,
 * set overflows in GLOBAL_STATUS, freeze the counters if DEBUGCTL says so, and
 * set @pmu->pmi if an overflow is to interrupt.  The caller must do this before
 * any access to a register.
 */
void perfmon_update(Perfmon *pmu, const PmuLedgerSnapshot *now);

/*
 * RDPMC with ECX = @ecx (SDM vol. 2B): PERFMON_OK or PERFMON_GP.  The caller
 * checks the privilege.
 */
PerfmonResult perfmon_rdpmc(const Perfmon *pmu, uint32_t ecx, uint64_t *value);

/*
 * RDPMC with ECX = @ecx has returned a value.  With METRICS_CLEAR_EN, RDPMC of
 * PERF_METRICS clears that and IA32_FIXED_CTR3.  Returns whether it did.
 */
bool perfmon_rdpmc_done(Perfmon *pmu, uint32_t ecx);

/*
 * Let counter @index (general-purpose ones first), or field @index of
 * PERF_METRICS, count all that is missing to its overflow, and overflow.
 * Returns how much that was; for PERF_METRICS in 1/255 slots.
 */
uint64_t perfmon_wrap(Perfmon *pmu, unsigned index);
uint64_t perfmon_wrap_metric(Perfmon *pmu, unsigned index);

/* Let counter @index count @n more, 2^32 - 1 at most. */
void perfmon_add(Perfmon *pmu, unsigned index, uint64_t n);

/*
 * Clear the lower 32 bits of counter @index; the others stay.  Returns by how
 * much its value fell.
 */
uint64_t perfmon_clear_half(Perfmon *pmu, unsigned index);

/*
 * Let the counters with a bit in @status, as in IA32_PERF_GLOBAL_STATUS, stand
 * still, whatever the registers say, and no others.  Neither RESET nor
 * perfmon_post_load() changes that.
 */
void perfmon_hold(Perfmon *pmu, uint64_t status);

/* What the counters that the registers switch on now need. */
PerfmonDemand perfmon_demand(const Perfmon *pmu);

/*
 * One counter in readable form, for the monitor.
 */
typedef struct PerfmonView {
    const char *counter;        /* "IA32_PMC", "IA32_FIXED_CTR" */
    unsigned number;            /* that follows the name */
    const char *event;          /* "CPU_CLK_UNHALTED.THREAD"; NULL: unknown */
    PmuEventState state;        /* how well it is counted */
    const char *note;           /* how it counts, or why not; or NULL */
    uint64_t selector;          /* PerfmonControl.selector; fixed ones: 0 */
    uint64_t value;
    bool switched_on;           /* by its own control; fixed ones: always */
    bool enabled;               /* it counts at some level */
    bool os, usr, interrupt;
} PerfmonView;

/* View counter @index, GP counters first.  Returns false past the last. */
bool perfmon_view(const Perfmon *pmu, unsigned index, PerfmonView *view);

#endif
