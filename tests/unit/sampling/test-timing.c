/*
 * The timing model: where slots go for code whose bottleneck is known, that
 * nothing is lost, and that cuts between blocks leave no trace.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The expected figures come from arithmetic on measured latencies and widths
 * (Xeon Gold 6330: InstLatx64; widths: Intel, uiCA), from published TopDown
 * breakdowns, and from conservation.
 */

#include <glib.h>
#include <math.h>
#include <string.h>

#include "decode-bytes.h"
#include "random.h"
#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/decoder.h"
#include "tcg/pmu/sampling/sampling-units.h"
#include "tcg/pmu/sampling/timing-state.h"
#include "tcg/pmu/sampling/timing.h"
#include "tcg/pmu/sampling/unknown-code.h"

/* One instruction as bytes; the disassembly stands beside each use. */
typedef struct Code {
    const char *bytes;
    unsigned length;
} Code;

#define I(s)    { s, sizeof(s) - 1 }

#define NOP             I("\x0f\x1f\x40\x00")           /* nop [rax+0] */
#define DEC_RCX         I("\x48\xff\xc9")               /* dec rcx */
#define JNZ             I("\x75\x00")                   /* jnz */
#define JMP             I("\xeb\x00")                   /* jmp */
#define IMUL_RAX        I("\x48\x0f\xaf\xc0")           /* imul rax, rax */
#define VMULPD          I("\xc5\xfd\x59\xc0")   /* vmulpd ymm0, ymm0, ymm0 */
#define LOAD_RAX_RAX    I("\x48\x8b\x00")               /* mov rax, [rax] */
#define LOAD_RAX_RBX    I("\x48\x8b\x03")               /* mov rax, [rbx] */
#define STORE_RAX_RBX   I("\x48\x89\x03")               /* mov [rbx], rax */
#define TEST_RAX        I("\x48\x85\xc0")               /* test rax, rax */
#define PAUSE           I("\xf3\x90")                   /* pause */
#define ADD_RAX_1       I("\x48\x83\xc0\x01")           /* add rax, 1 */
#define ADD_AX_IMM16    I("\x66\x05\x01\x01")           /* add ax, 0x101 */
#define MOVABS  I("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08")

/* The most instructions of a test's program. */
#define PROGRAM_MAX 20000

/* A core with a ledger and a program for it. */
typedef struct Rig {
    const PmuUarch *uarch;
    PmuDecoder *decoder;
    PmuLedger ledger;
    PmuTiming *timing;
    PmuLedgerSnapshot start;    /* where measuring began */
    double cycles;              /* since then */
    PmuBlockBuilder **blocks;   /* the program, cut into full blocks */
    uint64_t *pcs;
    unsigned num_blocks;
    Random random;              /* for addresses and outcomes */
    uint64_t accesses, branches;        /* so far */
} Rig;

/* Pages are of 4 KiB; from LARGE_BASE on they are of 2 MiB. */
#define LARGE_BASE  (1ull << 40)

/*
 * Physical memory is a permutation of the small pages, so linear is not
 * physical.
 */
static PmuMapping page_of(void *opaque, uint64_t page)
{
    return page < LARGE_BASE >> PMU_PAGE_SHIFT
           ? (PmuMapping) { page ^ 0x5555 }
           : (PmuMapping) { page, PMU_PAGE_2M };
}

static uint64_t phys_of(uint64_t linear)
{
    return page_of(NULL, linear >> PMU_PAGE_SHIFT).page << PMU_PAGE_SHIFT |
           (linear & 0xfff);
}

static Rig *rig_new(PmuCore core)
{
    Rig *rig = g_new0(Rig, 1);

    rig->uarch = pmu_uarch(core);
    rig->random = random_from_seed();
    rig->decoder = pmu_decoder_new(core, pmu_uarch(core));
    g_assert_nonnull(rig->decoder);
    rig->timing = pmu_timing_new(rig->uarch, &rig->ledger, NULL, page_of, NULL);
    g_assert_nonnull(rig->timing);
    /* The test is of the model, not of how well sampling estimates it. */
    pmu_timing_set_sampling(rig->timing, NULL);
    rig->blocks = g_new0(PmuBlockBuilder *, PROGRAM_MAX);
    rig->pcs = g_new0(uint64_t, PROGRAM_MAX);
    return rig;
}

static void rig_free(Rig *rig)
{
    for (unsigned i = 0; i < rig->num_blocks; i++) {
        g_free(rig->blocks[i]);
    }
    g_free(rig->blocks);
    g_free(rig->pcs);
    g_assert_cmpuint(pmu_timing_repairs(rig->timing), ==, 0);
    pmu_timing_free(rig->timing);
    pmu_decoder_free(rig->decoder);
    g_free(rig);
}

static PmuBlockBuilder *block_new(uint64_t pc, PmuLevel level)
{
    PmuBlockBuilder *builder = g_new0(PmuBlockBuilder, 1);

    pmu_block_begin(builder, level, phys_of(pc));
    builder->block.phys_next = phys_of((pc | 0xfff) + 1);
    return builder;
}

/* Append @code, which begins at linear address @pc. */
static void block_append(PmuBlockBuilder *builder, PmuDecoder *decoder,
                         Code code, uint64_t pc)
{
    const uint8_t *bytes = (const uint8_t *)code.bytes;
    uint8_t ea = PMU_NO_ACCESS, stack = PMU_NO_ACCESS;
    uint8_t next = builder->block.num_accesses;
    const PmuInsn *insn = decode_bytes(decoder, bytes,
                                       code.length);

    if (insn->flags & (PMU_INSN_LOAD | PMU_INSN_STORE)) {
        ea = next++;
    }
    if (insn->flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)) {
        stack = next++;
    }
    pmu_block_add_bytes(builder, decoder, bytes, code.length, pc & 0xfff, ea,
                        stack);
}

#define CODE_BASE 0x400000ull

/*
 * Lay out @n instructions of @code from CODE_BASE + @offset on, as full blocks.
 */
static void rig_program(Rig *rig, const Code *code, unsigned n,
                        uint64_t offset)
{
    uint64_t pc = CODE_BASE + offset;
    PmuBlockBuilder *block = NULL;

    for (unsigned i = 0; i < n; i++) {
        if (!block || block->block.branch != PMU_BRANCH_NONE ||
            pmu_block_full(&block->block) ||
            (pc & 0xfff) < code[i - 1].length) {
            block = block_new(pc, PMU_LEVEL_USR);
            rig->pcs[rig->num_blocks] = pc;
            rig->blocks[rig->num_blocks++] = block;
        }
        block_append(block, rig->decoder, code[i], pc);
        pc += code[i].length;
    }
}

/* The data addresses and branch outcomes of a run. */
typedef struct Behaviour {
    uint64_t (*address)(Random *random, uint64_t n);
    bool (*taken)(Random *random, uint64_t n);
} Behaviour;

static bool taken_always(Random *random, uint64_t n)
{
    return true;
}

static bool taken_at_random(Random *random, uint64_t n)
{
    return random_next(random) & 1;
}

static uint64_t address_fixed(Random *random, uint64_t n)
{
    return 0x10000000;
}

/* Random lines in 512 MiB, which is far more than the caches hold. */
static uint64_t address_random(Random *random, uint64_t n)
{
    return 0x100000000ull + random_below(random, 512 << 20) / 64 * 64;
}

/* ... in pages of 2 MiB, which fit into the STLB. */
static uint64_t address_random_large(Random *random, uint64_t n)
{
    return LARGE_BASE + random_below(random, 512 << 20) / 64 * 64;
}

/* Consecutive eight bytes. */
static uint64_t address_stream(Random *random, uint64_t n)
{
    return 0x100000000ull + n * 8;
}

/* Eight bytes of code, in the middle of the program's first line. */
static uint64_t address_code(Random *random, uint64_t n)
{
    return CODE_BASE + 32;
}

static const Behaviour plain = { address_fixed, taken_always };

/* Run the program @times times over. */
static void rig_run(Rig *rig, const Behaviour *how, unsigned times)
{
    uint64_t addr[PMU_BLOCK_ACCESSES];
    PmuExecution dynamic = { .addr = addr, .iterations = 1 };

    for (unsigned i = 0; i < times; i++) {
        for (unsigned j = 0; j < rig->num_blocks; j++) {
            const PmuBlock *block = &rig->blocks[j]->block;

            for (unsigned k = 0; k < block->num_accesses; k++) {
                addr[k] = how->address(&rig->random, rig->accesses++);
            }
            dynamic.pc = rig->pcs[j];
            dynamic.taken = how->taken(&rig->random, rig->branches++);
            pmu_timing_run(rig->timing, block, 0, block->num_insns, &dynamic);
        }
    }
}

/* Run the program @times, and count what happens meanwhile. */
static void rig_measure(Rig *rig, const Behaviour *how, unsigned times)
{
    PmuLedgerSnapshot now;

    pmu_timing_flush(rig->timing);
    pmu_ledger_snapshot(&rig->ledger, &rig->start);
    rig_run(rig, how, times);
    pmu_timing_flush(rig->timing);
    pmu_ledger_snapshot(&rig->ledger, &now);
    rig->cycles = now.item[PMU_LEVEL_USR][PMU_ITEM_CYCLES] -
                  rig->start.item[PMU_LEVEL_USR][PMU_ITEM_CYCLES];
}

static double count(const Rig *rig, PmuLedgerItem item)
{
    PmuLedgerSnapshot now;

    pmu_ledger_snapshot(&rig->ledger, &now);
    return now.item[PMU_LEVEL_USR][item] -
           rig->start.item[PMU_LEVEL_USR][item];
}

static double slots(const Rig *rig, PmuSlotClass class)
{
    return count(rig, (PmuLedgerItem)class);
}

/* Returns the share of slots of a level-1 class, whose first leaf is @leaf. */
static double share(const Rig *rig, PmuSlotClass leaf)
{
    return (count(rig, (PmuLedgerItem)leaf) +
            count(rig, (PmuLedgerItem)leaf + 1)) / count(rig, PMU_ITEM_SLOTS);
}

static double leaf_share(const Rig *rig, PmuSlotClass leaf)
{
    return count(rig, (PmuLedgerItem)leaf) / count(rig, PMU_ITEM_SLOTS);
}

#define RETIRING(rig)   share(rig, PMU_SLOT_LIGHT_OPS)
#define BAD_SPEC(rig)   share(rig, PMU_SLOT_BR_MISPREDICT)
#define FRONTEND(rig)   share(rig, PMU_SLOT_FETCH_LATENCY)
#define BACKEND(rig)    share(rig, PMU_SLOT_MEMORY_BOUND)

static void assert_near(const char *what, double value, double low,
                        double high)
{
    if (!(value >= low && value <= high)) {
        g_test_message("%s is %.4f, expected %.4f to %.4f", what, value, low,
                       high);
        g_test_fail();
    }
}

/* Run a loop of @n times @body and dec rcx / jnz, to warm up and to measure. */
static Rig *rig_loop(PmuCore core, Code body, unsigned n,
                     const Behaviour *how, unsigned times)
{
    Rig *rig = rig_new(core);
    Code *code = g_new0(Code, n + 2);

    for (unsigned i = 0; i < n; i++) {
        code[i] = body;
    }
    code[n] = (Code)DEC_RCX;
    code[n + 1] = (Code)JNZ;
    rig_program(rig, code, n + 2, 0);
    g_free(code);
    rig_run(rig, how, times);
    rig_measure(rig, how, times);
    rig->cycles /= times;
    return rig;
}

/* Issue width bounds a stream of NOPs that is decoded already. */
static void test_nops(void)
{
    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        Rig *rig = rig_loop(core, (Code)NOP, 400, &plain, 100);

        /* 400 NOPs and one fused pair. */
        assert_near("cycles", rig->cycles, 400.9 / rig->uarch->width,
                    401.0 / rig->uarch->width * 1.1);
        assert_near("retiring", RETIRING(rig), 0.90, 1.0);
        rig_free(rig);
    }
}

/* IMULs in a chain take 3 cycles and one slot each: 1/15 retiring. */
static void test_imul_chain(void)
{
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, (Code)IMUL_RAX, 100, &plain, 200);

    assert_near("cycles per imul", rig->cycles / 100, 3.0, 3.03);
    assert_near("retiring", RETIRING(rig), 0.064, 0.070);
    assert_near("core bound", leaf_share(rig, PMU_SLOT_CORE_BOUND), 0.92, 1);
    rig_free(rig);
}

/*
 * 160 dependent VMULPD in a loop were measured on Ice Lake: backend 94.5 %,
 * core bound 94.5 %, bad speculation 0.4 %.  161 slots in 640 cycles are 5.0 %.
 */
static void test_vmulpd_chain(void)
{
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, (Code)VMULPD, 160, &plain, 200);

    assert_near("cycles per vmulpd", rig->cycles / 160, 4.0, 4.04);
    assert_near("retiring", RETIRING(rig), 0.045, 0.055);
    assert_near("backend", BACKEND(rig), 0.94, 1);
    assert_near("core bound", leaf_share(rig, PMU_SLOT_CORE_BOUND), 0.94, 1);
    rig_free(rig);
}

/* Load to use in L1D takes 5 cycles on both cores, whatever the address. */
static void test_l1_chase(void)
{
    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        Rig *rig = rig_loop(core, (Code)LOAD_RAX_RAX, 100, &plain, 200);

        assert_near("cycles per load", rig->cycles / 100, 5.0, 5.03);
        assert_near("memory bound", leaf_share(rig, PMU_SLOT_MEMORY_BOUND),
                    0.9, 1);
        rig_free(rig);
    }
}

/*
 * Each load waits for DRAM, 66.5 ns at 2.8 GHz, which are 186 cycles, and
 * misses the TLBs.  Some of the lines are in the L3.
 */
static void test_dram_chase(void)
{
    static const Behaviour how = { address_random, taken_always };
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, (Code)LOAD_RAX_RAX, 1, &how, 400000);

    /* 186 cycles, and page walks in 512 MiB. */
    assert_near("cycles per load", rig->cycles, 186, 260);
    assert_near("memory bound", leaf_share(rig, PMU_SLOT_MEMORY_BOUND),
                0.85, 1);
    assert_near("L1D misses", count(rig, PMU_ITEM_L1D_MISSES) / 400000,
                0.99, 1);
    assert_near("LLC misses", count(rig, PMU_ITEM_LOADS_DRAM) / 400000,
                0.85, 1);
    rig_free(rig);
}

/* Independent misses overlap as far as the 12 fill buffers allow. */
static void test_misses_overlap(void)
{
    static const Behaviour how = { address_random_large, taken_always };
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, (Code)LOAD_RAX_RBX, 1, &how, 400000);

    assert_near("cycles per load", rig->cycles, 186.0 / 12 * 0.8,
                186.0 / 12 * 1.5);
    assert_near("memory bound", leaf_share(rig, PMU_SLOT_MEMORY_BOUND),
                0.85, 1);
    rig_free(rig);
}

/* Consecutive lines are prefetched; eight loads share a line. */
static void test_stream(void)
{
    static const Behaviour how = { address_stream, taken_always };
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, (Code)LOAD_RAX_RBX, 1, &how, 400000);

    assert_near("cycles per 8 bytes", rig->cycles, 0.5, 3);
    assert_near("lines into L1D",
                (count(rig, PMU_ITEM_L1D_MISSES) +
                 count(rig, PMU_ITEM_L1D_PREFETCH_L2) +
                 count(rig, PMU_ITEM_L1D_PREFETCH_L3) +
                 count(rig, PMU_ITEM_L1D_PREFETCH_DRAM)) / 400000,
                0.120, 0.130);
    /* The prefetcher of L1D needs three lines of the 64 of a page. */
    assert_near("L1D misses", count(rig, PMU_ITEM_L1D_MISSES) / 400000,
                0, 0.125 * 3 / 64);
    /* The streamer needs two misses in each page of 64 lines. */
    assert_near("demand L2 misses", (count(rig, PMU_ITEM_DATA_L3) +
                                     count(rig, PMU_ITEM_DATA_DRAM)) / 400000,
                0, 0.125 / 16);
    rig_free(rig);
}

/* Stores that miss fill the store buffer, and are memory bound. */
static void test_store_misses(void)
{
    static const Behaviour how = { address_random, taken_always };
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, (Code)STORE_RAX_RBX, 1, &how,
                        200000);

    assert_near("memory bound", leaf_share(rig, PMU_SLOT_MEMORY_BOUND),
                0.85, 1);
    assert_near("cycles per store", rig->cycles, 10, 40);
    rig_free(rig);
}

/*
 * PAUSE takes 34 cycles on Ice Lake.  A loop of it was measured at 87.8 %
 * backend, all of it core bound, and 3.2 % frontend.
 */
static void test_pause(void)
{
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, (Code)PAUSE, 1, &plain, 2000);

    assert_near("cycles", rig->cycles, 33, 36);
    assert_near("core bound", leaf_share(rig, PMU_SLOT_CORE_BOUND), 0.85, 1);
    assert_near("frontend", FRONTEND(rig), 0, 0.04);
    rig_free(rig);
}

/*
 * Cycles measured on a Xeon Gold 6330 (InstLatx64): CPUID 104, RDTSC 27, LOCK
 * ADD 18 to 20, XCHG with memory 18 to 20, LFENCE 5; DIV of 64 bits 18 if each
 * needs the result of the last.
 */
static void test_slow_instructions(void)
{
    static const struct {
        const char *name;
        Code code;
        double low, high;
    } rows[] = {
        { "cpuid", I("\x0f\xa2"), 100, 112 },
        { "rdtsc", I("\x0f\x31"), 25, 30 },
        { "lock add [rbx], rax", I("\xf0\x48\x01\x03"), 17, 21 },
        { "xchg [rbx], rax", I("\x48\x87\x03"), 17, 22 },
        { "lfence", I("\x0f\xae\xe8"), 4, 9 },
        { "div rcx", I("\x48\xf7\xf1"), 17.5, 18.5 },
        { "sqrtsd xmm0, xmm0", I("\xf2\x0f\x51\xc0"), 17.5, 18.5 },
        { "mfence", I("\x0f\xae\xf0"), 30, 42 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Rig *rig = rig_loop(PMU_CORE_ICELAKE, rows[i].code, 50, &plain, 20);

        assert_near(rows[i].name, rig->cycles / 50, rows[i].low,
                    rows[i].high);
        assert_near("backend", BACKEND(rig), 0.8, 1);
        rig_free(rig);
    }
}

/* Half of the outcomes of a random branch are mispredicted. */
static void test_random_branches(void)
{
    static const Behaviour how = { address_fixed, taken_at_random };
    static const Code code[] = { TEST_RAX, JNZ };
    enum { TIMES = 200000 };
    Rig *rig = rig_new(PMU_CORE_ICELAKE);
    double recovery = rig->uarch->mispredict_penalty -
                      rig->uarch->clear_resteer;
    double misses, lost, refetch;

    rig_program(rig, code, G_N_ELEMENTS(code), 0);
    rig_run(rig, &how, TIMES);
    rig_measure(rig, &how, TIMES);
    misses = count(rig, PMU_ITEM_BRANCH_MISSES);
    lost = count(rig, PMU_ITEM_SLOTS) * BAD_SPEC(rig) / rig->uarch->width;
    refetch = count(rig, PMU_ITEM_SLOTS) * FRONTEND(rig) / rig->uarch->width;
    assert_near("mispredicted", misses / TIMES, 0.45, 0.55);
    g_assert_cmpfloat(count(rig, PMU_ITEM_CLEARS), ==, misses);
    /*
     * Each costs the penalty after the branch executes; fetch takes the end of
     * that.  Before that it costs what issues until it executes: few branches
     * wait a cycle for their port.
     */
    assert_near("cycles of recovery", lost / misses, recovery + 1, recovery +
                rig->uarch->issue_to_dispatch + 0.1);
    assert_near("cycles of fetching again", refetch / misses,
                rig->uarch->clear_resteer, rig->uarch->clear_resteer + 2);
    rig_free(rig);
}

/* A loop is predicted, and a chain of ten adds takes a cycle each. */
static void test_predictable_loop(void)
{
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, (Code)ADD_RAX_1, 10, &plain, 10000);

    g_assert_cmpfloat(count(rig, PMU_ITEM_BRANCH_MISSES), ==, 0);
    g_assert_cmpfloat(count(rig, PMU_ITEM_BRANCHES), ==, 10000);
    g_assert_cmpfloat(count(rig, PMU_ITEM_BRANCHES_COND_TAKEN), ==, 10000);
    g_assert_cmpfloat(count(rig, PMU_ITEM_INSTRUCTIONS), ==, 120000);
    /* A chain of adds: one cycle each. */
    assert_near("cycles", rig->cycles, 10, 11.1);
    rig_free(rig);
}

/*
 * 30 x { add; jmp }, in eight bytes each, were measured at 72 % frontend bound
 * (TGL).
 */
static void test_jumpy_code(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);
    Code code[] = { ADD_RAX_1, JMP };

    /* Far more jumps than the DSB has lines. */
    for (unsigned i = 0; i < 4000; i++) {
        rig_program(rig, code, 2, i * 8);
    }
    rig_run(rig, &plain, 4);
    rig_measure(rig, &plain, 20);
    assert_near("frontend", FRONTEND(rig), 0.65, 1);
    rig_free(rig);
}

/*
 * Code that fits neither DSB nor L1I comes at 16 bytes a cycle.  That is more
 * than a chain of additions needs; without a chain it is 2.3 of 5 instructions.
 */
static void check_large_code(Code insn, double low, double high)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);
    Code *code = g_new0(Code, 19000);

    for (unsigned i = 0; i < 19000; i++) {
        code[i] = insn;
    }
    rig_program(rig, code, 19000, 0);
    rig_run(rig, &plain, 2);
    rig_measure(rig, &plain, 4);
    assert_near("frontend", FRONTEND(rig), low, high);
    /* 133 KB are 2,078 lines, and all of them miss in order. */
    assert_near("L1I misses", count(rig, PMU_ITEM_L1I_MISSES) / 4,
                2070, 2090);
    g_free(code);
    rig_free(rig);
}

/*
 * Additions in a chain do not wait for the frontend; NOPs wait in 54 % of the
 * slots (2.3 of 5 are filled).
 */
static void test_large_code(void)
{
    /* add rbx, imm32 */
    check_large_code((Code)I("\x48\x81\xc3\x01\x02\x03\x04"), 0, 0.02);
    /* nop dword [rax + disp32] */
    check_large_code((Code)I("\x0f\x1f\x80\x01\x02\x03\x04"), 0.52, 0.57);
}

/* Each length-changing prefix stalls the predecoder for 3 cycles. */
static void test_lcp(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);
    Code *code = g_new0(Code, 19000);

    for (unsigned i = 0; i < 19000; i++) {
        code[i] = (Code)ADD_AX_IMM16;
    }
    rig_program(rig, code, 19000, 0);
    rig_run(rig, &plain, 1);
    rig_measure(rig, &plain, 2);
    assert_near("cycles per instruction", rig->cycles / 2 / 19000, 3.0, 4.5);
    g_free(code);
    rig_free(rig);
}

/*
 * A loop that stores into its own line.  Each store clears the machine once,
 * and the line has to be fetched again.
 */
static void test_smc(void)
{
    static const Behaviour how = { address_code, taken_always };
    enum { TIMES = 1000 };

    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        Rig *rig = rig_loop(core, (Code)STORE_RAX_RBX, 1, &how, TIMES);
        double lost = slots(rig, PMU_SLOT_MACHINE_CLEARS) / rig->uarch->width;
        unsigned recovery = rig->uarch->smc_penalty -
                            rig->uarch->clear_resteer;
        unsigned fetch = rig->uarch->clear_resteer + rig->uarch->l2.latency;

        g_assert_cmpfloat(count(rig, PMU_ITEM_CLEARS_SMC), ==, TIMES);
        g_assert_cmpfloat(count(rig, PMU_ITEM_CLEARS), ==, TIMES);
        g_assert_cmpfloat(count(rig, PMU_ITEM_L1I_MISSES), ==, TIMES);
        g_assert_cmpfloat(count(rig, PMU_ITEM_BRANCH_MISSES), ==, 0);
        assert_near("machine clears",
                    leaf_share(rig, PMU_SLOT_MACHINE_CLEARS), 0.7, 1);
        /* Little issues behind the store in vain, as code waits for L2. */
        assert_near("cycles for each", lost / TIMES, recovery, recovery + 1);
        /* The line comes from L2. */
        assert_near("fetch latency", slots(rig, PMU_SLOT_FETCH_LATENCY) /
                    rig->uarch->width / TIMES, fetch, fetch + 2);
        rig_free(rig);
    }
}

/*
 * The two stores of an instruction are one clear, and so are those of a string.
 */
static void test_smc_kinds(void)
{
    static const Behaviour how = { address_code, taken_always };
    static const Code code[] = {
        I("\x48\x01\x03"),             /* add [rbx], rax */
        I("\xf0\x48\x01\x03"),         /* lock add [rbx], rax */
        I("\xff\x33"),                 /* push [rbx] */
        I("\x8f\x03"),                 /* pop [rbx] */
        I("\xe8\x00\x00\x00\x00"),     /* call */
        I("\xff\x13"),                 /* call [rbx] */
        I("\x48\xab"),                 /* stosq */
        I("\xf3\x48\xab"),             /* rep stosq */
        I("\xf3\xa4"),                 /* rep movsb */
        I("\x48\x0f\xc3\x03"),         /* movnti [rbx], rax */
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(code); i++) {
        Rig *rig = rig_new(PMU_CORE_ICELAKE);

        rig_program(rig, &code[i], 1, 0);
        rig_run(rig, &how, 10);
        rig_measure(rig, &how, 10);
        g_assert_cmpfloat(count(rig, PMU_ITEM_CLEARS_SMC), ==, 10);
        assert_near("machine clears", slots(rig, PMU_SLOT_MACHINE_CLEARS),
                    (rig->uarch->smc_penalty - rig->uarch->clear_resteer) *
                    rig->uarch->width * 10, INFINITY);
        rig_free(rig);
    }
}

/*
 * Stores to data, loads of code, and stores to code that has left L1I do not
 * clear the machine.
 */
static void test_no_smc(void)
{
    static const Behaviour code_too = { address_code, taken_always };
    /*
     * NOPs behind the line that is stored to, 4 bytes each; L1I holds 32 KiB.
     */
    static const struct {
        unsigned nops;
        double clears;
    } rows[] = { { 1000, 1 }, { 4000, 1 }, { 20000, 0 } };
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, (Code)STORE_RAX_RBX, 4, &plain, 100);

    g_assert_cmpfloat(count(rig, PMU_ITEM_CLEARS_SMC), ==, 0);
    g_assert_cmpfloat(slots(rig, PMU_SLOT_MACHINE_CLEARS), ==, 0);
    rig_free(rig);
    rig = rig_loop(PMU_CORE_ICELAKE, (Code)LOAD_RAX_RBX, 4, &code_too, 100);
    g_assert_cmpfloat(count(rig, PMU_ITEM_CLEARS_SMC), ==, 0);
    rig_free(rig);
    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        unsigned n = rows[i].nops;
        Code *code = g_new0(Code, n);

        for (unsigned j = 0; j < n; j++) {
            code[j] = (Code)NOP;
        }
        code[n - 1] = (Code)STORE_RAX_RBX;
        rig = rig_new(PMU_CORE_ICELAKE);
        rig_program(rig, code, n, 0);
        rig_run(rig, &code_too, 3);
        rig_measure(rig, &code_too, 10);
        g_assert_cmpfloat(count(rig, PMU_ITEM_CLEARS_SMC), ==,
                          10 * rows[i].clears);
        g_free(code);
        rig_free(rig);
    }
}

/*
 * A loop that stores to code and is seldom in a sampling unit: the estimate has
 * as many clears, to 1 %, and each takes as long.
 */
static void test_smc_sampled(void)
{
    static const PmuSampling sampling = {
        .initial_detailed = 500, .full_warming = 20, .detailed_warming = 20,
                            .detailed = 50, .unknown_share = 8,
        .period = 1024,
    };
    static const Behaviour how = { address_code, taken_always };
    enum { TIMES = 200000 };
    Rig *rig = rig_new(PMU_CORE_ICELAKE);
    double lost, recovery;

    pmu_timing_set_sampling(rig->timing, &sampling);
    rig_program(rig, (Code[]) { NOP, JMP }, 2, 0);
    rig_program(rig, (Code[]) { STORE_RAX_RBX, JMP }, 2, 64);
    rig_measure(rig, &how, TIMES);
    assert_near("clears", count(rig, PMU_ITEM_CLEARS_SMC), TIMES * 0.99,
                TIMES * 1.01);
    lost = slots(rig, PMU_SLOT_MACHINE_CLEARS) / rig->uarch->width;
    recovery = rig->uarch->smc_penalty - rig->uarch->clear_resteer;
    assert_near("cycles for each", lost / TIMES, recovery, recovery + 8);
    rig_free(rig);
}

/* Assert that the classes of slots add up to all slots, width times cycles. */
static void assert_conserved(const PmuLedger *ledger)
{
    PmuLedgerSnapshot snap;

    pmu_ledger_snapshot(ledger, &snap);
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        const uint64_t *item = snap.item[level];
        uint64_t sum = 0;

        for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
            sum += item[i];
        }
        g_assert_cmpuint(sum, ==, item[PMU_ITEM_SLOTS]);
        g_assert_cmpuint(item[PMU_ITEM_SLOTS], ==,
                         ledger->width * item[PMU_ITEM_CYCLES]);
    }
}

/* A random program and a random walk through it. */

static const Code pool[] = {
    NOP, DEC_RCX, IMUL_RAX, VMULPD, LOAD_RAX_RAX, LOAD_RAX_RBX,
    STORE_RAX_RBX, TEST_RAX, PAUSE, ADD_RAX_1, ADD_AX_IMM16, MOVABS,
    JNZ, JNZ, JNZ, JMP, TEST_RAX, JNZ, DEC_RCX, JNZ, ADD_RAX_1, JNZ,
    I("\x48\x39\xd8"),                  /* cmp rax, rbx */
    I("\x48\x3b\x03"),                  /* cmp rax, [rbx] */
    I("\x7c\x00"),                      /* jl */
    I("\x0f\x80\x00\x00\x00\x00"),      /* jo */
    I("\xe8\x00\x00\x00\x00"),          /* call */
    I("\xc3"),                          /* ret */
    I("\xff\xe0"),                      /* jmp rax */
    I("\xff\xd0"),                      /* call rax */
    I("\xff\x20"),                      /* jmp [rax] */
    I("\xe2\x00"),                      /* loop */
    I("\x50"),                          /* push rax */
    I("\x58"),                          /* pop rax */
    I("\xff\x30"),                      /* push [rax] */
    I("\x8f\x00"),                      /* pop [rax] */
    I("\xc9"),                          /* leave */
    I("\x48\x01\x03"),                  /* add [rbx], rax */
    I("\x48\x83\x04\x8b\x01"),          /* add qword [rbx+rcx*4], 1 */
    I("\xf0\x48\x01\x03"),              /* lock add [rbx], rax */
    I("\x48\x87\x03"),                  /* xchg [rbx], rax */
    I("\x48\x0f\xb1\x0b"),              /* cmpxchg [rbx], rcx */
    I("\x48\xf7\xf1"),                  /* div rcx */
    I("\xf7\xf9"),                      /* idiv ecx */
    I("\x48\xf7\xe1"),                  /* mul rcx */
    I("\x0f\xa2"),                      /* cpuid */
    I("\x0f\x31"),                      /* rdtsc */
    I("\x0f\xae\xe8"),                  /* lfence */
    I("\x0f\xae\xf0"),                  /* mfence */
    I("\x0f\x05"),                      /* syscall */
    I("\xf3\xa4"),                      /* rep movsb */
    I("\xf3\x48\xab"),                  /* rep stosq */
    I("\xf2\xae"),                      /* repne scasb */
    I("\xf3\xa6"),                      /* repe cmpsb */
    I("\xa5"),                          /* movsd */
    I("\xac"),                          /* lodsb */
    I("\x0f\x18\x0b"),                  /* prefetcht0 [rbx] */
    I("\x48\x8d\x04\x8b"),              /* lea rax, [rbx+rcx*4] */
    I("\x48\x0f\x44\xc3"),              /* cmove rax, rbx */
    I("\x0f\x94\x03"),                  /* sete [rbx] */
    I("\x48\xd3\xe0"),                  /* shl rax, cl */
    I("\x31\xc0"),                      /* xor eax, eax */
    I("\x66\x0f\xef\xc0"),              /* pxor xmm0, xmm0 */
    I("\x0f\x28\xc1"),                  /* movaps xmm0, xmm1 */
    I("\x0f\x58\xc1"),                  /* addps xmm0, xmm1 */
    I("\x0f\x11\x03"),                  /* movups [rbx], xmm0 */
    I("\xc4\xe2\xfd\xb8\x03"),          /* vfmadd231pd ymm0, ymm0, [rbx] */
    I("\xd8\x03"),                      /* fadd dword [rbx] */
    I("\xd9\xfe"),                      /* fsin */
    I("\x0f\xae\x03"),                  /* fxsave [rbx] */
    I("\xc4\xe2\x7d\xdc\xc0"),          /* vaesenc ymm0, ymm0, ymm0 */
};

typedef struct Step {
    unsigned place;             /* index of the instruction in the program */
    PmuLevel level;
    uint64_t addr[2];
    uint64_t target;
    bool taken, backwards, interrupt, flush;
    uint64_t iterations;
} Step;

#define PLACES  600
#define STEPS   6000

typedef struct Walk {
    Code code[PLACES];
    PmuInsn insn[PLACES];
    uint64_t pc[PLACES];
    Step step[STEPS];
} Walk;

static uint64_t walk_address(Random *random)
{
    switch (random_below(random, 16)) {
    case 0:
        /* In the program. */
        return CODE_BASE + random_below(random, 8192);
    case 1 ... 3:
        return 0x7fff00000000ull + random_below(random, 256);
    case 4 ... 7:
        return 0x600000 + random_below(random, 1 << 16);
    case 8 ... 11:
        return 0x100000000ull + random_below(random, 1 << 28);
    default:
        return 0x800000 + random_below(random, 64) * 64;
    }
}

static Walk *walk_new(PmuDecoder *decoder, Random *random)
{
    Walk *walk = g_new0(Walk, 1);
    uint64_t pc = CODE_BASE + random_below(random, 4096);
    unsigned place = 0;
    PmuLevel level = PMU_LEVEL_USR;

    for (unsigned i = 0; i < PLACES; i++) {
        walk->code[i] = pool[random_below(random, G_N_ELEMENTS(pool))];
        walk->pc[i] = pc;
        pmu_decode_bytes(decoder, (const uint8_t *)walk->code[i].bytes,
                   walk->code[i].length, &walk->insn[i]);
        pc += walk->code[i].length;
    }
    for (unsigned i = 0; i < STEPS; i++) {
        Step *step = &walk->step[i];
        uint8_t branch = walk->insn[place].branch;

        *step = (Step) {
            .place = place, .level = level,
            .addr = { walk_address(random), walk_address(random) },
            .taken = branch == PMU_BRANCH_COND && random_below(random, 3),
            .backwards = !random_below(random, 4),
            .interrupt = !random_below(random, 200),
            .flush = !random_below(random, 300),
            .iterations = random_below(random, 300),
        };
        place++;
        if (step->taken || branch > PMU_BRANCH_COND || place == PLACES) {
            place = random_below(random, random_below(random, 2) ? 20
                                                                 : PLACES);
        }
        step->target = walk->pc[place];
        if (branch == PMU_BRANCH_FAR) {
            level = !level;
        }
    }
    return walk;
}

/* How a replay cuts the walk into blocks. */
typedef struct Cutter {
    Random random;
    unsigned longest;           /* instructions in a block */
    bool ranges;                /* run blocks in parts, flush */
    const PmuSampling *sampling;
    bool peeks;                 /* peek at the counters now and then */
    bool ports;                 /* a counter needs the ports */
    GHashTable *blocks;         /* seen so far */
    uint64_t *waits;            /* cycles of devices, by level */
} Cutter;

/*
 * Returns how many instructions from @first on can be one block, as
 * straight-line code.
 */
static unsigned straight(const Walk *walk, unsigned first, unsigned longest)
{
    unsigned n = 0;

    do {
        const PmuInsn *insn = &walk->insn[first + n];

        n++;
        if (insn->branch != PMU_BRANCH_NONE ||
            (insn->flags & PMU_INSN_REP)) {
            break;
        }
    } while (n < longest && first + n < PLACES &&
             walk->pc[first + n] >> 12 == walk->pc[first] >> 12);
    return n;
}

/* Run a REP instruction in parts: some iterations, more, and the last ones. */
static void replay_rep(PmuTiming *timing, const PmuBlock *block,
                       unsigned index, PmuExecution *dynamic,
                       uint64_t *addr, Cutter *cutter)
{
    const PmuBlockInsn *bi = &block->insns[index];
    uint64_t size = bi->insn->access_size, all = dynamic->iterations;
    uint64_t step = dynamic->backwards ? -size : size;

    while (cutter->ranges && random_below(&cutter->random, 4)) {
        uint64_t n = random_below(&cutter->random, all + 1);

        dynamic->iterations = n;
        pmu_timing_string(timing, block, index, dynamic);
        for (unsigned i = 0; i < block->num_accesses; i++) {
            if (i == bi->ea || i == bi->stack) {
                addr[i] += n * step;
            }
        }
        all -= n;
    }
    dynamic->iterations = all;
    pmu_timing_run(timing, block, index, index + 1, dynamic);
}

/* Returns the block of the @total instructions from @place on. */
static const PmuBlock *block_at(const Walk *walk, PmuDecoder *decoder,
                                unsigned place, unsigned total,
                                PmuLevel level, Cutter *cutter)
{
    uint64_t key = (place * 64 + total) * 2 + level;
    PmuBlockBuilder *builder = g_hash_table_lookup(cutter->blocks,
                                                   &key);

    if (!builder) {
        builder = block_new(walk->pc[place], level);
        for (unsigned i = 0; i < total; i++) {
            block_append(builder, decoder, walk->code[place + i],
                         walk->pc[place + i]);
        }
        g_hash_table_insert(cutter->blocks, g_memdup2(&key, sizeof(key)),
                            builder);
    }
    return &builder->block;
}

/* Run steps [@from, @from + @n), which are instructions of one block. */
static void replay_block(const Walk *walk, PmuTiming *timing,
                         PmuDecoder *decoder, unsigned from, unsigned n,
                         Cutter *cutter)
{
    const Step *step = &walk->step[from];
    unsigned before = 0, total;
    const PmuBlock *block;
    uint64_t addr[2 * PMU_BLOCK_INSNS] = {};
    PmuExecution dynamic = { .addr = addr };

    /* The block may have begun earlier, and goes on as far as it can. */
    if (cutter->ranges) {
        unsigned most = random_below(&cutter->random, 4);

        while (before < most && step->place > before &&
               straight(walk, step->place - before - 1, before + 1 + n) ==
               before + 1 + n) {
            before++;
        }
    }
    total = straight(walk, step->place - before, 25);
    total = cutter->ranges ? MAX(total, before + n) : n;
    dynamic.pc = walk->pc[step->place - before];
    block = block_at(walk, decoder, step->place - before, total, step->level,
                     cutter);
    for (unsigned i = before; i < before + n; i++) {
        const Step *here = &walk->step[from + i - before];
        const PmuBlockInsn *bi = &block->insns[i];

        if (bi->ea != PMU_NO_ACCESS) {
            addr[bi->ea] = here->addr[0];
        }
        if (bi->stack != PMU_NO_ACCESS) {
            addr[bi->stack] = here->addr[1];
        }
    }
    for (unsigned i = 0; i < n;) {
        unsigned part = cutter->ranges ? 1 + random_below(&cutter->random,
                                                          n - i) : n - i;
        const Step *end = &walk->step[from + i + part - 1];

        dynamic.target = end->target;
        dynamic.taken = end->taken;
        dynamic.backwards = end->backwards;
        dynamic.iterations = end->iterations;
        if (walk->insn[end->place].flags & PMU_INSN_REP) {
            if (part > 1) {
                pmu_timing_run(timing, block, before + i,
                               before + i + part - 1, &dynamic);
            }
            replay_rep(timing, block, before + i + part - 1, &dynamic, addr,
                       cutter);
        } else {
            pmu_timing_run(timing, block, before + i, before + i + part,
                           &dynamic);
        }
        i += part;
    }
}

static void assert_same(const PmuLedger *a, const PmuLedger *b)
{
    PmuLedgerSnapshot first, second;

    pmu_ledger_snapshot(a, &first);
    pmu_ledger_snapshot(b, &second);
    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        g_assert_cmpuint(a->open[level].slots, ==, b->open[level].slots);
        for (unsigned i = 0; i < PMU_ITEM_NR; i++) {
            if (first.item[level][i] != second.item[level][i]) {
                g_test_message("%s at level %d: %" G_GUINT64_FORMAT " or %"
                               G_GUINT64_FORMAT ", which should be the same",
                               pmu_ledger_item_name(i), level,
                               first.item[level][i], second.item[level][i]);
                g_test_fail();
            }
        }
    }
}

/*
 * Run @walk on a new core, cut as @cutter says.  The ledger is the result.
 * Returns the clock.
 */
static uint64_t replay(const Walk *walk, PmuCore core, Cutter cutter,
                       PmuLedger *ledger)
{
    PmuDecoder *decoder = pmu_decoder_new(core, pmu_uarch(core));
    PmuTiming *timing = pmu_timing_new(pmu_uarch(core), ledger, NULL, page_of,
                                       NULL);
    PmuLedger peeked;
    uint64_t clock;

    cutter.blocks = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                          g_free);
    pmu_timing_set_sampling(timing, cutter.sampling);
    if (cutter.ports) {
        pmu_timing_report_ports(timing);
    }
    for (unsigned i = 0; i < STEPS;) {
        const Step *step = &walk->step[i];
        unsigned longest = 1 + random_below(&cutter.random, cutter.longest);
        unsigned n = straight(walk, step->place, longest);

        if (i + n > STEPS) {
            n = STEPS - i;
        }
        /* What happens between instructions ends a block. */
        for (unsigned j = 1; j < n; j++) {
            if (walk->step[i + j].interrupt || walk->step[i + j].flush) {
                n = j;
            }
        }
        if (step->interrupt) {
            pmu_timing_interrupt(timing);
        }
        if (step->flush) {
            pmu_timing_flush_mappings(timing, PMU_TLB_FLUSH_ALL, 0);
        }
        replay_block(walk, timing, decoder, i, n, &cutter);
        if (cutter.ranges && !random_below(&cutter.random, 8)) {
            pmu_timing_flush(timing);
            assert_conserved(ledger);
        }
        if (cutter.peeks && !random_below(&cutter.random, 50)) {
            pmu_timing_peek(timing, &peeked);
            assert_conserved(&peeked);
        }
        if (cutter.waits && !random_below(&cutter.random, 50)) {
            PmuLevel level = random_below(&cutter.random, PMU_LEVEL_NR);
            uint32_t cycles = random_below(&cutter.random, 5000);

            pmu_timing_device_wait(timing, level, cycles);
            cutter.waits[level] += cycles;
        }
        i += n;
    }
    pmu_timing_peek(timing, &peeked);
    pmu_timing_flush(timing);
    assert_conserved(ledger);
    assert_same(&peeked, ledger);
    clock = pmu_timing_clock(timing);
    pmu_timing_free(timing);
    pmu_decoder_free(decoder);
    g_hash_table_destroy(cutter.blocks);
    return clock;
}

/* Phases that are short compared with a walk. */
static const PmuSampling short_phases = {
    .initial_detailed = 20, .full_warming = 5, .detailed_warming = 3,
    .detailed = 7, .unknown_share = 2, .period = 64,
};

/* The ledger is the same, however the stream is cut into blocks. */
static void check_cuts(const PmuSampling *sampling)
{
    Random random = random_from_seed();

    for (unsigned i = 0; i < 40; i++) {
        PmuCore core = i % PMU_CORES_MEASURED;
        PmuDecoder *decoder = pmu_decoder_new(core, pmu_uarch(core));
        Walk *walk = walk_new(decoder, &random);
        Cutter cutter = { .longest = 1, .sampling = sampling };
        PmuLedger single, whole, cut;
        uint64_t clock = replay(walk, core, cutter, &single);

        cutter.longest = 25;
        g_assert_cmpuint(clock, ==, replay(walk, core, cutter, &whole));
        assert_same(&single, &whole);
        /* The estimate of a rare event can be 0. */
        g_assert_cmpuint(single.event[PMU_LEVEL_OS][PMU_ITEM_CLEARS_SMC] +
                         single.event[PMU_LEVEL_USR][PMU_ITEM_CLEARS_SMC] +
                         !!sampling, >, 0);
        for (unsigned j = 0; j < 3; j++) {
            cutter.random = (Random) { random_next(&random) };
            cutter.longest = 12;
            /* The time of a read moves fractions of a slot in an estimate. */
            cutter.ranges = !sampling;
            g_assert_cmpuint(clock, ==, replay(walk, core, cutter, &cut));
            assert_same(&single, &cut);
        }
        g_free(walk);
        pmu_decoder_free(decoder);
    }
}

/* That holds in detailed simulation. */
static void test_cuts(void)
{
    check_cuts(NULL);
}

/* It holds for estimates, too. */
static void test_cuts_sampled(void)
{
    check_cuts(&short_phases);
}

/* A peek changes nothing, and returns what a flush would enter. */
static void check_peeks(const PmuSampling *sampling)
{
    Random random = random_from_seed();

    for (unsigned i = 0; i < 10; i++) {
        PmuCore core = i % PMU_CORES_MEASURED;
        PmuDecoder *decoder = pmu_decoder_new(core, pmu_uarch(core));
        Walk *walk = walk_new(decoder, &random);
        Cutter cutter = { .longest = 25, .sampling = sampling };
        PmuLedger unseen, seen;
        uint64_t clock = replay(walk, core, cutter, &unseen);

        cutter.peeks = true;
        g_assert_cmpuint(clock, ==, replay(walk, core, cutter, &seen));
        assert_same(&unseen, &seen);
        g_free(walk);
        pmu_decoder_free(decoder);
    }
}

/* That holds in detailed simulation. */
static void test_peeks(void)
{
    check_peeks(NULL);
}

/* It holds for estimates, too. */
static void test_peeks_sampled(void)
{
    check_peeks(&short_phases);
}

/* The time of a device is added at its level, and changes nothing else. */
static void check_waits(const PmuSampling *sampling)
{
    static const PmuLedgerItem grows[] = {
        PMU_ITEM_ISSUED_0, PMU_ITEM_UNDELIVERED_0, PMU_ITEM_EXECUTED_0,
        PMU_ITEM_RETIRED_0, PMU_ITEM_WAIT_DRAM, PMU_ITEM_STALL_DRAM,
    };
    Random random = random_from_seed();

    for (unsigned i = 0; i < 10; i++) {
        PmuCore core = i % PMU_CORES_MEASURED;
        unsigned width = pmu_uarch(core)->width;
        PmuDecoder *decoder = pmu_decoder_new(core, pmu_uarch(core));
        Walk *walk = walk_new(decoder, &random);
        uint64_t waits[PMU_LEVEL_NR] = { };
        Cutter cutter = { .longest = 25, .sampling = sampling };
        PmuLedger without, with;
        uint64_t clock = replay(walk, core, cutter, &without);

        cutter.waits = waits;
        cutter.random = (Random) { random_next(&random) };
        clock = replay(walk, core, cutter, &with) - clock;
        g_assert_cmpuint(clock, >, 0);
        g_assert_cmpuint(clock, ==, (waits[0] + waits[1]) * width);
        for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
            without.slots[level][PMU_SLOT_MEMORY_BOUND] +=
                waits[level] * width;
            for (unsigned j = 0; j < G_N_ELEMENTS(grows); j++) {
                without.event[level][grows[j]] += waits[level];
            }
        }
        assert_same(&without, &with);
        g_free(walk);
        pmu_decoder_free(decoder);
    }
}

/* That holds in detailed simulation. */
static void test_waits(void)
{
    check_waits(NULL);
}

/* It holds for estimates, too. */
static void test_waits_sampled(void)
{
    check_waits(&short_phases);
}

/*
 * The pipeline's short paths, which it does not take while ports are counted,
 * do what the full path does.
 */
static void test_short_paths(void)
{
    Random random = random_from_seed();

    for (unsigned i = 0; i < 20; i++) {
        PmuCore core = i % PMU_CORES_MEASURED;
        PmuDecoder *decoder = pmu_decoder_new(core, pmu_uarch(core));
        Walk *walk = walk_new(decoder, &random);
        Cutter cutter = { .longest = 10 };
        PmuLedger shorter, full;
        uint64_t clock = replay(walk, core, cutter, &shorter);

        cutter.ports = true;
        g_assert_cmpuint(clock, ==, replay(walk, core, cutter, &full));
        assert_same(&shorter, &full);
        g_free(walk);
        pmu_decoder_free(decoder);
    }
}

/* The clock bounds how far any item can move: see PMU_TIMING_ITEM_RATE. */
static void test_item_rate(void)
{
    Random random = random_from_seed();
    PmuDecoder *decoder = pmu_decoder_new(PMU_CORE_ICELAKE,
                                          pmu_uarch(PMU_CORE_ICELAKE));
    Walk *walk = walk_new(decoder, &random);
    PmuLedger ledger;
    uint64_t clock = replay(walk, PMU_CORE_ICELAKE, (Cutter) { .longest = 1 },
                            &ledger);
    uint64_t most = PMU_TIMING_ITEM_RATE * (clock + STEPS);

    for (PmuLevel level = 0; level < PMU_LEVEL_NR; level++) {
        for (unsigned i = PMU_ITEM_INSTRUCTIONS; i < PMU_ITEM_NR; i++) {
            g_assert_cmpuint(ledger.event[level][i], <=, most);
        }
    }
    g_free(walk);
    pmu_decoder_free(decoder);
}

/*
 * After a reset the core behaves as a new one does, to a cycle; its totals
 * stay.
 */
static void test_reset(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);
    double cycles, misses;
    uint64_t clock;

    rig_program(rig, (Code[]) { LOAD_RAX_RBX, DEC_RCX, JNZ }, 3, 0);
    rig_measure(rig, &plain, 100);
    cycles = rig->cycles;
    misses = count(rig, PMU_ITEM_L1D_MISSES);
    clock = pmu_timing_clock(rig->timing);
    pmu_timing_reset(rig->timing);
    g_assert_cmpuint(pmu_timing_clock(rig->timing), >=, clock);
    assert_conserved(&rig->ledger);
    rig_measure(rig, &plain, 100);
    g_assert_cmpfloat(count(rig, PMU_ITEM_L1D_MISSES), ==, misses);
    g_assert_cmpfloat(fabs(rig->cycles - cycles), <=, 1);
    rig_free(rig);
}

/*
 * A core goes on with a ledger that another one filled, wherever in a cycle
 * that stopped, as after a migration.
 */
static void test_loaded_ledger(void)
{
    for (unsigned n = 1; n <= 12; n++) {
        Rig *from = rig_new(PMU_CORE_ICELAKE), *to = rig_new(PMU_CORE_ICELAKE);

        rig_program(from, (Code[]) { DEC_RCX }, 1, 0);
        rig_run(from, &plain, n);
        rig_program(to, (Code[]) { DEC_RCX }, 1, 0);
        rig_run(to, &plain, 1);
        pmu_timing_flush(from->timing);
        to->ledger = from->ledger;
        pmu_timing_reset(to->timing);
        for (unsigned i = 0; i < 20; i++) {
            rig_run(to, &plain, 1);
            pmu_timing_flush(to->timing);
            g_assert_true(pmu_ledger_plausible(&to->ledger));
        }
        assert_conserved(&to->ledger);
        rig_free(from);
        rig_free(to);
    }
}

/*
 * A far transfer is a branch: BR_INST_RETIRED.ALL_BRANCHES includes FAR_BRANCH.
 */
static void test_far_branch(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    rig_program(rig, (Code[]) { I("\x0f\x05") }, 1, 0);
    rig_measure(rig, &plain, 100);
    g_assert_cmpfloat(count(rig, PMU_ITEM_BRANCHES), ==, 100);
    g_assert_cmpfloat(count(rig, PMU_ITEM_BRANCH_MISSES), ==, 0);
    rig_free(rig);
}

/*
 * Measure the time of an instruction, in a loop of most kinds: with "-m perf".
 */
static void test_speed(void)
{
    static const Code code[] = {
        LOAD_RAX_RBX, ADD_RAX_1, STORE_RAX_RBX, TEST_RAX, JNZ,
        I("\x48\x8d\x04\x8b"), I("\x48\x39\xd8"), JNZ,
        I("\x0f\xb6\x07"), I("\x48\xc1\xe0\x03"), I("\x50"), I("\x58"),
        I("\x48\x3b\x03"), JNZ, I("\x0f\x58\xc1"), I("\x0f\x11\x03"),
        I("\x48\x89\xd8"), DEC_RCX, JNZ,
    };
    enum { TIMES = 200000 };
    Rig *rig = rig_new(PMU_CORE_ICELAKE);
    double best = INFINITY;

    rig_program(rig, code, G_N_ELEMENTS(code), 0);
    rig_run(rig, &plain, 1000);
    for (unsigned i = 0; i < 10; i++) {
        g_test_timer_start();
        rig_run(rig, &plain, TIMES);
        best = MIN(best, g_test_timer_elapsed());
    }
    g_test_minimized_result(best, "%.2f ns an instruction",
                            best * 1e9 / TIMES / G_N_ELEMENTS(code));
    rig_free(rig);
}

/*
 * Execution goes on elsewhere without a branch that the model knows.
 * Functional warming fetches code of unknown cost, and no more than there is.
 */
static void test_elsewhere(void)
{
    static const PmuSampling sampling = {
        .initial_detailed = 1, .full_warming = 1, .detailed_warming = 1,
                            .detailed = 1, .unknown_share = 1000,
        .period = 1000000, .functional_warming = 1000000,
    };
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    pmu_timing_set_sampling(rig->timing, &sampling);
    /* Regions of two blocks that are far from each other. */
    for (unsigned i = 0; i < 200; i++) {
        uint64_t pc = CODE_BASE + (i % 2 ? LARGE_BASE : 0) + 4 * i;

        rig->pcs[i] = pc;
        rig->blocks[i] = block_new(pc, PMU_LEVEL_USR);
        block_append(rig->blocks[i], rig->decoder, (Code)NOP, pc);
        rig->blocks[i]->block.ends_region = i % 2;
        rig->num_blocks++;
    }
    rig_measure(rig, &plain, 10);
    g_assert_cmpfloat(count(rig, PMU_ITEM_INSTRUCTIONS), ==, 2000);
    rig_free(rig);
}

/* Unknown regions of 2 to 9 instructions, and one of as many elsewhere. */
#define UNKNOWN         8
#define ELSEWHERE       (UNKNOWN + 1)

/* Run @n blocks, from number @first on. */
static void rig_run_blocks(Rig *rig, unsigned first, unsigned n)
{
    uint64_t addr[PMU_BLOCK_ACCESSES] = {};
    PmuExecution dynamic = { .addr = addr, .iterations = 1, .taken = true };

    for (unsigned i = first; i < first + n; i++) {
        const PmuBlock *block = &rig->blocks[i]->block;

        dynamic.pc = rig->pcs[i];
        pmu_timing_run(rig->timing, block, 0, block->num_insns, &dynamic);
    }
}

/* Run the known region until the model is in @phase. */
static void rig_run_until(Rig *rig, PmuPhase phase)
{
    while (rig->timing->plan.phase != phase) {
        rig_run_blocks(rig, 0, 1);
    }
}

/*
 * Run @n unknown regions, from number @first on.  Assert that all are @sighted.
 */
static void assert_sighted(Rig *rig, unsigned first, unsigned n,
                           PmuSighted sighted)
{
    const PmuUnknownCode *unknown =
        &rig->timing->cpi_table.estimate[PMU_LEVEL_USR].unknown[sighted];
    uint64_t before = unknown->insns, insns = 0;

    for (unsigned i = first; i < first + n; i++) {
        insns += rig->blocks[i]->block.num_insns;
    }
    rig_run_blocks(rig, first, n);
    g_assert_cmpuint(unknown->insns - before, ==, insns);
}

/* Add a region of @nops NOPs and a jump at @offset. */
static void rig_add_region(Rig *rig, unsigned nops, unsigned offset)
{
    Code code[UNKNOWN + 1];

    for (unsigned i = 0; i < nops; i++) {
        code[i] = (Code)NOP;
    }
    code[nops] = (Code)JMP;
    rig_program(rig, code, nops + 1, offset);
}

/* Functional warming lasts longer than a test. */
static const PmuSampling long_period = {
    .initial_detailed = 200, .full_warming = 2112,
    .detailed_warming = 768, .detailed = 2240, .unknown_share = 64,
    .period = 1 << 24, .functional_warming = 1 << 24,
};

/* In line warming, let block 0 miss L1I. */
static void miss_lines(Rig *rig)
{
    PmuFunctionalModel *functional = &rig->timing->functional;

    pmu_cache_clear(&functional->mem.l1i);
    functional->code_line = UINT64_MAX;
    rig_run_blocks(rig, 0, 1);
    g_assert_cmpint(rig->timing->plan.phase, ==, PMU_PHASE_LINE_WARMING);
    g_assert_cmpuint(rig->timing->functional_counts.event[PMU_LEVEL_OS]
                     [PMU_ITEM_L1I_MISSES], >, 0);
}

/* Of known code, L1I sees no lines in functional warming, and all after it. */
static void test_line_warming(void)
{
    static const PmuSampling sampling = {
        .initial_detailed = 200, .full_warming = 200, .detailed_warming = 200,
                            .detailed = 200, .unknown_share = 64,
        .period = 1 << 16, .functional_warming = 1 << 16, .fetch_warming = 1000,
    };
    Rig *rig = rig_new(PMU_CORE_ICELAKE);
    PmuTiming *t = rig->timing;
    PmuMemory *mem = &t->functional.mem;
    const uint64_t *misses =
        &t->functional_counts.event[PMU_LEVEL_OS][PMU_ITEM_L1I_MISSES];
    const uint64_t *in_ledger =
        &t->ledger->event[PMU_LEVEL_USR][PMU_ITEM_L1I_MISSES];
    uint64_t line, entered;

    pmu_timing_set_sampling(t, &sampling);
    rig_program(rig, (Code[]) { NOP, JMP }, 2, 0);
    rig_program(rig, (Code[]) { I("\xf3\xaa") }, 1, 64);
    line = rig->blocks[0]->block.phys / 64;
    rig_run_until(rig, PMU_PHASE_FUNCTIONAL_WARMING);
    pmu_cache_clear(&mem->l1i);
    rig_run_blocks(rig, 0, 1);
    g_assert_cmpint(t->plan.phase, ==, PMU_PHASE_FUNCTIONAL_WARMING);
    g_assert_false(pmu_l1i_has(mem, line));
    rig_run_until(rig, PMU_PHASE_LINE_WARMING);
    rig_run_blocks(rig, 0, 1);
    g_assert_cmpint(t->plan.phase, ==, PMU_PHASE_LINE_WARMING);
    g_assert_true(pmu_l1i_has(mem, line));
    /* What that counted is no miss of the program's, whatever comes next. */
    entered = *in_ledger;
    miss_lines(rig);
    pmu_timing_assist(t, &rig->blocks[0]->block, true);
    miss_lines(rig);
    rig_run_blocks(rig, 1, 1);
    /* The pipeline runs the string, which misses, too. */
    g_assert_cmpuint(*in_ledger, ==, entered + 1);
    miss_lines(rig);
    pmu_sampling_simulate_dominant(t);
    g_assert_cmpuint(*misses, ==, 0);
    rig_run_until(rig, PMU_PHASE_LINE_WARMING);
    miss_lines(rig);
    rig_run_until(rig, PMU_PHASE_FETCH_WARMING);
    g_assert_cmpuint(*misses, ==, 0);
    rig_free(rig);
}

/*
 * The model tells unknown code that ran a short while before at the same
 * address, in the same context, from other unknown code.  It does so across a
 * sampling unit, too.
 */
static void test_sighted(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    pmu_timing_set_sampling(rig->timing, &long_period);
    rig_program(rig, (Code[]) { NOP, JMP }, 2, 0);
    for (unsigned i = 1; i <= UNKNOWN; i++) {
        rig_add_region(rig, i, 64 * i);
    }
    rig_add_region(rig, UNKNOWN, 4096 + 64 * UNKNOWN);
    rig_run_until(rig, PMU_PHASE_FUNCTIONAL_WARMING);
    assert_sighted(rig, 1, UNKNOWN, PMU_SIGHTED_FIRST);
    assert_sighted(rig, 1, UNKNOWN, PMU_SIGHTED_AGAIN);
    /* The first period has at least 786432 instructions. */
    while (rig->timing->plan.left > 1000) {
        rig_run_blocks(rig, 0, 1);
    }
    assert_sighted(rig, 1, UNKNOWN, PMU_SIGHTED_FIRST);
    rig_run_until(rig, PMU_PHASE_FULL_WARMING);
    assert_sighted(rig, 1, UNKNOWN, PMU_SIGHTED_AGAIN);
    rig_run_until(rig, PMU_PHASE_FUNCTIONAL_WARMING);
    assert_sighted(rig, 1, UNKNOWN, PMU_SIGHTED_AGAIN);
    assert_sighted(rig, ELSEWHERE, 1, PMU_SIGHTED_FIRST);
    assert_sighted(rig, ELSEWHERE, 1, PMU_SIGHTED_AGAIN);
    pmu_timing_flush_mappings(rig->timing, PMU_TLB_FLUSH_PAGE, 0);
    assert_sighted(rig, ELSEWHERE, 1, PMU_SIGHTED_AGAIN);
    pmu_timing_flush_mappings(rig->timing, PMU_TLB_FLUSH_LOCAL, 0);
    assert_sighted(rig, ELSEWHERE, 1, PMU_SIGHTED_FIRST);
    rig_free(rig);
}

/*
 * A sampling unit that opens for unknown code has cold caches.  It says nothing
 * of a region that has twelve samples, or 32 if the unit opens for a dominant
 * region.  A unit of a period says something of any region.
 */
static void test_typical(void)
{
    static const unsigned enough[] = { 12, 32 };
    Rig *rig = rig_new(PMU_CORE_ICELAKE);
    PmuTiming *t = rig->timing;
    PmuSample sample = { .item = { [PMU_SLOT_LIGHT_OPS] = 10 } };

    for (unsigned dominant = 0; dominant < 2; dominant++) {
        uint64_t key = pmu_cpi_table_key(100 + dominant, PMU_LEVEL_USR);

        t->plan.first_of_dominant = dominant;
        for (unsigned n = 0; n < 40; n++) {
            t->plan.for_unknown = true;
            g_assert_cmpuint(pmu_timing_is_typical(t, key), ==,
                             n < enough[dominant]);
            t->plan.for_unknown = false;
            g_assert_true(pmu_timing_is_typical(t, key));
            pmu_cpi_table_add_sample(&t->cpi_table, key, 10,
                                     &sample);
        }
    }
    rig_free(rig);
}

/*
 * A branch that need not end a block, such as INTO, before one that does.  Of
 * CALL; far branch, CALL; RET; RET each return is predicted.
 */
static void test_branch_inside(void)
{
    static const Code far_branch = I("\x0f\x05");
    static const Code call = I("\xe8\x00\x00\x00\x00"), ret = I("\xc3");
    Rig *rig = rig_new(PMU_CORE_ICELAKE);
    uint64_t addr[PMU_BLOCK_ACCESSES] = {}, misses, inner;
    const uint64_t *missed =
        &rig->timing->functional.covariates.n[PMU_COVARIATE_MISPREDICTS];

    pmu_timing_set_sampling(rig->timing, &long_period);
    rig_program(rig, (Code[]) { NOP, JMP }, 2, 0);
    rig_program(rig, &call, 1, 64);
    rig_program(rig, &far_branch, 1, 128);
    inner = rig->num_blocks - 1;
    block_append(rig->blocks[inner], rig->decoder, call, rig->pcs[inner] + 2);
    rig_program(rig, &ret, 1, 192);
    rig_run_until(rig, PMU_PHASE_FUNCTIONAL_WARMING);
    misses = *missed;
    for (unsigned i = 0; i < 10; i++) {
        static const unsigned order[] = { 1, 2, 3, 3 };
        const uint64_t target[] = {
            rig->pcs[2], rig->pcs[3], rig->pcs[2] + 7, rig->pcs[1] + 5,
        };

        for (unsigned j = 0; j < G_N_ELEMENTS(order); j++) {
            const PmuBlock *block = &rig->blocks[order[j]]->block;
            PmuExecution dynamic = {
                .addr = addr, .iterations = 1, .taken = true,
                .pc = rig->pcs[order[j]], .target = target[j],
            };

            pmu_timing_run(rig->timing, block, 0, block->num_insns, &dynamic);
        }
    }
    g_assert_cmpint(rig->timing->plan.phase, ==, PMU_PHASE_FUNCTIONAL_WARMING);
    g_assert_cmpuint(*missed, ==, misses);
    rig_free(rig);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/timing/elsewhere", test_elsewhere);
    g_test_add_func("/timing/line-warming", test_line_warming);
    g_test_add_func("/timing/branch-inside", test_branch_inside);
    g_test_add_func("/timing/nops", test_nops);
    g_test_add_func("/timing/imul-chain", test_imul_chain);
    g_test_add_func("/timing/vmulpd-chain", test_vmulpd_chain);
    g_test_add_func("/timing/l1-chase", test_l1_chase);
    if (g_test_slow()) {
        g_test_add_func("/timing/dram-chase", test_dram_chase);
        g_test_add_func("/timing/misses-overlap", test_misses_overlap);
    }
    g_test_add_func("/timing/stream", test_stream);
    g_test_add_func("/timing/store-misses", test_store_misses);
    g_test_add_func("/timing/pause", test_pause);
    g_test_add_func("/timing/slow-instructions", test_slow_instructions);
    g_test_add_func("/timing/random-branches", test_random_branches);
    g_test_add_func("/timing/predictable-loop", test_predictable_loop);
    g_test_add_func("/timing/jumpy-code", test_jumpy_code);
    g_test_add_func("/timing/large-code", test_large_code);
    g_test_add_func("/timing/lcp", test_lcp);
    g_test_add_func("/timing/smc", test_smc);
    g_test_add_func("/timing/smc-kinds", test_smc_kinds);
    g_test_add_func("/timing/no-smc", test_no_smc);
    g_test_add_func("/timing/smc-sampled", test_smc_sampled);
    g_test_add_func("/timing/cuts", test_cuts);
    g_test_add_func("/timing/cuts-sampled", test_cuts_sampled);
    g_test_add_func("/timing/peeks", test_peeks);
    g_test_add_func("/timing/peeks-sampled", test_peeks_sampled);
    g_test_add_func("/timing/device-waits", test_waits);
    g_test_add_func("/timing/device-waits-sampled", test_waits_sampled);
    g_test_add_func("/timing/short-paths", test_short_paths);
    g_test_add_func("/timing/item-rate", test_item_rate);
    g_test_add_func("/timing/reset", test_reset);
    g_test_add_func("/timing/loaded-ledger", test_loaded_ledger);
    g_test_add_func("/timing/far-branch", test_far_branch);
    if (g_test_perf()) {
        g_test_add_func("/timing/speed", test_speed);
    }
    g_test_add_func("/timing/sighted", test_sighted);
    g_test_add_func("/timing/typical", test_typical);
    return g_test_run();
}
