/*
 * The instruction table, part 1: general registers, branches and the stack.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sources.  Operands, implicit registers and flags: SDM vol. 2.  Latencies
 * and throughputs: InstLatx64's dumps of a Xeon Gold 6330 (Sunny Cove) and of
 * a 06_97 P-core (Golden Cove), IL64 below.  Ports and numbers of micro-ops:
 * uops.info, Ice Lake and Alder Lake P, as far as they agree with the measured
 * rates.
 */

#include <glib.h>

#include "tcg/pmu/decode/insn-table-rows.h"

/* Plain ALU instructions: any integer port. */
static const PmuTimingRow alu[] = { C(0, 1, U(ALU)) };

/* Instructions that use flags, conditional moves, most shifts: p06. */
static const PmuTimingRow p06[] = { C(0, 1, U(SHIFT)) };

/* Conditions of both CF and ZF take a micro-op for each flag, CF first. */
static const PmuTimingRow two_flags[] = {
    C(0, 2, UN(2, SHIFT), .flags_late = 1),
};

/* What the multiplier's port does, in 3 cycles: bit scans, PDEP, CRC32. */
static const PmuTimingRow p1_3[] = { C(0, 3, U(MUL)) };

/* IL64: on Sunny Cove ADC AL/AX/EAX/RAX, imm of full size is slower. */
static const PmuTimingRow adc[] = {
    C(SNC | ACC, 2, UN(2, SHIFT)),
    C(0, 1, U(SHIFT)),
};

/* Byte and word loads merge into their register. */
static const PmuTimingRow mov[] = {
    C(LOAD | F8, 1, U(ALU)),
    C(LOAD | F16, 1, U(ALU)),
    C(LOAD, 0, NO_UOP),
    C(STORE, 0, NO_UOP),
    C(0, 1, U(ALU)),
};
static const PmuTimingRow movzx[] = {
    C(LOAD | F16, 1, U(ALU)),
    C(LOAD, 0, NO_UOP),
    C(0, 1, U(ALU)),
};
/* IL64: 0.25 cycles each on Sunny Cove, 0.33 on Golden Cove. */
static const PmuTimingRow movsx[] = {
    C(LOAD | F16, 1, U(ALU)),
    C(LOAD, 0, NO_UOP),
    C(GLC, 1, U(LEA)),
    C(0, 1, U(ALU)),
};
static const PmuTimingRow movbe[] = {
    C(F32, 1, U(MUL)),
    C(F16, 2, U2(MUL, 1, ALU, 1)),
    C(0, 2, U2(MUL, 1, SHIFT, 1)),
};
static const PmuTimingRow bswap[] = {
    C(F64, 2, U2(MUL, 1, SHIFT, 1)),
    C(0, 1, U(MUL)),
};

/* IL64: a word result is merged; a scaled index is slower on Golden Cove. */
static const PmuTimingRow lea[] = {
    C(F16 | ABSOLUTE, 1, U2(MUL, 1, ALU, 1)),
    C(GLC | F16 | SCALED, 3, U2(LEA, 1, MUL, 1)),
    C(F16, 2, U2(MUL, 1, ALU, 1)),
    C(GLC | SCALED, 2, U(LEA)),
    C(SCALED, 1, U(LEA)),
    C(0, 1, U(ALU)),
};

/*
 * XCHG of two registers goes through a temporary one: one direction takes one
 * cycle, the other two (IL64: 1.5 on average).  It executes once a cycle, on
 * Golden Cove once in two cycles.
 */
static const PmuTimingRow xchg[] = {
    C(LOAD, 1, UN(3, ALU), .slots = 4),
    C(SAME, 2, U2(MUL, 1, ALU, 2)),
    C(GLC, 1, U2(MUL, 2, ALU, 1), .second_dst_late = 1),
    C(0, 1, U2(MUL, 1, ALU, 2), .second_dst_late = 1),
};
static const PmuTimingRow xadd[] = {
    C(LOAD, 1, UN(2, ALU), .slots = 4),
    C(0, 2, U2(MUL, 1, ALU, 2)),
};
/* uops.info, Alder Lake P: with LOCK it takes as long as LOCK ADD does. */
static const PmuTimingRow cmpxchg[] = {
    C(LOCK | LOAD, 1, U2(ALU, 3, SHIFT, 1)),
    C(LOAD, 4, U2(ALU, 3, SHIFT, 1)),
    C(0, 5, U2(ALU, 3, SHIFT, 2)),
};

/* With one operand: two results, of which the upper may be a cycle later. */
static const PmuTimingRow mul[] = {
    /*
     * IL64: 4 cycles in a chain through AH, 3 through AL, on Golden Cove 3.
     * BH, CH and DH are taken to be as AH is, whichever register the chain is.
     */
    C(SNC | ONE_OP | F8 | HIGH, 4, U(MUL)),
    C(ONE_OP | F8, 3, U(MUL)),
    C(ONE_OP | F16, 4, U2(MUL, 1, ALU, 3), .second_dst_late = 1),
    C(ONE_OP | F32, 4, U2(MUL, 1, ALU, 2)),
    C(ONE_OP, 3, U2(MUL, 1, P5, 1), .second_dst_late = 1),
    C(IMM | F16, 4, U2(MUL, 1, ALU, 1)),
    C(0, 3, U(MUL)),
};
static const PmuTimingRow mulx[] = {
    C(F32, 4, U3(MUL, 1, P5, 1, SHIFT, 1)),
    C(0, 4, U2(MUL, 1, P5, 1)),
};

/* IL64: data-independent, except bytes: 15 to 18, 17 on Golden Cove. */
static const PmuTimingRow divide[] = {
    C(GLC | F8, 17, U2(MUL, 1, ALU, 3), HOLDS(INT_DIV, 6)),
    C(F8, 16, U2(MUL, 1, ALU, 3), HOLDS(INT_DIV, 6)),
    C(F16, 16, U2(MUL, 1, ALU, 3), HOLDS(INT_DIV, 6)),
    C(F32, 15, U2(MUL, 1, ALU, 3), HOLDS(INT_DIV, 6)),
    C(0, 18, U2(MUL, 1, ALU, 3), HOLDS(INT_DIV, 10)),
};

/* A count of 0 in CL keeps the flags, which costs a second micro-op. */
static const PmuTimingRow shift[] = {
    C(BY_CL, 1, UN(2, SHIFT)),
    C(0, 1, U(SHIFT)),
};
/* The short forms by 1 keep some flags: two micro-ops as well. */
static const PmuTimingRow rotate[] = {
    C(BY_CL, 1, UN(2, SHIFT)),
    C(BY_1, 1, UN(2, SHIFT)),
    C(0, 1, U(SHIFT)),
};
static const PmuTimingRow rcl[] = {
    C(BY_1, 2, U2(SHIFT, 2, ALU, 1)),
    C(F8, 6, U2(SHIFT, 4, ALU, 7)),
    C(0, 7, U2(SHIFT, 4, ALU, 6)),
};
static const PmuTimingRow rcr[] = {
    C(BY_1, 2, U2(SHIFT, 2, ALU, 1)),
    C(GLC | F8, 7, U2(SHIFT, 4, ALU, 7)),
    C(0, 6, U2(SHIFT, 4, ALU, 6)),
};
/* IL64: with one register twice it is a rotate; by CL it takes 4 or 3. */
static const PmuTimingRow shld[] = {
    C(IMM | SAME, 1, U(SHIFT)),
    C(IMM, 3, U(MUL)),
    C(SAME, 4, U3(MUL, 1, SHIFT, 2, ALU, 1)),
    C(F64, 4, U3(MUL, 1, SHIFT, 2, ALU, 1)),
    C(0, 3, U3(MUL, 1, SHIFT, 2, ALU, 1)),
};
static const PmuTimingRow shrd[] = {
    C(IMM | SAME, 1, U(SHIFT)),
    C(IMM, 3, U(MUL)),
    C(0, 4, U3(MUL, 1, SHIFT, 2, ALU, 1)),
};

/* A bit number in a register may select memory outside the operand. */
static const PmuTimingRow bt[] = {
    C(LOAD | FROM_GPR, 5, U2(ALU, 5, SHIFT, 4), .slots = 10),
    C(GLC, 1, U(MUL)),
    C(F64, 1, U(MUL)),
    C(0, 1, U(SHIFT)),
};

static const PmuTimingRow bmi_p15[] = { C(0, 1, U(LEA)) };
static const PmuTimingRow bextr[] = { C(0, 2, U2(MUL, 1, SHIFT, 1)) };
static const PmuTimingRow bzhi[] = { C(GLC, 1, U(MUL)), C(0, 1, U(LEA)) };

static const PmuTimingRow nop[] = { C(0, 0, NO_UOP) };
static const PmuTimingRow jcc[] = { C(0, 1, U(BRANCH)) };
static const PmuTimingRow jrcxz[] = { C(0, 1, U2(BRANCH, 1, ALU, 1)) };
static const PmuTimingRow loop[] = {
    C(0, 2, U2(BRANCH, 1, ALU, 6)),
};
static const PmuTimingRow loope[] = {
    C(0, 2, U2(BRANCH, 1, ALU, 10)),
};
static const PmuTimingRow jmp[] = { C(0, 1, U(BRANCH_TAKEN)) };
static const PmuTimingRow call[] = {
    C(LOAD, 1, U(BRANCH_TAKEN), .slots = 3),
    C(0, 1, U(BRANCH_TAKEN)),
};
static const PmuTimingRow ret[] = { C(0, 1, U(BRANCH_TAKEN), .slots = 2) };

static const PmuTimingRow stack[] = { C(0, 0, NO_UOP) };
static const PmuTimingRow leave[] = { C(0, 1, UN(2, ALU), .slots = 3) };
static const PmuTimingRow pushf[] = { C(0, 1, U2(MUL, 1, ALU, 1)) };
/* IL64: PUSHF and POPF take 24 cycles, 30 on Golden Cove. */
static const PmuTimingRow popf[] = {
    MICROCODE(GLC, 9, 23, 30),
    MICROCODE(0, 9, 18, 24),
};

/* IL64: 1.5 cycles, 2 on Golden Cove. */
static const PmuTimingRow sahf[] = {
    C(GLC, 1, UN(4, SHIFT)),
    C(0, 1, UN(3, SHIFT)),
};

#define ALU(n, a, ...)  PLAIN(n, a, alu, .traits = FL_W __VA_ARGS__)
#define ALU_FUSE(n, a, tr, f)                                           \
    PLAIN(n, a, alu, .traits = FL_W | PMU_TRAIT_FUSES | (tr), .fuse = f)
#define INC(n)                                                          \
    PLAIN(n, RW, alu, .fuse = FUSE_INC,                                 \
          .traits = SPAZO_W | PMU_TRAIT_FUSES | PMU_TRAIT_ELIM_IMM)
#define FUSE_CMP        (PMU_FUSE_CARRY_ZERO | PMU_FUSE_SIGNED)
#define FUSE_ALL        (FUSE_CMP | PMU_FUSE_OTHER)
#define FUSE_INC        (PMU_FUSE_ZERO | PMU_FUSE_SIGNED)

#define CMOV(n, t)      PLAIN(n, RW, p06, .traits = t)
#define CMOV2(n)        PLAIN(n, RW, two_flags, .traits = FL_R)
#define SETCC(n, t)     PLAIN(n, W, p06, .traits = t)
#define SETCC2(n)       PLAIN(n, W, two_flags, .traits = FL_R)
#define JCC(n, t)       ROW(n, NONE, JCC, jcc, .traits = t)
#define LOOP(n, c, t) \
    ROW(n, NONE, JCC, c, .reads = RCX, .writes = RCX, .traits = t)

static const PmuInsnRow rows[] = {
    /* Arithmetic and logic; fusion: Intel SOM 3.4.2.2. */
    ALU_FUSE("add", RW, PMU_TRAIT_ELIM_IMM, FUSE_CMP),
    ALU_FUSE("sub", RW, PMU_TRAIT_ZERO | PMU_TRAIT_ELIM_IMM, FUSE_CMP),
    ALU_FUSE("and", RW, 0, FUSE_ALL),
    ALU_FUSE("cmp", R, 0, FUSE_CMP),
    ALU_FUSE("test", R, 0, FUSE_ALL),
    INC("inc"),
    INC("dec"),
    ALU("or", RW),
    ALU("xor", RW, | PMU_TRAIT_ZERO),
    ALU("neg", RW),
    PLAIN("not", RW, alu),
    PLAIN("adc", RW, adc, .traits = CF_R | FL_W),
    PLAIN("sbb", RW, adc, .traits = CF_R | FL_W),
    PLAIN("adcx", RW, p06, .traits = CF_R | CF_W),
    PLAIN("adox", RW, p06, .traits = SPAZO_R | SPAZO_W),
    PLAIN("mov", W, mov, .traits = PMU_TRAIT_ELIM_GPR),
    PLAIN("movabs", W, mov),
    PLAIN("movzx", W, movzx, .traits = PMU_TRAIT_ELIM_GPR),
    PLAIN("movsx", W, movsx),
    PLAIN("movsxd", W, movsx),
    PLAIN("movbe", W, movbe),
    PLAIN("movnti", W, mov, .flags = PMU_INSN_STREAMING),
    ROW("lea", W, LEA, lea, .traits = PMU_TRAIT_ELIM_IMM),
    PLAIN("nop", NONE, nop),
    PLAIN("endbr64", NONE, nop),
    PLAIN("endbr32", NONE, nop),
    PLAIN("data16", NONE, nop),
    PLAIN("cwd", NONE, p06, .reads = RAX | RDX, .writes = RDX),
    /* IL64: one per cycle, so it waits for EDX, unlike CQO for RDX. */
    PLAIN("cdq", NONE, p06, .reads = RAX | RDX, .writes = RDX),
    PLAIN("cqo", NONE, p06, .reads = RAX, .writes = RDX),
    PLAIN("cbw", NONE, alu, .reads = RAX, .writes = RAX),
    PLAIN("cwde", NONE, alu, .reads = RAX, .writes = RAX),
    PLAIN("cdqe", NONE, alu, .reads = RAX, .writes = RAX),
    ROW("xchg", RW2, XCHG, xchg),
    PLAIN("xadd", RW2, xadd, .traits = FL_W),
    PLAIN("cmpxchg", RW, cmpxchg, .traits = FL_W, .reads = RAX,
          .writes = RAX),
    /* IL64: CMPXCHG8B 11 and CMPXCHG16B 15 cycles, from store to store. */
    PLAIN("cmpxchg8b", RW,
          PMU_TIMINGS(C(0, 6, U2(ALU, 10, SHIFT, 2), .slots = 14)),
          .traits = SPAZO_W, .reads = RAX | RBX | RCX | RDX,
          .writes = RAX | RDX),
    PLAIN("cmpxchg16b", RW,
          PMU_TIMINGS(C(0, 10, U2(ALU, 14, SHIFT, 3), .slots = 19)),
          .traits = SPAZO_W, .reads = RAX | RBX | RCX | RDX,
          .writes = RAX | RDX),
    ROW("mul", R, MUL, mul, .traits = FL_W),
    ROW("imul", RW, MUL, mul, .traits = FL_W),
    PLAIN("mulx", W2, mulx, .reads = RDX),
    PLAIN("div", R, divide, .traits = FL_W, .reads = RAX | RDX,
          .writes = RAX | RDX),
    PLAIN("idiv", R, divide, .traits = FL_W, .reads = RAX | RDX,
          .writes = RAX | RDX),

    /* Shifts, rotates, bits. */
    ROW("shl", RW, SHIFT, shift, .traits = FL_W),
    ROW("sal", RW, SHIFT, shift, .traits = FL_W),
    ROW("shr", RW, SHIFT, shift, .traits = FL_W),
    ROW("sar", RW, SHIFT, shift, .traits = FL_W),
    /* Rotates also write OF, but keep ZF: no instruction waits for that OF. */
    ROW("rol", RW, SHIFT, rotate, .traits = CF_W),
    ROW("ror", RW, SHIFT, rotate, .traits = CF_W),
    ROW("rcl", RW, SHIFT, rcl, .traits = CF_R | CF_W),
    ROW("rcr", RW, SHIFT, rcr, .traits = CF_R | CF_W),
    PLAIN("shld", RW, shld, .traits = FL_W),
    PLAIN("shrd", RW, shrd, .traits = FL_W),
    PLAIN("shlx", W, p06),
    PLAIN("shrx", W, p06),
    PLAIN("sarx", W, p06),
    PLAIN("rorx", W, p06),
    PLAIN("bt", R, bt, .traits = CF_W),
    PLAIN("btc", RW, bt, .traits = CF_W),
    PLAIN("btr", RW, bt, .traits = CF_W),
    PLAIN("bts", RW, bt, .traits = CF_W),
    /* BSF and BSR keep the destination if the source is 0, so they read it. */
    PLAIN("bsf", RW, p1_3, .traits = FL_W),
    PLAIN("bsr", RW, p1_3, .traits = FL_W),
    PLAIN("lzcnt", W, p1_3, .traits = FL_W),
    PLAIN("tzcnt", W, p1_3, .traits = FL_W),
    PLAIN("popcnt", W, p1_3, .traits = FL_W),
    PLAIN("pdep", W, p1_3),
    PLAIN("pext", W, p1_3),
    PLAIN("crc32", RW, p1_3),
    PLAIN("bswap", RW, bswap),
    PLAIN("andn", W, bmi_p15, .traits = FL_W),
    PLAIN("bextr", W, bextr, .traits = FL_W),
    PLAIN("blsi", W, bmi_p15, .traits = FL_W),
    PLAIN("blsmsk", W, bmi_p15, .traits = FL_W),
    PLAIN("blsr", W, bmi_p15, .traits = FL_W),
    PLAIN("bzhi", W, bzhi, .traits = FL_W),

    /* Conditional moves and sets. */
    CMOV2("cmova"), CMOV2("cmovbe"), CMOV("cmovae", CF_R), CMOV("cmovb", CF_R),
    CMOV("cmove", SPAZO_R), CMOV("cmovg", SPAZO_R), CMOV("cmovge", SPAZO_R),
    CMOV("cmovl", SPAZO_R), CMOV("cmovle", SPAZO_R), CMOV("cmovne", SPAZO_R),
    CMOV("cmovno", SPAZO_R), CMOV("cmovnp", SPAZO_R), CMOV("cmovns", SPAZO_R),
    CMOV("cmovo", SPAZO_R), CMOV("cmovp", SPAZO_R), CMOV("cmovs", SPAZO_R),
    SETCC2("seta"), SETCC2("setbe"), SETCC("setae", CF_R), SETCC("setb", CF_R),
    SETCC("sete", SPAZO_R), SETCC("setg", SPAZO_R), SETCC("setge", SPAZO_R),
    SETCC("setl", SPAZO_R), SETCC("setle", SPAZO_R), SETCC("setne", SPAZO_R),
    SETCC("setno", SPAZO_R), SETCC("setnp", SPAZO_R), SETCC("setns", SPAZO_R),
    SETCC("seto", SPAZO_R), SETCC("setp", SPAZO_R), SETCC("sets", SPAZO_R),

    /* Branches. */
    JCC("ja", FL_R), JCC("jae", CF_R), JCC("jb", CF_R), JCC("jbe", FL_R),
    JCC("je", SPAZO_R), JCC("jne", SPAZO_R), JCC("jg", SPAZO_R),
    JCC("jge", SPAZO_R), JCC("jl", SPAZO_R), JCC("jle", SPAZO_R),
    JCC("jo", SPAZO_R), JCC("jno", SPAZO_R), JCC("jp", SPAZO_R),
    JCC("jnp", SPAZO_R), JCC("js", SPAZO_R), JCC("jns", SPAZO_R),
    ROW("jcxz", NONE, JCC, jrcxz, .reads = RCX),
    ROW("jecxz", NONE, JCC, jrcxz, .reads = RCX),
    ROW("jrcxz", NONE, JCC, jrcxz, .reads = RCX),
    LOOP("loop", loop, 0),
    LOOP("loope", loope, SPAZO_R),
    LOOP("loopne", loope, SPAZO_R),
    ROW("jmp", R, JMP, jmp),
    ROW("call", R, CALL, call),
    ROW("ret", NONE, RET, ret),

    /* Stack. */
    ROW("push", R, PUSH, stack),
    ROW("pop", W, POP, stack),
    ROW("leave", NONE, LEAVE, leave, .reads = RBP, .writes = RBP | RSP),
    ROW("enter", NONE, PUSH, PMU_TIMINGS(MICROCODE(0, 12, 8, 8)), .reads = RBP,
        .writes = RBP | RSP),
    ROW("pushf", NONE, PUSH, pushf, .traits = FL_R),
    ROW("pushfd", NONE, PUSH, pushf, .traits = FL_R),
    ROW("pushfq", NONE, PUSH, pushf, .traits = FL_R),
    ROW("popf", NONE, POP, popf, .traits = FL_W | ENDS),
    ROW("popfd", NONE, POP, popf, .traits = FL_W | ENDS),
    ROW("popfq", NONE, POP, popf, .traits = FL_W | ENDS),
    ROW("pushaw", NONE, PUSH, PMU_TIMINGS(MICROCODE(0, 17, 8, 8))),
    ROW("pushal", NONE, PUSH, PMU_TIMINGS(MICROCODE(0, 17, 8, 8))),
    ROW("popaw", NONE, POP, PMU_TIMINGS(MICROCODE(0, 18, 8, 8)),
        .writes = 0xef),
    ROW("popal", NONE, POP, PMU_TIMINGS(MICROCODE(0, 18, 8, 8)),
        .writes = 0xef),

    /* Flags, BCD, odd ones. */
    PLAIN("clc", NONE, nop, .traits = CF_W),
    PLAIN("stc", NONE, alu, .traits = CF_W),
    PLAIN("cmc", NONE, alu, .traits = CF_R | CF_W),
    PLAIN("cld", NONE, PMU_TIMINGS(MICROCODE(0, 3, 1, 5))),
    PLAIN("std", NONE, PMU_TIMINGS(MICROCODE(GLC, 3, 1, 4),
                                   MICROCODE(0, 3, 1, 5))),
    PLAIN("lahf", NONE, p06, .traits = FL_R, .reads = RAX, .writes = RAX),
    PLAIN("sahf", NONE, sahf, .traits = FL_W, .reads = RAX),
    PLAIN("salc", NONE, PMU_TIMINGS(C(0, 2, UN(3, ALU))), .traits = CF_R,
          .writes = RAX),
    PLAIN("aaa", NONE, PMU_TIMINGS(MICROCODE(0, 2, 4, 2)),
          .traits = FL_R | FL_W, .reads = RAX, .writes = RAX),
    PLAIN("aas", NONE, PMU_TIMINGS(MICROCODE(0, 2, 4, 2)),
          .traits = FL_R | FL_W, .reads = RAX, .writes = RAX),
    PLAIN("aad", NONE, PMU_TIMINGS(MICROCODE(0, 2, 6, 2)), .traits = FL_W,
          .reads = RAX, .writes = RAX),
    PLAIN("aam", NONE, PMU_TIMINGS(MICROCODE(0, 8, 18, 8)), .traits = FL_W,
          .reads = RAX, .writes = RAX),
    PLAIN("daa", NONE, PMU_TIMINGS(MICROCODE(0, 3, 4, 2)),
          .traits = FL_R | FL_W, .reads = RAX, .writes = RAX),
    PLAIN("das", NONE, PMU_TIMINGS(MICROCODE(0, 3, 4, 2)),
          .traits = FL_R | FL_W, .reads = RAX, .writes = RAX),
    PLAIN("bound", NONE, PMU_TIMINGS(MICROCODE(0, 11, 1, 5))),
    PLAIN("xlatb", NONE, PMU_TIMINGS(C(0, 7, UN(3, ALU))), .reads = RAX | RBX,
          .writes = RAX),
};

const PmuInsnRows pmu_insn_table_integer = { rows, G_N_ELEMENTS(rows) };
