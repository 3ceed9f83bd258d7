/*
 * Test of the PMU where the CPU's mode changes: paging, INIT, #VMEXIT.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The model's TLBs must not hold a translation longer than the CPU's do, nor
 * take one from other page tables.  Wherever execution goes on, the code after
 * a branch must decide whether the branch was taken.
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"

#include "pmu/machine.h"

#define EVENT_COND_TAKEN        0x01c4  /* BR_INST_RETIRED.COND_TAKEN */
#define EVENT_COND_NTAKEN       0x10c4  /* BR_INST_RETIRED.COND_NTAKEN */
#define EVENT_WALKS             0x0e08  /* DTLB_LOAD_MISSES.WALK_COMPLETED */
#define EVENT_L1_MISSES         0x08d1  /* MEM_LOAD_RETIRED.L1_MISS */

/* The local APIC's ICR (SDM vol. 3A, figure 11-12). */
#define ICR_INIT                0x500
#define ICR_ASSERT              0x4000

/* Page-table entries. */
#define PRESENT                 0x1
#define TABLE                   0x7     /* present, writable, user */
#define LARGE                   0x87
#define ACCESSED                0x20

static void count(PmuScript *s, unsigned counter, uint64_t event,
                  uint64_t levels)
{
    pmu_wrmsr(s, MSR_GLOBAL_CTRL, 0);
    pmu_wrmsr(s, MSR_EVTSEL(counter), event | levels | EVTSEL_EN);
    pmu_wrmsr(s, MSR_A_PMC(counter), 0);
}

/*
 * Code that runs between two reads of REMAP_PAGES pages, and of how many of
 * these it flushes the translation.
 */
typedef struct Remap {
    const char *path;
    unsigned flushed;
    unsigned length;
    uint8_t code[32];
} Remap;

/* Jump back to BLOCK_REMAP. */
#define JUMP_BACK       0xff, 0xe5                      /* jmp *%rbp */

static const Remap remaps[] = {
    { "pmu/modes/remap/nothing", 0, 2, { JUMP_BACK } },
    { "pmu/modes/remap/a20", REMAP_PAGES, 10, {
        0xb0, 0x00, 0xe6, 0x92,         /* mov $0, %al; out %al, $0x92 */
        0xb0, 0x02, 0xe6, 0x92,         /* mov $2, %al; out %al, $0x92 */
        JUMP_BACK } },
    { "pmu/modes/remap/efer", REMAP_PAGES, 23, {
        0xb9, 0x80, 0x00, 0x00, 0xc0,   /* mov $0xc0000080, %ecx */
        0x0f, 0x32,                     /* rdmsr */
        0x35, 0x00, 0x08, 0x00, 0x00,   /* xor $0x800, %eax: NXE */
        0x0f, 0x30,                     /* wrmsr */
        0x35, 0x00, 0x08, 0x00, 0x00,   /* xor $0x800, %eax */
        0x0f, 0x30,                     /* wrmsr */
        JUMP_BACK } },
    { "pmu/modes/remap/cr4", REMAP_PAGES, 16, {
        0x0f, 0x20, 0xe0,               /* mov %cr4, %rax */
        0x34, 0x80,                     /* xor $0x80, %al: PGE */
        0x0f, 0x22, 0xe0,               /* mov %rax, %cr4 */
        0x34, 0x80,                     /* xor $0x80, %al */
        0x0f, 0x22, 0xe0,               /* mov %rax, %cr4 */
        0x90,                           /* nop */
        JUMP_BACK } },
    { "pmu/modes/remap/cr3", REMAP_PAGES, 8, {
        0x0f, 0x20, 0xd8,               /* mov %cr3, %rax */
        0x0f, 0x22, 0xd8,               /* mov %rax, %cr3 */
        JUMP_BACK } },
    { "pmu/modes/remap/invlpg-one", 1, 10, {
        0xb8, 0x00, 0x10, 0x40, 0x00,   /* mov $PAGED + 0x1000, %eax */
        0x0f, 0x01, 0x38,               /* invlpg (%rax) */
        JUMP_BACK } },
    { "pmu/modes/remap/invlpg-all", REMAP_PAGES, 22, {
        0xb8, 0x00, 0x00, 0x40, 0x00,   /* mov $PAGED, %eax */
        0xb9, REMAP_PAGES, 0, 0, 0,     /* mov $REMAP_PAGES, %ecx */
        0x0f, 0x01, 0x38,               /* 1: invlpg (%rax) */
        0x05, 0x00, 0x10, 0x00, 0x00,   /* add $0x1000, %eax */
        0xe2, 0xf6,                     /* loop 1b */
        JUMP_BACK } },
};

QEMU_BUILD_BUG_ON(PAYLOAD_PAGED != 0x400000);

/* Page walks, less than this, for other data of the block and its return. */
#define OTHER_WALKS 8

static void test_remap(const void *data)
{
    const Remap *remap = data;
    const uint64_t walks = REMAP_PAGES + remap->flushed;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned counter;

    pmu_poke_code(s, PAYLOAD_CODE, remap->code, remap->length);
    count(s, 0, EVENT_WALKS, EVTSEL_OS);
    pmu_op(s, OP_FLUSH_TLB, 0, 0, 0);
    pmu_op(s, OP_RUN, BLOCK_REMAP, GLOBAL_GP(0), PAYLOAD_CODE);
    counter = pmu_rdpmc(s, 0);
    pmu_run(s, PMU_CPU_METRICS);
    g_test_message("%" PRIu64 " walks", pmu_register(s, counter));
    g_assert_cmpuint(pmu_register(s, counter), >=, walks);
    g_assert_cmpuint(pmu_register(s, counter), <, walks + OTHER_WALKS);
}

/*
 * A locked access crosses pages, so that QEMU executes it while all other vCPUs
 * stop.  If it faults, the flags stay as they were.
 */
static void test_atomic_fault(const void *cpu)
{
    static const uint8_t code[] = {
        0xf9,                                           /* stc */
        0xf0, 0xff, 0x04, 0x25, 0xff, 0x0f, 0x40, 0x00, /* lock incl 400fffH */
        0x0f, 0x92, 0xc3,                               /* setc %bl */
        0x0f, 0xb6, 0xdb,                               /* movzbl %bl, %ebx */
        0xc3,
    };
    const uint64_t page = PAYLOAD_PAGED + 0x1000;
    const uint64_t pte = PAYLOAD_PAGED_PTE + 8;
    g_autofree char *args = g_strconcat(cpu, "-smp 2", NULL);
    g_autoptr(PmuScript) s = pmu_script_new();
    uint64_t enable = g_str_equal(cpu, PMU_CPU_NONE) ? 0 : GLOBAL_FIXED(3);
    unsigned result;

    if (enable) {
        pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3));
    }
    pmu_poke_code(s, PAYLOAD_CODE, code, sizeof(code));
    pmu_op(s, OP_POKE64, 0, pte, page | (TABLE & ~PRESENT));
    pmu_op(s, OP_FLUSH_TLB, 0, 0, 0);
    pmu_set(s, PROGRESS_MAP, pte);
    result = pmu_op(s, OP_RUN, BLOCK_JUMP, enable, PAYLOAD_CODE);
    pmu_run(s, args);
    pmu_expect(s->progress[0].events, 1, "page faults");
    pmu_expect(s->result[0][result].value[0], 1, "carry flag");
}

/* Counters of what BLOCK_NOT_TAKEN does: see expect_way(). */
enum {
    TAKEN, NOT_TAKEN, INSTRUCTIONS, BRANCHES, NUM_COUNTERS
};

#define ENABLE_WAY      ((1ull << NUM_COUNTERS) - 1)

static void count_way(PmuScript *s, uint64_t levels)
{
    count(s, TAKEN, EVENT_COND_TAKEN, levels);
    count(s, NOT_TAKEN, EVENT_COND_NTAKEN, levels);
    count(s, INSTRUCTIONS, EVENT_INSTRUCTIONS, levels);
    count(s, BRANCHES, EVENT_BRANCHES, levels);
}

/* Append reads of them.  Returns the index of the first one. */
static unsigned read_way(PmuScript *s)
{
    unsigned first = pmu_rdpmc(s, TAKEN);

    for (int i = TAKEN + 1; i < NUM_COUNTERS; i++) {
        pmu_rdpmc(s, i);
    }
    return first;
}

/*
 * Iterations of BLOCK_NOT_TAKEN: enough for it to still run when it is to be
 * left early.  If it is not left early, it ends after some seconds.
 */
#define WAY_ITERATIONS  (1u << 22)
#define WAY_INSNS       5

/*
 * Check the counts between @before and @after: the block ran and was left
 * early, or did not begin.  Of its three branches, the first is never taken and
 * the last one always is.  Each has run as often as the next one, or once more.
 * Instructions minus branches tell how many conditional branches ran, and which
 * of them ran last.  So this does not depend on the counts that are tested.
 */
static void expect_way(const PmuScript *s, unsigned before, unsigned after,
                       uint64_t *behind_first)
{
    uint64_t ran[NUM_COUNTERS], conditional;

    for (int i = 0; i < NUM_COUNTERS; i++) {
        ran[i] = pmu_register(s, after + i) - pmu_register(s, before + i);
    }
    if (ran[NOT_TAKEN] > WAY_ITERATIONS) {
        /* The host was busy: the INIT came before the block began. */
        pmu_expect(ran[INSTRUCTIONS], WAY_ITERATIONS * WAY_INSNS + 1 +
                   RUN_CPL3_USR_INSNS, "instructions of the whole block");
        pmu_expect(ran[NOT_TAKEN], WAY_ITERATIONS + 1, "branches not taken");
        pmu_expect(ran[TAKEN], WAY_ITERATIONS - 1, "branches taken");
        return;
    }
    conditional = ran[INSTRUCTIONS] - ran[BRANCHES];
    *behind_first += conditional % 2;
    pmu_expect(ran[NOT_TAKEN], (conditional + 1) / 2, "branches not taken");
    pmu_expect(ran[TAKEN], conditional / 2, "branches taken");
}

#define INITS           60

/* Another CPU sends INIT while the block runs; only CPL 3 counts. */
static void test_init_behind_branch(void)
{
    const uint64_t other_go = PAYLOAD_PROGRESS + PAYLOAD_PROGRESS_STRIDE +
                              PROGRESS_GO;
    g_autoptr(PmuScript) s = pmu_script_new();
    PmuMachine machine;
    unsigned way[INITS + 1];
    uint64_t behind_first = 0;

    count_way(s, EVTSEL_USR);
    pmu_op(s, OP_START_CPU, 0, 1, 0);
    way[0] = read_way(s);
    for (int i = 1; i <= INITS; i++) {
        pmu_op(s, OP_POKE64, 0, other_go, i);
        pmu_op(s, OP_RUN, BLOCK_NOT_TAKEN | RUN_CPL3, ENABLE_WAY,
               WAY_ITERATIONS);
        /* Wait until the INIT was sent, so that it hits no later operation. */
        pmu_op(s, OP_SYNC, 0, i, 0);
        way[i] = read_way(s);
    }
    s->cpu = 1;
    for (int i = 1; i <= INITS; i++) {
        pmu_op(s, OP_SYNC, 0, i, 0);
        pmu_op(s, OP_RUN, BLOCK_PAUSE, 0, 2000);
        pmu_poke32(s, APIC_ICR_HIGH, 0);
        pmu_poke32(s, APIC_ICR_LOW, ICR_INIT | ICR_ASSERT);
        pmu_op(s, OP_POKE64, 0, PAYLOAD_PROGRESS + PROGRESS_GO, i);
    }
    s->cpu = 0;
    pmu_start(&machine, s, PMU_CPU_UNSAMPLED "-smp 2");
    pmu_wait_done(&machine, 2);
    pmu_read_results(&machine, s, 1);
    pmu_stop(&machine);
    for (int i = 0; i < INITS; i++) {
        expect_way(s, way[i], way[i + 1], &behind_first);
    }
    g_test_message("%" PRIu64 " of %d behind the first branch or the second",
                   behind_first, INITS);
    g_assert_cmpuint(behind_first, >, 0);
}

/* SVM: the fields of the VMCB that are used (AMD64 manual vol. 2, B, 15.5). */
#define MSR_EFER                0xc0000080
#define EFER_LONG_SVM           0x1500      /* LME, LMA, SVME */
#define MSR_VM_HSAVE_PA         0xc0010117
#define VMCB(offset)            (PAYLOAD_VMCB + (offset))
#define VMCB_INTERCEPT_EXCEPTIONS 0x008
#define VMCB_INTERCEPT          0x00c
#define VMCB_INTERCEPT_SVM      0x010
#define VMCB_MSRPM_BASE         0x048
#define VMCB_ASID               0x058
#define VMCB_NESTED_CTL         0x090
#define VMCB_EVENT_INJECTION    0x0a8
#define VMCB_NESTED_CR3         0x0b0
#define VMCB_SEGMENT(n)         (0x400 + 0x10 * (n))    /* ES, CS, SS, DS */
#define VMCB_EFER               0x4d0
#define VMCB_CR4                0x548
#define VMCB_CR3                0x550
#define VMCB_CR0                0x558
#define VMCB_DR7                0x560
#define VMCB_DR6                0x568
#define VMCB_RFLAGS             0x570
#define VMCB_RIP                0x578
#define VMCB_RSP                0x5d8
#define INTERCEPT_RDPMC         (1u << 15)
#define INTERCEPT_SWINT         (1u << 21)
#define INTERCEPT_MSR           (1u << 28)
#define INTERCEPT_VMRUN_VMMCALL 3
#define NESTED_PAGING           1
#define SVM_EXIT_EXCP(vector)   (0x40 + (vector))
#define SVM_EXIT_RDPMC          0x6f
#define SVM_EXIT_SWINT          0x75
#define SVM_EXIT_MSR            0x7c
#define SVM_EXIT_VMMCALL        0x81
#define SVM_CODE64              0x000000000a9b0008ull   /* CS: 08H */
#define SVM_CODE32              0xffffffff0c9b0008ull
#define SVM_DATA                0xffffffff0c930010ull   /* SS, DS, ES: 10H */
#define SVM_CPL3                (3 << 21 | 3)           /* DPL and RPL */
#define INJECT_INT(vector)      (0x80000400 | (vector)) /* valid, INT n */

/*
 * Memory for the host's state, the guest's stack, MSR permissions, and page
 * tables.
 */
#define SVM_HSAVE               0x41000
#define SVM_STACK               0x42ff8
#define SVM_MSRPM               0x44000
#define SVM_NESTED_TABLES       0x50000

#define PMU_CPU_SVM \
    "-cpu Icelake-Server,+perf-metrics,pmu-sampling=off,+svm,+npt,check=off "

/*
 * Set up a guest that begins at @rip in 64-bit mode, with the host's page
 * tables, and returns to a VMMCALL.
 */
static void prepare_guest(PmuScript *s, uint64_t rip)
{
    static const uint8_t vmmcall[] = { 0x0f, 0x01, 0xd9 };
    const struct {
        unsigned offset;
        uint64_t value;
    } fields[] = {
        { VMCB_SEGMENT(0), SVM_DATA }, { VMCB_SEGMENT(1), SVM_CODE64 },
        { VMCB_SEGMENT(2), SVM_DATA }, { VMCB_SEGMENT(3), SVM_DATA },
        { VMCB_EFER, EFER_LONG_SVM }, { VMCB_CR4, 0x220 },
        { VMCB_CR3, PAYLOAD_PAGE_TABLES }, { VMCB_CR0, 0x80000011 },
        { VMCB_DR7, 0x400 }, { VMCB_DR6, 0xffff0ff0 }, { VMCB_RFLAGS, 0x2 },
        { VMCB_RIP, rip }, { VMCB_RSP, SVM_STACK },
    };

    pmu_wrmsr(s, MSR_EFER, EFER_LONG_SVM);
    pmu_wrmsr(s, MSR_VM_HSAVE_PA, SVM_HSAVE);
    pmu_poke32(s, VMCB(VMCB_INTERCEPT_SVM), INTERCEPT_VMRUN_VMMCALL);
    pmu_poke32(s, VMCB(VMCB_ASID), 1);
    for (int i = 0; i < ARRAY_SIZE(fields); i++) {
        pmu_op(s, OP_POKE64, 0, VMCB(fields[i].offset), fields[i].value);
    }
    pmu_poke_code(s, PAYLOAD_CODE, vmmcall, sizeof(vmmcall));
    pmu_op(s, OP_POKE64, 0, SVM_STACK, PAYLOAD_CODE);
}

#define HOST_CODE       (PAYLOAD_CODE + 0x100)
#define GUEST_CODE      (PAYLOAD_CODE + 0x200)

/*
 * VMRUN and #VMEXIT invalidate all translations, as there is only one ASID.
 * They do so in order: #VMEXIT does before the host reads its pages again, even
 * though BLOCK_REMAP loads CR3 soon after that.
 */
static void test_remap_guest(void)
{
    static const uint8_t host[] = {
        0xb8, 0x00, 0x00, 0x04, 0x00,   /* mov $PAYLOAD_VMCB, %eax */
        0x0f, 0x01, 0xd8,               /* vmrun */
        0x0f, 0x01, 0xdc,               /* stgi */
        JUMP_BACK,
    };
    static const uint8_t guest[] = {
        0xbe, 0x00, 0x00, 0x40, 0x00,   /* mov $PAYLOAD_PAGED, %esi */
        0xb9, REMAP_PAGES, 0, 0, 0,     /* mov $, %ecx */
        0x8b, 0x06,                     /* mov (%rsi), %eax */
        0x81, 0xc6, 0x00, 0x10, 0, 0,   /* add $0x1000, %esi */
        0xff, 0xc9,                     /* dec %ecx */
        0x75, 0xf4,                     /* jnz to mov (%rsi) */
        0xc3,
    };
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned counter;
    uint64_t walks;

    QEMU_BUILD_BUG_ON(PAYLOAD_VMCB != 0x40000 || PAYLOAD_PAGED != 0x400000);
    prepare_guest(s, GUEST_CODE);
    pmu_poke_code(s, HOST_CODE, host, sizeof(host));
    pmu_poke_code(s, GUEST_CODE, guest, sizeof(guest));
    count(s, 0, EVENT_WALKS, EVTSEL_OS);
    pmu_op(s, OP_FLUSH_TLB, 0, 0, 0);
    pmu_op(s, OP_RUN, BLOCK_REMAP, GLOBAL_GP(0), HOST_CODE);
    counter = pmu_rdpmc(s, 0);
    pmu_run(s, PMU_CPU_SVM);
    walks = pmu_register(s, counter);
    g_test_message("%" PRIu64 " walks", walks);
    g_assert_cmpuint(walks, >=, 3 * REMAP_PAGES);
    g_assert_cmpuint(walks, <, 3 * REMAP_PAGES + OTHER_WALKS);
}

/*
 * The page after a branch is not present, so that the guest exits when it
 * fetches from it.
 */
static void check_vmexit_behind_branch(bool taken)
{
    const uint64_t page = PAYLOAD_PAGED + 0x1000;
    const uint64_t pte = PAYLOAD_PAGED_PTE + 8;
    const uint8_t code[] = {
        0x31, 0xc0,                     /* xor %eax, %eax */
        taken ? 0x74 : 0x75, 0x10,      /* jz or jnz */
    };
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned run, first;

    prepare_guest(s, page - sizeof(code));
    pmu_poke_code(s, page - sizeof(code), code, sizeof(code));
    pmu_op(s, OP_POKE64, 0, pte, page | (TABLE & ~PRESENT));
    pmu_op(s, OP_FLUSH_TLB, 0, 0, 0);
    pmu_poke32(s, VMCB(VMCB_INTERCEPT_EXCEPTIONS), 1 << VECTOR_PF);
    count_way(s, EVTSEL_OS);
    run = pmu_op(s, OP_RUN, BLOCK_VMRUN, ENABLE_WAY, 0);
    first = read_way(s);
    pmu_run(s, PMU_CPU_SVM);

    pmu_expect(s->result[0][run].value[1], SVM_EXIT_EXCP(VECTOR_PF), "exit");
    pmu_expect(pmu_register(s, first + TAKEN), taken, "branches taken");
    pmu_expect(pmu_register(s, first + NOT_TAKEN), !taken,
               "branches not taken");
}

static void test_vmexit_behind_branch(void)
{
    check_vmexit_behind_branch(false);
    check_vmexit_behind_branch(true);
}

/* Run @code, of @length bytes, in a guest that must exit for @reason. */
static void expect_intercepted(const uint8_t *code, unsigned length,
                               uint64_t reason)
{
    /* Two bits an MSR: reads and writes (AMD64 manual vol. 2, 15.11). */
    const uint64_t fixed_ctr_ctrl = MSR_FIXED_CTR_CTRL * 2 / 8;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned run, reg;

    prepare_guest(s, GUEST_CODE);
    pmu_poke_code(s, GUEST_CODE, code, length);
    pmu_poke32(s, VMCB(VMCB_INTERCEPT), INTERCEPT_RDPMC | INTERCEPT_MSR);
    pmu_op(s, OP_POKE64, 0, VMCB(VMCB_MSRPM_BASE), SVM_MSRPM);
    pmu_op(s, OP_POKE64, 0, (SVM_MSRPM + fixed_ctr_ctrl) & ~7ull, UINT64_MAX);
    run = pmu_op(s, OP_RUN, BLOCK_VMRUN, 0, 0);
    reg = pmu_rdmsr(s, MSR_FIXED_CTR_CTRL);
    pmu_run(s, PMU_CPU_SVM);

    pmu_expect(s->result[0][run].value[1], reason, "exit");
    pmu_expect(pmu_register(s, reg), 0, "IA32_FIXED_CTR_CTRL");
}

/* A hypervisor sees what its guest does to counters before the PMU does. */
static void test_intercepts(void)
{
    static const uint8_t wrmsr[] = {
        0xb9, 0x8d, 0x03, 0x00, 0x00,   /* mov $MSR_FIXED_CTR_CTRL, %ecx */
        0xb8, 0x11, 0x01, 0x00, 0x00,   /* mov $0x111, %eax */
        0x31, 0xd2,                     /* xor %edx, %edx */
        0x0f, 0x30,                     /* wrmsr */
        0xc3,
    };
    static const uint8_t rdmsr[] = {
        0xb9, 0x8d, 0x03, 0x00, 0x00,   /* mov $MSR_FIXED_CTR_CTRL, %ecx */
        0x0f, 0x32,                     /* rdmsr */
        0xc3,
    };
    static const uint8_t rdpmc[] = {
        0x31, 0xc9,                     /* xor %ecx, %ecx */
        0x0f, 0x33,                     /* rdpmc */
        0xc3,
    };

    expect_intercepted(wrmsr, sizeof(wrmsr), SVM_EXIT_MSR);
    expect_intercepted(rdmsr, sizeof(rdmsr), SVM_EXIT_MSR);
    expect_intercepted(rdpmc, sizeof(rdpmc), SVM_EXIT_RDPMC);
}

/* Count a guest that runs @code, of @length bytes, and exits for @reason. */
static uint64_t count_guest(const uint8_t *code, unsigned length,
                            uint64_t reason, uint64_t event, bool timing)
{
    uint64_t enable = GLOBAL_GP(0) | (timing ? GLOBAL_FIXED(3) : 0);
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned run, reg;

    prepare_guest(s, GUEST_CODE);
    pmu_poke_code(s, GUEST_CODE, code, length);
    pmu_poke32(s, VMCB(VMCB_INTERCEPT), INTERCEPT_SWINT);
    count(s, 0, event, EVTSEL_OS);
    if (timing) {
        pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3));
    }
    run = pmu_op(s, OP_RUN, BLOCK_VMRUN, enable, 0);
    reg = pmu_rdpmc(s, 0);
    pmu_run(s, PMU_CPU_SVM);
    pmu_expect(s->result[0][run].value[1], reason, "exit");
    return pmu_register(s, reg);
}

/* INT n does not retire if the hypervisor intercepts it. */
static void test_intercepted_int(void)
{
    static const uint64_t events[] = { EVENT_INSTRUCTIONS, EVENT_BRANCHES };
    static const uint8_t vmmcall[] = { 0x90, 0x0f, 0x01, 0xd9 };
    static const uint8_t software[] = { 0x90, 0xcd, 0x40 };

    for (int i = 0; i < ARRAY_SIZE(events); i++) {
        for (int timing = 0; timing < 2; timing++) {
            pmu_expect(count_guest(software, sizeof(software), SVM_EXIT_SWINT,
                                   events[i], timing),
                       count_guest(vmmcall, sizeof(vmmcall), SVM_EXIT_VMMCALL,
                                   events[i], timing),
                       "as much as with VMMCALL");
        }
    }
}

/*
 * VMRUN injects INT 40H into a guest at CPL 3 that has no IDT: #GP, which is
 * intercepted.  The guest retires nothing.
 */
static void test_injected_int(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned run, reg, status;

    prepare_guest(s, GUEST_CODE);
    pmu_op(s, OP_POKE64, 0, VMCB(VMCB_SEGMENT(1)), SVM_CODE64 | SVM_CPL3);
    pmu_op(s, OP_POKE64, 0, VMCB(VMCB_SEGMENT(2)), SVM_DATA | SVM_CPL3);
    pmu_poke32(s, VMCB(VMCB_INTERCEPT_EXCEPTIONS), UINT32_MAX);
    pmu_poke32(s, VMCB(VMCB_EVENT_INJECTION), INJECT_INT(0x40));
    count(s, 0, EVENT_INSTRUCTIONS, EVTSEL_USR | EVTSEL_INT);
    pmu_poke32(s, APIC_LVTPC, LVT_NMI);
    run = pmu_op(s, OP_RUN, BLOCK_VMRUN, GLOBAL_GP(0), 0);
    reg = pmu_rdpmc(s, 0);
    status = pmu_rdmsr(s, MSR_GLOBAL_STATUS);
    pmu_run(s, PMU_CPU_SVM);
    pmu_expect(s->result[0][run].value[1], SVM_EXIT_EXCP(VECTOR_GP), "exit");
    pmu_expect(pmu_register(s, reg), 0, "instructions at CPL 3");
    pmu_expect(pmu_value(s, status), 0, "IA32_PERF_GLOBAL_STATUS");
    pmu_expect(s->progress[0].events, 0, "interrupts");
}

#define MiB             0x100000ull

/*
 * Nested paging maps the guest's data and page tables to other addresses in
 * RAM.  At the guest's own address of the tables, RAM has other tables, which
 * lead astray.
 */
#define DATA            (8 * MiB)
#define DATA_IN_RAM     (10 * MiB)
#define TABLES          (12 * MiB)
#define TABLES_IN_RAM   (14 * MiB)
#define ASTRAY          (6 * MiB)   /* PAYLOAD_DATA */

/* Write PML4, PDPT and a PD for 16 MiB to @at.  They refer to each other as if
 * they were at @base. */
static void write_tables(PmuScript *s, uint64_t at, uint64_t base)
{
    pmu_op(s, OP_POKE64, 0, at, (base + 0x1000) | TABLE);
    pmu_op(s, OP_POKE64, 0, at + 0x1000, (base + 0x2000) | TABLE);
    for (uint64_t page = 0; page < 16 * MiB; page += 2 * MiB) {
        pmu_op(s, OP_POKE64, 0, at + 0x2000 + page / (2 * MiB) * 8,
               page | LARGE);
    }
}

/* Returns the address of the entry for @page in tables at @at. */
static uint64_t table_entry(uint64_t at, uint64_t page)
{
    return at + 0x2000 + page / (2 * MiB) * 8;
}

static void prepare_nested_paging(PmuScript *s)
{
    write_tables(s, SVM_NESTED_TABLES, SVM_NESTED_TABLES);
    pmu_op(s, OP_POKE64, 0, table_entry(SVM_NESTED_TABLES, DATA),
           DATA_IN_RAM | LARGE);
    pmu_op(s, OP_POKE64, 0, table_entry(SVM_NESTED_TABLES, TABLES),
           TABLES_IN_RAM | LARGE);
    write_tables(s, TABLES_IN_RAM, TABLES);
    write_tables(s, TABLES, TABLES);
    pmu_op(s, OP_POKE64, 0, table_entry(TABLES, DATA), ASTRAY | LARGE);
    pmu_op(s, OP_POKE64, 0, VMCB(VMCB_CR3), TABLES);
    pmu_poke32(s, VMCB(VMCB_NESTED_CTL), NESTED_PAGING);
    pmu_op(s, OP_POKE64, 0, VMCB(VMCB_NESTED_CR3), SVM_NESTED_TABLES);
}

#define LINES           256     /* a third of L1D */

/*
 * Write code that reads LINES lines from @data on; no prefetcher follows it.
 * It does so in 32-bit mode, too.
 */
static void plant_read_lines(PmuScript *s, uint64_t at, uint32_t data)
{
    uint8_t code[] = {
        0xbf, 0, 0, 0, 0,               /* mov $data, %edi */
        0xb9, 0, 0, 0, 0,               /* mov $LINES, %ecx */
        0x31, 0xc0,                     /* xor %eax, %eax */
        0x8b, 0x14, 0x07,               /* mov (%rdi, %rax), %edx */
        0x05, 0x40, 0x18, 0x00, 0x00,   /* add $97 * 64, %eax */
        0x25, 0xff, 0x3f, 0x00, 0x00,   /* and $256 * 64 - 1, %eax */
        0xff, 0xc9,                     /* dec %ecx */
        0x75, 0xef,                     /* jnz to mov (%rdi, %rax) */
        0xc3,
    };

    stl_le_p(code + 1, data);
    stl_le_p(code + 6, LINES);
    pmu_poke_code(s, at, code, sizeof(code));
}

/*
 * The guest that @s has prepared reads the lines at @data.  It finds them in
 * the cache, as the host has read them where its pages are: at @in_ram.
 */
static void expect_lines_in_cache(PmuScript *s, uint64_t data, uint64_t in_ram)
{
    unsigned run, host, guest;

    plant_read_lines(s, HOST_CODE, in_ram);
    plant_read_lines(s, GUEST_CODE, data);
    count(s, 0, EVENT_L1_MISSES, EVTSEL_OS);
    pmu_op(s, OP_RUN, BLOCK_JUMP, GLOBAL_GP(0), HOST_CODE);
    host = pmu_rdpmc(s, 0);
    pmu_wrmsr(s, MSR_A_PMC(0), 0);
    run = pmu_op(s, OP_RUN, BLOCK_VMRUN, GLOBAL_GP(0), 0);
    guest = pmu_rdpmc(s, 0);
    pmu_run(s, PMU_CPU_SVM);

    pmu_expect(s->result[0][run].value[1], SVM_EXIT_VMMCALL, "exit");
    g_test_message("misses: host %" PRIu64 ", guest %" PRIu64,
                   pmu_register(s, host), pmu_register(s, guest));
    g_assert_cmpuint(pmu_register(s, host), >, LINES / 4);
    g_assert_cmpuint(pmu_register(s, guest), <, LINES / 16);
}

/*
 * The model must translate both the addresses of the guest's tables and the
 * addresses that these contain.
 */
static void test_nested_paging(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();

    prepare_guest(s, GUEST_CODE);
    prepare_nested_paging(s);
    expect_lines_in_cache(s, DATA, DATA_IN_RAM);
}

/* Page tables of the kinds that the payload itself does not use. */
#define PLAIN_TABLES    SVM_NESTED_TABLES
#define PLAIN_IN_RAM    (12 * MiB)

/* Two levels of 32-bit entries; pages of 4 KiB. */
static void map_32bit(PmuScript *s)
{
    const uint32_t code[] = { GUEST_CODE & ~0xfff, SVM_STACK & ~0xfff };
    const uint32_t table[] = { PLAIN_TABLES + 0x1000, PLAIN_TABLES + 0x2000 };

    pmu_poke32(s, PLAIN_TABLES, table[0] | TABLE);
    /* Bit 7 of the entry means nothing without CR4.PSE. */
    pmu_poke32(s, PLAIN_TABLES + DATA / (4 * MiB) * 4, table[1] | LARGE);
    for (int i = 0; i < ARRAY_SIZE(code); i++) {
        pmu_poke32(s, table[0] + code[i] / 0x1000 * 4, code[i] | TABLE);
    }
    for (unsigned offset = 0; offset < LINES * 64; offset += 0x1000) {
        pmu_poke32(s, table[1] + offset / 0x1000 * 4,
                   (PLAIN_IN_RAM + offset) | TABLE);
    }
}

/* The same, and pages of 4 MiB. */
static void map_pse(PmuScript *s)
{
    pmu_poke32(s, PLAIN_TABLES, LARGE);
    pmu_poke32(s, PLAIN_TABLES + DATA / (4 * MiB) * 4, PLAIN_IN_RAM | LARGE);
}

/*
 * Three levels of 64-bit entries; pages of 2 MiB.  The first table is aligned
 * to its 32 bytes.
 */
static void map_pae(PmuScript *s)
{
    const uint64_t pointers = PLAIN_TABLES + 0x20;
    const uint64_t directory = PLAIN_TABLES + 0x1000;

    pmu_op(s, OP_POKE64, 0, VMCB(VMCB_CR3), pointers);
    pmu_op(s, OP_POKE64, 0, pointers, directory | PRESENT);
    pmu_op(s, OP_POKE64, 0, directory, LARGE);
    pmu_op(s, OP_POKE64, 0, directory + DATA / (2 * MiB) * 8,
           PLAIN_IN_RAM | LARGE);
}

/* Long mode, and pages of 1 GiB: two for the same memory. */
static void map_gigabytes(PmuScript *s)
{
    pmu_op(s, OP_POKE64, 0, PLAIN_TABLES, (PLAIN_TABLES + 0x1000) | TABLE);
    pmu_op(s, OP_POKE64, 0, PLAIN_TABLES + 0x1000, LARGE);
    pmu_op(s, OP_POKE64, 0, PLAIN_TABLES + 0x1008, LARGE);
}

typedef struct Paging {
    const char *path;
    uint64_t code, efer, cr4;
    void (*map)(PmuScript *s);
    uint32_t data;
} Paging;

static const Paging pagings[] = {
    { "pmu/modes/paging/32-bit", SVM_CODE32, 0x1000, 0x200, map_32bit, DATA },
    { "pmu/modes/paging/pse", SVM_CODE32, 0x1000, 0x210, map_pse, DATA },
    { "pmu/modes/paging/pae", SVM_CODE32, 0x1000, 0x220, map_pae, DATA },
    { "pmu/modes/paging/1-gib", SVM_CODE64, EFER_LONG_SVM, 0x220,
      map_gigabytes, 1024 * MiB + PLAIN_IN_RAM },
};

static void test_paging(const void *data)
{
    const Paging *paging = data;
    g_autoptr(PmuScript) s = pmu_script_new();

    prepare_guest(s, GUEST_CODE);
    pmu_op(s, OP_POKE64, 0, VMCB(VMCB_SEGMENT(1)), paging->code);
    pmu_op(s, OP_POKE64, 0, VMCB(VMCB_EFER), paging->efer);
    pmu_op(s, OP_POKE64, 0, VMCB(VMCB_CR4), paging->cr4);
    pmu_op(s, OP_POKE64, 0, VMCB(VMCB_CR3), PLAIN_TABLES);
    paging->map(s);
    expect_lines_in_cache(s, paging->data, PLAIN_IN_RAM);
}

/* The model's page walks do not change either set of tables. */
static void test_nested_accessed(void)
{
    uint8_t code[] = {
        0xbf, 0, 0, 0, 0,               /* mov $DATA, %edi */
        0x48, 0x8b, 0x07,               /* mov (%rdi), %rax */
        0x80, 0x24, 0x25, 0, 0, 0, 0, (uint8_t)~ACCESSED,   /* andb $, entry */
        0x80, 0x24, 0x25, 0, 0, 0, 0, (uint8_t)~ACCESSED,   /* the nested one */
        0xc3,
    };
    const uint64_t nested = table_entry(SVM_NESTED_TABLES, DATA);
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned run, entry[2];

    stl_le_p(code + 1, DATA);
    stl_le_p(code + 11, table_entry(TABLES, DATA));
    stl_le_p(code + 19, nested);
    prepare_guest(s, GUEST_CODE);
    prepare_nested_paging(s);
    pmu_poke_code(s, GUEST_CODE, code, sizeof(code));
    count(s, 0, EVENT_L1_MISSES, EVTSEL_OS);
    run = pmu_op(s, OP_RUN, BLOCK_VMRUN, GLOBAL_GP(0), 0);
    pmu_rdpmc(s, 0);
    entry[0] = pmu_op(s, OP_PEEK64, 0, table_entry(TABLES_IN_RAM, DATA), 0);
    entry[1] = pmu_op(s, OP_PEEK64, 0, nested, 0);
    pmu_run(s, PMU_CPU_SVM);

    pmu_expect(s->result[0][run].value[1], SVM_EXIT_VMMCALL, "exit");
    pmu_expect(pmu_value(s, entry[0]), DATA | LARGE, "the guest's entry");
    pmu_expect(pmu_value(s, entry[1]), DATA_IN_RAM | LARGE, "the nested one");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    for (int i = 0; i < ARRAY_SIZE(remaps); i++) {
        qtest_add_data_func(remaps[i].path, &remaps[i], test_remap);
    }
    qtest_add_func("pmu/modes/remap/guest", test_remap_guest);
    qtest_add_func("pmu/modes/init-behind-branch", test_init_behind_branch);
    qtest_add_func("pmu/modes/vmexit-behind-branch",
                   test_vmexit_behind_branch);
    qtest_add_data_func("pmu/modes/atomic-fault/plain", PMU_CPU_NONE,
                        test_atomic_fault);
    qtest_add_data_func("pmu/modes/atomic-fault/counted", PMU_CPU_METRICS,
                        test_atomic_fault);
    qtest_add_func("pmu/modes/intercepts", test_intercepts);
    qtest_add_func("pmu/modes/intercepted-int", test_intercepted_int);
    qtest_add_func("pmu/modes/injected-int", test_injected_int);
    for (int i = 0; i < ARRAY_SIZE(pagings); i++) {
        qtest_add_data_func(pagings[i].path, &pagings[i], test_paging);
    }
    qtest_add_func("pmu/modes/nested-paging", test_nested_paging);
    qtest_add_func("pmu/modes/nested-accessed", test_nested_accessed);
    return g_test_run();
}
