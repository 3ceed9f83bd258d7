/*
 * The instruction table, part 4: x87.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sources.  Operands: SDM vol. 2.  Latencies and throughputs: InstLatx64's
 * dumps of a Xeon Gold 6330 (Sunny Cove) and of a 06_97 P-core (Golden Cove);
 * micro-ops and ports: uops.info; microcoded ones: Agner Fog's tables.
 */

#include <glib.h>

#include "tcg/pmu/decode/insn-table-rows.h"

static const PmuTimingRow add[] = { C(0, 3, U(P5)) };
static const PmuTimingRow mul[] = { C(0, 4, U(P0)) };
/* An integer in memory is converted first. */
static const PmuTimingRow int_add[] = { C(0, 7, U2(P5, 2, FMA, 1)) };
static const PmuTimingRow int_mul[] = { C(0, 8, U3(P0, 1, P5, 1, FMA, 1)) };
/* 80 bits, the default precision: latency 14 to 16, one every 4.5 cycles. */
static const PmuTimingRow divide[] = { C(0, 15, U(P0), HOLDS(FP_DIV, 4)) };
static const PmuTimingRow int_divide[] = {
    C(0, 20, U3(P0, 1, P5, 1, FMA, 1), HOLDS(FP_DIV, 4)),
};
static const PmuTimingRow square_root[] = { C(0, 20, U(P0), HOLDS(FP_DIV, 7)) };
static const PmuTimingRow sign[] = { C(0, 1, U(P0)) };
static const PmuTimingRow compare[] = { C(0, 3, U(P5)) };
static const PmuTimingRow compare2[] = { C(0, 3, UN(2, P5)) };
static const PmuTimingRow compare_flags[] = { C(0, 3, U2(P0, 1, P5, 1)) };
static const PmuTimingRow cmov[] = { C(0, 3, U2(P0, 1, P5, 1)) };
/*
 * Loads and stores of 80 bits: 4 and 7 micro-ops, one every 2 and 5 cycles
 * (Agner Fog, Skylake).  The ports are those that make it take that long.
 */
static const PmuTimingRow move[] = {
    C(F80 | LOAD, 1, UN(2, P0), .slots = 4, .load_latency = 2),
    C(F80 | STORE, 1, UN(5, P5), .slots = 7),
    C(LOAD, 0, NO_UOP, .load_latency = 2),
    C(STORE, 0, NO_UOP),
    C(0, 1, U(P05)),
};
static const PmuTimingRow int_load[] = { C(0, 4, U2(P5, 1, FMA, 1)) };
static const PmuTimingRow int_store[] = { C(0, 4, U(P5)) };
static const PmuTimingRow constant[] = { C(0, 1, UN(2, P05)) };
static const PmuTimingRow zero[] = { C(0, 1, U(P05)) };
/* IL64: 0.5 cycles, on Golden Cove 1. */
static const PmuTimingRow exchange[] = {
    C(GLC, 0, UN(2, P05)),
    C(0, 0, U(P05)),
};
static const PmuTimingRow top[] = { C(0, 0, U(P05)) };

#define ARITH(n, c)     ROW(n, R, X87, c)
#define DIVIDE(n, c)    ROW(n, R, X87, c, .flags = PMU_INSN_HOLDS_HALF)
#define USE(n, c)       ROW(n, R, X87_USE, c)
#define FROM_TOP(n, c)  ROW(n, W, X87_USE, c)
#define TO_TOP(n, c)    ROW(n, R, X87_LOAD, c)
#define USE_FLAGS(n, c) ROW(n, R, X87_USE, c, .traits = FL_W)
#define CMOV(n, t)      ROW(n, R, X87, cmov, .traits = t)
#define MICRO(n, a, k, s, l, h) \
    ROW(n, a, k, PMU_TIMINGS(MICROCODE(0, s, l, h)))

static const PmuInsnRow rows[] = {
    TO_TOP("fld", move), FROM_TOP("fst", move), FROM_TOP("fstp", move),
    TO_TOP("fild", int_load), FROM_TOP("fist", int_store),
    FROM_TOP("fistp", int_store), FROM_TOP("fisttp", int_store),
    TO_TOP("fld1", constant), TO_TOP("fldz", zero),
    TO_TOP("fldpi", constant), TO_TOP("fldl2e", constant),
    TO_TOP("fldl2t", constant), TO_TOP("fldlg2", constant),
    TO_TOP("fldln2", constant),
    ARITH("fadd", add), ARITH("faddp", add), ARITH("fsub", add),
    ARITH("fsubp", add), ARITH("fsubr", add), ARITH("fsubrp", add),
    ARITH("fiadd", int_add), ARITH("fisub", int_add),
    ARITH("fisubr", int_add),
    ARITH("fmul", mul), ARITH("fmulp", mul), ARITH("fimul", int_mul),
    DIVIDE("fdiv", divide), DIVIDE("fdivp", divide), DIVIDE("fdivr", divide),
    DIVIDE("fdivrp", divide), DIVIDE("fidiv", int_divide),
    DIVIDE("fidivr", int_divide),
    ARITH("fsqrt", square_root), ARITH("fchs", sign), ARITH("fabs", sign),
    ARITH("fxch", exchange),
    USE("fcom", compare), USE("fcomp", compare), USE("fcompp", compare2),
    USE("fucom", compare), USE("fucomp", compare), USE("fucompp", compare2),
    USE("ficom", int_add), USE("ficomp", int_add),
    USE_FLAGS("fcomi", compare_flags), USE_FLAGS("fcomip", compare_flags),
    /* Capstone 5's spelling. */
    USE_FLAGS("fcompi", compare_flags), USE_FLAGS("fucompi", compare_flags),
    USE_FLAGS("fucomi", compare_flags), USE_FLAGS("fucomip", compare_flags),
    USE("ftst", compare), USE("fxam", compare2),
    CMOV("fcmovb", CF_R), CMOV("fcmovbe", FL_R), CMOV("fcmove", SPAZO_R),
    CMOV("fcmovu", SPAZO_R), CMOV("fcmovnb", CF_R), CMOV("fcmovnbe", FL_R),
    CMOV("fcmovne", SPAZO_R), CMOV("fcmovnu", SPAZO_R),
    PLAIN("fincstp", NONE, top), PLAIN("fdecstp", NONE, top),
    PLAIN("ffree", NONE, top), PLAIN("ffreep", NONE, constant),
    PLAIN("fnop", NONE, top), PLAIN("wait", NONE, constant),
    PLAIN("fldcw", R, PMU_TIMINGS(C(0, 7, U2(P0, 1, ALU, 2)))),
    PLAIN("fnstcw", W, PMU_TIMINGS(C(0, 3, U(P0)))),
    PLAIN("fnstsw", W, PMU_TIMINGS(C(0, 3, U(P0))), .memory = 2),
    MICRO("fnclex", NONE, PLAIN, 5, 18, 18),
    MICRO("fninit", NONE, PLAIN, 15, 60, 60),
    MICRO("frndint", R, X87, 17, 22, 12),
    MICRO("fscale", R, X87, 27, 50, 30),
    MICRO("fprem", R, X87, 31, 25, 20),
    MICRO("fprem1", R, X87, 31, 25, 20),
    MICRO("fxtract", R, X87, 17, 20, 12),
    MICRO("fsin", R, X87, 80, 100, 100),
    MICRO("fcos", R, X87, 80, 117, 117),
    MICRO("fsincos", R, X87, 100, 120, 120),
    MICRO("fptan", R, X87, 100, 120, 120),
    MICRO("fpatan", R, X87, 90, 120, 120),
    MICRO("f2xm1", R, X87, 40, 70, 60),
    MICRO("fyl2x", R, X87, 50, 80, 60),
    MICRO("fyl2xp1", R, X87, 50, 90, 60),
    MICRO("fbld", R, X87_LOAD, 43, 46, 22),
    MICRO("fbstp", W, X87_USE, 200, 250, 200),
    MICRO("fldenv", R, X87_LOAD, 64, 60, 60),
    MICRO("fnstenv", W, X87_USE, 100, 60, 60),
    MICRO("fnsave", W, X87_USE, 140, 150, 150),
    MICRO("frstor", R, X87_LOAD, 90, 150, 150),
};

const PmuInsnRows pmu_insn_table_x87 = { rows, G_N_ELEMENTS(rows) };
