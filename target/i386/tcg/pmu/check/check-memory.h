/*
 * What the checker remembers of a driver: it travels with the guest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_CHECK_CHECK_MEMORY_H
#define TARGET_I386_PMU_CHECK_CHECK_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/check/controls.h"

/* Deeper nests of interrupts are not told apart. */
#define PMU_CHECK_MAX_DEPTH 64

/* One counter since it was last written. */
typedef struct PmuCheckCounter {
    bool known;                 /* the rest of this is */
    bool touched;               /* it was written since RESET */
    bool counted;               /* ... and has been on since then */
    bool passed_over;           /* ... or others have, but not this one */
    bool acked;                 /* its overflow was, and it was not written */
    bool inside;                /* C12: who wrote was within the text given */
    bool owned;                 /* C12: @inside is known */
    uint8_t dead_reads;         /* C9 */
    bool idle;                  /* C8: locally on, and not in GLOBAL_CTRL */
    bool idle_reported;
    uint64_t idle_since;
    uint64_t written;           /* the value */
    uint64_t event;             /* what it counted, as pmu_check_selector() */
    uint64_t space;             /* address space in which it counted */
} PmuCheckCounter;

typedef enum PmuCheckPair {
    PMU_PAIR_UNKNOWN,
    PMU_PAIR_SYNCED,
    PMU_PAIR_STALE,             /* fixed counter 3 was written, or wrapped */
    PMU_PAIR_CLEARED,           /* ... written with 0 */
    PMU_PAIR_STATES
} PmuCheckPair;

/* Fixed counter 3 and PERF_METRICS, which software must keep together. */
typedef struct PmuCheckSlots {
    uint32_t state;             /* PmuCheckPair */
    /* Numbers of events, 0: never. */
    uint64_t slots_written, metrics_written, stopped, acked;
    bool metrics_acked;         /* it was bit 48 that was */
    bool ran;                   /* the metrics have been on since SYNCED */
    /* Fixed counter 3 was read at CPL 0, and PERF_METRICS not since then. */
    bool read;
    bool read_running;          /* ... while it counted */
    bool disturbed;             /* ... and something came between */
    bool saved;                 /* it was read since it stopped */
    bool metrics_read;          /* since fixed counter 3 was written */
    uint64_t metrics_read_at;   /* ... when that was so much */
} PmuCheckSlots;

/* The interrupt. */
typedef struct PmuCheckPmi {
    uint32_t lvtpc;
    bool lvtpc_known;
    bool latched;               /* delivered, its handler does not run yet */
    bool held;                  /* ... as that of an NMI does */
    bool active;                /* its handler runs */
    bool unmasked;              /* ... and has unmasked LVTPC */
    bool status_read;           /* ... and has read GLOBAL_STATUS */
    bool started;               /* ... and has let counters count */
    uint32_t status_reads;      /* ... so many times */
    uint32_t depth;             /* interrupts in it, and itself */
    bool masked;                /* P3: counters would interrupt, LVTPC masks */
    bool masked_reported;
    uint64_t masked_since;
} PmuCheckPmi;

typedef struct PmuCheckMemory {
    uint64_t number;            /* of events told */
    PmuCheckCounter counter[PMU_CHECK_COUNTERS];
    PmuCheckSlots slots;
    PmuCheckPmi pmi;
    /* Bits of GLOBAL_STATUS that are set, and */
    uint64_t seen;              /* were read, */
    uint64_t pending;           /* whose interrupt is to come, */
    uint64_t lost;              /* whose interrupt will not. */
    uint32_t last_read;         /* C16: the counter, PMU_CHECK_COUNTERS none */
} PmuCheckMemory;

#endif
