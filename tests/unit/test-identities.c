/*
 * Identities between events: whatever runs, counters that must agree do.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Random programs run on the timing model.  Each event of an identity has a
 * counter in a register file of its own.  The test settles it again and again
 * on the way, as a guest does that reads its counters.  The identities come
 * from Intel's definitions of the events, and from arithmetic.
 */

#include <string.h>

#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/decoder.h"
#include "tcg/pmu/perfmon/perfmon.h"
#include "decode-bytes.h"
#include "random.h"
#include "tcg/pmu/sampling/timing.h"

#define INV         PMU_EVENT_INV
#define EDGES       (PMU_EVENT_EDGE | PMU_EVENT_CMASK(1))
#define C(n)        PMU_EVENT_CMASK(n)

/* Programs. */

typedef struct Code {
    const char *bytes;
    unsigned length;
} Code;

#define I(string) { string, sizeof(string) - 1 }

static const Code body[] = {
    I("\x48\xff\xc1"),                  /* inc rcx */
    I("\x48\x01\xd8"),                  /* add rax, rbx */
    I("\x66\x05\x01\x01"),              /* add ax, 0x101 */
    I("\x48\x0f\xaf\xc0"),              /* imul rax, rax */
    I("\x48\xf7\xf3"),                  /* div rbx */
    I("\xc5\xfd\x59\xc0"),              /* vmulpd ymm0, ymm0, ymm0 */
    I("\xc5\xfd\x5e\xc0"),              /* vdivpd ymm0, ymm0, ymm0 */
    I("\xc5\xf4\x58\xd3"),              /* vaddps ymm2, ymm1, ymm3 */
    I("\xc5\xf0\x58\xd3"),              /* vaddps xmm2, xmm1, xmm3 */
    I("\xc5\xf1\x58\xd3"),              /* vaddpd xmm2, xmm1, xmm3 */
    I("\xf2\x0f\x58\xc1"),              /* addsd xmm0, xmm1 */
    I("\xf3\x0f\x58\xc1"),              /* addss xmm0, xmm1 */
    I("\xd8\xc1"),                      /* fadd st0, st1 */
    I("\x90"),                          /* nop */
    I("\xf3\x90"),                      /* pause */
    I("\x0f\xae\xe8"),                  /* lfence */
    I("\x0f\xa2"),                      /* cpuid */
    I("\x48\x8b\x03"),                  /* mov rax, [rbx] */
    I("\x48\x8b\x16"),                  /* mov rdx, [rsi] */
    I("\x48\x03\x3e"),                  /* add rdi, [rsi] */
    I("\x48\x89\x06"),                  /* mov [rsi], rax */
    I("\x48\x89\x13"),                  /* mov [rbx], rdx */
    I("\xf0\x48\x01\x03"),              /* lock add [rbx], rax */
    I("\x0f\x18\x0b"),                  /* prefetcht0 [rbx] */
    I("\x0f\x18\x16"),                  /* prefetcht1 [rsi] */
    I("\x0f\x0d\x0b"),                  /* prefetchw [rbx] */
    I("\x0f\xae\x3b"),                  /* clflush [rbx] */
};

/* The instructions that end blocks. */
static const Code ends[] = {
    I("\x75\x00"),                      /* jnz */
    I("\x75\x00"),
    I("\x75\x00"),
    I("\xeb\x00"),                      /* jmp */
    I("\xff\xe0"),                      /* jmp rax */
    I("\xe8\x00\x00\x00\x00"),          /* call */
    I("\xff\xd0"),                      /* call rax */
    I("\xc3"),                          /* ret */
    I("\x0f\x05"),                      /* syscall */
};

#define BLOCKS      300
#define STEPS       (g_test_slow() ? 16000 : 4000)
/* Most blocks after which the registers are settled. */
#define INTERVAL    500

typedef struct Block {
    PmuBlockBuilder builder;
    uint64_t pc;
    uint64_t reach;             /* bytes, in which its accesses lie */
    uint64_t step;              /* bytes between accesses; 0: random */
    uint64_t place;             /* of the last access, within reach */
    unsigned percent;           /* how often it is taken, in % */
} Block;

typedef struct Program {
    PmuDecoder *decoder;
    Block block[BLOCKS];
} Program;

static PmuMapping page_of(void *opaque, uint64_t page)
{
    return (PmuMapping) { page };
}

static void append(Program *program, Block *block, const Code *code)
{
    const uint8_t *bytes = (const uint8_t *)code->bytes;
    const PmuInsn *insn = decode_bytes(program->decoder, bytes,
                                          code->length);
    uint8_t next = block->builder.block.num_accesses;
    uint8_t ea = PMU_NO_ACCESS, stack = PMU_NO_ACCESS;

    if (insn->flags & (PMU_INSN_LOAD | PMU_INSN_STORE | PMU_INSN_FLUSH)) {
        ea = next++;
    }
    if (insn->flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)) {
        stack = next++;
    }
    pmu_block_add_bytes(&block->builder, program->decoder, bytes, code->length,
                  (block->pc + block->builder.block.length) & 0xfff, ea,
                  stack);
}

static const Code *pick(Random *random, const Code *codes, unsigned num)
{
    return &codes[random_below(random, num)];
}

/*
 * Make a program of random blocks.  It has few kinds of instructions, so that
 * programs differ in what bounds them.
 */
static Program *program_new(PmuCore core, Random *random)
{
    static const unsigned percents[] = { 0, 100, 100, 95, 50 };
    Program *program = g_new0(Program, 1);
    unsigned reach = 12 + random_below(random, 18);
    Code few[5];

    for (unsigned i = 0; i < G_N_ELEMENTS(few); i++) {
        few[i] = *pick(random, body, G_N_ELEMENTS(body));
    }
    program->decoder = pmu_decoder_new(core, pmu_uarch(core));
    for (unsigned i = 0; i < BLOCKS; i++) {
        Block *block = &program->block[i];
        PmuLevel level = i < BLOCKS / 8 ? PMU_LEVEL_OS : PMU_LEVEL_USR;

        block->pc = 0x400000 + i * 256;
        block->reach = 1ull << (random_below(random, 2) ? 12 : reach);
        block->step = random_below(random, 2) * random_below(random, 256);
        block->percent = percents[random_below(random,
                                               G_N_ELEMENTS(percents))];
        pmu_block_begin(&block->builder, level, block->pc);
        for (unsigned n = random_below(random, 16); n; n--) {
            append(program, block, pick(random, few, G_N_ELEMENTS(few)));
        }
        append(program, block, pick(random, ends, G_N_ELEMENTS(ends)));
    }
    return program;
}

static void program_free(Program *program)
{
    pmu_decoder_free(program->decoder);
    g_free(program);
}

/* Counters. */

/* One event, in its own register file. */
typedef struct Counter {
    Perfmon pmu;
    uint32_t rdpmc;             /* ECX */
} Counter;

/* Stands for a fixed counter instead of a selector. */
#define FIXED(n)    (1ull << 63 | (n))
#define IS_FIXED(select) ((select) >> 63)

/* A selector with a value of MSR_OFFCORE_RSP_0. */
#define OCR(value)  ((uint64_t)(value) << 24 | 1ull << 62)
#define IS_OCR(select) ((select) >> 62 == 1)

/* A selector with a value of MSR_PEBS_FRONTEND. */
#define FRONTEND(value, select) \
    ((uint64_t)(value) << 32 | 1ull << 61 | (select))
#define IS_FRONTEND(select) ((select) >> 61 == 1)

static void write_msr(Perfmon *pmu, uint32_t msr, uint64_t value)
{
    g_assert_cmpint(perfmon_wrmsr_check(pmu, msr, value), ==, PERFMON_OK);
    perfmon_wrmsr(pmu, msr, value);
}

static void counter_init(Counter *counter, PmuCore core, uint64_t select,
                         const PmuLedgerSnapshot *now)
{
    const PerfmonConfig config = {
        .core = core, .num_gp = 8, .num_fixed = 4, .pdcm = true,
        .capabilities = 0xa000, .num_metrics = core ? 8 : 4,
        .metrics_width = 48,
    };
    Perfmon *pmu = &counter->pmu;
    const char *why;

    g_assert_true(perfmon_init(pmu, &config, &why));
    perfmon_update(pmu, now);
    if (IS_FIXED(select)) {
        write_msr(pmu, 0x38d, 3ull << 4 * (select & 3));
        write_msr(pmu, 0x38f, 1ull << (32 + (select & 3)));
        counter->rdpmc = 0x40000000 | (select & 3);
        return;
    }
    if (IS_OCR(select)) {
        write_msr(pmu, 0x1a6, (select & ~(1ull << 62)) >> 24);
        select = core ? 0x012a : 0x01b7;
    }
    if (IS_FRONTEND(select)) {
        write_msr(pmu, 0x3f7, (select & ~(1ull << 61)) >> 32);
    }
    write_msr(pmu, 0x186, 0x430000 | (uint32_t)select);
    write_msr(pmu, 0x38f, 1);
    g_assert_cmpint(pmu->selected[0].state, <, PMU_EVENT_NOT_MODELLED);
}

static uint64_t counter_read(const Counter *counter)
{
    uint64_t value;

    g_assert_cmpint(perfmon_rdpmc(&counter->pmu, counter->rdpmc, &value), ==,
                    PERFMON_OK);
    return value;
}

/* Identities. */

#define TERMS 10

typedef enum Relation {
    EQUAL,
    AT_MOST,
} Relation;

typedef struct Identity {
    const char *name;
    Relation relation;
    /*
     * Check only while the pipeline runs each instruction.  Otherwise one side
     * may be estimated without the other.
     */
    bool detailed;
    uint64_t left[TERMS], right[TERMS]; /* sums of selectors; 0 ends */
    unsigned times;             /* factor of the right side; 0: 1 */
    /*
     * How much one side may have counted before the other: what is under way
     * between two stages of the pipeline.
     */
    unsigned under_way;
} Identity;

/* Slots of the open cycle; micro-ops in the reorder buffer. */
#define OPEN_CYCLE  .under_way = 6
#define IN_FLIGHT   .under_way = 512


#define BOTH_CORES(SEL)                                                     \
    { "UOPS_RETIRED.SLOTS + frontend + backend <= TOPDOWN.SLOTS",           \
      AT_MOST, false, { 0x02c2, 0x019c, 0x02a4 }, { FIXED(3) } },           \
    { "TOPDOWN.SLOTS_P = TOPDOWN.SLOTS", EQUAL, false,                      \
      { 0x01a4 }, { FIXED(3) } },                                           \
    { "CPU_CLK_UNHALTED.THREAD_P", EQUAL, false, { 0x003c }, { FIXED(1) } },\
    { "CPU_CLK_UNHALTED.DISTRIBUTED", EQUAL, false,                         \
      { 0x02ec }, { FIXED(1) } },                                           \
    { "INST_RETIRED.ANY_P", EQUAL, false, { 0x00c0 }, { FIXED(0) } },       \
    /* Cycles with and without */                                           \
    { "UOPS_ISSUED, cycles", EQUAL, true,                                   \
      { SEL(0x010e, 0x01ae) | C(1), SEL(0x010e, 0x01ae) | C(1) | INV },     \
      { FIXED(1) } },                                                       \
    { "UOPS_EXECUTED, cycles", EQUAL, true,                                 \
      { 0x01b1 | C(2), 0x01b1 | C(2) | INV }, { FIXED(1) } },               \
    { "UOPS_RETIRED, cycles", EQUAL, true,                                  \
      { 0x02c2 | C(1), 0x02c2 | C(1) | INV }, { FIXED(1) } },               \
    { "IDQ_UOPS_NOT_DELIVERED, cycles", EQUAL, true,                        \
      { 0x019c | C(1), 0x019c | C(1) | INV }, { FIXED(1) } },               \
    /* The open cycle is in IDQ already: what is left may fall at a look. */ \
    { "IDQ.DSB, cycles", EQUAL, false,                                      \
      { 0x0879 | C(1), 0x0879 | C(1) | INV }, { FIXED(1) }, OPEN_CYCLE },   \
    /* Cycles with at least 1, 2... add up to all that is counted */        \
    { "UOPS_ISSUED.ANY by cycles", EQUAL, true,                             \
      { SEL(0x010e, 0x01ae) | C(1), SEL(0x010e, 0x01ae) | C(2),             \
        SEL(0x010e, 0x01ae) | C(3), SEL(0x010e, 0x01ae) | C(4),             \
        SEL(0x010e, 0x01ae) | C(5), SEL(0x010e, 0x01ae) | C(6) },           \
      { SEL(0x010e, 0x01ae) }, OPEN_CYCLE },                                \
    { "UOPS_RETIRED.SLOTS by cycles", EQUAL, true,                          \
      { 0x02c2 | C(1), 0x02c2 | C(2), 0x02c2 | C(3), 0x02c2 | C(4),         \
        0x02c2 | C(5), 0x02c2 | C(6), 0x02c2 | C(7), 0x02c2 | C(8) },       \
      { 0x02c2 }, IN_FLIGHT },                                              \
    { "IDQ_UOPS_NOT_DELIVERED.CORE by cycles", EQUAL, true,                 \
      { 0x019c | C(1), 0x019c | C(2), 0x019c | C(3), 0x019c | C(4),         \
        0x019c | C(5), 0x019c | C(6) }, { 0x019c } },                       \
    { "UOPS_EXECUTED.THREAD by cycles", AT_MOST, true,                      \
      { 0x01b1 | C(1), 0x01b1 | C(2), 0x01b1 | C(3), 0x01b1 | C(4),         \
        0x01b1 | C(5), 0x01b1 | C(6), 0x01b1 | C(7), 0x01b1 | C(8) },       \
      { 0x01b1 } },                                                         \
    { "IDQ.DSB_UOPS by cycles", SEL(EQUAL, AT_MOST), true,                  \
      { 0x0879 | C(1), 0x0879 | C(2), 0x0879 | C(3), 0x0879 | C(4),         \
        0x0879 | C(5), 0x0879 | C(6) }, { 0x0879 } },                       \
    { "IDQ.MITE_UOPS by cycles", EQUAL, true,                               \
      { 0x0479 | C(1), 0x0479 | C(2), 0x0479 | C(3), 0x0479 | C(4),         \
        0x0479 | C(5), 0x0479 | C(6) }, { 0x0479 } },                       \
    /* Execution */                                                         \
    { "CYCLE_ACTIVITY.STALLS_TOTAL", EQUAL, false,                          \
      { 0x04a3 | C(4) }, { 0x01b1 | C(1) | INV } },                         \
    { "STALLS_L3_MISS <= STALLS_L2_MISS", AT_MOST, false,                   \
      { 0x06a3 | C(6) }, { 0x05a3 | C(5) } },                               \
    { "STALLS_L2_MISS <= STALLS_L1D_MISS", AT_MOST, false,                  \
      { 0x05a3 | C(5) }, { 0x0ca3 | C(12) } },                              \
    { "STALLS_L1D_MISS <= STALLS_TOTAL", AT_MOST, true,                     \
      { 0x0ca3 | C(12) }, { 0x04a3 | C(4) } },                              \
    { "STALLS_L1D_MISS <= CYCLES_L1D_MISS", AT_MOST, true,                  \
      { 0x0ca3 | C(12) }, { 0x08a3 | C(8) } },                              \
    { "CYCLES_L2_MISS <= CYCLES_L1D_MISS", AT_MOST, false,                  \
      { 0x01a3 | C(1) }, { 0x08a3 | C(8) } },                               \
    { "CYCLES_L1D_MISS <= CYCLES_MEM_ANY", AT_MOST, false,                  \
      { 0x08a3 | C(8) }, { 0x10a3 | C(16) } },                              \
    { "L1D_PEND_MISS.PENDING_CYCLES", AT_MOST, true,                        \
      { 0x0148 | C(1) }, { 0x0148 } },                                      \
    { "reads of data by demand loads", AT_MOST, true,                       \
      { SEL(0x0160, 0x0120) | C(1) }, { SEL(0x0860, 0x0820) | C(1) } },     \
    { "cycles with reads by demand loads", AT_MOST, true,                   \
      { SEL(0x0160, 0x0120) | C(1) }, { SEL(0x0160, 0x0120) } },            \
    { "cycles with reads from DRAM, or reads from there", AT_MOST, true,    \
      { SEL(0x1060 | C(1), 0x1020) }, { SEL(0x1060, 0x0120) } },            \
    { "DTLB_LOAD_MISSES.WALK_ACTIVE", AT_MOST, true,                        \
      { SEL(0x1008, 0x1012) | C(1) }, { SEL(0x1008, 0x1012) } },            \
    { "DTLB_STORE_MISSES.WALK_ACTIVE", AT_MOST, true,                       \
      { SEL(0x1049, 0x1013) | C(1) }, { SEL(0x1049, 0x1013) } },            \
    { "ITLB_MISSES.WALK_ACTIVE", AT_MOST, true,                             \
      { SEL(0x1085, 0x1011) | C(1) }, { SEL(0x1085, 0x1011) } },            \
    { "DTLB_LOAD_MISSES.WALK_ACTIVE <= cycles", AT_MOST, true,              \
      { SEL(0x1008, 0x1012) | C(1) }, { FIXED(1) } },                       \
    { "UOPS_EXECUTED.THREAD by ports", EQUAL, true,                         \
      { SEL(0x01a1, 0x01b2), SEL(0x02a1, 0x02b2), SEL(0x04a1, 0x04b2),      \
        SEL(0x10a1, 0x10b2), SEL(0x20a1, 0x20b2), SEL(0x40a1, 0x40b2),      \
        SEL(0x80a1, 0x80b2) }, { 0x01b1 }, IN_FLIGHT },                     \
    /* Thresholds and edges that perf's metrics ask for */                   \
    { "ICACHE_DATA.STALL_PERIODS <= ICACHE_DATA.STALLS", AT_MOST, false,    \
      { 0x0480 | EDGES }, { 0x0480 } },                                     \
    { "DSB2MITE_SWITCHES.COUNT <= PENALTY_CYCLES", AT_MOST, false,          \
      { SEL(0x02ab, 0x0261) | EDGES }, { SEL(0x02ab, 0x0261) } },           \
    { "INT_MISC.CLEARS_COUNT <= RECOVERY_CYCLES", AT_MOST, true,            \
      { SEL(0x010d, 0x01ad) | EDGES }, { SEL(0x010d, 0x01ad) } },           \
    { "DTLB_LOAD_MISSES.STLB_HIT, cycles", AT_MOST, false,                  \
      { SEL(0x2008, 0x2012) | C(1) }, { SEL(0x2008, 0x2012) } },            \
    { "DTLB_STORE_MISSES.STLB_HIT, cycles", AT_MOST, false,                 \
      { SEL(0x2049, 0x2013) | C(1) }, { SEL(0x2049, 0x2013) } },            \
    { "INST_DECODED.DECODERS, cycles", AT_MOST, true,                       \
      { SEL(0x0155, 0x0175) | C(1), SEL(0x0155, 0x0175) | C(2) },           \
      { SEL(0x0155, 0x0175) } },                                            \
    { "reads of data, cycles", AT_MOST, true,                               \
      { SEL(0x0860, 0x0820) | C(1), SEL(0x0860, 0x0820) | C(2),             \
        SEL(0x0860, 0x0820) | C(3), SEL(0x0860, 0x0820) | C(4),             \
        SEL(0x0860, 0x0820) | C(5), SEL(0x0860, 0x0820) | C(6) },           \
      { SEL(0x0860, 0x0820) } },                                            \
    { "reads of data, four at a time", AT_MOST, true,                       \
      { SEL(0x0860, 0x0820) | C(4) }, { SEL(0x0860, 0x0820) | C(1) } },     \
    /* Branches */                                                          \
    { "BR_INST_RETIRED by whether they are taken", EQUAL, false,            \
      { 0x20c4, 0x10c4, 0x40c4 }, { 0x00c4 } },                             \
    { "BR_INST_RETIRED.COND", EQUAL, false, { 0x01c4, 0x10c4 },             \
      { 0x11c4 } },                                                         \
    { "BR_INST_RETIRED by kinds", AT_MOST, false,                           \
      { 0x11c4, 0x02c4, 0x08c4, 0x40c4 }, { 0x00c4 } },                     \
    { "BR_MISP_RETIRED by kinds", EQUAL, false, { 0x11c5, 0x80c5, 0x08c5 }, \
      { 0x00c5 } },                                                         \
    { "BR_MISP_RETIRED.COND", EQUAL, false, { 0x01c5, 0x10c5 },             \
      { 0x11c5 } },                                                         \
    { "mispredicted indirect branches", AT_MOST, true, { 0x80c5 },         \
      { 0x80c4 } },                                                         \
    { "mispredicted returns", AT_MOST, true, { 0x08c5 }, { 0x08c4 } },     \
    { "INT_MISC.CLEARS_COUNT", EQUAL, false, { 0x00c5, 0x01c3 | EDGES },    \
      { SEL(0x010d, 0x01ad) | EDGES } },                                    \
    /* Loads, stores and caches */                                          \
    { "MEM_INST_RETIRED.ANY", AT_MOST, false, { 0x83d0 },                   \
      { 0x81d0, 0x82d0 } },                                                 \
    { "loads by L1D", EQUAL, true, { 0x01d1, 0x40d1, 0x08d1 },              \
      { 0x81d0 } },                                                         \
    { "loads by L2", EQUAL, false, { 0x02d1, 0x10d1 }, { 0x08d1 } },        \
    { "loads by L3", EQUAL, false, { 0x04d1, 0x20d1 }, { 0x10d1 } },        \
    { "loads from DRAM", EQUAL, false, { 0x01d3 }, { 0x20d1 } },            \
    { "L2_RQSTS, data", EQUAL, false, { 0xc124, 0x2124 }, { 0xe124 } },     \
    { "L2_RQSTS, RFO", EQUAL, false, { 0xc224, 0x2224 }, { 0xe224 } },      \
    { "L2_RQSTS, code", EQUAL, false, { 0xc424, 0x2424 }, { 0xe424 } },     \
    { "L2_RQSTS.ALL_DEMAND_MISS", EQUAL, false,                             \
      { 0x2124, 0x2224, 0x2424 }, { 0x2724 } },                             \
    { "L1D.REPLACEMENT", AT_MOST, false, { 0xe124, 0xe224 }, { 0x0151 } },  \
    { "... and software prefetches", AT_MOST, false, { 0x0151 },            \
      { 0xe124, 0xe224, 0x2824, 0xc824 } },                                 \
    { "OFFCORE_REQUESTS.DEMAND_DATA_RD", AT_MOST, false,                    \
      { SEL(0x01b0, 0x0121) }, { 0x2124 } },                                \
    { "OFFCORE_REQUESTS.DEMAND_RFO", EQUAL, false,                          \
      { SEL(0x04b0, 0x0421) }, { 0x2224 } },                                \
    { "OFFCORE_REQUESTS.DEMAND_CODE_RD", EQUAL, false,                      \
      { SEL(0x02b0, 0x0221) }, { 0x2424 } },                                \
    { "OFFCORE_REQUESTS.ALL_REQUESTS", EQUAL, false,                        \
      { SEL(0x80b0, 0x8021) }, { 0x4f2e } },                                \
    { "OCR.DEMAND_DATA_RD", EQUAL, false,                                   \
      { OCR(0x3f803c0001), OCR(0x3fbfc00001) }, { OCR(0x10001) } },         \
    { "OCR.DEMAND_DATA_RD.ANY_RESPONSE", EQUAL, false, { OCR(0x10001) },    \
      { SEL(0x01b0, 0x0121) } },                                            \
    { "MEM_LOAD_L3_HIT_RETIRED", EQUAL, false, { 0x08d2, 0x04d2 },          \
      { 0x04d1 } },                                              \
    { "OCR.DEMAND_RFO", EQUAL, false,                                       \
      { OCR(0x3f803c0002), OCR(0x3f3fc00002) }, { OCR(0x3f3ffc0002) } },    \
    { "OCR.DEMAND_CODE_RD", EQUAL, false,                                   \
      { OCR(0x3f803c0004), OCR(0x3fbfc00004) }, { OCR(0x10004) } },         \
    { "OCR.READS_TO_CORE.L3_MISS", EQUAL, false,                            \
      { OCR(SEL(0x3f3fc00477, 0x3f3fc04477)) }, { 0x412e } },               \
    { "LONGEST_LAT_CACHE", AT_MOST, false, { 0x412e }, { 0x4f2e } },        \
    /* Floating point */                                                    \
    { "FP_ARITH_INST_RETIRED.SCALAR", EQUAL, false, { 0x01c7, 0x02c7 },     \
      { 0x03c7 } },                                                         \
    { "FP_ARITH_INST_RETIRED.VECTOR", EQUAL, false,                         \
      { 0x04c7, 0x08c7, 0x10c7, 0x20c7, 0x40c7, 0x80c7 }, { 0xfcc7 } }

#define SECOND(first, second) second
#define FIRST(first, second) first

static const Identity icelake[] = {
    { "SLOTS = 5 x CYCLES", EQUAL, false, { FIXED(3) }, { FIXED(1) }, 5 },
    { "STALLS_L1D_MISS <= STALLS_MEM_ANY", AT_MOST, false,
      { 0x0ca3 | C(12) }, { 0x14a3 | C(20) } },
    { "STALLS_MEM_ANY <= STALLS_TOTAL", AT_MOST, true,
      { 0x14a3 | C(20) }, { 0x04a3 | C(4) } },
    { "CPU_CLK_UNHALTED.REF_XCLK", EQUAL, false, { 0x013c }, { 0x023c } },
    { "UOPS_DECODED.DEC0, cycles", AT_MOST, true, { 0x0156 | C(1) },
      { 0x0156 } },
    { "ICACHE_64B.IFTAG_MISS", EQUAL, false, { 0x0283 }, { 0xe424 } },
    { "OCR.HWPF_L1D_AND_SWPF", EQUAL, false, { OCR(0x10400), 0x01b0 },
      { 0x2124, 0x2824 } },
    BOTH_CORES(FIRST),
};

static const Identity sapphirerapids[] = {
    { "SLOTS = 6 x CYCLES", EQUAL, false, { FIXED(3) }, { FIXED(1) }, 6 },
    { "level 1", EQUAL, false, { 0x02c2, 0x04a4, 0x019c, 0x02a4 },
      { FIXED(3) } },
    { "TOPDOWN.BR_MISPREDICT_SLOTS", AT_MOST, false, { 0x08a4 }, { 0x04a4 } },
    { "TOPDOWN.MEMORY_BOUND_SLOTS", AT_MOST, false, { 0x10a4 }, { 0x02a4 } },
    { "CPU_CLK_UNHALTED.REF_TSC_P", EQUAL, false, { 0x013c }, { FIXED(2) } },
    { "UOPS_EXECUTED.CORE", EQUAL, false, { 0x02b1 }, { 0x01b1 } },
    { "INT_MISC.UNKNOWN_BRANCH_CYCLES, periods", AT_MOST, false,
      { FRONTEND(0x7, 0x40ad | EDGES) }, { FRONTEND(0x7, 0x40ad) } },
    { "UOPS_RETIRED.MS, cycles", AT_MOST, false,
      { FRONTEND(0x8, 0x04c2 | C(1)) }, { FRONTEND(0x8, 0x04c2) } },
    { "UOPS_RETIRED.MS, periods", AT_MOST, true,
      { FRONTEND(0x8, 0x04c2 | EDGES) }, { FRONTEND(0x8, 0x04c2) } },
    { "EXE_ACTIVITY.2_3_PORTS_UTIL", EQUAL, false, { 0x04a6, 0x08a6 },
      { 0x0ca6 } },
    { "MEMORY_ACTIVITY.STALLS_L1D_MISS", EQUAL, false, { 0x0347 | C(3) },
      { 0x0ca3 | C(12) } },
    { "MEM_LOAD_COMPLETED.L1_MISS_ANY", EQUAL, false, { 0x40d1, 0x08d1 },
      { 0xfd43 } },
    { "L2_RQSTS", EQUAL, false, { 0xdf24, 0x3f24 }, { 0xff24 } },
    { "L2_RQSTS, demand and prefetches", EQUAL, false,
      { 0xe724, 0xf024, 0x2824, 0xc824 }, { 0xff24 } },
    { "L2_LINES_IN.ALL", EQUAL, false, { 0x1f25 }, { 0x3f24 } },
    { "OCR.HWPF_L1D", EQUAL, false, { OCR(0x10400), 0x0121 }, { 0x2124 } },
    { "L1D.HWPF_MISS", AT_MOST, false, { OCR(0x10400) }, { 0x2051 } },
    BOTH_CORES(SECOND),
};

static const struct {
    const Identity *identity;
    unsigned num;
} all[] = {
    [PMU_CORE_ICELAKE] = { icelake, G_N_ELEMENTS(icelake) },
    [PMU_CORE_SAPPHIRERAPIDS] = {
        sapphirerapids, G_N_ELEMENTS(sapphirerapids)
    },
};

/*
 * A core and the counters of all its identities: for each the left side, then
 * the right side.
 */
typedef struct Bench {
    PmuCore core;
    PmuLedger ledger;
    PmuTiming *timing;
    Counter **counters;         /* of all[core], 2 * TERMS for each */
    unsigned num;
    Random random;
} Bench;

static uint64_t selector(const Bench *bench, unsigned i)
{
    const Identity *identity = &all[bench->core].identity[i / (2 * TERMS)];
    unsigned term = i % (2 * TERMS);

    return term < TERMS ? identity->left[term]
                        : identity->right[term - TERMS];
}

static void bench_settle(Bench *bench)
{
    PmuLedgerSnapshot now;

    pmu_timing_flush(bench->timing);
    pmu_ledger_snapshot(&bench->ledger, &now);
    for (unsigned i = 0; i < bench->num; i++) {
        if (bench->counters[i]) {
            perfmon_update(&bench->counters[i]->pmu, &now);
        }
    }
}

static void bench_init(Bench *bench, PmuCore core,
                       const PmuSampling *sampling)
{
    PmuLedgerSnapshot now;

    bench->core = core;
    bench->random = random_from_seed();
    bench->timing = pmu_timing_new(pmu_uarch(core), &bench->ledger, NULL,
                                   page_of, NULL);
    pmu_timing_set_sampling(bench->timing, sampling);
    bench->num = 2 * TERMS * all[core].num;
    bench->counters = g_new0(Counter *, bench->num);
    pmu_ledger_snapshot(&bench->ledger, &now);
    for (unsigned i = 0; i < bench->num; i++) {
        if (selector(bench, i)) {
            bench->counters[i] = g_new0(Counter, 1);
            counter_init(bench->counters[i], core, selector(bench, i), &now);
        }
    }
}

static void bench_destroy(Bench *bench)
{
    for (unsigned i = 0; i < bench->num; i++) {
        g_free(bench->counters[i]);
    }
    g_free(bench->counters);
    pmu_timing_free(bench->timing);
}

/* Run a program, settling the counters now and then. */
static void bench_run(Bench *bench, Program *program)
{
    Random *random = &bench->random;
    unsigned at = 0, look = 0;

    for (unsigned i = 0; i < STEPS; i++) {
        Block *block = &program->block[at];
        uint64_t addr[PMU_BLOCK_ACCESSES];
        PmuExecution dynamic = {
            .addr = addr, .pc = block->pc, .iterations = 1,
        };

        for (unsigned j = 0; j < block->builder.block.num_accesses; j++) {
            block->place = block->step ? block->place + block->step
                                       : random_below(random, block->reach);
            addr[j] = 0x100000000ull + block->place % block->reach;
        }
        dynamic.taken = block->builder.block.branch != PMU_BRANCH_COND ||
                        random_below(random, 100) < block->percent;
        at = dynamic.taken && random_below(random, 4) == 0
             ? random_below(random, BLOCKS) : (at + 1) % BLOCKS;
        dynamic.target = program->block[at].pc;
        pmu_timing_run(bench->timing, &block->builder.block, 0,
                       block->builder.block.num_insns, &dynamic);
        if (i == look) {
            bench_settle(bench);
            look = i + 1 + random_below(random, INTERVAL);
        }
    }
    bench_settle(bench);
}

/* Returns the sum of the counters of the side that begins at @first. */
static uint64_t side(Bench *bench, unsigned first)
{
    uint64_t sum = 0;

    for (unsigned i = first; i < first + TERMS; i++) {
        if (bench->counters[i]) {
            sum += counter_read(bench->counters[i]);
        }
    }
    return sum;
}

static void check(Bench *bench, const Identity *identity, unsigned first)
{
    uint64_t left = side(bench, first);
    uint64_t right = side(bench, first + TERMS) * MAX(identity->times, 1);

    if (left > right + identity->under_way ||
        (identity->relation == EQUAL && right > left + identity->under_way)) {
        g_test_message("%s: %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT,
                       identity->name, left, right);
        g_test_fail();
    }
}

static void check_all(Bench *bench, bool detailed)
{
    for (unsigned i = 0; i < all[bench->core].num; i++) {
        const Identity *identity = &all[bench->core].identity[i];

        if (detailed || !identity->detailed) {
            check(bench, identity, i * 2 * TERMS);
        }
    }
}

#define PROGRAMS 6

static void test_core(PmuCore core, const PmuSampling *sampling)
{
    Bench bench;

    bench_init(&bench, core, sampling);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        Program *program = program_new(core, &bench.random);

        bench_run(&bench, program);
        check_all(&bench, !sampling);
        program_free(program);
    }
    bench_destroy(&bench);
}

/* All identities hold in detailed simulation. */
static void test_detailed(gconstpointer core)
{
    test_core(GPOINTER_TO_INT(core), NULL);
}

/* Those that do not need it hold in sampling, too. */
static void test_sampled(gconstpointer core)
{
    test_core(GPOINTER_TO_INT(core), &pmu_sampling);
}

/* Both sides of each identity count something: zeros would always agree. */
static void test_not_idle(gconstpointer opaque)
{
    PmuCore core = GPOINTER_TO_INT(opaque);
    Bench bench;

    bench_init(&bench, core, NULL);
    for (unsigned i = 0; i < 4 * PROGRAMS; i++) {
        Program *program = program_new(core, &bench.random);

        bench_run(&bench, program);
        program_free(program);
    }
    for (unsigned i = 0; i < bench.num; i += TERMS) {
        if (!side(&bench, i)) {
            g_test_message("%s: nothing was counted",
                           all[core].identity[i / (2 * TERMS)].name);
            g_test_fail();
        }
    }
    bench_destroy(&bench);
}

/* PERF_METRICS, and the events that count the same classes of slots. */

#define FIELDS 8

static const struct {
    unsigned num;
    uint64_t select[FIELDS];    /* 0: no event */
} fields[] = {
    [PMU_CORE_ICELAKE] = { 4, { 0x02c2, 0, 0x019c, 0x02a4 } },
    [PMU_CORE_SAPPHIRERAPIDS] = {
        8, { 0x02c2, 0x04a4, 0x019c, 0x02a4, 0, 0x08a4, 0, 0x10a4 }
    },
};

/*
 * Fixed counter 3 with PERF_METRICS on, and the event of @field on PMC0: the
 * field is the event's share of 255, to 1.
 */
static void check_field(Program *program, PmuCore core, unsigned field)
{
    Bench bench = { .core = core };
    Counter counter = { 0 };
    Counter *counters[] = { &counter };
    PmuLedgerSnapshot now;
    uint64_t metrics, slots, share;

    bench.random = random_from_seed();
    bench.timing = pmu_timing_new(pmu_uarch(core), &bench.ledger, NULL,
                                  page_of, NULL);
    bench.counters = counters;
    bench.num = 1;
    pmu_ledger_snapshot(&bench.ledger, &now);
    counter_init(&counter, core, fields[core].select[field], &now);
    write_msr(&counter.pmu, 0x38d, 0x3000);
    write_msr(&counter.pmu, 0x38f, 1ull << 48 | 1ull << 35 | 1);
    bench_run(&bench, program);

    perfmon_rdpmc(&counter.pmu, 0x40000003, &slots);
    perfmon_rdpmc(&counter.pmu, 0x20000000, &metrics);
    share = 255 * counter_read(&counter) / slots;
    g_assert_cmpuint(metrics >> 8 * field & 0xff, >=, share ? share - 1 : 0);
    g_assert_cmpuint(metrics >> 8 * field & 0xff, <=, share + 1);
    pmu_timing_free(bench.timing);
}

/* Each field of PERF_METRICS agrees with the event of its class. */
static void test_metrics(gconstpointer opaque)
{
    PmuCore core = GPOINTER_TO_INT(opaque);
    Random random = random_from_seed();
    Program *program = program_new(core, &random);

    for (unsigned i = 0; i < fields[core].num; i++) {
        if (fields[core].select[i]) {
            check_field(program, core, i);
        }
    }
    program_free(program);
}

int main(int argc, char **argv)
{
    static const char *const name[] = { "icelake", "sapphirerapids" };

    g_test_init(&argc, &argv, NULL);
    for (unsigned core = 0; core < G_N_ELEMENTS(name); core++) {
        g_autofree char *detailed = g_strconcat("/identities/detailed/",
                                               name[core], NULL);
        g_autofree char *sampled = g_strconcat("/identities/sampled/",
                                               name[core], NULL);
        g_autofree char *idle = g_strconcat("/identities/not-idle/",
                                            name[core], NULL);
        g_autofree char *metrics = g_strconcat("/identities/metrics/",
                                               name[core], NULL);

        g_test_add_data_func(detailed, GINT_TO_POINTER(core), test_detailed);
        g_test_add_data_func(sampled, GINT_TO_POINTER(core), test_sampled);
        g_test_add_data_func(idle, GINT_TO_POINTER(core), test_not_idle);
        g_test_add_data_func(metrics, GINT_TO_POINTER(core), test_metrics);
    }
    return g_test_run();
}
