/*
 * Which row of the instruction table an instruction has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_ROW_LOOKUP_H
#define TARGET_I386_PMU_DECODE_ROW_LOOKUP_H

#include "tcg/pmu/decode/disassembler.h"
#include "tcg/pmu/decode/insn-builder.h"

/* Rows that opcodes tell, whatever Capstone says: see row-lookup.c. */
#define PMU_MISNAMED_ROWS   9
#define PMU_STRING_ROWS     (0xaf - 0x6c + 1)

/* Rows found so far: the table is searched by name only once for each. */
typedef struct PmuRowLookup {
    /* By Capstone's number; filled in as instructions turn up. */
    const PmuInsnRow *row[X86_INS_ENDING];
    bool known[X86_INS_ENDING];
    const PmuInsnRow *misnamed[PMU_MISNAMED_ROWS];
    const PmuInsnRow *string[PMU_STRING_ROWS];
    uint64_t disagreed;         /* see pmu_row_lookup_find() */
} PmuRowLookup;

void pmu_row_lookup_init(PmuRowLookup *lookup);

/*
 * The row of the instruction of @b, whose operands go to @b->x86, or NULL if it
 * is not known.  Nor is it if Capstone's row is of an instruction that the
 * emulator executes as something else: @lookup->disagreed counts these.  What
 * is a near branch follows from the opcode alone, since retired branches are
 * counted exactly: 66 E9 is one to the emulator, of which Capstone finds
 * another length.
 */
const PmuInsnRow *pmu_row_lookup_find(PmuRowLookup *lookup,
                                      PmuDisassembler *disassembler,
                                      PmuInsnBuilder *b);

#endif
