/*
 * Observers of what a driver does to the PMU: traces, recorder, checker.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_OBSERVE_H
#define TARGET_I386_PMU_OBSERVE_H

#include "pmu-internal.h"
#include "tcg/pmu/check/check.h"
#include "tcg/pmu/check/recorder.h"

typedef struct X86PMUReport X86PMUReport;

/* Values of pmu-check: what happens when a driver breaks a rule. */
typedef enum X86PMUCheckMode {
    X86_PMU_CHECK_OFF,
    X86_PMU_CHECK_LOG,
    X86_PMU_CHECK_EVENT,
    X86_PMU_CHECK_STOP,
    X86_PMU_CHECK_EXIT,
    X86_PMU_CHECK_MODES
} X86PMUCheckMode;

/* The properties of one CPU, as the user gave them: pmu-check.c */
struct X86PMUObserverOptions {
    X86PMUCheckMode mode;
    char *rules, *suppress, *map, *report, *text;       /* NULL: not given */
    uint64_t min_period;        /* 0: not given */
    int64_t recorder;           /* entries; -1: not given */
};

/* Accesses to one MSR. */
typedef struct X86PMUAccesses {
    uint64_t count[PMU_CHECK_RDPMC + 1];        /* by PmuCheckAccess */
    uint64_t faults;            /* those that raised #GP; not in @count */
} X86PMUAccesses;

struct X86PMUObserver {
    CPUX86State *env;
    X86PMUCheckMode mode;
    PmuCheck *check;            /* or NULL */
    PmuRecorder *recorder;      /* or NULL */
    X86PMUReport *report;       /* shared by all vCPUs; or NULL */
    GHashTable *accesses;       /* X86PMUAccesses by MSR */
    uint64_t interrupts[PMU_CHECK_MASKED + 1];  /* by PmuCheckOutcome */
};

/*
 * The time for PmuRecorderEntry.clock: instructions with -icount, else
 * nanoseconds; and the name of the unit.
 */
uint64_t x86_pmu_clock(CPUState *cs);
const char *x86_pmu_clock_unit(void);

/* The report: pmu-report.c */

/* A PmuCheckReport; @opaque is an X86PMUObserver. */
void x86_pmu_report_hit(void *opaque, const PmuCheckHit *hit);

/*
 * Add @observer to the report that all vCPUs share, which the first one
 * creates.  False and @errp set if a file cannot be read or created, or is
 * wrong, or if other vCPUs have other files.
 */
bool x86_pmu_report_join(X86PMUObserver *observer,
                         const X86PMUObserverOptions *options,
                         Error **errp);
void x86_pmu_report_leave(X86PMUObserver *observer);

/* The suppressions of the file pmu-check-suppress; NULL: none was given. */
const PmuSuppressions *x86_pmu_report_suppressions(const X86PMUReport *report);

#endif
