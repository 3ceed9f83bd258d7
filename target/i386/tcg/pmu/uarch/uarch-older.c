/*
 * Parameters of the older cores: figures and their sources.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Micro-ops and latencies of instructions are Sunny Cove's (uarch.h).  A row
 * says how wide a core is, how much its buffers hold, how far away its memory
 * is and what a misprediction costs.  Sources, as cited below:
 *   Fog      Agner Fog, "The microarchitecture of Intel, AMD and VIA CPUs", the
 *            chapter of the core
 *   SOM      Intel's Optimization Reference Manual, appendix on earlier cores
 *   SOG      AMD's software optimization guide of the family
 *   CPUID    leaves 2 and 4, or 80000005H and 80000006H, of parts of that core
 *   Downs, uiCA, TMA, C&C   as in uarch.c
 * Latencies of DRAM and the clocks are chosen: those of usual parts.  Whatever
 * has no source of its own is chosen, most of it as on Sunny Cove.
 *
 * Cores that execute in order (P5, Bonnell, C3) are modelled by a reorder
 * buffer and a scheduler of a few micro-ops.
 */

#include "tcg/pmu/uarch/uarch-older.h"

/*
 * Ports by what they do, bit n for port n: simple integer, shifts, branches,
 * integer multiplies, LEA, vector integer, floating-point multiply and add,
 * shuffles, loads, store addresses, store data.
 */
#define PORT_MAP(alu, shift, branch, mul, lea, vec, fmul, fadd, shuffle, \
                 load, address, data)                                   \
    .ports = {                                                          \
        [PMU_UNIT_ALU] = (alu), [PMU_UNIT_SHIFT] = (shift),             \
        [PMU_UNIT_BRANCH] = (branch), [PMU_UNIT_BRANCH_TAKEN] = (branch), \
        [PMU_UNIT_MUL] = (mul), [PMU_UNIT_LEA] = (lea),                 \
        [PMU_UNIT_VEC] = (vec), [PMU_UNIT_VEC_SHIFT] = (fmul),          \
        [PMU_UNIT_FMA] = (fmul), [PMU_UNIT_FADD] = (fadd),              \
        [PMU_UNIT_SHUFFLE] = (shuffle), [PMU_UNIT_SHUFFLE2] = (shuffle), \
        [PMU_UNIT_P0] = (fmul), [PMU_UNIT_P1] = (fadd),                 \
        [PMU_UNIT_P5] = (shuffle), [PMU_UNIT_P01] = (fmul) | (fadd),    \
        [PMU_UNIT_P05] = (fmul) | (shuffle),                            \
        [PMU_UNIT_P06] = (shift), [PMU_UNIT_P15] = (fadd) | (shuffle),  \
        [PMU_UNIT_LOAD] = (load), [PMU_UNIT_STORE_ADDRESS] = (address), \
        [PMU_UNIT_STORE_DATA] = (data),                                 \
    }

/* The clocks, in MHz: of the core, which the TSC has too, and of the bus. */
#define CLOCK(mhz, bus)                                                 \
    .frequency_mhz = (mhz), .tsc_num = (mhz), .tsc_den = (mhz),         \
    .xclk_num = (bus), .xclk_den = (mhz)

/* The core has no DSB: this is the smallest that the model can have. */
#define NO_DSB                                                          \
    .dsb_uops = 1, .dsb_window = 16, .dsb_window_lines = 1,             \
    .dsb_line = 1, .dsb_ways = 1, .dsb_switch = 0

/*
 * Windows that the predictor can be ahead of fetch, L1I misses at a time, and
 * cycles between two lines, which are measured where C&C is cited.  A predictor
 * that needs L1I (coupled) knows the next line at most: 4 windows of 16 bytes.
 */
#define CODE(targets, buffers, cycles)                                  \
    .fetch_targets = (targets), .l1i_fill_buffers = (buffers),          \
    .l1i_line_cycles = (cycles)

/* No L3: the smallest that the model can have, with the latency of DRAM. */
#define NO_L3(dram_cycles)                                              \
    .no_l3 = 1, .l3 = { 64 * 1024, 16, (dram_cycles) }

/* What is the same for all older cores; chosen, as on Sunny Cove. */
#define OTHERS                                                          \
    .store_forward_blocked = 13, .far_branch_penalty = 30,              \
    .stream_half_cycles = 7, .resteer_penalty = 10, .lock_latency = 13, \
    .event_delivery = 400, .assist_latency = 115, .snoop_latency = 70,  \
    .clear_resteer = 7, .address_alias = 7, .smc_penalty = 100,         \
    .assist_uops = 30, .forward_rmw = 1, .page_walk = 20,               \
    .lcp_stall = 3, .ms_switch = 2

static const PmuUarch table[PMU_CORE_NR - PMU_CORES_MEASURED] = {
    [PMU_CORE_P5 - PMU_CORES_MEASURED] = {
        .name = "P5 (Pentium MMX)",
        /*
         * Fog: two pipes, in order; L1 of 16 KiB each, 4 ways, 1 cycle; BTB of
         * 256 entries; a misprediction costs 4 to 5 cycles.
         */
        .width = 2, .rob = 8, .scheduler = 2, .idq = 4,
        .num_ports = 4,
        PORT_MAP(0x003, 0x001, 0x002, 0x001, 0x003, 0x003,
                 0x001, 0x001, 0x001, 0x008, 0x008, 0x004),
        .fill_buffers = 1, .load_buffer = 4, .store_buffer = 4,
        CLOCK(200, 66),
        .l1i = { 16 * 1024, 4, 1 }, .l1d = { 16 * 1024, 4, 1 },
        .l2 = { 256 * 1024, 4, 12 },
        NO_L3(30),
        .itlb[PMU_PAGE_4K] = { 32, 4, 0 },
        .itlb[PMU_PAGE_2M] = { 8, 4, 0 },
        .dtlb[PMU_PAGE_4K] = { 64, 4, 0 },
        .dtlb[PMU_PAGE_2M] = { 8, 4, 0 },
        .dtlb[PMU_PAGE_1G] = { 4, 4, 0 },
        .stlb = { 64, 4, 0 },
        .page_walkers = 1,
        .dram_tenth_ns = 1500, .dram_line_cycles = 10,
        .prefetch_distance = 0, .l1d_prefetch = 0, .store_forward = 2,
        NO_DSB, CODE(0, 1, 4),
        .decode_bytes = 16, .predecode_insns = 2, .decoders = 2,
        .decode_uops = 4, .instruction_queue = 4, .ms_uops = 1,
        .issue_to_dispatch = 1,
        .btb_entries = 256, .btb_ways = 4, .return_stack = 4,
        .mispredict_penalty = 3,
        OTHERS,
    },
    [PMU_CORE_P6 - PMU_CORES_MEASURED] = {
        .name = "P6 (Pentium III)",
        /*
         * Fog, SOM: 3 slots, 40 entries, 20 in the reservation station, 5
         * ports.  Fog: decoders of 4, 1 and 1 micro-ops; L1 of 16 KiB each, 3
         * cycles; BTB of 512 entries; a misprediction costs 10 to 15 cycles.
         */
        .width = 3, .rob = 40, .scheduler = 20, .idq = 6,
        .num_ports = 5,
        PORT_MAP(0x003, 0x001, 0x002, 0x001, 0x001, 0x003,
                 0x001, 0x002, 0x002, 0x004, 0x008, 0x010),
        .fill_buffers = 4, .load_buffer = 16, .store_buffer = 12,
        CLOCK(1000, 133),
        .l1i = { 16 * 1024, 4, 3 }, .l1d = { 16 * 1024, 4, 3 },
        .l2 = { 256 * 1024, 8, 7 },
        NO_L3(120),
        .itlb[PMU_PAGE_4K] = { 32, 4, 0 },
        .itlb[PMU_PAGE_2M] = { 2, 2, 0 },
        .dtlb[PMU_PAGE_4K] = { 64, 4, 0 },
        .dtlb[PMU_PAGE_2M] = { 8, 4, 0 },
        .dtlb[PMU_PAGE_1G] = { 4, 4, 0 },
        .stlb = { 64, 4, 0 },
        .page_walkers = 1,
        .dram_tenth_ns = 1200, .dram_line_cycles = 30,
        .prefetch_distance = 0, .l1d_prefetch = 0, .store_forward = 4,
        NO_DSB, CODE(0, 1, 4),
        .decode_bytes = 16, .predecode_insns = 3, .decoders = 3,
        .decode_uops = 6, .instruction_queue = 6, .ms_uops = 3,
        .issue_to_dispatch = 3,
        .btb_entries = 512, .btb_ways = 4, .return_stack = 16,
        .mispredict_penalty = 7,
        OTHERS,
    },
    [PMU_CORE_NETBURST - PMU_CORES_MEASURED] = {
        .name = "NetBurst (Cedar Mill)",
        /*
         * Fog, SOM: 3 slots, 126 entries; trace cache of 12K micro-ops, 8
         * ways, 6 a line; one decoder; L1D 16 KiB, 4 cycles, L2 2 MiB.  Fog: a
         * misprediction costs 30 cycles and more.  L1I: chosen, as a core with
         * a trace cache has none.
         */
        .width = 3, .rob = 126, .scheduler = 54, .idq = 24,
        .num_ports = 5,
        PORT_MAP(0x003, 0x002, 0x001, 0x002, 0x003, 0x002,
                 0x002, 0x002, 0x002, 0x004, 0x008, 0x010),
        .fill_buffers = 8, .load_buffer = 48, .store_buffer = 24,
        CLOCK(3000, 200),
        .l1i = { 16 * 1024, 8, 4 }, .l1d = { 16 * 1024, 8, 4 },
        .l2 = { 2048 * 1024, 8, 27 },
        NO_L3(300),
        .itlb[PMU_PAGE_4K] = { 64, 4, 0 },
        .itlb[PMU_PAGE_2M] = { 8, 4, 0 },
        .dtlb[PMU_PAGE_4K] = { 64, 64, 0 },
        .dtlb[PMU_PAGE_2M] = { 32, 4, 0 },
        .dtlb[PMU_PAGE_1G] = { 4, 4, 0 },
        .stlb = { 64, 4, 0 },
        .page_walkers = 1,
        .dram_tenth_ns = 1000, .dram_line_cycles = 30,
        .prefetch_distance = 8, .l1d_prefetch = 0, .store_forward = 7,
        CODE(4, 4, 8),
        .dsb_uops = 12288, .dsb_window = 64, .dsb_window_lines = 8,
        .dsb_line = 6, .dsb_ways = 8, .dsb_switch = 5,
        .decode_bytes = 16, .predecode_insns = 1, .decoders = 1,
        .decode_uops = 4, .instruction_queue = 4, .ms_uops = 3,
        .issue_to_dispatch = 5,
        .btb_entries = 4096, .btb_ways = 4, .return_stack = 16,
        .mispredict_penalty = 24,
        OTHERS,
    },
    [PMU_CORE_CORE - PMU_CORES_MEASURED] = {
        .name = "Core 2",
        /*
         * SOM, Fog: 4 slots, 96 entries, 32 in the reservation station, 6
         * ports; loop buffer of 18 instructions; 32 loads, 20 stores. CPUID:
         * L1 32 KiB each, 3 cycles, L2 4 MiB, 14 cycles.
         */
        .width = 4, .rob = 96, .scheduler = 32, .idq = 18,
        .num_ports = 6,
        PORT_MAP(0x023, 0x021, 0x020, 0x002, 0x001, 0x023,
                 0x001, 0x002, 0x020, 0x004, 0x008, 0x010),
        .fill_buffers = 8, .load_buffer = 32, .store_buffer = 20,
        CLOCK(2400, 266),
        .l1i = { 32 * 1024, 8, 3 }, .l1d = { 32 * 1024, 8, 3 },
        .l2 = { 4096 * 1024, 16, 14 },
        NO_L3(216),
        .itlb[PMU_PAGE_4K] = { 128, 4, 0 },
        .itlb[PMU_PAGE_2M] = { 8, 4, 0 },
        .dtlb[PMU_PAGE_4K] = { 16, 4, 0 },
        .dtlb[PMU_PAGE_2M] = { 16, 4, 0 },
        .dtlb[PMU_PAGE_1G] = { 4, 4, 0 },
        .stlb = { 256, 4, 2 },
        .page_walkers = 1,
        .dram_tenth_ns = 900, .dram_line_cycles = 20,
        .prefetch_distance = 8, .l1d_prefetch = 64, .store_forward = 5,
        NO_DSB, CODE(4, 2, 8),
        .decode_bytes = 16, .predecode_insns = 6, .decoders = 4,
        .decode_uops = 7, .instruction_queue = 18, .ms_uops = 3,
        .issue_to_dispatch = 5,
        .btb_entries = 2048, .btb_ways = 4, .return_stack = 16,
        .mispredict_penalty = 10,
        OTHERS,
    },
    [PMU_CORE_BONNELL - PMU_CORES_MEASURED] = {
        .name = "Bonnell",
        /*
         * Fog: two slots, in order; L1D 24 KiB, 3 cycles, L2 512 KiB, 15
         * cycles; BTB of 128 entries; a misprediction costs 13 cycles.
         */
        .width = 2, .rob = 16, .scheduler = 4, .idq = 8,
        .num_ports = 4,
        PORT_MAP(0x003, 0x001, 0x002, 0x001, 0x002, 0x003,
                 0x001, 0x002, 0x001, 0x004, 0x004, 0x008),
        .fill_buffers = 4, .load_buffer = 8, .store_buffer = 8,
        CLOCK(1600, 133),
        .l1i = { 32 * 1024, 8, 3 }, .l1d = { 24 * 1024, 6, 3 },
        .l2 = { 512 * 1024, 8, 15 },
        NO_L3(160),
        .itlb[PMU_PAGE_4K] = { 32, 4, 0 },
        .itlb[PMU_PAGE_2M] = { 4, 4, 0 },
        .dtlb[PMU_PAGE_4K] = { 16, 4, 0 },
        .dtlb[PMU_PAGE_2M] = { 8, 4, 0 },
        .dtlb[PMU_PAGE_1G] = { 4, 4, 0 },
        .stlb = { 64, 4, 7 },
        .page_walkers = 1,
        .dram_tenth_ns = 1000, .dram_line_cycles = 25,
        .prefetch_distance = 4, .l1d_prefetch = 0, .store_forward = 4,
        NO_DSB, CODE(4, 2, 8),
        .decode_bytes = 8, .predecode_insns = 2, .decoders = 2,
        .decode_uops = 2, .instruction_queue = 8, .ms_uops = 2,
        .issue_to_dispatch = 1,
        .btb_entries = 128, .btb_ways = 4, .return_stack = 8,
        .mispredict_penalty = 11,
        OTHERS,
    },
    [PMU_CORE_NEHALEM - PMU_CORES_MEASURED] = {
        .name = "Nehalem",
        /*
         * SOM, Fog: 4 slots, 128 entries, 36 in the scheduler, 6 ports;
         * queue of 28 micro-ops; 48 loads, 32 stores.  CPUID: caches and
         * TLBs.  Fog: a misprediction costs 17 cycles.
         */
        .width = 4, .rob = 128, .scheduler = 36, .idq = 28,
        .num_ports = 6,
        PORT_MAP(0x023, 0x021, 0x020, 0x002, 0x003, 0x023,
                 0x001, 0x002, 0x020, 0x004, 0x008, 0x010),
        .fill_buffers = 10, .load_buffer = 48, .store_buffer = 32,
        CLOCK(2933, 133),
        .l1i = { 32 * 1024, 4, 4 }, .l1d = { 32 * 1024, 8, 4 },
        .l2 = { 256 * 1024, 8, 10 },
        .l3 = { 8 * 1024 * 1024, 16, 39 },
        .itlb[PMU_PAGE_4K] = { 128, 4, 0 },
        .itlb[PMU_PAGE_2M] = { 8, 4, 0 },
        .dtlb[PMU_PAGE_4K] = { 64, 4, 0 },
        .dtlb[PMU_PAGE_2M] = { 32, 4, 0 },
        .dtlb[PMU_PAGE_1G] = { 4, 4, 0 },
        .stlb = { 512, 4, 7 },
        .page_walkers = 1,
        .dram_tenth_ns = 650, .dram_line_cycles = 15,
        .prefetch_distance = 20, .l1d_prefetch = 64, .store_forward = 5,
        NO_DSB, CODE(16, 4, 8),
        .decode_bytes = 16, .predecode_insns = 6, .decoders = 4,
        .decode_uops = 7, .instruction_queue = 18, .ms_uops = 4,
        .issue_to_dispatch = 5,
        .btb_entries = 2048, .btb_ways = 4, .return_stack = 16,
        .mispredict_penalty = 12,
        OTHERS,
    },
    [PMU_CORE_SANDYBRIDGE - PMU_CORES_MEASURED] = {
        .name = "Sandy Bridge",
        /*
         * SOM, Downs: 4 slots, 168 entries, 54 in the scheduler; 64 loads,
         * 36 stores.  uiCA: DSB of 1536 micro-ops, 3 lines for 32 bytes.
         * CPUID: caches and TLBs.
         */
        .width = 4, .rob = 168, .scheduler = 54, .idq = 28,
        .num_ports = 6,
        PORT_MAP(0x023, 0x021, 0x020, 0x002, 0x003, 0x023,
                 0x001, 0x002, 0x020, 0x00c, 0x00c, 0x010),
        .fill_buffers = 10, .load_buffer = 64, .store_buffer = 36,
        CLOCK(3300, 100),
        .l1i = { 32 * 1024, 8, 4 }, .l1d = { 32 * 1024, 8, 4 },
        .l2 = { 256 * 1024, 8, 12 },
        .l3 = { 8 * 1024 * 1024, 16, 30 },
        .itlb[PMU_PAGE_4K] = { 128, 4, 0 },
        .itlb[PMU_PAGE_2M] = { 8, 4, 0 },
        .dtlb[PMU_PAGE_4K] = { 64, 4, 0 },
        .dtlb[PMU_PAGE_2M] = { 32, 4, 0 },
        .dtlb[PMU_PAGE_1G] = { 4, 4, 0 },
        .stlb = { 512, 4, 7 },
        .page_walkers = 1,
        .dram_tenth_ns = 600, .dram_line_cycles = 15,
        .prefetch_distance = 20, .l1d_prefetch = 64, .store_forward = 5,
        CODE(16, 4, 8),
        .dsb_uops = 1536, .dsb_window = 32, .dsb_window_lines = 3,
        .dsb_line = 6, .dsb_ways = 8, .dsb_switch = 2,
        .decode_bytes = 16, .predecode_insns = 6, .decoders = 4,
        .decode_uops = 4, .instruction_queue = 20, .ms_uops = 4,
        .issue_to_dispatch = 5,
        .btb_entries = 4096, .btb_ways = 4, .return_stack = 16,
        .mispredict_penalty = 11,
        OTHERS,
    },
    [PMU_CORE_HASWELL - PMU_CORES_MEASURED] = {
        .name = "Haswell",
        /*
         * SOM, Downs: 4 slots, 192 entries, 60 in the scheduler, 8 ports; 72
         * loads, 42 stores. uiCA: frontend. CPUID: caches and TLBs. C&C,
         * Skylake: 2.2 to 2.5 instructions of 4 bytes a cycle from L2.
         */
        .width = 4, .rob = 192, .scheduler = 60, .idq = 56,
        .num_ports = 8,
        PORT_MAP(0x063, 0x041, 0x041, 0x002, 0x022, 0x023,
                 0x003, 0x002, 0x020, 0x00c, 0x08c, 0x010),
        .fill_buffers = 10, .load_buffer = 72, .store_buffer = 42,
        CLOCK(2600, 100),
        .l1i = { 32 * 1024, 8, 4 }, .l1d = { 32 * 1024, 8, 4 },
        .l2 = { 256 * 1024, 8, 12 },
        .l3 = { 20 * 1024 * 1024, 20, 50 },
        .itlb[PMU_PAGE_4K] = { 128, 4, 0 },
        .itlb[PMU_PAGE_2M] = { 8, 4, 0 },
        .dtlb[PMU_PAGE_4K] = { 64, 4, 0 },
        .dtlb[PMU_PAGE_2M] = { 32, 4, 0 },
        .dtlb[PMU_PAGE_1G] = { 4, 4, 0 },
        .stlb = { 1024, 8, 7 },
        .page_walkers = 1,
        .dram_tenth_ns = 700, .dram_line_cycles = 13,
        .prefetch_distance = 20, .l1d_prefetch = 64, .store_forward = 5,
        CODE(24, 8, 7),
        .dsb_uops = 1536, .dsb_window = 32, .dsb_window_lines = 3,
        .dsb_line = 6, .dsb_ways = 8, .dsb_switch = 2,
        .decode_bytes = 16, .predecode_insns = 6, .decoders = 4,
        .decode_uops = 4, .instruction_queue = 20, .ms_uops = 4,
        .issue_to_dispatch = 5,
        .btb_entries = 4096, .btb_ways = 4, .return_stack = 16,
        .mispredict_penalty = 11,
        OTHERS,
    },
    [PMU_CORE_SKYLAKE - PMU_CORES_MEASURED] = {
        .name = "Skylake-SP",
        /*
         * Downs: 4 slots, 224 entries, 97 in the scheduler, 72 loads, 56
         * stores. uiCA: frontend.  CPUID: caches and TLBs; TMA: latency of
         * the STLB. C&C: 16 bytes of code a cycle from L2.
         */
        .width = 4, .rob = 224, .scheduler = 97, .idq = 64,
        .num_ports = 8,
        .ports = {                      /* uops.info */
            [PMU_UNIT_ALU] = 0x063, [PMU_UNIT_SHIFT] = 0x041,
            [PMU_UNIT_BRANCH] = 0x041, [PMU_UNIT_BRANCH_TAKEN] = 0x040,
            [PMU_UNIT_MUL] = 0x002, [PMU_UNIT_LEA] = 0x022,
            [PMU_UNIT_VEC] = 0x023, [PMU_UNIT_VEC_SHIFT] = 0x003,
            [PMU_UNIT_FMA] = 0x003, [PMU_UNIT_FADD] = 0x003,
            [PMU_UNIT_SHUFFLE] = 0x020, [PMU_UNIT_SHUFFLE2] = 0x020,
            [PMU_UNIT_P0] = 0x001, [PMU_UNIT_P1] = 0x002,
            [PMU_UNIT_P5] = 0x020, [PMU_UNIT_P01] = 0x003,
            [PMU_UNIT_P05] = 0x021, [PMU_UNIT_P06] = 0x041,
            [PMU_UNIT_P15] = 0x022, [PMU_UNIT_LOAD] = 0x00c,
            [PMU_UNIT_STORE_ADDRESS] = 0x08c, [PMU_UNIT_STORE_DATA] = 0x010,
        },
        .fill_buffers = 12, .load_buffer = 72, .store_buffer = 56,
        CLOCK(2800, 25),
        .l1i = { 32 * 1024, 8, 5 }, .l1d = { 32 * 1024, 8, 5 },
        .l2 = { 1024 * 1024, 16, 14 },
        .l3 = { 22 * 1024 * 1024, 11, 70 },
        .itlb[PMU_PAGE_4K] = { 128, 8, 0 },
        .itlb[PMU_PAGE_2M] = { 8, 8, 0 },
        .dtlb[PMU_PAGE_4K] = { 64, 4, 0 },
        .dtlb[PMU_PAGE_2M] = { 32, 4, 0 },
        .dtlb[PMU_PAGE_1G] = { 4, 4, 0 },
        .stlb = { 1536, 12, 9 },
        .page_walkers = 2,
        .dram_tenth_ns = 800, .dram_line_cycles = 13,
        .prefetch_distance = 20, .l1d_prefetch = 256, .store_forward = 5,
        CODE(32, 8, 4),
        .dsb_uops = 1536, .dsb_window = 32, .dsb_window_lines = 3,
        .dsb_line = 6, .dsb_ways = 8, .dsb_switch = 2,
        .decode_bytes = 16, .predecode_insns = 5, .decoders = 4,
        .decode_uops = 5, .instruction_queue = 25, .ms_uops = 4,
        .issue_to_dispatch = 5,
        .btb_entries = 4096, .btb_ways = 4, .return_stack = 16,
        .mispredict_penalty = 11,
        OTHERS,
    },
    [PMU_CORE_K7 - PMU_CORES_MEASURED] = {
        .name = "K7 (Athlon)",
        /*
         * SOG, Fog: 3 macro-ops a cycle, 72 entries, schedulers of 18 and
         * 36; L1 64 KiB each, 2 ways, 3 cycles, L2 256 KiB, 16 ways, 20
         * cycles.  SOG: BTB of 2048 entries; a misprediction costs 10
         * cycles.
         */
        .width = 3, .rob = 72, .scheduler = 54, .idq = 12,
        .num_ports = 9,
        PORT_MAP(0x007, 0x007, 0x007, 0x001, 0x007, 0x0c0,
                 0x080, 0x040, 0x0c0, 0x038, 0x038, 0x100),
        .fill_buffers = 8, .load_buffer = 32, .store_buffer = 32,
        CLOCK(1400, 133),
        .l1i = { 64 * 1024, 2, 3 }, .l1d = { 64 * 1024, 2, 3 },
        .l2 = { 256 * 1024, 16, 20 },
        NO_L3(196),
        .itlb[PMU_PAGE_4K] = { 16, 16, 0 },
        .itlb[PMU_PAGE_2M] = { 8, 8, 0 },
        .dtlb[PMU_PAGE_4K] = { 32, 32, 0 },
        .dtlb[PMU_PAGE_2M] = { 8, 8, 0 },
        .dtlb[PMU_PAGE_1G] = { 4, 4, 0 },
        .stlb = { 256, 4, 5 },
        .page_walkers = 1,
        .dram_tenth_ns = 1400, .dram_line_cycles = 30,
        .prefetch_distance = 0, .l1d_prefetch = 0, .store_forward = 4,
        NO_DSB, CODE(4, 2, 16),
        .decode_bytes = 16, .predecode_insns = 3, .decoders = 3,
        .decode_uops = 6, .instruction_queue = 9, .ms_uops = 3,
        .issue_to_dispatch = 3,
        .btb_entries = 2048, .btb_ways = 4, .return_stack = 12,
        .mispredict_penalty = 7,
        OTHERS,
    },
    [PMU_CORE_K8 - PMU_CORES_MEASURED] = {
        .name = "K8 (Opteron)",
        /*
         * SOG, Fog: as K7, with L2 of 1 MiB, 12 cycles, and a memory
         * controller.  SOG: a misprediction costs 11 cycles.  C&C, "Athlon
         * 64": two L1I misses at a time; its predictor is coupled.
         */
        .width = 3, .rob = 72, .scheduler = 60, .idq = 12,
        .num_ports = 9,
        PORT_MAP(0x007, 0x007, 0x007, 0x001, 0x007, 0x0c0,
                 0x080, 0x040, 0x0c0, 0x038, 0x038, 0x100),
        .fill_buffers = 8, .load_buffer = 32, .store_buffer = 32,
        CLOCK(2200, 200),
        .l1i = { 64 * 1024, 2, 3 }, .l1d = { 64 * 1024, 2, 3 },
        .l2 = { 1024 * 1024, 16, 12 },
        NO_L3(143),
        .itlb[PMU_PAGE_4K] = { 32, 32, 0 },
        .itlb[PMU_PAGE_2M] = { 8, 8, 0 },
        .dtlb[PMU_PAGE_4K] = { 32, 32, 0 },
        .dtlb[PMU_PAGE_2M] = { 8, 8, 0 },
        .dtlb[PMU_PAGE_1G] = { 4, 4, 0 },
        .stlb = { 512, 4, 5 },
        .page_walkers = 1,
        .dram_tenth_ns = 650, .dram_line_cycles = 20,
        .prefetch_distance = 4, .l1d_prefetch = 0, .store_forward = 4,
        NO_DSB, CODE(4, 2, 12),
        .decode_bytes = 16, .predecode_insns = 3, .decoders = 3,
        .decode_uops = 6, .instruction_queue = 9, .ms_uops = 3,
        .issue_to_dispatch = 3,
        .btb_entries = 2048, .btb_ways = 4, .return_stack = 12,
        .mispredict_penalty = 8,
        OTHERS,
    },
    [PMU_CORE_K10 - PMU_CORES_MEASURED] = {
        .name = "K10 (family 10H)",
        /*
         * SOG, Fog: as K8, decoding 32 bytes a cycle; L2 512 KiB, 15 cycles,
         * L3 of 6 MiB, here with 24 ways, 45 cycles. C&C, Bulldozer: 4 bytes
         * of code a cycle from L2.
         */
        .width = 3, .rob = 72, .scheduler = 60, .idq = 12,
        .num_ports = 9,
        PORT_MAP(0x007, 0x007, 0x007, 0x001, 0x007, 0x0c0,
                 0x080, 0x040, 0x0c0, 0x038, 0x038, 0x100),
        .fill_buffers = 8, .load_buffer = 32, .store_buffer = 32,
        CLOCK(2600, 200),
        .l1i = { 64 * 1024, 2, 3 }, .l1d = { 64 * 1024, 2, 3 },
        .l2 = { 512 * 1024, 16, 15 },
        .l3 = { 6 * 1024 * 1024, 24, 45 },
        .itlb[PMU_PAGE_4K] = { 32, 32, 0 },
        .itlb[PMU_PAGE_2M] = { 16, 16, 0 },
        .dtlb[PMU_PAGE_4K] = { 48, 48, 0 },
        .dtlb[PMU_PAGE_2M] = { 48, 48, 0 },
        .dtlb[PMU_PAGE_1G] = { 4, 4, 0 },
        .stlb = { 512, 4, 5 },
        .page_walkers = 1,
        .dram_tenth_ns = 600, .dram_line_cycles = 17,
        .prefetch_distance = 4, .l1d_prefetch = 16, .store_forward = 4,
        NO_DSB, CODE(4, 2, 15),
        .decode_bytes = 32, .predecode_insns = 6, .decoders = 3,
        .decode_uops = 6, .instruction_queue = 12, .ms_uops = 3,
        .issue_to_dispatch = 3,
        .btb_entries = 2048, .btb_ways = 4, .return_stack = 24,
        .mispredict_penalty = 9,
        OTHERS,
    },
    [PMU_CORE_BULLDOZER - PMU_CORES_MEASURED] = {
        .name = "Bulldozer",
        /*
         * SOG, Fog: 4 macro-ops a cycle, 128 entries, schedulers of 40 and
         * 60; L1D 16 KiB, 4 cycles, L2 2 MiB, 21, L3 8 MiB, 65.  Fog: a
         * misprediction costs 19 to 22 cycles.  C&C: 4 bytes of code from L2.
         */
        .width = 4, .rob = 128, .scheduler = 100, .idq = 16,
        .num_ports = 9,
        PORT_MAP(0x003, 0x003, 0x002, 0x001, 0x00c, 0x0f0,
                 0x030, 0x030, 0x020, 0x00c, 0x00c, 0x100),
        .fill_buffers = 10, .load_buffer = 40, .store_buffer = 24,
        CLOCK(3300, 200),
        .l1i = { 64 * 1024, 2, 4 }, .l1d = { 16 * 1024, 4, 4 },
        .l2 = { 2048 * 1024, 16, 21 },
        .l3 = { 8 * 1024 * 1024, 16, 65 },
        .itlb[PMU_PAGE_4K] = { 64, 64, 0 },
        .itlb[PMU_PAGE_2M] = { 16, 16, 0 },
        .dtlb[PMU_PAGE_4K] = { 32, 32, 0 },
        .dtlb[PMU_PAGE_2M] = { 32, 32, 0 },
        .dtlb[PMU_PAGE_1G] = { 4, 4, 0 },
        .stlb = { 1024, 8, 6 },
        .page_walkers = 1,
        .dram_tenth_ns = 600, .dram_line_cycles = 17,
        .prefetch_distance = 8, .l1d_prefetch = 16, .store_forward = 5,
        NO_DSB, CODE(32, 2, 15),
        .decode_bytes = 32, .predecode_insns = 6, .decoders = 4,
        .decode_uops = 6, .instruction_queue = 16, .ms_uops = 4,
        .issue_to_dispatch = 5,
        .btb_entries = 4096, .btb_ways = 4, .return_stack = 24,
        .mispredict_penalty = 15,
        OTHERS,
    },
    [PMU_CORE_ZEN - PMU_CORES_MEASURED] = {
        .name = "Zen",
        /*
         * SOG, Fog: 6 macro-ops a cycle, 192 entries, schedulers of 84 and
         * 96; op cache of 2048, 8 ways, 8 a line; 72 loads, 44 stores.
         * CPUID: caches and TLBs.  SOG: a misprediction costs 12 to 18
         * cycles.
         */
        .width = 6, .rob = 192, .scheduler = 180, .idq = 72,
        .num_ports = 11,
        PORT_MAP(0x00f, 0x00f, 0x009, 0x002, 0x00f, 0x3c0,
                 0x0c0, 0x300, 0x180, 0x030, 0x030, 0x400),
        .fill_buffers = 22, .load_buffer = 72, .store_buffer = 44,
        CLOCK(2600, 100),
        .l1i = { 64 * 1024, 4, 4 }, .l1d = { 32 * 1024, 8, 4 },
        .l2 = { 512 * 1024, 8, 12 },
        .l3 = { 8 * 1024 * 1024, 16, 40 },
        .itlb[PMU_PAGE_4K] = { 64, 64, 0 },
        .itlb[PMU_PAGE_2M] = { 64, 64, 0 },
        .dtlb[PMU_PAGE_4K] = { 64, 64, 0 },
        .dtlb[PMU_PAGE_2M] = { 64, 64, 0 },
        .dtlb[PMU_PAGE_1G] = { 4, 4, 0 },
        .stlb = { 1536, 12, 7 },
        .page_walkers = 2,
        .dram_tenth_ns = 900, .dram_line_cycles = 13,
        .prefetch_distance = 8, .l1d_prefetch = 64, .store_forward = 5,
        CODE(16, 8, 4),
        .dsb_uops = 2048, .dsb_window = 64, .dsb_window_lines = 8,
        .dsb_line = 8, .dsb_ways = 8, .dsb_switch = 2,
        .decode_bytes = 32, .predecode_insns = 4, .decoders = 4,
        .decode_uops = 6, .instruction_queue = 20, .ms_uops = 4,
        .issue_to_dispatch = 5,
        .btb_entries = 4096, .btb_ways = 8, .return_stack = 32,
        .mispredict_penalty = 12,
        OTHERS,
    },
    [PMU_CORE_C3 - PMU_CORES_MEASURED] = {
        .name = "C3",
        /*
         * Fog: an instruction a cycle, in order; L1 64 KiB each, 4 ways.
         * The figures of its L2 are chosen.
         */
        .width = 1, .rob = 8, .scheduler = 2, .idq = 4,
        .num_ports = 4,
        PORT_MAP(0x001, 0x001, 0x001, 0x001, 0x001, 0x002,
                 0x002, 0x002, 0x002, 0x004, 0x004, 0x008),
        .fill_buffers = 1, .load_buffer = 4, .store_buffer = 4,
        CLOCK(800, 133),
        .l1i = { 64 * 1024, 4, 2 }, .l1d = { 64 * 1024, 4, 2 },
        .l2 = { 64 * 1024, 16, 8 },
        NO_L3(120),
        .itlb[PMU_PAGE_4K] = { 128, 8, 0 },
        .itlb[PMU_PAGE_2M] = { 8, 8, 0 },
        .dtlb[PMU_PAGE_4K] = { 128, 8, 0 },
        .dtlb[PMU_PAGE_2M] = { 8, 8, 0 },
        .dtlb[PMU_PAGE_1G] = { 4, 4, 0 },
        .stlb = { 128, 8, 0 },
        .page_walkers = 1,
        .dram_tenth_ns = 1500, .dram_line_cycles = 40,
        .prefetch_distance = 0, .l1d_prefetch = 0, .store_forward = 3,
        NO_DSB, CODE(0, 1, 8),
        .decode_bytes = 16, .predecode_insns = 1, .decoders = 1,
        .decode_uops = 2, .instruction_queue = 4, .ms_uops = 1,
        .issue_to_dispatch = 1,
        .btb_entries = 1024, .btb_ways = 4, .return_stack = 8,
        .mispredict_penalty = 4,
        OTHERS,
    },
};

const PmuUarch *pmu_uarch_older(PmuCore core)
{
    return &table[core - PMU_CORES_MEASURED];
}
