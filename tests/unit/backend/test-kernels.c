/*
 * Kernels whose TopDown breakdown or speed was measured, or follows from what
 * was measured: the model against machines.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sources of the expected figures, as cited below:
 *   IL64         InstLatx64: Xeon Gold 6330 (Ice Lake-SP), Golden Cove
 *   pmu-tools    breakdowns in issues of github.com/andikleen/pmu-tools, by
 *                number: Ice Lake-SP, Tiger Lake, Sapphire Rapids machines
 *   TMA          constants of Intel's metrics, github.com/intel/perfmon
 *   C&C          chipsandcheese.com, by title
 *   arithmetic   on the width and on latencies above
 */

#include <glib.h>
#include <string.h>

#include "random.h"
#include "tcg/pmu/decode/block-builder.h"
#include "tcg/pmu/decode/decoder.h"
#include "tcg/pmu/sampling/timing.h"

/* One instruction. */
typedef struct Code {
    const char *bytes;
    unsigned length;
} Code;

#define I(s)    { s, sizeof(s) - 1 }

#define NOP             I("\x90")                       /* nop */
#define DEC_RCX         I("\x48\xff\xc9")               /* dec rcx */
#define JNZ             I("\x0f\x85\x00\x00\x00\x00")   /* jnz */
#define TEST_RAX        I("\x48\x85\xc0")               /* test rax, rax */
#define LOAD_RAX_RAX    I("\x48\x8b\x00")               /* mov rax, [rax] */
#define LOAD_RAX_RBX    I("\x48\x8b\x03")               /* mov rax, [rbx] */

/* Linear addresses of code and data. */
#define CODE_BASE       0x400000ull
#define DATA_BASE       0x100000000ull

/* Pages from SPREAD_BASE on have physical addresses SPREAD bytes apart. */
#define SPREAD_BASE     0x80000000ull
#define SPREAD_PAGES    4096
#define SPREAD          (64 * 1024)

static PmuMapping page_of(void *opaque, uint64_t page)
{
    uint64_t first = SPREAD_BASE >> PMU_PAGE_SHIFT, phys = page;

    if (page >= first && page - first < SPREAD_PAGES) {
        phys = ((1ull << 40) + (page - first) * SPREAD) >> PMU_PAGE_SHIFT;
    }
    return (PmuMapping) { phys };
}

static uint64_t phys_of(uint64_t linear)
{
    return page_of(NULL, linear >> PMU_PAGE_SHIFT).page << PMU_PAGE_SHIFT |
           (linear & 0xfff);
}

/* One block of a kernel, which begins at @pc. */
typedef struct Part {
    PmuBlockBuilder *builder;
    const PmuBlock *block;      /* that of @builder */
    uint64_t pc;
} Part;

/* A core and the kernel that it runs. */
typedef struct Rig {
    const PmuUarch *uarch;
    PmuDecoder *decoder;
    PmuLedger ledger;
    PmuTiming *timing;
    GArray *parts;
    uint64_t pc;                /* where the next instruction goes */
    Random random;
    const uint64_t *addresses;  /* of the data, in turn; NULL: always one */
    unsigned num_addresses;
    uint64_t accesses;
    bool at_random;             /* the first branch is random */
    PmuLedgerSnapshot start;    /* where measuring began */
    uint64_t clock;
} Rig;

/* Make a core like @core, but with the parameters of @uarch. */
static Rig *rig_new_like(PmuCore core, const PmuUarch *uarch)
{
    Rig *rig = g_new0(Rig, 1);

    rig->uarch = uarch;
    rig->decoder = pmu_decoder_new(core, uarch);
    g_assert_nonnull(rig->decoder);
    rig->timing = pmu_timing_new(rig->uarch, &rig->ledger, NULL, page_of,
                                 NULL);
    g_assert_nonnull(rig->timing);
    /* The test is of the model, not of how well sampling estimates it. */
    pmu_timing_set_sampling(rig->timing, NULL);
    rig->parts = g_array_new(FALSE, FALSE, sizeof(Part));
    rig->pc = CODE_BASE;
    rig->random = random_from_seed();
    return rig;
}

static Rig *rig_new(PmuCore core)
{
    return rig_new_like(core, pmu_uarch(core));
}

static void rig_free(Rig *rig)
{
    for (unsigned i = 0; i < rig->parts->len; i++) {
        g_free(g_array_index(rig->parts, Part, i).builder);
    }
    g_array_free(rig->parts, TRUE);
    pmu_timing_free(rig->timing);
    pmu_decoder_free(rig->decoder);
    g_free(rig);
}

static const Part *rig_new_part(Rig *rig)
{
    PmuBlockBuilder *builder = g_new0(PmuBlockBuilder, 1);
    Part part = { .builder = builder, .block = &builder->block,
                  .pc = rig->pc };

    pmu_block_begin(builder, PMU_LEVEL_USR, phys_of(rig->pc));
    builder->block.phys_next = phys_of((rig->pc | 0xfff) + 1);
    g_array_append_val(rig->parts, part);
    return &g_array_index(rig->parts, Part, rig->parts->len - 1);
}

/* Returns the block of the next instruction.  Blocks end as TCG's do. */
static const Part *rig_part(Rig *rig)
{
    const Part *last = rig->parts->len == 0 ? NULL :
                       &g_array_index(rig->parts, Part, rig->parts->len - 1);

    if (last && last->pc + last->block->length == rig->pc &&
        last->block->branch == PMU_BRANCH_NONE &&
        !pmu_block_full(last->block) &&
        last->pc >> PMU_PAGE_SHIFT == rig->pc >> PMU_PAGE_SHIFT) {
        return last;
    }
    return rig_new_part(rig);
}

/* Append @code. */
static void rig_add(Rig *rig, Code code)
{
    const uint8_t *bytes = (const uint8_t *)code.bytes;
    const Part *part = rig_part(rig);
    uint8_t next = part->block->num_accesses;
    uint8_t ea = PMU_NO_ACCESS, stack = PMU_NO_ACCESS;
    PmuInsn insn;

    pmu_decode_bytes(rig->decoder, bytes, code.length, &insn);
    if (insn.flags & (PMU_INSN_LOAD | PMU_INSN_STORE)) {
        ea = next++;
    }
    if (insn.flags & (PMU_INSN_STACK_LOAD | PMU_INSN_STACK_STORE)) {
        stack = next++;
    }
    pmu_block_add_bytes(part->builder, rig->decoder, bytes, code.length,
                  rig->pc & 0xfff, ea, stack);
    rig->pc += code.length;
}

/* Append @code @n times. */
static void rig_add_times(Rig *rig, Code code, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        rig_add(rig, code);
    }
}

/* Append the end of the loop: one micro-op, as DEC and JNZ fuse. */
static void rig_close_loop(Rig *rig)
{
    rig_add(rig, (Code)DEC_RCX);
    rig_add(rig, (Code)JNZ);
}

static uint64_t rig_address(Rig *rig)
{
    return rig->addresses
           ? rig->addresses[rig->accesses++ % rig->num_addresses] : DATA_BASE;
}

/* Run the whole kernel @times times. */
static void rig_run(Rig *rig, unsigned times)
{
    uint64_t addr[PMU_BLOCK_ACCESSES];
    PmuExecution dynamic = { .addr = addr, .iterations = 1 };

    for (unsigned i = 0; i < times * rig->parts->len; i++) {
        unsigned number = i % rig->parts->len;
        const Part *part = &g_array_index(rig->parts, Part, number);

        for (unsigned j = 0; j < part->block->num_accesses; j++) {
            addr[j] = rig_address(rig);
        }
        dynamic.pc = part->pc;
        dynamic.taken = !(rig->at_random && number == 0) ||
                        (random_next(&rig->random) & 1);
        pmu_timing_run(rig->timing, part->block, 0, part->block->num_insns,
                       &dynamic);
    }
}

static double count(const Rig *rig, PmuLedgerItem item)
{
    PmuLedgerSnapshot now;

    pmu_ledger_snapshot(&rig->ledger, &now);
    return now.item[PMU_LEVEL_USR][item] -
           rig->start.item[PMU_LEVEL_USR][item];
}

static void assert_conserved(const Rig *rig)
{
    double sum = 0;

    for (unsigned i = 0; i < PMU_SLOT_NR; i++) {
        sum += count(rig, (PmuLedgerItem)i);
    }
    g_assert_cmpfloat(sum, ==, count(rig, PMU_ITEM_SLOTS));
    g_assert_cmpfloat(sum, ==,
                      rig->uarch->width * count(rig, PMU_ITEM_CYCLES));
}

/*
 * Run the kernel @times to warm up and @times to measure.  Returns the cycles
 * of one run.
 */
static double rig_measure(Rig *rig, unsigned times)
{
    rig_run(rig, times);
    pmu_timing_flush(rig->timing);
    pmu_ledger_snapshot(&rig->ledger, &rig->start);
    rig->clock = pmu_timing_clock(rig->timing);
    rig_run(rig, times);
    pmu_timing_flush(rig->timing);
    assert_conserved(rig);
    return (double)(pmu_timing_clock(rig->timing) - rig->clock) /
           rig->uarch->width / times;
}

/* Returns the share of slots of a level-1 class, whose first leaf is @leaf. */
static double share(const Rig *rig, PmuSlotClass leaf)
{
    return (count(rig, (PmuLedgerItem)leaf) +
            count(rig, (PmuLedgerItem)leaf + 1)) / count(rig, PMU_ITEM_SLOTS);
}

#define RETIRING(rig)   share(rig, PMU_SLOT_LIGHT_OPS)
#define BAD_SPEC(rig)   share(rig, PMU_SLOT_BR_MISPREDICT)
#define FRONTEND(rig)   share(rig, PMU_SLOT_FETCH_LATENCY)
#define BACKEND(rig)    share(rig, PMU_SLOT_MEMORY_BOUND)

static void assert_near(const Rig *rig, const char *what, double value,
                        double low, double high)
{
    if (!(value >= low && value <= high)) {
        g_test_message("%s, %s: expected %.4f to %.4f, got %.4f",
                       rig->uarch->name, what, low, high, value);
        g_test_fail();
    }
}

/*
 * 160 dependent VMULPD ymm are 94.5 % backend bound on Ice Lake-SP (pmu-tools
 * #421).  161 slots in 640 cycles, 4 for each VMULPD (IL64), are 5.0 %
 * retiring.
 */
static void test_vmulpd(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    rig_add_times(rig, (Code)I("\xc5\xfd\x59\xc0"), 160);
    rig_close_loop(rig);
    assert_near(rig, "cycles", rig_measure(rig, 100), 639, 642);
    assert_near(rig, "retiring", RETIRING(rig), 0.045, 0.055);
    assert_near(rig, "backend", BACKEND(rig), 0.94, 1);
    rig_free(rig);
}

/*
 * A loop of a PAUSE is 87.8 % backend and 3.2 % frontend bound on Ice Lake
 * (pmu-tools #376).
 */
static void test_pause(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    rig_add(rig, (Code)I("\xf3\x90"));
    rig_close_loop(rig);
    assert_near(rig, "cycles", rig_measure(rig, 2000), 33, 37);
    assert_near(rig, "backend", BACKEND(rig), 0.85, 1);
    assert_near(rig, "frontend", FRONTEND(rig), 0, 0.04);
    rig_free(rig);
}

/*
 * As many NOPs as the core is wide retire in each cycle: 10 cycles.  What it
 * takes beyond that is the loop.  They are of two bytes, as one window of the
 * DSB, from which the queue has them, cannot hold that many of one byte.
 */
static void test_nops(void)
{
    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        Rig *rig = rig_new(core);

        rig_add_times(rig, (Code)I("\x66\x90"), 10 * rig->uarch->width - 1);
        rig_close_loop(rig);
        assert_near(rig, "cycles", rig_measure(rig, 2000), 10, 10.8);
        assert_near(rig, "retiring", RETIRING(rig), 0.93, 1);
        rig_free(rig);
    }
}

/*
 * A chain of IMULs takes 3 cycles each (IL64).  A turn of the loop is two
 * slots.
 */
static void test_imul(void)
{
    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        Rig *rig = rig_new(core);

        rig_add(rig, (Code)I("\x48\x0f\xaf\xc0"));
        rig_close_loop(rig);
        assert_near(rig, "cycles", rig_measure(rig, 5000), 3, 3.03);
        assert_near(rig, "retiring", RETIRING(rig),
                    2.0 / 3 / rig->uarch->width - 0.005,
                    2.0 / 3 / rig->uarch->width + 0.005);
        rig_free(rig);
    }
}

/*
 * Two stores to one line and the end of the loop go in each cycle: three slots
 * of five, arithmetic.
 */
static void test_two_stores(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    rig_add_times(rig, (Code)I("\x48\x89\x03"), 2);
    rig_close_loop(rig);
    assert_near(rig, "cycles", rig_measure(rig, 5000), 1, 1.05);
    assert_near(rig, "retiring", RETIRING(rig), 0.57, 0.61);
    rig_free(rig);
}

/*
 * Two stores leave the store buffer in a cycle if they are to one line,
 * otherwise one (Downs, "Performance Speed Limits").  Eight stores take 4
 * cycles to one line, and 8 cycles to two lines in turn.
 */
static void test_store_lines(void)
{
    static const uint64_t one[] = { DATA_BASE };
    static const uint64_t two[] = { DATA_BASE, DATA_BASE + 64 };

    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        for (unsigned lines = 1; lines <= 2; lines++) {
            Rig *rig = rig_new(core);

            rig->addresses = lines == 1 ? one : two;
            rig->num_addresses = lines;
            rig_add_times(rig, (Code)I("\x48\x89\x03"), 8);
            rig_close_loop(rig);
            assert_near(rig, lines == 1 ? "one line" : "two lines",
                        rig_measure(rig, 5000), 4 * lines, 4.1 * lines);
            rig_free(rig);
        }
    }
}

/*
 * A few instructions in turn, as often as fit into a loop of a hundred cycles.
 * InstLatx64 measured the cycles; the model may be off by 0.1 or by 5 %,
 * whichever is more.
 */
typedef struct Measured {
    const char *what;
    Code code[2];
    unsigned times;             /* how often code[0] comes in a row */
    uint64_t address[2];        /* of the data in turn */
    double snc, glc;            /* cycles of both codes; 0: not measured */
} Measured;

static void check_measured(const Measured *m, PmuCore core, double cycles)
{
    Rig *rig = rig_new(core);
    unsigned n = 100 / cycles / m->times;
    double low = MIN(cycles - 0.1, 0.95 * cycles);
    double high = MAX(cycles + 0.1, 1.05 * cycles);

    rig->addresses = m->address;
    rig->num_addresses = 2;
    n = MAX(n, 2) & ~1u;
    for (unsigned i = 0; i < n; i++) {
        rig_add_times(rig, m->code[0], m->times);
        if (m->code[1].length) {
            rig_add(rig, m->code[1]);
        }
    }
    rig_close_loop(rig);
    assert_near(rig, m->what, rig_measure(rig, 500) / n, low * m->times,
                high * m->times);
    rig_free(rig);
}

static void check_all_measured(const Measured *m, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (m[i].snc) {
            check_measured(&m[i], PMU_CORE_ICELAKE, m[i].snc);
        }
        if (m[i].glc) {
            check_measured(&m[i], PMU_CORE_SAPPHIRERAPIDS, m[i].glc);
        }
    }
}

/*
 * Chains between kinds of vector units: IL64.  The tenths are means over the
 * ports that the instructions can take.
 */
static void test_bypasses(void)
{
    static const Measured table[] = {
        { "addpd", { I("\x66\x0f\x58\xc0") }, 1, {}, 4, 2 },
        { "mulpd, addpd", { I("\x66\x0f\x59\xc0"), I("\x66\x0f\x58\xc0") },
          1, {}, 8, 6.97 },
        { "paddq, addpd", { I("\x66\x0f\xd4\xc0"), I("\x66\x0f\x58\xc0") },
          1, {}, 6.1, 4 },
        { "movapd, paddq", { I("\x66\x0f\x28\xc0"),
                             I("\x66\x0f\xd4\xc0") }, 1, {}, 2, 1.99 },
        { "vfmadd, vmulpd", { I("\xc4\xe2\xf9\xb8\xc0"),
                              I("\xc5\xf9\x59\xc0") }, 1, {}, 0, 7.97 },
    };

    check_all_measured(table, G_N_ELEMENTS(table));
}

/*
 * A store and a load of the same data: the latency of the store buffer (IL64).
 */
static void test_forwarding(void)
{
    static const Measured table[] = {
        { "movsd", { I("\xf2\x0f\x11\x03"), I("\xf2\x0f\x10\x03") },
          1, { DATA_BASE, DATA_BASE }, 5, 7.2 },
        { "movaps", { I("\x0f\x29\x03"), I("\x0f\x28\x03") },
          1, { DATA_BASE, DATA_BASE }, 5, 7.2 },
        { "add [m], rax", { I("\x48\x01\x03") },
          1, { DATA_BASE, DATA_BASE }, 7.2, 7.2 },
    };

    check_all_measured(table, G_N_ELEMENTS(table));
}

/*
 * The same with memory renaming, which Golden Cove does: for general registers
 * of 32 and 64 bits, without an index and within a line (IL64).
 */
static void test_memory_renaming(void)
{
    static const Measured table[] = {
        { "push rax, pop rax", { I("\x50"), I("\x58") },
          1, { DATA_BASE, DATA_BASE }, 0, 0.51 },
        { "push 1, pop rax", { I("\x6a\x01"), I("\x58") },
          1, { DATA_BASE, DATA_BASE }, 0, 0.51 },
        { "mov eax, [m]; mov [m], eax", { I("\x8b\x03"), I("\x89\x03") },
          1, { DATA_BASE, DATA_BASE }, 0, 0.576 },
        { "add qword [m], 1", { I("\x48\x83\x03\x01") },
          1, { DATA_BASE, DATA_BASE }, 7.2, 1 },
        { "add qword [m], 1000", { I("\x48\x81\x03\xe8\x03\x00\x00") },
          1, { DATA_BASE, DATA_BASE }, 7.2, 1 },
        { "add [m], rax", { I("\x48\x01\x03") },
          1, { DATA_BASE, DATA_BASE }, 0, 7.29 },
        { "push [m], pop [m]", { I("\xff\x33"), I("\x8f\x03") },
          1, { DATA_BASE, DATA_BASE }, 0, 10.09 },
    };
    /*
     * These go through the store buffer, as on other cores: 5 cycles or more.
     */
    static const struct {
        const char *what;
        Code code[2];
        uint64_t address;
    } buffered[] = {
        { "16 bits", { I("\x66\x8b\x03"), I("\x66\x89\x03") }, DATA_BASE },
        { "MMX", { I("\x0f\x6e\x03"), I("\x0f\x7e\x03") }, DATA_BASE },
        { "an index", { I("\x8b\x04\x0b"), I("\x89\x04\x0b") }, DATA_BASE },
        { "two lines", { I("\x8b\x03"), I("\x89\x03") }, DATA_BASE + 62 },
    };

    check_all_measured(table, G_N_ELEMENTS(table));
    for (unsigned i = 0; i < G_N_ELEMENTS(buffered); i++) {
        Rig *rig = rig_new(PMU_CORE_SAPPHIRERAPIDS);

        rig->addresses = &buffered[i].address;
        rig->num_addresses = 1;
        for (unsigned n = 0; n < 10; n++) {
            rig_add(rig, buffered[i].code[0]);
            rig_add(rig, buffered[i].code[1]);
        }
        rig_close_loop(rig);
        assert_near(rig, buffered[i].what, rig_measure(rig, 500) / 10, 5, 9);
        rig_free(rig);
    }
}

/*
 * An access of two lines takes two turns of its port.  Not all stores pair, so
 * some take a cycle each.  IL64.
 */
static void test_turns(void)
{
    static const Measured table[] = {
        { "movups xmm0, [m]", { I("\x0f\x10\x03") },
          1, { DATA_BASE, DATA_BASE + 64 }, 0.5, 0.332 },
        { "... half of them across lines", { I("\x0f\x10\x03") },
          1, { DATA_BASE, DATA_BASE + 56 }, 0.75, 0.5 },
        { "vmovups [m], ymm0, half of them across lines",
          { I("\xc5\xfc\x11\x03") },
          1, { DATA_BASE, DATA_BASE + 40 }, 0, 1.494 },
        { "vmovups [m], ymm0", { I("\xc5\xfc\x11\x03") },
          1, { DATA_BASE, DATA_BASE }, 1, 0.498 },
        { "movups [m], xmm0", { I("\x0f\x11\x03") },
          1, { DATA_BASE, DATA_BASE }, 0.5, 0.498 },
        { "movntps [m], xmm0", { I("\x0f\x2b\x03") },
          1, { DATA_BASE, DATA_BASE + 64 }, 3.5, 0 },
        { "movntps [m], xmm0", { I("\x0f\x2b\x03") },
          1, { DATA_BASE, DATA_BASE }, 0, 0.496 },
    };

    check_all_measured(table, G_N_ELEMENTS(table));
}

/*
 * Renaming does FXCH, so FADDs work on one register of the stack after the
 * other, and do not wait for each other.  XCHG waits for each of its registers
 * separately.
 */
static void test_exchanges(void)
{
    static const Measured fadd = {
        "fadd st, st(1); fxch st(1)", { I("\xd8\xc1"), I("\xd9\xc9") },
        1, {}, 3, 0,
    };
    static const Measured xchg = {
        "xchg rax, rbx", { I("\x48\x93") }, 1, {}, 1.5, 0,
    };
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    /* Both depend on both of their registers: renaming gains nothing (IL64). */
    check_all_measured(&fadd, 1);
    check_all_measured(&xchg, 1);
    /* With six registers in turn: IL64, 1 cycle for both. */
    for (unsigned i = 1; i <= 6; i++) {
        const char *name[] = {
            "\xd8\xc1\xd9\xc9", "\xd8\xc2\xd9\xca", "\xd8\xc3\xd9\xcb",
            "\xd8\xc4\xd9\xcc", "\xd8\xc5\xd9\xcd", "\xd8\xc6\xd9\xce",
        };

        rig_add(rig, (Code) { name[i - 1], 2 });
        rig_add(rig, (Code) { name[i - 1] + 2, 2 });
    }
    rig_close_loop(rig);
    assert_near(rig, "six registers", rig_measure(rig, 500), 5.9, 6.6);
    rig_free(rig);
}

/*
 * The stack engine keeps the offset that PUSH and POP have added to RSP.  For
 * an instruction that reads RSP it first issues a micro-op that adds the
 * offset, one cycle (Intel's optimization manual, "Stack Pointer Tracker").  So
 * push rax; add rsp, 8 is a chain of two cycles.  (Golden Cove may do such
 * additions without executing them.)
 */
static void test_stack_engine(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    rig_add(rig, (Code)I("\x50"));
    rig_add(rig, (Code)I("\x48\x83\xc4\x08"));
    rig_close_loop(rig);
    assert_near(rig, "cycles", rig_measure(rig, 5000), 1.99, 2.1);
    rig_free(rig);
}

/* vfmadd231pd ymm0, ymm1, [rbx]: each turn adds to the sum, 4 cycles (IL64). */
static void test_dot_product(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    rig_add(rig, (Code)I("\xc5\xfd\x10\x0b"));  /* vmovupd ymm1, [rbx] */
    rig_add(rig, (Code)I("\xc4\xe2\xf5\xb8\x03"));
    rig_add(rig, (Code)I("\x48\x83\xc3\x20"));  /* add rbx, 32 */
    rig_close_loop(rig);
    assert_near(rig, "cycles", rig_measure(rig, 5000), 4, 4.05);
    rig_free(rig);
}

/*
 * A few instructions in a loop, whose cycles (to 0.05) follow from those of
 * each.
 */
typedef struct Loop {
    const char *what;
    double snc, glc;
    Code code[8];
} Loop;

static void check_loops(const Loop *loops, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
            Rig *rig = rig_new(core);
            double cycles = core == PMU_CORE_ICELAKE ? loops[i].snc
                                                     : loops[i].glc;

            for (unsigned j = 0; j < 8 && loops[i].code[j].length; j++) {
                rig_add(rig, loops[i].code[j]);
            }
            rig_close_loop(rig);
            assert_near(rig, loops[i].what, rig_measure(rig, 2000),
                        cycles - 0.05, cycles + 0.05);
            rig_free(rig);
        }
    }
}

/*
 * The model chooses a port for a micro-op before it knows when its source is
 * ready.  So of three chains of additions on four ports, some wait for a port
 * that another one was given.  With the best choice an addition of each would
 * take one cycle; uiCA, whose rule for the choice was measured, has 1.11.
 */
#define CHAIN_LENGTH 20

static void test_alu_chains(void)
{
    static const Code add[] = {
        I("\x48\x83\xc0\x01"), I("\x48\x83\xc3\x01"),
        I("\x48\x83\xc2\x01"),
    };
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    for (unsigned i = 0; i < CHAIN_LENGTH; i++) {
        for (unsigned j = 0; j < G_N_ELEMENTS(add); j++) {
            rig_add(rig, add[j]);
        }
    }
    rig_close_loop(rig);
    assert_near(rig, "three chains", rig_measure(rig, 2000) / CHAIN_LENGTH,
                1.01, 1.12);
    rig_free(rig);
}

/*
 * Divisions begin as their sources become ready.  Each takes the divider as
 * long as IL64 has it: SQRTSS and DIVSS 3, VDIVSD 4, FDIV 4.5, IDIV of 64 bits
 * 10 cycles.  If all become ready at once, they take turns.
 */
static void test_dividers(void)
{
    static const Loop loops[] = {
        /* Neither waits for its counterpart of the turn before. */
        { "the root's reciprocal", 6, 6, {
            I("\xf3\x0f\x10\x03"),             /* movss xmm0, [rbx] */
            I("\xf3\x0f\x51\xc0"),             /* sqrtss xmm0, xmm0 */
            I("\xf3\x0f\x10\x0b"),             /* movss xmm1, [rbx] */
            I("\xf3\x0f\x5e\xc8"),             /* divss xmm1, xmm0 */
        } },
        { "twice a quotient", 8, 8, {
            I("\xc5\xf3\x5e\xc2"),             /* vdivsd xmm0, xmm1, xmm2 */
            I("\xc5\xd3\x5e\xe0"),             /* vdivsd xmm4, xmm5, xmm0 */
        } },
        { "four x87 quotients", 18, 18, {
            I("\xdc\xf9"),                     /* fdiv st(1), st */
            I("\xdc\xfa"),                     /* fdiv st(2), st */
            I("\xdc\xfb"),                     /* fdiv st(3), st */
            I("\xdc\xfc"),                     /* fdiv st(4), st */
        } },
        { "twice a remainder", 20, 20, {
            I("\x48\x89\xf8"),                 /* mov rax, rdi */
            I("\x48\x99"),                     /* cqo */
            I("\x48\xf7\xfe"),                 /* idiv rsi */
            I("\x48\x89\xd0"),                 /* mov rax, rdx */
            I("\x48\x99"),                     /* cqo */
            I("\x48\xf7\xfe"),                 /* idiv rsi */
        } },
        /* 14, three times 4, 14, and 4 or 3 for the sum: no cycle less. */
        { "four that wait for one", 44, 43, {
            I("\xc5\xfb\x5e\xc2"),             /* vdivsd xmm0, xmm0, xmm2 */
            I("\xc5\xf3\x5e\xe0"),             /* vdivsd xmm4, xmm1, xmm0 */
            I("\xc5\xf3\x5e\xe8"),             /* vdivsd xmm5, xmm1, xmm0 */
            I("\xc5\xf3\x5e\xf0"),             /* vdivsd xmm6, xmm1, xmm0 */
            I("\xc5\xf3\x5e\xf8"),             /* vdivsd xmm7, xmm1, xmm0 */
            I("\xc5\xc3\x58\xc0"),             /* vaddsd xmm0, xmm7, xmm0 */
        } },
    };

    check_loops(loops, G_N_ELEMENTS(loops));
}

/* DPPS takes 4 cycles as well (IL64), but not of the divider. */
static void test_dot_products(void)
{
    static const Code dpps = I("\x66\x0f\x3a\x40\xc1\xff");

    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        Rig *rig = rig_new(core);

        rig_add(rig, dpps);
        rig_close_loop(rig);
        rig_measure(rig, 500);
        assert_near(rig, "divider", count(rig, PMU_ITEM_FP_DIVIDER), 0, 0);
        rig_free(rig);
    }
}

/*
 * INC, DEC and ADOX do not write CF.  So each carry comes a cycle after the one
 * before (IL64: ADC, ADCX, ADOX 1), whatever happens to other flags.
 * Conditions that need CF and ZF take two micro-ops, one after the other (Agner
 * Fog's tables: SETA 2).
 */
static void test_carries(void)
{
    static const Loop loops[] = {
        { "one chain, and the loop's DEC", 8, 8, {
            I("\x49\x83\xd0\x00"),             /* adc r8, 0 */
            I("\x49\x83\xd1\x00"),             /* adc r9, 0 */
            I("\x49\x83\xd2\x00"),             /* adc r10, 0 */
            I("\x49\x83\xd3\x00"),             /* adc r11, 0 */
            I("\x49\x83\xd4\x00"),             /* adc r12, 0 */
            I("\x49\x83\xd5\x00"),             /* adc r13, 0 */
            I("\x49\x83\xd6\x00"),             /* adc r14, 0 */
            I("\x49\x83\xd7\x00"),             /* adc r15, 0 */
        } },
        /*
         * With the branch nine micro-ops for p0 and p6; as one chain, 8 cycles.
         */
        { "two chains", 4.5, 4.5, {
            I("\x66\x4c\x0f\x38\xf6\xc0"),     /* adcx r8, rax */
            I("\xf3\x4c\x0f\x38\xf6\xc8"),     /* adox r9, rax */
            I("\x66\x4c\x0f\x38\xf6\xd0"),     /* adcx r10, rax */
            I("\xf3\x4c\x0f\x38\xf6\xd8"),     /* adox r11, rax */
            I("\x66\x4c\x0f\x38\xf6\xe0"),     /* adcx r12, rax */
            I("\xf3\x4c\x0f\x38\xf6\xe8"),     /* adox r13, rax */
            I("\x66\x4c\x0f\x38\xf6\xf0"),     /* adcx r14, rax */
            I("\xf3\x4c\x0f\x38\xf6\xf8"),     /* adox r15, rax */
        } },
        { "above", 3, 3, {
            I("\x38\xd8"),                     /* cmp al, bl */
            I("\x0f\x97\xc0"),                 /* seta al */
        } },
        { "below", 2, 2, {
            I("\x38\xd8"),                     /* cmp al, bl */
            I("\x0f\x92\xc0"),                 /* setb al */
        } },
    };

    check_loops(loops, G_N_ELEMENTS(loops));
}

/*
 * 30 times { add; jmp }, in 8 bytes each, as a loop: 72.2 % frontend bound on
 * Tiger Lake, which decodes them anew each time (pmu-tools #422).
 */
static void test_jumps(void)
{
    static const Code add = I("\x48\x83\xc0\x01");      /* add rax, 1 */
    static const Code jmp = I("\xeb\x02");
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    for (unsigned i = 0; i < 30; i++) {
        rig->pc = CODE_BASE + i * 8;
        rig_add(rig, add);
        rig_add(rig, jmp);
    }
    rig->pc = CODE_BASE + 30 * 8;
    rig_close_loop(rig);
    rig_measure(rig, 1000);
    assert_near(rig, "frontend", FRONTEND(rig), 0.65, 0.85);
    rig_free(rig);
}

/*
 * 1,700 MOVABS, 17 KB: IPC 3.20 on Sapphire Rapids, so 53.3 % retiring, and
 * 46.7 % frontend bound (pmu-tools #444).  To 3 % of the slots.
 */
static void test_movabs(void)
{
    Rig *rig = rig_new(PMU_CORE_SAPPHIRERAPIDS);

    rig_add_times(rig, (Code)I("\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"),
                  1700);
    rig_close_loop(rig);
    rig_measure(rig, 40);
    assert_near(rig, "retiring", RETIRING(rig), 0.503, 0.563);
    assert_near(rig, "frontend", FRONTEND(rig), 0.437, 0.497);
    rig_free(rig);
}

/*
 * Code that is too large for the DSB is decoded anew: 3.2 instructions of 3
 * bytes a cycle, 4.2 of 4 bytes, on a Xeon Gold 6330 (IL64: ADD r64, r64 0.31
 * and ADD r64, imm8 0.24).  To 10 %.
 */
static void test_cold_code(void)
{
    static const struct {
        const char *name;
        Code code;
        double cycles;
    } rows[] = {
        { "3 bytes", I("\x48\x01\xd8"), 0.31 },
        { "4 bytes", I("\x48\x83\xc0\x01"), 0.24 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Rig *rig = rig_new(PMU_CORE_ICELAKE);
        unsigned n = 30000 / rows[i].code.length;

        for (unsigned j = 0; j < n; j++) {
            /*
             * Each writes another register than the last, so that none waits.
             */
            char bytes[4];

            memcpy(bytes, rows[i].code.bytes, rows[i].code.length);
            bytes[2] = (bytes[2] & ~7) | (j & 7);
            rig_add(rig, (Code) { bytes, rows[i].code.length });
        }
        rig_close_loop(rig);
        assert_near(rig, rows[i].name, rig_measure(rig, 10) / n,
                    rows[i].cycles * 0.9, rows[i].cycles * 1.1);
        rig_free(rig);
    }
}

/*
 * Straight code in L2 or L3.  C&C, "Popping the Hood on Golden Cove": Golden
 * Cove, Ice Lake and Skylake fetch about 16 bytes a cycle from L2 with NOPs of
 * 8 bytes.  "Skylake": with NOPs of 4 bytes Haswell does 2.2 to 2.5 a cycle
 * from L2 and L3, Skylake almost 3.5 from L3.  "Bulldozer": Bulldozer and K10
 * fetch little more than 4 bytes from L2.  "Loongson 3A6000": Golden Cove does
 * more than 3 NOPs of 4 bytes from L3.  Figures read off a diagram hold to
 * 15 %.
 */
static void test_far_code(void)
{
    static const Code nop4 = I("\x0f\x1f\x40\x00");
    static const Code nop8 = I("\x0f\x1f\x84\0\0\0\0\0");
    static const struct {
        PmuCore core;
        unsigned bytes;
        const Code *code;
        double low, high;       /* bytes a cycle */
    } rows[] = {
        { PMU_CORE_ICELAKE, 128 << 10, &nop8, 13.6, 18.4 },
        { PMU_CORE_SAPPHIRERAPIDS, 128 << 10, &nop8, 13.6, 18.4 },
        { PMU_CORE_SKYLAKE, 128 << 10, &nop8, 13.6, 18.4 },
        { PMU_CORE_HASWELL, 128 << 10, &nop4, 8.8, 10 },
        { PMU_CORE_K10, 192 << 10, &nop8, 4, 4.6 },
        { PMU_CORE_BULLDOZER, 192 << 10, &nop8, 4, 4.6 },
        { PMU_CORE_SAPPHIRERAPIDS, 4 << 20, &nop4, 12, 16 },
        { PMU_CORE_SKYLAKE, 4 << 20, &nop4, 11.9, 16 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        Rig *rig = rig_new(rows[i].core);
        g_autofree char *name = g_strdup_printf("%u KiB of code",
                                                rows[i].bytes >> 10);

        rig_add_times(rig, *rows[i].code, rows[i].bytes /
                      rows[i].code->length);
        rig_close_loop(rig);
        assert_near(rig, name, rows[i].bytes / rig_measure(rig, 2),
                    rows[i].low, rows[i].high);
        rig_free(rig);
    }
}

/*
 * What the DSB cannot hold is decoded in each turn, though the queue could hold
 * the loop: NOPs of one byte, 0.25 cycles, and ADD AX, imm16, 3.25 cycles, but
 * not ADC r16, imm16, which takes one (IL64; of Golden Cove's 3.2 cycles, 0.1
 * are the loop).
 */
static void test_small_loops(void)
{
    static const Measured rows[] = {
        { "nop", { NOP }, 64, {}, 0.25, 0.175 },
        { "add ax, 0x101", { I("\x66\x05\x01\x01") }, 1, {}, 3.25, 3.2 },
        { "adc cx, 100", { I("\x66\x81\xd1\x64\x00") }, 1, {}, 1.1, 1.08 },
    };

    check_all_measured(rows, G_N_ELEMENTS(rows));
}

/* A length-changing prefix stalls predecoding for 3 cycles: arithmetic. */
static void test_lcp(void)
{
    Rig *rig = rig_new(PMU_CORE_ICELAKE);

    rig_add_times(rig, (Code)I("\x66\x05\x01\x01"), 7500); /* add ax, 0x101 */
    rig_close_loop(rig);
    assert_near(rig, "cycles", rig_measure(rig, 10) / 7500, 3, 3.6);
    assert_near(rig, "frontend", FRONTEND(rig), 0.85, 1);
    rig_free(rig);
}

/*
 * Random outcomes: half are mispredicted.  Each loses mispredict_penalty after
 * the branch has executed, and before that the cycles until it executes.
 */
static void test_random_branches(void)
{
    enum { TIMES = 200000 };

    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        Rig *rig = rig_new(core);
        const PmuUarch *uarch = rig->uarch;
        double recovery = uarch->mispredict_penalty - uarch->clear_resteer;
        double misses, bad, refetch, cycles;

        rig->at_random = true;
        rig_add(rig, (Code)TEST_RAX);
        rig_add(rig, (Code)JNZ);        /* to the next instruction */
        rig_close_loop(rig);
        cycles = rig_measure(rig, TIMES) * TIMES;
        misses = count(rig, PMU_ITEM_BRANCH_MISSES);
        bad = count(rig, PMU_ITEM_SLOTS) * BAD_SPEC(rig) / uarch->width;
        refetch = count(rig, PMU_ITEM_SLOTS) * FRONTEND(rig) / uarch->width;
        assert_near(rig, "mispredicted", misses / TIMES, 0.45, 0.55);
        g_assert_cmpfloat(count(rig, PMU_ITEM_CLEARS), ==, misses);
        assert_near(rig, "cycles for each", cycles / misses,
                    uarch->mispredict_penalty + uarch->issue_to_dispatch,
                    uarch->mispredict_penalty + uarch->issue_to_dispatch + 4);
        /* Two micro-ops a cycle, one of them a branch, issue in vain. */
        assert_near(rig, "cycles of bad speculation", bad / misses, recovery +
                    2.0 / uarch->width,
                    recovery + uarch->issue_to_dispatch);
        /* The next branches may wait for the frontend, too. */
        assert_near(rig, "cycles of fetching again", refetch / misses,
                    uarch->clear_resteer, uarch->clear_resteer + 3);
        rig_free(rig);
    }
}

/*
 * A random branch waits for a chain of @length multiplications, while the wrong
 * path issues.  As much issues in a cycle there as on the right path.  Jumps,
 * one behind each of the first @jumps multiplications, slow both down.  Returns
 * the wrong path's slots, in cycles, for each misprediction.
 */
static double wrong_path(PmuCore core, unsigned length, unsigned jumps)
{
    enum { TIMES = 20000 };
    Rig *rig = rig_new(core);
    const PmuUarch *uarch = rig->uarch;
    double bad;

    rig->at_random = true;
    rig_add(rig, (Code)TEST_RAX);
    rig_add(rig, (Code)JNZ);
    rig_add(rig, (Code)I("\xb8\x03\x00\x00\x00"));      /* mov eax, 3 */
    for (unsigned i = 0; i < length; i++) {
        rig_add(rig, (Code)I("\x48\x0f\xaf\xc0"));      /* imul rax, rax */
        if (i < jumps) {
            rig_add(rig, (Code)I("\xe9\x00\x00\x00\x00"));     /* jmp */
        }
    }
    rig_close_loop(rig);
    rig_measure(rig, TIMES);
    bad = count(rig, PMU_ITEM_SLOTS) * BAD_SPEC(rig) / uarch->width /
          count(rig, PMU_ITEM_BRANCH_MISSES);
    rig_free(rig);
    return bad - (uarch->mispredict_penalty - uarch->clear_resteer);
}

/*
 * The branch waits for 60 cycles of the chain, and to be dispatched.  Its round
 * of 22 micro-ops takes 5 of these cycles to issue; in nearly all others the
 * wrong path fills all slots.  Each jump makes the round take one or two cycles
 * more, which the branch waits less, and half of the slots or fewer are filled.
 * What issues has to fit into the reorder buffer; a chain three times as long
 * would fill it more than twice.
 */
static void test_wrong_path(void)
{
    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        double fast = wrong_path(core, 20, 0), slow = wrong_path(core, 20, 8);
        double full = wrong_path(core, 60, 0);
        const PmuUarch *uarch = pmu_uarch(core);

        g_test_message("%s: %g cycles, with jumps %g, of a long chain %g",
                       uarch->name, fast, slow, full);
        g_assert_cmpfloat(fast, >, 50);
        g_assert_cmpfloat(fast, <, 75);
        g_assert_cmpfloat(full, >, 0.97 * uarch->rob / uarch->width);
        g_assert_cmpfloat(full, <, 1.01 * uarch->rob / uarch->width);
        g_assert_cmpfloat(slow, >, 10);
        g_assert_cmpfloat(slow, <, fast / 2);
    }
}

/*
 * The same branch, always taken, is never mispredicted, and costs no slots.
 * One branch is taken in each cycle, of two a turn.
 */
static void test_constant_branch(void)
{
    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        Rig *rig = rig_new(core);

        rig_add(rig, (Code)TEST_RAX);
        rig_add(rig, (Code)JNZ);
        rig_close_loop(rig);
        assert_near(rig, "cycles", rig_measure(rig, 10000), 1.99, 3.01);
        g_assert_cmpfloat(count(rig, PMU_ITEM_BRANCH_MISSES), ==, 0);
        g_assert_cmpfloat(BAD_SPEC(rig), ==, 0);
        rig_free(rig);
    }
}

static void shuffle(Random *random, uint64_t *values, unsigned n)
{
    for (unsigned i = n - 1; i > 0; i--) {
        unsigned j = random_below(random, i + 1);
        uint64_t value = values[i];

        values[i] = values[j];
        values[j] = value;
    }
}

/*
 * Returns the cycles of each of dependent loads through @n places, @step bytes
 * apart, over and over.
 */
static double chase_in_order(Rig *rig, uint64_t base, uint64_t step,
                             unsigned n, bool at_random)
{
    uint64_t *places = g_new(uint64_t, n);
    double cycles;

    for (unsigned i = 0; i < n; i++) {
        places[i] = base + i * step;
    }
    if (at_random) {
        shuffle(&rig->random, places, n);
    }
    rig->addresses = places;
    rig->num_addresses = n;
    rig_add(rig, (Code)LOAD_RAX_RAX);
    rig_close_loop(rig);
    cycles = rig_measure(rig, MAX(2 * n, 5000));
    g_free(places);
    return cycles;
}

static double chase(Rig *rig, uint64_t base, uint64_t step, unsigned n)
{
    return chase_in_order(rig, base, step, n, true);
}

/* A load takes 5 cycles (IL64) wherever it is in L1D; a turn is 2 slots. */
static void test_l1(void)
{
    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        Rig *rig = rig_new(core);

        assert_near(rig, "L1D", chase(rig, DATA_BASE, 64, 512), 4.99, 5.02);
        assert_near(rig, "backend", BACKEND(rig), 0.9, 1);
        rig_free(rig);
    }
}

/*
 * L2 takes 13 to 15 cycles (IL64's ladders): for 192 KB, and for lines that
 * compete for one set of L1D alone.
 */
static void test_l2(void)
{
    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        Rig *rig = rig_new(core);

        assert_near(rig, "192 KB", chase(rig, DATA_BASE, 64, 3072), 12.5,
                    15.5);
        rig_free(rig);
        rig = rig_new(core);
        assert_near(rig, "a set of L1D",
                    chase(rig, DATA_BASE, 1 << PMU_PAGE_SHIFT, 24), 13, 15.1);
        rig_free(rig);
    }
}

/*
 * Lines that compete for one set of L2, in no more pages than the DTLB holds:
 * 60 to 70 cycles on Ice Lake-SP (TMA: 23 ns with L2's).  Nothing is published
 * about Sapphire Rapids, but that it is slower.
 */
static void test_l3(void)
{
    static const double high[PMU_CORES_MEASURED] = {
        [PMU_CORE_ICELAKE] = 70, [PMU_CORE_SAPPHIRERAPIDS] = 85,
    };

    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        Rig *rig = rig_new(core);

        assert_near(rig, "a set of L2", chase(rig, SPREAD_BASE,
                                              1 << PMU_PAGE_SHIFT, 48), 60,
                    high[core]);
        assert_near(rig, "LLC misses", count(rig, PMU_ITEM_LOADS_DRAM), 0, 0);
        rig_free(rig);
    }
}

/*
 * Local memory takes 66.5 ns (TMA), and places in 256 MB, most of them seen
 * only once, need page walks, too: 271 cycles at 3.5 GHz, 77 ns, on Rocket Lake
 * (InstLatx64).
 */
static void test_dram(void)
{
    enum { N = 100000 };
    static const double high[PMU_CORES_MEASURED] = {
        [PMU_CORE_ICELAKE] = 85, [PMU_CORE_SAPPHIRERAPIDS] = 100,
    };

    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        Rig *rig = rig_new(core);
        uint64_t *places = g_new(uint64_t, 2 * N);
        double cycles;

        for (unsigned i = 0; i < 2 * N; i++) {
            places[i] = DATA_BASE + random_below(&rig->random, 1ull << 28)
                                    / 64 * 64;
        }
        rig->addresses = places;
        rig->num_addresses = 2 * N;
        rig_add(rig, (Code)LOAD_RAX_RAX);
        rig_close_loop(rig);
        cycles = rig_measure(rig, N);
        assert_near(rig, "ns", cycles * 1000 / rig->uarch->frequency_mhz, 66,
                    high[core]);
        assert_near(rig, "LLC misses", count(rig, PMU_ITEM_LOADS_DRAM) / N,
                    0.95, 1);
        g_free(places);
        rig_free(rig);
    }
}

/* A hit in the second-level TLB costs 7 cycles more (TMA) than the 5 of L1D. */
static void test_stlb(void)
{
    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        Rig *rig = rig_new(core);

        /* 512 pages: more than any DTLB has, and the lines stay in L1D. */
        assert_near(rig, "L1D and STLB",
                    chase(rig, DATA_BASE, (1 << PMU_PAGE_SHIFT) + 64, 512),
                    11.9, 12.1);
        rig_free(rig);
    }
}

/*
 * Returns the cycles of dependent loads through memory, one line after the
 * other or in random order.
 */
static double chase_memory(PmuCore core, bool at_random)
{
    enum { N = 60000 };
    Rig *rig = rig_new(core);
    uint64_t *places = g_new(uint64_t, 2 * N);
    double cycles;

    for (unsigned i = 0; i < 2 * N; i++) {
        places[i] = DATA_BASE + i * 64ull;
    }
    if (at_random) {
        shuffle(&rig->random, places, 2 * N);
    }
    rig->addresses = places;
    rig->num_addresses = 2 * N;
    rig_add(rig, (Code)LOAD_RAX_RAX);
    rig_close_loop(rig);
    cycles = rig_measure(rig, N);
    g_free(places);
    rig_free(rig);
    return cycles;
}

/* A stream from the L3 is as fast as one core gets its lines. */
static void test_l3_stream(void)
{
    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        const uint32_t lines = (16 << 20) / 64;
        Rig *rig = rig_new(core);
        g_autofree uint64_t *places = g_new(uint64_t, lines);
        double cycles;

        for (uint32_t i = 0; i < lines; i++) {
            places[i] = DATA_BASE + i * 64;
        }
        rig->addresses = places;
        rig->num_addresses = lines;
        rig_add(rig, (Code)I("\x48\x8b\x03"));         /* mov rax, [rbx] */
        rig_close_loop(rig);
        rig_measure(rig, lines);
        cycles = rig_measure(rig, lines);
        assert_near(rig, "cycles a line from the L3", cycles,
                    0.99 * rig->uarch->l3_line_cycles,
                    1.1 * rig->uarch->l3_line_cycles);
        rig_free(rig);
    }
}

/*
 * Prefetchers fetch a stream ahead, even if each load depends on the last: it
 * takes less than a third of the cycles of loads at random.
 */
static void test_prefetch(void)
{
    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        double stream = chase_memory(core, false);
        double at_random = chase_memory(core, true);

        if (!(stream * 3 < at_random && stream > 5)) {
            g_test_message("%s: expected more than 5 cycles a line for a "
                           "stream, and less than a third of those at random: "
                           "%.1f, %.1f", pmu_uarch(core)->name, stream,
                           at_random);
            g_test_fail();
        }
    }
}

/*
 * When a load gets a line, the prefetcher of L1D asks L2 for the next one.  So
 * two dependent loads take as long as one hit in L2.  It does not cross into
 * the next page (Intel SOM 2.5.5.4).
 */
static void test_l1d_prefetch(void)
{
    static const struct {
        int step;
        unsigned places;
        double loads;           /* that take as long as a hit in L2 */
    } cases[] = {
        { 64, 4096, 2 }, { 128, 2048, 2 }, { 192, 2048, 2 },
        { 512, 1600, 2 * 8 / 9.0 },     /* one of eight leaves its page */
    };

    for (PmuCore core = 0; core < PMU_CORES_MEASURED; core++) {
        for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
            Rig *rig = rig_new(core);
            double expected = rig->uarch->l2.latency / cases[i].loads;
            g_autofree char *what = g_strdup_printf("steps of %d",
                                                    cases[i].step);

            assert_near(rig, what,
                        chase_in_order(rig, DATA_BASE, cases[i].step,
                                       cases[i].places, false),
                        0.95 * expected, 1.1 * expected);
            rig_free(rig);
        }
    }
}

/* A loop of @n times @code, and the cycles of each on both cores. */
typedef struct OtherCore {
    const char *what;
    Code code;
    unsigned n;
    double sunny_cove, skylake;
} OtherCore;

/*
 * Published for both cores (uops.info).  The differences follow from width and
 * ports; Sunny Cove has a second port for store data.  The last row is code
 * that Sunny Cove's DSB holds (384 lines, two for 64 bytes) and Skylake's does
 * not (256 lines, one for 32 bytes).  Decoding takes 16 bytes a cycle.
 */
static const OtherCore other_core[] = {
    { "5-byte nop", I("\x0f\x1f\x44\x00\x00"), 200, 1.0 / 5, 1.0 / 4 },
    { "mov [rbx], rax", I("\x48\x89\x03"), 100, 0.5, 1 },
    { "pshufd xmm1, xmm0, 0", I("\x66\x0f\x70\xc8\x00"), 100, 0.5, 1 },
    { "vpaddd xmm1, xmm1, xmm0", I("\xc5\xf9\xfe\xc8"), 99,
      1.0 / 3, 1.0 / 3 },
    { "imul rax, rax", I("\x48\x0f\xaf\xc0"), 100, 3, 3 },
    { "8-byte nop", I("\x0f\x1f\x84\x00\x00\x00\x00\x00"), 1500,
      1.0 / 5, 1.0 / 2 },
};

static void check_other_core(const OtherCore *row, PmuCore core,
                             double cycles)
{
    Rig *rig = rig_new(core);

    rig_add_times(rig, row->code, row->n);
    rig_close_loop(rig);
    /* The loop's own DEC and JNZ take up to a cycle. */
    assert_near(rig, row->what, rig_measure(rig, 100) / row->n, 0.99 * cycles,
                1.01 * cycles + 1.0 / row->n);
    rig_free(rig);
}

/* Each row takes its published cycles on both cores, to 1 %. */
static void test_other_core(void)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(other_core); i++) {
        const OtherCore *row = &other_core[i];

        check_other_core(row, PMU_CORE_ICELAKE, row->sunny_cove);
        check_other_core(row, PMU_CORE_SKYLAKE, row->skylake);
    }
}

/*
 * How many NOPs a cycle takes at most, and how many cycles a step of a chase in
 * L1D takes, on all older cores: Agner Fog, "The microarchitecture of Intel,
 * AMD and VIA CPUs" and "Instruction tables".  On P5, a load's address must be
 * known a cycle before it begins.
 */
typedef struct OlderCore {
    PmuCore core;
    double nops, l1_latency;
} OlderCore;

static const OlderCore older_cores[] = {
    { PMU_CORE_P5, 2, 2 }, { PMU_CORE_P6, 3, 3 }, { PMU_CORE_NETBURST, 3, 4 },
    { PMU_CORE_CORE, 4, 3 }, { PMU_CORE_BONNELL, 2, 3 },
    { PMU_CORE_NEHALEM, 4, 4 }, { PMU_CORE_SANDYBRIDGE, 4, 4 },
    { PMU_CORE_HASWELL, 4, 4 }, { PMU_CORE_SKYLAKE, 4, 5 },
    { PMU_CORE_K7, 3, 3 }, { PMU_CORE_K8, 3, 3 }, { PMU_CORE_K10, 3, 3 },
    { PMU_CORE_BULLDOZER, 4, 4 }, { PMU_CORE_ZEN, 6, 4 },
    { PMU_CORE_C3, 1, 2 },
};

static void check_older_core(const OlderCore *row)
{
    g_autofree char *what = g_strdup_printf("core %d", row->core);
    const unsigned n = 120;
    Rig *rig = rig_new(row->core);

    rig_add_times(rig, (Code) I("\x66\x90"), n);
    rig_close_loop(rig);
    /* Of 16 bytes, three decoders take 3, 3 and 2. */
    assert_near(rig, what, n / rig_measure(rig, 100), 0.8 * row->nops,
                row->nops);
    rig_free(rig);
    rig = rig_new(row->core);
    assert_near(rig, what, chase_in_order(rig, DATA_BASE, 64, 8, false),
                0.99 * row->l1_latency, 1.01 * row->l1_latency);
    rig_free(rig);
}

static void test_older_cores(void)
{
    g_assert_cmpuint(G_N_ELEMENTS(older_cores), ==,
                     PMU_CORE_NR - PMU_CORES_MEASURED);
    for (unsigned i = 0; i < G_N_ELEMENTS(older_cores); i++) {
        check_older_core(&older_cores[i]);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernels/vmulpd", test_vmulpd);
    g_test_add_func("/kernels/pause", test_pause);
    g_test_add_func("/kernels/nops", test_nops);
    g_test_add_func("/kernels/imul", test_imul);
    g_test_add_func("/kernels/two-stores", test_two_stores);
    g_test_add_func("/kernels/store-lines", test_store_lines);
    g_test_add_func("/kernels/bypasses", test_bypasses);
    g_test_add_func("/kernels/forwarding", test_forwarding);
    g_test_add_func("/kernels/memory-renaming", test_memory_renaming);
    g_test_add_func("/kernels/turns", test_turns);
    g_test_add_func("/kernels/exchanges", test_exchanges);
    g_test_add_func("/kernels/stack-engine", test_stack_engine);
    g_test_add_func("/kernels/dot-product", test_dot_product);
    g_test_add_func("/kernels/alu-chains", test_alu_chains);
    g_test_add_func("/kernels/dividers", test_dividers);
    g_test_add_func("/kernels/dot-products", test_dot_products);
    g_test_add_func("/kernels/carries", test_carries);
    g_test_add_func("/kernels/jumps", test_jumps);
    g_test_add_func("/kernels/movabs", test_movabs);
    g_test_add_func("/kernels/cold-code", test_cold_code);
    g_test_add_func("/kernels/far-code", test_far_code);
    g_test_add_func("/kernels/small-loops", test_small_loops);
    g_test_add_func("/kernels/lcp", test_lcp);
    g_test_add_func("/kernels/random-branches", test_random_branches);
    g_test_add_func("/kernels/wrong-path", test_wrong_path);
    g_test_add_func("/kernels/constant-branch", test_constant_branch);
    g_test_add_func("/kernels/l1", test_l1);
    g_test_add_func("/kernels/l2", test_l2);
    g_test_add_func("/kernels/l3", test_l3);
    g_test_add_func("/kernels/dram", test_dram);
    g_test_add_func("/kernels/stlb", test_stlb);
    g_test_add_func("/kernels/prefetch", test_prefetch);
    g_test_add_func("/kernels/l1d-prefetch", test_l1d_prefetch);
    g_test_add_func("/kernels/other-core", test_other_core);
    g_test_add_func("/kernels/older-cores", test_older_cores);
    g_test_add_func("/kernels/l3-stream", test_l3_stream);
    return g_test_run();
}
