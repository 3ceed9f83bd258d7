/*
 * The instruction table: what each mnemonic reads, writes and costs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Translation time, below the line: data.
 */

#ifndef TARGET_I386_PMU_UOPS_TABLE_H
#define TARGET_I386_PMU_UOPS_TABLE_H

#include "uops.h"

/* How an instruction uses its explicit operands. */
typedef enum PmuAccess {
    PMU_ACCESS_NONE,            /* not at all: an address at most */
    PMU_ACCESS_R,               /* reads all */
    PMU_ACCESS_W,               /* writes the first, reads the others */
    PMU_ACCESS_RW,              /* also reads the first */
    PMU_ACCESS_W2,              /* writes the first two, reads the others */
    PMU_ACCESS_RW2,             /* reads and writes the first two */
} PmuAccess;

/* Instructions that need more than their row says. */
typedef enum PmuKind {
    PMU_KIND_PLAIN,
    PMU_KIND_LEA,
    PMU_KIND_PREFETCH,
    PMU_KIND_MUL,               /* one-operand form has implicit ones */
    PMU_KIND_DIV,
    PMU_KIND_SHIFT,             /* the count in CL costs extra */
    PMU_KIND_XCHG,              /* locked with memory */
    PMU_KIND_PUSH,
    PMU_KIND_POP,
    PMU_KIND_LEAVE,
    PMU_KIND_JCC,
    PMU_KIND_JMP,
    PMU_KIND_CALL,
    PMU_KIND_RET,
    PMU_KIND_FAR,
    PMU_KIND_STRING,
    PMU_KIND_X87,               /* the register stack is one register */
    PMU_KIND_GATHER,            /* more loads than one */
} PmuKind;

/* PmuUopsRow.traits */
#define PMU_TRAIT_MOVE          (1u << 0)   /* to or from memory: no uop more */
#define PMU_TRAIT_ELIM_SIMD     (1u << 1)   /* register move, eliminated */
#define PMU_TRAIT_ELIM_GPR      (1u << 2)   /* the same where GPR ones are */
#define PMU_TRAIT_ZERO          (1u << 3)   /* zero if both sources agree */
#define PMU_TRAIT_ONES          (1u << 4)   /* ones if both sources agree */
#define PMU_TRAIT_LANE          (1u << 5)   /* 256 bits: 3 cycles (p5) */
#define PMU_TRAIT_MERGE         (1u << 6)   /* from a register: keeps part of
                                               the destination */
#define PMU_TRAIT_VEX_RW        (1u << 7)   /* VEX form reads the first, too */
#define PMU_TRAIT_FLAGS_R       (1u << 8)
#define PMU_TRAIT_FLAGS_W       (1u << 9)
#define PMU_TRAIT_FUSES         (1u << 10)  /* see PmuUopsRow.fuse */
#define PMU_TRAIT_WIDE_SLOW     (1u << 11)  /* 256 bits: twice the occupancy */

typedef struct PmuUopsRow {
    const char *name;           /* mnemonic without prefixes */
    uint8_t access;             /* PmuAccess */
    uint8_t kind;               /* PmuKind */
    uint8_t slots;              /* of the register form */
    uint8_t latency[PMU_CORE_NR];
    uint8_t unit;               /* PmuUnit */
    uint8_t fuse;               /* PMU_FUSE_x it can do as the first */
    uint8_t memory;             /* bytes, where Capstone is wrong, or 0 */
    uint16_t traits;
    uint16_t occupancy;         /* 1/16 cycles, 0: as one uop of the unit */
    uint16_t reads, writes;     /* implicit GPR, bit n is register n */
    uint32_t flags;             /* PMU_INSN_x that always hold */
} PmuUopsRow;

/*
 * The row of mnemonic @name, or NULL.  A VEX form without a row of its own
 * has that of the legacy form.
 */
const PmuUopsRow *pmu_uops_row(const char *name);

/* Row @index of the table for self-checks, NULL past the end. */
const PmuUopsRow *pmu_uops_row_at(unsigned index);

#endif
