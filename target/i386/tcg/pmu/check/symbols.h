/*
 * Symbols of a guest's kernel, from its System.map.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_CHECK_SYMBOLS_H
#define TARGET_I386_PMU_CHECK_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct PmuSymbols PmuSymbols;

/*
 * Parse @text, the lines of a System.map: address in hexadecimal, type, name.
 * Other lines are skipped.
 */
PmuSymbols *pmu_symbols_new(const char *text);
void pmu_symbols_free(PmuSymbols *symbols);

unsigned pmu_symbols_count(const PmuSymbols *symbols);

/* "name+0x12" of @address, freed by the caller; NULL before all symbols. */
char *pmu_symbols_name(const PmuSymbols *symbols, uint64_t address);

/* Where symbol @name begins, and the next one.  False if it does not exist. */
bool pmu_symbols_find(const PmuSymbols *symbols, const char *name,
                      uint64_t *first, uint64_t *end);

#endif
