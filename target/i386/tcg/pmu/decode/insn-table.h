/*
 * The instruction table: what each mnemonic reads, writes and costs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_INSN_TABLE_H
#define TARGET_I386_PMU_DECODE_INSN_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "tcg/pmu/uarch/uarch.h"
#include "tcg/pmu/decode/insn.h"

/*
 * The form of an instruction: which core, and what its operands are.  A timing
 * row holds for the forms that have all of its bits.  The size is that of the
 * first general register operand; without one, of the memory source if there
 * are two operands, or else of the first operand.
 */
#define PMU_FORM_SNC        (1u << 0)   /* on Sunny Cove */
#define PMU_FORM_GLC        (1u << 1)   /* on Golden Cove */
#define PMU_FORM_8          (1u << 2)   /* size in bits, see above */
#define PMU_FORM_16         (1u << 3)
#define PMU_FORM_32         (1u << 4)
#define PMU_FORM_64         (1u << 5)
#define PMU_FORM_MMX        (1u << 6)   /* widest vector register */
#define PMU_FORM_XMM        (1u << 7)
#define PMU_FORM_YMM        (1u << 8)
#define PMU_FORM_LOAD       (1u << 9)   /* reads memory */
#define PMU_FORM_STORE      (1u << 10)  /* writes memory */
#define PMU_FORM_IMM        (1u << 11)  /* the last operand is immediate */
#define PMU_FORM_CL         (1u << 12)  /* shifts by CL */
#define PMU_FORM_BY_1       (1u << 13)  /* shifts by 1, opcodes D0 and D1 */
#define PMU_FORM_ONE        (1u << 14)  /* one operand */
#define PMU_FORM_SAME       (1u << 15)  /* the first two are one register */
#define PMU_FORM_ACC        (1u << 16)  /* short form: accumulator, immediate */
#define PMU_FORM_GPR_DST    (1u << 17)  /* the first operand is a GPR */
#define PMU_FORM_GPR_SRC    (1u << 18)  /* another operand is one */
#define PMU_FORM_VEX        (1u << 19)
#define PMU_FORM_SCALED     (1u << 20)  /* an index times 2, 4 or 8 */
#define PMU_FORM_ABSOLUTE   (1u << 21)  /* an address without registers */
#define PMU_FORM_HIGH       (1u << 22)  /* AH, BH, CH or DH */
#define PMU_FORM_80         (1u << 23)  /* ten bytes of memory */
#define PMU_FORM_LOCK       (1u << 24)

/*
 * A timing row: what instructions of some forms take.  Their fused-domain slots
 * are the micro-ops of @compute, one for a store, and one for a load that has
 * nothing to fuse with, unless @slots says otherwise.
 */
typedef struct PmuTimingRow {
    uint32_t form;              /* PMU_FORM_x that a form must have */
    uint8_t latency;            /* as in PmuInsn */
    uint8_t slots;              /* 0: that sum */
    uint8_t resource;           /* PmuResource */
    uint16_t hold;              /* cycles */
    uint8_t load_latency;       /* cycles on top of the width's */
    uint8_t flags_late;         /* src_late of the flags but CF */
    uint8_t src0_late;         /* src_late of the first source */
    uint8_t second_dst_late;    /* dst_late of the second destination */
    uint8_t bypass;             /* PmuBypass, of @compute */
    struct {
        uint8_t unit, count;    /* PmuUnit */
    } compute[PMU_INSN_COMPUTE];
} PmuTimingRow;

/* How an instruction uses its explicit operands. */
typedef enum PmuOperandUse {
    PMU_OPERANDS_NONE,          /* not at all: an address at most */
    PMU_OPERANDS_R,             /* reads all */
    PMU_OPERANDS_W,             /* writes the first, reads the others */
    PMU_OPERANDS_RW,            /* also reads the first */
    PMU_OPERANDS_W2,            /* writes the first two, reads the others */
    PMU_OPERANDS_RW2,           /* reads and writes the first two */
} PmuOperandUse;

/* Instructions that need more than their row says. */
typedef enum PmuKind {
    PMU_KIND_PLAIN,
    PMU_KIND_LEA,
    PMU_KIND_PREFETCH,
    PMU_KIND_MUL,               /* one-operand form has implicit ones */
    PMU_KIND_SHIFT,             /* a count of 0 in CL leaves flags alone */
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
    PMU_KIND_X87,               /* reads and writes the register stack */
    PMU_KIND_X87_LOAD,          /* writes its top */
    PMU_KIND_X87_USE,           /* only reads it: stores, compares */
    PMU_KIND_GATHER,            /* more loads than one */
    PMU_KIND_MASKMOV,           /* stores to [rDI] */
} PmuKind;

/* PmuInsnRow.traits; renaming eliminates the first three. */
#define PMU_TRAIT_ELIM_SIMD     (1u << 0)   /* vector move */
#define PMU_TRAIT_ELIM_GPR      (1u << 1)   /* move, if eliminates_gpr_moves */
#define PMU_TRAIT_ELIM_IMM      (1u << 2)   /* sum, if eliminates_constants */
#define PMU_TRAIT_ZERO          (1u << 3)   /* zero if sources are the same */
#define PMU_TRAIT_ONES          (1u << 4)   /* ones if sources are the same */
#define PMU_TRAIT_MERGE         (1u << 5)   /* from register to register: part
                                               of the destination stays */
#define PMU_TRAIT_KEEPS_HALF    (1u << 6)   /* to memory: it only writes */
#define PMU_TRAIT_CF_R          (1u << 7)
#define PMU_TRAIT_CF_W          (1u << 8)
#define PMU_TRAIT_SPAZO_R       (1u << 9)   /* the other flags */
#define PMU_TRAIT_SPAZO_W       (1u << 10)
#define PMU_TRAIT_FUSES         (1u << 11)  /* see PmuInsnRow.fuse */
#define PMU_TRAIT_VEX_RW        (1u << 12)  /* VEX form reads operand 0, too */
#define PMU_TRAIT_ENDS_REGION          (1u << 13) /* see PMU_INSN_ENDS_REGION */

typedef struct PmuInsnRow {
    const char *name;           /* mnemonic without prefixes */
    const PmuTimingRow *timing; /* the first row that fits holds; the last
                                   row always fits */
    uint8_t access;             /* PmuOperandUse */
    uint8_t kind;               /* PmuKind */
    uint8_t fuse;               /* PMU_FUSE_x it fuses with as the first */
    uint8_t memory;             /* its bytes where Capstone is wrong, or 0 */
    uint16_t traits;
    uint16_t reads, writes;     /* implicit GPR, bit n is register n */
    uint32_t flags;             /* PMU_INSN_x that always hold */
} PmuInsnRow;

/* A part of the table. */
typedef struct PmuInsnRows {
    const PmuInsnRow *rows;
    unsigned count;
} PmuInsnRows;

extern const PmuInsnRows pmu_insn_table_integer, pmu_insn_table_system,
    pmu_insn_table_vector,
                         pmu_insn_table_x87;

/*
 * Returns the row of mnemonic @name, or NULL.  A VEX form without a row of its
 * own has that of the legacy form.
 */
const PmuInsnRow *pmu_insn_table_find(const char *name);

/* For self-checks: returns row @index of the table, NULL past the end. */
const PmuInsnRow *pmu_insn_table_row(unsigned index);

#endif
