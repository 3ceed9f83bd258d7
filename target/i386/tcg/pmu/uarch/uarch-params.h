/*
 * The figures of a core that users can change: "what if".
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * CPU properties and options of tools are made from this table, so they have
 * the same names, limits and errors.
 */

#ifndef TARGET_I386_PMU_UARCH_UARCH_PARAMS_H
#define TARGET_I386_PMU_UARCH_UARCH_PARAMS_H

#include <stdbool.h>

#include "tcg/pmu/uarch/uarch.h"

/* Rows of the table. */
#define PMU_UARCH_PARAMS 84

/* A member of PmuUarch, or of a structure in it. */
typedef struct PmuUarchParam {
    const char *name;           /* lower case, dashes */
    const char *unit;           /* plural; or "0 or 1" */
    const char *what;           /* what the figure is, in a few words */
    uint32_t min, max;          /* of the figure alone: see pmu_uarch_check() */
    uint16_t offset, bytes;     /* of the member: 2 or 4 bytes */
    bool is_size;               /* in bytes; users write it with a K or M */
    bool of_code;               /* decode/ describes instructions and blocks by
                                   it, once for all vCPUs that share code */
} PmuUarchParam;

extern const PmuUarchParam pmu_uarch_params[PMU_UARCH_PARAMS];

/* The row called @name, or NULL. */
const PmuUarchParam *pmu_uarch_param(const char *name);

uint32_t pmu_uarch_get(const PmuUarch *uarch, const PmuUarchParam *param);

/*
 * Change @param of @uarch to @value.  Returns NULL, or a message that says why
 * @value is out of range, for the caller to free; then nothing has changed.
 * @prefix: what users type before the name of a figure.
 *
 * The TSC and the crystal keep their frequencies when the core's changes, so
 * their rates relative to the core change.
 */
char *pmu_uarch_set(PmuUarch *uarch, const PmuUarchParam *param,
                    int64_t value, const char *prefix);

/* What @param is, in a few words, for the caller to free. */
char *pmu_uarch_describe(const PmuUarchParam *param);

/*
 * An error message for a value of @param that is no number: says what it must
 * be.  The caller frees it.
 */
char *pmu_uarch_expected(const PmuUarchParam *param, const char *prefix);

/*
 * Check whether the figures of @uarch, each of them in its range, go together.
 * Returns NULL, or a message that says which do not and why, for the caller to
 * free.  The model must not be given such a core.  @prefix: as above.
 */
char *pmu_uarch_check(const PmuUarch *uarch, const char *prefix);

#endif
