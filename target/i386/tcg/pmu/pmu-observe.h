/*
 * Who looks at what a driver does to the PMU: traces, recorder, checker.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_OBSERVE_H
#define TARGET_I386_PMU_OBSERVE_H

#include "pmu-internal.h"
#include "tcg/pmu/check/check.h"
#include "tcg/pmu/check/recorder.h"

typedef struct X86PMUReport X86PMUReport;

/* pmu-check */
typedef enum X86PMUCheckMode {
    X86_PMU_CHECK_OFF,
    X86_PMU_CHECK_LOG,
    X86_PMU_CHECK_EVENT,
    X86_PMU_CHECK_STOP,
    X86_PMU_CHECK_EXIT,
    X86_PMU_CHECK_MODES
} X86PMUCheckMode;

/* Properties, as they were given. */
struct X86PMUObserverOptions {
    X86PMUCheckMode mode;
    char *rules, *suppress, *map, *report, *text;       /* NULL: not given */
    uint64_t min_period;
    int64_t recorder;           /* entries; -1: not given */
};

/* What was done to one MSR, by PmuCheckAccess, and those that raised #GP. */
typedef struct X86PMUAccesses {
    uint64_t count[PMU_CHECK_RDPMC + 1];
    uint64_t faults;
} X86PMUAccesses;

struct X86PMUObserver {
    CPUX86State *env;
    X86PMUCheckMode mode;
    PmuCheck *check;            /* or NULL */
    PmuRecorder *recorder;      /* or NULL */
    X86PMUReport *report;       /* that vCPUs share; or NULL */
    GHashTable *accesses;       /* X86PMUAccesses by MSR */
    uint64_t interrupts[PMU_CHECK_MASKED + 1];  /* by PmuCheckOutcome */
};

/* Instructions with -icount, else nanoseconds: PmuRecorderEntry.clock. */
uint64_t x86_pmu_clock(CPUState *cs);
const char *x86_pmu_clock_unit(void);

/* The report: pmu-check.c */

/* PmuCheckReport of the X86PMUObserver @opaque. */
void x86_pmu_report_hit(void *opaque, const PmuCheckHit *hit);

/*
 * The report that all vCPUs share, with @observer among those it is about.
 * False and @errp set if a file cannot be read or is wrong.
 */
bool x86_pmu_report_join(X86PMUObserver *observer,
                         const X86PMUObserverOptions *options,
                         Error **errp);
void x86_pmu_report_leave(X86PMUObserver *observer);

/* What suppresses hits, or NULL. */
const PmuSuppressions *x86_pmu_report_suppressions(const X86PMUReport *report);

#endif
