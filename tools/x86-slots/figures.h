/*
 * x86-slots: a core with other figures.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A host program over the model core, without QEMU.
 */

#ifndef TOOLS_X86_SLOTS_FIGURES_H
#define TOOLS_X86_SLOTS_FIGURES_H

#include <glib.h>
#include <stdbool.h>

#include "tcg/pmu/uarch/uarch.h"

/*
 * Change @uarch as @settings, NAME=VALUE each, NULL-terminated or NULL, say.
 * False and @error, SLOTS_ERROR_USAGE, if one of them cannot be, or if they
 * do not go together.
 */
bool figures_set(PmuUarch *uarch, char *const *settings, GError **error);

/* All figures of @uarch, a line each; for the caller to free. */
char *figures_list(const PmuUarch *uarch);

#endif
