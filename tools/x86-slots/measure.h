/*
 * x86-slots: measure a block in the model, in the steady state.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.
 */

#ifndef TOOLS_X86_SLOTS_MEASURE_H
#define TOOLS_X86_SLOTS_MEASURE_H

#include "addresses.h"
#include "code.h"
#include "tcg/pmu/backend/timeline.h"
#include "tcg/pmu/ledger/ledger.h"
#include "tcg/pmu/uarch/uarch.h"

typedef struct MeasureOptions {
    bool loop;                  /* else straight-line code of many copies */
    uint64_t rep;               /* iterations of each REP instruction */
    unsigned timeline;          /* iterations of the block in the timeline */
    AddressOptions addresses;
} MeasureOptions;

typedef struct Measurement {
    unsigned copies;            /* of the block in the code */
    uint64_t iterations;        /* measured */
    bool steady;                /* the last two rounds agreed */
    /* For one iteration: */
    double cycles;
    double instructions;
    double uops;                /* fused domain, issued and retired */
    double port[PMU_MAX_PORTS]; /* micro-ops dispatched */
    double slots[PMU_SLOT_NR];  /* each class's share of all slots, 0 to 1 */
    bool *fused;                /* by index in Code.path: in some copy, it is
                                   fused with the instruction before */
    PmuTimeline timeline;       /* begins with an empty pipeline */
} Measurement;

/*
 * Run @code, which @reader read for the core @uarch, until its cycles do not
 * change any more, and fill in @result.  With @options->loop, @code must be
 * closed.  The caller releases @result with measurement_clear().
 */
void measure(CodeReader *reader, const Code *code, const PmuUarch *uarch,
             const MeasureOptions *options, Measurement *result);
void measurement_clear(Measurement *result);

#endif
