/*
 * Test MOVDIRI and MOVDIR64B.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The test uses the PMU tests' payload, as that runs code that a test has
 * written to its memory.
 */

#include "qemu/osdep.h"

#include "hw/dma/intel_dsa_regs.h"
#include "intel-dsa/machine.h"
#include "pmu/machine.h"

#define CPU_PLAIN   "-cpu max,movdiri=on,movdir64b=on,check=off "
#define CPU_COUNTED \
    "-cpu Icelake-Server,+perf-metrics,+movdiri,+movdir64b,check=off "
#define CPU_WITHOUT "-cpu Icelake-Server,check=off "

/* Addresses of code and data */
#define CODE        PAYLOAD_DATA
#define FROM        (PAYLOAD_DATA + 0x1024)
#define TO          (PAYLOAD_DATA + 0x2000)

/* Submissions of each CPU: more than a WQ and an engine hold */
#define SUBMISSIONS 2000

/* MOV QWORD PTR GS:[PROGRESS_RESUME], address */
static const uint8_t set_resume[] = {
    0x65, 0x48, 0xc7, 0x04, 0x25, PROGRESS_RESUME, 0, 0, 0
};

static void append(GByteArray *code, const void *bytes, unsigned length)
{
    g_byte_array_append(code, bytes, length);
}

static void append32(GByteArray *code, uint8_t opcode, uint32_t value)
{
    value = GUINT32_TO_LE(value);
    append(code, &opcode, 1);
    append(code, &value, sizeof(value));
}

static void poke(PmuScript *s, uint64_t address, const GByteArray *code)
{
    for (unsigned i = 0; i < code->len; i += 4) {
        uint32_t word = 0;

        memcpy(&word, code->data + i, MIN(4, code->len - i));
        pmu_poke32(s, address + i, GUINT32_FROM_LE(word));
    }
}

/*
 * Execute @insn with EAX = @to and EDX = @from.  Returns the index of the
 * operation, whose vector is that of the instruction.
 */
static unsigned run(PmuScript *s, const uint8_t *insn, unsigned length,
                    uint32_t to, uint32_t from)
{
    g_autoptr(GByteArray) code = g_byte_array_new();
    uint32_t resume = CODE + sizeof(set_resume) + 4 + 10 + length;

    append(code, set_resume, sizeof(set_resume));
    append(code, &resume, sizeof(resume));
    append32(code, 0xb8, to);
    append32(code, 0xba, from);
    append(code, insn, length);
    append(code, "\xc3", 1);
    poke(s, CODE, code);
    return pmu_op(s, OP_RUN, BLOCK_JUMP, 0, CODE);
}

typedef struct Case {
    const char *name;
    const char *cpu;
    uint8_t insn[8];
    unsigned length;
    uint32_t to;
    unsigned vector;
    unsigned bytes;             /* that the instruction stores */
} Case;

static const Case cases[] = {
    { "movdir64b", CPU_PLAIN, { 0x66, 0x0f, 0x38, 0xf8, 0x02 }, 5, TO,
      VECTOR_NONE, 64 },
    { "movdir64b-counted", CPU_COUNTED, { 0x66, 0x0f, 0x38, 0xf8, 0x02 }, 5,
      TO, VECTOR_NONE, 64 },
    { "movdir64b-smp", CPU_PLAIN "-smp 2 ",
      { 0x66, 0x0f, 0x38, 0xf8, 0x02 }, 5, TO, VECTOR_NONE, 64 },
    /* With an address of 32 bits */
    { "movdir64b-addr32", CPU_PLAIN,
      { 0x67, 0x66, 0x0f, 0x38, 0xf8, 0x02 }, 6, TO, VECTOR_NONE, 64 },
    { "movdir64b-misaligned", CPU_PLAIN, { 0x66, 0x0f, 0x38, 0xf8, 0x02 }, 5,
      TO + 8, VECTOR_GP, 0 },
    { "movdir64b-misaligned-32", CPU_PLAIN,
      { 0x66, 0x0f, 0x38, 0xf8, 0x02 }, 5, TO + 32, VECTOR_GP, 0 },
    { "movdir64b-without", CPU_WITHOUT, { 0x66, 0x0f, 0x38, 0xf8, 0x02 }, 5,
      TO, VECTOR_UD, 0 },
    { "movdir64b-register", CPU_PLAIN, { 0x66, 0x0f, 0x38, 0xf8, 0xc2 }, 5,
      TO, VECTOR_UD, 0 },
    { "movdir64b-lock", CPU_PLAIN,
      { 0xf0, 0x66, 0x0f, 0x38, 0xf8, 0x02 }, 6, TO, VECTOR_UD, 0 },
    { "movdir64b-no-prefix", CPU_PLAIN, { 0x0f, 0x38, 0xf8, 0x02 }, 4, TO,
      VECTOR_UD, 0 },
    /*
     * MOVDIRI DWORD PTR [RAX], EDX and QWORD PTR [RAX], RDX.  In TCG, they
     * differ from MOV only in their encoding.
     */
    { "movdiri", CPU_PLAIN, { 0x0f, 0x38, 0xf9, 0x10 }, 4, TO, VECTOR_NONE,
      0 },
    { "movdiri-misaligned", CPU_PLAIN, { 0x0f, 0x38, 0xf9, 0x10 }, 4, TO + 1,
      VECTOR_NONE, 0 },
    { "movdiri-66", CPU_PLAIN, { 0x66, 0x0f, 0x38, 0xf9, 0x10 }, 5, TO,
      VECTOR_UD, 0 },
    { "movdiri-register", CPU_PLAIN, { 0x0f, 0x38, 0xf9, 0xd0 }, 4, TO,
      VECTOR_UD, 0 },
    { "movdiri-without", CPU_WITHOUT, { 0x0f, 0x38, 0xf9, 0x10 }, 4, TO,
      VECTOR_UD, 0 },
};

static void test_case(const void *data)
{
    const Case *c = data;
    g_autoptr(PmuScript) s = pmu_script_new();
    unsigned op, word[9];
    bool movdiri = g_str_has_prefix(c->name, "movdiri");

    for (unsigned i = 0; i < 9; i++) {
        pmu_op(s, OP_POKE64, 0, FROM + i * 8, 0x1111111111111111 * i + 0x77);
        pmu_op(s, OP_POKE64, 0, TO + i * 8, 0xfefe);
    }
    op = run(s, c->insn, c->length, c->to, FROM);
    for (unsigned i = 0; i < 9; i++) {
        word[i] = pmu_op(s, OP_PEEK64, 0, TO + i * 8, 0);
    }
    pmu_run(s, c->cpu);
    pmu_expect(pmu_vector(s, op), c->vector, "vector raised by %s", c->name);
    for (unsigned i = 0; i < 9; i++) {
        uint64_t want = i * 8 < c->bytes ? 0x1111111111111111 * i + 0x77 :
                        0xfefe;

        if (movdiri && c->vector == VECTOR_NONE && i == 0) {
            want = c->to == TO ? FROM : (uint64_t)FROM << 8 | 0xfe;
        }
        pmu_expect(pmu_value(s, word[i]), want, "word %u after %s", i,
                   c->name);
    }
}

/*
 * Two CPUs submit to the same address of a portal at once.  The device accepts
 * each store as a whole, or drops it if the WQ is full.  It would drop the
 * parts of a store that was split.
 */
static void test_portal(void)
{
    g_autoptr(PmuScript) s = pmu_script_new();
    const uint32_t portal = DSA_PORTALS + DSA_PORTAL_PAGE;
    g_autoptr(GByteArray) code = g_byte_array_new();
    uint64_t accepted, dropped;
    PmuMachine machine;

    append32(code, 0xb8, portal);
    append32(code, 0xba, FROM & ~0x3f);
    append32(code, 0xb9, SUBMISSIONS);
    /* MOVDIR64B RAX, [RDX]; DEC ECX; JNZ; RET */
    append(code, "\x66\x0f\x38\xf8\x02\xff\xc9\x75\xf7\xc3", 10);
    /* A NOOP without a record */
    for (unsigned i = 0; i < 8; i++) {
        pmu_op(s, OP_POKE64, 0, (FROM & ~0x3f) + i * 8, 0);
    }
    poke(s, CODE, code);
    pmu_op(s, OP_SYNC, 0, 1, 0);
    pmu_op(s, OP_START_CPU, 0, 1, 0);
    pmu_op(s, OP_RUN, BLOCK_JUMP, 0, CODE);
    pmu_op(s, OP_WAIT_CPU, 0, 1, 0);
    s->cpu = 1;
    pmu_op(s, OP_RUN, BLOCK_JUMP, 0, CODE);
    s->cpu = 0;
    pmu_start(&machine, s, CPU_PLAIN "-smp 2 -device intel-dsa,addr=4");
    pmu_wait_for(&machine, 1);
    dsa_map(machine.qts);
    dsa_configure(machine.qts, 1, 1, 128);
    dsa_writeq(machine.qts, DSA_PERFMON_BASE + DSA_CNTRCFG,
               0x10ull << 32 | 1);
    dsa_writeq(machine.qts, DSA_PERFMON_BASE + DSA_CNTRCFG + 8,
               0x20ull << 32 | 1);
    dsa_enable(machine.qts, 1);
    pmu_go(&machine, 1);
    pmu_wait_done(&machine, 2);
    accepted = dsa_readq(machine.qts, DSA_PERFMON_BASE + DSA_CNTRDATA);
    dropped = dsa_readq(machine.qts, DSA_PERFMON_BASE + DSA_CNTRDATA + 8);
    pmu_stop(&machine);
    g_assert_cmpuint(accepted, >, 0);
    g_assert_cmpuint(accepted + dropped, ==, 2 * SUBMISSIONS);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        g_autofree char *path = g_strdup_printf("pmu/direct-store/%s",
                                                cases[i].name);

        qtest_add_data_func(path, &cases[i], test_case);
    }
    qtest_add_func("pmu/direct-store/portal", test_portal);
    return g_test_run();
}
