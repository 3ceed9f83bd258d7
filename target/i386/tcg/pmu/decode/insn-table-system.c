/*
 * The instruction table, part 2: strings, ordering and system instructions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sources.  Operands and implicit registers: SDM vol. 2.  Cycles of what user
 * programs can run: InstLatx64's dumps of a Xeon Gold 6330 (Sunny Cove) and of
 * a 06_97 P-core (Golden Cove), IL64 below; micro-ops: uops.info.  System
 * instructions without published figures (WRMSR, port I/O, descriptor loads,
 * far transfers) have round ones.
 */

#include <glib.h>

#include "tcg/pmu/decode/insn-table-rows.h"

/* Microcode: @s slots, a result after @l cycles, one every @h cycles. */
#define MICRO(n, a, s, l, h, ...) \
    PLAIN(n, a, PMU_TIMINGS(MICROCODE(0, s, l, h)), __VA_ARGS__)

/* The same with @l2 and @h2 for Golden Cove. */
#define MICRO2(n, a, s, l, h, l2, h2, ...)                              \
    PLAIN(n, a, PMU_TIMINGS(MICROCODE(GLC, s, l2, h2),                  \
                            MICROCODE(0, s, l, h)), __VA_ARGS__)

/* Serializing microcode (SDM vol. 3A, 8.3), one every @l cycles. */
#define SERIAL(n, a, s, l, ...)                                         \
    PLAIN(n, a, PMU_TIMINGS(MICROCODE(0, s, l, l)),                     \
          .flags = PMU_INSN_SERIALIZING | PMU_INSN_BLOCKS_ISSUE,        \
          __VA_ARGS__)

#define FAR(n, a, s, l)                                                 \
    ROW(n, a, FAR, PMU_TIMINGS(MICROCODE(0, s, l, l)),                  \
        .flags = PMU_INSN_BLOCKS_ISSUE)

/*
 * A string instruction without a REP prefix: one every @h cycles, on Golden
 * Cove @h2.  With REP the model has figures of its own.
 */
#define STRING(n, s, l, h, h2, ...)                                     \
    ROW(n, NONE, STRING, PMU_TIMINGS(MICROCODE(GLC, s, l, h2),          \
                                     MICROCODE(0, s, l, h)), __VA_ARGS__)

#define PREFETCH(n) \
    ROW(n, NONE, PREFETCH, PMU_TIMINGS(C(0, 0, NO_UOP)))

static const PmuInsnRow rows[] = {
    /*
     * Far transfers: round figures, without a refill of 30 cycles.  IRET takes
     * some 270 cycles to user mode on Haswell-EP (xPerf, lastweek.io, 2019),
     * and 230 to the same level, far RET 90 (Vlasenko, LKML 2015).  Delivery
     * of an exception follows INT.
     */
    FAR("ljmp", R, 30, 30),
    FAR("lcall", R, 40, 40),
    FAR("retf", NONE, 30, 60),
    FAR("retfq", NONE, 30, 60),
    FAR("iret", NONE, 60, 220),
    FAR("iretd", NONE, 60, 220),
    FAR("iretq", NONE, 60, 220),
    FAR("int", NONE, 60, 1),
    FAR("int3", NONE, 60, 1),
    FAR("into", NONE, 60, 1),
    FAR("syscall", NONE, 30, 40),
    FAR("sysret", NONE, 30, 40),
    FAR("sysretq", NONE, 30, 40),
    FAR("sysenter", NONE, 30, 40),
    FAR("sysexit", NONE, 30, 40),
    FAR("sysexitq", NONE, 30, 40),
    FAR("rsm", NONE, 200, 250),

    /* Strings: IL64. */
    STRING("movsb", 5, 4, 4, 4),
    STRING("movsw", 5, 4, 4, 4),
    STRING("movsq", 5, 4, 4, 4),
    STRING("stosb", 3, 1, 1, 2),
    STRING("stosw", 3, 1, 1, 2),
    STRING("stosd", 3, 1, 1, 2),
    STRING("stosq", 3, 1, 1, 2),
    STRING("lodsb", 3, 1, 1, 2, .writes = RAX),
    STRING("lodsw", 3, 1, 1, 2, .writes = RAX),
    STRING("lodsd", 2, 1, 1, 2, .writes = RAX),
    STRING("lodsq", 2, 1, 1, 2, .writes = RAX),
    STRING("scasb", 3, 2, 1, 2, .traits = FL_W),
    STRING("scasw", 3, 2, 1, 2, .traits = FL_W),
    STRING("scasd", 3, 2, 1, 2, .traits = FL_W),
    STRING("scasq", 3, 2, 1, 2, .traits = FL_W),
    STRING("cmpsb", 5, 3, 4, 4, .traits = FL_W),
    STRING("cmpsw", 5, 3, 4, 4, .traits = FL_W),
    STRING("cmpsq", 5, 3, 4, 4, .traits = FL_W),
    STRING("insb", 30, 250, 250, 250),
    STRING("insw", 30, 250, 250, 250),
    STRING("insd", 30, 250, 250, 250),
    STRING("outsb", 30, 250, 250, 250),
    STRING("outsw", 30, 250, 250, 250),
    STRING("outsd", 30, 250, 250, 250),

    /* Ordering, hints, time. */
    /*
     * IL64: 34 cycles on Sunny Cove, 160 on Golden Cove.  Six of them pass in
     * any case from issue to the end of a one-cycle latency.
     */
    PLAIN("pause", NONE, PMU_TIMINGS(C(GLC, 154, UN(8, ALU)),
                                     C(0, 28, UN(8, ALU))),
          .flags = PMU_INSN_BLOCKS_ISSUE),
    PLAIN("lfence", NONE, PMU_TIMINGS(C(0, 1, UN(2, ALU))),
          .flags = PMU_INSN_SERIALIZING | PMU_INSN_BLOCKS_ISSUE),
    MICRO2("mfence", NONE, 3, 33, 36, 35, 38,
           .flags = PMU_INSN_FENCES_LOADS),
    MICRO("sfence", NONE, 2, 1, 6),
    PREFETCH("prefetch"),
    PREFETCH("prefetchnta"),
    PREFETCH("prefetcht0"),
    PREFETCH("prefetcht1"),
    PREFETCH("prefetcht2"),
    PREFETCH("prefetchw"),
    MICRO("clflush", NONE, 4, 1, 188, .flags = PMU_INSN_FLUSH),
    MICRO2("clflushopt", NONE, 4, 1, 155, 1, 5, .flags = PMU_INSN_FLUSH),
    MICRO2("clwb", NONE, 2, 1, 3, 1, 9),
    MICRO2("rdtsc", NONE, 15, 27, 27, 26, 26, .writes = RAX | RDX,
           .traits = ENDS),
    MICRO("rdtscp", NONE, 22, 32, 32, .writes = RAX | RCX | RDX,
          .flags = PMU_INSN_BLOCKS_ISSUE, .traits = ENDS),
    MICRO("rdpmc", NONE, 25, 35, 35, .reads = RCX, .writes = RAX | RDX,
          .traits = ENDS),
    MICRO2("rdrand", W, 16, 70, 70, 70, 970, .traits = FL_W | ENDS),
    MICRO2("rdseed", W, 16, 70, 340, 70, 966, .traits = FL_W | ENDS),
    MICRO("rdpid", W, 4, 8, 5),
    /* IL64: leaf 0; other leaves take longer. */
    SERIAL("cpuid", NONE, 30, 98, .reads = RAX | RCX,
           .writes = RAX | RBX | RCX | RDX),
    SERIAL("serialize", NONE, 20, 40),

    /* System: round figures, nothing published. */
    MICRO("rdmsr", NONE, 50, 80, 80, .reads = RCX, .writes = RAX | RDX,
          .flags = PMU_INSN_BLOCKS_ISSUE),
    SERIAL("wrmsr", NONE, 100, 120, .reads = RAX | RCX | RDX, .traits = ENDS),
    SERIAL("in", NONE, 25, 250, .reads = RDX, .writes = RAX, .traits = ENDS),
    SERIAL("out", NONE, 25, 250, .reads = RAX | RDX, .traits = ENDS),
    SERIAL("invlpg", NONE, 50, 100, .traits = ENDS),
    SERIAL("invpcid", NONE, 60, 150),
    SERIAL("invd", NONE, 100, 250),
    SERIAL("wbinvd", NONE, 200, 250),
    SERIAL("lgdt", NONE, 12, 40),
    SERIAL("lidt", NONE, 12, 40),
    SERIAL("lldt", NONE, 12, 40),
    SERIAL("ltr", NONE, 12, 40),
    SERIAL("lmsw", NONE, 12, 40, .traits = ENDS),
    MICRO("sgdt", NONE, 5, 4, 4),
    MICRO("sidt", NONE, 5, 4, 4),
    MICRO("sldt", W, 5, 4, 4),
    MICRO("smsw", W, 5, 4, 4),
    MICRO("str", W, 5, 4, 4),
    MICRO("lar", W, 11, 20, 20, .traits = SPAZO_W),
    MICRO("lsl", W, 11, 20, 20, .traits = SPAZO_W),
    MICRO("verr", R, 11, 20, 20, .traits = SPAZO_W),
    MICRO("verw", R, 11, 20, 20, .traits = SPAZO_W),
    MICRO("arpl", RW, 6, 10, 10, .traits = SPAZO_W),
    MICRO("lds", W, 12, 20, 20),
    MICRO("les", W, 12, 20, 20),
    MICRO("lfs", W, 12, 20, 20),
    MICRO("lgs", W, 12, 20, 20),
    MICRO("lss", W, 12, 20, 20),
    MICRO("cli", NONE, 4, 1, 4),
    MICRO("sti", NONE, 4, 1, 4, .traits = ENDS),
    MICRO("clac", NONE, 4, 1, 4, .flags = PMU_INSN_BLOCKS_ISSUE,
          .traits = ENDS),
    MICRO("stac", NONE, 4, 1, 4, .flags = PMU_INSN_BLOCKS_ISSUE,
          .traits = ENDS),
    MICRO("clts", NONE, 8, 20, 20, .traits = ENDS),
    MICRO("swapgs", NONE, 4, 10, 10),
    /* To QEMU and the PMU this is an exception, not a branch like INT n. */
    MICRO("int1", NONE, 60, 1, 1, .flags = PMU_INSN_BLOCKS_ISSUE),
    MICRO("hlt", NONE, 10, 30, 30, .flags = PMU_INSN_BLOCKS_ISSUE),
    MICRO("ud2", NONE, 10, 30, 30, .flags = PMU_INSN_BLOCKS_ISSUE),
    MICRO("monitor", NONE, 10, 30, 30),
    MICRO("mwait", NONE, 10, 30, 30, .flags = PMU_INSN_BLOCKS_ISSUE),
    MICRO("rdfsbase", W, 4, 8, 8),
    MICRO("rdgsbase", W, 4, 8, 8),
    MICRO("wrfsbase", R, 5, 10, 10),
    MICRO("wrgsbase", R, 5, 10, 10),
    MICRO("xgetbv", NONE, 7, 9, 9, .reads = RCX, .writes = RAX | RDX),
    SERIAL("xsetbv", NONE, 30, 60, .reads = RAX | RCX | RDX, .traits = ENDS),
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
    MICRO("xrstor", R, 100, 80, 80, .traits = ENDS),
    MICRO("xrstor64", R, 100, 80, 80, .traits = ENDS),
    MICRO("xrstors", R, 100, 80, 80, .traits = ENDS),
    MICRO("xrstors64", R, 100, 80, 80, .traits = ENDS),
    PLAIN("ldmxcsr", R, PMU_TIMINGS(C(0, 7, U2(P0, 1, ALU, 2),
                                      HOLDS(SYSTEM, 3)))),
    PLAIN("stmxcsr", W, PMU_TIMINGS(C(0, 6, U2(P0, 1, ALU, 1)))),
    FAR("vmcall", NONE, 100, 250),
    FAR("vmmcall", NONE, 100, 250),
    FAR("vmrun", NONE, 200, 250),
};

const PmuInsnRows pmu_insn_table_system = { rows, G_N_ELEMENTS(rows) };
