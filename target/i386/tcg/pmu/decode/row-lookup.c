/*
 * Lookup of the row that an instruction has in the instruction table.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Capstone names the instruction.  The place of the opcode and the prefixes
 * come from the emulator (PmuEncoding), which settles what Capstone gets wrong:
 * it confuses the string instructions MOVSD and CMPSD with their SSE namesakes,
 * and RDPID with RDSEED, and does not know the shadow stack's hints.
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/decode/row-lookup.h"

/* Instructions that one version of Capstone or the other misnames. */
typedef struct Misnamed {
    bool rep;                   /* only with a mandatory F3 prefix */
    uint8_t opcode_length;
    uint8_t opcode[2];
    uint8_t modrm_mask, modrm;
    const char *name;
} Misnamed;

#define MISNAMED_CMPPS 8

static const Misnamed misnamed[] = {
    /* RDPID r: taken for RDSEED. */
    { true, 2, { 0x0f, 0xc7 }, 0xf8, 0xf8, "rdpid" },
    /* RDSSP r without shadow stacks, and ENDBR: hint NOPs. */
    { true, 2, { 0x0f, 0x1e }, 0xc0, 0xc0, "nop" },
    /* RDPKRU and WRPKRU: not known. */
    { false, 2, { 0x0f, 0x01 }, 0xff, 0xee, "rdpkru" },
    { false, 2, { 0x0f, 0x01 }, 0xff, 0xef, "wrpkru" },
    /* UD0 and UD1 by any name, with or without operands. */
    { false, 2, { 0x0f, 0xb9 }, 0, 0, "ud2" },
    { false, 2, { 0x0f, 0xff }, 0, 0, "ud2" },
    /* Far JMP and CALL through memory: taken for near ones. */
    { false, 1, { 0xff }, 0x38, 0x28, "ljmp" },
    { false, 1, { 0xff }, 0x38, 0x18, "lcall" },
    /* CMPPS and so on: taken for the string instruction, or VCMP for CMP. */
    [MISNAMED_CMPPS] = { false, 2, { 0x0f, 0xc2 }, 0, 0, "cmpps" },
};

/* String instructions by their one-byte opcodes. */
#define STRING_FIRST    0x6c

static const char *const string_names[] = {
    "insb", "insd", "outsb", "outsd",
    [0xa4 - STRING_FIRST] = "movsb", "movsq", "cmpsb", "cmpsq",
    [0xaa - STRING_FIRST] = "stosb", "stosq", "lodsb", "lodsq", "scasb",
                            "scasq",
};

G_STATIC_ASSERT(G_N_ELEMENTS(misnamed) == PMU_MISNAMED_ROWS);
G_STATIC_ASSERT(G_N_ELEMENTS(string_names) == PMU_STRING_ROWS);

/* Near branches by opcode, used where Capstone finds another length. */
typedef struct NearBranch {
    uint8_t first, last;        /* opcode byte, the second one after 0FH */
    bool escaped;               /* 0FH comes first */
    const char *name;
} NearBranch;

static const NearBranch near_branches[] = {
    { 0x70, 0x7f, false, "je" },
    { 0x80, 0x8f, true, "je" },
    { 0xc2, 0xc3, false, "ret" },
    { 0xe0, 0xe1, false, "loope" },
    { 0xe2, 0xe2, false, "loop" },
    { 0xe3, 0xe3, false, "jrcxz" },
    { 0xe8, 0xe8, false, "call" },
    { 0xe9, 0xe9, false, "jmp" },
    { 0xeb, 0xeb, false, "jmp" },
};

/* The same for opcode FFH, by bits 5:3 of its ModRM byte. */
#define INDIRECT_CALL   2
#define INDIRECT_JMP    4

void pmu_row_lookup_init(PmuRowLookup *lookup)
{
    *lookup = (PmuRowLookup) {};
    for (size_t i = 0; i < G_N_ELEMENTS(misnamed); i++) {
        lookup->misnamed[i] = pmu_insn_table_find(misnamed[i].name);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(string_names); i++) {
        if (string_names[i]) {
            lookup->string[i] = pmu_insn_table_find(string_names[i]);
        }
    }
}

/* Is it the VEX form of 0FH @opcode? */
static bool is_vex_0f(const PmuInsnBuilder *b, uint8_t opcode)
{
    const uint8_t *vex = b->op;

    return pmu_builder_is_vex(b) && (vex[0] == 0xc5 ? vex[2] == opcode :
                      (vex[1] & 0x1f) == 1 && vex[3] == opcode);
}

/* Returns the row that follows from the opcode alone, or NULL. */
static const PmuInsnRow *corrected_row(const PmuRowLookup *lookup,
                                       const PmuInsnBuilder *b)
{
    unsigned left = b->enc->length - b->enc->opcode_offset;

    for (size_t i = 0; i < G_N_ELEMENTS(misnamed); i++) {
        const Misnamed *m = &misnamed[i];

        if ((!m->rep || pmu_builder_has_prefix(b, PMU_PREFIX_REP)) &&
            left > m->opcode_length &&
            !memcmp(b->op, m->opcode, m->opcode_length) &&
            (b->op[m->opcode_length] & m->modrm_mask) == m->modrm) {
            return lookup->misnamed[i];
        }
    }
    if (b->op[0] >= STRING_FIRST &&
        b->op[0] - STRING_FIRST < (int)G_N_ELEMENTS(string_names)) {
        return lookup->string[b->op[0] - STRING_FIRST];
    }
    return is_vex_0f(b, 0xc2) ? lookup->misnamed[MISNAMED_CMPPS] : NULL;
}

/* Returns the row of Capstone's instruction @id, or NULL. */
static const PmuInsnRow *row_of(PmuRowLookup *lookup,
                                const PmuDisassembler *disassembler,
                                unsigned id)
{
    const char *name;

    if (id >= X86_INS_ENDING) {
        return NULL;
    }
    if (!lookup->known[id]) {
        name = cs_insn_name(disassembler->handle, id);
        lookup->row[id] = name ? pmu_insn_table_find(name) : NULL;
        lookup->known[id] = true;
    }
    return lookup->row[id];
}

/* Returns the row that Capstone and opcode give, or NULL.  May set @b->x86. */
static const PmuInsnRow *named_row(PmuRowLookup *lookup,
                                   PmuDisassembler *disassembler,
                                   PmuInsnBuilder *b)
{
    const PmuInsnRow *corrected = corrected_row(lookup, b);
    const cs_insn *insn = pmu_disassemble(disassembler, b->enc->bytes,
                                          b->enc->length, 0, &b->widened);

    if (!insn || insn->size != b->enc->length) {
        b->widened = false;
        return corrected;
    }
    b->x86 = &insn->detail->x86;
    return corrected ? corrected : row_of(lookup, disassembler, insn->id);
}

static bool is_branch(const PmuInsnRow *row)
{
    return row->kind == PMU_KIND_JMP || row->kind == PMU_KIND_JCC ||
           row->kind == PMU_KIND_CALL || row->kind == PMU_KIND_RET;
}

/* Returns the row of the near branch that @b is by its opcode, or NULL. */
static const PmuInsnRow *branch_row(const PmuInsnBuilder *b)
{
    bool escaped = b->op[0] == 0x0f;
    uint8_t opcode = b->op[escaped];
    unsigned reg = b->op[1] >> 3 & 7;

    if (pmu_builder_is_vex(b)) {
        return NULL;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(near_branches); i++) {
        const NearBranch *branch = &near_branches[i];

        if (escaped == branch->escaped && opcode >= branch->first &&
            opcode <= branch->last) {
            return pmu_insn_table_find(branch->name);
        }
    }
    if (escaped || opcode != 0xff) {
        return NULL;
    }
    return reg == INDIRECT_CALL ? pmu_insn_table_find("call") :
           reg == INDIRECT_JMP ? pmu_insn_table_find("jmp") : NULL;
}

const PmuInsnRow *pmu_row_lookup_find(PmuRowLookup *lookup,
                                      PmuDisassembler *disassembler,
                                      PmuInsnBuilder *b)
{
    const PmuInsnRow *row, *branch;

    if (b->enc->opcode_offset >= b->enc->length) {
        return NULL;
    }
    row = named_row(lookup, disassembler, b);
    branch = b->enc->falls_through || b->enc->string ? NULL : branch_row(b);
    if (row && ((row->kind == PMU_KIND_STRING) != b->enc->string ||
                is_branch(row) != !!branch)) {
        lookup->disagreed += !branch;
        row = NULL;
    }
    return row ? row : branch;
}
