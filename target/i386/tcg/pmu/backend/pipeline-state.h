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

/*
 * What something waited for before it ended.  From PMU_CAUSE_MEMORY on, that is
 * memory.
 */
typedef enum PmuCause {
    PMU_CAUSE_CORE,
    PMU_CAUSE_SERIAL,           /* a serialising instruction */
    PMU_CAUSE_MEMORY,
    PMU_CAUSE_STORES,           /* room in the store buffer */
} PmuCause;

/*
 * The cycle in which something ends, and in the low bits its PmuCause.  So the
 * MAX() of two completions keeps the cause of the later one.
 */
typedef uint64_t PmuCompletion;

#define PMU_COMPLETION_BY(cycle, cause) ((cycle) << 2 | (cause))
#define PMU_COMPLETION(cycle, memory)   ((cycle) << 2 | (memory) << 1)
#define PMU_COMPLETION_CYCLE(stamp)     ((stamp) >> 2)
#define PMU_COMPLETION_MEMORY(stamp)    ((stamp) >> 1 & 1)
#define PMU_COMPLETION_CAUSE(stamp)     ((stamp) & 3)

/* Ring sizes: powers of 2, at least PMU_MAX_x of the buffers they follow. */
#define PMU_ROB_RING    1024
#define PMU_LOAD_RING   256
#define PMU_STORE_RING  128

/*
 * An instruction begins to issue when the reorder buffer has room for this many
 * of its slots, or for all if it has fewer.  Each later slot waits for room.
 */
#define PMU_ROB_CHUNK   8

/*
 * Most micro-ops that can be dispatched beyond the window (PMU_CYCLE_WINDOW): a
 * full scheduler, and one that fuses with an instruction without an entry in
 * it.
 */
#define PMU_MAX_LATE_DISPATCHES (PMU_MAX_SCHEDULER + 1)

/* One of the newest stores. */
typedef struct PmuStoreSlot {
    uint64_t data;              /* cycle in which its data are ready */
    uint64_t drained;           /* cycle in which it leaves the buffer */
    uint8_t renames;            /* bytes that memory renaming knows; 0: none */
} PmuStoreSlot;

/* Registers: when each has its newest value, and what made that. */
typedef struct PmuRegisters {
    uint64_t ready[PMU_REG_NR + 1];     /* cycle; last: destination "none" */
    uint8_t bypass[PMU_REG_NR + 1];     /* PmuBypass of what made it */
    bool rsp_ahead;             /* only the stack engine knows RSP */
} PmuRegisters;

/* The reorder buffer. */
typedef struct PmuReorderBuffer {
    uint64_t uops;              /* micro-ops issued so far */
    uint64_t retirable;         /* ... that have a time in @completed */
    PmuCompletion retired;      /* when the newest micro-op retires */
    PmuCompletion completed[PMU_ROB_RING];  /* by micro-op: it retires */
} PmuReorderBuffer;

/*
 * Ports.  When a micro-op issues, it is bound to one of the ports that it can
 * go to, and stays there.  @waiting decides which one (ports.h).
 */
typedef struct PmuPortState {
    uint16_t memory;            /* ports of loads and stores, which take
                                   the one that is free first */
    uint64_t begin;             /* the first cycle that @taken knows of */
    uint16_t taken[PMU_CYCLE_WINDOW];   /* by cycle: ports in use, a bit each */
    uint16_t waiting[PMU_MAX_PORTS];    /* by port: micro-ops in @taken */
    uint8_t port;               /* of the newest micro-op */
    bool report;                /* count in @dispatched */
    uint64_t dispatched[PMU_MAX_PORTS];         /* micro-ops, by port */
} PmuPortState;

/* The scheduler. */
typedef struct PmuScheduler {
    uint32_t occupied;          /* micro-ops in it */
    uint16_t dispatches[PMU_CYCLE_WINDOW];  /* by cycle: micro-ops that leave */
    uint32_t num_late;
    uint64_t late[PMU_MAX_LATE_DISPATCHES]; /* cycles beyond the window */
} PmuScheduler;

/* Load and store buffers. */
typedef struct PmuLoadStoreUnit {
    uint64_t loads, stores;     /* so far */
    uint64_t loads_from;        /* cycle: no load is dispatched before */
    PmuCompletion load[PMU_LOAD_RING];  /* by load: when it retires */
    PmuStoreSlot store[PMU_STORE_RING];
    uint64_t drained;           /* when the newest store leaves the buffer */
    bool no_pair;               /* no further store can leave with that */
} PmuLoadStoreUnit;

/*
 * The newest instruction, if it can fuse with the next: their micro-op is then
 * dispatched again, with other ports.
 */
typedef struct PmuFusion {
    uint8_t kinds;              /* PMU_FUSE_x; 0: it cannot fuse */
    bool has_port;              /* it has a compute micro-op */
    uint8_t port;               /* that this micro-op is bound to */
    uint64_t cycle;             /* in which it is dispatched */
    uint64_t issue;             /* earliest cycle in which it could be */
    uint64_t ready;             /* cycle in which its sources are ready */
} PmuFusion;

/* State that only counts cycles: see cycle-statistics.h. */
typedef struct PmuCycleStats {
    bool scheduler_empty;       /* in the newest cycle */
    uint64_t counted;           /* micro-ops counted as retired */
    uint64_t retire_cycle;      /* next cycle to count by what retires */
    uint32_t retiring;          /* micro-ops counted in @retire_cycle */
} PmuCycleStats;

/*
 * Where issue began after the newest flush.  A wrong path fills the same share
 * of the slots as has been filled since then.
 */
typedef struct PmuRightPath {
    uint64_t cycle;             /* first one in which it could issue */
    uint64_t uops;              /* rob.uops at that time */
} PmuRightPath;

/*
 * The part of fetch after the newest flush that pmu_slots_refetch() has let
 * pass, and that no bubble has counted yet.  It joins a bubble that begins in
 * cycle @until, or else is one by itself.
 */
typedef struct PmuRefetch {
    uint64_t cycles, until;     /* cycles: 0 if there is none */
} PmuRefetch;

typedef struct PmuPipeline {
    const PmuUarch *uarch;
    PmuTimeline *timeline;      /* of what retires; may be NULL */
    PmuTimelineEntry stages;    /* of the newest instruction, for @timeline */
    PmuClock clock;
    PmuCompletion barrier;      /* nothing issues before */
    uint64_t pause_end;         /* cycle in which the newest PAUSE ends */
    uint64_t repairs;           /* impossible states found and repaired */
    PmuFusion fusion;
    PmuRightPath right_path;
    PmuRefetch refetch;
    PmuDelivery delivery;
    PmuRegisters registers;
    PmuReservationTable resource[PMU_RESOURCE_NR];
    bool half_held[PMU_RESOURCE_NR];    /* half a cycle of it is still held */
    PmuLoadStoreUnit lsu;
    PmuMissTiming misses;
    PmuReorderBuffer rob;
    PmuPortState ports;
    PmuScheduler scheduler;
    PmuOutstanding outstanding;
    PmuCycleStats stats;
} PmuPipeline;

/* Why the rest of a cycle, and the cycles after it, pass. */
typedef enum PmuStallReason {
    PMU_STALL_ANY,              /* none of the others */
    PMU_STALL_STORE_BUFFER,     /* the store buffer is full */
    PMU_STALL_WRONG_PATH,       /* micro-ops of the wrong path issue */
} PmuStallReason;

#endif
