/*
 * Symbols of a guest's kernel, from its System.map.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include <string.h>

#include "tcg/pmu/check/symbols.h"

typedef struct Symbol {
    uint64_t address;
    char *name;
} Symbol;

struct PmuSymbols {
    GArray *sorted;             /* of Symbol, by address */
};

static void clear_symbol(void *data)
{
    Symbol *symbol = data;

    g_free(symbol->name);
}

static int compare(const void *a, const void *b)
{
    const Symbol *one = a, *other = b;

    return one->address < other->address ? -1
                                         : one->address > other->address;
}

static void add_line(PmuSymbols *symbols, const char *line)
{
    g_auto(GStrv) word = g_strsplit(line, " ", 3);
    Symbol symbol;
    char *end;

    if (g_strv_length(word) != 3 || strlen(word[1]) != 1) {
        return;
    }
    symbol.address = g_ascii_strtoull(word[0], &end, 16);
    if (end == word[0] || *end) {
        return;
    }
    /* Symbols of modules end with "\t[module]". */
    symbol.name = g_strndup(word[2], strcspn(word[2], " \t\r"));
    g_array_append_val(symbols->sorted, symbol);
}

PmuSymbols *pmu_symbols_new(const char *text)
{
    PmuSymbols *symbols = g_new0(PmuSymbols, 1);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    symbols->sorted = g_array_new(false, false, sizeof(Symbol));
    g_array_set_clear_func(symbols->sorted, clear_symbol);
    for (unsigned i = 0; lines[i]; i++) {
        add_line(symbols, lines[i]);
    }
    g_array_sort(symbols->sorted, compare);
    return symbols;
}

void pmu_symbols_free(PmuSymbols *symbols)
{
    if (symbols) {
        g_array_unref(symbols->sorted);
        g_free(symbols);
    }
}

unsigned pmu_symbols_count(const PmuSymbols *symbols)
{
    return symbols->sorted->len;
}

static const Symbol *symbol_at(const PmuSymbols *symbols, unsigned index)
{
    return &g_array_index(symbols->sorted, Symbol, index);
}

char *pmu_symbols_name(const PmuSymbols *symbols, uint64_t address)
{
    unsigned first = 0, end = symbols->sorted->len;
    const Symbol *symbol;

    /* Find the first symbol above @address. */
    while (first < end) {
        unsigned middle = first + (end - first) / 2;

        if (symbol_at(symbols, middle)->address <= address) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    if (!first) {
        return NULL;
    }
    symbol = symbol_at(symbols, first - 1);
    return g_strdup_printf("%s+0x%" G_GINT64_MODIFIER "x", symbol->name,
                           address - symbol->address);
}

bool pmu_symbols_find(const PmuSymbols *symbols, const char *name,
                      uint64_t *first, uint64_t *end)
{
    for (unsigned i = 0; i < symbols->sorted->len; i++) {
        const Symbol *symbol = symbol_at(symbols, i);

        if (!g_str_equal(symbol->name, name)) {
            continue;
        }
        *first = symbol->address;
        *end = UINT64_MAX;
        for (i++; i < symbols->sorted->len; i++) {
            if (symbol_at(symbols, i)->address > *first) {
                *end = symbol_at(symbols, i)->address;
                break;
            }
        }
        return true;
    }
    return false;
}
