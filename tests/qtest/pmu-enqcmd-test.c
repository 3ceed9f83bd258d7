/*
 * Test ENQCMD, ENQCMDS and IA32_PASID, and the shared WQs that they are for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The test uses the PMU tests' payload, as that runs code that a test has
 * written to its memory.
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"

#include "hw/dma/intel_dsa_regs.h"
#include "intel-dsa/machine.h"
#include "pmu/machine.h"

#define CPU_PLAIN   "-cpu max,enqcmd=on,movdir64b=on,check=off "
#define CPU_SPR     "-cpu SapphireRapids,+enqcmd,check=off "
#define CPU_COUNTED \
    "-cpu Icelake-Server,+perf-metrics,+enqcmd,check=off "
#define CPU_WITHOUT "-cpu SapphireRapids,check=off "

#define MSR_PASID   0xd93
#define VALID       (1ull << 31)

/* Addresses of code and data */
#define CODE        PAYLOAD_DATA
#define FROM        (PAYLOAD_DATA + 0x1024)
#define TO          (PAYLOAD_DATA + 0x2000)
#define FLAGS       (PAYLOAD_DATA + 0x3000)
#define COMMAND     (PAYLOAD_DATA + 0x4000)
#define RECORD      (PAYLOAD_DATA + 0x5000)
#define BUFFERS     (PAYLOAD_DATA + 0x100000)

/* CF, PF, AF, ZF, SF, OF */
#define ARITHMETIC_FLAGS    0x8d5
#define ZF                  0x40

static const uint8_t enqcmd[] = { 0xf2, 0x0f, 0x38, 0xf8, 0x02 };
static const uint8_t enqcmds[] = { 0xf3, 0x0f, 0x38, 0xf8, 0x02 };
static const uint8_t movdir64b[] = { 0x66, 0x0f, 0x38, 0xf8, 0x02 };

static void append(GByteArray *code, const void *bytes, unsigned length)
{
    g_byte_array_append(code, bytes, length);
}

static void append32(GByteArray *code, uint32_t value)
{
    value = GUINT32_TO_LE(value);
    append(code, &value, sizeof(value));
}

/*
 * Returns code that executes @insn with EAX = @to, EDX = @from and all flags
 * set, and then stores the flags at FLAGS.  Faults continue at RET.
 */
static GByteArray *make_code(const uint8_t *insn, unsigned length,
                             uint32_t to, uint32_t from)
{
    GByteArray *code = g_byte_array_new();
    uint32_t resume_at;

    /* MOV QWORD PTR GS:[PROGRESS_RESUME], address of RET */
    append(code, "\x65\x48\xc7\x04\x25", 5);
    append32(code, PROGRESS_RESUME);
    resume_at = code->len;
    append32(code, 0);
    append(code, "\xb8", 1);
    append32(code, to);
    append(code, "\xba", 1);
    append32(code, from);
    /* PUSH ARITHMETIC_FLAGS; POPFQ */
    append(code, "\x68", 1);
    append32(code, ARITHMETIC_FLAGS);
    append(code, "\x9d", 1);
    append(code, insn, length);
    /* PUSHFQ; POP RCX; MOV [FLAGS], RCX; RET */
    append(code, "\x9c\x59\x48\x89\x0c\x25", 6);
    append32(code, FLAGS);
    stl_le_p(code->data + resume_at, CODE + code->len);
    append(code, "\xc3", 1);
    return code;
}

static void poke(PmuScript *s, uint64_t address, const GByteArray *code)
{
    for (unsigned i = 0; i < code->len; i += 4) {
        uint32_t word = 0;

        memcpy(&word, code->data + i, MIN(4, code->len - i));
        pmu_poke32(s, address + i, GUINT32_FROM_LE(word));
    }
}

typedef struct Case {
    const char *name;
    const char *cpu;
    uint8_t insn[8];
    unsigned length;
    uint32_t to;
    uint32_t first;             /* first 32 bits of the source */
    uint64_t pasid;             /* value of IA32_PASID */
    unsigned where;             /* 0 or RUN_CPL3 */
    unsigned vector;
} Case;

#define ENQCMD  { 0xf2, 0x0f, 0x38, 0xf8, 0x02 }, 5
#define ENQCMDS { 0xf3, 0x0f, 0x38, 0xf8, 0x02 }, 5

/* The destination is memory, which accepts no command. */
static const Case cases[] = {
    { "enqcmd", CPU_PLAIN, ENQCMD, TO, 0, VALID | 5, 0, VECTOR_NONE },
    { "enqcmd-spr", CPU_SPR, ENQCMD, TO, 0, VALID, 0, VECTOR_NONE },
    { "enqcmd-counted", CPU_COUNTED, ENQCMD, TO, 0, VALID, 0, VECTOR_NONE },
    { "enqcmd-smp", CPU_PLAIN "-smp 2 ", ENQCMD, TO, 0, VALID, 0,
      VECTOR_NONE },
    { "enqcmd-cpl3", CPU_PLAIN, ENQCMD, TO, 0, VALID | 5, RUN_CPL3,
      VECTOR_NONE },
    { "enqcmd-addr32", CPU_PLAIN, { 0x67, 0xf2, 0x0f, 0x38, 0xf8, 0x02 }, 6,
      TO, 0, VALID, 0, VECTOR_NONE },
    { "enqcmd-misaligned", CPU_PLAIN, ENQCMD, TO + 32, 0, VALID, 0,
      VECTOR_GP },
    { "enqcmd-no-pasid", CPU_PLAIN, ENQCMD, TO, 0, 5, 0, VECTOR_GP },
    { "enqcmd-no-pasid-cpl3", CPU_PLAIN, ENQCMD, TO, 0, 0, RUN_CPL3,
      VECTOR_GP },
    { "enqcmd-reserved", CPU_PLAIN, ENQCMD, TO, 1, VALID, 0, VECTOR_GP },
    { "enqcmd-reserved-priv", CPU_PLAIN, ENQCMD, TO, 1u << 31, VALID, 0,
      VECTOR_GP },
    { "enqcmd-without", CPU_WITHOUT, ENQCMD, TO, 0, 0, 0, VECTOR_UD },
    { "enqcmd-register", CPU_PLAIN, { 0xf2, 0x0f, 0x38, 0xf8, 0xc2 }, 5, TO,
      0, VALID, 0, VECTOR_UD },
    { "enqcmd-lock", CPU_PLAIN, { 0xf0, 0xf2, 0x0f, 0x38, 0xf8, 0x02 }, 6,
      TO, 0, VALID, 0, VECTOR_UD },
    { "enqcmds", CPU_PLAIN, ENQCMDS, TO, 0x800fffff, 0, 0, VECTOR_NONE },
    { "enqcmds-cpl3", CPU_PLAIN, ENQCMDS, TO, 0, VALID, RUN_CPL3,
      VECTOR_GP },
    { "enqcmds-misaligned", CPU_PLAIN, ENQCMDS, TO + 8, 0, 0, 0, VECTOR_GP },
    { "enqcmds-reserved", CPU_PLAIN, ENQCMDS, TO, 1u << 20, 0, 0,
      VECTOR_GP },
    { "enqcmds-reserved-30", CPU_PLAIN, ENQCMDS, TO, 1u << 30, 0, 0,
      VECTOR_GP },
    { "enqcmds-without", CPU_WITHOUT, ENQCMDS, TO, 0, 0, 0, VECTOR_UD },
};

static void test_case(const void *data)
{
    const Case *c = data;
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autoptr(GByteArray) code = make_code(c->insn, c->length, c->to, FROM);
    unsigned op, flags, word[8];

    for (unsigned i = 0; i < 8; i++) {
        pmu_op(s, OP_POKE64, 0, FROM + i * 8, 0x1111111100000000 | c->first);
        pmu_op(s, OP_POKE64, 0, TO + i * 8, 0xfefe);
    }
    pmu_op(s, OP_POKE64, 0, FLAGS, 0xabcd);
    if (c->pasid) {
        pmu_wrmsr(s, MSR_PASID, c->pasid);
    }
    poke(s, CODE, code);
    op = pmu_op(s, OP_RUN, BLOCK_JUMP | c->where, 0, CODE);
    flags = pmu_op(s, OP_PEEK64, 0, FLAGS, 0);
    for (unsigned i = 0; i < 8; i++) {
        word[i] = pmu_op(s, OP_PEEK64, 0, TO + i * 8, 0);
    }
    pmu_run(s, c->cpu);
    pmu_expect(pmu_vector(s, op), c->vector, "vector raised by %s", c->name);
    if (c->vector == VECTOR_NONE) {
        pmu_expect(pmu_value(s, flags) & ARITHMETIC_FLAGS, ZF,
                   "flags after %s", c->name);
    } else {
        pmu_expect(pmu_value(s, flags), 0xabcd, "flags stored by %s",
                   c->name);
    }
    for (unsigned i = 0; i < 8; i++) {
        pmu_expect(pmu_value(s, word[i]), 0xfefe, "word %u after %s", i,
                   c->name);
    }
}

static void test_msr(void)
{
    static const struct {
        uint64_t value;
        unsigned vector;
    } writes[] = {
        { 0x800fffff, VECTOR_NONE }, { 0x12345, VECTOR_NONE },
        { 1ull << 20, VECTOR_GP }, { 1ull << 30, VECTOR_GP },
        { 1ull << 32, VECTOR_GP }, { 1ull << 63, VECTOR_GP },
    };
    g_autoptr(PmuScript) s = pmu_script_new();
    g_autoptr(PmuScript) without = pmu_script_new();
    unsigned first = pmu_rdmsr(s, MSR_PASID), op[6], value[6];
    uint64_t last = 0;

    for (unsigned i = 0; i < ARRAY_SIZE(writes); i++) {
        op[i] = pmu_wrmsr(s, MSR_PASID, writes[i].value);
        value[i] = pmu_rdmsr(s, MSR_PASID);
    }
    pmu_run(s, CPU_PLAIN);
    pmu_expect(pmu_value(s, first), 0, "IA32_PASID after reset");
    for (unsigned i = 0; i < ARRAY_SIZE(writes); i++) {
        pmu_expect(pmu_vector(s, op[i]), writes[i].vector,
                   "vector raised by WRMSR of 0x%" PRIx64, writes[i].value);
        last = writes[i].vector == VECTOR_NONE ? writes[i].value : last;
        pmu_expect(pmu_value(s, value[i]), last, "IA32_PASID");
    }
    op[0] = pmu_rdmsr(without, MSR_PASID);
    op[1] = pmu_wrmsr(without, MSR_PASID, 0);
    pmu_run(without, CPU_WITHOUT);
    pmu_expect(pmu_vector(without, op[0]), VECTOR_GP, "RDMSR without ENQCMD");
    pmu_expect(pmu_vector(without, op[1]), VECTOR_GP, "WRMSR without ENQCMD");
}

/* A machine that submits a command each time that a test calls submit() */
typedef struct Submitter {
    PmuMachine machine;
    PmuScript *script;
    unsigned step;
} Submitter;

#define MAX_STEPS   100

static void submitter_start(Submitter *s, uint64_t pasid,
                            const char *properties)
{
    g_autofree char *args = g_strdup_printf(
        CPU_PLAIN "-machine q35 -device intel-dsa,addr=4,pasid=on%s",
        properties);

    s->script = pmu_script_new();
    s->step = 1;
    pmu_wrmsr(s->script, MSR_PASID, pasid);
    for (unsigned i = 1; i <= MAX_STEPS; i++) {
        pmu_op(s->script, OP_SYNC, 0, i, 0);
        pmu_op(s->script, OP_RUN, BLOCK_JUMP, 0, CODE);
    }
    pmu_start(&s->machine, s->script, args);
    pmu_wait_for(&s->machine, 1);
    dsa_map(s->machine.qts);
}

static void submitter_end(Submitter *s)
{
    pmu_stop(&s->machine);
    pmu_script_free(s->script);
}

/* Submit @desc by @insn.  Returns whether the device accepted it. */
static bool submit(Submitter *s, const uint8_t *insn, uint32_t portal,
                   const DsaDesc *desc)
{
    g_autoptr(GByteArray) code = make_code(insn, 5, DSA_PORTALS + portal,
                                           COMMAND);
    QTestState *qts = s->machine.qts;
    uint64_t flags;

    g_assert_cmpuint(s->step, <, MAX_STEPS);
    qtest_memwrite(qts, COMMAND, desc, sizeof(*desc));
    qtest_memwrite(qts, CODE, code->data, code->len);
    qtest_writeq(qts, FLAGS, 0xabcd);
    pmu_go(&s->machine, s->step++);
    pmu_wait_for(&s->machine, s->step);
    flags = qtest_readq(qts, FLAGS);
    g_assert_cmphex(flags, !=, 0xabcd);
    return !(flags & ZF);
}

static DsaDesc noop(void)
{
    return (DsaDesc) {
        .flags_opcode = cpu_to_le32(DSA_OP_NOOP << 24 | DSA_FLAG_CRAV |
                                    DSA_FLAG_RCR),
        .completion = cpu_to_le64(RECORD),
    };
}

/* Wait until the device has written a record.  Returns its status. */
static uint8_t wait_record(QTestState *qts)
{
    int64_t end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
    uint8_t status;

    do {
        status = qtest_readb(qts, RECORD);
    } while (!status && g_get_monotonic_time() < end);
    qtest_writeb(qts, RECORD, 0);
    return status;
}

static uint8_t wait_error(QTestState *qts)
{
    int64_t end = g_get_monotonic_time() + 60 * G_USEC_PER_SEC;
    uint64_t error;

    do {
        error = dsa_readq(qts, A_SWERR0);
    } while (!(error & 1) && g_get_monotonic_time() < end);
    dsa_writel(qts, A_SWERR0, 3);
    return FIELD_EX64(error, SWERR0, ERROR);
}

/* WQ 0 is shared, WQ 1 dedicated. */
static void configure(QTestState *qts, uint32_t size, uint32_t threshold)
{
    dsa_configure(qts, 3, 1, size);
    dsa_writel(qts, DSA_WQCFG_BASE + 4, threshold);
    dsa_writel(qts, DSA_WQCFG_BASE + 8, R_WQCFG2_PASID_EN_MASK |
               1 << R_WQCFG2_PRIORITY_SHIFT);
}

static void count(QTestState *qts, unsigned counter, uint32_t event)
{
    dsa_writeq(qts, DSA_PERFMON_BASE + DSA_CNTRCFG + counter * 8,
               (uint64_t)event << 32 | 1);
}

static uint64_t counted(QTestState *qts, unsigned counter)
{
    return dsa_readq(qts, DSA_PERFMON_BASE + DSA_CNTRDATA + counter * 8);
}

static uint32_t occupancy(QTestState *qts)
{
    return dsa_readl(qts, DSA_WQCFG_BASE + 24) & 0xffff;
}

/*
 * A limited portal accepts descriptors up to the threshold, an unlimited one up
 * to the WQ's size.  The engine holds eight that take forever.
 */
static void test_threshold(void)
{
    DsaDesc desc = {
        .flags_opcode = cpu_to_le32(DSA_OP_FILL << 24),
        .addr2 = cpu_to_le64(BUFFERS), .size = cpu_to_le32(4 << 20),
    };
    Submitter s;
    QTestState *qts;
    unsigned accepted = 0;

    submitter_start(&s, VALID | 5, ",bandwidth=1");
    qts = s.machine.qts;
    dsa_set_pasid_control(qts, 1);
    configure(qts, 20, 4);
    for (unsigned i = 0; i < 4; i++) {
        count(qts, i, 1 << i);
    }
    dsa_enable(qts, 1);
    for (unsigned i = 0; i < 8; i++) {
        g_assert_true(submit(&s, enqcmd, 0, &desc));
    }
    while (occupancy(qts)) {
        g_usleep(1000);
    }
    for (unsigned i = 0; i < 10; i++) {
        accepted += submit(&s, enqcmd, DSA_PORTAL_LIMITED + 64 * i, &desc);
    }
    g_assert_cmpuint(accepted, ==, 4);
    g_assert_cmpuint(occupancy(qts), ==, 4);
    for (unsigned i = 0; i < 20; i++) {
        accepted += submit(&s, enqcmds, 0, &desc);
    }
    g_assert_cmpuint(accepted, ==, 20);
    /* A threshold above the size acts as the size.  It can change now. */
    dsa_writel(qts, DSA_WQCFG_BASE + 4, 1000);
    g_assert_cmpuint(dsa_readl(qts, DSA_WQCFG_BASE + 4), ==, 1000);
    g_assert_false(submit(&s, enqcmd, DSA_PORTAL_LIMITED, &desc));
    g_assert_cmpuint(counted(qts, 0), ==, 4);
    g_assert_cmpuint(counted(qts, 1), ==, 7);
    g_assert_cmpuint(counted(qts, 2), ==, 8 + 16);
    g_assert_cmpuint(counted(qts, 3), ==, 4);
    submitter_end(&s);
}

/* Which portal accepts which kind of write (table 9-11) */
static void test_portals(void)
{
    DsaDesc desc = noop();
    Submitter s;
    QTestState *qts;

    submitter_start(&s, VALID | 5, ",ims-entries=0");
    qts = s.machine.qts;
    dsa_set_pasid_control(qts, 1);
    configure(qts, 20, 4);
    g_assert_false(submit(&s, enqcmd, 0, &desc));
    dsa_enable(qts, 3);
    g_assert_true(submit(&s, enqcmd, 0, &desc));
    g_assert_cmphex(wait_record(qts), ==, DSA_STATUS_SUCCESS);
    g_assert_true(submit(&s, enqcmd, DSA_PORTAL_LIMITED + 0xfc0, &desc));
    g_assert_cmphex(wait_record(qts), ==, DSA_STATUS_SUCCESS);
    /* There are no IMS portals. */
    g_assert_false(submit(&s, enqcmd, DSA_PORTAL_IMS, &desc));
    g_assert_false(submit(&s, enqcmd, DSA_PORTAL_IMS + DSA_PORTAL_LIMITED,
                          &desc));
    /* To a dedicated WQ, and to two WQs that are disabled */
    g_assert_false(submit(&s, enqcmd, DSA_PORTALS_SIZE, &desc));
    g_assert_false(submit(&s, enqcmd, 2 * DSA_PORTALS_SIZE, &desc));
    g_assert_false(submit(&s, enqcmd, 7 * DSA_PORTALS_SIZE, &desc));
    /* A register */
    g_assert_false(submit(&s, enqcmd, DSA_MMIO - DSA_PORTALS, &desc));
    g_assert_cmphex(dsa_readl(qts, A_VERSION), ==, 0x100);
    /* A shared WQ ignores a posted write; a dedicated one accepts it. */
    submit(&s, movdir64b, 0, &desc);
    g_usleep(10000);
    g_assert_cmphex(qtest_readb(qts, RECORD), ==, 0);
    submit(&s, movdir64b, DSA_PORTALS_SIZE, &desc);
    g_assert_cmphex(wait_record(qts), ==, DSA_STATUS_SUCCESS);
    submitter_end(&s);
}

/* PASID and privilege that ENQCMD and ENQCMDS submit */
static void test_trusted_fields(void)
{
    DsaDesc desc = noop();
    Submitter s;
    QTestState *qts;

    submitter_start(&s, VALID | 0x12345, "");
    qts = s.machine.qts;
    dsa_set_pasid_control(qts, 1);
    configure(qts, 20, 20);
    dsa_writel(qts, A_GENCFG, R_GENCFG_USER_INT_MASK);
    dsa_writel(qts, DSA_MSIXPERM_BASE + 8,
               R_MSIXPERM_PASID_EN_MASK | 0x12345 << 12);
    dsa_enable(qts, 3);
    desc.flags_opcode |= cpu_to_le32(DSA_FLAG_RCI);
    desc.int_handle = cpu_to_le16(1);
    g_assert_true(submit(&s, enqcmd, 0, &desc));
    g_assert_cmphex(wait_record(qts), ==, DSA_STATUS_SUCCESS);
    desc.pasid = cpu_to_le32(0x12345);
    g_assert_true(submit(&s, enqcmds, 0, &desc));
    g_assert_cmphex(wait_record(qts), ==, DSA_STATUS_SUCCESS);
    desc.pasid = cpu_to_le32(0x12344);
    g_assert_true(submit(&s, enqcmds, 0, &desc));
    g_assert_cmphex(wait_record(qts), ==, DSA_STATUS_INT_HANDLE);
    /* An interrupt handle whose entry is for no PASID */
    desc.int_handle = cpu_to_le16(2);
    g_assert_true(submit(&s, enqcmds, 0, &desc));
    g_assert_cmphex(wait_record(qts), ==, DSA_STATUS_INT_HANDLE);

    /* Privilege must be enabled; changing that halts the device. */
    desc.pasid = cpu_to_le32(1u << 31 | 0x12345);
    g_assert_true(submit(&s, enqcmds, 0, &desc));
    g_assert_cmphex(wait_error(qts), ==, DSA_STATUS_PRIV);
    dsa_set_pasid_control(qts, 5);
    g_assert_cmphex(dsa_readl(qts, A_GENSTS), ==, DSA_STATE_HALT);
    g_assert_cmphex(wait_error(qts), ==, DSA_ERROR_PCI_CONFIG);
    desc.int_handle = cpu_to_le16(1);
    g_assert_false(submit(&s, enqcmds, 0, &desc));
    g_assert_cmphex(dsa_command(qts, DSA_CMD_ENABLE_DEVICE, 0), ==,
                    DSA_CMD_HALTED);
    g_assert_cmphex(dsa_command(qts, DSA_CMD_RESET_DEVICE, 0), ==, 0);
    configure(qts, 20, 20);
    dsa_writel(qts, DSA_MSIXPERM_BASE + 8,
               R_MSIXPERM_PASID_EN_MASK | 0x12345 << 12);
    dsa_enable(qts, 1);
    g_assert_true(submit(&s, enqcmds, 0, &desc));
    g_assert_cmphex(wait_record(qts), ==, DSA_STATUS_SUCCESS);
    /* A user may only request interrupts if GENCFG allows that. */
    desc.pasid = cpu_to_le32(0x12345);
    g_assert_true(submit(&s, enqcmds, 0, &desc));
    g_assert_cmphex(wait_record(qts), ==, DSA_STATUS_INVALID_FLAGS);
    submitter_end(&s);
}

/* Drain PASID and Abort PASID */
static void test_pasid_commands(void)
{
    DsaDesc desc = {
        .flags_opcode = cpu_to_le32(DSA_OP_FILL << 24 | DSA_FLAG_CRAV |
                                    DSA_FLAG_RCR),
        .addr2 = cpu_to_le64(BUFFERS), .size = cpu_to_le32(64 << 10),
        .completion = cpu_to_le64(RECORD),
    };
    Submitter s;
    QTestState *qts;
    uint32_t before;

    /* 64 KiB take 66 ms. */
    submitter_start(&s, VALID | 7, ",bandwidth=1");
    qts = s.machine.qts;
    dsa_set_pasid_control(qts, 1);
    configure(qts, 20, 20);
    dsa_enable(qts, 3);
    g_assert_true(submit(&s, enqcmd, 0, &desc));
    dsa_writel(qts, A_CMD, DSA_CMD_DRAIN_PASID << 20 | 8);
    g_assert_cmphex(dsa_readl(qts, A_CMDSTS), ==, 0);
    dsa_writel(qts, A_CMD, DSA_CMD_DRAIN_PASID << 20 | 7);
    while (dsa_readl(qts, A_CMDSTS)) {
        g_usleep(1000);
    }
    g_assert_cmphex(qtest_readb(qts, RECORD), ==, DSA_STATUS_SUCCESS);

    /*
     * Abort PASID drops descriptors that wait, except those of another PASID.
     * Eight are in the engine, for four seconds each, so that some wait on any
     * host.
     */
    desc.size = cpu_to_le32(4 << 20);
    for (unsigned i = 0; i < 19; i++) {
        desc.pasid = cpu_to_le32(i % 3 ? 7 : 9);
        g_assert_true(submit(&s, enqcmds, 0, &desc));
    }
    before = occupancy(qts);
    g_assert_cmpuint(before, >, 4);
    dsa_writel(qts, A_CMD, DSA_CMD_ABORT_PASID << 20 | 7);
    g_assert_cmpuint(occupancy(qts), <=, (before + 2) / 3);
    g_assert_cmpuint(occupancy(qts), >, 0);
    /* The command waits for the PASID's descriptors in the engine. */
    g_assert_cmphex(dsa_readl(qts, A_CMDSTS), ==, R_CMDSTS_ACTIVE_MASK);
    submitter_end(&s);
}

/* What a shared WQ needs to be enabled */
static void test_configuration(void)
{
    Submitter s;
    QTestState *qts;

    submitter_start(&s, VALID, "");
    qts = s.machine.qts;
    g_assert_cmphex(dsa_readq(qts, A_WQCAP) >> 48 & 3, ==, 3);
    configure(qts, 20, 20);
    g_assert_cmphex(dsa_command(qts, DSA_CMD_ENABLE_DEVICE, 0), ==, 0);
    /* The PASID capability is not enabled. */
    g_assert_cmphex(dsa_command(qts, DSA_CMD_ENABLE_WQ, 0), ==,
                    DSA_CMD_WQ_PASID);
    g_assert_cmphex(dsa_command(qts, DSA_CMD_DISABLE_DEVICE, 0), ==, 0);
    dsa_set_pasid_control(qts, 1);
    g_assert_cmphex(dsa_command(qts, DSA_CMD_ENABLE_DEVICE, 0), ==, 0);
    g_assert_cmphex(dsa_command(qts, DSA_CMD_ENABLE_WQ, 0), ==, 0);
    /* A dedicated WQ with a PASID, and privilege, which is not enabled */
    dsa_writel(qts, DSA_WQCFG_BASE + DSA_WQCFG_SIZE + 8,
               R_WQCFG2_DEDICATED_MASK | 1 << R_WQCFG2_PRIORITY_SHIFT |
               R_WQCFG2_PASID_EN_MASK | R_WQCFG2_PRIV_MASK);
    g_assert_cmphex(dsa_command(qts, DSA_CMD_ENABLE_WQ, 1), ==,
                    DSA_CMD_WQ_PRIV);
    submitter_end(&s);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    if (!qtest_has_accel("tcg")) {
        g_test_skip("No TCG accelerator");
        return 0;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
        g_autofree char *path = g_strdup_printf("pmu/enqcmd/%s",
                                                cases[i].name);

        qtest_add_data_func(path, &cases[i], test_case);
    }
    qtest_add_func("pmu/enqcmd/msr", test_msr);
    qtest_add_func("pmu/enqcmd/configuration", test_configuration);
    qtest_add_func("pmu/enqcmd/portals", test_portals);
    qtest_add_func("pmu/enqcmd/threshold", test_threshold);
    qtest_add_func("pmu/enqcmd/trusted-fields", test_trusted_fields);
    qtest_add_func("pmu/enqcmd/pasid-commands", test_pasid_commands);
    return g_test_run();
}
