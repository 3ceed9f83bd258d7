/*
 * Replaying a recording, and what that says.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TOOLS_PMU_REPLAY_REPLAY_H
#define TOOLS_PMU_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tcg/pmu/ledger/ledger.h"

/* Those behind them are dropped. */
#define REPLAY_MARKS 256

typedef struct ReplayOptions {
    bool sampled, all, no_flush, cached, items;
    uint32_t seed;              /* of the periods; 0: that of QEMU */
} ReplayOptions;

/* The contents of a recording. */
typedef struct Recording {
    const char *name, *data;
    size_t size;
    bool quiet;                 /* another process tells what is wrong */
} Recording;

/* What the ledger had at each mark, and when: a plain block of memory. */
typedef struct ReplayResult {
    size_t size;                /* of the recording */
    bool ended;                 /* there was a REC_END */
    unsigned marks;
    PmuLedgerSnapshot mark[REPLAY_MARKS];
    double seconds[REPLAY_MARKS];
} ReplayResult;

/*
 * Replay @recording, sampled or all in detail.  Returns what it took, to be
 * freed with g_free(); exits if the recording cannot be read.
 */
ReplayResult *replay(const Recording *recording, const ReplayOptions *options,
                     bool sampled);

#endif
