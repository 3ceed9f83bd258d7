/*
 * Addresses of a guest's code by name, from its System.map.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_CHECK_SYMBOLS_H
#define TARGET_I386_PMU_CHECK_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct PmuSymbols PmuSymbols;

/*
 * The symbols in @text, the lines of a System.map: address in hexadecimal,
 * type, name.  Lines that are not like that are skipped.
 */
PmuSymbols *pmu_symbols_new(const char *text);
void pmu_symbols_free(PmuSymbols *symbols);

unsigned pmu_symbols_count(const PmuSymbols *symbols);

/* "name+0x12" of @address, to be freed; NULL if it lies before all symbols. */
char *pmu_symbols_name(const PmuSymbols *symbols, uint64_t address);

/* Where symbol @name is, and where the next one begins.  False if nowhere. */
bool pmu_symbols_find(const PmuSymbols *symbols, const char *name,
                      uint64_t *first, uint64_t *end);

#endif
