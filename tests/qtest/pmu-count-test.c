/*
 * Test of the PMU's counts: instructions and branches retired are exact.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The numbers are known by construction of the code that runs:
 * pmu/payload/payload.h describes it.  A faulting instruction counts 0, an
 * interrupt counts 0, and a REP string instruction counts 1.  Counting begins
 * after the WRMSR that enables it and ends with the one that disables it.
 *
 * Most tests run twice, as QEMU counts in two ways: only instructions and
 * branches, or also cycles and slots.
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"

#include "pmu/machine.h"

/* Counters: instructions and branches, by privilege level. */
enum {
    INSNS_OS, INSNS_USR, BRANCHES_OS, BRANCHES_USR, NUM_COUNTERS
};

#define ENABLE_COUNTS   (0xfull | GLOBAL_FIXED(0))
#define ENABLE_TIMING   (GLOBAL_FIXED(1) | GLOBAL_FIXED(2) | \
                         GLOBAL_FIXED(3) | GLOBAL_METRICS)

#define CPL0            1
#define CPL3            2
#define BOTH            (CPL0 | CPL3)

/* A number of branches that the test does not check. */
#define UNKNOWN         UINT64_MAX

#define PAGE(n)         (PAYLOAD_PAGED + 0x1000 * (n))
#define PAGE_PTE(n)     (PAYLOAD_PAGED_PTE + 8 * (n))

typedef struct Case {
    const char *name;
    unsigned block;
    unsigned levels;
    uint64_t arg;
    uint64_t insns, branches;   /* of the block, RET included */
    /* Those that its interrupts and exceptions add at CPL 0. */
    uint64_t os_insns, os_branches;
    unsigned events;            /* number of interrupts and exceptions */
    unsigned flags;             /* RUN_x */
    void (*prepare)(PmuScript *script);
    bool check_result;          /* compare %rbx with @result */
    uint64_t result;
    const char *args;           /* more arguments for QEMU */
} Case;

static void unmap(PmuScript *s, unsigned page)
{
    /* Clear Present; everything else stays. */
    pmu_op(s, OP_POKE64, 0, PAGE_PTE(page), PAGE(page) + 6);
    pmu_op(s, OP_FLUSH_TLB, 0, 0, 0);
    pmu_set(s, PROGRESS_MAP, PAGE_PTE(page));
}

static void unmap_first(PmuScript *s)
{
    unmap(s, 0);
}

static void unmap_second(PmuScript *s)
{
    unmap(s, 1);
}

/* Write NOPs, an instruction that crosses a page boundary, NOPs and RET. */
static void plant_code(PmuScript *s)
{
    static const uint32_t code[] = {
        0x90909090,             /* 4 x nop */
        0x5678bb90,             /* nop; mov $0x12345678, %ebx */
        0x90901234,             /* 2 x nop */
        0x909090c3,             /* ret */
    };

    for (int i = 0; i < ARRAY_SIZE(code); i++) {
        pmu_poke32(s, PAGE(1) - 8 + 4 * i, code[i]);
    }
    unmap(s, 1);
}

/* Set RCX to the 8 bytes given, RSI to DATA, RDI to PAGED: 3 instructions */
#define STRING_REGISTERS(b0, b1, b2, b3, b4, b5, b6, b7)                \
    0x48, 0xb9, b0, b1, b2, b3, b4, b5, b6, b7,     /* mov $, %rcx */   \
    0xbe, 0x00, 0x00, 0x60, 0x00,                   /* mov $, %esi */   \
    0xbf, 0x00, 0x00, 0x40, 0x00                    /* mov $, %edi */

QEMU_BUILD_BUG_ON(PAYLOAD_DATA != 0x600000 || PAYLOAD_PAGED != 0x400000);

/* With 32-bit addresses, REP counts ECX, not RCX. */
static void plant_rep_address_size(PmuScript *s)
{
    static const uint8_t code[] = {
        STRING_REGISTERS(0x10, 0, 0, 0, 0xff, 0xff, 0xff, 0xff),
        0x67, 0xf3, 0xa4,                           /* rep movsb */
        0xc3,
    };

    pmu_poke_code(s, PAGE(1), code, sizeof(code));
}

/*
 * REX before another prefix has no effect, so that this is REP MOVSB.  It is
 * the last instruction of its page.
 */
#define REX_REP_TIMES   30000
#define REX_REP_CODE    28      /* bytes in the first page */

static void plant_rex_rep(PmuScript *s)
{
    static const uint8_t code[] = {
        0xba, 0x30, 0x75, 0x00, 0x00,               /* mov $30000, %edx */
        STRING_REGISTERS(5, 0, 0, 0, 0, 0, 0, 0),
        0x48, 0xf3, 0xa4,                           /* rep movsb */
        0xff, 0xca,                                 /* dec %edx */
        0x75, 0xe5,                                 /* jne to mov, %rcx */
        0xc3,
    };

    pmu_poke_code(s, PAGE(1) - REX_REP_CODE, code, sizeof(code));
}

/* Code in eight lines.  Each pass flushes them after it has run them. */
#define FLUSH_TIMES     1000
#define FLUSH_LINES     8

static void plant_flushes(PmuScript *s)
{
    static const uint8_t jump[] = { 0xeb, 0x3e, 0x90, 0x90 };
    static const uint8_t start[] = {
        0xba, 0xe8, 0x03, 0x00, 0x00,               /* mov $1000, %edx */
        0xeb, 0x39,                                 /* jmp to PAGE(1) */
    };
    uint64_t at = PAGE(1) + 64 * FLUSH_LINES;

    pmu_poke_code(s, PAGE(1) - 64, start, sizeof(start));
    for (int i = 0; i < FLUSH_LINES; i++) {
        uint8_t flush[8] = { 0x0f, 0xae, 0x3c, 0x25, }; /* clflush */

        pmu_poke_code(s, PAGE(1) + 64 * i, jump, sizeof(jump));
        stl_le_p(flush + 4, PAGE(1) + 64 * i);
        pmu_poke_code(s, at + 8 * i, flush, sizeof(flush));
    }
    at += 8 * FLUSH_LINES;
    pmu_poke32(s, at, 0x850fcaff);                  /* dec %edx; jne */
    pmu_poke32(s, at + 4, PAGE(1) - (at + 8));
    pmu_poke32(s, at + 8, 0xc3c3c3c3);              /* ret */
}

/* 66H does not change near branches in 64-bit code (SDM vol. 2A, JMP). */
static void plant_branch_operand_size(PmuScript *s)
{
    static const uint8_t code[] = {
        0x31, 0xc0,                                 /* xor %eax, %eax */
        0x66, 0xe9, 0x00, 0x00, 0x00, 0x00,         /* jmp */
        0x66, 0x0f, 0x84, 0x00, 0x00, 0x00, 0x00,   /* je */
        0xc3,
    };

    pmu_poke_code(s, PAGE(1), code, sizeof(code));
}

/* As plant_code(), but QEMU has translated the code before it is unmapped. */
static void plant_known_code(PmuScript *s)
{
    plant_code(s);
    pmu_op(s, OP_RUN, BLOCK_JUMP, 0, PAGE(1) - 8);
    pmu_op(s, OP_RUN, BLOCK_JUMP | RUN_CPL3, 0, PAGE(1) - 8);
    pmu_set(s, PROGRESS_EVENTS, 0);
    unmap(s, 1);
}

static void plant_needle(PmuScript *s)
{
    pmu_poke32(s, PAYLOAD_DATA + 500, 0xff);
}

/* Break on writes to the eight bytes at PAYLOAD_DATA. */
static void set_breakpoint(PmuScript *s)
{
    pmu_op(s, OP_BREAKPOINT, 0, PAYLOAD_DATA, 0x90001);
}

static void enable_syscall(PmuScript *s)
{
    pmu_op(s, OP_ENABLE_SYSCALL, 0, 0, 0);
}

/* Start the APIC timer, to interrupt once, soon. */
static void start_timer(PmuScript *s)
{
    pmu_poke32(s, APIC_TIMER_DIVIDE, 0xb);
    pmu_poke32(s, APIC_LVT_TIMER, VECTOR_TIMER);
    pmu_poke32(s, APIC_TIMER_INITIAL, 2000000);
}

#define FAULT(error_code) \
    .os_insns = FAULT_INSNS + ((error_code) ? 0 : FAULT_NO_ERROR_INSNS), \
    .os_branches = FAULT_BRANCHES, .events = 1

#define INTERRUPTS(n) \
    .os_insns = (n) * INTERRUPT_INSNS, \
    .os_branches = (n) * INTERRUPT_BRANCHES, .events = (n)

#define MAPPED \
    .os_insns = MAP_INSNS, .os_branches = MAP_BRANCHES, .events = 1

static const Case cases[] = {
    { "empty", BLOCK_EMPTY, BOTH, 0, 1, 1 },
    { "straight-line", BLOCK_NOPS, BOTH, 0, NOPS + 1, 1 },
    { "two-pages", BLOCK_LONG, BOTH, 0, LONG + 1, 1 },
    { "prefixes", BLOCK_PREFIXES, BOTH, 0, PREFIXES_INSNS, 1 },
    { "loop-once", BLOCK_LOOP, BOTH, 1, 4, 2 },
    { "loop", BLOCK_LOOP, BOTH, 1000000, 2000002, 1000001 },
    { "calls", BLOCK_CALLS, BOTH, 10000, 50002, 30001 },
    { "branches", BLOCK_BRANCHES, BOTH, 0, BRANCHES_INSNS,
      BRANCHES_BRANCHES },
    { "memory", BLOCK_MEMORY, BOTH, 10000, 70003, 10001 },
    { "chase", BLOCK_CHASE, BOTH, 10000, 60004, 10001 },
    { "multiply", BLOCK_MULTIPLY, BOTH, 10000, 180002, 10001 },
    { "pause", BLOCK_PAUSE, BOTH, 100, 302, 101 },
    { "mmio", BLOCK_MMIO, BOTH, 1000, 4002, 1001 },
    { "unaligned-lock", BLOCK_UNALIGNED_LOCK, BOTH, 1000, 3002, 1001,
      .args = "-smp 2" },

    { "rep-zero", BLOCK_REP_ZERO, BOTH, 0, 6, 1 },
    { "rep-once", BLOCK_MOVSB, BOTH, 1, 6, 1 },
    { "rep-movsb", BLOCK_MOVSB, BOTH, 5000, 6, 1 },
    { "rep-movsb-long", BLOCK_MOVSB, BOTH, 70000, 6, 1 },
    { "rep-stosq-long", BLOCK_STOSQ, BOTH, 200000, 5, 1 },
    { "repne-scasb", BLOCK_SCASB, BOTH, 1000, 6, 1 },
    { "repne-scasb-found", BLOCK_SCASB, BOTH, 1000, 6, 1,
      .prepare = plant_needle },
    { "rep-page-fault", BLOCK_MOVSB, BOTH, 5000, 6, 1, MAPPED,
      .prepare = unmap_second },
    { "rep-page-fault-first", BLOCK_STOSQ, BOTH, 2, 5, 1, MAPPED,
      .prepare = unmap_first },

    { "rep-address-size", BLOCK_JUMP, BOTH, PAGE(1), 6, 2,
      .prepare = plant_rep_address_size },
    { "rep-behind-rex", BLOCK_JUMP, BOTH, PAGE(1) - REX_REP_CODE,
      6 * REX_REP_TIMES + 3, REX_REP_TIMES + 2, .prepare = plant_rex_rep },
    { "flush-code", BLOCK_JUMP, BOTH, PAGE(1) - 64,
      (2 * FLUSH_LINES + 2) * FLUSH_TIMES + 4,
      (FLUSH_LINES + 1) * FLUSH_TIMES + 3, .prepare = plant_flushes },
    { "branch-operand-size", BLOCK_JUMP, BOTH, PAGE(1), 5, 4,
      .prepare = plant_branch_operand_size },

    { "page-fault-retry", BLOCK_TOUCH, BOTH, PAGE(0), 4, 1, MAPPED,
      .prepare = unmap_first },
    { "page-fault-code", BLOCK_JUMP, BOTH, PAGE(1) - 8, 10, 2, MAPPED,
      .prepare = plant_code, .check_result = true, .result = 0x12345678 },
    { "page-fault-known-code", BLOCK_JUMP, BOTH, PAGE(1) - 8, 10, 2, MAPPED,
      .prepare = plant_known_code,
      .check_result = true, .result = 0x12345678 },
    { "page-fault", BLOCK_PF, BOTH, 1ull << 33, FAULTING + 1, 1, FAULT(1) },
    { "invalid-opcode", BLOCK_UD, BOTH, 0, FAULTING + 1, 1, FAULT(0) },
    { "non-canonical", BLOCK_GP, BOTH, 1ull << 47, FAULTING + 1, 1,
      FAULT(1) },
    { "divide-error", BLOCK_DE, BOTH, 0, FAULTING + 1, 1, FAULT(0) },
    { "divide-error-memory", BLOCK_DE_MEMORY, BOTH, PAYLOAD_DATA,
      FAULTING + 1, 1, FAULT(0) },
    { "wrmsr-fault", BLOCK_GP_WRMSR, BOTH, 0, FAULTING + 1, 1, FAULT(1) },
    { "rdpmc-fault", BLOCK_GP_RDPMC, BOTH, 0, FAULTING + 1, 1, FAULT(1) },
    { "branch-fault", BLOCK_UD_BRANCH, BOTH, 0, FAULTING + 1, 1, FAULT(0) },
    { "sysexit-fault", BLOCK_GP_SYSEXIT, CPL3, 0, FAULTING + 1, 1, FAULT(1) },

    { "self-modifying", BLOCK_SELF_MODIFYING, BOTH, 100, 403, 101,
      .check_result = true, .result = 5050 },
    { "modify-next", BLOCK_MODIFY_NEXT, BOTH, 0, 5, 1,
      .check_result = true, .result = 2 },
    { "denormals", BLOCK_DENORMALS, BOTH, 1000, 9015, 1001,
      .check_result = true, .result = 0x1fb0 },
    { "no-denormals", BLOCK_NO_DENORMALS, BOTH, 1000, 9015, 1001,
      .check_result = true, .result = 0x9ff0 },
    { "software-interrupt", BLOCK_INT, CPL0, 10, 32, 21, INTERRUPTS(10) },
    { "syscall", BLOCK_SYSCALL, CPL3, 1000, 3002, 2001,
      .os_insns = 1000, .os_branches = 1000, .prepare = enable_syscall },
    { "single-step", BLOCK_TF, BOTH, 0, TF_INSNS + 1, 1,
      INTERRUPTS(TF_TRAPS) },
    { "single-step-all", BLOCK_NOPS, CPL3, 0, NOPS + 1, 1,
      INTERRUPTS(NOPS + 1), .flags = RUN_TF },
    { "breakpoint", BLOCK_WATCHPOINT, BOTH, 1, 6, 1, INTERRUPTS(1),
      .prepare = set_breakpoint },
    { "halt", BLOCK_HLT, CPL0, 0, 4, 1, INTERRUPTS(1),
      .prepare = start_timer },
    /* The SDM does not say whether RSM is a branch. */
    { "smi", BLOCK_SMI, BOTH, 0, SMI_BLOCK_INSNS, 1,
      .os_insns = SMI_INSNS, .os_branches = UNKNOWN },
    { "compatibility-mode", BLOCK_COMPATIBILITY, CPL0, 0, COMPATIBILITY_INSNS,
      3 },
    { "into", BLOCK_INTO, CPL0, 0, INTO_INSNS, 4, INTERRUPTS(1) },
    { "wrmsr", BLOCK_WRMSR, CPL0, 0x1a6, 5, 1 },
    { "stopped-inside", BLOCK_STOPPED, CPL0, ENABLE_COUNTS,
      STOPPED_INSNS, 1 },
};

static void setup(PmuScript *s, bool timing)
{
    static const uint64_t evtsel[NUM_COUNTERS] = {
        [INSNS_OS] = EVENT_INSTRUCTIONS | EVTSEL_OS,
        [INSNS_USR] = EVENT_INSTRUCTIONS | EVTSEL_USR,
        [BRANCHES_OS] = EVENT_BRANCHES | EVTSEL_OS,
        [BRANCHES_USR] = EVENT_BRANCHES | EVTSEL_USR,
    };

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    for (int i = 0; i < NUM_COUNTERS; i++) {
        pmu_wrmsr(s, MSR_EVTSEL(i), evtsel[i] | EVTSEL_EN);
        pmu_wrmsr(s, MSR_A_PMC(i), 0);
    }
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL,
              FIXED_ALL(0) | (timing ? 0x3330 : 0));
    for (int i = 0; i < 4; i++) {
        pmu_wrmsr(s, MSR_FIXED_CTR(i), 0);
    }
}

/* Append reads of all counters.  Returns the index of the first one. */
static unsigned read_counters(PmuScript *s)
{
    unsigned first = s->num_ops[0];

    for (int i = 0; i < NUM_COUNTERS; i++) {
        pmu_rdpmc(s, i);
    }
    for (int i = 0; i < 4; i++) {
        pmu_rdpmc(s, 0x40000000 + i);
    }
    return first;
}

static void expect_counts(const PmuScript *s, unsigned first,
                          const uint64_t *expected, const char *where)
{
    static const char *const name[NUM_COUNTERS] = {
        "instructions at CPL 0", "instructions at CPL 3",
        "branches at CPL 0", "branches at CPL 3",
    };
    uint64_t fixed = pmu_register(s, first + NUM_COUNTERS);

    for (int i = 0; i < NUM_COUNTERS; i++) {
        if (expected[i] != UNKNOWN) {
            pmu_expect(pmu_register(s, first + i), expected[i], "%s, %s",
                       name[i], where);
        }
    }
    pmu_expect(fixed, expected[INSNS_OS] + expected[INSNS_USR],
               "IA32_FIXED_CTR0, %s", where);
}

/* Expect five slots in each cycle if @timing; otherwise no slots or cycles. */
static void expect_slots(const PmuScript *s, unsigned first, bool timing)
{
    uint64_t cycles = pmu_register(s, first + NUM_COUNTERS + 1);
    uint64_t slots = pmu_register(s, first + NUM_COUNTERS + 3);

    pmu_expect(cycles > 0, timing, "cycles are counted");
    pmu_expect(slots, 5 * cycles, "slots in %" PRIu64 " cycles", cycles);
}

static void expected_counts(const Case *test, unsigned level,
                            uint64_t *expected)
{
    if (level == CPL0) {
        expected[INSNS_OS] = test->insns + RUN_CPL0_INSNS + test->os_insns;
        expected[INSNS_USR] = 0;
        expected[BRANCHES_OS] = test->branches + RUN_CPL0_BRANCHES +
                                test->os_branches;
        expected[BRANCHES_USR] = 0;
    } else {
        expected[INSNS_OS] = RUN_CPL3_OS_INSNS + test->os_insns;
        expected[INSNS_USR] = test->insns + RUN_CPL3_USR_INSNS;
        expected[BRANCHES_OS] = RUN_CPL3_OS_BRANCHES + test->os_branches;
        expected[BRANCHES_USR] = test->branches + RUN_CPL3_USR_BRANCHES;
    }
    if (test->os_branches == UNKNOWN) {
        expected[BRANCHES_OS] = UNKNOWN;
    }
}

/* One way of running a case, and where its results are. */
typedef struct Variant {
    unsigned level;
    bool timing;
    unsigned run, events, first;
} Variant;

static void add_variant(PmuScript *s, const Case *test, Variant *variant)
{
    pmu_set(s, PROGRESS_EVENTS, 0);
    if (test->prepare) {
        test->prepare(s);
    }
    setup(s, variant->timing);
    variant->run = pmu_op(s, OP_RUN, test->block | test->flags |
                          (variant->level == CPL3 ? RUN_CPL3 : 0),
                          ENABLE_COUNTS | (variant->timing ? ENABLE_TIMING : 0),
                          test->arg);
    variant->first = read_counters(s);
    variant->events = pmu_op(s, OP_PEEK64, 0,
                             PAYLOAD_PROGRESS + PROGRESS_EVENTS, 0);
}

static void expect_variant(const PmuScript *s, const Case *test,
                           const Variant *variant, const char *args)
{
    uint64_t expected[NUM_COUNTERS];
    g_autofree char *where = g_strdup_printf(
        "%s, block at CPL %d, %s %s", test->name,
        variant->level == CPL3 ? 3 : 0,
        variant->timing ? "with cycles" : "without cycles", args);

    expected_counts(test, variant->level, expected);
    expect_counts(s, variant->first, expected, where);
    expect_slots(s, variant->first, variant->timing);
    pmu_expect(pmu_value(s, variant->events), test->events,
               "interrupts and exceptions, %s", where);
    if (test->check_result) {
        pmu_expect(s->result[0][variant->run].value[0], test->result,
                   "result of the block, %s", where);
    }
}

/* Run @test in each way, on one machine with more arguments @more_args. */
static void run_case(const Case *test, const char *more_args)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autofree char *args = g_strconcat(PMU_CPU_METRICS, more_args, NULL);
    Variant variants[4];
    unsigned n = 0;

    for (int timing = 0; timing < 2; timing++) {
        for (int level = CPL0; level <= CPL3; level++) {
            if (test->levels & level) {
                variants[n] = (Variant) { level, timing };
                add_variant(s, test, &variants[n++]);
            }
        }
    }
    pmu_run(s, args);
    for (int i = 0; i < n; i++) {
        expect_variant(s, test, &variants[i], more_args);
    }
}

static void test_case(const void *data)
{
    const Case *test = data;

    run_case(test, test->args ?: "");
}

/*
 * Compute the instructions and branches of @n steps of BLOCK_MIXED, and how
 * many of the branches are conditional.  This repeats in C what the block does.
 */
static void mixed_counts(uint64_t n, uint64_t *insns, uint64_t *branches,
                         uint64_t *conditional)
{
    uint64_t x = 88172645463325252;

    *insns = 5 + 2;
    *branches = 1;
    *conditional = 0;
    while (n--) {
        uint64_t word, c;

        x = x * 6364136223846793005 + 1442695040888963407;
        *insns += 7 + 2 + (x >> 40 & 1 ? 0 : 2) + 2;
        *branches += 3;
        *conditional += 2;
        word = (uint32_t)x + 1;
        switch (x >> 61) {
        case 0:
            *insns += 1;
            *branches += 1;
            break;
        case 1:
            *insns += 6;
            *branches += 1;
            break;
        case 2:
            c = x >> 58;
            *insns += 4 + 2 * c;
            *branches += 2 + c;
            *conditional += 1 + c;
            break;
        case 3:
            *insns += 6 + !(word >> 31 & 1);
            *branches += 2;
            *conditional += 1;
            break;
        case 4:
            *insns += 3 + 1 + 6 + !(word >> 31 & 1);
            *branches += 3 + 1 + 2;
            *conditional += 1;
            break;
        case 5:
            *insns += 8 + ((x >> 33) % 3 ? 2 : 0);
            *branches += 2;
            *conditional += 1;
            break;
        case 6:
            *insns += 6;
            *branches += 2;
            *conditional += 1;
            break;
        case 7:
            *insns += 5;
            *branches += 1;
            break;
        }
    }
}

/* Steps of BLOCK_MIXED, of some 15 instructions each. */
#define MIXED           20000
#define MIXED_FORWARD   400000

static void run_mixed(uint64_t n, const char *args)
{
    Case test = { "mixed", BLOCK_MIXED, BOTH, n };
    uint64_t conditional;

    mixed_counts(test.arg, &test.insns, &test.branches, &conditional);
    run_case(&test, args);
}

static void test_mixed(void)
{
    run_mixed(MIXED, "");
}

/*
 * After the first million instructions that are timed, translated code may
 * count blocks instead of logging them.
 */
static void test_mixed_forward(void)
{
    run_mixed(MIXED_FORWARD, "");
}

static void test_mixed_forward_cuts(void)
{
    run_mixed(MIXED_FORWARD, "-accel tcg,one-insn-per-tb=on");
    run_mixed(MIXED_FORWARD, "-d nochain");
}

static void test_mixed_forward_icount(void)
{
    run_mixed(MIXED_FORWARD, "-icount shift=3");
}

/* Counts are the same however QEMU cuts the code into blocks. */
static void test_mixed_cuts(void)
{
    run_mixed(MIXED, "-accel tcg,one-insn-per-tb=on");
    run_mixed(MIXED, "-d nochain");
    run_mixed(MIXED, "-accel tcg,tb-size=1");
}

static void test_mixed_icount(void)
{
    run_mixed(MIXED, "-icount shift=3");
    run_mixed(MIXED, "-icount shift=auto,sleep=off");
}

/*
 * Single-stepping counts instructions without a PMU.  Each instruction traps
 * once.  A string instruction traps in each iteration, at the same RIP as the
 * trap before.
 */
static void test_single_step_oracle(void)
{
    const uint64_t steps = 200;
    g_autoptr(PmuScript) s = pmu_script_new();
    uint64_t retired = 0, last = 0;
    unsigned counter;

    setup(s, false);
    pmu_op(s, OP_RUN, BLOCK_MIXED | RUN_CPL3, ENABLE_COUNTS, steps);
    counter = read_counters(s) + INSNS_USR;
    /* Now single-step the same code, with the counters off. */
    pmu_op(s, OP_RUN, BLOCK_MIXED | RUN_CPL3 | RUN_TF, 0, steps);
    pmu_run(s, PMU_CPU_METRICS);

    g_assert_cmpuint(s->progress[0].events, <, PAYLOAD_LOG_ENTRIES);
    for (int i = 0; i < s->progress[0].events; i++) {
        g_assert_cmpuint(s->event[0][i].vector, ==, VECTOR_DB);
        retired += s->event[0][i].rip != last;
        last = s->event[0][i].rip;
    }
    /* INT ends the block without a trap. */
    pmu_expect(pmu_register(s, counter), retired + 1,
               "instructions that were single-stepped");
}

/* RDPMC does not count itself, nor any instruction after it. */
static void test_rdpmc_distance(void)
{
    static const struct {
        uint32_t ecx;
        unsigned flags;
        uint64_t first;
    } row[] = {
        /* Before the first RDPMC are CALL and MOV, or IRETQ and MOV. */
        { INSNS_OS, 0, 2 }, { 0x40000000, 0, 2 },
        { INSNS_USR, RUN_CPL3, 1 }, { 0x40000000, RUN_CPL3, 2 },
    };

    for (int i = 0; i < 2 * ARRAY_SIZE(row); i++) {
        bool timing = i & 1;
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned run;

        setup(s, timing);
        pmu_op(s, OP_CR4, 0, 1 << 8, 0);        /* PCE */
        run = pmu_op(s, OP_RUN, BLOCK_RDPMC | row[i / 2].flags,
                     ENABLE_COUNTS | (timing ? ENABLE_TIMING : 0),
                     row[i / 2].ecx);
        pmu_run(s, PMU_CPU_METRICS);
        pmu_expect(s->result[0][run].value[0], row[i / 2].first,
                   "first RDPMC of 0x%x", row[i / 2].ecx);
        pmu_expect(s->result[0][run].value[1],
                   row[i / 2].first + RDPMC_DISTANCE,
                   "second RDPMC of 0x%x", row[i / 2].ecx);
    }
}

/* IA32_PERFEVTSELx enables and disables at the same points as GLOBAL_CTRL. */
static void test_evtsel_enable(void)
{
    for (int timing = 0; timing < 2; timing++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned counter;

        setup(s, timing);
        pmu_wrmsr(s, MSR_EVTSEL(1), 0);
        pmu_op(s, OP_RUN, BLOCK_EVTSEL,
               ENABLE_COUNTS | (timing ? ENABLE_TIMING : 0),
               EVENT_INSTRUCTIONS | EVTSEL_OS | EVTSEL_EN);
        counter = pmu_rdpmc(s, 1);
        pmu_run(s, PMU_CPU_METRICS);
        pmu_expect(pmu_register(s, counter), EVTSEL_INSNS,
                   "instructions between the two writes");
    }
}

/* Asynchronous interrupts come anywhere, and do not change user counts. */
static void test_timer_interrupts(void)
{
    for (int timing = 0; timing < 2; timing++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        /* A tenth of a second: a busy host is late with timers. */
        const uint64_t n = 50000000;
        uint64_t events, expected[NUM_COUNTERS];
        unsigned first;

        setup(s, timing);
        pmu_poke32(s, APIC_TIMER_DIVIDE, 0xb);
        pmu_poke32(s, APIC_LVT_TIMER, VECTOR_TIMER | 0x20000);
        pmu_poke32(s, APIC_TIMER_INITIAL, 1000000);
        pmu_op(s, OP_RUN, BLOCK_LOOP | RUN_CPL3 | RUN_IF,
               ENABLE_COUNTS | (timing ? ENABLE_TIMING : 0), n);
        pmu_poke32(s, APIC_LVT_TIMER, LVT_MASKED);
        first = read_counters(s);
        pmu_run(s, PMU_CPU_METRICS);

        events = s->progress[0].events;
        g_test_message("%" PRIu64 " interrupts", events);
        g_assert_cmpuint(events, >, 0);
        expected[INSNS_USR] = 2 * n + 2 + RUN_CPL3_USR_INSNS;
        expected[BRANCHES_USR] = n + 1 + RUN_CPL3_USR_BRANCHES;
        expected[INSNS_OS] = RUN_CPL3_OS_INSNS + events * INTERRUPT_INSNS;
        expected[BRANCHES_OS] = RUN_CPL3_OS_BRANCHES +
                                events * INTERRUPT_BRANCHES;
        expect_counts(s, first, expected,
                      timing ? "with cycles" : "without cycles");
        expect_slots(s, first, timing);
    }
}

/* Events: HW_INTERRUPTS.RECEIVED and BR_INST_RETIRED.FAR_BRANCH. */
#define EVENT_INTERRUPTS        0x01cb
#define EVENT_FAR_BRANCHES      0x40c4

/* Returns how many events of @vector the payload logged. */
static unsigned events_of(const PmuScript *s, unsigned vector)
{
    unsigned n = 0;

    for (unsigned i = 0; i < s->progress[0].events; i++) {
        n += s->event[0][i].vector == vector;
    }
    return n;
}

/*
 * PMC0 counts interrupts, and so do PMC1 and, with @far, PMC2, which also has
 * far branches at CPL 3: the INT by which each block ends.  The third interrupt
 * makes PMC1 overflow: its NMI interrupts before the handler of the third one
 * has logged that.
 */
static void check_interrupts(bool far)
{
    const uint64_t levels = EVTSEL_OS | EVTSEL_USR;
    const uint64_t enable = GLOBAL_GP(0) | GLOBAL_GP(1) |
                            (far ? GLOBAL_GP(2) : 0);
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned value, timer;

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_EVTSEL(0), EVENT_INTERRUPTS | levels | EVTSEL_EN);
    pmu_wrmsr(s, MSR_EVTSEL(1), EVENT_INTERRUPTS | levels | EVTSEL_INT |
                                EVTSEL_EN);
    pmu_wrmsr(s, MSR_A_PMC(1), -3ull & COUNTER_MASK);
    pmu_wrmsr(s, MSR_EVTSEL(2), EVENT_FAR_BRANCHES | EVTSEL_USR | EVTSEL_EN);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_poke32(s, APIC_TIMER_DIVIDE, 0xb);
    pmu_poke32(s, APIC_LVT_TIMER, VECTOR_TIMER | 0x20000);
    pmu_poke32(s, APIC_TIMER_INITIAL, far ? 10000000 : 1000000);
    pmu_op(s, OP_RUN, BLOCK_LOOP | RUN_CPL3 | RUN_IF, enable, 50000000);
    pmu_poke32(s, APIC_LVT_TIMER, LVT_MASKED);
    value = pmu_rdpmc(s, 0);
    pmu_rdpmc(s, 2);
    pmu_run(s, PMU_CPU_SPR);

    g_assert_cmpuint(s->progress[0].events, <, PAYLOAD_LOG_ENTRIES);
    timer = events_of(s, VECTOR_TIMER);
    g_test_message("%u interrupts of the timer", timer);
    if (timer < 3) {
        g_test_skip("the host is too busy for three timer interrupts");
        return;
    }
    pmu_expect(events_of(s, VECTOR_NMI), 1, "interrupts of the PMU");
    pmu_expect(s->event[0][2].vector, VECTOR_NMI, "the third interrupt");
    pmu_expect(pmu_register(s, value), timer + 1, "interrupts counted");
    if (far) {
        /* The NMI interrupts the handler, at CPL 0. */
        pmu_expect(pmu_register(s, value + 1), timer + 1,
                   "far branches at CPL 3");
    }
}

static void test_interrupts(void)
{
    check_interrupts(false);
    check_interrupts(true);
}

/* An exception is a far branch, but no interrupt. */
static void test_exceptions(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned value;

    setup(s, false);
    pmu_wrmsr(s, MSR_EVTSEL(0), EVENT_INTERRUPTS | EVTSEL_OS | EVTSEL_USR |
                                EVTSEL_EN);
    pmu_wrmsr(s, MSR_EVTSEL(1), EVENT_FAR_BRANCHES | EVTSEL_USR | EVTSEL_EN);
    pmu_op(s, OP_RUN, BLOCK_PF | RUN_CPL3, ENABLE_COUNTS, 1ull << 33);
    value = pmu_rdpmc(s, 0);
    pmu_rdpmc(s, 1);
    pmu_run(s, PMU_CPU_SPR);
    pmu_expect(pmu_register(s, value), 0, "interrupts");
    pmu_expect(pmu_register(s, value + 1), 2, "far branches");
}

/*
 * AMD's branches, on Zen, with a fault among them.  The counter overflows by
 * that: it is one from it at the block's beginning, and the load that faults is
 * before its first branch.  INT1 is an exception, too, and only that.
 */
static void test_exception_overflow(void)
{
    static const uint8_t int1[] = { 0xf1, 0xc3 };       /* int1; ret */
    const uint32_t evtsel = 0xc0010200, counter = 0xc0010201;
    const uint64_t branches = 0xc2 | EVTSEL_USR | EVTSEL_EN;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned value;

    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_wrmsr(s, counter, COUNTER_MASK);
    pmu_wrmsr(s, evtsel, branches | EVTSEL_INT);
    pmu_op(s, OP_RUN, BLOCK_PF | RUN_CPL3, 0, 1ull << 33);
    pmu_wrmsr(s, evtsel, 0);
    pmu_poke_code(s, PAYLOAD_CODE, int1, sizeof(int1));
    pmu_wrmsr(s, counter, 0);
    pmu_wrmsr(s, evtsel, branches);
    pmu_op(s, OP_RUN, BLOCK_JUMP | RUN_CPL3, 0, PAYLOAD_CODE);
    pmu_wrmsr(s, evtsel, 0);
    value = pmu_rdmsr(s, counter);
    pmu_run(s, "-cpu EPYC,pmu=on,check=off ");
    pmu_expect(events_of(s, VECTOR_NMI), 1, "interrupts of the PMU");
    pmu_expect(s->event[0][0].vector, VECTOR_NMI, "the first event");
    /* JMP, INT1, RET, and INT at the end */
    pmu_expect(pmu_register(s, value), 4, "branches with INT1");
}

/*
 * The code alone decides which way a branch went, even if execution goes on
 * elsewhere after it.  Here it goes on in SMM, as another CPU sends SMIs all
 * the time.
 */
static void test_smi_behind_branch(void)
{
    static const uint64_t way[] = { 0x01c4, 0x10c4 };   /* taken, not taken */
    const uint64_t n = 2000000;
    g_autoptr(PmuScript) s = pmu_script_new();
    PmuMachine machine;
    unsigned count, first;

    setup(s, true);
    for (int i = 0; i < ARRAY_SIZE(way); i++) {
        pmu_wrmsr(s, MSR_EVTSEL(i), way[i] | EVTSEL_OS | EVTSEL_EN);
    }
    pmu_op(s, OP_START_CPU, 0, 1, 0);
    pmu_op(s, OP_RUN, BLOCK_NOT_TAKEN, ENABLE_COUNTS | ENABLE_TIMING, n);
    first = pmu_rdpmc(s, 0);
    pmu_rdpmc(s, 1);
    count = pmu_op(s, OP_PEEK32, 0, PAYLOAD_SMI_COUNT, 0);
    s->cpu = 1;
    for (int i = 0; i < 1000; i++) {
        pmu_poke32(s, APIC_ICR_HIGH, 0);
        pmu_poke32(s, APIC_ICR_LOW, LVT_SMI);
        pmu_op(s, OP_RUN, BLOCK_PAUSE, 0, 1000);
    }
    s->cpu = 0;
    pmu_start(&machine, s, PMU_CPU_METRICS "-smp 2");
    pmu_wait_done(&machine, 2);
    pmu_read_results(&machine, s, 1);
    pmu_stop(&machine);
    g_test_message("%" PRIu64 " SMIs", pmu_value(s, count));
    g_assert_cmpuint(pmu_value(s, count), >, 10);
    pmu_expect(pmu_register(s, first), n - 1, "branches that were taken");
    pmu_expect(pmu_register(s, first + 1), n + 1,
               "branches that were not taken");
}

/* The model looks up a page after the access; the guest must not see that. */
static void test_accessed(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned pte;

    setup(s, true);
    pmu_op(s, OP_RUN, BLOCK_ACCESSED, ENABLE_COUNTS | ENABLE_TIMING, 0);
    pte = pmu_op(s, OP_PEEK64, 0, PAYLOAD_PAGED_PTE, 0);
    pmu_run(s, PMU_CPU_METRICS);
    pmu_expect(pmu_value(s, pte) & 0x20, 0,
               "the Accessed bit that was cleared");
}

/*
 * Turning paging off invalidates translations (SDM vol. 3A, 4.10.4.1).  Turning
 * it on does so here, too: the model's TLBs also hold pages without paging.
 */
static void test_paging_off(void)
{
    static const unsigned block[] = { BLOCK_EMPTY, BLOCK_PAGING_OFF };
    uint64_t flushes[ARRAY_SIZE(block)];

    for (int i = 0; i < ARRAY_SIZE(block); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned counter;

        setup(s, true);
        pmu_wrmsr(s, MSR_EVTSEL(0), EVENT_TLB_FLUSHES | EVTSEL_OS | EVTSEL_EN);
        pmu_op(s, OP_RUN, block[i], ENABLE_COUNTS | ENABLE_TIMING, 0);
        counter = pmu_rdpmc(s, 0);
        pmu_run(s, PMU_CPU_METRICS);
        flushes[i] = pmu_register(s, counter);
    }
    /* The payload flushes TLBs at its start, too, but nothing counts then. */
    g_assert_cmpuint(flushes[0], ==, 0);
    g_assert_cmpuint(flushes[1], ==, 2);
}

/* Halted time counts no cycles: 100 ms would be 10^8 cycles and more. */
static void test_halted_cycles(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned first;

    setup(s, true);
    pmu_poke32(s, APIC_TIMER_DIVIDE, 0xb);
    pmu_poke32(s, APIC_LVT_TIMER, VECTOR_TIMER);
    pmu_poke32(s, APIC_TIMER_INITIAL, 100000000);
    pmu_op(s, OP_RUN, BLOCK_HLT, ENABLE_COUNTS | ENABLE_TIMING, 0);
    first = read_counters(s);
    pmu_run(s, PMU_CPU_METRICS);
    expect_slots(s, first, true);
    g_assert_cmpuint(pmu_register(s, first + NUM_COUNTERS + 1), <, 100000);
    g_assert_cmpuint(pmu_register(s, first + NUM_COUNTERS + 2), <, 100000);
}

/* A counter that is limited to one privilege level only counts there. */
static void test_filters(void)
{
    static const uint64_t filter[] = { 0, EVTSEL_OS, EVTSEL_USR,
                                       EVTSEL_OS | EVTSEL_USR };

    for (int timing = 0; timing < 2; timing++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        const uint64_t usr = NOPS + 1 + RUN_CPL3_USR_INSNS;
        const uint64_t os = RUN_CPL3_OS_INSNS;
        const uint64_t expected[] = { 0, os, usr, os + usr };
        unsigned gp, fixed;

        setup(s, timing);
        for (int i = 0; i < 4; i++) {
            pmu_wrmsr(s, MSR_EVTSEL(i),
                      EVENT_INSTRUCTIONS | EVTSEL_EN | filter[i]);
        }
        pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3,
               ENABLE_COUNTS | (timing ? ENABLE_TIMING : 0), 0);
        gp = read_counters(s);
        fixed = gp;
        for (int i = 0; i < 4; i++) {
            pmu_wrmsr(s, MSR_FIXED_CTR(0), 0);
            pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, i | (timing ? 0x3330 : 0));
            pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3,
                   ENABLE_COUNTS | (timing ? ENABLE_TIMING : 0), 0);
            fixed = pmu_rdpmc(s, 0x40000000);
        }
        pmu_run(s, PMU_CPU_METRICS);
        for (int i = 0; i < 4; i++) {
            pmu_expect(pmu_register(s, gp + i), expected[i],
                       "IA32_PMC%d with filter 0x%" PRIx64, i, filter[i]);
            pmu_expect(pmu_register(s, fixed - 4 * (3 - i)), expected[i],
                       "IA32_FIXED_CTR0 with filter %d", i);
        }
    }
}

/* A counter needs both its bit in IA32_PERF_GLOBAL_CTRL and its own EN. */
static void test_disabled(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned first;

    setup(s, false);
    pmu_wrmsr(s, MSR_EVTSEL(0), EVENT_INSTRUCTIONS | EVTSEL_OS);
    pmu_op(s, OP_RUN, BLOCK_NOPS, GLOBAL_GP(0) | GLOBAL_FIXED(1), 0);
    first = read_counters(s);
    pmu_run(s, PMU_CPU_METRICS);
    for (int i = 0; i < NUM_COUNTERS + 4; i++) {
        pmu_expect(pmu_register(s, first + i), 0, "counter %d", i);
    }
}

/*
 * The eight architectural events count.  Those of instructions are exact; the
 * others agree with the fixed counters of the same events.
 */
static void test_architectural_events(void)
{
    static const uint64_t events[] = {
        EVENT_CYCLES, EVENT_INSTRUCTIONS, EVENT_REF_CYCLES, 0x4f2e, 0x412e,
        EVENT_BRANCHES, EVENT_BRANCH_MISSES, EVENT_SLOTS,
    };
    const uint64_t n = 100000;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned gp, fixed;

    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    for (int i = 0; i < 8; i++) {
        pmu_wrmsr(s, MSR_EVTSEL(i),
                  events[i] | EVTSEL_EN | EVTSEL_OS | EVTSEL_USR);
    }
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, 0x3333);
    pmu_op(s, OP_RUN, BLOCK_CHASE, 0xff | ENABLE_COUNTS | ENABLE_TIMING, n);
    gp = s->num_ops[0];
    for (int i = 0; i < 8; i++) {
        pmu_rdpmc(s, i);
    }
    fixed = s->num_ops[0];
    for (int i = 0; i < 4; i++) {
        pmu_rdpmc(s, 0x40000000 + i);
    }
    pmu_run(s, PMU_CPU_METRICS);

    pmu_expect(pmu_register(s, gp + 0), pmu_register(s, fixed + 1), "cycles");
    pmu_expect(pmu_register(s, gp + 1), 6 * n + 4 + RUN_CPL0_INSNS,
               "instructions");
    pmu_expect(pmu_register(s, gp + 5), n + 1 + RUN_CPL0_BRANCHES, "branches");
    pmu_expect(pmu_register(s, gp + 7), pmu_register(s, fixed + 3), "slots");
    pmu_expect(pmu_register(s, fixed + 3), 5 * pmu_register(s, fixed + 1),
               "slots of cycles");
    /* The crystal clock is slower than the core and the TSC. */
    g_assert_cmpuint(pmu_register(s, gp + 2), >, 0);
    g_assert_cmpuint(pmu_register(s, gp + 2), <, pmu_register(s, fixed + 2));
    /*
     * 1 MiB, that is 16384 lines, in strides of 65 lines, does not fit L1D.
     * The first access to each line finds not all of them in L2.
     */
    g_assert_cmpuint(pmu_register(s, gp + 3), >=, 15000);
    g_assert_cmpuint(pmu_register(s, gp + 4), <=, pmu_register(s, gp + 3));
    g_assert_cmpuint(pmu_register(s, gp + 6), <=, pmu_register(s, gp + 5));
}

#define EVENT_COND_TAKEN        0x01c4
#define EVENT_COND_NTAKEN       0x10c4
#define EVENT_COND              (EVENT_COND_TAKEN | EVENT_COND_NTAKEN)

/* Run @block, counting in PMC0 and PMC1.  Returns the index of their reads. */
static unsigned count_events(PmuScript *s, unsigned block, uint64_t arg,
                             uint64_t event0, uint64_t event1)
{
    unsigned first;

    setup(s, false);
    pmu_wrmsr(s, MSR_EVTSEL(0), event0 | EVTSEL_EN | EVTSEL_OS | EVTSEL_USR);
    pmu_wrmsr(s, MSR_EVTSEL(1), event1 | EVTSEL_EN | EVTSEL_OS | EVTSEL_USR);
    pmu_op(s, OP_RUN, block, ENABLE_COUNTS, arg);
    first = s->num_ops[0];
    pmu_rdpmc(s, 0);
    pmu_rdpmc(s, 1);
    return first;
}

/*
 * Check all, taken and not-taken conditional branches of @block, which has
 * @number.
 */
static void check_conditional(unsigned block, uint64_t arg, uint64_t number,
                              const char *args)
{
    g_autofree char *machine = g_strconcat(PMU_CPU_METRICS, args, NULL);
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned all = count_events(s, block, arg, EVENT_COND, EVENT_BRANCHES);
    unsigned ways = count_events(s, block, arg, EVENT_COND_TAKEN,
                                 EVENT_COND_NTAKEN);

    pmu_run(s, machine);
    pmu_expect(pmu_register(s, all), number,
               "conditional branches of block %u, %s", block, args);
    pmu_expect(pmu_register(s, ways) + pmu_register(s, ways + 1), number,
               "those taken or not of block %u, %s", block, args);
}

/* BLOCK_BRANCHES has JZ, JNZ, JRCXZ, and LOOP twice. */
#define BRANCHES_CONDITIONAL    5

/*
 * Translated code counts conditional branches; the model counts which way they
 * go.
 */
static void test_conditional(void)
{
    static const char *const args[] = {
        "", "-accel tcg,one-insn-per-tb=on", "-icount shift=3",
    };
    uint64_t insns, branches, mixed;

    mixed_counts(MIXED, &insns, &branches, &mixed);
    for (int i = 0; i < ARRAY_SIZE(args); i++) {
        check_conditional(BLOCK_MIXED, MIXED, mixed, args[i]);
        check_conditional(BLOCK_MIXED | RUN_CPL3, MIXED, mixed, args[i]);
        check_conditional(BLOCK_BRANCHES, 0, BRANCHES_CONDITIONAL, args[i]);
    }
}

/*
 * More branches than fit between two folds of what translated code counts:
 * X86_PMU_BRANCH_BITS.
 */
static void test_many_branches(void)
{
    const uint64_t n = 600000000;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned counter = count_events(s, BLOCK_LOOP, n, EVENT_COND,
                                    EVENT_BRANCHES);

    pmu_run(s, PMU_CPU_METRICS);
    pmu_expect(pmu_register(s, counter), n, "conditional branches");
    pmu_expect(pmu_register(s, counter + 1), n + 1 + RUN_CPL0_BRANCHES,
               "branches");
}

/* A loop has as many conditional branches as iterations. */
static void test_conditional_loop(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned few = count_events(s, BLOCK_LOOP, 1000, EVENT_COND, EVENT_COND);
    unsigned many = count_events(s, BLOCK_LOOP, 1000000, EVENT_COND,
                                 EVENT_COND);

    pmu_run(s, PMU_CPU_METRICS);
    pmu_expect(pmu_register(s, many) - pmu_register(s, few), 999000,
               "conditional branches of 999000 turns");
}

/*
 * Check @block, in which 2 of 9 instructions may need assists: whether the
 * assists count, and how long they take.
 */
static void check_assists(unsigned block, bool assisted)
{
    static const uint64_t events[] = {
        0x02c1 | EVTSEL_EN | EVTSEL_OS,         /* ASSISTS.FP */
        0x07c1 | EVTSEL_EN | EVTSEL_OS,         /* ASSISTS.ANY */
        0x01c3 | EVTSEL_EN | EVTSEL_OS | EVTSEL_EDGE |
            EVTSEL_CMASK(1),                    /* MACHINE_CLEARS.COUNT */
    };
    /* Three times as long as the model simulates in detail at first. */
    const uint64_t n = 180000;
    const uint64_t assists = assisted ? 2 * n : 0;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned gp;
    uint64_t cycles;

    for (int i = 0; i < ARRAY_SIZE(events); i++) {
        pmu_wrmsr(s, MSR_EVTSEL(i), events[i]);
    }
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, 0x3333);
    pmu_op(s, OP_RUN, block, 0xff | ENABLE_TIMING | GLOBAL_FIXED(0), n);
    gp = s->num_ops[0];
    for (int i = 0; i < ARRAY_SIZE(events); i++) {
        pmu_rdpmc(s, i);
    }
    pmu_rdpmc(s, 0x40000001);
    pmu_run(s, PMU_CPU_METRICS);

    for (int i = 0; i < ARRAY_SIZE(events); i++) {
        pmu_expect(pmu_register(s, gp + i), assists, "event 0x%" PRIx64,
                   events[i] & 0xffff);
    }
    cycles = pmu_register(s, gp + ARRAY_SIZE(events));
    /*
     * An iteration has two assists of about 150 cycles, and no other
     * bottleneck.
     */
    g_assert_cmpuint(cycles, >=, 135 * assists);
    g_assert_cmpuint(cycles, <=, 170 * assists + 9 * n);
}

/* Denormal numbers need assists, unless the guest has set FTZ and DAZ. */
static void test_assists(void)
{
    check_assists(BLOCK_DENORMALS, true);
    check_assists(BLOCK_NO_DENORMALS, false);
}

/* Each line that an iteration of the block asks for misses all caches. */
static void test_flushes(void)
{
    static const struct {
        uint64_t event;
        unsigned times;         /* in each iteration */
    } events[] = {              /* only counters 0 to 3 count these */
        { 0x2824, 2 },          /* L2_RQSTS.SWPF_MISS */
        { 0x2124, 1 },          /* L2_RQSTS.DEMAND_DATA_RD_MISS */
        { 0x2224, 1 },          /* L2_RQSTS.RFO_MISS */
        { 0x0f32, 3 },          /* SW_PREFETCH_ACCESS.ANY */
    };
    /* Three times as long as the model simulates in detail at first. */
    const uint64_t n = 160000;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned gp;

    for (int i = 0; i < ARRAY_SIZE(events); i++) {
        pmu_wrmsr(s, MSR_EVTSEL(i), events[i].event | EVTSEL_EN | EVTSEL_OS);
    }
    /* By then, the script has written its own memory. */
    pmu_op(s, OP_RUN, BLOCK_FLUSHES, 0xff, n);
    gp = s->num_ops[0];
    for (int i = 0; i < ARRAY_SIZE(events); i++) {
        pmu_rdpmc(s, i);
    }
    pmu_run(s, PMU_CPU_METRICS);

    for (int i = 0; i < ARRAY_SIZE(events); i++) {
        uint64_t value = pmu_register(s, gp + i);
        uint64_t least = events[i].times * n;

        /* The code around the block may add some. */
        if (value < least || value > least + 1000) {
            g_test_message("event 0x%" PRIx64 ": expected %" PRIu64
                           " or up to 1000 more, got %" PRIu64,
                           events[i].event, least, value);
            g_test_fail();
        }
    }
}

/*
 * Each opcode at CPL 3, most of which are refused: instructions and branches
 * are the same whether the timing model counts, too, or not.
 */
#define OPCODE_AT       32      /* in the code below */
#define OPCODE_RESUME   64      /* where execution goes on after a fault */
#define OPCODES         256

typedef struct OpcodeCounts {
    uint64_t vector, insns, branches;
} OpcodeCounts;

/* Would @opcode, behind 0FH if @escape, not come back to the code behind it? */
static bool is_stray(bool escape, uint8_t opcode)
{
    /* GS and SS have to stay as they are; the others jump to what they pop. */
    static const uint8_t plain[] = {
        0x0f, 0x17, 0x64, 0x65, 0x8e, 0x9d, 0xca, 0xcb, 0xcd, 0xcf, 0xeb,
    };
    static const uint8_t escaped[] = { 0xa1, 0xa9, 0xb4, 0xb5 };

    return escape ? memchr(escaped, opcode, sizeof(escaped))
                  : memchr(plain, opcode, sizeof(plain));
}

/* Count each opcode with @prefix, which is LOCK or a NOP, on its own. */
static void count_opcodes(uint8_t prefix, bool escape, bool timing,
                          OpcodeCounts counts[OPCODES])
{
    static const uint8_t before[] = {
        0x65, 0x48, 0xc7, 0x04, 0x25, 0x38, 0, 0, 0,    /* movq $AT, %gs:38H */
        OPCODE_RESUME, PAYLOAD_CODE >> 8, 0, 0,
        0x49, 0x89, 0xe7,               /* mov %rsp, %r15 */
        0xb8, 0, 0, 0x60, 0,            /* mov $600000H, %eax */
        0x31, 0xc9, 0x31, 0xd2,         /* xor %ecx, %ecx; xor %edx, %edx */
        0x89, 0xc7, 0x89, 0xc6,         /* mov %eax, %edi; mov %eax, %esi */
        0x90, 0x90, 0x90,
    };
    static const uint8_t resume[] = {
        0x4c, 0x89, 0xfc, 0xfc, 0xc3,   /* mov %r15, %rsp; cld; ret */
    };
    g_autofree uint8_t *nops = g_malloc(OPCODE_RESUME - OPCODE_AT);
    uint64_t enable = GLOBAL_GP(0) | GLOBAL_GP(1) |
                      (timing ? GLOBAL_FIXED(3) : 0);
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned run[OPCODES] = {}, first[OPCODES];

    memset(nops, 0x90, OPCODE_RESUME - OPCODE_AT);
    pmu_poke_code(s, PAYLOAD_CODE, before, sizeof(before));
    pmu_poke_code(s, PAYLOAD_CODE + OPCODE_AT, nops,
                  OPCODE_RESUME - OPCODE_AT);
    pmu_poke_code(s, PAYLOAD_CODE + OPCODE_RESUME, resume, sizeof(resume));
    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_EVTSEL(0), EVENT_INSTRUCTIONS | EVTSEL_USR | EVTSEL_EN);
    pmu_wrmsr(s, MSR_EVTSEL(1), EVENT_BRANCHES | EVTSEL_USR | EVTSEL_EN);
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3));
    for (int i = 0; i < OPCODES; i++) {
        uint64_t code = 0x9090909090900000 | i << 8 | prefix;

        if (is_stray(escape, i)) {
            continue;
        }
        if (escape) {
            code = 0x9090909090000000 | i << 16 | 0x0f00 | prefix;
        }
        /* ModRM, or a displacement, of 0 */
        code &= ~(0xffull << (escape ? 24 : 16));
        pmu_op(s, OP_POKE64, 0, PAYLOAD_CODE + OPCODE_AT, code);
        pmu_wrmsr(s, MSR_PMC(0), 0);
        pmu_wrmsr(s, MSR_PMC(1), 0);
        run[i] = pmu_op(s, OP_RUN, BLOCK_JUMP | RUN_CPL3, enable,
                        PAYLOAD_CODE);
        first[i] = pmu_rdpmc(s, 0);
        pmu_rdpmc(s, 1);
    }
    pmu_run(s, PMU_CPU_METRICS);
    for (int i = 0; i < OPCODES; i++) {
        counts[i] = !run[i] ? (OpcodeCounts) {} : (OpcodeCounts) {
            s->result[0][run[i]].vector, pmu_register(s, first[i]),
            pmu_register(s, first[i] + 1),
        };
    }
}

static void test_opcodes(void)
{
    static const uint8_t prefixes[] = { 0x90, 0xf0 };
    OpcodeCounts plain[OPCODES], timed[OPCODES];

    for (int i = 0; i < 2 * ARRAY_SIZE(prefixes); i++) {
        uint8_t prefix = prefixes[i / 2];

        count_opcodes(prefix, i % 2, false, plain);
        count_opcodes(prefix, i % 2, true, timed);
        for (int opcode = 0; opcode < OPCODES; opcode++) {
            const OpcodeCounts *is = &plain[opcode], *too = &timed[opcode];

            if (memcmp(is, too, sizeof(*is))) {
                g_test_message("%02x%s %02x: vector %" PRIu64 " and %" PRIu64
                               ", instructions %" PRIu64 " and %" PRIu64
                               ", branches %" PRIu64 " and %" PRIu64, prefix,
                               i % 2 ? " 0f" : "", opcode, is->vector,
                               too->vector, is->insns, too->insns,
                               is->branches, too->branches);
                g_test_fail();
            }
        }
    }
}

/*
 * A block that the PMU leaves at its entry has not run: plugins count it when
 * it does.  hotblocks prints its address, translations, instructions and runs.
 */
#define PLUGIN_LOOPS    20000000

static void test_plugin(void)
{
    static const uint8_t loop[] = {
        0xb9, 0x00, 0x2d, 0x31, 0x01,   /* mov $PLUGIN_LOOPS, %ecx */
        0xff, 0xc9,                     /* 1: dec %ecx */
        0x75, 0xfc,                     /* jnz 1b */
        0xc3,
    };
    g_autofree char *bin = g_path_get_dirname(getenv("QTEST_QEMU_BINARY"));
    g_autofree char *plugin = g_build_filename(bin, "contrib", "plugins",
                                               "libhotblocks.so", NULL);
    g_autofree char *expected =
        g_strdup_printf("0x%016x, ", PAYLOAD_CODE + 5);
    g_autofree char *args = NULL, *file = NULL, *text = NULL;
    g_autoptr(PmuScript) s = NULL;
    g_autoptr(GError) err = NULL;
    unsigned translations, insns;
    uint64_t runs;
    char *line;
    int fd;

    if (!g_file_test(plugin, G_FILE_TEST_EXISTS)) {
        g_test_skip("contrib/plugins/libhotblocks.so is not built");
        return;
    }
    fd = g_file_open_tmp("qtest-pmu-plugin-XXXXXX", &file, &err);
    g_assert_no_error(err);
    close(fd);
    args = g_strdup_printf(PMU_CPU_METRICS "-plugin %s -d plugin -D %s",
                           plugin, file);
    s = pmu_script_new();
    pmu_poke_code(s, PAYLOAD_CODE, loop, sizeof(loop));
    pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3));
    pmu_op(s, OP_RUN, BLOCK_JUMP | RUN_CPL3, GLOBAL_FIXED(3), PAYLOAD_CODE);
    pmu_run(s, args);
    g_file_get_contents(file, &text, NULL, &err);
    g_assert_no_error(err);
    unlink(file);
    line = strstr(text, expected);
    g_assert_nonnull(line);
    g_assert_cmpint(sscanf(line + strlen(expected), "%u, %u, %" SCNu64,
                           &translations, &insns, &runs), ==, 3);
    /* The first time is a part of the block that begins with MOV. */
    pmu_expect(runs, PLUGIN_LOOPS - 1, "runs of the loop");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    for (int i = 0; i < ARRAY_SIZE(cases); i++) {
        g_autofree char *path = g_strdup_printf("pmu/count/%s",
                                                cases[i].name);

        qtest_add_data_func(path, &cases[i], test_case);
    }
    qtest_add_func("pmu/count/opcodes", test_opcodes);
    qtest_add_func("pmu/count/plugin", test_plugin);
    qtest_add_func("pmu/count/mixed", test_mixed);
    qtest_add_func("pmu/count/mixed-cuts", test_mixed_cuts);
    qtest_add_func("pmu/count/mixed-icount", test_mixed_icount);
    qtest_add_func("pmu/count/mixed-forward", test_mixed_forward);
    qtest_add_func("pmu/count/mixed-forward-cuts", test_mixed_forward_cuts);
    qtest_add_func("pmu/count/mixed-forward-icount",
                   test_mixed_forward_icount);
    qtest_add_func("pmu/count/single-step-oracle", test_single_step_oracle);
    qtest_add_func("pmu/count/rdpmc-distance", test_rdpmc_distance);
    qtest_add_func("pmu/count/evtsel-enable", test_evtsel_enable);
    qtest_add_func("pmu/count/timer-interrupts", test_timer_interrupts);
    qtest_add_func("pmu/count/halted-cycles", test_halted_cycles);
    qtest_add_func("pmu/count/interrupts", test_interrupts);
    qtest_add_func("pmu/count/exceptions", test_exceptions);
    qtest_add_func("pmu/count/exception-overflow", test_exception_overflow);
    qtest_add_func("pmu/count/smi-behind-branch", test_smi_behind_branch);
    qtest_add_func("pmu/count/accessed", test_accessed);
    qtest_add_func("pmu/count/paging-off", test_paging_off);
    qtest_add_func("pmu/count/filters", test_filters);
    qtest_add_func("pmu/count/disabled", test_disabled);
    qtest_add_func("pmu/count/architectural-events",
                   test_architectural_events);
    qtest_add_func("pmu/count/conditional", test_conditional);
    qtest_add_func("pmu/count/many-branches", test_many_branches);
    qtest_add_func("pmu/count/conditional-loop", test_conditional_loop);
    qtest_add_func("pmu/count/assists", test_assists);
    qtest_add_func("pmu/count/flushes", test_flushes);
    return g_test_run();
}
