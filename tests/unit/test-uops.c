/*
 * Instructions as micro-ops: operands, memory accesses, slots, branches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What is expected comes from SDM vol. 2 (operands, flags, accesses) and
 * uops.info's measurements of Ice Lake (slots), not from the decoder.
 */

#include <glib.h>
#include <string.h>

#include "uops.h"

/* The memory accesses of an instruction, as in PmuInsn.flags. */
#define MEM_MASK (PMU_INSN_LOAD | PMU_INSN_STORE | PMU_INSN_STACK_LOAD | \
                  PMU_INSN_STACK_STORE | PMU_INSN_PREFETCH)
#define LD      PMU_INSN_LOAD
#define ST      PMU_INSN_STORE
#define RMW     (LD | ST)
#define SLD     PMU_INSN_STACK_LOAD
#define SST     PMU_INSN_STACK_STORE

typedef struct Row {
    const char *name;
    const char *bytes;
    unsigned length;
    uint32_t memory;            /* MEM_MASK flags, no more and no less */
    unsigned slots;
    PmuBranch branch;
    const char *reads;          /* data sources, in any order */
    const char *writes;
    const char *address;        /* registers of the address */
} Row;

#define ROW(name, bytes, ...) { name, bytes, sizeof(bytes) - 1, __VA_ARGS__ }
#define NO_BRANCH PMU_BRANCH_NONE

static const Row rows[] = {
    /* Plain integer forms. */
    ROW("add rax, rbx", "\x48\x01\xd8", 0, 1, NO_BRANCH,
        "rax rbx", "rax flags", ""),
    ROW("add rax, [rbx]", "\x48\x03\x03", LD, 1, NO_BRANCH,
        "rax", "rax flags", "rbx"),
    ROW("add [rbx], rax", "\x48\x01\x03", RMW, 2, NO_BRANCH,
        "rax", "flags", "rbx"),
    ROW("add qword [rbx+rcx*4+8], 1", "\x48\x83\x44\x8b\x08\x01", RMW, 3,
        NO_BRANCH, "", "flags", "rbx rcx"),
    ROW("mov rax, rbx", "\x48\x89\xd8", 0, 1, NO_BRANCH, "rbx", "rax", ""),
    ROW("mov rax, [rbx+r9*8]", "\x4a\x8b\x04\xcb", LD, 1, NO_BRANCH,
        "", "rax", "rbx r9"),
    ROW("mov [rbx+r9*8], rax", "\x4a\x89\x04\xcb", ST, 1, NO_BRANCH,
        "rax", "", "rbx r9"),
    ROW("mov dword [rip+16], 1", "\xc7\x05\x10\x00\x00\x00\x01\x00\x00\x00",
        ST, 1, NO_BRANCH, "", "", ""),
    ROW("mov al, bl", "\x88\xd8", 0, 1, NO_BRANCH, "rax rbx", "rax", ""),
    ROW("movzx eax, byte [rdi]", "\x0f\xb6\x07", LD, 1, NO_BRANCH,
        "", "rax", "rdi"),
    ROW("inc rcx", "\x48\xff\xc1", 0, 1, NO_BRANCH, "rcx", "rcx flags", ""),
    ROW("adc rax, rbx", "\x48\x11\xd8", 0, 1, NO_BRANCH,
        "rax rbx flags", "rax flags", ""),
    ROW("neg dword [rax]", "\xf7\x18", RMW, 2, NO_BRANCH, "", "flags", "rax"),
    ROW("not rax", "\x48\xf7\xd0", 0, 1, NO_BRANCH, "rax", "rax", ""),
    ROW("bswap eax", "\x0f\xc8", 0, 1, NO_BRANCH, "rax", "rax", ""),
    ROW("movabs rax, imm64", "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 0, 1,
        NO_BRANCH, "", "rax", ""),

    /* TEST: reported as a write of memory or of the accumulator. */
    ROW("test [rbx], rax", "\x48\x85\x03", LD, 1, NO_BRANCH,
        "rax", "flags", "rbx"),
    ROW("test byte [rbx], 1", "\xf6\x03\x01", LD, 1, NO_BRANCH,
        "", "flags", "rbx"),
    ROW("test eax, imm32", "\xa9\x01\x00\x00\x00", 0, 1, NO_BRANCH,
        "rax", "flags", ""),
    ROW("test al, imm8", "\xa8\x01", 0, 1, NO_BRANCH, "rax", "flags", ""),
    ROW("cmp rax, [rbx]", "\x48\x3b\x03", LD, 1, NO_BRANCH,
        "rax", "flags", "rbx"),
    ROW("cmp [rbx], rax", "\x48\x39\x03", LD, 1, NO_BRANCH,
        "rax", "flags", "rbx"),
    ROW("bt rax, rbx", "\x48\x0f\xa3\xd8", 0, 1, NO_BRANCH,
        "rax rbx", "flags", ""),

    /* Store forms reported as loads. */
    ROW("movups [rbx], xmm1", "\x0f\x11\x0b", ST, 1, NO_BRANCH,
        "x1", "", "rbx"),
    ROW("movaps [rbx], xmm1", "\x0f\x29\x0b", ST, 1, NO_BRANCH,
        "x1", "", "rbx"),
    ROW("vmovups [rbx], ymm1", "\xc5\xfc\x11\x0b", ST, 1, NO_BRANCH,
        "x1", "", "rbx"),
    ROW("vmovss [rbx], xmm1", "\xc5\xfa\x11\x0b", ST, 1, NO_BRANCH,
        "x1", "", "rbx"),
    ROW("vmovsd [rbx], xmm1", "\xc5\xfb\x11\x0b", ST, 1, NO_BRANCH,
        "x1", "", "rbx"),
    ROW("vmovdqu [rbx], ymm1", "\xc5\xfe\x7f\x0b", ST, 1, NO_BRANCH,
        "x1", "", "rbx"),
    ROW("movsd [rbx], xmm1", "\xf2\x0f\x11\x0b", ST, 1, NO_BRANCH,
        "x1", "", "rbx"),
    ROW("movq [rbx], xmm1", "\x66\x0f\xd6\x0b", ST, 1, NO_BRANCH,
        "x1", "", "rbx"),
    ROW("movhps [rbx], xmm1", "\x0f\x17\x0b", ST, 1, NO_BRANCH,
        "x1", "", "rbx"),
    ROW("movntdq [rbx], xmm1", "\x66\x0f\xe7\x0b", ST, 1, NO_BRANCH,
        "x1", "", "rbx"),
    ROW("sete [rbx]", "\x0f\x94\x03", ST, 2, NO_BRANCH, "flags", "", "rbx"),
    ROW("sete al", "\x0f\x94\xc0", 0, 1, NO_BRANCH, "flags rax", "rax", ""),
    ROW("stmxcsr [rbx]", "\x0f\xae\x1b", ST, 0, NO_BRANCH, "", "", "rbx"),
    ROW("ldmxcsr [rbx]", "\x0f\xae\x13", LD, 0, NO_BRANCH, "", "", "rbx"),
    ROW("pextrb [rbx], xmm1, 1", "\x66\x0f\x3a\x14\x0b\x01", ST, 0, NO_BRANCH,
        "x1", "", "rbx"),
    ROW("fstp qword [rbx]", "\xdd\x1b", ST, 1, NO_BRANCH, "x87", "x87",
        "rbx"),
    ROW("fld qword [rbx]", "\xdd\x03", LD, 1, NO_BRANCH, "x87", "x87", "rbx"),
    ROW("fnstcw [rbx]", "\xd9\x3b", ST, 0, NO_BRANCH, "x87", "x87", "rbx"),

    /* The stack: no operand tells of it. */
    ROW("push rax", "\x50", SST, 1, NO_BRANCH, "rax", "", "rsp"),
    ROW("pop rax", "\x58", SLD, 1, NO_BRANCH, "", "rax", "rsp"),
    ROW("push imm8", "\x6a\x01", SST, 1, NO_BRANCH, "", "", "rsp"),
    ROW("push qword [rax]", "\xff\x30", LD | SST, 2, NO_BRANCH, "", "",
        "rax"),
    ROW("pop qword [rax]", "\x8f\x00", ST | SLD, 2, NO_BRANCH, "", "", "rax"),
    ROW("call rel32", "\xe8\x00\x00\x00\x00", SST, 2, PMU_BRANCH_CALL,
        "", "", "rsp"),
    ROW("call rax", "\xff\xd0", SST, 2, PMU_BRANCH_CALL_INDIRECT,
        "rax", "", "rsp"),
    ROW("call [rax]", "\xff\x10", LD | SST, 0, PMU_BRANCH_CALL_INDIRECT,
        "", "", "rax"),
    ROW("ret", "\xc3", SLD, 2, PMU_BRANCH_RET, "", "", "rsp"),
    ROW("leave", "\xc9", SLD, 3, NO_BRANCH, "rbp", "rbp rsp", "rbp"),
    ROW("pushfq", "\x9c", SST, 3, NO_BRANCH, "flags", "", "rsp"),
    ROW("popfq", "\x9d", SLD, 9, NO_BRANCH, "", "flags", "rsp"),

    /* Addresses without an access. */
    ROW("lea rax, [rbx+rcx]", "\x48\x8d\x04\x0b", 0, 1, NO_BRANCH,
        "rbx rcx", "rax", ""),
    ROW("nop dword [rax]", "\x0f\x1f\x00", 0, 1, NO_BRANCH, "", "", ""),
    ROW("nop", "\x90", 0, 1, NO_BRANCH, "", "", ""),
    ROW("prefetcht0 [rbx]", "\x0f\x18\x0b", LD | PMU_INSN_PREFETCH, 1,
        NO_BRANCH, "", "", "rbx"),
    ROW("endbr64", "\xf3\x0f\x1e\xfa", 0, 1, NO_BRANCH, "", "", ""),
    ROW("rdsspq rax", "\xf3\x48\x0f\x1e\xc8", 0, 1, NO_BRANCH, "", "", ""),

    /* Compare and exchange: the accumulator is written, memory is RMW. */
    ROW("cmpxchg [rbx], rcx", "\x48\x0f\xb1\x0b", RMW, 0, NO_BRANCH,
        "rax rcx", "rax flags", "rbx"),
    ROW("cmpxchg16b [rbx]", "\x48\x0f\xc7\x0b", RMW, 0, NO_BRANCH,
        "rax rbx rcx rdx", "rax rdx flags", "rbx"),
    ROW("xadd [rbx], rax", "\x48\x0f\xc1\x03", RMW, 0, NO_BRANCH,
        "rax", "rax flags", "rbx"),
    ROW("xchg rax, rbx", "\x48\x87\xc3", 0, 3, NO_BRANCH,
        "rax rbx", "rax rbx", ""),
    ROW("xchg [rbx], rax", "\x48\x87\x03", RMW, 0, NO_BRANCH,
        "rax", "rax", "rbx"),

    /* False dependencies of legacy SSE. */
    ROW("cvtsi2sd xmm0, rax", "\xf2\x48\x0f\x2a\xc0", 0, 2, NO_BRANCH,
        "x0 rax", "x0", ""),
    ROW("cvtsi2ss xmm0, eax", "\xf3\x0f\x2a\xc0", 0, 2, NO_BRANCH,
        "x0 rax", "x0", ""),
    ROW("cvtss2sd xmm0, xmm1", "\xf3\x0f\x5a\xc1", 0, 2, NO_BRANCH,
        "x0 x1", "x0", ""),
    ROW("cvtsd2ss xmm0, xmm1", "\xf2\x0f\x5a\xc1", 0, 2, NO_BRANCH,
        "x0 x1", "x0", ""),
    ROW("rcpss xmm0, xmm1", "\xf3\x0f\x53\xc1", 0, 1, NO_BRANCH,
        "x0 x1", "x0", ""),
    ROW("sqrtsd xmm0, xmm1", "\xf2\x0f\x51\xc1", 0, 1, NO_BRANCH,
        "x0 x1", "x0", ""),
    ROW("cvttsd2si rax, xmm0", "\xf2\x48\x0f\x2c\xc0", 0, 2, NO_BRANCH,
        "x0", "rax", ""),

    /* Implicit registers. */
    ROW("cdq", "\x99", 0, 1, NO_BRANCH, "rax", "rdx", ""),
    ROW("cqo", "\x48\x99", 0, 1, NO_BRANCH, "rax", "rdx", ""),
    ROW("cdqe", "\x48\x98", 0, 1, NO_BRANCH, "rax", "rax", ""),
    ROW("mul rcx", "\x48\xf7\xe1", 0, 2, NO_BRANCH,
        "rax rcx", "rax rdx flags", ""),
    ROW("imul rax, rbx", "\x48\x0f\xaf\xc3", 0, 1, NO_BRANCH,
        "rax rbx", "rax flags", ""),
    ROW("imul rax, rbx, 5", "\x48\x6b\xc3\x05", 0, 1, NO_BRANCH,
        "rbx", "rax flags", ""),
    ROW("div rcx", "\x48\xf7\xf1", 0, 4, NO_BRANCH,
        "rax rdx rcx", "rax rdx flags", ""),
    ROW("cmove rax, rbx", "\x48\x0f\x44\xc3", 0, 1, NO_BRANCH,
        "rax rbx flags", "rax", ""),
    ROW("cmova rax, rbx", "\x48\x0f\x47\xc3", 0, 2, NO_BRANCH,
        "rax rbx flags", "rax", ""),
    ROW("shl rax, cl", "\x48\xd3\xe0", 0, 2, NO_BRANCH,
        "rax rcx flags", "rax flags", ""),
    ROW("shl rax, 3", "\x48\xc1\xe0\x03", 0, 1, NO_BRANCH,
        "rax", "rax flags", ""),
    ROW("mulx rax, rbx, rcx", "\xc4\xe2\xe3\xf6\xc1", 0, 2, NO_BRANCH,
        "rcx rdx", "rax rbx", ""),
    /* It writes RBX as well: PMU_INSN_DSTS is 3. */
    ROW("cpuid", "\x0f\xa2", 0, 0, NO_BRANCH,
        "rax rcx", "rax rcx rdx", ""),
    ROW("rdtsc", "\x0f\x31", 0, 0, NO_BRANCH, "", "rax rdx", ""),
    ROW("rdpid rax", "\xf3\x48\x0f\xc7\xf8", 0, 4, NO_BRANCH, "", "rax", ""),

    /* Branches. */
    ROW("jne rel8", "\x75\x00", 0, 1, PMU_BRANCH_COND, "flags", "", ""),
    ROW("jg rel32", "\x0f\x8f\x00\x00\x00\x00", 0, 1, PMU_BRANCH_COND,
        "flags", "", ""),
    ROW("jrcxz", "\xe3\x00", 0, 2, PMU_BRANCH_COND, "rcx", "", ""),
    ROW("loop", "\xe2\x00", 0, 7, PMU_BRANCH_COND, "rcx", "rcx", ""),
    ROW("jmp rel8", "\xeb\x00", 0, 1, PMU_BRANCH_JMP, "", "", ""),
    ROW("jmp rax", "\xff\xe0", 0, 1, PMU_BRANCH_JMP_INDIRECT, "rax", "", ""),
    ROW("jmp [rax]", "\xff\x20", LD, 1, PMU_BRANCH_JMP_INDIRECT,
        "", "", "rax"),
    ROW("syscall", "\x0f\x05", 0, 0, PMU_BRANCH_FAR, "", "", ""),
    ROW("sysret", "\x48\x0f\x07", 0, 0, PMU_BRANCH_FAR, "", "", ""),
    ROW("iretq", "\x48\xcf", 0, 0, PMU_BRANCH_FAR, "", "", ""),
    ROW("int 0x80", "\xcd\x80", 0, 0, PMU_BRANCH_FAR, "", "", ""),
    ROW("jmp far [rbx]", "\x48\xff\x2b", LD, 0, PMU_BRANCH_FAR,
        "", "", "rbx"),
    ROW("call far [rbx]", "\x48\xff\x1b", LD, 0, PMU_BRANCH_FAR,
        "", "", "rbx"),
    ROW("retfq", "\x48\xcb", 0, 0, PMU_BRANCH_FAR, "", "", ""),

    /* Idioms and eliminated moves. */
    ROW("xor eax, eax", "\x31\xc0", 0, 1, NO_BRANCH, "", "rax flags", ""),
    ROW("sub rax, rax", "\x48\x29\xc0", 0, 1, NO_BRANCH, "", "rax flags",
        ""),
    ROW("xor al, al", "\x30\xc0", 0, 1, NO_BRANCH, "rax", "rax flags", ""),
    ROW("pxor xmm0, xmm0", "\x66\x0f\xef\xc0", 0, 1, NO_BRANCH, "", "x0", ""),
    ROW("vxorps ymm0, ymm1, ymm1", "\xc5\xf4\x57\xc1", 0, 1, NO_BRANCH,
        "", "x0", ""),
    ROW("pcmpeqd xmm0, xmm0", "\x66\x0f\x76\xc0", 0, 1, NO_BRANCH,
        "", "x0", ""),
    ROW("pxor xmm0, xmm1", "\x66\x0f\xef\xc1", 0, 1, NO_BRANCH,
        "x0 x1", "x0", ""),

    /* Vector forms: VEX has a destination of its own, FMA does not. */
    ROW("addps xmm0, xmm1", "\x0f\x58\xc1", 0, 1, NO_BRANCH,
        "x0 x1", "x0", ""),
    ROW("vaddps xmm0, xmm1, xmm2", "\xc5\xf0\x58\xc2", 0, 1, NO_BRANCH,
        "x1 x2", "x0", ""),
    ROW("vaddps ymm0, ymm1, [rbx]", "\xc5\xf4\x58\x03", LD, 1, NO_BRANCH,
        "x1", "x0", "rbx"),
    ROW("vaddps ymm0, ymm1, [rbx+rcx]", "\xc5\xf4\x58\x04\x0b", LD, 2,
        NO_BRANCH, "x1", "x0", "rbx rcx"),
    ROW("vfmadd231pd ymm0, ymm1, ymm2", "\xc4\xe2\xf5\xb8\xc2", 0, 1,
        NO_BRANCH, "x0 x1 x2", "x0", ""),
    ROW("vpxor xmm0, xmm1, xmm2", "\xc5\xf1\xef\xc2", 0, 1, NO_BRANCH,
        "x1 x2", "x0", ""),
    ROW("movss xmm0, xmm1", "\xf3\x0f\x10\xc1", 0, 1, NO_BRANCH,
        "x0 x1", "x0", ""),
    ROW("movss xmm0, [rbx]", "\xf3\x0f\x10\x03", LD, 1, NO_BRANCH,
        "", "x0", "rbx"),
    ROW("movhps xmm0, [rbx]", "\x0f\x16\x03", LD, 0, NO_BRANCH,
        "x0", "x0", "rbx"),
    ROW("pshufd xmm0, xmm1, 0", "\x66\x0f\x70\xc1\x00", 0, 1, NO_BRANCH,
        "x1", "x0", ""),
    ROW("vaesenc ymm0, ymm1, ymm2", "\xc4\xe2\x75\xdc\xc2", 0, 1, NO_BRANCH,
        "x1 x2", "x0", ""),
    ROW("cmpltps xmm0, xmm1", "\x0f\xc2\xc1\x01", 0, 1, NO_BRANCH,
        "x0 x1", "x0", ""),
    ROW("cmplesd xmm1, xmm2", "\xf2\x0f\xc2\xca\x02", 0, 1, NO_BRANCH,
        "x1 x2", "x1", ""),
    ROW("cmpless xmm2, [rbx]", "\xf3\x0f\xc2\x13\x02", LD, 1, NO_BRANCH,
        "x2", "x2", "rbx"),
    ROW("vcmpgesd xmm2, xmm0, xmm1", "\xc5\xfb\xc2\xd1\x0d", 0, 1,
        NO_BRANCH, "x0 x1", "x2", ""),
    ROW("ucomisd xmm0, xmm1", "\x66\x0f\x2e\xc1", 0, 1, NO_BRANCH,
        "x0 x1", "flags", ""),
    ROW("pmovmskb eax, xmm0", "\x66\x0f\xd7\xc0", 0, 1, NO_BRANCH,
        "x0", "rax", ""),
    ROW("paddb mm0, mm1", "\x0f\xfc\xc1", 0, 1, NO_BRANCH, "x87", "x87", ""),

    /* A string instruction and its SSE namesake. */
    ROW("movsd (string)", "\xa5", LD | SST, 5, NO_BRANCH, "", "", "rsi rdi"),
    ROW("movsd xmm0, xmm1", "\xf2\x0f\x10\xc1", 0, 1, NO_BRANCH,
        "x0 x1", "x0", ""),
    ROW("cmpsd (string)", "\xa7", LD | SLD, 5, NO_BRANCH,
        "", "flags", "rsi rdi"),
    ROW("cmpsd xmm0, xmm1, 0", "\xf2\x0f\xc2\xc1\x00", 0, 1, NO_BRANCH,
        "x0 x1", "x0", ""),
    ROW("lodsb", "\xac", LD, 0, NO_BRANCH, "", "rax", "rsi"),
    ROW("stosq", "\x48\xab", SST, 0, NO_BRANCH, "rax", "", "rdi"),
    ROW("rep movsb", "\xf3\xa4", LD | SST, 0, NO_BRANCH,
        "rcx", "rcx", "rsi rdi"),
    ROW("repne scasb", "\xf2\xae", SLD, 0, NO_BRANCH,
        "rax rcx", "flags rcx", "rdi"),
};

/* The set of registers that @names lists, as a bit mask of PmuReg. */
static uint64_t reg_set(const char *names)
{
    static const char *const gpr[] = { "rax", "rcx", "rdx", "rbx", "rsp",
                                       "rbp", "rsi", "rdi", "r8", "r9" };
    g_auto(GStrv) split = g_strsplit(names, " ", -1);
    uint64_t set = 0;

    for (unsigned i = 0; split[i]; i++) {
        const char *name = split[i];

        if (!*name) {
            continue;
        }
        if (!strcmp(name, "flags")) {
            set |= 1ull << PMU_REG_FLAGS;
        } else if (!strcmp(name, "x87")) {
            set |= 1ull << PMU_REG_X87;
        } else if (name[0] == 'x') {
            set |= 1ull << (PMU_REG_VEC0 + atoi(name + 1));
        } else {
            unsigned n = 0;

            while (strcmp(gpr[n], name)) {
                n++;
                g_assert_cmpuint(n, <, G_N_ELEMENTS(gpr));
            }
            set |= 1ull << (PMU_REG_GPR0 + n);
        }
    }
    return set;
}

static uint64_t list_set(const uint8_t *regs, unsigned n)
{
    uint64_t set = 0;

    for (unsigned i = 0; i < n; i++) {
        if (regs[i] != PMU_REG_NONE && regs[i] != PMU_REG_NR) {
            set |= 1ull << regs[i];
        }
    }
    return set;
}

static void expect(const char *name, const char *what, uint64_t is,
                   uint64_t should)
{
    if (is != should) {
        g_test_message("%s: %s is 0x%" G_GINT64_MODIFIER "x, expected 0x%"
                       G_GINT64_MODIFIER "x", name, what, is, should);
        g_test_fail();
    }
}

static void test_table(void)
{
    PmuDecoder *decoder = pmu_decoder_new(PMU_CORE_ICELAKE);

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const Row *row = &rows[i];
        PmuInsn insn;

        expect(row->name, "known",
               pmu_decode(decoder, (const uint8_t *)row->bytes, row->length,
                          &insn), true);
        expect(row->name, "length", insn.length, row->length);
        expect(row->name, "memory", insn.flags & MEM_MASK, row->memory);
        expect(row->name, "branch", insn.branch, row->branch);
        expect(row->name, "reads", list_set(insn.src, PMU_INSN_SRCS),
               reg_set(row->reads));
        expect(row->name, "writes", list_set(insn.dst, PMU_INSN_DSTS),
               reg_set(row->writes));
        expect(row->name, "address", list_set(insn.addr_src, 2),
               reg_set(row->address));
        if (row->slots) {
            expect(row->name, "slots", insn.slots, row->slots);
        }
        expect(row->name, "slots at least 1", insn.slots > 0, true);
        expect(row->name, "as many uops as slots", insn.uops >= insn.slots,
               true);
    }
    pmu_decoder_free(decoder);
}

static PmuInsn decode(PmuCore core, unsigned mode, const char *bytes,
                      unsigned length, bool known)
{
    PmuDecoder *decoder = pmu_decoder_new(core);
    PmuInsn insn;

    pmu_decoder_set_mode(decoder, mode);
    g_assert_cmpint(pmu_decode(decoder, (const uint8_t *)bytes, length,
                               &insn), ==, known);
    pmu_decoder_free(decoder);
    return insn;
}

#define DECODE64(bytes) \
    decode(PMU_CORE_ICELAKE, 64, bytes, sizeof(bytes) - 1, true)

/* Measured latencies of a Xeon Gold 6330: InstLatx64. */
static void test_latencies(void)
{
    static const struct {
        const char *name, *bytes;
        unsigned length, latency;
    } table[] = {
#define LAT(name, bytes, latency) { name, bytes, sizeof(bytes) - 1, latency }
        LAT("add rax, rbx", "\x48\x01\xd8", 1),
        LAT("imul rax, rbx", "\x48\x0f\xaf\xc3", 3),
        LAT("popcnt rax, rbx", "\xf3\x48\x0f\xb8\xc3", 3),
        LAT("lzcnt rax, rbx", "\xf3\x48\x0f\xbd\xc3", 3),
        LAT("pdep rax, rbx, rcx", "\xc4\xe2\xe3\xf5\xc1", 3),
        LAT("shld rax, rbx, 3", "\x48\x0f\xa4\xd8\x03", 3),
        LAT("addps xmm0, xmm1", "\x0f\x58\xc1", 4),
        LAT("mulpd xmm0, xmm1", "\x66\x0f\x59\xc1", 4),
        LAT("vfmadd231pd ymm0, ymm1, ymm2", "\xc4\xe2\xf5\xb8\xc2", 4),
        LAT("divss xmm0, xmm1", "\xf3\x0f\x5e\xc1", 11),
        LAT("divsd xmm0, xmm1", "\xf2\x0f\x5e\xc1", 14),
        LAT("sqrtsd xmm0, xmm1", "\xf2\x0f\x51\xc1", 18),
        LAT("pmulhw xmm0, xmm1", "\x66\x0f\xe5\xc1", 5),
        LAT("pshufb xmm0, xmm1", "\x66\x0f\x38\x00\xc1", 1),
        LAT("vpermq ymm0, ymm1, 1", "\xc4\xe3\xfd\x00\xc1\x01", 3),
        LAT("vpmovzxbw ymm0, xmm1", "\xc4\xe2\x7d\x30\xc1", 3),
        LAT("pmovzxbw xmm0, xmm1", "\x66\x0f\x38\x30\xc1", 1),
        LAT("aesenc xmm0, xmm1", "\x66\x0f\x38\xdc\xc1", 3),
        LAT("movaps xmm0, xmm1", "\x0f\x28\xc1", 0),
        LAT("mov rax, rbx", "\x48\x89\xd8", 1),
        LAT("div ecx", "\xf7\xf1", 15),
        LAT("div rcx", "\x48\xf7\xf1", 18),
        LAT("idiv rcx", "\x48\xf7\xf9", 18),
        LAT("rdtsc", "\x0f\x31", 27),
#undef LAT
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(table); i++) {
        PmuInsn insn = decode(PMU_CORE_ICELAKE, 64, table[i].bytes,
                              table[i].length, true);

        expect(table[i].name, "latency", insn.latency, table[i].latency);
    }
}

/* Golden Cove: FP add in 3 cycles, GPR moves eliminated. */
static void test_golden_cove(void)
{
    g_assert_cmpuint(decode(PMU_CORE_SAPPHIRERAPIDS, 64, "\x0f\x58\xc1", 3,
                            true).latency, ==, 3);
    g_assert_cmpuint(decode(PMU_CORE_SAPPHIRERAPIDS, 64, "\x48\x89\xd8", 3,
                            true).unit, ==, PMU_UNIT_NONE);
    g_assert_cmpuint(decode(PMU_CORE_ICELAKE, 64, "\x48\x89\xd8", 3,
                            true).unit, !=, PMU_UNIT_NONE);
}

/* Intel SOM 3.4.2.2: what fuses with which condition. */
static void test_macro_fusion(void)
{
    PmuInsn cmp = DECODE64("\x48\x39\xd8");             /* cmp rax, rbx */
    PmuInsn test = DECODE64("\x48\x85\xc0");            /* test rax, rax */
    PmuInsn dec = DECODE64("\x48\xff\xc9");             /* dec rcx */
    PmuInsn cmp_mi = DECODE64("\x48\x83\x3b\x01");      /* cmp [rbx], 1 */
    PmuInsn add_m = DECODE64("\x48\x01\x03");           /* add [rbx], rax */
    PmuInsn or = DECODE64("\x48\x09\xd8");              /* or rax, rbx */
    PmuInsn je = DECODE64("\x74\x00");
    PmuInsn jb = DECODE64("\x72\x00");
    PmuInsn jl = DECODE64("\x7c\x00");
    PmuInsn jo = DECODE64("\x70\x00");
    PmuInsn js = DECODE64("\x0f\x88\x00\x00\x00\x00");
    PmuInsn jrcxz = DECODE64("\xe3\x00");

    g_assert_true(cmp.flags & PMU_INSN_FUSE_FIRST);
    g_assert_true(je.flags & PMU_INSN_FUSE_SECOND);
    g_assert_false(jrcxz.flags & PMU_INSN_FUSE_SECOND);
    g_assert_false(cmp_mi.flags & PMU_INSN_FUSE_FIRST);
    g_assert_false(add_m.flags & PMU_INSN_FUSE_FIRST);
    g_assert_false(or.flags & PMU_INSN_FUSE_FIRST);
    g_assert_true(cmp.fuse & je.fuse);
    g_assert_true(cmp.fuse & jb.fuse);
    g_assert_true(cmp.fuse & jl.fuse);
    g_assert_false(cmp.fuse & jo.fuse);
    g_assert_false(cmp.fuse & js.fuse);
    g_assert_true(test.fuse & jo.fuse);
    g_assert_true(test.fuse & js.fuse);
    /* INC and DEC leave CF alone, so JB does not fuse with them. */
    g_assert_true(dec.fuse & je.fuse);
    g_assert_true(dec.fuse & jl.fuse);
    g_assert_false(dec.fuse & jb.fuse);
}

/* Flags that change how the pipeline takes an instruction. */
static void test_flags(void)
{
    g_assert_true(DECODE64("\x0f\xa2").flags & PMU_INSN_SERIALIZING);
    g_assert_true(DECODE64("\x0f\xae\xe8").flags & PMU_INSN_SERIALIZING);
    g_assert_false(DECODE64("\x0f\x31").flags & PMU_INSN_SERIALIZING);
    g_assert_true(DECODE64("\xf0\x48\x01\x03").flags & PMU_INSN_LOCKED);
    g_assert_true(DECODE64("\x48\x87\x03").flags & PMU_INSN_LOCKED);
    g_assert_false(DECODE64("\x48\x87\xc3").flags & PMU_INSN_LOCKED);
    g_assert_true(DECODE64("\x0f\xa2").flags & PMU_INSN_MICROCODED);
    g_assert_false(DECODE64("\x48\x01\xd8").flags & PMU_INSN_MICROCODED);
    g_assert_true(DECODE64("\xf3\xa4").flags & PMU_INSN_REP);
    g_assert_false(DECODE64("\xa4").flags & PMU_INSN_REP);
    g_assert_false(DECODE64("\xf3\x90").flags & PMU_INSN_REP);
    g_assert_true(DECODE64("\x66\xb8\x01\x01").flags & PMU_INSN_LCP);
    g_assert_false(DECODE64("\x66\x89\xd8").flags & PMU_INSN_LCP);
    g_assert_false(DECODE64("\xb8\x01\x01\x01\x01").flags & PMU_INSN_LCP);
}

/* Sizes of memory operands, which decide whether a line is crossed. */
static void test_access_sizes(void)
{
    g_assert_cmpuint(DECODE64("\x8a\x03").access_size, ==, 1);
    g_assert_cmpuint(DECODE64("\x66\x8b\x03").access_size, ==, 2);
    g_assert_cmpuint(DECODE64("\x8b\x03").access_size, ==, 4);
    g_assert_cmpuint(DECODE64("\x48\x8b\x03").access_size, ==, 8);
    g_assert_cmpuint(DECODE64("\x0f\x10\x03").access_size, ==, 16);
    g_assert_cmpuint(DECODE64("\xc5\xfc\x10\x03").access_size, ==, 32);
    g_assert_cmpuint(DECODE64("\xf3\x0f\x10\x03").access_size, ==, 4);
    g_assert_cmpuint(DECODE64("\x0f\x2f\x03").access_size, ==, 4);
    g_assert_cmpuint(DECODE64("\x66\x0f\x2e\x03").access_size, ==, 8);
    g_assert_cmpuint(DECODE64("\x50").access_size, ==, 8);
    g_assert_cmpuint(DECODE64("\xf3\xa4").access_size, ==, 1);
    g_assert_cmpuint(DECODE64("\x66\xa5").access_size, ==, 2);
    g_assert_cmpuint(DECODE64("\xa5").access_size, ==, 4);
    g_assert_cmpuint(DECODE64("\x48\xa5").access_size, ==, 8);
    g_assert_cmpuint(DECODE64("\xc4\xe2\x75\xdc\x03").access_size, ==, 32);
}

/* The same bytes mean other things in other modes. */
static void test_modes(void)
{
    PmuInsn insn;

    /* 40: REX in 64-bit code, INC EAX elsewhere. */
    decode(PMU_CORE_ICELAKE, 64, "\x40", 1, false);
    insn = decode(PMU_CORE_ICELAKE, 32, "\x40", 1, true);
    g_assert_cmphex(list_set(insn.dst, PMU_INSN_DSTS), ==,
                    reg_set("rax flags"));
    insn = decode(PMU_CORE_ICELAKE, 32, "\x50", 1, true);
    g_assert_cmpuint(insn.access_size, ==, 4);
    insn = decode(PMU_CORE_ICELAKE, 16, "\x50", 1, true);
    g_assert_cmpuint(insn.access_size, ==, 2);
    /* B8 with an immediate of operand size. */
    decode(PMU_CORE_ICELAKE, 16, "\xb8\x01\x02", 3, true);
    decode(PMU_CORE_ICELAKE, 32, "\xb8\x01\x02\x03\x04", 5, true);
    insn = decode(PMU_CORE_ICELAKE, 32, "\xa5", 1, true);
    g_assert_cmpuint(insn.access_size, ==, 4);
    insn = decode(PMU_CORE_ICELAKE, 16, "\xa5", 1, true);
    g_assert_cmpuint(insn.access_size, ==, 2);
    insn = decode(PMU_CORE_ICELAKE, 16, "\x66\xa5", 2, true);
    g_assert_cmpuint(insn.access_size, ==, 4);
    /* C5 is LDS with a memory operand, VEX with what looks a register. */
    insn = decode(PMU_CORE_ICELAKE, 32, "\xc5\x03", 2, true);
    g_assert_true(insn.flags & PMU_INSN_LOAD);
    insn = decode(PMU_CORE_ICELAKE, 32, "\xc5\xf0\x58\xc2", 4, true);
    g_assert_cmphex(list_set(insn.src, PMU_INSN_SRCS), ==, reg_set("x1 x2"));
}

/* What Capstone does not know, or finds too short, is counted by class. */
static void test_unknown(void)
{
    PmuDecoder *decoder = pmu_decoder_new(PMU_CORE_ICELAKE);
    uint64_t decoded, unknown;
    PmuInsn insn;

    g_assert_true(pmu_decode(decoder, (const uint8_t *)"\x90", 1, &insn));
    g_assert_false(pmu_decode(decoder, (const uint8_t *)"\x90\x90", 2,
                              &insn));
    g_assert_true(insn.flags & PMU_INSN_UNKNOWN);
    g_assert_cmpuint(insn.slots, ==, 1);
    g_assert_cmpuint(insn.latency, ==, 1);
    g_assert_cmpuint(insn.length, ==, 2);
    g_assert_cmphex(list_set(insn.dst, PMU_INSN_DSTS), ==, 0);
    g_assert_false(pmu_decode(decoder, (const uint8_t *)"\x48\x01", 2,
                              &insn));
    pmu_decoder_stats(decoder, &decoded, &unknown);
    g_assert_cmpuint(decoded, ==, 3);
    g_assert_cmpuint(unknown, ==, 2);
    pmu_decoder_free(decoder);
}

/* No bytes, whatever they are, may upset the decoder. */
static void test_random_bytes(void)
{
    PmuDecoder *decoder = pmu_decoder_new(PMU_CORE_ICELAKE);
    static const unsigned modes[] = { 16, 32, 64 };

    for (unsigned i = 0; i < 300000; i++) {
        unsigned length = g_test_rand_int_range(1, 16);
        /* On the heap, so that reading past the end is noticed. */
        g_autofree uint8_t *bytes = g_malloc(length);
        PmuInsn insn;

        for (unsigned j = 0; j < length; j++) {
            bytes[j] = g_test_rand_int();
        }
        pmu_decoder_set_mode(decoder, modes[i % 3]);
        pmu_decode(decoder, bytes, length, &insn);
        g_assert_cmpuint(insn.length, ==, length);
        g_assert_cmpuint(insn.slots, >, 0);
        g_assert_cmpuint(insn.unit, <, PMU_UNIT_NR);
        for (unsigned j = 0; j < PMU_INSN_SRCS; j++) {
            g_assert_cmpuint(insn.src[j], <, PMU_REG_NR);
        }
        for (unsigned j = 0; j < PMU_INSN_DSTS; j++) {
            g_assert_cmpuint(insn.dst[j], <=, PMU_REG_NR);
            g_assert_cmpuint(insn.dst[j], !=, PMU_REG_NONE);
        }
    }
    pmu_decoder_free(decoder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/uops/table", test_table);
    g_test_add_func("/uops/latencies", test_latencies);
    g_test_add_func("/uops/golden-cove", test_golden_cove);
    g_test_add_func("/uops/macro-fusion", test_macro_fusion);
    g_test_add_func("/uops/flags", test_flags);
    g_test_add_func("/uops/access-sizes", test_access_sizes);
    g_test_add_func("/uops/modes", test_modes);
    g_test_add_func("/uops/unknown", test_unknown);
    g_test_add_func("/uops/random-bytes", test_random_bytes);
    return g_test_run();
}
