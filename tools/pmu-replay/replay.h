/*
 * Replaying a recording through the timing model, and the result.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TOOLS_PMU_REPLAY_REPLAY_H
#define TOOLS_PMU_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tcg/pmu/ledger/ledger.h"

/* The most marks of a recording; later ones are dropped. */
#define REPLAY_MARKS 256

typedef struct ReplayOptions {
    bool sampled, all, no_flush, cached, items;
    uint32_t seed;              /* of the random periods; 0: QEMU's seed */
} ReplayOptions;

/* The contents of a recording. */
typedef struct Recording {
    const char *name, *data;
    size_t size;
    bool quiet;                 /* another process reports errors */
} Recording;

/*
 * The ledger at each mark, and the CPU time that the replay took up to there.
 * It has no pointers, so that it can be written to a file as it is.
 */
typedef struct ReplayResult {
    size_t size;                /* of the recording, bytes */
    bool ended;                 /* the recording has a REC_END */
    unsigned marks;
    PmuLedgerSnapshot mark[REPLAY_MARKS];
    double seconds[REPLAY_MARKS];
} ReplayResult;

/*
 * Replay @recording, with sampling or all in detail.  The caller frees the
 * result with g_free().  Calls exit() if the recording is malformed.
 */
ReplayResult *replay(const Recording *recording, const ReplayOptions *options,
                     bool sampled);

#endif
