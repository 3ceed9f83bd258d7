/*
 * The pipeline: when micro-ops are fetched, issued, dispatched and retired,
 * and what becomes of each slot.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Run time, below the line.  Instructions are taken one by one, in program
 * order; each leaves behind the cycles at which what it used is free again.
 * That is exact for a machine that lets the oldest ready micro-op go first: a
 * younger one never delays an older one, so the older one's cycle is known
 * when its turn comes.  All of it is a function of instructions and outcomes.
 */

#ifndef TARGET_I386_PMU_PIPELINE_H
#define TARGET_I386_PMU_PIPELINE_H

#include "block.h"
#include "holds.h"
#include "ledger.h"
#include "outcome.h"
#include "uarch.h"

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
typedef uint64_t PmuStamp;
#define PMU_STAMP_BY(cycle, cause)      ((cycle) << 2 | (cause))
#define PMU_STAMP(cycle, memory)        ((cycle) << 2 | (memory) << 1)
#define PMU_STAMP_CYCLE(stamp)          ((stamp) >> 2)
#define PMU_STAMP_MEMORY(stamp)         ((stamp) >> 1 & 1)
#define PMU_STAMP_CAUSE(stamp)          ((stamp) & 3)

/* Ring sizes: powers of 2, at least the limits of what they follow. */
#define PMU_ROB_RING    1024
#define PMU_LOAD_RING   256
#define PMU_STORE_RING  128
#define PMU_FILL_RING   PMU_OUTCOME_FILLS
#define PMU_PREFETCH_RING PMU_OUTCOME_PREFETCHES
/* Cycles from the clock on for which dispatches are known one by one. */
#define PMU_WINDOW      1024
/*
 * An instruction begins to issue when so many of its slots, or all, have room
 * in the reorder buffer; each of the others waits for its own.
 */
#define PMU_ROB_CHUNK   8
/*
 * Micro-ops that dispatch later than that: at most a scheduler full and one
 * that fuses with an instruction that needed no place there.
 */
#define PMU_MAX_FAR     (PMU_MAX_SCHEDULER + 1)

/* Intervals that reach beyond it: loads, walks and prefetches under way. */
#define PMU_MAX_LATE    1024

/* The clock begins here, so that what came before has a time as well. */
#define PMU_FIRST_CYCLE 1024

/* Divides by the size of every set of ports that compute with each other. */
#define PMU_PORT_UNIT   60
#define PMU_MAX_PORT_SETS 32

/* A core's sets of ports: the unions of those that its units are. */
typedef struct PmuPortSets {
    unsigned num;
    uint16_t ports[PMU_MAX_PORT_SETS];
    uint8_t share[PMU_MAX_PORT_SETS];   /* of a micro-op, 1/PMU_PORT_UNIT */
    uint32_t with[1 << PMU_MAX_PORTS];  /* by ports: sets that have them all */
    /* By ports: which items from PMU_ITEM_PORT_0 on can count them, a bit. */
    uint8_t items[1 << PMU_MAX_PORTS];
} PmuPortSets;

#define PMU_PORT_ITEMS  (PMU_ITEM_PORT_STORE_ADDRESS - PMU_ITEM_PORT_0 + 1)

/*
 * What only the pipeline can tell: the first ones are PmuSlotClass, the others
 * ledger items from PMU_ITEM_SAMPLED on.
 */
typedef enum PmuTimed {
    PMU_TIMED_UOPS_ISSUED = PMU_SLOT_NR,
    PMU_TIMED_NR = PMU_SLOT_NR + PMU_ITEM_TIMED_END - PMU_ITEM_SAMPLED,
    /* ... in whole groups, so that empty ones can be skipped. */
    PMU_TIMED_GROUP = 8,
    PMU_TIMED_ROOM = (PMU_TIMED_NR + PMU_TIMED_GROUP - 1) / PMU_TIMED_GROUP *
                     PMU_TIMED_GROUP
} PmuTimed;

/* That of ledger item @item. */
#define PMU_TIMED(item) ((item) - PMU_ITEM_SAMPLED + PMU_SLOT_NR)

/*
 * How much of that a run of instructions took.  Cycles are counted when the
 * clock leaves them; requests when they begin, with all the cycles they take.
 */
typedef struct PmuDelta {
    uint32_t item[PMU_TIMED_ROOM];
} PmuDelta;

/* A newer store: when a load can have its data, and when it left the buffer. */
typedef struct PmuStoreSlot {
    uint64_t data;
    uint64_t drained;
} PmuStoreSlot;

/*
 * Cycles from @start up to @end in which a load waits, as PmuPipeline.waits has
 * it, or (@reads) a read of data is under way beyond L2.
 */
typedef struct PmuInterval {
    uint64_t start, end;
    uint8_t waits;
    bool reads;
} PmuInterval;

/* Where micro-ops come from. */
typedef enum PmuSupplySource {
    PMU_SUPPLY_DSB,             /* the decoded instruction cache */
    PMU_SUPPLY_LEGACY,          /* predecode and decoders */
    PMU_SUPPLY_LSD,             /* a loop in the queue before the backend */
} PmuSupplySource;

/* The frontend's part of the state. */
typedef struct PmuSupply {
    uint64_t cycle;             /* what was delivered last can issue then */
    uint64_t predecoded;        /* the cycle of the newest predecoded insn */
    uint8_t source;             /* PmuSupplySource */
    uint8_t delivered;          /* micro-ops delivered in @cycle */
    uint8_t decoded;            /* instructions decoded in @cycle */
    /* The same without what only keeps others from being there. */
    uint8_t uops, insns;
    uint8_t predecode_count;    /* instructions predecoded in @predecoded */
    uint8_t chunk;              /* fetch chunk that was predecoded last */
    bool jumped;                /* the next chunk is another one in any case */
} PmuSupply;

/*
 * All times are cycles of the model's clock; a time that is over is as good as
 * any other.
 */
typedef struct PmuPipeline {
    const PmuUarch *uarch;
    PmuPortSets sets;
    /* Cycles that the frontend and the predecoder can be ahead. */
    uint32_t supply_ahead, predecode_ahead;
    PmuDelta delta;             /* since its owner cleared it */
    bool report;                /* whether to count in @dispatched */
    uint64_t dispatched[PMU_MAX_PORTS];         /* micro-ops */

    uint64_t cycle;             /* the clock: the next slot to be filled */
    uint32_t slot;
    uint64_t history;           /* PmuSlotClass of the open cycle's slots */
    PmuStamp retired;           /* of the newest micro-op */
    PmuStamp barrier;           /* no issue before */
    uint64_t pause;             /* cycle: the newest PAUSE ends */
    uint64_t loads_from;        /* no load starts before */
    uint64_t ready[PMU_REG_NR + 1];     /* the last is written for "none" */
    uint8_t maker[PMU_REG_NR + 1];      /* PmuBypass of what made it */
    PmuHolds resource[PMU_RESOURCE_NR];
    PmuHolds walker[PMU_MAX_PAGE_WALKERS];
    PmuSupply supply;

    /*
     * By set of ports: until when it is taken, in 1/PMU_PORT_UNIT cycles.  A
     * micro-op that can go to any of some ports takes its share of every set
     * that has them all (Hall's condition): together these say how fast the
     * best choice of ports is.
     */
    uint64_t port_set[PMU_MAX_PORT_SETS];
    uint32_t scheduled;         /* micro-ops in the scheduler */
    uint16_t dispatches[PMU_WINDOW];    /* by cycle: those that leave it */
    uint32_t num_far;
    uint64_t far[PMU_MAX_FAR];  /* dispatched beyond the window */
    uint64_t near_until;        /* what is far is looked at by then */

    /*
     * For counting alone.  By cycle: what loads wait for (bit 0: anything, 1:
     * a line not in L1D, 2: nor in L2, 3: nor in L3), and reads beyond L2.
     */
    uint8_t waits[PMU_WINDOW], reads[PMU_WINDOW];
    uint32_t num_late;
    PmuInterval late[PMU_MAX_LATE];     /* that end beyond the window */
    uint32_t backlog;           /* micro-ops that ports have no room for yet */
    bool empty;                 /* the scheduler, in the newest cycle */
    uint64_t counted;           /* micro-ops counted as retired */
    uint64_t retirable;         /* micro-ops with a time in @rob */
    uint64_t retire_cycle;      /* the next one to be counted */
    uint32_t retiring;          /* micro-ops counted in it */
    /* By item from PMU_ITEM_PORT_0 on: busy until. */
    uint64_t port_busy[PMU_PORT_ITEMS];
    uint8_t port_item;          /* ... that the newest micro-op counted as */
    uint8_t fuse_port;          /* ... that the one of @fuse_ports did */
    uint64_t buffers_full;      /* fill buffers are, until then */
    uint64_t rfo_until, code_until;     /* requests under way end */

    /* The newest instruction if it can fuse with the next, for rebinding. */
    uint8_t fuse;               /* PMU_FUSE_x */
    uint16_t fuse_ports;        /* of its compute micro-op; 0: it has none */
    uint64_t fuse_cycle;        /* when that is dispatched */
    uint64_t fuse_issue;        /* when it could have been at the earliest */
    uint64_t fuse_ready;        /* when its sources are ready */

    uint64_t uops, loads, stores, fills, prefetches;    /* so far */
    PmuStamp rob[PMU_ROB_RING];         /* by micro-op: when it retired */
    PmuStamp load[PMU_LOAD_RING];       /* by load: when it retired */
    PmuStoreSlot store[PMU_STORE_RING];
    uint64_t drained;           /* when the newest store left the buffer */
    bool paired;                /* ... together with the one before */
    bool stack_ahead;           /* the stack engine knows RSP better */
    uint64_t fill[PMU_FILL_RING];       /* by miss: when its line is there */
    uint8_t asker[PMU_FILL_RING];       /* ... who asked: access.c */
    uint64_t buffer[PMU_MAX_FILL_BUFFERS];      /* free from */
    uint64_t prefetch[PMU_PREFETCH_RING];
    uint64_t dram_free;         /* when the next line can leave DRAM */
    uint64_t repairs;           /* states that cannot be, found and repaired */
} PmuPipeline;

/* An idle pipeline at PMU_FIRST_CYCLE. */
void pmu_pipeline_init(PmuPipeline *p, const PmuUarch *uarch);

/* The same at the current cycle: see pmu_pipeline_resume(). */
void pmu_pipeline_reset(PmuPipeline *p);

/* It was idle or not watched, and goes on where @open slots are filled. */
void pmu_pipeline_resume(PmuPipeline *p, uint32_t open, uint64_t history);

/*
 * Instructions [@first, @last) of @block were retired, none of them a REP
 * string instruction; what @outcome says of them happened.  If the last one
 * clears the machine, pmu_pipeline_clear() is done.
 */
void pmu_pipeline_run(PmuPipeline *p, const PmuBlock *block,
                      unsigned first, unsigned last,
                      const PmuOutcome *outcome);

/* When the line of @access, _FROM_FILL, is in L1; 0 if it has been by now. */
uint64_t pmu_pipeline_fill(const PmuPipeline *p, const PmuAccess *access);

/* When a line that missed L1I arrives, for a fetch that starts at @start. */
uint64_t pmu_pipeline_code_miss(PmuPipeline *p, const PmuAccess *access,
                                uint64_t start);

/* Fill an open cycle up: the privilege level changes. */
void pmu_pipeline_close_cycle(PmuPipeline *p);

/*
 * The newest instruction stored to code that fetch had: when it has retired,
 * all behind it is flushed and fetched again.
 */
void pmu_pipeline_clear(PmuPipeline *p);

/*
 * The newest instruction takes an assist.  pmu_pipeline_drain(): when it has
 * retired, all behind it is flushed.  pmu_pipeline_assist(), behind that or
 * where the pipeline does not run: what the assist takes.
 */
void pmu_pipeline_drain(PmuPipeline *p);
void pmu_pipeline_assist(PmuPipeline *p);

/* An interrupt or exception was taken: the pipeline refills. */
void pmu_pipeline_interrupt(PmuPipeline *p);

/*
 * Parts of string instructions.  Fetch one, its slots are issued later; issue
 * a micro-op of it that waits for @ready; access a line for it, as @access
 * tells.  pmu_pipeline_string_store() is for an access that is a store.
 */
uint64_t pmu_pipeline_string_begin(PmuPipeline *p, const PmuBlock *block,
                                   unsigned index, const PmuOutcome *outcome);
void pmu_pipeline_string_uop(PmuPipeline *p, PmuStamp ready);
uint64_t pmu_pipeline_string_load(PmuPipeline *p, const PmuAccess *access);
void pmu_pipeline_string_store(PmuPipeline *p, const PmuAccess *access,
                               bool same_line);
void pmu_pipeline_string_end(PmuPipeline *p, const PmuInsn *insn);


#endif
