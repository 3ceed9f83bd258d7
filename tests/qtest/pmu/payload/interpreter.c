/*
 * The payload of the PMU tests: executes the test's list of operations.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <stddef.h>

#include "code.h"
#include "payload.h"

#define INTERRUPT_GATE  0x8e
#define GATE_DPL3       0x60
#define TSS_AVAILABLE   0x89
#define CS64            0x08
#define DS              0x10
#define DS_USER         0x1b
#define CS64_USER       0x23
#define CS32            0x28
#define CS16            0x30
#define TSS_SELECTOR    0x40

#define MSR_FIXED_CTR3      0x30c
#define MSR_PERF_METRICS    0x329

#define MSR_EFER            0xc0000080
#define EFER_SCE            1
#define MSR_STAR            0xc0000081
#define MSR_LSTAR           0xc0000082
#define MSR_FMASK           0xc0000084

#define VECTOR_NMI      2

#define RFLAGS_FIXED    0x002
#define RFLAGS_TF       0x100
#define RFLAGS_IF       0x200

#define APIC_DM_INIT        0x500
#define APIC_DM_STARTUP     0x600
#define APIC_ASSERT         0x4000

typedef struct Gate {
    uint16_t offset_low, selector;
    uint8_t ist, type;
    uint16_t offset_middle;
    uint32_t offset_high, zero;
} Gate;

typedef struct __attribute__((packed)) Tss {
    uint32_t reserved0;
    uint64_t rsp[3];
    uint64_t reserved1[10];
    uint16_t reserved2, iopb;
} Tss;

_Static_assert(offsetof(PayloadProgress, log) == PROGRESS_LOG, "layout");
_Static_assert(offsetof(PayloadProgress, lvtpc) == PROGRESS_LVTPC, "layout");

static Gate idt[256];
static Tss tss[PAYLOAD_CPUS];

/* Volatile: interrupt handlers, the other CPU and the test write to it. */
static volatile PayloadProgress *progress_of(unsigned cpu)
{
    return (void *)(uintptr_t)(PAYLOAD_PROGRESS +
                               cpu * PAYLOAD_PROGRESS_STRIDE);
}

static void outb(uint16_t port, uint8_t value)
{
    asm volatile("outb %0, %1" : : "a" (value), "Nd" (port));
}

static void copy(uintptr_t to, const char *from, const char *end)
{
    volatile char *byte = (void *)to;

    while (from < end) {
        *byte++ = *from++;
    }
}

static void set_gate(unsigned vector, const char *handler)
{
    uint64_t entry = (uintptr_t)handler;
    uint8_t dpl = vector == VECTOR_RETURN || vector == VECTOR_RETURN + 1 ?
                  GATE_DPL3 : 0;

    idt[vector] = (Gate) {
        .offset_low = entry, .offset_middle = entry >> 16,
        .offset_high = entry >> 32,
        .selector = CS64, .type = INTERRUPT_GATE | dpl,
    };
}

/* Make a real-mode interrupt vector lead to @handler in the low code. */
static void set_real_vector(unsigned vector, const char *handler)
{
    uint32_t offset = handler - low_code + PAYLOAD_REAL_MODE;
    volatile uint32_t *ivt = NULL;

    /* The compiler must not see an access to address zero. */
    asm("" : "+r" (ivt));
    ivt[vector] = offset;
}

static void load_tables(unsigned cpu)
{
    struct __attribute__((packed)) {
        uint16_t limit;
        uint64_t base;
    } pointer = { sizeof(idt) - 1, (uintptr_t)idt };
    uint64_t base = (uintptr_t)&tss[cpu];
    uint64_t *descriptor = &gdt[TSS_SELECTOR / 8 + 2 * cpu];

    tss[cpu].rsp[0] = PAYLOAD_STACKS + cpu * PAYLOAD_STACKS_STRIDE + 0x8000;
    tss[cpu].iopb = sizeof(Tss);
    descriptor[0] = (sizeof(Tss) - 1) | (base & 0xffffff) << 16 |
                    (uint64_t)TSS_AVAILABLE << 40 | (base >> 24 & 0xff) << 56;
    descriptor[1] = base >> 32;
    asm volatile("lidt %0" : : "m" (pointer));
    asm volatile("ltr %w0" : : "r" (TSS_SELECTOR + 16 * cpu));
}

static void apic_write(uintptr_t reg, uint32_t value)
{
    *(volatile uint32_t *)reg = value;
}

static void send_ipi(unsigned apic_id, uint32_t command)
{
    apic_write(APIC_ICR_HIGH, apic_id << 24);
    apic_write(APIC_ICR_LOW, command | APIC_ASSERT);
}

static void forget_fault(volatile PayloadProgress *progress)
{
    progress->fault_vector = VECTOR_NONE;
    progress->fault_error = 0;
    progress->fault_rip = 0;
    progress->resume = 0;
}

static void note_fault(const volatile PayloadProgress *progress,
                       PayloadResult *result)
{
    result->vector = progress->fault_vector;
    result->error = progress->fault_error;
    result->rip = progress->fault_rip;
}

static void op_rdmsr(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    volatile PayloadProgress *progress = progress_of(cpu);
    uint64_t low = -1ull, high = -1ull;

    asm volatile("lea 1f(%%rip), %%rbx\n\t"
                 "mov %%rbx, %2\n\t"
                 "rdmsr\n"
                 "1:"
                 : "+a" (low), "+d" (high), "=m" (progress->resume)
                 : "c" (op->arg0) : "rbx", "memory");
    result->value[0] = low;
    result->value[1] = high;
}

static void op_wrmsr(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    volatile PayloadProgress *progress = progress_of(cpu);

    asm volatile("lea 1f(%%rip), %%rbx\n\t"
                 "mov %%rbx, %0\n\t"
                 "wrmsr\n"
                 "1:"
                 : "=m" (progress->resume)
                 : "c" (op->arg0), "a" ((uint32_t)op->a),
                   "d" ((uint32_t)(op->a >> 32))
                 : "rbx", "memory");
}

static void op_rdpmc(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    volatile PayloadProgress *progress = progress_of(cpu);
    uint64_t rax = -1ull, rdx = -1ull;

    if (op->a == RDPMC_REAL_MODE) {
        rdpmc_real_mode(op->arg0, result);
        progress->fault_vector = result->vector;
    } else if (op->a == RDPMC_CPL3) {
        progress->resume = (uintptr_t)rdpmc_resume;
        enter_cpl3((uintptr_t)rdpmc_block, op->arg0, 0, RFLAGS_FIXED,
                   result->value);
    } else {
        asm volatile("lea 1f(%%rip), %%rbx\n\t"
                     "mov %%rbx, %2\n\t"
                     "rdpmc\n"
                     "1:"
                     : "+a" (rax), "+d" (rdx), "=m" (progress->resume)
                     : "c" (op->arg0) : "rbx", "memory");
        result->value[0] = rax;
        result->value[1] = rdx;
    }
}

static void op_cpuid(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    uint32_t a, b, c, d;

    asm volatile("cpuid" : "=a" (a), "=b" (b), "=c" (c), "=d" (d)
                 : "0" (op->arg0), "2" ((uint32_t)op->a));
    result->value[0] = a | (uint64_t)b << 32;
    result->value[1] = c | (uint64_t)d << 32;
}

static void op_cr4(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    uint64_t cr4;

    asm volatile("mov %%cr4, %0" : "=r" (cr4));
    cr4 = (cr4 | op->a) & ~op->b;
    asm volatile("mov %0, %%cr4" : : "r" (cr4) : "memory");
}

static void op_poke32(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    *(volatile uint32_t *)op->a = op->b;
}

static void op_peek32(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    result->value[0] = *(volatile uint32_t *)op->a;
}

static void op_poke64(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    *(volatile uint64_t *)op->a = op->b;
}

static void op_peek64(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    result->value[0] = *(volatile uint64_t *)op->a;
}

static void op_run(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    uint64_t block = block_table[op->arg0 & RUN_BLOCK_MASK];
    uint64_t rflags = RFLAGS_FIXED |
                      (op->arg0 & RUN_IF ? RFLAGS_IF : 0) |
                      (op->arg0 & RUN_TF ? RFLAGS_TF : 0);

    if (op->arg0 & RUN_CPL3) {
        run_cpl3(block, op->b, op->a, rflags, result->value);
    } else {
        run_cpl0(block, op->b, op->a, rflags, result->value);
    }
}

static void op_sync(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    volatile PayloadProgress *progress = progress_of(cpu);

    progress->waiting = op->a;
    while (progress->go < op->a) {
        asm volatile("pause");
    }
}

static void op_init(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    send_ipi(cpu, APIC_DM_INIT);
    for (;;) {
        asm volatile("hlt");
    }
}

static void op_reset(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    outb(PAYLOAD_PORT_RESET, 0x02);
    outb(PAYLOAD_PORT_RESET, 0x06);
    for (;;) {
        asm volatile("hlt");
    }
}

static void op_start_cpu(const PayloadOp *op, PayloadResult *result,
                         unsigned cpu)
{
    send_ipi(op->a, APIC_DM_INIT);
    send_ipi(op->a, APIC_DM_STARTUP | PAYLOAD_REAL_MODE >> 12);
}

static void op_wait_cpu(const PayloadOp *op, PayloadResult *result,
                        unsigned cpu)
{
    while (!progress_of(op->a)->done) {
        asm volatile("pause");
    }
}

static void dump(const volatile void *data, unsigned size)
{
    const volatile uint8_t *byte = data;

    while (size--) {
        outb(PAYLOAD_PORT_DUMP, *byte++);
    }
}

static void op_dump(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    volatile PayloadProgress *progress = progress_of(cpu);
    PayloadResult *first = (void *)(uintptr_t)(PAYLOAD_RESULTS +
                                               cpu * PAYLOAD_RESULTS_STRIDE);
    /* The log wraps: see start.S. */
    uint64_t events = progress->events < PAYLOAD_LOG_ENTRIES
                      ? progress->events : PAYLOAD_LOG_ENTRIES;

    dump(first, (result - first) * sizeof(*result));
    dump(&events, sizeof(events));
    dump((void *)progress->log, events * sizeof(PayloadEvent));
}

static void op_exit(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    outb(PAYLOAD_PORT_EXIT, 0);
}

static void op_block(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    result->value[0] = block_table[op->arg0];
}

static void op_vector(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    result->value[0] = (uintptr_t)vector_entries + 16 * op->arg0;
}

static uint64_t rdpmc(uint32_t ecx)
{
    uint32_t low, high;

    asm volatile("rdpmc" : "=a" (low), "=d" (high) : "c" (ecx));
    return low | (uint64_t)high << 32;
}

static void wrmsr(uint32_t msr, uint64_t value)
{
    asm volatile("wrmsr" : : "c" (msr), "a" ((uint32_t)value),
                 "d" ((uint32_t)(value >> 32)));
}

/* Linux does this when it takes a TopDown group off the CPU, and on again. */
static void op_save_metrics(const PayloadOp *op, PayloadResult *result,
                            unsigned cpu)
{
    volatile uint64_t *saved = (void *)op->a;

    saved[0] = result->value[0] = rdpmc(0x40000003);
    saved[1] = result->value[1] = rdpmc(0x20000000);
}

static void op_restore_metrics(const PayloadOp *op, PayloadResult *result,
                               unsigned cpu)
{
    volatile uint64_t *saved = (void *)op->a;

    wrmsr(MSR_FIXED_CTR3, saved[0]);
    wrmsr(MSR_PERF_METRICS, saved[1]);
}

static void op_flush_tlb(const PayloadOp *op, PayloadResult *result,
                         unsigned cpu)
{
    uint64_t cr3;

    asm volatile("mov %%cr3, %0\n\tmov %0, %%cr3" : "=r" (cr3) : : "memory");
}

static void op_enable_syscall(const PayloadOp *op, PayloadResult *result,
                              unsigned cpu)
{
    uint32_t low, high;

    asm volatile("rdmsr" : "=a" (low), "=d" (high) : "c" (MSR_EFER));
    wrmsr(MSR_EFER, low | EFER_SCE);
    /* SYSRET adds 8 for data and 16 for code: gdt in start.S. */
    wrmsr(MSR_STAR, (uint64_t)DS << 48 | (uint64_t)CS64 << 32);
    wrmsr(MSR_LSTAR, (uintptr_t)syscall_entry);
    wrmsr(MSR_FMASK, 0);
}

/* OP_TRANSLATE writes code to slots, or to one that ends in the second page. */
#define PAGE            0x1000
#define SLOT            32
#define SLOTS           (PAGE / SLOT)
#define VECTOR_DE       0
#define INT3            0xcc    /* ends a translation block in each mode */
#define DIV_CL          0xf1f6  /* does not end one; CL = 0 raises #DE */

#define MOD_MEMORY      0x01    /* [RCX], [ECX] or [BX + DI] */
#define MOD_REGISTER    0xc2

typedef struct Translator {
    PayloadResult *result;
    uint64_t cs, ss;
    unsigned split;             /* TRANSLATE_SPLIT, or 0 */
    unsigned slots;             /* that are written, but not translated */
} Translator;

static uint8_t *slot_address(const Translator *t, unsigned slot)
{
    return (uint8_t *)(uintptr_t)(t->split
                                  ? PAYLOAD_CODE + PAGE - 2 - t->split
                                  : PAYLOAD_CODE + slot * SLOT);
}

/*
 * Have all slots translated that are written.  They are written first, as QEMU
 * forgets the code of a page that is written to.
 */
static void translate_slots(Translator *t)
{
    for (unsigned slot = 0; slot < t->slots; slot++) {
        uintptr_t rip = (uintptr_t)slot_address(t, slot);

        *(volatile uint64_t *)&t->result->value[1] = rip;
        translate(rip, t->cs, t->ss);
        t->result->value[0]++;
    }
    t->slots = 0;
}

/* Write a slot: DIV CL, which raises #DE, then @code, then INT3 to its end. */
static void write_slot(Translator *t, const uint8_t *code, unsigned length)
{
    uint8_t *byte = slot_address(t, t->slots++);

    *(uint16_t *)byte = DIV_CL;
    for (unsigned i = 2; i < SLOT; i++) {
        byte[i] = i < length + 2 ? code[i - 2] : INT3;
    }
    if (t->split || t->slots == SLOTS) {
        translate_slots(t);
    }
}

static void translate_opcode(Translator *t, const PayloadOp *op,
                             uint8_t opcode, uint8_t modrm)
{
    unsigned map = (op->arg0 & TRANSLATE_MAP_MASK) >> TRANSLATE_MAP_SHIFT;
    uint8_t code[TRANSLATE_MAX_PREFIXES + 5];
    unsigned length = 0;

    if (op->arg0 & TRANSLATE_VEX) {
        code[length++] = 0xc4;
        code[length++] = (op->b & 0xe0) | map;
        code[length++] = op->b >> 8;
    } else {
        for (uint64_t prefixes = op->b; prefixes; prefixes >>= 8) {
            code[length++] = prefixes;
        }
        if (map > 0) {
            code[length++] = 0x0f;
        }
        if (map > 1) {
            code[length++] = map == 2 ? 0x38 : 0x3a;
        }
    }
    code[length++] = opcode;
    code[length++] = modrm;
    code[length++] = op->a;
    write_slot(t, code, length);
}

static void op_translate(const PayloadOp *op, PayloadResult *result,
                         unsigned cpu)
{
    static const uint64_t segments[] = {
        [TRANSLATE_64] = CS64, [TRANSLATE_32] = CS32, [TRANSLATE_16] = CS16,
        [TRANSLATE_64_CPL3] = CS64_USER,
    };
    unsigned mode = op->arg0 & TRANSLATE_MODE_MASK;
    Translator t = {
        .result = result, .cs = segments[mode],
        .ss = mode == TRANSLATE_64_CPL3 ? DS_USER : DS,
        .split = (op->arg0 & TRANSLATE_SPLIT_MASK) >> TRANSLATE_SPLIT_SHIFT,
    };

    result->value[0] = 0;
    set_gate(VECTOR_DE, translate_fault);
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        for (unsigned modrm = 0; modrm < 256; modrm++) {
            if (op->arg0 & TRANSLATE_ALL_MODRM ||
                (modrm & 0xc7) == MOD_MEMORY ||
                (modrm & 0xc7) == MOD_REGISTER) {
                translate_opcode(&t, op, opcode, modrm);
            }
        }
    }
    translate_slots(&t);
    set_gate(VECTOR_DE, vector_entries + 16 * VECTOR_DE);
}

/* Enable x87, XMM and YMM state.  OP_CR4 has set OSXSAVE. */
static void op_enable_avx(const PayloadOp *op, PayloadResult *result,
                          unsigned cpu)
{
    asm volatile("xsetbv" : : "c" (0), "a" (7), "d" (0));
}

static void op_space(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    uintptr_t other = PAYLOAD_OTHER_SPACE;
    uint64_t cr3 = op->a ? other : PAYLOAD_PAGE_TABLES;

    copy(other, (const char *)PAYLOAD_PAGE_TABLES,
         (const char *)PAYLOAD_PAGE_TABLES + PAGE);
    asm volatile("mov %0, %%cr3" : : "r" (cr3) : "memory");
}

static void op_steps(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    set_gate(VECTOR_NMI, take_steps);
}

static void op_rdtsc(const PayloadOp *op, PayloadResult *result, unsigned cpu)
{
    uint32_t low, high;

    asm volatile("rdtsc" : "=a" (low), "=d" (high));
    result->value[0] = low | (uint64_t)high << 32;
}

static void op_breakpoint(const PayloadOp *op, PayloadResult *result,
                          unsigned cpu)
{
    asm volatile("mov %0, %%db0" : : "r" (op->a));
    asm volatile("mov %0, %%db7" : : "r" (op->b));
}

typedef void Operation(const PayloadOp *op, PayloadResult *result,
                       unsigned cpu);

static Operation *const operations[] = {
    [OP_RDMSR] = op_rdmsr,
    [OP_WRMSR] = op_wrmsr,
    [OP_RDPMC] = op_rdpmc,
    [OP_CPUID] = op_cpuid,
    [OP_CR4] = op_cr4,
    [OP_POKE32] = op_poke32,
    [OP_PEEK32] = op_peek32,
    [OP_POKE64] = op_poke64,
    [OP_PEEK64] = op_peek64,
    [OP_RUN] = op_run,
    [OP_SYNC] = op_sync,
    [OP_INIT] = op_init,
    [OP_RESET] = op_reset,
    [OP_START_CPU] = op_start_cpu,
    [OP_WAIT_CPU] = op_wait_cpu,
    [OP_DUMP] = op_dump,
    [OP_EXIT] = op_exit,
    [OP_BLOCK] = op_block,
    [OP_FLUSH_TLB] = op_flush_tlb,
    [OP_BREAKPOINT] = op_breakpoint,
    [OP_VECTOR] = op_vector,
    [OP_ENABLE_SYSCALL] = op_enable_syscall,
    [OP_TRANSLATE] = op_translate,
    [OP_ENABLE_AVX] = op_enable_avx,
    [OP_SPACE] = op_space,
    [OP_STEPS] = op_steps,
    [OP_RDTSC] = op_rdtsc,
    [OP_SAVE_METRICS] = op_save_metrics,
    [OP_RESTORE_METRICS] = op_restore_metrics,
};

static uint64_t run_script(unsigned cpu)
{
    volatile PayloadProgress *progress = progress_of(cpu);
    const PayloadOp *script = (void *)(uintptr_t)
        (PAYLOAD_SCRIPT + cpu * PAYLOAD_SCRIPT_STRIDE);
    PayloadResult *results = (void *)(uintptr_t)
        (PAYLOAD_RESULTS + cpu * PAYLOAD_RESULTS_STRIDE);

    for (;;) {
        uint64_t index = progress->next;
        const PayloadOp *op = &script[index];

        if (op->code == OP_END) {
            return DONE_OK;
        }
        if (op->code >= sizeof(operations) / sizeof(operations[0])) {
            return DONE_BAD_OPERATION;
        }
        /* After INIT and RESET, the script goes on with the next operation. */
        progress->next = index + 1;
        forget_fault(progress);
        operations[op->code](op, &results[index], cpu);
        note_fault(progress, &results[index]);
    }
}

void payload_main(unsigned cpu)
{
    volatile PayloadProgress *progress = progress_of(cpu);

    if (cpu == 0) {
        for (unsigned vector = 0; vector < 256; vector++) {
            set_gate(vector, vector_entries + 16 * vector);
        }
        copy(PAYLOAD_REAL_MODE, low_code, low_code_end);
        copy(PAYLOAD_SMI_ENTRY, smi_code, smi_code_end);
        set_real_vector(13, low_gp);
        set_real_vector(6, low_ud);
    }
    load_tables(cpu);
    apic_write(APIC_SPIV, 0x1ff);
    progress->log = PAYLOAD_LOG + cpu * PAYLOAD_LOG_STRIDE;
    progress->done = run_script(cpu);
}
