/*
 * Lookup of the row that an instruction has in the instruction table.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_DECODE_ROW_LOOKUP_H
#define TARGET_I386_PMU_DECODE_ROW_LOOKUP_H

#include "tcg/pmu/decode/disassembler.h"
#include "tcg/pmu/decode/insn-builder.h"

/* Rows that follow from the opcode, whatever Capstone says: row-lookup.c. */
#define PMU_MISNAMED_ROWS   9
#define PMU_STRING_ROWS     (0xaf - 0x6c + 1)

/* Rows found so far: the table is searched by name only once for each. */
typedef struct PmuRowLookup {
    /* By X86_INS_x; valid if @known, once such an instruction turned up. */
    const PmuInsnRow *row[X86_INS_ENDING];
    bool known[X86_INS_ENDING];
    const PmuInsnRow *misnamed[PMU_MISNAMED_ROWS];
    const PmuInsnRow *string[PMU_STRING_ROWS];
    uint64_t disagreed;         /* see pmu_row_lookup_find() */
} PmuRowLookup;

void pmu_row_lookup_init(PmuRowLookup *lookup);

/*
 * Returns the row of the instruction of @b, and has @b->x86 point to its
 * operands.  NULL if Capstone does not know it or finds another length, or if
 * the emulator executes it as something else: @lookup->disagreed counts these.
 * Which instructions are near branches follows from the opcode alone, since
 * retired branches are counted exactly.  For example, 66 E9 is one to the
 * emulator, but Capstone finds another length.
 */
const PmuInsnRow *pmu_row_lookup_find(PmuRowLookup *lookup,
                                      PmuDisassembler *disassembler,
                                      PmuInsnBuilder *b);

#endif
