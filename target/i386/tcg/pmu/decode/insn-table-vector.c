/*
 * The instruction table, part 3: MMX, SSE to AVX2, FMA, AES, SHA.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Sources.  Operands: SDM vol. 2.  Latencies and throughputs: InstLatx64's
 * dumps of a Xeon Gold 6330 (Sunny Cove) and of a 06_97 P-core (Golden Cove),
 * IL64 below.  Ports and numbers of micro-ops: uops.info, Ice Lake and Alder
 * Lake P, as far as they agree with the measured rates.
 */

#include <glib.h>

#include "tcg/pmu/decode/insn-table-rows.h"

#define SIMD    .bypass = PMU_BYPASS_SIMD
#define FP      .bypass = PMU_BYPASS_FP

/* Logic, plain additions, blends: p015; MMX: p05. */
static const PmuTimingRow vec[] = {
    C(MMX, 1, U(P05)),
    C(0, 1, U(VEC), SIMD),
};

/* Saturating additions, compares, minima, PABS, PSIGN, PAVG: p01; MMX: p0. */
static const PmuTimingRow vec01[] = {
    C(MMX, 1, U(P0)),
    C(0, 1, U(P01), SIMD),
};

/*
 * Shifts by a constant take one micro-op.  A count in a register is broadcast
 * first, across lanes for 256 bits.
 */
static const PmuTimingRow vec_shift[] = {
    C(MMX, 1, U(P0)),
    C(IMM, 1, U(VEC_SHIFT), SIMD),
    C(YMM | LOAD, 1, U2(VEC_SHIFT, 1, SHUFFLE, 1)),
    C(YMM, 4, U2(SHUFFLE, 1, VEC_SHIFT, 1)),
    C(LOAD, 1, U(VEC_SHIFT)),
    C(0, 2, U2(VEC_SHIFT, 1, SHUFFLE, 1)),
};
static const PmuTimingRow vec_shiftv[] = { C(0, 1, U(VEC_SHIFT), SIMD) };
static const PmuTimingRow vec_mul[] = {
    C(MMX, 5, U(P0)),
    C(0, 5, U(VEC_SHIFT)),
};
static const PmuTimingRow pmulld[] = { C(0, 10, UN(2, VEC_SHIFT)) };

/*
 * Shuffles within lanes: p15, but p1 takes only some of them and none of MMX.
 * Shuffles across lanes: p5, 3 cycles.
 */
static const PmuTimingRow shuffle2[] = {
    C(MMX, 1, U(SHUFFLE)),
    C(0, 1, U(SHUFFLE2)),
};
static const PmuTimingRow shuffle[] = { C(0, 1, U(SHUFFLE)) };
static const PmuTimingRow pshufb[] = {
    C(MMX, 3, U2(SHUFFLE, 1, P05, 1)),
    C(0, 1, U(SHUFFLE2)),
};
static const PmuTimingRow pack[] = {
    C(MMX, 4, UN(2, SHUFFLE)),
    C(0, 3, U(SHUFFLE)),
};
static const PmuTimingRow cross[] = { C(0, 3, U(SHUFFLE)) };
static const PmuTimingRow widen[] = {
    C(YMM, 3, U(SHUFFLE)),
    C(0, 1, U(SHUFFLE2)),
};
/* The load ports broadcast from memory, except bytes and words. */
static const PmuTimingRow broadcast[] = {
    C(LOAD, 0, NO_UOP),
    C(YMM, 3, U(SHUFFLE)),
    C(0, 1, U(SHUFFLE)),
};
static const PmuTimingRow broadcast_small[] = {
    C(LOAD, 1, U(SHUFFLE)),
    C(YMM, 3, U(SHUFFLE)),
    C(0, 1, U(SHUFFLE)),
};
static const PmuTimingRow duplicate[] = {
    C(LOAD | XMM, 0, NO_UOP),
    C(LOAD | YMM, 0, NO_UOP),
    C(0, 1, U(SHUFFLE)),
};
static const PmuTimingRow duplicate2[] = {
    C(LOAD, 0, NO_UOP),
    C(0, 1, U(SHUFFLE2)),
};
static const PmuTimingRow insert128[] = {
    C(LOAD, 1, U(VEC)),
    C(0, 3, U(SHUFFLE)),
};
static const PmuTimingRow extract128[] = {
    C(STORE, 0, NO_UOP),
    C(0, 3, U(SHUFFLE)),
};
static const PmuTimingRow blendw[] = { C(0, 1, U(SHUFFLE2)) };
/* The VEX forms have four operands. */
static const PmuTimingRow blendv[] = {
    C(GLC | VEX, 3, UN(3, VEC)),
    C(VEX, 2, UN(2, P05), .slots = 2),
    C(0, 1, U(VEC)),
};

/* IL64: 1 cycle for the insertion, 2 for moving the register. */
static const PmuTimingRow pinsr[] = {
    C(LOAD, 1, U(SHUFFLE)),
    C(MMX, 3, UN(2, SHUFFLE)),
    C(0, 3, U2(SHUFFLE, 1, SHUFFLE2, 1), .src0_late = 2),
};
static const PmuTimingRow pextr[] = {
    C(STORE, 1, U(SHUFFLE)),
    C(0, 3, U2(P0, 1, SHUFFLE, 1)),
};
/* From vector to general register: p0. */
static const PmuTimingRow movmsk[] = { C(0, 3, U(P0)) };

/* Moves. */
static const PmuTimingRow mov_vec[] = {
    C(LOAD, 0, NO_UOP),
    C(STORE, 0, NO_UOP),
    C(MMX, 1, U(P05)),
    C(0, 1, U(VEC), SIMD),
};
static const PmuTimingRow movd[] = {
    C(LOAD, 0, NO_UOP),
    C(STORE, 0, NO_UOP),
    C(TO_GPR, 2, U(P0)),
    C(FROM_GPR, 2, U(P5)),
    C(MMX, 1, U(P05)),
    C(0, 1, U(VEC), SIMD),
};
/* IL64: 7.5 cycles with the store, like those that read and write memory. */
static const PmuTimingRow movlps[] = {
    C(STORE, 0, NO_UOP),
    C(SNC, 1, U(VEC), .load_latency = 1),
    C(GLC, 1, U(SHUFFLE2)),
    C(0, 1, U(VEC)),
};
static const PmuTimingRow movhps[] = {
    C(STORE, 0, NO_UOP),
    C(SNC, 1, U(SHUFFLE), .load_latency = 1),
    C(0, 1, U(SHUFFLE)),
};
static const PmuTimingRow movdq2q[] = { C(0, 2, U2(P0, 1, P5, 1)) };
/* IL64: one per cycle, both loads and stores. */
static const PmuTimingRow maskmov[] = {
    C(STORE, 3, U(P0)),
    C(0, 3, U(P5)),
};
static const PmuTimingRow maskmovq[] = {
    C(MMX, 10, U2(P0, 2, ALU, 1)),
    C(GLC, 10, U2(P0, 2, ALU, 5), HOLDS(SYSTEM, 6)),
    C(0, 10, U2(P0, 2, ALU, 5), HOLDS(SYSTEM, 7)),
};

/* Floating point: FMA units on p01; Golden Cove has adders on p15. */
static const PmuTimingRow fadd[] = {
    C(GLC, 2, U(FADD), .bypass = PMU_BYPASS_FADD),
    C(0, 4, U(FADD), FP),
};
static const PmuTimingRow fma[] = { C(0, 4, U(FMA), FP) };
static const PmuTimingRow fcomi[] = { C(0, 3, U(P0)) };
static const PmuTimingRow rcp[] = { C(YMM, 4, UN(1, P0)), C(0, 4, U(P0)) };
static const PmuTimingRow rounding[] = { C(0, 8, UN(2, FMA)) };
static const PmuTimingRow hadd[] = {
    C(GLC, 5, U2(SHUFFLE, 2, FADD, 1)),
    C(0, 7, U2(SHUFFLE, 2, FADD, 1)),
};
/* IL64: latency 16, on Golden Cove 14 cycles; one every 4 cycles. */
static const PmuTimingRow dpps[] = {
    C(GLC, 14, U3(FMA, 2, FADD, 2, SHUFFLE, 2), HOLDS(DOT, 4)),
    C(0, 16, U3(FMA, 3, SHUFFLE, 1, VEC, 2), HOLDS(DOT, 4)),
};
static const PmuTimingRow dppd[] = {
    C(GLC, 9, U3(FMA, 1, SHUFFLE, 1, FADD, 1)),
    C(0, 10, U2(FMA, 2, SHUFFLE, 1)),
};

/* Dividers: data-independent to 10 % (IL64); 256 bits take twice as long. */
static const PmuTimingRow divps[] = {
    C(YMM, 11, U(P0), HOLDS(FP_DIV, 5)),
    C(0, 11, U(P0), HOLDS(FP_DIV, 3)),
};
static const PmuTimingRow divpd[] = {
    C(YMM, 14, U(P0), HOLDS(FP_DIV, 8)),
    C(0, 14, U(P0), HOLDS(FP_DIV, 4)),
};
static const PmuTimingRow sqrtps[] = {
    C(YMM, 12, U(P0), HOLDS(FP_DIV, 6)),
    C(0, 12, U(P0), HOLDS(FP_DIV, 3)),
};
static const PmuTimingRow sqrtpd[] = {
    C(YMM, 18, U(P0), HOLDS(FP_DIV, 12)),
    C(0, 18, U(P0), HOLDS(FP_DIV, 6)),
};

/*
 * Conversions between sizes take a shuffle and a conversion; a shuffle across
 * lanes takes three cycles.
 */
static const PmuTimingRow cvt[] = { C(0, 4, U(FMA)) };
static const PmuTimingRow cvt_size[] = {
    C(YMM, 7, U2(SHUFFLE, 1, FMA, 1)),
    C(0, 5, U2(SHUFFLE, 1, FMA, 1)),
};
/*
 * A load from memory does the widening itself.  On Sunny Cove the result of a
 * conversion reaches the shuffle a cycle later (IL64: chains of 6 and 8
 * cycles).
 */
static const PmuTimingRow cvt_widen[] = {
    C(LOAD, 4, U(FMA)),
    C(SNC | YMM, 8, U2(SHUFFLE, 1, FMA, 1)),
    C(SNC, 6, U2(SHUFFLE, 1, FMA, 1)),
    C(YMM, 7, U2(SHUFFLE, 1, FMA, 1)),
    C(0, 5, U2(SHUFFLE, 1, FMA, 1)),
};
/* Scalars: merging the rest of the destination comes last. */
static const PmuTimingRow cvtsd2ss[] = {
    C(0, 5, U2(SHUFFLE, 1, FMA, 1), .src0_late = 4),
};
static const PmuTimingRow cvtss2sd[] = {
    C(LOAD, 4, U(FMA), .src0_late = 3),
    C(SNC, 6, U2(SHUFFLE, 1, FMA, 1), .src0_late = 5),
    C(0, 5, U2(SHUFFLE, 1, FMA, 1), .src0_late = 4),
};
static const PmuTimingRow cvt_half[] = {
    C(GLC | YMM, 8, U2(SHUFFLE, 1, FMA, 1)),
    C(YMM, 7, U2(SHUFFLE, 1, FMA, 1)),
    C(GLC, 6, U2(SHUFFLE, 1, FMA, 1)),
    C(0, 5, U2(SHUFFLE, 1, FMA, 1)),
};
/*
 * Integer to scalar.  Without VEX, from 64 bits to single takes one more
 * shuffle (IL64: 14 and 13 cycles together with the way back).
 */
static const PmuTimingRow cvt_from_int[] = {
    C(LOAD, 4, U(FMA), .slots = 2),
    C(0, 7, U2(SHUFFLE, 1, FMA, 1), .src0_late = 3),
};
static const PmuTimingRow cvtsi2ss[] = {
    C(LOAD, 4, U(FMA), .slots = 2),
    C(VEX, 7, U2(SHUFFLE, 1, FMA, 1), .src0_late = 3),
    C(F64, 8, U2(SHUFFLE, 2, FMA, 1), .src0_late = 4),
    C(0, 7, U2(SHUFFLE, 1, FMA, 1), .src0_late = 3),
};
/* Scalar to integer (IL64: 13, Golden Cove 12 cycles with the way back). */
static const PmuTimingRow cvt_to_int[] = {
    C(GLC, 5, U2(P0, 1, FMA, 1)),
    C(0, 6, U2(P0, 1, FMA, 1)),
};
static const PmuTimingRow cvt_mmx[] = {
    C(LOAD, 4, U(FMA)),
    C(GLC, 5, U2(P0, 1, P5, 1)),
    C(0, 6, U2(P0, 1, P5, 1)),
};
static const PmuTimingRow cvt_ps_mmx[] = {
    C(LOAD, 4, U(FMA)),
    C(GLC, 6, U2(P0, 1, P5, 1)),
    C(0, 7, U2(P0, 1, P5, 1)),
};

static const PmuTimingRow psadbw[] = { C(0, 3, U(SHUFFLE)) };
static const PmuTimingRow mpsadbw[] = {
    C(0, 5, U2(SHUFFLE, 1, SHUFFLE2, 1)),
};
static const PmuTimingRow phmin[] = { C(0, 4, U(P0)) };
static const PmuTimingRow phadd[] = {
    C(MMX, 3, U2(SHUFFLE, 2, P05, 1)),
    C(0, 2, U2(SHUFFLE2, 2, VEC, 1)),
};
static const PmuTimingRow ptest[] = { C(0, 4, U2(P0, 1, SHUFFLE, 1)) };
static const PmuTimingRow vtest[] = { C(0, 3, U(P0)) };

/*
 * A gather of @n loads: one for each element and, by the rates (IL64), one or
 * two more.  @l is the latency from the index to the result; the destination is
 * merged last.  Slots: Agner Fog, Skylake-X.
 */
#define GATHER(f, l, n)                                                 \
    C(f, l, U3(P0, 1, LOAD, (n) - 1, SHUFFLE, 1), .slots = 4,           \
      .src0_late = (l) - 1)
static const PmuTimingRow gather2[] = {
    GATHER(GLC | YMM, 18, 6),
    GATHER(YMM, 15, 6),
    GATHER(GLC, 15, 4),
    GATHER(0, 13, 4),
};
static const PmuTimingRow gather4[] = {
    GATHER(GLC | YMM, 19, 9),
    GATHER(YMM, 17, 10),
    GATHER(GLC, 17, 6),
    GATHER(0, 15, 6),
};

static const PmuTimingRow aes[] = { C(0, 3, U(P01)) };
static const PmuTimingRow aesimc[] = { C(0, 6, UN(2, P01)) };
static const PmuTimingRow aeskey[] = {
    C(GLC, 13, U2(P0, 6, P5, 7), .slots = 13, HOLDS(SYSTEM, 13)),
    C(0, 12, U2(P0, 6, P5, 7), .slots = 13, HOLDS(SYSTEM, 12)),
};
static const PmuTimingRow pclmul[] = {
    C(GLC, 3, U(SHUFFLE)),
    C(0, 6, U(SHUFFLE)),
};
/* SHA: a micro-op keeps p5 busy for more than a cycle (IL64). */
static const PmuTimingRow sha1rnds4[] = {
    C(GLC, 4, UN(3, SHUFFLE), .slots = 1),
    C(0, 6, UN(3, SHUFFLE), .slots = 1),
};

/* IL64: one per cycle. */
static const PmuTimingRow vzeroupper[] = {
    C(0, 0, U(ALU), .slots = 4, HOLDS(SYSTEM, 1)),
};

#define VEC(n)          PLAIN(n, RW, vec)
#define VEC_ZERO(n)     PLAIN(n, RW, vec, .traits = PMU_TRAIT_ZERO)
#define V01(n)          PLAIN(n, RW, vec01)
#define V01_UN(n)       PLAIN(n, W, vec01)
#define V01_ZERO(n)     PLAIN(n, RW, vec01, .traits = PMU_TRAIT_ZERO)
#define V01_ONES(n)     PLAIN(n, RW, vec01, .traits = PMU_TRAIT_ONES)
#define VSHIFT(n)       PLAIN(n, RW, vec_shift)
#define VMUL(n)         PLAIN(n, RW, vec_mul)
#define SHUF(n)         PLAIN(n, RW, shuffle)
#define SHUF2(n)        PLAIN(n, RW, shuffle2)
#define SHUF2_UN(n)     PLAIN(n, W, shuffle2)
#define WIDEN(n)        PLAIN(n, W, widen)
#define FADD(n)         PLAIN(n, RW, fadd)
#define FMA(n)          PLAIN(n, RW, fma)
#define SIMD_MOVE(n)    PLAIN(n, W, mov_vec, .traits = PMU_TRAIT_ELIM_SIMD)
#define STREAM(n)       PLAIN(n, W, mov_vec, .flags = PMU_INSN_STREAMING)
#define FCOMI(n, m)     PLAIN(n, R, fcomi, .traits = FL_W, .memory = m)
#define HALF(n, c)      PLAIN(n, RW, c, .traits = PMU_TRAIT_KEEPS_HALF)
#define GATHERS(n, c)   ROW(n, RW, GATHER, c, .traits = PMU_TRAIT_VEX_RW)

static const PmuInsnRow rows[] = {
    /* Moves. */
    SIMD_MOVE("movaps"), SIMD_MOVE("movapd"), SIMD_MOVE("movups"),
    SIMD_MOVE("movupd"), SIMD_MOVE("movdqa"), SIMD_MOVE("movdqu"),
    PLAIN("lddqu", W, mov_vec), PLAIN("movntdqa", W, mov_vec),
    STREAM("movntdq"), STREAM("movntps"), STREAM("movntpd"),
    STREAM("movntq"),
    PLAIN("movq", W, movd), PLAIN("movd", W, movd),
    PLAIN("movss", W, mov_vec, .traits = PMU_TRAIT_MERGE),
    /* A string instruction has this name too: the opcode tells them apart. */
    PLAIN("movsd", W, mov_vec, .traits = PMU_TRAIT_MERGE),
    HALF("movlps", movlps), HALF("movlpd", movlps),
    HALF("movhps", movhps), HALF("movhpd", movhps),
    SHUF("movhlps"), SHUF("movlhps"),
    PLAIN("movddup", W, duplicate), PLAIN("movshdup", W, duplicate2),
    PLAIN("movsldup", W, duplicate2),
    PLAIN("movmskps", W, movmsk), PLAIN("movmskpd", W, movmsk),
    PLAIN("pmovmskb", W, movmsk),
    PLAIN("movdq2q", W, movdq2q), PLAIN("movq2dq", W, movdq2q),
    ROW("maskmovq", R, MASKMOV, maskmovq),
    ROW("maskmovdqu", R, MASKMOV, maskmovq),
    /*
     * Taken to access one element, as the mask is not known.  Stores across
     * lines are no slower (IL64).
     */
    PLAIN("vmaskmovps", W, maskmov, .memory = 4),
    PLAIN("vmaskmovpd", W, maskmov, .memory = 8),
    PLAIN("vpmaskmovd", W, maskmov, .memory = 4),
    PLAIN("vpmaskmovq", W, maskmov, .memory = 8),
    PLAIN("emms", NONE, PMU_TIMINGS(MICROCODE(0, 10, 1, 7))),
    PLAIN("vzeroupper", NONE, vzeroupper),
    PLAIN("vzeroall", NONE, PMU_TIMINGS(MICROCODE(GLC, 20, 1, 16),
                                        MICROCODE(0, 20, 1, 11))),

    /* Floating-point arithmetic. */
    FADD("addps"), FADD("addpd"), FADD("addss"), FADD("addsd"),
    FADD("subps"), FADD("subpd"), FADD("subss"), FADD("subsd"),
    FADD("addsubps"), FADD("addsubpd"),
    FMA("mulps"), FMA("mulpd"), FMA("mulss"), FMA("mulsd"),
    /* All of FMA3: vfmadd..., vfmsub..., vfnmadd... and vfnmsub... */
    PLAIN("vfma", RW, fma, .traits = PMU_TRAIT_VEX_RW),
    FMA("minps"), FMA("minpd"), FMA("minss"), FMA("minsd"),
    FMA("maxps"), FMA("maxpd"), FMA("maxss"), FMA("maxsd"),
    FMA("cmpps"), FMA("cmppd"), FMA("cmpss"),
    /* A string instruction has this name too: the opcode tells them apart. */
    FMA("cmpsd"),
    FCOMI("comiss", 4), FCOMI("comisd", 8), FCOMI("ucomiss", 4),
    FCOMI("ucomisd", 8),
    PLAIN("divps", RW, divps), PLAIN("divpd", RW, divpd),
    PLAIN("divss", RW, divps), PLAIN("divsd", RW, divpd),
    PLAIN("sqrtps", W, sqrtps), PLAIN("sqrtpd", W, sqrtpd),
    PLAIN("sqrtss", RW, sqrtps), PLAIN("sqrtsd", RW, sqrtpd),
    PLAIN("rcpps", W, rcp), PLAIN("rsqrtps", W, rcp),
    PLAIN("rcpss", RW, rcp), PLAIN("rsqrtss", RW, rcp),
    PLAIN("roundps", W, rounding), PLAIN("roundpd", W, rounding),
    PLAIN("roundss", RW, rounding), PLAIN("roundsd", RW, rounding),
    PLAIN("haddps", RW, hadd), PLAIN("haddpd", RW, hadd),
    PLAIN("hsubps", RW, hadd), PLAIN("hsubpd", RW, hadd),
    PLAIN("dpps", RW, dpps), PLAIN("dppd", RW, dppd),

    /* Conversions. */
    PLAIN("cvtdq2ps", W, cvt), PLAIN("cvtps2dq", W, cvt),
    PLAIN("cvttps2dq", W, cvt),
    PLAIN("cvtdq2pd", W, cvt_widen), PLAIN("cvtps2pd", W, cvt_widen),
    PLAIN("cvtpd2dq", W, cvt_size), PLAIN("cvttpd2dq", W, cvt_size),
    PLAIN("cvtpd2ps", W, cvt_size),
    PLAIN("cvtss2sd", RW, cvtss2sd), PLAIN("cvtsd2ss", RW, cvtsd2ss),
    PLAIN("cvtsi2ss", RW, cvtsi2ss), PLAIN("cvtsi2sd", RW, cvt_from_int),
    PLAIN("cvtss2si", W, cvt_to_int), PLAIN("cvtsd2si", W, cvt_to_int),
    PLAIN("cvttss2si", W, cvt_to_int), PLAIN("cvttsd2si", W, cvt_to_int),
    PLAIN("cvtpi2ps", RW, cvt_ps_mmx), PLAIN("cvtpi2pd", W, cvt_mmx),
    PLAIN("cvtps2pi", W, cvt_ps_mmx), PLAIN("cvttps2pi", W, cvt_ps_mmx),
    PLAIN("cvtpd2pi", W, cvt_mmx), PLAIN("cvttpd2pi", W, cvt_mmx),
    PLAIN("vcvtph2ps", W, cvt_widen), PLAIN("vcvtps2ph", W, cvt_half),

    /* Logic and integer arithmetic. */
    VEC("andps"), VEC("andpd"), VEC("andnps"), VEC("andnpd"),
    VEC("orps"), VEC("orpd"), VEC_ZERO("xorps"), VEC_ZERO("xorpd"),
    VEC("pand"), VEC("pandn"), VEC("por"), VEC_ZERO("pxor"),
    VEC("paddb"), VEC("paddw"), VEC("paddd"), VEC("paddq"),
    V01("paddsb"), V01("paddsw"), V01("paddusb"), V01("paddusw"),
    VEC_ZERO("psubb"), VEC_ZERO("psubw"), VEC_ZERO("psubd"),
    VEC_ZERO("psubq"), V01_ZERO("psubsb"), V01_ZERO("psubsw"),
    V01_ZERO("psubusb"), V01_ZERO("psubusw"), V01("pavgb"), V01("pavgw"),
    V01_UN("pabsb"), V01_UN("pabsw"), V01_UN("pabsd"),
    V01("psignb"), V01("psignw"), V01("psignd"),
    V01("pmaxsb"), V01("pmaxsw"), V01("pmaxsd"), V01("pmaxub"),
    V01("pmaxuw"), V01("pmaxud"), V01("pminsb"), V01("pminsw"),
    V01("pminsd"), V01("pminub"), V01("pminuw"), V01("pminud"),
    V01_ONES("pcmpeqb"), V01_ONES("pcmpeqw"), V01_ONES("pcmpeqd"),
    V01_ONES("pcmpeqq"), V01_ZERO("pcmpgtb"), V01_ZERO("pcmpgtw"),
    V01_ZERO("pcmpgtd"),
    PLAIN("pcmpgtq", RW, cross, .traits = PMU_TRAIT_ZERO),
    VSHIFT("psllw"), VSHIFT("pslld"), VSHIFT("psllq"), VSHIFT("psrlw"),
    VSHIFT("psrld"), VSHIFT("psrlq"), VSHIFT("psraw"), VSHIFT("psrad"),
    PLAIN("vpsllvd", W, vec_shiftv), PLAIN("vpsllvq", W, vec_shiftv),
    PLAIN("vpsrlvd", W, vec_shiftv), PLAIN("vpsrlvq", W, vec_shiftv),
    PLAIN("vpsravd", W, vec_shiftv),
    VMUL("pmullw"), VMUL("pmulhw"), VMUL("pmulhuw"), VMUL("pmulhrsw"),
    VMUL("pmuludq"), VMUL("pmuldq"), VMUL("pmaddwd"), VMUL("pmaddubsw"),
    PLAIN("pmulld", RW, pmulld),
    PLAIN("psadbw", RW, psadbw), PLAIN("mpsadbw", RW, mpsadbw),
    PLAIN("phminposuw", W, phmin),
    PLAIN("phaddw", RW, phadd), PLAIN("phaddd", RW, phadd),
    PLAIN("phaddsw", RW, phadd), PLAIN("phsubw", RW, phadd),
    PLAIN("phsubd", RW, phadd), PLAIN("phsubsw", RW, phadd),
    PLAIN("ptest", R, ptest, .traits = FL_W),
    PLAIN("vtestps", R, vtest, .traits = FL_W),
    PLAIN("vtestpd", R, vtest, .traits = FL_W),

    /* Shuffles and blends. */
    PLAIN("pshufb", RW, pshufb), SHUF2_UN("pshufw"), SHUF2_UN("pshufd"),
    SHUF2_UN("pshufhw"), SHUF2_UN("pshuflw"), SHUF2("shufps"),
    SHUF2("shufpd"), SHUF("palignr"),
    SHUF2("punpcklbw"), SHUF2("punpcklwd"), SHUF2("punpckldq"),
    SHUF2("punpcklqdq"), SHUF2("punpckhbw"), SHUF2("punpckhwd"),
    SHUF2("punpckhdq"), SHUF2("punpckhqdq"), SHUF("unpcklps"),
    SHUF("unpcklpd"), SHUF("unpckhps"), SHUF("unpckhpd"),
    PLAIN("packsswb", RW, pack), PLAIN("packssdw", RW, pack),
    PLAIN("packuswb", RW, pack), PLAIN("packusdw", RW, pack),
    SHUF2("pslldq"), SHUF2("psrldq"), SHUF("insertps"),
    PLAIN("vpermilps", W, shuffle), PLAIN("vpermilpd", W, shuffle),
    PLAIN("pblendw", RW, blendw),
    VEC("blendps"), VEC("blendpd"), VEC("vpblendd"),
    PLAIN("pblendvb", RW, blendv),
    PLAIN("blendvps", RW, blendv), PLAIN("blendvpd", RW, blendv),
    WIDEN("pmovsxbw"), WIDEN("pmovsxbd"), WIDEN("pmovsxbq"),
    WIDEN("pmovsxwd"), WIDEN("pmovsxwq"), WIDEN("pmovsxdq"),
    WIDEN("pmovzxbw"), WIDEN("pmovzxbd"), WIDEN("pmovzxbq"),
    WIDEN("pmovzxwd"), WIDEN("pmovzxwq"), WIDEN("pmovzxdq"),
    PLAIN("vpbroadcastb", W, broadcast_small),
    PLAIN("vpbroadcastw", W, broadcast_small),
    PLAIN("vpbroadcastd", W, broadcast), PLAIN("vpbroadcastq", W, broadcast),
    PLAIN("vbroadcastss", W, broadcast), PLAIN("vbroadcastsd", W, broadcast),
    PLAIN("vbroadcastf128", W, broadcast),
    PLAIN("vbroadcasti128", W, broadcast),
    PLAIN("vpermd", W, cross), PLAIN("vpermps", W, cross),
    PLAIN("vpermq", W, cross), PLAIN("vpermpd", W, cross),
    PLAIN("vperm2f128", W, cross), PLAIN("vperm2i128", W, cross),
    PLAIN("vextractf128", W, extract128),
    PLAIN("vextracti128", W, extract128),
    PLAIN("vinsertf128", W, insert128), PLAIN("vinserti128", W, insert128),
    PLAIN("pinsrb", RW, pinsr), PLAIN("pinsrw", RW, pinsr),
    PLAIN("pinsrd", RW, pinsr), PLAIN("pinsrq", RW, pinsr),
    PLAIN("pextrb", W, pextr), PLAIN("pextrw", W, pextr),
    PLAIN("pextrd", W, pextr), PLAIN("pextrq", W, pextr),
    PLAIN("extractps", W, pextr),
    GATHERS("vgatherdps", gather4), GATHERS("vgatherdpd", gather2),
    GATHERS("vgatherqps", gather2), GATHERS("vgatherqpd", gather2),
    GATHERS("vpgatherdd", gather4), GATHERS("vpgatherdq", gather2),
    GATHERS("vpgatherqd", gather2), GATHERS("vpgatherqq", gather2),

    /* Cryptography and text. */
    PLAIN("aesenc", RW, aes), PLAIN("aesenclast", RW, aes),
    PLAIN("aesdec", RW, aes), PLAIN("aesdeclast", RW, aes),
    PLAIN("aesimc", W, aesimc), PLAIN("aeskeygenassist", W, aeskey),
    PLAIN("pclmulqdq", RW, pclmul),
    PLAIN("sha1msg1", RW, PMU_TIMINGS(C(0, 2, UN(2, P15)))),
    PLAIN("sha1msg2", RW, PMU_TIMINGS(C(0, 6, U2(SHUFFLE, 4, VEC, 3)))),
    PLAIN("sha1nexte", RW, PMU_TIMINGS(C(GLC, 3, U2(SHUFFLE, 1, VEC, 1)),
                                       C(0, 2, U2(SHUFFLE, 1, VEC, 1)))),
    PLAIN("sha1rnds4", RW, sha1rnds4),
    PLAIN("sha256msg1", RW, PMU_TIMINGS(C(0, 5, U2(SHUFFLE, 4, VEC, 2)))),
    PLAIN("sha256msg2", RW, PMU_TIMINGS(C(0, 11, U2(SHUFFLE, 5, VEC, 3)))),
    PLAIN("sha256rnds2", RW, PMU_TIMINGS(C(0, 4, UN(3, SHUFFLE), .slots = 1))),
    PLAIN("pcmpestri", R,
          PMU_TIMINGS(C(0, 16, U3(P0, 4, SHUFFLE, 1, ALU, 3))),
          .traits = FL_W, .reads = RAX | RDX, .writes = RCX),
    PLAIN("pcmpestrm", R,
          PMU_TIMINGS(C(0, 17, U3(P0, 5, SHUFFLE, 1, ALU, 3))),
          .traits = FL_W, .reads = RAX | RDX),
    PLAIN("pcmpistri", R, PMU_TIMINGS(C(0, 10, UN(3, P0))), .traits = FL_W,
          .writes = RCX),
    PLAIN("pcmpistrm", R, PMU_TIMINGS(C(0, 10, UN(3, P0))), .traits = FL_W),
};

const PmuInsnRows pmu_insn_table_vector = { rows, G_N_ELEMENTS(rows) };
