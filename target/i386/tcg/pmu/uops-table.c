/*
 * The instruction table: what each mnemonic reads, writes and costs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Translation time, below the line: data and its lookup.
 *
 * Sources.  Operands, implicit registers and flags: SDM vol. 2.  Latency and
 * occupancy on Sunny Cove: InstLatx64's measurements of a Xeon Gold 6330; on
 * Golden Cove: its measurements of a 06_97 P-core.  Micro-ops and ports:
 * uops.info.  System instructions that nobody publishes figures of (WRMSR,
 * port I/O, descriptor loads) have round ones; they are marked below.
 */

#include <glib.h>
#include <string.h>

#include "uops-table.h"

#define R(n)    (1u << (n))
#define RAX     R(0)
#define RCX     R(1)
#define RDX     R(2)
#define RBX     R(3)
#define RSP     R(4)
#define RBP     R(5)

#define FL_R    PMU_TRAIT_FLAGS_R
#define FL_W    PMU_TRAIT_FLAGS_W

/* Cycles as 1/16 cycles. */
#define CYC(n)  ((n) * 16)

#define ROW(n, acc, k, s, lat_snc, lat_glc, u, ...)                     \
    { .name = n, .access = PMU_ACCESS_##acc, .kind = PMU_KIND_##k,      \
      .slots = s, .latency = { lat_snc, lat_glc },                      \
      .unit = PMU_UNIT_##u, __VA_ARGS__ }

/* One micro-op, the same latency on both cores. */
#define ONE(n, acc, lat, u, ...) \
    ROW(n, acc, PLAIN, 1, lat, lat, u, __VA_ARGS__)

/* Integer instructions that write flags. */
#define ALU(n, ...)     ONE(n, RW, 1, ALU, .traits = FL_W __VA_ARGS__)
#define ALU_FUSE(n, acc, tr, f) \
    ONE(n, acc, 1, ALU, .traits = FL_W | PMU_TRAIT_FUSES | (tr), .fuse = f)

/* Vector families: legacy form here, VEX form by the 'v' rule. */
#define VEC(n)          ONE(n, RW, 1, VEC)
#define VEC_ZERO(n)     ONE(n, RW, 1, VEC, .traits = PMU_TRAIT_ZERO)
#define VEC_ONES(n)     ONE(n, RW, 1, VEC, .traits = PMU_TRAIT_ONES)
#define VEC_UN(n)       ONE(n, W, 1, VEC)
#define VSHIFT(n)       ONE(n, RW, 1, FP)
#define VMUL(n)         ONE(n, RW, 5, FP)
#define SHUF(n)         ONE(n, RW, 1, SHUFFLE, .occupancy = 8)
#define SHUF_UN(n)      ONE(n, W, 1, SHUFFLE, .occupancy = 8)
#define LANE_UN(n)      ONE(n, W, 1, SHUFFLE, .traits = PMU_TRAIT_LANE)
#define CROSS(n)        ONE(n, W, 3, SHUFFLE)
#define FADD(n)         ROW(n, RW, PLAIN, 1, 4, 3, FP)
#define FMUL(n)         ONE(n, RW, 4, FP)
#define FMINMAX(n)      ONE(n, RW, 4, FP)
#define FCMP(n)         ONE(n, RW, 4, FP)
#define FLOGIC(n)       ONE(n, RW, 1, VEC)
#define FDIV(n, l, c)   ONE(n, RW, l, FP_DIV, .occupancy = CYC(c),      \
                            .traits = PMU_TRAIT_WIDE_SLOW)
#define FSQRT(n, l, c)  ONE(n, W, l, FP_DIV, .occupancy = CYC(c),       \
                            .traits = PMU_TRAIT_WIDE_SLOW)
#define TWO(n, acc, l, u, o) \
    ROW(n, acc, PLAIN, 2, l, l, u, .occupancy = o)
#define SIMD_MOVE(n)    ONE(n, W, 1, VEC,                               \
                            .traits = PMU_TRAIT_MOVE | PMU_TRAIT_ELIM_SIMD)
#define VEC_LOAD(n)     ONE(n, W, 1, SHUFFLE, .traits = PMU_TRAIT_MOVE)

/* Conditions: the row says nothing of flags read as CC selects them. */
#define CMOV(n, s)      ROW(n, RW, PLAIN, s, s, s, SHIFT, .traits = FL_R)
#define SETCC(n, s)     ROW(n, W, PLAIN, s, s, s, SHIFT, .traits = FL_R)
#define JCC(n)          ROW(n, NONE, JCC, 1, 1, 1, BRANCH, .traits = FL_R)

/* x87: the stack is one register. */
#define X87(n, acc, s, l, u, ...) \
    ROW(n, acc, X87, s, l, l, u, __VA_ARGS__)

/* Microcode: @s slots, a result after @l cycles, one each @c cycles. */
#define MICRO(n, acc, s, l, c, ...)                                     \
    ROW(n, acc, PLAIN, s, l, l, SYSTEM, .occupancy = CYC(c), __VA_ARGS__)

/* The same, and serializing (SDM vol. 3A, 8.3). */
#define SERIAL(n, acc, s, l, ...)                                       \
    ROW(n, acc, PLAIN, s, l, l, SYSTEM,                                 \
        .flags = PMU_INSN_SERIALIZING | PMU_INSN_BLOCKS_ISSUE, __VA_ARGS__)

#define FAR(n, acc, s, l) \
    ROW(n, acc, FAR, s, l, l, SYSTEM, .flags = PMU_INSN_BLOCKS_ISSUE)

static const PmuUopsRow uops_table[] = {
    /* Integer arithmetic and logic. */
    ALU_FUSE("add", RW, 0, PMU_FUSE_CARRY_ZERO | PMU_FUSE_SIGNED),
    ALU_FUSE("sub", RW, PMU_TRAIT_ZERO,
             PMU_FUSE_CARRY_ZERO | PMU_FUSE_SIGNED),
    ALU_FUSE("and", RW, 0,
             PMU_FUSE_CARRY_ZERO | PMU_FUSE_SIGNED | PMU_FUSE_OTHER),
    ALU_FUSE("cmp", R, 0, PMU_FUSE_CARRY_ZERO | PMU_FUSE_SIGNED),
    ALU_FUSE("test", R, 0,
             PMU_FUSE_CARRY_ZERO | PMU_FUSE_SIGNED | PMU_FUSE_OTHER),
    ALU_FUSE("inc", RW, 0, PMU_FUSE_ZERO | PMU_FUSE_SIGNED),
    ALU_FUSE("dec", RW, 0, PMU_FUSE_ZERO | PMU_FUSE_SIGNED),
    ALU("or"),
    ALU("xor", | PMU_TRAIT_ZERO),
    ALU("neg"),
    ONE("not", RW, 1, ALU),
    ONE("adc", RW, 1, SHIFT, .traits = FL_R | FL_W),
    ONE("sbb", RW, 1, SHIFT, .traits = FL_R | FL_W),
    ONE("adcx", RW, 1, SHIFT, .traits = FL_R | FL_W),
    ONE("adox", RW, 1, SHIFT, .traits = FL_R | FL_W),
    ONE("mov", W, 1, ALU, .traits = PMU_TRAIT_MOVE | PMU_TRAIT_ELIM_GPR),
    ONE("movabs", W, 1, ALU, .traits = PMU_TRAIT_MOVE),
    ONE("movzx", W, 1, ALU, .traits = PMU_TRAIT_MOVE),
    ONE("movsx", W, 1, ALU, .traits = PMU_TRAIT_MOVE),
    ONE("movsxd", W, 1, ALU, .traits = PMU_TRAIT_MOVE),
    ROW("movbe", W, PLAIN, 1, 1, 1, SHIFT),
    ONE("movnti", W, 1, ALU, .traits = PMU_TRAIT_MOVE),
    ROW("lea", W, LEA, 1, 1, 1, ALU),
    ONE("nop", NONE, 0, NONE),
    ONE("fnop", NONE, 0, NONE),
    ONE("endbr64", NONE, 0, NONE),
    ONE("endbr32", NONE, 0, NONE),
    ONE("data16", NONE, 0, NONE),
    ONE("cwd", NONE, 1, SHIFT, .reads = RAX, .writes = RDX),
    ONE("cdq", NONE, 1, SHIFT, .reads = RAX, .writes = RDX),
    ONE("cqo", NONE, 1, SHIFT, .reads = RAX, .writes = RDX),
    ONE("cbw", NONE, 1, ALU, .reads = RAX, .writes = RAX),
    ONE("cwde", NONE, 1, ALU, .reads = RAX, .writes = RAX),
    ONE("cdqe", NONE, 1, ALU, .reads = RAX, .writes = RAX),
    ROW("xchg", RW2, XCHG, 3, 2, 2, ALU, .occupancy = 16),
    ROW("xadd", RW2, PLAIN, 3, 2, 2, ALU, .occupancy = 16, .traits = FL_W),
    ROW("cmpxchg", RW, PLAIN, 5, 5, 5, ALU, .occupancy = CYC(5),
        .traits = FL_W, .reads = RAX, .writes = RAX),
    ROW("cmpxchg8b", RW, PLAIN, 14, 11, 11, ALU, .occupancy = CYC(11),
        .traits = FL_W, .reads = RAX | RBX | RCX | RDX,
        .writes = RAX | RDX),
    ROW("cmpxchg16b", RW, PLAIN, 19, 15, 15, ALU, .occupancy = CYC(15),
        .traits = FL_W, .reads = RAX | RBX | RCX | RDX,
        .writes = RAX | RDX),
    ROW("mul", R, MUL, 2, 4, 4, SLOW_INT, .traits = FL_W),
    ROW("imul", RW, MUL, 1, 3, 3, SLOW_INT, .traits = FL_W),
    ROW("mulx", W2, PLAIN, 2, 4, 4, SLOW_INT, .reads = RDX),
    ROW("div", R, DIV, 4, 15, 15, INT_DIV, .traits = FL_W,
        .reads = RAX | RDX, .writes = RAX | RDX),
    ROW("idiv", R, DIV, 4, 15, 15, INT_DIV, .traits = FL_W,
        .reads = RAX | RDX, .writes = RAX | RDX),

    /* Shifts, rotates, bits. */
    ROW("shl", RW, SHIFT, 1, 1, 1, SHIFT, .traits = FL_W),
    ROW("sal", RW, SHIFT, 1, 1, 1, SHIFT, .traits = FL_W),
    ROW("shr", RW, SHIFT, 1, 1, 1, SHIFT, .traits = FL_W),
    ROW("sar", RW, SHIFT, 1, 1, 1, SHIFT, .traits = FL_W),
    ROW("rol", RW, SHIFT, 1, 1, 1, SHIFT, .traits = FL_W),
    ROW("ror", RW, SHIFT, 1, 1, 1, SHIFT, .traits = FL_W),
    ROW("rcl", RW, SHIFT, 3, 2, 2, SHIFT, .traits = FL_R | FL_W,
        .occupancy = CYC(2)),
    ROW("rcr", RW, SHIFT, 3, 2, 2, SHIFT, .traits = FL_R | FL_W,
        .occupancy = CYC(2)),
    ONE("shld", RW, 3, SLOW_INT, .traits = FL_W),
    ONE("shrd", RW, 3, SLOW_INT, .traits = FL_W),
    ONE("shlx", W, 1, SHIFT),
    ONE("shrx", W, 1, SHIFT),
    ONE("sarx", W, 1, SHIFT),
    ONE("rorx", W, 1, SHIFT),
    ONE("bt", R, 1, SHIFT, .traits = FL_W),
    ONE("btc", RW, 1, SHIFT, .traits = FL_W),
    ONE("btr", RW, 1, SHIFT, .traits = FL_W),
    ONE("bts", RW, 1, SHIFT, .traits = FL_W),
    ONE("bsf", RW, 3, SLOW_INT, .traits = FL_W),
    ONE("bsr", RW, 3, SLOW_INT, .traits = FL_W),
    ONE("lzcnt", W, 3, SLOW_INT, .traits = FL_W),
    ONE("tzcnt", W, 3, SLOW_INT, .traits = FL_W),
    ONE("popcnt", W, 3, SLOW_INT, .traits = FL_W),
    ONE("pdep", W, 3, SLOW_INT),
    ONE("pext", W, 3, SLOW_INT),
    ONE("crc32", RW, 3, SLOW_INT),
    ROW("bswap", RW, PLAIN, 1, 1, 1, SLOW_INT),
    ONE("andn", W, 1, ALU, .traits = FL_W),
    ROW("bextr", W, PLAIN, 2, 2, 2, SHIFT, .traits = FL_W),
    ONE("blsi", W, 1, SLOW_INT, .traits = FL_W, .occupancy = 8),
    ONE("blsmsk", W, 1, SLOW_INT, .traits = FL_W, .occupancy = 8),
    ONE("blsr", W, 1, SLOW_INT, .traits = FL_W, .occupancy = 8),
    ONE("bzhi", W, 1, SLOW_INT, .traits = FL_W, .occupancy = 8),

    /* Conditional moves and sets: A and BE need two flags groups. */
    CMOV("cmova", 2), CMOV("cmovbe", 2),
    CMOV("cmovae", 1), CMOV("cmovb", 1), CMOV("cmove", 1), CMOV("cmovg", 1),
    CMOV("cmovge", 1), CMOV("cmovl", 1), CMOV("cmovle", 1),
    CMOV("cmovne", 1), CMOV("cmovno", 1), CMOV("cmovnp", 1),
    CMOV("cmovns", 1), CMOV("cmovo", 1), CMOV("cmovp", 1), CMOV("cmovs", 1),
    SETCC("seta", 2), SETCC("setbe", 2),
    SETCC("setae", 1), SETCC("setb", 1), SETCC("sete", 1), SETCC("setg", 1),
    SETCC("setge", 1), SETCC("setl", 1), SETCC("setle", 1),
    SETCC("setne", 1), SETCC("setno", 1), SETCC("setnp", 1),
    SETCC("setns", 1), SETCC("seto", 1), SETCC("setp", 1), SETCC("sets", 1),

    /* Branches. */
    JCC("ja"), JCC("jae"), JCC("jb"), JCC("jbe"), JCC("je"), JCC("jne"),
    JCC("jg"), JCC("jge"), JCC("jl"), JCC("jle"), JCC("jo"), JCC("jno"),
    JCC("jp"), JCC("jnp"), JCC("js"), JCC("jns"),
    ROW("jcxz", NONE, JCC, 2, 1, 1, BRANCH, .reads = RCX),
    ROW("jecxz", NONE, JCC, 2, 1, 1, BRANCH, .reads = RCX),
    ROW("jrcxz", NONE, JCC, 2, 1, 1, BRANCH, .reads = RCX),
    ROW("loop", NONE, JCC, 7, 2, 2, BRANCH, .reads = RCX, .writes = RCX,
        .occupancy = CYC(5)),
    ROW("loope", NONE, JCC, 11, 2, 2, BRANCH, .reads = RCX, .writes = RCX,
        .traits = FL_R, .occupancy = CYC(5)),
    ROW("loopne", NONE, JCC, 11, 2, 2, BRANCH, .reads = RCX, .writes = RCX,
        .traits = FL_R, .occupancy = CYC(5)),
    ROW("jmp", R, JMP, 1, 1, 1, BRANCH),
    ROW("call", R, CALL, 2, 1, 1, BRANCH),
    ROW("ret", NONE, RET, 1, 1, 1, BRANCH),

    /* Far transfers: round figures. */
    FAR("ljmp", R, 30, 30),
    FAR("lcall", R, 40, 40),
    FAR("retf", NONE, 30, 30),
    FAR("retfq", NONE, 30, 30),
    FAR("iret", NONE, 60, 60),
    FAR("iretd", NONE, 60, 60),
    FAR("iretq", NONE, 60, 60),
    FAR("int", NONE, 60, 60),
    FAR("int1", NONE, 60, 60),
    FAR("int3", NONE, 60, 60),
    FAR("into", NONE, 60, 60),
    FAR("syscall", NONE, 30, 40),
    FAR("sysret", NONE, 30, 40),
    FAR("sysretq", NONE, 30, 40),
    FAR("sysenter", NONE, 30, 40),
    FAR("sysexit", NONE, 30, 40),
    FAR("sysexitq", NONE, 30, 40),
    FAR("rsm", NONE, 200, 250),

    /* Stack. */
    ROW("push", R, PUSH, 1, 0, 0, NONE),
    ROW("pop", W, POP, 1, 0, 0, NONE),
    ROW("leave", NONE, LEAVE, 3, 1, 1, ALU, .reads = RBP,
        .writes = RBP | RSP),
    ROW("enter", NONE, PUSH, 12, 8, 8, SYSTEM, .occupancy = CYC(8),
        .reads = RBP, .writes = RBP | RSP),
    ROW("pushf", NONE, PUSH, 3, 1, 1, ALU, .traits = FL_R),
    ROW("pushfd", NONE, PUSH, 3, 1, 1, ALU, .traits = FL_R),
    ROW("pushfq", NONE, PUSH, 3, 1, 1, ALU, .traits = FL_R),
    ROW("popf", NONE, POP, 9, 20, 20, SYSTEM, .traits = FL_W,
        .occupancy = CYC(20)),
    ROW("popfd", NONE, POP, 9, 20, 20, SYSTEM, .traits = FL_W,
        .occupancy = CYC(20)),
    ROW("popfq", NONE, POP, 9, 20, 20, SYSTEM, .traits = FL_W,
        .occupancy = CYC(20)),
    ROW("pushaw", NONE, PUSH, 17, 8, 8, SYSTEM, .occupancy = CYC(8)),
    ROW("pushal", NONE, PUSH, 17, 8, 8, SYSTEM, .occupancy = CYC(8)),
    ROW("popaw", NONE, POP, 18, 8, 8, SYSTEM, .occupancy = CYC(8),
        .writes = 0xef),
    ROW("popal", NONE, POP, 18, 8, 8, SYSTEM, .occupancy = CYC(8),
        .writes = 0xef),

    /* Flags, BCD, odd ones. */
    ONE("clc", NONE, 0, NONE, .traits = FL_W),
    ONE("stc", NONE, 1, ALU, .traits = FL_W),
    ONE("cmc", NONE, 1, ALU, .traits = FL_R | FL_W),
    ROW("cld", NONE, PLAIN, 3, 1, 1, SYSTEM, .occupancy = CYC(5)),
    ROW("std", NONE, PLAIN, 3, 1, 1, SYSTEM, .occupancy = CYC(5)),
    ONE("lahf", NONE, 1, SHIFT, .traits = FL_R, .reads = RAX, .writes = RAX),
    ONE("sahf", NONE, 1, SHIFT, .traits = FL_W, .reads = RAX),
    ROW("salc", NONE, PLAIN, 3, 2, 2, ALU, .traits = FL_R, .writes = RAX),
    MICRO("aaa", NONE, 2, 4, 2, .traits = FL_R | FL_W, .reads = RAX,
          .writes = RAX),
    MICRO("aas", NONE, 2, 4, 2, .traits = FL_R | FL_W, .reads = RAX,
          .writes = RAX),
    MICRO("aad", NONE, 2, 6, 2, .traits = FL_W, .reads = RAX, .writes = RAX),
    MICRO("aam", NONE, 8, 18, 8, .traits = FL_W, .reads = RAX,
          .writes = RAX),
    MICRO("daa", NONE, 3, 4, 2, .traits = FL_R | FL_W, .reads = RAX,
          .writes = RAX),
    MICRO("das", NONE, 3, 4, 2, .traits = FL_R | FL_W, .reads = RAX,
          .writes = RAX),
    MICRO("bound", NONE, 11, 1, 5),
    ROW("xlatb", NONE, PLAIN, 3, 2, 2, ALU, .reads = RAX | RBX,
        .writes = RAX),

    /* Strings: the model has figures of its own for them, see timing.c. */
    ROW("movsb", NONE, STRING, 5, 4, 4, SYSTEM),
    ROW("movsw", NONE, STRING, 5, 4, 4, SYSTEM),
    ROW("movsq", NONE, STRING, 5, 4, 4, SYSTEM),
    ROW("stosb", NONE, STRING, 3, 1, 1, SYSTEM),
    ROW("stosw", NONE, STRING, 3, 1, 1, SYSTEM),
    ROW("stosd", NONE, STRING, 3, 1, 1, SYSTEM),
    ROW("stosq", NONE, STRING, 3, 1, 1, SYSTEM),
    ROW("lodsb", NONE, STRING, 3, 1, 1, SYSTEM, .writes = RAX),
    ROW("lodsw", NONE, STRING, 3, 1, 1, SYSTEM, .writes = RAX),
    ROW("lodsd", NONE, STRING, 2, 1, 1, SYSTEM, .writes = RAX),
    ROW("lodsq", NONE, STRING, 2, 1, 1, SYSTEM, .writes = RAX),
    ROW("scasb", NONE, STRING, 3, 2, 2, SYSTEM, .traits = FL_W),
    ROW("scasw", NONE, STRING, 3, 2, 2, SYSTEM, .traits = FL_W),
    ROW("scasd", NONE, STRING, 3, 2, 2, SYSTEM, .traits = FL_W),
    ROW("scasq", NONE, STRING, 3, 2, 2, SYSTEM, .traits = FL_W),
    ROW("cmpsb", NONE, STRING, 5, 3, 3, SYSTEM, .traits = FL_W),
    ROW("cmpsw", NONE, STRING, 5, 3, 3, SYSTEM, .traits = FL_W),
    ROW("cmpsq", NONE, STRING, 5, 3, 3, SYSTEM, .traits = FL_W),
    ROW("insb", NONE, STRING, 30, 250, 250, SYSTEM),
    ROW("insw", NONE, STRING, 30, 250, 250, SYSTEM),
    ROW("insd", NONE, STRING, 30, 250, 250, SYSTEM),
    ROW("outsb", NONE, STRING, 30, 250, 250, SYSTEM),
    ROW("outsw", NONE, STRING, 30, 250, 250, SYSTEM),
    ROW("outsd", NONE, STRING, 30, 250, 250, SYSTEM),

    /* Ordering, hints, time. */
    /*
     * InstLatx64: 34 cycles on Sunny Cove, 160 on Golden Cove, and 104 for
     * CPUID.  Six of them pass from issue to the end of a one-cycle latency.
     */
    ROW("pause", NONE, PLAIN, 8, 28, 154, SYSTEM,
        .flags = PMU_INSN_BLOCKS_ISSUE),
    ROW("lfence", NONE, PLAIN, 2, 1, 1, SYSTEM,
        .flags = PMU_INSN_SERIALIZING | PMU_INSN_BLOCKS_ISSUE),
    ROW("mfence", NONE, PLAIN, 3, 33, 33, SYSTEM, .occupancy = CYC(33),
        .flags = PMU_INSN_FENCES_LOADS),
    ROW("sfence", NONE, PLAIN, 2, 1, 1, SYSTEM, .occupancy = CYC(6)),
    ROW("prefetch", NONE, PREFETCH, 1, 0, 0, NONE),
    ROW("prefetchnta", NONE, PREFETCH, 1, 0, 0, NONE),
    ROW("prefetcht0", NONE, PREFETCH, 1, 0, 0, NONE),
    ROW("prefetcht1", NONE, PREFETCH, 1, 0, 0, NONE),
    ROW("prefetcht2", NONE, PREFETCH, 1, 0, 0, NONE),
    ROW("prefetchw", NONE, PREFETCH, 1, 0, 0, NONE),
    MICRO("clflush", NONE, 4, 1, 180),
    MICRO("clflushopt", NONE, 4, 1, 150),
    MICRO("clwb", NONE, 2, 1, 100),
    MICRO("rdtsc", NONE, 15, 27, 27, .writes = RAX | RDX),
    MICRO("rdtscp", NONE, 22, 32, 32, .writes = RAX | RCX | RDX,
          .flags = PMU_INSN_BLOCKS_ISSUE),
    MICRO("rdpmc", NONE, 25, 35, 35, .reads = RCX, .writes = RAX | RDX),
    MICRO("rdrand", W, 16, 70, 70, .traits = FL_W),
    MICRO("rdseed", W, 16, 70, 70, .traits = FL_W),
    MICRO("rdpid", W, 4, 8, 8),
    SERIAL("cpuid", NONE, 30, 92, .reads = RAX | RCX,
           .writes = RAX | RBX | RCX | RDX),
    SERIAL("serialize", NONE, 20, 40),

    /* System: round figures, nothing published. */
    MICRO("rdmsr", NONE, 50, 80, 80, .reads = RCX, .writes = RAX | RDX,
          .flags = PMU_INSN_BLOCKS_ISSUE),
    SERIAL("wrmsr", NONE, 100, 120, .reads = RAX | RCX | RDX),
    SERIAL("in", NONE, 25, 250, .reads = RDX, .writes = RAX),
    SERIAL("out", NONE, 25, 250, .reads = RAX | RDX),
    SERIAL("invlpg", NONE, 50, 100),
    SERIAL("invpcid", NONE, 60, 150),
    SERIAL("invd", NONE, 100, 250),
    SERIAL("wbinvd", NONE, 200, 250),
    SERIAL("lgdt", NONE, 12, 40),
    SERIAL("lidt", NONE, 12, 40),
    SERIAL("lldt", NONE, 12, 40),
    SERIAL("ltr", NONE, 12, 40),
    SERIAL("lmsw", NONE, 12, 40),
    MICRO("sgdt", NONE, 5, 4, 4),
    MICRO("sidt", NONE, 5, 4, 4),
    MICRO("sldt", W, 5, 4, 4),
    MICRO("smsw", W, 5, 4, 4),
    MICRO("str", W, 5, 4, 4),
    MICRO("lar", W, 11, 20, 20, .traits = FL_W),
    MICRO("lsl", W, 11, 20, 20, .traits = FL_W),
    MICRO("verr", R, 11, 20, 20, .traits = FL_W),
    MICRO("verw", R, 11, 20, 20, .traits = FL_W),
    MICRO("arpl", RW, 6, 10, 10, .traits = FL_W),
    MICRO("lds", W, 12, 20, 20),
    MICRO("les", W, 12, 20, 20),
    MICRO("lfs", W, 12, 20, 20),
    MICRO("lgs", W, 12, 20, 20),
    MICRO("lss", W, 12, 20, 20),
    MICRO("cli", NONE, 4, 1, 4),
    MICRO("sti", NONE, 4, 1, 4),
    MICRO("clac", NONE, 4, 1, 4, .flags = PMU_INSN_BLOCKS_ISSUE),
    MICRO("stac", NONE, 4, 1, 4, .flags = PMU_INSN_BLOCKS_ISSUE),
    MICRO("clts", NONE, 8, 20, 20),
    MICRO("swapgs", NONE, 4, 10, 10),
    MICRO("hlt", NONE, 10, 30, 30, .flags = PMU_INSN_BLOCKS_ISSUE),
    MICRO("monitor", NONE, 10, 30, 30),
    MICRO("mwait", NONE, 10, 30, 30, .flags = PMU_INSN_BLOCKS_ISSUE),
    MICRO("rdfsbase", W, 4, 8, 8),
    MICRO("rdgsbase", W, 4, 8, 8),
    MICRO("wrfsbase", R, 5, 10, 10),
    MICRO("wrgsbase", R, 5, 10, 10),
    MICRO("xgetbv", NONE, 7, 9, 9, .reads = RCX, .writes = RAX | RDX),
    SERIAL("xsetbv", NONE, 30, 60, .reads = RAX | RCX | RDX),
    MICRO("rdpkru", NONE, 4, 8, 8, .writes = RAX | RDX),
    MICRO("wrpkru", NONE, 8, 20, 20, .reads = RAX,
          .flags = PMU_INSN_BLOCKS_ISSUE),
    MICRO("fxsave", W, 110, 80, 80),
    MICRO("fxsave64", W, 110, 80, 80),
    MICRO("fxrstor", R, 110, 80, 80),
    MICRO("fxrstor64", R, 110, 80, 80),
    MICRO("xsave", W, 130, 100, 100),
    MICRO("xsave64", W, 130, 100, 100),
    MICRO("xsaveopt", W, 130, 60, 60),
    MICRO("xsaveopt64", W, 130, 60, 60),
    MICRO("xsavec", W, 130, 100, 100),
    MICRO("xsavec64", W, 130, 100, 100),
    MICRO("xsaves", W, 130, 100, 100),
    MICRO("xsaves64", W, 130, 100, 100),
    MICRO("xrstor", R, 100, 80, 80),
    MICRO("xrstor64", R, 100, 80, 80),
    MICRO("xrstors", R, 100, 80, 80),
    MICRO("xrstors64", R, 100, 80, 80),
    MICRO("ldmxcsr", R, 4, 7, 7),
    MICRO("stmxcsr", W, 4, 7, 7),
    FAR("vmcall", NONE, 100, 250),
    FAR("vmmcall", NONE, 100, 250),
    FAR("vmrun", NONE, 200, 250),

    /* Vector moves. */
    SIMD_MOVE("movaps"), SIMD_MOVE("movapd"), SIMD_MOVE("movups"),
    SIMD_MOVE("movupd"), SIMD_MOVE("movdqa"), SIMD_MOVE("movdqu"),
    SIMD_MOVE("lddqu"), SIMD_MOVE("movntdqa"), SIMD_MOVE("movntdq"),
    SIMD_MOVE("movntps"), SIMD_MOVE("movntpd"),
    ONE("movq", W, 1, VEC, .traits = PMU_TRAIT_MOVE),
    ONE("movd", W, 1, VEC, .traits = PMU_TRAIT_MOVE),
    ONE("movntq", W, 1, VEC, .traits = PMU_TRAIT_MOVE),
    ONE("movss", W, 1, VEC, .traits = PMU_TRAIT_MOVE | PMU_TRAIT_MERGE),
    /* Also the string instruction: the opcode tells them apart. */
    ONE("movsd", W, 1, VEC, .traits = PMU_TRAIT_MOVE | PMU_TRAIT_MERGE),
    ONE("movlps", RW, 1, SHUFFLE, .traits = PMU_TRAIT_MOVE),
    ONE("movlpd", RW, 1, SHUFFLE, .traits = PMU_TRAIT_MOVE),
    ONE("movhps", RW, 1, SHUFFLE, .traits = PMU_TRAIT_MOVE),
    ONE("movhpd", RW, 1, SHUFFLE, .traits = PMU_TRAIT_MOVE),
    ONE("movhlps", RW, 1, SHUFFLE),
    ONE("movlhps", RW, 1, SHUFFLE),
    VEC_LOAD("movddup"), VEC_LOAD("movshdup"), VEC_LOAD("movsldup"),
    ONE("movmskps", W, 3, P0), ONE("movmskpd", W, 3, P0),
    ONE("pmovmskb", W, 3, P0),
    TWO("movdq2q", W, 2, SHUFFLE, 16), TWO("movq2dq", W, 2, SHUFFLE, 16),
    TWO("maskmovq", R, 10, STORE, CYC(6)),
    TWO("maskmovdqu", R, 10, STORE, CYC(6)),
    TWO("vmaskmovps", W, 3, VEC, 8), TWO("vmaskmovpd", W, 3, VEC, 8),
    TWO("vpmaskmovd", W, 3, VEC, 8), TWO("vpmaskmovq", W, 3, VEC, 8),
    MICRO("emms", NONE, 10, 6, 6),
    ROW("vzeroupper", NONE, PLAIN, 4, 0, 0, NONE),
    ROW("vzeroall", NONE, PLAIN, 12, 1, 1, SYSTEM, .occupancy = CYC(8)),

    /* Floating-point arithmetic. */
    FADD("addps"), FADD("addpd"), FADD("addss"), FADD("addsd"),
    FADD("subps"), FADD("subpd"), FADD("subss"), FADD("subsd"),
    FADD("addsubps"), FADD("addsubpd"),
    FMUL("mulps"), FMUL("mulpd"), FMUL("mulss"), FMUL("mulsd"),
    FMUL("vfma"),               /* vfmadd..., vfmsub..., vfnm...: all FMA3 */
    FMINMAX("minps"), FMINMAX("minpd"), FMINMAX("minss"), FMINMAX("minsd"),
    FMINMAX("maxps"), FMINMAX("maxpd"), FMINMAX("maxss"), FMINMAX("maxsd"),
    FCMP("cmpps"), FCMP("cmppd"), FCMP("cmpss"),
    /* Also the string instruction: the opcode tells them apart. */
    FCMP("cmpsd"),
    ROW("comiss", R, PLAIN, 1, 3, 3, P0, .traits = FL_W, .memory = 4),
    ROW("comisd", R, PLAIN, 1, 3, 3, P0, .traits = FL_W, .memory = 8),
    ROW("ucomiss", R, PLAIN, 1, 3, 3, P0, .traits = FL_W, .memory = 4),
    ROW("ucomisd", R, PLAIN, 1, 3, 3, P0, .traits = FL_W, .memory = 8),
    FDIV("divps", 11, 3), FDIV("divpd", 14, 4),
    FDIV("divss", 11, 3), FDIV("divsd", 14, 4),
    FSQRT("sqrtps", 12, 3), FSQRT("sqrtpd", 18, 6),
    ONE("sqrtss", RW, 12, FP_DIV, .occupancy = CYC(3)),
    ONE("sqrtsd", RW, 18, FP_DIV, .occupancy = CYC(6)),
    ONE("rcpps", W, 4, P0), ONE("rsqrtps", W, 4, P0),
    ONE("rcpss", RW, 4, P0), ONE("rsqrtss", RW, 4, P0),
    TWO("roundps", W, 8, FP, 16), TWO("roundpd", W, 8, FP, 16),
    TWO("roundss", RW, 8, FP, 16), TWO("roundsd", RW, 8, FP, 16),
    ROW("haddps", RW, PLAIN, 3, 7, 5, SHUFFLE, .occupancy = CYC(2)),
    ROW("haddpd", RW, PLAIN, 3, 7, 5, SHUFFLE, .occupancy = CYC(2)),
    ROW("hsubps", RW, PLAIN, 3, 7, 5, SHUFFLE, .occupancy = CYC(2)),
    ROW("hsubpd", RW, PLAIN, 3, 7, 5, SHUFFLE, .occupancy = CYC(2)),
    ROW("dpps", RW, PLAIN, 4, 16, 12, FP, .occupancy = CYC(4)),
    ROW("dppd", RW, PLAIN, 3, 10, 9, FP, .occupancy = CYC(1)),

    /* Conversions. */
    ONE("cvtdq2ps", W, 4, FP), ONE("cvtps2dq", W, 4, FP),
    ONE("cvttps2dq", W, 4, FP),
    TWO("cvtdq2pd", W, 5, SHUFFLE, 16), TWO("cvtpd2dq", W, 5, SHUFFLE, 16),
    TWO("cvttpd2dq", W, 5, SHUFFLE, 16), TWO("cvtpd2ps", W, 5, SHUFFLE, 16),
    TWO("cvtps2pd", W, 5, SHUFFLE, 16), TWO("cvtss2sd", RW, 5, SHUFFLE, 16),
    TWO("cvtsd2ss", RW, 5, SHUFFLE, 16), TWO("cvtsi2ss", RW, 7, SHUFFLE, 16),
    TWO("cvtsi2sd", RW, 7, SHUFFLE, 16), TWO("cvtss2si", W, 7, P0, 16),
    TWO("cvtsd2si", W, 6, P0, 16), TWO("cvttss2si", W, 7, P0, 16),
    TWO("cvttsd2si", W, 6, P0, 16), TWO("cvtpi2ps", RW, 6, P0, 16),
    TWO("cvtpi2pd", W, 6, P0, 16), TWO("cvtps2pi", W, 6, P0, 16),
    TWO("cvttps2pi", W, 6, P0, 16), TWO("cvtpd2pi", W, 6, P0, 16),
    TWO("cvttpd2pi", W, 6, P0, 16), TWO("vcvtph2ps", W, 5, SHUFFLE, 16),
    TWO("vcvtps2ph", W, 5, SHUFFLE, 16),

    /* Logic and integer arithmetic. */
    FLOGIC("andps"), FLOGIC("andpd"), FLOGIC("andnps"), FLOGIC("andnpd"),
    FLOGIC("orps"), FLOGIC("orpd"), VEC_ZERO("xorps"), VEC_ZERO("xorpd"),
    VEC("pand"), VEC_ZERO("pandn"), VEC("por"), VEC_ZERO("pxor"),
    VEC("paddb"), VEC("paddw"), VEC("paddd"), VEC("paddq"),
    VEC("paddsb"), VEC("paddsw"), VEC("paddusb"), VEC("paddusw"),
    VEC_ZERO("psubb"), VEC_ZERO("psubw"), VEC_ZERO("psubd"),
    VEC_ZERO("psubq"), VEC("psubsb"), VEC("psubsw"), VEC("psubusb"),
    VEC("psubusw"), VEC("pavgb"), VEC("pavgw"),
    VEC_UN("pabsb"), VEC_UN("pabsw"), VEC_UN("pabsd"),
    VEC("psignb"), VEC("psignw"), VEC("psignd"),
    VEC("pmaxsb"), VEC("pmaxsw"), VEC("pmaxsd"), VEC("pmaxub"),
    VEC("pmaxuw"), VEC("pmaxud"), VEC("pminsb"), VEC("pminsw"),
    VEC("pminsd"), VEC("pminub"), VEC("pminuw"), VEC("pminud"),
    VEC_ONES("pcmpeqb"), VEC_ONES("pcmpeqw"), VEC_ONES("pcmpeqd"),
    VEC_ONES("pcmpeqq"), VEC_ZERO("pcmpgtb"), VEC_ZERO("pcmpgtw"),
    VEC_ZERO("pcmpgtd"),
    ONE("pcmpgtq", RW, 3, SHUFFLE, .traits = PMU_TRAIT_ZERO),
    VSHIFT("psllw"), VSHIFT("pslld"), VSHIFT("psllq"), VSHIFT("psrlw"),
    VSHIFT("psrld"), VSHIFT("psrlq"), VSHIFT("psraw"), VSHIFT("psrad"),
    ONE("vpsllvd", W, 1, FP), ONE("vpsllvq", W, 1, FP),
    ONE("vpsrlvd", W, 1, FP), ONE("vpsrlvq", W, 1, FP),
    ONE("vpsravd", W, 1, FP),
    VMUL("pmullw"), VMUL("pmulhw"), VMUL("pmulhuw"), VMUL("pmulhrsw"),
    VMUL("pmuludq"), VMUL("pmuldq"), VMUL("pmaddwd"), VMUL("pmaddubsw"),
    TWO("pmulld", RW, 10, FP, 16),
    ONE("psadbw", RW, 3, SHUFFLE),
    TWO("mpsadbw", RW, 4, SHUFFLE, 16),
    ONE("phminposuw", W, 4, P0),
    ROW("phaddw", RW, PLAIN, 3, 2, 2, SHUFFLE, .occupancy = 16),
    ROW("phaddd", RW, PLAIN, 3, 2, 2, SHUFFLE, .occupancy = 16),
    ROW("phaddsw", RW, PLAIN, 3, 2, 2, SHUFFLE, .occupancy = 16),
    ROW("phsubw", RW, PLAIN, 3, 2, 2, SHUFFLE, .occupancy = 16),
    ROW("phsubd", RW, PLAIN, 3, 2, 2, SHUFFLE, .occupancy = 16),
    ROW("phsubsw", RW, PLAIN, 3, 2, 2, SHUFFLE, .occupancy = 16),
    ROW("ptest", R, PLAIN, 2, 4, 4, P0, .traits = FL_W),
    ROW("vtestps", R, PLAIN, 1, 3, 3, P0, .traits = FL_W),
    ROW("vtestpd", R, PLAIN, 1, 3, 3, P0, .traits = FL_W),

    /* Shuffles and blends. */
    SHUF("pshufb"), SHUF("pshufw"), SHUF_UN("pshufd"), SHUF_UN("pshufhw"),
    SHUF_UN("pshuflw"), SHUF("shufps"), SHUF("shufpd"), SHUF("palignr"),
    SHUF("punpcklbw"), SHUF("punpcklwd"), SHUF("punpckldq"),
    SHUF("punpcklqdq"), SHUF("punpckhbw"), SHUF("punpckhwd"),
    SHUF("punpckhdq"), SHUF("punpckhqdq"), SHUF("unpcklps"),
    SHUF("unpcklpd"), SHUF("unpckhps"), SHUF("unpckhpd"),
    SHUF("packsswb"), SHUF("packssdw"), SHUF("packuswb"), SHUF("packusdw"),
    SHUF("pslldq"), SHUF("psrldq"), SHUF("insertps"),
    SHUF_UN("vpermilps"), SHUF_UN("vpermilpd"),
    VEC("pblendw"), VEC("blendps"), VEC("blendpd"), VEC("vpblendd"),
    ONE("pblendvb", RW, 1, VEC, .traits = PMU_TRAIT_VEX_RW),
    ONE("blendvps", RW, 1, VEC), ONE("blendvpd", RW, 1, VEC),
    TWO("vpblendvb", W, 2, VEC, 10), TWO("vblendvps", W, 2, VEC, 10),
    TWO("vblendvpd", W, 2, VEC, 10),
    LANE_UN("pmovsxbw"), LANE_UN("pmovsxbd"), LANE_UN("pmovsxbq"),
    LANE_UN("pmovsxwd"), LANE_UN("pmovsxwq"), LANE_UN("pmovsxdq"),
    LANE_UN("pmovzxbw"), LANE_UN("pmovzxbd"), LANE_UN("pmovzxbq"),
    LANE_UN("pmovzxwd"), LANE_UN("pmovzxwq"), LANE_UN("pmovzxdq"),
    ONE("vpbroadcastb", W, 1, SHUFFLE, .traits = PMU_TRAIT_LANE),
    ONE("vpbroadcastw", W, 1, SHUFFLE, .traits = PMU_TRAIT_LANE),
    ONE("vpbroadcastd", W, 1, SHUFFLE,
        .traits = PMU_TRAIT_LANE | PMU_TRAIT_MOVE),
    ONE("vpbroadcastq", W, 1, SHUFFLE,
        .traits = PMU_TRAIT_LANE | PMU_TRAIT_MOVE),
    ONE("vbroadcastss", W, 1, SHUFFLE,
        .traits = PMU_TRAIT_LANE | PMU_TRAIT_MOVE),
    ONE("vbroadcastsd", W, 1, SHUFFLE,
        .traits = PMU_TRAIT_LANE | PMU_TRAIT_MOVE),
    ONE("vbroadcastf128", W, 1, SHUFFLE, .traits = PMU_TRAIT_MOVE),
    ONE("vbroadcasti128", W, 1, SHUFFLE, .traits = PMU_TRAIT_MOVE),
    CROSS("vpermd"), CROSS("vpermps"), CROSS("vpermq"), CROSS("vpermpd"),
    CROSS("vperm2f128"), CROSS("vperm2i128"),
    ONE("vextractf128", W, 3, SHUFFLE, .traits = PMU_TRAIT_MOVE),
    ONE("vextracti128", W, 3, SHUFFLE, .traits = PMU_TRAIT_MOVE),
    CROSS("vinsertf128"), CROSS("vinserti128"),
    TWO("pinsrb", RW, 3, SHUFFLE, 16), TWO("pinsrw", RW, 3, SHUFFLE, 16),
    TWO("pinsrd", RW, 3, SHUFFLE, 16), TWO("pinsrq", RW, 3, SHUFFLE, 16),
    TWO("pextrb", W, 3, SHUFFLE, 16), TWO("pextrw", W, 3, SHUFFLE, 16),
    TWO("pextrd", W, 3, SHUFFLE, 16), TWO("pextrq", W, 3, SHUFFLE, 16),
    TWO("extractps", W, 3, SHUFFLE, 16),
    ROW("vgatherdps", RW, GATHER, 8, 13, 13, LOAD, .occupancy = CYC(5)),
    ROW("vgatherdpd", RW, GATHER, 8, 13, 13, LOAD, .occupancy = CYC(4)),
    ROW("vgatherqps", RW, GATHER, 8, 13, 13, LOAD, .occupancy = CYC(4)),
    ROW("vgatherqpd", RW, GATHER, 8, 13, 13, LOAD, .occupancy = CYC(4)),
    ROW("vpgatherdd", RW, GATHER, 8, 13, 13, LOAD, .occupancy = CYC(5)),
    ROW("vpgatherdq", RW, GATHER, 8, 13, 13, LOAD, .occupancy = CYC(4)),
    ROW("vpgatherqd", RW, GATHER, 8, 13, 13, LOAD, .occupancy = CYC(4)),
    ROW("vpgatherqq", RW, GATHER, 8, 13, 13, LOAD, .occupancy = CYC(4)),

    /* Cryptography and text. */
    ONE("aesenc", RW, 3, FP), ONE("aesenclast", RW, 3, FP),
    ONE("aesdec", RW, 3, FP), ONE("aesdeclast", RW, 3, FP),
    TWO("aesimc", W, 6, FP, 16),
    MICRO("aeskeygenassist", W, 13, 12, 12),
    ONE("pclmulqdq", RW, 6, SHUFFLE),
    ROW("sha1msg1", RW, PLAIN, 2, 2, 2, SHUFFLE, .occupancy = 16),
    ROW("sha1msg2", RW, PLAIN, 6, 6, 6, SHUFFLE, .occupancy = CYC(4)),
    ROW("sha1nexte", RW, PLAIN, 2, 2, 2, SHUFFLE, .occupancy = 16),
    ONE("sha1rnds4", RW, 6, SHUFFLE, .occupancy = CYC(3)),
    ROW("sha256msg1", RW, PLAIN, 4, 5, 5, SHUFFLE, .occupancy = CYC(2)),
    ROW("sha256msg2", RW, PLAIN, 6, 11, 11, SHUFFLE, .occupancy = CYC(5)),
    ONE("sha256rnds2", RW, 4, SHUFFLE, .occupancy = CYC(3)),
    ROW("pcmpestri", R, PLAIN, 8, 16, 16, P0, .occupancy = CYC(4),
        .traits = FL_W, .reads = RAX | RDX, .writes = RCX),
    ROW("pcmpestrm", R, PLAIN, 9, 17, 17, P0, .occupancy = CYC(5),
        .traits = FL_W, .reads = RAX | RDX),
    ROW("pcmpistri", R, PLAIN, 3, 10, 10, P0, .occupancy = CYC(3),
        .traits = FL_W, .writes = RCX),
    ROW("pcmpistrm", R, PLAIN, 3, 10, 10, P0, .occupancy = CYC(3),
        .traits = FL_W),

    /* x87. */
    X87("fld", R, 1, 1, P0, .traits = PMU_TRAIT_MOVE),
    X87("fst", W, 1, 1, P0, .traits = PMU_TRAIT_MOVE),
    X87("fstp", W, 1, 1, P0, .traits = PMU_TRAIT_MOVE),
    X87("fild", R, 2, 6, P0), X87("fist", W, 2, 4, P0),
    X87("fistp", W, 2, 4, P0), X87("fisttp", W, 2, 4, P0),
    X87("fld1", R, 2, 1, P0), X87("fldz", R, 1, 1, P0),
    X87("fldpi", R, 2, 1, P0), X87("fldl2e", R, 2, 1, P0),
    X87("fldl2t", R, 2, 1, P0), X87("fldlg2", R, 2, 1, P0),
    X87("fldln2", R, 2, 1, P0),
    X87("fadd", R, 1, 3, SHUFFLE), X87("faddp", R, 1, 3, SHUFFLE),
    X87("fsub", R, 1, 3, SHUFFLE), X87("fsubp", R, 1, 3, SHUFFLE),
    X87("fsubr", R, 1, 3, SHUFFLE), X87("fsubrp", R, 1, 3, SHUFFLE),
    X87("fiadd", R, 2, 7, SHUFFLE), X87("fisub", R, 2, 7, SHUFFLE),
    X87("fisubr", R, 2, 7, SHUFFLE),
    X87("fmul", R, 1, 4, P0), X87("fmulp", R, 1, 4, P0),
    X87("fimul", R, 2, 8, P0),
    X87("fdiv", R, 1, 15, FP_DIV, .occupancy = CYC(5)),
    X87("fdivp", R, 1, 15, FP_DIV, .occupancy = CYC(5)),
    X87("fdivr", R, 1, 15, FP_DIV, .occupancy = CYC(5)),
    X87("fdivrp", R, 1, 15, FP_DIV, .occupancy = CYC(5)),
    X87("fidiv", R, 2, 19, FP_DIV, .occupancy = CYC(5)),
    X87("fidivr", R, 2, 19, FP_DIV, .occupancy = CYC(5)),
    X87("fsqrt", R, 1, 20, FP_DIV, .occupancy = CYC(7)),
    X87("fchs", R, 1, 1, P0), X87("fabs", R, 1, 1, P0),
    X87("fxch", R, 2, 1, P0), X87("fcom", R, 1, 3, SHUFFLE),
    X87("fcomp", R, 1, 3, SHUFFLE), X87("fcompp", R, 2, 3, SHUFFLE),
    X87("fucom", R, 1, 3, SHUFFLE), X87("fucomp", R, 1, 3, SHUFFLE),
    X87("fucompp", R, 2, 3, SHUFFLE), X87("ficom", R, 2, 5, SHUFFLE),
    X87("ficomp", R, 2, 5, SHUFFLE),
    X87("fcomi", R, 1, 3, P0, .traits = FL_W),
    X87("fcomip", R, 1, 3, P0, .traits = FL_W),
    X87("fucomi", R, 1, 3, P0, .traits = FL_W),
    X87("fucomip", R, 1, 3, P0, .traits = FL_W),
    X87("ftst", R, 1, 3, SHUFFLE), X87("fxam", R, 2, 6, P0),
    X87("fcmovb", R, 3, 3, P0, .traits = FL_R),
    X87("fcmovbe", R, 3, 3, P0, .traits = FL_R),
    X87("fcmove", R, 3, 3, P0, .traits = FL_R),
    X87("fcmovu", R, 3, 3, P0, .traits = FL_R),
    X87("fcmovnb", R, 3, 3, P0, .traits = FL_R),
    X87("fcmovnbe", R, 3, 3, P0, .traits = FL_R),
    X87("fcmovne", R, 3, 3, P0, .traits = FL_R),
    X87("fcmovnu", R, 3, 3, P0, .traits = FL_R),
    X87("fincstp", R, 1, 0, NONE), X87("fdecstp", R, 1, 0, NONE),
    X87("ffree", R, 1, 1, P0), X87("ffreep", R, 2, 1, P0),
    X87("wait", NONE, 2, 1, P0),
    X87("fldcw", R, 3, 7, P0), X87("fnstcw", W, 2, 3, P0),
    X87("fnstsw", W, 2, 3, P0),
    X87("fnclex", NONE, 5, 18, SYSTEM, .occupancy = CYC(18)),
    X87("fninit", NONE, 15, 60, SYSTEM, .occupancy = CYC(60)),
    X87("frndint", R, 17, 22, SYSTEM, .occupancy = CYC(12)),
    X87("fscale", R, 27, 50, SYSTEM, .occupancy = CYC(30)),
    X87("fprem", R, 31, 25, SYSTEM, .occupancy = CYC(20)),
    X87("fprem1", R, 31, 25, SYSTEM, .occupancy = CYC(20)),
    X87("fxtract", R, 17, 20, SYSTEM, .occupancy = CYC(12)),
    X87("fsin", R, 80, 100, SYSTEM, .occupancy = CYC(80)),
    X87("fcos", R, 80, 100, SYSTEM, .occupancy = CYC(80)),
    X87("fsincos", R, 100, 120, SYSTEM, .occupancy = CYC(100)),
    X87("fptan", R, 100, 120, SYSTEM, .occupancy = CYC(100)),
    X87("fpatan", R, 90, 120, SYSTEM, .occupancy = CYC(100)),
    X87("f2xm1", R, 40, 70, SYSTEM, .occupancy = CYC(60)),
    X87("fyl2x", R, 50, 80, SYSTEM, .occupancy = CYC(60)),
    X87("fyl2xp1", R, 50, 90, SYSTEM, .occupancy = CYC(60)),
    X87("fbld", R, 43, 46, SYSTEM, .occupancy = CYC(22)),
    X87("fbstp", W, 200, 250, SYSTEM, .occupancy = CYC(200)),
    X87("fldenv", R, 64, 60, SYSTEM, .occupancy = CYC(60)),
    X87("fnstenv", W, 100, 60, SYSTEM, .occupancy = CYC(60)),
    X87("fnsave", W, 140, 150, SYSTEM, .occupancy = CYC(150)),
    X87("frstor", R, 90, 150, SYSTEM, .occupancy = CYC(150)),
};

/* FMA3 has 60 mnemonics and one set of figures. */
static bool is_fma3(const char *name)
{
    static const char *const stems[] = { "vfmadd", "vfmsub", "vfnmadd",
                                         "vfnmsub" };

    for (size_t i = 0; i < G_N_ELEMENTS(stems); i++) {
        if (g_str_has_prefix(name, stems[i]) && strpbrk(name, "123")) {
            return true;
        }
    }
    return false;
}

/* CMPccPS and the like: the predicate is part of the mnemonic. */
static const char *fp_compare(const char *name)
{
    static const char *const suffixes[] = { "ps", "pd", "ss", "sd" };
    static const char *const bases[] = { "cmpps", "cmppd", "cmpss", "cmpsd" };

    if (!g_str_has_prefix(name, "cmp")) {
        return NULL;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(suffixes); i++) {
        if (g_str_has_suffix(name, suffixes[i])) {
            return bases[i];
        }
    }
    return NULL;
}

static const PmuUopsRow *exact_row(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(uops_table); i++) {
        if (!strcmp(uops_table[i].name, name)) {
            return &uops_table[i];
        }
    }
    return NULL;
}

const PmuUopsRow *pmu_uops_row(const char *name)
{
    const PmuUopsRow *row = exact_row(is_fma3(name) ? "vfma" : name);
    const char *legacy = name[0] == 'v' ? name + 1 : name;

    if (!row) {
        row = exact_row(legacy);
    }
    if (!row && fp_compare(legacy)) {
        row = exact_row(fp_compare(legacy));
    }
    return row;
}

const PmuUopsRow *pmu_uops_row_at(unsigned index)
{
    return index < G_N_ELEMENTS(uops_table) ? &uops_table[index] : NULL;
}
