/*
 * The state of the pipeline: one structure for each of its parts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Private to this folder; others go through pipeline.h.
 */

#ifndef TARGET_I386_PMU_BACKEND_PIPELINE_STATE_H
#define TARGET_I386_PMU_BACKEND_PIPELINE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/backend/timeline.h"
#include "tcg/pmu/decode/insn.h"
#include "tcg/pmu/frontend/delivery.h"
#include "tcg/pmu/ledger/slot-clock.h"
#include "tcg/pmu/memory/miss-timing.h"
#include "tcg/pmu/memory/outstanding.h"
#include "tcg/pmu/memory/reservation-table.h"
#include "tcg/pmu/uarch/uarch.h"

/* What ends then was waiting for; from _MEMORY on it is memory. */
typedef enum PmuCause {
    PMU_CAUSE_CORE,
    PMU_CAUSE_SERIAL,           /* a serialising instruction */
    PMU_CAUSE_MEMORY,
    PMU_CAUSE_STORES,           /* room in the store buffer */
} PmuCause;

/*
 * A cycle in which something ends, and what that waits for: so that the later
 * of two brings its reason along.
 */
typedef uint64_t PmuCompletion;

#define PMU_COMPLETION_BY(cycle, cause) ((cycle) << 2 | (cause))
#define PMU_COMPLETION(cycle, memory)   ((cycle) << 2 | (memory) << 1)
#define PMU_COMPLETION_CYCLE(stamp)     ((stamp) >> 2)
#define PMU_COMPLETION_MEMORY(stamp)    ((stamp) >> 1 & 1)
#define PMU_COMPLETION_CAUSE(stamp)     ((stamp) & 3)

/* Ring sizes: powers of 2, at least the limits of what they follow. */
#define PMU_ROB_RING    1024
#define PMU_LOAD_RING   256
#define PMU_STORE_RING  128

/*
 * An instruction begins to issue when so many of its slots, or all, have room
 * in the reorder buffer; each of the others waits for its own.
 */
#define PMU_ROB_CHUNK   8

/*
 * Micro-ops that dispatch later than that: at most a scheduler full and one
 * that fuses with an instruction that needed no place there.
 */
#define PMU_MAX_LATE_DISPATCHES (PMU_MAX_SCHEDULER + 1)

/* A newer store: when a load can have its data, and when it left the buffer. */
typedef struct PmuStoreSlot {
    uint64_t data;
    uint64_t drained;
    uint8_t renames;            /* bytes that memory renaming knows; 0: none */
} PmuStoreSlot;

/* Registers: when each has its newest value, and where that comes from. */
typedef struct PmuRegisters {
    uint64_t ready[PMU_REG_NR + 1];     /* the last is written for "none" */
    uint8_t bypass[PMU_REG_NR + 1];     /* PmuBypass of what made it */
    bool rsp_ahead;             /* the stack engine knows RSP better */
} PmuRegisters;

/* The reorder buffer. */
typedef struct PmuReorderBuffer {
    uint64_t uops;              /* so far */
    uint64_t retirable;         /* ... that have a time in @completed */
    PmuCompletion retired;      /* of the newest micro-op */
    PmuCompletion completed[PMU_ROB_RING];      /* by micro-op: it retired */
} PmuReorderBuffer;

/*
 * Ports.  A micro-op is bound to one of those that it can go to when it issues,
 * and stays there: @waiting is what decides which (ports.h).
 */
typedef struct PmuPortState {
    uint16_t memory;            /* ports of loads and stores: bound late */
    uint64_t begin;             /* the first cycle that @taken knows of */
    uint16_t taken[PMU_CYCLE_WINDOW];   /* by cycle: ports in use, a bit each */
    uint16_t waiting[PMU_MAX_PORTS];    /* by port: bound, in use from @begin */
    uint8_t port;               /* of the newest micro-op */
    bool report;                /* whether to count in @dispatched */
    uint64_t dispatched[PMU_MAX_PORTS];         /* micro-ops */
} PmuPortState;

/* The scheduler. */
typedef struct PmuScheduler {
    uint32_t occupied;          /* micro-ops in it */
    uint16_t dispatches[PMU_CYCLE_WINDOW];      /* by cycle: leave it */
    uint32_t num_late;
    uint64_t late[PMU_MAX_LATE_DISPATCHES];     /* ... beyond the window */
} PmuScheduler;

/* Load and store buffers. */
typedef struct PmuLoadStoreUnit {
    uint64_t loads, stores;             /* so far */
    uint64_t loads_from;        /* no load starts before */
    PmuCompletion load[PMU_LOAD_RING];  /* by load: when it retired */
    PmuStoreSlot store[PMU_STORE_RING];
    uint64_t drained;           /* when the newest store left the buffer */
    bool paired;                /* ... together with the one before */
} PmuLoadStoreUnit;

/* The newest instruction if it can fuse with the next, for rebinding. */
typedef struct PmuFusion {
    uint8_t kinds;              /* PMU_FUSE_x */
    bool has_port;              /* it has a compute micro-op */
    uint8_t port;               /* of that */
    uint64_t cycle;             /* when that is dispatched */
    uint64_t issue;             /* when it could have been at the earliest */
    uint64_t ready;             /* when its sources are ready */
} PmuFusion;

/* For counting cycles alone: see cycle-statistics.h. */
typedef struct PmuCycleStats {
    bool scheduler_empty;       /* in the newest cycle */
    uint64_t counted;           /* micro-ops counted as retired */
    uint64_t retire_cycle;      /* the next one to be counted */
    uint32_t retiring;          /* micro-ops counted in it */
} PmuCycleStats;

/*
 * Where issue began after the newest flush.  The share of slots filled since
 * then is what a wrong path fills, too.
 */
typedef struct PmuRightPath {
    uint64_t cycle;             /* in which it could begin to issue */
    uint64_t uops;              /* of rob.uops, those before it */
} PmuRightPath;

/*
 * Fetching after the newest flush, as far as it has passed with that: part of
 * the next bubble, if that follows, or one that is not counted yet.
 */
typedef struct PmuRefetch {
    uint64_t cycles, until;
} PmuRefetch;

typedef struct PmuPipeline {
    const PmuUarch *uarch;
    PmuTimeline *timeline;      /* of what retires; may be NULL */
    PmuTimelineEntry stages;    /* of the newest instruction, with @timeline */
    PmuClock clock;
    PmuCompletion barrier;      /* no issue before */
    uint64_t pause;             /* cycle: the newest PAUSE ends */
    uint64_t repairs;           /* states that cannot be, found and repaired */
    PmuFusion fusion;
    PmuRightPath right_path;
    PmuRefetch refetch;
    PmuDelivery delivery;
    PmuRegisters registers;
    PmuReservationTable resource[PMU_RESOURCE_NR];
    PmuLoadStoreUnit lsu;
    PmuMissTiming misses;
    PmuReorderBuffer rob;
    PmuPortState ports;
    PmuScheduler scheduler;
    PmuOutstanding outstanding;
    PmuCycleStats stats;
} PmuPipeline;

/* Who is to blame that the rest of a cycle, and those after it, are lost. */
typedef enum PmuStallReason {
    PMU_STALL_ANY,
    PMU_STALL_STORE_BUFFER,     /* the store buffer is full */
    PMU_STALL_WRONG_PATH,       /* micro-ops of the wrong path issue */
} PmuStallReason;

#endif
