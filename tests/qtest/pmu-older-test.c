/*
 * Test of older PMUs: P5, P6, NetBurst, AMD's, C3's, early architectural ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The payload runs in 64-bit mode, which most of these CPUs did not have.  QEMU
 * and the PMU accept any vendor, family and model with it.
 *
 * Addresses and bits are literal: SDM vol. 3B, the sections on older
 * processors; AMD64 Architecture Programmer's Manual, vol. 2.
 */

#include "qemu/osdep.h"

#include "pmu/machine.h"

#define INTEL(family, model) \
    "-cpu qemu64,vendor=GenuineIntel,family=" #family ",model=" #model \
    ",stepping=3,pmu=on,check=off "
#define AMD(family, model) \
    "-cpu qemu64,family=" #family ",model=" #model ",pmu=on,check=off "

/* How to program a counter: 0 for instructions, 1 for branches. */
typedef struct Selection {
    uint32_t msr;
    uint64_t value;             /* with USR, OS and the event's code */
    uint64_t os;                /* bit of @value that counts at CPL 0 */
    uint64_t interrupt;         /* bit that makes overflows interrupt */
    uint32_t counter;
} Selection;

typedef struct Older {
    const char *name;
    const char *cpu;
    Selection instructions, branches;
    /* NetBurst also needs an ESCR for each counter. */
    uint32_t escr[2];
    uint64_t escr_value[2];
    unsigned width;             /* of counters, in bits */
    uint32_t ecx;               /* ECX of RDPMC for the first counter */
    uint32_t bad_ecx;           /* ECX past the last counter */
    bool interrupts;
    bool masks;                 /* a PMI masks LVTPC */
} Older;

#define EVTSEL(code)    ((code) | EVTSEL_USR | EVTSEL_OS | EVTSEL_EN)
#define P6_LIKE(instructions_, branches_, base, counters)               \
    .instructions = { (base), EVTSEL(instructions_), EVTSEL_OS,         \
                      EVTSEL_INT, (counters) },                         \
    .branches = { (base) + 1, EVTSEL(branches_), EVTSEL_OS, EVTSEL_INT, \
                  (counters) + 1 }

/* CESR has the fields of both counters, so P5's .branches need no MSR. */
#define CESR    (0x16 | 3 << 6 | (0x12 | 3 << 6) << 16)

static const Older pmus[] = {
    { "p5", INTEL(5, 4), .instructions = { 0x11, CESR, 1 << 6, 0, 0x12 },
      .branches = { 0, 0, 0, 0, 0x13 }, .width = 40, .bad_ecx = 2 },
    { "p6", INTEL(6, 8), P6_LIKE(0xc0, 0xc4, 0x186, 0xc1), .width = 40,
      .bad_ecx = 2, .interrupts = true },
    { "pentium-m", INTEL(6, 13), P6_LIKE(0xc0, 0xc4, 0x186, 0xc1),
      .width = 40, .bad_ecx = 2, .interrupts = true, .masks = true },
    { "core-duo", INTEL(6, 14), P6_LIKE(0xc0, 0xc4, 0x186, 0xc1),
      .width = 40, .bad_ecx = 2, .interrupts = true, .masks = true },
    { "core2", INTEL(6, 15), P6_LIKE(0xc0, 0xc4, 0x186, 0xc1),
      .width = 40, .bad_ecx = 2, .interrupts = true, .masks = true },
    { "skylake", INTEL(6, 85), P6_LIKE(0xc0, 0xc4, 0x186, 0xc1),
      .width = 48, .bad_ecx = 4, .interrupts = true, .masks = true },
    /* INSTR_RETIRED.NBOGUSNTAG, and BRANCH_RETIRED with all four kinds. */
    { "netburst", INTEL(15, 6),
      .instructions = { 0x36c, 4 << 13 | 0x31000, 0, 1 << 26, 0x30c },
      .branches = { 0x36d, 5 << 13 | 0x31000, 0, 1 << 26, 0x30d },
      .escr = { 0x3b8, 0x3cc },
      .escr_value = { 0x02 << 25 | 0x1 << 9 | 0xc,
                      0x06 << 25 | 0xf << 9 | 0xc },
      .width = 40, .ecx = 12, .bad_ecx = 18, .interrupts = true,
      .masks = true },
    { "k7", AMD(6, 8), P6_LIKE(0xc0, 0xc2, 0xc0010000, 0xc0010004),
      .width = 48, .bad_ecx = 4, .interrupts = true },
    { "k8", AMD(15, 5), P6_LIKE(0xc0, 0xc2, 0xc0010000, 0xc0010004),
      .width = 48, .bad_ecx = 4, .interrupts = true },
    { "zen", AMD(23, 1), P6_LIKE(0xc0, 0xc2, 0xc0010000, 0xc0010004),
      .width = 48, .bad_ecx = 6, .interrupts = true },
    { "c3", "-cpu qemu64,vendor=CentaurHauls,family=6,model=7,stepping=3,"
      "pmu=on,check=off ",
      .instructions = { 0x187, 0xc0, 0, 0, 0xc2 },
      .width = 32, .ecx = 1, .bad_ecx = 0 },
};

static bool has_global(const Older *pmu)
{
    return strstr(pmu->name, "core2") || strstr(pmu->name, "skylake");
}

static void select_event(PmuScript *s, const Older *pmu, unsigned i,
                         uint64_t clear, uint64_t set)
{
    const Selection *sel = i ? &pmu->branches : &pmu->instructions;

    if (pmu->escr[i]) {
        pmu_wrmsr(s, pmu->escr[i], pmu->escr_value[i] & ~(clear ? 0x8 : 0));
    }
    if (sel->msr) {
        pmu_wrmsr(s, sel->msr, (sel->value & ~clear) | set);
    }
}

/* Run @block with argument @n.  OP_RUN writes IA32_PERF_GLOBAL_CTRL. */
static void run_block(PmuScript *s, const Older *pmu, uint32_t block,
                      uint64_t n)
{
    pmu_op(s, OP_RUN, block, has_global(pmu) ? 3 : 0, n);
}

static bool can_run(const Older *pmu)
{
    /* In version 1, IA32_PERF_GLOBAL_CTRL raises #GP, as on silicon. */
    return !g_str_equal(pmu->name, "core-duo");
}

/* Two runs of a loop: their difference is that of their known lengths. */
static void test_counts(const void *opaque)
{
    const Older *pmu = opaque;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned value[2][3];

    if (has_global(pmu)) {
        pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    }
    select_event(s, pmu, 0, 0, 0);
    select_event(s, pmu, 1, 0, 0);
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned j = 0; j < 2; j++) {
            uint32_t msr = j ? pmu->branches.counter
                             : pmu->instructions.counter;

            value[j][i] = msr ? pmu_rdmsr(s, msr) : 0;
        }
        if (i < 2) {
            run_block(s, pmu, BLOCK_LOOP, i ? 1010 : 10);
        }
    }
    pmu_run(s, pmu->cpu);
    pmu_expect((pmu_value(s, value[0][2]) - pmu_value(s, value[0][1])) -
               (pmu_value(s, value[0][1]) - pmu_value(s, value[0][0])),
               2 * 1000, "instructions, %s", pmu->name);
    if (pmu->branches.counter) {
        pmu_expect((pmu_value(s, value[1][2]) - pmu_value(s, value[1][1])) -
                   (pmu_value(s, value[1][1]) - pmu_value(s, value[1][0])),
                   1000, "branches, %s", pmu->name);
    }
}

static void test_rdpmc(const void *opaque)
{
    const Older *pmu = opaque;
    const uint64_t stopped = pmu->instructions.value & ~EVTSEL_EN & ~0x1000;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned good, bad;

    if (!strstr(pmu->name, "c3") && !strstr(pmu->name, "p5")) {
        pmu_wrmsr(s, pmu->instructions.msr, stopped);
    } else if (strstr(pmu->name, "p5")) {
        pmu_wrmsr(s, pmu->instructions.msr, 0);
    } else {
        pmu_wrmsr(s, pmu->instructions.msr, 0x100);     /* nothing */
    }
    pmu_wrmsr(s, pmu->instructions.counter, 0x12345678);
    good = pmu_rdpmc(s, pmu->ecx);
    bad = pmu_rdpmc(s, pmu->bad_ecx);
    pmu_run(s, pmu->cpu);
    pmu_expect(pmu_value(s, good), 0x12345678, "RDPMC, %s", pmu->name);
    pmu_expect(pmu_vector(s, bad), VECTOR_GP, "RDPMC of 0x%x, %s",
               pmu->bad_ecx, pmu->name);
}

/* The interrupt comes after the instruction that overflows the counter. */
static void test_overflow(const void *opaque)
{
    const Older *pmu = opaque;
    const unsigned period = 333;
    const uint64_t mask = (1ull << pmu->width) - 1;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned block, lvtpc;

    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_wrmsr(s, pmu->instructions.counter, -(uint64_t)period & mask);
    block = pmu_op(s, OP_BLOCK, BLOCK_NOPS, 0, 0);
    select_event(s, pmu, 0, pmu->instructions.os ?: 1ull << 63,
                 pmu->instructions.interrupt);
    run_block(s, pmu, BLOCK_NOPS | RUN_CPL3, 0);
    lvtpc = pmu_op(s, OP_PEEK32, 0, APIC_LVTPC, 0);
    pmu_run(s, pmu->cpu);
    pmu_expect(s->progress[0].events, pmu->interrupts, "interrupts, %s",
               pmu->name);
    if (pmu->interrupts) {
        pmu_expect(s->event[0][0].vector, VECTOR_NMI, "vector, %s", pmu->name);
        pmu_expect(s->event[0][0].rip, pmu_value(s, block) + period,
                   "RIP, %s", pmu->name);
        pmu_expect(pmu_value(s, lvtpc) & LVT_MASKED,
                   pmu->masks ? LVT_MASKED : 0, "LVTPC, %s", pmu->name);
    }
}

/* NetBurst's PMI is asserted until software clears the CCCR's OVF. */
static void test_netburst_asserted(void)
{
    static const char cpu[] = INTEL(15, 6);
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned cccr;

    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_wrmsr(s, 0x30c, -100ull & ((1ull << 40) - 1));
    pmu_wrmsr(s, 0x3b8, 0x02 << 25 | 0x1 << 9 | 0x4);
    pmu_wrmsr(s, 0x36c, 4 << 13 | 0x31000 | 1 << 26);
    pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3, 0, 0);
    cccr = pmu_rdmsr(s, 0x36c);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_op(s, OP_RUN, BLOCK_NOPS, 0, 0);
    pmu_wrmsr(s, 0x36c, 0);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    pmu_op(s, OP_RUN, BLOCK_NOPS, 0, 0);
    pmu_run(s, cpu);
    pmu_expect(pmu_value(s, cccr) >> 31 & 1, 1, "OVF");
    pmu_expect(s->progress[0].events, 2, "interrupts");
}

/* Counter 14 counts from the instruction after which counter 12 overflowed. */
static void test_netburst_cascade(void)
{
    static const char cpu[] = INTEL(15, 6);
    const uint64_t instr_retired_usr = 0x02 << 25 | 0x1 << 9 | 0x4;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned before, first, second;

    pmu_wrmsr(s, 0x30c, -100ull & ((1ull << 40) - 1));
    pmu_wrmsr(s, 0x30e, 0);
    pmu_wrmsr(s, 0x3b8, instr_retired_usr);
    pmu_wrmsr(s, 0x3b9, instr_retired_usr);
    pmu_wrmsr(s, 0x36e, 4 << 13 | 0x30000 | 1 << 30);
    before = pmu_rdmsr(s, 0x30e);
    pmu_wrmsr(s, 0x36c, 4 << 13 | 0x31000);
    pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3, 0, 0);
    first = pmu_rdmsr(s, 0x30c);
    second = pmu_rdmsr(s, 0x30e);
    pmu_run(s, cpu);
    pmu_expect(pmu_value(s, before), 0, "before the overflow");
    g_assert_cmpuint(pmu_value(s, first), >, 0);
    g_assert_cmpuint(pmu_value(s, first), <, 1000000);
    pmu_expect(pmu_value(s, second), pmu_value(s, first), "behind it");
}

/* Without MMX, RDPMC raises #UD, as it does without a PMU. */
static void test_p5_without_mmx(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned rdpmc = pmu_rdpmc(s, 0);
    unsigned rdmsr = pmu_rdmsr(s, 0x12);
    /* RDPMC of a counter that other CPUs lack, too. */
    unsigned run = pmu_op(s, OP_RUN, BLOCK_GP_RDPMC | RUN_CPL3, 0, 0);

    pmu_run(s, "-cpu qemu64,vendor=GenuineIntel,family=5,model=2,stepping=3,"
            "-mmx,pmu=on,check=off ");
    pmu_expect(pmu_vector(s, rdpmc), VECTOR_UD, "vector of RDPMC");
    pmu_expect(pmu_value(s, rdmsr), 0, "CTR0");
    pmu_expect(s->result[0][run].vector, VECTOR_UD, "vector at CPL 3");
}

/* C3's first counter is the time stamp counter. */
static void test_c3_tsc(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned before = pmu_rdmsr(s, 0xc1);
    unsigned after = pmu_rdmsr(s, 0xc1);

    pmu_run(s, "-cpu qemu64,vendor=CentaurHauls,family=6,model=7,stepping=3,"
            "pmu=on,check=off ");
    g_assert_cmpuint(pmu_value(s, before), >, 0);
    g_assert_cmpuint(pmu_value(s, after), >, pmu_value(s, before));
}

/* With icount, RDMSR cannot read the clock within a block: it returns 0. */
static void test_c3_icount(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned tsc = pmu_rdmsr(s, 0xc1);

    pmu_run(s, "-cpu qemu64,vendor=CentaurHauls,family=6,model=7,stepping=3,"
            "pmu=on,check=off -icount shift=0 ");
    pmu_expect(pmu_value(s, tsc), 0, "PerfCtr0");
}

/* Words and lines of a stream of stores, which L2's prefetcher detects. */
#define STREAM_WORDS    (1 << 18)
#define STREAM_LINES    (STREAM_WORDS / 8)

/*
 * Which cores count L2's hardware prefetches as last-level cache references and
 * misses.  Core 2 and Nehalem do not: SDM vol. 3B, "excludes cache line fills
 * due to" it.  Sandy Bridge to Broadwell do not: Intel's event lists, "demand
 * requests".  Skylake does: Intel's list, "hardware prefetches from L1 and L2".
 */
static void test_llc(void)
{
    static const struct {
        const char *name, *cpu;
        bool l3;                /* the last level is an L3 */
        bool prefetches;        /* prefetches are counted */
    } rows[] = {
        { "Core 2", INTEL(6, 15) },
        { "Nehalem", INTEL(6, 26), true },
        { "Sandy Bridge", INTEL(6, 42), true },
        { "Ivy Bridge", INTEL(6, 62), true },
        { "Haswell", INTEL(6, 63), true },
        { "Broadwell", INTEL(6, 79), true },
        { "Skylake", INTEL(6, 85), true, true },
    };

    for (int i = 0; i < ARRAY_SIZE(rows); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned references, misses;
        uint64_t refs, missed;

        pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
        pmu_wrmsr(s, 0x186, EVTSEL(EVENT_LLC_REFERENCES));
        pmu_wrmsr(s, 0x187, EVTSEL(EVENT_LLC_MISSES));
        pmu_wrmsr(s, 0xc1, 0);
        pmu_wrmsr(s, 0xc2, 0);
        pmu_op(s, OP_RUN, BLOCK_STOSQ, 3, STREAM_WORDS);
        references = pmu_rdpmc(s, 0);
        misses = pmu_rdpmc(s, 1);
        pmu_run(s, rows[i].cpu);
        refs = pmu_register(s, references);
        missed = pmu_register(s, misses);
        g_test_message("%s: %" PRIu64 " references, %" PRIu64 " misses",
                       rows[i].name, refs, missed);
        /* The prefetcher begins anew on each page, at the second line. */
        g_assert_cmpuint(missed, >=, STREAM_LINES / 64);
        if (rows[i].prefetches) {
            g_assert_cmpuint(missed, >, STREAM_LINES * 9 / 10);
        } else {
            g_assert_cmpuint(missed, <, STREAM_LINES / 10);
        }
        if (rows[i].l3 && !rows[i].prefetches) {
            g_assert_cmpuint(refs, <, STREAM_LINES / 10);
        } else {
            g_assert_cmpuint(refs, >, STREAM_LINES * 9 / 10);
        }
    }
}

/*
 * CPUID reports leaf 0AH as on parts of these cores, and AMD's features.  EBX
 * has seven bits, as the eighth event, slots, came with Ice Lake.
 */
static void test_cpuid(void)
{
    static const struct {
        const char *cpu;
        uint32_t eax, edx;      /* leaf 0AH */
        bool core;              /* PerfCtrExtCore */
        uint32_t v2;            /* counters, leaf 80000022H; 0: no version 2 */
    } rows[] = {
        { "-cpu coreduo,pmu=on,check=off ", 0x07280201, 0 },
        { "-cpu core2duo,pmu=on,check=off ", 0x07280202, 0x503 },
        { "-cpu n270,pmu=on,check=off ", 0x07280203, 0x503 },
        { "-cpu Nehalem,pmu=on,check=off ", 0x07300403, 0x603 },
        { "-cpu Haswell,pmu=on,check=off ", 0x07300403, 0x603 },
        { "-cpu Skylake-Server,pmu=on,check=off ", 0x07300404, 0x603 },
        /* No version gives a core an event that it lacks. */
        { "-cpu Skylake-Server,pmu=on,pmu-version=5,check=off ", 0x07300405,
          0x8603 },
        { "-cpu qemu64,pmu=on,check=off ", 0, 0 },
        { "-cpu Opteron_G5,pmu=on,check=off ", 0, 0, true },
        { "-cpu EPYC,pmu=on,check=off ", 0, 0, true },
        { "-cpu EPYC,pmu=on,perfctr-core=off,check=off ", 0, 0 },
        { "-cpu EPYC-Genoa,pmu=on,check=off ", 0, 0, true, 6 },
        { "-cpu EPYC-Genoa,pmu=on,perfmon-v2=off,check=off ", 0, 0, true },
        { "-cpu EPYC-Genoa,check=off ", 0, 0 },
        /* Zen 3 has the same family: models 0-15 and 32-95. */
        { "-cpu EPYC-Genoa,model=1,pmu=on,check=off ", 0, 0, true },
        { "-cpu EPYC-Genoa,model=16,pmu=on,check=off ", 0, 0, true, 6 },
        { "-cpu EPYC-Genoa,model=31,pmu=on,check=off ", 0, 0, true, 6 },
        { "-cpu EPYC-Genoa,model=33,pmu=on,check=off ", 0, 0, true },
        { "-cpu EPYC-Genoa,model=80,pmu=on,check=off ", 0, 0, true },
        { "-cpu EPYC-Genoa,model=95,pmu=on,check=off ", 0, 0, true },
        { "-cpu EPYC-Genoa,model=97,pmu=on,check=off ", 0, 0, true, 6 },
        { "-cpu EPYC-Genoa,model=175,pmu=on,check=off ", 0, 0, true, 6 },
    };

    for (int i = 0; i < ARRAY_SIZE(rows); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned pmu, extended, v2;
        bool long_mode = !strstr(rows[i].cpu, "coreduo") &&
                         !strstr(rows[i].cpu, "n270");
        g_autofree char *cpu = g_strdup(rows[i].cpu);

        if (!long_mode) {
            /* The payload needs 64-bit mode.  Take a CPU with the same leaf. */
            g_free(cpu);
            cpu = g_strdup(strstr(rows[i].cpu, "coreduo")
                           ? "-cpu core2duo,model=14,pmu=on,check=off "
                           : "-cpu core2duo,model=28,pmu=on,check=off ");
        }
        pmu = pmu_op(s, OP_CPUID, 10, 0, 0);
        extended = pmu_op(s, OP_CPUID, 0x80000001, 0, 0);
        v2 = pmu_op(s, OP_CPUID, 0x80000022, 0, 0);
        pmu_run(s, cpu);
        if (rows[i].eax) {
            pmu_expect((uint32_t)pmu_value(s, pmu), rows[i].eax,
                       "CPUID.0AH:EAX of %s", cpu);
            pmu_expect(s->result[0][pmu].value[1] >> 32, rows[i].edx,
                       "CPUID.0AH:EDX of %s", cpu);
        }
        pmu_expect(s->result[0][extended].value[1] >> 23 & 1, rows[i].core,
                   "CPUID.80000001H:ECX[23] of %s", cpu);
        if (strstr(cpu, "Genoa")) {
            uint64_t value = s->result[0][v2].value[0];

            pmu_expect(value & 1, rows[i].v2 != 0,
                       "CPUID.80000022H:EAX[0] of %s", cpu);
            pmu_expect(value >> 32 & 0xf, rows[i].v2,
                       "CPUID.80000022H:EBX of %s", cpu);
        }
    }
}

/* Processors of one vendor and family, and a counter that all of them have. */
typedef struct Family {
    const char *vendor;
    unsigned family;
    uint8_t models[32];         /* 0 ends the list, but may come first */
    uint32_t counter;
} Family;

static const Family families[] = {
    { "GenuineIntel", 5, { 4 }, 0x12 },
    { "GenuineIntel", 6, { 1, 3, 5, 6, 7, 8, 9, 10, 11, 13, 14 }, 0xc1 },
    { "GenuineIntel", 6, { 15, 22, 23, 29 }, 0xc1 },            /* Core 2 */
    { "GenuineIntel", 6, { 28, 38, 39, 53, 54 }, 0xc1 },        /* Atom */
    { "GenuineIntel", 6, { 26, 30, 31, 37, 44, 46, 47 }, 0xc1 },
    { "GenuineIntel", 6, { 42, 45, 58, 60, 61, 62, 63, 69, 70, 71, 78, 79, 85,
                           86, 94, 142, 158 }, 0xc1 },
    { "GenuineIntel", 15, { 0, 1, 2, 3, 4, 6 }, 0x300 },
    { "AuthenticAMD", 0x6, { 8 }, 0xc0010004 },
    { "AuthenticAMD", 0xf, { 5 }, 0xc0010004 },
    { "AuthenticAMD", 0x10, { 2 }, 0xc0010004 },
    { "AuthenticAMD", 0x11, { 3 }, 0xc0010004 },
    { "AuthenticAMD", 0x12, { 1 }, 0xc0010004 },
    { "AuthenticAMD", 0x15, { 2 }, 0xc0010004 },
    { "AuthenticAMD", 0x17, { 1 }, 0xc0010004 },
    { "AuthenticAMD", 0x19, { 1, 0x11, 0x21, 0x50, 0x61 }, 0xc0010004 },
    { "HygonGenuine", 0x18, { 1 }, 0xc0010004 },
    { "CentaurHauls", 6, { 6, 7, 8, 9 }, 0xc2 },
};

/* Each model number that Linux or an older driver knows has a unit. */
static void test_models(void)
{
    for (int i = 0; i < ARRAY_SIZE(families); i++) {
        const Family *f = &families[i];

        for (int j = 0; j == 0 || f->models[j]; j++) {
            g_autofree char *cpu = g_strdup_printf(
                "-cpu qemu64,vendor=%s,family=%u,model=%u,pmu=on,check=off ",
                f->vendor, f->family, f->models[j]);
            g_autoptr(PmuScript) s = pmu_script_new();
            unsigned value;

            pmu_wrmsr(s, f->counter, 0x1234000);
            value = pmu_rdmsr(s, f->counter);
            pmu_run(s, cpu);
            /* C3's counter cannot be stopped. */
            pmu_expect(pmu_register(s, value) & ~0xfffull, 0x1234000,
                       "the counter of %s", cpu);
        }
    }
}

/* What tells models of one family apart. */
static void test_model_registers(void)
{
    static const struct {
        const char *cpu;
        uint32_t msr;
        bool present;
    } rows[] = {
        /* Only the first NetBurst models have IQ_ESCR0. */
        { INTEL(15, 2), 0x3ba, true }, { INTEL(15, 3), 0x3ba, false },
        { INTEL(15, 6), 0x3ba, false },
        /* Westmere brought a second off-core response register. */
        { INTEL(6, 26), 0x1a6, true }, { INTEL(6, 26), 0x1a7, false },
        { INTEL(6, 46), 0x1a7, false }, { INTEL(6, 37), 0x1a7, true },
        { INTEL(6, 47), 0x1a7, true }, { INTEL(6, 42), 0x1a7, true },
        { INTEL(6, 23), 0x1a6, false },
        /* Ivy Bridge brought full-width writes. */
        { "-cpu SandyBridge,pmu=on,check=off ", 0x4c1, false },
        { "-cpu IvyBridge,pmu=on,check=off ", 0x4c1, true },
        { "-cpu Haswell,pmu=on,check=off ", 0x4c1, true },
    };

    for (int i = 0; i < ARRAY_SIZE(rows); i++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        unsigned rdmsr = pmu_rdmsr(s, rows[i].msr);

        pmu_run(s, rows[i].cpu);
        pmu_expect(pmu_vector(s, rdmsr),
                   rows[i].present ? VECTOR_NONE : VECTOR_GP,
                   "RDMSR of 0x%x of %s", rows[i].msr, rows[i].cpu);
    }
}

/* Bits of T0 and T1 in ESCR and CCCR are for the two threads of a core. */
static void test_netburst_threads(void)
{
    const uint64_t event = 0x02 << 25 | 0x1 << 9;
    const uint64_t usr[] = { 1 << 2, 1 << 0 };
    const uint64_t interrupt[] = { 1 << 26, 1 << 27 };
    const uint64_t value = -333ull & ((1ull << 40) - 1);

    for (unsigned thread = 0; thread < 2; thread++) {
        g_autoptr(PmuScript) s = pmu_script_new();
        PmuMachine machine;
        unsigned counter;

        pmu_op(s, OP_START_CPU, 0, 1, 0);
        s->cpu = 1;
        pmu_poke32(s, APIC_LVTPC, LVT_NMI);
        pmu_wrmsr(s, 0x3b8, event | usr[thread]);
        pmu_wrmsr(s, 0x30c, value);
        pmu_wrmsr(s, 0x36c, 4 << 13 | 0x31000 | interrupt[thread]);
        pmu_op(s, OP_RUN, BLOCK_NOPS | RUN_CPL3, 0, 0);
        counter = pmu_rdmsr(s, 0x30c);
        pmu_start(&machine, s, INTEL(15, 6) "-smp 2,threads=2 ");
        pmu_wait_done(&machine, 2);
        pmu_read_results(&machine, s, 2);
        pmu_stop(&machine);
        pmu_expect(s->progress[1].events, thread, "interrupts, T%u", thread);
        if (!thread) {
            pmu_expect(pmu_register(s, counter), value,
                       "what the second thread counts with bits of T0");
        }
    }
}

/* 32-bit models start; the payload cannot run on them. */
static void test_start(void)
{
    static const char *const cpus[] = {
        "pentium", "pentium2", "pentium3", "qemu32", "kvm32", "coreduo",
        "n270", "athlon",
    };

    for (int i = 0; i < ARRAY_SIZE(cpus); i++) {
        g_autofree char *args = g_strdup_printf("-accel tcg -cpu %s,pmu=on -S",
                                                 cpus[i]);
        QTestState *qts = qtest_init(args);
        g_autofree char *info = qtest_hmp(qts, "info pmu");

        g_assert_nonnull(strstr(info, "CPU 0"));
        qtest_quit(qts);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (int i = 0; i < ARRAY_SIZE(pmus); i++) {
        const Older *pmu = &pmus[i];

        if (can_run(pmu)) {
            g_autofree char *counts =
                g_strdup_printf("pmu/older/counts/%s", pmu->name);
            g_autofree char *overflow =
                g_strdup_printf("pmu/older/overflow/%s", pmu->name);

            qtest_add_data_func(counts, pmu, test_counts);
            qtest_add_data_func(overflow, pmu, test_overflow);
        }
        g_autofree char *rdpmc = g_strdup_printf("pmu/older/rdpmc/%s",
                                                 pmu->name);

        qtest_add_data_func(rdpmc, pmu, test_rdpmc);
    }
    qtest_add_func("pmu/older/netburst-asserted", test_netburst_asserted);
    qtest_add_func("pmu/older/netburst-cascade", test_netburst_cascade);
    qtest_add_func("pmu/older/p5-without-mmx", test_p5_without_mmx);
    qtest_add_func("pmu/older/c3-tsc", test_c3_tsc);
    qtest_add_func("pmu/older/c3-icount", test_c3_icount);
    qtest_add_func("pmu/older/llc", test_llc);
    qtest_add_func("pmu/older/cpuid", test_cpuid);
    qtest_add_func("pmu/older/models", test_models);
    qtest_add_func("pmu/older/model-registers", test_model_registers);
    qtest_add_func("pmu/older/netburst-threads", test_netburst_threads);
    qtest_add_func("pmu/older/start", test_start);
    return g_test_run();
}
