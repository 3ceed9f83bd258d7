/*
 * What the checker remembers of a driver.  It migrates with the guest.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_CHECK_CHECK_MEMORY_H
#define TARGET_I386_PMU_CHECK_CHECK_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/check/controls.h"

/* Greatest depth of nested interrupts that is counted. */
#define PMU_CHECK_MAX_DEPTH 64

/* A counter.  Most fields are about the time since it was last written. */
typedef struct PmuCheckCounter {
    bool known;                 /* the other fields are valid */
    bool ever_written;          /* it was written since RESET */
    bool counted;               /* it has counted since it was written */
    bool passed_over;           /* others started since then, it did not */
    bool acked;                 /* its overflow was acknowledged since then */
    bool inside;                /* C12: the last writer was in the given text */
    bool owned;                 /* C12: @inside is known */
    uint8_t dead_reads;         /* C9: CPL 0 reads, each after others started */
    bool idle;                  /* C8: enabled, but not in GLOBAL_CTRL */
    bool idle_reported;
    uint64_t idle_since;        /* PmuCheckWhere.clock */
    uint64_t event;             /* at its last start: pmu_check_selector() */
    uint64_t space;             /* pmu_check_space() of last start or stop */
} PmuCheckCounter;

/* Whether fixed counter 3 and PERF_METRICS belong together. */
typedef enum PmuCheckPair {
    PMU_PAIR_UNKNOWN,
    PMU_PAIR_SYNCED,
    PMU_PAIR_STALE,             /* counter 3 was written, or one overflowed */
    PMU_PAIR_CLEARED,           /* counter 3 was written with 0 */
    PMU_PAIR_STATES
} PmuCheckPair;

/* Fixed counter 3 and PERF_METRICS, which software must keep together. */
typedef struct PmuCheckSlots {
    uint32_t state;             /* PmuCheckPair */
    /* PmuCheckMemory.number of the last such event; 0: there was none. */
    uint64_t slots_written, metrics_written, stopped, acked;
    bool metrics_acked;         /* bit 48 was acknowledged, PERF_METRICS */
    bool ran;                   /* PERF_METRICS has counted since its write */
    /* Fixed counter 3 was read at CPL 0, and PERF_METRICS not since. */
    bool read;
    bool read_running;          /* ... while it counted */
    bool disturbed;             /* ... and a write or an interrupt followed */
    bool saved;                 /* counter 3 was read since it stopped */
    bool metrics_read;          /* since either of them was written */
    uint64_t metrics_read_at;   /* ... value of counter 3 then */
} PmuCheckSlots;

/* The performance monitoring interrupt (PMI). */
typedef struct PmuCheckPmi {
    uint32_t lvtpc;
    bool lvtpc_known;
    bool latched;               /* delivered, and its handler not entered yet */
    bool held;                  /* ... because the handler of an NMI runs */
    bool active;                /* its handler runs */
    bool unmasked;              /* ... and has unmasked LVTPC */
    bool status_read;           /* ... and has read GLOBAL_STATUS */
    bool started;               /* ... and has started counters */
    uint32_t status_reads;      /* ... and how often */
    uint32_t depth;             /* of nested interrupts, this one included */
    bool masked;                /* P3: counters interrupt, LVTPC is masked */
    bool masked_reported;
    uint64_t masked_since;      /* PmuCheckWhere.clock */
} PmuCheckPmi;

typedef struct PmuCheckMemory {
    uint64_t number;            /* of events so far */
    PmuCheckCounter counter[PMU_CHECK_COUNTERS];
    PmuCheckSlots slots;
    PmuCheckPmi pmi;
    /* Bits that are set in IA32_PERF_GLOBAL_STATUS: those */
    uint64_t status_read;       /* that software has read, */
    uint64_t pending;           /* whose interrupt will still come, */
    uint64_t lost;              /* whose interrupt will not come. */
    uint32_t last_read;         /* C16: a counter; PMU_CHECK_COUNTERS: none */
} PmuCheckMemory;

#endif
