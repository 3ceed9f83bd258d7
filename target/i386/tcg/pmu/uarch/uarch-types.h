/*
 * Types of the parameters of a modelled core.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_UARCH_UARCH_TYPES_H
#define TARGET_I386_PMU_UARCH_UARCH_TYPES_H

#include <stdint.h>

/*
 * The modelled cores.  Those before PMU_CORES_MEASURED have instruction tables
 * of their own, and are checked against measurements.  The others have their
 * own sizes, widths and memory latencies, but Sunny Cove's micro-ops and
 * instruction latencies: the cycles that they count are true in direction.
 */
typedef enum PmuCore {
    PMU_CORE_ICELAKE,           /* Sunny Cove */
    PMU_CORE_SAPPHIRERAPIDS,    /* Golden Cove */
    PMU_CORES_MEASURED,
    PMU_CORE_P5 = PMU_CORES_MEASURED,
    PMU_CORE_P6,
    PMU_CORE_NETBURST,
    PMU_CORE_CORE,              /* Core Duo and Core 2 */
    PMU_CORE_BONNELL,           /* Atom */
    PMU_CORE_NEHALEM,           /* and Westmere */
    PMU_CORE_SANDYBRIDGE,       /* and Ivy Bridge */
    PMU_CORE_HASWELL,           /* and Broadwell */
    PMU_CORE_SKYLAKE,           /* to Cooper Lake */
    PMU_CORE_K7,
    PMU_CORE_K8,
    PMU_CORE_K10,               /* family 10H and what came of it */
    PMU_CORE_BULLDOZER,
    PMU_CORE_ZEN,
    PMU_CORE_C3,                /* VIA */
    PMU_CORE_NR
} PmuCore;

typedef struct PmuCacheGeometry {
    uint32_t size;              /* bytes; size / ways / 64 is a whole number,
                                   for L1I and L1D a power of 2 */
    uint16_t ways;
    uint16_t latency;           /* cycles, load to use */
} PmuCacheGeometry;

/* A page of 4 MiB counts as two of 2 MiB. */
typedef enum PmuPageSize {
    PMU_PAGE_4K,
    PMU_PAGE_2M,
    PMU_PAGE_1G,
    PMU_PAGE_SIZES
} PmuPageSize;

/* A page of one size is as large as 2^9 pages of the size before. */
#define PMU_PAGE_SIZE_BITS  9

typedef struct PmuTlbGeometry {
    uint16_t entries;           /* entries / ways is a power of 2 */
    uint16_t ways;
    uint16_t latency;           /* cycles that a hit adds to an access */
} PmuTlbGeometry;

/*
 * Limits of what the timing model has room for.  PMU_MIN_ROB is PMU_ROB_CHUNK,
 * so that every instruction finds room to begin to issue.
 */
#define PMU_MAX_WIDTH           15      /* slots a cycle: see ledger.h */
#define PMU_MIN_ROB             8
#define PMU_MAX_ROB             1024
#define PMU_MAX_SCHEDULER       512
#define PMU_MAX_IDQ             1000
#define PMU_MAX_LOAD_BUFFER     256
#define PMU_MAX_STORE_BUFFER    128
#define PMU_MAX_FILL_BUFFERS    64
#define PMU_MAX_FETCH_TARGETS   64
#define PMU_MAX_PAGE_WALKERS    8
#define PMU_MAX_PORTS           12
#define PMU_MAX_CACHE_WAYS      64      /* of a PmuCache */
#define PMU_MAX_TAG_ARRAY_WAYS  24      /* of a PmuTagArray */
#define PMU_MAX_L1D_PREFETCH_LOADS 256

/* Lines of all caches, and 4 KiB pages: sizes, and shifts (log2 of these). */
#define PMU_LINE_SHIFT          6
#define PMU_LINE_SIZE           (1u << PMU_LINE_SHIFT)
#define PMU_PAGE_SHIFT          12
#define PMU_PAGE_LINES          (1u << (PMU_PAGE_SHIFT - PMU_LINE_SHIFT))

/*
 * Groups of ports, as the instruction table names them.  PmuUarch.ports says
 * which ports of a core they are.
 */
typedef enum PmuUnit {
    PMU_UNIT_ALU,               /* simple integer */
    PMU_UNIT_SHIFT,             /* shifts, flag users */
    PMU_UNIT_BRANCH,            /* branches that are not taken */
    PMU_UNIT_BRANCH_TAKEN,
    PMU_UNIT_MUL,               /* integer multiply, bit scans: one port */
    PMU_UNIT_LEA,               /* scaled index, and what runs beside it */
    PMU_UNIT_VEC,               /* vector logic and simple integer */
    PMU_UNIT_VEC_SHIFT,         /* vector shifts, multiplies */
    PMU_UNIT_FMA,               /* floating-point multiply, fused multiply */
    PMU_UNIT_FADD,              /* floating-point add */
    PMU_UNIT_SHUFFLE,           /* any shuffle: one port */
    PMU_UNIT_SHUFFLE2,          /* the shuffles that a second port can do */
    PMU_UNIT_P0,
    PMU_UNIT_P1,
    PMU_UNIT_P5,
    PMU_UNIT_P01,
    PMU_UNIT_P05,
    PMU_UNIT_P06,
    PMU_UNIT_P15,
    PMU_UNIT_LOAD,
    PMU_UNIT_STORE_ADDRESS,
    PMU_UNIT_STORE_DATA,
    PMU_UNIT_NR
} PmuUnit;

/*
 * Groups of vector instructions, PmuInsn.bypass: their results reach each other
 * sooner than others.  The rest (loads, shuffles, conversions) are in none.
 */
typedef enum PmuBypass {
    PMU_BYPASS_NONE,
    PMU_BYPASS_SIMD,            /* integers, logic and moves of one cycle */
    PMU_BYPASS_FP,              /* what the FMA units do */
    PMU_BYPASS_FADD,            /* adders beside the FMA units, if any */
    PMU_BYPASS_NR
} PmuBypass;

typedef struct PmuUarch {
    const char *name;
    uint32_t width;             /* slots a cycle: 1 to PMU_MAX_WIDTH */
    uint32_t rob;               /* fused-domain micro-ops, at most
                                   PMU_MAX_ROB */
    uint32_t scheduler;         /* unfused micro-ops that wait for dispatch, at
                                   most PMU_MAX_SCHEDULER */
    uint32_t idq;               /* micro-ops between frontend and backend, at
                                   most PMU_MAX_IDQ */
    uint32_t fill_buffers;      /* outstanding L1D misses, at most
                                   PMU_MAX_FILL_BUFFERS */
    uint32_t load_buffer;       /* entries, at most PMU_MAX_LOAD_BUFFER */
    uint32_t store_buffer;      /* entries, at most PMU_MAX_STORE_BUFFER */
    uint32_t num_ports;         /* at most PMU_MAX_PORTS */
    uint16_t ports[PMU_UNIT_NR];        /* bit n: port n */
    /* Cycles on top of latency, by the groups of a result and of its user. */
    uint8_t bypass[PMU_BYPASS_NR][PMU_BYPASS_NR];
    /* 0 or 1: */
    uint32_t eliminates_gpr_moves;      /* renaming moves general registers */
    uint32_t eliminates_constants;      /* renaming adds small constants */
    uint32_t renames_memory;    /* ... replaces loads by what was stored */
    uint32_t dsb_one_line;      /* no parts of two DSB lines in a cycle */
    uint32_t forward_vector;    /* cycles that store_forward is longer for a
                                   load to a vector register */
    uint32_t forward_rmw;       /* ... for a load of what is stored again */
    uint32_t lock_latency;      /* cycles more for a locked access */
    uint32_t stream_half_cycles;        /* between two non-temporal stores; 0:
                                   as between other stores */
    uint32_t store_pair_bytes;  /* most bytes of two stores to one line that
                                   leave the store buffer in one cycle */
    uint32_t frequency_mhz;     /* of the core */
    uint32_t tsc_num, tsc_den;  /* TSC rate / core rate, in MHz */
    uint32_t xclk_num, xclk_den;        /* crystal rate / core rate, in MHz */

    PmuCacheGeometry l1i, l1d, l2, l3;
    uint32_t no_l3;             /* 1: @l3.latency follows that of DRAM */
    PmuTlbGeometry itlb[PMU_PAGE_SIZES], dtlb[PMU_PAGE_SIZES], stlb;
    uint32_t page_walk;         /* cycles, if its last load hits L1D */
    uint32_t page_walkers;      /* at most PMU_MAX_PAGE_WALKERS */
    uint32_t dram_tenth_ns;     /* load to use, in 0.1 ns */
    uint32_t l3_line_cycles;    /* between two lines from L3, one core */
    uint32_t dram_line_cycles;  /* ... from DRAM */
    uint32_t snoop_latency;     /* cycles beyond L3's, for a line in L3 that
                                   another core has */
    uint32_t prefetch_distance; /* lines that the L2 streamer runs ahead */
    uint32_t l1d_prefetch;      /* loads that the prefetcher of L1D follows */
    uint32_t store_forward;     /* cycles from store data to load result */
    uint32_t store_forward_blocked;     /* cycles more, if the newest store
                                   lacks some of a load's bytes */
    uint32_t address_alias;     /* cycles more, if the low 12 bits of a load's
                                   address are those of an earlier store's */

    uint32_t fetch_targets;     /* entries, at most PMU_MAX_FETCH_TARGETS, in
                                   which the predictor runs ahead of fetch,
                                   each of a DSB window or less; 0: fetch
                                   asks for what it needs */
    uint32_t l1i_fill_buffers;  /* outstanding L1I misses, at most
                                   PMU_MAX_FILL_BUFFERS */
    uint32_t l1i_line_cycles;   /* between two lines that L1I asks for */
    uint32_t dsb_uops;          /* capacity of the decoded instruction cache */
    uint32_t dsb_window;        /* bytes: a power of 2, at most 64 */
    uint32_t dsb_window_lines;  /* most lines of one window */
    uint32_t dsb_line;          /* micro-ops a line, delivered in one cycle */
    uint32_t dsb_ways;
    uint32_t dsb_switch;        /* cycles, from the DSB to legacy decode */
    uint32_t decode_bytes;      /* predecoded a cycle: a power of 2 */
    uint32_t predecode_insns;   /* predecoded a cycle */
    uint32_t decoders;          /* instructions decoded a cycle */
    uint32_t decode_uops;       /* micro-ops decoded a cycle */
    uint32_t instruction_queue; /* instructions between predecode and decode */
    uint32_t lcp_stall;         /* cycles a length-changing prefix costs */
    uint32_t ms_switch;         /* cycles, to the microcode sequencer */
    uint32_t ms_uops;           /* micro-ops a cycle, from the same */

    uint32_t issue_to_dispatch; /* cycles, at least */
    uint32_t btb_entries, btb_ways;
    uint32_t return_stack;      /* entries */
    uint32_t resteer_penalty;   /* cycles, taken branch unknown to the BTB */
    uint32_t clear_resteer;     /* the last cycles of a flush: see
                                   pmu_uarch_refetch() */
    uint32_t mispredict_penalty;        /* cycles, resolution to next issue */
    uint32_t far_branch_penalty;        /* cycles, SYSCALL and the like */
    uint32_t event_delivery;    /* cycles more, exception or interrupt */
    uint32_t serialize_penalty; /* cycles, serialising instruction */
    uint32_t assist_uops;       /* of the microcode for denormal numbers */
    uint32_t assist_latency;    /* cycles from its first one to what follows */
    uint32_t smc_penalty;       /* cycles from the retirement of a store to code
                                   that fetch had to the next issue, without
                                   the fetch */
} PmuUarch;

#endif
