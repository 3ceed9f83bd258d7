/*
 * The instruction table: lookup by mnemonic.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Translation time, below the line.  The rows stand in uops-integer.c,
 * uops-system.c, uops-vector.c and uops-x87.c.
 */

#include <glib.h>
#include <string.h>

#include "uops-table.h"

static const PmuUopsPart *const parts[] = {
    &pmu_uops_integer, &pmu_uops_system, &pmu_uops_vector, &pmu_uops_x87,
};

/* FMA3 has 60 mnemonics and one set of figures. */
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

/* CMPccPS and the like: the predicate is part of the mnemonic. */
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

static const PmuUopsRow *exact_row(const char *name)
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

const PmuUopsRow *pmu_uops_row(const char *name)
{
    const PmuUopsRow *row = exact_row(is_fma3(name) ? "vfma" : name);
    const char *legacy = name[0] == 'v' ? name + 1 : name;

    if (!row) {
        row = exact_row(legacy);
    }
    if (!row && fp_compare(legacy)) {
        row = exact_row(fp_compare(legacy));
    }
    return row;
}

const PmuUopsRow *pmu_uops_row_at(unsigned index)
{
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++) {
        if (index < parts[i]->count) {
            return &parts[i]->rows[index];
        }
        index -= parts[i]->count;
    }
    return NULL;
}
