/*
 * What the timing model counts for events: each family of ledger items, on code
 * for which the count is known by construction.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The expected counts come from what the code consists of, from ports and
 * latencies (uops.info, InstLatx64), and from sums that must agree.
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/decoder.h"
#include "tcg/pmu/events/events.h"
#include "decode-bytes.h"
#include "random.h"
#include "tcg/pmu/sampling/timing.h"

typedef struct Code {
    const char *bytes;
    unsigned length;
} Code;

#define I(s)    ((Code) { s, sizeof(s) - 1 })

#define NOP             I("\x0f\x1f\x40\x00")           /* nop [rax+0] */
#define DEC_RCX         I("\x48\xff\xc9")               /* dec rcx */
#define JNZ             I("\x75\x00")                   /* jnz */
#define JMP             I("\xeb\x00")                   /* jmp */
#define CALL            I("\xe8\x00\x00\x00\x00")       /* call */
#define RET             I("\xc3")                       /* ret */
#define JMP_RAX         I("\xff\xe0")                   /* jmp rax */
#define CALL_RAX        I("\xff\xd0")                   /* call rax */
#define SYSCALL         I("\x0f\x05")                   /* syscall */
#define IMUL_RAX        I("\x48\x0f\xaf\xc0")           /* imul rax, rax */
#define LOAD_RAX_RAX    I("\x48\x8b\x00")               /* mov rax, [rax] */
#define LOAD_RAX_RBX    I("\x48\x8b\x03")               /* mov rax, [rbx] */
#define STREAM_RAX_RBX  I("\x48\x0f\xc3\x03")           /* movnti [rbx], rax */
#define STORE_RAX_RBX   I("\x48\x89\x03")               /* mov [rbx], rax */
#define STORE_AL_RBX    I("\x88\x03")                   /* mov [rbx], al */
#define ADD_RBX_RAX     I("\x48\x01\x03")               /* add [rbx], rax */
#define LOCK_ADD        I("\xf0\x48\x01\x03") /* lock add [rbx], rax */
#define PUSH_RBX        I("\xff\x33")                   /* push qword [rbx] */
#define PSHUFD          I("\x66\x0f\x70\xc0\x00")       /* pshufd xmm0, xmm0 */
#define PADDD           I("\x66\x0f\xfe\xc1")           /* paddd xmm0, xmm1 */
#define VPADDD          I("\xc5\xf5\xfe\xc2") /* vpaddd ymm0, ymm1, ymm2 */
#define VPMULLD         I("\xc4\xe2\x75\x40\xc2") /* vpmulld ymm0, ymm1, ymm2 */
#define ADDSD           I("\xf2\x0f\x58\xc1")           /* addsd xmm0, xmm1 */
#define MULSS           I("\xf3\x0f\x59\xc1")           /* mulss xmm0, xmm1 */
#define SUBPD           I("\x66\x0f\x5c\xc1")           /* subpd xmm0, xmm1 */
#define DIVPS           I("\x0f\x5e\xc1")               /* divps xmm0, xmm1 */
#define VADDPD          I("\xc5\xf5\x58\xc2") /* vaddpd ymm0, ymm1, ymm2 */
#define VFMADDPS    I("\xc4\xe2\x75\x98\xc2") /* vfmadd132ps ymm0, ymm1, ymm2 */
#define MOVAPS          I("\x0f\x28\xc1")               /* movaps xmm0, xmm1 */
#define VDIVSD          I("\xc5\xf3\x5e\xc2")   /* vdivsd xmm0, xmm1, xmm2 */
#define DIV_RCX         I("\x48\xf7\xf1")               /* div rcx */
#define FADD            I("\xd8\xc1")                   /* fadd st0, st1 */
#define PAUSE           I("\xf3\x90")                   /* pause */
#define LFENCE          I("\x0f\xae\xe8")               /* lfence */
#define PREFETCHNTA     I("\x0f\x18\x03")               /* prefetchnta [rbx] */
#define PREFETCHT0      I("\x0f\x18\x0b")               /* prefetcht0 [rbx] */
#define PREFETCHT1      I("\x0f\x18\x13")               /* prefetcht1 [rbx] */
#define PREFETCHT2      I("\x0f\x18\x1b")               /* prefetcht2 [rbx] */
#define PREFETCHW       I("\x0f\x0d\x0b")               /* prefetchw [rbx] */
#define CLFLUSH         I("\x0f\xae\x3b")               /* clflush [rbx] */
#define CLFLUSHOPT      I("\x66\x0f\xae\x3b")           /* clflushopt [rbx] */
#define ADD_AX_IMM16    I("\x66\x05\x01\x01")           /* add ax, 0x101 */
#define CPUID           I("\x0f\xa2")                   /* cpuid */

#define CODE_BASE       0x400000ull
#define PROGRAM_MAX     20000

/* A core that runs a program over and over, and what it last counted. */
typedef struct Rig {
    const PmuUarch *uarch;
    PmuDecoder *decoder;
    PmuLedger ledger;
    PmuTiming *timing;
    PmuLedgerSnapshot start, end;
    PmuBlockBuilder **blocks;
    uint64_t *pcs;
    unsigned num_blocks;
    uint64_t accesses, branches;        /* so far */
    uint64_t place;             /* of the last address */
    Random random;
} Rig;

/* The data addresses and branch outcomes of a run. */
typedef struct Behaviour {
    uint64_t (*address)(Rig *rig, uint64_t n);
    bool (*taken)(Rig *rig, uint64_t n);
} Behaviour;

/*
 * Pages are of 4 KiB; from LARGE_BASE on of 2 MiB, from HUGE_BASE on of 1 GiB.
 */
#define LARGE_BASE  (1ull << 40)
#define HUGE_BASE   (1ull << 44)

static PmuMapping page_of(void *opaque, uint64_t page)
{
    if (page < LARGE_BASE >> PMU_PAGE_SHIFT) {
        return (PmuMapping) { page ^ 0x5555 };
    }
    return (PmuMapping) {
        page, page < HUGE_BASE >> PMU_PAGE_SHIFT ? PMU_PAGE_2M : PMU_PAGE_1G,
    };
}

static uint64_t phys_of(uint64_t linear)
{
    return page_of(NULL, linear >> PMU_PAGE_SHIFT).page << PMU_PAGE_SHIFT |
           (linear & 0xfff);
}

/* Make @core with the parameters in @uarch, which must outlive it. */
static Rig *rig_new_of(PmuCore core, const PmuUarch *uarch)
{
    Rig *rig = g_new0(Rig, 1);

    rig->uarch = uarch;
    rig->random = random_from_seed();
    rig->decoder = pmu_decoder_new(core, pmu_uarch(core));
    rig->timing = pmu_timing_new(rig->uarch, &rig->ledger, NULL, page_of,
                                 NULL);
    pmu_timing_set_sampling(rig->timing, NULL);
    rig->blocks = g_new0(PmuBlockBuilder *, PROGRAM_MAX);
    rig->pcs = g_new0(uint64_t, PROGRAM_MAX);
    return rig;
}

static Rig *rig_new(PmuCore core)
{
    return rig_new_of(core, pmu_uarch(core));
}

/* The items that any rig has counted. */
static bool happened[PMU_ITEM_NR];

static void rig_free(Rig *rig)
{
    PmuLedgerSnapshot now;

    pmu_timing_flush(rig->timing);
    pmu_ledger_snapshot(&rig->ledger, &now);
    for (int i = 0; i < PMU_ITEM_NR; i++) {
        happened[i] |= now.item[PMU_LEVEL_OS][i] || now.item[PMU_LEVEL_USR][i];
    }
    for (unsigned i = 0; i < rig->num_blocks; i++) {
        g_free(rig->blocks[i]);
    }
    g_free(rig->blocks);
    g_free(rig->pcs);
    pmu_timing_free(rig->timing);
    pmu_decoder_free(rig->decoder);
    g_free(rig);
}

static PmuBlockBuilder *rig_block(Rig *rig, uint64_t pc)
{
    PmuBlockBuilder *block = g_new0(PmuBlockBuilder, 1);

    pmu_block_begin(block, PMU_LEVEL_USR, phys_of(pc));
    block->block.phys_next = phys_of((pc | 0xfff) + 1);
    rig->pcs[rig->num_blocks] = pc;
    rig->blocks[rig->num_blocks++] = block;
    return block;
}

/* Append @code, at linear address @pc, to the newest block. */
static void rig_append(Rig *rig, Code code, uint64_t pc)
{
    PmuBlockBuilder *block = rig->blocks[rig->num_blocks - 1];
    const uint8_t *bytes = (const uint8_t *)code.bytes;
    uint8_t ea = PMU_NO_ACCESS, stack = PMU_NO_ACCESS;
    uint8_t next = block->block.num_accesses;
    const PmuInsn *insn = decode_bytes(rig->decoder, bytes,
                                       code.length);

    if (insn->flags & (PMU_INSN_LOAD | PMU_INSN_STORE | PMU_INSN_FLUSH)) {
        ea = next++;
    }
    if (insn->flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)) {
        stack = next++;
    }
    pmu_block_add_bytes(block, rig->decoder, bytes, code.length, pc & 0xfff, ea,
                  stack);
}

/* Lay out @n instructions from CODE_BASE on, as full blocks. */
static void rig_program(Rig *rig, const Code *code, unsigned n)
{
    uint64_t pc = CODE_BASE;
    const PmuBlock *block = NULL;

    for (unsigned i = 0; i < n; i++) {
        if (!block || block->branch != PMU_BRANCH_NONE ||
            pmu_block_full(block) ||
            (i && (pc & 0xfff) < code[i - 1].length)) {
            block = &rig_block(rig, pc)->block;
        }
        rig_append(rig, code[i], pc);
        pc += code[i].length;
    }
}

/* Make a program of @n times @body and dec rcx / jnz. */
static void rig_add_loop(Rig *rig, Code body, unsigned n)
{
    Code *code = g_new0(Code, n + 2);

    for (unsigned i = 0; i < n; i++) {
        code[i] = body;
    }
    code[n] = DEC_RCX;
    code[n + 1] = JNZ;
    rig_program(rig, code, n + 2);
    g_free(code);
}

static Rig *rig_loop(PmuCore core, Code body, unsigned n)
{
    Rig *rig = rig_new(core);

    rig_add_loop(rig, body, n);
    return rig;
}

static void rig_run(Rig *rig, const Behaviour *how, unsigned times)
{
    uint64_t addr[PMU_BLOCK_ACCESSES];
    PmuExecution dynamic = { .addr = addr, .iterations = 1 };

    for (unsigned i = 0; i < times * rig->num_blocks; i++) {
        unsigned j = i % rig->num_blocks;
        const PmuBlock *block = &rig->blocks[j]->block;

        for (unsigned k = 0; k < block->num_accesses; k++) {
            addr[k] = how->address(rig, rig->accesses++);
        }
        dynamic.pc = rig->pcs[j];
        dynamic.target = rig->pcs[(j + 1) % rig->num_blocks];
        dynamic.taken = how->taken(rig, rig->branches++);
        pmu_timing_run(rig->timing, block, 0, block->num_insns, &dynamic);
    }
}

/* Run the program @times, and count what happens meanwhile. */
static void rig_measure(Rig *rig, const Behaviour *how, unsigned times)
{
    pmu_timing_flush(rig->timing);
    pmu_ledger_snapshot(&rig->ledger, &rig->start);
    rig_run(rig, how, times);
    pmu_timing_flush(rig->timing);
    pmu_ledger_snapshot(&rig->ledger, &rig->end);
}

static uint64_t count(const Rig *rig, unsigned item)
{
    return rig->end.item[PMU_LEVEL_USR][item] -
           rig->start.item[PMU_LEVEL_USR][item];
}

static uint64_t sum(const Rig *rig, unsigned first, unsigned last)
{
    uint64_t sum = 0;

    for (unsigned i = first; i <= last; i++) {
        sum += count(rig, i);
    }
    return sum;
}

/*
 * Returns the sum over all cycles, if bin @first has the cycles with 0 of what
 * is counted, the next one those with 1, and so on.
 */
static uint64_t weigh(const Rig *rig, unsigned first, unsigned last)
{
    uint64_t sum = 0;

    for (unsigned i = first; i <= last; i++) {
        sum += (i - first) * count(rig, i);
    }
    return sum;
}

static void check_within(const char *what, uint64_t value, double low,
                         double high)
{
    if (value < low || value > high) {
        g_test_message("%s is %" G_GUINT64_FORMAT ", expected %.0f to %.0f",
                       what, value, low, high);
        g_test_fail();
    }
}

#define assert_within(value, low, high) \
    check_within(#value, value, low, high)

static bool taken_always(Rig *rig, uint64_t n)
{
    return true;
}

static bool taken_at_random(Rig *rig, uint64_t n)
{
    return random_next(&rig->random) & 1;
}

static uint64_t address_fixed(Rig *rig, uint64_t n)
{
    return 0x10000000;
}

/* 60 bytes into a line, so that eight bytes are in two lines. */
static uint64_t address_split(Rig *rig, uint64_t n)
{
    return 0x1000003c;
}

/* The same, moving on: the first of the two lines was the second one before. */
static uint64_t address_split_stream(Rig *rig, uint64_t n)
{
    return 0x10000000 + n * 64 + 60;
}

/* A line, the next line, and eight bytes across both; then two other lines. */
static uint64_t address_split_again(Rig *rig, uint64_t n)
{
    return 0x10000000 + n / 3 * 128 + (const uint64_t[]) { 0, 64, 60 }[n % 3];
}

/* Random lines in 512 MiB. */
static uint64_t address_random(Rig *rig, uint64_t n)
{
    return 0x100000000ull + random_below(&rig->random, 512 << 20) / 64 * 64;
}

/* ... in pages of 2 MiB, which fit into the STLB. */
static uint64_t address_random_large(Rig *rig, uint64_t n)
{
    return LARGE_BASE + random_below(&rig->random, 512 << 20) / 64 * 64;
}

/* Consecutive eight bytes, through 1 MiB. */
static uint64_t address_words(Rig *rig, uint64_t n)
{
    return 0x100000000ull + n * 8 % (1 << 20);
}

/* Line after line, through 1 MiB. */
static uint64_t address_lines(Rig *rig, uint64_t n)
{
    return 0x100000000ull + n * 64 % (1 << 20);
}

/* All of 2^@lines lines over and over, never two neighbours in a row. */
static uint64_t address_cycle(uint64_t n, unsigned lines)
{
    return 0x100000000ull + (n * 0x9e3779b1 & ((1u << lines) - 1)) * 64;
}

/* 128 KiB: more than L1D, but within L2 and the DTLB. */
static uint64_t address_l2(Rig *rig, uint64_t n)
{
    return address_cycle(n, 11);
}

/* The same, two accesses to each line. */
static uint64_t address_l2_twice(Rig *rig, uint64_t n)
{
    return address_cycle(n / 2, 11);
}

/* 8 MiB: more than L2. */
static uint64_t address_l3(Rig *rig, uint64_t n)
{
    return address_cycle(n, 17);
}

/* A line in each of 1,024 pages, which fit into the STLB and L2. */
static uint64_t address_pages(Rig *rig, uint64_t n)
{
    return 0x100000000ull + n % 1024 * (4096 + 64);
}

/* A line in each of 16,384 pages. */
static uint64_t address_many_pages(Rig *rig, uint64_t n)
{
    return 0x100000000ull + n % 16384 * (4096 + 64);
}

/* 16,384 lines, 4 KiB apart or more, in 32 pages of 2 MiB. */
static uint64_t address_large(Rig *rig, uint64_t n)
{
    return LARGE_BASE + n % 16384 * (4096 + 64) % (64 << 20);
}

/* A line in each of 512 pages of 2 MiB, spread over all sets of the caches. */
static uint64_t address_many_large(Rig *rig, uint64_t n)
{
    return LARGE_BASE + n % 512 * ((2 << 20) + 64);
}

/* A line in each of 4,096 such pages. */
static uint64_t address_too_many_large(Rig *rig, uint64_t n)
{
    return LARGE_BASE + n % 4096 * ((2 << 20) + 64);
}

/* A line in each of eight pages of 1 GiB. */
static uint64_t address_huge(Rig *rig, uint64_t n)
{
    return HUGE_BASE + n % 8 * ((1 << 30) + 64);
}

static const Behaviour plain = { address_fixed, taken_always };

/* Kinds of instructions. */

/* A branch counts as its kind, and the kinds add up to all branches. */
static void test_branches(void)
{
    static const struct {
        Code code;
        PmuLedgerItem item;
    } kinds[] = {
        { JMP, PMU_ITEM_BRANCHES_JMP },
        { CALL, PMU_ITEM_BRANCHES_CALL },
        { RET, PMU_ITEM_BRANCHES_RET },
        { JMP_RAX, PMU_ITEM_BRANCHES_JMP_INDIRECT },
        { CALL_RAX, PMU_ITEM_BRANCHES_CALL_INDIRECT },
        { SYSCALL, PMU_ITEM_BRANCHES_FAR },
        { JNZ, PMU_ITEM_BRANCHES_COND_TAKEN },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        Rig *rig = rig_new(PMU_CORE_ICELAKE);

        rig_program(rig, (Code[]) { NOP, kinds[i].code }, 2);
        rig_measure(rig, &plain, 100);
        g_assert_cmpuint(count(rig, PMU_ITEM_BRANCHES), ==, 100);
        g_assert_cmpuint(count(rig, kinds[i].item), ==, 100);
        g_assert_cmpuint(sum(rig, PMU_ITEM_BRANCHES_COND_NTAKEN,
                             PMU_ITEM_BRANCHES_FAR), ==, 100);
        rig_free(rig);
    }
}

/*
 * Half of random branches are mispredicted.  They count by where they went, and
 * each refills the pipeline for as long as the core's parameters say.
 */
static void test_mispredictions(void)
{
    static const Behaviour how = { address_fixed, taken_at_random };
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, NOP, 20);
    uint64_t misses, penalty = rig->uarch->mispredict_penalty;
    uint64_t refill = MIN(penalty, rig->uarch->clear_resteer);

    rig_measure(rig, &how, 10000);
    misses = count(rig, PMU_ITEM_BRANCH_MISSES);
    assert_within(misses, 4000, 6000);
    assert_within(count(rig, PMU_ITEM_BRANCHES_COND_TAKEN), 4500, 5500);
    g_assert_cmpuint(count(rig, PMU_ITEM_BRANCHES_COND_TAKEN) +
                     count(rig, PMU_ITEM_BRANCHES_COND_NTAKEN), ==, 10000);
    g_assert_cmpuint(count(rig, PMU_ITEM_MISSES_COND_TAKEN) +
                     count(rig, PMU_ITEM_MISSES_COND_NTAKEN), ==, misses);
    g_assert_cmpuint(sum(rig, PMU_ITEM_MISSES_COND_NTAKEN,
                         PMU_ITEM_MISSES_RET), ==, misses);
    /* Each misprediction refills the pipeline, in the core's cycles. */
    g_assert_cmpuint(count(rig, PMU_ITEM_CLEAR_CYCLES), ==, misses * refill);
    g_assert_cmpuint(count(rig, PMU_ITEM_RECOVERY_CYCLES), ==,
                     misses * (penalty - refill));
    /* Fetching again and waiting for the first line are one bubble. */
    g_assert_cmpuint(refill, >, 4);
    assert_within(sum(rig, PMU_ITEM_BUBBLE_1 + 2, PMU_ITEM_BUBBLE_512),
                  0.99 * misses, misses + 10);
    assert_within(sum(rig, PMU_ITEM_BUBBLE_1, PMU_ITEM_BUBBLE_1 + 1), 0,
                  0.01 * misses);
    rig_free(rig);
}

/*
 * Random stores fill the store buffer behind a random branch, so that the
 * frontend comes back to a backend that has no room.  Still each flush has a
 * bubble of its own.
 */
static void test_flush_bubbles(void)
{
    static const Behaviour hows[] = {
        { address_random, taken_always }, { address_random, taken_at_random },
    };
    uint64_t bubbles[G_N_ELEMENTS(hows)], misses = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(hows); i++) {
        Rig *rig = rig_loop(PMU_CORE_ICELAKE, STORE_RAX_RBX, 8);

        rig_run(rig, &hows[i], 1000);
        rig_measure(rig, &hows[i], 10000);
        bubbles[i] = sum(rig, PMU_ITEM_BUBBLE_1, PMU_ITEM_BUBBLE_512);
        misses = count(rig, PMU_ITEM_BRANCH_MISSES);
        rig_free(rig);
    }
    g_assert_cmpuint(misses, >, 4000);
    assert_within(bubbles[1] - bubbles[0], 0.99 * misses, 2.0 * misses);
}

/* A target that never repeats: each of 100 jumps is mispredicted. */
static void test_indirect_mispredictions(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);
    PmuExecution dynamic = { .pc = CODE_BASE };
    const PmuBlock *block;

    rig_program(rig, (Code[]) { JMP_RAX }, 1);
    block = &rig->blocks[0]->block;
    for (unsigned i = 0; i < 100; i++) {
        dynamic.target = random_next(&rig->random);
        pmu_timing_run(rig->timing, block, 0, 1, &dynamic);
    }
    pmu_timing_flush(rig->timing);
    pmu_ledger_snapshot(&rig->ledger, &rig->end);
    g_assert_cmpuint(count(rig, PMU_ITEM_MISSES_JMP_INDIRECT), ==, 100);
    g_assert_cmpuint(count(rig, PMU_ITEM_BRANCH_MISSES), ==, 100);
    rig_free(rig);
}

/* Instructions that events count by what they are: each counts so often. */
static void test_instructions(void)
{
    static const struct {
        Code code;
        unsigned times;
        PmuLedgerItem item;     /* PMU_ITEM_NR: none of these */
    } kinds[] = {
        { NOP, 1, PMU_ITEM_NOPS },
        { PAUSE, 1, PMU_ITEM_PAUSES },
        { LFENCE, 1, PMU_ITEM_LFENCES },
        { PREFETCHNTA, 1, PMU_ITEM_PREFETCH_NTA },
        { PREFETCHT0, 1, PMU_ITEM_PREFETCH_T0 },
        { PREFETCHT1, 1, PMU_ITEM_PREFETCH_T1_T2 },
        { PREFETCHT2, 1, PMU_ITEM_PREFETCH_T1_T2 },
        { PREFETCHW, 1, PMU_ITEM_PREFETCH_W },
        { ADDSD, 1, PMU_ITEM_FP_SCALAR_DOUBLE },
        { VDIVSD, 1, PMU_ITEM_FP_SCALAR_DOUBLE },
        { MULSS, 1, PMU_ITEM_FP_SCALAR_SINGLE },
        { SUBPD, 1, PMU_ITEM_FP_128_DOUBLE },
        { DIVPS, 1, PMU_ITEM_FP_128_SINGLE },
        { VADDPD, 1, PMU_ITEM_FP_256_DOUBLE },
        { VFMADDPS, 2, PMU_ITEM_FP_256_SINGLE },
        { PADDD, 1, PMU_ITEM_INT_ADD_128 },
        { VPADDD, 1, PMU_ITEM_INT_ADD_256 },
        { VPMULLD, 1, PMU_ITEM_INT_MUL_256 },
        { PSHUFD, 1, PMU_ITEM_INT_SHUFFLES },
        { MOVAPS, 0, PMU_ITEM_NR },
        { IMUL_RAX, 0, PMU_ITEM_NR },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        Rig *rig = rig_loop(PMU_CORE_ICELAKE, kinds[i].code, 10);
        unsigned expected = kinds[i].times * 10 * 300;

        /* More blocks than the fields of a block's counts have room for. */
        rig_measure(rig, &plain, 300);
        if (kinds[i].item != PMU_ITEM_NR) {
            g_assert_cmpuint(count(rig, kinds[i].item), ==, expected);
        }
        g_assert_cmpuint(sum(rig, PMU_ITEM_NOPS, PMU_ITEM_INT_SHUFFLES), ==,
                         expected);
        g_assert_cmpuint(count(rig, PMU_ITEM_INSTRUCTIONS), ==, 3600);
        rig_free(rig);
    }
}

/* The counts of a log are entered before their fields overflow. */
static void test_full_log(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);
    unsigned times = PMU_COUNTS_BLOCKS * 3 + 7;
    g_autofree uint64_t *log = g_new(uint64_t, times * 2);
    Code code[PMU_BLOCK_INSNS];

    for (unsigned i = 0; i < PMU_BLOCK_INSNS; i++) {
        code[i] = VFMADDPS;
    }
    rig_program(rig, code, PMU_BLOCK_INSNS);
    g_assert_cmpuint(rig->num_blocks, ==, 1);
    for (unsigned i = 0; i < times; i++) {
        PmuRecord *record = (PmuRecord *)&log[2 * i];

        record->block = &rig->blocks[0]->block;
        record->pc = CODE_BASE;
    }
    pmu_timing_run_log(rig->timing, log, log + times * 2, CODE_BASE);
    pmu_timing_flush(rig->timing);
    pmu_ledger_snapshot(&rig->ledger, &rig->end);
    g_assert_cmpuint(count(rig, PMU_ITEM_INSTRUCTIONS), ==,
                     times * PMU_BLOCK_INSNS);
    g_assert_cmpuint(count(rig, PMU_ITEM_FP_256_SINGLE), ==,
                     2 * times * PMU_BLOCK_INSNS);
    rig_free(rig);
}

/* Memory. */

static uint64_t all_loads(const Rig *rig)
{
    return sum(rig, PMU_ITEM_LOADS_L1, PMU_ITEM_LOADS_DRAM);
}

/* Each instruction counts the loads, stores and locked loads that it makes. */
static void test_accesses(void)
{
    static const struct {
        Code code;
        unsigned loads, stores, locked;
    } kinds[] = {
        { LOAD_RAX_RBX, 1, 0, 0 },
        { STORE_RAX_RBX, 0, 1, 0 },
        { ADD_RBX_RAX, 1, 1, 0 },
        { LOCK_ADD, 1, 1, 1 },
        { PUSH_RBX, 1, 1, 0 },
        { NOP, 0, 0, 0 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        Rig *rig = rig_loop(PMU_CORE_ICELAKE, kinds[i].code, 10);

        rig_measure(rig, &plain, 100);
        g_assert_cmpuint(all_loads(rig), ==, kinds[i].loads * 1000);
        g_assert_cmpuint(count(rig, PMU_ITEM_STORES), ==,
                         kinds[i].stores * 1000);
        g_assert_cmpuint(count(rig, PMU_ITEM_LOADS_LOCKED), ==,
                         kinds[i].locked * 1000);
        rig_free(rig);
    }
}

/*
 * A split read-modify-write counts as a split load and a split store.  L1D sees
 * the two lines once for each.
 */
static void test_splits(void)
{
    static const Behaviour how = { address_split, taken_always };
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, ADD_RBX_RAX, 10);

    rig_run(rig, &how, 10);
    rig_measure(rig, &how, 100);
    g_assert_cmpuint(count(rig, PMU_ITEM_LOADS_SPLIT), ==, 1000);
    g_assert_cmpuint(count(rig, PMU_ITEM_STORES_SPLIT), ==, 1000);
    g_assert_cmpuint(all_loads(rig), ==, 1000);
    g_assert_cmpuint(count(rig, PMU_ITEM_L1D_ACCESSES), ==, 2000);
    rig_free(rig);
}

/*
 * Chase @n dependent loads through data of some size.  All come from @loads and
 * take @latency cycles; nothing is dispatched in all but one of these.
 */
static void check_chase(uint64_t (*address)(Rig *rig, uint64_t n), unsigned n,
                        PmuLedgerItem loads, PmuLedgerItem stall,
                        uint32_t latency)
{
    const Behaviour how = { address, taken_always };
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, LOAD_RAX_RAX, 64);
    unsigned times = n / 64;
    uint64_t cycles, wait = stall - PMU_ITEM_STALL_L1 + PMU_ITEM_WAIT_L1;

    /* Loads that fetched the data from DRAM have long retired. */
    rig_run(rig, &how, 4 * times);
    rig_measure(rig, &how, times);
    cycles = count(rig, PMU_ITEM_CYCLES);
    g_assert_cmpuint(all_loads(rig), ==, n);
    assert_within(count(rig, loads), 0.99 * n, n);
    assert_within(cycles, 0.98 * n * latency, 1.1 * n * latency);
    assert_within(count(rig, wait), 0.97 * cycles, cycles);
    assert_within(count(rig, stall), 0.93 * cycles * (latency - 1) / latency,
                  1.0 * cycles * (latency - 1) / latency);
    rig_free(rig);
}

/*
 * A load of two lines that are under way hits the fill buffers, and counts
 * once.  It is a miss if one of the lines is not under way.
 */
static void test_split_fills(void)
{
    static const Behaviour one = { address_split_stream, taken_always };
    static const Behaviour both = { address_split_again, taken_always };
    PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);
    Rig *rig;

    uarch.l1d_prefetch = 0;
    rig = rig_new_of(PMU_CORE_ICELAKE, &uarch);
    rig_add_loop(rig, (Code)LOAD_RAX_RBX, 9);
    rig_measure(rig, &one, 1000);
    g_assert_cmpuint(count(rig, PMU_ITEM_FB_HITS), ==, 0);
    rig_measure(rig, &both, 1000);
    assert_within(count(rig, PMU_ITEM_FB_HITS), 2900, 3000);
    assert_within(count(rig, PMU_ITEM_LOADS_L1), 2990, 3000);
    rig_free(rig);
}

/* A random line, and the same line once more. */
static uint64_t address_random_twice(Rig *rig, uint64_t n)
{
    if (n % 2 == 0) {
        rig->place = address_random(rig, n);
    }
    return rig->place;
}

/*
 * No load asks for a line that software prefetches.  It comes into L1D; with T1
 * and T2 into L2 alone.  PREFETCHW asks for it as a store does.  A load just
 * behind the prefetch hits its fill buffer, or L2.
 */
static void test_soft_prefetch(void)
{
    static const struct {
        Code code;
        bool far, write;
    } kinds[] = {
        { PREFETCHNTA }, { PREFETCHT0 }, { PREFETCHT1, true },
        { PREFETCHT2, true }, { PREFETCHW, false, true },
    };
    static const Behaviour how = { address_random_twice, taken_always };
    enum { N = 5000 };

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        unsigned far = kinds[i].far ? N : 0, near = N - far;
        unsigned write = kinds[i].write ? N : 0;
        PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);
        Rig *rig;

        uarch.prefetch_distance = 0;
        rig = rig_new_of(PMU_CORE_ICELAKE, &uarch);
        rig_program(rig, (Code[]) { kinds[i].code, LOAD_RAX_RBX, JMP }, 3);
        rig_measure(rig, &how, N);
        /* Few random lines come twice. */
        assert_within(sum(rig, PMU_ITEM_SOFT_PREFETCH_L2,
                          PMU_ITEM_SOFT_PREFETCH_DRAM),
                      0.99 * (N - write), N - write);
        assert_within(sum(rig, PMU_ITEM_RFO_L2, PMU_ITEM_RFO_DRAM),
                      0.99 * write, write);
        assert_within(sum(rig, PMU_ITEM_DATA_L2, PMU_ITEM_DATA_DRAM),
                      0.99 * far, far);
        assert_within(count(rig, PMU_ITEM_DATA_L2), 0.99 * far, far);
        assert_within(count(rig, PMU_ITEM_FB_SOFT_HITS), 0.99 * near,
                      near + 0.01 * N);
        assert_within(count(rig, PMU_ITEM_FB_HITS), 0.99 * near,
                      near + 0.01 * N);
        /* Who waits for the line of a prefetch waits for a miss of L1D. */
        g_assert_cmpuint(count(rig, PMU_ITEM_L1D_PENDING), >=,
                         sum(rig, PMU_ITEM_WAIT_L2, PMU_ITEM_WAIT_DRAM));
        if (!far) {
            assert_within(count(rig, PMU_ITEM_WAIT_L2),
                          0.95 * count(rig, PMU_ITEM_CYCLES),
                          count(rig, PMU_ITEM_CYCLES));
        }
        g_assert_cmpuint(all_loads(rig), ==, 2 * N);
        rig_free(rig);
    }
}

/* Each load behind a flush of its line misses, as if it were the first one. */
static void test_clflush(void)
{
    static const Code codes[] = { CLFLUSH, CLFLUSHOPT };
    static const Behaviour how = { address_split, taken_always };

    for (unsigned i = 0; i < G_N_ELEMENTS(codes); i++) {
        Rig *rig = rig_new(PMU_CORE_ICELAKE);

        rig_program(rig, (Code[]) { LOAD_RAX_RBX, codes[i], JMP }, 3);
        rig_measure(rig, &plain, 1000);
        g_assert_cmpuint(count(rig, PMU_ITEM_LOADS_DRAM), ==, 1000);
        g_assert_cmpuint(all_loads(rig), ==, 1000);
        /* Of two lines the one that is not flushed stays. */
        rig_measure(rig, &how, 1000);
        g_assert_cmpuint(count(rig, PMU_ITEM_DATA_DRAM), ==, 1001);
        rig_free(rig);
    }
}

/*
 * A load whose data are in the store buffer does not need the line, so it does
 * not hit a fill buffer.
 */
static void test_forwarded_fills(void)
{
    static const Behaviour twice = { address_l2_twice, taken_always };
    static const Code first[] = { LOAD_RAX_RBX, STORE_RAX_RBX };

    for (unsigned i = 0; i < G_N_ELEMENTS(first); i++) {
        Rig *rig = rig_new(PMU_CORE_ICELAKE);

        rig_program(rig, (Code[]) { first[i], LOAD_RAX_RBX, JMP }, 3);
        rig_run(rig, &twice, 4096);
        rig_measure(rig, &twice, 2048);
        g_assert_cmpuint(count(rig, PMU_ITEM_FB_HITS), ==, i ? 0 : 2048);
        g_assert_cmpuint(count(rig, PMU_ITEM_LOADS_L1), ==, 2048);
        rig_free(rig);
    }
}

/* Dependent loads take the latency of L1D or L2, wherever the data fit. */
static void test_chases(void)
{
    const PmuUarch *uarch = pmu_uarch(PMU_CORE_ICELAKE);

    check_chase(address_fixed, 6400, PMU_ITEM_LOADS_L1, PMU_ITEM_STALL_L1,
                uarch->l1d.latency);
    check_chase(address_l2, 1 << 11, PMU_ITEM_LOADS_L2, PMU_ITEM_STALL_L2,
                uarch->l2.latency);
}

/*
 * Beyond L2 loads miss the TLB, too, so their latency is not checked.  Stalls
 * divide between L2 and L3 as their latencies do.
 */
static void test_chase_l3(void)
{
    static const Behaviour how = { address_l3, taken_always };
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, LOAD_RAX_RAX, 64);
    uint64_t cycles, stalls;
    double beyond;

    rig_run(rig, &how, 2048);
    rig_measure(rig, &how, 2048);
    cycles = count(rig, PMU_ITEM_CYCLES);
    assert_within(count(rig, PMU_ITEM_LOADS_L3), 0.9 * 131072, 131072);
    g_assert_cmpuint(count(rig, PMU_ITEM_DATA_L3), ==,
                     count(rig, PMU_ITEM_LOADS_L3));
    /* A miss of L2 is known once L2 has been looked at. */
    stalls = count(rig, PMU_ITEM_STALL_L2) + count(rig, PMU_ITEM_STALL_L3);
    beyond = (double)(rig->uarch->l3.latency - rig->uarch->l2.latency) /
             rig->uarch->l3.latency;
    assert_within(stalls, 0.85 * cycles, cycles);
    assert_within(count(rig, PMU_ITEM_STALL_L3), 0.97 * beyond * stalls,
                  1.03 * beyond * stalls);
    /* There is one request at a time. */
    assert_within(count(rig, PMU_ITEM_OFFCORE_READS_1), 0.6 * cycles, cycles);
    rig_free(rig);
}

/*
 * Loads of lines that the streamer has asked for wait for these.  From then on
 * the requests are demand reads, in each cycle that has one.
 */
static void test_promoted(void)
{
    static const Behaviour how = { address_lines, taken_always };
    PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);
    uint64_t promoted, dram, cycles, reads;
    Rig *rig;

    uarch.l1d_prefetch = 0;
    rig = rig_new_of(PMU_CORE_ICELAKE, &uarch);
    rig_add_loop(rig, (Code)LOAD_RAX_RBX, 64);
    rig_run(rig, &how, 10);
    rig_measure(rig, &how, 200);
    promoted = count(rig, PMU_ITEM_OFFCORE_PROMOTED);
    reads = count(rig, PMU_ITEM_OFFCORE_DATA) + promoted;
    cycles = count(rig, PMU_ITEM_WAIT_L3) + count(rig, PMU_ITEM_WAIT_DRAM);
    g_assert_cmpuint(promoted, >, 0);
    g_assert_cmpuint(cycles, >, 0);
    g_assert_cmpuint(cycles, <=, reads);
    dram = count(rig, PMU_ITEM_OFFCORE_PROMOTED_DRAM);
    g_assert_cmpuint(dram, >, 0);
    g_assert_cmpuint(count(rig, PMU_ITEM_WAIT_DRAM), <=,
                     count(rig, PMU_ITEM_OFFCORE_DRAM) + dram);
    /* A promoted prefetch is under way as a prefetch, too. */
    g_assert_cmpuint(promoted, <=, count(rig, PMU_ITEM_OFFCORE_PREFETCH));
    rig_free(rig);
}

static uint64_t address_l3_stream(Rig *rig, uint64_t n)
{
    return 0x100000000ull + n * 64 % (8 << 20);
}

/* Each prefetch from the L3 is under way for its latency. */
static void test_prefetches_under_way(void)
{
    static const Behaviour how = { address_l3_stream, taken_always };
    PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);
    Rig *rig;

    uarch.l1d_prefetch = 0;
    uarch.l3_line_cycles = 0;
    rig = rig_new_of(PMU_CORE_ICELAKE, &uarch);
    rig_add_loop(rig, (Code)LOAD_RAX_RBX, 64);
    rig_run(rig, &how, 4096);
    rig_measure(rig, &how, 2048);
    g_assert_cmpuint(count(rig, PMU_ITEM_PREFETCH_L3), >, 100000);
    g_assert_cmpuint(count(rig, PMU_ITEM_OFFCORE_PREFETCH), ==,
                     count(rig, PMU_ITEM_PREFETCH_L3) * uarch.l3.latency);
    rig_free(rig);
}

/* Run 4,000 jumps, each to the next line, whose lines L2 does not hold. */
static Rig *run_code_of_l3(PmuUarch *uarch)
{
    Rig *rig;

    uarch->fetch_targets = 0;
    uarch->l2.size = 64 << 10;
    uarch->l2.ways = 8;
    uarch->l3_line_cycles = 0;
    rig = rig_new_of(PMU_CORE_ICELAKE, uarch);
    for (unsigned i = 0; i < 4000; i++) {
        uint64_t pc = CODE_BASE + i * 64;

        rig_block(rig, pc);
        rig_append(rig, JMP, pc);
    }
    rig_run(rig, &plain, 3);
    rig_measure(rig, &plain, 2);
    return rig;
}

/* Each line of code is under way beyond L2 for the rest of L3's latency. */
static void test_code_under_way(void)
{
    PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);
    Rig *rig;

    uarch.prefetch_distance = 0;
    rig = run_code_of_l3(&uarch);
    g_assert_cmpuint(count(rig, PMU_ITEM_CODE_L3), >, 7000);
    g_assert_cmpuint(count(rig, PMU_ITEM_OFFCORE_CODE), ==,
                     count(rig, PMU_ITEM_CODE_L3) *
                     (uarch.l3.latency - uarch.l2.latency));
    g_assert_cmpuint(count(rig, PMU_ITEM_OFFCORE_CODE_CYCLES), ==,
                     count(rig, PMU_ITEM_OFFCORE_CODE));
    rig_free(rig);

    uarch = *pmu_uarch(PMU_CORE_ICELAKE);
    rig = run_code_of_l3(&uarch);
    g_assert_cmpuint(count(rig, PMU_ITEM_CODE_PREFETCH_L3), >, 0);
    g_assert_cmpuint(count(rig, PMU_ITEM_OFFCORE_PREFETCH), ==,
                     count(rig, PMU_ITEM_CODE_PREFETCH_L3) *
                     uarch.l3.latency);
    rig_free(rig);
}

/* Port 6 alone executes branches that are taken, fused ones as well. */
static void test_taken_branch_port(void)
{
    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        Rig *rig = rig_new(core);

        rig_program(rig, (Code[]) { DEC_RCX, JNZ }, 2);
        rig_measure(rig, &plain, 1000);
        g_assert_cmpuint(count(rig, PMU_ITEM_PORT_6), ==, 1000);
        rig_free(rig);
    }
}

/* A streaming store to two lines is two accesses. */
static void test_streaming_splits(void)
{
    static const Behaviour how = { address_split, taken_always };
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, STREAM_RAX_RBX, 10);

    rig_measure(rig, &how, 100);
    g_assert_cmpuint(count(rig, PMU_ITEM_STORES_SPLIT), ==, 1000);
    g_assert_cmpuint(count(rig, PMU_ITEM_L1D_ACCESSES), ==, 2000);
    rig_free(rig);
}

/*
 * A window that the DSB has stays there, when fetch comes to it from one that
 * is being built.
 */
static void test_window_stays(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);
    PmuExecution dynamic = { .iterations = 1, .taken = true };

    for (unsigned i = 0; i < 2; i++) {
        rig_block(rig, CODE_BASE + i * 64);
        for (unsigned j = 0; j < (i ? 30 : 32); j++) {
            rig_append(rig, I("\x66\x90"), CODE_BASE + i * 64 + j * 2);
        }
    }
    rig_append(rig, JMP, CODE_BASE + 64 + 60);
    dynamic.pc = dynamic.target = rig->pcs[1];
    for (unsigned i = 0; i < 2; i++) {
        const PmuBlock *second = &rig->blocks[1]->block;

        pmu_timing_run(rig->timing, second, 0, second->num_insns, &dynamic);
    }
    rig_run(rig, &plain, 1);
    rig_measure(rig, &plain, 3);
    g_assert_cmpuint(count(rig, PMU_ITEM_MITE_UOPS), <=, 6);
    rig_free(rig);
}

static bool taken_never(Rig *rig, uint64_t n)
{
    return false;
}

/*
 * Of TEST and JNZ, which fuse, 6.4 come in 16 bytes.  The predecoder takes five
 * instructions a cycle, so that it needs two cycles for these.
 */
static void test_fused_predecode(void)
{
    static const Behaviour never = { address_fixed, taken_never };
    enum { PAIRS = 8000, TIMES = 4 };
    g_autofree Code *code = g_new0(Code, 2 * PAIRS);
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    for (unsigned i = 0; i < PAIRS; i++) {
        code[2 * i] = I("\x48\x85\xc0");
        code[2 * i + 1] = JNZ;
    }
    rig_program(rig, code, 2 * PAIRS);
    rig_run(rig, &never, 2);
    rig_measure(rig, &never, TIMES);
    g_assert_cmpuint(count(rig, PMU_ITEM_CYCLES), >=,
                     0.99 * TIMES * PAIRS * 5 / 16 * 2);
    rig_free(rig);
}

/* Independent random loads keep all fill buffers busy. */
static void test_fill_buffers(void)
{
    static const Behaviour how = { address_random_large, taken_always };
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, LOAD_RAX_RBX, 64);
    uint64_t cycles;

    rig_run(rig, &how, 10);
    rig_measure(rig, &how, 200);
    cycles = count(rig, PMU_ITEM_CYCLES);
    assert_within(count(rig, PMU_ITEM_LOADS_DRAM), 0.99 * 12800, 12800);
    assert_within(count(rig, PMU_ITEM_L1D_PENDING),
                  0.9 * cycles * rig->uarch->fill_buffers,
                  1.01 * cycles * rig->uarch->fill_buffers);
    assert_within(count(rig, PMU_ITEM_FB_FULL), 0.9 * cycles, 1.01 * cycles);
    assert_within(count(rig, PMU_ITEM_OFFCORE_READS_6), 0.9 * cycles, cycles);
    assert_within(count(rig, PMU_ITEM_WAIT_DRAM), 0.98 * cycles, cycles);
    rig_free(rig);
}

/* Random stores keep the store buffer full, and no load waits. */
static void test_stores(void)
{
    static const Behaviour how = { address_random, taken_always };
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, STORE_RAX_RBX, 64);
    uint64_t cycles;

    rig_run(rig, &how, 10);
    rig_measure(rig, &how, 100);
    cycles = count(rig, PMU_ITEM_CYCLES);
    g_assert_cmpuint(count(rig, PMU_ITEM_STORES), ==, 6400);
    assert_within(count(rig, PMU_ITEM_RFO_DRAM), 0.99 * 6400, 6400);
    assert_within(count(rig, PMU_ITEM_NO_STORE_BUFFER), 0.95 * cycles, cycles);
    assert_within(count(rig, PMU_ITEM_STALL_STORES), 0.95 * cycles, cycles);
    assert_within(count(rig, PMU_ITEM_OFFCORE_RFO_CYCLES), 0.9 * cycles,
                  1.01 * cycles);
    g_assert_cmpuint(sum(rig, PMU_ITEM_WAIT_L1, PMU_ITEM_WAIT_DRAM), ==, 0);
    rig_free(rig);
}

/*
 * Non-temporal stores ask for no line.  They write a line at once when all of
 * it is written, otherwise when another line needs its buffer: @lines in all.
 */
static void check_streaming(PmuCore core, uint64_t (*address)(Rig *, uint64_t),
                            uint64_t lines)
{
    const Behaviour how = { address, taken_always };
    Rig *rig = rig_loop(core, STREAM_RAX_RBX, 64);

    rig_run(rig, &how, 10);
    rig_measure(rig, &how, 100);
    g_assert_cmpuint(count(rig, PMU_ITEM_STORES), ==, 6400);
    g_assert_cmpuint(count(rig, PMU_ITEM_STREAM_DRAM), ==, lines);
    g_assert_cmpuint(count(rig, PMU_ITEM_STREAM_L3), ==, 0);
    g_assert_cmpuint(count(rig, PMU_ITEM_L1D_MISSES), ==, 0);
    g_assert_cmpuint(sum(rig, PMU_ITEM_RFO_L2, PMU_ITEM_RFO_DRAM), ==, 0);
    rig_free(rig);
}

/*
 * Eight words fill a line, so 6,400 of them write 800 lines; 6,400 single words
 * write as many lines.
 */
static void test_streaming(void)
{
    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        check_streaming(core, address_words, 6400 / 8);
        check_streaming(core, address_lines, 6400);
    }
}

/*
 * 1,024 pages hit the STLB, 16,384 do not fit.  Each walk takes page_walk
 * cycles or more.  Each flush of translations counts.
 */
static void test_data_tlb(void)
{
    static const Behaviour pages = { address_pages, taken_always };
    static const Behaviour many = { address_many_pages, taken_always };
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, LOAD_RAX_RBX, 64);

    rig_run(rig, &pages, 32);
    rig_measure(rig, &pages, 16);
    g_assert_cmpuint(count(rig, PMU_ITEM_DTLB_LOAD_STLB), ==, 1024);
    g_assert_cmpuint(count(rig, PMU_ITEM_DTLB_LOAD_WALKS_4K), ==, 0);
    rig_measure(rig, &many, 256);
    assert_within(count(rig, PMU_ITEM_DTLB_LOAD_WALKS_4K), 15000, 16384);
    g_assert_cmpuint(count(rig, PMU_ITEM_DTLB_LOAD_CYCLES), >=,
                     count(rig, PMU_ITEM_DTLB_LOAD_WALKS_4K) *
                     rig->uarch->page_walk);
    g_assert_cmpuint(sum(rig, PMU_ITEM_DTLB_STORE_STLB,
                         PMU_ITEM_DTLB_STORE_WALKS_1G), ==, 0);
    rig_measure(rig, &plain, 0);
    pmu_timing_flush_mappings(rig->timing, PMU_TLB_FLUSH_ALL, 0);
    pmu_timing_flush_mappings(rig->timing, PMU_TLB_FLUSH_PAGE, 0x1000);
    pmu_timing_flush(rig->timing);
    pmu_ledger_snapshot(&rig->ledger, &rig->end);
    g_assert_cmpuint(count(rig, PMU_ITEM_TLB_FLUSHES), ==, 2);
    rig_free(rig);
}

/*
 * Random pages keep all page walkers busy, and not more.  Walks of loads do not
 * count as walks of stores or code, and none are left afterwards.
 */
static void test_walks(void)
{
    static const Behaviour how = { address_random, taken_always };

    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        Rig *rig = rig_loop(core, LOAD_RAX_RBX, 64);
        uint64_t active, cycles;

        rig_run(rig, &how, 10);
        rig_measure(rig, &how, 200);
        active = count(rig, PMU_ITEM_DTLB_LOAD_ACTIVE);
        cycles = count(rig, PMU_ITEM_CYCLES);
        assert_within(active, 0.95 * cycles, cycles);
        assert_within(count(rig, PMU_ITEM_DTLB_LOAD_CYCLES),
                      0.9 * rig->uarch->page_walkers * cycles,
                      1.01 * rig->uarch->page_walkers * cycles);
        g_assert_cmpuint(sum(rig, PMU_ITEM_DTLB_STORE_ACTIVE,
                             PMU_ITEM_ITLB_ACTIVE), ==, 0);
        rig_run(rig, &plain, 100);
        rig_measure(rig, &plain, 100);
        g_assert_cmpuint(sum(rig, PMU_ITEM_DTLB_LOAD_ACTIVE,
                             PMU_ITEM_ITLB_ACTIVE), ==, 0);
        rig_free(rig);
    }
}

/* A load first waits for its translation; only then does it miss L1D. */
static void test_walk_then_miss(void)
{
    static const Behaviour how = { address_random, taken_always };
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, LOAD_RAX_RAX, 64);
    double chain, translation;

    rig_run(rig, &how, 10);
    rig_measure(rig, &how, 200);
    chain = count(rig, PMU_ITEM_CYCLES);
    translation = 12800.0 * rig->uarch->stlb.latency +
                  count(rig, PMU_ITEM_DTLB_LOAD_CYCLES);
    assert_within(count(rig, PMU_ITEM_DTLB_LOAD_ACTIVE),
                  0.99 * count(rig, PMU_ITEM_DTLB_LOAD_CYCLES),
                  1.01 * count(rig, PMU_ITEM_DTLB_LOAD_CYCLES));
    assert_within(count(rig, PMU_ITEM_WAIT_L1), 0.97 * translation,
                  1.03 * translation);
    assert_within(sum(rig, PMU_ITEM_WAIT_L2, PMU_ITEM_WAIT_DRAM),
                  0.97 * (chain - translation), 1.03 * (chain - translation));
    assert_within(count(rig, PMU_ITEM_L1D_PENDING),
                  0.99 * sum(rig, PMU_ITEM_WAIT_L2, PMU_ITEM_WAIT_DRAM),
                  1.01 * sum(rig, PMU_ITEM_WAIT_L2, PMU_ITEM_WAIT_DRAM));
    rig_free(rig);
}

/*
 * Large pages have entries of their own in the DTLB, and fit into it
 * accordingly.  Walks count by the size of the page.
 */
static void test_large_pages(void)
{
    static const Behaviour few = { address_large, taken_always };
    static const Behaviour many = { address_many_large, taken_always };
    static const Behaviour more = { address_too_many_large, taken_always };
    static const Behaviour huge = { address_huge, taken_always };
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, LOAD_RAX_RBX, 64);

    rig_measure(rig, &few, 512);
    g_assert_cmpuint(count(rig, PMU_ITEM_DTLB_LOAD_WALKS_2M), ==, 32);
    g_assert_cmpuint(sum(rig, PMU_ITEM_DTLB_LOAD_WALKS_4K,
                         PMU_ITEM_DTLB_LOAD_WALKS_1G), ==, 32);
    g_assert_cmpuint(count(rig, PMU_ITEM_DTLB_LOAD_STLB), ==, 0);
    rig_run(rig, &many, 16);
    rig_measure(rig, &many, 16);
    g_assert_cmpuint(count(rig, PMU_ITEM_DTLB_LOAD_STLB), ==, 1024);
    g_assert_cmpuint(count(rig, PMU_ITEM_DTLB_LOAD_WALKS_2M), ==, 0);
    rig_run(rig, &more, 64);
    rig_measure(rig, &more, 64);
    assert_within(count(rig, PMU_ITEM_DTLB_LOAD_WALKS_2M), 3800, 4096);
    g_assert_cmpuint(count(rig, PMU_ITEM_DTLB_LOAD_WALKS_4K), ==, 0);
    rig_measure(rig, &huge, 10);
    g_assert_cmpuint(count(rig, PMU_ITEM_DTLB_LOAD_WALKS_1G), ==, 8);
    rig_free(rig);

    rig = rig_loop(PMU_CORE_ICELAKE, STORE_RAX_RBX, 64);
    rig_measure(rig, &few, 512);
    g_assert_cmpuint(count(rig, PMU_ITEM_DTLB_STORE_WALKS_2M), ==, 32);
    rig_measure(rig, &huge, 10);
    g_assert_cmpuint(count(rig, PMU_ITEM_DTLB_STORE_WALKS_1G), ==, 8);
    g_assert_cmpuint(count(rig, PMU_ITEM_DTLB_LOAD_STLB), ==, 0);
    rig_free(rig);
}

/* A load of eight bytes just behind a store of one of them is blocked. */
static void test_forward_blocked(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    rig_program(rig, (Code[]) { STORE_AL_RBX, LOAD_RAX_RBX, JMP }, 3);
    rig_run(rig, &plain, 10);
    rig_measure(rig, &plain, 100);
    g_assert_cmpuint(count(rig, PMU_ITEM_FORWARD_BLOCKED), ==, 100);
    rig_free(rig);
}

/* A place and the one 4 KiB on; then eight bytes less. */
static uint64_t address_4k(Rig *rig, uint64_t n)
{
    return 0x100000 + n % 2 * 4096;
}

static uint64_t address_4k_less(Rig *rig, uint64_t n)
{
    return 0x100000 + n % 2 * (4096 - 8);
}

/*
 * A load 4 KiB from a store before it issues again, which takes address_alias
 * cycles.  Eight bytes less, it is a load like any other.  The next load needs
 * its data.
 */
static void test_alias(void)
{
    static const Behaviour alias = { address_4k, taken_always };
    static const Behaviour other = { address_4k_less, taken_always };

    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        Rig *rig = rig_new(core);
        uint32_t latency = rig->uarch->l1d.latency;

        rig_program(rig, (Code[]) { STORE_RAX_RBX, LOAD_RAX_RAX, JMP }, 3);
        rig_run(rig, &other, 10);
        rig_measure(rig, &other, 10000);
        assert_within(count(rig, PMU_ITEM_CYCLES), 9900 * latency,
                      10100 * latency);
        g_assert_cmpuint(count(rig, PMU_ITEM_ADDRESS_ALIAS), ==, 0);
        rig_run(rig, &alias, 10);
        rig_measure(rig, &alias, 10000);
        g_assert_cmpuint(count(rig, PMU_ITEM_ADDRESS_ALIAS), ==, 10000);
        g_assert_cmpuint(count(rig, PMU_ITEM_FORWARD_BLOCKED), ==, 0);
        latency += rig->uarch->address_alias;
        assert_within(count(rig, PMU_ITEM_CYCLES), 9900 * latency,
                      10100 * latency);
        rig_free(rig);
    }
}

/* The core. */

/*
 * Times that nothing was delivered for 2^n to 2^(n+1) - 1 cycles agree with the
 * cycles in which no slot was, but for a time that lasts.
 */
static void check_bubbles(const Rig *rig)
{
    PmuLedgerItem none = PMU_ITEM_UNDELIVERED_0 + MIN(rig->uarch->width, 6);
    uint64_t least = 0, most = 0, empty = count(rig, none);

    for (unsigned i = 0; i < 10; i++) {
        uint64_t times = count(rig, PMU_ITEM_BUBBLE_1 + i);

        least += times << i;
        most += times * ((2ull << i) - 1);
    }
    g_assert_cmpuint(least, <=, empty);
    if (!count(rig, PMU_ITEM_BUBBLE_512)) {
        g_assert_cmpuint(empty, <=, most + 64);
    }
}

/* Assert the sums that hold for any code. */
static void check_sums(const Rig *rig)
{
    uint64_t cycles = count(rig, PMU_ITEM_CYCLES);
    uint64_t retiring = count(rig, PMU_SLOT_LIGHT_OPS) +
                        count(rig, PMU_SLOT_HEAVY_OPS);
    uint64_t frontend = count(rig, PMU_SLOT_FETCH_LATENCY) +
                        count(rig, PMU_SLOT_FETCH_BANDWIDTH);
    uint64_t executed = count(rig, PMU_ITEM_UOPS_EXECUTED);
    uint64_t ports = sum(rig, PMU_ITEM_PORT_0, PMU_ITEM_PORT_STORE_ADDRESS);
    uint64_t waits = sum(rig, PMU_ITEM_WAIT_L1, PMU_ITEM_WAIT_DRAM);
    uint64_t stalls = sum(rig, PMU_ITEM_STALL_L1, PMU_ITEM_STALL_DRAM);
    uint32_t rob = rig->uarch->rob, scheduler = rig->uarch->scheduler;

    g_assert_cmpuint(sum(rig, PMU_ITEM_ISSUED_0, PMU_ITEM_ISSUED_6), ==,
                     cycles);
    g_assert_cmpuint(sum(rig, PMU_ITEM_UNDELIVERED_0,
                         PMU_ITEM_UNDELIVERED_6), ==, cycles);
    g_assert_cmpuint(sum(rig, PMU_ITEM_EXECUTED_0, PMU_ITEM_EXECUTED_8), ==,
                     cycles);
    g_assert_cmpuint(sum(rig, PMU_ITEM_RETIRED_0, PMU_ITEM_RETIRED_8), ==,
                     cycles);
    g_assert_cmpuint(weigh(rig, PMU_ITEM_UNDELIVERED_0,
                           PMU_ITEM_UNDELIVERED_6), ==, frontend);
    /* What issues retires, but for the wrong path and the open cycle. */
    assert_within(weigh(rig, PMU_ITEM_ISSUED_0, PMU_ITEM_ISSUED_6),
                  retiring, retiring + count(rig, PMU_SLOT_BR_MISPREDICT));
    assert_within(weigh(rig, PMU_ITEM_RETIRED_0, PMU_ITEM_RETIRED_8) + rob,
                  retiring, retiring + 2.0 * rob);
    /* What issues executes once, but for what is in the scheduler. */
    assert_within(executed + scheduler + 1, ports,
                  ports + 2.0 * scheduler + 1);
    check_bubbles(rig);
    g_assert_cmpuint(waits, <=, cycles);
    g_assert_cmpuint(stalls, <=, waits);
    g_assert_cmpuint(stalls + count(rig, PMU_ITEM_STALL_NOTHING), <=,
                     count(rig, PMU_ITEM_EXECUTED_0));
    g_assert_cmpuint(count(rig, PMU_ITEM_SCHEDULER_EMPTY), <=,
                     count(rig, PMU_ITEM_EXECUTED_0));
    g_assert_cmpuint(count(rig, PMU_ITEM_L1D_MISSES), ==,
                     sum(rig, PMU_ITEM_DATA_L2, PMU_ITEM_RFO_DRAM));
    g_assert_cmpuint(count(rig, PMU_ITEM_L1I_MISSES), ==,
                     sum(rig, PMU_ITEM_CODE_L2, PMU_ITEM_CODE_DRAM));
}

/* The sums hold for all kinds of code and data. */
static void test_sums(void)
{
    static const Code bodies[] = {
        NOP, IMUL_RAX, LOAD_RAX_RAX, LOAD_RAX_RBX, STORE_RAX_RBX, ADD_RBX_RAX,
        PUSH_RBX, VDIVSD, VFMADDPS, FADD, PAUSE, LFENCE, CPUID, ADD_AX_IMM16,
        LOCK_ADD,
    };
    static const Behaviour behaviours[] = {
        { address_fixed, taken_always }, { address_random, taken_always },
        { address_l2, taken_at_random }, { address_l3, taken_always },
        { address_split, taken_at_random },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(bodies); i++) {
        for (unsigned j = 0; j < G_N_ELEMENTS(behaviours); j++) {
            PmuCore core = (i + j) % PMU_CORES_MEASURED;
            Rig *rig = rig_loop(core, bodies[i], 1 + 7 * i);

            /* Rigs begin and end on whole cycles. */
            rig_measure(rig, &behaviours[j], 200);
            check_sums(rig);
            rig_free(rig);
        }
    }
}

/* Micro-ops without a choice run on the port that uops.info says. */
static void test_ports(void)
{
    static const struct {
        Code code;
        PmuLedgerItem port, other;
    } kinds[] = {
        { IMUL_RAX, PMU_ITEM_PORT_1, PMU_ITEM_NR },
        { LOAD_RAX_RBX, PMU_ITEM_PORT_LOAD, PMU_ITEM_NR },
        { STORE_RAX_RBX, PMU_ITEM_PORT_STORE_DATA,
          PMU_ITEM_PORT_STORE_ADDRESS },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(kinds); i++) {
        for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
            Rig *rig = rig_loop(core, kinds[i].code, 50);

            rig_measure(rig, &plain, 100);
            g_assert_cmpuint(count(rig, kinds[i].port), ==, 5000);
            if (kinds[i].other != PMU_ITEM_NR) {
                g_assert_cmpuint(count(rig, kinds[i].other), ==, 5000);
            }
            /*
             * dec and jnz fuse into one micro-op; taken branches run on port 6.
             */
            g_assert_cmpuint(count(rig, PMU_ITEM_PORT_6), ==, 100);
            g_assert_cmpuint(count(rig, PMU_ITEM_MACRO_FUSED), ==, 100);
            rig_free(rig);
        }
    }
}

/* Independent micro-ops share their four ports evenly: 1,000 each, to 10 %. */
static void test_port_choice(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    rig_program(rig, (Code[]) {
        I("\x48\xff\xc0"), I("\x48\xff\xc3"),   /* inc rax, inc rbx */
        I("\x48\xff\xc6"), I("\x48\xff\xc7"),   /* inc rsi, inc rdi */
    }, 4);
    rig_run(rig, &plain, 100);
    rig_measure(rig, &plain, 1000);
    assert_within(count(rig, PMU_ITEM_PORT_0), 900, 1100);
    assert_within(count(rig, PMU_ITEM_PORT_1), 900, 1100);
    assert_within(count(rig, PMU_ITEM_PORT_5), 900, 1100);
    assert_within(count(rig, PMU_ITEM_PORT_6), 900, 1100);
    assert_within(count(rig, PMU_ITEM_EXECUTED_0 + 4), 900, 1100);
    rig_free(rig);
}

/*
 * A chain of IMULs executes one in each third cycle.  In the two others nothing
 * executes, and memory is not to blame.
 */
static void test_executed(void)
{
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, IMUL_RAX, 100);
    uint64_t cycles;

    rig_run(rig, &plain, 100);
    rig_measure(rig, &plain, 100);
    cycles = count(rig, PMU_ITEM_CYCLES);
    assert_within(count(rig, PMU_ITEM_EXECUTED_0 + 1), 9800, 10100);
    assert_within(count(rig, PMU_ITEM_EXECUTED_0), 0.65 * cycles,
                  0.67 * cycles);
    g_assert_cmpuint(count(rig, PMU_ITEM_STALL_NOTHING), ==,
                     count(rig, PMU_ITEM_EXECUTED_0));
    g_assert_cmpuint(count(rig, PMU_ITEM_SCHEDULER_EMPTY), ==, 0);
    rig_free(rig);
}

/*
 * A VDIVSD takes the divider for 4 cycles, a DIV takes another for 10
 * (InstLatx64).
 */
static void test_divider(void)
{
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, VDIVSD, 100);

    rig_measure(rig, &plain, 100);
    g_assert_cmpuint(count(rig, PMU_ITEM_FP_DIVIDER), ==, 100 * 100 * 4);
    g_assert_cmpuint(count(rig, PMU_ITEM_INT_DIVIDER), ==, 0);
    rig_free(rig);

    rig = rig_loop(PMU_CORE_ICELAKE, DIV_RCX, 100);
    rig_measure(rig, &plain, 100);
    g_assert_cmpuint(count(rig, PMU_ITEM_INT_DIVIDER), ==, 100 * 100 * 10);
    g_assert_cmpuint(count(rig, PMU_ITEM_FP_DIVIDER), ==, 0);
    rig_free(rig);
}

/* Each FADD is one x87 micro-op. */
static void test_x87(void)
{
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, FADD, 10);

    rig_measure(rig, &plain, 100);
    g_assert_cmpuint(count(rig, PMU_ITEM_X87_UOPS), ==, 1000);
    rig_free(rig);
}

/* A loop of LFENCEs spends nearly all its cycles on waiting for them. */
static void test_serialized(void)
{
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, LFENCE, 50);
    uint64_t cycles;

    rig_measure(rig, &plain, 100);
    cycles = count(rig, PMU_ITEM_CYCLES);
    assert_within(count(rig, PMU_ITEM_SERIALIZED), 0.9 * cycles, cycles);
    g_assert_cmpuint(count(rig, PMU_ITEM_PAUSE_CYCLES), ==, 0);
    rig_free(rig);
}

/*
 * PAUSE cycles make up a loop of PAUSEs, and count as serialized.  Mixed with
 * LFENCEs, they still count alone.
 */
static void check_pause(PmuCore core)
{
    Rig *rig = rig_loop(core, PAUSE, 50);
    Rig *both = rig_loop(core, LFENCE, 50);
    uint64_t cycles, fences;

    rig_measure(rig, &plain, 100);
    cycles = count(rig, PMU_ITEM_CYCLES);
    assert_within(count(rig, PMU_ITEM_PAUSE_CYCLES), 0.9 * cycles, cycles);
    g_assert_cmpuint(count(rig, PMU_ITEM_PAUSE_CYCLES), ==,
                     count(rig, PMU_ITEM_SERIALIZED));
    rig_measure(both, &plain, 100);
    fences = count(both, PMU_ITEM_CYCLES);
    rig_free(both);
    both = rig_new(core);
    rig_program(both, (Code[]) { PAUSE, LFENCE, JMP }, 3);
    rig_run(both, &plain, 10);
    rig_measure(both, &plain, 5000);
    assert_within(count(both, PMU_ITEM_PAUSE_CYCLES), 0.9 * cycles,
                  1.05 * cycles);
    assert_within(count(both, PMU_ITEM_SERIALIZED),
                  count(both, PMU_ITEM_PAUSE_CYCLES),
                  count(both, PMU_ITEM_PAUSE_CYCLES) + 1.1 * fences);
    rig_free(both);
    rig_free(rig);
}

/* That holds on all measured cores. */
static void test_pause(void)
{
    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        check_pause(core);
    }
}

/* The frontend. */

static uint64_t delivered(const Rig *rig)
{
    return count(rig, PMU_ITEM_DSB_UOPS) + count(rig, PMU_ITEM_MITE_UOPS) +
           count(rig, PMU_ITEM_LSD_UOPS) + count(rig, PMU_ITEM_MS_UOPS);
}

/*
 * Short loops come from the queue of micro-ops, longer ones from the DSB, and
 * very long ones from the decoders.
 */
static void test_sources(void)
{
    static const struct {
        unsigned nops;
        PmuLedgerItem source;
    } loops[] = {
        { 20, PMU_ITEM_LSD_UOPS },
        { 1000, PMU_ITEM_DSB_UOPS },
        { 12000, PMU_ITEM_MITE_UOPS },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(loops); i++) {
        Rig *rig = rig_loop(PMU_CORE_ICELAKE, NOP, loops[i].nops);
        uint64_t uops = (loops[i].nops + 1) * 60;

        rig_run(rig, &plain, 40);
        rig_measure(rig, &plain, 60);
        /* The last cycle of a source may still be open. */
        assert_within(delivered(rig) + 6, uops, uops + 12);
        assert_within(count(rig, loops[i].source), 0.95 * uops, uops + 6);
        rig_free(rig);
    }
}

/* The DSB delivers as many micro-ops a cycle as the backend takes. */
static void test_dsb_cycles(void)
{
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, NOP, 1000);

    rig_run(rig, &plain, 10);
    rig_measure(rig, &plain, 100);
    assert_within(sum(rig, PMU_ITEM_DSB_1, PMU_ITEM_DSB_6), 100100 / 6,
                  1.1 * 100100 / 5);
    g_assert_cmpuint(delivered(rig), ==, count(rig, PMU_ITEM_DSB_UOPS));
    g_assert_cmpuint(sum(rig, PMU_ITEM_DSB_1, PMU_ITEM_DSB_6), <=,
                     count(rig, PMU_ITEM_CYCLES));
    g_assert_cmpuint(sum(rig, PMU_ITEM_MITE_1, PMU_ITEM_MITE_6), ==, 0);
    rig_free(rig);
}

/*
 * Each length-changing prefix in code that is decoded stalls the predecoder for
 * lcp_stall cycles.
 */
static void test_lcp(void)
{
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, ADD_AX_IMM16, 12000);

    rig_run(rig, &plain, 2);
    rig_measure(rig, &plain, 10);
    assert_within(count(rig, PMU_ITEM_LCP_CYCLES),
                  0.99 * 120000 * rig->uarch->lcp_stall,
                  120000 * rig->uarch->lcp_stall);
    assert_within(count(rig, PMU_ITEM_DECODED), 0.99 * 120000, 120020);
    assert_within(count(rig, PMU_ITEM_DECODER_0_UOPS), 120000 / 4.5,
                  count(rig, PMU_ITEM_MITE_UOPS) + 6);
    rig_free(rig);
}

/*
 * Each CPUID switches to microcode once, and all its micro-ops come from there.
 */
static void test_microcode(void)
{
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, CPUID, 10);
    const PmuInsn *insn = rig->blocks[0]->insns[0].insn;

    g_assert_cmpuint(insn->decode_uops, >, 4);
    rig_measure(rig, &plain, 100);
    g_assert_cmpuint(count(rig, PMU_ITEM_MS_SWITCHES), ==, 1000);
    g_assert_cmpuint(count(rig, PMU_ITEM_MS_UOPS), ==, 1000 * insn->slots);
    rig_free(rig);
}

/*
 * Jumps from page to page, in more pages than the ITLB holds and fewer than the
 * STLB, and more lines than the DSB and L1I hold.  Measured over two rounds.
 */
static Rig *rig_of_pages(const PmuUarch *uarch, unsigned pages)
{
    Rig *rig = rig_new_of(PMU_CORE_ICELAKE, uarch);

    for (unsigned i = 0; i < pages; i++) {
        uint64_t pc = CODE_BASE + i * (4096 + 64);

        rig_block(rig, pc);
        rig_append(rig, JMP, pc);
    }
    rig_run(rig, &plain, 3);
    rig_measure(rig, &plain, 2);
    g_assert_cmpuint(count(rig, PMU_ITEM_ITLB_STLB), ==, 2 * pages);
    g_assert_cmpuint(count(rig, PMU_ITEM_ITLB_WALKS_4K), ==, 0);
    g_assert_cmpuint(count(rig, PMU_ITEM_L1I_MISSES) +
                     count(rig, PMU_ITEM_L1I_HITS), ==, 2 * pages);
    assert_within(count(rig, PMU_ITEM_CODE_L2), 0.9 * 2 * pages, 2 * pages);
    assert_within(count(rig, PMU_ITEM_FETCH_DATA_PERIODS), 0.9 * 2 * pages,
                  2 * pages);
    return rig;
}

/*
 * If the predictor does not run ahead, fetch waits for the whole latency of
 * each translation and of each line.
 */
static void test_fetch(void)
{
    PmuUarch uarch = *pmu_uarch(PMU_CORE_ICELAKE);
    unsigned pages = 1000;
    Rig *rig;

    uarch.fetch_targets = 0;
    rig = rig_of_pages(&uarch, pages);
    g_assert_cmpuint(count(rig, PMU_ITEM_FETCH_TAG_CYCLES), ==,
                     2 * pages * rig->uarch->stlb.latency);
    assert_within(count(rig, PMU_ITEM_FETCH_DATA_CYCLES),
                  0.9 * 2 * pages * rig->uarch->l2.latency,
                  1.1 * 2 * pages * rig->uarch->l2.latency);
    /* Each line has a bubble of its own. */
    assert_within(sum(rig, PMU_ITEM_BUBBLE_1, PMU_ITEM_BUBBLE_512),
                  0.9 * 2 * pages, 2 * pages);
    rig_free(rig);
}

/*
 * If the predictor runs ahead, it translates one page after the other, and
 * lines come meanwhile.  So a page takes the time of its translation, and the
 * page is already known when fetch gets to its line.
 */
static void test_fetch_ahead(void)
{
    unsigned pages = 1000;
    Rig *rig = rig_of_pages(pmu_uarch(PMU_CORE_ICELAKE), pages);

    assert_within(count(rig, PMU_ITEM_CYCLES),
                  2 * pages * rig->uarch->stlb.latency,
                  1.02 * 2 * pages * rig->uarch->stlb.latency);
    g_assert_cmpuint(count(rig, PMU_ITEM_FETCH_TAG_CYCLES), ==, 0);
    /* All cycles but those of the jumps: one, or two if it is decoded. */
    assert_within(count(rig, PMU_ITEM_FETCH_DATA_CYCLES),
                  2 * pages * (rig->uarch->stlb.latency - 2),
                  2 * pages * (rig->uarch->stlb.latency - 1));
    rig_free(rig);
}

/*
 * Jumps from page to page, in more pages than Golden Cove's ITLB holds and
 * fewer lines than its DSB.  What leaves the ITLB leaves the DSB, so each page
 * is looked up.  If they fit into the ITLB, none is.
 */
static void check_dsb_pages(unsigned pages, uint64_t lookups)
{
    Rig *rig = rig_new(PMU_CORE_SAPPHIRERAPIDS);

    for (unsigned i = 0; i < pages; i++) {
        uint64_t pc = CODE_BASE + i * (4096 + 64);

        rig_block(rig, pc);
        rig_append(rig, JMP, pc);
    }
    rig_run(rig, &plain, 3);
    rig_measure(rig, &plain, 2);
    g_assert_cmpuint(count(rig, PMU_ITEM_ITLB_STLB), ==, 2 * lookups);
    g_assert_cmpuint(count(rig, PMU_ITEM_MITE_UOPS), ==, 2 * lookups);
    rig_free(rig);
}

/* The ITLB holds 256 pages and not 448. */
static void test_dsb_pages(void)
{
    check_dsb_pages(256, 0);
    check_dsb_pages(448, 448);
}

/*
 * A load of CR3 and changes of how addresses translate flush the whole DSB.
 * INVLPG flushes a page's part: 4 KiB, or 2 MiB from LARGE_BASE on.
 */
static void check_dsb_flush(uint64_t code, PmuTlbFlush flush, uint64_t linear,
                            uint64_t decoded)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    for (unsigned i = 0; i < 8; i++) {
        uint64_t pc = code + i * (4096 + 64);

        rig_block(rig, pc);
        rig_append(rig, JMP, pc);
    }
    rig_run(rig, &plain, 3);
    rig_measure(rig, &plain, 1);
    g_assert_cmpuint(count(rig, PMU_ITEM_MITE_UOPS), ==, 0);
    pmu_timing_flush_mappings(rig->timing, flush, linear);
    /* The flush may find the first block already on its way. */
    rig_measure(rig, &plain, 2);
    g_assert_cmpuint(count(rig, PMU_ITEM_MITE_UOPS), ==, decoded);
    rig_measure(rig, &plain, 1);
    g_assert_cmpuint(count(rig, PMU_ITEM_MITE_UOPS), ==, 0);
    rig_free(rig);
}

/*
 * CR3 and changes flush all 8 jumps.  INVLPG flushes one in pages of 4 KiB, all
 * in one of 2 MiB, and none in another page.
 */
static void test_dsb_flush(void)
{
    check_dsb_flush(CODE_BASE, PMU_TLB_FLUSH_LOCAL, 0, 8);
    check_dsb_flush(CODE_BASE, PMU_TLB_FLUSH_ALL, 0, 8);
    check_dsb_flush(CODE_BASE, PMU_TLB_FLUSH_PAGE, CODE_BASE, 1);
    check_dsb_flush(CODE_BASE, PMU_TLB_FLUSH_PAGE, CODE_BASE - 4096, 0);
    check_dsb_flush(LARGE_BASE, PMU_TLB_FLUSH_PAGE, LARGE_BASE + 4096, 8);
    check_dsb_flush(LARGE_BASE, PMU_TLB_FLUSH_PAGE, LARGE_BASE - 4096, 0);
}

/*
 * 1,000 jumps, more than the DSB holds, @stride bytes apart: fetch first walks
 * for @walks pages, and then asks the STLB for @found of them in each round.
 */
static void check_large_code(uint64_t base, uint64_t stride, uint64_t walks,
                             uint64_t found)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    for (unsigned i = 0; i < 1000; i++) {
        rig_block(rig, base + i * stride);
        rig_append(rig, JMP, base + i * stride);
    }
    rig_measure(rig, &plain, 1);
    g_assert_cmpuint(count(rig, PMU_ITEM_ITLB_WALKS_2M), ==, walks);
    rig_run(rig, &plain, 3);
    rig_measure(rig, &plain, 2);
    g_assert_cmpuint(count(rig, PMU_ITEM_ITLB_STLB), ==, 2 * found);
    g_assert_cmpuint(sum(rig, PMU_ITEM_ITLB_WALKS_4K,
                         PMU_ITEM_ITLB_WALKS_2M), ==, 0);
    rig_free(rig);
}

/* Large pages of code count by the 2 MiB parts that the ITLB has. */
static void test_large_code(void)
{
    check_large_code(LARGE_BASE, 4096 + 64, 2, 0);
    check_large_code(LARGE_BASE, (2 << 20) + 64, 1000, 1000);
    /* Pages of 1 GiB, in parts of 2 MiB, of which the ITLB holds 16. */
    check_large_code(HUGE_BASE, 4096 + 64, 1, 0);
    check_large_code(HUGE_BASE, (2 << 20) + 64, 2, 1000);
}

/* A taken branch resteers the first time it runs, and only then. */
static void test_resteers(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    for (unsigned i = 0; i < 100; i++) {
        rig_block(rig, CODE_BASE + i * 67);
        rig_append(rig, JMP, CODE_BASE + i * 67);
    }
    rig_measure(rig, &plain, 1);
    g_assert_cmpuint(count(rig, PMU_ITEM_RESTEERS), ==, 100);
    g_assert_cmpuint(count(rig, PMU_ITEM_RESTEER_CYCLES), ==,
                     100 * rig->uarch->resteer_penalty);
    rig_measure(rig, &plain, 1);
    g_assert_cmpuint(count(rig, PMU_ITEM_RESTEERS), ==, 0);
    rig_free(rig);
}

/* Run a loop of products; one of them in each turn takes an assist, or none. */
static void assists(Rig *rig, bool assisted, unsigned times)
{
    const Code multiply = I("\xf2\x0f\x59\xc1");        /* mulsd xmm0, xmm1 */
    const PmuBlock *block = &rig->blocks[0]->block;

    g_assert_true(decode_bytes(rig->decoder,
                                  (const uint8_t *)multiply.bytes,
                                  multiply.length)->flags & PMU_INSN_ASSISTED);
    pmu_timing_flush(rig->timing);
    pmu_ledger_snapshot(&rig->ledger, &rig->start);
    for (unsigned i = 0; i < times; i++) {
        if (assisted) {
            pmu_timing_assist(rig->timing, block, false);
        }
        rig_run(rig, &plain, 1);
    }
    pmu_timing_flush(rig->timing);
    pmu_ledger_snapshot(&rig->ledger, &rig->end);
}

/*
 * An assist retires 30 micro-ops of microcode, clears the machine and takes
 * about 150 cycles, whether it is simulated in detail or sampled.
 */
static void check_assists(const PmuSampling *sampling, unsigned times)
{
    Rig *rig = rig_loop(PMU_CORE_ICELAKE, (Code)I("\xf2\x0f\x59\xc1"), 20);
    uint64_t cycles, retired;

    pmu_timing_set_sampling(rig->timing, sampling);
    assists(rig, false, times);
    cycles = count(rig, PMU_ITEM_CYCLES);
    retired = count(rig, PMU_SLOT_LIGHT_OPS) + count(rig, PMU_SLOT_HEAVY_OPS);
    g_assert_cmpuint(count(rig, PMU_ITEM_ASSISTS_FP), ==, 0);
    g_assert_cmpuint(count(rig, PMU_ITEM_CLEARS), <, 10);

    assists(rig, true, times);
    g_assert_cmpuint(count(rig, PMU_ITEM_ASSISTS_FP), ==, times);
    assert_within(count(rig, PMU_ITEM_CLEARS), times, times + 10);
    assert_within(count(rig, PMU_ITEM_CYCLES), cycles + 140.0 * times,
                  cycles + 160.0 * times);
    assert_within(count(rig, PMU_SLOT_LIGHT_OPS) +
                  count(rig, PMU_SLOT_HEAVY_OPS), retired + 29.9 * times,
                  retired + 30.1 * times);
    assert_within(count(rig, PMU_ITEM_MS_UOPS), 29.9 * times, 30.1 * times);
    g_assert_cmpuint(count(rig, PMU_SLOT_MACHINE_CLEARS), >=,
                     (rig->uarch->mispredict_penalty -
                      rig->uarch->clear_resteer) * rig->uarch->width * times);
    rig_free(rig);
}

/* In detail each assist is simulated; in sampling it is estimated. */
static void test_assists(void)
{
    check_assists(NULL, 1000);
    check_assists(&pmu_sampling, 100000);
}

static const struct {
    const char *path;
    void (*run)(void);
} tests[] = {
    { "/items/branches", test_branches },
    { "/items/mispredictions", test_mispredictions },
    { "/items/flush-bubbles", test_flush_bubbles },
    { "/items/mispredictions/indirect", test_indirect_mispredictions },
    { "/items/instructions", test_instructions },
    { "/items/full-log", test_full_log },
    { "/items/accesses", test_accesses },
    { "/items/splits", test_splits },
    { "/items/split-fills", test_split_fills },
    { "/items/chases", test_chases },
    { "/items/chase-l3", test_chase_l3 },
    { "/items/promoted", test_promoted },
    { "/items/prefetches-under-way", test_prefetches_under_way },
    { "/items/code-under-way", test_code_under_way },
    { "/items/taken-branch-port", test_taken_branch_port },
    { "/items/streaming-splits", test_streaming_splits },
    { "/items/window-stays", test_window_stays },
    { "/items/fused-predecode", test_fused_predecode },
    { "/items/fill-buffers", test_fill_buffers },
    { "/items/stores", test_stores },
    { "/items/streaming", test_streaming },
    { "/items/data-tlb", test_data_tlb },
    { "/items/walks", test_walks },
    { "/items/walk-then-miss", test_walk_then_miss },
    { "/items/large-pages", test_large_pages },
    { "/items/forward-blocked", test_forward_blocked },
    { "/items/assists", test_assists },
    { "/items/forwarded-fills", test_forwarded_fills },
    { "/items/alias", test_alias },
    { "/items/sums", test_sums },
    { "/items/ports", test_ports },
    { "/items/port-choice", test_port_choice },
    { "/items/executed", test_executed },
    { "/items/soft-prefetch", test_soft_prefetch },
    { "/items/clflush", test_clflush },
    { "/items/divider", test_divider },
    { "/items/x87", test_x87 },
    { "/items/serialized", test_serialized },
    { "/items/pause", test_pause },
    { "/items/sources", test_sources },
    { "/items/dsb-cycles", test_dsb_cycles },
    { "/items/lcp", test_lcp },
    { "/items/microcode", test_microcode },
    { "/items/fetch", test_fetch },
    { "/items/fetch-ahead", test_fetch_ahead },
    { "/items/dsb-pages", test_dsb_pages },
    { "/items/dsb-flush", test_dsb_flush },
    { "/items/large-code", test_large_code },
    { "/items/resteers", test_resteers },
};

static bool has_run[G_N_ELEMENTS(tests)];

static void run_test(gconstpointer opaque)
{
    unsigned i = GPOINTER_TO_UINT(opaque);

    has_run[i] = true;
    tests[i].run();
}

/*
 * Does @item need another vCPU, stores to code, a prefetcher that is idle here,
 * or a guest?  Then another test counts it.
 */
static bool is_counted_elsewhere(PmuLedgerItem item)
{
    switch (item) {
    case PMU_ITEM_LOADS_L3_FORWARDED:
    case PMU_ITEM_CLEARS_ORDERING:
        return true;            /* test-sharing.c */
    case PMU_ITEM_CLEARS_SMC:
        return true;            /* test-timing.c */
    case PMU_ITEM_INTERRUPTS:
    case PMU_ITEM_EXCEPTIONS:
        return true;            /* pmu-count-test.c */
    case PMU_ITEM_L1D_PREFETCH_L2 ... PMU_ITEM_L1D_PREFETCH_DRAM:
        return true;            /* test-memory.c */
    default:
        return false;
    }
}

static bool can_happen(const PmuEvent *row)
{
    for (unsigned i = 0; i < row->num_terms; i++) {
        if (happened[row->term[i]] || is_counted_elsewhere(row->term[i])) {
            return true;
        }
    }
    return !row->num_terms;
}

/*
 * Each event happens in one of the tests here, unless it says that it counts
 * zero: none is zero because the ledger lacks what it is a sum of.
 */
static void test_all_happen(void)
{
    const PmuEvent *row;

    for (unsigned i = 0; i < G_N_ELEMENTS(tests); i++) {
        if (!has_run[i]) {
            run_test(GUINT_TO_POINTER(i));
        }
    }
    for (unsigned i = 0; (row = pmu_event_row(i)); i++) {
        if (!can_happen(row)) {
            g_test_message("%s never happened", row->name);
            g_test_fail();
        }
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(tests); i++) {
        g_test_add_data_func(tests[i].path, GUINT_TO_POINTER(i), run_test);
    }
    g_test_add_func("/items/all-happen", test_all_happen);
    return g_test_run();
}
