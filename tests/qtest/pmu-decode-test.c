/*
 * Test that no encoding ends QEMU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A process in the guest chooses the bytes that QEMU's decoder reads.  If these
 * fail an assertion there, the machine ends.  The payload has QEMU translate
 * each opcode of each map with each combination of prefixes.  An instruction
 * before them faults, so that none is executed.  Only encodings that QEMU once
 * mistook for others are tested for what they do.
 *
 * "-m slow" adds further prefixes, all ModRM bytes and several immediates.
 */

#include "qemu/osdep.h"

#include "pmu/machine.h"

/* A CPU that has all instructions of TCG. */
#define CPU_ALL     "-cpu max,check=off "

#define CR4_OSXSAVE 0x40000

/* Last two bytes of a three-byte VEX; all but L, W and pp is inverted. */
#define VEX(vvvv, l, w, pp) \
    (0xe0 | ((w) << 7 | (~(vvvv) & 15) << 3 | (l) << 2 | (pp)) << 8)

typedef struct Enumeration {
    const char *name;
    const char *cpu;
    unsigned mode;
    bool vex, counted;
    unsigned split;
} Enumeration;

static const Enumeration enumerations[] = {
    { "64-bit", CPU_ALL, TRANSLATE_64 },
    { "64-bit-vex", CPU_ALL, TRANSLATE_64, .vex = true },
    { "64-bit-cpl3", CPU_ALL, TRANSLATE_64_CPL3 },
    { "32-bit", CPU_ALL, TRANSLATE_32 },
    { "32-bit-vex", CPU_ALL, TRANSLATE_32, .vex = true },
    { "16-bit", CPU_ALL, TRANSLATE_16 },
    { "16-bit-vex", CPU_ALL, TRANSLATE_16, .vex = true },
    { "counted-64-bit", PMU_CPU_METRICS, TRANSLATE_64, .counted = true },
    { "counted-64-bit-vex", PMU_CPU_METRICS, TRANSLATE_64, .vex = true,
      .counted = true },
    { "counted-16-bit", PMU_CPU_METRICS, TRANSLATE_16, .counted = true },
    { "split-1", CPU_ALL, TRANSLATE_64, .split = 1 },
    { "split-2", CPU_ALL, TRANSLATE_64, .split = 2 },
    { "split-3", CPU_ALL, TRANSLATE_64, .split = 3 },
};

/* OP_TRANSLATE's b: the first prefix is in the lowest byte. */
static const uint64_t prefixes[] = { 0, 0x66, 0xf3, 0xf0 };
static const uint64_t more_prefixes[] = {
    0xf2, 0x48, 0x67, 0x45, 0x4d, 0x4866, 0x48f2, 0x48f3, 0x48f0, 0x66f2,
        0x66f3, 0x66f0,
    0x67f3, 0x67f0, 0xf0f2, 0xf0f3, 0x26, 0x64, 0x4867, 0x6667,
    0x6666666666666666,
};
static const unsigned immediates[] = { 0xcc, 0x00, 0x3f };

static void translate(PmuScript *s, const Enumeration *row, unsigned arg0,
                      uint64_t b)
{
    unsigned number = g_test_slow() ? ARRAY_SIZE(immediates) : 1;

    arg0 |= row->mode | TRANSLATE_SPLIT(row->split) |
            (g_test_slow() ? TRANSLATE_ALL_MODRM : 0);
    for (int i = 0; i < number; i++) {
        pmu_op(s, OP_TRANSLATE, arg0, immediates[i], b);
    }
}

static void translate_vex(PmuScript *s, const Enumeration *row)
{
    for (unsigned map = 1; map <= 3; map++) {
        /* Without "-m slow" neither VEX.W nor VEX.vvvv is set. */
        for (unsigned i = 0; i < (g_test_slow() ? 32 : 8); i++) {
            translate(s, row, TRANSLATE_VEX | TRANSLATE_MAP(map),
                      VEX(i >> 4, i >> 2 & 1, i >> 3 & 1, i & 3));
        }
    }
}

static void translate_legacy(PmuScript *s, const Enumeration *row)
{
    for (unsigned map = 0; map <= 3; map++) {
        for (int i = 0; i < (row->split ? 1 : ARRAY_SIZE(prefixes)); i++) {
            translate(s, row, TRANSLATE_MAP(map), prefixes[i]);
        }
        for (int i = 0; g_test_slow() && i < ARRAY_SIZE(more_prefixes); i++) {
            translate(s, row, TRANSLATE_MAP(map), more_prefixes[i]);
        }
    }
}

/* Returns a pointer to @address of the guest's memory, which is a file. */
static void *memory_at(GMappedFile *memory, uint64_t address)
{
    return g_mapped_file_get_contents(memory) + address;
}

/* Report at which bytes QEMU died, or that it translated all. */
static void look_at_results(const PmuScript *s, GMappedFile *memory)
{
    PayloadResult *results = memory_at(memory, PAYLOAD_RESULTS);
    uint64_t number = 0;

    for (unsigned i = 0; i < s->num_ops[0]; i++) {
        const PayloadOp *op = &s->op[0][i];
        bool all = op->arg0 & TRANSLATE_ALL_MODRM;
        uint64_t last = results[i].value[1];

        if (op->code != OP_TRANSLATE) {
            continue;
        }
        number += results[i].value[0];
        if (results[i].value[0] != 256 * (all ? 256 : 16)) {
            GString *text = g_string_new(NULL);
            const uint8_t *code = last ? memory_at(memory, last) : NULL;

            for (int k = 2; code && k < 18; k++) {
                g_string_append_printf(text, " %02x", code[k]);
            }
            g_test_message("in mode %u of OP_TRANSLATE, QEMU ended at%s",
                           op->arg0 & TRANSLATE_MODE_MASK, text->str);
            g_test_fail();
            g_string_free(text, true);
            return;
        }
    }
    g_test_message("%" PRIu64 " encodings", number);
}

static void test_enumeration(const void *data)
{
    const Enumeration *row = data;
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autoptr(GMappedFile) memory = NULL;
    g_autoptr(GBytes) dump = NULL;
    g_autoptr(GError) err = NULL;
    g_autofree char *args = NULL, *path = NULL;
    PmuMachine machine;

    pmu_op(s, OP_CR4, 0, CR4_OSXSAVE, 0);
    pmu_op(s, OP_ENABLE_AVX, 0, 0, 0);
    if (row->counted) {
        pmu_wrmsr(s, MSR_FIXED_CTR_CTRL, FIXED_ALL(3));
        pmu_wrmsr(s, MSR_GLOBAL_CTRL, GLOBAL_FIXED(3));
    }
    if (row->vex) {
        translate_vex(s, row);
    } else {
        translate_legacy(s, row);
    }
    pmu_op(s, OP_EXIT, 0, 0, 0);

    pmu_prepare(&machine, s);
    path = g_build_filename(machine.dir, "memory", NULL);
    args = g_strdup_printf("%s -machine memory-backend=memory -object "
                           "memory-backend-file,id=memory,share=on,size=%dM,"
                           "mem-path=%s", row->cpu, PAYLOAD_MEMORY_MB, path);
    dump = pmu_run_prepared(&machine, args);
    memory = g_mapped_file_new(path, false, &err);
    g_assert_no_error(err);
    look_at_results(s, memory);
    pmu_remove(&machine);
}

typedef struct Fault {
    const char *name;
    uint8_t code[8];
    unsigned length;
    unsigned vector;
} Fault;

/* Encodings and their vectors: SDM vol. 2; one without a row raises #UD. */
static const Fault faults[] = {
    /* VPINSRW xmm0, xmm1, eax, 0 */
    { "vpinsrw", { 0xc5, 0xf1, 0xc4, 0xc0, 0x00 }, 5, VECTOR_NONE },
    /* The same without 66: PINSRW of an MMX register has no VEX form. */
    { "vpinsrw-np", { 0xc5, 0xf0, 0xc4, 0xc0, 0x00 }, 5, VECTOR_UD },
    { "vpinsrw-256", { 0xc5, 0xf5, 0xc4, 0xc0, 0x00 }, 5, VECTOR_UD },
    { "vpinsrw-np-256", { 0xc5, 0xf4, 0xc4, 0xc0, 0x00 }, 5, VECTOR_UD },
    /* VPADDB xmm0, xmm1, xmm2 and without 66 */
    { "vpaddb", { 0xc5, 0xf1, 0xfc, 0xc2 }, 4, VECTOR_NONE },
    { "vpaddb-np", { 0xc5, 0xf0, 0xfc, 0xc2 }, 4, VECTOR_UD },
    /* MOVD mm0, eax */
    { "movd", { 0x0f, 0x6e, 0xc0 }, 3, VECTOR_NONE },
    { "vmovd-np", { 0xc5, 0xf8, 0x6e, 0xc0 }, 4, VECTOR_UD },
    /* VROUNDSS and VROUNDSD ignore VEX.L. */
    { "vroundss", { 0xc4, 0xe3, 0x71, 0x0a, 0xc2, 0x00 }, 6, VECTOR_NONE },
    { "vroundss-256", { 0xc4, 0xe3, 0x75, 0x0a, 0xc2, 0x00 }, 6,
      VECTOR_NONE },
    { "vroundsd-256", { 0xc4, 0xe3, 0x75, 0x0b, 0xc2, 0x00 }, 6,
      VECTOR_NONE },
};

/* MOV QWORD PTR GS:[PROGRESS_RESUME], address */
static const uint8_t set_resume[] = {
    0x65, 0x48, 0xc7, 0x04, 0x25, PROGRESS_RESUME, 0, 0, 0
};
#define RET 0xc3

static void test_fault(const void *data)
{
    const Fault *row = data;
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autoptr(GByteArray) code = g_byte_array_new();
    uint32_t resume = PAYLOAD_DATA + sizeof(set_resume) + sizeof(resume) +
                      row->length;
    const uint8_t end[4] = { RET };
    unsigned run;

    g_byte_array_append(code, set_resume, sizeof(set_resume));
    g_byte_array_append(code, (uint8_t *)&resume, sizeof(resume));
    g_byte_array_append(code, row->code, row->length);
    g_byte_array_append(code, end, sizeof(end));
    for (unsigned i = 0; i + 4 <= code->len; i += 4) {
        uint32_t word;

        memcpy(&word, code->data + i, sizeof(word));
        pmu_poke32(s, PAYLOAD_DATA + i, GUINT32_FROM_LE(word));
    }
    pmu_op(s, OP_CR4, 0, CR4_OSXSAVE, 0);
    pmu_op(s, OP_ENABLE_AVX, 0, 0, 0);
    run = pmu_op(s, OP_RUN, BLOCK_JUMP, 0, PAYLOAD_DATA);
    pmu_run(s, CPU_ALL);
    pmu_expect(pmu_vector(s, run), row->vector, "vector raised by %s",
               row->name);
}

/* Arithmetic flags (SDM vol. 1, 3.4.3.1). */
#define FLAGS_ARITHMETIC    0x8d5
#define FLAG_CF             0x001
#define FLAG_PF             0x004
#define FLAG_AF             0x010
#define FLAG_SF             0x080
#define FLAG_IF             0x200
#define FLAG_RF             0x10000

static void plant(PmuScript *s, const uint8_t *code, unsigned length)
{
    for (unsigned i = 0; i < length; i++) {
        pmu_poke32(s, PAYLOAD_DATA + i, code[i]);
    }
}

/*
 * REP INSB in user mode raises #GP, as the TSS permits no such high port.  It
 * leaves the flags as CMP has set them.
 */
static void test_flags_of_rep_ins(void)
{
    static const uint8_t code[] = {
        0x65, 0x48, 0xc7, 0x04, 0x25,           /* movq $, %gs: */
        PROGRESS_RESUME, 0, 0, 0, 25, 0x00, 0x60, 0x00,
        0xba, 0xff, 0xff, 0x00, 0x00,           /* mov $0xffff, %edx */
        0x31, 0xc0,                             /* xor %eax, %eax */
        0x83, 0xf8, 0x01,                       /* cmp $1, %eax */
        0xf3, 0x6c,                             /* rep insb */
        0x9c, 0x5b,                             /* pushfq; pop %rbx */
        0xc3,
    };
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned run;

    QEMU_BUILD_BUG_ON(PAYLOAD_DATA != 0x600000);
    plant(s, code, sizeof(code));
    run = pmu_op(s, OP_RUN, BLOCK_JUMP | RUN_CPL3, 0, PAYLOAD_DATA);
    pmu_run(s, PMU_CPU_NONE);
    pmu_expect(pmu_vector(s, run), VECTOR_GP, "vector of REP INSB");
    pmu_expect(s->result[0][run].value[0] & FLAGS_ARITHMETIC,
               FLAG_CF | FLAG_PF | FLAG_AF | FLAG_SF, "flags behind it");
}

/*
 * SETO to a page that is not present has no effect before the page fault: it
 * leaves the flags as SUB has set them.
 */
static void test_flags_of_setcc(void)
{
    static const uint8_t code[] = {
        0x31, 0xc0,                             /* xor %eax, %eax */
        0x83, 0xe8, 0xff,                       /* sub $-1, %eax */
        0x0f, 0x90, 0x04, 0x25, 0, 0, 0x40, 0,  /* seto PAYLOAD_PAGED */
        0x9c, 0x5b,                             /* pushfq; pop %rbx */
        0xc3,
    };
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned run;

    QEMU_BUILD_BUG_ON(PAYLOAD_PAGED != 0x400000);
    plant(s, code, sizeof(code));
    /* The page is not present; the handler of the page fault maps it. */
    pmu_op(s, OP_POKE64, 0, PAYLOAD_PAGED_PTE, PAYLOAD_PAGED + 6);
    pmu_op(s, OP_FLUSH_TLB, 0, 0, 0);
    pmu_set(s, PROGRESS_MAP, PAYLOAD_PAGED_PTE);
    run = pmu_op(s, OP_RUN, BLOCK_JUMP, 0, PAYLOAD_DATA);
    pmu_run(s, PMU_CPU_NONE);
    pmu_expect(s->progress[0].events, 1, "page faults");
    pmu_expect(s->result[0][run].value[0] & FLAGS_ARITHMETIC,
               FLAG_CF | FLAG_AF, "flags behind SETO");
}

/*
 * The RFLAGS that an external interrupt saves have RF as it was, 0 (SDM vol.
 * 3B, 18.3.1.1).  With 1, a breakpoint at the instruction to which the handler
 * returns would be lost.
 */
static void test_flags_of_interrupt(void)
{
    static const uint8_t code[] = {
        0x9c,                                   /* pushfq */
        0x48, 0x83, 0xec, 0x10,                 /* sub $16, %rsp */
        0x0f, 0x01, 0x0c, 0x24,                 /* sidt (%rsp) */
        0x48, 0x8b, 0x7c, 0x24, 0x02,           /* mov 2(%rsp), %rdi */
        0x48, 0x83, 0xc4, 0x10,                 /* add $16, %rsp */
        0x48, 0x8d, 0x05, 0x39, 0, 0, 0,        /* lea handler, %rax */
        0x48, 0x81, 0xc7, 0x10, 0x08, 0, 0,     /* add $0x81 * 16, %rdi */
        0x66, 0x89, 0x07,                       /* mov %ax, (%rdi) */
        0x48, 0xc1, 0xe8, 0x10,                 /* shr $16, %rax */
        0x66, 0x89, 0x47, 0x06,                 /* mov %ax, 6(%rdi) */
        0x48, 0xc1, 0xe8, 0x10,                 /* shr $16, %rax */
        0x89, 0x47, 0x08,                       /* mov %eax, 8(%rdi) */
        0xbe, 0, 0, 0xe0, 0xfe,                 /* mov $APIC, %esi */
        /* movl $0x1ff, SVR(%rsi); movl $SELF | 0x81, ICR(%rsi) */
        0xc7, 0x86, 0xf0, 0, 0, 0, 0xff, 0x01, 0, 0,
        0xc7, 0x86, 0, 0x03, 0, 0, 0x81, 0, 0x04, 0,
        0x31, 0xdb,                             /* xor %ebx, %ebx */
        0xfb, 0x90, 0x90,                       /* sti; nop; nop */
        0x9d, 0xc3,                             /* popfq; ret */
        /* handler: */
        0x48, 0x8b, 0x5c, 0x24, 0x10,           /* mov 16(%rsp), %rbx */
        0xc7, 0x86, 0xb0, 0, 0, 0, 0, 0, 0, 0,  /* movl $0, EOI(%rsi) */
        0x48, 0xcf,                             /* iretq */
    };
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned run;

    plant(s, code, sizeof(code));
    run = pmu_op(s, OP_RUN, BLOCK_JUMP, 0, PAYLOAD_DATA);
    pmu_run(s, PMU_CPU_NONE);
    pmu_expect(s->result[0][run].value[0] & (FLAG_IF | FLAG_RF), FLAG_IF,
               "flags that an interrupt saves");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    for (int i = 0; i < ARRAY_SIZE(enumerations); i++) {
        g_autofree char *path = g_strdup_printf("pmu/decode/survives/%s",
                                                enumerations[i].name);

        qtest_add_data_func(path, &enumerations[i], test_enumeration);
    }
    for (int i = 0; i < ARRAY_SIZE(faults); i++) {
        g_autofree char *path = g_strdup_printf("pmu/decode/faults/%s",
                                                faults[i].name);

        qtest_add_data_func(path, &faults[i], test_fault);
    }
    qtest_add_func("pmu/decode/flags/rep-ins", test_flags_of_rep_ins);
    qtest_add_func("pmu/decode/flags/setcc", test_flags_of_setcc);
    qtest_add_func("pmu/decode/flags/interrupt", test_flags_of_interrupt);
    return g_test_run();
}
