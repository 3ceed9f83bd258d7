/*
 * x86-slots: changing and listing the figures of the modelled core.
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
 * Change @uarch as @settings say: strings NAME=VALUE, NULL-terminated; may be
 * NULL.  Returns false and @error, SLOTS_ERROR_USAGE, if one of them is not
 * possible, or if they contradict each other.
 */
bool figures_set(PmuUarch *uarch, char *const *settings, GError **error);

/* Returns all figures of @uarch, a line each.  The caller frees. */
char *figures_list(const PmuUarch *uarch);

#endif
