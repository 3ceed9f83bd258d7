/*
 * Suppressions: hits of rules that the user knows of, each with its reason.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_CHECK_SUPPRESSIONS_H
#define TARGET_I386_PMU_CHECK_SUPPRESSIONS_H

#include <stdint.h>

#include "tcg/pmu/check/symbols.h"

typedef struct PmuSuppressions PmuSuppressions;

/*
 * Parse the lines of @text, "RULE PLACE REASON"; messages name @file.  RULE can
 * be limited to accesses to one register, as in "C7:IA32_DEBUGCTL".  PLACE is
 * "*", an address "0x..." or a function of @symbols.  A function that @symbols
 * does not have suppresses nothing; without @symbols (NULL) it is an error.
 * Empty lines and those that begin with "#" are skipped.  If a line is wrong,
 * returns NULL and sets *@why to a message, which the caller frees.
 */
PmuSuppressions *pmu_suppressions_new(const char *file, const char *text,
                                      const PmuSymbols *symbols, char **why);
void pmu_suppressions_free(PmuSuppressions *suppressions);

/*
 * The reason of the first suppression of @rule at @rip by an access to @msr (0:
 * by none); NULL if there is none.
 */
const char *pmu_suppressions_find(const PmuSuppressions *suppressions,
                                  const char *rule, uint64_t rip,
                                  uint32_t msr);

#endif
