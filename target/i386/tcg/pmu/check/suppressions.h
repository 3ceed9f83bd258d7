/*
 * Hits of rules that are known, each with its reason.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TARGET_I386_PMU_CHECK_SUPPRESSIONS_H
#define TARGET_I386_PMU_CHECK_SUPPRESSIONS_H

#include <stdint.h>

#include "tcg/pmu/check/symbols.h"

typedef struct PmuSuppressions PmuSuppressions;

/*
 * The lines of @text, which comes from @file: "RULE PLACE REASON", where RULE
 * can have the name of the register behind it that is accessed, as in
 * "C7:IA32_DEBUGCTL", and PLACE is "*", an address "0x..." or a function of
 * @symbols (or NULL: there are none, and lines with functions are an error).  A
 * function that @symbols does not have suppresses nothing.  Empty lines and
 * those that begin with "#" are skipped.  NULL, and *@why to be freed, if a
 * line is wrong.
 */
PmuSuppressions *pmu_suppressions_new(const char *file, const char *text,
                                      const PmuSymbols *symbols, char **why);
void pmu_suppressions_free(PmuSuppressions *suppressions);

/*
 * The reason why it is known that @rule is broken at @rip by an access to @msr
 * (0: by none); NULL if it is not.
 */
const char *pmu_suppressions_find(const PmuSuppressions *suppressions,
                                  const char *rule, uint64_t rip,
                                  uint32_t msr);

#endif
