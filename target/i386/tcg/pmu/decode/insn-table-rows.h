/*
 * Shorthand for the rows of the instruction table.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Only the files that hold the rows include it.
 */

#ifndef TARGET_I386_PMU_DECODE_INSN_TABLE_ROWS_H
#define TARGET_I386_PMU_DECODE_INSN_TABLE_ROWS_H

#include "tcg/pmu/decode/insn-table.h"

/* The timing rows of a single mnemonic. */
#define PMU_TIMINGS(...) ((const PmuTimingRow[]) { __VA_ARGS__ })
/* Compute micro-ops: PMU_UNIT_x, and how many of them. */
#define U(u)            .compute = { { PMU_UNIT_##u, 1 } }
#define UN(n, u)        .compute = { { PMU_UNIT_##u, n } }
#define U2(u, n, u2, n2)                                                \
    .compute = { { PMU_UNIT_##u, n }, { PMU_UNIT_##u2, n2 } }
#define U3(u, n, u2, n2, u3, n3)                                        \
    .compute = { { PMU_UNIT_##u, n }, { PMU_UNIT_##u2, n2 },            \
                 { PMU_UNIT_##u3, n3 } }
#define NO_UOP          .compute = {}
/* A timing row: form, latency, then the micro-ops and what else it needs. */
#define C(f, l, ...)    { .form = (f), .latency = l, __VA_ARGS__ }
/* The resource that a row holds, and the cycles it does. */
#define HOLDS(r, c)     .resource = PMU_RESOURCE_##r, .hold = c

#define SNC     PMU_FORM_SNC
#define GLC     PMU_FORM_GLC
#define F8      PMU_FORM_8
#define F16     PMU_FORM_16
#define F32     PMU_FORM_32
#define F64     PMU_FORM_64
#define MMX     PMU_FORM_MMX
#define XMM     PMU_FORM_XMM
#define YMM     PMU_FORM_YMM
#define LOAD    PMU_FORM_LOAD
#define STORE   PMU_FORM_STORE
#define IMM     PMU_FORM_IMM
#define BY_CL   PMU_FORM_CL
#define BY_1    PMU_FORM_BY_1
#define ONE_OP  PMU_FORM_ONE
#define SAME    PMU_FORM_SAME
#define ACC     PMU_FORM_ACC
#define TO_GPR  PMU_FORM_GPR_DST
#define FROM_GPR PMU_FORM_GPR_SRC
#define VEX     PMU_FORM_VEX
#define SCALED  PMU_FORM_SCALED
#define ABSOLUTE PMU_FORM_ABSOLUTE
#define HIGH    PMU_FORM_HIGH
#define F80     PMU_FORM_80
#define LOCK    PMU_FORM_LOCK

/* The implicit registers of a row. */
#define REGS(n)         (1u << (n))
#define RAX             REGS(0)
#define RCX             REGS(1)
#define RDX             REGS(2)
#define RBX             REGS(3)
#define RSP             REGS(4)
#define RBP             REGS(5)

#define CF_R            PMU_TRAIT_CF_R
#define CF_W            PMU_TRAIT_CF_W
#define SPAZO_R         PMU_TRAIT_SPAZO_R
#define SPAZO_W         PMU_TRAIT_SPAZO_W
#define FL_R            (CF_R | SPAZO_R)
#define FL_W            (CF_W | SPAZO_W)
#define ENDS            PMU_TRAIT_ENDS_REGION

/* A row of the table: mnemonic, access, kind, timing rows, the rest by name. */
#define ROW(n, a, k, c, ...)                                            \
    { .name = n, .access = PMU_OPERANDS_##a, .kind = PMU_KIND_##k,      \
      .timing = c, __VA_ARGS__ }
#define PLAIN(n, a, c, ...)     ROW(n, a, PLAIN, c, __VA_ARGS__)

/* Microcode of @s slots, latency @l, that keeps the core busy @h cycles. */
#define MICROCODE(f, s, l, h) \
    C(f, l, UN(s, ALU), .slots = s, HOLDS(SYSTEM, h))

#endif
