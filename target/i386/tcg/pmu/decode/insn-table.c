/*
 * The instruction table: lookup by mnemonic.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The rows are in insn-table-integer.c, insn-table-system.c,
 * insn-table-vector.c and insn-table-x87.c.
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/decode/insn-table.h"

static const PmuInsnRows *const parts[] = {
    &pmu_insn_table_integer, &pmu_insn_table_system, &pmu_insn_table_vector,
        &pmu_insn_table_x87,
};

/* Is @name one of the 60 mnemonics of FMA3, which share a row? */
static bool is_fma3(const char *name)
{
    static const char *const stems[] = { "vfmadd", "vfmsub", "vfnmadd",
                                         "vfnmsub" };

    for (size_t i = 0; i < G_N_ELEMENTS(stems); i++) {
        if (g_str_has_prefix(name, stems[i]) && strpbrk(name, "123")) {
            return true;
        }
    }
    return false;
}

/* The mnemonic without a predicate of CMPccPS and the like, or NULL. */
static const char *fp_compare(const char *name)
{
    static const char *const suffixes[] = { "ps", "pd", "ss", "sd" };
    static const char *const bases[] = { "cmpps", "cmppd", "cmpss", "cmpsd" };

    if (!g_str_has_prefix(name, "cmp")) {
        return NULL;
    }
    for (size_t i = 0; i < G_N_ELEMENTS(suffixes); i++) {
        if (g_str_has_suffix(name, suffixes[i])) {
            return bases[i];
        }
    }
    return NULL;
}

static const PmuInsnRow *exact_row(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        for (unsigned j = 0; j < parts[i]->count; j++) {
            if (!strcmp(parts[i]->rows[j].name, name)) {
                return &parts[i]->rows[j];
            }
        }
    }
    return NULL;
}

const PmuInsnRow *pmu_insn_table_find(const char *name)
{
    const PmuInsnRow *row = exact_row(is_fma3(name) ? "vfma" : name);
    const char *legacy = name[0] == 'v' ? name + 1 : name;

    if (!row) {
        row = exact_row(legacy);
    }
    if (!row && fp_compare(legacy)) {
        row = exact_row(fp_compare(legacy));
    }
    return row;
}

const PmuInsnRow *pmu_insn_table_row(unsigned index)
{
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        if (index < parts[i]->count) {
            return &parts[i]->rows[index];
        }
        index -= parts[i]->count;
    }
    return NULL;
}
