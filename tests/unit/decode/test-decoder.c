/*
 * The decoder: instructions as micro-ops, with their operands, memory accesses,
 * slots and branches.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The expected figures come from SDM vol. 2 (operands, flags, accesses),
 * uops.info's measurements of Ice Lake and Alder Lake P (slots, ports) and
 * InstLatx64's of a Xeon Gold 6330 and a 06_97 P-core (latencies, rates), not
 * from the decoder.
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/uarch/uarch.h"
#include "tcg/pmu/uarch/uarch-params.h"
#include "tcg/pmu/decode/insn-table.h"
#include "tcg/pmu/decode/decoder.h"

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
    /* 0: not checked */
    unsigned slots;
    PmuBranch branch;
    const char *reads;          /* registers of data, in any order */
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
    ROW("inc rcx", "\x48\xff\xc1", 0, 1, NO_BRANCH, "rcx", "rcx spazo", ""),
    ROW("adc rax, rbx", "\x48\x11\xd8", 0, 1, NO_BRANCH,
        "rax rbx cf", "rax flags", ""),
    ROW("adcx rax, rbx", "\x66\x48\x0f\x38\xf6\xc3", 0, 1, NO_BRANCH,
        "rax rbx cf", "rax cf", ""),
    ROW("adox rax, rbx", "\xf3\x48\x0f\x38\xf6\xc3", 0, 1, NO_BRANCH,
        "rax rbx spazo", "rax spazo", ""),
    ROW("rol rax, 3", "\x48\xc1\xc0\x03", 0, 1, NO_BRANCH,
        "rax", "rax cf", ""),
    ROW("rcl rax, 1", "\x48\xd1\xd0", 0, 3, NO_BRANCH,
        "rax cf", "rax cf", ""),
    ROW("cmc", "\xf5", 0, 1, NO_BRANCH, "cf", "cf", ""),
    ROW("setb al", "\x0f\x92\xc0", 0, 1, NO_BRANCH, "cf rax", "rax", ""),
    ROW("ja rel8", "\x77\x00", 0, 1, PMU_BRANCH_COND, "flags", "", ""),
    ROW("jae rel8", "\x73\x00", 0, 1, PMU_BRANCH_COND, "cf", "", ""),
    ROW("neg dword [rax]", "\xf7\x18", RMW, 2, NO_BRANCH, "", "flags", "rax"),
    ROW("not rax", "\x48\xf7\xd0", 0, 1, NO_BRANCH, "rax", "rax", ""),
    ROW("bswap eax", "\x0f\xc8", 0, 1, NO_BRANCH, "rax", "rax", ""),
    ROW("movabs rax, imm64", "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 0, 1,
        NO_BRANCH, "", "rax", ""),

    /* TEST: Capstone reports a write of memory or of the accumulator. */
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
        "rax rbx", "cf", ""),

    /* Stores that Capstone reports as loads. */
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
    ROW("sete [rbx]", "\x0f\x94\x03", ST, 2, NO_BRANCH, "spazo", "", "rbx"),
    ROW("sete al", "\x0f\x94\xc0", 0, 1, NO_BRANCH, "spazo rax", "rax", ""),
    ROW("stmxcsr [rbx]", "\x0f\xae\x1b", ST, 0, NO_BRANCH, "", "", "rbx"),
    ROW("ldmxcsr [rbx]", "\x0f\xae\x13", LD, 0, NO_BRANCH, "", "", "rbx"),
    ROW("pextrb [rbx], xmm1, 1", "\x66\x0f\x3a\x14\x0b\x01", ST, 0, NO_BRANCH,
        "x1", "", "rbx"),
    ROW("fstp qword [rbx]", "\xdd\x1b", ST, 1, NO_BRANCH, "st0", "", "rbx"),
    ROW("fst st(2)", "\xdd\xd2", 0, 1, NO_BRANCH, "st0", "st2", ""),
    ROW("fstp st(2)", "\xdd\xda", 0, 1, NO_BRANCH, "st0", "st1", ""),
    ROW("fld qword [rbx]", "\xdd\x03", LD, 1, NO_BRANCH, "", "st0", "rbx"),
    ROW("fld st(2)", "\xd9\xc2", 0, 1, NO_BRANCH, "st2", "st0", ""),
    ROW("fadd st(0), st(3)", "\xd8\xc3", 0, 1, NO_BRANCH, "st0 st3", "st0",
        ""),
    ROW("fadd st(3), st(0)", "\xdc\xc3", 0, 1, NO_BRANCH, "st0 st3", "st3",
        ""),
    /* The result is in ST(1), which is ST(0) after the pop. */
    ROW("faddp", "\xde\xc1", 0, 1, NO_BRANCH, "st0 st1", "st0", ""),
    ROW("fadd dword [rbx]", "\xd8\x03", LD, 1, NO_BRANCH, "st0", "st0",
        "rbx"),
    ROW("fucomip st(0), st(1)", "\xdf\xe9", 0, 2, NO_BRANCH, "st0 st1",
        "flags", ""),
    ROW("fxch st(1)", "\xd9\xc9", 0, 0, NO_BRANCH, "st0 st1", "st0 st1", ""),
    ROW("fchs", "\xd9\xe0", 0, 1, NO_BRANCH, "st0", "st0", ""),
    ROW("fnstcw [rbx]", "\xd9\x3b", ST, 0, NO_BRANCH, "", "", "rbx"),

    /* The stack, which is not among the operands. */
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

    /* Compare and exchange: they write the accumulator; memory is RMW. */
    ROW("cmpxchg [rbx], rcx", "\x48\x0f\xb1\x0b", RMW, 0, NO_BRANCH,
        "rax rcx", "rax flags", "rbx"),
    ROW("cmpxchg16b [rbx]", "\x48\x0f\xc7\x0b", RMW, 0, NO_BRANCH,
        "rax rbx rcx rdx", "rax rdx spazo", "rbx"),
    ROW("xadd [rbx], rax", "\x48\x0f\xc1\x03", RMW, 0, NO_BRANCH,
        "rax", "rax flags", "rbx"),
    ROW("xchg rax, rbx", "\x48\x87\xc3", 0, 3, NO_BRANCH,
        "rax rbx", "rax rbx", ""),
    ROW("xchg [rbx], rax", "\x48\x87\x03", RMW, 0, NO_BRANCH,
        "rax", "rax", "rbx"),

    /* Legacy SSE has false dependencies on the destination. */
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
    /*
     * EDX is a false dependency: CDQ takes a cycle each (InstLatx64), CQO not.
     */
    ROW("cdq", "\x99", 0, 1, NO_BRANCH, "rax rdx", "rdx", ""),
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
        "rax rbx spazo", "rax", ""),
    ROW("cmova rax, rbx", "\x48\x0f\x47\xc3", 0, 2, NO_BRANCH,
        "rax rbx flags", "rax", ""),
    ROW("shl rax, cl", "\x48\xd3\xe0", 0, 2, NO_BRANCH,
        "rax rcx flags", "rax flags", ""),
    ROW("shl rax, 3", "\x48\xc1\xe0\x03", 0, 1, NO_BRANCH,
        "rax", "rax flags", ""),
    ROW("mulx rax, rbx, rcx", "\xc4\xe2\xe3\xf6\xc1", 0, 2, NO_BRANCH,
        "rcx rdx", "rax rbx", ""),
    ROW("cpuid", "\x0f\xa2", 0, 0, NO_BRANCH,
        "rax rcx", "rax rcx rdx rbx", ""),
    ROW("rdtsc", "\x0f\x31", 0, 0, NO_BRANCH, "", "rax rdx", ""),
    ROW("rdpid rax", "\xf3\x48\x0f\xc7\xf8", 0, 4, NO_BRANCH, "", "rax", ""),

    /* Branches. */
    ROW("jne rel8", "\x75\x00", 0, 1, PMU_BRANCH_COND, "spazo", "", ""),
    ROW("jg rel32", "\x0f\x8f\x00\x00\x00\x00", 0, 1, PMU_BRANCH_COND,
        "spazo", "", ""),
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

    /* VEX forms have a destination of their own; FMA's is a source, too. */
    ROW("addps xmm0, xmm1", "\x0f\x58\xc1", 0, 1, NO_BRANCH,
        "x0 x1", "x0", ""),
    ROW("vaddps xmm0, xmm1, xmm2", "\xc5\xf0\x58\xc2", 0, 1, NO_BRANCH,
        "x1 x2", "x0", ""),
    ROW("vaddps ymm0, ymm1, [rbx]", "\xc5\xf4\x58\x03", LD, 1, NO_BRANCH,
        "x1", "x0", "rbx"),
    ROW("vmovups ymm0, [rbx+rcx]", "\xc5\xfc\x10\x04\x0b", LD, 1,
        NO_BRANCH, "", "x0", "rbx rcx"),
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
    ROW("vbroadcasti128 ymm0, [rbx]", "\xc4\xe2\x7d\x5a\x03", LD, 1,
        NO_BRANCH, "", "x0", "rbx"),
    ROW("wrpkru", "\x0f\x01\xef", 0, 0, NO_BRANCH, "rax", "", ""),
    ROW("ud2", "\x0f\x0b", 0, 0, PMU_BRANCH_NONE, "", "", ""),
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
    ROW("paddb mm0, mm1", "\x0f\xfc\xc1", 0, 1, NO_BRANCH, "st0 st1", "st0",
        ""),

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

/* Returns the registers in @names as a bit mask of PmuReg. */
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
            set |= 1ull << PMU_REG_CF | 1ull << PMU_REG_SPAZO;
        } else if (!strcmp(name, "cf")) {
            set |= 1ull << PMU_REG_CF;
        } else if (!strcmp(name, "spazo")) {
            set |= 1ull << PMU_REG_SPAZO;
        } else if (g_str_has_prefix(name, "st")) {
            /* st0 to st7 stand for the MMX registers as well. */
            set |= 1ull << (PMU_REG_X87 + atoi(name + 2));
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

/*
 * Each row's operands, accesses and branches are those of the SDM, its slots
 * those of uops.info.
 */
static void test_table(void)
{
    PmuDecoder *decoder = pmu_decoder_new(PMU_CORE_ICELAKE,
                                          pmu_uarch(PMU_CORE_ICELAKE));

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const Row *row = &rows[i];
        PmuInsn insn;

        expect(row->name, "known",
               pmu_decode_bytes(decoder, (const uint8_t *)row->bytes,
                                row->length,
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
    }
    pmu_decoder_free(decoder);
}

static PmuInsn decode(PmuCore core, unsigned mode, const char *bytes,
                      unsigned length, bool known)
{
    PmuDecoder *decoder = pmu_decoder_new(core, pmu_uarch(core));
    PmuInsn insn;

    pmu_decoder_set_mode(decoder, mode);
    g_assert_cmpint(pmu_decode_bytes(decoder, (const uint8_t *)bytes, length,
                               &insn), ==, known);
    pmu_decoder_free(decoder);
    return insn;
}

#define DECODE64(bytes) \
    decode(PMU_CORE_ICELAKE, 64, bytes, sizeof(bytes) - 1, true)

/* Latencies are those measured on a Xeon Gold 6330: InstLatx64. */
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

/* Returns the ports of @mask as uops.info names them: "0156", A for port 10. */
static char *port_names(unsigned mask)
{
    GString *names = g_string_new("");

    for (unsigned i = 0; i < 16; i++) {
        if (mask & (1u << i)) {
            g_string_append_c(names, "0123456789AB????"[i]);
        }
    }
    return g_string_free(names, FALSE);
}

/* Returns the compute micro-ops of @insn, as in "1*06 1*1". */
static char *compute_names(const PmuInsn *insn)
{
    GString *names = g_string_new("");

    for (unsigned i = 0; i < PMU_INSN_COMPUTE; i++) {
        g_autofree char *ports = port_names(insn->compute[i].ports);

        if (insn->compute[i].count) {
            g_string_append_printf(names, "%s%u*%s", names->len ? " " : "",
                                   insn->compute[i].count, ports);
        }
    }
    return g_string_free(names, FALSE);
}

#define SNC_CORE PMU_CORE_ICELAKE
#define GLC_CORE PMU_CORE_SAPPHIRERAPIDS

/* Slots, and the ports of the compute micro-ops, are uops.info's. */
static void test_ports(void)
{
    static const struct {
        PmuCore core;
        const char *name, *bytes;
        unsigned length, slots;
        const char *compute;
    } table[] = {
#define P(c, name, bytes, slots, ports) \
    { c##_CORE, name, bytes, sizeof(bytes) - 1, slots, ports }
        P(SNC, "add rax, rbx", "\x48\x01\xd8", 1, "1*0156"),
        P(GLC, "add rax, rbx", "\x48\x01\xd8", 1, "1*0156A"),
        P(SNC, "add rax, [rbx]", "\x48\x03\x03", 1, "1*0156"),
        P(SNC, "mov rax, [rbx]", "\x48\x8b\x03", 1, ""),
        P(SNC, "mov al, [rbx]", "\x8a\x03", 1, "1*0156"),
        P(SNC, "mov [rbx], rax", "\x48\x89\x03", 1, ""),
        P(SNC, "shl rax, 3", "\x48\xc1\xe0\x03", 1, "1*06"),
        P(SNC, "shl rax, cl", "\x48\xd3\xe0", 2, "2*06"),
        P(SNC, "rol rax, 1", "\x48\xd1\xc0", 2, "2*06"),
        P(SNC, "rol rax, 3", "\x48\xc1\xc0\x03", 1, "1*06"),
        P(SNC, "imul rax, rbx", "\x48\x0f\xaf\xc3", 1, "1*1"),
        P(SNC, "mul rcx", "\x48\xf7\xe1", 2, "1*1 1*5"),
        P(SNC, "popcnt rax, rbx", "\xf3\x48\x0f\xb8\xc3", 1, "1*1"),
        P(SNC, "bswap eax", "\x0f\xc8", 1, "1*1"),
        P(SNC, "bswap rax", "\x48\x0f\xc8", 2, "1*1 1*06"),
        P(SNC, "lea rax, [rbx+rcx]", "\x48\x8d\x04\x0b", 1, "1*0156"),
        P(SNC, "lea rax, [rbx+rcx*4]", "\x48\x8d\x04\x8b", 1, "1*15"),
        P(GLC, "lea rax, [rbx+rcx*4]", "\x48\x8d\x04\x8b", 1, "1*15A"),
        P(SNC, "cmove rax, rbx", "\x48\x0f\x44\xc3", 1, "1*06"),
        P(SNC, "cmova rax, rbx", "\x48\x0f\x47\xc3", 2, "2*06"),
        P(SNC, "andn rax, rbx, rcx", "\xc4\xe2\xe0\xf2\xc1", 1, "1*15"),
        P(SNC, "jmp", "\xeb\x00", 1, "1*6"),
        P(SNC, "je", "\x74\x00", 1, "1*06"),
        P(SNC, "addps xmm0, xmm1", "\x0f\x58\xc1", 1, "1*01"),
        P(GLC, "addps xmm0, xmm1", "\x0f\x58\xc1", 1, "1*15"),
        P(GLC, "mulps xmm0, xmm1", "\x0f\x59\xc1", 1, "1*01"),
        P(SNC, "pand xmm0, xmm1", "\x66\x0f\xdb\xc1", 1, "1*015"),
        P(SNC, "pand mm0, mm1", "\x0f\xdb\xc1", 1, "1*05"),
        P(SNC, "paddsb xmm0, xmm1", "\x66\x0f\xec\xc1", 1, "1*01"),
        P(SNC, "pslld xmm0, 1", "\x66\x0f\x72\xf0\x01", 1, "1*01"),
        P(SNC, "pshufb xmm0, xmm1", "\x66\x0f\x38\x00\xc1", 1, "1*15"),
        P(SNC, "unpcklps xmm0, xmm1", "\x0f\x14\xc1", 1, "1*5"),
        P(SNC, "vpermq ymm0, ymm1, 1", "\xc4\xe3\xfd\x00\xc1\x01", 1, "1*5"),
        P(SNC, "vpmovzxbw ymm0, xmm1", "\xc4\xe2\x7d\x30\xc1", 1, "1*5"),
        P(SNC, "pmovzxbw xmm0, xmm1", "\x66\x0f\x38\x30\xc1", 1, "1*15"),
        P(SNC, "pmulld xmm0, xmm1", "\x66\x0f\x38\x40\xc1", 2, "2*01"),
        P(SNC, "movd eax, xmm0", "\x66\x0f\x7e\xc0", 1, "1*0"),
        P(SNC, "movd xmm0, eax", "\x66\x0f\x6e\xc0", 1, "1*5"),
        P(SNC, "divsd xmm0, xmm1", "\xf2\x0f\x5e\xc1", 1, "1*0"),
        P(SNC, "vbroadcasti128 ymm0, [rbx]", "\xc4\xe2\x7d\x5a\x03", 1, ""),
        P(SNC, "fadd st, st(1)", "\xd8\xc1", 1, "1*5"),
        P(SNC, "fmul st, st(1)", "\xd8\xc9", 1, "1*0"),
        /* Renaming does these; no port does. */
        P(SNC, "xor eax, eax", "\x31\xc0", 1, ""),
        P(SNC, "nop", "\x90", 1, ""),
        P(SNC, "vpxor xmm0, xmm0, xmm0", "\xc5\xf9\xef\xc0", 1, ""),
        P(SNC, "pcmpgtd xmm0, xmm0", "\x66\x0f\x66\xc0", 1, ""),
        P(SNC, "movaps xmm0, xmm1", "\x0f\x28\xc1", 1, ""),
        P(GLC, "movaps xmm0, xmm1", "\x0f\x28\xc1", 1, ""),
        P(GLC, "mov rax, rbx", "\x48\x89\xd8", 1, ""),
        P(GLC, "movzx eax, bl", "\x0f\xb6\xc3", 1, ""),
        P(GLC, "inc rcx", "\x48\xff\xc1", 1, ""),
        P(GLC, "add rcx, 8", "\x48\x83\xc1\x08", 1, ""),
        P(GLC, "lea rcx, [rcx+8]", "\x48\x8d\x49\x08", 1, ""),
        /* Renaming does not do these. */
        P(SNC, "mov rax, rbx", "\x48\x89\xd8", 1, "1*0156"),
        P(SNC, "inc rcx", "\x48\xff\xc1", 1, "1*0156"),
        P(GLC, "mov rax, rax", "\x48\x89\xc0", 1, "1*0156A"),
        P(GLC, "inc ecx", "\xff\xc1", 1, "1*0156A"),
        P(GLC, "add rcx, 1024", "\x48\x81\xc1\x00\x04\x00\x00", 1,
          "1*0156A"),
        P(GLC, "add qword [rcx], 8", "\x48\x83\x01\x08", 2, "1*0156A"),
        P(SNC, "movaps xmm0, xmm0", "\x0f\x28\xc0", 1, "1*015"),
        P(SNC, "pcmpeqd xmm0, xmm0", "\x66\x0f\x76\xc0", 1, "1*01"),
        P(SNC, "pandn xmm0, xmm0", "\x66\x0f\xdf\xc0", 1, "1*015"),
        P(SNC, "pxor mm0, mm0", "\x0f\xef\xc0", 1, "1*05"),
        P(SNC, "xor ax, ax", "\x66\x31\xc0", 1, "1*0156"),
#undef P
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(table); i++) {
        PmuInsn insn = decode(table[i].core, 64, table[i].bytes,
                              table[i].length, true);
        g_autofree char *compute = compute_names(&insn);

        expect(table[i].name, "slots", insn.slots, table[i].slots);
        if (strcmp(compute, table[i].compute)) {
            g_test_message("%s: runs on \"%s\", expected \"%s\"",
                           table[i].name, compute, table[i].compute);
            g_test_fail();
        }
    }
}

/*
 * Latencies that differ between the two cores, and some that do not:
 * InstLatx64.
 */
static void test_cores_differ(void)
{
    static const struct {
        const char *name, *bytes;
        unsigned length, snc, glc;
    } table[] = {
#define D(name, bytes, snc, glc) { name, bytes, sizeof(bytes) - 1, snc, glc }
        D("addpd xmm0, xmm1", "\x66\x0f\x58\xc1", 4, 2),
        D("haddpd xmm0, xmm1", "\x66\x0f\x7c\xc1", 7, 5),
        D("adc eax, imm32", "\x15\x00\x00\x00\x01", 2, 1),
        D("lea rax, [rbx+rcx*4]", "\x48\x8d\x04\x8b", 1, 2),
        D("vblendvps xmm0, xmm1, xmm2, xmm3", "\xc4\xe3\x71\x4a\xc2\x30", 2,
          3),
        D("dpps xmm0, xmm1, 1", "\x66\x0f\x3a\x40\xc1\x01", 16, 14),
        D("div cl", "\xf6\xf1", 16, 17),
        /* These are the same on both. */
        D("mulpd xmm0, xmm1", "\x66\x0f\x59\xc1", 4, 4),
        D("imul rax, rbx", "\x48\x0f\xaf\xc3", 3, 3),
        D("div rcx", "\x48\xf7\xf1", 18, 18),
#undef D
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(table); i++) {
        expect(table[i].name, "latency on Sunny Cove",
               decode(SNC_CORE, 64, table[i].bytes, table[i].length,
                      true).latency, table[i].snc);
        expect(table[i].name, "latency on Golden Cove",
               decode(GLC_CORE, 64, table[i].bytes, table[i].length,
                      true).latency, table[i].glc);
    }
}

/*
 * Returns the cycles from register @from to register @to; -1 if one is not
 * used.
 */
static int path(const PmuInsn *insn, const char *from, const char *to)
{
    int src = -1, dst = -1;

    for (int i = 0; i < PMU_INSN_SRCS; i++) {
        if (insn->src[i] && reg_set(from) == 1ull << insn->src[i]) {
            src = i;
        }
    }
    for (int i = 0; i < PMU_INSN_DSTS; i++) {
        if (insn->dst[i] < PMU_REG_NR && reg_set(to) == 1ull << insn->dst[i]) {
            dst = i;
        }
    }
    return src < 0 || dst < 0 ? -1 : insn->latency - insn->src_late[src] +
                                     insn->dst_late[dst];
}

/* Latencies between single operands: InstLatx64, uops.info. */
static void test_paths(void)
{
    PmuInsn mul = DECODE64("\x48\xf7\xe1");
    PmuInsn mul16 = DECODE64("\x66\xf7\xe1");
    PmuInsn cvt = DECODE64("\xf2\x48\x0f\x2a\xc0");     /* cvtsi2sd x0, rax */
    PmuInsn same = DECODE64("\xf2\x0f\x5a\xc0");        /* cvtsd2ss x0, x0 */
    PmuInsn narrow = DECODE64("\xf2\x0f\x5a\xc1");      /* cvtsd2ss x0, x1 */
    PmuInsn pinsr = DECODE64("\x66\x0f\x3a\x22\xc0\x01");   /* x0, eax */

    g_assert_cmpint(path(&mul, "rax", "rax"), ==, 3);
    g_assert_cmpint(path(&mul, "rcx", "rdx"), ==, 4);
    g_assert_cmpint(path(&mul16, "rax", "rax"), ==, 4);
    g_assert_cmpint(path(&mul16, "rax", "rdx"), ==, 5);
    /* Merging the rest of the destination comes last. */
    g_assert_cmpint(path(&cvt, "rax", "x0"), ==, 7);
    g_assert_cmpint(path(&cvt, "x0", "x0"), ==, 4);
    g_assert_cmpint(path(&narrow, "x1", "x0"), ==, 5);
    g_assert_cmpint(path(&narrow, "x0", "x0"), ==, 1);
    g_assert_cmpint(path(&same, "x0", "x0"), ==, 5);
    g_assert_cmpint(path(&pinsr, "x0", "x0"), ==, 1);
    g_assert_cmpint(path(&pinsr, "rax", "x0"), ==, 3);
}

/*
 * With a count in CL, the operand rotated still has its own size: RCL of 64
 * bits takes as long as of 32, not as of 8.
 */
static void test_rotate_by_cl(void)
{
    g_assert_cmpuint(DECODE64("\x48\xd3\x10").latency, ==,
                     DECODE64("\xd3\x10").latency);
    g_assert_cmpuint(DECODE64("\x48\xd3\x10").latency, !=,
                     DECODE64("\xd2\x10").latency);
}

/* VZEROUPPER has no operands, so its encodings are the shortest with VEX. */
static void test_shortest_vex(void)
{
    static const uint8_t two[] = { 0xc5, 0xf8, 0x77 };
    static const uint8_t three[] = { 0xc4, 0xe1, 0x78, 0x77 };
    PmuEncoding enc;

    pmu_encoding_parse(&enc, two, sizeof(two), 64);
    g_assert_cmphex(enc.prefixes & PMU_PREFIX_VEX, ==, PMU_PREFIX_VEX);
    g_assert_cmpuint(DECODE64("\xc5\xf8\x77").opcode_end, ==, 2);
    pmu_encoding_parse(&enc, three, sizeof(three), 64);
    g_assert_cmphex(enc.prefixes & PMU_PREFIX_VEX, ==, PMU_PREFIX_VEX);
    g_assert_cmpuint(DECODE64("\xc4\xe1\x78\x77").opcode_end, ==, 3);
}

/* Loads to vector registers take longer, the wider they are: uops.info. */
static void test_load_latency(void)
{
    g_assert_cmpuint(DECODE64("\x48\x8b\x03").load_latency, ==, 0);
    g_assert_cmpuint(DECODE64("\xf2\x0f\x10\x03").load_latency, ==, 0);
    g_assert_cmpuint(DECODE64("\x0f\x28\x03").load_latency, ==, 1);
    g_assert_cmpuint(DECODE64("\xc5\xfc\x28\x03").load_latency, ==, 2);
    g_assert_cmpuint(DECODE64("\x0f\x58\x03").load_latency, ==, 1);
}

/*
 * Three operands with an index issue as one slot more than they are decoded to:
 * uops.info.
 */
static void test_unlamination(void)
{
    PmuInsn vex = DECODE64("\xc5\xf4\x58\x04\x0b");     /* vaddps, indexed */
    PmuInsn sse = DECODE64("\x0f\x58\x04\x0b");         /* addps, indexed */
    PmuInsn rmw = DECODE64("\x48\x01\x04\x0b");         /* add [rbx+rcx], rax */

    g_assert_cmpuint(vex.decode_uops, ==, 1);
    g_assert_cmpuint(vex.slots, ==, 2);
    g_assert_cmpuint(sse.decode_uops, ==, 1);
    g_assert_cmpuint(sse.slots, ==, 1);
    g_assert_cmpuint(rmw.decode_uops, ==, 2);
    g_assert_cmpuint(rmw.slots, ==, 3);
}

/*
 * Dividers and locks are not pipelined.  They are held as long as measured:
 * InstLatx64.
 */
static void test_resources(void)
{
    PmuInsn div32 = DECODE64("\xf7\xf1");
    PmuInsn div64 = DECODE64("\x48\xf7\xf1");
    PmuInsn divss = DECODE64("\xf3\x0f\x5e\xc1");
    PmuInsn vdivpd = DECODE64("\xc5\xf5\x5e\xc2");
    PmuInsn lock = DECODE64("\xf0\x48\x01\x03");

    g_assert_cmpuint(div32.resource, ==, PMU_RESOURCE_INT_DIV);
    g_assert_cmpuint(div32.hold, ==, 6);
    g_assert_cmpuint(div64.hold, ==, 10);
    g_assert_cmpuint(divss.resource, ==, PMU_RESOURCE_FP_DIV);
    g_assert_cmpuint(divss.hold, ==, 3);
    g_assert_cmpuint(vdivpd.hold, ==, 8);
    g_assert_cmpuint(lock.resource, ==, PMU_RESOURCE_LOCK);
    g_assert_cmpuint(lock.hold, ==, 18);
    g_assert_true(lock.flags & PMU_INSN_FENCES_LOADS);
    g_assert_cmpuint(DECODE64("\x48\x01\xd8").resource, ==,
                     PMU_RESOURCE_NONE);
}

/* Assert that the ports, resource and delays in @cost exist on each core. */
static void check_cost(const char *name, const PmuTimingRow *cost)
{
    for (unsigned core = 0; core < PMU_CORES_MEASURED; core++) {
        const PmuUarch *uarch = pmu_uarch(core);

        for (unsigned i = 0; i < PMU_INSN_COMPUTE; i++) {
            unsigned ports;

            if (!cost->compute[i].count) {
                continue;
            }
            expect(name, "unit in range",
                   cost->compute[i].unit < PMU_UNIT_NR, true);
            ports = uarch->ports[cost->compute[i].unit];
            expect(name, "ports", ports != 0, true);
            expect(name, "ports that the core has not",
                   ports >> uarch->num_ports, 0);
        }
    }
    expect(name, "resource in range", cost->resource < PMU_RESOURCE_NR, true);
    expect(name, "what is held has a name",
           !cost->hold || cost->resource != PMU_RESOURCE_NONE, true);
    expect(name, "what is held has a micro-op to begin with",
           !cost->hold || cost->compute[0].count, true);
    expect(name, "late beyond the latency",
           cost->src0_late > cost->latency ||
           cost->flags_late > cost->latency, false);
}

/*
 * Each row of the table is sane.  Its last timing row holds for every form, no
 * timing row is hidden behind one before it, and no mnemonic has two rows.
 */
static void test_rows(void)
{
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    const PmuInsnRow *row;

    for (unsigned i = 0; (row = pmu_insn_table_row(i)); i++) {
        const PmuTimingRow *cost = row->timing;

        expect(row->name, "first row of the name",
               g_hash_table_add(names, (void *)row->name), true);
        expect(row->name, "findable", pmu_insn_table_find(row->name) == row,
               true);
        for (;; cost++) {
            check_cost(row->name, cost);
            for (const PmuTimingRow *before = row->timing; before < cost;
                 before++) {
                expect(row->name, "hidden row of costs",
                       !(before->form & ~cost->form), false);
            }
            if (!cost->form) {
                break;
            }
        }
    }
    g_assert_cmpuint(g_hash_table_size(names), >, 600);
}

/* Which instructions fuse with which conditions: Intel SOM 3.4.2.2. */
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

/*
 * The flags for the pipeline: serializing, locked, microcoded, REP, LCP (SDM).
 */
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
    /* Prefixes of segment and address size change no immediate. */
    g_assert_false(DECODE64("\x65\x81\x3b\x01\x01\x01\x01").flags &
                   PMU_INSN_LCP);
    g_assert_false(DECODE64("\x67\x81\x3b\x01\x01\x01\x01").flags &
                   PMU_INSN_LCP);
    /* Four micro-ops come from a decoder, more from microcode. */
    g_assert_cmpuint(DECODE64("\x48\xf7\xf1").decode_uops, ==, 4);
    g_assert_false(DECODE64("\x48\xf7\xf1").flags & PMU_INSN_MICROCODED);
    g_assert_true(DECODE64("\x66\xb8\x01\x01").flags & PMU_INSN_LCP);
    g_assert_false(DECODE64("\x66\x89\xd8").flags & PMU_INSN_LCP);
    g_assert_false(DECODE64("\xb8\x01\x01\x01\x01").flags & PMU_INSN_LCP);
}

/*
 * Sizes of memory operands, as in the SDM.  They decide if a line is crossed.
 */
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

/* The same bytes mean different things in different modes (SDM). */
static void test_modes(void)
{
    PmuInsn insn;

    /* 40: REX in 64-bit code, INC EAX elsewhere. */
    decode(PMU_CORE_ICELAKE, 64, "\x40", 1, false);
    insn = decode(PMU_CORE_ICELAKE, 32, "\x40", 1, true);
    g_assert_cmphex(list_set(insn.dst, PMU_INSN_DSTS), ==,
                    reg_set("rax spazo"));
    insn = decode(PMU_CORE_ICELAKE, 32, "\x50", 1, true);
    g_assert_cmpuint(insn.access_size, ==, 4);
    insn = decode(PMU_CORE_ICELAKE, 16, "\x50", 1, true);
    g_assert_cmpuint(insn.access_size, ==, 2);
    /* B8 has an immediate of the operand size. */
    decode(PMU_CORE_ICELAKE, 16, "\xb8\x01\x02", 3, true);
    decode(PMU_CORE_ICELAKE, 32, "\xb8\x01\x02\x03\x04", 5, true);
    insn = decode(PMU_CORE_ICELAKE, 32, "\xa5", 1, true);
    g_assert_cmpuint(insn.access_size, ==, 4);
    insn = decode(PMU_CORE_ICELAKE, 16, "\xa5", 1, true);
    g_assert_cmpuint(insn.access_size, ==, 2);
    insn = decode(PMU_CORE_ICELAKE, 16, "\x66\xa5", 2, true);
    g_assert_cmpuint(insn.access_size, ==, 4);
    /* C5 is LDS if a memory operand follows, and VEX if a register follows. */
    insn = decode(PMU_CORE_ICELAKE, 32, "\xc5\x03", 2, true);
    g_assert_true(insn.flags & PMU_INSN_LOAD);
    insn = decode(PMU_CORE_ICELAKE, 32, "\xc5\xf0\x58\xc2", 4, true);
    g_assert_cmphex(list_set(insn.src, PMU_INSN_SRCS), ==, reg_set("x1 x2"));
}

/*
 * An instruction that Capstone does not know, or takes for a shorter one, is
 * described as one slot and one cycle, without registers.
 */
static void test_unknown(void)
{
    PmuDecoder *decoder = pmu_decoder_new(PMU_CORE_ICELAKE,
                                          pmu_uarch(PMU_CORE_ICELAKE));
    PmuDecoderStats stats;
    PmuInsn insn;

    g_assert_true(pmu_decode_bytes(decoder, (const uint8_t *)"\x90", 1, &insn));
    g_assert_false(pmu_decode_bytes(decoder, (const uint8_t *)"\x90\x90", 2,
                                    &insn));
    g_assert_true(insn.flags & PMU_INSN_UNKNOWN);
    g_assert_cmpuint(insn.slots, ==, 1);
    g_assert_cmpuint(insn.latency, ==, 1);
    g_assert_cmpuint(insn.length, ==, 2);
    g_assert_cmphex(list_set(insn.dst, PMU_INSN_DSTS), ==, 0);
    g_assert_false(pmu_decode_bytes(decoder, (const uint8_t *)"\x48\x01", 2,
                                    &insn));
    stats = pmu_decoder_stats(decoder);
    g_assert_cmpuint(stats.decoded, ==, 3);
    g_assert_cmpuint(stats.unknown, ==, 2);
    pmu_decoder_free(decoder);
}

/*
 * Returns how many of the rows' instructions two decoders describe differently.
 */
static unsigned rows_that_differ(PmuDecoder *one, PmuDecoder *other)
{
    unsigned differ = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        const uint8_t *bytes = (const uint8_t *)rows[i].bytes;
        PmuInsn a, b;

        pmu_decode_bytes(one, bytes, rows[i].length, &a);
        pmu_decode_bytes(other, bytes, rows[i].length, &b);
        differ += memcmp(&a, &b, sizeof(a)) != 0;
    }
    return differ;
}

/*
 * vCPUs that share code may differ in parameters that descriptions do not
 * depend on: all but those that are marked of_code.
 */
static void test_figures(void)
{
    for (unsigned core = 0; core < 2; core++) {
        static const PmuCore cores[] = {
            PMU_CORE_ICELAKE, PMU_CORE_SAPPHIRERAPIDS,
        };
        const PmuUarch *usual = pmu_uarch(cores[core]);
        PmuDecoder *decoder = pmu_decoder_new(cores[core], usual);

        for (unsigned i = 0; i < PMU_UARCH_PARAMS; i++) {
            const PmuUarchParam *param = &pmu_uarch_params[i];
            const uint32_t values[] = { param->min, param->max };
            unsigned differ = 0;

            for (unsigned j = 0; j < G_N_ELEMENTS(values); j++) {
                PmuUarch uarch = *usual;
                g_autofree char *why = pmu_uarch_set(&uarch, param, values[j],
                                                     "");
                PmuDecoder *other;

                g_assert_null(why);
                other = pmu_decoder_new(cores[core], &uarch);
                differ += rows_that_differ(decoder, other);
                pmu_decoder_free(other);
            }
            /* Only blocks depend on windows of the DSB; instructions do not. */
            if (!strcmp(param->name, "dsb-window") ||
                !differ == !param->of_code) {
                continue;
            }
            g_test_message("%s: %u descriptions differ", param->name, differ);
            g_test_fail();
        }
        pmu_decoder_free(decoder);
    }
}

/* No bytes upset the decoder, or make it return indices out of range. */
static void test_random_bytes(void)
{
    PmuDecoder *decoder = pmu_decoder_new(PMU_CORE_ICELAKE,
                                          pmu_uarch(PMU_CORE_ICELAKE));
    static const unsigned modes[] = { 16, 32, 64 };

    for (unsigned i = 0; i < 300000; i++) {
        unsigned length = g_test_rand_int_range(1, 16);
        /* On the heap, so that sanitizers notice a read past the end. */
        g_autofree uint8_t *bytes = g_malloc(length);
        PmuInsn insn;

        for (unsigned j = 0; j < length; j++) {
            bytes[j] = g_test_rand_int();
        }
        pmu_decoder_set_mode(decoder, modes[i % 3]);
        pmu_decode_bytes(decoder, bytes, length, &insn);
        g_assert_cmpuint(insn.length, ==, length);
        g_assert_cmpuint(insn.slots, >, 0);
        g_assert_cmpuint(insn.decode_uops, >, 0);
        g_assert_cmpuint(insn.decode_uops, <=, insn.slots);
        g_assert_cmpuint(insn.resource, <, PMU_RESOURCE_NR);
        for (unsigned j = 0; j < PMU_INSN_COMPUTE; j++) {
            g_assert_true(!insn.compute[j].count || insn.compute[j].ports);
        }
        for (unsigned j = 0; j < PMU_INSN_SRCS; j++) {
            g_assert_cmpuint(insn.src[j], <, PMU_REG_NR);
            g_assert_cmpuint(insn.src_late[j], <=, insn.latency);
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
    g_test_add_func("/decoder/figures", test_figures);
    g_test_add_func("/decoder/table", test_table);
    g_test_add_func("/decoder/latencies", test_latencies);
    g_test_add_func("/decoder/rows", test_rows);
    g_test_add_func("/decoder/ports", test_ports);
    g_test_add_func("/decoder/cores-differ", test_cores_differ);
    g_test_add_func("/decoder/paths", test_paths);
    g_test_add_func("/decoder/load-latency", test_load_latency);
    g_test_add_func("/decoder/rotate-by-cl", test_rotate_by_cl);
    g_test_add_func("/decoder/shortest-vex", test_shortest_vex);
    g_test_add_func("/decoder/unlamination", test_unlamination);
    g_test_add_func("/decoder/resources", test_resources);
    g_test_add_func("/decoder/macro-fusion", test_macro_fusion);
    g_test_add_func("/decoder/flags", test_flags);
    g_test_add_func("/decoder/access-sizes", test_access_sizes);
    g_test_add_func("/decoder/modes", test_modes);
    g_test_add_func("/decoder/unknown", test_unknown);
    g_test_add_func("/decoder/random-bytes", test_random_bytes);
    return g_test_run();
}
