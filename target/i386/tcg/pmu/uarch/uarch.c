/*
 * Parameters of the cores that are checked against measurements: figures and
 * their sources.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sources, as cited below:
 *   uiCA     Abel and Reineke, "uiCA: Accurate Throughput Prediction of Basic
 *            Blocks on Recent Intel Microarchitectures", ICS 2022, and its
 *            published microarchitecture tables
 *   TMA      constants of Intel's TMA metrics, github.com/intel/perfmon
 *   IL64     InstLatx64 dumps: Xeon Gold 6330 (Ice Lake-SP), Golden Cove
 *   Downs    Travis Downs, "Performance Speed Limits", buffer size table
 *   IAD      Intel Architecture Day 2021, Golden Cove slides, which give the
 *            Sunny Cove figures beside the new ones
 *   C&C      chipsandcheese.com: "Popping the Hood on Golden Cove" (2021),
 *            which has Sunny Cove as well, unless another one is named
 *   kerncraft  likwid's measurements in kerncraft's machine files
 *   chosen   no source: the value is usual and its effect is stated
 */

#include "tcg/pmu/uarch/uarch-older.h"
#include "tcg/pmu/uarch/uarch.h"

/* Ports that both cores have in common.  Source: uops.info, OSACA. */
#define COMMON_PORTS \
    [PMU_UNIT_SHIFT] = 0x041,              /* p06 */                       \
    [PMU_UNIT_BRANCH] = 0x041,             /* p06 */                       \
    [PMU_UNIT_BRANCH_TAKEN] = 0x040,       /* p6 */                        \
    [PMU_UNIT_MUL] = 0x002,                /* p1 */                        \
    [PMU_UNIT_VEC] = 0x023,                /* p015 */                      \
    [PMU_UNIT_VEC_SHIFT] = 0x003,          /* p01 */                       \
    [PMU_UNIT_FMA] = 0x003,                /* p01 */                       \
    [PMU_UNIT_SHUFFLE] = 0x020,            /* p5 */                        \
    [PMU_UNIT_SHUFFLE2] = 0x022,           /* p15 */                       \
    [PMU_UNIT_P0] = 0x001,                                                 \
    [PMU_UNIT_P1] = 0x002,                                                 \
    [PMU_UNIT_P5] = 0x020,                                                 \
    [PMU_UNIT_P01] = 0x003,                                                \
    [PMU_UNIT_P05] = 0x021,                                                \
    [PMU_UNIT_P06] = 0x041,                                                \
    [PMU_UNIT_P15] = 0x022,                                                \
    [PMU_UNIT_STORE_ADDRESS] = 0x180,      /* p78 */                       \
    [PMU_UNIT_STORE_DATA] = 0x210          /* p49 */

static const PmuUarch uarch_table[PMU_CORES_MEASURED] = {
    [PMU_CORE_ICELAKE] = {
        .name = "Sunny Cove",
        .width = 5,                     /* uiCA, TMA Pipeline_Width */
        .rob = 352,                     /* Downs, uiCA */
        .scheduler = 160,               /* uiCA */
        .idq = 70,                      /* uiCA */
        .num_ports = 10,
        .ports = {
            COMMON_PORTS,
            /* uops.info, Ice Lake; OSACA icx.yml. */
            [PMU_UNIT_ALU] = 0x063,             /* p0156 */
            [PMU_UNIT_LEA] = 0x022,             /* p15 */
            [PMU_UNIT_FADD] = 0x003,            /* p01 */
            [PMU_UNIT_LOAD] = 0x00c,            /* p23 */
        },
        /* IL64: PADDQ and ADDPD 6.4, MOVSD and ADDSD 5.8 cycles a pair. */
        .bypass = {
            [PMU_BYPASS_SIMD] = { [PMU_BYPASS_FP] = 1 },
        },
        .forward_vector = 0,            /* IL64: MOVSD and MOVAPS 5 */
        /* IL64: ADD [m], r 7.5 cycles, one of them the ADD's. */
        .forward_rmw = 1,
        .lock_latency = 13,             /* IL64: 18 to 20 in all */
        .eliminates_gpr_moves = 0,      /* uiCA: since a microcode update */
        .eliminates_constants = 0,      /* IL64: ADD r, 1 takes a cycle */
        .renames_memory = 0,            /* IL64: PUSH and POP r64 5 cycles */
        .dsb_one_line = 0,              /* uiCA: parts of two in a cycle */
        .stream_half_cycles = 7,        /* IL64: 3 to 3.67 cycles, any size */
        /* IL64: stores of 128 bits two a cycle, of 256 bits one. */
        .store_pair_bytes = 32,
        .fill_buffers = 12,             /* IAD */
        .store_buffer = 72,             /* Downs */
        /* Chosen: within the 2.0 to 3.1 GHz of the Xeon Gold 6330. */
        .frequency_mhz = 2800,
        /* Chosen: neither turbo nor throttling. */
        .tsc_num = 2800, .tsc_den = 2800,
        /* 25 MHz crystal of server parts: SDM vol. 3B, table 19-85. */
        .xclk_num = 25, .xclk_den = 2800,

        .l1i = { 32 * 1024, 8, 5 },     /* CPUID; the latency is hidden */
        .l1d = { 48 * 1024, 12, 5 },    /* CPUID, IL64 */
        .l2 = { 1280 * 1024, 20, 14 },  /* CPUID; usual figure, IL64 RKL 13 */
        /* CPUID: 12 ways a slice, here of 32 slices; TMA: 23 ns. */
        .l3 = { 48 * 1024 * 1024, 12, 64 },
        /* CPUID; of a page of 1 GiB it has parts of 2 MiB. */
        .itlb[PMU_PAGE_4K] = { 128, 8, 0 },
        .itlb[PMU_PAGE_2M] = { 16, 16, 0 },
        /* CPUID: those of loads; stores have 16 for all sizes. */
        .dtlb[PMU_PAGE_4K] = { 64, 4, 0 },
        .dtlb[PMU_PAGE_2M] = { 32, 4, 0 },
        .dtlb[PMU_PAGE_1G] = { 8, 8, 0 },
        .stlb = { 2048, 8, 7 },         /* CPUID; TMA */
        .page_walk = 20,                /* chosen: 4 levels, most cached */
        .page_walkers = 2,              /* since Broadwell; IAD */
        .dram_tenth_ns = 665,           /* TMA: local memory */
        /* kerncraft, IcelakeSP_Platinum-8360Y: 24.75 GB/s at 2.4 GHz. */
        .l3_line_cycles = 6,
        .dram_line_cycles = 13,         /* chosen: 14 GB/s for one core */
        /* TMA: contested accesses 44 ns, hits in L3 19. */
        .snoop_latency = 70,
        .prefetch_distance = 20,        /* SOM 2.5.5.4: runs up to 20 ahead */
        .l1d_prefetch = 256,            /* not known; this is enough */
        .store_forward = 5,             /* usual figure: 4 to 5 */
        /* TMA: weight of LD_BLOCKS.STORE_FORWARD. */
        .store_forward_blocked = 13,
        .address_alias = 7,             /* TMA: Mem_4K_Alias_Cost */
        .load_buffer = 128,             /* Downs */

        /*
         * Chosen: gem5 has 8 of 32 bytes by default, Ishii et al. (ISPASS
         * 2021) 24.  4 would hide the latency of L2 as well; more hide L3's.
         */
        .fetch_targets = 16,
        /*
         * Chosen: as Intel's Crestmont (C&C, Meteor Lake).  With more than 3,
         * l1i_line_cycles limits code from L2.
         */
        .l1i_fill_buffers = 8,
        .l1i_line_cycles = 4,           /* C&C: 16 bytes a cycle from L2 */
        .dsb_uops = 2304,               /* uiCA */
        .dsb_window = 64,               /* uiCA DSBBlockSize */
        .dsb_window_lines = 6,          /* uiCA */
        .dsb_line = 6,                  /* uiCA: 6 micro-ops a cycle */
        .dsb_ways = 6,                  /* chosen, so that sets are 2^n */
        .dsb_switch = 2,                /* chosen: uiCA has 2 for DSB to MS */
        .decode_bytes = 16,             /* uiCA predecode */
        .predecode_insns = 5,           /* uiCA */
        .decoders = 4,                  /* uiCA: 1 complex + 3 simple */
        .decode_uops = 5,               /* TMA: MITE width */
        .instruction_queue = 25,        /* uiCA */
        .lcp_stall = 3,                 /* uiCA */
        .ms_switch = 2,                 /* uiCA */
        .ms_uops = 4,                   /* uiCA */

        .issue_to_dispatch = 5,         /* uiCA */
        .btb_entries = 5120, .btb_ways = 5,     /* IAD: 5K targets */
        .return_stack = 16,             /* usual since Nehalem */
        .resteer_penalty = 10,          /* TMA: BAClear */
        .clear_resteer = 7,             /* chosen: see docs/devel/pmu.rst */
        /*
         * The usual 16 to 19 cycles count from the issue of a branch that does
         * not wait: it is dispatched issue_to_dispatch cycles later and
         * executes in one.
         */
        .mispredict_penalty = 11,
        .far_branch_penalty = 30,       /* chosen: fetch from a new context */
        /*
         * xPerf (lastweek.io, 2019): on Haswell-EP a page fault takes some 440
         * cycles from user mode to its handler, a few instructions of which are
         * the handler's; Torvalds (2014) found 715 on Haswell.
         */
        .event_delivery = 400,
        /* IL64: LFENCE is 5, less than issue and execution take already. */
        .serialize_penalty = 0,
        /*
         * Chosen: Intel calls it severe (event MACHINE_CLEARS.SMC), without a
         * figure.  A microcoded nuke runs, then the pipeline refills; usual
         * statements are 100 to 300 cycles.
         */
        .smc_penalty = 100,
        .assist_uops = 30,              /* TMA's formula for FP_Assists */
        /*
         * Chosen: with what comes before, an assist takes about 150 cycles.
         * On cores since Sandy Bridge it flushes the pipeline and takes some
         * 160 (Cordes, https://stackoverflow.com/a/60970819); nothing was found
         * about this one.
         */
        .assist_latency = 115,
    },
    [PMU_CORE_SAPPHIRERAPIDS] = {
        .name = "Golden Cove",
        .width = 6,                     /* IAD, OSACA spr.yml */
        .rob = 512,                     /* IAD, Downs */
        .scheduler = 205,               /* Downs: 97 + 70 + 38 */
        .idq = 144,                     /* IAD */
        .num_ports = 12,
        .ports = {
            COMMON_PORTS,
            /* uops.info, Alder Lake P; OSACA spr.yml. */
            [PMU_UNIT_ALU] = 0x463,             /* p0156 and 10 */
            [PMU_UNIT_LEA] = 0x422,             /* p15 and 10 */
            [PMU_UNIT_FADD] = 0x022,            /* p15 */
            [PMU_UNIT_LOAD] = 0x80c,            /* p23 and 11 */
        },
        /*
         * IL64: ADDPD 2 cycles in a chain of its own, 3 after anything else;
         * CMPPD and PADDQ 6.35 cycles a pair.
         */
        .bypass = {
            [PMU_BYPASS_NONE] = { [PMU_BYPASS_FADD] = 1 },
            [PMU_BYPASS_SIMD] = {
                [PMU_BYPASS_FP] = 1, [PMU_BYPASS_FADD] = 1,
            },
            [PMU_BYPASS_FP] = { [PMU_BYPASS_FADD] = 1 },
        },
        .forward_vector = 2,            /* IL64: MOVSD and MOVAPS 7.3 */
        .forward_rmw = 1,               /* IL64: ADD [m], r 7.3 cycles */
        .lock_latency = 11,             /* IL64: 16.9 to 18 in all */
        .eliminates_gpr_moves = 1,      /* IL64: MOV 0.17 cycles */
        /* IL64: INC r64 and ADD r64, imm 0.17 cycles, but INC r32 0.2. */
        .eliminates_constants = 1,
        .renames_memory = 1,            /* IL64: PUSH and POP r64 0.5 cycles */
        /*
         * A loop of 10-byte MOVABS runs at 3.2 a cycle, whether it fits or
         * not (pmu-tools #444): 6.4 of them, one window, take two lines.
         */
        .dsb_one_line = 1,
        .stream_half_cycles = 0,        /* IL64: 0.5 cycles */
        .store_pair_bytes = 64,         /* IL64: two of 256 bits */
        .fill_buffers = 16,             /* IAD */
        .store_buffer = 112,            /* IAD */
        .frequency_mhz = 2800,          /* chosen, as for Sunny Cove */
        .tsc_num = 2800, .tsc_den = 2800,       /* chosen */
        .xclk_num = 25, .xclk_den = 2800,

        .l1i = { 32 * 1024, 8, 5 },     /* CPUID */
        .l1d = { 48 * 1024, 12, 5 },    /* CPUID, IL64 */
        .l2 = { 2048 * 1024, 16, 15 },  /* CPUID, IL64 */
        /* 15 ways a slice, 32 slices; latency chosen: slower than ADL's 63. */
        .l3 = { 60 * 1024 * 1024, 15, 75 },
        .itlb[PMU_PAGE_4K] = { 256, 8, 0 },
        .itlb[PMU_PAGE_2M] = { 32, 4, 0 },
        .dtlb[PMU_PAGE_4K] = { 96, 6, 0 },
        .dtlb[PMU_PAGE_2M] = { 32, 4, 0 },
        .dtlb[PMU_PAGE_1G] = { 8, 8, 0 },
        .stlb = { 2048, 16, 7 },        /* CPUID; cost as on Sunny Cove */
        .page_walk = 20,                /* chosen */
        .page_walkers = 4,              /* IAD */
        .dram_tenth_ns = 800,           /* chosen: no published constant */
        .l3_line_cycles = 4,            /* kerncraft, 16 bytes a cycle */
        .dram_line_cycles = 13,         /* chosen */
        /* TMA: contested accesses 76.6 ns, hits in L3 32.6. */
        .snoop_latency = 123,
        .prefetch_distance = 20,        /* SOM */
        .l1d_prefetch = 256,
        .store_forward = 5,             /* usual figure */
        /* TMA: weight of LD_BLOCKS.STORE_FORWARD. */
        .store_forward_blocked = 13,
        .address_alias = 7,             /* TMA: Mem_4K_Alias_Cost */
        .load_buffer = 192,             /* IAD */

        .fetch_targets = 24,            /* chosen: Ishii et al. */
        /*
         * C&C, Loongson 3A6000: more than 3 instructions of 4 bytes a cycle
         * from L3: that takes 14 lines within its latency.
         */
        .l1i_fill_buffers = 16,
        .l1i_line_cycles = 4,           /* C&C: 16 bytes a cycle from L2 */
        .dsb_uops = 4096,               /* IAD */
        .dsb_window = 64,               /* IAD */
        .dsb_window_lines = 6,          /* chosen: as Sunny Cove */
        .dsb_line = 8,                  /* IAD: 8 micro-ops a cycle */
        .dsb_ways = 8,                  /* chosen: 64 sets */
        .dsb_switch = 2,                /* chosen */
        .decode_bytes = 32,             /* IAD */
        .predecode_insns = 6,           /* chosen: as many as decoders */
        .decoders = 6,                  /* IAD */
        .decode_uops = 6,               /* IAD */
        .instruction_queue = 40,        /* chosen */
        .lcp_stall = 3,                 /* as on Sunny Cove */
        .ms_switch = 2,                 /* as on Sunny Cove */
        .ms_uops = 4,                   /* as on Sunny Cove */

        .issue_to_dispatch = 5,         /* as on Sunny Cove */
        .btb_entries = 12288, .btb_ways = 6,    /* IAD: 12K targets */
        .return_stack = 24,             /* chosen */
        .resteer_penalty = 10,          /* TMA: BAClear */
        .clear_resteer = 7,             /* as on Sunny Cove */
        .mispredict_penalty = 12,       /* IAD: 17 cycles from a branch */
        .far_branch_penalty = 30,       /* chosen */
        .event_delivery = 400,          /* as Sunny Cove */
        .serialize_penalty = 0,         /* as on Sunny Cove */
        .smc_penalty = 100,             /* as on Sunny Cove */
        .assist_uops = 30,              /* likewise */
        .assist_latency = 115,          /* likewise */
    },
};

const PmuUarch *pmu_uarch(PmuCore core)
{
    return core < PMU_CORES_MEASURED ? &uarch_table[core]
                                     : pmu_uarch_older(core);
}
